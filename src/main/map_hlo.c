/* map_hlo.c: `map --hlo FILE`: the maps of every operand of every instruction, of all computations of all modules
 * of a file.
 *
 * Needs HLO text. `--uses` prints the inverse maps: where the elements of each operand go. `--physical` numbers
 * dimensions in the order of memory. `--from NAME --to NAME` prints the maps between two instructions, each NAME or
 * COMPUTATION/NAME, of the last computation that has both. `--op read` applies no rule.
 *
 *     warpburg map --hlo gelu.hlo --from root --to p0
 */
#include "hlo/hlo.h"
#include "index/index.h"
#include "main/map.h"

#include <stdio.h>
#include <string.h>

static const uint32_t no_entries[RW_PHASE_COUNT][OP_COUNT]; /* no operation has rules */
static const RwTables no_tables = {.name = "none", .entry = no_entries};

static void put_module(WbbCx *cx, WbbArena *a, const HloModule *m, const MapOptions *o)
{
    const bool read = !strcmp(o->op, "read");
    const IxView view = {.targets = o->uses, .physical = o->physical, .json = o->json};
    for (uint32_t c = 0; c < m->n_computations; c++) {
        if (o->from && m->computations[c] != m->entry) continue;
        WbbArena *pass = wbb_arena_new(cx); /* a large module has many maps */
        WbbBuf b = wbb_buf(pass);
        RwCx *rw = rw_new(cx, pass, ir_graph_new(cx, pass), read ? &no_tables : &ix_tables, &no_tables, false);
        if (o->from) ix_print_between(&b, cx, rw, a, m, o->from, o->to, &view);
        else ix_print_maps(&b, rw, pass, m->computations[c], &view);
        if (b.text) fputs(b.text, stdout);
        wbb_arena_free(pass);
    }
}

WbbStatus main_map_hlo(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const MapOptions *o = call->options;
    size_t n;
    HloModule **modules;
    if (o->texts.n) return main_usage(call, "the text of a map or --hlo FILE, not both");
    if (!o->from != !o->to) return main_usage(call, "--from and --to go together");
    const char *text = hlo_read_file(cx, a, o->hlo, &n);
    const uint32_t count = hlo_parse_all(cx, a, o->hlo, text, n, &modules);
    for (uint32_t k = 0; k < count; k++) put_module(cx, a, modules[k], o);
    return WBB_OK;
}

/* index_fixture.h: a module, a graph and a rewriter with the index rules. For the tests of index/.
 *
 *     Fixture f = fixture("ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] negate(p) }");     f.module, f.g, f.rw
 *     close_fixture(&f);
 */
#ifndef INDEX_FIXTURE_H
#define INDEX_FIXTURE_H

#include "hlo/hlo.h"
#include "index/index.h"
#include "unit.h"

static const RwTables no_tables = {.name = "none"};

typedef struct {
    WbbCx *cx;
    WbbArena *arena; /* the context's */
    IrGraph *g;
    RwCx *rw;
    const char *text;
    const HloModule *module;
} Fixture;

static inline void parse_module(WbbCx *cx, void *arg)
{
    Fixture *f = arg;
    f->module = hlo_parse(cx, f->arena, "t.hlo", f->text, strlen(f->text));
}

/* text: of the module; NULL: none. */
static inline Fixture fixture(const char *text)
{
    Fixture f = {.cx = wbb_cx_new(), .text = text};
    f.arena = f.cx->arena;
    f.g = ir_graph_new(f.cx, f.arena);
    f.rw = rw_new(f.cx, f.arena, f.g, &ix_tables, &no_tables, false);
    if (text) succeed_on(f.cx, parse_module, &f, text);
    return f;
}

static inline void close_fixture(Fixture *f) { wbb_cx_free(f->cx); }

#endif

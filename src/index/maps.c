/* maps.c: prints the maps of a module.
 *
 * Needs a computation; leaves a line for every map of every operand of every instruction, and one for each run-time
 * variable.
 *
 *     %b broadcast operand 0 %p: (d0, d1) -> (d1), domain: d0 in [0, 6], d1 in [0, 32]
 *     %s dynamic-slice operand 0 %p: (d0){rt0} -> (d0 + rt0), domain: d0 in [0, 3], rt0 in [0, 6]
 *         rt0 = %start @ (d0) -> (), domain: d0 in [0, 3]
 */
#include "index/inner.h"

#include <string.h>

/* The element that a run-time variable is, as a map from the dimensions, and from the ranges and run-time variables
 * that it uses. */
static void put_source(WbbBuf *out, RwCx *rw, WbbArena *a, const IxMap *m, const IxVar *v)
{
    IxMap *source = ix_map_new(a);
    uint8_t *used = WBB_NEW_N(a, uint8_t, m->vars.n + 1u);
    ix_map_uses(rw, a, m, v->at, v->n_at, used);
    for (uint32_t k = 0; k < m->vars.n; k++)
        if (m->vars.items[k].kind == IX_DIMENSION || used[k]) WBB_PUSH(a, &source->vars, m->vars.items[k]);
    for (uint32_t k = 0; k < v->n_at; k++) ix_map_result(a, source, v->at[k]);
    wbb_putf(out, "%s = %%%s @ ", v->name, v->source->name);
    ix_map_print(out, rw_graph(rw), source);
    if (v->lo > v->clamp_lo || v->hi < v->clamp_hi)
        wbb_putf(out, ", clamped to [%lld, %lld]", (long long)v->clamp_lo, (long long)v->clamp_hi);
}

static void put_json(WbbBuf *out, RwCx *rw, WbbArena *a, const char *what, const IxMaps *maps)
{
    wbb_json_open(out, NULL, '{');
    wbb_json_text(out, "of", what);
    wbb_json_bool(out, "known", !maps->unknown);
    wbb_json_open(out, "maps", '[');
    for (uint32_t k = 0; k < maps->n; k++) {
        const IxMap *m = maps->items[k];
        wbb_json_open(out, NULL, '{');
        ix_map_json(out, "map", rw_graph(rw), m);
        wbb_json_open(out, "runtime", '[');
        for (uint32_t v = 0; v < m->vars.n; v++) {
            if (!m->vars.items[v].source) continue;
            WbbBuf source = wbb_buf(a);
            put_source(&source, rw, a, m, &m->vars.items[v]);
            wbb_json_text(out, NULL, source.text);
        }
        wbb_json_close(out, ']');
        wbb_json_close(out, '}');
    }
    wbb_json_close(out, ']');
    wbb_json_end(out, "map.1");
    wbb_put(out, "\n");
}

static void put_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const char *what, const IxMaps *maps, const IxView *view)
{
    if (view->json) {
        put_json(out, rw, a, what, maps);
        return;
    }
    if (maps->unknown || maps->n == 0)
        wbb_putf(out, "%s: %s\n", what, maps->unknown ? "unknown indexing" : "KNOWN EMPTY");
    for (uint32_t k = 0; k < maps->n; k++) {
        const IxMap *m = maps->items[k];
        wbb_putf(out, "%s: ", what);
        ix_map_print(out, rw_graph(rw), m);
        wbb_put(out, "\n");
        for (uint32_t v = 0; v < m->vars.n; v++) {
            if (!m->vars.items[v].source) continue;
            wbb_put(out, "    ");
            put_source(out, rw, a, m, &m->vars.items[v]);
            wbb_put(out, "\n");
        }
    }
}

/* " output 1" or " leaf 1" of a tuple; of an array "" */
static const char *leaf_name(WbbArena *a, const char *what, const HloShape *s, uint32_t leaf)
{
    return s->type == SC_TUPLE ? wbb_format(a, " %s %u", what, leaf) : "";
}

static void put_one(WbbBuf *out, RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t leaf, IxEnd input,
                    const IxMaps *maps, const IxView *view)
{
    const HloInstruction *x = i->operands[input.operand];
    const char *head = wbb_format(a, "%%%s %s", i->name, hlo_opcode_name(i->opcode));
    const char *of =
        wbb_format(a, "operand %u %%%s%s", input.operand, x->name, leaf_name(a, "leaf", x->shape, input.leaf));
    const char *to = leaf_name(a, "output", i->shape, leaf);
    put_maps(out, rw, a,
             view->targets ? wbb_format(a, "%s %s to%s", head, of, *to ? to : " output")
                           : wbb_format(a, "%s%s %s", head, to, of),
             maps, view);
}

static void put_inputs(WbbBuf *out, RwCx *rw, WbbArena *a, const HloInstruction *i, const IxView *view)
{
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) {
        const IxMaps *maps = ix_inputs_of(rw, a, i, l, view->physical);
        for (uint32_t k = 0; k < i->n_operands; k++)
            for (uint32_t p = 0; p < i->operands[k]->shape->n_leaves; p++)
                put_one(out, rw, a, i, l, (IxEnd){k, p}, maps++, view);
    }
}

static void put_outputs(WbbBuf *out, RwCx *rw, WbbArena *a, const HloInstruction *i, const IxView *view)
{
    for (uint32_t k = 0; k < i->n_operands; k++)
        for (uint32_t p = 0; p < i->operands[k]->shape->n_leaves; p++) {
            const IxMaps *maps = ix_outputs_of(rw, a, i, (IxEnd){k, p}, view->physical);
            for (uint32_t l = 0; l < i->shape->n_leaves; l++) put_one(out, rw, a, i, l, (IxEnd){k, p}, maps++, view);
        }
}

/* Tuples are transparent: they have no maps of their own. */
static bool is_plain(const HloInstruction *i)
{
    return i->opcode != HLO_TUPLE && i->opcode != HLO_GET_TUPLE_ELEMENT && i->n_operands;
}

void ix_print_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const HloComputation *c, const IxView *view)
{
    const IxView plain = {0};
    if (!view) view = &plain;
    for (uint32_t n = 0; n < c->n_instructions; n++)
        if (is_plain(c->instructions[n]))
            (view->targets ? put_outputs : put_inputs)(out, rw, a, c->instructions[n], view);
}

static const HloInstruction *find(const HloComputation *c, const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash && (strncmp(c->name, name, (size_t)(slash - name)) || c->name[slash - name])) return NULL;
    if (slash) name = slash + 1;
    name += *name == '%';
    for (uint32_t n = 0; n < c->n_instructions; n++)
        if (!strcmp(c->instructions[n]->name, name)) return c->instructions[n];
    return NULL;
}

void ix_print_between(WbbBuf *out, WbbCx *cx, RwCx *rw, WbbArena *a, const HloModule *m, const char *from,
                      const char *to, const IxView *view)
{
    for (uint32_t k = m->n_computations; k-- > 0;) {
        const HloComputation *c = m->computations[k];
        const HloInstruction *x = find(c, from), *y = find(c, to);
        if (!x || !y) continue;
        const IxMaps maps = ix_between(rw, a, c, x, y, view->physical);
        put_maps(out, rw, a, wbb_format(a, "%%%s to %%%s", x->name, y->name), &maps, view);
        return;
    }
    wbb_fail(cx, m->entry->loc, "no computation has both '%s' and '%s'", from, to);
}

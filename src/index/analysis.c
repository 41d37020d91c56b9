/* analysis.c: which elements of another value an element needs, or is needed by, through fusions and whole
 * computations.
 *
 * Needs a verified computation. Leaves maps from the index of an element to the elements of the other value, together
 * as many as there are different paths. analysis_flow.c visits each instruction once with all maps that reach it, so
 * that paths that meet do not multiply.
 *
 *     softmax of [2,65,125], output to input:   (d0, d1, d2)[s0] -> (d0, d1, s0) and (d0, d1, d2) -> (d0, d1, d2)
 */
#include "index/analysis.h"

#include <string.h>

/* --- queries ------------------------------------------------------------------------------------------------------ */

static IxFlow new_flow(RwCx *rw, WbbArena *a) { return (IxFlow){.rw = rw, .a = a, .g = rw_graph(rw)}; }

/* For a run-time value outside of a narrowed interval the map gives nothing, so such a variable stays, used or not. */
static bool is_narrowed(const IxVar *v) { return v->source && (v->lo > v->clamp_lo || v->hi < v->clamp_hi); }

static IxMap *tidied(IxFlow *w, IxMap *m)
{
    m = ix_map_copy(w->a, ix_map_simplify(w->rw, w->a, m, false));
    if (m->state != IX_KNOWN) return m;
    const uint32_t n = m->results.n;
    for (uint32_t k = 0; k < m->vars.n; k++)
        if (is_narrowed(&m->vars.items[k])) ix_map_result(w->a, m, m->vars.items[k].node);
    m = ix_map_remove_unused(w->rw, w->a, m, false);
    if (m->state == IX_KNOWN) m->results.n = n;
    return m;
}

/* The simplified maps, without empty ones and duplicates; their results in the order of memory if `physical`. */
static IxMaps answer(IxFlow *w, const IxReached *r, const HloShape *s, bool physical)
{
    IxMaps maps = {.unknown = r->unknown};
    struct { const char **items; uint32_t n, capacity; } texts = {0};
    for (uint32_t k = 0; k < r->n && !r->unknown; k++) {
        IxMap *m = ix_map_copy(w->a, r->items[k]);
        for (uint32_t d = 0; physical && d < s->rank; d++)
            m->results.items[d] = r->items[k]->results.items[s->minor_to_major[s->rank - 1u - d]];
        m = tidied(w, m);
        if (m->state == IX_EMPTY) continue;
        WbbBuf text = wbb_buf(w->a);
        ix_map_print(&text, w->g, m);
        uint32_t old = 0;
        while (old < texts.n && strcmp(texts.items[old], text.text)) old++;
        if (old < texts.n) continue;
        WBB_PUSH(w->a, &texts, text.text);
        WBB_PUSH(w->a, &maps, m);
    }
    return maps;
}

/* A list of maps for each leaf of each operand; first[k] is that of the first leaf of operand k. */
static IxReached *reached_operands(WbbArena *a, const HloInstruction *i, uint32_t **first)
{
    *first = WBB_NEW_N(a, uint32_t, i->n_operands + 1u);
    for (uint32_t k = 0; k < i->n_operands; k++) (*first)[k + 1] = (*first)[k] + i->operands[k]->shape->n_leaves;
    return WBB_NEW_N(a, IxReached, (*first)[i->n_operands] + 1u);
}

IxMaps *ix_inputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t output_leaf, bool physical)
{
    IxFlow w = new_flow(rw, a);
    uint32_t *first;
    IxReached from = {0}, *to = reached_operands(a, i, &first);
    IxMaps *maps = WBB_NEW_N(a, IxMaps, first[i->n_operands] + 1u);
    IxMap *start = ix_identity(&w, ix_leaf(a, i->shape, output_leaf), physical);
    if (start) ix_reach(&w, &from, start);
    ix_step_back(&w, i, output_leaf, &from, (IxSink){to, first});
    for (uint32_t k = 0; k < i->n_operands; k++)
        for (uint32_t l = 0; l < i->operands[k]->shape->n_leaves; l++)
            maps[first[k] + l] = answer(&w, &to[first[k] + l], ix_leaf(a, i->operands[k]->shape, l), physical);
    return maps;
}

IxMaps *ix_outputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, IxEnd input, bool physical)
{
    IxFlow w = new_flow(rw, a);
    uint32_t first = 0;
    IxReached from = {0}, *to = WBB_NEW_N(a, IxReached, i->shape->n_leaves + 1u);
    IxMaps *maps = WBB_NEW_N(a, IxMaps, i->shape->n_leaves + 1u);
    IxMap *start = ix_identity(&w, ix_leaf(a, i->operands[input.operand]->shape, input.leaf), physical);
    if (start) ix_reach(&w, &from, start);
    ix_step_forward(&w, i, input.operand, input.leaf, &from, (IxSink){to, &first});
    for (uint32_t l = 0; l < i->shape->n_leaves; l++) maps[l] = answer(&w, &to[l], ix_leaf(a, i->shape, l), physical);
    return maps;
}

IxMaps ix_between(RwCx *rw, WbbArena *a, const HloComputation *c, const HloInstruction *from, const HloInstruction *to,
                  bool physical)
{
    IxFlow w = new_flow(rw, a);
    const uint32_t *first = ix_leaf_numbers(a, c);
    IxReached *at = WBB_NEW_N(a, IxReached, first[c->n_instructions] + 1u);
    IxMap *start = ix_identity(&w, ix_leaf(a, from->shape, 0), physical);
    if (start) ix_reach(&w, &at[first[from->id]], start);
    if (from->id > to->id) ix_flow_back(&w, c, at, first);
    else ix_flow_forward(&w, c, at, first);
    return answer(&w, &at[first[to->id]], ix_leaf(a, to->shape, 0), physical);
}

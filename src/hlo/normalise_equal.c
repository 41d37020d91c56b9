/* normalise_equal: what a program needs once.
 *
 * Needs: a normalised HLO module. Leaves: one with the same outputs, in which equal computations of a value are one,
 * and results that stand twice are two. These are no passes of normalisation: what they leave depends on the whole of a
 * computation, and kernels that are cut from it must not.
 *
 *     a = f32[8] exponential(x)  b = f32[8] exponential(x)                                             b is a
 *     ROOT r = tuple(a, a)                                                     ROOT r = tuple(a, copy(a))
 */
#include "hlo/normalise.h"

#include <string.h>

/* equal values ----------------------------------------------------------------------------------------------------- */
enum { SMALL = 64 }; /* elements of constants that are compared */

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const uint32_t **same; /* [computation][instruction] the first one with its value */
    const char **names;    /* [computation] equal for equal computations */
    WbbMap texts;
} Equal;

static bool has_one_value(const HloInstruction *i)
{
    if (i->opcode == HLO_CONSTANT) return i->shape->type != SC_TUPLE && hlo_elements(i->shape) <= SMALL && i->literal;
    return (hlo_is_pure(i->opcode) && i->opcode != HLO_COPY) || i->opcode == HLO_GET_TUPLE_ELEMENT;
}

/* The instruction with operands by number and computations by what they compute. */
static void put_value(Equal *e, WbbBuf *out, const HloComputation *c, const HloInstruction *i, const uint32_t *same)
{
    static const char *const unneeded[] = {"metadata", "frontend_attributes", "sharding", "origin", "statistics",
                                           "original_value", "backend_config", NULL};
    HloInstruction copy = *i;
    HloInstruction **operands = WBB_NEW_N(out->arena, HloInstruction *, i->n_operands + 1);
    HloComputation **called = WBB_NEW_N(out->arena, HloComputation *, i->n_called + 1);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        operands[k] = WBB_NEW(out->arena, HloInstruction);
        *operands[k] = (HloInstruction){.name = wbb_format(out->arena, "%u", same[i->operands[k]->id]),
                                        .shape = i->operands[k]->shape, .attributes = ""};
    }
    for (uint32_t k = 0; k < i->n_called; k++) {
        called[k] = WBB_NEW(out->arena, HloComputation);
        *called[k] = *i->called[k];
        called[k]->name = e->names[i->called[k]->id];
    }
    copy.name = "v", copy.operands = operands, copy.called = called, copy.n_predecessors = 0;
    copy.attributes = hlo_attributes_without(out->arena, i, unneeded);
    if (i->permits) wbb_putf(out, "%s ", hlo_permits_text(out->arena, i->permits));
    if (i->opcode == HLO_PARAMETER || i == c->root) wbb_putf(out, "%u ", i == c->root);
    hlo_print_instruction(out, &copy);
    wbb_put(out, "\n");
}

/* Of a computation: its name in texts, and the first instruction of each value. Returns whether any is not its own. */
static bool find_equal(Equal *e, const HloComputation *c, bool nameless)
{
    WbbArena *scratch = wbb_arena_new(e->cx);
    uint32_t *same = WBB_NEW_N(e->arena, uint32_t, c->n_instructions + 1);
    WbbBuf all = wbb_buf(scratch);
    bool any = false;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        same[k] = k;
        if (!nameless && (!has_one_value(i) || i->n_predecessors)) continue;
        WbbBuf text = wbb_buf(scratch);
        put_value(e, &text, c, i, same);
        if (nameless) wbb_putf(&all, "%u: %s", k, text.text);
        if (!has_one_value(i) || i->n_predecessors || i == c->root) continue;
        const char *key = wbb_intern_z(e->cx, wbb_format(scratch, "%u %s", c->id, text.text));
        WbbEntry *entry = wbb_map_put(&e->texts, wbb_key(key));
        if (entry->value) same[k] = (uint32_t)entry->value - 1;
        else entry->value = k + 1;
        any = any || same[k] != k;
    }
    e->names[c->id] = nameless ? wbb_intern_z(e->cx, all.text) : c->name;
    e->same[c->id] = same;
    wbb_arena_free(scratch);
    return any;
}

static HloInstruction *rewrite_equal(HloBuilder *b, const HloInstruction *i)
{
    const uint32_t first = b->same[i->id];
    return first == i->id ? NULL : hlo_mapped(b, b->source->instructions[first]);
}

/* Of computations that are applied to elements, those with few instructions are compared by what they compute. */
const HloModule *hlo_pass_equal(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    enum { FEW = 16 };
    Equal e = {.cx = cx, .arena = a, .same = WBB_NEW_N(a, const uint32_t *, m->n_computations + 1),
               .names = WBB_NEW_N(a, const char *, m->n_computations + 1), .texts = {.arena = a}};
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++)
        any = find_equal(&e, m->computations[c], m->computations[c]->n_instructions <= FEW) || any;
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_equal, .same = e.same}) : m;
}

/* results ---------------------------------------------------------------------------------------------------------- */
static bool is_again(const HloInstruction *results, uint32_t k)
{
    const HloInstruction *x = results->operands[k];
    if (!hlo_is_elementwise(x->opcode) && x->opcode != HLO_REDUCE) return false;
    if (x->shape->type == SC_TUPLE || x->shape->dynamic || !hlo_is_row_major(x->shape)) return false;
    for (uint32_t j = 0; j < k; j++)
        if (results->operands[j] == x) return true;
    return false;
}

/* Results that a kernel computes and that stand twice: the second one is a copy, which the kernel stores, too. */
static HloInstruction *rewrite_results(HloBuilder *b, const HloInstruction *i)
{
    if (b->source != b->from->entry || i != b->source->root || i->opcode != HLO_TUPLE) return NULL;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands + 1);
    bool any = false;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        operands[k] = hlo_mapped(b, i->operands[k]);
        if (is_again(i, k)) operands[k] = hlo_new_unary(b, HLO_COPY, operands[k]), any = true;
    }
    return any ? hlo_copy_with_operands(b, i, operands) : NULL;
}

const HloModule *hlo_pass_results(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_results});
}

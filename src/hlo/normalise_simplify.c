/* normalise_simplify: what a program needs once, or not at all.
 *
 * Needs: a normalised HLO module. Leaves: one with the same outputs, in which equal computations of a value are one,
 * moves that move nothing are gone, and results that stand twice are two. These are no passes of normalisation: what
 * they leave depends on the whole of a computation, and kernels that are cut from it must not.
 *
 *     r = f32[8,1] reshape(s)  b = f32[8,1] broadcast(r), dimensions={0,1}  t = f32[8] reshape(b)      t is s
 *     a = f32[8] exponential(x)  b = f32[8] exponential(x)                                             b is a
 *     ROOT r = tuple(a, a)                                                     ROOT r = tuple(a, copy(a))
 *     s = f32[8] reduce(x f32[8,1], zero), dimensions={1}, to_apply=add        s = add(broadcast(zero), reshape(x)),
 *                                                                              or reshape(x) where x is such a sum
 */
#include "hlo/normalise.h"

#include <string.h>

/* moves ------------------------------------------------------------------------------------------------------------ */
static bool is_identity_map(const HloInstruction *i)
{
    for (uint32_t d = 0; d < i->n_dimensions; d++)
        if (i->dimensions[d] != d) return false;
    return true;
}

/* A broadcast of a broadcast, or of a reshape that adds dimensions of size 1 and nothing else. */
static HloInstruction *broadcast_of(HloBuilder *b, const HloInstruction *i, const HloInstruction *x)
{
    int64_t to[HLO_RANK_LIMIT];
    const HloInstruction *y = x->operands ? x->operands[0] : NULL;
    uint32_t n = 0;
    if (x->opcode == HLO_BROADCAST) {
        for (; n < x->n_dimensions; n++) to[n] = i->dimensions[x->dimensions[n]];
    } else if (x->opcode == HLO_RESHAPE) {
        for (uint32_t d = 0; d < x->shape->rank; d++) {
            if (n < y->shape->rank && x->shape->dims[d] == y->shape->dims[n]) to[n++] = i->dimensions[d];
            else if (x->shape->dims[d] != 1) return NULL;
        }
        if (n < y->shape->rank) return NULL;
    } else {
        return NULL;
    }
    return hlo_new_broadcast(b, x->operands[0], i->shape, to, n);
}

static HloInstruction *simple_broadcast(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    if (hlo_same_dims(x->shape, i->shape) && is_identity_map(i) && hlo_same_layout(x->shape, i->shape)) return x;
    return broadcast_of(b, i, x);
}

static HloInstruction *simple_reshape(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    while (x->opcode == HLO_RESHAPE) x = x->operands[0];
    if (hlo_same_dims(x->shape, i->shape)) return hlo_same_layout(x->shape, i->shape) ? x : NULL;
    if (x->opcode == HLO_BROADCAST && hlo_elements(x->operands[0]->shape) == 1 && x->n_dimensions == 0)
        return hlo_new_splat(b, x->operands[0], i->shape->rank, i->shape->dims);
    return x == hlo_mapped(b, i->operands[0]) ? NULL : hlo_new_reshape(b, x, i->shape->rank, i->shape->dims);
}

static HloInstruction *simple_transpose(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    int64_t to[HLO_RANK_LIMIT];
    if (is_identity_map(i)) return hlo_same_layout(x->shape, i->shape) ? x : NULL;
    if (x->opcode != HLO_TRANSPOSE) return NULL;
    for (uint32_t d = 0; d < i->n_dimensions; d++) to[d] = x->dimensions[i->dimensions[d]];
    return hlo_new_transpose(b, x->operands[0], to);
}

/* A sum of wide floats or of integers that began with 0, perhaps reshaped: adding 0 to it leaves it as it is, as it is
 * never -0. What is rounded to 16 bits after it was summed up in f32 may be. */
static bool is_sum_from_zero(const HloInstruction *x)
{
    while (x->opcode == HLO_RESHAPE) x = x->operands[0];
    if (x->opcode != HLO_REDUCE || x->n_operands != 2 || sc_type_info[x->shape->type].bits < 32) return false;
    return hlo_reduces(x, HLO_ADD) && hlo_is_zero(x->operands[1]);
}

/* A reduction of one element each. */
static HloInstruction *simple_reduce(HloBuilder *b, const HloInstruction *i)
{
    if (i->n_operands != 2 || i->n_called != 1 || !hlo_is_operation(i->called[0])) return NULL;
    const HloComputation *c = i->called[0];
    if (hlo_elements(i->operands[0]->shape) != hlo_elements(i->shape) || !hlo_elements(i->shape)) return NULL;
    if (c->root->n_operands != 2 || c->root->operands[0]->opcode != HLO_PARAMETER ||
        c->root->operands[0]->number != 0 || c->root->shape->type != i->shape->type)
        return NULL;
    HloInstruction *x = hlo_new_reshape(b, hlo_mapped(b, i->operands[0]), i->shape->rank, i->shape->dims);
    if (c->root->opcode == HLO_ADD && hlo_is_zero(i->operands[1]) && is_sum_from_zero(x)) return x;
    HloInstruction *init = hlo_new_splat(b, hlo_mapped(b, i->operands[1]), i->shape->rank, i->shape->dims);
    return hlo_new_binary(b, c->root->opcode, init, x);
}

/* Everything, or all of one operand of a concatenate. */
static HloInstruction *simple_slice(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    if (hlo_same_dims(x->shape, i->shape)) return hlo_same_layout(x->shape, i->shape) ? x : NULL;
    if (x->opcode != HLO_CONCATENATE) return NULL;
    const int64_t dim = x->dimensions[0];
    int64_t start = 0;
    for (uint32_t d = 0; d < i->shape->rank; d++)
        if (i->slices[d].stride != 1 || (d != dim && i->shape->dims[d] != x->shape->dims[d])) return NULL;
    for (uint32_t k = 0; k < x->n_operands; k++) {
        HloInstruction *o = x->operands[k];
        if (start == i->slices[dim].start && o->shape->dims[dim] == i->shape->dims[dim])
            return hlo_same_layout(o->shape, i->shape) ? o : NULL;
        start += o->shape->dims[dim];
    }
    return NULL;
}

/* A pad that only cuts off. */
static HloInstruction *simple_pad(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, i->shape->rank + 1u);
    if (!hlo_is_row_major(i->shape) || !hlo_is_row_major(x->shape) || x->shape->dynamic) return NULL;
    for (uint32_t d = 0; d < i->shape->rank; d++) {
        const HloPadding *p = &i->paddings[d];
        if (p->low > 0 || p->high > 0 || p->interior) return NULL;
        slices[d] = (HloSlice){-p->low, x->shape->dims[d] + p->high, 1};
    }
    return hlo_new_slice(b, x, slices);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE || i->shape->dynamic) return NULL;
    switch (i->opcode) {
    case HLO_BROADCAST: return simple_broadcast(b, i);
    case HLO_PAD: return simple_pad(b, i);
    case HLO_REDUCE: return simple_reduce(b, i);
    case HLO_RESHAPE: return simple_reshape(b, i);
    case HLO_SLICE: return simple_slice(b, i);
    case HLO_TRANSPOSE: return simple_transpose(b, i);
    default: return NULL;
    }
}

const HloModule *hlo_pass_moves(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite});
}

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

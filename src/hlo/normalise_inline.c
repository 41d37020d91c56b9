/* normalise_inline: inlines computations where they are called.
 *
 * Needs: an HLO module. Leaves: one without calls (pass `call`), and loops that run once or never are none, nor are
 * branches of which a constant takes one; fusions inside fusions, reducers and called bodies
 * (`nested`), maps of elementwise bodies (`map`), and asynchronous starts and dones (`async`). Pass `nested` runs
 * before `call`: a fusion inside a called body becomes part of that body, and no pass adds fusions to the entry. A call
 * stays if the HLO module would grow beyond HLO_INLINE_LIMIT, a map if its body is not elementwise, for example a loop
 * or a reduction.
 *
 *     m = f32[8] map(x, y), dimensions={0}, to_apply=f     f { a, b; two = f32[] constant(2); s = add(a, b);
 *                                                              ROOT multiply(s, two) }
 *         two, two.broadcast = f32[8] broadcast(two), s = f32[8] add(x, y), m = f32[8] multiply(s, two.broadcast)
 */
#include "hlo/normalise.h"

#include <string.h>

static HloInstruction **mapped_operands(HloBuilder *b, const HloInstruction *i)
{
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = hlo_mapped(b, i->operands[k]);
    return operands;
}

/* async ------------------------------------------------------------------------------------------------------------ */

static bool is_async(const HloInstruction *i) { return i->opcode == HLO_ASYNC_DONE || i->opcode == HLO_COPY_DONE; }

/* The start of the operation whose done is i; NULL if it is not in this computation. */
static const HloInstruction *start_of(const HloInstruction *i)
{
    const HloInstruction *start = i;
    do {
        if (start->n_operands == 0) return NULL;
        start = start->operands[0];
    } while (start->opcode == HLO_ASYNC_UPDATE);
    return start->opcode == (i->opcode == HLO_COPY_DONE ? HLO_COPY_START : HLO_ASYNC_START) ? start : NULL;
}

/* `negate-start(x)` as `negate(x)` with the shape of its done. */
static HloInstruction *synchronous(HloBuilder *b, const HloInstruction *done, const HloInstruction *start)
{
    HloInstruction **operands = mapped_operands(b, start);
    const HloOpcode op = hlo_started_opcode(start);
    if (op == HLO_FUSION && start->n_called == 1) return hlo_inline(b, start->called[0], operands);
    HloInstruction *i = hlo_copy_with_operands(b, start, operands);
    i->opcode = op;
    i->spelling = NULL;
    i->shape = done->shape;
    return i;
}

static HloInstruction *rewrite_async(HloBuilder *b, const HloInstruction *i)
{
    if (!is_async(i)) return NULL;
    const HloInstruction *start = start_of(i);
    if (!start) return NULL;
    if (start->opcode == HLO_COPY_START) {
        HloInstruction *x = hlo_mapped(b, start->operands[0]);
        return hlo_same_shape(x->shape, i->shape) ? hlo_new(b, HLO_COPY, i->shape, 1, &x) : NULL;
    }
    if (start->spelling) return synchronous(b, i, start);
    return start->n_called == 1 ? hlo_inline(b, start->called[0], mapped_operands(b, start)) : NULL;
}

const HloModule *hlo_pass_async(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_async, .rewrite = rewrite_async});
}

/* call ------------------------------------------------------------------------------------------------------------- */

/* The branch that a conditional takes, whatever its operands are; -1: the text does not say it. */
static int64_t taken_branch(const HloInstruction *i)
{
    const HloInstruction *by = hlo_value(i->operands[0], 0).i;
    if (by->opcode != HLO_CONSTANT || !by->literal || i->n_operands != i->n_called + 1) return -1;
    const uint64_t bits = hlo_literal_bits(by, 0);
    if (by->shape->type == SC_PRED) return bits ? 0 : 1;
    const WbbI128 n = sc_to_i128(by->shape->type, bits);
    return n >= 0 && n < i->n_called ? (int64_t)n : (int64_t)i->n_called - 1;
}

/* Does what it calls run once or never, whatever its operands are? */
static bool is_call(const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_CALL: return i->n_called == 1;
    case HLO_WHILE: {
        const int64_t trips = hlo_count_of(i).trips;
        return trips == 0 || trips == 1;
    }
    case HLO_CONDITIONAL: return taken_branch(i) >= 0;
    default: return false;
    }
}

static HloInstruction *rewrite_call(HloBuilder *b, const HloInstruction *i)
{
    if (!is_call(i)) return NULL;
    if (i->opcode == HLO_WHILE && !hlo_count_of(i).trips) return hlo_mapped(b, i->operands[0]);
    HloInstruction **operands = mapped_operands(b, i);
    if (i->opcode == HLO_WHILE) return hlo_inline(b, hlo_called(i, "body"), operands);
    if (i->opcode == HLO_CALL) return hlo_inline(b, i->called[0], operands);
    const int64_t branch = taken_branch(i);
    return hlo_inline(b, i->called[branch], operands + 1 + branch);
}

const HloModule *hlo_pass_call(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_call, .rewrite = rewrite_call});
}

/* nested ----------------------------------------------------------------------------------------------------------- */

static HloInstruction *rewrite_nested(HloBuilder *b, const HloInstruction *i)
{
    const bool inside = i->opcode == HLO_FUSION && i->n_called == 1 && b->fused[b->source->id];
    return inside ? hlo_inline(b, i->called[0], mapped_operands(b, i)) : NULL;
}

const HloModule *hlo_pass_nested(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const bool *fused = hlo_find_fused(a, m);
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; fused[c] && k < m->computations[c]->n_instructions; k++)
            any = any || m->computations[c]->instructions[k]->opcode == HLO_FUSION;
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_nested}) : m;
}

/* map -------------------------------------------------------------------------------------------------------------- */

/* On a scalar the operation returns its operand. */
static bool is_scalar_identity(const HloInstruction *i)
{
    return hlo_is_move(i->opcode) && i->n_operands == 1 && i->operands[0]->shape->type == i->shape->type;
}

/* The body is on scalars only, and elementwise: it means the same on arrays. */
static bool is_elementwise_body(const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->shape->type == SC_TUPLE || i->shape->rank) return false;
        if (i->opcode != HLO_PARAMETER && i->opcode != HLO_CONSTANT && !hlo_is_elementwise(i->opcode) &&
            !is_scalar_identity(i))
            return false;
    }
    return true;
}

static bool is_map(const HloInstruction *i) { return i->opcode == HLO_MAP && i->n_called == 1; }

HloInstruction *hlo_map_body(HloBuilder *b, const HloComputation *c, HloInstruction *const *operands,
                             const HloShape *like)
{
    if (!is_elementwise_body(c) || *b->total + 2 * (uint64_t)c->n_instructions > b->most) return NULL;
    HloInstruction **map = WBB_NEW_N(b->arena, HloInstruction *, c->n_instructions);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *old = c->instructions[k];
        if (old->opcode == HLO_PARAMETER) {
            /* HLO allows float types of the operand and the parameter to differ. */
            map[k] = hlo_new_convert(b, operands[old->number], old->shape->type);
            continue;
        }
        if (is_scalar_identity(old)) {
            map[k] = map[old->operands[0]->id];
            continue;
        }
        HloInstruction **from = WBB_NEW_N(b->arena, HloInstruction *, old->n_operands);
        for (uint32_t j = 0; j < old->n_operands; j++) from[j] = map[old->operands[j]->id];
        const HloShape *s = old->opcode == HLO_CONSTANT
                                ? old->shape
                                : hlo_make_array(b->arena, old->shape->type, like->rank, like->dims);
        map[k] = hlo_copy_with_operands(b, old, from);
        map[k]->shape = s;
        map[k]->name = hlo_unique_name(b, old->name);
        if (old->opcode == HLO_CONSTANT) map[k] = hlo_new_splat(b, map[k], like->rank, like->dims);
    }
    return map[c->root->id];
}

static HloInstruction *rewrite_map(HloBuilder *b, const HloInstruction *i)
{
    if (!is_map(i)) return NULL;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = hlo_mapped(b, i->operands[k]);
    HloInstruction *root = hlo_map_body(b, b->made[i->called[0]->id], operands, i->shape);
    return root ? hlo_new_convert(b, root, i->shape->type) : NULL;
}

const HloModule *hlo_pass_map(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_map, .rewrite = rewrite_map});
}

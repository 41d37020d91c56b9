/* normalise_clean: six passes that remove operations which compute nothing.
 *
 * Needs: an HLO module. Leaves: one without the operations in the middle column's pass; the right column replaces them.
 *
 *     s = f32[8] custom-call(x), custom_call_target="Sharding"        forward       x
 *     o = (f32[8], f32[8]) opt-barrier(t)                             forward       t
 *     r = f32[8] all-reduce(x), replica_groups={{0}}, to_apply=add    alone         x
 *     n = s32[] get-dimension-size(x), dimensions={0}                 size          s32[] constant(8)
 *     c = f32[8]{0} copy(y)                                           copy          y
 *     g = f32[8] get-tuple-element(t), index=0                        tuple         operand 0 of t, a tuple(..)
 *     d = f32[8] exponential(x)                                       dead          nothing, if d has no users
 */
#include "hlo/normalise.h"

#include <string.h>

/* forward: operations that only order others, and custom calls that only place or shard a value ------------------- */

static HloInstruction *rewrite_forward(HloBuilder *b, const HloInstruction *i)
{
    return hlo_forwards_operand(i) ? hlo_mapped(b, i->operands[0]) : NULL;
}

const HloModule *hlo_pass_forward(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = hlo_forwards_operand, .rewrite = rewrite_forward});
}

/* alone: collectives that one device takes part in ----------------------------------------------------------------- */

static bool is_alone(const HloInstruction *i)
{
    return (i->alone && i->opcode != HLO_ASYNC_START) || hlo_is_alone_done(i);
}

/* Of a shape of the result of i, whose leaves count from *leaf on. */
static HloInstruction *alone_value(HloBuilder *b, const HloInstruction *i, const HloShape *s, uint32_t *leaf)
{
    if (s->type != SC_TUPLE) {
        const int64_t k = hlo_alone_operand(i, (*leaf)++);
        return k == HLO_ZERO ? hlo_new_number(b, s->type, 0, s) : hlo_mapped(b, i->operands[k]);
    }
    HloInstruction **parts = WBB_NEW_N(b->arena, HloInstruction *, s->n_elements + 1);
    for (uint32_t k = 0; k < s->n_elements; k++) parts[k] = alone_value(b, i, s->elements[k], leaf);
    return hlo_new_tuple(b, s->n_elements, parts);
}

static HloInstruction *rewrite_alone(HloBuilder *b, const HloInstruction *i)
{
    uint32_t leaf = 0;
    if (!is_alone(i)) return NULL;
    if (i->alone) return alone_value(b, i, i->shape, &leaf);
    HloInstruction *start = hlo_mapped(b, i->operands[0]);
    return i->opcode == HLO_ALL_REDUCE_DONE ? start : hlo_new_get_tuple_element(b, start, 1);
}

const HloModule *hlo_pass_alone(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_alone, .rewrite = rewrite_alone});
}

/* size: get-dimension-size, in an HLO module without dynamic sizes ------------------------------------------------- */

static bool is_dynamic(const HloInstruction *i)
{
    const HloShape *s = i->shape;
    bool dynamic = i->opcode == HLO_SET_DIMENSION_SIZE || i->opcode == HLO_DYNAMIC_RESHAPE ||
                   i->opcode == HLO_CUSTOM_CALL || s->dynamic;
    for (uint32_t k = 0; k < s->n_elements; k++)
        dynamic = dynamic || s->elements[k]->dynamic || s->elements[k]->type == SC_TUPLE;
    return dynamic; /* tuples in tuples and custom calls are taken as dynamic */
}

static HloInstruction *rewrite_size(HloBuilder *b, const HloInstruction *i)
{
    if (i->opcode != HLO_GET_DIMENSION_SIZE) return NULL;
    return hlo_new_scalar(b, SC_I32, (double)i->operands[0]->shape->dims[i->dimensions[0]]);
}

const HloModule *hlo_pass_size(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    bool asked = false;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            const HloInstruction *i = m->computations[c]->instructions[k];
            if (is_dynamic(i)) return m;
            asked = asked || i->opcode == HLO_GET_DIMENSION_SIZE;
        }
    return asked ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_size}) : m;
}

/* copy: to the same layout. A copy that is an output stays, for it may be all that the fusion does; a copy that is an
 * operand of a
 * fusion stays, for the fusion may overwrite it. ------------------------------------------------------------------- */

static bool is_copy(const HloInstruction *i)
{
    return i->opcode == HLO_COPY && hlo_same_layout(i->shape, i->operands[0]->shape);
}

static HloInstruction *rewrite_copy(HloBuilder *b, const HloInstruction *i)
{
    return is_copy(i) && !b->marks[i->id] ? hlo_mapped(b, i->operands[0]) : NULL;
}

/* Marks the outputs (the root, and the operands of root tuples) and the operands of fusions. Tuples stand after their
 * operands. */
static bool *find_kept(WbbArena *a, const HloComputation *c)
{
    bool *marks = WBB_NEW_N(a, bool, c->n_instructions);
    marks[c->root->id] = true;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode != HLO_FUSION && !(i->opcode == HLO_TUPLE && marks[k])) continue;
        for (uint32_t j = 0; j < i->n_operands; j++) marks[i->operands[j]->id] = true;
    }
    return marks;
}

const HloModule *hlo_pass_copy(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const bool **marks = WBB_NEW_N(a, const bool *, m->n_computations);
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const HloComputation *source = m->computations[c];
        bool *kept = find_kept(a, source);
        for (uint32_t k = 0; k < source->n_instructions; k++)
            any = any || (is_copy(source->instructions[k]) && !kept[k]);
        marks[c] = kept;
    }
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_copy, .marks = marks}) : m;
}

/* tuple: get-tuple-element of tuple(..), and tuple(..) of all elements of a tuple ---------------------------------- */

static bool is_tuple(const HloInstruction *i)
{
    if (i->opcode == HLO_GET_TUPLE_ELEMENT)
        return i->operands[0]->opcode == HLO_TUPLE || i->operands[0]->opcode == HLO_GET_TUPLE_ELEMENT;
    return i->opcode == HLO_TUPLE && i->n_operands && i->operands[0]->opcode == HLO_GET_TUPLE_ELEMENT && i->n_users;
}

/* The tuple whose elements, all and in order, are the operands of i; NULL if there is none. The root stays: its
 * operands are the outputs. */
static HloInstruction *whole_tuple(HloBuilder *b, const HloInstruction *i)
{
    const HloInstruction *first = i->operands[0];
    if (first->opcode != HLO_GET_TUPLE_ELEMENT || i == b->source->root) return NULL;
    const HloInstruction *tuple = first->operands[0];
    bool whole = tuple->shape->n_elements == i->n_operands;
    for (uint32_t k = 0; whole && k < i->n_operands; k++) {
        const HloInstruction *e = i->operands[k];
        whole = e->opcode == HLO_GET_TUPLE_ELEMENT && e->operands[0] == tuple && e->number == k;
    }
    return whole ? hlo_mapped(b, tuple) : NULL;
}

static HloInstruction *rewrite_tuple(HloBuilder *b, const HloInstruction *i)
{
    if (i->opcode == HLO_TUPLE && i->n_operands) return whole_tuple(b, i);
    if (i->opcode != HLO_GET_TUPLE_ELEMENT) return NULL;
    const HloInstruction *tuple = hlo_mapped(b, i->operands[0]);
    return tuple->opcode == HLO_TUPLE ? tuple->operands[i->number] : NULL;
}

const HloModule *hlo_pass_tuple(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_tuple, .rewrite = rewrite_tuple});
}

/* dead: instructions that no output needs, and computations that are not called ------------------------------------ */

typedef struct {
    bool **live;    /* [computation][instruction] */
    bool *effect;   /* [computation] it holds an instruction with a side effect */
    bool *called;   /* [computation] */
} Life;

static bool has_effect(WbbArena *a, const Life *l, const HloInstruction *i)
{
    if (hlo_kind(i->opcode) == HLO_IS_EFFECT) return true;
    if (i->opcode == HLO_CUSTOM_CALL && hlo_attribute_true(a, i, "custom_call_has_side_effect")) return true;
    for (uint32_t k = 0; k < i->n_called; k++)
        if (l->effect[i->called[k]->id]) return true;
    return false;
}

/* Users stand after their operands, so one walk from the end suffices. True if an instruction is dead. */
static bool find_live(WbbArena *a, Life *l, const HloComputation *c)
{
    bool *live = WBB_NEW_N(a, bool, c->n_instructions), dead = false;
    live[c->root->id] = true;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        const HloInstruction *i = c->instructions[k];
        if (has_effect(a, l, i)) live[k] = l->effect[c->id] = true;
        if (i->opcode == HLO_PARAMETER) live[k] = true;
        for (uint32_t j = 0; live[k] && j < i->n_operands; j++) live[i->operands[j]->id] = true;
        dead = dead || !live[k];
    }
    l->live[c->id] = live;
    return dead;
}

/* Callers stand after callees. True if a computation is not called. */
static bool find_called(Life *l, const HloModule *m)
{
    bool uncalled = false;
    l->called[m->entry->id] = true;
    for (uint32_t c = m->n_computations; c-- > 0;) {
        const HloComputation *from = m->computations[c];
        uncalled = uncalled || !l->called[c];
        for (uint32_t k = 0; l->called[c] && k < from->n_instructions; k++)
            for (uint32_t j = 0; l->live[c][k] && j < from->instructions[k]->n_called; j++)
                l->called[from->instructions[k]->called[j]->id] = true;
    }
    return uncalled;
}

static HloInstruction *rewrite_dead(HloBuilder *b, const HloInstruction *i)
{
    return b->marks[i->id] ? NULL : hlo_dropped;
}

const HloModule *hlo_pass_dead(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    Life l = {WBB_NEW_N(a, bool *, m->n_computations), WBB_NEW_N(a, bool, m->n_computations),
              WBB_NEW_N(a, bool, m->n_computations)};
    const bool **marks = WBB_NEW_N(a, const bool *, m->n_computations);
    bool dead = false;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        dead = find_live(a, &l, m->computations[c]) || dead;
        marks[c] = l.live[c];
    }
    bool uncalled = find_called(&l, m);
    if (!dead && !uncalled) return m;
    HloModule *made = WBB_NEW(a, HloModule);
    *made = *hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_dead, .marks = marks});
    HloComputation **kept = WBB_NEW_N(a, HloComputation *, made->n_computations);
    uint32_t n = 0;
    for (uint32_t c = 0; c < made->n_computations; c++) { /* in the order of m's computations */
        if (!l.called[c]) continue;
        made->computations[c]->module = made;
        made->computations[c]->id = n;
        kept[n++] = made->computations[c];
    }
    made->computations = kept;
    made->n_computations = n;
    return made;
}

/* normalise_clean: what computes nothing goes.
 *
 * Needs: a module. Leaves: one without operations that hand their operand on or ask what the text says (six passes, one kind each).
 *
 *     s = f32[8] custom-call(x), custom_call_target="Sharding"        identity      x
 *     o = (f32[8], f32[8]) opt-barrier(t)                             barrier       t
 *     n = s32[] get-dimension-size(x), dimensions={0}                 size          s32[] constant(8)
 *     c = f32[8]{0} copy(y)                                           copy          y
 *     g = f32[8] get-tuple-element(t), index=0                        tuple         what t was made of
 *     d = f32[8] exponential(x)                                       dead          nothing, where nothing uses d
 */
#include "hlo/normalise.h"

#include <string.h>

/* identity: custom calls that say where a value lives, or how it is split over devices, and not what it is ------------------- */

static HloInstruction *rewrite_identity(HloBuilder *b, const HloInstruction *i)
{
    return hlo_is_identity_call(i) ? hlo_mapped(b, i->operands[0]) : NULL;
}

const HloModule *hlo_pass_identity(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = hlo_is_identity_call, .rewrite = rewrite_identity});
}

/* barrier: what orders operations and leaves their values alone --------------------------------------------------------------- */

static HloInstruction *rewrite_barrier(HloBuilder *b, const HloInstruction *i)
{
    return hlo_is_barrier(i) ? hlo_mapped(b, i->operands[0]) : NULL;
}

const HloModule *hlo_pass_barrier(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = hlo_is_barrier, .rewrite = rewrite_barrier});
}

/* size: how large a dimension is, in a module where no dimension's size is known at run time only ------------------------------- */

static bool is_dynamic(const HloInstruction *i)
{
    const HloShape *s = i->shape;
    bool dynamic = i->opcode == HLO_SET_DIMENSION_SIZE || i->opcode == HLO_DYNAMIC_RESHAPE || i->opcode == HLO_CUSTOM_CALL || s->dynamic;
    for (uint32_t k = 0; k < s->n_elements; k++) dynamic = dynamic || s->elements[k]->dynamic || s->elements[k]->type == SC_TUPLE;
    return dynamic; /* tuples in tuples and custom calls: not looked into */
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

/* copy: to the same layout. An output that is a copy stays one: it may be all that the fusion does; so does the operand of a fusion,
 * which may be overwritten there. -------------------------------------------------------------------------------------------- */

static bool is_copy(const HloInstruction *i)
{
    return i->opcode == HLO_COPY && hlo_same_layout(i->shape, i->operands[0]->shape);
}

static HloInstruction *rewrite_copy(HloBuilder *b, const HloInstruction *i)
{
    return is_copy(i) && !b->marks[i->id] ? hlo_mapped(b, i->operands[0]) : NULL;
}

/* An output: the root, or what root tuples are made of. Tuples stand behind their elements. */
static bool *find_outputs(WbbArena *a, const HloComputation *c)
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
        bool *outputs = find_outputs(a, source);
        for (uint32_t k = 0; k < source->n_instructions; k++) any = any || (is_copy(source->instructions[k]) && !outputs[k]);
        marks[c] = outputs;
    }
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite_copy, .marks = marks}) : m;
}

/* tuple: an element of a tuple that was just made; a tuple taken apart and put together again ---------------------------------- */

static bool is_tuple(const HloInstruction *i)
{
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) return i->operands[0]->opcode == HLO_TUPLE || i->operands[0]->opcode == HLO_GET_TUPLE_ELEMENT;
    return i->opcode == HLO_TUPLE && i->n_operands && i->operands[0]->opcode == HLO_GET_TUPLE_ELEMENT && i->n_users;
}

/* All elements of one tuple, in order: that tuple. The root stays a tuple made here: its elements are the outputs. */
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

/* dead: what no output needs, and computations that nobody calls --------------------------------------------------------------- */

typedef struct {
    bool **live;    /* [computation][instruction] */
    bool *effect;   /* [computation] something in it is seen outside, whoever needs its value */
    bool *called;   /* [computation] */
} Life;

static bool has_effect(WbbArena *a, const Life *l, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_ALL_GATHER: case HLO_ALL_GATHER_DONE: case HLO_ALL_GATHER_START: case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_DONE:
    case HLO_ALL_REDUCE_START: case HLO_ALL_TO_ALL: case HLO_COLLECTIVE_BROADCAST: case HLO_COLLECTIVE_PERMUTE:
    case HLO_COLLECTIVE_PERMUTE_DONE: case HLO_COLLECTIVE_PERMUTE_START: case HLO_INFEED: case HLO_OUTFEED: case HLO_RAGGED_ALL_TO_ALL:
    case HLO_RECV: case HLO_RECV_DONE: case HLO_REDUCE_SCATTER: case HLO_RNG_GET_AND_UPDATE_STATE: case HLO_SEND: case HLO_SEND_DONE:
        return true;
    case HLO_CUSTOM_CALL:
        if (hlo_attribute_true(a, i, "custom_call_has_side_effect")) return true;
        break;
    default: break;
    }
    for (uint32_t k = 0; k < i->n_called; k++)
        if (l->effect[i->called[k]->id]) return true;
    return false;
}

/* Users stand behind what they use: one look at each, from the end. True if something is dead. */
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

/* Callers stand behind those that they call. */
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

static HloInstruction *rewrite_dead(HloBuilder *b, const HloInstruction *i) { return b->marks[i->id] ? NULL : hlo_dropped; }

const HloModule *hlo_pass_dead(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    Life l = {WBB_NEW_N(a, bool *, m->n_computations), WBB_NEW_N(a, bool, m->n_computations), WBB_NEW_N(a, bool, m->n_computations)};
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
    for (uint32_t c = 0; c < made->n_computations; c++) { /* one for one with those of m */
        if (!l.called[c]) continue;
        made->computations[c]->module = made;
        made->computations[c]->id = n;
        kept[n++] = made->computations[c];
    }
    made->computations = kept;
    made->n_computations = n;
    return made;
}

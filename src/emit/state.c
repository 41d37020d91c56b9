/* state.c: what the parameters of a called computation are: environments, and the state of a loop.
 *
 * Needs a frame's environment and a value that it asks for; leaves the value itself, or which value in which
 * environment it is. The parameters of a scalar body are given values. Those of a call, of a branch, of an iteration of
 * a loop in straight code are instructions of the computation around it. Those of a loop's body are elements of its
 * state: the slots, which the loop carries. A slot is a leaf of the state at an index that is known before the loop.
 * Where a thread holds a whole leaf, it computes also other arrays whole that are read at a second index which only
 * the body knows: at each such index anew, a chain of them would double with every link.
 *
 *     while((x, i, table) ..) at (t)      slots: x at (t), i at ();  table, which no iteration changes, is read at any
 *                                         index where the loop began
 */
#include "emit/inner.h"

#include <string.h>

uint32_t emit_new_env(EmitValues *e, EmitEnv env)
{
    WBB_PUSH(e->arena, &e->envs, env);
    return e->envs.n - 1;
}

uint32_t emit_env(EmitValues *e, uint32_t n, const IrRef *args)
{
    IrRef *copy = WBB_NEW_N(e->arena, IrRef, n + 1);
    memcpy(copy, args, n * sizeof *args);
    return emit_new_env(e, (EmitEnv){.values = copy});
}

uint32_t emit_env_of(EmitValues *e, const HloInstruction *i, uint32_t outer, uint32_t branch,
                     HloInstruction *const *operands)
{
    const uint64_t key[3] = {(uint64_t)(uintptr_t)i, outer, branch};
    WbbEntry *known = wbb_map_put_bytes(&e->calls, key, sizeof key);
    if (!known->value) known->value = emit_new_env(e, (EmitEnv){.operands = operands, .outer = outer});
    return (uint32_t)known->value;
}

/* slots --------------------------------------------------------------------------------------------------------- */

/* Is x known before the loop? Scopes that are open have numbers that grow with depth. */
static bool is_before(EmitValues *e, const EmitState *s, IrRef x)
{
    return emit_is_available(e, x) && emit_scope_of(e, x) <= s->outer_scope;
}

static bool all_before(EmitValues *e, const EmitState *s, uint32_t rank, const IrRef *index)
{
    for (uint32_t d = 0; d < rank; d++)
        if (!is_before(e, s, index[d])) return false;
    return true;
}

/* A value without a meaning, in the place of one that will be computed later. */
static IrRef placeholder(EmitValues *e, ScType t)
{
    return ir_value_new(e->g, emit_name(e, "a"), IR_TYPE(t, 0));
}

/* The number of the slot; -1: there is none, nor may there be. */
static int32_t find_slot(EmitValues *e, EmitState *s, uint32_t leaf, const IrRef *index)
{
    const HloShape *shape = plan_shape(s->loop, leaf);
    const size_t bytes = shape->rank * sizeof *index;
    for (uint32_t k = 0; k < s->n_slots; k++)
        if (s->slots[k].leaf == leaf && (!bytes || !memcmp(s->slots[k].index, index, bytes))) return (int32_t)k;
    if (!s->discovering || s->n_slots == s->capacity || !all_before(e, s, shape->rank, index)) return -1;
    IrRef *copy = WBB_NEW_N(e->arena, IrRef, shape->rank + 1u);
    if (bytes) memcpy(copy, index, bytes);
    s->carried[s->n_slots] = placeholder(e, shape->type);
    s->slots[s->n_slots] = (EmitSlot){.leaf = leaf, .index = copy};
    return (int32_t)s->n_slots++;
}

int32_t emit_add_slot(EmitValues *e, EmitState *s, uint32_t leaf, const IrRef *index)
{
    return find_slot(e, s, leaf, index);
}

static IrRef held_element(EmitValues *e, const EmitHeld *h, int64_t number)
{
    IrRef index[HLO_RANK_LIMIT];
    if (!h->state) return h->values[number];
    ix_delinear(e->rw, plan_shape(h->state->loop, h->leaf), ir_index(e->g, number), index);
    const int32_t k = find_slot(e, h->state, h->leaf, index);
    return k < 0 ? 0 : h->values[k];
}

IrRef emit_choose(EmitValues *e, const EmitHeld *h, IrRef at, int64_t lo, int64_t hi)
{
    if (hi - lo == 1) return held_element(e, h, lo);
    const int64_t middle = lo + (hi - lo) / 2;
    const IrRef below = rw_compare(e->rw, OP_LT, at, ir_index(e->g, middle));
    const IrRef low = emit_choose(e, h, at, lo, middle), high = emit_choose(e, h, at, middle, hi);
    if (!low || !high || low == high) return low && high ? low : 0;
    return emit_either(e, below, low, high);
}

/* The element of a leaf of the state. While slots are looked for, one that the thread cannot hold makes the search
 * fail, or begin anew with the whole leaf in the thread. */
static IrRef state_element(EmitValues *e, const EmitEnv *env, uint32_t leaf, const IrRef *index)
{
    EmitState *s = env->state;
    const HloShape *shape = plan_shape(s->loop, leaf);
    const int64_t n = hlo_elements(shape);
    if (!s->whole[leaf]) {
        const int32_t k = find_slot(e, s, leaf, index);
        if (k >= 0) return env->slots[k];
        s->whole[leaf] = n > 0 && n <= s->capacity;
        s->again = s->again || s->whole[leaf];
    } else {
        const IrRef value = emit_choose(e, &(EmitHeld){s, leaf, env->slots}, ix_linear(e->rw, shape, index), 0, n);
        if (value) return value;
        s->whole[leaf] = false;
    }
    if (!s->whole[leaf]) s->failed = true, s->failed_leaf = leaf;
    return placeholder(e, shape->type);
}

/* Does the loop whose code this is hold a leaf of its state whole? */
static bool holds_arrays(const EmitValues *e, uint32_t env)
{
    while (env && !e->envs.items[env].state) env = e->envs.items[env].outer;
    const EmitState *s = env ? e->envs.items[env].state : NULL;
    for (uint32_t l = 0; s && l < s->loop->shape->n_leaves; l++)
        if (s->whole[l]) return true;
    return false;
}

bool emit_is_whole(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index)
{
    const HloShape *shape = plan_shape(v.i, v.part);
    const int64_t n = hlo_elements(shape);
    if (n <= 1 || n > e->plan->while_state || v.i->shape->type == SC_TUPLE || !holds_arrays(e, env)) return false;
    if (ir_is_const(e->g, ix_linear(e->rw, shape, index))) return false;
    const uint64_t key[3] = {(uint64_t)(uintptr_t)v.i, env, v.part};
    return wbb_map_put_bytes(&e->asked, key, sizeof key)->value++ > 0;
}

/* Values from before the loop, while slots are looked for ------------------------------------------------------- */

IrRef emit_stand_in(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index)
{
    const HloShape *shape = plan_shape(v.i, v.part);
    struct { const HloInstruction *i; uint32_t env, part; IrRef index[HLO_RANK_LIMIT]; } key = {v.i, env, v.part, {0}};
    const size_t bytes = shape->rank * sizeof *index;
    if (bytes) memcpy(key.index, index, bytes);
    WbbEntry *known =
        wbb_map_put_bytes(&e->search->stand_ins, &key, (size_t)((char *)key.index - (char *)&key) + bytes);
    if (known->value && emit_is_available(e, (IrRef)known->value)) return (IrRef)known->value;
    known->value = placeholder(e, shape->type);
    if (!all_before(e, e->search, shape->rank, index)) {
        emit_bound(e, (IrRef)known->value);
        return (IrRef)known->value;
    }
    IrRef *copy = WBB_NEW_N(e->arena, IrRef, shape->rank + 1u);
    if (bytes) memcpy(copy, index, bytes);
    const EmitWanted wanted = {v, env, copy};
    WBB_PUSH(e->arena, &e->search->wanted, wanted);
    return (IrRef)known->value;
}

/* which value a parameter is ------------------------------------------------------------------------------------ */

/* Is v, in a loop's condition, whether any element of an array holds that has an own element for each result? */
static bool is_any(EmitState *s, const HloInstruction *i)
{
    if (s->no_any || !gr_is_any(i)) return false;
    const HloShape *x = i->operands[0]->shape, *own = plan_shape(s->loop, s->slots[0].leaf);
    if (x->rank > own->rank || !s->n_slots) return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->dims[d] != own->dims[d]) return false;
    if (s->any && s->any != i->operands[0]) return false;
    s->any = i->operands[0];
    return true;
}

IrRef emit_resolve(EmitValues *e, uint32_t *env, PlanValue *v, const IrRef **index)
{
    for (;;) {
        *v = plan_value(v->i, v->part);
        if (!*env) return 0;
        const EmitEnv *n = &e->envs.items[*env];
        if (n->tests && is_any(n->state, v->i)) {
            *v = (PlanValue){v->i->operands[0], 0};
            *index = n->state->slots[0].index;
            continue;
        }
        if (v->i->opcode != HLO_PARAMETER) return 0;
        if (n->values) return n->values[v->i->number];
        if (n->known && n->leaf == v->part) return n->known;
        if (n->state && !hlo_loop_keeps(n->state->loop, v->part)) return state_element(e, n, v->part, *index);
        *env = n->outer;
        *v = (PlanValue){n->operands[v->i->number], v->part};
    }
}

/* frame.c: values on demand: what was computed is remembered, what was not gets a frame.
 *
 * Needs the step of each operation (value.c). A value is remembered by instruction and index, so that what several
 * users read at one index is computed once. Frames stand on a list of their own: a chain of a hundred thousand
 * operations takes no C stack. What is read at several indices is computed at each where that is cheap, and else
 * becomes a function, called with the index: function.c.
 *
 *     value(%add, (i, j)) asks for value(%bias.broadcast, (i, j)), that for value(%bias, (j)), which is load %bias[j]
 */
#include "emit/inner.h"

#include <string.h>

/* remembered values ---------------------------------------------------------------------------------------- */

/* What a value is remembered by: as much of `index` as it has dimensions. */
typedef struct {
    const HloInstruction *i;
    uint32_t env, part;
    IrRef index[HLO_RANK_LIMIT];
} Key;

static size_t make_key(Key *key, uint32_t env, const HloInstruction *i, uint32_t part, const IrRef *index)
{
    const size_t bytes = plan_shape(i, part)->rank * sizeof *index;
    key->i = i, key->env = env, key->part = part;
    if (bytes) memcpy(key->index, index, bytes);
    return offsetof(Key, index) + bytes;
}

/* 0: none. */
static IrRef remembered(const EmitValues *e, uint32_t env, const HloInstruction *i, uint32_t part, const IrRef *index)
{
    Key key;
    const WbbEntry *known = wbb_map_get_bytes(&e->memo, &key, make_key(&key, env, i, part, index));
    return known ? (IrRef)known->value : 0;
}

void emit_remember(EmitValues *e, const EmitFrame *f, uint32_t part, IrRef value)
{
    Key key;
    wbb_map_put_bytes(&e->memo, &key, make_key(&key, f->env, f->i, part, f->index))->value = value;
}

void emit_give(EmitValues *e, PlanValue v, const IrRef *index, IrRef value)
{
    Key key;
    wbb_map_put_bytes(&e->memo, &key, make_key(&key, 0, v.i, v.part, index))->value = value;
}

/* frames ------------------------------------------------------------------------------------------------------ */

static void push(EmitValues *e, EmitStep step, PlanValue v, uint32_t env, const IrRef *index)
{
    EmitFrame *f = e->spare;
    if (f) e->spare = f->caller;
    else f = WBB_NEW(e->arena, EmitFrame);
    if (e->g->n - e->first_node > EMIT_MAX_NODES || e->memo.n > EMIT_MAX_NODES)
        wbb_decline(e->cx, v.i->loc, WHY_SIZE, "the body needs more than %d nodes", EMIT_MAX_NODES);
    if (emit_is_called(e, env) && ++e->n_called > e->plan->called_most)
        wbb_decline(e->cx, v.i->loc, WHY_SIZE, "one thread would compute more than %u values of loops and branches",
                    e->plan->called_most);
    *f = (EmitFrame){.caller = e->top, .step = step, .i = v.i, .part = v.part, .env = env, .index = index,
                     .nodes_before = e->g->n - e->function_nodes, .computed_before = e->n_computed};
    f->origin = env == 0 ? v.i->id + 1 : e->top ? e->top->origin : e->g->making_origin;
    e->top = f;
}

bool emit_is_apart(const HloInstruction *i)
{
    return i->shape->type == SC_TUPLE && (hlo_kind(i->opcode) == HLO_IS_CONTROL || i->opcode == HLO_RNG_BIT_GENERATOR);
}

EmitInfo *emit_info(EmitValues *e, const HloInstruction *i, uint32_t part)
{
    EmitInfo *info = &e->info[i->id];
    if (!emit_is_apart(i)) return info;
    if (!info->leaves) info->leaves = WBB_NEW_N(e->arena, EmitInfo, i->shape->n_leaves);
    return &info->leaves[part];
}

void emit_done(EmitValues *e, EmitFrame *f, IrRef value)
{
    assert(e->top == f && value);
    emit_remember(e, f, f->part, value);
    if (f->env == 0) {
        EmitInfo *info = emit_info(e, f->i, f->part);
        if (!info->computed) e->n_computed++;
        info->cost =
            info->computed ? e->g->n - e->function_nodes - f->nodes_before : e->n_computed - f->computed_before;
        info->computed = true;
    }
    e->top = f->caller;
    if (f->caller) f->caller->result = value;
    else e->result = value;
    f->caller = e->spare;
    e->spare = f;
}

const IxNeeds *emit_needs(EmitValues *e, const EmitFrame *f)
{
    const IxNeeds **kept = f->env == 0 ? &e->info[f->i->id].needs : NULL;
    if (kept && *kept) return *kept;
    IxNeeds *needs = WBB_NEW(e->arena, IxNeeds);
    *needs = ix_needs(e->arena, f->i);
    if (kept) *kept = needs;
    return needs;
}

void emit_call(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    const HloShape *s = plan_shape(x, part);
    const uint32_t origin = e->g->making_origin;
    e->g->making_origin = x->id + 1;
    f->result = ir_call(e->g, emit_info(e, x, part)->function - 1, emit_is_apart(x) ? 0 : part, IR_TYPE(s->type, 0),
                        index, s->rank);
    e->g->making_origin = origin;
}

/* asking ------------------------------------------------------------------------------------------------------ */

/* Made at each index: what a parameter, a constant or an iota is costs less than a call. */
static bool is_leaf(const HloInstruction *i) { return hlo_kind(i->opcode) == HLO_IS_LEAF; }

/* Has it been computed, at another index, and took too many nodes for doing so again? */
static bool needs_function(const EmitValues *e, const EmitInfo *info)
{
    const bool full = e->g->n - e->first_node > e->plan->inline_budget;
    if (e->steps || e->inlines) return false; /* a function has no steps, and nothing that is given at an index */
    const bool costly = info->cost > e->plan->inline_limit || (info->cost > e->plan->call_nodes && full);
    return info->computed && !info->in_progress && costly;
}

/* The result of a shared reduction, at an index that is not the same nodes as that of its kept elements: the plan has
 * shown for a position of variables that values need no others (plan/share.c). */
static IrRef result_at_place(EmitValues *e, PlanValue v)
{
    IrRef kept[HLO_RANK_LIMIT], known = 0;
    if (e->place) {
        plan_kept_index(v.i, e->place, kept);
        known = remembered(e, 0, v.i, v.part, kept);
    }
    if (!known || !emit_is_available(e, known))
        wbb_decline(e->cx, v.i->loc, WHY_REDUCTION, "%s: its result is needed by threads that do not have it",
                    hlo_opcode_name(v.i->opcode));
    return known;
}

void emit_want_in(EmitValues *e, EmitFrame *f, uint32_t env, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    static const IrRef of_scalar[1] = {0};
    if (!index) index = of_scalar;
    PlanValue v = {x, part};
    const IrRef parameter = emit_resolve(e, &env, &v, &index);
    const IrRef known = parameter ? parameter : remembered(e, env, v.i, v.part, index);
    if (parameter || (known && emit_is_available(e, known))) {
        f->result = known;
        return;
    }
    if (e->search && env < e->search->first_env && !is_leaf(v.i)) {
        f->result = emit_stand_in(e, env, v, index);
        return;
    }
    if (env == 0 && e->steps && e->steps->open && v.i == e->steps->of->loop && e->steps->now[v.part]) {
        f->result = e->steps->now[v.part];
        return;
    }
    if (env == 0 && e->reduced && e->reduced[v.i->id]) {
        f->result = result_at_place(e, v);
        return;
    }
    EmitStep step = e->step_of(v.i);
    if (env == 0 && !is_leaf(v.i)) {
        const EmitInfo *info = emit_info(e, v.i, v.part);
        if (info->function) {
            emit_call(e, f, v.i, v.part, index);
            return;
        }
        if (needs_function(e, info)) step = e->function_step;
    }
    if (env && !is_leaf(v.i) && emit_is_whole(e, env, v, index)) step = e->held_step;
    push(e, step, v, env, index);
}

void emit_want(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    emit_want_in(e, f, f->env, x, part, index);
}

bool emit_starts(EmitValues *e, EmitFrame *f, const IxNeeds *needs, IrRef *starts)
{
    const uint32_t k = f->asked;
    if (k > 0) starts[k - 1] = emit_start(e, f->result, needs->starts[k - 1].lo, needs->starts[k - 1].hi);
    if (k == needs->n_starts) return true;
    const HloInstruction *x = f->i->operands[needs->starts[k].operand];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, x->shape->rank + 1u);
    ix_start(e->rw, e->arena, f->i, k, f->index, NULL, index);
    f->asked++;
    emit_want(e, f, x, 0, index);
    return false;
}

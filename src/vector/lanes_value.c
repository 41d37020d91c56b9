/* lanes_value.c: the values that nodes have in all lanes, or in one.
 *
 * Needs marks; leaves nodes. A node that differs from lane to lane becomes n scalars, or n/2 pairs where the target's
 * PACKED table has its operation at two lanes, or accesses as wide as possible; `part` and `pack` change the form on
 * demand. Loads of neighbouring lanes become one access as wide as these allow: the indices differ by exactly 1 from
 * lane to lane, the first one is a multiple of the width (by facts), and the bytes exceed neither the target's widest
 * access nor the buffer's alignment.
 *
 * Where all lanes run, all lanes of a node are made at once. Where one lane runs alone, in the branch of a condition
 * that differs, a node that was made in all lanes in a scope around the branch is a part of that; any other node is
 * made as a scalar of that lane. A node that has several lanes already, from a loop of lanes around this one, counts as
 * a scalar.
 *
 *     load %in[8*t + v] in lanes 0..8 of bf16  =>  x = load.bf16x8 %in[8*t]; lane 3: part.bf16<3>(x)
 */
#include "vector/lanes.h"

IrType vec_with_lanes(IrType t, uint32_t lanes)
{
    uint32_t log2 = 0;
    while (1u << log2 < lanes) log2++;
    return IR_TYPE(IR_SC(t), log2);
}

bool vec_has_pairs(const Lanes *l, const IrNode *n, ScType from)
{
    const RwTables *t = rw_target(l->rw);
    for (uint32_t i = 0; i < t->n_packed; i++) {
        const RwPacked *p = &t->packed[i];
        if (p->lanes == 2 && p->op == n->op && p->type == IR_SC(n->type) && p->from == from) return true;
    }
    return false;
}

uint32_t vec_packed_lanes(const Lanes *l, const IrNode *n, uint32_t most)
{
    const RwTables *t = rw_target(l->rw);
    uint32_t lanes = 1;
    for (uint32_t i = 0; i < t->n_packed; i++) {
        const RwPacked *p = &t->packed[i];
        if (p->op == n->op && p->type == IR_SC(n->type) && p->lanes <= most) lanes = WBB_MAX(lanes, p->lanes);
    }
    return lanes;
}

/* Pairs where some operation of the target takes pairs of the type. */
LaneForm vec_binding_form(const Lanes *l, IrType type)
{
    const RwTables *t = rw_target(l->rw);
    for (uint32_t i = 0; l->lanes > 1 && IR_LANES(type) == 1 && i < t->n_packed; i++) {
        const RwPacked *p = &t->packed[i];
        if (p->lanes == 2 && p->type == IR_SC(type) && p->from == IR_SC(type) && !sc_op_info[p->op].effects)
            return PAIRS;
    }
    return SCALARS;
}

/* --- forms of a value --------------------------------------------------------------------------------------------- */
/* The access of a LOADS value that holds a lane: its first lane. */
static uint32_t access_of(const LaneValue *v, uint32_t lane)
{
    while (v->width[lane] == 0) lane--;
    return lane;
}

static IrRef scalar_of(Lanes *l, const LaneValue *v, IrType type, uint32_t lane)
{
    if (v->form == SCALARS) return v->at[lane];
    if (v->form == PAIRS) return rw_make(l->rw, OP_PART, type, 0, v->at[lane & ~1u], 0, 0, lane & 1u);
    const uint32_t first = access_of(v, lane);
    return rw_make(l->rw, OP_PART, type, 0, v->at[first], 0, 0, lane - first);
}

static bool varies(Lanes *l, IrRef r) { return vec_node(l, r)->varies; }

IrRef vec_lane(Lanes *l, IrRef r, uint32_t lane)
{
    return varies(l, r) ? scalar_of(l, vec_node(l, r)->value, vec_with_lanes(ir_at(l->g, r)->type, 1), lane) : r;
}

IrRef vec_lanes(Lanes *l, IrRef r, uint32_t lane, uint32_t count)
{
    if (count == 1) return vec_lane(l, r, lane);
    const IrType type = vec_with_lanes(ir_at(l->g, r)->type, count);
    const LaneValue *v = varies(l, r) ? vec_node(l, r)->value : NULL;
    if (!v) return rw_make(l->rw, OP_SPLAT, type, 0, r, 0, 0, 0);
    if (v->form == PAIRS && count == 2) return v->at[lane];
    if (v->form == LOADS) {
        const uint32_t first = access_of(v, lane);
        if (lane + count <= first + v->width[first])
            return rw_make(l->rw, OP_PART, type, 0, v->at[first], 0, 0, lane - first);
    }
    const IrRef low = vec_lanes(l, r, lane, count / 2), high = vec_lanes(l, r, lane + count / 2, count / 2);
    return rw_make(l->rw, OP_PACK, type, 0, low, high, 0, 0);
}

LaneValue *vec_lane_value(Lanes *l, LaneBinding *b)
{
    if (!b->value) b->value = WBB_NEW(l->arena, LaneValue);
    return b->value;
}

const char *vec_lane_name(Lanes *l, const char *name, uint32_t lane)
{
    return wbb_format(l->g->arena, "%s_%u", name, lane);
}

void vec_replace_value(Lanes *l, uint32_t value, IrRef by)
{
    while (l->replaced_values.n <= value) WBB_PUSH(l->g->arena, &l->replaced_values, 0);
    l->replaced_values.items[value] = by;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* y = x + 1? */
static bool is_next(Lanes *l, IrRef x, IrRef y)
{
    const IrRef d = rw_sub(l->rw, y, x);
    return ir_is_const(l->g, d) && ir_at(l->g, d)->imm == 1;
}

static uint32_t widest(Lanes *l, uint32_t buffer, const IrRef *index, uint32_t lane, const char **why)
{
    const IrBuffer *b = &l->k->buffers[buffer];
    const uint32_t bits = sc_type_info[b->type].bits;
    for (uint32_t w = 1;; w *= 2) {
        if (2 * w * bits > 8 * l->vector_bytes) return *why = "the target has no wider access", w;
        if (2 * w * bits > 8 * b->align) return *why = "the buffer is not aligned to more", w;
        if (lane + 2 * w > l->lanes) return *why = "a thread needs no more at once", w;
        if (!ir_multiple(l->g, index[lane], 2 * w))
            return *why = "the first index is not a multiple of more", w;
        for (uint32_t i = lane; i + 1 < lane + 2 * w; i++)
            if (!is_next(l, index[i], index[i + 1])) return *why = "the next elements are not neighbours in memory", w;
    }
}

/* An access is at least a byte: fewer elements are accessed one by one. */
uint32_t vec_access_width(Lanes *l, uint32_t buffer, const IrRef *index, uint32_t lane, const char **why)
{
    const uint32_t w = widest(l, buffer, index, lane, why);
    return w * sc_type_info[l->k->buffers[buffer].type].bits < 8 ? 1 : w;
}

void vec_record_access(Lanes *l, uint32_t buffer, bool store, uint32_t width, const char *why)
{
    VecAccess a = {.buffer = buffer, .store = store, .lanes = width, .count = 1, .why = why};
    for (uint32_t i = 0; i < l->accesses.n; i++) {
        VecAccess *old = &l->accesses.items[i];
        if (old->buffer == buffer && old->store == store && old->lanes == width && old->why == why) {
            old->count++;
            return;
        }
    }
    WBB_PUSH(l->g->arena, &l->accesses, a);
}

void vec_join_access(Lanes *l, uint32_t buffer, bool store, uint32_t lanes, uint32_t into)
{
    for (uint32_t i = 0; i < l->accesses.n; i++) {
        VecAccess *x = &l->accesses.items[i];
        if (x->buffer != buffer || x->store != store || x->lanes != lanes) continue;
        if (--x->count == 0) *x = l->accesses.items[--l->accesses.n];
        break;
    }
    if (into) vec_record_access(l, buffer, store, into, "all that follows each other in shared memory");
}

static void load_lanes(Lanes *l, IrRef r, LaneValue *v)
{
    const IrNode n = *ir_at(l->g, r);
    const uint32_t buffer = (uint32_t)ir_at(l->g, n.a[0])->imm;
    IrRef index[MAX_LANES];
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = vec_lane(l, n.a[1], i);
    v->form = LOADS;
    for (uint32_t i = 0; i < l->lanes;) {
        const char *why;
        const uint32_t w = vec_access_width(l, buffer, index, i, &why);
        v->width[i] = (uint8_t)w;
        v->at[i] = rw_make(l->rw, OP_LOAD, vec_with_lanes(n.type, w), n.flags, n.a[0], index[i], 0, 0);
        if (i == 0 || index[i] != index[i - 1]) vec_record_access(l, buffer, false, w, why);
        i += w;
    }
}

/* --- one lane of a node ------------------------------------------------------------------------------------------- */
typedef IrRef (*OneLane)(Lanes *l, IrRef r, uint32_t lane);

/* The node r in a lane; `operand` gives its operands there. */
static IrRef in_lane(Lanes *l, IrRef r, uint32_t lane, OneLane operand)
{
    RwCx *rw = l->rw;
    const IrNode n = *ir_at(l->g, r);
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(l->arena, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = l->g->terms[n.a[0] + i];
            terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = operand(l, t.ref, lane)};
        }
        return rw_sum(rw, (int64_t)n.imm, terms, n.a[1]);
    }
    if (n.op == OP_CALL) {
        IrRef *args = WBB_NEW_N(l->arena, IrRef, n.a[1] + 1);
        for (uint32_t i = 0; i < n.a[1]; i++) args[i] = operand(l, ir_operand(l->g, r, i), lane);
        return ir_call(l->g, IR_CALLEE(n.imm), IR_WHICH(n.imm), n.type, args, n.a[1]);
    }
    IrRef x[3] = {0, 0, 0};
    for (uint32_t a = 0; a < 3 && n.a[a]; a++) x[a] = operand(l, n.a[a], lane);
    return rw_make(rw, (ScOp)n.op, n.type, n.flags, x[0], x[1], x[2], n.imm);
}

static bool is_leaf(const IrNode *n) { return n->op == OP_VAR || n->op == OP_VALUE; }

static const LaneValue *leaf_value(Lanes *l, const IrNode *n)
{
    const uint32_t number = (uint32_t)n->imm;
    return n->op == OP_VAR ? vec_variable(l, number)->value : vec_value(l, number)->value;
}

/* Does the target compute two lanes of node n at once? */
static bool is_packed(Lanes *l, const IrNode *n, bool index)
{
    if (l->lanes == 1 || IR_LANES(n->type) > 1 || index || n->op == OP_CALL || n->op == OP_LOAD) return false;
    return vec_has_pairs(l, n, IR_SC(ir_at(l->g, n->a[0])->type));
}

static void make_lanes(Lanes *l, IrRef r)
{
    IrGraph *g = l->g;
    const IrNode n = *ir_at(g, r);
    LaneValue *v = vec_node(l, r)->value = WBB_NEW(l->arena, LaneValue);
    g->making_rule = g->rule[r];
    g->making_origin = g->origin[r];
    v->form = SCALARS;
    if (is_leaf(&n)) {
        *v = *leaf_value(l, &n);
    } else if (n.op == OP_LOAD && IR_LANES(n.type) == 1) {
        load_lanes(l, r, v);
    } else if (is_packed(l, &n, ir_is_index(g, r))) {
        v->form = PAIRS;
        for (uint32_t i = 0; i < l->lanes; i += 2) {
            IrRef x[3] = {0, 0, 0};
            for (uint32_t a = 0; a < 3 && n.a[a]; a++) x[a] = vec_lanes(l, n.a[a], i, 2);
            v->at[i] = rw_make(l->rw, (ScOp)n.op, vec_with_lanes(n.type, 2), n.flags, x[0], x[1], x[2], n.imm);
        }
    } else {
        for (uint32_t i = 0; i < l->lanes; i++) v->at[i] = in_lane(l, r, i, vec_lane);
    }
}

/* --- on demand ---------------------------------------------------------------------------------------------------- */
/* All lanes of r were requested in the current scope, or in one around it. */
static bool is_requested(Lanes *l, IrRef r)
{
    const uint32_t scope = vec_node(l, r)->request_scope;
    return scope && l->open_scopes.items[scope];
}

void vec_request(Lanes *l, IrRef root)
{
    if (!varies(l, root) || is_requested(l, root)) return;
    l->stack.n = 0;
    vec_node(l, root)->request_scope = l->scope;
    WBB_PUSH(l->arena, &l->stack, root);
    while (l->stack.n) {
        const IrRef r = l->stack.items[--l->stack.n];
        if (!vec_node(l, r)->value) WBB_PUSH(l->arena, &l->requested, r);
        if (is_leaf(ir_at(l->g, r))) continue;
        for (uint32_t i = 0; i < ir_arity(l->g, r); i++) {
            const IrRef x = ir_operand(l->g, r, i);
            if (!varies(l, x) || is_requested(l, x)) continue;
            vec_node(l, x)->request_scope = l->scope;
            WBB_PUSH(l->arena, &l->stack, x);
        }
    }
}

void vec_make_requested(Lanes *l)
{
    ir_sort(l->arena, &l->requested);
    for (uint32_t i = 0; i < l->requested.n; i++) make_lanes(l, l->requested.items[i]);
    l->requested.n = 0;
    l->g->making_rule = l->g->making_origin = 0;
}

/* The scalar that r already is in the lane; 0: it is not made yet. */
static IrRef known_scalar(Lanes *l, IrRef r, uint32_t lane)
{
    const IrNode *n = ir_at(l->g, r);
    const LaneNode *known = vec_node(l, r);
    if (!known->varies) return r;
    if (is_leaf(n)) return scalar_of(l, leaf_value(l, n), vec_with_lanes(n->type, 1), lane);
    if (is_requested(l, r) && !known->chained) return vec_lane(l, r, lane);
    return known->scalar_scope == l->scalar_scope ? known->scalar : 0;
}

/* Operands first, without recursion. */
IrRef vec_scalar(Lanes *l, IrRef root, uint32_t lane)
{
    IrGraph *g = l->g;
    const IrRef known = known_scalar(l, root, lane);
    if (known) return known;
    l->stack.n = 0;
    WBB_PUSH(l->arena, &l->stack, root);
    while (l->stack.n) {
        const IrRef r = l->stack.items[l->stack.n - 1];
        const uint32_t before = l->stack.n;
        for (uint32_t i = ir_arity(g, r); i-- > 0;) {
            const IrRef x = ir_operand(g, r, i);
            if (!known_scalar(l, x, lane)) WBB_PUSH(l->arena, &l->stack, x);
        }
        if (l->stack.n > before) continue;
        l->stack.n--;
        if (vec_node(l, r)->scalar_scope == l->scalar_scope) continue;
        g->making_rule = g->rule[r];
        g->making_origin = g->origin[r];
        const IrRef made = in_lane(l, r, lane, known_scalar);
        LaneNode *n = vec_node(l, r);
        n->scalar = made;
        n->scalar_scope = l->scalar_scope;
        if (ir_at(g, r)->op != OP_LOAD) continue;
        const uint32_t buffer = (uint32_t)ir_at(g, ir_at(g, r)->a[0])->imm;
        vec_record_access(l, buffer, false, 1, "each lane decides by itself whether it reads");
    }
    g->making_rule = g->making_origin = 0;
    return vec_node(l, root)->scalar;
}

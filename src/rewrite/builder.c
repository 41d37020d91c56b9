/* builder.c: makes every node that rules apply to.
 *
 * Needs normal operands; leaves the node in normal form: constants are folded and the rules of its phase applied until
 * none matches, so a second sweep changes nothing and facts are final. Index nodes always go through the index rules;
 * element nodes through the rules of the running pass.
 *
 *     rw_floordiv(rw, 8*t + v, 8)   with v in 0..8   =>   t
 */
#include "rewrite/inner.h"

/* Rules that fire while another's right side is built, and one after the other at one node. The measures of the
 * phases end rewriting long before: more is a bug. The tests reach 5. A level takes up to 1.2 KB of stack. */
enum { MAX_DEPTH = 100, MAX_FIRINGS = 1000000 };
/* Terms of a sum that rules see at once. Rules with two PICKs try pairs of terms, in time with the square of their
 * number; longer sums are simplified in groups first, and rules miss pairs of terms in different groups. */
enum { LONG_SUM = 24 };

RwCx *rw_new(WbbCx *cx, WbbArena *a, IrGraph *g, const RwTables *index, const RwTables *target,
             ScAccuracy accuracy)
{
    RwCx *rw = WBB_NEW(a, RwCx);
    *rw = (RwCx){.cx = cx, .arena = a, .g = g, .index = index, .target = target, .accuracy = accuracy, .phase = -1,
                  .digits = {.arena = a}};
    rw->counts[0] = WBB_NEW_N(a, uint32_t, target->n_rules + 1);
    rw->counts[1] = WBB_NEW_N(a, uint32_t, index->n_rules + 1);
    rw->disabled[0] = WBB_NEW_N(a, uint8_t, target->n_rules + 1);
    rw->disabled[1] = WBB_NEW_N(a, uint8_t, index->n_rules + 1);
    return rw;
}

void rw_few_warps(RwCx *rw) { rw->few_warps = true; }
void rw_no_llvm(RwCx *rw) { rw->no_llvm = true; }
IrGraph *rw_graph(RwCx *rw) { return rw->g; }
const RwTables *rw_target(const RwCx *rw) { return rw->target; }

uint8_t *rw_marks(RwCx *rw)
{
    const uint32_t had = rw->n_marks, n = rw->g->capacity;
    if (had >= n) return rw->marks;
    rw->marks = wbb_grow(rw->arena, rw->marks, had * sizeof *rw->marks, n * sizeof *rw->marks);
    rw->made = wbb_grow(rw->arena, rw->made, had * sizeof *rw->made, n * sizeof *rw->made);
    rw->n_marks = n;
    return rw->marks;
}

/* --- one node ------------------------------------------------------------------------------------------------ */
/* An operation on constants; 0: it is none. */
static IrRef fold(RwCx *rw, IrRef r)
{
    const IrNode *at = ir_at(rw->g, r);
    if (ir_in_pool(at) || !at->a[0] || !ir_is_const(rw->g, at->a[0])) return 0; /* most nodes */
    const IrNode n = *at;
    if (sc_op_info[n.op].signature == SC_FRAME) return 0;
    uint64_t x[3] = {0, 0, 0}, bits;
    for (uint32_t i = 0; i < 3 && n.a[i]; i++) {
        if (!ir_is_const(rw->g, n.a[i])) return 0;
        x[i] = ir_at(rw->g, n.a[i])->imm;
    }
    const ScType from = IR_SC(ir_at(rw->g, n.a[0])->type), type = IR_SC(n.type);
    const uint8_t sig = sc_op_info[n.op].signature;
    if (!sc_eval((ScOp)n.op, sig == SC_COMPARE || sig == SC_TEST ? from : type, from, x, &bits)) return 0;
    return type == SC_INDEX ? ir_index(rw->g, (int64_t)bits) : ir_const(rw->g, n.type, bits);
}

/* A comparison of a choice between two constants with a third: the condition, its opposite, or a constant; 0: it is
 * none of these. */
static IrRef fold_choice(RwCx *rw, IrRef r)
{
    const IrNode n = *ir_at(rw->g, r);
    if (rw->phase != RW_SIMPLIFY && rw->phase != RW_LOWER) return 0; /* later passes have no `bnot` */
    if (sc_op_info[n.op].signature != SC_COMPARE || !ir_is_const(rw->g, n.a[1])) return 0;
    const IrNode choice = *ir_at(rw->g, n.a[0]);
    if (choice.op != OP_SELECT || !ir_is_const(rw->g, choice.a[1]) || !ir_is_const(rw->g, choice.a[2])) return 0;
    if (ir_at(rw->g, choice.a[0])->type != n.type) return 0;
    const ScType t = IR_SC(choice.type);
    uint64_t holds[2];
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t x[3] = {ir_at(rw->g, choice.a[1 + i])->imm, ir_at(rw->g, n.a[1])->imm, 0};
        if (!sc_eval((ScOp)n.op, t, t, x, &holds[i])) return 0;
    }
    if (holds[0] == holds[1]) return ir_const(rw->g, n.type, holds[0]);
    return holds[0] ? choice.a[0] : rw_make(rw, OP_BNOT, n.type, 0, choice.a[0], 0, 0, 0);
}

/* Lanes and conversions from index: what is moved is known; 0: it is not. */
static IrRef fold_frame(RwCx *rw, IrRef r)
{
    const IrGraph *g = rw->g;
    if (sc_op_info[ir_at(g, r)->op].signature != SC_FRAME) return 0;
    const IrNode n = *ir_at(g, r);
    if (n.op == OP_IDX && ir_is_const(g, n.a[0]))
        return ir_const(rw->g, n.type, sc_from_i128(IR_SC(n.type), (int64_t)ir_at(g, n.a[0])->imm));
    if (n.op == OP_SPLAT && ir_is_const(g, n.a[0])) return ir_const(rw->g, n.type, ir_at(g, n.a[0])->imm);
    if (n.op == OP_PACK && n.a[0] == n.a[1] && ir_is_const(g, n.a[0]))
        return ir_const(rw->g, n.type, ir_at(g, n.a[0])->imm);
    if (n.op != OP_PART) return 0;
    const IrNode x = *ir_at(g, n.a[0]);
    if (x.type == n.type) return n.a[0];
    if (x.op == OP_CONST) return ir_const(rw->g, n.type, x.imm);
    if (x.op == OP_SPLAT) return IR_LANES(n.type) == 1 ? x.a[0] : rw_make(rw, OP_SPLAT, n.type, 0, x.a[0], 0, 0, 0);
    if (x.op != OP_PACK) return 0;
    const uint64_t half = IR_LANES(x.type) / 2;
    if (n.imm + IR_LANES(n.type) <= half) return rw_make(rw, OP_PART, n.type, 0, x.a[0], 0, 0, n.imm);
    if (n.imm >= half) return rw_make(rw, OP_PART, n.type, 0, x.a[1], 0, 0, n.imm - half);
    return 0;
}

/* Those of indices and arrays are for all targets. */
static const RwTables *tables_of(const RwCx *rw, int phase) { return phase <= RW_OPTIONS ? rw->index : rw->target; }

/* What the first rule that matches makes of r; 0: none does. */
static IrRef apply_rules(RwCx *rw, IrRef r)
{
    const int phase = ir_is_index(rw->g, r) ? RW_INDEX : rw->phase;
    if (phase < 0 || phase == RW_ISEL) return 0;
    const RwTables *t = tables_of(rw, phase);
    while (rw->matches.n < rw->depth) WBB_PUSH(rw->arena, &rw->matches, WBB_NEW(rw->arena, Match)); /* folds nest */
    Match *m = rw->matches.items[rw->depth - 1];
    const uint32_t *build;
    rw->visits++;
    for (bool ok = rw_match(rw, t, (RwPhase)phase, r, m, &build); ok; ok = rw_match_next(rw, m, &build)) {
        const uint32_t rule = m->rule, outer_rule = rw->g->making_rule, outer_origin = rw->g->making_origin;
        rw->g->making_rule = (rule + 1) | (t == rw->index ? IR_INDEX_RULE : 0);
        if (rw->g->origin[r]) rw->g->making_origin = rw->g->origin[r];
        const IrRef result = rw_build(rw, t, r, m, build);
        rw->g->making_rule = outer_rule;
        rw->g->making_origin = outer_origin;
        if (result) {
            assert(result != r);
            rw_record(rw, t, rule, r, result);
            return result;
        }
    }
    return 0;
}

static void grow_normal(RwCx *rw)
{
    const uint32_t capacity = rw->g->capacity;
    rw->normal =
        wbb_grow(rw->arena, rw->normal, rw->normal_capacity * sizeof *rw->normal, capacity * sizeof *rw->normal);
    rw->normal_capacity = capacity;
}

static inline IrRef *normal_slot(RwCx *rw, IrRef r)
{
    if (rw->normal_capacity <= r) grow_normal(rw);
    return &rw->normal[r];
}

/* The normal form of a node whose operands are normal. */
IrRef rw_normalize(RwCx *rw, IrRef r)
{
    if (rw->single) return r;
    const IrRef known = *normal_slot(rw, r);
    if (known) return known;
    if (rw->depth == MAX_DEPTH) rw_out_of_fuel(rw, r);
    rw->depth++;
    IrRef n = r;
    for (uint32_t firings = 0;; firings++) {
        if (firings == MAX_FIRINGS) rw_out_of_fuel(rw, r);
        IrRef next = fold_frame(rw, n);
        if (!next) next = fold(rw, n);
        if (!next) next = fold_choice(rw, n);
        if (!next && ir_at(rw->g, n)->op == OP_SUM && ir_at(rw->g, n)->a[1] > LONG_SUM) next = rw_regroup(rw, n);
        if (!next || next == n) next = apply_rules(rw, n);
        if (!next || next == n) break;
        n = next;
        const IrRef known_next = *normal_slot(rw, n);
        if (!known_next) continue;
        n = known_next;
        break;
    }
    rw->depth--;
    *normal_slot(rw, r) = n;
    if (n != r) *normal_slot(rw, n) = n;
    return n;
}

IrRef rw_step(RwCx *rw, RwPhase phase, IrRef root, uint32_t *rule)
{
    const RwTables *t = tables_of(rw, (int)phase);
    Match m;
    const uint32_t *build;
    *rule = RW_FOLDED;
    rw->single = true;
    IrRef result = fold_frame(rw, root);
    if (!result) result = fold(rw, root);
    for (bool ok = !result && rw_match(rw, t, phase, root, &m, &build); ok && !result;
         ok = !result && rw_match_next(rw, &m, &build)) {
        *rule = m.rule;
        result = rw_build(rw, t, root, &m, build);
    }
    rw->single = false;
    return result;
}

static IrRef option(RwCx *rw, IrRef root, int64_t number, uint32_t *rule)
{
    rw->given = number;
    const IrRef made = rw_step(rw, RW_OPTIONS, root, rule);
    rw->given = 0;
    return made;
}

IrRef rw_option(RwCx *rw, IrRef root, int64_t number)
{
    uint32_t rule;
    const IrRef made = option(rw, root, number, &rule);
    if (made) rw_record(rw, rw->index, rule, root, made);
    return made;
}

uint32_t rw_option_of(RwCx *rw, IrRef root, int64_t number)
{
    uint32_t rule;
    return option(rw, root, number, &rule) ? rule : RW_FOLDED;
}

IrRef rw_make(RwCx *rw, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm)
{
    return rw_normalize(rw, ir_node(rw->g, op, type, flags, a, b, c, imm));
}

IrRef rw_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n)
{
    return rw_normalize(rw, ir_sum(rw->g, constant, terms, n, NULL));
}

IrRef rw_try_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n)
{
    bool overflow = false;
    const IrRef r = ir_sum(rw->g, constant, terms, n, &overflow);
    return overflow ? 0 : rw_normalize(rw, r);
}

IrRef rw_add(RwCx *rw, IrRef x, IrRef y) { return rw_sum(rw, 0, (IrTerm[]){{1, x}, {1, y}}, 2); }
IrRef rw_sub(RwCx *rw, IrRef x, IrRef y) { return rw_sum(rw, 0, (IrTerm[]){{1, x}, {-1, y}}, 2); }
IrRef rw_scale(RwCx *rw, IrRef x, int64_t k) { return rw_sum(rw, 0, (IrTerm[]){{k, x}}, 1); }

IrRef rw_floordiv(RwCx *rw, IrRef x, int64_t k)
{
    assert(k > 0);
    return rw_make(rw, OP_FLOORDIV, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(rw->g, k), 0, 0);
}

IrRef rw_mod(RwCx *rw, IrRef x, int64_t k)
{
    assert(k > 0);
    return rw_make(rw, OP_MOD, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(rw->g, k), 0, 0);
}

IrRef rw_compare(RwCx *rw, ScOp op, IrRef x, IrRef y) { return rw_make(rw, op, IR_TYPE(SC_PRED, 0), 0, x, y, 0, 0); }

/* laws.c: is the computation of a reduction associative on small integers?
 *
 * Needs the computation of a reduction; evaluates its definitions, f(f(a, b), c) and f(a, f(b, c)), on a fixed
 * sequence of small values, on which sums and products are exact. Where they differ, HLO leaves the result open, and
 * only one thread that takes the terms one after the other gives what the text says. Computations of functions, which
 * round, and of loops and calls are not tested: HLO asks that they be associative.
 *
 *     max(a + b, a)   =>   GR_NO: of 0, -1, 2 it makes 2 or 1
 *
 * A selection is a computation on a value and the number of its term, of comparisons of values with values and of
 * numbers with numbers: the largest value and where it stands. What it selects depends on nothing but how these
 * compare, so three values and NaN show all that it does with three terms. Where it selects the same however three
 * terms are paired, the one with the smaller number first, it may take terms in any order once two partial results are
 * put in the order of their numbers: also where the first of several NaNs counts.
 */
#include "graph/inner.h"

#include <math.h>

enum { TRIPLES = 200, LARGEST = 3 };

/* A computation of scalars as the definitions of its results. */
typedef struct {
    const HloComputation *c;
    const GrGraph *x;
    uint64_t *value;  /* by id: of parameters and definitions */
    uint64_t *node;   /* by ref */
    IrRefs *nodes;    /* by id: of a term, operands first */
    uint32_t n;       /* values of a partial result */
    bool known;       /* all of it has a meaning that is exact on small integers */
} Evaluating;

/* Functions round, on small integers too. */
static bool is_exact(const IrGraph *g, const IrRefs *nodes)
{
    for (uint32_t k = 0; k < nodes->n; k++)
        if (sc_op_info[ir_at(g, nodes->items[k])->op].costly) return false;
    return true;
}

static Evaluating evaluating(WbbCx *cx, WbbArena *a, const HloComputation *c, uint32_t n)
{
    const GrGraph *x = gr_make(cx, a, c);
    const IrGraph *g = rw_graph(x->rw);
    Evaluating e = {.c = c, .x = x, .n = n, .known = true, .value = WBB_NEW_N(a, uint64_t, c->n_instructions + 1u),
                    .node = WBB_NEW_N(a, uint64_t, g->n), .nodes = WBB_NEW_N(a, IrRefs, c->n_instructions + 1u)};
    uint8_t *mark = WBB_NEW_N(a, uint8_t, g->n);
    for (uint32_t k = 0; k < c->n_instructions && e.known; k++) {
        const GrDef *d = &x->defs[k];
        e.known = d->form != GR_FOLD && (d->form != GR_WHOLE || (d->i == c->root && d->i->opcode == HLO_TUPLE));
        if (d->form != GR_TERM) continue;
        e.known = d->i->shape->rank == 0 && !d->n_starts;
        gr_nodes(a, x, d, mark, &e.nodes[k]);
        e.known = e.known && is_exact(g, &e.nodes[k]);
    }
    return e;
}

static bool evaluate_term(const Evaluating *e, const GrDef *d)
{
    const IrGraph *g = rw_graph(e->x->rw);
    const IrRefs *nodes = &e->nodes[d->i->id];
    for (uint32_t k = 0; k < nodes->n; k++) {
        const IrRef r = nodes->items[k];
        const IrNode *n = ir_at(g, r);
        uint64_t args[3] = {0};
        for (uint32_t o = 0; n->op != OP_CALL && n->op != OP_CONST && o < ir_arity(g, r); o++)
            args[o] = e->node[ir_operand(g, r, o)];
        if (n->op == OP_CALL) e->node[r] = e->value[IR_CALLEE(n->imm)];
        else if (ir_in_pool(n) || !ir_eval_node(g, r, args, &e->node[r])) return false;
    }
    e->value[d->i->id] = e->node[d->value];
    return true;
}

static bool evaluate(const Evaluating *e, const uint64_t *x, const uint64_t *y, uint64_t *result)
{
    for (uint32_t k = 0; k < e->c->n_parameters; k++) e->value[e->c->parameters[k]->id] = k < e->n ? x[k] : y[k - e->n];
    for (uint32_t k = 0; k < e->c->n_instructions; k++)
        if (e->x->defs[k].form == GR_TERM && !evaluate_term(e, &e->x->defs[k])) return false;
    for (uint32_t k = 0; k < e->n; k++) result[k] = e->value[hlo_value(e->c->root, k).i->id];
    return true;
}

/* A value of -LARGEST .. LARGEST, and the same value in its type. */
static void some_values(const Evaluating *e, uint64_t *seed, uint64_t *x)
{
    for (uint32_t k = 0; k < e->n; k++) {
        *seed += UINT64_C(0x9e3779b97f4a7c15);
        const int64_t v = (int64_t)(wbb_mix(*seed) % (2 * LARGEST + 1)) - LARGEST;
        x[k] = sc_from_f64(e->c->parameters[k]->shape->type, (double)v);
    }
}

/* Equal in value: 0 is -0. */
static bool equal(const Evaluating *e, const uint64_t *x, const uint64_t *y)
{
    for (uint32_t k = 0; k < e->n; k++) {
        const ScType t = e->c->parameters[k]->shape->type;
        if (x[k] != y[k] && !(sc_is_float(t) && sc_to_f64(t, x[k]) == sc_to_f64(t, y[k]))) return false;
    }
    return true;
}

GrAnswer gr_associates(WbbCx *cx, WbbArena *a, const HloComputation *c)
{
    uint64_t *v[7], seed = 1;
    for (uint32_t k = 0; k < c->n_parameters / 2; k++)
        if (!sc_type_info[c->parameters[k]->shape->type].compute) return GR_OPEN;
    const Evaluating e = evaluating(cx, a, c, c->n_parameters / 2);
    if (!e.known) return GR_OPEN;
    for (size_t k = 0; k < WBB_LEN(v); k++) v[k] = WBB_NEW_N(a, uint64_t, e.n + 1u);
    for (int n = 0; n < TRIPLES; n++) {
        for (int k = 0; k < 3; k++) some_values(&e, &seed, v[k]);
        const bool known = evaluate(&e, v[0], v[1], v[3]) && evaluate(&e, v[3], v[2], v[4]) &&
                           evaluate(&e, v[1], v[2], v[5]) && evaluate(&e, v[0], v[5], v[6]);
        if (!known) return GR_OPEN;
        if (!equal(&e, v[4], v[6])) return GR_NO;
    }
    return GR_SEEMS;
}

/* --- selections --------------------------------------------------------------------------------------------------- */
enum { VALUES = 4, FIRST_NUMBER = 10, TERMS = 3 }; /* 1, 2, 3 and NaN, or 4; numbers from 10 on */

/* Of two parameters for the same array. */
static bool compares_alike(const HloInstruction *i, uint32_t n)
{
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (i->operands[k]->opcode != HLO_PARAMETER || i->operands[k]->number % n != i->operands[0]->number % n)
            return false;
    return true;
}

/* Of preds alone. */
static bool is_logic(const HloInstruction *i)
{
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (i->operands[k]->shape->type != SC_PRED) return false;
    return hlo_is_elementwise(i->opcode) && i->shape->type == SC_PRED;
}

static bool only_selects(const HloComputation *c, uint32_t n)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        switch (i->opcode) {
        case HLO_PARAMETER: case HLO_SELECT: case HLO_TUPLE: break;
        default:
            if (is_logic(i)) break;
            if (i->opcode != HLO_COMPARE && !hlo_orders(i->opcode)) return false;
            if (i->total_order || !compares_alike(i, n)) return false;
        }
    }
    return true;
}

/* Are elements of an operand their numbers along the one dimension that is reduced, and do all fit? */
static bool has_numbers(const HloInstruction *reduce, const HloInstruction *x)
{
    const ScTypeInfo *t = &sc_type_info[x->shape->type];
    const int64_t d = reduce->dimensions[0];
    if (reduce->n_dimensions != 1 || !hlo_is_place(x, d) || (t->cls != 'I' && t->cls != 'U')) return false;
    const uint32_t bits = t->bits - (uint32_t)(t->cls == 'I');
    return bits >= 63 || reduce->operands[0]->shape->dims[d] <= INT64_C(1) << bits;
}

/* The selection of two, the one with the smaller number first; false: it is none. */
static bool select_one(const Evaluating *e, uint32_t number, const uint64_t *x, const uint64_t *y, uint64_t *to)
{
    const ScType t = e->c->parameters[number]->shape->type, of = e->c->parameters[1 - number]->shape->type;
    const bool ordered = sc_to_f64(t, x[number]) < sc_to_f64(t, y[number]);
    if (!evaluate(e, ordered ? x : y, ordered ? y : x, to)) return false;
    const bool is_value = to[1 - number] == x[1 - number] || to[1 - number] == y[1 - number] || of == SC_PRED;
    return is_value && (to[number] == x[number] || to[number] == y[number]);
}

static bool same_selection(const Evaluating *e, uint32_t number, const uint64_t *x, const uint64_t *y)
{
    const ScType of = e->c->parameters[1 - number]->shape->type;
    const double a = sc_to_f64(of, x[1 - number]), b = sc_to_f64(of, y[1 - number]);
    return x[number] == y[number] && (x[1 - number] == y[1 - number] || (isnan(a) && isnan(b)));
}

/* Of three terms with values of these ranks: is it one selection, whichever two of them are paired first? */
static bool pairs_alike(const Evaluating *e, uint32_t number, const uint32_t *ranks, uint64_t *const *v)
{
    const ScType t = e->c->parameters[number]->shape->type, of = e->c->parameters[1 - number]->shape->type;
    for (uint32_t k = 0; k < TERMS; k++) {
        v[k][number] = sc_from_f64(t, FIRST_NUMBER + (double)k);
        v[k][1 - number] = sc_from_f64(of, ranks[k] == VALUES - 1 && sc_is_float(of) ? (double)NAN : ranks[k] + 1.0);
    }
    for (uint32_t k = 0; k < TERMS; k++) {
        uint64_t *pair = v[TERMS], *all = v[TERMS + 1 + k];
        if (!select_one(e, number, v[k], v[(k + 1) % TERMS], pair)) return false;
        if (!select_one(e, number, pair, v[(k + 2) % TERMS], all)) return false;
        if (k && !same_selection(e, number, v[TERMS + 1], all)) return false;
    }
    return true;
}

uint32_t gr_numbered(WbbCx *cx, WbbArena *a, const HloInstruction *reduce)
{
    const HloComputation *c = reduce->called[0];
    if (reduce->opcode != HLO_REDUCE || reduce->n_operands != 4 || !only_selects(c, 2)) return 0;
    const uint32_t number = has_numbers(reduce, reduce->operands[0]) ? 0 : 1;
    const ScTypeInfo *of = &sc_type_info[c->parameters[1 - number]->shape->type];
    if (!has_numbers(reduce, reduce->operands[number]) || !of->compute) return 0;
    if (of->cls != 'I' && of->cls != 'U' && of->cls != 'F' && of->cls != 'P') return 0;
    const Evaluating e = evaluating(cx, a, c, 2);
    if (!e.known) return 0;
    uint64_t *v[2 * TERMS + 1];
    for (size_t k = 0; k < WBB_LEN(v); k++) v[k] = WBB_NEW_N(a, uint64_t, e.n);
    for (uint32_t n = 0; n < VALUES * VALUES * VALUES; n++) {
        const uint32_t ranks[TERMS] = {n % VALUES, n / VALUES % VALUES, n / VALUES / VALUES};
        if (!pairs_alike(&e, number, ranks, v)) return 0;
    }
    return number + 1;
}

/* --- identities --------------------------------------------------------------------------------------------------- */
static bool of_floats(ScOp combiner, ScType t, uint64_t *bits)
{
    const double wanted = combiner == OP_MUL ? 1 : combiner == OP_MAX ? -INFINITY : combiner == OP_MIN ? INFINITY : 0;
    if (combiner != OP_ADD && combiner != OP_MUL && combiner != OP_MAX && combiner != OP_MIN) return false;
    *bits = combiner == OP_ADD ? sc_mask(t) ^ sc_mask(t) >> 1 : sc_from_f64(t, wanted);
    if (combiner == OP_ADD && sc_to_f64(t, *bits) != 0) *bits = 0; /* a type without -0 */
    return sc_to_f64(t, *bits) == wanted;
}

bool gr_identity(ScOp combiner, ScType t, uint64_t *bits)
{
    const uint64_t sign = sc_mask(t) ^ sc_mask(t) >> 1;
    if (sc_is_float(t)) return of_floats(combiner, t, bits);
    if (t != SC_PRED && !sc_is_int(t)) return false;
    switch (combiner) {
    case OP_MUL: *bits = 1; return true;
    case OP_MAX: *bits = sc_is_signed(t) ? sign : 0; return true;
    case OP_MIN: *bits = sc_mask(t) ^ (sc_is_signed(t) ? sign : 0); return true;
    case OP_BAND: *bits = sc_mask(t); return true;
    case OP_ADD: case OP_BOR: case OP_BXOR: *bits = 0; return true;
    default: return false;
    }
}

bool gr_is_idempotent(ScOp combiner)
{
    return combiner == OP_MAX || combiner == OP_MIN || combiner == OP_BAND || combiner == OP_BOR;
}

static bool are_neutral(ScOp combiner, ScType t, uint64_t bits)
{
    uint64_t identity;
    if (!gr_identity(combiner, t, &identity)) return false;
    return bits == identity || (combiner == OP_ADD && sc_is_float(t) && sc_to_f64(t, bits) == 0);
}

bool gr_is_neutral(const IrGraph *g, ScOp combiner, ScType t, IrRef term, IrRef init)
{
    if (term == init && gr_is_idempotent(combiner)) return true;
    return ir_is_const(g, term) && are_neutral(combiner, t, ir_at(g, term)->imm);
}

bool gr_begins_neutral(const HloInstruction *i)
{
    const ScOp combiner = i->n_operands == 2 && i->n_called ? hlo_combiner(i->called[0]) : OP_NONE;
    const HloInstruction *init = combiner == OP_NONE ? NULL : hlo_value(i->operands[1], 0).i;
    if (!init || init->opcode != HLO_CONSTANT || !init->literal || init->shape->rank) return false;
    const ScType t = init->shape->type;
    return sc_bytes(t) <= 8 && are_neutral(combiner, t, hlo_literal_bits(init, 0));
}

bool gr_is_any(const HloInstruction *i)
{
    return i->opcode == HLO_REDUCE && i->shape->type == SC_PRED && !i->shape->rank && gr_begins_neutral(i) &&
           i->operands[0]->shape->rank && hlo_combiner(i->called[0]) == OP_BOR;
}

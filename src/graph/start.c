/* start.c: integers of an array as indices: where a gather, a slice or an update starts.
 *
 * Needs the node of an integer; leaves an index where facts show that it is one, else the integer clamped, which a
 * variable of that interval stands for: index nodes contain no elements.
 *
 *     idx.i32(d0) + 3, in 0 .. 9 where d0 < 5      =>   d0 + 3
 *     l[d0], in 0 .. 9                             =>   none; min.i32(max.i32(l[d0], 0), 9)
 */
#include "graph/graph.h"

/* Values that a type has. */
static void interval_of(ScType t, WbbI128 *least, WbbI128 *most)
{
    *most = ((WbbI128)1 << (sc_type_info[t].bits - sc_is_signed(t))) - 1;
    *least = sc_is_signed(t) ? -*most - 1 : 0;
}

/* Is it clamped to lo .. hi, or less? */
static bool is_within(const IrGraph *g, IrRef x, ScType t, int64_t lo, int64_t hi)
{
    const IrNode *most = ir_at(g, x), *least = most->op == OP_MIN ? ir_at(g, most->a[0]) : NULL;
    if (!least || least->op != OP_MAX || !ir_is_const(g, most->a[1]) || !ir_is_const(g, least->a[1])) return false;
    return sc_to_i128(t, ir_at(g, most->a[1])->imm) <= hi && sc_to_i128(t, ir_at(g, least->a[1])->imm) >= lo;
}

/* A bound of an index in the integer's own type: what the type cannot hold bounds nothing. */
static IrRef clamped(IrGraph *g, IrRef x, ScType t, int64_t lo, int64_t hi)
{
    const IrType type = IR_TYPE(t, 0);
    WbbI128 least, most;
    interval_of(t, &least, &most);
    if (is_within(g, x, t, lo, hi)) return x;
    if (lo > least) x = ir_node(g, OP_MAX, type, 0, x, ir_const(g, type, sc_from_i128(t, lo)), 0, 0);
    if (hi < most) x = ir_node(g, OP_MIN, type, 0, x, ir_const(g, type, sc_from_i128(t, hi)), 0, 0);
    return x;
}

enum { DEPTH = 6 };

/* The indices that operands are: of a table by ref, or, without one, found up to a depth. */
typedef struct {
    RwCx *rw;
    const IrRef *known;
    uint32_t depth;
} Operands;

static IrRef index_of(const Operands *s, IrRef integer);

static IrRef of_operand(const Operands *s, IrRef r)
{
    if (s->known) return s->known[r];
    const Operands below = {.rw = s->rw, .depth = s->depth + 1};
    return s->depth < DEPTH ? index_of(&below, r) : 0;
}

/* A product with a number, neither so large that a coefficient would not be an index. */
static IrRef scaled(RwCx *rw, IrRef x, IrRef y)
{
    const IrGraph *g = rw_graph(rw);
    const int64_t most = INT64_C(1) << 31;
    const IrRef by = ir_is_const(g, y) ? y : x, of = by == y ? x : y;
    if (!ir_is_const(g, by) || !ir_within((IrGraph *)g, of, -most, most)) return 0;
    const int64_t k = (int64_t)ir_at(g, by)->imm;
    return k >= -most && k <= most ? rw_scale(rw, of, k) : 0;
}

static IrRef arithmetic(const Operands *s, const IrNode *n)
{
    const IrRef x = of_operand(s, n->a[0]), y = x ? of_operand(s, n->a[1]) : 0;
    if (!y) return 0;
    return n->op == OP_ADD ? rw_add(s->rw, x, y) : n->op == OP_SUB ? rw_sub(s->rw, x, y) : scaled(s->rw, x, y);
}

/* The operand that a select takes wherever it is evaluated. */
static IrRef selected(const Operands *s, const IrNode *n)
{
    const IrGraph *g = rw_graph(s->rw);
    const IrNode test = *ir_at(g, n->a[0]);
    if (test.op == OP_CONST) return of_operand(s, n->a[test.imm ? 1 : 2]);
    if (test.op != OP_LT && test.op != OP_GE) return 0;
    const IrRef x = of_operand(s, test.a[0]), y = x ? of_operand(s, test.a[1]) : 0;
    const IrRef holds = y ? rw_compare(s->rw, test.op, x, y) : 0;
    return holds && ir_is_const(g, holds) ? of_operand(s, n->a[ir_at(g, holds)->imm ? 1 : 2]) : 0;
}

static IrRef index_of(const Operands *s, IrRef integer)
{
    IrGraph *g = rw_graph(s->rw);
    const IrNode n = *ir_at(g, integer);
    const ScType t = IR_SC(n.type);
    IrRef index = 0;
    if (sc_type_info[t].cls != 'I' && sc_type_info[t].cls != 'U') return 0;
    switch (n.op) {
    case OP_CONST: {
        const WbbI128 value = sc_to_i128(t, n.imm);
        return value >= INT64_MIN / 4 && value <= INT64_MAX / 4 ? ir_index(g, (int64_t)value) : 0;
    }
    case OP_IDX: index = n.a[0]; break;
    case OP_ADD: case OP_SUB: case OP_MUL: index = arithmetic(s, &n); break;
    case OP_CVT: index = of_operand(s, n.a[0]); break;
    case OP_SELECT: return selected(s, &n);
    default: break;
    }
    WbbI128 least, most;
    interval_of(t, &least, &most);
    return index && ir_within(g, index, least, most + 1) ? index : 0;
}

IrRef gr_index_of(RwCx *rw, IrRef integer) { return index_of(&(Operands){.rw = rw}, integer); }

IrRef gr_index_through(RwCx *rw, WbbArena *a, IrRef integer)
{
    const IrGraph *g = rw_graph(rw);
    IrRefs nodes = {0};
    WBB_PUSH(a, &nodes, integer);
    ir_gather(g, a, &nodes, rw_marks(rw));
    IrRef *known = WBB_NEW_N(a, IrRef, g->n);
    for (uint32_t k = 0; k < nodes.n; k++) known[nodes.items[k]] = index_of(&(Operands){rw, known, 0}, nodes.items[k]);
    return known[integer];
}

IrRef gr_start(RwCx *rw, IrRef integer, int64_t lo, int64_t hi, IrRef *value)
{
    IrGraph *g = rw_graph(rw);
    const IrNode n = *ir_at(g, integer);
    const ScType t = IR_SC(n.type);
    if (lo == hi) return ir_index(g, lo);
    if (n.op == OP_CONST) {
        const WbbI128 start = sc_to_i128(t, n.imm);
        return ir_index(g, start < lo ? lo : start > hi ? hi : (int64_t)start);
    }
    const IrRef index = gr_index_of(rw, integer);
    if (index && ir_within(g, index, lo, (WbbI128)hi + 1)) return index;
    *value = clamped(g, integer, t, lo, hi);
    return 0;
}

/* build.c: instructions for terms, the way back from definitions.
 *
 * Needs a term over the variables of a definition's index; leaves instructions that compute it at all indices. An array
 * is made over the variables that it depends on, in the order of the first read, and is broadcast where it meets one of
 * more. A read is a slice, reversed, reshaped; at a start that is an element, a gather. NULL where no instruction says
 * it: then the definition stays as it was.
 *
 *     add.f32[k0 < 8] mul.f32(x[2*k0, d0], m[d0])
 *         s = slice(x), b = broadcast(m), y = multiply(s, b), r = reduce(y, 0), dimensions={0}, to_apply=add
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

#include <string.h>

/* An array over variables, a dimension each. */
typedef struct {
    HloInstruction *x; /* NULL: it cannot be said */
    uint32_t n;
    uint32_t var[HLO_RANK_LIMIT];
} Array;

typedef struct {
    HloBuilder *b;
    GrGraph *graph;
    IrGraph *g;
    WbbMap made; /* by node: 1 + number of an array */
    struct { Array *items; uint32_t n, capacity; } arrays;
    const Array *order; /* of the variables of terms; NULL: as they are read */
    bool products;      /* terms are those of a dot */
    enum { PLAIN, OF_WINDOWS, OF_SCAN } kind; /* which folds are reductions of windows */
    const GrParts *parts; /* NULL: there are none */
    const Array *whole; /* of an option: the variables of all terms, which its folds have, whatever a term depends on */
} Build;

static const Array nothing;

static int64_t extent(const Build *m, uint32_t var) { return m->g->vars[var].hi + 1; }

static int64_t place(const Array *x, uint32_t var)
{
    for (uint32_t k = 0; k < x->n; k++)
        if (x->var[k] == var) return k;
    return -1;
}

/* The variables of x, then those of y that x lacks. False: too many. */
static bool join(Array *x, const Array *y)
{
    for (uint32_t k = 0; k < y->n; k++) {
        if (place(x, y->var[k]) >= 0) continue;
        if (x->n == HLO_RANK_LIMIT) return false;
        x->var[x->n++] = y->var[k];
    }
    return true;
}

static int64_t place_of(const Build *m, uint32_t var) { return m->order ? place(m->order, var) : -1; }

/* Those that the order has, in the places that they have together. */
static void put_in_order(const Build *m, Array *x)
{
    for (uint32_t k = 1; k < x->n && m->order; k++) {
        const uint32_t var = x->var[k];
        uint32_t at = k;
        for (; at > 0 && place_of(m, var) < place_of(m, x->var[at - 1]); at--) x->var[at] = x->var[at - 1];
        x->var[at] = var;
    }
}

static void dims_of(const Build *m, const Array *x, int64_t *dims)
{
    for (uint32_t k = 0; k < x->n; k++) dims[k] = extent(m, x->var[k]);
}

/* x over the variables of `like`, which has all of x's, in their order. */
static HloInstruction *over(Build *m, Array x, const Array *like)
{
    int64_t dims[HLO_RANK_LIMIT], to[HLO_RANK_LIMIT], order[HLO_RANK_LIMIT];
    uint32_t n = 0;
    for (uint32_t k = 0; k < like->n; k++) /* broadcast wants them in order */
        if (place(&x, like->var[k]) >= 0) order[n] = place(&x, like->var[k]), to[n++] = k;
    assert(n == x.n);
    HloInstruction *y = hlo_new_transpose(m->b, x.x, order);
    if (n == like->n) return y;
    dims_of(m, like, dims);
    return hlo_new_broadcast(m->b, y, hlo_make_array(m->b->arena, y->shape->type, like->n, dims), to, n);
}

static Array array_of(Build *m, IrRef r);

/* --- indices as integers ------------------------------------------------------------------------------------------ */
/* An index as integers of a type that holds it. */
static Array integers(Build *m, IrRef r, ScType t)
{
    const IrNode n = *ir_at(m->g, r);
    Array out = {0};
    if (n.op == OP_CONST) {
        out.x = hlo_new_bits(m->b, t, sc_from_i128(t, (int64_t)n.imm));
    } else if (n.op == OP_VAR) {
        const GrStart *s = gr_start_of(m->graph, r);
        if (s) {
            out = array_of(m, s->value);
            if (out.x) out.x = hlo_new_convert(m->b, out.x, t);
            return out;
        }
        const int64_t dims[] = {extent(m, (uint32_t)n.imm)};
        out.n = 1, out.var[0] = (uint32_t)n.imm;
        out.x = hlo_new_iota(m->b, t, 1, dims, 0);
    } else if (n.op == OP_SUM) {
        for (uint32_t k = 0; k < n.a[1]; k++) {
            const IrTerm term = m->g->terms[n.a[0] + k];
            const Array one = integers(m, term.ref, t);
            Array all = out;
            if (!one.x || !join(&all, &one)) return nothing;
            HloInstruction *x = over(m, one, &all), *by = hlo_new_bits(m->b, t, sc_from_i128(t, term.coefficient));
            by = hlo_new_splat(m->b, by, x->shape->rank, x->shape->dims);
            if (term.coefficient != 1) x = hlo_new_binary(m->b, HLO_MULTIPLY, x, by);
            if (k) x = hlo_new_binary(m->b, HLO_ADD, over(m, out, &all), x);
            out = all, out.x = x;
        }
        if (n.imm) {
            HloInstruction *c = hlo_new_bits(m->b, t, sc_from_i128(t, (int64_t)n.imm));
            c = hlo_new_splat(m->b, c, out.x->shape->rank, out.x->shape->dims);
            out.x = hlo_new_binary(m->b, HLO_ADD, out.x, c);
        }
    } else {
        return nothing;
    }
    return out;
}

static ScType type_for(const Build *m, IrRef index)
{
    return ir_within(m->g, index, INT32_MIN, INT32_MAX) ? SC_I32 : SC_I64;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */
/* An array over another range than its parts, as parts; the last one padded. */
static Array parted(Build *m, Array x, IrRef fill, IrRef part)
{
    HloBuilder *b = m->b;
    const uint32_t own = (uint32_t)ir_at(m->g, m->parts->of.variable)->imm;
    const uint32_t slow = (uint32_t)ir_at(m->g, part)->imm, fast = (uint32_t)ir_at(m->g, m->parts->of.fast)->imm;
    const Array along = {.n = 1, .var = {own}};
    if (x.x && !x.n) x.x = over(m, x, &along), x.n = 1, x.var[0] = own;
    const int64_t at = x.x ? place(&x, own) : -1;
    if (at < 0 || x.n == HLO_RANK_LIMIT || place(&x, slow) >= 0) return nothing;
    HloPadding *pads = WBB_NEW_N(b->arena, HloPadding, x.n);
    int64_t dims[HLO_RANK_LIMIT];
    Array out = {.n = x.n + 1};
    pads[at].high = extent(m, slow) * extent(m, fast) - extent(m, own);
    for (uint32_t d = 0; d < x.n; d++) out.var[d + (d > at)] = d == at ? slow : x.var[d];
    out.var[at + 1] = fast;
    dims_of(m, &out, dims);
    if (pads[at].high) x.x = hlo_new_pad(b, x.x, array_of(m, fill).x, pads);
    else if (x.x->opcode == HLO_RESHAPE) x.x = x.x->operands[0]; /* of one a reshape is one, too */
    out.x = hlo_new_reshape(b, x.x, out.n, dims);
    return out;
}

/* Which terms there are is an array like any other: of true, padded by false. */
static Array in_parts(Build *m, IrRef r)
{
    const IrNode n = *ir_at(m->g, r);
    for (uint32_t k = 0; m->parts && k < m->parts->nodes.n; k++)
        if (m->parts->nodes.items[k] == r)
            return parted(m, array_of(m, m->parts->values.items[k]), n.a[2], m->parts->parts.items[k]);
    if (!m->parts || r != m->parts->there) return nothing;
    return parted(m, (Array){.x = hlo_new_bits(m->b, SC_PRED, 1)}, ir_const(m->g, n.type, 0), m->parts->of.slow);
}

/* --- reads -------------------------------------------------------------------------------------------------------- */
/* A dimension that is read at constant + sum of steps * variables, each step the extent of all that follow it. */
typedef struct {
    uint32_t n, var[HLO_RANK_LIMIT]; /* the slowest first */
    int64_t start, step;             /* step: of the fastest; negative: backwards */
} Dimension;

static bool dimension_of(const Build *m, IrRef index, Dimension *d)
{
    const IrNode *n = ir_at(m->g, index);
    *d = (Dimension){.step = 1};
    if (n->op == OP_CONST) {
        d->start = (int64_t)n->imm;
    } else if (n->op == OP_VAR) {
        if (gr_start_of(m->graph, index)) return false;
        d->n = 1, d->var[0] = (uint32_t)n->imm;
    } else if (n->op == OP_SUM) {
        d->start = (int64_t)n->imm;
        if (n->a[1] > HLO_RANK_LIMIT) return false;
        d->step = m->g->terms[n->a[0] + n->a[1] - 1].coefficient; /* terms stand by descending coefficient */
        int64_t step = d->step;
        for (uint32_t k = n->a[1]; k-- > 0;) {
            const IrTerm t = m->g->terms[n->a[0] + k];
            if (ir_at(m->g, t.ref)->op != OP_VAR || gr_start_of(m->graph, t.ref) || t.coefficient != step) return false;
            d->var[k] = (uint32_t)ir_at(m->g, t.ref)->imm;
            step *= extent(m, d->var[k]);
        }
        d->n = n->a[1];
    } else {
        return false;
    }
    return true;
}

static Array sliced(Build *m, HloInstruction *x, const Dimension *d)
{
    const uint32_t rank = x->shape->rank;
    HloSlice *slices = WBB_NEW_N(m->b->arena, HloSlice, rank + 1u);
    int64_t backwards[HLO_RANK_LIMIT], dims[HLO_RANK_LIMIT];
    uint32_t n = 0;
    Array out = {0};
    for (uint32_t k = 0; k < rank; k++) {
        int64_t count = 1;
        for (uint32_t v = 0; v < d[k].n; v++) {
            if (place(&out, d[k].var[v]) >= 0 || out.n == HLO_RANK_LIMIT) return nothing;
            count *= extent(m, d[k].var[v]);
            out.var[out.n++] = d[k].var[v];
        }
        const int64_t last = d[k].start + (count - 1) * d[k].step, least = WBB_MIN(d[k].start, last);
        const int64_t stride = d[k].step < 0 ? -d[k].step : d[k].step;
        slices[k] = (HloSlice){least, least + (count - 1) * stride + 1, stride};
        if (least < 0 || slices[k].limit > x->shape->dims[k]) return nothing; /* a read that a choice does not take */
        if (d[k].step < 0 && count > 1) backwards[n++] = k;
    }
    x = hlo_new_reverse(m->b, hlo_new_slice(m->b, x, slices), backwards, n);
    dims_of(m, &out, dims);
    out.x = hlo_new_reshape(m->b, x, out.n, dims);
    return out;
}

/* Elements of x at starts that are elements: dimensions that one variable goes through are read whole. */
static Array gathered(Build *m, HloInstruction *x, const IrRef *index)
{
    HloBuilder *b = m->b;
    const uint32_t rank = x->shape->rank;
    Array at[HLO_RANK_LIMIT] = {{0}}, out = {0};
    ScType t = SC_I32;
    bool window[HLO_RANK_LIMIT] = {0};
    if (rank + 1u >= HLO_RANK_LIMIT) return nothing;
    for (uint32_t d = 0; d < rank; d++)
        if (type_for(m, index[d]) != SC_I32) t = SC_I64;
    for (uint32_t d = 0; d < rank; d++) { /* rows are numbered by the variables of the starts */
        Dimension own;
        window[d] = dimension_of(m, index[d], &own) && own.n == 1 && own.step == 1 && own.start == 0 &&
                    extent(m, own.var[0]) == x->shape->dims[d];
        if (window[d]) continue;
        at[d] = integers(m, index[d], t);
        if (!at[d].x || !join(&out, &at[d])) return nothing;
    }
    for (uint32_t d = 0; d < rank; d++) { /* a variable that counts rows is none of a window */
        if (!window[d] || place(&out, (uint32_t)ir_at(m->g, index[d])->imm) < 0) continue;
        window[d] = false, at[d] = integers(m, index[d], t);
    }
    const Array rows = out;
    int64_t all = 1, *axes = WBB_NEW_N(b->arena, int64_t, 3 * rank), dims[HLO_RANK_LIMIT], wide[HLO_RANK_LIMIT];
    for (uint32_t k = 0; k < rows.n; k++) all *= extent(m, rows.var[k]);
    const int64_t column[] = {all, 1};
    HloInstruction *columns[HLO_RANK_LIMIT];
    wide[0] = all;
    for (uint32_t d = 0; d < rank; d++) {
        if (window[d]) {
            if (place(&out, (uint32_t)ir_at(m->g, index[d])->imm) >= 0 || out.n == HLO_RANK_LIMIT) return nothing;
            out.var[out.n++] = (uint32_t)ir_at(m->g, index[d])->imm;
            columns[d] = hlo_new_splat(b, hlo_new_bits(b, t, 0), 2, column);
        } else {
            columns[d] = hlo_new_reshape(b, over(m, at[d], &rows), 2, column);
        }
        wide[d + 1] = window[d] ? x->shape->dims[d] : 1;
        axes[d] = d, axes[rank + d] = d + 1, axes[2 * rank + d] = wide[d + 1];
    }
    HloInstruction *operands[] = {x, hlo_new_concatenate(b, rank, columns, 1)};
    HloInstruction *g = hlo_new(b, HLO_GATHER, hlo_make_array(b->arena, x->shape->type, rank + 1, wide), 2, operands);
    hlo_set_attributes(b, g, wbb_format(b->arena, "%s, collapsed_slice_dims={}%s, index_vector_dim=1%s",
                                        hlo_ints_attribute(b, "offset_dims", (HloInts){axes + rank, rank}),
                                        hlo_ints_attribute(b, "start_index_map", (HloInts){axes, rank}),
                                        hlo_ints_attribute(b, "slice_sizes", (HloInts){axes + 2 * rank, rank})));
    dims_of(m, &out, dims);
    out.x = hlo_new_reshape(b, g, out.n, dims);
    return out;
}

/* x at an index whose digits make one number: x[k // 64, k % 64] is a reshape's element k. */
static Array renumbered(Build *m, HloInstruction *x, const IrRef *index)
{
    const HloShape *s = x->shape;
    IrTerm *terms = WBB_NEW_N(m->b->arena, IrTerm, s->rank + 1u);
    int64_t step = 1;
    Dimension d;
    for (uint32_t k = s->rank; k-- > 0; step *= s->dims[k]) terms[k] = (IrTerm){.coefficient = step, .ref = index[k]};
    if (!dimension_of(m, rw_sum(m->graph->rw, 0, terms, s->rank), &d)) return nothing;
    int64_t n = 1, dims[HLO_RANK_LIMIT];
    for (uint32_t k = 0; k < d.n; k++) n *= dims[k] = extent(m, d.var[k]);
    if (n != step || d.start || d.step != 1) return sliced(m, hlo_new_reshape(m->b, x, 1, &step), &d);
    Array out = {.n = d.n};
    for (uint32_t k = 0; k < d.n; k++) out.var[k] = d.var[k];
    out.x = hlo_new_reshape(m->b, x, d.n, dims);
    return out;
}

/* only_moves: no gather */
static Array read_of(Build *m, IrRef read, bool only_moves)
{
    const Array parts = in_parts(m, read);
    if (parts.x) return parts;
    const IrNode *n = ir_at(m->g, read);
    HloInstruction *x = hlo_mapped(m->b, m->graph->c->instructions[IR_CALLEE(n->imm)]);
    IrRef index[HLO_RANK_LIMIT];
    Dimension d[HLO_RANK_LIMIT];
    bool affine = true;
    for (uint32_t k = 0; k < n->a[1]; k++) {
        index[k] = m->g->terms[n->a[0] + k].ref;
        affine = affine && dimension_of(m, index[k], &d[k]);
    }
    const Array there = affine ? sliced(m, x, d) : renumbered(m, x, index);
    return affine || there.x || only_moves ? there : gathered(m, x, index);
}

/* --- operations --------------------------------------------------------------------------------------------------- */
static HloOpcode opcode_of(ScOp op)
{
    for (uint32_t k = 0; k < HLO_OPCODE_COUNT; k++)
        if (hlo_scalar((HloOpcode)k) == op) return (HloOpcode)k;
    return HLO_OPCODE_COUNT;
}

static Array operation(Build *m, const IrNode *n, ScType t)
{
    HloInstruction *x[3];
    Array operands[3], out = {0};
    const uint32_t arity = sc_op_info[n->op].arity;
    for (uint32_t k = 0; k < arity; k++) {
        const bool index = IR_SC(ir_at(m->g, n->a[k])->type) == SC_INDEX;
        const bool small = index && type_for(m, n->a[0]) == SC_I32 && type_for(m, n->a[arity - 1]) == SC_I32;
        const ScType wide = small ? SC_I32 : SC_I64;
        operands[k] = index ? integers(m, n->a[k], wide) : array_of(m, n->a[k]);
        if (!operands[k].x) return nothing;
        if (m->whole && operands[k].n > out.n) out = operands[k]; /* terms stand as the array does that they read */
    }
    out.x = NULL;
    for (uint32_t k = 0; k < arity; k++)
        if (!join(&out, &operands[k])) return nothing;
    put_in_order(m, &out);
    for (uint32_t k = 0; k < arity; k++) x[k] = over(m, operands[k], &out);
    const HloShape *s = hlo_make_array(m->b->arena, t, x[0]->shape->rank, x[0]->shape->dims);
    const HloOpcode opcode = n->op == OP_MODULUS ? HLO_ABS : n->op == OP_RE ? HLO_REAL : n->op == OP_IM ? HLO_IMAG
                             : n->op == OP_COMPLEX ? HLO_COMPLEX : opcode_of((ScOp)n->op);
    for (HloDirection d = HLO_EQ; d <= HLO_GE && t == SC_PRED; d++)
        if (hlo_comparison(d) == n->op) out.x = hlo_new_compare(m->b, d, x[0], x[1]);
    if (!out.x && opcode != HLO_OPCODE_COUNT) out.x = hlo_new(m->b, opcode, s, arity, x);
    return out.x ? out : nothing;
}

/* --- folds -------------------------------------------------------------------------------------------------------- */
static Array ranges_of(const Build *m, const IrNode *fold)
{
    const IrNode *number = ir_at(m->g, fold->a[2]);
    Array out = {0};
    if (number->op == OP_VAR) out.var[out.n++] = (uint32_t)number->imm;
    for (uint32_t k = 0; number->op == OP_SUM && k < number->a[1]; k++)
        out.var[out.n++] = (uint32_t)ir_at(m->g, m->g->terms[number->a[0] + k].ref)->imm;
    return out;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */
/* An array that is read at the number itself is read to its end: rows of it stay whole vectors. */
static void read_whole(const Build *m, IrRef value, GrWindow *w)
{
    IrRefs nodes = {0};
    WBB_PUSH(m->b->arena, &nodes, value);
    ir_gather(m->g, m->b->arena, &nodes, rw_marks(m->graph->rw));
    int64_t end = 0;
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode *n = ir_at(m->g, nodes.items[k]);
        for (uint32_t o = 0; o < ir_arity(m->g, nodes.items[k]); o++) {
            if (ir_operand(m->g, nodes.items[k], o) != w->number) continue;
            if (n->op != OP_CALL) return;
            const int64_t size = m->graph->c->instructions[IR_CALLEE(n->imm)]->shape->dims[o];
            end = end ? WBB_MIN(end, size) : size;
        }
    }
    w->high = WBB_MAX(w->high, end);
}

/* A reduction of windows of an array, along dimensions that have them. */
static Array reduced(Build *m, const IrNode *n, Array x, HloInstruction *init, const HloWindow *along, const char *stem)
{
    HloBuilder *b = m->b;
    const ScOp op = sc_op_info[n->op].combiner;
    const ScType t = IR_SC(n->type);
    int64_t dims[HLO_RANK_LIMIT];
    dims_of(m, &x, dims);
    HloInstruction *operands[] = {x.x, init};
    const char *name = wbb_format(b->arena, "%s.%s", b->at->name, sc_op_info[op].name);
    x.x = hlo_new(b, HLO_REDUCE_WINDOW, hlo_make_array(b->arena, t, x.n, dims), 2, operands);
    x.x->windows = along, x.x->n_windows = x.n;
    hlo_set_computation(b, x.x, "to_apply",
                        hlo_new_combiner(b, opcode_of(op), hlo_make_array(b->arena, t, 0, NULL), name));
    x.x->name = hlo_unique_name(b, wbb_format(b->arena, "%s.%s", b->at->name, stem));
    return x;
}

static HloWindow *windows_of(const Build *m, uint32_t n)
{
    HloWindow *along = WBB_NEW_N(m->b->arena, HloWindow, n + 1u);
    for (uint32_t k = 0; k < n; k++) along[k] = (HloWindow){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
    return along;
}

/* The condition under which a term of a fold is not the constant that leaves all as it is, and the term there. */
static bool part_condition(const Build *m, const IrNode *fold, IrRef *value, IrRef *condition)
{
    const IrNode n = *ir_at(m->g, fold->a[0]);
    const ScOp op = sc_op_info[fold->op].combiner;
    const IrRef init = fold->a[1];
    *value = fold->a[0], *condition = 0;
    if (n.op != OP_SELECT || !gr_is_neutral(m->g, op, IR_SC(fold->type), n.a[2], init)) return true;
    *condition = n.a[0], *value = n.a[1];
    return gr_is_neutral(m->g, op, IR_SC(fold->type), init, init); /* which is the padding */
}

/* A fold of which each range is one of a window: terms are those of an array over the numbers that they depend by. */
static Array windowed(Build *m, const IrNode *n)
{
    HloBuilder *b = m->b;
    const Array ranges = ranges_of(m, n);
    GrWindow windows[HLO_RANK_LIMIT];
    IrRef value, condition;
    if (!ranges.n || !part_condition(m, n, &value, &condition)) return nothing;
    for (uint32_t k = 0; k < ranges.n; k++)
        if (!gr_find_window(b->arena, m->graph, ranges.var[k], &value, &condition, &windows[k])) return nothing;
    if (condition && !gr_bound(m->graph, condition, windows, ranges.n)) return nothing;
    int64_t all[HLO_RANK_LIMIT]; /* numbers, of which low to high are elements */
    for (uint32_t k = 0; k < ranges.n; k++) {
        GrWindow *w = &windows[k];
        all[k] = extent(m, (uint32_t)ir_at(m->g, w->number)->imm);
        read_whole(m, value, w);
        const IrRef own = ir_var(m->g, ir_var_new(m->g, "z", IR_LOOP, 0, w->high - w->low - 1, 0));
        const IrRef to = rw_sum(m->graph->rw, w->low, (IrTerm[]){{.coefficient = 1, .ref = own}}, 1);
        value = gr_replaced(b->arena, m->graph, value, &w->number, &to, 1);
        w->number = own;
    }
    const Array init = array_of(m, n->a[1]);
    Array x = array_of(m, value);
    if (!x.x || !init.x || init.n) return nothing;
    HloWindow *along = windows_of(m, x.n);
    for (uint32_t k = 0; k < ranges.n; k++) {
        const GrWindow *w = &windows[k];
        const int64_t at = place(&x, (uint32_t)ir_at(m->g, w->number)->imm);
        if (at < 0 || place(&x, w->variable) >= 0) return nothing;
        along[at] = (HloWindow){.size = extent(m, w->range), .stride = w->step, .lhs_dilate = 1,
                                .rhs_dilate = w->dilation, .low = w->low, .high = all[k] - w->high};
        x.var[at] = w->variable;
    }
    const bool inner = sc_op_info[ir_at(m->g, value)->op].combiner == OP_NONE;
    return reduced(m, n, x, init.x, along, inner ? "part" : "whole");
}

/* A fold of terms up to a variable, or from it on, of an array that does not depend on it. */
static Array scanned(Build *m, const IrNode *n)
{
    const Array ranges = ranges_of(m, n);
    IrRef value, condition;
    GrPrefix p;
    if (ranges.n != 1 || !part_condition(m, n, &value, &condition) || !condition) return nothing;
    if (!gr_find_prefix(m->graph, ranges.var[0], condition, &p)) return nothing;
    const int64_t size = extent(m, ranges.var[0]), stands = place(m->order, p.variable);
    const Array init = array_of(m, n->a[1]), *before = m->order;
    Array own = *before; /* the range stands where the variable does */
    if (stands < 0) return nothing;
    own.var[stands] = ranges.var[0], m->order = &own;
    Array x = array_of(m, value);
    m->order = before;
    const int64_t at = x.x ? place(&x, ranges.var[0]) : -1;
    if (at < 0 || !init.x || init.n || place(&x, p.variable) >= 0 || extent(m, p.variable) != size) return nothing;
    HloWindow *along = windows_of(m, x.n);
    along[at].size = size;
    along[at].low = p.suffix ? p.offset : size - 1 - p.offset;
    along[at].high = p.suffix ? size - 1 - p.offset : p.offset;
    x.var[at] = p.variable;
    return reduced(m, n, x, init.x, along, p.offset < 0 ? "before" : "piece");
}

static Array folded(Build *m, const IrNode *n, ScType t)
{
    HloBuilder *b = m->b;
    const ScOp op = sc_op_info[n->op].combiner;
    const uint32_t before = b->list.n;
    const Array term = array_of(m, n->a[0]);
    const bool own = b->list.n > before && term.x == b->list.items[b->list.n - 1]; /* and not the text's */
    const Array init = array_of(m, n->a[1]);
    const Array ranges = ranges_of(m, n);
    Array out = {0}, all = term;
    if (!term.x || !init.x || init.n) return nothing;
    if (!join(&all, &ranges)) return nothing;
    const bool inner = m->whole && ranges.n && place(m->whole, ranges.var[0]) != 0;
    if (inner && all.n < m->whole->n) all = *m->whole;
    int64_t reduced[HLO_RANK_LIMIT];
    uint32_t n_reduced = 0;
    for (uint32_t k = 0; k < all.n; k++) {
        if (place(&ranges, all.var[k]) >= 0) reduced[n_reduced++] = k;
        else out.var[out.n++] = all.var[k];
    }
    const HloShape *scalar = hlo_make_array(b->arena, t, 0, NULL);
    if (m->products && own && term.x->opcode == HLO_MULTIPLY && sc_is_float(t))
        hlo_set_permits(b, term.x, SC_FLAG_CONTRACT);
    HloInstruction *x = over(m, term, &all);
    const char *name = wbb_format(b->arena, "%s.%s", b->at->name, sc_op_info[op].name);
    HloComputation *c = hlo_new_combiner(b, opcode_of(op), scalar, name);
    out.x = hlo_new_reduce(b, x, init.x, reduced, n_reduced, c);
    const char *stem = m->kind == OF_SCAN ? "total" : inner ? "part" : "whole";
    if (m->whole || m->kind == OF_SCAN) name = wbb_format(b->arena, "%s.%s", b->at->name, stem);
    if (m->whole || m->kind == OF_SCAN) out.x->name = hlo_unique_name(b, name);
    return out;
}

/* The read of the instruction that the node stands for, if that is at these variables; else 0. An equal node may stand
 * for an instruction that comes later. */
static IrRef own_read(const Build *m, IrRef r, const IrRefs *variables)
{
    const IrRef read = gr_place_of(m->graph, r);
    if (!read || !hlo_mapped(m->b, m->graph->c->instructions[IR_CALLEE(ir_at(m->g, read)->imm)])) return 0;
    const IrRefs of_read = ir_variables(m->g, m->b->arena, read, rw_marks(m->graph->rw));
    uint32_t k = 0;
    while (k < of_read.n && ir_among(variables, of_read.items[k])) k++;
    return k == of_read.n ? read : 0;
}

static Array make(Build *m, IrRef r)
{
    const IrNode n = *ir_at(m->g, r);
    const ScType t = IR_SC(n.type);
    if (sc_type_info[t].bits > 64) return nothing;
    if (n.op == OP_CONST) return (Array){.x = hlo_new_bits(m->b, t, n.imm)};
    if (gr_place_of(m->graph, r)) { /* what is the same at all values of a range may stand outside of it */
        const IrRefs variables = ir_variables(m->g, m->b->arena, r, rw_marks(m->graph->rw));
        const IrRef read = own_read(m, r, &variables);
        const Array there = read ? read_of(m, read, true) : nothing;
        if (there.x) return there;
    }
    if (n.op == OP_CALL) return read_of(m, r, false);
    if (n.op == OP_IDX) return integers(m, n.a[0], t);
    const Array parts = in_parts(m, r);
    if (parts.x) return parts;
    if (sc_op_info[n.op].combiner != OP_NONE) {
        const Array made = m->kind == OF_WINDOWS ? windowed(m, &n) : m->kind == OF_SCAN ? scanned(m, &n) : nothing;
        return made.x || m->kind == OF_WINDOWS ? made : folded(m, &n, t);
    }
    const uint8_t signature = sc_op_info[n.op].signature;
    return signature == SC_FRAME || signature == SC_LEAF ? nothing : operation(m, &n, t);
}

/* Recurses as deep as terms nest: graph.c bounds that. */
static Array array_of(Build *m, IrRef r)
{
    WbbEntry *known = wbb_map_put_bytes(&m->made, &r, sizeof r);
    if (known->value) return m->arrays.items[known->value - 1];
    const Array x = make(m, r);
    WBB_PUSH(m->b->arena, &m->arrays, x);
    wbb_map_put_bytes(&m->made, &r, sizeof r)->value = m->arrays.n;
    return x;
}

/* --- products ----------------------------------------------------------------------------------------------------- */
/* The read of the array with most elements that a term needs; 0: there is none. */
static IrRef largest_read(const Build *m, IrRef term)
{
    IrRefs nodes = {0};
    WBB_PUSH(m->b->arena, &nodes, term);
    ir_gather(m->g, m->b->arena, &nodes, rw_marks(m->graph->rw));
    IrRef most = 0;
    int64_t elements = 0;
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode *n = ir_at(m->g, nodes.items[k]);
        if (n->op != OP_CALL) continue;
        const int64_t of = hlo_elements(m->graph->c->instructions[IR_CALLEE(n->imm)]->shape);
        if (of > elements) elements = of, most = nodes.items[k];
    }
    return most;
}

/* The variables of a product's terms in the order in which its larger factor lies in memory. Those of its results that
 * this factor lacks stand before the first range: a thread has several of them, and what it loads for one it has for
 * all. */
static const Array *order_of(const Build *m, const GrDef *d)
{
    const IrRef read = largest_read(m, d->value);
    Array *own = WBB_NEW(m->b->arena, Array), *all = WBB_NEW(m->b->arena, Array);
    if (!read) return NULL;
    const IrNode *n = ir_at(m->g, read);
    const HloShape *s = m->graph->c->instructions[IR_CALLEE(n->imm)]->shape;
    for (uint32_t p = s->rank; p-- > 0;) {
        const IrNode *index = ir_at(m->g, m->g->terms[n->a[0] + s->minor_to_major[p]].ref);
        if (index->op == OP_VAR) own->var[own->n++] = (uint32_t)index->imm;
        else if (index->op != OP_CONST) return NULL;
    }
    const IrRefs ranges = {.items = d->ranges, .n = d->n_ranges};
    bool before = false;
    for (uint32_t k = 0; k <= own->n; k++) {
        const bool range = k < own->n && ir_among(&ranges, ir_var(m->g, own->var[k]));
        for (uint32_t j = 0; (range || k == own->n) && !before && j < d->i->shape->rank; j++) {
            const IrNode *v = ir_at(m->g, d->at[j]);
            if (v->op == OP_VAR && place(own, (uint32_t)v->imm) < 0) all->var[all->n++] = (uint32_t)v->imm;
        }
        before = before || range;
        if (k < own->n) all->var[all->n++] = own->var[k];
    }
    return all;
}

/* The variables of what an option makes: the ranges of its folds, the outer one first, and those of the definition. */
static const Array *whole_of(const Build *m, const GrDef *d, IrRef value)
{
    Array *out = WBB_NEW(m->b->arena, Array);
    IrRefs nodes = {0};
    WBB_PUSH(m->b->arena, &nodes, value);
    ir_gather(m->g, m->b->arena, &nodes, rw_marks(m->graph->rw));
    for (uint32_t k = nodes.n; k-- > 0;) { /* operands stand before their users */
        const IrNode *n = ir_at(m->g, nodes.items[k]);
        const Array ranges = sc_op_info[n->op].combiner != OP_NONE ? ranges_of(m, n) : nothing;
        if (!join(out, &ranges)) return out;
    }
    for (uint32_t k = 0; k < d->i->shape->rank; k++) {
        const IrNode *v = ir_at(m->g, d->at[k]);
        if (v->op == OP_VAR) out->var[out->n++] = (uint32_t)v->imm;
    }
    return out;
}

/* An array with two digits of a dimension, as one without what is beyond the dimension's end. */
static HloInstruction *one_dimension(Build *m, HloInstruction *x, const GrDef *d, const GrDigits *digits)
{
    const HloShape *s = d->i->shape;
    const uint32_t slow = (uint32_t)ir_at(m->g, digits->slow)->imm, fast = (uint32_t)ir_at(m->g, digits->fast)->imm;
    int64_t dims[HLO_RANK_LIMIT];
    HloSlice *slices = WBB_NEW_N(m->b->arena, HloSlice, s->rank + 1u);
    for (uint32_t k = 0; k < s->rank; k++) {
        dims[k] = d->at[k] == digits->variable ? extent(m, slow) * extent(m, fast) : s->dims[k];
        slices[k] = (HloSlice){0, s->dims[k], 1};
    }
    return hlo_new_slice(m->b, hlo_new_reshape(m->b, x, s->rank, dims), slices);
}

typedef struct Changes {
    const GrChanged *of; /* by computation */
    uint32_t *made;      /* definitions for which instructions are known */
} Changes;

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const Changes *changes = b->arg;
    const GrChanged *of = &changes->of[b->source->id];
    if (!of->graph || !of->value[i->id]) return NULL;
    Build m = {.b = b, .graph = of->graph, .g = rw_graph(of->graph->rw), .made = {.arena = b->arena}};
    const GrDef *d = &of->graph->defs[i->id];
    if (i->opcode == HLO_DOT && d->form == GR_FOLD) m.order = order_of(&m, d), m.products = true;
    const GrDigits digits = of->digits ? of->digits[i->id] : (GrDigits){0};
    if (of->parts) m.parts = &of->parts[i->id];
    if (of->of_option && i->opcode == HLO_REDUCE_WINDOW) m.kind = digits.variable ? OF_SCAN : OF_WINDOWS;
    if (of->of_option && m.kind == PLAIN) m.whole = whole_of(&m, d, of->value[i->id]);
    Array at = {0};
    for (uint32_t k = 0; k < i->shape->rank; k++) {
        if (ir_at(m.g, d->at[k])->op != OP_VAR) continue;
        const bool two = d->at[k] == digits.variable;
        if (two) at.var[at.n++] = (uint32_t)ir_at(m.g, digits.slow)->imm;
        at.var[at.n++] = (uint32_t)ir_at(m.g, two ? digits.fast : d->at[k])->imm;
    }
    if (m.kind == OF_SCAN) m.order = &at;
    const IrRefs own = {.items = d->at, .n = i->shape->rank};
    const IrRef read = own_read(&m, of->value[i->id], &own);
    Array x = read ? read_of(&m, read, true) : nothing;
    if (!x.x) x = array_of(&m, of->value[i->id]);
    for (uint32_t k = 0; k < x.n; k++) assert(place(&at, x.var[k]) >= 0);
    *changes->made += x.x != NULL;
    if (!x.x) return NULL;
    x.x = over(&m, x, &at);
    if (digits.variable) x.x = one_dimension(&m, x.x, d, &digits);
    x.x = hlo_new_reshape(b, x.x, i->shape->rank, i->shape->dims);
    const bool fold = x.x->opcode == HLO_REDUCE || x.x->opcode == HLO_REDUCE_WINDOW;
    return of->of_option && fold ? hlo_new_unary(b, HLO_COPY, x.x) : x.x; /* that has the name */
}

const HloModule *gr_built(WbbCx *cx, WbbArena *a, const HloModule *m, const GrChanged *of)
{
    uint32_t n = 0;
    const Changes changes = {of, &n};
    const HloModule *made = hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .arg = &changes});
    return n ? hlo_cleaned(cx, a, made, m) : m;
}

/* ir_reference.c: what a kernel of IR means, thread by thread, the slow and obvious way.
 *
 * Needs a kernel as it was read, before any pass, and its memory; leaves nothing, but tells each stored element's meaning. An
 * operation that rounds correctly gives bits, by the scalar functions. A function with a budget gives an interval, and what is
 * computed of intervals is an interval, by the bounds of eval/. Where an operation promises nothing (divx by 0 or -1, shlx by the
 * width or more, cvt.i64.f32.approx of nan; contract, which may round once or twice) the value is anything.
 *
 *     store %out[t], tanh.f32(load %in[t])    %in[t] = 1:  0.76159406 .. 0.76159436, 3 ulp each way
 */
#include "pipe/ir_check.h"

#include "eval/bounds.h"

#include <math.h>
#include <string.h>

/* Statements one after the other, and what is asked for at their end. */
typedef struct {
    struct Step *steps;
    uint32_t n;
    IrRefs ends;
} Body;

/* A statement and what it asks for: nodes, operands before users. */
typedef struct Step {
    const IrStmt *s;
    IrRefs nodes;
    Body body, otherwise;
} Step;

struct PipeReading {
    WbbCx *cx;
    WbbArena *arena;
    PipeReference r;
    IrGraph *g;
    Body body, *functions;
    uint8_t *mark;
    uint32_t *slot;      /* by ref: where its lanes stand in `values` */
    PipeMeaning *values;
    PipeMeaning *brought; /* by number of IrValue, and lane: brought[first_lane[number] + lane] */
    uint32_t *first_lane;
    int64_t *vars;       /* by number */
    uint64_t block;
    uint32_t bid, tid;   /* variables' numbers */
    const Step *under_way;
};

/* --- before the run ----------------------------------------------------------------------------------------------------------- */
/* All that some roots need, operands first. */
static void plan_nodes(PipeReading *x, IrRefs *nodes)
{
    ir_gather(x->g, x->arena, nodes, x->mark);
    for (uint32_t i = 0; i < nodes->n; i++)
        if (ir_at(x->g, nodes->items[i])->op == OP_INSTR)
            wbb_fail(x->cx, (WbbLoc){0}, "@%s: a selected instr has no meaning of its own to compare with", x->r.k->name);
}

static void want(PipeReading *x, IrRefs *nodes, IrRef r)
{
    if (r) WBB_PUSH(x->arena, nodes, r);
}

static Body plan_block(PipeReading *x, const IrBlock *b)
{
    Body body = {.steps = WBB_NEW_N(x->arena, Step, b->n + 1), .n = b->n};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        Step *step = &body.steps[i];
        step->s = s;
        want(x, &step->nodes, s->index);
        want(x, &step->nodes, s->value);
        want(x, &step->nodes, s->condition);
        if (s->kind == IR_BIND) want(x, &step->nodes, x->g->vars[s->var].definition);
        for (uint32_t r = 0; r < s->n_results; r++) want(x, &step->nodes, s->results[r].init);
        plan_nodes(x, &step->nodes);
        if (s->kind != IR_IF && s->kind != IR_FOR) continue;
        step->body = plan_block(x, &s->body);
        step->otherwise = plan_block(x, &s->otherwise);
        for (uint32_t r = 0; r < s->n_results; r++) {
            want(x, &step->body.ends, s->results[r].yield);
            want(x, &step->otherwise.ends, s->results[r].otherwise);
        }
        plan_nodes(x, &step->body.ends);
        plan_nodes(x, &step->otherwise.ends);
    }
    return body;
}

/* --- one operation on one lane -------------------------------------------------------------------------------------------------- */
static PipeMeaning exactly(uint64_t bits, bool moved) { return (PipeMeaning){.known = PIPE_EXACT, .moved = moved, .bits = bits}; }

/* rcp and rsqrt.approx.ftz.f64 look at the upper word, in which a nan may be an infinity, and flush what is subnormal before or after. */
static bool guesses_nothing(double x, uint64_t bits)
{
    return (isnan(x) && !(bits >> 32 & 0xfffff)) || (x != 0 && fabs(x) < 0x1p-1022) || (isfinite(x) && fabs(x) > 0x1p1021);
}

static bool promises_nothing(const IrNode *n, ScType type, ScType from, const uint64_t *v)
{
    switch ((ScOp)n->op) {
    case OP_DIVX:
    case OP_REMX: return v[1] == 0 || (sc_is_signed(type) && v[1] == sc_mask(type));
    case OP_SHLX:
    case OP_SHRLX:
    case OP_SHRAX: return v[1] >= sc_type_info[type].bits;
    case OP_CVT: return (n->flags & SC_FLAG_APPROX) && sc_is_float(from) && !sc_is_float(type) && isnan(sc_to_f64(from, v[0]));
    case OP_RCPZ:
    case OP_RSQRTZ: return type == SC_F64 && guesses_nothing(sc_to_f64(type, v[0]), v[0]);
    case OP_HYPOT: return isnan(sc_to_f64(from, v[0])) || isnan(sc_to_f64(from, v[1])); /* beside an infinity: not all say inf */
    default: return false;
    }
}

/* The exact value is known to double's accuracy: more than enough beside the error of an instruction. Half a unit more is for the
 * rounding of a result. */
static bool within_err(const PipeErr *err, ScOp op, ScType type, const uint64_t *v, uint32_t n_operands, EvBound *b)
{
    if ((err->relative == 0 && err->ulp == 0) || (type == SC_F64 && err->relative < 0x1p-40)) return false;
    const ScType wider = op == OP_EXP2Z || op == OP_LOG2Z || op == OP_RCPZ || op == OP_RSQRTZ ? type : SC_F64; /* what is flushed depends on the type */
    uint64_t wide[3] = {0}, y;
    for (uint32_t i = 0; i < n_operands; i++) wide[i] = sc_from_f64(wider, sc_to_f64(type, v[i]));
    if (!sc_eval(op, wider, wider, wide, &y)) return false;
    const double exact = sc_to_f64(wider, y), size = op == OP_SIN || op == OP_COS || op == OP_LOG2 || op == OP_LOG2Z ? fmax(fabs(exact), 1) : fabs(exact);
    if (!isfinite(exact)) {
        *b = ev_bound_allowed(op, type, (ScBudget){0, 0}, exact);
        return true;
    }
    const double off = size * err->relative + err->ulp * ev_ulp(type, exact), miss = off + ev_ulp(type, fabs(exact) + off) / 2;
    *b = ev_bound_allowed(op, type, (ScBudget){0, miss}, exact);
    if (isinf(sc_to_f64(type, sc_from_f64(type, fabs(exact) + miss)))) *(exact < 0 ? &b->lo.f : &b->hi.f) = copysign((double)INFINITY, exact);
    return true;
}

static PipeMeaning operate(const PipeReading *x, const IrNode *n, ScType type, ScType from, const PipeMeaning *m, uint32_t n_operands)
{
    const ScOp op = (ScOp)n->op;
    const ScSignature signature = (ScSignature)sc_op_info[op].signature;
    const ScType named = signature == SC_COMPARE || signature == SC_TEST ? from : type;
    const bool approx = n->flags & SC_FLAG_APPROX;
    const ScBudget budget = sc_budget(op, named, approx);
    bool exact = true, moved = true;
    uint64_t v[3] = {0}, bits;
    if (n->flags & (SC_FLAG_CONTRACT | SC_FLAG_NNAN | SC_FLAG_NSZ)) return (PipeMeaning){.known = PIPE_ANY};
    for (uint32_t i = 0; i < n_operands; i++) {
        if (m[i].known == PIPE_ANY) return (PipeMeaning){.known = PIPE_ANY};
        exact = exact && m[i].known == PIPE_EXACT;
        moved = moved && m[i].moved;
        v[i] = m[i].bits;
    }
    if (op == OP_SELECT && m[0].known == PIPE_EXACT) return m[m[0].bits ? 1 : 2];
    if (exact && promises_nothing(n, type, from, v)) return (PipeMeaning){.known = PIPE_ANY};
    if (exact && budget.ulp == 0 && budget.absolute == 0 && sc_eval(op, named, from, v, &bits)) return exactly(bits, moved && op == OP_BITS);
    PipeMeaning r = {.known = PIPE_BOUND};
    if (exact && within_err(&x->r.err, op, named, v, n_operands, &r.bound)) return r;
    EvBound b[3];
    for (uint32_t i = 0; i < n_operands; i++) {
        const ScType t = signature == SC_SELECT ? (i ? type : SC_PRED) : from;
        b[i] = m[i].known == PIPE_EXACT ? ev_bound_exact(t, m[i].bits) : m[i].bound;
    }
    if (op == OP_BITS) return (PipeMeaning){.known = PIPE_ANY};
    r.bound = ev_bound_op(op, named, from, b, approx);
    return r;
}

/* --- one node, all lanes -------------------------------------------------------------------------------------------------------- */
static PipeMeaning *lanes_of(const PipeReading *x, IrRef r) { return &x->values[x->slot[r]]; }

static uint64_t sum_of(const PipeReading *x, const IrNode *n)
{
    uint64_t v = n->imm;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = x->g->terms[n->a[0] + i];
        v += (uint64_t)t.coefficient * lanes_of(x, t.ref)->bits;
    }
    return v;
}

static PipeMeaning loaded(const PipeReading *x, const IrNode *n, uint32_t lane)
{
    const uint32_t number = (uint32_t)ir_at(x->g, n->a[0])->imm;
    const IrBuffer *b = &x->r.k->buffers[number];
    const int64_t at = (int64_t)lanes_of(x, n->a[1])->bits + lane;
    if (b->output || at < 0 || at >= b->elements) return (PipeMeaning){.known = PIPE_ANY};
    const uint32_t bytes = sc_bytes(b->type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x->r.memory[number] + (size_t)at * bytes, bytes);
    return exactly(bits & sc_mask(b->type), true);
}

static void run_body(PipeReading *x, const Body *b);

/* A call: its parameters are variables, and its body's values are its own, since functions do not call themselves. */
static PipeMeaning called(PipeReading *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrFunction *f = x->r.k->functions[IR_CALLEE(n->imm)];
    for (uint32_t i = 0; i < f->n_params; i++) x->vars[f->params[i]] = (int64_t)lanes_of(x, ir_operand(x->g, r, i))->bits;
    run_body(x, &x->functions[IR_CALLEE(n->imm)]);
    return *lanes_of(x, f->yields[IR_WHICH(n->imm)]);
}

static void evaluate(PipeReading *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const ScType type = IR_SC(n->type);
    const uint32_t lanes = IR_LANES(n->type);
    PipeMeaning *out = lanes_of(x, r);
    const PipeMeaning *a = ir_in_pool(n) ? NULL : lanes_of(x, n->a[0]), *b = ir_in_pool(n) ? NULL : lanes_of(x, n->a[1]);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        switch ((ScOp)n->op) {
        case OP_ARG: break;
        case OP_CONST: out[lane] = exactly(n->imm, true); break;
        case OP_VALUE: out[lane] = x->brought[x->first_lane[n->imm] + lane]; break;
        case OP_CALL: out[lane] = called(x, r); break;
        case OP_VAR: out[lane] = exactly((uint64_t)x->vars[n->imm], false); break;
        case OP_SUM: out[lane] = exactly(sum_of(x, n), false); break;
        case OP_LOAD: out[lane] = loaded(x, n, lane); break;
        case OP_IDX: out[lane] = exactly(sc_from_i128(type, (int64_t)a->bits), false); break;
        case OP_PACK: out[lane] = lane < lanes / 2 ? a[lane] : b[lane - lanes / 2]; break;
        case OP_PART: out[lane] = a[n->imm + lane]; break;
        case OP_SPLAT: out[lane] = a[0]; break;
        default: {
            IrRef operands[3];
            PipeMeaning m[3];
            const uint32_t count = ir_operands(x->g, r, operands);
            for (uint32_t i = 0; i < count; i++) m[i] = lanes_of(x, operands[i])[lane];
            out[lane] = operate(x, n, type, count ? IR_SC(ir_at(x->g, operands[0])->type) : type, m, count);
        }
        }
    }
}

/* --- statements ------------------------------------------------------------------------------------------------------------------ */
/* The interval of a variable that is an element is its maker's word: a text that does not keep it means nothing, and is told so. */
static int64_t index_of(PipeReading *x, const IrStmt *s)
{
    const IrVar *v = &x->g->vars[s->var];
    if (!s->value) return (int64_t)lanes_of(x, v->definition)->bits;
    const PipeMeaning *m = lanes_of(x, s->value);
    const WbbI128 i = m->known == PIPE_EXACT ? sc_to_i128(IR_SC(ir_at(x->g, s->value)->type), m->bits) : (WbbI128)v->lo;
    if (i < v->lo || i > v->hi)
        wbb_fail(x->cx, (WbbLoc){0}, "@%s: '%s' is %lld, outside of its interval %lld..%lld", x->r.k->name, v->name, (long long)i, (long long)v->lo, (long long)v->hi + 1);
    return (int64_t)i;
}

static void bring(PipeReading *x, uint32_t value, const PipeMeaning *lanes)
{
    const uint32_t count = IR_LANES(x->g->values[value].type);
    for (uint32_t i = 0; i < count; i++) x->brought[x->first_lane[value] + i] = lanes ? lanes[i] : (PipeMeaning){.known = PIPE_ANY};
}

/* Of a condition that is not known, nothing is. */
static void run_if(PipeReading *x, const Step *step)
{
    const IrStmt *s = step->s;
    const PipeMeaning condition = *lanes_of(x, s->condition);
    const bool known = condition.known == PIPE_EXACT;
    if (known) run_body(x, condition.bits ? &step->body : &step->otherwise);
    for (uint32_t i = 0; i < s->n_results; i++)
        bring(x, s->results[i].value, known ? lanes_of(x, condition.bits ? s->results[i].yield : s->results[i].otherwise) : NULL);
}

/* What is yielded is all read before any of it is carried. */
static void run_for(PipeReading *x, const Step *step)
{
    const IrStmt *s = step->s;
    for (uint32_t i = 0; i < s->n_results; i++) bring(x, s->results[i].value, lanes_of(x, s->results[i].init));
    for (int64_t v = x->g->vars[s->var].lo; v <= x->g->vars[s->var].hi; v++) {
        for (uint32_t i = 0; i < s->n_results; i++) bring(x, s->results[i].carried, &x->brought[x->first_lane[s->results[i].value]]);
        x->vars[s->var] = v;
        run_body(x, &step->body);
        for (uint32_t i = 0; i < s->n_results; i++) bring(x, s->results[i].value, lanes_of(x, s->results[i].yield));
    }
}

static void run_step(PipeReading *x, const Step *step)
{
    const IrStmt *s = step->s;
    for (uint32_t k = 0; k < step->nodes.n; k++) evaluate(x, step->nodes.items[k]);
    switch (s->kind) {
    case IR_BIND: x->vars[s->var] = index_of(x, s); break;
    case IR_IF: run_if(x, step); break;
    case IR_FOR: run_for(x, step); break;
    case IR_STORE: {
        x->under_way = step;
        const uint32_t lanes = IR_LANES(ir_at(x->g, s->value)->type);
        for (uint32_t lane = 0; lane < lanes; lane++)
            x->r.store(x->r.arg, s->buffer, (int64_t)lanes_of(x, s->index)->bits + lane, lane, &lanes_of(x, s->value)[lane]);
        break;
    }
    }
}

static void run_body(PipeReading *x, const Body *b)
{
    for (uint32_t i = 0; i < b->n; i++) run_step(x, &b->steps[i]);
    for (uint32_t i = 0; i < b->ends.n; i++) evaluate(x, b->ends.items[i]);
}

PipeReading *pipe_reading(WbbCx *cx, WbbArena *a, const PipeReference *r)
{
    PipeReading *x = WBB_NEW(a, PipeReading);
    *x = (PipeReading){.cx = cx, .arena = a, .r = *r, .g = r->k->g};
    x->slot = WBB_NEW_N(a, uint32_t, x->g->n + 1);
    uint32_t capacity = 1;
    for (IrRef i = 1; i < x->g->n; i++) {
        x->slot[i] = capacity;
        capacity += IR_LANES(ir_at(x->g, i)->type);
    }
    x->values = WBB_NEW_N(a, PipeMeaning, capacity);
    x->vars = WBB_NEW_N(a, int64_t, x->g->n_vars + 1);
    x->first_lane = WBB_NEW_N(a, uint32_t, x->g->n_values + 1);
    capacity = 1;
    for (uint32_t i = 0; i < x->g->n_values; i++) {
        x->first_lane[i] = capacity;
        capacity += IR_LANES(x->g->values[i].type);
    }
    x->brought = WBB_NEW_N(a, PipeMeaning, capacity);
    x->mark = WBB_NEW_N(a, uint8_t, x->g->n);
    x->functions = WBB_NEW_N(a, Body, r->k->n_functions + 1);
    for (uint32_t i = 0; i < r->k->n_functions; i++) {
        const IrFunction *f = r->k->functions[i];
        x->functions[i] = plan_block(x, &f->body);
        for (uint32_t y = 0; y < f->n_yields; y++) want(x, &x->functions[i].ends, f->yields[y]);
        plan_nodes(x, &x->functions[i].ends);
    }
    x->body = plan_block(x, &r->k->body);
    return x;
}

void pipe_read_block(PipeReading *x, uint64_t block)
{
    for (uint32_t t = 0; t < x->r.k->block; t++) {
        for (uint32_t v = 0; v < x->g->n_vars; v++) {
            if (x->g->vars[v].kind == IR_BID) x->vars[v] = (int64_t)block;
            if (x->g->vars[v].kind == IR_TID) x->vars[v] = t;
        }
        run_body(x, &x->body);
    }
}

uint32_t pipe_read_loads(const PipeReading *x, uint32_t lane, uint32_t capacity, uint32_t *buffer, int64_t *element)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->under_way->nodes.n && n < capacity; i++) {
        const IrNode *node = ir_at(x->g, x->under_way->nodes.items[i]);
        if (node->op != OP_LOAD) continue;
        buffer[n] = (uint32_t)ir_at(x->g, node->a[0])->imm;
        element[n] = (int64_t)lanes_of(x, node->a[1])->bits + WBB_MIN(lane, IR_LANES(node->type) - 1);
        n++;
    }
    return n;
}

/* ir_reference.c: interprets a kernel of IR, thread by thread and operation by operation.
 *
 * Needs a kernel as it was parsed, before any pass, and its memory; calls PipeReference.store with the value of each
 * element stored. The result of a correctly rounded operation is exact, by the scalar functions. The result of a
 * function with an error budget is an interval, and so is every result computed from intervals, by the bounds of eval/.
 * An unspecified result (divx by 0 or -1, shlx by the width or more, cvt.i64.f32.approx of nan; contract, which may
 * round once or twice) is any value.
 *
 *     store %out[t], tanh.f32(load %in[t])    %in[t] = 1:  0.76159406 .. 0.76159436, 3 ulp each way
 */
#include "pipe/ir_check.h"

#include "eval/bounds.h"
#include "ir/uses.h"

#include <math.h>
#include <string.h>

/* Statements in order, and the nodes of the values that their block yields. */
typedef struct {
    struct Step *steps;
    uint32_t n;
    IrRefs yields;
} Body;

/* A statement and the nodes that it needs, operands before users. */
typedef struct Step {
    const IrStmt *s;
    IrRefs nodes;
    Body body, otherwise;
} Step;

struct PipeInterpreter {
    WbbCx *cx;
    WbbArena *arena;
    PipeReference r;
    IrGraph *g;
    Body body, *functions;
    uint8_t *mark;
    uint32_t *slot;      /* by ref: index of its first lane in `values` */
    PipeExpected *values;
    PipeExpected *results; /* of IrValue v, lane i: results[first_lane[v] + i] */
    uint32_t *first_lane;
    int64_t *vars;       /* by number */
    const Step *current_store;
};

/* --- preparation -------------------------------------------------------------------------------------------------- */
/* Add to the roots in `nodes` all nodes that they need, operands first. */
static void gather(PipeInterpreter *x, IrRefs *nodes)
{
    ir_gather(x->g, x->arena, nodes, x->mark);
    for (uint32_t i = 0; i < nodes->n; i++)
        if (ir_at(x->g, nodes->items[i])->op == OP_INSTR)
            wbb_fail(x->cx, (WbbLoc){0}, "@%s: an instr node has no reference semantics", x->r.k->name);
}

static Body plan_block(PipeInterpreter *x, const IrBlock *b)
{
    Body body = {.steps = WBB_NEW_N(x->arena, Step, b->n + 1), .n = b->n};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        Step *step = &body.steps[i];
        step->s = s;
        step->body = plan_block(x, &s->body);
        step->otherwise = plan_block(x, &s->otherwise);
        IrRefs *needs[] = {[IR_OUTSIDE] = &step->nodes, [IR_BODY] = &step->body.yields,
                           [IR_OTHERWISE] = &step->otherwise.yields};
        for (IrUses u = ir_uses(x->g, s); ir_next_use(&u);) WBB_PUSH(x->arena, needs[u.where], u.ref);
        gather(x, &step->nodes);
        gather(x, &step->body.yields);
        gather(x, &step->otherwise.yields);
    }
    return body;
}

/* --- one operation on one lane ------------------------------------------------------------------------------------ */
static PipeExpected exactly(uint64_t bits, bool moved)
{
    return (PipeExpected){.known = PIPE_EXACT, .moved = moved, .bits = bits};
}

/* rcp and rsqrt.approx.ftz.f64 read only the upper word, in which a nan may look like an infinity, and flush subnormal
 * operands and results. */
static bool is_unspecified_f64(double x, uint64_t bits)
{
    return (isnan(x) && !(bits >> 32 & 0xfffff)) || (x != 0 && fabs(x) < 0x1p-1022) ||
           (isfinite(x) && fabs(x) > 0x1p1021);
}

static bool is_unspecified(const IrNode *n, ScType type, ScType from, const uint64_t *v)
{
    switch ((ScOp)n->op) {
    case OP_DIVX:
    case OP_REMX: return v[1] == 0 || (sc_is_signed(type) && v[1] == sc_mask(type));
    case OP_SHLX:
    case OP_SHRLX:
    case OP_SHRAX: return v[1] >= sc_type_info[type].bits;
    case OP_CVT:
        return (n->flags & SC_FLAG_APPROX) && sc_is_float(from) && !sc_is_float(type) && isnan(sc_to_f64(from, v[0]));
    case OP_RCPZ:
    case OP_RSQRTZ: return type == SC_F64 && is_unspecified_f64(sc_to_f64(type, v[0]), v[0]);
    case OP_HYPOT: /* of nan and infinity: implementations disagree */
        return isnan(sc_to_f64(from, v[0])) || isnan(sc_to_f64(from, v[1]));
    default: return false;
    }
}

/* The bounds of a result with the error `err`; false: there is none for it. The exact value is computed in double,
 * which is accurate enough beside the error of an instruction. Half a unit in the last place is added for the rounding
 * of the result. */
static bool bound_of_err(const PipeErr *err, ScOp op, ScType type, const uint64_t *v, uint32_t n_operands, EvBound *b)
{
    if ((err->relative == 0 && err->ulp == 0) || (type == SC_F64 && err->relative < 0x1p-40)) return false;
    const bool flushes = op == OP_EXP2Z || op == OP_LOG2Z || op == OP_RCPZ || op == OP_RSQRTZ;
    const ScType wider = flushes ? type : SC_F64; /* which values are subnormal depends on the type */
    uint64_t wide[3] = {0}, y;
    for (uint32_t i = 0; i < n_operands; i++) wide[i] = sc_from_f64(wider, sc_to_f64(type, v[i]));
    if (!sc_eval(op, wider, wider, wide, &y)) return false;
    const bool absolute = op == OP_SIN || op == OP_COS || op == OP_LOG2 || op == OP_LOG2Z;
    const double exact = sc_to_f64(wider, y), size = absolute ? fmax(fabs(exact), 1) : fabs(exact);
    if (!isfinite(exact)) {
        *b = ev_bound_allowed(op, type, (ScBudget){0, 0}, exact);
        return true;
    }
    const double error = size * err->relative + err->ulp * ev_ulp(type, exact);
    const double rounded = error + ev_ulp(type, fabs(exact) + error) / 2;
    *b = ev_bound_allowed(op, type, (ScBudget){0, rounded}, exact);
    if (isinf(sc_to_f64(type, sc_from_f64(type, fabs(exact) + rounded))))
        *(exact < 0 ? &b->lo.f : &b->hi.f) = copysign((double)INFINITY, exact);
    return true;
}

/* The result of an operation; `from`: type of its first operand. */
static PipeExpected operate(const PipeInterpreter *x, const IrNode *n, ScType type, ScType from, const PipeExpected *m,
                            uint32_t n_operands)
{
    const ScOp op = (ScOp)n->op;
    const ScSignature signature = (ScSignature)sc_op_info[op].signature;
    const ScType named = signature == SC_COMPARE || signature == SC_TEST ? from : type;
    const bool approx = n->flags & SC_FLAG_APPROX;
    const ScBudget budget = sc_budget(op, named, approx);
    bool exact = true, moved = true;
    uint64_t v[3] = {0}, bits;
    if (n->flags & (SC_FLAG_CONTRACT | SC_FLAG_NNAN | SC_FLAG_NSZ)) return (PipeExpected){.known = PIPE_ANY};
    for (uint32_t i = 0; i < n_operands; i++) {
        if (m[i].known == PIPE_ANY) return (PipeExpected){.known = PIPE_ANY};
        exact = exact && m[i].known == PIPE_EXACT;
        moved = moved && m[i].moved;
        v[i] = m[i].bits;
    }
    if (op == OP_SELECT && m[0].known == PIPE_EXACT) return m[m[0].bits ? 1 : 2];
    if (exact && is_unspecified(n, type, from, v)) return (PipeExpected){.known = PIPE_ANY};
    if (exact && budget.ulp == 0 && budget.absolute == 0 && sc_eval(op, named, from, v, &bits))
        return exactly(bits, moved && op == OP_BITS);
    PipeExpected r = {.known = PIPE_BOUND};
    if (exact && bound_of_err(&x->r.err, op, named, v, n_operands, &r.bound)) return r;
    EvBound b[3];
    for (uint32_t i = 0; i < n_operands; i++) {
        const ScType t = signature == SC_SELECT ? (i ? type : SC_PRED) : from;
        b[i] = m[i].known == PIPE_EXACT ? ev_bound_exact(t, m[i].bits) : m[i].bound;
    }
    if (op == OP_BITS) return (PipeExpected){.known = PIPE_ANY};
    r.bound = ev_bound_op(op, named, from, b, approx);
    return r;
}

/* --- one node, all lanes ------------------------------------------------------------------------------------------ */
static PipeExpected *lanes_of(const PipeInterpreter *x, IrRef r) { return &x->values[x->slot[r]]; }

static uint64_t sum_of(const PipeInterpreter *x, const IrNode *n)
{
    uint64_t v = n->imm;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = x->g->terms[n->a[0] + i];
        v += (uint64_t)t.coefficient * lanes_of(x, t.ref)->bits;
    }
    return v;
}

static PipeExpected load(const PipeInterpreter *x, const IrNode *n, uint32_t lane)
{
    const uint32_t number = (uint32_t)ir_at(x->g, n->a[0])->imm;
    const IrBuffer *b = &x->r.k->buffers[number];
    const int64_t at = (int64_t)lanes_of(x, n->a[1])->bits + lane;
    if (b->output || at < 0 || at >= b->elements) return (PipeExpected){.known = PIPE_ANY};
    const uint32_t bytes = sc_bytes(b->type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x->r.memory[number] + (size_t)at * bytes, bytes);
    return exactly(bits & sc_mask(b->type), true);
}

static void run_body(PipeInterpreter *x, const Body *b);

/* The nodes of a function's body keep one set of values: functions do not call themselves. */
static PipeExpected call(PipeInterpreter *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrFunction *f = x->r.k->functions[IR_CALLEE(n->imm)];
    for (uint32_t i = 0; i < f->n_params; i++)
        x->vars[f->params[i]] = (int64_t)lanes_of(x, ir_operand(x->g, r, i))->bits;
    run_body(x, &x->functions[IR_CALLEE(n->imm)]);
    return *lanes_of(x, f->yields[IR_WHICH(n->imm)]);
}

static void evaluate(PipeInterpreter *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const ScType type = IR_SC(n->type);
    const uint32_t lanes = IR_LANES(n->type);
    PipeExpected *out = lanes_of(x, r);
    const bool in_pool = ir_in_pool(n);
    const PipeExpected *a = in_pool ? NULL : lanes_of(x, n->a[0]), *b = in_pool ? NULL : lanes_of(x, n->a[1]);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        switch ((ScOp)n->op) {
        case OP_ARG: break;
        case OP_CONST: out[lane] = exactly(n->imm, true); break;
        case OP_VALUE: out[lane] = x->results[x->first_lane[n->imm] + lane]; break;
        case OP_CALL: out[lane] = call(x, r); break;
        case OP_VAR: out[lane] = exactly((uint64_t)x->vars[n->imm], false); break;
        case OP_SUM: out[lane] = exactly(sum_of(x, n), false); break;
        case OP_LOAD: out[lane] = load(x, n, lane); break;
        case OP_IDX: out[lane] = exactly(sc_from_i128(type, (int64_t)a->bits), false); break;
        case OP_PACK: out[lane] = lane < lanes / 2 ? a[lane] : b[lane - lanes / 2]; break;
        case OP_PART: out[lane] = a[n->imm + lane]; break;
        case OP_SPLAT: out[lane] = a[0]; break;
        default: {
            IrRef operands[3];
            PipeExpected m[3];
            const uint32_t count = ir_operands(x->g, r, operands);
            for (uint32_t i = 0; i < count; i++) m[i] = lanes_of(x, operands[i])[lane];
            out[lane] = operate(x, n, type, count ? IR_SC(ir_at(x->g, operands[0])->type) : type, m, count);
        }
        }
    }
}

/* --- statements --------------------------------------------------------------------------------------------------- */
/* The value of a variable. One that is bound to an element must be in its interval: a kernel that breaks this has no
 * meaning. */
static int64_t index_of(PipeInterpreter *x, const IrStmt *s)
{
    const IrVar *v = &x->g->vars[s->var];
    if (!s->value) return (int64_t)lanes_of(x, v->definition)->bits;
    const PipeExpected *m = lanes_of(x, s->value);
    const WbbI128 i = m->known == PIPE_EXACT ? sc_to_i128(IR_SC(ir_at(x->g, s->value)->type), m->bits) : (WbbI128)v->lo;
    if (i < v->lo || i > v->hi)
        wbb_fail(x->cx, (WbbLoc){0}, "@%s: '%s' is %lld, outside of its interval %lld..%lld", x->r.k->name, v->name,
                 (long long)i, (long long)v->lo, (long long)v->hi + 1);
    return (int64_t)i;
}

static void set_result(PipeInterpreter *x, uint32_t value, const PipeExpected *lanes)
{
    const uint32_t count = IR_LANES(x->g->values[value].type);
    for (uint32_t i = 0; i < count; i++)
        x->results[x->first_lane[value] + i] = lanes ? lanes[i] : (PipeExpected){.known = PIPE_ANY};
}

/* If the condition is not known exactly, the results are any values. */
static void run_if(PipeInterpreter *x, const Step *step)
{
    const IrStmt *s = step->s;
    const PipeExpected condition = *lanes_of(x, s->condition);
    const bool known = condition.known == PIPE_EXACT;
    if (known) run_body(x, condition.bits ? &step->body : &step->otherwise);
    for (uint32_t i = 0; i < s->n_results; i++) {
        const IrRef yield = condition.bits ? s->results[i].yield : s->results[i].otherwise;
        set_result(x, s->results[i].value, known ? lanes_of(x, yield) : NULL);
    }
}

/* All yields are copied to the results before any carried value changes: a yield may be another carried value. */
static void run_for(PipeInterpreter *x, const Step *step)
{
    const IrStmt *s = step->s;
    for (uint32_t i = 0; i < s->n_results; i++) set_result(x, s->results[i].value, lanes_of(x, s->results[i].init));
    for (int64_t v = x->g->vars[s->var].lo; v <= x->g->vars[s->var].hi; v++) {
        for (uint32_t i = 0; i < s->n_results; i++)
            set_result(x, s->results[i].carried, &x->results[x->first_lane[s->results[i].value]]);
        x->vars[s->var] = v;
        run_body(x, &step->body);
        for (uint32_t i = 0; i < s->n_results; i++)
            set_result(x, s->results[i].value, lanes_of(x, s->results[i].yield));
    }
}

static void run_step(PipeInterpreter *x, const Step *step)
{
    const IrStmt *s = step->s;
    for (uint32_t k = 0; k < step->nodes.n; k++) evaluate(x, step->nodes.items[k]);
    switch (s->kind) {
    case IR_BIND: x->vars[s->var] = index_of(x, s); break;
    case IR_IF: run_if(x, step); break;
    case IR_FOR: run_for(x, step); break;
    case IR_STORE: {
        x->current_store = step;
        const uint32_t lanes = IR_LANES(ir_at(x->g, s->value)->type);
        const int64_t first = (int64_t)lanes_of(x, s->index)->bits;
        for (uint32_t lane = 0; lane < lanes; lane++)
            x->r.store(x->r.arg, s->buffer, first + lane, lane, &lanes_of(x, s->value)[lane]);
        break;
    }
    }
}

static void run_body(PipeInterpreter *x, const Body *b)
{
    for (uint32_t i = 0; i < b->n; i++) run_step(x, &b->steps[i]);
    for (uint32_t i = 0; i < b->yields.n; i++) evaluate(x, b->yields.items[i]);
}

PipeInterpreter *pipe_interpreter(WbbCx *cx, WbbArena *a, const PipeReference *r)
{
    PipeInterpreter *x = WBB_NEW(a, PipeInterpreter);
    *x = (PipeInterpreter){.cx = cx, .arena = a, .r = *r, .g = r->k->g};
    x->slot = WBB_NEW_N(a, uint32_t, x->g->n + 1);
    uint32_t capacity = 1;
    for (IrRef i = 1; i < x->g->n; i++) {
        x->slot[i] = capacity;
        capacity += IR_LANES(ir_at(x->g, i)->type);
    }
    x->values = WBB_NEW_N(a, PipeExpected, capacity);
    x->vars = WBB_NEW_N(a, int64_t, x->g->n_vars + 1);
    x->first_lane = WBB_NEW_N(a, uint32_t, x->g->n_values + 1);
    capacity = 1;
    for (uint32_t i = 0; i < x->g->n_values; i++) {
        x->first_lane[i] = capacity;
        capacity += IR_LANES(x->g->values[i].type);
    }
    x->results = WBB_NEW_N(a, PipeExpected, capacity);
    x->mark = WBB_NEW_N(a, uint8_t, x->g->n);
    x->functions = WBB_NEW_N(a, Body, r->k->n_functions + 1);
    for (uint32_t i = 0; i < r->k->n_functions; i++) {
        const IrFunction *f = r->k->functions[i];
        x->functions[i] = plan_block(x, &f->body);
        for (uint32_t y = 0; y < f->n_yields; y++) WBB_PUSH(a, &x->functions[i].yields, f->yields[y]);
        gather(x, &x->functions[i].yields);
    }
    x->body = plan_block(x, &r->k->body);
    return x;
}

void pipe_interpret_block(PipeInterpreter *x, uint64_t block)
{
    for (uint32_t t = 0; t < x->r.k->block; t++) {
        for (uint32_t v = 0; v < x->g->n_vars; v++) {
            if (x->g->vars[v].kind == IR_BID) x->vars[v] = (int64_t)block;
            if (x->g->vars[v].kind == IR_TID) x->vars[v] = t;
        }
        run_body(x, &x->body);
    }
}

uint32_t pipe_loads_of_store(const PipeInterpreter *x, uint32_t lane, uint32_t capacity, uint32_t *buffer,
                             int64_t *element)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->current_store->nodes.n && n < capacity; i++) {
        const IrNode *node = ir_at(x->g, x->current_store->nodes.items[i]);
        if (node->op != OP_LOAD) continue;
        buffer[n] = (uint32_t)ir_at(x->g, node->a[0])->imm;
        element[n] = (int64_t)lanes_of(x, node->a[1])->bits + WBB_MIN(lane, IR_LANES(node->type) - 1);
        n++;
    }
    return n;
}

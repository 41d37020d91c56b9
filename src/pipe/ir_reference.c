/* ir_reference.c: what a kernel of IR means, thread by thread, the slow and obvious way.
 *
 * Needs a kernel as it was read, before any pass, and its memory; leaves nothing, but tells each stored element's meaning. An
 * operation that rounds correctly gives bits, by the scalar functions. A function with a budget gives an interval, and what is
 * computed of intervals is an interval, by the bounds of eval/. Where an operation promises nothing (quot by 0 or -1, shlx by the
 * width or more, cvt.i64.f32.approx of nan; contract, which may round once or twice) the value is anything.
 *
 *     store %out[t], tanh.f32(load %in[t])    %in[t] = 1:  0.76159406 .. 0.76159436, 3 ulp each way
 */
#include "pipe/ir_check.h"

#include "eval/bounds.h"

#include <math.h>
#include <string.h>

/* A statement and what it asks for: nodes, operands before users. */
typedef struct Step {
    const IrStmt *s;
    IrRef *nodes;
    uint32_t n_nodes, n_body, n_otherwise;
    struct Step *body, *otherwise;
} Step;

struct PipeReading {
    WbbCx *cx;
    WbbArena *arena;
    PipeReference r;
    IrGraph *g;
    Step *steps;
    uint32_t n_steps;
    uint32_t *slot;      /* by ref: where its lanes stand in `values` */
    PipeMeaning *values;
    int64_t *vars;       /* by number */
    uint64_t block;
    uint32_t bid, tid;   /* variables' numbers */
    const Step *under_way;
};

/* --- before the run ----------------------------------------------------------------------------------------------------------- */
static void plan_nodes(PipeReading *x, Step *out, const IrRef *roots, uint32_t n_roots)
{
    const IrGraph *g = x->g;
    WbbArena *scratch = wbb_arena_new(x->cx);
    uint8_t *needed = WBB_NEW_N(scratch, uint8_t, g->n);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n_roots; i++) needed[roots[i]] = 1;
    for (IrRef r = g->n; r-- > 1;) {
        if (!needed[r]) continue;
        count++;
        const IrNode *n = ir_at(g, r);
        if (n->op == OP_INSTR) wbb_fail(x->cx, (WbbLoc){0}, "@%s: a selected instr has no meaning of its own to compare with", x->r.k->name);
        const uint32_t operands = n->op == OP_SUM ? n->a[1] : 3;
        for (uint32_t k = 0; k < operands; k++) needed[n->op == OP_SUM ? g->terms[n->a[0] + k].ref : n->a[k]] = 1;
    }
    out->nodes = WBB_NEW_N(x->arena, IrRef, count + 1);
    for (IrRef r = 1; r < g->n; r++)
        if (needed[r]) out->nodes[out->n_nodes++] = r;
    wbb_arena_free(scratch);
}

static Step *plan_block(PipeReading *x, const IrBlock *b)
{
    Step *steps = WBB_NEW_N(x->arena, Step, b->n + 1);
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        steps[i].s = s;
        const IrRef store[2] = {s->index, s->value}, definition = s->kind == IR_BIND ? x->g->vars[s->var].definition : 0;
        if (s->kind == IR_STORE) plan_nodes(x, &steps[i], store, 2);
        if (s->kind == IR_IF) plan_nodes(x, &steps[i], &s->condition, 1);
        if (s->kind == IR_BIND) plan_nodes(x, &steps[i], &definition, 1);
        if (s->kind != IR_IF && s->kind != IR_FOR) continue;
        steps[i].n_body = s->body.n;
        steps[i].body = plan_block(x, &s->body);
        steps[i].n_otherwise = s->otherwise.n;
        steps[i].otherwise = plan_block(x, &s->otherwise);
    }
    return steps;
}

/* --- one operation on one lane -------------------------------------------------------------------------------------------------- */
static PipeMeaning exactly(uint64_t bits, bool moved) { return (PipeMeaning){.known = PIPE_EXACT, .moved = moved, .bits = bits}; }

static bool promises_nothing(const IrNode *n, ScType type, ScType from, const uint64_t *v)
{
    switch ((ScOp)n->op) {
    case OP_QUOT:
    case OP_LEFT: return v[1] == 0 || (sc_is_signed(type) && v[1] == sc_mask(type));
    case OP_SHLX:
    case OP_SHRLX:
    case OP_SHRAX: return v[1] >= sc_type_info[type].bits;
    case OP_CVT: return (n->flags & SC_FLAG_APPROX) && sc_is_float(from) && !sc_is_float(type) && isnan(sc_to_f64(from, v[0]));
    default: return false;
    }
}

/* The exact value is known to double's accuracy: more than enough beside the error of an instruction. Half a unit more is for the
 * rounding of a result. */
static bool within_err(const PipeErr *err, ScOp op, ScType type, const uint64_t *v, uint32_t n_operands, EvBound *b)
{
    if ((err->relative == 0 && err->ulp == 0) || type == SC_F64) return false;
    uint64_t wide[3] = {0}, y;
    for (uint32_t i = 0; i < n_operands; i++) wide[i] = sc_from_f64(SC_F64, sc_to_f64(type, v[i]));
    if (!sc_eval(op, SC_F64, SC_F64, wide, &y)) return false;
    const double exact = sc_to_f64(SC_F64, y), size = op == OP_SIN || op == OP_COS || op == OP_LOG2 ? fmax(fabs(exact), 1) : fabs(exact);
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

static void evaluate(PipeReading *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const ScType type = IR_SC(n->type);
    const uint32_t lanes = IR_LANES(n->type);
    PipeMeaning *out = lanes_of(x, r);
    const PipeMeaning *a = n->op == OP_SUM ? NULL : lanes_of(x, n->a[0]), *b = n->op == OP_SUM ? NULL : lanes_of(x, n->a[1]);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        switch ((ScOp)n->op) {
        case OP_ARG: break;
        case OP_CONST: out[lane] = exactly(n->imm, true); break;
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
static void run_steps(PipeReading *x, const Step *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const Step *step = &steps[i];
        const IrStmt *s = step->s;
        for (uint32_t k = 0; k < step->n_nodes; k++) evaluate(x, step->nodes[k]);
        switch (s->kind) {
        case IR_BIND: x->vars[s->var] = (int64_t)lanes_of(x, x->g->vars[s->var].definition)->bits; break;
        case IR_IF: /* of a condition that is not known, nothing is */
            if (lanes_of(x, s->condition)->known != PIPE_EXACT) break;
            if (lanes_of(x, s->condition)->bits) run_steps(x, step->body, step->n_body);
            else run_steps(x, step->otherwise, step->n_otherwise);
            break;
        case IR_FOR:
            for (int64_t v = x->g->vars[s->var].lo; v <= x->g->vars[s->var].hi; v++) {
                x->vars[s->var] = v;
                run_steps(x, step->body, step->n_body);
            }
            break;
        case IR_STORE: {
            x->under_way = step;
            const uint32_t lanes = IR_LANES(ir_at(x->g, s->value)->type);
            for (uint32_t lane = 0; lane < lanes; lane++)
                x->r.store(x->r.arg, s->buffer, (int64_t)lanes_of(x, s->index)->bits + lane, lane, &lanes_of(x, s->value)[lane]);
            break;
        }
        }
    }
}

PipeReading *pipe_reading(WbbCx *cx, WbbArena *a, const PipeReference *r)
{
    PipeReading *x = WBB_NEW(a, PipeReading);
    *x = (PipeReading){.cx = cx, .arena = a, .r = *r, .g = r->k->g};
    x->slot = WBB_NEW_N(a, uint32_t, x->g->n + 1);
    uint32_t room = 1;
    for (IrRef i = 1; i < x->g->n; i++) {
        x->slot[i] = room;
        room += IR_LANES(ir_at(x->g, i)->type);
    }
    x->values = WBB_NEW_N(a, PipeMeaning, room);
    x->vars = WBB_NEW_N(a, int64_t, x->g->n_vars + 1);
    x->n_steps = r->k->body.n;
    x->steps = plan_block(x, &r->k->body);
    return x;
}

void pipe_read_block(PipeReading *x, uint64_t block)
{
    for (uint32_t t = 0; t < x->r.k->block; t++) {
        for (uint32_t v = 0; v < x->g->n_vars; v++) {
            if (x->g->vars[v].kind == IR_BID) x->vars[v] = (int64_t)block;
            if (x->g->vars[v].kind == IR_TID) x->vars[v] = t;
        }
        run_steps(x, x->steps, x->n_steps);
    }
}

uint32_t pipe_read_loads(const PipeReading *x, uint32_t lane, uint32_t room, uint32_t *buffer, int64_t *element)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->under_way->n_nodes && n < room; i++) {
        const IrNode *node = ir_at(x->g, x->under_way->nodes[i]);
        if (node->op != OP_LOAD) continue;
        buffer[n] = (uint32_t)ir_at(x->g, node->a[0])->imm;
        element[n] = (int64_t)lanes_of(x, node->a[1])->bits + WBB_MIN(lane, IR_LANES(node->type) - 1);
        n++;
    }
    return n;
}

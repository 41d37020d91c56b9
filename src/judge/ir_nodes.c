/* ir_nodes.c: the value that each node of an IR kernel must have, operation by operation.
 *
 * Needs the values of the operands; leaves those of the result, lane by lane. The result of a correctly rounded
 * operation is exact, by the scalar functions. The result of a function with an error budget is an interval, and so is
 * every result computed from intervals, by the bounds of eval/. An unspecified result (divx by 0 or -1, shlx by the
 * width or more, cvt.i64.f32.approx of nan; contract, which may round once or twice) is any value.
 *
 *     tanh.f32(load %in[t])    %in[t] = 1:  0.76159406 .. 0.76159436, 3 ulp each way
 */
#include "judge/ir_nodes.h"

#include "eval/bounds.h"

#include <math.h>
#include <string.h>

/* --- one operation on one lane ------------------------------------------------------------------------------------ */
JudgeExpected judge_exactly(uint64_t bits, bool moved)
{
    return (JudgeExpected){.known = JUDGE_EXACT, .moved = moved, .bits = bits};
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
static bool bound_of_err(const JudgeErr *err, ScOp op, ScType type, const uint64_t *v, uint32_t n_operands, EvBound *b)
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

static bool is_nan(ScType t, uint64_t bits) { return sc_is_float(t) && isnan(sc_to_f64(t, bits)); }

/* The result of an operation; `from`: type of its first operand. */
JudgeExpected judge_operate(const JudgeInterpreter *x, const IrNode *n, ScType type, ScType from,
                            const JudgeExpected *m, uint32_t n_operands)
{
    const ScOp op = (ScOp)n->op;
    const ScSignature signature = (ScSignature)sc_op_info[op].signature;
    const ScType named = signature == SC_COMPARE || signature == SC_TEST ? from : type;
    const ScAccuracy accuracy = n->flags & SC_FLAG_APPROX ? SC_APPROX : SC_EXACT;
    const ScBudget budget = sc_budget(op, named, accuracy);
    bool exact = true, moved = true;
    uint64_t v[3] = {0}, bits;
    if (n->flags & (SC_FLAG_CONTRACT | SC_FLAG_NSZ)) return judge_any_value;
    for (uint32_t i = 0; i < n_operands; i++) {
        if (m[i].known == JUDGE_ANY) return judge_any_value;
        exact = exact && m[i].known == JUDGE_EXACT;
        moved = moved && m[i].moved;
        v[i] = m[i].bits;
    }
    if (op == OP_SELECT && m[0].known == JUDGE_EXACT) return m[m[0].bits ? 1 : 2];
    if (exact && is_unspecified(n, type, from, v)) return judge_any_value;
    const bool once = exact && budget.ulp == 0 && budget.absolute == 0 && sc_eval(op, named, from, v, &bits);
    if (n->flags & SC_FLAG_NNAN) { /* promised of operands and result, which may be anything where one is a nan */
        bool nan = !once || is_nan(type, bits);
        for (uint32_t i = 0; i < n_operands; i++)
            nan = nan || is_nan(signature == SC_SELECT ? (i ? type : SC_PRED) : from, v[i]);
        if (nan) return judge_any_value;
    }
    if (once) return judge_exactly(bits, moved && op == OP_BITS);
    JudgeExpected r = {.known = JUDGE_BOUND};
    if (exact && bound_of_err(&x->r.err, op, named, v, n_operands, &r.bound)) return r;
    EvBound b[3];
    for (uint32_t i = 0; i < n_operands; i++) {
        const ScType t = signature == SC_SELECT ? (i ? type : SC_PRED) : from;
        b[i] = m[i].known == JUDGE_EXACT ? ev_bound_exact(t, m[i].bits) : m[i].bound;
    }
    if (op == OP_BITS) return judge_any_value;
    r.bound = ev_bound_op(op, named, from, b, accuracy);
    return r;
}

/* --- one node, all lanes ------------------------------------------------------------------------------------------ */
static uint64_t sum_of(const JudgeInterpreter *x, const IrNode *n)
{
    uint64_t v = n->imm;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = x->g->terms[n->a[0] + i];
        v += (uint64_t)t.coefficient * judge_lanes_of(x, t.ref)->bits;
    }
    return v;
}

static JudgeExpected load(const JudgeInterpreter *x, const IrNode *n, uint32_t lane)
{
    const uint32_t number = (uint32_t)ir_at(x->g, n->a[0])->imm;
    const IrBuffer *b = &x->r.k->buffers[number];
    const int64_t at = (int64_t)judge_lanes_of(x, n->a[1])->bits + lane;
    if (ir_is_changed(b) || at < 0 || at >= b->elements) return judge_any_value;
    const uint32_t bytes = sc_bytes(b->type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x->r.memory[number] + (size_t)at * bytes, bytes);
    return judge_exactly(bits & sc_mask(b->type), true);
}

/* The nodes of a function's body keep one set of values: functions do not call themselves. */
static JudgeExpected call(JudgeInterpreter *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrFunction *f = x->r.k->functions[IR_CALLEE(n->imm)];
    for (uint32_t i = 0; i < f->n_params; i++)
        x->vars[f->params[i]] = (int64_t)judge_lanes_of(x, ir_operand(x->g, r, i))->bits;
    x->run_function(x, &x->functions[IR_CALLEE(n->imm)]);
    return *judge_lanes_of(x, f->yields[IR_WHICH(n->imm)]);
}

void judge_node(JudgeInterpreter *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const ScType type = IR_SC(n->type);
    const uint32_t lanes = IR_LANES(n->type);
    JudgeExpected *out = judge_lanes_of(x, r);
    const bool in_pool = ir_in_pool(n);
    const JudgeExpected *a = in_pool ? NULL : judge_lanes_of(x, n->a[0]);
    const JudgeExpected *b = in_pool ? NULL : judge_lanes_of(x, n->a[1]);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        switch ((ScOp)n->op) {
        case OP_ARG: break;
        case OP_CONST: out[lane] = judge_exactly(n->imm, true); break;
        case OP_VALUE: out[lane] = x->results[x->first_lane[n->imm] + lane]; break;
        case OP_CALL: out[lane] = call(x, r); break;
        case OP_VAR: out[lane] = judge_exactly((uint64_t)x->vars[n->imm], false); break;
        case OP_SUM: out[lane] = judge_exactly(sum_of(x, n), false); break;
        case OP_LOAD: out[lane] = load(x, n, lane); break;
        case OP_IDX: out[lane] = judge_exactly(sc_from_i128(type, (int64_t)a->bits), false); break;
        case OP_PACK: out[lane] = lane < lanes / 2 ? a[lane] : b[lane - lanes / 2]; break;
        case OP_PART: out[lane] = a[n->imm + lane]; break;
        case OP_SPLAT: out[lane] = a[0]; break;
        default: {
            IrRef operands[3];
            JudgeExpected m[3];
            const uint32_t count = ir_operands(x->g, r, operands);
            for (uint32_t i = 0; i < count; i++) m[i] = judge_lanes_of(x, operands[i])[lane];
            out[lane] = judge_operate(x, n, type, count ? IR_SC(ir_at(x->g, operands[0])->type) : type, m, count);
        }
        }
    }
}

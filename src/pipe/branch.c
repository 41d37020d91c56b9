/* branch.c: decides by price whether selects that are marked `rare` become branches.
 *
 * Needs a kernel before the pass `branch`: a function may have a quick way, right but for odd values, and a long one,
 * right for all: a quotient in f32 and in f64, a sine of arguments below 2^17 and of any. Leaves the limits of
 * vec_rare. Both ways are as exact as the function must be, so only time decides: with p the clocks of each pipe and of
 * issue for one thread, the time of a kernel grows with (sum of p^4)^(1/4), as a profile computes it; loads and stores
 * are the same in both. A branch costs latency besides, so kernels with few warps have none.
 *
 *     y = x / scale, to f8:  quick issue 7.0, alu 9.0, xu 1.0;  long issue 5.0, alu 2.0, xu 16.0   =>   quick
 */
#include "ir/uses.h"
#include "pipe/pipe.h"

#include <math.h>
#include <string.h>

enum { ISSUE = TG_PIPES };

typedef struct {
    const IrGraph *g;
    const TgTarget *target;
    WbbArena *arena;
    double *vars, *values; /* by number: how often what binds it runs in a thread */
    double *times;         /* by ref: how often the node is evaluated */
    uint8_t *need;         /* by ref: bit 0 of the quick way, bit 1 of the long one */
} Ways;

static bool is_rare(const IrNode *n) { return n->op == OP_SELECT && (n->flags & SC_FLAG_RARE) != 0; }

/* --- the price of a node ------------------------------------------------------------------------------------------ */
static const char *suffix(ScType t)
{
    switch (t) {
    case SC_F64: return "f64";
    case SC_F16: return "f16";
    case SC_BF16: return "bf16";
    default: return "f32";
    }
}

/* The form in PTX of an operation on floats that the machine has; NULL: none, or it is free. `packed`: of two lanes. */
static const char *float_form(WbbArena *a, const IrNode *n, ScType t, bool packed)
{
    const char *lanes = packed ? "x2" : "";
    switch ((ScOp)n->op) {
    case OP_ADD: case OP_SUB: return wbb_format(a, "add.rn.%s%s", suffix(t), lanes);
    case OP_MUL: return wbb_format(a, "mul.rn.%s%s", suffix(t), lanes);
    case OP_FMA: return wbb_format(a, "fma.rn.%s%s", suffix(t), lanes);
    case OP_MIN: case OP_MAX: return t == SC_F64 ? "min.f64" : "min.f32";
    case OP_RCPZ: return wbb_format(a, "rcp.approx.ftz.%s", suffix(t));
    case OP_RSQRTZ: return wbb_format(a, "rsqrt.approx.ftz.%s", suffix(t));
    case OP_EXP2Z: case OP_EXP2: return "ex2.approx.ftz.f32";
    case OP_LOG2Z: case OP_LOG2: return "lg2.approx.ftz.f32";
    case OP_RSQRT: return "rsqrt.approx.f32";
    case OP_TANH: return "tanh.approx.f32";
    case OP_NEG: case OP_ABS: return NULL;
    default: return "setp.ge.f32";
    }
}

static const char *convert_form(WbbArena *a, ScType to, ScType from)
{
    const bool halves = to == SC_F16 || to == SC_BF16;
    if (to == SC_F64 && sc_is_float(from)) return "cvt.f64.f32";
    if (from == SC_F64 && sc_is_float(to)) return "cvt.rn.f32.f64";
    if (from == SC_BF16) return "shl.b32 imm";
    if (from == SC_F16) return "cvt.f32.f16";
    if (halves && sc_is_float(from)) return wbb_format(a, "cvt.rn.%sx2.f32", suffix(to));
    if (sc_is_float(from) && sc_is_float(to)) return "cvt.rn.satfinite.e4m3x2.f32";
    if (sc_is_float(to)) return to == SC_F64 ? "cvt.rn.f64.s32" : "cvt.rn.f32.s32";
    if (sc_is_float(from)) return from == SC_F64 ? "cvt.rzi.s32.f64" : "cvt.rzi.s32.f32";
    return "and.b32";
}

static bool is_logic(const IrNode *n) { return n->op == OP_BAND || n->op == OP_BOR || n->op == OP_BXOR; }

/* The machine combines three operands by logic, and compares the result with 0, in one instruction; conditions are
 * combined by the comparisons that make them. */
static bool is_absorbed(const Ways *w, const IrNode *n)
{
    if (is_logic(n) && IR_SC(n->type) == SC_PRED) return true;
    if (!is_logic(n) && n->op != OP_NE && n->op != OP_EQ) return false;
    return is_logic(ir_at(w->g, n->a[0])) || is_logic(ir_at(w->g, n->a[1]));
}

static const char *form_of(const Ways *w, const IrNode *n)
{
    const ScType t = IR_SC(n->type);
    const ScType of = n->a[0] ? IR_SC(ir_at(w->g, n->a[0])->type) : t;
    if (is_absorbed(w, n)) return NULL;
    if (sc_op_info[n->op].signature == SC_FRAME || sc_op_info[n->op].signature == SC_LEAF) return NULL;
    if (n->op == OP_BITS || of == SC_INDEX || t == SC_INDEX) return NULL;
    if (n->op == OP_CVT || n->op == OP_CVTSAT) return convert_form(w->arena, t, of);
    if (n->op == OP_SELECT) return sc_bytes(t) > 4 ? "selp.b64" : "selp.b32";
    if (sc_op_info[n->op].signature == SC_COMPARE) return of == SC_F64 ? "setp.ge.f64" : "setp.ge.f32";
    if (sc_is_float(t)) return float_form(w->arena, n, t, IR_LANES(n->type) > 1);
    return sc_bytes(t) > 4 ? "and.b64" : "and.b32";
}

static void add_price(const Ways *w, IrRef r, double times, double out[TG_PIPES + 1])
{
    const IrNode *n = ir_at(w->g, r);
    const char *form = form_of(w, n);
    const TgPrice *p = form ? tg_price(w->target, form, strlen(form)) : NULL;
    if (!p) return;
    const bool two = strstr(form, "x2") != NULL; /* the form computes two lanes */
    times *= two ? (IR_LANES(n->type) + 0.0) / 2 : IR_LANES(n->type);
    for (int i = 0; i < TG_PIPES; i++) out[i] += times * (double)p->cycles[i];
    out[ISSUE] += times * (double)p->issue;
}

/* --- both ways ---------------------------------------------------------------------------------------------------- */
/* How often the statements of a block that runs `times` times bind what they bind. */
static void reach(Ways *w, const IrBlock *b, double times)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool loop = s->kind == IR_FOR;
        const double inside = loop ? times * (double)(w->g->vars[s->var].hi - w->g->vars[s->var].lo + 1) : times;
        for (IrDefs d = ir_defs(s); ir_next_def(&d);)
            (d.is_variable ? w->vars : w->values)[d.number] = d.where == IR_BODY ? inside : times;
        reach(w, &s->body, inside);
        reach(w, &s->otherwise, times);
    }
}

static IrRef root(void *arg, IrRef r)
{
    ((uint8_t *)arg)[r] = 3;
    return r;
}

/* Marks what each way needs, users first. */
static void mark(Ways *w, const IrKernel *k)
{
    IrKernel same = *k; /* root maps each ref to itself */
    ir_map_statements(&same, root, w->need);
    for (IrRef r = w->g->n - 1; r > 0; r--) {
        const IrNode *n = ir_at(w->g, r);
        const uint8_t by = w->need[r];
        if (is_rare(n)) {
            w->need[n->a[0]] |= by & 1;
            w->need[vec_long_way(w->g, r)] |= by & 2;
            w->need[n->a[2]] |= by & 1;
            continue;
        }
        for (uint32_t i = 0; by && i < ir_arity(w->g, r); i++) w->need[ir_operand(w->g, r, i)] |= by;
    }
}

static double evaluated(const Ways *w, IrRef r)
{
    const IrNode *n = ir_at(w->g, r);
    double times = 1;
    if (n->op == OP_VAR) times = WBB_MAX(w->vars[n->imm], 1);
    if (n->op == OP_VALUE) times = WBB_MAX(w->values[n->imm], 1);
    for (uint32_t i = 0; i < ir_arity(w->g, r); i++) times = WBB_MAX(times, w->times[ir_operand(w->g, r, i)]);
    return times;
}

static double busy(const double of[TG_PIPES + 1])
{
    double sum = 0;
    for (int i = 0; i <= ISSUE; i++) sum += of[i] * of[i] * of[i] * of[i];
    return sum;
}

/* How many values must share a branch so that its latency is less than what they save on the warps of a scheduler. */
static VecBranches limits_of(const IrKernel *k, const TgTarget *t, const PipeBranch *b)
{
    const double warps = (double)k->grid * k->block / t->warp / (4.0 * t->sms);
    const double saved = warps * (sqrt(sqrt(busy(b->lengthy))) - sqrt(sqrt(busy(b->quick)))) / b->values;
    const double needed = (double)tg_tune(t, "branch.costs", 0)->value / WBB_MAX(saved, 1e-6);
    return (VecBranches){.least = (uint32_t)WBB_MIN(needed + 1, 1e6),
                         .most = (uint32_t)tg_tune(t, "branch.most", 0)->value};
}

PipeBranch pipe_branch(WbbCx *cx, const IrKernel *k, const TgTarget *t)
{
    PipeBranch b = {0};
    Ways w = {.g = k->g, .target = t, .arena = wbb_arena_new(cx)};
    w.vars = WBB_NEW_N(w.arena, double, k->g->n_vars + 1);
    w.values = WBB_NEW_N(w.arena, double, k->g->n_values + 1);
    w.times = WBB_NEW_N(w.arena, double, k->g->n);
    w.need = WBB_NEW_N(w.arena, uint8_t, k->g->n);
    for (uint32_t f = 0; f < k->n_functions; f++) reach(&w, &k->functions[f]->body, 1);
    reach(&w, &k->body, 1);
    mark(&w, k);
    for (IrRef r = 1; r < k->g->n; r++) {
        if (!w.need[r]) continue;
        w.times[r] = evaluated(&w, r);
        b.values += is_rare(ir_at(k->g, r));
        if (is_rare(ir_at(k->g, r))) continue;
        if (w.need[r] & 1) add_price(&w, r, w.times[r], b.quick);
        if (w.need[r] & 2) add_price(&w, r, w.times[r], b.lengthy);
    }
    const bool shorter = b.values && busy(b.quick) < busy(b.lengthy);
    if (shorter) b.limits = limits_of(k, t, &b);
    b.few = shorter && b.limits.least > b.limits.most;
    b.branches = shorter && !b.few;
    if (!b.branches) b.limits.least = UINT32_MAX;
    wbb_arena_free(w.arena);
    return b;
}

static void put_way(WbbBuf *out, const double of[TG_PIPES + 1])
{
    wbb_putf(out, "issue %.3g", of[ISSUE]);
    for (int i = 0; i < TG_PIPES; i++)
        if (of[i] >= 1) wbb_putf(out, ", %s %.3g", tg_pipe_name[i], of[i]);
}

void pipe_explain_branch(WbbBuf *out, const PipeBranch *b)
{
    if (!b->values) return;
    wbb_putf(out, "values with a quick way: %u, %s\n  clocks of a warp: by the quick way ", b->values,
             b->branches ? "which they take, with a branch for odd ones" : "which they do not take: no branch");
    put_way(out, b->quick);
    wbb_put(out, "; by the long one ");
    put_way(out, b->lengthy);
    wbb_put(out, b->few ? "; with so few warps the latency of a branch is longer\n" : "\n");
}

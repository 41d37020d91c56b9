/* perturb: an evaluation in which random numbers decide everything that HLO leaves open.
 *
 * Needs: an evaluation in EV_PLAIN whose `noise` is set. Leaves: results of functions moved within their budgets, those
 * of complex functions within theirs, and random orders for sums. Every result is one that some correct kernel may
 * give, so it must lie in the bounds: soundness.c checks them with the evaluator's own code.
 *
 *     bf16 tanh(1) = 0.7617: budget 1: 0.7578, 0.7617 or 0.7656
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

uint64_t ev_random(Ev *e)
{
    return wbb_mix(*e->noise += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
}

/* A number in [-1, 1], more often than not an end, where wrong bounds fail first. */
static double unit(Ev *e)
{
    uint64_t r = ev_random(e);
    if (r & 1) return r & 2 ? 1 : -1;
    return (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
}

/* A value of the type at most `miss` from the exact y; y rounded where the random choice finds none. */
static double moved(Ev *e, ScType t, double y, double miss)
{
    double v = sc_to_f64(t, sc_from_f64(t, y + unit(e) * miss));
    if (fabs(v - y) > miss) v = ev_step(t, v, v < y);
    return fabs(v - y) <= miss ? v : sc_to_f64(t, sc_from_f64(t, y));
}

static bool nowhere_negative(ScOp op)
{
    return op == OP_EXP || op == OP_EXP2 || op == OP_LOGISTIC || op == OP_COSH || op == OP_ACOSH;
}

void ev_perturb(Ev *e, ScOp op, ScType t, int64_t n, void *const *x, void *r)
{
    ScBudget budget = sc_budget(op, t, e->accuracy);
    if ((budget.ulp == 0 && budget.absolute == 0) || sc_op_info[op].arity > 2) return;
    for (int64_t k = 0; k < n; k++) {
        uint64_t wide[2] = {0}, y_bits = 0;
        for (unsigned p = 0; p < sc_op_info[op].arity; p++)
            wide[p] = sc_from_f64(SC_F64, sc_to_f64(t, ev_get(t, x[p], k)));
        sc_eval(op, SC_F64, SC_F64, wide, &y_bits);
        double y = sc_to_f64(SC_F64, y_bits), exact = sc_to_f64(t, ev_get(t, r, k));
        if (!isfinite(y) || !isfinite(exact) || (y == 0 && budget.absolute == 0)) continue;
        double v = moved(e, t, y, budget.ulp * ev_ulp(t, y) + budget.absolute);
        if ((nowhere_negative(op) || (op == OP_POW && y > 0)) && v <= 0) v = 0; /* nor -0 */
        if (!isnan(v)) ev_set(t, r, k, sc_from_f64(t, v));
    }
}

/* The parts of a product by the formula; each of the inner products is rounded or not. */
static void formula(Ev *e, ScType p, const double (*x)[2], double *r)
{
    for (unsigned part = 0; part < 2; part++) {
        double a = x[0][0] * x[1][part], b = x[0][1] * x[1][1 - part];
        uint64_t chance = ev_random(e);
        if (chance & 1) a = sc_to_f64(p, sc_from_f64(p, a));
        if (chance & 2) b = sc_to_f64(p, sc_from_f64(p, b));
        r[part] = part == 0 ? a - b : a + b;
    }
}

void ev_perturb_complex(Ev *e, const HloInstruction *i, const double (*x)[2], double *r)
{
    ScType t = i->operands[0]->shape->type, p = ev_part_type(t);
    if (i->opcode == HLO_MULTIPLY && p == SC_F32) formula(e, p, x, r);
    ScBudget budget = sc_budget(hlo_scalar(i->opcode), t, e->accuracy);
    double larger = fmax(fabs(r[0]), fabs(r[1])), units = budget.ulp + ev_complex_units(i, x);
    if (budget.ulp == 0 || !isfinite(larger) || larger == 0) return;
    for (unsigned part = 0; part < (sc_type_info[i->shape->type].cls == 'C' ? 2 : 1); part++) {
        r[part] = moved(e, p, r[part], units * ev_ulp(p, larger));
        if (i->opcode == HLO_ABS) r[part] = fabs(r[part]);
    }
}

void ev_shuffle(Ev *e, int64_t *list, int64_t n)
{
    for (int64_t k = n - 1; k > 0; k--) {
        int64_t other = (int64_t)(ev_random(e) % (uint64_t)(k + 1)), kept = list[k];
        list[k] = list[other];
        list[other] = kept;
    }
}

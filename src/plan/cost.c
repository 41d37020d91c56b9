/* cost.c: how many elements one thread takes for one element of an instruction.
 *
 * Needs a verified computation; leaves a number for each instruction. Nested loops multiply; of loops beside each other
 * the longest counts.
 *
 *     reduce(f32[128,64], dimensions={1})   =>   64;   of a reduce-window of 3 elements below it   =>   192
 */
#include "plan/plan.h"

static int64_t times(int64_t x, int64_t y)
{
    const WbbI128 z = (WbbI128)x * y;
    return z > INT64_MAX ? INT64_MAX : (int64_t)z;
}

static int64_t plus(int64_t x, int64_t y) { return WBB_MIN(x, INT64_MAX - y) + y; }

/* Without its operands. of_computation: trips of the root of each called computation. */
static int64_t single_trips(WbbArena *a, const HloInstruction *i, const int64_t *of_computation)
{
    int64_t n = (int64_t)WBB_MIN(WBB_MAX(hlo_terms(a, i), 1), (double)(INT64_C(1) << 62));
    int64_t called = 1;
    for (uint32_t k = 0; k < i->n_called; k++) called = WBB_MAX(called, of_computation[i->called[k]->id]);
    return WBB_MAX(times(times(n, hlo_repeats(i)), called), 1); /* not known how often: as if it ran once */
}

/* Trips of the root; of all instructions in `trips`, if that is not NULL. */
static int64_t of_body(WbbArena *a, const HloComputation *c, const int64_t *of_computation, int64_t *trips)
{
    if (!trips) trips = WBB_NEW_N(a, int64_t, c->n_instructions + 1);
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        int64_t most = 1;
        for (uint32_t k = 0; k < i->n_operands; k++) most = WBB_MAX(most, trips[i->operands[k]->id]);
        trips[n] = times(most, single_trips(a, i, of_computation));
    }
    return trips[c->root->id];
}

const int64_t *plan_trips(WbbArena *a, const HloComputation *body)
{
    const HloModule *m = body->module;
    int64_t *of_computation = WBB_NEW_N(a, int64_t, m->n_computations + 1);
    int64_t *trips = WBB_NEW_N(a, int64_t, body->n_instructions + 1);
    /* callees first */
    for (uint32_t k = 0; k < body->id; k++) of_computation[k] = of_body(a, m->computations[k], of_computation, NULL);
    of_body(a, body, of_computation, trips);
    return trips;
}

/* The type that a function of another one is computed in. */
static ScType type_of_parts(ScType t)
{
    if (t == SC_C64 || t == SC_C128) return t == SC_C64 ? SC_F32 : SC_F64;
    return sc_is_float(t) && sc_type_info[t].bits < 32 ? SC_F32 : t;
}

int64_t plan_function_work(const TgTarget *t, const HloInstruction *i)
{
    const ScOp op = hlo_function(i);
    if (!op) return 0;
    int64_t slots = tg_function_slots(t, op, plan_shape(i, 0)->type);
    if (!slots) slots = tg_function_slots(t, op, type_of_parts(plan_shape(i, 0)->type));
    return slots ? slots : tg_tuned(t, "work.function");
}

/* A quotient or remainder of integers by a constant: products and shifts. */
static bool is_by_constant(const HloInstruction *i)
{
    if (i->opcode != HLO_DIVIDE && i->opcode != HLO_REMAINDER) return false;
    const char cls = sc_type_info[i->shape->type].cls;
    const HloInstruction *by = hlo_source(i->operands[1]);
    while (by->opcode == HLO_CONVERT) by = hlo_source(by->operands[0]);
    return by->opcode == HLO_CONSTANT && cls != 'F' && cls != 'C';
}

PlanCost plan_cost_of(const TgTarget *t, const HloInstruction *i)
{
    if (is_by_constant(i)) return (PlanCost){(double)tg_tuned(t, "work.by_constant"), 0};
    const double function = (double)plan_function_work(t, i);
    /* no instruction: tests for nan and zeros, and selects of both words */
    if (hlo_orders(i->opcode) && i->shape->type == SC_F64) return (PlanCost){(double)tg_tuned(t, "work.function"), 0};
    if (function > 0) return (PlanCost){function, (double)tg_tuned(t, "layout.special")};
    if (hlo_is_move(i->opcode)) return (PlanCost){0, 0};
    const HloKind kind = hlo_kind(i->opcode);
    const bool there = kind == HLO_IS_GROUP || (kind == HLO_IS_LEAF && i->opcode != HLO_IOTA);
    return (PlanCost){there ? 0 : 1, 0};
}

double plan_called_slots(WbbArena *a, const HloInstruction *i, const TgTarget *t)
{
    const HloModule *m = i->called[0]->module;
    double *of = WBB_NEW_N(a, double, m->n_computations + 1);
    for (uint32_t k = 0; k < m->n_computations; k++) { /* callees first */
        const HloComputation *c = m->computations[k];
        for (uint32_t n = 0; n < c->n_instructions; n++) {
            const HloInstruction *x = c->instructions[n];
            double own = plan_cost_of(t, x).slots, called = 0;
            for (uint32_t j = 0; j < x->n_called; j++) called += of[x->called[j]->id];
            called *= (double)hlo_repeats(x);
            if (hlo_terms(a, x) > 0 && x->n_called) called = 0, own *= hlo_terms(a, x);
            of[c->id] += own + called;
        }
    }
    double sum = 0;
    for (uint32_t j = 0; j < i->n_called; j++) sum += of[i->called[j]->id];
    return sum;
}

const int64_t *plan_element_work(WbbArena *a, const HloComputation *body, const TgTarget *t)
{
    int64_t *work = WBB_NEW_N(a, int64_t, body->n_instructions + 1);
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        const int64_t own = (int64_t)plan_cost_of(t, i).slots;
        int64_t sum = 0;
        for (uint32_t k = 0; k < i->n_operands; k++) sum = plus(sum, work[i->operands[k]->id]);
        const bool passes = hlo_is_elementwise(i->opcode) || hlo_is_move(i->opcode) || !i->n_operands;
        const bool window = hlo_kind(i->opcode) == HLO_IS_FOLD && i->windows && i->n_called;
        for (uint32_t k = 0; window && k < i->n_windows; k++) sum = times(plus(sum, 1), i->windows[k].size);
        if (!passes && !window) sum = INT64_MAX;
        work[n] = plus(sum, own);
    }
    return work;
}

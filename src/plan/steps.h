/* steps.h: loops of the text that keep a result of each iteration, as jax.lax.scan makes them. Such a result is a leaf
 * of the state of which each iteration replaces one position, and which nothing else in the loop reads.
 *
 *     while((i, c f32[8], ys f32[100,8])), body: y = f(c, i), tuple(i + 1, y, dynamic-update-slice(ys, y, i, 0))
 *         =>   leaf 2 is stacked: iteration k leaves position k of dimension 0; the space of a step is f32[8]
 */
#ifndef PLAN_STEPS_H
#define PLAN_STEPS_H

#include "plan/plan.h"

/* Iteration k puts its result at position first + step * k of dimension `dim`. */
typedef struct {
    const HloInstruction *update; /* the dynamic-update-slice; NULL: the leaf is not stacked */
    uint32_t dim;
    int64_t first, step;
} PlanStack;

typedef struct PlanSteps {
    const HloInstruction *loop;
    int64_t trips;
    PlanStack *stacks;     /* [leaves of the loop] */
    const HloShape *space; /* of the result of a step, in the order of memory of the outputs */
    bool *stepped;         /* [outputs] it has an element of each step; set by plan_fit_steps, like .. */
    bool *after;           /* .. [outputs] it has an element for each of the space, and needs the loop's last state */
} PlanSteps;

/* The first loop of the fusion that stacks results, and whose iterations together are too long to be straight code;
 * NULL: there is none. */
PlanSteps *plan_find_steps(WbbArena *a, const Plan *p, const TgTarget *t);
/* May a thread of the space store elements of all outputs that need the loop step by step? beside: neighbours
 * of a step must be neighbours in the first of these outputs. */
bool plan_fit_steps(WbbArena *a, const Plan *p, PlanSteps *s, bool beside);
/* Arrays that the loop reads step by step, and that launches of their own compute in less time than its few threads
 * would, one step after the other; returns their number. */
uint32_t plan_step_operands(WbbArena *a, const Plan *p, const PlanSteps *s, const TgTarget *t,
                            const HloInstruction **found);
/* The elements of the loop's result that are used; returns their number. */
uint32_t plan_step_results(const Plan *p, const PlanSteps *s, const HloInstruction **found);
/* The index of a leaf that is stacked, from an index of the space and the number of an iteration. */
void plan_stack_index(RwCx *rw, const PlanSteps *s, uint32_t leaf, const IrRef *at, IrRef iteration, IrRef *index);
/* The same of an output that has an element of each step: seen from the leaf through elementwise operations and views.
 * False: it is no such output. */
bool plan_step_index(RwCx *rw, WbbArena *a, const Plan *p, const PlanSteps *s, uint32_t output, const IrRef *at,
                     IrRef iteration, IrRef *index);

#endif

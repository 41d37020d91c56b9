/* work.h: what the stages of a plan's ranges load, store and compute, as the work that layouts are priced by.
 *
 *     LayWork w = plan_work_of(arena, plan, range, target);
 *     LayChoice c = lay_choose_layout(arena, &w, target);       (layout/pricing.h)
 */
#ifndef PLAN_WORK_H
#define PLAN_WORK_H

#include "layout/pricing.h"
#include "plan/plan.h"

/* work.c: the work of a range whose stages share the terms of reductions. */
LayWork plan_work_of(WbbArena *a, const Plan *p, const PlanRange *r, const TgTarget *t);
/* The price of the layout that the range was given, if its threads share terms. */
void plan_price_given(WbbArena *a, const Plan *p, PlanRange *r, const TgTarget *t);
/* Clocks until threads have combined what each has of a result, in all reductions of a shared range. */
double plan_sharing_clocks(const PlanRange *r, const TgTarget *t);
/* Chooses the layout of a shared range; false: none is legal, or a computation is not associative. */
bool plan_choose_shared(WbbArena *a, Plan *p, PlanRange *r, const TgTarget *t);

/* plan_price.c: bytes of all operands and outputs, each once */
double plan_bytes(const Plan *p);
/* us and the terms of all launches of a plan */
LayPrice plan_price(WbbArena *a, const Plan *p, const TgTarget *t);
LayPrice plan_kernel_price(WbbArena *a, const Plan *p, const PlanKernel *k, const TgTarget *t); /* of p itself */
/* Does a plan of this strategy take the place of another one? shared: as of plan_to_beat. */
bool plan_takes_less(const TgTarget *t, const TgStrategy *row, const PlanRange *shared, const LayPrice *x,
                     const LayPrice *of);
/* What a plan of this strategy takes at least: its launches, and bytes, of which the plan `of` has no more than it
 * must. */
double plan_bound_us(const Plan *p, const LayPrice *of, const TgStrategy *row, const TgTarget *t);

#endif

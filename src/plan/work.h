/* work.h: what the stages of a plan's ranges load, store and compute, as the work that layouts are priced by.
 *
 *     PartWork w = part_work_of(arena, plan, range, target);
 *     PartChoice c = part_choose_layout(arena, &w, target);       (layout/pricing.h)
 */
#ifndef PART_WORK_H
#define PART_WORK_H

#include "layout/pricing.h"
#include "plan/plan.h"

/* work.c: the work of a range whose stages share the terms of reductions. */
PartWork part_work_of(WbbArena *a, const PartPlan *p, const PartRange *r, const TgTarget *t);
/* The price of the layout that the range was given, if its threads share terms. */
void part_price_given(WbbArena *a, const PartPlan *p, PartRange *r, const TgTarget *t);
/* Clocks until threads have combined what each has of a result, in all reductions of a shared range. */
double part_sharing_clocks(const PartRange *r, const TgTarget *t);
/* Chooses the layout of a shared range; false: none is legal, or a computation is not associative. */
bool part_choose_shared(WbbArena *a, PartPlan *p, PartRange *r, const TgTarget *t);

/* plan_price.c: bytes of all operands and outputs, each once */
double part_bytes(const PartPlan *p);
/* us and the terms of all launches of a plan */
PartPrice part_plan_price(WbbArena *a, const PartPlan *p, const TgTarget *t);
PartPrice part_kernel_price(WbbArena *a, const PartPlan *p, const PartKernel *k, const TgTarget *t); /* of p itself */
/* Does a plan of this strategy take the place of another one? shared: as of part_to_beat. */
bool part_takes_less(const TgTarget *t, const TgStrategy *row, const PartRange *shared, const PartPrice *x,
                     const PartPrice *of);
/* What a plan of this strategy takes at least: its launches, and bytes, of which the plan `of` has no more than it
 * must. */
double part_bound_us(const PartPlan *p, const PartPrice *of, const TgStrategy *row, const TgTarget *t);

#endif

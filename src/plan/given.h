/* given.h: plans as text that a compile follows: the strategy of a fusion and of each of its parts, and layouts.
 *
 *     choices                               what `--emit plan` prints last, and `--plan FILE` takes
 *       text pieces                         strategies that write the text anew, in their order
 *       strategy reductions                 of the fusion; its parts are indented below it, the first part first
 *         strategy share
 *           layout columns: vector 4, ..    of a kernel that takes one; without it one is chosen
 *         strategy loop
 */
#ifndef PLAN_GIVEN_H
#define PLAN_GIVEN_H

#include "plan/plan.h"

typedef struct PlanGiven {
    const TgStrategy *row;
    WbbLoc at;
    const char *layout; /* NULL: it is chosen */
    WbbLoc layout_at;
    const struct PlanGiven *parts[2];
    uint32_t n_parts;
} PlanGiven;

typedef struct {
    const TgStrategy *row;
    int64_t number; /* of blocks of an SM that sums over rows are made for; 0: none is stated */
    WbbLoc at;
} PlanGivenText;

typedef struct {
    const PlanGivenText *texts; /* [n_texts] */
    uint32_t n_texts;
    const PlanGiven *plan;
} PlanGivenPlan;

/* given.c: reads a file; fails at what it does not know. */
const PlanGivenPlan *plan_read_given(WbbCx *cx, WbbArena *a, const TgTarget *t, const WbbSource *from);
/* best_text.c: the plan of a normalised module of one fusion that takes least; its fusion is of the best text. */
typedef struct {
    Plan plan;
    const PlanOutcome *tried; /* [n_tried] the text as it is written, and strategies that write it anew */
    uint32_t n_tried;
} PlanOfText;
/* given: the choices that are followed, or that fail at their place; NULL: those by price. rules: those that it has
 * disabled make no plan, and it counts the options of the one that is taken; NULL: none is. */
PlanOfText plan_texts(WbbCx *cx, WbbArena *a, const HloModule *m, const TgTarget *t, const PlanOptions *options,
                      const PlanGivenPlan *given, RwCx *rules);

/* The choices of a plan, below the line 'choices'. */
void plan_print_given(WbbBuf *out, const Plan *p, const PlanOutcome *texts, uint32_t n, int indent);

#endif

/* strategies.h: the ways in which a fusion may become kernels: a row of patterns/strategies.py each, and a function
 * here that makes the plan or says why it cannot.
 *
 *     share     make_kernels.c plan_make_share     threads share the terms of all reductions
 *     rows      make_cuts.c    plan_make_rows      a rival of that: launches of few long rows
 *
 * A maker takes what is known of the fusion and leaves a plan. It knows of no other maker: what several ask is a fact
 * of PlanTry, found when it is first asked for.
 */
#ifndef PLAN_STRATEGIES_H
#define PLAN_STRATEGIES_H

#include "plan/work.h"
#include "plan/steps.h"

/* The reductions whose terms threads share, as plan_shared finds them. */
typedef struct {
    bool known;
    uint32_t n; /* kernels; 0: there are none */
    PlanRange **ranges;
    bool *others;  /* [outputs] that need none */
    bool *reduced; /* Plan.reduced */
} PlanSharing;

typedef struct PlanTry {
    WbbCx *cx;
    WbbArena *a;
    const TgTarget *t;
    const PlanOptions *options;
    /* plan_fusion: of the parts of a fusion that is cut */
    Plan (*plan)(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PlanOptions options);
    const Plan *base; /* of the fusion, with roots, buffers and limits, without kernels */
    const TgStrategy *row; /* that is tried */
    const struct PlanGiven *given; /* that is followed; NULL: one is chosen */
    const Plan *found; /* of a rival: the plan whose place it may take */
    const PlanRange *shared; /* .. whose one kernel has this range; NULL: it is another plan, or its layout was given */
    const char *why_not;   /* of a maker that made nothing */
    /* facts, by the functions below */
    bool knows_order, knows_steps, scatters, alone;
    const HloInstruction *hero; /* the sort or scan that a kernel is for; NULL: there is none */
    PlanRange *scanned; /* a kernel of it and nothing else; NULL: there is none */
    bool *scanned_reduced;
    PlanSteps *steps; /* the loop that stores its steps; NULL: there is none */
    PlanSharing sharing[2]; /* all reductions; alone */
    const HloInstruction **updates; /* in place; NULL: nobody has asked */
    const PlanBuffer *placed;       /* the buffers with these */
} PlanTry;

/* Makes *p, a copy of the base, or says in why_not why it is not possible. A maker may also decline. */
typedef bool PlanMake(PlanTry *x, Plan *p);

extern const char plan_why_too_long[]; /* why a strategy was not tried: of PlanOutcome */
/* strategies.c: the plan by the rows of the target. Declines where no strategy is possible, as the first did. */
Plan plan_best(PlanTry *x);

/* facts.c */
bool plan_not(PlanTry *x, const char *why); /* false, and why */
void plan_know_order(PlanTry *x); /* hero, alone, scatters, scanned */
const PlanSteps *plan_know_steps(PlanTry *x);
const PlanSharing *plan_know_sharing(PlanTry *x, bool alone);
/* The base, with outputs in place, to become one kernel or several. */
const HloInstruction **plan_begin_kernels(PlanTry *x, Plan *p);
bool plan_is_in_place(const Plan *p); /* has an output the memory of an operand? */

/* buffers.c */
void plan_find_roots(WbbCx *cx, WbbArena *a, Plan *p, const HloInstruction *root);
void plan_find_buffers(WbbArena *a, Plan *p);

/* plan_make_NAME of each row at 'fusion', dots as underscores: make_kernels.c, make_cuts.c, product.c, attention.c. Who
 * adds a row writes its function, and nothing else. */
#define STRATEGY_fusion(function, name) extern PlanMake plan_make_##function;
#define STRATEGY_text(function, name)
#include "strategies.def"
#undef STRATEGY_fusion
#undef STRATEGY_text

#endif

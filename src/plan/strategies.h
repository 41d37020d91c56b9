/* strategies.h: the ways in which a fusion may become kernels: a row of patterns/strategies.py each, and a function
 * here that makes the plan or says why it cannot.
 *
 *     share     make_kernels.c part_make_share     threads share the terms of all reductions
 *     rows      make_cuts.c    part_make_rows      a rival of that: launches of few long rows
 *
 * A maker takes what is known of the fusion and leaves a plan. It knows of no other maker: what several ask is a fact
 * of PartTry, found when it is first asked for.
 */
#ifndef PART_STRATEGIES_H
#define PART_STRATEGIES_H

#include "plan/work.h"
#include "plan/steps.h"

/* The reductions whose terms threads share, as part_shared finds them. */
typedef struct {
    bool known;
    uint32_t n; /* kernels; 0: there are none */
    PartRange **ranges;
    bool *others;  /* [outputs] that need none */
    bool *reduced; /* PartPlan.reduced */
} PartSharing;

typedef struct PartTry {
    WbbCx *cx;
    WbbArena *a;
    const TgTarget *t;
    const PartOptions *options;
    /* part_plan: of the parts of a fusion that is cut */
    PartPlan (*plan)(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options);
    const PartPlan *base; /* of the fusion, with roots, buffers and limits, without kernels */
    const TgStrategy *row; /* that is tried */
    const struct PartGiven *given; /* that is followed; NULL: one is chosen */
    const PartPlan *found; /* of a rival: the plan whose place it may take */
    const PartRange *shared; /* .. whose one kernel has this range; NULL: it is another plan, or its layout was given */
    const char *why_not;   /* of a maker that made nothing */
    /* facts, by the functions below */
    bool knows_order, knows_steps, scatters, alone;
    const HloInstruction *hero; /* the sort or scan that a kernel is for; NULL: there is none */
    PartRange *scanned; /* a kernel of it and nothing else; NULL: there is none */
    bool *scanned_reduced;
    PartSteps *steps; /* the loop that stores its steps; NULL: there is none */
    PartSharing sharing[2]; /* all reductions; alone */
    const HloInstruction **updates; /* in place; NULL: nobody has asked */
    const PartBuffer *placed;       /* the buffers with these */
} PartTry;

/* Makes *p, a copy of the base, or says in why_not why it is not possible. A maker may also decline. */
typedef bool PartMake(PartTry *x, PartPlan *p);

extern const char part_why_too_long[]; /* why a strategy was not tried: of PartOutcome */
/* strategies.c: the plan by the rows of the target. Declines where no strategy is possible, as the first did. */
PartPlan part_best(PartTry *x);

/* facts.c */
bool part_not(PartTry *x, const char *why); /* false, and why */
void part_know_order(PartTry *x); /* hero, alone, scatters, scanned */
const PartSteps *part_know_steps(PartTry *x);
const PartSharing *part_know_sharing(PartTry *x, bool alone);
/* The base, with outputs in place, to become one kernel or several. */
const HloInstruction **part_begin_kernels(PartTry *x, PartPlan *p);
bool part_is_in_place(const PartPlan *p); /* has an output the memory of an operand? */

/* buffers.c */
void part_find_roots(WbbCx *cx, WbbArena *a, PartPlan *p, const HloInstruction *root);
void part_find_buffers(WbbArena *a, PartPlan *p);

/* make_kernels.c */
PartMake part_make_share, part_make_share_alone, part_make_sums, part_make_scatter, part_make_sort, part_make_scan,
    part_make_product, part_make_attention,
    part_make_steps, part_make_loop, part_make_tile_results, part_make_few, part_make_exchange;
/* make_cuts.c */
PartMake part_make_before_steps, part_make_after_steps, part_make_across, part_make_order, part_make_scatter_apart,
    part_make_window, part_make_reductions, part_make_short, part_make_rows, part_make_sides;

#endif

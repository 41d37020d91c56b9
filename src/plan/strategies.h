/* strategies.h: the ways in which a fusion may become kernels, or its text be written anew before: a row of
 * patterns/strategies.py each, and a function here that makes the plan or says why it cannot.
 *
 *     share     make_kernels.c plan_make_share     threads share the terms of all reductions
 *     rows      make_cuts.c    plan_make_rows      a rival of that: launches of few long rows
 *     pieces    texts.c        plan_make_pieces    the plan of another text: rows in pieces, read once
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

struct PlanTry;
/* Makes *p, a copy of the base, or says in why_not why it is not possible. A maker may also decline. */
typedef bool PlanMake(struct PlanTry *x, Plan *p);

/* The function of a row; .name NULL: that of what further rows are held against. */
typedef struct {
    const char *name;
    PlanMake *make;
} PlanMaker;

/* Rows that no fusion and no text has (src/pipe/better_apart.c). */
typedef struct {
    const PlanMaker *makers; /* [n_makers] */
    size_t n_makers;
    LayPrice (*price)(const struct PlanTry *x, const Plan *p); /* of a plan that one of them made */
} PlanOthers;

typedef struct PlanTry {
    WbbCx *cx;
    WbbArena *a;
    const TgTarget *t;
    const PlanOptions *options;
    /* plan_fusion: of the parts of a fusion that is cut */
    Plan (*plan)(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PlanOptions options);
    TgPlace at;       /* of the rows that are tried */
    PlanOutcome *tried; /* [n_tried] what became of each, in their order */
    uint32_t n_tried;
    const Plan *base; /* of the fusion, with roots, buffers and limits, without kernels; NULL: of another text */
    const PlanOthers *others; /* NULL: rows of a fusion or a text */
    const TgStrategy *row; /* that is tried; NULL: what they are held against: the text as it is written */
    const struct PlanGiven *given; /* that is followed; NULL: one is chosen */
    const Plan *found; /* of a rival: the plan whose place it may take; of a text: of the one before it */
    const PlanRange *shared; /* .. whose one kernel has this range; NULL: it is another plan, or its layout was given */
    const char *why_not;   /* of a maker that made nothing */
    bool asks;             /* no plan is wanted, but whether what costs nothing to find out holds */
    int64_t number;        /* PlanOutcome.number */
    struct PlanTexts *texts; /* NULL: the text stays as it is */
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

/* What those at 'text' begin with, and what the last of them made. */
typedef struct PlanTexts {
    const HloModule *matrices, *sums; /* the module as it was given; with sums of products instead */
    RwCx *rules; /* which rules are disabled, and counts the options that are taken; NULL: none is */
    const uint32_t *const *rows; /* of the option that made a plan; NULL: none did */
    int64_t number; /* PlanGivenText.number; 0: any */
    bool follows;   /* a plan is given, whose strategy says what is possible */
} PlanTexts;

/* strategies.c: the plan by the rows of the target. Declines where no strategy is possible, as the first did. */
Plan plan_best(PlanTry *x);
/* Makes the plan of one row, and forgets why it is declined; false, and why_not: it is not possible. */
bool plan_try_row(PlanTry *x, const TgStrategy *row, Plan *p);

/* texts.c: the plan of the text before any row writes it anew; counts what the plan of another one has taken, of which
 * the next row is tried. */
PlanMake plan_make_written;
void plan_take_text(PlanTry *x, const Plan *p);
HloFusion *plan_fusion_of(const PlanTry *x, const HloModule *m); /* of a module, in the arena */

/* facts.c */
bool plan_not(PlanTry *x, const char *why); /* false, and why */
extern const char plan_why_too_long[]; /* why a strategy was not tried: of PlanOutcome */
bool plan_only_asked(PlanTry *x); /* PlanTry.asks: what costs nothing to find out is possible; and that is why_not */
void plan_know_order(PlanTry *x); /* hero, alone, scatters, scanned */
const PlanSteps *plan_know_steps(PlanTry *x);
const PlanSharing *plan_know_sharing(PlanTry *x, bool alone);
/* The base, with outputs in place, to become one kernel or several. */
const HloInstruction **plan_begin_kernels(PlanTry *x, Plan *p);
bool plan_is_in_place(const Plan *p); /* has an output the memory of an operand? */

/* buffers.c */
void plan_find_roots(WbbCx *cx, WbbArena *a, Plan *p, const HloInstruction *root);
void plan_find_buffers(WbbArena *a, Plan *p);

/* plan_make_NAME of each row at 'fusion' or 'text', dots as underscores: make_kernels.c, make_cuts.c, product.c,
 * attention.c, texts.c. Who adds a row writes its function, and nothing else. */
#define STRATEGY(function, name) extern PlanMake plan_make_##function;
#include "strategies.def"
#undef STRATEGY

/* The row of plan_make_NAME, by NAME: one that is no row's does not compile. */
#define plan_row(t, function) tg_strategy(t, plan_row_name[PLAN_ROW_##function])
#define STRATEGY(function, name) PLAN_ROW_##function,
enum {
#include "strategies.def"
    PLAN_ROWS
};
#undef STRATEGY
extern const char *const plan_row_name[PLAN_ROWS]; /* facts.c */

#endif

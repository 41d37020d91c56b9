/* priced: what the files of the priced cut share. grouping.c is the entry; README.md has the rules.
 *
 * A kernel has a space: the elements of its outputs, or the terms of its reductions. Dimensions of a space are atoms,
 * so that values seen through reshapes, broadcasts and transposes have a position in it: the atoms of its dimensions.
 *
 *     softmax f32[8,128]: space (r 8, c 128); sum at (r), broadcast of it at (r, c)
 */
#ifndef FUSE_PRICED_H
#define FUSE_PRICED_H

#include "fuse/fuse.h"
#include "graph/graph.h"

/* position.c ------------------------------------------------------------------------------------------------------- */
enum { FUSE_ATOMS = 24 }; /* atoms of a position, at most */

typedef struct {
    int64_t size;
    uint32_t outer, inner; /* the two that it was split into, the slower one first; 0: it is whole */
    uint32_t same;         /* another atom that it is, since two spaces became one; 0: none */
    bool reduced;
} FuseAtom;

typedef struct {
    WbbArena *arena;
    FuseAtom *items; /* from 1 on */
    uint32_t n, capacity;
    GrSight *sight; /* which dimensions of operands are those of results */
} FuseAtoms;

/* Which element of a value a point of the space needs: the one with these coordinates, the slowest first. Dimensions of
 * size 1 have none; one that an operation moves (a slice, a pad) has an atom of its own. `count` says how many elements
 * are computed where the position is not known (a gather); else which part of all, 0: all. */
typedef struct {
    uint32_t atoms[FUSE_ATOMS], n;
    bool known;
    double count;
} FusePos;

uint32_t fuse_atom(FuseAtoms *s, int64_t size, bool reduced);
/* The same position in atoms that are whole; not known if those are too many. */
FusePos fuse_resolve(const FuseAtoms *s, const FusePos *p);
bool fuse_same_pos(const FuseAtoms *s, const FusePos *p, const FusePos *q);
double fuse_count(const FuseAtoms *s, const FusePos *p);
/* A new position with an atom for each dimension. */
FusePos fuse_new_pos(FuseAtoms *s, const HloShape *shape);
/* Makes the atoms of q those of p, where sizes allow it; `undo` has room for FUSE_ATOMS and takes what fuse_part needs.
 * Returns false, and leaves all as it was, where they do not fit. */
typedef struct { uint32_t atoms[FUSE_ATOMS], n; } FuseJoin;
bool fuse_join(FuseAtoms *s, const FusePos *p, const FusePos *q, FuseJoin *undo);
void fuse_part(FuseAtoms *s, const FuseJoin *undo);
/* Is a reduce-window a scan along dimension d: its window as long as the dimension? */
double fuse_terms(WbbArena *a, const HloInstruction *i); /* hlo_terms; a scan takes each element once */
double fuse_needed(WbbArena *a, const HloInstruction *i, uint32_t k, double n); /* elements of operand k for n of i */
/* The position of an array whose dimensions are those of `of` or 1, from that in `of`. */
FusePos fuse_narrow_pos(FuseAtoms *s, const HloShape *of, const HloShape *x, const FusePos *at);
/* The position of operand k of i, by that of i. Of a reduction only where it is known: fuse_terms. */
FusePos fuse_operand_pos(FuseAtoms *s, const HloInstruction *i, uint32_t k, const FusePos *at);
/* Is `space` a position of the terms of reduction i, if its results are at `at`? */
bool fuse_fits_terms(FuseAtoms *s, const HloInstruction *i, const FusePos *at, const FusePos *space);
/* The position of the terms with new atoms for the reduced dimensions. */
FusePos fuse_new_terms(FuseAtoms *s, const HloInstruction *i, const FusePos *at);

/* cost.c ----------------------------------------------------------------------------------------------------------- */
/* Of an operand of i in memory, those of the sectors that i needs, if all of i is needed. */
double fuse_bytes_read(WbbArena *a, const FuseRates *r, const HloInstruction *i, uint32_t operand);
double fuse_work(WbbArena *a, const FuseRates *r, const HloInstruction *i); /* instructions for an element of i */
/* Seconds of instructions of threads, bytes of DRAM and a chain that a thread waits for, which overlap. */
double fuse_time(const FuseRates *r, double work, double bytes, double chain);
/* May the results of a reduction over `space` be needed by all threads of the kernel? Where a row does not fit in
 * registers its terms are read again. */
bool fuse_row_fits(const FuseRates *r, const FuseAtoms *s, const FusePos *space);

/* loop.c: a `while` that each thread can run for its element of each result, as far as the text says. */
typedef enum {
    FUSE_LOOP_AT,       /* the thread has the element of its own, or one along a dimension of size 1 */
    FUSE_LOOP_FEW,      /* it has all, which are few */
    FUSE_LOOP_ANYWHERE, /* no iteration changes it, and any element may be read in any of them */
} FuseLoopPart;
typedef struct {
    const HloShape *shape; /* of the results that are used; NULL: of a mixed one */
    FuseLoopPart *part; /* [elements of the state] */
    bool steps; /* it keeps a result of each iteration, and `shape` is that of one; or it is mixed */
    bool mixed; /* its iterations mix elements of the state, of which a thread has several */
} FuseLoop;

/* decide.c: does it write where operands say, or order elements? Nothing else follows in its kernel. */
bool fuse_is_whole(const HloInstruction *i);

/* users.c ---------------------------------------------------------------------------------------------------------- */
/* The users of instruction i of c: users[first[i]] .. users[first[i + 1] - 1]. */
void fuse_find_users(WbbArena *a, const HloComputation *c, uint32_t **first, uint32_t **users);
void fuse_sort(const HloInstruction **list, uint32_t n); /* in the order of the computation */

/* prices.c --------------------------------------------------------------------------------------------------------- */
/* What a kernel takes, found once; and what search.c knows of it. */
typedef struct {
    const char *text;
    double seconds; /* 0: not known */
    bool asked;     /* for its seconds */
    double least;   /* a launch, and the bytes that it reads and leaves */
    uint32_t seen;  /* the last grouping that has it */
    bool tried;     /* choices near it, before kernels became one in the end */
    bool was, stays; /* the grouping before a kernel's choices has it; the best one does */
} FusePrice;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    const FuseHow *how;
    WbbMap numbers; /* of a kernel, from 1 on, by its roots and members */
    struct { FusePrice *items; uint32_t n, capacity; } kernels;
    bool asks;   /* else what nobody has asked for is not known .. */
    bool missed; /* .. and something was not */
} FusePrices;
FusePrices *fuse_prices(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how);
FusePrice *fuse_price_of(FusePrices *p, const FuseGroup *g); /* good until the next one; nobody is asked */
double fuse_ask(FusePrices *p, FusePrice *x); /* its seconds */
double fuse_price(FusePrices *p, const FuseGroup *g);

/* grouping.c ------------------------------------------------------------------------------------------------------- */
typedef struct { uint32_t id; FuseChoice what; bool yes; } FusePoint;

typedef struct {
    FuseRole *roles; /* [id] */
    FuseGroup *groups;
    uint32_t n_groups;
    bool *mixed; /* [id] loops of kernels whose threads mix elements of the state */
    FusePoint *points; /* [n_points] choices that there were, from the last instruction to the first */
    uint32_t n_points;
    bool merged; /* kernels became one in the end, by what they take */
} FuseGrouping;

/* What is known before the walk. */
typedef struct {
    bool *alone; /* [id] reductions whose results go through memory, and loops that no thread runs */
    bool *apart; /* [id] those of rows and of columns of an array that are not in one kernel */
    bool *other; /* [id * FUSE_CHOICES + choice] choices that are made the other way than the walk would */
    GrSight *sight; /* of the computation, and of loops in it */
    const HloInstruction *runs; /* fuse_loop_of */
    FusePrices *prices; /* what kernels take; NULL: those become one in the end that are sure to gain by it */
} FuseGiven;
/* explain: takes a line for each decision; may be NULL. */
FuseGrouping fuse_group(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseRates *rates, const FuseGiven *given,
                        WbbBuf *explain);

/* write.c: seconds of a kernel; 0: they are not known. */
double fuse_seconds(WbbCx *cx, const HloComputation *c, const FuseHow *how, const FuseGroup *g);

/* plan.c ----------------------------------------------------------------------------------------------------------- */
/* Adds the plan of a computation to a text; the times of kernels where they are known. */
void fuse_put_plan(WbbArena *a, WbbBuf *b, const HloComputation *c, const FuseGrouping *g, const FuseHow *how);
/* What the text says of a computation; what is wrong with it fails at its line. */
FuseGrouping fuse_take_plan(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseStated *s);
/* The choices that it states for the kernels of a cut. */
void fuse_take_choices(const FuseHow *how, const FuseCut *cut);

/* legal.c ---------------------------------------------------------------------------------------------------------- */
/* Steps of a cut in their order, before they are given away: what comes before it is what each of them needs. */
typedef struct {
    const HloInstruction *i; /* that names the step; or one that no step makes */
    uint32_t step;           /* + 1; 0: none */
} FusePlaced;

typedef struct { const HloInstruction **items; uint32_t n, capacity; } FuseList;

typedef struct {
    const HloComputation *c;
    const FuseRole *roles;
    const FuseGroup *groups; /* of the first steps */
    uint32_t n_groups;
    const FuseStep *steps;
    const FuseList *after;   /* [step] values that other steps have to make before it, though it reads none of them */
    const uint32_t *step;    /* [id] the step that makes the value + 1; 0: none */
    struct { FusePlaced *items; uint32_t n, capacity; } placed;
    uint32_t n_before;       /* placed for steps; the others for the result alone */
} FusePlacing;

/* Has memory the value as soon as what it is made of is there? Of others nobody leaves a value, if no step does. */
bool fuse_is_name(const HloInstruction *i, FuseRole role);
/* Fails where a cut reads from memory what nobody leaves there, leaves a value twice, or a step waits for itself: at
 * the line of the plan, or at the value. */
void fuse_check(WbbCx *cx, const FusePlacing *x);

/* products.c: puts products of matrices that are library calls into kernels of g, where how->library says that this
 * takes less time. explain: takes a line for each; may be NULL. */
void fuse_products(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                   WbbBuf *explain);

/* grouping.c: lets library calls compute what moves say (FuseMove.calls); as fuse_products. */
void fuse_move_calls(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                     WbbBuf *explain);

/* search.c: the best grouping that is found, and given->other, by which it is made. walk: takes its decisions; others:
 * the choices that are made the other way than the walk would; both may be NULL. */
FuseGrouping fuse_search(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGiven *given,
                         WbbBuf *walk, WbbBuf *others);

#endif

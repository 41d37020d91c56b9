/* costs.h: the modelled time of a program: the sum over its kernels, copies and library calls, each text of which is
 * timed by itself.
 *
 * Needs a program and a function that times one text. Leaves the sum, launches included. The body of a loop counts as
 * often as it runs where the program says that, else once; each branch counts once.
 *
 *     ProgCosts c = prog_costs(cx, arena, p, time_one, &how);
 *     prog_put_costs(&text, "model.hlo", "sm_90", &c);
 */
#ifndef PROG_COSTS_H
#define PROG_COSTS_H

#include "program/program.h"

/* Steps of one text, of all computations. */
typedef struct {
    const ProgStep *s; /* the first one */
    const ProgComputation *in;
    uint32_t steps;    /* that have it */
    uint64_t times;    /* that they run together */
} ProgText;

typedef struct {
    ProgText text;
    double seconds, launch; /* of one run of all its launches; of it to launch them */
    double bytes;           /* of a library call: of its operands and results */
    uint32_t launches;
    const char *binds;      /* what bounds the longest launch */
    const char *refused;    /* why it has no time; NULL: it has */
} ProgCost;

typedef struct {
    ProgCost *items; /* [n] costliest first */
    uint32_t n;
    double seconds;         /* of all steps */
    double library_seconds; /* of it library calls */
    double launch;          /* of it to launch kernels and copies */
    uint64_t launches;      /* of these, that run */
    uint32_t kernels, copies, library, loops, refused; /* steps */
    uint32_t open;          /* of the loops, those whose iterations are not known: their bodies count once */
    uint32_t branches;      /* each of whose computations counts once */
    WbbStatus status; /* WBB_OK, or the worst of the texts that have no time */
} ProgCosts;

/* costs.c: the texts of the kernels, or of these, of copies as kernels and of library calls, in the order in which they
 * come first. Steps that copy nothing have none. */
typedef enum { PROG_OF_KERNELS, PROG_OF_ALL_THAT_TAKE_TIME } ProgTexts;
ProgText *prog_texts(WbbArena *a, const ProgModule *p, ProgTexts which, uint32_t *n);
/* A step that copies an array into memory of another order of dimensions, or the same, with the text of a kernel. */
ProgStep prog_copy_kernel(WbbArena *a, const BdBuffer *from, const BdBuffer *to);
/* `price` fills what is not given: all but `text` and `refused`. It may fail or decline; its message stays in `cx`. */
typedef void ProgPrice(WbbCx *cx, WbbArena *a, void *arg, ProgCost *c);
ProgCosts prog_costs(WbbCx *cx, WbbArena *a, const ProgModule *p, ProgPrice *price, void *arg);
/* A line with the sum, and the kernels that cost most; the same as an object, with all of them. */
void prog_put_costs(WbbBuf *b, const char *name, const char *target, const ProgCosts *c);
void prog_put_sum(WbbBuf *b, const ProgCosts *c); /* "9 kernels in 12 launches, 15.30 us of it to launch them; .." */
void prog_put_costs_json(WbbBuf *b, const char *name, const char *target, const ProgCosts *c);

#endif

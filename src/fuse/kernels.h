/* kernels: what grouping.c and kernels.c share: the kernels of a computation while they grow. */
#ifndef FUSE_KERNELS_H
#define FUSE_KERNELS_H

#include "fuse/priced.h"

/* A kernel computes an instruction at a position. */
typedef struct {
    uint32_t kernel;
    FusePos pos;
    bool shares; /* a reduction whose terms are the kernel's space */
    double serial; /* times that one thread computes it, at most */
} FuseUse;

typedef struct { FuseUse *items; uint32_t n, capacity; } FuseUses;
typedef struct { uint32_t *items; uint32_t n, capacity; } FuseIds;

typedef struct {
    FusePos space; /* of outputs, or of the terms of reductions */
    const HloInstruction *hero; /* a reduction whose terms threads share; NULL: there is none */
    bool across;   /* it sums up columns, too, of the rows that the hero reduces */
    bool fixed;    /* its root decides everything: a scatter, a scan, an update in place: no other output */
    uint32_t into; /* the kernel that it became a part of, + 1 */
    FuseIds members, roots;
    FuseIds waits; /* values in memory that members read, and what must come before, which may have no role yet */
} FuseKernel;

/* What an instruction's users need: its value in memory, or elements in kernels. */
typedef struct {
    bool memory, any;
    FuseUses uses;   /* one of each kernel and position */
    FuseIds readers; /* users that need the value in memory */
} FuseNeeds;

typedef struct FuseWork {
    WbbCx *cx;
    WbbArena *arena;
    const HloComputation *c;
    const FuseRates *rates;
    const bool *alone, *apart, *other; /* of FuseGiven */
    struct { FusePoint *items; uint32_t n, capacity; } points;
    FuseRole *roles;
    uint32_t *first, *users; /* of instruction i: users[first[i]] .. users[first[i + 1] - 1] */
    const HloInstruction *runs; /* the one loop whose body the computation is; NULL: there is none */
    const FuseLoop **loop;   /* [id] of a loop that threads run, its state and its elements; else NULL */
    FuseUses *uses;          /* [id] of what kernels compute */
    uint32_t *kernel;        /* [id] of a root */
    FuseAtoms atoms;
    struct { FuseKernel *items; uint32_t n, capacity; } kernels;
    uint32_t decided;        /* instructions from this one on have a role */
    uint32_t version;        /* of what waits for what: another one since a kernel or its outputs changed */
    struct FuseReach *reach; /* [n_reach] by kernel: for which it waits */
    uint32_t n_reach;
    uint32_t *seen, *seen_kernel, stamp; /* of a walk */
    const HloInstruction **bases; /* gr_bases of the computation; NULL: nobody has asked */
    double *most, *sum;      /* [id] of a cone: elements that its users need at their own index, and at others */
    FusePrices *prices;      /* of FuseGiven */
    bool merged;             /* of FuseGrouping */
    bool (*agrees)(struct FuseWork *w, uint32_t x, uint32_t y); /* that two kernels become one; NULL: it always does */
    WbbBuf *explain;
    struct { const char **items; uint32_t n, capacity; } *why; /* [id] for --explain; NULL: nobody asks */
} FuseWork;

/* kernels.c */
uint32_t fuse_find(const FuseWork *w, uint32_t kernel); /* the kernel that it is now */
uint32_t fuse_new_kernel(FuseWork *w, const HloInstruction *root);
void fuse_compute(FuseWork *w, const HloInstruction *i, const FuseNeeds *n); /* in every kernel that needs it */
/* From now on instructions from `id` on have a role. */
void fuse_decided(FuseWork *w, uint32_t id);
/* Does a kernel wait for one of these: another kernel, or instructions? */
bool fuse_waits_for(FuseWork *w, uint32_t kernel, const FuseUses *kernels, const FuseIds *instructions);
/* Does a kernel wait for another one through a third step? What it reads of that one itself does not count. */
bool fuse_waits_through(FuseWork *w, uint32_t kernel, uint32_t on);
FusePos fuse_kept(const FuseWork *w, const FuseKernel *k); /* the space without what is reduced */
/* Two kernels become one, in which a value at p in x and at q in y is the same. Returns why not, or NULL. */
const char *fuse_merge(FuseWork *w, uint32_t x, uint32_t y, const FusePos *p, const FusePos *q);
/* All that the kernel `from` computes and leaves, `to` does from now on. */
void fuse_append(FuseWork *w, uint32_t from, uint32_t to);
/* May a kernel share the terms of a reduction whose results are at a position? Then it does. NULL, or why not. */
const char *fuse_share(FuseWork *w, uint32_t kernel, const HloInstruction *i, const FusePos *at);
/* May a kernel that computes a value at a position leave it in memory? NULL, or why not. */
const char *fuse_leaves(FuseWork *w, uint32_t kernel, const FuseNeeds *n);

/* May it leave a value that follows from results of its rows, though it has no reduction yet? Then it shares the terms
 * of that one. */
bool fuse_leaves_rows(FuseWork *w, uint32_t kernel, const HloInstruction *i, const FuseNeeds *n);

/* loop.c: sets w->loop; needs w->first and w->users. */
void fuse_find_loops(FuseWork *w);

FuseGroup fuse_group_of(FuseWork *w, WbbArena *a, const FuseKernel *k);
/* All that both compute and leave. */
FuseKernel fuse_both(FuseWork *w, const FuseKernel *x, const FuseKernel *y);
/* A choice that may be made either way, and would be `yes`. */
bool fuse_choose(FuseWork *w, const HloInstruction *i, FuseChoice what, bool yes);
void fuse_put_point(FuseWork *w, const HloInstruction *i, FuseChoice what, bool yes); /* one of FuseGrouping.points */
bool fuse_is_other(const FuseWork *w, const HloInstruction *i, FuseChoice what); /* is it made the other way? */
const char *fuse_kernel_name(const FuseWork *w, uint32_t kernel); /* that of its first output */
double fuse_kernel_seconds(FuseWork *w, const FuseKernel *k); /* 0: they are not known */

/* What makes the choices of a row at 'edge', in the order of the rows; NULL: it has none of this kind. The first two
 * ask fuse_choose, the others are left out with the row. grouping.c has join, into, again and leave, and calls all. */
typedef struct {
    /* Before the walk: which loops threads run. */
    void (*loops)(FuseWork *w);
    /* Of a value that is computed, which `n` needs: false, and what is needed then, where it has no place yet. */
    bool (*place)(FuseWork *w, const HloInstruction *i, FuseNeeds *n);
    /* Of one in memory. */
    void (*read)(FuseWork *w, const HloInstruction *i, const FuseNeeds *n);
    /* After the walk: which kernels become one. */
    void (*merge)(FuseWork *w);
    /* After the search: what library calls compute. */
    void (*calls)(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how, FuseGrouping *g,
                  WbbBuf *explain);
} FuseMove;
#define EDGE(move, choice, name) extern const FuseMove fuse_move_##move;
#include "strategies.def"
#undef EDGE

#endif

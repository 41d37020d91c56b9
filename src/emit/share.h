/* share.h: what the files of shared stages have in common: the thread, its elements, partial results.
 *
 *     share_terms.c     positions, terms, combining
 *     share_exchange.c  lanes, warps, blocks
 *     share_scan.c      scans
 *     share_reduce.c    before the terms of a stage, and after them
 *     share_rows_columns.c  sums across the rows of a block
 *     share.c           the stages of a range
 */
#ifndef EMIT_SHARE_H
#define EMIT_SHARE_H

#include "emit/inner.h"

/* A partial result of one reduction. */
typedef struct {
    IrRef *x;      /* [arrays] */
    IrRef present; /* a pred; 0: some term is there */
} Partial;

/* A variable of the map's iterations. */
typedef struct {
    uint32_t dim;
    LayLevel level;
    int64_t size;
} Iteration;

/* Memory through which partial results go: of warps, of blocks of a cluster, of blocks. */
typedef enum { SHARE_WARPS, SHARE_PEERS, SHARE_BLOCKS, SHARE_PLACES } SharePlace;

/* A reduction of the stage that is being made. */
typedef struct {
    const PlanReduce *of;
    const HloInstruction *i;
    uint32_t n;        /* arrays */
    ScType *type;      /* [n] of partial results */
    IrRef *identity;   /* [n] what combines with any value to that value, by rules; NULL: none is known */
    bool contracts;    /* terms are products that need not be rounded before they are added */
    bool absent, stretch_absent; /* a thread may have no term; so may its stretch of the blocks' results */
    uint32_t buffer[SHARE_PLACES]; /* the first of those of the parts of each array, then, if `absent`, of preds */
} Reduction;

/* Where an element is. */
typedef struct {
    IrRef *at;    /* [dims of the space], within the space, whether the thread has an element there or not */
    IrRef kept, term; /* conditions under which it has: of the kept dimensions, and of the reduced ones; 0: always */
    IrRef mask;   /* the part of `term` under which a term counts: lanes that nothing is taken from have any */
} Position;

typedef struct Share {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PlanRange *range;
    const PlanStage *s;
    const Layout *l;
    const HloShape *terms_shape;
    IrRef bid, tid, lane, warp;
    IrRef *t;                /* [dims] of the map, within its variables' intervals */
    IrRef *inside;           /* [dims] 0: always; else the condition that the thread's own number is within them */
    Iteration *iterations;
    uint32_t n_iterations;
    uint32_t kept, terms;    /* elements of a thread: of the kept dimensions, and of the reduced ones in an iteration */
    /* [n_iterations] the iteration that has the one kept element of a thread, once kept elements are parted among the
     * threads of the block; NULL: a thread has its own */
    IrRef *parted;
    int64_t loop;            /* iterations */
    int64_t blocks;          /* that share a result */
    int64_t chunk;           /* partial results of those that a thread of the last one reads */
    bool ascends;            /* terms of a thread follow each other, as do those of its iterations */
    int64_t *combined;       /* [dims] lanes whose terms are combined; NULL: all */
    bool masked;             /* a thread may have fewer terms than others */
    bool everyone;           /* all threads of a block need the results */
    Reduction *r;            /* [n] */
    uint32_t n;
    EmitTickets tickets;     /* of blocks */
    bool stretches;          /* what is combined are stretches of the blocks' results */
    /* opened, one in the other, up to the end of the range: the cluster's first block; the last block; its first
     * warps */
    EmitIf open[3];
    uint32_t n_open;
    bool first_warp;         /* the last one is that of the first of the warps that share a result */
    bool first_block;        /* the first one is that of the first of the blocks of a cluster */
    bool clusters;           /* blocks of a cluster have read each other's memory */
    /* Of sums across rows: what has the rows. Of rows in a loop around all stages: the iteration. */
    struct Share *rows;
    void (*stages)(struct Share *rows); /* makes all but the last stage, in the loop */
    IrRef row;
    const IrRef *results_at; /* where a sort's results are, if its outputs have a stretch of each row; else NULL */
} Share;

/* Partial results: p[r] of reduction r, one kept element after the other. */
typedef Partial **Partials;

static inline IrRef emit_share_node(const Share *m, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(m->g, op, IR_TYPE(t, 0), 0, x, y, 0, 0);
}

static inline IrRef emit_share_both(const Share *m, IrRef x, IrRef y)
{
    return !x ? y : !y || x == y ? x : emit_share_node(m, OP_BAND, SC_PRED, x, y);
}

static inline IrRef emit_share_number(const Share *m, uint32_t x) { return ir_const(m->g, IR_TYPE(SC_U32, 0), x); }

/* share_terms.c */
/* The numbers of thread `tid` of the block in each dimension, within what the map says of them. */
void emit_share_find_thread(Share *m, IrRef tid);
/* Element number `kept` of the thread's kept ones, its term number `term` in iteration `loop`. */
Position emit_share_position(const Share *m, uint32_t kept, uint32_t term, IrRef loop);
bool emit_share_is_masked(const Share *m); /* may a thread have fewer terms than others? */
IrRef *emit_share_index(const Share *m, const Position *p); /* of the terms' shape */
IrRef *emit_share_kept_index(const Share *m, const HloInstruction *i, const Position *p); /* of reduction i's result */
Partials emit_share_partials(const Share *m);
void emit_share_find_identity(const Share *m, Reduction *r);
Partial emit_share_term(const Share *m, const Reduction *r, const Position *at, const IrRef *index);
/* The same at an index of the reduction's terms; place: of those of the range. */
Partial emit_share_term_at(const Share *m, const Reduction *r, const Position *at, const IrRef *index,
                           const IrRef *place);
/* The terms of one iteration, combined: neighbours, then neighbours of these. */
void emit_share_terms(const Share *m, IrRef loop, Partials p);
Partial emit_share_combine(const Share *m, const Reduction *r, const Partial *x, const Partial *y);
Partial emit_share_follow(const Share *m, const Reduction *r, const Partial *x, const Partial *y); /* x comes first */
/* Where the condition does not hold, p has no term. */
void emit_share_mask(const Share *m, const Reduction *r, IrRef condition, Partial *p);
/* Neighbours, then neighbours of these: leaves the result in p[0]. */
void emit_share_fold(const Share *m, const Reduction *r, Partial *p, uint32_t n);
Partial emit_share_initial(const Share *m, const Reduction *r);
typedef void (*ShareIterate)(const Share *m, IrRef loop, Partials p);
/* Iterations 0 .. count - 1 of `one`, whose partial results, n_of[r] of reduction r, are combined from iteration to
 * iteration. follow: terms of an iteration follow those of the one before. */
void emit_share_iterate(const Share *m, ShareIterate one, int64_t count, bool follow, const uint32_t *n_of,
                        Partials p);
/* Begins an `if` whose body alone uses partial results from now on: they become what they are there. */
EmitIf emit_share_if_using(const Share *m, IrRef condition, uint32_t n, Partials p);
void emit_share_roll(const Share *m, const EmitLoop *l); /* a loop over terms: may the assembler repeat its body? */

/* The values and preds of partial results, one after the other; returns how many. values NULL: counts them. */
uint32_t emit_share_pack(const Share *m, Partials p, const uint32_t *n_of, IrRef *values);
/* And back, in memory of their own: other partial results may have what p has. */
void emit_share_unpack(const Share *m, Partials p, const uint32_t *n_of, const IrRef *values);
/* The elements of each output of full shape at n positions, which are one, or neighbours of a vector that the thread
 * has all or none of. */
void emit_share_outputs(const Share *m, uint32_t n, const Position *at, const IrRef *const *index);

/* share_exchange.c */
/* p of another thread of the warp, by an operation that shuffles. */
Partial emit_share_shuffle(const Share *m, const Reduction *r, const Partial *p, ScOp op, uint32_t by);
Partial emit_share_shuffle_from(const Share *m, const Reduction *r, const Partial *p, IrRef lane); /* of that lane */
void emit_share_barrier(const Share *m);
/* A partial result to memory, and n neighbours back. */
void emit_share_put(const Share *m, const Reduction *r, SharePlace place, IrRef index, const Partial *p);
void emit_share_get(const Share *m, const Reduction *r, SharePlace place, IrRef index, int64_t n, Partial *p);
/* The thread's kept elements, `apart` from each other, where the condition holds; they stay what they are. */
void emit_share_put_kept(const Share *m, Partials p, IrRef condition, SharePlace place, IrRef index, int64_t apart);
IrRef emit_share_slot(const Share *m); /* of the thread's first kept element in a tile of them, one of each block */
int64_t emit_share_slots(const Share *m);
/* How many there are of a level, of the reduced dimensions or of the kept ones. */
IrRef emit_share_number_of(const Share *m, LayLevel level, bool reduced); /* which one of them the thread is */
IrRef emit_share_owner(const Share *m); /* is it the first of the threads that share a result? 0: there is one alone */
void emit_share_add_buffers(Share *m);
int64_t emit_share_lanes(const Share *m, uint32_t dim); /* how many along a reduced dimension are combined */
void emit_share_combine_lanes(const Share *m, Partials p);
/* Opens the `if` of the first of the warps that share a result, unless everyone needs it; or of the threads that have
 * a kept element each from then on. */
void emit_share_combine_warps(Share *m, Partials p);
/* Opens the `if` of the first block of the cluster, and of the first of its warps, unless everyone needs it. */
void emit_share_combine_clusters(Share *m, Partials p);
/* Blocks whose memory others read end after them: the last statement of the kernel. */
void emit_share_end_clusters(const Share *m);
/* The blocks of a tile store their parts; opens the `if` of the last one to do so, in which p is the whole. */
void emit_share_combine_blocks(Share *m, Partials p);
void emit_share_close(Share *m); /* what was opened last */

/* share_reduce.c: what a thread has under the layout; the reductions of stage m->s, before their terms, and after
 * these; the outputs of a stage of results. */
void emit_share_find_iterations(Share *m);
void emit_share_begin(Share *m);
void emit_share_finish(Share *m, Partials p);
void emit_share_results(const Share *m);
/* share_rows_columns.c: all stages of a range whose last one is of sums across rows; `stages` makes the others. */
void emit_share_across(Share *rows, void (*stages)(Share *rows));
/* share_scan.c: the stage m->s, of scans. */
void emit_share_scan(Share *m);
void emit_share_find_reductions(Share *m); /* share_terms.c: those of the stage */
#endif

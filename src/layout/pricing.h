/* pricing: the layout of a reduction, chosen among candidates by their price. It knows no HLO: work.c describes a stage
 * as a LayWork.
 *
 *     LayChoice c = lay_choose_layout(arena, &work, target);
 *     c.best[0].layout       columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *     c.best[0].us           9.1
 */
#ifndef LAY_PRICING_H
#define LAY_PRICING_H

#include "layout/layout.h"

/* x / y, rounded up. */
static inline int64_t lay_up(int64_t x, int64_t y) { return x / y + (x % y != 0); }

/* The largest power of two that is at most n. */
static inline int64_t lay_power_below(int64_t n)
{
    int64_t p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

/* The logarithm of n to the base of 2, rounded up. */
static inline double lay_log2_up(double n)
{
    double k = 0;
    for (double p = 1; p < n; p *= 2) k++;
    return k;
}

/* What is read for each element of the space, or stored: once for each element that it varies with. */
typedef struct {
    uint32_t bits;       /* of an element in memory */
    int64_t elements;    /* that are touched, all in all */
    int64_t memory;      /* that the array has */
    int64_t align;       /* every index that is 0 in the dimension of step 1 is a multiple of this; a power of two */
    int64_t row_align;   /* the same, of arrays that begin where allocators put them: for prices, not for accesses */
    int64_t straight;    /* of a loop: neighbours of the space have neighbours in so many, then elsewhere; 0: in all */
    int64_t apart;       /* these indices are so far from each other, or a multiple of it; a power of two */
    /* [n_dims] elements of memory from one element of the space to the next one along a dimension. 0: the same element;
     * LAY_FAR: elsewhere */
    const int64_t *step;
    const int64_t *repeat; /* [n_dims] so many have the same element, `step` is the mean; else 1; NULL: nowhere */
    uint32_t passes; /* over the terms, in so many of which it is read */
    double times;    /* elements for each element of the space, of a reduction of its own; 0 and 1: one */
    /* Read where an operand of a concatenate or pad is the one, which the position in a dimension decides. */
    struct LayShare {
        uint32_t dim;      /* number of the dimension, + 1; 0: it is read everywhere */
        double part, step; /* of the concatenate's size: the operand's; what one step in the dimension is */
    } share;
    bool near;       /* another load reads the same array, `shift` elements before, everywhere */
    int64_t shift;
    int64_t beside;  /* so many elements at most from one that another load has, which reads as much; LAY_FAR: none */
    /* [n_dims] the least number of steps along a dimension to a load of the array that has elements for both (walk.c);
     * 0: there is none. NULL: of no load, and where there are too many */
    const int64_t *gap;
    uint32_t buffer; /* number in the plan */
} LayAccess;
#define LAY_FAR INT64_MAX

/* What is computed of values that vary along some dimensions of the space alone, a bit each: a thread has them once
 * for all of its elements along the others. Clocks of pipe.fma, pipe.f64 and pipe.xu. */
typedef struct {
    uint64_t along;
    double slots, clocks[3];
} LaySlots;

/* What updates do at addresses that others may have at the same time. */
typedef struct {
    double sectors; /* that atomic operations update, of all */
    double clocks;  /* for which the line that most of them update is busy */
    double latency; /* clocks that a thread waits for each of its elements, one after the other */
} LayTurns;

/* What a reduction computes. Issue slots are instructions of a warp; clocks are those that the busiest pipe of an SM
 * takes for an instruction of a warp. */
typedef struct {
    const LayDim *dims; /* [n_dims] of the space, the slowest in memory first, without factors */
    uint32_t n_dims;
    const LayLevel (*orders)[LAY_LEVELS]; /* [n_dims] its levels from the inside out; NULL: lay_level_order says */
    uint64_t neighbours; /* reduced dimensions, a bit each, along which the terms of a thread are neighbours */
    bool commutes; /* terms may be taken in any order; else levels keep theirs */
    /* [n_sequence] reduced dimensions along which such terms follow each other, the fastest first; if there are several
     * of them */
    const uint32_t *sequence;
    uint32_t n_sequence;
    bool presence; /* a partial result that may lack every term has a pred that says so */
    bool splits;   /* blocks may share a result */
    bool rounds;   /* combining two results rounds to 32 bits or fewer */
    bool redux;    /* one instruction combines what all lanes of a warp have */
    bool scan;     /* each element has a result */
    uint32_t packed_group; /* neighbours along the last dimension that share a byte of an output; 0, 1: none do */
    LayReads reads; /* of what warps hand on */
    uint32_t reductions; /* one after the other, each needing the results of those before */
    uint32_t passes;     /* over the terms: a thread without a loop makes one all the same */
    const LayAccess *loads; /* [n_loads] */
    uint32_t n_loads;
    const LayAccess *stores; /* [n_stores] along reduced dimensions the step is 0, unless each element is stored */
    uint32_t n_stores;
    const uint32_t *partials; /* [n_partials] bits of the values of a partial result */
    uint32_t n_partials;
    const LaySlots *along; /* [n_along] the same by dimensions; 0: term_slots says all */
    uint32_t n_along;
    double term_slots, combine_slots; /* of the terms of one element, accesses apart; of combining two results */
    double trip_slots;                /* .. that iterations of loops in them take after the first: no more code */
    double within_slots;              /* .. of one thread, where that has no loop */
    LaySlots of_results; /* of the terms of one element: those of results, and what is added up across rows */
    double again_slots;               /* of what passes compute of an element that others have computed */
    double term_clocks, combine_clocks;
    double term_latency, combine_latency; /* clocks */
    /* Each block adds up, element by element, so many values of its rows, of which it has as many as blocks leave: one
     * after the other, in a loop of the kept dimension; and stores these sums, so many bytes in all blocks. 0: none */
    uint32_t across;
    int64_t across_blocks;
    double across_bytes;
    bool linear;                      /* neighbours of a thread are those of the space, over the ends of rows: loops */
    bool placed;                      /* rows begin as row_align says, not as align does */
    LayTurns turns;
} LayWork;

/* What a price is made of; the first LAY_PARALLEL overlap. */
typedef enum {
    LAY_DRAM,  /* distinct bytes */
    LAY_L2,    /* sectors that blocks ask for */
    LAY_ISSUE, /* issue slots of the busiest SM */
    LAY_PIPE,  /* its busiest pipe */
    LAY_L1,    /* its wavefronts of L1 and shared memory */
    LAY_FILL,  /* bytes that come to it, of which it can have so many on their way at once */
    LAY_CHAIN, /* latencies of a thread, one after the other, times waves of blocks, less LAY_LATENCY */
    LAY_PARALLEL,
    LAY_BLOCKS = LAY_PARALLEL, /* they begin one after the other, while others work: what binds if all else is less */
    LAY_SPLIT,  /* partial results of blocks, and the ticket */
    LAY_TAIL,  /* SMs that have a block less than others wait */
    LAY_LATENCY, /* of memory, until the first bytes come: nothing overlaps with it */
    LAY_CODE,   /* machine code that comes to an SM for the first time: before any block can begin with it */
    LAY_LAUNCH,
    LAY_TERMS
} LayTerm;
extern const char *const lay_term_name[LAY_TERMS];

/* All in microseconds. */
typedef struct LayPrice {
    double term[LAY_TERMS], us;
    double registers; /* of a thread, estimated; no part of us */
    double together, lost; /* how far blocks load, compute and store at the same times: 1; what few warps lose */
    /* The time at full rates of DRAM and fill, whatever runs and warps are, as in a profile: it decides among equal
     * prices, and is no part of us. */
    double plain, full_dram, full_fill, full_tail;
    bool bytes_alone; /* of a kernel nothing is known but its bytes, so that it takes at least so long */
    bool rolled; /* a block has enough on its way in one iteration of its loop */
    double effort; /* issue slots, pipes, wavefronts of an SM that has an equal share of those of all; no part of us */
    double issue;  /* of them issue slots */
} LayPrice;

typedef struct {
    Layout layout;
    const Layout *get; /* of the second stage, where values go through a tile; else NULL */
    LayPrice price;
    LayTerm decides; /* the largest term */
} LayPriced;

/* Bytes of the sectors that blocks ask L2 for, against each element that is accessed once. What values from memory
 * place is in neither. */
typedef struct LayTraffic {
    double l2, least;
    uint32_t buffer;   /* of which the most bytes beyond are asked for */
    double of_buffer, least_of_buffer;
} LayTraffic;

enum { LAY_BEST = 5 };
typedef struct LayChoice {
    LayPriced best[LAY_BEST]; /* the chosen one, then the cheapest others, the cheapest first */
    uint32_t n;                 /* of them; 0: no candidate is legal */
    uint32_t candidates;        /* that were priced */
    uint32_t equal;             /* of them, those as cheap as the chosen one within layout.tie */
    const LayTraffic *traffic; /* of the chosen one */
} LayChoice;

/* complete.c: what a candidate wishes of its levels, and sizes of these that cover the space. */
typedef struct {
    int64_t *lanes, *warps, *kept; /* [n_dims]; kept: registers of a kept dimension */
    uint32_t vector_dim, loop_dim, split_dim; /* LAY_NO_DIM: no dimension */
    int64_t vector, registers, splits;
    bool cluster; /* the blocks that share a result are a cluster */
    bool whole;   /* of no use with a loop */
} LayWanted;
#define LAY_NO_DIM UINT32_MAX
enum { LAY_MAX_FACTOR = 64 }; /* of vector or register: plan_space_check */
/* The levels of a dimension from the inside out: those of a reduced one whose terms keep their order stand in the order
 * of LayLevel. */
const LayLevel *lay_level_order(const LayWork *w, const LayDim *d); /* [LAY_LEVELS] */
Layout lay_of(WbbArena *a, const LayWork *w, const int64_t *sizes); /* [n_dims * LAY_LEVELS] */
/* room: terms in straight code, beside those that are wished for. Leaves sizes [n_dims * LAY_LEVELS]; false: terms
 * would not keep their order. */
bool lay_complete(const LayWork *w, const LayWanted *x, int64_t room, int64_t *sizes);
uint64_t lay_sizes_hash(const LayWork *w, const int64_t *sizes); /* by which equal ones are known */

/* share_layout.c: the layout of a stage whose threads share terms. */
LayChoice lay_choose_layout(WbbArena *a, const LayWork *w, const TgTarget *t);

/* price.c. Numbers of a target, read once for many prices. */
typedef struct LayRates LayRates;
const LayRates *lay_rates(WbbArena *a, const TgTarget *t);
/* What a layout amounts to. */
typedef struct {
    double blocks, threads, warps;
    double kept, terms, loop;               /* of a thread: results, terms of each in an iteration, iterations */
    double rows;                            /* iterations of a loop of kept dimensions, around all stages */
    double lanes, reduced_warps, splits;    /* that share a result */
    double steps;                           /* in which lanes combine theirs, as far as they have terms */
    double cluster;                         /* of the splits, those of a cluster */
    double kept_lanes, kept_warps;
    double masked;       /* accesses of an iteration that a mask guards, of all, .. */
    double masked_terms; /* .. where kept dimensions guard results alone, and not outputs of the terms' shape */
    LayHanding hand; /* what warps have (emit/share_exchange.c) */
} LayCounts;

/* Estimates for sizes of the levels of each dimension of the work's space: [n_dims * LAY_LEVELS]. */
typedef struct {
    double registers, shared, code; /* of a thread; bytes of a block; instructions of an iteration and what follows */
    double instructions;            /* of the machine code, where threads share terms */
    double batch;                   /* iterations of a loop that wait for their loads together */
    bool rolled;                    /* an SM has enough on its way in one iteration of its blocks' loops */
    LayCounts counts;
} LayNeeds;
LayNeeds lay_needs(const LayRates *r, const LayWork *w, const int64_t *sizes);
LayPrice lay_price(const LayRates *r, const LayWork *w, const int64_t *sizes, const LayNeeds *needs);
/* Of a launch whose terms that overlap are known, and its code: adds what any launch takes, and the sum. */
void lay_price_launch(const LayRates *r, LayPrice *p, double blocks);
void lay_price_blocks(const LayRates *r, LayPrice *p, double blocks); /* .. if there were so many */
bool lay_is_placed(const LayWork *w); /* do values from memory say where others are? */
bool lay_blocks_bind(const LayPrice *p); /* do blocks begin too slowly? */
LayPrice lay_price_layout(WbbArena *a, const LayWork *w, const Layout *l, const LayRates *r);
const LayTraffic *lay_traffic(WbbArena *a, const LayWork *w, const Layout *l, const LayRates *r);
/* Of one stage of an exchange: what its threads access in the tile. */
typedef struct {
    double accesses;   /* of a thread */
    double addresses;  /* .. of them those that are not at a constant distance from another one */
    double wavefronts; /* of a warp */
    double least;      /* that its bytes take */
} LayTileWork;
/* Two stages of the same blocks and threads, with a barrier between them. needs: registers and shared bytes. */
LayPrice lay_price_exchange(const LayRates *r, const LayWork *w, const int64_t *const *sizes,
                            const LayTileWork *tile, const LayNeeds *needs);
void lay_print_choice(WbbBuf *out, const LayChoice *c);
void lay_print_price(WbbBuf *out, const LayPrice *p); /* of a layout that was given */

/* vectors.c: are neighbours along d neighbours in memory, for some access? */
bool lay_is_contiguous(const LayWork *w, uint32_t d);
/* Elements that one thread takes side by side along dimension d, 1 where no array has neighbours there. */
int64_t lay_widest_vector(const LayWork *w, const TgTarget *t, uint32_t d); /* of the narrowest type */
int64_t lay_main_vector(const LayWork *w, const TgTarget *t, uint32_t d);   /* of the array with the most bytes */

/* ties.c: what decides among equal prices, the most important first; smaller is better. */
enum { LAY_KEYS = 9 };
typedef struct LayTie {
    double least, width;        /* the least time; by which times that are as long may differ from it */
    double plain, unit;         /* the least time at full rates; times that differ by less than `unit` are equal */
    int64_t chain, few_terms, usual_block; /* layout.chain, layout.short, loop.block */
    int64_t sms;
    bool waits; /* memory takes longer than what SMs do, in the cheapest one: loops wait for it */
} LayTie;
/* key: [LAY_KEYS], all 0 */
void lay_preferences(const LayTie *t, const LayWork *w, const int64_t *sizes, const LayPrice *price, int64_t *key);

#endif

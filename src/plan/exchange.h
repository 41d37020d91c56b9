/* exchange: a stage that puts values into a tile of shared memory in one order, and one that gets them in another.
 *
 *
 *     exchange_work.c  exchange_tile.c     what a stage accesses in memory, and in the tile
 *     exchange_find.c  exchange_layout.c   values that go through the tile; layouts
 *     exchange_sides.c                     outputs that the first stage stores
 *     exchange.c                           the kernel
 *     loop_work.c      loop_price.c        what a loop in its place accesses and costs
 */
#ifndef PLAN_EXCHANGE_H
#define PLAN_EXCHANGE_H

#include "plan/walk.h"

enum { PLAN_EXCHANGE_DIMS = 16 }; /* of the space, at most */
#define LAY_NO_DIM UINT32_MAX

/* The sides of an exchange, and its stages: to the tile, and from it. */
enum { PLAN_TO, PLAN_FROM, PLAN_SIDES };

/* What a kernel of elements needs, seen from one stage or from all its elements. */
typedef struct {
    WbbArena *a;
    const Plan *p;
    const TgTarget *t;
    uint32_t *outputs;
    uint32_t n_outputs;
    uint32_t *stored[PLAN_SIDES], n_stored[PLAN_SIDES]; /* of the outputs those that a stage stores */
    bool *crosses;                  /* [n_outputs] it needs a value of the tile */
    const HloShape *space;          /* the slowest dimension first */
    const PlanRange *range;         /* of a loop: its own; NULL: of an exchange */
    const PlanMade *made;           /* [n_made] what earlier launches have left in memory */
    uint32_t n_made;
    /* The same, in the memory order of an array that is read as read[] says: outputs of the first stage are so. */
    const HloShape *read_space;
    uint32_t read[PLAN_EXCHANGE_DIMS]; /* its dimensions in the order in which values are read, the fastest first */
    int64_t read_step[PLAN_EXCHANGE_DIMS]; /* by dimension: steps of the largest array that is read in that order */
    /* The fastest dimension of the largest array that is read in another order than both; LAY_NO_DIM: there is
     * none. */
    uint32_t other;
    uint32_t common;                /* dimensions that are the fastest ones in both orders */
    PlanCarried *values;
    uint32_t n_values, bits;        /* of the values at an element, in the tile */
    uint32_t in_word;               /* elements of the narrowest of them in 32 bits, at least 1 */
} PlanExchange;

/* What is tried. */
typedef struct {
    int64_t run[PLAN_SIDES]; /* elements side by side in the order of a side */
    int64_t other; /* elements along the dimension that is the fastest in another order */
    uint32_t warps;
    int64_t vector[PLAN_SIDES];
    int64_t neighbours; /* registers along the units, of the side that has no vector there */
    int64_t pixels;     /* .. or, of elements under a word, registers along the dimension after the common ones; 0: 1 */
    bool read_units;    /* the tile is stored in the order of reading */
} PlanWish;

/* A layout of a side. */
typedef struct {
    const PlanGroup *groups; /* [n] */
    uint32_t n, merged; /* the first group has so many dimensions */
    int64_t sizes[PLAN_EXCHANGE_DIMS * LAY_LEVELS];
    LayLevel orders[PLAN_EXCHANGE_DIMS][LAY_LEVELS];
    const LayWork *work; /* under other orders */
} PlanSide;

typedef struct {
    PlanWish wish;
    int64_t tile[PLAN_EXCHANGE_DIMS];             /* elements of the tile along each dimension of the space */
    PlanSide side[PLAN_SIDES];
    int64_t stride[PLAN_EXCHANGE_DIMS], elements; /* of the tile, without pads */
    int64_t aligned[PLAN_SIDES]; /* neighbours that one access of the tile has */
    int64_t joined[PLAN_SIDES];  /* .. of elements under a word, which the whole thread's accesses become together */
    PlanPad pads[PLAN_PADS];
    double registers; /* of a thread, estimated */
    bool apart;       /* the other side has registers along the units */
    LayTileWork access[PLAN_SIDES];
    double beyond[PLAN_SIDES]; /* of the wavefronts those that are not taken, as all their lanes are beyond the end */
    bool conflicts; /* the tile takes more wavefronts than its bytes do */
    bool parted;    /* a vector of wide elements takes several accesses, each of a part of its sectors */
} PlanExchanged;

/* exchange_find.c: the space, the order of reading, and the values that go through the tile; false: there are none. */
bool plan_exchange_find(PlanExchange *x);

/* exchange_sides.c: parts the outputs into those of either stage; false: all are of the second one. */
bool plan_exchange_sides(PlanExchange *x);
/* Are these outputs stored last, under that layout of the first stage? */
bool plan_exchange_sides_last(const PlanExchange *x, const Layout *l);

/* exchange_work.c */
PlanGroup *plan_exchange_groups(WbbArena *a, const HloShape *space); /* a group for each dimension */
/* A walk needs the values of the tile at the position w->at; or an output, if its memory is in the order of `space`:
 * the number of that need. */
void plan_exchange_values(const PlanExchange *x, PlanWalk *w);
uint32_t plan_exchange_output(const PlanExchange *x, PlanWalk *w, const HloShape *space, uint32_t output);
/* What a stage, or a loop over elements where kind is PLAN_ELEMENTS, loads, stores and computes for an
 * element of the space; over groups of its dimensions. */
LayWork plan_exchange_work(const PlanExchange *x, PlanKind kind, const PlanGroup *groups, uint32_t n);
/* A walk that is to begin, and the dimensions of its space. */
PlanWalk plan_exchange_walk(const PlanExchange *x, const PlanGroup *groups, uint32_t n);
LayDim *plan_group_dims(WbbArena *a, const PlanGroup *groups, uint32_t n);
/* A position, the slowest dimension first, as an index of a range's space. */
void plan_own_index(const HloShape *own, const IrRef *at, IrRef *index);

/* exchange_tile.c. order: the dimensions along which the tile is stored, the fastest first */
void plan_tile_strides(const PlanExchange *x, PlanExchanged *k, const uint32_t *order);
/* Wavefronts of a side in the mean of a block's warps, by enumeration of each lane in each access of each warp. Blocks
 * do not differ: a tile's places are those in the block. */
double plan_tile_enumerate(const PlanExchange *x, const PlanExchanged *k, int side);
int64_t plan_tile_step(const PlanExchanged *k); /* what pads are multiples of, so that accesses stay whole */
int64_t plan_tile_unit(const PlanExchanged *k, int side); /* neighbours that a side accesses at once */
int64_t plan_tile_elements(const PlanExchanged *k); /* with pads */
double plan_tile_bytes(const PlanExchange *x, const PlanExchanged *k);
/* Where, without pads, the lanes of a warp are in some of the accesses of a side. */
enum { PLAN_SAMPLES = 4 };
typedef struct {
    int64_t place[PLAN_SAMPLES][32];
} PlanTileSample;
void plan_tile_sample(const PlanExchanged *k, int side, PlanTileSample *sample);
/* Of a thread, and of a warp. sample: count the wavefronts of its accesses; NULL: as if there were no conflicts. */
LayTileWork plan_tile_work(const PlanExchange *x, const PlanExchanged *k, int side, const PlanTileSample *sample);

/* Of the wavefronts that a side takes, the part whose lanes are all beyond the end of the space. */
double plan_tile_beyond(const PlanExchange *x, const PlanExchanged *k, int side);

/* exchange_layout.c: elements that share a byte of an output that a side stores: a vector has all of them. */
uint32_t plan_exchange_group(const PlanExchange *x, int side);
/* The cheapest layouts, in `stages`, and the tile; false: a loop is cheaper. */
bool plan_exchange_layouts(const PlanExchange *x, const Layout *loop, PlanStage stages[2], PlanTile *tile,
                           LayChoice *choice);

/* loop_work.c. Of a range of a kernel that loops over elements: its space, the slowest dimension first; what it
 * accesses and computes. False: it has no space. */
bool plan_loop_space(WbbArena *a, const Plan *p, const PlanKernel *k, const PlanRange *r, const TgTarget *t,
                     PlanExchange *x);
LayWork plan_loop_work(const PlanExchange *x);
/* loop_price.c. Its price under a layout. */
LayPrice plan_loop_price(WbbArena *a, const LayRates *rates, const LayWork *w, const Layout *loop);
/* The same in two steps. sizes: [dimensions * LAY_LEVELS], of the levels along each of them. */
void plan_loop_sizes(WbbArena *a, const LayWork *w, const Layout *loop, int64_t *sizes);
LayPrice plan_loop_price_of(const LayRates *rates, const LayWork *w, const Layout *loop, const int64_t *sizes,
                            const LayNeeds *needs);
/* Under the layout that it has; us 0: there is no price. */
LayPrice plan_loop_range_price(WbbArena *a, const Plan *p, const PlanKernel *k, const PlanRange *r,
                               const TgTarget *t);
#endif

/* exchange: a stage that puts values into a tile of shared memory in one order, and one that gets them in another.
 *
 *
 *     exchange_work.c  exchange_tile.c     what a stage accesses in memory, and in the tile
 *     exchange_find.c  exchange_layout.c   values that go through the tile; layouts
 *     exchange_sides.c                     outputs that the first stage stores
 *     exchange.c                           the kernel
 *     loop_work.c      loop_price.c        what a loop in its place accesses and costs
 */
#ifndef PART_EXCHANGE_H
#define PART_EXCHANGE_H

#include "plan/walk.h"

enum { PART_EXCHANGE_DIMS = 16 }; /* of the space, at most */
#define PART_NO_DIM UINT32_MAX

/* The sides of an exchange, and its stages: to the tile, and from it. */
enum { PART_TO, PART_FROM, PART_SIDES };

/* What a kernel of elements needs, seen from one stage or from all its elements. */
typedef struct {
    WbbArena *a;
    const PartPlan *p;
    const TgTarget *t;
    uint32_t *outputs;
    uint32_t n_outputs;
    uint32_t *stored[PART_SIDES], n_stored[PART_SIDES]; /* of the outputs those that a stage stores */
    bool *crosses;                  /* [n_outputs] it needs a value of the tile */
    const HloShape *space;          /* the slowest dimension first */
    const PartRange *range;         /* of a loop: its own; NULL: of an exchange */
    const PartMade *made;           /* [n_made] what earlier launches have left in memory */
    uint32_t n_made;
    /* The same, in the memory order of an array that is read as read[] says: outputs of the first stage are so. */
    const HloShape *read_space;
    uint32_t read[PART_EXCHANGE_DIMS]; /* its dimensions in the order in which values are read, the fastest first */
    int64_t read_step[PART_EXCHANGE_DIMS]; /* by dimension: steps of the largest array that is read in that order */
    /* The fastest dimension of the largest array that is read in another order than both; PART_NO_DIM: there is
     * none. */
    uint32_t other;
    uint32_t common;                /* dimensions that are the fastest ones in both orders */
    PartCarried *values;
    uint32_t n_values, bits;        /* of the values at an element, in the tile */
    uint32_t in_word;               /* elements of the narrowest of them in 32 bits, at least 1 */
} PartExchange;

/* What is tried. */
typedef struct {
    int64_t run[PART_SIDES]; /* elements side by side in the order of a side */
    int64_t other; /* elements along the dimension that is the fastest in another order */
    uint32_t warps;
    int64_t vector[PART_SIDES];
    int64_t neighbours; /* registers along the units, of the side that has no vector there */
    int64_t pixels;     /* .. or, of elements under a word, registers along the dimension after the common ones; 0: 1 */
    bool read_units;    /* the tile is stored in the order of reading */
} PartWish;

/* A layout of a side. */
typedef struct {
    const PartGroup *groups; /* [n] */
    uint32_t n, merged; /* the first group has so many dimensions */
    int64_t sizes[PART_EXCHANGE_DIMS * PART_LEVELS];
    PartLevel orders[PART_EXCHANGE_DIMS][PART_LEVELS];
    const PartWork *work; /* under other orders */
} PartSide;

typedef struct {
    PartWish wish;
    int64_t tile[PART_EXCHANGE_DIMS];             /* elements of the tile along each dimension of the space */
    PartSide side[PART_SIDES];
    int64_t stride[PART_EXCHANGE_DIMS], elements; /* of the tile, without pads */
    int64_t aligned[PART_SIDES]; /* neighbours that one access of the tile has */
    int64_t joined[PART_SIDES];  /* .. of elements under a word, which the whole thread's accesses become together */
    PartPad pads[PART_PADS];
    double registers; /* of a thread, estimated */
    bool apart;       /* the other side has registers along the units */
    PartTileWork access[PART_SIDES];
    double beyond[PART_SIDES]; /* of the wavefronts those that are not taken, as all their lanes are beyond the end */
    bool conflicts; /* the tile takes more wavefronts than its bytes do */
    bool parted;    /* a vector of wide elements takes several accesses, each of a part of its sectors */
} PartExchanged;

/* exchange_find.c: the space, the order of reading, and the values that go through the tile; false: there are none. */
bool part_exchange_find(PartExchange *x);

/* exchange_sides.c: parts the outputs into those of either stage; false: all are of the second one. */
bool part_exchange_sides(PartExchange *x);
/* Are these outputs stored last, under that layout of the first stage? */
bool part_exchange_sides_last(const PartExchange *x, const PartLayout *l);

/* exchange_work.c */
PartGroup *part_exchange_groups(WbbArena *a, const HloShape *space); /* a group for each dimension */
/* A walk needs the values of the tile at the position w->at; or an output, if its memory is in the order of `space`:
 * the number of that need. */
void part_exchange_values(const PartExchange *x, PartWalk *w);
uint32_t part_exchange_output(const PartExchange *x, PartWalk *w, const HloShape *space, uint32_t output);
/* What a stage, or a loop over elements where kind is PART_ELEMENTS, loads, stores and computes for an
 * element of the space; over groups of its dimensions. */
PartWork part_exchange_work(const PartExchange *x, PartKind kind, const PartGroup *groups, uint32_t n);
/* A walk that is to begin, and the dimensions of its space. */
PartWalk part_exchange_walk(const PartExchange *x, const PartGroup *groups, uint32_t n);
PartDim *part_group_dims(WbbArena *a, const PartGroup *groups, uint32_t n);
/* A position, the slowest dimension first, as an index of a range's space. */
void part_own_index(const HloShape *own, const IrRef *at, IrRef *index);

/* exchange_tile.c. order: the dimensions along which the tile is stored, the fastest first */
void part_tile_strides(const PartExchange *x, PartExchanged *k, const uint32_t *order);
/* Wavefronts of a side in the mean of a block's warps, by enumeration of each lane in each access of each warp. Blocks
 * do not differ: a tile's places are those in the block. */
double part_tile_enumerate(const PartExchange *x, const PartExchanged *k, int side);
int64_t part_tile_step(const PartExchanged *k); /* what pads are multiples of, so that accesses stay whole */
int64_t part_tile_unit(const PartExchanged *k, int side); /* neighbours that a side accesses at once */
int64_t part_tile_elements(const PartExchanged *k); /* with pads */
double part_tile_bytes(const PartExchange *x, const PartExchanged *k);
/* Where, without pads, the lanes of a warp are in some of the accesses of a side. */
enum { PART_SAMPLES = 4 };
typedef struct {
    int64_t place[PART_SAMPLES][32];
} PartTileSample;
void part_tile_sample(const PartExchanged *k, int side, PartTileSample *sample);
/* Of a thread, and of a warp. sample: count the wavefronts of its accesses; NULL: as if there were no conflicts. */
PartTileWork part_tile_work(const PartExchange *x, const PartExchanged *k, int side, const PartTileSample *sample);

/* Of the wavefronts that a side takes, the part whose lanes are all beyond the end of the space. */
double part_tile_beyond(const PartExchange *x, const PartExchanged *k, int side);

/* exchange_layout.c: elements that share a byte of an output that a side stores: a vector has all of them. */
uint32_t part_exchange_group(const PartExchange *x, int side);
/* The cheapest layouts, in `stages`, and the tile; false: a loop is cheaper. */
bool part_exchange_layouts(const PartExchange *x, const PartLayout *loop, PartStage stages[2], PartTile *tile,
                           PartChoice *choice);

/* loop_work.c. Of a range of a kernel that loops over elements: its space, the slowest dimension first; what it
 * accesses and computes. False: it has no space. */
bool part_loop_space(WbbArena *a, const PartPlan *p, const PartKernel *k, const PartRange *r, const TgTarget *t,
                     PartExchange *x);
PartWork part_loop_work(const PartExchange *x);
/* loop_price.c. Its price under a layout. */
PartPrice part_loop_price(WbbArena *a, const PartRates *rates, const PartWork *w, const PartLayout *loop);
/* The same in two steps. sizes: [dimensions * PART_LEVELS], of the levels along each of them. */
void part_loop_sizes(WbbArena *a, const PartWork *w, const PartLayout *loop, int64_t *sizes);
PartPrice part_loop_price_of(const PartRates *rates, const PartWork *w, const PartLayout *loop, const int64_t *sizes,
                             const PartNeeds *needs);
/* Under the layout that it has; us 0: there is no price. */
PartPrice part_loop_range_price(WbbArena *a, const PartPlan *p, const PartKernel *k, const PartRange *r,
                                const TgTarget *t);
#endif

/* layout: which element of a space a thread has, and the maps that say so. README.md has the text of layouts. */
#ifndef LAY_LAYOUT_H
#define LAY_LAYOUT_H

#include "base/base.h"
#include "index/index.h"
#include "target/target.h"

/* --- layouts ---------------------------------------------------------------------------------------------------------
 * A layout says which element of a space a thread has: README.md has its text. Every dimension of the space is cut into
 * factors, each bound to a level. */
typedef enum {
    LAY_VECTOR,   /* neighbours of one thread */
    LAY_REGISTER, /* iterations of an unrolled loop */
    LAY_LOOP,     /* iterations of a real loop */
    LAY_LANE,     /* threads of a warp */
    LAY_WARP,     /* warps of a block */
    LAY_CLUSTER,  /* blocks of a cluster */
    LAY_GRID,     /* clusters, or blocks where there are none */
    LAY_LEVELS
} LayLevel;
extern const char *const lay_level_name[LAY_LEVELS];

typedef struct {
    LayLevel level;
    int64_t size;
    int column; /* in the text that it was read from; 0: none */
} LayFactor;

typedef struct {
    const char *name;
    int64_t size;
    bool reduced; /* its elements are combined */
    int column;
    /* innermost first, each level at most once. Their product is the size, or more: then the outermost factor is cut
     * short. */
    LayFactor factors[LAY_LEVELS];
    uint32_t n_factors;
} LayDim;

typedef struct {
    LayDim *dims;
    uint32_t n_dims;
    /* Of a level that several dimensions share: the dimensions, lowest digits first; NULL: in the order of dims. */
    const uint32_t *order[LAY_LEVELS];
    /* Of a reduction whose terms keep their order: the dimensions, those along which terms follow each other first;
     * NULL: in the order of dims. */
    const uint32_t *sequence;
    /* Not 0, of one dimension: the elements that fill no vector, the tail, have threads of their own after the others,
     * so many elements each. 0: vectors divide the dimension. */
    uint32_t tail;
} Layout;

/* The map of a layout, in two steps: `elements` after `threads`, or `tail` after `threads`. Between them is one number
 * for each dimension, which all iterations of a thread share; the emitter binds it to a variable. A thread whose
 * numbers are outside the domain of `elements` has elements of the tail, or none. */
typedef struct {
    const IxMap *threads;  /* (block, warp, lane) -> (t) */
    const IxMap *launched; /* (block, thread) -> (t): the same by the number of a thread in its block */
    const IxMap *elements; /* (t)[loop, register, vector] -> (index), ranges outermost first; NULL: all is tail */
    const IxMap *tail;     /* (t)[vector] -> (index); NULL: there is none */
} LayMaps;

/* layout.c */
int64_t lay_level_size(const Layout *l, LayLevel level); /* product of the factors of a level */
/* From TUNE: rows that a thread reads at least; the same where one warp needs the result; bytes that rows of lanes take
 * at most. */
typedef struct {
    int64_t rows, first, bytes;
} LayReads;
LayReads lay_reads(const TgTarget *t);
/* What a block's warps hand on, through shared memory. */
typedef struct {
    int64_t kept, kept_lanes, kept_warps; /* elements of a thread; lanes and warps with elements of their own, .. */
    int64_t lanes, warps;                 /* .. and those that share one */
    int64_t bytes;                        /* of a partial result */
    bool alone;                           /* nothing else is known of the kept elements that threads had */
    bool first;                           /* the first of the warps that share a result needs it, no others */
} LayHanded;
/* How: a row has an element for each kept element of the block, of a warp. Rows are one after the other if lanes have
 * elements of their own. */
typedef struct {
    bool parted;     /* threads take a kept element each, whatever they had */
    bool of_lanes;   /* a row is of lanes with the same reduced digits, which have combined nothing */
    /* of a kept element, neighbours, or the first lanes of the first warp: each reads some rows, and shuffles combine
     * what they have */
    int64_t readers;
    int64_t rows;    /* that each reads */
    int64_t pad;     /* elements after those, so that neighbours use all banks of shared memory */
} LayHanding;
LayHanding lay_handing(const LayHanded *x, const LayReads *limits);
int64_t lay_of_outer_lane(const LayDim *d); /* elements of a lane where no other level stands outside lanes; else 0 */
int64_t lay_part(const Layout *l, LayLevel level, bool reduced); /* of reduced dimensions, or kept ones */
const LayFactor *lay_factor(const LayDim *d, LayLevel level); /* NULL: it has none */
void lay_add_factor(LayDim *d, LayLevel level, int64_t size);  /* outermost; none of size 1 */
int64_t lay_size(const LayDim *d, LayLevel level);             /* of its factor; 1: it has none */
/* Dimension number k of those whose digits make the number of a term, the lowest digits first. */
static inline uint32_t lay_nth(const Layout *l, uint32_t k) { return l->sequence ? l->sequence[k] : k; }
/* What one step of dimension number `of` adds to the number of the lane, the warp or the block: the product of the
 * digits below its own. */
int64_t lay_weight(const Layout *l, uint32_t of, LayLevel level);
uint32_t lay_threads(const Layout *l);              /* of a block */
/* Threads of the tail. */
int64_t lay_tail(const Layout *l);
/* Fails where no kernel may have the layout: a dimension is not covered, a block is too large, .. */
void lay_check(WbbCx *cx, WbbArena *a, const Layout *l, const TgTarget *t);
void lay_fail(WbbCx *cx, int column, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);

/* layout_map.c: the maps of a layout that passed the check. Fails unless the map library proves that they have each
 * element of the space exactly once; each element of the kept dimensions is then had by the threads, and in the
 * iterations, that share it, once for each element of the reduced dimensions. */
LayMaps lay_maps(WbbCx *cx, RwCx *rw, WbbArena *a, const Layout *l);

/* layout_text.c: of a layout of a space, whose dimensions have no factors yet. Fails at layout:1:COLUMN. */
Layout lay_parse(WbbCx *cx, WbbArena *a, const char *text, const LayDim *space, uint32_t n_dims);
void lay_print(WbbBuf *out, const Layout *l);

#endif

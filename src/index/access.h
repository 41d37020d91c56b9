/* What the families of operations of access.c share: each says what it needs, where starts stand, and which element is asked for. */
#ifndef IX_ACCESS_H
#define IX_ACCESS_H

#include "index/index.h"

/* What an operation loops over and reads, while it is being listed. Sizes of 1 and starts of one value are listed too, so that the
 * functions of a family agree on numbers; access.c leaves them out of what the public sees. */
typedef struct {
    WbbArena *a;
    const HloInstruction *i;
    uint32_t operand; /* of a target: which operand's element is given; else unused */
    uint32_t output;  /* leaf of the result */
    struct { int64_t *items; uint32_t n, capacity; } sizes;
    struct { IxStart *items; uint32_t n, capacity; } starts;
} IxList;

typedef struct {
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const HloInstruction *i;
    uint32_t operand, output;
    const IrRef *from;  /* the index asked from */
    const IrRef *loops; /* one a listed size; the constant 0 where that is 1 */
    const IrRef *starts; /* one a listed start */
    IrRef *index;       /* to be filled */
    struct { IxConstraint *items; uint32_t n, capacity; } conditions;
    bool never;
} IxQuery;

typedef struct {
    void (*list)(IxList *l);                                       /* NULL: neither ranges nor starts */
    void (*start)(IxQuery *q, uint32_t k, IrRef component, IrRef *at); /* where listed start k stands; component: its place in a vector of starts */
    void (*access)(IxQuery *q);
} IxFamily;

/* access.c */
const IxFamily *ix_family(WbbArena *a, const HloInstruction *i);                          /* output to input; NULL: unknown */
const IxFamily *ix_target_family(WbbArena *a, const HloInstruction *i, uint32_t operand); /* input to output */
/* Both ways, for leaf `output` of the result. */
IxNeeds ix_family_needs(const IxFamily *f, WbbArena *a, const HloInstruction *i, uint32_t operand, uint32_t output);
void ix_family_start(const IxFamily *f, RwCx *rw, IxList of, uint32_t k, const IrRef *from, const IrRef *ranges, IrRef *at);
void ix_family_access(const IxFamily *f, RwCx *rw, IxList of, uint32_t rank, const IrRef *from, const IrRef *ranges, const IrRef *starts,
                      IxAccess *access);
/* Does operand `operand` hold starts? It has no access; of the index vector that it holds, `at` is the first start's place. */
bool ix_holds_starts(const HloInstruction *i, uint32_t operand);
bool ix_family_component(const IxFamily *f, RwCx *rw, IxList of, const IrRef *from, const IrRef *ranges, IrRef *at); /* false: no start is there */
/* Which dimension of operand `operand` counts the components of a vector of starts; -1: it holds none. */
int ix_vector_dimension(WbbArena *a, const HloInstruction *i, uint32_t operand);

/* query.c */
void ix_list_size(IxList *l, int64_t size);
/* A start in `dimension` of the operand that is indexed: clamped to 0 .. last; `open`: a window that begins elsewhere is skipped. */
void ix_list_start(IxList *l, uint32_t operand, uint32_t dimension, int64_t last, bool open);
void ix_require(IxQuery *q, IrRef expression, int64_t lo, int64_t hi);
IrRef ix_index(IxQuery *q, int64_t value);
IrRef ix_plus(IxQuery *q, IrRef x, int64_t by);
IrRef ix_minus(IxQuery *q, IrRef x, int64_t by); /* x - by: that is not x + -by for the least of all integers */
int64_t ix_pad_step(const HloPadding *p); /* how far apart a pad puts two elements; the largest integer only where there is one */
/* The exact quotient x / k, required to be one and to be in 0 .. n-1. */
IrRef ix_quotient(IxQuery *q, IrRef x, int64_t k, int64_t n);
bool ix_contains(HloInts list, int64_t d);
const HloShape *ix_leaf(WbbArena *a, const HloShape *s, uint32_t leaf); /* of a tuple; an array itself */

/* operand.c: the index of what lies at the same place in memory, whatever the layouts */
void ix_bitcast(RwCx *rw, WbbArena *a, const HloShape *from, const HloShape *to, const IrRef *index, IrRef *there);

/* access_move.c */
extern const IxFamily ix_elementwise, ix_moving, ix_pad, ix_concatenate, ix_bitcast_convert;
/* access_start.c */
extern const IxFamily ix_dynamic_slice, ix_dynamic_update, ix_gather, ix_scatter;
/* access_window.c */
extern const IxFamily ix_reduce, ix_window, ix_dot, ix_convolution, ix_select_scatter;
/* access_row.c */
extern const IxFamily ix_sort, ix_scan, ix_matrix, ix_transform, ix_batch_norm, ix_features;
/* target_move.c: the other way */
extern const IxFamily ix_to_same, ix_to_all, ix_to_broadcast, ix_to_moved, ix_to_pad, ix_to_concatenate, ix_to_bitcast_convert, ix_to_batch_norm;
/* access_start.c */
extern const IxFamily ix_to_slice_of, ix_to_update, ix_to_gather, ix_to_gathered_by, ix_to_scatter;
/* target_window.c */
extern const IxFamily ix_to_reduce, ix_to_window, ix_to_dot, ix_to_convolution, ix_to_select_scatter;
/* access_row.c */
extern const IxFamily ix_to_sort, ix_to_scan, ix_to_matrix, ix_to_transform, ix_to_features;

#endif

/* access.h: what access.c and the families of operations share. A family is the operations whose accesses have one
 * form. It has three functions: which ranges and starts there are, which element holds a start, which element an access
 * is to. */
#ifndef IX_ACCESS_H
#define IX_ACCESS_H

#include "index/index.h"

/* The ranges and starts of an operation, as its family lists them. Ranges of size 1 and starts of one value are listed
 * too, so that the functions of a family number them alike; access.c leaves them out of IxNeeds. */
typedef struct {
    WbbArena *a;
    const HloInstruction *i;
    uint32_t operand; /* the one whose element is given (input to output), or asked for */
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
    const IrRef *from;   /* the index of the given element */
    const IrRef *loops;  /* by listed size; the constant 0 where the size is 1 */
    const IrRef *starts; /* by listed start */
    IrRef *index;        /* the answer */
    struct { IxConstraint *items; uint32_t n, capacity; } conditions;
    bool never;
} IxQuery;

typedef struct {
    void (*list)(IxList *l); /* NULL: neither ranges nor starts */
    /* The index of the element that holds listed start k; component: its number in a vector of starts. */
    void (*start)(IxQuery *q, uint32_t k, IrRef component, IrRef *at);
    void (*access)(IxQuery *q);
} IxFamily;

/* access.c */
const IxFamily *ix_family(WbbArena *a, const HloInstruction *i); /* output to input; NULL: unknown */
/* Input to output. */
const IxFamily *ix_target_family(WbbArena *a, const HloInstruction *i, uint32_t operand);
/* As ix_needs, ix_start and ix_access, in the direction of the family, for leaf `output` of the result. */
IxNeeds ix_family_needs(const IxFamily *f, WbbArena *a, const HloInstruction *i, uint32_t operand, uint32_t output);
void ix_family_start(const IxFamily *f, RwCx *rw, IxList of, uint32_t k, const IrRef *from, const IrRef *ranges,
                     IrRef *at);
void ix_family_access(const IxFamily *f, RwCx *rw, IxList of, uint32_t rank, const IrRef *from, const IrRef *ranges,
                      const IrRef *starts, IxAccess *access);
/* The index of the first start that operand of.operand holds; false: it holds none. */
bool ix_family_component(const IxFamily *f, RwCx *rw, IxList of, const IrRef *from, const IrRef *ranges, IrRef *at);

/* query.c */
void ix_list_size(IxList *l, int64_t size);
/* A start in `dimension` of the operand that is indexed, clamped to 0 .. last; open: a window that begins elsewhere is
 * skipped, and the interval is one wider on each side. */
void ix_list_start(IxList *l, uint32_t operand, uint32_t dimension, int64_t last, bool open);
void ix_require(IxQuery *q, IrRef expression, int64_t lo, int64_t hi); /* adds a condition, unless facts prove it */
IrRef ix_index(IxQuery *q, int64_t value);
IrRef ix_plus(IxQuery *q, IrRef x, int64_t by);
IrRef ix_minus(IxQuery *q, IrRef x, int64_t by); /* x - by, also of the least integer */
/* the distance of two elements after a pad; the largest integer if it would be more */
int64_t ix_pad_step(const HloPadding *p);
/* The exact quotient x / k, required to be one and to be in 0 .. n-1. */
IrRef ix_quotient(IxQuery *q, IrRef x, int64_t k, int64_t n);
const HloShape *ix_leaf(WbbArena *a, const HloShape *s, uint32_t leaf); /* leaf of a tuple; an array is its own leaf */

/* access_move.c */
extern const IxFamily ix_elementwise, ix_moving, ix_pad, ix_concatenate, ix_bitcast_convert;
/* access_start.c */
extern const IxFamily ix_dynamic_slice, ix_dynamic_update, ix_gather, ix_scatter;
/* access_window.c */
extern const IxFamily ix_reduce, ix_window, ix_dot, ix_convolution, ix_select_scatter;
/* access_row.c */
extern const IxFamily ix_sort, ix_scan, ix_matrix, ix_transform, ix_batch_norm, ix_features;
/* target_move.c: the other way */
extern const IxFamily ix_to_same, ix_to_all, ix_to_broadcast, ix_to_moved, ix_to_pad, ix_to_concatenate,
    ix_to_bitcast_convert, ix_to_batch_norm;
/* access_start.c */
extern const IxFamily ix_to_slice_of, ix_to_update, ix_to_gather, ix_to_gathered_by, ix_to_scatter;
/* target_window.c */
extern const IxFamily ix_to_reduce, ix_to_window, ix_to_dot, ix_to_convolution, ix_to_select_scatter;
/* access_row.c */
extern const IxFamily ix_to_sort, ix_to_scan, ix_to_matrix, ix_to_transform, ix_to_features;

#endif

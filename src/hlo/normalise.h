/* normalise: a module rewritten for later modules, one small pass after the other; what the passes share.
 *
 * A module is immutable, so a pass makes another: each computation is copied instruction by instruction, operands first, and a
 * pass says of an instruction what stands in its place. What it says is built with the hlo_new_ functions below, which append to
 * the copy. The copy has what hlo.h promises of a parsed module: operands before users, ids and users counted, callees first,
 * names used once; new instructions carry the place in the text and the metadata of the one that they replace.
 *
 *     static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)       // add-dependency(x, token) is x
 *     {
 *         return i->opcode == HLO_ADD_DEPENDENCY ? hlo_mapped(b, i->operands[0]) : NULL;
 *     }
 */
#ifndef HLO_NORMALISE_H
#define HLO_NORMALISE_H

#include "hlo/inner.h"

typedef struct HloBuilder HloBuilder;

/* A pass of the kind that looks at one instruction after the other. */
typedef struct {
    /* A module in which it is true of no instruction is left as it is. NULL: the pass has looked itself. */
    bool (*applies)(const HloInstruction *i);
    /* What stands in the place of i: NULL for a copy of it, hlo_dropped for nothing. Its shape is that of i but for the layout. */
    HloInstruction *(*rewrite)(HloBuilder *b, const HloInstruction *i);
    const bool *const *marks; /* [computation][instruction] what the pass found out before, if anything */
} HloRewriter;

extern HloInstruction *const hlo_dropped;

typedef struct { HloInstruction **items; uint32_t n, capacity; } HloInstructions;

/* A computation under construction. */
struct HloBuilder {
    WbbCx *cx;
    WbbArena *arena;
    const HloModule *from;
    const HloComputation *source; /* being copied; NULL for a computation that a pass makes */
    HloComputation **made;        /* [from->n_computations] the copy of each, callees first */
    HloComputations *computations; /* of the new module, in order */
    HloInstructions list;
    HloInstruction **map;         /* [source->n_instructions] what stands for each */
    const HloInstruction *at;     /* being replaced: gives place, metadata and the stem of names; NULL in a new computation */
    WbbLoc loc;                   /* of what is made without it */
    WbbMap names;                 /* interned names that are taken in this computation */
    const bool *fused;            /* [from->n_computations] reached by a fusion, a call or for each element, at whatever depth */
    const bool *marks;            /* [source->n_instructions] of the rewriter */
    uint64_t *total;              /* instructions of the new module so far, all computations */
};

/* normalise_build.c: the copying ------------------------------------------------------------------------------------------- */
/* m itself if the pass applies to none of its instructions. */
const HloModule *hlo_rewrite(WbbCx *cx, WbbArena *a, const HloModule *m, const HloRewriter *w);
HloInstruction *hlo_mapped(const HloBuilder *b, const HloInstruction *old); /* what stands for an instruction of the source */
HloInstruction *hlo_copy(HloBuilder *b, const HloInstruction *i);         /* i itself, on what stands for its operands */
HloInstruction *hlo_copy_with_operands(HloBuilder *b, const HloInstruction *i, HloInstruction *const *operands);
/* The body of c, an old computation's copy, on these operands; the value of its root. NULL if the module would grow beyond
 * HLO_INLINE_LIMIT instructions: calls of calls can double at each step. */
HloInstruction *hlo_inline(HloBuilder *b, const HloComputation *c, HloInstruction *const *operands);
enum { HLO_INLINE_LIMIT = 1 << 20 };
const char *hlo_unique_name(HloBuilder *b, const char *wish); /* one that nothing has yet in the computation */
const bool *hlo_find_fused(WbbArena *a, const HloModule *m); /* HloBuilder.fused */
bool hlo_same_layout(const HloShape *x, const HloShape *y); /* of shapes that are the same otherwise */
/* A computation that the pass makes, callee of the one being built: parameters p0, p1, .. of these shapes, at the front of the
 * list of the builder returned; the rest comes from hlo_new_ calls on that. */
HloBuilder hlo_begin_computation(HloBuilder *caller, uint32_t n, const HloShape *const *parameters);
HloComputation *hlo_end_computation(HloBuilder *b, const char *name, HloInstruction *root);

/* normalise_new.c: one instruction more at the end of the copy. Shapes follow from the operands, with the default layout; none of
 * these looks for what was made before. */
HloInstruction *hlo_new(HloBuilder *b, HloOpcode op, const HloShape *s, uint32_t n, HloInstruction *const *operands);
HloInstruction *hlo_new_unary(HloBuilder *b, HloOpcode op, HloInstruction *x);
HloInstruction *hlo_new_binary(HloBuilder *b, HloOpcode op, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_compare(HloBuilder *b, HloDirection d, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_select(HloBuilder *b, HloInstruction *choice, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_convert(HloBuilder *b, HloInstruction *x, ScType type);        /* x if it has the type */
HloInstruction *hlo_new_scalar(HloBuilder *b, ScType type, double value);              /* a constant, rounded to its type */
/* Dimension d of x is dimension dimensions[d] of the result. */
HloInstruction *hlo_new_broadcast(HloBuilder *b, HloInstruction *x, const HloShape *like, const int64_t *dimensions, uint32_t n);
HloInstruction *hlo_new_splat(HloBuilder *b, HloInstruction *scalar, uint32_t rank, const int64_t *dims);
HloInstruction *hlo_new_iota(HloBuilder *b, ScType type, uint32_t rank, const int64_t *dims, int64_t along);
HloInstruction *hlo_new_reshape(HloBuilder *b, HloInstruction *x, uint32_t rank, const int64_t *dims); /* x if it has the dimensions */
HloInstruction *hlo_new_transpose(HloBuilder *b, HloInstruction *x, const int64_t *permutation); /* x if nothing moves */
HloInstruction *hlo_new_column(HloBuilder *b, HloInstruction *matrix, int64_t column); /* [n,k] to [n,1] */
HloInstruction *hlo_new_concatenate(HloBuilder *b, uint32_t n, HloInstruction *const *parts, int64_t along);
HloInstruction *hlo_new_reduce(HloBuilder *b, HloInstruction *x, HloInstruction *init, const int64_t *dimensions, uint32_t n, HloComputation *c);
HloInstruction *hlo_new_tuple(HloBuilder *b, uint32_t n, HloInstruction *const *parts);
HloInstruction *hlo_new_get_tuple_element(HloBuilder *b, HloInstruction *tuple, int64_t index);
void hlo_set_computation(HloBuilder *b, HloInstruction *i, const char *attribute, HloComputation *c); /* i calls c, and nothing else */
const char *hlo_ints_attribute(HloBuilder *b, const char *name, HloInts list);                       /* ", name={1,2}" */
/* The attributes of i are `text`, which begins with ", ", then its metadata. */
void hlo_set_attributes(HloBuilder *b, HloInstruction *i, const char *text);
HloComputation *hlo_new_adder(HloBuilder *b, ScType type); /* add of two scalars */

/* The passes; what each does is said at hlo_passes in normalise.c. --------------------------------------------------------- */
const HloModule *hlo_pass_async(WbbCx *cx, WbbArena *a, const HloModule *m);           /* normalise_inline.c */
const HloModule *hlo_pass_call(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_nested(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_map(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_identity(WbbCx *cx, WbbArena *a, const HloModule *m);        /* normalise_clean.c */
const HloModule *hlo_pass_barrier(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_size(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_copy(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_tuple(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_dead(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_broadcast(WbbCx *cx, WbbArena *a, const HloModule *m);       /* normalise_broadcast.c */
const HloModule *hlo_pass_clamp(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_batch_norm(WbbCx *cx, WbbArena *a, const HloModule *m);      /* normalise_batch_norm.c */
const HloModule *hlo_pass_select_and_scatter(WbbCx *cx, WbbArena *a, const HloModule *m); /* normalise_window.c */
const HloModule *hlo_pass_gather(WbbCx *cx, WbbArena *a, const HloModule *m);          /* normalise_gather.c */
const HloModule *hlo_pass_scatter(WbbCx *cx, WbbArena *a, const HloModule *m);

#endif

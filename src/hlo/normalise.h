/* normalise: what the passes over HLO modules share.
 *
 * An HLO module is immutable, so a pass makes another one: it copies each computation instruction by instruction,
 * operands first, and returns a replacement for some of them. Replacements are built with the hlo_new_ functions below,
 * which append to the copy. The copy has what hlo.h guarantees of a parsed HLO module: operands before users, ids,
 * numbers of users, callees first, unique names. New instructions have the location and the metadata of the instruction
 * that they replace.
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

/* A pass that rewrites instruction by instruction. */
typedef struct {
    /* The HLO module is returned as it is if this holds for no instruction. NULL: always rewrite. */
    bool (*applies)(const HloInstruction *i);
    /* The replacement of i, whose shape may differ in layout only; NULL: a copy of i; hlo_dropped: nothing. */
    HloInstruction *(*rewrite)(HloBuilder *b, const HloInstruction *i);
    const bool *const *marks; /* [computation][instruction] results of an analysis, for HloBuilder.marks; may be NULL */
    const uint32_t *const *same; /* the same, for HloBuilder.same */
    const void *arg;             /* for HloBuilder.arg */
} HloRewriter;

extern HloInstruction *const hlo_dropped;

typedef struct { HloInstruction **items; uint32_t n, capacity; } HloInstructions;

/* A computation under construction. */
struct HloBuilder {
    WbbCx *cx;
    WbbArena *arena;
    const HloModule *from;
    const HloComputation *source;  /* the computation being copied; NULL in a new computation */
    HloComputation **made;         /* [from->n_computations] the copy of each, callees first */
    HloComputations *computations; /* of the new HLO module, in order */
    HloInstructions list;          /* the new instructions */
    HloInstruction **map;          /* [source->n_instructions] the copy or replacement of each */
    /* the instruction being replaced: location, metadata and stem of names; NULL in a new computation */
    const HloInstruction *at;
    WbbLoc loc;                    /* location of new instructions if `at` is NULL */
    WbbMap names;                  /* interned names that are taken in this computation */
    const bool *fused;             /* [from->n_computations] hlo_find_fused */
    const bool *marks;             /* [source->n_instructions] HloRewriter.marks */
    const uint32_t *same;          /* [source->n_instructions] HloRewriter.same */
    const void *arg;               /* HloRewriter.arg */
    uint64_t *total;               /* instructions of the new HLO module so far, in all computations */
    uint64_t most;                 /* of these, where computations are inlined */
};

/* normalise_build.c: copying HLO modules --------------------------------------------------------------------------- */
/* m itself if w->applies holds for none of its instructions. */
const HloModule *hlo_rewrite(WbbCx *cx, WbbArena *a, const HloModule *m, const HloRewriter *w);
/* the copy or replacement of a source instruction */
HloInstruction *hlo_mapped(const HloBuilder *b, const HloInstruction *old);
HloInstruction *hlo_copy(HloBuilder *b, const HloInstruction *i);           /* i with its operands mapped */
HloInstruction *hlo_copy_with_operands(HloBuilder *b, const HloInstruction *i, HloInstruction *const *operands);
/* i with its operands as `map` has them, by id, under a name of its own */
HloInstruction *hlo_copy_by(HloBuilder *b, HloInstruction *const *map, const HloInstruction *i);
/* Inlines the copy of c, a computation of `from`, with these operands; the value of its root. NULL if the HLO module
 * would grow beyond HLO_INLINE_LIMIT instructions, or HLO_INLINE_TIMES as many as it has: nested calls can double the
 * size at each level. */
HloInstruction *hlo_inline(HloBuilder *b, const HloComputation *c, HloInstruction *const *operands);
enum { HLO_INLINE_LIMIT = 1 << 16, HLO_INLINE_TIMES = 8 };
/* Inlines the entry of m, a module that is not used otherwise and whose computations are then of the new one, with
 * these operands; the value of its root. A conversion to the type that a value has is that value. */
HloInstruction *hlo_inline_module(HloBuilder *b, const HloModule *m, HloInstruction *const *operands);
/* normalise_inline.c: the root of c, a computation of scalars, for each element of arrays of these dimensions in place
 * of its parameters. NULL: it is not elementwise, or the HLO module would grow beyond that limit. */
HloInstruction *hlo_map_body(HloBuilder *b, const HloComputation *c, HloInstruction *const *operands,
                             const HloShape *like);
/* `stem`, or stem.1, .. if it is taken in the computation */
const char *hlo_unique_name(HloBuilder *b, const char *stem);
/* [computation] it is called from a fusion or for each element, or by such a computation. */
const bool *hlo_find_fused(WbbArena *a, const HloModule *m);
bool hlo_same_layout(const HloShape *x, const HloShape *y); /* x and y have the same types and dimensions */
/* Begins a new computation that the one of `caller` will call. Returns a builder whose list begins with parameters p0,
 * p1, .. of these shapes; hlo_new_ calls on it add the rest. */
HloBuilder hlo_begin_computation(HloBuilder *caller, uint32_t n, const HloShape *const *parameters);
HloComputation *hlo_end_computation(HloBuilder *b, const char *name, HloInstruction *root);

/* normalise_new.c: each function appends a new instruction. Its shape follows from the operands and has the default
 * layout. */
HloInstruction *hlo_new(HloBuilder *b, HloOpcode op, const HloShape *s, uint32_t n, HloInstruction *const *operands);
HloInstruction *hlo_new_unary(HloBuilder *b, HloOpcode op, HloInstruction *x);
HloInstruction *hlo_new_binary(HloBuilder *b, HloOpcode op, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_compare(HloBuilder *b, HloDirection d, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_select(HloBuilder *b, HloInstruction *predicate, HloInstruction *x, HloInstruction *y);
HloInstruction *hlo_new_convert(HloBuilder *b, HloInstruction *x, ScType type);        /* x itself if it has the type */
/* a constant, rounded to `type` */
HloInstruction *hlo_new_scalar(HloBuilder *b, ScType type, double value);
HloInstruction *hlo_new_bits(HloBuilder *b, ScType type, uint64_t bits); /* its first 64; others are 0 */
HloInstruction *hlo_new_reverse(HloBuilder *b, HloInstruction *x, const int64_t *dimensions, uint32_t n);
/* Dimension d of x is dimension dimensions[d] of the result. */
HloInstruction *hlo_new_broadcast(HloBuilder *b, HloInstruction *x, const HloShape *like, const int64_t *dimensions,
                                  uint32_t n);
HloInstruction *hlo_new_splat(HloBuilder *b, HloInstruction *scalar, uint32_t rank, const int64_t *dims);
/* a constant for each element of `like` */
HloInstruction *hlo_new_number(HloBuilder *b, ScType type, double value, const HloShape *like);
HloInstruction *hlo_new_iota(HloBuilder *b, ScType type, uint32_t rank, const int64_t *dims, int64_t dimension);
/* x itself if it has the dims */
HloInstruction *hlo_new_reshape(HloBuilder *b, HloInstruction *x, uint32_t rank, const int64_t *dims);
/* x itself for the identity */
HloInstruction *hlo_new_transpose(HloBuilder *b, HloInstruction *x, const int64_t *permutation);
HloInstruction *hlo_new_column(HloBuilder *b, HloInstruction *matrix, int64_t column); /* [n,k] to [n,1] */
/* place k of the rows along a dimension: [3,n] to [1,n] */
HloInstruction *hlo_new_place(HloBuilder *b, HloInstruction *x, int64_t dimension, int64_t k);
/* stable, in the order of the comparator c */
HloInstruction *hlo_new_sort(HloBuilder *b, uint32_t n, HloInstruction *const *operands, int64_t dimension,
                             HloComputation *c);
/* slices [rank], which the instruction keeps; x itself if they are all of it */
HloInstruction *hlo_new_slice(HloBuilder *b, HloInstruction *x, const HloSlice *slices);
/* paddings [rank], which the instruction keeps */
HloInstruction *hlo_new_pad(HloBuilder *b, HloInstruction *x, HloInstruction *value, const HloPadding *paddings);
HloInstruction *hlo_new_concatenate(HloBuilder *b, uint32_t n, HloInstruction *const *parts, int64_t dimension);
HloInstruction *hlo_new_reduce(HloBuilder *b, HloInstruction *x, HloInstruction *init, const int64_t *dimensions,
                               uint32_t n, HloComputation *c);
HloInstruction *hlo_new_tuple(HloBuilder *b, uint32_t n, HloInstruction *const *parts);
HloInstruction *hlo_new_get_tuple_element(HloBuilder *b, HloInstruction *tuple, int64_t index);
/* i calls c alone */
void hlo_set_computation(HloBuilder *b, HloInstruction *i, const char *attribute, HloComputation *c);
/* ", name={1,2}" */
const char *hlo_ints_attribute(HloBuilder *b, const char *name, HloInts list);
/* The attributes of i are `text`, which begins with ", ", then the metadata of the instruction being replaced. */
void hlo_set_attributes(HloBuilder *b, HloInstruction *i, const char *text);
void hlo_set_permits(HloBuilder *b, HloInstruction *i, uint32_t permits); /* of a new one, which has no attributes */
/* one operation on two scalars of this shape */
HloComputation *hlo_new_combiner(HloBuilder *b, HloOpcode op, const HloShape *s, const char *name);

/* normalise.c: what a pass made of m, verified, without what it replaced, which no list of passes removes */
const HloModule *hlo_cleaned(WbbCx *cx, WbbArena *a, const HloModule *made, const HloModule *m);

/* The passes; hlo_passes in normalise.c says what each does. ------------------------------------------------------- */
const HloModule *hlo_pass_async(WbbCx *cx, WbbArena *a, const HloModule *m);           /* normalise_inline.c */
const HloModule *hlo_pass_call(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_nested(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_map(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_forward(WbbCx *cx, WbbArena *a, const HloModule *m);         /* normalise_clean.c */
const HloModule *hlo_pass_alone(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_size(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_copy(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_tuple(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_dead(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_broadcast(WbbCx *cx, WbbArena *a, const HloModule *m);       /* normalise_broadcast.c */
const HloModule *hlo_pass_clamp(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *hlo_pass_defined(WbbCx *cx, WbbArena *a, const HloModule *m);         /* normalise_defined.c */
const HloModule *hlo_pass_reduce(WbbCx *cx, WbbArena *a, const HloModule *m);          /* normalise_reduce.c */
const HloModule *hlo_pass_short_sorts(WbbCx *cx, WbbArena *a, const HloModule *m);     /* normalise_short.c */
const HloModule *hlo_pass_packed_sorts(WbbCx *cx, WbbArena *a, const HloModule *m);    /* normalise_packed.c */
const HloModule *hlo_pass_first(WbbCx *cx, WbbArena *a, const HloModule *m);           /* normalise_first.c */
const HloModule *hlo_pass_select_and_scatter(WbbCx *cx, WbbArena *a, const HloModule *m); /* normalise_window.c */
const HloModule *hlo_pass_scatter(WbbCx *cx, WbbArena *a, const HloModule *m);         /* normalise_scatter.c */
const HloModule *hlo_pass_independent(WbbCx *cx, WbbArena *a, const HloModule *m);     /* normalise_independent.c */
const HloModule *hlo_pass_hoist(WbbCx *cx, WbbArena *a, const HloModule *m);           /* normalise_hoist.c */
const HloModule *hlo_pass_stacked(WbbCx *cx, WbbArena *a, const HloModule *m);         /* normalise_stacked.c */
const HloModule *hlo_pass_equal(WbbCx *cx, WbbArena *a, const HloModule *m);           /* normalise_equal.c */
const HloModule *hlo_pass_results(WbbCx *cx, WbbArena *a, const HloModule *m);

#endif

/* graph: a computation as definitions: each array is a term over the variables of its own index.
 *
 *     GrGraph *g = gr_make(cx, arena, m->entry);
 *     gr_print(&b, g);
 *
 *     x[8, 1024]: f32 is parameter 0
 *     m[d0 < 8]: f32 := max.f32[k0 < 1024] x[d0, k0] from -inf:f32
 *     y[d0 < 8, d1 < 1024]: f32 := exp.f32(sub.f32(x[d0, d1], m[d0]))
 *
 * Terms are nodes of src/ir; a read is a `call` whose callee is the id of an instruction and whose arguments are an
 * index. Moves (reshape, transpose, broadcast, slice, ..) have no definition of their own: they are the index of the
 * read. What is elementwise, a pad or a concatenate and is read once stands in place. README.md has the rest.
 */
#ifndef GR_GRAPH_H
#define GR_GRAPH_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "index/index.h"
#include "ir/ir.h"
#include "rewrite/rewrite.h"

typedef enum {
    GR_VANISHED, /* nothing reads it: it stands in its reader's term, or it is a move or dead */
    GR_INPUT,    /* a parameter */
    GR_TERM,     /* at each index one element */
    GR_FOLD,     /* at each index `op` of the init and of the terms over the ranges, in any order */
    GR_WHOLE     /* known by its operation and operands alone */
} GrForm;

typedef struct {
    const HloInstruction *i;
    GrForm form;
    IrRef *at;        /* TERM, FOLD: [rank] the variables of its index; 0 where a dimension has one element */
    IrRef value;      /* TERM: the element at that index; FOLD: a term */
    ScOp op;          /* FOLD: what combines .. */
    ScType type;      /* .. elements of this type, to which terms and init belong; the result is converted */
    IrRef *ranges;    /* FOLD: [n_ranges] variables; the terms are those at all their values */
    uint32_t n_ranges;
    IrRef condition;  /* FOLD: of type pred, which terms there are; 0: all */
    IrRef init;       /* FOLD */
    IrRef *starts;    /* [n_starts] TERM, FOLD: variables that stand for elements (GrStart), in order of evaluation */
    uint32_t n_starts;
} GrDef;

/* An integer of an array that is part of an index: where a gather, a slice or an update starts. In indices a variable
 * without a definition, of kind IR_LET, stands for it. */
typedef struct {
    IrRef variable, value; /* the integer, clamped to the variable's interval */
} GrStart;

typedef struct {
    RwCx *rw; /* of the nodes */
    const HloComputation *c;
    GrDef *defs; /* by id of the instruction */
    struct { GrStart *items; uint32_t n, capacity; } starts; /* those that a start's value reads at stand before it */
    WbbMap places; /* by node of a term that stands in its reader: the read of its instruction that it would be */
} GrGraph;

/* graph.c: no term nests deeper than a limit, and terms together take space linear in the computation. */
GrGraph *gr_make(WbbCx *cx, WbbArena *a, const HloComputation *c);
const GrStart *gr_start_of(const GrGraph *g, IrRef variable); /* NULL: it is none of a start */
/* facts.c */
/* Appends what the value of a definition and its starts need, operands first. mark: by ref, all 0, and so again. */
void gr_nodes(WbbArena *a, const GrGraph *x, const GrDef *d, uint8_t *mark, IrRefs *nodes);
double gr_terms(const GrGraph *x, const GrDef *d); /* FOLD: of an element, those that the condition leaves out too */
/* n: by id, elements of outputs that are wanted, to which is added how often an element of each definition is evaluated
 * for them; returns operations and reads. Readers at their own index share a value, others each evaluate it. shared:
 * the terms of a fold of which one element is wanted count once, as threads may share them. */
double gr_evaluations(WbbArena *a, const GrGraph *x, bool shared, double *n);
double gr_operations(WbbCx *cx, WbbArena *a, const HloComputation *c); /* so for an element of each output */
/* axes.c: what is known of the operands of instructions, found once for each. */
typedef struct GrSight GrSight;
GrSight *gr_sight(WbbCx *cx, WbbArena *a);
enum { GR_ONE = -1, GR_OTHER = -2 }; /* of a dimension: it has one element; no dimension of the result has its index */
typedef struct {
    bool known;    /* indices tell which elements the result needs */
    bool in_order; /* element n, row by row, of as many as the result has, is what element n of the result needs */
    const int16_t *of; /* [rank] the dimension of the result with the same index, over all of both; GR_ONE; GR_OTHER */
} GrAxes;
/* Of operand k, an array. Of one that holds starts: where these are. */
GrAxes gr_axes(GrSight *s, const HloInstruction *i, uint32_t k);
/* rows.c */
/* Have two reductions terms of the same dimensions, of which they reduce the same? */
bool gr_same_reduced(const HloInstruction *x, const HloInstruction *y);
/* An array in row-major order as a matrix: its first dimensions are rows, the others columns. */
typedef struct { int64_t rows, columns; } GrMatrix;
bool gr_reduces_rows(const HloInstruction *i, GrMatrix *of); /* of several, of several elements each */
/* Is it a sum of each column, of f32 or narrower floats, in row-major order too? */
bool gr_sums_columns(const HloInstruction *i, GrMatrix *of);
/* laws.c */
typedef enum {
    GR_NO,    /* a test shows the opposite */
    GR_SEEMS, /* no test does, and that is no proof */
    GR_OPEN,  /* there are no tests */
} GrAnswer;
/* What the combiner leaves any value of the type as it is with, also -0; false: no value, or the operation is none. */
bool gr_identity(ScOp combiner, ScType t, uint64_t *bits);
/* Does a reduction of one array begin with a constant that its operation leaves any value as it is with? A sum also
 * with 0. */
bool gr_begins_neutral(const HloInstruction *fold);
bool gr_is_any(const HloInstruction *i); /* is it whether any of all elements of an array holds? */
/* Does the computation of a reduction give the same whichever two of three partial results it combines first? */
GrAnswer gr_associates(WbbCx *cx, WbbArena *a, const HloComputation *c);
/* 1 + the array of numbers of terms, if the reduction selects one of them and may do so in any order; else 0. */
uint32_t gr_numbered(WbbCx *cx, WbbArena *a, const HloInstruction *reduce);
/* arrays.c */
/* A normalised module in which the rules of patterns/arrays.py have fired, but those that are disabled in `with`, which
 * counts them (NULL: none is); m itself if none does. */
const HloModule *gr_arrays(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with);
/* The same for one graph, whose definitions change: those that are not needed any more are gone. */
void gr_apply(WbbArena *a, GrGraph *x);
/* options.c: a normalised module where folds are as an option has them with a number of theirs (by computation, NULL:
 * of none; by id, 0: none). with: as in gr_arrays; counted: it counts what fires, and says not only what is disabled */
const HloModule *gr_option(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *numbers, RwCx *with,
                           bool counted);
/* By id, of sums of a row whose terms are relative to another fold of it, as ROWS of patterns/arrays.py has them: that
 * fold. Both are in parts of the same size, or neither is. NULL: of others. */
const HloInstruction **gr_bases(WbbCx *cx, WbbArena *a, const HloComputation *c);
/* arrays.c: the same module where products of matrices in fusions are sums, too: of a fusion whose kernel is not for
 * tensor cores. with: says what is disabled. */
const HloModule *gr_sums(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with);
/* hlo_normalise, then what it leaves to terms but for rules. */
const HloModule *gr_prepared(WbbCx *cx, WbbArena *a, const HloModule *m);
/* The normal form of a module: gr_prepared, then the rules. with: as in gr_arrays. */
const HloModule *gr_normalise(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with);
/* moves.c: the passes for a module that is cut into kernels, of a normalised one: what they leave of a value depends on
 * all of its computation. */
const HloModule *gr_simplify(WbbCx *cx, WbbArena *a, const HloModule *m);
/* gr_prepared of what becomes one kernel, before the rules: a module without fusions, which no cut has prepared, is
 * simplified, too. Orders that kernels document name what is left. */
const HloModule *gr_of_kernel(WbbCx *cx, WbbArena *a, const HloModule *m);
/* hlo_run_pass, of any pass but those of every compile on terms */
const HloModule *gr_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name);
/* distinct.c, of scatters in canonical form of computation `of`; *x: as in gr_neighbours */
/* Does it state unique indices, of which there are any, or have such? Without, all windows are one, whatever the text
 * states. */
bool gr_is_unique(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *scatter, GrGraph **x);
/* Does the result of an instruction, a scatter, depend on the order of its updates? */
bool gr_needs_order(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *i, GrGraph **x);
/* labels.c, ordered.c: passes of hlo_passes */
const HloModule *gr_labels(WbbCx *cx, WbbArena *a, const HloModule *m);
const HloModule *gr_ordered(WbbCx *cx, WbbArena *a, const HloModule *m);
/* neighbours.c */
/* How many updates of a scatter of c that follow each other have equal indices, in the mean; 0: none are known;
 * HLO_SOME. A note of it (hlo_noted_neighbours) is believed. *x: the graph of c, made where it is asked and is NULL. */
int64_t gr_neighbours(WbbCx *cx, WbbArena *a, const HloComputation *c, const HloInstruction *scatter,
                      GrGraph **x);
/* The attributes of a scatter with a note of them, for a kernel that has the indices from another one. */
const char *gr_noted(WbbArena *a, const HloInstruction *scatter, int64_t neighbours);
/* A module in which each scatter has the note. */
const HloModule *gr_note_neighbours(WbbCx *cx, WbbArena *a, const HloModule *m);
/* parse.c: the text that gr_print writes. A definition is an instruction of which the graph alone is known. Bad text is
 * a wbb_fail with its place. */
GrGraph *gr_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n);
/* print.c */
void gr_print(WbbBuf *out, const GrGraph *g);
const char *const *gr_names(WbbArena *a, const GrGraph *g); /* by callee of a read */

/* element.c */
IrRef gr_element(RwCx *rw, const HloInstruction *i, const IrRef *operands); /* one elementwise operation, or a move */
/* HLO's convert; x itself where the types are equal */
IrRef gr_convert(IrGraph *g, ScType to, ScType from, IrRef x);
/* Signed integers that are the bits of floats: with all but the sign flipped below zero; its own inverse. */
IrRef gr_order_bits(IrGraph *g, ScType t, IrRef bits);
/* The total order of floats as that of integers, of *type, which becomes theirs. */
IrRef gr_order_key(IrGraph *g, ScType *type, IrRef x);
ScType gr_part_type(ScType t); /* of a complex number's parts; t itself where it has none */
/* The type in which the products of a dot or a convolution are summed: at least as wide as each factor and result. */
ScType gr_product_type(const HloInstruction *i);
IrRef gr_leaf(RwCx *rw, const HloInstruction *i, const IrRef *index); /* constant or iota */
/* The number of an element row by row, whatever the layout, as literals are stored. */
IrRef gr_row_major(RwCx *rw, const HloShape *s, const IrRef *index);
/* start.c */
/* The index that an integer is, as no operation on the way leaves its type, which facts say; 0: none is known. A select
 * whose condition facts decide is one of its operands, as where a negative index would count from the end. */
IrRef gr_index_of(RwCx *rw, IrRef integer);
/* The index that an integer is, clamped to lo .. hi; 0: facts do not say which, and *value is it, to be bound to a
 * variable. */
IrRef gr_start(RwCx *rw, IrRef integer, int64_t lo, int64_t hi, IrRef *value);
/* rounding.c: operations that are arithmetic on a float's own bits */
ScType gr_unsigned(uint32_t bits); /* the unsigned integer type of that width */
IrRef gr_reduce_precision(RwCx *rw, ScType t, IrRef x, uint32_t exponent_bits, uint32_t mantissa_bits);
IrRef gr_stochastic_convert(RwCx *rw, ScType to, ScType from, ScType random, IrRef x, IrRef bits);

#endif

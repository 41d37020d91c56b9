/* inner.h: what the files of graph/ share. */
#ifndef GR_INNER_H
#define GR_INNER_H

#include "graph/graph.h"

/* A variable of a definition's index in which a term knows two digits: fast + size of fast * slow. */
typedef struct {
    IrRef variable, slow, fast; /* 0: none */
} GrDigits;

/* Terms in parts that are made of arrays over one range. */
typedef struct {
    GrDigits of; /* that range, and a part and a place in it */
    IrRef there; /* which terms there are; 0: all */
    /* Of a read, or select(there, .., number): what is there, over that range, and the part that it is read in. */
    IrRefs nodes, values, parts;
} GrParts;

/* Definitions of a computation that rules changed. */
typedef struct {
    GrGraph *graph; /* NULL: none are, and `value` is not there */
    IrRef *value;   /* by id: the element at the definition's index; 0: it is as it was */
    GrDigits *digits; /* by id; NULL: of none */
    GrParts *parts;   /* by id; NULL: of none */
    uint32_t n;
    bool of_option; /* the order of a fold's terms is another, and not the one that its name stands for */
} GrChanged;

/* graph.c: GrGraph.places */
void gr_put_place(GrGraph *x, IrRef node, IrRef read);
IrRef gr_place_of(const GrGraph *x, IrRef node); /* 0: it has none */
/* root with nodes replaced, from[k] by to[k]. What stands in it for an instruction stands in the result, too. */
IrRef gr_replaced(WbbArena *a, GrGraph *x, IrRef root, const IrRef *from, const IrRef *to, uint32_t n);
/* A value of a definition, as its element, at the index of a read. */
IrRef gr_element_at(WbbArena *a, GrGraph *x, const GrDef *d, IrRef value, IrRef read);
void gr_drop_starts(WbbArena *a, const GrGraph *x, GrDef *d); /* those that it does not need; they stand in order */
/* arrays.c: a fold as one term; 0: no rule is about it, or what a start of it depends on is not seen in the term.
 * value, condition: those of its terms. */
IrRef gr_as_term(RwCx *rw, const GrDef *d, IrRef value, IrRef condition);
/* arrays.c: the fold whose combiner this is; OP_NONE */
ScOp gr_fold_of(ScOp combiner);
/* laws.c: does a fold from this init stay as it is with this term more? Of a sum the sign of a zero is not seen. */
bool gr_is_neutral(const IrGraph *g, ScOp combiner, ScType t, IrRef term, IrRef init);
bool gr_is_idempotent(ScOp combiner); /* the same term twice is that term */
/* windows.c: terms that depend on a range and another variable by number = step * variable + dilation * range alone.
 * value, condition (0: none): what they become; false: they do not. */
typedef struct {
    uint32_t range, variable;
    int64_t step, dilation; /* above 0 */
    IrRef number;           /* a new variable; low <= number < high, to which gr_bound adds conditions */
    int64_t low, high;
} GrWindow;
bool gr_find_window(WbbArena *a, GrGraph *x, uint32_t range, IrRef *value, IrRef *condition, GrWindow *w);
bool gr_bound(const GrGraph *x, IrRef condition, GrWindow *windows, uint32_t n);
/* Terms of a range up to variable + offset, or a suffix, from variable - offset on. */
typedef struct {
    uint32_t variable;
    int64_t offset;
    bool suffix;
} GrPrefix;
bool gr_find_prefix(const GrGraph *x, uint32_t range, IrRef condition, GrPrefix *p);
/* start.c: gr_index_of, of a term of any depth. */
IrRef gr_index_through(RwCx *rw, WbbArena *a, IrRef integer);
/* distinct.c: column c of an array of rows of integers as the index that it is in row *row, a variable or 0; 0: it is
 * none that is known. */
IrRef gr_column(WbbArena *a, GrGraph *x, const HloInstruction *indices, int64_t c, IrRef *row);
/* build.c: the module with these definitions, by computation; m itself if no instructions are known for any. */
const HloModule *gr_built(WbbCx *cx, WbbArena *a, const HloModule *m, const GrChanged *of);

#endif

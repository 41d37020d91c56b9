/* inner.h: what the files of emit/ share: frames, scopes, and the order in which values come to be.
 *
 * A value is asked for at an index and made by a frame, a small machine with steps. A step asks for one value that it needs
 * (emit_want) and goes on at its next step when the value is there, or finishes with its own (emit_done). So what the program nests
 * becomes a list of frames and never a stack of C calls.
 *
 *     pad at i:   step 0 opens `if 3 <= i < 11 {` and wants the operand at i - 3
 *                 step 1 turns to `} else {` and wants the padding
 *                 step 2 closes it and is done with its result
 */
#ifndef EMIT_INNER_H
#define EMIT_INNER_H

#include "emit/emit.h"

typedef struct EmitFrame EmitFrame;
typedef void (*EmitStep)(EmitValues *, EmitFrame *);

struct EmitFrame {
    EmitFrame *below; /* who asked; frames of no use are kept on a list by it */
    EmitStep step;
    const HloInstruction *i;
    uint32_t part;    /* which leaf of a tuple of results */
    uint32_t env;     /* the parameters' values; 0: the fusion's own, which are read from memory */
    const IrRef *index; /* [rank of i] */
    uint32_t at;      /* the next step */
    IrRef answer;     /* the value that it asked for last */
    IrRef *x;         /* values of operands */
    void *own;        /* what its kind keeps from step to step */
    uint32_t before, first; /* nodes that there were; instructions that had been made */
};

/* A block has one scope from its beginning and one more from each variable or result that it binds: a value may be used where the
 * scope is open that binds the last of what it depends on. Numbers grow with depth along a chain. */
typedef struct {
    uint32_t parent;
    IrBlock *block;
    bool open;
} EmitScope;

/* The last `if` of a block may take more results where the same condition comes again. */
typedef struct {
    IrStmt *s;
    uint32_t before, then_end, else_end;
} EmitIf;

typedef struct {
    const IxNeeds *needs;
    uint32_t cost;     /* nodes that the last making of its value took; the first: instructions that it was the first to need */
    uint32_t function; /* number + 1 of the function that makes it; 0: none */
    bool made;         /* once at least */
    bool growing;      /* its function is being made */
} EmitInfo;

struct EmitValues {
    WbbCx *cx;
    WbbArena *arena;
    RwCx *rw;
    IrGraph *g;
    IrKernel *k;
    const PartPlan *plan;
    EmitFrame *top, *spare;
    IrRef answer;          /* of the bottom frame */
    WbbMap memo;           /* values, by instruction and index */
    WbbMap lets;           /* variables that a `let` bound, by definition and interval */
    EmitInfo *info; /* by id, of the fusion's computation */
    struct { IrRef **items; uint32_t n, capacity; } envs; /* [parameters] values of called computations; 0: NULL */
    struct { const HloInstruction **items; uint32_t n, capacity; } tables; /* constants that are the kernel's last buffers */
    struct { EmitScope *items; uint32_t n, capacity; } scopes;
    struct { EmitIf *items; uint32_t n, capacity; } ifs;
    uint32_t scope; /* the open one that is deepest */
    uint32_t *home; /* by node: the scope from which it is there */
    uint8_t *heavy; /* by node: it reads memory or computes something slow, or needs one that does, down to what statements bind */
    uint32_t homes, homes_capacity; /* nodes known */
    uint32_t *var_home, *value_home; /* by number */
    uint32_t vars_capacity, values_capacity;
    uint32_t n_names, letters, first_node;
    uint32_t n_made; /* instructions of the fusion whose value was made */
    uint32_t apart; /* nodes made for functions, which do not count for who calls them */
};

/* value.c: frames ------------------------------------------------------------------------------------------------------------ */
/* Ask for leaf `part` of x, an instruction of the computation of f, at index (kept; NULL: of a scalar). f->answer is it at f's next
 * step. */
void emit_want(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index);
/* The same in another environment. */
void emit_want_in(EmitValues *e, EmitFrame *f, uint32_t env, const HloInstruction *x, uint32_t part, const IrRef *index);
void emit_done(EmitValues *e, EmitFrame *f, IrRef value); /* f is finished and gone */
void emit_remember(EmitValues *e, const EmitFrame *f, uint32_t part, IrRef value); /* another leaf at the same index */
uint32_t emit_env(EmitValues *e, uint32_t n, const IrRef *args);                     /* a new environment; args are copied */
const IxNeeds *emit_needs(EmitValues *e, const EmitFrame *f);
EmitFrame *emit_push(EmitValues *e, EmitStep step, const HloInstruction *i, uint32_t part, uint32_t env, const IrRef *index);
const char *emit_name(EmitValues *e, const char *stem); /* "d7" of a letter: one that nothing has yet */

/* scope.c: blocks ------------------------------------------------------------------------------------------------------------- */
uint32_t emit_enter(EmitValues *e, IrBlock *b);     /* open a block in the current scope; gives the scope to go back to */
void emit_switch(EmitValues *e, uint32_t scope);    /* that scope and its parents are open, and no other */
IrBlock *emit_block(const EmitValues *e);           /* where statements go now */
void emit_bound(EmitValues *e, IrRef leaf);         /* a variable or a value, bound by what now ends the block: opens its scope */
bool emit_is_there(EmitValues *e, IrRef value);     /* may it be used here? */
bool emit_is_heavy(EmitValues *e, IrRef value);
/* The index itself where facts put it in lo..hi, else a variable that does. */
IrRef emit_let(EmitValues *e, const char *stem, IrRef index, int64_t lo, int64_t hi);
/* An integer element, clamped to lo..hi, as an index. */
IrRef emit_start(EmitValues *e, IrRef integer, int64_t lo, int64_t hi);

/* address.c */
IrRef emit_place(EmitValues *e, IrRef place); /* the same place, with fewer divisions if that can be */

/* An `if` that is being made: emit_if; the values of its body; emit_else; those of the other; emit_end_if. */
typedef struct {
    IrStmt *s;         /* NULL: the condition is known, `known` says how, and code goes where it would go anyway */
    bool known;
    uint32_t outer, record; /* scope before it; number in e->ifs */
    uint32_t nodes;
} EmitChoice;
EmitChoice emit_if(EmitValues *e, IrRef condition); /* condition 0: true */
EmitChoice emit_if_of(EmitValues *e, IrRef condition, uint32_t n, const IrRef *values); /* with values from before that emit_seen will be asked for */
void emit_else(EmitValues *e, EmitChoice *c);
/* A value that is there before c, as its branches see it: c may be part of an `if` whose result that is. */
IrRef emit_seen(const EmitValues *e, const EmitChoice *c, bool then, IrRef value);
/* values[k] = the value of the taken branch; `then` or `otherwise` of a known condition is not looked at. */
void emit_end_if(EmitValues *e, EmitChoice *c, uint32_t n, const IrRef *then, const IrRef *otherwise, IrRef *values);

/* A `for` that is being made: acc[k] goes in, is what the body sees, and after emit_end_for what is there then. */
typedef struct {
    IrStmt *s;
    uint32_t outer;
} EmitLoop;
EmitLoop emit_for(EmitValues *e, const char *stem, int64_t n, uint32_t n_acc, IrRef *acc, IrRef *var); /* var in 0..n */
void emit_end_for(EmitValues *e, const EmitLoop *l, uint32_t n_acc, IrRef *acc);

/* An element in another type: joined operands may differ in precision. */
static inline IrRef emit_as(EmitValues *e, IrRef x, ScType t)
{
    return emit_convert(e->g, t, IR_SC(ir_at(e->g, x)->type), x);
}

/* choose.c: conditions as nodes of type pred; 0: always true. */
IrRef emit_between(EmitValues *e, IrRef x, WbbI128 lo, WbbI128 hi); /* inclusive */
IrRef emit_inside(EmitValues *e, const IxAccess *access);

/* bits.c, choose.c, function.c, reduce.c: the steps of each kind ------------------------------------------------------------------ */
void emit_step_pieces(EmitValues *e, EmitFrame *f);   /* pad, dynamic-update-slice */
void emit_step_concat(EmitValues *e, EmitFrame *f);
void emit_step_fold(EmitValues *e, EmitFrame *f);     /* reduce, reduce-window, dot, convolution */
void emit_step_map(EmitValues *e, EmitFrame *f);      /* the body at each element */
void emit_step_bits(EmitValues *e, EmitFrame *f);     /* bitcast and bitcast-convert to another width */
void emit_step_function(EmitValues *e, EmitFrame *f); /* makes the function of an instruction, then calls it */
void emit_call(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index);

#endif

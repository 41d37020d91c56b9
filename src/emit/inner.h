/* inner.h: what the files of emit/ share: frames, scopes, conditions and loops.
 *
 * A value is asked for at an index and computed by a frame, a small state machine. Its step asks for one value that it
 * needs (emit_want) and is called again when that is in f->result; or it moves on to its next state and is called again
 * at once; or it finishes with its own value (emit_done). So what the program nests becomes a list of frames and never
 * a stack of C calls.
 *
 *     pad at i:   state STARTS   opens `if 3 <= i < 11 {` and asks for the operand at i - 3
 *                 state INSIDE   goes on to `} else {` and asks for the padding
 *                 state OUTSIDE  closes it and finishes with its result
 *
 * A file calls only those above it:
 *
 *     names.c                             no frames, no scopes
 *     scope.c                             blocks, variables, `if`, `for`, `repeat`
 *     state.c                             which value a parameter of a called computation is
 *     address.c  frame.c                  offsets in memory; values on demand
 *     choose.c  bits.c                    steps of some operations
 *     function.c  held_array.c            of functions; of arrays that a thread holds
 *     steps.c                             what loops store whose steps are stored one by one
 *     control.c  loop.c  random.c         those of calls and branches; of loops; of random bits
 *     reduce.c                            those of reductions, which test conditions with choose.c
 *     value.c                             the step of each operation
 *     identity.c  memory.c                identities of operations; values in memory that threads share
 *     scatter.c  scatter_run.c  scatter_cells.c    updates of scatters
 *     share_terms.c  share_exchange.c  share_scan.c  share.c    stages whose threads share terms
 *     sort.c                              sorts
 *     product_values.c  product_operand.c  product_tiles.c  product.c  attention.c    products of matrices
 *     tile.c                              stages that exchange layouts
 *     kernel.c                            threads and stores
 */
#ifndef EMIT_INNER_H
#define EMIT_INNER_H

#include "emit/emit.h"
#include "ir/scopes.h"
#include "plan/steps.h"

typedef struct EmitFrame EmitFrame;
typedef void (*EmitStep)(EmitValues *, EmitFrame *);

struct EmitFrame {
    EmitFrame *caller; /* the frame that asked; NULL: emit_value. Of a spare frame: the next one */
    EmitStep step;
    const HloInstruction *i;
    uint32_t part;      /* which leaf of a tuple of results */
    uint32_t env;       /* the parameters' values; 0: the fusion's own, which are read from memory */
    const IrRef *index; /* [rank of i] */
    uint32_t state;     /* what the step does next: an enum of each kind of step, first 0 */
    uint32_t asked;     /* values that it has asked for in this state */
    IrRef result;       /* the value asked for last; 0: none in this state */
    IrRef *operands;    /* their values */
    void *data;         /* what its kind of step keeps */
    uint32_t origin;    /* of its nodes: of an instruction of the fusion itself its own, else its caller's */
    uint32_t nodes_before, computed_before; /* nodes there were when it was made; instructions that had been computed */
};

/* An `if` of emit_if. While it is the last statement of its block, another one of the same condition joins it. */
typedef struct {
    IrStmt *s;
    uint32_t before, then_end, else_end; /* scopes: around it, at the end of each branch */
} EmitIfRecord;

/* Of an instruction of the fusion, or of a leaf of one whose leaves may have several shapes. */
typedef struct EmitInfo {
    const IxNeeds *needs;
    /* nodes that its value took when it was last computed; the first time: instructions first computed for it */
    uint32_t cost;
    uint32_t function; /* number + 1 of the function that computes it; 0: none */
    bool computed;     /* at least once */
    bool in_progress;  /* its function is being made */
    struct EmitInfo *leaves; /* [leaves] where they may have several shapes; else NULL, and all leaves are one */
} EmitInfo;

/* An element of a loop's state that a thread holds: of a leaf, at an index that is known before the loop. */
typedef struct {
    uint32_t leaf;
    const IrRef *index;
} EmitSlot;

/* A value that a loop takes from before it. */
typedef struct {
    PlanValue v;
    uint32_t env;
    const IrRef *index;
} EmitWanted;

/* The state of a `while` in one thread: state.c, loop.c. */
typedef struct {
    const HloInstruction *loop;
    EmitSlot *slots;
    uint32_t n_slots, capacity;
    bool *whole;          /* by leaf: the thread holds all its elements */
    /* Of the search for slots: */
    bool discovering;     /* it is under way; else there are no new slots */
    bool again;           /* it must begin anew, since a leaf is held as a whole */
    bool failed;          /* the thread cannot hold what it needs of leaf failed_leaf */
    uint32_t failed_leaf;
    IrRef *carried;       /* [capacity] of each slot a value that stands for what the loop will carry */
    uint32_t outer_scope; /* around the loop */
    uint32_t first_env;   /* older environments, but 0, are of code around the loop */
    WbbMap stand_ins;     /* for values from before the loop */
    struct { EmitWanted *items; uint32_t n, capacity; } wanted; /* those values, where their index is known there */
    bool no_any;
    const HloInstruction *any; /* the condition holds where any of its elements does; NULL: it is another one */
} EmitState;

/* A loop whose steps are stored one by one, while it is made: steps.c. */
typedef struct {
    const PlanSteps *of;
    const IrRef *at;     /* [rank of the space] the thread's element of a step */
    bool open;           /* the loop is being made, and `now` has the results of the present step, by leaf */
    IrRef *now;
    uint32_t *outputs, n_outputs; /* that have an element of each step .. */
    IrRef *elements, *values;     /* .. and of the present one the number and the value of that element */
} EmitSteps;

/* A constant, and the number of the buffer that holds it. */
typedef struct {
    const HloInstruction *of;
    uint32_t buffer;
} EmitTable;

/* What the parameters of a computation are. */
typedef struct {
    const IrRef *values;             /* by number, of a body of scalars; NULL: */
    HloInstruction *const *operands; /* by number, in environment `outer` */
    uint32_t outer;
    uint32_t leaf;                   /* not so this leaf of parameter 0, */
    IrRef known;                     /* which has this value; 0: all leaves are */
    EmitState *state;                /* nor leaves of a loop's state that its body changes; NULL: no loop */
    const IrRef *slots;              /* by slot: the values of the elements that the thread holds */
    bool tests;                      /* it is the loop's condition */
} EmitEnv;

struct EmitValues {
    WbbCx *cx;
    WbbArena *arena;
    RwCx *rw;
    IrGraph *g;
    IrKernel *k;
    const Plan *plan;
    const PlanKernel *kernel; /* NULL: one that reads no value that an earlier launch has left */
    EmitStep (*step_of)(const HloInstruction *i); /* value.c */
    EmitStep function_step;                       /* function.c */
    EmitStep held_step;                          /* held_array.c */
    EmitFrame *top, *spare;
    IrRef result;          /* of the bottom frame */
    WbbMap memo;           /* values, by instruction and index */
    WbbMap lets;           /* variables that a `let` binds, by definition and interval */
    EmitInfo *info; /* by id, of the fusion's computation */
    const bool *reduced; /* by id: reductions of the shared stages that are being made; or NULL */
    /* index of the terms of these at which values are computed: they need results of its kept elements alone */
    const IrRef *place;
    struct { EmitEnv *items; uint32_t n, capacity; } envs; /* of called computations; 0: the fusion's own */
    WbbMap asked;          /* by instruction, environment, leaf: how often at indices that are not constant: state.c */
    WbbMap calls;          /* environments, by instruction, environment around it, and branch */
    EmitSteps *steps;      /* NULL: none are made */
    bool inlines;          /* no value becomes a function: all need values that are given at indices */
    EmitState *search;     /* the outermost loop whose slots are looked for; NULL: none is */
    /* constants that are buffers of the kernel; shared ones may follow */
    struct { EmitTable *items; uint32_t n, capacity; } tables;
    /* A block has one scope from its beginning and one more from each variable or result that it binds: a value may be
     * used where the scope is open that binds the last of what it depends on. Numbers grow with depth along a chain. */
    IrScopes scopes;
    struct { EmitIfRecord *items; uint32_t n, capacity; } ifs;
    uint32_t scope; /* the open one that is deepest */
    uint32_t *scope_of; /* by node: the scope from which it may be used */
    /* by node: it reads memory or computes something slow, or an operand does, down to what statements bind */
    uint8_t *costly;
    uint32_t n_known, known_capacity; /* nodes that both arrays know */
    uint32_t *var_scope, *value_scope; /* by number */
    uint32_t vars_capacity, values_capacity;
    uint32_t n_names, letters, first_node;
    uint32_t n_computed;     /* instructions of the fusion whose value was computed */
    PlanStraight straight;   /* all loops that became straight code */
    /* values of loops and branches of the text that were computed, and branches for these */
    uint32_t n_called, n_branches;
    uint32_t function_nodes; /* nodes of functions, which do not count for their callers */
};

/* names.c: "d7" of a letter, one that nothing in the kernel has yet. */
const char *emit_name(EmitValues *e, const char *stem);

/* state.c: what parameters are ----------------------------------------------------------------------------------- */
uint32_t emit_new_env(EmitValues *e, EmitEnv env);
uint32_t emit_env(EmitValues *e, uint32_t n, const IrRef *args); /* of these values, which are copied */
/* The one whose parameters are operands of i in `outer`; made when first asked for. */
uint32_t emit_env_of(EmitValues *e, const HloInstruction *i, uint32_t outer, uint32_t branch,
                     HloInstruction *const *operands);
/* The value of v, where it is a parameter that has one; else 0, and v, env and index say which value it is. */
IrRef emit_resolve(EmitValues *e, uint32_t *env, PlanValue *v, const IrRef **index);
/* The slot for an element, a new one if the search may add it; -1: there is none. */
int32_t emit_add_slot(EmitValues *e, EmitState *s, uint32_t leaf, const IrRef *index);
/* Is v, in the code of a loop that holds arrays whole, wanted at a second index that only the body knows, and small
 * enough that the thread computes all its elements and chooses? Counts what it is asked of. */
bool emit_is_whole(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index);
/* Elements that a thread has, each at an index that is known: of a leaf of a loop's state (values by slot), or of an
 * array that is computed whole (values by number). */
typedef struct {
    EmitState *state; /* NULL: of an array */
    uint32_t leaf;
    const IrRef *values;
} EmitHeld;
/* Element number `at` among lo .. hi-1: selects, by bisection. 0: there is no slot for one. */
IrRef emit_choose(EmitValues *e, const EmitHeld *h, IrRef at, int64_t lo, int64_t hi);
/* While slots are looked for: stands for a value from before the loop. */
IrRef emit_stand_in(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index);

/* frame.c: values on demand ----------------------------------------------------------------------------------- */
/* Ask for leaf `part` of x, an instruction of the computation of f, at index (kept; NULL: of a scalar). It is in
 * f->result when f's step is called again. */
void emit_want(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index);
/* The same in another environment. */
void emit_want_in(EmitValues *e, EmitFrame *f, uint32_t env, const HloInstruction *x, uint32_t part,
                  const IrRef *index);
/* Asks for the starts of f (integers that are operands), one a call, from the first call in a state on; true: all
 * are in starts[]. */
bool emit_starts(EmitValues *e, EmitFrame *f, const IxNeeds *needs, IrRef *starts);
/* Is it of the body of a loop or branch of the text, or of what these call? */
static inline bool emit_is_called(const EmitValues *e, uint32_t env)
{
    return env && !e->envs.items[env].values;
}
void emit_done(EmitValues *e, EmitFrame *f, IrRef value); /* f is finished and gone */
void emit_remember(EmitValues *e, const EmitFrame *f, uint32_t part, IrRef value); /* another leaf at the same index */
/* From now on v has this value at this index [rank]. */
void emit_give(EmitValues *e, PlanValue v, const IrRef *index, IrRef value);
/* emit_value in an environment. */
IrRef emit_value_in(EmitValues *e, uint32_t env, PlanValue v, const IrRef *index);
const IxNeeds *emit_needs(EmitValues *e, const EmitFrame *f);
EmitInfo *emit_info(EmitValues *e, const HloInstruction *i, uint32_t part); /* of an instruction of the fusion */
/* May the leaves of i have several shapes, so that each is computed by itself? */
bool emit_is_apart(const HloInstruction *i);
/* Calls the function of x, which it has; the call is in f->result. */
void emit_call(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index);

static inline void emit_next(EmitFrame *f, uint32_t state)
{
    f->state = state;
    f->asked = 0;
    f->result = 0;
}

/* scope.c: blocks --------------------------------------------------------------------------------------------- */
/* open a block in the current scope; gives the scope to go back to */
uint32_t emit_enter(EmitValues *e, IrBlock *b);
void emit_switch(EmitValues *e, uint32_t scope);    /* that scope and its parents are open, and no other */
IrBlock *emit_block(const EmitValues *e);           /* where statements go now */
void emit_store(EmitValues *e, uint32_t buffer, IrRef index, IrRef value); /* at the end of the open block */
/* a variable or a value, bound by what now ends the block: opens its scope */
void emit_bound(EmitValues *e, IrRef leaf);
bool emit_is_available(EmitValues *e, IrRef value); /* may it be used here? */
uint32_t emit_scope_of(EmitValues *e, IrRef value); /* from which it may be used */
/* The index itself where facts put it in lo..hi, else a variable that does. */
IrRef emit_let(EmitValues *e, const char *stem, IrRef index, int64_t lo, int64_t hi);
/* An index, or an integer element as one, that is known to be in lo..hi: a variable, one in a scope. */
IrRef emit_variable(EmitValues *e, const char *stem, IrRef x, int64_t lo, int64_t hi);
IrRef emit_nearest(EmitValues *e, IrRef x, int64_t n); /* x, or the nearest number of 0 .. n - 1 */
/* x where the condition holds, else y: one of them where that is known. */
IrRef emit_either(EmitValues *e, IrRef condition, IrRef x, IrRef y);
IrRef emit_unless_true(const EmitValues *e, IrRef condition); /* 0 where it always holds */
/* x, or bound - 1 where x is more, as a variable in 0 .. bound; *below: x < bound, 0: that always holds. */
IrRef emit_clamp(EmitValues *e, const char *stem, IrRef x, int64_t bound, IrRef *below);
/* An integer element, clamped to lo..hi, as an index. */
IrRef emit_start(EmitValues *e, IrRef integer, int64_t lo, int64_t hi);

/* An `if` that is being made: emit_if; the values of its body; emit_else; those of the other branch; emit_end_if. */
typedef struct {
    /* NULL: the condition is known, `known` says how, and the taken branch goes to the block around it */
    IrStmt *s;
    bool known;
    uint32_t outer, record; /* scope around it; number in e->ifs */
    uint32_t nodes;         /* there were before it */
} EmitIf;
EmitIf emit_if(EmitValues *e, IrRef condition); /* condition 0: true */
/* The same; values from before it will be asked of emit_in_branch. */
EmitIf emit_if_using(EmitValues *e, IrRef condition, uint32_t n, const IrRef *values);
void emit_else(EmitValues *e, EmitIf *c);
/* A value from before c as a branch of c has it: where c joined an `if` whose result the value is, what that branch
 * yields. */
IrRef emit_in_branch(const EmitValues *e, const EmitIf *c, bool then, IrRef value);
static inline bool emit_never(const EmitIf *c) { return !c->s && !c->known; } /* the first branch is never taken */
/* values[k] = the value of the taken branch; `then` or `otherwise` of a known condition is not looked at. */
void emit_end_if(EmitValues *e, EmitIf *c, uint32_t n, const IrRef *then, const IrRef *otherwise, IrRef *values);

void emit_close_if(EmitValues *e, EmitIf *c); /* of an `if` without another branch that results in nothing */

/* A `for` that is being made: emit_for takes initial values in acc[k] and leaves what the body has; emit_end_for
 * takes what the body yields and leaves the results. What runs once is no loop, but its body alone. */
typedef struct {
    IrStmt *s; /* NULL: it runs once, or was not opened */
    uint32_t outer;
} EmitLoop;
EmitLoop emit_for(EmitValues *e, const char *stem, int64_t n, uint32_t n_acc, IrRef *acc, IrRef *var); /* var in 0..n */
void emit_end_for(EmitValues *e, const EmitLoop *l, uint32_t n_acc, IrRef *acc);
/* Opens a loop of lanes; returns their number. emit_switch closes it. */
IrRef emit_lanes(EmitValues *e, uint32_t lanes);
/* The same for a `repeat`, whose condition the caller sets. */
EmitLoop emit_repeat(EmitValues *e, uint32_t n_acc, IrRef *acc);

/* address.c: the same offset, with fewer divisions if that can be. */
IrRef emit_address(EmitValues *e, IrRef offset);

/* An element in another type: joined operands may differ in precision. */
static inline IrRef emit_as(EmitValues *e, IrRef x, ScType t)
{
    return gr_convert(e->g, t, IR_SC(ir_at(e->g, x)->type), x);
}

/* choose.c: conditions as nodes of type pred; 0: always true. */
IrRef emit_inside(EmitValues *e, const IxAccess *access);

/* steps.c: the index at which the update of a leaf that is stacked has the thread's element of a step. */
const IrRef *emit_step_result(EmitValues *e, uint32_t leaf);
/* Asks for the element of output n of those that have one of each step; then stores them all. */
void emit_want_stepped(EmitValues *e, EmitFrame *f, uint32_t n, IrRef iteration);
void emit_store_stepped(EmitValues *e);

/* identity.c: a constant that changes no x in op(x, constant), by rules; false: none is known. */
bool emit_find_identity(const EmitValues *e, ScOp op, ScType t, IrRef *identity);

/* memory.c: values in memory that threads share ----------------------------------------------------------------- */
ScType emit_part_type(ScType t); /* in which memory holds a part of a value of type t */
uint32_t emit_parts_of(ScType t);
uint32_t emit_split(const EmitValues *e, IrRef x, ScType t, IrRef *parts); /* the parts of a value; returns how many */
IrRef emit_join(const EmitValues *e, const IrRef *parts, ScType t);
IrRef emit_word_of_complex(const EmitValues *e, IrRef z); /* u64 of a c64, the real part in its low half */
IrRef emit_complex_of_word(const EmitValues *e, IrRef word);
/* n lanes, a power of two, of which the first n_values have values; the others are 0. */
IrRef emit_packed(const EmitValues *e, const IrRef *values, ScType t, uint32_t n, uint32_t n_values);
void emit_barrier(EmitValues *e); /* of the block's threads */
/* A new buffer of the kernel; returns its number. Before any table is made. */
uint32_t emit_add_buffer(EmitValues *e, const char *stem, IrSpace space, ScType t, int64_t elements, bool zeroed);

/* ticket.c: blocks that share a result, in groups; is it the last of its group's, which sees what all have stored? */
typedef struct {
    uint32_t turn, last; /* buffers: numbers to be drawn; the one that the block has drawn */
} EmitTickets;
EmitTickets emit_add_tickets(EmitValues *e, int64_t groups); /* without `last`, which is shared, not in memory */
uint32_t emit_add_last(EmitValues *e); /* several tickets of a kernel may have one */
IrRef emit_is_last(EmitValues *e, const EmitTickets *t, IrRef tid, IrRef group, int64_t blocks);

/* tile.c: the stages of a range that exchange layouts through a tile, which adds buffers to the kernel. */
void emit_tiles(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* scatter_run.c: update number `element` of a stage's scatter, or the run of them that has this number in the space. */
void emit_scatter(EmitValues *e, const PlanStage *stage, const HloShape *space, IrRef element);

/* scatter_cells.c: a range of a scatter whose blocks combine their updates in shared memory first. */
void emit_scatter_cells(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* share.c: the stages of a range whose threads share the terms of reductions, which add buffers to the kernel. */
void emit_shared(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* product.c: a dot whose products tensor cores add. */
void emit_product(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* attention.c: two of these, and what stands between them. */
void emit_attention(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* sort.c: a launch of a sort. */
void emit_sort(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid);

/* choose.c, bits.c, function.c, held_array.c, reduce.c: the steps of each kind ------------------------------------ */
void emit_step_held_array(EmitValues *e, EmitFrame *f);
void emit_step_pad(EmitValues *e, EmitFrame *f);      /* pad, dynamic-update-slice */
void emit_step_concat(EmitValues *e, EmitFrame *f);
void emit_step_reduce(EmitValues *e, EmitFrame *f);   /* reduce, reduce-window, dot, convolution */
void emit_step_map(EmitValues *e, EmitFrame *f);      /* the body at each element */
void emit_step_call(EmitValues *e, EmitFrame *f);     /* call, fusion */
void emit_step_conditional(EmitValues *e, EmitFrame *f);
void emit_step_while(EmitValues *e, EmitFrame *f);
void emit_step_random(EmitValues *e, EmitFrame *f);   /* rng-bit-generator */
void emit_step_bits(EmitValues *e, EmitFrame *f);     /* bitcast and bitcast-convert to another width */
void emit_step_function(EmitValues *e, EmitFrame *f); /* makes the function of an instruction, then calls it */

#endif

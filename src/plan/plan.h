/* plan: the plan of a fusion: its kernels, what each iterates over, and which elements a thread has. No code is
 * made. Every number carries its reason, for --explain. A fusion that no emitter handles is declined here, with a
 * reason.
 *
 *     Plan plan = plan_fusion(cx, arena, &fusion, target, (PlanOptions){.align = 16});
 *     plan.kernels[0].ranges[0].stages[0].layout       elements: vector 8, lane 32, warp 4, grid 12288
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "layout/layout.h"
#include "target/target.h"

typedef struct {
    uint32_t align;     /* of the first byte of every buffer; 0: 16 */
    const char *layout; /* text of the layout that the kernel must have; NULL: chosen */
    bool no_in_place;   /* every output has a buffer of its own */
    const struct PlanGiven *given; /* the strategy that is followed (given.h); NULL: one is chosen */
    uint32_t without;   /* strategies that are not tried, as bits of their numbers: of a part of a plan that was cut */
    bool flush;         /* sums of f32 in memory may take subnormals for 0 */
    bool deterministic; /* pass `ordered` has run: one thread combines the updates of an element */
    uint32_t column_sums; /* so many results, the last ones, are sums of columns whose rows this kernel reduces
                             (plan_across); it is declined where they are not */
} PlanOptions;

typedef HloValue PlanValue;

typedef struct {
    const char *name; /* letters, digits, '_', '.', '-'; unique in the plan */
    const HloShape *shape;
    int64_t elements;
    bool output;
    int32_t alias;    /* of an output in place: the operand whose memory it has; -1: memory of its own */
    bool temporary;   /* of the launches alone; then not an output */
    bool many;        /* an element may be stored to any number of times */
    bool zeroed;      /* of a temporary: zero before the first launch; launches leave it zero */
} PlanBuffer;

/* --- plans -----------------------------------------------------------------------------------------------------------
 * A plan has kernels, a kernel has launch ranges, a launch range is a list of stages over one space. */
typedef enum {
    PLAN_ELEMENTS,    /* every element of the outputs, in the order of output `outputs[0]` */
    /* of one output, what some operands of a concatenate give: for each of starts the elements whose index in
     * dimension `dim` is in start .. start + size of space */
    PLAN_CONCATENATE,
    PLAN_UPDATE,      /* the elements that a dynamic-update-slice replaces, in place */
    PLAN_SCATTER,     /* the updates of a scatter, each combined with the element that its indices name */
    /* elements of outputs that a loop of the text leaves in each iteration, of one step after the other, and of outputs
     * that need its last state; the space is a step */
    PLAN_STEPS,
    /* stages of a kernel whose threads share the terms of reductions, over the space of these terms: */
    PLAN_REDUCE,      /* results of reductions; and elements of outputs of full shape, in passing */
    PLAN_MAP,         /* elements of outputs of full shape, which need results of the stages before */
    PLAN_RESULTS,     /* elements of outputs that have one for each result */
    /* the last one: sums over so many neighbouring kept elements, those of a block, of values of full shape: the other
     * way round. Its layout has the kept dimension as the reduced one, and its space is that of these sums */
    PLAN_ACROSS,
    PLAN_SORT,        /* results of a sort; and elements of outputs of their shape */
    PLAN_PRODUCT,     /* results of a dot that tensor cores compute; and elements of outputs, each from one of them */
    PLAN_SCAN,        /* results of scans, each at its own position; and elements of outputs of full shape */
    /* stages of a kernel that exchanges layouts through a tile of shared memory: */
    PLAN_PUT,         /* values go to the tile, in the order in which memory has what they need */
    PLAN_GET,         /* elements of outputs, which follow from them, in the order of the outputs */
} PlanKind;

/* A reduction of a stage. */
typedef struct {
    const HloInstruction *i;
    bool commutes; /* its terms may be taken in any order */
    uint32_t number; /* 1 + the array by which two partial results are put in order to be combined; 0: they need not */
    HloScan scan; /* PLAN_SCAN */
    /* Not SC_NONE, of one array: the type of its partial results, wider than that of the array. Terms and initial value
     * are converted to it, and the result is converted once. */
    ScType sum;
    ScOp redux; /* the instruction that combines all lanes of a warp, if the target has one; else OP_NONE */
} PlanReduce;

/* What a launch of a sort does: the first one sorts tiles of rows, each further one merges runs of the one before.
 * Where outputs have but the head of each row, it leaves the heads of tiles, and each further launch sorts those of
 * `group` neighbours and leaves the head of these. */
typedef struct {
    const HloInstruction *i;
    uint32_t dim;
    int64_t rows, length;
    int64_t first, stored;  /* of each row the places first .. first + stored are in the outputs */
    uint32_t *keys, n_keys; /* operands that the comparator reads */
    ScType position;        /* type of the position in the row that an element had */
    /* Not NULL: the order is that of this number of an element, computed of operand `word_operand`; with `falls`, of
     * its complement. What moves is it above so many bits of the position (0: it tells all of the element), no keys. */
    const HloInstruction *word;
    uint32_t word_operand, position_bits;
    bool falls;
    uint32_t bits; /* a thread has 2^bits elements in registers, or fewer where rows are shorter */
    int64_t tile;           /* elements of a row that a block sorts: all, or a power of two */
    int64_t merged;         /* elements that a block of a later launch merges: a power of two, of at least 32 */
    int64_t block_rows;     /* rows that a block sorts: a power of two */
    int64_t head, group;    /* elements of a head, heads that a block of a later launch sorts; 0: runs are merged */
    int64_t spare;          /* of a head: the part of its places that are kept is one of so many, or all are */
    uint32_t searches;      /* of a warp at once, at most, where a block of a later launch looks for its part */
    int64_t room;           /* elements of a row in temporaries: all, or those of the heads of its tiles */
    uint32_t pass, passes;  /* 0: sorts; pass k of `passes` merges runs of tile << (k - 1) */
    /* With passes: the first buffer of two sets of temporaries, the parts of each key, then positions. Pass k reads
     * set (k - 1) % 2 and writes the other, but the last one writes outputs. */
    uint32_t temps[2];
} PlanSort;

/* Which element of an output belongs to a position in the space of a shared stage: that of path[0] at the position, or
 * at its kept dimensions, seen through the views and elementwise operations path[1] .. path[n - 1], of which the last
 * one is the output's value; or the one at the same address as in an array of the position's shape. */
typedef struct {
    const HloInstruction **path;
    uint32_t n;
    const HloShape *bitcast, *shape; /* not NULL: there is no path: the shape of positions, and of the output */
    bool kept; /* path[0] has the shape of a result */
} PlanPath;

/* A dimension of the space of a reduction's terms: neighbouring dimensions of its operands, the slowest first. */
typedef struct {
    LayDim dim;  /* without factors */
    uint32_t *of, n;
} PlanGroup;

/* How a thread combines its updates with elements that other threads may update. */
typedef enum {
    PLAN_SET,    /* the element becomes the update, in one store */
    PLAN_ATOMIC, /* one instruction, PlanStage.atomic */
    PLAN_SUM,    /* the same, a sum of f32, and what it lost of subnormals is added by compare and swap */
    PLAN_FLOAT_ORDER, /* minimum and maximum of floats: instructions on integers, whose order is that of the floats */
    PLAN_CAS,    /* compare and swap, again until no other thread came between */
    PLAN_PLAIN,  /* no two updates meet: a load, if it is needed, and a store */
    PLAN_RUN,    /* the thread of the first of an element's updates combines all, which are neighbours */
    PLAN_LOCK    /* a lock for each element, around a load and a store */
} PlanCombine;

/* A stage computes elements of full shape and stores them. Its layout has one dimension, "elements": the number of an
 * element in the space, in memory order. */
typedef struct {
    PlanKind kind;
    uint32_t *outputs, n_outputs;
    uint32_t dim;                 /* PLAN_CONCATENATE */
    /* [n_starts] of operands of one shape: a thread computes the same element of each, and once what they share */
    int64_t *starts;
    uint32_t n_starts;
    const HloInstruction *update; /* PLAN_UPDATE: the dynamic-update-slice; PLAN_SCATTER: the scatter */
    /* PLAN_ELEMENTS: what is stored, [n_outputs], each in the layout of this shape; NULL: values of outputs */
    const PlanValue *values;
    const HloShape *const *shapes;
    /* PLAN_SCATTER. word: the type in which memory is accessed, which has one element or more; SC_NONE: its own */
    PlanCombine combine;
    ScOp atomic;
    ScType word;
    bool in_pair;   /* with its neighbour, to which -0 is added */
    bool reads_first; /* minimum, maximum: updates that change nothing do not go to memory */
    /* A thread combines so many neighbours, as long as they have one element, before it goes to memory; 0, 1: it does
     * not. The space then has the updates' dimensions, of the first one as many as there are runs. */
    uint32_t run;
    const char *why_run;
    int64_t neighbours; /* that have one element, as gr_neighbours says */
    uint32_t at_once;   /* PLAN_RUN: updates that a thread waits for together */
    const struct PlanCells *cells; /* scatter.h; NULL: updates go to memory one by one */
    const struct PlanSteps *steps; /* PLAN_STEPS: steps.h */
    uint32_t lock;  /* PLAN_LOCK: number of the buffer */
    uint32_t first; /* of the scatter's results, the one of outputs[0] */
    /* Stages that share: the space is that of the terms, the same in all stages of a range, as are layout and maps. */
    const PlanGroup *space;
    uint32_t n_space;
    const PlanSort *sort;         /* PLAN_SORT */
    PlanReduce *reduces;          /* PLAN_REDUCE, PLAN_SCAN */
    uint32_t n_reduces;
    PlanPath *paths;              /* [n_outputs] */
    /* elements that share a byte of an output, so that one thread must have them; 1 for types of 8 bits and more */
    uint32_t packed_group;
    Layout layout;
    LayMaps maps;
    /* Indices are those of block and thread, not of the thread's number: a block has one row of the space, whose number
     * is the block's, the column being the thread's; or a warp has elements side by side. */
    bool plain_number;
    const char *why_vector, *why_register;
} PlanStage;

/* A value that goes through a tile: of output `output` the root is path[0], and path[k + 1] is operand operands[k] of
 * path[k], at an index that is a function of the one before; path[n - 1] is the value. */
typedef struct {
    uint32_t output;
    const HloInstruction **path;
    uint32_t *operands, n;
    PlanValue value;
} PlanCarried;

/* So many elements are left out after each `period` of a tile, a multiple of what is accessed at once. */
typedef struct {
    int64_t pad, period; /* pad 0: none */
} PlanPad;
enum { PLAN_PADS = 2 };

/* Elements of a block between two stages. An element at local position p of the space, from the first of the block on,
 * has number l = sum of stride[d] * p[d], and is at l + the sum of pad * (l / period) over the pads, so that the lanes
 * of a warp use all banks of shared memory in both stages. */
typedef struct {
    const HloShape *space; /* dimensions of the outputs' elements in the order of memory, finer than their own */
    const HloShape *read_space; /* the same in the memory order of outputs that the first stage stores */
    bool sides_last, guarded; /* these come last, after all values; threads beyond the end put nothing */
    int64_t *stride;       /* [rank of space] */
    int64_t elements;      /* all, with those of padding */
    PlanPad pads[PLAN_PADS];
    uint32_t n_values;
    PlanCarried *values;   /* each has a tile */
    const char *why;       /* what it takes, and a loop would */
    const struct LayPrice *loop; /* of a loop in its place, by the same dimensions: finer than the loop's own */
} PlanTile;

/* Blocks first_block .. first_block + blocks - 1 of a launch run these stages. */
typedef struct {
    const HloShape *space;
    int64_t elements; /* of space */
    /* Of threads that share: a reduction whose first operand has the shape of the space; and by id of an instruction,
     * is it a reduction of these stages? NULL: a loop. */
    const HloInstruction *hero;
    bool *reduced;
    const struct LayChoice *choice; /* of their layout, with prices: pricing.h; NULL: it was given */
    const struct LayPrice *given; /* of the layout, if it was given; else NULL */
    const struct LayPrice *price; /* of a sort, a product, or updates of a scatter, which no layout says; else NULL */
    bool rolled; /* a block has enough on its way in one iteration of loops over terms: none needs to be repeated */
    const struct PlanProduct *product; /* of a dot that tensor cores compute: product.h; else NULL */
    const struct PlanAttention *attention; /* of two of them, and what is between: attention.h; else NULL */
    const PlanTile *tile; /* of stages that exchange layouts; their space is a group or more of its dimensions each */
    /* Of a sort: outputs have the shape `kept`, a stretch of each row of the space that begins at `first`. */
    const HloShape *kept;
    int64_t first;
    uint32_t first_block, blocks;
    PlanStage *stages;
    uint32_t n_stages;
} PlanRange;

/* A value that an earlier launch has left in memory. */
typedef struct {
    PlanValue value;
    uint32_t buffer;
} PlanMade;

typedef struct {
    PlanRange *ranges;
    uint32_t n_ranges;
    const PlanMade *made; /* [n_made] */
    uint32_t n_made;
    const ScType *views;  /* [n_views], by buffer: the type of its elements in this kernel; SC_NONE, others: its own */
    uint32_t n_views;
    uint32_t block, grid;  /* grid 0: no elements, no launch */
    uint32_t cluster;      /* blocks of a cluster; 0: there are none */
    const char *why_block, *why_grid;
    uint32_t number;       /* among the kernels of the plan */
    /* Of a plan that is cut: the plan of the kernel's own fusion, and which buffer of the whole plan each of its
     * buffers is. NULL: the plan itself. */
    const struct Plan *of;
    const uint32_t *memory;
    /* Of such a kernel, by its buffers: operands have what the kernels of the whole plan before this number make; 0:
     * what they have from the start. */
    const uint32_t *ready;
} PlanKernel;

/* What became of a strategy (strategies.c). */
typedef struct {
    const TgStrategy *row; /* NULL: the text is planned as it is written */
    const struct Plan *plan; /* NULL: it is not possible, or was left out */
    const char *why;             /* .. why not */
    const struct LayPrice *price; /* NULL: nobody has asked for it */
    int64_t number;              /* of a text: PlanGivenText.number */
    bool taken;
} PlanOutcome;

typedef struct Plan {
    PlanOutcome *tried; /* [n_tried] in their order */
    uint32_t n_tried;
    const struct Plan *parts; /* [2] of a plan that is cut; else NULL */
    const char *kind; /* "loop", "concatenate", "dynamic-update-slice", "slices", "copy", "steps" */
    const HloFusion *fusion;
    PlanBuffer *buffers; /* operands, a leaf each, then outputs, then temporaries, which kernels leave to later ones */
    uint32_t *first_leaf; /* [parameters] the buffer of its first leaf */
    uint32_t n_operands, n_outputs, n_temps, align;
    bool flush, deterministic; /* of PlanOptions */
    PlanValue *roots;    /* [n_outputs] the value of each output */
    bool *scattered;     /* by buffer: do scatters write it? NULL: there are none */
    const struct PlanSteps *steps; /* a loop whose steps threads store one by one (steps.h); NULL: there is none */
    bool *reduced;       /* by id of an instruction, is it a reduction whose terms threads share? NULL: there is none */
    PlanKernel *kernels;
    uint32_t n_kernels;
    RwCx *rw;            /* of the graph of the layouts' maps, which is no kernel's */
    LayReads reads;     /* from TUNE */
    /* Limits of the code of one element, from TUNE: */
    uint32_t inline_limit;  /* a value read at several indices that takes more nodes becomes a function, .. */
    uint32_t inline_budget; /* .. and one of fewer nodes, too, once the kernel has as many nodes as this .. */
    uint32_t call_nodes;    /* .. and the value more than these */
    /* a constant of at most this many elements becomes selects, a larger one a table in memory */
    uint32_t constant_selects;
    uint32_t select_nodes;  /* an `if` whose branches take no more nodes than this becomes a select */
    uint32_t select_neighbours; /* of an operand, that are inside or not together: one variable states their place */
    const int64_t *element_work; /* by id of an instruction (plan_element_work) */
    const bool *window_pads; /* by id (plan_window_pads) */
    uint32_t reduce_straight; /* a reduction of at most this many elements has no loop */
    uint32_t reduce_unroll; /* elements that one iteration of a reduction's loop combines, at most */
    uint32_t reduce_nodes;  /* instructions in one iteration, at most */
    uint32_t while_straight; /* a loop of at most this many operations in all its iterations has no loop */
    uint32_t while_most;    /* and all such loops of at most this many for all elements that they need of each other */
    uint32_t called_most;   /* values of loops and branches of the text in the code of a kernel, at most */
    uint32_t called_branches; /* and branches in that code */
    uint32_t while_state;   /* elements of a loop's state that one thread holds, at most */
    const char *why_kind, *why_inline;
} Plan;

/* rows_columns.c: by id, marks what needs an instruction that is marked. */
void plan_mark_users(const HloComputation *body, bool *marks);
/* make_kernels.c: has a scheduler so many warps of the kernel at most? */
bool plan_has_few_warps(const PlanKernel *k, const TgTarget *t, int64_t warps);
/* The plan whose fusion a kernel computes. */
static inline const Plan *plan_of_kernel(const Plan *p, const PlanKernel *k) { return k->of ? k->of : p; }

/* order.c: by buffer of a kernel's own plan, what it does there. */
enum { PLAN_READS = 1, PLAN_WRITES = 2 /* every element */, PLAN_WRITES_SOME = 4 };
uint8_t *plan_touches(WbbArena *a, const Plan *p, const PlanKernel *k);
bool plan_is_partial(WbbArena *a, const Plan *p, uint32_t buffer); /* an output of which no kernel writes all */
/* NULL, or what is wrong with the order in which kernels read and write memory. */
const char *plan_order_fault(WbbArena *a, const Plan *p);
/* Each plan that a strategy makes: declines one with a kernel of more arrays than the target takes parameters; one in
 * which kernels read and write memory in a wrong order is a bug, and ends the compile. */
void plan_legal(WbbCx *cx, const Plan *p, const TgTarget *t);

/* legality.c: may the fusion be compiled? Declines it at the instruction that is at fault. Reductions whose terms
 * threads share, or that depend on the order of their terms, may be of any length. limits: check how much threads
 * reduce, and not only operations and types. */
void plan_check(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t, bool limits);
/* value.c */
static inline PlanValue plan_value(const HloInstruction *i, uint32_t part) { return hlo_value(i, part); }
uint32_t plan_packed_group(ScType t); /* elements of a byte; 1 for types of 8 bits and more */
uint32_t plan_align(const Plan *p, ScType t); /* bytes; an operand or output of such elements begins at a multiple */
/* a concatenate of slices that together are one array, rotated along one dimension */
bool plan_is_rotation(const HloInstruction *i);
const HloShape *plan_shape(const HloInstruction *i, uint32_t part); /* of leaf `part` of i */
/* of a bitcast or bitcast-convert: its elements are as wide as its operand's */
bool plan_same_width(const HloInstruction *i);

/* loop.c ---------------------------------------------------------------------------------------------------------- */
const HloComputation *plan_called(const HloInstruction *i, const char *attribute); /* "body", "condition" */
/* In it, or called from it: a loop of unknown trips. needed: by id, the instructions of c that count; NULL: all. */
bool plan_has_open_loop(WbbArena *a, const HloComputation *c, const bool *needed);
bool plan_has_branch(WbbArena *a, const HloComputation *c); /* in it, or called from it: a loop or a conditional */
/* Instructions that compute something, those of the computations that control flow calls included. */
int64_t plan_operations(WbbArena *a, const HloComputation *c, const bool *needed);

bool plan_is_free(const HloInstruction *i); /* a constant, or another name of a value */

/* What a thread computes that runs a loop for one element of a leaf of its result. */
typedef struct {
    double operations; /* of all iterations; where their number is not known, as if there were one */
    const double *state; /* by leaf: elements of the first state that it needs */
} PlanLeafWork;
typedef struct {
    const PlanLeafWork *leaves; /* [leaf] */
    double whole; /* operations of an iteration for all elements of the state, each once */
    double terms; /* of the longest fold of the body */
} PlanWhileWork;
const PlanWhileWork *plan_while_work(WbbArena *a, const HloInstruction *loop);
/* Straight code of all iterations for one element of a leaf, in which a branch does not have what another one has
 * computed. Of more than 64 iterations, branches of the first ones alone. */
typedef struct { double operations, branches; } PlanStraight;
PlanStraight plan_while_straight(WbbArena *a, const HloInstruction *loop, uint32_t leaf);

/* cost.c: by id, elements that a thread reduces, one after the other, for one element of each instruction: the
 * product of the ranges of the reductions, windows and products that it needs, one inside the other. Saturates. */
const int64_t *plan_trips(WbbArena *a, const HloComputation *body);
/* Machine instructions of a function: of its first lowering, as ptxas assembled it (patterns/measured.tsv); 0: it is
 * none. */
int64_t plan_function_work(const TgTarget *t, const HloInstruction *i);
/* Instructions of an operation for one element, without what accesses memory, and without the terms of a reduction;
 * those of the unit of roots and exponentials. Of f64 the pipe takes longer for each. */
typedef struct {
    double slots, special;
} PlanCost;
PlanCost plan_cost_of(const TgTarget *t, const HloInstruction *i);
/* Of the computations that it calls, each once, with all iterations of loops in them; unknown ones are one. */
double plan_called_slots(WbbArena *a, const HloInstruction *i, const TgTarget *t);
/* By id, operations that one element of each instruction takes with all that it needs, if these are operations of
 * elements, windows and views; else INT64_MAX. */
const int64_t *plan_element_work(WbbArena *a, const HloComputation *body, const TgTarget *t);

/* decline.c: declines an operation that no emitter handles, with the reason and what was seen of it. */
void plan_decline(WbbCx *cx, const HloInstruction *i) WBB_NORETURN;
/* "sort of f32[8]: SENTENCE" */
void plan_decline_as(WbbCx *cx, const HloInstruction *i, WbbWhy why, const char *sentence) WBB_NORETURN;

/* cut.c: a fusion of the same parameters, then the instructions of `given` as parameters; its results are those of the
 * roots, which are instructions of the fusion's body. Results of reductions that are given, or roots where none is,
 * are of 8 bits or more. */
HloFusion *plan_cut_out(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloInstruction *const *roots,
                        uint32_t n_roots, const HloInstruction *const *given, uint32_t n_given);
/* cut_order.c: a sort, or the scan with the most elements; NULL: there is none. *alone: nothing else must have a kernel
 * of its own, but scans of its space. */
const HloInstruction *plan_ordered_hero(WbbArena *a, const HloComputation *body, const TgTarget *t, bool *alone);
/* The first sort, or scan, that needs no other one; of scans, those of its space that need none, too: what the first
 * kernels compute. Where one of their terms is the result of many elements, or of a scatter, these are computed first.
 * Returns their number; 0: there is none that must have a kernel of its own. */
uint32_t plan_first_to_cut(WbbArena *a, const HloComputation *body, const TgTarget *t, const HloInstruction **found);
/* The first scatter whose result is folded, by more terms than one thread takes; NULL: there is none. */
const HloInstruction *plan_cut_scatter(WbbArena *a, const HloComputation *body, const TgTarget *t);
/* cut_reduce.c: reductions that a launch of their own computes before the rest of the fusion, whose results are worth
 * their way through memory; `single`: none of which needs another; `few`: those of few terms, too, where there are
 * longer ones. Returns their number; 0: there are none. */
uint32_t plan_cut_reductions(WbbArena *a, const Plan *p, const TgTarget *t, bool single, bool few,
                             const HloInstruction **found);
/* The first result of windows that a loop over the outputs would compute so often that a launch of its own is shorter;
 * NULL: there is none. */
const HloInstruction *plan_cut_window(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t);
/* cut_rows.c: reductions of few long rows at which a launch that leaves the machine empty may be cut; returns their
 * number. And whether the kernels of the plan that is cut there take less time, by price. */
uint32_t plan_cut_rows(const PlanRange *shared, const TgTarget *t, const HloInstruction **found);
/* plan_price.c */
double plan_least_us(const TgTarget *t); /* a launch, and the first bytes from memory */
double plan_us(WbbArena *a, const Plan *p, const TgTarget *t); /* the time of a plan's launches */
/* The time that a plan of a strategy must stay under, to save what its row says of us microseconds. shared: of the one
 * range of the plan that takes them; NULL: it is another plan. */
double plan_to_beat(const TgStrategy *row, const PlanRange *shared, double us);
/* cut_rows.c: of how many terms pieces of the long rows of a plan that reads them again may be (gr_option): by id of
 * the body's instructions. Returns whether there are any. */
bool plan_row_pieces(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t, uint32_t *pieces);
/* The kernels of two plans become those of p, which has buffers: outputs of the first are the last parameters of the
 * second, whose outputs are those of p. */
void plan_join(WbbArena *a, Plan *p, const Plan *first, const Plan *second);

/* The same where outputs of the first that are no parameters of the second are outputs of p: `direct` [outputs of p]
 * says which they are, in their order, before those that are parameters. */
void plan_join_direct(WbbArena *a, Plan *p, const Plan *first, const Plan *second, const bool *direct);

/* rows_columns.c: rows that are reduced and columns of the same array that are, too, in one kernel. How many rows a
 * part may have of sums over rows that are split (an option of patterns/arrays.py): by id of the body's instructions,
 * of about `blocks` parts for each SM; whether there are any. */
bool plan_column_parts(const HloComputation *body, const TgTarget *t, int64_t blocks, uint32_t *parts);
/* Sums of parts that are summed up in turn, of an array whose rows are reduced, too. Returns their number. */
uint32_t plan_across(const Plan *p, const HloInstruction **found);
/* By id: sums over rows that are reduced, too; *bytes: of the whole arrays that they read. */
bool *plan_columns(WbbArena *a, const HloComputation *body, double *bytes);
bool plan_has_across(const Plan *p); /* a kernel that makes such sums */
/* share.c: the launch range of a fusion whose last `across` results are such sums of parts; NULL: there is none. */
PlanRange *plan_shared_across(WbbArena *a, Plan *p, const TgTarget *t, uint32_t across);

/* alias.c: which outputs are updated in place: sets PlanBuffer.alias and returns for each output the
 * dynamic-update-slice that writes it, NULL for the others. Declines an aliasing that the text demands and no order
 * of reads and writes allows. */
const HloInstruction **plan_updates(WbbCx *cx, WbbArena *a, Plan *p);
bool plan_operands_are_free(const Plan *p); /* no two parameters share memory, and no output has that of one */

/* The type that a reduction's sum or product of floats under 32 bits is in; SC_NONE: others, which have their own. */
ScType plan_float_sum(const HloInstruction *i);
/* In which types terms are combined. */
void plan_print_reduces(WbbBuf *out, const Plan *p, const PlanKernel *kernel);

/* scatter.c: the kernels of a fusion with scatters, in the order of their launches; none: it has no scatter. */
bool plan_has_scatter(const Plan *p);
void plan_scatter(WbbCx *cx, WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *const *updates,
                  const char *layout);
/* Leaf of a scatter that a value is, seen through bitcasts that keep the order of elements; i NULL: it is none. */
PlanValue plan_scatter_below(PlanValue v);

/* ranges.c: the launch ranges of a kernel, and what their stages store; loop_choice.c has still to say how. Sets the
 * plan's kind. wanted: the outputs that the kernel makes; NULL: all. */
PlanKernel plan_ranges(WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *const *updates,
                       const bool *wanted);
/* By id, what a kernel of the plan, not of one that is cut, computes for its outputs, scatters left out. */
bool *plan_needed(WbbArena *a, const Plan *p, const PlanKernel *k);

/* again.c: why the kernels compute far more than there is to compute, and the instruction that is to blame; NULL: they
 * do not. */
const char *plan_again(WbbArena *a, const Plan *p, const TgTarget *t, const HloInstruction **at);
/* Would launches of their own compute once what these kernels compute again and again? */
bool plan_better_apart(WbbArena *a, const Plan *p, const TgTarget *t);
/* The same of bytes that threads which share terms ask L2 for. */
const char *plan_apart(WbbArena *a, const Plan *p, const TgTarget *t, const HloInstruction **at);

/* space.c: the space of a reduction's terms, its dimensions without factors; returns their number. in_order: terms keep
 * their order, so neighbours in memory are one dimension where they are neighbours in the text, too. */
uint32_t plan_space(WbbArena *a, const HloInstruction *reduce, bool in_order, PlanGroup **space);
bool plan_in_order(const PlanRange *r); /* do terms keep their order: may a computation of the range not commute? */
/* The dimensions of a space whose terms keep their order, those that the text has last first, kept ones wherever. */
uint32_t *plan_sequence(WbbArena *a, const PlanGroup *space, uint32_t n);
bool plan_is_reduced(const HloInstruction *reduce, uint32_t dim); /* is this dimension of its operands reduced? */
/* The dimensions of an index of the terms that are a group's, from a position in the group. */
void plan_group_index(RwCx *rw, const PlanGroup *g, const HloShape *terms, IrRef position, IrRef *index);
/* The index of a reduction's result, from that of one of its terms. */
void plan_kept_index(const HloInstruction *reduce, const IrRef *index, IrRef *kept);
/* Fails where the stages of a shared range cannot have their layout. */
void plan_space_check(WbbCx *cx, const PlanRange *r, const TgTarget *t);
/* A thread has all elements of a byte of a packed output, which are neighbours along the innermost dimension. */
void plan_check_packed(WbbCx *cx, const LayDim *innermost, uint32_t group);

/* share.c: the instruction that combines what all lanes of a warp have, if the target has one; else OP_NONE. */
ScOp plan_redux(const PlanReduce *r, const TgTarget *t);
/* The launch ranges, one of each kernel, of a fusion whose threads share the terms of its reductions, without
 * layouts. All outputs are in one, if they follow from results of the same position, or in several, each with
 * reductions of its own; *others: outputs [n_outputs] that need none, if there are several. alone: in one, in which
 * each thread computes the other long reductions by itself. 0 kernels: there are none of this kind. Sets `reduced` of
 * the plan, which has roots. */
uint32_t plan_shared(WbbArena *a, Plan *p, const TgTarget *t, bool alone, PlanRange ***ranges, bool **others);
/* Of a product's results: their dimensions but the columns, which are n dimensions from `first` on. */
typedef struct {
    const HloShape *shape;
    uint32_t first, n;
} PlanRowSpace;
/* The launch range of a fusion that is scans like `hero`, or that sort or product, and what is element by element after
 * them; rows: outputs may have an element for each row, and follow from reductions of rows (NULL: they may not). NULL:
 * it is none. */
PlanRange *plan_scanned(WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *hero, const PlanRowSpace *rows);
bool plan_same_space(const HloInstruction *x, const HloInstruction *y); /* of two reductions, or two scans */
/* Its kernel, under a layout. */
PlanKernel plan_share(WbbCx *cx, WbbArena *a, Plan *p, PlanRange *r, const TgTarget *t, const char *layout);
/* The index of an output's element, from that of path[0]: [rank of the output]. */
void plan_path_index(RwCx *rw, WbbArena *a, const PlanPath *path, const IrRef *from, IrRef *to);

/* space.c: is it a scan that is worth one: of more elements than a loop of a thread should take? */
bool plan_scan_of(const HloInstruction *i, const TgTarget *t, HloScan *scan);
/* The shape of the space of a reduction or scan. */
const HloShape *plan_space_shape(const HloInstruction *hero);

/* exchange.c: a kernel that exchanges layouts in place of a loop over elements, one that has a layout; false: it stays
 * a loop, as nothing is read in another order than that of the outputs, or no layout is legal. */
bool plan_exchange(WbbCx *cx, WbbArena *a, const Plan *p, PlanKernel *k, const TgTarget *t);
/* The index of a value that goes through a tile, from that of its output's root: [rank of the value]. */
void plan_carried_index(RwCx *rw, WbbArena *a, const PlanCarried *c, const IrRef *from, IrRef *to);
/* pieces.c: of how many terms the pieces are in which a long scan of few rows may be made; 0: it may not. */
uint32_t plan_scan_pieces(const HloInstruction *i, const TgTarget *t);
/* How many neighbours of a large window are reduced first (pass `windows`); 0: it stays whole. */
uint32_t plan_window_first(const HloInstruction *i, const TgTarget *t);
/* The type in which shared memory and temporaries hold a part of a value: of complex types the real and the imaginary
 * part, of types under 8 bits a byte. */
ScType plan_memory_type(ScType t);
uint32_t plan_memory_parts(ScType t);

/* loop_windows.c. By id: it is a pad of little more than what is light to make of an array in memory, and of several
 * shifted slices of it, or one of several pads of the same array. work: plan_element_work; light: of it at most. */
const bool *plan_window_pads(WbbArena *a, const HloComputation *body, const int64_t *work, int64_t light);
/* loop_choice.c: the layout of each stage of a kernel, its block and its grid. layout: the text of the one to take;
 * NULL: chosen. */
void plan_choose(WbbCx *cx, WbbArena *a, const Plan *p, PlanKernel *k, const TgTarget *t, const char *layout);

/* product.c: has it a kernel for tensor cores? And how that combines the terms, for kernel.json. */
bool plan_has_product(const Plan *p);
/* attention.c: the scores (0), or the results. */
const HloInstruction *plan_attention_product(const struct PlanAttention *t, uint32_t k);
const char *plan_product_order(WbbArena *a, const struct PlanProduct *p);
/* plan.c: fusion and target live as long as the plan. */
/* elements of an output that a kernel of the plan stores */
int64_t plan_stored(const Plan *plan, const PlanKernel *kernel, uint32_t buffer);
Plan plan_fusion(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PlanOptions options);
void plan_print(WbbBuf *out, const Plan *plan); /* for --emit plan and --explain */
/* strategies_text.c: the rows that were taken, those of a plan's parts behind its own. */
typedef void PlanVisitTaken(void *arg, const TgStrategy *row);
void plan_visit_taken(const PlanOutcome *tried, uint32_t n, PlanVisitTaken *visit, void *arg);
/* strategies_text.c: what became of each strategy: of the plan, of its parts where it is cut, and of those that wrote
 * its text anew: texts [n]. */
void plan_print_strategies(WbbBuf *out, const Plan *p, const PlanOutcome *texts, uint32_t n, const TgTarget *t);
/* The same of other rows, below a line that says which; nothing of none. */
void plan_print_outcomes(WbbBuf *out, const char *of, const PlanOutcome *tried, uint32_t n, const TgTarget *t);

#endif

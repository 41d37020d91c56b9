/* rewrite: one engine for every kind of rule. It knows neither rules nor targets.
 *
 * A node of type index is always made by the builder, `rw_make` or `rw_sum`, which applies the index tables until no
 * rule matches, so it is born in normal form. The passes sweep a kernel once, from its statements, operands before
 * users, and make every node by the same builder with the tables of their phase.
 *
 *     RwCx *rw = rw_new(cx, arena, g, index_tables, target_tables, false);
 *     IrRef n = rw_floordiv(rw, x, 8);
 *     rw_run(rw, kernel, RW_LOWER);
 */
#ifndef RW_REWRITE_H
#define RW_REWRITE_H

#include "base/base.h"
#include "ir/ir.h"
#include "rewrite/tables.h"

typedef struct RwCx RwCx;

/* One firing: rule `rule` of `tables` turned `root` into `result`; or, before it, a step of its right side made
 * `result`. */
typedef struct {
    const RwTables *tables;
    uint32_t rule;
    const IrGraph *g; /* of the nodes */
    IrRef root, result;
    const RwStep *step; /* NULL: the firing itself */
    const char *const *names; /* of what its graph's calls read, by callee; NULL: it is that of a kernel */
} RwEvent;

typedef void (*RwWatch)(void *arg, const RwEvent *e);

/* builder.c, sweep.c. accuracy: simplify marks the functions that may be inexact. */
RwCx *rw_new(WbbCx *cx, WbbArena *a, IrGraph *g, const RwTables *index, const RwTables *target,
             ScAccuracy accuracy);
void rw_few_warps(RwCx *rw); /* the condition `few_warps` of rules holds of the kernel */
void rw_no_llvm(RwCx *rw);   /* so does `no_llvm` */
void rw_index(RwCx *rw, IrKernel *k); /* index nodes of a kernel that the builder has not made (a parsed one) */
void rw_run(RwCx *rw, IrKernel *k, RwPhase phase); /* RW_SIMPLIFY, RW_LOWER or RW_ISEL */
void rw_choices(IrKernel *k); /* choices.c: a select that another one has decided is an operand of its own */
/* Rules about folds: each root becomes its normal form; 0 stays. */
void rw_arrays(RwCx *rw, WbbArena *a, IrRef *roots, uint32_t n);
/* What the first option makes of a fold with a number that a plan gives, its indices as the rule has them; 0: none. */
IrRef rw_option(RwCx *rw, IrRef root, int64_t number);
uint32_t rw_option_of(RwCx *rw, IrRef root, int64_t number); /* the rule that it would be; RW_FOLDED: none */
uint8_t *rw_marks(RwCx *rw); /* by ref, for ir_gather: all 0, and so again; good until nodes are made */
/* In each root nodes are replaced, from[k] by to[k]; indices are in normal form. */
void rw_replace(RwCx *rw, WbbArena *a, IrRef *roots, uint32_t n_roots, const IrRef *from, const IrRef *to, uint32_t n);
/* The builder. Folds constants, orders operands, applies rules of the index phase, or of the pass that runs. */
IrRef rw_make(RwCx *rw, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm);
IrRef rw_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n);
/* Short forms for index arithmetic; k > 0. */
IrRef rw_add(RwCx *rw, IrRef x, IrRef y);
IrRef rw_sub(RwCx *rw, IrRef x, IrRef y);
IrRef rw_scale(RwCx *rw, IrRef x, int64_t k);
IrRef rw_floordiv(RwCx *rw, IrRef x, int64_t k);
IrRef rw_mod(RwCx *rw, IrRef x, int64_t k);
IrRef rw_compare(RwCx *rw, ScOp op, IrRef x, IrRef y); /* index operands, pred result */
/* digits.c: `number` has these n digits, the lowest first, of so many values each, but for the highest, which is what
 * remains of it. */
void rw_know_digits(RwCx *rw, const IrRef *digits, const int64_t *sizes, uint32_t n, IrRef number);
/* How many of the digits, from the lowest on, are known to be those of *number; 0: of none. */
uint32_t rw_known_digits(const RwCx *rw, const IrRef *digits, const int64_t *sizes, uint32_t n, IrRef *number);
/* By identity "functions.py:17[tanh.bf16]", or all rules of the line "functions.py:17"; fails if there is none. */
void rw_disable(RwCx *rw, const char *rule);
/* rw is for terms of another graph than of's, whose calls read what has these names. The general rules that are
 * disabled in `of` are in rw. What fired in rw counts in `of`, and what fires from now on there and is about arrays is
 * of its trace. */
void rw_join(RwCx *rw, RwCx *of, const char *const *names);
void rw_leave(RwCx *rw); /* what fires in rw from now on counts there alone */
/* The last one that joined the engine, or, of one that did, the one before; NULL: none. */
RwCx *rw_joined(const RwCx *rw);
const char *const *rw_names(const RwCx *rw); /* NULL: it joined none */
/* The facts that these instruction rules ask for hold, whatever is known: for kernels that are compared only where they
 * do. */
void rw_assume(RwCx *rw, const char *rule);
IrGraph *rw_graph(RwCx *rw);
const RwTables *rw_target(const RwCx *rw);
uint32_t rw_visits(const RwCx *rw); /* lookups of rules for a node, all passes so far */
/* One step at a node whose operands are normal, to show rewriting step by step: its constants are folded (*rule =
 * RW_FOLDED), or the first rule that matches builds its right side, to whose nodes no rule is applied. 0: nothing to
 * do. Not for RW_ISEL. */
#define RW_FOLDED UINT32_MAX
IrRef rw_step(RwCx *rw, RwPhase phase, IrRef root, uint32_t *rule);

/* isel.c: the tile that instruction selection would give a node of a lowered kernel, as an instr node on old operands;
 * 0: none. Between the calls that begin and end this, uses of nodes are those of the kernel as it is. */
void rw_begin_tiles(RwCx *rw, IrKernel *k, WbbArena *a);
IrRef rw_tile(RwCx *rw, IrRef r);
void rw_end_tiles(RwCx *rw);

/* why.c: does one rule match one node? Nothing is built, and no uses are counted (`once` never holds here). Of
 * several ways to match, the one that gets farthest: how many of its steps hold, and a sentence about the first that
 * does not: "operand 1 is add (bf16), not mul", "within(n, 0, k) fails: n is tid, in [0, 7], k = 4". */
typedef struct {
    uint32_t passed, total;
    const char *text; /* "it matches" if true was returned */
} RwWhy;
bool rw_why(RwCx *rw, const RwTables *t, uint32_t rule, IrRef node, WbbArena *a, RwWhy *why);

/* trace.c: always on; the last 4,096 firings and a count per rule. */
uint32_t rw_trace(const RwCx *rw, const RwEvent **events); /* oldest first */
void rw_watch(RwCx *rw, RwWatch watch, void *arg);         /* called at each firing from now on; NULL: no more */
void rw_watch_steps(RwCx *rw);                             /* and at each step of its right side */
/* firings by rule number, of the target's or the index tables */
const uint32_t *rw_counts(const RwCx *rw, bool index);
char *rw_rule_name(WbbArena *a, const RwTables *t, uint32_t rule); /* "patterns/functions.py:17[tanh.bf16]" */
/* Does `name` name that rule? patterns/arith.py:29[neg.F] has this name, the same without the folder, and, with all
 * other rules of its line, arith.py:29. A line of a function of a pattern file names the rules whose right sides the
 * function makes there, the line of its `def` all that it makes. */
bool rw_rule_is(WbbArena *a, const RwTables *t, uint32_t rule, const char *name);
bool rw_rule_is_named(WbbArena *a, const RwTables *t, uint32_t rule, const char *name); /* not by a step */
bool rw_step_is(const RwStep *s, const char *name); /* is `name` its line, or that of its function's `def`? */

#endif

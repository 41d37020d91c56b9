/* inner.h: what the files of rewrite/ share.
 *
 * builder.c, match.c, guards.c, sums.c and replacement.c are one engine and call each other: the builder applies rules
 * to a node; to match one may take a sum apart; and the builder makes the parts of that sum, like the nodes of a right
 * side, so that rules apply to these, too. It ends since rules shrink the measure of their phase. The passes sweep.c
 * and isel.c, and why.c, call the engine and are not called by it; trace.c calls nothing.
 */
#ifndef RW_INNER_H
#define RW_INNER_H

#include "rewrite/rewrite.h"

/* Capacities; the compiler of rules keeps to them. A slot of a value is a byte. MAX_ROW: words of a FILTER's row of
 * bits, one a branch. */
enum { MAX_VALUES = 256, MAX_KONSTS = 64, MAX_TYPES = 4, MAX_CHOICES = 64, MAX_PICKS = 16, MAX_ROW = 64 };
enum { TRACE_EVENTS = 4096 };

typedef enum {
#define WORD(name) W_##name,
#define GUARD(name)
#include "code.def"
#undef GUARD
#undef WORD
    W_COUNT
} Word;

/* The facts that a rule may ask for: gen/guards.py. */
typedef enum {
#define WORD(name)
#define GUARD(name) GUARD_##name,
#include "code.def"
#undef GUARD
#undef WORD
    GUARD_COUNT
} Guard;

/* What PICKs leave of a sum: built only when a condition or the right side uses it. */
typedef struct {
    IrRef sum;
    uint32_t n_picks;
    uint32_t picks[MAX_PICKS];
    WbbI128 constant; /* as much of the sum's was picked */
} Rest;

/* Where matching resumes if what follows fails. */
typedef struct {
    const uint32_t *at;
    uint32_t next; /* FILTER: branch, PICK: term, GROUP: divisor to try next */
    uint32_t n_picks, flags;
    bool assumed;
} Choice;

/* What a match binds. Slots are written along one path of a trie, so that going back to a choice undoes nothing:
 * every slot of a later step is written again before it is read. */
typedef struct {
    IrRef value[MAX_VALUES];
    uint8_t swapped[MAX_VALUES]; /* by slot of a commutative node: its operands are taken in the other order */
    WbbI128 konst[MAX_KONSTS];
    ScType type[MAX_TYPES];
    Rest rest;
    uint32_t rest_slot; /* slot of `rest` until that is built; 0: none */
    uint32_t n_picks, picks[MAX_PICKS];
    WbbI128 picked_constant;
    uint32_t flags; /* that all matched nodes share */
    bool assumed;   /* a fact was not proved, but assumed: only rules of RwCx.assumed may match */
    uint32_t rule;
    const RwTables *tables;
    uint32_t from, to;          /* words of branches[] before `from`, and from `to` on, are 0 */
    uint64_t branches[MAX_ROW]; /* of the FILTER: those to try, a bit each */
    uint32_t n_choices;
    Choice choices[MAX_CHOICES];
} Match;

/* The last step of a program that failed, over all choices, and what was bound then. */
typedef struct {
    const uint32_t *step;
    Match m;
} Farthest;

struct RwCx {
    WbbCx *cx;
    WbbArena *arena;
    IrGraph *g;
    const RwTables *index, *target;
    ScAccuracy accuracy;
    bool few_warps, no_llvm; /* rw_few_warps, rw_no_llvm */
    int phase; /* of the running pass; -1: none */
    IrRef *normal; /* by ref: what a node becomes in this pass (index nodes: for ever); 0: not yet */
    uint32_t normal_capacity;
    WbbMap digits; /* numbers by their digits */
    uint32_t *counts[2]; /* firings by rule: [0] target, [1] index */
    uint8_t *disabled[2];
    uint8_t *assumed; /* by rule of the target: the facts that it asks for hold; NULL: of none */
    struct { RwEvent *items; uint32_t n, capacity; } trace; /* a ring once it has TRACE_EVENTS */
    uint32_t n_events; /* all so far; the trace has the last ones */
    uint32_t depth;        /* rules are being applied to so many nodes, each made for a rule on the one before */
    struct { Match **items; uint32_t n, capacity; } matches; /* of these nodes: too large for the stack */
    uint32_t visits;      /* nodes that rules were looked up for */
    const uint32_t *uses; /* by ref, while isel runs; else NULL */
    uint32_t n_uses;
    uint8_t *marks; /* rw_marks */
    IrRef *made;    /* by ref, for rw_replace; all 0 outside of it */
    uint32_t n_marks;
    bool single;   /* rw_step: rules are not applied to nodes that are made */
    int64_t given; /* rw_option: its number; 0: none is asked for */
    RwWatch watch; /* called at every firing; NULL: nothing */
    void *watch_arg;
    bool watch_steps; /* at every step of a right side too */
    RwCx *of, *joined; /* rw_join: what it joined; the last one that joined that, then the one before */
    const char *const *names;
};

/* match.c: the first rule of `phase` whose left side matches `root`; then, each call, the next way to match, of that
 * rule or a later one. False: no more. The rule is m->rule, its right side *build. */
bool rw_match(RwCx *rw, const RwTables *t, RwPhase phase, IrRef root, Match *m, const uint32_t **build);
bool rw_match_next(RwCx *rw, Match *m, const uint32_t **build);
/* One rule on one node: the steps of `program` from its second word to an ACCEPT, which holds no TRY and no FILTER.
 * False: see *farthest. */
bool rw_match_program(RwCx *rw, const RwTables *t, const uint32_t *program, IrRef root, Farthest *farthest);
/* sums.c */
bool rw_split(RwCx *rw, Match *m, uint32_t d, uint32_t s, WbbI128 k, uint32_t r, bool only_rest);
bool rw_group(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, uint32_t more, uint32_t *next);
bool rw_pick(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, uint32_t how, uint32_t *term);
bool rw_pick_bound(RwCx *rw, Match *m, uint32_t x, uint32_t s, WbbI128 k);
/* addends.c; op: of the term to take. d = 255: nothing may be left */
bool rw_addends(RwCx *rw, Match *m, uint32_t s);
bool rw_addend(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t op, uint32_t *next);
bool rw_addends_left(RwCx *rw, Match *m, uint32_t d, uint32_t s);
/* Appends the terms of a rest that is not built; terms: capacity for all of the sum. */
void rw_rest_terms(const RwCx *rw, const Match *m, IrTerm *terms, uint32_t *n_terms, int64_t *constant);
/* The same sum; terms on one value are simplified as a sum of their own first, so that the rules see few terms at a
 * time. */
IrRef rw_regroup(RwCx *rw, IrRef sum);
/* builder.c; 0: a coefficient would exceed 64 bits */
IrRef rw_try_sum(RwCx *rw, int64_t constant, const IrTerm *terms, uint32_t n);
IrRef rw_rest(RwCx *rw, Match *m, uint32_t slot);
/* guards.c: constants and conditions */
bool rw_condition(RwCx *rw, Match *m, const uint32_t **pc, uint32_t w, const uint64_t *imm);
bool rw_konst(WbbI128 x, WbbI128 y, uint32_t fn, WbbI128 *result);
/* replacement.c: the right side; 0 if constant arithmetic fails, which fails the match. Of isel: an instr node on
 * old operands. */
IrRef rw_build(RwCx *rw, const RwTables *t, IrRef root, Match *m, const uint32_t *build);
void rw_record(RwCx *rw, const RwTables *t, uint32_t rule, IrRef root, IrRef result);
/* Of the n-th operation that a right side has: tells a watcher, if the next one is of another step. */
void rw_record_step(RwCx *rw, const RwTables *t, uint32_t rule, uint32_t n, IrRef root, IrRef made);
/* Rewriting does not end, a bug of ours: fails with the last firings. */
void rw_out_of_fuel(RwCx *rw, IrRef at) WBB_NORETURN;
/* builder.c: the normal form of a node whose operands are normal */
IrRef rw_normalize(RwCx *rw, IrRef r);
/* isel.c */
void rw_isel(RwCx *rw, IrKernel *k);

#endif

/* rules_term.h: rewrites a single term by the rules of a target and records each step, for `rules test` and
 * `rules diff`. */
#ifndef MAIN_RULES_TERM_H
#define MAIN_RULES_TERM_H

#include "main/rules.h"

/* A step of rewriting. `tables` NULL: no rule made it, and `rule` is TERM_FOLDED, for constants that were folded, or
 * TERM_APPROX, for a function that --accuracy marked. */
typedef struct {
    RwPhase phase;
    const RwTables *tables;
    uint32_t rule;
    IrRef before, after;
} TermStep;
enum { TERM_FOLDED, TERM_APPROX };

typedef struct {
    struct { TermStep *items; uint32_t n, capacity; } steps;
    RwCx *rw;
    IrGraph *g;
    const RwTables *index, *target;
    WbbArena *arena;
    IrRef *memo; /* by node: its normal form; 0: not known yet */
    uint32_t memo_capacity;
    RwPhase phase;
    ScAccuracy accuracy;
    uint32_t depth;
} Term;

Term main_term_new(WbbCx *cx, WbbArena *a, IrGraph *g, const TgTarget *t, ScAccuracy accuracy);
/* The normal form by the rules of `phase` and the index rules. Adds single steps to t->steps, innermost first. */
IrRef main_term_normal(Term *t, RwPhase phase, IrRef r);
/* The same by the engine: its pass over a kernel that stores r. RW_ISEL selects instructions and adds a step for each;
 * it declines an operation that no rule selects an instruction for. */
IrRef main_term_pass(Term *t, RwPhase phase, IrRef r);
/* Text with the instructions that were selected: "llvm.fma(a, 1.0, b)" for "fma.bf16(a, 1.0, b)". */
const char *main_term_text(Term *t, IrRef r);
/* A hash of the structure; the numbers of rows of the instruction table do not count. */
uint64_t main_term_hash(Term *t, IrRef r);

#endif

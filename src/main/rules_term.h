/* rules_term.h: a term by itself through the rules of a target, each step seen. What `rules test` prints and `rules diff` compares. */
#ifndef MAIN_RULES_TERM_H
#define MAIN_RULES_TERM_H

#include "main/rules.h"

/* One step. `tables` NULL: no rule, but what `rule` says: constants folded, a flag given. */
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
    IrRef *memo; /* by ref: normal form; 0: not yet */
    uint32_t memo_capacity;
    RwPhase phase;
    bool approx;
    uint32_t depth;
} Term;

Term main_term_new(WbbCx *cx, WbbArena *a, IrGraph *g, const TgTarget *t, bool approx);
/* The normal form under `phase` (RW_INDEX: index rules alone), by single steps, innermost first, which are added to t->steps. */
IrRef main_term_normal(Term *t, RwPhase phase, IrRef r);
/* The same by the engine's own pass over a kernel that stores r; RW_ISEL: tiles, each of them a step. Declines where one is missing. */
IrRef main_term_pass(Term *t, RwPhase phase, IrRef r);
/* As text in which a selected tile is its instruction: "fma.bf16(a, 1.0, b)" selected is "llvm.fma(a, 1.0, b)". */
const char *main_term_text(Term *t, IrRef r);
uint64_t main_term_hash(Term *t, IrRef r); /* equal for what is the same by structure, whatever the numbers of the rows */

#endif

/* rules.h: what the tools of `warpburg rules` share. One file a tool, or two that read the same.
 *
 *     RulesCall *c = main_rules_call(call, o->target, o->json);
 *     wbb_put(c->out, ..);
 *     return main_rules_end(c, WBB_OK);
 */
#ifndef MAIN_RULES_H
#define MAIN_RULES_H

#include "main/main.h"
#include "pipe/pipe.h"

/* One call of a tool. A tool writes to `out`: text for people, with `json` one object a line. Failures go the way of base.h. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const TgTarget *target;
    bool json;
    WbbBuf *out;
} RulesCall;

/* rules.c: the call of a tool; its end prints `out` on stdout and returns `status`. */
RulesCall *main_rules_call(const Call *call, const char *target, bool json);
WbbStatus main_rules_end(const RulesCall *c, WbbStatus status);

/* The tools. */
extern const Command main_rules_list, main_rules_size, main_rules_budget;                     /* rules_list.c */
extern const Command main_rules_test, main_rules_trace, main_rules_why, main_rules_cover;     /* each in the file of its name */
extern const Command main_rules_ablate, main_rules_diff;
extern const Command main_rules_new_target;                                                   /* rules_new.c */

/* rules_names.c */
extern const char *const main_phase_name[RW_PHASE_COUNT];
int main_phase(const char *name);              /* the phase of that name; -1: NULL */
const char *main_phase_names(WbbArena *a);     /* for the rows of options */
#define MAIN_OPTION_PHASE(T)                                                                                            \
    {WORD("--phase", T, phase, "PHASE", "only the rules of one phase"), .choices = {.list = main_phase_names}}
/* Tables 0 and 1 of a target: the index rules, and its own. */
const RwTables *main_tables(const TgTarget *t, int which);
/* "patterns/arith.py:29[neg.F]" is meant by that, by "arith.py:29[neg.F]", and, as one of its line's, by "arith.py:29" */
bool main_rule_is(WbbArena *a, const RwTables *t, uint32_t rule, const char *name);
/* Fails where no rule of the target is meant by `name`, with what stands nearest in that file. */
void main_rule_must_exist(RulesCall *c, const char *name);
void main_rules_must_exist(RulesCall *c, const Words *names);
/* Is the rule one of those, or is there no name? */
bool main_rule_is_one_of(WbbArena *a, const RwTables *t, uint32_t rule, const Words *names);
#define MAIN_OPTION_RULE(T, what) {LIST("--rule", T, rules, "RULE", what)}
/* A node as text, what stands deeper than `depth` calls as "..."; the HLO instruction `%name` that it came from, or "". */
enum { MAIN_DEEP = 40, MAIN_SHALLOW = 3 };
int main_depth(WbbArena *a, const IrGraph *g, IrRef r); /* MAIN_DEEP, less where parts are shared so often that the text would fill pages */
const char *main_node_text(WbbArena *a, const IrGraph *g, IrRef r, int depth);
const char *main_kernel_text(WbbArena *a, const IrKernel *k, const char *text); /* text of nodes: buffers by name, %p[..] for %0[..] */
const char *main_origin(WbbArena *a, const PipeResult *r, IrRef node);
/* What a rule turns its root into: text of `result`, or of the tile ("llvm fadd"). */
const char *main_result_text(WbbArena *a, const IrGraph *g, const RwTables *t, IrRef result, int depth);

/* rules_corpus.c */
typedef struct {
    const char **items;
    uint32_t n, capacity;
} RulesFiles;
/* The .hlo files that the words name, folders searched through, in order of name; fails if there are none. */
RulesFiles main_corpus(RulesCall *c, const Words *words);
/* task(.., i) for i in 0..n, several at once on threads of their own (jobs; 0: the machine's cores). A task has a context
 * of its own; status[i] is what became of it, why[i] its reason where it declined. `worker`: which thread, below
 * WBB_POOL_THREADS. */
typedef void (*RulesTask)(WbbCx *cx, WbbArena *a, void *arg, uint32_t i, uint32_t worker);
void main_each(int64_t jobs, uint32_t n, RulesTask task, void *arg, WbbStatus *status, WbbWhy *why);

#endif

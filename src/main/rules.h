/* rules.h: what the tools of `warpburg rules` share. One file a tool, or two that read the same.
 *
 *     RulesCall c = {.cx = cx, .arena = a, .o = o, .target = tg_find("sm_90"), .out = &b};
 *     status = main_rules_list(&c);
 */
#ifndef MAIN_RULES_H
#define MAIN_RULES_H

#include "main/main.h"
#include "pipe/pipe.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Options *o; /* o->files: the tool's own words, its name first */
    const TgTarget *target;
    WbbBuf *out; /* to stdout when the tool is done */
} RulesCall;

/* The tools. Each writes to c->out: text for people, with --json one object a line. Failures go the way of base.h. */
WbbStatus main_rules_list(RulesCall *c);       /* rules_list.c */
WbbStatus main_rules_size(RulesCall *c);
WbbStatus main_rules_budget(RulesCall *c);
WbbStatus main_rules_test(RulesCall *c);       /* rules_test.c */
WbbStatus main_rules_trace(RulesCall *c);      /* rules_trace.c */
WbbStatus main_rules_why(RulesCall *c);        /* rules_why.c */
WbbStatus main_rules_cover(RulesCall *c);      /* rules_cover.c */
WbbStatus main_rules_ablate(RulesCall *c);     /* rules_ablate.c */
WbbStatus main_rules_diff(RulesCall *c);       /* rules_diff.c */
WbbStatus main_rules_new_target(RulesCall *c); /* rules_new.c */

/* rules_names.c */
extern const char *const main_phase_name[RW_PHASE_COUNT];
int main_phase(RulesCall *c); /* of --phase; -1: not given; fails on any other word */
/* Tables 0 and 1 of a target: the index rules, and its own. */
const RwTables *main_tables(const TgTarget *t, int which);
/* "patterns/arith.py:29[neg.F]" is meant by that, by "arith.py:29[neg.F]", and, as one of its line's, by "arith.py:29" */
bool main_rule_is(WbbArena *a, const RwTables *t, uint32_t rule, const char *name);
/* Fails where no rule of the target is meant by `name`, with what stands nearest in that file. */
void main_rule_must_exist(RulesCall *c, const char *name);
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
/* The .hlo files that words 1.. name, folders searched through, in order of name; fails if there are none. */
RulesFiles main_corpus(RulesCall *c);
/* task(.., i) for i in 0..n, several at once on threads of their own (-j N; the machine's cores if not given). A task has a context
 * of its own; status[i] is what became of it, why[i] its reason where it declined. `worker`: which thread, below MAIN_MAX_JOBS. */
enum { MAIN_MAX_JOBS = 64 };
typedef void (*RulesTask)(WbbCx *cx, WbbArena *a, void *arg, uint32_t i, uint32_t worker);
void main_each(RulesCall *c, uint32_t n, RulesTask task, void *arg, WbbStatus *status, WbbWhy *why);

#endif

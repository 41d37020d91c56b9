/* rules.h: what the tools of `warpburg rules` share.
 *
 *     RulesCall *c = main_rules_call(call, o->target, o->json);
 *     wbb_put(c->out, ..);
 *     return main_rules_end(c, WBB_OK);
 */
#ifndef MAIN_RULES_H
#define MAIN_RULES_H

#include "main/main.h"
#include "pipe/pipe.h"

/* One call of a tool. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const TgTarget *target; /* NULL for tools that take no --target */
    bool json;
    WbbBuf *out; /* text, or with `json` an object a line */
} RulesCall;

/* rules.c: begin a call; end it: print `out`, return `status`. */
RulesCall *main_rules_call(const Call *call, const char *target, bool json);
WbbStatus main_rules_end(const RulesCall *c, WbbStatus status);
/* With --json: begin and end an object, which is a line of `out`; the first returns `out`. */
WbbBuf *main_json_begin(const RulesCall *c);
void main_json_end(const RulesCall *c, const char *schema); /* wbb_json_end, and a line's end */

/* rules_module.c: the kernels that `compile` makes of a file. Fails or declines where a module cannot be cut. */
typedef struct {
    const char *file, *text;
    size_t n;
} RulesKernel;
typedef struct {
    RulesKernel *items; /* [n] each once */
    uint32_t n;
    const char *plan;      /* of the module that was cut; NULL: it is one kernel */
    const TgStrategy *row; /* at 'module', that made several; NULL: none did */
    uint64_t edges[FUSE_CHOICES]; /* choices of each row at 'edge' that were made */
} RulesKernels;
RulesKernels main_rules_kernels(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *assume);

/* rules_list.c; the file of the name for the others, rules_new.c for new-target */
extern const Command main_rules_list, main_rules_size, main_rules_budget;
extern const Command main_rules_test, main_rules_trace, main_rules_why, main_rules_cover, main_rules_ablate;
extern const Command main_rules_diff, main_rules_new_target;

/* rules_names.c */
extern const char *const main_phase_name[RW_PHASE_COUNT];
int main_phase(const char *name);          /* the phase of a name; -1: the name is NULL */
const char *main_phase_names(WbbArena *a); /* choices of MAIN_OPTION_PHASE */
/* Table 0 of a target is that of the index rules, which all targets share; table 1 is the target's own. */
const RwTables *main_tables(const TgTarget *t, int which);
/* Fails if no rule of the target has the name; the message has the nearest line of that file. */
void main_rule_must_exist(RulesCall *c, const char *name);
void main_rules_must_exist(RulesCall *c, const Words *names);
/* Does one of `names` name the rule, or are there none? */
bool main_rule_is_one_of(WbbArena *a, const RwTables *t, uint32_t rule, const Words *names);
/* A node as text, with "..." for what is nested deeper than `depth`; MAIN_DEEP stands for main_depth. */
enum { MAIN_DEEP = 40, MAIN_SHALLOW = 3 };
const char *main_node_text(WbbArena *a, const IrGraph *g, IrRef r, int depth);
/* The same, with names of what its calls read (RwEvent.names; NULL: calls). */
const char *main_reads_text(WbbArena *a, const IrGraph *g, const char *const *names, IrRef r, int depth);
/* MAIN_DEEP, or less for a node whose parts are shared so often that its text would fill pages. */
int main_depth(WbbArena *a, const IrGraph *g, IrRef r);
/* Text of nodes with names of buffers: %p[..] for %0[..]. */
const char *main_kernel_text(WbbArena *a, const IrKernel *k, const char *text);
/* The HLO instruction, "%name", that the node was made for; "" if it is not known. names: NULL, or those of a graph of
 * arrays, of which g is. */
const char *main_origin(WbbArena *a, const PipeResult *r, const IrGraph *g, const char *const *names, IrRef node);
/* The result of a rule as text; of an instruction rule the instruction: "llvm 'fadd'". */
const char *main_result_text(WbbArena *a, const IrGraph *g, const RwTables *t, IrRef result, int depth);

/* Rows of options. */
#define MAIN_OPTION_PHASE(T)                                                                                          \
    {WORD("--phase", T, phase, "PHASE", "only the rules of one phase"), .choices = {.list = main_phase_names}}
#define MAIN_OPTION_RULE(T, what) {LIST("--rule", T, rules, "RULE", what)}

/* rules_trace.c: the firings of a compile. main_firings is the body of a guard; it compiles the file up to LLVM, and
 * fails or declines as that does. */
typedef struct {
    RulesCall *c;
    const char *file;
    ScAccuracy accuracy;
    const char *assume; /* main_read_hlo */
    const Words *disable;
    bool steps; /* of right sides, too */
    PipeResult result;
    struct { RwEvent *items; uint32_t n, capacity; } events; /* in order */
} Firings;
void main_firings(WbbCx *cx, void *firings);

/* rules_corpus.c */
/* The .hlo files that the words name, or that are in folders that they name; fails if there are none. */
Words main_corpus(RulesCall *c, const Words *words);
/* Runs task(.., i) for i in 0 .. n-1 on several threads (`jobs`; 0: one a core), each with a context of its own.
 * status[i] is its outcome, and why[i] the reason if it declined. `worker`: the thread, below WBB_POOL_THREADS. */
typedef void (*RulesTask)(WbbCx *cx, WbbArena *a, void *arg, uint32_t i, uint32_t worker);
void main_each(int64_t jobs, uint32_t n, RulesTask task, void *arg, WbbStatus *status, WbbWhy *why);

#endif

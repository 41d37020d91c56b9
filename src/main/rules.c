/* rules.c: `warpburg rules TOOL ..`: the list of tools, their help, and the call of one.
 *
 *     warpburg rules test 'add.bf16(x, 0.0)' --target sm_80
 */
#include "main/rules.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name, *usage, *what, *more;
    uint32_t least, most; /* words behind the name */
    WbbStatus (*run)(RulesCall *c);
} Tool;

static const Tool tools[] = {
    {"test", "TERM [--target T] [--phase S] [--approx] [--let 'i in 0..8'].. [--disable RULE]..", "each rewrite of a term, step by step",
     "TERM is written as in IR text: add.bf16(x, 0.0), (8*i + j) // 8. A name is any value of the type that its place has; --let 'j in 0..8'\n"
     "bounds an index, --let 'x: bf16' gives a type where no place does. Without --phase: simplify, lower, isel, index rules in all.\n", 1, 1, main_rules_test},
    {"list", "[--target T] [--phase S] [--rule RULE].. [--flat]", "all rules, with what is proved of each",
     "--flat: one line a rule, `name: text`, as diff and grep like it.\n", 0, 0, main_rules_list},
    {"trace", "FILE.hlo [--target T] [--rule RULE].. [--approx]", "which rules fired where, in order, with the HLO instruction",
     "All firings of a compile, up to where LLVM begins. --rule FILE.py:LINE shows that rule's alone.\n", 1, 1, main_rules_trace},
    {"why", "RULE FILE.hlo [--target T] [--approx]", "why a rule did not fire: the nearest miss, and what failed there",
     "RULE is FILE.py:LINE or FILE.py:LINE[INSTANCE]. Of all nodes that were ever made, the one at which most of the rule matched. Where the\n"
     "rule did fire: where.\n", 2, 2, main_rules_why},
    {"cover", "FILE|FOLDER.. [--target T] [--approx] [-j N]", "hits of each rule over a corpus, and which never fire",
     "Compiles every .hlo file as far as LLVM; a file that is declined counts with what fired until then.\n", 1, MAIN_MAX_LIST, main_rules_cover},
    {"ablate", "FILE|FOLDER.. [--rule RULE].. [--sass] [--target T] [--approx] [-j N]", "what each rule is worth over a corpus",
     "Compiles each file in which a rule fired again without it: nodes of the selected kernel, PTX instructions, with --sass machine\n"
     "instructions; most worth first. A rule that nothing compiles without is needed.\n", 1, MAIN_MAX_LIST, main_rules_ablate},
    {"diff", "TARGET TARGET [--approx]", "what differs in meaning between two targets, with a term that shows it",
     "Terms are made from the left sides of all rules of both, rewritten by both, and compared; rules that differ in text alone are not shown.\n", 2, 2, main_rules_diff},
    {"size", "", "bytes by table", "", 0, 0, main_rules_size},
    {"budget", "", "how far the result of each function may be off, what computes it, how far off that is", "", 0, 0, main_rules_budget},
    {"new-target", "sm_XX --from sm_YY [--patterns DIR]", "a new pattern file from an old one, and what to review in it",
     "Copies DIR/smYY.py (DIR: patterns) to DIR/smXX.py with the new name, and lists every line that states a fact of the old machine.\n", 1, 1, main_rules_new_target},
};

static void put_help(FILE *to)
{
    fputs("usage: warpburg rules TOOL ..\n\n", to);
    for (size_t i = 0; i < WBB_LEN(tools); i++) fprintf(to, "  %-11s %s\n", tools[i].name, tools[i].what);
    fputs("\nwarpburg rules TOOL --help says more. Every tool takes --json: one object a line. --target is sm_90 where it is not given.\n"
          "A rule is named by its place, patterns/arith.py:29[neg.F]; arith.py:29 means all that stand on that line.\n"
          "Exit status: 0 good, 1 the input is at fault, 2 usage, 3 declined, 4 a check failed. How to write a rule: patterns/README.md.\n", to);
}

static const Tool *find(const char *name)
{
    for (size_t i = 0; i < WBB_LEN(tools); i++)
        if (!strcmp(tools[i].name, name)) return &tools[i];
    return NULL;
}

static WbbStatus usage(const Tool *t, const char *why)
{
    fprintf(stderr, "%s\nusage: warpburg rules %s %s\n", why, t->name, t->usage);
    return WBB_USAGE;
}

WbbStatus main_rules(WbbCx *cx, WbbArena *a, const Options *o)
{
    const Words *w = &o->files;
    const bool asks = w->n && !strcmp(w->list[0], "help");
    const Tool *t = w->n > (uint32_t)asks ? find(w->list[asks]) : NULL;
    if (!t && w->n > (uint32_t)asks) {
        fprintf(stderr, "rules %s: no such tool\n", w->list[asks]);
        return put_help(stderr), WBB_USAGE;
    }
    if (!t) return put_help(o->help || asks ? stdout : stderr), o->help || asks ? WBB_OK : WBB_USAGE;
    if (o->help || asks) return printf("usage: warpburg rules %s %s\n%s\n%s", t->name, t->usage, t->what, t->more), WBB_OK;
    if (w->n - 1 < t->least) return usage(t, wbb_format(a, "rules %s: more words expected", t->name));
    if (w->n - 1 > t->most) return usage(t, wbb_format(a, "rules %s: '%s' is one word too many", t->name, w->list[t->most + 1]));
    WbbBuf b = wbb_buf(a);
    RulesCall c = {.cx = cx, .arena = a, .o = o, .target = tg_find(o->target), .out = &b};
    if (!c.target) {
        WbbBuf known = wbb_buf(a);
        uint32_t n;
        const TgTarget *const *all = tg_all(&n);
        for (uint32_t i = 0; i < n; i++) wbb_putf(&known, " %s", all[i]->name);
        wbb_fail(cx, (WbbLoc){0}, "--target %s: no such target; there are%s", o->target, known.text);
    }
    const WbbStatus s = t->run(&c);
    fputs(b.text, stdout);
    return s;
}

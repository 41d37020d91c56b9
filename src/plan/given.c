/* given.c: the text of a plan that a compile follows, written and read (given.h).
 *
 * Needs a plan with its outcomes, or text; leaves text, or what it says. Lines before "choices" are not read, so that
 * what `--emit plan` prints is such a text.
 *
 *     choices
 *       strategy loop
 *         layout elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "plan/given.h"

#include <stdlib.h>
#include <string.h>

/* --- writing ------------------------------------------------------------------------------------------------------ */
/* The layout of the plan's kernel, if it is one that may be given; else NULL. */
static const Layout *layout_of(const Plan *p, const TgStrategy *row)
{
    static const char *const takes[] = {"share", "share.alone", "scan", "loop"};
    bool any = false;
    for (size_t k = 0; k < WBB_LEN(takes); k++) any = any || !strcmp(row->name, takes[k]);
    if (!any || p->n_kernels != 1 || p->kernels[0].n_ranges != 1 || !p->kernels[0].grid) return NULL;
    const PlanStage *s = p->kernels[0].ranges[0].stages;
    const bool loops = s->kind == PLAN_ELEMENTS && !lay_tail(&s->layout);
    return loops || s->kind == PLAN_REDUCE || s->kind == PLAN_SCAN ? &s->layout : NULL;
}

static void print(WbbBuf *out, const Plan *p, int indent)
{
    for (uint32_t k = 0; k < p->n_tried; k++) {
        const PlanOutcome *x = &p->tried[k];
        if (!x->taken) continue;
        wbb_putf(out, "%*sstrategy %s\n", indent, "", x->row->name);
        const Layout *l = layout_of(x->plan, x->row);
        if (l) {
            wbb_putf(out, "%*slayout ", indent + 2, "");
            lay_print(out, l);
            wbb_put(out, "\n");
        }
        for (int part = 0; x->plan->parts && part < 2; part++) print(out, &x->plan->parts[part], indent + 2);
    }
}

void plan_print_given(WbbBuf *out, const Plan *p, const PlanOutcome *texts, uint32_t n, int indent)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!texts[k].row || !texts[k].taken) continue;
        wbb_putf(out, "%*stext %s", indent, "", texts[k].row->name);
        if (texts[k].number) wbb_putf(out, " %lld", (long long)texts[k].number);
        wbb_put(out, "\n");
    }
    print(out, p, indent);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */
enum { DEEP = 64 }; /* parts of parts */

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const TgTarget *t;
    WbbLoc at; /* of the line, behind its indentation */
    const char *line; /* .. from there on, ended by 0 */
    PlanGiven *above[DEEP + 1]; /* those that the line may be a part of */
    int indent[DEEP + 1];
    uint32_t depth;
    struct { PlanGivenText *items; uint32_t n, capacity; } texts;
    PlanGivenPlan plan;
} Reader;

/* What stands behind a word and its spaces; NULL: the line begins with another word. at: its place. */
static const char *behind(const Reader *r, const char *word, WbbLoc *at)
{
    const size_t n = strlen(word);
    if (strncmp(r->line, word, n) || r->line[n] != ' ') return NULL;
    const char *rest = r->line + n + strspn(r->line + n, " ");
    *at = r->at;
    at->col += (int)(rest - r->line);
    return rest;
}

static const TgStrategy *row_of(const Reader *r, const char *name, size_t n, bool text, WbbLoc at)
{
    for (uint32_t k = 0; k < r->t->n_strategies; k++) {
        const TgStrategy *row = &r->t->strategies[k];
        const bool fits = row->at == (text ? TG_AT_TEXT : TG_AT_FUSION);
        if (!fits || strlen(row->name) != n || strncmp(row->name, name, n)) continue;
        if (row->off) wbb_fail(r->cx, at, "%s is one of the strategies that are left out", row->name);
        return row;
    }
    wbb_fail(r->cx, at, "no strategy of a %s is called '%.*s'; `rules list --strategies` lists them",
             text ? "text" : "fusion", (int)n, name);
}

static void read_text(Reader *r, const char *rest, WbbLoc at)
{
    const size_t n = strcspn(rest, " ");
    PlanGivenText x = {.row = row_of(r, rest, n, true, at), .at = at};
    if (r->plan.plan) wbb_fail(r->cx, r->at, "texts stand before the strategy of the fusion");
    if (rest[n]) {
        char *end;
        x.number = strtoll(rest + n, &end, 10);
        at.col += (int)n + 1;
        if (*end || x.number < 1 || x.number > 1024)
            wbb_fail(r->cx, at, "expected a number of blocks, found '%s'", rest + n + 1);
    }
    WBB_PUSH(r->a, &r->texts, x);
}

static void read_strategy(Reader *r, const char *rest, WbbLoc at, int indent)
{
    PlanGiven *x = WBB_NEW(r->a, PlanGiven);
    *x = (PlanGiven){.row = row_of(r, rest, strlen(rest), false, at), .at = r->at};
    while (r->depth && r->indent[r->depth] >= indent) r->depth--;
    if (!r->depth) {
        if (r->plan.plan) wbb_fail(r->cx, r->at, "a fusion has one strategy; those of its parts are indented below it");
        r->plan.plan = x;
    } else {
        PlanGiven *of = r->above[r->depth];
        if (of->n_parts == 2) wbb_fail(r->cx, r->at, "%s has two parts already", of->row->name);
        of->parts[of->n_parts++] = x;
    }
    if (r->depth == DEEP) wbb_fail(r->cx, r->at, "more than %d parts of parts", DEEP);
    r->above[++r->depth] = x, r->indent[r->depth] = indent;
}

static void read_layout(Reader *r, const char *rest, WbbLoc at, int indent)
{
    while (r->depth && r->indent[r->depth] >= indent) r->depth--;
    PlanGiven *of = r->depth ? r->above[r->depth] : NULL;
    if (!of || of->layout || of->n_parts)
        wbb_fail(r->cx, r->at, "a layout stands once, indented below a strategy that is not cut");
    of->layout = rest, of->layout_at = at;
}

static void read_line(Reader *r, int indent)
{
    WbbLoc at;
    const char *rest;
    if ((rest = behind(r, "text", &at))) read_text(r, rest, at);
    else if ((rest = behind(r, "strategy", &at))) read_strategy(r, rest, at, indent);
    else if ((rest = behind(r, "layout", &at))) read_layout(r, rest, at, indent);
    else wbb_fail(r->cx, r->at, "expected text, strategy or layout, found '%.40s'", r->line);
}

const PlanGivenPlan *plan_read_given(WbbCx *cx, WbbArena *a, const TgTarget *t, const WbbSource *from)
{
    const char *file = from->at.file;
    Reader *r = WBB_NEW(a, Reader);
    *r = (Reader){.cx = cx, .a = a, .t = t, .at = {.file = file, .line = from->at.line - 1}};
    bool begun = false;
    for (const char *p = from->text, *end = p + from->n; p < end;) {
        const char *line = wbb_next_line(a, &p, end, NULL);
        const int indent = (int)strspn(line, " ");
        r->at.line++, r->at.col = indent + 1, r->line = line + indent;
        if (begun && *r->line) read_line(r, indent);
        begun = begun || !strcmp(line, "choices");
    }
    if (!begun)
        wbb_fail(cx, (WbbLoc){.file = file}, "a line 'choices' is expected, as `compile --emit plan` prints it");
    if (!r->plan.plan) wbb_fail(cx, r->at, "the strategy of the fusion is expected below 'choices'");
    r->plan.texts = r->texts.items, r->plan.n_texts = r->texts.n;
    return &r->plan;
}

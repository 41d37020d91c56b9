/* fuse.c: what the priced cut of a module asks of a target: rates, and whether a kernel would compile.
 *
 * Needs: a target. Leaves: the answers, each text planned once.
 *
 *     PipeFuse f = pipe_fuse(cx, arena, tg_find("sm_90"), NULL, 0);     fuse_cut(cx, arena, computation, &f->how)
 */
#include "graph/graph.h"
#include "pipe/pipe.h"
#include "plan/strategies.h"
#include "plan/work.h"
#include "price/time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static double rate(const TgTarget *t, const char *name) { return tg_rate(t, name)->value; }
static double tuned(const TgTarget *t, const char *name) { return (double)tg_tune(t, name, 0)->value; }

static double slots(const void *of, const HloInstruction *i) { return plan_cost_of(of, i).slots; }

static double together(const void *of, const double *terms, size_t n)
{
    return price_together(terms, n, (int)tg_tuned(of, "price.norm"));
}

static FuseRates rates_of(const TgTarget *t)
{
    FuseRates r = {.byte = 1 / rate(t, "dram"),
                       .slot = 1 / (rate(t, "issue") * t->warp * rate(t, "clock") * t->sms),
                       .launch = rate(t, "launch"),
                       .sector = TG_SECTOR,
                       .place = tuned(t, "fuse.place"),
                       .move = tuned(t, "fuse.move"),
                       .window = tuned(t, "fuse.window"),
                       .again = tuned(t, "fuse.again"),
                       .slots = slots, .together = together, .of = t,
                       .f64 = rate(t, "pipe.fma") / rate(t, "pipe.f64"),
                       .wait = tuned(t, "fuse.wait") / rate(t, "clock"),
                       .loop = tuned(t, "fuse.loop"),
                       .block = tuned(t, "fuse.block"),
                       .side = tuned(t, "fuse.side"),
                       .straight = tuned(t, "reduce.straight"),
                       .tie = tuned(t, "fuse.tie") / 100,
                       .save = tuned(t, "fuse.save") / 100,
                       .beside = tuned(t, "fuse.beside"),
                       .small = tuned(t, "fuse.small"),
                       .partners = (uint32_t)tuned(t, "fuse.partners"),
                       .worth = tuned(t, "fuse.worth") / 100,
                       .tries = (uint32_t)tuned(t, "fuse.tries"),
                       .sms = t->sms,
                       .cluster = tg_has(t, "cluster") ? tuned(t, "layout.cluster") : 1,
                       .members = (uint32_t)tuned(t, "fuse.members"),
                       .roots = (uint32_t)tuned(t, "fuse.roots"),
                       .leaves = (uint32_t)tuned(t, "fuse.leaves"),
                       .cone = (uint32_t)tuned(t, "fuse.cone"),
                       .rounds = (uint32_t)tuned(t, "fuse.rounds"),
                       .neighbours = (uint32_t)tuned(t, "fuse.neighbours"),
                       .positions = (uint32_t)tuned(t, "fuse.positions"),
                       .readers = (uint32_t)tuned(t, "fuse.readers"),
                       .look = (uint32_t)tuned(t, "fuse.look"),
                       .walk = (uint32_t)tuned(t, "fuse.walk"),
                       .vector = tuned(t, "fuse.vector"),
                       .products = tuned(t, "fuse.products")};
    for (uint32_t k = 0; k < FUSE_CHOICES; k++) {
        const TgStrategy *row = tg_strategy(t, fuse_choice_name[k]);
        r.edges[k].off = row->off, r.edges[k].save = (double)row->save / 100;
    }
    return r;
}

typedef struct {
    const char *text;
    const PipeFuse *of;
    const TgTarget *target;
    bool pays;
    double us; /* 0: not known */
} Planned;

/* The time of a plan; 0: it is not known. */
static double time_of(WbbArena *a, const Plan *p, const TgTarget *t)
{
    const LayPrice x = plan_price(a, p, t);
    return x.bytes_alone ? 0 : x.us;
}

/* The same of a kernel that was made, whose threads may run loops: what these take its IR says. */
static double time_of_made(WbbCx *cx, WbbArena *a, const PipeResult *r, const TgTarget *t)
{
    double us = 0;
    for (uint32_t k = 0; k < r->plan.n_kernels; k++) {
        const PlanKernel *of = &r->plan.kernels[k];
        const LayPrice planned = plan_kernel_price(a, plan_of_kernel(&r->plan, of), of, t);
        const bool shares = of->n_ranges && of->ranges[0].reduced;
        const double own = shares ? 0 : pipe_loop_us(cx, r->kernels[k].ir, t);
        if (own <= 0 && planned.bytes_alone) return 0;
        us += WBB_MAX(own, planned.us);
    }
    return us;
}

/* The kernel of a text in normal form. rules: as of plan_texts. */
static const HloModule *read_kernel(WbbCx *cx, WbbArena *a, const Planned *p, RwCx **rules)
{
    const PipeFuse *f = p->of;
    *rules = f->n_places ? pipe_engine(cx, a, p->target, SC_EXACT, f->places, f->n_places) : NULL;
    const HloModule *m = hlo_parse(cx, a, "kernel.hlo", p->text, strlen(p->text));
    hlo_decline_features(cx, m);
    return gr_normalise(cx, a, m, *rules);
}

/* Whether a thread can hold what a loop changes is known when the loop is emitted, and how much a thread evaluates that
 * computes values at each index at which they are read, in functions that call functions. */
static void try(WbbCx *cx, void *arg)
{
    Planned *p = arg;
    WbbArena *a = wbb_arena_new(cx);
    RwCx *rules;
    const HloModule *m = read_kernel(cx, a, p, &rules);
    if (!strstr(p->text, " while(") &&
        gr_operations(cx, a, hlo_fusion(cx, m).body) <= tuned(p->target, "work.look")) {
        const PlanOfText x = plan_texts(cx, a, m, p->target, &p->of->kernels, NULL, rules);
        p->us = time_of(a, &x.plan, p->target);
    } else {
        PipeResult r;
        const PipeOptions o = {.target = p->target->name, .stage = PIPE_AT_IR, .disable = p->of->places,
                               .n_disable = p->of->n_places};
        pipe_compile(cx, a, &o, "kernel.hlo", p->text, strlen(p->text), &r);
        p->us = time_of_made(cx, a, &r, p->target);
        p->pays = r.work <= tuned(p->target, "work.apart");
    }
}

/* What kernels of their own take for rows and for columns, at least: that of the columns has results of the rows in
 * memory, and reads nothing but the arrays. */
static double apart_us(WbbCx *cx, WbbArena *a, const HloFusion *f, const TgTarget *t)
{
    const HloComputation *body = f->body;
    const HloInstruction *root = body->root, **rows = WBB_NEW_N(a, const HloInstruction *, root->n_operands + 1);
    double bytes;
    bool *needs = plan_columns(a, body, &bytes); /* by id: it needs a sum of a column */
    uint32_t n = 0;
    plan_mark_users(body, needs);
    for (uint32_t k = 0; root->opcode == HLO_TUPLE && k < root->n_operands; k++)
        if (!needs[root->operands[k]->id]) rows[n++] = root->operands[k];
    const double columns = plan_least_us(t) + 1e6 * bytes / rate(t, "dram");
    if (!n) return columns;
    const PlanOptions options = {.no_in_place = true};
    const Plan of_rows = plan_fusion(cx, a, plan_cut_out(cx, a, f, rows, n, NULL, 0), t, options);
    return columns + plan_us(a, &of_rows, t);
}

/* A kernel that sums up columns of the rows that it reduces. */
static void try_across(WbbCx *cx, void *arg)
{
    Planned *p = arg;
    WbbArena *a = wbb_arena_new(cx);
    RwCx *rules;
    const HloModule *m = read_kernel(cx, a, p, &rules);
    const HloFusion f = hlo_fusion(cx, m);
    const PlanOfText x = plan_texts(cx, a, m, p->target, &p->of->kernels, NULL, rules);
    p->pays = plan_has_across(&x.plan) && plan_us(a, &x.plan, p->target) < apart_us(cx, a, &f, p->target);
}

/* --- answers that are kept ---------------------------------------------------------------------------------------- */

/* An answer: 1 is no, 2 yes; what is more are picoseconds. Its name is that of the text and the question. A line of an
 * entry is both. */
enum { NO = 1, YES = 2, DIGITS = 16, NAME = 32, ANSWER = DIGITS + NAME + 1 /* bytes of a line */ };

static const char *name_of(const PipeFuse *f, const WbbMap *question, const char *text)
{
    return wbb_store_name(question->arena, wbb_format(question->arena, "%d %s", question == &f->across, text));
}

static void put_answer(PipeFuse *f, uint64_t answer, const char *name)
{
    wbb_putf(&f->answers, "%0*" PRIx64 "%s\n", DIGITS, answer, name);
}

void pipe_fuse_recall(PipeFuse *f, WbbArena *a, WbbStore *store, const char *text)
{
    char *lines;
    size_t n;
    f->store = store;
    if (!store) return;
    f->key = wbb_format(a, "cut 3\n%s\n%s %u %d %d\n%s", tg_code_identity(a), f->target->name, f->kernels.align,
                        f->kernels.flush, f->kernels.deterministic, text);
    f->answers = wbb_buf(a);
    if (!wbb_store_find(f->cx, a, store, f->key, &lines, &n)) return;
    for (; n >= ANSWER; n -= ANSWER, lines += ANSWER) {
        char digits[DIGITS + 1] = {0}; /* the name is of hexadecimal digits, too */
        memcpy(digits, lines, DIGITS);
        wbb_map_put_bytes(&f->known, lines + DIGITS, NAME)->value = strtoull(digits, NULL, 16);
    }
}

void pipe_fuse_keep(PipeFuse *f, WbbArena *a)
{
    if (f->store && f->news) wbb_store_keep(f->cx, a, f->store, f->key, f->answers.text, f->answers.n);
}

/* The answer for a text: it is tried without a failure, and does not say that it takes no less time. Each is tried
 * once. */
static uint64_t tried(PipeFuse *f, WbbMap *known, void (*how)(WbbCx *, void *), const char *text)
{
    WbbEntry *e = wbb_map_put(known, wbb_key(wbb_intern_z(f->cx, text)));
    if (e->value) return e->value;
    const char *name = f->store ? name_of(f, known, text) : NULL;
    const WbbEntry *before = name ? wbb_map_get_bytes(&f->known, name, NAME) : NULL;
    if (before && before->value) {
        put_answer(f, e->value = before->value, name);
        return e->value;
    }
    Planned p = {.text = text, .of = f, .target = f->target, .pays = true};
    const bool yes = wbb_aside(f->cx, how, &p) && p.pays;
    e->value = yes ? YES + (uint64_t)(p.us * 1e6) : NO;
    if (name) {
        put_answer(f, e->value, name);
        f->news = true;
    }
    return e->value;
}

static bool compiles(void *arg, const char *text)
{
    PipeFuse *f = arg;
    return tried(f, &f->texts, try, text) >= YES;
}

static bool across(void *arg, const char *text)
{
    PipeFuse *f = arg;
    return tried(f, &f->across, try_across, text) >= YES;
}

double pipe_seconds(PipeFuse *f, const char *text)
{
    const uint64_t answer = tried(f, &f->texts, try, text);
    return answer > YES ? 1e-12 * (double)(answer - YES) : 0;
}

static double seconds(void *arg, const char *text) { return pipe_seconds(arg, text); }

typedef struct {
    Planned planned;
    const WbbSource *stated;
    WbbBuf *out;
    int indent;
} Chosen;

static void put_chosen(WbbCx *cx, void *arg)
{
    Chosen *c = arg;
    const PipeFuse *f = c->planned.of;
    WbbArena *a = c->out->arena;
    RwCx *rules;
    const HloModule *m = read_kernel(cx, a, &c->planned, &rules);
    const PlanGivenPlan *given = c->stated->text ? plan_read_given(cx, a, f->target, c->stated) : NULL;
    const PlanOfText x = plan_texts(cx, a, m, f->target, &f->kernels, given, rules);
    c->planned.us = time_of(a, &x.plan, f->target);
    plan_print_given(c->out, &x.plan, x.tried, x.n_tried, c->indent);
}

static double choices(void *arg, WbbBuf *out, const char *text, const WbbSource *stated, int indent)
{
    const PipeFuse *f = arg;
    Chosen c = {.planned = {.text = text, .of = f, .target = f->target}, .stated = stated, .out = out,
                .indent = indent};
    if (stated->text) put_chosen(f->cx, &c); /* one that is not possible is the user's fault */
    else if (!wbb_aside(f->cx, put_chosen, &c)) return 0;
    return 1e-6 * c.planned.us;
}

static double library(void *arg, const char *text)
{
    const PipeFuse *f = arg;
    WbbArena *a = wbb_arena_new(f->cx);
    const double s = pipe_call_seconds(a, f->target, hlo_parse(f->cx, a, "call.hlo", text, strlen(text))->entry);
    wbb_arena_free(a);
    return s;
}

PipeFuse *pipe_fuse(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *const *places, uint32_t n)
{
    PipeFuse *f = WBB_NEW(a, PipeFuse);
    *f = (PipeFuse){.cx = cx, .target = t, .places = places, .n_places = n, .texts = {.arena = a},
                    .across = {.arena = a}, .known = {.arena = a}};
    f->how = (FuseHow){.mode = FUSE_PRICED, .rates = rates_of(t), .compiles = compiles, .across = across, .arg = f,
                       .choices = choices,
                       .seconds = tuned(t, "fuse.save") < 100 ? seconds : NULL,
                       .library = library, .multiplies = !plan_row(t, matrices)->off};
    return f;
}

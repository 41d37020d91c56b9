/* costs.c: the modelled time of a program, as a sum over its kernels and library calls.
 *
 * Needs a program, and a function that times the text of a step. Leaves the sum over all steps and what is printed
 * of it. A copy is timed as the kernel that would do it.
 *
 *     model.hlo: 153.20 us on sm_90: 9 kernels in 12 launches, 15.30 us of it to launch them; ..
 */
#include "program/costs.h"

#include <stdlib.h>
#include <string.h>

enum { COSTLIEST = 5 };

/* --- how often steps run ------------------------------------------------------------------------------------------ */
enum { MOST_TIMES = 1 << 30 };

/* [computation] by its number; callees stand before those that call them. */
static uint64_t *times_of(WbbArena *a, const ProgModule *p)
{
    uint64_t *times = WBB_NEW_N(a, uint64_t, p->n + 1);
    times[p->entry] = 1;
    for (uint32_t i = p->n; i-- > 0;)
        for (uint32_t s = 0; s < p->computations[i].n_steps; s++) {
            const ProgStep *x = &p->computations[i].steps[s];
            const uint64_t each = x->kind == PROG_LOOP && x->iterations >= 0 ? (uint64_t)x->iterations : 1;
            for (uint32_t k = 0; k < x->n_calls; k++)
                times[x->calls[k]] = WBB_MIN(times[x->calls[k]] + times[i] * each, MOST_TIMES);
        }
    return times;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */
static void put_type(WbbBuf *b, const BdBuffer *v)
{
    wbb_putf(b, "%s[", v->type);
    for (int k = 0; k < v->rank; k++) wbb_putf(b, "%s%lld", k ? "," : "", (long long)v->dims[k]);
    wbb_put(b, "]{");
    for (int k = 0; k < v->rank; k++) wbb_putf(b, "%s%d", k ? "," : "", v->minor_to_major[k]);
    wbb_put(b, "}");
}

ProgStep prog_copy_kernel(WbbArena *a, const BdBuffer *from, const BdBuffer *to)
{
    WbbBuf x = wbb_buf(a), y = wbb_buf(a);
    put_type(&x, from), put_type(&y, to);
    return (ProgStep){
        .kind = PROG_COPY, .name = "copy", .operation = "copy", .frame = PROG_NONE, .iterations = PROG_NONE,
        .file = wbb_format(a, "copy of %s to %s", x.text, strchr(y.text, '{')),
        .text = wbb_format(a, "HloModule copy\n\nbody {\n  p = %s parameter(0)\n  ROOT c = %s copy(p)\n}\n\n"
                           "ENTRY main {\n  p = %s parameter(0)\n"
                           "  ROOT copy = %s fusion(p), kind=kLoop, calls=body\n}\n", x.text, y.text, x.text, y.text)};
}

/* A copy as a kernel that does it. */
static const ProgStep *copy_kernel(WbbArena *a, const ProgComputation *c, const ProgStep *s)
{
    const BdBuffer from = prog_describe(&c->values[s->reads[0]]), to = prog_describe(&c->values[s->makes[0]]);
    const ProgStep as = prog_copy_kernel(a, &from, &to);
    ProgStep *k = WBB_NEW(a, ProgStep);
    *k = *s;
    k->file = as.file, k->text = as.text;
    return k;
}

static bool takes_time(const ProgComputation *c, const ProgStep *s)
{
    return s->kind == PROG_KERNEL || s->kind == PROG_LIBRARY || (s->kind == PROG_COPY && c->values[s->makes[0]].bytes);
}

/* What a step takes follows from its text, and from which outputs have the memory of operands. */
static const char *text_and_shares(WbbArena *a, const ProgStep *s)
{
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, s->file);
    for (uint32_t k = 0; k < s->n_shares; k++) wbb_putf(&b, " %u", s->shares[k].output);
    return b.text;
}

ProgText *prog_texts(WbbArena *a, const ProgModule *p, ProgTexts which, uint32_t *n)
{
    struct { ProgText *items; uint32_t n, capacity; } list = {0};
    WbbMap had = {.arena = a};
    const uint64_t *times = times_of(a, p);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t s = 0; s < p->computations[i].n_steps; s++) {
            const ProgComputation *c = &p->computations[i];
            const ProgStep *x = &c->steps[s];
            if (which == PROG_OF_KERNELS ? x->kind != PROG_KERNEL : !takes_time(c, x)) continue;
            if (x->kind == PROG_COPY) x = copy_kernel(a, c, x);
            const char *key = which == PROG_OF_KERNELS ? x->file : text_and_shares(a, x);
            WbbEntry *e = wbb_map_put_bytes(&had, key, strlen(key));
            if (!e->value) {
                WBB_PUSH(a, &list, ((ProgText){.s = x, .in = c}));
                e->value = list.n;
            }
            list.items[e->value - 1].steps++;
            list.items[e->value - 1].times += times[i];
        }
    *n = list.n;
    return list.items;
}

/* --- times -------------------------------------------------------------------------------------------------------- */
typedef struct {
    WbbArena *arena;
    ProgPrice *price;
    void *arg;
    ProgCost *c;
} Job;

static void price_one(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    wbb_come_from(cx, &j->c->text.s->from);
    j->price(cx, j->arena, j->arg, j->c);
}

static double total(const ProgCost *c) { return c->seconds * (double)c->text.times; }

static int costliest_first(const void *x, const void *y)
{
    const double a = total(x), b = total(y);
    return a > b ? -1 : a < b ? 1 : strcmp(((const ProgCost *)x)->text.s->file, ((const ProgCost *)y)->text.s->file);
}

static void add_up(ProgCosts *sum, const ProgModule *p)
{
    for (uint32_t k = 0; k < sum->n; k++) {
        const ProgCost *c = &sum->items[k];
        sum->seconds += total(c);
        if (c->text.s->kind == PROG_LIBRARY) {
            sum->library_seconds += total(c);
        } else {
            sum->launch += c->launch * (double)c->text.times;
            sum->launches += c->launches * c->text.times;
        }
        sum->refused += c->refused ? c->text.steps : 0;
    }
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->computations[i].n_steps; k++) {
            const ProgStep *s = &p->computations[i].steps[k];
            sum->kernels += s->kind == PROG_KERNEL;
            sum->copies += s->kind == PROG_COPY;
            sum->library += s->kind == PROG_LIBRARY;
            sum->loops += s->kind == PROG_LOOP;
            sum->open += s->kind == PROG_LOOP && s->iterations < 0;
            sum->branches += s->kind == PROG_BRANCH;
        }
}

ProgCosts prog_costs(WbbCx *cx, WbbArena *a, const ProgModule *p, ProgPrice *price, void *arg)
{
    ProgCosts sum = {0};
    const ProgText *texts = prog_texts(a, p, PROG_OF_ALL_THAT_TAKE_TIME, &sum.n);
    sum.items = WBB_NEW_N(a, ProgCost, sum.n + 1);
    for (uint32_t k = 0; k < sum.n; k++) {
        ProgCost *c = &sum.items[k];
        c->text = texts[k];
        Job j = {.arena = a, .price = price, .arg = arg, .c = c};
        const WbbStatus s = wbb_guard(cx, price_one, &j);
        if (wbb_progress(cx, "kernels", k + 1, sum.n)) wbb_stop(cx);
        if (s == WBB_OK) continue;
        *c = (ProgCost){.text = texts[k], .refused = s == WBB_DECLINED ? wbb_why_name(cx->why) : "failed"};
        if (sum.status == WBB_OK || s == WBB_FAILED) sum.status = s;
    }
    add_up(&sum, p);
    if (sum.n) qsort(sum.items, sum.n, sizeof *sum.items, costliest_first);
    return sum;
}

void prog_put_sum(WbbBuf *b, const ProgCosts *s)
{
    wbb_putf(b, "%u kernel%s", s->kernels, s->kernels == 1 ? "" : "s");
    if (s->copies) wbb_putf(b, " and %u cop%s", s->copies, s->copies == 1 ? "y" : "ies");
    wbb_putf(b, " in %llu launch%s, %.2f us of it to launch them", (unsigned long long)s->launches,
             s->launches == 1 ? "" : "es", s->launch * 1e6);
    if (s->library)
        wbb_putf(b, "; %u library call%s, %.2f us of it by the roofline", s->library, s->library == 1 ? "" : "s",
                 s->library_seconds * 1e6);
    const uint32_t known = s->loops - s->open;
    if (known) wbb_putf(b, "; the body of %u loop%s counts each time it runs", known, known == 1 ? "" : "s");
    if (s->open)
        wbb_putf(b, "; how often %u loop%s is not known, and the body counts once", s->open,
                 s->open == 1 ? " runs" : "s run");
    if (s->branches) wbb_put(b, "; each side of a branch counts once");
    if (s->refused) wbb_putf(b, "; %u kernels are not compiled, and not in it", s->refused);
}

static double share(const ProgCosts *s, double seconds) { return s->seconds > 0 ? 100 * seconds / s->seconds : 0; }

/* What a step is to a reader: a library call by its operation. */
static const char *kind_of(const ProgStep *s)
{
    return s->kind == PROG_LIBRARY ? s->operation : prog_step_name[s->kind];
}

void prog_put_costs(WbbBuf *b, const char *name, const char *target, const ProgCosts *s)
{
    wbb_putf(b, "%s: %.2f us on %s: ", name, s->seconds * 1e6, target);
    prog_put_sum(b, s);
    wbb_putf(b, "\n%8s %10s %6s  %-12s %-40s %s\n", "share", "us", "times", "kind", "step", "bound by");
    double rest = s->seconds;
    uint32_t k = 0;
    for (; k < s->n && k < COSTLIEST && !s->items[k].refused; k++) {
        const ProgCost *c = &s->items[k];
        rest -= total(c);
        wbb_putf(b, "%7.1f%% %10.2f %6llu  %-12s %-40s %s\n", share(s, total(c)), c->seconds * 1e6,
                 (unsigned long long)c->text.times, kind_of(c->text.s), c->text.s->name, c->binds);
    }
    uint32_t more = 0;
    for (; k < s->n; k++) more += !s->items[k].refused;
    if (more) wbb_putf(b, "%7.1f%% %10.2f         of %u more\n", share(s, rest), rest * 1e6, more);
}

void prog_put_costs_json(WbbBuf *b, const char *name, const char *target, const ProgCosts *s)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", name);
    wbb_json_text(b, "target", target);
    wbb_json_putf(b, "seconds", "%.9g", s->seconds);
    wbb_json_putf(b, "library_seconds", "%.9g", s->library_seconds);
    wbb_json_putf(b, "launch", "%.9g", s->launch);
    wbb_json_uint(b, "kernels", s->kernels);
    wbb_json_uint(b, "launches", s->launches);
    wbb_json_uint(b, "library", s->library);
    wbb_json_uint(b, "copies", s->copies);
    wbb_json_uint(b, "loops", s->loops);
    wbb_json_uint(b, "open_loops", s->open);
    wbb_json_uint(b, "refused", s->refused);
    wbb_json_open(b, "costs", '[');
    for (uint32_t k = 0; k < s->n; k++) {
        const ProgCost *c = &s->items[k];
        wbb_json_open(b, NULL, '{');
        wbb_json_text(b, "file", c->text.s->file);
        wbb_json_text(b, "name", c->text.s->name);
        wbb_json_text(b, "kind", prog_step_name[c->text.s->kind]);
        wbb_json_uint(b, "steps", c->text.steps);
        wbb_json_uint(b, "times", c->text.times);
        wbb_json_uint(b, "launches", c->launches);
        wbb_json_putf(b, "seconds", "%.9g", c->seconds);
        wbb_json_text(b, "binds", c->binds);
        wbb_json_text(b, "refused", c->refused);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
    wbb_json_end(b, "profile-program.1");
}

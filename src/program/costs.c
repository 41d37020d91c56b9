/* costs.c: the modelled time of a program, as a sum over its kernels.
 *
 * Needs a program, and a function that times one text of a kernel. Leaves the sum over all steps and what is printed
 * of it.
 *
 *     model.hlo: 153.20 us on sm_90: 9 kernels in 12 launches, 15.30 us of it to launch them; 6 library calls are not
 */
#include "program/costs.h"

#include <stdlib.h>
#include <string.h>

enum { COSTLIEST = 5 };

ProgText *prog_texts(WbbArena *a, const ProgModule *p, ProgStepKind kind, uint32_t *n)
{
    struct { ProgText *items; uint32_t n, capacity; } list = {0};
    WbbMap had = {.arena = a};
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t s = 0; s < p->computations[i].n_steps; s++) {
            const ProgStep *x = &p->computations[i].steps[s];
            if (x->kind != kind) continue;
            WbbEntry *e = wbb_map_put_bytes(&had, x->file, strlen(x->file));
            if (!e->value) {
                WBB_PUSH(a, &list, ((ProgText){.s = x}));
                e->value = list.n;
            }
            list.items[e->value - 1].times++;
        }
    *n = list.n;
    return list.items;
}

typedef struct {
    WbbArena *arena;
    ProgPrice *price;
    void *arg;
    ProgCost *c;
} Job;

static void price_one(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    j->price(cx, j->arena, j->arg, j->c);
}

static double total(const ProgCost *c) { return c->seconds * c->text.times; }

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
        sum->launch += c->launch * c->text.times;
        sum->kernels += c->text.times;
        sum->launches += c->launches * c->text.times;
        sum->refused += c->refused ? c->text.times : 0;
    }
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->computations[i].n_steps; k++) {
            sum->library += p->computations[i].steps[k].kind == PROG_LIBRARY;
            sum->loops += p->computations[i].steps[k].kind == PROG_LOOP;
        }
}

ProgCosts prog_costs(WbbCx *cx, WbbArena *a, const ProgModule *p, ProgPrice *price, void *arg)
{
    ProgCosts sum = {0};
    const ProgText *texts = prog_texts(a, p, PROG_KERNEL, &sum.n);
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
    qsort(sum.items, sum.n, sizeof *sum.items, costliest_first);
    return sum;
}

void prog_put_costs(WbbBuf *b, const char *name, const char *target, const ProgCosts *s)
{
    wbb_putf(b, "%s: %.2f us on %s: %u kernels in %u launches, %.2f us of it to launch them", name, s->seconds * 1e6,
             target, s->kernels, s->launches, s->launch * 1e6);
    if (s->library) wbb_putf(b, "; %u library calls are not in it", s->library);
    if (s->loops) wbb_putf(b, "; the body of each of %u loops counts once", s->loops);
    if (s->refused) wbb_putf(b, "; %u kernels are not compiled, and not in it", s->refused);
    wbb_putf(b, "\n%8s %10s %6s  %-40s %s\n", "share", "us", "times", "kernel", "bound by");
    for (uint32_t k = 0; k < s->n && k < COSTLIEST && !s->items[k].refused; k++) {
        const ProgCost *c = &s->items[k];
        wbb_putf(b, "%7.1f%% %10.2f %6u  %-40s %s\n", s->seconds > 0 ? 100 * total(c) / s->seconds : 0,
                 c->seconds * 1e6, c->text.times, c->text.s->file, c->binds);
    }
}

void prog_put_costs_json(WbbBuf *b, const char *name, const char *target, const ProgCosts *s)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", name);
    wbb_json_text(b, "target", target);
    wbb_json_putf(b, "seconds", "%.9g", s->seconds);
    wbb_json_putf(b, "launch", "%.9g", s->launch);
    wbb_json_uint(b, "kernels", s->kernels);
    wbb_json_uint(b, "launches", s->launches);
    wbb_json_uint(b, "library", s->library);
    wbb_json_uint(b, "loops", s->loops);
    wbb_json_uint(b, "refused", s->refused);
    wbb_json_open(b, "costs", '[');
    for (uint32_t k = 0; k < s->n; k++) {
        const ProgCost *c = &s->items[k];
        wbb_json_open(b, NULL, '{');
        wbb_json_text(b, "file", c->text.s->file);
        wbb_json_text(b, "name", c->text.s->name);
        wbb_json_uint(b, "times", c->text.times);
        wbb_json_uint(b, "launches", c->launches);
        wbb_json_putf(b, "seconds", "%.9g", c->seconds);
        wbb_json_text(b, "binds", c->binds);
        wbb_json_text(b, "refused", c->refused);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
    wbb_json_close(b, '}');
}

/* program_page.c: `run PROGRAM --profile --html PAGE`: the cost of a program, and that as one self-contained page.
 *
 * Needs a program, and a function that profiles a step of it. Leaves the costs of its steps, and a page that loads
 * nothing: kernels and library calls by their share of the time, each with the lines of the user's program that its
 * instructions name, memory; and for the costliest kernels the page that
 * `run --profile --html` makes of each.
 *
 *     warpburg run model.hlo --profile --blocks 12 --html model.html
 */
#include "report/profile.h"
#include "report/source_lines.h"

#include <string.h>

enum {
    SECTIONS = 12, /* kernels with a section of their own */
    SOURCES = 6    /* lines of the user's program that a row names */
};

static void put_source(WbbBuf *b, const ReportSourceLines *l, WbbMap *seen, int line, uint32_t *n)
{
    const char *source = *n < SOURCES ? report_source_line(l, line) : NULL;
    if (!source || wbb_map_put_bytes(seen, source, strlen(source))->value++) return;
    if ((*n)++) wbb_put(b, ", ");
    report_put_html(b, source);
}

static void put_sources(WbbBuf *b, const ReportSourceLines *l, const ProgStep *s)
{
    WbbMap seen = {.arena = b->arena};
    uint32_t n = 0;
    put_source(b, l, &seen, s->from.at.line, &n);
    for (uint32_t k = 0; k < s->from.n_lines; k++) put_source(b, l, &seen, s->from.lines[k].line, &n);
}

/* --- costs -------------------------------------------------------------------------------------------------------- */
typedef struct {
    const ReportSteps *steps;
    const TgTarget *target;
} Pricing;

/* A library call, by the roofline; what binds it is "dram" or "products". */
static void price_call(WbbCx *cx, WbbArena *a, const TgTarget *t, ProgCost *c)
{
    const ProgStep *s = c->text.s;
    const HloComputation *call = hlo_parse(cx, a, s->file, s->text, strlen(s->text))->entry;
    c->seconds = pipe_call_seconds(a, t, call), c->launch = tg_rate(t, "launch")->value, c->launches = 1;
    c->binds = c->launch + pipe_product_seconds(a, t, call) >= c->seconds ? "products" : "dram";
    c->bytes = (double)pipe_call_bytes(call);
}

static void price_one(WbbCx *cx, WbbArena *a, void *arg, ProgCost *c)
{
    const Pricing *p = arg;
    if (c->text.s->kind == PROG_LIBRARY) {
        price_call(cx, a, p->target, c);
        return;
    }
    const ReportTextTime t = p->steps->time(cx, a, p->steps->arg, c->text.s, NULL);
    c->seconds = t.seconds, c->launch = t.launch, c->launches = t.launches, c->binds = t.binds;
}

ProgCosts report_program_costs(WbbCx *cx, WbbArena *a, const TgTarget *t, const ProgModule *p, const ReportSteps *steps)
{
    Pricing own = {steps, t};
    return prog_costs(cx, a, p, price_one, &own);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */
static double in_all(const ProgCost *c) { return c->seconds * (double)c->text.times; }

static bool is_library(const ProgCost *c) { return c->text.s->kind == PROG_LIBRARY; }

/* Which of the sections a step has, costliest first; SECTIONS: none. */
static uint32_t section(const ProgCosts *c, uint32_t k)
{
    uint32_t n = 0;
    if (c->items[k].refused || is_library(&c->items[k])) return SECTIONS;
    for (uint32_t i = 0; i < k && n < SECTIONS; i++) n += !c->items[i].refused && !is_library(&c->items[i]);
    return n;
}

static bool has_section(const ProgCosts *c, uint32_t k) { return section(c, k) < SECTIONS; }

static void put_times(WbbBuf *b, const ProgCosts *c, const ProgCost *x)
{
    const double share = c->seconds > 0 ? 100 * in_all(x) / c->seconds : 0;
    wbb_putf(b, "</td><td class=\"share\" style=\"--s:%.2f%%\">%.1f %%</td><td>%.3f</td><td>%llu</td>"
                "<td>%.3f</td><td>%s</td><td>", share, share, in_all(x) * 1e6, (unsigned long long)x->text.times,
             x->seconds * 1e6, x->binds);
}

#define TIMES "<th>share</th><th>µs in all</th><th>times</th><th>µs</th><th>bound by</th>"

static void put_kernels(WbbBuf *b, const ProgCosts *c, const ReportSourceLines *l)
{
    wbb_put(b, "<h2>Kernels</h2>\n<div class=\"wide\"><table><tr><th>kernel</th>" TIMES
               "<th>launches</th><th>lines of the program</th></tr>\n");
    for (uint32_t k = 0; k < c->n; k++) {
        const ProgCost *x = &c->items[k];
        if (is_library(x)) continue;
        wbb_put(b, "<tr><td>");
        if (has_section(c, k)) wbb_putf(b, "<a href=\"#k%u\">", k);
        report_put_html(b, x->text.s->name);
        if (has_section(c, k)) wbb_put(b, "</a>");
        if (x->refused) wbb_putf(b, "</td><td colspan=\"6\">not compiled: %s</td><td>", x->refused);
        else put_times(b, c, x), wbb_putf(b, "%u</td><td>", x->launches);
        put_sources(b, l, x->text.s);
        wbb_put(b, "</td></tr>\n");
    }
    wbb_put(b, "</table></div>\n");
}

static void put_values(WbbBuf *b, const ProgComputation *c, const uint32_t *values, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const ProgValue *v = &c->values[values[k]];
        wbb_putf(b, "%s%s[", k ? ", " : "", v->type);
        for (int d = 0; d < v->rank; d++) wbb_putf(b, "%s%lld", d ? "," : "", (long long)v->dims[d]);
        wbb_put(b, "]");
    }
}

static void put_library(WbbBuf *b, const ProgCosts *c, const TgTarget *t, const ReportSourceLines *l)
{
    if (!c->library) return;
    wbb_putf(b, "<h2>Library calls</h2>\n<p>By the roofline: the longer of reading and writing their arrays once, and "
                "multiplying at %.0f %% of the machine's peak.</p>\n"
                "<div class=\"wide\"><table><tr><th>call</th>" TIMES "<th>operation</th><th>arrays</th><th>bytes</th>"
                "<th>lines of the program</th></tr>\n", 100 * tg_rate(t, "product.reached")->value);
    for (uint32_t k = 0; k < c->n; k++) {
        const ProgCost *x = &c->items[k];
        const ProgStep *s = x->text.s;
        if (!is_library(x)) continue;
        wbb_put(b, "<tr><td>");
        report_put_html(b, s->name);
        put_times(b, c, x);
        wbb_putf(b, "%s</td><td>", s->operation);
        put_values(b, x->text.in, s->reads, s->n_reads);
        wbb_put(b, " → ");
        put_values(b, x->text.in, s->makes, s->n_makes);
        wbb_putf(b, "</td><td>%.0f</td><td>", x->bytes);
        put_sources(b, l, s);
        wbb_put(b, "</td></tr>\n");
    }
    wbb_put(b, "</table></div>\n");
}

static void put_memory(WbbBuf *b, const ProgModule *p)
{
    const ProgMemory m = prog_memory(p);
    wbb_putf(b, "<h2>Memory</h2>\n<p>%lld bytes at the peak: %lld of parameters, %lld of results, %lld of constants, "
                "%lld of temporaries (%lld if none shared memory).</p>\n", (long long)m.peak, (long long)m.parameters,
             (long long)m.results, (long long)m.constants, (long long)m.temporaries, (long long)m.without_sharing);
}

void report_put_program_page(WbbCx *cx, WbbBuf *b, const char *name, const TgTarget *t, const ProgModule *p,
                             const ProgCosts *c, const ReportSteps *steps)
{
    const ReportSourceLines *l = report_source_lines(b->arena, p->source);
    report_open_page(b, name, t);
    wbb_putf(b, "<p><strong>%.2f µs</strong>: ", c->seconds * 1e6);
    prog_put_sum(b, c);
    wbb_put(b, ".</p>\n");
    put_kernels(b, c, l);
    put_library(b, c, t, l);
    put_memory(b, p);
    for (uint32_t k = 0; k < c->n; k++) {
        const ProgCost *x = &c->items[k];
        if (!has_section(c, k)) continue;
        wbb_putf(b, "<details id=\"k%u\"%s><summary>", k, section(c, k) ? "" : " open");
        report_put_html(b, x->text.s->name);
        wbb_putf(b, ", %.3f µs</summary>\n", x->seconds * 1e6);
        (void)steps->time(cx, b->arena, steps->arg, x->text.s, b);
        wbb_put(b, "</details>\n");
    }
    wbb_put(b, "<script>\nfor (const a of document.querySelectorAll(\"a\"))\n  a.addEventListener(\"click\", () => { "
               "document.querySelector(a.getAttribute(\"href\")).open = true; });\n</script>\n");
    report_close_page(b);
}

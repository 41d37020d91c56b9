/* profile_text.c: profiles as text.
 *
 * Needs reports; prints for each kernel its time, what it is made of, and the lines, rules and HLO instructions that
 * take most of it. Kernels side by side have a column each, and the ratio of the first to the second.
 *
 *     gelu.hlo on sm_90: 20.3 us = launch 1.1 + latency 0.34 + code 0.11 + work 18.6 + tail 0.18, bound by dram
 */
#include "report/profile.h"

#include <string.h>

#define ULL(x) ((unsigned long long)(x))

static double us(double seconds) { return 1e6 * seconds; }

/* One launch ---------------------------------------------------------------------------------------- */

/* Sectors or wavefronts over all instructions, as many as were needed for each that was taken. */
static double efficiency(const PriceReport *r, SimSpace space, bool sectors)
{
    double taken = 0, needed = 0;
    for (uint32_t i = 0; i < r->n_sites; i++) {
        const SimFlow *f = &r->sites[i].site->flow[space];
        taken += (double)(sectors ? f->sectors : f->wavefronts);
        needed += (double)(sectors ? f->needed : f->ideal);
    }
    return taken > 0 ? needed / taken : 1;
}

static void put_terms(WbbBuf *b, const PriceReport *r)
{
    for (int i = 0; i < PRICE_TERMS; i++) {
        const PriceTerm *t = &r->term[i];
        if (t->seconds <= 0) continue;
        wbb_putf(b, "  %-14s %10.3f us  %14.0f %s at %.3g a second", t->name, us(t->seconds), t->amount, t->unit,
                 t->rate);
        if (t->by_ptx > 0) wbb_putf(b, "; %.3f us by prices of PTX", us(t->by_ptx));
        wbb_put(b, i == (int)r->binds ? "  <- binds\n" : "\n");
    }
}

static void put_unpriced(WbbBuf *b, const PriceReport *r)
{
    if (r->machine_unpriced > 0)
        wbb_putf(
            b, "  no price: %.0f executed machine instructions, as operation 0x%03x, counted as one issue slot each\n",
            r->machine_unpriced, r->machine_operation);
    if (r->unpriced <= 0) return;
    wbb_putf(b, "  no price: %.2f %% of the executed instructions, counted as one issue slot each:",
             100 * r->unpriced / r->executed);
    WbbMap seen = {.arena = b->arena};
    for (uint32_t i = 0; i < r->n_sites; i++) {
        const PriceSite *s = &r->sites[i];
        if (s->price || s->executed <= 0 || wbb_map_put_bytes(&seen, s->form, strlen(s->form))->value++) continue;
        wbb_putf(b, " %s", s->form);
    }
    wbb_put(b, "\n");
}

static void put_facts(WbbBuf *b, const PriceReport *r, const SimProfile *p, const BdLaunch *l)
{
    const PriceOccupancy *o = &r->occupancy;
    wbb_putf(b, "  %llu blocks of %u threads; an SM holds %u of them, %u of %u warps (limit: %s", ULL(p->grid),
             l->block[0] * l->block[1] * l->block[2], o->blocks, o->warps, o->most, o->limit);
    if (r->regs) wbb_putf(b, "; %u registers a thread", r->regs);
    else wbb_put(b, "; registers are not known");
    wbb_putf(b, "); %.2f waves\n", o->waves);
    if (p->blocks < p->grid)
        wbb_putf(b, "  a sample of %llu blocks ran: counts are scaled by %.6g\n", ULL(p->blocks), r->scale);
    wbb_putf(b,
             "  %.0f instructions of warps, %.1f of 32 lanes at work; sectors %.3f needed of 1 touched; wavefronts at "
             "best of 1: L1 %.3f, shared memory %.3f\n",
             r->executed, 32 * r->lanes, efficiency(r, SIM_GLOBAL, true), efficiency(r, SIM_GLOBAL, false),
             efficiency(r, SIM_SHARED, false));
    if (r->spilled.stored > 0)
        wbb_putf(b, "  registers spilled: %.0f bytes a thread; %.0f bytes of L2, %.0f of DRAM\n", r->spilled.thread,
                 r->spilled.l2, r->spilled.dram);
    if (r->again > 0) wbb_putf(b, "  %.0f bytes of DRAM again, after L2 lost them\n", r->again);
    put_unpriced(b, r);
}

static int by_seconds(const PriceShare *x, const PriceShare *y)
{
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : x->line - y->line;
}

/* The largest shares, in falling order. */
static void put_shares(WbbBuf *b, const PriceReport *r, PriceKey key, const char *title)
{
    PriceShare *s;
    const uint32_t n = price_shares(b->arena, r, key, &s);
    if (n == 0 || (n == 1 && !strcmp(s[0].name, "-"))) return;
    wbb_putf(b, "  %s\n", title);
    bool *done = WBB_NEW_N(b->arena, bool, n + 1);
    for (uint32_t k = 0; k < REPORT_PROFILE_LINES && k < n; k++) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++)
            if (!done[i] && (best == n || by_seconds(&s[i], &s[best]) < 0)) best = i;
        done[best] = true;
        if (s[best].share < 0.0005) break;
        wbb_putf(b, "    %6.1f %%  %12.0f  ", 100 * s[best].share, s[best].executed);
        if (s[best].line) wbb_putf(b, "%d: ", s[best].line);
        wbb_putf(b, "%s%s%s\n", s[best].name, s[best].what && *s[best].what ? "  // " : "",
                 s[best].what ? s[best].what : "");
    }
}

void report_put_sum(WbbBuf *b, const PriceReport *r)
{
    wbb_putf(b, "launch %.3f + latency %.3f + code %.3f + work %.3f + tail %.3f", us(r->launch), us(r->latency),
             us(r->code), us(r->work), us(r->tail));
    if (r->clusters > 0) wbb_putf(b, " + clusters %.3f", us(r->clusters));
}

static void put_launch(WbbBuf *b, const ReportProfile *p, int i)
{
    const PriceReport *r = &p->reports[i];
    wbb_putf(b, "%s, %s on %s (%s): %.3f us = ", p->name, p->bundle->launches[i].entry, p->target->name,
             p->target->board, us(r->seconds));
    report_put_sum(b, r);
    wbb_putf(b, ", bound by %s\n", r->term[r->binds].name);
    put_terms(b, r);
    put_facts(b, r, &p->profiles[i], &p->bundle->launches[i]);
    put_shares(b, r, PRICE_BY_LINE, "share of the work, warps, line of the PTX");
    put_shares(b, r, PRICE_BY_RULE, "by rule");
    put_shares(b, r, PRICE_BY_HLO, "by HLO instruction");
    put_shares(b, r, PRICE_BY_FORM, "by form of instruction");
}

const char *report_profile_binds(const ReportProfile *p)
{
    const PriceReport *longest = &p->reports[0];
    for (int i = 1; i < p->bundle->n_launches; i++)
        if (p->reports[i].seconds > longest->seconds) longest = &p->reports[i];
    return longest->term[longest->binds].name;
}

/* Side by side -------------------------------------------------------------------------------------- */

/* One figure of all launches of a kernel. */
typedef double Figure(const PriceReport *r, int term);

static double launch(const PriceReport *r, int term) { return (void)term, us(r->launch); }
static double latency(const PriceReport *r, int term) { return (void)term, us(r->latency); }
static double code(const PriceReport *r, int term) { return (void)term, us(r->code); }
static double work(const PriceReport *r, int term) { return (void)term, us(r->work); }
static double tail(const PriceReport *r, int term) { return (void)term, us(r->tail); }
static double clusters(const PriceReport *r, int term) { return (void)term, us(r->clusters); }
static double term_us(const PriceReport *r, int term) { return us(r->term[term].seconds); }
static double executed(const PriceReport *r, int term) { return (void)term, r->executed; }
static double all(const PriceReport *r, int term) { return (void)term, us(r->seconds); }
static double distinct(const PriceReport *r, int term) { return (void)term, r->distinct + r->again; }
static double registers(const PriceReport *r, int term) { return (void)term, r->regs; }
static double warps(const PriceReport *r, int term) { return (void)term, r->occupancy.warps; }

static void put_row(WbbBuf *b, const ReportProfile *p, uint32_t n, const char *name, Figure *figure, int term,
                    bool largest)
{
    double *x = WBB_NEW_N(b->arena, double, n), most = 0;
    for (uint32_t k = 0; k < n; k++) {
        for (int i = 0; i < p[k].bundle->n_launches; i++) {
            const double one = figure(&p[k].reports[i], term);
            x[k] = largest ? WBB_MAX(x[k], one) : x[k] + one;
        }
        most = WBB_MAX(most, x[k]);
    }
    if (most <= 0) return;
    wbb_putf(b, "  %-20s", name);
    for (uint32_t k = 0; k < n; k++) wbb_putf(b, most < 1e5 ? " %14.3f" : " %14.0f", x[k]);
    for (uint32_t k = 1; k < n; k++)
        if (x[k] > 0) wbb_putf(b, " %9.3f", x[0] / x[k]);
        else wbb_put(b, "         -");
    wbb_put(b, "\n");
}

static void put_beside(WbbBuf *b, const ReportProfile *p, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        wbb_putf(b, "%s[%u] %s, bound by %s\n", k ? "" : "side by side, us:\n", k, p[k].name,
                 report_profile_binds(&p[k]));
    wbb_putf(b, "  %-20s", "");
    for (uint32_t k = 0; k < n; k++) wbb_putf(b, " %13s%u", "", k);
    for (uint32_t k = 1; k < n; k++) wbb_putf(b, "      0 / %u", k);
    wbb_put(b, "\n");
    put_row(b, p, n, "time", all, 0, false);
    put_row(b, p, n, "  launch", launch, 0, false);
    put_row(b, p, n, "  latency", latency, 0, false);
    put_row(b, p, n, "  code", code, 0, false);
    put_row(b, p, n, "  work", work, 0, false);
    put_row(b, p, n, "  tail", tail, 0, false);
    put_row(b, p, n, "  clusters", clusters, 0, false);
    for (int t = 0; t < PRICE_TERMS; t++)
        put_row(b, p, n, wbb_format(b->arena, "    %s", p[0].reports[0].term[t].name), term_us, t, false);
    put_row(b, p, n, "warp instructions", executed, 0, false);
    put_row(b, p, n, "bytes of DRAM", distinct, 0, false);
    put_row(b, p, n, "registers", registers, 0, true);
    put_row(b, p, n, "warps on an SM", warps, 0, true);
}

/* Outputs that are updated in place: where they have memory of their own, a run copies their operands first. */
static void put_copies(WbbBuf *b, const Bundle *of)
{
    int64_t bytes = 0;
    for (int i = 0; i < of->n_buffers; i++)
        if (of->buffers[i].role == BD_OUT && of->buffers[i].init == BD_INIT_COPY) bytes += of->buffers[i].bytes;
    if (bytes)
        wbb_putf(b, "  without copies of %lld bytes, which outputs that are updated in place take in other memory than "
                    "their operands'\n", (long long)bytes);
}

void report_put_profiles(WbbBuf *b, const ReportProfile *p, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        for (int i = 0; i < p[k].bundle->n_launches; i++) put_launch(b, &p[k], i);
        if (!p[k].bundle->n_launches) wbb_putf(b, "%s: no kernel runs\n", p[k].name);
        put_copies(b, p[k].bundle);
        if (p[k].no_machine_code)
            wbb_putf(b, "  no machine code, so by prices of PTX alone: %s\n", p[k].no_machine_code);
        if (p[k].bundle->n_launches > 1) wbb_putf(b, "%s: %.3f us, all launches\n", p[k].name, us(p[k].seconds));
    }
    if (n > 1) put_beside(b, p, n);
}

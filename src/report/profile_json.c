/* profile_json.c: profiles as JSON: all that the simulator counted and src/price made of it.
 *
 * Needs reports; prints one object, with a list of kernels: the one asked for, then those against it. docs/profile.md
 * lists the keys.
 *
 *     {"kernels": [{"file": "gelu.hlo", "target": "sm_90", "us": 20.3, "launches": [{"entry": "gelu", "us": 20.3, ..
 */
#include "report/profile.h"

static void real(WbbBuf *b, const char *key, double x) { wbb_json_putf(b, key, "%.6g", x); }

static void put_terms(WbbBuf *b, const PriceReport *r)
{
    wbb_json_open(b, "terms", '{');
    for (int i = 0; i < PRICE_TERMS; i++) {
        const PriceTerm *t = &r->term[i];
        wbb_json_open(b, t->name, '{');
        real(b, "us", 1e6 * t->seconds);
        wbb_json_putf(b, "amount", "%.12g", t->amount);
        wbb_json_text(b, "unit", t->unit);
        real(b, "rate", t->rate);
        if (t->by_ptx > 0) real(b, "by_ptx", 1e6 * t->by_ptx);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, '}');
}

static void put_occupancy(WbbBuf *b, const PriceReport *r)
{
    const PriceOccupancy *o = &r->occupancy;
    wbb_json_open(b, "occupancy", '{');
    wbb_json_uint(b, "blocks", o->blocks);
    wbb_json_uint(b, "warps", o->warps);
    wbb_json_uint(b, "most", o->most);
    wbb_json_text(b, "limit", o->limit);
    wbb_json_uint(b, "registers", r->regs);
    wbb_json_uint(b, "together", o->together);
    real(b, "waves", o->waves);
    wbb_json_close(b, '}');
}

static void put_flow(WbbBuf *b, const char *key, const SimFlow *f, bool caches)
{
    if (!f->requests) return;
    wbb_json_open(b, key, '{');
    wbb_json_uint(b, "requests", f->requests);
    wbb_json_uint(b, "bytes", f->bytes);
    if (caches) {
        wbb_json_uint(b, "sectors", f->sectors);
        wbb_json_uint(b, "needed", f->needed);
    }
    wbb_json_uint(b, "wavefronts", f->wavefronts);
    wbb_json_uint(b, "ideal", f->ideal);
    if (caches) {
        wbb_json_uint(b, "l2", f->l2);
        wbb_json_uint(b, "dram", f->dram);
    }
    wbb_json_close(b, '}');
}

/* Every instruction that a warp came to; counts are of the blocks that ran. */
static void put_sites(WbbBuf *b, const PriceReport *r)
{
    wbb_json_open(b, "instructions", '[');
    for (uint32_t i = 0; i < r->n_sites; i++) {
        const PriceSite *s = &r->sites[i];
        const SimSite *x = s->site;
        if (!x->warps && !x->passed) continue;
        wbb_json_open(b, NULL, '{');
        wbb_json_int(b, "line", x->line);
        wbb_json_text(b, "form", s->form);
        wbb_json_bool(b, "priced", s->price != NULL);
        wbb_json_uint(b, "warps", x->warps);
        wbb_json_uint(b, "threads", x->threads);
        if (x->passed) wbb_json_uint(b, "passed", x->passed);
        if (x->splits) wbb_json_uint(b, "splits", x->splits);
        if (x->stalls > 0) real(b, "stalls", x->stalls);
        put_flow(b, "global", &x->flow[SIM_GLOBAL], true);
        put_flow(b, "shared", &x->flow[SIM_SHARED], false);
        put_flow(b, "local", &x->flow[SIM_LOCAL], true);
        real(b, "us", 1e6 * s->seconds);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
}

static void put_shares(WbbBuf *b, const PriceReport *r, PriceKey key)
{
    PriceShare *s;
    const uint32_t n = price_shares(b->arena, r, key, &s);
    wbb_json_open(b, wbb_format(b->arena, "by_%s", price_key_name[key]), '[');
    for (uint32_t i = 0; i < n; i++) {
        wbb_json_open(b, NULL, '{');
        if (s[i].line) wbb_json_int(b, "line", s[i].line);
        wbb_json_text(b, "name", s[i].name);
        if (s[i].what) wbb_json_text(b, "comment", s[i].what);
        real(b, "warps", s[i].executed);
        real(b, "us", 1e6 * s[i].seconds);
        real(b, "share", s[i].share);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
}

static void put_buffers(WbbBuf *b, const SimProfile *p)
{
    wbb_json_open(b, "buffers", '[');
    for (int i = 0; i + 1 < p->n_uses; i++) {
        const SimUse *u = &p->uses[i];
        wbb_json_open(b, NULL, '{');
        wbb_json_uint(b, "sectors", u->size);
        wbb_json_uint(b, "loaded", u->loaded);
        wbb_json_uint(b, "stored", u->stored);
        wbb_json_uint(b, "again", u->again);
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
}

static void put_launch(WbbBuf *b, const ReportProfile *k, int i)
{
    const PriceReport *r = &k->reports[i];
    const SimProfile *p = &k->profiles[i];
    const BdLaunch *l = &k->bundle->launches[i];
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "entry", l->entry);
    wbb_json_uint(b, "threads", l->block[0] * l->block[1] * l->block[2]);
    wbb_json_uint(b, "grid", p->grid);
    wbb_json_uint(b, "blocks", p->blocks);
    real(b, "us", 1e6 * r->seconds);
    real(b, "launch", 1e6 * r->launch);
    real(b, "latency", 1e6 * r->latency);
    real(b, "code", 1e6 * r->code);
    real(b, "work", 1e6 * r->work);
    real(b, "tail", 1e6 * r->tail);
    real(b, "clusters", 1e6 * r->clusters);
    wbb_json_text(b, "binds", r->term[r->binds].name);
    put_terms(b, r);
    put_occupancy(b, r);
    wbb_json_putf(b, "executed", "%.12g", r->executed);
    wbb_json_putf(b, "unpriced", "%.12g", r->unpriced);
    wbb_json_putf(b, "machine_unpriced", "%.12g", r->machine_unpriced);
    real(b, "lanes", r->lanes);
    wbb_json_putf(b, "distinct", "%.12g", r->distinct);
    wbb_json_putf(b, "again", "%.12g", r->again);
    wbb_json_open(b, "spilled", '{');
    wbb_json_putf(b, "thread", "%.12g", r->spilled.thread);
    wbb_json_putf(b, "l2", "%.12g", r->spilled.l2);
    wbb_json_putf(b, "dram", "%.12g", r->spilled.dram);
    wbb_json_close(b, '}');
    wbb_json_uint(b, "timed", p->timed);
    real(b, "longest", p->longest);
    real(b, "mean", p->timed ? p->sum / (double)p->timed : 0);
    put_buffers(b, p);
    for (int key = 0; key < PRICE_KEYS; key++) put_shares(b, r, (PriceKey)key);
    put_sites(b, r);
    wbb_json_close(b, '}');
}

void report_put_profiles_json(WbbBuf *b, const ReportProfile *p, uint32_t n)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_open(b, "kernels", '[');
    for (uint32_t k = 0; k < n; k++) {
        wbb_json_open(b, NULL, '{');
        wbb_json_text(b, "file", p[k].name);
        wbb_json_text(b, "target", p[k].target->name);
        real(b, "us", 1e6 * p[k].seconds);
        if (p[k].no_machine_code) wbb_json_text(b, "no_machine_code", p[k].no_machine_code);
        wbb_json_open(b, "launches", '[');
        for (int i = 0; i < p[k].bundle->n_launches; i++) put_launch(b, &p[k], i);
        wbb_json_close(b, ']');
        wbb_json_close(b, '}');
    }
    wbb_json_close(b, ']');
    wbb_json_end(b, "profile.1");
    wbb_put(b, "\n");
}

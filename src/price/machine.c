/* machine: issue slots and pipe clocks of the machine code that ptxas made of each line of the PTX.
 *
 * Needs: machine instructions with their lines, and how often each line of the PTX was executed. Leaves: the amounts of
 * each site that prices of PTX have only estimated: ptxas merges instructions, drops moves and shares addresses.
 *
 * A machine instruction is executed as often as its line. If ptxas has unrolled a loop, a line has several copies, each
 * executed a part of the times: lines that follow each other and are executed equally often are one stretch, and its
 * copies are what the machine code has of lsu, else of xu or issue slots, for each that the prices of PTX have.
 * Instructions that come from no executed line, as those that set the kernel up, are executed once by each warp; those
 * on slow paths are not counted. Loads and stores of local memory that are not in the PTX are registers that ptxas has
 * spilled: their wavefronts are added to those of the line, and their bytes to PriceReport.spilled.
 *
 *     div.full.f32 in line 20, 4,096 times; FMUL, MUFU and four others have line 20   ->   6 * 4,096 issue slots
 */
#include "price/inner.h"

enum { SASS_LDL = 0x183, SASS_STL = 0x187 };

/* A line of the PTX. */
typedef struct {
    PriceSite *first; /* of its instructions; NULL: it has none */
    double executed;  /* warps that came to it */
    double priced[3]; /* lsu, xu, issue by prices of PTX, for one execution */
    double made[3];   /* the same of its machine code */
    double amount[PRICE_TERMS]; /* of all its machine code, for one execution */
    double copies;
    double unpriced;  /* machine instructions without a price */
    bool local;       /* its PTX is an access to local memory */
    double stored, loaded; /* bytes of spilled registers of a warp, for one execution */
} Line;

static bool is_spilled(const Line *l, const TgSassAt *x)
{
    const uint64_t operation = x->first & 0x1ff;
    return !l->local && (operation == SASS_LDL || operation == SASS_STL);
}

/* A load or store of a spilled register: its wavefronts' bytes, those of a warp. */
static void add_spilled(PriceReport *r, const TgTarget *t, Line *l, const TgSassAt *x)
{
    const uint64_t operation = x->first & 0x1ff, width = x->second >> 9 & 7; /* 4: 32 bits; 5: 64; 6: 128 */
    const double lane = width == 6 ? 16 : width == 5 ? 8 : 4, bytes = t->warp * lane;
    l->amount[PRICE_WAVEFRONTS] += bytes;
    if (operation == SASS_LDL) l->loaded += bytes;
    else l->stored += bytes, r->spilled.thread += lane;
}

static void add_price(Line *l, const PriceSite *s)
{
    if (!s->price) return;
    l->priced[0] += s->price->cycles[TG_PIPE_LSU];
    l->priced[1] += s->price->cycles[TG_PIPE_XU];
    l->priced[2] += s->price->issue;
}

static void add_code(PriceReport *r, const TgTarget *t, Line *l, const TgSassAt *x)
{
    const TgSassPrice *p = tg_sass_price(t, x);
    if (!p) {
        l->unpriced++;
        r->machine_operation = (uint32_t)(x->first & 0x1ff);
    }
    l->amount[PRICE_ISSUE]++;
    const bool spilled = is_spilled(l, x);
    if (spilled) add_spilled(r, t, l, x);
    l->made[2]++;
    if (!p) return;
    l->made[0] += spilled ? 0 : p->cycles[TG_PIPE_LSU];
    l->made[1] += p->cycles[TG_PIPE_XU];
    for (int i = 0; i < TG_PIPES; i++) l->amount[PRICE_PIPE + i] += (double)p->cycles[i] / tg_schedulers(t);
}

/* Copies of the lines from..to (not included), which are executed `executed` times each by the `warps` of the grid. */
static void set_copies(Line *lines, uint32_t from, uint32_t to, double executed, double warps)
{
    double priced[3] = {0}, made[3] = {0}, copies = 1;
    for (uint32_t i = from; i < to; i++)
        for (int k = 0; k < 3; k++) priced[k] += lines[i].priced[k], made[k] += lines[i].made[k];
    for (int k = 0; k < 3; k++) {
        if (priced[k] <= 0 || executed <= warps) continue; /* not a loop */
        copies = made[k] / priced[k];
        break; /* memory is never merged, arithmetic may be */
    }
    for (uint32_t i = from; i < to; i++) lines[i].copies = WBB_MAX((double)(uint64_t)(copies + 0.5), 1);
}

static Line *lines_of(WbbArena *a, const PriceKernel *k, PriceReport *r, uint32_t n, double rest[PRICE_TERMS],
                      double warps)
{
    Line *lines = WBB_NEW_N(a, Line, n + 1), none = {0};
    for (uint32_t i = 0; i < r->n_sites; i++) {
        PriceSite *s = &r->sites[i];
        Line *l = &lines[s->site->line];
        if (!l->first) l->first = s;
        const double came = s->executed + r->scale * (double)s->site->passed;
        l->executed = WBB_MAX(l->executed, came);
        add_price(l, s);
        l->local = l->local || s->site->flow[SIM_LOCAL].wavefronts;
    }
    for (uint32_t i = 0; i < k->n_code; i++) {
        const TgSassAt *x = &k->code[i];
        const bool known = x->line <= n && lines[x->line].first;
        if (!x->slow) add_code(r, k->target, known ? &lines[x->line] : &none, x);
    }
    for (int i = 0; i < PRICE_TERMS; i++) rest[i] = none.amount[i] * warps;
    r->spilled.stored = none.stored * warps, r->spilled.loaded = none.loaded * warps;
    return lines;
}

void price_machine_code(WbbArena *a, const PriceKernel *k, PriceReport *r, double warps, double rest[PRICE_TERMS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_sites; i++) n = WBB_MAX(n, (uint32_t)r->sites[i].site->line);
    Line *lines = lines_of(a, k, r, n, rest, warps);
    for (uint32_t from = 0, to; from <= n; from = to) {
        for (to = from + 1; to <= n && (!lines[to].first || lines[to].executed == lines[from].executed);) to++;
        set_copies(lines, from, to, lines[from].executed, warps);
    }
    for (uint32_t i = 0; i <= n; i++) {
        if (!lines[i].first) continue;
        const double times = lines[i].executed / lines[i].copies;
        r->machine_unpriced += lines[i].unpriced * times;
        r->spilled.stored += lines[i].stored * times, r->spilled.loaded += lines[i].loaded * times;
    }
    for (uint32_t i = 0; i < r->n_sites; i++)
        for (int t = PRICE_ISSUE; t < PRICE_TERMS; t++)
            if (t != PRICE_CHAIN) r->sites[i].amount[t] = 0;
    for (uint32_t i = 0; i <= n; i++)
        for (int t = PRICE_WAVEFRONTS; t < PRICE_TERMS && lines[i].first; t++)
            if (t != PRICE_CHAIN) lines[i].first->amount[t] += lines[i].amount[t] * lines[i].executed / lines[i].copies;
}

/* ahead: how many iterations of a loop have their loads on the way before one of them is waited for.
 *
 * Needs: the machine code of the loop's lines. Leaves: a number for the chains of the simulator, which follow the PTX,
 * where each iteration ends by a branch.
 *
 * ptxas unrolls loops, and issues loads of later copies of the body before it uses those of earlier ones, as far as it
 * has registers for what comes. The machine waits as each instruction says in its upper bits: a load names one of six
 * barriers, which is complete when all loads that named it have come; others name the barriers that they wait for.
 * Between two branches of the loop, loads that are issued before the first wait for one of them are one round; those
 * between it and the first wait for one of these are the next, and so on.
 *
 *     LDG b0; LDG b1; wait b0; LDG b0; wait b1; LDG b1; wait b0; wait b1   ->   four copies of a load in two rounds: 2
 */
#include "price/inner.h"

enum { SASS_BRA = 0x147, SASS_LDG = 0x181, BARRIERS = 6 };
/* Bits of an instruction's second half: the barrier that it completes, 7 for none; those of all that it waits for. */
enum { COMPLETES = 46, WAITS = 52, ALL = (1 << BARRIERS) - 1 };

/* What a warp waits for on its way through a stretch of the loop, from one of its branches to the next. */
typedef struct {
    uint32_t from, to;              /* in the machine code */
    uint32_t rounds, due[BARRIERS]; /* that have passed; when a barrier is complete */
    uint32_t copies;                /* loads of the line that has the most of them */
} Stretch;

static bool is_load(const TgSassAt *x) { return (x->first & 0x1ff) == SASS_LDG && !x->slow; }

static void wait_for(Stretch *s, uint64_t barriers)
{
    for (int i = 0; i < BARRIERS; i++)
        if (barriers >> i & 1) s->rounds = WBB_MAX(s->rounds, s->due[i]);
}

static uint32_t loads_of(const PriceKernel *k, const Stretch *s, uint32_t line)
{
    uint32_t n = 0;
    for (uint32_t i = s->from; i < s->to; i++) n += k->code[i].line == line && is_load(&k->code[i]);
    return n;
}

static void follow(const PriceKernel *k, Stretch *s, uint32_t first, uint32_t last)
{
    for (uint32_t i = s->from; i < s->to; i++) {
        const TgSassAt *x = &k->code[i];
        if (x->line < first || x->line > last) continue;
        wait_for(s, x->second >> WAITS & ALL);
        if (!is_load(x)) continue;
        const uint32_t loads = loads_of(k, s, x->line), barrier = x->second >> COMPLETES & 7;
        if (barrier < BARRIERS) s->due[barrier] = s->rounds + 1;
        s->copies = WBB_MAX(s->copies, loads);
    }
    wait_for(s, ALL);
}

double price_ahead(const PriceKernel *k, uint32_t first, uint32_t last)
{
    Stretch most = {.copies = 1, .rounds = 1};
    for (uint32_t from = 0, i = 0; i < k->n_code; i++) {
        const TgSassAt *x = &k->code[i];
        const bool ends = (x->first & 0x1ff) == SASS_BRA && x->line >= first && x->line <= last;
        if (!ends && i + 1 < k->n_code) continue;
        Stretch s = {.from = from, .to = i + 1};
        follow(k, &s, first, last);
        if (s.copies > most.copies) most = s;
        from = i + 1;
    }
    return most.rounds ? WBB_MAX((double)most.copies / most.rounds, 1) : 1;
}

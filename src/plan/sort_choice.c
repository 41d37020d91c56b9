/* sort_choice.c: how many elements of a row a block sorts, how many rows, and how many elements a thread has.
 *
 * Needs what is sorted (sort.c); leaves the numbers of all launches, which the chooser takes (chooser.h). A block is as
 * large as its shared memory allows, or smaller: then more launches follow, but all SMs have some. A price is the sum
 * over the launches. In each, blocks go round after round through a network: terms are comparisons and exchanges,
 * accesses of shared memory, and rounds that each block waits for.
 *
 *     f32[8,100000] with positions, 2^3 elements a thread, sm_90: tiles of 4096, five launches that merge 58.6 us;
 *     of 2048, six 61.4; of 1024, seven 64.7    =>   4096
 */
#include "layout/chooser.h"
#include "layout/counts.h"
#include "plan/sort.h"

enum {
    GROUP_BITS = 3,  /* 2^3 elements in the registers of a thread (emit/sort_network.c); */
    BANK_BITS = 2,   /* of a thread with 2^2 lanes meet in banks: sort.banks */
    OF_PARTS = 1024  /* bytes of shared memory in which the threads that merge find their part */
};

typedef struct {
    uint32_t bits;
    int64_t tile, rows;
} Wish;

typedef struct {
    const PlanSort *sort; /* without numbers */
    const TgTarget *t;
    const LayRates *r;
    int64_t places;       /* of a block, at most */
    double row_bytes;     /* of an element, in memory */
    double alu;           /* lanes that compare or select in a clock of an SM */
    bool gathers;         /* there are operands that do not move */
    int64_t side;         /* rows side by side in memory that fill sectors; 1: a row is contiguous */
} Sorts;

/* Blocks that put so many places each in order, in rows of so many, of which the first ones are kept. */
typedef struct {
    double blocks;
    int64_t places, row, kept;
} Launch;

static int64_t power_up(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

ScType plan_memory_type(ScType t)
{
    return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : ir_is_packed(t) ? SC_U8 : t;
}

uint32_t plan_memory_parts(ScType t) { return sc_type_info[t].cls == 'C' ? 2 : 1; }

int64_t plan_sort_bytes(const PlanSort *s)
{
    int64_t bytes = sc_bytes(s->position);
    for (uint32_t k = 0; k < s->n_keys; k++) {
        const ScType t = s->i->operands[s->keys[k]]->shape->type;
        bytes += (int64_t)plan_memory_parts(t) * sc_bytes(plan_memory_type(t));
    }
    return bytes;
}

int64_t plan_sort_places(const PlanSort *s) { return s->pass ? s->merged : power_up(s->tile) * s->block_rows; }

static int64_t threads_of(const PlanSort *s, const TgTarget *t, int64_t places)
{
    return WBB_MAX(WBB_MIN(places >> s->bits, TG_MAX_THREADS), (int64_t)t->warp);
}

int64_t plan_sort_threads(const PlanSort *s, const TgTarget *t) { return threads_of(s, t, plan_sort_places(s)); }

/* Of so many places the first ones that are kept, if `head` are needed: all, unless few are (emit/sort_heads.c). */
static int64_t kept_of(const PlanSort *s, int64_t head, int64_t places)
{
    const int64_t kept = WBB_MAX(power_up(head), 1ll << PLAN_SORT_BITS);
    return s->spare * kept <= places ? kept : places;
}

int64_t plan_sort_kept(const PlanSort *s, int64_t places)
{
    return s->passes && !s->group ? places : kept_of(s, s->first + s->stored, places);
}

/* --- the price ---------------------------------------------------------------------------------------------------- */
/* Rounds of a block that puts so many places in order, of s->bits steps each (emit/sort_network.c). */
static int64_t rounds_of_block(const PlanSort *s, int64_t places)
{
    int64_t rounds = 0, stretch = 0;
    for (int64_t n = 1; n < places; n *= 2) stretch++, rounds += lay_up(stretch, s->bits);
    return rounds;
}

/* Operations of an exchange: of a word, or where a comparator says which of two elements comes first, those of it, and
 * a selection of each word of keys and position for either place, of keys once more for the comparator. */
static double operations_of(const Sorts *x, const PlanSort *s)
{
    if (s->word) return (double)tg_tuned(x->t, s->position == SC_U32 ? "sort.word32" : "sort.word64");
    const HloComputation *by = s->i->called[0];
    const double key_bytes = (double)(plan_sort_bytes(s) - sc_bytes(s->position)), word = sizeof(uint32_t);
    double slots = (double)tg_tuned(x->t, "sort.exchange") + 2;
    for (uint32_t k = 0; k < by->n_instructions; k++) slots += plan_cost_of(x->t, by->instructions[k]).slots;
    return slots + 4 * lay_ceiling(key_bytes / word);
}

/* Loads of a thread that wait one after the other: of elements, then of operands at places that the sort has found.
 * Where rows fill their places none is in a branch, and all wait at once. */
static double waits_of(const Sorts *x, const PlanSort *s, const Launch *l)
{
    const double each = (double)l->places / (double)threads_of(s, x->t, l->places);
    return (s->length == l->row || !(s->length % l->row) ? 1 : each) * (x->gathers ? 2 : 1);
}

/* Rounds that a block waits for, and those of them in which all of its elements take part. An iteration that halves the
 * elements has a round, and those of the steps that are left; all of them are worth two of such iterations. */
typedef struct {
    double all, worth;
} Rounds;

static Rounds rounds_of(const PlanSort *s, const Launch *l)
{
    Rounds r = {.all = (double)rounds_of_block(s, l->kept)};
    double left = 1 - (double)s->bits;
    for (int64_t n = 1; n < l->kept; n *= 2) left++;
    const double iteration = 1 + (double)lay_up((int64_t)left, s->bits);
    r.worth = r.all + (l->kept < l->row ? 2 * iteration : 0);
    for (int64_t n = l->kept; n < l->row; n *= 2) r.all += iteration;
    return r;
}

static PriceOccupancy occupancy_of(const Sorts *x, const PlanSort *s, int64_t places, double blocks)
{
    return price_occupancy(x->t, (uint64_t)threads_of(s, x->t, places), (uint64_t)blocks, 0,
                           (uint64_t)(places * plan_sort_bytes(s)));
}

/* A launch whose blocks sort. */
static LayPrice sorting(const Sorts *x, const PlanSort *s, const Launch *l, double bytes)
{
    const Rounds rounds = rounds_of(s, l);
    const double operations = operations_of(x, s), steps = (double)s->bits / 2; /* exchanges of an element */
    const double filled = WBB_MAX((double)l->places, (double)(x->t->warp << s->bits)); /* with idle lanes of a warp */
    const double of_sm = filled * WBB_MAX(l->blocks / (double)x->t->sms, 1), moved = rounds.worth * of_sm;
    const double slots = moved * (steps * operations + (double)tg_tuned(x->t, "sort.place")) / x->t->warp;
    const double meet = s->bits > BANK_BITS ? 1 : (double)tg_tuned(x->t, "sort.banks") / 100;
    const double accesses = 2; /* of an element: a load and a store */
    const double in_turn = steps * (double)(1 << s->bits) / 2; /* exchanges of a thread, of which two overlap */
    const double round = (double)tg_tuned(x->t, "sort.round") + in_turn * operations * x->r->alu;
    const PriceOccupancy o = occupancy_of(x, s, l->places, l->blocks);
    const int64_t near = WBB_MIN(s->block_rows, x->side); /* elements of a line, where rows are not contiguous */
    const double lines = x->side > 1 ? of_sm * accesses / (double)near : 0;
    const double alone = rounds.all * round + waits_of(x, s, l) * x->r->dram_latency;
    LayPrice p = {.together = 1 / o.waves, .term = {
        [LAY_DRAM] = bytes / x->r->dram,
        [LAY_L2] = bytes * (double)(x->side / near) / x->r->l2,
        [LAY_ISSUE] = (slots + moved * accesses / x->t->warp) / (x->r->issue * x->r->clock),
        [LAY_PIPE] = slots * x->t->warp / (x->alu * x->r->clock),
        [LAY_L1] = (lines + moved * accesses * meet * (double)plan_sort_bytes(s) / x->r->wavefront) / x->r->clock,
        [LAY_CHAIN] = (o.waves * alone - x->r->dram_latency) / x->r->clock,
    }};
    lay_price_launch(x->r, &p, l->blocks);
    return p;
}

/* A launch whose blocks merge runs. */
static LayPrice merging(const Sorts *x, const PlanSort *s, double bytes)
{
    const double blocks = (double)(s->rows * lay_up(s->length, s->merged)), of_all = (double)(s->rows * s->length);
    const PriceOccupancy o = occupancy_of(x, s, s->merged, blocks);
    LayPrice p = {.term = {
        [LAY_DRAM] = bytes / x->r->dram,
        [LAY_L2] = bytes / x->r->l2,
        [LAY_PIPE] = of_all / 64 / (double)x->t->sms * (double)tg_tuned(x->t, "sort.merge_warp") / x->r->clock,
        [LAY_CHAIN] = o.waves * (double)tg_tuned(x->t, "sort.merge") / x->r->clock,
    }};
    lay_price_launch(x->r, &p, blocks);
    return p;
}

static void add(LayPrice *sum, const LayPrice *p)
{
    for (int k = 0; k < LAY_TERMS; k++) sum->term[k] += p->term[k];
    sum->us += p->us, sum->plain += p->plain;
}

/* Of all launches, one after the other. */
static LayPrice price_of(const Sorts *x, const PlanSort *s)
{
    const double all = (double)(s->rows * s->length), moved = 2 * (double)plan_sort_bytes(s);
    const int64_t places = power_up(s->tile), row = WBB_MIN(places, power_up(s->length));
    int64_t heads = lay_up(s->length, s->tile);
    const double left = s->group ? (double)(s->rows * heads * s->head) : all; /* elements of later launches */
    const double stored = (double)(s->rows * s->stored) * x->row_bytes;
    LayPrice sum = {0};
    Launch l = {.blocks = (double)(lay_up(s->rows, s->block_rows) * heads), .places = places * s->block_rows,
                .row = row, .kept = s->passes && !s->group ? row : kept_of(s, s->first + s->stored, row)};
    LayPrice p = sorting(x, s, &l, all * x->row_bytes + (s->passes ? left * moved / 2 : stored));
    add(&sum, &p);
    for (uint32_t k = 0; k < s->passes && !s->group; k++) p = merging(x, s, all * moved), add(&sum, &p);
    for (uint32_t k = 0; k < s->passes && s->group; k++) {
        heads = lay_up(heads, s->group);
        l = (Launch){.blocks = (double)(s->rows * heads), .places = s->merged, .row = s->merged,
                     .kept = kept_of(s, s->head, s->merged)};
        p = sorting(x, s, &l, l.blocks * (double)s->merged * moved / 2);
        add(&sum, &p);
    }
    return sum;
}

/* --- what is tried (chooser.h) ------------------------------------------------------------------------------------ */
/* Heads of tiles, or of groups of them, that a block sorts; 0: it has no place for several, tiles are shorter, or one
 * is a row. */
static int64_t group_of(const Sorts *x, const PlanSort *s)
{
    const int64_t head = s->first + s->stored, group = x->places / head;
    const bool few = group < tg_tuned(x->t, "sort.heads");
    return few || s->tile < head || s->tile >= s->length ? 0 : WBB_MIN(group, lay_up(s->length, s->tile));
}

static bool make(void *of, const void *wish, void *what, uint64_t *hash)
{
    const Sorts *x = of;
    const Wish *w = wish;
    PlanSort *s = what;
    *s = *x->sort;
    s->bits = w->bits, s->tile = WBB_MIN(w->tile, s->length), s->block_rows = w->rows;
    const int64_t tiles = lay_up(s->length, s->tile);
    s->spare = tg_tuned(x->t, "sort.spare"), s->searches = (uint32_t)tg_tuned(x->t, "sort.searches");
    s->group = group_of(x, s), s->head = s->group ? s->first + s->stored : 0;
    if (s->group)
        for (int64_t heads = tiles; heads > 1; heads = lay_up(heads, s->group)) s->passes++;
    else
        for (int64_t run = s->tile; run < s->length; run *= 2) s->passes++;
    s->room = s->group ? WBB_MIN(tiles * s->head, s->length) : s->length;
    s->merged = lay_power_below((tg_tuned(x->t, "layout.max_shared") - OF_PARTS) / plan_sort_bytes(s));
    s->merged = s->group ? power_up(s->group * s->head)
                         : WBB_MIN(s->merged, WBB_MIN(s->tile, tg_tuned(x->t, "sort.merged")));
    *hash = wbb_hash(w, sizeof *w, 0);
    return true;
}

static bool needs(void *of, void *what, LayNeeds *to)
{
    const PlanSort *s = what;
    const Sorts *x = of;
    const int64_t places = power_up(s->tile) * s->block_rows;
    *to = (LayNeeds){.shared = (double)(places * plan_sort_bytes(s))};
    to->counts.threads = (double)threads_of(s, x->t, places);
    return places <= x->places;
}

static LayPrice price(void *of, void *what, const LayNeeds *needs_of)
{
    (void)needs_of;
    return price_of(of, what);
}

/* A warp that has no lane without elements; few launches; few rows of a block, but whole lines; few elements of a
 * thread where rounds are waited for, else many, which have fewer rounds. */
static void prefer(void *of, const LayTie *tie, const LayTried *x, int64_t *key)
{
    const PlanSort *s = x->what;
    const Sorts *sorts = of;
    (void)tie;
    key[0] = power_up(s->tile) * s->block_rows < (int64_t)sorts->t->warp << s->bits;
    key[1] = s->passes, key[2] = sorts->side > 1 ? -s->block_rows : s->block_rows;
    const int64_t bits = s->bits;
    key[3] = x->price.term[LAY_CHAIN] > x->price.term[LAY_PIPE] ? bits : -bits;
}

static void list(void *of, const LayTried *x, LayPriced *to) { (void)of, (void)x, (void)to; }

static const LayProgram program = {.bytes = sizeof(PlanSort), .make = make, .needs = needs, .price = price,
                                   .prefer = prefer, .list = list};

/* Tiles from a row, or what a block has place for, down; of whole rows several, neighbours in memory where rows are
 * not, so many that a block has work. */
static void try_all(LayChooser *k, const Sorts *x, uint32_t bits)
{
    const PlanSort *s = x->sort;
    const int64_t row = power_up(s->length), least = tg_tuned(x->t, "sort.elements");
    const int64_t wanted = WBB_MAX(least / row, x->side);
    int64_t tile = WBB_MIN(row, x->places);
    for (int64_t rows = 1; tile == row && rows <= wanted && rows < 2 * s->rows; rows *= 2)
        lay_try(k, &(Wish){.bits = bits, .tile = tile, .rows = rows});
    for (tile = tile == row ? tile / 2 : tile; tile >= least; tile /= 2)
        lay_try(k, &(Wish){.bits = bits, .tile = tile, .rows = 1});
}

bool plan_sort_choose(WbbArena *a, const TgTarget *t, PlanSort *s, LayPrice *price_of_launch)
{
    Sorts x = {.sort = s, .t = t, .r = lay_rates(a, t), .side = 1, .alu = tg_rate(t, "pipe.alu")->value};
    x.gathers = s->i->n_operands > s->n_keys && (!s->word || s->i->n_operands > 1);
    if (plan_shape(s->i, 0)->minor_to_major[0] != s->dim) x.side = tg_tuned(t, "sort.rows");
    x.places = lay_power_below(tg_tuned(t, "layout.max_shared") / plan_sort_bytes(s));
    for (uint32_t k = 0; k < s->i->n_operands; k++) x.row_bytes += (double)sc_bytes(s->i->operands[k]->shape->type);
    LayChooser *k = lay_chooser(a, t, &program, &x);
    uint32_t most = 1; /* elements that the registers of a thread hold */
    while (most < GROUP_BITS && (s->n_keys + 1) << (most + 1) <= tg_tuned(t, "sort.values")) most++;
    uint32_t fewest = most;
    while (fewest > 1 && 1ll << fewest > tg_tuned(t, "sort.fewest")) fewest--;
    for (uint32_t bits = fewest; bits <= (s->word ? PLAN_SORT_BITS : most); bits++) try_all(k, &x, bits);
    LayChoice choice;
    uint32_t taken;
    if (!lay_decide(k, &taken, &choice)) return false;
    *s = *(const PlanSort *)k->all.items[taken].what;
    const double launches = s->passes + 1.0;
    *price_of_launch = k->all.items[taken].price;
    for (int term = 0; term < LAY_TERMS; term++) price_of_launch->term[term] /= launches;
    price_of_launch->us /= launches, price_of_launch->plain /= launches;
    return true;
}

/* spikes.c: input case `s`: inputs whose sums are exact in every order, and change with every element.
 *
 * Bounds of long sums are wide: a kernel that leaves out half of 1,024 bf16 lies inside them. Where all terms of a sum
 * but a few are the combiner's identity, and the few are small whole numbers, every partial sum of every order is
 * exact, and the bound is a point (eval/exact.c).
 *
 * Needs: a module. Leaves: a way to make its inputs, found by trial: one input carries spikes on a background, the
 * others are constant, and the evaluator says whether each reduction then has one possible result, and whether the
 * spikes change it. Spikes stand in the first and the last element that a result reduces, and in random ones; maxima
 * and their like get one spike at a time, but for one row in eight with two equal spikes side by side, of which an
 * argmax takes the first, and one in eight that is -2 or 2, or an integer's limit, everywhere, so that a wrong initial
 * value shows. Inputs that no reduction needs are those of case `n`.
 *
 *     sum(x * y)      x = 0 but for spikes of 1, 2, 3; y = 1
 *     sum(exp(x))     x = -inf but for spikes of 0
 *     max(x)          x = 0 but for one spike of 1 or 1000, at another place in each row: what subtracts the maximum
 *                     before it takes exp overflows where the maximum lost the latter
 */
#include "judge/spikes.h"

#include "bundle/bundle.h"
#include "graph/graph.h"
#include "judge/index_ranges.h"
#include "judge/reductions.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 6, OTHERS = 5, TRIES = 400, WORK = 1 << 25 /* terms that the search may look at */, LONG = 1 << 22 };

typedef enum { DRAWN, CONSTANT, SPIKES } Form;

/* How one input is made. */
typedef struct {
    Form form;
    double background;
    double values[3];
    uint32_t n_values, random; /* random: spikes of a result besides its first and last; 0 with `single`: one alone */
    bool single;   /* one spike a result */
    bool balanced; /* spikes come in pairs of opposite sign: the sum is 0, that of the squares is not */
} Recipe;

typedef struct {
    Recipe *recipes; /* by input */
    const JudgeReduction *target;
    const Recipe *carrier;
    bool *covers;    /* by target */
} Assignment;

/* What results are without spikes, which many ways have in common. */
typedef struct {
    const JudgeReduction *target;
    int64_t first;        /* of the sampled results */
    const double *inputs; /* what each is; nan: it is drawn */
    const EvBound *bounds;
} Flat;

typedef struct {
    WbbCx *cx;       /* of trials alone: what they decline is no message */
    WbbArena *arena;
    const JudgeReductions *all; /* the targets */
    const BdIndices *indices; /* by input; NULL: there are none */
    uint64_t seed;
    struct { JudgeReduction *items; uint32_t n, capacity; } targets;
    struct { Assignment *items; uint32_t n, capacity; } found;
    struct { Flat *items; uint32_t n, capacity; } flats; /* those that were computed */
    const Assignment *at; /* being tried, or chosen */
    bool flat;            /* leave the spikes out */
    bool chosen;          /* the search is over: make rows with two spikes, and with none, too */
    int64_t work;
    uint32_t tries;
} Search;

static uint64_t mix(uint64_t x, uint64_t y)
{
    const uint64_t key[2] = {x, y};
    return wbb_hash(key, sizeof key, 11);
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */
static double spiked(const Search *x, const Recipe *r, uint32_t input, int64_t position)
{
    const JudgeReduction *t = x->at->target;
    if (x->flat || r->form == CONSTANT) return r->background;
    int64_t result, term;
    judge_place_in(t, x->all->inputs[input], position, &result, &term);
    const uint64_t h = mix(x->seed + input, (uint64_t)position), g = mix(x->seed, (uint64_t)result);
    if (r->balanced) {
        const int64_t last = t->terms - 1, first_of_pair = term & ~INT64_C(1);
        if (term == 0 || term == last) return t->terms == 1 ? r->background : term == 0 ? r->values[0] : -r->values[0];
        const bool whole = first_of_pair > 0 && first_of_pair + 1 < last;
        if (!whole || (int64_t)(mix(g, (uint64_t)first_of_pair) >> 8) % t->terms >= r->random) return r->background;
        return term & 1 ? -r->values[0] : r->values[0];
    }
    bool spike = term == 0 || term == t->terms - 1 || (int64_t)(h >> 8) % t->terms < r->random;
    if (r->single) { /* first, last or random, by result */
        const uint64_t which = ((uint64_t)result + x->seed) % 4;
        const int64_t place = which == 0 ? 0 : which == 1 ? t->terms - 1 : (int64_t)(g >> 8) % t->terms;
        const uint64_t row = x->chosen ? mix(g, 7) % 8 : 8; /* 0: two spikes; 1: none */
        const double away = r->background - r->values[0]; /* for a row without spikes, beyond the background */
        if (row == 1 && isfinite(away))
            return r->background + (sc_is_int(x->all->inputs[input]->type) ? away * (double)INFINITY : 2 * away);
        spike = term == place || (row == 0 && term == place + 1);
        if (spike) return r->values[(g >> 40) % r->n_values];
    }
    return spike ? r->values[h % r->n_values] : r->background;
}

/* Elements of an input; see EvSource. Of a complex one the imaginary part is 0. */
static void make(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Search *x = arg;
    const ScType type = x->all->inputs[number]->type;
    const Recipe *r = x->at ? &x->at->recipes[number] : NULL;
    if (!r || r->form == DRAWN) {
        bd_make_input_at(x->seed, (uint64_t)number, sc_type_info[type].hlo, positions, start, n, 'w',
                         x->indices ? &x->indices[number] : NULL, out);
        return;
    }
    memset(out, 0, (size_t)n * sc_bytes(type));
    for (int64_t k = 0; k < n; k++)
        judge_put_element(type, spiked(x, r, (uint32_t)number, positions ? positions[k] : start + k), k, out);
}

/* --- the search --------------------------------------------------------------------------------------------------- */
/* Ways to make an input that carries spikes, by what the reduction does to its terms. */
typedef struct {
    ScOp op; /* OP_NONE: any */
    Recipe recipe;
} Way;
#define INF ((double)INFINITY)
/* A maximum that overflows exp: exp(x - max) / sum(exp(x - max)) is the same with any smaller maximum, but for that. */
#define FAR 1000.0
static const Way ways[] = {
    {OP_ADD, {.form = SPIKES, .background = 0, .values = {1, 2, 3}, .n_values = 3, .random = 62}},
    {OP_ADD, {.form = SPIKES, .background = -INF, .values = {0}, .n_values = 1, .random = 62}},
    {OP_ADD, {.form = SPIKES, .background = 1, .values = {2, 3}, .n_values = 2, .random = 62}},
    {OP_ADD, {.form = SPIKES, .background = -1, .values = {0, 1}, .n_values = 2, .random = 62}},
    {OP_ADD, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 6}},
    {OP_ADD, {.form = SPIKES, .background = -INF, .values = {0}, .n_values = 1, .random = 6}},
    {OP_ADD, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 6, .balanced = true}},
    {OP_ADD, {.form = SPIKES, .background = 1, .values = {2}, .n_values = 1, .random = 6}},
    {OP_MUL, {.form = SPIKES, .background = 1, .values = {2, 0.5}, .n_values = 2, .random = 6}},
    {OP_MUL, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 6}},
    {OP_MAX, {.form = SPIKES, .background = 0, .values = {1, FAR}, .n_values = 2, .random = 0, .single = true}},
    {OP_MAX, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 0, .single = true}},
    {OP_MAX, {.form = SPIKES, .background = -INF, .values = {0}, .n_values = 1, .random = 0, .single = true}},
    {OP_MIN, {.form = SPIKES, .background = 0, .values = {-1, -FAR}, .n_values = 2, .random = 0, .single = true}},
    {OP_MIN, {.form = SPIKES, .background = 0, .values = {-1}, .n_values = 1, .random = 0, .single = true}},
    {OP_MIN, {.form = SPIKES, .background = INF, .values = {0}, .n_values = 1, .random = 0, .single = true}},
    {OP_MIN, {.form = SPIKES, .background = 1, .values = {0}, .n_values = 1, .random = 0, .single = true}},
    {OP_BAND, {.form = SPIKES, .background = 1, .values = {0}, .n_values = 1, .random = 0, .single = true}},
    {OP_BOR, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 0, .single = true}},
    {OP_BXOR, {.form = SPIKES, .background = 0, .values = {1}, .n_values = 1, .random = 6}},
};
static const double constants[] = {1, 0};

/* Spikes whose sum has no more digits than the type. */
static Recipe fitted(Recipe r, ScType result)
{
    const ScType t = ev_part_type(result);
    if (!sc_is_float(t)) return r;
    const double most = 2 / ev_ulp(t, 1.0);
    const double random = most / 8 - 2;
    if (!r.single && r.random > random) r.random = random < 1 ? 1 : (uint32_t)random;
    if (most <= 8 && r.n_values == 3) r.n_values = 2;
    return r;
}

/* Is the result known so well that a spike more or less lies outside? `flat`: without spikes. */
static bool tells(ScType t, const EvBound *b, const EvBound *flat, const Recipe *r)
{
    if (!sc_is_float(t)) return b->lo.u == b->hi.u && b->lo.u != flat->lo.u;
    if (b->flags || !isfinite(b->lo.f) || !isfinite(b->hi.f)) return false;
    const bool known = !flat->flags && isfinite(flat->lo.f) && isfinite(flat->hi.f);
    const double effect = fabs(b->lo.f - (known ? flat->lo.f : 0));
    return effect > 0 && (b->hi.f - b->lo.f) * 4 * (r->single ? 1 : r->random + 2) <= effect;
}

typedef struct {
    Search *x;
    const JudgeReduction *t;
    const Recipe *recipe; /* of the input that carries the spikes */
    bool good;
} Trial;

static const EvBound *bounds_at(WbbCx *cx, WbbArena *a, Search *x, const JudgeReduction *t, EvPositions at)
{
    const EvSource source = {make, x};
    return ev_value_at(cx, a, x->all->entry, x->all->fusion.fusion, t->i, 0, &source, EV_BOUNDS, at).data;
}

static const EvBound *flat_bounds_at(WbbCx *cx, Search *x, const JudgeReduction *t, EvPositions at)
{
    const uint32_t n = x->all->n_inputs;
    double *inputs = WBB_NEW_N(x->arena, double, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const Recipe *r = &x->at->recipes[k];
        inputs[k] = r->form == DRAWN ? (double)NAN : r->background;
    }
    for (const Flat *f = x->flats.items; f < x->flats.items + x->flats.n; f++)
        if (f->target == t && f->first == at.positions[0] && memcmp(f->inputs, inputs, n * sizeof *inputs) == 0)
            return f->bounds;
    x->flat = true;
    const Flat made = {t, at.positions[0], inputs, bounds_at(cx, x->arena, x, t, at)};
    x->flat = false;
    WBB_PUSH(x->arena, &x->flats, made);
    return made.bounds;
}

/* How many of n results the spikes tell in. */
static int64_t count_telling(const Trial *q, WbbCx *cx, ScType type, EvPositions at)
{
    q->x->flat = false;
    WbbArena *scratch = wbb_arena_new(cx);
    const int64_t parts = ev_part_type(type) == type ? 1 : 2;
    const EvBound *b = bounds_at(cx, scratch, q->x, q->t, at), *flat = flat_bounds_at(cx, q->x, q->t, at);
    int64_t telling = 0;
    for (int64_t k = 0; k < at.n; k++)
        telling += tells(ev_part_type(type), &b[k * parts], &flat[k * parts], q->recipe);
    wbb_arena_free(scratch);
    return telling;
}

/* Do the spikes tell in two thirds of the sampled results of the target, and are all of them known? Half of the sample
 * first: mostly it says that they do not. */
static void try_target(WbbCx *cx, void *arg)
{
    Trial *q = arg;
    const HloShape *s = q->t->i->shape->type == SC_TUPLE ? q->t->i->shape->elements[0] : q->t->i->shape;
    const int64_t n = hlo_elements(s), count = q->t->terms >= LONG ? 1 : WBB_MIN(n, SAMPLES);
    int64_t positions[SAMPLES];
    for (int64_t k = 0; k < count; k++)
        positions[k] = k == 0 ? 0 : k == 1 ? n - 1 : (int64_t)(mix((uint64_t)k, 3) % (uint64_t)n);
    q->x->work += count * q->t->terms;
    const int64_t needed = (2 * count + 2) / 3, half = (count + 1) / 2;
    int64_t telling = count_telling(q, cx, s->type, (EvPositions){positions, half});
    if (count > half && telling + count - half >= needed)
        telling += count_telling(q, cx, s->type, (EvPositions){positions + half, count - half});
    q->good = telling >= needed;
}

static bool judges(Search *x, const JudgeReduction *t, const Recipe *recipe)
{
    Trial q = {.x = x, .t = t, .recipe = recipe};
    x->tries++;
    return wbb_guard(x->cx, try_target, &q) == WBB_OK && q.good;
}

static bool exhausted(const Search *x) { return x->tries >= TRIES || x->work >= WORK; }

/* The carrier made by one way, the others that the target needs constant: all 1, all 0, then mixed. */
static bool try_carrier(Search *x, const JudgeReduction *t, uint32_t carrier, Recipe way, Assignment *out)
{
    uint32_t others[OTHERS], n = 0;
    for (uint32_t k = 0; k < x->all->n_inputs && n < OTHERS; k++)
        if (t->needs[k] && k != carrier) others[n++] = k;
    for (uint32_t mask = 0; mask < 1u << n && !exhausted(x); mask++) {
        Recipe *recipes = WBB_NEW_N(x->arena, Recipe, x->all->n_inputs + 1);
        const bool all = mask == 1;
        for (uint32_t k = 0; k < x->all->n_inputs; k++)
            if (t->needs[k]) recipes[k] = (Recipe){.form = CONSTANT, .background = constants[all]};
        for (uint32_t k = 0; k < n && !all; k++) recipes[others[k]].background = constants[mask >> k & 1];
        if (n == 1 && mask == 1) recipes[others[0]].background = constants[1];
        recipes[carrier] = way;
        for (uint32_t k = 0; k < x->all->n_inputs; k++) /* indices stay indices */
            if (x->indices && k != carrier && x->indices[k].columns) recipes[k].form = DRAWN;
        *out = (Assignment){.recipes = recipes, .target = t, .carrier = &recipes[carrier]};
        x->at = out;
        if (judges(x, t, &recipes[carrier])) return true;
    }
    return false;
}

static ScType result_type(const JudgeReduction *t)
{
    const HloShape *s = t->i->shape;
    return s->type == SC_TUPLE ? s->elements[0]->type : s->type;
}

/* Can an input of that type carry spikes in this way? */
static bool can_carry(ScType input, const Way *w)
{
    const ScType t = ev_part_type(input);
    return sc_type_info[t].cls != '-' && (sc_is_float(t) || !isinf(w->recipe.background));
}

/* The ways for the target's operation first, then all others. */
static bool find_assignment(Search *x, const JudgeReduction *t, Assignment *out)
{
    for (int others = 0; others < 2; others++)
        for (size_t w = 0; w < WBB_LEN(ways); w++) {
            if ((ways[w].op == t->op) == others) continue;
            const Recipe way = fitted(ways[w].recipe, result_type(t));
            for (uint32_t k = 0; k < x->all->n_inputs && !exhausted(x); k++)
                if (t->needs[k] && can_carry(x->all->inputs[k]->type, &ways[w]) && try_carrier(x, t, k, way, out))
                    return true;
        }
    return false;
}

JudgeSpikes *judge_spikes(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed)
{
    const HloModule *normal = gr_normalise(cx, a, m, NULL);
    Search *x = WBB_NEW(a, Search);
    *x = (Search){.cx = wbb_cx_new(), .arena = a, .seed = seed};
    x->all = judge_reductions(cx, a, normal);
    x->indices = judge_index_ranges(a, m);
    JudgeSpikes *out = WBB_NEW(a, JudgeSpikes);
    *out = (JudgeSpikes){.source = {make, x}, .n = x->all->n, .unjudged = ""};
    bool *judged = WBB_NEW_N(a, bool, x->all->n + 1);
    WbbBuf names = wbb_buf(a);
    for (uint32_t k = 0; k < x->all->n; k++) {
        if (judged[k]) continue;
        Assignment *found = WBB_NEW(a, Assignment);
        x->tries = 0, x->work = 0;
        if (!find_assignment(x, &x->all->items[k], found)) {
            wbb_putf(&names, "%s%s", names.n ? " " : "", x->all->items[k].i->name);
            continue;
        }
        found->covers = WBB_NEW_N(a, bool, x->all->n + 1);
        x->at = found;
        for (uint32_t j = 0; j < x->all->n; j++)
            judged[j] |= found->covers[j] = j == k || judges(x, &x->all->items[j], found->carrier);
        WBB_PUSH(a, &x->found, *found);
    }
    wbb_cx_free(x->cx);
    x->chosen = true;
    x->at = x->found.n ? &x->found.items[(seed + x->found.n - 1) % x->found.n] : NULL;
    for (uint32_t k = 0; k < x->all->n; k++) out->judged += judged[k], out->here += x->at && x->at->covers[k];
    out->assignments = x->found.n;
    if (names.n) out->unjudged = names.text;
    return out;
}

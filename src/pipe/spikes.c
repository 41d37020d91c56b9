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
#include "pipe/spikes.h"

#include "bundle/bundle.h"
#include "pipe/index_ranges.h"

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
    const HloShape *shape;
    uint64_t reduced; /* bit d: its dimension d is reduced */
} Operand;

/* A reduction of the fusion. */
typedef struct {
    const HloInstruction *i;
    int64_t terms;   /* of one result */
    ScOp op;         /* OP_NONE: some other computation */
    Operand operands[2];
    uint32_t n_operands;
    bool *needs;     /* by input: some term depends on it */
} Target;

typedef struct {
    Recipe *recipes; /* by input */
    const Target *target;
    const Recipe *carrier;
    bool *covers;    /* by target */
} Assignment;

typedef struct {
    WbbCx *cx;       /* of trials alone: what they decline is no message */
    WbbArena *arena;
    const HloComputation *entry;
    HloFusion fusion;
    const HloShape **inputs;
    uint32_t n_inputs;
    const BdIndices *indices; /* by input; NULL: there are none */
    uint64_t seed;
    struct { Target *items; uint32_t n, capacity; } targets;
    struct { Assignment *items; uint32_t n, capacity; } found;
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
/* Which result of the target an element belongs to, and which of its terms it is. An input of another shape than the
 * operand is cut into rows of as many elements as a result has terms. */
static void split(const Target *t, const HloShape *s, int64_t position, int64_t *result, int64_t *term)
{
    for (uint32_t k = 0; k < t->n_operands; k++) {
        const Operand *o = &t->operands[k];
        if (!o->reduced || !hlo_same_dims(o->shape, s)) continue;
        int64_t rest = position, terms = 1, results = 1;
        *result = *term = 0;
        for (int d = s->rank - 1; d >= 0; d--) {
            const int64_t at = rest % s->dims[d];
            rest /= s->dims[d];
            if (o->reduced >> d & 1) *term += at * terms, terms *= s->dims[d];
            else *result += at * results, results *= s->dims[d];
        }
        return;
    }
    *result = position / t->terms;
    *term = position % t->terms;
}

static double spiked(const Search *x, const Recipe *r, uint32_t input, int64_t position)
{
    const Target *t = x->at->target;
    if (x->flat || r->form == CONSTANT) return r->background;
    int64_t result, term;
    split(t, x->inputs[input], position, &result, &term);
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
            return r->background + (sc_is_int(x->inputs[input]->type) ? away * (double)INFINITY : 2 * away);
        spike = term == place || (row == 0 && term == place + 1);
        if (spike) return r->values[(g >> 40) % r->n_values];
    }
    return spike ? r->values[h % r->n_values] : r->background;
}

/* Elements of an input; see EvSource. Of a complex one the imaginary part is 0. */
static void make(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Search *x = arg;
    const ScType type = x->inputs[number]->type;
    const Recipe *r = x->at ? &x->at->recipes[number] : NULL;
    if (!r || r->form == DRAWN) {
        bd_make_input_at(x->seed, (uint64_t)number, sc_type_info[type].hlo, positions, start, n, 'w',
                         x->indices ? &x->indices[number] : NULL, out);
        return;
    }
    const ScType part = ev_part_type(type);
    const size_t bytes = sc_bytes(type), part_bytes = sc_bytes(part);
    memset(out, 0, (size_t)n * bytes);
    for (int64_t k = 0; k < n; k++) {
        const double value = spiked(x, r, (uint32_t)number, positions ? positions[k] : start + k);
        uint64_t bits = sc_from_f64(part, value);
        if (sc_is_signed(part) && sc_type_info[part].bits < 8) bits = (uint64_t)sc_to_i128(part, bits);
        memcpy((char *)out + (size_t)k * bytes, &bits, part_bytes);
    }
}

/* --- reductions --------------------------------------------------------------------------------------------------- */
/* The operation of a body of two parameters; of a compare-free scatter or window too. */
static ScOp body_op(const HloComputation *c)
{
    const HloInstruction *r = c->root;
    if (r->n_operands != 2 || c->n_parameters != 2 || r->operands[0]->opcode != HLO_PARAMETER ||
        r->operands[1]->opcode != HLO_PARAMETER || r->operands[0] == r->operands[1])
        return OP_NONE;
    return sc_op_of_hlo(hlo_opcode_name(r->opcode));
}

/* A reduction of several operands that compares keeps the largest or the smallest, as argmax does: the spikes of maxima
 * and minima judge it. */
static ScOp compared_op(const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode != HLO_COMPARE || i->direction == HLO_EQ || i->direction == HLO_NE) continue;
        return i->direction == HLO_GT || i->direction == HLO_GE ? OP_MAX : OP_MIN;
    }
    return OP_NONE;
}

static void reduce_of(const HloInstruction *i, Target *t)
{
    const HloShape *s = i->operands[0]->shape;
    t->operands[t->n_operands++] = (Operand){s, 0};
    for (uint32_t k = 0; k < i->n_dimensions; k++) {
        t->operands[0].reduced |= UINT64_C(1) << i->dimensions[k];
        t->terms *= s->dims[i->dimensions[k]];
    }
}

static void dot_of(WbbArena *a, const HloInstruction *i, Target *t)
{
    const HloDotDims d = hlo_dot_dims(a, i);
    const HloInts contracting[2] = {d.lhs_contracting, d.rhs_contracting};
    for (uint32_t k = 0; k < 2; k++) {
        t->operands[t->n_operands++] = (Operand){i->operands[k]->shape, 0};
        for (uint32_t j = 0; j < contracting[k].n; j++) {
            t->operands[k].reduced |= UINT64_C(1) << contracting[k].items[j];
            if (k == 0) t->terms *= i->operands[0]->shape->dims[contracting[0].items[j]];
        }
    }
}

static bool is_target(WbbArena *a, const HloInstruction *i, Target *t)
{
    *t = (Target){.i = i, .terms = 1, .op = i->n_called ? body_op(i->called[i->n_called - 1]) : OP_ADD};
    if (t->op == OP_NONE && i->opcode == HLO_REDUCE) t->op = compared_op(i->called[i->n_called - 1]);
    switch (i->opcode) {
    case HLO_REDUCE: reduce_of(i, t); break;
    case HLO_DOT: dot_of(a, i, t); break;
    case HLO_REDUCE_WINDOW:
    case HLO_SELECT_AND_SCATTER:
        for (uint32_t k = 0; k < i->n_windows; k++) t->terms *= i->windows[k].size;
        break;
    case HLO_CONVOLUTION:
        t->terms = hlo_elements(i->operands[1]->shape) / WBB_MAX(i->shape->dims[hlo_conv_dims(a, i).out_feature], 1);
        break;
    case HLO_SCATTER: t->terms = 4; break;
    default: return false;
    }
    t->terms = WBB_MAX(t->terms, 1);
    for (uint32_t k = 0; k < i->shape->n_leaves; k++)
        if (hlo_elements(i->shape->type == SC_TUPLE ? i->shape->elements[k] : i->shape) == 0) return false;
    return true;
}

/* The leaves of the entry's inputs that an operand of the fusion may be: an input, or a tuple of them. */
static void mark_inputs(const Search *x, const HloInstruction *i, bool *needs)
{
    while (i->opcode != HLO_PARAMETER && i->n_operands == 1) i = i->operands[0];
    for (uint32_t k = 0; i->opcode == HLO_TUPLE && k < i->n_operands; k++) mark_inputs(x, i->operands[k], needs);
    if (i->opcode != HLO_PARAMETER) return;
    uint32_t first = 0;
    for (int64_t k = 0; k < i->number; k++) first += x->entry->parameters[k]->shape->n_leaves;
    for (uint32_t k = 0; k < i->shape->n_leaves; k++) needs[first + k] = true;
}

static void find_needs(Search *x, Target *t)
{
    const HloComputation *c = x->fusion.body;
    bool *live = WBB_NEW_N(x->arena, bool, c->n_instructions);
    t->needs = WBB_NEW_N(x->arena, bool, x->n_inputs + 1);
    live[t->i->id] = true;
    hlo_mark_operands(c, live);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (live[k] && i->opcode == HLO_PARAMETER)
            mark_inputs(x, x->fusion.fusion ? x->fusion.fusion->operands[i->number] : i, t->needs);
    }
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
    const Target *t;
    const Recipe *recipe; /* of the input that carries the spikes */
    bool good;
} Trial;

/* Do the spikes tell in most of the sampled results of the target, and are all of them known? */
static void try_target(WbbCx *cx, void *arg)
{
    Trial *q = arg;
    Search *x = q->x;
    const HloShape *s = q->t->i->shape->type == SC_TUPLE ? q->t->i->shape->elements[0] : q->t->i->shape;
    const int64_t n = hlo_elements(s), count = q->t->terms >= LONG ? 1 : WBB_MIN(n, SAMPLES);
    int64_t positions[SAMPLES];
    for (int64_t k = 0; k < count; k++)
        positions[k] = k == 0 ? 0 : k == 1 ? n - 1 : (int64_t)(mix((uint64_t)k, 3) % (uint64_t)n);
    WbbArena *scratch = wbb_arena_new(cx);
    const EvSource source = {make, x};
    const ScType type = ev_part_type(s->type);
    const int64_t parts = type == s->type ? 1 : 2;
    const EvPositions at = {positions, count};
    x->flat = false;
    const EvBound *b = ev_value_at(cx, scratch, x->entry, x->fusion.fusion, q->t->i, 0, &source, EV_BOUNDS, at).data;
    x->flat = true;
    const EvBound *flat = ev_value_at(cx, scratch, x->entry, x->fusion.fusion, q->t->i, 0, &source, EV_BOUNDS, at).data;
    x->flat = false;
    int64_t good = 0;
    for (int64_t k = 0; k < count; k++) good += tells(type, &b[k * parts], &flat[k * parts], q->recipe);
    q->good = 3 * good >= 2 * count;
    x->work += count * q->t->terms;
    wbb_arena_free(scratch);
}

static bool judges(Search *x, const Target *t, const Recipe *recipe)
{
    Trial q = {.x = x, .t = t, .recipe = recipe};
    x->tries++;
    return wbb_guard(x->cx, try_target, &q) == WBB_OK && q.good;
}

static bool exhausted(const Search *x) { return x->tries >= TRIES || x->work >= WORK; }

/* The carrier made by one way, the others that the target needs constant: all 1, all 0, then mixed. */
static bool try_carrier(Search *x, const Target *t, uint32_t carrier, Recipe way, Assignment *out)
{
    uint32_t others[OTHERS], n = 0;
    for (uint32_t k = 0; k < x->n_inputs && n < OTHERS; k++)
        if (t->needs[k] && k != carrier) others[n++] = k;
    for (uint32_t mask = 0; mask < 1u << n && !exhausted(x); mask++) {
        Recipe *recipes = WBB_NEW_N(x->arena, Recipe, x->n_inputs + 1);
        const bool all = mask == 1;
        for (uint32_t k = 0; k < x->n_inputs; k++)
            if (t->needs[k]) recipes[k] = (Recipe){.form = CONSTANT, .background = constants[all]};
        for (uint32_t k = 0; k < n && !all; k++) recipes[others[k]].background = constants[mask >> k & 1];
        if (n == 1 && mask == 1) recipes[others[0]].background = constants[1];
        recipes[carrier] = way;
        for (uint32_t k = 0; k < x->n_inputs; k++) /* indices stay indices */
            if (x->indices && k != carrier && x->indices[k].columns) recipes[k].form = DRAWN;
        *out = (Assignment){.recipes = recipes, .target = t, .carrier = &recipes[carrier]};
        x->at = out;
        if (judges(x, t, &recipes[carrier])) return true;
    }
    return false;
}

static ScType result_type(const Target *t)
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
static bool find_assignment(Search *x, const Target *t, Assignment *out)
{
    for (int others = 0; others < 2; others++)
        for (size_t w = 0; w < WBB_LEN(ways); w++) {
            if ((ways[w].op == t->op) == others) continue;
            const Recipe way = fitted(ways[w].recipe, result_type(t));
            for (uint32_t k = 0; k < x->n_inputs && !exhausted(x); k++)
                if (t->needs[k] && can_carry(x->inputs[k]->type, &ways[w]) && try_carrier(x, t, k, way, out))
                    return true;
        }
    return false;
}

static void find_targets(Search *x)
{
    const HloComputation *c = x->fusion.body;
    bool *live = WBB_NEW_N(x->arena, bool, c->n_instructions);
    live[c->root->id] = true;
    hlo_mark_operands(c, live);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        Target t;
        if (!live[k] || !is_target(x->arena, c->instructions[k], &t)) continue;
        find_needs(x, &t);
        WBB_PUSH(x->arena, &x->targets, t);
    }
}

static void find_inputs(Search *x)
{
    for (uint32_t i = 0; i < x->entry->n_parameters; i++) x->n_inputs += x->entry->parameters[i]->shape->n_leaves;
    x->inputs = WBB_NEW_N(x->arena, const HloShape *, x->n_inputs + 1);
    for (uint32_t i = 0, at = 0; i < x->entry->n_parameters; i++) {
        const HloShape **leaves;
        const uint32_t n = hlo_leaves(x->arena, x->entry->parameters[i]->shape, &leaves);
        for (uint32_t k = 0; k < n; k++) x->inputs[at++] = leaves[k];
    }
}

PipeSpikes *pipe_spikes(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed)
{
    const HloModule *normal = hlo_normalise(cx, a, m);
    Search *x = WBB_NEW(a, Search);
    *x = (Search){.cx = wbb_cx_new(), .arena = a, .entry = normal->entry, .seed = seed};
    x->fusion = hlo_fusion(cx, normal);
    x->indices = pipe_index_ranges(a, m);
    find_inputs(x);
    find_targets(x);
    PipeSpikes *out = WBB_NEW(a, PipeSpikes);
    *out = (PipeSpikes){.source = {make, x}, .n = x->targets.n, .unjudged = ""};
    bool *judged = WBB_NEW_N(a, bool, x->targets.n + 1);
    WbbBuf names = wbb_buf(a);
    for (uint32_t k = 0; k < x->targets.n; k++) {
        if (judged[k]) continue;
        Assignment *found = WBB_NEW(a, Assignment);
        x->tries = 0, x->work = 0;
        if (!find_assignment(x, &x->targets.items[k], found)) {
            wbb_putf(&names, "%s%s", names.n ? " " : "", x->targets.items[k].i->name);
            continue;
        }
        found->covers = WBB_NEW_N(a, bool, x->targets.n + 1);
        x->at = found;
        for (uint32_t j = 0; j < x->targets.n; j++)
            judged[j] |= found->covers[j] = j == k || judges(x, &x->targets.items[j], found->carrier);
        WBB_PUSH(a, &x->found, *found);
    }
    wbb_cx_free(x->cx);
    x->chosen = true;
    x->at = x->found.n ? &x->found.items[(seed + x->found.n - 1) % x->found.n] : NULL;
    for (uint32_t k = 0; k < x->targets.n; k++) out->judged += judged[k], out->here += x->at && x->at->covers[k];
    out->assignments = x->found.n;
    if (names.n) out->unjudged = names.text;
    return out;
}

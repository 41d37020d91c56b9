/* dominant.c: input case `d`: of each result of a reduction one term, or a few, outweigh all others, each in its turn.
 *
 * A term that a kernel loses hides behind what is done with the result: of sum(exp(x - max)) every term but the largest
 * is next to nothing on random values, and a maximum that is too small changes softmax only where it overflows. And the
 * bounds of long sums of narrow types are wider than a term. Where an input has one value but for one element of each
 * result, or a few, far from it, partial sums are exact, and what loses such an element returns something else at the
 * end of the chain, too.
 *
 * Needs: a module. Leaves: a way to make its inputs. The seed chooses the reduction and the input that carries these
 * elements; the other inputs are those of case `w`. Places walk over all terms, the first and the last before others,
 * from result to result and then from seed to seed; a place is had with another form of `forms` the next time.
 *
 *     softmax of f32[4,700], seed 0      x[0] is -inf but for x[0,0] = 0, x[1] but for x[1,699]; x[2] is 0 but for ..
 */
#include "judge/dominant.h"

#include "bundle/bundle.h"
#include "graph/graph.h"
#include "judge/index_ranges.h"
#include "judge/reductions.h"

#include <math.h>
#include <string.h>

/* An input that carries the terms of a reduction. */
typedef struct {
    const JudgeReduction *of;
    uint32_t input;
} Carrier;

typedef struct {
    const JudgeReductions *all;
    const BdIndices *indices; /* by input; NULL: there are none */
    uint64_t seed, turn;      /* turn: seeds of the same carrier before this one */
    Carrier at;
    int64_t results, stride;  /* of the carrier's reduction; from place to place */
} Dominant;

/* What elements are, and what the one is that outweighs them. FAR is 1000, or what the type allows: exp(x) overflows.
 * LEAST is -inf, of which exp is 0 without a rounding: exp(-1000) in bf16 has a bound, and a sum of such rounds. */
enum { ZERO, ONE, TWO, FAR, FAR_BELOW, LEAST };
typedef struct {
    uint8_t others, those;
    bool several; /* SEVERAL terms, equal and evenly spaced: each counts in a sum, none in a maximum */
} Form;

enum { SEVERAL = 32 };
static const Form forms[] = {
    {LEAST, ZERO, false}, {ZERO, FAR, false}, {LEAST, ZERO, true}, {ZERO, ONE, true},         {ZERO, FAR, false},
    {LEAST, ZERO, true},  {ZERO, ONE, false}, {ZERO, FAR, true},   {ZERO, FAR_BELOW, false}, {ONE, TWO, false},
};

static double number(ScType t, uint8_t of)
{
    double far = 1000;
    while (sc_is_float(t) && !(sc_to_f64(t, sc_from_f64(t, 8 * far)) >= 4 * far)) far /= 2;
    if (!sc_is_float(t)) far = WBB_MIN(far, ldexp(1, sc_type_info[t].bits - 2));
    switch (of) {
    case ONE: return 1;
    case TWO: return 2;
    case FAR: return far;
    case FAR_BELOW: case LEAST:
        if (of == LEAST && isinf(sc_to_f64(t, sc_from_f64(t, -INFINITY)))) return -INFINITY;
        return sc_is_float(t) || sc_is_signed(t) ? -far : 0;
    default: return 0;
    }
}

static double element(const Dominant *d, ScType type, int64_t position)
{
    int64_t result, term;
    judge_place_in(d->at.of, d->all->inputs[d->at.input], position, &result, &term);
    const int64_t terms = d->at.of->terms;
    const uint64_t k = (uint64_t)result + d->turn * (uint64_t)d->results, pair = k / 2;
    const int64_t from = (int64_t)(pair % (uint64_t)terms) * d->stride % terms;
    const int64_t place = k % 2 ? terms - 1 - from : from;
    const Form *form = &forms[(pair + pair / (uint64_t)terms) % WBB_LEN(forms)];
    const int64_t apart = form->several ? WBB_MAX(terms / SEVERAL, 2) : terms;
    return number(type, term % apart == place % apart ? form->those : form->others);
}

/* Elements of an input; see EvSource. Of a complex one the imaginary part is 0. */
static void make(void *arg, int64_t input, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Dominant *d = arg;
    const ScType type = d->all->inputs[input]->type, part = ev_part_type(type);
    if ((uint32_t)input != d->at.input) {
        bd_make_input_at(d->seed, (uint64_t)input, sc_type_info[type].hlo, positions, start, n, 'w',
                         d->indices ? &d->indices[input] : NULL, out);
        return;
    }
    memset(out, 0, (size_t)n * sc_bytes(type));
    for (int64_t k = 0; k < n; k++)
        judge_put_element(type, element(d, part, positions ? positions[k] : start + k), k, out);
}

/* Can an input carry the terms of a reduction: is there one of it for each term, and is it no index? */
static bool carries(const Dominant *d, const JudgeReduction *t, uint32_t input)
{
    const HloShape *s = d->all->inputs[input];
    const bool is_index = d->indices && d->indices[input].columns;
    if (!t->needs[input] || is_index || s->type == SC_PRED || sc_type_info[s->type].cls == '-') return false;
    return t->terms > 1 && hlo_elements(s) >= t->terms;
}

static bool same_terms(const JudgeReduction *x, const JudgeReduction *y)
{
    bool same = x->terms == y->terms && x->n_operands == y->n_operands;
    for (uint32_t k = 0; same && k < x->n_operands; k++)
        same = x->operands[k].reduced == y->operands[k].reduced &&
               hlo_same_dims(x->operands[k].shape, y->operands[k].shape);
    return same;
}

static int64_t common_divisor(int64_t x, int64_t y) { return y ? common_divisor(y, x % y) : x; }

/* About the golden section, and without a divisor of n: multiples are spread, and come to each place. */
static int64_t stride_of(int64_t n)
{
    int64_t stride = WBB_MAX((int64_t)(0.618 * (double)n), 1);
    while (common_divisor(stride, n) != 1) stride++;
    return stride;
}

const EvSource *judge_dominant(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed)
{
    Dominant *d = WBB_NEW(a, Dominant);
    EvSource *source = WBB_NEW(a, EvSource);
    *d = (Dominant){.all = judge_reductions(cx, a, gr_normalise(cx, a, m, NULL)), .indices = judge_index_ranges(a, m),
                    .seed = seed};
    struct { Carrier *items; uint32_t n, capacity; } found = {0};
    for (uint32_t k = 0; k < d->all->n; k++)
        for (uint32_t input = 0; input < d->all->n_inputs; input++) {
            const Carrier one = {&d->all->items[k], input};
            bool known = !carries(d, one.of, input);
            for (uint32_t j = 0; !known && j < found.n; j++)
                known = found.items[j].input == input && same_terms(found.items[j].of, one.of);
            if (!known) WBB_PUSH(a, &found, one);
        }
    if (!found.n) return NULL;
    d->at = found.items[seed % found.n];
    d->turn = seed / found.n;
    d->results = WBB_MAX(hlo_elements(d->all->inputs[d->at.input]) / d->at.of->terms, 1);
    d->stride = stride_of(d->at.of->terms);
    *source = (EvSource){make, d};
    return source;
}

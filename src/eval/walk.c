/* walk: positions of an array as coordinates, and back; strides.
 *
 * Needs: a shape without empty dimensions. Leaves: coordinates for one position after the other. A step to a neighbour,
 * or along one dimension (as a transpose makes), costs no division.
 *
 *     EvWalk w = ev_walk(shape);
 *     for (..) { const int64_t *at = ev_walk_to(&w, position); .. }
 */
#include "eval/inner.h"

int64_t ev_strides(const HloShape *s, int64_t *stride)
{
    int64_t n = 1;
    for (int d = s->rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= s->dims[d];
    }
    return n;
}

EvWalk ev_walk(const HloShape *s)
{
    EvWalk w = {.shape = s, .position = -1};
    w.narrow = ev_strides(s, w.stride) <= UINT32_MAX;
    return w;
}

/* Takes a step that is the stride of one dimension and stays inside that dimension; else false. */
static bool stepped(EvWalk *w, int64_t step)
{
    const HloShape *s = w->shape;
    for (int d = s->rank - 1; d >= 0; d--) {
        if (w->stride[d] != step) continue;
        if (w->at[d] + 1 >= s->dims[d]) return false;
        w->at[d]++;
        return true;
    }
    return false;
}

const int64_t *ev_walk_to(EvWalk *w, int64_t position)
{
    const HloShape *s = w->shape;
    int64_t step = position - w->position;
    bool known = w->position >= 0;
    w->position = position;
    if (known && (step == 0 || stepped(w, step))) return w->at;
    if (w->narrow) {
        uint32_t rest = (uint32_t)position;
        for (int d = s->rank - 1; d >= 0; d--) {
            uint32_t n = (uint32_t)s->dims[d], q = rest / n;
            w->at[d] = rest - q * n;
            rest = q;
        }
        return w->at;
    }
    for (int d = s->rank - 1; d >= 0; d--) {
        w->at[d] = position % s->dims[d];
        position /= s->dims[d];
    }
    return w->at;
}

int64_t ev_linear(const HloShape *s, const int64_t *at)
{
    int64_t position = 0;
    for (uint32_t d = 0; d < s->rank; d++) position = position * s->dims[d] + at[d];
    return position;
}

int64_t ev_position(const EvSet *s, int64_t k) { return s->list ? s->list[k] : s->start + k; }

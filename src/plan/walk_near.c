/* walk_near.c: loads of one array that are near each other at all positions.
 *
 * Needs the loads that a walk found, each with where it is at a few places; leaves of each by how much it is behind
 * another one, the steps to the nearest load that has its elements for both, and how far it is from one that reads as
 * much.
 *
 *     x[i, j], x[i, j + 1], x[i + 1, j]    =>   the second 1 behind the first, the third a row; gaps 1 along j and i
 */
#include "plan/walk.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = PLAN_PLACES, MAX_SETS = 64, MAX_ALIGN = PLAN_MAX_ALIGN };

int64_t plan_usual_of(const int64_t *numbers)
{
    for (uint32_t k = 0; k < PLACES; k++) {
        uint32_t equal = 0;
        for (uint32_t j = 0; j < PLACES; j++) equal += numbers[j] == numbers[k];
        if (equal > PLACES / 2) return numbers[k];
    }
    return LAY_FAR;
}

/* By how many elements load k is behind load j, at all positions alike; LAY_FAR: it is not. */
static int64_t shift_of(const PlanWalk *w, uint32_t k, uint32_t j)
{
    const PlanPlaced *x = &w->places.items[k], *y = &w->places.items[j];
    int64_t by[PLACES];
    if (x->leaf != y->leaf || x->anywhere || y->anywhere) return LAY_FAR;
    if (memcmp(w->loads.items[k].step, w->loads.items[j].step, w->n_space * sizeof(int64_t)) != 0) return LAY_FAR;
    for (uint32_t place = 0; place < PLACES; place++) by[place] = x->at[place] - y->at[place];
    return plan_usual_of(by);
}

/* A vector of one load may have elements of another one: an access of both is aligned where some element from the
 * first load's to the last one's is. */
static int64_t align_of_set(const PlanWalk *w, uint32_t first, const uint32_t *set_of, uint32_t set)
{
    const LayAccess *x = &w->loads.items[first];
    int64_t low = 0, high = 0, rows = MAX_ALIGN;
    for (uint32_t k = 0; k < w->loads.n; k++) {
        const int64_t by = set_of[k] == set ? shift_of(w, k, first) : 0;
        if (by == LAY_FAR) return x->align; /* near others of the set, not the first */
        low = WBB_MIN(low, by), high = WBB_MAX(high, by);
    }
    for (uint32_t d = 0; d < w->n_space; d++)
        if (x->step[d] != 1) rows = WBB_MIN(rows, x->step[d] ? x->step[d] & -x->step[d] : MAX_ALIGN);
    const int64_t from = w->places.items[first].origin + low, to = from - low + high;
    const int64_t widest = 8 * (int64_t)w->p->align / WBB_MAX(x->bits, 1u);
    int64_t align = WBB_MIN(rows, widest);
    while (align > x->align && (to - (to % align + align) % align) < from) align /= 2;
    return WBB_MAX(align, x->align);
}

/* Of two loads of a set, is it j that has its elements for both? The one that is aligned better, then the one that is
 * less far from the first. */
static bool is_ahead(const LayAccess *j, const LayAccess *k, int64_t of_j)
{
    if (j->align != k->align) return j->align > k->align;
    return llabs(of_j) < llabs(k->shift) || (llabs(of_j) == llabs(k->shift) && j < k);
}

/* Steps of load k along each dimension to the nearest of loads of its set that are ahead of it. */
static const int64_t *gaps_of(const PlanWalk *w, uint32_t k, uint32_t first, const uint32_t *set_of)
{
    const LayAccess *x = &w->loads.items[k];
    int64_t *gap = WBB_NEW_N(w->a, int64_t, w->n_space + 1u);
    for (uint32_t j = 0; j < w->loads.n; j++) {
        const int64_t of_j = j != k && set_of[j] == set_of[k] ? shift_of(w, j, first) : LAY_FAR;
        if (of_j == LAY_FAR || (j != first && !is_ahead(&w->loads.items[j], x, of_j))) continue;
        for (uint32_t d = 0; d < w->n_space; d++) {
            const int64_t step = x->step[d], by = llabs(x->shift - of_j);
            if (step == 0 || step == LAY_FAR || by % step != 0) continue;
            gap[d] = gap[d] ? WBB_MIN(gap[d], by / step) : by / step;
        }
    }
    return gap;
}

/* Of loads that are shifted against each other the others are near the one that is aligned best. */
static void find_near(PlanWalk *w)
{
    uint32_t first[MAX_SETS], *set_of = WBB_NEW_N(w->a, uint32_t, w->loads.n + 1u), n = 0;
    for (uint32_t k = 0; k < w->loads.n; k++) {
        uint32_t set = 0;
        while (set < n && shift_of(w, k, first[set]) == LAY_FAR) set++;
        set_of[k] = set;
        if (set == n && n < MAX_SETS) first[n++] = k;
        else if (set < n && w->loads.items[k].align > w->loads.items[first[set]].align) first[set] = k;
    }
    for (uint32_t k = 0; k < w->loads.n; k++) {
        LayAccess *x = &w->loads.items[k];
        x->near = set_of[k] < n && first[set_of[k]] != k;
        x->shift = x->near ? shift_of(w, k, first[set_of[k]]) : 0;
    }
    for (uint32_t k = 0; k < w->loads.n && w->loads.n <= MAX_SETS; k++)
        if (w->loads.items[k].near) w->loads.items[k].gap = gaps_of(w, k, first[set_of[k]], set_of);
    for (uint32_t set = 0; set < n; set++)
        w->loads.items[first[set]].align = align_of_set(w, first[set], set_of, set);
}

/* The most elements by which load k is from load j, at any place; LAY_FAR: that is not known. */
static int64_t farthest_of(const PlanWalk *w, uint32_t k, uint32_t j)
{
    const PlanPlaced *x = &w->places.items[k], *y = &w->places.items[j];
    int64_t most = 0;
    if (x->leaf != y->leaf || x->anywhere || y->anywhere) return LAY_FAR;
    for (uint32_t place = 0; place < PLACES; place++) most = WBB_MAX(most, llabs(x->at[place] - y->at[place]));
    return most;
}

/* Of loads of an array that stay near each other, others have the sectors of those that read less. */
static void find_beside(PlanWalk *w)
{
    for (uint32_t k = 0; k < w->loads.n && w->loads.n <= MAX_SETS; k++) {
        LayAccess *x = &w->loads.items[k];
        for (uint32_t j = 0; j < w->loads.n; j++) {
            const LayAccess *y = &w->loads.items[j];
            const double of_x = (double)x->elements * x->times, of_y = (double)y->elements * y->times;
            const bool more = of_y > of_x || (of_y == of_x && j < k);
            if (more && j != k) x->beside = WBB_MIN(x->beside, farthest_of(w, k, j));
        }
    }
}

void plan_walk_near(PlanWalk *w)
{
    find_near(w);
    find_beside(w);
}

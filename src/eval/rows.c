/* rows: partial results as rows of lanes, which are combined pair by pair, many pairs at once.
 *
 * Needs: how two are combined, by the computation or by its one operation in a type of their own. Leaves: rows. A row
 * is a partial result of each result of a group; all results have it, or it is absent: then the other one of its pair
 * is the result. The trees of a reduction (tree.c) and of a scan (scan_order.c) are lists of such pairs.
 *
 *     rows 0, 1, 3 of f32, pairs (0, 1) and (2, 3) into 1 and 3:      1 becomes 0 + 1; 3 stays, as 2 is absent
 */
#include "eval/bounds.h"

#include <string.h>

EvRows ev_rows(Ev *e, const EvCombine *how, int64_t numbers, int64_t lanes)
{
    EvRows r = {.how = how, .row = WBB_NEW_N(e->block, char **, how->arrays), .numbers = numbers, .lanes = lanes};
    for (uint32_t a = 0; a < how->arrays; a++) r.row[a] = WBB_NEW_N(e->block, char *, numbers + 1);
    return r;
}

void **ev_combine(Ev *e, const EvCombine *how, int64_t n, int64_t steps, void *const *x, void *const *y)
{
    if (how->op == OP_NONE) {
        const EvSerial serial = {.type = SC_NONE};
        EvAccumulator *acc = ev_acc_new(e, how->c, how->arrays, how->types, n);
        for (uint32_t a = 0; a < how->arrays; a++) ev_acc_init(e, acc, a, x[a], n);
        ev_acc_begin(e, acc, &serial);
        ev_acc_add_steps(e, acc, 0, n, steps, y);
        return ev_acc_end(e, acc);
    }
    const ScType t = how->types[0];
    void **r = WBB_NEW_N(e->block, void *, 1);
    r[0] = ev_lanes(e, (size_t)n * how->bytes[0]);
    memcpy(r[0], x[0], (size_t)n * how->bytes[0]);
    for (int64_t s = 0; s < steps; s++) {
        const char *step = (const char *)y[0] + (size_t)(s * n) * how->bytes[0];
        for (int64_t k = 0; k < n; k++) {
            if (e->mode == EV_BOUNDS) {
                EvBound *to = (EvBound *)r[0] + k;
                const EvBound pair[2] = {*to, ((const EvBound *)(const void *)step)[k]};
                *to = ev_bound_op(how->op, t, t, pair, e->accuracy);
            } else {
                uint64_t made = 0, pair[2] = {ev_get(t, r[0], k), ev_get(t, step, k)};
                ev_value(how->op, t, t, pair, &made);
                ev_set(t, r[0], k, made);
            }
        }
    }
    return r;
}

void **ev_rows_beside(Ev *e, const EvRows *r, const int64_t *numbers, int64_t count)
{
    void **x = WBB_NEW_N(e->block, void *, r->how->arrays);
    for (uint32_t a = 0; a < r->how->arrays; a++) {
        const size_t bytes = (size_t)r->lanes * r->how->bytes[a];
        char *to = x[a] = ev_lanes(e, (size_t)count * bytes);
        for (int64_t k = 0; k < count; k++) memcpy(to + (size_t)k * bytes, r->row[a][numbers[k]], bytes);
    }
    return x;
}

void ev_rows_pairs(Ev *e, EvRows *r, int64_t count, const int64_t *left, const int64_t *right, const int64_t *into)
{
    int64_t *x = ev_list(e, count), *y = ev_list(e, count), *to = ev_list(e, count), both = 0;
    EvRows now = ev_rows(e, r->how, count, r->lanes); /* of pairs of which one is absent */
    for (int64_t k = 0; k < count; k++) {
        const bool has = r->row[0][left[k]], other = r->row[0][right[k]];
        if (has && other) x[both] = left[k], y[both] = right[k], to[both++] = k;
        for (uint32_t a = 0; a < r->how->arrays; a++) now.row[a][k] = r->row[a][has ? left[k] : right[k]];
    }
    if (both) {
        void **left_rows = ev_rows_beside(e, r, x, both), **right_rows = ev_rows_beside(e, r, y, both);
        void **made = ev_combine(e, r->how, both * r->lanes, 1, left_rows, right_rows);
        for (uint32_t a = 0; a < r->how->arrays; a++)
            for (int64_t k = 0; k < both; k++)
                now.row[a][to[k]] = (char *)made[a] + (size_t)(k * r->lanes) * r->how->bytes[a];
    }
    for (uint32_t a = 0; a < r->how->arrays; a++)
        for (int64_t k = 0; k < count; k++) r->row[a][into[k]] = now.row[a][k];
}

/* product.c: which dots are one product of matrices, or batches of them, in the memory that they have.
 *
 * Needs: a verified dot and the orders of its arrays. Leaves: sizes and steps. The dimensions of an array are in
 * groups: batch, free, contracted. Free and contracted ones must each lie in memory as one dimension, those of the
 * batch as one or two: the heads of an attention lie between its rows, and the sentences of its batch do not.
 *
 *     f32[2,3,8] dot with f32[8,4], contracting {2} and {0}: groups {2,3} and {8}: 6 x 8 times 8 x 4
 *     q = f32[4,8,128,32]{3,1,2,0} dot with k of the same order, batch {0,1}, contracting {3}: 4 batches of 8 products
 */
#include "program/product.h"

#include <string.h>

enum { FREE, CONTRACTED, GROUPS };

typedef struct {
    int64_t size, step; /* of a group, in elements; the step of a group of size 1 says nothing */
} Group;

static void steps_of(const ProgValue *v, int64_t *step)
{
    int64_t next = 1;
    for (int k = 0; k < v->rank; k++) {
        step[v->minor_to_major[k]] = next;
        next *= v->dims[v->minor_to_major[k]];
    }
}

/* Dimensions, major first, as one; false: they do not follow each other in memory. */
static bool join(const ProgValue *v, const int64_t *step, const int64_t *dims, uint32_t n, Group *g)
{
    *g = (Group){1, 1};
    for (uint32_t k = n; k-- > 0;) {
        const int64_t size = v->dims[dims[k]];
        if (size == 1) continue;
        if (g->size == 1) g->step = step[dims[k]];
        else if (step[dims[k]] != g->step * g->size) return false;
        g->size *= size;
    }
    return true;
}

static bool operand_groups(WbbArena *a, const ProgValue *v, HloInts batch, HloInts contracted, Group *g)
{
    int64_t *step = WBB_NEW_N(a, int64_t, v->rank + 1), *rest = WBB_NEW_N(a, int64_t, v->rank + 1);
    uint32_t n = 0;
    steps_of(v, step);
    for (int k = 0; k < v->rank; k++)
        if (!hlo_holds(batch, k) && !hlo_holds(contracted, k)) rest[n++] = k;
    return join(v, step, rest, n, &g[FREE]) && join(v, step, contracted.items, contracted.n, &g[CONTRACTED]);
}

typedef struct {
    int64_t size, step[3]; /* in x, y and z */
} Batch;

static bool follows(const Batch *outer, const Batch *inner)
{
    for (int v = 0; v < 3; v++)
        if (outer->step[v] != inner->step[v] * inner->size) return false;
    return true;
}

/* The batch as one dimension or two of all three arrays; false: it has more. The longer one is cuBLAS's. */
static bool batches(WbbArena *a, const HloDotDims *d, const ProgValue *const values[3], bool exchanged, GpuProduct *p)
{
    Batch found[2] = {{1, {1, 1, 1}}, {1, {1, 1, 1}}};
    int64_t *step[3];
    int n = 0;
    for (int v = 0; v < 3; v++) steps_of(values[v], step[v] = WBB_NEW_N(a, int64_t, values[v]->rank + 1));
    for (uint32_t k = d->lhs_batch.n; k-- > 0;) {
        const int64_t left = step[0][d->lhs_batch.items[k]], right = step[1][d->rhs_batch.items[k]];
        const Batch b = {values[2]->dims[k], {exchanged ? right : left, exchanged ? left : right, step[2][k]}};
        if (b.size == 1) continue;
        if (n && follows(&b, &found[n - 1])) found[n - 1].size *= b.size;
        else if (n == 2) return false;
        else found[n++] = b;
    }
    const Batch *inner = &found[found[1].size > found[0].size], *outer = &found[inner == found];
    p->batch = inner->size, p->batch_x = inner->step[0], p->batch_y = inner->step[1], p->batch_z = inner->step[2];
    p->outer = outer->size, p->outer_x = outer->step[0], p->outer_y = outer->step[1], p->outer_z = outer->step[2];
    return true;
}

/* A matrix whose dimension of stride 1 is the rows, or with *turned the columns. */
static bool matrix(Group rows, Group columns, bool *turned, int64_t *step)
{
    *turned = rows.size > 1 && rows.step != 1;
    const Group inner = *turned ? columns : rows, outer = *turned ? rows : columns;
    *step = outer.size > 1 ? outer.step : inner.size;
    return (inner.size == 1 || inner.step == 1) && *step >= inner.size;
}

bool prog_product(WbbArena *a, const HloInstruction *dot, const ProgValue *const values[3], GpuProduct *p,
                  bool *exchanged)
{
    const HloDotDims d = hlo_dot_dims(a, dot);
    const ProgValue *z = values[2];
    Group of[2][GROUPS], result[GROUPS];
    if (dot->n_operands != 2 || hlo_attribute(a, dot, "algorithm") || strcmp(values[0]->type, values[1]->type) ||
        !operand_groups(a, values[0], d.lhs_batch, d.lhs_contracting, of[0]) ||
        !operand_groups(a, values[1], d.rhs_batch, d.rhs_contracting, of[1]))
        return false;
    int64_t *step = WBB_NEW_N(a, int64_t, z->rank + 1), *dims = WBB_NEW_N(a, int64_t, z->rank + 1);
    const uint32_t n_left = (uint32_t)values[0]->rank - d.lhs_batch.n - d.lhs_contracting.n;
    steps_of(z, step);
    for (int k = 0; k < z->rank; k++) dims[k] = k;
    const uint32_t n = d.lhs_batch.n;
    if (!join(z, step, dims + n, n_left, &result[FREE]) ||
        !join(z, step, dims + n + n_left, (uint32_t)z->rank - n - n_left, &result[CONTRACTED]))
        return false;
    const Group left = result[FREE], right = result[CONTRACTED]; /* the free dimensions of both */
    *exchanged = left.size > 1 && left.step != 1;
    const Group *x = of[*exchanged], *y = of[!*exchanged];
    bool turned;
    *p = (GpuProduct){.type = values[0]->type, .result = z->type, .m = x[FREE].size, .n = y[FREE].size,
                      .k = x[CONTRACTED].size};
    return batches(a, &d, values, *exchanged, p) && matrix(x[FREE], x[CONTRACTED], &p->x_turned, &p->x_step) &&
           matrix(y[CONTRACTED], y[FREE], &p->y_turned, &p->y_step) &&
           matrix(*exchanged ? right : left, *exchanged ? left : right, &turned, &p->z_step) && !turned &&
           gpu_blas_takes(p);
}

static bool lies_alike(const ProgValue *x, const ProgValue *y)
{
    bool same = !strcmp(x->type, y->type) && x->rank == y->rank;
    for (int k = 0; same && k < x->rank; k++)
        same = x->dims[k] == y->dims[k] && x->minor_to_major[k] == y->minor_to_major[k];
    return same;
}

static bool is_row_major(const ProgValue *v)
{
    for (int k = 0; k < v->rank; k++)
        if (v->minor_to_major[k] != v->rank - 1 - k) return false;
    return true;
}

bool prog_adds(const GpuProduct *p, const ProgValue *z, const HloEpilogue *e, const ProgValue *residual,
               const ProgValue *bias, bool exchanged)
{
    if (!e->root) return true;
    if (strcmp(p->result, "f32") || (e->residual && (!residual || !lies_alike(residual, z)))) return false;
    if (!e->bias) return true;
    int64_t n = 1;
    for (int k = 0; bias && k < bias->rank; k++) n *= bias->dims[k];
    /* a number for each column of the text, which is a row of the matrix as cuBLAS has it */
    return bias && exchanged && is_row_major(z) && is_row_major(bias) && n == p->m;
}

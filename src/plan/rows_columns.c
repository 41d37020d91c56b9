/* rows_columns.c: rows of an array that are reduced, and sums over these rows, element by element: the gradient of a
 * norm, which needs sums along its rows, and those of scale and offset, which are sums of columns. A kernel that has
 * whole rows in registers adds up those of a block as it goes, and leaves one row of sums for each block; another one
 * adds these. So the array is read once.
 *
 * Needs a plan, for how many rows a part of the text has (graph/options.c); and the fusion of such a text. Leaves
 * the sums of parts, which share.c makes a stage of the kernel that reduces rows.
 *
 *     dx, s = f32[8192,1024], f32[1024]     rows: warp 2, loop 8, grid 512      part f32[512,1024]      f32[1024]
 */
#include "graph/graph.h"
#include "plan/work.h"

/* Is there a reduction of the rows of such a matrix? */
static bool has_rows(const HloComputation *body, GrMatrix of)
{
    GrMatrix m;
    for (uint32_t k = 0; k < body->n_instructions; k++)
        if (gr_reduces_rows(body->instructions[k], &m) && m.rows == of.rows && m.columns == of.columns) return true;
    return false;
}

/* The largest divisor of n that is at most `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t best = 1;
    for (int64_t k = 1; k <= most && k * k <= n; k++) {
        if (n % k) continue;
        best = WBB_MAX(best, k);
        if (n / k <= most) best = WBB_MAX(best, n / k);
    }
    return best;
}

bool plan_column_parts(const HloComputation *body, const TgTarget *t, int64_t blocks, uint32_t *parts)
{
    const int64_t most = blocks * t->sms, busy = tg_tuned(t, "across.busy");
    bool any = false;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        parts[k] = 0;
        GrMatrix m;
        if (!gr_sums_columns(i, &m) || !has_rows(body, m)) continue;
        const int64_t n = divisor(m.rows, most);
        if (100 * n < busy * most || 2 * n > m.rows) continue; /* SMs would be idle; or a block has but one row */
        parts[k] = (uint32_t)(m.rows / n);
        any = true;
    }
    return any;
}

static bool is_sum_of_first(const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->n_operands != 2 || i->n_dimensions != 1 || i->dimensions[0] != 0) return false;
    return hlo_combiner(i->called[0]) == OP_ADD;
}

/* A sum over the second of several dimensions that is summed up over the first one alone, from any initial value. */
static bool is_part(const HloComputation *body, const HloInstruction *i)
{
    if (!hlo_reduces(i, HLO_ADD) || i->n_dimensions != 1 || i->dimensions[0] != 1 || i->n_users != 1) return false;
    if (!hlo_is_row_major(i->shape)) return false;
    for (uint32_t k = i->id + 1; k < body->n_instructions; k++) {
        const HloInstruction *x = body->instructions[k];
        if (x->n_operands && x->operands[0] == i) return is_sum_of_first(x);
    }
    return false;
}

void plan_mark_users(const HloComputation *body, bool *marks)
{
    for (uint32_t k = 0; k < body->n_instructions; k++)
        for (uint32_t o = 0; o < body->instructions[k]->n_operands; o++)
            marks[k] = marks[k] || marks[body->instructions[k]->operands[o]->id];
}

bool plan_has_across(const Plan *p)
{
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const PlanKernel *of = &p->kernels[k];
        for (uint32_t r = 0; r < of->n_ranges; r++)
            if (of->ranges[r].n_stages && of->ranges[r].stages[of->ranges[r].n_stages - 1].kind == PLAN_ACROSS)
                return true;
    }
    return false;
}

/* Bytes of whole arrays that the terms of sums over rows need, results of rows apart, which memory may hold. */
static double bytes_of(WbbArena *a, const HloComputation *body, const bool *columns)
{
    bool *needed = WBB_NEW_N(a, bool, body->n_instructions + 1);
    double bytes = 0;
    int64_t all = 0;
    GrMatrix m;
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        if (columns[n]) all = WBB_MAX(all, hlo_elements(i->operands[0]->shape));
        if (!columns[n] && (!needed[n] || gr_reduces_rows(i, &m))) continue;
        for (uint32_t k = 0; k < i->n_operands; k++) needed[i->operands[k]->id] = true;
        if (i->opcode != HLO_PARAMETER || i->shape->type == SC_TUPLE || hlo_elements(i->shape) < all) continue;
        bytes += (double)hlo_bytes(i->shape);
    }
    return bytes;
}

bool *plan_columns(WbbArena *a, const HloComputation *body, double *bytes)
{
    bool *columns = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        GrMatrix m;
        columns[k] = gr_sums_columns(i, &m) && has_rows(body, m);
    }
    *bytes = bytes_of(a, body, columns);
    return columns;
}

uint32_t plan_across(const Plan *p, const HloInstruction **found)
{
    const HloComputation *body = p->fusion->body;
    uint32_t n = 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (!is_part(body, i)) continue;
        if (n && !hlo_same_dims(i->operands[0]->shape, found[0]->operands[0]->shape)) continue;
        const int64_t *dims = i->operands[0]->shape->dims, rows = dims[0] * dims[1];
        const GrMatrix m = {rows, hlo_elements(i->operands[0]->shape) / WBB_MAX(rows, 1)};
        if (has_rows(body, m)) found[n++] = i;
    }
    return n;
}

/* share_rows_columns.c: a loop over the rows of a block around all stages of a range, and sums of these rows, column by
 * column, of values that have the terms' shape: what a thread has of a column it adds up from iteration to iteration;
 * then lanes and warps that have other rows combine.
 *
 * Needs a range whose last stage is of that kind: its layout is that of the others, with the kept dimension as the
 * reduced one and the other way round, so that reductions over rows are those of any stage (share_terms.c,
 * share_exchange.c). Leaves its results stored: one for each block, which another launch combines.
 *
 *     columns: vector 4, lane 32, warp 8; rows: loop 16, grid 512
 *       =>  for k in 0 .. 15 { the row's reductions, its outputs; 4 sums += 4 terms }   %part[512,1024]
 */
#include "emit/share.h"

/* The terms of the sums in one iteration, at the elements that the thread has of its rows. */
static void add_terms(const Share *m, IrRef loop, Partials p)
{
    Partial *terms = WBB_NEW_N(m->a, Partial, m->n * m->terms + 1u); /* of one kept element */
    for (uint32_t c = 0; c < m->kept; c++) {
        for (uint32_t k = 0; k < m->terms; k++) {
            const Position at = emit_share_position(m, c, k, loop);
            const IrRef *index = emit_share_index(m, &at), *place = emit_share_index(m->rows, &at);
            for (uint32_t r = 0; r < m->n; r++)
                terms[r * m->terms + k] = emit_share_term_at(m, &m->r[r], &at, index, place);
        }
        for (uint32_t r = 0; r < m->n; r++) {
            emit_share_fold(m, &m->r[r], &terms[r * m->terms], m->terms);
            p[r][c] = terms[r * m->terms];
        }
    }
}

/* Shared memory of a stage is written again in the next iteration: where no other stage has a barrier between its
 * reads and that, there is one more. */
static void iterate(const Share *m, IrRef loop, Partials p)
{
    Share *rows = m->rows;
    uint32_t barriers = 0;
    rows->row = loop;
    m->stages(rows);
    for (uint32_t k = 0; k < m->range->n_stages; k++) barriers += m->range->stages[k].kind == PLAN_REDUCE;
    if (lay_part(rows->l, LAY_WARP, true) > 1 && barriers == 1 && m->loop > 1) emit_share_barrier(m);
    add_terms(m, loop, p);
}

void emit_share_across(Share *rows, void (*stages)(Share *rows))
{
    const PlanStage *s = &rows->range->stages[rows->range->n_stages - 1];
    Share m = *rows;
    m.s = s, m.l = &s->layout, m.rows = rows, m.stages = stages;
    m.terms_shape = s->reduces[0].i->operands[0]->shape;
    m.everyone = false;
    emit_share_find_iterations(&m);
    emit_share_begin(&m);
    m.blocks = 1; /* each has sums of its own */
    emit_share_add_buffers(&m);
    Partials p = emit_share_partials(&m);
    uint32_t *n_of = WBB_NEW_N(m.a, uint32_t, m.n + 1u);
    for (uint32_t r = 0; r < m.n; r++) n_of[r] = m.kept;
    emit_share_iterate(&m, iterate, m.loop, false, n_of, p);
    emit_share_finish(&m, p);
    emit_share_results(&m);
    while (m.n_open) emit_share_close(&m);
}

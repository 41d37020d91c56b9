/* share.c: the stages of a launch range whose threads share the terms of reductions.
 *
 * Needs a range with a layout; leaves its statements. In a stage of reductions a thread combines its terms, in an
 * iteration neighbours, then neighbours of these, and iterations one after the other; then lanes, warps and blocks
 * combine (share_exchange.c). The initial value is combined once, with the result. Results are remembered as the values
 * of their instructions at the thread's kept elements, where later stages and outputs find them. The same holds for all
 * that a thread has computed for its terms: where it has no loop over them, a later stage reads nothing again.
 *
 *     reduce(f32[8192,1024]), {1}    rows: grid 8192; columns: vector 4, lane 32, warp 2, register 4
 *       =>  16 terms a thread, 5 shuffles, %shared[2 warps], barrier
 */
#include "emit/share.h"

/* Reductions, and the outputs of full shape in passing. */
static void reduce_stage(Share *m)
{
    const uint32_t origin = m->e->g->making_origin;
    m->e->g->making_origin = m->s->reduces[0].i->id + 1;
    emit_share_begin(m);
    emit_share_add_buffers(m);
    Partials p = emit_share_partials(m);
    uint32_t *n_of = WBB_NEW_N(m->a, uint32_t, m->n + 1u);
    for (uint32_t r = 0; r < m->n; r++) n_of[r] = m->kept;
    emit_share_iterate(m, emit_share_terms, m->loop, m->ascends, n_of, p);
    emit_share_finish(m, p);
    m->e->g->making_origin = origin;
}

static void map_stage(Share *m)
{
    IrRef loop;
    const EmitLoop l = emit_for(m->e, "k", m->loop, 0, NULL, &loop);
    m->n = 0;
    emit_share_roll(m, &l);
    emit_share_terms(m, loop, NULL);
    emit_end_for(m->e, &l, 0, NULL);
}

static void stages(Share *m)
{
    const PlanRange *range = m->range;
    uint32_t left = 0; /* stages of threads that need results */
    for (uint32_t k = 0; k < range->n_stages; k++) left += range->stages[k].kind != PLAN_RESULTS;
    for (uint32_t k = 0; k < range->n_stages && range->stages[k].kind != PLAN_ACROSS; k++) {
        m->s = &range->stages[k];
        m->everyone = m->s->kind != PLAN_RESULTS && --left > 0;
        if (m->s->kind == PLAN_REDUCE) reduce_stage(m);
        else if (m->s->kind == PLAN_SCAN) emit_share_scan(m);
        else if (m->s->kind == PLAN_MAP) map_stage(m);
        else emit_share_results(m);
    }
    while (m->n_open) emit_share_close(m);
}

void emit_shared(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    Share m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .range = range, .s = range->stages,
               .l = &range->stages[0].layout, .terms_shape = range->space, .bid = bid, .tid = tid,
               .row = ir_index(e->g, 0)};
    e->reduced = range->reduced;
    emit_share_find_iterations(&m);
    emit_share_find_thread(&m, tid);
    if (range->stages[range->n_stages - 1].kind == PLAN_ACROSS) emit_share_across(&m, stages);
    else stages(&m);
    emit_share_end_clusters(&m);
    e->reduced = NULL, e->place = NULL;
}

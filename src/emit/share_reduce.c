/* share_reduce.c: a stage of reductions before its terms and after them, and the outputs that have an element for each
 * result.
 *
 * Needs the layout of a range; leaves how many elements a thread has of it, the reductions of a stage, and, of partial
 * results, results, which are remembered as the values of their instructions at the thread's kept elements.
 *
 *     columns: vector 4, lane 32, warp 2, register 4; rows: grid 8192     =>   16 terms, 1 kept element, no loop
 */
#include "emit/share.h"

/* In the order of the map's variables: iterations of each dimension, the outermost first, then vectors. */
void emit_share_find_iterations(Share *m)
{
    m->iterations = WBB_NEW_N(m->a, Iteration, m->l->n_dims * LAY_LEVELS + 1u);
    m->n_iterations = 0;
    m->kept = m->terms = 1, m->loop = 1;
    for (int vectors = 0; vectors < 2; vectors++)
        for (uint32_t d = 0; d < m->l->n_dims; d++)
            for (uint32_t k = m->l->dims[d].n_factors; k-- > 0;) {
                const LayFactor *f = &m->l->dims[d].factors[k];
                if (f->level >= LAY_LANE || (f->level == LAY_VECTOR) != vectors) continue;
                if (vectors && f->size == 1) continue;
                m->iterations[m->n_iterations++] = (Iteration){d, f->level, f->size};
                if (f->level == LAY_LOOP) m->loop = m->l->dims[d].reduced ? f->size : m->loop;
                else if (m->l->dims[d].reduced) m->terms *= (uint32_t)f->size;
                else m->kept *= (uint32_t)f->size;
            }
    assert(m->l->n_dims + m->n_iterations == m->s->maps.elements->vars.n);
}

void emit_share_begin(Share *m)
{
    emit_share_find_reductions(m);
    const int64_t threads = lay_part(m->l, LAY_LANE, true) * lay_part(m->l, LAY_WARP, true);
    m->blocks = lay_part(m->l, LAY_GRID, true);
    m->chunk = (m->blocks + threads - 1) / threads;
    m->combined = WBB_NEW_N(m->a, int64_t, m->l->n_dims + 1u);
    for (uint32_t d = 0; d < m->l->n_dims; d++) m->combined[d] = emit_share_lanes(m, d);
    m->masked = emit_share_is_masked(m);
    for (uint32_t k = 0; k < m->n; k++) {
        Reduction *r = &m->r[k];
        r->absent = m->masked && !r->identity;
        r->stretch_absent = !r->identity && (r->absent || (m->blocks > 1 && m->chunk * threads != m->blocks));
    }
}

/* The results as values of their instructions at the thread's kept elements. */
static void remember_results(const Share *m, Partials p)
{
    for (uint32_t r = 0; r < m->n; r++) {
        const Reduction *x = &m->r[r];
        const uint32_t origin = m->e->g->making_origin;
        m->e->g->making_origin = x->i->id + 1;
        const Partial init = emit_share_initial(m, x);
        for (uint32_t c = 0; c < m->kept; c++) {
            const Position at = emit_share_position(m, c, 0, ir_index(m->g, 0));
            const IrRef *kept = emit_share_kept_index(m, x->i, &at);
            p[r][c].present = 0; /* there is a term */
            const Partial result = emit_share_follow(m, x, &init, &p[r][c]);
            for (uint32_t k = 0; k < x->n; k++)
                emit_give(m->e, (PlanValue){x->i, k}, kept, emit_as(m->e, result.x[k], plan_shape(x->i, k)->type));
        }
        m->e->g->making_origin = origin;
    }
}

/* What threads have become results. */
void emit_share_finish(Share *m, Partials p)
{
    emit_share_combine_lanes(m, p);
    emit_share_combine_warps(m, p);
    emit_share_combine_clusters(m, p);
    if (m->blocks > 1) emit_share_combine_blocks(m, p);
    remember_results(m, p);
}

/* The condition under which a thread has its kept elements, if that is one for all of them; else 0. */
static IrRef has_all(const Share *m)
{
    const IrRef first = emit_share_position(m, 0, 0, ir_index(m->g, 0)).kept;
    for (uint32_t c = 1; c < m->kept; c++)
        if (emit_share_position(m, c, 0, ir_index(m->g, 0)).kept != first) return 0;
    return first;
}

/* The element of each output at each kept element, by the thread that owns it: one branch takes less time than two. */
void emit_share_results(const Share *m)
{
    const Plan *plan = m->e->plan;
    const IrRef all = has_all(m);
    EmitIf owner = emit_if(m->e, emit_share_both(m, emit_share_owner(m), all));
    for (uint32_t c = 0; c < m->kept; c++) {
        const Position at = emit_share_position(m, c, 0, ir_index(m->g, 0));
        EmitIf inside = emit_if(m->e, all ? 0 : at.kept);
        const IrRef *terms = emit_share_index(m, &at);
        IrRef kept[HLO_RANK_LIMIT];
        plan_kept_index(m->rows ? m->s->reduces[0].i : m->range->hero, terms, kept);
        for (uint32_t k = 0; k < m->s->n_outputs && !emit_never(&inside); k++) {
            const PlanValue root = plan->roots[m->s->outputs[k]];
            IrRef *to = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
            plan_path_index(m->rw, m->a, &m->s->paths[k], kept, to);
            m->e->place = terms;
            const IrRef value = emit_value(m->e, root, to);
            emit_store(m->e, plan->n_operands + m->s->outputs[k],
                       ix_linear(m->rw, plan_shape(root.i, root.part), to), value);
        }
        emit_close_if(m->e, &inside);
    }
    emit_close_if(m->e, &owner);
}

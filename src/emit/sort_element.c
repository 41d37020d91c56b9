/* sort_element.c: the elements of a sort: where they are, which of two comes first, what is made of one at its end.
 *
 * Needs a Sort; leaves nodes, loads and stores where they are asked for. An element is its keys and the position that
 * it had in its row.
 *
 *     sort(x, y), by x, of 7 rows of 100    f32 of %shared1, u16 of %shared2; y is loaded at the position at the end
 */
#include "emit/sort.h"

/* An integer that is in 0 .. bound, as an index. */
IrRef emit_sort_index_of(const Sort *s, IrRef integer, int64_t bound)
{
    if (bound == 1) return ir_index(s->m.g, 0);
    return emit_variable(s->m.e, "i", integer, 0, bound - 1);
}

/* --- elements ----------------------------------------------------------------------------------------------------- */
/* Where element `at` of a row is in the arrays. */
IrRef *emit_sort_index_at(const Sort *s, IrRef row, IrRef at)
{
    const Share *m = &s->m;
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    for (uint32_t d = 0; d < m->terms_shape->rank; d++) index[d] = ir_index(m->g, 0);
    for (uint32_t k = m->s->n_space; k-- > 0;) {
        const PlanGroup *g = &m->s->space[k];
        if (!g->n) continue;
        if (g->dim.reduced) {
            plan_group_index(m->rw, g, m->terms_shape, at, index);
            continue;
        }
        plan_group_index(m->rw, g, m->terms_shape, rw_mod(m->rw, row, g->dim.size), index);
        row = rw_floordiv(m->rw, row, g->dim.size);
    }
    return index;
}

IrRef emit_sort_operand_at(const Sort *s, uint32_t operand, const IrRef *index)
{
    return emit_value(s->m.e, plan_value(s->s->i->operands[operand], 0), index);
}

IrRef *emit_sort_values(const Sort *s) { return WBB_NEW_N(s->m.a, IrRef, s->element.n); }

IrRef emit_sort_is_before(const Sort *s, const IrRef *x, const IrRef *y)
{
    if (s->s->word) return emit_sort_compare(s, OP_LT, x[0], y[0]);
    const HloInstruction *i = s->s->i;
    const HloComputation *c = i->called[0];
    const HloInstruction *root = c->root;
    IrRef *args = emit_sort_no_arguments(s);
    for (uint32_t k = 0; k < s->s->n_keys; k++) {
        args[2 * s->s->keys[k]] = emit_as(s->m.e, x[k], c->parameters[2 * s->s->keys[k]]->shape->type);
        args[2 * s->s->keys[k] + 1] = emit_as(s->m.e, y[k], c->parameters[2 * s->s->keys[k] + 1]->shape->type);
    }
    const uint32_t env = emit_env(s->m.e, 2 * i->n_operands, args);
    const IrRef before = emit_value_in(s->m.e, env, (PlanValue){root, 0}, NULL);
    const bool plain = root->opcode == HLO_COMPARE && !root->total_order &&
                       (root->direction == HLO_LT || root->direction == HLO_GT) &&
                       root->operands[0]->opcode == HLO_PARAMETER && root->operands[1]->opcode == HLO_PARAMETER;
    if (!plain || !s->s->passes || s->s->n_keys != 1 || !sc_is_float(s->element.type[0])) return before;
    const IrRef number = emit_sort_compare(s, OP_EQ, x[0], x[0]), nan = emit_sort_compare(s, OP_NE, y[0], y[0]);
    return emit_sort_compare(s, OP_BOR, before, emit_sort_compare(s, OP_BAND, number, nan));
}

static Partial element(IrRef *values) { return (Partial){.x = values}; }

void emit_sort_get(const Sort *s, SharePlace place, IrRef at, IrRef *values)
{
    Partial p;
    emit_share_get(&s->m, &s->element, place, at, 1, &p);
    for (uint32_t k = 0; k < s->element.n; k++) values[k] = p.x[k];
}

void emit_sort_put(const Sort *s, SharePlace place, IrRef at, IrRef *values)
{
    const Partial p = element(values);
    emit_share_put(&s->m, &s->element, place, at, &p);
}

/* Opens an `if` for places that outputs have; *at: such a place, returned: its number among them. */
static IrRef in_stretch(const Sort *s, IrRef *at, EmitIf *c)
{
    const Share *m = &s->m;
    const int64_t first = s->s->first, n = s->s->stored;
    const IrRef after = first ? rw_compare(m->rw, OP_GE, *at, ir_index(m->g, first)) : 0;
    const IrRef below = first + n < s->s->length ? rw_compare(m->rw, OP_LT, *at, ir_index(m->g, first + n)) : 0;
    *c = emit_if(m->e, emit_share_both(m, after, below));
    if ((!after && !below) || emit_never(c)) return *at;
    const IrRef number = emit_let(m->e, "n", rw_sub(m->rw, *at, ir_index(m->g, first)), 0, n - 1);
    *at = rw_add(m->rw, number, ir_index(m->g, first));
    return number;
}

/* The results at place `at` of a row, and what is computed from them there. */
void emit_sort_store_results(const Sort *s, IrRef row, IrRef at, const IrRef *values)
{
    Share here = s->m;
    const Share *m = &here;
    EmitIf inside = {0};
    const IrRef number = in_stretch(s, &at, &inside);
    if (emit_never(&inside)) {
        emit_close_if(m->e, &inside);
        return;
    }
    const IrRef *index = emit_sort_index_at(s, row, at);
    IrRef *to = emit_sort_index_at(s, row, at);
    if (s->s->stored < s->s->length) to[s->s->dim] = number;
    here.results_at = index;
    const IrRef position = s->s->word ? emit_sort_position(s, values[0]) : values[s->s->n_keys];
    const IrRef from = position ? emit_start(m->e, position, 0, s->s->length - 1) : 0;
    for (uint32_t k = 0; k < s->s->i->n_operands; k++) {
        IrRef v = plan_sort_word_tells(s->s, k) ? emit_sort_told(s, values[0]) : 0;
        for (uint32_t x = 0; x < s->s->n_keys; x++)
            if (s->s->keys[x] == k) v = values[x];
        if (!v) v = emit_sort_operand_at(s, k, emit_sort_index_at(s, row, from));
        emit_give(m->e, (PlanValue){s->s->i, k}, index, emit_as(m->e, v, plan_shape(s->s->i, k)->type));
    }
    const Position everywhere = {0};
    const IrRef *outputs_at = to;
    emit_share_outputs(m, 1, &everywhere, &outputs_at);
    if (s->s->stored == 1) wbb_map_clear(&m->e->memo); /* the next place has the same index, but another value */
    emit_close_if(m->e, &inside);
}

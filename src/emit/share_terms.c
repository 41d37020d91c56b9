/* share_terms.c: the elements of a thread in a shared stage, the terms of its reductions, and how two partial results
 * become one.
 *
 * Needs the maps of the layout; leaves values. What a thread has beyond the end of a dimension it takes from the last
 * element there is, so that no load or shuffle stands under a condition; such a term becomes the computation's
 * identity if rules prove one, else its partial result carries a pred that says whether there is any term.
 */
#include "emit/share.h"

#include <math.h>
#include <string.h>

/* --- positions ---------------------------------------------------------------------------------------------------- */
void emit_share_find_thread(Share *m, IrRef tid)
{
    const IxMap *elements = m->s->maps.elements;
    const int64_t lanes = lay_level_size(m->l, LAY_LANE);
    m->lane = rw_mod(m->rw, tid, lanes), m->warp = rw_floordiv(m->rw, tid, lanes);
    m->t = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u), m->inside = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u);
    ix_map_at(m->rw, m->a, rw_graph(m->e->plan->rw), m->s->maps.launched, (IrRef[]){m->bid, tid}, m->t, NULL);
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const int64_t most = elements->vars.items[d].hi;
        m->t[d] = emit_clamp(m->e, "t", m->t[d], most + 1, &m->inside[d]);
    }
}

/* Do the lanes that have a term have all that are combined? Then it does not matter what the others have. */
static bool combines_no_others(const Share *m, uint32_t dim)
{
    const LayDim *d = &m->l->dims[dim];
    const int64_t some = m->combined ? m->combined[dim] : lay_size(d, LAY_LANE);
    return some < lay_size(d, LAY_LANE) && !(some & (some - 1)) && some * lay_of_outer_lane(d) == d->size;
}

Position emit_share_position(const Share *m, uint32_t kept, uint32_t term, IrRef loop)
{
    const IxMap *map = m->s->maps.elements;
    IrRef *point = WBB_NEW_N(m->a, IrRef, map->vars.n + 1u);
    Position p = {.at = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u)};
    IrRef vector = ir_index(m->g, 0); /* number of the element in its vector */
    uint32_t of_vector = m->l->n_dims; /* its dimension */
    for (uint32_t d = 0; d < m->l->n_dims; d++) point[d] = m->t[d];
    for (uint32_t k = m->n_iterations; k-- > 0;) { /* vectors are the lowest digits */
        const Iteration *x = &m->iterations[k];
        uint32_t *rest = m->l->dims[x->dim].reduced ? &term : &kept;
        const IrRef own = m->parted && !m->l->dims[x->dim].reduced ? m->parted[k] : ir_index(m->g, *rest % x->size);
        const bool around = x->level == LAY_LOOP && !m->l->dims[x->dim].reduced;
        point[m->l->n_dims + k] = around ? m->row : x->level == LAY_LOOP ? loop : own;
        if (x->level == LAY_VECTOR) {
            point[m->l->n_dims + k] = ir_index(m->g, 0);
            vector = own, of_vector = x->dim;
        }
        if (x->level != LAY_LOOP) *rest /= (uint32_t)x->size;
    }
    ix_map_at(m->rw, m->a, rw_graph(m->e->plan->rw), map, point, p.at, NULL);
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const LayDim *x = &m->l->dims[d];
        const int64_t size = lay_size(x, LAY_VECTOR), whole = x->size / size;
        IrRef *condition = x->reduced ? &p.term : &p.kept, below;
        const IrRef n = emit_clamp(m->e, "p", rw_floordiv(m->rw, p.at[d], size), whole, &below); /* of the vector */
        *condition = emit_share_both(m, emit_share_both(m, *condition, m->inside[d]), below);
        if (x->reduced && !combines_no_others(m, d))
            p.mask = emit_share_both(m, emit_share_both(m, p.mask, m->inside[d]), below);
        p.at[d] = rw_scale(m->rw, n, size);
        if (d == of_vector) p.at[d] = rw_add(m->rw, p.at[d], vector);
    }
    return p;
}

bool emit_share_is_masked(const Share *m)
{
    bool masked = false;
    for (uint32_t k = 0; k < m->terms; k++) /* of the loop the last iteration has the fewest terms */
        masked = masked || emit_share_position(m, 0, k, ir_index(m->g, m->loop - 1)).mask;
    return masked;
}

IrRef *emit_share_index(const Share *m, const Position *p)
{
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    for (uint32_t d = 0; d < m->terms_shape->rank; d++) index[d] = ir_index(m->g, 0);
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        for (uint32_t k = 0; k < m->s->n_space; k++)
            if (m->s->space[k].dim.name == m->l->dims[d].name)
                plan_group_index(m->rw, &m->s->space[k], m->terms_shape, p->at[d], index);
    return index;
}

IrRef *emit_share_kept_index(const Share *m, const HloInstruction *i, const Position *p)
{
    IrRef *kept = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    plan_kept_index(i, emit_share_index(m, p), kept);
    return kept;
}

/* --- partial results ---------------------------------------------------------------------------------------------- */
static Partial new_partial(const Share *m, const Reduction *r) { return (Partial){.x = WBB_NEW_N(m->a, IrRef, r->n)}; }

Partials emit_share_partials(const Share *m)
{
    Partials p = WBB_NEW_N(m->a, Partial *, m->n + 1u);
    for (uint32_t r = 0; r < m->n; r++) p[r] = WBB_NEW_N(m->a, Partial, m->kept + 1);
    return p;
}

uint32_t emit_share_pack(const Share *m, Partials p, const uint32_t *n_of, IrRef *values)
{
    uint32_t at = 0;
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < n_of[r]; k++) {
            for (uint32_t x = 0; x < m->r[r].n; x++, at++)
                if (values) values[at] = p[r][k].x[x];
            if (!p[r][k].present) continue;
            if (values) values[at] = p[r][k].present;
            at++;
        }
    return at;
}

void emit_share_unpack(const Share *m, Partials p, const uint32_t *n_of, const IrRef *values)
{
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < n_of[r]; k++) {
            const IrRef present = p[r][k].present;
            p[r][k] = new_partial(m, &m->r[r]);
            for (uint32_t x = 0; x < m->r[r].n; x++) p[r][k].x[x] = *values++;
            if (present) p[r][k].present = *values++;
        }
}

EmitIf emit_share_if_using(const Share *m, IrRef condition, uint32_t n, Partials p)
{
    uint32_t *n_of = WBB_NEW_N(m->a, uint32_t, m->n + 1u);
    for (uint32_t r = 0; r < m->n; r++) n_of[r] = n;
    const uint32_t n_values = emit_share_pack(m, p, n_of, NULL);
    IrRef *values = WBB_NEW_N(m->a, IrRef, n_values + 1u);
    emit_share_pack(m, p, n_of, values);
    const EmitIf c = emit_if_using(m->e, condition, n_values, values);
    for (uint32_t k = 0; k < n_values; k++) values[k] = emit_in_branch(m->e, &c, true, values[k]);
    emit_share_unpack(m, p, n_of, values);
    return c;
}

/* --- combining ---------------------------------------------------------------------------------------------------- */
/* The values that the computation takes as those of x and of y: of the smaller number first, unless x comes first. */
static IrRef *arguments_of(const Share *m, const Reduction *r, const Partial *x, const Partial *y, bool follows)
{
    const HloComputation *c = r->i->called[0];
    IrRef *args = WBB_NEW_N(m->a, IrRef, 2 * r->n), after = 0;
    if (r->of->number && !follows) {
        const uint32_t number = r->of->number - 1;
        after = emit_share_node(m, OP_LT, SC_PRED, y->x[number], x->x[number]);
    }
    for (uint32_t k = 0; k < r->n; k++) {
        const IrType t = IR_TYPE(r->type[k], 0);
        const IrRef first = after ? ir_node(m->g, OP_SELECT, t, 0, after, y->x[k], x->x[k], 0) : x->x[k];
        const IrRef second = after ? ir_node(m->g, OP_SELECT, t, 0, after, x->x[k], y->x[k], 0) : y->x[k];
        args[k] = emit_as(m->e, first, c->parameters[k]->shape->type);
        args[r->n + k] = emit_as(m->e, second, c->parameters[r->n + k]->shape->type);
    }
    return args;
}

static Partial combine(const Share *m, const Reduction *r, const Partial *x, const Partial *y, bool follows)
{
    const HloComputation *c = r->i->called[0];
    const ScOp op = hlo_scalar(c->root->opcode); /* where partial results have a type of their own */
    const bool apart = x->present != y->present;                    /* one may be there without the other */
    Partial p = new_partial(m, r);
    const uint32_t env = r->of->sum == SC_NONE ? emit_env(m->e, 2 * r->n, arguments_of(m, r, x, y, follows)) : 0;
    for (uint32_t k = 0; k < r->n; k++) {
        const IrType t = IR_TYPE(r->type[k], 0);
        IrRef v = env ? emit_as(m->e, emit_value_in(m->e, env, (PlanValue){c->root, k}, NULL), r->type[k])
                      : emit_share_node(m, op, r->of->sum, x->x[k], y->x[k]);
        if (apart && y->present) v = ir_node(m->g, OP_SELECT, t, 0, y->present, v, x->x[k], 0);
        if (apart && x->present) v = ir_node(m->g, OP_SELECT, t, 0, x->present, v, y->x[k], 0);
        p.x[k] = v;
    }
    if (!apart) p.present = x->present;
    else if (x->present && y->present) p.present = emit_share_node(m, OP_BOR, SC_PRED, x->present, y->present);
    return p;
}

Partial emit_share_combine(const Share *m, const Reduction *r, const Partial *x, const Partial *y)
{
    return combine(m, r, x, y, false);
}

Partial emit_share_follow(const Share *m, const Reduction *r, const Partial *x, const Partial *y)
{
    return combine(m, r, x, y, true);
}

void emit_share_mask(const Share *m, const Reduction *r, IrRef condition, Partial *p)
{
    if (!condition) return;
    if (!r->identity) p->present = emit_share_both(m, p->present, condition);
    for (uint32_t k = 0; r->identity && k < r->n; k++)
        p->x[k] = ir_node(m->g, OP_SELECT, IR_TYPE(r->type[k], 0), 0, condition, p->x[k], r->identity[k], 0);
}

bool emit_contracts(const HloInstruction *reduce)
{
    return reduce->n_operands == 2 && hlo_combiner(reduce->called[0]) == OP_ADD && hlo_contracts(reduce->operands[0]);
}

/* The sum of x and a product, rounded once; 0: y is none. */
static IrRef fused(const Share *m, const Reduction *r, IrRef x, IrRef y)
{
    const IrNode n = *ir_at(m->g, y);
    return n.op == OP_MUL ? ir_node(m->g, OP_FMA, IR_TYPE(r->type[0], 0), 0, n.a[0], n.a[1], x, 0) : 0;
}

/* Products one after the other, after what is there (NULL: nothing): half of the instructions of a tree. */
static Partial chain(const Share *m, const Reduction *r, const Partial *before, const Partial *p, uint32_t n)
{
    Partial sum = before ? *before : p[0];
    for (uint32_t k = before ? 0 : 1; k < n; k++) {
        const IrRef x = fused(m, r, sum.x[0], p[k].x[0]);
        if (!x) {
            sum = combine(m, r, &sum, &p[k], false);
            continue;
        }
        sum = new_partial(m, r);
        sum.x[0] = x;
    }
    return sum;
}

static void fold(const Share *m, const Reduction *r, Partial *p, uint32_t n, bool follow)
{
    for (; n > 1; n = (n + 1) / 2) {
        for (uint32_t k = 0; k < n / 2; k++) p[k] = combine(m, r, &p[2 * k], &p[2 * k + 1], follow);
        if (n % 2) p[n / 2] = p[n - 1];
    }
}

void emit_share_fold(const Share *m, const Reduction *r, Partial *p, uint32_t n) { fold(m, r, p, n, false); }

/* Do the terms of a thread follow each other, those of an iteration and then those of the next one? */
static bool ascends(const Share *m)
{
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const LayDim *x = &m->l->dims[d];
        int last = -1;
        for (uint32_t k = 0; x->reduced && k < x->n_factors; k++) {
            const int level = (int)x->factors[k].level;
            if (x->factors[k].size == 1 || level > LAY_LOOP) continue;
            if (level <= last) return false;
            last = level;
        }
    }
    return true;
}

/* Of a computation that is one operation. */
void emit_share_find_identity(const Share *m, Reduction *r)
{
    const ScOp op = hlo_scalar(r->i->called[0]->root->opcode);
    IrRef identity;
    if (!r->of->commutes || r->n > 1 || !emit_find_identity(m->e, op, r->type[0], &identity)) return;
    r->identity = WBB_NEW(m->a, IrRef);
    r->identity[0] = identity;
}

Partial emit_share_initial(const Share *m, const Reduction *r)
{
    Partial init = new_partial(m, r);
    for (uint32_t k = 0; k < r->n; k++)
        init.x[k] = emit_as(m->e, emit_value(m->e, plan_value(r->i->operands[r->n + k], 0), NULL), r->type[k]);
    return init;
}

void emit_share_find_reductions(Share *m)
{
    m->n = m->s->n_reduces;
    m->ascends = ascends(m);
    m->r = WBB_NEW_N(m->a, Reduction, m->n + 1u);
    for (uint32_t k = 0; k < m->n; k++) {
        Reduction *r = &m->r[k];
        *r = (Reduction){.of = &m->s->reduces[k], .i = m->s->reduces[k].i};
        r->n = r->i->n_operands / 2;
        r->type = WBB_NEW_N(m->a, ScType, r->n);
        for (uint32_t x = 0; x < r->n; x++)
            r->type[x] = r->of->sum != SC_NONE ? r->of->sum : plan_shape(r->i, x)->type;
        emit_share_find_identity(m, r);
        r->contracts = r->identity && emit_contracts(r->i);
    }
}

/* --- terms -------------------------------------------------------------------------------------------------------- */
/* Where a scan takes the term of a position: `shift` further, within the operand; *inside: 0, or whether it is. */
static const IrRef *shifted(const Share *m, const Reduction *r, const IrRef *index, IrRef *inside)
{
    const HloShape *x = r->i->operands[0]->shape;
    const HloScan *scan = &r->of->scan;
    const int64_t n = x->dims[scan->dim];
    if (r->i->opcode != HLO_REDUCE_WINDOW || (!scan->shift && n >= m->terms_shape->dims[scan->dim])) return index;
    IrRef *to = WBB_NEW_N(m->a, IrRef, x->rank + 1u), after, below;
    memcpy(to, index, x->rank * sizeof *to);
    const IrRef at = rw_add(m->rw, index[scan->dim], ir_index(m->g, scan->shift));
    const IrRef from_0 = rw_make(m->rw, OP_MAX, IR_TYPE(SC_INDEX, 0), 0, at, ir_index(m->g, 0), 0, 0);
    to[scan->dim] = emit_clamp(m->e, "x", from_0, n, &below);
    after = emit_unless_true(m->e, rw_compare(m->rw, OP_GE, at, ir_index(m->g, 0)));
    *inside = emit_share_both(m, *inside, emit_share_both(m, below, after));
    return to;
}

Partial emit_share_term_at(const Share *m, const Reduction *r, const Position *at, const IrRef *index,
                           const IrRef *place)
{
    Partial p = new_partial(m, r);
    IrRef present = at->mask;
    m->e->place = place;
    index = shifted(m, r, index, &present);
    for (uint32_t k = 0; k < r->n; k++)
        p.x[k] = emit_as(m->e, emit_value(m->e, plan_value(r->i->operands[k], 0), index), r->type[k]);
    emit_share_mask(m, r, present, &p);
    return p;
}

Partial emit_share_term(const Share *m, const Reduction *r, const Position *at, const IrRef *index)
{
    return emit_share_term_at(m, r, at, index, index);
}

void emit_share_outputs(const Share *m, uint32_t n, const Position *at, const IrRef *const *index)
{
    const Plan *plan = m->e->plan;
    const uint32_t n_outputs = m->s->n_outputs;
    IrRef *values = WBB_NEW_N(m->a, IrRef, n_outputs * n + 1u), *offsets = WBB_NEW_N(m->a, IrRef, n_outputs * n + 1u);
    for (uint32_t k = 0; k < n_outputs; k++)
        for (uint32_t j = 0; j < n; j++) {
            const PlanValue root = plan->roots[m->s->outputs[k]];
            const HloShape *shape = plan_shape(root.i, root.part);
            IrRef *to = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
            plan_path_index(m->rw, m->a, &m->s->paths[k], index[j], to);
            m->e->place = m->results_at ? m->results_at : index[j];
            values[k * n + j] = emit_value(m->e, root, to);
            offsets[k * n + j] = ix_linear(m->rw, shape, to);
        }
    EmitIf inside = emit_if_using(m->e, emit_share_both(m, at->kept, at->term), n_outputs * n, values);
    for (uint32_t k = 0; k < n_outputs * n; k++) values[k] = emit_in_branch(m->e, &inside, true, values[k]);
    for (uint32_t k = 0; k < n_outputs && !emit_never(&inside); k++) {
        const uint32_t buffer = plan->n_operands + m->s->outputs[k];
        const ScType t = plan->buffers[buffer].shape->type;
        const uint32_t each = ir_is_packed(t) ? n : 1;
        for (uint32_t j = 0; j < n; j += each)
            emit_store(m->e, buffer, offsets[k * n + j], emit_packed(m->e, values + k * n + j, t, each, each));
    }
    emit_close_if(m->e, &inside);
}

/* Neighbours whose values are computed before the first is stored: conditions that values need would part the stores. A
 * vector; of a packed output what one store has: a vector where rows are whole vectors, else a byte. */
static uint32_t stored_together(const Share *m)
{
    const LayDim *d = &m->l->dims[0];
    const LayFactor *f = lay_factor(d, LAY_VECTOR);
    const uint32_t group = m->s->packed_group;
    if (group == 1) return (uint32_t)lay_level_size(m->l, LAY_VECTOR);
    if (!f || f->size & (f->size - 1) || d->size % f->size) return group;
    return (uint32_t)WBB_MIN(f->size, 16);
}

/* Elements of a vector follow each other, so that what accesses them does. Chains of products begin with what p has. */
void emit_share_terms(const Share *m, IrRef loop, Partials p)
{
    Partial **all = WBB_NEW_N(m->a, Partial *, m->n + 1u); /* [kept, terms] of each reduction */
    const uint32_t vector = (uint32_t)lay_part(m->l, LAY_VECTOR, false), each = m->terms * vector;
    const uint32_t group = stored_together(m);
    Position *ats = WBB_NEW_N(m->a, Position, group);
    const IrRef **indices = WBB_NEW_N(m->a, const IrRef *, group);
    for (uint32_t r = 0; r < m->n; r++) all[r] = WBB_NEW_N(m->a, Partial, (size_t)m->kept * m->terms);
    for (uint32_t n = 0; n < m->kept * m->terms; n++) {
        const uint32_t c = n / each * vector + n % vector, k = n % each / vector;
        const Position at = emit_share_position(m, c, k, loop);
        const IrRef *index = emit_share_index(m, &at);
        for (uint32_t r = 0; r < m->n; r++) all[r][c * m->terms + k] = emit_share_term(m, &m->r[r], &at, index);
        ats[n % group] = at, indices[n % group] = index;
        if (m->s->n_outputs && n % group == group - 1) emit_share_outputs(m, group, ats, indices);
    }
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t c = 0; c < m->kept; c++) {
            Partial *of = all[r] + (size_t)c * m->terms;
            if (m->r[r].contracts) {
                p[r][c] = chain(m, &m->r[r], p[r][c].x ? &p[r][c] : NULL, of, m->terms);
                continue;
            }
            fold(m, &m->r[r], of, m->terms, m->ascends);
            p[r][c] = of[0];
        }
}

/* Partial results that have no term yet, of reductions whose identity is known. */
static bool start_from_identity(const Share *m, const uint32_t *n_of, Partials p)
{
    for (uint32_t r = 0; r < m->n; r++)
        if (!m->r[r].identity) return false;
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < n_of[r]; k++) p[r][k] = (Partial){.x = m->r[r].identity};
    return true;
}

void emit_share_roll(const Share *m, const EmitLoop *l)
{
    if (l->s) l->s->rolled = m->range->rolled;
}

/* Do terms go on from the partial result that is there? Then nothing is left to combine. */
static bool goes_on(ShareIterate one, const Reduction *r) { return one == emit_share_terms && r->contracts; }

void emit_share_iterate(const Share *m, ShareIterate one, int64_t count, bool follow, const uint32_t *n_of, Partials p)
{
    Partials next = WBB_NEW_N(m->a, Partial *, m->n + 1u);
    IrRef var;
    for (uint32_t r = 0; r < m->n; r++) next[r] = WBB_NEW_N(m->a, Partial, n_of[r] + 1);
    const bool all = count > 1 && start_from_identity(m, n_of, p);
    if (!all) one(m, ir_index(m->g, 0), p);
    if (count == 1) return;
    const uint32_t n_acc = emit_share_pack(m, p, n_of, NULL);
    IrRef *acc = WBB_NEW_N(m->a, IrRef, n_acc + 1u);
    emit_share_pack(m, p, n_of, acc);
    EmitLoop l = emit_for(m->e, "k", all ? count : count - 1, n_acc, acc, &var);
    emit_share_roll(m, &l);
    emit_share_unpack(m, p, n_of, acc);
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < n_of[r] && goes_on(one, &m->r[r]); k++) next[r][k] = p[r][k];
    one(m, all ? var : rw_add(m->rw, var, ir_index(m->g, 1)), next);
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < n_of[r]; k++) {
            const bool carried = p[r][k].present;
            if (goes_on(one, &m->r[r])) {
                p[r][k] = next[r][k];
                continue;
            }
            p[r][k] = combine(m, &m->r[r], &p[r][k], &next[r][k], follow);
            if (carried && !p[r][k].present) p[r][k].present = ir_const(m->g, IR_TYPE(SC_PRED, 0), 1);
        }
    emit_share_pack(m, p, n_of, acc);
    emit_end_for(m->e, &l, n_acc, acc);
    emit_share_unpack(m, p, n_of, acc);
}

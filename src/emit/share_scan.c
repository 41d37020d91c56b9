/* share_scan.c: scans: each element keeps what is combined up to it, from one end of a dimension on.
 *
 * Needs a stage of scans with a layout, whose levels along the scanned dimension are, from the inside out, vector,
 * register, lane, warp, loop; leaves its statements. In each iteration a thread combines its elements one after the
 * other, then lanes their last ones by shuffles, warps theirs through shared memory. What is before a thread (earlier
 * iterations, then earlier warps, then earlier lanes) is combined with each of its elements once. The initial value is
 * what is before the first iteration. So the tree is the layout's, the same in every run; order.c states it.
 *
 *     f32[1024,4096] along rows    columns: vector 4, lane 32, warp 4, loop 8; rows: grid 1024
 *       =>  8 iterations of: 3 sums, 5 shuffles, 1 for what is before, %shared[4 warps], barrier, 4 sums
 */
#include "emit/share.h"

typedef struct {
    Share *m;
    bool reverse;
    uint32_t dim;         /* of the layout: the scanned one */
    int64_t lanes, warps; /* along it */
    IrRef loop;           /* the iteration, as the map counts */
    Partials carry;       /* [kept] what is before the iteration */
} Scan;

/* x comes before y in the order of the scan; the left operand is the one with the lower index. */
static Partial in_order(const Scan *s, const Reduction *r, const Partial *x, const Partial *y)
{
    return s->reverse ? emit_share_combine(s->m, r, y, x) : emit_share_combine(s->m, r, x, y);
}

/* Number `digit` of n along the scan: are at least k others before it? 0: always. */
static IrRef is_after(const Scan *s, IrRef digit, int64_t n, int64_t k)
{
    const IrRef at = s->reverse ? ir_index(s->m->g, n - k) : ir_index(s->m->g, k);
    return rw_compare(s->m->rw, s->reverse ? OP_LT : OP_GE, digit, at);
}

/* The thread's term number k in the order of the scan. */
static uint32_t term_at(const Scan *s, uint32_t k) { return s->reverse ? s->m->terms - 1 - k : k; }

/* Elements of a vector follow each other. */
static void position_of(const Share *m, uint32_t n, uint32_t *kept, uint32_t *term)
{
    const uint32_t vector = (uint32_t)lay_part(m->l, LAY_VECTOR, false), each = m->terms * vector;
    *kept = n / each * vector + n % vector, *term = n % each / vector;
}

/* Has a thread all terms of its results? */
static bool is_alone(const Scan *s) { return s->lanes == 1 && s->warps == 1; }

/* The terms of the iteration, each combined with those before it in the thread, and, if there are others nowhere else,
 * with what is before the iteration: [kept, terms]. */
static Partial *scan_terms(const Scan *s, const Reduction *r, const Partial *carry)
{
    const Share *m = s->m;
    Partial *all = WBB_NEW_N(m->a, Partial, (size_t)m->kept * m->terms + 1);
    for (uint32_t n = 0, c, k; n < m->kept * m->terms; n++) {
        position_of(m, n, &c, &k);
        const Position at = emit_share_position(m, c, k, s->loop);
        all[c * m->terms + k] = emit_share_term(m, r, &at, emit_share_index(m, &at));
    }
    for (uint32_t c = 0; c < m->kept; c++)
        for (uint32_t k = 0; k < m->terms; k++) {
            Partial *of = all + (size_t)c * m->terms;
            if (k == 0 && is_alone(s)) of[term_at(s, 0)] = in_order(s, r, &carry[c], &of[term_at(s, 0)]);
            if (k > 0) of[term_at(s, k)] = in_order(s, r, &of[term_at(s, k - 1)], &of[term_at(s, k)]);
        }
    return all;
}

/* total: of the thread; becomes that of all lanes up to its own. Returns what is before it, absent in the first. */
static Partial scan_lanes(const Scan *s, const Reduction *r, Partial *total)
{
    const Share *m = s->m;
    const ScOp op = s->reverse ? OP_SHUFFLE_DOWN : OP_SHUFFLE_UP;
    const int64_t weight = lay_weight(m->l, s->dim, LAY_LANE);
    const IrRef lane = emit_share_number_of(m, LAY_LANE, true);
    for (int64_t k = 1; k < s->lanes; k *= 2) {
        Partial other = emit_share_shuffle(m, r, total, op, (uint32_t)(k * weight));
        other.present = emit_share_both(m, other.present, is_after(s, lane, s->lanes, k));
        *total = in_order(s, r, &other, total);
    }
    Partial before = emit_share_shuffle(m, r, total, op, (uint32_t)weight);
    before.present = emit_share_both(m, before.present, is_after(s, lane, s->lanes, 1));
    return before;
}

/* y where the condition holds, else x. */
static Partial select_partial(const Share *m, const Reduction *r, IrRef condition, const Partial *y, const Partial *x)
{
    const IrRef yes = ir_const(m->g, IR_TYPE(SC_PRED, 0), 1);
    Partial p = {.x = WBB_NEW_N(m->a, IrRef, r->n)};
    for (uint32_t k = 0; k < r->n; k++)
        p.x[k] = ir_node(m->g, OP_SELECT, IR_TYPE(r->type[k], 0), 0, condition, y->x[k], x->x[k], 0);
    if (x->present || y->present)
        p.present = ir_node(m->g, OP_SELECT, IR_TYPE(SC_PRED, 0), 0, condition, y->present ? y->present : yes,
                            x->present ? x->present : yes, 0);
    return p;
}

/* The last lane of each warp stores its total. Returns what is before the warp, and of all warps in *total. */
static Partial *scan_warps(const Scan *s, const Reduction *r, Partial *total)
{
    Share *m = s->m;
    const int64_t next = emit_share_slots(m);
    const IrRef slot = emit_share_slot(m), warp = emit_share_number_of(m, LAY_WARP, true);
    const IrRef lane = emit_share_number_of(m, LAY_LANE, true);
    Partial *before = WBB_NEW_N(m->a, Partial, m->kept), *of = WBB_NEW_N(m->a, Partial, m->kept);
    Share one = *m; /* with this scan alone */
    one.r = WBB_NEW(m->a, Reduction), one.n = 1;
    *one.r = *r;
    IrRef last = s->lanes > 1 ? is_after(s, lane, s->lanes, s->lanes - 1) : 0;
    emit_share_put_kept(&one, &total, last, SHARE_WARPS, rw_add(m->rw, slot, rw_scale(m->rw, warp, next)), 1);
    emit_share_barrier(m);
    for (int64_t k = 0; k < s->warps; k++) {
        const int64_t number = s->reverse ? s->warps - 1 - k : k;
        emit_share_get(m, r, SHARE_WARPS, rw_add(m->rw, slot, ir_index(m->g, number * next)), m->kept, of);
        for (uint32_t c = 0; c < m->kept; c++) {
            if (k == 1) before[c] = total[c];
            if (k > 1) before[c] = select_partial(m, r, is_after(s, warp, s->warps, k), &total[c], &before[c]);
            total[c] = k ? in_order(s, r, &total[c], &of[c]) : of[c];
        }
    }
    for (uint32_t c = 0; c < m->kept; c++)
        before[c].present = emit_share_both(m, before[c].present, is_after(s, warp, s->warps, 1));
    return before;
}

/* The total of all lanes, in each of them. */
static Partial last_lane(const Scan *s, const Reduction *r, const Partial *total)
{
    const Share *m = s->m;
    const int64_t weight = lay_weight(m->l, s->dim, LAY_LANE);
    IrRef lane = rw_sub(m->rw, m->lane, rw_scale(m->rw, emit_share_number_of(m, LAY_LANE, true), weight));
    if (!s->reverse) lane = rw_add(m->rw, lane, ir_index(m->g, (s->lanes - 1) * weight));
    return emit_share_shuffle_from(m, r, total, lane);
}

/* The results of a scan at the positions of the iteration, as values of its instruction; and what is then before the
 * next one. */
static void scan_one(const Scan *s, const Reduction *r, Partial *carry)
{
    const Share *m = s->m;
    const uint32_t origin = m->e->g->making_origin;
    m->e->g->making_origin = r->i->id + 1;
    Partial *all = scan_terms(s, r, carry), *lanes = WBB_NEW_N(m->a, Partial, m->kept);
    Partial *total = WBB_NEW_N(m->a, Partial, m->kept), *warps = NULL;
    for (uint32_t c = 0; c < m->kept; c++) {
        total[c] = all[c * m->terms + term_at(s, m->terms - 1)];
        if (s->lanes > 1) lanes[c] = scan_lanes(s, r, &total[c]);
    }
    if (s->warps > 1) warps = scan_warps(s, r, total);
    for (uint32_t n = 0, c, k; n < m->kept * m->terms; n++) {
        position_of(m, n, &c, &k);
        Partial before = carry[c];
        if (warps) before = in_order(s, r, &before, &warps[c]);
        if (s->lanes > 1) before = in_order(s, r, &before, &lanes[c]);
        Partial v = all[c * m->terms + k];
        if (!is_alone(s)) v = in_order(s, r, &before, &v);
        const Partial init = emit_share_initial(m, r);
        if (carry[c].present) v = emit_share_combine(m, r, &init, &v);
        const Position at = emit_share_position(m, c, k, s->loop);
        const IrRef *index = emit_share_index(m, &at);
        for (uint32_t x = 0; x < r->n; x++)
            emit_give(m->e, (PlanValue){r->i, x}, index, emit_as(m->e, v.x[x], plan_shape(r->i, x)->type));
    }
    for (uint32_t c = 0; c < m->kept && m->loop > 1; c++) {
        const bool carried = carry[c].present;
        if (s->lanes > 1 && !warps) total[c] = last_lane(s, r, &total[c]);
        carry[c] = is_alone(s) ? total[c] : in_order(s, r, &carry[c], &total[c]);
        if (carried && !carry[c].present) carry[c].present = ir_const(m->g, IR_TYPE(SC_PRED, 0), 1);
    }
    if (warps && m->loop > 1) emit_share_barrier(m); /* before the memory is written again */
    m->e->g->making_origin = origin;
}

static void iteration(const Scan *s)
{
    const Share *m = s->m;
    for (uint32_t r = 0; r < m->n; r++) scan_one(s, &m->r[r], s->carry[r]);
    for (uint32_t n = 0, c, k; n < m->kept * m->terms; n++) {
        position_of(m, n, &c, &k);
        const Position at = emit_share_position(m, c, k, s->loop);
        const IrRef *index = emit_share_index(m, &at);
        emit_share_outputs(m, 1, &at, &index);
    }
}

/* What is before the first element: the initial value, or, where that must stand left of what comes later, nothing. */
static void start(Scan *s)
{
    const Share *m = s->m;
    s->carry = emit_share_partials(m);
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t c = 0; c < m->kept; c++) {
            s->carry[r][c] = emit_share_initial(m, &m->r[r]);
            const PlanReduce *of = m->r[r].of;
            const bool absent = s->reverse && !of->commutes;
            if (absent) s->carry[r][c].present = ir_const(m->g, IR_TYPE(SC_PRED, 0), 0);
        }
}

static void find_scan(Scan *s)
{
    Share *m = s->m;
    emit_share_find_reductions(m);
    m->masked = emit_share_is_masked(m);
    s->reverse = m->r[0].of->scan.reverse;
    s->lanes = lay_part(m->l, LAY_LANE, true), s->warps = lay_part(m->l, LAY_WARP, true);
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        if (m->l->dims[d].reduced) s->dim = d;
    for (uint32_t k = 0; k < m->n; k++) {
        Reduction *r = &m->r[k];
        const uint32_t dim = r->of->scan.dim;
        const bool padded = r->of->scan.shift || r->i->operands[0]->shape->dims[dim] < m->terms_shape->dims[dim];
        r->absent = r->stretch_absent = !r->identity && (m->masked || padded);
    }
    m->blocks = 1;
    emit_share_add_buffers(m);
}

void emit_share_scan(Share *m)
{
    Scan s = {.m = m};
    find_scan(&s);
    start(&s);
    s.loop = ir_index(m->g, 0);
    if (m->loop == 1) {
        iteration(&s);
        return;
    }
    uint32_t *n_of = WBB_NEW_N(m->a, uint32_t, m->n + 1u);
    for (uint32_t r = 0; r < m->n; r++) n_of[r] = m->kept;
    const uint32_t n_acc = emit_share_pack(m, s.carry, n_of, NULL);
    IrRef *acc = WBB_NEW_N(m->a, IrRef, n_acc + 1u), var;
    emit_share_pack(m, s.carry, n_of, acc);
    EmitLoop l = emit_for(m->e, "k", m->loop, n_acc, acc, &var);
    emit_share_unpack(m, s.carry, n_of, acc);
    s.loop = s.reverse ? rw_sub(m->rw, ir_index(m->g, m->loop - 1), var) : var;
    iteration(&s);
    emit_share_pack(m, s.carry, n_of, acc);
    emit_end_for(m->e, &l, n_acc, acc);
}

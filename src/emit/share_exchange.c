/* share_exchange.c: partial results of lanes, warps and blocks become one: by shuffles, through shared memory, of a
 * cluster through that of its blocks, of the grid through a temporary and a ticket.
 *
 * The neighbour that comes first is always the left operand, so an order of levels that keeps the order of the terms is
 * enough for a computation that does not commute. Shuffles and barriers stand under no condition, but that of the last
 * block, which is the same in all its threads.
 *
 *     rows: grid 8192; columns: vector 4, lane 32, warp 2, register 4    =>   5 shuffles, %shared[2 warps], barrier
 */
#include "emit/share.h"

/* --- numbers of threads ------------------------------------------------------------------------------------------- */
IrRef emit_share_number_of(const Share *m, LayLevel level, bool reduced)
{
    const IrRef n = level == LAY_LANE ? m->lane : level == LAY_WARP ? m->warp : m->bid;
    IrRef sum = ir_index(m->g, 0);
    int64_t below = 1;
    for (uint32_t k = 0; k < m->l->n_dims; k++) {
        const uint32_t d = lay_nth(m->l, k);
        const int64_t size = lay_size(&m->l->dims[d], level);
        if (m->l->dims[d].reduced != reduced || size == 1) continue;
        const IrRef digit = rw_mod(m->rw, rw_floordiv(m->rw, n, lay_weight(m->l, d, level)), size);
        sum = rw_add(m->rw, sum, rw_scale(m->rw, digit, below));
        below *= size;
    }
    return sum;
}

/* Is it, of the threads that share a result, the first one? 0: there is one alone. */
static IrRef is_first(const Share *m, LayLevel level)
{
    if (lay_part(m->l, level, true) == 1) return 0;
    return rw_compare(m->rw, OP_EQ, emit_share_number_of(m, level, true), ir_index(m->g, 0));
}

IrRef emit_share_owner(const Share *m)
{
    if (m->parted) return 0;
    const IrRef of_block = emit_share_both(m, is_first(m, LAY_LANE), m->first_warp ? 0 : is_first(m, LAY_WARP));
    return emit_share_both(m, of_block, m->first_block ? 0 : is_first(m, LAY_CLUSTER));
}

static void open(Share *m, IrRef condition) { m->open[m->n_open++] = emit_if(m->e, condition); }

void emit_share_close(Share *m)
{
    emit_close_if(m->e, &m->open[--m->n_open]);
    m->first_warp = false;
}

/* Where the first kept element of the thread is in a tile of [kept warps, kept lanes, kept], one of each block. */
IrRef emit_share_slot(const Share *m)
{
    const int64_t lanes = lay_part(m->l, LAY_LANE, false);
    const IrRef warp = rw_scale(m->rw, emit_share_number_of(m, LAY_WARP, false), lanes);
    return rw_scale(m->rw, rw_add(m->rw, warp, emit_share_number_of(m, LAY_LANE, false)), m->kept);
}

int64_t emit_share_slots(const Share *m)
{
    return m->kept * lay_part(m->l, LAY_WARP, false) * lay_part(m->l, LAY_LANE, false);
}

/* How warps hand on what they have. */
static LayHanding handing(const Share *m)
{
    const PlanStage *stages = m->range->stages;
    LayHanded x = {.kept = m->kept, .kept_lanes = lay_part(m->l, LAY_LANE, false),
                   .kept_warps = lay_part(m->l, LAY_WARP, false),
                   .lanes = lay_part(m->l, LAY_LANE, true), .warps = lay_part(m->l, LAY_WARP, true),
                   .alone = !m->everyone && m->s == stages && m->blocks == 1,
                   .first = !m->everyone && m->s->kind == PLAN_REDUCE && !m->rows};
    x.alone = x.alone && lay_part(m->l, LAY_CLUSTER, true) == 1;
    for (uint32_t k = 0; k < m->range->n_stages; k++) /* neighbours share a byte: a thread stores them all */
        x.alone = x.alone && stages[k].packed_group <= 1;
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t k = 0; k < m->r[r].n; k++) x.bytes += WBB_MAX(sc_type_info[m->r[r].type[k]].bits, 8) / 8;
    return lay_handing(&x, &m->e->plan->reads);
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */
static IrRef bound(const Share *m, IrRef value)
{
    emit_bound(m->e, value);
    return value;
}

/* Which thread's value a shuffle gives: its operation and second operand. */
typedef struct {
    ScOp op;
    IrRef by;
} Shuffle;

/* 32 bits of another thread. */
static IrRef shuffle(const Share *m, IrRef word, const Shuffle *s)
{
    const IrType u32 = IR_TYPE(SC_U32, 0);
    const IrRef op = ir_node(m->g, s->op, u32, 0, word, s->by, 0, 0);
    return bound(m, ir_do(m->g, emit_block(m->e), emit_name(m->e, "s"), op, u32));
}

static IrRef shuffle_part(const Share *m, IrRef x, ScType t, const Shuffle *s)
{
    if (t == SC_PRED) {
        const IrRef word = shuffle(m, emit_share_node(m, OP_CVT, SC_U32, x, 0), s);
        return emit_share_node(m, OP_NE, SC_PRED, word, emit_share_number(m, 0));
    }
    const uint32_t bits = sc_type_info[t].bits;
    const ScType as = gr_unsigned(bits);
    const IrRef whole = t == as ? x : emit_share_node(m, OP_BITS, as, x, 0);
    IrRef back;
    if (bits == 64) {
        const IrRef half = ir_const(m->g, IR_TYPE(as, 0), 32);
        const IrRef high = emit_share_node(m, OP_SHRL, as, whole, half);
        const IrRef low_back = shuffle(m, emit_share_node(m, OP_CVT, SC_U32, whole, 0), s);
        const IrRef high_back = shuffle(m, emit_share_node(m, OP_CVT, SC_U32, high, 0), s);
        const IrRef top = emit_share_node(m, OP_SHL, as, emit_share_node(m, OP_CVT, as, high_back, 0), half);
        back = emit_share_node(m, OP_BOR, as, top, emit_share_node(m, OP_CVT, as, low_back, 0));
    } else {
        const IrRef word = shuffle(m, bits == 32 ? whole : emit_share_node(m, OP_CVT, SC_U32, whole, 0), s);
        back = bits == 32 ? word : emit_share_node(m, OP_CVT, as, word, 0);
    }
    return t == as ? back : emit_share_node(m, OP_BITS, t, back, 0);
}

static Partial shuffled(const Share *m, const Reduction *r, const Partial *p, const Shuffle *s)
{
    Partial other = {.x = WBB_NEW_N(m->a, IrRef, r->n)};
    for (uint32_t k = 0; k < r->n; k++) {
        IrRef parts[2];
        const uint32_t n = emit_split(m->e, p->x[k], r->type[k], parts);
        for (uint32_t j = 0; j < n; j++) parts[j] = shuffle_part(m, parts[j], emit_part_type(r->type[k]), s);
        other.x[k] = emit_join(m->e, parts, r->type[k]);
    }
    if (p->present) other.present = shuffle_part(m, p->present, SC_PRED, s);
    return other;
}

/* The lane that has the thread's kept digits, and 0 for the reduced ones. */
static IrRef first_lane(const Share *m)
{
    IrRef sum = ir_index(m->g, 0);
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const int64_t size = lay_size(&m->l->dims[d], LAY_LANE), weight = lay_weight(m->l, d, LAY_LANE);
        if (m->l->dims[d].reduced || size == 1) continue;
        sum = rw_add(m->rw, sum, rw_scale(m->rw, rw_mod(m->rw, rw_floordiv(m->rw, m->lane, weight), size), weight));
    }
    return ir_node(m->g, OP_IDX, IR_TYPE(SC_U32, 0), 0, sum, 0, 0, 0);
}

/* One instruction for all lanes, of integers of 32 bits and preds. */
static IrRef redux(const Share *m, ScOp op, ScType t, IrRef x)
{
    const bool is_signed = t == SC_I32 && (op == OP_REDUX_MIN || op == OP_REDUX_MAX);
    const ScType as = is_signed ? SC_I32 : SC_U32;
    if (t == SC_PRED) x = emit_share_node(m, OP_CVT, as, x, 0);
    else if (t != as) x = emit_share_node(m, OP_BITS, as, x, 0);
    const IrRef all = bound(m, ir_do(m->g, emit_block(m->e), emit_name(m->e, "s"),
                                     ir_node(m->g, op, IR_TYPE(as, 0), 0, x, 0, 0, 0), IR_TYPE(as, 0)));
    if (t == SC_PRED) return emit_share_node(m, OP_NE, SC_PRED, all, emit_share_number(m, 0));
    return t == as ? all : emit_share_node(m, OP_BITS, t, all, 0);
}

Partial emit_share_shuffle(const Share *m, const Reduction *r, const Partial *p, ScOp op, uint32_t by)
{
    const Shuffle s = {op, emit_share_number(m, by)};
    return shuffled(m, r, p, &s);
}

Partial emit_share_shuffle_from(const Share *m, const Reduction *r, const Partial *p, IrRef lane)
{
    const Shuffle s = {OP_SHUFFLE_IDX, ir_node(m->g, OP_IDX, IR_TYPE(SC_U32, 0), 0, lane, 0, 0, 0)};
    return shuffled(m, r, p, &s);
}

/* 16 terms in 32 lanes: what the others have never comes to lane 0, which alone has the result. */
int64_t emit_share_lanes(const Share *m, uint32_t dim)
{
    const LayDim *d = &m->l->dims[dim];
    const int64_t lanes = lay_size(d, LAY_LANE);
    bool all = m->everyone || m->stretches || m->rows || m->s->kind != PLAN_REDUCE || handing(m).of_lanes;
    for (uint32_t r = 0; r < m->n; r++) all = all || m->r[r].of->redux != OP_NONE;
    const int64_t each = d->reduced ? lay_of_outer_lane(d) : 0;
    return all || !each ? lanes : WBB_MIN((d->size + each - 1) / each, lanes);
}

/* Leaves the result of the warp in the threads whose reduced digits are 0, or in all if everyone needs it. */
static void combine_lanes(const Share *m, const Reduction *r, Partial *p)
{
    const bool both_ways = m->everyone && r->of->commutes;
    const ScOp op = both_ways ? OP_SHUFFLE_XOR : OP_SHUFFLE_DOWN;
    if (r->of->redux != OP_NONE && lay_part(m->l, LAY_LANE, true) == 32 && !p[0].present) {
        for (uint32_t c = 0; c < m->kept; c++) p[c].x[0] = redux(m, r->of->redux, r->type[0], p[c].x[0]);
        return;
    }
    for (uint32_t j = 0; j < m->l->n_dims; j++) {
        const uint32_t d = lay_nth(m->l, j);
        if (!m->l->dims[d].reduced) continue;
        const int64_t weight = lay_weight(m->l, d, LAY_LANE);
        const int64_t lanes = emit_share_lanes(m, d);
        for (int64_t k = 1; k < lanes; k *= 2) {
            const Shuffle s = {op, emit_share_number(m, (uint32_t)(k * weight))};
            for (uint32_t c = 0; c < m->kept; c++) {
                const Partial other = shuffled(m, r, &p[c], &s);
                p[c] = emit_share_combine(m, r, &p[c], &other);
            }
        }
    }
    if (!m->everyone || both_ways || lay_part(m->l, LAY_LANE, true) == 1) return;
    const Shuffle first = {OP_SHUFFLE_IDX, first_lane(m)};
    for (uint32_t c = 0; c < m->kept; c++) p[c] = shuffled(m, r, &p[c], &first);
}

void emit_share_combine_lanes(const Share *m, Partials p)
{
    if (handing(m).of_lanes) return;
    for (uint32_t r = 0; r < m->n; r++) combine_lanes(m, &m->r[r], p[r]);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */
enum { OWN = -1 }; /* the memory of the thread's own block */

/* n neighbours, in accesses as wide as they divide into: index is a multiple of n. rank: of the block of the cluster
 * whose memory it is, or OWN. */
static void read_row(const Share *m, int rank, uint32_t buffer, ScType t, IrRef index, int64_t n, IrRef *values)
{
    const uint32_t bits = sc_type_info[t].bits;
    uint32_t log2 = 0;
    while (t != SC_PRED && bits >= 16 && n % (2 << log2) == 0 && (bits << log2) < 128) log2++;
    for (int64_t k = 0; k < n; k += 1 << log2) {
        const IrRef at = rw_add(m->rw, index, ir_index(m->g, k));
        const IrType type = IR_TYPE(t, log2);
        const IrRef op = rank == OWN ? ir_node(m->g, OP_READ, type, 0, 0, 0, 0, 0)
                                     : ir_node(m->g, OP_READ_PEER, type, 0, 0, 0, 0, (uint64_t)rank);
        const IrRef all = bound(m, ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "r"), op, type, buffer, at));
        for (uint32_t j = 0; j < 1u << log2; j++)
            values[k + j] = log2 ? ir_node(m->g, OP_PART, IR_TYPE(t, 0), 0, all, 0, 0, j) : all;
    }
}

void emit_share_barrier(const Share *m) { emit_barrier(m->e); }

/* May a partial result there lack every term? Warps have those of threads, or of their stretches of the blocks'
 * results. */
static bool is_absent(const Share *m, const Reduction *r, SharePlace place)
{
    return place == SHARE_WARPS && m->stretches ? r->stretch_absent : r->absent;
}

void emit_share_put(const Share *m, const Reduction *r, SharePlace place, IrRef index, const Partial *p)
{
    uint32_t first = r->buffer[place];
    for (uint32_t k = 0; k < r->n; k++) {
        IrRef parts[2];
        const uint32_t n = emit_split(m->e, p->x[k], r->type[k], parts);
        for (uint32_t j = 0; j < n; j++) emit_store(m->e, first++, index, parts[j]);
    }
    if (is_absent(m, r, place))
        emit_store(m->e, first, index, p->present ? p->present : ir_const(m->g, IR_TYPE(SC_PRED, 0), 1));
}

static void get_of(const Share *m, const Reduction *r, SharePlace place, int rank, IrRef index, int64_t n, Partial *p)
{
    uint32_t first = r->buffer[place];
    IrRef *parts[2] = {WBB_NEW_N(m->a, IrRef, n), WBB_NEW_N(m->a, IrRef, n)};
    for (int64_t k = 0; k < n; k++) p[k] = (Partial){.x = WBB_NEW_N(m->a, IrRef, r->n)};
    for (uint32_t x = 0; x < r->n; x++) {
        for (uint32_t j = 0; j < emit_parts_of(r->type[x]); j++)
            read_row(m, rank, first++, emit_part_type(r->type[x]), index, n, parts[j]);
        for (int64_t k = 0; k < n; k++) p[k].x[x] = emit_join(m->e, (IrRef[]){parts[0][k], parts[1][k]}, r->type[x]);
    }
    if (!is_absent(m, r, place)) return;
    read_row(m, rank, first, SC_PRED, index, n, parts[0]);
    for (int64_t k = 0; k < n; k++) p[k].present = parts[0][k];
}

void emit_share_get(const Share *m, const Reduction *r, SharePlace place, IrRef index, int64_t n, Partial *p)
{
    get_of(m, r, place, OWN, index, n, p);
}

/* A buffer for each part of each array, and one for preds. */
static uint32_t add_parts(const Share *m, const Reduction *r, const char *stem, IrSpace space, int64_t n, bool absent)
{
    const uint32_t first = m->e->k->n_buffers;
    for (uint32_t k = 0; k < r->n; k++)
        for (uint32_t j = 0; j < emit_parts_of(r->type[k]); j++)
            emit_add_buffer(m->e, stem, space, emit_part_type(r->type[k]), n, false);
    if (absent) emit_add_buffer(m->e, stem, space, SC_PRED, n, false);
    return first;
}

void emit_share_add_buffers(Share *m)
{
    const int64_t warps = lay_part(m->l, LAY_WARP, true), tiles = lay_part(m->l, LAY_GRID, false);
    const LayHanding h = handing(m);
    const int64_t elements = emit_share_slots(m) * h.rows * h.readers + h.pad * (h.readers - 1);
    for (uint32_t k = 0; m->blocks > 1 && k < m->n; k++)
        m->r[k].buffer[SHARE_BLOCKS] =
            add_parts(m, &m->r[k], "part", IR_TEMP, m->blocks * tiles * emit_share_slots(m), m->r[k].absent);
    if (m->blocks > 1) m->tickets = emit_add_tickets(m->e, tiles), m->tickets.last = emit_add_last(m->e);
    for (uint32_t k = 0; warps > 1 && k < m->n; k++)
        m->r[k].buffer[SHARE_WARPS] =
            add_parts(m, &m->r[k], "shared", IR_SHARED, elements, m->r[k].stretch_absent);
    for (uint32_t k = 0; lay_part(m->l, LAY_CLUSTER, true) > 1 && k < m->n; k++)
        m->r[k].buffer[SHARE_PEERS] = add_parts(m, &m->r[k], "peer", IR_SHARED, emit_share_slots(m), m->r[k].absent);
}

/* The rank of block number `number` of those of a cluster. */
static int rank_of(const Share *m, int64_t number)
{
    int64_t rank = 0;
    for (uint32_t k = 0; k < m->l->n_dims; k++) {
        const uint32_t d = lay_nth(m->l, k);
        const int64_t size = lay_size(&m->l->dims[d], LAY_CLUSTER);
        rank += number % size * lay_weight(m->l, d, LAY_CLUSTER);
        number /= size;
    }
    return (int)rank;
}

void emit_share_put_kept(const Share *m, Partials p, IrRef condition, SharePlace place, IrRef index, int64_t apart)
{
    Partials mine = emit_share_partials(m);
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t c = 0; c < m->kept; c++) mine[r][c] = p[r][c];
    EmitIf inside = emit_share_if_using(m, condition, m->kept, mine);
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t c = 0; c < m->kept; c++)
            emit_share_put(m, &m->r[r], place, rw_add(m->rw, index, ir_index(m->g, c * apart)), &mine[r][c]);
    emit_close_if(m->e, &inside);
}

/* What n warps, or blocks of a cluster, have put, combined: in tiles, the row of each `next` after the one before or in
 * its own memory; or a row of what all have of each kept element. */
static void fold_put(const Share *m, Partials p, SharePlace place, IrRef index, int64_t n, bool tiles, int64_t next)
{
    Partial *all = WBB_NEW_N(m->a, Partial, (size_t)n * m->kept), *of = WBB_NEW_N(m->a, Partial, (size_t)n);
    const int64_t row = tiles ? m->kept : n, rows = tiles ? n : m->kept;
    for (uint32_t r = 0; r < m->n; r++) {
        for (int64_t k = 0; k < rows; k++)
            get_of(m, &m->r[r], place, place == SHARE_PEERS ? rank_of(m, k) : OWN,
                rw_add(m->rw, index, ir_index(m->g, k * next)), row, all + k * row);
        for (uint32_t c = 0; c < m->kept; c++) {
            for (int64_t k = 0; k < n; k++) of[k] = tiles ? all[k * row + c] : all[c * row + k];
            emit_share_fold(m, &m->r[r], of, (uint32_t)n);
            p[r][c] = of[0];
        }
    }
}

/* The threads from the first on have the kept elements in the order of slots, so many neighbours each one; returns that
 * of the thread, and which of them it is. */
static IrRef part_kept(Share *m, int64_t readers, IrRef *reader)
{
    const int64_t lanes = lay_part(m->l, LAY_LANE, false);
    IrRef below;
    const IrRef number = emit_clamp(m->e, "s", m->tid, emit_share_slots(m) * readers, &below);
    const IrRef slot = rw_floordiv(m->rw, number, readers);
    *reader = rw_mod(m->rw, number, readers);
    open(m, below);
    IrRef own = rw_mod(m->rw, slot, m->kept), thread = ir_index(m->g, 0);
    IrRef of[LAY_LEVELS] = {0};
    const IrRef rest = rw_floordiv(m->rw, slot, m->kept);
    of[LAY_LANE] = rw_mod(m->rw, rest, lanes), of[LAY_WARP] = rw_floordiv(m->rw, rest, lanes);
    m->parted = WBB_NEW_N(m->a, IrRef, m->n_iterations + 1u);
    for (uint32_t k = m->n_iterations; k-- > 0;) {
        const Iteration *x = &m->iterations[k];
        if (m->l->dims[x->dim].reduced) continue;
        m->parted[k] = rw_mod(m->rw, own, x->size), own = rw_floordiv(m->rw, own, x->size);
    }
    for (uint32_t k = 0; k < m->l->n_dims; k++) {
        const uint32_t d = lay_nth(m->l, k);
        if (m->l->dims[d].reduced) continue;
        for (LayLevel level = LAY_LANE; level <= LAY_WARP; level++) {
            const int64_t size = lay_size(&m->l->dims[d], level), weight = lay_weight(m->l, d, level);
            const int64_t threads = level == LAY_WARP ? lay_level_size(m->l, LAY_LANE) : 1;
            thread = rw_add(m->rw, thread, rw_scale(m->rw, rw_mod(m->rw, of[level], size), weight * threads));
            of[level] = rw_floordiv(m->rw, of[level], size);
        }
    }
    emit_share_find_thread(m, thread);
    m->kept = 1;
    return slot;
}

/* Neighbours have parts of one kept element, which the first of them needs. */
static void combine_readers(const Share *m, Partials p, int64_t readers)
{
    for (int64_t k = 1; k < readers; k *= 2)
        for (uint32_t r = 0; r < m->n; r++) {
            const Partial other = emit_share_shuffle(m, &m->r[r], &p[r][0], OP_SHUFFLE_DOWN, (uint32_t)k);
            p[r][0] = emit_share_combine(m, &m->r[r], &p[r][0], &other);
        }
}

/* Through shared memory: the first thread of each warp that shares a result stores it; threads of the first warp, or
 * all, read those of all warps that share their own. */
void emit_share_combine_warps(Share *m, Partials p)
{
    const LayHanding h = handing(m);
    const int64_t warps = lay_part(m->l, LAY_WARP, true);
    /* tiles of the warps, so that lanes access neighbours; or of each kept element what the warps have of it */
    const bool tiles = lay_part(m->l, LAY_LANE, false) > 1;
    if (warps == 1) return;
    IrRef row = emit_share_number_of(m, LAY_WARP, true);
    if (h.of_lanes)
        row = rw_add(m->rw, rw_scale(m->rw, row, lay_part(m->l, LAY_LANE, true)),
                     emit_share_number_of(m, LAY_LANE, true));
    const int64_t apart = tiles ? 1 : warps, next = tiles ? emit_share_slots(m) : 1; /* of kept elements; of rows */
    IrRef slot = rw_scale(m->rw, emit_share_slot(m), apart), reader = 0;
    IrRef own = rw_add(m->rw, slot, rw_scale(m->rw, row, next));
    if (h.pad) own = rw_add(m->rw, own, rw_scale(m->rw, rw_floordiv(m->rw, row, h.rows), h.pad));
    emit_share_put_kept(m, p, h.of_lanes ? 0 : is_first(m, LAY_LANE), SHARE_WARPS, own, apart);
    emit_share_barrier(m);
    if (h.parted) {
        slot = rw_scale(m->rw, part_kept(m, h.readers, &reader), apart);
        slot = rw_add(m->rw, slot, rw_scale(m->rw, reader, h.rows * next + h.pad));
    } else if (!m->everyone) {
        open(m, is_first(m, LAY_WARP));
        m->first_warp = true;
        if (h.readers > 1) /* further lanes read the same again */
            slot = rw_add(m->rw, slot, rw_scale(m->rw, rw_mod(m->rw, m->lane, h.readers), h.rows));
    }
    fold_put(m, p, SHARE_WARPS, slot, h.rows, tiles, tiles ? next : apart);
    combine_readers(m, p, h.readers);
    if (reader && h.readers > 1) open(m, rw_compare(m->rw, OP_EQ, reader, ir_index(m->g, 0)));
}

/* --- clusters ----------------------------------------------------------------------------------------------------- */
static void cluster_barrier(const Share *m)
{
    ir_do(m->g, emit_block(m->e), NULL, ir_node(m->g, OP_CLUSTER_BARRIER, 0, 0, 0, 0, 0, 0), 0);
}

/* Through the shared memory of the blocks: each stores its parts there, and those of all are read. */
void emit_share_combine_clusters(Share *m, Partials p)
{
    const int64_t blocks = lay_part(m->l, LAY_CLUSTER, true);
    const bool warps = lay_part(m->l, LAY_WARP, true) > 1;
    if (blocks == 1) return;
    const IrRef slot = emit_share_slot(m), first_warp = m->first_warp ? 0 : is_first(m, LAY_WARP);
    emit_share_put_kept(m, p, emit_share_both(m, is_first(m, LAY_LANE), first_warp), SHARE_PEERS, slot, 1);
    if (m->first_warp) emit_share_close(m);
    cluster_barrier(m);
    m->clusters = true;
    if (!m->everyone) {
        open(m, is_first(m, LAY_CLUSTER));
        m->first_block = true;
        if (warps) open(m, is_first(m, LAY_WARP));
        m->first_warp = warps;
    }
    fold_put(m, p, SHARE_PEERS, slot, blocks, true, 0);
}

void emit_share_end_clusters(const Share *m)
{
    if (m->clusters) cluster_barrier(m);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
/* Where the part of a block is of the thread's first kept element: [blocks, tiles, kept warps, kept lanes, kept]. */
static IrRef part_of(const Share *m, IrRef block)
{
    const IrRef tile = rw_add(m->rw, rw_scale(m->rw, block, lay_part(m->l, LAY_GRID, false)),
                              emit_share_number_of(m, LAY_GRID, false));
    return rw_add(m->rw, rw_scale(m->rw, tile, emit_share_slots(m)), emit_share_slot(m));
}

/* Partial result number `loop` of the thread's stretch, of each kept element. A thread after the last block reads that
 * of the last one, and has none. */
static void partial_results(const Share *m, IrRef loop, Partials p)
{
    const IrRef lane = emit_share_number_of(m, LAY_LANE, true), warp = emit_share_number_of(m, LAY_WARP, true);
    const IrRef thread = rw_add(m->rw, lane, rw_scale(m->rw, warp, lay_part(m->l, LAY_LANE, true)));
    IrRef drawn;
    const IrRef block =
        emit_clamp(m->e, "q", rw_add(m->rw, rw_scale(m->rw, thread, m->chunk), loop), m->blocks, &drawn);
    for (uint32_t r = 0; r < m->n; r++) {
        get_of(m, &m->r[r], SHARE_BLOCKS, OWN, part_of(m, block), m->kept, p[r]);
        for (uint32_t c = 0; c < m->kept; c++) emit_share_mask(m, &m->r[r], drawn, &p[r][c]);
    }
}

void emit_share_combine_blocks(Share *m, Partials p)
{
    const IrRef tile = emit_share_number_of(m, LAY_GRID, false);
    uint32_t *n_of = WBB_NEW_N(m->a, uint32_t, m->n + 1u);
    for (uint32_t r = 0; r < m->n; r++) n_of[r] = m->kept;
    const IrRef own = part_of(m, emit_share_number_of(m, LAY_GRID, true));
    emit_share_put_kept(m, p, emit_share_owner(m), SHARE_BLOCKS, own, 1);
    if (m->first_warp) emit_share_close(m);
    open(m, emit_is_last(m->e, &m->tickets, m->tid, tile, m->blocks));
    m->stretches = true;
    emit_share_iterate(m, partial_results, m->chunk, false, n_of, p);
    emit_share_combine_lanes(m, p);
    emit_share_combine_warps(m, p);
}

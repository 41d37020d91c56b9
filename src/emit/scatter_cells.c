/* scatter_cells.c: updates of a scatter that a block combines in cells of shared memory, before these are combined with
 * the elements of the result.
 *
 * Needs a range of one stage with cells; leaves its statements. Threads set all cells to the identity of the operation,
 * which rules prove. In each iteration a thread computes some updates and where they go, then combines each with its
 * cell: with a load and a store, where no other thread has the cell, else by an atomic operation. Then the cells of an
 * element are combined, by some lanes side by side, and what has changed goes to memory as an update does.
 *
 *     f32[64] x[k] += u, a cell for each of 128 threads and element:
 *         store %cells[128*c + tid], -0     barrier
 *         for j in 0..62 {  if k[..] < 64 { x = do read(%cells[128*k + tid])  store %cells[128*k + tid], x + u[..] }  }
 *         barrier           s = %cells[128*e + 2*i + q], combined over i and q     do atomic_add.f32(%out[e], s)
 */
#include "emit/scatter.h"

#include <assert.h>

enum { LANES = 4 /* cells that a thread sets side by side */, MOST_READERS = 32 };

typedef struct {
    Scatter s;
    const PlanCells *c;
    const PlanRange *r;
    const Layout *l;
    ScOp op;          /* on cells */
    IrRef identity, bid, tid;
    uint32_t buffer;
    int64_t threads, vector;
} Cells;

static int64_t parts(int64_t n, int64_t of) { return (n + of - 1) / of; }

static IrRef read_cell(const Cells *m, IrRef at)
{
    const IrRef read = ir_node(m->s.g, OP_READ, IR_TYPE(m->c->type, 0), 0, 0, 0, 0, 0);
    return emit_scatter_effect(&m->s, "c", m->buffer, at, read);
}

static IrRef combined(const Cells *m, IrRef x, IrRef y) { return node(&m->s, m->op, m->c->type, x, y); }

/* --- before and after --------------------------------------------------------------------------------------------- */
static void set_cells(const Cells *m)
{
    EmitValues *e = m->s.e;
    const int64_t all = m->c->rows * m->c->columns, lanes = all % LANES ? 1 : LANES, each = all / lanes;
    const uint32_t outer = e->scope;
    IrRef k, below;
    const EmitLoop l = emit_for(e, "k", parts(each, m->threads), 0, NULL, &k);
    IrRef at = emit_clamp(e, "c", rw_add(e->rw, rw_scale(e->rw, k, m->threads), m->tid), each, &below);
    EmitIf c = emit_if(e, below);
    if (lanes > 1) at = rw_add(e->rw, rw_scale(e->rw, at, LANES), emit_lanes(e, LANES));
    emit_store(e, m->buffer, at, m->identity);
    emit_scatter_close(&m->s, &c);
    emit_end_for(e, &l, 0, NULL);
    emit_switch(e, outer);
}

/* Readers of the cells of an element, a power of two, that are neighbouring lanes. */
static int64_t readers_of(const Cells *m, int64_t places, int64_t copies)
{
    int64_t n = 1;
    if (m->c->width > 1 || sc_type_info[m->c->type].bits != 32) return 1;
    while (2 * n <= MOST_READERS && copies % (2 * n) == 0 && 2 * n * places <= m->threads) n *= 2;
    return n;
}

/* Reader q of the cells in this row and column. Lanes begin at different cells, so that they use all banks. */
static IrRef read_copies(const Cells *m, IrRef row, IrRef column, IrRef q, int64_t readers, int64_t copies)
{
    EmitValues *e = m->s.e;
    const int64_t width = WBB_MIN(m->c->width, m->c->columns), each = copies / readers;
    const int64_t unroll = each % m->c->unroll ? 1 : m->c->unroll;
    IrRef x = m->identity, k;
    const EmitLoop l = emit_for(e, "k", each / unroll, 1, &x, &k);
    IrRef *cell = WBB_NEW_N(e->arena, IrRef, (size_t)unroll);
    for (int64_t j = 0; j < unroll; j++) {
        const IrRef nth = rw_add(e->rw, rw_add(e->rw, rw_scale(e->rw, k, unroll), ir_index(e->g, j)), row);
        const IrRef copy = rw_add(e->rw, rw_scale(e->rw, rw_mod(e->rw, nth, each), readers), q);
        const IrRef at = rw_add(e->rw, rw_scale(e->rw, row, m->c->columns), rw_scale(e->rw, copy, width));
        cell[j] = read_cell(m, rw_add(e->rw, at, column));
    }
    for (int64_t n = unroll; n > 1; n /= 2)
        for (int64_t j = 0; j < n / 2; j++) cell[j] = combined(m, cell[2 * j], cell[2 * j + 1]);
    x = combined(m, x, cell[0]);
    emit_end_for(e, &l, 1, &x);
    return x;
}

static IrRef combine_readers(const Cells *m, IrRef x, int64_t readers)
{
    const Scatter *s = &m->s;
    for (uint32_t k = 1; k < readers; k *= 2) {
        const IrRef other = node(s, OP_SHUFFLE_XOR, SC_U32, as_bits(s, x, SC_U32), number(s, SC_U32, k));
        const IrRef value = ir_do(s->g, emit_block(s->e), emit_name(s->e, "s"), other, IR_TYPE(SC_U32, 0));
        emit_bound(s->e, value);
        x = combined(m, x, as_bits(s, value, m->c->type));
    }
    return x;
}

/* What came to an element of the result, with the element. */
static void flush(Cells *m, IrRef at, IrRef x)
{
    Scatter *s = &m->s;
    const HloShape *to = plan_shape(s->i, s->s->first);
    const ScType bits = gr_unsigned(sc_type_info[m->c->type].bits);
    const IrRef changed = compare(s, OP_NE, as_bits(s, x, bits), number(s, bits, ir_at(s->g, m->identity)->imm));
    EmitIf c = emit_if(s->e, changed);
    IrRef *index = WBB_NEW_N(s->e->arena, IrRef, to->rank + 1u), value = emit_as(s->e, x, type_of(s, 0));
    ix_delinear(s->rw, to, at, index);
    s->index = index, s->at = at, s->x = &value;
    emit_scatter_combine(s);
    emit_scatter_close(s, &c);
}

static void flush_cells(Cells *m)
{
    EmitValues *e = m->s.e;
    const int64_t width = m->c->width, of_block = WBB_MIN(width, m->c->columns), places = m->c->rows * of_block;
    const int64_t copies = m->c->columns / of_block, readers = readers_of(m, places, copies);
    const int64_t step = m->threads / readers;
    IrRef k, below;
    const EmitLoop l = emit_for(e, "k", parts(places, step), 0, NULL, &k);
    const IrRef q = rw_mod(e->rw, m->tid, readers);
    const IrRef number_of = rw_add(e->rw, rw_scale(e->rw, k, step), rw_floordiv(e->rw, m->tid, readers));
    const IrRef place = emit_clamp(e, "p", number_of, places, &below);
    const IrRef row = rw_floordiv(e->rw, place, of_block), column = rw_mod(e->rw, place, of_block);
    const IrRef x = combine_readers(m, read_copies(m, row, column, q, readers, copies), readers);
    IrRef has = below;
    if (readers > 1) {
        const IrRef first = rw_compare(e->rw, OP_LT, q, ir_index(e->g, 1));
        has = has ? node(&m->s, OP_BAND, SC_PRED, has, first) : first;
    }
    EmitIf c = emit_if(e, has);
    const IrRef slab = rw_scale(e->rw, rw_mod(e->rw, m->bid, width / of_block), of_block);
    flush(m, rw_add(e->rw, rw_add(e->rw, rw_scale(e->rw, row, width), slab), column), x);
    emit_scatter_close(&m->s, &c);
    emit_end_for(e, &l, 0, NULL);
}

/* --- updates ------------------------------------------------------------------------------------------------------ */
typedef struct {
    Scatter s;     /* of its first element */
    IrRef number;  /* of the vector */
} Vector;

static const IrRef *index_of(const Cells *m, IrRef element)
{
    IrRef *index = WBB_NEW_N(m->s.e->arena, IrRef, m->r->space->rank + 1u);
    ix_delinear(m->s.rw, m->r->space, element, index);
    return index;
}

/* An update x, and its cell. */
static void combine_one(const Cells *m, IrRef cell, IrRef x)
{
    EmitValues *e = m->s.e;
    x = emit_as(e, x, m->c->type);
    if (m->c->own) emit_store(e, m->buffer, cell, combined(m, read_cell(m, cell), x));
    else ir_do_at(e->g, emit_block(e), NULL, node(&m->s, m->c->atomic, m->c->type, x, 0), 0, m->buffer, cell);
}

/* A vector of updates, of one row. */
static void combine_vector(const Cells *m, Vector *of)
{
    EmitValues *e = m->s.e;
    EmitIf c;
    if (emit_scatter_open(&of->s, &c)) {
        const uint32_t outer = e->scope;
        const IrRef row = rw_floordiv(e->rw, of->s.at, m->c->width);
        const IrRef column = rw_mod(e->rw, rw_scale(e->rw, m->tid, m->vector), m->c->columns);
        const IrRef cell = rw_add(e->rw, rw_scale(e->rw, row, m->c->columns), column);
        const PlanValue updates = {m->s.i->operands[m->s.results + 1 + m->s.s->first], 0};
        const bool lanes = m->c->own && m->vector > 1; /* in shared memory there is no atomic operation on several */
        for (int64_t k = 0; k < (lanes ? 1 : m->vector); k++) {
            const IrRef v = lanes ? emit_lanes(e, (uint32_t)m->vector) : ir_index(e->g, k);
            const IrRef element = rw_add(e->rw, rw_scale(e->rw, of->number, m->vector), v);
            combine_one(m, rw_add(e->rw, cell, v), emit_value(e, updates, index_of(m, element)));
        }
        emit_switch(e, outer);
    }
    emit_scatter_close(&of->s, &c);
}

/* Those of an iteration: all are loaded before the first condition. */
static void iteration(const Cells *m, IrRef t, IrRef loop)
{
    const Scatter *s = &m->s;
    EmitValues *e = s->e;
    const LayDim *d = &m->l->dims[0];
    const int64_t registers = lay_size(d, LAY_REGISTER), vectors = m->r->elements / m->vector;
    Vector *all = WBB_NEW_N(e->arena, Vector, registers);
    for (int64_t k = 0; k < registers; k++) {
        IrRef point[4], element, below;
        uint32_t n = 0;
        point[n++] = t, point[n++] = loop;
        if (lay_factor(d, LAY_REGISTER)) point[n++] = ir_index(e->g, k); /* a layout may name a factor of 1 */
        if (m->vector > 1) point[n++] = ir_index(e->g, 0);
        assert(n == s->s->maps.elements->vars.n);
        ix_map_at(e->rw, e->arena, rw_graph(e->plan->rw), s->s->maps.elements, point, &element, NULL);
        Vector *of = &all[k];
        *of = (Vector){*s, emit_clamp(e, "u", rw_floordiv(e->rw, element, m->vector), vectors, &below)};
        emit_scatter_row(&of->s, index_of(m, rw_scale(e->rw, of->number, m->vector)));
        if (below) of->s.fits = of->s.fits ? node(s, OP_BAND, SC_PRED, of->s.fits, below) : below;
    }
    for (int64_t k = 0; k < registers; k++) combine_vector(m, &all[k]);
}

void emit_scatter_cells(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    const PlanStage *stage = range->stages;
    const HloInstruction *i = stage->update;
    Cells m = {.c = stage->cells, .r = range, .l = &stage->layout, .bid = bid, .tid = tid};
    m.s = (Scatter){.e = e, .rw = e->rw, .g = e->g, .s = stage, .i = i, .results = i->n_operands / 2, .n = 1};
    m.op = hlo_scalar(hlo_scatter_root(i, stage->first)->opcode);
    m.threads = lay_threads(m.l), m.vector = lay_size(&m.l->dims[0], LAY_VECTOR);
    const bool known = emit_find_identity(e, m.op, m.c->type, &m.identity);
    assert(known), (void)known;
    const uint32_t outer = e->scope, origin = e->g->making_origin;
    e->g->making_origin = i->id + 1;
    m.buffer = emit_add_buffer(e, "cells", IR_SHARED, m.c->type, m.c->rows * m.c->columns, false);
    set_cells(&m);
    emit_barrier(e);
    IrRef t, loop;
    ix_map_at(e->rw, e->arena, rw_graph(e->plan->rw), stage->maps.launched, (IrRef[]){bid, tid}, &t, NULL);
    EmitLoop l = emit_for(e, "k", lay_size(&m.l->dims[0], LAY_LOOP), 0, NULL, &loop);
    e->g->making_origin = origin;
    iteration(&m, t, loop);
    e->g->making_origin = i->id + 1;
    emit_end_for(e, &l, 0, NULL);
    emit_barrier(e);
    flush_cells(&m);
    emit_switch(e, outer);
    e->g->making_origin = origin;
}

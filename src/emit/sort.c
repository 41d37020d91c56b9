/* sort.c: a launch of a sort: rows or tiles of rows in the shared memory of a block; or a merge of sorted runs.
 *
 * Needs a stage with a PlanSort; leaves its statements. A block loads the keys of its elements and their positions in
 * the row, puts them in order (sort_network.c), and stores them, or what is computed from them. Elements that the
 * comparator calls equal come in the order that they had, which makes every sort stable and every two elements
 * different. A comparator that contradicts itself (LT where there are nans) still leaves each element once; in rows
 * that are merged (sort_merge.c), a plain comparison of floats has nans last. Where but the head of each row is needed,
 * tiles leave their heads, and later launches sort these.
 *
 *     100 rows of 100     %shared[8 rows of 128 places], 13 blocks: load, 10 rounds of steps in registers, store
 */
#include "emit/sort.h"

/* --- a block's rows ----------------------------------------------------------------------------------------------- */
/* A place of a block in turn of its threads: the row in the block, and the place in the row. */
static EmitLoop open_elements(const Sort *s, IrRef *row, IrRef *place, EmitIf *inside)
{
    const Share *m = &s->m;
    const int64_t n = s->places, all = s->all, each = (all + s->threads - 1) / s->threads;
    IrRef number;
    const EmitLoop l = emit_for(m->e, "k", each, 0, NULL, &number);
    const IrRef q = rw_add(m->rw, rw_scale(m->rw, number, s->threads), m->tid);
    const IrRef below = rw_compare(m->rw, OP_LT, q, ir_index(m->g, all));
    *inside = emit_if(m->e, below);
    const IrRef within = emit_let(m->e, "q", q, 0, all - 1);
    const int64_t rows = s->s->block_rows;
    *row = s->minor ? rw_floordiv(m->rw, within, n) : rw_mod(m->rw, within, rows);
    *place = s->minor ? rw_mod(m->rw, within, n) : rw_floordiv(m->rw, within, rows);
    return l;
}

static void close_elements(const Sort *s, const EmitLoop *l, EmitIf *inside)
{
    emit_close_if(s->m.e, inside);
    emit_end_for(s->m.e, l, 0, NULL);
}

/* Opens an `if` for places of the tile that have an element of the row. */
static EmitIf in_row(const Sort *s, IrRef *at)
{
    const Share *m = &s->m;
    const IrRef below = rw_compare(m->rw, OP_LT, *at, ir_index(m->g, s->s->length));
    const EmitIf c = emit_if(m->e, below);
    *at = emit_let(m->e, "e", *at, 0, s->s->length - 1);
    return c;
}

static IrRef row_of_block(const Sort *s, IrRef row, IrRef *inside)
{
    const Share *m = &s->m;
    const IrRef first = rw_scale(m->rw, rw_floordiv(m->rw, m->bid, s->tiles), s->s->block_rows);
    return emit_clamp(m->e, "r", rw_add(m->rw, first, row), s->s->rows, inside);
}

static IrRef place_in_row(const Sort *s, IrRef place) { return s->start ? rw_add(s->m.rw, s->start, place) : place; }

static void load(const Sort *s)
{
    const Share *m = &s->m;
    IrRef row, place, exists;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    IrRef at = place_in_row(s, place);
    EmitIf there = in_row(s, &at);
    const IrRef *index = emit_sort_index_at(s, row_of_block(s, row, &exists), at);
    const IrRef to = rw_add(m->rw, rw_scale(m->rw, row, s->places), place);
    IrRef *x = emit_sort_values(s);
    for (uint32_t k = 0; k < s->s->n_keys; k++) x[k] = emit_sort_operand_at(s, s->s->keys[k], index);
    if (s->s->word) x[0] = emit_sort_word(s, emit_sort_operand_at(s, s->s->word_operand, index), at);
    else x[s->s->n_keys] = emit_as(m->e, emit_sort_number_of(s, at), s->s->position);
    emit_sort_put(s, SHARE_WARPS, emit_sort_place(s, to), x);
    if (there.s) {
        emit_else(m->e, &there);
        emit_sort_put(s, SHARE_WARPS, emit_sort_place(s, to), emit_sort_absent(s));
    }
    emit_close_if(m->e, &there);
    close_elements(s, &l, &inside);
}

/* Elements of a row for which a block of launch number `pass` leaves a head. */
static int64_t covered(const PlanSort *s, uint32_t pass)
{
    int64_t n = s->tile;
    for (uint32_t k = 0; k < pass && n < s->length; k++) n *= s->group;
    return n;
}

/* The heads that the launch before left, which are one after the other; the last one may have fewer elements. */
static void load_heads(const Sort *s)
{
    const Share *m = &s->m;
    const int64_t head = s->s->head, of = covered(s->s, s->s->pass - 1);
    IrRef row, place;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    const IrRef number = rw_add(m->rw, rw_scale(m->rw, s->block, s->s->group), rw_floordiv(m->rw, place, head));
    const IrRef at = rw_add(m->rw, rw_scale(m->rw, number, of), rw_mod(m->rw, place, head));
    const IrRef below = rw_compare(m->rw, OP_LT, at, ir_index(m->g, s->s->length));
    const IrRef own = rw_compare(m->rw, OP_LT, place, ir_index(m->g, s->s->group * head));
    EmitIf there = emit_if(m->e, emit_share_both(m, emit_unless_true(m->e, own), emit_unless_true(m->e, below)));
    const IrRef from = rw_add(m->rw, rw_scale(m->rw, number, head), rw_mod(m->rw, place, head));
    const IrRef in_row = emit_let(m->e, "h", from, 0, s->s->room - 1);
    IrRef *x = emit_sort_values(s);
    emit_sort_get(s, SHARE_PEERS, rw_add(m->rw, rw_scale(m->rw, s->row, s->s->room), in_row), x);
    emit_sort_put(s, SHARE_WARPS, emit_sort_place(s, place), x);
    if (there.s) {
        emit_else(m->e, &there);
        emit_sort_put(s, SHARE_WARPS, emit_sort_place(s, place), emit_sort_absent(s));
    }
    emit_close_if(m->e, &there);
    close_elements(s, &l, &inside);
}

/* Of the elements of a block the head: to memory, or, by the last launch, the results. */
static void store_heads(const Sort *s)
{
    const Share *m = &s->m;
    IrRef row, place;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    const IrRef own = rw_compare(m->rw, OP_LT, place, ir_index(m->g, s->s->head));
    const IrRef at = rw_add(m->rw, rw_scale(m->rw, s->block, covered(s->s, s->s->pass)), place);
    const IrRef below = rw_compare(m->rw, OP_LT, at, ir_index(m->g, s->s->length));
    EmitIf there = emit_if(m->e, emit_share_both(m, emit_unless_true(m->e, own), emit_unless_true(m->e, below)));
    const IrRef h = emit_let(m->e, "h", place, 0, s->s->head - 1);
    IrRef *x = emit_sort_values(s);
    emit_sort_get(s, SHARE_WARPS, emit_sort_place(s, h), x);
    if (s->s->pass == s->s->passes) {
        emit_sort_store_results(s, s->row, h, x);
    } else {
        const IrRef to = rw_add(m->rw, rw_scale(m->rw, s->block, s->s->head), h);
        emit_sort_put(s, SHARE_BLOCKS, rw_add(m->rw, rw_scale(m->rw, s->row, s->s->room), to), x);
    }
    emit_close_if(m->e, &there);
    close_elements(s, &l, &inside);
}

static void store(const Sort *s)
{
    const Share *m = &s->m;
    IrRef row, place, exists = 0;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    const IrRef global = row_of_block(s, row, &exists);
    EmitIf of_rows = emit_if(m->e, exists);
    IrRef at = place_in_row(s, place), *x = emit_sort_values(s);
    EmitIf there = in_row(s, &at);
    emit_sort_get(s, SHARE_WARPS, emit_sort_place(s, rw_add(m->rw, rw_scale(m->rw, row, s->places), place)), x);
    if (s->s->passes) emit_sort_put(s, SHARE_BLOCKS, rw_add(m->rw, rw_scale(m->rw, global, s->s->length), at), x);
    else emit_sort_store_results(s, global, at, x);
    emit_close_if(m->e, &there);
    emit_close_if(m->e, &of_rows);
    close_elements(s, &l, &inside);
}

/* --- the launch --------------------------------------------------------------------------------------------------- */
static void find_element(Sort *s)
{
    Share *m = &s->m;
    Reduction *e = &s->element;
    e->n = s->s->n_keys + 1;
    e->type = WBB_NEW_N(m->a, ScType, e->n);
    for (uint32_t k = 0; k < s->s->n_keys; k++) e->type[k] = s->s->i->operands[s->s->keys[k]]->shape->type;
    e->type[s->s->n_keys] = s->s->position;
    e->buffer[SHARE_BLOCKS] = s->s->temps[s->s->pass % 2];
    e->buffer[SHARE_PEERS] = s->s->temps[(s->s->pass + 1) % 2];
    e->buffer[SHARE_WARPS] = m->e->k->n_buffers;
    for (uint32_t k = 0; k < e->n; k++)
        for (uint32_t part = 0; part < plan_memory_parts(e->type[k]); part++)
            emit_add_buffer(m->e, "shared", IR_SHARED, plan_memory_type(e->type[k]), s->all, false);
}

static void find_places(Sort *s)
{
    const int64_t n = s->s->length;
    s->tiles = (n + s->s->tile - 1) / s->s->tile;
    s->minor = s->m.range->space->minor_to_major[0] == s->s->dim;
    for (s->places = 1; s->places < (s->s->pass ? s->s->merged : s->s->tile);) s->places *= 2;
    s->all = s->places * s->s->block_rows;
    s->whole = n % s->places == 0 && !(s->s->pass && s->s->group);
    const int64_t blocks = s->s->group ? (n + covered(s->s, s->s->pass) - 1) / covered(s->s, s->s->pass) : s->tiles;
    s->row = rw_floordiv(s->m.rw, s->m.bid, blocks);
    s->block = rw_mod(s->m.rw, s->m.bid, blocks);
    if (blocks > 1) s->start = rw_scale(s->m.rw, s->block, s->s->tile);
}

void emit_sort(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    Sort s = {.m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .range = range, .s = range->stages,
                    .terms_shape = range->space, .bid = bid, .tid = tid},
              .s = range->stages[0].sort, .threads = e->k->block};
    const uint32_t origin = e->g->making_origin;
    e->g->making_origin = s.s->i->id + 1;
    e->reduced = range->reduced;
    find_places(&s);
    find_element(&s);
    if (s.s->pass && !s.s->group) {
        emit_sort_merge(&s);
    } else {
        if (!s.s->pass) load(&s);
        else load_heads(&s);
        emit_share_barrier(&s.m);
        const int64_t kept = plan_sort_kept(s.s, s.places);
        if (kept < s.places) emit_sort_first(&s, kept);
        else emit_sort_rounds(&s, s.places);
        if (s.s->group) store_heads(&s);
        else store(&s);
    }
    e->reduced = NULL, e->place = NULL;
    e->g->making_origin = origin;
}

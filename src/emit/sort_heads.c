/* sort_heads.c: the first places of a row in order, where the others are not needed.
 *
 * Needs elements in shared memory, as sort_network.c; leaves in the first `kept` places of each row its first elements,
 * in order. Runs of so many places are put in order, rising and falling in turn. Then pairs of neighbouring runs become
 * one: of two places, one of each run, the element that comes first stays in the first run's place, which leaves the
 * first `kept` elements of both, in places that rise and fall; the last steps of the network put them in order. So half
 * of the elements are gone after each iteration, and a run stands where the first of those that it is made of stood.
 *
 *     1024 places, 8 are kept     6 steps for all, then 7 iterations of 4 steps for 512, 256, .. 8: 11 of 55 in work
 */
#include "emit/sort.h"

static uint32_t log2_of(int64_t power)
{
    uint32_t n = 0;
    while (1ll << n < power) n++;
    return n;
}

/* groups: log2 of those of a row. Rows and numbers are unsigned integers. */
static SortGroups open_groups(const Sort *s, uint32_t bits, IrRef groups)
{
    const Share *m = &s->m;
    const int64_t each = lay_up(s->all >> bits, s->threads);
    IrRef number;
    SortGroups g = {0};
    g.loop = emit_for(m->e, "k", each, 0, NULL, &number);
    const IrRef q = emit_sort_number_of(s, rw_add(m->rw, rw_scale(m->rw, number, s->threads), m->tid));
    const IrRef of_row = emit_sort_op(s, OP_SHL, emit_sort_u32(s, 1), groups);
    const IrRef all = emit_sort_op(s, OP_SHL, emit_sort_u32(s, (uint32_t)(s->all / s->places)), groups);
    g.inside = emit_if(m->e, emit_sort_compare(s, OP_LT, q, all));
    g.row = emit_sort_op(s, OP_SHRL, q, groups);
    g.number = emit_sort_op(s, OP_BAND, q, emit_sort_op(s, OP_SUB, of_row, emit_sort_u32(s, 1)));
    return g;
}

/* The bits of a number below bit n, and those from it on. */
static IrRef low_bits(const Sort *s, IrRef x, uint32_t n)
{
    return emit_sort_op(s, OP_BAND, x, emit_sort_u32(s, (1u << n) - 1));
}

static IrRef high_bits(const Sort *s, IrRef x, uint32_t n) { return emit_sort_op(s, OP_SHRL, x, emit_sort_u32(s, n)); }

/* The place where a run of the group's row begins. apart: log2 of the places from one run to the next. */
static IrRef start_of(const Sort *s, const SortGroups *g, IrRef run, IrRef apart)
{
    const IrRef of_row = emit_sort_op(s, OP_MUL, g->row, emit_sort_u32(s, (uint32_t)s->places));
    return emit_sort_op(s, OP_ADD, of_row, emit_sort_op(s, OP_SHL, run, apart));
}

/* offsets [n] have no bit of the base. */
static void indices_of(const Sort *s, IrRef base, const IrRef *offsets, uint32_t n, IrRef *at)
{
    const IrRef from = emit_sort_placed(s, base);
    for (uint32_t u = 0; u < n; u++) {
        const IrRef place = u ? emit_sort_op(s, OP_BXOR, from, emit_sort_placed(s, offsets[u])) : from;
        at[u] = emit_sort_index_of(s, place, s->all);
    }
}

static void steps(const Sort *s, IrRef **x, uint32_t n, uint32_t half, IrRef falls)
{
    for (; half; half /= 2)
        for (uint32_t u = 0; u < n; u++)
            if (!(u & half)) emit_sort_exchange(s, x[u], x[u | half], falls, 0);
}

/* Pairs of runs of 2^kept places, 2^span apart, become one, with the steps that a thread can take at once. */
static void halve(const Sort *s, uint32_t bits, uint32_t kept, IrRef span, IrRef groups)
{
    const uint32_t near = kept - (bits - 1), n = 1u << bits, half = n / 2; /* elements of a run are 2^near apart */
    SortGroups g = open_groups(s, bits, groups);
    const IrRef run = high_bits(s, g.number, near), one = emit_sort_u32(s, 1);
    const IrRef start = start_of(s, &g, run, emit_sort_op(s, OP_ADD, span, one));
    IrRef offsets[1 << PLAN_SORT_BITS], at[1 << PLAN_SORT_BITS];
    for (uint32_t u = 0; u < n; u++) {
        offsets[u] = emit_sort_u32(s, (u & (half - 1)) << near);
        if (u & half) offsets[u] = emit_sort_op(s, OP_ADD, offsets[u], emit_sort_op(s, OP_SHL, one, span));
    }
    indices_of(s, emit_sort_op(s, OP_ADD, start, low_bits(s, g.number, near)), offsets, n, at);
    IrRef **x = emit_sort_get_group(s, at, bits);
    for (uint32_t u = 0; u < half; u++) emit_sort_exchange(s, x[u], x[u | half], 0, 0);
    steps(s, x, half, half / 2, emit_sort_is_odd(s, run, one));
    emit_sort_put_group(s, at, bits - 1, x);
    emit_sort_close_groups(s, &g);
}

/* The steps of runs that compare places 2^half apart and fewer, as many as a thread can take. */
static void finish(const Sort *s, uint32_t bits, uint32_t kept, uint32_t half, IrRef span, IrRef groups)
{
    const uint32_t near = half + 1 >= bits ? half + 1 - bits : 0, n = 1u << bits, in_run = kept - bits;
    SortGroups g = open_groups(s, bits, groups);
    const IrRef run = high_bits(s, g.number, in_run), of_run = low_bits(s, g.number, in_run);
    const IrRef low = low_bits(s, of_run, near), high = high_bits(s, of_run, near);
    const IrRef place = emit_sort_op(s, OP_ADD, emit_sort_op(s, OP_SHL, high, emit_sort_u32(s, near + bits)), low);
    IrRef offsets[1 << PLAN_SORT_BITS], at[1 << PLAN_SORT_BITS];
    for (uint32_t u = 0; u < n; u++) offsets[u] = emit_sort_u32(s, u << near);
    indices_of(s, emit_sort_op(s, OP_ADD, start_of(s, &g, run, span), place), offsets, n, at);
    IrRef **x = emit_sort_get_group(s, at, bits);
    steps(s, x, n, 1u << (half - near), emit_sort_is_odd(s, run, emit_sort_u32(s, 1)));
    emit_sort_put_group(s, at, bits, x);
    emit_sort_close_groups(s, &g);
}

void emit_sort_first(const Sort *s, int64_t kept)
{
    const uint32_t bits = emit_sort_group(s, s->places), places = log2_of(s->places), k = log2_of(kept);
    emit_sort_rounds(s, kept);
    /* log2 of the places from one run to the next, and of the groups of a row */
    IrRef acc[2] = {emit_sort_u32(s, k), emit_sort_u32(s, places - bits)}, var;
    EmitLoop l = emit_for(s->m.e, "k", places - k, 2, acc, &var);
    const IrRef span = acc[0], groups = acc[1], one = emit_sort_u32(s, 1);
    const IrRef next = emit_sort_op(s, OP_ADD, span, one), fewer = emit_sort_op(s, OP_SUB, groups, one);
    halve(s, bits, k, span, groups);
    for (uint32_t left = k - (bits - 1); left; left -= WBB_MIN(left, bits)) finish(s, bits, k, left - 1, next, fewer);
    acc[0] = next, acc[1] = fewer;
    emit_end_for(s->m.e, &l, 2, acc);
}

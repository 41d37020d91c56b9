/* sort_network.c: the places of a block in the order of the comparator, by a bitonic network.
 *
 * Needs elements in shared memory, a power of two of places for each row; leaves them in order. A step compares places
 * that differ by `half`; in stretches of `size` places that stand at an odd number it puts the later element first. A
 * thread takes the elements of a few steps into registers, which are those that differ in neighbouring bits of the
 * place: 8 for three steps. Elements that the comparator calls equal come in the order of their positions, so every two
 * are different; a place without an element has the highest position, and comes last. Whatever the comparator says,
 * each step exchanges two elements or leaves them, so each element of a row stays there once.
 *
 *     8 places, 2 in registers   stretches of 2: half 1; of 4: half 2, 1; of 8: half 4, 2, 1
 *     8 in registers             all six steps without memory between them
 *
 * Lanes whose elements are 2^n places apart would meet in one bank; so bits of the place above the fifth are added to
 * those below without carry (sort_place), by a matrix that makes 32 lanes meet 32 banks in every step.
 */
#include "emit/sort.h"

enum { BANK_BITS = 5, FEW = 3 };

/* --- places ------------------------------------------------------------------------------------------------------- */
IrRef emit_sort_absent_position(const Sort *s)
{
    const ScType t = s->s->position;
    return ir_const(s->m.g, IR_TYPE(t, 0), sc_mask(t));
}

IrRef *emit_sort_absent(const Sort *s)
{
    IrRef *x = emit_sort_values(s);
    for (uint32_t k = 0; k < s->s->n_keys; k++) {
        const ScType t = s->element.type[k];
        IrRef parts[2];
        for (uint32_t p = 0; p < 2; p++) parts[p] = ir_const(s->m.g, IR_TYPE(emit_part_type(t), 0), 0);
        x[k] = emit_join(s->m.e, parts, t);
    }
    x[s->s->n_keys] = emit_sort_absent_position(s);
    return x;
}

/* Places that fill the banks once, as a power of two: a warp accesses words of 64 bits in two halves. */
static uint32_t bank_bits(const Sort *s) { return s->s->word && s->s->position == SC_U64 ? BANK_BITS - 1 : BANK_BITS; }

/* What is added to a place without carry: as many bits of it above the banks as a thread has elements, spread so that
 * so many neighbouring bits of a place may be the same in all lanes that meet. */
static IrRef spread(const Sort *s, IrRef place)
{
    const uint32_t banks = bank_bits(s), n = WBB_MAX(s->s->bits, FEW);
    const IrRef above = emit_sort_op(s, OP_SHRL, place, emit_sort_u32(s, banks));
    const IrRef y = emit_sort_op(s, OP_BAND, above, emit_sort_u32(s, (1u << n) - 1));
    if (n == banks) return y;
    if (n == banks - 1) {
        const IrRef top = emit_sort_op(s, OP_SHRL, y, emit_sort_u32(s, n - 1));
        return emit_sort_op(s, OP_BOR, emit_sort_op(s, OP_SHL, y, emit_sort_u32(s, 1)), top);
    }
    const IrRef z = emit_sort_op(s, OP_BXOR, y, emit_sort_op(s, OP_SHRL, y, emit_sort_u32(s, 1)));
    const IrRef all = emit_sort_op(s, OP_BXOR, y, emit_sort_op(s, OP_SHL, z, emit_sort_u32(s, 3)));
    return emit_sort_op(s, OP_BAND, all, emit_sort_u32(s, (1 << BANK_BITS) - 1));
}

IrRef emit_sort_placed(const Sort *s, IrRef place)
{
    return s->all % (1 << BANK_BITS) ? place : emit_sort_op(s, OP_BXOR, place, spread(s, place));
}

IrRef emit_sort_place(const Sort *s, IrRef place)
{
    return emit_sort_index_of(s, emit_sort_placed(s, emit_sort_number_of(s, place)), s->all);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */
uint32_t emit_sort_group(const Sort *s, int64_t places)
{
    uint32_t bits = 1;
    while (bits < s->s->bits && (2 << bits) <= places) bits++;
    return bits;
}

/* Does the element of a higher place come before that of a lower one? A word without an element is the largest. */
static IrRef swaps_of(const Sort *s, const IrRef *low, const IrRef *high)
{
    const uint32_t position = s->s->n_keys;
    if (s->s->word) return emit_sort_compare(s, OP_LT, high[position], low[position]);
    IrRef *first = emit_sort_values(s), *second = emit_sort_values(s);
    const IrRef later = emit_sort_compare(s, OP_LT, high[position], low[position]); /* the higher one was before */
    for (uint32_t k = 0; k < position; k++) {
        first[k] = emit_sort_choose(s, s->element.type[k], later, high[k], low[k]);
        second[k] = emit_sort_choose(s, s->element.type[k], later, low[k], high[k]);
    }
    /* the second comes first only if the comparator says so */
    IrRef swaps = emit_sort_compare(s, OP_NE, emit_sort_is_before(s, second, first), later);
    if (!s->whole) {
        const IrRef absent = emit_sort_absent_position(s);
        const IrRef present = emit_sort_compare(s, OP_NE, high[position], absent);
        swaps = emit_sort_compare(s, OP_BOR, swaps, emit_sort_compare(s, OP_EQ, low[position], absent));
        swaps = emit_sort_compare(s, OP_BAND, swaps, present);
    }
    return swaps;
}

void emit_sort_exchange(const Sort *s, IrRef *low, IrRef *high, IrRef falls, IrRef only)
{
    if (s->s->position == SC_U32 && s->s->word && !falls && !only) {
        const IrRef x = low[0], y = high[0];
        low[0] = emit_sort_op(s, OP_MIN, x, y), high[0] = emit_sort_op(s, OP_MAX, x, y);
        return;
    }
    IrRef swaps = swaps_of(s, low, high);
    if (falls) swaps = emit_sort_compare(s, OP_NE, swaps, falls);
    if (only) swaps = emit_sort_compare(s, OP_BAND, swaps, only);
    for (uint32_t k = 0; k < s->element.n; k++) {
        const IrRef x = low[k], y = high[k];
        low[k] = emit_sort_choose(s, s->element.type[k], swaps, y, x);
        high[k] = emit_sort_choose(s, s->element.type[k], swaps, x, y);
    }
}

/* The step that compares elements whose numbers in the group differ by `half`. */
static void step(const Sort *s, IrRef **x, uint32_t bits, uint32_t half, IrRef falls, IrRef only)
{
    for (uint32_t u = 0; u < 1u << bits; u++)
        if (!(u & half)) emit_sort_exchange(s, x[u], x[u | half], falls, only);
}

/* A group of elements: element u is at place base + u * apart, both without the bits of the other. */
typedef struct {
    IrRef base, apart;
    IrRef row_place; /* the place of the first one in its row */
} Group;

/* Group number h of a row. */
static Group group_of(const Sort *s, uint32_t bits, IrRef row, IrRef h, IrRef apart)
{
    const IrRef low = emit_sort_op(s, OP_BAND, h, emit_sort_op(s, OP_SUB, apart, emit_sort_u32(s, 1)));
    const IrRef high = emit_sort_op(s, OP_SHL, emit_sort_op(s, OP_SUB, h, low), emit_sort_u32(s, bits));
    const IrRef place = emit_sort_op(s, OP_ADD, high, low);
    const IrRef before = emit_sort_number_of(s, rw_scale(s->m.rw, row, s->places));
    const IrRef base = emit_sort_placed(s, emit_sort_op(s, OP_ADD, before, place));
    return (Group){.base = base, .apart = apart, .row_place = place};
}

static IrRef *indices_of(const Sort *s, const Group *g, uint32_t bits)
{
    const uint32_t n = 1u << bits;
    IrRef *place = WBB_NEW_N(s->m.a, IrRef, n), *at = WBB_NEW_N(s->m.a, IrRef, n);
    place[0] = g->base;
    for (uint32_t k = 0; k < bits; k++) {
        const IrRef step = emit_sort_placed(s, emit_sort_op(s, OP_SHL, g->apart, emit_sort_u32(s, k)));
        for (uint32_t u = 0; u < 1u << k; u++) place[u | 1u << k] = emit_sort_op(s, OP_BXOR, place[u], step);
    }
    for (uint32_t u = 0; u < n; u++) at[u] = emit_sort_index_of(s, place[u], s->all);
    return at;
}

/* Opens what is done for each group of 2^bits places of the block, in turn of its threads. */
static SortGroups open_groups(const Sort *s, uint32_t bits)
{
    const Share *m = &s->m;
    const int64_t of_row = s->places >> bits, groups = s->all >> bits;
    const int64_t each = (groups + s->threads - 1) / s->threads;
    IrRef number;
    SortGroups g = {0};
    g.loop = emit_for(m->e, "k", each, 0, NULL, &number);
    const IrRef q = rw_add(m->rw, rw_scale(m->rw, number, s->threads), m->tid);
    const IrRef below = rw_compare(m->rw, OP_LT, q, ir_index(m->g, groups));
    g.inside = emit_if(m->e, below);
    const IrRef bounded = emit_let(m->e, "h", q, 0, groups - 1);
    g.row = rw_floordiv(m->rw, bounded, of_row);
    g.number = emit_sort_number_of(s, rw_mod(m->rw, bounded, of_row));
    return g;
}

void emit_sort_close_groups(const Sort *s, SortGroups *g)
{
    emit_close_if(s->m.e, &g->inside);
    emit_end_for(s->m.e, &g->loop, 0, NULL);
    emit_share_barrier(&s->m);
}

IrRef **emit_sort_get_group(const Sort *s, const IrRef *at, uint32_t bits)
{
    IrRef **x = WBB_NEW_N(s->m.a, IrRef *, 1u << bits);
    for (uint32_t u = 0; u < 1u << bits; u++) emit_sort_get(s, SHARE_WARPS, at[u], x[u] = emit_sort_values(s));
    return x;
}

void emit_sort_put_group(const Sort *s, const IrRef *at, uint32_t bits, IrRef **x)
{
    for (uint32_t u = 0; u < 1u << bits; u++) emit_sort_put(s, SHARE_WARPS, at[u], x[u]);
}

IrRef emit_sort_is_odd(const Sort *s, IrRef place, IrRef size)
{
    return emit_sort_compare(s, OP_NE, emit_sort_op(s, OP_BAND, place, size), emit_sort_u32(s, 0));
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */
/* Stretches of as many places as a thread has. */
static void first_round(const Sort *s, uint32_t bits)
{
    SortGroups g = open_groups(s, bits);
    const Group group = group_of(s, bits, g.row, g.number, emit_sort_u32(s, 1));
    const IrRef *at = indices_of(s, &group, bits);
    IrRef **x = emit_sort_get_group(s, at, bits);
    for (uint32_t k = 1; k <= bits; k++)
        for (uint32_t half = 1u << (k - 1); half; half /= 2)
            for (uint32_t u = 0; u < 1u << bits; u++) {
                if (u & half) continue;
                const bool known = k < bits && (u >> k & 1);
                const IrRef falls = k == bits && 1 << bits < s->places
                                        ? emit_sort_is_odd(s, group.row_place, emit_sort_u32(s, 1u << bits)) : 0;
                if (known) emit_sort_exchange(s, x[u | half], x[u], 0, 0); /* the later one first */
                else emit_sort_exchange(s, x[u], x[u | half], falls, 0);
            }
    emit_sort_put_group(s, at, bits, x);
    emit_sort_close_groups(s, &g);
}

/* Steps of halves `half`, half / 2, .., down to 1 where these are fewer than a group takes. rises: everywhere. */
static void round_of(const Sort *s, uint32_t bits, IrRef size, IrRef half, bool rises)
{
    SortGroups g = open_groups(s, bits);
    const IrRef lowest = emit_sort_op(s, OP_SHRL, half, emit_sort_u32(s, bits - 1));
    const IrRef apart = emit_sort_op(s, OP_MAX, lowest, emit_sort_u32(s, 1));
    const Group group = group_of(s, bits, g.row, g.number, apart);
    const IrRef *at = indices_of(s, &group, bits);
    IrRef **x = emit_sort_get_group(s, at, bits);
    for (uint32_t u = 1u << (bits - 1); u; u /= 2) {
        const IrRef of_step = emit_sort_op(s, OP_MUL, apart, emit_sort_u32(s, u));
        step(s, x, bits, u, rises ? 0 : emit_sort_is_odd(s, group.row_place, size),
             u > 1 ? emit_sort_compare(s, OP_LE, of_step, half) : 0);
    }
    emit_sort_put_group(s, at, bits, x);
    emit_sort_close_groups(s, &g);
}

static int64_t rounds_of_stretch(uint32_t stretch, uint32_t bits) { return (stretch + bits - 1) / bits; }

void emit_sort_rounds(const Sort *s, int64_t places)
{
    const Share *m = &s->m;
    if (s->places == 1) return;
    const uint32_t bits = emit_sort_group(s, s->places);
    first_round(s, bits);
    int64_t rounds = 0;
    for (uint32_t k = bits + 1; 1ll << k <= places; k++) rounds += rounds_of_stretch(k, bits);
    if (!rounds) return;
    IrRef acc[2] = {emit_sort_u32(s, 2u << bits), emit_sort_u32(s, 1u << bits)}, var; /* size, half */
    EmitLoop l = emit_for(m->e, "k", rounds, 2, acc, &var);
    const IrRef size = acc[0], half = acc[1];
    round_of(s, bits, size, half, false);
    const IrRef next = emit_sort_op(s, OP_SHRL, half, emit_sort_u32(s, bits));
    const IrRef last = emit_sort_compare(s, OP_EQ, next, emit_sort_u32(s, 0));
    acc[0] = emit_sort_choose(s, SC_U32, last, emit_sort_op(s, OP_ADD, size, size), size);
    acc[1] = emit_sort_choose(s, SC_U32, last, size, next);
    emit_end_for(m->e, &l, 2, acc);
}

void emit_sort_merge_rounds(const Sort *s)
{
    const Share *m = &s->m;
    const uint32_t bits = emit_sort_group(s, s->places);
    uint32_t stretch = 0;
    while (1ll << stretch < s->places) stretch++;
    IrRef acc[1] = {emit_sort_u32(s, (uint32_t)(s->places / 2))}, var;
    EmitLoop l = emit_for(m->e, "k", rounds_of_stretch(stretch, bits), 1, acc, &var);
    const IrRef half = acc[0];
    round_of(s, bits, 0, half, true);
    acc[0] = emit_sort_op(s, OP_SHRL, half, emit_sort_u32(s, bits));
    emit_end_for(m->e, &l, 1, acc);
}

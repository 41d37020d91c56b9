/* random.c: rng-bit-generator.
 *
 * Leaves the bits of one element, or one element of the new state, as arithmetic on the elements of the state: each is
 * a function of the state and of its own index. The generators and the order of counters over the elements are those
 * that src/eval/random.c describes. Neighbouring elements of one counter have the same nodes but for the last select.
 *
 *     (u64[3], u32[8]) rng-bit-generator(state), algorithm=rng_philox, bits at (d)
 *         =>   word d % 4 of philox(key state[0], counter (state[1], state[2]) + d // 4)
 */
#include "emit/inner.h"

#include <string.h>

enum { MOST_WORDS = 6 };

typedef struct {
    EmitValues *e;
    const HloInstruction *i;
    IrRef words[MOST_WORDS]; /* the state, in words of 32 bits, low ones first */
    uint32_t n_words;
} Generator;

static IrType u32(void) { return IR_TYPE(SC_U32, 0); }
static IrType u64(void) { return IR_TYPE(SC_U64, 0); }
static IrRef number(const Generator *r, uint32_t x) { return ir_const(r->e->g, u32(), x); }

static IrRef op(const Generator *r, ScOp of, IrRef x, IrRef y)
{
    return ir_node(r->e->g, of, ir_at(r->e->g, x)->type, 0, x, y, 0, 0);
}

static IrRef low_word(const Generator *r, IrRef x) { return emit_as(r->e, x, SC_U32); }
static IrRef high_word(const Generator *r, IrRef x)
{
    return emit_as(r->e, op(r, OP_SHRL, x, ir_const(r->e->g, u64(), 32)), SC_U32);
}
static IrRef joined(const Generator *r, IrRef low, IrRef high)
{
    const IrRef above = op(r, OP_SHL, emit_as(r->e, high, SC_U64), ir_const(r->e->g, u64(), 32));
    return op(r, OP_BOR, emit_as(r->e, low, SC_U64), above);
}

/* words[index], of n. */
static IrRef pick(const Generator *r, IrRef index, const IrRef *words, uint32_t n)
{
    if (n == 1) return words[0];
    const uint32_t half = n / 2;
    const IrRef below = rw_compare(r->e->rw, OP_LT, index, ir_index(r->e->g, half));
    const IrRef low = pick(r, index, words, half);
    const IrRef high = pick(r, rw_sub(r->e->rw, index, ir_index(r->e->g, half)), words + half, n - half);
    return emit_either(r->e, below, low, high);
}

static IrRef divided(const Generator *r, ScOp of, IrRef x, int64_t by)
{
    return rw_make(r->e->rw, of, IR_TYPE(SC_INDEX, 0), 0, x, ir_index(r->e->g, by), 0, 0);
}

/* An index as an unsigned integer of 64 bits. */
static IrRef integer(const Generator *r, IrRef index)
{
    return ir_is_const(r->e->g, index) ? ir_const(r->e->g, u64(), ir_at(r->e->g, index)->imm)
                                       : ir_node(r->e->g, OP_IDX, u64(), 0, index, 0, 0, 0);
}

static IrRef rotated(const Generator *r, IrRef x, uint32_t by)
{
    const IrRef right = op(r, OP_SHRL, x, number(r, 32 - by)); /* first, with every compiler */
    return op(r, OP_BOR, op(r, OP_SHL, x, number(r, by)), right);
}

/* Threefry-2x32 with 20 rounds. */
static void threefry(const Generator *r, IrRef counter, IrRef *x)
{
    static const uint8_t rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    IrRef k[3] = {r->words[0], r->words[1], 0};
    k[2] = op(r, OP_BXOR, op(r, OP_BXOR, k[0], k[1]), number(r, 0x1BD11BDA));
    x[0] = op(r, OP_ADD, low_word(r, counter), k[0]);
    x[1] = op(r, OP_ADD, high_word(r, counter), k[1]);
    for (uint32_t group = 0; group < 5; group++) {
        for (uint32_t round = 0; round < 4; round++) {
            x[0] = op(r, OP_ADD, x[0], x[1]);
            x[1] = op(r, OP_BXOR, rotated(r, x[1], rotation[group % 2 * 4 + round]), x[0]);
        }
        x[0] = op(r, OP_ADD, x[0], k[(group + 1) % 3]);
        x[1] = op(r, OP_ADD, op(r, OP_ADD, x[1], k[(group + 2) % 3]), number(r, group + 1));
    }
}

/* The counter of 128 bits, as two numbers of 64, plus one. A state of two words has the key above its counter. */
static void philox_counter(const Generator *r, IrRef more, IrRef *sum)
{
    IrGraph *g = r->e->g;
    const IrRef low = joined(r, r->words[2], r->words[3]);
    const IrRef high = r->n_words == 4 ? joined(r, r->words[0], r->words[1]) : joined(r, r->words[4], r->words[5]);
    sum[0] = op(r, OP_ADD, low, more);
    const IrRef carry = ir_node(g, OP_LT, IR_TYPE(SC_PRED, 0), 0, sum[0], low, 0, 0);
    sum[1] = op(r, OP_ADD, high, ir_node(g, OP_CVT, u64(), 0, carry, 0, 0, 0));
}

/* Philox-4x32 with 10 rounds. */
static void philox(const Generator *r, IrRef more, IrRef *x)
{
    IrRef counter[2];
    philox_counter(r, more, counter);
    for (uint32_t k = 0; k < 4; k++) x[k] = k % 2 ? high_word(r, counter[k / 2]) : low_word(r, counter[k / 2]);
    for (uint32_t round = 0; round < 10; round++) {
        const IrRef k0 = op(r, OP_ADD, r->words[0], number(r, 0x9E3779B9 * round));
        const IrRef k1 = op(r, OP_ADD, r->words[1], number(r, 0xBB67AE85 * round));
        const IrRef a = number(r, 0xD2511F53), b = number(r, 0xCD9E8D57);
        const IrRef next[4] = {op(r, OP_BXOR, op(r, OP_BXOR, op(r, OP_MULHI, x[2], b), x[1]), k0),
                               op(r, OP_MUL, x[2], b),
                               op(r, OP_BXOR, op(r, OP_BXOR, op(r, OP_MULHI, x[0], a), x[3]), k1),
                               op(r, OP_MUL, x[0], a)};
        for (uint32_t k = 0; k < 4; k++) x[k] = next[k];
    }
}

static bool is_philox(const Generator *r)
{
    const char *algorithm = hlo_attribute(r->e->arena, r->i, "algorithm");
    return !algorithm || strcmp(algorithm, "rng_three_fry");
}

/* Threefry halves the first even dimension, else the largest; the words of a counter are neighbours along it. */
static uint32_t split_dimension(const HloShape *s)
{
    uint32_t largest = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (s->dims[d] % 2 == 0) return d;
        if (s->dims[d] > s->dims[largest]) largest = d;
    }
    return largest;
}

/* The number of an element in row-major order, of an array whose dimension `split` is halved. */
static IrRef position(const Generator *r, const HloShape *s, const IrRef *index, int64_t split)
{
    IrRef at = ir_index(r->e->g, 0);
    for (uint32_t d = 0; d < s->rank; d++) {
        const bool half = d == split;
        at = rw_scale(r->e->rw, at, half ? (s->dims[d] + 1) / 2 : s->dims[d]);
        at = rw_add(r->e->rw, at, half ? divided(r, OP_FLOORDIV, index[d], 2) : index[d]);
    }
    return at;
}

static int64_t counters(const Generator *r, const HloShape *s)
{
    const int64_t n = hlo_elements(s);
    const bool wide = sc_type_info[s->type].bits == 64;
    if (is_philox(r)) return wide ? n / 2 + n % 2 : n / 4 + (n % 4 != 0);
    if (wide || !s->rank) return n;
    const int64_t split = s->dims[split_dimension(s)];
    return n ? n / split * ((split + 1) / 2) : 0;
}

static IrRef bits(const Generator *r, const HloShape *s, const IrRef *index)
{
    IrRef x[4];
    const bool wide = sc_type_info[s->type].bits == 64;
    if (is_philox(r)) {
        const IrRef at = position(r, s, index, -1);
        philox(r, integer(r, divided(r, OP_FLOORDIV, at, wide ? 2 : 4)), x);
        if (!wide) return pick(r, divided(r, OP_MOD, at, 4), x, 4);
        const IrRef pairs[2] = {joined(r, x[0], x[1]), joined(r, x[2], x[3])};
        return pick(r, divided(r, OP_MOD, at, 2), pairs, 2);
    }
    const uint32_t split = split_dimension(s);
    const bool halves = !wide && s->rank;
    const IrRef at = integer(r, position(r, s, index, halves ? (int64_t)split : -1));
    threefry(r, op(r, OP_ADD, joined(r, r->words[2], r->words[3]), at), x);
    if (wide) return joined(r, x[0], x[1]);
    return halves ? pick(r, divided(r, OP_MOD, index[split], 2), x, 2) : x[0];
}

/* An element of the state after all bits. */
static IrRef next_state(const Generator *r, const HloShape *s, const IrRef *index)
{
    IrRef words[MOST_WORDS] = {r->words[0], r->words[1]}, next[2] = {0};
    const IrRef more = ir_const(r->e->g, u64(), (uint64_t)counters(r, r->i->shape->elements[1]));
    if (is_philox(r)) philox_counter(r, more, next);
    else next[0] = op(r, OP_ADD, joined(r, r->words[2], r->words[3]), more);
    for (uint32_t k = 2; k < r->n_words; k++)
        words[k] = k % 2 ? high_word(r, next[k / 2 - 1]) : low_word(r, next[k / 2 - 1]);
    if (sc_type_info[s->type].bits == 32) return pick(r, index[0], words, r->n_words);
    IrRef whole[MOST_WORDS / 2];
    for (uint32_t k = 0; k < r->n_words / 2; k++) whole[k] = joined(r, words[2 * k], words[2 * k + 1]);
    return pick(r, index[0], whole, r->n_words / 2);
}

void emit_step_random(EmitValues *e, EmitFrame *f)
{
    Generator *r = f->data ? f->data : (f->data = WBB_NEW(e->arena, Generator));
    const HloShape *in = f->i->operands[0]->shape, *s = plan_shape(f->i, f->part);
    const uint32_t n = (uint32_t)hlo_elements(in), asked = f->asked++;
    r->e = e, r->i = f->i;
    if (asked > 0 && sc_type_info[in->type].bits == 32) {
        r->words[r->n_words++] = f->result;
    } else if (asked > 0) {
        r->words[r->n_words++] = low_word(r, f->result);
        r->words[r->n_words++] = high_word(r, f->result);
    }
    if (asked < n) {
        IrRef *at = WBB_NEW(e->arena, IrRef);
        *at = ir_index(e->g, asked);
        emit_want(e, f, f->i->operands[0], 0, at);
        return;
    }
    const IrRef value = f->part == 0 ? next_state(r, s, f->index) : bits(r, s, f->index);
    emit_done(e, f, emit_as(e, value, s->type));
}

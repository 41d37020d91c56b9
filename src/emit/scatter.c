/* scatter.c: an update of a scatter, combined with the element that its indices name.
 *
 * Needs an update's index; leaves an `if` for the windows that fit into the operand, with starts as variables, and in
 * it what combines the update (PlanCombine). Values are computed before the `if`.
 *
 *     f32[100] x[k] += u, k in s32
 *         if le.u32(bits.u32(k), 99) {  let s = index(k) in 0..100   do atomic_add.f32(%out[s], u)  }
 */
#include "emit/scatter.h"

#include <string.h>

/* A statement with an effect on memory; its result, which may be of no interest. */
static void effect(const Scatter *m, uint32_t buffer, IrRef at, IrRef operation)
{
    ir_do_at(m->g, emit_block(m->e), NULL, operation, 0, buffer, at);
}

IrRef emit_scatter_effect(const Scatter *m, const char *stem, uint32_t buffer, IrRef at, IrRef operation)
{
    const IrRef y = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, stem), operation, ir_at(m->g, operation)->type,
                             buffer, at);
    emit_bound(m->e, y);
    return y;
}

/* Results of the computation for elements as they are. */
void emit_scatter_combined(const Scatter *m, const IrRef *old, IrRef *result)
{
    const HloComputation *c = m->i->called[0];
    const uint32_t n = m->results;
    IrRef *args = WBB_NEW_N(m->e->arena, IrRef, 2 * n + 1);
    for (uint32_t k = 0; k < m->n; k++) { /* those of other results are not needed */
        const uint32_t to = m->s->first + k;
        args[to] = emit_as(m->e, old[k] ? old[k] : m->x[k], c->parameters[to]->shape->type);
        args[n + to] = emit_as(m->e, m->x[k], c->parameters[n + to]->shape->type);
    }
    const uint32_t env = emit_env(m->e, 2 * n, args);
    for (uint32_t k = 0; k < m->n; k++)
        result[k] = emit_as(m->e, emit_value_in(m->e, env, (PlanValue){c->root, m->s->first + k}, NULL), type_of(m, k));
}

/* Does a result depend on the elements as they are? */
static bool reads(const Scatter *m)
{
    for (uint32_t k = 0; k < m->n; k++)
        if (hlo_scatter_takes(m->i, m->s->first + k) < 0) return true;
    return false;
}

/* --- words -------------------------------------------------------------------------------------------------------- */
/* An element in a word: its first bit, where words have several; 0: a word has one. */
typedef struct {
    ScType t, word;
    IrRef shift; /* u32 */
} InWord;

static IrRef taken(const Scatter *m, const InWord *w, IrRef word)
{
    if (w->t == SC_C64) return emit_complex_of_word(m->e, word);
    if (!w->shift) return as_bits(m, word, w->t);
    const uint32_t bits = sc_type_info[w->t].bits;
    IrRef x = node(m, OP_SHRL, SC_U32, node(m, OP_CVT, SC_U32, word, 0), w->shift);
    x = node(m, OP_BAND, SC_U32, x, number(m, SC_U32, (1u << bits) - 1));
    if (w->t == SC_PRED) return compare(m, OP_NE, x, number(m, SC_U32, 0));
    return as_bits(m, node(m, OP_CVT, gr_unsigned(bits), x, 0), w->t);
}

static IrRef replaced(const Scatter *m, const InWord *w, IrRef word, IrRef x)
{
    if (w->t == SC_C64) return emit_word_of_complex(m->e, x);
    if (!w->shift) return as_bits(m, x, w->word);
    const uint32_t bits = sc_type_info[w->t].bits;
    if (w->t != SC_PRED) x = as_bits(m, x, gr_unsigned(bits));
    const IrRef mask = node(m, OP_SHL, SC_U32, number(m, SC_U32, (1u << bits) - 1), w->shift);
    const IrRef others = node(m, OP_BAND, SC_U32, node(m, OP_CVT, SC_U32, word, 0),
                              node(m, OP_BXOR, SC_U32, mask, number(m, SC_U32, UINT32_MAX)));
    const IrRef own = node(m, OP_SHL, SC_U32, node(m, OP_CVT, SC_U32, x, 0), w->shift);
    return node(m, OP_CVT, w->word, node(m, OP_BOR, SC_U32, others, own), 0);
}

/* Where result k is in memory: *at, the number of its word. */
static InWord in_word(const Scatter *m, uint32_t k, ScType word, IrRef *at)
{
    const ScType t = type_of(m, k);
    const IrRef number_of = ix_linear(m->rw, plan_shape(m->i, m->s->first + k), m->index); /* layouts may differ */
    InWord w = {.t = t, .word = word};
    const int64_t each = sc_type_info[word].bits / sc_type_info[t].bits;
    *at = number_of;
    if (each == 1) return w;
    const IrRef lane = ir_node(m->g, OP_IDX, IR_TYPE(SC_U32, 0), 0, rw_mod(m->rw, number_of, each), 0, 0, 0);
    w.shift = node(m, OP_MUL, SC_U32, lane, number(m, SC_U32, sc_type_info[t].bits));
    *at = rw_floordiv(m->rw, number_of, each);
    return w;
}

/* A load where one is needed, and a store. Of an element that shares its byte, that byte. */
static void plainly(const Scatter *m)
{
    IrRef *old = WBB_NEW_N(m->e->arena, IrRef, m->n + 1), *result = WBB_NEW_N(m->e->arena, IrRef, m->n + 1);
    IrRef *at = WBB_NEW_N(m->e->arena, IrRef, m->n + 1), *word = WBB_NEW_N(m->e->arena, IrRef, m->n + 1);
    InWord *w = WBB_NEW_N(m->e->arena, InWord, m->n + 1);
    const bool needed = reads(m);
    for (uint32_t k = 0; k < m->n; k++) {
        const ScType t = type_of(m, k);
        w[k] = in_word(m, k, ir_is_packed(t) ? SC_U8 : t, &at[k]);
        if (!needed && !w[k].shift) continue;
        const IrRef op = ir_node(m->g, OP_READ, IR_TYPE(w[k].word, 0), 0, 0, 0, 0, 0);
        word[k] = emit_scatter_effect(m, "old", buffer_of(m, k), at[k], op);
        old[k] = w[k].shift ? taken(m, &w[k], word[k]) : word[k];
    }
    emit_scatter_combined(m, old, result);
    for (uint32_t k = 0; k < m->n; k++)
        emit_store(m->e, buffer_of(m, k), at[k], w[k].shift ? replaced(m, &w[k], word[k], result[k]) : result[k]);
}

/* What is there now, which other threads may change at the same time. */
static IrRef read_now(const Scatter *m, uint32_t buffer, IrRef at, ScType t)
{
    return emit_scatter_effect(m, "old", buffer, at, ir_node(m->g, OP_READ_RELAXED, IR_TYPE(t, 0), 0, 0, 0, 0, 0));
}

/* A loop that reads a word, computes the new one and swaps, until no other thread came between. What is two words is
 * swapped at once and not read at first: the first swap compares with 0, and tells what is there. */
typedef struct {
    IrStmt *s;
    uint32_t buffer, after, n;
    IrRef at, word[2]; /* what the words are in the loop */
} Swap;

static Swap begin_swap(const Scatter *m, uint32_t buffer, IrRef at, ScType word, uint32_t n)
{
    const IrRef now = n == 1 ? read_now(m, buffer, at, word) : number(m, word, 0);
    Swap w = {.buffer = buffer, .at = at, .after = m->e->scope, .n = n};
    w.s = ir_stmt(m->g, emit_block(m->e), IR_REPEAT);
    emit_enter(m->e, &w.s->body);
    for (uint32_t k = 0; k < n; k++) {
        ir_carry(m->g, w.s, emit_name(m->e, "a"), now);
        w.word[k] = ir_value(m->g, w.s->results[k].carried);
        emit_bound(m->e, w.word[k]);
    }
    return w;
}

static IrRef both(const Scatter *m, const IrRef *word)
{
    return ir_node(m->g, OP_PACK, IR_TYPE(SC_U64, 1), 0, word[0], word[1], 0, 0);
}

/* Does the computation leave most elements of which there are many updates as they are? */
static bool leaves_most(const Scatter *m)
{
    return hlo_op_info[hlo_scatter_root(m->i, m->s->first)->opcode].idempotent;
}

/* A maximum that is what was read needs no swap: as if it had been made at the time of the load. */
static IrRef swapped(const Scatter *m, const Swap *w, IrRef cas, IrRef word)
{
    if (w->n > 1 || !leaves_most(m)) return emit_scatter_effect(m, "was", w->buffer, w->at, cas);
    EmitIf c = emit_if(m->e, compare(m, OP_NE, word, w->word[0]));
    const IrRef now = emit_scatter_effect(m, "was", w->buffer, w->at, cas);
    IrRef was;
    emit_else(m->e, &c);
    emit_end_if(m->e, &c, 1, &now, &w->word[0], &was);
    return was;
}

static void end_swap(const Scatter *m, const Swap *w, const IrRef *word)
{
    const ScType t = IR_SC(ir_at(m->g, w->word[0])->type);
    const IrRef cas = w->n == 1 ? node(m, OP_ATOMIC_CAS, t, w->word[0], word[0])
                          : ir_node(m->g, OP_ATOMIC_CAS, IR_TYPE(t, 1), 0, both(m, w->word), both(m, word), 0, 0);
    const IrRef was = swapped(m, w, cas, word[0]);
    w->s->condition = 0;
    for (uint32_t k = 0; k < w->n; k++) {
        const IrRef y = w->n == 1 ? was : ir_node(m->g, OP_PART, IR_TYPE(t, 0), 0, was, 0, 0, k);
        const IrRef other = compare(m, OP_NE, y, w->word[k]);
        w->s->results[k].yield = y;
        w->s->condition = k ? node(m, OP_BOR, SC_PRED, w->s->condition, other) : other;
    }
    emit_switch(m->e, w->after);
}

static void swapping(const Scatter *m)
{
    IrRef at, result;
    const InWord w = in_word(m, 0, m->s->word, &at);
    const Swap loop = begin_swap(m, buffer_of(m, 0), at, m->s->word, 1);
    const IrRef old = taken(m, &w, loop.word[0]);
    emit_scatter_combined(m, &old, &result);
    result = replaced(m, &w, loop.word[0], result);
    end_swap(m, &loop, &result);
}

/* A complex element of 16 bytes. */
static void swapping_both(const Scatter *m)
{
    const IrRef at = rw_scale(m->rw, ix_linear(m->rw, plan_shape(m->i, m->s->first), m->index), 2);
    const Swap loop = begin_swap(m, buffer_of(m, 0), at, SC_U64, 2);
    const IrRef re = as_bits(m, loop.word[0], SC_F64), im = as_bits(m, loop.word[1], SC_F64);
    const IrRef old = node(m, OP_COMPLEX, SC_C128, re, im);
    IrRef result, word[2];
    emit_scatter_combined(m, &old, &result);
    for (uint32_t k = 0; k < 2; k++) word[k] = as_bits(m, node(m, k ? OP_IM : OP_RE, SC_F64, result, 0), SC_U64);
    end_swap(m, &loop, word);
}

/* --- minimum and maximum ------------------------------------------------------------------------------------------ */
/* Is x beyond what is there, in the order of integers of type t? */
static IrRef is_beyond(const Scatter *m, ScType t, bool max, IrRef now, IrRef x)
{
    return compare(m, max ? OP_LT : OP_GT, as_bits(m, now, t), as_bits(m, x, t));
}

/* The pred `then` where c holds, else `other`. */
static IrRef either(const Scatter *m, IrRef c, IrRef then, IrRef other)
{
    const IrRef not_c = node(m, OP_BXOR, SC_PRED, c, number(m, SC_PRED, 1));
    const IrRef second = node(m, OP_BAND, SC_PRED, not_c, other); /* first, with every compiler */
    return node(m, OP_BOR, SC_PRED, node(m, OP_BAND, SC_PRED, c, then), second);
}

/* Floats without their sign bit are in the order of integers; those with it in the other order of unsigned ones. So a
 * maximum with a float that is not negative is that of signed integers, with one that is negative a minimum of unsigned
 * ones; -0 is below +0. A nan of the sign that such a maximum keeps stays whatever comes; if one of the other sign was
 * in memory, which each update finds out from what it gets back, the element becomes the former. */
static void in_float_order(const Scatter *m)
{
    const ScType t = type_of(m, 0), u = gr_unsigned(sc_type_info[t].bits);
    const ScType i = u == SC_U32 ? SC_I32 : SC_I64;
    const bool max = m->s->atomic == OP_ATOMIC_MAX, first = m->s->reads_first;
    const uint64_t inf = sc_from_f64(t, __builtin_inf()), sign = (sc_mask(t) >> 1) + 1;
    const uint64_t nan = inf | (inf >> 1 & ~inf) | (max ? 0 : sign), quiet = nan | (inf & -inf) >> 1;
    const uint32_t buffer = buffer_of(m, 0);
    const IrRef x = m->x[0], is_nan = compare(m, OP_NE, x, x);
    const IrRef bits = ir_node(m->g, OP_SELECT, IR_TYPE(u, 0), 0, is_nan, number(m, u, quiet), as_bits(m, x, u), 0);
    const IrRef negative = compare(m, OP_LT, as_bits(m, bits, i), number(m, i, 0));
    EmitIf changes = {0};
    if (first) {
        const IrRef now = read_now(m, buffer, m->at, u), as_signed = is_beyond(m, i, max, now, bits);
        changes = emit_if(m->e, either(m, negative, is_beyond(m, u, !max, now, bits), as_signed));
    }
    EmitIf c = emit_if(m->e, negative);
    const ScOp other = max ? OP_ATOMIC_MIN : OP_ATOMIC_MAX;
    const IrRef then = emit_scatter_effect(m, "was", buffer, m->at, node(m, other, u, bits, 0));
    emit_else(m->e, &c);
    IrRef was = emit_scatter_effect(m, "was", buffer, m->at, node(m, m->s->atomic, i, as_bits(m, bits, i), 0));
    was = as_bits(m, was, u);
    emit_end_if(m->e, &c, 1, &then, &was, &was);
    const ScType as = max ? u : i;
    EmitIf lost = emit_if(m->e, compare(m, OP_GT, as_bits(m, was, as), number(m, as, inf | (max ? sign : 0))));
    effect(m, buffer, m->at, node(m, OP_ATOMIC_EXCH, u, number(m, u, quiet), 0));
    emit_close_if(m->e, &lost);
    if (first) emit_close_if(m->e, &changes);
}

/* --- other ways --------------------------------------------------------------------------------------------------- */
/* A float below the normal ones, not 0: without its sign bit in 1 .. 2^23 - 1. */
static IrRef is_tiny(const Scatter *m, IrRef x)
{
    const IrRef twice = node(m, OP_SHL, SC_U32, as_bits(m, x, SC_U32), number(m, SC_U32, 1));
    return compare(m, OP_LT, node(m, OP_SUB, SC_U32, twice, number(m, SC_U32, 1)), number(m, SC_U32, 0xffffff));
}

static IrRef without_tiny(const Scatter *m, IrRef x)
{
    return ir_node(m->g, OP_SELECT, IR_TYPE(SC_F32, 0), 0, is_tiny(m, x), number(m, SC_F32, 0), x, 0);
}

/* A constant that no float below the normal ones changes when it is added, and to which no float adds up to one. */
static bool is_large(const Scatter *m, IrRef x)
{
    if (!ir_is_const(m->g, x)) return false;
    const double value = sc_to_f64(SC_F32, ir_at(m->g, x)->imm);
    return value <= -0x1p-100 || value >= 0x1p-100;
}

/* The instruction takes floats below the normal ones for 0. What the element lost by that is added again; where the sum
 * is not finite, that is nothing: -0. */
static void add_f32(const Scatter *m, uint32_t buffer, IrRef at, IrRef x)
{
    if (is_large(m, x)) {
        effect(m, buffer, at, node(m, OP_ATOMIC_ADD, SC_F32, x, 0));
        return;
    }
    const IrRef was = emit_scatter_effect(m, "was", buffer, at, node(m, OP_ATOMIC_ADD, SC_F32, x, 0));
    const IrRef sum = node(m, OP_ADD, SC_F32, was, x);
    const IrRef tiny = is_tiny(m, x), before = node(m, OP_BOR, SC_PRED, is_tiny(m, was), tiny);
    EmitIf c = emit_if(m->e, node(m, OP_BOR, SC_PRED, before, is_tiny(m, sum)));
    if (c.s || c.known) {
        const IrRef rest = without_tiny(m, x), kept = without_tiny(m, was); /* in this order with every compiler */
        const IrRef left = without_tiny(m, node(m, OP_ADD, SC_F32, kept, rest));
        const IrRef apart = node(m, OP_SUB, SC_F32, sum, left), finite = compare(m, OP_EQ, apart, apart);
        const IrRef none = number(m, SC_F32, 0x80000000);
        const IrRef lost = ir_node(m->g, OP_SELECT, IR_TYPE(SC_F32, 0), 0, finite, apart, none, 0);
        const Swap loop = begin_swap(m, buffer, at, SC_U32, 1);
        const IrRef all = as_bits(m, node(m, OP_ADD, SC_F32, as_bits(m, loop.word[0], SC_F32), lost), SC_U32);
        end_swap(m, &loop, &all);
    }
    emit_close_if(m->e, &c);
}

/* With the element beside it, to which -0 is added: that changes no number, and an instruction for one element of 16
 * bits is a loop. */
static void in_pair(const Scatter *m)
{
    const ScType t = m->s->word;
    const IrRef odd = ir_node(m->g, OP_IDX, IR_TYPE(SC_U32, 0), 0, rw_mod(m->rw, m->at, 2), 0, 0, 0);
    const IrRef is_odd = compare(m, OP_NE, odd, number(m, SC_U32, 0)), none = number(m, t, 0x8000);
    IrRef half[2];
    for (uint32_t k = 0; k < 2; k++)
        half[k] = ir_node(m->g, OP_SELECT, IR_TYPE(t, 0), 0, is_odd, k ? m->x[0] : none, k ? none : m->x[0], 0);
    const IrRef pair = ir_node(m->g, OP_PACK, IR_TYPE(t, 1), 0, half[0], half[1], 0, 0);
    const IrRef at = rw_scale(m->rw, rw_floordiv(m->rw, m->at, 2), 2);
    effect(m, buffer_of(m, 0), at, ir_node(m->g, m->s->atomic, IR_TYPE(t, 1), 0, pair, 0, 0, 0));
}

static void one_operation(const Scatter *m, IrRef at, IrRef x)
{
    const ScType word = m->s->word;
    if (m->s->combine == PLAN_SUM) {
        add_f32(m, buffer_of(m, 0), at, x);
        return;
    }
    const uint32_t buffer = buffer_of(m, 0);
    const bool first = m->s->reads_first;
    EmitIf changes = {0};
    if (first) {
        const IrRef now = read_now(m, buffer, at, word);
        changes = emit_if(m->e, is_beyond(m, word, m->s->atomic == OP_ATOMIC_MAX, now, x));
    }
    effect(m, buffer, at, node(m, m->s->atomic, word, as_bits(m, x, word), 0));
    if (first) emit_close_if(m->e, &changes);
}

/* In both parts of a complex element. */
static void atomically(const Scatter *m)
{
    if (m->s->in_pair) {
        in_pair(m);
        return;
    }
    if (sc_type_info[type_of(m, 0)].cls != 'C') {
        one_operation(m, m->at, m->x[0]);
        return;
    }
    for (int64_t part = 0; part < 2; part++) {
        const IrRef at = rw_add(m->rw, rw_scale(m->rw, m->at, 2), ir_index(m->g, part));
        one_operation(m, at, node(m, part ? OP_IM : OP_RE, m->s->word, m->x[0], 0));
    }
}

static void set(const Scatter *m)
{
    const IrRef x = type_of(m, 0) == SC_C64 ? emit_word_of_complex(m->e, m->x[0]) : m->x[0];
    effect(m, buffer_of(m, 0), m->at, node(m, OP_WRITE_RELAXED, IR_SC(ir_at(m->g, x)->type), x, 0));
}

/* The thread that takes the lock gives it back before the others of its warp try again. All threads execute the unlock,
 * those without the lock on an element of the other half of the buffer: it keeps the code generator, which may copy
 * nothing that is convergent, from giving the threads that wait a loop of their own. They would wait for one that waits
 * for them. Who had the lock gets 1 back, the others 0. */
static void locked(const Scatter *m)
{
    const uint32_t outer = m->e->scope;
    int64_t each = 1; /* elements of a lock: those that share a byte */
    for (uint32_t k = 0; k < m->n; k++) {
        const HloShape *first = plan_shape(m->i, m->s->first), *of = plan_shape(m->i, m->s->first + k);
        const bool same = !memcmp(first->minor_to_major, of->minor_to_major, first->rank);
        if (ir_is_packed(of->type)) each = WBB_MAX(each, same ? plan_packed_group(of->type) : hlo_elements(of));
    }
    const IrRef lock = rw_floordiv(m->rw, m->at, each), none = number(m, SC_U32, 0);
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_REPEAT);
    emit_enter(m->e, &s->body);
    const IrRef take = node(m, OP_LOCK, SC_U32, number(m, SC_U32, 1), 0);
    const IrRef was = emit_scatter_effect(m, "held", m->s->lock, lock, take);
    EmitIf c = emit_if(m->e, compare(m, OP_EQ, was, none));
    plainly(m);
    emit_close_if(m->e, &c);
    const IrRef half = emit_variable(m->e, "h", was, 0, 1);
    const int64_t size = hlo_elements(plan_shape(m->i, m->s->first));
    const IrRef at = rw_add(m->rw, lock, rw_scale(m->rw, half, size));
    const IrRef had = emit_scatter_effect(m, "had", m->s->lock, at, node(m, OP_UNLOCK, SC_U32, none, 0));
    s->condition = compare(m, OP_EQ, had, none);
    emit_switch(m->e, outer);
}

/* --- indices ------------------------------------------------------------------------------------------------------ */
/* An integer is in 0 .. hi; 0: always. */
static IrRef inside(const Scatter *m, IrRef start, int64_t hi)
{
    const IrNode n = *ir_at(m->g, start);
    const ScType t = IR_SC(n.type), u = gr_unsigned(sc_type_info[t].bits);
    if (n.op == OP_CONST) {
        const WbbI128 value = sc_to_i128(t, n.imm);
        return value >= 0 && value <= hi ? 0 : ir_const(m->g, IR_TYPE(SC_PRED, 0), 0);
    }
    if (n.op == OP_IDX && ir_within(m->g, n.a[0], 0, (WbbI128)hi + 1)) return 0;
    const WbbI128 most = ((WbbI128)1 << (sc_type_info[t].bits - sc_is_signed(t))) - 1;
    if (!sc_is_signed(t) && hi >= most) return 0;
    return compare(m, OP_LE, as_bits(m, start, u), number(m, u, (uint64_t)(hi < most ? hi : (int64_t)most)));
}

static IrRef start_of(const Scatter *m, IrRef start, int64_t hi)
{
    const IrNode n = *ir_at(m->g, start);
    if (hi == 0) return ir_index(m->g, 0);
    if (n.op == OP_CONST) return ir_index(m->g, (int64_t)sc_to_i128(IR_SC(n.type), n.imm));
    if (n.op == OP_IDX && ir_within(m->g, n.a[0], 0, (WbbI128)hi + 1)) return n.a[0];
    return emit_variable(m->e, "s", start, 0, hi);
}

void emit_scatter_combine(const Scatter *m)
{
    switch (m->s->combine) {
    case PLAN_SET: set(m); break;
    case PLAN_ATOMIC:
    case PLAN_SUM: atomically(m); break;
    case PLAN_FLOAT_ORDER: in_float_order(m); break;
    case PLAN_CAS:
        if (type_of(m, 0) == SC_C128) swapping_both(m);
        else swapping(m);
        break;
    case PLAN_PLAIN: plainly(m); break;
    case PLAN_RUN: break; /* scatter_run.c */
    case PLAN_LOCK: locked(m); break;
    }
}

void emit_scatter_row(Scatter *m, const IrRef *update)
{
    EmitValues *e = m->e;
    const PlanStage *stage = m->s;
    const HloInstruction *indices = m->i->operands[m->results];
    const HloShape *to = plan_shape(m->i, stage->first), *from = emit_scatter_updates(m);
    const uint32_t columns = (uint32_t)indices->shape->dims[1];
    m->x = WBB_NEW_N(e->arena, IrRef, m->n + 1), m->start = WBB_NEW_N(e->arena, IrRef, columns + 1);
    m->update = update, m->fits = 0;
    for (uint32_t k = 0; k < m->n && stage->combine != PLAN_RUN; k++) {
        const HloInstruction *x = m->i->operands[m->results + 1 + stage->first + k];
        m->x[k] = emit_as(e, emit_value(e, (PlanValue){x, 0}, update), type_of(m, k));
    }
    for (uint32_t c = 0; c < columns; c++) {
        IrRef *at = WBB_NEW_N(e->arena, IrRef, 2);
        at[0] = update[0], at[1] = ir_index(e->g, c);
        m->start[c] = emit_value(e, (PlanValue){indices, 0}, at);
        const IrRef one = inside(m, m->start[c], to->dims[c] - from->dims[c + 1]);
        if (one) m->fits = m->fits ? node(m, OP_BAND, SC_PRED, m->fits, one) : one;
    }
}

bool emit_scatter_open(Scatter *m, EmitIf *c)
{
    const HloShape *to = plan_shape(m->i, m->s->first), *from = emit_scatter_updates(m);
    const uint32_t columns = (uint32_t)m->i->operands[m->results]->shape->dims[1];
    *c = emit_if(m->e, m->fits);
    if (emit_never(c)) return false;
    IrRef *at = WBB_NEW_N(m->e->arena, IrRef, to->rank + 1u);
    for (uint32_t d = 0; d < to->rank; d++) {
        at[d] = m->update[d + 1];
        if (d < columns) at[d] = rw_add(m->rw, start_of(m, m->start[d], to->dims[d] - from->dims[d + 1]), at[d]);
    }
    m->index = at, m->at = ix_linear(m->rw, to, at);
    return true;
}

void emit_scatter_close(const Scatter *m, EmitIf *c) { emit_close_if(m->e, c); }

void emit_scatter_element(Scatter *m)
{
    EmitIf c;
    if (emit_scatter_open(m, &c)) emit_scatter_combine(m);
    emit_scatter_close(m, &c);
}

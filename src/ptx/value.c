/* value.c: the registers that hold values: words, elements, pairs of words.
 *
 * Needs the scope of a value; leaves registers. Words and elements are made of each other where they are needed first,
 * at the end of the scope that the value is of, so that every later use has them.
 *
 *     bf16x4 in two words; its element 1   ->   mov.b32 {%rs1, %rs2}, %r1;   %rs2
 */
#include "ptx/inner.h"

#include <string.h>

enum { WORD = 32, FULL = 15 }; /* bits of a word, a bit for each of its bytes */
static const uint64_t CUT = UINT64_MAX; /* beside numbers in their map: what a byte was cut out of */

/* Is what was written in the scope there for what is written in b->at? Open scopes are around each other. */
bool ptx_is_here(const PtxBuild *b, uint32_t scope)
{
    return b->open[scope] && b->places.items[scope].depth <= b->places.items[b->at].depth;
}

bool ptx_has(const PtxBuild *b, IrRef r) { return b->values[r] && ptx_is_here(b, b->values[r]->scope); }

PtxReg ptx_new(PtxBuild *b, PtxKind kind) { return (PtxReg){.kind = (uint8_t)kind, .n = ++b->used[kind]}; }

PtxReg ptx_number(uint32_t bits, uint64_t n)
{
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return (PtxReg){.kind = PTX_NUMBER, .bits = (uint8_t)bits, .n = n & mask};
}

static PtxKind kind_of(uint32_t bits)
{
    return bits == 1 ? PTX_PRED : bits == 16 ? PTX_B16 : bits == 64 ? PTX_B64 : PTX_B32;
}

const char *ptx_suffix(PtxKind kind)
{
    static const char *const names[] = {[PTX_PRED] = "pred", [PTX_B16] = "b16", [PTX_B32] = "b32", [PTX_B64] = "b64"};
    return names[kind];
}

void ptx_move(PtxBuild *b, PtxReg to, PtxReg from)
{
    if (to.kind == from.kind && to.n == from.n) return;
    ptx_line(b, "mov.%s %R, %R;", ptx_suffix((PtxKind)to.kind), to, from);
}

/* A number has one register in a function, at the end of its body's own lines as they are when it is needed first. */
PtxReg ptx_register(PtxBuild *b, PtxReg r)
{
    if (r.kind != PTX_NUMBER) return r;
    const uint64_t key[2] = {r.n, (uint64_t)r.bits << 32 | b->places.items[b->at].root};
    WbbEntry *e = wbb_map_put_bytes(&b->numbers, key, sizeof key);
    const PtxKind kind = kind_of(r.bits);
    if (!e->value) {
        const PtxReg made = ptx_new(b, kind);
        const uint32_t at = b->at;
        b->at = b->places.items[at].root;
        ptx_move(b, made, r);
        b->at = at;
        wbb_map_put_bytes(&b->numbers, key, sizeof key)->value = made.n;
        return made;
    }
    return (PtxReg){.kind = (uint8_t)kind, .n = e->value};
}

/* --- types -------------------------------------------------------------------------------------------------------- */
uint32_t ptx_parts(IrType t) { return sc_type_info[IR_SC(t)].cls == 'C' ? 2 : 1; }
uint32_t ptx_n_elements(IrType t) { return IR_LANES(t) * ptx_parts(t); }

uint32_t ptx_bits(IrType t)
{
    return IR_SC(t) == SC_PRED ? 1u : IR_SC(t) == SC_INDEX ? 32u : sc_type_info[IR_SC(t)].bits / ptx_parts(t);
}

PtxKind ptx_kind(IrType t) { return kind_of(ptx_bits(t)); }

/* Several elements share a word. */
static bool shares(IrType t) { return ptx_bits(t) > 1 && ptx_bits(t) < WORD && IR_LANES(t) > 1; }

uint32_t ptx_n_words(IrType t)
{
    return shares(t) ? WBB_MAX(1u, ptx_bits(t) * IR_LANES(t) / WORD) : ptx_n_elements(t);
}

PtxKind ptx_word_kind(IrType t) { return shares(t) ? PTX_B32 : ptx_kind(t); }

PtxValue *ptx_value(PtxBuild *b, IrType type)
{
    PtxValue *v = WBB_NEW(b->arena, PtxValue);
    const uint32_t bits = sc_type_info[IR_SC(type)].bits;
    if (IR_SC(type) != SC_INDEX && (bits < 1 || bits > 64 * ptx_parts(type)))
        wbb_decline(b->cx, (WbbLoc){0}, WHY_TYPE, "@%s: values of type %s", b->k->name, sc_type_info[IR_SC(type)].name);
    *v = (PtxValue){.type = type, .scope = b->at};
    return v;
}

PtxValue *ptx_constant(PtxBuild *b, IrType type, uint64_t bits)
{
    PtxValue *v = ptx_value(b, type);
    const uint32_t own = ptx_bits(type), n = ptx_n_elements(type), words = ptx_n_words(type);
    if (ptx_parts(type) == 2) ptx_decline(b, "text for", "a complex constant");
    v->elements = WBB_NEW_N(b->arena, PtxReg, n);
    v->words = WBB_NEW_N(b->arena, PtxReg, words);
    v->upper = 'z';
    for (uint32_t i = 0; i < n; i++) v->elements[i] = ptx_number(own == 1 || own >= 16 ? own : WORD, bits);
    for (uint32_t i = 0; i < words; i++) {
        uint64_t word = 0;
        for (uint32_t at = 0; shares(type) && at < WORD; at += own) word |= bits << at;
        v->words[i] = shares(type) ? ptx_number(WORD, word) : v->elements[i];
    }
    return v;
}

/* --- elements of words, words of elements ------------------------------------------------------------------------- */
/* Signed ones with their sign, others with zeros above: a permute does both. */
static PtxReg cut_out(PtxBuild *b, PtxReg word, uint32_t at, uint32_t bits, bool is_signed)
{
    const PtxReg d = ptx_new(b, PTX_B32);
    const uint32_t byte = at / 8, selector = is_signed ? 0x8880 | byte * 0x1111 : 0x4440 | byte;
    if (bits == 8) {
        const uint64_t key[2] = {CUT, (uint64_t)b->function << 32 | d.n};
        wbb_map_put_bytes(&b->numbers, key, sizeof key)->value = word.n << 2 | byte;
        ptx_line(b, "prmt.b32 %R, %R, 0, %u;", d, word, selector);
    } else ptx_line(b, is_signed ? "bfe.s32 %R, %R, %u, %u;" : "bfe.u32 %R, %R, %u, %u;", d, word, at, bits);
    return d;
}

PtxReg ptx_element(PtxBuild *b, PtxValue *v, uint32_t i)
{
    const uint32_t n = ptx_n_elements(v->type), bits = ptx_bits(v->type), at = b->at;
    if (!shares(v->type)) return ptx_words(b, v)[i];
    const bool is_signed = sc_is_signed(IR_SC(v->type));
    if (!v->elements) v->elements = WBB_NEW_N(b->arena, PtxReg, n), v->upper = is_signed ? 's' : 'z';
    if (v->elements[i].kind != PTX_NONE) return v->elements[i];
    const PtxReg word = v->words[i * bits / WORD];
    b->at = v->scope;
    if (bits == 16) {
        PtxReg *x = v->elements + i / 2 * 2;
        x[0] = ptx_new(b, PTX_B16), x[1] = ptx_new(b, PTX_B16);
        ptx_line(b, "mov.b32 {%R, %R}, %R;", x[0], x[1], ptx_register(b, word));
    } else v->elements[i] = cut_out(b, ptx_register(b, word), i * bits % WORD, bits, is_signed);
    b->at = at;
    return v->elements[i];
}

/* The word that a byte was cut out of, and which of its bytes it is; else the register itself. */
static PtxReg cut_from(PtxBuild *b, PtxReg x, uint32_t *byte)
{
    const uint64_t key[2] = {CUT, (uint64_t)b->function << 32 | x.n};
    const uint64_t from = x.kind == PTX_B32 ? wbb_map_put_bytes(&b->numbers, key, sizeof key)->value : 0;
    *byte = from & 3;
    return from ? (PtxReg){.kind = PTX_B32, .n = from >> 2} : ptx_register(b, x);
}

/* Two bytes in the low bits of a word. */
static PtxReg two_bytes(PtxBuild *b, const PtxReg *x)
{
    uint32_t i, k;
    const PtxReg low = cut_from(b, x[0], &i), high = cut_from(b, x[1], &k), d = ptx_new(b, PTX_B32);
    ptx_line(b, "prmt.b32 %R, %R, %R, %u;", d, low, high, 0x3300 | (4 + k) << 4 | i);
    return d;
}

/* `n` elements from the given one on in the low bits of a word. */
static PtxReg joined(PtxBuild *b, const PtxReg *x, uint32_t n, uint32_t bits)
{
    if (n == 1) return ptx_register(b, x[0]);
    if (bits == 16) {
        const PtxReg low = ptx_register(b, x[0]), high = ptx_register(b, x[1]), d = ptx_new(b, PTX_B32);
        ptx_line(b, "mov.b32 %R, {%R, %R};", d, low, high);
        return d;
    }
    if (bits == 8 && n == 2) return two_bytes(b, x);
    const PtxReg low = joined(b, x, n / 2, bits), high = joined(b, x + n / 2, n / 2, bits), d = ptx_new(b, PTX_B32);
    if (bits == 8) ptx_line(b, "prmt.b32 %R, %R, %R, 0x5410;", d, low, high);
    else ptx_line(b, "bfi.b32 %R, %R, %R, %u, %u;", d, high, low, bits * n / 2, bits * n / 2);
    return d;
}

/* --- preds of bytes ----------------------------------------------------------------------------------------------- */
static uint32_t under(uint32_t bytes, uint32_t each)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < BYTES; i++)
        if (bytes >> i & 1) mask |= each << 8 * i;
    return mask;
}

static PtxReg predicate(PtxBuild *b, PtxTest t)
{
    const PtxReg d = ptx_new(b, PTX_PRED);
    PtxReg x = t.word;
    if (t.bytes != FULL && !t.alone) {
        x = ptx_new(b, PTX_B32);
        ptx_line(b, "and.b32 %R, %R, %R;", x, t.word, ptx_number(32, under(t.bytes, 0xff)));
    }
    if (t.all) ptx_line(b, "setp.eq.b32 %R, %R, %R;", d, x, ptx_number(32, under(t.bytes, 1)));
    else ptx_line(b, "setp.ne.b32 %R, %R, 0;", d, x);
    return d;
}

static PtxTest test_of(const PtxValue *v, uint32_t i)
{
    return v->packed ? (PtxTest){v->packed[i / BYTES], 1u << i % BYTES, false, false} : v->test;
}

static bool is_packed(const PtxValue *v) { return v->packed || v->test.word.kind != PTX_NONE; }

static PtxReg *predicates(PtxBuild *b, const PtxValue *v)
{
    const uint32_t n = IR_LANES(v->type);
    PtxReg *made = WBB_NEW_N(b->arena, PtxReg, n);
    for (uint32_t i = 0; i < n; i++) made[i] = predicate(b, test_of(v, i));
    return made;
}

PtxReg *ptx_words(PtxBuild *b, PtxValue *v)
{
    if (v->words) return v->words;
    const uint32_t n = ptx_n_words(v->type), at = b->at, bits = ptx_bits(v->type);
    const bool bytes = is_packed(v);
    b->at = v->scope;
    v->words = bytes ? predicates(b, v) : WBB_NEW_N(b->arena, PtxReg, n);
    for (uint32_t i = 0; i < n && !bytes; i++) {
        if (v->pairs && i % 2 == 0) {
            v->words[i] = ptx_new(b, PTX_B32), v->words[i + 1] = ptx_new(b, PTX_B32);
            ptx_line(b, "mov.b64 {%R, %R}, %R;", v->words[i], v->words[i + 1], v->pairs[i / 2]);
        } else if (!v->pairs && shares(v->type)) {
            const uint32_t each = WBB_MIN(WORD / bits, IR_LANES(v->type));
            v->words[i] = joined(b, v->elements + i * each, each, bits);
        } else if (!v->pairs) v->words[i] = v->elements[i];
    }
    b->at = at;
    return v->words;
}

uint64_t ptx_zero(const PtxValue *v, uint32_t i)
{
    const uint32_t bits = ptx_bits(v->type);
    const bool narrow = bits < 16;
    const PtxReg x = v->elements ? v->elements[i] : IR_LANES(v->type) == 1 && v->words ? v->words[0] : (PtxReg){0};
    if (x.kind == PTX_NUMBER) return ~x.n;
    const uint64_t above = bits == 64 ? 0 : UINT64_MAX << (narrow ? WORD : bits); /* the register */
    return v->zero | above | (narrow && v->upper == 'z' ? UINT64_MAX << bits : 0);
}

PtxReg ptx_extended(PtxBuild *b, PtxValue *v, uint32_t i, char how)
{
    const uint32_t bits = ptx_bits(v->type);
    if (how == 'o') how = sc_is_signed(IR_SC(v->type)) ? 's' : 'z';
    const PtxReg x = ptx_element(b, v, i);
    if (bits == 1 || bits >= 16 || (how != 'z' && how != 's') || v->upper == how) return x;
    if (x.kind == PTX_NUMBER) /* a constant, whose upper bits are zero */
        return ptx_number(WORD, how == 'z' ? x.n : (uint64_t)((int64_t)(x.n << (64 - bits)) >> (64 - bits)));
    const uint64_t above = UINT32_MAX & ~((UINT64_C(1) << (bits - (how == 's'))) - 1);
    if ((ptx_zero(v, i) & above) == above) return x;
    const PtxReg d = ptx_new(b, PTX_B32);
    if (how == 'z') ptx_line(b, "and.b32 %R, %R, %u;", d, x, (1u << bits) - 1);
    else if (bits == 8) ptx_line(b, "cvt.s32.s8 %R, %R;", d, x);
    else ptx_line(b, "bfe.s32 %R, %R, 0, %u;", d, x, bits);
    return d;
}

PtxReg ptx_pair(PtxBuild *b, PtxValue *v, uint32_t i)
{
    if (v->pairs && v->pairs[i].kind != PTX_NONE) return v->pairs[i];
    const PtxReg *w = ptx_words(b, v);
    if (!v->pairs) v->pairs = WBB_NEW_N(b->arena, PtxReg, ptx_n_words(v->type) / 2);
    const uint32_t at = b->at;
    b->at = v->scope;
    const PtxReg low = ptx_register(b, w[2 * i]), high = ptx_register(b, w[2 * i + 1]);
    v->pairs[i] = ptx_new(b, PTX_B64);
    ptx_line(b, "mov.b64 %R, {%R, %R};", v->pairs[i], low, high);
    b->at = at;
    return v->pairs[i];
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */
static PtxValue *part_of_bytes(PtxBuild *b, PtxValue *v, IrType type, uint32_t first)
{
    PtxValue *d = ptx_value(b, type);
    if (IR_LANES(type) == 1) d->test = test_of(v, first);
    else if (first % BYTES == 0) d->packed = v->packed + first / BYTES;
    else d->words = ptx_words(b, v) + first;
    return d;
}

PtxValue *ptx_part(PtxBuild *b, PtxValue *v, IrType type, uint32_t first)
{
    const uint32_t n = ptx_n_elements(type), bits = ptx_bits(type);
    if (v->packed) return part_of_bytes(b, v, type, first);
    first *= ptx_parts(type);
    PtxValue *d = ptx_value(b, type);
    if (!shares(v->type)) {
        d->words = ptx_words(b, v) + first;
        return d;
    }
    if (n == 1) {
        d->words = WBB_NEW(b->arena, PtxReg);
        d->words[0] = ptx_element(b, v, first);
        d->upper = v->upper;
        return d;
    }
    const PtxReg *words = ptx_words(b, v) + first * bits / WORD;
    const uint32_t shift = first * bits % WORD;
    d->words = WBB_NEW_N(b->arena, PtxReg, ptx_n_words(type));
    for (uint32_t i = 0; i < ptx_n_words(type); i++) d->words[i] = words[i];
    if (shift + WBB_MIN(n * bits, WORD) > WORD) { /* each word has elements of two */
        for (uint32_t i = 0; i < ptx_n_words(type); i++) {
            const PtxReg low = ptx_register(b, words[i]), high = ptx_register(b, words[i + 1]);
            d->words[i] = ptx_new(b, PTX_B32);
            ptx_line(b, "shf.r.wrap.b32 %R, %R, %R, %u;", d->words[i], low, high, shift);
        }
        return d;
    }
    if (n * bits == WORD / 2 && shift % (WORD / 2) == 0) {
        const PtxReg low = ptx_new(b, PTX_B16), high = ptx_new(b, PTX_B16);
        ptx_line(b, "mov.b32 {%R, %R}, %R;", low, high, ptx_register(b, words[0]));
        d->half = shift ? high : low;
    }
    if (shift) {
        d->words[0] = ptx_new(b, PTX_B32);
        ptx_line(b, "shr.u32 %R, %R, %u;", d->words[0], words[0], shift);
    }
    return d;
}

PtxValue *ptx_pack(PtxBuild *b, PtxValue *x, PtxValue *y, IrType type)
{
    PtxValue *d = ptx_value(b, type);
    const uint32_t half = ptx_n_elements(type) / 2, bits = ptx_bits(type);
    if (!shares(type) || half * bits >= WORD) {
        const uint32_t n = ptx_n_words(type) / 2;
        d->words = WBB_NEW_N(b->arena, PtxReg, 2 * n);
        memcpy(d->words, ptx_words(b, x), n * sizeof *d->words);
        memcpy(d->words + n, ptx_words(b, y), n * sizeof *d->words);
        return d;
    }
    d->words = WBB_NEW(b->arena, PtxReg);
    if (half == 1) {
        const PtxReg both[2] = {ptx_element(b, x, 0), ptx_element(b, y, 0)};
        d->words[0] = joined(b, both, 2, bits);
        return d;
    }
    if (half * bits == WORD / 2 && x->half.kind != PTX_NONE && y->half.kind != PTX_NONE) {
        d->words[0] = ptx_new(b, PTX_B32);
        ptx_line(b, "mov.b32 %R, {%R, %R};", d->words[0], x->half, y->half);
        return d;
    }
    const PtxReg low = ptx_register(b, ptx_words(b, x)[0]), high = ptx_register(b, ptx_words(b, y)[0]);
    d->words[0] = ptx_new(b, PTX_B32);
    if (bits == 8) ptx_line(b, "prmt.b32 %R, %R, %R, 0x5410;", d->words[0], low, high);
    else ptx_line(b, "bfi.b32 %R, %R, %R, %u, %u;", d->words[0], high, low, half * bits, half * bits);
    return d;
}

PtxValue *ptx_splat(PtxBuild *b, PtxValue *x, IrType type)
{
    PtxValue *d = ptx_value(b, type);
    const uint32_t n = ptx_n_elements(type), parts = ptx_parts(type), words = ptx_n_words(type);
    if (!shares(type)) {
        d->words = WBB_NEW_N(b->arena, PtxReg, n);
        for (uint32_t i = 0; i < n; i++) d->words[i] = ptx_words(b, x)[i % parts];
        return d;
    }
    const uint32_t each = WBB_MIN(WORD / ptx_bits(type), n);
    PtxReg *same = WBB_NEW_N(b->arena, PtxReg, each);
    for (uint32_t i = 0; i < each; i++) same[i] = ptx_element(b, x, 0);
    d->words = WBB_NEW_N(b->arena, PtxReg, words);
    d->words[0] = joined(b, same, each, ptx_bits(type));
    for (uint32_t i = 1; i < words; i++) d->words[i] = d->words[0];
    return d;
}

/* memory.c: loads and stores.
 *
 * Needs emitted indices; leaves registers or memory.
 *
 *     load.f32x2 %x[4*t]   ->   ld.global.nc.v2.b32 {%r1, %r2}, [%rd3];
 */
#include "ptx/inner.h"

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* What a value is in memory: n pieces of `bits` bits. */
typedef struct {
    uint32_t n, bits;
} Pieces;

static Pieces pieces_of(IrType type)
{
    const uint32_t bits = ptx_bits(type), all = bits * ptx_n_elements(type), lanes = IR_LANES(type);
    if (IR_SC(type) == SC_PRED) return lanes <= 4 ? (Pieces){1, lanes * 8} : (Pieces){lanes / 4, 32};
    if (all <= 32 || (IR_LANES(type) == 1 && ptx_parts(type) == 1)) return (Pieces){1, WBB_MAX(all, 8u)};
    return bits == 64 ? (Pieces){all / 64, 64} : (Pieces){all / 32, 32};
}

static const char *vector_of(PtxBuild *b, Pieces p)
{
    return p.n == 1 ? "" : wbb_format(b->arena, ".v%u", p.n);
}

static const char *registers_text(PtxBuild *b, const PtxReg *r, uint32_t n)
{
    WbbBuf out = wbb_buf(b->arena);
    if (n > 1) wbb_put(&out, "{");
    for (uint32_t i = 0; i < n; i++) {
        if (i) wbb_put(&out, ", ");
        ptx_put_reg(&out, r[i], false);
    }
    if (n > 1) wbb_put(&out, "}");
    return out.text;
}

/* The address of the byte in which a packed element begins. */
static PtxAddress byte_address(PtxBuild *b, uint32_t buffer, IrRef index, uint32_t bits)
{
    const uint32_t down = bits == 4 ? 1 : 2;
    PtxAddress a;
    if (ptx_byte_address(b, buffer, index, down, &a)) return a;
    a = ptx_address(b, buffer, ir_index(b->g, 0));
    const bool wide = ir_is_wide(b->g, index);
    const PtxReg x = ptx_index(b, index, wide), half = ptx_new(b, wide ? PTX_B64 : PTX_B32);
    ptx_line(b, wide ? "shr.u64 %R, %R, %u;" : "shr.u32 %R, %R, %u;", half, x, down);
    const bool shared = b->k->buffers[buffer].space == IR_SHARED;
    if (shared) ptx_decline(b, "text for", "packed elements in shared memory");
    const PtxReg d = ptx_new(b, PTX_B64);
    ptx_line(b, "add.s64 %R, %R, %R;", d, a.base, ptx_resize(b, half, true, false));
    a.base = d;
    return a;
}

static PtxAddress address_of(PtxBuild *b, uint32_t buffer, IrRef index, ScType type)
{
    b->maker = ir_made_by(b->g, index);
    if (ir_is_packed(type)) return byte_address(b, buffer, index, sc_type_info[type].bits);
    return ptx_address(b, buffer, index);
}

/* An access to memory now. order: "", ".nc", or ".relaxed.gpu". */
static PtxValue *read(PtxBuild *b, IrType type, PtxAddress a, const char *order)
{
    PtxValue *v = ptx_value(b, type);
    const Pieces p = pieces_of(type);
    const bool integer = IR_LANES(type) == 1 && p.bits == 8 && sc_is_signed(IR_SC(type)) && ptx_bits(type) == 8;
    PtxReg *words = WBB_NEW_N(b->arena, PtxReg, p.n);
    const bool half = p.bits == 16 && ptx_word_kind(type) == PTX_B16;
    for (uint32_t i = 0; i < p.n; i++) words[i] = ptx_new(b, p.bits == 64 ? PTX_B64 : half ? PTX_B16 : PTX_B32);
    const char *to = registers_text(b, words, p.n), *at = ptx_address_text(b, a), *vector = vector_of(b, p);
    const char *kind = integer ? "s" : "b"; /* what is narrower than its register has zeros above */
    const bool before = order[0] == '.' && order[1] == 'r'; /* ld.relaxed.gpu.global, ld.global.nc */
    if (before) ptx_line(b, "ld%s%s%s.%s%u %s, [%s];", order, a.space, vector, kind, p.bits, to, at);
    else ptx_line(b, "ld%s%s%s.%s%u %s, [%s];", a.space, order, vector, kind, p.bits, to, at);
    v->upper = ptx_bits(type) < 8 ? 0 : integer ? 's' : 'z';
    if (IR_SC(type) != SC_PRED) v->words = words;
    else if (IR_LANES(type) > 1) v->packed = words;
    else v->test = (PtxTest){words[0], 1, false, true};
    return v;
}

static void write(PtxBuild *b, PtxValue *v, PtxAddress a, const char *order)
{
    const Pieces p = pieces_of(v->type);
    PtxReg *words = WBB_NEW_N(b->arena, PtxReg, p.n);
    if (ptx_bits(v->type) * ptx_n_elements(v->type) < 8 && IR_SC(v->type) != SC_PRED)
        wbb_fail(b->cx, (WbbLoc){0}, "@%s: a store of %u bits: a thread stores whole bytes", b->k->name,
                 ptx_bits(v->type));
    if (IR_SC(v->type) == SC_PRED) ptx_bytes(b, v, words);
    for (uint32_t i = 0; i < p.n && IR_SC(v->type) != SC_PRED; i++) words[i] = ptx_register(b, ptx_words(b, v)[i]);
    ptx_line(b, "st%s%s%s.b%u [%s], %s;", order, a.space, vector_of(b, p), p.bits, ptx_address_text(b, a),
             registers_text(b, words, p.n));
}

/* --- loads -------------------------------------------------------------------------------------------------------- */
/* One packed element: its bits of a byte. */
static PtxValue *packed_element(PtxBuild *b, IrType type, PtxAddress a, IrRef index, const char *order)
{
    const uint32_t bits = ptx_bits(type);
    PtxValue *v = ptx_value(b, type), *whole = read(b, IR_TYPE(SC_U8, 0), a, order);
    const bool wide = ir_is_wide(b->g, index);
    const PtxReg x = ptx_resize(b, ptx_index(b, index, wide), false, false), y = ptx_new(b, PTX_B32);
    const PtxReg shift = ptx_new(b, PTX_B32), d = ptx_new(b, PTX_B32);
    ptx_line(b, "and.b32 %R, %R, %u;", y, ptx_register(b, x), 8 / bits - 1);
    ptx_line(b, "mul.lo.u32 %R, %R, %u;", shift, y, bits);
    ptx_line(b, "shr.u32 %R, %R, %R;", d, whole->words[0], shift);
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = d;
    return v;
}

PtxValue *ptx_load(PtxBuild *b, IrRef r, uint32_t buffer, IrRef index)
{
    const IrNode *n = ir_at(b->g, r);
    IrMaker maker = {IR_BY_LOAD, r, buffer};
    PtxAddress a = address_of(b, buffer, index, IR_SC(n->type));
    b->maker = maker;
    if (n->op == OP_READ_PEER) {
        PtxReg here = a.name ? ptx_base(b, buffer) : a.base;
        const PtxReg base = here, d = ptx_new(b, PTX_B32);
        if (a.offset) here = ptx_new(b, PTX_B32), ptx_line(b, "add.s32 %R, %R, %l;", here, base, a.offset);
        ptx_line(b, "mapa.shared::cluster.u32 %R, %R, %l;", d, here, (int64_t)n->imm);
        a = (PtxAddress){.base = d, .space = ".shared::cluster"};
    }
    const bool constant = n->op == OP_LOAD && b->constant[buffer] && b->k->buffers[buffer].space != IR_SHARED;
    const char *order = n->op == OP_READ_RELAXED ? ".relaxed.gpu" : constant ? ".nc" : "";
    if (ir_is_packed(IR_SC(n->type)) && IR_LANES(n->type) == 1) return packed_element(b, n->type, a, index, order);
    return read(b, n->type, a, order);
}

void ptx_store(PtxBuild *b, PtxValue *v, uint32_t buffer, IrRef index, const char *order)
{
    const IrMaker maker = b->maker;
    const PtxAddress a = address_of(b, buffer, index, IR_SC(v->type));
    b->maker = maker;
    write(b, v, a, order);
}

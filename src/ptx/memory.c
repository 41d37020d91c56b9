/* memory.c: loads and stores.
 *
 * Needs the scopes of each node, and emitted indices; leaves registers or memory. Neighbouring elements that one scope
 * loads are one access, made where the first of them is needed. Facts prove its alignment. ptxas joins no accesses.
 *
 *     load %x[4*t]; load %x[4*t + 1]   ->   ld.global.nc.v2.b32 {%r1, %r2}, [%rd3];
 */
#include "ptx/inner.h"

enum { MOST_LANES = 32 };

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* The alignment in bytes that facts prove of an element's address, at most the buffer's own. */
uint32_t ptx_align(PtxBuild *b, const IrBuffer *buffer, ScType type, IrRef index, bool may_round_up)
{
    uint32_t align = sc_bytes(type);
    const uint32_t most = may_round_up ? ir_word_align(buffer) : buffer->align;
    const WbbI128 last = ir_fact(b->g, index).hi;
    WbbI128 elements = 1;
    while (align < most && ir_multiple(b->g, index, 2 * elements) &&
           (!may_round_up || last + 2 * elements <= buffer->elements)) {
        elements *= 2;
        align *= 2;
    }
    return align;
}

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
    ptx_made_by(b, index);
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

/* --- groups of loads ---------------------------------------------------------------------------------------------- */
/* The loads of elements of one buffer whose indices have the same terms, and constants between two multiples of the
 * number of elements in the widest access. */
struct PtxGroup {
    IrRef at[MOST_LANES];       /* by lane: a load of as many elements as all of the group; 0: none */
    PtxValue *wide[MOST_LANES]; /* by first lane: the last access made; it is there while its scope is open */
};

static uint32_t most_lanes(const PtxBuild *b, ScType type)
{
    return WBB_MIN(b->t->vector_bytes / sc_bytes(type), MOST_LANES);
}

/* The most loads of this type that are one access. */
static uint32_t most_loads(const PtxBuild *b, IrType type)
{
    return most_lanes(b, IR_SC(type)) / IR_LANES(type);
}

static bool is_candidate(const PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op != OP_LOAD || !b->places.emitted[r]) return false;
    const uint32_t buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    const ScType type = IR_SC(n->type);
    return b->constant[buffer] && ir_is_parameter(&b->k->buffers[buffer]) && !ir_is_packed(type) &&
           most_loads(b, n->type) > 1;
}

/* The constant of an index, rounded to minus infinity, and the lane. */
static int64_t first_of(int64_t constant, uint32_t lanes, uint32_t *lane)
{
    *lane = (uint32_t)((uint64_t)constant % lanes); /* a power of two */
    return constant - *lane;
}

/* What is common to accesses of a group: its terms. key: room for 2 + 2 * terms. */
static size_t key_of(const IrSplit *s, uint64_t buffer, uint64_t first, uint64_t *key)
{
    size_t n = 0;
    key[n++] = buffer, key[n++] = first;
    for (uint32_t i = 0; i < s->n; i++) key[n++] = (uint64_t)s->terms[i].coefficient, key[n++] = s->terms[i].ref;
    return n;
}

void ptx_find_groups(PtxBuild *b)
{
    WbbMap map = {.arena = b->arena};
    b->groups = WBB_NEW_N(b->arena, PtxGroup *, b->g->n);
    b->alike = WBB_NEW_N(b->arena, IrRef, b->g->n);
    for (IrRef r = 1; r < b->g->n; r++) {
        if (!is_candidate(b, r)) continue;
        const IrNode *n = ir_at(b->g, r);
        const IrSplit s = ptx_expanded(b, n->a[1], false);
        const int64_t each = IR_LANES(n->type);
        if (s.constant % each) continue;
        uint32_t lane;
        uint64_t *key = WBB_NEW_N(b->arena, uint64_t, 2 + 2 * s.n);
        const int64_t first = first_of(s.constant / each, most_loads(b, n->type), &lane);
        const uint64_t loads = ir_at(b->g, n->a[0])->imm << 32 | (uint64_t)each;
        const size_t length = key_of(&s, loads, (uint64_t)first, key);
        WbbEntry *e = wbb_map_put_bytes(&map, key, length * sizeof *key);
        if (!e->pointer) e->pointer = WBB_NEW(b->arena, PtxGroup);
        b->groups[r] = e->pointer;
        b->alike[r] = b->groups[r]->at[lane];
        b->groups[r]->at[lane] = r;
    }
}

/* The load of a lane in a scope, else any of the lane. *there: it is in the scope. */
static IrRef load_of(const PtxBuild *b, const PtxGroup *group, uint32_t lane, uint32_t scope, bool *there)
{
    IrRef r = group->at[lane];
    while (r && !ir_is_placed_in(&b->places, r, scope)) r = b->alike[r];
    *there = r != 0;
    return r ? r : group->at[lane];
}

/* The loads of the widest access that has this one, number `lane`, and that loads no more than the scope does, or one
 * element more: of three neighbours four, where the buffer has them; 1: a load of its own. */
static uint32_t width_at(PtxBuild *b, const PtxGroup *group, uint32_t lane, uint32_t scope)
{
    bool there;
    const IrNode *x = ir_at(b->g, group->at[lane]);
    const ScType type = IR_SC(x->type);
    const uint32_t each = IR_LANES(x->type), size = sc_bytes(type) * each;
    const IrBuffer *buffer = &b->k->buffers[ir_at(b->g, x->a[0])->imm];
    for (uint32_t lanes = most_loads(b, x->type); lanes > 1; lanes /= 2) {
        const uint32_t first = lane / lanes * lanes;
        uint32_t n = 0;
        for (uint32_t k = 0; k < lanes; k++) {
            (void)load_of(b, group, first + k, scope, &there);
            n += there;
        }
        const IrRef from = load_of(b, group, first, scope, &there);
        if (!from || (n < lanes && (n != 3 || lanes != 4 || each > 1))) continue;
        const uint32_t align = ptx_align(b, buffer, type, ir_at(b->g, from)->a[1], n < lanes);
        if (align >= lanes * size) return lanes;
    }
    return 1;
}

/* Are the terms of the index there, which the access of another element needs? */
static bool is_there(PtxBuild *b, IrRef index)
{
    const IrSplit s = ptx_expanded(b, index, true);
    for (uint32_t i = 0; i < s.n; i++)
        if (!ptx_has(b, s.terms[i].ref)) return false;
    return true;
}

/* The element of its group's access, which is made now if the scope has not made it; NULL: r is loaded alone. */
static PtxValue *of_group(PtxBuild *b, IrRef r)
{
    PtxGroup *group = b->groups[r];
    if (!group) return NULL;
    const IrNode *n = ir_at(b->g, r);
    const uint32_t scope = b->at, buffer = (uint32_t)ir_at(b->g, n->a[0])->imm;
    const uint32_t each = IR_LANES(n->type);
    uint32_t lane;
    (void)first_of(ptx_expanded(b, n->a[1], false).constant / each, most_loads(b, n->type), &lane);
    const uint32_t lanes = width_at(b, group, lane, scope), first = lane / lanes * lanes;
    if (lanes == 1) return NULL;
    bool there;
    const IrRef index = ir_at(b->g, load_of(b, group, first, scope, &there))->a[1];
    if (!is_there(b, index)) return NULL;
    if (!group->wide[first] || group->wide[first]->scope != scope) {
        const PtxMaker maker = b->maker;
        const PtxAddress a = address_of(b, buffer, index, IR_SC(n->type));
        b->maker = maker;
        group->wide[first] = read(b, IR_TYPE(IR_SC(n->type), __builtin_ctz(lanes * each)), a, ".nc");
    }
    return ptx_part(b, group->wide[first], n->type, (lane - first) * each);
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
    PtxMaker maker = {PTX_BY_LOAD, r, buffer};
    b->maker = maker;
    PtxValue *v = n->op == OP_LOAD ? of_group(b, r) : NULL;
    if (v) return v;
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
    const PtxMaker maker = b->maker;
    const PtxAddress a = address_of(b, buffer, index, IR_SC(v->type));
    b->maker = maker;
    write(b, v, a, order);
}

/* atomic: atom and red, of one element or a vector of them, in global, shared and generic memory.
 * An element of 16 bytes is two halves, which cas compares together.
 *
 * Needs: table.c for operands, memory.c for addresses. Leaves: operations, and changed memory and columns.
 *
 * The lanes of a warp update memory in the order of their numbers, as warps and blocks do. Hardware promises no
 * order, so a result that depends on it differs when the order is changed (SimOptions.order). An f32 add in global
 * memory takes subnormal operands and results as zeros of their sign, one in shared memory does not; 16-bit and f64
 * adds keep them (PTX ISA 9.7.13, atom and red).
 *
 *     atom.relaxed.sys.global.cas.b32 %r3, [%rd1], %r1, %r2;   ->   lane by lane: %r3 = *p; if (*p == %r1) *p = %r2
 */
#include "sim/lanes.h"

enum { ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS, ATOM_NAMES };
enum { TYPE_BITS, TYPE_UNSIGNED, TYPE_SIGNED, TYPE_FLOAT, TYPE_F16, TYPE_BF16, TYPE_HALVES };

static const char *const names[ATOM_NAMES] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
static const struct {
    const char *name;
    uint8_t bytes, type;
} types[] = {
    {"b16", 2, TYPE_BITS}, {"b32", 4, TYPE_BITS}, {"b64", 8, TYPE_BITS}, {"u32", 4, TYPE_UNSIGNED}, {"u64", 8, TYPE_UNSIGNED}, {"s32", 4, TYPE_SIGNED},
    {"s64", 8, TYPE_SIGNED}, {"f32", 4, TYPE_FLOAT}, {"f64", 8, TYPE_FLOAT}, {"f16", 2, TYPE_F16}, {"f16x2", 4, TYPE_F16}, {"bf16", 2, TYPE_BF16},
    {"bf16x2", 4, TYPE_BF16}, {"b128", 8, TYPE_HALVES},
};

/* The meaning of the parts of the name after the opcode. */
typedef struct {
    SimSpace space;
    int op, type, bytes, lanes_n;
} Form;

static bool ordering(const char *part)
{
    static const char *const known[] = {"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz", "L2::cache_hint"};
    for (size_t i = 0; i < WBB_LEN(known); i++)
        if (!strcmp(part, known[i])) return true;
    return false;
}

static Form form_of(Parser *p, const Inst *inst)
{
    Form f = {.space = SIM_GENERIC, .op = -1, .type = -1, .lanes_n = 1};
    for (int i = 1; i < inst->n_parts; i++) {
        const char *part = inst->part[i];
        bool found = ordering(part);
        for (int k = 0; k < ATOM_NAMES; k++)
            if (!strcmp(part, names[k])) f.op = k, found = true;
        for (size_t k = 0; k < WBB_LEN(types); k++)
            if (!strcmp(part, types[k].name)) f.type = types[k].type, f.bytes = types[k].bytes, found = true;
        if (!strcmp(part, "global")) f.space = SIM_GLOBAL, found = true;
        if (!strcmp(part, "shared") || !strcmp(part, "shared::cta") || !strcmp(part, "shared::cluster"))
            f.space = SIM_SHARED, found = true;
        if (part[0] == 'v' && (part[1] == '2' || part[1] == '4' || part[1] == '8') && !part[2])
            f.lanes_n = part[1] - '0', found = true;
        if (!found) sim_unknown(p, inst, "unknown modifier");
    }
    if (f.type == TYPE_HALVES) f.lanes_n *= 2;
    return f;
}

/* True if the type has the operation. */
static bool legal(const Form *f)
{
    if (f->op < 0 || f->type < 0) return false;
    switch (f->op) {
    case ATOM_ADD: return f->type != TYPE_BITS;
    case ATOM_MIN:
    case ATOM_MAX:
        return f->type == TYPE_UNSIGNED || f->type == TYPE_SIGNED ||
               ((f->type == TYPE_F16 || f->type == TYPE_BF16) && f->lanes_n > 1);
    case ATOM_INC:
    case ATOM_DEC: return f->type == TYPE_UNSIGNED && f->bytes == 4;
    case ATOM_CAS: return f->type == TYPE_BITS || f->type == TYPE_HALVES;
    case ATOM_EXCH: return (f->type == TYPE_BITS && f->bytes >= 4) || f->type == TYPE_HALVES;
    default: return f->type == TYPE_BITS && f->bytes >= 4;
    }
}

void sim_decode_atomic(Parser *p, const Inst *inst)
{
    const Form f = form_of(p, inst);
    const bool red = !strcmp(inst->part[0], "red");
    const int at = red ? 0 : 1, values = f.op == ATOM_CAS ? 2 : 1;
    const int hint = sim_has(inst, "L2::cache_hint");
    if (!legal(&f) || f.bytes * f.lanes_n > 16 || inst->n != at + 1 + values + hint)
        sim_unknown(p, inst, "unknown form of an atomic operation");
    const Opd *address = &inst->opd[at];
    if (address->kind != OPD_ADDRESS) wbb_fail(p->cx, address->loc, "expected an address in brackets");
    const char letter = f.bytes == 8   ? (f.type == TYPE_FLOAT ? 'g' : 'd')
                        : f.bytes == 4 ? (f.type == TYPE_FLOAT ? 'f' : 'w')
                                       : 'h';
    uint32_t result[8] = {0}, value[8] = {0};
    const Opd *to = &inst->opd[0], *from = &inst->opd[at + 1];
    if ((from->kind == OPD_VECTOR ? from->n : 1) != f.lanes_n ||
        (!red && to->kind != OPD_SINK && (to->kind == OPD_VECTOR ? to->n : 1) != f.lanes_n))
        sim_unknown(p, inst, "wrong number of elements");
    for (int i = 0; i < inst->n; i++)
        if (i != at && inst->opd[i].kind != OPD_SINK && (inst->opd[i].width == 16) != (f.type == TYPE_HALVES))
            sim_unknown(p, inst, "a register of another size");
    for (int i = 0; i < f.lanes_n; i++) {
        const Opd *d = to->kind == OPD_VECTOR ? &to->items[i] : to;
        value[i] = sim_read(p, from->kind == OPD_VECTOR ? &from->items[i] : from, letter);
        if (!red && d->kind != OPD_SINK) result[i] = sim_result(p, d, letter);
    }
    uint32_t second[2] = {0};
    for (int i = 0; f.op == ATOM_CAS && i < f.lanes_n; i++) {
        const Opd *o = &inst->opd[at + 2];
        second[i] = sim_read(p, o->kind == OPD_VECTOR ? &o->items[i] : o, letter);
    }
    const int address_width = address->items[0].kind == OPD_REG && address->items[0].width == 4 ? 4 : 8;
    const uint32_t base = sim_read(p, &address->items[0], address_width == 4 ? 'w' : 'd');
    if (!red) p->m->barrier = p->m->polls = true; /* its loop may wait for another warp */
    SimOp *op = sim_emit(p, OP_ATOMIC);
    op->order = (uint8_t)(sim_order_of(inst, SCOPE_GPU) | ORDER_WRITE | (red ? 0 : ORDER_READ));
    p->func->orders |= (op->order & (ORDER_ACQUIRE | ORDER_RELEASE)) != 0;
    op->space = (uint8_t)f.space;
    op->lanes_n = (uint8_t)f.lanes_n;
    op->bytes = (uint8_t)f.bytes;
    op->address = (uint8_t)address_width;
    op->mode = (uint8_t)(f.op | f.type << 4);
    op->width = (uint8_t)sim_width_of(letter);
    op->a = base;
    op->c = second[0];
    op->e = second[1];
    op->n = f.op == ATOM_CAS ? value[0] : 0;
    op->b = f.op == ATOM_CAS && f.type == TYPE_HALVES ? value[1] : 0;
    op->imm = address->offset;
    op->target = p->m->cols.n;
    for (int i = 0; i < f.lanes_n; i++) {
        const SimCol in = {.col = value[i], .width = op->width},
                     out = {.col = result[i], .width = result[i] ? op->width : 0};
        WBB_PUSH(p->arena, &p->m->cols, in);
        WBB_PUSH(p->arena, &p->m->cols, out);
    }
    for (int i = 0; i < f.lanes_n && !red; i++)
        if (result[i]) sim_done(p, to->kind == OPD_VECTOR ? &to->items[i] : to, result[i], letter, false);
}

/* One value ------------------------------------------------------------------------------------ */
static uint64_t add(const SimOp *op, uint64_t x, uint64_t y, bool global)
{
    switch (op->mode >> 4) {
    case TYPE_FLOAT:
        if (op->bytes == 8) return bits_f64(as_f64(x) + as_f64(y));
        if (!global) return bits_f32(as_f32((u32)x) + as_f32((u32)y));
        return flush32(bits_f32(as_f32(flush32((u32)x)) + as_f32(flush32((u32)y))));
    case TYPE_F16: return to_h(of_h((u32)x) + of_h((u32)y));
    case TYPE_BF16: return to_bf(of_bf((u32)x) + of_bf((u32)y));
    default: return x + y;
    }
}

static bool less16(u32 x, u32 y, u32 infinity)
{
    return nan16(y, infinity) || (!nan16(x, infinity) && order16(x) < order16(y));
}

static bool less(const SimOp *op, uint64_t x, uint64_t y)
{
    switch (op->mode >> 4) {
    case TYPE_SIGNED: return op->bytes == 8 ? (int64_t)x < (int64_t)y : (int32_t)x < (int32_t)y;
    case TYPE_F16: return less16((u32)x, (u32)y, INF_F16);
    case TYPE_BF16: return less16((u32)x, (u32)y, INF_BF16);
    default: return x < y;
    }
}

static uint64_t combined(const SimOp *op, uint64_t old, uint64_t value, uint64_t second, bool global)
{
    switch (op->mode & 15) {
    case ATOM_ADD: return add(op, old, value, global);
    case ATOM_MIN: return less(op, value, old) ? value : old;
    case ATOM_MAX: return less(op, value, old) ? old : value;
    case ATOM_INC: return old >= value ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > value ? value : old - 1;
    case ATOM_AND: return old & value;
    case ATOM_OR: return old | value;
    case ATOM_XOR: return old ^ value;
    case ATOM_CAS: return old == value ? second : old;
    default: return value;
    }
}

/* Pairs of 16-bit values are combined half by half, all other values at once. */
static uint64_t updated(const SimOp *op, uint64_t old, uint64_t value, uint64_t second, bool global)
{
    const int type = op->mode >> 4;
    if (op->bytes != 4 || (type != TYPE_F16 && type != TYPE_BF16)) return combined(op, old, value, second, global);
    const uint64_t low = combined(op, old & 0xffff, value & 0xffff, 0, global),
                   high = combined(op, old >> 16, value >> 16, 0, global);
    return (low & 0xffff) | (high & 0xffff) << 16;
}

void sim_atomic(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (b->tally) {
        uint64_t address[LANES];
        sim_addresses(w, op, address);
        sim_count_access(b, op, address, mask, SIM_UPDATED, (size_t)op->bytes * op->lanes_n);
    }
    uint64_t seen = 0;
    bool changed = false, returns = false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        bool global;
        uint8_t *at = sim_atomic_memory_at(b, w, op, lane, (op->mode & 15) != ATOM_EXCH, &global);
        if (!at) continue;
        const bool keeps = op->b && !sim_cas_stores(w, op, lane, at);
        for (int i = 0; i < op->lanes_n; i++, at += op->bytes) {
            const SimCol *in = &b->m->cols.items[op->target + 2 * (uint32_t)i], *out = in + 1;
            uint64_t old = 0;
            memcpy(&old, at, op->bytes);
            const uint32_t also = i ? op->e : op->c;
            const uint64_t second = also ? sim_lane(w->regs + also, lane, op->width) : 0;
            const uint64_t value = sim_lane(w->regs + in->col, lane, in->width);
            const uint64_t now = keeps ? old : updated(op, old, value, second, global);
            changed |= memcmp(at, &now, op->bytes) != 0;
            seen = wbb_mix(seen ^ old ^ (uint64_t)(uintptr_t)at);
            memcpy(at, &now, op->bytes);
            if (out->width) memcpy(w->regs + out->col + (size_t)lane * out->width, &old, out->width);
            returns |= out->width;
        }
    }
    if (changed) b->all->changes++;
    else if (returns) sim_polled(b, w, op, mask, seen);
}

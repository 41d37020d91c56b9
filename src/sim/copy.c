/* copy: asynchronous copies (cp.async, cp.async.bulk) and the mbarriers that count them.
 *
 * Needs: table.c for operands, memory.c for addresses. Leaves: operations, and changed memory.
 *
 * A copy happens when a thread waits for it, as late as the program allows. Until then its destination counts as
 * never written, so check finds a read before the wait. The copies of a group belong to a lane; a bulk copy belongs
 * to the mbarrier that counts its bytes. An mbarrier's 64 bits are opaque to programs (PTX ISA 9.7.13.15.1); here
 * they hold pending arrivals in bits 0..19, expected arrivals in 20..39, bytes still to come in 40..61 (two's
 * complement) and the phase in 63. A wait parks its lanes until the phase is complete.
 *
 *     cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.wait_all;   ->   16 bytes, copied at the wait
 */
#include "sim/inner.h"

enum { MB_INIT, MB_INVAL, MB_ARRIVE, MB_DROP, MB_EXPECT, MB_COMPLETE, MB_PENDING, MB_TEST, MB_PARITY };
enum { NO_WAIT = 16, WITH_BYTES = 32 };
#define COUNT_MASK ((UINT64_C(1) << 20) - 1)
#define PHASE (UINT64_C(1) << 63)

static bool any_of(const char *part, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(part, list[i])) return true;
    return false;
}

static uint32_t address_of(Parser *p, const Opd *o, int64_t *offset)
{
    if (o->kind != OPD_ADDRESS) wbb_fail(p->cx, o->loc, "expected an address in brackets");
    const Opd *base = &o->items[0];
    *offset = o->offset;
    if (base->kind != OPD_REG || base->width != 4) return sim_read(p, base, 'd');
    const uint32_t wide = sim_column(p, 8);
    sim_row(p, "%zext.b64.b32", wide, base->col, 0, 0);
    return wide;
}

/* The column of an operand's generic address: 64 bits, with the offset and the window of shared memory added. */
static uint32_t generic(Parser *p, const Opd *o, bool shared)
{
    int64_t offset;
    uint32_t col = address_of(p, o, &offset);
    const uint64_t more = (uint64_t)offset + (shared ? (uint64_t)SEG_SHARED << SEG_SHIFT : 0);
    if (!more) return col;
    const uint32_t sum = sim_column(p, 8);
    sim_row(p, "add.s64", sum, col, sim_constant(p, more, 8), 0);
    return sum;
}

/* cp.async.{ca,cg}.shared.global [to], [from], size{, source size or predicate}{, policy} */
static void decode_group_copy(Parser *p, const Inst *inst)
{
    static const char *const known[] = {"async", "ca", "cg", "shared", "shared::cta", "global", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"};
    for (int i = 1; i < inst->n_parts; i++)
        if (!any_of(inst->part[i], known, WBB_LEN(known))) sim_unknown(p, inst, "unknown modifier");
    const int n = inst->n - sim_has(inst, "L2::cache_hint");
    if (n < 3 || n > 4 || inst->opd[2].kind != OPD_INT) sim_unknown(p, inst, "unknown form of a copy");
    const uint64_t size = inst->opd[2].bits;
    if ((size != 4 && size != 8 && size != 16) || (sim_has(inst, "cg") && size != 16))
        sim_unknown(p, inst, "a copy has 4, 8 or 16 bytes, .cg 16");
    const uint32_t to = generic(p, &inst->opd[0], true), from = generic(p, &inst->opd[1], false);
    uint32_t source = sim_constant(p, size, 4);
    if (n == 4 && inst->opd[3].kind == OPD_REG && inst->opd[3].width == 1) { /* ignore-src */
        const uint32_t ignored = sim_read(p, &inst->opd[3], 'p'), chosen = sim_column(p, 4);
        sim_row(p, "selp.b32", chosen, sim_constant(p, 0, 4), source, ignored);
        source = chosen;
    } else if (n == 4) {
        source = sim_read(p, &inst->opd[3], 'w');
    }
    SimOp *op = sim_emit(p, OP_COPY);
    op->a = to, op->b = from, op->c = source;
    op->n = (uint32_t)size;
    op->mode = sim_has(inst, "cg"); /* its bytes do not go through L1: what it writes alone is a wavefront */
}

/* cp.async.bulk.DST.SRC.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]; or to global memory,
 * .bulk_group */
static void decode_bulk(Parser *p, const Inst *inst)
{
    static const char *const known[] = {"async", "bulk", "shared::cluster", "shared::cta", "global", "mbarrier::complete_tx::bytes", "bulk_group", "L2::cache_hint"};
    for (int i = 1; i < inst->n_parts; i++)
        if (!any_of(inst->part[i], known, WBB_LEN(known))) sim_unknown(p, inst, "unknown modifier");
    const bool group = sim_has(inst, "bulk_group"), hint = sim_has(inst, "L2::cache_hint");
    if (inst->n_parts < 6 || inst->n != (group ? 3 : 4) + hint ||
        group == sim_has(inst, "mbarrier::complete_tx::bytes"))
        sim_unknown(p, inst, "unknown form of a copy");
    const bool to_shared = inst->part[3][0] == 's', from_shared = inst->part[4][0] == 's';
    const uint32_t to = generic(p, &inst->opd[0], to_shared), from = generic(p, &inst->opd[1], from_shared);
    const uint32_t size = sim_read(p, &inst->opd[2], 'w');
    const uint32_t mbarrier = group ? 0 : generic(p, &inst->opd[3], true);
    SimOp *op = sim_emit(p, OP_COPY);
    op->a = to, op->b = from, op->c = size, op->e = mbarrier;
    op->n = 0;
    p->m->barrier = true;
}

static void decode_group(Parser *p, const Inst *inst, int mode)
{
    const bool bulk = sim_has(inst, "bulk");
    if (inst->n != (mode == GROUP_WAIT)) sim_unknown(p, inst, "wrong number of operands");
    if (mode == GROUP_WAIT && inst->opd[0].kind != OPD_INT) sim_unknown(p, inst, "a number is expected");
    SimOp *op = sim_emit(p, OP_COPY_GROUP);
    op->mode = (uint8_t)(bulk && mode != GROUP_COMMIT ? BULK_WAIT : mode);
    op->imm = inst->n ? (int64_t)WBB_MIN(inst->opd[0].bits, UINT64_C(1) << 30) : 0;
}

static bool decode_cp(Parser *p, const Inst *inst)
{
    static const char *const refused[] = {"tensor", "reduce", "prefetch", "multicast::cluster", "cp_mask"};
    if (inst->n_parts < 3 || strcmp(inst->part[1], "async")) return false;
    for (size_t i = 0; i < WBB_LEN(refused); i++)
        if (sim_has(inst, refused[i])) return false;
    if (sim_has(inst, "commit_group")) decode_group(p, inst, GROUP_COMMIT);
    else if (sim_has(inst, "wait_group")) decode_group(p, inst, GROUP_WAIT);
    else if (sim_has(inst, "wait_all")) decode_group(p, inst, GROUP_ALL);
    else if (sim_has(inst, "mbarrier")) {
        if (!sim_has(inst, "arrive") || inst->n != 1 || strcmp(inst->part[inst->n_parts - 1], "b64")) return false;
        const uint32_t at = generic(p, &inst->opd[0], sim_has(inst, "shared") || sim_has(inst, "shared::cta"));
        SimOp *op = sim_emit(p, OP_COPY_GROUP);
        op->mode = sim_has(inst, "noinc") ? COPY_ARRIVE_NOINC : COPY_ARRIVE;
        op->a = at;
        p->m->barrier = true;
    } else if (sim_has(inst, "bulk")) decode_bulk(p, inst);
    else decode_group_copy(p, inst);
    return true;
}

/* mbarrier.WHAT...b64; operands as in the manual, the address in brackets. */
static bool decode_mbarrier(Parser *p, const Inst *inst)
{
    static const struct { const char *name; uint8_t mode; } whats[] = {
        {"init", MB_INIT}, {"inval", MB_INVAL}, {"arrive", MB_ARRIVE}, {"arrive_drop", MB_DROP}, {"expect_tx", MB_EXPECT}, {"complete_tx", MB_COMPLETE},
        {"pending_count", MB_PENDING}, {"test_wait", MB_TEST}, {"try_wait", MB_TEST},
    };
    static const char *const known[] = {"expect_tx", "noComplete", "parity", "shared", "shared::cta", "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster", "b64"};
    if (inst->n_parts < 3) return false;
    int k = 0;
    while (k < (int)WBB_LEN(whats) && strcmp(inst->part[1], whats[k].name)) k++;
    if (k == (int)WBB_LEN(whats)) return false;
    for (int i = 2; i < inst->n_parts; i++)
        if (!any_of(inst->part[i], known, WBB_LEN(known))) return false;
    uint8_t mode = whats[k].mode;
    const bool shared = sim_has(inst, "shared") || sim_has(inst, "shared::cta") || sim_has(inst, "shared::cluster");
    if (mode == MB_PENDING) {
        if (inst->n != 2) return false;
        const uint32_t state = sim_read(p, &inst->opd[1], 'd'), low = sim_column(p, 4),
                       d = sim_result(p, &inst->opd[0], 'w');
        sim_row(p, "%lo.b64", low, state, 0, 0);
        sim_row(p, "and.b32", d, low, sim_constant(p, COUNT_MASK, 4), 0);
        return true;
    }
    const int at = mode == MB_ARRIVE || mode == MB_DROP || mode == MB_TEST;
    const bool bytes = sim_has(inst, "expect_tx") && (mode == MB_ARRIVE || mode == MB_DROP), wait = mode == MB_TEST,
               parity = sim_has(inst, "parity");
    if (inst->n < at + 1 || inst->n > at + 2 + wait || (parity && !wait) || (wait && inst->n < 3)) return false;
    const uint32_t address = generic(p, &inst->opd[at], shared);
    uint32_t value = sim_constant(p, 1, 4);
    if (wait && !parity) value = sim_read(p, &inst->opd[2], 'd');
    else if (inst->n > at + 1) value = sim_read(p, &inst->opd[at + 1], 'w');
    else if (bytes || mode == MB_INIT || mode == MB_EXPECT || mode == MB_COMPLETE) return false;
    uint8_t order = sim_order_of(inst, SCOPE_CLUSTER);
    order = (uint8_t)((order & 3) | SCOPE_CLUSTER << ORDER_SCOPE | (wait ? ORDER_READ : ORDER_READ | ORDER_WRITE));
    if (!sim_has(inst, "relaxed")) order |= wait ? ORDER_ACQUIRE : ORDER_RELEASE;
    const char letter = wait ? 'p' : 'd';
    const uint32_t d = at && inst->opd[0].kind != OPD_SINK ? sim_result(p, &inst->opd[0], letter) : 0;
    SimOp *op = sim_emit(p, wait ? OP_MBARRIER_WAIT : OP_MBARRIER);
    op->a = address, op->b = value, op->d = d;
    op->bytes = 8, op->lanes_n = 1;
    op->width = wait ? 1 : 8;
    op->order = order;
    op->mode = (uint8_t)((wait && parity ? MB_PARITY : mode) | (wait && whats[k].name[1] == 'e' ? NO_WAIT : 0) |
                         (bytes ? WITH_BYTES : 0));
    p->m->barrier = true;
    return true;
}

bool sim_decode_copy(Parser *p, const Inst *inst)
{
    if (!strcmp(inst->part[0], "cp")) return decode_cp(p, inst);
    return !strcmp(inst->part[0], "mbarrier") && decode_mbarrier(p, inst);
}

/* Judge the source of one unit: the bytes that are read, the rest being zeros. False after a fault. */
static bool source_judged(Block *b, const Copy *c, uint64_t at, uint32_t unit)
{
    if (c->source >= unit) return sim_memory_at(b, c->warp, c->op, c->lane, c->from + at, unit, true, false) != NULL;
    for (uint32_t i = 0; i < c->source; i++)
        if (!sim_memory_at(b, c->warp, c->op, c->lane, c->from + i, 1, true, false)) return false;
    return true;
}

static void start_copy(Block *b, Warp *w, const SimOp *op, int lane)
{
    Copy c = {.op = op,
              .warp = w,
              .lane = (uint8_t)lane,
              .to = sim_lane64(w->regs + op->a, lane),
              .from = sim_lane64(w->regs + op->b, lane),
              .group = w->copy_group[lane]};
    c.source = sim_lane32(w->regs + op->c, lane);
    c.size = op->n ? op->n : c.source;
    if (op->e) c.mbarrier = sim_lane64(w->regs + op->e, lane);
    if (c.source > c.size) {
        sim_fault(b, w, op, lane, "a copy of %u bytes from a source of %u", c.size, c.source);
        return;
    }
    const uint32_t unit = op->n ? c.size : 16; /* both addresses must be a multiple of it */
    if (!op->n && c.size % 16) {
        sim_fault(b, w, op, lane, "a bulk copy of %u bytes: a multiple of 16 is needed", c.size);
        return;
    }
    for (uint32_t at = 0; at < c.size; at += unit) {
        if (!source_judged(b, &c, at, unit) || !sim_unwritten(b, w, op, lane, c.to + at, unit)) return;
    }
    WBB_PUSH(b->arena, &b->copies, c);
}

static void finish_copy(Block *b, const Copy *c)
{
    const uint32_t unit = c->op->n ? c->size : 16;
    for (uint32_t at = 0; at < c->size; at += unit) {
        uint8_t bytes[16] = {0};
        const uint32_t known = WBB_MIN(unit, c->source), judged = known == unit ? unit : 1;
        const uint8_t *from = known ? sim_memory_at(b, c->warp, c->op, c->lane, c->from + at, judged, true, false)
                                    : bytes;
        uint8_t *to = sim_memory_at(b, c->warp, c->op, c->lane, c->to + at, unit, false, true);
        if (!from || !to) return;
        if (known) memcpy(bytes, from, known);
        memcpy(to, bytes, unit);
    }
}

/* Finish the copies of a lane's groups before `group`. */
static void finish_groups(Block *b, const Warp *w, int lane, uint32_t group, bool bulk)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->copies.n; i++) {
        const Copy c = b->copies.items[i];
        const bool ends = c.warp == w && c.lane == lane && !c.mbarrier && !c.op->n == bulk &&
                          (int32_t)(c.group - group) < 0;
        if (ends) finish_copy(b, &c);
        else b->copies.items[kept++] = c;
    }
    b->copies.n = kept;
}

/* mbarriers ------------------------------------------------------------------------------------ */
static int64_t bytes_of(uint64_t v) { return (int64_t)(v << 2) >> 42; }

static uint64_t with(uint64_t v, uint64_t pending, int64_t bytes)
{
    v = (v & (PHASE | COUNT_MASK << 20)) | pending | ((uint64_t)bytes << 42 >> 2);
    if (pending || bytes) return v;
    return (v ^ PHASE) | (v >> 20 & COUNT_MASK); /* complete: the next phase expects the same again */
}

static uint32_t *clock_of(Block *b, uint64_t address)
{
    for (uint32_t i = 0; i < b->mbarriers.n; i++)
        if (b->mbarriers.items[i].address == address) return b->mbarriers.items[i].clock;
    const MbarrierClock c = {.address = address};
    WBB_PUSH(b->arena, &b->mbarriers, c);
    return b->mbarriers.items[b->mbarriers.n - 1].clock;
}

/* Count `count` arrivals and add `bytes` (which may be negative) to the bytes to come. False after a fault. */
static bool arrive(Block *b, Warp *w, const SimOp *op, int lane, uint8_t *at, uint64_t count, int64_t bytes)
{
    uint64_t v;
    memcpy(&v, at, 8);
    const uint64_t pending = v & COUNT_MASK;
    const int64_t to_come = bytes_of(v) + bytes;
    if (!(v >> 20 & COUNT_MASK) || count > pending) {
        if (!(v >> 20 & COUNT_MASK)) sim_fault(b, w, op, lane, "an mbarrier that is not initialised");
        else
            sim_fault(b, w, op, lane, "more arrivals than the %u that the mbarrier expects",
                      (unsigned)(v >> 20 & COUNT_MASK));
        return false;
    }
    if (to_come >= 1 << 20 || to_come <= -(1 << 20)) {
        sim_fault(b, w, op, lane, "more than 2^20 - 1 bytes still to come at one mbarrier");
        return false;
    }
    v = with(v, pending - count, to_come);
    memcpy(at, &v, 8);
    return true;
}

/* Finish the bulk copies whose bytes this mbarrier counts. */
static void finish_bulk(Block *b, uint64_t address)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->copies.n; i++) {
        const Copy c = b->copies.items[i];
        if (c.mbarrier != address) {
            b->copies.items[kept++] = c;
            continue;
        }
        finish_copy(b, &c);
        if (b->options->check) sim_release(b, c.warp, clock_of(b, address));
        uint8_t *at = sim_memory_at(b, c.warp, c.op, c.lane, address, 8, false, false);
        if (at) arrive(b, c.warp, c.op, c.lane, at, 0, -(int64_t)c.size);
    }
    b->copies.n = kept;
}

static void initialise(Block *b, Warp *w, const SimOp *op, int lane, uint8_t *at, uint32_t count)
{
    if (!count || count > COUNT_MASK) {
        sim_fault(b, w, op, lane, "an mbarrier for %u arrivals", count);
        return;
    }
    const uint64_t v = count | (uint64_t)count << 20;
    memcpy(at, &v, 8);
}

static void arrive_op(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, uint8_t *at)
{
    const bool bytes = op->mode & WITH_BYTES;
    const uint32_t value = sim_lane32(w->regs + op->b, lane);
    uint64_t old;
    memcpy(&old, at, 8);
    if ((op->mode & 15) == MB_DROP && (old >> 20 & COUNT_MASK) > (bytes ? 1 : value)) {
        const uint64_t less = old - ((uint64_t)(bytes ? 1 : value) << 20);
        memcpy(at, &less, 8);
    }
    if (op->d) memcpy(w->regs + op->d + 8 * (size_t)lane, &old, 8);
    if (b->options->check) sim_release(b, w, clock_of(b, address));
    sim_order_at(b, w, op, lane, address, true);
    arrive(b, w, op, lane, at, bytes ? 1 : value, bytes ? (int64_t)value : 0);
}

void sim_mbarrier(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const uint64_t address = sim_lane64(w->regs + op->a, lane);
        uint8_t *at = sim_memory_at(b, w, op, lane, address, 8, (op->mode & 15) != MB_INIT, true);
        if (!at) continue;
        const uint32_t value = sim_lane32(w->regs + op->b, lane);
        switch (op->mode & 15) {
        case MB_INIT: initialise(b, w, op, lane, at, value); break;
        case MB_INVAL: memset(at, 0, 8); break;
        case MB_EXPECT: arrive(b, w, op, lane, at, 0, (int64_t)value); break;
        case MB_COMPLETE: arrive(b, w, op, lane, at, 0, -(int64_t)value); break;
        default: arrive_op(b, w, op, lane, address, at);
        }
    }
}

/* True if the phase that the lane names is complete. */
static bool complete(Block *b, Warp *w, const SimOp *op, int lane)
{
    const uint64_t address = sim_lane64(w->regs + op->a, lane);
    finish_bulk(b, address);
    const uint8_t *at = sim_memory_at(b, w, op, lane, address, 8, true, false);
    if (!at) return true; /* a fault: the wait is over */
    uint64_t v;
    memcpy(&v, at, 8);
    const bool phase = v >> 63;
    return (op->mode & 15) == MB_PARITY ? phase != (sim_lane32(w->regs + op->b, lane) & 1)
                                        : phase != (sim_lane64(w->regs + op->b, lane) >> 63);
}

uint32_t sim_mbarrier_ready(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t r = 0;
    if (op->mode & NO_WAIT) return mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (complete(b, w, op, __builtin_ctz(rest))) r |= rest & -rest;
    return r;
}

void sim_mbarrier_wait(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const bool done = complete(b, w, op, lane);
        if (op->d) w->regs[op->d + (uint32_t)lane] = done;
        if (!done || !b->options->check) continue;
        sim_acquire(b, w, clock_of(b, sim_lane64(w->regs + op->a, lane)));
        sim_order_at(b, w, op, lane, sim_lane64(w->regs + op->a, lane), false);
    }
}

/* Count the traffic of a copy, at its source and its destination, when it is issued. */
static void count_copy(Block *b, const Warp *w, const SimOp *op, uint32_t mask)
{
    uint64_t to[LANES], from[LANES];
    uint32_t read = 0;
    for (int l = 0; l < LANES; l++) {
        to[l] = sim_lane64(w->regs + op->a, l), from[l] = sim_lane64(w->regs + op->b, l);
        const uint32_t bytes = sim_lane32(w->regs + op->c, l);
        read |= (uint32_t)(bytes != 0) << l;
        if (op->n || !(mask >> l & 1) || !bytes) continue;
        sim_count_range(b, op, from[l], bytes, SIM_LOADED);
        sim_count_range(b, op, to[l], bytes, SIM_STORED);
    }
    if (!op->n) return;
    sim_count_access(b, op, from, mask & read, SIM_LOADED, op->n);
    sim_count_access(b, op, to, mask, SIM_STORED, op->n);
}

void sim_copy(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (b->tally && op->kind == OP_COPY) count_copy(b, w, op, mask);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (op->kind == OP_COPY) {
            start_copy(b, w, op, lane);
            continue;
        }
        switch (op->mode) {
        case GROUP_COMMIT: w->copy_group[lane]++; break;
        case GROUP_WAIT: finish_groups(b, w, lane, w->copy_group[lane] - (uint32_t)op->imm, false); break;
        case BULK_WAIT: finish_groups(b, w, lane, w->copy_group[lane] - (uint32_t)op->imm, true); break;
        case GROUP_ALL: finish_groups(b, w, lane, w->copy_group[lane] + 1, false); break;
        default: {
            const uint64_t address = sim_lane64(w->regs + op->a, lane);
            finish_groups(b, w, lane, w->copy_group[lane] + 1, false);
            uint8_t *at = sim_memory_at(b, w, op, lane, address, 8, true, true);
            if (b->options->check) sim_release(b, w, clock_of(b, address));
            if (at)
                arrive(b, w, op, lane, at, op->mode == COPY_ARRIVE_NOINC,
                       0); /* without .noinc the arrival was expected and counted at once */
        }
        }
    }
}

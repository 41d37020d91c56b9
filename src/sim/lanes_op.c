/* lanes_op: operations of several lanes of a warp, and arithmetic with the carry flag.
 *
 * Needs: a warp whose lanes have all come (groups.c). Leaves: result columns.
 *
 *     shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1   ->   lane l gets %r1 of lane l ^ 16
 */
#include "sim/inner.h"

/* PTX ISA 9.7.9.6: c holds the clamp in bits 0..4 and the segment mask in bits 8..12. */
static void shuffle(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint8_t *regs = w->regs;
    uint32_t out[LANES] = {0};
    uint8_t valid[LANES] = {0};
    int8_t from[LANES];
    memset(from, -1, sizeof from);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        int bv = (int)(sim_lane32(regs + op->b, l) & 31), c = (int)sim_lane32(regs + op->c, l), clamp = c & 31,
            segment = c >> 8 & 31;
        int least = l & segment, most = least | (clamp & ~segment), j = 0;
        bool ok = true;
        switch (op->mode) {
        case 0: j = least | (bv & ~segment), ok = j <= most; break;
        case 1: j = l - bv, ok = j >= most; break;
        case 2: j = l + bv, ok = j <= most; break;
        default: j = l ^ bv, ok = j <= most; break;
        }
        if (!ok) j = l;
        const uint32_t named = sim_lane32(regs + op->e, l);
        if (b->options->check && j >= 0 && j < LANES && (w->all >> j & 1) && !(named >> j & 1))
            sim_fault(b, w, op, l, "a shuffle from lane %d, which its mask 0x%08x does not name", j, named);
        else if (b->options->check && j >= 0 && j < LANES && (w->all & ~w->live) >> j & 1)
            sim_fault(b, w, op, l, "a shuffle from lane %d, which has ended", j);
        out[l] = j >= 0 && j < LANES && (w->all >> j & 1) ? sim_lane32(regs + op->a, j) : 0;
        valid[l] = ok;
        from[l] = (int8_t)j;
    }
    if (op->tracked && w->undefined) sim_undefined_shuffle(b, w, op, from, mask);
    memcpy(b->scratch, out, sizeof out);
    sim_blend(regs + op->d, b->scratch, mask, 4);
    if (op->target) sim_blend(regs + op->target, valid, mask, 1);
}

/* A lane must name itself, and lanes that name each other must have one mask (PTX ISA 9.7.9: else the result is
 * undefined). */
static void judge_masks(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        const uint32_t named = sim_lane32(w->regs + op->e, l);
        if (!(named >> l & 1)) sim_fault(b, w, op, l, "a mask of 0x%08x, which does not name the lane", named);
        for (uint32_t others = named & mask; others; others &= others - 1) {
            const uint32_t other = sim_lane32(w->regs + op->e, __builtin_ctz(others));
            if (other == named) continue;
            sim_fault(b, w, op, l, "lanes that name each other have masks 0x%08x and 0x%08x", other, named);
            return;
        }
    }
}

static void vote(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t bits = 0;
    for (int l = 0; l < LANES; l++)
        if (w->regs[op->a + (uint32_t)l]) bits |= 1u << l;
    bits &= mask;
    uint32_t r = op->mode == 0   ? bits != 0
                 : op->mode == 1 ? bits == mask
                 : op->mode == 2 ? bits == 0 || bits == mask
                                 : bits;
    for (int l = 0; l < LANES; l++) {
        if (op->width == 1) b->scratch[l] = (uint8_t)r;
        else memcpy(b->scratch + 4 * l, &r, 4);
    }
    sim_blend(w->regs + op->d, b->scratch, mask, op->width);
}

static float f32_at(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* The smaller or larger of two f32; -0 is below 0; of a number and a nan the number, or nan where the instruction
 * says so. */
static uint32_t better(uint32_t x, uint32_t y, bool larger, bool nan)
{
    const float a = f32_at(x), b = f32_at(y);
    if (a != a || b != b) return nan || (a != a && b != b) ? 0x7fffffffu : a != a ? y : x;
    if (a == b) return larger ? x & y : x | y;
    return (a < b) == larger ? y : x;
}

static uint32_t reduced(const SimOp *op, uint32_t r, uint32_t v, bool first)
{
    const bool is_signed = op->mode & 8, less = is_signed ? (int32_t)v < (int32_t)r : v < r;
    if (op->mode & 16) {
        if (op->mode & 32) v &= 0x7fffffffu;
        return better(first ? v : r, v, (op->mode & 7) == 2, op->mode & 64);
    }
    switch (op->mode & 7) {
    case 0: return r + v;
    case 1: return first || less ? v : r;
    case 2: return first || !less ? v : r;
    case 3: return first ? v : r & v;
    case 4: return r | v;
    default: return r ^ v;
    }
}

static void redux(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t r = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        r = reduced(op, r, sim_lane32(w->regs + op->a, __builtin_ctz(rest)), rest == mask);
    for (int l = 0; l < LANES; l++) memcpy(b->scratch + 4 * l, &r, 4);
    sim_blend(w->regs + op->d, b->scratch, mask, 4);
}

/* mode: 1 sets the flag, 2 reads it, 4 subtracts, 8 multiplies first, 16 takes the upper half, 32 is signed. */
static void carry(Warp *w, const SimOp *op, uint32_t mask)
{
    uint8_t *regs = w->regs;
    int bits = 8 * op->width;
    WbbU128 all = ((WbbU128)1 << bits) - 1;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        WbbU128 x = sim_lane(regs + op->a, l, op->width), y = sim_lane(regs + op->b, l, op->width),
                flag = op->mode & 2 ? regs[op->e + (uint32_t)l] : 0;
        if (op->mode & 8) {
            WbbI128 sx = (WbbI128)x, sy = (WbbI128)y;
            if (op->mode & 32) {
                if (x >> (bits - 1)) sx -= (WbbI128)all + 1;
                if (y >> (bits - 1)) sy -= (WbbI128)all + 1;
            }
            WbbU128 product = op->mode & 32 ? (WbbU128)(sx * sy) : x * y;
            x = (op->mode & 16 ? product >> bits : product) & all;
            y = sim_lane(regs + op->c, l, op->width);
        }
        WbbU128 r = op->mode & 4 ? x - y - flag : x + y + flag;
        uint64_t low = (uint64_t)(r & all);
        if (op->mode & 1) regs[op->e + (uint32_t)l] = (uint8_t)(r >> bits & 1); /* a borrow sets all upper bits */
        memcpy(regs + op->d + (size_t)l * op->width, &low, op->width);
    }
}

/* match.any: the lanes with an equal value. match.all: all lanes, or none if two values differ. */
static void match(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t out[LANES] = {0};
    uint8_t all[LANES] = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        for (uint32_t others = mask; others; others &= others - 1) {
            const int o = __builtin_ctz(others);
            if (sim_lane(w->regs + op->a, l, op->bytes) == sim_lane(w->regs + op->a, o, op->bytes)) out[l] |= 1u << o;
        }
        all[l] = out[l] == mask;
        if (op->mode && !all[l]) out[l] = 0;
    }
    memcpy(b->scratch, out, sizeof out);
    sim_blend(w->regs + op->d, b->scratch, mask, 4);
    if (op->target) sim_blend(w->regs + op->target, all, mask, 1);
}

/* The manual leaves open which lane is elected; the lowest one, as on hardware. */
static void elect(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    const uint32_t leader = (uint32_t)__builtin_ctz(mask);
    uint8_t is[LANES] = {0};
    is[leader] = 1;
    sim_fill(b->scratch, leader, 4);
    sim_blend(w->regs + op->d, b->scratch, mask, 4);
    sim_blend(w->regs + op->target, is, mask, 1);
}

static void one_mask(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    switch ((OpKind)op->kind) {
    case OP_VOTE: vote(b, w, op, mask); break;
    case OP_REDUX: redux(b, w, op, mask); break;
    case OP_MATCH: match(b, w, op, mask); break;
    case OP_ELECT: elect(b, w, op, mask); break;
    default: break;
    }
}

/* Lanes may come to one instruction with several masks; lanes with one mask are one group. */
static void by_mask(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    while (mask) {
        const uint32_t named = sim_lane32(w->regs + op->e, __builtin_ctz(mask));
        uint32_t same = 0;
        for (int l = 0; l < LANES; l++) same |= (uint32_t)(sim_lane32(w->regs + op->e, l) == named) << l;
        same &= mask;
        one_mask(b, w, op, same);
        mask &= ~same;
    }
}

void sim_warp_op(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (b->options->check && op->kind != OP_CARRY && op->kind != OP_ACTIVE) judge_masks(b, w, op, mask);
    switch ((OpKind)op->kind) {
    case OP_SHUFFLE: shuffle(b, w, op, mask); break;
    case OP_CARRY: carry(w, op, mask); break;
    case OP_ACTIVE:
        for (int l = 0; l < LANES; l++)
            if (mask >> l & 1) memcpy(w->regs + op->d + 4 * (size_t)l, &mask, 4);
        break;
    case OP_WARP_SYNC:
        sim_warp_ordered(b, w);
        sim_order_warp(b, w, mask);
        break;
    default: by_mask(b, w, op, mask);
    }
}

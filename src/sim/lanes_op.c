/* lanes_op: what lanes of a warp do together, and arithmetic with the carry flag.
 *
 * Needs: a warp whose lanes have all come (warp.c). Leaves: result columns.
 *
 *     shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1   ->   lane l gets %r1 of lane l ^ 16
 */
#include "sim/inner.h"

static uint32_t u32_at(const uint8_t *col, int lane)
{
    uint32_t v;
    memcpy(&v, col + 4 * (size_t)lane, 4);
    return v;
}

/* PTX ISA 9.7.9.6: c holds the clamp in bits 0..4 and the segment mask in bits 8..12. */
static void shuffle(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint8_t *regs = w->regs;
    uint32_t out[LANES] = {0};
    uint8_t valid[LANES] = {0};
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        int bv = (int)(u32_at(regs + op->b, l) & 31), c = (int)u32_at(regs + op->c, l), clamp = c & 31, segment = c >> 8 & 31;
        int least = l & segment, most = least | (clamp & ~segment), j = 0;
        bool ok = true;
        switch (op->mode) {
        case 0: j = least | (bv & ~segment), ok = j <= most; break;
        case 1: j = l - bv, ok = j >= most; break;
        case 2: j = l + bv, ok = j <= most; break;
        default: j = l ^ bv, ok = j <= most; break;
        }
        if (!ok) j = l;
        out[l] = j >= 0 && j < LANES && (w->all >> j & 1) ? u32_at(regs + op->a, j) : 0;
        valid[l] = ok;
    }
    memcpy(b->scratch, out, sizeof out);
    sim_blend(regs + op->d, b->scratch, mask, 4);
    if (op->target) sim_blend(regs + op->target, valid, mask, 1);
}

static void vote(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t bits = 0;
    for (int l = 0; l < LANES; l++)
        if (w->regs[op->a + (uint32_t)l]) bits |= 1u << l;
    bits &= mask;
    uint32_t r = op->mode == 0 ? bits != 0 : op->mode == 1 ? bits == mask : op->mode == 2 ? bits == 0 || bits == mask : bits;
    for (int l = 0; l < LANES; l++) {
        if (op->width == 1) b->scratch[l] = (uint8_t)r;
        else memcpy(b->scratch + 4 * l, &r, 4);
    }
    sim_blend(w->regs + op->d, b->scratch, mask, op->width);
}

static void redux(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    bool is_signed = op->mode & 8, any = false;
    uint32_t r = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t v = u32_at(w->regs + op->a, l);
        bool less = is_signed ? (int32_t)v < (int32_t)r : v < r;
        switch (op->mode & 7) {
        case 0: r += v; break;
        case 1: r = !any || less ? v : r; break;
        case 2: r = !any || (!less && v != r) ? v : r; break;
        case 3: r = any ? r & v : v; break;
        case 4: r |= v; break;
        default: r ^= v; break;
        }
        any = true;
    }
    for (int l = 0; l < LANES; l++) memcpy(b->scratch + 4 * l, &r, 4);
    sim_blend(w->regs + op->d, b->scratch, mask, 4);
}

static uint64_t lane_at(const uint8_t *col, int lane, int width)
{
    uint64_t v = 0;
    memcpy(&v, col + (size_t)lane * (size_t)width, (size_t)width);
    return v;
}

/* mode: 1 sets the flag, 2 reads it, 4 subtracts, 8 multiplies first, 16 takes the upper half, 32 is signed. */
static void carry(Warp *w, const SimOp *op, uint32_t mask)
{
    uint8_t *regs = w->regs;
    int bits = 8 * op->width;
    WbbU128 all = ((WbbU128)1 << bits) - 1;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        WbbU128 x = lane_at(regs + op->a, l, op->width), y = lane_at(regs + op->b, l, op->width), flag = op->mode & 2 ? regs[op->e + (uint32_t)l] : 0;
        if (op->mode & 8) {
            WbbI128 sx = (WbbI128)x, sy = (WbbI128)y;
            if (op->mode & 32) {
                if (x >> (bits - 1)) sx -= (WbbI128)all + 1;
                if (y >> (bits - 1)) sy -= (WbbI128)all + 1;
            }
            WbbU128 product = op->mode & 32 ? (WbbU128)(sx * sy) : x * y;
            x = (op->mode & 16 ? product >> bits : product) & all;
            y = lane_at(regs + op->c, l, op->width);
        }
        WbbU128 r = op->mode & 4 ? x - y - flag : x + y + flag;
        uint64_t low = (uint64_t)(r & all);
        if (op->mode & 1) regs[op->e + (uint32_t)l] = (uint8_t)(r >> bits & 1); /* a borrow sets all upper bits */
        memcpy(regs + op->d + (size_t)l * op->width, &low, op->width);
    }
}

void sim_warp_op(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    switch ((OpKind)op->kind) {
    case OP_SHUFFLE: shuffle(b, w, op, mask); break;
    case OP_VOTE: vote(b, w, op, mask); break;
    case OP_REDUX: redux(b, w, op, mask); break;
    case OP_CARRY: carry(w, op, mask); break;
    case OP_ACTIVE:
        for (int l = 0; l < LANES; l++)
            if (mask >> l & 1) memcpy(w->regs + op->d + 4 * (size_t)l, &mask, 4);
        break;
    default: break;
    }
}

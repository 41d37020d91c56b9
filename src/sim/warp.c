/* warp: runs one warp until it ends or waits at a barrier.
 *
 * Needs: decoded operations. Leaves: the warp's registers, memory, and counts in the report.
 *
 * Lanes that took different ways are groups; the group at the lowest operation runs, and groups that meet join. That alone is
 * not enough: a cold block may lie after the place where the lanes meet. So a group that comes to an operation of several
 * lanes parks there until all live lanes that it names have come. If every group is parked and none is complete, the
 * program is wrong.
 *
 * Operations compute all 32 columns; where lanes that live are not to change, the result goes to a scratch column first and is
 * blended in. Lanes that have ended may change: nobody reads them.
 */
#include "sim/inner.h"

/* Bits of a predicate column, whose lanes are 0 or 1. */
static uint32_t bits_of(const uint8_t *p)
{
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t eight;
        memcpy(&eight, p + 8 * i, 8);
        r |= (uint32_t)((eight * UINT64_C(0x0102040810204080)) >> 56) << (8 * i);
    }
    return r;
}

void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width)
{
    switch (width) {
    case 1:
        for (int l = 0; l < LANES; l++) d[l] = mask >> l & 1 ? s[l] : d[l];
        break;
    case 2:
        for (int l = 0; l < LANES; l++)
            if (mask >> l & 1) memcpy(d + 2 * l, s + 2 * l, 2);
        break;
    case 4:
        for (int l = 0; l < LANES; l++)
            if (mask >> l & 1) memcpy(d + 4 * l, s + 4 * l, 4);
        break;
    default:
        for (int l = 0; l < LANES; l++)
            if (mask >> l & 1) memcpy(d + 8 * l, s + 8 * l, 8);
    }
}

static void add_group(Warp *w, uint32_t pc, uint32_t mask, bool parked)
{
    if (!mask) return;
    for (int i = 0; i < w->n_groups; i++) {
        if (w->groups[i].pc != pc) continue;
        w->groups[i].mask |= mask; /* groups that meet are one; it looks again whether it is complete */
        w->groups[i].parked = parked;
        return;
    }
    w->groups[w->n_groups++] = (Group){pc, mask, parked};
}

static uint32_t lane_u32(const Warp *w, uint32_t col, int lane)
{
    uint32_t v;
    memcpy(&v, w->regs + col + 4 * (size_t)lane, 4);
    return v;
}

/* Which live lanes must have come before the operation can run. */
static uint32_t needed(const Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_BARRIER) return w->live;
    return lane_u32(w, op->e, __builtin_ctz(mask)) & w->live;
}

/* Choose the group that runs next; false if none can. */
static bool pick(Block *b, Warp *w)
{
    int best = -1;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked && (best < 0 || w->groups[i].pc < w->groups[best].pc)) best = i;
    for (int i = 0; best < 0 && i < w->n_groups; i++) {
        const SimOp *op = &b->m->ops.items[w->groups[i].pc];
        if (!(needed(w, op, w->groups[i].mask) & ~w->groups[i].mask)) best = i;
    }
    if (best < 0) return false;
    w->pc = w->groups[best].pc;
    w->mask = w->groups[best].mask;
    w->groups[best] = w->groups[--w->n_groups];
    w->next_pc = UINT32_MAX;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked || w->groups[i].pc > w->pc) w->next_pc = WBB_MIN(w->next_pc, w->groups[i].pc);
    return true;
}

/* The running group has nothing to run: another, or the end. */
static bool another(Block *b, Warp *w)
{
    if (pick(b, w)) return true;
    if (w->n_groups) {
        const Group *g = &w->groups[0];
        const SimOp *op = &b->m->ops.items[g->pc];
        uint32_t missing = needed(w, op, g->mask) & ~g->mask;
        sim_fault(b, w, op, __builtin_ctz(g->mask), "lanes 0x%08x wait for lanes 0x%08x, which wait elsewhere: the warp is divergent here",
                  g->mask, missing);
        b->stop = true;
    }
    w->done = true;
    return false;
}

static void split(Block *b, Warp *w, uint32_t pc, uint32_t mask, uint32_t pc2, uint32_t mask2)
{
    b->report.divergent++;
    add_group(w, pc, mask, false);
    add_group(w, pc2, mask2, false);
    pick(b, w);
}

static void go_back(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t rest = mask;
    add_group(w, w->pc + 1, w->mask & ~mask, false);
    while (rest) {
        uint32_t pc = lane_u32(w, op->a, __builtin_ctz(rest)), same = 0;
        for (int l = 0; l < LANES; l++)
            if (rest >> l & 1 && lane_u32(w, op->a, l) == pc) same |= 1u << l;
        add_group(w, pc, same, false);
        rest &= ~same;
    }
    pick(b, w);
}

static void branch_table(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    add_group(w, w->pc + 1, w->mask & ~mask, false);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t i = lane_u32(w, op->a, l);
        if (i >= op->n) {
            sim_fault(b, w, op, l, "branch to target %u of %u", i, op->n);
            i = 0;
        }
        add_group(w, b->m->targets.items[op->target + i], 1u << l, false);
    }
    if (w->n_groups > 1) b->report.divergent++;
    pick(b, w);
}

static void call(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    for (int l = 0; l < LANES; l++) {
        uint32_t back = w->pc + 1;
        if (mask >> l & 1) memcpy(w->regs + op->a + 4 * (size_t)l, &back, 4);
    }
    uint32_t start = b->m->funcs.items[op->target]->start;
    add_group(w, start, mask, false);
    add_group(w, w->pc + 1, w->mask & ~mask, false);
    pick(b, w);
}

static void param(Warp *w, const SimOp *op, uint32_t mask)
{
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint8_t *memory = w->regs + op->a + (size_t)l * op->n + (op->kind == OP_PARAM_COPY ? 0 : op->imm);
        uint8_t *column = w->regs + op->d + (size_t)l * op->width;
        if (op->kind == OP_PARAM_COPY) memcpy(w->regs + op->d + (size_t)l * op->n, memory, op->n);
        else if (op->kind == OP_PARAM_STORE) memcpy(memory, column, op->bytes);
        else if (op->bytes == 1) {
            int16_t v = op->mode ? (int8_t)*memory : *memory;
            memcpy(column, &v, 2);
        } else memcpy(column, memory, op->bytes);
    }
}

/* The warp comes to a place where lanes work together. False if it must wait. */
static bool together(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (!(needed(w, op, mask) & ~mask)) return true;
    if (mask != w->mask) add_group(w, w->pc + 1, w->mask & ~mask, false);
    add_group(w, w->pc, mask, true);
    another(b, w);
    return false;
}

void sim_run_warp(Block *b, Warp *w)
{
    const SimOp *ops = b->m->ops.items;
    uint8_t *regs = w->regs;
    uint64_t threads = 0, warps = 0, steps = w->executed;
    while (!w->done && !b->stop) {
        if (w->pc >= w->next_pc) {
            add_group(w, w->pc, w->mask, false);
            if (!another(b, w)) break;
        }
        const SimOp *op = &ops[w->pc];
        uint32_t mask = w->mask;
        steps++;
        if (op->pred) {
            uint32_t p = bits_of(regs + op->pred);
            mask &= op->negate ? ~p : p;
            if (!mask) {
                w->pc++;
                continue;
            }
        }
        warps += op->counts;
        if (op->counts) threads += mask == FULL ? LANES : (uint64_t)__builtin_popcount(mask);
        switch ((OpKind)op->kind) {
        case OP_ALU:
            if ((mask | ~w->live) == FULL) {
                op->fn(regs + op->d, regs, op);
            } else {
                op->fn(b->scratch, regs, op);
                sim_blend(regs + op->d, b->scratch, mask, op->width);
            }
            w->pc++;
            break;
        case OP_LOAD:
            sim_load(b, w, op, mask);
            w->pc++;
            break;
        case OP_STORE:
            sim_store(b, w, op, mask);
            w->pc++;
            break;
        case OP_BRANCH:
            if (op->target <= w->pc && steps > b->budget) {
                sim_fault(b, w, op, __builtin_ctz(mask), "run-away loop: more than %llu operations", (unsigned long long)b->budget);
                b->stop = true;
            }
            if (mask == w->mask && op->target >= w->pc) w->pc = op->target;
            else if (mask == w->mask) {
                /* Backward: groups that waited further on are now relative to a lower place. */
                add_group(w, op->target, mask, false);
                pick(b, w);
            } else split(b, w, op->target, mask, w->pc + 1, w->mask & ~mask);
            break;
        case OP_BRANCH_TABLE: branch_table(b, w, op, mask); break;
        case OP_CALL: call(b, w, op, mask); break;
        case OP_RET: go_back(b, w, op, mask); break;
        case OP_EXIT:
            w->live &= ~mask;
            w->mask &= ~mask;
            if (w->mask) w->pc++;
            else another(b, w);
            break;
        case OP_BARRIER:
            if (!together(b, w, op, mask)) break;
            w->pc++;
            w->at_barrier = op->mode + 1u;
            goto leave;
        case OP_SHUFFLE:
        case OP_VOTE:
        case OP_REDUX:
        case OP_WARP_SYNC:
            if (!together(b, w, op, mask)) break;
            sim_warp_op(b, w, op, mask);
            w->pc++;
            break;
        case OP_ACTIVE:
        case OP_CARRY:
            sim_warp_op(b, w, op, mask);
            w->pc++;
            break;
        case OP_PARAM_LOAD:
        case OP_PARAM_STORE:
        case OP_PARAM_COPY:
            param(w, op, mask);
            w->pc++;
            break;
        case OP_TRAP:
            sim_fault(b, w, op, __builtin_ctz(mask), "the program trapped");
            b->stop = true;
            break;
        }
    }
leave:
    w->executed = steps;
    b->report.instructions += threads;
    b->report.warp_instructions += warps;
}

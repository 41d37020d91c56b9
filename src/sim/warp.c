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
#include "sim/lanes.h"

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

/* Lanes of `mask` take the value of `s`. */
#define BLEND(T)                                                                                                         \
    {                                                                                                                    \
        T *to = (T *)(void *)d;                                                                                          \
        const T *from = (const T *)(const void *)s;                                                                      \
        SIM_EACH to[l] = mask >> l & 1 ? from[l] : to[l];                                                                \
        break;                                                                                                           \
    }

SIM_CLONES void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width)
{
    switch (width) {
    case 1: BLEND(u8)
    case 2: BLEND(u16)
    case 4: BLEND(u32)
    default: BLEND(u64)
    }
}

enum { SLICE = 1 << 16 /* operations after which a loop gives way */ };

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

/* Which live lanes must have come before the operation can run for the first lane of `mask`. */
static uint32_t needed(const Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_BARRIER) return w->live;
    return lane_u32(w, op->e, __builtin_ctz(mask)) & w->live;
}

/* The lanes of `mask` that can run the operation now. Each waits for those that its own mask names. */
static uint32_t ready(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_MBARRIER_WAIT) return sim_mbarrier_ready(b, w, op, mask);
    const uint32_t missing = needed(w, op, mask) & ~mask;
    if (op->kind == OP_BARRIER || op->kind == OP_MATRIX) return missing ? 0 : mask;
    const uint32_t first = lane_u32(w, op->e, __builtin_ctz(mask));
    uint32_t same = 0, r = 0;
    for (int l = 0; l < LANES; l++) same |= (uint32_t)(lane_u32(w, op->e, l) == first) << l;
    if (!(mask & ~same)) return missing ? 0 : mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (!(needed(w, op, rest) & ~mask)) r |= rest & -rest;
    return r;
}

/* Choose the group that runs next; false if none can. */
static bool pick(Block *b, Warp *w)
{
    int best = -1;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked && (best < 0 || w->groups[i].pc < w->groups[best].pc)) best = i;
    for (int i = 0; best < 0 && i < w->n_groups; i++) {
        const SimOp *op = &b->m->ops.items[w->groups[i].pc];
        if (ready(b, w, op, w->groups[i].mask)) best = i;
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

/* The running group has nothing to run: another, or a wait for other warps, or the end. */
static bool another(Block *b, Warp *w)
{
    if (pick(b, w)) return true;
    w->mask = 0;
    for (int i = 0; i < w->n_groups; i++) {
        const SimOp *op = &b->m->ops.items[w->groups[i].pc];
        if (op->kind != OP_MBARRIER_WAIT) continue;
        w->wait = op;
        w->at_barrier = AT_MBARRIER;
        return false;
    }
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

/* A group that loops may wait for lanes further on, as a lock does: let the furthest one run for a while. */
static void take_turns(Warp *w)
{
    int best = -1;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked && w->groups[i].pc != w->pc && (best < 0 || w->groups[i].pc > w->groups[best].pc)) best = i;
    if (best < 0) return;
    const Group g = w->groups[best];
    w->groups[best] = w->groups[--w->n_groups];
    add_group(w, w->pc, w->mask, false);
    w->pc = g.pc, w->mask = g.mask;
    w->next_pc = UINT32_MAX;
    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].pc > w->pc) w->next_pc = WBB_MIN(w->next_pc, w->groups[i].pc);
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

/* The warp comes to a place where lanes work together: those that can run do, in *mask; the rest parks. False if none can. */
static bool together(Block *b, Warp *w, const SimOp *op, uint32_t *mask)
{
    const uint32_t can = ready(b, w, op, *mask), rest = *mask & ~can;
    if (!rest) return true;
    const uint32_t passing = w->mask & ~*mask; /* lanes whose guard is false */
    if (can) {
        add_group(w, w->pc, rest, true);
        w->mask = can | passing;
        *mask = can;
        return true;
    }
    add_group(w, w->pc + 1, passing, false);
    add_group(w, w->pc, rest, true);
    another(b, w);
    return false;
}

/* A loop turned round. False if the warp is to leave for others. */
static bool looped(Block *b, Warp *w, const SimOp *op, uint64_t steps)
{
    if (steps > b->budget) {
        sim_fault(b, w, op, w->mask ? __builtin_ctz(w->mask) : 0, "run-away loop: more than %llu operations", (unsigned long long)b->budget);
        b->stop = true;
        return false;
    }
    if (steps < w->slice) return true;
    w->slice = steps + SLICE;
    take_turns(w);
    return !b->m->barrier || b->n_warps * b->cluster->n == 1;
}

void sim_run_warp(Block *b, Warp *w)
{
    const SimOp *ops = b->m->ops.items;
    const uint32_t *stretch = b->m->stretch;
    uint8_t *regs = w->regs;
    uint64_t threads = 0, warps = 0, steps = w->executed;
    if (!w->mask && !another(b, w)) return;
    while (!w->done && !b->stop) {
        if (w->pc >= w->next_pc) {
            add_group(w, w->pc, w->mask, false);
            if (!another(b, w)) goto leave;
        }
        const uint32_t end = WBB_MIN(stretch[w->pc], w->next_pc);
        if (end > w->pc && (w->mask | ~w->live) == FULL) {
            steps += end - w->pc;
            const uint32_t n = sim_straight(b, w, end);
            warps += n;
            threads += (uint64_t)n * (uint64_t)__builtin_popcount(w->mask);
            continue;
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
        if (op->counts) {
            const uint64_t active = mask == FULL ? LANES : (uint64_t)__builtin_popcount(mask);
            threads += active;
            if (b->tally) {
                b->tally[w->pc].threads += active;
                b->tally[w->pc].warps++;
            }
        }
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
            if (op->target <= w->pc && steps >= w->slice && !looped(b, w, op, steps)) goto leave;
            if (op != &ops[w->pc]) break; /* another group's turn */
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
            else if (!another(b, w)) goto leave;
            break;
        case OP_BARRIER:
            if (!together(b, w, op, &mask)) {
                if (!w->mask) goto leave;
                break;
            }
            w->pc++;
            if (sim_barrier(b, w, op, mask)) goto leave;
            break;
        case OP_SHUFFLE:
        case OP_VOTE:
        case OP_REDUX:
        case OP_MATCH:
        case OP_ELECT:
        case OP_WARP_SYNC:
            if (!together(b, w, op, &mask)) {
                if (!w->mask) goto leave;
                break;
            }
            sim_warp_op(b, w, op, mask);
            w->pc++;
            break;
        case OP_MBARRIER_WAIT:
            if (!together(b, w, op, &mask)) {
                if (!w->mask) goto leave;
                break;
            }
            sim_mbarrier_wait(b, w, op, mask);
            w->pc++;
            if (!op->d || w->regs[op->d + (uint32_t)__builtin_ctz(mask)]) break;
            goto leave; /* a test that fails: others must run before it is asked again */
        case OP_MBARRIER:
            sim_mbarrier(b, w, op, mask);
            w->pc++;
            break;
        case OP_COPY:
        case OP_COPY_GROUP:
            sim_copy(b, w, op, mask);
            w->pc++;
            break;
        case OP_YIELD:
            w->pc++;
            goto leave;
        case OP_CLOCK:
            sim_fill(b->scratch, op->mode ? (steps + b->ticks) >> 32 : steps + b->ticks, op->width);
            sim_blend(regs + op->d, b->scratch, mask, op->width);
            b->ticks += LANES;
            w->pc++;
            break;
        case OP_SYSTEM:
            sim_system(b, w, op, mask);
            w->pc++;
            break;
        case OP_ATOMIC:
            sim_atomic(b, w, op, mask);
            w->pc++;
            break;
        case OP_MATRIX:
            if (!together(b, w, op, &mask)) {
                if (!w->mask) goto leave;
                break;
            }
            sim_matrix(b, w, op);
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

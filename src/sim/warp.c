/* warp: runs one warp until it ends or waits for other warps.
 *
 * Needs: decoded operations; groups.c for lanes that took different ways. Leaves: the warp's registers, memory, and
 * counts in the report.
 *
 * Operations compute all 32 columns; where lanes that live are not to change, the result goes to a scratch column
 * first and is blended in. Lanes that have ended may change: nobody reads them. Arithmetic runs in the loop itself,
 * all other operations by the table of handlers.
 *
 *     @%p1 add.s32 %r1, %r1, 1;   ->   all lanes of %r1 + 1 to the scratch column, those of %p1 from there to %r1
 */
#include "sim/inner.h"

/* A loop begins its next iteration, or a function is called. False if the warp is to leave for others. */
static bool looped(Block *b, Warp *w, const SimOp *op)
{
    if (w->executed > b->budget) {
        sim_fault(b, w, op, w->mask ? __builtin_ctz(w->mask) : 0, "run-away loop or calls: more than %llu operations",
                  (unsigned long long)b->budget);
        b->report.ran_away = b->stop = true;
        return false;
    }
    const bool waits = w->waits;
    w->slice = w->executed + b->slice;
    const bool other = sim_group_yield(w);
    w->waits = false;
    if (other && waits) return true; /* lanes that hold what these wait for need not wait for other warps */
    return !b->own || (b->n_warps * b->cluster->n == 1 && !b->m->polls);
}

/* Each lane goes back to where it was called. */
static bool go_back(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint32_t rest = mask;
    if (mask == w->mask && !w->n_groups) {
        const uint32_t first = sim_lane32(w->regs + op->a, __builtin_ctz(mask));
        uint32_t others = 0;
        for (int l = 0; l < LANES; l++) others |= (uint32_t)(sim_lane32(w->regs + op->a, l) != first) << l;
        if (!(others & mask)) {
            w->pc = first;
            return true;
        }
    }
    sim_group_add(w, w->pc + 1, w->mask & ~mask, false);
    while (rest) {
        uint32_t pc = sim_lane32(w->regs + op->a, __builtin_ctz(rest)), same = 0;
        for (int l = 0; l < LANES; l++)
            if (rest >> l & 1 && sim_lane32(w->regs + op->a, l) == pc) same |= 1u << l;
        sim_group_add(w, pc, same, false);
        rest &= ~same;
    }
    sim_group_pick(b, w);
    return true;
}

static bool branch_table(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    sim_group_add(w, w->pc + 1, w->mask & ~mask, false);
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t i = sim_lane32(w->regs + op->a, l);
        if (i >= op->n) {
            sim_fault(b, w, op, l, "branch to target %u of %u", i, op->n);
            i = 0;
        }
        sim_group_add(w, b->m->targets.items[op->target + i], 1u << l, false);
    }
    if (w->n_groups > 1) b->report.divergent++;
    if (w->n_groups > 1 && b->tally) b->tally[w->pc].splits++;
    sim_group_pick(b, w);
    return true;
}

static bool call(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (w->executed >= w->slice && !looped(b, w, op)) return false;
    if (op != &b->m->ops.items[w->pc]) return true; /* another group runs now, and this one calls later */
    for (int l = 0; l < LANES; l++) {
        uint32_t back = w->pc + 1;
        if (mask >> l & 1) memcpy(w->regs + op->a + 4 * (size_t)l, &back, 4);
    }
    const uint32_t start = b->m->funcs.items[op->target]->start;
    if (mask == w->mask && !w->n_groups) { /* no other lanes to wait for or to join */
        w->pc = start;
        return true;
    }
    sim_group_add(w, start, mask, false);
    sim_group_add(w, w->pc + 1, w->mask & ~mask, false);
    sim_group_pick(b, w);
    return true;
}

/* Parameters of functions are memories of a few bytes a lane. */
static void param(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    (void)b;
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

static bool branch(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->target <= w->pc && w->executed >= w->slice && !looped(b, w, op)) return false;
    if (op != &b->m->ops.items[w->pc]) return true; /* another group runs now, and this one branches later */
    if (mask != w->mask) {
        sim_group_split(b, w, op->target, mask, w->pc + 1, w->mask & ~mask);
    } else if (op->target >= w->pc) {
        w->pc = op->target;
    } else { /* Backward: groups that waited further on may now be above the running one. */
        sim_group_add(w, op->target, mask, false);
        sim_group_pick(b, w);
    }
    return true;
}

static bool end(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    (void)op;
    w->live &= ~mask;
    w->mask &= ~mask;
    if (!w->mask) return sim_group_next(b, w);
    w->pc++;
    return true;
}

static bool barrier(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    w->pc++;
    return !sim_barrier(b, w, op, mask);
}

/* A test that fails lets others run before it is asked again. */
static bool wait_mbarrier(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    sim_mbarrier_wait(b, w, op, mask);
    w->pc++;
    return !op->d || w->regs[op->d + (uint32_t)__builtin_ctz(mask)];
}

static bool yield(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    (void)b, (void)op, (void)mask;
    w->pc++;
    return false;
}

static bool trap(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    sim_fault(b, w, op, __builtin_ctz(mask), "the program trapped");
    return !(b->stop = true);
}

static void read_clock(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    const bool upper = op->n == SP_CLOCK_HI || op->n == SP_TIMER_HI, time = op->n >= SP_CLOCK && op->n <= SP_TIMER_HI;
    const uint64_t now = time ? w->executed + b->ticks : op->n == SP_NSMID;
    if (b->options->check)
        sim_fault(b, w, op, __builtin_ctz(mask), "%s is read, which differs from run to run", sim_special_name(op->n));
    sim_fill(b->scratch, upper ? now >> 32 : now, op->width);
    sim_blend(w->regs + op->d, b->scratch, mask, op->width);
    b->ticks += LANES;
}

/* How each kind of operation runs, for the lanes of `mask`. After `act` the warp goes on with the next operation;
 * `step` says by itself where, and returns false if the warp is to leave for others or has ended. `together`: lanes
 * wait for each other before. */
static const struct {
    void (*act)(Block *b, Warp *w, const SimOp *op, uint32_t mask);
    bool (*step)(Block *b, Warp *w, const SimOp *op, uint32_t mask);
    bool together;
    bool memory; /* other threads may see what it does */
} handlers[OP_KINDS] = {
    [OP_LOAD] = {.act = sim_load, .memory = true},
    [OP_STORE] = {.act = sim_store, .memory = true},
    [OP_BRANCH] = {.step = branch},
    [OP_BRANCH_TABLE] = {.step = branch_table},
    [OP_CALL] = {.step = call},
    [OP_RET] = {.step = go_back},
    [OP_EXIT] = {.step = end},
    [OP_BARRIER] = {.step = barrier, .together = true},
    [OP_SHUFFLE] = {.act = sim_warp_op, .together = true},
    [OP_VOTE] = {.act = sim_warp_op, .together = true},
    [OP_REDUX] = {.act = sim_warp_op, .together = true},
    [OP_MATCH] = {.act = sim_warp_op, .together = true},
    [OP_ELECT] = {.act = sim_warp_op, .together = true},
    [OP_WARP_SYNC] = {.act = sim_warp_op, .together = true},
    [OP_ACTIVE] = {.act = sim_warp_op},
    [OP_CARRY] = {.act = sim_warp_op},
    [OP_PARAM_LOAD] = {.act = param},
    [OP_PARAM_STORE] = {.act = param},
    [OP_PARAM_COPY] = {.act = param},
    [OP_TRAP] = {.step = trap},
    [OP_FENCE] = {.act = sim_fence},
    [OP_ATOMIC] = {.act = sim_atomic, .memory = true},
    [OP_MATRIX] = {.act = sim_matrix, .together = true},
    [OP_MMA] = {.act = sim_mma, .together = true},
    [OP_YIELD] = {.step = yield},
    [OP_CLOCK] = {.act = read_clock},
    [OP_SYSTEM] = {.act = sim_system},
    [OP_COPY] = {.act = sim_copy},
    [OP_COPY_GROUP] = {.act = sim_copy},
    [OP_MBARRIER] = {.act = sim_mbarrier},
    [OP_MBARRIER_WAIT] = {.step = wait_mbarrier, .together = true},
};

/* Count an instruction of `mask` lanes, the operation's in the tally too. */
static void count(Block *b, const Warp *w, uint32_t mask, uint64_t *threads)
{
    const uint64_t active = mask == FULL ? LANES : (uint64_t)__builtin_popcount(mask);
    *threads += active;
    if (!b->tally) return;
    b->tally[w->pc].threads += active;
    b->tally[w->pc].warps++;
}

/* No lane's guard holds. */
static void pass(Block *b, Warp *w, const SimOp *op)
{
    b->tally[w->pc].passed += op->counts;
    if (b->timed) sim_meter_step(b, w, op, true);
}

/* One operation, for the lanes of `mask`. False if the warp is to leave for others or has ended. */
static bool run_one(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_ALU) {
        if ((mask | ~w->live) == FULL) {
            op->fn(w->regs + op->d, w->regs, op);
        } else {
            op->fn(b->scratch, w->regs, op);
            sim_blend(w->regs + op->d, b->scratch, mask, op->width);
        }
        w->pc++;
        return true;
    }
    if (handlers[op->kind].together && !sim_group_join(b, w, op, &mask)) return w->mask != 0;
    if (handlers[op->kind].step) return handlers[op->kind].step(b, w, op, mask);
    handlers[op->kind].act(b, w, op, mask);
    w->pc++;
    if (!handlers[op->kind].memory) return true;
    if (b->abreast && sim_meter_waits(b)) return false;
    if (!sim_turn_ends(b, w)) return true;
    if (w->n_groups && b->m->polls) sim_group_yield(w); /* lanes further on may hold what these wait for */
    return false;
}

enum { LOOK = 1 << 20 /* instructions of a warp, some 30 ms, after which it asks whether the run goes on */ };

void sim_run_warp(Block *b, Warp *w)
{
    const SimOp *ops = b->m->ops.items;
    const uint32_t *stretch = b->m->stretch;
    uint64_t threads = 0, warps = 0;
    bool on = w->mask || sim_group_next(b, w);
    while (on && !w->done && !b->stop) {
        if (w->pc >= w->next_pc) {
            sim_group_add(w, w->pc, w->mask, false);
            if (!sim_group_next(b, w)) break;
        }
        const uint32_t last = WBB_MIN(stretch[w->pc], w->next_pc);
        if (last > w->pc && (w->mask | ~w->live) == FULL) {
            w->executed += last - w->pc;
            const uint32_t n = sim_straight(b, w, last);
            warps += n;
            threads += (uint64_t)n * (uint64_t)__builtin_popcount(w->mask);
            continue;
        }
        const SimOp *op = &ops[w->pc];
        uint32_t mask = w->mask;
        if (w->executed++ >= w->look) {
            w->look = w->executed + LOOK;
            if (wbb_progress_again(b->cx)) wbb_stop(b->cx);
        }
        if (op->tracked && w->undefined) sim_undefined(b, w, op);
        if (op->pred) {
            const uint32_t p = sim_predicates(w->regs + op->pred);
            mask &= op->negate ? ~p : p;
            if (!mask) {
                if (b->tally) pass(b, w, op);
                w->pc++;
                continue;
            }
        }
        warps += op->counts;
        if (op->counts) count(b, w, mask, &threads);
        on = run_one(b, w, op, mask);
        if (b->timed) sim_meter_step(b, w, op, false);
    }
    b->report.instructions += threads;
    b->report.warp_instructions += warps;
}

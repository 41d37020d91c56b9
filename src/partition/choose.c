/* choose.c: how the threads of a kernel share the elements of its launch ranges: the layout of each stage, the threads
 * of a block, the blocks.
 *
 * Needs launch ranges; leaves layouts, their maps, block and grid, each number with its reason. Elements a vector: as
 * many as the widest accesses to the narrowest type hold, then fewer where the machine is not full, a thread would
 * touch too many bytes or the code be too long, and where halving once makes it divide the elements. Threads a block:
 * the target's number, or one near it that divides the threads: no bounds check is needed. Where layouts have a
 * price, fewer elements, more vectors a thread or twice the threads are taken if they cost less.
 *
 *     gelu bf16[6,512,4096]     =>   elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "partition/exchange.h"
#include "partition/scatter.h"

/* The numbers of the stage of a range. */
typedef struct {
    PartRange *r;
    PartStage *s;
    uint32_t vector;       /* elements */
    uint32_t registers;    /* vectors of a thread, a block's threads apart: neighbouring threads' are neighbours */
    int64_t vectors, tail; /* tail: threads */
    bool spread;           /* neighbouring elements are those of neighbouring lanes, registers are within a warp */
    const PartWork *work;  /* NULL: its layouts have no price */
} Choice;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const PartPlan *p;
    PartKernel *k;
    const TgTarget *t;
    Choice *choices;  /* [n_ranges] */
    int64_t elements; /* of all ranges */
    const bool *needed; /* by id: an output of the kernel needs it */
    const bool *read;   /* [operands of the plan]: so it does this one */
    int64_t trips;      /* iterations of loops that an element takes, at most */
    const PartRates *rates;
} Choosing;

/* What the outputs of the kernel need. Where it is the only one, all. */
static void find_needed(Choosing *c)
{
    const PartPlan *p = c->p;
    const HloComputation *body = p->fusion->body;
    const int64_t *trips = part_trips(c->arena, body);
    bool *needed = part_needed(c->arena, p, c->k), *read = WBB_NEW_N(c->arena, bool, p->n_operands + 1);
    c->trips = 1;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        needed[k] = needed[k] || p->n_kernels == 1;
        if (!needed[k]) continue;
        c->trips = WBB_MAX(c->trips, trips[k]);
        if (i->opcode != HLO_PARAMETER) continue;
        for (uint32_t leaf = 0; leaf < i->shape->n_leaves; leaf++) read[p->first_leaf[i->number] + leaf] = true;
    }
    c->needed = needed, c->read = read;
}

/* elements a thread ------------------------------------------------------------------------------------------- */

/* Bytes of buffers that are accessed once for each element: smaller ones are broadcast and stay in a cache. */
static uint32_t bytes_an_element(const Choosing *c, const Choice *x)
{
    const PartPlan *p = c->p;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (c->read[k] && p->buffers[k].elements >= x->r->elements) sum += sc_bytes(p->buffers[k].shape->type);
    for (uint32_t k = 0; k < x->s->n_outputs; k++)
        sum += sc_bytes(p->buffers[p->n_operands + x->s->outputs[k]].shape->type);
    return sum * WBB_MAX(x->s->n_starts, 1u);
}

/* Bits of the narrowest buffer, bytes of the widest. */
static void width_of_buffers(const Choosing *c, const PartStage *s, uint32_t *narrow, uint32_t *wide)
{
    const PartPlan *p = c->p;
    *narrow = 64, *wide = 1;
    for (uint32_t k = 0; k < p->n_operands + s->n_outputs; k++) {
        if (k < p->n_operands && !c->read[k]) continue;
        const ScType t = p->buffers[k < p->n_operands ? k : p->n_operands + s->outputs[k - p->n_operands]].shape->type;
        *narrow = WBB_MIN(*narrow, sc_type_info[t].bits), *wide = WBB_MAX(*wide, sc_bytes(t));
    }
}

/* Of the widest output. */
static uint32_t stored_bytes(const Choosing *c, const PartStage *s)
{
    uint32_t bytes = 1;
    for (uint32_t k = 0; k < s->n_outputs; k++)
        bytes = WBB_MAX(bytes, sc_bytes(c->p->buffers[c->p->n_operands + s->outputs[k]].shape->type));
    return bytes;
}

static const char a_row[] = "a row: its number is the block's";
static void halve_once(WbbArena *a, Choice *x, const char *why, long long number)
{
    x->vector /= 2;
    x->s->why_vector = wbb_format(a, why, number);
}

static void halve(WbbArena *a, Choice *x, int64_t limit, int64_t each, const char *why)
{
    while (x->vector > 1 && x->vector * each > limit) halve_once(a, x, why, each);
}

/* The largest power of two that divides every edge of concatenates and pads of so many elements, along their minor
 * dimension. *row: set to 0 where one of them has rows of another length. */
static int64_t edges(const HloComputation *c, int64_t elements, int64_t *row)
{
    int64_t all = 0; /* bits of all edges */
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->shape->type == SC_TUPLE || !i->shape->rank || hlo_elements(i->shape) < elements) continue;
        const uint32_t minor = i->shape->minor_to_major[0];
        const int64_t before = all;
        if (i->opcode == HLO_CONCATENATE && i->dimensions[0] == (int64_t)minor && !part_is_rotation(i)) {
            for (uint32_t o = 0; o < i->n_operands; o++) all |= i->operands[o]->shape->dims[minor];
        } else if (i->opcode == HLO_PAD && i->paddings[minor].interior == 0) {
            const HloPadding *p = &i->paddings[minor];
            if (p->low || p->high) all |= p->low | (p->low + i->operands[0]->shape->dims[minor]);
        }
        if (all != before && *row != i->shape->dims[minor]) *row = 0;
    }
    return all ? all & -all : INT64_MAX;
}

/* Edges at the same offsets of every row: a thread takes whole rows; of each element the operand is known. */
static bool whole_rows(Choosing *c, Choice *x, int64_t row, uint32_t narrow)
{
    const int64_t most = tg_tuned(c->t, "loop.max_row"), min_threads = tg_tuned(c->t, "loop.min_threads");
    if (x->s->kind != PART_ELEMENTS || row < 2 || row > most || c->elements < row * min_threads) return false;
    int64_t rows = 1; /* more until they fill whole accesses of 16 bytes */
    while (2 * rows * row <= most && rows * row * narrow % 128 != 0 && x->r->elements % (2 * rows * row) == 0 &&
           c->elements >= 2 * rows * row * min_threads)
        rows *= 2;
    if (rows * row % 2) return false; /* lanes are taken in pairs */
    x->vector = (uint32_t)(rows * row);
    x->s->why_vector = wbb_format(c->arena, "%lld whole rows of %lld: the operand of each element is known",
                               (long long)rows, (long long)row);
    return true;
}

/* As wide as accesses and the machine allow. */
static void limit_vector(Choosing *c, Choice *x, uint32_t narrow, uint32_t wide)
{
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.unroll", narrow);
    const uint32_t bytes = bytes_an_element(c, x);
    const int64_t body = part_operations(c->arena, c->p->fusion->body, c->needed);
    const uint32_t accesses = (uint32_t)tg_tuned(t, "loop.max_accesses");
    const int64_t min_threads = tg_tuned(t, "loop.min_threads");
    x->vector = (uint32_t)WBB_MAX(tune->value, 1);
    x->s->why_vector = tune->because;
    while (x->vector > 1 && c->elements < x->vector * min_threads)
        halve_once(c->arena, x, "more a thread would leave under %lld threads", min_threads);
    if (x->s->kind == PART_UPDATE) /* which has no price, and L2 does not merge what is stored in parts of sectors */
        halve(c->arena, x, WBB_MIN(t->vector_bytes, c->p->align), stored_bytes(c, x->s),
              "an element that is stored has %lld bytes: one access");
    while (x->vector > 1 && x->vector * wide > accesses * t->vector_bytes) {
        x->vector /= 2;
        x->s->why_vector =
            wbb_format(c->arena, "%u bytes of the widest buffer, %u accesses", x->vector * wide, accesses);
    }
    halve(c->arena, x, tg_tuned(t, "loop.max_bytes"), bytes, "a thread touches %lld bytes an element");
    halve(c->arena, x, tg_tuned(t, "loop.max_body"), body, "the body has %lld operations");
    halve(c->arena, x, tg_tuned(t, "loop.max_iterations"), c->trips, "an element takes %lld iterations of loops");
    if (x->vector > 1 && part_has_open_loop(c->arena, c->p->fusion->body, c->needed)) {
        x->vector = 1;
        x->s->why_vector = "elements of a thread would run a loop of unknown length one after the other";
    }
    if (x->vector > 2 && x->r->elements % x->vector != 0 && x->r->elements % (x->vector / 2) == 0)
        halve_once(c->arena, x, "divides the elements, which %lld does not", x->vector);
}

/* Elements that share a byte of an output. */
static uint32_t packed_group(const Choosing *c, const Choice *x)
{
    uint32_t group = 1;
    for (uint32_t k = 0; k < x->s->n_outputs; k++) {
        const ScType of = c->p->buffers[c->p->n_operands + x->s->outputs[k]].shape->type;
        group = WBB_MAX(group, part_packed_group(of));
    }
    return group;
}

static void choose_vector(Choosing *c, Choice *x)
{
    uint32_t narrow, wide;
    width_of_buffers(c, x->s, &narrow, &wide);
    limit_vector(c, x, narrow, wide);
    const int64_t row = x->r->space->rank ? x->r->space->dims[x->r->space->minor_to_major[0]] : 1;
    int64_t same_row = row;
    const int64_t edge = edges(c->p->fusion->body, x->r->elements, &same_row);
    const bool tests = edge < x->vector && edge * narrow >= 8; /* less would part a byte */
    if (tests && !whole_rows(c, x, same_row, narrow) && edge * wide >= c->t->vector_bytes) {
        x->vector = (uint32_t)edge;
        x->s->why_vector = "divides the edges of what is padded or concatenated: one test for all elements of a thread";
    }
    if (x->s->run > 1 && row == 1) halve(c->arena, x, 1, 1, "a thread has a run of them, %lld for each");
    x->s->packed_group = x->s->kind == PART_SCATTER ? 1 : packed_group(c, x);
    if (x->vector < x->s->packed_group) {
        x->vector = x->s->packed_group;
        x->s->why_vector = "a byte of the output";
    }
    /* its rows are not contiguous in the output */
    while (x->s->kind != PART_ELEMENTS && x->vector > 1 && row % x->vector != 0 &&
           (x->s->kind != PART_SCATTER || row > 1))
        halve_once(c->arena, x, "divides a row of %lld elements", (long long)row);
}

static void count_vectors(Choice *x)
{
    x->vectors = x->r->elements / x->vector;
    x->tail = (x->r->elements % x->vector + x->s->packed_group - 1) / x->s->packed_group;
}

/* threads and blocks ------------------------------------------------------------------------------------------ */

/* Along the minor dimension that has more than one element. */
static int64_t minor_row(const HloShape *space)
{
    int64_t row = 1;
    for (uint32_t k = 0; k < space->rank && row == 1; k++) row = space->dims[space->minor_to_major[k]];
    return row;
}

/* Threads for a row of the range's space; 0: it has one row, or a thread may have elements of two. */
static int64_t row_threads(const Choice *x)
{
    const int64_t row = minor_row(x->r->space);
    return x->s->kind == PART_ELEMENTS && row < x->r->elements && row % x->vector == 0 ? row / x->vector : 0;
}

/* Bytes that a block moves at least, so that DRAM and not the rate at which blocks begin is what binds; 0: the target
 * states no rates. */
static double block_bytes(const TgTarget *t)
{
    if (!tg_find_rate(t, "clock")) return 0;
    return tg_rate(t, "dram")->value / (tg_rate(t, "blocks")->value * tg_rate(t, "clock")->value);
}

/* Threads a block: `times` the target's number, or all if they are fewer; a row of threads where that is near, so that
 * a row's number is the block's; else a multiple of a warp that divides the threads. Blocks of fewer threads would
 * reach more SMs, but a block's warps have a scheduler each: it takes no longer, and more blocks begin later. */
static void choose_block(Choosing *c, uint32_t times)
{
    PartKernel *p = c->k;
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.block", 0);
    const uint32_t most = times * (uint32_t)tune->value, factor = (uint32_t)tg_tuned(t, "loop.block_factor");
    const Choice *first = &c->choices[0];
    int64_t threads = 0;
    for (uint32_t k = 0; k < p->n_ranges; k++) threads += c->choices[k].vectors + c->choices[k].tail;
    p->block = most;
    p->why_block = tune->because;
    if (p->n_ranges && first->s->kind == PART_STEPS && threads / most < t->sms) {
        while (p->block > t->warp && threads / p->block < t->sms) p->block /= 2;
        p->why_block = "a thread works long: all SMs have some";
        return;
    }
    if (threads <= most && p->n_ranges <= 1) {
        p->block = (uint32_t)WBB_MAX(threads, 1), p->why_block = "one block has all threads";
        return;
    }
    if (p->n_ranges != 1) return;
    const double bytes = (double)bytes_an_element(c, first) * first->vector, enough = block_bytes(t);
    const int64_t row = row_threads(first);
    if (row % t->warp == 0 && row >= most / factor && row <= factor * most && threads % row == 0 &&
        threads / row >= t->sms && (row >= most || (double)row * bytes >= enough)) {
        p->block = (uint32_t)row, p->why_block = a_row;
        return;
    }
    if (threads % p->block == 0) return;
    for (uint32_t b = p->block; b >= p->block / factor && b >= t->warp; b -= t->warp) {
        if (threads % b != 0) continue;
        p->block = b;
        p->why_block = wbb_format(c->arena, "divides %lld threads", (long long)threads);
        return;
    }
}

/* atomic operations ------------------------------------------------------------------------------------------- */
/* Are updates combined with memory one by one? */
static bool is_atomic(const PartStage *s)
{
    return s->kind == PART_SCATTER && s->combine != PART_PLAIN && s->combine != PART_RUN && s->combine != PART_LOCK;
}

/* An atomic operation takes as many neighbours as the target has instructions for. Those of a longer vector would be
 * apart in each lane, and reach four times as many sectors as bytes need: lanes take neighbours instead, where these
 * are of one window, in as many registers; threads with runs of updates have enough to do, and are more instead. */
static void spread_atomics(Choosing *c, Choice *x)
{
    const int64_t row = x->r->space->rank ? x->r->space->dims[x->r->space->minor_to_major[0]] : 1;
    if (!is_atomic(x->s) || x->vector == 1) return;
    const uint32_t lanes = WBB_MIN(part_update_lanes(c->p, c->t, x->s), x->vector), registers = x->vector / lanes;
    const bool spreads = row > 1 && !x->tail && (x->s->run > 1 || x->vectors % c->k->block == 0);
    if (lanes == 1 && !spreads && part_update_in_pair(c->p, c->t, x->s)) {
        x->vector = 1;
        count_vectors(x);
        x->s->why_vector = "an update takes fewer instructions with what is beside its element";
    }
    if (row == 1 || x->vector == 1) return;
    if (registers == 1) x->s->why_vector = "an atomic operation takes as many neighbours";
    if (registers == 1 || !spreads) return;
    x->spread = x->s->run < 2;
    if (x->spread) x->registers = registers;
    x->vectors *= registers, x->vector = lanes;
    x->s->why_vector = "atomic operations of neighbouring lanes reach neighbours";
    x->s->why_register = "what a longer vector would have";
}

/* the price of a layout ---------------------------------------------------------------------------------------- */

static PartLayout layout_of(const Choosing *c, const Choice *x)
{
    PartDim *d = WBB_NEW(c->arena, PartDim);
    *d = (PartDim){.name = "elements", .size = x->r->elements};
    const int64_t warp = c->t->warp, block = c->k->block;
    part_add_factor(d, PART_VECTOR, x->vector);
    part_add_factor(d, PART_LANE, WBB_MIN(block, warp));
    if (x->spread) part_add_factor(d, PART_REGISTER, x->registers);
    part_add_factor(d, PART_WARP, (block + warp - 1) / warp);
    if (!x->spread) part_add_factor(d, PART_REGISTER, x->registers);
    part_add_factor(d, PART_GRID, x->r->blocks);
    if (!d->n_factors) d->factors[d->n_factors++] = (PartFactor){.level = PART_LANE, .size = 1};
    return (PartLayout){.dims = d, .n_dims = 1, .tail = x->s->packed_group};
}

/* The time under the layout of its numbers. */
static PartPrice price(const Choosing *c, const Choice *x)
{
    const PartLayout l = layout_of(c, x);
    return part_loop_price(c->arena, c->rates, x->work, &l);
}

/* Does an array lie anywhere, as values from memory say? */
static bool reads_anywhere(const PartWork *w)
{
    for (uint32_t k = 0; k < w->n_loads; k++)
        for (uint32_t d = 0; d < w->n_dims; d++)
            if (w->loads[k].step[d] == PART_FAR) return true;
    return false;
}

/* Do all elements of a range access memory in the same way, and are those of a vector side by side in the space, so
 * that its layouts have a price? */
static void find_work(Choosing *c, Choice *x)
{
    PartExchange space;
    int64_t row = 0;
    if (!tg_find_rate(c->t, "clock") || edges(c->p->fusion->body, x->r->elements, &row) != INT64_MAX) return;
    if (x->tail || minor_row(x->r->space) % x->vector) return;
    if (!part_loop_space(c->arena, c->p, x->r, c->t, &space)) return;
    PartWork *work = WBB_NEW(c->arena, PartWork);
    *work = part_loop_work(&space);
    c->rates = part_rates(c->arena, c->t);
    x->work = reads_anywhere(work) ? NULL : work;
}

/* vectors a thread -------------------------------------------------------------------------------------------- */

/* Machine instructions of an element, roughly. branch: of what becomes one, in each vector after that of the last. */
static int64_t work(const Choosing *c, int64_t branch)
{
    const HloComputation *body = c->p->fusion->body;
    int64_t sum = 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloOpcode op = body->instructions[k]->opcode;
        if (!c->needed[k]) continue;
        switch (op) {
        case HLO_PAD: sum += c->p->window_pads[k] ? 1 : branch; break;
        case HLO_CONCATENATE: case HLO_DYNAMIC_UPDATE_SLICE: case HLO_WHILE: case HLO_CONDITIONAL: sum += branch; break;
        default: sum += (int64_t)part_cost_of(c->t, body->instructions[k]).slots;
        }
    }
    return sum;
}

static bool may_have_registers(const Choosing *c, const Choice *x)
{
    const bool moved = x->s->kind == PART_UPDATE || x->s->kind == PART_SCATTER;
    bool in_place = false;
    for (uint32_t k = 0; k < x->s->n_outputs; k++)
        in_place = in_place || c->p->buffers[c->p->n_operands + x->s->outputs[k]].alias >= 0;
    return !moved && !in_place && !x->tail && c->trips <= 1;
}

/* As few vectors as take the least time: those of a thread share what is the same in them, and fewer blocks begin. */
static void priced_registers(Choosing *c, Choice *x, uint32_t most)
{
    const double less = (double)(1000 - tg_tuned(c->t, "loop.registers_tie")) / 1000;
    uint32_t best = x->registers = 1;
    const double one = price(c, x).us;
    double least = one;
    for (x->registers = 2; x->registers <= most; x->registers *= 2) {
        const double us = price(c, x).us;
        if (us >= least * less) continue;
        least = us, best = x->registers;
    }
    x->registers = best;
    x->s->why_register = wbb_format(c->arena, "%.2f us, with one vector a thread %.2f", least, one);
}

/* A thread with several vectors starts once and has several accesses in flight: worth it while the machine stays full
 * and a vector takes little work. */
static void choose_registers(Choosing *c, Choice *x)
{
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.coarsening", 0);
    x->registers = 1;
    if (!may_have_registers(c, x)) return;
    const int64_t branch = tg_tuned(t, "loop.coarse_work") + 1; /* too much for any coarsening; of a concatenate none */
    const int64_t each = (work(c, branch) - (x->s->kind == PART_CONCATENATE ? branch : 0)) * x->vector;
    const int64_t bytes = (int64_t)bytes_an_element(c, x) * x->vector;
    uint32_t n = (uint32_t)tune->value;
    while (n > 1 && (x->vectors % ((int64_t)n * c->k->block) != 0 || x->vectors < n * tg_tuned(t, "loop.min_threads") ||
                     each * n > tg_tuned(t, "loop.coarse_work") || bytes * n > tg_tuned(t, "loop.coarse_bytes")))
        n /= 2;
    x->registers = n;
    x->s->why_register = tune->because;
    if (x->work && n > 1) priced_registers(c, x, n);
}

/* layouts ----------------------------------------------------------------------------------------------------- */

/* By exactly as many digits as it has elements. */
static bool is_covered(const PartDim *d)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < d->n_factors; k++) n *= d->factors[k].size;
    return n == d->size;
}

/* Vectors of a thread that are whole rows apart, if that takes less time. */
static bool choose_rows(Choosing *c, Choice *x)
{
    const int64_t limit = tg_tuned(c->t, "loop.max_body"), body = limit / x->vector / WBB_MAX(work(c, limit + 1), 1);
    const int64_t bytes = WBB_MAX((int64_t)bytes_an_element(c, x) * x->vector, 1);
    const int64_t most = WBB_MIN(tg_tuned(c->t, "loop.max_bytes") / bytes, body); /* a branch is too much */
    if (!may_have_registers(c, x) || x->spread) return false;
    if (part_loop_functions(c->arena, c->p, x->r, c->t, bytes_an_element(c, x))) return true;
    const bool elements = x->s->kind == PART_ELEMENTS;
    const bool apart = elements && part_loop_rows(c->arena, c->p, x->r, c->t, c->read, most);
    if (!elements || !part_loop_windows(c->arena, c->p, x->r, c->t, most * x->vector)) return apart;
    x->vector = (uint32_t)part_size(&x->s->layout.dims[0], PART_VECTOR);
    c->k->block = part_layout_threads(&x->s->layout), c->k->why_block = a_row;
    return true;
}

/* Its price with block and registers chosen for a vector, the block of so many times the usual threads. */
static PartPrice try_vector(Choosing *c, Choice *x, uint32_t vector, uint32_t times)
{
    x->vector = vector;
    count_vectors(x);
    choose_block(c, times);
    choose_registers(c, x);
    return price(c, x);
}

/* Where buffers are of several widths, accesses to the wider ones are in parts if those to the narrowest are whole, and
 * so are those of 32 bytes to buffers aligned to 16: fewer elements a vector, if that is less. Returns its price. */
static PartPrice choose_narrower(Choosing *c, Choice *x)
{
    uint32_t narrow, wide;
    width_of_buffers(c, x->s, &narrow, &wide);
    const uint32_t widest = x->vector, least_bytes = WBB_MIN(c->t->vector_bytes, c->p->align);
    const double less = (double)(1000 - tg_tuned(c->t, "loop.tie")) / 1000, first = try_vector(c, x, widest, 1).us;
    double least = first;
    uint32_t vector = widest;
    for (uint32_t v = widest / 2; v * wide >= least_bytes && v % x->s->packed_group == 0; v /= 2) {
        const double us = try_vector(c, x, v, 1).us;
        if (us < least * less) least = us, vector = v;
    }
    if (vector != widest)
        x->s->why_vector = wbb_format(c->arena, "%u bytes of the widest buffer: %.2f us, with %u elements %.2f",
                                      vector * wide, least, widest, first);
    return try_vector(c, x, vector, 1);
}

/* Where a block has too little to do for others to begin fast enough: twice the threads, if that takes less time than
 * `one`, the price that it has. */
static void choose_larger_block(Choosing *c, Choice *x, PartPrice one)
{
    const double less = (double)(1000 - tg_tuned(c->t, "loop.tie")) / 1000;
    const uint32_t twice = (uint32_t)tg_tuned(c->t, "loop.block_factor");
    if (!part_blocks_bind(&one) || x->vectors / c->k->block < tg_tuned(c->t, "loop.few_blocks") * c->t->sms) return;
    const double us = try_vector(c, x, x->vector, twice).us;
    if (us >= one.us * less) choose_block(c, 1);
    else c->k->why_block = wbb_format(c->arena, "fewer begin: %.2f us instead of %.2f", us, one.us);
}

static void choose_layouts(Choosing *c)
{
    PartKernel *k = c->k;
    int64_t grid = 0;
    bool exact = true;
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        Choice *x = &c->choices[n];
        choose_vector(c, x);
        count_vectors(x);
        find_work(c, x);
    }
    choose_block(c, 1);
    if (k->n_ranges == 1 && c->choices[0].work) {
        const PartPrice one = choose_narrower(c, &c->choices[0]);
        choose_larger_block(c, &c->choices[0], one);
    }
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        Choice *x = &c->choices[n];
        choose_registers(c, x);
        spread_atomics(c, x);
        const int64_t threads = x->vectors / x->registers + x->tail;
        const int64_t blocks = threads / k->block + (threads % k->block != 0);
        if (grid + blocks > INT32_MAX)
            wbb_decline(c->cx, c->p->fusion->body->root->loc, WHY_SIZE, "%lld blocks and more",
                        (long long)(grid + blocks));
        x->r->first_block = (uint32_t)grid;
        x->r->blocks = (uint32_t)blocks;
        x->s->layout = layout_of(c, x);
        exact = exact && x->tail == 0 && threads % k->block == 0;
        if (k->n_ranges == 1 && choose_rows(c, x)) exact = is_covered(&x->s->layout.dims[0]);
        grid += x->r->blocks;
    }
    k->grid = (uint32_t)grid;
    k->why_grid = exact ? "exactly the threads: no bounds check" : "rounded up: threads beyond the end do nothing";
    if (grid == 0) k->why_grid = "no elements: no launch";
}

/* Fails where the stage cannot have the layout that it is given. */
static void check_stage(const Choosing *c, const Choice *x)
{
    const PartDim *d = &x->s->layout.dims[0];
    uint32_t narrow, wide;
    width_of_buffers(c, x->s, &narrow, &wide);
    const TgTune *widest = tg_tune(c->t, "loop.unroll", narrow);
    bool in_place = x->s->kind == PART_UPDATE || (x->s->kind == PART_SCATTER && !is_atomic(x->s));
    for (uint32_t k = 0; k < x->s->n_outputs && !is_atomic(x->s); k++)
        in_place = in_place || c->p->buffers[c->p->n_operands + x->s->outputs[k]].alias >= 0;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        const PartFactor *f = &d->factors[k];
        if ((f->level == PART_LOOP && !x->s->cells) || f->level == PART_CLUSTER)
            part_layout_fail(c->cx, f->column, "%s: only a reduction has that level", part_level_name[f->level]);
        if (f->level == PART_REGISTER && in_place)
            part_layout_fail(c->cx, f->column, "register: an output is updated in place, one vector a thread");
    }
    const int column = part_factor(d, PART_VECTOR) ? part_factor(d, PART_VECTOR)->column : d->column;
    part_check_packed(c->cx, d, x->s->packed_group);
    const int64_t row = x->r->space->rank ? x->r->space->dims[x->r->space->minor_to_major[0]] : 1;
    const bool rows = row > 1 && x->vector % row == 0 && x->vector <= tg_tuned(c->t, "loop.max_row");
    if (x->vector > 1 && x->vector % 2 != 0)
        part_layout_fail(c->cx, column, "vector %u: 1 or an even number, as lanes are vectorised", x->vector);
    if (x->vector > widest->value && !rows)
        part_layout_fail(c->cx, column, "vector %u: at most %lld of %u bits (%s), or whole rows of at most %lld",
                         x->vector, (long long)widest->value, narrow, widest->because,
                         (long long)tg_tuned(c->t, "loop.max_row"));
}

/* The layout that was asked for. */
static void read_layout(Choosing *c, const char *text)
{
    if (c->k->n_ranges != 1)
        wbb_fail(c->cx, (WbbLoc){.file = "layout"},
                 "the kernel has %u launch ranges; only the layout of a single one can be given", c->k->n_ranges);
    Choice *x = &c->choices[0];
    const PartDim space = {.name = "elements", .size = x->r->elements};
    x->s->packed_group = x->s->kind == PART_SCATTER ? 1 : packed_group(c, x);
    x->s->layout = part_layout_parse(c->cx, c->arena, text, &space, 1);
    x->s->layout.tail = x->s->packed_group;
    const PartFactor *vector = part_factor(&x->s->layout.dims[0], PART_VECTOR);
    x->vector = vector ? (uint32_t)vector->size : 1;
    part_layout_check(c->cx, c->arena, &x->s->layout, c->t);
    if (x->s->kind == PART_SCATTER && part_size(&x->s->layout.dims[0], PART_LOOP) > 1 && part_cells_may_be(c->p, x->s))
        x->s->cells = part_cells_of(c->arena, c->t, x->s, &x->s->layout);
    check_stage(c, x);
    c->k->block = part_layout_threads(&x->s->layout);
    c->k->grid = x->r->blocks = (uint32_t)part_layout_size(&x->s->layout, PART_GRID);
    c->k->why_block = c->k->why_grid = x->s->why_vector = x->s->why_register = "the layout was given";
}

void part_choose(WbbCx *cx, WbbArena *a, const PartPlan *p, PartKernel *k, const TgTarget *t, const char *layout)
{
    Choosing c = {.cx = cx, .arena = a, .p = p, .k = k, .t = t};
    c.choices = WBB_NEW_N(a, Choice, k->n_ranges + 1u);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        c.choices[n] = (Choice){.r = &k->ranges[n], .s = &k->ranges[n].stages[0]};
        c.elements += k->ranges[n].elements;
    }
    find_needed(&c);
    if (layout) read_layout(&c, layout);
    else choose_layouts(&c);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        PartStage *s = c.choices[n].s;
        s->maps = part_layout_maps(cx, p->rw, a, &s->layout);
        s->plain_number = c.choices[n].spread || row_threads(&c.choices[n]) == k->block;
    }
}

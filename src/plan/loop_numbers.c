/* loop_numbers.c: the numbers of a loop where no price says so: elements side by side of a thread, threads of a block,
 * vectors of a thread; and their layout.
 *
 * Needs what a kernel's outputs need; leaves numbers and why. A vector has as many elements as the widest accesses to
 * the narrowest type hold, then fewer where the machine is not full, a thread would touch too many bytes or the code be
 * too long, and where halving once makes it divide the elements. A block has the target's number of threads, or one
 * near it that divides the threads: no bounds check is needed.
 *
 *     gelu bf16[6,512,4096]     =>   elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "plan/loop_choice.h"

const char plan_why_row[] = "a row: its number is the block's";

/* Bytes of buffers that are accessed once for each element: smaller ones are broadcast and stay in a cache. */
uint32_t plan_bytes_an_element(const PlanChoosing *c, const PlanLoopChoice *x)
{
    const Plan *p = c->p;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (c->read[k] && p->buffers[k].elements >= x->r->elements) sum += sc_bytes(p->buffers[k].shape->type);
    for (uint32_t k = 0; k < x->s->n_outputs; k++)
        sum += sc_bytes(p->buffers[p->n_operands + x->s->outputs[k]].shape->type);
    return sum * WBB_MAX(x->s->n_starts, 1u);
}

/* Bits of the narrowest buffer, bytes of the widest. */
void plan_width_of_buffers(const PlanChoosing *c, const PlanStage *s, uint32_t *narrow, uint32_t *wide)
{
    const Plan *p = c->p;
    *narrow = 64, *wide = 1;
    for (uint32_t k = 0; k < p->n_operands + s->n_outputs; k++) {
        if (k < p->n_operands && !c->read[k]) continue;
        const ScType t = p->buffers[k < p->n_operands ? k : p->n_operands + s->outputs[k - p->n_operands]].shape->type;
        *narrow = WBB_MIN(*narrow, sc_type_info[t].bits), *wide = WBB_MAX(*wide, sc_bytes(t));
    }
}

/* Of the widest output. */
static uint32_t stored_bytes(const PlanChoosing *c, const PlanStage *s)
{
    uint32_t bytes = 1;
    for (uint32_t k = 0; k < s->n_outputs; k++)
        bytes = WBB_MAX(bytes, sc_bytes(c->p->buffers[c->p->n_operands + s->outputs[k]].shape->type));
    return bytes;
}

static void halve_once(WbbArena *a, PlanLoopChoice *x, const char *why, long long number)
{
    x->vector /= 2;
    x->s->why_vector = wbb_format(a, why, number);
}

static void halve(WbbArena *a, PlanLoopChoice *x, int64_t limit, int64_t each, const char *why)
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
        if (i->opcode == HLO_CONCATENATE && i->dimensions[0] == (int64_t)minor && !plan_is_rotation(i)) {
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
static bool whole_rows(PlanChoosing *c, PlanLoopChoice *x, int64_t row, uint32_t narrow)
{
    const int64_t most = tg_tuned(c->t, "loop.max_row"), min_threads = tg_tuned(c->t, "loop.min_threads");
    if (x->s->kind != PLAN_ELEMENTS || row < 2 || row > most || c->elements < row * min_threads) return false;
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
static void limit_vector(PlanChoosing *c, PlanLoopChoice *x, uint32_t narrow, uint32_t wide)
{
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.unroll", narrow);
    const uint32_t bytes = plan_bytes_an_element(c, x);
    const int64_t body = plan_operations(c->arena, c->p->fusion->body, c->needed);
    const uint32_t accesses = (uint32_t)tg_tuned(t, "loop.max_accesses");
    const int64_t min_threads = tg_tuned(t, "loop.min_threads");
    x->vector = (uint32_t)WBB_MAX(tune->value, 1);
    x->s->why_vector = tune->because;
    while (x->vector > 1 && c->elements < x->vector * min_threads)
        halve_once(c->arena, x, "more a thread would leave under %lld threads", min_threads);
    if (x->s->kind == PLAN_UPDATE) /* L2 does not merge what is stored in parts of sectors */
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
    if (x->vector > 1 && plan_has_open_loop(c->arena, c->p->fusion->body, c->needed)) {
        x->vector = 1;
        x->s->why_vector = "elements of a thread would run a loop of unknown length one after the other";
    }
    if (x->vector > 2 && x->r->elements % x->vector != 0 && x->r->elements % (x->vector / 2) == 0)
        halve_once(c->arena, x, "divides the elements, which %lld does not", x->vector);
}

/* Elements that share a byte of an output. */
uint32_t plan_group_of_outputs(const PlanChoosing *c, const PlanLoopChoice *x)
{
    uint32_t group = 1;
    for (uint32_t k = 0; k < x->s->n_outputs; k++) {
        const ScType of = c->p->buffers[c->p->n_operands + x->s->outputs[k]].shape->type;
        group = WBB_MAX(group, plan_packed_group(of));
    }
    return group;
}

void plan_choose_vector(PlanChoosing *c, PlanLoopChoice *x)
{
    uint32_t narrow, wide;
    plan_width_of_buffers(c, x->s, &narrow, &wide);
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
    x->s->packed_group = x->s->kind == PLAN_SCATTER ? 1 : plan_group_of_outputs(c, x);
    if (x->vector < x->s->packed_group) {
        x->vector = x->s->packed_group;
        x->s->why_vector = "a byte of the output";
    }
    /* its rows are not contiguous in the output */
    while (x->s->kind != PLAN_ELEMENTS && x->vector > 1 && row % x->vector != 0 &&
           (x->s->kind != PLAN_SCATTER || row > 1))
        halve_once(c->arena, x, "divides a row of %lld elements", (long long)row);
}

void plan_count_vectors(PlanLoopChoice *x)
{
    x->vectors = x->r->elements / x->vector;
    x->tail = (x->r->elements % x->vector + x->s->packed_group - 1) / x->s->packed_group;
}

int64_t plan_minor_row(const HloShape *space)
{
    int64_t row = 1;
    for (uint32_t k = 0; k < space->rank && row == 1; k++) row = space->dims[space->minor_to_major[k]];
    return row;
}

/* threads and blocks ------------------------------------------------------------------------------------------ */

/* Threads for a row of the range's space; 0: it has one row, or a thread may have elements of two. */
int64_t plan_row_threads(const PlanLoopChoice *x)
{
    const int64_t row = plan_minor_row(x->r->space);
    return x->s->kind == PLAN_ELEMENTS && row < x->r->elements && row % x->vector == 0 ? row / x->vector : 0;
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
void plan_choose_block(PlanChoosing *c, uint32_t times)
{
    PlanKernel *p = c->k;
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.block", 0);
    const uint32_t most = times * (uint32_t)tune->value, factor = (uint32_t)tg_tuned(t, "loop.block_factor");
    const PlanLoopChoice *first = &c->choices[0];
    int64_t threads = 0;
    for (uint32_t k = 0; k < p->n_ranges; k++) threads += c->choices[k].vectors + c->choices[k].tail;
    p->block = most;
    p->why_block = tune->because;
    if (p->n_ranges && first->s->kind == PLAN_STEPS && threads / most < t->sms) {
        while (p->block > t->warp && threads / p->block < t->sms) p->block /= 2;
        p->why_block = "a thread works long: all SMs have some";
        return;
    }
    if (threads <= most && p->n_ranges <= 1) {
        p->block = (uint32_t)WBB_MAX(threads, 1), p->why_block = "one block has all threads";
        return;
    }
    if (p->n_ranges != 1) return;
    const double bytes = (double)plan_bytes_an_element(c, first) * first->vector, enough = block_bytes(t);
    const int64_t row = plan_row_threads(first);
    if (row % t->warp == 0 && row >= most / factor && row <= factor * most && threads % row == 0 &&
        threads / row >= t->sms && (row >= most || (double)row * bytes >= enough)) {
        p->block = (uint32_t)row, p->why_block = plan_why_row;
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

/* vectors a thread -------------------------------------------------------------------------------------------- */

/* Machine instructions of an element, roughly. branch: of what becomes one, in each vector after that of the last; of
 * the concatenate whose operand a range is none does. */
int64_t plan_loop_slots(const PlanChoosing *c, const PlanLoopChoice *x, int64_t branch)
{
    const HloComputation *body = c->p->fusion->body;
    int64_t sum = x->s->kind == PLAN_CONCATENATE ? -branch : 0;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloOpcode op = body->instructions[k]->opcode;
        if (!c->needed[k]) continue;
        switch (op) {
        case HLO_PAD: sum += c->p->window_pads[k] ? 1 : branch; break;
        case HLO_CONCATENATE: case HLO_DYNAMIC_UPDATE_SLICE: case HLO_WHILE: case HLO_CONDITIONAL: sum += branch; break;
        default: sum += (int64_t)plan_cost_of(c->t, body->instructions[k]).slots;
        }
    }
    return sum;
}

bool plan_may_have_registers(const PlanChoosing *c, const PlanLoopChoice *x)
{
    const bool moved = x->s->kind == PLAN_UPDATE || x->s->kind == PLAN_SCATTER;
    bool in_place = false;
    for (uint32_t k = 0; k < x->s->n_outputs; k++)
        in_place = in_place || c->p->buffers[c->p->n_operands + x->s->outputs[k]].alias >= 0;
    return !moved && !in_place && !x->tail && c->trips <= 1;
}

bool plan_registers_fit(const PlanChoosing *c, const PlanLoopChoice *x, uint32_t n)
{
    if (n == 1) return true;
    if (x->vectors % ((int64_t)n * c->k->block) || x->vectors < n * tg_tuned(c->t, "loop.min_threads")) return false;
    const int64_t most = tg_tuned(c->t, "loop.coarse_work"); /* a branch is too much for any number of elements */
    const int64_t bytes = (int64_t)plan_bytes_an_element(c, x) * x->vector;
    return bytes * n <= tg_tuned(c->t, "loop.coarse_bytes") && plan_loop_slots(c, x, most + 1) * x->vector * n <= most;
}

/* layouts ----------------------------------------------------------------------------------------------------- */

Layout plan_loop_layout(const PlanChoosing *c, const PlanLoopChoice *x)
{
    LayDim *d = WBB_NEW(c->arena, LayDim);
    *d = (LayDim){.name = "elements", .size = x->r->elements};
    const int64_t warp = c->t->warp, block = c->k->block;
    lay_add_factor(d, LAY_VECTOR, x->vector);
    lay_add_factor(d, LAY_LANE, WBB_MIN(block, warp));
    if (x->spread) lay_add_factor(d, LAY_REGISTER, x->registers);
    lay_add_factor(d, LAY_WARP, (block + warp - 1) / warp);
    if (!x->spread) lay_add_factor(d, LAY_REGISTER, x->registers);
    lay_add_factor(d, LAY_GRID, x->r->blocks);
    if (!d->n_factors) d->factors[d->n_factors++] = (LayFactor){.level = LAY_LANE, .size = 1};
    return (Layout){.dims = d, .n_dims = 1, .tail = x->s->packed_group};
}

int64_t plan_loop_block(const Layout *l)
{
    const LayDim *d = &l->dims[0];
    return lay_size(d, LAY_VECTOR) * lay_size(d, LAY_LANE) * lay_size(d, LAY_WARP);
}

Layout plan_rows_layout(WbbArena *a, const Layout *near, int64_t n, int64_t apart)
{
    LayDim *d = WBB_NEW(a, LayDim);
    const int64_t block = plan_loop_block(near);
    *d = near->dims[0];
    d->n_factors = 0;
    for (uint32_t k = 0; k < near->dims[0].n_factors; k++) {
        const LayFactor *f = &near->dims[0].factors[k];
        if (f->level != LAY_REGISTER && f->level != LAY_GRID) d->factors[d->n_factors++] = *f;
    }
    lay_add_factor(d, LAY_GRID, apart / block);
    d->factors[d->n_factors++] = (LayFactor){.level = LAY_REGISTER, .size = n};
    Layout l = *near;
    l.dims = d;
    return l;
}

/* ranges.c: what a launch iterates over: its ranges, the elements of a thread in each, the threads of a block, the
 * blocks.
 *
 * Needs buffers, roots and updates in place; leaves ranges that together make every output once. Outputs of equal size
 * share one. Elements a thread: as many as the widest accesses to the narrowest type hold, then fewer where the machine
 * would not be full, where a thread would touch too many bytes or the code would be too long, and where halving once
 * makes it divide the elements. Threads a block: the target's number, or one near it that divides the threads, so that
 * no bounds check is needed.
 *
 *     gelu bf16[6,512,4096]                       =>   loop of 12582912, unroll 8, block 128, grid 12288, exact
 *     concatenate of f32[64,96] and f32[64,32]    =>   columns 0..96 by blocks 0..12; columns 96..128 by blocks 12..16
 *     concatenate of two f32[64,96]               =>   one range of columns 0..96 and 96..192
 */
#include "partition/partition.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    PartPlan *p;
    const TgTarget *t;
    struct { PartRange *items; uint32_t n, capacity; } ranges;
    int64_t elements; /* of all ranges */
} Cutting;

static int64_t tuned(const TgTarget *t, const char *name) { return tg_tune(t, name, 0)->value; }

/* which ranges ------------------------------------------------------------------------------------------------ */

static PartRange *add(Cutting *c, PartKind kind, uint32_t output, const HloShape *space)
{
    PartRange r = {.kind = kind, .space = space, .elements = hlo_elements(space), .n_outputs = 1};
    r.outputs = WBB_NEW_N(c->arena, uint32_t, c->p->n_outputs);
    r.outputs[0] = output;
    c->elements += r.elements;
    WBB_PUSH(c->arena, &c->ranges, r);
    return &c->ranges.items[c->ranges.n - 1];
}

/* The shape of a part of another: its dimensions in the order of the whole's memory. */
static const HloShape *part_like(WbbArena *a, const HloShape *whole, const int64_t *dims)
{
    HloShape *s = WBB_NEW(a, HloShape);
    *s = *whole;
    s->dims = dims;
    return s;
}

/* Elements of a part that are contiguous in the whole, from which it is cut along one dimension. */
static int64_t contiguous(const HloShape *part, const HloShape *whole, uint32_t dim)
{
    int64_t n = 1;
    for (uint32_t p = 0; p < whole->rank; p++) {
        n *= part->dims[whole->minor_to_major[p]];
        if (whole->minor_to_major[p] == dim) break;
    }
    return n;
}

/* A concatenate that is the root, or from which only elementwise operations lead to it, with operands large enough
 * for ranges of their own. */
static const HloInstruction *concatenate_below(Cutting *c, const HloInstruction *root)
{
    const HloInstruction *i = root;
    while (hlo_is_elementwise(i->opcode) || i->opcode == HLO_COPY) {
        const HloInstruction *next = NULL;
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = part_value(i->operands[k], 0).i;
            const bool leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT || x->opcode == HLO_IOTA ||
                              x->opcode == HLO_BROADCAST;
            if (!leaf && next && next != x) return NULL;
            if (!leaf) next = x;
        }
        if (!next || !hlo_same_dims(next->shape, root->shape)) return NULL;
        i = next;
    }
    if (i->opcode != HLO_CONCATENATE || part_is_packed(root->shape->type)) return NULL;
    if (i->n_operands > tuned(c->t, "range.max_count")) return NULL;
    bool alike = i->n_operands <= tuned(c->t, "range.max_parts");
    for (uint32_t k = 1; k < i->n_operands; k++)
        alike = alike && hlo_same_dims(i->operands[k]->shape, i->operands[0]->shape);
    if (!alike && hlo_elements(i->shape) / i->n_operands < tuned(c->t, "range.min_elements")) return NULL;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const int64_t bytes =
            contiguous(i->operands[k]->shape, root->shape, (uint32_t)i->dimensions[0]) * sc_bytes(root->shape->type);
        if (bytes > 0 && bytes < tuned(c->t, "range.min_bytes")) return NULL;
    }
    return i;
}

/* The range of operands of that shape, if it may have one more; else a new one. */
static PartRange *range_of(Cutting *c, uint32_t output, const HloShape *space)
{
    const int64_t most = tuned(c->t, "range.max_parts");
    for (uint32_t k = 0; k < c->ranges.n; k++) {
        PartRange *r = &c->ranges.items[k];
        if (r->kind == PART_CONCATENATE && r->outputs[0] == output && hlo_same_dims(r->space, space) &&
            r->n_starts < most)
            return r;
    }
    PartRange *r = add(c, PART_CONCATENATE, output, space);
    r->starts = WBB_NEW_N(c->arena, int64_t, (size_t)most);
    return r;
}

static void add_concatenate(Cutting *c, uint32_t output, const HloInstruction *concatenate)
{
    const HloShape *whole = c->p->buffers[c->p->n_operands + output].shape;
    const uint32_t dim = (uint32_t)concatenate->dimensions[0];
    int64_t start = 0;
    for (uint32_t k = 0; k < concatenate->n_operands; k++) {
        int64_t *dims = WBB_NEW_N(c->arena, int64_t, whole->rank + 1u);
        for (uint32_t d = 0; d < whole->rank; d++) dims[d] = whole->dims[d];
        dims[dim] = concatenate->operands[k]->shape->dims[dim];
        if (hlo_elements(concatenate->operands[k]->shape) > 0) {
            PartRange *r = range_of(c, output, part_like(c->arena, whole, dims));
            r->dim = dim;
            r->starts[r->n_starts++] = start;
        }
        start += dims[dim];
    }
    c->p->kind = "concatenate";
    c->p->why_kind =
        "operands of one shape share threads, others have blocks of their own: no thread chooses between operands";
}

static void add_loop(Cutting *c, uint32_t output, const HloShape *shape)
{
    for (uint32_t k = 0; k < c->ranges.n; k++) {
        PartRange *r = &c->ranges.items[k];
        if (r->kind != PART_ELEMENTS || r->elements != hlo_elements(shape)) continue;
        r->outputs[r->n_outputs++] = output;
        return;
    }
    if (hlo_elements(shape) > 0) add(c, PART_ELEMENTS, output, shape);
}

static bool only_moves_memory(const PartPlan *p)
{
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloInstruction *i = p->roots[k].i;
        const bool moves = i->opcode == HLO_COPY || i->opcode == HLO_BITCAST || i->opcode == HLO_RESHAPE ||
                           i->opcode == HLO_TRANSPOSE;
        if (i->opcode != HLO_PARAMETER && !(moves && i->operands[0]->opcode == HLO_PARAMETER)) return false;
    }
    return true;
}

static void cut(Cutting *c, const HloInstruction *const *updates)
{
    PartPlan *p = c->p;
    p->kind = "loop";
    p->why_kind = "one thread can read all that an element of an output needs";
    if (only_moves_memory(p)) {
        p->kind = "copy";
        p->why_kind = "outputs are parameters, in the same or another order";
    }
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloShape *s = p->buffers[p->n_operands + k].shape;
        const HloInstruction *concatenate = p->n_outputs == 1 ? concatenate_below(c, p->roots[k].i) : NULL;
        const PartBuffer *out = &p->buffers[p->n_operands + k];
        if (out->alias >= 0 && p->roots[k].i->opcode == HLO_PARAMETER) continue; /* the memory has it already */
        if (updates[k]) {
            const HloShape *update = updates[k]->operands[1]->shape;
            if (hlo_elements(update) > 0) {
                PartRange *u = add(c, PART_UPDATE, k, part_like(c->arena, updates[k]->shape, update->dims));
                u->update = updates[k];
            }
            p->kind = "dynamic-update-slice";
            p->why_kind = "in place: what the updates replace is not read elsewhere, so only they are written";
        } else if (concatenate) {
            add_concatenate(c, k, concatenate);
        } else {
            add_loop(c, k, s);
        }
    }
    const bool loops =
        c->ranges.n > 1 && c->ranges.items[0].kind == PART_ELEMENTS && c->ranges.items[c->ranges.n - 1].kind == PART_ELEMENTS;
    if (loops) {
        p->kind = "slices";
        p->why_kind = "outputs of different sizes have blocks of their own";
    }
}

/* elements a thread ------------------------------------------------------------------------------------------- */

/* Bytes of buffers that are accessed once for each element: smaller ones are broadcast and stay in a cache. */
static uint32_t bytes_an_element(const PartPlan *p, const PartRange *r)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (p->buffers[k].elements >= r->elements) sum += sc_bytes(p->buffers[k].shape->type);
    for (uint32_t k = 0; k < r->n_outputs; k++) sum += sc_bytes(p->buffers[p->n_operands + r->outputs[k]].shape->type);
    return sum * WBB_MAX(r->n_starts, 1u);
}

static uint32_t operations(const HloComputation *c)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloOpcode op = c->instructions[k]->opcode;
        n += op != HLO_PARAMETER && op != HLO_CONSTANT && op != HLO_TUPLE && op != HLO_GET_TUPLE_ELEMENT;
    }
    return n;
}

/* Bits of the narrowest buffer, bytes of the widest. */
static void width_of_buffers(const PartPlan *p, const PartRange *r, uint32_t *narrow, uint32_t *wide)
{
    *narrow = 64, *wide = 1;
    for (uint32_t k = 0; k < p->n_operands + r->n_outputs; k++) {
        const ScType t = p->buffers[k < p->n_operands ? k : p->n_operands + r->outputs[k - p->n_operands]].shape->type;
        *narrow = WBB_MIN(*narrow, sc_type_info[t].bits), *wide = WBB_MAX(*wide, sc_bytes(t));
    }
}

static void halve_once(WbbArena *a, PartRange *r, const char *why, long long number)
{
    r->unroll /= 2;
    r->why_unroll = wbb_format(a, why, number);
}

static void halve(WbbArena *a, PartRange *r, int64_t limit, int64_t each, const char *why)
{
    while (r->unroll > 1 && r->unroll * each > limit) halve_once(a, r, why, each);
}

/* The largest power of two that divides every edge of the concatenates and pads of so many elements, along their
 * minor dimension. *row: set to 0 where one of them has rows of another length. */
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

/* Edges at the same offsets of every row: a thread takes whole rows, so the operand of each of its elements is
 * known. */
static bool whole_rows(Cutting *c, PartRange *r, int64_t row, uint32_t narrow)
{
    const int64_t most = tuned(c->t, "loop.max_row"), min_threads = tuned(c->t, "loop.min_threads");
    if (r->kind != PART_ELEMENTS || row < 2 || row > most || c->elements < row * min_threads) return false;
    int64_t rows = 1; /* more until they fill whole accesses of 16 bytes */
    while (2 * rows * row <= most && rows * row * narrow % 128 != 0 && r->elements % (2 * rows * row) == 0 &&
           c->elements >= 2 * rows * row * min_threads)
        rows *= 2;
    if (rows * row % 2) return false; /* lanes are taken in pairs */
    r->unroll = (uint32_t)(rows * row);
    r->why_unroll = wbb_format(c->arena, "%lld whole rows of %lld: the operand of each element is known",
                               (long long)rows, (long long)row);
    return true;
}

/* As wide as accesses and the machine allow. */
static void limit_unroll(Cutting *c, PartRange *r, uint32_t narrow, uint32_t wide)
{
    const TgTarget *t = c->t;
    const HloComputation *f = c->p->fusion->body;
    const TgTune *tune = tg_tune(t, "loop.unroll", narrow);
    const uint32_t bytes = bytes_an_element(c->p, r), body = operations(f);
    const uint32_t accesses = (uint32_t)tuned(t, "loop.max_accesses");
    const int64_t iterations = part_trips(c->arena, f)[f->root->id], min_threads = tuned(t, "loop.min_threads");
    r->unroll = (uint32_t)WBB_MAX(tune->value, 1);
    r->why_unroll = tune->because;
    while (r->unroll > 1 && c->elements < r->unroll * min_threads)
        halve_once(c->arena, r, "more a thread would leave under %lld threads", min_threads);
    while (r->unroll > 1 && r->unroll * wide > accesses * t->vector_bytes) {
        r->unroll /= 2;
        r->why_unroll = wbb_format(c->arena, "%u bytes of the widest buffer, %u accesses", r->unroll * wide, accesses);
    }
    halve(c->arena, r, tuned(t, "loop.max_bytes"), bytes, "a thread touches %lld bytes an element");
    halve(c->arena, r, tuned(t, "loop.max_body"), body, "the body has %lld operations");
    halve(c->arena, r, tuned(t, "loop.max_iterations"), iterations, "an element takes %lld iterations of loops");
    if (r->unroll > 2 && r->elements % r->unroll != 0 && r->elements % (r->unroll / 2) == 0)
        halve_once(c->arena, r, "divides the elements, which %lld does not", r->unroll);
}

static void choose_unroll(Cutting *c, PartRange *r)
{
    uint32_t narrow, wide;
    width_of_buffers(c->p, r, &narrow, &wide);
    limit_unroll(c, r, narrow, wide);
    const int64_t row = r->space->rank ? r->space->dims[r->space->minor_to_major[0]] : 1;
    int64_t same_row = row;
    const int64_t edge = edges(c->p->fusion->body, r->elements, &same_row);
    const bool tests = edge < r->unroll && edge * narrow >= 8; /* less would part a byte */
    if (tests && !whole_rows(c, r, same_row, narrow) && tuned(c->t, "loop.min_edge") * edge > r->unroll) {
        r->unroll = (uint32_t)edge;
        r->why_unroll = "divides the edges of what is padded or concatenated: one test for all elements of a thread";
    }
    r->packed_group = 1;
    for (uint32_t k = 0; k < r->n_outputs; k++) {
        const ScType of = c->p->buffers[c->p->n_operands + r->outputs[k]].shape->type;
        if (part_is_packed(of)) r->packed_group = WBB_MAX(r->packed_group, 8u / sc_type_info[of].bits);
    }
    if (r->unroll < r->packed_group) {
        r->unroll = r->packed_group;
        r->why_unroll = "a byte of the output";
    }
    /* its rows are not contiguous in the output */
    while (r->kind != PART_ELEMENTS && r->unroll > 1 && row % r->unroll != 0)
        halve_once(c->arena, r, "divides a row of %lld elements", (long long)row);
}

/* threads and blocks ------------------------------------------------------------------------------------------ */

int64_t part_row_threads(const PartRange *r)
{
    int64_t row = 1;
    for (uint32_t k = 0; k < r->space->rank && row == 1; k++) row = r->space->dims[r->space->minor_to_major[k]];
    return r->kind == PART_ELEMENTS && row < r->elements && row % r->unroll == 0 ? row / r->unroll : 0;
}

/* Threads a block: the target's number; fewer where threads are few, so that every SM has a block; a row of threads
 * where that is near, so that a row's number is the block's; else a multiple of a warp that divides the threads. */
static void choose_block(WbbArena *a, PartPlan *p, const TgTarget *t)
{
    const TgTune *tune = tg_tune(t, "loop.block", 0);
    const uint32_t most = (uint32_t)tune->value, factor = (uint32_t)tuned(t, "loop.block_factor");
    int64_t threads = 0;
    for (uint32_t k = 0; k < p->n_ranges; k++) threads += p->ranges[k].vectors + p->ranges[k].tail;
    p->block = most;
    p->why_block = tune->because;
    if (threads <= most && p->n_ranges <= 1) {
        p->block = (uint32_t)WBB_MAX(threads, 1);
        p->why_block = "one block has all threads";
        return;
    }
    while (p->block % (2 * t->warp) == 0 && threads / p->block < t->sms) {
        p->block /= 2;
        p->why_block = wbb_format(a, "%lld threads, smaller blocks reach more SMs", (long long)threads);
    }
    const int64_t row = p->n_ranges == 1 ? part_row_threads(&p->ranges[0]) : 0;
    if (row % t->warp == 0 && row >= most / factor && row <= factor * most && threads % row == 0 &&
        threads / row >= t->sms) {
        p->block = (uint32_t)row;
        p->why_block = "a row: its number is the block's";
        return;
    }
    if (threads % p->block == 0 || p->n_ranges > 1) return;
    for (uint32_t b = p->block; b >= p->block / factor && b >= t->warp; b -= t->warp) {
        if (threads % b != 0) continue;
        p->block = b;
        p->why_block = wbb_format(a, "divides %lld threads", (long long)threads);
        return;
    }
}

/* vectors a thread -------------------------------------------------------------------------------------------- */

/* Machine instructions of an element, roughly. `branch`: of an operation that becomes one; the vectors of a thread
 * would branch one after the other. */
static int64_t work(const TgTarget *t, const HloComputation *c, int64_t branch)
{
    const int64_t short_function = tuned(t, "work.function"), long_function = tuned(t, "work.long_function");
    int64_t sum = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        switch (c->instructions[k]->opcode) {
        case HLO_PARAMETER: case HLO_CONSTANT: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT: case HLO_BROADCAST:
        case HLO_BITCAST: break;
        case HLO_DIVIDE: case HLO_SQRT: case HLO_RSQRT: case HLO_REMAINDER: case HLO_EXPONENTIAL: case HLO_LOG:
        case HLO_TANH: case HLO_LOGISTIC: sum += short_function; break;
        case HLO_SINE: case HLO_COSINE: case HLO_TAN: case HLO_POWER: case HLO_ATAN2: case HLO_ERF: case HLO_CBRT:
        case HLO_EXPONENTIAL_MINUS_ONE: case HLO_LOG_PLUS_ONE: sum += long_function; break;
        case HLO_PAD: case HLO_CONCATENATE: case HLO_DYNAMIC_UPDATE_SLICE: sum += branch; break;
        default: sum++;
        }
    }
    return sum;
}

/* A thread with several vectors starts once, computes its addresses once and has several accesses in flight: worth
 * it while the machine stays full and a vector takes little work. */
static void choose_coarsening(Cutting *c, PartRange *r)
{
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.coarsening", 0);
    const HloComputation *body = c->p->fusion->body;
    r->coarsening = 1;
    if (r->kind == PART_UPDATE || r->tail || part_trips(c->arena, body)[body->root->id] > 1) return;
    for (uint32_t k = 0; k < r->n_outputs; k++)
        if (c->p->buffers[c->p->n_operands + r->outputs[k]].alias >= 0) return;
    const int64_t branch = tuned(t, "loop.coarse_work") + 1;                  /* too much for any coarsening */
    const int64_t concatenate = r->kind == PART_CONCATENATE ? branch : 0; /* which has no branch here */
    const int64_t each = (work(t, body, branch) - concatenate) * r->unroll;
    const int64_t bytes = (int64_t)bytes_an_element(c->p, r) * r->unroll;
    uint32_t n = (uint32_t)tune->value;
    while (n > 1 && (r->vectors % ((int64_t)n * c->p->block) != 0 || r->vectors < n * tuned(t, "loop.min_threads") ||
                     each * n > tuned(t, "loop.coarse_work") || bytes * n > tuned(t, "loop.coarse_bytes")))
        n /= 2;
    r->coarsening = n;
    r->why_coarsening = tune->because;
}

void part_ranges(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const HloInstruction *const *updates)
{
    Cutting c = {.cx = cx, .arena = a, .p = p, .t = t};
    cut(&c, updates);
    p->ranges = c.ranges.items;
    p->n_ranges = c.ranges.n;
    for (uint32_t k = 0; k < p->n_ranges; k++) {
        PartRange *r = &p->ranges[k];
        choose_unroll(&c, r);
        r->vectors = r->elements / r->unroll;
        r->tail = (r->elements % r->unroll + r->packed_group - 1) / r->packed_group;
    }
    choose_block(a, p, t);
    int64_t grid = 0;
    bool exact = true;
    for (uint32_t k = 0; k < p->n_ranges; k++) {
        PartRange *r = &p->ranges[k];
        choose_coarsening(&c, r);
        const int64_t threads = r->vectors / r->coarsening + r->tail;
        const int64_t blocks = threads / p->block + (threads % p->block != 0);
        if (grid + blocks > INT32_MAX)
            wbb_decline(cx, p->fusion->body->root->loc, WHY_SIZE, "%lld blocks and more", (long long)(grid + blocks));
        r->first_block = (uint32_t)grid;
        r->blocks = (uint32_t)blocks;
        r->exact = r->tail == 0 && threads % p->block == 0;
        exact = exact && r->exact;
        grid += blocks;
    }
    p->grid = (uint32_t)grid;
    p->why_grid = exact ? "exactly the threads: no bounds check" : "rounded up: threads beyond the end do nothing";
    if (grid == 0) p->why_grid = "no elements: no launch";
}

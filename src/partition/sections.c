/* sections.c: what a launch iterates over: its sections, the elements of a thread in each, the threads of a block, the blocks.
 *
 * Needs buffers, roots and updates in place; leaves sections that together make every output once. Outputs of equal size share one.
 * Elements a thread: as many as the widest accesses to the narrowest type hold, then fewer where the machine would not be full, where
 * a thread would touch too many bytes or the code would be too long, and where halving once makes it divide the elements. Threads a
 * block: the target's number, or one near it that divides the threads, so that no bounds check is needed.
 *
 *     gelu bf16[6,512,4096]                       =>   loop of 12582912, unroll 8, block 128, grid 12288, exact
 *     concatenate of f32[64,96] and f32[64,32]    =>   slab of columns 0..96, blocks 0..12; slab of columns 96..128, blocks 12..16
 *     concatenate of two f32[64,96]               =>   slab of columns 0..96 and 96..192
 */
#include "partition/partition.h"

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    PartPlan *p;
    const TgTarget *t;
    struct { PartSection *items; uint32_t n, capacity; } sections;
    int64_t elements; /* of all sections */
} Cutting;

static int64_t tuned(const TgTarget *t, const char *name) { return tg_tune(t, name, 0)->value; }

/* which sections --------------------------------------------------------------------------------------------------------------- */

static PartSection *add(Cutting *c, PartKind kind, uint32_t output, const HloShape *space)
{
    PartSection s = {.kind = kind, .space = space, .elements = hlo_elements(space), .n_outputs = 1};
    s.outputs = WBB_NEW_N(c->arena, uint32_t, c->p->n_outputs);
    s.outputs[0] = output;
    c->elements += s.elements;
    WBB_PUSH(c->arena, &c->sections, s);
    return &c->sections.items[c->sections.n - 1];
}

/* The shape of a part of another: its dimensions in the order of the whole's memory. */
static const HloShape *part_like(WbbArena *a, const HloShape *whole, const int64_t *dims)
{
    HloShape *s = WBB_NEW(a, HloShape);
    *s = *whole;
    s->dims = dims;
    return s;
}

/* Elements of a part that lie next to each other in the whole, which it is cut from along one dimension. */
static int64_t run_of(const HloShape *part, const HloShape *whole, uint32_t dim)
{
    int64_t n = 1;
    for (uint32_t p = 0; p < whole->rank; p++) {
        n *= part->dims[whole->minor_to_major[p]];
        if (whole->minor_to_major[p] == dim) break;
    }
    return n;
}

/* A concatenate that elementwise operations separate from the root, its parts large enough to be worth a section each. */
static const HloInstruction *concatenate_below(Cutting *c, const HloInstruction *root)
{
    const HloInstruction *i = root;
    while (hlo_is_elementwise(i->opcode) || i->opcode == HLO_COPY) {
        const HloInstruction *next = NULL;
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = part_value(i->operands[k], 0).i;
            const bool leaf = x->opcode == HLO_PARAMETER || x->opcode == HLO_CONSTANT || x->opcode == HLO_IOTA || x->opcode == HLO_BROADCAST;
            if (!leaf && next && next != x) return NULL;
            if (!leaf) next = x;
        }
        if (!next || !hlo_same_dims(next->shape, root->shape)) return NULL;
        i = next;
    }
    if (i->opcode != HLO_CONCATENATE || part_is_packed(root->shape->type) || i->n_operands > tuned(c->t, "section.most")) return NULL;
    bool alike = i->n_operands <= tuned(c->t, "section.together");
    for (uint32_t k = 1; k < i->n_operands; k++) alike = alike && hlo_same_dims(i->operands[k]->shape, i->operands[0]->shape);
    if (!alike && hlo_elements(i->shape) / i->n_operands < tuned(c->t, "section.elements")) return NULL;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const int64_t bytes = run_of(i->operands[k]->shape, root->shape, (uint32_t)i->dimensions[0]) * sc_bytes(root->shape->type);
        if (bytes > 0 && bytes < tuned(c->t, "section.bytes")) return NULL;
    }
    return i;
}

/* The section of parts of that shape that has room for one more. */
static PartSection *section_of(Cutting *c, uint32_t output, const HloShape *space)
{
    const int64_t most = tuned(c->t, "section.together");
    for (uint32_t k = 0; k < c->sections.n; k++) {
        PartSection *s = &c->sections.items[k];
        if (s->kind == PART_SLAB && s->outputs[0] == output && hlo_same_dims(s->space, space) && s->n_starts < most) return s;
    }
    PartSection *s = add(c, PART_SLAB, output, space);
    s->starts = WBB_NEW_N(c->arena, int64_t, (size_t)most);
    return s;
}

static void add_slabs(Cutting *c, uint32_t output, const HloInstruction *concatenate)
{
    const HloShape *whole = c->p->buffers[c->p->n_operands + output].shape;
    const uint32_t dim = (uint32_t)concatenate->dimensions[0];
    int64_t start = 0;
    for (uint32_t k = 0; k < concatenate->n_operands; k++) {
        int64_t *dims = WBB_NEW_N(c->arena, int64_t, whole->rank + 1u);
        for (uint32_t d = 0; d < whole->rank; d++) dims[d] = whole->dims[d];
        dims[dim] = concatenate->operands[k]->shape->dims[dim];
        if (hlo_elements(concatenate->operands[k]->shape) > 0) {
            PartSection *s = section_of(c, output, part_like(c->arena, whole, dims));
            s->dim = dim;
            s->starts[s->n_starts++] = start;
        }
        start += dims[dim];
    }
    c->p->kind = "concatenate";
    c->p->why_kind = "operands of one shape have the same threads, others blocks of their own: no thread chooses between them";
}

static void add_loop(Cutting *c, uint32_t output, const HloShape *shape)
{
    for (uint32_t k = 0; k < c->sections.n; k++) {
        PartSection *s = &c->sections.items[k];
        if (s->kind != PART_LOOP || s->elements != hlo_elements(shape)) continue;
        s->outputs[s->n_outputs++] = output;
        return;
    }
    if (hlo_elements(shape) > 0) add(c, PART_LOOP, output, shape);
}

static bool only_moves_memory(const PartPlan *p)
{
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloInstruction *i = p->roots[k].i;
        const bool moves = i->opcode == HLO_COPY || i->opcode == HLO_BITCAST || i->opcode == HLO_RESHAPE || i->opcode == HLO_TRANSPOSE;
        if (i->opcode != HLO_PARAMETER && !(moves && i->operands[0]->opcode == HLO_PARAMETER)) return false;
    }
    return true;
}

static void cut(Cutting *c, const HloInstruction *const *updates)
{
    PartPlan *p = c->p;
    p->kind = "loop";
    p->why_kind = "every element of an output needs only elements that one thread can read";
    if (only_moves_memory(p)) {
        p->kind = "copy";
        p->why_kind = "outputs are parameters, in the same or another order";
    }
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloShape *s = p->buffers[p->n_operands + k].shape;
        const HloInstruction *concatenate = p->n_outputs == 1 ? concatenate_below(c, p->roots[k].i) : NULL;
        const PartBuffer *out = &p->buffers[p->n_operands + k];
        if (out->alias >= 0 && p->roots[k].i->opcode == HLO_PARAMETER) continue; /* it is there already */
        if (updates[k]) {
            const HloShape *update = updates[k]->operands[1]->shape;
            if (hlo_elements(update) > 0) {
                PartSection *u = add(c, PART_UPDATE, k, part_like(c->arena, updates[k]->shape, update->dims));
                u->update = updates[k];
            }
            p->kind = "dynamic-update-slice";
            p->why_kind = "in place: nobody needs what the updates replace, so only they are written";
        } else if (concatenate) {
            add_slabs(c, k, concatenate);
        } else {
            add_loop(c, k, s);
        }
    }
    if (c->sections.n > 1 && c->sections.items[0].kind == PART_LOOP && c->sections.items[c->sections.n - 1].kind == PART_LOOP) {
        p->kind = "slices";
        p->why_kind = "outputs of other sizes have blocks of their own";
    }
}

/* elements a thread --------------------------------------------------------------------------------------------------------------- */

/* Buffers that are read or written once an element: the others are broadcast and soon in a cache. */
static uint32_t bytes_an_element(const PartPlan *p, const PartSection *s)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (p->buffers[k].elements >= s->elements) sum += sc_bytes(p->buffers[k].shape->type);
    for (uint32_t k = 0; k < s->n_outputs; k++) sum += sc_bytes(p->buffers[p->n_operands + s->outputs[k]].shape->type);
    return sum * WBB_MAX(s->n_starts, 1u);
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
static void width_of_buffers(const PartPlan *p, const PartSection *s, uint32_t *narrow, uint32_t *wide)
{
    *narrow = 64, *wide = 1;
    for (uint32_t k = 0; k < p->n_operands + s->n_outputs; k++) {
        const ScType t = p->buffers[k < p->n_operands ? k : p->n_operands + s->outputs[k - p->n_operands]].shape->type;
        *narrow = WBB_MIN(*narrow, sc_type_info[t].bits), *wide = WBB_MAX(*wide, sc_bytes(t));
    }
}

static void halve(WbbArena *a, PartSection *s, int64_t limit, int64_t each, const char *why, int64_t number)
{
    while (s->unroll > 1 && s->unroll * each > limit) {
        s->unroll /= 2;
        s->why_unroll = wbb_format(a, why, (long long)number);
    }
}

/* The largest power of two that divides every boundary of a concatenate or pad of so many elements, along its minor dimension. *rows: all of
 * them have rows of that length, where it is not 0. */
static int64_t boundaries(const HloComputation *c, int64_t elements, int64_t *rows)
{
    int64_t all = 0; /* bits of all of them */
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
        if (all != before && *rows != i->shape->dims[minor]) *rows = 0;
    }
    return all ? all & -all : INT64_MAX;
}

/* Edges that lie in the same places of every row: a thread has whole rows, and what each of its elements is made of is known. */
static bool whole_rows(Cutting *c, PartSection *s, int64_t row, uint32_t narrow)
{
    enum { MOST = 16 }; /* elements: code for each */
    if (s->kind != PART_LOOP || row < 2 || row > MOST || c->elements < row * tuned(c->t, "loop.min_threads")) return false;
    int64_t rows = 1;
    while (2 * rows * row <= MOST && rows * row * narrow % 128 != 0 && s->elements % (2 * rows * row) == 0 && c->elements >= 2 * rows * row * tuned(c->t, "loop.min_threads")) rows *= 2;
    if (rows * row % 2) return false;
    s->unroll = (uint32_t)(rows * row);
    s->why_unroll = wbb_format(c->arena, "%lld whole rows of %lld: no element asks which part it is of", (long long)rows, (long long)row);
    return true;
}

static void choose_unroll(Cutting *c, PartSection *s)
{
    const TgTarget *t = c->t;
    WbbArena *a = c->arena;
    uint32_t narrow, wide;
    width_of_buffers(c->p, s, &narrow, &wide);
    const TgTune *tune = tg_tune(t, "loop.unroll", narrow);
    const uint32_t bytes = bytes_an_element(c->p, s), body = operations(c->p->fusion->body);
    const int64_t trips = part_trips(a, c->p->fusion->body)[c->p->fusion->body->root->id];
    s->unroll = (uint32_t)WBB_MAX(tune->value, 1);
    s->why_unroll = tune->because;
    while (s->unroll > 1 && c->elements < s->unroll * tuned(t, "loop.min_threads")) {
        s->unroll /= 2;
        s->why_unroll = wbb_format(a, "more a thread would leave under %lld threads", (long long)tuned(t, "loop.min_threads"));
    }
    while (s->unroll > 1 && s->unroll * wide > 2 * t->vector_bytes) {
        s->unroll /= 2;
        s->why_unroll = wbb_format(a, "%u bytes of the widest buffer, two accesses", s->unroll * wide);
    }
    halve(a, s, tuned(t, "loop.max_bytes"), bytes, "a thread touches %lld bytes an element", bytes);
    halve(a, s, tuned(t, "loop.max_body"), body, "the body has %lld operations", body);
    halve(a, s, tuned(t, "loop.max_turns"), trips, "an element takes %lld turns of loops", trips);
    const int64_t row = s->space->rank ? s->space->dims[s->space->minor_to_major[0]] : 1;
    const bool rows = s->kind != PART_LOOP; /* places of rows lie apart */
    if (s->unroll > 2 && s->elements % s->unroll != 0 && s->elements % (s->unroll / 2) == 0) {
        s->unroll /= 2;
        s->why_unroll = wbb_format(a, "divides the elements, which %u does not", s->unroll * 2);
    }
    int64_t same = row;
    const int64_t edge = boundaries(c->p->fusion->body, s->elements, &same);
    if (edge < s->unroll && edge * narrow >= 8 && !whole_rows(c, s, same, narrow) && 4 * edge > s->unroll) {
        s->unroll = (uint32_t)edge;
        s->why_unroll = "divides the edges of what is padded or concatenated: one test for all elements of a thread";
    }
    s->group = 1;
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const ScType of = c->p->buffers[c->p->n_operands + s->outputs[k]].shape->type;
        if (part_is_packed(of)) s->group = WBB_MAX(s->group, 8u / sc_type_info[of].bits);
    }
    if (s->unroll < s->group) {
        s->unroll = s->group;
        s->why_unroll = "a byte of the output";
    }
    while (rows && s->unroll > 1 && row % s->unroll != 0) {
        s->unroll /= 2;
        s->why_unroll = wbb_format(a, "divides a row of %lld elements", (long long)row);
    }
}

/* threads and blocks ---------------------------------------------------------------------------------------------------------------- */

int64_t part_row_threads(const PartSection *s)
{
    int64_t row = 1;
    for (uint32_t k = 0; k < s->space->rank && row == 1; k++) row = s->space->dims[s->space->minor_to_major[k]];
    return s->kind == PART_LOOP && row < s->elements && row % s->unroll == 0 ? row / s->unroll : 0;
}

static void choose_block(WbbArena *a, PartPlan *p, const TgTarget *t)
{
    const TgTune *tune = tg_tune(t, "loop.block", 0);
    int64_t threads = 0;
    for (uint32_t k = 0; k < p->n_sections; k++) threads += p->sections[k].vectors + p->sections[k].tail;
    const uint32_t most = (uint32_t)tune->value;
    p->block = most;
    p->why_block = tune->because;
    if (threads <= most && p->n_sections <= 1) {
        p->block = (uint32_t)WBB_MAX(threads, 1);
        p->why_block = "one block does it all";
        return;
    }
    while (p->block % (2 * t->warp) == 0 && threads / p->block < t->sms) {
        p->block /= 2;
        p->why_block = wbb_format(a, "%lld threads, smaller blocks reach more SMs", (long long)threads);
    }
    const int64_t row = p->n_sections == 1 ? part_row_threads(&p->sections[0]) : 0;
    if (row % t->warp == 0 && row >= most / 2 && row <= 2 * most && threads % row == 0 && threads / row >= t->sms) {
        p->block = (uint32_t)row;
        p->why_block = "a row: its number is the block's";
        return;
    }
    if (threads % p->block == 0 || p->n_sections > 1) return;
    for (uint32_t b = p->block; b >= p->block / 2 && b >= t->warp; b -= t->warp) {
        if (threads % b != 0) continue;
        p->block = b;
        p->why_block = wbb_format(a, "divides %lld threads", (long long)threads);
        return;
    }
}

/* rounds of a thread ----------------------------------------------------------------------------------------------------------------- */

enum { BRANCHES = 1 << 16 };

/* Machine instructions of an element, roughly: what a library computes is many; what branches would have its rounds one after the other. */
static int64_t weight(const HloComputation *c)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        switch (c->instructions[k]->opcode) {
        case HLO_PARAMETER: case HLO_CONSTANT: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT: case HLO_BROADCAST: case HLO_BITCAST: break;
        case HLO_DIVIDE: case HLO_SQRT: case HLO_RSQRT: case HLO_REMAINDER: case HLO_EXPONENTIAL: case HLO_LOG: case HLO_TANH: case HLO_LOGISTIC: sum += 12; break;
        case HLO_SINE: case HLO_COSINE: case HLO_TAN: case HLO_POWER: case HLO_ATAN2: case HLO_ERF: case HLO_CBRT: case HLO_EXPONENTIAL_MINUS_ONE:
        case HLO_LOG_PLUS_ONE: sum += 40; break;
        case HLO_PAD: case HLO_CONCATENATE: case HLO_DYNAMIC_UPDATE_SLICE: sum += BRANCHES; break;
        default: sum++;
        }
    }
    return sum;
}

/* A thread begins once, computes its addresses once and has that many accesses on their way: worth it while threads and work are enough. */
static void choose_rounds(Cutting *c, PartSection *s)
{
    const TgTarget *t = c->t;
    const TgTune *tune = tg_tune(t, "loop.rounds", 0);
    const HloComputation *body = c->p->fusion->body;
    s->rounds = 1;
    if (s->kind == PART_UPDATE || s->tail || part_trips(c->arena, body)[body->root->id] > 1) return;
    for (uint32_t k = 0; k < s->n_outputs; k++)
        if (c->p->buffers[c->p->n_operands + s->outputs[k]].alias >= 0) return;
    const int64_t own = s->kind == PART_SLAB ? BRANCHES : 0; /* of the concatenate, whose parts have no branch here */
    const int64_t each = (weight(body) - own) * s->unroll, bytes = (int64_t)bytes_an_element(c->p, s) * s->unroll;
    uint32_t rounds = (uint32_t)tune->value;
    while (rounds > 1 && (s->vectors % ((int64_t)rounds * c->p->block) != 0 || s->vectors < rounds * tuned(t, "loop.min_threads") ||
                          each * rounds > tuned(t, "loop.round_work") || bytes * rounds > tuned(t, "loop.round_bytes"))) rounds /= 2;
    s->rounds = rounds;
    s->why_rounds = tune->because;
}

void part_sections(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const HloInstruction *const *updates)
{
    Cutting c = {.cx = cx, .arena = a, .p = p, .t = t};
    cut(&c, updates);
    p->sections = c.sections.items;
    p->n_sections = c.sections.n;
    for (uint32_t k = 0; k < p->n_sections; k++) {
        PartSection *s = &p->sections[k];
        choose_unroll(&c, s);
        s->vectors = s->elements / s->unroll;
        s->tail = (s->elements % s->unroll + s->group - 1) / s->group;
    }
    choose_block(a, p, t);
    int64_t grid = 0;
    bool exact = true;
    for (uint32_t k = 0; k < p->n_sections; k++) {
        PartSection *s = &p->sections[k];
        choose_rounds(&c, s);
        const int64_t threads = s->vectors / s->rounds + s->tail, blocks = threads / p->block + (threads % p->block != 0);
        if (grid + blocks > INT32_MAX) wbb_decline(cx, p->fusion->body->root->loc, WHY_SIZE, "%lld blocks and more", (long long)(grid + blocks));
        s->first_block = (uint32_t)grid;
        s->blocks = (uint32_t)blocks;
        s->exact = s->tail == 0 && threads % p->block == 0;
        exact = exact && s->exact;
        grid += blocks;
    }
    p->grid = (uint32_t)grid;
    p->why_grid = exact ? "exactly the threads: no bounds check" : "rounded up: threads beyond the end do nothing";
    if (grid == 0) p->why_grid = "no elements: no launch";
}

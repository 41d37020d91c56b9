/* plan.c: the numbers of a loop fusion: elements, unroll, block, grid, each with its reason.
 *
 * Needs a verified fusion and a target's TUNE table; leaves a plan. Elements a thread: as many as the widest accesses to the
 * narrowest type hold, then fewer where the machine would not be full, where a thread would touch too many bytes or the code would
 * be too long, and where halving once makes it divide the elements. Threads a block: the target's number, or one near it that
 * divides the threads, so that no bounds check is needed.
 *
 *     gelu bf16[6,512,4096]   =>   unroll 8, block 128, grid 12288, exact
 */
#include "partition/partition.h"

#include <string.h>

/* buffers ------------------------------------------------------------------------------------------------------------------ */

static bool taken(const PartPlan *p, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(p->buffers[i].name, name)) return true;
    return false;
}

static const char *unique_name(WbbArena *a, const PartPlan *p, uint32_t n, const char *wish)
{
    char *name = wbb_format(a, "%s", wish);
    for (char *c = name; *c; c++) {
        const bool fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("_.-", *c);
        if (!fine) *c = '_';
    }
    char *result = name;
    for (uint32_t k = 1; taken(p, n, result); k++) result = wbb_format(a, "%s.%u", name, k);
    return result;
}

static void add_buffer(WbbArena *a, PartPlan *p, uint32_t at, const char *name, const HloShape *s, bool output)
{
    p->buffers[at] = (PartBuffer){unique_name(a, p, at, name), s, hlo_elements(s), output};
}

/* The instructions whose values the outputs are: the leaves of the root, depth first. */
static void find_roots(WbbCx *cx, WbbArena *a, PartPlan *p, const HloInstruction *root)
{
    struct { const HloInstruction **items; uint32_t n, room; } stack = {0}, roots = {0};
    WBB_PUSH(a, &stack, part_value(cx, root));
    while (stack.n) {
        const HloInstruction *i = stack.items[--stack.n];
        if (i->opcode == HLO_TUPLE) {
            for (uint32_t k = i->n_operands; k-- > 0;) WBB_PUSH(a, &stack, part_value(cx, i->operands[k]));
        } else {
            WBB_PUSH(a, &roots, i);
        }
        if (roots.n + stack.n > 100000) wbb_decline(cx, root->loc, WHY_SIZE, "more than 100000 outputs");
    }
    p->roots = roots.items;
    p->n_outputs = roots.n;
}

static void find_buffers(WbbArena *a, PartPlan *p)
{
    const HloFusion *f = p->fusion;
    p->n_operands = f->fusion ? f->fusion->n_operands : f->body->n_parameters;
    p->buffers = WBB_NEW_N(a, PartBuffer, p->n_operands + p->n_outputs + 1);
    for (uint32_t k = 0; k < p->n_operands; k++)
        add_buffer(a, p, k, f->body->parameters[k]->name, f->body->parameters[k]->shape, false);
    for (uint32_t k = 0; k < p->n_outputs; k++)
        add_buffer(a, p, p->n_operands + k, p->n_outputs == 1 ? "out" : wbb_format(a, "out%u", k), p->roots[k]->shape, true);
}

/* numbers ------------------------------------------------------------------------------------------------------------------ */

static int64_t tuned(const TgTarget *t, const char *name) { return tg_tune(t, name, 0)->value; }

/* Buffers that are read or written once an element: the others are broadcast and soon in a cache. */
static uint32_t bytes_an_element(const PartPlan *p)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs; k++)
        if (p->buffers[k].elements >= p->elements) sum += sc_bytes(p->buffers[k].shape->type);
    return sum;
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

static void choose_unroll(WbbArena *a, PartPlan *p, const TgTarget *t)
{
    uint32_t narrow = 8, wide = 1;
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs; k++) {
        const uint32_t bytes = sc_bytes(p->buffers[k].shape->type);
        narrow = WBB_MIN(narrow, bytes), wide = WBB_MAX(wide, bytes);
    }
    const TgTune *tune = tg_tune(t, "loop.unroll", narrow * 8);
    const uint32_t bytes = bytes_an_element(p), body = operations(p->fusion->body);
    p->unroll = (uint32_t)WBB_MAX(tune->value, 1);
    p->why_unroll = tune->because;
    while (p->unroll > 1 && p->elements < p->unroll * tuned(t, "loop.min_threads")) {
        p->unroll /= 2;
        p->why_unroll = wbb_format(a, "more a thread would leave under %lld threads", (long long)tuned(t, "loop.min_threads"));
    }
    while (p->unroll > 1 && p->unroll * wide > 2 * t->vector_bytes) {
        p->unroll /= 2;
        p->why_unroll = wbb_format(a, "%u bytes of the widest buffer, two accesses", p->unroll * wide);
    }
    while (p->unroll > 1 && p->unroll * bytes > tuned(t, "loop.max_bytes")) {
        p->unroll /= 2;
        p->why_unroll = wbb_format(a, "a thread touches %u bytes an element", bytes);
    }
    while (p->unroll > 1 && (int64_t)p->unroll * body > tuned(t, "loop.max_body")) {
        p->unroll /= 2;
        p->why_unroll = wbb_format(a, "the body has %u operations", body);
    }
    if (p->unroll > 2 && p->elements % p->unroll != 0 && p->elements % (p->unroll / 2) == 0) {
        p->unroll /= 2;
        p->why_unroll = wbb_format(a, "divides the elements, which %u does not", p->unroll * 2);
    }
}

static void choose_block(WbbArena *a, PartPlan *p, const TgTarget *t)
{
    const TgTune *tune = tg_tune(t, "loop.block", 0);
    const int64_t threads = p->vectors + p->tail;
    const uint32_t most = (uint32_t)tune->value;
    p->block = most;
    p->why_block = tune->because;
    if (threads <= most) {
        p->block = (uint32_t)WBB_MAX(threads, 1);
        p->why_block = "one block does it all";
        return;
    }
    while (p->block % (2 * t->warp) == 0 && threads / p->block < t->sms) {
        p->block /= 2;
        p->why_block = wbb_format(a, "%lld threads, smaller blocks reach more SMs", (long long)threads);
    }
    if (threads % p->block == 0) return;
    for (uint32_t b = p->block; b >= p->block / 2 && b >= t->warp; b -= t->warp) {
        if (threads % b != 0) continue;
        p->block = b;
        p->why_block = wbb_format(a, "divides %lld threads", (long long)threads);
        return;
    }
}

PartPlan part_plan(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options)
{
    PartPlan p = {.kind = PART_LOOP, .fusion = fusion, .align = options.align ? options.align : 16};
    const WbbLoc loc = fusion->body->root->loc;
    part_check(cx, fusion->body);
    find_roots(cx, a, &p, fusion->body->root);
    find_buffers(a, &p);
    if (p.n_outputs == 0) wbb_decline(cx, loc, WHY_SHAPE, "the fusion has no output");
    p.elements = p.buffers[p.n_operands].elements;
    for (uint32_t k = 1; k < p.n_outputs; k++)
        if (p.buffers[p.n_operands + k].elements != p.elements)
            wbb_decline(cx, loc, WHY_SHAPE, "output 0 has %lld elements, output %u has %lld", (long long)p.elements, k,
                        (long long)p.buffers[p.n_operands + k].elements);
    p.why_kind = "every element of an output needs only elements that one thread can read";
    choose_unroll(a, &p, target);
    p.vectors = p.elements / p.unroll;
    p.tail = p.elements % p.unroll;
    choose_block(a, &p, target);
    const int64_t threads = p.vectors + p.tail, grid = threads / p.block + (threads % p.block != 0);
    if (grid > INT32_MAX) wbb_decline(cx, loc, WHY_SIZE, "%lld blocks", (long long)grid);
    p.grid = (uint32_t)grid;
    p.exact = p.tail == 0 && threads % p.block == 0;
    p.why_grid = p.exact ? "exactly the threads: no bounds check" : "rounded up: threads beyond the end do nothing";
    if (p.elements == 0) p.why_grid = "no elements: no launch";
    return p;
}

/* text --------------------------------------------------------------------------------------------------------------------- */

void part_print(WbbBuf *out, const PartPlan *p)
{
    wbb_putf(out, "plan @%s loop: %s\n", p->fusion->name, p->why_kind);
    wbb_putf(out, "  elements %lld, in the order of ", (long long)p->elements);
    hlo_print_shape(out, p->buffers[p->n_operands].shape);
    wbb_putf(out, "\n  unroll %u: %s\n", p->unroll, p->why_unroll);
    if (p->tail) wbb_putf(out, "  tail %lld: one thread each\n", (long long)p->tail);
    wbb_putf(out, "  block %u: %s\n", p->block, p->why_block);
    wbb_putf(out, "  grid %u: %s\n", p->grid, p->why_grid);
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs; k++) {
        wbb_putf(out, "  %s %%%s ", p->buffers[k].output ? "out" : "in", p->buffers[k].name);
        hlo_print_shape(out, p->buffers[k].shape);
        wbb_put(out, "\n");
    }
}

/* order.c: is a plan legal? Who writes each byte before whom, of its launches, and how many arrays each of them has.
 *
 * Needs a plan; leaves nothing where it is legal. What each launch reads and writes is said as facts of
 * base/order.h. An operand has one value, from the start on, or, where a fusion is cut, from the kernels on that make
 * it (PlanKernel.ready); whatever lies in other buffers has the value that the kernel before left there. An update in
 * place reads what it leaves as it was.
 *
 *     y = scatter(sort(p), ..)     kernel 0 reads p, makes out; kernel 1 reads out, makes out over it
 *     the same, p being updated    kernel 1 makes out over p, which a later kernel must not read
 */
#include "base/order.h"
#include "plan/plan.h"

/* Each launch of a sort but the first reads the set of temporaries that the one before left, and each but the last one
 * writes the other set; all of a set's stand side by side. */
static void touch_sets(const Plan *of, const PlanSort *s, uint8_t *touches)
{
    const uint32_t end = of->n_operands + of->n_outputs + of->n_temps;
    const uint32_t ends[2] = {s->passes > 1 ? s->temps[1] : end, end};
    for (uint32_t b = s->temps[(s->pass + 1) % 2]; s->pass && b < ends[(s->pass + 1) % 2]; b++)
        touches[b] |= PLAN_READS;
    for (uint32_t b = s->temps[s->pass % 2]; s->pass < s->passes && b < ends[s->pass % 2]; b++)
        touches[b] |= PLAN_WRITES;
}

uint8_t *plan_touches(WbbArena *a, const Plan *p, const PlanKernel *k)
{
    const Plan *of = plan_of_kernel(p, k);
    const HloComputation *body = of->fusion->body;
    const uint32_t outputs = of->n_operands;
    uint8_t *touches = WBB_NEW_N(a, uint8_t, outputs + of->n_outputs + of->n_temps + 1);
    if (!k->grid) return touches;
    const bool *needed = plan_needed(a, of, k);
    for (uint32_t n = 0; n < body->n_parameters; n++)
        for (uint32_t l = 0; needed[body->parameters[n]->id] && l < body->parameters[n]->shape->n_leaves; l++)
            touches[of->first_leaf[n] + l] = PLAN_READS;
    for (uint32_t n = 0; n < k->n_made; n++)
        if (needed[k->made[n].value.i->id]) touches[k->made[n].buffer] = PLAN_READS;
    for (const PlanRange *r = k->ranges; r < k->ranges + k->n_ranges; r++)
        for (const PlanStage *s = r->stages; s < r->stages + r->n_stages; s++) {
            const bool some = s->kind == PLAN_UPDATE || s->kind == PLAN_SCATTER;
            const PlanSort *sort = s->sort;
            if (s->kind == PLAN_SCATTER && s->combine == PLAN_LOCK) touches[s->lock] |= PLAN_READS | PLAN_WRITES_SOME;
            if (sort) touch_sets(of, sort, touches);
            for (uint32_t o = 0; o < s->n_outputs && !(sort && sort->pass < sort->passes); o++)
                touches[outputs + s->outputs[o]] |= some ? PLAN_WRITES_SOME : PLAN_WRITES;
        }
    return touches;
}

bool plan_is_partial(WbbArena *a, const Plan *p, uint32_t buffer)
{
    for (const PlanKernel *k = p->kernels; k < p->kernels + p->n_kernels; k++) {
        const Plan *of = plan_of_kernel(p, k);
        const uint8_t *touches = plan_touches(a, p, k);
        for (uint32_t b = of->n_operands; b < of->n_operands + of->n_outputs; b++)
            if (touches[b] & PLAN_WRITES && (k->of ? k->memory[b] : b) == buffer) return false;
    }
    return true;
}

typedef struct { uint32_t kernel, value; } Made; /* the first one of a memory: what is there from the start */

typedef struct {
    WbbArena *a;
    const Plan *p;
    struct { WbbBytes *items; uint32_t n, capacity; } values;
    struct Values { Made *items; uint32_t n, capacity; } *of; /* by memory */
    struct { WbbTouch *items; uint32_t n, capacity; } touches; /* of the kernel */
} Order;

/* The buffer whose memory this one has. */
static uint32_t memory_of(const Plan *p, uint32_t buffer)
{
    return p->buffers[buffer].alias >= 0 ? (uint32_t)p->buffers[buffer].alias : buffer;
}

static uint32_t add_value(Order *o, uint32_t memory, uint32_t buffer, uint32_t kernel)
{
    const PlanBuffer *b = &o->p->buffers[buffer];
    const int64_t bytes = (b->elements * sc_type_info[b->shape->type].bits + 7) / 8;
    const bool used = !b->zeroed; /* locks are left as they were */
    WBB_PUSH(o->a, &o->values, ((WbbBytes){.name = b->name, .memory = memory, .bytes = bytes, .used = used}));
    WBB_PUSH(o->a, &o->of[memory], ((Made){kernel, o->values.n - 1}));
    return o->values.n - 1;
}

/* What the kernels before number `kernel` have left there. */
static uint32_t value_at(const Order *o, uint32_t memory, uint32_t kernel)
{
    const struct Values *v = &o->of[memory];
    uint32_t n = v->n - 1;
    while (n && v->items[n].kernel >= kernel) n--;
    return v->items[n].value;
}

/* The number of the touch that reads a value, which is added if there is none; from 1 on. */
static uint32_t reading(Order *o, uint32_t value)
{
    for (uint32_t k = 0; k < o->touches.n; k++)
        if (o->touches.items[k].kind == WBB_READS && o->touches.items[k].value == value) return k + 1;
    WBB_PUSH(o->a, &o->touches, ((WbbTouch){.kind = WBB_READS, .value = value}));
    return o->touches.n;
}

static WbbTouches touches_of(Order *o, uint32_t kernel)
{
    const Plan *p = o->p;
    const PlanKernel *k = &p->kernels[kernel];
    const Plan *of = plan_of_kernel(p, k);
    const uint32_t n = of->n_operands + of->n_outputs + of->n_temps;
    const uint8_t *touches = plan_touches(o->a, p, k);
    o->touches.items = NULL, o->touches.n = o->touches.capacity = 0;
    for (uint32_t b = 0; b < n; b++) {
        const uint32_t memory = memory_of(p, k->of ? k->memory[b] : b);
        const uint32_t from = b >= of->n_operands ? kernel : k->of ? k->ready[b] : 0;
        if (touches[b] & PLAN_READS && p->buffers[memory].elements) reading(o, value_at(o, memory, from));
    }
    const uint32_t reads = o->touches.n;
    for (uint32_t b = 0; b < n; b++) {
        const uint32_t buffer = k->of ? k->memory[b] : b, memory = memory_of(p, buffer);
        if (!(touches[b] & (PLAN_WRITES | PLAN_WRITES_SOME)) || !p->buffers[memory].elements) continue;
        const uint32_t before = value_at(o, memory, kernel);
        uint32_t over = 0;
        if (!(touches[b] & PLAN_WRITES)) over = reading(o, before); /* what it leaves as it was */
        for (uint32_t j = 0; j < reads && of->buffers[b].alias >= 0; j++)
            if (o->touches.items[j].value == before) over = j + 1;
        WBB_PUSH(o->a, &o->touches, ((WbbTouch){WBB_MAKES, add_value(o, memory, buffer, kernel), over}));
    }
    return (WbbTouches){o->touches.items, o->touches.n};
}

/* A temporary that no kernel reads is waste and no fault: a cut may leave a result that only unwanted values need. */
static void forgive_unread(Order *o, const WbbTouches *steps, uint32_t n_memories)
{
    bool *read = WBB_NEW_N(o->a, bool, n_memories + 1);
    for (uint32_t k = 0; k < o->p->n_kernels; k++)
        for (const WbbTouch *t = steps[k].touches; t < steps[k].touches + steps[k].n; t++)
            if (t->kind == WBB_READS) read[o->values.items[t->value].memory] = true;
    for (uint32_t v = 0; v < o->values.n; v++) o->values.items[v].used &= read[o->values.items[v].memory];
}

const char *plan_order_fault(WbbArena *a, const Plan *p)
{
    const uint32_t n = p->n_operands + p->n_outputs + p->n_temps;
    Order o = {.a = a, .p = p};
    o.of = wbb_alloc(a, wbb_mul_size(a, n + 1, sizeof *o.of));
    for (uint32_t b = 0; b < n; b++) {
        if (memory_of(p, b) != b) continue;
        const uint32_t value = add_value(&o, b, b, 0);
        WbbBytes *v = &o.values.items[value];
        v->given = b < p->n_operands || p->buffers[b].zeroed;
        v->fixed = b < p->n_operands;
        v->used = false;
    }
    for (uint32_t b = 0; b < n; b++)
        if (memory_of(p, b) != b) o.values.items[memory_of(p, b)].fixed = false;
    WbbTouches *steps = WBB_NEW_N(a, WbbTouches, p->n_kernels + 1);
    for (uint32_t k = 0; k < p->n_kernels; k++) steps[k] = touches_of(&o, k);
    forgive_unread(&o, steps, n);
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const uint32_t memory = memory_of(p, p->n_operands + k);
        o.values.items[value_at(&o, memory, UINT32_MAX)].wanted = p->buffers[memory].elements > 0;
    }
    const WbbOrder order = {.values = o.values.items, .steps = steps, .n_values = o.values.n, .n_memories = n,
                            .n_steps = p->n_kernels};
    const WbbFault fault = wbb_order_fault(a, &order);
    if (!fault.kind) return NULL;
    return fault.step < p->n_kernels ? wbb_format(a, "kernel %u: %s", fault.step, fault.text)
                                     : wbb_format(a, "at the end %s", fault.text);
}

static void check_parameters(WbbCx *cx, const Plan *p, const TgTarget *t)
{
    enum { ADDRESS = 8 };
    const int64_t most = tg_tuned(t, "parameter.bytes") / ADDRESS;
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const Plan *of = plan_of_kernel(p, &p->kernels[k]);
        const int64_t n = (int64_t)of->n_operands + of->n_outputs + of->n_temps;
        if (n > most)
            wbb_decline(cx, p->fusion->body->root->loc, WHY_SIZE,
                        "a kernel would have %lld arrays: %s takes the addresses of %lld as parameters", (long long)n,
                        t->name, (long long)most);
    }
}

void plan_legal(WbbCx *cx, const Plan *p, const TgTarget *t)
{
    check_parameters(cx, p, t);
    WbbArena *a = wbb_arena_new(cx);
    const char *fault = plan_order_fault(a, p);
    if (fault) wbb_fail(cx, p->fusion->body->root->loc, "a bug of warpburg: a plan is wrong: %s", fault);
    wbb_arena_free(a);
}

/* scatter.c: the kernels of a fusion with scatters, in the order of their launches.
 *
 * Needs a plan with buffers, roots and the outputs that are updated in place; leaves for each scatter a kernel that
 * stores its operand, unless the operand has the output's memory, and one that combines the updates with it; then a
 * kernel for the outputs that are made of what scatters leave. A scatter works in the memory of an output, if an output
 * is its result, else in a temporary. The shape of a normalised scatter is in hlo/normalise_scatter.c.
 *
 *     f32[10,5] scatter(p, indices, updates f32[24,2,3]), add
 *         =>   144 updates in the order of memory, atomic_add.f32, in place of p
 */
#include "graph/graph.h"
#include "plan/work.h"
#include "plan/scatter.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    Plan *p;
    const TgTarget *t;
    GrGraph *graph; /* of the fusion; NULL: nobody has asked for it */
    struct { PlanMade *items; uint32_t n, capacity; } made;
    struct { PlanKernel *items; uint32_t n, capacity; } kernels;
} Scattering;

static bool *find_live(WbbArena *a, const Plan *p)
{
    const HloComputation *body = p->fusion->body;
    bool *live = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t k = 0; k < p->n_outputs; k++) live[p->roots[k].i->id] = true;
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        for (uint32_t k = 0; live[i->id] && k < i->n_operands; k++) live[i->operands[k]->id] = true;
    }
    return live;
}

bool plan_has_scatter(const Plan *p)
{
    const HloComputation *body = p->fusion->body;
    for (uint32_t n = 0; n < body->n_instructions; n++)
        if (body->instructions[n]->opcode == HLO_SCATTER) return true;
    return false;
}

PlanValue plan_scatter_below(PlanValue v)
{
    while (v.i->opcode == HLO_BITCAST && plan_same_width(v.i)) v = plan_value(v.i->operands[0], 0);
    if (v.i->opcode != HLO_SCATTER) v.i = NULL;
    return v;
}

/* --- how updates are combined ------------------------------------------------------------------------------------- */
static ScType unsigned_of(uint32_t bits)
{
    return bits == 16 ? SC_U16 : bits == 32 ? SC_U32 : bits == 64 ? SC_U64 : SC_NONE;
}

static ScType signed_of(uint32_t bits) { return bits == 32 ? SC_I32 : bits == 64 ? SC_I64 : SC_NONE; }

/* One instruction for an operation on elements of a type; *word: the type that it has. */
static bool is_atomic(const Scattering *x, HloOpcode opcode, ScType t, ScOp *op, ScType *word)
{
    const ScTypeInfo *info = &sc_type_info[t];
    *op = sc_atomic(hlo_scalar(opcode));
    *word = strchr(sc_op_info[*op].classes, 'I') ? t : unsigned_of(info->bits); /* `and`, `or`, `xor` are of bits */
    if (info->cls == 'C') *word = opcode != HLO_ADD ? SC_NONE : t == SC_C64 ? SC_F32 : SC_F64;
    if (*op == OP_NONE || *word == SC_NONE || info->cls == 'P') return false;
    return tg_has_instruction(x->t, *op, *word, 1);
}

static bool in_float_order(const Scattering *x, HloOpcode opcode, ScType t)
{
    const uint32_t bits = sc_type_info[t].bits;
    const ScType word = unsigned_of(bits), number = signed_of(bits);
    if (!sc_is_float(t) || word == SC_NONE || number == SC_NONE) return false;
    return hlo_orders(opcode) && tg_has_instruction(x->t, OP_ATOMIC_MAX, word, 1) &&
           tg_has_instruction(x->t, OP_ATOMIC_MIN, word, 1) && tg_has_instruction(x->t, OP_ATOMIC_MAX, number, 1) &&
           tg_has_instruction(x->t, OP_ATOMIC_MIN, number, 1) && tg_has_instruction(x->t, OP_ATOMIC_EXCH, word, 1);
}

/* The word that holds an element, for compare and swap: of the width of the element, or of several small ones; one of
 * 16 bytes is two words, where the target swaps both at once. SC_NONE: words would not fill the buffer. */
static ScType word_of(const Scattering *x, const HloShape *s)
{
    const uint32_t bits = sc_type_info[s->type].bits, wide = WBB_MAX(bits, 16u), lanes = bits == 128 ? 2 : 1;
    const ScType word = unsigned_of(wide / lanes);
    const bool fills = hlo_elements(s) * bits % wide == 0 && plan_align(x->p, s->type) * 8 >= wide;
    return fills && word != SC_NONE && tg_has_instruction(x->t, OP_ATOMIC_CAS, word, lanes) ? word : SC_NONE;
}

/* How result k of a scatter is combined, where it depends on update k and element k alone. */
static void combine_one(const Scattering *x, const HloInstruction *s, uint32_t k, PlanStage *stage)
{
    const HloShape *shape = plan_shape(s, k);
    const ScType t = shape->type;
    const HloOpcode op = hlo_scatter_root(s, k)->opcode;
    const uint32_t bits = sc_type_info[t].bits;
    stage->combine = PLAN_LOCK;
    if (hlo_scatter_takes(s, k) == k && bits >= 8 && bits <= 64) {
        stage->combine = PLAN_SET;
        if (t == SC_C64) stage->word = SC_U64;
    } else if (hlo_scatter_is_operation(s, k) && is_atomic(x, op, t, &stage->atomic, &stage->word)) {
        const bool loses = stage->atomic == OP_ATOMIC_ADD && stage->word == SC_F32;
        stage->combine = loses && !x->p->flush ? PLAN_SUM : PLAN_ATOMIC;
    } else if (hlo_scatter_is_operation(s, k) && in_float_order(x, op, t)) {
        stage->combine = PLAN_FLOAT_ORDER;
        stage->atomic = sc_atomic(hlo_scalar(op));
    } else if ((stage->word = word_of(x, shape)) != SC_NONE) {
        stage->combine = PLAN_CAS;
    }
}

/* Does result k depend on element k and update k alone? */
static bool is_apart(WbbArena *a, const HloInstruction *s, uint32_t k)
{
    const HloComputation *c = s->called[0];
    const uint32_t n = s->n_operands / 2;
    bool *needed = WBB_NEW_N(a, bool, c->n_instructions + 1);
    needed[hlo_scatter_root(s, k)->id] = true;
    hlo_mark_operands(c, needed);
    for (uint32_t p = 0; p < c->n_parameters; p++)
        if (needed[c->parameters[p]->id] && p % n != k) return false;
    return true;
}

/* Has each result an instruction that combines it? Nothing waits for the old element then, as a load, an operation and
 * a store do: 0.3 us of a launch on an H100. */
static bool by_instructions(const Scattering *x, const HloInstruction *s)
{
    for (uint32_t k = 0; k < s->n_operands / 2; k++) {
        PlanStage how = {.combine = PLAN_LOCK};
        if (!is_apart(x->a, s, k)) return false;
        combine_one(x, s, k, &how);
        if (how.combine != PLAN_SET && how.combine != PLAN_ATOMIC && how.combine != PLAN_SUM) return false;
    }
    return true;
}

/* Elements that share a byte may be updated by several threads, even where each update has an element of its own. Where
 * the text does not state that indices are unique, but they are, it is what takes less time. */
static bool stores_plainly(Scattering *x, const HloInstruction *s)
{
    for (uint32_t k = 0; k < s->n_operands / 2; k++)
        if (ir_is_packed(plan_shape(s, k)->type)) return false;
    const bool unique = gr_is_unique(x->cx, x->a, x->p->fusion->body, s, &x->graph);
    return unique && (hlo_scatter_dims(x->a, s).unique || !by_instructions(x, s));
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */
static uint32_t add_temporary(Scattering *x, const char *stem, const HloShape *shape, bool zeroed)
{
    Plan *p = x->p;
    const uint32_t n = p->n_operands + p->n_outputs + p->n_temps++;
    const char *name = wbb_format(x->a, "%s%u.", stem, p->n_temps);
    p->buffers = wbb_grow(x->a, p->buffers, n * sizeof *p->buffers, (n + 1) * sizeof *p->buffers);
    p->buffers[n] = (PlanBuffer){.name = name, .shape = shape, .elements = hlo_elements(shape), .temporary = true,
                                 .zeroed = zeroed, .alias = -1};
    return n;
}

/* The output that is leaf k of a scatter, as long as no other leaf has it; else a temporary. */
static uint32_t buffer_of(Scattering *x, const HloInstruction *s, uint32_t k)
{
    const Plan *p = x->p;
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const PlanValue v = plan_scatter_below(p->roots[o]);
        if (v.i == s && v.part == k) return p->n_operands + o;
    }
    return add_temporary(x, "scattered", plan_shape(s, k), false);
}

static PlanKernel *new_kernel(Scattering *x)
{
    PlanKernel k = {.made = x->made.items, .n_made = x->made.n};
    WBB_PUSH(x->a, &x->kernels, k);
    return &x->kernels.items[x->kernels.n - 1];
}

static PlanStage *new_stage(Scattering *x, PlanKernel *k, PlanKind kind, const HloShape *space, uint32_t outputs)
{
    k->n_ranges = 1;
    k->ranges = WBB_NEW(x->a, PlanRange);
    PlanStage *s = WBB_NEW(x->a, PlanStage);
    *s = (PlanStage){.kind = kind, .n_outputs = outputs, .outputs = WBB_NEW_N(x->a, uint32_t, outputs + 1u)};
    k->ranges[0] = (PlanRange){.space = space, .elements = hlo_elements(space), .n_stages = 1, .stages = s};
    return s;
}

static void finish(Scattering *x, PlanKernel *k, const char *layout)
{
    PlanStage *s = k->ranges[0].stages;
    if (s->cells) s->maps = lay_maps(x->cx, x->p->rw, x->a, &s->layout);
    else plan_choose(x->cx, x->a, x->p, k, x->t, layout);
    if (!k->ranges[0].elements) k->n_ranges = 0;
}

/* Stores the operands of a scatter where it will work, but those that are there. */
static void store_operands(Scattering *x, const HloInstruction *s, const uint32_t *buffers)
{
    const uint32_t n = s->n_operands / 2;
    PlanValue *values = WBB_NEW_N(x->a, PlanValue, n + 1);
    const HloShape **shapes = WBB_NEW_N(x->a, const HloShape *, n + 1);
    uint32_t *outputs = WBB_NEW_N(x->a, uint32_t, n + 1), count = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (x->p->buffers[buffers[k]].alias >= 0) continue;
        values[count] = plan_value(s->operands[k], 0), shapes[count] = plan_shape(s, k);
        outputs[count++] = buffers[k] - x->p->n_operands;
    }
    if (!count || !hlo_elements(shapes[0])) return;
    PlanKernel *k = new_kernel(x);
    PlanStage *stage = new_stage(x, k, PLAN_ELEMENTS, shapes[0], count);
    stage->outputs = outputs, stage->values = values, stage->shapes = shapes;
    finish(x, k, NULL);
}

/* The type of each buffer's elements in the kernel of a stage; kernels that follow may add further temporaries. */
static void set_views(const Scattering *x, PlanKernel *kernel, const HloInstruction *s, const uint32_t *buffers,
                      uint32_t first, const PlanStage *stage)
{
    const Plan *p = x->p;
    kernel->n_views = p->n_operands + p->n_outputs + p->n_temps;
    ScType *views = WBB_NEW_N(x->a, ScType, kernel->n_views + 1);
    for (uint32_t k = 0; k < stage->n_outputs; k++) {
        const ScType of = plan_shape(s, first + k)->type;
        const ScType t = stage->word != SC_NONE ? stage->word : ir_is_packed(of) ? SC_U8 : of;
        const int32_t alias = p->buffers[buffers[first + k]].alias;
        views[buffers[first + k]] = t;
        if (alias >= 0) views[alias] = t;
    }
    kernel->views = views;
}

/* Do so many updates come to an element that most of them change nothing? Then each reads it first, which threads may
 * do at the same time; an element that an update would not change now, it would not change later. */
static bool reads_first(const Scattering *x, const HloInstruction *s, const PlanStage *stage)
{
    const bool ordered = stage->atomic == OP_ATOMIC_MIN || stage->atomic == OP_ATOMIC_MAX;
    const int64_t updates = hlo_elements(s->operands[s->n_operands / 2 + 1]->shape);
    return ordered && updates >= tg_tuned(x->t, "scatter.many") * hlo_elements(plan_shape(s, stage->first));
}

/* Updates are combined with others of their thread, or of their block, before they go to memory, by price. */
static void take_runs(Scattering *x, PlanKernel *k, PlanStage *s, const char *layout)
{
    PlanRange *r = &k->ranges[0];
    if (!plan_may_combine(s)) return;
    LayPrice *price = WBB_NEW(x->a, LayPrice);
    s->neighbours = gr_neighbours(x->cx, x->a, x->p->fusion->body, s->update, &x->graph);
    s->run = plan_update_run(x->a, x->p, x->t, s, &s->why_run, price);
    if (price->us > 0) r->price = price;
    if (r->price && !layout && plan_cells_may_be(x->p, s)) plan_choose_cells(x->a, x->p, x->t, k, price->us);
    if (s->cells) s->run = 0;
    if (s->run < 2) return;
    HloShape *space = WBB_NEW(x->a, HloShape);
    *space = *r->space;
    int64_t *dims = WBB_NEW_N(x->a, int64_t, space->rank);
    for (uint32_t d = 0; d < space->rank; d++) dims[d] = space->dims[d];
    dims[0] = (dims[0] + s->run - 1) / s->run;
    space->dims = dims;
    r->space = space, r->elements = hlo_elements(space);
}

/* The updates of results first .. first + n - 1. */
static void add_updates(Scattering *x, const HloInstruction *s, const uint32_t *buffers, uint32_t first, uint32_t n,
                        PlanStage how, const char *layout)
{
    const uint32_t results = s->n_operands / 2;
    PlanKernel *k = new_kernel(x);
    PlanStage *stage = new_stage(x, k, PLAN_SCATTER, s->operands[results + 1 + first]->shape, n);
    stage->update = s, stage->first = first;
    stage->combine = how.combine, stage->atomic = how.atomic, stage->word = how.word;
    stage->reads_first = reads_first(x, s, stage);
    stage->at_once = (uint32_t)tg_tuned(x->t, "scatter.at_once");
    take_runs(x, k, stage, layout);
    for (uint32_t j = 0; j < n; j++) stage->outputs[j] = buffers[first + j] - x->p->n_operands;
    if (how.combine == PLAN_LOCK) {
        static const uint8_t order[1] = {0};
        int64_t *locks = WBB_NEW(x->a, int64_t); /* twice as many: emit/scatter.c says why */
        *locks = 2 * hlo_elements(plan_shape(s, first));
        HloShape *lock = WBB_NEW(x->a, HloShape);
        *lock = (HloShape){.type = SC_U32, .rank = 1, .dims = locks, .minor_to_major = order, .n_leaves = 1};
        stage->lock = add_temporary(x, "lock", lock, true);
    }
    set_views(x, k, s, buffers, first, stage);
    finish(x, k, layout);
    const bool single = stage->cells || lay_size(&stage->layout.dims[0], LAY_VECTOR) == 1;
    stage->in_pair = single && plan_update_in_pair(x->p, x->t, stage);
}

static void add_scatter(Scattering *x, const HloInstruction *s, const char *layout)
{
    const uint32_t n = s->n_operands / 2;
    uint32_t *buffers = WBB_NEW_N(x->a, uint32_t, n + 1);
    const HloComputation *body = x->p->fusion->body;
    const bool plain = stores_plainly(x, s);
    const bool runs = x->p->deterministic && gr_needs_order(x->cx, x->a, body, s, &x->graph);
    for (uint32_t k = 0; k < n; k++) {
        buffers[k] = buffer_of(x, s, k);
        x->p->scattered[buffers[k]] = true;
        x->p->buffers[buffers[k]].many = x->p->buffers[buffers[k]].alias < 0 || !(plain || runs);
    }
    store_operands(x, s, buffers);
    bool apart = true;
    for (uint32_t k = 0; k < n; k++)
        apart = apart && is_apart(x->a, s, k) && (n == 1 || hlo_scatter_takes(s, k) != k);
    if (hlo_elements(s->operands[n + 1]->shape) == 0) {
        /* nothing to add */
    } else if (plain || runs) {
        add_updates(x, s, buffers, 0, n, (PlanStage){.combine = runs ? PLAN_RUN : PLAN_PLAIN}, layout);
    } else if (apart) {
        for (uint32_t k = 0; k < n; k++) {
            PlanStage how = {.combine = PLAN_LOCK};
            combine_one(x, s, k, &how);
            add_updates(x, s, buffers, k, 1, how, layout);
        }
    } else {
        add_updates(x, s, buffers, 0, n, (PlanStage){.combine = PLAN_LOCK}, layout);
    }
    for (uint32_t k = 0; k < n; k++) {
        const PlanMade made = {{s, k}, buffers[k]};
        WBB_PUSH(x->a, &x->made, made);
    }
}

/* Outputs that no scatter leaves behind. */
static bool find_rest(Scattering *x, bool *rest)
{
    Plan *p = x->p;
    bool any = false;
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        rest[o] = !p->scattered[p->n_operands + o];
        any = any || rest[o];
    }
    return any;
}

void plan_scatter(WbbCx *cx, WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *const *updates,
                  const char *layout)
{
    enum { MOST = 1000 }; /* temporaries: two for each result of a scatter */
    const HloComputation *body = p->fusion->body;
    Scattering x = {.cx = cx, .a = a, .p = p, .t = t};
    const bool *live = find_live(a, p);
    uint32_t leaves = 0;
    for (uint32_t n = 0; n < body->n_instructions; n++)
        if (body->instructions[n]->opcode == HLO_SCATTER) leaves += body->instructions[n]->shape->n_leaves;
    if (leaves > MOST) wbb_decline(cx, body->root->loc, WHY_SIZE, "%u results of scatters; at most %d", leaves, MOST);
    p->n_kernels = 0; /* each kernel has instructions of its own */
    p->scattered = WBB_NEW_N(a, bool, p->n_operands + p->n_outputs + 2 * leaves + 1);
    for (uint32_t n = 0; n < body->n_instructions; n++)
        if (live[n] && body->instructions[n]->opcode == HLO_SCATTER) add_scatter(&x, body->instructions[n], layout);
    p->kind = "scatter";
    p->why_kind = "updates go where their indices say, in a launch of their own";
    bool *rest = WBB_NEW_N(a, bool, p->n_outputs + 1);
    if (find_rest(&x, rest)) {
        PlanKernel *k = new_kernel(&x);
        const PlanKernel ranges = plan_ranges(a, p, t, updates, rest);
        k->ranges = ranges.ranges, k->n_ranges = ranges.n_ranges;
        plan_choose(cx, a, p, k, t, NULL);
    }
    if (!x.kernels.n) new_kernel(&x);
    if (layout && x.kernels.n > 1) lay_fail(cx, 1, "%u kernels take no given layout", x.kernels.n);
    p->kernels = x.kernels.items, p->n_kernels = x.kernels.n;
    for (uint32_t k = 0; k < p->n_kernels; k++) p->kernels[k].number = k;
}

void plan_print_scatter(WbbBuf *out, const PlanStage *s)
{
    static const char *const how[] = {
        [PLAN_SET] = "one of them stays", [PLAN_ATOMIC] = "combined by one instruction",
        [PLAN_SUM] = "combined by one instruction; subnormals, which it takes for 0, are added again",
        [PLAN_FLOAT_ORDER] = "combined by instructions on integers", [PLAN_CAS] = "combined by compare and swap",
        [PLAN_PLAIN] = "no two meet", [PLAN_RUN] = "those of an element combined by one thread, in their order",
        [PLAN_LOCK] = "combined under a lock for each element",
    };
    wbb_putf(out, ", updates of %%%s, %s", s->update->name, how[s->combine]);
    if (s->run > 1) wbb_putf(out, "; before that %u neighbours by one thread, %s", s->run, s->why_run);
    const PlanCells *c = s->cells;
    if (!c) return;
    wbb_putf(out, "; before that those of a block in %lld x %lld cells of %s in shared memory, %s: %s",
             (long long)c->rows, (long long)c->columns, sc_type_info[c->type].name,
             c->own ? "of one thread each" : "by atomic operations", c->why);
}

/* ir_reference.c: interprets a kernel of IR, statement by statement and operation by operation.
 *
 * Needs a kernel as it was parsed, before any pass, and its memory; calls JudgeReference.store with the value of each
 * element stored. All threads of a block, or of a cluster, do a statement before any does the next; a kernel without
 * effects, in which threads do not meet, is run thread by thread. Values of nodes are those of ir_nodes.c.
 *
 *     y = do shuffle_xor.u32(x, 1)    thread 0 gets x of thread 1, thread 1 x of thread 0
 */
#include "judge/ir_nodes.h"

#include "eval/bounds.h"
#include "ir/uses.h"

#include <math.h>
#include <string.h>
/* --- preparation -------------------------------------------------------------------------------------------------- */
/* Add to the roots in `nodes` all nodes that they need, operands first. */
static void gather(JudgeInterpreter *x, IrRefs *nodes)
{
    ir_gather(x->g, x->arena, nodes, x->mark);
    for (uint32_t i = 0; i < nodes->n; i++)
        if (ir_at(x->g, nodes->items[i])->op == OP_INSTR)
            wbb_fail(x->cx, (WbbLoc){0}, "@%s: an instr node has no reference semantics", x->r.k->name);
}

static Body plan_block(JudgeInterpreter *x, const IrBlock *b)
{
    Body body = {.steps = WBB_NEW_N(x->arena, Step, b->n + 1), .n = b->n};
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        Step *step = &body.steps[i];
        step->s = s;
        step->body = plan_block(x, &s->body);
        step->otherwise = plan_block(x, &s->otherwise);
        IrRefs *needs[] = {[IR_OUTSIDE] = &step->nodes, [IR_BODY] = &step->body.yields,
                           [IR_OTHERWISE] = &step->otherwise.yields};
        for (IrUses u = ir_uses(x->g, s); ir_next_use(&u);) WBB_PUSH(x->arena, needs[u.where], u.ref);
        gather(x, &step->nodes);
        gather(x, &step->body.yields);
        gather(x, &step->otherwise.yields);
    }
    return body;
}

/* --- statements --------------------------------------------------------------------------------------------------- */
/* The value of a variable. One that is bound to an element must be in its interval: a kernel that breaks this has no
 * meaning. */
static int64_t index_of(JudgeInterpreter *x, const IrStmt *s)
{
    const IrVar *v = &x->g->vars[s->var];
    if (!s->value) return (int64_t)judge_lanes_of(x, v->definition)->bits;
    const JudgeExpected *m = judge_lanes_of(x, s->value);
    const ScType type = IR_SC(ir_at(x->g, s->value)->type);
    const WbbI128 i = m->known == JUDGE_EXACT ? sc_to_i128(type, m->bits) : (WbbI128)v->lo;
    if (i < v->lo || i > v->hi)
        wbb_fail(x->cx, (WbbLoc){0}, "@%s: '%s' is %lld, outside of its interval %lld..%lld", x->r.k->name, v->name,
                 (long long)i, (long long)v->lo, (long long)v->hi + 1);
    return (int64_t)i;
}

static void set_result(JudgeInterpreter *x, uint32_t value, const JudgeExpected *lanes)
{
    const uint32_t count = IR_LANES(x->g->values[value].type);
    for (uint32_t i = 0; i < count; i++)
        x->results[x->first_lane[value] + i] = lanes ? lanes[i] : judge_any_value;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */
static void add_thread(Threads *set, uint32_t t) { set->bits[t / 64] |= (uint64_t)1 << t % 64; }
static bool has_thread(const Threads *set, uint32_t t) { return set->bits[t / 64] >> t % 64 & 1; }

/* The first thread of the set from t on, which becomes the thread at hand; n_threads: there is none. */
static uint32_t next_thread(JudgeInterpreter *x, const Threads *set, uint32_t t)
{
    while (t < x->n_threads && !has_thread(set, t)) t++;
    if (t == x->n_threads) return t;
    x->values = x->threads[t].values;
    x->results = x->threads[t].results;
    x->vars = x->threads[t].vars;
    return t;
}
#define EACH_THREAD(x, set, t) uint32_t t = next_thread(x, set, 0); t < (x)->n_threads; t = next_thread(x, set, t + 1)

static void run_together(JudgeInterpreter *x, const Body *b, const Threads *set);

/* If the condition is not known exactly, the results are any values. */
static void run_if(JudgeInterpreter *x, const Step *step, const Threads *set)
{
    const IrStmt *s = step->s;
    Threads sets[2] = {0};
    for (EACH_THREAD(x, set, t)) {
        const JudgeExpected condition = *judge_lanes_of(x, s->condition);
        if (condition.known == JUDGE_EXACT) add_thread(&sets[condition.bits != 0], t);
        for (uint32_t i = 0; i < s->n_results; i++) set_result(x, s->results[i].value, NULL);
    }
    for (int side = 0; side < 2; side++) {
        run_together(x, side ? &step->body : &step->otherwise, &sets[side]);
        for (EACH_THREAD(x, &sets[side], t))
            for (uint32_t i = 0; i < s->n_results; i++) {
                const IrRef yield = side ? s->results[i].yield : s->results[i].otherwise;
                set_result(x, s->results[i].value, judge_lanes_of(x, yield));
            }
    }
}

static void carry_in(JudgeInterpreter *x, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++)
        set_result(x, s->results[i].carried, &x->results[x->first_lane[s->results[i].value]]);
}

/* The results of an iteration. All yields are copied to them before any carried value changes: a yield may be another
 * carried value. */
static void carry_out(JudgeInterpreter *x, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++)
        set_result(x, s->results[i].value, judge_lanes_of(x, s->results[i].yield));
}

static void start_loop(JudgeInterpreter *x, const IrStmt *s, const Threads *set)
{
    for (EACH_THREAD(x, set, t))
        for (uint32_t i = 0; i < s->n_results; i++)
            set_result(x, s->results[i].value, judge_lanes_of(x, s->results[i].init));
}

static void run_for(JudgeInterpreter *x, const Step *step, const Threads *set)
{
    const IrStmt *s = step->s;
    start_loop(x, s, set);
    for (int64_t v = x->g->vars[s->var].lo; v <= x->g->vars[s->var].hi; v++) {
        for (EACH_THREAD(x, set, t)) {
            carry_in(x, s);
            x->vars[s->var] = v;
        }
        run_together(x, &step->body, set);
        for (EACH_THREAD(x, set, t)) carry_out(x, s);
    }
}

/* A condition that is not known ends the loop. */
static void run_repeat(JudgeInterpreter *x, const Step *step, const Threads *set)
{
    const IrStmt *s = step->s;
    Threads again = *set;
    start_loop(x, s, set);
    for (bool any = true; any;) {
        for (EACH_THREAD(x, &again, t)) carry_in(x, s);
        run_together(x, &step->body, &again);
        Threads next = {0};
        any = false;
        for (EACH_THREAD(x, &again, t)) {
            const JudgeExpected c = *judge_lanes_of(x, s->condition);
            carry_out(x, s);
            if (c.known != JUDGE_EXACT || !c.bits) continue;
            add_thread(&next, t);
            any = true;
        }
        again = next;
    }
}

/* The elements of a buffer that thread t sees; NULL: no `do` accesses them. */
static JudgeExpected *memory_of(const JudgeInterpreter *x, uint32_t buffer, uint32_t t)
{
    const IrBuffer *b = &x->r.k->buffers[buffer];
    JudgeExpected *memory = x->memory[buffer];
    return memory && b->space == IR_SHARED ? memory + t / x->r.k->block * b->elements : memory;
}

static void store(JudgeInterpreter *x, const Step *step, uint32_t t)
{
    const IrStmt *s = step->s;
    const uint32_t lanes = IR_LANES(ir_at(x->g, s->value)->type);
    const int64_t first = (int64_t)judge_lanes_of(x, s->index)->bits;
    JudgeExpected *memory = memory_of(x, s->buffer, t);
    x->current_store = step;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        const JudgeExpected *m = &judge_lanes_of(x, s->value)[lane];
        const bool inside = first + lane >= 0 && first + lane < x->r.k->buffers[s->buffer].elements;
        if (memory && inside) memory[first + lane] = *m;
        else if (ir_is_output(&x->r.k->buffers[s->buffer])) x->r.store(x->r.arg, s->buffer, first + lane, lane, m);
    }
}

/* --- effects ------------------------------------------------------------------------------------------------------ */
/* The combination of two values by `op`; any value where one of them is. */
static JudgeExpected combine(const JudgeInterpreter *x, ScOp op, ScType type, const JudgeExpected *a,
                             const JudgeExpected *b)
{
    const IrNode n = {.op = (uint32_t)op & 0x3ff, .type = IR_TYPE(type, 0) & 0x3ff};
    const JudgeExpected m[2] = {*a, *b};
    return judge_operate(x, &n, type, type, m, 2);
}

/* A float atomic in global memory may take subnormal operands and results as zero. */
static bool may_flush(const IrNode *n, const JudgeExpected *m)
{
    if (n->op != OP_ATOMIC_ADD || IR_SC(n->type) != SC_F32 || m->known != JUDGE_EXACT) return false;
    const double x = fabs(sc_to_f64(SC_F32, m->bits));
    return x > 0 && x < 0x1p-126;
}

/* Thread t's access to memory. */
static JudgeExpected access(JudgeInterpreter *x, const IrStmt *s, uint32_t t, uint32_t lane)
{
    const IrNode *n = ir_at(x->g, s->value);
    const ScType type = IR_SC(n->type);
    const int64_t at = (int64_t)judge_lanes_of(x, s->index)->bits + lane;
    if (at < 0 || at >= x->r.k->buffers[s->buffer].elements) return judge_any_value;
    const uint32_t by = n->op == OP_READ_PEER ? (uint32_t)n->imm * x->r.k->block : t; /* the same block */
    JudgeExpected *cell = &memory_of(x, s->buffer, by)[at];
    const JudgeExpected old = *cell, *a = n->a[0] ? judge_lanes_of(x, n->a[0]) + lane : NULL;
    const bool known = old.known == JUDGE_EXACT && a && a->known == JUDGE_EXACT;
    switch ((ScOp)n->op) {
    case OP_READ:
    case OP_READ_RELAXED:
    case OP_READ_PEER: break;
    case OP_ATOMIC_EXCH:
    case OP_WRITE_RELAXED:
    case OP_LOCK:
    case OP_UNLOCK: *cell = *a; break;
    case OP_ATOMIC_CAS:
        if (!known) *cell = judge_any_value;
        else if (old.bits == a->bits) *cell = judge_lanes_of(x, n->a[1])[lane];
        break;
    case OP_TICKET:
        *cell = known ? judge_exactly(old.bits >= a->bits ? 0 : old.bits + 1, false) : judge_any_value;
        break;
    default:
        *cell = combine(x, sc_combiner((ScOp)n->op), type, &old, a);
        if (may_flush(n, &old) || may_flush(n, a) || may_flush(n, cell)) cell->known = JUDGE_ANY;
    }
    return old;
}

/* Thread t's compare and swap of several lanes at once; out: what they were. */
static void swap_lanes(JudgeInterpreter *x, const IrStmt *s, uint32_t t, JudgeExpected *out)
{
    const IrNode *n = ir_at(x->g, s->value);
    const uint32_t lanes = IR_LANES(n->type);
    const int64_t at = (int64_t)judge_lanes_of(x, s->index)->bits;
    const bool inside = at >= 0 && at + lanes <= x->r.k->buffers[s->buffer].elements;
    bool known = true, same = true;
    for (uint32_t i = 0; i < lanes; i++) {
        const JudgeExpected *a = judge_lanes_of(x, n->a[0]) + i;
        out[i] = inside ? memory_of(x, s->buffer, t)[at + i] : judge_any_value;
        known = known && out[i].known == JUDGE_EXACT && a->known == JUDGE_EXACT;
        same = same && out[i].bits == a->bits;
    }
    for (uint32_t i = 0; inside && (same || !known) && i < lanes; i++)
        memory_of(x, s->buffer, t)[at + i] = known ? judge_lanes_of(x, n->a[1])[i] : judge_any_value;
}

/* The result of thread t of an operation that its warp does together; of threads that are not there any value. */
static JudgeExpected in_warp(JudgeInterpreter *x, const IrStmt *s, const Threads *set, uint32_t t)
{
    const IrNode n = *ir_at(x->g, s->value);
    const uint32_t block = t / x->r.k->block * x->r.k->block, first = block + (t - block) / WARP * WARP;
    const uint32_t end = WBB_MIN(block + x->r.k->block, x->n_threads);
    JudgeExpected all = judge_any_value;
    if (n.a[1]) { /* a shuffle */
        const JudgeExpected b = x->threads[t].values[x->slot[n.a[1]]];
        if (b.known != JUDGE_EXACT) return all;
        const uint32_t from = first + sc_shuffle_source((ScOp)n.op, t - first, (uint32_t)b.bits);
        return from < end && has_thread(set, from) ? x->threads[from].values[x->slot[n.a[0]]] : all;
    }
    uint64_t ballot = 0;
    for (uint32_t i = first; i < first + WARP; i++) {
        if (i >= end || !has_thread(set, i)) return judge_any_value;
        const JudgeExpected *a = &x->threads[i].values[x->slot[n.a[0]]];
        if (n.op == OP_BALLOT && a->known != JUDGE_EXACT) return judge_any_value;
        ballot |= (uint64_t)(a->bits & 1) << (i - first);
        if (n.op != OP_BALLOT) all = i == first ? *a : combine(x, sc_combiner((ScOp)n.op), IR_SC(n.type), &all, a);
    }
    return n.op == OP_BALLOT ? judge_exactly(ballot, false) : all;
}

/* Element `lane` that lane `holder` of the warp has of an operand of an mma; any, where that thread is not there. */
static const JudgeExpected *held_by(const JudgeInterpreter *x, const Threads *set, IrRef operand, uint32_t first,
                                    uint32_t holder, uint32_t lane)
{
    const uint32_t t = first + holder;
    return t < x->n_threads && has_thread(set, t) ? &x->threads[t].values[x->slot[operand] + lane] : &judge_any_value;
}

/* Element `lane` of thread t's part of a product of matrices, as gen/ops.py says who has which: within the rounding of
 * tensor cores. */
static JudgeExpected in_product(JudgeInterpreter *x, const IrStmt *s, const Threads *set, uint32_t t, uint32_t lane)
{
    const IrNode n = *ir_at(x->g, s->value);
    const uint32_t of_warp = t % x->r.k->block % WARP, first = t - of_warp;
    const uint32_t row = of_warp / 4 + lane / 2 * 8, column = 2 * (of_warp % 4) + lane % 2;
    const ScType type = IR_SC(ir_at(x->g, n.a[0])->type);
    const JudgeExpected *c = &x->threads[t].values[x->slot[n.a[2]] + lane];
    if (c->known != JUDGE_EXACT) return judge_any_value;
    double sum = sc_to_f64(SC_F32, c->bits), size = isfinite(sum) ? fabs(sum) : 0;
    for (uint32_t k = 0; k < 16; k++) {
        const uint32_t pair = k % 8 / 2, half = k / 8;
        const JudgeExpected *a = held_by(x, set, n.a[0], first, row % 8 * 4 + pair, 4 * half + row / 8 * 2 + k % 2),
                           *b = held_by(x, set, n.a[1], first, column * 4 + pair, 2 * half + k % 2);
        if (a->known != JUDGE_EXACT || b->known != JUDGE_EXACT) return judge_any_value;
        const double product = sc_to_f64(type, a->bits) * sc_to_f64(type, b->bits);
        sum += product, size += isfinite(product) ? fabs(product) : 0;
    }
    if (size > 0x1p127) return judge_any_value; /* a part of the sum may overflow */
    JudgeExpected r = {.known = JUDGE_BOUND};
    const double error = size * 17 * EV_MMA_ROUNDINGS * 0x1p-24;
    r.bound = isnan(sum) ? (EvBound){.flags = EV_MUST_NAN}
                         : ev_bound_narrow(SC_F32, (EvBound){{.f = sum - error}, {.f = sum + error}, 0});
    return r;
}

/* Element `lane` of thread t's part of the matrices that its warp reads, whose rows lie where gen/ops.py says. */
static JudgeExpected in_matrices(JudgeInterpreter *x, const IrStmt *s, const Threads *set, uint32_t t, uint32_t lane)
{
    const uint32_t of_warp = t % x->r.k->block % WARP, first = t - of_warp, matrix = lane / 2;
    const bool turned = ir_at(x->g, s->value)->op == OP_READ_MATRIX_TURNED;
    const uint32_t major = of_warp / 4, minor = 2 * (of_warp % 4) + lane % 2;
    const uint32_t holder = first + 8 * matrix + (turned ? minor : major);
    if (holder >= x->n_threads || !has_thread(set, holder)) return judge_any_value;
    const int64_t at = (int64_t)x->threads[holder].values[x->slot[s->index]].bits + (turned ? major : minor);
    return at >= 0 && at < x->r.k->buffers[s->buffer].elements ? memory_of(x, s->buffer, t)[at] : judge_any_value;
}

static void copy(JudgeInterpreter *x, const IrStmt *s, uint32_t t, uint32_t lanes)
{
    const int64_t to = (int64_t)judge_lanes_of(x, s->index)->bits;
    const int64_t from = (int64_t)judge_lanes_of(x, s->from_index)->bits;
    for (uint32_t i = 0; i < lanes; i++) {
        const bool inside = to >= 0 && to + i < x->r.k->buffers[s->buffer].elements && from >= 0 &&
                            from + i < x->r.k->buffers[s->from].elements;
        if (inside) memory_of(x, s->buffer, t)[to + i] = x->memory[s->from][from + i];
    }
}

static void run_do(JudgeInterpreter *x, const IrStmt *s, const Threads *set)
{
    const IrNode *n = ir_at(x->g, s->value);
    JudgeExpected out[8]; /* the lanes of one access */
    if (n->op == OP_BARRIER || n->op == OP_CLUSTER_BARRIER || n->op == OP_COPY_COMMIT || n->op == OP_COPY_WAIT) return;
    if (n->op == OP_COPY_ASYNC) { /* reading it before the wait is a fault, which the simulator finds */
        for (EACH_THREAD(x, set, t)) copy(x, s, t, IR_LANES(n->type));
        return;
    }
    const bool matrices = n->op == OP_READ_MATRIX || n->op == OP_READ_MATRIX_TURNED;
    const uint32_t lanes = s->index || n->op == OP_MMA ? IR_LANES(n->type) : 1;
    for (EACH_THREAD(x, set, t)) {
        for (uint32_t first = 0; first < lanes; first += (uint32_t)WBB_LEN(out)) {
            const uint32_t count = WBB_MIN(lanes - first, (uint32_t)WBB_LEN(out));
            if (n->op == OP_ATOMIC_CAS && lanes > 1) swap_lanes(x, s, t, out);
            for (uint32_t i = 0; (n->op != OP_ATOMIC_CAS || lanes == 1) && i < count; i++)
                out[i] = matrices          ? in_matrices(x, s, set, t, first + i)
                         : s->index        ? access(x, s, t, first + i)
                         : n->op == OP_MMA ? in_product(x, s, set, t, first + i)
                                           : in_warp(x, s, set, t);
            if (s->n_results)
                memcpy(&x->results[x->first_lane[s->results[0].value] + first], out, count * sizeof *out);
        }
    }
}

static void run_step(JudgeInterpreter *x, const Step *step, const Threads *set)
{
    const IrStmt *s = step->s;
    for (EACH_THREAD(x, set, t)) {
        for (uint32_t k = 0; k < step->nodes.n; k++) judge_node(x, step->nodes.items[k]);
        if (s->kind == IR_BIND) x->vars[s->var] = index_of(x, s);
        if (s->kind == IR_STORE) store(x, step, t);
    }
    switch (s->kind) {
    case IR_BIND:
    case IR_STORE: break;
    case IR_IF: run_if(x, step, set); break;
    case IR_FOR: run_for(x, step, set); break;
    case IR_REPEAT: run_repeat(x, step, set); break;
    case IR_DO: run_do(x, s, set); break;
    }
}

static void run_together(JudgeInterpreter *x, const Body *b, const Threads *set)
{
    for (uint32_t i = 0; i < b->n; i++) run_step(x, &b->steps[i], set);
    for (EACH_THREAD(x, set, t))
        for (uint32_t i = 0; i < b->yields.n; i++) judge_node(x, b->yields.items[i]);
}

/* The body of a function, for the thread at hand. */
static void run_function(JudgeInterpreter *x, const Body *b)
{
    Threads one = {0};
    for (uint32_t t = 0; t < x->n_threads; t++)
        if (x->threads[t].values == x->values) add_thread(&one, t);
    run_together(x, b, &one);
}

/* --- before a launch ---------------------------------------------------------------------------------------------- */
/* Makes x->memory of the buffers that `do` statements of a block access; is there any `do`? */
static bool find_effects(JudgeInterpreter *x, const IrBlock *b)
{
    bool any = false;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_DO) any = true;
        const int64_t blocks = WBB_MAX(x->r.k->cluster, 1u); /* shared memory of each */
        if (s->kind == IR_DO && s->index && !x->memory[s->buffer])
            x->memory[s->buffer] = WBB_NEW_N(x->arena, JudgeExpected, blocks * x->r.k->buffers[s->buffer].elements + 1);
        if (s->kind == IR_DO && s->from_index && !x->memory[s->from])
            x->memory[s->from] = WBB_NEW_N(x->arena, JudgeExpected, x->r.k->buffers[s->from].elements + 1);
        if (find_effects(x, &s->body)) any = true;
        if (find_effects(x, &s->otherwise)) any = true;
    }
    return any;
}

/* What is in the buffers of these spaces that `do` accesses, before the launch or before a block. */
static void start_memory(JudgeInterpreter *x, bool shared)
{
    for (uint32_t i = 0; i < x->r.k->n_buffers; i++) {
        const IrBuffer *b = &x->r.k->buffers[i];
        if (!x->memory[i] || (b->space == IR_SHARED) != shared) continue;
        const uint32_t bytes = sc_bytes(b->type);
        const int64_t blocks = shared ? WBB_MAX(x->r.k->cluster, 1u) : 1;
        for (int64_t e = 0; e < blocks * b->elements; e++) {
            uint64_t bits = 0;
            memcpy(&bits, (const char *)x->r.memory[i] + (size_t)(e % b->elements) * bytes, bytes);
            const bool known = b->zeroed || b->space == IR_IN || b->space == IR_INOUT || b->space == IR_TABLE;
            x->memory[i][e] = known ? judge_exactly(bits & sc_mask(b->type), true) : judge_any_value;
        }
    }
}

JudgeInterpreter *judge_interpreter(WbbCx *cx, WbbArena *a, const JudgeReference *r)
{
    JudgeInterpreter *x = WBB_NEW(a, JudgeInterpreter);
    *x = (JudgeInterpreter){.cx = cx, .arena = a, .r = *r, .g = r->k->g, .run_function = run_function};
    x->slot = WBB_NEW_N(a, uint32_t, x->g->n + 1);
    uint32_t capacity = 1;
    for (IrRef i = 1; i < x->g->n; i++) {
        x->slot[i] = capacity;
        capacity += IR_LANES(ir_at(x->g, i)->type);
    }
    const uint32_t n_values = capacity;
    x->first_lane = WBB_NEW_N(a, uint32_t, x->g->n_values + 1);
    capacity = 1;
    for (uint32_t i = 0; i < x->g->n_values; i++) {
        x->first_lane[i] = capacity;
        capacity += IR_LANES(x->g->values[i].type);
    }
    x->memory = WBB_NEW_N(a, JudgeExpected *, r->k->n_buffers + 1);
    x->n_threads = find_effects(x, &r->k->body) ? r->k->block * WBB_MAX(r->k->cluster, 1u) : 1;
    x->threads = WBB_NEW_N(a, Thread, x->n_threads);
    for (uint32_t i = 0; i < x->n_threads; i++) {
        x->threads[i].values = WBB_NEW_N(a, JudgeExpected, n_values);
        x->threads[i].results = WBB_NEW_N(a, JudgeExpected, capacity);
        x->threads[i].vars = WBB_NEW_N(a, int64_t, x->g->n_vars + 1);
    }
    x->mark = WBB_NEW_N(a, uint8_t, x->g->n);
    x->functions = WBB_NEW_N(a, Body, r->k->n_functions + 1);
    for (uint32_t i = 0; i < r->k->n_functions; i++) {
        const IrFunction *f = r->k->functions[i];
        x->functions[i] = plan_block(x, &f->body);
        for (uint32_t y = 0; y < f->n_yields; y++) WBB_PUSH(a, &x->functions[i].yields, f->yields[y]);
        gather(x, &x->functions[i].yields);
    }
    x->body = plan_block(x, &r->k->body);
    return x;
}

void judge_interpret_launch(JudgeInterpreter *x) { start_memory(x, false); }

void judge_interpret_block(JudgeInterpreter *x, uint64_t block)
{
    const uint32_t each = x->r.k->block, cluster = WBB_MAX(x->r.k->cluster, 1u);
    if (block % cluster) return; /* its cluster was interpreted with the first block */
    start_memory(x, true);
    for (uint32_t first = 0; first < each * cluster; first += x->n_threads) {
        Threads all = {0};
        for (uint32_t t = 0; t < x->n_threads; t++) {
            add_thread(&all, t);
            for (uint32_t v = 0; v < x->g->n_vars; v++) {
                if (x->g->vars[v].kind == IR_BID) x->threads[t].vars[v] = (int64_t)block + (first + t) / each;
                if (x->g->vars[v].kind == IR_TID) x->threads[t].vars[v] = (first + t) % each;
            }
        }
        run_together(x, &x->body, &all);
    }
}

void judge_interpret_end(JudgeInterpreter *x)
{
    x->current_store = NULL;
    for (uint32_t i = 0; i < x->r.k->n_buffers; i++) {
        const IrBuffer *b = &x->r.k->buffers[i];
        if (!x->memory[i] || (!ir_is_output(b) && !b->zeroed)) continue;
        for (int64_t e = 0; e < b->elements; e++) x->r.store(x->r.arg, i, e, 0, &x->memory[i][e]);
    }
}

uint32_t judge_loads_of_store(const JudgeInterpreter *x, uint32_t lane, uint32_t capacity, uint32_t *buffer,
                              int64_t *element)
{
    uint32_t n = 0;
    for (uint32_t i = 0; x->current_store && i < x->current_store->nodes.n && n < capacity; i++) {
        const IrNode *node = ir_at(x->g, x->current_store->nodes.items[i]);
        if (node->op != OP_LOAD) continue;
        buffer[n] = (uint32_t)ir_at(x->g, node->a[0])->imm;
        element[n] = (int64_t)judge_lanes_of(x, node->a[1])->bits + WBB_MIN(lane, IR_LANES(node->type) - 1);
        n++;
    }
    return n;
}

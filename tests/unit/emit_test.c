/* emit: kernels of small fusions, run thread by thread by a small interpreter of IR statements. Every element of every
 * output is stored exactly once, with the evaluator's value. */
#include "emit/emit.h"
#include "eval/eval.h"
#include "hlo/hlo.h"
#include "index/index.h"
#include "target/target.h"

#include "unit.h"

#include <stdio.h>

/* A kernel while it runs. Buffers are in physical order; an element takes 64 bits. */
typedef struct {
    const IrKernel *k;
    uint64_t **buffers;
    uint32_t **stores;    /* of outputs: how often each element was stored */
    int64_t *variables;   /* by number */
    uint64_t *values;     /* by number */
    uint64_t *value;      /* by ref, in this thread and lane */
    uint8_t *wanted;      /* by ref: a statement needs it */
    const char *wrong;    /* the first error */
} Machine;

static uint64_t at(Machine *m, IrRef r);

static uint64_t compute(Machine *m, IrRef r)
{
    const IrGraph *g = m->k->g;
    const IrNode *n = ir_at(g, r);
    uint64_t x[3] = {0}, result = 0;
    if (n->op == OP_CONST) return n->imm;
    if (n->op == OP_VAR) return (uint64_t)m->variables[n->imm];
    if (n->op == OP_VALUE) return m->values[n->imm];
    if (n->op == OP_SUM) {
        result = n->imm;
        for (uint32_t i = 0; i < n->a[1]; i++)
            result += (uint64_t)g->terms[n->a[0] + i].coefficient * at(m, g->terms[n->a[0] + i].ref);
        return result;
    }
    if (n->op == OP_LOAD) {
        const uint64_t b = ir_at(g, n->a[0])->imm, index = at(m, n->a[1]);
        if (b < m->k->n_buffers && index < (uint64_t)m->k->buffers[b].elements) return m->buffers[b][index];
        m->wrong = "a load out of bounds";
        return 0;
    }
    for (uint32_t i = 0; i < 3 && n->a[i]; i++) x[i] = at(m, n->a[i]);
    const ScType t = IR_SC(n->type), from = n->a[0] ? IR_SC(ir_at(g, n->a[0])->type) : t;
    if (n->op == OP_IDX) return sc_from_i128(t, (int64_t)x[0]);
    const uint8_t signature = sc_op_info[n->op].signature;
    if (from == SC_INDEX) {
        const int64_t a = (int64_t)x[0], b = (int64_t)x[1];
        if (n->op == OP_LT) return a < b;
        if (n->op == OP_EQ) return a == b;
        if (n->op == OP_GE) return a >= b;
        if (n->op == OP_LE) return a <= b;
        const int64_t q = a / b - (a % b < 0);
        return (uint64_t)(n->op == OP_FLOORDIV ? q : a - q * b);
    }
    const ScType named = signature == SC_COMPARE || signature == SC_TEST ? from : t;
    if (!sc_eval((ScOp)n->op, named, from, x, &result)) m->wrong = "an operation without a meaning";
    return result;
}

static uint64_t at(Machine *m, IrRef r) { return m->value[r]; }

/* Computes all values that the roots need, in order of their refs: operands precede users. */
static void refresh(Machine *m, const IrRef *roots, uint32_t n)
{
    const IrGraph *g = m->k->g;
    memset(m->wanted, 0, g->n);
    for (uint32_t i = 0; i < n; i++) m->wanted[roots[i]] = 1;
    for (IrRef r = g->n - 1; r > 0; r--) {
        const IrNode *node = ir_at(g, r);
        if (!m->wanted[r] || node->op == OP_CONST || node->op == OP_VAR || node->op == OP_VALUE || node->op == OP_ARG)
            continue;
        if (node->op == OP_SUM)
            for (uint32_t i = 0; i < node->a[1]; i++) m->wanted[g->terms[node->a[0] + i].ref] = 1;
        else
            for (uint32_t i = 0; i < 3; i++) m->wanted[node->a[i]] = 1;
    }
    for (IrRef r = 1; r < g->n; r++)
        if (m->wanted[r] && ir_at(g, r)->op != OP_ARG) m->value[r] = compute(m, r);
}

static void run_block(Machine *m, const IrBlock *b);

static void run_if(Machine *m, const IrStmt *s)
{
    refresh(m, &s->condition, 1);
    const bool taken = at(m, s->condition);
    run_block(m, taken ? &s->body : &s->otherwise);
    for (uint32_t k = 0; k < s->n_results; k++) {
        const IrRef end = taken ? s->results[k].yield : s->results[k].otherwise;
        refresh(m, &end, 1);
        m->values[s->results[k].value] = at(m, end);
    }
}

static void run_for(Machine *m, const IrStmt *s)
{
    const IrVar v = m->k->g->vars[s->var];
    uint64_t turn[8];
    for (uint32_t k = 0; k < s->n_results; k++) {
        refresh(m, &s->results[k].init, 1);
        m->values[s->results[k].value] = at(m, s->results[k].init);
    }
    for (m->variables[s->var] = v.lo; m->variables[s->var] <= v.hi; m->variables[s->var]++) {
        for (uint32_t k = 0; k < s->n_results; k++) m->values[s->results[k].carried] = m->values[s->results[k].value];
        run_block(m, &s->body);
        for (uint32_t k = 0; k < s->n_results && k < WBB_LEN(turn); k++) {
            refresh(m, &s->results[k].yield, 1);
            turn[k] = at(m, s->results[k].yield);
        }
        for (uint32_t k = 0; k < s->n_results && k < WBB_LEN(turn); k++) m->values[s->results[k].value] = turn[k];
    }
}

static void run_block(Machine *m, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_BIND) {
            const IrVar *v = &m->k->g->vars[s->var];
            const IrRef from = v->definition ? v->definition : s->value;
            refresh(m, &from, 1);
            const ScType t = IR_SC(ir_at(m->k->g, from)->type);
            m->variables[s->var] = t == SC_INDEX ? (int64_t)at(m, from) : (int64_t)sc_to_i128(t, at(m, from));
            if (m->variables[s->var] < v->lo || m->variables[s->var] > v->hi) m->wrong = "a let leaves its interval";
        } else if (s->kind == IR_IF) {
            run_if(m, s);
        } else if (s->kind == IR_FOR) {
            run_for(m, s);
        } else {
            const IrRef roots[2] = {s->index, s->value};
            refresh(m, roots, 2);
            const uint64_t index = at(m, s->index);
            if (index >= (uint64_t)m->k->buffers[s->buffer].elements) {
                m->wrong = "a store out of bounds";
                continue;
            }
            m->buffers[s->buffer][index] = at(m, s->value);
            m->stores[s->buffer][index]++;
        }
    }
}

static void run_kernel(WbbArena *a, Machine *m)
{
    const IrKernel *k = m->k;
    m->variables = WBB_NEW_N(a, int64_t, k->g->n_vars + 1);
    m->value = WBB_NEW_N(a, uint64_t, k->g->n);
    m->values = WBB_NEW_N(a, uint64_t, k->g->n_values + 1);
    m->wanted = WBB_NEW_N(a, uint8_t, k->g->n);
    for (uint32_t bid = 0; bid < k->grid; bid++)
        for (uint32_t tid = 0; tid < k->block; tid++) {
            for (uint32_t i = 0; i < k->g->n_vars; i++) {
                if (k->g->vars[i].kind == IR_BID) m->variables[i] = bid;
                if (k->g->vars[i].kind == IR_TID) m->variables[i] = tid;
            }
            run_block(m, &k->body);
        }
}

/* The physical index of an element with a given row-major index. */
static int64_t physical(const HloShape *s, int64_t element)
{
    int64_t index[64], result = 0, stride = 1;
    for (uint32_t d = s->rank; d-- > 0; element /= s->dims[d]) index[d] = element % s->dims[d];
    for (uint32_t p = 0; p < s->rank; p++) {
        const uint32_t d = s->minor_to_major[p];
        result += index[d] * stride;
        stride *= s->dims[d];
    }
    return result;
}

static uint64_t element_of(ScType t, const void *data, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * sc_bytes(t), sc_bytes(t));
    return bits;
}

/* Values that differ between elements and include edge values of the type. */
static uint64_t some_value(ScType t, int64_t i)
{
    static const double corners[] = {0.0, -0.0, 1.0, -1.5, 0.25, 3.0, -7.0, 100.0, 1e-3, 2.5};
    if (t == SC_PRED) return (uint64_t)(i * 7 % 3 == 0);
    if (!sc_is_float(t)) return ((uint64_t)i * 2654435761u + 12345u) & sc_mask(t);
    return sc_from_f64(t, i % 3 ? (double)(i * 37 % 101) / 8.0 - 5.0 : corners[i / 3 % 10]);
}

typedef struct {
    const char *name, *text;
    const TgTarget *target;
    WbbArena *arena;
    char *kernel; /* its text */
    uint32_t blocks, vector;
    bool compile_only;
    const char *wrong;
} Job;

static void compile(Job *j, WbbCx *cx, const HloFusion *f, Plan *plan, IrKernel **kernel)
{
    IrGraph *g = ir_graph_new(cx, j->arena);
    RwCx *rw = rw_new(cx, j->arena, g, &ix_tables, j->target->tables, false);
    *plan = plan_fusion(cx, j->arena, f, j->target, (PlanOptions){0});
    *kernel = emit_kernel(cx, j->arena, rw, plan, &plan->kernels[0]);
    ir_verify(*kernel);
    WbbBuf b = wbb_buf(j->arena);
    ir_print(&b, *kernel);
    j->kernel = b.text;
    const IrKernel *again = ir_parse(cx, j->arena, "emitted.ir", b.text, b.n);
    WbbBuf b2 = wbb_buf(j->arena);
    ir_print(&b2, again);
    if (strcmp(b.text, b2.text)) j->wrong = "the text does not print back as itself";
}

static void do_job(WbbCx *cx, void *arg)
{
    Job *j = arg;
    Plan plan;
    IrKernel *k;
    const HloModule *m = hlo_normalise(cx, j->arena, hlo_parse(cx, j->arena, j->name, j->text, strlen(j->text)));
    const HloFusion f = hlo_fusion(cx, m);
    compile(j, cx, &f, &plan, &k);
    j->blocks = k->grid;
    j->vector = 1;
    if (k->grid) {
        const LayFactor *v = lay_factor(&plan.kernels[0].ranges[0].stages[0].layout.dims[0], LAY_VECTOR);
        j->vector = v ? (uint32_t)v->size : 1;
    }
    if (j->compile_only || j->wrong) return;

    Machine machine = {.k = k, .buffers = WBB_NEW_N(j->arena, uint64_t *, k->n_buffers),
                       .stores = WBB_NEW_N(j->arena, uint32_t *, k->n_buffers)};
    const void **inputs = WBB_NEW_N(j->arena, const void *, plan.n_operands + 1);
    for (uint32_t b = 0; b < k->n_buffers; b++) {
        const HloShape *s = plan.buffers[b].shape;
        machine.buffers[b] = WBB_NEW_N(j->arena, uint64_t, plan.buffers[b].elements + 1);
        machine.stores[b] = WBB_NEW_N(j->arena, uint32_t, plan.buffers[b].elements + 1);
        if (plan.buffers[b].output) continue;
        char *data = wbb_alloc(j->arena, (size_t)plan.buffers[b].elements * sc_bytes(s->type) + 8);
        for (int64_t i = 0; i < plan.buffers[b].elements; i++) {
            const uint64_t v = some_value(s->type, i + b);
            memcpy(data + i * sc_bytes(s->type), &v, sc_bytes(s->type));
            machine.buffers[b][physical(s, i)] = v;
        }
        inputs[b] = data;
    }
    run_kernel(j->arena, &machine);
    j->wrong = machine.wrong;
    const EvResult *expected = ev_run(cx, j->arena, f.body, inputs, EV_PLAIN);
    for (uint32_t o = 0; o < plan.n_outputs && !j->wrong; o++) {
        const uint32_t b = plan.n_operands + o;
        const HloShape *s = plan.buffers[b].shape;
        for (int64_t i = 0; i < plan.buffers[b].elements && !j->wrong; i++) {
            const int64_t p = physical(s, i);
            const uint64_t want = element_of(s->type, expected->outputs[o].data, i), have = machine.buffers[b][p];
            const bool both_nan = sc_is_float(s->type) && sc_to_f64(s->type, want) != sc_to_f64(s->type, want) &&
                                  sc_to_f64(s->type, have) != sc_to_f64(s->type, have);
            if (machine.stores[b][p] != 1)
                j->wrong = machine.stores[b][p] ? "an element stored twice" : "an element not stored";
            else if (want != have && !both_nan)
                j->wrong = wbb_format(j->arena, "output %u element %lld is %llx, not %llx", o, (long long)i,
                                      (unsigned long long)have, (unsigned long long)want);
        }
    }
}

/* A target that is fully occupied by one thread, so that small shapes are unrolled, too; in the order of names. */
#define TUNE(n, b, v) {.name = n, .bits = b, .value = v, .because = "test"}
static const TgTune small_tunes[] = {
    TUNE("call.budget", 0, 64), TUNE("call.min_nodes", 0, 64), TUNE("call.nodes", 0, 4),
    TUNE("called.branches", 0, 512), TUNE("called.most", 0, 32768), TUNE("constant.selects", 0, 64),
    TUNE("cut.longest", 0, 1 << 20), TUNE("cut.once", 0, 3), TUNE("cut.term", 0, 1), TUNE("cut.terms", 0, 1 << 20),
    TUNE("cut.times", 0, 8), TUNE("cut.windows", 0, 2), TUNE("layout.rows_first", 0, 8),
    TUNE("layout.rows_of_lanes", 0, 1 << 14), TUNE("layout.rows_read", 0, 4),
    TUNE("loop.block", 0, 32), TUNE("loop.block_factor", 0, 2), TUNE("loop.coarse_bytes", 0, 128),
    TUNE("loop.coarse_work", 0, 64), TUNE("loop.coarsening", 0, 2), TUNE("loop.few_blocks", 0, 8),
    TUNE("loop.max_accesses", 0, 2), TUNE("loop.max_body", 0, 64), TUNE("loop.max_bytes", 0, 128),
    TUNE("loop.max_iterations", 0, 64), TUNE("loop.max_row", 0, 16), TUNE("loop.min_threads", 0, 1),
    TUNE("loop.registers", 0, 50), TUNE("loop.rows", 0, 8), TUNE("loop.rows_over", 0, 20), TUNE("loop.unroll", 8, 16),
    TUNE("loop.unroll", 16, 8), TUNE("loop.unroll", 32, 4), TUNE("loop.unroll", 64, 2),
    TUNE("parameter.bytes", 0, 4096), TUNE("product.max_per_output", 0, 64), TUNE("product.max_total", 0, 4096),
    TUNE("range.max_count", 0, 8),
    TUNE("range.max_parts", 0, 2), TUNE("range.min_bytes", 0, 8), TUNE("range.min_elements", 0, 16),
    TUNE("reduce.max_nodes", 0, 64), TUNE("reduce.max_per_output", 0, 64), TUNE("reduce.max_total", 0, 1 << 20),
    TUNE("reduce.straight", 0, 16), TUNE("reduce.unroll", 0, 4), TUNE("select.few_warps", 0, 12),
    TUNE("select.max_nodes", 0, 12), TUNE("select.neighbours", 0, 16), TUNE("share.kernels", 0, 8),
    TUNE("share.paths", 0, 8),
    TUNE("while.most", 0, 8192),
    TUNE("while.state", 0, 48), TUNE("while.straight", 0, 512), TUNE("work.chain", 0, 40),
    TUNE("work.function", 0, 12),
};
static const RwTables no_tables = {.name = "none"};
static const TgRate small_rates[] = {{.name = "issue", .value = 4}};
static const TgTarget small_target = {.name = "small", .warp = 4, .sms = 2, .vector_bytes = 16, .tables = &no_tables,
                                      .rates = small_rates, .n_rates = (uint32_t)WBB_LEN(small_rates),
                                      .tunes = small_tunes, .n_tunes = (uint32_t)WBB_LEN(small_tunes)};

/* .. which plans as others do */
static const TgTarget *small(void)
{
    static TgTarget target;
    target = small_target;
    target.strategies = tg_find("sm_90")->strategies, target.n_strategies = tg_find("sm_90")->n_strategies;
    return &target;
}

static Job check(const char *text, bool compile_only)
{
    WbbCx *cx = wbb_cx_new();
    Job j = {.name = "t.hlo",
             .text = text,
             .target = small(),
             .arena = wbb_arena_new(cx),
             .compile_only = compile_only};
    if (wbb_guard(cx, do_job, &j) != WBB_OK) fail_msg("%s", cx->messages);
    if (j.wrong) fail_msg("%s\n%s%s", j.wrong, text, j.kernel);
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
    return j;
}

static void declined(const char *text, WbbWhy why, const char *message)
{
    WbbCx *cx = wbb_cx_new();
    Job j = {.name = "t.hlo", .text = text, .target = small(), .arena = wbb_arena_new(cx)};
    assert_int_equal(wbb_guard(cx, do_job, &j), WBB_DECLINED);
    assert_int_equal(cx->why, why);
    if (!strstr(cx->messages, message)) fail_msg("'%s' is not in '%s'", message, cx->messages);
    wbb_arena_free(j.arena);
    wbb_cx_free(cx);
}

#define MODULE(body) "HloModule m\n\nENTRY e {\n" body "}\n"

/* Sizes around the block size (32), the unroll factor (4) and their product: with and without bounds check and tail. */
static void test_sizes(void **state)
{
    (void)state;
    static const int sizes[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 96, 127, 128, 129, 131, 256, 260, 384, 511, 1000};
    for (size_t i = 0; i < WBB_LEN(sizes); i++) {
        char text[400];
        snprintf(text, sizeof text, MODULE("  p = f32[%d]{0} parameter(0)\n  ROOT r = f32[%d]{0} negate(p)\n"),
                 sizes[i], sizes[i]);
        const Job j = check(text, false);
        assert_int_equal(j.blocks == 0, sizes[i] == 0);
    }
}

static void test_moves(void **state)
{
    (void)state;
    check(MODULE("  p = bf16[6,10]{0,1} parameter(0)\n  t = bf16[10,6]{1,0} transpose(p), dimensions={1,0}\n"
                 "  s = bf16[4,3]{1,0} slice(t), slice={[1:9:2], [0:6:2]}\n  ROOT r = bf16[4,3]{0,1} reverse(s), "
                 "dimensions={1}\n"),
          false);
    check(MODULE("  p = f32[4,6,5]{2,1,0} parameter(0)\n  a = f32[2,12,5]{2,1,0} reshape(p)\n  b = "
                 "f32[2,12,1,5]{3,2,1,0} reshape(a)\n"
                 "  ROOT r = f32[24,5]{0,1} bitcast(b)\n"),
          false);
    check(MODULE("  p = f32[3,8]{0,1} parameter(0)\n  ROOT r = f32[2,3,4]{1,2,0} bitcast(p)\n"), false);
    check(MODULE("  p = s32[7]{0} parameter(0)\n  b = s32[5,7,3]{2,1,0} broadcast(p), dimensions={1}\n"
                 "  q = s32[5,7,3]{0,2,1} parameter(1)\n  c = s32[5,7,3]{2,1,0} copy(q)\n  ROOT r = s32[5,7,3]{2,1,0} "
                 "subtract(b, c)\n"),
          false);
    check(MODULE("  p = u16[1,33,1]{2,1,0} parameter(0)\n  a = u16[33]{0} reshape(p)\n  ROOT r = u16[1,1,33]{2,1,0} "
                 "reshape(a)\n"),
          false);
}

static void test_elements(void **state)
{
    (void)state;
    check(MODULE("  p = f32[40]{0} parameter(0)\n  lo = f32[] constant(-1.5)\n  hi = f32[] constant(2)\n"
                 "  c = f32[40]{0} clamp(lo, p, hi)\n  z = f32[] constant(0.5)\n  b = f32[40]{0} broadcast(z), "
                 "dimensions={}\n"
                 "  g = pred[40]{0} compare(c, b), direction=GT\n  ROOT r = f32[40]{0} select(g, c, b)\n"),
          false);
    check(MODULE("  p = f16[40]{0} parameter(0)\n  q = f16[40]{0} parameter(1)\n  a = pred[40]{0} compare(p, q), "
                 "direction=LT, type=TOTALORDER\n"
                 "  b = pred[40]{0} compare(p, q), direction=NE\n  ROOT r = pred[40]{0} xor(a, b)\n"),
          false);
    check(MODULE("  p = f64[40]{0} parameter(0)\n  a = s8[40]{0} convert(p)\n  b = pred[40]{0} convert(a)\n  c = "
                 "bf16[40]{0} convert(b)\n"
                 "  d = u16[40]{0} bitcast-convert(c)\n  ROOT r = u64[40]{0} convert(d)\n"),
          false);
    check(MODULE("  i = f32[6,9]{1,0} iota(), iota_dimension=1\n  k = u32[6,9]{1,0} iota(), iota_dimension=0\n"
                 "  c = f32[6,9]{1,0} convert(k)\n  ROOT r = f32[6,9]{1,0} add(i, c)\n"), false);
    check(
        MODULE("  c = s32[2,3]{0,1} constant({ {1, 2, 3}, {4, 5, 6} })\n  p = s32[2,3,7]{2,1,0} parameter(0)\n"
               "  b = s32[2,3,7]{2,1,0} broadcast(c), dimensions={0,1}\n  ROOT r = s32[2,3,7]{2,1,0} multiply(b, p)\n"),
        false);
    check(MODULE("  p = f32[]{} parameter(0)\n  ROOT r = f32[] add(p, p)\n"), false);
}

static void test_tuple(void **state)
{
    (void)state;
    check("HloModule m\n\nf {\n  p = f32[5,8]{1,0} parameter(0)\n  e = f32[5,8]{1,0} abs(p)\n  n = f32[5,8]{1,0} "
          "negate(e)\n"
          "  b = f32[40]{0} bitcast(e)\n  q = f32[8,5]{0,1} transpose(n), dimensions={1,0}\n"
          "  ROOT t = (f32[5,8]{1,0}, f32[40]{0}, f32[8,5]{0,1}) tuple(n, b, q)\n}\n\n"
          "ENTRY e {\n  p = f32[5,8]{1,0} parameter(0)\n  ROOT r = (f32[5,8]{1,0}, f32[40]{0}, f32[8,5]{0,1}) "
          "fusion(p), kind=kLoop, calls=f\n}\n",
          false);
}

static void test_unroll(void **state)
{
    (void)state;
    assert_int_equal(
        check(MODULE("  p = bf16[1024]{0} parameter(0)\n  ROOT r = bf16[1024]{0} negate(p)\n"), false).vector, 8);
    assert_int_equal(
        check(MODULE("  p = bf16[1028]{0} parameter(0)\n  ROOT r = bf16[1028]{0} negate(p)\n"), false).vector, 4);
    assert_int_equal(
        check(MODULE("  p = bf16[1029]{0} parameter(0)\n  ROOT r = bf16[1029]{0} negate(p)\n"), false).vector, 8);
    assert_int_equal(
        check(MODULE("  p = pred[1024]{0} parameter(0)\n  ROOT r = f32[1024]{0} convert(p)\n"), false).vector, 8);
    check(MODULE("  p = s8[65536,32768]{1,0} parameter(0)\n  ROOT r = s8[65536,32768]{1,0} negate(p)\n"), true);
}

/* Operands that depend on the index, run-time starts, and reduce loops. */
static void test_choices(void **state)
{
    (void)state;
    check(MODULE("  p = s32[7,9]{1,0} parameter(0)\n  z = s32[] parameter(1)\n  ROOT r = s32[11,15]{1,0} pad(p, z), "
                 "padding=3_1x-1_-1_1\n"),
          false);
    check(
        MODULE("  p = s32[7,9]{0,1} parameter(0)\n  q = s32[7,0]{1,0} parameter(1)\n  s = s32[7,4]{1,0} parameter(2)\n"
               "  ROOT r = s32[7,22]{1,0} concatenate(p, q, s, p), dimensions={1}\n"),
        false);
    check(MODULE("  p = s32[64,8]{1,0} parameter(0)\n  q = s32[32,8]{1,0} parameter(1)\n  ROOT r = s32[96,8]{1,0} "
                 "concatenate(p, q), dimensions={0}\n"),
          false);
    check(MODULE("  p = s32[9,30]{1,0} parameter(0)\n  a = s8[] parameter(1)\n  b = u64[] parameter(2)\n"
                 "  ROOT r = s32[4,30]{1,0} dynamic-slice(p, a, b), dynamic_slice_sizes={4,30}\n"), false);
    check(MODULE("  p = s32[9,30]{1,0} parameter(0)\n  u = s32[2,7]{1,0} parameter(1)\n  a = s32[] parameter(2)\n"
                 "  d = s32[9,30]{1,0} dynamic-update-slice(p, u, a, a)\n  ROOT r = s32[9,30]{1,0} add(d, p)\n"),
          false);
    check(MODULE("  p = s32[9,30]{1,0} parameter(0)\n  i = s32[5,2]{1,0} parameter(1)\n  ROOT r = s32[5,3,4]{2,1,0} "
                 "gather(p, i), offset_dims={1,2}, "
                 "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={3,4}\n"),
          false);
    check("HloModule m\n\nmx {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] maximum(a, "
          "b)\n}\n\nENTRY e {\n"
          "  p = s32[6,17]{1,0} parameter(0)\n  z = s32[] constant(-100)\n  w = s32[6,9]{1,0} reduce-window(p, z), "
          "window={size=1x3 stride=1x2 pad=0_0x1_1}, "
          "to_apply=mx\n  r = s32[6]{0} reduce(w, z), dimensions={1}, to_apply=mx\n"
          "  s = s32[5]{0} slice(r), slice={[1:6]}\n  ROOT v = s32[5]{0} reverse(s), dimensions={0}\n}\n",
          false);
    check(MODULE("  p = s8[6,17]{1,0} parameter(0)\n  q = s8[17,3]{1,0} parameter(1)\n"
                 "  ROOT r = s32[6,3]{1,0} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"), false);
    check(MODULE("  p = u32[33]{0} parameter(0)\n  b = u8[33,4]{1,0} bitcast-convert(p)\n  c = u8[33,4]{1,0} not(b)\n  "
                 "ROOT r = s16[33,2]{1,0} bitcast-convert(u32[33]{0} bitcast-convert(c))\n"),
          false);
}

/* A chain in which each step uses the one before twice takes a number of nodes linear in the steps. */
static void test_shared(void **state)
{
    (void)state;
    WbbCx *cx = wbb_cx_new();
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "HloModule m\n\nENTRY e {\n  x0 = s32[8]{0} parameter(0)\n");
    for (int i = 1; i <= 2000; i++)
        wbb_putf(&b, "  %sx%d = s32[8]{0} add(x%d, x%d)\n", i == 2000 ? "ROOT " : "", i, i - 1, i - 1);
    wbb_put(&b, "}\n");
    check(b.text, false);
    wbb_arena_free(a);
    wbb_cx_free(cx);
}

static void test_declined(void **state)
{
    (void)state;
    declined("HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, "
             "b)\n}\n\nENTRY e {\n"
             "  p = f32[80]{0} parameter(0)\n  z = f32[] constant(0)\n  q = f32[81] parameter(1)\n"
             "  r = f32[] reduce(p, z), dimensions={0}, to_apply=add\n"
             "  s = f32[] reduce(q, z), dimensions={0}, to_apply=add\n  ROOT t = f32[] add(r, s)\n}\n",
             WHY_REDUCTION, "reduces 80 elements per output");
    declined(MODULE("  p = f32[64,65]{1,0} parameter(0)\n  q = f32[65,2]{1,0} parameter(1)\n"
                    "  ROOT r = f32[64,2]{1,0} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
             WHY_LIBRARY, "sums 65 products per output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_moves),  cmocka_unit_test(test_elements), cmocka_unit_test(test_tuple),
        cmocka_unit_test(test_unroll), cmocka_unit_test(test_choices), cmocka_unit_test(test_shared), cmocka_unit_test(test_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

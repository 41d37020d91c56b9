/* index_operand_maps: the elements that maps say an output needs, against those that it does need: each input element
 * of small random instructions is changed, and the evaluator shows which outputs change. */
#include "eval/eval.h"
#include "index/access.h"

#include "index_fixture.h"
#include "index_modules.h"

#include <stdlib.h>

/* A module with its inputs and results. */
typedef struct {
    WbbCx *cx;
    WbbArena *a;
    RwCx *rw;
    Maker *maker;
    const char *text;
    Kind kind;
    const HloModule *module;
    const HloInstruction *i;
    void *inputs[8];
    int64_t named, changed; /* pairs of elements */
} Trial;

static int64_t elements(const HloShape *s) { return hlo_elements(s); }

/* Data are small integers, so that sums are exact. Starts are in and slightly out of the range of the dimensions. */
static void fill(Trial *t, ScType type, void *data, int64_t element, bool anew)
{
    if (type == SC_F32) ((float *)data)[element] = (float)(between(t->maker, 1, 9) + (anew ? 1000 : 0));
    else if (type == SC_I64) ((int64_t *)data)[element] = between(t->maker, -2, 6);
    else if (type == SC_I32 || type == SC_U32) ((int32_t *)data)[element] = (int32_t)between(t->maker, -2, 6);
    else if (type == SC_I16) ((int16_t *)data)[element] = (int16_t)between(t->maker, anew ? 1000 : 0, anew ? 2000 : 9);
    else ((int8_t *)data)[element] = (int8_t)between(t->maker, -2, 6);
}

static void make_inputs(Trial *t)
{
    const HloComputation *e = t->module->entry;
    for (uint32_t k = 0; k < e->n_parameters; k++) {
        const HloShape *s = e->parameters[k]->shape;
        t->inputs[k] = wbb_alloc(t->a, (size_t)(elements(s) + 1) * 8);
        for (int64_t n = 0; n < elements(s); n++) fill(t, s->type, t->inputs[k], n, false);
    }
}

static int64_t integer(const HloShape *s, const void *data, int64_t n)
{
    switch (s->type) {
    case SC_I64: return ((const int64_t *)data)[n];
    case SC_U32: return ((const uint32_t *)data)[n];
    case SC_I32: return ((const int32_t *)data)[n];
    default: return ((const int8_t *)data)[n];
    }
}

static int64_t linear(const HloShape *s, const int64_t *at)
{
    int64_t n = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (at[d] < 0 || at[d] >= s->dims[d]) fail_msg("an index is outside of its dimension");
        n = n * s->dims[d] + at[d];
    }
    return n;
}

/* Sets the run-time variables of a point in order; false where a value is outside of a narrowed interval. */
static bool read_starts(Trial *t, const IxMap *m, int64_t *point)
{
    const IrGraph *g = rw_graph(t->rw);
    for (uint32_t k = 0; k < m->vars.n; k++) {
        const IxVar *v = &m->vars.items[k];
        int64_t at[HLO_RANK_LIMIT];
        IxMap place = {.state = IX_KNOWN};
        if (v->kind != IX_RUNTIME) continue;
        assert_int_equal(v->source->opcode, HLO_PARAMETER);
        place.vars.items = m->vars.items, place.vars.n = m->vars.n;
        place.results.items = v->at, place.results.n = v->n_at;
        for (uint32_t p = k; p < m->vars.n; p++) point[p] = m->vars.items[p].lo; /* not read, but must be in range */
        if (ix_map_eval(g, &place, point, at) != IX_INSIDE)
            fail_msg("the index of a start is outside of its map's domain");
        const int64_t value = integer(v->source->shape, t->inputs[v->source->number], linear(v->source->shape, at));
        point[k] = WBB_MIN(WBB_MAX(value, v->clamp_lo), v->clamp_hi);
        if (point[k] < v->lo || point[k] > v->hi) return false;
    }
    return true;
}

/* Marks the pairs [from * n_to + to] that the maps name. */
static void mark(Trial *t, const IxMaps *maps, const HloShape *from, const HloShape *to, bool turned, uint8_t *pairs)
{
    const IrGraph *g = rw_graph(t->rw);
    if (maps->unknown) fail_msg("unknown: %s", t->text);
    for (uint32_t k = 0; k < maps->n; k++) {
        const IxMap *m = maps->items[k];
        IxMap box = *m;
        box.vars.n = ix_map_count(m, IX_DIMENSION) + ix_map_count(m, IX_RANGE);
        int64_t *point = WBB_NEW_N(t->a, int64_t, m->vars.n + 1u), at[HLO_RANK_LIMIT];
        for (IxWalk w = ix_walk(t->a, &box, UINT64_MAX, 0); ix_walk_next(&w);) {
            memcpy(point, w.point, box.vars.n * sizeof *point);
            if (!read_starts(t, m, point)) continue;
            if (ix_map_eval(g, m, point, at) != IX_INSIDE) continue;
            const int64_t x = linear(from, point), y = linear(to, at);
            pairs[turned ? y * elements(from) + x : x * elements(to) + y] = 1;
        }
    }
}

/* Whether every element that the map names is needed; it is not where values select among elements. */
static bool is_exact(const Trial *t, uint32_t operand)
{
    switch (t->kind) {
    case KIND_CLAMP:
    case KIND_SORT:
    case KIND_SCAN:
    case KIND_TOPK:
    case KIND_SELECT_SCATTER:
    case KIND_BITCAST_CONVERT:
    case KIND_BATCH_NORM: return false;
    case KIND_PAD: case KIND_DYNAMIC_SLICE: case KIND_GATHER: case KIND_FUSION: return operand == 0;
    case KIND_DYNAMIC_UPDATE: return operand == 1;
    case KIND_SCATTER: return operand != 1;
    case KIND_REDUCE: return operand < t->i->n_operands / 2; /* one output of two need not use both initial values */
    default: return true;
    }
}

static void complain(const Trial *t, uint32_t operand, int64_t out, int64_t in, const char *what)
{
    WbbBuf b = wbb_buf(t->a);
    ix_print_maps(&b, t->rw, t->a, t->module->entry, NULL);
    ix_print_maps(&b, t->rw, t->a, t->module->entry, &(IxView){.targets = true});
    fail_msg("operand %u: output %lld %s %lld\n%s\n%s", operand, (long long)out, what, (long long)in, t->text, b.text);
}

static void compare(Trial *t, uint32_t operand, uint32_t leaf, const EvResult *before)
{
    const HloShape *in = t->i->operands[operand]->shape,
                   *out = t->i->shape->type == SC_TUPLE ? t->i->shape->elements[leaf] : t->i->shape;
    const int64_t n_in = elements(in), n_out = elements(out);
    const size_t bytes = sc_bytes(in->type), out_bytes = sc_bytes(out->type);
    const IxMaps needs = ix_inputs_of(t->rw, t->a, t->i, leaf, false)[operand]; /* no operand is a tuple */
    const IxMaps uses = ix_outputs_of(t->rw, t->a, t->i, (IxEnd){.operand = operand}, false)[leaf];
    uint8_t *needed = WBB_NEW_N(t->a, uint8_t, n_in * n_out + 1), *used = WBB_NEW_N(t->a, uint8_t, n_in * n_out + 1);
    mark(t, &needs, out, in, false, needed); /* [out][in] */
    mark(t, &uses, in, out, true, used);
    for (int64_t x = 0; x < n_in; x++) {
        char *p = (char *)t->inputs[operand] + (size_t)x * bytes, old[8];
        memcpy(old, p, bytes);
        fill(t, in->type, t->inputs[operand], x, true);
        const EvResult *after = ev_run(t->cx, t->a, t->module->entry, (const void *const *)t->inputs, EV_PLAIN);
        memcpy(p, old, bytes);
        for (int64_t y = 0; y < n_out; y++) {
            const bool changed = memcmp((char *)before->outputs[leaf].data + (size_t)y * out_bytes,
                                        (char *)after->outputs[leaf].data + (size_t)y * out_bytes, out_bytes);
            const bool named = needed[y * n_in + x];
            t->named += named, t->changed += changed;
            if (changed && !named) complain(t, operand, y, x, "needs, and no map says so, input");
            if (changed && !used[y * n_in + x])
                complain(t, operand, y, x, "is where, and no map says so, there goes input");
            if (named && !changed && is_exact(t, operand)) complain(t, operand, y, x, "does not need input");
            if (used[y * n_in + x] != named && is_exact(t, operand))
                complain(t, operand, y, x, "is seen otherwise from input");
        }
    }
}

static void try_module(WbbCx *cx, void *arg)
{
    Trial *t = arg;
    t->module = hlo_parse(cx, t->a, "t.hlo", t->text, strlen(t->text));
    t->i = t->module->entry->root;
    t->rw = rw_new(cx, t->a, ir_graph_new(cx, t->a), &ix_tables, &no_tables, false);
    make_inputs(t);
    const EvResult *before = ev_run(cx, t->a, t->module->entry, (const void *const *)t->inputs, EV_PLAIN);
    for (uint32_t k = 0; k < t->i->n_operands; k++)
        for (uint32_t l = 0; l < t->i->shape->n_leaves; l++) compare(t, k, l, before);
}

static void try_kind(Kind kind, int trials)
{
    int64_t changed = 0;
    for (int n = 0; n < trials; n++) {
        WbbCx *cx = wbb_cx_new();
        Maker maker = {wbb_arena_new(cx), (uint64_t)kind * 1000003u + (uint64_t)n * 7919u + 1};
        for (int k = 0; k < 8; k++) below(&maker, 2);
        Trial t = {.cx = cx, .a = maker.a, .maker = &maker, .kind = kind, .text = make_module(&maker, kind)};
        if (wbb_guard(cx, try_module, &t) != WBB_OK) fail_msg("%s%s", t.text, cx->messages);
        changed += t.changed;
        wbb_cx_free(cx);
    }
    assert_true(changed > 0);
}

/* --- queries of the emitter --------------------------------------------------------------------------------------- */

static IrRef variable(const Fixture *q, const char *name, int64_t n)
{
    IrGraph *g = q->g;
    return ir_var(g, ir_var_new(g, name, IR_LOOP, 0, n - 1, 0));
}

static const char *text_of(const Fixture *q, IrRef r)
{
    WbbBuf b = wbb_buf(q->arena);
    ir_print_node(&b, q->g, r);
    return b.text;
}

static void test_pad(void **state)
{
    (void)state;
    Fixture q = fixture("HloModule m\nENTRY e {\np = f32[6,4] parameter(0)\nz = f32[] parameter(1)\nROOT r = f32[12,4] "
                        "pad(p, z), padding=1_0_1x0_0\n}\n");
    const HloInstruction *i = q.module->entry->root;
    const IrRef out[] = {variable(&q, "i", 12), variable(&q, "j", 4)};
    const IxNeeds needs = ix_needs(q.arena, i);
    assert_true(needs.known && needs.n_ranges == 0 && needs.n_starts == 0);
    IxAccess access;
    ix_access(q.rw, q.arena, i, 0, out, NULL, NULL, &access);
    assert_false(access.never);
    assert_int_equal(access.n_conditions, 2); /* of i: 0 <= i - 1 and remainder 0; those of j always hold */
    assert_string_equal(text_of(&q, access.conditions[0].expression), "i - 1");
    assert_true(access.index[1] == out[1]);
    ix_access(q.rw, q.arena, i, 1, out, NULL, NULL, &access);
    assert_true(access.n_conditions == 0);
    const IrRef first[] = {ir_index(rw_graph(q.rw), 0), out[1]};
    ix_access(q.rw, q.arena, i, 0, first, NULL, NULL, &access);
    assert_true(access.never);
    close_fixture(&q);
}

static void test_dynamic_slice(void **state)
{
    (void)state;
    Fixture q = fixture(
        "HloModule m\nENTRY e {\np = f32[32,5] parameter(0)\ni = s8[] parameter(1)\nj = s8[] parameter(2)\n"
        "ROOT r = f32[8,5] dynamic-slice(p, i, j), dynamic_slice_sizes={8,5}\n}\n");
    const HloInstruction *i = q.module->entry->root;
    const IrRef out[] = {variable(&q, "x", 8), variable(&q, "y", 5)}, starts[] = {variable(&q, "t", 25)};
    const IxNeeds needs = ix_needs(q.arena, i);
    assert_int_equal(needs.n_starts, 1); /* the other start is always clamped to 0 */
    assert_true(needs.starts[0].operand == 1 && needs.starts[0].lo == 0 && needs.starts[0].hi == 24);
    IxAccess access;
    ix_access(q.rw, q.arena, i, 0, out, NULL, starts, &access);
    assert_string_equal(text_of(&q, access.index[0]), "x + t");
    assert_true(access.index[1] == out[1] && access.n_conditions == 0);
    close_fixture(&q);
}

/* The interval of a scatter's start exceeds the valid starts by one on each side, where the type has such values. */
static void test_scatter(void **state)
{
    (void)state;
    Fixture q = fixture("HloModule m\n" ADD
                        "ENTRY e {\np = f32[9] parameter(0)\ni = s32[3,1] parameter(1)\nu = f32[3,2] parameter(2)\n"
                        "ROOT r = f32[9] scatter(p, i, u), update_window_dims={1}, inserted_window_dims={}, "
                        "scatter_dims_to_operand_dims={0}, "
                        "index_vector_dim=1, to_apply=add\n}\n");
    const HloInstruction *i = q.module->entry->root;
    const IxFamily *family = ix_target_family(q.arena, i, 2);
    const IxNeeds needs = ix_family_needs(family, q.arena, i, 2, 0);
    assert_true(needs.known && needs.n_ranges == 0 && needs.n_starts == 1 && needs.starts[0].lo == -1 &&
                needs.starts[0].hi == 8);
    const IrRef in[] = {variable(&q, "v", 3), variable(&q, "w", 2)}, t = ir_var(rw_graph(q.rw), ir_var_new(rw_graph(q.rw), "t", IR_LOOP, -1, 8, 0));
    IrRef at[2];
    const IxList of = {.a = q.arena, .i = i, .operand = 2};
    ix_family_start(family, q.rw, of, 0, in, NULL, at);
    assert_true(at[0] == in[0] && text_of(&q, at[1])[0] == '0');
    IxAccess target;
    ix_family_access(family, q.rw, of, 1, in, NULL, &t, &target);
    assert_true(target.n_conditions == 1 && target.conditions[0].expression == t && target.conditions[0].lo == 0 &&
                target.conditions[0].hi == 7);
    assert_string_equal(text_of(&q, target.index[0]), "w + t");
    close_fixture(&q);
}

static int trials(void)
{
    const char *n = getenv("WARPBURG_INDEX_TRIALS");
    return n ? atoi(n) : 25;
}

#define TEST_KINDS(name, from, to) \
    static void name(void **state) \
    { \
        (void)state; \
        for (int kind = from; kind <= to; kind++) try_kind((Kind)kind, trials()); \
    }
TEST_KINDS(test_moves, KIND_ELEMENTWISE, KIND_CONCATENATE)
TEST_KINDS(test_starts, KIND_DYNAMIC_SLICE, KIND_SCATTER)
TEST_KINDS(test_windows, KIND_REDUCE, KIND_SELECT_SCATTER)
TEST_KINDS(test_rows, KIND_SORT, KIND_BATCH_NORM)
TEST_KINDS(test_fusions, KIND_FUSION, KIND_FUSION)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_starts), cmocka_unit_test(test_windows),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_fusions), cmocka_unit_test(test_pad),
                                       cmocka_unit_test(test_dynamic_slice), cmocka_unit_test(test_scatter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

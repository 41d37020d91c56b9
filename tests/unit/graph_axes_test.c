/* graph_axes: which dimension of an operand has the index of which dimension of the result: by a table, and against the
 * evaluator, where each element of the operand is its own index; which reductions take rows or columns. */
#include "eval/eval.h"
#include "graph/graph.h"

#include "unit.h"

typedef struct {
    const char *text, *axes; /* of operand 0, or .. */
    uint32_t operand;        /* .. of the root */
} Job;

/* "0 1": the operand's dimensions, `one`, `other`; "in order" where elements are; "?": indices do not tell. */
static const char *printed(WbbCx *cx, const HloShape *s, const GrAxes *x)
{
    WbbBuf b = wbb_buf(cx->arena);
    if (!x->known) return "?";
    for (uint32_t d = 0; d < s->rank; d++)
        if (x->of[d] >= 0) wbb_putf(&b, "%d ", x->of[d]);
        else wbb_put(&b, x->of[d] == GR_ONE ? "one " : "other ");
    if (x->in_order) wbb_put(&b, "in order");
    while (b.n && b.text[b.n - 1] == ' ') b.text[--b.n] = 0;
    return b.n ? b.text : "";
}

enum { NOT_OF_IT = -100 };

/* Where the root's elements are elements of parameter 0, their index there, in dimension d, is the result's own, and
 * elements in order are in order. */
static void check_values(WbbCx *cx, const HloComputation *c, const GrAxes *x, int64_t d)
{
    const HloShape *s = c->parameters[0]->shape, *to = c->root->shape;
    const void **inputs = WBB_NEW_N(cx->arena, const void *, c->n_parameters + 1);
    int64_t inner = 1, outer = 1, seen = 0;
    for (uint32_t k = 0; k < c->n_parameters; k++) {
        int32_t *values = WBB_NEW_N(cx->arena, int32_t, hlo_elements(c->parameters[k]->shape) + 1);
        for (int64_t e = 0; k && e < hlo_elements(c->parameters[k]->shape); e++) values[e] = NOT_OF_IT;
        inputs[k] = values;
    }
    for (int64_t k = d + 1; d >= 0 && k < s->rank; k++) inner *= s->dims[k];
    for (int64_t k = x->of[WBB_MAX(d, 0)] + 1; d >= 0 && k < to->rank; k++) outer *= to->dims[k];
    for (int64_t e = 0; e < hlo_elements(s); e++)
        ((int32_t *)inputs[0])[e] = (int32_t)(d < 0 ? e : e / inner % s->dims[d]);
    const EvResult *r = ev_run(cx, cx->arena, c, inputs, EV_PLAIN);
    for (int64_t e = 0; e < hlo_elements(to); e++) {
        const int32_t value = ((const int32_t *)r->outputs[0].data)[e];
        if (value == NOT_OF_IT) continue;
        assert_int_equal(value, d < 0 ? e : e / outer % to->dims[x->of[d]]);
        seen++;
    }
    assert_true(seen > 0);
}

static void ask(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    const char *text = wbb_format(
        cx->arena, "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n"
                   "less { a = s32[] parameter(0) b = s32[] parameter(1) "
                   "ROOT c = pred[] compare(a, b), direction=LT }\n"
                   "ENTRY e { x = s32[%s", j->text);
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    const HloInstruction *i = m->entry->root;
    GrSight *s = gr_sight(cx, cx->arena);
    const GrAxes x = gr_axes(s, i, j->operand), again = gr_axes(s, i, j->operand);
    const HloShape *of = i->operands[j->operand]->shape;
    assert_string_equal(printed(cx, of, &x), j->axes);
    assert_true(again.of == x.of);
    const bool moves = j->operand == 0 && i->operands[0] == m->entry->parameters[0] && x.known &&
                       (hlo_kind(i->opcode) == HLO_IS_MOVE || hlo_kind(i->opcode) == HLO_IS_CHOOSE);
    for (uint32_t d = 0; moves && d < of->rank; d++)
        if (x.of[d] >= 0) check_values(cx, m->entry, &x, d);
    if (moves && x.in_order && i->opcode != HLO_DYNAMIC_UPDATE_SLICE) check_values(cx, m->entry, &x, -1);
}

#define GATHER ", index_vector_dim=1, operand_batching_dims={}, start_indices_batching_dims={}"

static void test_axes(void **state)
{
    static const Job all[] = {
        {"4,6] parameter(0) ROOT y = s32[4,6] negate(x) }", "0 1 in order", 0},
        {"6] parameter(0) ROOT y = s32[4,6] broadcast(x), dimensions={1} }", "1", 0},
        {"4,6] parameter(0) ROOT y = s32[6,4] transpose(x), dimensions={1,0} }", "1 0", 0},
        {"4,1,6] parameter(0) ROOT y = s32[6,1,4] transpose(x), dimensions={2,1,0} }", "2 one 0", 0},
        {"4,6] parameter(0) ROOT y = s32[4,6] reverse(x), dimensions={1} }", "0 other", 0},
        {"4,6] parameter(0) ROOT y = s32[4,3] slice(x), slice={[0:4], [1:4]} }", "0 other", 0},
        {"4,6] parameter(0) ROOT y = s32[4,6] slice(x), slice={[0:4], [0:6]} }", "0 1 in order", 0},
        {"4,6] parameter(0) ROOT y = s32[24] reshape(x) }", "other other in order", 0},
        {"6,8,5] parameter(0) ROOT y = s32[2,3,8,5] reshape(x) }", "other 2 3 in order", 0},
        {"4,6]{1,0} parameter(0) ROOT y = s32[6,4]{0,1} bitcast(x) }", "1 0", 0},
        {"4,6]{1,0} parameter(0) ROOT y = s32[4,3,2]{2,1,0} bitcast(x) }", "0 other in order", 0},
        {"4,6] parameter(0) z = s32[] parameter(1) ROOT y = s32[4,9] pad(x, z), padding=0_0x1_2 }", "0 other", 0},
        {"4,6] parameter(0) z = s32[4,3] parameter(1) ROOT y = s32[4,9] concatenate(x, z), dimensions={1} }", "0 other",
         0},
        {"4,6] parameter(0) z = s32[] parameter(1) ROOT y = s32[4,2] dynamic-slice(x, z, z), dynamic_slice_sizes={4,2} }",
         "0 other", 0},
        {"4,6] parameter(0) z = s32[] parameter(1) ROOT y = s32[4,2] dynamic-slice(x, z, z), dynamic_slice_sizes={4,2} }",
         "", 2},
        {"4,6] parameter(0) u = s32[4,2] parameter(1) z = s32[] parameter(2) "
         "ROOT y = s32[4,6] dynamic-update-slice(x, u, z, z) }", "0 1 in order", 0},
        {"4,6] parameter(0) u = s32[4,2] parameter(1) z = s32[] parameter(2) "
         "ROOT y = s32[4,6] dynamic-update-slice(x, u, z, z) }", "0 other", 1},
        /* a row for each number; of each row one element, by its own place, and that by a conversion and a reshape */
        {"9,6] parameter(0) l = s32[4,1] parameter(1) ROOT y = s32[4,6] gather(x, l), offset_dims={1}, "
         "collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,6}" GATHER " }", "other 1", 0},
        {"9,6] parameter(0) l = s32[4,1] parameter(1) ROOT y = s32[4,6] gather(x, l), offset_dims={1}, "
         "collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,6}" GATHER " }", "0 one", 1},
        {"4,9,6] parameter(0) l = s32[4,1] parameter(1) n = s8[4] iota(), iota_dimension=0 m = s32[4] convert(n) "
         "r = s32[4,1] reshape(m) i = s32[4,2] concatenate(r, l), dimensions={1} ROOT y = s32[4,6] gather(x, i), "
         "offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, slice_sizes={1,1,6}" GATHER " }",
         "0 other 1", 0},
        {"3,9,6] parameter(0) l = s32[4,1] parameter(1) n = s32[4,1] iota(), iota_dimension=0 "
         "i = s32[4,2] concatenate(n, l), dimensions={1} ROOT y = s32[4,6] gather(x, i), "
         "offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1}, slice_sizes={1,1,6}" GATHER " }",
         "other other 1", 0},
        {"4,6] parameter(0) z = s32[] constant(0) ROOT y = s32[4] reduce(x, z), dimensions={1}, to_apply=add }",
         "0 other", 0},
        {"4,1] parameter(0) z = s32[] constant(0) ROOT y = s32[4] reduce(x, z), dimensions={1}, to_apply=add }",
         "0 one in order", 0},
        {"4,6] parameter(0) z = s32[] constant(0) "
         "ROOT y = s32[4,6] reduce-window(x, z), window={size=1x3 pad=0_0x1_1}, to_apply=add }", "0 other", 0},
        {"4,6] parameter(0) ROOT y = s32[4,6] sort(x), dimensions={1}, to_apply=less }", "0 other", 0},
        {"4,0] parameter(0) ROOT y = s32[0,4] transpose(x), dimensions={1,0} }", "?", 0},
        {"4,6] parameter(0) ROOT y = (s32[4,6]) tuple(x) }", "?", 0},
        {"4,6] parameter(0) ROOT y = s32[4,6] custom-call(x), custom_call_target=\"f\" }", "?", 0},
    };
    (void)state;
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        WbbCx *cx = wbb_cx_new();
        Job j = all[k];
        succeed_on(cx, ask, &j, j.text);
        wbb_cx_free(cx);
    }
}

/* --- rows and columns --------------------------------------------------------------------------------------------- */
typedef struct {
    const char *shape, *results, *dimensions, *to_apply;
    int64_t rows[2], columns[2]; /* 0: it reduces none */
    bool same;                   /* as the one before it */
} Reduction;

static const HloInstruction *reduction(WbbCx *cx, const Reduction *x)
{
    const char *text = wbb_format(
        cx->arena, "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
                   "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n"
                   "ENTRY e { x = f32%s parameter(0) z = f32[] constant(0) "
                   "ROOT r = f32%s reduce(x, z), dimensions={%s}, to_apply=%s }",
        x->shape, x->results, x->dimensions, x->to_apply);
    return hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text))->entry->root;
}

static void ask_rows(WbbCx *cx, void *arg)
{
    const Reduction *all = arg;
    const HloInstruction *before = NULL;
    for (; all->shape; all++) {
        const HloInstruction *i = reduction(cx, all);
        GrMatrix rows = {0}, columns = {0};
        assert_int_equal(gr_reduces_rows(i, &rows), all->rows[0] > 0);
        assert_int_equal(gr_sums_columns(i, &columns), all->columns[0] > 0);
        if (all->rows[0]) assert_true(rows.rows == all->rows[0] && rows.columns == all->rows[1]);
        if (all->columns[0]) assert_true(columns.rows == all->columns[0] && columns.columns == all->columns[1]);
        if (before) assert_int_equal(gr_same_reduced(before, i), all->same);
        before = i;
    }
}

static void test_rows(void **state)
{
    Reduction all[] = {
        {"[64,8,128]", "[64]", "1,2", "max", {64, 1024}, {0}, false},
        {"[64,8,128]", "[8,128]", "0", "add", {0}, {64, 1024}, false},
        {"[64,8,128]", "[8,128]", "0", "max", {0}, {0}, true},
        {"[64,8,128]", "[64,128]", "1", "add", {0}, {0}, false},
        {"[64,1,128]", "[64,1]", "2", "add", {64, 128}, {0}, false},
        {"[64,1,128]", "[64]", "2,1", "add", {64, 128}, {0}, true},
        {"[1,128]", "[1]", "1", "add", {0}, {0}, false},
        {"[64,128]{0,1}", "[64]", "1", "add", {0}, {0}, false},
        {"[64,128]{0,1}", "[128]", "0", "add", {0}, {0}, false},
        {0},
    };
    succeed(*state, ask_rows, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_axes), TEST(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

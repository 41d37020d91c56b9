/* graph: definitions have the values that the evaluator gives their computation, at every index; what is printed. */
#include "eval/eval.h"
#include "graph/graph.h"

#include "random.h"
#include "unit.h"

#include <stdio.h>

/* --- values of definitions ---------------------------------------------------------------------------------------- */

typedef struct {
    const GrGraph *x;
    int64_t *variable; /* by number */
    uint64_t **array;  /* by id: elements, row by row */
} Values;

static uint64_t value_of(Values *v, IrRef r);

/* A variable, or a read; outside an array, where a choice does not take it, any number. */
static uint64_t leaf(void *arg, const IrGraph *g, IrRef r)
{
    Values *v = arg;
    const IrNode *n = ir_at(g, r);
    const GrStart *start = gr_start_of(v->x, r);
    if (start) return (uint64_t)(int64_t)sc_to_i128(IR_SC(ir_at(g, start->value)->type), value_of(v, start->value));
    if (n->op == OP_VAR) return (uint64_t)v->variable[n->imm];
    assert_int_equal(n->op, OP_CALL);
    const uint32_t id = (uint32_t)n->imm;
    const HloShape *s = v->x->defs[id].i->shape;
    int64_t at = 0;
    assert_int_equal(n->a[1], s->rank);
    assert_non_null(v->array[id]);
    for (uint32_t d = 0; d < s->rank; d++) {
        const int64_t k = (int64_t)value_of(v, g->terms[n->a[0] + d].ref);
        if (k < 0 || k >= s->dims[d]) return 0;
        at = at * s->dims[d] + k;
    }
    return v->array[id][at];
}

static uint64_t value_of(Values *v, IrRef r)
{
    uint64_t bits = 0;
    assert_true(ir_eval(rw_graph(v->x->rw), r, leaf, v, &bits));
    return bits;
}

/* Sets the variables to the next point, the last fastest; false: there is none. */
static bool next(Values *v, const IrRef *at, uint32_t n)
{
    const IrGraph *g = rw_graph(v->x->rw);
    for (uint32_t k = n; k-- > 0;) {
        const IrNode *x = ir_at(g, at[k]);
        if (x->op != OP_VAR) continue;
        if (++v->variable[x->imm] <= g->vars[x->imm].hi) return true;
        v->variable[x->imm] = 0;
    }
    return false;
}

static uint64_t element(Values *v, const GrDef *d)
{
    if (d->form == GR_TERM) return value_of(v, d->value);
    const ScType t = d->type, to = d->i->shape->type;
    uint64_t all = value_of(v, d->init);
    do {
        if (d->condition && !value_of(v, d->condition)) continue;
        const uint64_t x[] = {all, value_of(v, d->value)};
        assert_true(sc_eval(d->op, t, t, x, &all));
    } while (next(v, d->ranges, d->n_ranges));
    if (t != to) assert_true(sc_eval(OP_CVT, to, t, &all, &all));
    return all;
}

static void define(WbbArena *a, Values *v, const GrDef *d, const void *const *inputs)
{
    const HloShape *s = d->i->shape;
    const uint32_t bytes = sc_bytes(s->type);
    const int64_t n = hlo_elements(s);
    uint64_t *to = v->array[d->i->id] = WBB_NEW_N(a, uint64_t, (size_t)n + 1);
    assert_true(d->form == GR_INPUT || d->form == GR_TERM || d->form == GR_FOLD);
    for (int64_t k = 0; k < n; k++) {
        if (d->form == GR_INPUT) memcpy(&to[k], (const char *)inputs[d->i->number] + k * bytes, bytes);
        else to[k] = element(v, d);
        if (d->form != GR_INPUT) assert_int_equal(next(v, d->at, s->rank), k + 1 < n);
    }
}

/* --- against the evaluator ---------------------------------------------------------------------------------------- */

typedef struct { const char *text, *printed; uint32_t defined; } Job;

static void compare(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", j->text, strlen(j->text));
    const GrGraph *x = gr_make(cx, cx->arena, m->entry);
    const void **inputs = WBB_NEW_N(cx->arena, const void *, m->entry->n_parameters + 1);
    for (uint32_t p = 0; p < m->entry->n_parameters; p++) {
        const HloShape *s = m->entry->parameters[p]->shape;
        const uint32_t bytes = sc_bytes(s->type);
        char *to = WBB_NEW_N(cx->arena, char, (size_t)hlo_elements(s) * bytes + 1);
        for (int64_t k = 0; k < hlo_elements(s); k++) {
            const uint64_t bits = sc_from_f64(s->type, (double)below(9) - (sc_type_info[s->type].cls == 'U' ? 0 : 4));
            memcpy(to + k * bytes, &bits, bytes);
        }
        inputs[p] = to;
    }
    const EvResult *r = ev_run(cx, cx->arena, m->entry, inputs, EV_PLAIN);
    Values v = {.x = x, .variable = WBB_NEW_N(cx->arena, int64_t, rw_graph(x->rw)->n_vars + 1),
                .array = WBB_NEW_N(cx->arena, uint64_t *, m->entry->n_instructions + 1)};
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        if (x->defs[k].form != GR_VANISHED) j->defined++, define(cx->arena, &v, &x->defs[k], inputs);
    const HloInstruction *root = m->entry->root;
    const uint32_t bytes = sc_bytes(root->shape->type);
    WbbBuf b = wbb_buf(cx->arena);
    gr_print(&b, x);
    for (int64_t k = 0; k < hlo_elements(root->shape); k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)r->outputs[0].data + k * bytes, bytes);
        if (v.array[root->id][k] != bits)
            fail_msg("element %lld: %llx, not %llx\n%s\n%s", (long long)k, (unsigned long long)v.array[root->id][k],
                     (unsigned long long)bits, j->text, b.text);
    }
    if (j->printed) assert_string_equal(b.text, j->printed);
}

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"

/* Rows minus their sum: moves vanish, what is read twice has a definition. */
static void test_rows(void **state)
{
    Job j = {.text = ADD "ENTRY e { x = f32[4,6] parameter(0) t = f32[6,4] transpose(x), dimensions={1,0} "
                     "n = f32[6,4] negate(t) zero = f32[] constant(0) "
                     "s = f32[6] reduce(n, zero), dimensions={1}, to_apply=add "
                     "w = f32[6,4] broadcast(s), dimensions={0} ROOT y = f32[6,4] subtract(n, w) }",
             .printed = "x: f32[4,6] is parameter 0\n"
                        "n[d0 < 6, d1 < 4]: f32 := neg.f32(x[d1, d0])\n"
                        "s[d0 < 6]: f32 := add.f32[k0 < 4] n[d0, k0] from 0.0:f32\n"
                        "y[d0 < 6, d1 < 4]: f32 := sub.f32(n[d0, d1], s[d0])\n"};
    succeed_on(*state, compare, &j, j.text);
}

static void test_choices(void **state)
{
    Job j = {.text = "ENTRY e { x = s32[5] parameter(0) k = s32[] constant(7) "
                     "p = s32[8] pad(x, k), padding=2_1 y = s32[3] parameter(1) "
                     "c = s32[11] concatenate(y, p), dimensions={0} ROOT r = s32[11] reverse(c), dimensions={0} }"};
    succeed_on(*state, compare, &j, j.text);
    assert_int_equal(j.defined, 3);
}

/* What is read at elements of an array, which are clamped; two columns of starts that are one array are read twice. */
static void test_starts(void **state)
{
    Job gather = {.text = "ENTRY e { x = f32[7,4] parameter(0) l = s32[5,1] parameter(1) n = s32[5,1] negate(l) "
                          "ROOT r = f32[5,1,4] gather(x, n), offset_dims={1,2}, collapsed_slice_dims={}, "
                          "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4} }",
                  .printed = "x: f32[7,4] is parameter 0\nl: s32[5,1] is parameter 1\n"
                             "r[d0 < 5, 0, d2 < 4]: f32 := x[s0, d2] "
                             "let s0 = min.i32(max.i32(neg.i32(l[d0, 0]), 0), 6) in 0..7\n"};
    Job columns = {.text = "ENTRY e { x = s32[6,6] parameter(0) l = s8[4] parameter(1) v = s8[4,1] reshape(l) "
                           "w = s8[4,1] negate(v) i = s8[4,1] iota(), iota_dimension=0 "
                           "p = s8[4,2] concatenate(w, i), dimensions={1} "
                           "g = s32[4,2,3] gather(x, p), offset_dims={1,2}, collapsed_slice_dims={}, "
                           "start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,3} "
                           "ROOT r = s32[4,2,3] abs(g) }"};
    Job slice = {.text = "ENTRY e { x = f32[9,4] parameter(0) i = s32[] parameter(1) z = s32[] constant(-3) "
                         "ROOT r = f32[5,4] dynamic-slice(x, i, z), dynamic_slice_sizes={5,4} }"};
    Job update = {.text = "ENTRY e { x = f32[9] parameter(0) u = f32[4] parameter(1) i = s32[] parameter(2) "
                          "j = s32[] negate(i) n = f32[4] negate(u) ROOT r = f32[9] dynamic-update-slice(x, n, j) }"};
    Job *all[] = {&gather, &columns, &slice, &update};
    for (size_t k = 0; k < WBB_LEN(all); k++) succeed_on(*state, compare, all[k], all[k]->text);
    assert_int_equal(columns.defined, 3);
}

static void test_windows(void **state)
{
    Job j = {.text = ADD "ENTRY e { x = f32[3,7] parameter(0) z = f32[] constant(2) w = f32[3,4] "
                     "reduce-window(x, z), window={size=1x3 stride=1x2 pad=0_0x1_1}, to_apply=add "
                     "b = f32[12] reshape(w) i = f32[12] iota(), iota_dimension=0 m = f32[12] multiply(b, i) "
                     "ROOT r = f32[2,6] reshape(m) }"};
    succeed_on(*state, compare, &j, j.text);
    assert_int_equal(j.defined, 3);
}

static void test_elements(void **state)
{
    Job j = {.text = "ENTRY e { x = f32[6] parameter(0) y = s8[6] parameter(1) l = f32[] constant(-1) "
                     "h = f32[] constant(2) c = f32[6] clamp(l, x, h) v = f32[6] convert(y) "
                     "q = pred[6] compare(c, v), direction=LT k = f32[6] constant({1,2,3,4,5,6}) "
                     "s = f32[6] select(q, k, v) b = s32[6] bitcast-convert(s) ROOT o = s32[6] abs(b) }"};
    succeed_on(*state, compare, &j, j.text);
}

/* Floats of other types become the result's. */
static void test_types(void **state)
{
    Job j = {.text = "ENTRY e { x = bf16[5] parameter(0) k = f32[] constant(7) p = bf16[8] pad(x, k), padding=2_1 "
                     "ROOT r = bf16[8] negate(p) }"};
    succeed_on(*state, compare, &j, j.text);
    assert_int_equal(j.defined, 2);
}

static void test_products(void **state)
{
    Job dot = {.text = "ENTRY e { x = s8[3,4] parameter(0) y = s8[5,4] parameter(1) t = s8[4,5] transpose(y), "
                       "dimensions={1,0} ROOT r = s32[3,5] dot(x, t), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0} }",
               .printed = "x: s8[3,4] is parameter 0\ny: s8[5,4] is parameter 1\n"
                          "r[d0 < 3, d1 < 5]: i32 := add.i32[k0 < 4] "
                          "mul.i32(cvt.i32.i8(x[d0, k0]), cvt.i32.i8(y[d1, k0])) from 0:i32\n"};
    Job wide = {.text = "ENTRY e { x = bf16[2,6] parameter(0) y = bf16[6] parameter(1) ROOT r = bf16[2] dot(x, y), "
                        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"};
    Job convolution = {.text = "ENTRY e { x = f32[1,6,2] parameter(0) y = f32[3,2,2] parameter(1) ROOT r = f32[1,6,2] "
                               "convolution(x, y), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f }"};
    succeed_on(*state, compare, &dot, dot.text);
    succeed_on(*state, compare, &wide, wide.text);
    succeed_on(*state, compare, &convolution, convolution.text);
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

typedef struct { const char *text, *of; double wanted, evaluated; bool shared; } Count;

static void count(WbbCx *cx, void *arg)
{
    const Count *j = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", j->text, strlen(j->text));
    double *n = WBB_NEW_N(cx->arena, double, m->entry->n_instructions + 1);
    n[m->entry->root->id] = j->wanted;
    gr_evaluations(cx->arena, gr_make(cx, cx->arena, m->entry), j->shared, n);
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        if (!strcmp(m->entry->instructions[k]->name, j->of)) assert_true(n[k] == j->evaluated);
}

/* Readers at their own index share a value; equal reads are one, other reads are as many as they are. */
static void test_evaluations(void **state)
{
#define ROWS ADD "ENTRY e { x = f32[6,4] parameter(0) a = f32[6,4] sine(x) z = f32[] constant(0) " \
                 "s = f32[6] reduce(a, z), dimensions={1}, to_apply=add w = f32[6,4] broadcast(s), dimensions={0} " \
                 "v = f32[6,4] broadcast(s), dimensions={0} m = f32[6,4] multiply(w, v) " \
                 "ROOT y = f32[6,4] divide(a, m) }"
#define SHIFTS "ENTRY e { x = f32[8] parameter(0) e = f32[8] sine(x) a = f32[6] slice(e), slice={[0:6]} " \
               "b = f32[6] slice(e), slice={[1:7]} w = f32[6] add(a, b) c = f32[4] slice(w), slice={[0:4]} " \
               "d = f32[4] slice(w), slice={[2:6]} ROOT y = f32[4] add(c, d) }"
    const Count all[] = {
        {ROWS, "s", 1, 1, true}, {ROWS, "a", 1, 1, true}, {ROWS, "s", 24, 24, false}, {ROWS, "a", 24, 120, false},
        {SHIFTS, "w", 4, 8, false}, {SHIFTS, "e", 4, 16, false},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        Count j = all[k];
        succeed_on(*state, count, &j, j.text);
    }
}

typedef struct { const char *indices; int64_t neighbours; } Neighbours;

static void count_neighbours(WbbCx *cx, void *arg)
{
    const Neighbours *j = arg;
    const char *text = wbb_format(
        cx->arena,
        ADD "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n"
        "less { a = s32[] parameter(0) b = s32[] parameter(1) p = f32[] parameter(2) q = f32[] parameter(3) "
        "ROOT c = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = f32[64] parameter(0) i = s32[4096] parameter(1) u = f32[4096] parameter(2) "
        "zero = s32[] constant(0) count = s32[4096] iota(), iota_dimension=0 c32 = s32[] constant(32) "
        "all32 = s32[4096] broadcast(c32), dimensions={} part = s32[4096] divide(count, all32) "
        "two = s32[512] iota(), iota_dimension=0 eight = s32[512,8] broadcast(two), dimensions={0} "
        "each = s32[4096] reshape(eight) order = (s32[4096], f32[4096]) sort(i, u), dimensions={0}, to_apply=less "
        "key = s32[4096] get-tuple-element(order), index=0 value = f32[4096] get-tuple-element(order), index=1 %s "
        "ROOT r = f32[64] scatter(x, last, value), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }", j->indices);
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    GrGraph *x = NULL;
    assert_int_equal(gr_neighbours(cx, cx->arena, m->entry, m->entry->root, &x), j->neighbours);
}

/* Indices that depend on no data are computed and counted; sorts and running sums have runs of unknown length, and so
 * have functions of them. Data has none, whatever becomes of it, but where one element of it is read for several. */
static void test_neighbours(void **state)
{
    const Neighbours all[] = {
        {"last = s32[4096] copy(part)", 32},
        {"last = s32[4096] copy(each)", 8},
        {"last = s32[4096] reverse(each), dimensions={0}", 8},
        {"last = s32[4096] add(key, all32)", HLO_SOME},
        {"last = s32[4096] add(i, all32)", 0},
        {"last = s32[4096] copy(count)", 0},
        {"last = s32[4096] reduce-window(i, zero), window={size=4096 pad=4095_0}, to_apply=sum", HLO_SOME},
        {"last = s32[4096] reduce-window(i, zero), window={size=4095 pad=2047_2047}, to_apply=sum", 0},
        {"z = s32[4096] broadcast(zero), dimensions={} last = s32[4096] clamp(z, i, all32)", 0},
        {"q = pred[4096] compare(i, all32), direction=LT last = s32[4096] convert(q)", 0},
        {"j = s32[1024] slice(i), slice={[0:1024]} k = s32[1024,4] broadcast(j), dimensions={0} "
         "last = s32[4096] reshape(k)", 4},
        {"v = s32[4096,1] reshape(each) last = s32[4096] gather(i, v), offset_dims={}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1}", 8},
        {"v = s32[4096,1] reshape(i) last = s32[4096] gather(key, v), offset_dims={}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1}", 0},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        Neighbours j = all[k];
        succeed_on(*state, count_neighbours, &j, j.indices);
    }
}

typedef struct { const char *indices; bool unique; } Apart;

static void ask_unique(WbbCx *cx, void *arg)
{
    const Apart *j = arg;
    const char *text = wbb_format(
        cx->arena,
        ADD "ENTRY e { x = f32[100,9] parameter(0) u = f32[12,3,1] parameter(1) p = s32[12,1] parameter(2) "
        "n = s32[12,1] iota(), iota_dimension=0 c3 = s32[] constant(3) c2 = s32[] constant(2) "
        "threes = s32[12,1] broadcast(c3), dimensions={} twos = s32[12,1] broadcast(c2), dimensions={} "
        "by3 = s32[12,1] multiply(n, threes) by2 = s32[12,1] multiply(twos, n) %s "
        "ROOT r = f32[100,9] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add }", j->indices);
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    GrGraph *x = NULL;
    assert_int_equal(gr_is_unique(cx, cx->arena, m->entry, m->entry->root, &x), j->unique);
}

/* A column that moves by a window of three and more, whatever operations made it, and never leaves its type; of single
 * elements, in the other dimension, by one. */
static void test_unique(void **state)
{
#define BOTH " i = s32[12,2] concatenate(a, b), dimensions={1}"
    const Apart all[] = {
        {"a = s32[12,1] copy(by3) b = s32[12,1] copy(p)" BOTH, true},
        {"a = s32[12,1] copy(by2) b = s32[12,1] copy(p)" BOTH, false},
        {"a = s32[12,1] copy(p) b = s32[12,1] copy(n)" BOTH, true},
        {"a = s32[12,1] copy(p) b = s32[12,1] divide(n, twos)" BOTH, false},
        {"a = s32[12,1] copy(p) b = s32[12,1] maximum(n, twos)" BOTH, false},
        {"a = s32[12,1] add(by2, n) b = s32[12,1] copy(p)" BOTH, true},
        {"a = s32[12,1] subtract(by3, n) b = s32[12,1] copy(p)" BOTH, false},
        {"v = s32[12,1] reverse(by3), dimensions={0} a = s32[12,1] add(v, twos) b = s32[12,1] copy(p)" BOTH, true},
        {"h = u8[12,1] convert(by3) a = s32[12,1] convert(h) b = s32[12,1] copy(p)" BOTH, true},
        {"c = s32[] constant(30) cc = s32[12,1] broadcast(c), dimensions={} w = s32[12,1] multiply(n, cc) "
         "h = s8[12,1] convert(w) a = s32[12,1] convert(h) b = s32[12,1] copy(p)" BOTH, false},
        {"o = s32[] constant(0) z = s32[12,1] broadcast(o), dimensions={} q = pred[12,1] compare(by3, z), direction=LT "
         "e = s32[12,1] add(by3, threes) a = s32[12,1] select(q, e, by3) b = s32[12,1] copy(p)" BOTH, true},
        {"q = pred[12,1] compare(by3, threes), direction=LT e = s32[12,1] add(by3, threes) "
         "a = s32[12,1] select(q, e, by3) b = s32[12,1] copy(p)" BOTH, false},
        {"m = s32[3,4] iota(), iota_dimension=0 l = s32[3,4] iota(), iota_dimension=1 k = s32[] constant(12) "
         "kk = s32[3,4] broadcast(k), dimensions={} s = s32[3,4] broadcast(c3), dimensions={} "
         "f = s32[3,4] multiply(m, kk) g = s32[3,4] multiply(l, s) t = s32[3,4] add(f, g) a = s32[12,1] reshape(t) "
         "b = s32[12,1] copy(p)" BOTH, true},
        {"m = s32[3,4] iota(), iota_dimension=0 a = s32[12,1] reshape(m) b = s32[12,1] copy(p)" BOTH, false},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        Apart j = all[k];
        succeed_on(*state, ask_unique, &j, j.indices);
    }
}

/* An identity leaves each value as it is, to the bit but for nan, at every type of up to 16 bits. */
static void test_identities(void **state)
{
    static const ScOp combiners[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN, OP_BAND, OP_BOR, OP_BXOR};
    uint32_t known = 0;
    (void)state;
    for (ScType t = 0; t < SC_TYPE_COUNT; t++)
        for (size_t k = 0; k < WBB_LEN(combiners); k++) {
            uint64_t identity, bits;
            if (sc_type_info[t].bits > 16 || !gr_identity(combiners[k], t, &identity)) continue;
            known++;
            for (uint64_t x = 0; x <= sc_mask(t); x++) {
                if (!sc_eval(combiners[k], t, t, (uint64_t[]){x, identity, 0}, &bits)) break;
                const bool nan = sc_is_float(t) && sc_to_f64(t, x) != sc_to_f64(t, x);
                if (!nan && bits != x) fail_msg("%s.%s: %llx", sc_op_info[combiners[k]].name, sc_type_info[t].name,
                                                (unsigned long long)x);
            }
        }
    assert_true(known > 60);
    uint64_t bits;
    assert_true(gr_identity(OP_ADD, SC_F8E4M3FNUZ, &bits) && bits == 0); /* which has no -0 */
    assert_false(gr_identity(OP_MAX, SC_F8E4M3FN, &bits));               /* and no infinity */
}

typedef struct { const char *body; GrAnswer answer; } Law;

static void ask_law(WbbCx *cx, void *arg)
{
    const Law *j = arg;
    const char *text = wbb_format(cx->arena, "f { a = f32[] parameter(0) b = f32[] parameter(1) %s }\n"
                                  "ENTRY e { x = f32[8] parameter(0) z = f32[] constant(0) "
                                  "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f }", j->body);
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    assert_int_equal(gr_associates(cx, cx->arena, m->entry->root->called[0]), j->answer);
}

/* No, or it seems so: what is not exact on small integers is not tested. */
static void test_laws(void **state)
{
    const Law all[] = {
        {"ROOT r = f32[] add(a, b)", GR_SEEMS},
        {"ROOT r = f32[] subtract(a, b)", GR_NO},
        {"s = f32[] add(a, b) ROOT r = f32[] maximum(s, a)", GR_NO},
        {"q = pred[] compare(a, b), direction=LT ROOT r = f32[] select(q, b, a)", GR_SEEMS},
        {"q = pred[] compare(a, b), direction=LT, type=TOTALORDER ROOT r = f32[] select(q, b, a)", GR_SEEMS},
        {"x = s32[] convert(a) y = s32[] convert(b) s = s32[] add(x, y) ROOT r = f32[] convert(s)", GR_SEEMS},
        {"x = f32[] exponential(a) y = f32[] add(x, b) ROOT r = f32[] log(y)", GR_OPEN},
    };
    for (size_t k = 0; k < WBB_LEN(all); k++) {
        Law j = all[k];
        succeed_on(*state, ask_law, &j, j.body);
    }
}

/* Chains and diamonds deeper than a term may nest: linear in the text, and right. */
static void test_depth(void **state)
{
    WbbCx *cx = *state;
    for (int diamonds = 0; diamonds < 2; diamonds++) {
        WbbBuf b = wbb_buf(cx->arena);
        wbb_put(&b, "ENTRY e { x0 = s32[2,3] parameter(0)\n");
        for (int k = 1; k <= 200; k++) {
            wbb_putf(&b, "t%d = s32[3,2] transpose(x%d), dimensions={1,0}\n", k, k - 1);
            wbb_putf(&b, "u%d = s32[2,3] reshape(t%d)\n", k, k);
            wbb_putf(&b, diamonds ? "x%d = s32[2,3] add(u%d, u%d)\n" : "x%d = s32[2,3] negate(u%d)\n", k, k, k);
        }
        wbb_put(&b, "ROOT y = s32[2,3] negate(x200) }");
        Job j = {.text = b.text};
        succeed_on(cx, compare, &j, j.text);
        assert_true(diamonds ? j.defined == 201 : j.defined < 60);
    }
}

/* --- random moves ------------------------------------------------------------------------------------------------- */

static int64_t extent(uint32_t most) { return 1 + (int64_t)below(most); }

/* Appends the text of x<k>, which is made of x<k-1> of m times n elements; d: the extents, which become its own. */
static void put_random(WbbArena *a, WbbBuf *b, int k, int64_t *d)
{
    const int64_t m = d[0], n = d[1];
    const int from = k - 1;
    const char *text;
    switch (d[0] * d[1] < 200 ? below(9) : 9) {
    case 0: text = wbb_format(a, "transpose(x%d), dimensions={1,0}", from), d[0] = n, d[1] = m; break;
    case 1: text = wbb_format(a, "reshape(x%d)", from), d[0] = n, d[1] = m; break;
    case 2: text = wbb_format(a, "reverse(x%d), dimensions={%u}", from, below(2)); break;
    case 3:
        d[0] = extent((uint32_t)m), d[1] = (n + 1) / 2;
        text = wbb_format(a, "slice(x%d), slice={[%lld:%lld],[0:%lld:2]}", from, (long long)(m - d[0]), (long long)m,
                          (long long)n);
        break;
    case 4: {
        const int64_t low = n > 1 ? (int64_t)below(3) - 1 : 1, high = extent(2), between = below(2);
        d[0] = m + (m - 1) * between + 2, d[1] = n + low + high;
        text = wbb_format(a, "pad(x%d, c), padding=1_1_%lldx%lld_%lld", from, (long long)between, (long long)low,
                          (long long)high);
        break;
    }
    case 5: text = wbb_format(a, "concatenate(x%d, x%d), dimensions={1}", from, from), d[1] = 2 * n; break;
    case 6:
        wbb_putf(b, "r%d = s32[%lld] reduce(x%d, c), dimensions={1}, to_apply=f\n", k, (long long)m, from);
        text = wbb_format(a, "broadcast(r%d), dimensions={0}", k), d[1] = 3;
        break;
    case 7:
        wbb_putf(b, "i%d = s32[%lld,%lld] iota(), iota_dimension=%u\n", k, (long long)m, (long long)n, below(2));
        text = wbb_format(a, "add(x%d, i%d)", from, k);
        break;
    case 8: text = wbb_format(a, "multiply(x%d, x%d)", from, from); break;
    default: text = wbb_format(a, "negate(x%d)", from); break;
    }
    wbb_putf(b, "x%d = s32[%lld,%lld] %s\n", k, (long long)d[0], (long long)d[1], text);
}

static void test_random(void **state)
{
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        WbbCx *cx = wbb_cx_new();
        WbbBuf b = wbb_buf(cx->arena);
        int64_t d[2] = {extent(5), extent(5)};
        const int steps = 1 + (int)below(8);
        wbb_put(&b, "f { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n");
        wbb_putf(&b, "ENTRY e { c = s32[] constant(3)\nx0 = s32[%lld,%lld] parameter(0)\n", (long long)d[0],
                 (long long)d[1]);
        for (int k = 1; k <= steps; k++) put_random(cx->arena, &b, k, d);
        wbb_putf(&b, "ROOT y = s32[%lld,%lld] negate(x%d) }", (long long)d[0], (long long)d[1], steps);
        Job j = {.text = b.text};
        succeed_on(cx, compare, &j, j.text);
        wbb_cx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows), TEST(test_choices), TEST(test_starts), TEST(test_windows), TEST(test_elements),
        TEST(test_types), TEST(test_products), TEST(test_evaluations),
        TEST(test_neighbours), TEST(test_unique), TEST(test_identities), TEST(test_laws), TEST(test_depth),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

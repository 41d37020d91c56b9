/* ir: texts parse and print back, bad texts are refused at their place, sums are canonical, and the verifier finds
 * broken kernels. */
#include "ir/ir.h"

#include "unit.h"

typedef struct {
    const char *text;
    char *printed;
} Round;

static void parse_print(WbbCx *cx, void *arg)
{
    Round *r = arg;
    const IrKernel *k = ir_parse(cx, cx->arena, "t.ir", r->text, strlen(r->text));
    ir_verify(k);
    WbbBuf b = wbb_buf(cx->arena);
    ir_print(&b, k);
    r->printed = b.text;
}

/* `text` prints as `expected`, and that as itself. */
static void prints(const char *text, const char *expected)
{
    WbbCx *cx = wbb_cx_new();
    Round once = {.text = text};
    succeed_on(cx, parse_print, &once, text);
    assert_string_equal(once.printed, expected);
    Round twice = {.text = once.printed};
    succeed_on(cx, parse_print, &twice, twice.text);
    assert_string_equal(twice.printed, expected);
    wbb_cx_free(cx);
}

static void refused(const char *text, const char *message)
{
    WbbCx *cx = wbb_cx_new();
    stop(cx, parse_print, &(Round){.text = text}, WBB_FAILED, message);
    wbb_cx_free(cx);
}

#define HEAD "kernel @k(%in: f32[64], %out: out f32[64]) block 32 grid 2 "

static void test_round_trip(void **state)
{
    (void)state;
    prints("kernel @relu.1(%in: bf16[4096], %p-1: pred[8] align 4, %out: out bf16[4096]) block 128 grid 4 {\n"
           "  let t = 128*bid + tid in 0..512\n"
           "  for v in 0..8 lanes 8 {\n"
           "    x1 = load %in[8*t + v]\n"
           "    if load %p-1[v] {\n"
           "      store %out[8*t + v], max.bf16(x1, 0.0)\n"
           "    } else {\n"
           "      store %out[8*t + v], select.bf16(lt.bf16(x1, -0.0), nan, 1e+30)\n"
           "    }\n"
           "  }\n"
           "}\n",
           "kernel @relu.1(%in: bf16[4096], %p-1: pred[8] align 4, %out: out bf16[4096]) block 128 grid 4 {\n"
           "  let t = 128*bid + tid in 0..512\n"
           "  for v in 0..8 lanes 8 {\n"
           "    x1 = load %in[8*t + v]\n"
           "    if load %p-1[v] {\n"
           "      store %out[8*t + v], max.bf16(x1, 0.0)\n"
           "    } else {\n"
           "      store %out[8*t + v], select.bf16(lt.bf16(x1, -0.0), nan, 1e+30)\n"
           "    }\n"
           "  }\n"
           "}\n");
}

static void test_what_a_person_writes(void **state)
{
    (void)state;
    prints("# a comment\nkernel@k(%in:f32[64],%out:out f32[64])block 32 grid 2{let t=tid+bid*32 in 0..64 "
           "store%out[2*(t+1)-t-2],add.f32(1,load%in[t])}",
           HEAD "{\n"
                "  let t = 32*bid + tid in 0..64\n"
                "  store %out[t], add.f32(load %in[t], 1.0)\n"
                "}\n");
}

static void test_index(void **state)
{
    (void)state;
    prints(HEAD
           "{\n"
           "  x1 = (32*bid - tid) // 7\n"
           "  if lt.index(min.index(tid, x1), -3) {\n"
           "    store %out[-3*((tid // 8) % 4) - x1 + 5], cvt.f32.i32(idx.i32(x1))\n"
           "  }\n"
           "  store %out[-(7 // 2) % 4 + 9223372036854775807], floor.f32.approx.nnan(load %in[floordiv.wide(tid, 3)])\n"
           "}\n",
           HEAD
           "{\n"
           "  x1 = (32*bid - tid) // 7\n"
           "  if lt.index(min.index(tid, x1), -3) {\n"
           "    store %out[-3*((tid // 8) % 4) - x1 + 5], cvt.f32.i32(idx.i32(x1))\n"
           "  }\n"
           "  store %out[-(7 // 2) % 4 + 9223372036854775807], floor.f32.approx.nnan(load %in[floordiv.wide(tid, 3)])\n"
           "}\n");
}

static void test_wide(void **state)
{
    (void)state;
    const char *text = "kernel @k(%out: out f32[68719476736]) block 1024 grid 2147483647 {\n"
                       "  let t = sum.wide(1024*bid + tid) in 0..34359738368\n"
                       "  if lt.index(wide(t), wide(30000000000)) {\n"
                       "    store %out[sum.wide(2*wide(t) + tid % 2)], cvt.f32.i64(idx.i64(mod.wide(wide(t), 8)))\n"
                       "  }\n"
                       "}\n";
    prints(text, text);
    refused(HEAD "{ store %out[wide(8*tid)], 1.0 }", "takes a name or a number");
    refused(HEAD "{ store %out[sum.wide(tid)], 1.0 }", "the operand is not a sum");
}

static void test_vectors(void **state)
{
    (void)state;
    const char *text = HEAD
        "{\n"
        "  x1 = part.f32x2<2>(load.f32x8 %in[8*tid])\n"
        "  store %out[8*tid], pack.f32x4(instr.f32x2<12>(x1, 0.5:f32x2), add.f32x2(x1, 1.0))\n"
        "  store %out[8*tid + 4], select.f32x2(lt.f32x2(x1, splat.f32x2(3.0)), part.f32x2<0>(0.25:f32x4), 2.0)\n"
        "  store %out[8*tid + 6], -inf\n"
        "  store %out[8*tid + 7], nan(0x7fc00001)\n"
        "}\n";
    prints(text, text);
}

/* The order in which operands were made may differ between the printed graph and the parsed one; the text must not. */
static void test_operand_order(void **state)
{
    WbbCx *cx = *state;
    IrKernel k = {.name = "k", .block = 1, .grid = 1};
    IrBuffer buffers[2] = {{.name = "in", .type = SC_F32, .elements = 64, .align = 16},
                           {.name = "out", .space = IR_OUT, .type = SC_F32, .elements = 64, .align = 16}};
    IrGraph *g = k.g = ir_graph_new(cx, cx->arena);
    k.buffers = buffers, k.n_buffers = 2;
    const IrType f32 = IR_TYPE(SC_F32, 0);
    const IrRef arg = ir_node(g, OP_ARG, 0, 0, 0, 0, 0, 0);
    const IrRef a = ir_node(g, OP_NEG, f32, 0, ir_node(g, OP_LOAD, f32, 0, arg, ir_index(g, 0), 0, 0), 0, 0, 0);
    const IrRef b = ir_node(g, OP_NEG, f32, 0, ir_node(g, OP_LOAD, f32, 0, arg, ir_index(g, 1), 0, 0), 0, 0, 0);
    const IrRef values[2] = {ir_node(g, OP_ABS, f32, 0, b, 0, 0, 0), ir_node(g, OP_ADD, f32, 0, a, b, 0, 0)};
    for (uint32_t i = 0; i < 2; i++) {
        IrStmt *s = ir_stmt(g, &k.body, IR_STORE);
        s->buffer = 1, s->index = ir_index(g, i), s->value = values[i];
    }
    ir_verify(&k);
    WbbBuf out = wbb_buf(cx->arena);
    ir_print(&out, &k);
    prints(out.text, out.text);
}

static void test_deep(void **state)
{
    WbbCx *cx = *state;
    Round r = {0};
    WbbBuf b = wbb_buf(cx->arena);
    wbb_put(&b, HEAD "{\n  x0 = load %in[tid]\n");
    for (int i = 1; i < 3000; i++) wbb_putf(&b, "  x%d = neg.f32(abs.f32(x%d))\n", i, i - 1);
    wbb_put(&b, "  store %out[tid], x2999\n}\n");
    r.text = b.text;
    assert_int_equal(wbb_guard(cx, parse_print, &r), WBB_OK);
    prints(r.printed, r.printed);
}

static void test_refused(void **state)
{
    WbbCx *cx = *state;
    refused("", "t.ir:1:1: error: expected 'kernel', found the end");
    refused("kernel @k(%a: f32[4]", "expected ','");
    refused("kernel @k(%a: f33[4]) block 1 grid 1 {}", "t.ir:1:15: error: no type is called 'f33'");
    refused("kernel @k(%a: s32[4]) block 1 grid 1 {}", "no type is called 's32'");
    refused("kernel @k(%a: f32x2[4]) block 1 grid 1 {}", "a buffer cannot have this type");
    refused("kernel @k(%a: f32[4], %a: f32[4]) block 1 grid 1 {}", "two buffers");
    refused("kernel @k() block 0 grid 1 {}", "between 1 and 1024");
    refused("kernel @k() block 1 grid 1 {} x", "expected the end");
    refused(HEAD "{ store %in[0], 1.0 }", "is not an output");
    refused(HEAD "{\n  store %out[0], x\n}", "t.ir:2:18: error: nothing is called 'x' here");
    refused(HEAD "{ store %out[0], add.f32(1.0) }", "'add' has 2 operands, 1 are given");
    refused(HEAD "{ store %out[0], add.f32(1.0, true) }", "'true' is not a value of f32");
    refused(HEAD "{ store %out[0], add.f32(1.0, tid) }", "expected a value of type f32, found one of type index");
    refused(HEAD "{ store %out[0], frob.f32(1.0) }", "no operation is called 'frob'");
    refused(HEAD "{ store %out[0], add.f32.fast(1.0, 2.0) }", "no type or flag is called 'fast'");
    refused(HEAD "{ store %out[0], add(1.0, 2.0) }", "'add' needs one type");
    refused(HEAD "{ store %out[0], cvt.f32(1.0) }", "needs two types");
    refused(HEAD "{ store %out[0], band.f32(1.0, 1.0) }", "does not exist for type f32");
    refused(HEAD "{ store %out[tid*bid], 1.0 }", "one factor");
    refused(HEAD "{ store %out[tid // 0], 1.0 }", "must be positive");
    refused(HEAD "{ store %out[18446744073709551617], 1.0 }", "more than 64 bits");
    refused(HEAD "{ store %out[4611686018427387904*(4*tid)], 1.0 }", "more than 64 bits");
    refused(HEAD "{ store %out[9223372036854775807 + 1], 1.0 }", "more than 64 bits");
    refused(HEAD "{ let t = tid in 4..4 }", "the interval is empty");
    refused(HEAD "{ let tid = 0 in 0..1 }", "has a meaning here already");
    refused(HEAD "{ for v in 0..8 lanes 4 { } }", "the interval of 4 lanes");
    refused(HEAD "{ for v in 0..8 { } store %out[v], 1.0 }", "nothing is called 'v'");
    refused(HEAD "{ if tid { } }", "expected a value of type pred");
    refused(HEAD "{ store %out[0], part.f32<2>(1.0:f32x2) }", "no such part");
    refused(HEAD "{ store %out[0], cvt.f32.i8(200) }", "200 does not fit in i8");
    refused(HEAD "{ store %out[8 // tid], 1.0 }", "must be positive");
    refused(HEAD "{ store %out[0], load.i32x2 %in[0] }", "has another type");
    refused(HEAD "{ store %out[0], cvt.f32x2.i32(1) }", "keeps the number of lanes");
    refused(HEAD "{ store %out[0], 5:indexx2 }", "no type is called 'indexx2'");
    refused(HEAD "{ store %out[0], nan(0x1) }", "is not a nan of f32");
    refused(HEAD "{ store %out[0], nan(7) }", "is not a nan of f32");
    refused(HEAD "{ store %out[-\n\n y], 1.0 }", "t.ir:3:2: error: nothing is called 'y'");
    refused(HEAD "{ store %out[0], \x01 }", "byte 0x01");
    WbbBuf b = wbb_buf(cx->arena);
    wbb_put(&b, HEAD "{ store %out[0], ");
    for (int i = 0; i < 100000; i++) wbb_put(&b, "neg.f32(");
    refused(b.text, "nested deeper than");
    b = wbb_buf(cx->arena);
    wbb_put(&b, HEAD "{ store %out[");
    for (int i = 0; i < 100000; i++) wbb_put(&b, "(");
    refused(b.text, "nested deeper than");
}

/* Any prefix of a good text, and any text with one byte changed, parses or is refused. */
static void test_damaged(void **state)
{
    WbbCx *cx = *state;
    const char *good = HEAD "{ let t = 32*bid + tid in 0..64 for v in 0..2 lanes 2 { x = load.f32x2 %in[t // 2] "
                            "store %out[2*t + v], part.f32<1>(add.f32x2(x, 1.5)) } if lt.index(t, 3) { } else { } "
                            "a, b = for k in 0..2 carry c = 0.0:f32, d = 1:i32 { e = if lt.i32(d, 3) { yield c } else "
                            "{ yield 1.0 } yield e, d } "
                            "let r = index(b) in 0..2 store %out[r], a }";
    const size_t n = strlen(good);
    Round r = {0};
    char *copy = wbb_format(cx->arena, "%s", good);
    for (size_t i = 0; i < n; i++) {
        static const char bytes[] = "x0%.-({\n";
        copy[i] = '\0';
        r.text = copy;
        wbb_guard(cx, parse_print, &r);
        for (size_t j = 0; bytes[j]; j++) {
            copy[i] = bytes[j];
            wbb_guard(cx, parse_print, &r);
        }
        copy[i] = good[i];
    }
    r.text = good;
    assert_int_equal(wbb_guard(cx, parse_print, &r), WBB_OK);
}

static void test_structure_round_trip(void **state)
{
    (void)state;
    /* names that are taken get a suffix; a carried value and a result may have the same name */
    prints("kernel @k(%in: f32[64], %out: out f32[8]) block 8 grid 1 { func @f(i in 0..8) -> f32, pred { yield load "
           "%in[i], lt.index(i, 3) } "
           "a = for k in 0..8 carry a = 0.0:f32 { yield add.f32(a, call @f(k)) } "
           "b, c = if call @f<1>(tid) { yield a, 1:i32 } else { yield 2, 3 } let r = index(c) in 0..4 store %out[tid], "
           "mul.f32(b, load %in[r]) }",
           "kernel @k(%in: f32[64], %out: out f32[8]) block 8 grid 1 {\n"
           "  func @f(i in 0..8) -> f32, pred {\n    yield load %in[i], lt.index(i, 3)\n  }\n"
           "  a = for k in 0..8 carry a = 0.0:f32 {\n    yield add.f32(a, call @f(k))\n  }\n"
           "  b, c = if call @f<1>(tid) {\n    yield a, 1:i32\n  } else {\n    yield 2.0, 3\n  }\n"
           "  let r = index(c) in 0..4\n  store %out[tid], mul.f32(b, load %in[r])\n}\n");
}

static void test_structure_refused(void **state)
{
    (void)state;
#define IN "kernel @k(%in: f32[64], %out: out f32[8]) block 8 grid 1 "
    refused(IN "{ a = for k in 0..8 carry c = 0.0 { yield c } }", "needs a type");
    refused(IN "{ a = for k in 0..8 carry c = 0.0:f32 { yield 1:i32 } }", "expected a value of type f32");
    refused(IN "{ a = for k in 0..8 { } }", "expected 'carry'");
    refused(IN "{ a, b = for k in 0..8 carry c = 0.0:f32 { yield c } }", "expected ','");
    refused(IN "{ a = if lt.index(tid, 3) { yield 1.0:f32 } }", "expected 'else'");
    refused(IN "{ a = if lt.index(tid, 3) { yield tid + 1 } else { yield 1 } }", "an index cannot be a result");
    refused(IN "{ if lt.index(tid, 3) { yield 1.0:f32 } }", "found 'yield'");
    refused(IN "{ a = for k in 0..8 carry c = 0.0:f32 { yield c } store %out[tid], c }", "nothing is called 'c'");
    refused(IN "{ a = if lt.index(tid, 3) { yield a } else { yield 0.0:f32 } }", "nothing is called 'a'");
    refused(IN "{ let r = index(load %in[tid]) in 0..4 }", "expected an integer, found f32");
    refused(IN "{ store %out[tid], call @f(tid) }", "no function is called '@f'");
    refused(IN "{ func @f(i in 0..8) -> f32 { yield call @f(i) } }", "no function is called '@f' so far");
    refused(IN "{ func @f(i in 0..8) -> f32 { yield 1.0 } store %out[tid], call @f() }", "'@f' has 1 parameters");
    refused(IN "{ func @f(i in 0..8) -> f32 { yield 1.0 } store %out[tid], call @f<1>(tid) }",
            "the number of the result");
    refused("kernel @k(%a: f32[8], %b: inout %a f32[9]) block 8 grid 1 { }", "one type and size");
    refused("kernel @k(%a: f32[8], %b: inout %a f32[8], %c: inout %a f32[8]) block 8 grid 1 { }",
            "another output already");
#undef IN
}

/* A kernel built by calls equals the one parsed from its text. */
static void test_structure_built(void **state)
{
    WbbCx *cx = *state;
    const char *text = "kernel @k(%out: out f32[8]) block 8 grid 1 { s = for k in 0..3 carry s = 1.0:f32 { yield "
                       "add.f32(s, s) } store %out[0], s }";
    IrKernel *k = ir_parse(cx, cx->arena, "t.ir", text, strlen(text));
    IrGraph *g = ir_graph_new(cx, cx->arena);
    IrKernel made = *k;
    made.g = g;
    made.body = (IrBlock){0};
    IrStmt *loop = ir_stmt(g, &made.body, IR_FOR);
    loop->var = ir_var_new(g, "k", IR_LOOP, 0, 2, 0);
    const uint32_t i = ir_carry(g, loop, "s", ir_const(g, IR_TYPE(SC_F32, 0), 0x3f800000));
    const IrRef carried = ir_value(g, loop->results[i].carried);
    loop->results[i].yield = ir_node(g, OP_ADD, IR_TYPE(SC_F32, 0), 0, carried, carried, 0, 0);
    IrStmt *store = ir_stmt(g, &made.body, IR_STORE);
    store->index = ir_index(g, 0);
    store->value = ir_value(g, loop->results[i].value);
    ir_verify(&made);
    WbbBuf a = wbb_buf(cx->arena), b = wbb_buf(cx->arena);
    ir_print(&a, k);
    ir_print(&b, &made);
    assert_string_equal(a.text, b.text);
    IrRefs nodes = {0};
    ir_roots(g, cx->arena, &made.body, &nodes);
    ir_gather(g, cx->arena, &nodes, WBB_NEW_N(cx->arena, uint8_t, g->n));
    assert_int_equal(nodes.n, 5); /* 1.0, the carried value, their sum, 0, the result */
    for (uint32_t n = 1; n < nodes.n; n++) assert_true(nodes.items[n - 1] < nodes.items[n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_what_a_person_writes), TEST(test_index),
        TEST(test_wide),       TEST(test_vectors),    TEST(test_operand_order),        TEST(test_deep),
        TEST(test_refused),    TEST(test_damaged),    TEST(test_structure_round_trip),
        TEST(test_structure_refused), TEST(test_structure_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

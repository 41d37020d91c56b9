/* hlo_parse: modules are parsed as written and print back; what is wrong is refused at its place. */
#include "hlo_texts.h"

typedef struct {
    const char *text;
    HloModule *module, **modules;
    uint32_t n_modules;
    HloFusion fusion;
} Parsed;

static void parse_all(WbbCx *cx, void *arg)
{
    Parsed *p = arg;
    p->n_modules = hlo_parse_all(cx, cx->arena, "t.hlo", p->text, strlen(p->text), &p->modules);
}

static void find_fusion(WbbCx *cx, void *arg)
{
    Parsed *p = arg;
    p->fusion = hlo_fusion(cx, p->module);
}

/* Parses a text, which must succeed, in the context's arena. */
static HloModule *module_of(WbbCx *cx, const char *text)
{
    Job j = job(cx, text);
    succeed_on(cx, parse, &j, text);
    return j.module;
}

static const char *printed(WbbCx *cx, const HloModule *m)
{
    WbbBuf out = wbb_buf(cx->arena);
    hlo_print(&out, m);
    return out.text;
}

static const HloInstruction *named(const HloModule *m, const char *name)
{
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        if (strcmp(m->entry->instructions[k]->name, name) == 0) return m->entry->instructions[k];
    fail_msg("no instruction %s", name);
    return NULL;
}

static void test_opcodes(void **state)
{
    (void)state;
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        const char *name = hlo_opcode_name((HloOpcode)op);
        assert_int_equal(hlo_opcode_named(name, strlen(name)), op);
        if (op) assert_true(strcmp(hlo_opcode_name((HloOpcode)(op - 1)), name) < 0);
    }
    assert_int_equal(hlo_opcode_named("addx", 4), HLO_OPCODE_COUNT);
    assert_int_equal(hlo_opcode_named("ad", 2), HLO_OPCODE_COUNT);
    assert_true(hlo_is_elementwise(HLO_TANH));
    assert_false(hlo_is_elementwise(HLO_BROADCAST));
}

/* The low byte of op on bytes, as 32 bits and as 8. */
static bool widens(ScOp op, ScType narrow, ScType wide, int32_t x, int32_t y)
{
    const uint64_t a[] = {(uint8_t)x, (uint8_t)y};
    const uint64_t b[] = {sc_from_i128(wide, sc_to_i128(narrow, a[0])), sc_from_i128(wide, sc_to_i128(narrow, a[1]))};
    uint64_t r = 0, s = 1;
    return sc_eval(op, narrow, narrow, a, &r) && sc_eval(op, wide, wide, b, &s) && r == (s & 0xff);
}

/* What gen/hlo_ops.py says of combiners, held against what they do to integers, of those of truths alone to truths:
 * op(identity, x) is x, op(x, x) is x, and they are associative. */
static void test_laws(void **state)
{
    (void)state;
    static const int32_t all[] = {[HLO_IDENTITY_0] = 0, [HLO_IDENTITY_1] = 1, [HLO_IDENTITY_LEAST] = INT32_MIN,
                                  [HLO_IDENTITY_MOST] = INT32_MAX, [HLO_IDENTITY_ONES] = -1};
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        const HloOpInfo *o = &hlo_op_info[op];
        const ScType t = strchr(o->classes, 'I') ? SC_I32 : SC_PRED;
        const uint64_t mask = sc_mask(t);
        for (int32_t k = -3; k <= 3 && o->identity != HLO_NO_IDENTITY; k++) {
            const uint64_t x = (uint32_t)k & mask, of[] = {(uint32_t)all[o->identity] & mask, x}, same[] = {x, x};
            uint64_t r = 0;
            assert_true(sc_op_info[o->scalar].commutative);
            assert_true(sc_eval(o->scalar, t, t, of, &r) && r == x);
            if (o->idempotent) assert_true(sc_eval(o->scalar, t, t, same, &r) && r == x);
        }
        for (int32_t k = 0; k < 512 && hlo_has((HloOpcode)op, HLO_WIDENS); k++) {
            const int32_t x = (int32_t)wbb_mix(k), y = (int32_t)wbb_mix(k + 512);
            assert_true(widens(o->scalar, SC_I8, SC_I32, x, y) && widens(o->scalar, SC_U8, SC_U32, x, y));
        }
        for (int32_t k = 0; k < 343 && o->identity != HLO_NO_IDENTITY; k++) {
            const uint64_t x[] = {(uint32_t)(k % 7 - 3) & mask, (uint32_t)(k / 7 % 7 - 3) & mask,
                                  (uint32_t)(k / 49 - 3) & mask};
            uint64_t xy[2] = {0, x[2]}, yz[2] = {x[0], 0}, r = 0, s = 1;
            assert_true(sc_eval(o->scalar, t, t, x, &xy[0]) && sc_eval(o->scalar, t, t, x + 1, &yz[1]));
            assert_true(sc_eval(o->scalar, t, t, xy, &r) && sc_eval(o->scalar, t, t, yz, &s));
            assert_true(r == s);
        }
    }
}

/* What it says is exact gives in f64 what it gives in f16. */
static void test_exact(void **state)
{
    (void)state;
    uint32_t n = 0;
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        const HloOpInfo *o = &hlo_op_info[op];
        const ScOpInfo *of = &sc_op_info[o->scalar];
        if (!hlo_has((HloOpcode)op, HLO_EXACT) || of->signature != SC_SAME || !strchr(o->classes, 'F')) continue;
        n++;
        for (uint64_t k = 0; k < 200; k++) {
            const uint64_t x[] = {wbb_mix(2 * k) % 0x7c00, 0x8000 | wbb_mix(2 * k + 1) % 0x7c00}; /* finite; < 0 */
            const uint64_t y[] = {sc_from_f64(SC_F64, sc_to_f64(SC_F16, x[0])),
                                  sc_from_f64(SC_F64, sc_to_f64(SC_F16, x[1]))};
            uint64_t narrow = 0, wide = 0;
            assert_true(sc_eval(o->scalar, SC_F16, SC_F16, x, &narrow) && sc_eval(o->scalar, SC_F64, SC_F64, y, &wide));
            assert_true(sc_to_f64(SC_F16, narrow) == sc_to_f64(SC_F64, wide));
        }
    }
    assert_true(n > 5);
}

/* Each operation on operands that are mostly wrong for it, with and without a shape: it is accepted or refused, and
 * nothing crashes. */
static void test_every_operation(void **state)
{
    WbbCx *cx = *state;
    static const char *const shapes[] = {"", "f32[8]", "()", "((f32[8]), f32[8])", "token[]"}, *const operands[] = {"p", "t", "k"};
    for (int op = 0; op < HLO_OPCODE_COUNT; op++) {
        for (uint32_t k = 0; k < 7 * WBB_LEN(shapes) * WBB_LEN(operands); k++) {
            WbbBuf text = wbb_buf(cx->arena);
            wbb_putf(
                &text,
                "p = f32[8] parameter(0)\nt = ((f32[8]), f32[8]) parameter(1)\nk = token[] after-all()\nr = %s %s(",
                shapes[k / 7 % WBB_LEN(shapes)], hlo_opcode_name((HloOpcode)op));
            for (uint32_t n = 0; n < k % 7; n++) wbb_putf(&text, n ? ", %s" : "%s", operands[k / 7 / WBB_LEN(shapes)]);
            wbb_put(&text,
                    "), dimensions={0}, to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) }, window={size=1}");
            Job j = {.arena = wbb_arena_new(cx), .text = text.text, .n = text.n};
            wbb_cx_clear(cx);
            WbbStatus s = wbb_guard(cx, parse, &j);
            assert_true(s == WBB_OK || (s == WBB_FAILED && strncmp(cx->messages, "t.hlo:", 6) == 0));
            wbb_arena_free(j.arena);
        }
    }
}

/* Unusual spellings, and the exact text that they print as, which prints as itself. */
static void test_print(void **state)
{
    WbbCx *cx = *state;
    const char *text =
        "// RUN: nothing\n"
        "HloModule odd:, is_scheduled=true, entry_computation_layout={(f32[8]{0}, (s32[], f32[2,3]{1,0}))->(f32[], "
        "s32[])}\n"
        "FileNames\n1 \"a.py\"\n\nStackFrames\n1 {file_location_id=1}\n\n"
        "%add (x: f32[], y: f32[]) -> f32[] {\n"
        "  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n"
        "  ROOT %s = f32[] add(f32[] %x, f32[] %y)\n}, execution_thread=\"t\"\n"
        "ENTRY %main.1 (p: f32[8], q: (s32[], f32[2,<=3]{1,0:T(8,128)(2,1)S(1)})) -> (f32[], s32[]) {\n"
        "  p = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}\n"
        "  q = (s32[], /*index=1*/ f32[2,<=3]{1,0:T(8,128)(2,1)S(1)}) parameter(1)\n"
        "  zero = f32[] constant(0) // c\n"
        "  r = reduce(p, zero), dimensions={0},\n    to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = "
        "maximum(a, b) }, metadata={op_name=\"}\\\"\" /* x */\n  source_line=3}\n"
        "  %0 = s32[] get-tuple-element(q), index=0\n"
        "  u = u32[]{:T(128)} constant(7)\n"
        "  ns = ((f32[8]), f32[8]) negate-start(p)\n"
        "  w = f32[8] reduce-window(p, zero), window={pad=1_1 size=3}, to_apply=%add\n"
        "  pad = f32[10] pad(p, zero), padding=1_1_0\n"
        "  ROOT tt = tuple(r, %0)\n"
        "}\n";
    HloModule *m = module_of(cx, text);
    const char *once = printed(cx, m);
    assert_string_equal(
        once,
        "HloModule odd, is_scheduled=true, entry_computation_layout={(f32[8]{0}, (s32[], f32[2,3]{1,0}))->(f32[], "
        "s32[])}\n\n"
        "FileNames\n1 \"a.py\"\nStackFrames\n1 {file_location_id=1}\n\n"
        "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}, "
        "execution_thread=\"t\"\n\n"
        "inline.1 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT m = f32[] maximum(a, b)\n}\n\n"
        "ENTRY main.1 {\n"
        "  p = f32[8]{0} parameter(0), sharding={devices=[2]<=[2]}\n"
        "  q = (s32[], f32[2,<=3]{1,0:T(8,128)(2,1)S(1)}) parameter(1)\n"
        "  zero = f32[] constant(0)\n"
        "  r = f32[] reduce(p, zero), dimensions={0}, to_apply=inline.1, metadata={op_name=\"}\\\"\" source_line=3}\n"
        "  %0 = s32[] get-tuple-element(q), index=0\n"
        "  u = u32[]{:T(128)} constant(7)\n"
        "  ns = ((f32[8]), f32[8]) negate-start(p)\n"
        "  w = f32[8] reduce-window(p, zero), window={size=3 pad=1_1}, to_apply=add\n"
        "  pad = f32[10] pad(p, zero), padding=1_1\n"
        "  ROOT tt = (f32[], s32[]) tuple(r, %0)\n"
        "}\n");
    assert_string_equal(printed(cx, module_of(cx, once)), once);
}

static void test_order(void **state)
{
    WbbCx *cx = *state;
    HloModule *m = module_of(cx, "e {\n ROOT d = subtract(c, a)\n c = add(b, a)\n"
                                 " b = f32[4] parameter(1)\n a = f32[4] parameter(0)\n}");
    const HloComputation *e = m->entry;
    const char *const want[] = {"b", "a", "c", "d"};
    assert_int_equal(e->n_instructions, 4);
    for (uint32_t k = 0; k < 4; k++) {
        assert_string_equal(e->instructions[k]->name, want[k]);
        assert_int_equal(e->instructions[k]->id, k);
    }
    assert_string_equal(e->root->name, "d");
    assert_string_equal(e->parameters[0]->name, "a");
    assert_string_equal(e->parameters[1]->name, "b");
    assert_int_equal(e->parameters[0]->n_users, 2);
    assert_int_equal(e->root->n_users, 0);
    assert_int_equal(e->root->loc.line, 2);
    assert_int_equal(e->root->loc.col, 11);
}

static void test_infer(void **state)
{
    WbbCx *cx = *state;
    HloModule *m = module_of(cx, "a = f32[4,6] parameter(0)\n c = compare(a, a), direction=GE, type=TOTALORDER\n"
                                 "s = select(c, a, a)\n t = transpose(s), dimensions={1,0}\n"
                                 "l = slice(t), slice={[0:5:2],[1:4]}\n k = concatenate(l, l), dimensions={1}\n"
                                 "u = tuple(k, c)\n ROOT g = get-tuple-element(u), index=0");
    const HloInstruction *c = named(m, "c");
    assert_int_equal(c->shape->type, SC_PRED);
    assert_int_equal(c->direction, HLO_GE);
    assert_true(c->total_order);
    const HloShape *g = m->entry->root->shape;
    assert_int_equal(g->rank, 2);
    assert_int_equal(g->dims[0], 3);
    assert_int_equal(g->dims[1], 6);
    assert_int_equal(g->minor_to_major[0], 1);
    assert_int_equal(hlo_elements(g), 18);
    const HloShape **leaves = NULL;
    assert_int_equal(hlo_leaves(cx->arena, named(m, "u")->shape, &leaves), 2);
    assert_true(hlo_same_shape(leaves[1], c->shape));
}

static uint64_t bits_at(const HloInstruction *i, size_t k)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)i->literal + k * sc_bytes(i->shape->type), sc_bytes(i->shape->type));
    return bits;
}

static void test_literals(void **state)
{
    WbbCx *cx = *state;
    HloModule *m = module_of(cx, "f = f32[2,3] constant({{1, -inf, 0x1p-3}, {nan, -0, /*i1=1*/ 1e-45}})\n"
                                 "b = bf16[3] constant({-nan(0x7f), 0.1, inf})\n i = s4[3] constant({-8, 7, 0})\n"
                                 "u = u64[] constant(18446744073709551615)\n p = pred[3] constant({true, 0, 1})\n"
                                 "c = c64[2] constant({(1, -2), (0, inf)})\n s = f32[100000000] constant(3)\n"
                                 "e = f32[536870912] constant({...})\n z = f32[2,0] constant({{}, {}})\n"
                                 "q = s32[4] constant({5, 5, 5, 5})\n ROOT t = (f32[], s32[1]) constant((1, {2}))");
    const HloInstruction *f = named(m, "f");
    const uint64_t want[] = {0x3f800000, 0xff800000, 0x3e000000, 0x7fc00000, 0x80000000, 1};
    for (size_t k = 0; k < 6; k++) assert_int_equal(bits_at(f, k), want[k]);
    assert_false(f->literal_splat);
    assert_int_equal(bits_at(named(m, "b"), 0), 0xffff);
    assert_int_equal(bits_at(named(m, "b"), 1), 0x3dcd);
    assert_int_equal(bits_at(named(m, "b"), 2), 0x7f80);
    assert_true(sc_to_i128(SC_I4, bits_at(named(m, "i"), 0)) == -8);
    assert_true(bits_at(named(m, "u"), 0) == UINT64_MAX);
    assert_int_equal(bits_at(named(m, "p"), 1), 0);
    assert_int_equal(bits_at(named(m, "p"), 2), 1);
    assert_true(bits_at(named(m, "c"), 0) == UINT64_C(0xc00000003f800000));
    assert_true(named(m, "s")->literal_splat);
    assert_null(named(m, "e")->literal);
    assert_non_null(named(m, "z")->literal);
    assert_true(named(m, "q")->literal_splat);
    assert_int_equal(bits_at(named(m, "q"), 0), 5);
    assert_string_equal(m->entry->root->literal_text, "(1, {2})");
    const char *once = printed(cx, m);
    assert_non_null(strstr(once, "f = f32[2,3] constant({ { 1, -inf, 0.125 }, { nan, -0, 1.401e-45 } })"));
    assert_non_null(strstr(once, "b = bf16[3] constant({-nan(0x7f), 0.1001, inf})"));
    assert_non_null(strstr(once, "s = f32[100000000] constant(3)"));
    assert_string_equal(printed(cx, module_of(cx, once)), once);
}

static void test_bad_text(void **state)
{
    static const Bad bad[] = {
        {"", "1:1: error: expected a computation, found the end of the text"},
        {"HloModule m\n\nENTRY e {\n  p = f32[8] parameter(0)\n",
         "5:1: error: expected an instruction or '}', found the end of the text"},
        {"e {\n p = f32[8] parameter(0)\n ROOT x = f32[8] frobnicate(p)\n}",
         "3:18: error: unknown operation 'frobnicate'"},
        {"e {\n p = f32[8] parameter(0)\n ROOT x = f32[8] add(p, q)\n}",
         "3:25: error: add: operand 1: no instruction is named 'q' in this computation"},
        {"e {\n p = f32[8] parameter(0)\n x = f32[8] add(p)\n}", "3:13: error: add: 1 operands found, 2 expected"},
        {"e {\n p = f32[8] parameter(0)\n p = f32[8] negate(p)\n}",
         "3:2: error: the name 'p' is given twice: first on line 2"},
        {"HloModule m, num_partitions=1, num_partitions=1\n", "1:32: error: the attribute num_partitions= is given twice"},
        {"e {\n p = s8[2] parameter(0), sharding={replicated}, sharding={replicated}\n}",
         "2:49: error: the attribute sharding= is given twice"},
        {"e {\n p = s8[2] parameter(0)\n ROOT r = s8[2] map(p), dimensions={0}, to_apply=f, to_apply=f\n}",
         "3:53: error: the attribute to_apply= is given twice"},
        {"e {\n a = f32[8] negate(b)\n b = f32[8] negate(a)\n}",
         "3:13: error: negate: a cycle: 'b' needs 'a', which needs it in turn"},
        {"e {\n a = f32[] call(), to_apply=e\n}", "2:12: error: call: a cycle: computation 'e' is called while it runs"},
        {"e {\n a = f32[] call(), to_apply=f\n}", "2:29: error: call: no computation is named 'f'"},
        {"e { a = f32[] constant(1) }\ne { a = f32[] constant(1) }",
         "2:1: error: the name 'e' is given to two computations"},
        {"a = f33[2] parameter(0)", "1:5: error: unknown element type 'f33', did you mean 'f32'?"},
        {"a = f32[2]{2} parameter(0)", "1:12: error: a layout is not a permutation of the 1 dimensions"},
        {"a = f32[4294967296,4294967296] parameter(0)",
         "1:8: error: dimension product overflows: the array has more than 2^63 bytes"},
        {"a = f32[99999999999999999999] parameter(0)", "1:9: error: integer does not fit 64 bits"},
        {"a = f32[2] constant({1})", "1:23: error: dimension 0 of the literal has 1 elements, 2 expected"},
        {"a = s8[] constant(128)", "1:19: error: 128 is out of the range of s8"},
        {"a = f16[] constant(-65520)", "1:20: error: -65520 is out of the range of f16"},
        {"a = f32[] constant(1e400)", "1:20: error: 1e400 is out of the range of f32"},
        {"a = c64[] constant((0, -1e100))", "1:24: error: -1e100 is out of the range of f32"},
        {"a = f8e4m3fn[] constant(1000)", "1:25: error: 1000 is out of the range of f8e4m3fn"},
        {"a = bf16[] constant(nan(0x3ff))", "1:31: error: a nan of type bf16 has no payload 0x3ff"},
        {"a = f8e4m3fn[] constant(nan(0x1))", "1:33: error: a nan of type f8e4m3fn has no payload 0x1"},
        {"a = u4[] constant(-1)", "1:19: error: -1 is out of the range of u4"},
        {"a = u64[] constant(18446744073709551616)", "1:20: error: 18446744073709551616 is out of the range of u64"},
        {"a = f32[2,3] constant({1, 2, 3, 4, 5, 6})", "1:24: error: expected '{', found '1'"},
        {"a = f32[2] constant({1,{2}})", "1:24: error: expected a number, found '{'"},
        {"e (x: f32[]) -> f32[2] {\n x = f32[] parameter(0)\n}",
         "1:17: error: the signature of 'e' says f32[2], its root 'x' has shape f32[]"},
        {"e {\n a = f32[] constant(1)\n b = add(f32[], a)\n}", "3:15: error: expected the name of an operand, found ','"},
        {"e {\n a = f32[] constant(1)\n b = add(a, transpose(a))\n}",
         "3:13: error: transpose: the attribute dimensions= is missing"},
        {"a = s8[] constant(1.5)", "1:19: error: '1.5' is not a value of type s8"},
        {"a = f32[] constant(x)", "1:20: error: 'x' is not a value of type f32"},
        {"a = f32[] parameter(1)",
         "1:11: error: parameter: number 1, but the computation has 1 parameters, numbered from 0"},
        {"a = f32[] constant(1), metadata={op_name=\"x}", "1:42: error: a string has no closing '\"'"},
        {"a = f32[] constant(1), metadata={[}", "1:35: error: expected ']', found '}'"},
        {"a = f32[] constant(1) /* b", "1:23: error: a comment that begins with '/*' has no end"},
        {"p = f32[8] parameter(0)\nc = pred[8] compare(p, p), direction=XX",
         "2:38: error: expected a direction: EQ, NE, LT, LE, GT or GE, found 'XX'"},
        {"p = f32[8] parameter(0)\nc = pred[8] compare(p, p)",
         "2:13: error: compare: the attribute direction= is missing"},
        {"p = f32[8] parameter(0)\nc = convert(p)",
         "2:5: error: convert: its shape is missing and does not follow from its operands"},
        {"p = f32[8] parameter(0)\nc = f32[8] negate(f32[4] p)",
         "2:19: error: negate: operand 0 is written as f32[4], but 'p' has shape f32[8]"},
        {"ENTRY a { p = f32[] constant(1) } ENTRY b { p = f32[] constant(1) }",
         "1:41: error: a second ENTRY: 'a' is the first"},
        {"HloModule a\ne { p = f32[] constant(1) }\nHloModule b\ne { p = f32[] constant(1) }",
         "4:1: error: the text holds 2 modules, one expected: 'e' is in the second"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_bad_shapes(void **state)
{
    static const Bad bad[] = {
        {P8 "q = f32[4] parameter(1)\nr = f32[8] add(p, q)",
         "3:12: error: add: operand 1 has shape f32[4], f32[8] expected"},
        {P8 "q = f32[4] parameter(1)\nr = f32[8] add(q, p)",
         "3:12: error: add: operand 0 has shape f32[4], f32[8] expected"},
        {P8 "r = f32[4] negate(p)", "2:12: error: negate: the result has shape f32[4], f32[8] expected"},
        {P8 "r = f32[8] and(p, p)", "2:12: error: and: operand 0 has shape f32[8], an integer or pred type expected"},
        {P8 "r = f32[8] select(p, p, p)", "2:12: error: select: operand 0 has shape f32[8], element type pred expected"},
        {P8 "r = s32[8] compare(p, p), direction=LT",
         "2:12: error: compare: the result has shape s32[8], element type pred expected"},
        {P8 "r = f32[8] clamp(q, p, q)\nq = f32[4] parameter(1)",
         "2:12: error: clamp: operand 0 has shape f32[4], f32[8] expected"},
        {P8 "r = s32[4] convert(p)", "2:12: error: convert: the result has shape s32[4], s32[8] expected"},
        {P8 "r = f32[4,8] broadcast(p), dimensions={2}", "2:14: error: broadcast: dimensions names dimension 2 of 2"},
        {P8 "r = f32[4,8] broadcast(p), dimensions={0}",
         "2:14: error: broadcast: dimension 0 of the operand f32[8] becomes dimension 0 of the result f32[4,8]"},
        {"r = f32[4] iota(), iota_dimension=1",
         "1:12: error: iota: iota_dimension is 1, the result f32[4] has 1 dimensions"},
        {P24 "r = f32[9] reshape(p)", "2:12: error: reshape: 8 elements in f32[2,4], 9 in the result f32[9]"},
        {P24 "r = f16[8] bitcast(p)", "2:12: error: bitcast: f32[2,4] and the result f16[8] differ in size"},
        {P24 "r = f16[2,4] bitcast-convert(p)", "2:14: error: bitcast-convert: f32[2,4] cannot be read as f16[2,4]"},
        {P8 "r = f32[9] slice(p), slice={[0:9]}", "2:12: error: slice: dimension 0 is sliced [0:9:1], but has size 8"},
        {P24 "r = f32[2,4] transpose(p), dimensions={1,0}",
         "2:14: error: transpose: the result has shape f32[2,4], f32[4,2] expected"},
        {P24 "r = f32[2,4] transpose(p), dimensions={1,1}", "2:14: error: transpose: dimensions names dimension 1 twice"},
        {P24 "r = f32[2,4] reverse(p), dimensions={-1}", "2:14: error: reverse: dimensions names dimension -1 of 2"},
        {P8 "r = f32[8] concatenate(p, p), dimensions={0}",
         "2:12: error: concatenate: the result has shape f32[8], f32[16] expected"},
        {P8 "z = f32[] constant(0)\nr = f32[8] pad(p, z), padding=-1_1_2",
         "3:12: error: pad: the result has shape f32[8], f32[22] expected"},
        {P8 "r = (f32[8], f32[4]) tuple(p, p)", "2:22: error: tuple: operand 1 has shape f32[8], f32[4] expected"},
        {P8 "t = tuple(p)\nr = f32[8] get-tuple-element(t), index=1",
         "3:12: error: get-tuple-element: element 1 of operand 0, a tuple of 1 elements"},
        {P8 "i = s32[] constant(0)\nr = f32[9] dynamic-slice(p, i), dynamic_slice_sizes={9}",
         "3:12: error: dynamic-slice: size 9 of dimension 0, which has 8"},
        {P8 "r = f32[8] dynamic-update-slice(p, p)",
         "2:12: error: dynamic-update-slice: 0 start indices found, 1 expected"},
        {"f { a = f32[4] parameter(0) }\nENTRY e {\n" P8 "r = f32[8] fusion(p), kind=kLoop, calls=f }",
         "4:12: error: fusion: operand 0 has shape f32[8], f32[4] expected"},
        {"f { a = f32[8] parameter(0) }\nENTRY e {\n" P8 "r = f32[4] fusion(p), kind=kLoop, calls=f }",
         "4:12: error: fusion: the result has shape f32[4], f32[8] expected"},
        {"f { a = f32[8] parameter(0) }\nENTRY e {\n" P8 "r = f32[8] fusion(p, p), kind=kLoop, calls=f }",
         "4:12: error: fusion: 2 operands found, 'f' has 1 parameters"},
        {"f { a = f32[2,4]{0,1} parameter(0) }\nENTRY e {\n" P24 "r = f32[2,4] fusion(p), kind=kLoop, calls=f }",
         "4:14: error: fusion: operand 0 has layout f32[2,4], f32[2,4]{0,1} expected inside"},
        {"m { a = f32[] parameter(0) }\nENTRY e {\n" P8
         "z = f32[] constant(0)\nr = f32[] reduce(p, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: 'm' has 1 parameters, 2 expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) }\nENTRY e {\n" P8
         "z = f32[] constant(0)\nr = f32[8] reduce(p, z), dimensions={0}, to_apply=m }",
         "5:12: error: reduce: the result has shape f32[8], f32[] expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) }\nENTRY e {\n" P8
         "z = f32[] constant(0)\nr = f32[8] reduce-window(p, z), window={size=3 stride=2 pad=1_0}, to_apply=m }",
         "5:12: error: reduce-window: the result has shape f32[8], f32[4] expected"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = f32[10,4,7] gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:17: error: gather: the result has shape f32[10,4,7], f32[10,4,8] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

/* Ten thousand levels of nesting are an error, and so is a tuple of 2^40 parts built in 40 lines. */
static void test_hostile(void **state)
{
    WbbCx *cx = *state;
    static const char *const opens[] = {"a = (", "a = f32[] constant(1), metadata={", "a = f32[] map(b), to_apply={", "a = add(",
                                        "a = f32[] custom-call(), custom_call_target=\"\", literal=("};
    for (size_t k = 0; k < WBB_LEN(opens); k++) {
        WbbBuf text = wbb_buf(cx->arena);
        static const char *const again_of[] = {"(", "[", "a = f32[] map(b), to_apply={", "add(", "("};
        const char *again = again_of[k];
        wbb_put(&text, opens[k]);
        for (int d = 0; d < 10000; d++) wbb_put(&text, again);
        Job j = job(cx, text.text);
        wbb_cx_clear(cx);
        assert_int_equal(wbb_guard(cx, parse, &j), WBB_FAILED);
        assert_non_null(strstr(cx->messages, "nested more than 200 levels deep"));
    }
    WbbBuf text = wbb_buf(cx->arena);
    wbb_put(&text, "t0 = f32[] parameter(0)\n");
    for (int d = 1; d <= 40; d++) wbb_putf(&text, "t%d = tuple(t%d, t%d)\n", d, d - 1, d - 1);
    Job j = job(cx, text.text);
    wbb_cx_clear(cx);
    assert_int_equal(wbb_guard(cx, parse, &j), WBB_FAILED);
    assert_non_null(strstr(cx->messages, "tuple: the result would be a tuple of more than 65536 arrays"));
}

/* Huge sizes that are only declared take no memory, or are refused at their place. */
static void test_huge(void **state)
{
    WbbCx *cx = *state;
    static const Bad bad[] = {
        {"c = f32[536870912] constant(0)", "1:29: error: a literal of 536870912 f32 is larger than 2^29 bytes"},
        {"c = s8[1000000000] constant({1, 2})", "1:29: error: a literal of 1000000000 s8 is larger than 2^29 bytes"},
        {"c = f32[4194304] constant({1, 2})", "1:32: error: dimension 0 of the literal has 2 elements, 4194304 expected"},
        {"p = f32[] parameter(0)\nb = f32[4294967296,4294967296] broadcast(p), dimensions={}",
         "2:8: error: dimension product overflows: the array has more than 2^63 bytes"},
        {"p = f32[1073741824,1] parameter(0)\nq = f32[1,4611686018427387904] parameter(1)\nr = add(p, q)",
         "2:8: error: dimension product overflows: the array has more than 2^63 bytes"},
        {"p = f32[1073741824,1] parameter(0)\nq = f32[1,2147483648] parameter(1)\nr = add(p, q)",
         "3:5: error: add: the result would have more than 2^63 bytes: f32[1073741824,2147483648]"},
        {"p = f32[4611686018427387903] parameter(0)\nr = concatenate(p, p, p), dimensions={0}", "1:8: error: dimension product "
         "overflows: the array has more than 2^63 bytes"},
        {"p = s8[9223372036854775807] parameter(0)\nr = concatenate(p, p, p), dimensions={0}",
         "2:5: error: concatenate: the result would have more than 2^63 bytes: s8[27670116110564327421]"},
        {"p = s8[4] parameter(0)\nz = s8[] constant(0)\nr = pad(p, z), "
         "padding=9223372036854775807_9223372036854775807_9223372036854775807",
         "3:5: error: pad: the result would have more than 2^63 bytes: s8[46116860184273879039]"},
        {"p = s8[99999999999] parameter(0)\nr = dot(p, p)", "2:5: error: dot: the result would have more than 2^63 bytes: "
         "s8[99999999999,99999999999]"},
    };
    refuse(cx, bad, WBB_LEN(bad));
    WbbBuf text = wbb_buf(cx->arena);
    wbb_put(&text, "b0 = f32[1] parameter(0)\n");
    for (int k = 1; k < 60; k++)
        wbb_putf(&text, "b%d = f32[%lld] broadcast(c%d), dimensions={}\nc%d = f32[] constant(1)\n", k, 1LL << k, k, k);
    assert_int_equal(module_of(cx, text.text)->entry->n_instructions, 119);
    module_of(cx, "c = f32[536870912] constant({...})");
}

/* 5,000 calls with a tuple of 65,536 parts: comparing or inferring its shape anew for each call would take too long. */
static void test_large_tuples(void **state)
{
    WbbCx *cx = *state;
    WbbBuf shape = wbb_buf(cx->arena), text = wbb_buf(cx->arena);
    wbb_put(&shape, "f32[]");
    for (int k = 0; k < 16; k++) {
        WbbBuf twice = wbb_buf(cx->arena);
        wbb_putf(&twice, "(%s, %s)", shape.text, shape.text);
        shape = twice;
    }
    wbb_putf(&text, "f { p = %s parameter(0) q = %s parameter(1) ROOT z = f32[] constant(0) }\n", shape.text,
             shape.text);
    wbb_put(&text, "ENTRY e {\nt0 = f32[] parameter(0)\n");
    for (int k = 1; k <= 16; k++) wbb_putf(&text, "t%d = tuple(t%d, t%d)\n", k, k - 1, k - 1);
    size_t before = text.n;
    for (int k = 0; k < 5000; k++) wbb_putf(&text, "c%d = f32[] call(t16, t16), to_apply=f\n", k);
    wbb_put(&text, "}");
    double since = wbb_now_ms();
    module_of(cx, text.text);
    assert_true(wbb_now_ms() - since < 20000);
    text.n = before;
    for (int k = 0; k < 100; k++) wbb_putf(&text, "c%d = opt-barrier(t16)\n", k);
    wbb_put(&text, "}");
    const Bad bad = {
        text.text,
        "82:7: error: opt-barrier: the shapes that the text omits have more than 4194304 arrays in all"};
    refuse(cx, &bad, 1);
}

/* A long chain of instructions in reverse order: sorting it must not recurse. */
static void test_long_chain(void **state)
{
    WbbCx *cx = *state;
    WbbBuf text = wbb_buf(cx->arena);
    const int n = 50000;
    wbb_put(&text, "e {\n");
    for (int k = n; k > 0; k--) wbb_putf(&text, "%s i%d = f32[8] negate(i%d)\n", k == n ? "ROOT" : "", k, k - 1);
    wbb_put(&text, "i0 = f32[8] parameter(0)\n}");
    HloModule *m = module_of(cx, text.text);
    assert_string_equal(m->entry->instructions[0]->name, "i0");
    assert_int_equal(m->entry->root->id, n);
}

static WbbStatus fusion_of(WbbCx *cx, const char *text, HloFusion *f)
{
    Parsed j = {.module = module_of(cx, text)};
    wbb_cx_clear(cx);
    WbbStatus s = wbb_guard(cx, find_fusion, &j);
    *f = j.fusion;
    return s;
}

#define BODY "f { a = f32[8] parameter(0)  ROOT n = f32[8] negate(a) }\n"

static void test_fusion(void **state)
{
    WbbCx *cx = *state;
    HloFusion f = {0};
    assert_int_equal(fusion_of(cx, BODY "ENTRY e { " P8 "ROOT g = f32[8] fusion(p), kind=kLoop, calls=f }", &f),
                     WBB_OK);
    assert_string_equal(f.name, "g");
    assert_string_equal(f.body->name, "f");
    assert_string_equal(f.fusion->kind, "kLoop");
    assert_int_equal(
        fusion_of(cx, BODY "ENTRY e { " P8 "c = copy(p) g = fusion(c), kind=kLoop, calls=f ROOT t = tuple(g) }", &f),
        WBB_OK);
    assert_string_equal(f.name, "g");
    assert_int_equal(fusion_of(cx, BODY, &f), WBB_OK);
    assert_null(f.fusion);
    assert_string_equal(f.name, "f");
    assert_int_equal(fusion_of(cx, BODY "ENTRY e { " P8 "g = fusion(p), calls=f h = fusion(g), calls=f }", &f),
                     WBB_DECLINED);
    assert_int_equal(cx->why, WHY_MANY_FUSIONS);
    assert_int_equal(fusion_of(cx, BODY "ENTRY e { " P8 "g = fusion(p), calls=f ROOT h = sine(g) }", &f), WBB_DECLINED);
    assert_int_equal(cx->why, WHY_NO_FUSION);
}

/* Further forms that XLA accepts. */
static void test_lenient(void **state)
{
    WbbCx *cx = *state;
    module_of(cx, P8 "c = pred[] parameter(1)\nr = f32[8] select(c, p, p)");
    module_of(cx, P8 "z = f32[] constant(0)\nr = f32[8] clamp(z, p, z)");
    module_of(cx, "p = bf16[8] parameter(0)\nz = f32[] constant(-inf)\nr = bf16[9] pad(p, z), padding=0_1");
    module_of(cx, P8 "i = s32[1] parameter(1)\nr = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={2}");
    module_of(cx, P24 "r = u8[2,4,4] bitcast-convert(p)\ns = f32[2,4] bitcast-convert(r)");
    module_of(cx, "p = f16[20] parameter(0)\nr = s16[4,5] bitcast(p)");
    assert_true(bits_at(module_of(cx, "m = u64[] constant(-1)")->entry->root, 0) == UINT64_MAX);
    module_of(
        cx, "\xef\xbb\xbfHloModule m:\r// Garbage }\rENTRY c1 {\r// Foo\rROOT k = f32[1]{0} constant({12345}) // x\r}");
    module_of(cx, "HloModule m:\r\n// Garbage }\r\nENTRY c1 {\r\nROOT k = f32[1] {0} constant({ /* a */ 1 })\r\n}\r\n");
    module_of(
        cx, "m { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }\nENTRY e {\nc = f32[] constant(1)\n"
            "r = reduce-window(c, c), to_apply=m }");
}

static void test_modules(void **state)
{
    WbbCx *cx = *state;
    Parsed j = {.text = "HloModule a\ne { p = f32[] constant(1) }\n// -----\nf { p = s32[] constant(2) }\n"
                                         "HloModule c\nx = f32[] constant(3)"};
    assert_int_equal(wbb_guard(cx, parse_all, &j), WBB_OK);
    assert_int_equal(j.n_modules, 3);
    assert_string_equal(j.modules[0]->name, "a");
    assert_string_equal(j.modules[1]->name, "f");
    assert_false(j.modules[1]->header);
    assert_string_equal(j.modules[2]->entry->root->name, "x");
}

static void test_attributes(void **state)
{
    WbbCx *cx = *state;
    HloModule *m = module_of(cx,
                             "c = f32[] custom-call(), custom_call_target=\"a\\\"b\", metadata={op_name=\"x, k=9\"}, "
                             "slice_sizes={ 1,-2 , 3}, k=4, schedule=a_b");
    const HloInstruction *c = m->entry->root;
    uint32_t n = 0;
    assert_string_equal(c->target, "a\\\"b");
    const int64_t *k = hlo_attribute_ints(cx->arena, c, "slice_sizes", &n);
    assert_int_equal(n, 3);
    assert_int_equal(k[1], -2);
    assert_int_equal(hlo_attribute_ints(cx->arena, c, "k", &n)[0], 4);
    assert_null(hlo_attribute_ints(cx->arena, c, "schedule", &n));
    assert_string_equal(hlo_attribute(cx->arena, c, "schedule"), "a_b");
    assert_null(hlo_attribute(cx->arena, c, "op_name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_opcodes), TEST(test_laws),
        TEST(test_exact), TEST(test_every_operation), TEST(test_print), TEST(test_order), TEST(test_infer), TEST(test_literals),
        TEST(test_bad_text), TEST(test_bad_shapes), TEST(test_hostile), TEST(test_huge), TEST(test_long_chain), TEST(test_large_tuples), TEST(test_fusion),
        TEST(test_lenient), TEST(test_modules),
        TEST(test_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

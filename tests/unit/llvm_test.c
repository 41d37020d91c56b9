/* llvm: selected kernels become PTX with the expected accesses, types and line numbers, and errors of LLVM become
 * messages. */
#include "llvm/llvm.h"

#include "unit.h"

#include <stdlib.h>

static const RwRule rules[] = {
    {.file = "patterns/sm90.py", .line = 31, .instance = "", .text = "", .phase = RW_ISEL},
    {.file = "patterns/sm90.py", .line = 32, .instance = "", .text = "", .phase = RW_ISEL},
    {.file = "patterns/arith.py", .line = 7, .instance = "", .text = "", .phase = RW_ISEL}};
/* Rows of the instruction table; the texts below name them as instr.TYPE<ROW>. */
enum { FMUL, FADD, FMA, FPEXT, TANH, FPTRUNC, NV_TANHF, FDIV, COS, CTLZ, NEGATE, UNKNOWN, MISSING, OLT, SELECT,
       BYTES, CHOOSE, WORDS, UNEVEN, FIELD, ROTATE, N_ROWS };
static const RwInstr rows[N_ROWS] = {
    [FMUL] = {RW_LLVM, 2, 0, "fmul", 0},
    [FADD] = {RW_LLVM, 2, 1, "fadd", 0},
    [FMA] = {RW_INTR, 3, 2, "llvm.fma", 0},
    [FPEXT] = {RW_ASM, 1, 0, "{ .reg .b32 l, h; shl.b32 l, %a, 16; and.b32 h, %a, -65536; mov.b64 %d, {l, h}; }", 0},
    [TANH] = {RW_ASM, 1, 0, "tanh.approx.f32 %d, %a;", 0},
    [FPTRUNC] = {RW_LLVM, 1, 0, "fptrunc", 0},
    [NV_TANHF] = {RW_CALL, 1, 1, "__nv_tanhf", 0},
    [FDIV] = {RW_LLVM, 2, 0, "fdiv", 0},
    [COS] = {RW_INTR, 1, 0, "llvm.cos", 0},
    [FIELD] = {RW_ASM, 1, 0, "bfe.u32 %d, %a, %i, %j;", 2},
    [ROTATE] = {RW_INTR, 1, 0, "llvm.fshl(%a, %a, %i)", 1},
    [CTLZ] = {RW_INTR, 1, 0, "llvm.ctlz(%a, i1 0)", 0},
    [NEGATE] = {RW_LLVM, 1, 0, "sub(0, %a)", 0},
    [UNKNOWN] = {RW_LLVM, 2, 1, "fmull", 0},
    [MISSING] = {RW_CALL, 1, 0, "__nv_no_such_function", 0},
    [OLT] = {RW_LLVM, 2, 0, "fcmp olt", 0},
    [SELECT] = {RW_LLVM, 3, 0, "select", 0},
    [BYTES] = {RW_ASM, 2, 0, "add.s16 %d, %a, %b;", 0},
    [CHOOSE] = {RW_ASM, 2, 0, "selp.b32 %d, %a, 0, %b;", 0},
    [WORDS] = {RW_LOOKUP, 1, 0, "00000001 00000000 a2f9836e ffffffff", 0},
    [UNEVEN] = {RW_LOOKUP, 1, 1, "00000001 00000000 a2f9836e", 0},
};
static const RwTables tables = {.name = "test", .rules = rules, .n_rules = 3, .instrs = rows, .n_instrs = N_ROWS};
static const TgTarget sm80 = {.name = "sm_80", .ptx = "8.8", .tables = &tables};
static const TgTarget sm90 = {.name = "sm_90", .ptx = "8.8", .tables = &tables};

typedef struct {
    const char *text;
    const TgTarget *target;
    LlOptions options;
    WbbArena *arena;
    LlOutput out;
    TgSass sass; /* zero where there is no ptxas */
    bool assemble;
} Job;

static void compile(WbbCx *cx, void *arg)
{
    Job *j = arg;
    IrKernel *k = ir_parse(cx, j->arena, "test.ir", j->text, strlen(j->text));
    for (IrRef r = 1; r < k->g->n; r++) {
        if (ir_at(k->g, r)->op == OP_INSTR) k->g->rule[r] = rows[RW_ROW(ir_at(k->g, r)->imm)].rule + 1;
        if (ir_at(k->g, r)->type == SC_INDEX && !ir_fits_i32(k->g, r))
            k->g->nodes[r].flags |= SC_FLAG_WIDE; /* as `width` does */
    }
    j->out = ll_compile(cx, j->arena, k, j->target, &j->options);
    if (!j->assemble) return;
    const TgCubin cubin = tg_assemble(cx, j->arena, j->target, j->out.ptx, k->name);
    if (cubin.bytes) j->sass = tg_sass(cx, j->target, &cubin, k->name);
}

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    LlCache *cache;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = malloc(sizeof *f);
    f->cx = wbb_cx_new();
    f->arena = wbb_arena_new(f->cx);
    f->cache = ll_cache_new(f->cx);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    ll_cache_free(f->cache);
    wbb_arena_free(f->arena);
    wbb_cx_free(f->cx);
    free(f);
    return 0;
}

static WbbStatus run(Fixture *f, Job *j)
{
    j->arena = f->arena;
    if (!j->target) j->target = &sm90;
    j->options.cache = f->cache;
    wbb_cx_clear(f->cx);
    return wbb_guard(f->cx, compile, j);
}

static void good(Fixture *f, Job *j)
{
    if (run(f, j) != WBB_OK) fail_msg("%s", f->cx->messages);
}

static void in_order(const char *text, const char *first, const char *second)
{
    has(text, first);
    has(text, second);
    if (strstr(text, first) > strstr(text, second)) fail_msg("'%s' comes before '%s' in\n%s", second, first, text);
}

static void test_intrinsics(void **state)
{
    Fixture *f = *state;
    assert_null(ll_check_intrinsics(f->arena));
    assert_true(ll_has_instr(&rows[CTLZ]));
    assert_false(ll_has_instr(&rows[UNKNOWN]));
}

/* 8 | 7 << 24: %i = 8, %j = 7 */
static void test_immediates(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: u32[32], %o: out u32[32]) block 32 grid 1 {\n"
                     "  store %o[tid], instr.u32<20, 5>(instr.u32<19, 117440520>(load %a[tid]))\n}\n"};
    good(f, &j);
    in_order(j.out.ptx, "bfe.u32", "shf.l.wrap.b32");
    has(j.out.ptx, ", 8, 7;");
    has(j.out.ptx, ", 5;");
}

#define GELU_HEAD                                                                                                        \
    "kernel @gelu(%in: bf16[12582912], %out: out bf16[12582912]) block 128 grid 12288 {\n"                               \
    "  x = load.bf16x8 %in[1024*bid + 8*tid]\n"
#define GELU_TAIL                                                                                                        \
    "  store %out[1024*bid + 8*tid], pack.bf16x8(pack.bf16x4(y0, y2), pack.bf16x4(y4, y6))\n}\n"
/* GELU on a pair of elements, as the rules of sm_90 and of sm_80 select it. */
#define PAIR90(i)                                                                                                        \
    "  p" i " = part.bf16x2<" i ">(x)\n"                                                                                 \
    "  d" i " = instr.bf16x2<0>(instr.bf16x2<0>(instr.bf16x2<0>(p" i ", p" i "), p" i "), 0.044715:bf16x2)\n"            \
    "  w" i " = instr.f32x2<3>(instr.bf16x2<0>(instr.bf16x2<1>(d" i ", p" i "), 0.79788456:bf16x2))\n"                   \
    "  t" i " = instr.bf16x2<5>(pack.f32x2(instr.f32<4>(part.f32<0>(w" i ")), instr.f32<4>(part.f32<1>(w" i "))))\n"     \
    "  y" i " = instr.bf16x2<0>(instr.bf16x2<0>(instr.bf16x2<1>(t" i ", 1.0:bf16x2), 0.5:bf16x2), p" i ")\n"
#define MUL80(a, b) "instr.bf16x2<2>(" a ", " b ", -0.0:bf16x2)"
#define ADD80(a, b) "instr.bf16x2<2>(" a ", 1.0:bf16x2, " b ")"
#define PAIR80(i)                                                                                                        \
    "  p" i " = part.bf16x2<" i ">(x)\n"                                                                                 \
    "  d" i " = " MUL80(MUL80(MUL80("p" i, "p" i), "p" i), "0.044715:bf16x2") "\n"                                       \
    "  w" i " = instr.f32x2<3>(" MUL80(ADD80("d" i, "p" i), "0.79788456:bf16x2") ")\n"                                   \
    "  t" i " = instr.bf16x2<5>(pack.f32x2(instr.f32<4>(part.f32<0>(w" i ")), instr.f32<4>(part.f32<1>(w" i "))))\n"     \
    "  y" i " = " MUL80(MUL80(ADD80("t" i, "1.0:bf16x2"), "0.5:bf16x2"), "p" i) "\n"

static void test_gelu(void **state)
{
    Fixture *f = *state;
    Job hopper = {.text = GELU_HEAD PAIR90("0") PAIR90("2") PAIR90("4") PAIR90("6") GELU_TAIL, .assemble = true};
    good(f, &hopper);
    has(hopper.out.ptx, ".version 8.8");
    has(hopper.out.ptx, ".maxntid 128");
    has(hopper.out.ptx, "ld.global.nc.v4.b32");
    has(hopper.out.ptx, "st.global.v4.b32");
    has(hopper.out.ptx, "mul.rn.bf16x2");
    has(hopper.out.ptx, "cvt.rn.bf16x2.f32");
    assert_int_equal(strlen(hopper.out.ptx), hopper.out.n_ptx);
    Job ampere = {
        .text = GELU_HEAD PAIR80("0") PAIR80("2") PAIR80("4") PAIR80("6") GELU_TAIL, .target = &sm80, .assemble = true};
    good(f, &ampere);
    has(ampere.out.ptx, "fma.rn.bf16x2");
    has_not(ampere.out.ptx, "mul.rn.bf16x2");
    if (!hopper.sass.sass) return; /* ptxas was not found */
    assert_in_range(hopper.sass.sass, 40, 68);
    assert_in_range(ampere.sass.sass, 40, 69);
    assert_int_equal(hopper.sass.ldg[4], 1);
    assert_int_equal(hopper.sass.stg[4], 1);
    assert_int_equal(hopper.sass.mufu, 8);
}

static void test_lines(void **state)
{
    Fixture *f = *state;
    Job plain = {.text = GELU_HEAD PAIR90("0") PAIR90("2") PAIR90("4") PAIR90("6") GELU_TAIL, .assemble = true};
    Job lines = plain;
    lines.options.lines = true;
    good(f, &plain);
    good(f, &lines);
    has_not(plain.out.ptx, ".loc");
    has(lines.out.ptx, ".file\t1 \"patterns/sm90.py\"");
    in_order(lines.out.ptx, ".loc\t1 31 0", ".loc\t1 32 0");
    has_not(lines.out.ptx, ".section");
    assert_memory_equal(&plain.sass, &lines.sass, sizeof plain.sass);
}

static void test_same_text_again(void **state)
{
    Fixture *f = *state;
    Job first = {.text = GELU_HEAD PAIR90("0") PAIR90("2") PAIR90("4") PAIR90("6") GELU_TAIL}, second = first;
    first.options.lines = second.options.lines = true;
    good(f, &first);
    second.options.keep_llvm = true; /* keeps names, too */
    LlCache *shared = f->cache;
    f->cache = NULL; /* a cache of its own */
    good(f, &second);
    f->cache = shared;
    assert_string_equal(first.out.ptx, second.out.ptx);
}

/* Adjacent scalar loads become one vector load where facts prove the alignment of the first. */
static void test_neighbours(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: f32[4096], %out: out f32[4096]) block 128 grid 8 {\n"
                     "  store %out[4095 - 512*bid - 4*tid], load.f32 %a[512*bid + 4*tid + 3]\n"
                     "  store %out[4093 - 512*bid - 4*tid], load.f32 %a[512*bid + 4*tid + 2]\n}\n"};
    good(f, &j);
    has(j.out.ptx, "ld.global.nc.v2.b32");
    has(j.out.ptx, "+8];");
}

static void test_addresses(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: f32[4096], %out: out f32[4096]) block 128 grid 8 {\n"
                     "  store %out[4095 - 512*bid - 4*tid], load.f32 %a[512*bid + 4*tid + 3]\n"
                     "  store %out[4093 - 512*bid - 4*tid], load.f32 %a[512*bid + 4*tid + 1]\n}\n"};
    j.options.keep_llvm = true;
    good(f, &j);
    has(j.out.ptx, "+12];");
    has(j.out.ptx, "+4];");
    has(j.out.llvm_before, "zext i32");
    has(j.out.llvm_before, "sext i32"); /* the reversed one */
    has(j.out.llvm_before, "noalias readonly align 16 %a");
    has(j.out.llvm_before, "noalias writeonly align 16 %out");
    assert_non_null(j.out.llvm_after);
    const char *once = strstr(j.out.ptx, "mul.wide.u32");
    assert_non_null(once);
    assert_null(strstr(once + 1, "mul.wide.u32"));
}

static void test_index(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%out: out i64[40000000000], %small: out i32[1024]) block 128 grid 100000000 {\n"
                     "  store %out[400*bid + 3*tid], idx.i64(400*bid + tid - 7)\n"
                     "  store %small[(tid + 5) // 3], idx.i32((tid - 5) // 8)\n"
                     "  store %small[(tid + 6) % 100], idx.i32((tid - 5) // 7)\n"
                     "  store %small[max.index(tid, 9)], idx.i32((tid - 6) % 9)\n}\n"};
    j.options.keep_llvm = true;
    good(f, &j);
    has(j.out.llvm_before, "mul nuw nsw i64");
    has(j.out.llvm_before, "udiv i32");
    has(j.out.llvm_before, "urem i32");
    has(j.out.llvm_before, "ashr i32");
    has(j.out.llvm_before, "sdiv i32");
    has(j.out.llvm_before, "srem i32");
    has(j.out.llvm_before, "llvm.smax.i32");
}

static void test_scopes(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: f32[1024], %b: f32[1024], %p: pred[1024], %out: out f32[4096]) block 128 grid 8 {\n"
                     "  let i = 128*bid + tid in 0..1024\n"
                     "  if load.pred %p[i] {\n"
                     "    for v in 0..4 {\n"
                     "      store %out[4*i + v], instr.f32<7>(load.f32 %a[i], load.f32 %b[256*v + tid])\n"
                     "    }\n"
                     "  } else {\n"
                     "    store %out[i], 1.0:f32\n"
                     "  }\n}\n"};
    j.options.keep_llvm = true;
    good(f, &j);
    const char *t = j.out.llvm_before;
    has(t, "load i8");
    has(t, "trunc nuw i8");
    in_order(t, "then:", "load float, ptr addrspace(1) %");
    const char *loop = strstr(t, "\nloop:"), *first = strstr(t, "load float"),
               *second = first ? strstr(first + 1, "load float") : NULL;
    assert_true(loop && first && second);
    assert_true(first < loop); /* %a[i] does not depend on v */
    assert_true(second > loop);
    assert_true(strstr(t, "fdiv") > loop);
}

static void test_types(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: i8[1024], %p: pred[1024], %x: f32[1024], %o: out i8[1024], %q: out pred[1024], %y: "
                     "out i32[1024])"
                     " block 128 grid 1 {\n"
                     "  b = load.i8 %a[tid]\n"
                     "  store %o[tid], instr.i8<15>(b, instr.i8<10>(b))\n"
                     "  c = instr.predx2<13>(load.f32x2 %x[2*tid], 0.5:f32x2)\n"
                     "  store %q[2*tid], c\n"
                     "  store %y[tid], instr.i32<16>(instr.i32<9>(idx.i32(tid)), part.pred<1>(c))\n"
                     "  store %y[tid + 128], instr.i32<14>(load.pred %p[tid], 3:i32, idx.i32(tid))\n}\n"};
    j.assemble = true;
    good(f, &j);
    has(j.out.ptx, "add.s16");
    has(j.out.ptx, "ld.global.nc.v2.b32");
    has(j.out.ptx, "st.global.v2.b8");
    has(j.out.ptx, "clz.b32");
}

static void test_libdevice(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                     "  store %out[128*bid + tid], instr.f32<6>(instr.f32<6>(load.f32 %a[128*bid + tid]))\n}\n"};
    if (!ll_find_libdevice(f->cx, f->arena, NULL)) skip();
    good(f, &j);
    assert_int_equal(j.out.n_libdevice, 1);
    assert_string_equal(j.out.libdevice[0], "__nv_tanhf");
    has_not(j.out.ptx, ".extern");
    has_not(j.out.ptx, "call");
    has(j.out.ptx, "ex2.approx");

    Job none = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                        "  store %out[128*bid + tid], instr.f32<12>(load.f32 %a[128*bid + tid])\n}\n"};
    assert_int_equal(run(f, &none), WBB_FAILED);
    has(f->cx->messages, "there is no function __nv_no_such_function");
}

/* A lookup table is stored once in constant memory, and its index is not masked where it is known to be in range. */
static void test_lookup_table(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: u32[1024], %b: out u32[1024], %c: out u32[1024]) block 128 grid 8 {\n"
                     "  x = load.u32 %a[tid]\n  store %b[tid], instr.u32<17>(x)\n"
                     "  store %c[tid], instr.u32<17>(idx.u32(tid // 32))\n}\n"};
    good(f, &j);
    in_order(j.out.ptx,
             "[16] = {1, 0, 0, 0, 0, 0, 0, 0, 110, 131, 249, 162, 255, 255, 255, 255}",
             "ld.const.b32");
    const char *table = strstr(j.out.ptx, ".const .align 4 .b8 words_");
    has_not(table + 1, ".const .align");
    const char *mask = strstr(j.out.ptx, "and.b32");
    if (!mask || strstr(mask + 1, "and.b32")) fail_msg("one mask is expected in\n%s", j.out.ptx);

    Job uneven = {.text = "kernel @k(%a: u32[1024], %b: out u32[1024]) block 128 grid 8 {\n"
                          "  store %b[tid], instr.u32<18>(load.u32 %a[tid])\n}\n"};
    assert_int_equal(run(f, &uneven), WBB_FAILED);
    has(f->cx->messages, "patterns/sm90.py:32: error: instruction '00000001 00000000 a2f9836e': the number of words of "
                         "a lookup table is a power of two");
}

static void test_no_libdevice(void **state)
{
    Fixture *f = *state;
    Job j = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                     "  store %out[128*bid + tid], instr.f32<6>(load.f32 %a[128*bid + tid])\n}\n"};
    const char *had = getenv("WARPBURG_LIBDEVICE");
    setenv("WARPBURG_LIBDEVICE", "/nonexistent/libdevice.bc", 1);
    const WbbStatus status = run(f, &j);
    if (had) setenv("WARPBURG_LIBDEVICE", had, 1);
    else unsetenv("WARPBURG_LIBDEVICE");
    assert_int_equal(status, WBB_DECLINED);
    assert_int_equal(f->cx->why, WHY_NO_LIBDEVICE);
    has(f->cx->messages, "__nv_tanhf");
}

static void test_refusals(void **state)
{
    Fixture *f = *state;
    Job unknown = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                           "  x = load.f32 %a[tid]\n  store %out[tid], instr.f32<11>(x, x)\n}\n"};
    assert_int_equal(run(f, &unknown), WBB_FAILED);
    has(f->cx->messages, "patterns/sm90.py:32: error: instruction 'fmull': not an opcode or intrinsic");

#ifndef __SANITIZE_ADDRESS__ /* LLVM leaks its state after a fatal error, which a leak checker reports */
    /* A fatal error of LLVM, which would end the process: cosine without the flag for approximate functions. */
    Job fatal = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                         "  store %out[tid], instr.f32<8>(load.f32 %a[tid])\n}\n"};
    assert_int_equal(run(f, &fatal), WBB_FAILED);
    has(f->cx->messages, "@k: LLVM");
#endif

    Job types = {.text = "kernel @k(%a: f32[1024], %out: out f32[1024]) block 128 grid 8 {\n"
                         "  x = load.f32 %a[tid]\n  store %out[tid], instr.f32<0>(x, 1.0:f64)\n}\n"};
    assert_int_equal(run(f, &types), WBB_FAILED);
    has(f->cx->messages, "operands of different types");

    Job name = {.text = "kernel @k.1(%out: out f32[1024]) block 128 grid 8 {\n  store %out[tid], 1.0:f32\n}\n"};
    assert_int_equal(run(f, &name), WBB_FAILED);
    has(f->cx->messages, "@k.1: a kernel's name");

    const TgTarget old = {.name = "sm_90", .ptx = "7.0", .tables = &tables},
                   none = {.name = "sm_999", .ptx = "8.8", .tables = &tables};
    Job version = {.text = "kernel @k(%out: out f32[1024]) block 128 grid 8 {\n  store %out[tid], 1.0:f32\n}\n",
                   .target = &old};
    assert_int_equal(run(f, &version), WBB_FAILED);
    has(f->cx->messages, "'sm_90' does not support PTX 7.0");
    version.target = &none;
    assert_int_equal(run(f, &version), WBB_FAILED);
    has(f->cx->messages, "'sm_999'");

    Job after = {.text = "kernel @k(%out: out f32[1024]) block 128 grid 8 {\n  store %out[tid], 1.0:f32\n}\n"};
    good(f, &after);
    has(after.out.ptx, "st.global.b32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_intrinsics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_immediates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gelu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_same_text_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_neighbours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scopes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_libdevice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookup_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_libdevice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

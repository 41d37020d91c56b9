/* ir_check.c: runs the PTX of an IR kernel in the simulator and compares each stored element with the interpreter's
 * value.
 *
 * Needs the kernel's text and its PTX; leaves counts and a counterexample. Correctly rounded results must have the same
 * bits; a nan equals any nan, unless it was only moved. Functions must be within their budget, approximate instructions
 * within the error given. A small kernel is launched until all combinations of its operands are tried. Elements that
 * the kernel does not store must keep their values. Interpreter and simulator share no code but libm's functions: the
 * simulator has its own arithmetic on floats (sim/soft.c, sim/convert.c), and its integer arithmetic is written from
 * the PTX manual. The interpreter has an element in whole bytes, the simulator those of 4 bits and fewer packed, as
 * kernels have them.
 *
 *     @k: %out[17] is 0x3f800000 (1), expected 0x40000000 (2)
 *         %a[17] = 0x3f800000 (1), %b[17] = 0x3f800000 (1)
 */
#include "judge/ir_check.h"

#include "ir/module.h"

#include <string.h>

enum { MORE = 4096, MAX_LAUNCHES = 4096, MAX_THREADS = 1 << 18, SHOWN_LOADS = 6 };

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const IrKernel *k;
    void **memory;
    uint8_t **stored; /* by output: 1 where the kernel stores */
    JudgeInterpreter *interpreter;
    JudgeIrCheck out;
    uint64_t least; /* complexity of the operands of out.first */
} Check;

static uint64_t bits_at(const Check *c, uint32_t buffer, int64_t element)
{
    const ScType t = c->k->buffers[buffer].type;
    uint64_t bits = 0;
    memcpy(&bits, (const char *)c->memory[buffer] + (size_t)element * sc_bytes(t), sc_bytes(t));
    return bits;
}

static void put_value(WbbBuf *b, ScType t, uint64_t bits)
{
    wbb_putf(b, "0x%0*llx", (int)sc_bytes(t) * 2, (unsigned long long)bits);
    if (t == SC_PRED) return;
    wbb_put(b, " (");
    if (sc_is_float(t)) wbb_putf(b, "%.9g", sc_to_f64(t, bits));
    else wbb_put_i128(b, sc_to_i128(t, bits));
    wbb_put(b, ")");
}

static bool agrees(ScType t, uint64_t bits, const JudgeExpected *m)
{
    if (m->known == JUDGE_BOUND) return ev_bounds_contains(t, bits, &m->bound);
    if (bits == m->bits) return true;
    if (!sc_is_float(t) || m->moved) return false;
    const double x = sc_to_f64(t, bits), y = sc_to_f64(t, m->bits);
    return x != x && y != y;
}

static bool in_range(const Check *c, uint32_t buffer, int64_t element)
{
    return element >= 0 && element < c->k->buffers[buffer].elements;
}

/* Count a wrong element, and keep it as out.first if its operands are the simplest so far. */
static void report(Check *c, uint32_t buffer, int64_t element, uint32_t lane, const JudgeExpected *m)
{
    uint32_t buffers[SHOWN_LOADS];
    int64_t elements[SHOWN_LOADS];
    const uint32_t n = judge_loads_of_store(c->interpreter, lane, SHOWN_LOADS, buffers, elements);
    uint64_t complexity = 0;
    for (uint32_t i = 0; i < n; i++)
        if (in_range(c, buffers[i], elements[i]))
            complexity += judge_ir_complexity(c->k->buffers[buffers[i]].type, bits_at(c, buffers[i], elements[i]));
    if (c->out.wrong++ && complexity >= c->least) return;
    c->least = complexity;
    const ScType t = c->k->buffers[buffer].type;
    WbbBuf b = wbb_buf(c->arena);
    wbb_putf(&b, "@%s: %%%s[%lld] ", c->k->name, c->k->buffers[buffer].name, (long long)element);
    if (!in_range(c, buffer, element)) {
        wbb_put(&b, "does not exist");
    } else {
        wbb_put(&b, "is ");
        put_value(&b, t, bits_at(c, buffer, element));
        wbb_put(&b, ", expected ");
        if (m->known == JUDGE_EXACT) put_value(&b, t, m->bits);
        else ev_put_bounds(&b, t, &m->bound);
    }
    for (uint32_t i = 0; i < n; i++) {
        wbb_putf(&b, "%s%%%s[%lld] = ", i ? ", " : "\n    ", c->k->buffers[buffers[i]].name, (long long)elements[i]);
        if (in_range(c, buffers[i], elements[i]))
            put_value(&b, c->k->buffers[buffers[i]].type, bits_at(c, buffers[i], elements[i]));
        else wbb_put(&b, "beyond the buffer");
    }
    c->out.first = b.text;
}

static void on_store(void *arg, uint32_t buffer, int64_t element, uint32_t lane, const JudgeExpected *m)
{
    Check *c = arg;
    if (!in_range(c, buffer, element)) {
        report(c, buffer, element, lane, m);
        return;
    }
    c->stored[buffer][element] = 1;
    if (m->known == JUDGE_ANY) {
        c->out.skipped++;
        return;
    }
    c->out.compared++;
    if (!agrees(c->k->buffers[buffer].type, bits_at(c, buffer, element), m)) report(c, buffer, element, lane, m);
}

/* How the elements of a buffer lie in the memory of a kernel. */
static BdBuffer layout_of(const IrBuffer *b)
{
    const bool packs = sc_type_info[b->type].bits < 8 && b->type != SC_PRED;
    const int bits = packs ? sc_type_info[b->type].bits : (int)sc_bytes(b->type) * 8;
    return (BdBuffer){.type = sc_type_info[b->type].hlo, .rank = 1, .dims = {b->elements}, .bits = bits,
                      .bytes = (b->elements * bits + 7) / 8};
}

/* Elements that no thread stores must keep their value. Only valid after all blocks have run. */
static void check_untouched(Check *c)
{
    for (uint32_t i = 0; i < c->k->n_buffers; i++) {
        const IrBuffer *b = &c->k->buffers[i];
        if (!ir_is_output(b)) continue;
        uint64_t fill = 0;
        memset(&fill, BD_ANYTHING, sc_bytes(b->type));
        if (layout_of(b).bits < 8) fill &= sc_mask(b->type);
        for (int64_t e = 0; e < b->elements; e++) {
            if (b->alias) fill = bits_at(c, b->alias - 1, e);
            if (c->stored[i][e] || bits_at(c, i, e) == fill) continue;
            if (c->out.wrong++) continue;
            c->out.first = wbb_format(c->arena, "@%s: %%%s[%lld] is written, and no thread stores it", c->k->name,
                                      b->name, (long long)e);
        }
    }
}

/* Memory of a buffer for the simulator, with its elements in it. */
static SimBuffer packed(const Check *c, WbbArena *a, uint32_t buffer)
{
    const IrBuffer *b = &c->k->buffers[buffer];
    const BdBuffer d = layout_of(b);
    SimBuffer out = {.bytes = c->memory[buffer], .size = (size_t)d.bytes, .role = ir_is_changed(b) ? BD_OUT : BD_IN,
                     .writes = BD_SOME, .initialised = b->alias || b->zeroed};
    if (d.bits >= 8) return out;
    out.bytes = wbb_alloc(a, out.size + 64);
    bd_to_physical(c->cx, &d, c->memory[buffer], out.bytes);
    return out;
}

/* Brings the elements back. */
static void unpack(const Check *c, uint32_t buffer, const SimBuffer *from)
{
    const BdBuffer d = layout_of(&c->k->buffers[buffer]);
    if (d.bits < 8 && ir_is_changed(&c->k->buffers[buffer])) bd_to_logical(c->cx, &d, from->bytes, c->memory[buffer]);
}

static void prepare_memory(Check *c)
{
    c->memory = WBB_NEW_N(c->arena, void *, c->k->n_buffers + 1);
    c->stored = WBB_NEW_N(c->arena, uint8_t *, c->k->n_buffers + 1);
    for (uint32_t i = 0; i < c->k->n_buffers; i++) {
        const IrBuffer *b = &c->k->buffers[i];
        c->memory[i] = wbb_alloc(c->arena, wbb_mul_size(c->arena, (size_t)b->elements, sc_bytes(b->type)) + 64);
        if (b->space == IR_TABLE) memcpy(c->memory[i], b->table, (size_t)b->elements * sc_bytes(b->type));
        if (ir_is_changed(b)) c->stored[i] = wbb_alloc(c->arena, (size_t)b->elements + 1);
    }
}

static void reset_outputs(Check *c)
{
    for (uint32_t i = 0; i < c->k->n_buffers; i++) {
        const IrBuffer *b = &c->k->buffers[i];
        if (!ir_is_changed(b)) continue;
        const size_t bytes = (size_t)b->elements * sc_bytes(b->type);
        if (b->alias) memcpy(c->memory[i], c->memory[b->alias - 1], bytes);
        else if (b->zeroed) memset(c->memory[i], 0, bytes);
        else memset(c->memory[i], BD_ANYTHING, bytes);
        memset(c->stored[i], 0, (size_t)b->elements);
    }
}

/* The number of elements of each operand that one launch reads: the size of the smallest operand. */
static int64_t per_launch(const IrKernel *k)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < k->n_buffers; i++)
        if (k->buffers[i].space == IR_IN && k->buffers[i].elements)
            n = n ? WBB_MIN(n, k->buffers[i].elements) : k->buffers[i].elements;
    return n;
}

static void launch(Check *c, const SimModule *m, const JudgeIrOptions *o)
{
    const IrKernel *k = c->k;
    WbbArena *scratch = wbb_arena_new(c->cx);
    SimBuffer *buffers = WBB_NEW_N(scratch, SimBuffer, k->n_buffers + 1);
    int *args = WBB_NEW_N(scratch, int, k->n_buffers + 1);
    uint32_t n = 0; /* arguments: all buffers but tables */
    for (uint32_t i = 0; i < k->n_buffers && ir_is_parameter(&k->buffers[i]); i++, n++) {
        const IrBuffer *b = &k->buffers[i];
        buffers[i] = packed(c, scratch, i);
        args[i] = (int)i;
        if (b->alias) args[b->alias - 1] = (int)i; /* share memory; the interpreter reads the operand's own copy */
    }
    const BdLaunch l = {.entry = k->name, .grid = {k->grid, 1, 1}, .block = {k->block, 1, 1},
                        .cluster = {WBB_MAX(k->cluster, 1u), 1, 1}, .shared = ir_dynamic_shared(k), .n_args = (int)n,
                        .args = args};
    const uint64_t threads = (uint64_t)k->grid * k->block;
    const uint64_t blocks = threads > MAX_THREADS ? WBB_MAX(MAX_THREADS / k->block, 1u) : 0; /* 0: all */
    const SimOptions s = {.check = true, .seed = o->seed, .blocks = blocks, .ulp_noise = o->ulp_noise};
    sim_run(c->cx, scratch, m, &l, buffers, (int)n, &s, &c->out.report);
    if (c->out.report.n_faults) return; /* keep `scratch`: it holds the texts of the faults */
    for (uint32_t i = 0; i < n; i++) unpack(c, i, &buffers[i]);
    judge_interpret_launch(c->interpreter);
    for (uint64_t i = 0; i < (blocks ? blocks : k->grid); i++)
        judge_interpret_block(c->interpreter, sim_block(&l, &s, i));
    judge_interpret_end(c->interpreter);
    if (!blocks) check_untouched(c);
    wbb_arena_free(scratch);
}

JudgeIrCheck judge_ir_check(WbbCx *cx, WbbArena *a, const char *file, const char *text, size_t n, const char *ptx,
                            const JudgeIrOptions *o)
{
    Check c = {.cx = cx, .arena = a, .k = ir_parse(cx, a, file, text, n)};
    if (!c.k->grid || !c.k->block) return c.out; /* no threads */
    prepare_memory(&c);
    const JudgeReference reference = {.k = c.k, .memory = c.memory, .err = o->err, .store = on_store, .arg = &c};
    c.interpreter = judge_interpreter(cx, a, &reference);
    const SimModule *m = sim_parse(cx, a, "kernel.ptx", ptx);
    bool all;
    const int64_t combinations = judge_ir_combinations(c.k, &all), step = per_launch(c.k);
    const int64_t wanted = o->samples ? o->samples : combinations + (all ? 0 : MORE);
    c.out.all = all && step && wanted >= combinations;
    int64_t launches = step ? (wanted + step - 1) / step : 1;
    if (launches > MAX_LAUNCHES) launches = MAX_LAUNCHES, c.out.all = false;
    for (int64_t i = 0; i < launches && !c.out.report.n_faults; i++) {
        judge_ir_inputs(c.k, o->seed, i * step, o->values, c.memory);
        reset_outputs(&c);
        launch(&c, m, o);
    }
    return c.out;
}

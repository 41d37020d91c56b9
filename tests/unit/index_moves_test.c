/* index_moves: the index maps of moves against the definition of the operation, element by element. A map is built once
 * with variables and evaluated at every index. */
#include "index_fixture.h"

enum { MAX_RANK = 8 };

typedef struct {
    const int64_t *values; /* by variable */
} Values;

static uint64_t variable(void *arg, const IrGraph *g, IrRef leaf)
{
    assert_int_equal(ir_at(g, leaf)->op, OP_VAR);
    return (uint64_t)((const Values *)arg)->values[ir_at(g, leaf)->imm];
}

static int64_t value(const Fixture *f, IrRef r, const int64_t *values)
{
    Values v = {values};
    uint64_t bits;
    assert_true(ir_eval(f->g, r, variable, &v, &bits));
    return (int64_t)bits;
}

static void unravel(uint32_t rank, const int64_t *dims, int64_t element, int64_t *index)
{
    for (uint32_t d = rank; d-- > 0; element /= dims[d]) index[d] = element % dims[d];
}

static int64_t ravel(uint32_t rank, const int64_t *dims, const int64_t *index)
{
    int64_t element = 0;
    for (uint32_t d = 0; d < rank; d++) element = element * dims[d] + index[d];
    return element;
}

/* The index of an element in memory, by definition: minor dimension first. */
static int64_t in_memory(const HloShape *s, const int64_t *index)
{
    int64_t element = 0, stride = 1;
    for (uint32_t p = 0; p < s->rank; p++) {
        element += index[s->minor_to_major[p]] * stride;
        stride *= s->dims[s->minor_to_major[p]];
    }
    return element;
}

/* The index of the operand's element, by the definition of the operation. */
static void expected(const HloInstruction *i, uint32_t operand, const int64_t *out, int64_t *in)
{
    const HloShape *s = i->operands[operand]->shape;
    int64_t trial[MAX_RANK];
    for (uint32_t d = 0; d < s->rank; d++) in[d] = -1;
    if (i->opcode == HLO_RESHAPE) {
        unravel(s->rank, s->dims, ravel(i->shape->rank, i->shape->dims, out), in);
    } else if (i->opcode == HLO_BITCAST) {
        for (int64_t e = 0; e < hlo_elements(s); e++) {
            unravel(s->rank, s->dims, e, trial);
            if (in_memory(s, trial) == in_memory(i->shape, out)) memcpy(in, trial, sizeof trial);
        }
    } else if (i->opcode == HLO_BROADCAST) {
        for (uint32_t d = 0; d < s->rank; d++) in[d] = out[i->dimensions[d]];
    } else if (i->opcode == HLO_TRANSPOSE) {
        for (uint32_t d = 0; d < s->rank; d++) in[i->dimensions[d]] = out[d];
    } else {
        for (uint32_t d = 0; d < s->rank; d++) in[d] = out[d];
        for (uint32_t d = 0; d < s->rank && i->opcode == HLO_SLICE; d++)
            in[d] = i->slices[d].start + out[d] * i->slices[d].stride;
        for (uint32_t d = 0; d < i->n_dimensions && i->opcode == HLO_REVERSE; d++)
            in[i->dimensions[d]] = s->dims[i->dimensions[d]] - 1 - out[i->dimensions[d]];
    }
}

/* Of a move that has each element once: back from the index of the operand's element, for each element of it. */
static int64_t check_result(Fixture *f, const HloInstruction *i)
{
    const HloShape *s = i->n_operands ? i->operands[0]->shape : NULL;
    int64_t values[1000] = {0}, want[MAX_RANK];
    IrRef in[MAX_RANK], out[MAX_RANK];
    if (!s || !hlo_permutes(i)) return 0;
    const uint32_t first = f->g->n_vars;
    for (uint32_t k = 0; k < s->rank; k++) in[k] = ir_var(f->g, ir_var_new(f->g, "d", IR_LOOP, 0, s->dims[k] - 1, 0));
    ix_result(f->rw, f->arena, i, in, out);
    for (int64_t e = 0; e < hlo_elements(i->shape); e++) {
        int64_t at[MAX_RANK];
        unravel(i->shape->rank, i->shape->dims, e, at);
        expected(i, 0, at, want);
        memcpy(&values[first], want, s->rank * sizeof *want);
        for (uint32_t k = 0; k < i->shape->rank; k++) assert_int_equal(value(f, out[k], values), at[k]);
    }
    return hlo_elements(i->shape);
}

/* Checks every map of the entry at every index, and ix_linear and ix_delinear of every shape. returned: for so many
 * elements there is a way back. */
static void check(const char *text, int64_t returned)
{
    Fixture f = fixture(text);
    const HloComputation *c = f.module->entry;
    int64_t checked = 0;
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        const HloShape *s = i->shape;
        int64_t values[1000] = {0}, want[MAX_RANK];
        IrRef d[MAX_RANK], in[MAX_RANK], back[MAX_RANK];
        const uint32_t first = f.g->n_vars;
        for (uint32_t k = 0; k < s->rank; k++) d[k] = ir_var(f.g, ir_var_new(f.g, "d", IR_LOOP, 0, s->dims[k] - 1, 0));
        const uint32_t whole = ir_var_new(f.g, "e", IR_LOOP, 0, hlo_elements(s) - 1, 0);
        const IrRef linear = ix_linear(f.rw, s, d);
        ix_delinear(f.rw, s, ir_var(f.g, whole), back);
        assert_true(f.g->n_vars < 1000);
        for (int64_t e = 0; e < hlo_elements(s); e++) {
            unravel(s->rank, s->dims, e, &values[first]);
            values[whole] = in_memory(s, &values[first]);
            assert_int_equal(value(&f, linear, values), values[whole]);
            for (uint32_t k = 0; k < s->rank; k++) assert_int_equal(value(&f, back[k], values), values[first + k]);
        }
        returned -= check_result(&f, i);
        for (uint32_t o = 0; o < i->n_operands; o++) {
            assert_true(ix_has_map(i, o));
            ix_operand(f.rw, f.arena, i, o, d, in);
            for (int64_t e = 0; e < hlo_elements(s); e++) {
                unravel(s->rank, s->dims, e, &values[first]);
                expected(i, o, &values[first], want);
                for (uint32_t k = 0; k < i->operands[o]->shape->rank; k++) {
                    assert_int_equal(value(&f, in[k], values), want[k]);
                    checked++;
                }
            }
        }
    }
    assert_true(checked > 0);
    assert_int_equal(returned, 0);
    close_fixture(&f);
}

#define MODULE(body) "HloModule m\n\nENTRY e {\n" body "}\n"

static void test_moves(void **state)
{
    (void)state;
    check(MODULE(
        "  p = f32[3,4,5]{0,2,1} parameter(0)\n  ROOT t = f32[5,3,4]{2,0,1} transpose(p), dimensions={2,0,1}\n"), 60);
    check(MODULE("  p = f32[9,7]{1,0} parameter(0)\n  s = f32[3,7]{0,1} slice(p), slice={[1:8:3], [0:7]}\n"
                 "  ROOT r = f32[3,7]{1,0} reverse(s), dimensions={0,1}\n"), 21);
    check(MODULE(
        "  p = f32[4,1]{1,0} parameter(0)\n  z = f32[] parameter(1)\n  b = f32[2,4,3,1]{3,2,1,0} broadcast(p), "
        "dimensions={1,3}\n"
        "  c = f32[2,4,3,1]{3,2,1,0} broadcast(z), dimensions={}\n  ROOT a = f32[2,4,3,1]{3,2,1,0} add(b, c)\n"), 0);
}

static void test_reshape(void **state)
{
    (void)state;
    check(MODULE("  p = f32[2,3,8,5]{3,2,1,0} parameter(0)\n  a = f32[6,8,5]{2,1,0} reshape(p)\n  b = "
                 "f32[6,2,4,5]{3,2,1,0} reshape(a)\n"
                 "  c = f32[1,12,1,4,5,1]{5,4,3,2,1,0} reshape(b)\n  d = f32[240]{0} reshape(c)\n  ROOT e = "
                 "f32[16,15]{1,0} reshape(d)\n"), 1200);
    check(MODULE(
        "  p = f32[6,4]{0,1} parameter(0)\n  a = f32[4,6]{0,1} reshape(p)\n  ROOT b = f32[8,3]{1,0} reshape(a)\n"), 48);
    check(MODULE("  p = f32[] parameter(0)\n  a = f32[1,1]{1,0} reshape(p)\n  ROOT b = f32[1]{0} reshape(a)\n"), 2);
}

static void test_bitcast(void **state)
{
    (void)state;
    check(MODULE("  p = f32[4,6]{0,1} parameter(0)\n  a = f32[6,4]{1,0} bitcast(p)\n  b = f32[3,8]{0,1} bitcast(a)\n"
                 "  c = f32[2,3,4]{0,2,1} bitcast(b)\n  ROOT d = f32[24,1]{0,1} bitcast(c)\n"), 96);
    check(MODULE("  p = f32[16,17,3]{2,1,0} parameter(0)\n  ROOT a = f32[51,16]{0,1} bitcast(p)\n"), 816);
}

static void prints(const char *text, const char *maps)
{
    Fixture f = fixture(text);
    WbbBuf b = wbb_buf(f.arena);
    ix_print_maps(&b, f.rw, f.arena, f.module->entry, NULL);
    assert_string_equal(b.text, maps);
    close_fixture(&f);
}

static void test_text(void **state)
{
    (void)state;
    prints(MODULE("  p = f32[16,17,3]{2,1,0} parameter(0)\n  ROOT a = f32[51,16]{0,1} bitcast(p)\n"),
           "%a bitcast operand 0 %p: (d0, d1) -> (d1, d0 / 3, d0 mod 3), domain: d0 in [0, 50], d1 in [0, 15]\n");
    prints(MODULE("  p = f32[10,20]{1,0} parameter(0)\n  r = f32[10,20]{1,0} reverse(p), dimensions={0}\n"
                  "  t = f32[20,10]{1,0} transpose(r), dimensions={1,0}\n  ROOT s = f32[5,10]{1,0} slice(t), "
                  "slice={[1:20:4], [0:10]}\n"),
           "%r reverse operand 0 %p: (d0, d1) -> (-d0 + 9, d1), domain: d0 in [0, 9], d1 in [0, 19]\n"
           "%t transpose operand 0 %r: (d0, d1) -> (d1, d0), domain: d0 in [0, 19], d1 in [0, 9]\n"
           "%s slice operand 0 %t: (d0, d1) -> (d0 * 4 + 1, d1), domain: d0 in [0, 4], d1 in [0, 9]\n");
    prints(
        MODULE("  p = f32[] parameter(0)\n  q = f32[0]{0} parameter(1)\n  b = f32[4]{0} broadcast(p), dimensions={}\n"
               "  ROOT c = f32[0]{0} negate(q)\n"),
        "%b broadcast operand 0 %p: (d0) -> (), domain: d0 in [0, 3]\n%c negate operand 0 %q: KNOWN EMPTY\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_reshape), cmocka_unit_test(test_bitcast),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

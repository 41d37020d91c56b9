/* identity.c: the value with which an operation leaves every other one as it is.
 *
 * Needs an operation and a type; leaves a constant of which rules of the simplify phase prove it.
 *
 *     add.f32 -0; mul.s32 1; min.f32 inf; and.u8 255
 */
#include "emit/inner.h"

#include <math.h>

/* Of the constant and an x that nothing is known of: is the result x? */
static bool is_identity(const EmitValues *e, ScOp op, ScType t, uint64_t bits)
{
    const IrRef x = emit_load(e->rw, t, 0, ir_index(e->g, 0)), c = ir_const(e->g, IR_TYPE(t, 0), bits);
    uint32_t rule;
    return rw_step(e->rw, RW_SIMPLIFY, ir_node(e->g, op, IR_TYPE(t, 0), 0, x, c, 0, 0), &rule) == x;
}

bool emit_find_identity(const EmitValues *e, ScOp op, ScType t, IrRef *identity)
{
    if (op == OP_NONE || !sc_type_info[t].compute) return false;
    const uint64_t all = sc_mask(t), sign = all ^ (all >> 1);
    const bool floats = sc_is_float(t), is_signed = !floats && sc_is_signed(t);
    const uint64_t of_floats[] = {sign, sc_from_f64(t, 1), sc_from_f64(t, INFINITY), sc_from_f64(t, -INFINITY)};
    const uint64_t of_integers[] = {0, 1, all, is_signed ? sign : 0, all >> is_signed};
    const uint64_t *candidates = floats ? of_floats : of_integers;
    const size_t n = floats ? sizeof of_floats / sizeof *of_floats : sizeof of_integers / sizeof *of_integers;
    for (size_t k = 0; k < n; k++) {
        if (!is_identity(e, op, t, candidates[k])) continue;
        *identity = ir_const(e->g, IR_TYPE(t, 0), candidates[k]);
        return true;
    }
    return false;
}

/* verify_elements: elementwise operations.
 *
 * Needs: the checks of verify_require.c. Leaves: the result's shape, set or compared.
 *
 *     select(pred[8], f32[8], f32[4])     error: select: operand 2 has shape f32[4], f32[8] expected
 */
#include "hlo/inner.h"

#include <string.h>

static char class_of(const HloShape *s) { return sc_type_info[s->type].cls; }

/* The shape that an instruction without one gets before its operands are verified: the dimensions of its operands;
 * where their sizes differ, which old texts mean as a broadcast, the one that is not 1. */
static const HloShape *common_shape(HloVerifier *v, const HloInstruction *i, ScType type)
{
    const HloShape *largest = hlo_array_operand(v, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    bool same = largest->type == type;
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *s = hlo_array_operand(v, i, k);
        same = same && hlo_same_dims(s, largest);
        if (s->rank > largest->rank) largest = s;
    }
    if (same) return largest;
    for (uint32_t d = 0; d < largest->rank; d++) dims[d] = largest->dims[d];
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *s = i->operands[k]->shape;
        for (uint32_t d = 0; s->rank == largest->rank && d < s->rank; d++)
            if (dims[d] == 1) dims[d] = s->dims[d];
    }
    return hlo_make_result(v, i, type, largest->rank, dims);
}

/* All operands and the result have one shape. If two operands differ, the message names the one that differs from the
 * result. */
static void verify_same(HloVerifier *v, HloInstruction *i)
{
    const HloShape *expected = i->operands[0]->shape;
    if (i->opcode == HLO_COPY && expected->type == SC_TUPLE) {
        hlo_set_result_shape(v, i, expected);
        return;
    }
    if (i->n_operands > 1 && hlo_same_shape(i->operands[1]->shape, i->shape)) expected = i->shape;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, expected);
        hlo_require_class(v, i, k, hlo_op_info[i->opcode].classes);
    }
    hlo_set_result_shape(v, i, expected);
}

/* The element type of a result whose dimensions follow from all operands together; SC_NONE for other operations. */
static ScType common_type(const HloInstruction *i)
{
    const ScType type = i->operands[i->opcode == HLO_SELECT || i->opcode == HLO_CLAMP]->shape->type;
    switch (i->opcode) {
    case HLO_ABS: case HLO_REAL: case HLO_IMAG: case HLO_IS_FINITE: case HLO_COPY: case HLO_CONVERT:
    case HLO_BITCAST_CONVERT:
    case HLO_STOCHASTIC_CONVERT: return SC_NONE;
    case HLO_COMPARE: return SC_PRED;
    case HLO_COMPLEX: return type == SC_F32 ? SC_C64 : type == SC_F64 ? SC_C128 : SC_NONE;
    default: return type;
    }
}

static void verify_abs_real_imag(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_class(v, i, 0, i->opcode == HLO_ABS ? "IUFC" : "FC");
    hlo_set_result_type(v, i, s->type == SC_C64 ? SC_F32 : s->type == SC_C128 ? SC_F64 : s->type, s);
}

static void verify_select(HloVerifier *v, HloInstruction *i)
{
    const HloShape *predicate = i->operands[0]->shape, *s = i->operands[1]->shape;
    if (predicate->type == SC_TUPLE || s->type == SC_TUPLE) hlo_invalid(v, i, "a tuple cannot be selected");
    hlo_require_type(v, i, "operand 0", predicate, SC_PRED);
    if (predicate->rank) hlo_require_dims(v, i, "operand 0", predicate, s);
    hlo_require_shape(v, i, "operand 2", i->operands[2]->shape, s);
    hlo_set_result_shape(v, i, s);
}

static void verify_clamp(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[1]->shape;
    hlo_require_class(v, i, 1, "PIUFC");
    for (uint32_t k = 0; k <= 2; k += 2) {
        const HloShape *bound = i->operands[k]->shape;
        if (bound->rank || bound->type == SC_TUPLE) hlo_require_shape(v, i, hlo_operand_name(v, k), bound, s);
        hlo_require_type(v, i, hlo_operand_name(v, k), bound, s->type);
    }
    hlo_set_result_shape(v, i, s);
}

static void verify_compare(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_require_class(v, i, 0, i->direction == HLO_EQ || i->direction == HLO_NE ? "PIUFC" : "PIUF");
    hlo_require_shape(v, i, "operand 1", i->operands[1]->shape, s);
    hlo_set_result_type(v, i, SC_PRED, s);
}

static void verify_complex(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    if (s->type != SC_F32 && s->type != SC_F64)
        hlo_invalid(v, i, "operand 0 has shape %s, type f32 or f64 expected", hlo_short_shape(v, s));
    hlo_require_shape(v, i, "operand 1", i->operands[1]->shape, s);
    hlo_set_result_type(v, i, s->type == SC_F32 ? SC_C64 : SC_C128, s);
}

static void verify_convert(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_require_class(v, i, 0, "PIUFC");
    hlo_require_written_shape(v, i);
    hlo_require_dims(v, i, "the result", i->shape, s);
    if (class_of(i->shape) == '-')
        hlo_invalid(v, i, "the result has shape %s, which holds no values", hlo_short_shape(v, i->shape));
    if (class_of(s) == 'C' && class_of(i->shape) != 'C')
        hlo_invalid(v, i, "a complex operand, but a result of shape %s", hlo_short_shape(v, i->shape));
}

/* The random bits, operand 1, have the width of operand 0. */
static void verify_stochastic_convert(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_require_class(v, i, 0, "F");
    hlo_require_class(v, i, 1, "U");
    hlo_require_dims(v, i, "operand 1", i->operands[1]->shape, s);
    if (sc_type_info[i->operands[1]->shape->type].bits != sc_type_info[s->type].bits)
        hlo_invalid(v, i, "operand 1 has shape %s, unsigned integers of %u bits expected",
                    hlo_short_shape(v, i->operands[1]->shape), sc_type_info[s->type].bits);
    hlo_require_written_shape(v, i);
    hlo_require_dims(v, i, "the result", i->shape, s);
    if (!strchr("IUF", class_of(i->shape)))
        hlo_invalid(v, i, "the result has shape %s, floats or integers expected", hlo_short_shape(v, i->shape));
}

/* Between types of different width, the array of the wider type has one dimension less. */
static void verify_bitcast_convert(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0), *t = i->shape;
    hlo_require_written_shape(v, i);
    if (t->type == SC_TUPLE) hlo_invalid(v, i, "the result is a tuple, an array expected");
    if (class_of(s) == '-' || class_of(t) == '-')
        hlo_invalid(v, i, "%s cannot be read as %s", hlo_short_shape(v, s), hlo_short_shape(v, t));
    uint32_t from = sc_type_info[s->type].bits, to = sc_type_info[t->type].bits;
    if (from == to) {
        hlo_require_dims(v, i, "the result", t, s);
        return;
    }
    const HloShape *wide = from > to ? s : t, *narrow = from > to ? t : s;
    uint32_t ratio = WBB_MAX(from, to) / WBB_MIN(from, to);
    bool fits = narrow->rank == wide->rank + 1 &&
                (!wide->rank || memcmp(narrow->dims, wide->dims, wide->rank * sizeof(int64_t)) == 0) &&
                narrow->dims[wide->rank] == ratio;
    if (!fits) hlo_invalid(v, i, "%s cannot be read as %s", hlo_short_shape(v, s), hlo_short_shape(v, t));
}

bool hlo_verify_element(HloVerifier *v, HloInstruction *i)
{
    if (!hlo_is_elementwise(i->opcode)) return false;
    const ScType type = i->shape ? SC_NONE : common_type(i);
    if (type != SC_NONE) {
        i->shape = common_shape(v, i, type);
        return true;
    }
    switch (i->opcode) {
    case HLO_ABS: case HLO_REAL: case HLO_IMAG: verify_abs_real_imag(v, i); break;
    case HLO_SELECT: verify_select(v, i); break;
    case HLO_CLAMP: verify_clamp(v, i); break;
    case HLO_COMPARE: verify_compare(v, i); break;
    case HLO_COMPLEX: verify_complex(v, i); break;
    case HLO_CONVERT: verify_convert(v, i); break;
    case HLO_BITCAST_CONVERT: verify_bitcast_convert(v, i); break;
    case HLO_STOCHASTIC_CONVERT: verify_stochastic_convert(v, i); break;
    case HLO_IS_FINITE:
        hlo_require_class(v, i, 0, "FC");
        hlo_set_result_type(v, i, SC_PRED, i->operands[0]->shape);
        break;
    case HLO_REDUCE_PRECISION:
        if (i->number < 1 || i->number > 31 || i->number2 < 0 || i->number2 > 63)
            hlo_invalid(v, i, "%lld exponent and %lld mantissa bits", (long long)i->number, (long long)i->number2);
        verify_same(v, i);
        break;
    default: verify_same(v, i); break;
    }
    return true;
}

/* scalar: names of types and operations, and conversions between the bits of a type and the numbers of C.
 *
 * Needs: the generated tables. Leaves: look-up by name, widths and classes, and conversions that round once.
 *
 *     uint64_t x[2] = {sc_from_f64(SC_F32, 1.5), sc_from_f64(SC_F32, 0.25)}, sum;
 *     sc_eval(OP_ADD, SC_F32, SC_F32, x, &sum);      // sc_to_f64(SC_F32, sum) is 1.75
 */
#include "scalar/scalar.h"

#include "scalar/round.h"

#include <fenv.h>
#include <stdlib.h>

static bool same(const char *z, const char *name, size_t n) { return *z == *name && !strncmp(z, name, n) && !z[n]; }

ScType sc_type_named(const char *name, size_t n)
{
    if (n == 0) return SC_NONE;
    for (int t = SC_NONE + 1; t < SC_TYPE_COUNT; t++)
        if (same(sc_type_info[t].name, name, n) || same(sc_type_info[t].hlo, name, n)) return (ScType)t;
    return SC_NONE;
}

ScOp sc_op_named(const char *name, size_t n)
{
    for (int o = OP_NONE + 1; o < OP_COUNT; o++)
        if (same(sc_op_info[o].name, name, n)) return (ScOp)o;
    return OP_NONE;
}

const char *const sc_accuracy_name[SC_ACCURACIES] = {"exact", "xla", "approx"};

ScAccuracy sc_accuracy_named(const char *name)
{
    for (int k = 0; k < SC_ACCURACIES; k++)
        if (!strcmp(name, sc_accuracy_name[k])) return (ScAccuracy)k;
    return SC_ACCURACIES;
}

uint32_t sc_bytes(ScType t) { return t == SC_PRED ? 1 : (sc_type_info[t].bits + 7u) / 8u; }

uint64_t sc_mask(ScType t)
{
    unsigned bits = t == SC_PRED ? 1 : sc_type_info[t].bits;
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool sc_is_float(ScType t) { return sc_type_info[t].cls == 'F'; }
bool sc_is_signed(ScType t) { return sc_type_info[t].cls == 'I'; }
ScType sc_signed(uint32_t bits)
{
    return bits == 4 ? SC_I4 : bits == 8 ? SC_I8 : bits == 16 ? SC_I16 : bits == 32 ? SC_I32 : SC_I64;
}
bool sc_is_int(ScType t) { return sc_type_info[t].cls == 'I' || sc_type_info[t].cls == 'U'; }

/* Signed integers and index: the bits, sign-extended. */
static int64_t extended(ScType t, uint64_t bits)
{
    unsigned free_bits = 64u - (unsigned)sc_type_info[t].bits;
    return (int64_t)(bits << free_bits) >> free_bits;
}

static uint64_t int_from_f64(ScType t, double x)
{
    bool is_signed = sc_type_info[t].cls != 'U';
    int bits = sc_type_info[t].bits;
    double top = ldexp(1, is_signed ? bits - 1 : bits), least = is_signed ? -top : 0;
    if (x != x) return 0;
    if (x <= least) return is_signed ? UINT64_C(1) << (bits - 1) : 0;
    if (x >= top) return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : sc_mask(t);
    return is_signed ? (uint64_t)(int64_t)x & sc_mask(t) : (uint64_t)x;
}

uint64_t sc_from_f64(ScType t, double x)
{
    switch (t) {
    case SC_PRED: return x != 0;
    case SC_F16: return sc_f16_of_double(x);
    case SC_BF16: return sc_bf16_of_double(x);
    case SC_F32: return sc_bits_of_float((float)x);
    case SC_F64: return sc_bits_of_double(x);
    default: break;
    }
    if (sc_is_float(t)) return sc_small_from_f64(t, x);
    return sc_is_int(t) || t == SC_INDEX ? int_from_f64(t, x) : 0;
}

double sc_to_f64(ScType t, uint64_t bits)
{
    switch (t) {
    case SC_F16: return (double)sc_f16_to_float((uint16_t)bits);
    case SC_BF16: return (double)sc_bf16_to_float((uint16_t)bits);
    case SC_F32: return (double)sc_float_of_bits((uint32_t)bits);
    case SC_F64: return sc_double_of_bits(bits);
    default: break;
    }
    if (sc_is_float(t)) return sc_small_to_f64(t, bits);
    return sc_is_signed(t) || t == SC_INDEX ? (double)extended(t, bits) : (double)bits;
}

/* x as a double, rounded to odd. */
static double double_odd(WbbI128 x)
{
    WbbU128 mag = x < 0 ? (WbbU128)0 - (WbbU128)x : (WbbU128)x;
    unsigned high = sc_length((uint64_t)(mag >> 64)), shift = high ? high + 11 : 0; /* leaves 53 bits or fewer */
    bool sticky = shift && (mag & (((WbbU128)1 << shift) - 1)) != 0;
    double d =
        shift ? ldexp((double)((uint64_t)(mag >> shift) | sticky), (int)shift) : sc_double_odd_unsigned((uint64_t)mag);
    return x < 0 ? -d : d;
}

uint64_t sc_from_i128(ScType t, WbbI128 x)
{
    if (t == SC_PRED) return x != 0;
    if (!sc_is_float(t)) return (uint64_t)x & sc_mask(t);
    if (t == SC_F64) return sc_bits_of_double((double)x);
    return sc_from_f64(t, double_odd(x));
}

WbbI128 sc_to_i128(ScType t, uint64_t bits)
{
    return sc_is_signed(t) || t == SC_INDEX ? (WbbI128)extended(t, bits) : (WbbI128)bits;
}

/* The decimal as a double, rounded to odd: of the two doubles around it exactly one has an odd last bit. */
static double decimal_odd(const char *decimal)
{
    int mode = fegetround();
    fesetround(FE_DOWNWARD);
    double below = strtod(decimal, NULL);
    fesetround(FE_UPWARD);
    double above = strtod(decimal, NULL);
    fesetround(mode);
    return sc_bits_of_double(below) & 1 ? below : above;
}

uint64_t sc_parse_float(ScType t, const char *decimal)
{
    if (t == SC_F64) return sc_bits_of_double(strtod(decimal, NULL));
    if (t == SC_F32) return sc_bits_of_float(strtof(decimal, NULL));
    return sc_from_f64(t, decimal_odd(decimal));
}

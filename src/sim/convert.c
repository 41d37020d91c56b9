/* convert: cvt between any two types, with every rounding, .sat, .satfinite, .relu and .ftz.
 *
 * Needs: soft.c. Leaves: an operation whose immediate holds both types and the modifiers. Frequent conversions have
 * rows of their own in ops_half.c; this file decodes and computes all others.
 *
 * Values are widened exactly, whole numbers to 128-bit integers and floats to double, and rounded once at the end. A
 * float that becomes a whole number is clamped to its range; nan gives 0, or the highest bit alone where 64 bits
 * take part.
 *
 *     cvt.rzi.s32.f32   3.7 -> 3,  1e20 -> 2147483647,  nan -> 0
 */
#include "sim/lanes.h"

typedef enum {
    T_S8,
    T_U8,
    T_S16,
    T_U16,
    T_S32,
    T_U32,
    T_S64,
    T_U64,
    T_F16,
    T_BF16,
    T_F32,
    T_F64,
    T_E4M3,
    T_E5M2,
    T_E2M1,
    T_E2M3,
    T_E3M2,
    T_TF32,
    T_UE8M0,
    T_COUNT
} Type;

static const struct {
    const char *name;
    u8 bits;
    bool is_float, is_signed;
    Format format;
    char letter;
} types[] = {
    {"s8", 8, false, true, 0, 'h'},         {"u8", 8, false, false, 0, 'h'},         {"s16", 16, false, true, 0, 'h'},
    {"u16", 16, false, false, 0, 'h'},      {"s32", 32, false, true, 0, 'w'},        {"u32", 32, false, false, 0, 'w'},
    {"s64", 64, false, true, 0, 'd'},       {"u64", 64, false, false, 0, 'd'},       {"f16", 16, true, true, FMT_F16, 'h'},
    {"bf16", 16, true, true, FMT_BF16, 'h'}, {"f32", 32, true, true, FMT_F32, 'f'},  {"f64", 64, true, true, FMT_F64, 'g'},
    {"e4m3", 8, true, true, FMT_E4M3, 'h'}, {"e5m2", 8, true, true, FMT_E5M2, 'h'},  {"e2m1", 4, true, true, FMT_E2M1, 'h'},
    {"e2m3", 8, true, true, FMT_E2M3, 'h'}, {"e3m2", 8, true, true, FMT_E3M2, 'h'},  {"tf32", 32, true, true, FMT_TF32, 'w'},
    {"ue8m0", 8, true, false, FMT_F64, 'h'},
};

typedef struct {
    Type to, from;
    Round mode;
    bool whole, sat, satfinite, relu, ftz; /* whole: round to a whole number */
} Conversion;

static i64 packed(Conversion c)
{
    return (i64)((u32)c.to | (u32)c.from << 5 | (u32)c.mode << 10 | (u32)c.whole << 13 | (u32)c.sat << 14 |
                 (u32)c.satfinite << 15 | (u32)c.relu << 16 | (u32)c.ftz << 17);
}

static Conversion unpacked(i64 imm)
{
    u32 v = (u32)imm;
    return (Conversion){(Type)(v & 31), (Type)(v >> 5 & 31), (Round)(v >> 10 & 7), v >> 13 & 1,
                        v >> 14 & 1,    v >> 15 & 1,         v >> 16 & 1,          v >> 17 & 1};
}

static WbbI128 least(Type t) { return types[t].is_signed ? -((WbbI128)1 << (types[t].bits - 1)) : 0; }
static WbbI128 most(Type t) { return ((WbbI128)1 << (types[t].bits - types[t].is_signed)) - 1; }

static double to_whole(double v, Round mode)
{
    switch (mode) {
    case RN: return nearbyint(v); /* the host rounds to nearest even, as everywhere in this program */
    case RZ: return trunc(v);
    case RM: return floor(v);
    default: return ceil(v);
    }
}

static u64 from_integer(Conversion c, u64 raw)
{
    WbbI128 v = raw;
    if (types[c.from].bits < 64) v &= ((WbbI128)1 << types[c.from].bits) - 1;
    if (types[c.from].is_signed && v >> (types[c.from].bits - 1)) v -= (WbbI128)1 << types[c.from].bits;
    if (types[c.to].is_float) {
        u64 r = sim_round(types[c.to].format, v < 0, (WbbU128)(v < 0 ? -v : v), 0, false, c.mode);
        if (!c.sat) return r;
        double d = sim_widen(types[c.to].format, r);
        return sim_round_f64(types[c.to].format, d > 1 ? 1 : d > 0 ? d : 0, RN);
    }
    if (c.sat) v = WBB_MAX(least(c.to), WBB_MIN(most(c.to), v));
    u64 r = (u64)v;
    /* 8 bits live in a 16-bit column, extended as their type says. */
    if (types[c.to].bits == 8) r = types[c.to].is_signed ? (u64)(i64)(i8)r : (u8)r;
    return r;
}

/* A power of two between 2^-127 and 2^127: its exponent plus 127; the sign is dropped, nan is 255. */
static u64 to_exponent(Conversion c, double v)
{
    if (v != v) return 255;
    if (v - v != 0) return c.satfinite ? 254 : 255;
    int e = 0;
    const double m = frexp(fabs(v), &e); /* 0.5 <= m < 1 */
    if (m == 0) return 0;
    const int exponent = e - 1 + (c.mode == RP && m > 0.5);
    return exponent > 127 ? (c.satfinite ? 254 : 255) : (u64)(WBB_MAX(-127, exponent) + 127);
}

static double of_exponent(u64 e) { return e == 255 ? (double)NAN : ldexp(1.0, (int)e - 127); }

static u64 from_float(Conversion c, u64 raw)
{
    Format format = types[c.from].format;
    if (types[c.from].bits == 8) raw &= 255;
    if (c.ftz && c.from == T_F32) raw = flush32((u32)raw);
    double v = c.from == T_UE8M0 ? of_exponent(raw) : sim_widen(format, raw);
    if (c.to == T_UE8M0) return to_exponent(c, v);
    if (!types[c.to].is_float) {
        bool wide = c.from == T_F64 || types[c.to].bits == 64;
        if (v != v) return wide ? UINT64_C(1) << (types[c.to].bits - 1) : 0;
        v = to_whole(v, c.mode);
        WbbI128 n = v >= 0x1p100 ? (WbbI128)1 << 100 : v <= -0x1p100 ? -((WbbI128)1 << 100) : (WbbI128)v;
        return (u64)WBB_MAX(least(c.to), WBB_MIN(most(c.to), n));
    }
    if (c.whole) v = to_whole(v, c.mode);
    if (c.relu && !(v != v)) v = v > 0 ? v : 0;
    if (c.sat) v = v > 1 ? 1 : v > 0 ? v : 0;
    if (c.to == T_F64 && c.from == T_F64 && v != v) return raw | UINT64_C(0x0008000000000000);
    u64 r = sim_round_f64(types[c.to].format, v, c.whole ? RN : c.mode);
    if (c.satfinite && v == v) { /* the largest finite value instead of infinity */
        double back = sim_widen(types[c.to].format, r);
        if (back - back != 0 || (v - v != 0 && c.to != T_F64))
            r = sim_round(types[c.to].format, v < 0, 1, 1000, false, RZ);
    }
    if (c.ftz && c.to == T_F32) r = flush32((u32)r);
    if (c.to == T_TF32) r <<= 13; /* the upper 19 bits of a word */
    return r;
}

static u64 one(Conversion c, u64 raw) { return types[c.from].is_float ? from_float(c, raw) : from_integer(c, raw); }

static void convert(uint8_t *d, const uint8_t *regs, const SimOp *op)
{
    Conversion c = unpacked(op->imm);
    int from = sim_width_of(types[c.from].letter);
    for (int l = 0; l < LANES; l++) {
        u64 r = one(c, sim_lane(regs + op->a, l, from));
        memcpy(d + l * op->width, &r, op->width);
    }
}

/* Convert two values into one register: the first operand goes to the upper half. */
static void convert_pair(uint8_t *d, const uint8_t *regs, const SimOp *op)
{
    Conversion c = unpacked(op->imm);
    int bits = types[c.to].bits;
    u64 mask = (UINT64_C(1) << bits) - 1;
    for (int l = 0; l < LANES; l++) {
        u64 high = one(c, sim_lane(regs + op->a, l, 4)), low = one(c, sim_lane(regs + op->b, l, 4));
        u64 r = (high & mask) << bits | (low & mask);
        memcpy(d + l * op->width, &r, op->width);
    }
}

/* Convert both halves of a register into both halves of another. */
static void convert_halves(uint8_t *d, const uint8_t *regs, const SimOp *op)
{
    Conversion c = unpacked(op->imm);
    int from_bits = types[c.from].bits, to_bits = types[c.to].bits, from = from_bits <= 8 ? 2 : 4;
    u64 from_mask = (UINT64_C(1) << from_bits) - 1, to_mask = (UINT64_C(1) << to_bits) - 1;
    for (int l = 0; l < LANES; l++) {
        u64 v = sim_lane(regs + op->a, l, from);
        u64 r = (one(c, v >> from_bits & from_mask) & to_mask) << to_bits | (one(c, v & from_mask) & to_mask);
        memcpy(d + l * op->width, &r, op->width);
    }
}

static Type type_named(const char *name, bool *pair)
{
    size_t n = strlen(name);
    *pair = n > 2 && strcmp(name + n - 2, "x2") == 0;
    if (*pair) n -= 2;
    for (int t = 0; t < T_COUNT; t++)
        if (strlen(types[t].name) == n && memcmp(types[t].name, name, n) == 0) return (Type)t;
    return T_COUNT;
}

static bool modifiers(const Inst *inst, Conversion *c)
{
    static const char *const modes[] = {"rn", "rz", "rm", "rp"};
    for (int i = 1; i < inst->n_parts - 2; i++) {
        const char *part = inst->part[i];
        if (strcmp(part, "sat") == 0) c->sat = true;
        else if (strcmp(part, "satfinite") == 0) c->satfinite = true;
        else if (strcmp(part, "relu") == 0) c->relu = true;
        else if (strcmp(part, "ftz") == 0) c->ftz = true;
        else {
            int m = 0;
            while (m < 4 && strncmp(part, modes[m], 2) != 0) m++;
            if (m < 4 && !strcmp(part, "rna")) {
                c->mode = RNA;
                continue;
            }
            if (m == 4 || (part[2] && strcmp(part + 2, "i") != 0)) return false;
            c->mode = (Round)m;
            c->whole = part[2] == 'i';
        }
    }
    return true;
}

bool sim_decode_cvt(Parser *p, const Inst *inst)
{
    if (inst->n_parts < 3) return false;
    Conversion c = {.mode = RN};
    bool to_pair = false, from_pair = false;
    c.to = type_named(inst->part[inst->n_parts - 2], &to_pair);
    c.from = type_named(inst->part[inst->n_parts - 1], &from_pair);
    if (c.to == T_COUNT || c.from == T_COUNT || !modifiers(inst, &c)) return false;
    bool narrow = types[c.to].bits <= 8 && types[c.to].is_float,
         narrow_from = types[c.from].bits <= 8 && types[c.from].is_float;
    if ((narrow && !to_pair) || (narrow_from && !from_pair) || (from_pair && !to_pair)) return false;
    if (types[c.from].is_float && !types[c.to].is_float && !c.whole) return false;
    if (c.from == T_TF32 || (c.to == T_TF32 && c.from != T_F32) || (c.mode == RNA && c.to != T_TF32)) return false;
    if (c.to == T_UE8M0 && c.mode != RZ && c.mode != RP) return false;
    if (to_pair && !from_pair && (c.from != T_F32 || inst->n != 3)) return false;
    if (!(to_pair && !from_pair) && inst->n != 2) return false;

    char to = types[c.to].letter, from = types[c.from].letter;
    if (to_pair) to = types[c.to].bits <= 8 ? 'h' : 'w';
    if (from_pair) from = types[c.from].bits <= 8 ? 'h' : 'w';
    uint32_t a = sim_read(p, &inst->opd[1], from);
    uint32_t b = to_pair && !from_pair ? sim_read(p, &inst->opd[2], from) : 0;
    uint32_t d = sim_result(p, &inst->opd[0], to);
    SimOp *op = sim_emit(p, OP_ALU);
    op->fn = !to_pair ? convert : from_pair ? convert_halves : convert_pair;
    op->d = d, op->a = a, op->b = b;
    op->width = (uint8_t)sim_width_of(to);
    op->imm = packed(c);
    sim_done(p, &inst->opd[0], d, to, !types[c.to].is_float && types[c.to].is_signed);
    return true;
}

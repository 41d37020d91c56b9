/* driver: runs both sides of a rule over many values and compares them. gen/proof/driver.py builds it, writes its input
 * and reads its output.
 *
 * Needs sc_loop (gen/semantics.py as C) and narrow_loop (the same at widths 1 to 7). Standard input has jobs, in words:
 *
 *     J id first samples seed
 *     V type mode n m value..           a variable with n values; the first m are combined with those of other; of mode
 *                                       range two values, the first one and how many follow
 * variables I kind op type from a b c ..      an instruction P reg    B reg                    a register that is true
 * where the rule fires; one that must not be true there E left right contract ulp absolute    the end of the job, which
 * runs it
 *
 * Leaves a line for each job:
 *
 *     ok 17 65536 1 4.2 0.6   id, cases, exhaustive, largest error, the same with no result moved; then a number for
 *                             each condition that no case met: its register, or ~register where none failed it
 *     bad 17 -1 2 hex..       id, which B failed or -1 for unequal sides, number of registers, their values
 *
 * Registers hold 1,024 values at a time. An exact integer (index values, constants of rules) is an __int128, a
 * reference value of a function a long double.
 */
#include "narrow.h"
#include "scalar/round.h"
#include "scalar/scalar.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024, MAX_REGS = 1200, MAX_VARS = 48, EXACT = 200, REFERENCE = 201 };
__extension__ typedef __int128 Int;

enum {                    /* kinds of instructions; the first is any operation of the table */
    SCALAR, LITERAL, INT, OF, TO, ADD, SUB, MUL, CDIV, CMOD, FLOORDIV, MOD, MIN, MAX, EQ, NE, LT, LE, GT, GE, NUDGE,
    FUNCTION, GARBAGE, CPART, CREF
};
enum {
    ALL,
    LIST,
    SAMPLE,
    SIDE,
    RANGE
}; /* values of a variable; SIDE: a list, whose values other than 0 move an inexact result */
enum { EQUAL, WITHIN_ULP, EQUAL_BUT_ZEROS, COMPLEX };

typedef struct {
    int kind, op, type, from, a, b, c;
    int d, part; /* CPART, CREF: operands are (a, b) and (c, d) */
    double x, y, z;
} Ins;

typedef struct {
    int type, mode, n, m;
    Int *values;
} Var;

static _Alignas(64) unsigned char reg[MAX_REGS][N * 16];
static int type_of[MAX_REGS];
static Ins code[MAX_REGS];
static Var var[MAX_VARS];
static int pre[64], bad[1024];
static int n_regs, n_vars, n_pre, n_bad;
static unsigned char excluded[N];
static unsigned char met[MAX_REGS];  /* of a condition: 1 if a case met it, 2 if one failed it */
static int unmet[MAX_REGS], n_unmet; /* conditions of which not both are known yet */
static uint64_t random_state;

static uint64_t random64(void) /* splitmix64 */
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool is_narrow(int t) { return t >= 100 && t < EXACT; }
static bool is_float(int t) { return t < 100 && sc_is_float((ScType)t); }

static int bits_of(int t)
{
    if (is_narrow(t)) return t % 100 % 10;
    return t == SC_PRED ? 1 : t < 100 ? sc_type_info[t].bits : 64;
}

static size_t bytes_of(int t) { return t >= EXACT ? 16 : is_narrow(t) ? 1 : sc_bytes((ScType)t); }

static bool is_signed(int t) { return is_narrow(t) ? t < 110 : sc_is_signed((ScType)t); }

/* A value as an exact integer; signed types are sign-extended. */
static Int get(int r, int i)
{
    const int t = type_of[r];
    if (t == EXACT) return ((const Int *)(const void *)reg[r])[i];
    uint64_t u = 0;
    memcpy(&u, reg[r] + (size_t)i * bytes_of(t), bytes_of(t));
    const int b = bits_of(t);
    if (b < 64) u &= (UINT64_C(1) << b) - 1;
    if (!is_signed(t)) return (Int)u;
    return b < 64 ? (Int)((int64_t)(u << (64 - b)) >> (64 - b)) : (Int)(int64_t)u;
}

static void put(int r, int i, Int v)
{
    const int t = type_of[r], b = bits_of(t);
    if (t == EXACT) {
        ((Int *)(void *)reg[r])[i] = v;
        return;
    }
    uint64_t u = (uint64_t)v;
    if (b < 64 && is_signed(t)) u = (uint64_t)((int64_t)(u << (64 - b)) >> (64 - b));
    else if (b < 64) u &= (UINT64_C(1) << b) - 1;
    memcpy(reg[r] + (size_t)i * bytes_of(t), &u, bytes_of(t));
}

#include "complex_reference.h"
#include "float_reference.h"

static double float_at(int r, int i)
{
    uint64_t u = 0;
    memcpy(&u, reg[r] + (size_t)i * bytes_of(type_of[r]), bytes_of(type_of[r]));
    return sc_to_f64((ScType)type_of[r], u);
}

/* A float, or a reference value, which is of more digits. */
static long double real_at(int r, int i)
{
    return type_of[r] == REFERENCE ? ((const long double *)(const void *)reg[r])[i] : (long double)float_at(r, i);
}

/* --- instructions ---------------------------------------------------------------------------------------------- */
static bool exact_step(const Ins *s, int r, int i)
{
    Int *d = (Int *)(void *)reg[r];
    const Int x = ((const Int *)(const void *)reg[s->a])[i], y = ((const Int *)(const void *)reg[s->b])[i];
    switch (s->kind) {
    case ADD: return !__builtin_add_overflow(x, y, &d[i]);
    case SUB: return !__builtin_sub_overflow(x, y, &d[i]);
    case MUL: return !__builtin_mul_overflow(x, y, &d[i]);
    case CDIV:
    case FLOORDIV: d[i] = y > 0 ? x / y - (x % y < 0) : 0; return y > 0 || s->kind == FLOORDIV;
    case CMOD:
    case MOD: d[i] = y > 0 ? x % y + (x % y < 0 ? y : 0) : 0; return y > 0 || s->kind == MOD;
    case MIN: d[i] = x < y ? x : y; return true;
    case MAX: d[i] = x > y ? x : y; return true;
    default: break;
    }
    const bool holds[] = {x == y, x != y, x < y, x <= y, x > y, x >= y};
    reg[r][i] = holds[s->kind - EQ];
    return true;
}

/* The exact result of an instruction with rounded result v; v itself for most instructions. */
static double exactly(const Ins *s, int i, double v)
{
    const int op = s->op == OP_EXP2Z    ? OP_EXP2
                   : s->op == OP_LOG2Z  ? OP_LOG2
                   : s->op == OP_RCPZ   ? OP_RCP
                   : s->op == OP_RSQRTZ ? OP_RSQRT
                                        : s->op;
    if (op != OP_EXP2 && op != OP_LOG2 && op != OP_RCP && op != OP_RSQRT) return v;
    const double x = (double)function(op, (long double)float_at(s->a, i), 0);
    return fabs(x - v) <= unit_at(s->type, v) ? x : v; /* some flush subnormals to 0 */
}

/* A result that an inexact instruction may give: its value, moved by x times the value, y units in the last place, and
 * z. It stays within the bounds of the function, and is rounded towards the exact value, because the stated error is
 * that of the rounded result. The machine's estimates of f64 have 21 bits (PTX: the lower 32 bits are zeros), by which
 * products with them are exact. */
static void nudge(const Ins *s, int r, int i)
{
    const double v = float_at(s->a, i);
    const int side = (int)get(s->b, i);
    double moved = v, exact = v;
    if (side && isfinite(v) && v != 0) {
        if (s->x > 0) exact = exactly(&code[s->a], i, v);
        moved = exact + side * (fabs(exact) * s->x + s->y * unit_at(s->type, v) + s->z);
    }
    if (isfinite(v) &&
        (s->op == OP_TANH || s->op == OP_SIN || s->op == OP_COS || s->op == OP_ERF || s->op == OP_LOGISTIC))
        moved = fmax(s->op == OP_LOGISTIC ? 0 : -1, fmin(1, moved));
    /* the sign of a power or an angle is exact */
    if ((s->op == OP_POW || s->op == OP_ATAN2) && (moved < 0) != (v < 0)) moved = copysign(0, v);
    if (s->op == OP_SIN && (moved == 0 || (moved < 0) != (v < 0))) moved = v; /* the sine of a float is 0 only at 0 */
    uint64_t bits = sc_from_f64((ScType)s->type, moved);
    const double got = sc_to_f64((ScType)s->type, bits);
    if (fabs(got - exact) > fabs(moved - exact) && (got < 0) == (v < 0) && got != 0 && got != v)
        bits += fabs(got) > fabs(v) ? UINT64_MAX : 1;
    if (s->type == SC_F64 && (s->op == OP_RCPZ || s->op == OP_RSQRTZ) && isfinite(v)) {
        if (fabs(moved) < fabs(exact)) bits += UINT32_MAX;
        bits &= ~(uint64_t)UINT32_MAX;
    }
    memcpy(reg[r] + (size_t)i * bytes_of(s->type), &bits, bytes_of(s->type));
}

static Z complex_at(int re, int im, int i)
{
    return re < 0 ? 0 : pair_of((long double)float_at(re, i), (long double)float_at(im, i));
}

static Z complex_step(const Ins *s, int i)
{
    return complex_function(s->op, complex_at(s->a, s->b, i), complex_at(s->c, s->d, i));
}
static long double part_of(Z z, int part) { return part ? cimagl(z) : creall(z); }

static void scalar_step(const Ins *s, int r)
{
    const void *a = reg[s->a], *b = s->b >= 0 ? reg[s->b] : NULL, *c = s->c >= 0 ? reg[s->c] : NULL;
    ScLoop loop = is_narrow(s->type) ? narrow_loop(s->op, s->type)
                                     : sc_loop((ScOp)s->op, (ScType)s->type, (ScType)s->from);
    if (!loop) {
        fprintf(stderr, "%s has no meaning at type %d\n", sc_op_info[s->op].name, s->type);
        exit(2);
    }
    loop(N, reg[r], a, b, c);
}

static void run_code(void)
{
    memset(excluded, 0, N);
    for (int r = n_vars; r < n_regs; r++) {
        const Ins *s = &code[r];
        if (s->kind == SCALAR) scalar_step(s, r);
        else if (s->kind > SCALAR && s->kind <= INT) continue; /* set once, by set_constant */
        else
            for (int i = 0; i < N; i++) {
                if (s->kind == OF || s->kind == TO) put(r, i, get(s->a, i));
                else if (s->kind == NUDGE) nudge(s, r, i);
                else if (s->kind == FUNCTION) {
                    const long double x = real_at(s->a, i), y = s->b >= 0 ? real_at(s->b, i) : 0;
                    ((long double *)(void *)reg[r])[i] = function(s->op, x, y);
                } else if (s->kind == CREF) ((long double *)(void *)reg[r])[i] = part_of(complex_step(s, i), s->part);
                else if (s->kind == CPART) {
                    const uint64_t bits = sc_from_f64((ScType)s->type, (double)part_of(complex_step(s, i), s->part));
                    memcpy(reg[r] + (size_t)i * bytes_of(s->type), &bits, bytes_of(s->type));
                } else if (s->kind == GARBAGE) {
                    put(r, i, isnan(float_at(s->b, i)) ? (Int)UINT64_C(0xa5a5a5a5a5a5a5a5) : get(s->a, i));
                }
                else excluded[i] |= !exact_step(s, r, i);
            }
    }
}

/* --- comparing ------------------------------------------------------------------------------------------------- */
static bool equal(int l, int r, int i, bool zeros)
{
    const size_t n = bytes_of(type_of[l]);
    if (!memcmp(reg[l] + (size_t)i * n, reg[r] + (size_t)i * n, n)) return true;
    if (!is_float(type_of[l])) return false;
    const double x = float_at(l, i), y = float_at(r, i);
    return (isnan(x) && isnan(y)) || (zeros && x == 0 && y == 0);
}

/* Whether a value is within its budget of the exact result; *off: its error in units in the last place. */
static bool near(int l, int r, int i, double ulp, double absolute, double *off)
{
    const int t = type_of[r];
    const long double y = ((const long double *)(const void *)reg[l])[i], largest = largest_of(t);
    const double v = float_at(r, i);
    if (sc_type_info[t].bits <= 8) { /* nan, infinity and negative results are what the type's conversion gives */
        uint64_t own = 0;
        memcpy(&own, reg[r] + (size_t)i, 1);
        if (own == sc_from_f64((ScType)t, (double)y) || (isnan(y) && isnan(v))) return true;
        /* a result that may be negative may be nan */
        /* f8e8m0fnu has no 0: what may be 0 in f32 may be nan */
        if (t == SC_F8E8M0FNU && isnan(v) && y <= (long double)absolute + 0x1p-148L) return true;
    }
    if (isnan(y) || isnan(v)) return isnan(y) && isnan(v);
    if (y == 0 && v == 0 && !signbit(y) != !signbit(v)) return false; /* what is 0, and not just rounded to it */
    const long double unit = (long double)unit_near(t, fabsl(y) > largest ? largest : y),
                      limit = largest + (long double)unit_at(t, largest);
    const long double want = fabsl(y) > limit ? copysignl(limit, y) : y,
                      got = isinf(v) ? copysignl(limit, (long double)v) : (long double)v;
    const long double beyond = (fabsl(got - want) - (long double)absolute) / unit;
    *off = (double)beyond;
    return fabsl(got - want) <= (long double)(t == SC_F64 ? ulp + 1 : ulp) * unit + (long double)absolute;
}

static bool has_nan(Z a) { return isnan(creall(a)) || isnan(cimagl(a)); }
static bool is_finite(Z a) { return isfinite(creall(a)) && isfinite(cimagl(a)); }

/* Whether a zero has the sign that C11 Annex G gives a quotient of a finite a and an infinite b: that of a part of
 * a * conj(b), where 1 and 0 stand for the infinite and the other parts of b. Free where it is about 0. */
static bool has_sign_of(Z a, Z b, int part, long double zero)
{
    const long double x = creall(a), y = cimagl(a), u = copysignl(isinf(creall(b)) ? 1 : 0, creall(b)),
                      v = copysignl(isinf(cimagl(b)) ? 1 : 0, cimagl(b));
    const long double sum = part ? y * u - x * v : x * u + y * v;
    return !(fabsl(sum) >= 0x1p-1020L) || !signbit(sum) == !signbit(zero);
}

/* The same for a part of a complex value, in units at the larger part. HLO does not define results of operands that are
 * not finite, or of a division by 0; powers of 0 are defined, and quotients are as in C11 Annex G, which the compiler's
 * division of complex values is: a zero of the sign that it has there, an infinity, or, for a nan,
 * anything, but of operands without a nan no infinity unless the other part is one. */
static bool near_complex(int l, int r, int i, double ulp, double *away)
{
    const Ins *s = &code[l];
    const int t = type_of[r];
    const Z a = complex_at(s->a, s->b, i), b = complex_at(s->c, s->d, i), z = complex_step(s, i);
    const long double x = creall(z), y = cimagl(z), larger = fmaxl(fabsl(x), fabsl(y)), v = (long double)float_at(r, i);
    if (!is_finite(a) || !is_finite(b) || (s->op == OP_DIV && b == 0)) {
        const long double want = part_of(z, s->part);
        if (s->op != OP_DIV) return true;
        if (isnan(want)) return !isinf(v) || isinf(part_of(z, !s->part)) || has_nan(a) || has_nan(b);
        return v == want && (want != 0 || has_sign_of(a, b, s->part, v));
    }
    if (s->op == OP_POW && a == 0) { /* defined: 0, 1, infinity or nan */
        const long double want = part_of(z, s->part), v = (long double)float_at(r, i);
        return (v == want && signbit(v) == signbit(want)) || (isnan(v) && isnan(want));
    }
    /* the evaluator's reference is a double */
    if (!isfinite(x) || !isfinite(y) || larger > (long double)DBL_MAX) return true;
    const long double largest = largest_of(t), unit = (long double)unit_near(t, fminl(larger, largest)),
                      limit = largest + unit;
    const long double want = part_of(z, s->part), got = isinf(v) ? copysignl(limit, v) : v;
    const long double off = fabsl(got - fmaxl(-limit, fminl(limit, want))) / unit;
    const double more = complex_units(s->op, a, b);
    if (!isfinite(more)) return true;
    if (isnan(v)) return false;
    *away = (double)off - more;
    return (double)off <= ulp + more + 2;
}

/* A measure of how hard a value is to read; the counterexample with the least is printed. */
static double oddness(int r, int i)
{
    if (!is_float(type_of[r])) {
        const double v = (double)get(r, i);
        return v < 0 ? 0.5 - v : v;
    }
    const double v = float_at(r, i);
    if (isnan(v)) return 1e15;
    if (isinf(v)) return 1e12;
    if (v == rint(v) && fabs(v) < 1000) return fabs(v) + (signbit(v) ? 0.5 : 0);
    return 1e6 + fabs(log2(fabs(v) == 0 ? 1 : fabs(v)));
}

typedef struct {
    int64_t cases;
    double worst, own, least; /* own: the error with no result moved */
    int why;
    unsigned char found[MAX_REGS][16];
} Verdict;

static Verdict verdict;

/* Whether the sides agree; the verdict keeps the largest error. */
static bool agree(int l, int r, int i, int contract, double ulp, double absolute)
{
    if (contract != COMPLEX && contract != WITHIN_ULP) return equal(l, r, i, contract == EQUAL_BUT_ZEROS);
    double off = 0;
    const bool holds = contract == COMPLEX ? near_complex(l, r, i, ulp, &off) : near(l, r, i, ulp, absolute, &off);
    bool moved = false;
    for (int v = 0; v < n_vars; v++) moved |= var[v].mode == SIDE && get(v, i) != 0;
    verdict.worst = fmax(verdict.worst, off);
    if (!moved) verdict.own = fmax(verdict.own, off);
    return holds;
}

static void open_conditions(void)
{
    memset(met, 0, sizeof met);
    n_unmet = 0;
    for (int r = n_vars; r < n_regs; r++)
        if (type_of[r] == SC_PRED && code[r].kind == SCALAR) unmet[n_unmet++] = r;
}

static void meet_conditions(const unsigned char *holds, int count)
{
    for (int k = n_unmet - 1; k >= 0; k--) {
        const int r = unmet[k];
        unsigned char known = met[r];
        for (int i = 0; i < count; i++) known |= (unsigned char)((reg[r][i] ? 1 : 2) & -holds[i]);
        if ((met[r] = known) == 3) unmet[k] = unmet[--n_unmet];
    }
}

/* Whether all results are the same bits where the rule fires, and no operation there is outside its domain. */
static bool same_bits(const unsigned char *holds, int count, int l, int r, int contract)
{
    if (contract != EQUAL || memcmp(reg[l], reg[r], (size_t)count * bytes_of(type_of[l]))) return false;
    unsigned char wrong = 0;
    for (int b = 0; b < n_bad; b++)
        for (int i = 0; i < count; i++) wrong |= (unsigned char)((reg[bad[b]][i] != 0) & holds[i]);
    return !wrong;
}

static void judge(int count, int l, int r, int contract, double ulp, double absolute)
{
    static unsigned char holds[N]; /* where the rule fires */
    for (int i = 0; i < count; i++) holds[i] = !excluded[i];
    for (int p = 0; p < n_pre; p++)
        for (int i = 0; i < count; i++) holds[i] &= reg[pre[p]][i] != 0;
    for (int i = 0; i < count; i++) verdict.cases += holds[i];
    meet_conditions(holds, count);
    if (same_bits(holds, count, l, r, contract)) return;
    for (int i = 0; i < count; i++) {
        if (!holds[i]) continue;
        int why = -2;
        for (int b = 0; b < n_bad && why == -2; b++)
            if (reg[bad[b]][i]) why = b;
        if (why == -2 && !agree(l, r, i, contract, ulp, absolute)) why = -1;
        if (why == -2) continue;
        double odd = 0;
        for (int v = 0; v < n_vars; v++) odd += oddness(v, i);
        if (verdict.why != -2 && odd >= verdict.least) continue;
        verdict.why = why, verdict.least = odd;
        for (int k = 0; k < n_regs; k++)
            memcpy(verdict.found[k], reg[k] + (size_t)i * bytes_of(type_of[k]), bytes_of(type_of[k]));
    }
}

/* --- values ---------------------------------------------------------------------------------------------------- */
static uint64_t count_of(const Var *v)
{
    if (v->mode == RANGE) return (uint64_t)v->values[1];
    return v->mode == ALL ? UINT64_C(1) << bits_of(v->type) : (uint64_t)v->m;
}

static void set_nth(int v, int i, uint64_t n)
{
    const bool counted = var[v].mode == ALL || var[v].mode == RANGE;
    put(v, i, !counted ? var[v].values[n] : var[v].mode == ALL ? (Int)n : var[v].values[0] + (Int)n);
}

#include "random_values.h"

typedef struct { /* how the right side is compared with the left one */
    int l, r, contract;
    double ulp, absolute;
    bool first; /* stop at the first failure */
} Contract;

static bool try_values(int n, const Contract *c) /* the first n values of all variables; false to stop */
{
    run_code();
    judge(n, c->l, c->r, c->contract, c->ulp, c->absolute);
    return verdict.why == -2 || !c->first;
}

/* All values of a variable of 16 or 32 bits; the others have one value in all places. */
static bool run_counted(int v, const Contract *c)
{
    const uint64_t total = count_of(&var[v]);
    const size_t bytes = bytes_of(type_of[v]);
    const uint32_t from = var[v].mode == RANGE ? (uint32_t)var[v].values[0] : 0;
    for (uint64_t done = 0; done < total; done += N) {
        const int n = (int)WBB_MIN((uint64_t)N, total - done);
        uint32_t *words = (uint32_t *)(void *)reg[v];
        uint16_t *halves = (uint16_t *)(void *)reg[v];
        if (bytes == 4)
            for (int i = 0; i < n; i++) words[i] = from + (uint32_t)done + (uint32_t)i;
        else if (bytes == 2)
            for (int i = 0; i < n; i++) halves[i] = (uint16_t)(from + (uint32_t)done + (uint32_t)i);
        else
            for (int i = 0; i < n; i++) set_nth(v, i, done + (uint64_t)i);
        if (!try_values(n, c)) return false;
    }
    return true;
}

/* The variable that has most values, all of its type or a range, at least a block of them; -1: none has so many. */
static int counted(void)
{
    int most = -1;
    for (int v = 0; v < n_vars; v++)
        if ((var[v].mode == ALL || var[v].mode == RANGE) && count_of(&var[v]) >= (most < 0 ? N : count_of(&var[most])))
            most = v;
    return most;
}

/* The next combination of all variables but one, the last variable fastest. */
static void advance(uint64_t *at, int but)
{
    for (int v = n_vars - 1; v >= 0; v--) {
        if (v == but) continue;
        if (++at[v] < count_of(&var[v])) return;
        at[v] = 0;
    }
}

/* All combinations of the listed values. A variable of many values is counted, in blocks that have one value of each
 * other one. */
static bool run_product(uint64_t total, const Contract *c)
{
    uint64_t at[MAX_VARS] = {0};
    const int inner = counted();
    if (inner >= 0) {
        for (total /= count_of(&var[inner]); total--; advance(at, inner)) {
            for (int v = 0; v < n_vars; v++)
                for (int i = 0; v != inner && i < N; i++) set_nth(v, i, at[v]);
            if (!run_counted(inner, c)) return false;
        }
        return true;
    }
    for (uint64_t done = 0; done < total;) {
        int n = 0;
        for (; n < N && done < total; n++, done++, advance(at, -1))
            for (int v = 0; v < n_vars; v++) set_nth(v, n, at[v]);
        if (!try_values(n, c)) return false;
    }
    return true;
}

/* Quotients of complex values at all combinations of numbers, infinities and nans: in C11 Annex G the sign of an
 * infinity is that of a sum of parts, which listed values of large and small magnitudes seldom decide. */
static bool run_infinities(const Contract *c)
{
    static const double at[] = {0, 1, -2, 3, INFINITY, -INFINITY, NAN};
    uint64_t total = 1;
    for (int v = 0; v < n_vars; v++) {
        if (var[v].mode != SAMPLE) continue;
        for (int k = 0; k < 7; k++) var[v].values[k] = (Int)sc_from_f64((ScType)type_of[v], at[k]);
        var[v].m = 7, total *= 7;
    }
    return run_product(total, c);
}

static bool run_random(int64_t samples, const Contract *c)
{
    for (int64_t done = 0; done < samples; done += N) {
        for (int i = 0; i < N; i++)
            for (int v = 0; v < n_vars; v++) set_random(v, i);
        if (!try_values(N, c)) return false;
    }
    return true;
}

/* Runs combinations of the listed values, and random values if some variable is only sampled. Random values come first
 * if one failure is enough, because they find most faults at once. */
static bool run_values(int64_t samples, const Contract *c)
{
    uint64_t total = 1;
    bool all = true;
    for (int v = 0; v < n_vars; v++) {
        total *= count_of(&var[v]);
        all &= var[v].mode != SAMPLE;
    }
    const uint64_t most = all ? UINT64_MAX : UINT64_C(1) << 17;
    const bool product = total <= most;
    if (!product) samples += (int64_t)most;
    if (all) samples = 0;
    if (c->first && !run_random(samples, c)) return all;
    if (product) run_product(total, c);
    if (!c->first) run_random(samples, c);
    if (c->contract == COMPLEX && code[c->l].op == OP_DIV) run_infinities(c);
    return all;
}

static Int read_int(void) /* hexadecimal with a sign: up to 128 bits */
{
    char text[64], *s = text;
    if (scanf("%63s", text) != 1) exit(2);
    const bool minus = *s == '-';
    __extension__ unsigned __int128 u = 0;
    for (s += minus; *s; s++) u = u << 4 | (unsigned)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
    return minus ? -(Int)u : (Int)u;
}

static void read_var(void)
{
    if (n_vars == MAX_VARS) {
        fprintf(stderr, "more than %d variables", MAX_VARS);
        exit(2);
    }
    Var *v = &var[n_vars++];
    if (scanf("%d %d %d %d", &v->type, &v->mode, &v->n, &v->m) != 4) exit(2);
    v->values = realloc(v->values, sizeof(Int) * (size_t)(v->n + 1));
    if (!v->values) exit(2);
    for (int i = 0; i < v->n; i++) v->values[i] = read_int();
    type_of[n_regs++] = v->type;
}

static void read_ins(void)
{
    Ins s;
    if (n_regs == MAX_REGS || scanf("%d %d %d %d %d %d %d", &s.kind, &s.op, &s.type, &s.from, &s.a, &s.b, &s.c) != 7)
        exit(2);
    s.x = s.y = s.z = 0;
    if ((s.kind == CPART || s.kind == CREF) && scanf("%d %d", &s.d, &s.part) != 2) exit(2);
    if (s.kind == NUDGE && scanf("%lf %lf %lf", &s.x, &s.y, &s.z) != 3) exit(2);
    const int r = n_regs++;
    const bool relation = (s.kind >= EQ && s.kind <= GE) ||
                          (s.kind == SCALAR &&
                           (sc_op_info[s.op].signature == SC_COMPARE || sc_op_info[s.op].signature == SC_TEST));
    type_of[r] = relation ? SC_PRED : s.kind == FUNCTION || s.kind == CREF ? REFERENCE : s.type;
    code[r] = s;
    if (s.kind == LITERAL || s.kind == INT) {
        const Int value = read_int();
        for (int i = 0; i < N; i++) put(r, i, value);
    }
}

static void finish(int id, bool first, int64_t samples)
{
    Contract c = {.first = first};
    if (scanf("%d %d %d %lf %lf", &c.l, &c.r, &c.contract, &c.ulp, &c.absolute) != 5) exit(2);
    verdict.cases = 0, verdict.worst = verdict.own = 0, verdict.why = -2;
    open_conditions();
    const bool all = run_values(samples, &c);
    if (verdict.why == -2) {
        printf("ok %d %" PRId64 " %d %.17g %.17g", id, verdict.cases, all, verdict.worst, verdict.own);
        for (int k = 0; k < n_unmet; k++) printf(" %d", met[unmet[k]] == 1 ? ~unmet[k] : unmet[k]);
        putchar('\n');
        return;
    }
    printf("bad %d %d %d", id, verdict.why, n_regs);
    for (int k = 0; k < n_regs; k++) {
        uint64_t lo = 0, hi = 0;
        memcpy(&lo, verdict.found[k], WBB_MIN(bytes_of(type_of[k]), 8u));
        if (bytes_of(type_of[k]) == 16) memcpy(&hi, verdict.found[k] + 8, 8);
        if (type_of[k] == REFERENCE) {
            long double x;
            memcpy(&x, verdict.found[k], sizeof x);
            printf(" ~%.9Lg", x);
        } else printf(" %" PRIx64 ":%" PRIx64, hi, lo);
    }
    putchar('\n');
}

int main(void)
{
    char what[4];
    int id = 0, first = 0, r = 0;
    int64_t samples = 0;
    while (scanf("%3s", what) == 1) {
        switch (what[0]) {
        case 'J':
            if (scanf("%d %d %" SCNd64 " %" SCNu64, &id, &first, &samples, &random_state) != 4) return 2;
            n_regs = n_vars = n_pre = n_bad = 0;
            break;
        case 'V': read_var(); break;
        case 'I': read_ins(); break;
        case 'P':
        case 'B':
            if (scanf("%d", &r) != 1) return 2;
            if (what[0] == 'P') pre[n_pre++] = r;
            else bad[n_bad++] = r;
            break;
        default: finish(id, first != 0, samples);
        }
    }
    return 0;
}

/* mma: products of matrices of f16 or bf16, summed in f32, which a whole warp executes together.
 *
 * Needs: table.c for operands. Leaves: operations, and the columns of the result.
 *
 * With g = lane / 4 and c = 2 * (lane % 4), a lane has of the 16 x 16 matrix A in four registers (g, c), (g + 8, c),
 * (g, c + 8), (g + 8, c + 8), each with its neighbour in the row; of the 16 x 8 matrix B in two registers (c, g) and
 * (c + 8, g), each with its neighbour in the column; of C and D (g, c), (g, c + 1), (g + 8, c), (g + 8, c + 1) (PTX
 * ISA 9.7.14.5.8).
 *
 * PTX leaves order and rounding open. Here products are exact; the sum and eight products at a time are cut off at 24
 * bits below the largest of them, added, and cut off to f32. That rounds as much as hardware was found to do at most,
 * which has blocks of 4, 8 or 16 products and up to three bits more (Fasi, Higham, Mikaitis, Pranesh: Numerical
 * behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021).
 *
 *     mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1, %r2, %r3, %r4}, {..}, {..}, {..};
 */
#include "sim/lanes.h"

#include <math.h>

enum { ROWS = 16, COLUMNS = 8, DEPTH = 16, AT_ONCE = 8, OF_A = 4, OF_B = 2, OF_C = 4, DIGITS = 24 };

static void operand(Parser *p, const Opd *v, int n, bool result)
{
    if (v->kind != OPD_VECTOR || v->n != n) wbb_fail(p->cx, v->loc, "expected a vector of %d registers", n);
    for (int i = 0; i < n; i++) {
        const SimCol c = {.col = result ? sim_result(p, &v->items[i], 'w') : sim_read(p, &v->items[i], 'w'),
                          .width = 4};
        WBB_PUSH(p->arena, &p->m->cols, c);
    }
}

void sim_decode_mma(Parser *p, const Inst *inst)
{
    const bool bf16 = sim_has(inst, "bf16");
    const char *type = bf16 ? "bf16" : "f16";
    const char *const parts[] = {"mma", "sync", "aligned", "m16n8k16", "row", "col", "f32", type, type, "f32"};
    bool form = inst->n_parts == WBB_LEN(parts) && inst->n == 4;
    for (int i = 0; form && i < inst->n_parts; i++) form = !strcmp(inst->part[i], parts[i]);
    if (!form) sim_unknown(p, inst, "unknown form of a product of matrices");
    const uint32_t all = sim_constant(p, UINT32_MAX, 4), first = p->m->cols.n;
    operand(p, &inst->opd[1], OF_A, false);
    operand(p, &inst->opd[2], OF_B, false);
    operand(p, &inst->opd[3], OF_C, false);
    operand(p, &inst->opd[0], OF_C, true);
    SimOp *op = sim_emit(p, OP_MMA);
    op->e = all; /* all lanes of the warp must come */
    op->target = first;
    op->mode = bf16;
    op->width = 4;
}

static const uint8_t *column(const Block *b, const Warp *w, const SimOp *op, int i)
{
    return w->regs + b->m->cols.items[op->target + (uint32_t)i].col;
}

static double of_half(uint32_t bits, bool bf16) { return (double)(bf16 ? of_bf(bits) : of_h(bits)); }

/* Cut off to f32. */
static float cut(double x)
{
    float r = (float)x;
    if (fabs((double)r) > fabs(x) && !isinf(r)) r = nextafterf(r, 0);
    return r;
}

/* sum + the products of AT_ONCE pairs. */
static float add(float sum, const double *x, const double *y)
{
    double term[AT_ONCE], most = fabs((double)sum), all = 0;
    for (int k = 0; k < AT_ONCE; k++) {
        term[k] = x[k] * y[k];
        most = fmax(most, fabs(term[k]));
        all += term[k];
    }
    if (!isfinite(all + (double)sum)) { /* nan, or infinities; no sum of finite ones leaves the range of f64 */
        const double r = all + (double)sum;
        return isnan(r) ? as_f32(0x7fffffff) : (float)r;
    }
    if (most == 0) return sum + 0.0f; /* of zeros alone -0 is one where all are */
    int exponent;
    frexp(most, &exponent);
    const double unit = ldexp(1, exponent - DIGITS), scale = 1 / unit;
    double units = trunc((double)sum * scale);
    for (int k = 0; k < AT_ONCE; k++) units += trunc(term[k] * scale);
    return cut(units * unit);
}

void sim_mma(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    (void)mask; /* all lanes have come */
    double x[ROWS][DEPTH], y[COLUMNS][DEPTH];
    for (int i = 0; i < OF_A + OF_B; i++) {
        const uint8_t *from = column(b, w, op, i);
        const int n = i < OF_A ? i : i - OF_A;
        for (int t = 0; t < LANES; t++)
            for (int h = 0; h < 2; h++) {
                uint16_t bits;
                memcpy(&bits, from + 4 * t + 2 * h, sizeof bits);
                const int k = 2 * (t % 4) + h + (i < OF_A ? n / 2 : n) * 8;
                *(i < OF_A ? &x[t / 4 + n % 2 * 8][k] : &y[t / 4][k]) = of_half(bits, op->mode);
            }
    }
    uint32_t made[OF_C][LANES];
    for (int i = 0; i < OF_C; i++)
        for (int t = 0; t < LANES; t++) {
            float sum = as_f32(sim_lane32(column(b, w, op, OF_A + OF_B + i), t));
            const double *row = x[t / 4 + i / 2 * 8], *col = y[2 * (t % 4) + i % 2];
            for (int k = 0; k < DEPTH; k += AT_ONCE) sum = add(sum, row + k, col + k);
            memcpy(&made[i][t], &sum, sizeof sum);
        }
    for (int i = 0; i < OF_C; i++)
        memcpy(w->regs + b->m->cols.items[op->target + (uint32_t)(OF_A + OF_B + OF_C + i)].col, made[i],
               sizeof made[i]);
}

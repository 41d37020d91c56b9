/* matrix: the sums of products of all results of a dot or convolution, in blocks that stay in the cache.
 *
 * Needs: EvProducts whose `left` and `right` say which dimensions of the result are rows and columns; the lanes of all
 * elements of both operands. Leaves: the lanes of all results, bit for bit those that mac.c computes one by one: each
 * sum starts from 0 and takes its products in ascending order, in double (integers: modulo 2^64).
 *
 * A block of rows of the left operand and a block of columns of the right one are converted and packed into panels, MR
 * rows or NR columns side by side, for DEPTH products at a time. The kernel holds MR by NR sums in registers and goes
 * over a pair of panels. A product that a result lacks (padding of a convolution) is packed as 0 on the left: no sum is
 * ever -0, so that adding a zero changes nothing, provided that all elements on the right are finite.
 *
 *     f32[1024,4096] dot(f32[1024,512], f32[512,4096])    4 x 16 blocks; each adds 4 times 128 products to 256 x 256
 * sums
 */
#include "eval/inner.h"

#include <string.h>

enum { MR = 4, NR = 4, ROWS = 256, COLUMNS = 256, DEPTH = 128, MOST_SEGMENTS = 1 << 13 };

/* Doubles, or 64-bit integers where doubles are not exact. */
typedef union {
    double f;
    uint64_t u;
} Number;

typedef struct {
    Ev *e;
    const HloShape *result;
    const EvProducts *p;
    const char *x[2]; /* lanes of all elements of the operands, of these types */
    ScType type[2];
    bool ints;        /* numbers are uint64_t */
    int64_t depth;    /* products of a result */
    int64_t stride[HLO_RANK_LIMIT];
    /* [segment][row or column of the block]: position of the first factor; -1: the row lacks the segment */
    int64_t *base[2];
    int64_t *to[2]; /* what each row and column of the block adds to the position of the result */
    Number *panels[2], *sums, *line;
    char *raw;
} Matrix;

#define EACH(M) M(0, 0) M(0, 1) M(0, 2) M(0, 3) M(1, 0) M(1, 1) M(1, 2) M(1, 3) \
                M(2, 0) M(2, 1) M(2, 2) M(2, 3) M(3, 0) M(3, 1) M(3, 2) M(3, 3)
#define LOAD_F(i, j) double s##i##j = s[(i) * COLUMNS + (j)].f;
#define STEP_F(i, j) s##i##j += a[i].f * b[j].f;
#define STORE_F(i, j) s[(i) * COLUMNS + (j)].f = s##i##j;
#define LOAD_U(i, j) uint64_t s##i##j = s[(i) * COLUMNS + (j)].u;
#define STEP_U(i, j) s##i##j += a[i].u * b[j].u;
#define STORE_U(i, j) s[(i) * COLUMNS + (j)].u = s##i##j;

/* Adds n products to each of MR x NR sums. */
static void add_doubles(int64_t n, const Number *a, const Number *b, Number *s)
{
    EACH(LOAD_F)
    for (; n > 0; n--, a += MR, b += NR) {
        EACH(STEP_F)
    }
    EACH(STORE_F)
}

static void add_integers(int64_t n, const Number *a, const Number *b, Number *s)
{
    EACH(LOAD_U)
    for (; n > 0; n--, a += MR, b += NR) {
        EACH(STEP_U)
    }
    EACH(STORE_U)
}

#define PICK(T)                                             \
    do {                                                    \
        T *r = (T *)(void *)to;                             \
        const T *x = (const T *)(const void *)from;         \
        for (int64_t k = 0; k < n; k++) r[k] = x[k * step]; \
    } while (0)

/* n elements that are `step` apart. */
static void pick(char *to, const char *from, size_t bytes, int64_t step, int64_t n)
{
    switch (bytes) {
    case 1: PICK(uint8_t); break;
    case 2: PICK(uint16_t); break;
    case 4: PICK(uint32_t); break;
    default: PICK(uint64_t); break;
    }
}

/* Factors [from, from + n) of one row or column, to m->line. */
static void read_line(Matrix *m, int operand, int64_t item, int64_t from, int64_t n)
{
    const size_t bytes = sc_bytes(m->type[operand]);
    const int64_t count = m->p->count, step = m->p->step[operand], width = operand ? COLUMNS : ROWS;
    for (int64_t k = 0, run; k < n; k += run) {
        const int64_t segment = (from + k) / count, first = (from + k) % count;
        const int64_t base = m->base[operand][segment * width + item];
        run = WBB_MIN(count - first, n - k);
        if (base >= 0)
            pick(m->raw + (size_t)k * bytes, m->x[operand] + (size_t)(base + first * step) * bytes, bytes, step, run);
        else memset(m->raw + (size_t)k * bytes, 0, (size_t)run * bytes);
    }
    if (m->ints)
        for (int64_t k = 0; k < n; k++)
            m->line[k].u = (uint64_t)sc_to_i128(m->type[operand], ev_get(m->type[operand], m->raw, k));
    else ev_doubles(m->type[operand], &m->line->f, m->raw, n);
    for (int64_t k = 0, run; k < n && operand == 0; k += run) { /* bits of zero are not the number 0 in each type */
        run = WBB_MIN(count - (from + k) % count, n - k);
        if (m->base[0][(from + k) / count * width + item] < 0) memset(m->line + k, 0, (size_t)run * sizeof(Number));
    }
}

/* Packs factors [from, from + n) of the rows or columns of the block; the last panel is filled with zeros. */
static void pack(Matrix *m, int operand, int64_t items, int64_t from, int64_t n)
{
    const int64_t width = operand ? NR : MR;
    for (int64_t item = 0; item < (items + width - 1) / width * width; item++) {
        Number *to = m->panels[operand] + item / width * width * n + item % width;
        if (item < items) read_line(m, operand, item, from, n);
        else memset(m->line, 0, (size_t)n * sizeof(Number));
        for (int64_t k = 0; k < n; k++) to[k * width] = m->line[k];
    }
}

/* Sets the coordinates of a set of dimensions from a row-major index; returns their share of the position. */
static int64_t set_coordinates(const Matrix *m, uint32_t dims, int64_t index, int64_t *at)
{
    int64_t position = 0;
    for (int d = m->result->rank - 1; d >= 0; d--) {
        if (!(dims >> d & 1)) continue;
        at[d] = index % m->result->dims[d];
        index /= m->result->dims[d];
        position += at[d] * m->stride[d];
    }
    return position;
}

static int64_t count_of(const Matrix *m, uint32_t dims)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < m->result->rank; d++)
        if (dims >> d & 1) n *= m->result->dims[d];
    return n;
}

/* Finds the positions of the first factors of rows or columns [from, from + n); `at`: a result's coordinates. */
static void find_bases(Matrix *m, int operand, int64_t from, int64_t n, int64_t *at)
{
    for (int64_t k = 0; k < n; k++) {
        m->to[operand][k] = set_coordinates(m, operand ? m->p->right : m->p->left, from + k, at);
        for (int64_t segment = 0; segment < m->p->segments; segment++) {
            int64_t position[2];
            const bool found = m->p->find(m->p->arg, at, segment, position);
            m->base[operand][segment * (operand ? COLUMNS : ROWS) + k] = found || operand ? position[operand] : -1;
        }
    }
}

static void store(const Matrix *m, bool float_products, int64_t rows, int64_t columns, int64_t position, void *lanes)
{
    const ScType t = ev_lane_type(m->e->mode, m->result->type);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            const Number *s = &m->sums[r * COLUMNS + c];
            const int64_t at = position + m->to[0][r] + m->to[1][c];
            if (float_products) ev_set(t, lanes, at, sc_from_f64(t, s->f));
            else ev_set(t, lanes, at, sc_from_i128(t, m->ints ? (int64_t)s->u : (int64_t)s->f));
        }
}

/* One block: all products of rows x columns results. */
static void add_block(Matrix *m, int64_t rows, int64_t columns)
{
    memset(m->sums, 0, ROWS * COLUMNS * sizeof(Number));
    for (int64_t from = 0; from < m->depth; from += DEPTH) {
        const int64_t n = WBB_MIN(m->depth - from, (int64_t)DEPTH);
        pack(m, 0, rows, from, n);
        pack(m, 1, columns, from, n);
        for (int64_t c = 0; c < columns; c += NR)
            for (int64_t r = 0; r < rows; r += MR)
                (m->ints ? add_integers : add_doubles)(n, m->panels[0] + r * n, m->panels[1] + c * n,
                                                       m->sums + r * COLUMNS + c);
    }
}

/* Are the products and sums of these integer types exact in double? */
static bool exact_in_double(const Matrix *m)
{
    int bits = sc_type_info[m->type[0]].bits + sc_type_info[m->type[1]].bits;
    for (int64_t n = m->depth; n > 0; n /= 2) bits++;
    return bits <= 53;
}

static bool all_finite(ScType t, const void *lanes, int64_t n)
{
    double x[DEPTH];
    for (int64_t k = 0; k < n; k += DEPTH) {
        const int64_t some = WBB_MIN(n - k, (int64_t)DEPTH);
        ev_doubles(t, x, (const char *)lanes + (size_t)k * sc_bytes(t), some);
        for (int64_t j = 0; j < some; j++)
            if (!isfinite(x[j])) return false;
    }
    return true;
}

bool ev_matrix(Ev *e, const HloInstruction *i, const EvProducts *p, bool float_products, void *const *x, void *lanes)
{
    Matrix m = {.e = e, .result = i->shape, .p = p, .depth = p->segments * p->count};
    if (p->segments > MOST_SEGMENTS) return false;
    for (uint32_t o = 0; o < 2; o++) {
        m.x[o] = x[o];
        m.type[o] = ev_lane_type(e->mode, i->operands[o]->shape->type);
        m.base[o] = ev_list(e, p->segments * (o ? COLUMNS : ROWS));
        m.to[o] = ev_list(e, o ? COLUMNS : ROWS);
        m.panels[o] = ev_lanes(e, (size_t)((o ? COLUMNS : ROWS) * DEPTH) * sizeof(Number));
    }
    if (p->padded && float_products && !all_finite(m.type[1], m.x[1], hlo_elements(i->operands[1]->shape)))
        return false;
    m.ints = !float_products && !exact_in_double(&m);
    m.sums = ev_lanes(e, ROWS * COLUMNS * sizeof(Number));
    m.line = ev_lanes(e, DEPTH * sizeof(Number));
    m.raw = ev_lanes(e, DEPTH * sizeof(uint64_t));
    ev_strides(i->shape, m.stride);
    const uint32_t others = ~(p->left | p->right);
    const int64_t n_rows = count_of(&m, p->left), n_columns = count_of(&m, p->right), batches = count_of(&m, others);
    int64_t at[HLO_RANK_LIMIT] = {0};
    for (int64_t batch = 0; batch < batches; batch++) {
        const int64_t position = set_coordinates(&m, others, batch, at);
        for (int64_t c = 0, columns; c < n_columns; c += columns) {
            columns = WBB_MIN(WBB_MIN(p->group - c % p->group, (int64_t)COLUMNS), n_columns - c);
            find_bases(&m, 1, c, columns, at);
            for (int64_t r = 0, rows; r < n_rows; r += rows) {
                rows = WBB_MIN(n_rows - r, (int64_t)ROWS);
                find_bases(&m, 0, r, rows, at); /* `at` has the last column: each of a group has the same rows */
                add_block(&m, rows, columns);
                store(&m, float_products, rows, columns, position, lanes);
            }
        }
    }
    return true;
}

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

enum { MR = 4, NR = 4, WIDE = 16, ROWS = 256, COLUMNS = 256, DEPTH = 128, BLOCK = ROWS * COLUMNS };
enum { MOST_SEGMENTS = 1 << 13, FEW = 16 /* blocks; so few are made smaller */ };
/* Of an interval: its ends, and the unit of a single value. Of a sum of intervals: its ends and its EvTerms. */
enum { LO, HI, UNIT, FACTORS, MAGNITUDE = FACTORS, COUNT, SUMS };

/* Doubles, or 64-bit integers where doubles are not exact. */
typedef union {
    double f;
    uint64_t u;
} Number;

typedef enum { DOUBLES, INTEGERS, INTERVALS } Kind;

typedef struct {
    const HloShape *result;
    const EvProducts *p;
    const char *x[2];     /* lanes of all elements of the operands, of these types */
    ScType type[2], to;   /* `to`: of the lanes of the result */
    bool bounds, float_products;
    Kind kind;
    int64_t width[2];     /* rows and columns of a panel */
    int64_t factors, sums; /* numbers of an element, and of a sum */
    int64_t depth;        /* products of a result */
    double roundings;     /* ev_roundings */
    int64_t stride[HLO_RANK_LIMIT];
    int64_t rows, columns, batches, row_step;   /* results; rows of a block */
    int64_t row_blocks, column_blocks, group_blocks; /* in a batch; of a group of columns */
    void *lanes;
} Matrix;

/* The block that is computed. */
typedef struct {
    const Matrix *m;
    int64_t rows, columns, position;
    /* [segment][row or column of the block]: position of the first factor; -1: the row lacks the segment */
    int64_t *base[2];
    int64_t *to[2]; /* what each row and column adds to the position of the result */
    Number *panels[2], *sums, *line;
    char *raw;
} Block;

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

/* Adds n products of intervals to each of WIDE sums. The unit of no value is 0, that of a zero infinity; 0 times
 * infinity is nan, which is below nothing: the product is a zero. */
WBB_CLONES
static void add_intervals(int64_t n, const Number *a, const Number *b, Number *s)
{
    double lo[WIDE], hi[WIDE], magnitude[WIDE], count[WIDE], unit[WIDE];
    for (int j = 0; j < WIDE; j++) {
        lo[j] = s[LO * BLOCK + j].f, hi[j] = s[HI * BLOCK + j].f, unit[j] = s[UNIT * BLOCK + j].f;
        magnitude[j] = s[MAGNITUDE * BLOCK + j].f, count[j] = s[COUNT * BLOCK + j].f;
    }
    for (; n > 0; n--, a += FACTORS, b += FACTORS * WIDE) {
        const double al = a[LO].f, ah = a[HI].f, au = a[UNIT].f;
        for (int j = 0; j < WIDE; j++) {
            const double bl = b[LO * WIDE + j].f, bh = b[HI * WIDE + j].f, u = au * b[UNIT * WIDE + j].f;
            const double p = al * bl, q = al * bh, r = ah * bl, t = ah * bh;
            const double low0 = p < q ? p : q, low1 = r < t ? r : t, high0 = p < q ? q : p, high1 = r < t ? t : r;
            const double low = low0 < low1 ? low0 : low1, high = high0 > high1 ? high0 : high1;
            const double large = -low > high ? -low : high;
            lo[j] += low;
            hi[j] += high;
            magnitude[j] += large;
            count[j] += large > 0 ? 1.0 : 0.0;
            unit[j] = u < unit[j] ? u : unit[j];
        }
    }
    for (int j = 0; j < WIDE; j++) {
        s[LO * BLOCK + j].f = lo[j], s[HI * BLOCK + j].f = hi[j], s[UNIT * BLOCK + j].f = unit[j];
        s[MAGNITUDE * BLOCK + j].f = magnitude[j], s[COUNT * BLOCK + j].f = count[j];
    }
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
    case 8: PICK(uint64_t); break;
    default: PICK(EvBound); break;
    }
}

/* n elements, as raw bytes, to numbers; the factors of an interval go to lines of DEPTH each. */
static void convert_line(const Block *b, ScType t, int64_t n)
{
    const EvBound *x = (const EvBound *)(const void *)b->raw;
    switch (b->m->kind) {
    case DOUBLES: ev_doubles(t, &b->line->f, b->raw, n); break;
    case INTEGERS:
        for (int64_t k = 0; k < n; k++) b->line[k].u = (uint64_t)sc_to_i128(t, ev_get(t, b->raw, k));
        break;
    case INTERVALS:
        for (int64_t k = 0; k < n; k++) {
            b->line[LO * DEPTH + k].f = x[k].lo.f;
            b->line[HI * DEPTH + k].f = x[k].hi.f;
            b->line[UNIT * DEPTH + k].f = x[k].lo.f == x[k].hi.f ? ev_unit(x[k].lo.f) : 0;
        }
        break;
    }
}

/* n factors that are 0, whatever the type makes of the bits of zero. */
static void put_zeros(const Block *b, int64_t from, int64_t n)
{
    for (int64_t f = 0; f < b->m->factors; f++) {
        Number *to = b->line + f * DEPTH + from;
        memset(to, 0, (size_t)n * sizeof *to);
        for (int64_t k = 0; f == UNIT && k < n; k++) to[k].f = (double)INFINITY;
    }
}

/* Factors [from, from + n) of one row or column, to the line. */
static void read_line(const Block *b, int operand, int64_t item, int64_t from, int64_t n)
{
    const Matrix *m = b->m;
    const size_t bytes = m->kind == INTERVALS ? sizeof(EvBound) : sc_bytes(m->type[operand]);
    const int64_t count = m->p->count, step = m->p->step[operand], width = operand ? COLUMNS : ROWS;
    for (int64_t k = 0, run; k < n; k += run) {
        const int64_t segment = (from + k) / count, first = (from + k) % count;
        const int64_t base = b->base[operand][segment * width + item];
        run = WBB_MIN(count - first, n - k);
        if (base >= 0)
            pick(b->raw + (size_t)k * bytes, m->x[operand] + (size_t)(base + first * step) * bytes, bytes, step, run);
        else memset(b->raw + (size_t)k * bytes, 0, (size_t)run * bytes);
    }
    convert_line(b, m->type[operand], n);
    for (int64_t k = 0, run; k < n && operand == 0; k += run) {
        run = WBB_MIN(count - (from + k) % count, n - k);
        if (b->base[0][(from + k) / count * width + item] < 0) put_zeros(b, k, run);
    }
}

/* Packs factors [from, from + n) of the rows or columns of the block; the last panel is filled with zeros. */
static void pack(const Block *b, int operand, int64_t items, int64_t from, int64_t n)
{
    const int64_t width = b->m->width[operand], factors = b->m->factors;
    for (int64_t item = 0; item < (items + width - 1) / width * width; item++) {
        Number *to = b->panels[operand] + item / width * width * n * factors + item % width;
        if (item < items) read_line(b, operand, item, from, n);
        else put_zeros(b, 0, n);
        for (int64_t k = 0; k < n; k++)
            for (int64_t f = 0; f < factors; f++) to[(k * factors + f) * width] = b->line[f * DEPTH + k];
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
static void find_bases(const Block *b, int operand, int64_t from, int64_t n, int64_t *at)
{
    const EvProducts *p = b->m->p;
    for (int64_t k = 0; k < n; k++) {
        b->to[operand][k] = set_coordinates(b->m, operand ? p->right : p->left, from + k, at);
        for (int64_t segment = 0; segment < p->segments; segment++) {
            int64_t position[2];
            const bool found = p->find(p->arg, at, segment, position);
            b->base[operand][segment * (operand ? COLUMNS : ROWS) + k] = found || operand ? position[operand] : -1;
        }
    }
}

static EvBound interval(const Matrix *m, const Number *s)
{
    EvBound r = {{.f = s[LO * BLOCK].f}, {.f = s[HI * BLOCK].f}, 0};
    const EvTerms terms = {s[MAGNITUDE * BLOCK].f, s[UNIT * BLOCK].f, (int64_t)s[COUNT * BLOCK].f};
    ev_close_products(m->to, &r, terms, m->depth, m->roundings);
    return r;
}

static void store(const Block *b)
{
    const Matrix *m = b->m;
    const ScType t = m->to;
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t c = 0; c < b->columns; c++) {
            const Number *s = &b->sums[r * COLUMNS + c];
            const int64_t at = b->position + b->to[0][r] + b->to[1][c];
            const uint64_t bits = m->float_products ? sc_from_f64(t, s->f)
                                                    : sc_from_i128(t, m->kind == INTEGERS ? (int64_t)s->u
                                                                                          : (int64_t)s->f);
            if (m->kind == INTERVALS) ((EvBound *)m->lanes)[at] = interval(m, s);
            else if (m->bounds) ((EvBound *)m->lanes)[at] = ev_bound_exact(t, bits);
            else ev_set(t, m->lanes, at, bits);
        }
}

/* All products of the results of a block. */
static void add_products(const Block *b)
{
    static void (*const add[])(int64_t, const Number *, const Number *, Number *) = {add_doubles, add_integers,
                                                                                      add_intervals};
    const Matrix *m = b->m;
    const int64_t mr = m->width[0], nr = m->width[1], factors = m->factors;
    memset(b->sums, 0, (size_t)m->sums * BLOCK * sizeof(Number));
    for (int64_t k = 0; m->kind == INTERVALS && k < BLOCK; k++) b->sums[UNIT * BLOCK + k].f = (double)INFINITY;
    for (int64_t from = 0; from < m->depth; from += DEPTH) {
        const int64_t n = WBB_MIN(m->depth - from, (int64_t)DEPTH);
        pack(b, 0, b->rows, from, n);
        pack(b, 1, b->columns, from, n);
        for (int64_t c = 0; c < b->columns; c += nr)
            for (int64_t r = 0; r < b->rows; r += mr)
                add[m->kind](n, b->panels[0] + r * n * factors, b->panels[1] + c * n * factors,
                             b->sums + r * COLUMNS + c);
    }
}

static void compute_block(Ev *part, void *arg, int64_t k)
{
    const Matrix *m = arg;
    const EvProducts *p = m->p;
    Block b = {.m = m};
    ev_begin(part);
    for (uint32_t o = 0; o < 2; o++) {
        const int64_t items = o ? COLUMNS : ROWS;
        b.base[o] = ev_list(part, p->segments * items);
        b.to[o] = ev_list(part, items);
        b.panels[o] = ev_lanes(part, (size_t)(items * DEPTH * m->factors) * sizeof(Number));
    }
    b.sums = ev_lanes(part, (size_t)m->sums * BLOCK * sizeof(Number));
    b.line = ev_lanes(part, (size_t)m->factors * DEPTH * sizeof(Number));
    b.raw = ev_lanes(part, DEPTH * sizeof(EvBound));
    int64_t at[HLO_RANK_LIMIT] = {0};
    const int64_t row = k % m->row_blocks * m->row_step, block = k / m->row_blocks % m->column_blocks;
    const int64_t group = WBB_MIN(p->group, m->columns), in_group = block % m->group_blocks * COLUMNS;
    const int64_t column = block / m->group_blocks * group + in_group;
    b.position = set_coordinates(m, ~(p->left | p->right), k / m->row_blocks / m->column_blocks, at);
    b.rows = WBB_MIN(m->rows - row, m->row_step);
    b.columns = WBB_MIN(WBB_MIN(group - in_group, (int64_t)COLUMNS), m->columns - column);
    find_bases(&b, 1, column, b.columns, at);
    find_bases(&b, 0, row, b.rows, at); /* `at` has the last column: each of a group has the same rows */
    add_products(&b);
    store(&b);
    ev_end(part);
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

/* Are all elements numbers? In EV_BOUNDS no interval may hold nan or infinity. */
static bool all_numbers(const EvBound *x, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (x[k].flags || !isfinite(x[k].lo.f) || !isfinite(x[k].hi.f)) return false;
    return true;
}

/* The values of intervals of integers that are single; NULL: some is not. */
static void *values_of(Ev *e, ScType t, const EvBound *x, int64_t n)
{
    void *lanes = ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, sc_bytes(t)));
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits;
        if (!ev_bound_single(t, &x[k], &bits)) return NULL;
        ev_set(t, lanes, k, bits);
    }
    return lanes;
}

/* Sets the kind of the numbers, and the operands as they are read; false: the operation does not fit. */
static bool take_operands(Ev *e, const HloInstruction *i, Matrix *m, void *const *x)
{
    int64_t n[2];
    for (uint32_t o = 0; o < 2; o++) {
        n[o] = hlo_elements(i->operands[o]->shape);
        m->type[o] = ev_lane_type(e->mode, i->operands[o]->shape->type);
        m->x[o] = x[o];
        if (m->bounds && m->float_products && !all_numbers(x[o], n[o])) return false;
        if (m->bounds && !m->float_products) m->x[o] = values_of(e, m->type[o], x[o], n[o]);
        if (!m->x[o]) return false;
    }
    m->kind = m->float_products ? (m->bounds ? INTERVALS : DOUBLES) : exact_in_double(m) ? DOUBLES : INTEGERS;
    const bool intervals = m->kind == INTERVALS;
    m->width[0] = intervals ? 1 : MR, m->width[1] = intervals ? WIDE : NR;
    m->factors = intervals ? FACTORS : 1, m->sums = intervals ? SUMS : 1;
    return intervals || !m->p->padded || !m->float_products || all_finite(m->type[1], m->x[1], n[1]);
}

bool ev_matrix_fits(const Ev *e, const HloInstruction *i)
{
    bool fits = true, floats = sc_is_float(i->operands[0]->shape->type);
    for (uint32_t o = 0; o < 2; o++) {
        const ScType t = i->operands[o]->shape->type;
        fits = fits && sc_type_info[t].cls != 'C' && (e->mode != EV_BOUNDS || t != SC_F64);
        fits = fits && (e->mode != EV_BOUNDS || sc_is_float(t) == floats);
    }
    return fits && !e->noise && (e->mode != EV_BOUNDS || sc_is_float(i->shape->type) == floats);
}

bool ev_matrix(Ev *e, const HloInstruction *i, const EvProducts *p, bool float_products, void *const *x, void *lanes)
{
    Matrix m = {.result = i->shape, .p = p, .depth = p->segments * p->count, .roundings = ev_roundings(e, i),
                .float_products = float_products,
                .bounds = e->mode == EV_BOUNDS, .to = ev_lane_type(e->mode, i->shape->type), .lanes = lanes};
    if (p->segments > MOST_SEGMENTS || !take_operands(e, i, &m, x)) return false;
    ev_strides(i->shape, m.stride);
    m.rows = count_of(&m, p->left), m.columns = count_of(&m, p->right);
    m.batches = count_of(&m, ~(p->left | p->right));
    const int64_t group = WBB_MAX(WBB_MIN(p->group, m.columns), 1);
    m.group_blocks = (group + COLUMNS - 1) / COLUMNS;
    m.column_blocks = m.columns / group * m.group_blocks + (m.columns % group + COLUMNS - 1) / COLUMNS;
    m.row_step = m.batches * m.column_blocks * (m.rows / ROWS) < FEW ? ROWS / 4 : ROWS;
    m.row_blocks = (m.rows + m.row_step - 1) / m.row_step;
    ev_spread(e, i->name, 0, m.batches * m.column_blocks * m.row_blocks, compute_block, &m);
    return true;
}

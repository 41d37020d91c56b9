/* index_ranges.c: which starts of windows the elements of an input may be, by the dimensions that they index.
 *
 * Needs a module. Follows the indices of its gathers, scatters and dynamic slices back to the inputs of the entry:
 * through moves, sums, choices, tuples, calls and loops. Leaves for each input that may hold indices the last start at
 * which a window fits, column by column of index vectors. An integer that nothing leads to, or what a text computes
 * otherwise, has the widest of all ranges.
 *
 *     x = f32[9,200], i = s32[40,2], scatter windows of [1,1]      i: column 0 up to 8, column 1 up to 199
 */
#include "judge/index_ranges.h"

#include "index/index.h"

enum { MOST_STEPS = 1 << 14 };

/* An array of indices on the way to an input; of a tuple its element. */
typedef struct {
    const HloComputation *c;
    const HloInstruction *i;
    int64_t element; /* -1: no tuple */
    BdIndices x;
} Item;

typedef struct {
    const HloComputation *c;
    const HloInstruction *i;
    uint32_t which; /* of the computations that it calls */
} Caller;

typedef struct {
    WbbArena *arena;
    const HloModule *m;
    struct { Caller *items; uint32_t n, capacity; } *callers; /* by computation */
    struct { Item *items; uint32_t n, capacity; } stack;
    WbbMap had;     /* instruction, element and source */
    uint64_t source;
    uint32_t steps;
    int64_t most;   /* the largest start of all; -1: there are none */
    BdIndices *of;  /* by leaf of the entry's parameters; columns 0: none known */
} Trace;

static void push(Trace *t, const HloComputation *c, const HloInstruction *i, int64_t element, BdIndices x)
{
    const uint64_t key[3] = {wbb_key(i), (uint64_t)element, t->source};
    WbbEntry *e = wbb_map_put(&t->had, wbb_hash(key, sizeof key, 5));
    if (e->value++ || t->steps++ >= MOST_STEPS) return;
    WBB_PUSH(t->arena, &t->stack, ((Item){c, i, element, x}));
}

/* --- dimensions --------------------------------------------------------------------------------------------------- */
static int64_t stride_of(const HloShape *s, uint32_t d)
{
    int64_t stride = 1;
    for (uint32_t k = d + 1; k < s->rank; k++) stride *= s->dims[k];
    return stride;
}

/* The dimension of a shape along which columns lie; -1: none. */
static int axis_of(const HloShape *s, const BdIndices *x)
{
    for (int d = (int)s->rank - 1; d >= 0 && x->columns > 1; d--)
        if (s->dims[d] == x->columns && stride_of(s, (uint32_t)d) == x->inner) return d;
    return -1;
}

static int64_t least(const BdIndices *x)
{
    int64_t out = INT64_MAX;
    for (int64_t k = 0; k < x->columns; k++)
        if (x->last[k] >= 0) out = WBB_MIN(out, x->last[k]);
    return out == INT64_MAX ? -1 : out;
}

static BdIndices columns_along(Trace *t, const HloShape *s, int d)
{
    if (d < 0) return (BdIndices){WBB_NEW_N(t->arena, int64_t, 1), 1, 1};
    BdIndices x = {WBB_NEW_N(t->arena, int64_t, s->dims[d] + 1), s->dims[d], stride_of(s, (uint32_t)d)};
    for (int64_t k = 0; k < x.columns; k++) x.last[k] = -1;
    return x;
}

/* The columns of x along dimension d of operand s: number first + k * step is number k. d -1: all are alike. */
static BdIndices moved(Trace *t, const HloShape *s, int d, const BdIndices *x, int64_t first, int64_t step)
{
    BdIndices out = columns_along(t, s, d);
    if (d < 0) out.last[0] = least(x);
    for (int64_t k = 0; d >= 0 && k < x->columns; k++) {
        const int64_t at = first + k * step;
        if (at >= 0 && at < out.columns) out.last[at] = x->last[k];
    }
    return out;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */
static void through_concatenate(Trace *t, const Item *it)
{
    const int d = axis_of(it->i->shape, &it->x);
    for (int64_t k = 0, first = 0; k < it->i->n_operands; k++) {
        const HloShape *s = it->i->operands[k]->shape;
        const bool along = d == it->i->dimensions[0];
        BdIndices x = moved(t, s, d, &it->x, along ? -first : 0, 1);
        push(t, it->c, it->i->operands[k], -1, x);
        first += along ? s->dims[d] : 0;
    }
}

static void through_move(Trace *t, const Item *it)
{
    const HloInstruction *i = it->i, *from = i->operands[0];
    const int d = axis_of(i->shape, &it->x);
    HloRead read = {-1, 1, 0, 0}, x;
    int to = -1;
    for (uint32_t k = 0; d >= 0 && k < from->shape->rank; k++)
        if (hlo_reads(i, k, &x) && x.dim == d && !x.modulus) read = x, to = (int)k;
    push(t, it->c, from, -1, moved(t, from->shape, to, &it->x, read.offset, read.scale));
}

static void to_callers(Trace *t, const Item *it)
{
    for (uint32_t k = 0; k < t->callers[it->c->id].n; k++) {
        const Caller *from = &t->callers[it->c->id].items[k];
        const HloOpcode op = from->i->opcode;
        if (op == HLO_FUSION || op == HLO_CALL)
            push(t, from->c, from->i->operands[it->i->number], it->element, it->x);
        else if (op == HLO_WHILE) push(t, from->c, from->i->operands[0], it->element, it->x);
        else if (op == HLO_CONDITIONAL && from->which + 1 < from->i->n_operands)
            push(t, from->c, from->i->operands[from->which + 1], it->element, it->x);
    }
}

/* An input: where several dimensions are indexed by it, the smallest holds. */
static void record(Trace *t, const Item *it)
{
    uint32_t leaf = hlo_leaves_before(t->m->entry, it->i->number);
    for (int64_t k = 0; k < it->element; k++) leaf += it->i->shape->elements[k]->n_leaves;
    BdIndices *own = &t->of[leaf], x = it->x;
    if (least(&x) < 0) return;
    for (int64_t k = 0; k < x.columns; k++)
        if (x.last[k] < 0) x.last[k] = t->most; /* not an index, as far as is known */
    if (!own->columns) *own = x;
    else if (own->columns == x.columns && own->inner == x.inner)
        for (int64_t k = 0; k < x.columns; k++) own->last[k] = WBB_MIN(own->last[k], x.last[k]);
    else *own = (BdIndices){WBB_NEW_N(t->arena, int64_t, 1), 1, 1}, own->last[0] = least(&x);
}

static void step(Trace *t, const Item *it)
{
    const HloInstruction *i = it->i;
    const bool tuple = it->element >= 0;
    switch (i->opcode) {
    case HLO_PARAMETER:
        if (it->c == t->m->entry) record(t, it);
        else to_callers(t, it);
        return;
    case HLO_GET_TUPLE_ELEMENT:
        if (!tuple) push(t, it->c, i->operands[0], i->number, it->x);
        return;
    case HLO_TUPLE:
        if (tuple) push(t, it->c, i->operands[it->element], -1, it->x);
        return;
    case HLO_WHILE: push(t, it->c, i->operands[0], it->element, it->x); /* FALLTHROUGH */
    case HLO_FUSION: case HLO_CALL: case HLO_CONDITIONAL:
        for (uint32_t k = 0; k < i->n_called; k++) push(t, i->called[k], i->called[k]->root, it->element, it->x);
        return;
    case HLO_SORT: push(t, it->c, i->operands[tuple ? it->element : 0], -1, it->x); return;
    case HLO_CONCATENATE: through_concatenate(t, it); return;
    case HLO_SELECT: case HLO_CLAMP: case HLO_ADD: case HLO_SUBTRACT: case HLO_MAXIMUM: case HLO_MINIMUM:
    case HLO_CONVERT: case HLO_COPY: case HLO_RESHAPE: case HLO_BITCAST:
        for (uint32_t k = 0; k < i->n_operands; k++)
            if (sc_is_int(i->operands[k]->shape->type)) push(t, it->c, i->operands[k], -1, it->x);
        return;
    case HLO_GATHER: case HLO_DYNAMIC_SLICE: /* indices that are looked up in a table */
        push(t, it->c, i->operands[0], -1, moved(t, i->operands[0]->shape, -1, &it->x, 0, 1));
        return;
    default:
        if (hlo_kind(i->opcode) == HLO_IS_MOVE) through_move(t, it);
        return;
    }
}

/* --- what is indexed ---------------------------------------------------------------------------------------------- */
/* The integers of each operand that holds starts: column k of a vector of them is the start number k. */
static void begin_at(Trace *t, const HloComputation *c, const HloInstruction *i)
{
    uint32_t n, next;
    const IxStart *s = ix_starts(t->arena, i, &n);
    for (uint32_t k = 0; k < n; k = next) {
        const uint32_t operand = s[k].operand;
        for (next = k; next < n && s[next].operand == operand;) next++;
        BdIndices x = columns_along(t, i->operands[operand]->shape,
                                    next - k > 1 ? ix_vector_dimension(t->arena, i, operand) : -1);
        for (uint32_t j = k; j < next && j - k < x.columns; j++) x.last[j - k] = s[j].last;
        for (int64_t j = 0; j < x.columns; j++) t->most = WBB_MAX(t->most, x.last[j]);
        t->source++;
        push(t, c, i->operands[operand], -1, x);
    }
}

static void find_callers(Trace *t)
{
    t->callers = wbb_alloc(t->arena, sizeof *t->callers * (t->m->n_computations + 1));
    for (uint32_t n = 0; n < t->m->n_computations; n++)
        for (uint32_t k = 0; k < t->m->computations[n]->n_instructions; k++) {
            const HloInstruction *i = t->m->computations[n]->instructions[k];
            for (uint32_t j = 0; j < i->n_called; j++)
                WBB_PUSH(t->arena, &t->callers[i->called[j]->id], ((Caller){t->m->computations[n], i, j}));
        }
}

const BdIndices *judge_index_ranges(WbbArena *a, const HloModule *m)
{
    Trace t = {.arena = a, .m = m, .had = {.arena = a}, .most = -1};
    const uint32_t leaves = hlo_leaves_before(m->entry, m->entry->n_parameters);
    uint32_t n = 0;
    find_callers(&t);
    t.of = WBB_NEW_N(a, BdIndices, leaves + 1);
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            begin_at(&t, m->computations[c], m->computations[c]->instructions[k]);
    if (t.most < 0) return NULL;
    while (t.stack.n) {
        const Item it = t.stack.items[--t.stack.n];
        step(&t, &it);
    }
    for (uint32_t p = 0; p < m->entry->n_parameters; p++) {
        const HloShape **shapes;
        const uint32_t count = hlo_leaves(a, m->entry->parameters[p]->shape, &shapes);
        for (uint32_t k = 0; k < count; k++, n++) {
            const ScType type = shapes[k]->type;
            const bool whole = type == SC_I32 || type == SC_U32 || type == SC_I64 || type == SC_U64;
            if (!whole) t.of[n] = (BdIndices){0};
            else if (!t.of[n].columns)
                t.of[n] = columns_along(&t, shapes[k], -1), t.of[n].last[0] = t.most;
        }
    }
    return t.of;
}

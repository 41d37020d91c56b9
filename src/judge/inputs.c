/* inputs.c: the inputs of a run: read from files, made at once, or made on demand.
 *
 * Needs a module and the options of the run; leaves an array for each leaf of the fused computation's parameters. A
 * large input of a run on a sample of blocks has no array: the simulator makes the pages and the evaluator the elements
 * that they read, and both get the same values, because an element depends on its index alone.
 *
 *     x = f32[3000000000] parameter(0), 12 blocks of 128 threads  ->  a few pages of 4 KiB, instead of 12 GB
 */
#include "index/index.h"
#include "judge/corners.h"
#include "judge/dominant.h"
#include "judge/index_ranges.h"
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LAZY = 1 << 24, /* bytes; a larger input of a run on a sample is made in parts */
    LEFT_OUT = 1 << 20, /* number of the input whose values constants have that the text leaves out */
};

static bool are_given(const JudgeRun *run) { return run->inputs || run->arrays; }

/* The shapes of all leaves of the parameters: a tuple has several. */
static const HloShape **input_shapes(WbbCx *cx, WbbArena *a, const HloComputation *c, uint32_t *n)
{
    *n = hlo_leaves_before(c, c->n_parameters);
    const HloShape **shapes = WBB_NEW_N(a, const HloShape *, *n + 1), **leaves;
    for (uint32_t i = 0, at = 0; i < c->n_parameters; i++) {
        const uint32_t count = hlo_leaves(a, c->parameters[i]->shape, &leaves);
        for (uint32_t k = 0; k < count; k++, at++) {
            shapes[at] = leaves[k];
            const char *type = sc_type_info[leaves[k]->type].hlo;
            if (!bd_npy_bytes(type))
                wbb_decline(cx, c->parameters[i]->loc, WHY_TYPE,
                            "parameter %u has type %s, of which there are no inputs", i, type);
        }
    }
    return shapes;
}

/* The case where none is asked for. */
static char case_of(const JudgeRun *run) { return run->which ? run->which : 'w'; }

static size_t bytes_of(const HloShape *s) { return (size_t)bd_npy_bytes(sc_type_info[s->type].hlo); }

/* Is the input made in parts? If it is large, the run is on a sample of blocks, and elements are whole bytes in
 * memory. */
static bool is_lazy(const HloShape *s, const JudgeRun *run)
{
    const bool sampled = run->blocks && !are_given(run) && !run->on_gpu;
    return sampled && bd_type_bits(sc_type_info[s->type].hlo) >= 8 && hlo_elements(s) > LAZY / (int64_t)bytes_of(s);
}

void judge_check_memory(WbbCx *cx, WbbLoc loc, const char *what, double bytes)
{
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), gib = 1 << 30;
    if (bytes > 0.75 * machine)
        wbb_fail(cx, loc, "%s take %.1f GiB of memory, this machine has %.1f, of which 3/4 may be used", what,
                 bytes / gib, machine / gib);
}

static void check_memory(WbbCx *cx, const HloModule *m, const HloShape *const *shapes, uint32_t n, const JudgeRun *run)
{
    double bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!is_lazy(shapes[i], run)) bytes += (double)hlo_elements(shapes[i]) * (double)bytes_of(shapes[i]);
    if (run->padding) bytes *= 2; /* they are copied to memory with padding */
    judge_check_memory(cx, m->entry->loc, "the inputs", bytes);
}

JudgeRun judge_with_case(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, JudgeRun run,
                         const JudgeSpikes **spikes)
{
    *spikes = NULL;
    if (run.which == 'c' && !are_given(&run)) run.made = judge_corners(cx, a, m, ptx, run.seed);
    if (run.which == 'd' && !are_given(&run)) {
        run.made = judge_dominant(cx, a, m, run.seed);
        if (!run.made) run.which = 'w';
    }
    if (run.which != 's' || are_given(&run)) return run;
    *spikes = judge_spikes(cx, a, m, run.seed);
    if ((*spikes)->here) run.made = &(*spikes)->source;
    else run.which = 'w';
    return run;
}

const void **judge_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *run)
{
    const HloComputation *c = m->entry;
    uint32_t n_inputs;
    const HloShape **shapes = input_shapes(cx, a, c, &n_inputs);
    if (are_given(run) && run->n_inputs != n_inputs)
        wbb_fail(cx, c->loc, "%u inputs given, %s has %u parameters", run->n_inputs, c->name, n_inputs);
    const BdIndices *indices = judge_index_ranges(a, m);
    const void **inputs = WBB_NEW_N(a, const void *, n_inputs + 1);
    if (!are_given(run)) check_memory(cx, m, shapes, n_inputs, run);
    for (uint32_t i = 0; i < n_inputs; i++) {
        const HloShape *s = shapes[i];
        const char *type = sc_type_info[s->type].hlo;
        if (run->arrays) {
            inputs[i] = run->arrays[i];
        } else if (run->inputs) {
            size_t bytes;
            inputs[i] = bd_read_npy(cx, a, run->inputs[i], type, s->dims, s->rank, &bytes);
        } else if (!is_lazy(s, run)) {
            const int64_t n = hlo_elements(s);
            void *data = wbb_alloc(a, wbb_mul_size(a, (size_t)n, bytes_of(s)) + 1);
            if (run->made) run->made->read(run->made->arg, i, NULL, 0, n, data);
            else bd_make_input(run->seed, i, type, n, case_of(run), indices ? &indices[i] : NULL, data);
            inputs[i] = data;
        }
    }
    return inputs;
}

typedef struct {
    const HloShape **shapes;
    const JudgeRun *run;
    const BdIndices *indices;
} Made;

/* EvSource.read: elements of input `number`. */
static void make_some(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Made *made = arg;
    const HloShape *s = made->shapes[number];
    bd_make_input_at(made->run->seed, (uint64_t)number, sc_type_info[s->type].hlo, positions, start, n,
                     case_of(made->run), made->indices ? &made->indices[number] : NULL, out);
}

EvSource judge_made_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *run)
{
    uint32_t n;
    if (run->made) return *run->made;
    Made *made = WBB_NEW(a, Made);
    *made = (Made){input_shapes(cx, a, m->entry, &n), run, judge_index_ranges(a, m)};
    return (EvSource){make_some, made};
}

const void *judge_left_out(WbbArena *a, const char *type, int64_t n)
{
    void *data = wbb_alloc(a, wbb_mul_size(a, (size_t)n, (size_t)bd_npy_bytes(type)) + 1);
    int64_t last = 7;
    bd_make_input(0, LEFT_OUT, type, n, 'n', &(BdIndices){&last, 1, 1}, data); /* integers may be indices: 0..7 */
    return data;
}

void judge_fill_left_out(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const HloInstruction *first = NULL;
    uint32_t more = 0;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            HloInstruction *i = m->computations[c]->instructions[k];
            const char *type = sc_type_info[i->shape->type].hlo;
            if (i->opcode != HLO_CONSTANT || i->literal || !type || !bd_npy_bytes(type)) continue;
            i->literal = judge_left_out(a, type, hlo_elements(i->shape));
            if (first) more++;
            else first = i;
        }
    if (first)
        wbb_note(cx, first->loc, "the text leaves out the value of constant %s%s: made values are taken", first->name,
                 more ? wbb_format(a, " and of %u more", more) : "");
}

/* A constant's elements, in an array. */
static const void *constant(WbbCx *cx, WbbArena *a, const HloInstruction *x)
{
    if (!x->literal) wbb_decline(cx, x->loc, WHY_OPERATION, "the text leaves out the value of constant %s", x->name);
    if (!x->literal_splat) return x->literal;
    const size_t size = (size_t)sc_bytes(x->shape->type), n = (size_t)hlo_elements(x->shape);
    uint8_t *all = wbb_alloc(a, wbb_mul_size(a, n, size) + 1);
    for (size_t i = 0; i < n; i++) memcpy(all + i * size, x->literal, size);
    return all;
}

/* What leaf `leaf` of an operand of the fusion is; it moves to that leaf. */
static const HloInstruction *origin_of(const HloFusion *f, uint32_t operand, uint32_t *leaf)
{
    const HloInstruction *x = f->fusion ? f->fusion->operands[operand] : f->body->parameters[operand];
    HloValue v = hlo_value(x, *leaf);
    while (v.i->opcode == HLO_COPY || hlo_forwards_operand(v.i)) v = hlo_value(v.i->operands[0], v.part);
    *leaf = v.part;
    return v.i;
}

/* The number of the input that leaf `leaf` of a parameter of the entry is. */
static int64_t input_number(const HloFusion *f, const HloInstruction *x, uint32_t leaf)
{
    const HloComputation *c = f->fusion ? f->body->module->entry : f->body;
    return hlo_leaves_before(c, x->number) + leaf;
}

/* Leaf `leaf` of an operand of the fusion: a constant, or the input of the entry with number *input. */
static const void *value_of(WbbCx *cx, WbbArena *a, const HloFusion *f, const void *const *inputs, uint32_t operand,
                            uint32_t leaf, int64_t *input)
{
    const HloInstruction *x = origin_of(f, operand, &leaf);
    if (x->opcode == HLO_CONSTANT) return constant(cx, a, x);
    if (x->opcode != HLO_PARAMETER)
        wbb_decline(cx, x->loc, WHY_OPERATION, "operand %u of the fusion is %s, not a parameter of the entry", operand,
                    hlo_opcode_name(x->opcode));
    *input = input_number(f, x, leaf);
    return inputs[*input];
}

const JudgeLeaf *judge_leaves(WbbCx *cx, WbbArena *a, const HloFusion *f, uint32_t *n)
{
    *n = hlo_leaves_before(f->body, f->body->n_parameters);
    JudgeLeaf *out = WBB_NEW_N(a, JudgeLeaf, *n + 1);
    for (uint32_t i = 0, at = 0; i < f->body->n_parameters; i++)
        for (uint32_t k = 0; k < f->body->parameters[i]->shape->n_leaves; k++, at++) {
            uint32_t leaf = k;
            const HloInstruction *x = origin_of(f, i, &leaf);
            out[at].input = x->opcode == HLO_PARAMETER ? input_number(f, x, leaf) : -1;
            if (x->opcode == HLO_CONSTANT && x->literal) out[at].constant = constant(cx, a, x);
        }
    return out;
}

struct JudgeOrigin {
    EvSource made;           /* inputs of the entry, by their number */
    const void **arrays;     /* of each leaf; NULL: made in parts */
    const HloShape **shapes;
    int64_t *input;          /* of each leaf that is made: number of the input */
};

/* EvSource.read: elements of leaf `number`. */
static void read_leaf(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const struct JudgeOrigin *o = arg;
    const uint8_t *array = o->arrays[number];
    if (!array) {
        o->made.read(o->made.arg, o->input[number], positions, start, n, out);
        return;
    }
    const size_t size = bytes_of(o->shapes[number]);
    if (!positions) memcpy(out, array + (size_t)start * size, (size_t)n * size);
    for (int64_t k = 0; positions && k < n; k++)
        memcpy((uint8_t *)out + (size_t)k * size, array + (size_t)positions[k] * size, size);
}

/* --- indices that a text states to be unique, or sorted ----------------------------------------------------------- */
/* Positions in a move's operand of these n positions in its result. */
static const int64_t *before_move(WbbArena *a, const HloInstruction *i, const int64_t *at, int64_t n)
{
    const HloShape *to = i->shape, *from = i->operands[0]->shape;
    int64_t index[HLO_RANK_LIMIT], *out = WBB_NEW_N(a, int64_t, n + 1);
    if (hlo_has(i->opcode, HLO_IN_ORDER)) return at;
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = at[k];
        for (uint32_t d = to->rank; d-- > 0; rest /= to->dims[d]) index[d] = rest % to->dims[d];
        for (uint32_t d = 0; d < from->rank; d++) {
            HloRead r = {d, 1, 0, 0};
            (void)hlo_reads(i, d, &r);
            const int64_t x = (r.dim < 0 ? 0 : r.scale * index[r.dim]) + r.offset;
            out[k] = out[k] * from->dims[d] + (r.modulus ? (x % r.modulus + r.modulus) % r.modulus : x);
        }
    }
    return out;
}

/* The parameter that these indices are, behind moves and elementwise operations, and where in it each of them is; NULL:
 * none alone. `places` has the elements of `indices` that are asked for; NULL: all, in order. */
static const HloInstruction *indices_below(WbbArena *a, const HloComputation *c, const HloInstruction *indices,
                                           const int64_t **places)
{
    const HloInstruction **stack = WBB_NEW_N(a, const HloInstruction *, c->n_instructions + 1), *found = NULL;
    const int64_t **at = WBB_NEW_N(a, const int64_t *, c->n_instructions + 1), size = hlo_elements(indices->shape);
    int64_t *all = WBB_NEW_N(a, int64_t, size + 1);
    uint32_t n = 0;
    for (int64_t k = 0; k < size; k++) all[k] = k;
    stack[n++] = indices, at[indices->id] = *places ? *places : all;
    while (n) {
        const HloInstruction *i = stack[--n];
        if (i->shape->type == SC_TUPLE) return NULL;
        if (i->opcode == HLO_PARAMETER && hlo_elements(i->shape) == size) {
            if (found) return NULL;
            found = i;
        } else if (i->opcode != HLO_CONSTANT && i->opcode != HLO_BROADCAST) {
            const bool moves = !hlo_is_elementwise(i->opcode);
            if (moves && !hlo_permutes(i)) return NULL;
            const int64_t *before = moves ? before_move(a, i, at[i->id], size) : at[i->id];
            for (uint32_t k = 0; k < i->n_operands; k++)
                if (!at[i->operands[k]->id]) at[i->operands[k]->id] = before, stack[n++] = i->operands[k];
        }
    }
    if (found) *places = at[found->id];
    return found;
}

/* The index vectors of `in`: for each the number of its columns, then these. */
typedef struct {
    const HloShape *shape; /* of the input */
    const int64_t *places; /* of its elements */
    int64_t columns, inner, n;
    int64_t *rows; /* [n * (columns + 1)] */
} Vectors;

/* Where column c of row r is among the elements of the input. */
static int64_t place_of(const Vectors *v, int64_t r, int64_t c)
{
    return v->places[(r / v->inner * v->columns + c) * v->inner + r % v->inner];
}

static Vectors vectors_of(WbbArena *a, const HloInstruction *i, const HloShape *shape, const int64_t *places,
                          const void *in)
{
    uint32_t n;
    const uint32_t operand = ix_starts(a, i, &n)->operand;
    const HloShape *indices = i->operands[operand]->shape;
    const int along = ix_vector_dimension(a, i, operand);
    const int64_t columns = n;
    Vectors v = {.shape = shape, .places = places, .columns = columns, .inner = 1};
    const size_t bytes = bytes_of(shape);
    const int shift = 64 - 8 * (int)bytes;
    for (int k = along + 1; along >= 0 && k < indices->rank; k++) v.inner *= indices->dims[k];
    v.n = hlo_elements(indices) / columns;
    v.rows = WBB_NEW_N(a, int64_t, v.n * (columns + 1) + 1);
    for (int64_t r = 0; r < v.n; r++) {
        int64_t *row = v.rows + r * (columns + 1);
        row[0] = columns;
        for (int64_t c = 0; c < columns; c++) {
            uint64_t x = 0;
            memcpy(&x, (const uint8_t *)in + (size_t)place_of(&v, r, c) * bytes, bytes);
            row[1 + c] = sc_is_signed(shape->type) ? (int64_t)(x << shift) >> shift : (int64_t)x;
        }
    }
    return v;
}

static int by_columns(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;
    for (int64_t c = 1; c <= *a; c++)
        if (a[c] != b[c]) return a[c] < b[c] ? -1 : 1;
    return 0;
}

static void sort(const Vectors *v)
{
    qsort(v->rows, (size_t)v->n, (size_t)(v->columns + 1) * sizeof *v->rows, by_columns);
}

/* The index vectors of a gather or scatter that states them to be sorted, in order. */
static void make_sorted(WbbArena *a, const HloInstruction *i, const HloShape *shape, const int64_t *places, void *out)
{
    const Vectors v = vectors_of(a, i, shape, places, out);
    sort(&v);
    for (int64_t r = 0; r < v.n; r++)
        for (int64_t c = 0; c < v.columns; c++)
            memcpy((uint8_t *)out + (size_t)place_of(&v, r, c) * bytes_of(shape),
                   v.rows + r * (v.columns + 1) + 1 + c, bytes_of(shape));
}

/* What a gather or scatter states of its indices, and they are made so: unique ones in every case, sorted ones in the
 * usual one, in which times are modelled. */
typedef enum { AS_MADE, SORTED, UNIQUE } Stated;

/* *indices: these, unless it is AS_MADE */
static Stated stated(WbbArena *a, const HloInstruction *i, const JudgeRun *run, const HloInstruction **indices)
{
    const bool usual = case_of(run) == 'w', gathers = i->opcode == HLO_GATHER;
    if (!gathers && i->opcode != HLO_SCATTER) return AS_MADE;
    uint32_t n;
    const IxStart *s = ix_starts(a, i, &n);
    if (!n) return AS_MADE;
    *indices = i->operands[s->operand];
    if (gathers) return usual && hlo_gather_dims(a, i).sorted ? SORTED : AS_MADE;
    const HloScatterDims d = hlo_scatter_dims(a, i);
    return d.unique ? UNIQUE : usual && d.sorted ? SORTED : AS_MADE;
}

/* Starts of windows that do not overlap, some beyond the operand: a number for each row, by a product with an odd
 * number modulo a power of two, whose digits are the starts. In case c the first may stand before the operand, and
 * the last, which a text may mean by that, then stands beyond it. */
static void make_unique(WbbArena *a, const HloInstruction *s, const HloShape *shape, const JudgeRun *run,
                        const int64_t *places, void *out)
{
    uint32_t n;
    const IxStart *starts = ix_starts(a, s, &n);
    const Vectors v = vectors_of(a, s, shape, places, out);
    int64_t size[HLO_RANK_LIMIT], window[HLO_RANK_LIMIT], all = 1;
    for (int64_t c = 0; c < v.columns; c++) {
        const int64_t dim = s->operands[0]->shape->dims[starts[c].dimension];
        window[c] = dim - starts[c].last;
        if (!window[c]) return;
        size[c] = WBB_MAX(dim / window[c], 1);
        all = all > INT32_MAX ? all : all * size[c];
    }
    uint64_t mask = 1;
    while ((int64_t)mask < WBB_MAX(all, v.n)) mask *= 2;
    if (mask > sc_mask(shape->type) >> 1) return;
    const uint64_t factor = wbb_mix(run->seed + 1) | 1, first = wbb_mix(run->seed + 2);
    const bool before = run->which == 'c' && run->seed % 2;
    for (int64_t r = 0; r < v.n; r++) {
        int64_t rest = (int64_t)(((uint64_t)r * factor + first) & (mask - 1));
        for (int64_t c = v.columns; c-- > 0; rest /= size[c]) {
            int64_t digit = c > 0 ? rest % size[c] : rest - before;
            if (before && c == 0 && digit == size[0] - 1) digit = (int64_t)mask;
            const int64_t start = digit * window[c];
            memcpy((uint8_t *)out + (size_t)place_of(&v, r, c) * bytes_of(shape), &start, bytes_of(shape));
        }
    }
}

static void make_all_as_stated(WbbArena *a, const HloFusion *f, const JudgeRun *run, const JudgeOperands *operands)
{
    for (uint32_t k = 0; k < f->body->n_instructions && !run->inputs; k++) {
        const HloInstruction *s = f->body->instructions[k];
        const HloInstruction *indices;
        const Stated as = stated(a, s, run, &indices);
        if (as == AS_MADE) continue;
        const int64_t *places = NULL;
        const HloInstruction *p = indices_below(a, f->body, indices, &places);
        const uint32_t leaf = p ? hlo_leaves_before(f->body, p->number) : 0;
        if (!p || !operands->arrays[leaf] || operands->origin->input[leaf] < 0) continue;
        void *out = (void *)operands->arrays[leaf]; /* an array of judge_inputs */
        if (as == UNIQUE) make_unique(a, s, p->shape, run, places, out);
        else make_sorted(a, s, p->shape, places, out);
    }
}

/* Are the rows of indices in `in` different already, and windows of one element in each dimension that they index? */
static bool is_unique(WbbArena *a, const HloInstruction *s, const HloShape *shape, const int64_t *places,
                      const void *in)
{
    uint32_t n;
    const IxStart *starts = ix_starts(a, s, &n);
    for (uint32_t k = 0; k < n; k++)
        if (s->operands[0]->shape->dims[starts[k].dimension] - starts[k].last > 1) return false;
    const Vectors v = vectors_of(a, s, shape, places, in);
    sort(&v);
    for (int64_t r = 1; r < v.n; r++)
        if (!by_columns(v.rows + r * (v.columns + 1), v.rows + (r - 1) * (v.columns + 1))) return false;
    return true;
}

/* The gathers and scatters of c, which is the entry or what a fusion of it computes. */
static void make_stated_in(WbbArena *a, const HloComputation *entry, const HloComputation *c, const HloInstruction *at,
                           const JudgeRun *run, const void **inputs)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *s = c->instructions[k];
        if (s->opcode == HLO_FUSION && !at) make_stated_in(a, entry, s->called[0], s, run, inputs);
        const HloInstruction *indices;
        const Stated as = stated(a, s, run, &indices);
        if (as == AS_MADE) continue;
        const int64_t *places = NULL;
        const HloInstruction *p = indices_below(a, c, indices, &places);
        if (p && at) p = indices_below(a, entry, at->operands[p->number], &places);
        const uint32_t leaf = p ? hlo_leaves_before(entry, p->number) : 0;
        if (p && as == SORTED) make_sorted(a, s, p->shape, places, (void *)inputs[leaf]);
        else if (p && !is_unique(a, s, p->shape, places, inputs[leaf]))
            make_unique(a, s, p->shape, run, places, (void *)inputs[leaf]);
    }
}

void judge_make_as_stated(WbbArena *a, const HloModule *m, const JudgeRun *run, const void **inputs)
{
    if (!run->inputs) make_stated_in(a, m->entry, m->entry, NULL, run, inputs);
}

JudgeOperands judge_operands(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const JudgeRun *run)
{
    const void *const *inputs = judge_inputs(cx, a, m, run);
    struct JudgeOrigin *o = WBB_NEW(a, struct JudgeOrigin);
    JudgeOperands out = {.origin = o};
    o->shapes = input_shapes(cx, a, f->body, &out.n);
    o->arrays = out.arrays = WBB_NEW_N(a, const void *, out.n + 1);
    o->input = WBB_NEW_N(a, int64_t, out.n + 1);
    o->made = judge_made_inputs(cx, a, m, run);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->body->n_parameters; i++)
        for (uint32_t k = 0; k < f->body->parameters[i]->shape->n_leaves; k++, n++) {
            o->input[n] = -1; /* a constant */
            out.arrays[n] = value_of(cx, a, f, inputs, i, k, &o->input[n]);
            out.made = out.made || !out.arrays[n];
        }
    make_all_as_stated(a, f, run, &out);
    return out;
}

JudgeOperands judge_given_operands(WbbCx *cx, WbbArena *a, const HloComputation *c, const void *const *arrays)
{
    struct JudgeOrigin *o = WBB_NEW(a, struct JudgeOrigin);
    JudgeOperands out = {.origin = o};
    o->shapes = input_shapes(cx, a, c, &out.n);
    o->arrays = out.arrays = WBB_NEW_N(a, const void *, out.n + 1);
    for (uint32_t k = 0; k < out.n; k++) out.arrays[k] = arrays[k];
    return out;
}

EvResult *judge_evaluate(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                         const EvOrder *order, EvMode mode, const EvPositions *at)
{
    const EvSource source = {read_leaf, (void *)operands->origin};
    if (order)
        return ev_run_in_order(cx, a, c, operands->made ? NULL : operands->arrays, operands->made ? &source : NULL,
                               mode, at, order);
    if (operands->made) return ev_run_from(cx, a, c, &source, mode, at);
    return at ? ev_run_at(cx, a, c, operands->arrays, mode, at) : ev_run(cx, a, c, operands->arrays, mode);
}

/* --- memory that is made page by page ----------------------------------------------------------------------------- */
typedef struct {
    const JudgeOperands *operands;
    const BdBuffer *buffer;
} Pages;

/* SimSource.make: bytes [at, at + n) of a buffer, which are whole elements. */
static void make_page(void *arg, uint64_t at, size_t n, uint8_t *out)
{
    const Pages *p = arg;
    const BdBuffer *d = p->buffer;
    const int64_t size = d->bits / 8, first = (int64_t)at / size, count = (int64_t)n / size;
    const bool plain = bd_row_major(d);
    int64_t positions[SIM_PAGE];
    for (int64_t k = 0; !plain && k < count; k++) positions[k] = bd_logical_index(d, first + k);
    read_leaf((void *)p->operands->origin, d->arg, plain ? NULL : positions, first, count, out);
}

const SimSource *judge_pages(WbbArena *a, const JudgeOperands *operands, const BdBuffer *d)
{
    Pages *p = WBB_NEW(a, Pages);
    SimSource *s = WBB_NEW(a, SimSource);
    JudgeOperands *kept = WBB_NEW(a, JudgeOperands);
    *kept = *operands;
    *p = (Pages){kept, d};
    *s = (SimSource){make_page, p, WBB_NEW_N(a, uint8_t, (size_t)d->bytes / SIM_PAGE + 1)};
    return s;
}

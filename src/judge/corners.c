/* corners: input case `c`: values at which a kernel may change its mind.
 *
 * Wrong comparisons, clamps and special cases show at few inputs: an index just beyond the last start, the float below
 * which a conversion overflows, two elements that are equal. The numbers that matter stand in the fusion and in the
 * kernel, so the inputs are made of them.
 *
 * Needs: a module, and the text of its kernel. Leaves: a source of inputs, elements that are
 *
 *     indices (integers, if the module gathers, scatters or slices dynamically): -1, 0, the last start at which a slice
 *         fits, the start after it, and those between
 *     other numbers: the immediates of the PTX's comparisons, maxima and minima, those of other instructions, and the
 *         constants of the fusion, as values and as the bits of floats, each with its two neighbours; edges of the type
 *
 * The seeds take turns: they mix them with case `n`; take any of them for each element; have four of them for a whole
 * input, so that many elements are equal; have two, the second in pairs of neighbours, so that a row may have two
 * equal maxima anywhere.
 *
 *     setp.gt.u32 %p1, %r1, 1199570943     f32 inputs 65519.992, 65519.996 and 65520: what f16 rounds to infinity
 */
#include "judge/corners.h"

#include "bundle/bundle.h"
#include "graph/graph.h"
#include "index/index.h"
#include "judge/index_ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NUMBERS = 4096,
    MOST_ELEMENTS = 64, /* of a constant */
    PAIRS = 16          /* one of so many pairs of neighbours has the rarer of two values */
};

/* A number: an integer, or a float in f64; of an integer also the float with these bits. */
typedef struct {
    bool is_float;
    int64_t i;
    double f;
} Number;

typedef struct { Number *items; uint32_t n, capacity; } Numbers;
typedef struct { uint64_t *items; uint32_t n, capacity; } Values; /* bits of a type */

/* What the elements of one input may be. */
typedef struct {
    ScType type; /* of a part */
    int64_t parts;
    const char *name;
    const BdIndices *indices; /* columns 0: none */
    Values near, far; /* compared with; all others */
} Input;

typedef struct {
    WbbArena *arena;
    uint64_t seed;
    Numbers compared, others;
    Input *inputs;
} Corners;

static void add(Corners *c, Numbers *to, Number x)
{
    if (to->n < MOST_NUMBERS) WBB_PUSH(c->arena, to, x);
}

static void add_integer(Corners *c, Numbers *to, int64_t i) { add(c, to, (Number){.i = i}); }
static void add_float(Corners *c, Numbers *to, double f) { add(c, to, (Number){.is_float = true, .f = f}); }

/* --- numbers of the PTX ------------------------------------------------------------------------------------------- */
/* An immediate: 12, -1, 0f3F800000, 0d3FF0000000000000. */
static void add_immediate(Corners *c, Numbers *to, const char *at)
{
    if (at[0] == '0' && (at[1] == 'f' || at[1] == 'd')) {
        const uint64_t bits = strtoull(at + 2, NULL, 16);
        add_float(c, to, sc_to_f64(at[1] == 'f' ? SC_F32 : SC_F64, bits));
    } else {
        add_integer(c, to, (int64_t)(*at == '-' ? (uint64_t)strtoll(at, NULL, 0) : strtoull(at, NULL, 0)));
    }
}

/* The immediates of the instruction in [at, end), addresses left out. */
static void add_line(Corners *c, const char *at, const char *end)
{
    static const char *const comparing[] = {"setp.", "min.", "max.", "set.", "slct."};
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at < end && *at == '@') at += strcspn(at, " \t"), at += strspn(at, " \t");
    if (at >= end || *at < 'a' || *at > 'z') return;
    Numbers *to = &c->others;
    for (size_t k = 0; k < WBB_LEN(comparing); k++)
        if (strncmp(at, comparing[k], strlen(comparing[k])) == 0) to = &c->compared;
    for (at += strcspn(at, " \t\n"); at < end; at++) {
        if (*at == '[')
            while (at < end && *at != ']') at++;
        const bool begins = at[-1] == ' ' || at[-1] == '\t' || at[-1] == ',' || at[-1] == '{';
        if (begins && ((*at >= '0' && *at <= '9') || (*at == '-' && at[1] >= '0' && at[1] <= '9')))
            add_immediate(c, to, at);
    }
}

static void add_ptx(Corners *c, const char *ptx)
{
    for (const char *at = ptx; at && *at;) {
        const size_t length = strcspn(at, "\n");
        const char *comment = strstr(at, "//"), *end = at + length;
        add_line(c, at, comment && comment < end ? comment : end);
        at = *end ? end + 1 : end;
    }
}

/* --- numbers of the module ---------------------------------------------------------------------------------------- */
static void add_constant(Corners *c, const HloInstruction *i)
{
    const ScType t = i->shape->type;
    const bool is_float = sc_is_float(t), is_int = sc_is_int(t);
    if (!i->literal || (!is_float && !is_int)) return;
    const int64_t n = i->literal_splat ? 1 : WBB_MIN(hlo_elements(i->shape), (int64_t)MOST_ELEMENTS);
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)i->literal + (size_t)k * sc_bytes(t), sc_bytes(t));
        bits &= sc_mask(t);
        if (is_float) add_float(c, &c->compared, sc_to_f64(t, bits));
        else add_integer(c, &c->compared, (int64_t)sc_to_i128(t, bits));
    }
}

static void add_instruction(Corners *c, WbbArena *a, const HloInstruction *i)
{
    uint32_t n;
    const IxStart *s = ix_starts(a, i, &n);
    if (i->opcode == HLO_CONSTANT) add_constant(c, i);
    for (uint32_t k = 0; k < n; k++) add_integer(c, &c->compared, s[k].last);
}

/* --- values of an input ------------------------------------------------------------------------------------------- */
static void put(Corners *c, Values *to, const Input *in, uint64_t bits)
{
    for (uint64_t k = 0; k < 3; k++) WBB_PUSH(c->arena, to, (bits + k - 1) & sc_mask(in->type));
}

static void put_number(Corners *c, Values *to, const Input *in, const Number *x)
{
    const ScType t = in->type;
    if (!sc_is_float(t)) {
        if (!x->is_float) put(c, to, in, (uint64_t)x->i);
        else if (x->f > -0x1p62 && x->f < 0x1p62) put(c, to, in, (uint64_t)(int64_t)x->f);
        return;
    }
    put(c, to, in, sc_from_f64(t, x->is_float ? x->f : (double)x->i));
    if (x->is_float || x->i < 256) return;
    if (x->i > INT32_MAX) put(c, to, in, sc_from_f64(t, sc_to_f64(SC_F64, (uint64_t)x->i)));
    else put(c, to, in, x->i <= UINT16_MAX ? (uint64_t)x->i : sc_from_f64(t, sc_to_f64(SC_F32, (uint64_t)x->i)));
}

static void fill(Corners *c, Input *in)
{
    for (uint32_t k = 0; k < c->compared.n; k++) put_number(c, &in->near, in, &c->compared.items[k]);
    for (uint32_t k = 0; k < c->others.n; k++) put_number(c, &in->far, in, &c->others.items[k]);
    const uint64_t sign = (sc_mask(in->type) >> 1) + 1;
    put(c, &in->near, in, 0);
    put(c, &in->near, in, sign);
    if (sc_is_float(in->type)) put(c, &in->near, in, sc_from_f64(in->type, (double)INFINITY));
    else put(c, &in->near, in, sc_mask(in->type));
}

/* --- elements ----------------------------------------------------------------------------------------------------- */
static uint64_t drawn(const Input *in, int64_t position, uint64_t h)
{
    const uint64_t which = h >> 8;
    const BdIndices *x = in->indices;
    if (x && x->columns && h % 8 < 7) { /* starts of slices */
        const uint64_t last = (uint64_t)x->last[position / x->inner % x->columns];
        return which % 4 == 0 ? last : which % 4 == 1 ? last + 1 : (which >> 8) % (last + 3) - 1;
    }
    const Values *from = h % 4 && in->near.n ? &in->near : in->far.n ? &in->far : &in->near;
    return from->items[which % from->n];
}

/* EvSource.read */
static void make(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Corners *c = arg;
    const Input *in = &c->inputs[number];
    const uint64_t base = wbb_mix(c->seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)number + 1), way = c->seed % 4;
    const size_t bytes = sc_bytes(in->type);
    bd_make_input_at(c->seed, (uint64_t)number, in->name, positions, start, n, 'w', in->indices, out);
    if (in->type == SC_PRED) return;
    for (int64_t k = 0; k < n * in->parts; k++) {
        const int64_t element = k / in->parts, at = positions ? positions[element] : start + element;
        const uint64_t position = (uint64_t)(at * in->parts + k % in->parts);
        uint64_t h = wbb_mix(base + position);
        if (way == 0 && h & 1) continue;
        if (way == 2) h = wbb_mix(base ^ (h >> 1 & 3)); /* one of four */
        if (way == 3) h = wbb_mix(base ^ (wbb_mix(base - (position + (base & 1)) / 2) % PAIRS == 0));
        uint64_t bits = drawn(in, at, h >> 1) & sc_mask(in->type);
        if (sc_is_signed(in->type) && sc_type_info[in->type].bits < 8) bits = (uint64_t)sc_to_i128(in->type, bits);
        memcpy((char *)out + (size_t)k * bytes, &bits, bytes);
    }
}

const EvSource *judge_corners(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, uint64_t seed)
{
    Corners *c = WBB_NEW(a, Corners);
    EvSource *source = WBB_NEW(a, EvSource);
    const HloModule *normal = gr_normalise(cx, a, m, NULL);
    const BdIndices *ranges = judge_index_ranges(a, m);
    *c = (Corners){.arena = a, .seed = seed};
    add_ptx(c, ptx);
    for (uint32_t k = 0; k < normal->n_computations; k++)
        for (uint32_t i = 0; i < normal->computations[k]->n_instructions; i++)
            add_instruction(c, a, normal->computations[k]->instructions[i]);
    c->inputs = WBB_NEW_N(a, Input, hlo_leaves_before(m->entry, m->entry->n_parameters) + 1);
    for (uint32_t i = 0, at = 0; i < m->entry->n_parameters; i++) {
        const HloShape **leaves;
        const uint32_t count = hlo_leaves(a, m->entry->parameters[i]->shape, &leaves);
        for (uint32_t k = 0; k < count; k++) {
            const ScType t = leaves[k]->type, part = ev_part_type(t);
            c->inputs[at] = (Input){.type = part, .parts = part == t ? 1 : 2, .name = sc_type_info[t].hlo,
                                    .indices = ranges ? &ranges[at] : NULL};
            fill(c, &c->inputs[at++]);
        }
    }
    *source = (EvSource){make, c};
    return source;
}

/* infer: the shape of an instruction whose text gives none.
 *
 * Needs: operands with shapes, called computations whose roots have one. Leaves: a shape with the default layout, or NULL where
 * the operation's result does not follow from its operands (convert, broadcast, iota, ..) or they do not fit at all; verify.c
 * then judges the instruction as if the text had given the shape.
 *
 *     ROOT t = tuple(a, b)        (f32[8], s32[])
 *     x = exponential(y)          the shape of y
 */
#include "hlo/inner.h"

#include <string.h>

static const HloShape *of(const HloInstruction *i, uint32_t k) { return k < i->n_operands ? i->operands[k]->shape : NULL; }

static const HloShape *with_type(WbbArena *a, const HloShape *s, ScType type)
{
    return s && s->type != SC_TUPLE ? hlo_make_array(a, type, s->rank, s->dims) : NULL;
}

static const HloShape *tuple(WbbArena *a, const HloInstruction *i)
{
    const HloShape **elements = WBB_NEW_N(a, const HloShape *, i->n_operands);
    uint64_t leaves = 0;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        elements[k] = of(i, k);
        leaves += elements[k]->n_leaves;
        if (elements[k]->depth >= HLO_NESTING_LIMIT || leaves > HLO_LEAVES_LIMIT) return NULL;
    }
    return hlo_make_tuple(a, i->n_operands, elements);
}

static const HloShape *transpose(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = of(i, 0);
    int64_t dims[HLO_RANK_LIMIT];
    if (i->n_dimensions != s->rank) return NULL;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (i->dimensions[d] < 0 || i->dimensions[d] >= s->rank) return NULL;
        dims[d] = s->dims[i->dimensions[d]];
    }
    return hlo_make_array(a, s->type, s->rank, dims);
}

static const HloShape *concatenate(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = of(i, 0);
    if (!s || i->n_dimensions != 1 || i->dimensions[0] < 0 || i->dimensions[0] >= s->rank) return NULL;
    int64_t d = i->dimensions[0];
    int64_t dims[HLO_RANK_LIMIT];
    memcpy(dims, s->dims, s->rank * sizeof *dims);
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = of(i, k);
        if (x->rank != s->rank || __builtin_add_overflow(dims[d], x->dims[d], &dims[d])) return NULL;
    }
    return hlo_make_array(a, s->type, s->rank, dims);
}

static const HloShape *slice(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = of(i, 0);
    int64_t dims[HLO_RANK_LIMIT];
    if (i->n_windows != s->rank) return NULL;
    for (uint32_t d = 0; d < s->rank; d++) {
        HloSlice x = i->slices[d];
        if (x.start < 0 || x.limit < x.start || x.limit > s->dims[d] || x.stride < 1) return NULL;
        dims[d] = x.limit == x.start ? 0 : (x.limit - x.start - 1) / x.stride + 1;
    }
    return hlo_make_array(a, s->type, s->rank, dims);
}

/* The input's dimensions without the reduced ones, for each input; a tuple if there are several. */
static const HloShape *reduce(WbbArena *a, const HloInstruction *i)
{
    uint32_t n = i->n_operands / 2;
    if (n == 0 || i->n_operands % 2) return NULL;
    const HloShape **parts = WBB_NEW_N(a, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *s = of(i, k);
        int64_t dims[HLO_RANK_LIMIT];
        uint32_t rank = 0;
        for (uint32_t d = 0; d < s->rank; d++) {
            bool reduced = false;
            for (uint32_t j = 0; j < i->n_dimensions; j++) reduced = reduced || i->dimensions[j] == (int64_t)d;
            if (!reduced) dims[rank++] = s->dims[d];
        }
        parts[k] = hlo_make_array(a, of(i, n + k)->type, rank, dims);
    }
    return n == 1 ? parts[0] : hlo_make_tuple(a, n, parts);
}

static const HloShape *dynamic_slice(WbbArena *a, const HloInstruction *i)
{
    uint32_t n = 0;
    const int64_t *sizes = hlo_attribute_ints(a, i, "dynamic_slice_sizes", &n);
    const HloShape *s = of(i, 0);
    if (!s || !sizes || n != s->rank) return NULL;
    for (uint32_t d = 0; d < n; d++)
        if (sizes[d] < 0 || sizes[d] > s->dims[d]) return NULL;
    return hlo_make_array(a, s->type, n, sizes);
}

static const HloShape *called_root(const HloInstruction *i)
{
    return i->n_called ? i->called[0]->root->shape : NULL;
}

const HloShape *hlo_infer(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = of(i, 0);
    if (i->spelling) return NULL;
    switch (i->opcode) {
    case HLO_TUPLE: return tuple(a, i);
    case HLO_GET_TUPLE_ELEMENT:
        if (s->type != SC_TUPLE || i->number < 0 || i->number >= s->n_elements) return NULL;
        return s->elements[i->number];
    case HLO_TRANSPOSE: return transpose(a, i);
    case HLO_CONCATENATE: return concatenate(a, i);
    case HLO_SLICE: return slice(a, i);
    case HLO_REDUCE: return reduce(a, i);
    case HLO_DYNAMIC_SLICE: return dynamic_slice(a, i);
    case HLO_COMPARE: case HLO_IS_FINITE: return with_type(a, s, SC_PRED);
    case HLO_COMPLEX: return with_type(a, s, s->type == SC_F64 ? SC_C128 : SC_C64);
    case HLO_REAL: case HLO_IMAG: case HLO_ABS:
        if (s->type == SC_C64) return with_type(a, s, SC_F32);
        return s->type == SC_C128 ? with_type(a, s, SC_F64) : s;
    case HLO_SELECT: case HLO_CLAMP: return of(i, 1);
    case HLO_FUSION: case HLO_CALL: case HLO_CONDITIONAL: return called_root(i);
    case HLO_DYNAMIC_UPDATE_SLICE: case HLO_COPY: case HLO_REVERSE: case HLO_WHILE: case HLO_SCATTER: case HLO_REDUCE_PRECISION:
    case HLO_OPT_BARRIER: case HLO_ADD_DEPENDENCY: return s;
    case HLO_PARTITION_ID: case HLO_REPLICA_ID: return hlo_make_array(a, SC_U32, 0, NULL);
    case HLO_CONVERT: case HLO_BITCAST_CONVERT: return NULL;
    default: return hlo_is_elementwise(i->opcode) ? s : NULL;
    }
}

/* access.c: which element of an operand an element of the result needs, and which elements of the result need an
 * element of an operand: the part that is common to all operations.
 *
 * Needs a verified instruction and nodes for an index, ranges and starts. Leaves index nodes within the operand's
 * dimensions, and the conditions under which they are valid, without those that facts prove. A family of operations
 * lists its loops and starts, sizes of 1 and starts of one value included; here those become constants.
 *
 *     dynamic-slice f32[8,5] of f32[32,5]: lists starts 0..24 and 0..0; IxNeeds has the first, the other is constant 0
 *     pad f32[8] of f32[6], padding=1_1, at d0: d0 - 1, if d0 - 1 in [0, 5]
 */
#include "index/access.h"

#include <string.h>

const IxFamily *ix_family(WbbArena *a, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_BITCAST_CONVERT:
        return hlo_same_dims(i->shape, i->operands[0]->shape) ? &ix_elementwise : &ix_bitcast_convert;
    case HLO_BITCAST: return hlo_elements(i->shape) == hlo_elements(i->operands[0]->shape) ? &ix_moving : NULL;
    case HLO_MAP: case HLO_SET_DIMENSION_SIZE: case HLO_RNG: return &ix_elementwise;
    case HLO_PAD: return &ix_pad;
    case HLO_CONCATENATE: return &ix_concatenate;
    case HLO_DYNAMIC_SLICE: return &ix_dynamic_slice;
    case HLO_DYNAMIC_UPDATE_SLICE: return &ix_dynamic_update;
    case HLO_GATHER: return &ix_gather;
    case HLO_SCATTER: return &ix_scatter;
    case HLO_REDUCE: return &ix_reduce;
    case HLO_REDUCE_WINDOW: return &ix_window;
    case HLO_DOT: return i->n_operands == 2 ? &ix_dot : NULL;
    case HLO_SCALED_DOT: return &ix_dot;
    case HLO_CONVOLUTION: return hlo_conv_dims(a, i).known ? &ix_convolution : NULL;
    case HLO_SELECT_AND_SCATTER: return &ix_select_scatter;
    case HLO_SORT: case HLO_TOPK: return &ix_sort;
    case HLO_SCAN: return &ix_scan;
    case HLO_CHOLESKY: case HLO_TRIANGULAR_SOLVE: return &ix_matrix;
    case HLO_FFT: return &ix_transform;
    case HLO_BATCH_NORM_INFERENCE: return &ix_batch_norm;
    case HLO_BATCH_NORM_TRAINING: case HLO_BATCH_NORM_GRAD: return &ix_features;
    default:
        if (hlo_is_elementwise(i->opcode)) return &ix_elementwise;
        return hlo_kind(i->opcode) == HLO_IS_MOVE || hlo_forwards_operand(i) ? &ix_moving : NULL;
    }
}

const IxFamily *ix_target_family(WbbArena *a, const HloInstruction *i, uint32_t operand)
{
    switch (i->opcode) {
    case HLO_BITCAST_CONVERT:
        return hlo_same_dims(i->shape, i->operands[0]->shape) ? &ix_to_same : &ix_to_bitcast_convert;
    case HLO_BITCAST: return hlo_elements(i->shape) == hlo_elements(i->operands[0]->shape) ? &ix_to_moved : NULL;
    case HLO_BROADCAST: return &ix_to_broadcast;
    case HLO_MAP: case HLO_SET_DIMENSION_SIZE: case HLO_RNG: return &ix_to_same;
    case HLO_PAD: return operand == 0 ? &ix_to_pad : &ix_to_all;
    case HLO_CONCATENATE: return &ix_to_concatenate;
    case HLO_DYNAMIC_SLICE: return operand == 0 ? &ix_to_slice_of : &ix_to_all;
    case HLO_DYNAMIC_UPDATE_SLICE: return operand == 0 ? &ix_to_same : operand == 1 ? &ix_to_update : &ix_to_all;
    case HLO_GATHER: return operand == 0 ? &ix_to_gather : &ix_to_gathered_by;
    case HLO_SCATTER:
        return operand < i->n_operands / 2 ? &ix_to_same : operand == i->n_operands / 2 ? &ix_to_all : &ix_to_scatter;
    case HLO_REDUCE: return operand < i->n_operands / 2 ? &ix_to_reduce : &ix_to_all;
    case HLO_REDUCE_WINDOW: return operand < i->n_operands / 2 ? &ix_to_window : &ix_to_all;
    case HLO_DOT: return i->n_operands == 2 ? &ix_to_dot : NULL;
    case HLO_SCALED_DOT: return &ix_to_dot;
    case HLO_CONVOLUTION: return hlo_conv_dims(a, i).known ? &ix_to_convolution : NULL;
    case HLO_SELECT_AND_SCATTER: return operand < 2 ? &ix_to_select_scatter : &ix_to_all;
    case HLO_SORT: case HLO_TOPK: return &ix_to_sort;
    case HLO_SCAN: return &ix_to_scan;
    case HLO_CHOLESKY: case HLO_TRIANGULAR_SOLVE: return &ix_to_matrix;
    case HLO_FFT: return &ix_to_transform;
    case HLO_BATCH_NORM_INFERENCE: return &ix_to_batch_norm;
    case HLO_BATCH_NORM_TRAINING: case HLO_BATCH_NORM_GRAD: return &ix_to_features;
    default:
        if (hlo_kind(i->opcode) == HLO_IS_MOVE) return &ix_to_moved;
        return hlo_is_elementwise(i->opcode) || hlo_forwards_operand(i) ? &ix_to_same : NULL;
    }
}

/* --- from what is listed to what callers see ---------------------------------------------------------------------- */

static bool is_empty(const HloShape *s) { return s->type != SC_TUPLE && hlo_elements(s) == 0; }
static bool is_one_value(const IxStart *s) { return s->lo == s->hi; }

static IxList listed(const IxFamily *f, IxList l)
{
    l.sizes.n = l.starts.n = 0;
    if (f->list) f->list(&l);
    return l;
}

IxNeeds ix_family_needs(const IxFamily *f, WbbArena *a, const HloInstruction *i, uint32_t operand, uint32_t output)
{
    if (!f) return (IxNeeds){.known = false};
    const IxList l = listed(f, (IxList){.a = a, .i = i, .operand = operand, .output = output});
    int64_t *sizes = WBB_NEW_N(a, int64_t, l.sizes.n + 1u);
    IxStart *starts = WBB_NEW_N(a, IxStart, l.starts.n + 1u);
    IxNeeds n = {.known = true, .sizes = sizes, .starts = starts};
    for (uint32_t k = 0; k < l.sizes.n; k++)
        if (l.sizes.items[k] != 1) sizes[n.n_ranges++] = l.sizes.items[k];
    for (uint32_t k = 0; k < l.starts.n; k++)
        if (!is_one_value(&l.starts.items[k])) starts[n.n_starts++] = l.starts.items[k];
    return n;
}

/* A query with a node for each listed range and start: a constant for those that callers do not see. starts NULL: they
 * are not needed. */
static IxQuery make_query(RwCx *rw, const IxList *l, const IrRef *from, const IrRef *ranges, const IrRef *starts)
{
    IrRef *loops = WBB_NEW_N(l->a, IrRef, l->sizes.n + 1u), *values = WBB_NEW_N(l->a, IrRef, l->starts.n + 1u);
    IxQuery q = {.rw = rw, .g = rw_graph(rw), .a = l->a, .i = l->i, .operand = l->operand, .output = l->output,
                 .from = from, .loops = loops, .starts = values};
    for (uint32_t k = 0, n = 0; k < l->sizes.n; k++)
        loops[k] = l->sizes.items[k] == 1 || !ranges ? ir_index(q.g, 0) : ranges[n++];
    for (uint32_t k = 0, n = 0; starts && k < l->starts.n; k++)
        values[k] = is_one_value(&l->starts.items[k]) ? ir_index(q.g, l->starts.items[k].lo) : starts[n++];
    return q;
}

void ix_family_start(const IxFamily *f, RwCx *rw, IxList of, uint32_t k, const IrRef *from, const IrRef *ranges,
                     IrRef *at)
{
    const IxList l = listed(f, of);
    IxQuery q = make_query(rw, &l, from, ranges, NULL);
    uint32_t number = 0;
    for (uint32_t visible = 0; number < l.starts.n; number++)
        if (!is_one_value(&l.starts.items[number]) && visible++ == k) break;
    assert(number < l.starts.n);
    f->start(&q, number, ir_index(q.g, (int64_t)number), at); /* a vector of starts holds all of them, in order */
}

bool ix_family_component(const IxFamily *f, RwCx *rw, IxList of, const IrRef *from, const IrRef *ranges, IrRef *at)
{
    const IxList l = listed(f, of);
    IxQuery q = make_query(rw, &l, from, ranges, NULL);
    for (uint32_t k = 0; k < l.starts.n; k++) {
        if (l.starts.items[k].operand != of.operand) continue;
        f->start(&q, k, ir_index(q.g, 0), at);
        return true;
    }
    return false;
}

void ix_family_access(const IxFamily *f, RwCx *rw, IxList of, uint32_t rank, const IrRef *from, const IrRef *ranges,
                      const IrRef *starts, IxAccess *access)
{
    const IxList l = listed(f, of);
    IxQuery q = make_query(rw, &l, from, ranges, starts);
    q.index = WBB_NEW_N(of.a, IrRef, rank + 1u);
    for (uint32_t k = 0; k < rank; k++) q.index[k] = ir_index(q.g, 0);
    q.never = is_empty(ix_leaf(of.a, of.i->shape, of.output)) || is_empty(of.i->operands[of.operand]->shape);
    for (uint32_t k = 0; k < l.sizes.n; k++) q.never = q.never || l.sizes.items[k] == 0;
    if (!q.never) f->access(&q);
    const uint32_t n = q.conditions.n;
    *access = (IxAccess){.index = q.index, .n_conditions = n, .conditions = q.conditions.items, .never = q.never};
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

/* In these families each operand has loops of its own, so the instruction has none that all operands share. */
IxNeeds ix_needs(WbbArena *a, const HloInstruction *i)
{
    const IxFamily *f = ix_family(a, i);
    return ix_family_needs(f == &ix_scan || f == &ix_matrix || f == &ix_features ? NULL : f, a, i, 0, 0);
}

const IxStart *ix_starts(WbbArena *a, const HloInstruction *i, uint32_t *n)
{
    const IxFamily *f = ix_family(a, i);
    *n = 0;
    if (!f) return NULL;
    const IxList l = listed(f, (IxList){.a = a, .i = i});
    *n = l.starts.n;
    return l.starts.items;
}

void ix_start(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t k, const IrRef *out, const IrRef *ranges,
              IrRef *at)
{
    ix_family_start(ix_family(a, i), rw, (IxList){.a = a, .i = i}, k, out, ranges, at);
}

void ix_access(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, const IrRef *ranges,
               const IrRef *starts, IxAccess *access)
{
    const HloShape *s = i->operands[operand]->shape;
    ix_family_access(ix_family(a, i), rw, (IxList){.a = a, .i = i, .operand = operand}, s->rank, out, ranges, starts,
                     access);
}

void ix_result(RwCx *rw, WbbArena *a, const HloInstruction *i, const IrRef *in, IrRef *out)
{
    const IxList of = {.a = a, .i = i};
    IxAccess to;
    assert(hlo_permutes(i));
    ix_family_access(ix_target_family(a, i, 0), rw, of, i->shape->rank, in, NULL, NULL, &to);
    if (i->shape->rank) memcpy(out, to.index, i->shape->rank * sizeof *out);
}

/* axes.c: which dimension of an operand has the index of which dimension of the result.
 *
 * Needs a verified instruction of one array; leaves a number for each dimension of an operand. Which element is needed
 * is what src/index says of the operation (ix_access), for an index of variables: where the index in a dimension is the
 * variable itself, and both dimensions have all its values, they are one.
 *
 *     f32[6,8] slice(x f32[6,20]), [0:6], [3:11]         x: 0, other
 *     f32[4,9] gather(x f32[4,50,9], concatenate(iota, l)), an element of dimensions 0 and 1 each       x: 0, other, 1
 */
#include "graph/graph.h"

#include "index/access.h"

struct GrSight {
    WbbCx *cx;
    WbbArena *a;
    RwCx *rw; /* made when the first index is */
    WbbMap variables; /* by kind, number and interval */
    WbbMap known;     /* by instruction: 1 + number in `all` of its operand 0 */
    struct { GrAxes *items; uint32_t n, capacity; } all; /* of: NULL where it is not yet known */
};

enum { OF_RESULT, OF_RANGE, OF_START };

GrSight *gr_sight(WbbCx *cx, WbbArena *a)
{
    GrSight *s = WBB_NEW(a, GrSight);
    *s = (GrSight){.cx = cx, .a = a, .variables = {.arena = a}, .known = {.arena = a}};
    return s;
}

static IrRef variable(GrSight *s, int64_t kind, int64_t number, int64_t lo, int64_t hi)
{
    static const IrVarKind kinds[] = {[OF_RESULT] = IR_LOOP, [OF_RANGE] = IR_LOOP, [OF_START] = IR_LET};
    const int64_t key[] = {kind, number, lo, hi};
    IrGraph *g = rw_graph(s->rw);
    if (lo == hi) return ir_index(g, lo);
    WbbEntry *e = wbb_map_put_bytes(&s->variables, key, sizeof key);
    if (!e->value) e->value = ir_var(g, ir_var_new(g, "x", kinds[kind], lo, hi, 0));
    return (IrRef)e->value;
}

/* Variables, and what starts are where that is known, for an access. */
typedef struct {
    const HloShape *shape; /* of the result */
    IxNeeds needs;
    IrRef *index, *ranges, *starts;
} Given;

static Given given(GrSight *s, const HloInstruction *i)
{
    const HloShape *shape = i->shape->type == SC_TUPLE ? i->shape->elements[0] : i->shape;
    Given v = {.shape = shape, .needs = ix_needs(s->a, i), .index = WBB_NEW_N(s->a, IrRef, shape->rank + 1u)};
    v.ranges = WBB_NEW_N(s->a, IrRef, v.needs.n_ranges + 1u), v.starts = WBB_NEW_N(s->a, IrRef, v.needs.n_starts + 1u);
    for (uint32_t d = 0; d < shape->rank; d++) v.index[d] = variable(s, OF_RESULT, d, 0, shape->dims[d] - 1);
    for (uint32_t k = 0; k < v.needs.n_ranges; k++) v.ranges[k] = variable(s, OF_RANGE, k, 0, v.needs.sizes[k] - 1);
    return v;
}

/* The element of an operand that holds start k. */
static const IrRef *start_at(GrSight *s, const HloInstruction *i, const Given *v, uint32_t k)
{
    const uint32_t rank = i->operands[v->needs.starts[k].operand]->shape->rank;
    IrRef *at = WBB_NEW_N(s->a, IrRef, rank + 1u);
    ix_start(s->rw, s->a, i, k, v->index, v->ranges, at);
    return at;
}

static void find_starts(GrSight *s, const HloInstruction *i, Given *v)
{
    for (uint32_t k = 0; k < v->needs.n_starts; k++) {
        const IxStart *x = &v->needs.starts[k];
        const IrRef index = ix_known(s->rw, s->a, i->operands[x->operand], start_at(s, i, v, k));
        const bool fits = index && ir_within(rw_graph(s->rw), index, x->lo, (WbbI128)x->hi + 1);
        v->starts[k] = fits ? index : variable(s, OF_START, k, x->lo, x->hi);
    }
}

/* The dimension of the result whose index it is. */
static int16_t axis_of(const Given *v, IrRef index, int64_t size)
{
    for (uint32_t d = 0; d < v->shape->rank && size != 1; d++)
        if (v->index[d] == index && v->shape->dims[d] == size) return (int16_t)d;
    return size == 1 ? GR_ONE : GR_OTHER;
}

static void find(GrSight *s, const HloInstruction *i, uint32_t k, GrAxes *to)
{
    const HloShape *x = i->operands[k]->shape;
    int16_t *of = WBB_NEW_N(s->a, int16_t, x->rank + 1u);
    to->of = of;
    for (uint32_t d = 0; d < x->rank; d++) of[d] = x->dims[d] == 1 ? GR_ONE : GR_OTHER;
    if (x->type == SC_TUPLE || (i->shape->type == SC_TUPLE && (!i->shape->n_elements || i->shape->depth > 1))) return;
    if (!s->rw) s->rw = ix_engine(s->cx, s->a);
    Given v = given(s, i);
    to->known = v.needs.known && hlo_elements(v.shape) > 0 && hlo_elements(x) > 0;
    if (!to->known) return;
    find_starts(s, i, &v);
    bool any = false;
    for (uint32_t n = 0; n < v.needs.n_starts; n++) {
        if (v.needs.starts[n].operand != k) continue;
        const IrRef *at = start_at(s, i, &v, n);
        for (uint32_t d = 0; d < x->rank; d++) {
            const int16_t axis = axis_of(&v, at[d], x->dims[d]);
            of[d] = any && of[d] != axis ? GR_OTHER : axis;
        }
        any = true;
    }
    IxAccess at;
    if (any || hlo_is_start(i, k)) return;
    ix_access(s->rw, s->a, i, k, v.index, v.ranges, v.starts, &at);
    to->known = !at.never;
    if (at.never) return;
    for (uint32_t d = 0; d < x->rank; d++) of[d] = axis_of(&v, at.index[d], x->dims[d]);
    to->in_order = !v.needs.n_ranges && !at.n_conditions && hlo_elements(x) == hlo_elements(v.shape) &&
                   gr_row_major(s->rw, x, at.index) == gr_row_major(s->rw, v.shape, v.index);
}

GrAxes gr_axes(GrSight *s, const HloInstruction *i, uint32_t k)
{
    WbbEntry *e = wbb_map_put(&s->known, wbb_key(i));
    if (!e->value) {
        const GrAxes none = {0};
        e->value = s->all.n + 1;
        for (uint32_t o = 0; o < i->n_operands; o++) WBB_PUSH(s->a, &s->all, none);
    }
    const uint32_t at = (uint32_t)e->value - 1 + k;
    if (!s->all.items[at].of) find(s, i, k, &s->all.items[at]);
    return s->all.items[at];
}

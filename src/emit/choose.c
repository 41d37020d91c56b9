/* choose.c: operations that take an element of one operand or another, by the index: pad, dynamic-update-slice,
 * concatenate.
 *
 * Leaves an `if` where facts do not decide. The operand of a concatenate is found by bisection; a concatenate of slices
 * that is one array, rotated, is read as that array, at a remainder.
 *
 *     pad of f32[8] to f32[16], low 3, at i
 *       =>   c = if ge.index(i, 3) .. { let d = i - 3 in 0..8  yield load %p[d] } else { yield %z }
 */
#include "emit/inner.h"

/* A position in 0 .. size - 1: neighbours that are inside or not together, of 8 * n + k all k, share the variable n. So
 * loads of them differ by a constant, and become one. nearest: x may be outside; then one inside. */
static IrRef within(EmitValues *e, IrRef x, int64_t size, bool nearest)
{
    int64_t each = WBB_MIN(size & -size, (int64_t)e->plan->select_neighbours);
    if (nearest && ir_within(e->g, x, 0, size)) return x;
    IrRef rest = rw_mod(e->rw, x, each);
    while (each > 1 && !ir_is_const(e->g, rest)) each /= 2, rest = rw_mod(e->rw, x, each);
    IrRef n = rw_floordiv(e->rw, x, each);
    if (nearest) n = emit_nearest(e, n, size / each);
    n = emit_let(e, "d", n, 0, size / each - 1);
    return rw_add(e->rw, rw_scale(e->rw, n, each), rest);
}

/* The index of an access, with variables that state the bounds of each dimension. nearest: it may be outside; then that
 * of the element inside that is nearest. */
static IrRef *stated(EmitValues *e, const IxAccess *access, const HloShape *s, bool nearest)
{
    IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    for (uint32_t d = 0; d < s->rank; d++) {
        if (nearest) index[d] = within(e, access->index[d], s->dims[d], true);
        else index[d] = emit_let(e, "d", access->index[d], 0, s->dims[d] - 1);
    }
    return index;
}

/* Both conditions; 0: none. */
static IrRef both(EmitValues *e, IrRef x, IrRef y)
{
    if (!x || !y) return x ? x : y;
    return rw_make(e->rw, OP_BAND, IR_TYPE(SC_PRED, 0), 0, x, y, 0, 0);
}

/* x is in lo .. hi; 0: always. What facts decide makes no nodes. The rules of comparisons drop remainders: k*q + r is
 * below a multiple of k where q is below the multiple. The elements of one thread, which are neighbours, often share q,
 * and so one `if`. */
static IrRef between(EmitValues *e, IrRef x, int64_t lo, int64_t hi)
{
    const IrFact f = ir_fact(e->g, x);
    if (f.lo > hi || f.hi < lo) return ir_const(e->g, IR_TYPE(SC_PRED, 0), 0);
    const IrRef above = f.lo < lo ? rw_compare(e->rw, OP_GE, x, ir_index(e->g, lo)) : 0;
    const IrRef below = f.hi > hi ? rw_compare(e->rw, OP_LT, x, ir_index(e->g, hi + 1)) : 0;
    return both(e, above, below);
}

/* Tests of remainders stand last, side by side: LLVM tests the parity of several indices at once. */
IrRef emit_inside(EmitValues *e, const IxAccess *access)
{
    const IrRef no = ir_const(e->g, IR_TYPE(SC_PRED, 0), 0);
    IrRef all = 0;
    for (uint32_t n = 0; n < 2 * access->n_conditions && !access->never; n++) {
        const IxConstraint *c = &access->conditions[n % access->n_conditions];
        if ((ir_at(e->g, c->expression)->op == OP_MOD) != (n >= access->n_conditions)) continue;
        const IrRef one = between(e, c->expression, c->lo, c->hi);
        if (one == no) return no;
        all = both(e, all, one);
    }
    return access->never ? no : all;
}

/* pad: operand 0 inside, else operand 1. dynamic-update-slice: the update, operand 1, inside, else operand 0. */

enum { PAD_STARTS, PAD_INSIDE, PAD_OUTSIDE };

typedef struct {
    const IxNeeds *needs;
    IrRef *starts;
    IxAccess access;
    EmitIf branch;
    IrRef guard; /* selects, where the element inside that is nearest is loaded in any case; 0: there is a branch */
    IrRef then, otherwise;
} Pad;

static Pad *pad_begin(EmitValues *e, EmitFrame *f)
{
    Pad *p = f->data = WBB_NEW(e->arena, Pad);
    p->needs = emit_needs(e, f);
    p->starts = WBB_NEW_N(e->arena, IrRef, p->needs->n_starts + 1);
    return p;
}

/* The condition of a pad whose array is loaded all the same, where threads have several vectors or share terms: no
 * branch parts loads from each other, so that those which windows share become one. */
static IrRef guard_of(const EmitValues *e, const EmitFrame *f, IrRef inside)
{
    if (!inside || ir_is_const(e->g, inside) || f->env != 0 || f->i->opcode != HLO_PAD) return 0;
    if (!e->kernel || !e->kernel->n_ranges || !e->plan->window_pads[f->i->id]) return 0;
    const PlanStage *s = &e->kernel->ranges[0].stages[0];
    if (s->kind == PLAN_ELEMENTS) return lay_size(&s->layout.dims[0], LAY_REGISTER) > 1 ? inside : 0;
    return s->kind == PLAN_REDUCE ? inside : 0;
}

/* Of a condition that is known, only the operand that it selects is asked for. */
void emit_step_pad(EmitValues *e, EmitFrame *f)
{
    Pad *p = f->data ? f->data : pad_begin(e, f);
    const uint32_t inner = f->i->opcode == HLO_PAD ? 0 : 1;
    const HloInstruction *inside = f->i->operands[inner], *outside = f->i->operands[1 - inner];
    const ScType t = f->i->shape->type;
    switch (f->state) {
    case PAD_STARTS:
        if (!emit_starts(e, f, p->needs, p->starts)) return;
        ix_access(e->rw, e->arena, f->i, inner, f->index, NULL, p->starts, &p->access);
        p->then = emit_inside(e, &p->access);
        p->guard = guard_of(e, f, p->then);
        p->branch = emit_if(e, p->guard ? 0 : p->then);
        emit_next(f, PAD_INSIDE);
        if (p->branch.known) emit_want(e, f, inside, 0, stated(e, &p->access, inside->shape, p->guard != 0));
        return;
    case PAD_INSIDE:
        p->then = f->result ? emit_as(e, f->result, t) : 0;
        emit_else(e, &p->branch);
        emit_next(f, PAD_OUTSIDE);
        if (p->branch.s || p->guard || !p->branch.known) emit_want(e, f, outside, 0, f->index); /* padding: a scalar */
        return;
    default:
        p->otherwise = f->result ? emit_as(e, f->result, t) : 0;
        if (p->guard)
            p->then = ir_node(e->g, OP_SELECT, IR_TYPE(t, 0), 0, p->guard, p->then, p->otherwise, 0);
        else
            emit_end_if(e, &p->branch, 1, &p->then, &p->otherwise, &p->then);
        emit_done(e, f, p->then);
    }
}

/* concatenate ------------------------------------------------------------------------------------------------- */

enum { CONCAT_OPEN, CONCAT_VALUE };

/* One level of the bisection: of the operands with elements, lo .. hi-1. */
typedef struct {
    uint32_t lo, middle, hi;
    bool in_else;
    EmitIf branch;
    IrRef then;
} Level;

typedef struct {
    struct { Level *items; uint32_t n, capacity; } levels;
    uint32_t *parts, n; /* operands that have elements */
    int64_t *offsets;   /* where they begin */
} Concat;

static void want_part(EmitValues *e, EmitFrame *f, uint32_t part)
{
    const Concat *c = f->data;
    const HloShape *s = f->i->operands[c->parts[part]]->shape;
    const uint32_t dim = (uint32_t)f->i->dimensions[0];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    for (uint32_t d = 0; d < s->rank; d++) index[d] = f->index[d];
    index[dim] = within(e, rw_sub(e->rw, f->index[dim], ir_index(e->g, c->offsets[part])), s->dims[dim], false);
    emit_want(e, f, f->i->operands[c->parts[part]], 0, index);
}

/* Opens an `if` at each level of the bisection from parts lo .. hi-1 down to one part, and asks for that. */
static void descend(EmitValues *e, EmitFrame *f, uint32_t lo, uint32_t hi)
{
    Concat *c = f->data;
    while (hi - lo > 1) {
        Level l = {.lo = lo, .middle = lo + (hi - lo) / 2, .hi = hi};
        const IrRef at = f->index[f->i->dimensions[0]];
        l.branch = emit_if(e, between(e, at, 0, c->offsets[l.middle] - 1));
        if (l.branch.s) {
            WBB_PUSH(e->arena, &c->levels, l);
            hi = l.middle;
        } else if (l.branch.known) {
            hi = l.middle;
        } else {
            lo = l.middle;
        }
    }
    want_part(e, f, lo);
}

/* Of a rotated array: its element, counted from where the rotation begins. */
static void want_rotated(EmitValues *e, EmitFrame *f)
{
    const HloInstruction *first = f->i->operands[0];
    const uint32_t dim = (uint32_t)f->i->dimensions[0];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, f->i->shape->rank + 1u);
    for (uint32_t d = 0; d < f->i->shape->rank; d++) index[d] = f->index[d];
    const IrRef at = rw_add(e->rw, f->index[dim], ir_index(e->g, first->slices[dim].start));
    index[dim] = rw_make(e->rw, OP_MOD, IR_TYPE(SC_INDEX, 0), 0, at, ir_index(e->g, f->i->shape->dims[dim]), 0, 0);
    emit_want(e, f, first->operands[0], 0, index);
}

void emit_step_concat(EmitValues *e, EmitFrame *f)
{
    if (f->state == CONCAT_OPEN) {
        emit_next(f, CONCAT_VALUE);
        Concat *c = f->data = WBB_NEW(e->arena, Concat);
        if (plan_is_rotation(f->i)) {
            want_rotated(e, f);
            return;
        }
        c->parts = WBB_NEW_N(e->arena, uint32_t, f->i->n_operands);
        c->offsets = WBB_NEW_N(e->arena, int64_t, f->i->n_operands);
        int64_t offset = 0;
        for (uint32_t k = 0; k < f->i->n_operands; k++) {
            const HloShape *s = f->i->operands[k]->shape;
            if (hlo_elements(s) > 0) c->parts[c->n] = k, c->offsets[c->n++] = offset;
            offset += s->dims[f->i->dimensions[0]];
        }
        descend(e, f, 0, c->n);
        return;
    }
    Concat *c = f->data;
    IrRef value = emit_as(e, f->result, f->i->shape->type);
    while (c->levels.n) {
        Level *l = &c->levels.items[c->levels.n - 1];
        if (!l->in_else) {
            l->in_else = true;
            l->then = value;
            emit_else(e, &l->branch);
            descend(e, f, l->middle, l->hi);
            return;
        }
        emit_end_if(e, &l->branch, 1, &l->then, &value, &value);
        c->levels.n--;
    }
    emit_done(e, f, value);
}

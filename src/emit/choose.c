/* choose.c: operations that take an element from one operand or another, by the index.
 *
 * Needs frames; leaves an `if` where facts do not decide. A concatenate of many operands is asked by bisection; where they are slices of
 * one array that goes around its end, it is that array, at a remainder.
 *
 *     pad of f32[8] to f32[16], low 3, at i   =>   c = if ge.index(i, 3) .. { let d = i - 3 in 0..8  yield load %p[d] } else { yield %z }
 */
#include "emit/inner.h"

/* The index that an access says, each dimension stated to be in its bounds. */
static IrRef *stated(EmitValues *e, const IxAccess *access, const HloShape *s)
{
    IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    for (uint32_t d = 0; d < s->rank; d++) index[d] = emit_let(e, "d", access->index[d], 0, s->dims[d] - 1);
    return index;
}

/* x = k*q + r + constant with r in 0..k, where k divides the bounds that count: whether x is within them is then a question of q alone,
 * *x, and of *lo and *hi. Elements of one thread are neighbours with one q, and one `if` does for all of them. */
static void without_rest(EmitValues *e, IrRef *x, WbbI128 *lo, WbbI128 *hi, bool need_lo, bool need_hi)
{
    IrGraph *g = e->g;
    const IrNode n = *ir_at(g, *x);
    const WbbI128 constant = n.op == OP_SUM ? (int64_t)n.imm : 0;
    for (uint32_t i = 0; n.op == OP_SUM && i < n.a[1]; i++) {
        const int64_t k = g->terms[n.a[0] + i].coefficient;
        if (k <= 1 || (need_lo && (*lo - constant) % k) || (need_hi && (*hi + 1 - constant) % k)) continue;
        IrTerm *q = WBB_NEW_N(e->arena, IrTerm, n.a[1]), *r = WBB_NEW_N(e->arena, IrTerm, n.a[1]);
        uint32_t n_q = 0, n_r = 0;
        for (uint32_t j = 0; j < n.a[1]; j++) {
            const IrTerm t = g->terms[n.a[0] + j];
            if (t.coefficient % k == 0) q[n_q++] = (IrTerm){t.coefficient / k, t.ref};
            else r[n_r++] = t;
        }
        if (!ir_within(g, rw_sum(e->rw, 0, r, n_r), 0, k)) continue;
        *x = rw_sum(e->rw, 0, q, n_q);
        *lo = (*lo - constant) / k; /* exact where it counts */
        *hi = (*hi + 1 - constant) / k - 1;
        return;
    }
}

IrRef emit_between(EmitValues *e, IrRef x, WbbI128 lo, WbbI128 hi)
{
    const IrFact f = ir_fact(e->g, x);
    if (f.lo > hi || f.hi < lo) return ir_const(e->g, IR_TYPE(SC_PRED, 0), 0);
    const bool need_lo = f.lo < lo, need_hi = f.hi > hi;
    if (need_lo || need_hi) without_rest(e, &x, &lo, &hi, need_lo, need_hi);
    const IrRef above = need_lo ? rw_compare(e->rw, OP_GE, x, ir_index(e->g, (int64_t)lo)) : 0;
    const IrRef below = need_hi ? rw_compare(e->rw, OP_LT, x, ir_index(e->g, (int64_t)(hi + 1))) : 0;
    if (!above || !below) return above ? above : below;
    return rw_make(e->rw, OP_BAND, IR_TYPE(SC_PRED, 0), 0, above, below, 0, 0);
}

/* Remainders last and side by side: LLVM asks for the parity of several indices at once. */
IrRef emit_inside(EmitValues *e, const IxAccess *access)
{
    const IrRef no = ir_const(e->g, IR_TYPE(SC_PRED, 0), 0);
    IrRef all = 0;
    for (uint32_t n = 0; n < 2 * access->n_conditions && !access->never; n++) {
        const IxConstraint *c = &access->conditions[n % access->n_conditions];
        if ((ir_at(e->g, c->expression)->op == OP_MOD) != (n >= access->n_conditions)) continue;
        const IrRef one = emit_between(e, c->expression, c->lo, c->hi);
        if (one == no) return no;
        if (one) all = all ? rw_make(e->rw, OP_BAND, IR_TYPE(SC_PRED, 0), 0, all, one, 0, 0) : one;
    }
    return access->never ? no : all;
}

/* pad: operand 0 inside, else operand 1. dynamic-update-slice: the update, operand 1, inside, else operand 0. ------------------------ */

typedef struct {
    const IxNeeds *needs;
    IrRef *starts;
    IxAccess access;
    EmitChoice choice;
    IrRef then, otherwise;
} Pieces;

static Pieces *pieces_begin(EmitValues *e, EmitFrame *f)
{
    Pieces *p = f->own = WBB_NEW(e->arena, Pieces);
    p->needs = emit_needs(e, f);
    p->starts = WBB_NEW_N(e->arena, IrRef, p->needs->n_starts + 1);
    return p;
}

static void want_start(EmitValues *e, EmitFrame *f, uint32_t k, const IxNeeds *needs)
{
    const HloInstruction *x = f->i->operands[needs->starts[k].operand];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, x->shape->rank + 1u);
    ix_start(e->rw, e->arena, f->i, k, f->index, NULL, index);
    emit_want(e, f, x, 0, index);
}

void emit_step_pieces(EmitValues *e, EmitFrame *f)
{
    Pieces *p = f->at ? f->own : pieces_begin(e, f);
    const uint32_t at = f->at++, n = p->needs->n_starts, inner = f->i->opcode == HLO_PAD ? 0 : 1;
    const HloInstruction *inside = f->i->operands[inner], *outside = f->i->operands[1 - inner];
    if (at > 0 && at <= n) p->starts[at - 1] = emit_start(e, f->answer, p->needs->starts[at - 1].lo, p->needs->starts[at - 1].hi);
    if (at < n) {
        want_start(e, f, at, p->needs);
        return;
    }
    switch (at - n) {
    case 0:
        ix_access(e->rw, e->arena, f->i, inner, f->index, NULL, p->starts, &p->access);
        p->choice = emit_if(e, emit_inside(e, &p->access));
        if (p->choice.known) emit_want(e, f, inside, 0, stated(e, &p->access, inside->shape));
        break;
    case 1:
        p->then = f->answer ? emit_as(e, f->answer, f->i->shape->type) : 0;
        emit_else(e, &p->choice);
        if (p->choice.s || !p->choice.known) emit_want(e, f, outside, 0, f->index); /* padding is a scalar: no index */
        break;
    default:
        p->otherwise = f->answer ? emit_as(e, f->answer, f->i->shape->type) : 0;
        emit_end_if(e, &p->choice, 1, &p->then, &p->otherwise, &p->then);
        emit_done(e, f, p->then);
    }
}

/* concatenate ----------------------------------------------------------------------------------------------------------------------- */

/* One level of the bisection: of the operands with elements, lo .. hi-1. */
typedef struct {
    uint32_t lo, middle, hi, turn;
    EmitChoice choice;
    IrRef then;
} Level;

typedef struct {
    struct { Level *items; uint32_t n, capacity; } levels;
    uint32_t *parts, n; /* operands that have elements */
    int64_t *offsets;   /* where they begin */
} Concat;

static void want_part(EmitValues *e, EmitFrame *f, uint32_t part)
{
    const Concat *c = f->own;
    const HloShape *s = f->i->operands[c->parts[part]]->shape;
    const uint32_t along = (uint32_t)f->i->dimensions[0];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    for (uint32_t d = 0; d < s->rank; d++) index[d] = f->index[d];
    index[along] = emit_let(e, "d", rw_sub(e->rw, f->index[along], ir_index(e->g, c->offsets[part])), 0, s->dims[along] - 1);
    emit_want(e, f, f->i->operands[c->parts[part]], 0, index);
}

/* Go down from parts lo .. hi-1 to one of them, which is asked for. */
static void descend(EmitValues *e, EmitFrame *f, uint32_t lo, uint32_t hi)
{
    Concat *c = f->own;
    while (hi - lo > 1) {
        Level l = {.lo = lo, .middle = lo + (hi - lo) / 2, .hi = hi};
        const IrRef along = f->index[f->i->dimensions[0]];
        l.choice = emit_if(e, emit_between(e, along, 0, (WbbI128)c->offsets[l.middle] - 1));
        if (l.choice.s) {
            WBB_PUSH(e->arena, &c->levels, l);
            hi = l.middle;
        } else if (l.choice.known) {
            hi = l.middle;
        } else {
            lo = l.middle;
        }
    }
    want_part(e, f, lo);
}

/* Of an array that goes around: one element of it, wherever that is. */
static void want_rotated(EmitValues *e, EmitFrame *f)
{
    const HloInstruction *first = f->i->operands[0];
    const uint32_t along = (uint32_t)f->i->dimensions[0];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, f->i->shape->rank + 1u);
    for (uint32_t d = 0; d < f->i->shape->rank; d++) index[d] = f->index[d];
    const IrRef at = rw_add(e->rw, f->index[along], ir_index(e->g, first->slices[along].start));
    index[along] = rw_make(e->rw, OP_MOD, IR_TYPE(SC_INDEX, 0), 0, at, ir_index(e->g, f->i->shape->dims[along]), 0, 0);
    emit_want(e, f, first->operands[0], 0, index);
}

void emit_step_concat(EmitValues *e, EmitFrame *f)
{
    if (f->at++ == 0) {
        Concat *c = f->own = WBB_NEW(e->arena, Concat);
        if (part_is_rotation(f->i)) {
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
    Concat *c = f->own;
    IrRef value = emit_as(e, f->answer, f->i->shape->type);
    while (c->levels.n) {
        Level *l = &c->levels.items[c->levels.n - 1];
        if (l->turn++ == 0) {
            l->then = value;
            emit_else(e, &l->choice);
            descend(e, f, l->middle, l->hi);
            return;
        }
        emit_end_if(e, &l->choice, 1, &l->then, &value, &value);
        c->levels.n--;
    }
    emit_done(e, f, value);
}

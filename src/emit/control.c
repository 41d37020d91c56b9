/* control.c: calls, fusions inside a fusion, and conditionals.
 *
 * The body of a call is emitted where it stands, its parameters being the operands. A conditional becomes an `if`, or
 * several, which find the branch by bisection; a branch number that is out of range takes the last one. Only the
 * elements that are wanted are computed, of the branch that is taken.
 *
 *     conditional(i, x, y, z), branches f, g, h   =>   if lt.u32(i, 1) { f(x) } else { if lt.u32(i, 2) { g(y) } .. }
 */
#include "emit/inner.h"

enum { CALL_BODY, CALL_DONE };

void emit_step_call(EmitValues *e, EmitFrame *f)
{
    if (f->state == CALL_DONE) {
        emit_done(e, f, emit_as(e, f->result, plan_shape(f->i, f->part)->type));
        return;
    }
    emit_next(f, CALL_DONE);
    emit_want_in(e, f, emit_env_of(e, f->i, f->env, 0, f->i->operands), f->i->called[0]->root, f->part, f->index);
}

enum { BRANCH_CHOICE, BRANCH_VALUE };

typedef struct {
    EmitIf branch;
    uint32_t middle, hi;
    IrRef then;
    bool in_else;
} Level;

typedef struct {
    struct { Level *items; uint32_t n, capacity; } levels;
    IrRef choice; /* a pred, or the number of the branch, unsigned */
} Branches;

/* Opens an `if` for each choice on the way to the first of branches lo .. hi-1, and asks for its value. */
static void descend(EmitValues *e, EmitFrame *f, Branches *b, uint32_t lo, uint32_t hi)
{
    IrGraph *g = e->g;
    const IrNode choice = *ir_at(g, b->choice);
    const bool pred = IR_SC(choice.type) == SC_PRED;
    while (hi - lo > 1) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (choice.op == OP_CONST) { /* true is the first branch */
            const uint64_t taken = pred ? !choice.imm : choice.imm;
            if (taken < middle) hi = middle;
            else lo = middle;
            continue;
        }
        const IrRef below = pred ? b->choice
                                 : ir_node(g, OP_LT, IR_TYPE(SC_PRED, 0), 0, b->choice,
                                           ir_const(g, IR_TYPE(SC_U32, 0), middle), 0, 0);
        const Level level = {.branch = emit_if(e, below), .middle = middle, .hi = hi};
        WBB_PUSH(e->arena, &b->levels, level);
        hi = middle;
    }
    emit_want_in(e, f, emit_env_of(e, f->i, f->env, lo, f->i->operands + lo + 1), f->i->called[lo]->root, f->part,
                 f->index);
}

void emit_step_conditional(EmitValues *e, EmitFrame *f)
{
    Branches *b = f->data ? f->data : (f->data = WBB_NEW(e->arena, Branches));
    if (f->state == BRANCH_CHOICE) {
        if (f->asked++ == 0) {
            emit_want(e, f, f->i->operands[0], 0, NULL);
            return;
        }
        b->choice = f->result;
        if (IR_SC(ir_at(e->g, b->choice)->type) != SC_PRED)
            b->choice = ir_is_const(e->g, b->choice)
                            ? ir_const(e->g, IR_TYPE(SC_U32, 0), ir_at(e->g, b->choice)->imm & UINT32_MAX)
                            : ir_node(e->g, OP_BITS, IR_TYPE(SC_U32, 0), 0, b->choice, 0, 0, 0);
        emit_next(f, BRANCH_VALUE);
        descend(e, f, b, 0, f->i->n_called);
        return;
    }
    IrRef value = emit_as(e, f->result, plan_shape(f->i, f->part)->type);
    while (b->levels.n) {
        Level *l = &b->levels.items[b->levels.n - 1];
        if (!l->in_else) {
            l->in_else = true;
            l->then = value;
            emit_else(e, &l->branch);
            descend(e, f, b, l->middle, l->hi);
            return;
        }
        emit_end_if(e, &l->branch, 1, &l->then, &value, &value);
        b->levels.n--;
    }
    emit_done(e, f, value);
}

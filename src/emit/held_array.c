/* held_array.c: an array all of whose elements a thread computes, because its loop holds arrays so.
 *
 * Needs an array of the body of a loop that state.c says is whole; leaves a value at each of its indices, and selects
 * among them. Each element is computed once, at an index that is known, however many places read the array.
 *
 *     %y at (%x(i)), of 4 elements   =>   select(lt %x 2, select(lt %x 1, y0, y1), select(lt %x 3, y2, y3))
 */
#include "emit/inner.h"

/* Asks for all elements, then chooses one. */
void emit_step_held_array(EmitValues *e, EmitFrame *f)
{
    const HloShape *shape = plan_shape(f->i, f->part);
    const int64_t n = hlo_elements(shape);
    IrRef *values = f->data ? f->data : (f->data = WBB_NEW_N(e->arena, IrRef, (size_t)n));
    if (f->asked > 0) values[f->asked - 1] = f->result;
    if (f->asked == n) {
        emit_done(e, f, emit_choose(e, &(EmitHeld){.values = values}, ix_linear(e->rw, shape, f->index), 0, n));
        return;
    }
    IrRef *index = WBB_NEW_N(e->arena, IrRef, shape->rank + 1u);
    ix_delinear(e->rw, shape, ir_index(e->g, f->asked++), index);
    emit_want_in(e, f, f->env, f->i, f->part, index);
}

/* uses.c: the nodes that one statement names, and the variables and values that it binds, one after the other.
 *
 * Needs a statement; leaves it unchanged.
 */
#include "ir/uses.h"

bool ir_next_use(IrUses *u)
{
    IrStmt *s = (IrStmt *)u->s;
    for (;;) {
        enum { OWN = 5 }; /* refs of a statement, besides those of its results */
        const uint32_t i = u->next++, r = i < OWN ? 0 : (i - OWN) / 3;
        if (i >= OWN && r >= s->n_results) return false;
        u->result = IR_NO_RESULT;
        u->where = IR_OUTSIDE;
        u->definition = false;
        switch (i) {
        case 0: u->at = &s->index; break;
        case 1: u->at = &s->value; break;
        case 2:
            u->at = &s->condition;
            if (s->kind == IR_REPEAT) u->where = IR_BODY;
            break;
        case 3: u->at = &s->from_index; break;
        case 4:
            if (s->kind != IR_BIND) continue;
            u->at = &u->g->vars[s->var].definition;
            u->definition = true;
            break;
        default:
            u->result = r;
            u->where = (IrWhere[]){IR_OUTSIDE, IR_BODY, IR_OTHERWISE}[(i - OWN) % 3];
            u->at = (IrRef *[]){&s->results[r].init, &s->results[r].yield, &s->results[r].otherwise}[(i - OWN) % 3];
        }
        u->ref = *u->at;
        if (u->ref) return true;
    }
}

bool ir_next_def(IrDefs *d)
{
    const IrStmt *s = d->s;
    for (;;) {
        const uint32_t i = d->next++, r = (i - 1) / 2;
        if (i && r >= s->n_results) return false;
        d->is_variable = i == 0;
        d->result = i ? r : IR_NO_RESULT;
        if (i == 0) {
            d->number = s->var;
            d->where = s->kind == IR_FOR ? IR_BODY : IR_OUTSIDE;
            if (ir_binds_variable(s)) return true;
        } else if (i % 2) {
            d->number = s->results[r].value;
            d->where = IR_OUTSIDE;
            return true;
        } else if (ir_is_loop(s)) {
            d->number = s->results[r].carried;
            d->where = IR_BODY;
            return true;
        }
    }
}

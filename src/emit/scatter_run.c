/* scatter_run.c: the updates of a thread: one, all of an element, or neighbours of which some have the same element.
 *
 * Needs the number of an update in the memory of updates, or of so many as PlanStage.run says. For PLAN_RUN indices are
 * sorted, so that updates of an element are neighbours: leaves, in the thread of the first of them, a loop to the last
 * one, with a load of the element before it and a store behind it. For runs they need not be, but if they are not, no
 * two are combined: leaves straight code in which a thread keeps in registers what it has combined, as long as the next
 * update has the same indices, and combines it with the element where they differ, and at its end.
 *
 *     f32[100] x[k] += u, k in s32
 *     PLAN_RUN  if k[t - 1] != k[t] {
 *                   old = do read(%out[k[t]])   y = old + u[t]
 *                   z = if k[t + 1] == k[t] { yield repeat carry y, t + 1 { .. the next eight .. } } else { yield y }
 *                   store %out[k[t]], z  }
 *     run 2     y = if k[2*t + 1] == k[2*t] { yield u[2*t] + u[2*t + 1]
 *                   } else { do atomic_add.f32(%out[k[2*t]], u[2*t])   yield u[2*t + 1] }
 *               do atomic_add.f32(%out[k[2*t + 1]], y)
 */
#include "emit/scatter.h"

#include <string.h>

/* --- all of an element -------------------------------------------------------------------------------------------- */
static ScType counter_of(const HloShape *updates) { return updates->dims[0] < INT32_MAX ? SC_I32 : SC_I64; }

/* A number of updates as an index: one that is known to be inside. */
static IrRef place_of(const Scatter *m, const HloShape *updates, IrRef counter)
{
    return emit_variable(m->e, "r", counter, 0, updates->dims[0] - 1);
}

static IrRef row_at(const Scatter *m, IrRef place)
{
    IrRef *at = WBB_NEW_N(m->e->arena, IrRef, 2);
    at[0] = place, at[1] = ir_index(m->g, 0);
    return emit_value(m->e, (PlanValue){m->i->operands[m->results], 0}, at);
}

/* None fits but the first update of its element. */
static void begin_run(Scatter *m)
{
    const HloShape *updates = emit_scatter_updates(m);
    const ScType t = counter_of(updates);
    const IrRef one = number(m, t, 1), k = ir_node(m->g, OP_IDX, IR_TYPE(t, 0), 0, m->update[0], 0, 0, 0);
    const IrRef before = node(m, OP_SUB, t, node(m, OP_MAX, t, k, one), one);
    const IrRef other = compare(m, OP_NE, row_at(m, place_of(m, updates, before)), row_at(m, m->update[0]));
    const IrRef first = node(m, OP_BOR, SC_PRED, compare(m, OP_LT, k, one), other);
    m->fits = m->fits ? node(m, OP_BAND, SC_PRED, m->fits, first) : first;
}

/* The updates of number `counter`, and what they make of the results. */
static void load_updates(const Scatter *m, IrRef counter, IrRef *x)
{
    const HloShape *updates = emit_scatter_updates(m);
    IrRef *from = WBB_NEW_N(m->e->arena, IrRef, updates->rank + 1u);
    memcpy(from, m->update, updates->rank * sizeof *from);
    from[0] = place_of(m, updates, counter);
    for (uint32_t k = 0; k < m->n; k++) {
        const PlanValue of = {m->i->operands[m->results + 1 + k], 0};
        x[k] = emit_as(m->e, emit_value(m->e, of, from), type_of(m, k));
    }
}

static void combine(const Scatter *m, IrRef *x, const IrRef *acc, IrRef *results)
{
    Scatter one = *m;
    one.x = x;
    emit_scatter_combined(&one, acc, results);
}

/* Is there an update of number `counter`, of this element? *at: its number, or that of the last one. */
static IrRef follows(const Scatter *m, IrRef counter, IrRef *at)
{
    const HloShape *updates = emit_scatter_updates(m);
    const ScType t = counter_of(updates);
    const IrRef last = number(m, t, (uint64_t)updates->dims[0] - 1);
    *at = node(m, OP_MIN, t, counter, last);
    const IrRef row = row_at(m, place_of(m, updates, *at));
    const IrRef same = compare(m, OP_EQ, row, row_at(m, m->update[0])); /* first, with every compiler */
    return node(m, OP_BAND, SC_PRED, compare(m, OP_LE, counter, last), same);
}

/* The next ones, from acc[m->n] on, of which there is one: all loads before the first sum, which are made in order. In
 * place of those that are not there the first one is loaded again, so that no branch parts the loads. */
static void next_updates(const Scatter *m, IrRef *acc)
{
    const ScType t = counter_of(emit_scatter_updates(m));
    const IrRef first = acc[m->n];
    const uint32_t n = m->s->at_once;
    IrRef **x = WBB_NEW_N(m->e->arena, IrRef *, n), *there = WBB_NEW_N(m->e->arena, IrRef, n);
    IrRef *at = WBB_NEW_N(m->e->arena, IrRef, n);
    at[0] = first;
    for (uint32_t k = 1; k < n; k++) {
        there[k] = follows(m, node(m, OP_ADD, t, first, number(m, t, k)), &at[k]);
        at[k] = ir_node(m->g, OP_SELECT, IR_TYPE(t, 0), 0, there[k], at[k], first, 0);
    }
    for (uint32_t k = 0; k < n; k++) {
        x[k] = WBB_NEW_N(m->e->arena, IrRef, m->n + 1);
        load_updates(m, at[k], x[k]);
    }
    IrRef *sum = WBB_NEW_N(m->e->arena, IrRef, m->n + 1);
    for (uint32_t k = 0; k < n; k++) {
        combine(m, x[k], acc, sum);
        for (uint32_t j = 0; j < m->n; j++)
            acc[j] = k ? ir_node(m->g, OP_SELECT, IR_TYPE(type_of(m, j), 0), 0, there[k], sum[j], acc[j], 0) : sum[j];
    }
    acc[m->n] = node(m, OP_ADD, t, first, number(m, t, n));
}

/* That one and those that follow it, one after the other. */
static void run(const Scatter *m)
{
    const ScType t = counter_of(emit_scatter_updates(m));
    IrRef *acc = WBB_NEW_N(m->e->arena, IrRef, m->n + 1), *at = WBB_NEW_N(m->e->arena, IrRef, m->n + 1);
    IrRef *all = WBB_NEW_N(m->e->arena, IrRef, m->n + 1), *x = WBB_NEW_N(m->e->arena, IrRef, m->n + 1), place;
    for (uint32_t k = 0; k < m->n; k++) {
        at[k] = ix_linear(m->rw, plan_shape(m->i, k), m->index);
        const IrRef read = ir_node(m->g, OP_READ, IR_TYPE(type_of(m, k), 0), 0, 0, 0, 0, 0);
        acc[k] = emit_scatter_effect(m, "old", buffer_of(m, k), at[k], read);
    }
    const IrRef first = ir_node(m->g, OP_IDX, IR_TYPE(t, 0), 0, m->update[0], 0, 0, 0);
    load_updates(m, first, x);
    combine(m, x, acc, acc);
    const IrRef second = node(m, OP_ADD, t, first, number(m, t, 1));
    EmitIf c = emit_if(m->e, follows(m, second, &place));
    memcpy(all, acc, m->n * sizeof *all);
    all[m->n] = second;
    EmitLoop l = emit_repeat(m->e, m->n + 1, all);
    next_updates(m, all);
    l.s->condition = follows(m, all[m->n], &place);
    emit_end_for(m->e, &l, m->n + 1, all);
    emit_else(m->e, &c);
    emit_end_if(m->e, &c, m->n, all, acc, acc);
    for (uint32_t k = 0; k < m->n; k++) emit_store(m->e, buffer_of(m, k), at[k], acc[k]);
}

static void element_of_run(Scatter *m)
{
    EmitIf c;
    begin_run(m);
    if (emit_scatter_open(m, &c)) run(m);
    emit_scatter_close(m, &c);
}

/* --- as many as there are ----------------------------------------------------------------------------------------- */
/* Do two updates go to the same element? 0: always. */
static IrRef is_same(const Scatter *m, const Scatter *other)
{
    const uint32_t columns = (uint32_t)m->i->operands[m->results]->shape->dims[1];
    IrRef same = 0;
    for (uint32_t c = 0; c < columns; c++) {
        if (m->start[c] == other->start[c]) continue;
        const IrRef one = compare(m, OP_EQ, m->start[c], other->start[c]);
        same = same ? node(m, OP_BAND, SC_PRED, same, one) : one;
    }
    return same;
}

/* The update that follows `m`, of the same place in its window; *there: is there one? 0: always. Where there is none,
 * the last one of all. */
static const IrRef *place_after(const Scatter *m, const IrRef *index, uint32_t k, IrRef *there)
{
    const HloShape *updates = emit_scatter_updates(m);
    IrRef *at = WBB_NEW_N(m->e->arena, IrRef, updates->rank + 1u);
    memcpy(at, index, updates->rank * sizeof *at);
    at[0] = rw_add(m->rw, rw_scale(m->rw, index[0], m->s->run), ir_index(m->g, k));
    at[0] = emit_clamp(m->e, "r", at[0], updates->dims[0], there);
    return at;
}

/* Updates run * index[0] .. run * index[0] + run - 1, of which each is combined with the one before it where both have
 * the same element. */
static void neighbours(const Scatter *m, const IrRef *index)
{
    const uint32_t run = m->s->run, origin = m->g->making_origin;
    IrRef *there = WBB_NEW_N(m->e->arena, IrRef, run);
    Scatter *row = WBB_NEW_N(m->e->arena, Scatter, run);
    for (uint32_t k = 0; k < run; k++) { /* all loads before the first condition */
        row[k] = *m;
        emit_scatter_row(&row[k], place_after(m, index, k, &there[k]));
    }
    m->g->making_origin = m->i->id + 1;
    for (uint32_t k = 1; k < run; k++) {
        /* where both conditions are one, as of an iota that is divided, this `if` joins the one before it */
        EmitIf c = emit_if_using(m->e, is_same(&row[k], &row[k - 1]), 1, row[k - 1].x);
        const IrRef x = row[k - 1].x[0], then = emit_in_branch(m->e, &c, true, x);
        IrRef sum = 0;
        if (!emit_never(&c)) emit_scatter_combined(&row[k], &then, &sum);
        if (sum && there[k]) sum = ir_node(m->g, OP_SELECT, ir_at(m->g, sum)->type, 0, there[k], sum, then, 0);
        emit_else(m->e, &c);
        row[k - 1].x[0] = emit_in_branch(m->e, &c, false, x);
        if (c.s || !c.known) emit_scatter_element(&row[k - 1]);
        emit_end_if(m->e, &c, 1, &sum, &row[k].x[0], &row[k].x[0]);
    }
    emit_scatter_element(&row[run - 1]);
    m->g->making_origin = origin;
}

void emit_scatter(EmitValues *e, const PlanStage *stage, const HloShape *space, IrRef element)
{
    const HloInstruction *i = stage->update;
    Scatter m = {.e = e, .rw = e->rw, .g = e->g, .s = stage, .i = i, .results = i->n_operands / 2,
                 .n = stage->n_outputs};
    const uint32_t outer = e->scope, origin = e->g->making_origin;
    IrRef *index = WBB_NEW_N(e->arena, IrRef, space->rank + 1u);
    ix_delinear(m.rw, space, element, index);
    if (stage->run > 1) {
        neighbours(&m, index);
    } else {
        emit_scatter_row(&m, index);
        e->g->making_origin = i->id + 1;
        if (stage->combine == PLAN_RUN) element_of_run(&m);
        else emit_scatter_element(&m);
    }
    emit_switch(e, outer);
    e->g->making_origin = origin;
}

/* eval_run.h: evaluates a module given as text. For the tests of eval/.
 *
 *     run_eval(cx, "e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }", inputs, EV_PLAIN, NULL)->outputs[0].data
 */
#ifndef EVAL_RUN_H
#define EVAL_RUN_H

#include "eval/eval.h"
#include "unit.h"

typedef struct {
    const char *text;
    const void *const *inputs;
    EvMode mode;
    const EvPositions *at;
    EvResult *result;
} EvalJob;

static inline void evaluate_text(WbbCx *cx, void *arg)
{
    EvalJob *j = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "test.hlo", j->text, strlen(j->text));
    j->result = j->at ? ev_run_at(cx, cx->arena, m->entry, j->inputs, j->mode, j->at)
                      : ev_run(cx, cx->arena, m->entry, j->inputs, j->mode);
}

/* The outputs, at these positions or whole where `at` is NULL; they live as long as the context. */
static inline const EvResult *run_eval(WbbCx *cx, const char *text, const void *const *inputs, EvMode mode,
                                       const EvPositions *at)
{
    EvalJob j = {.text = text, .inputs = inputs, .mode = mode, .at = at};
    succeed_on(cx, evaluate_text, &j, text);
    return j.result;
}

/* The same in the order that a text documents. */
typedef struct { const char *text, *order; const void *const *inputs; const EvResult *result; } OrderJob;

static inline void evaluate_in_order(WbbCx *cx, void *arg)
{
    OrderJob *j = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "test.hlo", j->text, strlen(j->text));
    const EvOrder *order = ev_order(cx, cx->arena, "kernel.json", &j->order, 1, m->entry);
    j->result = ev_run_in_order(cx, cx->arena, m->entry, j->inputs, NULL, EV_PLAIN, NULL, order);
}

#endif

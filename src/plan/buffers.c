/* buffers.c: the values that a fusion leaves, and its arrays in memory.
 *
 * Needs a verified fusion; leaves roots and buffers of its plan.
 *
 *     (a, (b, c)) = fusion(x, (y, z))     roots a, b, c; buffers %x, %p.0, %p.1, %out0, %out1, %out2
 */
#include "plan/strategies.h"

#include <string.h>

typedef struct {
    Plan *p;
    WbbMap taken; /* names of the buffers so far, in their order */
} Names;

static void add_buffer(Names *names, const char *wish, const HloShape *s, bool output)
{
    char *name = wbb_format(names->taken.arena, "%s", wish);
    for (char *c = name; *c; c++) {
        const bool fine =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("_.-", *c);
        if (!fine) *c = '_';
    }
    char *result = name;
    for (uint32_t k = 1; wbb_map_get_bytes(&names->taken, result, strlen(result)); k++)
        result = wbb_format(names->taken.arena, "%s.%u", name, k);
    wbb_map_put_bytes(&names->taken, result, strlen(result));
    names->p->buffers[names->taken.n - 1] = (PlanBuffer){result, s, hlo_elements(s), output, -1, false, false, false};
}

/* A bound on the memory of a plan; a launch takes far fewer parameters. */
enum { MAX_OUTPUTS = 100000 };

/* The value of each output: the leaves of the root, depth first. */
void plan_find_roots(WbbCx *cx, WbbArena *a, Plan *p, const HloInstruction *root)
{
    struct { const HloInstruction **items; uint32_t n, capacity; } stack = {0};
    struct { PlanValue *items; uint32_t n, capacity; } roots = {0};
    WBB_PUSH(a, &stack, root);
    while (stack.n) {
        const HloInstruction *i = stack.items[--stack.n];
        const uint32_t leaves = i->shape->type == SC_TUPLE ? i->shape->n_leaves : 0;
        if (i->opcode == HLO_TUPLE) {
            for (uint32_t k = i->n_operands; k-- > 0;) WBB_PUSH(a, &stack, i->operands[k]);
        } else if (leaves) { /* a reduction of several arrays, or a get-tuple-element that is a tuple */
            for (uint32_t k = 0; k < leaves; k++) {
                const PlanValue v = plan_value(i, k);
                WBB_PUSH(a, &roots, v);
            }
        } else {
            const PlanValue v = plan_value(i, 0);
            WBB_PUSH(a, &roots, v);
        }
        if (roots.n + stack.n > MAX_OUTPUTS) wbb_decline(cx, root->loc, WHY_SIZE, "more than %d outputs", MAX_OUTPUTS);
    }
    p->roots = roots.items;
    p->n_outputs = roots.n;
}

/* A buffer for each leaf of each operand, then one for each output. */
void plan_find_buffers(WbbArena *a, Plan *p)
{
    const HloComputation *body = p->fusion->body;
    p->n_operands = 0;
    p->first_leaf = WBB_NEW_N(a, uint32_t, body->n_parameters + 1);
    for (uint32_t k = 0; k < body->n_parameters; k++) {
        p->first_leaf[k] = p->n_operands;
        p->n_operands += body->parameters[k]->shape->n_leaves;
    }
    Names names = {.p = p, .taken = {.arena = a}};
    p->buffers = WBB_NEW_N(a, PlanBuffer, p->n_operands + p->n_outputs + 1);
    for (uint32_t k = 0; k < body->n_parameters; k++) {
        const HloInstruction *x = body->parameters[k];
        const HloShape **leaves;
        const uint32_t n = hlo_leaves(a, x->shape, &leaves);
        for (uint32_t l = 0; l < n; l++)
            add_buffer(&names, n == 1 ? x->name : wbb_format(a, "%s.%u", x->name, l), leaves[l], false);
    }
    for (uint32_t k = 0; k < p->n_outputs; k++)
        add_buffer(&names, p->n_outputs == 1 ? "out" : wbb_format(a, "out%u", k),
                   plan_shape(p->roots[k].i, p->roots[k].part), true);
}

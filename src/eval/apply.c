/* apply: a computation of scalars, applied to n lanes at once.
 *
 * Needs: a verified computation whose parameters are scalars or tuples of them, and the lanes of each leaf of each
 * parameter. Leaves: the lanes of each leaf of its root.
 *
 * Elementwise operations take all lanes at once. A computation with any other operation (a loop, an array) is evaluated
 * once for each lane.
 *
 *     add { a, b, r = add(a, b) } on x = {{1, 2}, {10, 20}}     out = {{11, 22}}
 */
#include "eval/inner.h"

#include <string.h>

enum { NESTING = 16 };

/* Does the computation consist of operations that on_lanes knows? */
static bool by_lanes(Ev *e, const HloComputation *c, unsigned depth)
{
    if (depth > NESTING) return false;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->shape->type != SC_TUPLE && i->shape->rank != 0) return false;
        switch (i->opcode) {
        case HLO_PARAMETER:
        case HLO_TUPLE:
        case HLO_GET_TUPLE_ELEMENT:
        case HLO_RESHAPE:
        case HLO_BROADCAST:
        case HLO_TRANSPOSE: break;
        case HLO_BITCAST:
            if (sc_type_info[i->shape->type].bits != sc_type_info[i->operands[0]->shape->type].bits) return false;
            break;
        case HLO_CONSTANT:
            if (i->shape->type == SC_TUPLE) return false;
            break;
        case HLO_FUSION:
        case HLO_CALL:
        case HLO_MAP:
            if (!by_lanes(e, i->called[0], depth + 1)) return false;
            break;
        default:
            if (!hlo_is_elementwise(i->opcode)) return false;
        }
    }
    return true;
}

static void *constant(Ev *e, const HloInstruction *i, int64_t n)
{
    const EvSet one = {.n = 1};
    if (!i->literal) wbb_decline(e->cx, i->loc, WHY_OPERATION, "the text leaves out the value of constant %s", i->name);
    char *lanes = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, i->shape->type));
    ev_fill(lanes, ev_import(e, i->shape->type, i->literal, &one), ev_lane_bytes(e->mode, i->shape->type), n);
    return lanes;
}

static void on_lanes(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out)
{
    void ***value = WBB_NEW_N(e->block, void **, c->n_instructions); /* [instruction][leaf] */
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        uint32_t leaves = i->shape->n_leaves, at = 0;
        void **v = value[k] = WBB_NEW_N(e->block, void *, leaves + 1);
        if (i->opcode == HLO_PARAMETER) {
            memcpy(v, x + hlo_leaves_before(c, i->number), leaves * sizeof *v);
            continue;
        }
        if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
            for (int64_t p = 0; p < i->number; p++) at += i->operands[0]->shape->elements[p]->n_leaves;
            memcpy(v, value[i->operands[0]->id] + at, leaves * sizeof *v);
            continue;
        }
        uint32_t total = 0;
        for (uint32_t p = 0; p < i->n_operands; p++) total += i->operands[p]->shape->n_leaves;
        void **operands = WBB_NEW_N(e->block, void *, total + 1);
        for (uint32_t p = 0; p < i->n_operands; at += i->operands[p++]->shape->n_leaves)
            memcpy(operands + at, value[i->operands[p]->id], i->operands[p]->shape->n_leaves * sizeof *v);
        switch (i->opcode) {
        case HLO_CONSTANT: v[0] = constant(e, i, n); break;
        case HLO_TUPLE: memcpy(v, operands, leaves * sizeof *v); break;
        case HLO_COPY: memcpy(v, operands, leaves * sizeof *v); break;
        case HLO_FUSION:
        case HLO_MAP:
        case HLO_CALL: on_lanes(e, i->called[0], n, operands, v); break;
        case HLO_RESHAPE: case HLO_BROADCAST: case HLO_TRANSPOSE: v[0] = operands[0]; break;
        case HLO_BITCAST: v[0] = ev_bits(e, i->shape->type, i->operands[0]->shape->type, n, operands[0]); break;
        default: v[0] = ev_elementwise(e, i, n, operands);
        }
    }
    memcpy(out, value[c->root->id], c->root->shape->n_leaves * sizeof *out);
}

/* Each lane in an evaluation of its own. */
static void one_by_one(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out)
{
    uint32_t leaves = c->root->shape->n_leaves, inputs = hlo_leaves_before(c, c->n_parameters), at = 0;
    size_t *bytes = WBB_NEW_N(e->block, size_t, inputs + 1);
    void **state = WBB_NEW_N(e->block, void *, inputs + 1);
    for (uint32_t p = 0; p < c->n_parameters; p++)
        for (uint32_t k = 0; k < c->parameters[p]->shape->n_leaves; k++)
            bytes[at++] = ev_lane_bytes(e->mode, ev_leaf_shape(c->parameters[p]->shape, k)->type);
    for (uint32_t k = 0; k < leaves; k++)
        out[k] = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, ev_leaf_shape(c->root->shape, k)->type));
    for (int64_t lane = 0; lane < n; lane++) {
        for (uint32_t k = 0; k < inputs; k++) state[k] = (char *)x[k] + (size_t)lane * bytes[k];
        Ev *run = ev_sub(e, c, state);
        ev_begin(run);
        for (uint32_t k = 0; k < leaves; k++) {
            size_t size = ev_lane_bytes(e->mode, ev_leaf_shape(c->root->shape, k)->type);
            const void *made = ev_demand(run, ev_resolve_leaf(run, run->root, c->root, k), ev_range_set(run, 0, 1));
            memcpy((char *)out[k] + (size_t)lane * size, made, size);
        }
        ev_part_end(e);
    }
}

void ev_apply(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out)
{
    if (by_lanes(e, c, 0)) {
        on_lanes(e, c, n, x, out);
        return;
    }
    for (uint32_t k = 0; k < c->root->shape->n_leaves; k++)
        if (ev_leaf_shape(c->root->shape, k)->rank)
            wbb_decline(e->cx, c->loc, WHY_OPERATION, "%s is applied to elements, but returns an array", c->name);
    one_by_one(e, c, n, x, out);
}

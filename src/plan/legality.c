/* legality.c: may this fusion be a loop? Declines its first instruction that no loop may have, with the reason:
 * decline.c.
 *
 * Needs a verified computation; leaves nothing. A loop may have operations that move elements (reshape, pad, gather,
 * ..), leaves (constant, iota, parameter), elementwise operations with a meaning in gen/ops.py, and reductions, windows
 * and products of no more elements than one thread takes in reasonable time.
 *
 *     %r = f32[8] reduce(f32[8,65536] ..)   =>   "gelu.hlo:7:3: declined: reduction: ..."
 */
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/sort.h"

#include <string.h>

/* Has it an emitter of its own? Other elementwise operations are one node each. */
static bool has_emitter(HloOpcode op)
{
    switch (hlo_kind(op)) {
    case HLO_IS_ELEMENT: return hlo_scalar(op) == OP_NONE || op == HLO_CONVERT || op == HLO_MULHI;
    case HLO_IS_MOVE: case HLO_IS_CHOOSE: case HLO_IS_FOLD: case HLO_IS_LEAF: case HLO_IS_GROUP: case HLO_IS_CONTROL:
        return true;
    default: return op == HLO_RNG_BIT_GENERATOR;
    }
}

static void check_array_type(WbbCx *cx, const HloInstruction *i, ScType type)
{
    const ScTypeInfo *t = &sc_type_info[type];
    if (!t->compute && t->cls != 'C') wbb_decline(cx, i->loc, WHY_TYPE, "%s of %s", hlo_opcode_name(i->opcode), t->hlo);
}

/* The arrays of a parameter are buffers, whether the fusion reads them or not. */
static void check_type(WbbCx *cx, WbbArena *a, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE && i->opcode == HLO_PARAMETER) {
        const HloShape **leaves;
        const uint32_t n = hlo_leaves(a, i->shape, &leaves);
        for (uint32_t k = 0; k < n; k++) check_array_type(cx, i, leaves[k]->type);
    } else if (i->shape->type == SC_TUPLE) {
        const HloKind kind = hlo_kind(i->opcode);
        const bool several = kind == HLO_IS_FOLD || kind == HLO_IS_WHOLE || kind == HLO_IS_CONTROL;
        if (several || kind == HLO_IS_GROUP || i->opcode == HLO_RNG_BIT_GENERATOR) return;
        wbb_decline(cx, i->loc, WHY_TYPE, "%s of a tuple", hlo_opcode_name(i->opcode));
    } else {
        check_array_type(cx, i, i->shape->type);
    }
}

static void check_constant(WbbCx *cx, const HloInstruction *i)
{
    if (!i->literal) wbb_decline(cx, i->loc, WHY_OPERATION, "a constant whose value the text leaves out");
}

/* A bitcast to elements of another width takes parts of elements, or joins them: as integers, so of types that have
 * those. */
static void check_bitcast(WbbCx *cx, const HloInstruction *i)
{
    const ScTypeInfo *to = &sc_type_info[i->shape->type], *from = &sc_type_info[i->operands[0]->shape->type];
    if (plan_same_width(i)) return;
    if (to->bits == from->bits || to->cls == 'C' || from->cls == 'C' || to->cls == 'P' || from->cls == 'P')
        wbb_decline(cx, i->loc, WHY_OPERATION, "%s of %s to %s", hlo_opcode_name(i->opcode), from->hlo, to->hlo);
}

/* The state has a key of 64 bits and a counter of 64, or 128. */
static void check_random(WbbCx *cx, WbbArena *a, const HloInstruction *i)
{
    const HloShape *in = i->operands[0]->shape;
    const ScType of = i->shape->type == SC_TUPLE ? i->shape->elements[1]->type : SC_NONE;
    const char *algorithm = hlo_attribute(a, i, "algorithm");
    const bool is_threefry = algorithm && !strcmp(algorithm, "rng_three_fry");
    const uint32_t width = sc_type_info[in->type].bits;
    const int64_t bits = in->rank == 1 && (in->type == SC_U32 || in->type == SC_U64) ? width * in->dims[0] : 0;
    if (bits != 128 && (bits != 192 || is_threefry))
        wbb_decline(cx, i->loc, WHY_RANDOM,
                    "rng-bit-generator with a state of %lld elements of %s: a key and a counter of 64 bits each%s are "
                    "known",
                    (long long)hlo_elements(in), sc_type_info[in->type].hlo,
                    is_threefry ? "" : ", or a counter of 128,");
    if (!sc_is_int(of) || sc_type_info[of].bits < 8)
        wbb_decline(cx, i->loc, WHY_RANDOM, "rng-bit-generator: integers of 8 to 64 bits, with the state after them");
}

/* Elements that i itself takes for one of its own, without what its operands take. `trips`: plan_trips. */
static int64_t trips_of(const HloInstruction *i, const int64_t *trips)
{
    int64_t most = 1;
    for (uint32_t k = 0; k < i->n_operands; k++) most = WBB_MAX(most, trips[i->operands[k]->id]);
    return trips[i->id] / most;
}

/* By id: only elementwise operations and views lie between the instruction and the root, so each of its elements is
 * computed once. A reduction among these is what the fusion is for: threads must share its sums, and a loop is no
 * substitute. */
static const bool *heroes(WbbArena *a, const HloComputation *body)
{
    bool *at = WBB_NEW_N(a, bool, body->n_instructions + 1);
    at[body->root->id] = true;
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        const bool keeps = hlo_kind(i->opcode) == HLO_IS_GROUP || hlo_is_elementwise(i->opcode) || hlo_permutes(i);
        for (uint32_t k = 0; at[n] && keeps && k < i->n_operands; k++) at[i->operands[k]->id] = true;
    }
    return at;
}

/* How many elements one thread takes for one element of i. */
static void check_per_output(WbbCx *cx, WbbArena *a, const HloInstruction *i, int64_t trips, bool hero,
                             const TgTarget *t)
{
    const char *name = hlo_opcode_name(i->opcode);
    const bool product = hlo_has(i->opcode, HLO_PRODUCTS);
    const TgTune *most = tg_tune(t, product ? "product.max_per_output" : "reduce.max_per_output", 0);
    if (hlo_elements(plan_shape(i, 0)) == 0) return; /* no thread takes any */
    if (trips > most->value && product)
        wbb_decline(cx, i->loc, WHY_LIBRARY, "%s: sums %lld products per output; one thread sums at most %lld: %s",
                    name, (long long)trips, (long long)most->value, most->because);
    if (trips > most->value && hero && gr_associates(cx, a, i->called[0]) != GR_NO)
        wbb_decline(cx, i->loc, WHY_REDUCTION,
                    "%s: reduces %lld elements per output; one thread reduces at most %lld: %s", name, (long long)trips,
                    (long long)most->value, most->because);
    if (!product) return;
    const TgTune *all = tg_tune(t, "product.max_total", 0);
    const WbbI128 products = (WbbI128)hlo_elements(i->shape) * trips;
    if (products > all->value)
        wbb_decline(cx, i->loc, WHY_LIBRARY,
                    "%s: %lld outputs of %lld products each; more than %lld in all are left to a library: %s", name,
                    (long long)hlo_elements(i->shape), (long long)trips, (long long)all->value, all->because);
}

/* Elements that all threads reduce for all elements of i. */
static WbbI128 total_of(WbbArena *a, const HloInstruction *i, const int64_t *trips)
{
    WbbI128 sum = 0;
    const HloShape **leaves;
    const uint32_t n = hlo_leaves(a, i->shape, &leaves);
    for (uint32_t k = 0; k < n; k++) sum += (WbbI128)hlo_elements(leaves[k]) * trips[i->id];
    return sum;
}

/* What all threads reduce for all outputs: a loop that sums a row again for each element of the row is correct, but
 * may take hours. */
static void check_total(WbbCx *cx, WbbArena *a, const HloComputation *body, const int64_t *trips, const TgTarget *t)
{
    const TgTune *most = tg_tune(t, "reduce.max_total", 0);
    const HloInstruction *root = body->root, *longest = body->root;
    WbbI128 all = 0;
    for (uint32_t k = 0; root->opcode == HLO_TUPLE && k < root->n_operands; k++)
        all += total_of(a, root->operands[k], trips);
    if (root->opcode != HLO_TUPLE) all = total_of(a, root, trips);
    if (all <= most->value) return;
    for (uint32_t n = body->n_instructions; n-- > 0;)
        if (trips_of(body->instructions[n], trips) > trips_of(longest, trips)) longest = body->instructions[n];
    wbb_decline(cx, longest->loc, WHY_REDUCTION,
                "%s: all outputs together reduce %lld elements; a loop reduces at most %lld: %s",
                hlo_opcode_name(longest->opcode), (long long)WBB_MIN(all, (WbbI128)INT64_MAX), (long long)most->value,
                most->because);
}

/* What all threads reduce for the terms of shared reductions, each of which is computed once in each stage. */
static void check_terms(WbbCx *cx, WbbArena *a, const HloComputation *body, const int64_t *trips, const TgTarget *t,
                        const bool *reduced)
{
    const TgTune *most = tg_tune(t, "reduce.max_total", 0);
    WbbI128 *each = WBB_NEW_N(a, WbbI128, body->n_instructions + 1); /* by id, without the shared reductions */
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        each[i->id] = 1;
        for (uint32_t k = 0; k < i->n_operands; k++) each[i->id] = WBB_MAX(each[i->id], each[i->operands[k]->id]);
        if (reduced[i->id]) {
            const WbbI128 all = each[i->id] * hlo_elements(i->operands[0]->shape);
            if (each[i->id] > 1 && all > most->value)
                wbb_decline(cx, i->loc, WHY_REDUCTION, "%s: all terms together reduce %lld elements; at most %lld: %s",
                            hlo_opcode_name(i->opcode), (long long)WBB_MIN(all, (WbbI128)INT64_MAX),
                            (long long)most->value, most->because);
        } else {
            each[i->id] = WBB_MIN(each[i->id] * trips_of(i, trips), (WbbI128)INT64_MAX);
        }
    }
}

/* An operation is named by the type of its operands where that is a test or a comparison, else by the type of its
 * result. */
static void check_elementwise(WbbCx *cx, const HloInstruction *i, ScOp op)
{
    const ScType result = i->shape->type, first = i->n_operands ? i->operands[0]->shape->type : result;
    const uint8_t signature = sc_op_info[op].signature;
    const ScType named = signature == SC_TEST || signature == SC_COMPARE ? first : result;
    bool has = false;
    for (const char *c = sc_op_info[op].classes; *c; c++) has |= *c == sc_type_info[named].cls;
    if (!has) wbb_decline(cx, i->loc, WHY_OPERATION, "%s of %s", hlo_opcode_name(i->opcode), sc_type_info[named].hlo);
}

static bool handled(const HloInstruction *i)
{
    return !i->spelling && (has_emitter(i->opcode) || hlo_scalar(i->opcode) != OP_NONE);
}

static bool is_plain_scatter(WbbCx *cx, const HloInstruction *i)
{
    const HloScatterDims d = hlo_scatter_dims(cx->arena, i);
    return !i->spelling && hlo_scatters_rows(i, &d);
}

/* A sort that is none of what threads compute together. */
static void decline_sort(WbbCx *cx, WbbArena *a, const HloInstruction *i, const TgTarget *t, bool called)
{
    if (called)
        plan_decline_as(cx, i, WHY_CONTROL_FLOW,
                        "threads sort together, and each runs a loop, a branch or a function of elements by itself");
    if (!hlo_is_sort(i) || !plan_sort_fits(a, i, t)) plan_decline(cx, i);
    plan_decline_as(cx, i, WHY_SHAPE, "a kernel that sorts leaves elements of the results in their order, and nothing "
                                      "else that threads compute together");
}

/* Before any check of types: an operation that no emitter handles is the better reason, and any such operation is
 * better than a token. reduced: of the fusion's own computation, what threads compute together. */
static void check_operations(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t,
                             const bool *reduced, bool called)
{
    const HloInstruction *token = NULL;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        if (handled(i) || (i->opcode == HLO_SORT && reduced && reduced[i->id])) continue;
        if (i->opcode == HLO_SCATTER && !called && is_plain_scatter(cx, i)) continue;
        if (i->opcode == HLO_SORT) decline_sort(cx, a, i, t, called);
        if (i->opcode != HLO_AFTER_ALL) plan_decline(cx, i);
        token = i;
    }
    if (token) plan_decline(cx, token);
}

/* reduced: of the fusion's own computation, the reductions whose terms threads share; NULL: there are none.
 * limits: check what threads reduce, too */
static void check_body(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t, const bool *reduced,
                       bool called, bool limits)
{
    check_operations(cx, a, body, t, reduced, called);
    const int64_t *trips = NULL;
    const bool *hero = NULL;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        check_type(cx, a, i);
        const bool reduces = limits && hlo_kind(i->opcode) == HLO_IS_FOLD;
        if (reduces && !trips) trips = plan_trips(a, body), hero = heroes(a, body);
        if (reduces && !(reduced && reduced[i->id]))
            check_per_output(cx, a, i, trips_of(i, trips), i->opcode == HLO_REDUCE && hero[n], t);
        if (i->opcode == HLO_CONSTANT) check_constant(cx, i);
        else if (i->opcode == HLO_RNG_BIT_GENERATOR) check_random(cx, a, i);
        else if (i->opcode == HLO_BITCAST || i->opcode == HLO_BITCAST_CONVERT) check_bitcast(cx, i);
        else if (!has_emitter(i->opcode) && i->opcode != HLO_SORT && i->opcode != HLO_SCATTER)
            check_elementwise(cx, i, hlo_scalar(i->opcode));
    }
    if (trips && reduced) check_terms(cx, a, body, trips, t, reduced);
    else if (trips) check_total(cx, a, body, trips, t);
}

void plan_check(WbbCx *cx, WbbArena *a, const Plan *p, const TgTarget *t, bool limits)
{
    const HloComputation *body = p->fusion->body;
    bool *wanted = WBB_NEW_N(a, bool, body->id + 1);
    wanted[body->id] = true;
    for (uint32_t k = body->id + 1; k-- > 0;) { /* callers before callees */
        const HloComputation *c = k == body->id ? body : body->module->computations[k];
        if (!wanted[k]) continue;
        check_body(cx, a, c, t, c == body ? p->reduced : NULL, c != body, limits);
        for (uint32_t n = 0; n < c->n_instructions; n++)
            for (uint32_t j = 0; j < c->instructions[n]->n_called; j++)
                wanted[c->instructions[n]->called[j]->id] = true;
    }
}

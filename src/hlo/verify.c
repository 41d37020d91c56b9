/* verify: checks the shapes, types and calls of every instruction; infers the shapes that the text omits.
 *
 * Needs: a resolved HLO module. Leaves: a shape on every instruction; the first invalid instruction is a wbb_fail at
 * its location.
 *
 * Instructions are visited in the HLO module's order, so operands and called computations already have shapes. Each
 * operation has one function in a verify_*.c file, which checks the operands and states the result (hlo_set_result..).
 * verify_require.c holds the checks that those functions are made of.
 *
 *     x.hlo:4:18: error: add: operand 1 has shape f32[4], f32[8] expected
 */
#include "hlo/inner.h"

/* Calls the function that verifies the operation. */
static void dispatch(HloVerifier *v, HloInstruction *i)
{
    bool verified = hlo_verify_element(v, i) || hlo_verify_move(v, i) || hlo_verify_indexed(v, i) ||
                    hlo_verify_reduction(v, i) || hlo_verify_control(v, i) || hlo_verify_library(v, i) ||
                    hlo_verify_remote(v, i);
    assert(verified && "every operation has a function that verifies it");
    (void)verified;
    assert(i->shape);
}

static void verify_instruction(HloVerifier *v, HloInstruction *i)
{
    dispatch(v, i);
    i->alone = hlo_find_alone(v, i);
    if (i->opcode != HLO_ASYNC_START || !i->spelling) return;
    HloInstruction started = *i; /* negate-start(x) is verified as negate(x) too */
    started.opcode = hlo_started_opcode(i);
    started.shape = i->shape->elements[1];
    dispatch(v, &started);
    i->alone = hlo_find_alone(v, &started);
}

static void verify_module(WbbCx *cx, WbbArena *a, const HloModule *m, bool only_shapeless)
{
    HloVerifier v = {.cx = cx, .arena = a, .scratch = wbb_arena_new(cx),
                     .partitions = hlo_header_number(m, "num_partitions", 1),
                     .replicas = hlo_header_number(m, "replica_count", 1)};
    v.same.arena = v.laid.arena = v.scratch;
    uint64_t leaves = 0;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            HloInstruction *i = m->computations[c]->instructions[k];
            if (only_shapeless && i->shape) continue;
            verify_instruction(&v, i);
            leaves += i->shape->n_leaves;
            if (only_shapeless && leaves > HLO_INFERRED_LIMIT)
                hlo_invalid(&v, i, "the shapes that the text omits have more than %d arrays in all",
                            HLO_INFERRED_LIMIT);
        }
    wbb_arena_free(v.scratch);
}

void hlo_verify(WbbCx *cx, const HloModule *m) { verify_module(cx, cx->arena, m, false); }

void hlo_infer_shapes(WbbCx *cx, WbbArena *a, const HloModule *m) { verify_module(cx, a, m, true); }

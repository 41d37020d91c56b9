/* decline.c: why an operation cannot be code of a fusion: a reason of the closed list, and a sentence that says what
 * was seen.
 *
 * Needs a verified instruction that no emitter handles; does not return. Each opcode has a row, or is a custom-call, or
 * gets the last sentence; a unit test checks every opcode of gen/hlo_ops.py.
 *
 *     ROOT d = f32[8] sort(a), ..   =>   "x.hlo:5:3: declined: library: sort of f32[8]: a sort is the work of a .."
 */
#include "plan/plan.h"

typedef struct {
    HloOpcode opcode;
    WbbWhy why;
    const char *sentence;
} Row;

static const char gather_devices[] = "it exchanges data with other devices; a kernel works on one";
static const char moves_host[] = "it moves data from or to the host or another device, outside of any kernel";
static const char has_state[] = "it draws random numbers from a state that lives outside the fusion";
static const char jumps[] = "which instructions run is decided at run time";
static const char sizes[] = "the size of a dimension is known only at run time";
static const char waits[] = "it starts an operation that runs beside others, or waits for one";
static const char orders[] = "it orders effects, and code of a fusion has none";
static const char solver[] = "a solver works on whole matrices, step by step; a library does that";

static const Row rows[] = {
    {HLO_ADD_DEPENDENCY, WHY_EFFECT, orders},
    {HLO_AFTER_ALL, WHY_EFFECT, orders},
    {HLO_ALL_GATHER, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_GATHER_DONE, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_GATHER_START, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_REDUCE, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_REDUCE_DONE, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_REDUCE_START, WHY_COLLECTIVE, gather_devices},
    {HLO_ALL_TO_ALL, WHY_COLLECTIVE, gather_devices},
    {HLO_ASYNC_DONE, WHY_ASYNC, waits},
    {HLO_ASYNC_START, WHY_ASYNC, waits},
    {HLO_ASYNC_UPDATE, WHY_ASYNC, waits},
    {HLO_BATCH_NORM_GRAD, WHY_OPERATION, "normalisation should have expanded it"},
    {HLO_BATCH_NORM_INFERENCE, WHY_OPERATION, "normalisation should have expanded it"},
    {HLO_BATCH_NORM_TRAINING, WHY_OPERATION, "normalisation should have expanded it"},
    {HLO_CALL, WHY_SIZE, "with all calls inlined the module would be too large"},
    {HLO_CHOLESKY, WHY_LIBRARY, solver},
    {HLO_COLLECTIVE_BROADCAST, WHY_COLLECTIVE, gather_devices},
    {HLO_COLLECTIVE_PERMUTE, WHY_COLLECTIVE, gather_devices},
    {HLO_COLLECTIVE_PERMUTE_DONE, WHY_COLLECTIVE, gather_devices},
    {HLO_COLLECTIVE_PERMUTE_START, WHY_COLLECTIVE, gather_devices},
    {HLO_CONDITIONAL, WHY_CONTROL_FLOW, jumps},
    {HLO_CONVOLUTION, WHY_LIBRARY, "a convolution between fusions is left to a library with kernels for its shapes"},
    {HLO_COPY_DONE, WHY_ASYNC, waits},
    {HLO_COPY_START, WHY_ASYNC, waits},
    {HLO_DOMAIN, WHY_EFFECT, orders},
    {HLO_DOT, WHY_LIBRARY, "a matrix product between fusions is left to a library with kernels for its shapes"},
    {HLO_DYNAMIC_RESHAPE, WHY_DYNAMIC, sizes},
    {HLO_FFT, WHY_LIBRARY, "a Fourier transform is the work of a library with kernels for its lengths"},
    {HLO_FUSION, WHY_SIZE, "with all fusions in it inlined the fusion would be too large"},
    {HLO_GET_DIMENSION_SIZE, WHY_DYNAMIC, sizes},
    {HLO_INFEED, WHY_TRANSFER, moves_host},
    {HLO_OPT_BARRIER, WHY_EFFECT, orders},
    {HLO_OUTFEED, WHY_TRANSFER, moves_host},
    {HLO_PARTITION_ID, WHY_COLLECTIVE, "each device learns its value at run time"},
    {HLO_RAGGED_ALL_TO_ALL, WHY_COLLECTIVE, gather_devices},
    {HLO_RAGGED_DOT, WHY_LIBRARY, "a matrix product is the work of a library with kernels for its shapes"},
    {HLO_RECV, WHY_TRANSFER, moves_host},
    {HLO_RECV_DONE, WHY_TRANSFER, moves_host},
    {HLO_REDUCE_SCATTER, WHY_COLLECTIVE, gather_devices},
    {HLO_REPLICA_ID, WHY_COLLECTIVE, "each device learns its value at run time"},
    {HLO_RNG, WHY_RANDOM, has_state},
    {HLO_RNG_BIT_GENERATOR, WHY_RANDOM, "it starts beside other operations"},
    {HLO_RNG_GET_AND_UPDATE_STATE, WHY_RANDOM, has_state},
    {HLO_SCALED_DOT, WHY_LIBRARY, "a matrix product is the work of a library with kernels for its shapes"},
    {HLO_SCAN, WHY_REDUCTION, "each of its elements needs the one before it"},
    {HLO_SCATTER, WHY_SCATTER, "where it writes is known only at run time"},
    {HLO_SELECT_AND_SCATTER, WHY_SCATTER, "where it writes is known only at run time"},
    {HLO_SEND, WHY_TRANSFER, moves_host},
    {HLO_SEND_DONE, WHY_TRANSFER, moves_host},
    {HLO_SET_DIMENSION_SIZE, WHY_DYNAMIC, sizes},
    {HLO_SORT, WHY_LIBRARY, "a sort of more operands than 64, or of more bytes than a block holds twice, is left to a library"},
    {HLO_STOCHASTIC_CONVERT, WHY_OPERATION, "no rule says how it rounds"},
    {HLO_TOPK, WHY_LIBRARY, "complex numbers have no order by which one is the largest"},
    {HLO_TRIANGULAR_SOLVE, WHY_LIBRARY, solver},
    {HLO_WHILE, WHY_CONTROL_FLOW, jumps},
};

/* " of f32[64,128], f32[128,32]"; the many operands of a collective would drown the message. */
static const char *operands(WbbCx *cx, const HloInstruction *i)
{
    WbbBuf b = wbb_buf(cx->arena);
    for (uint32_t k = 0; k < i->n_operands && k < 3; k++) {
        const HloShape *s = i->operands[k]->shape;
        wbb_put(&b, k ? ", " : " of ");
        if (s->n_leaves > 4) wbb_putf(&b, "a tuple of %u arrays", s->n_leaves);
        else hlo_print_shape(&b, s);
    }
    if (i->n_operands > 3) wbb_putf(&b, " and %u more", i->n_operands - 3);
    return b.text;
}

void part_decline_as(WbbCx *cx, const HloInstruction *i, WbbWhy why, const char *sentence)
{
    const char *name = i->spelling ? i->spelling : hlo_opcode_name(i->opcode);
    wbb_decline(cx, i->loc, why, "%s%s: %s", name, operands(cx, i), sentence);
}

void part_decline(WbbCx *cx, const HloInstruction *i)
{
    if (i->opcode == HLO_CUSTOM_CALL)
        wbb_decline(cx, i->loc, WHY_LIBRARY, "custom-call of '%s'%s: its code is not in the text",
                    i->target ? i->target : "", operands(cx, i));
    for (size_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].opcode == i->opcode) part_decline_as(cx, i, rows[k].why, rows[k].sentence);
    part_decline_as(cx, i, WHY_OPERATION, "no scalar operation has this meaning");
}

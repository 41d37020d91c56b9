/* library.c: the time of a library call, by the roofline.
 *
 * Needs the text of a call, whose entry has it and what it adds to its results, and a target. Leaves the longer of two
 * times, and a launch: to read and write its arrays once at the rate of device memory, and to multiply at the share of
 * the machine's peak that libraries reach. Operations other than dots, convolutions and calls of cuBLAS have the first
 * alone.
 *
 *     f16[4096,4096] dot(f16[4096,4096], f16[4096,4096])   ->   2^36 products at 0.7 of 5.4e14 a second: 182 us
 */
#include "pipe/pipe.h"

/* Products that an instruction sums. */
static double products(WbbArena *a, const HloInstruction *i)
{
    if (hlo_is_cublas(i)) return hlo_cublas_products(i);
    return hlo_has(i->opcode, HLO_PRODUCTS) ? (double)hlo_elements(i->shape) * hlo_terms(a, i) : 0;
}

/* Products a second on all SMs; a complex one is four. */
static double rate(const TgTarget *t, ScType type)
{
    const double clocks = (double)t->sms * tg_rate(t, "clock")->value;
    const double reached = tg_rate(t, "product.reached")->value * clocks;
    switch (type) {
    case SC_F16:
    case SC_BF16: return tg_rate(t, "product.half")->value * reached;
    case SC_F64: return tg_rate(t, "product.f64")->value * reached;
    case SC_C128: return tg_rate(t, "product.f64")->value * reached / 4;
    case SC_C64: return tg_rate(t, "pipe.fma")->value * reached / 4;
    default: return tg_rate(t, "pipe.fma")->value * reached;
    }
}

double pipe_product_seconds(WbbArena *a, const TgTarget *t, const HloComputation *call)
{
    double sum = 0;
    for (uint32_t k = 0; k < call->n_instructions; k++) {
        const HloInstruction *i = call->instructions[k];
        const double n = products(a, i);
        sum += n > 0 ? n / rate(t, i->operands[0]->shape->type) : 0;
    }
    return sum;
}

uint64_t pipe_call_bytes(const HloComputation *call)
{
    uint64_t sum = hlo_bytes(hlo_is_cublas(call->root) ? hlo_cublas_result(call->root) : call->root->shape);
    for (uint32_t k = 0; k < call->n_parameters; k++) sum += hlo_bytes(call->parameters[k]->shape);
    return sum;
}

double pipe_call_seconds(WbbArena *a, const TgTarget *t, const HloComputation *call)
{
    const double memory = (double)pipe_call_bytes(call) / tg_rate(t, "dram")->value;
    return tg_rate(t, "launch")->value + WBB_MAX(pipe_product_seconds(a, t, call), memory);
}

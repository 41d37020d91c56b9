/* cublas.c: custom calls of cuBLAS, as XLA:GPU's passes leave them.
 *
 * Needs: a parsed instruction. Leaves: what its shapes say of the product. Two matrices are multiplied, or batches of
 * them; a third operand is added. The result is a tuple with the call's workspace behind it, which has no meaning and
 * moves no bytes. Which dimensions are contracted is in the configuration of the call, which dumps may leave out; how
 * many products there are follows from the sizes: |x| |y| |z| = (M K)(K N)(M N) batch^3.
 *
 *     (f32[64,8], s8[4096]) custom-call(f32[64,32], f32[32,8]), custom_call_target="__cublas$lt$matmul"
 *         64 x 8 results of sqrt(64 32 x 32 8 / (64 8)) = 32 products each
 */
#include "hlo/hlo.h"

#include <math.h>
#include <string.h>

bool hlo_is_cublas(const HloInstruction *i)
{
    static const char *const targets[] = {"__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8"};
    bool known = false;
    for (size_t k = 0; k < WBB_LEN(targets); k++)
        known = known || (i->opcode == HLO_CUSTOM_CALL && i->target && !strcmp(i->target, targets[k]));
    return known && i->n_operands >= 2 && hlo_cublas_result(i)->type != SC_TUPLE;
}

const HloShape *hlo_cublas_result(const HloInstruction *i)
{
    return i->shape->type == SC_TUPLE && i->shape->n_elements ? i->shape->elements[0] : i->shape;
}

double hlo_cublas_products(const HloInstruction *i)
{
    const HloShape *x = i->operands[0]->shape, *y = i->operands[1]->shape, *z = hlo_cublas_result(i);
    if (x->type == SC_TUPLE || y->type == SC_TUPLE || !hlo_elements(z)) return 0;
    double batch = 1;
    for (int d = 0; d + 2 < z->rank; d++) batch *= (double)z->dims[d];
    return sqrt((double)hlo_elements(x) * (double)hlo_elements(y) * (double)hlo_elements(z) / batch);
}

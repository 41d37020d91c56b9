/* product.h: a dot of a program as a product of matrices, or batches of them.
 *
 *     GpuProduct p;
 *     if (prog_product(arena, dot, values, &p)) ..      // z = x y, or with p.exchanged y and x
 */
#ifndef PROG_PRODUCT_H
#define PROG_PRODUCT_H

#include "gpu/blas.h"
#include "hlo/hlo.h"
#include "program/program.h"

/* values: of the left operand, the right one and the result, with their orders of dimensions. *exchanged: x of the
 * product is the right operand. False: it is none, or cuBLAS has it not. */
bool prog_product(WbbArena *a, const HloInstruction *dot, const ProgValue *const values[3], GpuProduct *p,
                  bool *exchanged);

/* May cuBLASLt add to it what the epilogue does? z: the result; residual and bias: NULL where there are none. */
bool prog_adds(const GpuProduct *p, const ProgValue *z, const HloEpilogue *e, const ProgValue *residual,
               const ProgValue *bias, bool exchanged);

#endif

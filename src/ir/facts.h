/* facts.h: the transfer functions of index facts, for facts.c and its test, and the integer arithmetic that rewrite/
 * and index/ share with them. */
#ifndef IR_FACTS_H
#define IR_FACTS_H

#include "ir/ir.h"

static inline uint64_t ir_gcd(uint64_t x, uint64_t y) /* of 0 and y: y */
{
    while (y) {
        const uint64_t t = x % y;
        x = y;
        y = t;
    }
    return x;
}
static inline WbbI128 ir_floor_div(WbbI128 x, WbbI128 k) { return x / k - (x % k < 0); } /* k > 0 */

IrFact ir_constant_fact(int64_t value);
IrFact ir_plus_fact(IrFact sum, int64_t coefficient, IrFact x); /* sum + coefficient * x */
IrFact ir_mul_fact(IrFact x, IrFact y);
IrFact ir_floordiv_fact(IrFact x, IrFact y); /* y is positive, even if that is not known */
IrFact ir_mod_fact(IrFact x, IrFact y);
IrFact ir_min_fact(IrFact x, IrFact y);
IrFact ir_max_fact(IrFact x, IrFact y);

#endif

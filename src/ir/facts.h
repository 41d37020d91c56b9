/* facts.h: transfer functions of index facts, for the files of facts; nothing outside this room includes it, but its test. */
#ifndef IR_FACTS_H
#define IR_FACTS_H

#include "ir/ir.h"

IrFact ir_constant_fact(int64_t value);
IrFact ir_plus_fact(IrFact sum, int64_t coefficient, IrFact x); /* sum + coefficient * x */
IrFact ir_mul_fact(IrFact x, IrFact y);
IrFact ir_floordiv_fact(IrFact x, IrFact y); /* y is positive, whatever is known of it */
IrFact ir_mod_fact(IrFact x, IrFact y);
IrFact ir_min_fact(IrFact x, IrFact y);
IrFact ir_max_fact(IrFact x, IrFact y);

#endif

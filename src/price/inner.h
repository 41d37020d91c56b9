/* What the files of price/ share. */
#ifndef PRICE_INNER_H
#define PRICE_INNER_H

#include "price/price.h"

/* machine.c: replaces the issue slots and pipe clocks of all sites by those of the machine code; `rest`: what belongs
 * to no line, executed by all warps of the grid. */
void price_machine_code(WbbArena *a, const PriceKernel *k, PriceReport *r, double warps, double rest[PRICE_TERMS]);

#endif

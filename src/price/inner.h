/* What the files of price/ share. */
#ifndef PRICE_INNER_H
#define PRICE_INNER_H

#include "price/price.h"

/* machine.c: replaces the issue slots and pipe clocks of all sites by those of the machine code; `rest`: what belongs
 * to no line, executed by all warps of the grid. */
void price_machine_code(WbbArena *a, const PriceKernel *k, PriceReport *r, double warps, double rest[PRICE_TERMS]);

/* ahead.c: iterations of the loop of lines first..last of the PTX whose loads are issued before one is waited for. */
double price_ahead(const PriceKernel *k, uint32_t first, uint32_t last);

#endif

/* product_rows.h: statistics of rows of a product's results, by the lanes that have these, their warps, and blocks. */
#ifndef EMIT_PRODUCT_ROWS_H
#define EMIT_PRODUCT_ROWS_H

#include "emit/row_statistics.h"

typedef struct {
    const EmitProduct *m;
    EmitRows of;
    uint32_t parts, shared; /* buffers: of blocks, of warps */
    EmitTickets tickets;
    IrRef **acc; /* [statistics][rows] what the block has of them */
} EmitProductRows;

/* The buffers in memory, then that in shared memory. last: through which blocks say who is the last one. */
void emit_product_rows_in_memory(EmitProductRows *t, const EmitProduct *m);
void emit_product_rows_shared(EmitProductRows *t, uint32_t last);
/* Combines what the block has of rows, and gives what is known then; outputs of rows, where it is the last block. */
void emit_product_rows(EmitProductRows *t, const IrRef *sums);
void emit_product_rows_store(EmitProductRows *t);

#endif

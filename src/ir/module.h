/* module.h: what the text of a kernel has besides statements, for the modules that write it: names, tables, buffers. */
#ifndef IR_MODULE_H
#define IR_MODULE_H

#include "ir/ir.h"

void ir_check_name(WbbCx *cx, const IrKernel *k); /* fails where the kernel's is no identifier of PTX */
/* The name in the module of a table, shared array or function of the kernel: the kernel's name comes first. */
const char *ir_module_name(WbbArena *a, const IrKernel *k, const char *own);
/* The bytes of a table in memory, *n of them: elements narrower than a byte are packed, low bits first. */
const uint8_t *ir_table_bytes(WbbArena *a, const IrBuffer *table, size_t *n);
bool *ir_constant_buffers(WbbArena *a, const IrKernel *k); /* by buffer: nothing changes it while the kernel runs */
/* The largest power of two up to the buffer's alignment that divides its size, both in bytes: an access that reads
 * whole aligned words where it needs parts of them stays inside. One element alone has no other part. */
uint32_t ir_word_align(const IrBuffer *b);

#endif

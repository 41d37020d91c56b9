/* vector: loops over lanes become vectors, and index arithmetic gets its width.
 *
 * Needs a kernel after `lower`; leaves straight code on packed elements, accesses as wide as divisibility allows, and
 * 32-bit index arithmetic wherever that is proved to be enough.
 *
 *     VecAccesses accesses = vec_vectorize(rw, kernel, target->vector_bytes);
 *     vec_rare(kernel, limits);
 *     vec_carry(rw, kernel, registers);
 *     vec_balance(kernel);
 *     vec_width(kernel);
 *     (instruction selection)
 *     vec_accesses(kernel, tables, target->vector_bytes, target->sms);
 */
#ifndef VEC_VECTOR_H
#define VEC_VECTOR_H

#include "ir/ir.h"
#include "rewrite/rewrite.h"

/* An access that vectorising made. */
typedef struct {
    uint32_t buffer;
    bool store;
    uint32_t lanes, count; /* elements of one access; how many such accesses a thread makes */
    const char *why;       /* for messages: what stopped it from being twice as wide */
} VecAccess;

typedef struct {
    VecAccess *items;
    uint32_t n, capacity;
} VecAccesses;

/* vectorize.c: makes straight code of every `for .. lanes`, and lists the accesses, which live as long as the graph. */
VecAccesses vec_vectorize(RwCx *rw, IrKernel *k, uint32_t vector_bytes);
/* rare.c: makes branches of the selects with the flag `rare`. */
typedef struct {
    uint32_t least, most; /* selects that share one */
    bool in_turn; /* those of one element after those of the element before: registers do not hold all together */
} VecBranches;
void vec_rare(IrKernel *k, VecBranches limits);
/* What a select with that flag becomes where it has no branch. */
IrRef vec_long_way(const IrGraph *g, IrRef r);
/* carry.c: loops load for the iteration after, where so many registers of a thread hold that. */
void vec_carry(RwCx *rw, IrKernel *k, uint32_t registers);
/* balance.c: gives comparisons of a sum with 0 two sides. */
void vec_balance(IrKernel *k);
/* width.c: marks the index nodes that need 64 bits. */
void vec_width(IrKernel *k);
/* accesses.c: joins loads of neighbours; of a selected kernel for a target with so many SMs. */
void vec_accesses(IrKernel *k, const RwTables *t, uint32_t vector_bytes, uint32_t sms);

#endif

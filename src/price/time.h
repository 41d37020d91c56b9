/* time: how terms become the time of a kernel, and how many of its blocks an SM holds.
 *
 * The closed form of a layout (layout/price.c) and the profile of a kernel (report.c) count its work differently:
 * one from maps and estimates before there is code, one from what the simulator and ptxas say. What they do with the
 * work is here, and only here; docs/time.md says it in words.
 *
 *     work -> terms (seconds that it would take if one thing alone bounded it) -> time
 */
#ifndef PRICE_TIME_H
#define PRICE_TIME_H

#include "target/target.h"

/* occupancy.c */
typedef struct {
    uint32_t blocks, warps; /* that an SM holds at a time; `warps` are those of `blocks` */
    uint32_t most;          /* warps that it can hold */
    const char *limit; /* what the number of blocks is bounded by: "warps", "blocks", "shared memory", "registers" */
    uint64_t together;      /* blocks that the GPU holds at a time */
    double waves;           /* the grid's blocks over these, at least 1 */
} PriceOccupancy;
/* regs: of a thread, 0: not known; shared: bytes of a block. At least one block: ptxas or the driver refuse what does
 * not fit. */
PriceOccupancy price_occupancy(const TgTarget *t, uint64_t threads, uint64_t grid, uint64_t regs, uint64_t shared);
bool price_fits(const TgTarget *t, uint64_t blocks, uint64_t threads, uint64_t regs, uint64_t shared); /* at a time */
/* Registers that each thread may have where an SM is to hold one block of so many. */
uint32_t price_most_registers(const TgTarget *t, uint64_t threads);

/* time.c: the terms that overlap take together the root of the sum of their powers: of the norm 3, two equal terms take
 * 1.26 of one. Its powers and roots are made of operations that IEEE 754 rounds correctly, so that a price has the same
 * bits on every machine. */
enum { PRICE_LEAST_NORM = 2, PRICE_MOST_NORM = 4 };
double price_power(double x, int norm);
double price_together(const double *terms, size_t n, int norm);

/* What an SM that has a block more than others takes longer: as long as its busiest term takes for its part of a
 * block, at most a block's chain. each: blocks of an SM, in the mean. */
double price_tail(double busiest, double each, double chain);

/* Stores of parts of sectors. Does a store reach DRAM in parts? A request of a warp touches so many sectors, each of
 * which `times` requests store; of few sectors L2 has the other parts before the first is written. */
typedef struct {
    double times, bytes; /* of which there must be more: parts.times, of 1, and parts.bytes of a request */
    double more;         /* of the DRAM time of a store, that it takes beside it then: layout.parts, of 1 */
} PriceParts;
PriceParts price_parts(const TgTarget *t);
double price_l2_kept(const TgTarget *t); /* bytes that all blocks may touch before L2 has lost a sector: price.l2 */
static inline bool price_in_parts(const PriceParts *p, double times, double sectors)
{
    return times > p->times && sectors * TG_SECTOR > p->bytes;
}

/* A time in any unit. */
typedef struct {
    double together; /* of the terms that overlap */
    double blocks;   /* until the last block has started: while others work */
    double launch, latency, code, split, tail, clusters; /* beside these, one after the other */
} PriceTime;
static inline double price_work(const PriceTime *t) { return WBB_MAX(t->together, t->blocks); }
double price_time(const PriceTime *t);

#endif

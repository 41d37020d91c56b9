/* rates.h: the numbers of a target that prices of layouts are made of, read once for many prices. */
#ifndef LAY_RATES_H
#define LAY_RATES_H

#include "layout/pricing.h"
#include "price/time.h"

enum { LAY_RUNS = 5 };

/* Machine instructions for each of what there is. */
typedef struct {
    double rate; /* bytes of machine code that come to an SM in a clock */
    double access, mask, term, combine, shuffle, store; /* an access, a mask of one, slots of terms, .. */
    double carried; /* a word that a loop carries */
    double array, digit, warps, split; /* the address of an array; a digit of a number; what sharing adds, .. */
    double repeated; /* instructions up to which the assembler repeats a loop's */
} LayCode;

/* What timed layouts say of the terms of kernels whose threads share terms. */
typedef struct {
    double stay;            /* bytes of an array that L1 keeps from block to block */
    double again;           /* the part of the place of bytes on their way that those take which L2 has */
    double repeat;          /* iterations of a loop that are one for the assembler */
    double ticket;          /* microseconds, each time SMs are filled */
    double l2, issue, pipe, code, tail; /* parts of these terms */
} LayTimed;

struct LayRates {
    const TgTarget *target;
    double clock, dram, l2, l2_kept, launch, wavefront, fill, in_flight, issue, shuffle, lsu; /* clock: of 1 us */
    double alu, l1_latency, l2_latency, dram_latency, shared_latency, shuffle_latency, barrier, atomic, cluster_latency;
    double redux, redux_latency; /* where the target has it */
    double access_slots, address_slots, thread_slots, iteration_slots, mask_slots, exchange_mask, packed_slots;
    double thread_chain, presence_chain; /* operations that follow each other */
    double base_regs, transient, fence;
    double l1_bytes;             /* of an SM that is not shared memory */
    double run[LAY_RUNS], warp_run[LAY_RUNS]; /* of the DRAM rate, for runs of 32, 64, .. bytes */
    LayCode code;
    LayTimed timed;
    double blocks;               /* that begin in a clock, over all SMs */
    double atomics;              /* sectors that L2 updates in a clock */
    PriceParts parts;
    int norm, norm_together, norm_apart; /* in which terms add up: price.norm */
    double cluster, few_warps, few_latency, busy_warps, few_blocks; /* cluster: microseconds */
};

#endif

/* counts.h: what a layout amounts to, and what a thread of it accesses: numbers that prices and estimates share.
 *
 *     rows f32[8192,1024], columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *       =>  blocks 1024, warps 8, terms 32, lanes 32
 */
#ifndef PART_COUNTS_H
#define PART_COUNTS_H

#include "partition/rates.h"

/* What a layout amounts to. */
typedef struct {
    double blocks, threads, warps;
    double kept, terms, loop;               /* of a thread: results, terms of each in an iteration, iterations */
    double rows;                            /* iterations of a loop of kept dimensions, around all stages */
    double lanes, reduced_warps, splits;    /* that share a result */
    double cluster;                         /* of the splits, those of a cluster */
    double kept_lanes, kept_warps;
    double masked;       /* accesses of an iteration that a mask guards, of all, .. */
    double masked_terms; /* .. where kept dimensions guard results alone, and not outputs of the terms' shape */
    PartHanding hand; /* what warps have (emit/share_exchange.c) */
} PartCounts;

double part_ceiling(double x);

/* estimate.c. sizes: of the levels of each dimension of the work's space, [n_dims * PART_LEVELS]. */
PartCounts part_counts(const PartWork *w, const int64_t *sizes);
double part_partial_words(const PartWork *w); /* of 32 bits, of a partial result */
double part_accessed(const PartWork *w, const PartAccess *x, const int64_t *sizes); /* elements, of an iteration */
double part_width(const PartWork *w, const PartAccess *x, const int64_t *sizes, const TgTarget *t); /* of an access */
bool part_of_each_element(const PartWork *w, const PartAccess *x); /* does it vary along reduced dimensions? */

#endif

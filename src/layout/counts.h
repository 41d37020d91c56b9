/* counts.h: what a layout amounts to, and what a thread of it accesses: numbers that prices and estimates share.
 *
 *     rows f32[8192,1024], columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *       =>  blocks 1024, warps 8, terms 32, lanes 32
 */
#ifndef PART_COUNTS_H
#define PART_COUNTS_H

#include "layout/rates.h"

static inline double part_ceiling(double x)
{
    const double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* Do threads share the terms of reductions? Then the numbers hold that were fitted to measured times of such. */
static inline bool part_shares(const PartWork *w) { return w->reductions || w->scan; }

/* estimate.c. sizes: of the levels of each dimension of the work's space, [n_dims * PART_LEVELS]. */
PartCounts part_counts(const PartWork *w, const int64_t *sizes);
double part_partial_words(const PartWork *w); /* of 32 bits, of a partial result */
double part_narrow(const PartWork *w); /* values of it under 32 bits, which become words before each shuffle */
/* Preds that say whether there is a term, of a partial result; what combining takes more because of them: selects of
 * each value by either one, and making it a word and a pred again. */
double part_presence(const PartWork *w, const PartCounts *c);
double part_presence_slots(const PartWork *w, const PartCounts *c);
double part_accessed(const PartWork *w, const PartAccess *x, const int64_t *sizes); /* elements, of an iteration */
double part_width(const PartWork *w, const PartAccess *x, const int64_t *sizes, const TgTarget *t); /* of an access */
/* Neighbours in memory that a thread has in its registers, if no other thread has any between them; else 1. */
double part_neighbours(const PartWork *w, const PartAccess *x, const int64_t *sizes);
bool part_of_each_element(const PartWork *w, const PartAccess *x); /* does it vary along reduced dimensions? */

/* Issue slots and clocks of the busiest pipe for the terms of a thread, in an iteration. */
typedef struct {
    double slots, clocks;
} PartTerms;
PartTerms part_terms(const PartWork *w, const PartCounts *c, const int64_t *sizes);

/* How many of the warps, or of the blocks, come to positions at which a load is needed: where lanes differ in it all of
 * them issue it. */
double part_seen(const PartWork *w, const PartAccess *x, const int64_t *sizes, bool of_block);

/* What a warp issues for terms, whose lanes may need different operands of a concatenate, over what each of its threads
 * needs: where halves of a row are of one warp, both. */
double part_divergence(const PartWork *w, const int64_t *sizes);

#endif

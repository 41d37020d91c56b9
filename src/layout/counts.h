/* counts.h: what a layout amounts to, and what a thread of it accesses: numbers that prices and estimates share.
 *
 *     rows f32[8192,1024], columns: vector 4, lane 32, register 8; rows: warp 8, grid 1024
 *       =>  blocks 1024, warps 8, terms 32, lanes 32
 */
#ifndef LAY_COUNTS_H
#define LAY_COUNTS_H

#include "layout/rates.h"

static inline double lay_ceiling(double x)
{
    const double whole = (double)(int64_t)x;
    return whole < x ? whole + 1 : whole;
}

/* Do threads share the terms of reductions? Then the numbers hold that were fitted to measured times of such. */
static inline bool lay_shares(const LayWork *w) { return w->reductions || w->scan; }

/* estimate.c. sizes: of the levels of each dimension of the work's space, [n_dims * LAY_LEVELS]. */
LayCounts lay_counts(const LayWork *w, const int64_t *sizes);
double lay_partial_words(const LayWork *w); /* of 32 bits, of a partial result */
double lay_narrow(const LayWork *w); /* values of it under 32 bits, which become words before each shuffle */
/* Preds that say whether there is a term, of a partial result; what combining takes more because of them: selects of
 * each value by either one, and making it a word and a pred again. */
double lay_presence(const LayWork *w, const LayCounts *c);
double lay_presence_slots(const LayWork *w, const LayCounts *c);
double lay_accessed(const LayWork *w, const LayAccess *x, const int64_t *sizes); /* elements, of an iteration */
double lay_width(const LayWork *w, const LayAccess *x, const int64_t *sizes, const TgTarget *t); /* of an access */
/* Neighbours in memory that a thread has in its registers, if no other thread has any between them; else 1. */
double lay_neighbours(const LayWork *w, const LayAccess *x, const int64_t *sizes);
bool lay_of_each_element(const LayWork *w, const LayAccess *x); /* does it vary along reduced dimensions? */

/* Issue slots and clocks of the busiest pipe for the terms of a thread, in an iteration. */
typedef struct {
    double slots, clocks;
} LayTerms;
LayTerms lay_terms(const LayWork *w, const LayCounts *c, const int64_t *sizes);

/* How many of the warps, or of the blocks, come to positions at which a load is needed: where lanes differ in it all of
 * them issue it. */
double lay_seen(const LayWork *w, const LayAccess *x, const int64_t *sizes, bool of_block);

/* What a warp issues for terms, whose lanes may need different operands of a concatenate, over what each of its threads
 * needs: where halves of a row are of one warp, both. */
double lay_divergence(const LayWork *w, const int64_t *sizes);

#endif

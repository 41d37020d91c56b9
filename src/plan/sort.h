/* sort.h: the kernels of a sort.
 *
 *     if (part_sort_fits(arena, hero, target)) part_sort(cx, arena, plan, range, target);
 */
#ifndef PART_SORT_H
#define PART_SORT_H

#include "plan/work.h"

enum { PART_SORT_BITS = 4 }; /* of PartSort, at most: of words */

/* sort.c: the kernels of a range that is a sort. */
void part_sort(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *r, const TgTarget *t);
/* Does a block hold any two elements? */
bool part_sort_fits(WbbArena *a, const HloInstruction *i, const TgTarget *t);
void part_print_sort(WbbBuf *out, const PartSort *s);
/* sort_choice.c: bytes of an element in the memory of a block; places of a launch's block, and its threads. */
int64_t part_sort_bytes(const PartSort *s);
int64_t part_sort_places(const PartSort *s);
int64_t part_sort_threads(const PartSort *s, const TgTarget *t);
/* Of so many places of a row that a block sorts, a power of two, the first ones that are needed: a power of two. */
int64_t part_sort_kept(const PartSort *s, int64_t places);
/* Sets the numbers of all launches, by price, and that of one in the mean; false: no block can have it. */
bool part_sort_choose(WbbArena *a, const TgTarget *t, PartSort *s, PartPrice *price_of_launch);
/* sort_word.c: sets what the elements are where their order is that of one number. */
void part_sort_word(PartSort *s);
bool part_sort_word_tells(const PartSort *s, uint32_t operand); /* does the word say what its element is? */

#endif

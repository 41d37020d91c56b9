/* sort.h: the kernels of a sort.
 *
 *     if (plan_sort_fits(arena, hero, target)) plan_sort(cx, arena, plan, range, target);
 */
#ifndef PLAN_SORT_H
#define PLAN_SORT_H

#include "plan/work.h"

enum { PLAN_SORT_BITS = 4 }; /* of PlanSort, at most: of words */

/* sort.c: the kernels of a range that is a sort. */
void plan_sort(WbbCx *cx, WbbArena *a, Plan *p, const PlanRange *r, const TgTarget *t);
/* Does a block hold any two elements? */
bool plan_sort_fits(WbbArena *a, const HloInstruction *i, const TgTarget *t);
void plan_print_sort(WbbBuf *out, const PlanSort *s);
/* sort_choice.c: bytes of an element in the memory of a block; places of a launch's block, and its threads. */
int64_t plan_sort_bytes(const PlanSort *s);
int64_t plan_sort_places(const PlanSort *s);
int64_t plan_sort_threads(const PlanSort *s, const TgTarget *t);
/* Of so many places of a row that a block sorts, a power of two, the first ones that are needed: a power of two. */
int64_t plan_sort_kept(const PlanSort *s, int64_t places);
/* Sets the numbers of all launches, by price, and that of one in the mean; false: no block can have it. */
bool plan_sort_choose(WbbArena *a, const TgTarget *t, PlanSort *s, LayPrice *price_of_launch);
/* sort_word.c: sets what the elements are where their order is that of one number. */
void plan_sort_word(PlanSort *s);
bool plan_sort_word_tells(const PlanSort *s, uint32_t operand); /* does the word say what its element is? */

#endif

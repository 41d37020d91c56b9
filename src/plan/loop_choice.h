/* loop_choice: the numbers of the launch ranges of a kernel, whose stages loop over elements.
 *
 *     loop_choice.c    the threads of a block, the blocks; a layout that was given
 *     loop_numbers.c   numbers, where they have no price, and their layout
 *     loop_layout.c    layouts by price
 */
#ifndef PART_LOOP_CHOICE_H
#define PART_LOOP_CHOICE_H

#include "plan/exchange.h"

/* The numbers of the stage of a range. */
typedef struct {
    PartRange *r;
    PartStage *s;
    uint32_t vector;       /* elements */
    uint32_t registers;    /* vectors of a thread, a block's threads apart: neighbouring threads' are neighbours */
    int64_t vectors, tail; /* tail: threads */
    bool spread;           /* neighbouring elements are those of neighbouring lanes, registers are within a warp */
    bool varies;           /* vector, registers and block are by price */
} PartLoopChoice;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const PartPlan *p;
    PartKernel *k;
    const TgTarget *t;
    PartLoopChoice *choices;  /* [n_ranges] */
    int64_t elements; /* of all ranges */
    const bool *needed; /* by id: an output of the kernel needs it */
    const bool *read;   /* [operands of the plan]: so it does this one */
    int64_t trips;      /* iterations of loops that an element takes, at most */
} PartChoosing;

/* loop_numbers.c: as many elements a thread as accesses, edges and rows allow, if there are enough threads. */
void part_choose_vector(PartChoosing *c, PartLoopChoice *x);
void part_count_vectors(PartLoopChoice *x);
uint32_t part_bytes_an_element(const PartChoosing *c, const PartLoopChoice *x); /* of what is no broadcast */
/* Bits of the narrowest buffer, bytes of the widest. */
void part_width_of_buffers(const PartChoosing *c, const PartStage *s, uint32_t *narrow, uint32_t *wide);
uint32_t part_group_of_outputs(const PartChoosing *c, const PartLoopChoice *x); /* elements that share a byte */
int64_t part_minor_row(const HloShape *space); /* along the minor dimension that has more than one element */

/* The threads of a block, `times` the usual number. */
void part_choose_block(PartChoosing *c, uint32_t times);
int64_t part_row_threads(const PartLoopChoice *x); /* 0: it has one row, or a thread may have elements of two */
bool part_may_have_registers(const PartChoosing *c, const PartLoopChoice *x);
/* May a thread have so many vectors? */
bool part_registers_fit(const PartChoosing *c, const PartLoopChoice *x, uint32_t n);
/* Of an element; branch: of what becomes one. */
int64_t part_loop_slots(const PartChoosing *c, const PartLoopChoice *x, int64_t branch);
PartLayout part_loop_layout(const PartChoosing *c, const PartLoopChoice *x);
extern const char part_why_row[];
int64_t part_loop_block(const PartLayout *l); /* elements that a block has at once */
/* n vectors of a thread so many elements apart. */
PartLayout part_rows_layout(WbbArena *a, const PartLayout *near, int64_t n, int64_t apart);

/* loop_layout.c: the layout of the only range of a kernel, by price; sets its numbers, and the block. */
void part_choose_loop(PartChoosing *c, PartLoopChoice *x);

/* loop_windows.c: do elements of neighbouring rows need the same ones of an array? */
bool part_has_windows(const PartWork *w);
/* May a thread have n vectors of so many elements in neighbouring rows, of which a block has one each? */
bool part_windows_fit(const PartWork *w, const PartExchange *x, const PartLoopChoice *c, uint32_t vector, int64_t n);
PartLayout part_window_layout(WbbArena *a, const PartLayout *near, const TgTarget *t, const HloShape *space,
                              int64_t vector, int64_t n);
#endif

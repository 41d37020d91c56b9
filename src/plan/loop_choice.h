/* loop_choice: the numbers of the launch ranges of a kernel, whose stages loop over elements.
 *
 *     loop_choice.c    the threads of a block, the blocks; a layout that was given
 *     loop_numbers.c   numbers, where they have no price, and their layout
 *     loop_layout.c    layouts by price
 */
#ifndef PLAN_LOOP_CHOICE_H
#define PLAN_LOOP_CHOICE_H

#include "plan/exchange.h"

/* The numbers of the stage of a range. */
typedef struct {
    PlanRange *r;
    PlanStage *s;
    uint32_t vector;       /* elements */
    uint32_t registers;    /* vectors of a thread, a block's threads apart: neighbouring threads' are neighbours */
    int64_t vectors, tail; /* tail: threads */
    bool spread;           /* neighbouring elements are those of neighbouring lanes, registers are within a warp */
    bool varies;           /* vector, registers and block are by price */
} PlanLoopChoice;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Plan *p;
    PlanKernel *k;
    const TgTarget *t;
    PlanLoopChoice *choices;  /* [n_ranges] */
    int64_t elements; /* of all ranges */
    const bool *needed; /* by id: an output of the kernel needs it */
    const bool *read;   /* [operands of the plan]: so it does this one */
    int64_t trips;      /* iterations of loops that an element takes, at most */
} PlanChoosing;

/* loop_numbers.c: as many elements a thread as accesses, edges and rows allow, if there are enough threads. */
void plan_choose_vector(PlanChoosing *c, PlanLoopChoice *x);
void plan_count_vectors(PlanLoopChoice *x);
uint32_t plan_bytes_an_element(const PlanChoosing *c, const PlanLoopChoice *x); /* of what is no broadcast */
/* Bits of the narrowest buffer, bytes of the widest. */
void plan_width_of_buffers(const PlanChoosing *c, const PlanStage *s, uint32_t *narrow, uint32_t *wide);
uint32_t plan_group_of_outputs(const PlanChoosing *c, const PlanLoopChoice *x); /* elements that share a byte */
int64_t plan_minor_row(const HloShape *space); /* along the minor dimension that has more than one element */

/* The threads of a block, `times` the usual number. */
void plan_choose_block(PlanChoosing *c, uint32_t times);
int64_t plan_row_threads(const PlanLoopChoice *x); /* 0: it has one row, or a thread may have elements of two */
bool plan_may_have_registers(const PlanChoosing *c, const PlanLoopChoice *x);
/* May a thread have so many vectors? */
bool plan_registers_fit(const PlanChoosing *c, const PlanLoopChoice *x, uint32_t n);
/* Of an element; branch: of what becomes one. */
int64_t plan_loop_slots(const PlanChoosing *c, const PlanLoopChoice *x, int64_t branch);
Layout plan_loop_layout(const PlanChoosing *c, const PlanLoopChoice *x);
extern const char plan_why_row[];
int64_t plan_loop_block(const Layout *l); /* elements that a block has at once */
/* n vectors of a thread so many elements apart. */
Layout plan_rows_layout(WbbArena *a, const Layout *near, int64_t n, int64_t apart);

/* loop_layout.c: the layout of the only range of a kernel, by price; sets its numbers, and the block. */
void plan_choose_loop(PlanChoosing *c, PlanLoopChoice *x);

/* loop_windows.c: do elements of neighbouring rows need the same ones of an array? */
bool plan_has_windows(const LayWork *w);
/* May a thread have n vectors of so many elements in neighbouring rows, of which a block has one each? */
bool plan_windows_fit(const LayWork *w, const PlanExchange *x, const PlanLoopChoice *c, uint32_t vector, int64_t n);
Layout plan_window_layout(WbbArena *a, const Layout *near, const TgTarget *t, const HloShape *space,
                          int64_t vector, int64_t n);
#endif

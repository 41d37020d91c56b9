/* chooser: of the layouts that a stage may have, the one that takes the least time.
 *
 * There is a program for each kind of stage: threads that share terms (share_layout.c), exchanges (exchange_layout.c),
 * loops over elements (loop_layout.c), cells and runs of scatters (scatter_cells.c, scatter_price.c), sorts
 * (sort_choice.c). It makes wishes, numbers from patterns/, and says what a wish amounts to; all else is the same for
 * all of them:
 *
 *     wish -> layout, unless it is known -> needs, within limits -> price -> the cheapest, for the next stage of wishes
 *          -> of those that take about as long (layout.tie) the one that its program prefers
 *
 *     LayChooser *k = lay_chooser(arena, target, &program, of);
 *     lay_try(k, &wish); ..          what is tried
 *     lay_cheapest(k, best, beam);   what of it is varied further
 *     lay_decide(k, &choice);        the one that is taken, then the cheapest others
 */
#ifndef LAY_CHOOSER_H
#define LAY_CHOOSER_H

#include "layout/rates.h"

/* A layout that was tried. */
typedef struct {
    void *what;      /* its program's: the wish, and sizes of levels */
    LayPrice price; /* it takes as long at least, until it is finished */
    bool finished;
} LayTried;

/* What a program says. `of` is its own. */
typedef struct {
    size_t bytes; /* of what it knows of a layout */
    /* Fills `what`, in which a layout that was not kept may stand; false: no kernel has such a layout. *hash: by which
     * equal ones are known. */
    bool (*make)(void *of, const void *wish, void *what, uint64_t *hash);
    bool (*needs)(void *of, void *what, LayNeeds *needs); /* false: it is beyond a limit of its own kind */
    LayPrice (*price)(void *of, void *what, const LayNeeds *needs);
    /* The price is of what the layout takes at least: finds the rest. NULL: there is none. */
    void (*finish)(void *of, LayTried *x);
    /* Numbers that decide among layouts that take about as long, the first that differs, the smaller one. They may be
     * larger once a layout is finished, and no smaller. */
    void (*prefer)(void *of, const LayTie *tie, const LayTried *x, int64_t *key); /* [LAY_KEYS], all 0 */
    void (*list)(void *of, const LayTried *x, LayPriced *to); /* sets the layout */
} LayProgram;

typedef struct {
    WbbArena *a;
    const TgTarget *t;
    const LayRates *r;
    const LayProgram *by;
    void *of;
    int64_t max_terms; /* layout.max_terms: elements in straight code */
    int64_t max_code, most_registers, max_shared; /* the other limits: lay_within */
    uint32_t beam;
    struct { LayTried *items; uint32_t n, capacity; } all;
    WbbMap seen; /* hashes */
    void *what;  /* the next one */
} LayChooser;

LayChooser *lay_chooser(WbbArena *a, const TgTarget *t, const LayProgram *by, void *of);
/* Has no kernel too much of it? Limits of patterns/layouts.py, the same for every kind of stage. */
bool lay_within(const LayChooser *c, const LayNeeds *needs);
/* Prices a layout and keeps it; false: it is none, known, or beyond a limit. */
bool lay_try(LayChooser *c, const void *wish);
/* What takes up to so long takes as long, for all that prices can say. */
double lay_as_long(const TgTarget *t, const LayPrice *least);
/* The numbers of the `n` cheapest so far, the cheapest first; returns how many there are. */
uint32_t lay_cheapest(const LayChooser *c, uint32_t *best, uint32_t n);
/* .. and after them n others that take as long as the cheapest, the preferred one first: best [2 * n]. */
uint32_t lay_promising(const LayChooser *c, uint32_t *best, uint32_t n);
/* The number of the one that is taken, and the choice as it is listed; false: no layout was kept. */
bool lay_decide(LayChooser *c, uint32_t *taken, LayChoice *choice);
#endif

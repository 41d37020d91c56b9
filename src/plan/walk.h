/* walk: the values that an element of a space needs, down to the parameters, as the emitter will compute them: each
 * once for each index at which it is needed. The position is one variable for each dimension of the space.
 *
 *     PlanWalk w = {.a = arena, .p = plan, .rw = plan->rw, .t = target, .space = groups, .n_space = 2, .shape = shape};
 *     plan_walk_begin(&w);
 *     plan_walk_need(&w, root, index);      // [rank of the root] over w.at
 *     plan_walk_run(&w);                    // w.needs, w.edges, w.loads
 */
#ifndef PLAN_WALK_H
#define PLAN_WALK_H

#include "plan/work.h"

/* A value that is needed at an index. */
typedef struct {
    PlanValue value;
    const IrRef *index; /* [rank] */
    uint64_t far;       /* dimensions of the space along which values from memory decide where it is */
    int64_t apart;      /* what they decide is a multiple of so many elements of an array in memory like `sliced` */
    const HloShape *sliced; /* NULL: they decide nothing */
    double times;       /* for an element of the space: more than once under a reduction of its own */
    bool anywhere;      /* values from memory decide where its rows begin */
    uint64_t passes;    /* a bit for each pass that needs it */
    struct LayShare share; /* of the elements of the space that need it */
    uint32_t load;      /* of what is in memory: number of its access, from 1 on */
} PlanNeed;

/* Need `user` reads operand `operand`, which is need `of`. */
typedef struct {
    uint32_t user, of, operand;
    bool mapped; /* at an index that is a function of the user's alone */
} PlanEdge;

/* Which term of a fold: a variable of the map, whose place is 0 where its value counts. Folds of as many terms share
 * it, so that what they need alike is one need. */
typedef struct {
    uint32_t number; /* of the dimension among those of its fold */
    int64_t size;
    IrRef node;
} PlanTerm;

/* Where a load is in its array. */
enum { PLAN_PLACES = 5, PLAN_MAX_ALIGN = 64 };
typedef struct {
    uint32_t leaf;           /* the array */
    bool anywhere;           /* its places are not known */
    int64_t at[PLAN_PLACES]; /* element numbers at a few positions, the same for each load */
    int64_t origin;          /* the same where positions are multiples of a vector */
} PlanPlaced;

typedef struct {
    /* given */
    WbbArena *a;
    const Plan *p;
    RwCx *rw;
    const TgTarget *t;
    const PlanGroup *space;
    uint32_t n_space;
    const HloShape *shape; /* whose index a position is */
    bool linear;           /* neighbours of a thread follow each other in the shape, over the ends of its rows */
    const bool *stop;      /* by id: values that need nothing; NULL: none */
    const PlanMade *made;  /* [n_made] values that earlier launches left in memory */
    uint32_t n_made;
    /* found */
    IxMap *map;      /* its variables are positions in the dimensions of the space */
    IrRef *at;       /* such a position as an index of `shape` */
    int64_t *point, elements;
    struct { PlanNeed *items; uint32_t n, capacity; } needs;
    struct { PlanEdge *items; uint32_t n, capacity; } edges;
    struct { uint32_t *items; uint32_t n, capacity; } stack; /* needs whose operands are still to be visited */
    struct { LayAccess *items; uint32_t n, capacity; } loads;
    struct { PlanPlaced *items; uint32_t n, capacity; } places; /* of each load */
    struct { uint64_t *items; uint32_t n, capacity; } in_pass; /* of each load: a bit for each pass */
    WbbMap seen, load_of; /* by hash of a need: its number, from 1 on; by buffer and index: the same of a load */
    uint32_t pass;
    bool results;    /* what is visited is computed for results alone, by the threads that store them */
    bool *called;    /* by id: a loop or branches whose computations are counted, for all of its results */
    IrRef *vars;     /* [n_space] the positions */
    struct { PlanTerm *items; uint32_t n, capacity; } terms; /* no two of the same number and size */
    WbbMap along_of; /* by node of an index: a bit for each dimension that it depends on, and one above */
    struct { LaySlots *items; uint32_t n, capacity; } along; /* no two of the same dimensions */
    LaySlots of_results; /* for each element of the space */
    double slots, again_slots, trip_slots, clocks, f64_clocks, special_clocks;
    double per_clock[2], special_per_clock; /* instructions of an SM: of f32, of f64 */
    uint32_t steps;
    bool complete; /* no limit was met */
} PlanWalk;

void plan_walk_begin(PlanWalk *w);
uint32_t plan_walk_need(PlanWalk *w, PlanValue v, const IrRef *index); /* its number in needs */
void plan_walk_run(PlanWalk *w);
void plan_walk_work(const PlanWalk *w, LayWork *work); /* what it found: loads, slots, clocks */
/* `node`: the number of the element in memory. by: the need of which values from memory decide where it is; NULL: none
 * do. */
LayAccess plan_access_of(const PlanWalk *w, const HloShape *s, IrRef node, const PlanNeed *by);
double plan_walk_waits(const PlanWalk *w); /* walk_waits.c: clocks of latencies behind branches, beside the first */
/* walk_near.c: of the loads, what is said of `near`, `shift`, `gap`, `beside` and `align`. */
void plan_walk_near(PlanWalk *w);
/* The number that most of those of all places are; LAY_FAR: there is none. */
int64_t plan_usual_of(const int64_t *numbers); /* [PLAN_PLACES] */
#endif

/* walk: the values that an element of a space needs, down to the parameters, as the emitter will compute them: each
 * once for each index at which it is needed. The position is one variable for each dimension of the space.
 *
 *     PartWalk w = {.a = arena, .p = plan, .rw = plan->rw, .t = target, .space = groups, .n_space = 2, .shape = shape};
 *     part_walk_begin(&w);
 *     part_walk_need(&w, root, index);      // [rank of the root] over w.at
 *     part_walk_run(&w);                    // w.needs, w.edges, w.loads
 */
#ifndef PART_WALK_H
#define PART_WALK_H

#include "plan/work.h"

/* A value that is needed at an index. */
typedef struct {
    PartValue value;
    const IrRef *index; /* [rank] */
    uint64_t far;       /* dimensions of the space along which values from memory decide where it is */
    int64_t apart;      /* what they decide is a multiple of so many elements of an array in memory like `sliced` */
    const HloShape *sliced; /* NULL: they decide nothing */
    double times;       /* for an element of the space: more than once under a reduction of its own */
    bool anywhere;      /* values from memory decide where its rows begin */
    uint64_t passes;    /* a bit for each pass that needs it */
    struct PartShare share; /* of the elements of the space that need it */
    uint32_t load;      /* of what is in memory: number of its access, from 1 on */
} PartNeed;

/* Need `user` reads operand `operand`, which is need `of`. */
typedef struct {
    uint32_t user, of, operand;
    bool mapped; /* at an index that is a function of the user's alone */
} PartEdge;

/* Where a load is in its array. */
enum { PART_PLACES = 5, PART_MAX_ALIGN = 64 };
typedef struct {
    uint32_t leaf;           /* the array */
    bool anywhere;           /* its places are not known */
    int64_t at[PART_PLACES]; /* element numbers at a few positions, the same for each load */
    int64_t origin;          /* the same where positions are multiples of a vector */
} PartPlaced;

typedef struct {
    /* given */
    WbbArena *a;
    const PartPlan *p;
    RwCx *rw;
    const TgTarget *t;
    const PartGroup *space;
    uint32_t n_space;
    const HloShape *shape; /* whose index a position is */
    bool linear;           /* neighbours of a thread follow each other in the shape, over the ends of its rows */
    const bool *stop;      /* by id: values that need nothing; NULL: none */
    const PartMade *made;  /* [n_made] values that earlier launches left in memory */
    uint32_t n_made;
    /* found */
    IxMap *map;      /* its variables are positions in the dimensions of the space */
    IrRef *at;       /* such a position as an index of `shape` */
    int64_t *point, elements;
    struct { PartNeed *items; uint32_t n, capacity; } needs;
    struct { PartEdge *items; uint32_t n, capacity; } edges;
    struct { uint32_t *items; uint32_t n, capacity; } stack; /* needs whose operands are still to be visited */
    struct { PartAccess *items; uint32_t n, capacity; } loads;
    struct { PartPlaced *items; uint32_t n, capacity; } places; /* of each load */
    struct { uint64_t *items; uint32_t n, capacity; } in_pass; /* of each load: a bit for each pass */
    WbbMap seen, load_of; /* by hash of a need: its number, from 1 on; by buffer and index: the same of a load */
    uint32_t pass;
    bool results;    /* what is visited is computed for results alone, by the threads that store them */
    bool *called;    /* by id: a loop or branches whose computations are counted, for all of its results */
    IrRef *vars;     /* [n_space] the positions */
    WbbMap along_of; /* by node of an index: a bit for each dimension that it depends on, and one above */
    struct { PartSlots *items; uint32_t n, capacity; } along; /* no two of the same dimensions */
    PartSlots of_results; /* for each element of the space */
    double slots, again_slots, trip_slots, clocks, f64_clocks, special_clocks;
    uint32_t steps;
    bool complete; /* no limit was met */
} PartWalk;

void part_walk_begin(PartWalk *w);
uint32_t part_walk_need(PartWalk *w, PartValue v, const IrRef *index); /* its number in needs */
void part_walk_run(PartWalk *w);
void part_walk_work(const PartWalk *w, PartWork *work); /* what it found: loads, slots, clocks */
/* `node`: the number of the element in memory. by: the need of which values from memory decide where it is; NULL: none
 * do. */
PartAccess part_access_of(const PartWalk *w, const HloShape *s, IrRef node, const PartNeed *by);
/* walk_near.c: of the loads, what is said of `near`, `shift`, `gap`, `beside` and `align`. */
void part_walk_near(PartWalk *w);
/* The number that most of those of all places are; PART_FAR: there is none. */
int64_t part_usual_of(const int64_t *numbers); /* [PART_PLACES] */
#endif

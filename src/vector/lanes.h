/* What the files of vectorising share: lanes_mark.c finds what differs from lane to lane, lanes_value.c makes nodes in all lanes or in
 * one, vectorize.c writes the statements. */
#ifndef VEC_LANES_H
#define VEC_LANES_H

#include "vector/vector.h"

enum { MAX_LANES = 32 };

/* What became of a node, a variable or a value that differs from lane to lane. */
typedef enum { SCALARS, PAIRS, LOADS } LaneForm;
typedef struct {
    uint8_t form;
    uint8_t width[MAX_LANES]; /* LOADS: lanes of the access that starts here, 0 inside one */
    IrRef at[MAX_LANES];      /* PAIRS: at[2j]; LOADS: at[start] is the access */
} LaneValue;

typedef struct {
    RwCx *rw;
    IrGraph *g;
    VecAccesses accesses;
    const IrKernel *k;
    WbbArena *arena; /* of the loop at hand */
    uint32_t vector_bytes;
    /* by ref, growing with the graph; only those of `nodes` are not 0 */
    LaneValue **value;
    uint8_t *varies, *chained, *mark;
    uint32_t *seen;         /* in which scope all lanes of it were asked for at once */
    IrRef *lone;            /* in the region at hand: of one lane, as a scalar of its own */
    uint32_t *lone_region;
    uint32_t *place;        /* number in `nodes` + 1 */
    uint32_t nodes_capacity;
    /* by number of a variable and of a value */
    struct LaneBound { LaneValue *value; uint8_t varies, chained; } *vars, *values;
    uint32_t vars_capacity, values_capacity;
    struct { IrRef *items; uint32_t n, capacity; } left; /* by number of a value that no statement leaves any more: what it is; 0: it is */
    bool some_left;

    /* of the loop at hand */
    const IrStmt *loop;
    uint32_t lanes, n; /* n: refs when it was met */
    IrRefs nodes;      /* that it needs */
    bool *sequential;  /* by its statements: lane after lane, since it depends on what is carried from lane to lane */
    struct { bool *items; uint32_t n, capacity; } open; /* by scope */
    uint32_t scope, region;
    IrRefs asked, stack; /* to be made; on the way */
} Lanes;

/* lanes_mark.c: fills nodes, varies, chained, sequential. */
void vec_lanes_mark(Lanes *l, const IrStmt *loop);
void vec_lanes_grow(Lanes *l); /* all arrays are as large as the graph */

/* lanes_value.c */
void vec_lanes_ask(Lanes *l, IrRef r);   /* r is needed in all lanes, here */
void vec_lanes_make(Lanes *l);           /* all that was asked for, operands first */
LaneForm vec_lanes_form(const Lanes *l, IrType type); /* of a value that statements carry or leave */
IrRef vec_lane(Lanes *l, IrRef r, uint32_t lane); /* of what was asked for: as a scalar */
IrRef vec_lanes(Lanes *l, IrRef r, uint32_t lane, uint32_t count); /* lanes [lane, lane + count); count a power of two, lane a multiple of it */
IrRef vec_lone(Lanes *l, IrRef r, uint32_t lane); /* where one lane is alone */
uint32_t vec_lanes_widest(Lanes *l, uint32_t buffer, const IrRef *index, uint32_t lane, const char **why);
void vec_lanes_note(Lanes *l, uint32_t buffer, bool store, uint32_t width, const char *why);

#endif

/* lanes.h: the state of vectorising, which the files of vector/ share: lanes_mark.c finds what differs from lane to
 * lane, lanes_value.c makes nodes in all lanes or in one, lanes_ahead.c early where branches need them, lanes_do.c and
 * vectorize.c write the statements. */
#ifndef VEC_LANES_H
#define VEC_LANES_H

#include "vector/vector.h"

enum { MAX_LANES = 32 };

/* The values that a node, a variable or a value of a statement has in the lanes: a scalar each, pairs, or accesses of
 * several lanes. */
typedef enum { SCALARS, PAIRS, LOADS } LaneForm;
typedef struct {
    uint8_t form;
    uint8_t width[MAX_LANES]; /* LOADS: lanes of the access that starts here, 0 inside one */
    IrRef at[MAX_LANES];      /* PAIRS: at[2j]; LOADS: at[start] is the access */
} LaneValue;

/* What is known of one node. All zero, but for `replacement`, unless the node belongs to the loop at hand. */
typedef struct {
    LaneValue *value;       /* in all lanes; NULL: not made */
    uint32_t number;        /* its position in Lanes.nodes + 1; 0: it belongs to no loop at hand */
    uint32_t request_scope; /* the scope in which all lanes of it were requested; 0: none */
    IrRef scalar;           /* in one lane alone; holds where scalar_scope is Lanes.scalar_scope */
    uint32_t scalar_scope;
    IrRef replacement; /* after all loops: what the node becomes where values are replaced; 0: not known yet */
    bool varies;       /* differs from lane to lane */
    bool chained;      /* depends on what is carried from one lane to the next */
    bool visited;      /* by the walk at hand */
} LaneNode;

/* What is known of a variable or of a value that a statement binds. */
typedef struct {
    LaneValue *value;
    bool varies, chained; /* as of a node */
} LaneBinding;

typedef struct {
    RwCx *rw;
    IrGraph *g;
    VecAccesses accesses;
    const IrKernel *k;
    uint32_t vector_bytes;

    /* Grown on access, by vec_node, vec_variable and vec_value. */
    LaneNode *nodes_by_ref;
    uint8_t *gather_marks; /* of ir_gather, by ref, as long as nodes_by_ref */
    LaneBinding *variables, *values;
    uint32_t nodes_capacity, variables_capacity, values_capacity;

    IrRefs replaced_values; /* by number of a value: the node that it is since its loop is gone; 0: it is still bound */

    /* of the loop at hand */
    WbbArena *arena;
    const IrStmt *loop;
    uint32_t lanes;
    IrRefs nodes;     /* all that the loop needs, operands first */
    bool *sequential; /* by statement of the loop's body: done lane after lane, since it depends on carried values */
    struct { bool *items; uint32_t n, capacity; } open_scopes; /* by scope: is it around the current statement? */
    uint32_t scope;        /* the current one */
    uint32_t scalar_scope; /* the current stretch of statements of one lane; scalars of earlier ones are not in scope */
    IrRefs requested;      /* nodes to be made in all lanes */
    IrRefs stack;
} Lanes;

/* lanes_mark.c: fills nodes, varies, chained, sequential. */
void vec_mark_loop(Lanes *l, const IrStmt *loop);
bool vec_has_effects(const IrBlock *b); /* does it write, or read what changes? */
void vec_grow_nodes(Lanes *l, IrRef r); /* nodes_by_ref reaches to r, new records are zero */
LaneBinding *vec_grow_bindings(const Lanes *l, LaneBinding *bindings, uint32_t *capacity, uint32_t number);

/* The record of a node; the pointer holds until another node's record is asked for. */
static inline LaneNode *vec_node(Lanes *l, IrRef r)
{
    if (r >= l->nodes_capacity) vec_grow_nodes(l, r);
    return &l->nodes_by_ref[r];
}
static inline LaneBinding *vec_variable(Lanes *l, uint32_t number)
{
    if (number >= l->variables_capacity)
        l->variables = vec_grow_bindings(l, l->variables, &l->variables_capacity, number);
    return &l->variables[number];
}
static inline LaneBinding *vec_value(Lanes *l, uint32_t number)
{
    if (number >= l->values_capacity) l->values = vec_grow_bindings(l, l->values, &l->values_capacity, number);
    return &l->values[number];
}

/* lanes_value.c */
IrType vec_with_lanes(IrType t, uint32_t lanes); /* t's element in so many lanes, a power of two */
void vec_request(Lanes *l, IrRef r);  /* all lanes of r are needed, in the current scope; 0: nothing */
void vec_make_requested(Lanes *l);    /* makes all that was requested, operands first */
/* The form of a value of this type that statements carry or result in. */
LaneForm vec_binding_form(const Lanes *l, IrType type);
IrRef vec_lane(Lanes *l, IrRef r, uint32_t lane); /* one lane, as a scalar, of a node that was requested and made */
/* The same for lanes [lane, lane + count), as one node; count is a power of two, lane a multiple of it. */
IrRef vec_lanes(Lanes *l, IrRef r, uint32_t lane, uint32_t count);
IrRef vec_scalar(Lanes *l, IrRef r, uint32_t lane); /* r among the statements of one lane alone */
LaneValue *vec_lane_value(Lanes *l, LaneBinding *b); /* of a binding, made where there is none */
const char *vec_lane_name(Lanes *l, const char *name, uint32_t lane);
bool vec_has_pairs(const Lanes *l, const IrNode *n, ScType from); /* is there one of two lanes? from: of operand 0 */
/* How many lanes, of at most `most`, one instruction of the target takes for the operation of n. */
uint32_t vec_packed_lanes(const Lanes *l, const IrNode *n, uint32_t most);
/* How many lanes, from `lane` on, one access of `buffer` takes; *why: what stops it from being twice as wide. */
uint32_t vec_access_width(Lanes *l, uint32_t buffer, const IrRef *index, uint32_t lane, const char **why);
void vec_record_access(Lanes *l, uint32_t buffer, bool store, uint32_t width, const char *why);
/* The statement of value number `value` is gone: after all loops it is this node. */
void vec_replace_value(Lanes *l, uint32_t value, IrRef by);
/* An access of so many lanes is a part of another one; into: the lanes of that, told with its first part, else 0. */
void vec_join_access(Lanes *l, uint32_t buffer, bool store, uint32_t lanes, uint32_t into);

/* lanes_do.c */
void vec_do(Lanes *l, const IrStmt *s, IrBlock *out); /* in all lanes */

/* lanes_ahead.c: before the lanes' branches of an `if` with conditions of their own */
void vec_load_ahead(Lanes *l, const IrStmt *s);

/* join.c: of the block and those in it. */
void vec_join(Lanes *l, IrBlock *b);

/* bytes.c: the same. */
void vec_bytes(Lanes *l, IrBlock *b);

/* pairs.c: of the kernel. */
void vec_pairs(Lanes *l, IrKernel *k);

#endif

/* sort.h: what the files of sorts have in common: the elements of a block, and the order of two of them.
 *
 *     sort.c          rows and tiles of rows
 *     sort_element.c  elements, and which of two comes first
 *     sort_word.c     elements that are one integer
 *     sort_network.c  a block's places, and the network that puts them in order
 *     sort_heads.c    the same where only the first places of a row are needed
 *     sort_merge.c    runs of two blocks become one
 */
#ifndef EMIT_SORT_H
#define EMIT_SORT_H

#include "emit/share.h"
#include "plan/sort.h"

typedef struct {
    Share m;
    const PlanSort *s;
    Reduction element; /* the keys of an element, and its position */
    int64_t tiles;     /* of a row */
    int64_t threads;
    int64_t places;    /* of a row or tile in the memory of a block: a power of two */
    int64_t all;       /* places of the block */
    bool whole;        /* every place has an element */
    bool minor;        /* rows are contiguous in memory */
    IrRef row, block;  /* of rows in several blocks: the row, the block's number among those of the row */
    IrRef start;       /* of the tile in its row; 0 where a tile is a row */
} Sort;

/* Nodes on unsigned integers of 32 bits, and comparisons of values. */
static inline IrRef emit_sort_u32(const Sort *s, uint32_t x) { return emit_share_number(&s->m, x); }
static inline IrRef emit_sort_op(const Sort *s, ScOp o, IrRef x, IrRef y)
{
    return emit_share_node(&s->m, o, SC_U32, x, y);
}
static inline IrRef emit_sort_compare(const Sort *s, ScOp o, IrRef x, IrRef y)
{
    return emit_share_node(&s->m, o, SC_PRED, x, y);
}
static inline IrRef emit_sort_number_of(const Sort *s, IrRef index)
{
    return ir_node(s->m.g, OP_IDX, IR_TYPE(SC_U32, 0), 0, index, 0, 0, 0);
}
static inline IrRef emit_sort_choose(const Sort *s, ScType t, IrRef condition, IrRef x, IrRef y)
{
    return ir_node(s->m.g, OP_SELECT, IR_TYPE(t, 0), 0, condition, x, y, 0);
}

/* What is done for each group of 2^bits places, in turn of the block's threads. */
typedef struct {
    EmitLoop loop;
    EmitIf inside;
    IrRef row, number; /* of the group; the number is that in its row */
} SortGroups;

/* The arguments of the comparator, all 0. */
static inline IrRef *emit_sort_no_arguments(const Sort *s)
{
    IrRef *args = WBB_NEW_N(s->m.a, IrRef, 2 * s->s->i->n_operands);
    for (uint32_t k = 0; k < 2 * s->s->i->n_operands; k++) args[k] = ir_const(s->m.g, IR_TYPE(SC_PRED, 0), 0);
    return args;
}

/* sort_element.c */
/* An integer that is in 0 .. bound, as an index. */
IrRef emit_sort_index_of(const Sort *s, IrRef integer, int64_t bound);
IrRef *emit_sort_values(const Sort *s);                                /* memory for the values of an element */
/* Does the comparator put x before y? Of two keys each. */
IrRef emit_sort_is_before(const Sort *s, const IrRef *x, const IrRef *y);
IrRef *emit_sort_index_at(const Sort *s, IrRef row, IrRef at); /* where element `at` of a row is in the arrays */
IrRef emit_sort_operand_at(const Sort *s, uint32_t operand, const IrRef *index);
void emit_sort_get(const Sort *s, SharePlace place, IrRef at, IrRef *values);
void emit_sort_put(const Sort *s, SharePlace place, IrRef at, IrRef *values);
/* The results at place `at` of a row, and what is computed from them there. */
void emit_sort_store_results(const Sort *s, IrRef row, IrRef at, const IrRef *values);

/* sort_word.c: where PlanSort has a `word` */
IrRef emit_sort_word(const Sort *s, IrRef x, IrRef at); /* of element `at` of a row; x: that of the word's operand */
IrRef emit_sort_position(const Sort *s, IrRef word);    /* of an element in its row; 0: words have none */
/* The operand's element, where the word tells it (plan_sort_word_tells). */
IrRef emit_sort_told(const Sort *s, IrRef word);

/* sort_network.c */
void emit_sort_close_groups(const Sort *s, SortGroups *g);
uint32_t emit_sort_group(const Sort *s, int64_t places);  /* log2 of the elements that a thread has at once */
IrRef emit_sort_placed(const Sort *s, IrRef place);       /* linear: of a ^ b it is placed(a) ^ placed(b) */
/* Exchanges the elements of a lower and a higher place where the higher one's comes first; falls, a pred: where it does
 * not; 0: never. only: a condition; 0: always. */
void emit_sort_exchange(const Sort *s, IrRef *low, IrRef *high, IrRef falls, IrRef only);
IrRef **emit_sort_get_group(const Sort *s, const IrRef *at, uint32_t bits);
void emit_sort_put_group(const Sort *s, const IrRef *at, uint32_t bits, IrRef **x);
IrRef emit_sort_is_odd(const Sort *s, IrRef place, IrRef size); /* is bit `size` of the place set? */
IrRef emit_sort_absent_position(const Sort *s);           /* of a place that has no element */
IrRef *emit_sort_absent(const Sort *s);                   /* the values of such a place */
IrRef emit_sort_place(const Sort *s, IrRef place);        /* where a place of the block is in its memory; an index */
/* Puts stretches of so many places in order, those at an odd number falling; of all places of a row: in order. */
void emit_sort_rounds(const Sort *s, int64_t places);
void emit_sort_merge_rounds(const Sort *s);               /* of places that rise and then fall */

/* sort_heads.c: of each row the first `kept` places in order, a power of two; others are no longer of use. */
void emit_sort_first(const Sort *s, int64_t kept);

/* sort_merge.c */
void emit_sort_merge(const Sort *s);

#endif

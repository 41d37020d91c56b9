/* order.h: who writes each byte before whom.
 *
 * Whoever plans several launches, or steps, says in this form what each of them reads and writes, and asks whether
 * that is right: the cut of a module (fuse/legal.c), the launches of a fusion (plan/order.c), the steps of a program
 * and their buffers (program/verify.c). Values lie in memory; steps run one after the other; what one step does, its
 * threads do in any order.
 *
 *     values: p (fixed, given), s, y (wanted); steps: sort reads p makes s; scatter reads p, s makes y    no fault
 *     the same where y lies in the memory of p                      "it makes y over p, which it reads"
 *     the same where nothing makes s                                "it reads s, which no step makes"
 */
#ifndef WBB_ORDER_H
#define WBB_ORDER_H

#include "base/base.h"

/* A value: these bytes of a memory, from the step that makes it until a step writes there again. */
typedef struct {
    const char *name;
    uint32_t memory; /* under WbbOrder.n_memories; bytes of two memories are never the same */
    int64_t offset, bytes;
    bool given;  /* it is there before the first step */
    bool fixed;  /* no step may write where it lies */
    bool wanted; /* it must be there after the last step */
    bool used;   /* a step must read it, or it is wanted */
} WbbBytes;

typedef enum {
    WBB_READS,   /* the value must be there */
    WBB_MAKES,   /* writes all of it; or, with `over`, some of it, the rest being that value's */
    WBB_KEEPS,   /* it is there from now on, as the value whose memory it has is, which must be: nothing is written */
    WBB_SPOILS,  /* writes there what nobody reads later */
} WbbTouchKind;

typedef struct {
    WbbTouchKind kind;
    uint32_t value;
    /* Makes, spoils: 1 + number of the step's touch that reads the value whose memory this is. Each thread has read
     * what it needs of that before anything of it is overwritten: whoever states it guarantees that. 0: none. */
    uint32_t over;
} WbbTouch;

typedef struct {
    const WbbTouch *touches;
    uint32_t n;
} WbbTouches;

typedef struct {
    const WbbBytes *values;
    const WbbTouches *steps;
    uint32_t n_values, n_memories, n_steps;
} WbbOrder;

typedef enum {
    WBB_FAULT_NONE,
    WBB_FAULT_ABSENT, /* it reads what no step makes .. */
    WBB_FAULT_LATER,  /* .. what a later step makes, or itself .. */
    WBB_FAULT_GONE,   /* .. what a step before it overwrote; the last two of what is wanted, at the end, too */
    WBB_FAULT_PLACE,  /* it writes what it reads, twice the same bytes, or where a fixed value lies */
    WBB_FAULT_UNREAD, /* what must be used is overwritten, or there at the end, and no step has read it */
} WbbFaultKind;

typedef struct {
    WbbFaultKind kind;
    uint32_t step;    /* whose it is; n_steps: of the end */
    uint32_t value;   /* that it reads or makes, or that must be there or used */
    const char *text; /* "it .." */
} WbbFault;

/* The first fault; .kind is WBB_FAULT_NONE where all is right. */
WbbFault wbb_order_fault(WbbArena *a, const WbbOrder *o);

#endif

/* What the files of base/ share with each other and with nobody else. */
#ifndef WBB_BASE_INNER_H
#define WBB_BASE_INNER_H

#include "base/base.h"

struct WbbGuard;

struct WbbChunk;

struct WbbCxInner {
    struct WbbGuard *guard; /* the innermost, NULL outside every guard */
    WbbLoc work;            /* wbb_work_on */
    const WbbOrigin *origin; /* wbb_come_from; NULL: none */
    WbbArena *arenas;       /* newest first */
    struct WbbChunk *spare[24]; /* chunks that arenas gave back, by log2 of their room, in no order */
    size_t spare_bytes;
    char *message_text;     /* backs cx->messages */
    size_t message_n, message_capacity;
    WbbMap names;           /* interned texts */
    WbbReport *report;      /* of progress; NULL: none */
    void *report_arg;
    bool stop;              /* a report asked for it */
    const char *what;       /* that was said last; NULL: nothing */
    int64_t done, total;
};

WbbArena *wbb_arena_try_new(WbbCx *cx); /* NULL if memory is exhausted */
WbbCx *wbb_arena_cx(WbbArena *a);
void wbb_arena_lend(WbbCx *from, WbbCx *to); /* spare chunks of one are the other's */
void wbb_arena_forget(WbbCx *cx); /* gives spare chunks back to the heap; from now on none is kept */

#endif

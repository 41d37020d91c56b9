/* memory.h: the memory of a bundle's buffers, and its launches in the simulator over it.
 *
 *     PipeMemory r = pipe_memory(cx, arena, bundle, &operands, 0, NULL);
 *     pipe_launch_all(cx, arena, ptx, &r, &options, &report);
 *     r.memory[r.leaf[0]].bytes    // output 0
 */
#ifndef PIPE_MEMORY_H
#define PIPE_MEMORY_H

#include "pipe/judge.h"

typedef struct {
    const Bundle *b;
    SimBuffer *memory; /* [n_buffers] */
    const int *home;   /* [n_buffers] the buffer whose memory it has: itself, or the operand of an output in place */
    const int *leaf;   /* [n_leaves] buffer of output k */
    uint32_t n_leaves;
} PipeMemory;

/* An output and one of the operands that it may alias. */
typedef struct {
    int output, operand;
} PipeShare;

/* All buffers with the contents that they have before the first launch: temporaries that may hold anything are
 * filled with a pattern. An output that copies an operand has its memory, and so has that of `share`, if it is not
 * NULL. */
PipeMemory pipe_memory(WbbCx *cx, WbbArena *a, const Bundle *b, const PipeOperands *operands, size_t padding,
                       const PipeShare *share);
/* The temporaries of `to` are those of `from`, as its launches left them. */
void pipe_keep_temporaries(PipeMemory *to, const PipeMemory *from);
/* The launches, with the operand's buffer in place of each output that has its memory. */
BdLaunch *pipe_launches(WbbArena *a, const PipeMemory *r);
/* Runs the launches in order, up to the first with a fault; the report is of all. */
void pipe_launch_all(WbbCx *cx, WbbArena *a, const SimModule *ptx, PipeMemory *r, const SimOptions *o,
                     SimReport *report);
bool pipe_has_tickets(const Bundle *b);
/* A ticket that the launches did not leave zero; NULL: none. */
const char *pipe_ticket_fault(WbbArena *a, const PipeMemory *r);
/* The number of bytes of outputs that differ; *first names the first. */
int64_t pipe_differing(WbbArena *a, const PipeMemory *x, const PipeMemory *y, const char **first);


/* judge.c: the outputs in r against the bounds of the fusion. */
void pipe_judge(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const PipeOperands *operands,
                const PipeMemory *r, const PipeRun *run, PipeVerdict *v);

#endif

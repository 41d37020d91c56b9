/* memory.h: the memory of a bundle's buffers, and its launches in the simulator over it.
 *
 *     JudgeMemory r = judge_memory(cx, arena, bundle, &operands, 0, NULL);
 *     judge_launch_all(cx, arena, ptx, &r, &options, &report);
 *     r.memory[r.leaf[0]].bytes    // output 0
 */
#ifndef JUDGE_MEMORY_H
#define JUDGE_MEMORY_H

#include "judge/judge.h"

typedef struct {
    const Bundle *b;
    SimBuffer *memory; /* [n_buffers] */
    const int *home;   /* [n_buffers] the buffer whose memory it has: itself, or the operand of an output in place */
    const int *leaf;   /* [n_leaves] buffer of output k */
    uint32_t n_leaves;
} JudgeMemory;

/* An output and one of the operands that it may alias. */
typedef struct {
    int output, operand;
} JudgeShare;

/* All buffers with the contents that they have before the first launch: temporaries that may hold anything are
 * filled with a pattern. An output that copies an operand has its memory, and so has that of `share`, if it is not
 * NULL. */
JudgeMemory judge_memory(WbbCx *cx, WbbArena *a, const Bundle *b, const JudgeOperands *operands, size_t padding,
                         const JudgeShare *share);
/* The temporaries of `to` are those of `from`, as its launches left them. */
void judge_keep_temporaries(JudgeMemory *to, const JudgeMemory *from);
/* The launches, with the operand's buffer in place of each output that has its memory. */
BdLaunch *judge_launches(WbbArena *a, const JudgeMemory *r);
/* Runs the launches in order, up to the first with a fault; the report is of all. */
void judge_launch_all(WbbCx *cx, WbbArena *a, const SimModule *ptx, JudgeMemory *r, const SimOptions *o,
                      SimReport *report);
bool judge_has_tickets(const Bundle *b);
/* A ticket that the launches did not leave zero; NULL: none. */
const char *judge_ticket_fault(WbbArena *a, const JudgeMemory *r);
/* The number of bytes of outputs that differ; *first names the first. */
int64_t judge_differing(WbbArena *a, const JudgeMemory *x, const JudgeMemory *y, const char **first);


/* judge.c: the outputs in r against the bounds of the fusion. */
void judge_fusion(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const JudgeOperands *operands,
                const JudgeMemory *r, const JudgeRun *run, JudgeVerdict *v);

#endif

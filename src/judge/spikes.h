/* spikes.h: input case `s`: inputs whose sums are exact in every order, and change with every element.
 *
 *     JudgeSpikes *s = judge_spikes(cx, arena, module, seed);       // s->n == 0: the module reduces nothing
 *     run.made = &s->source;                                       // elements of the inputs of the entry
 */
#ifndef JUDGE_SPIKES_H
#define JUDGE_SPIKES_H

#include "eval/eval.h"
#include "hlo/hlo.h"

typedef struct {
    EvSource source;    /* elements of the entry's inputs, by leaf number */
    uint32_t n;         /* reductions of the fusion: reduce, reduce-window, dot, convolution, scatter, .. */
    uint32_t judged;    /* of those, how many some assignment judges exactly */
    uint32_t here;      /* how many this assignment, chosen by the seed, judges */
    uint32_t assignments; /* that were found: seeds 1 .. assignments give each of them */
    const char *unjudged; /* names of the others, separated by blanks; "" if none */
} JudgeSpikes;

JudgeSpikes *judge_spikes(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed);

#endif

/* dominant.h: input case `d`: of each result of a reduction one term outweighs all others. */
#ifndef JUDGE_DOMINANT_H
#define JUDGE_DOMINANT_H

#include "eval/eval.h"
#include "hlo/hlo.h"

/* Elements of the entry's inputs, by leaf number; NULL: the module reduces nothing that an input could carry. */
const EvSource *judge_dominant(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed);

#endif

/* dominant.h: input case `d`: of each result of a reduction one term outweighs all others. */
#ifndef PIPE_DOMINANT_H
#define PIPE_DOMINANT_H

#include "eval/eval.h"
#include "hlo/hlo.h"

/* Elements of the entry's inputs, by leaf number; NULL: the module reduces nothing that an input could carry. */
const EvSource *pipe_dominant(WbbCx *cx, WbbArena *a, const HloModule *m, uint64_t seed);

#endif

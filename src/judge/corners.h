/* corners.h: input case `c`: values at which a kernel may change its mind.
 *
 *     run.made = judge_corners(cx, arena, module, bundle->ptx, seed);       // elements of the inputs of the entry
 */
#ifndef JUDGE_CORNERS_H
#define JUDGE_CORNERS_H

#include "eval/eval.h"
#include "hlo/hlo.h"

/* `ptx`: the text of the kernel; NULL: the module's values alone. */
const EvSource *judge_corners(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, uint64_t seed);

#endif

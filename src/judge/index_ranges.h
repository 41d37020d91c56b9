/* index_ranges.h: which starts of windows the elements of a module's inputs may be; see index_ranges.c. */
#ifndef JUDGE_INDEX_RANGES_H
#define JUDGE_INDEX_RANGES_H

#include "bundle/bundle.h"
#include "hlo/hlo.h"

/* By input of the entry; those that are no indices have no columns. NULL: the module takes none. */
const BdIndices *judge_index_ranges(WbbArena *a, const HloModule *m);

#endif

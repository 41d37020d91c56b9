/* fuse: decides which operations of an unfused HLO module become one kernel. README.md has the rules.
 *
 * The HLO module of a framework is a graph of single operations. Here each computation is cut into parts: fusions, each
 * written as an HLO module of its own with names that depend on its content alone, and library calls. Equal parts are
 * one part with a count: forty layers of a model give the kernels of one.
 *
 *     FuseParts parts = fuse_parts(cx, arena, hlo_normalise(cx, arena, module));
 *     parts.items[0].text     "body { p0 = f32[8] parameter(0) .. }  ENTRY main { .. fusion(p0), .. }"
 */
#ifndef FUSE_FUSE_H
#define FUSE_FUSE_H

#include "base/base.h"
#include "hlo/hlo.h"

typedef struct {
    const char *name; /* of the instruction whose value it makes; unique among the parts */
    const char *text; /* an HLO module whose entry holds one fusion; NULL: a library call */
    const HloInstruction *at; /* the instruction; the first one of equal parts */
    uint64_t count;   /* occurrences, each counted as often as its computation is called in the text */
} FusePart;

typedef struct {
    FusePart *items;
    uint32_t n, capacity;
} FuseParts;

/* fuse.c: the parts of a verified, normalised HLO module, the entry's first. A fusion instruction of it is a part as it
 * is. */
FuseParts fuse_parts(WbbCx *cx, WbbArena *a, const HloModule *m);

/* decide.c --------------------------------------------------------------------------------------------------------- */
typedef enum {
    FUSE_NOTHING, /* no code: names a value in memory (parameters, constants, tuples, their elements), or is dead */
    FUSE_INLINE,  /* computed in every kernel that uses it */
    FUSE_ALIAS,   /* a reshape or bitcast of a value in memory: no code */
    FUSE_ROOT,    /* the result of a kernel */
    FUSE_FIXED,   /* a fusion instruction of the HLO module */
    FUSE_LIBRARY, /* a library call */
    FUSE_CONTROL, /* calls computations that are cut by themselves */
} FuseRole;

/* The role of each instruction of c, by id. */
FuseRole *fuse_decide(WbbArena *a, const HloComputation *c);

/* write.c ---------------------------------------------------------------------------------------------------------- */
/* The kernel whose result is `root` (FUSE_ROOT or FUSE_FIXED) as an HLO module. */
const char *fuse_write(WbbArena *a, const HloComputation *c, const FuseRole *roles, const HloInstruction *root);
/* A library call as text without names of its own: equal texts for equal calls. */
const char *fuse_write_call(WbbArena *a, const HloInstruction *i);

#endif

/* fuse: which operations of an unfused module become one kernel. README.md of this module says how it decides.
 *
 * A module as a framework hands it over is a graph of single operations. Here each computation is cut into parts: fusions, each of
 * them written out as a module of its own with names that depend on nothing but its content, and calls of libraries. Parts that are
 * equal are one part with a count, so that forty layers of a model are the kernels of one.
 *
 *     FuseParts parts = fuse_parts(cx, arena, hlo_normalise(cx, arena, module));
 *     parts.items[0].text     "body { p0 = f32[8] parameter(0) .. }  ENTRY main { .. fusion(p0), kind=kLoop, calls=body }"
 */
#ifndef FUSE_FUSE_H
#define FUSE_FUSE_H

#include "base/base.h"
#include "hlo/hlo.h"

typedef struct {
    const char *name; /* of the instruction whose value it makes; unique among the parts */
    const char *text; /* a module of its own, whose entry holds one fusion; NULL: a library call */
    const HloInstruction *at; /* the instruction; of several equal parts the first */
    uint64_t count;   /* how often the module does this: occurrences, each as often as its computation is called in the text */
} FusePart;

typedef struct {
    FusePart *items;
    uint32_t n, capacity;
} FuseParts;

/* fuse.c: the parts of a verified, normalised module, the entry's first. A fusion instruction of the module is a part as it stands. */
FuseParts fuse_parts(WbbCx *cx, WbbArena *a, const HloModule *m);

/* decide.c ------------------------------------------------------------------------------------------------------------------- */
typedef enum {
    FUSE_NOTHING, /* names a value that is in memory: parameters, constants, tuples, their elements */
    FUSE_INLINE,  /* computed where it is used, in every kernel that needs it */
    FUSE_ALIAS,   /* a reshape or bitcast of a value in memory: no code */
    FUSE_ROOT,    /* the result of a kernel */
    FUSE_FIXED,   /* a fusion of the module's own */
    FUSE_LIBRARY, /* not code of a fusion */
    FUSE_CONTROL, /* calls computations that are cut for themselves */
} FuseRole;

/* One role for each instruction of c, by its id. */
FuseRole *fuse_decide(WbbArena *a, const HloComputation *c);

/* write.c -------------------------------------------------------------------------------------------------------------------- */
/* The kernel whose result is `root` (FUSE_ROOT or FUSE_FIXED) as a module of its own. */
const char *fuse_write(WbbArena *a, const HloComputation *c, const FuseRole *roles, const HloInstruction *root);
/* A library call without names: equal texts for equal calls. */
const char *fuse_write_call(WbbArena *a, const HloInstruction *i);

#endif

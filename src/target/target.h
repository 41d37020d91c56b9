/* target: numbers and tables of one GPU generation, const data; and the assembler that makes machine code of its PTX.
 *
 *     const TgTarget *t = tg_find("sm_90");
 *     TgCubin c = tg_assemble(cx, arena, t, ptx, "gelu");        // ptxas as a child process
 */
#ifndef TG_TARGET_H
#define TG_TARGET_H

#include "base/base.h"
#include "rewrite/tables.h"

/* A number that decides, with its reason. `bits`: of the narrowest buffer type it holds for; 0: any. */
typedef struct {
    const char *name; /* "loop.unroll" */
    uint32_t bits;
    int64_t value;
    const char *because;
} TgTune;

/* An entry of a function's list, best first: how far off it was measured, and its machine instructions. gen/measured.py. */
typedef struct {
    uint16_t op, type; /* ScOp, ScType */
    bool approx;
    uint32_t rule, sass; /* of the target's tables; 0 where they were not counted */
    double ulp, noise;   /* below 0: not measured. noise: with approximate instructions anywhere within their bounds */
} TgLowering;

typedef struct {
    const char *name;         /* "sm_90" */
    const char *ptx;          /* "8.8" */
    uint32_t warp, sms, smem, regs, vector_bytes; /* smem: bytes of one block; regs: of one thread */
    const RwTables *tables;
    const TgTune *tunes;
    uint32_t n_tunes;
    const char *board, *features;              /* "A100"; "cp.async redux": what has(..) asks for, with a space between */
    uint32_t warps, blocks, sm_smem, sm_regs;  /* at most on one SM at a time */
    const TgLowering *lowerings;               /* by function, those of f16, bf16, f32 and f64 */
    uint32_t n_lowerings;
} TgTarget;

/* target.c */
const TgTarget *tg_find(const char *name); /* NULL if unknown */
const TgTarget *const *tg_all(uint32_t *n);
const TgTune *tg_tune(const TgTarget *t, const char *name, uint32_t bits); /* exact bits first, then 0; asserts that there is one */

/* ptxas.c */
typedef struct {
    const uint8_t *bytes; /* NULL: no cubin, `missing` says why */
    size_t n;
    const char *missing;
} TgCubin;
const char *tg_find_ptxas(WbbCx *cx, WbbArena *a); /* $WARPBURG_PTXAS, then PATH, then /usr/local/cuda/bin; NULL if none */
TgCubin tg_assemble(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name); /* fails with ptxas' message */

/* batch.c: many modules of one target in one run. A unit that ptxas refuses has its message and no cubin; the others are not touched
 * by it. A kernel of a unit is called prefix + entry in the cubin, which units share. */
typedef struct {
    const char *ptx;
    const char *const *entries; /* its kernels */
    uint32_t n_entries;
    TgCubin cubin;
    const char *prefix, *refused;
    uint32_t spill_stores, spill_loads; /* bytes, as ptxas counts them, of all entries */
    double ms;                          /* of ptxas, for these entries alone */
} TgUnit;
void tg_assemble_all(WbbCx *cx, WbbArena *a, const TgTarget *t, TgUnit *units, uint32_t n);
const char *tg_ptxas_version(WbbCx *cx, WbbArena *a); /* "release 13.0, V13.0.88"; "none" without ptxas */

/* sass.c: statistics read from the cubin itself, no disassembler. Counts leave out the padding at the end. */
typedef enum {
    TG_INTEGER, TG_F16, TG_F32, TG_F64, TG_CONVERSION, TG_SPECIAL, TG_MOVE, TG_LOAD, TG_STORE, TG_ATOMIC, TG_CONTROL, TG_BARRIER, TG_LANES, TG_MATRIX,
    TG_OTHER, TG_CLASSES
} TgClass;
extern const char *const tg_class_name[TG_CLASSES];
TgClass tg_sass_class(uint32_t operation); /* the low 9 bits of an instruction; sass_class.c */

typedef struct {
    uint32_t sass, regs, stack_bytes, smem_bytes, bar, shfl, atom, branch, mufu;
    uint32_t ldg[8], stg[8], lds[8], sts[8], ldl, stl; /* by log2 of bytes: [0] 1 byte .. [4] 16 bytes, [5] 32 */
    uint32_t local_loads[8], local_stores[8], generic_loads[8], generic_stores[8]; /* ldl and stl, and LD and ST, the same way */
    uint32_t classes[TG_CLASSES]; /* every instruction in one */
} TgSass;
TgSass tg_sass(WbbCx *cx, const TgCubin *cubin, const char *kernel);

#endif

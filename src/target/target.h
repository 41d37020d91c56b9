/* target: the numbers and tables of a GPU architecture, and ptxas, which assembles its PTX.
 *
 *     const TgTarget *t = tg_find("sm_90");
 *     TgCubin c = tg_assemble(cx, arena, t, ptx, "gelu");        // ptxas as a child process
 */
#ifndef TG_TARGET_H
#define TG_TARGET_H

#include "base/base.h"
#include "rewrite/tables.h"

/* A tuning number, with its reason. `bits`: width of the narrowest buffer type that it is for; 0: any. */
typedef struct {
    const char *name; /* "loop.unroll" */
    uint32_t bits;
    int64_t value;
    const char *because;
} TgTune;

/* A lowering of a function, the best of a function first: its measured error and machine instructions
 * (gen/measured.py). */
typedef struct {
    uint16_t op, type; /* ScOp, ScType */
    bool approx;
    uint32_t rule, sass; /* number of the rule; machine instructions, 0: not counted */
    /* largest error, below 0: not measured. noise: with any error that approximate instructions may have */
    double ulp, noise;
} TgLowering;

typedef struct {
    const char *name;         /* "sm_90" */
    const char *ptx;          /* "8.8" */
    uint32_t warp, sms, smem, regs, vector_bytes; /* smem: bytes of one block; regs: of one thread */
    const RwTables *tables;
    const TgTune *tunes;
    uint32_t n_tunes;
    const char *board, *features;             /* "A100"; "cp.async redux": the names that has(..) of a rule knows */
    uint32_t warps, blocks, sm_smem, sm_regs; /* limits of one SM */
    const TgLowering *lowerings;              /* by function; of f16, bf16, f32 and f64 */
    uint32_t n_lowerings;
} TgTarget;

/* target.c */
const TgTarget *tg_find(const char *name); /* NULL if unknown */
const TgTarget *const *tg_all(uint32_t *n);
/* The number for exactly `bits`, else the one for any; asserts that there is one. */
const TgTune *tg_tune(const TgTarget *t, const char *name, uint32_t bits);

/* ptxas.c */
typedef struct {
    const uint8_t *bytes; /* NULL: no cubin, `missing` says why */
    size_t n;
    const char *missing;
} TgCubin;
/* $WARPBURG_PTXAS, else the first on PATH, else /usr/local/cuda/bin/ptxas; NULL: none exists. */
const char *tg_find_ptxas(WbbCx *cx, WbbArena *a);
/* Fails with ptxas's message if it refuses the PTX of kernel `name`. */
TgCubin tg_assemble(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name);

/* batch.c: assembles many modules of one target in one run of ptxas. A unit that ptxas refuses has ptxas's message and
 * no cubin; the others are assembled all the same. Units may share a cubin, in which the kernels of a unit are named
 * prefix + entry. */
typedef struct {
    const char *ptx;
    const char *const *entries; /* names of its kernels */
    uint32_t n_entries;
    TgCubin cubin;
    const char *prefix, *refused; /* refused: ptxas's message, or NULL */
    uint32_t spill_stores, spill_loads; /* bytes, as ptxas counts them, of all entries */
    double ms;                          /* ptxas's time for these entries */
} TgUnit;
void tg_assemble_all(WbbCx *cx, WbbArena *a, const TgTarget *t, TgUnit *units, uint32_t n);
const char *tg_ptxas_version(WbbCx *cx, WbbArena *a); /* "release 13.0, V13.0.88"; "none" without ptxas */

/* sass.c: counts of machine instructions, read from the cubin without a disassembler; padding at the end is not
 * counted. */
typedef enum {
    TG_INTEGER, TG_F16, TG_F32, TG_F64, TG_CONVERSION, TG_SPECIAL, TG_MOVE, TG_LOAD, TG_STORE, TG_ATOMIC, TG_CONTROL,
    TG_BARRIER, TG_LANES, TG_MATRIX, TG_OTHER, TG_CLASSES
} TgClass;
extern const char *const tg_class_name[TG_CLASSES];
TgClass tg_sass_class(uint32_t operation); /* the low 9 bits of an instruction; sass_class.c */

typedef struct {
    uint32_t sass, regs, stack_bytes, smem_bytes, bar, shfl, atom, branch, mufu;
    uint32_t ldg[8], stg[8], lds[8], sts[8], ldl, stl; /* arrays by log2 of bytes: [0] 1 byte .. [4] 16 bytes, [5] 32 */
    /* ldl, stl, LD and ST by log2 of bytes */
    uint32_t local_loads[8], local_stores[8], generic_loads[8], generic_stores[8];
    uint32_t classes[TG_CLASSES]; /* their sum is `sass` */
} TgSass;
TgSass tg_sass(WbbCx *cx, const TgCubin *cubin, const char *kernel);

#endif

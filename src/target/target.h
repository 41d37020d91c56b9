/* target: the numbers and tables of a GPU architecture, and ptxas, which assembles its PTX.
 *
 *     const TgTarget *t = tg_find("sm_90");
 *     TgCubin c = tg_assemble(cx, arena, t, ptx, "gelu");        // ptxas in this process, or as a child process
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
    const char *file; /* "patterns/layouts.py" */
    uint32_t line;
    bool optional;    /* it may be disabled, and is `off` then: a limit is lifted, a term of a price left out */
    int64_t off;
} TgTune;

/* A way in which a fusion may become kernels (patterns/strategies.py, which says what is tried when). */
typedef enum { TG_AT_FUSION, TG_AT_TEXT, TG_AT_MODULE, TG_AT_EDGE } TgPlace;
typedef enum {
    TG_FIRST,   /* it makes the plan, if none before it has */
    TG_CHEAPER, /* it takes the place of that if it saves `save` percent of its time */
    TG_TESTED   /* it does if its own test holds */
} TgTaken;
typedef struct {
    const char *name; /* "share" */
    uint8_t at, taken; /* TgPlace, TgTaken */
    bool rival;        /* it is made of the plan whose place it takes */
    int64_t save;
    bool full_rates; /* at the full rates of memory, too */
    int64_t fewer;   /* .. or takes as long, with less than so many percent of its issue slots */
    int64_t launches; /* that it has at least */
    /* strategies, as bits of their numbers: what the first part of a cut plan does not try; what no part does */
    uint32_t first, parts;
    const char *tested, *needed; /* what the test is; why it cannot be left out, "": it can */
    const char *because, *file;
    uint32_t line;
    bool off; /* it is left out: --disable */
} TgStrategy;

/* How fast the machine is; gen/rates.py lists the names. Where no source states the value (`stated` is false) it is the
 * geometric mean of the bounds. Pipes are in lanes, operations of threads, a clock and SM: a pipe of n lanes is busy
 * 128 / n clocks of one of the four sub-partitions of an SM with one instruction of a warp. */
typedef struct {
    const char *name, *unit; /* "dram", "bytes/s" */
    double value, low, high; /* low <= value <= high; all equal where the source leaves no doubt */
    const char *source;
    bool stated;
} TgRate;

/* What a form of PTX instruction costs: clocks of one of the four sub-partitions of an SM, for a warp. `cycles` of a
 * pipe are those that it is busy; a machine operation may keep two pipes busy (IMAD: `imad` and `fma`). Memory
 * instructions have the addresses of LSU here; sectors and wavefronts depend on what they access. Where a slow path
 * lies beside the usual one (div.rn.f32 of subnormals) the usual one is counted. */
typedef enum {
    TG_PIPE_FMA, TG_PIPE_ALU, TG_PIPE_IMAD, TG_PIPE_HALF, TG_PIPE_F64, TG_PIPE_XU, TG_PIPE_LSU, TG_PIPE_REDUX,
    TG_PIPE_TENSOR, TG_PIPE_UNIFORM, TG_PIPE_CONTROL, TG_PIPES
} TgPipe; /* in the order of UNITS of gen/prices.py */
extern const char *const tg_pipe_name[TG_PIPES];

typedef struct {
    float issue;            /* slots, one for each machine instruction */
    float cycles[TG_PIPES];
    float low, high;        /* bounds of the busiest pipe's cycles, as far as rates are not sure */
    float latency;          /* from operand to result; of a load one that hits L1 */
    uint16_t off;           /* machine instructions of slow paths, not counted */
} TgPrice;

/* A lowering of a function, the best of a function first: its measured error and machine instructions
 * (gen/measured.py). */
typedef struct {
    uint16_t op, type; /* ScOp, ScType */
    bool approx;
    uint32_t rule, sass; /* number of the rule; machine instructions, 0: not counted */
    /* largest error, below 0: not measured. noise: with any error that approximate instructions may have */
    double ulp, noise;
} TgLowering;

/* What all generations have alike. */
enum {
    TG_SECTOR = 32,       /* bytes that DRAM and L2 move at least */
    TG_LINE = 128,        /* bytes that L1 keeps together: a wavefront of most, and what atomics meet in */
    TG_CODE = 16,         /* bytes of a machine instruction */
    TG_BANKS = 32,        /* of shared memory, each a word wide: what lanes of a warp access at a time */
    TG_MAX_THREADS = 1024 /* of a block */
};

typedef struct {
    const char *name;         /* "sm_90" */
    const char *ptx;          /* "8.8" */
    uint32_t warp, sms, smem, regs, vector_bytes; /* smem: bytes of one block; regs: of one thread */
    const RwTables *tables;
    const TgTune *tunes; /* in the order of names, of equal ones of bits */
    uint32_t n_tunes;
    const TgStrategy *strategies; /* in the order of trying */
    uint32_t n_strategies;
    const TgRate *rates; /* in the order of names */
    uint32_t n_rates;
    const TgPrice *prices;
    uint32_t n_prices;
    const uint16_t *price_of; /* by form: the number of its row in `prices`, from 1; 0: the target has no such form */
    uint32_t n_price_of;
    const char *const *forms; /* of instructions that have prices on some target, in order */
    uint32_t n_forms;
    const struct TgSassPrice *sass_prices;
    uint32_t n_sass_prices;
    const char *board, *features;             /* "A100"; "cp.async redux": the names that has(..) of a rule knows */
    uint32_t warps, blocks, sm_smem, sm_regs; /* limits of one SM */
    const TgLowering *lowerings;              /* by function; of f16, bf16, f32 and f64 */
    uint32_t n_lowerings;
} TgTarget;

extern const char *const tg_forms[]; /* generated, of the targets that are built in */

/* tables.c: the tables of the rules, of a file that gen/gen_tables.py wrote for this program. Fails where it is none,
 * or is damaged. What the file says of programs of the engine (RwTables.code) is taken as it is. */
typedef struct {
    const RwTables *index;
    const TgTarget *const *targets;
    uint32_t n_targets;
    const char *name; /* of its contents: for keys of caches; "": built in */
} TgTables;
const TgTables *tg_read_tables(WbbCx *cx, WbbArena *a, const char *path);
/* target.c: takes these instead of those that are built in, or were taken before, which it returns. While there are no
 * other threads. */
const TgTables *tg_use_tables(const TgTables *tables);
const char *tg_code_identity(WbbArena *a); /* for keys of caches: the program, and the tables that it uses */

/* target.c */
const TgTarget *tg_find(const char *name); /* NULL if unknown */
/* Fails at `at` where there is no such target, and names those that there are. */
const TgTarget *tg_named(WbbCx *cx, WbbLoc at, const char *name);
const TgTarget *const *tg_all(uint32_t *n);
bool tg_has(const TgTarget *t, const char *feature); /* a word of its features */
/* Has the target an instruction for the operation alone, at this many elements of the type? */
bool tg_has_instruction(const TgTarget *t, ScOp op, ScType type, uint32_t lanes);
/* The number for exactly `bits`, else the one for any; asserts that there is one. */
const TgTune *tg_tune(const TgTarget *t, const char *name, uint32_t bits);
int64_t tg_tuned(const TgTarget *t, const char *name); /* the value of the one for any number of bits */
/* The tuning number at FILE.py:LINE, with or without its folder; NULL: none is there. */
const TgTune *tg_tune_at(const TgTarget *t, const char *place);
/* The same of a strategy; by its name; and of either. */
const TgStrategy *tg_strategy_at(const TgTarget *t, const char *place);
const TgStrategy *tg_strategy(const TgTarget *t, const char *name);
bool tg_is_choice(const TgTarget *t, const char *place);
bool tg_leaves_out(const TgTarget *t); /* is a strategy disabled? */
/* The target with the tuning numbers and strategies of these places disabled, in the arena; t itself where no place is
 * that of one. Fails where one cannot be disabled. */
const TgTarget *tg_without(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *const *places, uint32_t n);
/* NULL where the target has no such rate ("pipe.redux" before sm_80); tg_rate asserts that there is one. */
const TgRate *tg_find_rate(const TgTarget *t, const char *name);
const TgRate *tg_rate(const TgTarget *t, const char *name);
uint32_t tg_schedulers(const TgTarget *t); /* of an SM, each of which issues an instruction of a warp a clock */

/* price.c: machine instructions of the first lowering of a function that was counted; 0: none was. */
uint32_t tg_function_slots(const TgTarget *t, ScOp op, ScType type);
/* The price of an instruction by its form; NULL if it has none (patterns/prices.tsv). A form is spelled as the
 * opcode with its modifiers in a PTX text, and a suffix where operands matter:
 *
 *     fma.rn.f32   ld.global.nc.v4.b32   setp.lt.s32   bar.sync     no suffix
 *     shl.b32 imm          a source is a literal
 *     mov.b64 pack         mov {%r1, %r2} into one register; `mov.b64 unpack` the other way
 *     mov.u32 special      the source is a special register (%tid.x); `mov.b64 symbol` an address of a variable
 *     max.f32 3            a minimum or maximum of three sources
 *
 * A form with a suffix that has no price of its own costs what the one without it costs. An immediate of a shuffle,
 * vote, barrier or `lop3` is no suffix: there they always are. */
const TgPrice *tg_price(const TgTarget *t, const char *form, size_t n);

/* assembler.c: what assembles PTX. */
typedef enum { TG_NO_ASSEMBLER, TG_NVPTXCOMPILER, TG_PTXAS, TG_NVJITLINK } TgAssemblerKind; /* the first one found */
typedef struct {
    TgAssemblerKind kind;
    const char *path;    /* of the library, or of ptxas */
    const char *missing; /* of TG_NO_ASSEMBLER: what was not found, and how to get it */
} TgAssembler;
/* That $WARPBURG_PTXAS names, a file or a kind, which has no fallback; else the first one that is found. */
TgAssembler tg_find_assembler(WbbCx *cx, WbbArena *a);
/* That which assembles: the same, or, where that is a library that cannot be loaded, as one of another machine with the
 * same home, the next one, unless it was asked for. It loads the library, which a key of a cache does not need. */
TgAssembler tg_loadable_assembler(WbbCx *cx, WbbArena *a);
const char *tg_assembler_name(TgAssemblerKind kind); /* "nvptxcompiler" */
const char *tg_find_kind(WbbCx *cx, WbbArena *a, TgAssemblerKind kind); /* whatever WARPBURG_PTXAS says */
/* For keys of caches: path, size and time of the file. Only for a script, whose file says nothing of what it starts, a
 * process is started, for its version. */
const char *tg_assembler_identity(WbbCx *cx, WbbArena *a, const TgAssembler *x);
/* The program of that name: on PATH, in NVIDIA's Python packages, else /usr/local/cuda/bin/ptxas; NULL: none exists, or
 * $WARPBURG_PTXAS names what does not. Other tools and libdevice stand near it. */
const char *tg_find_ptxas(WbbCx *cx, WbbArena *a);
const char *tg_find_in_packages(WbbCx *cx, WbbArena *a, const char *path); /* "nvvm/libdevice/libdevice.10.bc" */
/* NVIDIA's archive of nvPTXCompiler, NULL: none is found; and where the library that is linked from it is looked for,
 * NULL: there is no folder for it. */
const char *tg_find_archive(WbbCx *cx, WbbArena *a);
const char *tg_linked_library(WbbArena *a);
void tg_link_library(WbbCx *cx, WbbArena *a); /* link.c: makes it of the archive */

/* ptxas.c */
typedef struct {
    const uint8_t *bytes; /* NULL: no cubin, `missing` says why */
    size_t n;
    const char *missing;
    const char *by; /* path of the assembler that made it; NULL: it is not from one */
} TgCubin;
/* Fails with the assembler's message if it refuses the PTX of kernel `name`. */
TgCubin tg_assemble(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name);
/* The same code, with the lines of the PTX. */
TgCubin tg_assemble_lines(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name);

/* "release 13.0, V13.0.88" of ptxas; of a library without the last number, "nvptxcompiler 13.0", or "cannot be loaded:
 * .."; "none" without an assembler */
const char *tg_version_of(WbbCx *cx, WbbArena *a, const TgAssembler *x);

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

/* sass.c: counts of machine instructions, read from the cubin without a disassembler; padding at the end is not
 * counted. */
typedef enum {
    TG_INTEGER, TG_F16, TG_F32, TG_F64, TG_CONVERSION, TG_SPECIAL, TG_MOVE, TG_LOAD, TG_STORE, TG_ATOMIC, TG_CONTROL,
    TG_BARRIER, TG_LANES, TG_MATRIX, TG_OTHER, TG_CLASSES
} TgClass;
extern const char *const tg_class_name[TG_CLASSES];

typedef struct {
    uint32_t sass, regs, stack_bytes, smem_bytes, bar, shfl, atom, branch, mufu;
    uint32_t ldg[8], stg[8], lds[8], sts[8], ldl, stl; /* arrays by log2 of bytes: [0] 1 byte .. [4] 16 bytes, [5] 32 */
    /* ldl, stl, LD and ST by log2 of bytes */
    uint32_t local_loads[8], local_stores[8], generic_loads[8], generic_stores[8];
    uint32_t classes[TG_CLASSES]; /* their sum is `sass` */
} TgSass;
TgSass tg_sass(WbbCx *cx, const TgTarget *t, const TgCubin *cubin, const char *kernel);

/* sass_lines.c: one machine instruction. */
typedef struct {
    uint64_t first, second; /* its 16 bytes */
    uint32_t line;          /* of the PTX that it was made of; 0: none */
    bool slow;              /* on a slow path, as that of a division of subnormals */
} TgSassAt;
/* Of a cubin of tg_assemble_lines; returns their number. */
uint32_t tg_sass_lines(WbbCx *cx, WbbArena *a, const TgTarget *t, const TgCubin *cubin, const char *kernel,
                       TgSassAt **out);
/* price.c: what it costs, in an issue slot of its own; NULL: it has no price (patterns/sass.tsv). */
typedef struct TgSassPrice {
    uint16_t operation;     /* the low 9 bits; 0x200 more of packed halves in bf16 */
    uint8_t class;          /* TgClass */
    float cycles[TG_PIPES]; /* as in TgPrice */
} TgSassPrice;
const TgSassPrice *tg_sass_price(const TgTarget *t, const TgSassAt *x);
TgClass tg_sass_class(const TgTarget *t, const TgSassAt *x); /* sass_class.c */
/* ptxas.c: nvdisasm's text of it, with the lines of the PTX; NULL: there is none next to ptxas or on PATH. */
const char *tg_sass_text(WbbCx *cx, WbbArena *a, const TgCubin *cubin);

#endif

/* sim: runs PTX on the CPU, a warp at a time, and under `check` judges every access.
 *
 * PTX text is parsed and decoded once; an unknown instruction or modifier is a wbb_fail at its line. A launch runs
 * block after block; faults of the program (an access out of bounds, a run-away loop, ...) are in the report, and no
 * failure.
 *
 *     SimModule *m = sim_parse(cx, arena, "kernel.ptx", text);
 *     SimBuffer b[] = {{.bytes = in, .size = 64, .role = BD_IN}, {.bytes = out, .size = 64, .role = BD_OUT}};
 *     SimReport report;
 *     sim_run(cx, arena, m, &launch, b, 2, &(SimOptions){.check = true}, &report);
 *     // report.n_faults == 0, report.instructions
 *
 * Launches over the same buffers follow each other in order. Between them the caller hands SimReport.written on in
 * SimBuffer.written, and sets SimOptions.more for all but the last.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/base.h"
#include "bundle/bundle.h"

typedef struct SimModule SimModule;

/* Contents that are made when a load or a store touches their page: bytes [at, at + n) of a buffer, a page or the
 * last part of one. Two calls give the same bytes. */
enum { SIM_PAGE = 4096 };
typedef struct {
    void (*make)(void *arg, uint64_t at, size_t n, uint8_t *out);
    void *arg;
    uint8_t *made; /* of each page: it is there */
} SimSource;

/* Device memory behind arguments. The simulator reads and writes `bytes` in place. */
typedef struct {
    void *bytes;
    size_t size;
    uint32_t align;   /* of its address, in bytes: a wider access is a fault; 0: that of every access */
    BdRole role;      /* BD_IN: a store to it is a fault */
    BdWrites writes;  /* of an output: which stores are faults under check */
    bool initialised; /* an output or temporary whose contents may be read from the start */
    const SimSource *source; /* NULL: the contents are there */
    uint8_t *written;        /* check: SimReport.written of the launch before, which sim_run goes on with; NULL: none */
} SimBuffer;

typedef enum { SIM_GLOBAL, SIM_SHARED, SIM_LOCAL, SIM_CONST, SIM_GENERIC, SIM_SPACES } SimSpace;

/* counts.c: what SimCounts counts. Predicated-off instructions and lanes are not counted. */
typedef enum {
    SIM_CLASS_INTEGER, SIM_CLASS_F16, SIM_CLASS_F32, SIM_CLASS_F64, SIM_CLASS_CONVERT, SIM_CLASS_SPECIAL,
    SIM_CLASS_MOVE, SIM_CLASS_LOAD, SIM_CLASS_STORE, SIM_CLASS_ATOMIC, SIM_CLASS_CONTROL, SIM_CLASS_BARRIER,
    SIM_CLASS_LANES, SIM_CLASS_MATRIX, SIM_CLASSES
} SimClass;
typedef enum { SIM_LOADED, SIM_STORED, SIM_UPDATED, SIM_ACCESSES } SimAccess;
extern const char *const sim_class_name[SIM_CLASSES], *const sim_space_name[SIM_SPACES];
extern const char *const sim_access_name[SIM_ACCESSES];

typedef struct {
    uint64_t requests;   /* instructions of a warp */
    uint64_t bytes;      /* asked for, by all lanes */
    uint64_t sectors;    /* of 32 bytes; not of shared memory */
    uint64_t wavefronts; /* of shared memory */
    uint64_t conflicts;  /* wavefronts more than one for 128 bytes */
    uint64_t widths[6];  /* requests by log2 of a lane's bytes */
} SimTraffic;

/* Added up over launches; the caller clears it first. */
typedef struct {
    uint64_t launches, blocks, warps, threads;
    uint64_t thread_instructions, warp_instructions;
    uint64_t threads_by[SIM_CLASSES], warps_by[SIM_CLASSES]; /* instructions executed, counted a thread and a warp */
    uint64_t branches, divergent;                            /* counted a warp; those that split it */
    SimTraffic memory[SIM_SPACES][SIM_ACCESSES];             /* generic accesses count where they went */
} SimCounts;

/* profile.c: where bytes of memory came from. L1 and L2 hold what was touched a short while ago. */
typedef enum { SIM_FROM_SHARED, SIM_FROM_L1, SIM_FROM_L2, SIM_FROM_DRAM, SIM_FROM_ATOMIC, SIM_FROM } SimFrom;

/* Accesses of one instruction to one space. Sectors are 32 bytes, wavefronts 128. */
typedef struct {
    uint64_t requests;        /* instructions of a warp */
    uint64_t bytes;           /* asked for, by all lanes */
    uint64_t sectors, needed; /* touched; as many as the different bytes fill. Not of shared memory */
    uint64_t wavefronts, ideal;
    uint64_t l2, dram;        /* sectors that L1 did not have; those of them that L2 did not have */
} SimFlow;

/* One instruction of the text, and what it did in a launch. */
typedef struct {
    const char *name;        /* as written: "ld.global.v4.b32"; "": the end of a function without a ret */
    const char *text;        /* in the PTX, from its name on */
    int line;
    int loop;                /* of a branch backward: the line of the loop's first instruction; else 0 */
    uint64_t warps, threads; /* executions */
    uint64_t passed;         /* executions of a warp in which no lane's guard held */
    uint64_t splits;         /* branches: those that split a warp */
    uint64_t iterations;     /* of loops that the assembler makes of an atomic operation, after the first of each */
    double stalls;           /* clocks for which later instructions waited for its result, in timed blocks */
    SimFlow flow[SIM_LOCAL + 1]; /* by space; constants and variables count as global */
} SimSite;

/* Different sectors of a buffer. */
typedef struct {
    uint64_t loaded, stored; /* loaded before the launch stored them; stored */
    uint64_t again;          /* loads of sectors that L2 had and lost */
    uint64_t size;           /* all sectors that it has */
} SimUse;

/* Clocks for which an instruction holds back the next one of its warp, and after which its result can be used. */
typedef struct {
    double issue, latency;
    double again;  /* atomic operations: clocks until another one at the same address can be done */
    bool together; /* those of one request at an address take no longer than one: all but one of them fail */
    double iteration; /* not 0, in shared memory: the assembler makes it a loop, whose iterations take so many clocks */
    double ahead;     /* of a loop's branch: iterations whose loads are all issued before one of them is waited for */
} SimPace;

/* Atomic operations on buffers. Those on one line of 128 bytes take turns: requests, their sectors, and in these lanes
 * with the same address, or each 16 bytes of different ones. */
typedef struct {
    double requests, pairs;  /* of all lines, a sector each; the sum of n * (n - 1) over lines with n of them */
    double hottest, longest; /* requests of the line that they keep busy longest, and the clocks */
} SimUpdates;

/* Of one launch. What the simulator does not know, the caller says: a GPU's numbers. */
typedef struct {
    void (*pace)(void *arg, const SimSite *site, SimPace *out); /* of an instruction; NULL: one clock each */
    void *arg;
    double latency[SIM_FROM];    /* clocks of loads and atomic operations */
    uint64_t l1_bytes, l2_bytes; /* that a block, and that all blocks may touch before they touch a sector again */
    uint64_t together;           /* blocks that run at a time; 0: one */
    uint64_t sms; /* on which they do, each with an L1 that is kept from block to block; 0: none is kept */
    /* Instructions between branches and barriers that are issued as soon as their operands are ready, whatever stands
     * before them, as the assembler may order them; 0: all in the order of the text. */
    uint32_t window;
    /* Filled by sim_run: */
    SimSite *sites;
    uint32_t n_sites;
    const char *text;      /* the PTX */
    SimUse *uses;          /* by buffer; the last one is of the module's variables */
    int n_uses;
    SimUpdates updates;
    uint64_t blocks, grid; /* that ran, of how many */
    uint64_t timed;        /* blocks whose dependent chains were followed */
    double longest, sum;   /* clocks of the longest chain of a timed block, and of all of them together */
} SimProfile;

/* In which order blocks, and the warps of each, run: by their numbers, upwards or downwards, until they wait or end;
 * or a few blocks at a time, whose warps take turns that a seed decides and that end at accesses to memory. */
typedef enum { SIM_FORWARD, SIM_REVERSE, SIM_SHUFFLED } SimOrder;

typedef struct {
    bool check;
    bool more;              /* launches follow: outputs need not be complete after this one */
    SimOrder order;
    uint64_t order_seed;    /* of SIM_SHUFFLED */
    uint64_t seed;          /* choice of sampled blocks, noise */
    uint64_t blocks;        /* run only that many blocks, spread over the grid; 0: all of them */
    uint32_t threads;       /* host threads that blocks may be spread over; 0 and 1: one. Results do not depend on it */
    uint64_t budget;        /* instructions one thread may execute in one launch; 0: 100 million */
    size_t padding;         /* bytes behind each buffer that loads may read, as zeros, and atomics may cross into */
    SimCounts *counts;      /* added to; NULL: nothing is counted */
    SimProfile *profile;    /* of this launch; NULL: none. The launch runs on one thread */
    bool ulp_noise;         /* move results of approximate instructions within their documented bound */
} SimOptions;

enum { SIM_MAX_FAULTS = 32 };

typedef struct {
    uint64_t blocks, warps;
    uint64_t instructions;                       /* executed, counted a thread; predicated-off ones are not */
    uint64_t warp_instructions;                  /* the same, counted a warp */
    uint64_t divergent;                          /* branches that split a warp */
    uint64_t loads[SIM_SPACES][6]; /* executed a thread; by space and log2 of the access's bytes (1 .. 32) */
    uint64_t stores[SIM_SPACES][6];
    int n_faults;
    bool ran_away;                               /* one of them is that a warp executed more than the budget */
    const char *faults[SIM_MAX_FAULTS];          /* each one or two lines; the launch ends when the list is full */
    uint8_t *const *written; /* check: for each buffer NULL or one byte a byte: times written, up to 2 */
} SimReport;

/* Adds counts and faults. */
void sim_report_add(SimReport *to, const SimReport *from);

/* Decode PTX text. `file` names it in messages and faults; `text` must stay as long as the module. */
SimModule *sim_parse(WbbCx *cx, WbbArena *a, const char *file, const char *text);
/* mul, add and sub without a rounding modifier, of which the PTX manual lets ptxas make fused multiply-adds: as
 * written; fused where they can be; where a sum has two products, fused with the second. */
typedef enum { SIM_UNFUSED, SIM_FUSED_FIRST, SIM_FUSED_SECOND } SimFusing;
SimModule *sim_parse_fused(WbbCx *cx, WbbArena *a, const char *file, const char *text, SimFusing fused);
/* How many of these ways differ: 1, 2 or 3. */
uint32_t sim_fusings(const SimModule *m);
/* Names of the module's kernels, in order; NULL after the last. */
const char *sim_entry(const SimModule *m, int i);
/* How many parameters that kernel has; -1: there is none. */
int sim_parameters(const SimModule *m, const char *entry);
/* Bytes of static shared memory of a block, and in `block` the threads that .reqntid says, or 0s. */
uint64_t sim_block_needs(const SimModule *m, const char *entry, uint32_t block[3]);
/* A result may depend on the order of warps or blocks: atomic operations, barriers or shared memory occur. */
bool sim_ordered_work(const SimModule *m);
/* Run one launch. Argument i of the kernel is a pointer to buffers[launch->args[i]], or null. An unknown entry, a wrong
 * number of arguments or a launch outside the limits of the hardware is a wbb_fail. */
void sim_run(WbbCx *cx, WbbArena *a, const SimModule *m, const BdLaunch *launch, const SimBuffer *buffers,
             int n_buffers, const SimOptions *options, SimReport *report);
/* The number of the i-th block that a run with these options executes, i < the number of blocks that run. */
uint64_t sim_block(const BdLaunch *launch, const SimOptions *options, uint64_t i);

#endif

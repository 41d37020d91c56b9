/* The state of a running block, which the files of sim/ share. */
#ifndef SIM_INNER_H
#define SIM_INNER_H

#include "sim/program.h"

typedef struct {
    uint32_t pc, mask;
    bool parked;
    bool waits;     /* it gave way in a loop that waits for memory */
    uint32_t since; /* Warp.yields when it last ran */
} Group;

enum { POLLS = 4, COPY_GROUPS = 8 };

/* The lanes that are undefined in the lower half of a column, and in the upper one. */
typedef struct {
    uint32_t half[2];
} UndefinedLanes;

typedef struct Warp {
    uint8_t *regs;
    uint8_t *local, *local_written;
    UndefinedLanes *undefined; /* of each tracked column; NULL: none is tracked */
    uint32_t live;            /* lanes that have not ended */
    uint32_t all;             /* lanes that exist */
    uint32_t pc, mask;        /* the running group */
    uint32_t next_pc;         /* lowest pc of the groups that wait unparked */
    Group groups[LANES];
    int n_groups;
    uint32_t yields;          /* how often a group gave way to another */
    bool waits;               /* the running group has read, in this slice, what may be waited for */
    uint32_t at_barrier;      /* barrier number + 1 while waiting; AT_MBARRIER */
    const struct SimOp *wait; /* the operation at which it waits */
    uint32_t cluster_phase;   /* of the cluster's barrier when it arrived */
    uint32_t copy_group[LANES]; /* groups of asynchronous copies that were committed */
    bool done;
    uint64_t executed, slice; /* instructions of a lane, roughly; for the budget; when a loop gives way */
    uint64_t look; /* of `executed`: when it asks whether the run goes on */
    uint32_t first_thread;
    uint64_t polled[POLLS];   /* what the last reads that may wait for a change have seen, by operation */
    uint64_t polls;           /* number of such reads */
    const struct SimOp *poll; /* the last one */
    uint8_t poll_lane;
    double time, copied;      /* profile.c: clocks; when the last asynchronous copy will be done */
    double group_done[COPY_GROUPS]; /* when the copies up to the last groups are done, by number modulo COPY_GROUPS */
    uint32_t commits;               /* groups of asynchronous copies so far */
    double *ready;            /* by column / SIM_COLUMN: when its value can be used */
    uint32_t *maker;          /* by column / SIM_COLUMN: the site that makes it */
    uint32_t waited, barrier_site; /* barrier + 1 that it came to, until its next instruction */
    uint32_t waited_phase;         /* 0 or 1: how often that was complete, modulo 2 */
    /* Since the last branch or barrier: when the last instruction was issued, what that waited for, and how many. */
    double pending;
    uint32_t pending_site, in_window;
    uint32_t loop_site;      /* the branch that began the last iteration of a loop .. */
    double iterations;       /* .. and those since loads were waited for */
} Warp;

/* shadow.c: the last accesses of each byte of a segment. */
typedef struct SimShadow SimShadow;
typedef enum { SIM_TOUCH_LOAD, SIM_TOUCH_STORE, SIM_TOUCH_ATOMIC } SimTouch;
enum { SIM_GRANULE = 64 };
enum { SIM_CONSTANT = 1 }; /* SimOp.mode of a load: .nc */

/* order.c: what comes before something. A view is shared by all who know the same, and NULL where that is nothing. */
typedef struct SimView SimView;

/* What a thread knows, where memory orders threads. By scope: of the block, the cluster, the GPU. */
typedef struct {
    SimView *view;         /* what comes before its next access, beside what barriers of its block order */
    SimView *seen[SCOPES]; /* released to what it has read, which a fence of that scope will add to the view */
    SimView *fenced[SCOPES], *fenced_view[SCOPES]; /* what came before its last fence: in its block, and its view */
} SimThread;

/* What was released at an address, by scope: to the last block that wrote there, to its cluster, to all. */
typedef struct {
    uint32_t block; /* Block.serial */
    SimView *by[SCOPES];
} Message;

static inline bool sim_same_cluster(uint32_t serial, uint32_t other)
{
    return (serial - 1) / MAX_CLUSTER == (other - 1) / MAX_CLUSTER;
}

/* Segment.written of a byte: written; a second store was reported; it has contents from the start; ld.global.nc
 * reads them; and an earlier launch wrote it, so that another store is the second. */
enum { SIM_WRITTEN = 1, SIM_REPORTED = 2, SIM_CONTENTS = 3, SIM_HELD = 4, SIM_EARLIER = 5 };

typedef struct {
    uint8_t *bytes, *written;
    uint64_t size;
    uint32_t align;                 /* a power of two, or 0: of everything */
    bool readonly, track, multiple; /* stores are faults; reads need earlier writes; several writes are fine */
    bool complete;                  /* every byte must be written in the end */
    const char *name;
    SimShadow *shadow;              /* NULL: races are not looked for */
    uint32_t *writers;              /* of each SIM_GRANULE bytes: 1 + number of the block that wrote last; or NULL */
    bool initialised;               /* it has contents from the start of the launch */
    bool argument;                  /* the launch has its address */
    bool variable;                  /* of the module */
    const char *gone;               /* shared memory of another block: why it may not be there; or NULL */
    const SimSource *source;        /* which are made page by page; or NULL */
} Segment;

/* A barrier of a block: the warps that came since it was last complete. */
typedef struct {
    uint32_t expected;     /* threads; 0: all warps that have not ended */
    uint32_t arrived;      /* threads, in whole warps */
    uint32_t came, waiting; /* warps */
    uint32_t set, lanes;   /* bar.red: threads whose predicate held, threads that came */
    uint32_t clock[LANES];
    uint32_t phase;        /* how often it was complete */
    SimView *view;
} Barrier;

enum { BARRIERS = 16, AT_CLUSTER = 17, AT_MBARRIER = 18 };

/* An asynchronous copy that was issued. It happens when a thread waits for it, as late as the program allows. */
typedef struct {
    const SimOp *op;
    struct Warp *warp;
    uint64_t to, from, mbarrier; /* generic addresses; mbarrier 0: a group's */
    uint32_t size, source;       /* bytes; the rest after `source` is zeros */
    uint32_t group;
    uint8_t lane;
} Copy;

typedef struct {
    uint64_t address;
    uint32_t clock[LANES];
} MbarrierClock;

/* The blocks that run together and see each other's shared memory. */
typedef struct Cluster {
    struct Block *blocks[MAX_CLUSTER];
    int n;
    const uint32_t *table; /* of SimPlan, as `threads` */
    uint32_t threads;
    bool unwatched; /* shared memory of other blocks: copies may have gone there, which shadow.c does not know */
    uint32_t phase, arrived; /* of the cluster's barrier: how often it was complete, warps that came since */
    SimView *arriving, *came; /* what comes before the arrivals of this phase, and before the end of the last one */
} Cluster;

/* counts.c: executions of an operation. */
typedef struct {
    uint64_t threads, warps, passed, splits;
} SimTally;

/* profile.c: what blocks of a launch share. */
typedef struct SimMeter SimMeter;

typedef struct {
    int n;
    uint64_t keys[SIM_MAX_FAULTS]; /* of the line and the kind of fault */
    const char *texts[SIM_MAX_FAULTS];
} Faults;

/* What all blocks that one host thread runs share. */
typedef struct {
    Faults faults;
    uint32_t shadow_pages;
    uint64_t changes; /* of memory, and arrivals at barriers: a thread that waits may have waited for one */
    uint64_t news;    /* reads that saw something else than the time before */
    SimView *spare_views, *spare_leaves[32], *joined[3];
    bool given_up;    /* views grew too large: blocks are taken as ordered */
} Machine;

/* A block that runs. */
typedef struct Block {
    Machine *all;
    WbbCx *cx;
    WbbArena *arena;
    const SimModule *m;
    const SimFunc *entry;
    const BdLaunch *launch;
    const SimOptions *options;
    Segment *buffers; /* from number 1 */
    int n_buffers;
    Segment *vars;
    uint8_t *shared, *shared_written;
    uint64_t shared_size;
    SimShadow *shared_shadow;
    bool outputs_read;        /* a load of an output was seen */
    bool spread;              /* other threads run other blocks: a fault, or a read of an output, stops this one */
    uint32_t id[3], number;   /* of the block */
    uint32_t serial;          /* shadow.c: 1 + rank + MAX_CLUSTER * the number of the cluster */
    uint32_t clock[LANES][LANES]; /* [p][q]: how far warp p surely comes after warp q; [p][p]: its time */
    uint32_t synced[LANES];       /* what lanes of a warp did before this time comes before what others of them do */
    bool orders;                  /* check, and memory or the cluster's barrier may order threads */
    SimThread *threads;
    Warp *warps;
    int n_warps;
    uint64_t budget, slice; /* operations of a warp: of the launch; after which a loop gives way */
    bool own;         /* every warp has its own register file, so that warps can take turns */
    bool abreast;     /* a warp's turn ends where it waits for memory, so that warps share what L1 has for a while */
    bool stop;
    SimReport report;
    uint8_t *scratch; /* one column */
    uint32_t round;   /* rounds over all warps so far */
    SimTally *tally;  /* by operation; NULL: not counted */
    SimTally *runs;   /* by operation: executions of stretches that begin here, less those of stretches that ended */
    SimMeter *meter;  /* NULL: not profiled */
    bool timed;       /* its dependent chains are followed */
    double chain, copied; /* clocks: the longest so far; when its last asynchronous copy will be done */
    /* when the last warp came to a barrier, or to the cluster's, in each of two phases: warps that go on come to the
     * next one before others have gone on from this one */
    double arrived[BARRIERS + 1][2];
    Barrier barriers[BARRIERS];
    uint32_t busy;    /* barriers that a warp has come to */
    bool met;         /* a warp went on behind the cluster's barrier: all blocks of the cluster have started */
    Cluster *cluster;
    uint32_t rank, ticks;
    struct { Copy *items; uint32_t n, capacity; } copies;
    struct { MbarrierClock *items; uint32_t n, capacity; } mbarriers;
} Block;

/* What is the same for all blocks of a launch. */
typedef struct {
    const BdLaunch *launch; /* its grid counts blocks */
    BdLaunch groups;        /* its grid counts clusters */
    const SimOptions *options;
    const uint8_t *params;
    const uint32_t *table;  /* numbers of threads in their block, by warp and dimension */
    uint32_t threads, size; /* of a block; blocks of a cluster */
    uint64_t n;             /* clusters to run */
} SimPlan;

/* One lane of a column. */
static inline uint64_t sim_lane(const uint8_t *column, int lane, int width)
{
    uint64_t v = 0;
    memcpy(&v, column + (size_t)lane * (size_t)width, (size_t)width);
    return v;
}

static inline uint32_t sim_lane32(const uint8_t *column, int lane)
{
    uint32_t v;
    memcpy(&v, column + 4 * (size_t)lane, 4);
    return v;
}

static inline uint64_t sim_lane64(const uint8_t *column, int lane)
{
    uint64_t v;
    memcpy(&v, column + 8 * (size_t)lane, 8);
    return v;
}

/* Bits of a predicate column, whose lanes are 0 or 1. */
static inline uint32_t sim_predicates(const uint8_t *column)
{
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t eight;
        memcpy(&eight, column + 8 * i, 8);
        r |= (uint32_t)((eight * UINT64_C(0x0102040810204080)) >> 56) << (8 * i);
    }
    return r;
}

/* columns.c */
void sim_fill(uint8_t *column, uint64_t value, int width);
void sim_blend(uint8_t *d, const uint8_t *s, uint32_t mask, int width); /* lanes of `mask` take the value of `s` */

/* fault.c */
void sim_add_fault(Block *b, uint64_t key, const char *text); /* one of a key is kept */
void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...) WBB_PRINTF(5, 6);

/* shadow.c */
SimShadow *sim_shadow(WbbArena *a, uint64_t size, bool per_block, bool stores_judged);
void sim_clock_reset(Block *b);
void sim_warp_ordered(Block *b,
                      const Warp *w); /* what lanes of the warp did so far comes before what they do from now on */
void sim_release(Block *b, const Warp *w, uint32_t clock[LANES]); /* what the warp did so far goes into the clock */
void sim_acquire(Block *b, Warp *w, const uint32_t clock[LANES]); /* and comes before what another does from now on */
/* One lane touches bytes at..at+size; of a store `value` is what it writes and `memory` what is there, or both are
 * NULL. */
void sim_touch(Block *b, Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at, size_t size, SimTouch kind,
               const uint8_t *value, const uint8_t *memory, const char *name);

Message *sim_message(Block *b, SimShadow *s, uint64_t at, bool make); /* at an offset; NULL: none */
void sim_shadow_reset(Block *b, SimShadow *s);                         /* a block starts: forget messages */

/* views.c: views are NULL where nothing is known; *v and *to are let go where they change. */
enum { ALL_LANES = 255 };
void sim_view_drop(Block *b, SimView **v);
void sim_view_set(Block *b, SimView **to, SimView *v);
void sim_view_join(Block *b, SimView **to, SimView *from); /* add what `from` has */
/* What barriers of the block order before the next access of a lane, or of ALL_LANES, with what they did themselves. */
SimView *sim_view_own(Block *b, const Warp *w, uint32_t lane);
bool sim_view_knows(const SimView *v, uint32_t serial); /* anything that the block did */
/* The lanes of a warp whose accesses at this time the thread does not know to come before those that it makes now. */
uint32_t sim_view_open(const Block *b, uint32_t thread, uint32_t serial, uint32_t warp, uint32_t time, uint32_t lanes);
/* What all lanes of the warp know of its own block goes into the clocks, which are faster. */
void sim_view_clocks(Block *b, const Warp *w, const SimView *v);

/* order.c: nothing happens where Block.orders is false; sim_order_read and sim_order_write are not called there. */
/* A strong access of one lane at an offset of a segment, before it is judged; after that, if it stores something. */
void sim_order_read(Block *b, const Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at);
void sim_order_write(Block *b, const Warp *w, const SimOp *op, int lane, SimShadow *s, uint64_t at);
void sim_fence(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_order_give(Block *b, const Warp *w, uint32_t mask, SimView **to); /* views of lanes go into another */
void sim_order_take(Block *b, const Warp *w, uint32_t mask, SimView *from);
void sim_order_warp(Block *b, const Warp *w, uint32_t mask);     /* bar.warp.sync */
void sim_order_arrive(Block *b, const Warp *w, const SimOp *op); /* at the cluster's barrier */
void sim_order_wait(Block *b, const Warp *w);
void sim_order_reset(Block *b);

/* traffic.c: what one request of a warp touches. */
enum { SIM_SECTOR = 32, SIM_LINE = 128, SIM_MOST_SECTORS = 2 * LANES };
typedef struct {
    uint64_t sector[SIM_MOST_SECTORS]; /* generic addresses / SIM_SECTOR, each once */
    int n;
    uint64_t needed, wavefronts, ideal; /* as in SimFlow */
} Touched;
Touched sim_touched(const uint64_t address[LANES], uint32_t mask, size_t size);
Touched sim_touched_local(const uint64_t address[LANES], uint32_t mask, size_t size);
/* Of shared memory: `parts` are the groups of lanes that are served one after the other. */
Touched sim_touched_banks(const uint64_t address[LANES], uint32_t mask, size_t size, uint64_t *parts);
/* Of an atomic operation; loops: a loop of the assembler's. *iterations: of that loop. */
Touched sim_updated_banks(const uint64_t address[LANES], uint32_t mask, size_t size, bool loops,
                          uint64_t *iterations);

/* counts.c */
SimClass sim_class(const char *name);
void sim_count_open(Block *b);
void sim_count_close(const Block *b, const SimReport *r);
void sim_counts_add(SimCounts *to, const SimCounts *from);
/* A warp's access of `size` bytes a lane at generic addresses, in op's space or, of copies, in that of the address. */
void sim_count_access(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask, SimAccess kind,
                      size_t size);
void sim_count_range(Block *b, const SimOp *op, uint64_t address, uint64_t bytes, SimAccess kind); /* of a bulk copy */

/* profile.c: nothing happens where Block.meter is NULL. */
void sim_meter_open(Block *b, uint64_t blocks, uint64_t grid); /* blocks that will run, of how many */
void sim_meter_close(const Block *b);
void sim_meter_block(Block *b, bool starts);    /* a block starts, or the last one of a thread has ended */
void sim_meter_warps(Block *b, Warp *w, bool own);
void sim_meter_warp(const Block *b, Warp *w);   /* a warp starts */
bool sim_meter_loops(const Block *b, const SimOp *op); /* an atomic operation that the assembler makes a loop */
void sim_meter_iterations(Block *b, const SimOp *op, uint64_t iterations);
void sim_meter_flow(Block *b, const SimOp *op, SimSpace space, SimAccess kind, uint64_t bytes, const Touched *t);
bool sim_meter_waits(const Block *b);           /* the last access went beyond L1 */
void sim_meter_updates(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask,
                       size_t size); /* global atomics */
void sim_meter_sectors(Block *b, const SimOp *op, SimAccess kind, uint64_t first, uint64_t n); /* of a bulk copy */
/* The warp executed op; or no lane's guard held. Only of timed blocks. */
void sim_meter_step(Block *b, Warp *w, const SimOp *op, bool passed);

/* memory.c */
void sim_addresses(const Warp *w, const SimOp *op, uint64_t address[LANES]); /* generic */
void sim_load(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_store(Block *b, Warp *w, const SimOp *op, uint32_t mask);
/* Memory of one lane at a generic address; NULL after a fault. `read` and `write` say what is judged; with neither it
 * is an atomic update by a copy. */
uint8_t *sim_memory_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size, bool read,
                       bool write);
/* Memory that one lane reads and writes; NULL after a fault. */
uint8_t *sim_atomic_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool read, bool *global);
bool sim_cas_stores(const Warp *w, const SimOp *op, int lane, const uint8_t *bytes);
uint8_t *sim_row_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool store);
/* Bytes that a copy will write: judged like a store, and unknown until then. */
bool sim_unwritten(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size);

/* poll.c */
/* The lanes of `mask` have read memory that others may change; `seen` follows from the addresses and values. */
void sim_polled(Block *b, Warp *w, const SimOp *op, uint32_t mask, uint64_t seen);
bool sim_turn_ends(const Block *b, const Warp *w); /* after an access to memory, where the order is shuffled */

/* The columns of an operation: `use` must be defined, `flow` makes `def` undefined. */
typedef struct {
    uint32_t use[24], flow[8], def[16];
    int n_use, n_flow, n_def;
} Operands;
Operands sim_operands(const SimModule *m, const SimOp *op);

/* undefined.c: find the columns that may be read before they are written; watch one operation of them. */
void sim_undefined_open(WbbArena *a, SimModule *m);
void sim_undefined_reset(const SimModule *m, Warp *w);
void sim_undefined(Block *b, Warp *w, const SimOp *op);
/* Lane l of a shuffle got its value from lane from[l]; -1: from none. */
void sim_undefined_shuffle(const Block *b, Warp *w, const SimOp *op, const int8_t from[LANES], uint32_t mask);

/* An operation of one lane that is not a plain access, on memory that other threads watch (order.c). */
void sim_order_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, bool writes);

/* atomic.c, matrix.c, system.c, lanes_op.c: what one warp does at one operation */
void sim_atomic(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_matrix(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_mma(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_system(Block *b, Warp *w, const SimOp *op, uint32_t mask);
int sim_system_number(const char *name); /* -1: it is none of the runtime's */
void sim_warp_op(Block *b, Warp *w, const SimOp *op, uint32_t mask);

/* copy.c: SimOp.mode of OP_COPY_GROUP */
enum { GROUP_COMMIT, GROUP_WAIT, GROUP_ALL, BULK_WAIT, COPY_ARRIVE, COPY_ARRIVE_NOINC };
void sim_copy(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_mbarrier(Block *b, Warp *w, const SimOp *op, uint32_t mask);
uint32_t sim_mbarrier_ready(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_mbarrier_wait(Block *b, Warp *w, const SimOp *op, uint32_t mask);

/* barrier.c: a whole warp comes to a barrier; true if it waits. Barriers that are complete let their warps go. */
bool sim_barrier(Block *b, Warp *w, const SimOp *op, uint32_t mask);
void sim_barriers_open(Block *b);
void sim_deadlock(Block *b);

/* groups.c */
void sim_group_add(Warp *w, uint32_t pc, uint32_t mask, bool parked);
bool sim_group_pick(Block *b, Warp *w); /* choose the group that runs next; false if none can */
bool sim_group_next(Block *b, Warp *w); /* the same; if none can, the warp waits for others or has ended */
bool sim_group_yield(Warp *w);
void sim_group_split(Block *b, Warp *w, uint32_t pc, uint32_t mask, uint32_t pc2, uint32_t mask2);
bool sim_group_join(Block *b, Warp *w, const SimOp *op, uint32_t *mask);

/* straight.c: the warp runs the stretch that it is at up to operation `end`; how many instructions that were. */
void sim_straight_open(WbbArena *a, SimModule *m);
uint32_t sim_straight(Block *b, Warp *w, uint32_t end);

/* warp.c */
void sim_run_warp(Block *b, Warp *w);

/* block.c: start the blocks of a cluster; let each of their warps run once, until it waits, gives way or ends. */
typedef enum { TURN_ENDED, TURN_MOVED, TURN_WAITS /* warps ran, and all of them wait for a change of memory */ } Turn;
void sim_block_open(Block *b, const uint8_t *params);
void sim_cluster_start(Cluster *c, const uint32_t *table, uint32_t threads);
Turn sim_cluster_turn(Cluster *c);
bool sim_cluster_stopped(const Cluster *c);

/* turns.c: run the clusters of a launch, or one of them, to the end. */
bool sim_turns(const Block *model, const SimPlan *p, SimReport *report); /* false: something stopped it */
void sim_turns_alone(Cluster *c, const SimPlan *p, uint64_t i);

/* plan.c: make the blocks of a cluster after a model; start cluster number i of the list. */
/* The position in the grid of block `rank` of cluster `number`; clusters are numbered in the grid as blocks in a
 * cluster, x first. */
void sim_block_ids(const BdLaunch *launch, uint64_t number, uint32_t rank, uint32_t id[3]);
uint64_t sim_grid_blocks(const BdLaunch *launch);
void sim_plan_open(const Block *model, const SimPlan *p, Cluster *c);
void sim_plan_start(Cluster *c, const SimPlan *p, uint64_t i);
void sim_plan_report(const Cluster *c, SimReport *r); /* adds counts of the blocks of a cluster */
void sim_faults_report(const Block *b, SimReport *r); /* adds faults */

/* cores.c: run the whole list on several threads and report it; false if nothing is done, and one thread must run
 * it. */
bool sim_spread(Block *model, const SimPlan *plan, SimReport *report);

#endif

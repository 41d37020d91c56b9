/* counts: executed instructions and memory traffic of a kernel, in numbers by which compilers can be compared.
 *
 * Needs: decoded operations with their class, and each access as it happens. Leaves: SimCounts, added up over
 * launches. Executions are counted for each operation or stretch of them, and summed by class once at the end;
 * without SimOptions.counts nothing is.
 *
 * Memory is counted by requests; traffic.c says what one touches. A wavefront in shared memory that is not the first
 * of its part of the lanes is a conflict.
 *
 * cp.async.cg takes bytes from L2 to shared memory past L1 (PTX ISA, cp.async: .cg caches at L2 alone): its wavefronts
 * are those of what it writes.
 *
 * A bulk copy is one request at each end, of as many sectors or wavefronts as its range has.
 *
 *     ld.global.v4.b32 by 32 lanes 16 bytes apart: 1 request, 512 bytes, 16 sectors
 *     ld.shared.b32 by 32 lanes 8 bytes apart: 1 request, 128 bytes, 2 wavefronts, 1 of them a conflict
 */
#include "sim/inner.h"

const char *const sim_class_name[SIM_CLASSES] = {"integer", "f16", "f32", "f64", "conversion", "special", "move", "load", "store", "atomic", "control", "barrier", "lanes", "matrix"};
const char *const sim_space_name[SIM_SPACES] = {"global", "shared", "local", "const", "generic"};
const char *const sim_access_name[SIM_ACCESSES] = {"load", "store", "atomic"};

/* Opcodes by the first part of their names; all others are arithmetic, of the type that their names end with. */
static const struct {
    const char *names;
    SimClass class;
} opcodes[] = {
    {" ld ldu ldmatrix tex ", SIM_CLASS_LOAD},
    {" st stmatrix cp ", SIM_CLASS_STORE},
    {" atom red ", SIM_CLASS_ATOMIC},
    {" bra brx call ret exit trap brkpt ", SIM_CLASS_CONTROL},
    {" bar barrier mbarrier fence membar griddepcontrol nanosleep ", SIM_CLASS_BARRIER},
    {" shfl vote match redux activemask elect ", SIM_CLASS_LANES},
    {" mma wmma wgmma movmatrix ", SIM_CLASS_MATRIX},
    {" cvt ", SIM_CLASS_CONVERT},
    {" ex2 lg2 rcp rsqrt sqrt sin cos tanh ", SIM_CLASS_SPECIAL},
    {" mov cvta selp slct mapa isspacep ", SIM_CLASS_MOVE},
};

static bool ends(const char *text, const char *with)
{
    const size_t n = strlen(text), k = strlen(with);
    return n >= k && strcmp(text + n - k, with) == 0;
}

/* `name`: "add.rn.f32"; its first part and the last one that is a type decide. */
SimClass sim_class(const char *name)
{
    const size_t n = strcspn(name, ".");
    char word[24];
    if (strstr(name, ".param")) return SIM_CLASS_MOVE; /* parameters are registers here */
    if (n < sizeof word - 2) {
        snprintf(word, sizeof word, " %.*s ", (int)n, name);
        for (size_t i = 0; i < WBB_LEN(opcodes); i++)
            if (strstr(opcodes[i].names, word)) return opcodes[i].class;
    }
    if (ends(name, "f16") || ends(name, "f16x2")) return SIM_CLASS_F16; /* bf16 too */
    if (ends(name, ".f32") || ends(name, ".f32x2")) return strncmp(name, "div.", 4) ? SIM_CLASS_F32 : SIM_CLASS_SPECIAL;
    if (ends(name, ".f64")) return strncmp(name, "div.", 4) ? SIM_CLASS_F64 : SIM_CLASS_SPECIAL;
    return SIM_CLASS_INTEGER;
}

/* The space of a generic address. */
static SimSpace space_of(const Block *b, uint64_t address)
{
    const uint64_t n = address >> SEG_SHIFT;
    if (n >= SEG_VARS && n < SEG_VARS + b->m->vars.n)
        return b->m->vars.items[n - SEG_VARS].constant ? SIM_CONST : SIM_GLOBAL;
    return n == SEG_SHARED ? SIM_SHARED : n == SEG_LOCAL ? SIM_LOCAL : SIM_GLOBAL;
}

static void count_traffic(Block *b, SimSpace space, SimAccess kind, uint64_t bytes, uint64_t width, uint64_t sectors,
                          uint64_t wavefronts, uint64_t conflicts)
{
    SimTraffic *t = &b->options->counts->memory[space][kind];
    t->requests++;
    t->bytes += bytes;
    t->widths[__builtin_ctzll(width)]++;
    t->sectors += sectors, t->wavefronts += wavefronts, t->conflicts += conflicts;
}

void sim_count_access(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask, SimAccess kind,
                      size_t size)
{
    if (!mask) return;
    const bool open = op->space == SIM_GENERIC || op->kind == OP_COPY;
    const SimSpace space = open ? space_of(b, address[__builtin_ctz(mask)]) : (SimSpace)op->space;
    const uint64_t bytes = (uint64_t)__builtin_popcount(mask) * size;
    uint64_t parts = 0, iterations = 0;
    const bool updates = kind == SIM_UPDATED && space == SIM_SHARED;
    const bool loops = updates && b->meter && sim_meter_loops(b, op);
    Touched t = updates ? sim_updated_banks(address, mask, size, loops, &iterations)
                      : space == SIM_SHARED ? sim_touched_banks(address, mask, size, &parts)
                      : space == SIM_LOCAL  ? sim_touched_local(address, mask, size)
                                            : sim_touched(address, mask, size);
    if (updates) parts = 1;
    if (op->kind == OP_COPY && op->mode && space == SIM_GLOBAL) t.wavefronts = t.ideal = 0;
    if (b->options->counts && space == SIM_SHARED)
        count_traffic(b, space, kind, bytes, size, 0, t.wavefronts, t.wavefronts - parts);
    else if (b->options->counts) count_traffic(b, space, kind, bytes, size, (uint64_t)t.n, 0, 0);
    if (b->meter) sim_meter_flow(b, op, space, kind, bytes, &t);
    if (iterations) sim_meter_iterations(b, op, iterations);
    if (b->meter && kind == SIM_UPDATED && space == SIM_GLOBAL) sim_meter_updates(b, op, address, mask, size);
}

void sim_count_range(Block *b, const SimOp *op, uint64_t address, uint64_t bytes, SimAccess kind)
{
    const SimSpace space = space_of(b, address);
    const uint64_t first = address / SIM_SECTOR, n = (address + bytes - 1) / SIM_SECTOR - first + 1,
                   lines = (bytes + SIM_LINE - 1) / SIM_LINE;
    const bool shared = space == SIM_SHARED;
    if (b->options->counts) /* it moves 16 bytes at a time */
        count_traffic(b, space, kind, bytes, 16, shared ? 0 : n, shared ? lines : 0, 0);
    if (!b->meter) return;
    const uint64_t needed = shared ? 0 : (bytes + SIM_SECTOR - 1) / SIM_SECTOR;
    const Touched t = {.needed = needed, .wavefronts = lines, .ideal = lines};
    sim_meter_flow(b, op, space, kind, bytes, &t);
    if (!shared) sim_meter_sectors(b, op, kind, first, n);
}

void sim_count_open(Block *b)
{
    if (!b->options->counts && !b->options->profile) return;
    b->tally = WBB_NEW_N(b->arena, SimTally, b->m->ops.n + 1);
    b->runs = WBB_NEW_N(b->arena, SimTally, b->m->ops.n + 1);
}

void sim_count_close(const Block *b, const SimReport *r)
{
    SimCounts *c = b->options->counts;
    SimTally runs = {0};
    for (uint32_t i = 0; b->tally && i < b->m->ops.n; i++) {
        runs.threads += b->runs[i].threads, runs.warps += b->runs[i].warps;
        if (!b->m->ops.items[i].counts) continue;
        b->tally[i].threads += runs.threads, b->tally[i].warps += runs.warps;
    }
    if (!c) return;
    for (uint32_t i = 0; i < b->m->ops.n; i++) {
        const SimOp *op = &b->m->ops.items[i];
        c->threads_by[op->class] += b->tally[i].threads;
        c->warps_by[op->class] += b->tally[i].warps;
        if (op->kind == OP_BRANCH || op->kind == OP_BRANCH_TABLE) c->branches += b->tally[i].warps;
    }
    c->launches += !b->spread;
    c->blocks += r->blocks;
    c->warps += r->warps;
    c->threads += r->blocks * b->launch->block[0] * b->launch->block[1] * b->launch->block[2];
    c->thread_instructions += r->instructions;
    c->warp_instructions += r->warp_instructions;
    c->divergent += r->divergent;
}

/* Of two threads of one launch, or of two launches. */
void sim_counts_add(SimCounts *to, const SimCounts *from)
{
    uint64_t *x = (uint64_t *)(void *)to;
    const uint64_t *y = (const uint64_t *)(const void *)from;
    for (size_t i = 0; i < sizeof *to / sizeof *x; i++) x[i] += y[i]; /* all of its fields are such numbers */
}

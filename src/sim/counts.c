/* counts: executed instructions and memory traffic of a kernel, in numbers by which compilers can be compared.
 *
 * Needs: decoded operations with their class, and each access as it happens. Leaves: SimCounts, added up over
 * launches. Executions are counted for each operation (two additions each), and summed by class once at the end;
 * without SimOptions.counts nothing is.
 *
 * Memory is counted by requests; a request is one instruction of one warp. A request in global or constant memory,
 * or in variables, takes as many sectors of 32 bytes as its lanes touch. Local memory is interleaved as on hardware:
 * word w of lane l lies at 4 * (32 * w + l). Shared memory has 32 banks of 4 bytes; lanes are served 32 at a time
 * for up to 4 bytes, 16 for 8, 8 for 16. Each such part takes as many wavefronts as the fullest bank has different
 * words, and all but the first are conflicts.
 *
 * A bulk copy is one request at each end, of as many sectors or wavefronts as its range has.
 *
 *     ld.global.v4.b32 by 32 lanes 16 bytes apart: 1 request, 512 bytes, 16 sectors
 *     ld.shared.b32 by 32 lanes 8 bytes apart: 1 request, 128 bytes, 2 wavefronts, 1 of them a conflict
 */
#include "sim/inner.h"

enum { SECTOR = 32, BANKS = 32, WORD = 4, MAX_SECTORS = 2 * LANES };

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

/* The different numbers among those of the lanes, which are mostly ascending. */
typedef struct {
    uint64_t items[MAX_SECTORS];
    int n;
    uint64_t most;
} Numbers;

static void add_number(Numbers *s, uint64_t x)
{
    if (s->n && x <= s->most)
        for (int i = s->n - 1; i >= 0; i--)
            if (s->items[i] == x) return;
    if (s->n < MAX_SECTORS) s->items[s->n++] = x;
    s->most = s->n == 1 ? x : WBB_MAX(s->most, x);
}

static uint64_t sectors(const uint64_t address[LANES], uint32_t mask, uint64_t size)
{
    Numbers s = {.n = 0};
    for (; mask; mask &= mask - 1) {
        const uint64_t at = address[__builtin_ctz(mask)];
        add_number(&s, at / SECTOR);
        if ((at + size - 1) / SECTOR != at / SECTOR) add_number(&s, (at + size - 1) / SECTOR);
    }
    return (uint64_t)s.n;
}

static uint64_t local_sectors(const uint64_t address[LANES], uint32_t mask, uint64_t size)
{
    uint64_t n = 0;
    for (uint64_t at = 0; at < size; at += WORD) {
        Numbers s = {.n = 0};
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            const uint64_t l = (uint64_t)__builtin_ctz(rest);
            add_number(&s, ((address[l] + at) / WORD * LANES + l) * WORD / SECTOR);
        }
        n += (uint64_t)s.n;
    }
    return n;
}

/* Wavefronts of the lanes that are served at one time. */
static uint64_t wavefronts_of(const uint64_t address[LANES], uint32_t mask, uint64_t size)
{
    Numbers words = {.n = 0};
    uint8_t in_bank[BANKS] = {0}, most = 0;
    for (; mask; mask &= mask - 1) {
        const uint64_t at = address[__builtin_ctz(mask)];
        for (uint64_t w = at / WORD; w <= (at + size - 1) / WORD; w++) add_number(&words, w);
    }
    for (int i = 0; i < words.n; i++) {
        uint8_t *bank = &in_bank[words.items[i] % BANKS];
        *bank = (uint8_t)(*bank + 1);
        most = WBB_MAX(most, *bank);
    }
    return most;
}

void sim_count_access(Block *b, const SimOp *op, const uint64_t address[LANES], uint32_t mask, SimAccess kind,
                      size_t size)
{
    SimCounts *c = b->options->counts;
    if (!c || !mask) return;
    const SimSpace space = op->space == SIM_GENERIC ? space_of(b, address[__builtin_ctz(mask)]) : (SimSpace)op->space;
    SimTraffic *t = &c->memory[space][kind];
    t->requests++;
    t->bytes += (uint64_t)__builtin_popcount(mask) * size;
    t->widths[__builtin_ctz((unsigned)size)]++;
    if (space != SIM_SHARED) {
        t->sectors += space == SIM_LOCAL ? local_sectors(address, mask, size) : sectors(address, mask, size);
        return;
    }
    const int lanes = size <= 4 ? 32 : size == 8 ? 16 : 8;
    for (int l = 0; l < LANES; l += lanes) {
        const uint32_t some = mask & (lanes == 32 ? FULL : ((1u << lanes) - 1) << l);
        const uint64_t n = some ? wavefronts_of(address, some, size) : 0;
        t->wavefronts += n;
        t->conflicts += n ? n - 1 : 0;
    }
}

void sim_count_range(Block *b, uint64_t address, uint64_t bytes, SimAccess kind)
{
    const SimSpace space = space_of(b, address);
    SimTraffic *t = &b->options->counts->memory[space][kind];
    t->requests++;
    t->bytes += bytes;
    t->widths[4]++; /* it moves 16 bytes at a time */
    if (space == SIM_SHARED) t->wavefronts += (bytes + BANKS * WORD - 1) / (BANKS * WORD);
    else t->sectors += (address + bytes - 1) / SECTOR - address / SECTOR + 1;
}

void sim_count_open(Block *b)
{
    if (!b->options->counts) return;
    b->tally = WBB_NEW_N(b->arena, SimTally, b->m->ops.n + 1);
}

void sim_count_close(const Block *b, const SimReport *r)
{
    SimCounts *c = b->options->counts;
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

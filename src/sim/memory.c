/* memory: loads and stores of a warp, each byte judged.
 *
 * Needs: the segments of run.c (buffers, variables, shared and local memory). Leaves: changed columns or memory,
 * counts and faults in the report.
 *
 * A generic address has the number of its segment above bit 40. Where the active lanes are consecutive and access
 * one range without gaps, as in most kernels, the range is judged and copied at once; otherwise lane by lane.
 * Bounds, alignment and stores to inputs are always judged; reads of unwritten bytes, second stores and races only
 * under check.
 *
 *     ld.global.v4.b32 by 32 lanes 16 bytes apart: one check of 512 bytes, four columns filled
 */
#include "sim/lanes.h"

/* The bytes of a segment that an access touches. */
typedef struct {
    uint8_t *bytes, *written; /* at the address; NULL after a fault */
    const Segment *segment;
    SimShadow *shadow;
    size_t size;              /* readable bytes; a load gets zeros for the rest */
    uint64_t at;              /* offset in the segment */
    const char *name;         /* of the segment */
} Span;

/* Has every warp of the block ended? Its shared memory may then be another block's. */
static bool has_ended(const Block *b)
{
    for (int i = 0; i < b->n_warps; i++)
        if (!b->warps[i].done) return false;
    return b->own;
}

/* May another block of the cluster not have started yet? It has where a barrier of the cluster came before, or where a
 * thread of this block has seen something that it did. */
static bool may_not_be_there(const Block *b, const Block *of)
{
    if (b->met) return false;
    for (uint32_t i = 0; b->orders && i < (uint32_t)b->n_warps * LANES; i++)
        if (sim_view_knows(b->threads[i].view, of->serial)) return false;
    return true;
}

static const char *why_gone(const Block *b, const Block *of)
{
    if (has_ended(of)) return "which has ended";
    return may_not_be_there(b, of) ? "which may not have started: no barrier of the cluster comes before" : NULL;
}

static bool segment_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, Segment *s)
{
    uint64_t n = address >> SEG_SHIFT;
    if (n >= 1 && n <= (uint64_t)b->n_buffers) *s = b->buffers[n];
    else if (n >= SEG_VARS && n < SEG_VARS + b->m->vars.n) *s = b->vars[n - SEG_VARS];
    else if (n == SEG_SHARED) {
        const uint32_t rank = (uint32_t)(address >> RANK_SHIFT & 255);
        const bool far = rank && rank <= (uint32_t)b->cluster->n && rank != b->rank + 1;
        Block *of = far ? b->cluster->blocks[rank - 1] : b;
        if (far && (op->kind == OP_COPY || op->kind == OP_COPY_GROUP)) b->cluster->unwatched = true;
        *s = (Segment){.bytes = of->shared, .written = of->shared_written, .size = of->shared_size,
                       .track = b->options->check, .multiple = true, .initialised = true, .name = "shared memory",
                       .shadow = far && b->cluster->unwatched ? NULL : of->shared_shadow,
                       .gone = far && b->options->check ? why_gone(b, of) : NULL};
    } else if (n == SEG_LOCAL) {
        size_t at = (size_t)lane * b->m->local_bytes;
        *s = (Segment){.bytes = w->local + at, .written = w->local_written + at, .size = b->m->local_bytes,
                       .track = b->options->check, .multiple = true, .name = "local memory", .initialised = true};
    } else return false;
    return true;
}

/* Make the pages of [at, at + n), of a segment whose contents are made as they are needed. */
static void make_pages(const Segment *s, uint64_t at, size_t n)
{
    for (uint64_t p = at / SIM_PAGE; p <= (at + n - 1) / SIM_PAGE; p++) {
        if (s->source->made[p]) continue;
        const uint64_t start = p * SIM_PAGE;
        const size_t size = (size_t)WBB_MIN((uint64_t)SIM_PAGE, s->size - start);
        s->source->make(s->source->arg, start, size, s->bytes + start);
        if (s->written) memset(s->written + start, SIM_CONTENTS, size);
        s->source->made[p] = 1;
    }
}

/* Judge an access of `bytes` at `address`; `size` is that of one lane's. */
static Span judge(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t bytes, size_t size, bool store)
{
    Segment s;
    const char *what = store ? "store" : "load";
    bool quiet = bytes != size; /* a range that fails is judged again lane by lane */
    if (!segment_at(b, w, op, lane, address, &s)) {
        if (quiet) return (Span){0};
        sim_fault(b, w, op, lane, "%s of %zu bytes at 0x%llx, where no memory is", what, size,
                  (unsigned long long)address);
        return (Span){0};
    }
    if (s.gone && quiet) return (Span){0};
    if (s.gone) {
        sim_fault(b, w, op, lane, "%s of %zu bytes of shared memory of another block, %s", what, size, s.gone);
        return (Span){0};
    }
    uint64_t at = (address & ((UINT64_C(1) << SEG_SHIFT) - 1)) - (address >> SEG_SHIFT < SEG_SHARED ? SEG_START : 0);
    if (address >> SEG_SHIFT == SEG_SHARED && (at >> RANK_SHIFT) <= (uint64_t)b->cluster->n)
        at &= (UINT64_C(1) << RANK_SHIFT) - 1;
    if ((at | s.align) & (size - 1)) { /* sizes are powers of two */
        if (quiet) return (Span){0};
        sim_fault(b, w, op, lane, "misaligned %s of %zu bytes at byte %lld of %s%s", what, size, (long long)at, s.name,
                  at & (size - 1) ? "" : wbb_format(b->arena, ", which is aligned to %u", s.align));
        return (Span){0};
    }
    size_t readable = bytes;
    if (at > s.size || bytes > s.size - at) {
        bool padded = (!store || op->kind == OP_ATOMIC) && at + bytes <= s.size + b->options->padding &&
                      at <= s.size + b->options->padding && (address >> SEG_SHIFT) < SEG_VARS;
        if (!padded && quiet) return (Span){0};
        if (!padded) {
            sim_fault(b, w, op, lane, "%s of %zu bytes out of bounds: byte %lld of %s, which has %llu", what, size,
                      (long long)at, s.name, (unsigned long long)s.size);
            return (Span){0};
        }
        readable = at < s.size ? (size_t)(s.size - at) : 0;
    }
    if (store && s.readonly) {
        sim_fault(b, w, op, lane, "store to %s, which is an input", s.name);
        return (Span){0};
    }
    uint64_t n = address >> SEG_SHIFT;
    if (store && b->spread && b->options->check && n >= SEG_VARS && n < SEG_SHARED) b->stop = true; /* a variable */
    const Segment *kept = n <= (uint64_t)b->n_buffers          ? &b->buffers[n]
                          : n >= SEG_VARS && n < SEG_SHARED ? &b->vars[n - SEG_VARS]
                                                            : NULL;
    if (s.source && readable) make_pages(&s, at, readable);
    /* Past the end of a padded buffer there is no memory. */
    if (!readable) return (Span){b->scratch, NULL, kept, NULL, 0, at, s.name};
    return (Span){s.bytes + at, s.track ? s.written + at : NULL, kept, s.shadow, readable, at, s.name};
}

/* Is the value there that atom.cas compares with? */
bool sim_cas_stores(const Warp *w, const SimOp *op, int lane, const uint8_t *bytes)
{
    uint64_t there = 0;
    memcpy(&there, bytes, op->bytes);
    const bool same = there == sim_lane(w->regs + op->n, lane, op->width);
    if (!op->b) return same;
    memcpy(&there, bytes + op->bytes, op->bytes);
    return same && there == sim_lane(w->regs + op->b, lane, op->width);
}

static bool stores(const Warp *w, const SimOp *op, int lane, const uint8_t *bytes)
{
    return op->kind == OP_ATOMIC && op->n ? sim_cas_stores(w, op, lane, bytes) : op->kind != OP_LOAD;
}

static void order_reads(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size)
{
    for (size_t at = 0; at < p->size; at += size, lane++) sim_order_read(b, w, op, lane, p->shadow, p->at + at);
}

static void order_writes(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size)
{
    for (size_t at = 0; at < p->size; at += size, lane++)
        if (stores(w, op, lane, p->bytes + at)) sim_order_write(b, w, op, lane, p->shadow, p->at + at);
}

/* True if it is a strong access that may order threads. Operations on mbarriers do when they succeed (sim_order_at). */
static bool orders(const Block *b, const SimOp *op)
{
    return b->orders && op->order && (op->kind == OP_LOAD || op->kind == OP_STORE || op->kind == OP_ATOMIC);
}

/* Lanes from `lane` on touch `size` bytes each, one after the other. */
static void touch(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size, SimTouch kind,
                  const uint8_t *value)
{
    if (!p->shadow) return;
    if (orders(b, op)) order_reads(b, w, op, lane, p, size);
    for (size_t at = 0, l = (size_t)lane; at < p->size; at += size, l++)
        sim_touch(b, w, op, (int)l, p->shadow, p->at + at, WBB_MIN(size, p->size - at), kind, value, p->bytes, p->name);
    if (orders(b, op)) order_writes(b, w, op, lane, p, size);
}

/* From the first load of an output on, all outputs are watched for races. Before that only the last block that wrote
 * is known, for each SIM_GRANULE bytes. */
static void watch_outputs(Block *b, Warp *w, const SimOp *op, int lane, const Span *p)
{
    const Segment *s = p->segment;
    if (s && s->variable) return;
    if (b->spread && s && !s->readonly) b->stop = true;
    if (s && s->writers && !s->shadow && p->size) {
        const uint32_t writer = s->writers[p->at / SIM_GRANULE];
        if (p->written[0] == 1 && writer && writer != b->number + 1)
            sim_fault(b, w, op, lane,
                      "race: load of byte %llu of %s, which another block has written: blocks run in any order",
                      (unsigned long long)p->at, s->name);
    }
    if (b->outputs_read || !s || s->readonly) return;
    b->outputs_read = true;
    for (int i = 1; i <= b->n_buffers; i++)
        if (b->buffers[i].track && !b->buffers[i].shadow)
            b->buffers[i].shadow = sim_shadow(b->arena, b->buffers[i].size, false, !b->buffers[i].multiple);
}

/* True if an asynchronous copy that nobody has waited for will write the address. */
static bool copy_pending(const Block *b, uint64_t address)
{
    for (uint32_t i = 0; i < b->copies.n; i++)
        if (address - b->copies.items[i].to < b->copies.items[i].size) return true;
    return false;
}

/* ld.global.nc may read a cache that stores do not reach: its bytes must be the same for the whole launch. */
static void hold_constant(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size)
{
    for (size_t i = 0; i < p->size; i++) {
        if (p->written[i] == SIM_CONTENTS) p->written[i] = SIM_HELD;
        if (p->written[i] == SIM_HELD || p->written[i] == SIM_EARLIER || !p->written[i]) continue;
        sim_fault(b, w, op, lane + (int)(i / size), "ld.global.nc of byte %lld of %s, which the launch writes",
                  (long long)(p->at + i), p->name);
        return;
    }
}

static void judge_held(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size)
{
    if (!p->segment || !p->segment->initialised) return;
    const uint8_t *held = memchr(p->written, SIM_HELD, p->size);
    if (!held) return;
    const size_t at = (size_t)(held - p->written);
    sim_fault(b, w, op, lane + (int)(at / size), "store to byte %lld of %s, which ld.global.nc reads in this launch",
              (long long)(p->at + at), p->name);
}

static void judge_read(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, uint64_t address, size_t size)
{
    const bool atomic = op->kind == OP_ATOMIC || op->kind == OP_MBARRIER || op->kind == OP_MBARRIER_WAIT ||
                        op->kind == OP_COPY_GROUP;
    touch(b, w, op, lane, p, size, atomic ? SIM_TOUCH_ATOMIC : SIM_TOUCH_LOAD, NULL);
    if (!p->written) return;
    watch_outputs(b, w, op, lane, p);
    if (op->kind == OP_LOAD && op->mode == SIM_CONSTANT) hold_constant(b, w, op, lane, p, size);
    const uint8_t *zero = memchr(p->written, 0, p->size);
    if (!zero) return;
    size_t at = (size_t)(zero - p->written);
    if (copy_pending(b, address + at))
        sim_fault(b, w, op, lane + (int)(at / size),
                  "load of byte %lld of %s, which an asynchronous copy is to write that was not waited for",
                  (long long)(p->at + at), p->name);
    else
        sim_fault(b, w, op, lane + (int)(at / size), "load of byte %lld of %s, which was never written",
                  (long long)(p->at + at), p->name);
}

/* `value`: what one lane stores; NULL where lanes do not overlap. */
static void judge_write(Block *b, Warp *w, const SimOp *op, int lane, const Span *p, size_t size, const uint8_t *value)
{
    touch(b, w, op, lane, p, size, SIM_TOUCH_STORE, value);
    if (!p->written) return;
    judge_held(b, w, op, lane, p, size);
    if (p->segment && !p->segment->multiple) {
        for (size_t i = 0; i < p->size; i++) {
            if (p->written[i] == SIM_WRITTEN || p->written[i] == SIM_REPORTED || p->written[i] == SIM_EARLIER) {
                sim_fault(b, w, op, lane + (int)(i / size), "second store to byte %lld of %s",
                          (long long)(p->at + i), p->segment->name);
                memset(p->written, SIM_REPORTED, p->size);
                return;
            }
        }
    }
    memset(p->written, SIM_WRITTEN, p->size);
    if (p->segment && p->segment->writers)
        for (uint64_t k = p->at / SIM_GRANULE; k <= (p->at + p->size - 1) / SIM_GRANULE && p->size; k++)
            p->segment->writers[k] = b->number + 1;
}

/* The generic addresses of the lanes. */
WBB_CLONES void sim_addresses(const Warp *w, const SimOp *op, uint64_t address[LANES])
{
    uint64_t base = (uint64_t)op->imm;
    if (op->space == SIM_SHARED) base += (uint64_t)SEG_SHARED << SEG_SHIFT;
    if (op->space == SIM_LOCAL) base += (uint64_t)SEG_LOCAL << SEG_SHIFT;
    if (op->address == 4) {
        const uint32_t *a = (const uint32_t *)(const void *)(w->regs + op->a);
        SIM_EACH address[l] = a[l] + base;
    } else {
        const uint64_t *a = (const uint64_t *)(const void *)(w->regs + op->a);
        SIM_EACH address[l] = a[l] + base;
    }
}

/* 0 if all lanes' accesses follow each other without gaps. */
WBB_CLONES static uint64_t gaps(const uint64_t address[LANES], uint64_t size)
{
    const uint64_t first = address[0];
    uint64_t differ = 0;
    SIM_EACH differ |= address[l] - first - (uint64_t)l * size;
    return differ;
}

/* True if the active lanes are consecutive and their accesses follow each other without gaps. */
static bool one_range(const uint64_t address[LANES], uint32_t mask, uint64_t size, int *first, int *n)
{
    int lo = __builtin_ctz(mask), hi = 31 - __builtin_clz(mask);
    uint32_t run = mask >> lo;
    if (run & (run + 1)) return false;
    uint64_t differ = 0;
    if (mask == FULL) differ = gaps(address, size);
    else
        for (int l = lo; l <= hi; l++) differ |= address[l] - address[lo] - (uint64_t)(l - lo) * size;
    *first = lo;
    *n = hi - lo + 1;
    return !differ && address[lo] >> SEG_SHIFT != SEG_LOCAL;
}

static void count(uint64_t counts[SIM_SPACES][6], const SimOp *op, uint32_t mask)
{
    int size = op->bytes * op->lanes_n;
    counts[op->space][__builtin_ctz((unsigned)size)] += (uint64_t)(mask == FULL ? LANES : __builtin_popcount(mask));
}

#define SPREAD(T, W)                                                                                                     \
    for (int l = 0; l < LANES; l++) {                                                                                    \
        T v;                                                                                                             \
        memcpy(&v, from + (size_t)l * stride, sizeof v);                                                                 \
        W x = (W)v;                                                                                                      \
        memcpy(to + (size_t)l * sizeof x, &x, sizeof x);                                                                 \
    }

/* The elements of all lanes, `stride` bytes apart, to a column, extended to its width. */
static void spread(uint8_t *to, const uint8_t *from, size_t stride, int bytes, const SimCol *c)
{
    switch (bytes << 4 | c->width << 1 | c->sign) {
    case 1 << 4 | 2 << 1: SPREAD(uint8_t, uint16_t) break;
    case 1 << 4 | 2 << 1 | 1: SPREAD(int8_t, int16_t) break;
    case 1 << 4 | 4 << 1: SPREAD(uint8_t, uint32_t) break;
    case 1 << 4 | 4 << 1 | 1: SPREAD(int8_t, int32_t) break;
    case 1 << 4 | 8 << 1: SPREAD(uint8_t, uint64_t) break;
    case 1 << 4 | 8 << 1 | 1: SPREAD(int8_t, int64_t) break;
    case 2 << 4 | 2 << 1:
    case 2 << 4 | 2 << 1 | 1: SPREAD(uint16_t, uint16_t) break;
    case 2 << 4 | 4 << 1: SPREAD(uint16_t, uint32_t) break;
    case 2 << 4 | 4 << 1 | 1: SPREAD(int16_t, int32_t) break;
    case 2 << 4 | 8 << 1: SPREAD(uint16_t, uint64_t) break;
    case 2 << 4 | 8 << 1 | 1: SPREAD(int16_t, int64_t) break;
    case 4 << 4 | 4 << 1:
    case 4 << 4 | 4 << 1 | 1: SPREAD(uint32_t, uint32_t) break;
    case 4 << 4 | 8 << 1: SPREAD(uint32_t, uint64_t) break;
    case 4 << 4 | 8 << 1 | 1: SPREAD(int32_t, int64_t) break;
    default: SPREAD(uint64_t, uint64_t) break;
    }
}

/* Vectors of 2 or 4 words of each lane to columns of words, and back. */
WBB_CLONES static void spread_words(uint8_t *regs, const SimCol *c, const uint8_t *from, int n)
{
    const u32 *x = (const u32 *)(const void *)from;
    u32 *d0 = (u32 *)(void *)(regs + c[0].col), *d1 = (u32 *)(void *)(regs + c[1].col);
    if (n == 2) {
        SIM_EACH d0[l] = x[2 * l], d1[l] = x[2 * l + 1];
        return;
    }
    u32 *d2 = (u32 *)(void *)(regs + c[2].col), *d3 = (u32 *)(void *)(regs + c[3].col);
    SIM_EACH d0[l] = x[4 * l], d1[l] = x[4 * l + 1], d2[l] = x[4 * l + 2], d3[l] = x[4 * l + 3];
}

WBB_CLONES static void collect_words(uint8_t *to, const uint8_t *regs, const SimCol *c, int n)
{
    u32 *x = (u32 *)(void *)to;
    const u32 *s0 = (const u32 *)(const void *)(regs + c[0].col), *s1 = (const u32 *)(const void *)(regs + c[1].col);
    if (n == 2) {
        SIM_EACH x[2 * l] = s0[l], x[2 * l + 1] = s1[l];
        return;
    }
    const u32 *s2 = (const u32 *)(const void *)(regs + c[2].col), *s3 = (const u32 *)(const void *)(regs + c[3].col);
    SIM_EACH x[4 * l] = s0[l], x[4 * l + 1] = s1[l], x[4 * l + 2] = s2[l], x[4 * l + 3] = s3[l];
}

/* True if elements are words in 4-byte registers; their addresses are then aligned to words, too. */
static bool in_words(const SimOp *op, const SimCol *c)
{
    if (op->bytes != 4 || (op->lanes_n != 2 && op->lanes_n != 4)) return false;
    for (int i = 0; i < op->lanes_n; i++)
        if (c[i].width != 4) return false;
    return true;
}

/* A strong load may be part of a loop that waits. `from`: what the lanes read. */
static void polled(Block *b, Warp *w, const SimOp *op, uint32_t mask, const uint64_t address[LANES],
                   const uint8_t *from)
{
    const size_t size = (size_t)op->bytes * op->lanes_n;
    uint64_t seen = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const size_t l = (size_t)__builtin_ctz(rest);
        seen = wbb_hash(from + l * size, size, seen ^ address[l]);
    }
    sim_polled(b, w, op, mask, seen);
}

void sim_load(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint64_t address[LANES];
    size_t size = (size_t)op->bytes * op->lanes_n;
    _Alignas(64) uint8_t raw[LANES * 32];
    const uint8_t *from = raw;
    sim_addresses(w, op, address);
    count(b->report.loads, op, mask);
    if (b->tally) sim_count_access(b, op, address, mask, SIM_LOADED, size);
    int first = 0, n = 0;
    if (one_range(address, mask, size, &first, &n)) {
        Span p = judge(b, w, op, first, address[first], (size_t)n * size, size, false);
        if (p.bytes && p.size == (size_t)n * size) {
            judge_read(b, w, op, first, &p, address[first], size);
            if (mask == FULL) from = p.bytes;
            else memcpy(raw + (size_t)first * size, p.bytes, p.size);
            goto have; /* the common case ends here */
        }
    }
    memset(raw, 0, LANES * size);
    Span p = {0}; /* of the lane before: lanes often read one element of a table */
    uint64_t last = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (!p.bytes || address[l] != last || last >> SEG_SHIFT == SEG_LOCAL)
            p = judge(b, w, op, l, address[l], size, size, false);
        last = address[l];
        if (!p.bytes) continue;
        judge_read(b, w, op, l, &p, address[l], size);
        memcpy(raw + (size_t)l * size, p.bytes, p.size);
    }
have:;
    if (op->order && op->space != SIM_LOCAL) polled(b, w, op, mask, address, from);
    bool whole = (mask | ~w->live) == FULL;
    if (whole && in_words(op, &b->m->cols.items[op->target]) && (uintptr_t)from % 4 == 0) {
        spread_words(w->regs, &b->m->cols.items[op->target], from, op->lanes_n);
        return;
    }
    for (int i = 0; i < op->lanes_n; i++) {
        const SimCol *c = &b->m->cols.items[op->target + (uint32_t)i];
        if (!c->width) continue;
        if (whole) {
            spread(w->regs + c->col, from + i * op->bytes, size, op->bytes, c);
        } else {
            spread(b->scratch, from + i * op->bytes, size, op->bytes, c);
            sim_blend(w->regs + c->col, b->scratch, mask, c->width);
        }
    }
}

#define COLLECT(T)                                                                                                       \
    for (int l = 0; l < LANES; l++) memcpy(to + (size_t)l * stride, from + (size_t)l * width, sizeof(T));

/* A column to the elements of all lanes, `stride` bytes apart. */
static void collect(uint8_t *to, const uint8_t *from, size_t stride, int bytes, size_t width)
{
    switch (bytes) {
    case 1: COLLECT(uint8_t) break;
    case 2: COLLECT(uint16_t) break;
    case 4: COLLECT(uint32_t) break;
    default: COLLECT(uint64_t) break;
    }
}

void sim_store(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    uint64_t address[LANES];
    size_t size = (size_t)op->bytes * op->lanes_n;
    _Alignas(64) uint8_t raw[LANES * 32];
    sim_addresses(w, op, address);
    count(b->report.stores, op, mask);
    b->all->changes += op->space != SIM_LOCAL;
    if (b->tally) sim_count_access(b, op, address, mask, SIM_STORED, size);
    int first = 0, n = 0;
    Span p = {0};
    bool range = one_range(address, mask, size, &first, &n);
    if (range) {
        p = judge(b, w, op, first, address[first], (size_t)n * size, size, true);
        range = p.bytes != NULL;
    }
    uint8_t *to = range && mask == FULL ? p.bytes : raw;
    if (range) judge_write(b, w, op, first, &p, size, NULL);
    const bool words = in_words(op, &b->m->cols.items[op->target]) && (uintptr_t)to % 4 == 0;
    if (words) collect_words(to, w->regs, &b->m->cols.items[op->target], op->lanes_n);
    for (int i = 0; i < op->lanes_n && !words; i++) {
        const SimCol *c = &b->m->cols.items[op->target + (uint32_t)i];
        collect(to + i * op->bytes, w->regs + c->col, size, op->bytes, c->width);
    }
    if (range) {
        if (to == raw) memcpy(p.bytes, raw + (size_t)first * size, p.size);
        return;
    }
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        p = judge(b, w, op, l, address[l], size, size, true);
        if (!p.bytes) continue;
        judge_write(b, w, op, l, &p, size, raw + (size_t)l * size);
        memcpy(p.bytes, raw + (size_t)l * size, size);
    }
}

/* accesses of one lane, for operations that are neither loads nor stores ----------------------- */
uint8_t *sim_memory_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size, bool read,
                       bool write)
{
    const bool atomic = op->kind == OP_ATOMIC || op->kind == OP_MBARRIER || op->kind == OP_MBARRIER_WAIT ||
                        op->kind == OP_COPY_GROUP;
    const Span p = judge(b, w, op, lane, address, size, size, write);
    if (!p.bytes) return NULL;
    if (read) judge_read(b, w, op, lane, &p, address, size);
    else if (op->kind == OP_COPY && write) judge_write(b, w, op, lane, &p, size, NULL);
    else touch(b, w, op, lane, &p, size, atomic || !write ? SIM_TOUCH_ATOMIC : SIM_TOUCH_STORE, NULL);
    if (write && p.written && op->kind != OP_COPY) {
        judge_held(b, w, op, lane, &p, size);
        memset(p.written, SIM_WRITTEN, p.size);
    }
    return p.bytes;
}

void sim_order_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, bool writes)
{
    if (!b->orders) return;
    const Span p = judge(b, w, op, lane, address, op->bytes, op->bytes, writes);
    if (p.bytes && p.shadow) sim_order_read(b, w, op, lane, p.shadow, p.at);
    if (p.bytes && p.shadow && writes) sim_order_write(b, w, op, lane, p.shadow, p.at);
}

bool sim_unwritten(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, size_t size)
{
    const Span p = judge(b, w, op, lane, address, size, size, true);
    const bool shared = address >> SEG_SHIFT == SEG_SHARED;
    if (p.bytes && shared) touch(b, w, op, lane, &p, size, SIM_TOUCH_STORE, NULL); /* from now on it may write */
    if (p.bytes && p.written && shared) memset(p.written, 0, p.size);
    return p.bytes != NULL;
}

uint8_t *sim_atomic_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool read, bool *global)
{
    uint64_t all[LANES];
    sim_addresses(w, op, all);
    uint8_t *at = sim_memory_at(b, w, op, lane, all[lane], (size_t)op->bytes * op->lanes_n, read, true);
    *global = at && all[lane] >> SEG_SHIFT < SEG_SHARED;
    return at;
}

uint8_t *sim_row_memory_at(Block *b, Warp *w, const SimOp *op, int lane, bool store)
{
    uint64_t all[LANES];
    sim_addresses(w, op, all);
    return sim_memory_at(b, w, op, lane, all[lane], op->bytes, !store, store);
}

/* arena: memory that is given back all at once.
 *
 * Needs: the C heap. Leaves: zeroed, 16-byte aligned memory that lives until wbb_arena_free.
 *
 * A context knows its arenas and frees those that are left with it, so a failure that unwinds past an owner leaks
 * nothing.
 *
 * An arena is a list of chunks, each twice the size of the one before up to 1 MiB; a request larger than a quarter of a
 * chunk gets a chunk of its own, so that large zeroed arrays come straight from the system. The newest small request
 * can grow in place, which makes WBB_PUSH and WbbBuf cheap.
 *
 * What an arena gives back the context keeps, up to 64 MiB, for arenas to come, which zero what they take of it: memory
 * that was touched before costs a tenth of what the system asks for fresh pages. Under the address sanitizer nothing is
 * kept, so that every use after the end is seen.
 *
 * A chunk above 4 GiB, which only an arena of a raised limit gets, may be larger than the machine's memory: its pages
 * are reserved nowhere until they are touched, so a large array of which a run touches little costs little.
 *
 *     WbbArena *a = wbb_arena_new(cx);
 *     int *v = WBB_NEW_N(a, int, 100);    // all 0
 *     wbb_arena_free(a);
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "base/base.h"
#include "base/inner.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_CHUNK = 16 << 10, LAST_CHUNK = 1 << 20, ALIGN = 16 };
static const size_t DENSE = (size_t)4 << 30; /* bytes of the largest chunk of the heap */

typedef struct WbbChunk {
    struct WbbChunk *next;
    size_t capacity, used;
    size_t old; /* bytes from the first on that an arena before may have used: zeroed when they are asked for */
    _Alignas(16) unsigned char bytes[];
} Chunk;

struct WbbArena {
    WbbCx *cx;
    WbbArena *older, *newer; /* the context's other arenas */
    Chunk *chunk;         /* the one small requests come from; the others follow it */
    unsigned char *last;  /* newest small request: it ends at chunk->used */
    size_t total, limit;  /* bytes taken from the heap, and at most that many */
    size_t next_capacity;
};

#ifdef __SANITIZE_ADDRESS__
enum { KEPT = 0 };
#else
enum { KEPT = 64 << 20 };
#endif

static uint32_t log_of(size_t n) { return 63 - (uint32_t)__builtin_clzll(n); }

/* Zeroed; NULL if there is no memory. */
static Chunk *new_chunk(size_t capacity)
{
    Chunk *c;
    if (capacity > DENSE) {
        void *at = mmap(NULL, sizeof(Chunk) + capacity, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        c = at == MAP_FAILED ? NULL : at;
    } else {
        c = calloc(1, sizeof(Chunk) + capacity);
    }
    if (c) c->capacity = capacity;
    return c;
}

static void free_chunk(Chunk *c)
{
    if (c->capacity > DENSE) munmap(c, sizeof(Chunk) + c->capacity);
    else free(c);
}

/* To the context, if it has not too many. */
static void give_back(WbbCx *cx, Chunk *c)
{
    struct WbbCxInner *in = cx->inner;
    const uint32_t class = log_of(c->capacity);
    if (c->capacity < FIRST_CHUNK || class >= WBB_LEN(in->spare) ||
        c->capacity > KEPT - WBB_MIN(in->spare_bytes, (size_t)KEPT)) {
        free_chunk(c);
        return;
    }
    c->old = WBB_MAX(c->old, c->used), c->used = 0;
    c->next = in->spare[class];
    in->spare[class] = c;
    in->spare_bytes += c->capacity;
}

/* One of the context's that has the room, and not four times as much; NULL if there is none. */
static Chunk *spare_chunk(WbbCx *cx, size_t capacity)
{
    struct WbbCxInner *in = cx->inner;
    for (uint32_t class = log_of(WBB_MAX(capacity, 1)), last = class + 2; class < last && class < WBB_LEN(in->spare);
         class ++) {
        Chunk **at = &in->spare[class];
        for (int tries = 0; *at && (*at)->capacity < capacity && tries < 8; tries++) at = &(*at)->next;
        Chunk *c = *at;
        if (!c || c->capacity < capacity) continue;
        *at = c->next;
        in->spare_bytes -= c->capacity;
        return c;
    }
    return NULL;
}

void wbb_arena_lend(WbbCx *from, WbbCx *to)
{
    for (size_t class = 0; class < WBB_LEN(from->inner->spare); class++) {
        Chunk **last = &from->inner->spare[class];
        while (*last) last = &(*last)->next;
        *last = to->inner->spare[class];
        to->inner->spare[class] = from->inner->spare[class];
        from->inner->spare[class] = NULL;
    }
    to->inner->spare_bytes += from->inner->spare_bytes;
    from->inner->spare_bytes = 0;
}

void wbb_arena_forget(WbbCx *cx)
{
    for (size_t class = 0; class < WBB_LEN(cx->inner->spare); class++) {
        while (cx->inner->spare[class]) {
            Chunk *c = cx->inner->spare[class];
            cx->inner->spare[class] = c->next;
            free_chunk(c);
        }
    }
    cx->inner->spare_bytes = KEPT;
}

static Chunk *add_chunk(WbbArena *a, size_t capacity)
{
    const WbbLoc work = a->cx->inner->work;
    if (capacity > a->limit || a->total > a->limit - capacity)
        wbb_fail(a->cx, work, "out of memory: %zu bytes are needed beside %zu of the same work, the limit is %zu",
                 capacity, a->total, a->limit);
    if (capacity > SIZE_MAX - sizeof(Chunk)) wbb_fail(a->cx, work, "out of memory: %zu bytes asked for", capacity);
    Chunk *c = spare_chunk(a->cx, capacity);
    if (!c) {
        c = new_chunk(capacity);
        if (!c) wbb_fail(a->cx, work, "out of memory: %zu bytes asked for beside %zu", capacity, a->total);
    }
    c->next = NULL;
    a->total += capacity;
    return c;
}

static size_t round_up(WbbArena *a, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGN) wbb_fail(a->cx, (WbbLoc){0}, "out of memory: %zu bytes asked for", bytes);
    return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Takes what follows in the chunk, up to `used`. */
static void take(Chunk *c, size_t used)
{
    if (c->used < c->old) memset(c->bytes + c->used, 0, WBB_MIN(used, c->old) - c->used);
    c->used = used;
}

void *wbb_alloc(WbbArena *a, size_t bytes)
{
    size_t need = round_up(a, bytes ? bytes : 1);
    Chunk *c = a->chunk;
    if (c && need <= c->capacity - c->used) {
        a->last = c->bytes + c->used;
        take(c, c->used + need);
        return a->last;
    }
    if (need > a->next_capacity / 4) {
        Chunk *own = add_chunk(a, need);
        take(own, need);
        /* Behind the current chunk, which still has room for small requests. */
        if (c) {
            own->next = c->next;
            c->next = own;
        } else {
            a->chunk = own;
            a->last = own->bytes;
        }
        return own->bytes;
    }
    Chunk *fresh = add_chunk(a, a->next_capacity);
    if (a->next_capacity < LAST_CHUNK) a->next_capacity *= 2;
    fresh->next = c;
    a->chunk = fresh;
    a->last = fresh->bytes;
    take(fresh, need);
    return fresh->bytes;
}

void *wbb_grow(WbbArena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    if (!old) return wbb_alloc(a, new_bytes);
    if (new_bytes <= old_bytes) return old;
    Chunk *c = a->chunk;
    if (c && a->last == old) {
        size_t start = (size_t)(a->last - c->bytes);
        size_t need = round_up(a, new_bytes);
        if (need <= c->capacity - start) {
            if (start + need > c->used) take(c, start + need);
            return old;
        }
    }
    void *fresh = wbb_alloc(a, new_bytes);
    memcpy(fresh, old, old_bytes);
    return fresh;
}

size_t wbb_mul_size(WbbArena *a, size_t n, size_t size)
{
    size_t product = 0;
    if (__builtin_mul_overflow(n, size, &product))
        wbb_fail(a->cx, (WbbLoc){0}, "out of memory: %zu items of %zu bytes asked for", n, size);
    return product;
}

void wbb_arena_limit(WbbArena *a, size_t bytes) { a->limit = bytes; }

size_t wbb_arena_bytes(const WbbArena *a) { return a->total; }

WbbCx *wbb_arena_cx(WbbArena *a) { return a->cx; }

void wbb_arena_free(WbbArena *a)
{
    if (!a) return;
    for (Chunk *c = a->chunk; c;) {
        Chunk *next = c->next;
        give_back(a->cx, c);
        c = next;
    }
    if (a->newer) a->newer->older = a->older;
    else a->cx->inner->arenas = a->older;
    if (a->older) a->older->newer = a->newer;
    free(a);
}

WbbArena *wbb_arena_try_new(WbbCx *cx)
{
    WbbArena *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->cx = cx;
    a->limit = (size_t)4 << 30;
    a->next_capacity = FIRST_CHUNK;
    a->older = cx->inner->arenas;
    if (a->older) a->older->newer = a;
    cx->inner->arenas = a;
    return a;
}

WbbArena *wbb_arena_new(WbbCx *cx)
{
    WbbArena *a = wbb_arena_try_new(cx);
    if (!a) wbb_fail(cx, (WbbLoc){0}, "out of memory: no arena could be made");
    return a;
}

static _Atomic size_t reserved; /* by all threads */

/* Of address space. It is mapped and unmapped again, since libraries take theirs bit by bit. */
static bool can_map(size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    (void)bytes; /* memory has a shadow eight times smaller beside it: limits say little */
    return true;
#else
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return false;
    munmap(at, bytes);
    return true;
#endif
}

void wbb_reserve(WbbCx *cx, size_t bytes, const char *what)
{
    const size_t before = atomic_fetch_add(&reserved, bytes);
    if (bytes < SIZE_MAX - before && can_map(before + bytes)) return;
    wbb_release(bytes);
    wbb_fail(cx, (WbbLoc){0}, "out of memory: %s may take %zu bytes", what, bytes);
}

void wbb_release(size_t bytes) { atomic_fetch_sub(&reserved, bytes); }

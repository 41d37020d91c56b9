/* base: memory lifetimes, strings and failure, decided once.
 *
 * Every room includes this header and nothing here knows of compilers.
 *
 * Memory comes from arenas. There are three lifetimes (context, one compile, one pass); an arena is passed to whoever
 * allocates. Nothing outside this module calls malloc or free.
 *
 * Failure is of three kinds. `wbb_fail`: the input is at fault; the message is `file:line:col: error: what was seen`.
 * `wbb_decline`: a well-formed input that is not compiled, with a reason from the closed list in why.def. `assert`: our
 * own bug. The first two unwind to the nearest `wbb_guard`, which returns a WbbStatus; no other function of a module
 * returns an error code for them. Nothing prints, exits or aborts.
 *
 *     static void body(WbbCx *cx, void *arg) { if (bad) wbb_fail(cx, loc, "expected '(', found '%c'", c); }
 *     WbbStatus s = wbb_guard(cx, body, &arg);         // WBB_OK, WBB_FAILED or WBB_DECLINED; cx->messages has the text
 */
#ifndef WBB_BASE_H
#define WBB_BASE_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WBB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define WBB_NORETURN __attribute__((noreturn))
__extension__ typedef __int128 WbbI128; /* exact index and constant arithmetic */
__extension__ typedef unsigned __int128 WbbU128;
#else
#error "a compiler with __int128 is needed"
#endif

/* Further copies of a loop for machines with wider vectors, chosen when the program is loaded. They compute the same
 * bits: contraction to fma is off. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WBB_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define WBB_CLONES
#endif

#define WBB_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define WBB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WBB_MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct WbbArena WbbArena;
typedef struct WbbCx WbbCx;

/* A place in a text. line and col count from 1; 0 = unknown. file may be NULL. */
typedef struct {
    const char *file;
    int line, col;
} WbbLoc;

/* Text that a file of the user has, and where it begins there: line 1 of a whole file. NULL: there is none. */
typedef struct {
    const char *text;
    size_t n;
    WbbLoc at;
} WbbSource;

/* Also the exit status of the command line. */
typedef enum { WBB_OK = 0, WBB_FAILED = 1, WBB_USAGE = 2, WBB_DECLINED = 3, WBB_CHECK = 4 } WbbStatus;

/* Why a well-formed input is not compiled: the closed list of why.def. */
typedef enum {
#define WHY(id, text) WHY_##id,
#include "base/why.def"
#undef WHY
    WHY_COUNT
} WbbWhy;

/* One context per thread and compile. Fields are read-only outside base/. */
struct WbbCx {
    WbbArena *arena;      /* lives as long as the context: interned strings, messages */
    const char *messages; /* all messages so far, one a line; "" if none */
    WbbWhy why;           /* of the last decline */
    const char *about;    /* the file, one of several, that messages without a place concern; NULL: none */
    uint32_t threads;     /* that long work may use: wbb_use_threads */
    struct WbbCxInner *inner;
};

/* context.c -----------------------------------------------------------------------------------------------------------
 */
WbbCx *wbb_cx_new(void); /* NULL if memory is exhausted */
void wbb_cx_free(WbbCx *cx);
void wbb_cx_clear(WbbCx *cx); /* forget messages */
void wbb_forget_since(WbbCx *cx, size_t n); /* forget what stands behind the first n bytes of cx->messages */
/* Run body(cx, arg); a wbb_fail or wbb_decline inside ends it. Guards nest. The body computes in the default
 * floating-point environment, whatever the caller's is, which stands again when the guard ends. */
WbbStatus wbb_guard(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg);
/* The same where failure concerns nobody: what it said is forgotten. True: the body came to its end. */
bool wbb_quietly(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg);
/* The same in a context of its own, of which nothing stays but the memory, which cx keeps for arenas to come. Progress
 * is told to whom cx tells it. */
bool wbb_aside(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg);
/* That environment: round to nearest, keep subnormals, trap nothing. In a thread that is new, and behind a call of the
 * host's code, before which wbb_float_of_host puts back what its thread had outside the outermost guard. */
void wbb_float_default(void);
void wbb_float_of_host(const WbbCx *cx);
void wbb_fail(WbbCx *cx, WbbLoc loc, const char *format, ...) WBB_NORETURN WBB_PRINTF(3, 4);
void wbb_decline(WbbCx *cx, WbbLoc loc, WbbWhy why, const char *format, ...) WBB_NORETURN WBB_PRINTF(4, 5);
/* What the context works on: where memory that ends is said to. Until the guard around it ends. */
void wbb_work_on(WbbCx *cx, WbbLoc loc);
/* Where a text that was written here comes from: messages of a place in `file` name lines[line - 1], or `at` where that
 * has no line. Until the guard around it ends, or the next call; NULL: texts are where they say. Returns the former. */
typedef struct {
    const char *file;
    WbbLoc at;
    const WbbLoc *lines; /* [n_lines] */
    uint32_t n_lines;
    bool inside; /* `file` stands for a piece of text in the line of `at`, from there on */
} WbbOrigin;
const WbbOrigin *wbb_come_from(WbbCx *cx, const WbbOrigin *origin);
void wbb_rethrow(WbbCx *cx, WbbStatus status) WBB_NORETURN; /* go on unwinding after a guard that only cleaned up */
/* The messages of a context that worked for this one; wbb_rethrow then ends as it did. */
void wbb_take_messages(WbbCx *cx, const WbbCx *other);
void wbb_note(WbbCx *cx, WbbLoc loc, const char *format, ...) WBB_PRINTF(3, 4); /* a message that ends nothing */
/* Long work says here how far it is: `done` of `total` steps of the work that `what` names. The owner of the context
 * decides whether that is shown, and whether the work goes on: once its report returned true, so do all calls, and the
 * work ends with wbb_stop where it can. Without a report nothing happens. */
bool wbb_progress(WbbCx *cx, const char *what, int64_t done, int64_t total);
bool wbb_progress_again(WbbCx *cx); /* says once more what was said last, from the middle of a step */
void wbb_stop(WbbCx *cx) WBB_NORETURN; /* a wbb_fail */
typedef bool WbbReport(void *arg, const char *what, int64_t done, int64_t total);
void wbb_on_progress(WbbCx *cx, WbbReport *report, void *arg);
void wbb_progress_of(WbbCx *cx, const WbbCx *of); /* tells whom that context tells */
void wbb_use_threads(WbbCx *cx, uint32_t n); /* long work may be spread over n threads; 1 in a new context */
const char *wbb_why_name(WbbWhy why);                                            /* "reduction" */
const char *wbb_why_text(WbbWhy why);                                            /* one sentence */

/* arena.c -------------------------------------------------------------------------------------------------------------
 * Allocation never returns NULL: an exhausted machine or an arena above its limit (4 GiB unless set) is a wbb_fail. An
 * arena that nobody frees is freed with its context. */
WbbArena *wbb_arena_new(WbbCx *cx);
void wbb_arena_free(WbbArena *a);
void wbb_arena_limit(WbbArena *a, size_t bytes);
size_t wbb_arena_bytes(const WbbArena *a); /* taken from the heap so far */
void *wbb_alloc(WbbArena *a, size_t bytes); /* zeroed, 16-byte aligned */
void *wbb_grow(WbbArena *a, void *old, size_t old_bytes, size_t new_bytes);
#define WBB_NEW(arena, T) ((T *)wbb_alloc((arena), sizeof(T)))
#define WBB_NEW_N(arena, T, n) ((T *)wbb_alloc((arena), wbb_mul_size((arena), (size_t)(n), sizeof(T))))
size_t wbb_mul_size(WbbArena *a, size_t n, size_t size); /* fails on overflow */

/* For a library that ends the process when memory is exhausted: fails unless the process could have these bytes now,
 * beside what others have reserved and not released. Nothing is allocated. Does nothing under AddressSanitizer. */
void wbb_reserve(WbbCx *cx, size_t bytes, const char *what);
void wbb_release(size_t bytes);

/* Append to a growable array { T *items; uint32_t n, capacity; } kept in an arena; most of large items stay short. */
#define WBB_PUSH(arena, list, value)                                                                                   \
    do {                                                                                                               \
        if ((list)->n == (list)->capacity) {                                                                           \
            uint32_t wbb_capacity = (list)->capacity ? (list)->capacity * 2 : sizeof *(list)->items > 64 ? 2 : 8;      \
            (list)->items = wbb_grow((arena), (list)->items, (list)->capacity * sizeof *(list)->items,                 \
                                     wbb_mul_size((arena), wbb_capacity, sizeof *(list)->items));                      \
            (list)->capacity = wbb_capacity;                                                                           \
        }                                                                                                              \
        (list)->items[(list)->n++] = (value);                                                                          \
    } while (0)

/* string.c ------------------------------------------------------------------------------------------------------------
 */
const char *wbb_intern(WbbCx *cx, const char *p, size_t n); /* equal texts give equal pointers */
const char *wbb_intern_z(WbbCx *cx, const char *z);
char *wbb_format(WbbArena *a, const char *format, ...) WBB_PRINTF(2, 3);
/* The line at *p of a text that ends at `end`, without blanks at its end, of 1 MiB at most; *p is behind it then.
 * comment: what begins one; NULL: there are none. */
const char *wbb_next_line(WbbArena *a, const char **p, const char *end, const char *comment);

/* A text under construction; always NUL-terminated. */
typedef struct {
    WbbArena *arena;
    char *text;
    size_t n, capacity;
} WbbBuf;

WbbBuf wbb_buf(WbbArena *a);
void wbb_put(WbbBuf *b, const char *z);
void wbb_put_n(WbbBuf *b, const char *p, size_t n);
void wbb_putf(WbbBuf *b, const char *format, ...) WBB_PRINTF(2, 3);
void wbb_put_v(WbbBuf *b, const char *format, va_list args) WBB_PRINTF(2, 0);
void wbb_put_i128(WbbBuf *b, WbbI128 value);      /* decimal */
uint64_t wbb_hash(const void *bytes, size_t n, uint64_t seed); /* fixed for all time: results may be stored */

/* The finaliser of splitmix64, prng.di.unimi.it/splitmix64.c; fixed for all time: test inputs come from it. */
static inline uint64_t wbb_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* json_writer.c -------------------------------------------------------------------------------------------------------
 * One value a call, after a comma where one is due; `key` is NULL but in an object. Brackets: '{' '}' or '[' ']'. */
void wbb_json_open(WbbBuf *b, const char *key, char bracket);
void wbb_json_close(WbbBuf *b, char bracket);
/* The end of an object that a program prints for others: its last member names the file of docs/schemas that says what
 * is in it, and that file's version, "stats.1". */
void wbb_json_end(WbbBuf *b, const char *schema);
void wbb_json_text(WbbBuf *b, const char *key, const char *z); /* quoted and escaped; NULL: null */
void wbb_json_int(WbbBuf *b, const char *key, int64_t value);
void wbb_json_uint(WbbBuf *b, const char *key, uint64_t value);
void wbb_json_bool(WbbBuf *b, const char *key, bool value);
/* What is JSON already: a number with its decimals, a value or several members written elsewhere. */
void wbb_json_putf(WbbBuf *b, const char *key, const char *format, ...) WBB_PRINTF(3, 4);
void wbb_json_line(WbbBuf *b, uint32_t indent); /* the next value begins a line, after so many blanks */

/* map.c ---------------------------------------------------------------------------------------------------------------
 * A hash map with 64-bit keys, or with byte strings as keys, which it copies. Zeroed memory with an arena is an empty
 * map. The number of an entry, e - m.entries, never changes and counts from 0: the caller may index arrays by it. */
typedef struct {
    uint64_t key;
    union { /* the caller's; 0 in a new entry */
        uint64_t value;
        void *pointer;
    };
} WbbEntry;

typedef struct {
    WbbArena *arena;
    WbbEntry *entries; /* [n], in the order in which they were made */
    uint32_t *slots;   /* [n_slots], a power of two; see map.c */
    uint32_t n, n_slots;
    bool of_bytes;     /* keys are byte strings */
} WbbMap;

static inline uint64_t wbb_key(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
WbbEntry *wbb_map_get(const WbbMap *m, uint64_t key); /* NULL: none; an entry may move at the next put */
WbbEntry *wbb_map_put(WbbMap *m, uint64_t key);       /* the entry of the key, made now if there is none */
WbbEntry *wbb_map_get_bytes(const WbbMap *m, const void *bytes, size_t n);
WbbEntry *wbb_map_put_bytes(WbbMap *m, const void *bytes, size_t n);
const char *wbb_map_text(const WbbEntry *e); /* the map's copy of a byte string, NUL-terminated; it never moves */
void wbb_map_reserve(WbbMap *m, uint32_t n); /* so that n keys fit without growing */
void wbb_map_clear(WbbMap *m);               /* forgets all keys and keeps the memory */
/* The interned name stem + ending, or stem.N + ending with the least N from `first` on: what `names`, a map by interned
 * name, lacks; now it has it. Each name remembers the next N, so that n names of one stem take n steps. */
const char *wbb_unique_name(WbbCx *cx, WbbMap *names, const char *stem, const char *ending, uint32_t first);

/* pool.c --------------------------------------------------------------------------------------------------------------
 * Tasks 0 .. n-1 on several threads. */
typedef struct WbbPool WbbPool;
enum { WBB_POOL_THREADS = 64 }; /* at most */
typedef void WbbPoolWork(WbbPool *p, void *arg, uint32_t worker); /* 0, the caller's thread, and up */
/* Calls `work` once on each thread; returns the number of threads when all are done. `part`: tasks taken at once. */
uint32_t wbb_pool_run(uint32_t threads, uint64_t n, uint64_t part, WbbPoolWork *work, void *arg);
bool wbb_pool_take(WbbPool *p, uint64_t *first, uint64_t *end); /* tasks first .. end-1; false: none is left */
void wbb_pool_stop(WbbPool *p);                                 /* no task is taken from now on */
uint32_t wbb_pool_threads(int64_t asked, uint64_t n);           /* as asked, or one a core if that is 0; n at most */

/* file.c --------------------------------------------------------------------------------------------------------------
 * Paths are as the user wrote them. A file that cannot be read or written is a wbb_fail that names it. */
char *wbb_read_file(WbbCx *cx, WbbArena *a, const char *path, size_t *n); /* NUL-terminated; n without the NUL */
WbbSource wbb_read_source(WbbCx *cx, WbbArena *a, const char *path);      /* the same; path NULL: there is none */
void wbb_write_file(WbbCx *cx, const char *path, const void *bytes, size_t n);
void wbb_make_dir(WbbCx *cx, const char *path); /* with its parents; existing is fine */
bool wbb_file_exists(const char *path);
bool wbb_is_dir(const char *path);
const char **wbb_list_dir(WbbCx *cx, WbbArena *a, const char *path, uint32_t *n); /* names of what is in it, sorted */
const char *wbb_temp_folder(void);                      /* $TMPDIR, or the machine's */
char *wbb_temp_dir(WbbCx *cx, WbbArena *a);             /* a new empty directory in it */
void wbb_remove_dir(const char *path);                  /* it and the files in it */
/* The user's folder of what is kept from run to run: $WARPBURG_CACHE, else warpburg in $XDG_CACHE_HOME or ~/.cache;
 * NULL: there is none, or WARPBURG_CACHE is empty or `off`. It may not exist yet. */
const char *wbb_cache_folder(WbbArena *a);
double wbb_now_ms(void);                                /* monotonic */
double wbb_cpu_ms(void);                                /* of this thread alone: others on the machine do not count */

/* apart.c -----------------------------------------------------------------------------------------------------------
 * Calls body on a thread of its own, with a copy of n bytes, behind which stands a zero, and waits at most so
 * many seconds, then a few more for one that asks wbb_apart_late. *made: what it put, followed by a zero. False: it did
 * not end in time; the thread of one that does not end at all stays until the process ends. */
typedef struct WbbApart WbbApart;
typedef void WbbApartBody(WbbApart *x, const char *given, size_t n);
bool wbb_run_apart(WbbCx *cx, WbbArena *a, WbbApartBody *body, const void *given, size_t n, uint32_t seconds,
                   char **made, size_t *n_made);
/* For the body: adds n bytes to what it made, or room for them, until the next call; NULL: there is no memory, which
 * the caller is told. Whether nobody needs the result any longer. */
void wbb_apart_put(WbbApart *x, const void *bytes, size_t n);
char *wbb_apart_room(WbbApart *x, size_t n);
bool wbb_apart_late(WbbApart *x);

/* process.c ------------------------------------------------------------------------------------------------------- */
typedef struct {
    int status;       /* of its exit; 127: it could not be started; -1: a signal ended it, or it ran out of time */
    const char *what; /* "was ended by signal 11" */
} WbbExit;
/* Runs argv[0] (found on PATH) without a shell, and waits at most so many seconds; stdout and stderr together to
 * *output. On Linux it ends with the thread that calls this. */
WbbExit wbb_run_process(WbbCx *cx, WbbArena *a, const char *const *argv, uint32_t seconds, char **output);
/* In a new child of the process `parent`: end when that ends. */
void wbb_end_with_parent(long parent);
void wbb_remove_temporary(long process); /* the temporary directories of a process that has ended */
/* For a program, before it starts a thread, and again in each process that it forks: SIGINT, SIGTERM and SIGHUP remove
 * the temporary directories of the process and end it. */
void wbb_end_on_signals(void);

#endif

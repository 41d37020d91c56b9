/* apart: a call of another library on a thread of its own, with a limit of time.
 *
 * Needs: POSIX threads. Leaves: what the call made, in the caller's arena; or, of a call that does not end, a thread
 * that runs on until the process ends, with memory of its own.
 *
 * The thread has a stack of 16 MiB, whatever the caller's is, the default floating-point environment, and no signals:
 * the host's handlers do not run on it. Both sides copy, so that neither refers to memory that the other frees. Memory
 * that a call frees stays with the process, for the next one.
 *
 *     static void body(WbbApart *x, const char *given, size_t n) { .. wbb_apart_put(x, bytes, size); }
 *     if (!wbb_run_apart(cx, arena, body, text, n, 60, &made, &n_made)) ..        // it did not end in a minute
 */
#define _XOPEN_SOURCE 700

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK = 16 << 20, GRACE = 5 /* seconds that a call has to notice wbb_apart_late */ };

struct WbbApart {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done, left; /* under the lock; left: nobody waits any longer, and the thread frees this */
    atomic_bool late;
    bool exhausted; /* memory for what the body made */
    WbbApartBody *body;
    char *given, *made;
    size_t n_given, n_made, capacity;
};

static void release(WbbApart *x)
{
    pthread_mutex_destroy(&x->lock);
    pthread_cond_destroy(&x->ended);
    free(x->given);
    free(x->made);
    free(x);
}

char *wbb_apart_room(WbbApart *x, size_t n)
{
    if (n > x->capacity - x->n_made) {
        const size_t capacity = WBB_MAX(x->capacity * 2, x->n_made + n);
        char *made = n < SIZE_MAX / 4 ? realloc(x->made, capacity) : NULL;
        if (!made) x->exhausted = true;
        if (x->exhausted) return NULL;
        x->made = made, x->capacity = capacity;
    }
    x->n_made += n;
    return x->made + (x->n_made - n);
}

void wbb_apart_put(WbbApart *x, const void *bytes, size_t n)
{
    char *at = wbb_apart_room(x, n);
    if (at && n) memcpy(at, bytes, n);
}

bool wbb_apart_late(WbbApart *x) { return atomic_load(&x->late); }

/* glibc gives the top of a heap back to the system when more than 128 KiB of it are free, and the pages of the next
 * call are then zeroed one by one: 11 MiB for a small kernel of ptxas, a third of its time. A freed block that glibc
 * had mapped raises that limit to twice its size, unless the host has set one. No page of this block is touched. */
static void keep_memory(void)
{
    enum { BLOCK = 16 << 20 };
    void *volatile block = malloc(BLOCK); /* volatile: compilers may leave out malloc and free of one block */
    free(block);
}

static void *thread_main(void *arg)
{
    WbbApart *x = arg;
    wbb_float_default();
    keep_memory();
    x->body(x, x->given, x->n_given);
    pthread_mutex_lock(&x->lock);
    x->done = true;
    pthread_cond_signal(&x->ended);
    const bool left = x->left;
    pthread_mutex_unlock(&x->lock);
    if (left) release(x);
    return NULL;
}

static bool start(WbbApart *x, pthread_t *thread)
{
    sigset_t all, before;
    pthread_attr_t how;
    sigfillset(&all);
    if (pthread_attr_init(&how) != 0) return false;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started =
        pthread_attr_setstacksize(&how, STACK) == 0 && pthread_create(thread, &how, thread_main, x) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    return started;
}

/* Under the lock: waits so long for the end. */
static void wait_for(WbbApart *x, uint32_t seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)seconds;
    while (!x->done)
        if (pthread_cond_timedwait(&x->ended, &x->lock, &end) == ETIMEDOUT) return;
}

typedef struct {
    const WbbApart *from;
    WbbArena *arena;
    char *bytes;
} Copy;

static void copy(WbbCx *cx, void *arg)
{
    Copy *c = arg;
    (void)cx;
    c->bytes = wbb_alloc(c->arena, c->from->n_made + 1);
    if (c->from->n_made) memcpy(c->bytes, c->from->made, c->from->n_made);
}

bool wbb_run_apart(WbbCx *cx, WbbArena *a, WbbApartBody *body, const void *given, size_t n, uint32_t seconds,
                   char **made, size_t *n_made)
{
    WbbApart *x = calloc(1, sizeof *x);
    char *own = malloc(n + 1);
    if (!x || !own) {
        free(x);
        free(own);
        wbb_fail(cx, (WbbLoc){0}, "out of memory");
    }
    memcpy(own, given, n);
    own[n] = 0;
    x->body = body, x->given = own, x->n_given = n;
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->ended, NULL);
    pthread_t thread;
    if (!start(x, &thread)) {
        release(x);
        wbb_fail(cx, (WbbLoc){0}, "cannot start a thread");
    }
    pthread_mutex_lock(&x->lock);
    wait_for(x, seconds);
    atomic_store(&x->late, !x->done);
    if (!x->done) wait_for(x, GRACE);
    const bool done = x->done;
    x->left = !done;
    pthread_mutex_unlock(&x->lock);
    if (!done) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    Copy c = {.from = x, .arena = a};
    const WbbStatus copied = wbb_guard(cx, copy, &c);
    *made = c.bytes, *n_made = x->n_made;
    const bool late = atomic_load(&x->late), exhausted = x->exhausted;
    release(x);
    if (copied != WBB_OK) wbb_rethrow(cx, copied);
    if (exhausted) wbb_fail(cx, (WbbLoc){0}, "out of memory");
    return !late;
}

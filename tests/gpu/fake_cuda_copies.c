/* fake_cuda_copies: copies from the host to the simulated device arrive as late as CUDA allows.
 *
 * cuMemcpyHtoD returns when the elements have been read, which is before they have arrived. The default stream and the
 * streams that are ordered with it wait for them; a host's stream (any handle that fake_stream did not make) does not,
 * nor does one that was made without the order:
 *
 *     cuMemcpyHtoD(x, ..); launch on XLA's stream: the kernel reads what x was before
 *     cuMemcpyHtoD(x, ..); cuCtxSynchronize(); launch on XLA's stream: the kernel reads x
 */
#include "fake_cuda_copies.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Copy {
    struct Copy *before;
    CuPointer to;
    size_t bytes;
    CuHandle stream;
    unsigned char from[];
} Copy;

typedef struct Stream {
    struct Stream *next;
} Stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Copy *under_way;  /* the last one */
static Stream *blocking; /* streams that are ordered with the default one */

static bool is_blocking(CuHandle stream)
{
    const Stream *s = blocking;
    while (s && s != stream) s = s->next;
    return s || !stream;
}

CuHandle fake_stream(bool is_ordered)
{
    Stream *s = calloc(1, sizeof *s);
    pthread_mutex_lock(&lock);
    if (is_ordered) s->next = blocking, blocking = s;
    pthread_mutex_unlock(&lock);
    return s;
}

/* Copies arrive in their order. */
static void arrive(Copy **at, CuHandle stream, bool all)
{
    Copy *c = *at;
    if (!c) return;
    arrive(&c->before, stream, all);
    if (!all && c->stream != stream && !(is_blocking(c->stream) && is_blocking(stream))) return;
    memcpy((void *)(uintptr_t)c->to, c->from, c->bytes);
    *at = c->before;
    free(c);
}

void fake_stream_end(CuHandle stream)
{
    pthread_mutex_lock(&lock);
    arrive(&under_way, stream, false);
    for (Stream **s = &blocking; *s; s = *s ? &(*s)->next : s)
        if (*s == stream) *s = (*s)->next;
    pthread_mutex_unlock(&lock);
    free(stream);
}

void fake_copy(CuPointer to, const void *from, size_t bytes, CuHandle stream)
{
    Copy *c = malloc(sizeof *c + bytes);
    pthread_mutex_lock(&lock);
    *c = (Copy){under_way, to, bytes, stream};
    memcpy(c->from, from, bytes);
    under_way = c;
    pthread_mutex_unlock(&lock);
}

void fake_settle(CuHandle stream)
{
    pthread_mutex_lock(&lock);
    arrive(&under_way, stream, false);
    pthread_mutex_unlock(&lock);
}

void fake_settle_all(void)
{
    pthread_mutex_lock(&lock);
    arrive(&under_way, NULL, true);
    pthread_mutex_unlock(&lock);
}

/* interrupt.c: whether Ctrl-C came while the host's main thread cannot see it.
 *
 * Needs a host with a handler of SIGINT of its own, as Python's, which only notes the signal: Python acts on it in its
 * main thread, between two instructions, and that waits for XLA as long as the simulator runs in XLA's thread. Leaves,
 * while some call is watched, a handler that counts and then calls the host's. Where the host has none the signal ends
 * the process as before.
 *
 *     {.progress = wb_interrupted, .progress_arg = &since} of wb_run_options, with since = wb_interrupts_begin()
 */
#define _GNU_SOURCE /* sigaction */

#include "api/inner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* A handler has no argument of ours: what it writes and whom it calls is one per process, as handlers are. */
static atomic_uint count;
static struct sigaction hosts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t watched;

static void on_interrupt(int number, siginfo_t *info, void *context)
{
    atomic_fetch_add(&count, 1);
    if (hosts.sa_flags & SA_SIGINFO) hosts.sa_sigaction(number, info, context);
    else hosts.sa_handler(number);
}

static bool is_ours(const struct sigaction *s)
{
    return (s->sa_flags & SA_SIGINFO) && s->sa_sigaction == on_interrupt;
}

unsigned wb_interrupts_begin(void)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    const bool has = !watched++ && sigaction(SIGINT, NULL, &now) == 0 && !is_ours(&now);
    if (has && ((now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))) {
        hosts = now;
        now.sa_flags |= SA_SIGINFO;
        now.sa_sigaction = on_interrupt;
        sigaction(SIGINT, &now, NULL);
    }
    pthread_mutex_unlock(&lock);
    return atomic_load(&count);
}

void wb_interrupts_end(void)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (!--watched && sigaction(SIGINT, NULL, &now) == 0 && is_ours(&now)) sigaction(SIGINT, &hosts, NULL);
    pthread_mutex_unlock(&lock);
}

int wb_interrupted(void *since, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    return atomic_load(&count) != *(const unsigned *)since;
}

/* process: child processes, and the end of this one.
 *
 * Needs: POSIX; on Linux children end with their parent. Leaves: what a child printed, and how it ended; after a signal
 * no temporary directory.
 *
 *     char *text;
 *     const WbbExit e = wbb_run_process(cx, arena, argv, 60, &text);   // status 0, or what "was ended by signal 11"
 */
#define _GNU_SOURCE /* pipe2 */

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

void wbb_end_with_parent(long parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != (pid_t)parent) _exit(128 + SIGTERM); /* it has ended already */
}

/* In the child: stdout and stderr go to the pipe, signals are as in a new process. Does not return. */
static void become(const char *const *argv, int out, long parent)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    wbb_end_with_parent(parent);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(127);
    union { /* execvp does not change its arguments, though its type cannot say so */
        const char *const *in;
        char *const *out;
    } args = {.in = argv};
    execvp(argv[0], args.out);
    _exit(127);
}

/* Reads to the end of fd, or until the time is over: then *late is true. */
static char *read_until(WbbArena *a, int fd, double end, bool *late)
{
    WbbBuf b = wbb_buf(a);
    for (;;) {
        const double left = end - wbb_now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int ready = left > 0 ? poll(&p, 1, (int)WBB_MIN(left + 1, 1e6)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        *late = wbb_now_ms() >= end;
        if (ready <= 0 && (*late || ready < 0)) return b.text;
        if (ready == 0) continue;
        char part[4096];
        const ssize_t got = read(fd, part, sizeof part);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return b.text;
        wbb_put_n(&b, part, (size_t)got);
    }
}

/* Waits for the end of a child that has closed its pipe; it may still run. */
static int wait_until(pid_t child, double end, bool *late)
{
    int status = 0;
    for (long pause = 100;; pause = WBB_MIN(pause * 2, 50000L)) { /* microseconds */
        const pid_t done = waitpid(child, &status, *late ? 0 : WNOHANG);
        if (done == child || (done < 0 && errno != EINTR)) return status;
        if (!*late && wbb_now_ms() >= end) {
            *late = true;
            kill(child, SIGKILL);
        }
        if (!*late) (void)poll(NULL, 0, (int)(pause / 1000));
    }
}

WbbExit wbb_run_process(WbbCx *cx, WbbArena *a, const char *const *argv, uint32_t seconds, char **output)
{
    int ends[2];
    const double end = wbb_now_ms() + 1e3 * seconds;
    const long parent = (long)getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) wbb_fail(cx, (WbbLoc){0}, "cannot run %s: %s", argv[0], strerror(errno));
    const pid_t child = fork();
    if (child == 0) become(argv, ends[1], parent);
    const int error = errno;
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        if (output) *output = wbb_format(a, "cannot run %s: %s\n", argv[0], strerror(error));
        return (WbbExit){.status = 127, .what = wbb_format(a, "cannot be started: %s", strerror(error))};
    }
    bool late = false;
    char *text = read_until(a, ends[0], end, &late);
    close(ends[0]);
    if (late) kill(child, SIGKILL);
    const int status = wait_until(child, end, &late);
    if (output) *output = text;
    if (late) return (WbbExit){.status = -1, .what = wbb_format(a, "did not end in %u seconds", seconds)};
    if (WIFSIGNALED(status))
        return (WbbExit){.status = -1, .what = wbb_format(a, "was ended by signal %d", WTERMSIG(status))};
    return (WbbExit){.status = WEXITSTATUS(status),
                     .what = wbb_format(a, "ended with status %d", WEXITSTATUS(status))};
}

/* wbb_temp_dir puts the number of its process into the name. */
void wbb_remove_temporary(long process)
{
    char mine[64], path[4096];
    const char *parent = wbb_temp_folder();
    snprintf(mine, sizeof mine, "warpburg.%ld.", process);
    DIR *dir = opendir(parent);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!strncmp(e->d_name, mine, strlen(mine)) &&
            snprintf(path, sizeof path, "%s/%s", parent, e->d_name) < (int)sizeof path)
            wbb_remove_dir(path);
    if (dir) closedir(dir);
}

/* The thread that waits for a signal. */
static void *watch(void *arg)
{
    const sigset_t signals = *(const sigset_t *)arg;
    int signal_number = 0;
    free(arg);
    if (sigwait(&signals, &signal_number) != 0) return NULL;
    wbb_remove_temporary((long)getpid());
    signal(signal_number, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signal_number);
    _exit(128 + signal_number);
}

void wbb_end_on_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t *signals = malloc(sizeof *signals); /* the thread's own: it outlives every context */
    if (!signals) return;
    sigemptyset(signals);
    for (size_t k = 0; k < WBB_LEN(ends); k++) {
        struct sigaction now;
        const bool ignored = sigaction(ends[k], NULL, &now) == 0 && now.sa_handler == SIG_IGN; /* nohup */
        if (!ignored) sigaddset(signals, ends[k]);
    }
    pthread_t thread;
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    if (pthread_create(&thread, NULL, watch, signals) == 0) {
        pthread_detach(thread);
        return;
    }
    pthread_sigmask(SIG_UNBLOCK, signals, NULL);
    free(signals);
}

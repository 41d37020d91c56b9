/* stats_pool.c: the processes of `warpburg stats`.
 *
 * Needs a list of files; leaves the lines of all of them. Processes take files one by one from a counter in shared
 * memory, where each also keeps its position. When one dies, by an assertion, a signal or its alarm, another takes its
 * place: it writes a record that says what happened at that position, and repeats the files that were not done. If the
 * process died in a batch, its successor assembles each kernel alone. So no input stops a run.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "main/stats.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FREE = 0, DONE = -1 }; /* states of a file; or 1 + the number of the process that has it */

typedef struct {
    atomic_uint next;
    StatsPosition now[STATS_MAX_JOBS]; /* by process */
    atomic_int state[];                /* by file */
} Shared;

typedef struct {
    const StatsCall *call;
    Shared *shared;
    WbbArena *arena;
    struct { StatsBad *items; uint32_t n, capacity; } bad;
    char spool[STATS_MAX_JOBS][4096]; /* by process: the file that it writes lines to */
    pid_t pid[STATS_MAX_JOBS];        /* 0: ended */
    bool suspicious[STATS_MAX_JOBS];  /* the one before died in a batch */
    uint32_t jobs;
} Pool;

typedef struct {
    Pool *pool;
    uint32_t job;
    uint32_t again;  /* the next file to look at for what the process before it did not finish */
    bool suspicious; /* that process died in a batch */
    bool careful;    /* StatsWork.careful */
} Child;

/* First the files that the process before had taken and not finished, then the next that no process has taken. */
static bool next_file(void *arg, uint32_t *file)
{
    Child *c = arg;
    Shared *s = c->pool->shared;
    const uint32_t n = c->pool->call->n_files;
    const int own = (int)c->job + 1;
    for (; c->again < n; c->again++) {
        if (atomic_load(&s->state[c->again]) != own) continue;
        *file = c->again++;
        c->careful = c->suspicious;
        return true;
    }
    c->careful = false;
    *file = atomic_fetch_add(&s->next, 1);
    if (*file >= n) return false;
    atomic_store(&s->state[*file], own);
    return true;
}

static void file_done(void *arg, uint32_t file)
{
    atomic_store(&((Child *)arg)->pool->shared->state[file], DONE);
}

static void work(WbbCx *cx, void *arg)
{
    Child *c = arg;
    Pool *p = c->pool;
    const int fd = open(p->spool[c->job], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) wbb_fail(cx, (WbbLoc){0}, "cannot write %s", p->spool[c->job]);
    const StatsWork w = {.call = p->call, .bad = p->bad.items, .n_bad = p->bad.n, .careful = &c->careful,
                         .now = &p->shared->now[c->job], .next = next_file, .done = file_done, .arg = c, .fd = fd};
    main_stats_work(cx, &w);
    close(fd);
}

/* In the child; does not return. */
static void child(Pool *p, uint32_t job, bool again, bool suspicious, long parent)
{
    wbb_end_with_parent(parent);
    Child c = {.pool = p, .job = job, .again = again ? 0 : p->call->n_files, .suspicious = suspicious};
    WbbCx *cx = wbb_cx_new();
    if (!cx) _exit(WBB_FAILED);
    wbb_end_on_signals();
    const WbbStatus s = wbb_guard(cx, work, &c);
    if (s != WBB_OK) fputs(cx->messages, stderr);
    fflush(NULL);
    _exit((int)s);
}

static void start(WbbCx *cx, Pool *p, uint32_t job, bool again, bool suspicious)
{
    p->shared->now[job] = (StatsPosition){0};
    fflush(NULL);
    const long parent = (long)getpid();
    p->pid[job] = fork();
    if (p->pid[job] < 0) wbb_fail(cx, (WbbLoc){0}, "cannot start a process");
    if (p->pid[job] == 0) child(p, job, again, suspicious, parent);
}

static const char *cause_of_death(WbbArena *a, int status)
{
    if (!WIFSIGNALED(status)) return wbb_format(a, "the compiler ended with status %d", WEXITSTATUS(status));
    if (WTERMSIG(status) == SIGALRM) return "the compiler did not end in time";
    return wbb_format(a, "the compiler crashed: signal %d", WTERMSIG(status));
}

static bool left_over(const Pool *p, uint32_t job)
{
    for (uint32_t i = 0; i < p->call->n_files; i++)
        if (atomic_load(&p->shared->state[i]) == (int)job + 1) return true;
    return false;
}

/* After the end of a process: note why it died, and start another if there is work. */
static void process_ended(WbbCx *cx, Pool *p, uint32_t job, int status)
{
    wbb_remove_temporary((long)p->pid[job]);
    p->pid[job] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == WBB_OK) return;
    const StatsBad bad = {p->shared->now[job], cause_of_death(p->arena, status)};
    if (bad.position.file == 0) wbb_fail(cx, (WbbLoc){0}, "%s before it had a file", bad.why);
    const bool among_many = bad.position.part == STATS_BATCH;
    bool known = among_many && p->suspicious[job];
    for (uint32_t i = 0; i < p->bad.n; i++)
        known |= memcmp(&p->bad.items[i].position, &bad.position, sizeof bad.position) == 0;
    if (known) wbb_fail(cx, (WbbLoc){.file = p->call->files[bad.position.file - 1]}, "%s, twice", bad.why);
    if (!among_many) WBB_PUSH(p->arena, &p->bad, bad);
    p->suspicious[job] = among_many;
    if (left_over(p, job) || atomic_load(&p->shared->next) < p->call->n_files) start(cx, p, job, true, among_many);
}

/* How many files are done, to a person who waits; and wait a little. A file that a process has begun is half done: they
 * end together, when the machine code of many is made at once. */
static void report(WbbCx *cx, const Pool *p)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    int64_t done = 0;
    for (uint32_t i = 0; i < p->call->n_files; i++) done += atomic_load(&p->shared->state[i]) == DONE;
    const int64_t begun = WBB_MIN(atomic_load(&p->shared->next), p->call->n_files);
    wbb_progress(cx, "files", (begun + done) / 2, p->call->n_files);
    nanosleep(&pause, NULL);
}

static void run_all(WbbCx *cx, Pool *p)
{
    for (uint32_t j = 0; j < p->jobs; j++) start(cx, p, j, false, false);
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, main_shows_progress() ? WNOHANG : 0);
        if (pid < 0) break;
        if (pid == 0) {
            report(cx, p);
            continue;
        }
        for (uint32_t j = 0; j < p->jobs; j++)
            if (p->pid[j] == pid) process_ended(cx, p, j, status);
    }
}

typedef struct {
    Pool pool;
    const char *folder;
    WbbBuf lines;
} Run;

static void run(WbbCx *cx, void *arg)
{
    Run *r = arg;
    for (uint32_t j = 0; j < r->pool.jobs; j++)
        snprintf(r->pool.spool[j], sizeof r->pool.spool[j], "%s/%u", r->folder, j);
    run_all(cx, &r->pool);
    for (uint32_t j = 0; j < r->pool.jobs; j++) {
        size_t n;
        if (!wbb_file_exists(r->pool.spool[j])) continue;
        const char *text = wbb_read_file(cx, r->pool.arena, r->pool.spool[j], &n);
        wbb_put_n(&r->lines, text, n);
    }
}

const char *main_stats_pool(WbbCx *cx, WbbArena *a, const StatsCall *call)
{
    const size_t bytes = sizeof(Shared) + call->n_files * sizeof(atomic_int);
    Run *r = WBB_NEW(a, Run);
    const uint32_t most = WBB_MIN(call->n_files, (uint32_t)STATS_MAX_JOBS);
    r->pool = (Pool){.call = call, .arena = a, .jobs = wbb_pool_threads(call->o->jobs, most)};
    r->pool.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->pool.shared == MAP_FAILED) wbb_fail(cx, (WbbLoc){0}, "no memory to share between processes");
    r->folder = wbb_temp_dir(cx, a);
    r->lines = wbb_buf(a);
    const WbbStatus s = wbb_guard(cx, run, r);
    for (uint32_t j = 0; j < r->pool.jobs; j++)
        if (r->pool.pid[j] > 0) kill(r->pool.pid[j], SIGTERM);
    wbb_remove_dir(r->folder);
    munmap(r->pool.shared, bytes);
    if (s != WBB_OK) wbb_rethrow(cx, s);
    return r->lines.text;
}

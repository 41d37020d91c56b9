/* file: files, directories and the clock.
 *
 * Needs: POSIX. Leaves: what was read in the caller's arena.
 *
 *     size_t n;
 *     char *text = wbb_read_file(cx, arena, "fusion.hlo", &n);   // or: error: cannot read fusion.hlo: No such file ...
 */
#define _XOPEN_SOURCE 700

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Read to the end of fd; NULL with errno set if that fails. */
static char *read_all(WbbArena *a, int fd, size_t hint, size_t *n)
{
    size_t capacity = hint + 4096, used = 0;
    char *text = wbb_alloc(a, capacity);
    for (;;) {
        if (used + 1 == capacity) {
            text = wbb_grow(a, text, capacity, capacity * 2);
            capacity *= 2;
        }
        ssize_t got = read(fd, text + used, capacity - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return NULL;
        if (got == 0) break;
        used += (size_t)got;
    }
    text[used] = 0;
    *n = used;
    return text;
}

char *wbb_read_file(WbbCx *cx, WbbArena *a, const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) wbb_fail(cx, (WbbLoc){0}, "cannot read %s: %s", path, strerror(errno));
    struct stat st;
    size_t hint = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    size_t used = 0;
    char *text = read_all(a, fd, hint, &used);
    int error = errno;
    close(fd);
    if (!text) wbb_fail(cx, (WbbLoc){0}, "cannot read %s: %s", path, strerror(error));
    if (n) *n = used;
    return text;
}

WbbSource wbb_read_source(WbbCx *cx, WbbArena *a, const char *path)
{
    WbbSource s = {.at = {path, 1, 1}};
    if (path) s.text = wbb_read_file(cx, a, path, &s.n);
    return s;
}

void wbb_write_file(WbbCx *cx, const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) wbb_fail(cx, (WbbLoc){0}, "cannot write %s: %s", path, strerror(errno));
    const char *p = bytes;
    int error = 0;
    while (n && !error) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) error = errno;
        else {
            p += done;
            n -= (size_t)done;
        }
    }
    if (close(fd) != 0 && !error) error = errno;
    if (error) wbb_fail(cx, (WbbLoc){0}, "cannot write %s: %s", path, strerror(error));
}

bool wbb_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool wbb_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void wbb_make_dir(WbbCx *cx, const char *path)
{
    char *part = wbb_format(cx->arena, "%s", path);
    size_t n = strlen(part);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != 0) continue;
        char kept = part[i];
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && !wbb_is_dir(part))
            wbb_fail(cx, (WbbLoc){0}, "cannot make directory %s: %s", part, strerror(errno));
        part[i] = kept;
    }
}

const char *wbb_temp_folder(void)
{
    const char *said = getenv("TMPDIR");
    return said && *said ? said : P_tmpdir;
}

char *wbb_temp_dir(WbbCx *cx, WbbArena *a)
{
    /* the process's number: process.c removes what an ended process leaves */
    char *path = wbb_format(a, "%s/warpburg.%ld.XXXXXX", wbb_temp_folder(), (long)getpid());
    if (!mkdtemp(path)) wbb_fail(cx, (WbbLoc){0}, "cannot make a temporary directory %s: %s", path, strerror(errno));
    return path;
}

void wbb_remove_dir(const char *path)
{
    for (int tries = 0; tries < 100; tries++) { /* a child process may write a file between the two steps */
        DIR *dir = opendir(path);
        if (!dir) return;
        for (struct dirent *e; (e = readdir(dir));)
            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) unlinkat(dirfd(dir), e->d_name, 0);
        closedir(dir);
        if (rmdir(path) == 0 || errno != ENOTEMPTY) return;
    }
}

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

const char **wbb_list_dir(WbbCx *cx, WbbArena *a, const char *path, uint32_t *n)
{
    struct { const char **items; uint32_t n, capacity; } list = {0};
    DIR *dir = opendir(path);
    if (!dir) wbb_fail(cx, (WbbLoc){.file = path}, "cannot be listed: %s", strerror(errno));
    /* names are copied to memory that may run out, which unwinds: so the folder is read in two passes */
    uint32_t count = 0;
    size_t bytes = 0;
    for (struct dirent *e; (e = readdir(dir)); count++) bytes += strlen(e->d_name) + 1;
    closedir(dir);
    char *names = wbb_alloc(a, bytes + 1), *at = names;
    list.items = WBB_NEW_N(a, const char *, count + 1);
    dir = opendir(path);
    for (struct dirent *e; dir && list.n < count && (e = readdir(dir));) {
        const size_t length = strlen(e->d_name) + 1;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || length > bytes) continue;
        memcpy(at, e->d_name, length);
        list.items[list.n++] = at;
        at += length, bytes -= length;
    }
    if (dir) closedir(dir);
    if (list.n) qsort(list.items, list.n, sizeof *list.items, by_name);
    *n = list.n;
    return list.items;
}

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double wbb_now_ms(void) { return clock_ms(CLOCK_MONOTONIC); }
double wbb_cpu_ms(void) { return clock_ms(CLOCK_THREAD_CPUTIME_ID); }

const char *wbb_cache_folder(WbbArena *a)
{
    const char *own = getenv("WARPBURG_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own) return *own && strcmp(own, "off") != 0 ? own : NULL;
    if (xdg && *xdg == '/') return wbb_format(a, "%s/warpburg", xdg);
    return home && *home == '/' ? wbb_format(a, "%s/.cache/warpburg", home) : NULL;
}

/* store.c: bytes that are kept from run to run, by content (store.h).
 *
 * Needs a folder that may not exist yet; leaves entries in it.
 *
 *     DIR/3f/3fa0..e1      "warpburg-entry 1 812 1020 HASH\n" key, bytes; HASH of both
 */
#define _GNU_SOURCE /* dl_iterate_phdr */

#include "base/store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600, OFTEN = 600 /* seconds */, USUAL_LIMIT = 1024 /* MiB */ };
static const char entry_head[] = "warpburg-entry 1 %zu %zu %016" PRIx64 "\n";
static const char entry_form[] = "warpburg-entry 1 %zu %zu %" SCNx64;

struct WbbStore {
    const char *folder;
    uint64_t limit, kept; /* kept: bytes by this store */
};

WbbStore *wbb_store_open(WbbCx *cx, WbbArena *a, const char *folder, uint64_t limit)
{
    (void)cx;
    if (!folder) return NULL;
    const char *own = getenv("WARPBURG_CACHE_LIMIT");
    const long long mib = own && *own ? atoll(own) : USUAL_LIMIT;
    WbbStore *s = WBB_NEW(a, WbbStore);
    *s = (WbbStore){.folder = wbb_format(a, "%s", folder),
                    .limit = limit ? limit : (uint64_t)WBB_MAX(mib, 0) << 20};
    return s;
}

const char *wbb_store_folder(const WbbStore *s) { return s->folder; }
uint64_t wbb_store_limit(const WbbStore *s) { return s->limit; }

const char *wbb_store_name(WbbArena *a, const char *key)
{
    const size_t n = strlen(key);
    const uint64_t first = wbb_hash(key, n, 0);
    return wbb_format(a, "%016" PRIx64 "%016" PRIx64, first, wbb_hash(key, n, first ^ 0x9e3779b97f4a7c15u));
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

typedef struct {
    WbbArena *arena;
    const WbbStore *store;
    const char *path, *key;
    const void *bytes;
    char *found;
    size_t n;
} Entry;

static void read_entry(WbbCx *cx, void *arg)
{
    Entry *e = arg;
    size_t all, n_key, n;
    uint64_t hash;
    char *text = wbb_read_file(cx, e->arena, e->path, &all), *p = text + strcspn(text, "\n");
    if (sscanf(text, entry_form, &n_key, &n, &hash) != 3 || *p++ != '\n') return;
    const size_t rest = all - (size_t)(p - text);
    if (n_key > rest || n != rest - n_key || hash != wbb_hash(p, rest, 0)) return;
    if (n_key != strlen(e->key) || memcmp(p, e->key, n_key) != 0) return;
    e->found = p + n_key;
    e->n = n;
}

static const char *path_of(WbbArena *a, const WbbStore *s, const char *key)
{
    const char *name = wbb_store_name(a, key);
    return wbb_format(a, "%s/%.2s/%s", s->folder, name, name);
}

bool wbb_store_find(WbbCx *cx, WbbArena *a, WbbStore *s, const char *key, char **bytes, size_t *n)
{
    if (!s) return false;
    Entry e = {.arena = a, .path = path_of(a, s, key), .key = key};
    struct stat st;
    if (stat(e.path, &st) != 0 || !wbb_quietly(cx, read_entry, &e) || !e.found) return false;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - st.st_mtime > HOUR)
        (void)utimensat(AT_FDCWD, e.path, NULL, 0); /* the time of last use */
    *bytes = e.found, *n = e.n;
    return true;
}

static void write_draft(WbbCx *cx, void *arg)
{
    const Entry *e = arg;
    const size_t n_key = strlen(e->key);
    wbb_make_dir(cx, wbb_format(e->arena, "%.*s", (int)(strrchr(e->path, '/') - e->path), e->path));
    WbbBuf b = wbb_buf(e->arena);
    wbb_put_n(&b, e->key, n_key);
    wbb_put_n(&b, e->bytes, e->n);
    const char *head = wbb_format(e->arena, entry_head, n_key, e->n, wbb_hash(b.text, b.n, 0));
    WbbBuf all = wbb_buf(e->arena);
    wbb_put(&all, head);
    wbb_put_n(&all, b.text, b.n);
    wbb_write_file(cx, e->path, all.text, all.n);
}

void wbb_store_keep(WbbCx *cx, WbbArena *a, WbbStore *s, const char *key, const void *bytes, size_t n)
{
    if (!s) return;
    const char *path = path_of(a, s, key);
    /* the number of the process, and an address that no other thread has */
    Entry e = {.arena = a, .key = key, .bytes = bytes, .n = n};
    e.path = wbb_format(a, "%s.%ld.%zx", path, (long)getpid(), (size_t)(uintptr_t)&e);
    if (!wbb_quietly(cx, write_draft, &e) || rename(e.path, path) != 0) (void)unlink(e.path);
    else s->kept += n + strlen(key);
}

/* --- trim --------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    int64_t used; /* nanoseconds */
    uint64_t bytes;
} Found;

typedef struct {
    Found *items;
    uint32_t n, capacity;
    uint64_t bytes;
} FoundList;

typedef struct {
    WbbArena *arena;
    const char *folder;
    uint64_t limit;
    FoundList list;
} Sweep;

static int by_use(const void *x, const void *y)
{
    const Found *p = x, *q = y;
    return p->used != q->used ? (p->used < q->used ? -1 : 1) : strcmp(p->path, q->path);
}

static void list_folder(WbbArena *a, FoundList *list, const char *folder, int depth)
{
    DIR *d = opendir(folder);
    if (!d) return;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct stat st;
        const char *path = wbb_format(a, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || stat(path, &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            if (depth == 0 && strlen(e->d_name) == 2) list_folder(a, list, path, 1);
        } else if (depth == 1) { /* files outside the folders of entries are not entries */
            const Found f = {path, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, (uint64_t)st.st_size};
            WBB_PUSH(a, list, f);
            list->bytes += f.bytes;
        }
    }
    closedir(d);
}

static void list_entries(WbbCx *cx, void *arg)
{
    Sweep *s = arg;
    (void)cx;
    list_folder(s->arena, &s->list, s->folder, 0);
}

static void remove_oldest(WbbCx *cx, void *arg)
{
    Sweep *s = arg;
    list_entries(cx, s);
    FoundList *list = &s->list;
    if (list->bytes <= s->limit) return;
    if (list->n) qsort(list->items, list->n, sizeof *list->items, by_use);
    for (uint32_t k = 0; k < list->n && list->bytes > s->limit / 10 * 9; k++)
        if (unlink(list->items[k].path) == 0) list->bytes -= list->items[k].bytes;
}

/* The file whose lock a process has while it trims; its time is that of the last trim. */
static int open_lock(WbbArena *a, const char *folder)
{
    return open(wbb_format(a, "%s/lock", folder), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

void wbb_store_trim(WbbCx *cx, const char *folder, uint64_t limit)
{
    WbbArena *a = wbb_arena_new(cx);
    const int fd = open_lock(a, folder);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    Sweep s = {.arena = a, .folder = folder, .limit = limit};
    if (fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0) { /* else another process trims */
        (void)wbb_quietly(cx, remove_oldest, &s);
        (void)futimens(fd, NULL);
    }
    if (fd >= 0) close(fd);
    wbb_arena_free(a);
}

void wbb_store_close(WbbCx *cx, WbbStore *s)
{
    struct stat st;
    struct timespec now;
    if (!s || !s->kept) return;
    WbbArena *a = wbb_arena_new(cx);
    const bool recent = stat(wbb_format(a, "%s/lock", s->folder), &st) == 0 &&
                        clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - st.st_mtime < OFTEN;
    wbb_arena_free(a);
    if (!recent || s->kept > s->limit / 64) wbb_store_trim(cx, s->folder, s->limit);
    s->kept = 0;
}

WbbStoreSize wbb_store_size(WbbCx *cx, const WbbStore *s)
{
    Sweep w = {.arena = wbb_arena_new(cx), .folder = s->folder};
    (void)wbb_quietly(cx, list_entries, &w);
    const WbbStoreSize size = {w.list.n, w.list.bytes};
    wbb_arena_free(w.arena);
    return size;
}

void wbb_store_empty(WbbCx *cx, const WbbStore *s)
{
    Sweep w = {.arena = wbb_arena_new(cx), .folder = s->folder};
    (void)wbb_quietly(cx, list_entries, &w);
    for (uint32_t k = 0; k < w.list.n; k++) (void)unlink(w.list.items[k].path);
    wbb_arena_free(w.arena);
}

/* --- this build --------------------------------------------------------------------------------------------------- */

typedef struct {
    WbbBuf text;
    uintptr_t code; /* an address in warpburg's own code */
    bool own;       /* its object has a build id */
} Build;

/* The build id in a segment of notes: name "GNU", type NT_GNU_BUILD_ID. */
static bool put_build_id(WbbBuf *out, const char *p, size_t n)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) h;
        memcpy(&h, p, sizeof h);
        const size_t name = (h.n_namesz + 3u) & ~(size_t)3, body = (h.n_descsz + 3u) & ~(size_t)3;
        if (name > n || body > n || sizeof h + name + body > n) return false;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p + sizeof h, "GNU", 4)) {
            for (size_t k = 0; k < h.n_descsz; k++)
                wbb_putf(out, "%02x", (unsigned)(unsigned char)p[sizeof h + name + k]);
            return true;
        }
        p += sizeof h + name + body;
        n -= sizeof h + name + body;
    }
    return false;
}

static int look(struct dl_phdr_info *o, size_t size, void *arg)
{
    Build *b = arg;
    bool own = false, found = false;
    (void)size;
    for (int k = 0; k < o->dlpi_phnum; k++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[k];
        own = own || (p->p_type == PT_LOAD && b->code - o->dlpi_addr - p->p_vaddr < p->p_memsz);
    }
    if (!own && !strstr(o->dlpi_name, "libLLVM")) return 0;
    for (int k = 0; k < o->dlpi_phnum && !found; k++) {
        const ElfW(Phdr) *p = &o->dlpi_phdr[k];
        union { /* the loader gives an address as a number */
            uintptr_t address;
            const char *bytes;
        } at = {o->dlpi_addr + p->p_vaddr};
        found = p->p_type == PT_NOTE && put_build_id(&b->text, at.bytes, p->p_memsz);
    }
    if (!found) wbb_put(&b->text, o->dlpi_name);
    b->own = b->own || (own && found);
    wbb_put(&b->text, " ");
    return 0;
}

static void put_file(WbbBuf *out, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        wbb_putf(out, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                 (long)st.st_mtim.tv_nsec);
}

const char *wbb_code_identity(WbbArena *a)
{
    union {
        const char *(*function)(WbbArena *);
        uintptr_t address;
        const void *data;
    } here = {wbb_code_identity};
    Build b = {.text = wbb_buf(a), .code = here.address};
    dl_iterate_phdr(look, &b);
    if (!b.own) { /* a linker that makes none: the file, by its time */
        Dl_info d;
        put_file(&b.text, dladdr(here.data, &d) && strchr(d.dli_fname, '/') ? d.dli_fname : "/proc/self/exe");
    }
    return b.text.text;
}

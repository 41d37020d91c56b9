/* stats_cache.c: a cache of records by content, in a folder.
 *
 * Needs a folder; leaves entries in it. The key contains all that a record depends on: the compiler's code, ptxas,
 * libdevice, the target's tables, the options and the normalised HLO. The name of an entry is a hash of the key; the
 * entry holds the whole key, which is compared, so two keys with one hash cost a compile and never a wrong record. An
 * entry is written under a temporary name and renamed: readers see a whole entry or none, and of two writers either may
 * win. A process that added entries trims the folder at its end, one process at a time, least recently used entries
 * first. Failures of the file system are ignored.
 *
 *     DIR/3f/3fa0..e1      "warpburg-stats 2 812 1020 5310 0 HASH\n" key, body, listing, "end\n"; HASH of what follows
 */
#include "report/stats.h"

#include "index/index.h"
#include "llvm/llvm.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600, MAX_TARGETS = 64 };
static const char entry_head[] = "warpburg-stats 2 %zu %zu %zu %d %016" PRIx64 "\n";
static const char entry_form[] = "warpburg-stats 2 %zu %zu %zu %d %" SCNx64;

struct ReportCache {
    const char *folder; /* NULL: none */
    uint64_t limit;
    const char *tools;  /* the part that all keys share */
    uint64_t tables[MAX_TARGETS];
    bool kept;
};

/* --- key ---------------------------------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *z, uint64_t seed) { return wbb_hash(z, strlen(z) + 1, seed); }

static uint64_t hash_tables(const RwTables *t, uint64_t h)
{
    h = wbb_hash(t->code, t->n_code * sizeof *t->code, h);
    h = wbb_hash(t->imm, t->n_imm * sizeof *t->imm, h);
    h = wbb_hash(t->entry, RW_PHASE_COUNT * sizeof *t->entry, h);
    for (uint32_t k = 0; k < t->n_rules; k++) {
        const RwRule *r = &t->rules[k];
        h = hash_text(r->text, hash_text(r->instance, hash_text(r->file, h + r->line + ((uint64_t)r->phase << 32))));
    }
    for (uint32_t k = 0; k < t->n_instrs; k++)
        h = hash_text(t->instrs[k].text, h + t->instrs[k].rule + ((uint64_t)t->instrs[k].kind << 32));
    for (uint32_t k = 0; k < t->n_packed; k++) {
        const uint32_t numbers[] = {t->packed[k].op, t->packed[k].type, t->packed[k].from, t->packed[k].lanes};
        h = wbb_hash(numbers, sizeof numbers, h);
    }
    for (uint32_t k = 0; k < t->n_free; k++) {
        const uint32_t numbers[] = {t->free[k].op, t->free[k].modifier, t->free[k].type};
        h = wbb_hash(numbers, sizeof numbers, h);
    }
    return h;
}

static uint64_t hash_target(const TgTarget *t)
{
    const uint32_t numbers[] = {t->warp, t->sms, t->smem, t->regs, t->vector_bytes};
    uint64_t h = wbb_hash(numbers, sizeof numbers, hash_text(t->ptx, hash_text(t->name, 0)));
    for (uint32_t k = 0; k < t->n_tunes; k++) {
        const int64_t tune[] = {t->tunes[k].bits, t->tunes[k].value};
        h = wbb_hash(tune, sizeof tune, hash_text(t->tunes[k].name, h));
    }
    for (uint32_t k = 0; k < t->n_rates; k++)
        h = wbb_hash(&t->rates[k].value, sizeof t->rates[k].value, hash_text(t->rates[k].name, h));
    return hash_tables(&ix_tables, hash_tables(t->tables, h));
}

static uint64_t hash_file(WbbCx *cx, const char *path, uint64_t h)
{
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    const char *bytes = wbb_read_file(cx, a, path, &n);
    h = wbb_hash(bytes, n, h);
    wbb_arena_free(a);
    return h;
}

typedef struct {
    WbbArena *arena;
    ReportCache *cache;
    const ReportStatOptions *o;
    const TgTarget *target;
    const char *text, *key;
    size_t n;
    const ReportStat *stat;
} Job;

static void find_tools(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const char *libdevice = ll_find_libdevice(cx, j->arena, NULL);
    const TgAssembler with = tg_loadable_assembler(cx, j->arena);
    const char *assembler = with.kind == TG_PTXAS ? tg_version_of(cx, j->arena, &with)
                                                  : tg_assembler_identity(cx, j->arena, &with);
    wbb_make_dir(cx, j->cache->folder);
    j->cache->tools = wbb_format(j->arena, "warpburg " WBB_VERSION "\ncode %s\nptxas %s\nlibdevice %016" PRIx64 "\n",
                                 tg_code_identity(j->arena), assembler,
                                 libdevice ? hash_file(cx, libdevice, 0) : 0);
}

ReportCache *report_cache_open(WbbCx *cx, WbbArena *a, const char *folder, uint64_t limit)
{
    ReportCache *c = WBB_NEW(a, ReportCache);
    *c = (ReportCache){.folder = folder, .limit = limit};
    Job j = {.arena = a, .cache = c};
    if (folder && wbb_guard(cx, find_tools, &j) != WBB_OK) c->folder = NULL;
    wbb_cx_clear(cx);
    return c;
}

static uint64_t tables_of(ReportCache *c, const TgTarget *t)
{
    uint32_t n = 0;
    const TgTarget *const *all = tg_all(&n);
    for (uint32_t k = 0; k < n && k < MAX_TARGETS; k++) {
        if (all[k] != t) continue;
        if (c->tables[k] == 0) c->tables[k] = hash_target(t);
        return c->tables[k];
    }
    return hash_target(t);
}

static void make_key(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbBuf b = wbb_buf(j->arena);
    wbb_putf(&b, "%starget %s %016" PRIx64 "\naccuracy %d align %u", j->cache->tools, j->target->name,
             tables_of(j->cache, j->target), (int)j->o->accuracy, j->o->align);
    if (j->o->profile) wbb_putf(&b, " profile %u", j->o->profile);
    for (uint32_t k = 0; k < j->o->n_disable; k++) wbb_putf(&b, " disable %s", j->o->disable[k]);
    wbb_put(&b, "\n");
    hlo_print(&b, hlo_normalise(cx, j->arena, hlo_parse(cx, j->arena, "fusion.hlo", j->text, j->n)));
    j->key = b.text;
}

const char *report_cache_key(WbbCx *cx, WbbArena *a, ReportCache *cache, const ReportStatOptions *o, const TgTarget *t,
                             const char *text, size_t n)
{
    if (!cache->folder) return NULL;
    Job j = {.arena = a, .cache = cache, .o = o, .target = t, .text = text, .n = n};
    return wbb_guard(cx, make_key, &j) == WBB_OK ? j.key : NULL;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

static const char *path_of(WbbArena *a, const ReportCache *c, const char *key)
{
    const char *name = wbb_store_name(a, key);
    return wbb_format(a, "%s/%.2s/%s", c->folder, name, name);
}

typedef struct {
    WbbArena *arena;
    const char *path, *key, *text;
    size_t n;
    bool found;
    ReportStat *s;
} Entry;

static void read_entry(WbbCx *cx, void *arg)
{
    Entry *e = arg;
    char *text = wbb_read_file(cx, e->arena, e->path, &e->n), *p = text + strcspn(text, "\n");
    size_t key, body, listing;
    int status;
    uint64_t hash;
    if (sscanf(text, entry_form, &key, &body, &listing, &status, &hash) != 5 || *p++ != '\n') return;
    if (hash != wbb_hash(p, e->n - (size_t)(p - text), 0)) return;
    const size_t rest = e->n - (size_t)(p - text);
    if (key > rest || body > rest || listing > rest || rest != key + body + listing + 4) return;
    if (memcmp(text + e->n - 4, "end\n", 4) != 0) return;
    if (key != strlen(e->key) || memcmp(p, e->key, key) != 0) return;
    e->s->body = wbb_format(e->arena, "%.*s", (int)body, p + key);
    e->s->listing = wbb_format(e->arena, "%.*s", (int)listing, p + key + body);
    e->s->status = (WbbStatus)status;
    e->found = true;
}

bool report_cache_find(WbbCx *cx, WbbArena *a, ReportCache *cache, const char *key, ReportStat *s)
{
    if (!cache->folder || !key) return false;
    Entry e = {.arena = a, .path = path_of(a, cache, key), .key = key, .s = s};
    struct stat st;
    if (stat(e.path, &st) != 0) return false;
    if (wbb_guard(cx, read_entry, &e) != WBB_OK) wbb_cx_clear(cx); /* another process has removed it */
    struct timespec now;
    if (e.found && clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - st.st_mtime > HOUR)
        (void)utimensat(AT_FDCWD, e.path, NULL, 0); /* the time of last use */
    return e.found;
}

static void write_entry(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    const ReportStat *s = j->stat;
    const char *path = path_of(j->arena, j->cache, j->key);
    const char *draft = wbb_format(j->arena, "%s.%ld", path, (long)getpid());
    WbbBuf b = wbb_buf(j->arena);
    wbb_put(&b, j->key);
    wbb_put(&b, s->body);
    wbb_put(&b, s->listing);
    wbb_put(&b, "end\n");
    const char *head = wbb_format(j->arena, entry_head, strlen(j->key), strlen(s->body), strlen(s->listing),
                                  (int)s->status, wbb_hash(b.text, b.n, 0));
    const char *name = wbb_store_name(j->arena, j->key);
    wbb_make_dir(cx, wbb_format(j->arena, "%s/%.2s", j->cache->folder, name));
    const char *entry = wbb_format(j->arena, "%s%s", head, b.text);
    wbb_write_file(cx, draft, entry, strlen(entry));
    if (rename(draft, path) != 0) (void)unlink(draft);
}

void report_cache_keep(WbbCx *cx, WbbArena *a, ReportCache *cache, const char *key, const ReportStat *s)
{
    if (!cache->folder || !key || !s->body) return;
    Job j = {.arena = a, .cache = cache, .key = key, .stat = s};
    cache->kept = true;
    if (wbb_guard(cx, write_entry, &j) != WBB_OK) wbb_cx_clear(cx);
}

void report_cache_trim(WbbCx *cx, WbbArena *a, ReportCache *cache)
{
    (void)a;
    if (cache->folder && cache->limit && cache->kept) wbb_store_trim(cx, cache->folder, cache->limit);
}

/* stats_work.c: what one process of `warpburg stats` does: files to parts, parts to records.
 *
 * Needs files, one after the other from `next`. Leaves a line for each kernel and target. Kernels are collected until
 * there are BATCH of them, which one run of ptxas assembles. The lines of a file are written when all its kernels have
 * been assembled: a process that dies has written whole files only.
 *
 *     gelu.hlo    gelu    sm_90    {"file": "gelu.hlo", "kernel": "gelu", "target": "sm_90", "status": "ok", ..}
 */
#include "main/stats.h"

#include "fuse/fuse.h"
#include "llvm/llvm.h"

#include <string.h>
#include <unistd.h>

enum { BATCH = 48, PART_SECONDS = 120, BATCH_SECONDS = 600 };

/* What is known of a record before its kernel is assembled. */
typedef struct {
    const char *file, *kernel, *key;
    const char *before_cut; /* a JSON object: rules that fired in the module that it is cut from; NULL: none is said */
    uint64_t count;
    StatsPosition position;
} Row;

typedef struct {
    const StatsWork *w;
    WbbCx *cx;
    WbbArena *arena; /* of the batch */
    ReportCache *cache;
    ReportStatOptions options;
    struct { Row *items; uint32_t n, capacity; } rows;
    struct { ReportStat *items; uint32_t n, capacity; } stats;
    struct { uint32_t *items; uint32_t n, capacity; } files; /* all their parts are compiled, their lines not written */
    uint32_t waiting;      /* kernels of the batch that ptxas has to assemble */
    WbbArena *lines_arena; /* of `lines` and `files`, and of the texts of the file under way */
    WbbBuf lines;
} Worker;

/* --- lines ------------------------------------------------------------------------------------ */
/* A name in the key of a line: a tab or line break in it becomes \t or \n. */
static void put_name(WbbBuf *b, const char *name)
{
    for (const char *p = name; *p; p++) {
        if (*p == '\n' || *p == '\t' || *p == '\\') wbb_put(b, *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : "\\\\");
        else wbb_put_n(b, p, 1);
    }
    wbb_put(b, "\t");
}

static void put_record(Worker *k, const Row *r, const ReportStat *s)
{
    WbbBuf *b = &k->lines;
    put_name(b, r->file);
    put_name(b, r->kernel);
    put_name(b, s->target->name);
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", r->file);
    wbb_json_text(b, "kernel", r->kernel);
    wbb_json_text(b, "target", s->target->name);
    wbb_json_uint(b, "count", r->count);
    wbb_json_putf(b, NULL, "%s", s->body);
    if (r->before_cut) wbb_json_putf(b, "before_cut", "%s", r->before_cut);
    if (r->key) wbb_json_text(b, "key", wbb_store_name(k->arena, r->key));
    if (k->w->call->o->listing && s->listing && s->listing[0]) wbb_json_text(b, "listing", s->listing);
    wbb_json_end(b, "stats.1");
    wbb_put(b, "\n");
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, p, n);
        if (done <= 0) _exit(WBB_FAILED); /* the parent process starts another */
        p += done;
        n -= (size_t)done;
    }
}

static void write_files(Worker *k)
{
    write_all(k->w->fd, k->lines.text, k->lines.n);
    for (uint32_t i = 0; i < k->files.n; i++) k->w->done(k->w->arg, k->files.items[i]);
    k->files.n = 0;
    wbb_arena_free(k->lines_arena);
    k->lines_arena = wbb_arena_new(k->cx);
    k->lines = wbb_buf(k->lines_arena);
}

/* Assemble the batch and make its lines. `whole`: the batch ends with a file, so that all lines can be written. */
static void flush(Worker *k, bool whole)
{
    alarm(BATCH_SECONDS);
    if (!*k->w->careful) k->w->now->part = STATS_BATCH;
    report_stats_end(k->cx, k->arena, k->stats.items, k->stats.n);
    for (uint32_t i = 0; i < k->rows.n; i++) {
        const Row *r = &k->rows.items[i];
        ReportStat *s = &k->stats.items[i];
        if (r->key && s->facts) report_cache_keep(k->cx, k->arena, k->cache, r->key, s);
        put_record(k, r, s);
    }
    alarm(0);
    k->rows.items = NULL, k->rows.n = k->rows.capacity = 0;
    k->stats.items = NULL, k->stats.n = k->stats.capacity = 0;
    const uint32_t files = k->files.n;
    uint32_t *kept = WBB_NEW_N(k->lines_arena, uint32_t, files + 1);
    if (files) memcpy(kept, k->files.items, files * sizeof *kept);
    k->files.items = kept, k->files.capacity = files + 1;
    k->waiting = 0;
    wbb_arena_free(k->arena);
    k->arena = wbb_arena_new(k->cx);
    if (whole) {
        write_files(k);
        k->files.items = NULL, k->files.capacity = 0;
    }
}

/* --- parts ------------------------------------------------------------------------------------ */
static const char *known_bad(const Worker *k, StatsPosition p)
{
    for (uint32_t i = 0; i < k->w->n_bad; i++) {
        const StatsPosition *q = &k->w->bad[i].position;
        if (q->file == p.file && q->part == p.part && q->target == p.target) return k->w->bad[i].why;
    }
    return NULL;
}

static void add_row(Worker *k, Row r, ReportStat s)
{
    WBB_PUSH(k->arena, &k->rows, r);
    WBB_PUSH(k->arena, &k->stats, s);
}

/* A record without a kernel. */
static ReportStat refusal(const TgTarget *t, WbbStatus status, const char *reason, const char *message)
{
    return (ReportStat){.target = t, .status = status, .reason = reason, .message = message, .listing = ""};
}

/* A kernel, for each target. */
static void one_kernel(Worker *k, Row r, const char *text, size_t n)
{
    const StatsCall *call = k->w->call;
    for (uint32_t t = 0; t < call->n_targets; t++) {
        r.position.target = t + 1;
        *k->w->now = r.position;
        const char *why = known_bad(k, r.position);
        ReportStat s = {.target = call->targets[t], .text = text, .n = n};
        if (why) {
            add_row(k, r, refusal(call->targets[t], WBB_FAILED, "", why));
            continue;
        }
        alarm(PART_SECONDS);
        r.key = report_cache_key(k->cx, k->arena, k->cache, &k->options, s.target, text, n);
        if (!report_cache_find(k->cx, k->arena, k->cache, r.key, &s)) {
            report_stats_begin(k->cx, k->arena, &k->options, &s);
            if (!s.facts) s.facts = "";
            k->waiting += s.status == WBB_OK && s.n_launches;
        }
        alarm(0);
        add_row(k, r, s);
        if (k->waiting >= (*k->w->careful ? 1 : BATCH)) flush(k, false);
    }
}

typedef struct {
    Worker *k;
    Row row;
    const char *path;
    HloModule **modules;
    uint32_t n_modules, module;
    const FusePart *library;
} File;

/* Leaves the reason in cx->why and the message in cx->messages. */
static void decline_library(WbbCx *cx, void *arg)
{
    plan_decline(cx, ((File *)arg)->library->at);
}

static void one_library_call(File *f)
{
    Worker *k = f->k;
    wbb_cx_clear(k->cx);
    (void)wbb_guard(k->cx, decline_library, f);
    const char *reason = wbb_why_name(k->cx->why), *kind = wbb_format(k->arena, "declined: %s: ", reason);
    const char *at = strstr(k->cx->messages, kind), *said = at ? at + strlen(kind) : "";
    const char *message = wbb_format(k->arena, "%.*s", (int)strcspn(said, "\n"), said);
    const char *text = f->library->call;
    const HloComputation *call = hlo_parse(k->cx, k->arena, f->library->name, text, strlen(text))->entry;
    for (uint32_t t = 0; t < k->w->call->n_targets; t++) {
        ReportStat s = refusal(k->w->call->targets[t], WBB_DECLINED, reason, message);
        s.bytes_min = pipe_call_bytes(call);
        add_row(k, f->row, s);
    }
}

static void find_fusion(WbbCx *cx, void *arg)
{
    File *f = arg;
    const HloFusion fusion = hlo_fusion(cx, f->modules[f->module]);
    if (!fusion.fusion) wbb_decline(cx, (WbbLoc){0}, WHY_NO_FUSION, "none");
    f->row.kernel = wbb_format(f->k->lines_arena, "%s", fusion.name);
}

/* An engine without the rules that are disabled. Those about arrays are the same on all targets. */
static RwCx *engine(Worker *k, WbbArena *a)
{
    const ReportStatOptions *o = &k->options;
    const TgTarget *t = k->w->call->targets[0];
    RwCx *rw = rw_new(k->cx, a, ir_graph_new(k->cx, a), &ix_tables, t->tables, o->accuracy);
    pipe_disable(rw, t, o->disable, o->n_disable);
    return rw;
}

/* The rules about arrays that fired, as the member of a record; NULL: none did. */
static const char *fired(WbbArena *a, const RwCx *rw)
{
    WbbBuf b = wbb_buf(a);
    uint32_t any = 0;
    wbb_json_open(&b, NULL, '{');
    for (uint32_t k = 0; k < ix_tables.n_rules; k++) {
        const uint32_t n = ix_tables.rules[k].phase == RW_ARRAYS ? rw_counts(rw, true)[k] : 0;
        if (n) wbb_json_uint(&b, rw_rule_name(a, &ix_tables, k), n), any++;
    }
    wbb_json_close(&b, '}');
    return any ? b.text : NULL;
}

/* A module with a single fusion is a kernel; any other is cut into parts. */
static void one_module(WbbCx *cx, void *arg)
{
    File *f = arg;
    Worker *k = f->k;
    HloModule *m = f->modules[f->module];
    WbbArena *lasting = k->lines_arena; /* k->arena is freed with each batch, which may end within this module */
    WbbBuf text = wbb_buf(lasting);
    hlo_print(&text, m);
    f->row.count = 1;
    if (wbb_guard(cx, find_fusion, f) == WBB_OK) {
        f->row.position.part++;
        one_kernel(k, f->row, text.text, text.n);
        return;
    }
    RwCx *rw = engine(k, lasting);
    const HloModule *normal = pipe_normalise(cx, lasting, m, rw);
    const FuseParts parts = fuse_parts(cx, lasting, normal, &(FuseHow){.mode = FUSE_PLAIN});
    const bool is_one = parts.n == 1 && parts.items[0].text && parts.items[0].count == 1;
    for (uint32_t p = 0; p < parts.n; p++) {
        const FusePart *part = &parts.items[p];
        f->row.position.part++;
        f->row.count = part->count;
        f->row.kernel = is_one ? m->entry->name : part->name;
        f->row.before_cut = is_one || p ? NULL : fired(lasting, rw);
        if (!is_one && f->n_modules > 1) f->row.kernel = wbb_format(lasting, "%s.%u", part->name, f->module);
        f->library = part;
        if (is_one) one_kernel(k, f->row, text.text, text.n);
        else if (part->text) one_kernel(k, f->row, part->text, strlen(part->text));
        else one_library_call(f);
    }
}

static void read_modules(WbbCx *cx, void *arg)
{
    File *f = arg;
    size_t n;
    const char *text = main_read_hlo(cx, f->k->lines_arena, f->path, f->k->w->call->o->assume, &n);
    f->n_modules = hlo_parse_all(cx, f->k->lines_arena, f->path, text, n, &f->modules);
}

/* The record of a file that cannot be read or parsed, or of a module that cannot be cut. */
static void add_failure(File *f, WbbStatus status)
{
    Worker *k = f->k;
    const size_t n = strcspn(k->cx->messages, "\n");
    const char *said = wbb_format(k->arena, "%.*s", (int)n, k->cx->messages),
               *reason = status == WBB_DECLINED ? wbb_why_name(k->cx->why) : "";
    f->row.kernel = "";
    f->row.count = 1;
    f->row.key = NULL;
    for (uint32_t t = 0; t < k->w->call->n_targets; t++)
        add_row(k, f->row, refusal(k->w->call->targets[t], status, reason, said));
}

static void one_file(Worker *k, uint32_t file)
{
    File f = {.k = k,
              .path = k->w->call->files[file],
              .row = {.file = k->w->call->files[file], .kernel = "", .position = {.file = file + 1}}};
    *k->w->now = f.row.position;
    const char *why = known_bad(k, f.row.position);
    wbb_cx_clear(k->cx);
    if (why) {
        f.row.count = 1;
        for (uint32_t t = 0; t < k->w->call->n_targets; t++)
            add_row(k, f.row, refusal(k->w->call->targets[t], WBB_FAILED, "", why));
    } else {
        alarm(PART_SECONDS);
        WbbStatus s = wbb_guard(k->cx, read_modules, &f);
        if (s != WBB_OK) add_failure(&f, s);
        for (f.module = 0; s == WBB_OK && f.module < f.n_modules; f.module++) {
            const WbbStatus m = wbb_guard(k->cx, one_module, &f);
            if (m != WBB_OK) add_failure(&f, m);
        }
        alarm(0);
    }
    WBB_PUSH(k->lines_arena, &k->files, file);
}

void main_stats_work(WbbCx *cx, const StatsWork *w)
{
    const StatsOptions *o = w->call->o;
    Worker k = {.w = w, .cx = cx, .arena = wbb_arena_new(cx), .lines_arena = wbb_arena_new(cx)};
    LlCache *shared = ll_cache_new(cx);
    k.options = (ReportStatOptions){.accuracy = main_accuracy(o->accuracy, o->approx),
                                  .align = (uint32_t)o->align,
                                  .disable = o->disable.items,
                                  .n_disable = o->disable.n,
                                  .profile = (uint32_t)o->profile,
                                  .shared = shared};
    k.cache = report_cache_open(cx, cx->arena, w->call->cache, w->call->cache_limit);
    k.lines = wbb_buf(k.lines_arena);
    for (uint32_t file; w->next(w->arg, &file);) {
        one_file(&k, file);
        if (k.waiting >= BATCH || k.rows.n >= 16 * BATCH || *w->careful) flush(&k, true);
    }
    flush(&k, true);
    report_cache_trim(cx, cx->arena, k.cache);
    ll_cache_free(shared);
}

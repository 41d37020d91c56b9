/* saved.c: kernels and programs that are kept in a folder, and taken from it without compiling.
 *
 * Needs a kernel; leaves its bundle (bundle/README.md) with machine code where there is an assembler, and saved.json:
 * what compiled it, with which options, its plan and the report of --explain, and hashes, by which a file that was
 * damaged or mixed up is found. A program has such a folder for each kernel, and a saved.json of its own.
 *
 *     wb_kernel_write(k, "gelu", &r)   ->   gelu/kernel.json, gelu/kernel.ptx, .., gelu/saved.json
 */
#include "api/saved.h"

#include "llvm/llvm.h"

#include <string.h>

enum { FORM = 1 };
static const char *const accuracies[] = {[SC_EXACT] = "exact", [SC_APPROX] = "approx", [SC_XLA] = "xla"};
static const char compiler[] = "warpburg " WBB_VERSION;

static const char *hash_of(WbbArena *a, const void *bytes, size_t n)
{
    return wbb_format(a, "%016llx", (unsigned long long)wbb_hash(bytes, n, 0));
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static WbbBuf begin(WbbArena *a, const PipeOptions *o, const char *what, const char *name, const char *file)
{
    WbbBuf b = wbb_buf(a);
    wbb_json_open(&b, NULL, '{');
    wbb_json_int(&b, "version", FORM);
    wbb_json_text(&b, "compiler", compiler);
    wbb_json_text(&b, "saved", what);
    wbb_json_text(&b, "name", name);
    wbb_json_text(&b, "file", file);
    wbb_json_text(&b, "target", o->target);
    wbb_json_text(&b, "accuracy", accuracies[o->accuracy]);
    wbb_json_int(&b, "align", o->align);
    wbb_json_text(&b, "layout", o->layout);
    wbb_json_bool(&b, "lines", o->lines);
    wbb_json_bool(&b, "deterministic", o->deterministic);
    wbb_json_int(&b, "backend", (int)o->backend);
    return b;
}

static void finish(WbbCx *cx, WbbArena *a, WbbBuf *b, const char *folder)
{
    wbb_json_text(b, "text", hash_of(a, b->text, b->n));
    wbb_json_close(b, '}');
    wbb_put(b, "\n");
    wbb_write_file(cx, wbb_format(a, "%s/saved.json", folder), b->text, b->n);
}

static const char *plan_of(WbbCx *cx, WbbArena *a, const wb_kernel *k)
{
    if (k->plan) return k->plan;
    PipeOptions o = k->options;
    PipeResult r;
    o.stage = PIPE_AT_PLAN, o.assemble = false, o.cache = NULL;
    pipe_compile(cx, a, &o, k->file, k->made.bundle->hlo, strlen(k->made.bundle->hlo), &r);
    return r.emitted;
}

void wb_saved_write(WbbCx *cx, const wb_kernel *k, const char *folder)
{
    WbbArena *a = cx->arena;
    Bundle bundle = *k->made.bundle;
    const TgTarget *t = tg_find(bundle.target);
    WbbStore *store = wbb_store_open(cx, a, wbb_cache_folder(a), 0);
    if (!bundle.cubin) {
        const TgCubin c = pipe_cubin(cx, a, store, t, bundle.ptx, k->made.name);
        bundle.cubin = c.bytes, bundle.cubin_bytes = c.n;
    }
    wbb_store_close(cx, store);
    bd_write(cx, &bundle, folder);
    const char *json = bd_kernel_json(a, &bundle);
    WbbBuf b = begin(a, &k->options, "kernel", k->made.name, k->file);
    wbb_json_text(&b, "explain", k->made.explain);
    wbb_json_text(&b, "plan", plan_of(cx, a, k));
    wbb_json_open(&b, "files", '{');
    wbb_json_text(&b, "kernel.json", hash_of(a, json, strlen(json)));
    wbb_json_close(&b, '}');
    finish(cx, a, &b, folder);
}

static void put_file(WbbCx *cx, WbbArena *a, WbbBuf *b, const char *folder, const char *name)
{
    size_t n;
    const char *bytes = wbb_read_file(cx, a, wbb_format(a, "%s/%s", folder, name), &n);
    wbb_json_text(b, name, hash_of(a, bytes, n));
}

/* The files that a program's folder has beside those of its kernels, each once. */
static const char **files_of(WbbArena *a, const ProgModule *p, uint32_t *n)
{
    struct { const char **items; uint32_t n, capacity; } list = {0};
    WbbMap had = {.arena = a};
    WBB_PUSH(a, &list, "program.json");
    WBB_PUSH(a, &list, "source.hlo");
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *c = &p->computations[i];
        for (uint32_t s = 0; s < c->n_steps; s++) {
            const char *file = c->steps[s].file;
            if (file && !wbb_map_put_bytes(&had, file, strlen(file))->value++) WBB_PUSH(a, &list, file);
        }
        for (uint32_t k = 0; k < c->n_buffers; k++) {
            const char *file = c->buffers[k].file;
            const bool kept = file && c->buffers[k].place == PROG_CONSTANT && c->buffers[k].literal;
            if (kept && !wbb_map_put_bytes(&had, file, strlen(file))->value++) WBB_PUSH(a, &list, file);
        }
    }
    *n = list.n;
    return list.items;
}

void wb_saved_write_program(WbbCx *cx, const wb_program *p, const char *folder)
{
    WbbArena *a = cx->arena;
    uint32_t n;
    const char **files = files_of(a, p->p, &n);
    WbbBuf b = begin(a, &p->options, "program", p->p->name, p->file);
    wbb_json_open(&b, "files", '{');
    for (uint32_t k = 0; k < n; k++) put_file(cx, a, &b, folder, files[k]);
    wbb_json_close(&b, '}');
    wbb_json_open(&b, "left_out", '{');
    for (uint32_t k = 0; k < p->n_kernels; k++)
        if (!p->kernels[k].kernel) wbb_json_text(&b, p->kernels[k].text.s->file, wbb_why_name(p->kernels[k].why));
    wbb_json_close(&b, '}');
    finish(cx, a, &b, folder);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *folder, *path; /* of saved.json */
    const BdJson *json;
} Saved;

static const char *text_of(const Saved *s, const char *key)
{
    const BdJson *v = bd_json_get(s->json, key);
    if (!v || v->kind != BD_STRING) wbb_fail(s->cx, (WbbLoc){.file = s->path}, "\"%s\" is missing", key);
    return v->text;
}

static int64_t int_of(const Saved *s, const char *key, int64_t most)
{
    const BdJson *v = bd_json_get(s->json, key);
    if (!v) wbb_fail(s->cx, (WbbLoc){.file = s->path}, "\"%s\" is missing", key);
    return bd_json_within(s->cx, s->path, v, 0, most);
}

static bool true_of(const Saved *s, const char *key)
{
    const BdJson *v = bd_json_get(s->json, key);
    return v && v->kind == BD_TRUE;
}

static WBB_NORETURN void fail_damaged(const Saved *s, const char *file)
{
    wbb_fail(s->cx, (WbbLoc){.file = wbb_format(s->arena, "%s/%s", s->folder, file)},
             "it is not the file that was saved: it is damaged, or of another kernel");
}

static Saved open_saved(WbbCx *cx, WbbArena *a, const char *folder, const char *what)
{
    Saved s = {.cx = cx, .arena = a, .folder = folder, .path = wbb_format(a, "%s/saved.json", folder)};
    if (!wbb_file_exists(s.path))
        wbb_fail(cx, (WbbLoc){.file = folder}, "there is no saved.json in it: no kernel or program was saved here");
    size_t n;
    const char *text = wbb_read_file(cx, a, s.path, &n), *end = NULL;
    if (strlen(text) != n) fail_damaged(&s, "saved.json");
    for (const char *at = text; (at = strstr(at, ", \"text\": \"")) != NULL; at++) end = at;
    const size_t before = end ? (size_t)(end - text) : 0;
    if (!end || strcmp(end, wbb_format(a, ", \"text\": \"%s\"}\n", hash_of(a, text, before))) != 0)
        fail_damaged(&s, "saved.json");
    s.json = bd_json_parse(cx, a, s.path, text);
    const int64_t form = int_of(&s, "version", INT32_MAX);
    if (form != FORM || strcmp(text_of(&s, "compiler"), compiler) != 0)
        wbb_fail(cx, (WbbLoc){.file = folder}, "it was saved by %s in form %lld, and this is %s with form %d: compile "
                 "the text in it again", text_of(&s, "compiler"), (long long)form, compiler, FORM);
    if (strcmp(text_of(&s, "saved"), what) != 0)
        wbb_fail(cx, (WbbLoc){.file = folder}, "a %s was saved in it, and no %s", text_of(&s, "saved"), what);
    return s;
}

static void check_files(const Saved *s)
{
    const BdJson *files = bd_json_get(s->json, "files");
    for (const BdJson *f = files ? files->items : NULL; f; f = f->next) {
        size_t n;
        const char *path = wbb_format(s->arena, "%s/%s", s->folder, f->key);
        const char *bytes = wbb_read_file(s->cx, s->arena, path, &n);
        if (f->kind != BD_STRING || strcmp(f->text, hash_of(s->arena, bytes, n)) != 0) fail_damaged(s, f->key);
    }
}

static ScAccuracy accuracy_of(const Saved *s)
{
    const char *name = text_of(s, "accuracy");
    for (size_t k = 0; k < WBB_LEN(accuracies); k++)
        if (accuracies[k] && !strcmp(accuracies[k], name)) return (ScAccuracy)k;
    wbb_fail(s->cx, (WbbLoc){.file = s->path}, "'%s' is no accuracy", name);
}

static PipeOptions options_of(const Saved *s, const PipeOptions *tools)
{
    PipeOptions o = *tools;
    const BdJson *layout = bd_json_get(s->json, "layout");
    o.target = text_of(s, "target");
    (void)tg_named(s->cx, (WbbLoc){.file = s->path}, o.target);
    o.accuracy = accuracy_of(s);
    o.align = (uint32_t)int_of(s, "align", 4096);
    o.layout = layout && layout->kind == BD_STRING ? layout->text : NULL;
    o.lines = true_of(s, "lines");
    o.deterministic = true_of(s, "deterministic");
    o.backend = (PipeBackend)int_of(s, "backend", PIPE_BY_EITHER > PIPE_BY_LLVM ? PIPE_BY_EITHER : PIPE_BY_LLVM);
    return o;
}

wb_kernel *wb_saved_read(WbbCx *cx, WbbArena *a, const PipeOptions *tools, const char *folder)
{
    const Saved s = open_saved(cx, a, folder, "kernel");
    check_files(&s);
    Bundle *b = bd_read(cx, a, folder);
    if (b->edited) fail_damaged(&s, b->edited);
    if (!b->hlo) wbb_fail(cx, (WbbLoc){.file = folder}, "there is no fusion.hlo in it");
    const PipeMade made = {.name = text_of(&s, "name"), .bundle = b, .emitted = b->ptx,
                           .explain = text_of(&s, "explain")};
    const PipeOptions o = options_of(&s, tools);
    wb_kernel *k = wb_kernel_of(cx, a, &o, text_of(&s, "file"), &made);
    k->plan = text_of(&s, "plan");
    return k;
}

WbSavedProgram wb_saved_open_program(WbbCx *cx, WbbArena *a, const PipeOptions *tools, const char *folder)
{
    const Saved s = open_saved(cx, a, folder, "program");
    check_files(&s);
    return (WbSavedProgram){.options = options_of(&s, tools), .left_out = bd_json_get(s.json, "left_out")};
}

WbbWhy wb_saved_left_out(const WbSavedProgram *p, const char *file)
{
    const BdJson *why = p->left_out ? bd_json_get(p->left_out, file) : NULL;
    for (int k = 0; why && why->kind == BD_STRING && k < WHY_COUNT; k++)
        if (!strcmp(wbb_why_name((WbbWhy)k), why->text)) return (WbbWhy)k;
    return WHY_NONE;
}

/* --- calls of the library ----------------------------------------------------------------------------------------- */

typedef struct {
    WbRun base;
    const char *folder;
} Write;

static void write(WbbCx *cx, void *arg)
{
    const Write *w = arg;
    wb_saved_write(cx, w->base.k, w->folder);
}

wb_status wb_kernel_write(const wb_kernel *k, const char *folder, wb_result **result)
{
    Write w = {.folder = folder};
    return wb_result_of(k, write, &w.base, result);
}

typedef struct {
    wb_context *c;
    const char *folder;
    WbbArena *arena;
    wb_kernel *kernel;
} Read;

static void read(WbbCx *cx, void *arg)
{
    Read *r = arg;
    const PipeOptions tools = wb_pipe_options(r->c, NULL);
    r->arena = wbb_arena_new(cx);
    r->kernel = wb_saved_read(cx, r->arena, &tools, r->folder);
}

wb_status wb_kernel_read(wb_context *c, const char *folder, wb_kernel **kernel)
{
    Read r = {.c = c, .folder = folder};
    const wb_status s = wb_guarded(c, read, &r);
    *kernel = s == WB_OK ? r.kernel : NULL;
    if (s != WB_OK) wbb_arena_free(r.arena);
    return s;
}

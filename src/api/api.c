/* api.c: contexts and compiles of include/warpburg.h, on top of pipe/.
 *
 * Needs the text of a fusion; leaves a kernel in the context. Failures become a status and messages. kernel.c says what
 * a kernel is, run.c and gpu.c run it.
 *
 *     wb_compile(cx, "gelu.hlo", text, n, NULL, &k)   ->   pipe_compile(.., {.target = "sm_90"}, ..)
 */
#include "api/inner.h"

#include "llvm/llvm.h"

#include <string.h>

#define WHY(id, text) _Static_assert((int)WB_WHY_##id == (int)WHY_##id, "wb_reason is why.def: " text);
#include "base/why.def"
#undef WHY
_Static_assert((int)WHY_COUNT == (int)WB_WHY_FEATURE + 1, "wb_reason is why.def");
typedef struct {
    const char *file, *text;
    size_t n;
    const wb_options *given;
    PipeOptions options;
    WbbArena *arena;
    wb_kernel *kernel;
} Call;

const char *wb_version(void) { return WBB_VERSION; }

static void new_context(WbbCx *cx, void *arg)
{
    wb_context *c = WBB_NEW(cx->arena, wb_context);
    c->cx = cx;
    c->cache = ll_cache_new(cx);
    c->store = wbb_store_open(cx, cx->arena, wbb_cache_folder(cx->arena), 0);
    *(wb_context **)arg = c;
}

wb_context *wb_context_new(void)
{
    WbbCx *cx = wbb_cx_new();
    wb_context *c = NULL;
    if (!cx) return NULL;
    if (wbb_guard(cx, new_context, &c) == WBB_OK) return c;
    wbb_cx_free(cx);
    return NULL;
}

void wb_context_free(wb_context *c)
{
    if (!c) return;
    WbbCx *cx = c->cx;
    ll_cache_free(c->cache);
    wbb_store_close(cx, c->store);
    wbb_cx_free(cx);
}

static ScAccuracy accuracy_of(const wb_options *o)
{
    if (!o) return SC_EXACT;
    return o->accuracy == WB_XLA ? SC_XLA : o->accuracy == WB_APPROX ? SC_APPROX : SC_EXACT;
}

static wb_array array_of(const HloShape *s)
{
    const char *type = sc_type_info[s->type].hlo;
    const uint32_t bytes = (uint32_t)bd_npy_bytes(type);
    return (wb_array){.type = type, .element_bytes = bytes, .rank = s->rank, .dims = s->dims,
                      .bytes = (uint64_t)hlo_elements(s) * bytes};
}

typedef struct {
    wb_array *items;
    uint32_t n, capacity;
} Arrays;

static void add_leaves(WbbArena *a, Arrays *to, const HloShape *s)
{
    const HloShape **leaves;
    const uint32_t n = hlo_leaves(a, s, &leaves);
    for (uint32_t i = 0; i < n; i++) WBB_PUSH(a, to, array_of(leaves[i]));
}

/* The arrays of the entry. Those of the result are the fusion's, as a run leaves them. */
static void describe(WbbCx *cx, wb_kernel *k, const HloModule *m)
{
    const HloComputation *entry = m->entry;
    const HloFusion f = hlo_fusion(cx, m);
    Arrays in = {0}, out = {0};
    for (uint32_t i = 0; i < entry->n_parameters; i++) add_leaves(k->arena, &in, entry->parameters[i]->shape);
    add_leaves(k->arena, &out, f.body->root->shape);
    k->inputs = in.items, k->n_inputs = in.n;
    k->outputs = out.items, k->n_outputs = out.n;
    k->operands = judge_leaves(cx, k->arena, &f, &k->n_operands);
}

static const char *copied(WbbArena *a, const char *z) { return z ? wbb_format(a, "%s", z) : NULL; }

wb_kernel *wb_kernel_of(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const PipeMade *made)
{
    wb_kernel *k = WBB_NEW(a, wb_kernel);
    k->arena = a;
    k->file = copied(a, file);
    k->options = *o;
    k->options.target = copied(a, o->target);
    k->options.layout = copied(a, o->layout);
    k->made = *made;
    k->json = bd_kernel_json(a, made->bundle);
    const char *hlo = made->bundle->hlo;
    describe(cx, k, made->module ? made->module : hlo_parse(cx, a, k->file, hlo, strlen(hlo)));
    return k;
}

wb_kernel *wb_kernel_made(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *given, size_t n)
{
    char *text = wbb_alloc(a, n + 1); /* the kernel refers to it, and the caller may free its own */
    if (n) memcpy(text, given, n);
    const PipeMade made = pipe_make(cx, a, o, copied(a, file), text, n);
    return wb_kernel_of(cx, a, o, file, &made);
}

void wb_check_options(WbbCx *cx, const wb_options *o)
{
    if (o && (unsigned)o->accuracy > WB_XLA)
        wbb_fail(cx, (WbbLoc){0}, "accuracy %d: WB_EXACT, WB_APPROX or WB_XLA expected", (int)o->accuracy);
    if (o && (unsigned)o->backend > WB_PTX_OR_LLVM)
        wbb_fail(cx, (WbbLoc){0}, "backend %d: WB_ANY_BACKEND, WB_LLVM, WB_PTX or WB_PTX_OR_LLVM expected",
                 (int)o->backend);
}

static void compile(WbbCx *cx, void *arg)
{
    Call *c = arg;
    wb_check_options(cx, c->given);
    c->arena = wbb_arena_new(cx);
    c->kernel = wb_kernel_made(cx, c->arena, &c->options, c->file, c->text, c->n);
}

_Static_assert((int)WB_LLVM == (int)PIPE_BY_LLVM && (int)WB_PTX == (int)PIPE_BY_PTX &&
                   (int)WB_PTX_OR_LLVM == (int)PIPE_BY_EITHER,
               "wb_backend is PipeBackend");

PipeOptions wb_pipe_options(const wb_context *c, const wb_options *o)
{
    return (PipeOptions){.target = o && o->target ? o->target : "sm_90", .accuracy = accuracy_of(o),
                         .align = o ? o->align : 0, .lines = o && o->lines, .layout = o ? o->layout : NULL,
                         .deterministic = o && o->deterministic,
                         .backend = o ? (PipeBackend)o->backend : PIPE_BY_DEFAULT,
                         .assemble = o && o->cubin, .stage = PIPE_AT_PTX, .cache = c->cache, .store = c->store};
}

WbbStatus wb_watched(wb_context *c, void (*body)(WbbCx *, void *), void *arg)
{
    if (c->listener.progress) wbb_on_progress(c->cx, wb_report, &c->listener);
    const WbbStatus s = wbb_guard(c->cx, body, arg);
    wbb_on_progress(c->cx, NULL, NULL);
    return s;
}

wb_status wb_guarded(wb_context *c, void (*body)(WbbCx *, void *), void *arg)
{
    wbb_cx_clear(c->cx);
    const WbbStatus s = wb_watched(c, body, arg);
    c->declined = s == WBB_DECLINED ? (wb_reason)c->cx->why : WB_WHY_NONE;
    return wb_status_of(s);
}

void wb_context_on_progress(wb_context *c, wb_progress *progress, void *arg)
{
    c->listener = (WbListener){.progress = progress, .arg = arg, .cx = c->cx};
}

wb_status wb_compile(wb_context *c, const char *file, const char *text, size_t n, const wb_options *o,
                     wb_kernel **kernel)
{
    Call call = {.file = file ? file : "<text>", .text = text, .n = n, .given = o,
                 .options = wb_pipe_options(c, o)};
    const wb_status s = wb_guarded(c, compile, &call);
    *kernel = s == WB_OK ? call.kernel : NULL;
    if (s != WB_OK) wbb_arena_free(call.arena);
    return s;
}

typedef struct {
    WbRun base;
    const char *file, *bytes;
    size_t n;
} Dumped;

static void read_text(WbbCx *cx, void *arg)
{
    Dumped *d = arg;
    char *copy = wbb_alloc(cx->arena, d->n + 1); /* which ends with a NUL */
    if (d->n) memcpy(copy, d->bytes, d->n);
    const char *text = hlo_text(cx, cx->arena, d->file, copy, &d->n);
    if (memchr(text, 0, d->n)) wbb_fail(cx, (WbbLoc){.file = d->file}, "the text holds a NUL byte");
    d->base.r->text = text;
}

wb_status wb_hlo_text(const char *file, const void *bytes, size_t n, wb_result **result)
{
    Dumped d = {.file = file ? file : "<text>", .bytes = bytes, .n = n};
    return wb_result_of(NULL, read_text, &d.base, result);
}

static void assume(WbbCx *cx, void *arg)
{
    Dumped *d = arg;
    uint32_t permits;
    if (!hlo_read_permits(d->file, strlen(d->file), &permits))
        wbb_fail(cx, (WbbLoc){0}, "assume \"%s\": some of contract, nnan and nsz expected", d->file);
    char *copy = wbb_alloc(cx->arena, d->n + 1);
    if (d->n) memcpy(copy, d->bytes, d->n);
    d->base.r->text = hlo_assume(cx->arena, copy, &d->n, permits);
}

wb_status wb_hlo_assume(const char *text, size_t n, const char *list, wb_result **result)
{
    Dumped d = {.file = list, .bytes = text, .n = n};
    return wb_result_of(NULL, assume, &d.base, result);
}

void wb_kernel_free(wb_kernel *k)
{
    if (k) wbb_arena_free(k->arena);
}

const char *wb_messages(const wb_context *c) { return c->cx->messages; }
wb_reason wb_declined(const wb_context *c) { return c->declined; }
static bool is_reason(wb_reason r) { return (uint32_t)r < (uint32_t)WHY_COUNT; }
const char *wb_reason_name(wb_reason r) { return is_reason(r) ? wbb_why_name((WbbWhy)r) : NULL; }
const char *wb_reason_text(wb_reason r) { return is_reason(r) ? wbb_why_text((WbbWhy)r) : NULL; }

const char *wb_target_name(uint32_t i)
{
    uint32_t n;
    const TgTarget *const *all = tg_all(&n);
    return i < n ? all[i]->name : NULL;
}

/* api.c: the functions of include/warpburg.h, on top of pipe/.
 *
 * Needs the text of a fusion; leaves a kernel in the context. Failures become a status and messages.
 *
 *     wb_compile(cx, "gelu.hlo", text, n, NULL, &k)   ->   pipe_compile(.., {.target = "sm_90"}, ..)
 */
#include "warpburg.h"

#include "llvm/llvm.h"
#include "pipe/pipe.h"

#define WHY(id, text) _Static_assert((int)WB_WHY_##id == (int)WHY_##id, "wb_reason is why.def: " text);
#include "base/why.def"
#undef WHY
_Static_assert((int)WHY_COUNT == (int)WB_WHY_FEATURE + 1, "wb_reason is why.def");
_Static_assert((int)WB_OPERAND == (int)BD_IN && (int)WB_OUTPUT == (int)BD_OUT && (int)WB_TEMPORARY == (int)BD_TEMP,
               "wb_role is BdRole");
_Static_assert((int)WB_ANYTHING == (int)BD_INIT_NONE && (int)WB_ZEROS == (int)BD_INIT_ZERO &&
                   (int)WB_COPY == (int)BD_INIT_COPY && (int)WB_TICKET == (int)BD_INIT_TICKET,
               "wb_contents is BdInit");

struct wb_kernel {
    WbbArena *arena; /* it and all that belongs to it */
    PipeResult result;
    const char *json;
};

struct wb_context {
    WbbCx *cx;
    LlCache *cache;
    wb_reason declined; /* of the last compile */
};

typedef struct {
    wb_context *context;
    const char *file, *text;
    size_t n;
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
    wbb_cx_free(cx);
}

static ScAccuracy accuracy_of(const wb_options *o)
{
    if (!o) return SC_EXACT;
    return o->accuracy == WB_XLA ? SC_XLA : o->accuracy == WB_APPROX ? SC_APPROX : SC_EXACT;
}

static void compile(WbbCx *cx, void *arg)
{
    Call *c = arg;
    c->arena = wbb_arena_new(cx);
    wb_kernel *k = WBB_NEW(c->arena, wb_kernel);
    k->arena = c->arena;
    pipe_compile(cx, k->arena, &c->options, c->file, c->text, c->n, &k->result);
    k->json = bd_kernel_json(k->arena, k->result.bundle);
    c->kernel = k;
}

wb_status wb_compile(wb_context *c, const char *file, const char *text, size_t n, const wb_options *o,
                     wb_kernel **kernel)
{
    Call call = {.context = c, .file = file ? file : "<text>", .text = text, .n = n,
                 .options = {.target = o && o->target ? o->target : "sm_90", .accuracy = accuracy_of(o),
                             .align = o ? o->align : 0, .lines = o && o->lines, .stage = PIPE_AT_PTX,
                             .cache = c->cache}};
    wbb_cx_clear(c->cx);
    const WbbStatus s = wbb_guard(c->cx, compile, &call);
    *kernel = s == WBB_OK ? call.kernel : NULL;
    c->declined = s == WBB_DECLINED ? (wb_reason)c->cx->why : WB_WHY_NONE;
    if (s != WBB_OK) wbb_arena_free(call.arena);
    return s == WBB_OK ? WB_OK : s == WBB_DECLINED ? WB_DECLINED : WB_FAILED;
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
const char *wb_kernel_name(const wb_kernel *k) { return k->result.kernel->name; }
const char *wb_kernel_ptx(const wb_kernel *k) { return k->result.ptx; }
const char *wb_kernel_json(const wb_kernel *k) { return k->json; }
int wb_kernel_steps(const wb_kernel *k) { return (void)k, PIPE_STEPS; }

int wb_kernel_buffer(const wb_kernel *k, uint32_t i, wb_buffer *buffer)
{
    const Bundle *b = k->result.bundle;
    if (i >= (uint32_t)b->n_buffers) return 0;
    const BdBuffer *d = &b->buffers[i];
    *buffer = (wb_buffer){.role = (wb_role)d->role, .number = (uint32_t)d->arg, .bytes = (uint64_t)d->bytes,
                          .align = (uint32_t)d->align, .contents = (wb_contents)d->init, .copy_of = d->copy_of,
                          .may_alias = d->may_alias, .n_may_alias = (uint32_t)d->n_may_alias};
    return 1;
}

int wb_kernel_launch(const wb_kernel *k, uint32_t i, wb_launch *launch)
{
    const Bundle *b = k->result.bundle;
    if (i >= (uint32_t)b->n_launches) return 0;
    const BdLaunch *l = &b->launches[i];
    *launch = (wb_launch){.entry = l->entry, .shared_bytes = (uint32_t)l->shared, .arguments = l->args,
                          .n_arguments = (uint32_t)l->n_args};
    for (int d = 0; d < 3; d++) {
        launch->grid[d] = l->grid[d];
        launch->block[d] = l->block[d];
        launch->cluster[d] = l->cluster[d];
    }
    return 1;
}

double wb_kernel_ms(const wb_kernel *k, int i, const char **name)
{
    if (i < 0 || i >= PIPE_STEPS) return 0;
    if (name) *name = pipe_step_name[i];
    return k->result.ms[i];
}

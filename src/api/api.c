/* api.c: the functions of include/warpburg.h, on top of pipe/.
 *
 * Needs the text of a fusion; leaves a kernel in the context. Failures become a status and messages.
 *
 *     wb_compile(cx, "gelu.hlo", text, n, NULL, &k)   ->   pipe_compile(.., {.target = "sm_90"}, ..)
 */
#include "warpburg.h"

#include "llvm/llvm.h"
#include "pipe/pipe.h"

struct wb_kernel {
    PipeResult result;
    const char *json;
};

struct wb_context {
    WbbCx *cx;
    LlCache *cache;
};

typedef struct {
    wb_context *context;
    const char *file, *text;
    size_t n;
    PipeOptions options;
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

static void compile(WbbCx *cx, void *arg)
{
    Call *c = arg;
    wb_kernel *k = WBB_NEW(cx->arena, wb_kernel);
    pipe_compile(cx, cx->arena, &c->options, c->file, c->text, c->n, &k->result);
    k->json = bd_kernel_json(cx->arena, k->result.bundle);
    c->kernel = k;
}

wb_status wb_compile(wb_context *c, const char *file, const char *text, size_t n, const wb_options *o,
                     wb_kernel **kernel)
{
    Call call = {.context = c, .file = file ? file : "<text>", .text = text, .n = n,
                 .options = {.target = o && o->target ? o->target : "sm_90", .approx = o && o->approx,
                             .align = o ? o->align : 0, .lines = o && o->lines, .stage = PIPE_AT_PTX,
                             .cache = c->cache}};
    wbb_cx_clear(c->cx);
    const WbbStatus s = wbb_guard(c->cx, compile, &call);
    *kernel = s == WBB_OK ? call.kernel : NULL;
    return s == WBB_OK ? WB_OK : s == WBB_DECLINED ? WB_DECLINED : WB_FAILED;
}

const char *wb_messages(const wb_context *c) { return c->cx->messages; }
const char *wb_kernel_name(const wb_kernel *k) { return k->result.kernel->name; }
const char *wb_kernel_ptx(const wb_kernel *k) { return k->result.ptx; }
const char *wb_kernel_json(const wb_kernel *k) { return k->json; }
int wb_kernel_steps(const wb_kernel *k) { return (void)k, PIPE_STEPS; }

int wb_kernel_launch(const wb_kernel *k, wb_launch *launch)
{
    const Bundle *b = k->result.bundle;
    if (b->n_launches == 0) return 0;
    const BdLaunch *l = &b->launches[0];
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = l->grid[i];
        launch->block[i] = l->block[i];
    }
    launch->shared_bytes = (uint32_t)l->shared;
    launch->n_arguments = (uint32_t)l->n_args;
    return 1;
}

double wb_kernel_ms(const wb_kernel *k, int i, const char **name)
{
    if (i < 0 || i >= PIPE_STEPS) return 0;
    if (name) *name = pipe_step_name[i];
    return k->result.ms[i];
}

/* xla.c: a kernel or program as a custom call of XLA: on the CPU in the simulator, on a GPU on XLA's stream.
 *
 * Needs a call frame of XLA's typed interface. Its attribute `kernel` is the number of a wb_xla of this process, which
 * follows from what it runs: so the text of a call is the same in every process, and XLA's executables may be stored
 * and loaded where the same kernel was compiled. Leaves the results, or an error that XLA raises. Arguments are the
 * kernel's inputs, results its outputs and then its temporaries, as bytes. More dimensions in front are a batch: one
 * run for each.
 *
 *     args f32[8,4,16], kernel with input f32[4,16]:  8 runs, 256 bytes apart
 */
#include "api/gpu.h"
#include "api/program.h"
#include "api/xla.h"

#include <pthread.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

struct wb_xla {
    WbbCx *cx; /* its arena has this */
    const wb_kernel *k;  /* NULL: it is a program */
    const wb_program *p;
    const char *name;
    const wb_array *inputs, *outputs;
    uint32_t n_inputs, n_outputs, threads;
    int portable; /* its buffers are row-major and have whole bytes: those of XLA's default layouts */
    pthread_mutex_t lock;
    wb_loaded *loaded[MOST_DEVICES]; /* for each CUDA context that it ran in */
    uint32_t n_loaded;
    int64_t number;
    wb_xla *next; /* of those whose numbers have the same place */
};

enum { PLACES = 1 << 8 };
/* What calls may name, since XLA hands a handler nothing but numbers and buffers. Two may have one number: the same. */
static struct {
    pthread_mutex_t lock;
    wb_xla *first[PLACES];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static wb_xla *named(int64_t number)
{
    pthread_mutex_lock(&known.lock);
    wb_xla *x = known.first[number & (PLACES - 1)];
    while (x && x->number != number) x = x->next;
    pthread_mutex_unlock(&known.lock);
    return x;
}

static void enter(wb_xla *x, uint64_t hash)
{
    x->number = (int64_t)(wbb_mix(hash ^ x->threads) >> 1);
    pthread_mutex_lock(&known.lock);
    wb_xla **at = &known.first[x->number & (PLACES - 1)];
    x->next = *at, *at = x;
    pthread_mutex_unlock(&known.lock);
}

static void leave(const wb_xla *x)
{
    pthread_mutex_lock(&known.lock);
    wb_xla **at = &known.first[x->number & (PLACES - 1)];
    while (*at != x) at = &(*at)->next;
    *at = x->next;
    pthread_mutex_unlock(&known.lock);
}

static uint64_t hash_of(const wb_kernel *k, uint64_t seed)
{
    const char *const texts[] = {wb_kernel_target(k), wb_kernel_json(k), wb_kernel_ptx(k)};
    for (size_t i = 0; i < WBB_LEN(texts); i++) seed = wbb_hash(texts[i], strlen(texts[i]), seed);
    return seed;
}

static int is_portable(const wb_kernel *k)
{
    wb_buffer b;
    for (uint32_t i = 0; wb_kernel_buffer(k, i, &b); i++) {
        if (b.role != WB_TEMPORARY && b.bits < 8) return 0;
        for (uint32_t d = 0; d < b.rank; d++)
            if (b.minor_to_major[d] != (int)(b.rank - 1 - d)) return 0;
    }
    return 1;
}

static void make(WbbCx *cx, void *arg) { *(wb_xla **)arg = WBB_NEW(cx->arena, wb_xla); }

static wb_xla *new_xla(void)
{
    WbbCx *cx = wbb_cx_new();
    wb_xla *x = NULL;
    if (!cx || wbb_guard(cx, make, &x) != WBB_OK || pthread_mutex_init(&x->lock, NULL)) {
        wbb_cx_free(cx);
        return NULL;
    }
    x->cx = cx;
    return x;
}

wb_xla *wb_xla_new(const wb_kernel *k, uint32_t threads)
{
    wb_xla *x = new_xla();
    if (!x) return NULL;
    x->k = k, x->threads = threads, x->portable = is_portable(k), x->name = k->made.name;
    x->inputs = k->inputs, x->outputs = k->outputs, x->n_inputs = k->n_inputs, x->n_outputs = k->n_outputs;
    enter(x, hash_of(k, 0));
    return x;
}

static bool is_default(const ProgComputation *c, const uint32_t *values, uint32_t n)
{
    bool same = true;
    for (uint32_t i = 0; i < n; i++) {
        const ProgValue *v = &c->values[values[i]];
        same = same && prog_describe(v).bits >= 8;
        for (int d = 0; same && d < v->rank; d++) same = v->minor_to_major[d] == v->rank - 1 - d;
    }
    return same;
}

wb_xla *wb_xla_new_program(const wb_program *p, uint32_t threads)
{
    wb_xla *x = new_xla();
    if (!x) return NULL;
    x->p = p, x->threads = threads, x->name = p->p->name;
    x->inputs = p->inputs, x->outputs = p->outputs, x->n_inputs = p->n_inputs, x->n_outputs = p->n_outputs;
    const ProgComputation *c = &p->p->computations[p->p->entry];
    x->portable = is_default(c, c->parameters, c->n_parameters) && is_default(c, c->results, c->n_results);
    const char *json = wb_program_json(p);
    uint64_t hash = wbb_hash(json, strlen(json), 1);
    for (uint32_t i = 0; i < wb_program_kernels(p); i++)
        if (wb_program_kernel(p, i)) hash = hash_of(wb_program_kernel(p, i), hash);
    enter(x, hash);
    return x;
}

void wb_xla_free(wb_xla *x)
{
    if (!x) return;
    leave(x);
    for (uint32_t i = 0; i < x->n_loaded; i++) wb_gpu_unload(x->loaded[i]);
    pthread_mutex_destroy(&x->lock);
    wbb_cx_free(x->cx);
}

int64_t wb_xla_number(const wb_xla *x) { return x->number; }

/* --- a call ------------------------------------------------------------------------------------------------------- */

typedef struct {
    WbRun base;
    const XlaFrame *frame;
    wb_xla *x;
    int64_t batch;
    int code; /* of the error */
    unsigned interrupts; /* that came before it */
} Call;

static XlaError *failed(const XlaFrame *f, int code, const char *message)
{
    XlaErrorCreate e = {sizeof e, NULL, message, code};
    return f->api->error_create(&e);
}

/* The value of a scalar attribute; false: there is none of this name. */
static bool attribute(const XlaFrame *f, const char *name, int64_t *out)
{
    for (int64_t i = 0; i < f->attrs.size; i++) {
        const XlaText *n = f->attrs.names[i];
        if (n->len != strlen(name) || memcmp(n->ptr, name, n->len) || f->attrs.types[i] != XLA_ATTRIBUTE_SCALAR)
            continue;
        const XlaScalar *s = f->attrs.items[i];
        memcpy(out, s->value, sizeof *out);
        return s->dtype == xla_type("s64");
    }
    return false;
}

/* Whether the call only asks what the handler is. */
static bool answers_metadata(const XlaFrame *f, uint32_t traits)
{
    const XlaExtension *e = f->extension_start;
    if (!e || e->type != XLA_EXTENSION_METADATA) return false;
    XlaMetadata *m = ((const XlaMetadataExtension *)e)->metadata;
    m->api_version.major_version = XLA_API_MAJOR;
    /* What is used here is in all of them. jax 0.5 to 0.8.0 ask in a frame without an interface, and take the first. */
    m->api_version.minor_version = f->api ? f->api->api_version.minor_version : XLA_API_MINOR;
    m->traits = traits;
    return true;
}

/* An argument or result has the kernel's type and dimensions, behind those of a batch. */
static void check_buffer(WbbCx *cx, Call *c, const char *what, uint32_t number, const XlaBuffer *b, const wb_array *a)
{
    const int64_t more = b->rank - (int64_t)a->rank;
    int64_t batch = 1;
    bool same = b->dtype == xla_type(a->type) && more >= 0;
    for (int64_t d = 0; same && d < more; d++) batch *= b->dims[d];
    for (uint32_t d = 0; same && d < a->rank; d++) same = b->dims[more + d] == a->dims[d];
    if (c->batch < 0) c->batch = batch;
    if (same && batch == c->batch) return;
    WbbBuf text = wbb_buf(cx->arena);
    for (int64_t d = 0; d < b->rank; d++) wbb_putf(&text, "%s%lld", d ? "," : "", (long long)b->dims[d]);
    wbb_put(&text, "]; expected ");
    wbb_putf(&text, "%s[", a->type);
    for (uint32_t d = 0; d < a->rank; d++) wbb_putf(&text, "%s%lld", d ? "," : "", (long long)a->dims[d]);
    wbb_fail(cx, (WbbLoc){0}, "%s %u of %s has type %d of XLA and dimensions [%s], with or without a batch in front",
             what, number, c->x->name, b->dtype, wbb_format(cx->arena, "%s]", text.text));
}

static uint32_t temporaries(const wb_kernel *k)
{
    wb_buffer b;
    uint32_t n = 0;
    for (uint32_t i = 0; k && wb_kernel_buffer(k, i, &b); i++) n += b.role == WB_TEMPORARY;
    return n;
}

static void check_frame(WbbCx *cx, Call *c)
{
    const XlaFrame *f = c->frame;
    const wb_xla *x = c->x;
    c->code = XLA_INVALID_ARGUMENT, c->batch = -1;
    if (f->args.size != x->n_inputs || f->rets.size != (int64_t)x->n_outputs + temporaries(x->k))
        wbb_fail(cx, (WbbLoc){0}, "%s has %u inputs, %u outputs and %u temporaries; the call has %lld and %lld",
                 x->name, x->n_inputs, x->n_outputs, temporaries(x->k), (long long)f->args.size,
                 (long long)f->rets.size);
    for (uint32_t i = 0; i < x->n_inputs; i++) check_buffer(cx, c, "input", i, f->args.items[i], &x->inputs[i]);
    for (uint32_t i = 0; i < x->n_outputs; i++) check_buffer(cx, c, "output", i, f->rets.items[i], &x->outputs[i]);
    c->code = XLA_INTERNAL;
}

static char *element(const void *buffer, int64_t run, uint64_t bytes)
{
    return (char *)((const XlaBuffer *)buffer)->data + (uint64_t)run * bytes;
}

static void on_host(WbbCx *cx, void *arg)
{
    Call *c = arg;
    const wb_xla *x = c->x;
    const wb_run_options o = {.threads = x->threads, .progress = wb_interrupted, .progress_arg = &c->interrupts};
    check_frame(cx, c);
    const void **in = WBB_NEW_N(cx->arena, const void *, x->n_inputs + 1);
    void **out = WBB_NEW_N(cx->arena, void *, x->n_outputs + 1);
    for (int64_t run = 0; run < c->batch; run++) {
        for (uint32_t i = 0; i < x->n_inputs; i++) in[i] = element(c->frame->args.items[i], run, x->inputs[i].bytes);
        for (uint32_t i = 0; i < x->n_outputs; i++) out[i] = element(c->frame->rets.items[i], run, x->outputs[i].bytes);
        wb_result *r;
        const wb_status s = x->k ? wb_kernel_run(x->k, in, out, &o, &r) : wb_program_run(x->p, in, out, &o, &r);
        const char *said = s == WB_OK ? NULL : wbb_format(cx->arena, "%s", r ? wb_result_messages(r) : "no memory");
        wb_result_free(r);
        if (said && wb_interrupted(&c->interrupts, "", 0, 0)) wbb_fail(cx, (WbbLoc){0}, "Ctrl-C stopped %s", x->name);
        if (said) wbb_fail(cx, (WbbLoc){0}, "%s", said);
    }
}

/* --- on a GPU ----------------------------------------------------------------------------------------------------- */

/* The kernel or program in the CUDA context that XLA made current. Loaded once for each, and kept. */
static const wb_loaded *loaded_here(WbbCx *cx, Call *c)
{
    wb_xla *x = c->x;
    const wb_loaded *found = NULL;
    wb_result *r = NULL;
    const char *said = NULL;
    pthread_mutex_lock(&x->lock);
    for (uint32_t i = 0; i < x->n_loaded && !found; i++)
        if (wb_loaded_is_here(x->loaded[i])) found = x->loaded[i];
    if (!found && x->n_loaded < MOST_DEVICES) {
        wb_loaded **new = &x->loaded[x->n_loaded];
        const wb_status s = x->k ? wb_gpu_load(x->k, new, &r) : wb_gpu_load_program(x->p, new, &r);
        if (s == WB_OK) found = x->loaded[x->n_loaded++];
        else said = wbb_format(cx->arena, "%s", r ? wb_result_messages(r) : "no memory");
        wb_result_free(r);
    }
    pthread_mutex_unlock(&x->lock);
    if (!found) wbb_fail(cx, (WbbLoc){0}, "%s", said ? said : "more CUDA contexts than are expected");
    return found;
}

/* Addresses of the kernel's buffers for one run of a batch. */
static void kernel_addresses(const Call *c, int64_t run, uint64_t *out)
{
    const wb_kernel *k = c->x->k;
    const XlaFrame *f = c->frame;
    uint32_t temporary = k->n_outputs;
    wb_buffer b;
    for (uint32_t i = 0; wb_kernel_buffer(k, i, &b); i++) {
        const void *at = NULL; /* of a constant: loaded with the kernel */
        if (b.role == WB_OUTPUT) at = element(f->rets.items[b.number], run, k->outputs[b.number].bytes);
        else if (b.role == WB_TEMPORARY) at = element(f->rets.items[temporary++], 0, 0);
        else if (b.input >= 0) at = element(f->args.items[b.input], run, k->inputs[b.input].bytes);
        out[i] = (uint64_t)(uintptr_t)at;
    }
}

static void program_addresses(const Call *c, int64_t run, uint64_t *out)
{
    const wb_xla *x = c->x;
    const XlaFrame *f = c->frame;
    for (uint32_t i = 0; i < x->n_inputs; i++)
        *out++ = (uint64_t)(uintptr_t)element(f->args.items[i], run, x->inputs[i].bytes);
    for (uint32_t i = 0; i < x->n_outputs; i++)
        *out++ = (uint64_t)(uintptr_t)element(f->rets.items[i], run, x->outputs[i].bytes);
}

static void on_gpu(WbbCx *cx, void *arg)
{
    Call *c = arg;
    const wb_xla *x = c->x;
    const XlaFrame *f = c->frame;
    check_frame(cx, c);
    c->code = XLA_UNIMPLEMENTED;
    if (!x->portable)
        wbb_fail(cx, (WbbLoc){0}, "%s has arrays whose elements are packed or not in row-major order, and XLA's have "
                 "default layouts", x->name);
    c->code = XLA_INTERNAL;
    XlaStreamGet get = {.struct_size = sizeof get, .ctx = f->ctx};
    if (f->api->stream_get(&get)) wbb_fail(cx, (WbbLoc){0}, "XLA has no stream for the call");
    const wb_loaded *loaded = loaded_here(cx, c);
    const uint32_t n = x->k ? (uint32_t)x->k->made.bundle->n_buffers : x->n_inputs + x->n_outputs;
    uint64_t *addresses = WBB_NEW_N(cx->arena, uint64_t, n + 1);
    for (int64_t run = 0; run < c->batch; run++) {
        if (x->k) kernel_addresses(c, run, addresses);
        else program_addresses(c, run, addresses);
        wb_result *r;
        const wb_status s = wb_gpu_enqueue(loaded, get.stream, addresses, &r);
        const char *said = s == WB_OK ? NULL : wbb_format(cx->arena, "%s", r ? wb_result_messages(r) : "no memory");
        wb_result_free(r);
        if (said) wbb_fail(cx, (WbbLoc){0}, "%s", said);
    }
}

static void *call(void *call_frame, void (*body)(WbbCx *, void *), uint32_t traits)
{
    const XlaFrame *f = call_frame;
    int64_t kernel = 0;
    if (answers_metadata(f, traits)) return NULL;
    if (f->stage != XLA_STAGE_EXECUTE) return NULL;
    wb_xla *x = attribute(f, "kernel", &kernel) ? named(kernel) : NULL;
    if (!x)
        return failed(f, XLA_FAILED_PRECONDITION,
                      "the call is of a warpburg kernel that another process compiled: make it anew here");
    Call c = {.frame = f, .x = x, .code = XLA_INTERNAL, .interrupts = wb_interrupts_begin()};
    wb_result *r = NULL;
    const wb_status s = wb_result_of(c.x->k, body, &c.base, &r);
    wb_interrupts_end();
    XlaError *e = s == WB_OK ? NULL : failed(f, c.code, r ? wb_result_messages(r) : "out of memory");
    wb_result_free(r);
    return e;
}

void *wb_xla_call_on_host(void *call_frame) { return call(call_frame, on_host, 0); }

/* A call of a kernel enqueues the same work each time, and allocates nothing: XLA may record it. One of a program may
 * wait for the GPU, and may not be recorded. */
void *wb_xla_call_on_gpu(void *call_frame) { return call(call_frame, on_gpu, XLA_COMMAND_BUFFER); }
void *wb_xla_call_program_on_gpu(void *call_frame) { return call(call_frame, on_gpu, 0); }

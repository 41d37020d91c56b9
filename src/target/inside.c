/* inside.c: assembles PTX by a library in this process: nvPTXCompiler or nvJitLink.
 *
 * Needs a library that assembler.c has found; leaves a cubin, or the library's message. The library is opened for each
 * text, which costs nothing once it is loaded, and never closed: no handle outlives a call, so there is no state to
 * share, and several threads assemble at once. Each call runs on a thread of its own (base/apart.c): the host's stack
 * may be small, and an assembly that does not end is left behind with its thread. nvPTXCompiler is told to stop.
 *
 * A fault inside the library ends the process, as a fault of any library does; WARPBURG_PTXAS=ptxas keeps it in a
 * process of its own. docs/assemblers.md says what else differs.
 */
#include "target/assembler.h"

#include <dlfcn.h>
#include <string.h>

enum { PTX_INPUT = 2 /* NVJITLINK_INPUT_PTX */, MOST_LOG = 1 << 20 };

/* The functions of both, under names of one form. Handles are opaque, results 0 where all is well. */
typedef struct {
    int (*version)(unsigned *major, unsigned *minor);
    int (*destroy)(void **);
    int (*size)(void *, size_t *);
    int (*program)(void *, void *);
    int (*error_size)(void *, size_t *);
    int (*error)(void *, char *);
    int (*info_size)(void *, size_t *);
    int (*info)(void *, char *);
    /* nvPTXCompiler */
    int (*create)(void **, size_t, const char *);
    int (*compile)(void *, int, const char *const *);
    int (*set_callback)(void *, int (*)(void *, void *), void *); /* NULL before 12.4 */
    /* nvJitLink */
    int (*link_create)(void **, uint32_t, const char **);
    int (*link_add)(void *, int, const void *, size_t, const char *);
    int (*link_complete)(void *);
} Library;

typedef struct {
    Library library;
    bool links;
    char arch[32];
    bool lines, verbose;
} Request;

typedef struct {
    int status;
    size_t cubin; /* bytes of it; the log stands behind it */
} Reply;

/* ISO C has no conversion between data and function pointers; POSIX guarantees that their bytes are the same. */
static bool find(void *library, const char *name, void *function)
{
    void *at = dlsym(library, name);
    memcpy(function, &at, sizeof at);
    return at != NULL;
}

static bool open_library(const TgAssembler *x, Library *l)
{
    void *h = dlopen(x->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!h) return false;
    *l = (Library){0};
    if (x->kind == TG_NVJITLINK)
        return find(h, "nvJitLinkVersion", &l->version) && find(h, "nvJitLinkDestroy", &l->destroy) &&
               find(h, "nvJitLinkGetLinkedCubinSize", &l->size) && find(h, "nvJitLinkGetLinkedCubin", &l->program) &&
               find(h, "nvJitLinkGetErrorLogSize", &l->error_size) && find(h, "nvJitLinkGetErrorLog", &l->error) &&
               find(h, "nvJitLinkGetInfoLogSize", &l->info_size) && find(h, "nvJitLinkGetInfoLog", &l->info) &&
               find(h, "nvJitLinkCreate", &l->link_create) && find(h, "nvJitLinkAddData", &l->link_add) &&
               find(h, "nvJitLinkComplete", &l->link_complete);
    (void)find(h, "nvPTXCompilerSetFlowCallback", &l->set_callback);
    return find(h, "nvPTXCompilerGetVersion", &l->version) && find(h, "nvPTXCompilerDestroy", &l->destroy) &&
           find(h, "nvPTXCompilerGetCompiledProgramSize", &l->size) &&
           find(h, "nvPTXCompilerGetCompiledProgram", &l->program) &&
           find(h, "nvPTXCompilerGetErrorLogSize", &l->error_size) &&
           find(h, "nvPTXCompilerGetErrorLog", &l->error) && find(h, "nvPTXCompilerGetInfoLogSize", &l->info_size) &&
           find(h, "nvPTXCompilerGetInfoLog", &l->info) && find(h, "nvPTXCompilerCreate", &l->create) &&
           find(h, "nvPTXCompilerCompile", &l->compile);
}

static int is_late(void *x, void *unused)
{
    (void)unused;
    return wbb_apart_late(x);
}

static int run(WbbApart *x, const Request *r, const char *ptx, size_t n, void **handle)
{
    const Library *l = &r->library;
    const char *options[4] = {r->arch};
    uint32_t n_options = 1;
    if (r->lines) options[n_options++] = "-lineinfo";
    if (r->verbose) options[n_options++] = r->links ? "-verbose" : "-v";
    if (r->links) {
        int status = l->link_create(handle, n_options, options);
        if (!status) status = l->link_add(*handle, PTX_INPUT, ptx, n, "kernel.ptx");
        return status ? status : l->link_complete(*handle);
    }
    const int status = l->create(handle, n, ptx);
    if (status) return status;
    if (l->set_callback) (void)l->set_callback(*handle, is_late, x);
    return l->compile(*handle, (int)n_options, options);
}

/* Adds a text of the library: its messages. */
static void put_text(WbbApart *x, void *handle, int (*size)(void *, size_t *), int (*get)(void *, char *))
{
    size_t n = 0;
    if (size(handle, &n) != 0 || n <= 1 || n > MOST_LOG) return;
    char *at = wbb_apart_room(x, n);
    if (at) memset(at, 0, n);
    if (at) (void)get(handle, at);
}

/* On the thread apart: a Reply, the cubin, the log. */
static void assemble(WbbApart *x, const char *given, size_t n)
{
    Request r;
    Reply reply = {0};
    void *handle = NULL;
    memcpy(&r, given, sizeof r);
    const Library *l = &r.library;
    reply.status = run(x, &r, given + sizeof r, n - sizeof r + 1, &handle); /* with the zero that ends the text */
    if (!reply.status && l->size(handle, &reply.cubin) != 0) reply.cubin = 0;
    wbb_apart_put(x, &reply, sizeof reply);
    if (reply.cubin) {
        char *at = wbb_apart_room(x, reply.cubin);
        if (at) (void)l->program(handle, at);
    }
    if (!handle) return;
    put_text(x, handle, l->error_size, l->error);
    put_text(x, handle, l->info_size, l->info);
    (void)l->destroy(&handle);
}

TgAssembly tg_assemble_inside(WbbCx *cx, WbbArena *a, const TgAssembler *with, const TgText *text)
{
    TgAssembly out = {.log = ""};
    Request r = {.links = with->kind == TG_NVJITLINK, .lines = text->lines, .verbose = text->verbose};
    if (!open_library(with, &r.library)) { /* it could be loaded a moment ago */
        out.cubin.missing = wbb_format(a, "%s cannot be loaded", with->path);
        return out;
    }
    const char *arch = wbb_format(a, "-arch=%s", text->arch);
    assert(strlen(arch) < sizeof r.arch);
    memcpy(r.arch, arch, strlen(arch) + 1);
    const size_t n_ptx = strlen(text->ptx);
    char *given = wbb_alloc(a, sizeof r + n_ptx), *made;
    memcpy(given, &r, sizeof r);
    memcpy(given + sizeof r, text->ptx, n_ptx);
    size_t n;
    const uint32_t seconds = text->seconds ? text->seconds : TG_PTXAS_SECONDS;
    if (!wbb_run_apart(cx, a, assemble, given, sizeof r + n_ptx, seconds, &made, &n)) {
        out.ended = wbb_format(a, "did not end in %u seconds", seconds);
        return out;
    }
    Reply reply;
    memcpy(&reply, made, sizeof reply);
    WbbBuf log = wbb_buf(a); /* up to two texts, each ended by zeros */
    for (size_t at = sizeof reply + reply.cubin; at < n; at += strlen(made + at) + 1) wbb_put(&log, made + at);
    out.log = log.text;
    if (reply.status == 0 && reply.cubin)
        out.cubin = (TgCubin){.bytes = (const uint8_t *)made + sizeof reply, .n = reply.cubin};
    else if (!*out.log) out.log = wbb_format(a, "result %d", reply.status);
    return out;
}

const char *tg_library_version(WbbArena *a, const TgAssembler *x, const char **why)
{
    Library l;
    unsigned major, minor;
    if (open_library(x, &l) && l.version(&major, &minor) == 0) return wbb_format(a, "%u.%u", major, minor);
    const char *said = dlerror();
    const size_t n = strlen(x->path);
    if (said && !strncmp(said, x->path, n) && !strncmp(said + n, ": ", 2)) said += n + 2; /* most begin so */
    if (why) *why = wbb_format(a, "%s", said ? said : "it does not say its version");
    return NULL;
}

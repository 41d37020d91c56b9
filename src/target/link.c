/* link.c: makes a library of NVIDIA's archive of nvPTXCompiler.
 *
 * Needs the archive and a C compiler; leaves a library in the folder of the cache, which assembler.c finds. Only what
 * the functions that inside.c calls need is linked, and only they are exported: half the archive, loaded in 2 ms.
 *
 *     cc -shared -o DRAFT -Wl,--version-script=MAP -Wl,--gc-sections -u nvPTXCompilerCreate .. ARCHIVE -lstdc++
 */
#include "target/assembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 300 };
static const char exports[] = "{ global: nvPTXCompiler*; local: *; };\n";
static const char *const functions[] = {"Create", "Compile", "Destroy", "GetVersion", "GetCompiledProgramSize",
                                        "GetCompiledProgram", "GetErrorLogSize", "GetErrorLog", "GetInfoLogSize",
                                        "GetInfoLog", "SetFlowCallback"};

/* Archives since 13.5 have C++ inside. A machine without a C++ compiler may still have the library itself, and older
 * archives need neither. */
static const char *const libraries_of_c_plus_plus[] = {"-lstdc++", "-l:libstdc++.so.6", NULL};

typedef struct {
    WbbArena *arena;
    const char *folder, *archive, *out;
} Job;

typedef struct {
    const char *items[56];
    uint32_t n;
} Arguments;

static void add(Arguments *to, const char *word)
{
    assert(to->n + 1 < WBB_LEN(to->items)); /* the last one stays NULL */
    to->items[to->n++] = word;
}

/* $CC may be several words: "ccache gcc". */
static void add_compiler(WbbArena *a, Arguments *to)
{
    enum { MOST = 16 /* words */ };
    const char *own = getenv("CC");
    for (const char *p = own ? own : ""; *(p += strspn(p, " \t")) && to->n < MOST;) {
        const size_t n = strcspn(p, " \t");
        add(to, wbb_format(a, "%.*s", (int)n, p));
        p += n;
    }
    if (!to->n) add(to, "cc");
}

static void link_it(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    WbbArena *a = j->arena;
    const char *map = wbb_format(a, "%s/map", j->folder), *draft = wbb_format(a, "%s/libnvptxcompiler.so", j->folder);
    wbb_write_file(cx, map, exports, strlen(exports));
    Arguments argv = {0};
    add_compiler(a, &argv);
    const char *const fixed[] = {"-shared", "-o", draft, wbb_format(a, "-Wl,--version-script=%s", map),
                                 "-Wl,--gc-sections"};
    for (size_t k = 0; k < WBB_LEN(fixed); k++) add(&argv, fixed[k]);
    for (size_t k = 0; k < WBB_LEN(functions); k++) {
        add(&argv, "-u");
        add(&argv, wbb_format(a, "nvPTXCompiler%s", functions[k]));
    }
    add(&argv, j->archive), add(&argv, "-lpthread"), add(&argv, "-lm"), add(&argv, "-ldl");
    add(&argv, "-Wl,--as-needed");
    WbbExit e = {.status = 1};
    char *output = NULL;
    for (size_t k = 0; e.status && e.status != 127 && k < WBB_LEN(libraries_of_c_plus_plus); k++) {
        argv.items[argv.n] = libraries_of_c_plus_plus[k];
        e = wbb_run_process(cx, a, argv.items, SECONDS, &output);
    }
    const WbbLoc at = {.file = j->archive};
    const char *compiler = argv.items[0];
    if (e.status == 127) wbb_fail(cx, at, "cannot be linked: %s cannot be started; CC names a C compiler", compiler);
    if (e.status) wbb_fail(cx, at, "%s cannot link it: it %s: %s", compiler, e.what, output);
    const TgAssembler made = {.kind = TG_NVPTXCOMPILER, .path = draft};
    const char *why;
    if (!tg_library_version(a, &made, &why)) wbb_fail(cx, at, "what is linked of it cannot be loaded: %s", why);
    if (rename(draft, j->out) != 0) wbb_fail(cx, (WbbLoc){.file = j->out}, "cannot be written");
}

void tg_link_library(WbbCx *cx, WbbArena *a)
{
    Job j = {.arena = a, .archive = tg_find_archive(cx, a), .out = tg_linked_library(a)};
    if (!j.archive)
        wbb_fail(cx, (WbbLoc){0},
                 "libnvptxcompiler_static.a was not found; `pip install nvidia-nvptxcompiler` has it, as has the CUDA "
                 "toolkit");
    if (!j.out) wbb_fail(cx, (WbbLoc){0}, "there is no folder for the library: WARPBURG_CACHE turns the cache off");
    j.folder = wbb_format(a, "%.*s.%ld", (int)(strlen(j.out) - strlen(".so")), j.out, (long)wbb_now_ms());
    wbb_make_dir(cx, j.folder);
    const WbbStatus s = wbb_guard(cx, link_it, &j);
    wbb_remove_dir(j.folder);
    if (s != WBB_OK) wbb_rethrow(cx, s);
}

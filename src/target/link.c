/* link.c: makes a library of NVIDIA's archive of nvPTXCompiler.
 *
 * Needs the archive and a C compiler; leaves a library in the folder of the cache, which assembler.c finds. Only what
 * the functions that inside.c calls need is linked, and only they are exported: half the archive, loaded in 2 ms.
 *
 *     cc -shared -o DRAFT -Wl,--version-script=MAP -Wl,--gc-sections -u nvPTXCompilerCreate .. ARCHIVE
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

typedef struct {
    WbbArena *arena;
    const char *folder, *archive, *out;
} Job;

static void link_it(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    WbbArena *a = j->arena;
    const char *own = getenv("CC"), *compiler = own && *own ? own : "cc";
    const char *map = wbb_format(a, "%s/map", j->folder), *draft = wbb_format(a, "%s/libnvptxcompiler.so", j->folder);
    wbb_write_file(cx, map, exports, strlen(exports));
    const char *argv[40] = {compiler, "-shared", "-o", draft, wbb_format(a, "-Wl,--version-script=%s", map),
                            "-Wl,--gc-sections"};
    uint32_t n = 6;
    for (size_t k = 0; k < WBB_LEN(functions); k++) {
        argv[n++] = "-u";
        argv[n++] = wbb_format(a, "nvPTXCompiler%s", functions[k]);
    }
    argv[n++] = j->archive, argv[n++] = "-lpthread", argv[n++] = "-lm", argv[n++] = "-ldl";
    char *output;
    const WbbExit e = wbb_run_process(cx, a, argv, SECONDS, &output);
    if (e.status) wbb_fail(cx, (WbbLoc){.file = j->archive}, "%s cannot link it: it %s: %s", compiler, e.what, output);
    const TgAssembler made = {.kind = TG_NVPTXCOMPILER, .path = draft};
    if (!tg_library_version(a, &made))
        wbb_fail(cx, (WbbLoc){.file = j->archive}, "what is linked of it cannot be loaded");
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

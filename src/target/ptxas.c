/* ptxas.c: assembles PTX with NVIDIA's assembler, as a child process.
 *
 * Needs PTX text; leaves the cubin's bytes. Without ptxas there is no failure: TgCubin.missing says what is missing.
 *
 *     ptxas -arch=sm_90 -o DIR/gelu.cubin DIR/gelu.ptx
 */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* The first file of that name on PATH, in the order that execvp uses. */
static const char *on_path(WbbArena *a, const char *name)
{
    const char *p = getenv("PATH");
    while (p && *p) {
        const size_t n = strcspn(p, ":");
        const char *at = wbb_format(a, "%.*s%s%s", (int)n, p, n ? "/" : "./", name);
        if (wbb_file_exists(at) && !wbb_is_dir(at)) return at;
        p += n;
        if (*p == ':') p++;
    }
    return NULL;
}

const char *tg_find_ptxas(WbbCx *cx, WbbArena *a)
{
    static const char usual[] = "/usr/local/cuda/bin/ptxas";
    (void)cx;
    const char *own = getenv("WARPBURG_PTXAS");
    if (own && *own) return wbb_file_exists(own) ? own : NULL; /* an explicit path has no fallback */
    const char *found = on_path(a, "ptxas");
    if (found) return found;
    return wbb_file_exists(usual) ? usual : NULL;
}

/* The arguments and the result of `assemble`, which runs inside a guard so that the directory is always removed. */
typedef struct {
    WbbArena *arena;
    const char *ptxas, *directory, *arch, *ptx, *name;
    TgCubin cubin;
    bool lines;
} Job;

static void assemble(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const char *source = wbb_format(j->arena, "%s/kernel.ptx", j->directory);
    const char *object = wbb_format(j->arena, "%s/kernel.cubin", j->directory);
    wbb_write_file(cx, source, j->ptx, strlen(j->ptx));
    const char *arch = wbb_format(j->arena, "-arch=%s", j->arch);
    const char *const argv[] = {j->ptxas, arch, "-o", object, source, j->lines ? "-lineinfo" : NULL, NULL};
    char *output = NULL;
    const WbbExit e = wbb_run_process(cx, j->arena, argv, TG_PTXAS_SECONDS, &output);
    if (e.status == 127) {
        j->cubin.missing = wbb_format(j->arena, "%s cannot be started", j->ptxas);
        return;
    }
    if (e.status < 0) wbb_fail(cx, (WbbLoc){0}, "ptxas %s on %s for %s: %s", e.what, j->name, j->arch, output);
    if (e.status != 0) wbb_fail(cx, (WbbLoc){0}, "ptxas refuses %s for %s: %s", j->name, j->arch, output);
    j->cubin.bytes = (const uint8_t *)wbb_read_file(cx, j->arena, object, &j->cubin.n);
}

static TgCubin assemble_with(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name, bool lines)
{
    Job j = {.arena = a, .arch = t->name, .ptx = ptx, .name = name, .lines = lines};
    j.ptxas = tg_find_ptxas(cx, a);
    if (!j.ptxas) {
        j.cubin.missing = "ptxas was not found; set WARPBURG_PTXAS or PATH";
        return j.cubin;
    }
    j.directory = wbb_temp_dir(cx, a);
    const WbbStatus status = wbb_guard(cx, assemble, &j);
    wbb_remove_dir(j.directory);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return j.cubin;
}

TgCubin tg_assemble(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name)
{
    return assemble_with(cx, a, t, ptx, name, false);
}

TgCubin tg_assemble_lines(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name)
{
    return assemble_with(cx, a, t, ptx, name, true);
}

/* The arguments and the result of `disassemble`, which runs inside a guard so that the directory is always removed. */
typedef struct {
    WbbArena *arena;
    const char *nvdisasm, *directory;
    const TgCubin *cubin;
    char *text;
} Disassembly;

static void disassemble(WbbCx *cx, void *arg)
{
    Disassembly *d = arg;
    const char *object = wbb_format(d->arena, "%s/kernel.cubin", d->directory);
    wbb_write_file(cx, object, d->cubin->bytes, d->cubin->n);
    const char *const argv[] = {d->nvdisasm, "-c", "-gp", object, NULL};
    char *output = NULL;
    if (wbb_run_process(cx, d->arena, argv, TG_PTXAS_SECONDS, &output).status == 0) d->text = output;
}

const char *tg_sass_text(WbbCx *cx, WbbArena *a, const TgCubin *cubin)
{
    const char *ptxas = tg_find_ptxas(cx, a), *slash = ptxas ? strrchr(ptxas, '/') : NULL;
    if (!slash) return NULL;
    Disassembly d = {
        .arena = a, .cubin = cubin, .nvdisasm = wbb_format(a, "%.*s/nvdisasm", (int)(slash - ptxas), ptxas)};
    if (!wbb_file_exists(d.nvdisasm)) d.nvdisasm = on_path(a, "nvdisasm");
    if (!d.nvdisasm) return NULL;
    d.directory = wbb_temp_dir(cx, a);
    const WbbStatus status = wbb_guard(cx, disassemble, &d);
    wbb_remove_dir(d.directory);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return d.text;
}

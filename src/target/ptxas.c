/* ptxas.c: assembles PTX with NVIDIA's assembler: as a library of this process where assembler.c finds one, else as a
 * child process.
 *
 * Needs PTX text; leaves the cubin's bytes. Without an assembler, or with one that is too old, there is no failure:
 * TgCubin.missing says what is missing, and how to get it.
 *
 *     ptxas -arch=sm_90 -o DIR/gelu.cubin DIR/gelu.ptx
 */
#include "target/assembler.h"

#include <string.h>

/* The arguments and the result of `run_process`, which runs inside a guard so that the directory is always removed. */
typedef struct {
    WbbArena *arena;
    const char *ptxas, *directory;
    const TgText *text;
    TgAssembly out;
} Job;

static void run_process(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const char *source = wbb_format(j->arena, "%s/kernel.ptx", j->directory);
    const char *object = wbb_format(j->arena, "%s/kernel.cubin", j->directory);
    wbb_write_file(cx, source, j->text->ptx, strlen(j->text->ptx));
    const char *argv[8] = {j->ptxas, wbb_format(j->arena, "-arch=%s", j->text->arch)};
    uint32_t n = 2;
    if (j->text->lines) argv[n++] = "-lineinfo";
    if (j->text->verbose) argv[n++] = "-v";
    argv[n++] = "-o", argv[n++] = object, argv[n++] = source;
    char *output = NULL;
    const uint32_t seconds = j->text->seconds ? j->text->seconds : TG_PTXAS_SECONDS;
    const WbbExit e = wbb_run_process(cx, j->arena, argv, seconds, &output);
    j->out.log = output;
    if (e.status == 127) j->out.cubin.missing = wbb_format(j->arena, "%s cannot be started", j->ptxas);
    else if (e.status < 0) j->out.ended = e.what;
    else if (e.status == 0) j->out.cubin.bytes = (const uint8_t *)wbb_read_file(cx, j->arena, object, &j->out.cubin.n);
}

static TgAssembly assemble_apart(WbbCx *cx, WbbArena *a, const TgAssembler *with, const TgText *text)
{
    Job j = {.arena = a, .ptxas = with->path, .text = text, .out = {.log = ""}};
    j.directory = wbb_temp_dir(cx, a);
    const WbbStatus status = wbb_guard(cx, run_process, &j);
    wbb_remove_dir(j.directory);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return j.out;
}

/* What an assembler says of a text with a newer `.version` than it knows; NULL: nothing. */
static const char *too_old(WbbArena *a, const char *path, const char *log)
{
    const char *at = strstr(log, "Unsupported .version");
    if (!at) return NULL;
    return wbb_format(a, "%s is too old: %.*s; `pip install nvidia-cuda-nvcc` has a newer one, for WARPBURG_PTXAS",
                      path, (int)strcspn(at, "\n"), at);
}

TgAssembly tg_run_assembler(WbbCx *cx, WbbArena *a, const TgText *text)
{
    const TgAssembler with = tg_loadable_assembler(cx, a);
    if (with.kind == TG_NO_ASSEMBLER) return (TgAssembly){.cubin.missing = with.missing, .log = ""};
    TgAssembly out =
        with.kind == TG_PTXAS ? assemble_apart(cx, a, &with, text) : tg_assemble_inside(cx, a, &with, text);
    out.by = tg_assembler_name(with.kind);
    out.cubin.by = with.path;
    if (!out.cubin.bytes && !out.cubin.missing) out.cubin.missing = too_old(a, with.path, out.log);
    return out;
}

static TgCubin assemble_with(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *ptx, const char *name, bool lines)
{
    const TgAssembly x = tg_run_assembler(cx, a, &(TgText){.ptx = ptx, .arch = t->name, .lines = lines});
    if (x.cubin.bytes || x.cubin.missing) return x.cubin;
    if (x.ended) wbb_fail(cx, (WbbLoc){0}, "%s %s on %s for %s: %s", x.by, x.ended, name, t->name, x.log);
    wbb_fail(cx, (WbbLoc){0}, "%s refuses %s for %s: %s", x.by, name, t->name, x.log);
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
    const char *beside = slash ? wbb_format(a, "%.*s/nvdisasm", (int)(slash - ptxas), ptxas) : NULL;
    Disassembly d = {.arena = a, .cubin = cubin, .nvdisasm = beside && wbb_file_exists(beside) ? beside : NULL};
    if (!d.nvdisasm) d.nvdisasm = tg_on_path(a, "nvdisasm");
    if (!d.nvdisasm) d.nvdisasm = tg_find_in_packages(cx, a, "bin/nvdisasm");
    if (!d.nvdisasm) return NULL;
    d.directory = wbb_temp_dir(cx, a);
    const WbbStatus status = wbb_guard(cx, disassemble, &d);
    wbb_remove_dir(d.directory);
    if (status != WBB_OK) wbb_rethrow(cx, status);
    return d.text;
}

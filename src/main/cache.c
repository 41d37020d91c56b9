/* cache.c: `cache`: what is kept from run to run; and `assembler`: what assembles PTX.
 *
 * Needs nothing. Leaves on stdout a line for each thing, or an empty cache, or a library that is linked.
 *
 *     warpburg cache
 *     ~/.cache/warpburg: 812 entries, 11.4 MiB of 1024 MiB
 */
#include "base/store.h"
#include "llvm/llvm.h"
#include "main/main.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    bool empty, json;
} CacheOptions;

static WbbStatus cache(const Call *call)
{
    WbbCx *cx = call->cx;
    const CacheOptions *o = call->options;
    const char *folder = wbb_cache_folder(call->arena);
    WbbStore *s = wbb_store_open(cx, call->arena, folder, 0);
    if (s && o->empty) wbb_store_empty(cx, s);
    const WbbStoreSize size = s ? wbb_store_size(cx, s) : (WbbStoreSize){0};
    const uint64_t limit = s ? wbb_store_limit(s) : 0;
    WbbBuf b = wbb_buf(call->arena);
    if (o->json) {
        wbb_json_open(&b, NULL, '{');
        wbb_json_text(&b, "folder", folder);
        wbb_json_uint(&b, "entries", size.entries);
        wbb_json_uint(&b, "bytes", size.bytes);
        wbb_json_uint(&b, "limit", limit);
        wbb_json_end(&b, "cache.1");
    } else if (!s) wbb_put(&b, "there is no cache: WARPBURG_CACHE turns it off, or there is no home folder");
    else
        wbb_putf(&b, "%s: %llu entries, %.1f MiB of %.0f MiB", folder, (unsigned long long)size.entries,
                 (double)size.bytes / (1 << 20), (double)limit / (1 << 20));
    puts(b.text);
    return WBB_OK;
}

static const Option cache_options[] = {
    {FLAG("--empty", CacheOptions, empty, "remove all entries first")}, MAIN_OPTION_JSON(CacheOptions), {0}};
static const Example cache_examples[] = {
    {"cache", "how many entries there are, and of what size"}, {"cache --empty", "remove them"}, {0}};
const Command main_cache = {
    .name = "cache",
    .summary = "show or empty the cache of compiled kernels",
    .details = "The cache has the PTX and the machine code of fusions that were compiled before, by the command line, "
               "the library and the Python package. Its folder is $WARPBURG_CACHE, else warpburg in $XDG_CACHE_HOME or "
               "~/.cache; WARPBURG_CACHE=off turns it off. Above its limit the entries used least recently go.",
    .options = cache_options,
    .examples = cache_examples,
    .size = sizeof(CacheOptions),
    .run = cache,
};

/* --- assembler ---------------------------------------------------------------------------------------------------- */

typedef struct {
    bool link, json;
} AssemblerOptions;

static void put_found(WbbBuf *b, bool json, const char *name, const char *path, const char *version, bool used)
{
    if (!json) {
        wbb_putf(b, "%-14s %s", name, path ? path : "not found");
        if (version) wbb_putf(b, ", %s", version);
        wbb_put(b, used ? ", assembles\n" : "\n");
        return;
    }
    wbb_json_open(b, name, '{');
    wbb_json_text(b, "path", path);
    if (version) wbb_json_text(b, "version", version);
    wbb_json_bool(b, "used", used);
    wbb_json_close(b, '}');
}

static WbbStatus assembler(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const AssemblerOptions *o = call->options;
    if (o->link) tg_link_library(cx, a);
    const TgAssembler used = tg_loadable_assembler(cx, a);
    WbbBuf b = wbb_buf(a);
    if (o->json) wbb_json_open(&b, NULL, '{');
    for (int k = TG_NVPTXCOMPILER; k <= TG_NVJITLINK; k++) {
        const TgAssembler x = {.kind = (TgAssemblerKind)k, .path = tg_find_kind(cx, a, (TgAssemblerKind)k)};
        const bool same = used.kind == x.kind;
        const TgAssembler *of = same ? &used : &x;
        put_found(&b, o->json, tg_assembler_name(x.kind), of->path, of->path ? tg_version_of(cx, a, of) : NULL, same);
    }
    const char *archive = tg_find_archive(cx, a);
    put_found(&b, o->json, "archive", archive, NULL, false);
    put_found(&b, o->json, "libdevice", ll_find_libdevice(cx, a, NULL), NULL, false);
    if (o->json) wbb_json_end(&b, "assembler.1");
    else if (used.kind == TG_NO_ASSEMBLER) wbb_putf(&b, "%s\n", used.missing);
    else if (archive && !tg_find_kind(cx, a, TG_NVPTXCOMPILER))
        wbb_put(&b, "`warpburg assembler --link` makes a library of the archive, which assembles without a process\n");
    if (o->json) wbb_put(&b, "\n");
    fputs(b.text, stdout);
    return WBB_OK;
}

static const Option assembler_options[] = {
    {FLAG("--link", AssemblerOptions, link,
          "make a library of NVIDIA's archive libnvptxcompiler_static.a, by the C compiler, $CC or cc")},
    MAIN_OPTION_JSON(AssemblerOptions), {0}};
static const Example assembler_examples[] = {
    {"assembler", "what is found, and what assembles"},
    {"assembler --link", "assemble in this process from now on, after `pip install nvidia-nvptxcompiler`"}, {0}};
const Command main_assembler = {
    .name = "assembler",
    .summary = "show what assembles PTX, or make a library of it",
    .details = "The first of these assembles: nvPTXCompiler, which is ptxas as a library and saves the start of a "
               "process each time; ptxas; nvJitLink, whose code is relocatable and may take more registers. "
               "WARPBURG_PTXAS names another one: a file, or one of the words nvptxcompiler, ptxas, nvjitlink.",
    .options = assembler_options,
    .examples = assembler_examples,
    .size = sizeof(AssemblerOptions),
    .run = assembler,
};

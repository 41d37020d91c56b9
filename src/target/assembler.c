/* assembler.c: finds what assembles PTX, and tools and files that come with it.
 *
 * Needs the environment: PATH, and the folders of NVIDIA's Python packages. Leaves a TgAssembler, one of
 *
 *     nvPTXCompiler   ptxas as a library: the same code. NVIDIA gives it as an archive, libnvptxcompiler_static.a, that
 *                     `warpburg assembler --link` makes a library of, in the folder of the cache
 *     ptxas           a process each time
 *     nvJitLink       a linker with ptxas inside. Its code is relocatable (-c), so that slow paths are functions of
 *                     their own, and the linker counts their registers for each kernel: it is used where neither of
 *                     the others is found, or where WARPBURG_PTXAS asks for it
 *
 * Python packages unpack to site-packages/nvidia: cu13/bin/ptxas, cu13/lib/.., and before CUDA 13 cuda_nvcc/bin/ptxas,
 * nvjitlink/lib/...
 */
#include "target/assembler.h"

#include <stdlib.h>
#include <string.h>

static const char toolkit[] = "/usr/local/cuda";
static const char *const kind_name[] = {"none", "nvptxcompiler", "ptxas", "nvjitlink"};
static const char *const jitlink_names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"};
static const char *const toolkit_libs[] = {"lib64", "lib", "lib/x86_64-linux-gnu", "targets/x86_64-linux/lib"};

static const char *existing(WbbArena *a, const char *folder, const char *name)
{
    const char *path = wbb_format(a, "%s/%s", folder, name);
    return wbb_file_exists(path) && !wbb_is_dir(path) ? path : NULL;
}

/* The first file of that name on PATH, in the order that execvp uses. */
const char *tg_on_path(WbbArena *a, const char *name)
{
    const char *p = getenv("PATH");
    while (p && *p) {
        const size_t n = strcspn(p, ":");
        const char *at = existing(a, n ? wbb_format(a, "%.*s", (int)n, p) : ".", name);
        if (at) return at;
        p += n;
        if (*p == ':') p++;
    }
    return NULL;
}

/* --- NVIDIA's Python packages ------------------------------------------------------------------------------------- */

typedef struct {
    const char **items;
    uint32_t n, capacity;
} Folders;

typedef struct {
    WbbArena *arena;
    const char *folder;
    const char **names;
    uint32_t n;
} Listing;

static void list(WbbCx *cx, void *arg)
{
    Listing *l = arg;
    l->names = wbb_list_dir(cx, l->arena, l->folder, &l->n);
}

/* The names in a folder; none if it cannot be read. */
static Listing names_in(WbbCx *cx, WbbArena *a, const char *folder)
{
    Listing l = {.arena = a, .folder = folder};
    if (wbb_is_dir(folder) && !wbb_quietly(cx, list, &l)) l.n = 0;
    return l;
}

/* The packages in a site-packages/nvidia, the newest CUDA first: cu13 before cuda_nvcc, nvjitlink. */
static void add_packages(WbbCx *cx, WbbArena *a, Folders *out, const char *nvidia)
{
    const Listing l = names_in(cx, a, nvidia);
    for (int versioned = 1; versioned >= 0; versioned--)
        for (uint32_t k = l.n; k-- > 0;)
            if ((strspn(l.names[k], "cu0123456789") == strlen(l.names[k])) == versioned)
                WBB_PUSH(a, out, wbb_format(a, "%s/%s", nvidia, l.names[k]));
}

static void add_environment(WbbCx *cx, WbbArena *a, Folders *out, const char *prefix)
{
    const Listing l = names_in(cx, a, wbb_format(a, "%s/lib", prefix));
    for (uint32_t k = 0; k < l.n; k++)
        if (!strncmp(l.names[k], "python3", 7))
            add_packages(cx, a, out, wbb_format(a, "%s/lib/%s/site-packages/nvidia", prefix, l.names[k]));
}

/* Of the Python that runs, which sets WARPBURG_NVIDIA (python/warpburg/_library.py), and of active environments. */
static Folders packages(WbbCx *cx, WbbArena *a)
{
    static const char *const active[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    Folders out = {0};
    for (const char *p = getenv("WARPBURG_NVIDIA"); p && *p;) {
        const size_t n = strcspn(p, ":");
        add_packages(cx, a, &out, wbb_format(a, "%.*s", (int)n, p));
        p += n + (p[n] == ':');
    }
    for (size_t k = 0; k < WBB_LEN(active); k++) {
        const char *prefix = getenv(active[k]);
        if (prefix && *prefix) add_environment(cx, a, &out, prefix);
    }
    return out;
}

const char *tg_find_in_packages(WbbCx *cx, WbbArena *a, const char *path)
{
    const Folders f = packages(cx, a);
    for (uint32_t k = 0; k < f.n; k++) {
        const char *at = existing(a, f.items[k], path);
        if (at) return at;
    }
    return NULL;
}

/* --- what assembles ----------------------------------------------------------------------------------------------- */

/* The folder of a toolkit whose bin/ has this file. */
static const char *toolkit_of(WbbArena *a, const char *tool)
{
    const char *slash = tool ? strrchr(tool, '/') : NULL;
    return slash ? wbb_format(a, "%.*s/..", (int)(slash - tool), tool) : NULL;
}

static const char *find_ptxas(WbbCx *cx, WbbArena *a)
{
    const char *found = tg_on_path(a, "ptxas");
    if (!found) found = tg_find_in_packages(cx, a, "bin/ptxas");
    return found ? found : existing(a, toolkit, "bin/ptxas");
}

/* A library of a toolkit, or of a package: beside ptxas, in the packages, in the usual folder. */
static const char *find_library(WbbCx *cx, WbbArena *a, const char *const *names, size_t n)
{
    const char *const roots[] = {toolkit_of(a, tg_on_path(a, "ptxas")), NULL, toolkit};
    for (size_t r = 0; r < WBB_LEN(roots); r++)
        for (size_t k = 0; k < n; k++) {
            if (r == 1) {
                const char *at = tg_find_in_packages(cx, a, wbb_format(a, "lib/%s", names[k]));
                if (at) return at;
            }
            for (size_t f = 0; roots[r] && f < WBB_LEN(toolkit_libs); f++) {
                const char *at = existing(a, wbb_format(a, "%s/%s", roots[r], toolkit_libs[f]), names[k]);
                if (at) return at;
            }
        }
    return NULL;
}

const char *tg_find_archive(WbbCx *cx, WbbArena *a)
{
    static const char *const name[] = {"libnvptxcompiler_static.a"};
    return find_library(cx, a, name, 1);
}

const char *tg_linked_library(WbbArena *a)
{
    const char *folder = wbb_cache_folder(a);
    return folder ? wbb_format(a, "%s/assembler/libnvptxcompiler.so", folder) : NULL;
}

const char *tg_find_kind(WbbCx *cx, WbbArena *a, TgAssemblerKind kind)
{
    const char *linked = tg_linked_library(a);
    switch (kind) {
    case TG_NVPTXCOMPILER: return linked && wbb_file_exists(linked) ? linked : NULL;
    case TG_PTXAS: return find_ptxas(cx, a);
    case TG_NVJITLINK: return find_library(cx, a, jitlink_names, WBB_LEN(jitlink_names));
    default: return NULL;
    }
}

/* What $WARPBURG_PTXAS names: a kind, which is then searched for, or a file. */
static TgAssembler named(WbbCx *cx, WbbArena *a, const char *own)
{
    for (int k = TG_NVPTXCOMPILER; k <= TG_NVJITLINK; k++)
        if (!strcmp(own, kind_name[k])) {
            const char *path = tg_find_kind(cx, a, (TgAssemblerKind)k);
            return (TgAssembler){.kind = path ? (TgAssemblerKind)k : TG_NO_ASSEMBLER, .path = path};
        }
    if (!wbb_file_exists(own)) return (TgAssembler){0};
    const char *slash = strrchr(own, '/'), *name = slash ? slash + 1 : own;
    const bool library = strstr(name, ".so") != NULL;
    return (TgAssembler){.kind = library && strstr(name, "nvptxcompiler") ? TG_NVPTXCOMPILER
                                 : library && strstr(name, "nvJitLink")   ? TG_NVJITLINK
                                                                          : TG_PTXAS,
                         .path = own};
}

/* What to do where nothing was found. */
static const char *advice(WbbCx *cx, WbbArena *a, const char *own)
{
    if (own) return wbb_format(a, "ptxas was not found: WARPBURG_PTXAS is %s", own);
    if (tg_find_archive(cx, a))
        return "ptxas was not found; `warpburg assembler --link` makes an assembler of the archive of nvPTXCompiler "
               "that is there, and `pip install nvidia-cuda-nvcc` has it";
    return "ptxas was not found; `pip install nvidia-cuda-nvcc` has it, or set WARPBURG_PTXAS or PATH";
}

/* $WARPBURG_PTXAS; NULL: it is not set. What it asks for has no fallback. */
static const char *asked_for(void)
{
    const char *own = getenv("WARPBURG_PTXAS");
    return own && *own ? own : NULL;
}

/* The first assembler of kind `from` or a later one. */
static TgAssembler first_from(WbbCx *cx, WbbArena *a, int from)
{
    for (int k = from; k <= TG_NVJITLINK; k++) {
        const char *path = tg_find_kind(cx, a, (TgAssemblerKind)k);
        if (path) return (TgAssembler){.kind = (TgAssemblerKind)k, .path = path};
    }
    return (TgAssembler){0};
}

TgAssembler tg_find_assembler(WbbCx *cx, WbbArena *a)
{
    const char *own = asked_for();
    TgAssembler found = own ? named(cx, a, own) : first_from(cx, a, TG_NVPTXCOMPILER);
    if (!found.path) found.missing = advice(cx, a, own);
    return found;
}

TgAssembler tg_loadable_assembler(WbbCx *cx, WbbArena *a)
{
    TgAssembler x = tg_find_assembler(cx, a);
    const char *missing = NULL, *why;
    while (x.path && x.kind != TG_PTXAS && !tg_library_version(a, &x, &why)) {
        if (!missing) missing = wbb_format(a, "%s cannot be loaded: %s", x.path, why);
        x = asked_for() ? (TgAssembler){0} : first_from(cx, a, (int)x.kind + 1);
    }
    if (!x.path && missing) x.missing = missing;
    return x;
}

const char *tg_assembler_name(TgAssemblerKind kind) { return kind_name[kind]; }

const char *tg_find_ptxas(WbbCx *cx, WbbArena *a)
{
    const char *own = asked_for();
    if (!own || !strcmp(own, kind_name[TG_PTXAS])) return find_ptxas(cx, a);
    const TgAssembler x = named(cx, a, own);
    return x.kind == TG_PTXAS ? x.path : x.path ? find_ptxas(cx, a) : NULL;
}

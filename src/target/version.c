/* version.c: which version an assembler is: for people, and for keys of caches.
 *
 * Needs an assembler that assembler.c has found; leaves text.
 *
 *     "release 13.0, V13.0.88"     "ptxas /usr/local/cuda/bin/ptxas 36413424 1755655932.000000000 "
 */
#include "target/assembler.h"

#include <string.h>
#include <sys/stat.h>

const char *tg_version_of(WbbCx *cx, WbbArena *a, const TgAssembler *x)
{
    if (x->kind == TG_NO_ASSEMBLER) return "none";
    if (x->kind != TG_PTXAS) {
        const char *why, *version = tg_library_version(a, x, &why);
        return version ? wbb_format(a, "%s %s", tg_assembler_name(x->kind), version)
                       : wbb_format(a, "cannot be loaded: %s", why);
    }
    const char *const argv[] = {x->path, "--version", NULL};
    char *output = NULL;
    if (wbb_run_process(cx, a, argv, 20, &output).status != 0) return "none";
    const char *at = strstr(output, "release ");
    return wbb_format(a, "%.*s", (int)strcspn(at ? at : output, "\n"), at ? at : output);
}

const char *tg_assembler_identity(WbbCx *cx, WbbArena *a, const TgAssembler *x)
{
    enum { SCRIPT = 1 << 16 }; /* ptxas is larger */
    struct stat st;
    if (!x->path || stat(x->path, &st) != 0) return "none";
    const char *version = st.st_size < SCRIPT ? tg_version_of(cx, a, x) : "";
    return wbb_format(a, "%s %s %lld %lld.%09ld %s", tg_assembler_name(x->kind), x->path, (long long)st.st_size,
                      (long long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec, version);
}

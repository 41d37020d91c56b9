/* cubin.c: machine code that is kept from run to run (base/store.h).
 *
 * Needs PTX; leaves a cubin, from the store where it is there, else of tg_assemble.
 *
 *     key: the PTX, the architecture, the assembler      the bytes of the cubin
 */
#include "pipe/pipe.h"

#include <string.h>

TgCubin pipe_cubin(WbbCx *cx, WbbArena *a, WbbStore *store, const TgTarget *t, const char *ptx, const char *name)
{
    const char *key = NULL;
    char *bytes;
    size_t n;
    TgAssembler with = {0};
    if (store) {
        with = tg_find_assembler(cx, a);
        key = wbb_format(a, "cubin 1\n%s\n%s\n%s", tg_assembler_identity(cx, a, &with), t->name, ptx);
        if (with.kind != TG_NO_ASSEMBLER && wbb_store_find(cx, a, store, key, &bytes, &n))
            return (TgCubin){.bytes = (const uint8_t *)bytes, .n = n};
    }
    const TgCubin c = tg_assemble(cx, a, t, ptx, name);
    const bool by_another = c.by && with.path && strcmp(c.by, with.path) != 0; /* `with` cannot be loaded */
    if (key && c.bytes && !by_another) wbb_store_keep(cx, a, store, key, c.bytes, c.n);
    return c;
}

/* names.c: what the kernel, its functions and its variables are called.
 *
 *     fusion.1 => fusion_1    7x => _7x    the first `d` of a kernel => d, later ones => d7: numbers count all names
 */
#include "emit/inner.h"

#include <string.h>

/* `_` alone is a register of PTX that takes what is not needed. */
const char *emit_identifier(WbbArena *a, const char *wish)
{
    if (!strcmp(wish, "_")) return "kernel";
    char *name = wbb_format(a, "%s%s", *wish >= '0' && *wish <= '9' ? "_" : "", wish);
    for (char *c = name; *c; c++) {
        const bool fine = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (!fine) *c = '_';
    }
    return name;
}

const char *emit_name(EmitValues *e, const char *stem)
{
    const uint32_t letter = stem[1] ? 0 : 1u << (*stem - 'a');
    const bool first = letter & ~e->letters;
    e->letters |= letter;
    return first ? stem : wbb_format(e->arena, "%s%u", stem, ++e->n_names);
}

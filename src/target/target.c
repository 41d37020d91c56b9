/* target.c: finds a target by name, and its tuning numbers.
 *
 * Needs the generated tables; leaves nothing. tg_targets.h lists the targets; gen/ makes it from the files of
 * patterns/.
 *
 *     tg_tune(tg_find("sm_90"), "loop.unroll", 16)->value    // 8, because 16-byte accesses
 */
#include "target/target.h"

#include <string.h>

#include "tg_targets.h" /* TG_TARGETS(X) X(sm80) X(sm90) */

#define DECLARE(name) extern const TgTarget tg_##name;
TG_TARGETS(DECLARE)
#undef DECLARE

#define ADDRESS(name) &tg_##name,
static const TgTarget *const targets[] = {TG_TARGETS(ADDRESS)};
#undef ADDRESS

const TgTarget *const *tg_all(uint32_t *n)
{
    *n = (uint32_t)WBB_LEN(targets);
    return targets;
}

const TgTarget *tg_find(const char *name)
{
    for (size_t i = 0; i < WBB_LEN(targets); i++)
        if (strcmp(targets[i]->name, name) == 0) return targets[i];
    return NULL;
}

const TgTune *tg_tune(const TgTarget *t, const char *name, uint32_t bits)
{
    const TgTune *any = NULL;
    for (uint32_t i = 0; i < t->n_tunes; i++) {
        const TgTune *tune = &t->tunes[i];
        if (strcmp(tune->name, name) != 0) continue;
        if (tune->bits == bits) return tune;
        if (tune->bits == 0) any = tune;
    }
    assert(any && "a tuning number that the target's file lacks");
    return any;
}

/* fuse.c: every computation that runs, cut into parts, and equal parts counted.
 *
 * Needs a verified, normalised module; leaves its parts. What runs is the entry and the bodies of loops and branches that it reaches;
 * computations that are applied to elements (of a reduce, a sort) belong to their kernel.
 *
 *     while(..), body=layer        the parts of `layer` count once for each while that names it
 */
#include "fuse/fuse.h"

#include <string.h>

typedef struct {
    const char *text; /* interned */
    uint32_t part;
} Slot;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    FuseParts parts;
    Slot *texts, *names; /* open addressing, by pointer: texts and names are interned */
    uint32_t capacity;
} Cut;

static uint32_t slot_of(const Slot *table, uint32_t capacity, const char *text)
{
    uint32_t at = (uint32_t)wbb_hash(&text, sizeof text, 0) & (capacity - 1);
    while (table[at].text && table[at].text != text) at = (at + 1) & (capacity - 1);
    return at;
}

/* Letters, digits, '_', '.', '-': what a file may be called, too. */
static const char *unique_name(Cut *u, const char *name)
{
    char *clean = wbb_format(u->arena, "%s", name);
    for (char *p = clean; *p; p++) {
        const bool fine = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '.' || *p == '-';
        if (!fine) *p = '_';
    }
    const char *wish = wbb_intern_z(u->cx, clean);
    for (uint32_t n = 2; u->names[slot_of(u->names, u->capacity, wish)].text; n++) wish = wbb_intern_z(u->cx, wbb_format(u->arena, "%s.%u", clean, n));
    u->names[slot_of(u->names, u->capacity, wish)].text = wish;
    return wish;
}

static void add(Cut *u, const HloInstruction *i, const char *text, bool library, uint64_t times)
{
    const char *key = wbb_intern_z(u->cx, text);
    Slot *s = &u->texts[slot_of(u->texts, u->capacity, key)];
    if (s->text) {
        u->parts.items[s->part].count += times;
        return;
    }
    *s = (Slot){key, u->parts.n};
    const FusePart part = {.name = unique_name(u, i->name), .text = library ? NULL : key, .at = i, .count = times};
    WBB_PUSH(u->arena, &u->parts, part);
}

static void cut(Cut *u, const HloComputation *c, uint64_t *times)
{
    const FuseRole *roles = fuse_decide(u->arena, c);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (roles[k] == FUSE_ROOT || roles[k] == FUSE_FIXED) {
            WbbArena *scratch = wbb_arena_new(u->cx);
            add(u, i, fuse_write(scratch, c, roles, i), false, times[c->id]);
            wbb_arena_free(scratch);
        } else if (roles[k] == FUSE_LIBRARY) {
            add(u, i, fuse_write_call(u->arena, i), true, times[c->id]);
        } else if (roles[k] == FUSE_CONTROL) {
            for (uint32_t j = 0; j < i->n_called; j++) {
                uint64_t *sum = &times[i->called[j]->id];
                if (__builtin_add_overflow(*sum, times[c->id], sum)) *sum = UINT64_MAX;
            }
        }
    }
}

FuseParts fuse_parts(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    uint32_t n = 0, capacity = 16;
    for (uint32_t k = 0; k < m->n_computations; k++) n += m->computations[k]->n_instructions;
    while (capacity < 2 * n) capacity *= 2;
    Cut u = {.cx = cx, .arena = a, .texts = WBB_NEW_N(a, Slot, capacity), .names = WBB_NEW_N(a, Slot, capacity), .capacity = capacity};
    uint64_t *times = WBB_NEW_N(a, uint64_t, m->n_computations + 1);
    times[m->entry->id] = 1;
    for (uint32_t k = m->n_computations; k-- > 0;) /* callers stand behind callees */
        if (times[k]) cut(&u, m->computations[k], times);
    return u.parts;
}

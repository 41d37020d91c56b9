/* map: the hash map, for whatever is looked up by a number, a pointer or a byte string.
 *
 * Needs: arena.c. Leaves: entries in the order in which their keys were added, each with one word of the caller's.
 *
 * Entries lie side by side. `slots` is an open-addressing table of their numbers: 4 bytes a slot and at least two slots
 * an entry, so clearing and growing touch little memory. A slot holds the number of an entry plus one in its low bits,
 * as many as the size of the table needs, and above them the same bits of the entry's hash; so a search reads hardly
 * any entry but the right one. 0 is a free slot. No key is ever removed.
 *
 *     WbbMap lines = {.arena = arena};
 *     wbb_map_put(&lines, wbb_key(name))->value = 7;        // interned names compare with ==
 *     const WbbEntry *e = wbb_map_get(&lines, wbb_key(name));
 *     e->value                                              // 7; e is NULL where there is no such key
 */
#include "base/base.h"
#include "base/inner.h"

#include <string.h>

enum { FIRST_SLOTS = 16 };

/* The key of an entry of a map of byte strings. */
typedef struct {
    size_t n;
    uint32_t hash;
    char bytes[]; /* [n], then a NUL */
} Bytes;

static const Bytes *bytes_of(const WbbEntry *e) { return (const Bytes *)(uintptr_t)e->key; }

/* Multiplication carries bits upwards only, so the high half of a key goes into the low one first. */
static uint32_t hash_number(uint64_t key)
{
    return (uint32_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static uint32_t hash_bytes(const void *bytes, size_t n) { return (uint32_t)wbb_hash(bytes, n, 0); }

/* The slot of a number, or the free one where it belongs; the map has slots. */
static uint32_t *find_number(const WbbMap *m, uint32_t hash, uint64_t key)
{
    const uint32_t low = m->n_slots - 1;
    for (uint32_t k = hash;; k++) {
        uint32_t *slot = &m->slots[k & low];
        if (*slot == 0 || (((*slot ^ hash) & ~low) == 0 && m->entries[(*slot & low) - 1].key == key)) return slot;
    }
}

static uint32_t *find_bytes(const WbbMap *m, uint32_t hash, const void *bytes, size_t n)
{
    const uint32_t low = m->n_slots - 1;
    for (uint32_t k = hash;; k++) {
        uint32_t *slot = &m->slots[k & low];
        if (*slot == 0) return slot;
        if ((*slot ^ hash) & ~low) continue;
        const Bytes *other = bytes_of(&m->entries[(*slot & low) - 1]);
        if (other->n == n && (n == 0 || memcmp(other->bytes, bytes, n) == 0)) return slot;
    }
}

static uint32_t hash_entry(const WbbMap *m, const WbbEntry *e)
{
    return m->of_bytes ? bytes_of(e)->hash : hash_number(e->key);
}

/* Entries for `n_slots` / 2 keys; every slot is made anew. */
static void grow(WbbMap *m, uint32_t n_slots)
{
    uint32_t *slots = WBB_NEW_N(m->arena, uint32_t, n_slots);
    const size_t bytes = wbb_mul_size(m->arena, n_slots / 2, sizeof *m->entries);
    m->entries = wbb_grow(m->arena, m->entries, m->n * sizeof *m->entries, bytes);
    m->slots = slots;
    m->n_slots = n_slots;
    for (uint32_t i = 0; i < m->n; i++) {
        const uint32_t hash = hash_entry(m, &m->entries[i]);
        uint32_t k = hash & (n_slots - 1);
        while (slots[k]) k = (k + 1) & (n_slots - 1);
        slots[k] = (hash & ~(n_slots - 1)) | (i + 1);
    }
}

void wbb_map_reserve(WbbMap *m, uint32_t n)
{
    uint32_t n_slots = m->n_slots ? m->n_slots : FIRST_SLOTS;
    if (n >= UINT32_C(1) << 30) wbb_fail(wbb_arena_cx(m->arena), (WbbLoc){0}, "out of memory: a map of %u keys", n);
    while (n_slots / 2 <= n) n_slots *= 2; /* a number plus one needs no more bits than the number of a slot */
    if (n_slots > m->n_slots) grow(m, n_slots);
}

static WbbEntry *add(WbbMap *m, uint32_t *slot, uint32_t hash, uint64_t key)
{
    WbbEntry *e = &m->entries[m->n++];
    *e = (WbbEntry){.key = key};
    *slot = (hash & ~(m->n_slots - 1)) | m->n;
    return e;
}

WbbEntry *wbb_map_get(const WbbMap *m, uint64_t key)
{
    assert(!m->of_bytes);
    if (m->n == 0) return NULL;
    const uint32_t slot = *find_number(m, hash_number(key), key);
    return slot ? &m->entries[(slot & (m->n_slots - 1)) - 1] : NULL;
}

WbbEntry *wbb_map_put(WbbMap *m, uint64_t key)
{
    assert(!m->of_bytes);
    if (2 * (m->n + 1) >= m->n_slots) wbb_map_reserve(m, m->n + 1);
    const uint32_t hash = hash_number(key);
    uint32_t *slot = find_number(m, hash, key);
    return *slot ? &m->entries[(*slot & (m->n_slots - 1)) - 1] : add(m, slot, hash, key);
}

WbbEntry *wbb_map_get_bytes(const WbbMap *m, const void *bytes, size_t n)
{
    if (m->n == 0) return NULL;
    assert(m->of_bytes);
    const uint32_t slot = *find_bytes(m, hash_bytes(bytes, n), bytes, n);
    return slot ? &m->entries[(slot & (m->n_slots - 1)) - 1] : NULL;
}

WbbEntry *wbb_map_put_bytes(WbbMap *m, const void *bytes, size_t n)
{
    assert(m->of_bytes || m->n == 0);
    m->of_bytes = true;
    if (2 * (m->n + 1) >= m->n_slots) wbb_map_reserve(m, m->n + 1);
    const uint32_t hash = hash_bytes(bytes, n);
    uint32_t *slot = find_bytes(m, hash, bytes, n);
    if (*slot) return &m->entries[(*slot & (m->n_slots - 1)) - 1];
    Bytes *key = wbb_alloc(m->arena, sizeof *key + n + 1);
    key->n = n;
    key->hash = hash;
    if (n) memcpy(key->bytes, bytes, n);
    return add(m, slot, hash, (uint64_t)(uintptr_t)key);
}

const char *wbb_map_text(const WbbEntry *e) { return bytes_of(e)->bytes; }

/* Clears from where each key would stand to the next free slot. That costs what the map holds, not what it has capacity
 * for: a map that was large once may be cleared for each of many small uses. */
void wbb_map_clear(WbbMap *m)
{
    const uint32_t low = m->n_slots - 1;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = hash_entry(m, &m->entries[i]) & low; m->slots[k]; k = (k + 1) & low) m->slots[k] = 0;
    m->n = 0;
}

const char *wbb_unique_name(WbbCx *cx, WbbMap *names, const char *stem, const char *ending, uint32_t first)
{
    const char *wish = wbb_intern_z(cx, wbb_format(names->arena, "%s%s", stem, ending)), *name = wish;
    const uint32_t before = names->n;
    const WbbEntry *e = wbb_map_put(names, wbb_key(wish));
    uint64_t next = WBB_MAX(e->value, first);
    while (names->n == before) {
        name = wbb_intern_z(cx, wbb_format(names->arena, "%s.%llu%s", stem, (unsigned long long)next++, ending));
        wbb_map_put(names, wbb_key(name));
    }
    if (name != wish) wbb_map_get(names, wbb_key(wish))->value = next;
    return name;
}

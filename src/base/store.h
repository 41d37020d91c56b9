/* store.h: bytes that are kept from run to run, by content.
 *
 * An entry has a key, a text with all that it depends on, which is kept and compared whole: two keys with one hash cost
 * work and never a wrong result. Several processes and threads may use a folder at once, each with a store of its own.
 * An entry is written under another name and renamed: readers see a whole entry or none, and of two writers either may
 * win. Where the folder cannot be made or written, where the disk is full, or where an entry is damaged, nothing is
 * found or kept, and nobody is told.
 *
 *     WbbStore *s = wbb_store_open(cx, arena, wbb_cache_folder(arena), 0);
 *     if (!wbb_store_find(cx, arena, s, key, &bytes, &n)) wbb_store_keep(cx, arena, s, key, bytes, n);
 *     wbb_store_close(cx, s);
 */
#ifndef WBB_STORE_H
#define WBB_STORE_H

#include "base/base.h"

typedef struct WbbStore WbbStore;

/* `limit`: bytes of all entries, 0: $WARPBURG_CACHE_LIMIT MiB, else 1024. NULL where `folder` is; a store that is NULL
 * finds and keeps nothing. */
WbbStore *wbb_store_open(WbbCx *cx, WbbArena *a, const char *folder, uint64_t limit);
bool wbb_store_find(WbbCx *cx, WbbArena *a, WbbStore *s, const char *key, char **bytes, size_t *n); /* NUL behind */
void wbb_store_keep(WbbCx *cx, WbbArena *a, WbbStore *s, const char *key, const void *bytes, size_t n);
/* Removes the entries that were used least recently until the others are within the limit, if this store kept any. One
 * process does so at a time, and not again within ten minutes unless a store has kept a 64th of the limit: so much may
 * each process be above it. */
void wbb_store_close(WbbCx *cx, WbbStore *s);
const char *wbb_store_folder(const WbbStore *s);
uint64_t wbb_store_limit(const WbbStore *s);

typedef struct {
    uint64_t entries, bytes;
} WbbStoreSize;
WbbStoreSize wbb_store_size(WbbCx *cx, const WbbStore *s);
void wbb_store_empty(WbbCx *cx, const WbbStore *s); /* entries that are in use elsewhere are removed as well */

/* The name of an entry: 32 hexadecimal digits. It lies in the folder named by the first two. */
const char *wbb_store_name(WbbArena *a, const char *key);
/* Of a folder with such entries in any form: removes the least recently used ones above the limit. */
void wbb_store_trim(WbbCx *cx, const char *folder, uint64_t limit);
/* What tells this build of warpburg, its tables inside, from every other one: the linker's build id of the program or
 * library, and of LLVM's where that is another file. */
const char *wbb_code_identity(WbbArena *a);

#endif

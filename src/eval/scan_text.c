/* scan_text: the text of the order in which the threads of a kernel combine prefixes or suffixes.
 *
 * Needs: text of any kind. Leaves: the digits of a position of the scanned dimension, the lowest first; scan_order.c
 * says what they mean.
 *
 *     text = "scan" ["in" TYPE] ["from the last"] {";" ("thread" | "lane" | "warp" | "loop") NUMBER}
 *
 *     scan in f32; thread 4; lane 32; loop 8      1024 positions
 */
#include "eval/inner.h"

#include <string.h>

static bool take(const char **p, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(*p, word, n)) return false;
    *p += n;
    return true;
}

const EvScan *ev_scan_parse(WbbArena *arena, const char *text)
{
    static const char *const names[] = {"; thread ", "; lane ", "; warp ", "; loop "};
    const char *p = text;
    EvScan s = {.text = text, .thread = 1, .lane = 1, .warp = 1, .loop = 1};
    int64_t *const sizes[] = {&s.thread, &s.lane, &s.warp, &s.loop};
    if (!take(&p, "scan")) return NULL;
    if (take(&p, " in ")) {
        const size_t n = strcspn(p, " ;");
        s.type = sc_type_named(p, n);
        if (!sc_is_float(s.type)) return NULL;
        p += n;
    }
    s.from_last = take(&p, " from the last");
    int64_t positions = 1;
    for (uint32_t k = 0; k < WBB_LEN(names); k++) {
        if (!take(&p, names[k])) continue;
        int64_t n = 0;
        for (; *p >= '0' && *p <= '9' && n < (int64_t)1 << 40; p++) n = 10 * n + (*p - '0');
        if (n < 1 || positions > ((int64_t)1 << 48) / n) return NULL;
        *sizes[k] = n, positions *= n;
    }
    if (*p) return NULL;
    EvScan *made = WBB_NEW(arena, EvScan);
    *made = s;
    return made;
}

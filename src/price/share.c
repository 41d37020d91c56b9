/* share: the time of a kernel by line of PTX, by rule, by HLO instruction and by form.
 *
 * Needs: a report, whose sites point into the PTX text. Leaves: shares, which sum to 1.
 *
 * A comment at the end of a line says what made it: `// RULE <- %INSTRUCTION`, or `// WHAT` where no instruction of the
 * HLO text stands behind it. PTX of other compilers has no such comments; its lines fall under "-".
 *
 *     add.rn.bf16x2 %r39, %r25, %r38;    // patterns/tiles.py:9 add.bf16x2 <- %inner
 *     ->   line "add.rn.bf16x2 %r39, %r25, %r38;", rule "patterns/tiles.py:9 add.bf16x2", instruction "%inner"
 */
#include "price/price.h"

#include <stdlib.h>
#include <string.h>

const char *const price_key_name[PRICE_KEYS] = {"line", "rule", "instruction", "form"};

static const char *cut(WbbArena *a, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    return wbb_format(a, "%.*s", (int)(end - at), at);
}

/* The line of a text that a place in it is on. */
typedef struct {
    const char *start, *comment, *end; /* comment: its "//", or `end` */
} Line;

static Line line_of(const char *start, const char *place)
{
    Line l = {.start = place};
    while (l.start > start && l.start[-1] != '\n') l.start--;
    l.end = place + strcspn(place, "\n");
    l.comment = place;
    while (l.comment < l.end && !(l.comment[0] == '/' && l.comment[1] == '/')) l.comment++;
    return l;
}

static const char *key_of(WbbArena *a, const PriceSite *s, const Line *l, PriceKey key)
{
    const char *arrow = NULL;
    for (const char *p = l->comment; p + 4 <= l->end && !arrow; p++)
        if (!strncmp(p, " <- ", 4)) arrow = p;
    if (key == PRICE_BY_FORM) return s->form;
    if (key == PRICE_BY_LINE) return cut(a, l->start, l->comment);
    if (l->comment == l->end || (key == PRICE_BY_HLO && !arrow)) return "-";
    return key == PRICE_BY_HLO ? cut(a, arrow + 4, l->end) : cut(a, l->comment + 2, arrow ? arrow : l->end);
}

static int by_seconds(const void *x, const void *y)
{
    const PriceShare *p = x, *q = y;
    if (p->seconds != q->seconds) return p->seconds < q->seconds ? 1 : -1;
    return strcmp(p->name, q->name);
}

uint32_t price_shares(WbbArena *a, const PriceReport *r, PriceKey key, PriceShare **out)
{
    PriceShare *shares = WBB_NEW_N(a, PriceShare, r->n_sites + 1);
    WbbMap seen = {.arena = a};
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->n_sites; k++) {
        const PriceSite *s = &r->sites[k];
        if (!*s->site->name) continue;
        const Line l = line_of(r->text, s->site->text);
        const char *name = key_of(a, s, &l, key);
        WbbEntry *e = key == PRICE_BY_LINE ? wbb_map_put(&seen, (uint64_t)s->site->line)
                                           : wbb_map_put_bytes(&seen, name, strlen(name));
        if (!e->value) {
            shares[n++] = (PriceShare){.name = name, .site = s};
            e->value = n;
            if (key == PRICE_BY_LINE) {
                shares[n - 1].what = l.comment == l.end ? "" : cut(a, l.comment + 2, l.end);
                shares[n - 1].line = s->site->line;
            }
        }
        PriceShare *to = &shares[e->value - 1];
        to->executed += s->executed;
        to->seconds += s->seconds;
    }
    for (uint32_t k = 0; k < n; k++) shares[k].share = r->work > 0 ? shares[k].seconds / r->work : 0;
    if (key != PRICE_BY_LINE) qsort(shares, n, sizeof *shares, by_seconds);
    *out = shares;
    return n;
}

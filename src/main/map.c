/* map.c: `map 'TEXT'`: an index map, simplified and printed.
 *
 * `--op NAME` transforms the map, `--compose 'TEXT2'` applies TEXT2 to its results. `--enumerate` lists points and
 * values. `--check` compares the map as written with the simplified one, at every point or at --samples N of them.
 * `--files-from FILE` reads a map from each line and prints an answer a line. `--hlo FILE`: map_hlo.c.
 *
 *     warpburg map '(d0) -> ((d0 * 8 + 3) / 4), domain: d0 in [0, 9]'
 *     (d0) -> (d0 * 2), domain: d0 in [0, 9]
 */
#include "hlo/hlo.h"
#include "index/index.h"
#include "main/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 1 << 20, LISTED = 1 << 20 }; /* points at most, where --samples is not given */

static IxMap *read_map(RwCx *rw, WbbArena *a, const char *text)
{
    return ix_map_parse(rw, a, "map", text, strlen(text));
}

static void put_map(WbbArena *a, IrGraph *g, const IxMap *m, bool json)
{
    WbbBuf b = wbb_buf(a);
    if (json) ix_map_json(&b, NULL, g, m);
    else ix_map_print(&b, g, m);
    puts(b.text);
}

static void put_point(WbbArena *a, const char *point, const char *values, bool json)
{
    WbbBuf b = wbb_buf(a);
    if (json) {
        wbb_json_open(&b, NULL, '{');
        wbb_json_text(&b, "point", point);
        wbb_json_text(&b, "values", values);
        wbb_json_end(&b, "map.1");
    } else {
        wbb_putf(&b, "%s -> %s", point, values);
    }
    puts(b.text);
}

static WbbStatus enumerate(WbbCx *cx, WbbArena *a, const IrGraph *g, const IxMap *m, const MapOptions *o)
{
    const uint64_t box = ix_map_box(m), most = o->samples ? (uint64_t)o->samples : LISTED;
    if (box > most && !o->samples)
        wbb_fail(cx, (WbbLoc){.file = "map"},
                 "the intervals hold %llu points or more; --samples N lists values at the first N",
                 (unsigned long long)box);
    int64_t *values = WBB_NEW_N(a, int64_t, m->results.n + 1u);
    uint64_t listed = 0;
    if (m->state == IX_UNKNOWN) wbb_fail(cx, (WbbLoc){.file = "map"}, "an undefined map has no values");
    for (IxWalk w = ix_walk(a, m, UINT64_MAX, 0); listed < most && ix_walk_next(&w);) {
        const IxValue v = ix_map_eval(g, m, w.point, values);
        if (v == IX_OUTSIDE) continue;
        WbbBuf point = wbb_buf(a), value = wbb_buf(a);
        ix_put_point(&point, m, w.point);
        if (v == IX_INSIDE) ix_put_values(&value, values, m->results.n);
        else wbb_put(&value, "outside 64 bits");
        put_point(a, point.text, value.text, o->json);
        listed++;
    }
    return WBB_OK;
}

static WbbStatus check(WbbArena *a, IrGraph *g, const IxMap *written, const IxMap *simplified, const MapOptions *o)
{
    uint64_t compared = 0;
    const uint64_t most = o->samples ? (uint64_t)o->samples : CHECKED;
    const char *differ = ix_map_differ(a, g, written, simplified, most, (uint64_t)o->seed, &compared);
    if (o->json) {
        WbbBuf b = wbb_buf(a);
        wbb_json_open(&b, NULL, '{');
        wbb_json_text(&b, "status", differ ? "wrong" : "ok");
        wbb_json_uint(&b, "compared", compared);
        wbb_json_bool(&b, "all", ix_map_box(written) <= most);
        if (differ) wbb_json_text(&b, "first", differ);
        wbb_json_end(&b, "map.1");
        puts(b.text);
    } else {
        put_map(a, g, simplified, false);
        if (differ) printf("wrong: %s\n", differ);
        else
            printf("%llu points agree%s\n", (unsigned long long)compared,
                   ix_map_box(written) <= most ? ", all points of the domain" : "");
    }
    return differ ? WBB_CHECK : WBB_OK;
}

/* --- transforms ------------------------------------------------------------------------------- */
static const char *const op_names =
    "read, simplify, keep-points, remove-unused-vars, remove-unused-symbols, rescale-symbols, symbols-to-dimensions or "
    "ranges-to-dimensions(I,..), any of them with +simplify behind it; union of several texts";

/* `list` is "0,2)". */
static IxMap *ranges_to_dimensions(WbbCx *cx, RwCx *rw, WbbArena *a, const IxMap *m, const char *list)
{
    uint32_t numbers[64], n = 0;
    for (const char *p = list; n < WBB_LEN(numbers);) {
        char *end;
        const unsigned long number = strtoul(p, &end, 10);
        if (end == p || number >= 1000) break;
        numbers[n++] = (uint32_t)number;
        if (*end == ')' && !end[1]) return ix_map_ranges_to_dimensions(rw, a, m, numbers, n);
        if (*end != ',') break;
        p = end + 1;
    }
    wbb_fail(cx, (WbbLoc){0},
             "--op ranges-to-dimensions(%s: numbers of ranges in brackets expected, as in ranges-to-dimensions(0,2)",
             list);
}

/* The map that the operation `op` makes; NULL: no such operation. */
static IxMap *transformed(WbbCx *cx, RwCx *rw, WbbArena *a, const IxMap *m, const char *op)
{
    static const char ranges[] = "ranges-to-dimensions(";
    const char *then = strstr(op, "+simplify");
    if (then && !then[strlen("+simplify")]) {
        const IxMap *made = transformed(cx, rw, a, m, wbb_format(a, "%.*s", (int)(then - op), op));
        return made ? ix_map_simplify(rw, a, made, false) : NULL;
    }
    if (!strcmp(op, "read")) return ix_map_copy(a, m);
    if (!strcmp(op, "simplify")) return ix_map_simplify(rw, a, m, false);
    if (!strcmp(op, "keep-points")) return ix_map_simplify(rw, a, m, true);
    if (!strcmp(op, "remove-unused-vars")) return ix_map_remove_unused(rw, a, m, true);
    if (!strcmp(op, "remove-unused-symbols")) return ix_map_remove_unused(rw, a, m, false);
    if (!strcmp(op, "rescale-symbols")) return ix_map_rescale_symbols(rw, a, m);
    if (!strcmp(op, "symbols-to-dimensions")) return ix_map_symbols_to_dimensions(rw, a, m);
    if (!strncmp(op, ranges, strlen(ranges))) return ranges_to_dimensions(cx, rw, a, m, op + strlen(ranges));
    return NULL;
}

static WbbStatus unite(RwCx *rw, WbbArena *a, IxMap **maps, uint32_t n, bool json)
{
    IxMap **made = WBB_NEW_N(a, IxMap *, n + 1u);
    const uint32_t made_maps = ix_map_union(rw, a, (const IxMap *const *)maps, n, made);
    for (uint32_t i = 0; i < made_maps; i++) put_map(a, rw_graph(rw), made[i], json);
    return WBB_OK;
}

/* {"bijection": "no", "why": ".."} */
static void put_answer(WbbArena *a, const char *key, const char *answer, const char *why)
{
    WbbBuf b = wbb_buf(a);
    wbb_json_open(&b, NULL, '{');
    wbb_json_text(&b, key, answer);
    wbb_json_text(&b, "why", why);
    wbb_json_end(&b, "map.1");
    puts(b.text);
}

static WbbStatus bijection(RwCx *rw, WbbArena *a, const IxMap *m, const MapOptions *o)
{
    static const char *const words[] = {[IX_NO] = "no", [IX_YES] = "yes", [IX_OPEN] = "open"};
    const char *why;
    const IxAnswer answer = ix_map_bijection(rw, a, m, o->samples ? (uint64_t)o->samples : CHECKED, &why);
    if (o->json) put_answer(a, "bijection", words[answer], why);
    else
        printf("%s: %s\n",
               answer == IX_YES  ? "a bijection"
               : answer == IX_NO ? "no bijection"
                                 : "not proved to be a bijection",
               why);
    return answer == IX_YES ? WBB_OK : WBB_CHECK;
}

static WbbStatus inverse(RwCx *rw, WbbArena *a, const IxMap *m, const MapOptions *o)
{
    const IxMap *made = ix_map_inverse(rw, a, m);
    if (made) {
        put_map(a, rw_graph(rw), made, o->json);
        return WBB_OK;
    }
    const char *why;
    const IxAnswer answer = ix_map_bijection(rw, a, m, CHECKED, &why);
    const bool twice = answer == IX_NO && strstr(why, " both give ");
    if (o->json) put_answer(a, "inverse", NULL, twice ? why : "none was found");
    else printf("no inverse%s%s\n", twice ? ": " : " was found", twice ? why : "");
    return WBB_CHECK;
}

/* --files-from: a map from each line, an answer a line: the map, or the message that refuses it. */
typedef struct {
    WbbArena *a;
    const MapOptions *o;
    const char *text;
    size_t n;
} Line;

static void one_line(WbbCx *cx, void *arg)
{
    const Line *l = arg;
    RwCx *rw = ix_engine(cx, l->a);
    IrGraph *g = rw_graph(rw);
    const IxMap *written = ix_map_parse(rw, l->a, "map", l->text, l->n),
                *m = transformed(cx, rw, l->a, written, l->o->op);
    if (!m) wbb_fail(cx, (WbbLoc){0}, "--op %s: %s expected", l->o->op, op_names);
    put_map(l->a, g, m, l->o->json);
}

static WbbStatus lines(WbbCx *cx, WbbArena *a, const MapOptions *o)
{
    size_t n;
    const char *text = wbb_read_file(cx, a, o->files_from, &n);
    WbbStatus worst = WBB_OK;
    for (const char *p = text, *end; p < text + n; p = end + 1) {
        end = memchr(p, '\n', (size_t)(text + n - p));
        if (!end) end = text + n;
        Line l = {.a = wbb_arena_new(cx), .o = o, .text = p, .n = (size_t)(end - p)};
        const WbbStatus s = wbb_guard(cx, one_line, &l);
        if (s != WBB_OK) printf("%s", cx->messages);
        if (s != WBB_OK) worst = s;
        wbb_cx_clear(cx);
        wbb_arena_free(l.a);
    }
    return worst;
}

static WbbStatus map(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const MapOptions *o = call->options;
    if (o->hlo) return main_map_hlo(call);
    if (o->files_from && o->texts.n == 0) return lines(cx, a, o);
    const bool several = !strcmp(o->op, "union");
    if (o->texts.n == 0 || (o->texts.n > 1 && !several))
        return main_usage(call, "the text of one map, or --hlo FILE, expected");
    RwCx *rw = ix_engine(cx, a);
    IrGraph *g = rw_graph(rw);
    IxMap **read = WBB_NEW_N(a, IxMap *, o->texts.n);
    for (uint32_t i = 0; i < o->texts.n; i++) read[i] = read_map(rw, a, o->texts.items[i]);
    if (several) return unite(rw, a, read, o->texts.n, o->json);
    const IxMap *written = read[0];
    if (o->compose) written = ix_map_compose(rw, a, written, read_map(rw, a, o->compose));
    if (o->inverse) return inverse(rw, a, written, o);
    if (o->bijection) return bijection(rw, a, written, o);
    const IxMap *m = transformed(cx, rw, a, written, o->op);
    if (!m) wbb_fail(cx, (WbbLoc){0}, "--op %s: %s expected", o->op, op_names);
    if (o->enumerate) return enumerate(cx, a, g, m, o);
    if (o->check) return check(a, g, written, m, o);
    put_map(a, g, m, o->json);
    return WBB_OK;
}

static const Positional positionals[] = {{ANY("TEXT", MapOptions, texts, "an index map; several with --op union")},
                                         {0}};
static const Option options[] = {
    {WORD("--op", MapOptions, op, "NAME", "make another map of it; docs/index-maps.md describes the operations"),
     .standard = "simplify",
     .choices = {.words = "read simplify keep-points remove-unused-vars remove-unused-symbols rescale-symbols "
                          "symbols-to-dimensions "
                          "ranges-to-dimensions(0) union",
                 .open = true}},
    {WORD("--compose", MapOptions, compose, "TEXT", "apply the map TEXT to the results")},
    {FLAG("--inverse", MapOptions, inverse, "print the map from the results back to the variables")},
    {FLAG("--bijection", MapOptions, bijection, "say whether different points have different values that fill a box")},
    {FLAG("--enumerate", MapOptions, enumerate, "print each point of the domain and its values")},
    {FLAG("--check", MapOptions, check, "compare the simplified map with the text as it is written")},
    {NUMBER("--samples", MapOptions, samples, "N", "points that --check and --enumerate visit at most")},
    MAIN_OPTION_SEED(MapOptions, "with --check: the points of a sample follow from N"),
    {WORD("--files-from", MapOptions, files_from, "FILE", "read a map from each line, and print an answer a line"),
     .value = VALUE_FILE},
    {WORD("--hlo", MapOptions, hlo, "FILE.hlo", "print the map of every operand of every instruction"),
     .value = VALUE_FILE},
    {FLAG("--uses", MapOptions, uses, "with --hlo: where the elements of operands go")},
    {FLAG("--physical", MapOptions, physical, "with --hlo: dimensions in the order of memory")},
    {WORD("--from", MapOptions, from, "NAME", "with --hlo and --to: between two instructions of one computation")},
    {WORD("--to", MapOptions, to, "NAME", "see --from")},
    MAIN_OPTION_JSON(MapOptions),
    {0}};
static const Example examples[] = {
    {"map '(d0) -> ((d0 * 8 + 3) / 4), domain: d0 in [0, 9]'", "the map, simplified"},
    {"map --hlo gelu.hlo --from root --to p0", "which elements of p0 an element of the root reads"},
    {0}};
const Command main_map = {
    .name = "map",
    .summary = "simplify, transform and check index maps",
    .details = "docs/index-maps.md describes the text of a map.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "with --hlo: an operation is not supported",
    .check = "--check found a difference, or there is no inverse or no bijection",
    .size = sizeof(MapOptions),
    .run = map,
};

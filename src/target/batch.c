/* batch.c: assembles many kernels in one run of the assembler.
 *
 * Needs the PTX of modules of one target; leaves one cubin for all of them, and the numbers that ptxas -v prints for
 * each. To begin takes ptxas as long as assembling a small kernel. So the texts become one module, in which each name
 * outside a function gets the number of its module as a prefix. If ptxas refuses the whole, each module is assembled
 * alone.
 *
 *     .visible .entry gelu( .. )      .visible .entry u7_gelu( .. )      tg_sass(cx, &unit.cubin, "u7_gelu")
 */
#include "target/assembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
static bool is_part(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

typedef struct {
    const char *p;
    size_t n;
} Word;

typedef struct {
    Word *items;
    uint32_t n, capacity;
} Words;

/* The end of a comment or a string at p; p itself if there is none. */
static const char *skip_text(const char *p)
{
    if (p[0] == '/' && p[1] == '/') return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '"') {
        const char *end = strchr(p + 1, '"');
        return end ? end + 1 : p + strlen(p);
    }
    return p;
}

/* The word at p, with the dot or percent sign that makes it a directive or a register. */
static Word word_at(const char *p)
{
    Word w = {p, 0};
    if (*p == '.' || *p == '%') w.n = 1;
    if (!is_letter(p[w.n]) && w.n == 0) return (Word){p, 0};
    while (is_part(p[w.n])) w.n++;
    return w;
}

static bool spells(Word w, const char *z) { return strlen(z) == w.n && memcmp(w.p, z, w.n) == 0; }

static bool listed(const Words *list, Word w)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].n == w.n && memcmp(list->items[i].p, w.p, w.n) == 0) return true;
    return false;
}

static bool declares(Word w)
{
    static const char *const directives[] = {".entry", ".func", ".global", ".const", ".shared", ".alias"};
    for (size_t i = 0; i < WBB_LEN(directives); i++)
        if (spells(w, directives[i])) return true;
    return false;
}

/* The names declared outside of functions: after a declaring directive the first word that is neither a directive nor
 * in brackets, as f in `.func (.param .b32 r) f(..)`. */
static Words outer_names(WbbArena *a, const char *ptx)
{
    Words names = {0};
    int braces = 0, brackets = 0;
    bool open = false; /* in a declaration, before its name */
    for (const char *p = ptx; *p;) {
        const char *end = skip_text(p);
        if (end != p) {
            p = end;
            continue;
        }
        braces += (*p == '{') - (*p == '}');
        brackets += (*p == '(') - (*p == ')');
        if (*p == ';' && braces == 0) open = false;
        const Word w = word_at(p);
        if (w.n == 0) {
            p += strcspn(p, "0123456789") == 0 ? strspn(p, "0123456789.xXabcdefABCDEF") : 1;
            continue;
        }
        if (braces == 0 && brackets == 0 && declares(w)) open = true;
        else if (open && braces == 0 && brackets == 0 && is_letter(*p)) {
            if (!listed(&names, w)) WBB_PUSH(a, &names, w);
            open = false;
        }
        p += w.n;
    }
    return names;
}

/* The text after `.version`, `.target` and `.address_size`. */
static const char *body_of(const char *ptx)
{
    const char *at = strstr(ptx, ".address_size");
    return at ? at + strcspn(at, "\n") : ptx;
}

/* Does a statement begin after c? Its first word is an operation, even if a kernel has that name. A brace after `=`
 * opens an initialiser. */
static bool opens_statement(char c, char before)
{
    return c == ';' || (c == '{' && before != '=') || c == '}' || c == ':';
}

static void put_renamed(WbbBuf *out, const char *text, const Words *names, uint32_t number)
{
    bool first = false, guard = false; /* the next word is the first of a statement, or its predicate */
    char before = 0;                   /* the last character that is not blank */
    for (const char *p = text; *p;) {
        const char *end = skip_text(p);
        if (end != p) {
            if (*p == '"') wbb_put_n(out, p, (size_t)(end - p)); /* comments are dropped */
            p = end;
            continue;
        }
        const Word w = word_at(p);
        if (w.n && !first && listed(names, w)) wbb_putf(out, "u%u_", number);
        if (w.n && !guard) first = false;
        if (w.n) guard = false;
        if (opens_statement(*p, before)) first = true;
        if (*p == ',') first = false; /* the brace before it closed a list of registers */
        if (*p == '@') guard = true;
        if (!strchr(" \t\n", *p)) before = *p;
        const size_t n = w.n ? w.n : strcspn(p, "0123456789") == 0 ? strspn(p, "0123456789.xXabcdefABCDEF") : 1;
        wbb_put_n(out, p, n);
        p += n;
    }
    wbb_put(out, "\n");
}

/* ptxas -v prints for each function its name, its stack frame and spills, and last its time:
 *     ptxas info    : Function properties for u0_gelu
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Compile time = 6.171 ms */
static void read_log(WbbArena *a, TgUnit *u, const char *entry, const char *log)
{
    const char *at = strstr(log, wbb_format(a, "Function properties for %s%s\n", u->prefix, entry));
    if (!at) return;
    const char *line = at + strcspn(at, "\n");
    static const char format[] = "%*u bytes stack frame, %u bytes spill stores, %u bytes spill loads";
    unsigned stores = 0, loads = 0;
    line += strcspn(line, "0123456789"); /* nvJitLink has `ptxas   .` before it */
    if (sscanf(line, format, &stores, &loads) == 2) {
        u->spill_stores += stores;
        u->spill_loads += loads;
    }
    const char *end = strstr(line, "Function properties for "), *time = strstr(line, "Compile time = ");
    if (time && (!end || time < end)) u->ms += strtod(time + strlen("Compile time = "), NULL);
}

/* Assemble all units in one run; false if the assembler refuses. */
static bool together(WbbCx *cx, WbbArena *a, const TgTarget *t, TgUnit *units, uint32_t n)
{
    WbbBuf text = wbb_buf(a);
    wbb_put_n(&text, units[0].ptx, (size_t)(body_of(units[0].ptx) - units[0].ptx));
    wbb_put(&text, "\n");
    for (uint32_t i = 0; i < n; i++) {
        const char *body = body_of(units[i].ptx);
        const Words names = outer_names(a, body);
        put_renamed(&text, body, &names, i);
        units[i].prefix = wbb_format(a, "u%u_", i);
    }
    const TgAssembly x = tg_run_assembler(cx, a, &(TgText){.ptx = text.text, .arch = t->name, .verbose = true});
    const bool refused = !x.cubin.bytes && !x.cubin.missing;
    if (refused && n > 1) return false;
    const char *why = x.ended ? wbb_format(a, "%s %s\n%s", x.by, x.ended, x.log) : x.log;
    for (uint32_t i = 0; i < n; i++) {
        units[i].cubin = x.cubin;
        units[i].refused = refused ? why : NULL;
        for (uint32_t k = 0; x.cubin.bytes && k < units[i].n_entries; k++)
            read_log(a, &units[i], units[i].entries[k], x.log);
    }
    return true;
}

void tg_assemble_all(WbbCx *cx, WbbArena *a, const TgTarget *t, TgUnit *units, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        units[i].prefix = "";
        units[i].refused = NULL;
    }
    if (n == 0 || together(cx, a, t, units, n)) return;
    for (uint32_t i = 0; i < n; i++) (void)together(cx, a, t, &units[i], 1);
}

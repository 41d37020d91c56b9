/* stats_ptx.c: facts of PTX text: the number of instructions and loops, and the bytes of global memory that a thread
 * accesses.
 *
 * Needs PTX as a compiler prints it; leaves counts over all functions of the text. A loop is a branch back to a label.
 * Its number of iterations is known if the counter that the branch tests starts at a constant, steps by a constant and
 * is compared with a constant:
 *
 *         mov.b32    %r9, 0;
 *     $L__BB0_1:
 *         ld.global.v4.b32 {..}, [%rd4];             16 bytes, 8 times
 *         add.s32    %r9, %r9, 1;
 *         setp.ne.b32 %p1, %r9, 8;
 *         @%p1 bra   $L__BB0_1;
 */
#include "report/stats.h"

#include <stdlib.h>
#include <string.h>

enum { NAME = 64, MOST_TRIPS = 1 << 30 };

/* One instruction; texts point into the PTX. */
typedef struct {
    const char *text; /* after its predicate */
    size_t n;
    const char *guard; /* "%p1" or "!%p1", else NULL */
    uint64_t trips;   /* how often a thread executes it: the product of its loops' iterations */
} Line;

typedef struct {
    const char *name;
    size_t n;
    uint32_t line; /* number of the line after it */
} Label;

typedef struct {
    struct { Line *items; uint32_t n, capacity; } lines;
    struct { Label *items; uint32_t n, capacity; } labels;
} Text;

static const char *skip_blanks(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n{}");
        if (p[0] != '/' || (p[1] != '/' && p[1] != '*')) return p;
        if (p[1] == '/') {
            p += strcspn(p, "\n");
        } else {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        }
    }
}

/* Skip a directive at p. Headers of functions and directives of a whole line do not end with ';'. */
static const char *skip_directive(const char *p)
{
    static const char *const whole_line[] = {".loc", ".file", ".version", ".target", ".address_size",
                                             ".maxn", ".reqn", ".minn"};
    static const char *const functions[] = {".visible", ".entry", ".func", ".weak"};
    for (size_t i = 0; i < WBB_LEN(whole_line); i++)
        if (strncmp(p, whole_line[i], strlen(whole_line[i])) == 0) return p + strcspn(p, "\n");
    const char *end = p + strcspn(p, ";{");
    for (size_t i = 0; i < WBB_LEN(functions); i++)
        if (strncmp(p, functions[i], strlen(functions[i])) == 0 && *end == '{') return end;
    end = p + strcspn(p, ";");
    return *end ? end + 1 : end;
}

static Text split(WbbArena *a, const char *ptx)
{
    Text t = {0};
    for (const char *p = skip_blanks(ptx); *p; p = skip_blanks(p)) {
        if (*p == '.') {
            p = skip_directive(p);
            continue;
        }
        const size_t word = strcspn(p, " \t\r\n;:");
        if (p[word] == ':') {
            const Label l = {p, word, t.lines.n};
            WBB_PUSH(a, &t.labels, l);
            p += word + 1;
            continue;
        }
        Line l = {.text = p, .n = strcspn(p, ";"), .trips = 1};
        const char *end = p + l.n;
        if (*p == '@') {
            l.guard = p + 1;
            l.text = p + strcspn(p, " \t");
            l.text += strspn(l.text, " \t");
            l.n = (size_t)(end - l.text);
        }
        WBB_PUSH(a, &t.lines, l);
        p = *end ? end + 1 : end;
    }
    return t;
}

static bool begins(const Line *l, const char *with)
{
    return l->n >= strlen(with) && strncmp(l->text, with, strlen(with)) == 0;
}

/* Copy operand k of an instruction to `out`, without blanks; "": there is none. */
static void operand(const Line *l, int k, char out[NAME])
{
    const char *p = l->text + strcspn(l->text, " \t"), *end = l->text + l->n;
    for (; k > 0 && p < end; p++) k -= *p == ',';
    size_t n = 0;
    for (; p < end && *p != ',' && n + 1 < NAME; p++)
        if (*p != ' ' && *p != '\t') out[n++] = *p;
    out[n] = 0;
}

static bool number(const char *text, int64_t *value)
{
    char *end;
    *value = strtoll(text, &end, 0);
    return *text && *end == 0;
}

/* The last of lines from..to (not included) that writes `name`; NULL if none. */
static const Line *writer(const Text *t, uint32_t from, uint32_t to, const char *name)
{
    char first[NAME];
    for (uint32_t k = to; k-- > from;) {
        operand(&t->lines.items[k], 0, first);
        if (strcmp(first, name) == 0) return &t->lines.items[k];
    }
    return NULL;
}

static bool holds(const char *comparison, int64_t x, int64_t y)
{
    if (strncmp(comparison, "ne", 2) == 0) return x != y;
    if (strncmp(comparison, "eq", 2) == 0) return x == y;
    if (strncmp(comparison, "lt", 2) == 0 || strncmp(comparison, "lo", 2) == 0) return x < y;
    if (strncmp(comparison, "le", 2) == 0 || strncmp(comparison, "ls", 2) == 0) return x <= y;
    if (strncmp(comparison, "gt", 2) == 0 || strncmp(comparison, "hi", 2) == 0) return x > y;
    return x >= y;
}

/* The number of iterations of the loop of lines begin..branch; 0: unknown. */
static uint32_t trips_of(const Text *t, uint32_t begin, uint32_t branch)
{
    const Line *back = &t->lines.items[branch];
    if (!back->guard) return 0;
    const bool negated = back->guard[0] == '!';
    char predicate[NAME] = {0}, counter[NAME], text[NAME];
    const size_t n = strcspn(back->guard + negated, " \t");
    if (n >= NAME) return 0;
    memcpy(predicate, back->guard + negated, n);
    const Line *test = writer(t, begin, branch, predicate);
    int64_t bound, step, value;
    if (!test || !begins(test, "setp.")) return 0;
    operand(test, 1, counter);
    operand(test, 2, text);
    if (!number(text, &bound)) return 0;
    const Line *add = writer(t, begin, branch, counter);
    if (add && begins(add, "cvt.u32.u64")) { /* the branch tests the low half of the counter */
        operand(add, 1, counter);
        add = writer(t, begin, branch, counter);
    }
    if (!add || (!begins(add, "add.") && !begins(add, "sub."))) return 0;
    operand(add, 2, text);
    if (!number(text, &step) || step == 0) return 0;
    if (begins(add, "sub.")) step = -step;
    operand(add, 1, text);
    const Line *start = writer(t, 0, begin, text);
    if (!start || !begins(start, "mov.")) return 0;
    operand(start, 1, text);
    if (!number(text, &value)) return 0;
    uint32_t trips = 0;
    do {
        value += step;
        if (++trips == MOST_TRIPS / 1024) return 0;
    } while (holds(test->text + strlen("setp."), value, bound) != negated);
    return trips;
}

static uint32_t access_bytes(const Line *l)
{
    uint32_t lanes = 1, bits = 0;
    for (size_t k = 0; k < l->n && l->text[k] != ' ' && l->text[k] != '\t'; k++) {
        if (l->text[k] != '.') continue;
        const char *part = l->text + k + 1;
        if (part[0] == 'v' && part[1] >= '2' && part[1] <= '8') lanes = (uint32_t)(part[1] - '0');
        if (strchr("busf", part[0]) && part[1] >= '1' && part[1] <= '9') bits = (uint32_t)strtoul(part + 1, NULL, 10);
    }
    return lanes * bits / 8;
}

static bool is_global(const Line *l)
{
    const size_t n = strcspn(l->text, " \t");
    for (size_t k = 0; k + 7 <= n; k++)
        if (strncmp(l->text + k, ".global", 7) == 0) return true;
    return false;
}

ReportPtxFacts report_ptx_facts(WbbArena *a, const char *ptx)
{
    ReportPtxFacts f = {.known = true};
    Text t = split(a, ptx);
    f.instructions = t.lines.n;
    for (uint32_t k = 0; k < t.lines.n; k++) {
        const Line *l = &t.lines.items[k];
        char target[NAME];
        if (!begins(l, "bra")) continue;
        operand(l, 0, target);
        for (uint32_t j = 0; j < t.labels.n; j++) {
            const Label *label = &t.labels.items[j];
            if (label->line > k || label->n != strlen(target) || strncmp(label->name, target, label->n) != 0) continue;
            f.loops++;
            const uint32_t trips = trips_of(&t, label->line, k);
            for (uint32_t i = label->line; i <= k; i++) {
                Line *in = &t.lines.items[i];
                f.known &= trips != 0 || !is_global(in); /* loops without global accesses do not matter */
                in->trips *= WBB_MAX(trips, 1U);
            }
            break;
        }
    }
    for (uint32_t k = 0; k < t.lines.n; k++) {
        const Line *l = &t.lines.items[k];
        if (!is_global(l)) continue;
        const uint64_t bytes = (uint64_t)access_bytes(l) * l->trips;
        if (begins(l, "ld")) f.loaded += bytes;
        else if (begins(l, "st")) f.stored += bytes;
        else if (begins(l, "red") || begins(l, "atom")) f.updated += bytes;
    }
    return f;
}

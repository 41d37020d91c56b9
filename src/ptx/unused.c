/* unused.c: removes lines whose registers nothing reads, and moves to where a line before could have written.
 *
 * Needs the lines of a function in their order; leaves fewer. A node is written when it is needed first, and what needs
 * it may then take another way, such as a sum that has a digit under a mask. Only arithmetic is removed. A result or a
 * carried value is moved at the end of its branch or body; what makes it there writes it itself where nothing reads the
 * register in between, and nothing else the node's.
 *
 *     shr.u32 %r4, %r1, 4; and.b32 %r5, %r1, 240; add.s32 %r6, %r5, %r2; mov.b32 %r3, %r6;
 *     ->  and.b32 %r5, %r1, 240; add.s32 %r3, %r5, %r2;
 */
#include "ptx/inner.h"

#include <string.h>

typedef struct {
    uint32_t *reads[PTX_KINDS]; /* by kind and number */
} Reads;

/* The register that begins at *p, which is moved behind it; NULL: none is left in the text. */
static uint32_t *next_register(const Reads *r, const char **p)
{
    while ((*p = strchr(*p, '%'))) {
        const char *q = *p + 1;
        PtxKind kind = PTX_NONE;
        if (*q == 'p') kind = PTX_PRED, q++;
        else if (q[0] == 'r' && q[1] == 's') kind = PTX_B16, q += 2;
        else if (q[0] == 'r' && q[1] == 'd') kind = PTX_B64, q += 2;
        else if (*q == 'r') kind = PTX_B32, q++;
        uint32_t n = 0;
        if (kind == PTX_NONE || *q < '0' || *q > '9') {
            *p = q;
            continue;
        }
        for (; *q >= '0' && *q <= '9'; q++) n = 10 * n + (uint32_t)(*q - '0');
        *p = q;
        return &r->reads[kind][n];
    }
    return NULL;
}

static bool is_arithmetic(const char *text)
{
    static const char *const names[] = {
        "abs", "add", "and", "bfe", "bfi",  "cvt",  "fma",  "ld.param", "mad", "max",
        "min", "mov", "mul", "neg", "not", "or",  "prmt", "selp", "setp", "shl",      "shr", "sub", "xor"};
    for (size_t i = 0; i < WBB_LEN(names); i++) {
        const size_t n = strlen(names[i]);
        if (!strncmp(text, names[i], n) && text[n] == '.') return true;
    }
    return false;
}

/* Behind the registers that a line of arithmetic writes. */
static const char *written_end(const char *text)
{
    const char *first = text + strcspn(text, " ");
    return first + strcspn(first, first[0] && first[1] == '{' ? "}" : ",");
}

static void count(const Reads *r, const PtxLine *line, uint32_t by)
{
    const char *p = is_arithmetic(line->text) ? written_end(line->text) : line->text;
    for (uint32_t *x; (x = next_register(r, &p));) *x += by;
}

static bool is_unused(const Reads *r, const PtxLine *line)
{
    if (!is_arithmetic(line->text)) return false;
    const char *p = line->text, *end = written_end(p);
    for (uint32_t *x; (x = next_register(r, &p)) && p <= end;)
        if (*x) return false;
    return true;
}

static void remove_unused(const Reads *r, PtxLines *lines)
{
    uint32_t kept = lines->n;
    for (uint32_t i = lines->n; i-- > 0;) {
        if (is_unused(r, &lines->items[i])) count(r, &lines->items[i], UINT32_MAX);
        else lines->items[--kept] = lines->items[i];
    }
    lines->n -= kept;
    if (lines->n) memmove(lines->items, lines->items + kept, lines->n * sizeof *lines->items);
}

/* A register that one line writes and one reads has this and 1. */
enum { WRITTEN = 1 << 20 };

/* --- moves -------------------------------------------------------------------------------------------------------- */
/* Does the line go elsewhere, or may another come here? */
static bool ends_run(const PtxLine *line)
{
    return line->maker.what == IR_BY_LABEL || line->text[0] == '@' || line->text[0] == '.' ||
           !strncmp(line->text, "bra", 3) || !strncmp(line->text, "call", 4);
}

/* Is the first operand what the line writes? */
static bool writes_first(const char *text)
{
    static const char *const names[] = {"st.", "red.", "bar", "cp.", "ret", "{", "@", "."};
    for (size_t i = 0; i < WBB_LEN(names); i++)
        if (!strncmp(text, names[i], strlen(names[i]))) return false;
    return true;
}

static bool has_register(const Reads *r, const char *from, const char *end, const uint32_t *which)
{
    for (uint32_t *x; (x = next_register(r, &from)) && (!end || from <= end);)
        if (x == which) return true;
    return false;
}

/* The text with one register's name instead of another's. */
static const char *renamed(PtxBuild *b, const char *text, const char *from, size_t n, const char *to)
{
    WbbBuf out = wbb_buf(b->arena);
    for (const char *p = text; *p;) {
        const bool here = !strncmp(p, from, n) && !(p[n] >= '0' && p[n] <= '9');
        if (here) wbb_put(&out, to), p += n;
        else wbb_put_n(&out, p++, 1);
    }
    return out.text;
}

/* Joins the move in line i with the line that makes what it moves. */
static bool join_move(PtxBuild *b, const Reads *r, PtxLines *lines, uint32_t i)
{
    const char *text = lines->items[i].text, *to = strchr(text, '%'), *comma = to ? strchr(to, ',') : NULL;
    if (strncmp(text, "mov.", 4) || !comma || comma[1] != ' ' || comma[2] != '%' || strchr(text, '{')) return false;
    const char *from = comma + 2, *p = to, *q = from;
    const size_t n = strcspn(from, ";");
    uint32_t *d = next_register(r, &p), *s = next_register(r, &q);
    if (!d || !s || q != from + n || p != comma || *s != WRITTEN + 1) return false;
    for (uint32_t k = i; k-- > 0 && !ends_run(&lines->items[k]);) {
        const char *at = lines->items[k].text;
        const bool writes = writes_first(at);
        if (writes && has_register(r, at, written_end(at), s)) {
            if (has_register(r, at, written_end(at), d)) return false;
            const char *name = wbb_format(b->arena, "%.*s", (int)(comma - to), to);
            lines->items[k].text = renamed(b, at, from, n, name);
            return true;
        }
        if (has_register(r, at, NULL, d) || has_register(r, at, NULL, s)) return false;
    }
    return false;
}

static void join_moves(PtxBuild *b, const Reads *r, PtxLines *lines)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lines->n; i++)
        if (join_move(b, r, lines, i)) lines->items[i] = (PtxLine){.text = "", .maker = {.what = IR_BY_END}};
    for (uint32_t i = 0; i < lines->n; i++)
        if (lines->items[i].text[0]) lines->items[kept++] = lines->items[i];
    lines->n = kept;
}

/* Reads of a line as 1 each, writes as WRITTEN: a register that two lines write is not one value. */
static void count_writes(const Reads *r, const char *text)
{
    const bool writes = writes_first(text);
    const char *end = writes ? written_end(text) : text, *p = end;
    for (uint32_t *x; (x = next_register(r, &p));) ++*x;
    p = text;
    for (uint32_t *x; writes && (x = next_register(r, &p)) && p <= end;) *x += WRITTEN;
}

void ptx_remove_unused(PtxBuild *b, PtxLines *lines)
{
    Reads r = {{0}};
    for (uint32_t k = 0; k < PTX_KINDS; k++) r.reads[k] = WBB_NEW_N(b->arena, uint32_t, b->used[k] + 1);
    for (uint32_t i = 0; i < lines->n; i++) count(&r, &lines->items[i], 1);
    remove_unused(&r, lines);
    for (uint32_t k = 0; k < PTX_KINDS; k++) memset(r.reads[k], 0, (b->used[k] + 1) * sizeof *r.reads[k]);
    for (uint32_t i = 0; i < lines->n; i++) count_writes(&r, lines->items[i].text);
    join_moves(b, &r, lines);
}

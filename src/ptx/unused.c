/* unused.c: removes lines whose registers nothing reads.
 *
 * Needs the lines of a function in their order; leaves fewer. A node is written when it is needed first, and what needs
 * it may then take another way, such as a sum that has a digit under a mask. Only arithmetic is removed.
 *
 *     shr.u32 %r4, %r1, 4; and.b32 %r5, %r1, 240;   ->   and.b32 %r5, %r1, 240;
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

void ptx_remove_unused(PtxBuild *b, PtxLines *lines)
{
    Reads r = {{0}};
    uint32_t kept = lines->n;
    for (uint32_t k = 0; k < PTX_KINDS; k++) r.reads[k] = WBB_NEW_N(b->arena, uint32_t, b->used[k] + 1);
    for (uint32_t i = 0; i < lines->n; i++) count(&r, &lines->items[i], 1);
    for (uint32_t i = lines->n; i-- > 0;) {
        if (is_unused(&r, &lines->items[i])) count(&r, &lines->items[i], UINT32_MAX);
        else lines->items[--kept] = lines->items[i];
    }
    lines->n -= kept;
    memmove(lines->items, lines->items + kept, lines->n * sizeof *lines->items);
}

/* layout_text.c: the text of a layout, README.md: read and printed.
 *
 * Needs text of any kind and the dimensions of a space; leaves a layout of it, or fails at the column of what it cannot
 * read. Whether a kernel may have the layout is for lay_check.
 *
 *     rows: grid 8192; columns: vector 4, lane 32, warp 2, register 4
 */
#include "layout/pricing.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const char *text, *p;
    Layout l;
    const LayDim *space; /* the dimensions that the text has not named yet have no factors */
    uint32_t n_space;
} Reader;

static void skip(Reader *r)
{
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n') r->p++;
}

static int column(const Reader *r) { return (int)WBB_MIN(r->p - r->text + 1, (ptrdiff_t)INT32_MAX); }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (is_letter(p[n]) || (n && is_digit(p[n]))) n++;
    return n;
}

/* The next word, number or character, for messages. */
static const char *found(const Reader *r)
{
    size_t n = word_length(r->p);
    while (!n && is_digit(*r->p) && is_digit(r->p[n])) n++;
    if (!*r->p) return "the end";
    if (!n && (*r->p < ' ' || *r->p > '~'))
        return wbb_format(r->a, "the byte 0x%02x", (unsigned)(unsigned char)*r->p);
    return wbb_format(r->a, "'%.*s'", (int)WBB_MIN(WBB_MAX(n, 1), (size_t)32), r->p);
}

static bool take(Reader *r, char c)
{
    skip(r);
    if (*r->p != c) return false;
    r->p++;
    return true;
}

static bool next_is(const Reader *r, const char *word)
{
    return word_length(r->p) == strlen(word) && !strncmp(r->p, word, strlen(word));
}

static LayLevel level_here(const Reader *r)
{
    LayLevel level = 0;
    while (level < LAY_LEVELS && !next_is(r, lay_level_name[level])) level++;
    return level;
}

static const char *names_of(WbbArena *a, const LayDim *dims, uint32_t n)
{
    WbbBuf b = wbb_buf(a);
    for (uint32_t d = 0; d < n; d++) wbb_putf(&b, "%s%s", d ? ", " : "", dims[d].name);
    return b.text;
}

/* The dimension that is named here, among n. */
static uint32_t take_dim(Reader *r, const LayDim *dims, uint32_t n)
{
    skip(r);
    uint32_t d = 0;
    while (d < n && !next_is(r, dims[d].name)) d++;
    if (d == n)
        lay_fail(r->cx, column(r), "expected a dimension, of %s; found %s", names_of(r->a, dims, n), found(r));
    r->p += word_length(r->p);
    return d;
}

static int64_t take_size(Reader *r)
{
    skip(r);
    int64_t size = 0;
    const int start = column(r);
    if (!is_digit(*r->p)) lay_fail(r->cx, start, "expected a number, found %s", found(r));
    for (; is_digit(*r->p); r->p++) {
        size = size * 10 + (*r->p - '0');
        if (size > INT32_MAX) lay_fail(r->cx, start, "a factor of more than %d", INT32_MAX);
    }
    if (size == 0) lay_fail(r->cx, start, "a factor of 0");
    return size;
}

/* vector 4, lane 32, .. */
static void read_factors(Reader *r, LayDim *d)
{
    do {
        skip(r);
        const int at = column(r);
        const LayLevel level = level_here(r);
        if (level == LAY_LEVELS)
            lay_fail(r->cx, at, "expected vector, register, loop, lane, warp, cluster or grid; found %s",
                     found(r));
        if (lay_factor(d, level))
            lay_fail(r->cx, at, "%s: %s has one already", lay_level_name[level], d->name);
        r->p += word_length(r->p);
        d->factors[d->n_factors++] = (LayFactor){level, take_size(r), at};
    } while (take(r, ','));
}

/* columns, rows: of the dimensions with the level, all, lowest digits first */
static void read_order(Reader *r, LayLevel level)
{
    const int at = column(r);
    uint32_t *order = WBB_NEW_N(r->a, uint32_t, r->l.n_dims + 1u), n = 0, wanted = 0;
    do {
        skip(r);
        const int here = column(r);
        const uint32_t d = take_dim(r, r->l.dims, r->l.n_dims);
        if (!lay_factor(&r->l.dims[d], level))
            lay_fail(r->cx, here, "%s has no %s", r->l.dims[d].name, lay_level_name[level]);
        for (uint32_t k = 0; k < n; k++)
            if (order[k] == d) lay_fail(r->cx, here, "%s is named twice", r->l.dims[d].name);
        order[n++] = d;
    } while (take(r, ','));
    for (uint32_t d = 0; d < r->l.n_dims; d++) wanted += lay_factor(&r->l.dims[d], level) != NULL;
    if (n < wanted)
        lay_fail(r->cx, at, "%u of the %u dimensions with %s are named", n, wanted, lay_level_name[level]);
    for (uint32_t d = 0; d < r->l.n_dims; d++) /* digits of size 1, wherever */
        if (!lay_factor(&r->l.dims[d], level)) order[n++] = d;
    r->l.order[level] = order;
}

static void read_clause(Reader *r)
{
    skip(r);
    const int at = column(r);
    const LayLevel level = level_here(r);
    if (level < LAY_LANE || (level < LAY_LEVELS && r->l.order[level]))
        lay_fail(r->cx, at, level < LAY_LANE ? "%s: no dimensions share its digits" : "%s: its order is given",
                 lay_level_name[level]);
    LayDim *d = NULL;
    if (level == LAY_LEVELS) {
        const LayDim *named = &r->space[take_dim(r, r->space, r->n_space)];
        for (uint32_t k = 0; k < r->l.n_dims; k++)
            if (r->l.dims[k].name == named->name) lay_fail(r->cx, at, "%s is named twice", named->name);
        d = &r->l.dims[r->l.n_dims++];
        *d = *named;
        d->column = at;
    } else {
        r->p += word_length(r->p);
    }
    if (!take(r, ':')) lay_fail(r->cx, column(r), "expected ':', found %s", found(r));
    if (d) read_factors(r, d);
    else read_order(r, level);
}

Layout lay_parse(WbbCx *cx, WbbArena *a, const char *text, const LayDim *space, uint32_t n_dims)
{
    Reader r = {.cx = cx, .a = a, .text = text, .p = text, .space = space, .n_space = n_dims};
    r.l.dims = WBB_NEW_N(a, LayDim, n_dims + 1u);
    do read_clause(&r);
    while (take(&r, ';'));
    if (*r.p) lay_fail(cx, column(&r), "expected ',' or ';', found %s", found(&r));
    for (uint32_t d = 0; d < n_dims; d++) { /* those of one element need no factors */
        bool named = false;
        for (uint32_t k = 0; k < r.l.n_dims; k++) named = named || r.l.dims[k].name == space[d].name;
        if (!named && space[d].size > 1)
            lay_fail(cx, column(&r), "%s has no factors", space[d].name);
        if (!named) r.l.dims[r.l.n_dims++] = space[d];
    }
    return r.l;
}

void lay_print(WbbBuf *out, const Layout *l)
{
    const char *semicolon = "";
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayDim *x = &l->dims[d];
        if (!x->n_factors) continue;
        wbb_putf(out, "%s%s:", semicolon, x->name);
        for (uint32_t k = 0; k < x->n_factors; k++)
            wbb_putf(out, "%s %s %lld", k ? "," : "", lay_level_name[x->factors[k].level],
                     (long long)x->factors[k].size);
        semicolon = "; ";
    }
    for (int level = LAY_LANE; level < LAY_LEVELS; level++) {
        const char *comma = "";
        for (uint32_t k = 0; l->order[level] && k < l->n_dims; k++) {
            const LayDim *x = &l->dims[l->order[level][k]];
            if (!lay_factor(x, (LayLevel)level)) continue;
            if (!*comma) wbb_putf(out, "%s%s: %s", semicolon, lay_level_name[level], x->name);
            else wbb_putf(out, "%s%s", comma, x->name);
            comma = ", ";
            semicolon = "; ";
        }
    }
}

void lay_print_choice(WbbBuf *out, const LayChoice *c)
{
    wbb_putf(out, "  layouts: %u priced, %u about as cheap as the chosen one, which stands first\n", c->candidates,
             c->equal);
    for (uint32_t k = 0; k < c->n; k++) {
        const LayPriced *x = &c->best[k];
        wbb_putf(out, "    %.2f us, %s %.2f%s", x->price.us, lay_term_name[x->decides], x->price.term[x->decides],
                 x->get ? " | put " : ": ");
        lay_print(out, &x->layout);
        if (x->get) wbb_put(out, " | get ");
        if (x->get) lay_print(out, x->get);
        wbb_put(out, "\n");
    }
}

void lay_print_price(WbbBuf *out, const LayPrice *p)
{
    wbb_putf(out, "  priced at %.2f us, with %.0f registers a thread:", p->us, p->registers);
    const char *comma = "";
    for (int k = 0; k < LAY_TERMS; k++) {
        if (p->term[k] < 0.005) continue;
        wbb_putf(out, "%s %s %.2f", comma, lay_term_name[k], p->term[k]);
        comma = ",";
    }
    wbb_put(out, "\n");
}

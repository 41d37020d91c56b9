/* map_parse.c: reads the text of a map, which may be any text.
 *
 * Needs the text; leaves a map with the nodes as written, except that constants are folded, sums flattened and their
 * equal terms merged. A failure names the position: `map:1:COL: error: ..`.
 *
 * Nodes have only floor division by positive divisors. Other divisions are expressed by it: `x / -k` is `-x / k`, `x
 * mod -k` is `x mod k`, `x ceildiv k` is `(x + k - 1) / k`. A divisor that is not a constant, or 0, is refused, and so
 * is every coefficient and constant that does not fit in 64 bits.
 *
 *     (d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 7], s0 in [0, 3], d0 + s0 in [0, 8]
 */
#include "index/inner.h"

#include <string.h>

enum { MAX_NESTING = 200, MAX_DEPTH = 1000, MAX_NAME = 32 };

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    RwCx *rw;
    IrGraph *g;
    const char *file, *p, *end, *line_start;
    int line;
    uint32_t nesting;
    IxMap *map;
} Reader;

/* A constant, or a node and how many operations deep it is. */
typedef struct {
    bool constant;
    WbbI128 c; /* within twice 64 bits */
    IrRef node;
    uint32_t depth;
} Value;

/* --- characters and words ----------------------------------------------------------------------------------------- */
static void skip(Reader *r)
{
    for (; r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n'); r->p++)
        if (*r->p == '\n') r->line++, r->line_start = r->p + 1;
}

static WbbLoc at(const Reader *r, const char *p)
{
    const ptrdiff_t col = p - r->line_start + 1;
    return (WbbLoc){r->file, r->line, col > INT32_MAX ? 0 : (int)col};
}

static WbbLoc here(Reader *r)
{
    skip(r);
    return at(r, r->p);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static size_t word_length(const Reader *r)
{
    size_t n = 0;
    while (r->p + n < r->end && (is_letter(r->p[n]) || (n > 0 && is_digit(r->p[n])))) n++;
    return n;
}

/* The next word or character, for messages. */
static const char *found(Reader *r)
{
    skip(r);
    if (r->p == r->end) return "the end";
    size_t n = word_length(r);
    while (n == 0 || (is_digit(*r->p) && r->p + n < r->end && is_digit(r->p[n]) && n < MAX_NAME)) n++;
    if (n == 1 && (*r->p < ' ' || *r->p > '~'))
        return wbb_format(r->a, "the byte 0x%02x", (unsigned)(unsigned char)*r->p);
    return wbb_format(r->a, "'%.*s'%s", (int)WBB_MIN(n, (size_t)MAX_NAME), r->p, n > MAX_NAME ? ".." : "");
}

static bool take(Reader *r, const char *z)
{
    skip(r);
    const size_t n = strlen(z);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, z, n)) return false;
    if (is_letter(*z) && word_length(r) != n) return false;
    r->p += n;
    return true;
}

static void expect(Reader *r, const char *z)
{
    if (!take(r, z)) wbb_fail(r->cx, here(r), "expected '%s', found %s", z, found(r));
}

static bool is_reserved(const char *name)
{
    static const char *const words[] = {"mod", "floordiv", "floorDiv", "ceildiv", "ceilDiv",
                                        "min", "max",      "in",       "domain"};
    for (size_t i = 0; i < WBB_LEN(words); i++)
        if (!strcmp(name, words[i])) return true;
    return false;
}

/* Reads a name; NULL: there is none here, and nothing is read. */
static const char *name(Reader *r)
{
    skip(r);
    const size_t n = word_length(r);
    if (n == 0) return NULL;
    const char *z = wbb_intern(r->cx, r->p, n);
    if (is_reserved(z)) return NULL;
    r->p += n;
    return z;
}

static WbbI128 digits(Reader *r)
{
    const WbbLoc loc = here(r);
    WbbI128 x = 0;
    if (r->p == r->end || !is_digit(*r->p)) wbb_fail(r->cx, loc, "expected an integer, found %s", found(r));
    for (; r->p < r->end && is_digit(*r->p); r->p++) {
        x = x * 10 + (*r->p - '0');
        if (x > (WbbI128)1 << 63) wbb_fail(r->cx, loc, "an integer outside 64 bits");
    }
    if (r->p < r->end && is_letter(*r->p))
        wbb_fail(r->cx, here(r), "expected an operator or a bracket after the integer, found %s", found(r));
    return x;
}

static bool fits(WbbI128 x) { return x >= INT64_MIN && x <= INT64_MAX; }

static int64_t integer(Reader *r)
{
    const WbbLoc loc = here(r);
    const bool minus = take(r, "-");
    const WbbI128 x = digits(r), signed_x = minus ? -x : x;
    if (!fits(signed_x)) wbb_fail(r->cx, loc, "an integer outside 64 bits");
    return (int64_t)signed_x;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */
static Value expression(Reader *r);

static Value constant(Reader *r, WbbLoc loc, WbbI128 c)
{
    if (c > (WbbI128)1 << 63 || !fits(c - (c > 0))) wbb_fail(r->cx, loc, "a constant leaves 64 bits");
    return (Value){.constant = true, .c = c};
}

static Value node(Reader *r, WbbLoc loc, IrRef n, uint32_t depth)
{
    if (depth > MAX_DEPTH) wbb_fail(r->cx, loc, "an expression more than %d operations deep", MAX_DEPTH);
    if (ir_is_const(r->g, n)) return constant(r, loc, (int64_t)ir_at(r->g, n)->imm);
    return (Value){.node = n, .depth = depth};
}

/* A constant may be 2**63 until it is negated; a node may not. */
static IrRef node_of(Reader *r, WbbLoc loc, const Value *v)
{
    if (v->constant && !fits(v->c)) wbb_fail(r->cx, loc, "an integer outside 64 bits");
    return v->constant ? ir_index(r->g, (int64_t)v->c) : v->node;
}

static IrRef sum(Reader *r, WbbLoc loc, WbbI128 c, const IrTerm *terms, uint32_t n)
{
    bool overflow = !fits(c);
    const IrRef made = overflow ? 0 : ir_sum(r->g, (int64_t)c, terms, n, &overflow);
    if (overflow) wbb_fail(r->cx, loc, "a coefficient or constant leaves 64 bits");
    return made;
}

static WbbI128 floor_div(WbbI128 x, WbbI128 k) { return x / k - (x % k != 0 && (x < 0) != (k < 0)); }

typedef enum { DIVIDE, CEIL, MODULO } Division;

static Value divide(Reader *r, WbbLoc loc, WbbLoc divisor_loc, const Value *x, const Value *by, Division what)
{
    if (!by->constant) wbb_fail(r->cx, divisor_loc, "a division by an expression that is not a constant");
    if (by->c == 0) wbb_fail(r->cx, divisor_loc, "a division by zero");
    const WbbI128 k = by->c < 0 ? -by->c : by->c, sign = what != MODULO && by->c < 0 ? -1 : 1;
    if (!fits(k)) wbb_fail(r->cx, divisor_loc, "a divisor outside 64 bits");
    if (x->constant) {
        const WbbI128 q = what == CEIL ? -floor_div(-x->c, by->c) : floor_div(x->c, by->c);
        return constant(r, loc, what == MODULO ? x->c - floor_div(x->c, k) * k : q);
    }
    const IrTerm term = {.coefficient = (int64_t)sign, .ref = x->node};
    const IrRef numerator = sum(r, loc, what == CEIL ? k - 1 : 0, &term, 1);
    const uint32_t depth = x->depth + 1;
    if (k == 1) return what == MODULO ? constant(r, loc, 0) : node(r, loc, numerator, depth);
    return node(r, loc,
                ir_node(r->g, what == MODULO ? OP_MOD : OP_FLOORDIV, IR_TYPE(SC_INDEX, 0), 0, numerator,
                        ir_index(r->g, (int64_t)k), 0, 0),
                depth);
}

static Value multiply(Reader *r, WbbLoc loc, const Value *x, const Value *y)
{
    if (x->constant && y->constant) return constant(r, loc, x->c * y->c);
    const Value *k = x->constant ? x : y, *v = x->constant ? y : x;
    const uint32_t depth = WBB_MAX(x->depth, y->depth) + 1;
    WbbI128 c = k->c;
    const IrRef of = k->constant ? v->node : ix_product(r->g, x->node, y->node, &c);
    if (!fits(c)) wbb_fail(r->cx, loc, "a coefficient leaves 64 bits");
    const IrTerm term = {.coefficient = (int64_t)c, .ref = of};
    return node(r, loc, sum(r, loc, 0, &term, 1), depth);
}

static Value choice(Reader *r, ScOp op)
{
    const WbbLoc loc = here(r);
    expect(r, "(");
    const Value x = expression(r);
    expect(r, ",");
    const Value y = expression(r);
    expect(r, ")");
    if (x.constant && y.constant) return constant(r, loc, (op == OP_MIN) == (x.c < y.c) ? x.c : y.c);
    const IrRef p = node_of(r, loc, &x), q = node_of(r, loc, &y);
    if (p == q) return x;
    return node(r, loc, ir_node(r->g, op, IR_TYPE(SC_INDEX, 0), 0, p, q, 0, 0), WBB_MAX(x.depth, y.depth) + 1);
}

static Value variable(Reader *r)
{
    const WbbLoc loc = here(r);
    const char *z = name(r);
    if (!z) wbb_fail(r->cx, loc, "expected a variable, an integer or a bracket, found %s", found(r));
    const uint32_t i = ix_map_find(r->map, z);
    if (i == r->map->vars.n) wbb_fail(r->cx, loc, "'%s' is not a variable of the map", z);
    return (Value){.node = r->map->vars.items[i].node};
}

static Value factor(Reader *r)
{
    const WbbLoc loc = here(r);
    Value v;
    if (++r->nesting > MAX_NESTING) wbb_fail(r->cx, loc, "brackets and signs nested deeper than %d", MAX_NESTING);
    if (take(r, "-")) {
        v = factor(r);
        const Value minus = {.constant = true, .c = -1};
        v = multiply(r, loc, &v, &minus);
    } else if (take(r, "(")) {
        v = expression(r);
        expect(r, ")");
    } else if (r->p < r->end && is_digit(*r->p)) {
        v = constant(r, loc, digits(r));
    } else if (take(r, "min")) {
        v = choice(r, OP_MIN);
    } else if (take(r, "max")) {
        v = choice(r, OP_MAX);
    } else {
        v = variable(r);
    }
    r->nesting--;
    return v;
}

static Value product(Reader *r)
{
    Value x = factor(r);
    for (;;) {
        const WbbLoc loc = here(r);
        const bool times = take(r, "*");
        Division what = DIVIDE;
        if (!times) {
            if (take(r, "ceildiv") || take(r, "ceilDiv")) what = CEIL;
            else if (take(r, "mod")) what = MODULO;
            else if (!take(r, "/") && !take(r, "floordiv") && !take(r, "floorDiv")) return x;
        }
        const WbbLoc right = here(r);
        const Value y = factor(r);
        x = times ? multiply(r, loc, &x, &y) : divide(r, loc, right, &x, &y, what);
    }
}

/* Collects all terms before it makes the sum, so that reading takes time in proportion to them. */
static Value expression(Reader *r)
{
    const WbbLoc loc = here(r);
    struct { IrTerm *items; uint32_t n, capacity; } terms = {0};
    WbbI128 c = 0;
    uint32_t depth = 0;
    Value first = {0};
    bool minus = false, more = false;
    do {
        const Value x = product(r);
        const IrTerm term = {.coefficient = minus ? -1 : 1, .ref = x.node};
        if (!more) first = x;
        depth = WBB_MAX(depth, x.depth);
        if (!x.constant) WBB_PUSH(r->a, &terms, term);
        else if (__builtin_add_overflow(c, minus ? -x.c : x.c, &c)) wbb_fail(r->cx, loc, "a constant leaves 64 bits");
        minus = take(r, "-");
        more = more || minus;
        if (!minus && !take(r, "+")) break;
        more = true;
    } while (true);
    if (!more) return first;
    if (terms.n == 0) return constant(r, loc, c);
    return node(r, loc, sum(r, loc, c, terms.items, terms.n), depth + 1);
}

/* --- the map ------------------------------------------------------------------------------------------------------ */
static void variables(Reader *r, IxKind kind, const char *open, const char *close, bool optional)
{
    if (optional && !take(r, open)) return;
    if (!optional) expect(r, open);
    if (take(r, close)) return;
    do {
        const WbbLoc loc = here(r);
        const char *z = name(r);
        if (!z) wbb_fail(r->cx, loc, "expected a name, found %s", found(r));
        if (ix_map_find(r->map, z) < r->map->vars.n) wbb_fail(r->cx, loc, "two variables are named '%s'", z);
        ix_map_var(r->rw, r->a, r->map, kind, z, INT64_MIN, INT64_MAX);
    } while (take(r, ","));
    expect(r, close);
}

static void interval(Reader *r, int64_t *lo, int64_t *hi)
{
    expect(r, "[");
    *lo = integer(r);
    expect(r, ",");
    *hi = integer(r);
    expect(r, "]");
}

/* NAME in [LO, HI] for every variable. */
static void bounds(Reader *r)
{
    for (uint32_t i = 0; i < r->map->vars.n; i++) {
        IxVar *v = &r->map->vars.items[i];
        if (i) expect(r, ",");
        const WbbLoc loc = here(r);
        const char *z = name(r);
        if (!z || strcmp(z, v->name)) wbb_fail(r->cx, loc, "expected the interval of '%s'", v->name);
        expect(r, "in");
        interval(r, &v->lo, &v->hi);
        IrVar *var = &r->g->vars[ir_at(r->g, v->node)->imm]; /* no fact about it has been computed yet */
        var->lo = v->lo;
        var->hi = WBB_MAX(v->lo, v->hi);
        if (v->lo > v->hi) r->map->state = IX_EMPTY;
    }
}

static void constraints(Reader *r)
{
    for (uint32_t i = r->map->vars.n;; i++) {
        if (i && !take(r, ",")) return;
        const WbbLoc loc = here(r);
        const Value x = expression(r);
        int64_t lo, hi;
        expect(r, "in");
        interval(r, &lo, &hi);
        if (!x.constant) ix_map_constrain(r->a, r->map, x.node, lo, hi);
        else if (node_of(r, loc, &x) && (x.c < lo || x.c > hi)) r->map->state = IX_EMPTY;
    }
}

static void results(Reader *r)
{
    expect(r, "(");
    if (take(r, ")")) return;
    do {
        const WbbLoc loc = here(r);
        const Value v = expression(r);
        ix_map_result(r->a, r->map, node_of(r, loc, &v));
    } while (take(r, ","));
    expect(r, ")");
}

static bool whole_map(Reader *r)
{
    if (take(r, "KNOWN")) {
        expect(r, "EMPTY");
        r->map->state = IX_EMPTY;
        return true;
    }
    const bool unknown = take(r, "UNDEFINED") || take(r, "unknown");
    if (!unknown) return false;
    (void)take(r, "indexing");
    r->map->state = IX_UNKNOWN;
    return true;
}

IxMap *ix_map_parse(RwCx *rw, WbbArena *a, const char *file, const char *text, size_t n)
{
    IrGraph *g = rw_graph(rw);
    Reader r = {
        .cx = g->cx, .a = a, .rw = rw, .g = g, .file = file, .p = text, .end = text + n, .line_start = text, .line = 1};
    r.map = ix_map_new(a);
    if (!whole_map(&r)) {
        variables(&r, IX_DIMENSION, "(", ")", false);
        variables(&r, IX_RANGE, "[", "]", true);
        variables(&r, IX_RUNTIME, "{", "}", true);
        expect(&r, "->");
        results(&r);
        if (take(&r, ",")) {
            expect(&r, "domain");
            expect(&r, ":");
            bounds(&r);
            constraints(&r);
        }
    }
    if (here(&r).line && r.p < r.end) wbb_fail(r.cx, here(&r), "expected the end of the map, found %s", found(&r));
    return r.map;
}

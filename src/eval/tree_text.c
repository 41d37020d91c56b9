/* tree_text: the text of a tree in which a kernel combines the terms of a reduction: read, and held against the
 * reduction.
 *
 * Needs: text of any kind. Leaves: a tree that has each term of its instruction exactly once, or a failure.
 *
 *     tree   = "tree" ["in" TYPE] {";" (dim | step)}
 *     dim    = NAME "{" NUMBER {"," NUMBER} "}" ":" LEVEL NUMBER {"," LEVEL NUMBER}
 *     step   = part {"," part} "of" NAME "." LEVEL {"," NAME "." LEVEL}
 *     part   = ("fold" | "halves" | "chain") NUMBER
 *
 * A dim is neighbouring reduced dimensions of the operand, the slowest first; the position in it is a number whose
 * digits are the levels, the lowest first. A step combines the partial results that differ in its digits alone, the
 * first digit the lowest of their number; the number is cut into its parts, the lowest first.
 *
 *     tree; rows {0}: lane 4, warp 8, loop 3, grid 9; chain 3 of rows.loop; fold 4 of rows.lane; fold 8 of rows.warp;
 *     chain 1, fold 4, fold 8 of rows.grid
 */
#include "eval/inner.h"

#include <string.h>

enum { MOST = 1 << 20 }; /* digits, dimensions, parts: against texts that no compiler made */

static const int64_t most_terms = (int64_t)1 << 48;

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const char *where, *text, *p;
    EvTree *t;
    bool *combined; /* [digits] */
} Reader;

static void WBB_NORETURN expected(const Reader *r, const char *what)
{
    wbb_fail(r->cx, (WbbLoc){.file = r->where}, "order \"%s\": expected %s at character %lld", r->text, what,
             (long long)(r->p - r->text + 1));
}

static void skip(Reader *r)
{
    while (*r->p == ' ') r->p++;
}

static bool take(Reader *r, char c)
{
    skip(r);
    if (*r->p != c) return false;
    r->p++;
    return true;
}

static void need(Reader *r, char c)
{
    const char what[] = {'\'', c, '\'', 0};
    if (!take(r, c)) expected(r, what);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A word; NULL: there is none. */
static const char *word(Reader *r)
{
    skip(r);
    const char *start = r->p;
    while (in_word(*r->p)) r->p++;
    return r->p == start ? NULL : wbb_format(r->a, "%.*s", (int)WBB_MIN(r->p - start, 1000), start);
}

static bool take_word(Reader *r, const char *wanted)
{
    const char *start = r->p, *w = word(r);
    if (w && strcmp(w, wanted) == 0) return true;
    r->p = start;
    return false;
}

static int64_t number(Reader *r, int64_t least)
{
    skip(r);
    int64_t n = 0;
    const char *start = r->p;
    for (; *r->p >= '0' && *r->p <= '9' && n <= most_terms; r->p++) n = n * 10 + (*r->p - '0');
    if (r->p == start || n > most_terms || n < least) {
        r->p = start;
        expected(r, least ? "a number from 1 to 2^48" : "a number");
    }
    return n;
}

static int64_t product(const Reader *r, int64_t x, int64_t y)
{
    if (y > most_terms / x) expected(r, "sizes of at most 2^48 together");
    return x * y;
}

/* --- clauses ------------------------------------------------------------------------------------------------------ */
/* The factors of dimension d, which is named and open behind its "{". */
static void read_dim(Reader *r, EvTreeDim *d, const char *name)
{
    EvTree *t = r->t;
    struct { uint32_t *items, n, capacity; } of = {0};
    *d = (EvTreeDim){.name = name, .covered = 1};
    do {
        const int64_t n = number(r, 0);
        if (n >= HLO_RANK_LIMIT) expected(r, "a dimension of the operand");
        WBB_PUSH(r->a, &of, (uint32_t)n);
    } while (take(r, ','));
    d->of = of.items, d->n = of.n;
    need(r, '}');
    need(r, ':');
    do {
        const char *level = word(r);
        if (!level) expected(r, "a level");
        const int64_t size = number(r, 1);
        for (uint32_t k = 0; k < t->n_digits; k++)
            if (t->digits[k].dim == t->n_dims && strcmp(t->digits[k].level, level) == 0) expected(r, "another level");
        if (t->n_digits == MOST) expected(r, "fewer levels");
        t->digits = wbb_grow(r->a, t->digits, t->n_digits * sizeof *t->digits, (t->n_digits + 1) * sizeof *t->digits);
        t->digits[t->n_digits++] = (EvDigit){t->n_dims, level, size, d->covered};
        d->covered = product(r, d->covered, size);
    } while (take(r, ','));
}

static uint32_t read_digit(Reader *r)
{
    const EvTree *t = r->t;
    const char *name = word(r);
    need(r, '.');
    const char *level = word(r);
    for (uint32_t k = 0; name && level && k < t->n_digits; k++)
        if (strcmp(t->dims[t->digits[k].dim].name, name) == 0 && strcmp(t->digits[k].level, level) == 0) return k;
    expected(r, "a dimension and one of its levels, DIMENSION.LEVEL, before this");
}

/* A step whose first word was the pairing. */
static void read_step(Reader *r, EvTreeStep *s, const char *pairing)
{
    static const char *const names[] = {[EV_FOLD] = "fold", [EV_HALVES] = "halves", [EV_CHAIN] = "chain"};
    struct { EvTreePart *items; uint32_t n, capacity; } parts = {0};
    struct { uint32_t *items, n, capacity; } digits = {0};
    int64_t covered = 1;
    *s = (EvTreeStep){.size = 1};
    do {
        uint32_t k = 0;
        if (parts.n) pairing = word(r);
        while (k < WBB_LEN(names) && (!pairing || strcmp(names[k], pairing))) k++;
        if (k == WBB_LEN(names)) expected(r, "fold, halves or chain before this");
        const EvTreePart part = {(EvPairing)k, number(r, 1)};
        covered = product(r, covered, part.size);
        WBB_PUSH(r->a, &parts, part);
    } while (take(r, ','));
    if (!take_word(r, "of")) expected(r, "'of'");
    do {
        const uint32_t k = read_digit(r);
        if (r->combined[k]) expected(r, "a level that no step has combined, before this");
        r->combined[k] = true;
        s->size = product(r, s->size, r->t->digits[k].size);
        WBB_PUSH(r->a, &digits, k);
    } while (take(r, ','));
    if (covered < s->size) expected(r, "parts that cover the levels, before this");
    s->parts = parts.items, s->n_parts = parts.n, s->digits = digits.items, s->n_digits = digits.n;
}

const EvTree *ev_tree_parse(WbbCx *cx, WbbArena *arena, const char *where, const char *text)
{
    EvTree *t = WBB_NEW(arena, EvTree);
    *t = (EvTree){.text = text};
    Reader r = {.cx = cx, .a = arena, .where = where, .text = text, .p = text, .t = t};
    if (!take_word(&r, "tree")) expected(&r, "tree");
    if (take_word(&r, "in")) {
        const char *type = word(&r);
        t->type = type ? sc_type_named(type, strlen(type)) : SC_NONE;
        if (!sc_is_float(t->type)) expected(&r, "a type of floats, before this");
    }
    while (take(&r, ';')) {
        const char *name = word(&r);
        if (!name) expected(&r, "a dimension or a step");
        if (take(&r, '{')) {
            if (t->n_steps || t->n_dims == HLO_RANK_LIMIT) expected(&r, "a step");
            t->dims = wbb_grow(arena, t->dims, t->n_dims * sizeof *t->dims, (t->n_dims + 1) * sizeof *t->dims);
            read_dim(&r, &t->dims[t->n_dims], name);
            t->n_dims++;
            continue;
        }
        if (!t->n_steps) r.combined = WBB_NEW_N(arena, bool, t->n_digits + 1);
        t->steps = wbb_grow(arena, t->steps, t->n_steps * sizeof *t->steps, (t->n_steps + 1) * sizeof *t->steps);
        read_step(&r, &t->steps[t->n_steps], name);
        t->n_steps++;
    }
    skip(&r);
    if (*r.p) expected(&r, "';'");
    for (uint32_t k = 0; k < t->n_digits; k++)
        if (t->digits[k].size > 1 && !(r.combined && r.combined[k])) expected(&r, "a step for each level");
    return t;
}

/* --- against the instruction -------------------------------------------------------------------------------------- */
static void WBB_NORETURN refuse(WbbCx *cx, const EvTree *t, const HloInstruction *i, uint32_t dim, const char *why)
{
    wbb_fail(cx, i->loc, "order \"%s: %s\": dimension %u %s", i->name, t->text, dim, why);
}

void ev_tree_check(WbbCx *cx, const EvTree *t, const HloInstruction *i)
{
    uint32_t had[HLO_RANK_LIMIT] = {0};
    const HloShape *s = i->operands[0]->shape;
    const HloInts reduced = {i->dimensions, i->n_dimensions};
    if (i->opcode != HLO_REDUCE || s->rank > HLO_RANK_LIMIT)
        wbb_fail(cx, i->loc, "order \"%s: %s\": only a reduce has a tree", i->name, t->text);
    for (uint32_t d = 0; d < t->n_dims; d++) {
        int64_t size = 1;
        for (uint32_t k = 0; k < t->dims[d].n; k++) {
            const uint32_t of = t->dims[d].of[k];
            if (of >= s->rank || !hlo_holds(reduced, of)) refuse(cx, t, i, of, "is not reduced");
            if (had[of]++) refuse(cx, t, i, of, "stands there twice");
            if (s->dims[of]) size *= s->dims[of];
        }
        if (t->dims[d].covered < size) refuse(cx, t, i, t->dims[d].of[0], "is not covered by its levels");
    }
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] > 1 && !had[d] && hlo_holds(reduced, d)) refuse(cx, t, i, d, "is reduced too");
    if (t->type != SC_NONE && (i->n_operands != 2 || !hlo_is_operation(i->called[0])))
        wbb_fail(cx, i->loc, "order \"%s: %s\": only one operation is taken in a type", i->name, t->text);
}

bool ev_tree_keeps_order(const EvTree *t, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    const HloInts reduced = {i->dimensions, i->n_dimensions};
    uint32_t place[HLO_RANK_LIMIT] = {0}, of_dim[HLO_RANK_LIMIT] = {0}, n = 1; /* from 1 on, the fastest first */
    for (uint32_t d = s->rank; d-- > 0;)
        if (s->dims[d] > 1 && hlo_holds(reduced, d)) place[d] = n++;
    for (uint32_t d = 0; d < t->n_dims; d++)
        for (uint32_t k = t->dims[d].n, last = 0; k-- > 0;) {
            const uint32_t at = place[t->dims[d].of[k]];
            if (!at) continue;
            if (last && at != last + 1) return false; /* others stand between them, or they are turned around */
            if (!last) of_dim[d] = at;
            last = at;
        }
    uint32_t dim = 0;
    int64_t weight = 0;
    for (uint32_t k = 0; k < t->n_steps; k++) {
        for (uint32_t p = 0; p < t->steps[k].n_parts; p++)
            if (t->steps[k].parts[p].pairing == EV_HALVES && t->steps[k].parts[p].size > 2) return false;
        for (uint32_t j = 0; j < t->steps[k].n_digits; j++) {
            const EvDigit *x = &t->digits[t->steps[k].digits[j]];
            if (x->size == 1) continue;
            if (of_dim[x->dim] < dim || (of_dim[x->dim] == dim && x->weight < weight)) return false;
            dim = of_dim[x->dim], weight = x->weight;
        }
    }
    return true;
}

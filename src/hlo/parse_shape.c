/* parse_shape: shapes as the text writes them: element types, dimensions, layouts.
 *
 * Needs: the cursor of lex.c. Leaves: an HloShape whose layout is a permutation and whose size in bytes fits 63 bits.
 *
 * A '{' begins a layout only if a digit or ':' follows it, or if it follows the dimensions directly and '}' follows it.
 * It begins a body in `-> f32[2] {`, and a literal in `literal=s32[2] {1, 2}`.
 *
 *     "bf16[6,512,4096]{2,1,0:T(8,128)}"  ->  SC_BF16, dims 6 512 4096, minor_to_major 2 1 0, tiling "T(8,128)"
 */
#include "hlo/inner.h"

#include <string.h>

static const char *keep(HloReader *r, const char *from, const char *to)
{
    size_t before = r->scratch_n;
    hlo_scratch(r, from, to);
    const char *text = wbb_intern(r->cx, r->scratch + before, r->scratch_n - before);
    r->scratch_n = before;
    return text;
}

bool hlo_at_shape(HloReader *r)
{
    int c = hlo_peek(r);
    if (c == '(') return true;
    if (c < 'a' || c > 'z') return false;
    const char *p = r->p;
    while (p < r->end && ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9'))) p++;
    if (p == r->end) return false;
    return *p == '[' || (*p == '(' && p == r->p + 1 && c == 'b');
}

/* The size in bytes must fit 63 bits, so that no later product of sizes overflows. Dimensions of 0 count as 1 here. */
static void check_size(HloReader *r, const HloShape *s, WbbLoc loc)
{
    int64_t size = sc_bytes(s->type) ? sc_bytes(s->type) : 1;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (s->dims[d] && __builtin_mul_overflow(size, s->dims[d], &size))
            wbb_fail(r->cx, loc, "dimension product overflows: the array has more than 2^63 bytes");
    }
}

static void read_dims(HloReader *r, HloShape *s)
{
    int64_t dims[HLO_RANK_LIMIT];
    uint32_t rank = 0;
    WbbLoc loc = hlo_here(r);
    hlo_expect(r, '[');
    if (!hlo_accept(r, ']')) {
        do {
            if (rank == HLO_RANK_LIMIT)
                wbb_fail(r->cx, hlo_here(r), "a shape has more than %d dimensions", HLO_RANK_LIMIT);
            if (hlo_accept(r, '<')) {
                hlo_expect(r, '=');
                s->dynamic |= UINT64_C(1) << rank;
            }
            hlo_skip(r);
            const char *at = r->p;
            if (r->p < r->end && *r->p == '?')
                wbb_fail(r->cx, hlo_here(r),
                         "a dimension without a bound, '?': sizes, or bounds as in <=8, are needed");
            dims[rank] = hlo_read_int(r);
            if (dims[rank] < 0)
                wbb_fail(r->cx, hlo_loc_at(r, at), "a dimension is negative: %lld", (long long)dims[rank]);
            rank++;
        } while (hlo_accept(r, ','));
        hlo_expect(r, ']');
    }
    int64_t *kept = WBB_NEW_N(r->arena, int64_t, rank ? rank : 1);
    memcpy(kept, dims, rank * sizeof *kept);
    s->dims = kept;
    s->rank = (uint8_t)rank;
    check_size(r, s, loc);
}

/* The part of a layout after ':', T(8,128)(2,1)E(4)S(1), up to the '}'. */
static void read_tiling(HloReader *r, HloShape *s)
{
    hlo_skip(r);
    const WbbLoc loc = hlo_here(r);
    const char *start = r->p;
    while (hlo_peek(r) != '}') {
        if (r->p == r->end || *r->p == '{' || *r->p == ']' || *r->p == ')' || *r->p == '"')
            hlo_fail_expected(r, "'}' after a layout");
        if (*r->p == '(') hlo_skip_balanced(r);
        else r->p++;
    }
    if (r->p == start) return;
    s->tiling = keep(r, start, r->p);
    hlo_check_layout(r->cx, loc, s->tiling);
}

static void read_layout(HloReader *r, HloShape *s)
{
    HloMark start = hlo_mark(r);
    bool adjacent = r->p < r->end && *r->p == '{';
    if (!adjacent && (r->literal_follows || hlo_peek(r) != '{')) {
        hlo_rewind(r, start);
        return;
    }
    r->p++;
    int c = hlo_peek(r);
    if (!((c >= '0' && c <= '9') || c == ':' || (c == '}' && adjacent))) {
        hlo_rewind(r, start);
        return;
    }
    WbbLoc loc = hlo_here(r);
    uint8_t order[HLO_RANK_LIMIT];
    uint64_t seen = 0;
    uint32_t n = 0;
    if (c != ':' && c != '}') {
        do {
            int64_t d = hlo_read_int(r);
            if (d < 0 || d >= s->rank || n == s->rank || (seen >> d & 1))
                wbb_fail(r->cx, loc, "a layout is not a permutation of the %u dimensions", s->rank);
            seen |= UINT64_C(1) << d;
            order[n++] = (uint8_t)d;
        } while (hlo_accept(r, ','));
    }
    bool named = n > 0 || s->rank == 0;
    if (n && n != s->rank) wbb_fail(r->cx, loc, "a layout names %u of %u dimensions", n, s->rank);
    if (hlo_accept(r, ':')) read_tiling(r, s);
    hlo_expect(r, '}');
    s->has_layout = named || s->tiling;
    if (!n) return;
    uint8_t *kept = WBB_NEW_N(r->arena, uint8_t, n);
    memcpy(kept, order, n);
    s->minor_to_major = kept;
}

static const HloShape *read_tuple(HloReader *r)
{
    struct { const HloShape **items; uint32_t n, capacity; } list = {0};
    hlo_enter_level(r);
    hlo_expect(r, '(');
    if (!hlo_accept(r, ')')) {
        do {
            const HloShape *element = hlo_read_shape(r);
            WBB_PUSH(r->arena, &list, element);
        } while (hlo_accept(r, ','));
        hlo_expect(r, ')');
    }
    r->depth--;
    return hlo_make_tuple(r->arena, list.n, list.items);
}

/* Declines an element type of HLO or StableHLO that is none of gen/ops.py; fails at any other word. */
static void refuse_type(HloReader *r, const char *at, const char *word, size_t n)
{
    static const char *const others[] = {"s1", "u1", "f6e2m3fn", "f6e3m2fn"};
    for (size_t k = 0; k < WBB_LEN(others); k++)
        if (strlen(others[k]) == n && !memcmp(others[k], word, n))
            wbb_decline(r->cx, hlo_loc_at(r, at), WHY_TYPE, "element type %s", others[k]);
    wbb_fail(r->cx, hlo_loc_at(r, at), "unknown element type '%.*s'%s", (int)WBB_MIN(n, 40), word,
             hlo_suggest_type(r->cx->arena, word, n));
}

static const HloShape *read_array(HloReader *r)
{
    hlo_skip(r);
    const char *at = r->p;
    const char *word = NULL;
    size_t n = hlo_word(r, &word);
    HloShape *s = WBB_NEW(r->arena, HloShape);
    s->n_leaves = 1;
    s->type = n ? hlo_type_named(word, n) : SC_NONE;
    if (n == 0 || hlo_peek(r) != '[') {
        r->p = at;
        hlo_fail_expected(r, "a shape");
    }
    if (s->type == SC_NONE) refuse_type(r, at, word, n);
    read_dims(r, s);
    s->minor_to_major = hlo_default_layout(r->arena, s->rank);
    read_layout(r, s);
    return s;
}

const HloShape *hlo_read_shape(HloReader *r)
{
    int c = hlo_peek(r);
    if (c == '(') return read_tuple(r);
    if (c == 'b' && r->end - r->p > 1 && r->p[1] == '(') {
        r->p += 2;
        hlo_enter_level(r);
        HloShape *s = WBB_NEW(r->arena, HloShape);
        *s = *hlo_read_shape(r);
        s->buffer = true;
        hlo_expect(r, ')');
        r->depth--;
        return s;
    }
    return read_array(r);
}

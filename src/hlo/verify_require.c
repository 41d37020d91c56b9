/* verify_require: the checks that the functions of verify_*.c consist of.
 *
 * Needs: an instruction whose operands have shapes. Leaves: nothing, or the result's shape (hlo_set_result..: set if
 * the text has none, else compared); a wbb_fail at the instruction's location if a check fails.
 *
 *     hlo_require_shape(v, i, "operand 1", x, y)     error: add: operand 1 has shape f32[4], f32[8] expected
 */
#include "hlo/inner.h"

#include <stdio.h>
#include <string.h>

void hlo_invalid(HloVerifier *v, const HloInstruction *i, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wbb_fail(v->cx, i->loc, "%s: %s", hlo_opcode_text(i), text);
}

const char *hlo_short_shape(HloVerifier *v, const HloShape *s)
{
    return s->n_leaves > 8 ? wbb_format(v->scratch, "a tuple of %u arrays", s->n_leaves)
                           : hlo_shape_text(v->scratch, s);
}

const char *hlo_operand_name(HloVerifier *v, uint32_t k)
{
    static const char *const names[] = {"operand 0", "operand 1", "operand 2", "operand 3"};
    return k < WBB_LEN(names) ? names[k] : wbb_format(v->scratch, "operand %u", k);
}

/* Operands --------------------------------------------------------------------------------------------------------- */

void hlo_require_count(HloVerifier *v, const HloInstruction *i, uint32_t least, uint32_t most)
{
    uint32_t n = i->n_operands;
    if (n >= least && n <= most) return;
    if (least == most) hlo_invalid(v, i, "%u operands found, %u expected", n, least);
    if (n < least) hlo_invalid(v, i, "%u operands found, at least %u expected", n, least);
    hlo_invalid(v, i, "%u operands found, at most %u expected", n, most);
}

const HloShape *hlo_array_operand(HloVerifier *v, const HloInstruction *i, uint32_t k)
{
    if (i->n_operands <= k) hlo_require_count(v, i, k + 1, UINT32_MAX);
    const HloShape *s = i->operands[k]->shape;
    if (s->type == SC_TUPLE) hlo_invalid(v, i, "operand %u is a tuple, an array expected", k);
    return s;
}

const HloShape *hlo_operand_element(HloVerifier *v, const HloInstruction *i, int64_t index)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_require_type(v, i, "operand 0", s, SC_TUPLE);
    if (index < 0 || index >= s->n_elements)
        hlo_invalid(v, i, "element %lld of operand 0, a tuple of %u elements", (long long)index, s->n_elements);
    return s->elements[index];
}

static const char *kind_of(const char *classes)
{
    static const struct { const char *classes, *kind; } kinds[] = {
        {"F", "a float"}, {"FC", "a float or a complex"}, {"C", "a complex"}, {"IU", "an integer"}, {"U", "an unsigned integer"},
        {"PIU", "an integer or pred"}, {"IUF", "an integer or a float"}, {"IUFC", "a number"}, {"PIUF", "a real or pred"},
        {"PIUFC", "a number or pred"}, {"PIUFC-", "an array"},
    };
    for (size_t k = 0; k < WBB_LEN(kinds); k++)
        if (strcmp(kinds[k].classes, classes) == 0) return kinds[k].kind;
    return "another element";
}

void hlo_require_class(HloVerifier *v, const HloInstruction *i, uint32_t k, const char *classes)
{
    const HloShape *s = i->operands[k]->shape;
    if (s->type != SC_TUPLE && strchr(classes, sc_type_info[s->type].cls)) return;
    hlo_invalid(v, i, "operand %u has shape %s, %s type expected", k, hlo_short_shape(v, s), kind_of(classes));
}

void hlo_require_type(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type)
{
    if (s->type == type) return;
    hlo_invalid(v, i, "%s has shape %s, element type %s expected", what, hlo_short_shape(v, s),
                type == SC_TUPLE ? "tuple" : sc_type_info[type].hlo);
}

bool hlo_known_equal(const WbbMap *pairs, const HloShape *x, const HloShape *y)
{
    const HloShape *const pair[2] = {x, y};
    return wbb_map_get_bytes(pairs, pair, sizeof pair) != NULL;
}

void hlo_remember_equal(WbbMap *pairs, const HloShape *x, const HloShape *y)
{
    const HloShape *const pair[2] = {x, y};
    wbb_map_put_bytes(pairs, pair, sizeof pair);
}

/* Like hlo_same_shape, but does not walk a pair of tuples again that is known to be equal. */
static bool equal_shapes(HloVerifier *v, const HloShape *x, const HloShape *y)
{
    if (x == y) return true;
    if (x->type != SC_TUPLE || y->type != SC_TUPLE) return hlo_same_shape(x, y);
    if (x->n_elements != y->n_elements) return false;
    if (hlo_known_equal(&v->same, x, y)) return true;
    for (uint32_t k = 0; k < x->n_elements; k++)
        if (!equal_shapes(v, x->elements[k], y->elements[k])) return false;
    hlo_remember_equal(&v->same, x, y);
    return true;
}

void hlo_require_shape(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s,
                       const HloShape *expected)
{
    if (equal_shapes(v, s, expected)) return;
    hlo_invalid(v, i, "%s has shape %s, %s expected", what, hlo_short_shape(v, s), hlo_short_shape(v, expected));
}

void hlo_require_dims(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s,
                      const HloShape *expected)
{
    if (s->type != SC_TUPLE && hlo_same_dims(s, expected)) return;
    ScType type = s->type == SC_TUPLE ? expected->type : s->type;
    hlo_invalid(v, i, "%s has shape %s, %s expected", what, hlo_short_shape(v, s),
                hlo_shape_text(v->scratch, hlo_make_array(v->scratch, type, expected->rank, expected->dims)));
}

void hlo_require_scalar(HloVerifier *v, const HloInstruction *i, uint32_t k, ScType type)
{
    const HloShape *s = hlo_array_operand(v, i, k);
    if (s->rank || s->type != type)
        hlo_invalid(v, i, "operand %u has shape %s, %s[] expected", k, hlo_short_shape(v, s), sc_type_info[type].hlo);
}

void hlo_require_rank(HloVerifier *v, const HloInstruction *i, const char *name, uint32_t n, const HloShape *s)
{
    if (n != s->rank)
        hlo_invalid(v, i, "%s names %u dimensions, the operand %s has %u", name, n, hlo_short_shape(v, s), s->rank);
}

uint64_t hlo_require_dimensions(HloVerifier *v, const HloInstruction *i, const char *name, HloInts list, uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t k = 0; k < list.n; k++) {
        long long d = list.items[k];
        if (d < 0 || d >= rank) hlo_invalid(v, i, "%s names dimension %lld of %u", name, d, rank);
        if (seen >> d & 1) hlo_invalid(v, i, "%s names dimension %lld twice", name, d);
        seen |= UINT64_C(1) << d;
    }
    return seen;
}

int64_t hlo_require_dimension(HloVerifier *v, const HloInstruction *i, uint32_t rank)
{
    if (!i->dimensions)
        hlo_invalid(v, i, "the attribute dimensions= is missing");
    if (i->n_dimensions != 1) hlo_invalid(v, i, "dimensions names %u dimensions, one expected", i->n_dimensions);
    hlo_require_dimensions(v, i, "dimensions", (HloInts){i->dimensions, 1}, rank);
    return i->dimensions[0];
}

bool hlo_compatible_types(ScType type, ScType into) { return type == into || (sc_is_float(type) && sc_is_float(into)); }

/* The result ------------------------------------------------------------------------------------------------------- */

static const char *dims_text(HloVerifier *v, ScType type, uint32_t rank, const WbbI128 *dims)
{
    WbbBuf text = wbb_buf(v->scratch);
    wbb_put(&text, sc_type_info[type].hlo);
    wbb_put(&text, "[");
    for (uint32_t d = 0; d < rank; d++) {
        if (d) wbb_put(&text, ",");
        wbb_put_i128(&text, dims[d]);
    }
    wbb_put(&text, "]");
    return text.text;
}

void hlo_require_array(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s, ScType type,
                       uint32_t rank, const WbbI128 *dims)
{
    if (s->type == SC_TUPLE) hlo_invalid(v, i, "%s is a tuple, an array expected", what);
    hlo_require_type(v, i, what, s, type);
    bool right = s->rank == rank;
    for (uint32_t d = 0; right && d < rank; d++) right = s->dims[d] == dims[d];
    if (!right)
        hlo_invalid(v, i, "%s has shape %s, %s expected", what, hlo_short_shape(v, s), dims_text(v, type, rank, dims));
}

/* Bounds sizes like check_size of parse_shape.c. */
static const HloShape *make(HloVerifier *v, WbbArena *a, const HloInstruction *i, ScType type, uint32_t rank,
                            const WbbI128 *dims)
{
    int64_t sizes[HLO_RANK_LIMIT], size = sc_bytes(type) ? sc_bytes(type) : 1;
    if (rank > HLO_RANK_LIMIT) hlo_invalid(v, i, "the result would have %u dimensions", rank);
    for (uint32_t d = 0; d < rank; d++) {
        sizes[d] = (int64_t)dims[d];
        if (dims[d] < 0 || dims[d] > INT64_MAX || (sizes[d] && __builtin_mul_overflow(size, sizes[d], &size)))
            hlo_invalid(v, i, "the result would have more than 2^63 bytes: %s", dims_text(v, type, rank, dims));
    }
    return hlo_make_array(a, type, rank, sizes);
}

const HloShape *hlo_make_result(HloVerifier *v, const HloInstruction *i, ScType type, uint32_t rank,
                                const WbbI128 *dims)
{
    return make(v, i->shape ? v->scratch : v->arena, i, type, rank, dims);
}

void hlo_require_written_shape(HloVerifier *v, const HloInstruction *i)
{
    if (!i->shape) hlo_invalid(v, i, "its shape is missing and does not follow from its operands");
}

void hlo_set_result(HloVerifier *v, HloInstruction *i, ScType type, uint32_t rank, const WbbI128 *dims)
{
    if (i->shape) hlo_require_array(v, i, "the result", i->shape, type, rank, dims);
    else i->shape = make(v, v->arena, i, type, rank, dims);
}

void hlo_set_result_shape(HloVerifier *v, HloInstruction *i, const HloShape *s)
{
    if (i->shape) hlo_require_shape(v, i, "the result", i->shape, s);
    else i->shape = s;
}

void hlo_set_result_type(HloVerifier *v, HloInstruction *i, ScType type, const HloShape *dims_of)
{
    if (!i->shape) {
        i->shape = hlo_make_array(v->arena, type, dims_of->rank, dims_of->dims);
        return;
    }
    hlo_require_dims(v, i, "the result", i->shape, dims_of);
    hlo_require_type(v, i, "the result", i->shape, type);
}

void hlo_set_result_parts(HloVerifier *v, HloInstruction *i, uint32_t n, const HloShape *const *parts)
{
    if (n == 1) {
        hlo_set_result_shape(v, i, parts[0]);
        return;
    }
    if (i->shape) {
        bool right = i->shape->type == SC_TUPLE && i->shape->n_elements == n;
        if (!right)
            hlo_invalid(v, i, "the result has shape %s, a tuple of %u expected", hlo_short_shape(v, i->shape), n);
        for (uint32_t k = 0; k < n; k++)
            hlo_require_shape(v, i, wbb_format(v->scratch, "element %u of the result", k), i->shape->elements[k],
                              parts[k]);
        return;
    }
    const HloShape **kept = WBB_NEW_N(v->arena, const HloShape *, n);
    uint64_t leaves = 0;
    for (uint32_t k = 0; k < n; k++) {
        kept[k] = parts[k];
        leaves += parts[k]->n_leaves;
        if (parts[k]->depth >= HLO_NESTING_LIMIT)
            hlo_invalid(v, i, "nested more than %d levels deep", HLO_NESTING_LIMIT);
        if (leaves > HLO_LEAVES_LIMIT)
            hlo_invalid(v, i, "the result would be a tuple of more than %d arrays", HLO_LEAVES_LIMIT);
    }
    i->shape = hlo_make_tuple(v->arena, n, kept);
}

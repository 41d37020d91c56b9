/* hlo_pb_shape: ShapeProto, LayoutProto and LiteralProto.
 *
 * Needs a message. Leaves a shape that may be printed, and whose sizes do not overflow; whether its layout is a
 * permutation is the parser's to say. Of a literal leaves the values in row-major order: in the file they stand in the
 * order of the literal's own layout.
 *
 *     10 0b 1a 02 02 03 2a 04 0a 02 01 00     f32[2,3]{1,0}
 */
#include "hlo/proto.h"

#include <string.h>

/* By number of xla.PrimitiveType: the name in HLO text, and the field of LiteralProto that has its values. */
typedef enum { OF_NUMBERS, OF_FIXED, OF_BYTES, OF_PARTS /* of bytes */ } Values;
static const struct { uint8_t type; const char *name; uint8_t field; Values values; } types[] = {
    {1, "pred", 2, OF_NUMBERS},       {30, "s1", 30, OF_PARTS},         {26, "s2", 26, OF_PARTS},
    {21, "s4", 21, OF_PARTS},         {2, "s8", 15, OF_BYTES},          {3, "s16", 17, OF_BYTES},
    {4, "s32", 4, OF_NUMBERS},        {5, "s64", 5, OF_NUMBERS},        {31, "u1", 31, OF_PARTS},
    {27, "u2", 27, OF_PARTS},         {22, "u4", 22, OF_PARTS},         {6, "u8", 3, OF_BYTES},
    {7, "u16", 16, OF_BYTES},         {8, "u32", 6, OF_NUMBERS},        {9, "u64", 7, OF_NUMBERS},
    {10, "f16", 11, OF_BYTES},        {11, "f32", 8, OF_FIXED},         {16, "bf16", 13, OF_BYTES},
    {12, "f64", 9, OF_FIXED},         {19, "f8e5m2", 19, OF_BYTES},     {28, "f8e4m3", 28, OF_BYTES},
    {20, "f8e4m3fn", 20, OF_BYTES},   {23, "f8e4m3b11fnuz", 23, OF_BYTES}, {29, "f8e3m4", 29, OF_BYTES},
    {24, "f8e5m2fnuz", 24, OF_BYTES}, {25, "f8e4m3fnuz", 25, OF_BYTES}, {32, "f4e2m1fn", 32, OF_PARTS},
    {33, "f8e8m0fnu", 33, OF_BYTES},  {35, "f6e3m2fn", 35, OF_BYTES},   {36, "f6e2m3fn", 36, OF_BYTES},
    {15, "c64", 12, OF_FIXED},        {18, "c128", 18, OF_FIXED},       {14, "opaque", 0, OF_BYTES},
    {17, "token", 0, OF_BYTES},
};
enum { TYPE_TUPLE = 13, TYPE_BUFFER = 34 };

static size_t row_of(const HloPb *shape, int64_t type)
{
    for (size_t k = 0; k < WBB_LEN(types); k++)
        if (types[k].type == type) return k;
    hlo_pb_fail(shape->file, shape->at, "no element type has the number %lld", (long long)type);
}

static ScType type_of(const HloPb *shape, int64_t number)
{
    const char *name = types[row_of(shape, number)].name;
    const ScType t = hlo_type_named(name, strlen(name));
    if (t == SC_NONE) hlo_pb_fail(shape->file, shape->at, "arrays of %s are not known here", name);
    return t;
}

static void put_field(WbbBuf *out, const char *name, const HloPb *layout, uint32_t number, int64_t normal)
{
    const int64_t value = hlo_pb_int(layout, number);
    if (value && value != normal) wbb_putf(out, "%s(%lld)", name, (long long)value);
}

/* What stands behind the ':' of a layout; none of it is compiled, but the reader of the text says so. */
static const char *tiling_of(const HloPb *layout)
{
    static const uint16_t known[] = {1, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0};
    static const char *const levels[] = {"D", "C", "S", "H"};
    hlo_pb_check_known(layout, known, "a layout");
    WbbBuf out = wbb_buf(layout->file->arena);
    uint32_t n;
    const int64_t *level = hlo_pb_ints(layout, 9, &n);
    bool dense = true;
    for (uint32_t k = 0; k < n; k++) dense = dense && level[k] == 0;
    for (uint32_t k = 0; !dense && k < n; k++)
        wbb_putf(&out, "%s%s", k ? "," : "D(", levels[level[k] & 3]);
    wbb_put(&out, dense ? "" : ")");
    uint32_t at = 0, tiles = 0;
    for (const HloPbField *x; (x = hlo_pb_next(layout, 6, &at)); tiles++) {
        const HloPb tile = hlo_pb_of(layout, x);
        hlo_pb_put_list(&out, tiles ? "(" : "T(", &tile, 1, ")", 0);
    }
    put_field(&out, "L", layout, 16, 1);
    put_field(&out, "E", layout, 7, 0);
    put_field(&out, "S", layout, 8, 0);
    if (hlo_pb_has(layout, 10)) wbb_put(&out, "P(..)");
    if (hlo_pb_has(layout, 17)) wbb_put(&out, "SC(..)");
    put_field(&out, "M", layout, 15, 0);
    return out.n ? out.text : NULL;
}

static void read_layout(const HloPb *m, HloShape *s)
{
    if (!hlo_pb_field(m, 5, PB_BYTES)) return;
    const HloPb layout = hlo_pb_inner(m, 5);
    uint32_t n;
    const int64_t *order = hlo_pb_ints(&layout, 1, &n);
    uint8_t *kept = WBB_NEW_N(m->file->arena, uint8_t, s->rank + 1u);
    if (n != s->rank) hlo_pb_fail(m->file, layout.at, "a layout of %u dimensions for %u", n, s->rank);
    uint64_t seen = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (order[k] < 0 || order[k] >= n || (seen >> order[k] & 1))
            hlo_pb_fail(m->file, layout.at, "the layout is no permutation of the dimensions");
        seen |= UINT64_C(1) << order[k];
        kept[k] = (uint8_t)order[k];
    }
    s->minor_to_major = kept;
    s->tiling = tiling_of(&layout);
    s->has_layout = n > 0 || s->tiling;
}

static const HloShape *read_array(const HloPb *m, int64_t type)
{
    uint32_t n, marks;
    const int64_t *dims = hlo_pb_ints(m, 3, &n), *dynamic = hlo_pb_ints(m, 6, &marks);
    if (n > HLO_RANK_LIMIT) hlo_pb_fail(m->file, m->at, "a shape has more than %d dimensions", HLO_RANK_LIMIT);
    int64_t size = 16; /* bytes of the largest element */
    for (uint32_t d = 0; d < n; d++) {
        if (dims[d] < 0) hlo_pb_fail(m->file, m->at, "a dimension is negative: %lld", (long long)dims[d]);
        if (dims[d] && __builtin_mul_overflow(size, dims[d], &size))
            hlo_pb_fail(m->file, m->at, "dimension product overflows");
    }
    HloShape *s = WBB_NEW(m->file->arena, HloShape);
    *s = *hlo_make_array(m->file->arena, type_of(m, type), n, dims);
    for (uint32_t d = 0; d < marks && d < n; d++) s->dynamic |= (uint64_t)(dynamic[d] != 0) << d;
    read_layout(m, s);
    return s;
}

/* Recurses at most HLO_NESTING_LIMIT levels. */
const HloShape *hlo_pb_shape(const HloPb *m)
{
    static const uint16_t known[] = {2, 3, 4, 5, 6, 0};
    hlo_pb_check_known(m, known, "a shape");
    const int64_t type = hlo_pb_int(m, 2);
    if (type != TYPE_TUPLE && type != TYPE_BUFFER) return read_array(m, type);
    HloPbFile *f = m->file;
    if (++f->depth > HLO_NESTING_LIMIT) hlo_pb_fail(f, m->at, "shapes are nested more than %d deep", HLO_NESTING_LIMIT);
    struct { const HloShape **items; uint32_t n, capacity; } list = {0};
    uint32_t at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, 4, &at));) {
        const HloPb part = hlo_pb_of(m, x);
        WBB_PUSH(f->arena, &list, hlo_pb_shape(&part));
    }
    f->depth--;
    if (type == TYPE_TUPLE) return hlo_make_tuple(f->arena, list.n, list.items);
    if (list.n != 1) hlo_pb_fail(f, m->at, "a buffer of %u shapes, 1 expected", list.n);
    HloShape *s = WBB_NEW(f->arena, HloShape);
    *s = *list.items[0];
    s->buffer = true;
    return s;
}

void hlo_pb_put_program_shape(WbbBuf *out, const HloPb *m)
{
    uint32_t at = 0, n = 0;
    wbb_put(out, "(");
    for (const HloPbField *x; (x = hlo_pb_next(m, 1, &at)); n++) {
        const HloPb s = hlo_pb_of(m, x);
        if (n) wbb_put(out, ", ");
        hlo_print_shape(out, hlo_pb_shape(&s));
    }
    wbb_put(out, ")->");
    const HloPb result = hlo_pb_inner(m, 2);
    hlo_print_shape(out, hlo_pb_shape(&result));
}

/* --- literals -------------------------------------------------------------------------------------------------- */

/* n values of `size` bytes each, in the order of the file; NULL: none are there, as of a literal that was left out. */
static const uint8_t *values_of(const HloPb *m, size_t row, ScType t, size_t n)
{
    const uint32_t size = sc_bytes(t), bits = sc_type_info[t].bits, field = types[row].field;
    size_t found = 0;
    uint8_t *out = NULL;
    const uint8_t *given = NULL;
    if (types[row].values == OF_NUMBERS) {
        uint32_t count;
        const int64_t *values = hlo_pb_ints(m, field, &count);
        out = WBB_NEW_N(m->file->arena, uint8_t, (size_t)count * size + 1);
        for (size_t k = 0; k < count; k++)
            for (uint32_t b = 0; b < size; b++)
                out[k * size + b] = t == SC_PRED ? values[k] != 0 : (uint8_t)((uint64_t)values[k] >> 8 * b);
        given = out, found = count;
    } else if (types[row].values == OF_FIXED) {
        const uint32_t part = t == SC_F64 || t == SC_C128 ? 8 : 4;
        given = hlo_pb_fixed(m, field, part, &found);
        found = found * part / size;
    } else {
        const HloPbField *x = hlo_pb_field(m, field, PB_BYTES);
        given = x ? x->at : (const uint8_t *)"", found = x ? x->n / size : 0;
        const uint32_t parts = types[row].values == OF_PARTS ? 8 / bits : 1;
        if (parts > 1 && x && x->n == (n + parts - 1) / parts) {
            out = WBB_NEW_N(m->file->arena, uint8_t, n + 1);
            for (size_t k = 0; k < n; k++)
                out[k] = (uint8_t)(given[k / parts] >> bits * (k % parts)) & (uint8_t)((1u << bits) - 1);
            given = out, found = n;
        }
    }
    if (n == 0) return wbb_alloc(m->file->arena, 16); /* not NULL */
    if (found == 0) return NULL;
    if (found != n)
        hlo_pb_fail(m->file, m->at, "a literal has %zu values, %zu of type %s expected", found, n,
                   sc_type_info[t].hlo);
    return given;
}

/* From the order of the layout to the row-major one. */
static const uint8_t *in_order(WbbArena *a, const HloShape *s, const uint8_t *values, size_t n)
{
    const uint32_t size = sc_bytes(s->type);
    bool already = true;
    for (uint32_t k = 0; k < s->rank; k++) already = already && s->minor_to_major[k] == s->rank - 1 - k;
    if (already) return values;
    size_t weight[HLO_RANK_LIMIT]; /* of a dimension in the row-major order */
    for (size_t d = s->rank, w = 1; d-- > 0; w *= (size_t)s->dims[d]) weight[d] = w;
    uint8_t *out = WBB_NEW_N(a, uint8_t, n * size + 1);
    int64_t index[HLO_RANK_LIMIT] = {0};
    for (size_t k = 0, to = 0; k < n; k++) {
        memcpy(out + to * size, values + k * size, size);
        for (uint32_t q = 0; q < s->rank; q++) {
            const uint32_t d = s->minor_to_major[q];
            to += weight[d];
            if (++index[d] < s->dims[d]) break;
            to -= weight[d] * (size_t)s->dims[d];
            index[d] = 0;
        }
    }
    return out;
}

static void read_values(const HloPb *m, HloInstruction *i)
{
    const HloPb shape = hlo_pb_inner(m, 1);
    const HloShape *s = hlo_pb_shape(&shape);
    if (!hlo_same_shape(s, i->shape)) hlo_pb_fail(m->file, m->at, "the literal has another shape than its constant");
    if (s->tiling && strchr(s->tiling, 'T')) hlo_pb_fail(m->file, m->at, "a literal in tiles");
    const size_t row = row_of(&shape, hlo_pb_int(&shape, 2));
    if (!types[row].field) hlo_pb_fail(m->file, m->at, "type %s has no values", types[row].name);
    const size_t n = (size_t)hlo_elements(s);
    if (n > HLO_LITERAL_LIMIT / sc_bytes(s->type)) hlo_pb_fail(m->file, m->at, "a literal is larger than 2^29 bytes");
    const uint8_t *values = values_of(m, row, s->type, n);
    if (values) values = in_order(m->file->arena, s, values, n);
    bool splat = values && n > 1;
    for (size_t k = 1, size = sc_bytes(s->type); splat && k < n; k++)
        splat = memcmp(values, values + k * size, size) == 0;
    i->literal = values;
    i->literal_splat = splat;
}

/* Of a tuple: its text, (1, {2, 3}). Recurses at most HLO_NESTING_LIMIT levels. */
static void put_parts(WbbBuf *out, const HloPb *m, const HloShape *s)
{
    HloPbFile *f = m->file;
    if (++f->depth > HLO_NESTING_LIMIT) hlo_pb_fail(f, m->at, "literals are nested too deep");
    uint32_t at = 0, n = 0;
    wbb_put(out, "(");
    for (const HloPbField *x; (x = hlo_pb_next(m, 10, &at)); n++) {
        const HloPb part = hlo_pb_of(m, x);
        if (n == s->n_elements) hlo_pb_fail(f, m->at, "a literal has more parts than its shape");
        HloInstruction element = {.opcode = HLO_CONSTANT, .shape = s->elements[n]};
        if (n) wbb_put(out, ", ");
        if (element.shape->type == SC_TUPLE) put_parts(out, &part, element.shape);
        else {
            read_values(&part, &element);
            hlo_put_literal(out, &element);
        }
    }
    wbb_put(out, ")");
    f->depth--;
    if (n != s->n_elements) hlo_pb_fail(f, m->at, "a literal has fewer parts than its shape");
}

void hlo_pb_literal(const HloPb *m, HloInstruction *i)
{
    static const uint16_t known[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 15, 16, 17, 18, 19,
                                     20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 36, 0};
    hlo_pb_check_known(m, known, "a literal");
    if (i->shape->type != SC_TUPLE) {
        read_values(m, i);
        return;
    }
    WbbBuf out = wbb_buf(m->file->arena);
    put_parts(&out, m, i->shape);
    i->literal_text = out.text;
}

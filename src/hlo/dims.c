/* dims: attributes that are kept as text, as numbers; above all those that give dimensions their roles.
 *
 * Needs: a parsed instruction. The verifier checks what is read here, so in a verified HLO module every number is in
 * range. Leaves: a struct for each family of operations, with its lists in the given arena.
 *
 * An absent attribute has its default: an empty list, 1 group, false.
 *
 *     convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f
 *         hlo_conv_dims: lhs_batch 0, lhs_feature 3, rhs_input 2, rhs_output 3,
 *                        lhs_spatial {1, 2}, rhs_spatial {0, 1}, ..
 */
#include "hlo/inner.h"

#include <stdlib.h>
#include <string.h>

/* The end of the value that begins at p: its ',' or the end of the text. Brackets and strings balance. */
static const char *skip_value(const char *p)
{
    int depth = 0;
    for (; *p && !(depth == 0 && *p == ','); p++) {
        if (*p == '(' || *p == '[' || *p == '{') depth++;
        if (*p == ')' || *p == ']' || *p == '}') depth--;
        if (*p != '"') continue;
        for (p++; *p && *p != '"'; p++)
            if (*p == '\\' && p[1]) p++;
        if (!*p) break;
    }
    return p;
}

bool hlo_next_attribute(const char **p, HloAttribute *at)
{
    if ((*p)[0] != ',') return false;
    at->name = *p + 2;
    at->n_name = strcspn(at->name, "=");
    at->value = at->name + at->n_name + (at->name[at->n_name] == '=');
    *p = skip_value(at->value);
    at->n_value = (size_t)(*p - at->value);
    return true;
}

const char *hlo_attribute(WbbArena *a, const HloInstruction *i, const char *name)
{
    size_t n = strlen(name);
    HloAttribute at;
    for (const char *p = i->attributes; hlo_next_attribute(&p, &at);) {
        if (at.n_name != n || memcmp(at.name, name, n) != 0) continue;
        char *value = wbb_alloc(a, at.n_value + 1);
        memcpy(value, at.value, at.n_value);
        return value;
    }
    return NULL;
}

const char *hlo_attributes_without(WbbArena *a, const HloInstruction *i, const char *const *names)
{
    WbbBuf b = wbb_buf(a);
    HloAttribute at;
    for (const char *p = i->attributes, *from = p; hlo_next_attribute(&p, &at); from = p) {
        bool named = false;
        for (const char *const *name = names; *name; name++)
            named |= strlen(*name) == at.n_name && memcmp(*name, at.name, at.n_name) == 0;
        if (!named) wbb_put_n(&b, from, (size_t)(p - from));
    }
    return b.text;
}

const int64_t *hlo_attribute_ints(WbbArena *a, const HloInstruction *i, const char *name, uint32_t *n)
{
    const char *p = hlo_attribute(a, i, name);
    struct { int64_t *items; uint32_t n, capacity; } list = {0};
    *n = 0;
    if (!p) return NULL;
    bool braces = *p == '{';
    p += braces;
    while (*p == ' ') p++;
    while (*p && *p != '}') {
        bool negative = *p == '-';
        int64_t value = 0;
        p += negative;
        if (*p < '0' || *p > '9') return NULL;
        for (; *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p - '0', &value))
                return NULL;
        WBB_PUSH(a, &list, negative ? -value : value);
        while (*p == ' ') p++;
        if (*p == ',' && braces) p++;
        else if (*p != (braces ? '}' : 0)) return NULL;
        while (*p == ' ') p++;
    }
    *n = list.n;
    return list.items ? list.items : wbb_alloc(a, sizeof(int64_t));
}

int64_t hlo_attribute_int(WbbArena *a, const HloInstruction *i, const char *name, int64_t otherwise)
{
    uint32_t n = 0;
    const int64_t *value = hlo_attribute_ints(a, i, name, &n);
    return n == 1 ? value[0] : otherwise;
}

bool hlo_attribute_true(WbbArena *a, const HloInstruction *i, const char *name)
{
    const char *value = hlo_attribute(a, i, name);
    return value && strcmp(value, "true") == 0;
}

double hlo_attribute_f64(WbbArena *a, const HloInstruction *i, const char *name, double otherwise)
{
    const char *value = hlo_attribute(a, i, name);
    char *end = NULL;
    double x = value ? strtod(value, &end) : 0;
    return value && end != value && *end == 0 ? x : otherwise;
}

static HloInts ints(WbbArena *a, const HloInstruction *i, const char *name)
{
    static const int64_t none[1];
    HloInts list = {none, 0};
    uint32_t n = 0;
    const int64_t *items = hlo_attribute_ints(a, i, name, &n);
    if (items) list = (HloInts){items, n};
    return list;
}

bool hlo_holds(HloInts list, int64_t n)
{
    for (uint32_t k = 0; k < list.n; k++)
        if (list.items[k] == n) return true;
    return false;
}

bool hlo_counts_up(HloInts list, int64_t from, uint32_t n)
{
    if (list.n != n) return false;
    for (uint32_t k = 0; k < n; k++)
        if (list.items[k] != from + k) return false;
    return true;
}

HloDotDims hlo_dot_dims(WbbArena *a, const HloInstruction *i)
{
    return (HloDotDims){
        .lhs_batch = ints(a, i, "lhs_batch_dims"),
        .rhs_batch = ints(a, i, "rhs_batch_dims"),
        .lhs_contracting = ints(a, i, "lhs_contracting_dims"),
        .rhs_contracting = ints(a, i, "rhs_contracting_dims"),
    };
}

static int64_t size_of(const HloShape *s, uint32_t first, uint32_t n)
{
    int64_t size = 1;
    for (uint32_t d = first; d < first + n; d++) size *= s->dims[d];
    return size;
}

HloProduct hlo_product(WbbArena *a, const HloInstruction *dot)
{
    const HloDotDims d = hlo_dot_dims(a, dot);
    const HloShape *lhs = dot->operands[0]->shape;
    HloProduct p = {.n_batch = d.lhs_batch.n, .n_rows = lhs->rank - d.lhs_batch.n - d.lhs_contracting.n, .depth = 1};
    p.n_columns = dot->shape->rank - p.n_batch - p.n_rows;
    for (uint32_t k = 0; k < d.lhs_contracting.n; k++) p.depth *= lhs->dims[d.lhs_contracting.items[k]];
    p.batches = size_of(dot->shape, 0, p.n_batch);
    p.rows = size_of(dot->shape, p.n_batch, p.n_rows);
    p.columns = size_of(dot->shape, p.n_batch + p.n_rows, p.n_columns);
    return p;
}

bool hlo_is_matrix_product(WbbArena *a, const HloInstruction *i)
{
    if (i->opcode != HLO_DOT || i->n_operands != 2) return false;
    const ScType x = i->operands[0]->shape->type, to = i->shape->type;
    const bool halves = (x == SC_F16 || x == SC_BF16) && i->operands[1]->shape->type == x;
    if (!halves || (to != SC_F32 && to != x)) return false;
    const HloProduct p = hlo_product(a, i);
    return p.batches && p.rows >= HLO_LIMIT_MATRIX_LEAST && p.columns >= HLO_LIMIT_MATRIX_LEAST &&
           p.depth >= HLO_LIMIT_MATRIX_DEPTH;
}

HloGatherDims hlo_gather_dims(WbbArena *a, const HloInstruction *i)
{
    return (HloGatherDims){
        .offset = ints(a, i, "offset_dims"),
        .collapsed = ints(a, i, "collapsed_slice_dims"),
        .start_map = ints(a, i, "start_index_map"),
        .operand_batching = ints(a, i, "operand_batching_dims"),
        .indices_batching = ints(a, i, "start_indices_batching_dims"),
        .slice_sizes = ints(a, i, "slice_sizes"),
        .index_vector_dim = hlo_attribute_int(a, i, "index_vector_dim", -1),
        .sorted = hlo_attribute_true(a, i, "indices_are_sorted"),
    };
}

const char *hlo_neighbours_attribute(WbbArena *a, int64_t n)
{
    const char *text = n == HLO_SOME ? "some" : wbb_format(a, "%lld", (long long)n);
    return n ? wbb_format(a, ", frontend_attributes={equal_neighbours=\"%s\"}", text) : "";
}

bool hlo_contracts(const HloInstruction *i) { return i->opcode == HLO_MULTIPLY && i->permits & SC_FLAG_CONTRACT; }

int64_t hlo_noted_neighbours(WbbArena *a, const HloInstruction *i)
{
    static const char name[] = "equal_neighbours=\"";
    const char *value = hlo_attribute(a, i, "frontend_attributes");
    const char *at = value ? strstr(value, name) : NULL;
    if (!at) return hlo_attribute_true(a, i, "indices_are_sorted") ? HLO_SOME : 0;
    at += strlen(name);
    if (!strncmp(at, "some\"", 5)) return HLO_SOME;
    const long long n = strtoll(at, NULL, 10);
    return n > 1 ? n : 0;
}

HloScatterDims hlo_scatter_dims(WbbArena *a, const HloInstruction *i)
{
    return (HloScatterDims){
        .update_window = ints(a, i, "update_window_dims"),
        .inserted_window = ints(a, i, "inserted_window_dims"),
        .operand_map = ints(a, i, "scatter_dims_to_operand_dims"),
        .input_batching = ints(a, i, "input_batching_dims"),
        .indices_batching = ints(a, i, "scatter_indices_batching_dims"),
        .index_vector_dim = hlo_attribute_int(a, i, "index_vector_dim", -1),
        .sorted = hlo_attribute_true(a, i, "indices_are_sorted"),
        .unique = hlo_attribute_true(a, i, "unique_indices"),
        .neighbours = hlo_noted_neighbours(a, i),
    };
}

/* Reads the labels of one array, up to `until`; digits are spatial dimensions, and letters[0] and letters[1] ("bf" or
 * "io") give `first` and `second`. Returns the end of the labels; NULL if a label is missing, repeated or unknown. */
static const char *read_labels(const char *p, char until, const char *letters, int8_t *first, int8_t *second,
                               HloConvDims *c, uint8_t *spatial, uint32_t *n)
{
    uint32_t seen = 0, rank = 0;
    *first = *second = -1;
    for (; *p && *p != until; p++, rank++) {
        if (rank == HLO_CONV_SPATIAL + 2) return NULL;
        if (*p == letters[0] && *first < 0) *first = (int8_t)rank;
        else if (*p == letters[1] && *second < 0) *second = (int8_t)rank;
        else if (*p >= '0' && *p < '0' + HLO_CONV_SPATIAL && !(seen >> (*p - '0') & 1)) {
            seen |= 1u << (*p - '0');
            spatial[*p - '0'] = (uint8_t)rank;
        } else return NULL;
    }
    *n = rank;
    bool complete = *p == until && *first >= 0 && *second >= 0 && seen == (1u << (rank - 2)) - 1;
    if (!complete) return NULL;
    if (c->n_spatial != rank - 2 && c->n_spatial) return NULL;
    c->n_spatial = rank - 2;
    return p;
}

HloConvDims hlo_conv_dims(WbbArena *a, const HloInstruction *i)
{
    HloConvDims c = {.feature_groups = hlo_attribute_int(a, i, "feature_group_count", 1),
                     .batch_groups = hlo_attribute_int(a, i, "batch_group_count", 1)};
    const char *p = hlo_attribute(a, i, "dim_labels");
    uint32_t lhs = 0, rhs = 0, out = 0;
    if (!p) return c;
    p = read_labels(p, '_', "bf", &c.lhs_batch, &c.lhs_feature, &c, c.lhs_spatial, &lhs);
    if (p) p = read_labels(p + 1, '-', "io", &c.rhs_input, &c.rhs_output, &c, c.rhs_spatial, &rhs);
    if (p && p[1] == '>') p = read_labels(p + 2, 0, "bf", &c.out_batch, &c.out_feature, &c, c.out_spatial, &out);
    else p = NULL;
    c.known = p && lhs == rhs && rhs == out;
    return c;
}

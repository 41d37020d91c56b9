/* proto_instruction: HloInstructionProto as an instruction that can be printed.
 *
 * Needs the message. Leaves opcode, shape, the attributes that HloInstruction has fields for, and all others as text.
 * Whether they fit the operation is for the reader of the text to say. What no result depends on (features.def) and is
 * long in the text is left out: statistics, origins, what XLA's own tools noted.
 *
 *     opcode "reduce", dimensions 1, called computation 7     ->     reduce(..), dimensions={1}, to_apply=..
 */
#include "hlo/proto.h"

#include <string.h>

/* Numbers of fields that are read here, by proto.c, or not at all. */
static const uint16_t known_fields[] = {
    1,  2,  3,  7,  8,  9,  11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
    35, 36, 37, 38, 40, 43, 45, 47, 48, 49, 50, 51, 52, 54, 55, 56, 57, 58, 59, 60, 62, 63, 65, 66, 67, 68, 69, 70, 71,
    72, 74, 75, 77, 79, 81, 85, 87, 90, 91, 92, 93, 94, 95, 96,
    61 /* parameter_replication */, 73, 80 /* prefetches of other programs */, 76 /* schedule of a custom call */,
    82 /* statistics */, 88 /* original_value */, 89 /* is_composite */, 97 /* convolution_kind */,
    99 /* backend_config_payload */, 0};

/* Attributes of one number or flag: the field, the name, and what stands for 0. */
static const struct { uint16_t field; const char *name; bool flag; } numbers[] = {
    {25, "feature_index", false},        {47, "is_host_transfer", true},
    {50, "feature_group_count", false},  {56, "constrain_layout", true},    {58, "batch_group_count", false},
    {60, "is_stable", true},             {65, "custom_call_has_side_effect", true}, {66, "delta", false},
    {67, "indices_are_sorted", true},    {69, "unique_indices", true},      {71, "use_global_device_ids", true},
    {81, "k", false},                    {85, "largest", true},             {94, "is_reverse", true},
    {95, "num_carries", false},
};

typedef struct {
    const HloPb *m;
    HloInstruction *i;
    WbbBuf text; /* of attributes */
} Reader;

static const char *named(const HloPb *m, uint32_t field, const char *const *names, size_t n, const char *what)
{
    const int64_t value = hlo_pb_int(m, field);
    if (value < 0 || (uint64_t)value >= n)
        hlo_pb_fail(m->file, m->at, "no %s has the number %lld", what, (long long)value);
    return names[value];
}

static void read_window(Reader *r)
{
    const HloPbField *x;
    if (!hlo_pb_field(r->m, 15, PB_BYTES)) return;
    const HloPb window = hlo_pb_inner(r->m, 15);
    struct { HloWindow *items; uint32_t n, capacity; } list = {0};
    for (uint32_t at = 0; (x = hlo_pb_next(&window, 1, &at));) {
        const HloPb d = hlo_pb_of(&window, x);
        const HloWindow w = {.size = hlo_pb_int(&d, 1), .stride = hlo_pb_int(&d, 2), .low = hlo_pb_int(&d, 3),
                             .high = hlo_pb_int(&d, 4), .rhs_dilate = hlo_pb_int(&d, 5),
                             .lhs_dilate = hlo_pb_int(&d, 6), .reversal = hlo_pb_int(&d, 7) != 0};
        if (list.n == HLO_RANK_LIMIT)
            hlo_pb_fail(r->m->file, window.at, "a window has more than %d dimensions", HLO_RANK_LIMIT);
        WBB_PUSH(r->m->file->arena, &list, w);
    }
    r->i->windows = list.items ? list.items : WBB_NEW(r->m->file->arena, HloWindow);
    r->i->n_windows = list.n;
}

static void read_slices(Reader *r)
{
    const HloPbField *x;
    struct { HloSlice *items; uint32_t n, capacity; } list = {0};
    for (uint32_t at = 0; (x = hlo_pb_next(r->m, 17, &at));) {
        const HloPb d = hlo_pb_of(r->m, x);
        const HloSlice s = {.start = hlo_pb_int(&d, 1), .limit = hlo_pb_int(&d, 2), .stride = hlo_pb_int(&d, 3)};
        WBB_PUSH(r->m->file->arena, &list, s);
    }
    if (!list.n && r->i->opcode != HLO_SLICE) return;
    r->i->slices = list.items ? list.items : WBB_NEW(r->m->file->arena, HloSlice);
    r->i->n_windows = list.n;
}

static void read_paddings(Reader *r)
{
    const HloPbField *x;
    if (!hlo_pb_field(r->m, 21, PB_BYTES)) return;
    const HloPb config = hlo_pb_inner(r->m, 21);
    struct { HloPadding *items; uint32_t n, capacity; } list = {0};
    for (uint32_t at = 0; (x = hlo_pb_next(&config, 1, &at));) {
        const HloPb d = hlo_pb_of(&config, x);
        const HloPadding p = {.low = hlo_pb_int(&d, 1), .high = hlo_pb_int(&d, 2), .interior = hlo_pb_int(&d, 3)};
        WBB_PUSH(r->m->file->arena, &list, p);
    }
    r->i->paddings = list.items ? list.items : WBB_NEW(r->m->file->arena, HloPadding);
    r->i->n_windows = list.n;
}

/* XLA has the number of an iota's dimension here, and of a reshape the size that it infers. */
static void read_dimensions(Reader *r)
{
    uint32_t n;
    const int64_t *dims = hlo_pb_ints(r->m, 14, &n);
    HloInstruction *i = r->i;
    if (i->opcode == HLO_IOTA) i->number = n ? dims[0] : 0;
    if (i->opcode == HLO_IOTA || i->opcode == HLO_RESHAPE || i->opcode == HLO_DYNAMIC_RESHAPE) return;
    const char *first = hlo_op_info[i->opcode].needs[0];
    const bool needed = first && !strcmp(first, "dimensions");
    const bool always = needed || i->opcode == HLO_BROADCAST || i->opcode == HLO_MAP;
    if (!n && !always) return;
    i->dimensions = n ? dims : WBB_NEW(r->m->file->arena, int64_t);
    i->n_dimensions = n;
}

static void read_comparison(Reader *r)
{
    if (r->i->opcode != HLO_COMPARE) return;
    const char *direction = hlo_pb_text(r->m, 63), *type = hlo_pb_text(r->m, 72);
    size_t k = 0;
    while (k < WBB_LEN(hlo_direction_names) && strcmp(hlo_direction_names[k], direction) != 0) k++;
    if (k == WBB_LEN(hlo_direction_names))
        hlo_pb_fail(r->m->file, r->m->at, "'%.20s' is no direction of a comparison", direction);
    r->i->direction = (HloDirection)k;
    r->i->total_order = !strcmp(type, "TOTALORDER");
    if (*type && !r->i->total_order && strcmp(type, "FLOAT") && strcmp(type, "SIGNED") && strcmp(type, "UNSIGNED"))
        hlo_pb_fail(r->m->file, r->m->at, "'%.20s' is no type of a comparison", type);
}

static void put_text(Reader *r, const char *name, uint32_t field)
{
    const HloPbField *x = hlo_pb_field(r->m, field, PB_BYTES);
    if (!x || !x->n) return;
    wbb_putf(&r->text, ", %s=", name);
    hlo_pb_put_quoted(&r->text, (const char *)x->at, x->n);
}

static void put_backend_config(Reader *r)
{
    const HloPbField *x = hlo_pb_field(r->m, 43, PB_BYTES);
    if (!x || !x->n) return;
    wbb_put(&r->text, ", backend_config=");
    hlo_pb_put_value(&r->text, (const char *)x->at, x->n);
}

static void put_dots(Reader *r)
{
    const bool ragged = hlo_pb_field(r->m, 90, PB_BYTES) != NULL;
    if (!ragged && !hlo_pb_field(r->m, 30, PB_BYTES)) return;
    const HloPb outer = hlo_pb_inner(r->m, 90), dims = ragged ? hlo_pb_inner(&outer, 1) : hlo_pb_inner(r->m, 30);
    if (hlo_pb_has(&dims, 3)) hlo_pb_put_ints(&r->text, "lhs_batch_dims", &dims, 3);
    hlo_pb_put_ints(&r->text, "lhs_contracting_dims", &dims, 1);
    if (hlo_pb_has(&dims, 4)) hlo_pb_put_ints(&r->text, "rhs_batch_dims", &dims, 4);
    hlo_pb_put_ints(&r->text, "rhs_contracting_dims", &dims, 2);
    if (!ragged) return;
    hlo_pb_put_ints(&r->text, "lhs_ragged_dims", &outer, 2);
    hlo_pb_put_ints(&r->text, "rhs_group_dims", &outer, 3);
}

/* One side of dim_labels: at each dimension of the array what it is. */
static void put_labels(Reader *r, const HloPb *dims, char first, int64_t first_at, char second, int64_t second_at,
                       uint32_t spatial)
{
    char labels[HLO_RANK_LIMIT];
    uint32_t n;
    const int64_t *at = hlo_pb_ints(dims, spatial, &n);
    if (n > 10) hlo_pb_fail(dims->file, dims->at, "a convolution of %u dimensions", n);
    memset(labels, '?', sizeof labels);
    if (first_at < 0 || first_at >= n + 2 || second_at < 0 || second_at >= n + 2)
        hlo_pb_fail(dims->file, dims->at, "a convolution has no such dimension");
    labels[first_at] = first;
    labels[second_at] = second;
    for (uint32_t k = 0; k < n; k++) {
        if (at[k] < 0 || at[k] >= n + 2) hlo_pb_fail(dims->file, dims->at, "a convolution has no such dimension");
        labels[at[k]] = (char)('0' + k);
    }
    wbb_put_n(&r->text, labels, n + 2);
}

static void put_convolution(Reader *r)
{
    if (!hlo_pb_field(r->m, 16, PB_BYTES)) return;
    const HloPb d = hlo_pb_inner(r->m, 16);
    wbb_put(&r->text, ", dim_labels=");
    put_labels(r, &d, 'b', hlo_pb_int(&d, 7), 'f', hlo_pb_int(&d, 8), 11);
    wbb_put(&r->text, "_");
    put_labels(r, &d, 'i', hlo_pb_int(&d, 3), 'o', hlo_pb_int(&d, 4), 6);
    wbb_put(&r->text, "->");
    put_labels(r, &d, 'b', hlo_pb_int(&d, 9), 'f', hlo_pb_int(&d, 10), 12);
}

static void put_indexed(Reader *r)
{
    static const struct { const char *gather, *scatter; uint32_t field; } lists[] = {
        {"offset_dims", "update_window_dims", 1},
        {"collapsed_slice_dims", "inserted_window_dims", 2},
        {"start_index_map", "scatter_dims_to_operand_dims", 3},
        {"operand_batching_dims", "input_batching_dims", 5},
        {"start_indices_batching_dims", "scatter_indices_batching_dims", 6},
    };
    const bool gather = hlo_pb_field(r->m, 33, PB_BYTES) != NULL;
    if (!gather && !hlo_pb_field(r->m, 48, PB_BYTES)) return;
    const HloPb dims = hlo_pb_inner(r->m, gather ? 33 : 48);
    for (size_t k = 0; k < WBB_LEN(lists); k++)
        if (k < 3 || hlo_pb_has(&dims, lists[k].field))
            hlo_pb_put_ints(&r->text, gather ? lists[k].gather : lists[k].scatter, &dims, lists[k].field);
    wbb_putf(&r->text, ", index_vector_dim=%lld", (long long)hlo_pb_int(&dims, 4));
    if (gather) hlo_pb_put_ints(&r->text, "slice_sizes", r->m, 34);
}

static void put_precision(Reader *r)
{
    static const char *const precisions[] = {"default", "high", "highest"};
    static const char *const algorithms[] = {
        "unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16", "dot_f16_f16_f32",
        "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6",
        "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9"};
    const HloPb p = hlo_pb_inner(r->m, 51);
    static const uint16_t known[] = {1, 2, 0};
    hlo_pb_check_known(&p, known, "a precision");
    uint32_t n;
    bool usual = true;
    const int64_t *each = hlo_pb_ints(&p, 1, &n);
    for (uint32_t k = 0; k < n; k++) usual = usual && each[k] == 0;
    for (uint32_t k = 0; !usual && k < n; k++) {
        if (each[k] < 0 || each[k] >= (int64_t)WBB_LEN(precisions))
            hlo_pb_fail(p.file, p.at, "no precision has the number %lld", (long long)each[k]);
        wbb_putf(&r->text, "%s%s", k ? "," : ", operand_precision={", precisions[each[k]]);
    }
    if (!usual) wbb_put(&r->text, "}");
    const char *algorithm = named(&p, 2, algorithms, WBB_LEN(algorithms), "algorithm");
    if (hlo_pb_has(&p, 2)) wbb_putf(&r->text, ", algorithm=%s", algorithm);
}

static double f64_of(const HloPb *m, uint32_t field)
{
    const HloPbField *x = hlo_pb_field(m, field, PB_64);
    double value = 0;
    if (x) memcpy(&value, x->at, sizeof value);
    return value;
}

static void put_accuracy(Reader *r)
{
    const HloPb accuracy = hlo_pb_inner(r->m, 91), t = hlo_pb_inner(&accuracy, 2);
    static const uint16_t known[] = {1, 2, 0};
    hlo_pb_check_known(&accuracy, known, "an accuracy");
    if (hlo_pb_field(&accuracy, 2, PB_BYTES))
        wbb_putf(&r->text, ", result_accuracy={tolerance={atol=%g,rtol=%g,ulps=%lld}}", f64_of(&t, 1), f64_of(&t, 2),
                 (long long)hlo_pb_int(&t, 3));
    else if (hlo_pb_has(&accuracy, 1)) wbb_put(&r->text, ", result_accuracy={mode=highest}");
}

static void put_flag(Reader *r, const char *name, const HloPb *m, uint32_t field)
{
    if (hlo_pb_int(m, field)) wbb_putf(&r->text, ", %s=true", name);
}

static void put_solvers(Reader *r)
{
    static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    const HloPb solve = hlo_pb_inner(r->m, 59), cholesky = hlo_pb_inner(r->m, 62);
    if (r->i->opcode == HLO_CHOLESKY) put_flag(r, "lower", &cholesky, 1);
    if (!hlo_pb_field(r->m, 59, PB_BYTES)) return;
    put_flag(r, "left_side", &solve, 1);
    put_flag(r, "lower", &solve, 2);
    put_flag(r, "unit_diagonal", &solve, 3);
    wbb_putf(&r->text, ", transpose_a=%s", named(&solve, 4, transposes, WBB_LEN(transposes), "transposition"));
}

/* mesh['x'=2,'y'=4] {'y','x':(1)2}: the axes of a mesh along which devices are in one group, some in part. */
static void put_mesh_groups(Reader *r)
{
    const HloPb list = hlo_pb_inner(r->m, 93), mesh = hlo_pb_inner(&list, 1);
    static const uint16_t known[] = {1, 0}; /* devices in another order than that of their numbers */
    struct { const char **items; uint32_t n, capacity; } names = {0};
    uint32_t at = 0, n = 0;
    hlo_pb_check_known(&mesh, known, "a mesh of devices");
    for (const HloPbField *x; (x = hlo_pb_next(&mesh, 1, &at));) {
        const HloPb axis = hlo_pb_of(&mesh, x);
        WBB_PUSH(r->m->file->arena, &names, hlo_pb_name(&axis, 1, "the name of an axis"));
        wbb_putf(&r->text, "%s'%s'=%lld", names.n > 1 ? "," : ", replica_groups=mesh[", names.items[names.n - 1],
                 (long long)hlo_pb_int(&axis, 2));
    }
    if (!names.n) hlo_pb_fail(list.file, list.at, "a mesh without axes");
    wbb_put(&r->text, "] {");
    at = 0;
    for (const HloPbField *x; (x = hlo_pb_next(&list, 2, &at)); n++) {
        const HloPb axis = hlo_pb_of(&list, x), part = hlo_pb_inner(&axis, 2);
        const int64_t k = hlo_pb_int(&axis, 1);
        if (k < 0 || k >= names.n) hlo_pb_fail(list.file, axis.at, "the mesh has no axis %lld", (long long)k);
        wbb_putf(&r->text, "%s'%s'", n ? "," : "", names.items[k]);
        if (part.n)
            wbb_putf(&r->text, ":(%lld)%lld", (long long)hlo_pb_int(&part, 1), (long long)hlo_pb_int(&part, 2));
    }
    wbb_put(&r->text, "}");
}

/* Groups of devices: listed, or [groups,devices]<=[dims]T(order), or by axes of a mesh. */
static void put_groups(Reader *r)
{
    const HloPb inner = hlo_pb_inner(r->m, 87), iota = hlo_pb_inner(r->m, 92), *from = r->m;
    uint32_t field = 49, at = 0, n = 0;
    if (hlo_pb_int(r->m, 26) > 0) wbb_putf(&r->text, ", channel_id=%lld", (long long)hlo_pb_int(r->m, 26));
    if (hlo_pb_has(r->m, 93)) {
        put_mesh_groups(r);
        return;
    }
    if (iota.n) {
        wbb_putf(&r->text, ", replica_groups=[%lld,%lld]", (long long)hlo_pb_int(&iota, 1),
                 (long long)hlo_pb_int(&iota, 2));
        hlo_pb_put_list(&r->text, "<=[", &iota, 3, "]", 1);
        hlo_pb_put_list(&r->text, "T(", &iota, 4, ")", 2);
        return;
    }
    if (inner.n) from = &inner, field = 1;
    for (const HloPbField *x; (x = hlo_pb_next(from, field, &at)); n++) {
        const HloPb group = hlo_pb_of(from, x);
        hlo_pb_put_list(&r->text, n ? ",{" : ", replica_groups={{", &group, 1, "}", 0);
    }
    const HloOpcode op = r->i->opcode;
    const bool always = op == HLO_ALL_REDUCE || op == HLO_ALL_GATHER || op == HLO_ALL_TO_ALL ||
                        op == HLO_REDUCE_SCATTER || op == HLO_ALL_REDUCE_START || op == HLO_ALL_GATHER_START;
    if (n) wbb_put(&r->text, "}");
    else if (always) wbb_put(&r->text, ", replica_groups={}");
}

static void put_pairs(Reader *r)
{
    uint32_t at = 0, n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(r->m, 52, &at)); n++) {
        const HloPb pair = hlo_pb_of(r->m, x);
        wbb_putf(&r->text, "%s{%lld,%lld}", n ? "," : ", source_target_pairs={", (long long)hlo_pb_int(&pair, 1),
                 (long long)hlo_pb_int(&pair, 2));
    }
    if (n) wbb_put(&r->text, "}");
}

static void put_aliases(Reader *r)
{
    uint32_t at = 0, n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(r->m, 74, &at)); n++) {
        const HloPb alias = hlo_pb_of(r->m, x);
        hlo_pb_put_list(&r->text, n ? ", {" : ", output_to_operand_aliasing={{", &alias, 1, "}", 0);
        wbb_putf(&r->text, ": (%lld, ", (long long)hlo_pb_int(&alias, 2));
        hlo_pb_put_list(&r->text, "{", &alias, 3, "})", 0);
    }
    if (n) wbb_put(&r->text, "}");
}

/* Fourier transforms, random numbers, exchanges with the host. */
static void put_others(Reader *r)
{
    static const char *const ffts[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    static const char *const distributions[] = {"rng_invalid", "rng_uniform", "rng_normal"};
    static const char *const randoms[] = {"rng_default", "rng_three_fry", "rng_philox"};
    static const char *const states[] = {"unspecified", "true", "false"};
    const HloOpcode op = r->i->opcode;
    const HloPb *m = r->m;
    if (op == HLO_FFT) {
        wbb_putf(&r->text, ", fft_type=%s", named(m, 31, ffts, WBB_LEN(ffts), "transform"));
        hlo_pb_put_ints(&r->text, "fft_length", m, 32);
    }
    if (hlo_pb_has(m, 23))
        wbb_putf(&r->text, ", distribution=%s",
                 named(m, 23, distributions, WBB_LEN(distributions), "distribution"));
    if (op == HLO_RNG_BIT_GENERATOR)
        wbb_putf(&r->text, ", algorithm=%s", named(m, 70, randoms, WBB_LEN(randoms), "algorithm"));
    if (hlo_pb_has(m, 96))
        wbb_putf(&r->text, ", is_associative=%s", named(m, 96, states, WBB_LEN(states), "answer"));
    if (hlo_pb_field(m, 29, PB_BYTES)) {
        const HloPb s = hlo_pb_inner(m, 29);
        wbb_put(&r->text, hlo_pb_has(&s, 2) ? ", outfeed_shape=" : "");
        if (hlo_pb_has(&s, 2)) hlo_print_shape(&r->text, hlo_pb_shape(&s));
    }
    put_text(r, "infeed_config", 27);
    put_text(r, "outfeed_config", 22);
}

static void put_custom_call(Reader *r)
{
    static const char *const versions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                           "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                           "API_VERSION_TYPED_FFI"};
    const HloPb *m = r->m;
    put_text(r, "custom_call_target", 28);
    uint32_t at = 0, n = 0;
    for (const HloPbField *x; (x = hlo_pb_next(m, 57, &at)); n++) {
        const HloPb s = hlo_pb_of(m, x);
        wbb_put(&r->text, n ? ", " : ", operand_layout_constraints={");
        hlo_print_shape(&r->text, hlo_pb_shape(&s));
    }
    if (n) wbb_put(&r->text, "}");
    put_aliases(r);
    if (hlo_pb_has(m, 77) && hlo_pb_int(m, 77) != 1) /* ORIGINAL is what a text without it means */
        wbb_putf(&r->text, ", api_version=%s", named(m, 77, versions, WBB_LEN(versions), "version of an interface"));
}

static void put_batch_norm(Reader *r)
{
    const HloOpcode op = r->i->opcode;
    if (op != HLO_BATCH_NORM_TRAINING && op != HLO_BATCH_NORM_INFERENCE && op != HLO_BATCH_NORM_GRAD) return;
    const HloPbField *x = hlo_pb_field(r->m, 24, PB_32);
    float epsilon = 0;
    if (x) memcpy(&epsilon, x->at, sizeof epsilon);
    wbb_putf(&r->text, ", epsilon=%.9g", (double)epsilon);
    if (!hlo_pb_has(r->m, 25)) wbb_put(&r->text, ", feature_index=0");
}

static void put_numbers(Reader *r)
{
    for (size_t k = 0; k < WBB_LEN(numbers); k++) {
        const int64_t value = hlo_pb_int(r->m, numbers[k].field);
        const bool one = numbers[k].field == 50 || numbers[k].field == 58; /* of groups: 1 is none */
        const bool said = numbers[k].field == 56 && r->i->opcode == HLO_CUSTOM_CALL; /* by operand_layout_constraints */
        if (!value || said || (one && value == 1)) continue;
        if (numbers[k].flag) wbb_putf(&r->text, ", %s=true", numbers[k].name);
        else wbb_putf(&r->text, ", %s=%lld", numbers[k].name, (long long)value);
    }
    if (r->i->opcode == HLO_TOPK && !hlo_pb_has(r->m, 85)) wbb_put(&r->text, ", largest=false");
    if (hlo_pb_field(r->m, 20, PB_BYTES) || hlo_pb_has(r->m, 20))
        hlo_pb_put_ints(&r->text, "dynamic_slice_sizes", r->m, 20);
}

static void put_notes(Reader *r)
{
    const HloPb metadata = hlo_pb_inner(r->m, 7), sharding = hlo_pb_inner(r->m, 40), frontend = hlo_pb_inner(r->m, 68);
    if (hlo_pb_field(r->m, 40, PB_BYTES)) {
        wbb_put(&r->text, ", sharding=");
        hlo_pb_put_sharding(&r->text, &sharding);
    }
    if (frontend.n) {
        wbb_put(&r->text, ", frontend_attributes=");
        hlo_pb_put_frontend(&r->text, &frontend);
    }
    if (metadata.n) hlo_pb_put_metadata(&r->text, &metadata);
    const char *thread = hlo_pb_text(r->m, 79);
    if (*thread && strcmp(thread, "main") != 0) put_text(r, "async_execution_thread", 79);
}

static void put_domain(Reader *r)
{
    if (r->i->opcode != HLO_DOMAIN) return;
    const HloPb entry = hlo_pb_inner(r->m, 54), exit = hlo_pb_inner(r->m, 55);
    wbb_put(&r->text, ", domain={kind=\"sharding\", entry=");
    hlo_pb_put_sharding(&r->text, &entry);
    wbb_put(&r->text, ", exit=");
    hlo_pb_put_sharding(&r->text, &exit);
    wbb_put(&r->text, "}");
}

const char *hlo_pb_called_by(const HloInstruction *i, uint32_t k, uint32_t n)
{
    switch (i->opcode) {
    case HLO_WHILE: return k ? "body" : "condition";
    case HLO_SELECT_AND_SCATTER: return k ? "scatter" : "select";
    case HLO_CONDITIONAL:
        if (n != 2 || !i->n_operands || !i->operands[0]->shape || i->operands[0]->shape->type != SC_PRED)
            return "branch_computations";
        return k ? "false_computation" : "true_computation";
    case HLO_CUSTOM_CALL: return "called_computations";
    case HLO_FUSION: case HLO_ASYNC_START: case HLO_ASYNC_UPDATE: case HLO_ASYNC_DONE: return "calls";
    default: return "to_apply";
    }
}

void hlo_pb_read_instruction(const HloPb *m, HloInstruction *i)
{
    Reader r = {.m = m, .i = i, .text = wbb_buf(m->file->arena)};
    hlo_pb_check_known(m, known_fields, "an instruction");
    if (i->opcode == HLO_PARAMETER) i->number = hlo_pb_int(m, 9);
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) i->number = hlo_pb_int(m, 13);
    i->number2 = hlo_pb_int(m, 19);
    if (i->opcode == HLO_REDUCE_PRECISION) i->number = hlo_pb_int(m, 18);
    if (i->opcode == HLO_FUSION) i->kind = hlo_pb_name(m, 11, "the kind of a fusion");
    read_dimensions(&r);
    read_window(&r);
    read_slices(&r);
    read_paddings(&r);
    read_comparison(&r);
    if (i->opcode == HLO_CONSTANT && hlo_pb_field(m, 8, PB_BYTES)) {
        const HloPb literal = hlo_pb_inner(m, 8);
        hlo_pb_literal(&literal, i);
    } else if (i->opcode == HLO_CONSTANT && i->shape->type == SC_TUPLE) i->literal_text = "{...}";
    put_dots(&r);
    put_convolution(&r);
    put_indexed(&r);
    put_precision(&r);
    put_accuracy(&r);
    put_solvers(&r);
    put_groups(&r);
    put_pairs(&r);
    put_others(&r);
    put_custom_call(&r);
    put_batch_norm(&r);
    put_numbers(&r);
    put_domain(&r);
    put_notes(&r);
    put_backend_config(&r);
    i->attributes = r.text.text;
}

/* index_modules.h: random modules of one instruction, small enough to test every element: a text for each kind of
 * operation that has a map.
 *
 *     Maker m = {arena, seed};
 *     const char *text = make_module(&m, KIND_GATHER);
 */
#ifndef INDEX_MODULES_H
#define INDEX_MODULES_H

#include "base/base.h"

typedef enum {
    KIND_ELEMENTWISE,
    KIND_CLAMP,
    KIND_BROADCAST,
    KIND_RESHAPE,
    KIND_BITCAST,
    KIND_BITCAST_CONVERT,
    KIND_TRANSPOSE,
    KIND_SLICE,
    KIND_REVERSE,
    KIND_PAD,
    KIND_CONCATENATE,
    KIND_DYNAMIC_SLICE,
    KIND_DYNAMIC_UPDATE,
    KIND_GATHER,
    KIND_SCATTER,
    KIND_REDUCE,
    KIND_WINDOW,
    KIND_DOT,
    KIND_CONVOLUTION,
    KIND_SELECT_SCATTER,
    KIND_SORT,
    KIND_SCAN,
    KIND_TOPK,
    KIND_BATCH_NORM,
    KIND_FUSION,
    KINDS
} Kind;

typedef struct {
    WbbArena *a;
    uint64_t state;
} Maker;

typedef struct { int64_t n, d[8]; } Dims;

static int64_t below(Maker *m, int64_t n)
{
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((m->state >> 33) % (uint64_t)n);
}

static int64_t between(Maker *m, int64_t lo, int64_t hi) { return lo + below(m, hi - lo + 1); }

static Dims random_dims(Maker *m, int64_t least_rank, int64_t most_rank, int64_t most)
{
    Dims s = {.n = between(m, least_rank, most_rank)};
    for (int64_t k = 0; k < s.n; k++) s.d[k] = between(m, 1, most);
    return s;
}

static const char *list(Maker *m, Dims s)
{
    WbbBuf b = wbb_buf(m->a);
    for (int64_t k = 0; k < s.n; k++) wbb_putf(&b, "%s%lld", k ? "," : "", (long long)s.d[k]);
    return b.text ? b.text : "";
}

static const char *shape(Maker *m, const char *type, Dims s) { return wbb_format(m->a, "%s[%s]", type, list(m, s)); }

static Dims permutation(Maker *m, int64_t n)
{
    Dims p = {.n = n};
    for (int64_t k = 0; k < n; k++) p.d[k] = k;
    for (int64_t k = n; k > 1; k--) {
        const int64_t other = below(m, k), old = p.d[k - 1];
        p.d[k - 1] = p.d[other], p.d[other] = old;
    }
    return p;
}

/* A random ascending subset of 0 .. n-1. */
static Dims subset(Maker *m, int64_t n)
{
    Dims s = {0};
    for (int64_t k = 0; k < n; k++)
        if (below(m, 2)) s.d[s.n++] = k;
    return s;
}

static bool contains(Dims s, int64_t x)
{
    for (int64_t k = 0; k < s.n; k++)
        if (s.d[k] == x) return true;
    return false;
}

/* Other dimensions with the same number of elements. */
static Dims refactored(Maker *m, Dims s)
{
    Dims r = {0};
    int64_t n = 1;
    for (int64_t k = 0; k < s.n; k++) n *= s.d[k];
    for (int64_t p = 2; n > 1; p++)
        while (n % p == 0) {
            n /= p;
            if (r.n && (below(m, 2) || r.n == 6)) r.d[below(m, r.n)] *= p;
            else r.d[r.n++] = p;
        }
    if (below(m, 3) == 0) r.d[r.n++] = 1;
    return r;
}

static const char *layout(Maker *m, const char *type, Dims s)
{
    return wbb_format(m->a, "%s{%s}", shape(m, type, s), list(m, permutation(m, s.n)));
}

#define TEXT(...) wbb_format(m->a, __VA_ARGS__)
#define ADD "add { ax = f32[] parameter(0)\n ay = f32[] parameter(1)\n ROOT ar = f32[] add(ax, ay)\n }\n"

static const char *entry(Maker *m, const char *body) { return TEXT("HloModule m\nENTRY e {\n%s}\n", body); }
static const char *entry_add(Maker *m, const char *body) { return TEXT("HloModule m\n" ADD "ENTRY e {\n%s}\n", body); }

/* --- moves -------------------------------------------------------------------------------------------------------- */

static const char *make_broadcast(Maker *m)
{
    const Dims to = random_dims(m, 0, 4, 3), kept = subset(m, to.n);
    Dims from = {.n = kept.n};
    for (int64_t k = 0; k < kept.n; k++) from.d[k] = to.d[kept.d[k]];
    return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s broadcast(p), dimensions={%s}\n", shape(m, "f32", from),
                         shape(m, "f32", to), list(m, kept)));
}

static const char *make_transpose(Maker *m)
{
    const Dims from = random_dims(m, 0, 4, 4), p = permutation(m, from.n);
    Dims to = {.n = from.n};
    for (int64_t k = 0; k < from.n; k++) to.d[k] = from.d[p.d[k]];
    return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s transpose(p), dimensions={%s}\n", shape(m, "f32", from),
                         shape(m, "f32", to), list(m, p)));
}

static const char *make_slice(Maker *m)
{
    const Dims from = random_dims(m, 0, 3, 7);
    Dims to = {.n = from.n};
    WbbBuf b = wbb_buf(m->a);
    for (int64_t k = 0; k < from.n; k++) {
        const int64_t lo = below(m, from.d[k]), hi = between(m, lo + 1, from.d[k]), step = between(m, 1, 3);
        to.d[k] = (hi - lo + step - 1) / step;
        wbb_putf(&b, "%s[%lld:%lld:%lld]", k ? ", " : "", (long long)lo, (long long)hi, (long long)step);
    }
    return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s slice(p), slice={%s}\n", shape(m, "f32", from),
                         shape(m, "f32", to), b.text ? b.text : ""));
}

static const char *make_pad(Maker *m)
{
    const Dims from = random_dims(m, 1, 3, 4);
    Dims to = {.n = from.n};
    WbbBuf b = wbb_buf(m->a);
    for (int64_t k = 0; k < from.n; k++) {
        int64_t lo = between(m, -2, 2), hi = between(m, -1, 2);
        const int64_t interior = below(m, 3), full = from.d[k] + (from.d[k] - 1) * interior;
        if (full + lo + hi < 1) lo = hi = 1;
        to.d[k] = full + lo + hi;
        wbb_putf(&b, "%s%lld_%lld_%lld", k ? "x" : "", (long long)lo, (long long)hi, (long long)interior);
    }
    return entry(m, TEXT("p = %s parameter(0)\nz = f32[] parameter(1)\nROOT r = %s pad(p, z), padding=%s\n",
                         shape(m, "f32", from), shape(m, "f32", to), b.text));
}

static const char *make_concatenate(Maker *m)
{
    Dims s = random_dims(m, 1, 3, 3), to = s;
    const int64_t n = between(m, 1, 4), along = below(m, s.n);
    WbbBuf head = wbb_buf(m->a), operands = wbb_buf(m->a);
    to.d[along] = 0;
    for (int64_t k = 0; k < n; k++) {
        s.d[along] = below(m, 4);
        to.d[along] += s.d[along];
        wbb_putf(&head, "p%lld = %s parameter(%lld)\n", (long long)k, shape(m, "f32", s), (long long)k);
        wbb_putf(&operands, "%sp%lld", k ? ", " : "", (long long)k);
    }
    return entry(m, TEXT("%sROOT r = %s concatenate(%s), dimensions={%lld}\n", head.text, shape(m, "f32", to),
                         operands.text, (long long)along));
}

static const char *make_bitcast_convert(Maker *m)
{
    Dims wide = random_dims(m, 0, 2, 3), narrow = wide;
    narrow.d[narrow.n++] = 2;
    const char *from = shape(m, "s32", wide), *to = shape(m, "s16", narrow);
    const bool join = below(m, 2);
    return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s bitcast-convert(p)\n", join ? to : from, join ? from : to));
}

static const char *make_move(Maker *m, Kind kind)
{
    const Dims s = random_dims(m, 0, 4, 4);
    const char *x = shape(m, "f32", s);
    if (kind == KIND_ELEMENTWISE)
        return entry(m, TEXT("p = %s parameter(0)\nq = %s parameter(1)\nROOT r = %s add(p, q)\n", x, x, x));
    if (kind == KIND_CLAMP) {
        return entry(
            m, TEXT("l = f32[] parameter(0)\np = %s parameter(1)\nh = %s parameter(2)\nROOT r = %s clamp(l, p, h)\n", x,
                    below(m, 2) ? x : "f32[]", x));
    }
    if (kind == KIND_RESHAPE)
        return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s reshape(p)\n", x, shape(m, "f32", refactored(m, s))));
    if (kind == KIND_BITCAST)
        return entry(m, TEXT("p = %s parameter(0)\nROOT r = %s bitcast(p)\n", layout(m, "f32", s),
                             layout(m, "f32", refactored(m, s))));
    return entry(m,
                 TEXT("p = %s parameter(0)\nROOT r = %s reverse(p), dimensions={%s}\n", x, x, list(m, subset(m, s.n))));
}

/* --- run-time starts ---------------------------------------------------------------------------------------------- */

static const char *make_dynamic(Maker *m, bool update)
{
    static const char *const types[] = {"s32", "s64", "u32", "s8"};
    const Dims whole = random_dims(m, 1, 3, 5);
    Dims part = whole;
    const char *type = types[below(m, 4)];
    const bool vector = below(m, 4) == 0;
    WbbBuf head = wbb_buf(m->a), starts = wbb_buf(m->a);
    for (int64_t k = 0; k < whole.n; k++) {
        part.d[k] = between(m, 1, whole.d[k]);
        if (!vector) wbb_putf(&head, "i%lld = %s[] parameter(%lld)\n", (long long)k, type, (long long)(k + 1 + update));
        if (!vector) wbb_putf(&starts, ", i%lld", (long long)k);
    }
    if (vector) wbb_putf(&head, "i = %s[%lld] parameter(%d)\n", type, (long long)whole.n, 1 + update);
    if (vector) wbb_put(&starts, ", i");
    const char *x = shape(m, "f32", whole), *y = shape(m, "f32", part);
    if (update)
        return entry(m, TEXT("p = %s parameter(0)\nu = %s parameter(1)\n%sROOT r = %s dynamic-update-slice(p, u%s)\n",
                             x, y, head.text, x, starts.text));
    return entry(m, TEXT("p = %s parameter(0)\n%sROOT r = %s dynamic-slice(p%s), dynamic_slice_sizes={%s}\n", x,
                         head.text, y, starts.text, list(m, part)));
}

/* The dimensions of a gather or scatter: windows of an operand, and index vectors with their starts. */
typedef struct {
    Dims operand, window, batching, collapsed, start_map, indices, paired,
        whole; /* whole: gather's result, scatter's updates */
    Dims offset; /* the window's dimensions in `whole` */
    int64_t vector;
} Indexed;

static Indexed random_indexed(Maker *m)
{
    Indexed x = {.operand = random_dims(m, 1, 3, 4)};
    Dims kept = {0}, batch = {0}, started = {0};
    x.window = x.operand;
    for (int64_t k = 0; k < x.operand.n; k++) {
        const int64_t part = below(m, 6);
        x.window.d[k] = part < 3 ? 1 : between(m, 1, x.operand.d[k]);
        if (part == 0 && x.batching.n == 0) x.batching.d[x.batching.n++] = k;
        else if (part < 3) x.collapsed.d[x.collapsed.n++] = k;
        else kept.d[kept.n++] = x.window.d[k];
        if (!contains(x.batching, k) && below(m, 4)) started.d[started.n++] = k;
    }
    const Dims order = permutation(m, started.n);
    x.start_map.n = started.n;
    for (int64_t k = 0; k < started.n; k++) x.start_map.d[k] = started.d[order.d[k]];
    batch = random_dims(m, 0, 2, 3);
    if (x.batching.n) batch.d[batch.n++] = x.operand.d[x.batching.d[0]];
    const int64_t pair = batch.n - 1; /* the batch dimension that is paired */
    x.vector = between(m, 0, batch.n);
    const bool implicit = started.n == 1 && x.vector == batch.n && below(m, 2);
    for (int64_t k = 0, b = 0; k <= batch.n; k++) {
        if (k == x.vector && !implicit) x.indices.d[x.indices.n++] = started.n;
        if (b == pair && x.batching.n && k < batch.n) x.paired.d[x.paired.n++] = x.indices.n;
        if (k < batch.n) x.indices.d[x.indices.n++] = batch.d[b++];
    }
    x.whole.n = batch.n + kept.n;
    for (int64_t k = 0, b = 0, w = 0; k < x.whole.n; k++) {
        const bool window = b == batch.n || (w < kept.n && below(m, 2));
        if (window) x.offset.d[x.offset.n++] = k;
        x.whole.d[k] = window ? kept.d[w++] : batch.d[b++];
    }
    return x;
}

static const char *make_gather(Maker *m)
{
    const Indexed x = random_indexed(m);
    const char *batching = x.batching.n ? TEXT(", operand_batching_dims={%s}, start_indices_batching_dims={%s}",
                                               list(m, x.batching), list(m, x.paired))
                                        : "";
    return entry(m, TEXT("p = %s parameter(0)\ni = %s parameter(1)\nROOT r = %s gather(p, i), offset_dims={%s}, "
                         "collapsed_slice_dims={%s}, start_index_map={%s}%s, "
                         "index_vector_dim=%lld, slice_sizes={%s}\n",
                         shape(m, "f32", x.operand), shape(m, "s32", x.indices), shape(m, "f32", x.whole),
                         list(m, x.offset), list(m, x.collapsed), list(m, x.start_map), batching, (long long)x.vector,
                         list(m, x.window)));
}

static const char *make_scatter(Maker *m)
{
    const Indexed x = random_indexed(m);
    const char *batching = x.batching.n ? TEXT(", input_batching_dims={%s}, scatter_indices_batching_dims={%s}",
                                               list(m, x.batching), list(m, x.paired))
                                        : "";
    return entry_add(
        m, TEXT("p = %s parameter(0)\ni = %s parameter(1)\nu = %s parameter(2)\nROOT r = %s scatter(p, i, u), "
                "update_window_dims={%s}, "
                "inserted_window_dims={%s}, scatter_dims_to_operand_dims={%s}%s, index_vector_dim=%lld, to_apply=add\n",
                shape(m, "f32", x.operand), shape(m, "s32", x.indices), shape(m, "f32", x.whole),
                shape(m, "f32", x.operand), list(m, x.offset), list(m, x.collapsed), list(m, x.start_map), batching,
                (long long)x.vector));
}

/* --- reductions, windows, dot ------------------------------------------------------------------------------------- */

static const char *make_reduce(Maker *m)
{
    const Dims from = random_dims(m, 1, 4, 3), gone = subset(m, from.n);
    Dims to = {0};
    for (int64_t k = 0; k < from.n; k++)
        if (!contains(gone, k)) to.d[to.n++] = from.d[k];
    const char *x = shape(m, "f32", from), *y = shape(m, "f32", to);
    if (below(m, 2))
        return entry_add(m, TEXT("p = %s parameter(0)\nz = f32[] parameter(1)\nROOT r = %s reduce(p, z), "
                                 "dimensions={%s}, to_apply=add\n",
                                 x, y, list(m, gone)));
    return TEXT(
        "HloModule m\nboth { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] "
        "parameter(3)\n e = f32[] add(a, c)\n"
        " g = f32[] add(b, d)\n h = f32[] add(g, c)\n k = f32[] add(e, d)\n ROOT t = (f32[], f32[]) tuple(k, h)\n }\n"
        "ENTRY m { p = %s parameter(0)\n q = %s parameter(1)\n z = f32[] parameter(2)\n w = f32[] parameter(3)\n"
        "ROOT r = (%s, %s) reduce(p, q, z, w), dimensions={%s}, to_apply=both\n}\n",
        x, x, y, y, list(m, gone));
}

/* A random window over n elements; returns the number of its positions, 0 if there is none. */
static int64_t random_window(Maker *m, int64_t n, bool dilated, WbbBuf out[6], bool first)
{
    const int64_t size = between(m, 1, 3), stride = between(m, 1, 3), lo = between(m, dilated ? -1 : 0, 2),
                  hi = between(m, dilated ? -1 : 0, 2);
    const int64_t base = dilated ? between(m, 1, 2) : 1, spread = dilated ? between(m, 1, 2) : 1;
    const int64_t whole = (n - 1) * base + 1 + lo + hi, window = (size - 1) * spread + 1;
    const int64_t values[] = {size, stride, 0, base, spread, below(m, 2)};
    for (int k = 0; k < 6; k++) {
        if (k == 2) wbb_putf(&out[k], "%s%lld_%lld", first ? "" : "x", (long long)lo, (long long)hi);
        else wbb_putf(&out[k], "%s%lld", first ? "" : "x", (long long)values[k]);
    }
    return whole < window ? 0 : (whole - window) / stride + 1;
}

static const char *window_text(Maker *m, WbbBuf w[6], bool dilated, bool reversal)
{
    return TEXT("window={size=%s stride=%s pad=%s%s%s}", w[0].text, w[1].text, w[2].text,
                dilated ? TEXT(" lhs_dilate=%s rhs_dilate=%s", w[3].text, w[4].text) : "",
                reversal ? TEXT(" rhs_reversal=%s", w[5].text) : "");
}

static const char *make_window(Maker *m, bool select)
{
    for (;;) {
        const Dims from = random_dims(m, 1, 2, 5);
        Dims to = {.n = from.n};
        WbbBuf w[6];
        bool fits = true;
        for (int k = 0; k < 6; k++) w[k] = wbb_buf(m->a);
        for (int64_t d = 0; d < from.n; d++) fits &= (to.d[d] = random_window(m, from.d[d], !select, w, d == 0)) > 0;
        if (!fits) continue;
        const char *x = shape(m, "f32", from), *y = shape(m, "f32", to), *window = window_text(m, w, !select, false);
        if (!select)
            return entry_add(
                m,
                TEXT("p = %s parameter(0)\nz = f32[] parameter(1)\nROOT r = %s reduce-window(p, z), %s, to_apply=add\n",
                     x, y, window));
        return TEXT("HloModule m\n" ADD "ge { gx = f32[] parameter(0)\n gy = f32[] parameter(1)\n ROOT gr = pred[] "
                                        "compare(gx, gy), direction=GE\n }\n"
                    "ENTRY e {\np = %s parameter(0)\ns = %s parameter(1)\nz = f32[] parameter(2)\nROOT r = %s "
                    "select-and-scatter(p, s, z), %s, select=ge, scatter=add\n}\n",
                    x, y, x, window);
    }
}

static const char *make_dot(Maker *m)
{
    const Dims batch = random_dims(m, 0, 1, 3), sum = random_dims(m, 0, 2, 3), left = random_dims(m, 0, 1, 3),
               right = random_dims(m, 0, 1, 3);
    Dims side[2], batches[2], sums[2], to = {0};
    for (int s = 0; s < 2; s++) {
        const Dims own = s ? right : left;
        side[s].n = batch.n + sum.n + own.n;
        const Dims order = permutation(m, side[s].n);
        batches[s].n = batch.n, sums[s].n = sum.n;
        for (int64_t k = 0; k < side[s].n; k++) {
            const int64_t at = order.d[k];
            if (k < batch.n) batches[s].d[k] = at, side[s].d[at] = batch.d[k];
            else if (k < batch.n + sum.n) sums[s].d[k - batch.n] = at, side[s].d[at] = sum.d[k - batch.n];
            else side[s].d[at] = own.d[k - batch.n - sum.n];
        }
    }
    for (int64_t k = 0; k < batch.n; k++) to.d[to.n++] = batch.d[k];
    if (left.n) to.d[to.n++] = left.d[0];
    if (right.n) to.d[to.n++] = right.d[0];
    return entry(m, TEXT("p = %s parameter(0)\nq = %s parameter(1)\nROOT r = %s dot(p, q), lhs_batch_dims={%s}, "
                         "rhs_batch_dims={%s}, lhs_contracting_dims={%s}, "
                         "rhs_contracting_dims={%s}\n",
                         shape(m, "f32", side[0]), shape(m, "f32", side[1]), shape(m, "f32", to), list(m, batches[0]),
                         list(m, batches[1]), list(m, sums[0]), list(m, sums[1])));
}

static const char *labels(Maker *m, Dims order, const char *names)
{
    WbbBuf b = wbb_buf(m->a);
    for (int64_t k = 0; k < order.n; k++)
        for (int64_t p = 0; p < order.n; p++)
            if (order.d[p] == k) wbb_put_n(&b, names + p, 1);
    return b.text;
}

static Dims placed(Dims order, Dims values)
{
    Dims s = {.n = order.n};
    for (int64_t k = 0; k < order.n; k++) s.d[order.d[k]] = values.d[k];
    return s;
}

static const char *make_convolution(Maker *m)
{
    for (;;) {
        const int64_t spatial = between(m, 0, 2), feature_groups = between(m, 1, 2),
                      batch_groups = feature_groups == 1 ? between(m, 1, 2) : 1;
        const int64_t features = between(m, 1, 2), outputs = feature_groups * batch_groups * between(m, 1, 2),
                      batch = between(m, 1, 2);
        Dims x = {2 + spatial, {batch * batch_groups, features * feature_groups}},
             k = {2 + spatial, {features, outputs}}, y = {2 + spatial, {batch, outputs}};
        WbbBuf w[6];
        bool fits = true;
        for (int p = 0; p < 6; p++) w[p] = wbb_buf(m->a);
        for (int64_t d = 0; d < spatial; d++) {
            x.d[2 + d] = between(m, 1, 4);
            const size_t before = w[0].n;
            fits &= (y.d[2 + d] = random_window(m, x.d[2 + d], true, w, d == 0)) > 0;
            k.d[2 + d] = w[0].text[before + (d > 0)] - '0';
        }
        if (!fits) continue;
        const Dims px = permutation(m, x.n), pk = permutation(m, x.n), py = permutation(m, x.n);
        const char *window = spatial ? TEXT("%s, ", window_text(m, w, true, true)) : "";
        return entry(m, TEXT("p = %s parameter(0)\nq = %s parameter(1)\nROOT r = %s convolution(p, q), "
                             "%sdim_labels=%s_%s->%s, feature_group_count=%lld, batch_group_count=%lld\n",
                             shape(m, "f32", placed(px, x)), shape(m, "f32", placed(pk, k)),
                             shape(m, "f32", placed(py, y)), window, labels(m, px, "bf01"), labels(m, pk, "io01"),
                             labels(m, py, "bf01"), (long long)feature_groups, (long long)batch_groups));
    }
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static const char *make_sort(Maker *m)
{
    const Dims s = random_dims(m, 1, 3, 3);
    const char *x = shape(m, "f32", s);
    return TEXT("HloModule m\nlt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = "
                "f32[] parameter(3)\n ROOT l = pred[] compare(a, b), direction=LT\n }\n"
                "ENTRY e {\np = %s parameter(0)\nq = %s parameter(1)\nROOT r = (%s, %s) sort(p, q), dimensions={%lld}, "
                "to_apply=lt\n}\n",
                x, x, x, x, (long long)below(m, s.n));
}

static const char *make_scan(Maker *m)
{
    const Dims s = random_dims(m, 1, 2, 3);
    const int64_t along = below(m, s.n);
    Dims row = {0};
    for (int64_t k = 0; k < s.n; k++)
        if (k != along) row.d[row.n++] = s.d[k];
    const char *x = shape(m, "f32", s), *y = shape(m, "f32", row);
    return TEXT("HloModule m\nstep { a = %s parameter(0)\n b = %s parameter(1)\n c = %s add(a, b)\n ROOT t = (%s, %s) "
                "tuple(c, c)\n }\n"
                "ENTRY e {\np = %s parameter(0)\nz = %s parameter(1)\nROOT r = (%s, %s) scan(p, z), dimensions={%lld}, "
                "is_reverse=%s, num_carries=1, to_apply=step\n}\n",
                y, y, y, y, y, x, y, x, y, (long long)along, below(m, 2) ? "true" : "false");
}

static const char *make_topk(Maker *m)
{
    const Dims s = random_dims(m, 1, 2, 4);
    Dims to = s;
    const int64_t k = to.d[s.n - 1] = between(m, 1, s.d[s.n - 1]);
    return entry(m, TEXT("p = %s parameter(0)\nROOT r = (%s, %s) topk(p), k=%lld, largest=true\n", shape(m, "f32", s),
                         shape(m, "f32", to), shape(m, "s32", to), (long long)k));
}

static const char *make_batch_norm(Maker *m)
{
    const Dims s = random_dims(m, 1, 3, 3);
    const int64_t feature = below(m, s.n), which = below(m, 3);
    const char *x = shape(m, "f32", s), *v = TEXT("f32[%lld]", (long long)s.d[feature]);
    const char *head = TEXT("x = %s parameter(0)\ng = %s parameter(1)\nb = %s parameter(2)\n", x, v, v);
    const char *tail = TEXT("epsilon=0.5, feature_index=%lld", (long long)feature);
    if (which == 0)
        return entry(m, TEXT("%sROOT r = (%s, %s, %s) batch-norm-training(x, g, b), %s\n", head, x, v, v, tail));
    if (which == 1)
        return entry(m, TEXT("%sw = %s parameter(3)\ny = %s parameter(4)\nROOT r = (%s, %s, %s) batch-norm-grad(x, g, "
                             "b, w, y), %s\n",
                             head, v, x, x, v, v, tail));
    return entry(
        m, TEXT("%sc = %s parameter(3)\nd = %s parameter(4)\nROOT r = %s batch-norm-inference(x, g, b, c, d), %s\n",
                head, v, v, x, tail));
}

/* --- fusions of several operations -------------------------------------------------------------------------------- */

static const char *make_fusion(Maker *m)
{
    Dims s = random_dims(m, 1, 3, 4);
    const char *first = shape(m, "f32", s);
    WbbBuf b = wbb_buf(m->a);
    int64_t v = 0;
    for (const int64_t steps = between(m, 2, 5); v < steps; v++) {
        const char *old = shape(m, "f32", s), *from = v ? TEXT("v%lld", (long long)(v - 1)) : "x";
        const int64_t d = below(m, s.n);
        Dims to = s;
        const char *text = NULL;
        switch (below(m, 7)) {
        case 0: s = refactored(m, s), text = TEXT("reshape(%s)", from); break;
        case 1: {
            const Dims p = permutation(m, s.n);
            for (int64_t k = 0; k < s.n; k++) to.d[k] = s.d[p.d[k]];
            s = to, text = TEXT("transpose(%s), dimensions={%s}", from, list(m, p));
            break;
        }
        case 2: text = TEXT("reverse(%s), dimensions={%lld}", from, (long long)d); break;
        case 3:
            s.d[d] += 2;
            text = TEXT("pad(%s, z), padding=", from);
            for (int64_t k = 0; k < s.n; k++) text = TEXT("%s%s%d_%d", text, k ? "x" : "", k == d, k == d);
            break;
        case 4: s.d[d] *= 2, text = TEXT("concatenate(%s, %s), dimensions={%lld}", from, from, (long long)d); break;
        case 5:
            text = TEXT("dynamic-slice(%s", from);
            for (int64_t k = 0; k < s.n; k++) text = TEXT("%s, %s", text, k == d ? "i" : "j");
            s.d[d] = between(m, 1, s.d[d]);
            text = TEXT("%s), dynamic_slice_sizes={%s}", text, list(m, s));
            break;
        default: text = TEXT("add(%s, %s)", from, from); break;
        }
        (void)old;
        if (s.n == 0) s = (Dims){1, {1}}, text = TEXT("reshape(%s)", from);
        wbb_putf(&b, "%sv%lld = %s %s\n", v + 1 == steps ? "ROOT " : "", (long long)v, shape(m, "f32", s), text);
    }
    return TEXT("HloModule m\nf {\nx = %s parameter(0)\nz = f32[] parameter(1)\ni = s32[] parameter(2)\nj = s32[] "
                "parameter(3)\n%s}\nENTRY e {\np = %s parameter(0)\n"
                "q = f32[] parameter(1)\nk = s32[] parameter(2)\nl = s32[] parameter(3)\nROOT r = %s fusion(p, q, k, "
                "l), kind=kLoop, calls=f\n}\n",
                first, b.text, first, shape(m, "f32", s));
}

static const char *make_module(Maker *m, Kind kind)
{
    switch (kind) {
    case KIND_BROADCAST: return make_broadcast(m);
    case KIND_TRANSPOSE: return make_transpose(m);
    case KIND_SLICE: return make_slice(m);
    case KIND_PAD: return make_pad(m);
    case KIND_CONCATENATE: return make_concatenate(m);
    case KIND_BITCAST_CONVERT: return make_bitcast_convert(m);
    case KIND_DYNAMIC_SLICE: return make_dynamic(m, false);
    case KIND_DYNAMIC_UPDATE: return make_dynamic(m, true);
    case KIND_GATHER: return make_gather(m);
    case KIND_SCATTER: return make_scatter(m);
    case KIND_REDUCE: return make_reduce(m);
    case KIND_WINDOW: return make_window(m, false);
    case KIND_SELECT_SCATTER: return make_window(m, true);
    case KIND_DOT: return make_dot(m);
    case KIND_CONVOLUTION: return make_convolution(m);
    case KIND_SORT: return make_sort(m);
    case KIND_SCAN: return make_scan(m);
    case KIND_TOPK: return make_topk(m);
    case KIND_BATCH_NORM: return make_batch_norm(m);
    case KIND_FUSION: return make_fusion(m);
    default: return make_move(m, kind);
    }
}

#endif

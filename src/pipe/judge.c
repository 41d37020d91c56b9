/* judge.c: runs a bundle in the simulator and compares each element with the bounds that HLO allows.
 *
 * Needs a bundle and its module; leaves a verdict. The evaluator's plain result is inside its bounds, so an element
 * with the same bits is right, and bounds are evaluated only for the other elements. The evaluation in f64 gives the
 * error in units in the last place, which is reported but not judged; it is sampled if an output is large.
 *
 *     output 0 (f32) element 17 is 0x40000000 (2), evaluated 0x3f800000 (1), allowed 0.99999994 .. 1.0000001
 */
#include "pipe/judge.h"

#include <string.h>
#include <time.h>

/* SAMPLE: larger outputs are sampled for their error. CHUNK: elements compared at once. */
enum { SAMPLE = 1 << 20, CHUNK = 64 };

void pipe_write_outputs(WbbCx *cx, WbbArena *a, const char *dir, uint32_t n, const EvValue *outputs)
{
    wbb_make_dir(cx, dir);
    for (uint32_t i = 0; i < n; i++)
        bd_write_npy(cx, wbb_format(a, "%s/out%u.npy", dir, i), sc_type_info[outputs[i].type].hlo, outputs[i].dims,
                     outputs[i].rank, outputs[i].data);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */
typedef struct {
    const Bundle *b;
    SimBuffer *memory;  /* [n_buffers] */
    const int *leaf;    /* buffer of output leaf k */
    uint32_t n_leaves;
} Run;

/* Buffer i, an output that is updated in place, uses the memory of its operand, which the kernel may then write. */
static void alias_operand(Run *r, int i)
{
    SimBuffer *operand = &r->memory[r->b->buffers[i].alias];
    operand->role = BD_OUT;
    operand->writes = r->b->buffers[i].writes;
    operand->initialised = true;
    r->memory[i] = *operand;
}

/* Can buffer i use the operand's array as its memory? It is not written, and the array has the memory's layout. */
static bool can_use_array(const Bundle *b, int i, size_t padding)
{
    const BdBuffer *d = &b->buffers[i];
    bool same = d->role == BD_IN && d->bits >= 8 && padding == 0 && d->bytes > 0 && bd_row_major(d);
    for (int k = 0; k < b->n_buffers; k++)
        if (b->buffers[k].init == BD_INIT_COPY && b->buffers[k].alias == i) same = false;
    return same;
}

static Run prepare(WbbCx *cx, WbbArena *a, const Bundle *b, const PipeOperands *operands, size_t padding)
{
    Run r = {.b = b, .memory = WBB_NEW_N(a, SimBuffer, b->n_buffers + 1)};
    int *leaf = WBB_NEW_N(a, int, b->n_buffers + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *d = &b->buffers[i];
        if (d->role == BD_OUT) leaf[r.n_leaves++] = i;
        if (d->init == BD_INIT_COPY && d->alias >= 0) {
            alias_operand(&r, i);
            continue;
        }
        if (d->role == BD_IN && d->arg >= (int)operands->n)
            wbb_fail(cx, (WbbLoc){0}, "the bundle has %d operands, its fusion %u", d->arg + 1, operands->n);
        const void *array = d->role == BD_IN ? operands->arrays[d->arg] : NULL;
        const bool own = !array || !can_use_array(b, i, padding);
        /* The simulator reports a store to an operand as a fault, so `array` is not written. */
        void *bytes = own ? wbb_alloc(a, (size_t)d->bytes + padding + 16) : (void *)array;
        r.memory[i] = (SimBuffer){.bytes = bytes, .size = (size_t)d->bytes, .role = d->role, .writes = d->writes,
                                  .initialised = d->init == BD_INIT_ZERO};
        if (d->role == BD_IN && !array) r.memory[i].source = pipe_pages(a, operands, d);
        else if (d->role == BD_IN && own) bd_to_physical(cx, d, array, bytes);
    }
    r.leaf = leaf;
    return r;
}

/* The launch with the operand's buffer in place of each output that updates it. */
static BdLaunch resolve_aliases(WbbArena *a, const Bundle *b, const BdLaunch *launch)
{
    BdLaunch out = *launch;
    int *args = WBB_NEW_N(a, int, launch->n_args + 1);
    for (int k = 0; k < launch->n_args; k++) {
        const BdBuffer *d = &b->buffers[launch->args[k]];
        args[k] = d->init == BD_INIT_COPY && d->alias >= 0 ? d->alias : launch->args[k];
    }
    out.args = args;
    return out;
}

static EvValue output_value(WbbCx *cx, WbbArena *a, const Run *r, uint32_t k)
{
    const BdBuffer *d = &r->b->buffers[r->leaf[k]];
    const ScType type = sc_type_named(d->type, strlen(d->type));
    const int64_t n = bd_elements(d->dims, d->rank);
    int64_t *dims = WBB_NEW_N(a, int64_t, d->rank + 1);
    for (int i = 0; i < d->rank; i++) dims[i] = d->dims[i];
    void *logical = wbb_alloc(a, wbb_mul_size(a, (size_t)n, sc_bytes(type)) + 16);
    bd_to_logical(cx, d, r->memory[r->leaf[k]].bytes, logical);
    return (EvValue){.type = type, .rank = (uint8_t)d->rank, .dims = dims, .data = logical};
}

/* Elements are compared by parts: a real element has one, a complex element has re and im. */
static int64_t parts_of(const EvValue *v) { return ev_part_type(v->type) == v->type ? 1 : 2; }

static uint64_t part_at(const EvValue *v, int64_t i, int64_t part)
{
    const ScType type = ev_part_type(v->type);
    const size_t bytes = sc_bytes(type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)v->data + (size_t)(i * parts_of(v) + part) * bytes, bytes);
    return bits & sc_mask(type);
}

static bool same_bits(const EvValue *a, int64_t i, const EvValue *b, int64_t k)
{
    return part_at(a, i, 0) == part_at(b, k, 0) && (parts_of(a) == 1 || part_at(a, i, 1) == part_at(b, k, 1));
}

/* What the outputs are judged by. */
typedef struct {
    HloFusion fusion; /* of the text */
    const PipeOperands *operands;
    const HloComputation *normal; /* the fusion in normal form, whose instructions the order names */
    const EvOrder *order;         /* that the bundle documents; NULL: none */
} Judged;

static Judged judged(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const PipeOperands *operands,
                     const Bundle *b)
{
    Judged j = {.fusion = *f, .operands = operands};
    if (!b->n_order) return j;
    j.normal = hlo_fusion(cx, hlo_normalise(cx, a, m)).body;
    j.order = ev_order(cx, a, "kernel.json", b->order, (uint32_t)b->n_order);
    return j;
}

/* --- comparison --------------------------------------------------------------------------------------------------- */
typedef struct { int64_t *items; uint32_t n, capacity; } Offsets;

/* Offsets in memory of the elements of leaf k that the run wrote. Of a large output a sample of the blocks writes
 * little, so what is untouched is passed over eight bytes at a time, or a page, and nothing is made that is as
 * large. */
static Offsets written_offsets(WbbArena *a, const Run *r, const PipeVerdict *v, uint32_t k)
{
    const BdBuffer *d = &r->b->buffers[r->leaf[k]];
    const int64_t elements = bd_elements(d->dims, d->rank);
    const int64_t each = d->bits < 8 ? 8 / d->bits : 1;    /* elements in .. */
    const int64_t wide = d->bits < 8 ? 1 : d->bits / 8; /* .. so many bytes */
    const int memory = d->init == BD_INIT_COPY && d->alias >= 0 ? d->alias : r->leaf[k];
    const uint8_t *written = v->report.written ? v->report.written[memory] : NULL;
    const SimSource *source = r->memory[memory].source;
    Offsets out = {0};
    for (int64_t at = 0; written && at < d->bytes; at += wide) {
        uint64_t eight;
        for (; at % 8 == 0 && at + 8 <= d->bytes; at += 8) {
            if (source && at % SIM_PAGE == 0 && !source->made[at / SIM_PAGE]) {
                at += SIM_PAGE - 8;
                continue;
            }
            memcpy(&eight, written + at, 8);
            if (eight && eight != 0x0303030303030303) break;
        }
        if (at >= d->bytes || !written[at] || written[at] > 2) continue; /* above 2: it has its first contents */
        for (int64_t i = 0; i < each && at / wide * each + i < elements; i++) WBB_PUSH(a, &out, at / wide * each + i);
    }
    return out;
}

/* The elements of leaf k at these offsets, in their order. */
static EvValue output_at(WbbArena *a, const Run *r, uint32_t k, const Offsets *offsets)
{
    const BdBuffer *d = &r->b->buffers[r->leaf[k]];
    const ScType type = sc_type_named(d->type, strlen(d->type));
    const size_t bytes = sc_bytes(type);
    const uint8_t *memory = r->memory[r->leaf[k]].bytes;
    uint8_t *out = wbb_alloc(a, wbb_mul_size(a, offsets->n + 1, bytes));
    for (uint32_t i = 0; i < offsets->n; i++) {
        const int64_t at = offsets->items[i];
        if (d->bits >= 8) {
            memcpy(out + i * bytes, memory + (size_t)at * bytes, bytes);
            continue;
        }
        const uint32_t value = (uint32_t)(memory[at * d->bits / 8] >> at * d->bits % 8) & (uint32_t)sc_mask(type);
        const uint32_t sign = sc_is_signed(type) ? 1u << (d->bits - 1) : 0;
        out[i] = (uint8_t)((value ^ sign) - sign);
    }
    int64_t *dims = WBB_NEW_N(a, int64_t, 1);
    dims[0] = offsets->n;
    return (EvValue){.type = type, .rank = 1, .dims = dims, .data = out};
}

static void report_first(WbbArena *a, PipeVerdict *v, uint32_t leaf, int64_t at, int64_t part, const EvValue *got,
                         uint64_t bits, uint64_t plain, const EvBound *bound)
{
    WbbBuf b = wbb_buf(a);
    const ScType type = ev_part_type(got->type);
    wbb_putf(&b, "output %u (%s) element %lld%s is 0x%llx", leaf, sc_type_info[got->type].hlo, (long long)at,
             parts_of(got) == 1 ? "" : part ? ", imaginary part," : ", real part,", (unsigned long long)bits);
    if (sc_is_float(type)) wbb_putf(&b, " (%g)", sc_to_f64(type, bits));
    wbb_putf(&b, ", evaluated 0x%llx", (unsigned long long)plain);
    if (sc_is_float(type)) wbb_putf(&b, " (%g)", sc_to_f64(type, plain));
    wbb_put(&b, ", allowed ");
    ev_put_bounds(&b, type, bound);
    v->first = b.text;
}

/* CHUNK if the next CHUNK elements from i on have the same bits in both, else 0. */
static int64_t same_chunk(const EvValue *got, const EvValue *plain, int64_t i, int64_t n)
{
    const size_t bytes = sc_bytes(got->type);
    const char *x = (const char *)got->data + (size_t)i * bytes, *y = (const char *)plain->data + (size_t)i * bytes;
    return n - i >= CHUNK && memcmp(x, y, CHUNK * bytes) == 0 ? CHUNK : 0;
}

/* Compare a leaf with the bounds. `got` and `plain` hold the elements at `positions` (NULL: all) in their order. */
static void compare_leaf(WbbCx *cx, WbbArena *a, const HloComputation *c, const PipeOperands *operands,
                         const EvOrder *order, EvMode mode, uint32_t n_leaves, uint32_t leaf, const EvValue *got,
                         const EvValue *plain, const int64_t *positions, int64_t n, PipeVerdict *v)
{
    int64_t *suspects = WBB_NEW_N(a, int64_t, n + 1), *indices = WBB_NEW_N(a, int64_t, n + 1), count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t same = positions || i % CHUNK ? 0 : same_chunk(got, plain, i, n);
        if (same) {
            i += same - 1;
            continue;
        }
        if (same_bits(got, i, plain, i)) continue;
        indices[count] = i;
        suspects[count++] = positions ? positions[i] : i;
    }
    if (!order) v->compared += n;
    if (!count) return;
    EvPositions *at = WBB_NEW_N(a, EvPositions, n_leaves);
    at[leaf] = (EvPositions){.positions = suspects, .n = count};
    const EvResult *bounds = pipe_evaluate(cx, a, c, operands, order, mode, at);
    const EvBound *b = bounds->outputs[leaf].data;
    const int64_t parts = parts_of(got);
    const ScType type = ev_part_type(got->type);
    for (int64_t i = 0; i < count; i++) {
        int64_t p = 0;
        while (p < parts && ev_bounds_contains(type, part_at(got, indices[i], p), &b[i * parts + p])) p++;
        if (p == parts || v->outside++) continue;
        const uint64_t bits = part_at(got, indices[i], p), expected = part_at(plain, indices[i], p);
        report_first(a, v, leaf, suspects[i], p, got, bits, expected, &b[i * parts + p]);
    }
}

/* The distance of the elements that are sampled of n. It is odd, so that a sample of inputs that repeat sees all of
 * them. */
static int64_t step_of(int64_t n) { return n / SAMPLE | 1; }

static EvPositions sample(WbbArena *a, const int64_t *positions, int64_t n)
{
    const int64_t step = step_of(n), count = (n + step - 1) / step;
    int64_t *list = WBB_NEW_N(a, int64_t, count + 1);
    for (int64_t i = 0; i < count; i++) list[i] = positions ? positions[i * step] : i * step;
    return (EvPositions){.positions = list, .n = count};
}

/* The factor from units in the last place of a part to those of the element's larger part: errors of complex elements
 * are counted in the latter. */
static double of_larger(ScType type, double part, double other)
{
    const double unit = ev_ulp(type, part), larger = ev_ulp(type, other);
    return larger > unit ? unit / larger : 1;
}

static void measure_error(WbbCx *cx, WbbArena *a, const HloComputation *c, const PipeOperands *operands,
                          uint32_t n_leaves, const EvValue *got, const EvPositions *at, PipeVerdict *v)
{
    EvPositions *some = WBB_NEW_N(a, EvPositions, n_leaves + 1);
    for (uint32_t k = 0; k < n_leaves; k++) {
        if (!sc_is_float(ev_part_type(got[k].type))) continue;
        some[k] = sample(a, at ? at[k].positions : NULL, at ? at[k].n : bd_elements(got[k].dims, got[k].rank));
    }
    const EvResult *exact = pipe_evaluate(cx, a, c, operands, NULL, EV_F64, some);
    for (uint32_t k = 0; k < n_leaves; k++) {
        const double *x = exact->outputs[k].data;
        const int64_t parts = parts_of(&got[k]), step = step_of(at ? at[k].n : bd_elements(got[k].dims, got[k].rank));
        for (int64_t i = 0; i < parts * some[k].n; i++) {
            const ScType type = ev_part_type(got[k].type);
            double d = ev_ulp_distance(type, part_at(&got[k], i / parts * step, i % parts), x[i]);
            if (parts == 2) d *= of_larger(type, x[i], x[i ^ 1]);
            if (d > v->max_ulp && d < 1e300) v->max_ulp = d;
        }
    }
}

/* All outputs against what computation c allows, in any order of its sums or in that which the kernel documents. */
static void compare(WbbCx *cx, WbbArena *a, const HloComputation *c, const PipeOperands *operands, const EvOrder *order,
                    const Run *r, const PipeRun *run, const EvValue *got, const EvPositions *at, PipeVerdict *v)
{
    const EvResult *plain = pipe_evaluate(cx, a, c, operands, order, EV_PLAIN, at);
    const EvMode mode = run->approx ? EV_BOUNDS_APPROX : EV_BOUNDS;
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        const int64_t n = at ? at[k].n : bd_elements(got[k].dims, got[k].rank);
        compare_leaf(cx, a, c, operands, order, mode, r->n_leaves, k, &got[k], &plain->outputs[k],
                     at ? at[k].positions : NULL, n, v);
    }
}

/* Against the bounds of the text, and then, in the normalised fusion, against the order that the bundle documents. */
static void judge(WbbCx *cx, WbbArena *a, const Judged *j, const Run *r, const PipeRun *run, PipeVerdict *v)
{
    const HloFusion *f = &j->fusion;
    const PipeOperands *operands = j->operands;
    const EvOrder *order = j->order;
    const HloComputation *normal = j->normal;
    EvPositions *at = run->blocks ? WBB_NEW_N(a, EvPositions, r->n_leaves + 1) : NULL;
    EvValue *got = WBB_NEW_N(a, EvValue, r->n_leaves + 1);
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        if (!at) {
            got[k] = output_value(cx, a, r, k);
            continue;
        }
        const Offsets offsets = written_offsets(a, r, v, k);
        int64_t *positions = WBB_NEW_N(a, int64_t, offsets.n + 1);
        const BdBuffer *d = &r->b->buffers[r->leaf[k]];
        for (uint32_t i = 0; i < offsets.n; i++) positions[i] = bd_logical_index(d, offsets.items[i]);
        at[k] = (EvPositions){.positions = positions, .n = offsets.n};
        got[k] = output_at(a, r, k, &offsets);
    }
    compare(cx, a, f->body, operands, NULL, r, run, got, at, v);
    if (order && !v->outside) compare(cx, a, normal, operands, order, r, run, got, at, v);
    measure_error(cx, a, f->body, operands, r->n_leaves, got, at, v);
}

/* --- further runs: in another order, on a GPU --------------------------------------------------------------------- */
/* A run with copies of the buffers. */
static Run copy_of(WbbArena *a, const Run *r, size_t padding)
{
    Run out = *r;
    out.memory = WBB_NEW_N(a, SimBuffer, r->b->n_buffers + 1);
    for (int i = 0; i < r->b->n_buffers; i++) {
        const BdBuffer *d = &r->b->buffers[i];
        out.memory[i] = r->memory[i];
        if (d->init == BD_INIT_COPY && d->alias >= 0) continue;
        out.memory[i].bytes = wbb_alloc(a, r->memory[i].size + padding + 16);
        if (r->memory[i].size) memcpy(out.memory[i].bytes, r->memory[i].bytes, r->memory[i].size);
    }
    for (int i = 0; i < r->b->n_buffers; i++) {
        const BdBuffer *d = &r->b->buffers[i];
        if (d->init == BD_INIT_COPY && d->alias >= 0) out.memory[i] = out.memory[d->alias];
    }
    return out;
}

/* The number of bytes of output leaves that differ; *first names the first. */
static int64_t differing(WbbArena *a, const Run *x, const Run *y, const char **first)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < x->n_leaves; k++) {
        const BdBuffer *d = &x->b->buffers[x->leaf[k]];
        const uint8_t *p = x->memory[x->leaf[k]].bytes, *q = y->memory[x->leaf[k]].bytes;
        for (int64_t i = 0; i < d->bytes; i++) {
            if (p[i] == q[i]) continue;
            if (!n++) *first = wbb_format(a, "output %u element %lld in memory", k, (long long)(i * 8 / d->bits));
        }
    }
    return n;
}

static void run_all(WbbCx *cx, WbbArena *a, const SimModule *ptx, const Run *r, const SimOptions *o, SimReport *report)
{
    for (int i = 0; i < r->b->n_launches && report->n_faults == 0; i++) {
        const BdLaunch launch = resolve_aliases(a, r->b, &r->b->launches[i]);
        sim_run(cx, a, ptx, &launch, r->memory, r->b->n_buffers, o, report);
    }
}

/* Run blocks and warps in another order. If the outputs change, the verdict says so, and they are judged too: atomic
 * sums of floats may change within the bounds. */
static void run_again(WbbCx *cx, WbbArena *a, const SimModule *ptx, const Judged *j, const Run *r, const Run *fresh,
                      const PipeRun *run, PipeVerdict *v)
{
    const uint64_t seed = run->shuffle ? run->order + 1 : 1;
    const SimOptions o = {.shuffle = true, .seed = seed, .padding = run->padding, .threads = run->threads};
    SimReport report = {0};
    run_all(cx, a, ptx, fresh, &o, &report);
    const char *first;
    if (!differing(a, r, fresh, &first)) return;
    v->order = wbb_format(a, "the result depends on the order of warps or blocks: %s", first);
    judge(cx, a, j, fresh, run, v);
}

/* Does the PTX manual fix every bit of the results? Not those of approximate instructions, nor the order of atomic
 * operations. */
static bool is_exact(const char *ptx)
{
    static const char *const loose[] = {".approx", "tanh.", "ex2.", "atom.", "red."};
    for (size_t i = 0; i < WBB_LEN(loose); i++)
        for (const char *at = strstr(ptx, loose[i]); at; at = strstr(at + 1, loose[i]))
            if (loose[i][0] == '.' || at == ptx || strchr(" \t\n{;", at[-1])) return false;
    return true;
}

static void on_gpu(WbbCx *cx, WbbArena *a, const Run *r, const Run *device, const PipeRun *run, PipeVerdict *v)
{
    const Bundle *b = r->b;
    GpuBuffer *memory = WBB_NEW_N(a, GpuBuffer, b->n_buffers + 1);
    BdLaunch *launches = WBB_NEW_N(a, BdLaunch, b->n_launches + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        const SimBuffer *m = &device->memory[i];
        const bool shares = b->buffers[i].init == BD_INIT_COPY && b->buffers[i].alias >= 0;
        if (!shares) memory[i] = (GpuBuffer){m->bytes, m->size, m->role == BD_OUT};
    }
    for (int i = 0; i < b->n_launches; i++) launches[i] = resolve_aliases(a, b, &b->launches[i]);
    v->gpu = gpu_run(cx, a, b, launches, memory, &(GpuOptions){.repeat = run->repeat, .padding = run->padding});
    v->exact = is_exact(b->ptx);
    v->differ = differing(a, device, r, &v->first_differ);
}

PipeVerdict pipe_run(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const PipeRun *options)
{
    PipeVerdict v = {0};
    wbb_use_threads(cx, options->threads);
    const PipeRun own = pipe_with_spikes(cx, a, m, *options, &v.spikes), *run = &own;
    if (run->blocks) wbb_arena_limit(a, (size_t)1 << 40); /* only the pages that a sample reads and writes use memory */
    const HloFusion f = hlo_fusion(cx, m);
    const PipeOperands operands = pipe_operands(cx, a, &f, m, run);
    const Run r = prepare(cx, a, b, &operands, run->padding);
    const SimModule *ptx = sim_parse(cx, a, run->ptx_name ? run->ptx_name : "kernel.ptx", b->ptx);
    const SimOptions o = {.check = run->check, .shuffle = run->shuffle, .seed = run->shuffle ? run->order : run->seed,
                          .blocks = run->blocks, .padding = run->padding, .threads = run->threads,
                          .ulp_noise = run->ulp_noise, .counts = run->counts ? &v.counts : NULL};
    const bool again = run->check && !run->blocks && sim_ordered_work(ptx);
    const Run fresh = again ? copy_of(a, &r, run->padding) : r;
    const Run device = run->on_gpu ? copy_of(a, &r, run->padding) : r;
    double since = wbb_now_ms();
    const clock_t busy = clock();
    run_all(cx, a, ptx, &r, &o, &v.report);
    v.ms_run = wbb_now_ms() - since;
    v.ms_cpu = 1e3 * (double)(clock() - busy) / CLOCKS_PER_SEC;
    if (run->on_gpu) on_gpu(cx, a, &r, &device, run, &v);
    if (run->output_dir) {
        EvValue *got = WBB_NEW_N(a, EvValue, r.n_leaves + 1);
        for (uint32_t k = 0; k < r.n_leaves; k++) got[k] = output_value(cx, a, &device, k);
        pipe_write_outputs(cx, a, run->output_dir, r.n_leaves, got);
    }
    since = wbb_now_ms();
    const Judged j = judged(cx, a, &f, m, &operands, b);
    if ((run->check || (run->on_gpu && !v.exact)) && v.report.n_faults == 0) judge(cx, a, &j, &device, run, &v);
    if (again && v.report.n_faults == 0) run_again(cx, a, ptx, &j, &r, &fresh, run, &v);
    v.ms_eval = wbb_now_ms() - since;
    return v;
}

/* judge.c: runs a bundle in the simulator and compares each element with the bounds that HLO allows.
 *
 * Needs a bundle and its module; leaves a verdict. The evaluator's plain result is inside its bounds, so an element
 * with the same bits is right, and bounds are evaluated only for the other elements. The evaluation in f64 gives the
 * error in units in the last place, which is reported but not judged; it is sampled if an output is large.
 *
 *     output 0 (f32) element 17 is 0x40000000 (2), evaluated 0x3f800000 (1), allowed 0.99999994 .. 1.0000001
 */
#include "judge/judge.h"
#include "graph/graph.h"
#include "judge/memory.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* SAMPLE: larger outputs are sampled for their error. CHUNK: elements compared at once. */
enum { SAMPLE = 1 << 20, CHUNK = 64 };

void judge_write_outputs(WbbCx *cx, WbbArena *a, const char *dir, uint32_t n, const EvValue *outputs)
{
    wbb_make_dir(cx, dir);
    for (uint32_t i = 0; i < n; i++)
        bd_write_npy(cx, wbb_format(a, "%s/out%u.npy", dir, i), sc_type_info[outputs[i].type].hlo, outputs[i].dims,
                     outputs[i].rank, outputs[i].data);
}

static EvValue output_value(WbbCx *cx, WbbArena *a, const JudgeMemory *r, uint32_t k)
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
    const JudgeOperands *operands;
    const HloComputation *normal; /* the fusion in normal form, whose instructions the order names */
    const EvOrder *order;         /* that the bundle documents; NULL: none */
    const EvOrder *needed;        /* the part of it without which the bounds are too narrow; NULL: none */
} Judged;

/* An engine without the rules that the compile left out. */
static RwCx *rules_of(WbbCx *cx, WbbArena *a, const Bundle *b)
{
    if (!b->n_without) return NULL;
    RwCx *rw = ix_engine(cx, a);
    for (int k = 0; k < b->n_without; k++) rw_disable(rw, b->without[k]);
    return rw;
}

const HloModule *judge_normal_of(WbbCx *cx, WbbArena *a, const HloModule *m, const Bundle *b)
{
    const HloModule *normal = gr_arrays(cx, a, gr_of_kernel(cx, a, m), rules_of(cx, a, b));
    for (int k = 0; k < (int)b->n_order; k++)
        if (strstr(b->order[k], ": mma f32")) return normal;
    return gr_sums(cx, a, normal, NULL);
}

static Judged judged(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const JudgeOperands *operands,
                     const Bundle *b)
{
    Judged j = {.fusion = *f, .operands = operands};
    if (!b->n_order) return j;
    j.normal = hlo_fusion(cx, judge_normal_of(cx, a, m, b)).body;
    j.order = ev_order(cx, a, "kernel.json", b->order, (uint32_t)b->n_order, j.normal);
    ev_order_check(cx, j.order, j.normal);
    j.needed = ev_order_needed(a, j.order, j.normal);
    return j;
}

/* --- comparison --------------------------------------------------------------------------------------------------- */
typedef struct { int64_t *items; uint32_t n, capacity; } Offsets;

/* Offsets in memory of the elements of leaf k that the run wrote. Of a large output a sample of the blocks writes
 * little, so what is untouched is passed over eight bytes at a time, or a page, and nothing is made that is as
 * large. */
static Offsets written_offsets(WbbArena *a, const JudgeMemory *r, const JudgeVerdict *v, uint32_t k)
{
    const BdBuffer *d = &r->b->buffers[r->leaf[k]];
    const int64_t elements = bd_elements(d->dims, d->rank);
    const int64_t each = d->bits < 8 ? 8 / d->bits : 1;    /* elements in .. */
    const int64_t wide = d->bits < 8 ? 1 : d->bits / 8; /* .. so many bytes */
    const int memory = r->home[r->leaf[k]];
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
static EvValue output_at(WbbArena *a, const JudgeMemory *r, uint32_t k, const Offsets *offsets)
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

static void report_first(WbbArena *a, JudgeVerdict *v, uint32_t leaf, int64_t at, int64_t part, const EvValue *got,
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

/* The part of the way from the plain result to the bound on its side that a number took; 0 where there is no way. */
static double share_of(ScType type, uint64_t bits, uint64_t plain, const EvBound *b)
{
    if (!sc_is_float(type)) return 0;
    const double x = sc_to_f64(type, bits), from = sc_to_f64(type, plain), to = x < from ? b->lo.f : b->hi.f;
    const double share = (x - from) / (to - from);
    return share > 0 && share <= 1 ? share : 0;
}

/* Compare a leaf with the bounds. `got` and `plain` hold the elements at `positions` (NULL: all) in their order. */
static void compare_leaf(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                         const EvOrder *order, EvMode mode, uint32_t n_leaves, uint32_t leaf, const EvValue *got,
                         const EvValue *plain, const int64_t *positions, int64_t n, JudgeVerdict *v)
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
    if (!count) return;
    EvPositions *at = WBB_NEW_N(a, EvPositions, n_leaves);
    at[leaf] = (EvPositions){.positions = suspects, .n = count};
    const EvResult *bounds = judge_evaluate(cx, a, c, operands, order, mode, at);
    const EvBound *b = bounds->outputs[leaf].data;
    const int64_t parts = parts_of(got);
    const ScType type = ev_part_type(got->type);
    for (int64_t i = 0; i < count; i++) {
        int64_t p = 0;
        while (p < parts && ev_bounds_contains(type, part_at(got, indices[i], p), &b[i * parts + p])) p++;
        for (int64_t q = 0; q < p; q++)
            v->share = WBB_MAX(v->share, share_of(type, part_at(got, indices[i], q), part_at(plain, indices[i], q),
                                                  &b[i * parts + q]));
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

static void measure_error(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                          uint32_t n_leaves, const EvValue *got, const EvPositions *at, JudgeVerdict *v)
{
    EvPositions *some = WBB_NEW_N(a, EvPositions, n_leaves + 1);
    for (uint32_t k = 0; k < n_leaves; k++) {
        if (!sc_is_float(ev_part_type(got[k].type))) continue;
        some[k] = sample(a, at ? at[k].positions : NULL, at ? at[k].n : bd_elements(got[k].dims, got[k].rank));
    }
    const EvResult *exact = judge_evaluate(cx, a, c, operands, NULL, EV_F64, some);
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

/* All outputs against what computation c allows, in any order of its sums or in that which the kernel documents;
 * returns how many elements there are. */
static int64_t compare(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                       const EvOrder *order, const JudgeRun *run, uint32_t n_leaves, const EvValue *got,
                       const EvPositions *at, JudgeVerdict *v)
{
    const EvResult *plain = judge_evaluate(cx, a, c, operands, order, EV_PLAIN, at);
    const EvMode mode = ev_bounds_mode(run->accuracy);
    int64_t elements = 0;
    for (uint32_t k = 0; k < n_leaves; k++) {
        const int64_t n = at ? at[k].n : bd_elements(got[k].dims, got[k].rank);
        compare_leaf(cx, a, c, operands, order, mode, n_leaves, k, &got[k], &plain->outputs[k],
                     at ? at[k].positions : NULL, n, v);
        elements += n;
    }
    return elements;
}

/* Against the bounds of the text, and then, in the normalised fusion, against the order that the bundle documents. `at`
 * has the positions of the elements of each leaf; NULL: all. */
static void against_bounds(WbbCx *cx, WbbArena *a, const Judged *j, const JudgeRun *run, uint32_t n, const EvValue *got,
                           const EvPositions *at, JudgeVerdict *v)
{
    const HloComputation *text = j->fusion.body;
    v->compared += compare(cx, a, j->needed ? j->normal : text, j->operands, j->needed, run, n, got, at, v);
    if (j->order && !v->outside) {
        compare(cx, a, j->normal, j->operands, j->order, run, n, got, at, v);
        if (v->outside) v->first = wbb_format(a, "in the order that the kernel documents, %s", v->first);
    }
    measure_error(cx, a, text, j->operands, n, got, at, v);
}

/* Of a sample of blocks: all blocks, where those that it leaves out may change what it has written to the output. */
static uint64_t unfinished(const JudgeMemory *r, const JudgeRun *run, uint32_t k)
{
    const uint32_t *grid = r->b->launches[0].grid; /* check_sample: there is one launch */
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    return r->b->buffers[r->leaf[k]].writes == BD_ATOMIC && run->blocks < blocks ? blocks : 0;
}

static void note_unfinished(WbbArena *a, JudgeVerdict *v, uint32_t leaf, uint64_t blocks)
{
    v->unjudged = wbb_format(a, "%soutput %u is not judged: other blocks may change what these have written; it is "
                                "where all %llu blocks run",
                             v->unjudged ? wbb_format(a, "%s; ", v->unjudged) : "", leaf, (unsigned long long)blocks);
}

/* What a run left in memory; of a sample of blocks what they wrote. */
static void judge(WbbCx *cx, WbbArena *a, const Judged *j, const JudgeMemory *r, const JudgeRun *run, JudgeVerdict *v)
{
    EvPositions *at = run->blocks ? WBB_NEW_N(a, EvPositions, r->n_leaves + 1) : NULL;
    EvValue *got = WBB_NEW_N(a, EvValue, r->n_leaves + 1);
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        if (!at) {
            got[k] = output_value(cx, a, r, k);
            continue;
        }
        const uint64_t all = unfinished(r, run, k);
        const Offsets offsets = all ? (Offsets){0} : written_offsets(a, r, v, k);
        if (all) note_unfinished(a, v, k, all);
        else if (!offsets.n && bd_elements(r->b->buffers[r->leaf[k]].dims, r->b->buffers[r->leaf[k]].rank))
            v->unjudged = "these blocks wrote no element";
        int64_t *positions = WBB_NEW_N(a, int64_t, offsets.n + 1);
        const BdBuffer *d = &r->b->buffers[r->leaf[k]];
        for (uint32_t i = 0; i < offsets.n; i++) positions[i] = bd_logical_index(d, offsets.items[i]);
        at[k] = (EvPositions){.positions = positions, .n = offsets.n};
        got[k] = output_at(a, r, k, &offsets);
    }
    against_bounds(cx, a, j, run, r->n_leaves, got, at, v);
}

void judge_fusion(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const JudgeOperands *operands,
                const JudgeMemory *r, const JudgeRun *run, JudgeVerdict *v)
{
    const Judged j = judged(cx, a, f, m, operands, r->b);
    judge(cx, a, &j, r, run, v);
}

void judge_outputs(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const JudgeOperands *operands,
                        const JudgeRun *run, uint32_t n, const EvValue *got, JudgeVerdict *v)
{
    const HloFusion f = hlo_fusion(cx, m);
    const Judged j = judged(cx, a, &f, m, operands, b);
    against_bounds(cx, a, &j, run, n, got, NULL, v);
}

void judge_values(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                       const EvOrder *order, const JudgeRun *run, uint32_t n, const EvValue *got, JudgeVerdict *v)
{
    v->compared += compare(cx, a, c, operands, order, run, n, got, NULL, v);
    measure_error(cx, a, c, operands, n, got, NULL, v);
}

/* --- loops without an end ----------------------------------------------------------------------------------------- */
typedef struct {
    WbbArena *arena;
    const HloComputation *c;
    const JudgeOperands *operands;
    const EvPositions *at;
} Ending;

static void evaluate_to_end(WbbCx *cx, void *arg)
{
    const Ending *e = arg;
    (void)judge_evaluate(cx, e->arena, e->c, e->operands, NULL, EV_PLAIN, e->at);
}

void judge_need_end(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                    const SimReport *report, const EvPositions *at)
{
    if (!report->ran_away || report->n_faults != 1) return;
    Ending e = {a, c, operands, at};
    const WbbStatus ended = wbb_guard(cx, evaluate_to_end, &e);
    if (ended == WBB_OK) return;
    wbb_note(cx, (WbbLoc){.file = c->root->loc.file},
             "the simulator stopped a loop of the kernel, and the evaluator gave up as well: these inputs say nothing "
             "of it");
    wbb_rethrow(cx, ended);
}

/* Of each leaf the first element, if there is one. */
static const EvPositions *first_elements(WbbArena *a, const JudgeMemory *r)
{
    EvPositions *at = WBB_NEW_N(a, EvPositions, r->n_leaves + 1);
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        const BdBuffer *d = &r->b->buffers[r->leaf[k]];
        at[k] = (EvPositions){.positions = WBB_NEW(a, int64_t), .n = bd_elements(d->dims, d->rank) > 0};
    }
    return at;
}

/* --- further runs: in another order, on used temporaries, in place, on a GPU -------------------------------------- */
/* What all runs of a bundle have in common. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Bundle *b;
    const SimModule *ptx;
    const JudgeOperands *operands;
    const JudgeRun *run;
    SimOptions options;
} Runs;

static JudgeMemory new_memory(const Runs *s, const JudgeShare *share)
{
    return judge_memory(s->cx, s->arena, s->b, s->operands, s->run->padding, share);
}

static void add_fault(JudgeVerdict *v, const char *text)
{
    if (v->report.n_faults < SIM_MAX_FAULTS) v->report.faults[v->report.n_faults++] = text;
}

static const char *name_of(const JudgeRun *run) { return run->ptx_name ? run->ptx_name : "kernel.ptx"; }

/* Run blocks and warps in another order. If the outputs change, the verdict says so, and they are judged too: atomic
 * sums of floats may change within the bounds. */
static void run_reordered(const Runs *s, const Judged *j, const JudgeMemory *r, JudgeVerdict *v)
{
    const JudgeRun *run = s->run;
    const SimOptions o = {.order = run->order == SIM_FORWARD ? SIM_SHUFFLED : SIM_FORWARD, .order_seed = 1,
                          .padding = run->padding, .threads = run->threads};
    JudgeMemory fresh = new_memory(s, NULL);
    SimReport report;
    judge_launch_all(s->cx, s->arena, s->ptx, &fresh, &o, &report);
    const char *first;
    if (!judge_differing(s->arena, r, &fresh, &first)) return;
    v->order = wbb_format(s->arena, "the result depends on the order of warps or blocks: %s", first);
    judge(s->cx, s->arena, j, &fresh, run, v);
}

/* A further run, whose outputs must have the bits of the first; `how` names it in faults. */
static void run_equal(const Runs *s, JudgeMemory *again, const JudgeMemory *r, const char *how, JudgeVerdict *v)
{
    SimOptions o = s->options;
    SimReport report;
    const char *first;
    o.counts = NULL, o.profile = NULL;
    judge_launch_all(s->cx, s->arena, s->ptx, again, &o, &report);
    for (int i = 0; i < report.n_faults; i++) add_fault(v, wbb_format(s->arena, "%s: %s", how, report.faults[i]));
    if (!report.n_faults && judge_differing(s->arena, r, again, &first))
        add_fault(v, wbb_format(s->arena, "%s: %s differs from the first run", how, first));
}

/* Tickets are zero after a run, so that the next one may have the same temporaries. */
static void run_twice(const Runs *s, const JudgeMemory *r, JudgeVerdict *v)
{
    const char *fault = judge_ticket_fault(s->arena, r);
    if (!fault) {
        JudgeMemory again = new_memory(s, NULL);
        judge_keep_temporaries(&again, r);
        run_equal(s, &again, r, "in a second run on the same temporaries", v);
        fault = v->report.n_faults ? NULL : judge_ticket_fault(s->arena, &again);
    }
    if (fault) add_fault(v, fault);
}

/* Each output in the memory of each operand that it may alias. */
static void run_in_place(const Runs *s, const JudgeMemory *r, JudgeVerdict *v)
{
    for (int i = 0; i < s->b->n_buffers; i++) {
        const BdBuffer *d = &s->b->buffers[i];
        for (int k = 0; k < d->n_may_alias && v->report.n_faults == 0; k++) {
            if (r->home[i] == d->may_alias[k]) continue; /* the first run was it */
            JudgeMemory again = new_memory(s, &(JudgeShare){.output = i, .operand = d->may_alias[k]});
            run_equal(s, &again, r, wbb_format(s->arena, "with output buffer %d in the memory of buffer %d", i,
                                               d->may_alias[k]), v);
        }
    }
}

/* The other ways to read products and sums without a rounding modifier, each on buffers as they were at first: all
 * results must be right. Outputs that a fused multiply-add puts outside the bounds are named as such. */
static void run_fused(const Runs *s, const Judged *j, JudgeVerdict *v)
{
    SimOptions o = s->options;
    o.counts = NULL, o.profile = NULL;
    for (uint32_t way = SIM_FUSED_FIRST; way < sim_fusings(s->ptx) && v->outside == 0; way++) {
        JudgeMemory r = new_memory(s, NULL);
        const SimModule *fused = sim_parse_fused(s->cx, s->arena, name_of(s->run), s->b->ptx, (SimFusing)way);
        const SimReport report = v->report;
        const int64_t compared = v->compared;
        const char *unjudged = v->unjudged;
        v->report = (SimReport){0};
        judge_launch_all(s->cx, s->arena, fused, &r, &o, &v->report);
        if (v->report.n_faults) return;
        judge(s->cx, s->arena, j, &r, s->run, v);
        v->report = report, v->compared = compared, v->unjudged = unjudged;
        if (v->outside) v->first = wbb_format(s->arena, "where mul and add without .rn are fused, %s", v->first);
    }
}

/* Does the PTX manual fix the results, but for the bits of NaNs? Not those of approximate instructions, nor the order
 * of atomic operations and of stores by several threads to one element. */
static bool is_exact(const char *ptx)
{
    static const char *const loose[] = {".approx", "tanh.", "ex2.", "atom.", "red.", "st.relaxed."};
    for (size_t i = 0; i < WBB_LEN(loose); i++)
        for (const char *at = strstr(ptx, loose[i]); at; at = strstr(at + 1, loose[i]))
            if (loose[i][0] == '.' || at == ptx || strchr(" \t\n{;", at[-1])) return false;
    return true;
}

/* A number of the GPU's outputs and that of the simulator. */
static void compare_number(const Runs *s, ScType type, uint32_t leaf, int64_t element, uint64_t got, uint64_t expected,
                           JudgeVerdict *v)
{
    if (got == expected) return;
    if (sc_is_float(type) && isnan(sc_to_f64(type, got)) && isnan(sc_to_f64(type, expected))) v->nans++;
    else if (!v->differ++)
        v->first_differ = wbb_format(s->arena, "output %u element %lld is 0x%llx, not 0x%llx", leaf, (long long)element,
                                     (unsigned long long)got, (unsigned long long)expected);
}

static void compare_with_simulator(const Runs *s, const JudgeMemory *r, const JudgeMemory *device, JudgeVerdict *v)
{
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        const EvValue x = output_value(s->cx, s->arena, device, k), y = output_value(s->cx, s->arena, r, k);
        const int64_t n = bd_elements(x.dims, x.rank);
        for (int64_t i = 0; i < n; i++) {
            const int64_t same = i % CHUNK ? 0 : same_chunk(&x, &y, i, n);
            for (int64_t part = 0; part < parts_of(&x) && !same; part++)
                compare_number(s, ev_part_type(x.type), k, i, part_at(&x, i, part), part_at(&y, i, part), v);
            if (same) i += same - 1;
        }
    }
}

/* Leaves the outputs and tickets of the GPU in `device`. */
static void on_gpu(const Runs *s, const JudgeMemory *r, const JudgeMemory *device, JudgeVerdict *v)
{
    const Bundle *b = s->b;
    const JudgeRun *run = s->run;
    const bool twice = judge_has_tickets(b);
    GpuBuffer *memory = WBB_NEW_N(s->arena, GpuBuffer, b->n_buffers + 1);
    for (int i = 0; i < b->n_buffers; i++) {
        const SimBuffer *m = &device->memory[i];
        if (device->home[i] == i)
            memory[i] = (GpuBuffer){.bytes = m->bytes, .size = m->size, .temporary = m->role == BD_TEMP,
                                    .output = m->role == BD_OUT || b->buffers[i].init == BD_INIT_TICKET};
    }
    const GpuOptions o = {.runs = twice ? 2 : 1, .repeat = run->repeat, .padding = run->padding};
    v->gpu = gpu_run(s->cx, s->arena, b, judge_launches(s->arena, device), memory, &o);
    v->beside = !run->alone && !run->blocks;
    v->exact = v->beside && is_exact(b->ptx);
    if (v->beside) compare_with_simulator(s, r, device, v);
    const char *fault = twice ? judge_ticket_fault(s->arena, device) : NULL;
    if (fault) add_fault(v, wbb_format(s->arena, "on the GPU: %s", fault));
}

/* The outputs, to files and to the caller's arrays. */
static void hand_over(const Runs *s, const JudgeMemory *r)
{
    EvValue *got = WBB_NEW_N(s->arena, EvValue, r->n_leaves + 1);
    for (uint32_t k = 0; k < r->n_leaves; k++) {
        got[k] = output_value(s->cx, s->arena, r, k);
        const size_t n = (size_t)bd_elements(got[k].dims, got[k].rank) * sc_bytes(got[k].type);
        if (s->run->outputs && n) memcpy(s->run->outputs[k], got[k].data, n);
    }
    if (s->run->output_dir) judge_write_outputs(s->cx, s->arena, s->run->output_dir, r->n_leaves, got);
}

bool judge_may_sample(const Bundle *b) { return b->n_launches <= 1 && !judge_has_tickets(b); }

static void check_sample(WbbCx *cx, const Bundle *b)
{
    if (!judge_may_sample(b))
        wbb_fail(cx, (WbbLoc){0},
                 "a sample of blocks can be run of one launch whose blocks share no tickets; this kernel has %s, and "
                 "all of its blocks are needed",
                 judge_has_tickets(b) ? "tickets" : wbb_format(cx->arena, "%d launches", b->n_launches));
}

JudgeVerdict judge_run(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const JudgeRun *options)
{
    JudgeVerdict v = {.checked = options->check, .seed = options->seed};
    wbb_use_threads(cx, options->threads);
    if (options->blocks) check_sample(cx, b);
    const JudgeRun own = judge_with_case(cx, a, m, b->ptx, *options, &v.spikes), *run = &own;
    if (run->blocks) wbb_arena_limit(a, (size_t)1 << 40); /* only the pages that a sample reads and writes use memory */
    const HloFusion f = hlo_fusion(cx, m);
    const JudgeOperands operands = judge_operands(cx, a, &f, m, run);
    const Runs s = {.cx = cx, .arena = a, .b = b, .operands = &operands, .run = run,
                    .ptx = sim_parse(cx, a, name_of(run), b->ptx),
                    .options = {.check = run->check, .order = run->order, .order_seed = run->order_seed,
                                .blocks = run->blocks, .seed = run->seed, .padding = run->padding,
                                .threads = run->threads, .ulp_noise = run->ulp_noise,
                                .counts = run->counts ? &v.counts : NULL, .profile = run->profiles}};
    const bool further = run->check && !run->blocks && !run->alone;
    JudgeMemory r = new_memory(&s, NULL);
    const JudgeMemory device = run->on_gpu ? new_memory(&s, NULL) : r;
    double since = wbb_now_ms();
    const clock_t busy = clock();
    if (!run->alone) judge_launch_all(cx, a, s.ptx, &r, &s.options, &v.report);
    v.ms_run = wbb_now_ms() - since;
    v.ms_cpu = 1e3 * (double)(clock() - busy) / CLOCKS_PER_SEC;
    judge_need_end(cx, a, f.body, &operands, &v.report, run->blocks ? first_elements(a, &r) : NULL);
    if (further && v.report.n_faults == 0 && judge_has_tickets(b)) run_twice(&s, &r, &v);
    if (further && v.report.n_faults == 0) run_in_place(&s, &r, &v);
    if (run->on_gpu) on_gpu(&s, &r, &device, &v);
    if (run->output_dir || run->outputs) hand_over(&s, &device);
    since = wbb_now_ms();
    const Judged j = judged(cx, a, &f, m, &operands, b);
    const bool loose = run->on_gpu && !run->alone && (!v.exact || v.nans);
    if ((run->check || loose) && v.report.n_faults == 0) judge(cx, a, &j, &device, run, &v);
    if (further && v.report.n_faults == 0 && sim_ordered_work(s.ptx)) run_reordered(&s, &j, &r, &v);
    if (run->check && !run->on_gpu && v.report.n_faults == 0) run_fused(&s, &j, &v);
    v.ms_eval = wbb_now_ms() - since;
    return v;
}

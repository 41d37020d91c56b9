/* eval.c: `eval FILE.hlo`: the outputs of a module, or the bounds that they must lie in, by the evaluator.
 *
 * Needs HLO text, and inputs from files or made from --case and --seed. Leaves the first elements of each output on
 * stdout, or all of them in .npy files.
 *
 *     warpburg eval gelu.hlo --bounds
 *     output 0: bf16, 12582912 elements: [-0.154296875, -0.154296875] [-0.01519775390625, -0.0101318359375] ..
 */
#include "main/main.h"
#include "judge/judge.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *file, *output, *which, *at;
    Words inputs;
    int64_t seed, perturb, jobs;
    const char *accuracy, *assume;
    bool f64, bounds, approx, json;
} EvalOptions;

/* The bounds of output k: DIR/lo0.npy and hi0.npy, with floats as f64, integers in 64 bits and complex values as
 * c128; DIR/nan0.npy, with the flags EV_MAYBE_NAN and EV_MUST_NAN, those of an imaginary part two bits higher. */
static void write_bounds(WbbCx *cx, WbbArena *a, const char *dir, uint32_t k, const EvValue *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    const EvBound *b = v->data;
    const int64_t parts = ev_part_type(v->type) == v->type ? 1 : 2;
    uint64_t *lo = WBB_NEW_N(a, uint64_t, parts * n + 1), *hi = WBB_NEW_N(a, uint64_t, parts * n + 1);
    uint8_t *flags = WBB_NEW_N(a, uint8_t, n + 1);
    for (int64_t i = 0; i < parts * n; i++) {
        lo[i] = b[i].lo.u;
        hi[i] = b[i].hi.u;
        flags[i / parts] |= (uint8_t)(b[i].flags << (i % parts * 2));
    }
    const char *type = parts == 2 ? "c128" : sc_is_float(v->type) ? "f64" : sc_is_signed(v->type) ? "s64" : "u64";
    bd_write_npy(cx, wbb_format(a, "%s/lo%u.npy", dir, k), type, v->dims, v->rank, lo);
    bd_write_npy(cx, wbb_format(a, "%s/hi%u.npy", dir, k), type, v->dims, v->rank, hi);
    bd_write_npy(cx, wbb_format(a, "%s/nan%u.npy", dir, k), "u8", v->dims, v->rank, flags);
}

/* With the digits that tell it from its neighbours, six at least. */
static void put_float(WbbBuf *b, ScType type, uint64_t bits)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, sc_to_f64(type, bits));
        if (sc_parse_float(type, text) == bits) break;
    }
    wbb_put(b, text);
}

static void put_part(WbbBuf *b, const EvValue *v, bool bounds, int64_t i)
{
    const ScType type = ev_part_type(v->type);
    uint64_t bits = 0;
    if (bounds) {
        ev_put_bounds(b, type, (const EvBound *)v->data + i);
        return;
    }
    memcpy(&bits, (const char *)v->data + (size_t)i * sc_bytes(type), sc_bytes(type));
    if (sc_is_float(type)) put_float(b, type, bits);
    else if (sc_is_signed(type)) wbb_putf(b, "%lld", (long long)sc_to_i128(type, bits));
    else wbb_putf(b, "%llu", (unsigned long long)(bits & sc_mask(type)));
}

/* Elements of an output that are printed, and evaluated where none is written. */
enum { PRINTED = 8 };

/* A line with the first of `n` elements, which v begins with; a complex one is (re, im). */
static void print_few(WbbArena *a, const EvValue *v, bool bounds, uint32_t k, int64_t n)
{
    const bool complex = ev_part_type(v->type) != v->type;
    WbbBuf b = wbb_buf(a);
    for (int64_t i = 0; i < n && i < PRINTED; i++) {
        wbb_put(&b, complex ? " (" : " ");
        put_part(&b, v, bounds, complex ? 2 * i : i);
        if (!complex) continue;
        wbb_put(&b, ", ");
        put_part(&b, v, bounds, 2 * i + 1);
        wbb_put(&b, ")");
    }
    printf("output %u: %s, %lld elements:%s%s\n", k, sc_type_info[v->type].hlo, (long long)n, b.text ? b.text : "",
           n > PRINTED ? " .." : "");
}

/* --bounds --perturb N: compare N evaluations, in which chance decides what HLO leaves open, with the bounds: all
 * elements, or SAMPLE of each output where outputs and inputs have more than LARGE. */
enum { SAMPLE = 8, LARGE = 1 << 15 };

static WbbStatus check_bounds(WbbCx *cx, WbbArena *a, const EvalOptions *o, const HloModule *m, const JudgeRun *run,
                              const HloShape *const *leaves, uint32_t count)
{
    EvPositions *at = WBB_NEW_N(a, EvPositions, count + 1);
    int64_t elements = 0;
    for (uint32_t k = 0; k < count; k++) elements += hlo_elements(leaves[k]);
    for (uint32_t k = 0; k < m->entry->n_parameters; k++) elements += hlo_elements(m->entry->parameters[k]->shape);
    for (uint32_t k = 0; k < count; k++) {
        const int64_t n = hlo_elements(leaves[k]);
        int64_t *list = WBB_NEW_N(a, int64_t, WBB_MIN(n, (int64_t)SAMPLE) + 1);
        at[k].n = bd_sample_positions(n, SAMPLE, list);
        at[k].positions = list;
    }
    const EvSource made = judge_made_inputs(cx, a, m, run);
    const void *const *inputs = run->inputs ? judge_inputs(cx, a, m, run) : NULL;
    const EvSoundness s = ev_soundness(cx, a, m->entry, inputs, &made, main_accuracy(o->accuracy, o->approx),
                                       elements > LARGE ? at : NULL, (uint64_t)o->seed, (uint32_t)o->perturb);
    if (o->json) {
        WbbBuf b = wbb_buf(a);
        wbb_json_open(&b, NULL, '{');
        wbb_json_int(&b, "compared", s.compared);
        wbb_json_int(&b, "outside", s.outside);
        wbb_json_int(&b, "floats", s.floats);
        wbb_json_int(&b, "open", s.open);
        wbb_json_putf(&b, "median_ulp", "%.17g", s.median > 1e300 ? -1 : s.median);
        wbb_json_end(&b, "eval.1");
        puts(b.text);
    } else {
        printf("%lld of %lld outside the bounds; half of %lld intervals are at most %.3g ulp wide, %lld hold infinity "
               "or nan\n",
               (long long)s.outside, (long long)s.compared, (long long)s.floats, s.median, (long long)s.open);
    }
    if (!s.outside) return WBB_OK;
    fprintf(stderr, "%s: outside the bounds: %s\n", o->file, s.first);
    return WBB_CHECK;
}

/* The positions of --at, the same ones of each output. */
static EvPositions stated_positions(WbbCx *cx, WbbArena *a, const EvalOptions *o, const HloShape *const *leaves,
                                    uint32_t count)
{
    EvPositions at = {0};
    at.positions = bd_read_positions(cx, a, o->at, &at.n);
    for (uint32_t k = 0; k < count; k++)
        for (int64_t i = 0; i < at.n; i++)
            if (at.positions[i] < 0 || at.positions[i] >= hlo_elements(leaves[k]))
                wbb_fail(cx, (WbbLoc){o->at, 0, 0}, "position %lld: output %u has %lld elements",
                         (long long)at.positions[i], k, (long long)hlo_elements(leaves[k]));
    return at;
}

/* Evaluates the elements that are written: those of --at, those that are printed, or all. Of made inputs only those
 * elements are made that some of the outputs need. */
static const EvResult *run_wanted(WbbCx *cx, WbbArena *a, const EvalOptions *o, const HloModule *m, const JudgeRun *run,
                                  EvMode mode, const HloShape *const *leaves, uint32_t count)
{
    static const int64_t first[PRINTED] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (!o->at && o->output) return ev_run(cx, a, m->entry, judge_inputs(cx, a, m, run), mode);
    EvPositions *at = WBB_NEW_N(a, EvPositions, count + 1);
    const EvPositions stated = o->at ? stated_positions(cx, a, o, leaves, count) : (EvPositions){0};
    for (uint32_t k = 0; k < count; k++)
        at[k] = o->at ? stated : (EvPositions){.positions = first, .n = WBB_MIN(hlo_elements(leaves[k]), PRINTED)};
    if (run->inputs) return ev_run_at(cx, a, m->entry, judge_inputs(cx, a, m, run), mode, at);
    const EvSource made = judge_made_inputs(cx, a, m, run);
    return ev_run_from(cx, a, m->entry, &made, mode, at);
}

static WbbStatus eval(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const EvalOptions *o = call->options;
    if (o->f64 && o->bounds) return main_usage(call, "--f64 or --bounds, not both");
    if (!o->bounds && (o->perturb || o->accuracy || o->approx))
        return main_usage(call, "--perturb, --accuracy and --approx go with --bounds");
    size_t n;
    wbb_use_threads(cx, wbb_pool_threads(o->jobs, MAIN_THREADS));
    const char *text = main_read_hlo(cx, a, o->file, o->assume, &n);
    const HloModule *m = hlo_parse(cx, a, o->file, text, n);
    const JudgeSpikes *spikes;
    const JudgeRun plain = {.seed = (uint64_t)o->seed, .which = o->which[0],
                           .inputs = o->inputs.n ? o->inputs.items : NULL, .n_inputs = o->inputs.n};
    const JudgeRun run = judge_with_case(cx, a, m, NULL, plain, &spikes);
    const EvMode mode = o->f64 ? EV_F64 : !o->bounds ? EV_PLAIN : ev_bounds_mode(main_accuracy(o->accuracy, o->approx));
    const bool bounds = mode >= EV_BOUNDS;
    const HloShape **leaves;
    const uint32_t count = hlo_leaves(a, m->entry->root->shape, &leaves);
    if (bounds && o->perturb) return check_bounds(cx, a, o, m, &run, leaves, count);
    const EvResult *r = run_wanted(cx, a, o, m, &run, mode, leaves, count);
    if (o->output) {
        wbb_make_dir(cx, o->output);
        if (!bounds) judge_write_outputs(cx, a, o->output, r->n, r->outputs);
        for (uint32_t k = 0; bounds && k < r->n; k++) write_bounds(cx, a, o->output, k, &r->outputs[k]);
        return WBB_OK;
    }
    for (uint32_t k = 0; k < r->n; k++)
        print_few(a, &r->outputs[k], bounds, k, o->at ? r->outputs[k].dims[0] : hlo_elements(leaves[k]));
    return WBB_OK;
}

static const Positional positionals[] = {
    {ONE("FILE.hlo", EvalOptions, file, "HLO text of a module"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    MAIN_OPTION_INPUTS(EvalOptions),
    MAIN_OPTION_SEED(EvalOptions, "made values follow from N"),
    MAIN_OPTION_CASE(EvalOptions),
    {FLAG("--f64", EvalOptions, f64, "compute every float as f64, without rounding to its type")},
    {FLAG("--bounds", EvalOptions, bounds, "compute the interval that each element must lie in")},
    MAIN_OPTION_ACCURACY(EvalOptions),
    MAIN_OPTION_ASSUME(EvalOptions),
    {NUMBER("--perturb", EvalOptions, perturb, "N",
            "with --bounds: check them by N evaluations in which chance decides what HLO leaves open"),
     .most = UINT32_MAX},
    {WORD("--at", EvalOptions, at, "POSITIONS.npy", "evaluate only these elements of each output"),
     .value = VALUE_FILE},
    {WORD("--output", EvalOptions, output, "DIR",
          "write out0.npy and so on to DIR; with --bounds lo0.npy, hi0.npy and nan0.npy"),
     .letter = 'o', .value = VALUE_FOLDER},
    MAIN_OPTION_JOBS(EvalOptions, "threads of the host", "16"),
    {FLAG("--json", EvalOptions, json, "with --perturb: print a JSON object")},
    {0}};
static const Example examples[] = {
    {"eval gelu.hlo --case e --bounds", "the intervals in which the elements must lie, on edge values"},
    {"eval gelu.hlo --input x.npy -o out", "the outputs for an input of one's own"},
    {0}};
const Command main_eval = {
    .name = "eval",
    .summary = "evaluate a module by the meaning of its operations",
    .details = "Prints the first elements of each output, or writes all of them.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "an operation has no meaning that can be evaluated",
    .check = "with --perturb: an evaluation left the bounds",
    .size = sizeof(EvalOptions),
    .run = eval,
};

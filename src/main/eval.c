/* eval.c: `eval FILE.hlo`: what the module means, by the evaluator. */
#include "main/main.h"
#include "pipe/judge.h"

#include <stdio.h>
#include <string.h>

/* --bounds: DIR/lo0.npy, hi0.npy (in the leaf's own type; floats as f64) and nan0.npy (flags). */
static void write_bounds(WbbCx *cx, WbbArena *a, const char *dir, uint32_t k, const EvValue *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    const EvBound *b = v->data;
    uint64_t *lo = WBB_NEW_N(a, uint64_t, n + 1), *hi = WBB_NEW_N(a, uint64_t, n + 1);
    uint8_t *flags = WBB_NEW_N(a, uint8_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
        lo[i] = b[i].lo.u;
        hi[i] = b[i].hi.u;
        flags[i] = (uint8_t)b[i].flags;
    }
    const char *type = sc_is_float(v->type) ? "f64" : sc_is_signed(v->type) ? "s64" : "u64";
    bd_write_npy(cx, wbb_format(a, "%s/lo%u.npy", dir, k), type, v->dims, v->rank, lo);
    bd_write_npy(cx, wbb_format(a, "%s/hi%u.npy", dir, k), type, v->dims, v->rank, hi);
    bd_write_npy(cx, wbb_format(a, "%s/nan%u.npy", dir, k), "u8", v->dims, v->rank, flags);
}

static void print_few(const EvValue *v, uint32_t k)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    printf("output %u: %s, %lld elements:", k, sc_type_info[v->type].hlo, (long long)n);
    for (int64_t i = 0; i < n && i < 8; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)v->data + (size_t)i * sc_bytes(v->type), WBB_MIN(sc_bytes(v->type), 8u));
        if (sc_is_float(v->type)) printf(" %g", sc_to_f64(v->type, bits));
        else printf(" %lld", (long long)sc_to_i128(v->type, bits));
    }
    puts(n > 8 ? " .." : "");
}

WbbStatus main_eval(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("eval: one file expected\n", stderr), WBB_USAGE;
    size_t n;
    const char *text = wbb_read_file(cx, a, o->files.list[0], &n);
    const HloModule *m = hlo_parse(cx, a, o->files.list[0], text, n);
    const PipeRun run = {.seed = (uint64_t)o->seed, .which = o->which ? o->which[0] : 'n', .inputs = o->inputs.n ? o->inputs.list : NULL, .n_inputs = o->inputs.n};
    const void **inputs = pipe_inputs(cx, a, m, &run);
    const EvMode mode = o->f64 ? EV_F64 : !o->bounds ? EV_PLAIN : o->approx ? EV_BOUNDS_APPROX : EV_BOUNDS;
    const bool bounds = mode == EV_BOUNDS || mode == EV_BOUNDS_APPROX;
    const EvResult *r;
    if (o->at) {
        const HloShape **leaves;
        const uint32_t count = hlo_leaves(a, m->entry->root->shape, &leaves);
        int64_t n_positions;
        const int64_t *positions = bd_read_positions(cx, a, o->at, &n_positions);
        EvPositions *at = WBB_NEW_N(a, EvPositions, count + 1);
        for (uint32_t k = 0; k < count; k++) at[k] = (EvPositions){.positions = positions, .n = n_positions};
        r = ev_run_at(cx, a, m->entry, inputs, mode, at);
    } else {
        r = ev_run(cx, a, m->entry, inputs, mode);
    }
    if (o->output) {
        wbb_make_dir(cx, o->output);
        if (!bounds) pipe_write_outputs(cx, a, o->output, r->n, r->outputs);
        for (uint32_t k = 0; bounds && k < r->n; k++) write_bounds(cx, a, o->output, k, &r->outputs[k]);
        return WBB_OK;
    }
    for (uint32_t k = 0; k < r->n && !bounds; k++) print_few(&r->outputs[k], k);
    return WBB_OK;
}

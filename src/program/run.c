/* run: a program, step by step, on the memory that it says.
 *
 * Needs: a verified program and the kernels of its steps. Leaves: its results, and what was found. Temporaries have one
 * block of memory a frame, which the simulator's machine fills with a pattern first, so a value that is read too late
 * shows. Kernels run on that memory, library calls in the evaluator on copies of it.
 *
 *     loop: the condition leaves its result in the flag, the body its results in the memory of its parameters
 */
#include "program/run.h"
#include "graph/graph.h"
#include "program/machine.h"
#include "program/product.h"

#include <string.h>

/* MOST_ITERATIONS: of all loops together, as in the evaluator. WHOLE: elements of all steps together up to which the
 * evaluator runs the whole module. */
enum { MOST_ITERATIONS = 1000000, MOST_CALLS = 200, WHOLE = 1 << 28 };

/* The text of a kernel or of a library call. */
typedef struct {
    ProgKernel kernel;
    const SimModule *ptx;
    const GpuLoaded *gpu;
} Loaded;

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const ProgModule *p;
    const ProgRun *o;
    ProgMachine *machine;
    ProgVerdict v;
    WbbMap loaded;        /* by name of the file */
    uint64_t **constants; /* [computation][buffer] */
    uint64_t **times;     /* [computation][step] how often it ran */
    double work;          /* elements that steps made, and products of library calls */
    uint32_t depth;
    bool stop;
} Run;

/* One call of a computation. */
typedef struct {
    const ProgComputation *c;
    uint32_t number;
    const uint64_t *parameters, *results;
    uint64_t frame;
    int64_t iteration; /* of the loop whose body it is */
} Frame;

static uint64_t start_of(const Run *r, const Frame *f, uint32_t value)
{
    const uint32_t number = f->c->values[value].buffer;
    const ProgBuffer *b = &f->c->buffers[number];
    switch (b->place) {
    case PROG_PARAMETER: return f->parameters[b->number];
    case PROG_RESULT: return f->results[b->number];
    case PROG_CONSTANT: return r->constants[f->number][number];
    default: return f->frame + (uint64_t)b->offset;
    }
}

static uint64_t address(const Run *r, const Frame *f, uint32_t value)
{
    const ProgValue *v = &f->c->values[value];
    return start_of(r, f, value) + (uint64_t)(v->at + v->each * f->iteration);
}

static const void *bytes_of(const Run *r, WbbArena *a, const Frame *f, uint32_t value)
{
    return prog_bytes(r->cx, r->machine, a, address(r, f, value), (uint64_t)f->c->values[value].bytes);
}

static void *logical_of(const Run *r, WbbArena *a, const Frame *f, uint32_t value)
{
    const BdBuffer d = prog_describe(&f->c->values[value]);
    const size_t n = (size_t)bd_elements(d.dims, d.rank), size = (size_t)bd_npy_bytes(d.type);
    if (!size) wbb_decline(r->cx, (WbbLoc){0}, WHY_TYPE, "%s has type %s, which has no elements here",
                           f->c->values[value].name, d.type);
    void *out = wbb_alloc(a, wbb_mul_size(a, n, size) + 16);
    bd_to_logical(r->cx, &d, bytes_of(r, a, f, value), out);
    return out;
}

static EvValue value_of(const Run *r, WbbArena *a, const Frame *f, uint32_t value)
{
    const ProgValue *v = &f->c->values[value];
    return (EvValue){.type = sc_type_named(v->type, strlen(v->type)), .rank = (uint8_t)v->rank, .dims = v->dims,
                     .data = logical_of(r, a, f, value)};
}

/* Writes the elements in their order in memory. */
static void put_logical(const Run *r, WbbArena *a, uint64_t to, const BdBuffer *d, const void *elements)
{
    void *bytes = wbb_alloc(a, (size_t)d->bytes + 16);
    bd_to_physical(r->cx, d, elements, bytes);
    prog_put(r->cx, r->machine, to, bytes, (uint64_t)d->bytes);
}

static void set_logical(const Run *r, WbbArena *a, const Frame *f, uint32_t value, const void *elements)
{
    const BdBuffer d = prog_describe(&f->c->values[value]);
    put_logical(r, a, address(r, f, value), &d, elements);
}

/* --- texts of steps ----------------------------------------------------------------------------------------------- */
static bool agrees(const ProgValue *v, const HloShape *s, bool library)
{
    bool same = !strcmp(v->type, sc_type_info[s->type].hlo) && v->rank == s->rank;
    for (int k = 0; same && k < v->rank; k++)
        same = v->dims[k] == s->dims[k] && (library || v->minor_to_major[k] == s->minor_to_major[k]);
    return same;
}

/* The text of a step takes and makes what the step reads and makes. */
static void check_text(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, const HloComputation *c)
{
    const bool library = s->kind == PROG_LIBRARY;
    const HloShape **leaves;
    uint32_t at = 0;
    bool same = true;
    for (uint32_t k = 0; k < c->n_parameters; k++) {
        const uint32_t n = hlo_leaves(a, c->parameters[k]->shape, &leaves);
        for (uint32_t j = 0; j < n; j++, at++)
            same = same && at < s->n_reads && agrees(&f->c->values[s->reads[at]], leaves[j], library);
    }
    const uint32_t n = hlo_leaves(a, c->root->shape, &leaves);
    for (uint32_t j = 0; j < n; j++)
        same = same && j < s->n_makes && agrees(&f->c->values[s->makes[j]], leaves[j], library);
    if (!same || at != s->n_reads || n != s->n_makes)
        wbb_fail(r->cx, (WbbLoc){.file = s->file}, "the text has other operands or results than step %s of %s", s->name,
                 f->c->name);
}

static Loaded *load(Run *r, const Frame *f, const ProgStep *s)
{
    WbbEntry *e = wbb_map_put_bytes(&r->loaded, s->file, strlen(s->file));
    if (e->pointer) return e->pointer;
    Loaded *l = WBB_NEW(r->arena, Loaded);
    const WbbOrigin *former = wbb_come_from(r->cx, &s->from);
    if (s->kind == PROG_KERNEL) {
        l->kernel = r->o->kernel(r->cx, r->arena, r->o->arg, s);
        if (r->machine->gpu) l->gpu = prog_load_kernel(r->cx, r->machine, l->kernel.bundle);
        else l->ptx = sim_parse(r->cx, r->arena, s->name, l->kernel.bundle->ptx);
        const HloFusion fusion = hlo_fusion(r->cx, l->kernel.module);
        judge_check_bundle(r->cx, r->arena, s->file, l->kernel.bundle, l->kernel.module);
        check_text(r, r->arena, f, s, fusion.body);
    } else {
        l->kernel.module = hlo_parse(r->cx, r->arena, s->file, s->text, strlen(s->text));
        check_text(r, r->arena, f, s, l->kernel.module->entry);
    }
    wbb_come_from(r->cx, former);
    wbb_map_put_bytes(&r->loaded, s->file, strlen(s->file))->pointer = l;
    return l;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */
static void found(Run *r, const Frame *f, const ProgStep *s, const char *text)
{
    if (!r->v.first) r->v.first = wbb_format(r->arena, "step %s of %s: %s", s->name, f->c->name, text);
    r->stop = true;
}

static JudgeVerdict run_in_simulator(Run *r, WbbArena *a, const Loaded *l, const uint64_t *memory, bool judged)
{
    const Bundle *b = l->kernel.bundle;
    void **pointers = WBB_NEW_N(a, void *, b->n_buffers + 1);
    bool copied;
    for (int i = 0; i < b->n_buffers; i++) pointers[i] = (void *)(uintptr_t)memory[i];
    const JudgeVerdict v = judge_run_there(r->cx, a, b, l->ptx, l->kernel.module, &r->o->run, pointers, judged,
                                           &copied);
    r->v.moved += copied;
    return v;
}

/* The outputs are judged by the operands that were there before. */
static JudgeVerdict run_on_gpu(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, const Loaded *l,
                               const uint64_t *memory, bool judged)
{
    const HloFusion fusion = hlo_fusion(r->cx, l->kernel.module);
    const void **operands = WBB_NEW_N(a, const void *, s->n_reads + 1);
    EvValue *got = WBB_NEW_N(a, EvValue, s->n_makes + 1);
    JudgeVerdict v = {0};
    for (uint32_t k = 0; judged && k < s->n_reads; k++) operands[k] = logical_of(r, a, f, s->reads[k]);
    double since = wbb_now_ms();
    r->v.moved += prog_launch(r->cx, r->machine, a, l->gpu, l->kernel.bundle, memory);
    v.ms_run = wbb_now_ms() - since;
    if (!judged) return v;
    for (uint32_t k = 0; k < s->n_makes; k++) got[k] = value_of(r, a, f, s->makes[k]);
    since = wbb_now_ms();
    const JudgeOperands before = judge_given_operands(r->cx, a, fusion.body, operands);
    judge_outputs(r->cx, a, l->kernel.bundle, l->kernel.module, &before, &r->o->run, s->n_makes, got, &v);
    v.ms_eval = wbb_now_ms() - since;
    return v;
}

static void run_kernel(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, uint64_t time)
{
    const Loaded *l = load(r, f, s);
    const Bundle *b = l->kernel.bundle;
    uint64_t *memory = WBB_NEW_N(a, uint64_t, b->n_buffers + 1);
    uint32_t out = 0;
    for (int i = 0; i < b->n_buffers; i++) {
        if (b->buffers[i].role == BD_IN) memory[i] = address(r, f, s->reads[b->buffers[i].arg]);
        else if (b->buffers[i].role == BD_OUT) memory[i] = address(r, f, s->makes[out++]);
    }
    const bool judged = r->o->run.check && (time & (time - 1)) == 0;
    const JudgeVerdict v =
        l->gpu ? run_on_gpu(r, a, f, s, l, memory, judged) : run_in_simulator(r, a, l, memory, judged);
    r->v.kernels++;
    r->v.ms_run += v.ms_run, r->v.ms_judge += v.ms_eval;
    if (v.report.n_faults) found(r, f, s, v.report.faults[0]);
    if (v.outside) found(r, f, s, v.first);
    if (!judged) return;
    r->v.judged++;
    r->v.compared += v.compared, r->v.outside += v.outside;
    r->v.max_ulp = WBB_MAX(r->v.max_ulp, v.max_ulp);
    r->v.share = WBB_MAX(r->v.share, v.share);
}

/* A parameter of a library call: the value of the program, and where it lies. */
static const ProgValue *operand(const Run *r, const Frame *f, const ProgStep *s, const HloInstruction *p, uint64_t *at)
{
    if (p->opcode != HLO_PARAMETER) return NULL;
    *at = address(r, f, s->reads[p->number]);
    return &f->c->values[s->reads[p->number]];
}

/* A dot on a GPU by cuBLAS, with what is added to it; false: it is none, or cuBLAS is not there. */
static bool run_product(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, const HloComputation *c)
{
    const HloEpilogue e = hlo_epilogue_of(a, c);
    const ProgValue *values[3] = {[2] = &f->c->values[s->makes[0]]};
    uint64_t at[2];
    GpuAdded more = {0};
    GpuProduct p;
    bool exchanged;
    if (!r->machine->gpu || !e.product || e.product->n_operands != 2 || c->n_parameters != s->n_reads) return false;
    for (uint32_t k = 0; k < 2; k++)
        if (!(values[k] = operand(r, f, s, e.product->operands[k], &at[k]))) return false;
    const ProgValue *residual = e.residual ? operand(r, f, s, e.residual, &more.residual) : NULL;
    const ProgValue *bias = e.bias ? operand(r, f, s, e.bias, &more.bias) : NULL;
    if (!prog_product(a, e.product, values, &p, &exchanged) || !prog_adds(&p, values[2], &e, residual, bias, exchanged))
        return false;
    return prog_multiply(r->cx, r->machine, &p, at[exchanged], at[!exchanged], address(r, f, s->makes[0]), &more);
}

static void run_library(Run *r, WbbArena *a, const Frame *f, const ProgStep *s)
{
    const Loaded *l = load(r, f, s);
    const double since = wbb_now_ms();
    r->v.library++;
    if (run_product(r, a, f, s, l->kernel.module->entry)) {
        r->v.blas++;
        return;
    }
    const void **inputs = WBB_NEW_N(a, const void *, s->n_reads + 1);
    for (uint32_t k = 0; k < s->n_reads; k++) inputs[k] = logical_of(r, a, f, s->reads[k]);
    const WbbOrigin *former = wbb_come_from(r->cx, &s->from);
    const EvResult *out = ev_run(r->cx, a, l->kernel.module->entry, inputs, EV_PLAIN);
    wbb_come_from(r->cx, former);
    for (uint32_t k = 0; k < s->n_makes; k++) set_logical(r, a, f, s->makes[k], out->outputs[k].data);
    r->v.ms_library += wbb_now_ms() - since;
    double least = 1e30; /* of a dot: at least the products of one result, so this estimate is high */
    for (uint32_t k = 0; k < s->n_reads; k++) least = WBB_MIN(least, (double)f->c->values[s->reads[k]].bytes);
    for (uint32_t k = 0; k < s->n_makes && s->n_reads; k++)
        r->work += (double)f->c->values[s->makes[k]].bytes * least / 64;
}

static void run_copy(Run *r, WbbArena *a, const Frame *f, const ProgStep *s)
{
    const ProgValue *x = &f->c->values[s->reads[0]], *y = &f->c->values[s->makes[0]];
    r->v.copies++;
    if (!x->rank || !memcmp(x->minor_to_major, y->minor_to_major, (size_t)x->rank * sizeof(int)))
        prog_move(r->cx, r->machine, address(r, f, s->makes[0]), address(r, f, s->reads[0]), (uint64_t)x->bytes);
    else set_logical(r, a, f, s->makes[0], logical_of(r, a, f, s->reads[0]));
}

static void run_computation(Run *r, uint32_t number, const uint64_t *parameters, const uint64_t *results,
                            uint64_t frame, int64_t iteration);

static uint64_t *addresses(const Run *r, WbbArena *a, const Frame *f, const uint32_t *values, uint32_t n)
{
    uint64_t *out = WBB_NEW_N(a, uint64_t, n + 1);
    for (uint32_t k = 0; k < n; k++) out[k] = address(r, f, values[k]);
    return out;
}

static void run_loop(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, uint64_t frame)
{
    const bool counted = s->iterations >= 0;
    uint64_t *state = addresses(r, a, f, s->reads, s->n_reads), *next = addresses(r, a, f, s->reads, s->n_reads);
    for (uint32_t k = 0; k < s->n_swaps; k++) next[s->swaps[k].state] = address(r, f, s->swaps[k].spare);
    const uint64_t *flag = counted ? NULL : addresses(r, a, f, &s->flag, 1);
    for (int64_t n = 0; !r->stop && (!counted || n < s->iterations); n++) {
        if (!counted) run_computation(r, s->calls[0], state, flag, frame, n);
        if (!counted && (r->stop || !*(const uint8_t *)bytes_of(r, a, f, s->flag))) return;
        if (++r->v.iterations > MOST_ITERATIONS)
            wbb_decline(r->cx, (WbbLoc){0}, WHY_SIZE, "loops took %d iterations, and more are not run",
                        MOST_ITERATIONS);
        run_computation(r, s->calls[!counted], state, next, frame, n);
        for (uint32_t k = 0; k < s->n_swaps; k++) {
            const uint64_t was = state[s->swaps[k].state];
            state[s->swaps[k].state] = next[s->swaps[k].state];
            next[s->swaps[k].state] = was;
        }
    }
}

static void run_branch(Run *r, WbbArena *a, const Frame *f, const ProgStep *s, uint64_t frame)
{
    uint32_t which = 0, at = s->kind == PROG_BRANCH;
    if (s->kind == PROG_BRANCH) {
        const uint8_t *value = bytes_of(r, a, f, s->reads[0]);
        int32_t index;
        if (*f->c->values[s->reads[0]].type == 'p') {
            which = !*value;
        } else { /* out of range is the last one */
            memcpy(&index, value, sizeof index);
            which = index < 0 || (uint32_t)index >= s->n_calls ? s->n_calls - 1 : (uint32_t)index;
        }
        for (uint32_t k = 0; k < which; k++) at += s->taken[k];
    }
    run_computation(r, s->calls[which], addresses(r, a, f, s->reads + at, s->taken[which]),
                    addresses(r, a, f, s->makes, s->n_makes), frame, 0);
}

static void run_step(Run *r, const Frame *f, uint32_t number)
{
    const ProgStep *s = &f->c->steps[number];
    WbbArena *a = wbb_arena_new(r->cx);
    wbb_arena_limit(a, (size_t)1 << 36);
    const uint64_t frame = s->frame >= 0 ? f->frame + (uint64_t)f->c->buffers[s->frame].offset : 0;
    for (uint32_t k = 0; k < s->n_makes; k++) r->work += (double)f->c->values[s->makes[k]].bytes;
    switch (s->kind) {
    case PROG_KERNEL: run_kernel(r, a, f, s, ++r->times[f->number][number]); break;
    case PROG_LIBRARY: run_library(r, a, f, s); break;
    case PROG_COPY: run_copy(r, a, f, s); break;
    case PROG_LOOP: run_loop(r, a, f, s, frame); break;
    default: run_branch(r, a, f, s, frame); break;
    }
    wbb_arena_free(a);
}

static void run_computation(Run *r, uint32_t number, const uint64_t *parameters, const uint64_t *results,
                            uint64_t frame, int64_t iteration)
{
    const Frame f = {.c = &r->p->computations[number], .number = number, .parameters = parameters, .results = results,
                     .frame = frame, .iteration = iteration};
    if (++r->depth > MOST_CALLS) wbb_decline(r->cx, (WbbLoc){0}, WHY_SIZE, "calls nest deeper than %d", MOST_CALLS);
    if (f.c->frame && !r->machine->gpu) memset((void *)(uintptr_t)frame, BD_ANYTHING, (size_t)f.c->frame);
    for (uint32_t s = 0; s < f.c->n_steps && !r->stop; s++) {
        if (number == r->p->entry && wbb_progress(r->cx, "steps", s, f.c->n_steps)) wbb_stop(r->cx);
        run_step(r, &f, s);
    }
    r->depth--;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */
static void load_constants(Run *r)
{
    for (uint32_t i = 0; i < r->p->n; i++) {
        const ProgComputation *c = &r->p->computations[i];
        r->constants[i] = WBB_NEW_N(r->arena, uint64_t, c->n_buffers + 1);
        r->times[i] = WBB_NEW_N(r->arena, uint64_t, c->n_steps + 1);
        for (uint32_t v = 0; v < c->n_values; v++) {
            const ProgValue *x = &c->values[v];
            const ProgBuffer *b = &c->buffers[x->buffer];
            if (b->place != PROG_CONSTANT || x->of != v) continue;
            if (!b->file && !r->o->made_constants)
                wbb_decline(r->cx, (WbbLoc){0}, WHY_OPERATION, "the text leaves out the value of constant %s", x->name);
            const BdBuffer d = prog_describe(x);
            const void *elements = b->literal;
            if (!b->file) {
                elements = judge_left_out(r->arena, x->type, bd_elements(x->dims, x->rank));
            } else if (r->p->folder) {
                elements = prog_read_constant(r->cx, r->arena, r->p, x, b);
            } else if (b->splat) {
                const size_t size = (size_t)bd_npy_bytes(x->type), n = (size_t)bd_elements(x->dims, x->rank);
                uint8_t *all = wbb_alloc(r->arena, wbb_mul_size(r->arena, n, size) + 1);
                for (size_t k = 0; k < n; k++) memcpy(all + k * size, b->literal, size);
                elements = all;
            }
            const uint64_t to = prog_allocate(r->cx, r->machine, (uint64_t)b->bytes);
            put_logical(r, r->arena, to, &d, elements);
            r->constants[i][x->buffer] = to;
        }
    }
}

/* The order in which the module's reductions are taken, by those of its kernels. */
static const EvOrder *whole_order(const Run *r, WbbArena *a, const HloModule *m)
{
    EvPart *parts = WBB_NEW_N(a, EvPart, r->loaded.n + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->loaded.n; k++) {
        const Loaded *l = r->loaded.entries[k].pointer;
        const Bundle *b = l ? l->kernel.bundle : NULL;
        if (!b) continue;
        parts[n].c = hlo_fusion(r->cx, judge_normal_of(r->cx, a, l->kernel.module, b)).body;
        if (b->n_order)
            parts[n].order = ev_order(r->cx, a, "kernel.json", b->order, (uint32_t)b->n_order, parts[n].c);
        n++;
    }
    return ev_order_of_module(a, m, parts, n);
}

/* The results of the whole module by its own bounds. */
static void judge_whole(Run *r, const HloModule *m, const void *const *inputs)
{
    if (r->work > WHOLE) {
        r->v.whole_skipped = "the evaluator would take too long for the whole module";
        return;
    }
    WbbArena *a = wbb_arena_new(r->cx);
    wbb_arena_limit(a, (size_t)1 << 36);
    const double since = wbb_now_ms();
    const JudgeOperands operands = judge_given_operands(r->cx, a, m->entry, inputs);
    const EvOrder *order = whole_order(r, a, m);
    judge_values(r->cx, a, m->entry, &operands, order, &r->o->run, r->v.n_results, r->v.results, &r->v.whole);
    r->v.ms_judge += wbb_now_ms() - since;
    const char *open = ev_order_open(a, order);
    if (open) r->v.whole_open = wbb_format(r->arena, "%s", open);
    if (r->v.whole.first) r->v.whole.first = wbb_format(r->arena, "%s", r->v.whole.first);
    wbb_arena_free(a);
}

/* Memory of the results, those without a parameter's. */
static uint64_t *result_memory(Run *r, const ProgComputation *c)
{
    uint64_t *out = WBB_NEW_N(r->arena, uint64_t, c->n_results + 1);
    for (uint32_t k = 0; k < c->n_results; k++) {
        const size_t bytes = (size_t)c->values[c->results[k]].bytes;
        if (c->in_place[k] >= 0) continue;
        out[k] = prog_allocate(r->cx, r->machine, bytes);
        if (!r->machine->gpu) memset((void *)(uintptr_t)out[k], BD_ANYTHING, bytes);
    }
    return out;
}

/* The parameters of the entry in memory; the program and source.hlo agree on them, and on the results. */
static uint64_t *parameter_memory(Run *r, const HloComputation *entry, const void *const *inputs)
{
    WbbCx *cx = r->cx;
    WbbArena *a = r->arena;
    const ProgComputation *c = &r->p->computations[r->p->entry];
    const HloShape **leaves;
    uint64_t *out = WBB_NEW_N(a, uint64_t, c->n_parameters + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < entry->n_parameters; k++) {
        const uint32_t count = hlo_leaves(a, entry->parameters[k]->shape, &leaves);
        for (uint32_t j = 0; j < count; j++, n++) {
            if (n >= c->n_parameters || !agrees(&c->values[c->parameters[n]], leaves[j], true))
                wbb_fail(cx, entry->loc, "the program has other parameters than source.hlo");
            const BdBuffer d = prog_describe(&c->values[c->parameters[n]]);
            out[n] = prog_allocate(cx, r->machine, (uint64_t)d.bytes);
            put_logical(r, a, out[n], &d, inputs[n]);
        }
    }
    const uint32_t n_results = hlo_leaves(a, entry->root->shape, &leaves);
    bool same = n == c->n_parameters && n_results == c->n_results;
    for (uint32_t k = 0; same && k < n_results; k++) same = agrees(&c->values[c->results[k]], leaves[k], true);
    if (!same) wbb_fail(cx, entry->loc, "the program has other parameters or results than source.hlo");
    return out;
}

/* The simulator has the operands twice: as they are given, and in memory. */
static void check_memory(WbbCx *cx, const ProgModule *p, WbbLoc entry)
{
    const ProgMemory m = prog_memory(p);
    const char *what = wbb_format(cx->arena, "the program's operands (%.1f GiB), results and temporaries (%.1f GiB)",
                                  (double)m.parameters / (1 << 30), (double)m.temporaries / (1 << 30));
    judge_check_memory(cx, entry, what, (double)m.peak + (double)m.parameters);
}

static void run_all(WbbCx *cx, void *arg)
{
    Run *r = arg;
    const ProgModule *p = r->p;
    const ProgComputation *c = &p->computations[p->entry];
    WbbArena *a = r->arena;
    const ProgRun *o = r->o;
    wbb_use_threads(cx, o->run.threads);
    prog_check_calls(cx, p);
    const char *file = p->folder ? wbb_format(a, "%s/source.hlo", p->folder) : o->file ? o->file : "source.hlo";
    const HloModule *m = hlo_parse(cx, a, file, p->source, strlen(p->source));
    if (!r->machine->gpu) check_memory(cx, p, m->entry->loc);
    if (o->made_constants) judge_fill_left_out(cx, a, m);
    const void **inputs = judge_inputs(cx, a, m, &o->run);
    judge_make_as_stated(a, m, &o->run, inputs);
    load_constants(r);
    const uint64_t *results = result_memory(r, c), *parameters = parameter_memory(r, m->entry, inputs);
    run_computation(r, p->entry, parameters, results, prog_allocate(cx, r->machine, (uint64_t)c->frame), 0);
    const Frame f = {.c = c, .number = p->entry, .parameters = parameters, .results = results};
    r->v.n_results = c->n_results;
    r->v.results = WBB_NEW_N(a, EvValue, c->n_results + 1);
    for (uint32_t k = 0; k < c->n_results && !r->stop; k++) r->v.results[k] = value_of(r, a, &f, c->results[k]);
    if (r->stop) r->v.n_results = 0, r->v.whole_skipped = "a step is wrong";
    else if (o->run.check) judge_whole(r, m, inputs);
}

ProgVerdict prog_run(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgRun *o)
{
    Run r = {.cx = cx, .arena = a, .p = p, .o = o, .machine = prog_machine(cx, a, o->run.on_gpu),
             .v = {.checked = o->run.check, .on_gpu = o->run.on_gpu}, .loaded = {.arena = a},
             .constants = WBB_NEW_N(a, uint64_t *, p->n + 1), .times = WBB_NEW_N(a, uint64_t *, p->n + 1)};
    const WbbStatus s = wbb_guard(cx, run_all, &r);
    prog_machine_free(cx, r.machine);
    if (s != WBB_OK) wbb_rethrow(cx, s);
    return r.v;
}

/* --- on streams of a host ----------------------------------------------------------------------------------------- */
struct ProgLoaded {
    Run r;
    ProgRun o;
};

static void load_all(WbbCx *cx, void *arg)
{
    Run *r = arg;
    prog_check_calls(cx, r->p);
    load_constants(r);
    for (uint32_t i = 0; i < r->p->n; i++) {
        const ProgComputation *c = &r->p->computations[i];
        for (uint32_t s = 0; s < c->n_steps; s++)
            if (c->steps[s].kind == PROG_KERNEL || c->steps[s].kind == PROG_LIBRARY)
                load(r, &(Frame){.c = c, .number = i}, &c->steps[s]);
    }
}

ProgLoaded *prog_load(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgRun *o)
{
    ProgLoaded *l = WBB_NEW(a, ProgLoaded);
    *l = (ProgLoaded){.o = {.kernel = o->kernel, .arg = o->arg, .run = {.on_gpu = true, .threads = o->run.threads}}};
    l->r = (Run){.cx = cx, .arena = a, .p = p, .o = &l->o, .machine = prog_machine(cx, a, true), .loaded = {.arena = a},
                 .constants = WBB_NEW_N(a, uint64_t *, p->n + 1), .times = WBB_NEW_N(a, uint64_t *, p->n + 1)};
    const WbbStatus s = wbb_guard(cx, load_all, &l->r);
    if (s == WBB_OK) return l;
    prog_unload(cx, l);
    wbb_rethrow(cx, s);
}

void prog_unload(WbbCx *cx, ProgLoaded *l) { prog_machine_free(cx, l->r.machine); }

const GpuContext *prog_context(const ProgLoaded *l) { return l->r.machine->gpu; }

typedef struct {
    Run *r;
    const uint64_t *parameters, *results;
    uint64_t frame;
} Enqueue;

static void enqueue(WbbCx *cx, void *arg)
{
    const Enqueue *e = arg;
    wbb_use_threads(cx, e->r->o->run.threads);
    run_computation(e->r, e->r->p->entry, e->parameters, e->results, e->frame, 0);
}

void prog_enqueue(WbbCx *cx, ProgLoaded *l, void *stream, const uint64_t *addresses)
{
    Run *r = &l->r;
    const ProgComputation *c = &r->p->computations[r->p->entry];
    WbbArena *a = wbb_arena_new(cx);
    uint64_t *parameters = WBB_NEW_N(a, uint64_t, c->n_parameters + 1);
    const uint64_t *results = addresses + c->n_parameters;
    if (c->n_parameters) memcpy(parameters, addresses, c->n_parameters * sizeof *parameters);
    r->cx = cx, r->machine->stream = stream, r->depth = 0, r->work = 0, r->v = (ProgVerdict){.on_gpu = true};
    for (uint32_t k = 0; k < c->n_results; k++) { /* a result in the memory of a parameter: of a copy of it */
        if (c->in_place[k] < 0) continue;
        const uint64_t bytes = (uint64_t)c->values[c->results[k]].bytes;
        if (parameters[c->in_place[k]] != results[k])
            prog_move(cx, r->machine, results[k], parameters[c->in_place[k]], bytes);
        parameters[c->in_place[k]] = results[k];
    }
    Enqueue e = {r, parameters, results, 0};
    if (c->frame) e.frame = gpu_take(cx, r->machine->gpu, stream, (uint64_t)c->frame + 16);
    const WbbStatus s = wbb_guard(cx, enqueue, &e);
    if (e.frame) gpu_give(cx, r->machine->gpu, stream, e.frame);
    if (s != WBB_OK) wbb_rethrow(cx, s);
    wbb_arena_free(a);
}

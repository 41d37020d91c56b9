/* program.c: whole programs: made of a module's text or read from a folder, listed, written.
 *
 * Needs the text of a module; leaves its steps, and a kernel for each text that they have. program_run.c runs them.
 *
 *     wb_program_compile(cx, "model.hlo", text, n, NULL, &p)   ->   wb_program_kernels(p) == 9
 */
#include "api/saved.h"

#include <string.h>

_Static_assert((int)WB_STEP_KERNEL == (int)PROG_KERNEL && (int)WB_STEP_LIBRARY == (int)PROG_LIBRARY &&
                   (int)WB_STEP_COPY == (int)PROG_COPY && (int)WB_STEP_LOOP == (int)PROG_LOOP &&
                   (int)WB_STEP_BRANCH == (int)PROG_BRANCH && (int)WB_STEP_CALL == (int)PROG_CALL,
               "wb_step_kind is ProgStepKind");
_Static_assert((int)WB_OF_PARAMETER == (int)PROG_PARAMETER && (int)WB_OF_RESULT == (int)PROG_RESULT &&
                   (int)WB_OF_CONSTANT == (int)PROG_CONSTANT && (int)WB_OF_FRAME == (int)PROG_TEMPORARY,
               "wb_place is ProgPlace");
_Static_assert(PROG_NONE == -1, "as in wb_computation.in_place and wb_step.frame");

typedef struct {
    const char *file, *folder, *text;
    size_t n;
    const wb_program_options *given;
    PipeOptions options;
    wb_cut cut;
    bool partial, saved; /* saved: kernels are those of the folder */
    WbSavedProgram from; /* .. which has these */
    wb_program *p;
} Call;

/* --- making one --------------------------------------------------------------------------------------------------- */

typedef struct {
    const wb_program *p;
    WbStepKernel *k;
    const char *folder; /* that has the kernel; NULL: it is compiled */
} Job;

/* The folder of a kernel: steps/NAME of steps/NAME.hlo. */
static const char *bundle_of(WbbArena *a, const char *folder, const char *file)
{
    return wbb_format(a, "%s/%.*s", folder, (int)(strlen(file) - strlen(".hlo")), file);
}

static void make_kernel(WbbCx *cx, void *arg)
{
    const Job *j = arg;
    const ProgStep *s = j->k->text.s;
    wbb_come_from(cx, &s->from);
    j->k->arena = wbb_arena_new(cx);
    PipeOptions o = j->p->options;
    o.plan = s->plan;
    if (j->folder) j->k->kernel = wb_saved_read(cx, j->k->arena, &o, j->folder);
    else j->k->kernel = wb_kernel_made(cx, j->k->arena, &o, s->file, s->text, strlen(s->text));
}

static void make_kernels(WbbCx *cx, const Call *c)
{
    wb_program *p = c->p;
    const ProgText *texts = prog_texts(p->arena, p->p, PROG_OF_KERNELS, &p->n_kernels);
    p->kernels = WBB_NEW_N(p->arena, WbStepKernel, p->n_kernels + 1);
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        p->kernels[k].text = texts[k];
        wbb_map_put_bytes(&p->files, texts[k].s->file, strlen(texts[k].s->file))->value = k + 1;
    }
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const char *file = texts[k].s->file;
        Job j = {.p = p, .k = &p->kernels[k]};
        if (wbb_progress(cx, "kernels", k, p->n_kernels)) wbb_stop(cx);
        if (c->saved) p->kernels[k].why = wb_saved_left_out(&c->from, file);
        if (p->kernels[k].why != WHY_NONE) continue;
        if (c->saved) j.folder = bundle_of(p->arena, c->folder, file);
        const WbbStatus s = wbb_guard(cx, make_kernel, &j);
        if (s == WBB_OK) continue;
        if (s != WBB_DECLINED || !c->partial) wbb_rethrow(cx, s);
        wbb_arena_free(j.k->arena);
        *j.k = (WbStepKernel){.text = texts[k], .why = cx->why};
    }
    (void)wbb_progress(cx, "kernels", p->n_kernels, p->n_kernels);
}

static wb_array array_of(const ProgComputation *c, uint32_t value)
{
    const ProgValue *v = &c->values[value];
    const uint32_t bytes = (uint32_t)bd_npy_bytes(v->type);
    return (wb_array){.type = v->type, .element_bytes = bytes, .rank = (uint32_t)v->rank, .dims = v->dims,
                      .bytes = (uint64_t)bd_elements(v->dims, v->rank) * bytes};
}

static void describe(wb_program *p)
{
    const ProgComputation *c = &p->p->computations[p->p->entry];
    wb_array *in = WBB_NEW_N(p->arena, wb_array, c->n_parameters + 1);
    wb_array *out = WBB_NEW_N(p->arena, wb_array, c->n_results + 1);
    for (uint32_t k = 0; k < c->n_parameters; k++) in[k] = array_of(c, c->parameters[k]);
    for (uint32_t k = 0; k < c->n_results; k++) out[k] = array_of(c, c->results[k]);
    p->inputs = in, p->outputs = out;
    p->n_inputs = c->n_parameters, p->n_outputs = c->n_results;
    WbbBuf b = wbb_buf(p->arena);
    prog_summary(&b, p->p);
    p->summary = b.text;
    p->json = prog_json(p->arena, p->p);
}

static ProgModule *build(WbbCx *cx, WbbArena *a, const Call *c)
{
    char *text = wbb_alloc(a, c->n + 1);
    if (c->n) memcpy(text, c->text, c->n);
    const PipeOptions *o = &c->p->options;
    const PipeModuleOptions how = {.target = o->target, .by = c->cut == WB_PLAIN ? PIPE_CUT_PLAIN : PIPE_CUT_PRICED,
                                   .kernels = {.align = o->align, .flush = o->accuracy != SC_EXACT,
                                               .deterministic = o->deterministic},
                                   .disable = o->disable, .n_disable = o->n_disable, .store = o->store};
    const PipeModule m = pipe_module(cx, a, &how, c->p->file, text, c->n);
    ProgModule *p = prog_build(cx, a, m.module, &m.how);
    pipe_module_end(&m, a);
    p->source = text;
    prog_check_calls(cx, p);
    return p;
}

static void make(WbbCx *cx, void *arg)
{
    Call *c = arg;
    if (c->given) wb_check_options(cx, &c->given->kernels);
    if ((unsigned)c->cut > WB_PLAIN) wbb_fail(cx, (WbbLoc){0}, "cut %d: WB_PRICED or WB_PLAIN expected", (int)c->cut);
    WbbArena *a = wbb_arena_new(cx);
    wb_program *p = WBB_NEW(a, wb_program);
    c->p = p;
    p->arena = a;
    p->file = wbb_format(a, "%s", c->file);
    p->options = c->options;
    if (c->saved) {
        c->from = wb_saved_open_program(cx, a, &c->options, p->file);
        p->options = c->from.options;
    }
    p->options.target = wbb_format(a, "%s", p->options.target);
    p->files = (WbbMap){.arena = a};
    if (c->options.layout) wbb_fail(cx, (WbbLoc){.file = p->file}, "a layout is of one kernel, and this is a program");
    (void)tg_named(cx, (WbbLoc){0}, p->options.target);
    if (c->folder) {
        p->p = prog_read(cx, a, p->file);
        prog_detach(cx, a, p->p);
    } else {
        p->p = build(cx, a, c);
    }
    make_kernels(cx, c);
    describe(p);
}

static wb_status made(wb_context *cx, Call *c, const wb_program_options *o, wb_program **program)
{
    c->given = o;
    c->options = wb_pipe_options(cx, o ? &o->kernels : NULL);
    c->cut = o ? o->cut : WB_PRICED;
    c->partial = o && o->partial;
    c->saved = c->folder && !o;
    const wb_status s = wb_guarded(cx, make, c);
    if (s != WB_OK) wb_program_free(c->p);
    *program = s == WB_OK ? c->p : NULL;
    return s;
}

wb_status wb_program_compile(wb_context *cx, const char *file, const char *text, size_t n, const wb_program_options *o,
                             wb_program **program)
{
    Call c = {.file = file ? file : "<text>", .text = text, .n = n};
    return made(cx, &c, o, program);
}

wb_status wb_program_read(wb_context *cx, const char *folder, const wb_program_options *o, wb_program **program)
{
    Call c = {.file = folder, .folder = folder};
    return made(cx, &c, o, program);
}

void wb_program_free(wb_program *p)
{
    if (!p) return;
    for (uint32_t k = 0; p->kernels && k < p->n_kernels; k++) wbb_arena_free(p->kernels[k].arena);
    wbb_arena_free(p->arena);
}

_Static_assert((int)WB_ONE_STEP == (int)PROG_SINGLE && (int)WB_SEVERAL_STEPS == (int)PROG_SEVERAL &&
                   (int)WB_WITH_CALLS == (int)PROG_CALLS && (int)WB_SEVERAL_FUSIONS == (int)PROG_FUSIONS,
               "wb_kind is ProgKind");

wb_kind wb_kind_of(const char *text, size_t n) { return (wb_kind)prog_kind("<text>", text, n); }

int wb_library_calls(const char *text, size_t n) { return prog_library_calls(text, n); }

typedef struct {
    PipeOptions options;
    const char *text;
    size_t n;
    bool apart;
} Apart;

static void better_apart(WbbCx *cx, void *arg)
{
    Apart *a = arg;
    a->apart = pipe_better_apart(cx, &a->options, "<text>", a->text, a->n, NULL) != NULL;
}

int wb_better_apart(wb_context *cx, const char *text, size_t n, const wb_options *o)
{
    Apart a = {.options = wb_pipe_options(cx, o), .text = text, .n = n};
    return tg_find(a.options.target) && wb_watched(cx, better_apart, &a) == WBB_OK && a.apart;
}

/* --- writing it --------------------------------------------------------------------------------------------------- */

typedef struct {
    WbRun base;
    const wb_program *p;
    const char *folder;
} Write;

static void write(WbbCx *cx, void *arg)
{
    const Write *w = arg;
    ProgModule copy = *w->p->p; /* prog_write notes the folder in it */
    prog_write(cx, &copy, w->folder);
    for (uint32_t k = 0; k < w->p->n_kernels; k++) {
        const WbStepKernel *x = &w->p->kernels[k];
        if (x->kernel) wb_saved_write(cx, x->kernel, bundle_of(cx->arena, w->folder, x->text.s->file));
    }
    wb_saved_write_program(cx, w->p, w->folder);
}

wb_status wb_program_write(const wb_program *p, const char *folder, wb_result **result)
{
    Write w = {.p = p, .folder = folder};
    return wb_result_of(NULL, write, &w.base, result);
}

/* --- what it is --------------------------------------------------------------------------------------------------- */

const char *wb_program_name(const wb_program *p) { return p->p->name; }
const char *wb_program_target(const wb_program *p) { return p->options.target; }
const char *wb_program_hlo(const wb_program *p) { return p->p->source; }
const char *wb_program_json(const wb_program *p) { return p->json; }
const char *wb_program_summary(const wb_program *p) { return p->summary; }
uint32_t wb_program_kernels(const wb_program *p) { return p->n_kernels; }
uint32_t wb_program_entry(const wb_program *p) { return p->p->entry; }

const wb_kernel *wb_program_kernel(const wb_program *p, uint32_t i)
{
    return i < p->n_kernels ? p->kernels[i].kernel : NULL;
}

int wb_program_input(const wb_program *p, uint32_t i, wb_array *array)
{
    if (i >= p->n_inputs) return 0;
    *array = p->inputs[i];
    return 1;
}

int wb_program_output(const wb_program *p, uint32_t i, wb_array *array)
{
    if (i >= p->n_outputs) return 0;
    *array = p->outputs[i];
    return 1;
}

void wb_program_memory(const wb_program *p, wb_memory *memory)
{
    const ProgMemory m = prog_memory(p->p);
    *memory = (wb_memory){.parameters = (uint64_t)m.parameters, .results = (uint64_t)m.results,
                          .constants = (uint64_t)m.constants, .temporaries = (uint64_t)m.temporaries,
                          .peak = (uint64_t)m.peak};
}

int wb_program_computation(const wb_program *p, uint32_t i, wb_computation *computation)
{
    if (i >= p->p->n) return 0;
    const ProgComputation *c = &p->p->computations[i];
    *computation = (wb_computation){.name = c->name, .n_values = c->n_values, .n_regions = c->n_buffers,
                                    .n_steps = c->n_steps, .parameters = c->parameters,
                                    .n_parameters = c->n_parameters, .results = c->results, .in_place = c->in_place,
                                    .n_results = c->n_results, .frame = (uint64_t)c->frame};
    return 1;
}

int wb_program_value(const wb_program *p, uint32_t computation, uint32_t i, wb_value *value)
{
    if (computation >= p->p->n || i >= p->p->computations[computation].n_values) return 0;
    const ProgValue *v = &p->p->computations[computation].values[i];
    *value = (wb_value){.name = v->name, .type = v->type, .rank = (uint32_t)v->rank, .dims = v->dims,
                        .minor_to_major = v->minor_to_major, .bytes = (uint64_t)v->bytes, .region = v->buffer,
                        .view_of = v->of, .start = (uint64_t)v->at, .step = v->each};
    return 1;
}

int wb_program_region(const wb_program *p, uint32_t computation, uint32_t i, wb_region *region)
{
    if (computation >= p->p->n || i >= p->p->computations[computation].n_buffers) return 0;
    const ProgBuffer *b = &p->p->computations[computation].buffers[i];
    *region = (wb_region){.place = (wb_place)b->place, .number = b->number, .bytes = (uint64_t)b->bytes,
                          .offset = (uint64_t)b->offset, .first = b->first, .last = b->last, .constant = b->literal,
                          .splat = b->splat};
    return 1;
}

_Static_assert(sizeof(wb_share) == sizeof(ProgShare) && offsetof(wb_share, operand) == offsetof(ProgShare, operand),
               "wb_share is ProgShare");
_Static_assert(sizeof(wb_swap) == sizeof(ProgSwap) && offsetof(wb_swap, spare) == offsetof(ProgSwap, spare),
               "wb_swap is ProgSwap");

int wb_program_step(const wb_program *p, uint32_t computation, uint32_t i, wb_step *step)
{
    if (computation >= p->p->n || i >= p->p->computations[computation].n_steps) return 0;
    const ProgStep *s = &p->p->computations[computation].steps[i];
    *step = (wb_step){.kind = (wb_step_kind)s->kind, .name = s->name, .operation = s->operation, .text = s->text,
                      .kernel = wb_program_kernel_of(p, s), .reads = s->reads, .makes = s->makes,
                      .n_reads = s->n_reads, .n_makes = s->n_makes, .in_place = (const void *)s->shares,
                      .n_in_place = s->n_shares, .calls = s->calls, .taken = s->taken, .n_calls = s->n_calls,
                      .flag = s->flag, .frame = s->frame, .iterations = s->iterations,
                      .swaps = (const void *)s->swaps, .n_swaps = s->n_swaps};
    return 1;
}

int wb_program_kernel_of(const wb_program *p, const ProgStep *s)
{
    if (s->kind != PROG_KERNEL) return -1;
    return (int)wbb_map_get_bytes(&p->files, s->file, strlen(s->file))->value - 1;
}

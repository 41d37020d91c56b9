/* compile.c: `compile FILE.hlo..`, and `run FILE.hlo`, which compiles first.
 *
 * Needs files of HLO text, one fusion each. Leaves on stdout PTX or what the options ask for, with -o a bundle, and
 * an exit status: one bad file does not stop the others, a failed one counts before a declined one.
 *
 *     warpburg compile gelu.hlo --json
 *     {"file": "gelu.hlo", "kernel": "gelu", "target": "sm_90", "status": "ok", "block": 128, "grid": 12288, ..
 */
#include "llvm/llvm.h"
#include "main/compile.h"
#include "pipe/pipe.h"
#include "report/profile.h"

#include <stdio.h>
#include <string.h>

static PipeOptions pipe_options(WbbCx *cx, WbbArena *a, const CompileOptions *o)
{
    PipeOptions p = {.target = o->target,
                     .accuracy = main_accuracy(o->accuracy, o->approx),
                     .deterministic = o->deterministic,
                     .align = (uint32_t)o->align,
                     .layout = o->layout,
                     .plan = wbb_read_source(cx, a, o->plan),
                     .lines = o->lines,
                     .disable = o->disable.items,
                     .n_disable = o->disable.n,
                     .print_after = o->print_after,
                     .stage = PIPE_AT_PTX};
    p.backend = (PipeBackend)main_backend(o->backend);
    for (int i = 0; o->emit && i < PIPE_STAGES; i++)
        if (!strcmp(o->emit, pipe_stage_name[i])) p.stage = (PipeStage)i;
    return p;
}

static void put_time(WbbBuf *b, const PipeResult *r)
{
    double all = 0;
    wbb_put(b, "ms:");
    for (int i = 0; i < PIPE_STEPS; i++) {
        wbb_putf(b, " %s %.3f", pipe_step_name[i], r->ms[i]);
        all += r->ms[i];
    }
    wbb_putf(b, " all %.3f\n", all);
}

static void put_widths(WbbBuf *b, const char *key, const uint32_t *counts)
{
    wbb_json_open(b, key, '{');
    for (int w = 0; w < 6; w++)
        if (counts[w]) wbb_json_uint(b, wbb_format(b->arena, "%d", 1 << w), counts[w]);
    wbb_json_close(b, '}');
}

static void put_sass(WbbBuf *b, const TgSass *s)
{
    const struct {
        const char *name;
        uint32_t count;
    } rows[] = {{"sass", s->sass}, {"regs", s->regs}, {"stack_bytes", s->stack_bytes}, {"branch", s->branch},
                {"mufu", s->mufu}, {"ldl", s->ldl},   {"stl", s->stl}};
    for (size_t i = 0; i < WBB_LEN(rows); i++) wbb_json_uint(b, rows[i].name, rows[i].count);
    put_widths(b, "ldg", s->ldg);
    put_widths(b, "stg", s->stg);
}

static void put_accesses(WbbBuf *b, const PipeResult *r)
{
    wbb_json_open(b, "accesses", '[');
    for (const PipeKernel *k = r->kernels; k < r->kernels + r->n_kernels; k++)
        for (uint32_t i = 0; i < k->accesses.n; i++) {
            const VecAccess *x = &k->accesses.items[i];
            const IrBuffer *buffer = &k->ir->buffers[x->buffer];
            wbb_json_open(b, NULL, '{');
            if (r->n_kernels > 1) wbb_json_text(b, "kernel", k->ir->name);
            wbb_json_text(b, "kind", x->store ? "store" : "load");
            wbb_json_text(b, "buffer", buffer->name);
            wbb_json_uint(b, "bytes", x->lanes * sc_bytes(buffer->type));
            wbb_json_uint(b, "count", x->count);
            wbb_json_text(b, "why", x->why);
            wbb_json_close(b, '}');
        }
    wbb_json_close(b, ']');
}

/* The first firings of the trace. */
static void put_trace(WbbBuf *b, WbbArena *a, const PipeResult *r)
{
    WbbBuf trace = wbb_buf(a);
    pipe_trace(&trace, a, r->rw, 5);
    wbb_json_open(b, "trace", '[');
    for (const char *line = trace.text; *line;) {
        const char *end = strchr(line, '\n');
        wbb_json_text(b, NULL, wbb_format(a, "%.*s", (int)(end - line), line));
        line = end + 1;
    }
    wbb_json_close(b, ']');
}

static void put_json(WbbCx *cx, WbbArena *a, WbbBuf *b, const char *file, const PipeResult *r, bool with_stores)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", file);
    wbb_json_text(b, "kernel", r->kernel->name);
    wbb_json_text(b, "target", r->target->name);
    wbb_json_text(b, "status", "ok");
    wbb_json_uint(b, "block", r->kernel->block);
    wbb_json_uint(b, "grid", r->kernel->grid);
    if (r->cubin.bytes && r->kernel->grid) {
        const TgSass s = tg_sass(cx, r->target, &r->cubin, r->kernel->name);
        put_sass(b, &s);
    }
    put_accesses(b, r);
    wbb_json_open(b, "libdevice", '[');
    for (uint32_t i = 0; i < r->n_libdevice; i++) wbb_json_text(b, NULL, r->libdevice[i]);
    wbb_json_close(b, ']');
    put_trace(b, a, r);
    wbb_json_open(b, "ms", '{');
    for (int i = 0; i < PIPE_STEPS; i++) wbb_json_putf(b, pipe_step_name[i], "%.3f", r->ms[i]);
    wbb_json_close(b, '}');
    if (with_stores) wbb_json_text(b, "stores", r->thread_map_fault ? r->thread_map_fault : "");
    if (with_stores) wbb_json_bool(b, "scatters", r->scatters);
    wbb_json_end(b, "compile.1");
    wbb_put(b, "\n");
}

/* --bijection without --json */
static void put_stores(WbbBuf *b, const char *file, const PipeResult *r)
{
    if (r->thread_map_fault) wbb_putf(b, "%s: fault: %s\n", file, r->thread_map_fault);
    else if (r->scatters) wbb_putf(b, "%s: not checked: indices say where a scatter stores\n", file);
    else wbb_putf(b, "%s: %lld elements, each stored once\n", file, (long long)r->stored_elements);
}

/* Only once it is made: a module that no kernel computes is a program, and its folder may hold the last one. */
static void write_bundle(WbbCx *cx, const Bundle *b, const char *folder)
{
    if (prog_is_folder(folder))
        wbb_fail(cx, (WbbLoc){.file = folder}, "the folder holds a program, and a bundle would be mixed with it");
    bd_write(cx, b, folder);
}

/* Of what may be several kernels, and is made one, as that is asked for: what became of the rows that say so. */
static void explain_apart(WbbCx *cx, const CompileFile *f, const PipeOptions *p, const char *text, size_t n)
{
    if (!p->layout && !p->plan.text) (void)pipe_better_apart(cx, p, f->file, text, n, f->out);
}

/* What asks for the bundle, its PTX and the report alone may come from the store. */
static void one_bundle(WbbCx *cx, WbbArena *a, const CompileFile *f, PipeOptions *p, const char *text, size_t n)
{
    const CompileOptions *o = f->o;
    p->comments = (o->emit || (!o->output && !o->explain)) && !p->lines;
    const PipeMade m = pipe_make(cx, a, p, f->file, text, n);
    if (f->output) write_bundle(cx, m.bundle, f->output);
    if (m.missing) wbb_note(cx, (WbbLoc){.file = f->file}, "no machine code: %s", m.missing);
    if (o->emit || (!o->output && !o->explain)) wbb_put(f->out, m.emitted);
    if (o->explain) wbb_put(f->out, m.explain), explain_apart(cx, f, p, text, n);
}

/* --emit plan: of a module that becomes a program, the plan of that. */
static bool prints_plan(const CompileOptions *o) { return o->emit && !strcmp(o->emit, pipe_stage_name[PIPE_AT_PLAN]); }

static WbbStatus one_file(WbbCx *cx, WbbArena *a, const CompileFile *f)
{
    const CompileOptions *o = f->o;
    const char *file = f->file, *output = f->output;
    size_t n;
    const char *text = main_read_hlo(cx, a, file, o->assume, &n);
    PipeOptions p = pipe_options(cx, a, o);
    p.cache = f->tools->cache;
    p.store = f->tools->store;
    p.makes = f->module && prints_plan(o);
    p.check_thread_map = o->bijection && !p.makes;
    p.assemble = (o->output != NULL || o->json) && !p.makes;
    if (p.stage == PIPE_AT_PTX && !o->json && !o->trace && !o->time && !o->print_after && !o->bijection) {
        one_bundle(cx, a, f, &p, text, n);
        return WBB_OK;
    }
    const bool asks_else =
        o->output || o->json || o->explain || o->trace || o->time || o->print_after || o->bijection;
    const bool prints = o->emit || !asks_else;
    p.comments = prints && !p.lines;
    PipeResult r;
    WbbBuf *b = f->out;
    pipe_compile(cx, a, &p, file, text, n, &r);
    if (p.makes) r.bundle = NULL, r.printed = ""; /* the plan is what is asked for */
    if (output && r.bundle) write_bundle(cx, r.bundle, output);
    if (p.stage == PIPE_AT_CUBIN && !r.cubin.bytes)
        wbb_fail(cx, (WbbLoc){.file = file}, "--emit cubin: %s", r.cubin.missing);
    if (p.assemble && r.bundle && r.cubin.missing)
        wbb_note(cx, (WbbLoc){.file = file}, "no machine code: %s", r.cubin.missing);
    wbb_put(b, r.printed);
    if (o->emit && p.stage == PIPE_AT_CUBIN && o->output == NULL)
        wbb_put(b, "assembled; -o DIR writes it\n");
    else if (prints) wbb_put(b, r.emitted);
    if (r.bundle) {
        if (o->explain) pipe_explain(b, &r), explain_apart(cx, f, &p, text, n);
        if (o->bijection && !o->json) put_stores(b, file, &r);
        for (uint32_t k = 0; o->trace && k < r.n_kernels; k++) pipe_trace(b, a, r.kernels[k].rw, UINT32_MAX);
        if (o->json) put_json(cx, a, b, file, &r, o->bijection);
    }
    if (o->time) put_time(b, &r);
    return r.thread_map_fault ? WBB_CHECK : WBB_OK;
}

static void guarded_file(WbbCx *cx, void *arg)
{
    CompileFile *f = arg;
    WbbArena *a = wbb_arena_new(cx);
    f->status = one_file(cx, a, f);
    wbb_arena_free(a);
}

/* Does an option ask for what one kernel alone has? */
static bool asks_for_kernel(const CompileOptions *o) { return (o->emit && !prints_plan(o)) || o->json; }

/* The option that a program does not take, as only one kernel has what it asks for; NULL: there is none. */
static const char *option_about_kernel(WbbCx *cx, const CompileFile *f)
{
    const CompileOptions *o = f->o;
    const bool of_kernel = (o->emit && !prints_plan(o)) || (prints_plan(o) && prog_is_folder(f->file));
    const struct {
        bool given;
        const char *name;
    } options[] = {{of_kernel, "--emit"}, {o->json, "--json"}, {o->explain, "--explain"}, {o->trace, "--trace"},
                   {o->print_after, "--print-after"}, {o->bijection, "--bijection"}, {o->layout, "--layout"},
                   {o->plan && !main_is_module_plan(cx, o->plan), "this --plan"}};
    for (size_t k = 0; k < WBB_LEN(options); k++)
        if (options[k].given) return options[k].name;
    return NULL;
}

/* A program, or a module that is one, under a guard of its own. */
static void guarded_program(WbbCx *cx, void *arg)
{
    CompileFile *f = arg;
    const CompileOptions *o = f->o;
    WbbArena *a = wbb_arena_new(cx);
    const ProgramCut cut = MAIN_PROGRAM_CUT(o);
    const char *about_one = option_about_kernel(cx, f);
    if (about_one)
        wbb_fail(cx, (WbbLoc){.file = f->file},
                 "this is a program of several kernels, and %s is about a single one; `fuse --parts` writes each",
                 about_one);
    if (f->output && prog_is_folder(f->file))
        wbb_fail(cx, (WbbLoc){.file = f->file}, "--output: the bundles of a program are written to its own folder");
    if (prints_plan(o)) {
        main_put_plan_of(cx, a, f->out, f->file, &cut, f->tools->store);
        f->status = WBB_OK;
        wbb_arena_free(a);
        return;
    }
    PipeOptions p = pipe_options(cx, a, o);
    p.cache = f->tools->cache;
    p.store = f->tools->store;
    p.assemble = f->output || prog_is_folder(f->file);
    ProgModule *program = main_program_of(cx, a, f->file, &cut, p.store);
    f->status = main_compile_program(cx, program, f->file, &p, f->output, f->out);
    wbb_arena_free(a);
}

/* Why a module that one kernel may compute is better a program; NULL: it is not, or may not be one. */
static const char *why_apart(WbbCx *cx, const CompileOptions *o, ProgKind kind, const char *file,
                             const char *text, size_t n)
{
    if (kind == PROG_FUSIONS) return NULL;
    if (o->layout || o->plan || o->explain || o->trace || o->print_after || o->bijection) return NULL;
    const PipeOptions p = pipe_options(cx, cx->arena, o);
    const TgStrategy *row = pipe_better_apart(cx, &p, file, text, n, NULL);
    return row ? row->because : NULL;
}

/* What a file is, and why it is better a program. */
typedef struct {
    const CompileOptions *o;
    const char *file;
    ProgKind kind;
    const char *apart;
} Kind;

static void find_kind(WbbCx *cx, void *arg)
{
    Kind *k = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    const char *text = main_read_hlo(cx, a, k->file, k->o->assume, &n);
    k->kind = prog_kind(k->file, text, n);
    k->apart = why_apart(cx, k->o, k->kind, k->file, text, n);
    wbb_arena_free(a);
}

/* PROG_SINGLE as well of what options about a single kernel ask for, and of what cannot be read, which its compile
 * says. */
static ProgKind kind_of(WbbCx *cx, const CompileOptions *o, const char *file, const char **apart)
{
    Kind k = {.o = o, .file = file, .kind = PROG_SINGLE};
    *apart = NULL;
    if (prog_is_folder(file)) return PROG_FUSIONS;
    if (main_is_module_plan(cx, o->plan)) return PROG_FUSIONS;
    if (asks_for_kernel(o) || !wbb_file_exists(file) || wbb_is_dir(file)) return PROG_SINGLE;
    if (!wbb_quietly(cx, find_kind, &k)) return PROG_SINGLE;
    *apart = k.apart;
    return k.kind;
}

/* What a text is, and why it is better a program, is kept as well: to find out takes as long as to compile. */
typedef struct {
    const CompileFile *f;
    const char *key; /* NULL: it is not kept */
    bool found;
    ProgKind kind;
    const char *apart;
} Kept;

static void find_kept(WbbCx *cx, void *arg)
{
    Kept *k = arg;
    const CompileOptions *o = k->f->o;
    WbbStore *store = k->f->tools->store;
    if (o->explain || o->trace || o->print_after || o->bijection) return; /* they ask for one kernel */
    if (!store || o->emit || o->json || prog_is_folder(k->f->file) || wbb_is_dir(k->f->file)) return;
    size_t n;
    char *bytes;
    const char *text = main_read_hlo(cx, k->f->out->arena, k->f->file, o->assume, &n);
    PipeOptions p = pipe_options(cx, k->f->out->arena, o);
    p.store = store;
    const char *key = pipe_make_key(cx, k->f->out->arena, &p, k->f->file, text, n);
    if (!key) return;
    k->key = wbb_format(k->f->out->arena, "kind %s", key);
    if (!wbb_store_find(cx, k->f->out->arena, store, k->key, &bytes, &n)) return;
    k->found = bytes[0] >= '0' && bytes[0] <= '0' + PROG_FUSIONS; /* and why it is better apart behind it */
    k->kind = (ProgKind)(bytes[0] - '0');
    k->apart = n > 1 ? bytes + 1 : NULL;
}

/* Of a module of several kernels, for which an option about one was given: where each of them is to be had. */
static void note_parts(WbbCx *cx, void *arg)
{
    const CompileFile *f = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    const char *text = main_read_hlo(cx, a, f->file, f->o->assume, &n);
    const bool optimised = main_is_optimised(hlo_parse(cx, a, f->file, text, n));
    wbb_note(cx, (WbbLoc){.file = f->file}, "%s`fuse%s --parts DIR` writes a file for each kernel, which compile takes",
             optimised ? "XLA's passes have optimised this module: " : "", optimised ? " --like xla" : "");
    wbb_arena_free(a);
}

WbbStatus main_compile_file(WbbCx *cx, CompileFile *f)
{
    WbbStatus s = WBB_DECLINED;
    const size_t before = strlen(cx->messages);
    const char *apart = NULL;
    Kept kept = {.f = f};
    (void)wbb_quietly(cx, find_kept, &kept);
    const ProgKind kind = kept.found ? kept.kind : kind_of(cx, f->o, f->file, &apart);
    if (kept.found) apart = kept.apart;
    else if (kept.key) {
        const char *bytes = wbb_format(f->out->arena, "%d%s", (int)kind, apart ? apart : "");
        wbb_store_keep(cx, f->out->arena, f->tools->store, kept.key, bytes, strlen(bytes));
    }
    bool program = kind == PROG_FUSIONS;
    if (apart) {
        wbb_note(cx, (WbbLoc){.file = f->file}, "%s: it is compiled as a program", apart);
        s = wbb_guard(cx, guarded_program, f);
        if (s != WBB_DECLINED) return s == WBB_OK ? f->status : s;
        wbb_forget_since(cx, before);
    }
    if (!program) {
        f->module = kind != PROG_SINGLE;
        s = wbb_guard(cx, guarded_file, f);
        program = s == WBB_DECLINED && kind != PROG_SINGLE && !f->o->plan; /* a plan of a kernel asks for one */
        if (program) {
            wbb_forget_since(cx, before); /* why it is no kernel */
            wbb_note(cx, (WbbLoc){.file = f->file}, "no single kernel computes it: it is compiled as a program");
        }
    }
    if (program) s = wbb_guard(cx, guarded_program, f);
    else if (s == WBB_DECLINED && cx->why == WHY_MANY_FUSIONS) (void)wbb_guard(cx, note_parts, f);
    if (program && s == WBB_DECLINED && cx->why == WHY_LIBRARY)
        wbb_note(cx, (WbbLoc){.file = f->file},
                 "`fuse -o DIR` writes its program, with the call for others to make, and `compile DIR` the kernels of "
                 "it");
    return s == WBB_OK ? f->status : s;
}

static WbbStatus profile_without_compiling(const Call *call)
{
    const RunOptions *o = call->options;
    const HloModule *m;
    const char *hlo;
    const Bundle *b = main_run_bundle_of(call->cx, call->arena, o, &m, &hlo);
    return main_run_profile(call, o->ptx ? o->ptx : o->file, b, m, hlo, NULL);
}

typedef struct {
    const PipeOptions *o;
    const char *file, *text;
    size_t n;
    WbbArena *arena;
    PipeResult *r;
} Text;

static void guarded_text(WbbCx *cx, void *arg)
{
    const Text *t = arg;
    pipe_compile(cx, t->arena, t->o, t->file, t->text, t->n, t->r);
}

/* A program under a guard of its own. */
typedef struct {
    const Call *call;
    WbbStatus status;
} Whole;

static WbbStatus run_program(const Call *call)
{
    const RunOptions *o = call->options;
    return o->profile ? main_profile_program(call) : main_run_whole(call);
}

static void guarded_whole(WbbCx *cx, void *arg)
{
    Whole *w = arg;
    (void)cx;
    w->status = run_program(w->call);
}

/* Compile, run and judge; a bundle, or PTX of another compiler, is only run. */
static WbbStatus run_file(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    if ((o->against.n || o->html) && !o->profile) return main_usage(call, "--against and --html need --profile");
    if (o->profile && (o->seeds > 1 || !strcmp(o->on, "gpu")))
        return main_usage(call, "--profile takes one seed, and runs in the simulator");
    if (!o->ptx && prog_is_folder(o->file)) return run_program(call);
    if (!o->ptx && main_is_module_plan(cx, o->plan)) return run_program(call);
    if (o->ptx || wbb_is_dir(o->file))
        return o->profile ? profile_without_compiling(call) : main_run_without_compiling(call);
    size_t n;
    const char *text = main_read_hlo(cx, a, o->file, o->assume, &n);
    const CompileOptions c = {
        .target = o->target, .accuracy = o->accuracy, .approx = o->approx, .assume = o->assume, .align = o->align,
        .layout = o->layout, .plan = o->plan, .deterministic = o->deterministic, .backend = o->backend,
        .lines = o->lines, .disable = o->disable};
    PipeOptions p = pipe_options(cx, a, &c);
    /* a fault prints its line of PTX; the comment names rule and HLO instruction, as those of a profile's lines do */
    p.comments = (o->check || o->profile) && !p.lines;
    PipeResult r;
    const ProgKind kind = prog_kind(o->file, text, n);
    if (kind == PROG_FUSIONS)
        return run_program(call);
    Text t = {.o = &p, .file = o->file, .text = text, .n = n, .arena = a, .r = &r};
    const size_t before = strlen(cx->messages);
    const char *apart = why_apart(cx, &c, kind, o->file, text, n);
    if (apart && main_is_about_kernel(o)) {
        wbb_note(cx, (WbbLoc){.file = o->file}, "%s: an option asks for one kernel all the same", apart);
        apart = NULL;
    }
    if (apart) {
        wbb_note(cx, (WbbLoc){.file = o->file}, "%s: it is run as a program", apart);
        Whole w = {.call = call};
        const WbbStatus s = wbb_guard(cx, guarded_whole, &w);
        if (s == WBB_OK) return w.status;
        if (s != WBB_DECLINED) wbb_rethrow(cx, s);
        wbb_forget_since(cx, before);
    }
    const WbbStatus compiled = wbb_guard(cx, guarded_text, &t);
    if (compiled == WBB_DECLINED && kind != PROG_SINGLE && !o->plan) {
        wbb_forget_since(cx, before);
        wbb_note(cx, (WbbLoc){.file = o->file}, "no single kernel computes it: it is run as a program");
        return run_program(call);
    }
    if (compiled != WBB_OK) wbb_rethrow(cx, compiled);
    Bundle b = *r.bundle;
    if (p.comments) b.ptx = r.emitted;
    if (o->profile) return main_run_profile(call, o->file, &b, r.module, text, report_kernels_text(a, &r));
    const WbbStatus s = main_run_seeds(cx, o, o->file, &b, r.module);
    char *culprit;
    for (uint32_t k = 0; s == WBB_CHECK && k < r.n_kernels; k++)
        if (pipe_audit(r.kernels[k].rw, a, &culprit)) fprintf(stderr, "wrong rule: %s\n", culprit);
    return s;
}

static WbbStatus run(const Call *call) { return main_run_each(call, run_file); }

/* --- tables ----------------------------------------------------------------------------------- */
const char *main_target_names(WbbArena *a)
{
    uint32_t n;
    const TgTarget *const *all = tg_all(&n);
    WbbBuf b = wbb_buf(a);
    for (uint32_t i = 0; i < n; i++) wbb_putf(&b, "%s%s", i ? " " : "", all[i]->name);
    return b.text;
}

const char *main_pass_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (const char *const *p = pipe_passes; *p; p++) wbb_putf(&b, "%s%s", p == pipe_passes ? "" : " ", *p);
    return b.text;
}

static const Positional run_positionals[] = {
    {SEVERAL("FILE.hlo|BUNDLE|PROGRAM", RunOptions, files,
             "HLO text of a fusion or a module, a folder that `compile -o` or `fuse -o` wrote, or a folder of such files and "
             "folders, or of XLA's dumps"),
     .value = VALUE_FILE},
    {0}};
static const Option run_compiling[] = {
    MAIN_OPTION_TARGET(RunOptions),
    MAIN_OPTION_ALIGN(RunOptions),
    MAIN_OPTION_LAYOUT(RunOptions),
    MAIN_OPTION_PLAN(RunOptions),
    MAIN_OPTION_DETERMINISTIC(RunOptions),
    MAIN_OPTION_BACKEND(RunOptions),
    MAIN_OPTION_LINES(RunOptions),
    MAIN_OPTION_CUT(RunOptions),
    MAIN_OPTION_NO_CACHE(RunOptions),
    MAIN_OPTION_DISABLE(RunOptions),
    {FLAG("--profile", RunOptions, profile, "print the time that the kernel takes on the GPU, and what it is made of")},
    {LIST("--against", RunOptions, against, "THEIRS.ptx:GRID:BLOCK:SHARED",
          "with --profile: PTX of another compiler beside it; what is not said follows from --grid, --block, --shared")},
    {WORD("--html", RunOptions, html, "PAGE.html", "with --profile: write a page with the shares of each line"),
     .value = VALUE_FILE},
    {0}};
static const Example run_examples[] = {
    {"run gelu.hlo --check --case e", "compile a fusion, run it on edge values and judge every element"},
    {"run gelu.hlo --ptx theirs.ptx --grid 512 --block 128 --check", "the same for PTX of another compiler"},
    {"run dump --check", "judge every module that --xla_dump_to=dump left"},
    {0}};
const Command main_run = {
    .name = "run",
    .summary = "run a fusion in the simulator or on a GPU, and judge what it computes",
    .details = "Compiles HLO text first; a bundle is run as it is. Where an element is wrong, both sides of every "
               "rule that fired are evaluated, and the message names the rule at fault.",
    .positionals = run_positionals,
    .options = run_compiling,
    .more_options = main_run_table,
    .examples = run_examples,
    .declined = "the fusion is declined; the message has the reason",
    .check = "a fault, an element outside the bounds, or a GPU that differs from the simulator",
    .size = sizeof(RunOptions),
    .run = run,
};

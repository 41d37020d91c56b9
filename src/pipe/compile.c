/* compile.c: HLO text to a bundle: the passes in their order.
 *
 *     parse -> plan -> emit -> simplify -> lower -> vectorize -> width -> isel -> LLVM -> bundle -> ptxas
 */
#include "pipe/pipe.h"

#include "index/index.h"
#include "llvm/llvm.h"

#include <string.h>

const char *const pipe_step_name[PIPE_STEPS] = {"hlo", "partition", "emit", "rewrite", "build", "link", "optimise", "codegen", "bundle", "target"};
const char *const pipe_stage_name[PIPE_STAGES] = {"hlo", "maps", "plan", "ir", "llvm", "ptx", "cubin", "json"};
const char *const pipe_passes[] = {"simplify", "lower", "vectorize", "width", "isel", NULL};

void pipe_pass(RwCx *rw, IrKernel *k, const TgTarget *t, const char *pass, VecAccesses *accesses)
{
    if (!strcmp(pass, "simplify")) rw_run(rw, k, RW_SIMPLIFY);
    else if (!strcmp(pass, "lower")) rw_run(rw, k, RW_LOWER);
    else if (!strcmp(pass, "vectorize")) *accesses = vec_vectorize(rw, k, t->vector_bytes);
    else if (!strcmp(pass, "width")) vec_width(k);
    else if (!strcmp(pass, "isel")) rw_run(rw, k, RW_ISEL);
    else assert(!"unknown pass");
}

static void lap(PipeResult *r, PipeStep capacity, double *since)
{
    const double now = wbb_cpu_ms();
    r->ms[capacity] += now - *since;
    *since = now;
}

static void print_ir(WbbBuf *b, const char *pass, const IrKernel *k)
{
    wbb_putf(b, "// after %s\n", pass);
    ir_print(b, k);
}

static BdBuffer describe(const PartPlan *p, uint32_t i, uint32_t align)
{
    const PartBuffer *from = &p->buffers[i];
    const HloShape *s = from->shape;
    const int number = (int)(from->output ? i - p->n_operands : i);
    BdBuffer b = {.role = from->output ? BD_OUT : BD_IN, .arg = number, .type = sc_type_info[s->type].hlo, .rank = s->rank,
                  .bits = sc_type_info[s->type].bits, .align = (int)align, .alias = -1, .init = BD_INIT_NONE, .writes = BD_ONCE};
    for (int d = 0; d < s->rank; d++) {
        b.dims[d] = s->dims[d];
        b.minor_to_major[d] = s->minor_to_major[d];
    }
    b.bytes = (from->elements * b.bits + 7) / 8;
    if (from->alias >= 0) { /* whoever runs it copies the operand, or passes its memory */
        b.alias = from->alias;
        b.init = BD_INIT_COPY;
        b.writes = part_is_partial(p, i) ? BD_SOME : BD_ONCE;
    }
    return b;
}

static Bundle *bundle_of(WbbArena *a, const PipeResult *r, const PipeOptions *o, const char *text, size_t n)
{
    const PartPlan *p = &r->plan;
    Bundle *b = WBB_NEW(a, Bundle);
    const int count = (int)(p->n_operands + p->n_outputs);
    BdBuffer *buffers = WBB_NEW_N(a, BdBuffer, count + 1);
    int *args = WBB_NEW_N(a, int, count + 1);
    for (int i = 0; i < count; i++) {
        buffers[i] = describe(p, (uint32_t)i, o->align ? o->align : 16);
        args[i] = i;
    }
    *b = (Bundle){.version = BD_VERSION, .compiler = "warpburg " WBB_VERSION, .target = r->target->name, .n_buffers = count,
                  .buffers = buffers, .ptx = r->ptx, .hlo = text, .cubin = r->cubin.bytes, .cubin_bytes = r->cubin.n};
    b->hash = wbb_format(a, "%016llx", (unsigned long long)wbb_hash(text, n, wbb_hash(r->ptx, strlen(r->ptx), 0)));
    if (p->grid) { /* a launch with no threads is left out */
        b->launches = WBB_NEW(a, BdLaunch);
        b->n_launches = 1;
        b->launches[0] = (BdLaunch){.entry = r->kernel->name, .grid = {p->grid, 1, 1}, .block = {p->block, 1, 1}, .cluster = {1, 1, 1},
                                    .n_args = count, .args = args};
    }
    return b;
}

static const char *stage_text(WbbCx *cx, WbbArena *a, const PipeResult *r, PipeStage stage, const char *ir, const LlOutput *out)
{
    WbbBuf b = wbb_buf(a);
    switch (stage) {
    case PIPE_AT_HLO: hlo_print(&b, r->module); break;
    case PIPE_AT_MAPS: ix_print_maps(&b, r->rw, a, r->fusion.body, NULL); break;
    case PIPE_AT_PLAN: part_print(&b, &r->plan); break;
    case PIPE_AT_IR: return ir;
    case PIPE_AT_LLVM: return out->llvm_after;
    case PIPE_AT_JSON: return bd_json(cx, a, r->bundle);
    default: return out->ptx_commented ? out->ptx_commented : r->ptx;
    }
    return b.text;
}

/* The HLO instructions that nodes come from, by IrGraph.origin - 1. */
static LlOrigin *origins_of(WbbArena *a, const HloComputation *c)
{
    LlOrigin *out = WBB_NEW_N(a, LlOrigin, c->n_instructions + 1);
    for (uint32_t i = 0; i < c->n_instructions; i++) {
        const HloInstruction *x = c->instructions[i];
        out[i] = (LlOrigin){.name = x->name, .line = (uint32_t)x->loc.line, .column = (uint32_t)x->loc.col};
    }
    return out;
}

/* emit .. isel, with the IR printed after each pass that is asked for. */
static void rewrite_passes(WbbCx *cx, WbbArena *a, const PipeOptions *o, PipeResult *r, double *since)
{
    WbbBuf printed = wbb_buf(a);
    const bool all = o->print_after && !strcmp(o->print_after, "all");
    if (all || (o->print_after && !strcmp(o->print_after, "emit"))) print_ir(&printed, "emit", r->kernel);
    ir_verify(r->kernel);
    for (const char *const *pass = pipe_passes; *pass; pass++) {
        pipe_pass(r->rw, r->kernel, r->target, *pass, &r->accesses);
        ir_verify(r->kernel);
        if (o->check_thread_map && !strcmp(*pass, "width")) r->thread_map_fault = pipe_thread_map(cx, a, r->kernel, &r->plan, &r->stored_elements);
        if (all || (o->print_after && !strcmp(o->print_after, *pass))) print_ir(&printed, *pass, r->kernel);
    }
    r->printed = printed.text;
    lap(r, PIPE_REWRITE, since);
}

/* Values that are read at several indices are computed at each of them, in functions that call functions. */
static void warn_of_work(WbbCx *cx, const char *file, PipeResult *r)
{
    enum { TOO_MUCH = 100000000 }; /* a second of a thread */
    if (r->kernel->n_functions) r->work = pipe_work(cx, r->kernel);
    if (r->work < TOO_MUCH) return;
    const WbbLoc loc = r->fusion.body->root->loc;
    wbb_note(cx, (WbbLoc){file, loc.line, loc.col},
             "a thread may have to evaluate %.1g operations: values are read at several indices, and so are those that they are made of, in %u functions; "
             "as several fusions, each of them would be computed once", r->work, r->kernel->n_functions);
}

void pipe_compile(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n, PipeResult *r)
{
    *r = (PipeResult){.emitted = "", .printed = "", .ptx = ""};
    double since = wbb_cpu_ms();
    r->target = tg_find(o->target);
    if (!r->target) wbb_fail(cx, (WbbLoc){0}, "--target %s: no such target; patterns/ has one file for each", o->target);
    r->module = hlo_parse(cx, a, file, text, n);
    lap(r, PIPE_HLO, &since);
    if (o->stage == PIPE_AT_HLO) {
        r->emitted = stage_text(cx, a, r, o->stage, NULL, NULL);
        return;
    }
    r->normal = hlo_normalise(cx, a, r->module);
    r->fusion = hlo_fusion(cx, r->normal);
    IrGraph *g = ir_graph_new(cx, a);
    r->rw = rw_new(cx, a, g, &ix_tables, r->target->tables, o->approx);
    for (uint32_t i = 0; i < o->n_disable; i++) rw_disable(r->rw, o->disable[i]);
    rw_watch(r->rw, o->watch, o->watch_arg);
    if (o->stage == PIPE_AT_MAPS) {
        r->emitted = stage_text(cx, a, r, o->stage, NULL, NULL);
        return;
    }
    r->plan = part_plan(cx, a, &r->fusion, r->target, (PartOptions){.align = o->align});
    lap(r, PIPE_PARTITION, &since);
    if (o->stage == PIPE_AT_PLAN) {
        r->emitted = stage_text(cx, a, r, o->stage, NULL, NULL);
        return;
    }
    r->kernel = emit_kernel(cx, a, r->rw, &r->plan);
    WbbBuf ir = wbb_buf(a);
    if (o->stage == PIPE_AT_IR) ir_print(&ir, r->kernel);
    lap(r, PIPE_EMIT, &since);
    rewrite_passes(cx, a, o, r, &since);
    warn_of_work(cx, file, r);
    if (o->stage == PIPE_AT_IR || o->rules_only) {
        r->emitted = ir.text;
        return;
    }
    const LlOptions ll = {.cache = o->cache, .index_tables = &ix_tables, .lines = o->lines, .comments = o->comments, .keep_llvm = o->stage == PIPE_AT_LLVM,
                         .origins = o->lines || o->comments ? origins_of(a, r->fusion.body) : NULL, .n_origins = r->fusion.body->n_instructions, .hlo_file = file};
    const LlOutput out = ll_compile(cx, a, r->kernel, r->target, &ll);
    r->ptx = out.ptx;
    r->libdevice = out.libdevice;
    r->n_libdevice = out.n_libdevice;
    r->ms[PIPE_LINK] = out.ms_link;
    r->ms[PIPE_OPTIMISE] = out.ms_optimise;
    r->ms[PIPE_CODEGEN] = out.ms_codegen;
    lap(r, PIPE_BUILD, &since);
    r->ms[PIPE_BUILD] -= out.ms_link + out.ms_optimise + out.ms_codegen;
    if (o->assemble || o->stage == PIPE_AT_CUBIN) {
        const double start = wbb_now_ms();
        r->cubin = tg_assemble(cx, a, r->target, r->ptx, r->kernel->name);
        r->ms[PIPE_TARGET] = wbb_now_ms() - start;
        since = wbb_cpu_ms();
    }
    r->bundle = bundle_of(a, r, o, text, n);
    r->emitted = stage_text(cx, a, r, o->stage, ir.text, &out);
    lap(r, PIPE_BUNDLE, &since);
}

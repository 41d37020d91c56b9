/* compile.c: HLO text to a bundle: the passes, called in their order.
 *
 *     parse, normalise, plan, emit, simplify, lower, vectorize, width, isel, llvm, assemble, bundle
 *
 * Needs the text of one fusion; leaves PTX, machine code if it is asked for, and the bundle. passes.c says what each
 * pass needs and leaves, and why it follows the one before it; pipe_begin_pass checks that here, as the calls are made.
 *
 *     gelu.hlo  ->  @gelu, grid 12288, block 128  ->  .visible .entry gelu( .. )
 */
#include "pipe/pipe.h"

#include "index/index.h"
#include "llvm/llvm.h"

#include <string.h>

const char *const pipe_step_name[PIPE_STEPS] = {"hlo",  "partition", "emit",    "rewrite", "build",
                                                "link", "optimise",  "codegen", "bundle",  "target"};
const char *const pipe_stage_name[PIPE_STAGES] = {"hlo", "maps", "plan", "ir", "llvm", "ptx", "cubin", "json"};

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const PipeOptions *o;
    const char *file, *text; /* HLO */
    size_t n;
    PipeResult *r;
    uint32_t forms; /* what the passes so far have left, see passes.c */
    double since;   /* start of the step that is timed, ms */
} Compile;

static void begin(Compile *c, const char *pass) { c->forms = pipe_begin_pass(pass, c->forms); }

/* Add the time since the last call to a step. */
static void lap(Compile *c, PipeStep step)
{
    const double now = wbb_cpu_ms();
    c->r->ms[step] += now - c->since;
    c->since = now;
}

static void print_ir(WbbBuf *b, const char *pass, const IrKernel *k)
{
    wbb_putf(b, "// after %s\n", pass);
    ir_print(b, k);
}

static BdBuffer describe(WbbArena *a, const PartPlan *p, uint32_t i, uint32_t align)
{
    const PartBuffer *from = &p->buffers[i];
    const HloShape *s = from->shape;
    const int number = (int)(from->output ? i - p->n_operands : i);
    BdBuffer b = {.role = from->output ? BD_OUT : BD_IN, .arg = number, .type = sc_type_info[s->type].hlo,
                  .rank = s->rank, .bits = sc_type_info[s->type].bits, .align = (int)align,
                  .init = BD_INIT_NONE, .copy_of = -1, .writes = BD_ONCE};
    for (int d = 0; d < s->rank; d++) {
        b.dims[d] = s->dims[d];
        b.minor_to_major[d] = s->minor_to_major[d];
    }
    b.bytes = (from->elements * b.bits + 7) / 8;
    if (from->alias >= 0) { /* the runner copies the operand into the buffer, or passes the operand's memory */
        int *operand = WBB_NEW(a, int);
        *operand = b.copy_of = from->alias;
        b.init = BD_INIT_COPY;
        b.may_alias = operand;
        b.n_may_alias = 1;
        b.writes = part_is_partial(p, i) ? BD_SOME : BD_ONCE;
    }
    return b;
}

/* How one thread combines the terms of each reduction of the fusion: emit/reduce.c. Sums of integers have one result in
 * every order, and what products of complex elements round to is the rules' business. */
static void document_order(WbbArena *a, const PartPlan *p, Bundle *b)
{
    const HloComputation *body = p->fusion->body;
    const HloInstruction *shared = p->kernels[0].n_ranges ? p->kernels[0].ranges[0].stages[0].reduce : NULL;
    const char **texts = WBB_NEW_N(a, const char *, body->n_instructions + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (i == shared) continue; /* its layout says it, in no text yet */
        if (i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW)
            texts[b->n_order++] = wbb_format(a, "%s: serial", i->name);
        if (i->opcode != HLO_DOT && i->opcode != HLO_CONVOLUTION) continue;
        const ScType types[3] = {i->shape->type, i->operands[0]->shape->type, i->operands[1]->shape->type};
        bool floats = true, wide = false;
        for (int t = 0; t < 3; t++) floats = floats && sc_is_float(types[t]), wide = wide || types[t] == SC_F64;
        if (floats) texts[b->n_order++] = wbb_format(a, "%s: serial fma %s", i->name, wide ? "f64" : "f32");
    }
    b->order = texts;
}

/* A temporary of the kernel. */
static BdBuffer describe_temporary(const IrBuffer *from)
{
    return (BdBuffer){.role = BD_TEMP, .bytes = from->elements * sc_bytes(from->type), .align = (int)from->align,
                      .init = from->zeroed ? BD_INIT_TICKET : BD_INIT_NONE, .copy_of = -1};
}

static Bundle *bundle_of(WbbArena *a, const PipeResult *r, const PipeOptions *o, const char *text, size_t n)
{
    const PartPlan *p = &r->plan;
    Bundle *b = WBB_NEW(a, Bundle);
    const int described = (int)(p->n_operands + p->n_outputs);
    int count = described;
    while (count < (int)r->kernel->n_buffers && r->kernel->buffers[count].space == IR_TEMP) count++;
    BdBuffer *buffers = WBB_NEW_N(a, BdBuffer, count + 1);
    int *args = WBB_NEW_N(a, int, count + 1);
    for (int i = 0; i < count; i++) {
        buffers[i] = i < described ? describe(a, p, (uint32_t)i, o->align ? o->align : 16)
                                   : describe_temporary(&r->kernel->buffers[i]);
        args[i] = i;
    }
    *b = (Bundle){.compiler = "warpburg " WBB_VERSION, .target = r->target->name,
                  .n_buffers = count, .buffers = buffers, .ptx = r->ptx, .hlo = text, .cubin = r->cubin.bytes,
                  .cubin_bytes = r->cubin.n};
    b->hash = wbb_format(a, "%016llx", (unsigned long long)wbb_hash(text, n, wbb_hash(r->ptx, strlen(r->ptx), 0)));
    const PartKernel *kernel = &p->kernels[0];
    if (kernel->grid) { /* there is no launch without threads */
        b->launches = WBB_NEW(a, BdLaunch);
        b->n_launches = 1;
        b->launches[0] = (BdLaunch){.entry = r->kernel->name, .grid = {kernel->grid, 1, 1},
                                    .block = {kernel->block, 1, 1},
                                    .cluster = {1, 1, 1}, .n_args = count, .args = args};
    }
    document_order(a, p, b);
    return b;
}

static const char *stage_text(WbbArena *a, const PipeResult *r, PipeStage stage, const char *ir, const LlOutput *out)
{
    WbbBuf b = wbb_buf(a);
    switch (stage) {
    case PIPE_AT_HLO: hlo_print(&b, r->module); break;
    case PIPE_AT_MAPS: ix_print_maps(&b, r->rw, a, r->fusion.body, NULL); break;
    case PIPE_AT_PLAN: part_print(&b, &r->plan); break;
    case PIPE_AT_IR: return ir;
    case PIPE_AT_LLVM: return out->llvm_after;
    case PIPE_AT_JSON: return bd_kernel_json(a, r->bundle);
    default: return out->ptx_commented ? out->ptx_commented : r->ptx;
    }
    return b.text;
}

/* The HLO instructions of the fusion, by IrGraph.origin - 1. */
static LlOrigin *origins_of(WbbArena *a, const HloComputation *c)
{
    LlOrigin *out = WBB_NEW_N(a, LlOrigin, c->n_instructions + 1);
    for (uint32_t i = 0; i < c->n_instructions; i++) {
        const HloInstruction *x = c->instructions[i];
        out[i] = (LlOrigin){.name = x->name, .line = (uint32_t)x->loc.line, .column = (uint32_t)x->loc.col};
    }
    return out;
}

static bool prints_after(const PipeOptions *o, const char *pass)
{
    return o->print_after && (!strcmp(o->print_after, "all") || !strcmp(o->print_after, pass));
}

/* simplify .. isel; prints the IR after the passes that --print-after names. */
static void ir_passes(Compile *c)
{
    PipeResult *r = c->r;
    WbbBuf printed = wbb_buf(c->arena);
    if (prints_after(c->o, "emit")) print_ir(&printed, "emit", r->kernel);
    ir_verify(r->kernel);
    for (const char *const *pass = pipe_passes; *pass; pass++) {
        begin(c, *pass);
        pipe_pass(r->rw, r->kernel, r->target, *pass, &r->accesses);
        ir_verify(r->kernel);
        if (c->o->check_thread_map && !strcmp(*pass, "width"))
            r->thread_map_fault = pipe_thread_map(c->cx, c->arena, r->kernel, &r->plan, &r->stored_elements);
        if (prints_after(c->o, *pass)) print_ir(&printed, *pass, r->kernel);
    }
    r->printed = printed.text;
    lap(c, PIPE_REWRITE);
}

/* A value that is read at several indices is computed at each of them, by a function that may call functions. */
static void note_work(Compile *c)
{
    enum { TOO_MUCH = 100000000 }; /* operations; they take one thread about a second */
    PipeResult *r = c->r;
    if (r->kernel->n_functions) r->work = pipe_work(c->cx, r->kernel);
    if (r->work < TOO_MUCH) return;
    const WbbLoc loc = r->fusion.body->root->loc;
    wbb_note(c->cx, (WbbLoc){c->file, loc.line, loc.col},
             "a thread may have to evaluate %.1g operations: values that are read at several indices are computed at "
             "each of them, and so are their operands, in %u functions; in several fusions each is computed once",
             r->work, r->kernel->n_functions);
}

/* parse .. plan; true if the stage that is asked for is reached. */
static bool front(Compile *c)
{
    PipeResult *r = c->r;
    const PipeStage stage = c->o->stage;
    begin(c, "parse");
    r->module = hlo_parse(c->cx, c->arena, c->file, c->text, c->n);
    lap(c, PIPE_HLO);
    if (stage == PIPE_AT_HLO) return true;
    begin(c, "normalise");
    r->normal = hlo_normalise(c->cx, c->arena, r->module);
    r->fusion = hlo_fusion(c->cx, r->normal);
    r->rw = rw_new(c->cx, c->arena, ir_graph_new(c->cx, c->arena), &ix_tables, r->target->tables, c->o->approx);
    for (uint32_t i = 0; i < c->o->n_disable; i++) rw_disable(r->rw, c->o->disable[i]);
    rw_watch(r->rw, c->o->watch, c->o->watch_arg);
    if (stage == PIPE_AT_MAPS) return true;
    begin(c, "plan");
    const PartOptions options = {.align = c->o->align, .layout = c->o->layout};
    r->plan = part_plan(c->cx, c->arena, &r->fusion, r->target, options);
    lap(c, PIPE_PARTITION);
    return stage == PIPE_AT_PLAN;
}

static LlOutput to_ptx(Compile *c)
{
    PipeResult *r = c->r;
    const PipeOptions *o = c->o;
    const bool names = o->lines || o->comments;
    const LlOptions ll = {.cache = o->cache, .index_tables = &ix_tables, .lines = o->lines, .comments = o->comments,
                          .keep_llvm = o->stage == PIPE_AT_LLVM,
                          .origins = names ? origins_of(c->arena, r->fusion.body) : NULL,
                          .n_origins = r->fusion.body->n_instructions, .hlo_file = c->file};
    begin(c, "llvm");
    const LlOutput out = ll_compile(c->cx, c->arena, r->kernel, r->target, &ll);
    r->ptx = out.ptx;
    r->libdevice = out.libdevice;
    r->n_libdevice = out.n_libdevice;
    r->ms[PIPE_LINK] = out.ms_link;
    r->ms[PIPE_OPTIMISE] = out.ms_optimise;
    r->ms[PIPE_CODEGEN] = out.ms_codegen;
    lap(c, PIPE_BUILD);
    r->ms[PIPE_BUILD] -= out.ms_link + out.ms_optimise + out.ms_codegen;
    return out;
}

static void assemble(Compile *c)
{
    const double start = wbb_now_ms();
    begin(c, "assemble");
    c->r->cubin = tg_assemble(c->cx, c->arena, c->r->target, c->r->ptx, c->r->kernel->name);
    c->r->ms[PIPE_TARGET] = wbb_now_ms() - start;
    c->since = wbb_cpu_ms();
}

void pipe_compile(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n,
                  PipeResult *r)
{
    Compile c = {.cx = cx, .arena = a, .o = o, .file = file, .text = text, .n = n, .r = r, .since = wbb_cpu_ms()};
    assert(!pipe_check_passes(a));
    *r = (PipeResult){.emitted = "", .printed = "", .ptx = ""};
    r->target = tg_find(o->target);
    if (!r->target)
        wbb_fail(cx, (WbbLoc){0}, "--target %s: no such target; patterns/ has one file for each", o->target);
    if (front(&c)) {
        r->emitted = stage_text(a, r, o->stage, NULL, NULL);
        return;
    }
    begin(&c, "emit");
    r->kernel = emit_kernel(cx, a, r->rw, &r->plan, &r->plan.kernels[0]);
    WbbBuf ir = wbb_buf(a);
    if (o->stage == PIPE_AT_IR) ir_print(&ir, r->kernel);
    lap(&c, PIPE_EMIT);
    ir_passes(&c);
    note_work(&c);
    if (o->stage == PIPE_AT_IR || o->rules_only) {
        r->emitted = ir.text;
        return;
    }
    const LlOutput out = to_ptx(&c);
    if (o->assemble || o->stage == PIPE_AT_CUBIN) assemble(&c);
    begin(&c, "bundle");
    r->bundle = bundle_of(a, r, o, text, n);
    r->emitted = stage_text(a, r, o->stage, ir.text, &out);
    lap(&c, PIPE_BUNDLE);
}

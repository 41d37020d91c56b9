/* compile.c: HLO text to a bundle: the passes, called in their order.
 *
 *     parse, normalise, plan, order, emit, choices, simplify, lower, vectorize, branch, width, isel, accesses, llvm,
 *     assemble, bundle
 *
 * Needs the text of one fusion; leaves PTX, machine code if it is asked for, and the bundle. passes.c says what each
 * pass needs and leaves, and why it follows the one before it; pipe_begin_pass checks that here, as the calls are made.
 *
 *     gelu.hlo  ->  @gelu, grid 12288, block 128  ->  .visible .entry gelu( .. )
 */
#include "pipe/pipe.h"

#include "graph/graph.h"
#include "index/index.h"
#include "llvm/llvm.h"
#include "ptx/ptx.h"

#include <string.h>

const char *const pipe_step_name[PIPE_STEPS] = {"hlo",  "plan",     "emit",    "rewrite", "build",
                                                "link", "optimise", "codegen", "bundle",  "target"};
const char *const pipe_stage_name[PIPE_STAGES] = {"hlo", "maps", "graph", "plan", "ir", "llvm", "ptx", "cubin", "json"};

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

_Static_assert((int)BD_MAX_RANK == (int)HLO_RANK_LIMIT, "a bundle describes every array of a module");

static BdBuffer describe(WbbArena *a, const Plan *p, uint32_t i)
{
    const PlanBuffer *from = &p->buffers[i];
    const HloShape *s = from->shape;
    const int number = (int)(from->output ? i - p->n_operands : i);
    BdBuffer b = {.role = from->output ? BD_OUT : BD_IN, .arg = number, .type = sc_type_info[s->type].hlo,
                  .rank = s->rank, .bits = sc_type_info[s->type].bits, .align = (int)plan_align(p, s->type),
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
        b.writes = plan_is_partial(a, p, i) ? BD_SOME : BD_ONCE;
    }
    if (from->many) b.writes = BD_ATOMIC;
    return b;
}

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const HloComputation *of;
    GrGraph *graph;     /* of that; NULL: nobody has asked for it */
    WbbMap names;       /* of instructions; the order of the one that was met first, NULL: two kernels differ in it */
} Orders;

/* Adds the order of an instruction. What two kernels compute in different orders has none. */
static void document(Orders *o, const char *name, const char *text)
{
    const uint32_t known = o->names.n;
    WbbEntry *e = wbb_map_put_bytes(&o->names, name, strlen(name));
    if (o->names.n > known) e->pointer = (void *)text;
    else if (e->pointer && strcmp(e->pointer, text) != 0) e->pointer = NULL;
}

/* What one thread takes the terms of, one after the other (emit/reduce.c). Sums of integers have one result in every
 * order, and what products of complex elements round to is the rules' business. */
static void document_serial(const Plan *p, const HloInstruction *i, Orders *o)
{
    const bool products = hlo_has(i->opcode, HLO_PRODUCTS), reduces = hlo_kind(i->opcode) == HLO_IS_FOLD && !products;
    const ScType type = reduces ? plan_float_sum(i) : SC_NONE;
    if (type != SC_NONE) document(o, i->name, wbb_format(o->a, "%s: serial in %s", i->name, sc_type_info[type].hlo));
    else if (reduces) document(o, i->name, wbb_format(o->a, "%s: serial", i->name));
    if (i->opcode == HLO_SCATTER && p->deterministic &&
        gr_needs_order(o->cx, o->a, p->fusion->body, i, &o->graph))
        document(o, i->name, wbb_format(o->a, "%s: serial", i->name));
    if (!products) return;
    const ScType types[3] = {i->shape->type, i->operands[0]->shape->type, i->operands[1]->shape->type};
    bool floats = true, wide = false;
    for (int t = 0; t < 3; t++) floats = floats && sc_is_float(types[t]), wide = wide || types[t] == SC_F64;
    if (floats) document(o, i->name, wbb_format(o->a, "%s: serial fma %s", i->name, wide ? "f64" : "f32"));
}

/* How a kernel's threads combine the terms of a reduction that they share (emit/order.c), and one thread those of any
 * other that the kernel needs, which may be one that another kernel's threads share. */
static void document_kernel(const Plan *p, const PlanKernel *kernel, Orders *o)
{
    const HloComputation *body = p->fusion->body;
    const PlanRange *shared = kernel->n_ranges && kernel->ranges[0].reduced ? kernel->ranges : NULL;
    for (uint32_t n = 0; shared && n < shared->n_stages; n++)
        for (uint32_t j = 0; j < shared->stages[n].n_reduces; j++) {
            const PlanStage *s = &shared->stages[n];
            const PlanReduce *r = &s->reduces[j];
            if (s->kind == PLAN_REDUCE) document(o, r->i->name, emit_order(o->a, s, r));
            if (s->kind == PLAN_PRODUCT && shared->product)
                document(o, r->i->name, plan_product_order(o->a, shared->product));
            for (uint32_t k = 0; k < 2 && shared->attention; k++) {
                const HloInstruction *i = plan_attention_product(shared->attention, k);
                document(o, i->name, wbb_format(o->a, "%s: mma f32", i->name));
            }
            if (s->kind == PLAN_SCAN) document(o, r->i->name, emit_scan_order(o->a, s, r));
        }
    const HloInstruction *row;
    const char *text;
    for (uint32_t n = 0; shared && (row = emit_row_order(o->a, shared, n, &text)); n++)
        if (text) document(o, row->name, text);
    const bool *needed = plan_needed(o->a, p, kernel);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (shared && shared->reduced[k]) continue;
        if (needed[k] || i->opcode == HLO_SCATTER) document_serial(p, i, o);
    }
}

static const HloInstruction *named(const HloComputation *body, const char *name)
{
    for (uint32_t k = 0; k < body->n_instructions; k++)
        if (strcmp(body->instructions[k]->name, name) == 0) return body->instructions[k];
    return NULL;
}

static const HloInstruction *user_of(const HloComputation *body, const HloInstruction *i)
{
    for (uint32_t k = i->id + 1; k < body->n_instructions; k++)
        for (uint32_t n = 0; n < body->instructions[k]->n_operands; n++)
            if (body->instructions[k]->operands[n] == i) return body->instructions[k];
    return NULL;
}

/* The layout of the stage of that kind which has the reduction; NULL: there is none. */
static const Layout *layout_of(const Plan *p, PlanKind kind, const char *name)
{
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const PlanRange *shared = p->kernels[k].ranges;
        if (!p->kernels[k].n_ranges || !shared->reduced) continue;
        for (uint32_t n = 0; n < shared->n_stages; n++)
            for (uint32_t j = 0; j < shared->stages[n].n_reduces && shared->stages[n].kind == kind; j++)
                if (!strcmp(shared->stages[n].reduces[j].i->name, name)) return &shared->stages[n].layout;
    }
    return NULL;
}

/* Sums over rows in parts (an option of patterns/arrays.py) have the name of the sum that they are in the text. */
static void document_across(const Plan *p, const HloComputation *text, Orders *o)
{
    const HloComputation *body = p->fusion->body;
    for (uint32_t k = 0; k < body->n_instructions && plan_has_across(p); k++) {
        const HloInstruction *part = body->instructions[k];
        const Layout *rows = part->opcode == HLO_REDUCE ? layout_of(p, PLAN_ACROSS, part->name) : NULL;
        const HloInstruction *whole = rows ? user_of(body, part) : NULL;
        const Layout *parts = whole ? layout_of(p, PLAN_REDUCE, whole->name) : NULL;
        const HloInstruction *result = parts ? user_of(body, whole) : NULL;
        const HloInstruction *i = result ? named(text, result->name) : NULL;
        const char *order = i && i->opcode == HLO_REDUCE ? emit_order_across(o->a, i, rows, parts) : NULL;
        if (!order) continue;
        wbb_map_put_bytes(&o->names, whole->name, strlen(whole->name))->pointer = NULL;
        document(o, i->name, order);
    }
}

/* text: the fusion as it is judged, nothing in pieces. */
static void document_order(WbbCx *cx, WbbArena *a, const Plan *p, const HloComputation *text, Bundle *b)
{
    Orders o = {.cx = cx, .a = a, .names = {.arena = a}};
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const Plan *of = plan_of_kernel(p, &p->kernels[k]);
        if (of->fusion->body != o.of) o.of = of->fusion->body, o.graph = NULL;
        document_kernel(of, &p->kernels[k], &o);
    }
    document_across(p, text, &o);
    const char **texts = WBB_NEW_N(a, const char *, o.names.n + 1);
    for (uint32_t k = 0; k < o.names.n; k++)
        if (o.names.entries[k].pointer) texts[b->n_order++] = o.names.entries[k].pointer;
    b->order = texts;
}

/* Bytes of an array, in whole elements of memory. */
static int64_t memory_of(const PlanBuffer *b)
{
    return (b->elements * sc_type_info[b->shape->type].bits + 7) / 8;
}

/* A temporary of the kernel. */
static BdBuffer describe_temporary(const IrBuffer *from)
{
    return (BdBuffer){.role = BD_TEMP, .bytes = from->elements * sc_bytes(from->type), .align = (int)from->align,
                      .init = from->zeroed ? BD_INIT_TICKET : BD_INIT_NONE, .copy_of = -1};
}

/* Of the rules that are left out those about arrays: what the order names is what they leave. */
static void document_without(WbbArena *a, const PipeOptions *o, Bundle *b)
{
    const char **names = WBB_NEW_N(a, const char *, o->n_disable + 1);
    for (uint32_t k = 0; k < o->n_disable; k++) {
        bool found = false;
        for (uint32_t i = 0; i < ix_tables.n_rules && !found; i++) found = rw_rule_is(a, &ix_tables, i, o->disable[k]);
        if (found) names[b->n_without++] = o->disable[k];
    }
    b->without = names;
}

/* Buffers of the plan, then the temporaries of each kernel, of which its launch alone knows. */
static Bundle *bundle_of(WbbArena *a, const PipeResult *r, const PipeOptions *o, const char *text, size_t n)
{
    const Plan *p = &r->plan;
    Bundle *b = WBB_NEW(a, Bundle);
    const int described = (int)(p->n_operands + p->n_outputs);
    int count = described;
    for (uint32_t k = 0; k < r->n_kernels; k++) count += (int)r->kernels[k].ir->n_buffers;
    const int temps = (int)p->n_temps;
    BdBuffer *buffers = WBB_NEW_N(a, BdBuffer, count + temps + 1);
    for (int i = 0; i < described; i++) buffers[i] = describe(a, p, (uint32_t)i);
    for (int i = described; i < described + temps; i++)
        buffers[i] = (BdBuffer){.role = BD_TEMP, .bytes = memory_of(&p->buffers[i]),
                                .align = (int)WBB_MAX(p->align, 16u), /* sorts read words of them */
                                .init = p->buffers[i].zeroed ? BD_INIT_TICKET : BD_INIT_NONE, .copy_of = -1};
    *b = (Bundle){.compiler = "warpburg " WBB_VERSION, .target = r->target->name,
                  .n_buffers = described + temps, .buffers = buffers, .ptx = r->ptx, .hlo = text,
                  .cubin = r->cubin.bytes, .cubin_bytes = r->cubin.n};
    b->deterministic = o->deterministic;
    document_without(a, o, b);
    const uint32_t permits = hlo_permits_anywhere(r->module);
    b->assume = permits ? hlo_permits_text(a, permits) : NULL;
    b->accuracy = o->accuracy == SC_EXACT ? NULL : sc_accuracy_name[o->accuracy];
    b->hash = wbb_format(a, "%016llx", (unsigned long long)wbb_hash(text, n, wbb_hash(r->ptx, strlen(r->ptx), 0)));
    b->launches = WBB_NEW_N(a, BdLaunch, r->n_kernels + 1);
    for (uint32_t k = 0; k < r->n_kernels; k++) {
        const IrKernel *kernel = r->kernels[k].ir;
        const PlanKernel *planned = &p->kernels[k];
        const Plan *of = plan_of_kernel(p, planned);
        const uint32_t known = of->n_operands + of->n_outputs + of->n_temps;
        int *args = WBB_NEW_N(a, int, kernel->n_buffers + 1), n_args = (int)known;
        for (uint32_t i = 0; i < known; i++) args[i] = (int)(planned->of ? planned->memory[i] : i);
        for (uint32_t i = known; i < kernel->n_buffers && kernel->buffers[i].space == IR_TEMP; i++) {
            buffers[b->n_buffers] = describe_temporary(&kernel->buffers[i]);
            args[n_args++] = b->n_buffers++;
        }
        if (!kernel->grid) continue; /* there is no launch without threads */
        b->launches[b->n_launches++] =
            (BdLaunch){.entry = kernel->name, .grid = {kernel->grid, 1, 1}, .block = {kernel->block, 1, 1},
                       .cluster = {WBB_MAX(kernel->cluster, 1u), 1, 1}, .shared = ir_dynamic_shared(kernel),
                       .n_args = n_args, .args = args};
    }
    document_order(rw_graph(r->rw)->cx, a, p, r->whole.body, b);
    return b;
}

static const char *stage_text(WbbArena *a, const PipeResult *r, PipeStage stage, const char *ir, const LlOutput *out)
{
    WbbBuf b = wbb_buf(a);
    switch (stage) {
    case PIPE_AT_HLO: hlo_print(&b, r->module); break;
    case PIPE_AT_MAPS: ix_print_maps(&b, r->rw, a, r->fusion.body, NULL); break;
    case PIPE_AT_GRAPH: gr_print(&b, gr_make(rw_graph(r->rw)->cx, a, r->fusion.body)); break;
    case PIPE_AT_PLAN:
        plan_print(&b, &r->plan);
        wbb_put(&b, "choices\n");
        plan_print_given(&b, &r->plan, r->texts, r->n_texts, 2);
        break;
    case PIPE_AT_IR: return ir;
    case PIPE_AT_LLVM: return out->llvm_after;
    case PIPE_AT_JSON: return bd_kernel_json(a, r->bundle);
    default: return out->ptx_commented ? out->ptx_commented : r->ptx;
    }
    return b.text;
}

/* The HLO instructions of the fusion, by IrGraph.origin - 1. */
static IrOrigin *origins_of(WbbArena *a, const HloComputation *c)
{
    IrOrigin *out = WBB_NEW_N(a, IrOrigin, c->n_instructions + 1);
    for (uint32_t i = 0; i < c->n_instructions; i++) {
        const HloInstruction *x = c->instructions[i];
        out[i] = (IrOrigin){.name = x->name, .line = (uint32_t)x->loc.line, .column = (uint32_t)x->loc.col};
    }
    return out;
}

static bool prints_after(const PipeOptions *o, const char *pass)
{
    return o->print_after && (!strcmp(o->print_after, "all") || !strcmp(o->print_after, pass));
}

/* What kernel number n stores, after `width`. */
static void check_stores(Compile *c, uint32_t n)
{
    PipeResult *r = c->r;
    const PlanKernel *of = &r->plan.kernels[n];
    int64_t stored = 0;
    const bool scatters = plan_of_kernel(&r->plan, of)->scattered;
    r->scatters = r->scatters || scatters;
    if (r->thread_map_fault || scatters) return;
    r->thread_map_fault =
        pipe_thread_map(c->cx, c->arena, r->kernels[n].ir, plan_of_kernel(&r->plan, of), of, &stored);
    r->stored_elements += stored;
}

/* simplify .. isel of kernel number n; prints the IR after the passes that --print-after names. */
static void ir_passes(Compile *c, uint32_t n, WbbBuf *printed)
{
    PipeResult *r = c->r;
    PipeKernel *k = &r->kernels[n];
    if (prints_after(c->o, "emit")) print_ir(printed, "emit", k->ir);
    ir_verify(k->ir);
    for (const char *const *pass = pipe_passes; *pass; pass++) {
        begin(c, *pass);
        pipe_pass(k->rw, k->ir, r->target, *pass, &k->accesses, &k->branch);
        ir_verify(k->ir);
        if (c->o->check_thread_map && !strcmp(*pass, "width")) check_stores(c, n);
        if (prints_after(c->o, *pass)) print_ir(printed, *pass, k->ir);
    }
    lap(c, PIPE_REWRITE);
}

static void note(Compile *c, WbbLoc loc, const char *text)
{
    PipeResult *r = c->r;
    const PipeNote said = {{c->file, loc.line, loc.col}, text};
    assert(r->n_notes < WBB_LEN(r->notes));
    wbb_note(c->cx, said.loc, "%s", text);
    r->notes[r->n_notes++] = said;
}

/* A value that is read at several indices is computed at each of them, by a function that may call functions. */
static void note_work(Compile *c)
{
    PipeResult *r = c->r;
    uint32_t functions = 0;
    for (uint32_t k = 0; k < r->n_kernels; k++) {
        const IrKernel *kernel = r->kernels[k].ir;
        if (kernel->n_functions) r->work += pipe_work(c->cx, kernel);
        functions += kernel->n_functions;
    }
    if (r->work < (double)tg_tuned(r->target, "work.noted")) return;
    note(c, r->fusion.body->root->loc,
         wbb_format(c->arena,
                    "a thread may have to evaluate %.1g operations: values that are read at several indices are "
                    "computed at each of them, and so are their operands, in %u functions; in several fusions each is "
                    "computed once",
                    r->work, functions));
}

/* Values that kernels compute, and bytes that they ask for, far more often than once. */
static void note_again(Compile *c)
{
    PipeResult *r = c->r;
    const HloInstruction *at;
    r->again = plan_again(c->arena, &r->plan, r->target, &at);
    if (r->again) note(c, at->loc, r->again);
    const char *apart = plan_apart(c->arena, &r->plan, r->target, &at);
    if (!apart) return;
    note(c, at->loc, apart);
    r->again = r->again ? wbb_format(c->arena, "%s; %s", r->again, apart) : apart;
}

void pipe_disable(RwCx *rw, const TgTarget *t, const char *const *places, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!tg_is_choice(t, places[i])) rw_disable(rw, places[i]);
}

RwCx *pipe_engine(WbbCx *cx, WbbArena *a, const TgTarget *t, ScAccuracy accuracy, const char *const *places,
                  uint32_t n)
{
    RwCx *rw = rw_new(cx, a, ir_graph_new(cx, a), &ix_tables, t->tables, accuracy);
    pipe_disable(rw, t, places, n);
    return rw;
}

static RwCx *new_engine(const Compile *c)
{
    const PipeOptions *o = c->o;
    RwCx *rw = pipe_engine(c->cx, c->arena, c->r->target, o->accuracy, o->disable, o->n_disable);
    if (pipe_backend(o->backend) == PIPE_BY_PTX) rw_no_llvm(rw);
    rw_watch(rw, o->watch, o->watch_arg);
    if (o->watch_steps) rw_watch_steps(rw);
    return rw;
}

static const PlanGivenPlan *plan_given(Compile *c)
{
    if (!c->o->plan.text) return NULL;
    if (c->o->layout) wbb_fail(c->cx, (WbbLoc){0}, "a layout beside a plan: a plan has the layouts of its kernels");
    return plan_read_given(c->cx, c->arena, c->r->target, &c->o->plan);
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
    hlo_decline_features(c->cx, r->module);
    begin(c, "normalise");
    r->normal = gr_of_kernel(c->cx, c->arena, r->module);
    if (c->o->deterministic) r->normal = gr_run_pass(c->cx, c->arena, r->normal, "ordered");
    r->rw = new_engine(c);
    r->normal = gr_arrays(c->cx, c->arena, r->normal, r->rw);
    r->fusion = r->whole = hlo_fusion(c->cx, r->normal);
    if (stage == PIPE_AT_MAPS || stage == PIPE_AT_GRAPH) return true;
    begin(c, "plan");
    const PlanOptions options = {.align = c->o->align, .layout = c->o->layout,
                                 .flush = c->o->accuracy != SC_EXACT,
                                 .deterministic = c->o->deterministic};
    const PlanOfText planned = plan_texts(c->cx, c->arena, r->normal, r->target, &options, plan_given(c), r->rw);
    r->plan = planned.plan, r->fusion = *r->plan.fusion, r->normal = r->fusion.body->module;
    r->texts = planned.tried, r->n_texts = planned.n_tried;
    lap(c, PIPE_PLAN);
    return stage == PIPE_AT_PLAN && !c->o->makes;
}

/* Whether a line of PTX says nothing. */
static bool is_remark(const char *line)
{
    line += strspn(line, " \t");
    return *line == '\n' || (line[0] == '/' && line[1] == '/');
}

/* Whether a line of PTX ends in a semicolon, but for a comment. */
static bool ends_item(const char *line)
{
    size_t n = strcspn(line, "\n");
    for (size_t k = 0; k + 1 < n; k++)
        if (line[k] == '/' && line[k + 1] == '/') n = k;
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    return n && line[n - 1] == ';';
}

/* Definitions of a module that follow the entry's own in `all`, or are new: what stands in it already is left out. */
static const char *joined(WbbArena *a, const char *all, const char *module)
{
    const char *head = ".address_size 64\n", *at = strstr(module, head);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, all);
    for (at = at ? at + strlen(head) : module; *at;) { /* an item ends with a semicolon, or a brace of its own line */
        if (is_remark(at) && strchr(at, '\n')) {
            const size_t n = strcspn(at, "\n") + 1;
            wbb_put(&b, wbb_format(a, "%.*s", (int)n, at));
            at += n;
            continue;
        }
        const char *end = at, *line = at;
        bool body = false;
        do {
            line = end;
            end += strcspn(end, "\n");
            end += *end != 0;
            body = body || *line == '{';
        } while (*end && *line != '}' && (body || !ends_item(line)));
        const char *item = wbb_format(a, "%.*s", (int)(end - at), at);
        if (!strstr(all, item)) wbb_put(&b, item);
        at = end;
    }
    return b.text;
}

/* Adds the functions that a kernel links to those of the kernels before, each once. */
static void add_libdevice(Compile *c, const LlOutput *out)
{
    PipeResult *r = c->r;
    const char **all = WBB_NEW_N(c->arena, const char *, r->n_libdevice + out->n_libdevice + 1);
    for (uint32_t k = 0; k < r->n_libdevice; k++) all[k] = r->libdevice[k];
    for (uint32_t k = 0; k < out->n_libdevice; k++) {
        bool had = false;
        for (uint32_t i = 0; i < r->n_libdevice; i++) had = had || !strcmp(all[i], out->libdevice[k]);
        if (!had) all[r->n_libdevice++] = out->libdevice[k];
    }
    r->libdevice = all;
}

/* Adds the text of one more kernel. */
static void add_text(Compile *c, LlOutput *all, const LlOutput *out)
{
    PipeResult *r = c->r;
    r->ms[PIPE_LINK] += out->ms_link;
    r->ms[PIPE_OPTIMISE] += out->ms_optimise;
    r->ms[PIPE_CODEGEN] += out->ms_codegen;
    r->ms[PIPE_BUILD] -= out->ms_link + out->ms_optimise + out->ms_codegen;
    add_libdevice(c, out);
    if (!all->ptx) {
        *all = *out;
        return;
    }
    all->ptx = joined(c->arena, all->ptx, out->ptx);
    if (all->ptx_commented) all->ptx_commented = joined(c->arena, all->ptx_commented, out->ptx_commented);
    if (all->llvm_after) all->llvm_after = wbb_format(c->arena, "%s\n%s", all->llvm_after, out->llvm_after);
}

/* All kernels by one back end. False: the tables have no text for one of them, and LLVM is there. */
static bool write_all(Compile *c, bool by_ptx, LlOutput *all)
{
    const PipeResult *r = c->r;
    const PipeOptions *o = c->o;
    const bool names = o->lines || o->comments;
    LlOptions ll = {.cache = o->cache, .index_tables = &ix_tables, .lines = o->lines && r->n_kernels == 1,
                    .comments = o->comments, .keep_llvm = o->stage == PIPE_AT_LLVM, .hlo_file = c->file};
    *all = (LlOutput){0};
    for (uint32_t k = 0; k < r->n_kernels; k++) {
        const HloComputation *body = plan_of_kernel(&r->plan, &r->plan.kernels[k])->fusion->body;
        const IrKernel *kernel = r->kernels[k].ir;
        LlOutput out = {0};
        ll.kernel = k;
        ll.origins = names ? origins_of(c->arena, body) : NULL, ll.n_origins = body->n_instructions;
        if (!by_ptx) out = ll_compile(c->cx, c->arena, kernel, r->target, &ll);
        else {
            const PtxOptions p = {.index_tables = &ix_tables, .comments = o->comments, .lines = ll.lines,
                                  .hlo_file = c->file, .origins = ll.origins, .n_origins = ll.n_origins};
            PtxOutput w;
            if (!pipe_write_ptx(c->cx, c->arena, o->backend, kernel, r->target, &p, &w)) return false;
            out = (LlOutput){.ptx = w.ptx, .n_ptx = strlen(w.ptx), .ptx_commented = w.ptx_commented};
        }
        add_text(c, all, &out);
    }
    return true;
}

static LlOutput to_ptx(Compile *c)
{
    const PipeOptions *o = c->o;
    const bool only_llvm = o->stage == PIPE_AT_LLVM, by_ptx = pipe_by_ptx(o->backend, only_llvm);
    if (by_ptx && only_llvm) wbb_fail(c->cx, (WbbLoc){0}, "the tables of rules write PTX without LLVM IR");
    begin(c, "llvm");
    LlOutput all;
    if (!write_all(c, by_ptx, &all)) write_all(c, false, &all);
    c->r->ptx = all.ptx;
    lap(c, PIPE_BUILD);
    return all;
}

static void assemble(Compile *c)
{
    const double start = wbb_now_ms();
    begin(c, "assemble");
    c->r->cubin =
        pipe_cubin(c->cx, c->arena, c->o->store, c->r->target, c->r->ptx, c->r->kernel->name);
    c->r->ms[PIPE_TARGET] = wbb_now_ms() - start;
    c->since = wbb_cpu_ms();
}

/* The condition `few_warps`: few warps wait for results and for code, so that short chains are best, and code that is
 * fetched only where it is taken. Where threads share terms, many functions of a thread follow each other instead. */
static bool has_few_warps(const PlanKernel *k, const TgTarget *t)
{
    return k->n_ranges && !k->ranges[0].reduced && plan_has_few_warps(k, t, tg_tuned(t, "rules.few_warps"));
}

/* emit .. isel of each kernel, which has a graph and an engine of its own. */
static void compile_kernels(Compile *c, WbbBuf *ir)
{
    PipeResult *r = c->r;
    const uint32_t forms = c->forms;
    const uint32_t n = r->plan.n_kernels;
    WbbBuf printed = wbb_buf(c->arena);
    r->kernels = WBB_NEW_N(c->arena, PipeKernel, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        PipeKernel *x = &r->kernels[k];
        c->forms = forms;
        x->rw = k > 0 ? new_engine(c) : r->rw;
        if (has_few_warps(&r->plan.kernels[k], r->target)) rw_few_warps(x->rw);
        begin(c, "emit");
        x->ir = emit_kernel(c->cx, c->arena, x->rw, &r->plan, &r->plan.kernels[k]);
        pipe_check_touches(c->cx, &r->plan, &r->plan.kernels[k], x->ir);
        r->n_kernels++;
        if (k == 0) r->kernel = x->ir;
        if (c->o->stage == PIPE_AT_IR) ir_print(ir, x->ir);
        lap(c, PIPE_EMIT);
        ir_passes(c, k, &printed);
    }
    r->printed = printed.text;
}

void pipe_compile(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n,
                  PipeResult *r)
{
    Compile c = {.cx = cx, .arena = a, .o = o, .file = file, .text = text, .n = n, .r = r, .since = wbb_cpu_ms()};
    assert(!pipe_check_passes(a));
    *r = (PipeResult){.emitted = "", .printed = "", .ptx = ""};
    r->target = tg_without(cx, a, tg_named(cx, (WbbLoc){0}, o->target), o->disable, o->n_disable);
    if (o->align & (o->align - 1) || o->align > 4096)
        wbb_fail(cx, (WbbLoc){0}, "an alignment of %u bytes: a power of two, 4096 at most, expected", o->align);
    if (front(&c)) {
        r->emitted = stage_text(a, r, o->stage, NULL, NULL);
        return;
    }
    WbbBuf ir = wbb_buf(a);
    compile_kernels(&c, &ir);
    note_work(&c);
    note_again(&c);
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

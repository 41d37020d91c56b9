/* write: one kernel, or one library call, as the text of an HLO module.
 *
 * Needs: the members of a kernel. Leaves: HLO text that hlo_parse reads back, and that depends on the kernel alone:
 * values are named p0, p1, .. and v0, v1, .., computations f0, f1, ..; attributes that only debuggers and other
 * compilers read (metadata, backend_config, sharding) are omitted. So equal kernels have equal texts.
 *
 *     body { p0 = f32[8] parameter(0)  v0 = f32[8] negate(p0)  ROOT v1 = f32[8] exponential(v0) }
 *     ENTRY main { p0 = f32[8] parameter(0)  ROOT fusion = f32[8] fusion(p0), kind=kLoop, calls=body }
 */
#include "fuse/priced.h"

#include <string.h>


/* A text under construction, and where in the module each of its lines comes from. */
typedef struct {
    WbbBuf text;
    struct { WbbLoc *items; uint32_t n, capacity; } lines;
} Lines;

typedef struct {
    WbbArena *arena;
    Lines out, called;        /* the kernel's body; computations that it calls */
    const HloComputation **functions; /* [n_functions] computations written so far */
    HloComputation **stubs;           /* [n_functions] the same under their new names */
    uint32_t n_functions;
    struct { HloInstruction **items; uint32_t n, capacity; } parameters; /* of the kernel */
} Writer;

static HloComputation *write_function(Writer *w, const HloComputation *c);

static const char *const unneeded_in_kernels[] = {
    "metadata", "backend_config", "frontend_attributes", "sharding", "origin", "statistics", "original_value",
    "api_version", NULL};
static const char *const unneeded_in_calls[] = {"metadata",   "frontend_attributes", "sharding", "origin",
                                                "statistics", "original_value",      NULL};

/* A copy to print: with a new name, renamed operands, and calls of the renamed computations. `map`: by id of an
 * operand. */
static HloInstruction *renamed(Writer *w, const HloInstruction *i, const char *name, HloInstruction *const *map,
                               const char *const *unneeded)
{
    HloInstruction *copy = WBB_NEW(w->arena, HloInstruction);
    *copy = *i;
    copy->name = name;
    copy->n_predecessors = 0;
    copy->attributes =
        wbb_format(w->arena, "%s%s", hlo_attributes_without(w->arena, i, unneeded), hlo_notes(w->arena, i));
    HloInstruction **operands = WBB_NEW_N(w->arena, HloInstruction *, i->n_operands + 1);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = map[i->operands[k]->id];
    copy->operands = operands;
    HloComputation **called = WBB_NEW_N(w->arena, HloComputation *, i->n_called + 1);
    for (uint32_t k = 0; k < i->n_called; k++) called[k] = write_function(w, i->called[k]);
    copy->called = called;
    return copy;
}

/* Lines of a text that come from one place, or with .line 0 from nowhere. */
static void put_text(Lines *to, const char *text, WbbLoc from)
{
    wbb_put(&to->text, text);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++) WBB_PUSH(to->text.arena, &to->lines, from);
}

static void put_lines(Lines *to, const Lines *from)
{
    wbb_put(&to->text, from->text.text);
    for (uint32_t k = 0; k < from->lines.n; k++) WBB_PUSH(to->text.arena, &to->lines, from->lines.items[k]);
}

static void put_line(Lines *out, const HloInstruction *i, bool root)
{
    WbbBuf line = wbb_buf(out->text.arena);
    hlo_print_instruction(&line, i);
    put_text(out, wbb_format(out->text.arena, "%s%s\n", root ? "  ROOT " : "  ", line.text), i->loc);
}

/* All instructions of a computation, in order. */
static void put_all(Writer *w, Lines *out, const HloComputation *c)
{
    HloInstruction **map = WBB_NEW_N(w->arena, HloInstruction *, c->n_instructions + 1);
    uint32_t values = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        const char *name = i->opcode == HLO_PARAMETER ? wbb_format(w->arena, "p%lld", (long long)i->number)
                                                      : wbb_format(w->arena, "v%u", values++);
        map[k] = renamed(w, i, name, map, unneeded_in_kernels);
        put_line(out, map[k], i == c->root);
    }
}

/* Writes c after the computations that it calls. Recurses as deep as calls nest. */
static HloComputation *write_function(Writer *w, const HloComputation *c)
{
    for (uint32_t k = 0; k < w->n_functions; k++)
        if (w->functions[k] == c) return w->stubs[k];
    Lines text = {.text = wbb_buf(w->arena)};
    put_all(w, &text, c);
    HloComputation *stub = WBB_NEW(w->arena, HloComputation);
    *stub = *c;
    stub->name = wbb_format(w->arena, "f%u", w->n_functions);
    put_text(&w->called, wbb_format(w->arena, "%s {\n", stub->name), (WbbLoc){0});
    put_lines(&w->called, &text);
    put_text(&w->called, "}\n\n", (WbbLoc){0});
    w->functions[w->n_functions] = c;
    w->stubs[w->n_functions++] = stub;
    return stub;
}

/* Of the roots of a kernel with several: a tuple. */
static const HloShape *result_shape(WbbArena *a, const FuseGroup *g)
{
    const HloShape **elements = WBB_NEW_N(a, const HloShape *, g->n_roots);
    HloShape *s = WBB_NEW(a, HloShape);
    *s = (HloShape){.type = SC_TUPLE, .elements = elements, .n_elements = g->n_roots};
    for (uint32_t k = 0; k < g->n_roots; k++) {
        elements[k] = g->roots[k]->shape;
        s->n_leaves += elements[k]->n_leaves;
        if (s->depth <= elements[k]->depth) s->depth = (uint8_t)(elements[k]->depth + 1);
    }
    return s;
}

static HloInstruction *parameter(Writer *w, const HloShape *shape)
{
    HloInstruction *p = WBB_NEW(w->arena, HloInstruction);
    *p = (HloInstruction){.opcode = HLO_PARAMETER, .name = wbb_format(w->arena, "p%u", w->parameters.n), .shape = shape,
                          .number = w->parameters.n, .attributes = ""};
    WBB_PUSH(w->arena, &w->parameters, p);
    return p;
}

/* The members, and where there are several roots a tuple of them; the parameters before both. */
static void put_members(Writer *w, const FuseGroup *g, uint32_t n, const char *const *unneeded, FuseText *t)
{
    HloInstruction **map = WBB_NEW_N(w->arena, HloInstruction *, n + 1);
    Lines lines = {.text = wbb_buf(w->arena)};
    for (uint32_t k = 0; k < g->n_members; k++) {
        const HloInstruction *i = g->members[k];
        for (uint32_t j = 0; j < i->n_operands; j++) {
            const HloInstruction *x = i->operands[j];
            if (map[x->id]) continue;
            map[x->id] = parameter(w, x->shape);
            t->reads[t->n_reads++] = x;
        }
        map[i->id] = renamed(w, i, wbb_format(w->arena, "v%u", k), map, unneeded);
        put_line(&lines, map[i->id], g->n_roots == 1 && i == g->roots[0]);
    }
    for (uint32_t k = 0; k < w->parameters.n; k++) put_line(&w->out, w->parameters.items[k], false);
    put_lines(&w->out, &lines);
    if (g->n_roots == 1) return;
    HloInstruction **operands = WBB_NEW_N(w->arena, HloInstruction *, g->n_roots);
    const HloInstruction tuple = {.opcode = HLO_TUPLE, .name = wbb_format(w->arena, "v%u", g->n_members),
                                  .shape = result_shape(w->arena, g), .operands = operands, .n_operands = g->n_roots,
                                  .attributes = ""};
    for (uint32_t k = 0; k < g->n_roots; k++) operands[k] = map[g->roots[k]->id];
    put_line(&w->out, &tuple, true);
}

static const char *kind_of(const FuseGroup *g)
{
    for (uint32_t k = 0; k < g->n_members; k++)
        if (g->members[k]->opcode == HLO_REDUCE || g->members[k]->opcode == HLO_SCATTER) return "kInput";
    return "kLoop";
}

/* Capacity for every computation of the HLO module. */
static Writer begin(WbbArena *a, const HloModule *m)
{
    const uint32_t n = m->n_computations + 1;
    return (Writer){.arena = a,
                    .out = {.text = wbb_buf(a)},
                    .called = {.text = wbb_buf(a)},
                    .functions = WBB_NEW_N(a, const HloComputation *, n),
                    .stubs = WBB_NEW_N(a, HloComputation *, n)};
}

static void finish(const Lines *whole, FuseText *t)
{
    t->text = whole->text.text, t->lines = whole->lines.items, t->n_lines = whole->lines.n;
}

/* The header, and the computations that are called. */
static Lines begin_module(const Writer *w, const char *header)
{
    Lines all = {.text = wbb_buf(w->arena)};
    put_text(&all, wbb_format(w->arena, "HloModule part%s\n\n", header), (WbbLoc){0});
    put_lines(&all, &w->called);
    return all;
}

/* The HLO module around the body that was written. */
static void put_module(Writer *w, const HloShape *shape, const char *kind, const char *more, FuseText *t)
{
    const WbbLoc nowhere = {0};
    Lines all = begin_module(w, "");
    put_text(&all, "body {\n", nowhere);
    put_lines(&all, &w->out);
    put_text(&all, "}\n\nENTRY main {\n", nowhere);
    for (uint32_t k = 0; k < w->parameters.n; k++) put_line(&all, w->parameters.items[k], false);
    WbbBuf b = wbb_buf(w->arena);
    wbb_put(&b, "  ROOT fusion = ");
    hlo_print_shape(&b, shape);
    wbb_put(&b, " fusion(");
    for (uint32_t k = 0; k < w->parameters.n; k++) wbb_putf(&b, "%sp%u", k ? ", " : "", k);
    wbb_putf(&b, "), kind=%s, calls=body%s\n}\n", kind, more);
    put_text(&all, b.text, nowhere);
    finish(&all, t);
}

static uint32_t operands_of(const FuseGroup *g)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n_members; k++) n += g->members[k]->n_operands;
    return n;
}

FuseText fuse_write(WbbArena *a, const HloComputation *c, const FuseGroup *g)
{
    Writer w = begin(a, c->module);
    FuseText t = {.reads = WBB_NEW_N(a, const HloInstruction *, operands_of(g) + 1)};
    put_members(&w, g, c->n_instructions, unneeded_in_kernels, &t);
    put_module(&w, g->n_roots == 1 ? g->roots[0]->shape : result_shape(a, g), kind_of(g), "", &t);
    return t;
}

double fuse_seconds(WbbCx *cx, const HloComputation *c, const FuseHow *how, const FuseGroup *g)
{
    if (!how->seconds) return 0;
    WbbArena *scratch = wbb_arena_new(cx);
    const double s = g->library ? how->library(how->arg, fuse_write_library_group(scratch, c, g).text)
                                : how->seconds(how->arg, fuse_write(scratch, c, g).text);
    wbb_arena_free(scratch);
    return s;
}

FuseText fuse_write_fusion(WbbArena *a, const HloInstruction *i)
{
    static const char *const unneeded[] = {"metadata", "backend_config", "frontend_attributes", "sharding",
                                           "origin",   "statistics",     "original_value",      NULL};
    Writer w = begin(a, i->called[0]->module);
    FuseText t = {.reads = WBB_NEW_N(a, const HloInstruction *, i->n_operands + 1), .n_reads = i->n_operands};
    put_all(&w, &w.out, i->called[0]);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        parameter(&w, i->operands[k]->shape);
        t.reads[k] = i->operands[k];
    }
    put_module(&w, i->shape, i->kind ? i->kind : "kLoop", hlo_attributes_without(a, i, unneeded), &t);
    return t;
}

/* How many devices there are, on which the meaning of a collective depends. */
static const char *devices(WbbArena *a, const HloModule *m)
{
    const int64_t replicas = hlo_header_number(m, "replica_count", 1);
    const int64_t partitions = hlo_header_number(m, "num_partitions", 1);
    WbbBuf b = wbb_buf(a);
    if (replicas != 1) wbb_putf(&b, ", replica_count=%lld", (long long)replicas);
    if (partitions != 1) wbb_putf(&b, ", num_partitions=%lld", (long long)partitions);
    return b.text ? b.text : "";
}

FuseText fuse_write_library_group(WbbArena *a, const HloComputation *c, const FuseGroup *g)
{
    Writer w = begin(a, c->module);
    FuseText t = {.reads = WBB_NEW_N(a, const HloInstruction *, operands_of(g) + 1)};
    put_members(&w, g, c->n_instructions, unneeded_in_calls, &t);
    Lines all = begin_module(&w, devices(a, c->module));
    put_text(&all, "ENTRY main {\n", (WbbLoc){0});
    put_lines(&all, &w.out);
    put_text(&all, "}\n", (WbbLoc){0});
    finish(&all, &t);
    return t;
}

FuseText fuse_write_library(WbbArena *a, const HloComputation *c, const HloInstruction *i)
{
    return fuse_write_library_group(a, c, &(FuseGroup){.roots = &i, .members = &i, .n_roots = 1, .n_members = 1});
}

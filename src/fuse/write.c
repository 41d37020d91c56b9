/* write: one kernel as the text of an HLO module.
 *
 * Needs: the roles of decide.c. Leaves: HLO text that hlo_parse reads back, and that depends on the kernel alone:
 * values are named p0, p1, .. and v0, v1, .., computations f0, f1, ..; attributes that only debuggers and other
 * compilers read (metadata, backend_config, sharding) are omitted. So equal kernels have equal texts.
 *
 *     body { p0 = f32[8] parameter(0)  v0 = f32[8] negate(p0)  ROOT v1 = f32[8] exponential(v0) }
 *     ENTRY main { p0 = f32[8] parameter(0)  ROOT fusion = f32[8] fusion(p0), kind=kLoop, calls=body }
 */
#include "fuse/fuse.h"

#include <string.h>

enum { SMALL = 64 }; /* elements of a constant that is written into the kernel, at most */

typedef struct {
    WbbArena *arena;
    WbbBuf out, called;       /* the kernel's body; computations that it calls */
    const HloComputation **functions; /* [n_functions] computations written so far */
    HloComputation **stubs;           /* [n_functions] the same under their new names */
    uint32_t n_functions;
    struct { HloInstruction **items; uint32_t n, capacity; } parameters; /* of the kernel */
} Writer;

static HloComputation *write_function(Writer *w, const HloComputation *c);

/* A copy to print: with a new name, renamed operands, and calls of the renamed computations. */
static HloInstruction *renamed(Writer *w, const HloInstruction *i, const char *name, HloInstruction *const *map)
{
    static const char *const unneeded[] = {"metadata",   "backend_config", "frontend_attributes", "sharding", "origin",
                                           "statistics", "original_value", "api_version",         NULL};
    HloInstruction *copy = WBB_NEW(w->arena, HloInstruction);
    *copy = *i;
    copy->name = name;
    copy->n_predecessors = 0;
    copy->attributes = hlo_attributes_without(w->arena, i, unneeded);
    HloInstruction **operands = WBB_NEW_N(w->arena, HloInstruction *, i->n_operands + 1);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = map[i->operands[k]->id];
    copy->operands = operands;
    HloComputation **called = WBB_NEW_N(w->arena, HloComputation *, i->n_called + 1);
    for (uint32_t k = 0; k < i->n_called; k++) called[k] = write_function(w, i->called[k]);
    copy->called = called;
    return copy;
}

static void put_line(WbbBuf *out, const HloInstruction *i, bool root)
{
    wbb_put(out, root ? "  ROOT " : "  ");
    hlo_print_instruction(out, i);
    wbb_put(out, "\n");
}

/* All instructions of a computation, in order. */
static void put_all(Writer *w, WbbBuf *out, const HloComputation *c)
{
    HloInstruction **map = WBB_NEW_N(w->arena, HloInstruction *, c->n_instructions + 1);
    uint32_t values = 0;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        const char *name = i->opcode == HLO_PARAMETER ? wbb_format(w->arena, "p%lld", (long long)i->number)
                                                      : wbb_format(w->arena, "v%u", values++);
        map[k] = renamed(w, i, name, map);
        put_line(out, map[k], i == c->root);
    }
}

/* Writes c after the computations that it calls. Recurses as deep as calls nest. */
static HloComputation *write_function(Writer *w, const HloComputation *c)
{
    for (uint32_t k = 0; k < w->n_functions; k++)
        if (w->functions[k] == c) return w->stubs[k];
    WbbBuf text = wbb_buf(w->arena);
    put_all(w, &text, c);
    HloComputation *stub = WBB_NEW(w->arena, HloComputation);
    *stub = *c;
    stub->name = wbb_format(w->arena, "f%u", w->n_functions);
    wbb_putf(&w->called, "%s {\n%s}\n\n", stub->name, text.text);
    w->functions[w->n_functions] = c;
    w->stubs[w->n_functions++] = stub;
    return stub;
}

static bool is_small_constant(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && i->shape->type != SC_TUPLE && hlo_elements(i->shape) <= SMALL && i->literal;
}

/* Marks the instructions of the kernel of `root`: itself, and the inlined values and small constants that it reaches.
 * */
static bool *members_of(WbbArena *a, const HloComputation *c, const FuseRole *roles, const HloInstruction *root)
{
    bool *member = WBB_NEW_N(a, bool, c->n_instructions + 1);
    struct { const HloInstruction **items; uint32_t n, capacity; } open = {0};
    member[root->id] = true;
    WBB_PUSH(a, &open, root);
    while (open.n) {
        const HloInstruction *i = open.items[--open.n];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = i->operands[k];
            if (member[x->id] || (roles[x->id] != FUSE_INLINE && !is_small_constant(x))) continue;
            member[x->id] = true;
            WBB_PUSH(a, &open, x);
        }
    }
    return member;
}

static HloInstruction *parameter(Writer *w, const HloShape *shape)
{
    HloInstruction *p = WBB_NEW(w->arena, HloInstruction);
    *p = (HloInstruction){.opcode = HLO_PARAMETER, .name = wbb_format(w->arena, "p%u", w->parameters.n), .shape = shape,
                          .number = w->parameters.n, .attributes = ""};
    WBB_PUSH(w->arena, &w->parameters, p);
    return p;
}

static void put_members(Writer *w, const HloComputation *c, const bool *member, const HloInstruction *root)
{
    HloInstruction **map = WBB_NEW_N(w->arena, HloInstruction *, c->n_instructions + 1);
    WbbBuf lines = wbb_buf(w->arena);
    uint32_t values = 0;
    for (uint32_t k = 0; k <= root->id; k++) {
        const HloInstruction *i = c->instructions[k];
        if (!member[k]) continue;
        for (uint32_t j = 0; j < i->n_operands; j++)
            if (!map[i->operands[j]->id]) map[i->operands[j]->id] = parameter(w, i->operands[j]->shape);
        map[k] = renamed(w, i, wbb_format(w->arena, "v%u", values++), map);
        put_line(&lines, map[k], i == root);
    }
    for (uint32_t k = 0; k < w->parameters.n; k++) put_line(&w->out, w->parameters.items[k], false);
    wbb_put(&w->out, lines.text);
}

static const char *kind_of(const HloComputation *c, const bool *member, const HloInstruction *root)
{
    for (uint32_t k = 0; k <= root->id; k++)
        if (member[k] && (c->instructions[k]->opcode == HLO_REDUCE || c->instructions[k]->opcode == HLO_SCATTER))
            return "kInput";
    return "kLoop";
}

/* Capacity for every computation of the HLO module. */
static Writer begin(WbbArena *a, const HloComputation *c)
{
    const uint32_t n = c->module->n_computations + 1;
    return (Writer){.arena = a,
                    .out = wbb_buf(a),
                    .called = wbb_buf(a),
                    .functions = WBB_NEW_N(a, const HloComputation *, n),
                    .stubs = WBB_NEW_N(a, HloComputation *, n)};
}

const char *fuse_write(WbbArena *a, const HloComputation *c, const FuseRole *roles, const HloInstruction *root)
{
    Writer w = begin(a, c);
    const char *kind = root->kind ? root->kind : "kLoop", *more = "";
    if (roles[root->id] == FUSE_FIXED) {
        static const char *const unneeded[] = {"metadata", "backend_config", "frontend_attributes", "sharding",
                                               "origin",   "statistics",     "original_value",      NULL};
        put_all(&w, &w.out, root->called[0]);
        for (uint32_t k = 0; k < root->n_operands; k++) parameter(&w, root->operands[k]->shape);
        more = hlo_attributes_without(a, root, unneeded);
    } else {
        const bool *member = members_of(a, c, roles, root);
        put_members(&w, c, member, root);
        kind = kind_of(c, member, root);
    }
    WbbBuf b = wbb_buf(a);
    wbb_putf(&b, "HloModule part\n\n%sbody {\n%s}\n\nENTRY main {\n", w.called.text, w.out.text);
    for (uint32_t k = 0; k < w.parameters.n; k++) put_line(&b, w.parameters.items[k], false);
    wbb_put(&b, "  ROOT fusion = ");
    hlo_print_shape(&b, root->shape);
    wbb_put(&b, " fusion(");
    for (uint32_t k = 0; k < w.parameters.n; k++) wbb_putf(&b, "%sp%u", k ? ", " : "", k);
    wbb_putf(&b, "), kind=%s, calls=body%s\n}\n", kind, more);
    return b.text;
}

const char *fuse_write_call(WbbArena *a, const HloInstruction *i)
{
    static const char *const unneeded[] = {"metadata",   "frontend_attributes", "sharding", "origin",
                                           "statistics", "original_value",      NULL};
    WbbBuf b = wbb_buf(a);
    HloInstruction copy = *i;
    HloInstruction *operands = WBB_NEW_N(a, HloInstruction, i->n_operands + 1);
    HloInstruction **list = WBB_NEW_N(a, HloInstruction *, i->n_operands + 1);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        operands[k].name = wbb_format(a, "p%u", k);
        list[k] = &operands[k];
        hlo_print_shape(&b, i->operands[k]->shape);
        wbb_put(&b, ", ");
    }
    copy.name = "v0";
    copy.operands = list;
    copy.n_predecessors = copy.n_called = 0;
    copy.attributes = hlo_attributes_without(a, i, unneeded);
    hlo_print_instruction(&b, &copy);
    return b.text;
}

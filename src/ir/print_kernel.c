/* print_kernel.c: a kernel as text, in the form that src/ir/README.md describes.
 *
 * Needs any kernel; leaves the text, and print(parse(text)) is the text again. Two things make that hold: a node that
 * is named (several uses, or deep) is named where the parser would make it, and the operands of a commutative operation
 * are written in the order in which the text first shows them. Functions are written one by one, each by itself: a node
 * that two of them need is written in both.
 *
 *     store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)
 */
#include "ir/printer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 10 };

/* --- names -------------------------------------------------------------------------------------------------------- */

static void use(IrPrinter *p, IrRef r, IrPlace at, uint32_t times)
{
    p->uses[r] = WBB_MIN(p->uses[r] + times, 2u);
    p->position[r] = p->position[r].scope == IR_NONE ? at : ir_common_place(&p->scopes, p->position[r], at);
}

static void use_from_statements(IrPrinter *p)
{
    const uint32_t scope = p->next_scope++;
    const IrBlock *b = p->scopes.scopes.items[scope].block;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        IrPlace at[3] = {[IR_OUTSIDE] = {scope, i}};
        if (ir_has_blocks(s)) {
            at[IR_BODY] = (IrPlace){p->next_scope, s->body.n};
            use_from_statements(p);
        }
        if (ir_has_blocks(s) && !ir_is_loop(s)) {
            at[IR_OTHERWISE] = (IrPlace){p->next_scope, s->otherwise.n};
            use_from_statements(p);
        }
        for (IrUses u = ir_uses(p->g, s); ir_next_use(&u);) use(p, u.ref, at[u.where], 1);
        if (s->kind == IR_DO) p->done[s->value] = true;
    }
}

/* Users before operands: a sum is written wherever it is used, everything else once. */
static void use_from_nodes(IrPrinter *p, const IrRefs *nodes)
{
    for (uint32_t at = nodes->n; at-- > 0;) {
        const IrRef r = nodes->items[at];
        const IrNode *n = ir_at(p->g, r);
        const uint32_t count = ir_arity(p->g, r);
        if (ir_is_leaf(n)) continue;
        for (uint32_t i = 0; i < count; i++)
            use(p, ir_operand(p->g, r, i), p->position[r], n->op == OP_SUM ? p->uses[r] : 1);
    }
}

static void choose_names(IrPrinter *p, const IrRefs *nodes)
{
    for (uint32_t at = 0; at < nodes->n; at++) {
        const IrRef r = nodes->items[at];
        const IrNode *n = ir_at(p->g, r);
        if (ir_is_leaf(n)) continue;
        uint32_t deep = 0;
        for (uint32_t i = 0; i < ir_arity(p->g, r); i++) deep = WBB_MAX(deep, p->depth[ir_operand(p->g, r, i)]);
        p->named[r] = n->op != OP_SUM && !p->done[r] && (p->uses[r] > 1 || deep >= MAX_DEPTH);
        p->depth[r] = p->named[r] ? 0 : (uint8_t)(deep + 1);
    }
    const uint32_t n_scopes = p->scopes.scopes.n;
    uint32_t n_slots = 0;
    p->first_slot = WBB_NEW_N(p->scratch, uint32_t, n_scopes);
    for (uint32_t i = 1; i < n_scopes; i++) {
        p->first_slot[i] = n_slots;
        n_slots += p->scopes.scopes.items[i].block->n + 1;
    }
    p->first_name = WBB_NEW_N(p->scratch, IrRef, n_slots + 1);
    for (uint32_t at = nodes->n; at-- > 0;) {
        const IrRef r = nodes->items[at];
        if (!p->named[r]) continue;
        IrRef *head = &p->first_name[p->first_slot[p->position[r].scope] + p->position[r].stmt];
        p->next_name[r] = *head;
        *head = r;
    }
}

/* A name that is known, or NULL. */
static IrWord *known_word(const IrPrinter *p, const char *name)
{
    const WbbEntry *e = wbb_map_get_bytes(&p->words, name, strlen(name));
    return e ? e->pointer : NULL;
}

static IrWord *word_of(IrPrinter *p, const char *name)
{
    WbbEntry *e = wbb_map_put_bytes(&p->words, name, strlen(name));
    if (!e->pointer) {
        IrWord *w = WBB_NEW(p->scratch, IrWord);
        w->name = wbb_map_text(e);
        e->pointer = w;
    }
    return e->pointer;
}

static void collect_words(IrPrinter *p)
{
    const IrGraph *g = p->g;
    p->vars = WBB_NEW_N(p->scratch, const char *, g->n_vars + 1);
    p->values = WBB_NEW_N(p->scratch, const char *, g->n_values + 1);
    for (uint32_t i = 0; i < g->n_vars; i++) word_of(p, p->vars[i] = g->vars[i].name);
    for (uint32_t i = 0; i < g->n_values; i++) word_of(p, p->values[i] = g->values[i].name);
}

/* The name that is written for `name` from here on: another one where that name has a meaning here already. */
static const char *bind(IrPrinter *p, const char *name)
{
    IrWord *first = word_of(p, name), *w = first;
    while (w->visible) {
        const char *other = wbb_format(p->scratch, "%s_%u", name, 2 + first->others++);
        if (!known_word(p, other)) w = word_of(p, other);
    }
    w->visible = true;
    return w->name;
}

static void unbind(IrPrinter *p, const char *name) { word_of(p, name)->visible = false; }

static uint32_t fresh_name(IrPrinter *p)
{
    char name[16];
    do snprintf(name, sizeof name, "x%u", ++p->n_names);
    while (known_word(p, name));
    return p->n_names;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void put_indent(IrPrinter *p, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) wbb_put(p->out, "  ");
}

/* Writes the nodes that are named before a statement, or before `yield`. */
static void put_names(IrPrinter *p, uint32_t scope, uint32_t stmt)
{
    for (IrRef r = p->first_name[p->first_slot[scope] + stmt]; r; r = p->next_name[r]) {
        put_indent(p, p->outer + p->scopes.scopes.items[scope].depth);
        const uint32_t name = fresh_name(p);
        wbb_putf(p->out, "x%u = ", name);
        ir_put_expression(p, r, 0);
        wbb_put(p->out, "\n");
        p->name[r] = name;
        p->age[r] = p->n_ages++;
    }
}

/* The values that a block yields: the results of s, or of f; neither: none. otherwise: the block is the other branch of
 * s. */
typedef struct {
    const IrStmt *s;
    const IrFunction *f;
    bool otherwise;
} Yields;

static uint32_t n_yields(const Yields *e) { return e->s ? e->s->n_results : e->f ? e->f->n_yields : 0; }

static IrRef yielded(const Yields *e, uint32_t i)
{
    if (e->f) return e->f->yields[i];
    return e->otherwise ? e->s->results[i].otherwise : e->s->results[i].yield;
}

/* A constant says its type only where nothing before it does. */
static IrType yielded_type(const IrPrinter *p, const Yields *e, uint32_t i)
{
    if (e->f || e->otherwise || ir_is_loop(e->s))
        return ir_at(p->g, e->f ? yielded(e, i) : e->s->results[i].yield)->type;
    return 0;
}

static void put_block(IrPrinter *p, const IrBlock *b, const Yields *e);

static void put_interval(IrPrinter *p, const IrVar *v)
{
    wbb_putf(p->out, "%lld..", (long long)v->lo);
    wbb_put_i128(p->out, (WbbI128)v->hi + 1);
}

/* What a loop carries, and its body. */
static void put_loop_body(IrPrinter *p, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++) {
        const uint32_t carried = s->results[i].carried;
        p->values[carried] = bind(p, p->g->values[carried].name);
        wbb_putf(p->out, "%s %s = ", i ? "," : " carry", p->values[carried]);
        ir_put_node(p, s->results[i].init, 0);
    }
    wbb_put(p->out, " ");
    put_block(p, &s->body, &(Yields){.s = s});
    for (uint32_t i = 0; i < s->n_results; i++) unbind(p, p->values[s->results[i].carried]);
}

static void put_for(IrPrinter *p, const IrStmt *s)
{
    const IrVar *v = &p->g->vars[s->var];
    const char *name = bind(p, v->name);
    p->vars[s->var] = name;
    wbb_putf(p->out, "for %s in ", name);
    put_interval(p, v);
    if (s->lanes) wbb_putf(p->out, " lanes %u", s->lanes);
    if (s->rolled) wbb_put(p->out, " rolled");
    if (s->ahead) wbb_put(p->out, " ahead");
    put_loop_body(p, s);
    unbind(p, name);
}

static void put_if(IrPrinter *p, const IrStmt *s)
{
    wbb_put(p->out, "if ");
    ir_put_node(p, s->condition, IR_TYPE(SC_PRED, 0));
    wbb_put(p->out, " ");
    put_block(p, &s->body, &(Yields){.s = s});
    if (s->otherwise.n || s->n_results) {
        wbb_put(p->out, " else ");
        put_block(p, &s->otherwise, &(Yields){.s = s, .otherwise = true});
    } else {
        p->next_scope++;
    }
}

/* Results are named before the statement, but in scope after it: names inside the statement may be the same. */
static void put_results(IrPrinter *p, const IrStmt *s)
{
    for (uint32_t i = 0; i < s->n_results; i++) {
        const uint32_t value = s->results[i].value;
        p->values[value] = bind(p, p->g->values[value].name);
        wbb_putf(p->out, "%s%s", i ? ", " : "", p->values[value]);
    }
    for (uint32_t i = 0; i < s->n_results; i++) unbind(p, p->values[s->results[i].value]);
    if (s->n_results) wbb_put(p->out, " = ");
}

static void put_let(IrPrinter *p, const IrStmt *s)
{
    const IrVar *v = &p->g->vars[s->var];
    p->vars[s->var] = bind(p, v->name);
    wbb_putf(p->out, "let %s = ", p->vars[s->var]);
    if (s->value) wbb_put(p->out, "index(");
    ir_put_node(p, s->value ? s->value : v->definition, s->value ? 0 : IR_TYPE(SC_INDEX, 0));
    wbb_put(p->out, s->value ? ") in " : " in ");
    put_interval(p, v);
}

static void put_do(IrPrinter *p, const IrStmt *s)
{
    wbb_put(p->out, "do ");
    ir_put_effect(p, s);
}

static void put_statement(IrPrinter *p, const IrStmt *s, uint32_t depth)
{
    put_indent(p, depth);
    put_results(p, s);
    switch (s->kind) {
    case IR_STORE:
        wbb_putf(p->out, "store %%%s[", p->k->buffers[s->buffer].name);
        ir_put_node(p, s->index, IR_TYPE(SC_INDEX, 0));
        wbb_put(p->out, "], ");
        ir_put_node(p, s->value, IR_TYPE(p->k->buffers[s->buffer].type, 0));
        break;
    case IR_BIND: put_let(p, s); break;
    case IR_DO: put_do(p, s); break;
    case IR_FOR: put_for(p, s); break;
    case IR_REPEAT:
        wbb_put(p->out, "repeat");
        put_loop_body(p, s);
        break;
    case IR_IF: put_if(p, s); break;
    }
    for (uint32_t i = 0; i < s->n_results; i++) word_of(p, p->values[s->results[i].value])->visible = true;
    wbb_put(p->out, "\n");
}

static void unbind_all(IrPrinter *p, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind == IR_BIND) unbind(p, p->vars[s->var]);
        for (uint32_t r = 0; r < s->n_results; r++) unbind(p, p->values[s->results[r].value]);
    }
}

static void put_block(IrPrinter *p, const IrBlock *b, const Yields *e)
{
    const uint32_t scope = p->next_scope++, depth = p->outer + p->scopes.scopes.items[scope].depth;
    wbb_put(p->out, "{\n");
    for (uint32_t i = 0; i < b->n; i++) {
        put_names(p, scope, i);
        put_statement(p, b->items[i], depth);
    }
    put_names(p, scope, b->n);
    for (uint32_t i = 0; i < n_yields(e); i++) {
        if (i == 0) put_indent(p, depth);
        wbb_put(p->out, i ? ", " : "yield ");
        ir_put_node(p, yielded(e, i), yielded_type(p, e, i));
    }
    if (n_yields(e)) wbb_put(p->out, "\n");
    if (e->s && e->s->kind == IR_REPEAT) {
        put_indent(p, depth);
        wbb_put(p->out, "while ");
        ir_put_node(p, e->s->condition, IR_TYPE(SC_PRED, 0));
        wbb_put(p->out, "\n");
    }
    unbind_all(p, b);
    put_indent(p, depth - 1);
    wbb_put(p->out, "}");
}

/* Chooses the names in one body: the kernel's, or that of function f. */
static void begin_body(IrPrinter *p, const IrBlock *b, const IrFunction *f)
{
    IrRefs nodes = {0};
    p->scopes = ir_scopes_of_block(p->scratch, p->g, b);
    p->outer = f ? 1 : 0;
    p->next_scope = 1;
    ir_roots(p->g, p->scratch, b, &nodes);
    for (uint32_t i = 0; f && i < f->n_yields; i++) WBB_PUSH(p->scratch, &nodes, f->yields[i]);
    ir_gather(p->g, p->scratch, &nodes, p->mark);
    for (uint32_t i = 0; i < nodes.n; i++) {
        const IrRef r = nodes.items[i];
        p->uses[r] = p->depth[r] = 0;
        p->named[r] = p->done[r] = false;
        p->position[r] = (IrPlace){IR_NONE, IR_NONE};
    }
    use_from_statements(p);
    for (uint32_t i = 0; f && i < f->n_yields; i++) use(p, f->yields[i], (IrPlace){1, b->n}, 1);
    use_from_nodes(p, &nodes);
    choose_names(p, &nodes);
    p->next_scope = 1;
}

static void put_function(IrPrinter *p, const IrFunction *f)
{
    wbb_putf(p->out, "  func @%s(", f->name);
    for (uint32_t i = 0; i < f->n_params; i++) {
        const IrVar *v = &p->g->vars[f->params[i]];
        p->vars[f->params[i]] = bind(p, v->name);
        wbb_putf(p->out, "%s%s in ", i ? ", " : "", p->vars[f->params[i]]);
        put_interval(p, v);
    }
    wbb_put(p->out, ") -> ");
    for (uint32_t i = 0; i < f->n_yields; i++) {
        wbb_put(p->out, i ? ", " : "");
        ir_put_type(p->out, ir_at(p->g, f->yields[i])->type);
    }
    wbb_put(p->out, " ");
    begin_body(p, &f->body, f);
    put_block(p, &f->body, &(Yields){.f = f});
    wbb_put(p->out, "\n");
    for (uint32_t i = 0; i < f->n_params; i++) unbind(p, p->vars[f->params[i]]);
}

/* The elements of a table; of complex ones both parts, one after the other. */
static void put_table(WbbBuf *out, const IrBuffer *b)
{
    const ScType part = b->type == SC_C64 ? SC_F32 : b->type == SC_C128 ? SC_F64 : b->type;
    const size_t bytes = sc_bytes(part), n = (size_t)b->elements * (sc_bytes(b->type) / bytes);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)b->table + i * bytes, bytes);
        wbb_put(out, i ? ", " : " = {");
        ir_put_const(out, IR_TYPE(part, 0), bits & sc_mask(part));
    }
    wbb_put(out, n ? "}" : " = {}");
}

static void put_buffers(IrPrinter *p)
{
    const IrKernel *k = p->k;
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const IrBuffer *b = &k->buffers[i];
        wbb_putf(p->out, "%s%%%s: ", i ? ", " : "", b->name);
        static const char *const words[] = {"", "out ", "inout ", "temp ", "shared ", "table "};
        wbb_put(p->out, words[b->space]);
        if (b->space == IR_INOUT) wbb_putf(p->out, "%%%s ", k->buffers[b->alias - 1].name);
        if (b->zeroed) wbb_put(p->out, "zero ");
        wbb_putf(p->out, "%s[%lld]", sc_type_info[b->type].name, (long long)b->elements);
        if (b->align != 16) wbb_putf(p->out, " align %u", b->align);
        if (b->space == IR_TABLE) put_table(p->out, b);
    }
}

void ir_print(WbbBuf *out, const IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(k->g->cx);
    IrPrinter p = ir_printer(out, scratch, k->g);
    p.k = k;
    collect_words(&p);
    for (uint32_t i = 0; i < k->g->n_vars; i++) {
        const IrVar *v = &k->g->vars[i];
        if (v->kind == IR_BID || v->kind == IR_TID) word_of(&p, v->name)->visible = true;
    }
    wbb_putf(out, "kernel @%s(", k->name);
    put_buffers(&p);
    wbb_putf(out, ") block %u grid %u ", k->block, k->grid);
    if (k->cluster) wbb_putf(out, "cluster %u ", k->cluster);
    if (k->n_functions) wbb_put(out, "{\n");
    for (uint32_t i = 0; i < k->n_functions; i++) put_function(&p, k->functions[i]);
    begin_body(&p, &k->body, NULL);
    if (k->n_functions) {
        WbbBuf body = wbb_buf(scratch); /* without its '{', which the functions follow */
        p.out = &body;
        put_block(&p, &k->body, &(Yields){0});
        wbb_put(out, body.text + 2);
    } else {
        put_block(&p, &k->body, &(Yields){0});
    }
    wbb_put(out, "\n");
    wbb_arena_free(scratch);
}

/* print.c: a kernel as text, in the form that README.md of this room describes.
 *
 * Needs any kernel; leaves the text, and print(parse(text)) is the text again. Two things make that hold: a node that is named
 * (several uses, or deep) is named where the parser would make it, and the operands of a commutative operation are written in the
 * order in which the text first shows them, which is the order of their ages after parsing.
 *
 *     store %out[8*t + v], max.bf16(load %in[8*t + v], 0.0)
 */
#include "ir/ir.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 10, NODE_DEPTH = 6 };
#define NOWHERE UINT32_MAX

/* Where a node's name would stand: before statement `stmt` of block `block`. */
typedef struct {
    uint32_t block, stmt;
} Place;

typedef struct {
    Place in; /* the statement that the block belongs to; of the kernel's body: NOWHERE */
    uint32_t depth, first_slot; /* slots[first_slot + stmt]: names before that statement */
} Block;

typedef struct {
    WbbBuf *out;
    const IrKernel *k; /* NULL when one node is printed */
    const IrGraph *g;
    WbbArena *scratch;
    struct { Block *items; uint32_t n, room; } blocks;
    uint32_t n_slots;
    /* by ref */
    uint32_t *uses; /* times that the text shows it */
    uint8_t *deep;  /* calls below it, down to names */
    bool *named;
    Place *place;
    uint32_t *name, *age, *next; /* number of its name; when the text first showed it; next name at the same place */
    /* by slot */
    IrRef *heads;
    uint32_t n_ages, n_names, next_block;
    int depth_left; /* when one node is printed */
} Printer;

/* constants and types ------------------------------------------------------------------------------------------------------ */

static void put_type(WbbBuf *out, IrType type)
{
    wbb_put(out, sc_type_info[IR_SC(type)].name);
    if (IR_LANES(type) > 1) wbb_putf(out, "x%u", IR_LANES(type));
}

static void put_float(WbbBuf *out, ScType type, uint64_t bits)
{
    const double x = sc_to_f64(type, bits);
    char text[40];
    if (isnan(x)) {
        if (bits == sc_from_f64(type, (double)NAN)) wbb_put(out, "nan");
        else wbb_putf(out, "nan(0x%llx)", (unsigned long long)bits);
        return;
    }
    if (isinf(x)) {
        wbb_put(out, x < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (sc_parse_float(type, text) == bits) break;
    }
    wbb_put(out, text);
    if (!strpbrk(text, ".e")) wbb_put(out, ".0");
}

static void put_const(WbbBuf *out, IrType type, uint64_t bits)
{
    const ScType sc = IR_SC(type);
    if (sc == SC_PRED) wbb_put(out, bits ? "true" : "false");
    else if (sc == SC_INDEX) wbb_put_i128(out, (int64_t)bits);
    else if (sc_is_float(sc)) put_float(out, sc, bits);
    else wbb_put_i128(out, sc_to_i128(sc, bits));
}

/* expressions -------------------------------------------------------------------------------------------------------------- */

static void put_node(Printer *p, IrRef r, IrType expected);

static bool is_leaf(const IrNode *n) { return n->op == OP_CONST || n->op == OP_VAR || n->op == OP_ARG || n->op == OP_NONE; }

/* The type that operand i of n has when it is a constant without one; 0: it says its type. */
static IrType expected_type(const IrGraph *g, const IrNode *n, uint32_t i)
{
    const IrType first = n->a[0] ? ir_at(g, n->a[0])->type : 0, lanes = n->type & ~63u;
    switch (sc_op_info[n->op].signature) {
    case SC_SAME: return n->type;
    case SC_COMPARE:
    case SC_TEST:
    case SC_CONVERT: return first;
    case SC_SELECT: return i == 0 ? (IrType)SC_PRED | lanes : n->type;
    default: break;
    }
    if (n->op == OP_IDX || (n->op == OP_LOAD && i == 1)) return IR_TYPE(SC_INDEX, 0);
    if (n->op == OP_SPLAT) return n->type & 63u;
    if (n->op == OP_PACK) return n->type - (1u << 6);
    return 0;
}

static void put_flags(WbbBuf *out, uint32_t flags)
{
    for (uint32_t i = 0; i < SC_FLAG_COUNT; i++)
        if (flags & 1u << i) wbb_putf(out, ".%s", sc_flag_name[i]);
}

/* A factor of a product or an operand of // and %: what is not a name, a number or a call stands in brackets. */
static void put_factor(Printer *p, IrRef r)
{
    const IrNode *n = ir_at(p->g, r);
    const bool divides = (n->op == OP_FLOORDIV || n->op == OP_MOD) && !p->named[r];
    const bool brackets = !n->flags && (n->op == OP_SUM || divides || (n->op == OP_CONST && (int64_t)n->imm < 0));
    if (brackets) wbb_put(p->out, "(");
    put_node(p, r, IR_TYPE(SC_INDEX, 0));
    if (brackets) wbb_put(p->out, ")");
}

static void put_sum(Printer *p, const IrNode *n)
{
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = p->g->terms[n->a[0] + i];
        const WbbI128 k = t.coefficient, size = k < 0 ? -k : k;
        if (k < 0) wbb_put(p->out, i ? " - " : "-");
        else if (i) wbb_put(p->out, " + ");
        if (size != 1) {
            wbb_put_i128(p->out, size);
            wbb_put(p->out, "*");
            put_factor(p, t.ref);
        } else {
            put_node(p, t.ref, IR_TYPE(SC_INDEX, 0));
        }
    }
    const WbbI128 constant = (int64_t)n->imm;
    if (constant) wbb_put(p->out, constant < 0 ? " - " : " + ");
    if (constant) wbb_put_i128(p->out, constant < 0 ? -constant : constant);
}

static void put_load(Printer *p, const IrNode *n)
{
    const uint32_t buffer = (uint32_t)ir_at(p->g, n->a[0])->imm;
    const bool known = p->k && buffer < p->k->n_buffers;
    wbb_put(p->out, "load");
    if (!known || n->type != IR_TYPE(p->k->buffers[buffer].type, 0)) {
        wbb_put(p->out, ".");
        put_type(p->out, n->type);
    }
    put_flags(p->out, n->flags);
    if (known) wbb_putf(p->out, " %%%s[", p->k->buffers[buffer].name);
    else wbb_putf(p->out, " %%%u[", buffer);
    put_node(p, n->a[1], IR_TYPE(SC_INDEX, 0));
    wbb_put(p->out, "]");
}

static void put_call(Printer *p, const IrNode *n)
{
    const uint8_t signature = sc_op_info[n->op].signature;
    const IrType first = n->a[0] ? ir_at(p->g, n->a[0])->type : 0;
    wbb_put(p->out, sc_op_info[n->op].name);
    if (n->op != OP_FLOORDIV && n->op != OP_MOD) {
        wbb_put(p->out, ".");
        put_type(p->out, signature == SC_COMPARE || signature == SC_TEST ? first : n->type);
        if (signature == SC_CONVERT) {
            wbb_put(p->out, ".");
            put_type(p->out, first);
        }
    }
    put_flags(p->out, n->flags);
    if (n->op == OP_PART || n->op == OP_INSTR) wbb_putf(p->out, "<%llu>", (unsigned long long)n->imm);
    uint32_t order[3] = {0, 1, 2}, count = 0;
    while (count < 3 && n->a[count]) count++;
    if (sc_op_info[n->op].commutative && !ir_is_const(p->g, n->a[1]) && p->age[n->a[1]] < p->age[n->a[0]])
        order[0] = 1, order[1] = 0;
    wbb_put(p->out, "(");
    for (uint32_t i = 0; i < count; i++) {
        if (i) wbb_put(p->out, ", ");
        put_node(p, n->a[order[i]], expected_type(p->g, n, order[i]));
    }
    wbb_put(p->out, ")");
}

static void put_leaf(Printer *p, const IrNode *n, IrType expected)
{
    if (n->op == OP_VAR) {
        wbb_put(p->out, p->g->vars[n->imm].name);
        return;
    }
    put_const(p->out, n->type, n->imm);
    if (n->type == expected) return;
    wbb_put(p->out, ":");
    put_type(p->out, n->type);
}

/* The expression of r, whether it has a name or not. */
static void put_expression(Printer *p, IrRef r, IrType expected)
{
    const IrNode *n = ir_at(p->g, r);
    if (is_leaf(n) && n->flags) {
        wbb_put(p->out, "wide(");
        put_leaf(p, n, expected);
        wbb_put(p->out, ")");
    } else if (is_leaf(n)) {
        put_leaf(p, n, expected);
    } else if (n->op == OP_SUM) {
        if (n->flags) {
            wbb_put(p->out, "sum");
            put_flags(p->out, n->flags);
            wbb_put(p->out, "(");
        }
        put_sum(p, n);
        if (n->flags) wbb_put(p->out, ")");
    } else if ((n->op == OP_FLOORDIV || n->op == OP_MOD) && !n->flags) {
        put_factor(p, n->a[0]);
        wbb_put(p->out, n->op == OP_MOD ? " % " : " // ");
        put_factor(p, n->a[1]);
    } else if (n->op == OP_LOAD) {
        put_load(p, n);
    } else {
        put_call(p, n);
    }
}

static void put_node(Printer *p, IrRef r, IrType expected)
{
    if (p->named[r] && p->name[r]) {
        wbb_putf(p->out, "x%u", p->name[r]);
    } else if (p->depth_left == 0) {
        wbb_put(p->out, "...");
    } else {
        p->depth_left--;
        put_expression(p, r, expected);
        p->depth_left++;
    }
    if (p->age[r] == NOWHERE) p->age[r] = p->n_ages++;
}

/* names -------------------------------------------------------------------------------------------------------------------- */

static void number_blocks(Printer *p, const IrBlock *b, Place in, uint32_t depth)
{
    const uint32_t number = p->blocks.n;
    const Block block = {.in = in, .depth = depth, .first_slot = p->n_slots};
    WBB_PUSH(p->scratch, &p->blocks, block);
    p->n_slots += b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (s->kind != IR_IF && s->kind != IR_FOR) continue;
        number_blocks(p, &s->body, (Place){number, i}, depth + 1);
        number_blocks(p, &s->otherwise, (Place){number, i}, depth + 1);
    }
}

/* The first place from which both see a name. */
static Place common(const Printer *p, Place x, Place y)
{
    if (x.block == NOWHERE) return y;
    while (x.block != y.block) {
        Place *deeper = p->blocks.items[x.block].depth >= p->blocks.items[y.block].depth ? &x : &y;
        *deeper = p->blocks.items[deeper->block].in;
    }
    return (Place){x.block, WBB_MIN(x.stmt, y.stmt)};
}

static void use(Printer *p, IrRef r, Place at, uint32_t times)
{
    p->uses[r] = WBB_MIN(p->uses[r] + times, 2u);
    p->place[r] = common(p, p->place[r], at);
}

static void use_from_statements(Printer *p, const IrBlock *b)
{
    const uint32_t number = p->next_block++;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const Place at = {number, i};
        if (s->kind == IR_STORE) use(p, s->index, at, 1), use(p, s->value, at, 1);
        if (s->kind == IR_BIND) use(p, p->g->vars[s->var].definition, at, 1);
        if (s->kind == IR_IF) use(p, s->condition, at, 1);
        if (s->kind != IR_IF && s->kind != IR_FOR) continue;
        use_from_statements(p, &s->body);
        use_from_statements(p, &s->otherwise);
    }
}

/* Users before operands: a sum is written wherever it is used, everything else once. */
static void use_from_nodes(Printer *p)
{
    for (IrRef r = p->g->n - 1; r > 0; r--) {
        const IrNode *n = ir_at(p->g, r);
        if (!p->uses[r] || is_leaf(n)) continue;
        if (n->op == OP_SUM) {
            for (uint32_t i = 0; i < n->a[1]; i++) use(p, p->g->terms[n->a[0] + i].ref, p->place[r], p->uses[r]);
        } else {
            for (uint32_t i = 0; i < 3; i++)
                if (n->a[i]) use(p, n->a[i], p->place[r], 1);
        }
    }
}

static void choose_names(Printer *p)
{
    for (IrRef r = 1; r < p->g->n; r++) {
        const IrNode *n = ir_at(p->g, r);
        if (!p->uses[r] || is_leaf(n)) continue;
        uint32_t deep = 0;
        if (n->op == OP_SUM) {
            for (uint32_t i = 0; i < n->a[1]; i++) deep = WBB_MAX(deep, p->deep[p->g->terms[n->a[0] + i].ref]);
        } else {
            for (uint32_t i = 0; i < 3; i++) deep = WBB_MAX(deep, n->a[i] ? p->deep[n->a[i]] : 0u);
        }
        p->named[r] = n->op != OP_SUM && (p->uses[r] > 1 || deep >= MAX_DEPTH);
        p->deep[r] = p->named[r] ? 0 : (uint8_t)(deep + 1);
    }
    p->heads = WBB_NEW_N(p->scratch, IrRef, p->n_slots + 1);
    for (IrRef r = p->g->n - 1; r > 0; r--) {
        if (!p->named[r]) continue;
        IrRef *head = &p->heads[p->blocks.items[p->place[r].block].first_slot + p->place[r].stmt];
        p->next[r] = *head;
        *head = r;
    }
}

static bool is_variable(const IrGraph *g, const char *name)
{
    for (uint32_t i = 0; i < g->n_vars; i++)
        if (!strcmp(g->vars[i].name, name)) return true;
    return false;
}

static uint32_t fresh_name(Printer *p)
{
    char name[16];
    do snprintf(name, sizeof name, "x%u", ++p->n_names);
    while (is_variable(p->g, name));
    return p->n_names;
}

/* statements --------------------------------------------------------------------------------------------------------------- */

static void put_indent(Printer *p, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) wbb_put(p->out, "  ");
}

static void put_block(Printer *p, const IrBlock *b);

static void put_statement(Printer *p, const IrStmt *s, uint32_t depth)
{
    const IrVar *v = s->kind == IR_BIND || s->kind == IR_FOR ? &p->g->vars[s->var] : NULL;
    put_indent(p, depth);
    switch (s->kind) {
    case IR_STORE:
        wbb_putf(p->out, "store %%%s[", p->k->buffers[s->buffer].name);
        put_node(p, s->index, IR_TYPE(SC_INDEX, 0));
        wbb_put(p->out, "], ");
        put_node(p, s->value, IR_TYPE(p->k->buffers[s->buffer].type, 0));
        break;
    case IR_BIND:
        wbb_putf(p->out, "let %s = ", v->name);
        put_node(p, v->definition, IR_TYPE(SC_INDEX, 0));
        wbb_putf(p->out, " in %lld..", (long long)v->lo);
        wbb_put_i128(p->out, (WbbI128)v->hi + 1);
        break;
    case IR_FOR:
        wbb_putf(p->out, "for %s in %lld..", v->name, (long long)v->lo);
        wbb_put_i128(p->out, (WbbI128)v->hi + 1);
        if (s->lanes) wbb_putf(p->out, " lanes %u", s->lanes);
        wbb_put(p->out, " ");
        put_block(p, &s->body);
        p->next_block++;
        break;
    case IR_IF:
        wbb_put(p->out, "if ");
        put_node(p, s->condition, IR_TYPE(SC_PRED, 0));
        wbb_put(p->out, " ");
        put_block(p, &s->body);
        if (s->otherwise.n) {
            wbb_put(p->out, " else ");
            put_block(p, &s->otherwise);
        } else {
            p->next_block++;
        }
        break;
    }
    wbb_put(p->out, "\n");
}

static void put_block(Printer *p, const IrBlock *b)
{
    const Block block = p->blocks.items[p->next_block++];
    wbb_put(p->out, "{\n");
    for (uint32_t i = 0; i < b->n; i++) {
        for (IrRef r = p->heads[block.first_slot + i]; r; r = p->next[r]) {
            put_indent(p, block.depth + 1);
            const uint32_t name = fresh_name(p);
            wbb_putf(p->out, "x%u = ", name);
            put_expression(p, r, 0);
            wbb_put(p->out, "\n");
            p->name[r] = name;
            p->age[r] = p->n_ages++;
        }
        put_statement(p, b->items[i], block.depth + 1);
    }
    put_indent(p, block.depth);
    wbb_put(p->out, "}");
}

static Printer new_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g)
{
    Printer p = {.out = out, .g = g, .scratch = scratch, .depth_left = -1};
    p.uses = WBB_NEW_N(scratch, uint32_t, g->n);
    p.deep = WBB_NEW_N(scratch, uint8_t, g->n);
    p.named = WBB_NEW_N(scratch, bool, g->n);
    p.place = WBB_NEW_N(scratch, Place, g->n);
    p.name = WBB_NEW_N(scratch, uint32_t, g->n);
    p.age = WBB_NEW_N(scratch, uint32_t, g->n);
    p.next = WBB_NEW_N(scratch, uint32_t, g->n);
    memset(p.age, 0xff, g->n * sizeof *p.age);
    for (IrRef r = 0; r < g->n; r++) p.place[r] = (Place){NOWHERE, NOWHERE};
    return p;
}

void ir_print_node(WbbBuf *out, const IrGraph *g, IrRef r) { ir_print_shallow(out, g, r, NODE_DEPTH); }

void ir_print_shallow(WbbBuf *out, const IrGraph *g, IrRef r, int depth)
{
    WbbArena *scratch = wbb_arena_new(g->cx);
    Printer p = new_printer(out, scratch, g);
    p.depth_left = depth;
    put_node(&p, r, 0);
    wbb_arena_free(scratch);
}

void ir_print(WbbBuf *out, const IrKernel *k)
{
    WbbArena *scratch = wbb_arena_new(k->g->cx);
    Printer p = new_printer(out, scratch, k->g);
    p.k = k;
    number_blocks(&p, &k->body, (Place){NOWHERE, NOWHERE}, 0);
    use_from_statements(&p, &k->body);
    use_from_nodes(&p);
    choose_names(&p);
    p.next_block = 0;
    wbb_putf(out, "kernel @%s(", k->name);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const IrBuffer *b = &k->buffers[i];
        wbb_putf(out, "%s%%%s: %s%s[%lld]", i ? ", " : "", b->name, b->output ? "out " : "", sc_type_info[b->type].name,
                 (long long)b->elements);
        if (b->align != 16) wbb_putf(out, " align %u", b->align);
    }
    wbb_putf(out, ") block %u grid %u ", k->block, k->grid);
    put_block(&p, &k->body);
    wbb_put(out, "\n");
    wbb_arena_free(scratch);
}

/* print.c: a node as text, in the form that src/ir/README.md describes; print_kernel.c writes kernels.
 *
 * Needs a graph and, for a kernel, the names that print_kernel.c chose; leaves the text. The operands of a commutative
 * operation are written in the order in which the text first shows them, which is the order in which the parser makes
 * them.
 *
 *     max.bf16(load %in[8*t + v], 0.0)
 */
#include "ir/printer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODE_DEPTH = 6 };

/* --- constants and types ------------------------------------------------------------------------------------------ */

void ir_put_type(WbbBuf *out, IrType type)
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

void ir_put_const(WbbBuf *out, IrType type, uint64_t bits)
{
    const ScType sc = IR_SC(type);
    if (sc == SC_PRED) wbb_put(out, bits ? "true" : "false");
    else if (sc == SC_INDEX) wbb_put_i128(out, (int64_t)bits);
    else if (sc_is_float(sc)) put_float(out, sc, bits);
    else wbb_put_i128(out, sc_to_i128(sc, bits));
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

bool ir_is_leaf(const IrNode *n)
{
    return n->op == OP_CONST || n->op == OP_VAR || n->op == OP_VALUE || n->op == OP_ARG || n->op == OP_NONE;
}

/* The type that a constant has as operand i of n without saying it; 0: it says its type. */
static IrType expected_type(const IrGraph *g, const IrNode *n, uint32_t i)
{
    const IrType first = n->a[0] ? ir_at(g, n->a[0])->type : 0, lanes = n->type & ~63u;
    switch (sc_op_info[n->op].signature) {
    case SC_SAME: return n->type;
    case SC_COMPARE:
    case SC_TEST:
    case SC_CONVERT: return first;
    case SC_SELECT: return i == 0 ? (IrType)SC_PRED | lanes : n->type;
    case SC_PRODUCT: return i == 2 ? n->type : i ? first - (1u << 6) : first;
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

/* A factor of a product or an operand of // and %, in brackets unless it is a name, a number or written as a call. */
static void put_factor(IrPrinter *p, IrRef r)
{
    const IrNode *n = ir_at(p->g, r);
    const bool divides = (n->op == OP_FLOORDIV || n->op == OP_MOD) && !p->named[r];
    const bool brackets = !n->flags && (n->op == OP_SUM || divides || (n->op == OP_CONST && (int64_t)n->imm < 0));
    if (brackets) wbb_put(p->out, "(");
    ir_put_node(p, r, IR_TYPE(SC_INDEX, 0));
    if (brackets) wbb_put(p->out, ")");
}

static void put_sum(IrPrinter *p, const IrNode *n)
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
            ir_put_node(p, t.ref, IR_TYPE(SC_INDEX, 0));
        }
    }
    const WbbI128 constant = (int64_t)n->imm;
    if (constant) wbb_put(p->out, constant < 0 ? " - " : " + ");
    if (constant) wbb_put_i128(p->out, constant < 0 ? -constant : constant);
}

static void put_load(IrPrinter *p, const IrNode *n)
{
    const uint32_t buffer = (uint32_t)ir_at(p->g, n->a[0])->imm;
    const bool known = p->k && buffer < p->k->n_buffers;
    wbb_put(p->out, "load");
    if (!known || n->type != IR_TYPE(p->k->buffers[buffer].type, 0)) {
        wbb_put(p->out, ".");
        ir_put_type(p->out, n->type);
    }
    put_flags(p->out, n->flags);
    if (known) wbb_putf(p->out, " %%%s[", p->k->buffers[buffer].name);
    else wbb_putf(p->out, " %%%u[", buffer);
    ir_put_node(p, n->a[1], IR_TYPE(SC_INDEX, 0));
    wbb_put(p->out, "]");
}

/* op.type.flag<imm> */
static void put_operator(IrPrinter *p, const IrNode *n)
{
    const uint8_t signature = sc_op_info[n->op].signature;
    const IrType first = n->a[0] ? ir_at(p->g, n->a[0])->type : 0;
    wbb_put(p->out, sc_op_info[n->op].name);
    if (n->op != OP_FLOORDIV && n->op != OP_MOD && n->type) {
        wbb_put(p->out, ".");
        ir_put_type(p->out, signature == SC_COMPARE || signature == SC_TEST ? first : n->type);
        if (signature == SC_CONVERT || signature == SC_PRODUCT) {
            wbb_put(p->out, ".");
            ir_put_type(p->out, first);
        }
    }
    put_flags(p->out, n->flags);
    if (n->op == OP_PART || n->op == OP_INSTR || n->op == OP_COPY_WAIT || n->op == OP_READ_PEER)
        wbb_putf(p->out, n->imm >> 16 && n->op == OP_INSTR ? "<%llu, %llu>" : "<%llu>",
                 (unsigned long long)(n->op == OP_INSTR ? n->imm & 0xffff : n->imm), (unsigned long long)n->imm >> 16);
}

/* `, x` for each operand, the first without the comma if nothing is before it. */
static void put_operands(IrPrinter *p, const IrNode *n, bool first)
{
    uint32_t order[3] = {0, 1, 2}, count = 0;
    while (count < 3 && n->a[count]) count++;
    if (sc_op_info[n->op].commutative && !ir_is_const(p->g, n->a[1]) && p->age[n->a[1]] < p->age[n->a[0]])
        order[0] = 1, order[1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i || !first) wbb_put(p->out, ", ");
        ir_put_node(p, n->a[order[i]], expected_type(p->g, n, order[i]));
    }
}

static void put_operation(IrPrinter *p, const IrNode *n)
{
    put_operator(p, n);
    wbb_put(p->out, "(");
    put_operands(p, n, true);
    wbb_put(p->out, ")");
}

static void put_address(IrPrinter *p, uint32_t buffer, IrRef index)
{
    wbb_putf(p->out, "%%%s[", p->k->buffers[buffer].name);
    ir_put_node(p, index, IR_TYPE(SC_INDEX, 0));
    wbb_put(p->out, "]");
}

void ir_put_effect(IrPrinter *p, const IrStmt *s)
{
    const IrNode *n = ir_at(p->g, s->value);
    put_operator(p, n);
    wbb_put(p->out, "(");
    if (s->index) put_address(p, s->buffer, s->index);
    if (s->from_index) wbb_put(p->out, ", ");
    if (s->from_index) put_address(p, s->from, s->from_index);
    put_operands(p, n, !s->index);
    wbb_put(p->out, ")");
}

static void put_arguments(IrPrinter *p, const IrNode *n)
{
    for (uint32_t i = 0; i < n->a[1]; i++) {
        if (i) wbb_put(p->out, ", ");
        ir_put_node(p, p->g->terms[n->a[0] + i].ref, IR_TYPE(SC_INDEX, 0));
    }
}

static void put_call(IrPrinter *p, const IrNode *n)
{
    const bool known = p->k && IR_CALLEE(n->imm) < p->k->n_functions;
    if (p->reads) {
        wbb_putf(p->out, "%s[", p->reads[IR_CALLEE(n->imm)]);
        put_arguments(p, n);
        wbb_put(p->out, "]");
        return;
    }
    wbb_put(p->out, "call @");
    if (known) wbb_put(p->out, p->k->functions[IR_CALLEE(n->imm)]->name);
    else wbb_putf(p->out, "%u", IR_CALLEE(n->imm));
    if (IR_WHICH(n->imm)) wbb_putf(p->out, "<%u>", IR_WHICH(n->imm));
    wbb_put(p->out, "(");
    put_arguments(p, n);
    wbb_put(p->out, ")");
}

static void put_leaf(IrPrinter *p, const IrNode *n, IrType expected)
{
    if (n->op == OP_VAR) {
        wbb_put(p->out, p->vars ? p->vars[n->imm] : p->g->vars[n->imm].name);
        return;
    }
    if (n->op == OP_VALUE) {
        wbb_put(p->out, p->values ? p->values[n->imm] : p->g->values[n->imm].name);
        return;
    }
    ir_put_const(p->out, n->type, n->imm);
    if (n->type == expected) return;
    wbb_put(p->out, ":");
    ir_put_type(p->out, n->type);
}

/* The expression of r, whether it has a name or not. */
void ir_put_expression(IrPrinter *p, IrRef r, IrType expected)
{
    const IrNode *n = ir_at(p->g, r);
    if (ir_is_leaf(n) && n->flags) {
        wbb_put(p->out, "wide(");
        put_leaf(p, n, expected);
        wbb_put(p->out, ")");
    } else if (ir_is_leaf(n)) {
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
    } else if (n->op == OP_CALL) {
        put_call(p, n);
    } else {
        put_operation(p, n);
    }
}

void ir_put_node(IrPrinter *p, IrRef r, IrType expected)
{
    if (p->named[r] && p->name[r]) {
        wbb_putf(p->out, "x%u", p->name[r]);
    } else if (p->depth_left == 0) {
        wbb_put(p->out, "...");
    } else {
        p->depth_left--;
        ir_put_expression(p, r, expected);
        p->depth_left++;
    }
    if (p->age[r] == IR_NONE) p->age[r] = p->n_ages++;
}

/* --- one node ----------------------------------------------------------------------------------------------------- */

IrPrinter ir_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g)
{
    IrPrinter p = {.out = out, .g = g, .scratch = scratch, .depth_left = -1, .words = {.arena = scratch}};
    p.uses = WBB_NEW_N(scratch, uint32_t, g->n);
    p.depth = WBB_NEW_N(scratch, uint8_t, g->n);
    p.named = WBB_NEW_N(scratch, bool, g->n);
    p.done = WBB_NEW_N(scratch, bool, g->n);
    p.position = WBB_NEW_N(scratch, IrPlace, g->n);
    p.name = WBB_NEW_N(scratch, uint32_t, g->n);
    p.mark = WBB_NEW_N(scratch, uint8_t, g->n);
    p.age = WBB_NEW_N(scratch, uint32_t, g->n);
    p.next_name = WBB_NEW_N(scratch, uint32_t, g->n);
    memset(p.age, 0xff, g->n * sizeof *p.age);
    for (IrRef r = 0; r < g->n; r++) p.position[r] = (IrPlace){IR_NONE, IR_NONE};
    return p;
}

void ir_print_node(WbbBuf *out, const IrGraph *g, IrRef r) { ir_print_shallow(out, g, r, NODE_DEPTH); }

IrPrinter *ir_reads_printer(WbbBuf *out, WbbArena *scratch, const IrGraph *g, const char *const *names)
{
    IrPrinter *p = WBB_NEW(scratch, IrPrinter);
    *p = ir_printer(out, scratch, g);
    p->reads = names;
    return p;
}

void ir_print_next(IrPrinter *p, IrRef r) { ir_put_node(p, r, 0); }

void ir_print_reads(WbbBuf *out, const IrGraph *g, IrRef r, const char *const *names, int depth)
{
    WbbArena *scratch = wbb_arena_new(g->cx);
    IrPrinter *p = ir_reads_printer(out, scratch, g, names);
    p->depth_left = depth;
    ir_print_next(p, r);
    wbb_arena_free(scratch);
}

void ir_print_shallow(WbbBuf *out, const IrGraph *g, IrRef r, int depth) { ir_print_reads(out, g, r, NULL, depth); }

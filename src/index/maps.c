/* maps.c: the maps of a computation as text, in the notation of XLA's index maps, which is what readers of HLO know: `/` is floor
 * division, `mod` what it leaves, coefficients stand right.
 *
 * Needs a computation; leaves one line for every operand with a map.
 *
 *     %b broadcast operand 0 %p: (d0, d1) -> (d1), domain: d0 in [0, 6], d1 in [0, 32]
 */
#include "index/index.h"

static void put_expression(WbbBuf *out, const IrGraph *g, IrRef r);

/* A factor, or the left side of `/` or `mod`: sums stand in brackets, and products but where the same operator repeats. */
static void put_left(WbbBuf *out, const IrGraph *g, IrRef r, ScOp parent)
{
    const ScOp op = (ScOp)ir_at(g, r)->op;
    const bool brackets = op == OP_SUM || ((op == OP_FLOORDIV || op == OP_MOD) && op != parent);
    if (brackets) wbb_put(out, "(");
    put_expression(out, g, r);
    if (brackets) wbb_put(out, ")");
}

static void put_sum(WbbBuf *out, const IrGraph *g, const IrNode *n)
{
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = g->terms[n->a[0] + i];
        const WbbI128 k = t.coefficient, size = k < 0 ? -k : k;
        if (k < 0) wbb_put(out, i ? " - " : "-");
        else if (i) wbb_put(out, " + ");
        if (size == 1 && k > 0) put_expression(out, g, t.ref);
        else put_left(out, g, t.ref, OP_SUM);
        if (size == 1) continue;
        wbb_put(out, " * ");
        wbb_put_i128(out, size);
    }
    const WbbI128 c = (int64_t)n->imm;
    if (c) wbb_put(out, c < 0 ? " - " : " + ");
    if (c) wbb_put_i128(out, c < 0 ? -c : c);
}

static void put_expression(WbbBuf *out, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    switch (n->op) {
    case OP_CONST: wbb_put_i128(out, (int64_t)n->imm); break;
    case OP_VAR: wbb_put(out, g->vars[n->imm].name); break;
    case OP_SUM: put_sum(out, g, n); break;
    case OP_FLOORDIV:
    case OP_MOD:
        put_left(out, g, n->a[0], (ScOp)n->op);
        wbb_put(out, n->op == OP_MOD ? " mod " : " / ");
        put_left(out, g, n->a[1], OP_NONE);
        break;
    default: /* min and max */
        wbb_putf(out, "%s(", sc_op_info[n->op].name);
        put_expression(out, g, n->a[0]);
        wbb_put(out, ", ");
        put_expression(out, g, n->a[1]);
        wbb_put(out, ")");
        break;
    }
}

static void put_map(WbbBuf *out, RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand)
{
    IrGraph *g = rw_graph(rw);
    const HloShape *to = i->operands[operand]->shape;
    const uint32_t rank = i->shape->rank;
    if (hlo_elements(i->shape) == 0) {
        wbb_put(out, "KNOWN EMPTY\n");
        return;
    }
    IrRef *d = WBB_NEW_N(a, IrRef, rank + 1), *in = WBB_NEW_N(a, IrRef, to->rank + 1u);
    wbb_put(out, "(");
    for (uint32_t k = 0; k < rank; k++) {
        d[k] = ir_var(g, ir_var_new(g, wbb_format(a, "d%u", k), IR_LOOP, 0, i->shape->dims[k] - 1, 0));
        wbb_putf(out, "%sd%u", k ? ", " : "", k);
    }
    wbb_put(out, ") -> (");
    ix_operand(rw, a, i, operand, d, in);
    for (uint32_t k = 0; k < to->rank; k++) {
        wbb_put(out, k ? ", " : "");
        put_expression(out, g, in[k]);
    }
    wbb_put(out, ")");
    for (uint32_t k = 0; k < rank; k++)
        wbb_putf(out, "%sd%u in [0, %lld]", k ? ", " : ", domain: ", k, (long long)(i->shape->dims[k] - 1));
    wbb_put(out, "\n");
}

void ix_print_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const HloComputation *c)
{
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            if (!ix_has_map(i, k)) continue;
            wbb_putf(out, "%%%s %s operand %u %%%s: ", i->name, hlo_opcode_name(i->opcode), k, i->operands[k]->name);
            put_map(out, rw, a, i, k);
        }
    }
}

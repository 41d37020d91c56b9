/* eval.c: the reference meaning of a node, by the scalar functions of scalar/.
 *
 * Needs a graph before `isel`; leaves nothing. Tests and the audit of a wrong kernel use it; it is slow and obvious.
 *
 *     ir_eval(g, mul.f32(load %p[i], 0.5), leaf, ..)  =>  0.5f * leaf(load %p[i])
 */
#include "ir/ir.h"

typedef struct {
    const IrGraph *g;
    IrLeaf leaf;
    void *arg;
    uint64_t *value; /* by ref */
    uint8_t *known;  /* 1: value holds; 2: the node has no value; 0: not evaluated */
} Eval;

static bool eval_sum(Eval *e, const IrNode *n, uint64_t *bits)
{
    uint64_t v = n->imm;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = e->g->terms[n->a[0] + i];
        if (e->known[t.ref] != 1) return false;
        v += (uint64_t)t.coefficient * e->value[t.ref];
    }
    *bits = v;
    return true;
}

bool ir_eval_node(const IrGraph *g, IrRef r, const uint64_t *x, uint64_t *bits)
{
    const IrNode *n = ir_at(g, r);
    const ScType type = IR_SC(n->type);
    if (n->op == OP_CONST) return *bits = n->imm, true;
    if (IR_LANES(n->type) > 1 || n->op == OP_INSTR || n->op == OP_PACK || n->op == OP_PART || n->op == OP_ARG)
        return false;
    if (n->op == OP_IDX) return *bits = sc_from_i128(type, (int64_t)x[0]), true;
    const ScSignature sig = (ScSignature)sc_op_info[n->op].signature;
    const ScType first = n->a[0] ? IR_SC(ir_at(g, n->a[0])->type) : type;
    const ScType named = sig == SC_COMPARE || sig == SC_TEST ? first : type;
    return sc_eval((ScOp)n->op, named, first, x, bits);
}

static bool eval_node(Eval *e, IrRef r)
{
    const IrNode *n = ir_at(e->g, r);
    uint64_t x[3] = {0, 0, 0};
    if (n->op == OP_VAR || n->op == OP_LOAD || n->op == OP_VALUE || n->op == OP_CALL)
        return e->value[r] = e->leaf(e->arg, e->g, r), true;
    if (n->op == OP_SUM) return eval_sum(e, n, &e->value[r]);
    for (uint32_t i = 0; i < 3 && n->a[i]; i++) {
        if (e->known[n->a[i]] != 1) return false;
        x[i] = e->value[n->a[i]];
    }
    return ir_eval_node(e->g, r, x, &e->value[r]);
}

/* Marks the nodes that r needs. Operands have smaller refs, so one descending loop does it. */
static void mark(const IrGraph *g, IrRef r, uint8_t *need)
{
    need[r] = 1;
    for (IrRef i = r; i > 0; i--) {
        if (!need[i]) continue;
        const IrNode *n = ir_at(g, i);
        if (n->op == OP_SUM)
            for (uint32_t k = 0; k < n->a[1]; k++) need[g->terms[n->a[0] + k].ref] = 1;
        else if (n->op != OP_LOAD && n->op != OP_CALL) /* these are leaves: the leaf function looks at their operands */
            for (uint32_t k = 0; k < 3; k++) need[n->a[k]] = 1;
    }
}

bool ir_eval(const IrGraph *g, IrRef r, IrLeaf leaf, void *arg, uint64_t *bits)
{
    WbbArena *scratch = wbb_arena_new(g->cx);
    Eval e = {.g = g, .leaf = leaf, .arg = arg, .value = WBB_NEW_N(scratch, uint64_t, r + 1),
              .known = WBB_NEW_N(scratch, uint8_t, r + 1)};
    uint8_t *need = WBB_NEW_N(scratch, uint8_t, r + 1);
    mark(g, r, need);
    for (IrRef i = 1; i <= r; i++)
        if (need[i]) e.known[i] = eval_node(&e, i) ? 1 : 2;
    const bool ok = e.known[r] == 1;
    if (ok) *bits = e.value[r];
    wbb_arena_free(scratch);
    return ok;
}

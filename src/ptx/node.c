/* node.c: emits the nodes of a kernel, and what binds a variable to one.
 *
 * Needs the scopes of each node (ir/placement.c); leaves registers. A node is written when the first statement needs
 * it, at the end of its scope's lines: before the branch or the loop that is open in it.
 *
 *     store %out[8*t], max(load %in[8*t], 0.0)   ->   ld.global.nc.b32 ..; max.NaN.f32 ..
 */
#include "ptx/inner.h"

#include <string.h>

/* A parameter of the function that is being written. */
static PtxReg parameter(PtxBuild *b, uint32_t number, const IrVar *var)
{
    const IrFunction *f = b->k->functions[b->function];
    const bool wide = ir_is_wide_var(var);
    const PtxReg d = ptx_new(b, wide ? PTX_B64 : PTX_B32);
    uint32_t i = 0;
    while (f->params[i] != number) i++;
    ptx_line(b, "ld.param.b%u %R, [%s_param_%u];", wide ? 64 : 32, d, b->callees[b->function].name, i);
    return d;
}

/* A register of an index, in the width that the node has. */
static PtxValue *variable(PtxBuild *b, IrRef r)
{
    const uint32_t number = (uint32_t)ir_at(b->g, r)->imm;
    const IrVar *var = &b->g->vars[number];
    PtxValue *v = ptx_value(b, IR_TYPE(SC_INDEX, 0));
    v->words = WBB_NEW(b->arena, PtxReg);
    if (b->vars[number].kind == PTX_NONE && var->kind == IR_PARAM) {
        v->words[0] = parameter(b, number, var);
    } else if (b->vars[number].kind == PTX_NONE) {
        assert((var->kind == IR_BID || var->kind == IR_TID) && "a variable is used outside the scope that binds it");
        v->words[0] = ptx_new(b, PTX_B32);
        ptx_line(b, var->kind == IR_BID ? "mov.u32 %R, %%ctaid.x;" : "mov.u32 %R, %%tid.x;", v->words[0]);
    } else v->words[0] = b->vars[number];
    v->words[0] = ptx_resize(b, v->words[0], ir_is_wide(b->g, r), var->lo < 0);
    return v;
}

static PtxValue *complex_node(PtxBuild *b, const IrNode *n)
{
    PtxValue *v = ptx_value(b, n->type), *x = b->values[n->a[0]], *y = n->a[1] ? b->values[n->a[1]] : NULL;
    const uint32_t lanes = IR_LANES(n->type);
    v->words = WBB_NEW_N(b->arena, PtxReg, 2 * lanes);
    for (uint32_t i = 0; i < lanes; i++) {
        if (n->op != OP_COMPLEX) v->words[i] = ptx_words(b, x)[2 * i + (n->op == OP_IM)];
        else v->words[2 * i] = ptx_words(b, x)[i], v->words[2 * i + 1] = ptx_words(b, y)[i];
    }
    return v;
}

/* Two predicates of which both, or any, must hold: bounds of one index, bytes of a word. NULL: it is something else. */
static PtxValue *two_predicates(PtxBuild *b, IrRef r, const IrNode *n)
{
    const RwInstr *row = &b->t->tables->instrs[RW_ROW(n->imm)];
    if (n->type != IR_TYPE(SC_PRED, 0) || row->kind != RW_LLVM || !n->a[1]) return NULL;
    const bool both = !strcmp(row->text, "and");
    if (!both && strcmp(row->text, "or") != 0) return NULL;
    PtxValue *v = both ? ptx_index_range(b, r) : NULL;
    return v ? v : ptx_joined_tests(b, b->values[n->a[0]], b->values[n->a[1]], n->type, both);
}

/* Bytes of two words, once for those that need the same. */
static PtxReg permuted(PtxBuild *b, PtxReg x, PtxReg y, uint32_t selector)
{
    const uint64_t key[4] = {6, x.n, y.n, selector};
    PtxMade *made = ptx_made(b, key, WBB_LEN(key));
    if (made->reg.kind != PTX_NONE) return made->reg;
    *made = (PtxMade){.reg = ptx_new(b, PTX_B32), .scope = b->at};
    ptx_line(b, "prmt.b32 %R, %R, %R, %u;", made->reg, x, y, selector);
    return made->reg;
}

/* A row of a block of 4 x 4 bytes transposed (ir_transposed_row): the words of a pair first, which two rows share, so
 * that four rows are eight permutes and not twelve. NULL: it is something else. */
static PtxValue *transposed_row(PtxBuild *b, IrRef r, const IrNode *n)
{
    IrWordOfBytes from[BYTES];
    PtxReg word[BYTES];
    uint32_t byte;
    if (!ir_transposed_row(b->g, r, from, &byte)) return NULL;
    for (uint32_t k = 0; k < BYTES; k++) {
        if (!ptx_has(b, from[k].of)) return NULL;
        word[k] = ptx_register(b, ptx_words(b, b->values[from[k].of])[from[k].word]);
    }
    const uint32_t pairs = byte < 2 ? 0x5140 : 0x7362;
    const PtxReg low = permuted(b, word[0], word[1], pairs), high = permuted(b, word[2], word[3], pairs);
    PtxValue *v = ptx_value(b, n->type);
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = permuted(b, low, high, byte % 2 ? 0x7632 : 0x5410);
    return v;
}

static PtxValue *emit_node(PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    PtxValue *v = NULL;
    switch ((ScOp)n->op) {
    case OP_CONST: return ptx_constant(b, n->type, n->imm);
    case OP_VAR: return variable(b, r);
    case OP_VALUE: return b->results[n->imm];
    case OP_LOAD: return ptx_load(b, r, (uint32_t)ir_at(b->g, n->a[0])->imm, n->a[1]);
    case OP_IDX: return ptx_index_cast(b, r);
    case OP_PACK:
        v = transposed_row(b, r, n);
        return v ? v : ptx_pack(b, b->values[n->a[0]], b->values[n->a[1]], n->type);
    case OP_PART: return ptx_part(b, b->values[n->a[0]], n->type, (uint32_t)n->imm);
    case OP_SPLAT: return ptx_splat(b, b->values[n->a[0]], n->type);
    case OP_COMPLEX:
    case OP_RE:
    case OP_IM: return complex_node(b, n);
    case OP_INSTR:
        v = two_predicates(b, r, n);
        return v ? v : ptx_row(b, r, false, NULL);
    case OP_CALL: return ptx_call(b, r);
    default: break;
    }
    if (IR_SC(n->type) == SC_INDEX) v = ptx_index_node(b, r);
    if (!v) v = ptx_index_compare(b, r);
    if (!v)
        wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "@%s: %s.%s on %s", b->k->name, sc_op_info[n->op].name,
                    sc_type_info[IR_SC(n->type)].name, b->t->name);
    return v;
}

void ptx_emit(void *of, IrRef r, uint32_t scope)
{
    PtxBuild *b = of;
    const uint32_t at = b->at;
    b->at = scope;
    b->maker = ir_made_by(b->g, r);
    b->values[r] = emit_node(b, r);
    b->at = at;
}

/* An integer element that a variable is bound to, in the width that the variable's interval needs. */
static PtxReg as_index(PtxBuild *b, const IrStmt *s)
{
    const bool wide = ir_is_wide_var(&b->g->vars[s->var]);
    PtxValue *v = b->values[s->value];
    const bool is_signed = sc_is_signed(IR_SC(v->type));
    PtxReg x = ptx_register(b, ptx_extended(b, v, 0, 'o'));
    if (x.kind == PTX_B16) {
        const PtxReg d = ptx_new(b, PTX_B32);
        ptx_line(b, is_signed ? "cvt.s32.s16 %R, %R;" : "cvt.u32.u16 %R, %R;", d, x);
        x = d;
    }
    return ptx_resize(b, x, wide, is_signed);
}

void ptx_let(PtxBuild *b, const IrStmt *s)
{
    if (!b->needed[s->var]) return;
    const IrRef is = s->value ? s->value : b->g->vars[s->var].definition;
    ir_demand(&b->demand, is, false);
    if (s->value) b->maker = ir_made_by(b->g, is);
    b->vars[s->var] = s->value ? as_index(b, s) : ptx_register(b, ptx_index(b, is, ir_is_wide(b->g, is)));
}

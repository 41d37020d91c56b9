/* call.c: calls of the kernel's functions, and what functions take and return.
 *
 * Needs emitted index operands, and the callee written before (compile.c); leaves the values of its results. A function
 * takes its indices, then the address of each buffer that it reads, in the order in which it needed them first. One
 * result is a parameter; several are in slots of 8 bytes. Results of one function for the same arguments share one call
 * while its scope is open.
 *
 *     call @pair(i), 0; call @pair(i), 1
 *     ->  call.uni (retval0), k_pair, (param0, param1); ld.param.b32 %r7, [retval0]; ld.param.b32 %r8, [retval0+8];
 */
#include "ptx/inner.h"

enum { SLOT = 8 };

/* Words that a value has as a result. */
static uint32_t words_of(const PtxBuild *b, const IrFunction *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n_yields; i++) n += ptx_n_words(ir_at(b->g, f->yields[i])->type);
    return n;
}

static uint32_t bits_of(PtxKind kind) { return kind == PTX_B64 ? 64 : 32; }

const char *ptx_result_text(PtxBuild *b, const IrFunction *f, const char *name)
{
    const uint32_t n = words_of(b, f);
    if (n > 1) return wbb_format(b->arena, ".param .align %u .b8 %s[%u]", SLOT, name, SLOT * n);
    return wbb_format(b->arena, ".param .b%u %s", bits_of(ptx_word_kind(ir_at(b->g, f->yields[0])->type)), name);
}

/* A predicate and a half travel in 32 bits. */
static PtxReg widened(PtxBuild *b, PtxReg x)
{
    if (x.kind == PTX_B32 || x.kind == PTX_B64) return x;
    const PtxReg d = ptx_new(b, PTX_B32);
    ptx_line(b, x.kind == PTX_PRED ? "selp.b32 %R, 1, 0, %R;" : "cvt.u32.u16 %R, %R;", d, x);
    return d;
}

static PtxReg narrowed(PtxBuild *b, PtxReg x, PtxKind kind)
{
    if (kind == PTX_B32 || kind == PTX_B64) return x;
    const PtxReg d = ptx_new(b, kind);
    ptx_line(b, kind == PTX_PRED ? "setp.ne.b32 %R, %R, 0;" : "cvt.u16.u32 %R, %R;", d, x);
    return d;
}

void ptx_return(PtxBuild *b, const IrFunction *f, PtxValue **values)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->n_yields; i++) {
        const PtxReg *words = ptx_words(b, values[i]);
        for (uint32_t k = 0; k < ptx_n_words(values[i]->type); k++, at += SLOT) {
            const PtxReg x = widened(b, ptx_register(b, words[k]));
            ptx_line(b, "st.param.b%u [func_retval0+%u], %R;", bits_of((PtxKind)x.kind), at, x);
        }
    }
}

/* The last call of the same function with the same arguments; its values are NULL if there was none. */
static PtxCalled *find_called(PtxBuild *b, IrRef r)
{
    WbbEntry *e = ir_call_entry(&b->called, b->g, r);
    if (!e->pointer) e->pointer = WBB_NEW(b->arena, PtxCalled);
    return e->pointer;
}

static PtxValue *result(PtxBuild *b, IrType type, uint32_t *at)
{
    PtxValue *v = ptx_value(b, type);
    v->words = WBB_NEW_N(b->arena, PtxReg, ptx_n_words(type));
    for (uint32_t k = 0; k < ptx_n_words(type); k++, *at += SLOT) {
        const PtxKind kind = ptx_word_kind(type);
        const PtxReg x = ptx_new(b, kind == PTX_B64 ? PTX_B64 : PTX_B32);
        ptx_line(b, "ld.param.b%u %R, [retval0+%u];", bits_of(kind), x, *at);
        v->words[k] = x;
    }
    return v;
}

static PtxValue **call(PtxBuild *b, IrRef r)
{
    const uint32_t number = IR_CALLEE(ir_at(b->g, r)->imm);
    const PtxCallee *c = &b->callees[number];
    const IrFunction *f = b->k->functions[number];
    const uint32_t n = f->n_params + c->n_buffers;
    PtxReg *args = WBB_NEW_N(b->arena, PtxReg, n + 1);
    PtxValue **results = WBB_NEW_N(b->arena, PtxValue *, f->n_yields);
    for (uint32_t i = 0; i < f->n_params; i++) {
        const bool wide = ir_is_wide_var(&b->g->vars[f->params[i]]);
        args[i] = ptx_register(b, ptx_index(b, ir_operand(b->g, r, i), wide));
    }
    for (uint32_t i = 0; i < c->n_buffers; i++) args[f->n_params + i] = ptx_base(b, c->buffers[i]);
    ptx_line(b, "{");
    WbbBuf list = wbb_buf(b->arena);
    for (uint32_t i = 0; i < n; i++) {
        ptx_line(b, ".param .b%u param%u;", bits_of((PtxKind)args[i].kind), i);
        ptx_line(b, "st.param.b%u [param%u], %R;", bits_of((PtxKind)args[i].kind), i, args[i]);
        wbb_putf(&list, "%sparam%u", i ? ", " : "", i);
    }
    ptx_line(b, "%s;", ptx_result_text(b, f, "retval0"));
    ptx_line(b, "call.uni (retval0), %s, (%s);", c->name, list.n ? list.text : "");
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->n_yields; i++) results[i] = result(b, ir_at(b->g, f->yields[i])->type, &at);
    ptx_line(b, "}");
    for (uint32_t i = 0; i < f->n_yields; i++)
        for (uint32_t k = 0; k < ptx_n_words(results[i]->type); k++)
            results[i]->words[k] = narrowed(b, results[i]->words[k], ptx_word_kind(results[i]->type));
    return results;
}

PtxValue *ptx_call(PtxBuild *b, IrRef r)
{
    PtxCalled *made = find_called(b, r);
    if (!made->values || !ptx_is_here(b, made->scope)) *made = (PtxCalled){b->at, call(b, r)};
    return made->values[IR_WHICH(ir_at(b->g, r)->imm)];
}

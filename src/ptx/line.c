/* line.c: lines of PTX, and what made them.
 *
 * Needs the scope to whose end a line goes, and its maker; leaves lines. A node of an outer scope is written at the end
 * of that scope's lines, which stand before the branch or the loop that is open in it.
 *
 *     ptx_line(b, "add.s64 %R, %R, %l;", d, x, 8)     add.s64 %rd3, %rd1, 8;
 */
#include "ptx/inner.h"

#include <string.h>

static const char *const prefixes[] = {[PTX_PRED] = "%p", [PTX_B16] = "%rs", [PTX_B32] = "%r", [PTX_B64] = "%rd"};

static void put_unsigned(WbbBuf *out, uint64_t n)
{
    char digits[24], *p = digits + sizeof digits;
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    wbb_put_n(out, p, (size_t)(digits + sizeof digits - p));
}

static void put_signed(WbbBuf *out, int64_t n)
{
    if (n < 0) wbb_put(out, "-");
    put_unsigned(out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static void put_number(WbbBuf *out, PtxReg r, bool is_float)
{
    if (is_float && r.bits == 32) wbb_putf(out, "0f%08X", (unsigned)r.n);
    else if (is_float && r.bits == 64) wbb_putf(out, "0d%016llX", (unsigned long long)r.n);
    else if (r.bits == 1) wbb_put(out, r.n ? "-1" : "0");
    else if (r.bits == 64) put_signed(out, (int64_t)r.n);
    else if (r.bits == 32) put_signed(out, (int32_t)(uint32_t)r.n);
    else put_signed(out, (int16_t)(uint16_t)r.n);
}

void ptx_put_reg(WbbBuf *out, PtxReg r, bool is_float)
{
    assert(r.kind != PTX_NONE);
    if (r.kind == PTX_NUMBER) {
        put_number(out, r, is_float);
        return;
    }
    wbb_put(out, prefixes[r.kind]);
    put_unsigned(out, r.n);
}

void ptx_add_line(PtxBuild *b, const char *text)
{
    const PtxLine line = {text, b->maker};
    WBB_PUSH(b->arena, &b->lines[b->at], line);
}

void ptx_line(PtxBuild *b, const char *format, ...)
{
    WbbBuf out = wbb_buf(b->arena);
    va_list args;
    va_start(args, format);
    for (const char *p = format; *p; p++) {
        const size_t n = strcspn(p, "%");
        wbb_put_n(&out, p, n);
        p += n;
        if (!*p) break;
        switch (*++p) {
        case 'R': ptx_put_reg(&out, va_arg(args, PtxReg), false); break;
        case 'F': ptx_put_reg(&out, va_arg(args, PtxReg), true); break;
        case '%': wbb_put_n(&out, "%", 1); break;
        case 's': wbb_put(&out, va_arg(args, const char *)); break;
        case 'u': put_unsigned(&out, va_arg(args, uint32_t)); break;
        case 'l': put_signed(&out, va_arg(args, int64_t)); break;
        default: assert(!"an operand of a line"); break;
        }
    }
    va_end(args);
    ptx_add_line(b, out.text);
}

void ptx_label(PtxBuild *b, uint32_t label)
{
    const IrMaker maker = b->maker;
    b->maker = (IrMaker){.what = IR_BY_LABEL};
    ptx_line(b, "$L__BB0_%u:", label);
    b->maker = maker;
}

void ptx_decline(const PtxBuild *b, const char *what, const char *name)
{
    wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "@%s: the ptx back end has no %s %s", b->k->name, what, name);
}

/* --- what made a line --------------------------------------------------------------------------------------------- */
static const RwRule *rule_of(const PtxBuild *b, IrMaker m)
{
    return rw_rule_of(b->o->index_tables, b->t->tables, b->g, m);
}

const char *ptx_comment(PtxBuild *b, IrMaker m)
{
    WbbBuf out = wbb_buf(b->arena);
    rw_put_maker(&out, b->k, m, rule_of(b, m), b->o->origins, b->o->n_origins);
    return out.text;
}

void ptx_put_loc(PtxBuild *b, WbbBuf *out, IrMaker m)
{
    const RwRule *rule = rule_of(b, m);
    ir_put_loc(&b->locations, out, rule ? rule->file : NULL, rule ? rule->line : 0, m.node ? b->g->origin[m.node] : 0);
}

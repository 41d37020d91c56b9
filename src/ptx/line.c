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

void ptx_made_by(PtxBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    const bool lanes = n->op == OP_PACK || n->op == OP_PART || n->op == OP_SPLAT;
    const bool index = n->op != OP_INSTR && !ir_has_effects(n);
    b->maker = (PtxMaker){.what = (uint8_t)(lanes ? PTX_BY_LANES : index ? PTX_BY_INDEX : PTX_BY_NODE), .node = r};
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
    const PtxMaker maker = b->maker;
    b->maker = (PtxMaker){.what = PTX_BY_LABEL};
    ptx_line(b, "$L__BB0_%u:", label);
    b->maker = maker;
}

void ptx_decline(const PtxBuild *b, const char *what, const char *name)
{
    wbb_decline(b->cx, (WbbLoc){0}, WHY_NO_RULE, "@%s: the ptx back end has no %s %s", b->k->name, what, name);
}

/* --- what made a line --------------------------------------------------------------------------------------------- */
static const RwRule *rule_of(const PtxBuild *b, const PtxMaker *m)
{
    const IrNode *n = m->node ? ir_at(b->g, m->node) : NULL;
    if (!n || m->what == PTX_BY_LOAD || m->what == PTX_BY_STORE) return NULL;
    return rw_rule_of(b->o->index_tables, n->op == OP_INSTR ? b->t->tables : NULL, b->g->rule[m->node]);
}

const char *ptx_comment(PtxBuild *b, const PtxMaker *m)
{
    static const char *const kinds[] = {[PTX_BY_INDEX] = "index", [PTX_BY_LANES] = "lanes", [PTX_BY_CONTROL] = "control"};
    WbbBuf out = wbb_buf(b->arena);
    const IrNode *n = m->node ? ir_at(b->g, m->node) : NULL;
    const RwRule *rule = rule_of(b, m);
    if (rule) wbb_putf(&out, "%s:%u%s", rule->file, rule->line, rule->instance);
    if (m->what == PTX_BY_LOAD || m->what == PTX_BY_STORE)
        wbb_putf(&out, "%s %%%s", m->what == PTX_BY_LOAD ? "load" : "store", b->k->buffers[m->buffer].name);
    else if (m->what != PTX_BY_NODE) wbb_putf(&out, "%s%s", rule ? " " : "", kinds[m->what]);
    else if (rule && !rule->instance[0]) wbb_put(&out, " "), rw_put_root(&out, rule, IR_SC(n->type), IR_LANES(n->type));
    else if (!rule) wbb_put(&out, n ? sc_op_info[n->op].name : "kernel");
    const uint32_t origin = n ? b->g->origin[m->node] : 0;
    if (origin && origin <= b->o->n_origins) wbb_putf(&out, " <- %%%s", b->o->origins[origin - 1].name);
    return out.text;
}

void ptx_put_loc(PtxBuild *b, WbbBuf *out, const PtxMaker *m)
{
    const RwRule *rule = rule_of(b, m);
    const uint32_t origin = m->node ? b->g->origin[m->node] : 0;
    if (b->line_rule == rule && b->line_origin == origin) return;
    b->line_rule = rule, b->line_origin = origin;
    ir_put_loc(&b->locations, out, rule ? rule->file : NULL, rule ? rule->line : 0, origin);
}

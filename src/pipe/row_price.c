/* row_price.c: what a row of instructions costs, before there is a text of it.
 *
 * Needs a row of the target's tables and the types that it is used at; leaves the clocks of each pipe, and how long a
 * value waits. The forms of a row, whose letters stand for types, have their prices in patterns/prices.tsv.
 *
 *     fma.rn.%t of f32        issue 1, fma 1, 4 clocks until the result is there
 */
#include "pipe/pipe.h"
#include "price/price.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    WbbArena *a;
    const TgTarget *t;
    IrType type;
    ScType from; /* of the first operand */
    PipeRowPrice sum;
} Row;

static const char *type_suffix(WbbArena *a, ScType t, bool packed)
{
    const bool bits = t == SC_PRED || sc_is_float(t);
    const char *name = sc_type_info[t].name;
    if (!bits) name = wbb_format(a, "%c%u", sc_is_signed(t) ? 's' : 'u', sc_type_info[t].bits);
    return packed ? wbb_format(a, "%sx2", name) : name;
}

/* A form of a row of instructions, whose letters stand for types; see ptx in rewrite/tables.h. */
static const char *form_of(WbbArena *a, const char *p, size_t n, ScType to, ScType from, bool packed)
{
    WbbBuf out = wbb_buf(a);
    for (size_t i = 0; i < n; i++) {
        const char letter = p[i] == '%' && i + 1 < n ? p[++i] : 0;
        if (letter == 't') wbb_put(&out, type_suffix(a, to, packed));
        else if (letter == 'o') wbb_put(&out, type_suffix(a, from, packed && to != SC_BF16 && to != SC_F16));
        else if (letter) wbb_putf(&out, "%u", sc_type_info[letter == 'b' ? to : from].bits);
        else wbb_putf(&out, "%c", p[i]);
    }
    return out.text;
}

/* One after the other: what follows waits for all of them. */
static void add(Row *r, const TgPrice *p, double times)
{
    for (int i = 0; i < TG_PIPES; i++) r->sum.clocks[i] += times * (double)p->cycles[i];
    r->sum.clocks[PIPE_ISSUE] += times * (double)p->issue;
    r->sum.latency += (double)p->latency;
    r->sum.branches = r->sum.branches || p->off;
}

/* What LLVM spells: the first form that has a price, of two lanes at once where there is one. */
static void add_spelled(Row *r, const char *forms)
{
    const uint32_t lanes = IR_LANES(r->type);
    for (int packed = lanes > 1; packed >= 0; packed--)
        for (const char *p = forms; *p; p += strspn(p, " ")) {
            const size_t size = strcspn(p, " ");
            const char *form = form_of(r->a, p, size, IR_SC(r->type), r->from, packed);
            const TgPrice *price = price_of(r->a, r->t, form);
            if (price) {
                add(r, price, packed ? (lanes + 0.0) / 2 : lanes);
                return;
            }
            p += size;
        }
}

/* Does a text name a type of two lanes, as in fma.rn.bf16x2? `ex2` is none. */
static bool of_pairs(const char *text)
{
    const char *p = strstr(text, "x2");
    while (p && (p == text || !isdigit((unsigned char)p[-1]))) p = strstr(p + 1, "x2");
    return p != NULL;
}

/* Inline assembly: instructions of all lanes where one of its registers holds two. */
static void add_assembly(Row *r, const char *text, bool whole)
{
    const double each = whole ? 1 : of_pairs(text) ? (IR_LANES(r->type) + 0.0) / 2 : IR_LANES(r->type);
    for (const char *p = text; *p; p += *p == ';') {
        p += strspn(p, " {}\t\n");
        const size_t size = strcspn(p, ";");
        const char *one = wbb_format(r->a, "%.*s;", (int)size, p);
        const TgPrice *price = size ? price_of(r->a, r->t, price_form(r->a, one)) : NULL;
        if (price) add(r, price, each);
        p += size;
    }
}

PipeRowPrice pipe_row_price(WbbArena *a, const TgTarget *t, const RwInstr *row, IrType type, ScType from, ScOp op)
{
    Row r = {.a = a, .t = t, .type = type, .from = from};
    switch ((RwInstrKind)row->kind) {
    case RW_LLVM: case RW_INTR: add_spelled(&r, row->ptx); break;
    case RW_ASM: /* an mma has all lanes of its result at once */
        add_assembly(&r, row->text, (sc_op_info[op].effects & SC_CONVERGENT) != 0);
        break;
    case RW_LOOKUP:
        add_assembly(&r, wbb_format(a, "ld.const.b%u;", sc_type_info[IR_SC(type)].bits), false);
        break;
    case RW_CALL: break;
    }
    return r.sum;
}

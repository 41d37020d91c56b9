/* row.c: writes a selected instruction: the text of its row.
 *
 * Needs emitted operands; leaves registers. A row of assembly is its text; one that LLVM spells has texts by type
 * (patterns/texts.py). A text for one value is written for each element of a vector, one for a word for each word. A
 * lookup table is an array in constant memory. No instruction is spelled here but the loads of those.
 *
 *     add.bf16x4, "add.rn.bf16x2 %d, %a, %b;"   ->   add.rn.bf16x2 %r5, %r1, %r3; add.rn.bf16x2 %r6, %r2, %r4;
 */
#include "ptx/inner.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

static const RwInstr *row_of(const RwTables *t, const IrNode *n) { return &t->instrs[RW_ROW(n->imm)]; }

/* What stands for a letter of a text: one register or number, or the registers of a vector in braces. */
typedef struct {
    PtxReg r[4];
    uint32_t n;
    bool is_float;
} Operand;

/* Writes a text: %d %a %b %c and %p are operands where no letter or digit follows, %a0 and %a1 the registers of one; %s
 * is the space of the address, %q the address that is copied, %zero a register of 16 bits that are 0; %i %j %k are
 * immediates. */
static void write(PtxBuild *b, const RwInstr *row, const char *text, uint64_t imm, const Operand *of,
                  const PtxAddress *at)
{
    static const char letters[] = "dabc";
    WbbBuf out = wbb_buf(b->arena);
    for (const char *p = text, *q; *p; p = q) {
        q = p + strcspn(p, "%");
        wbb_put_n(&out, p, (size_t)(q - p));
        if (!*q) break;
        const char letter = q[1], next = letter ? q[2] : 'x';
        const bool digit = next >= '0' && next <= '1';
        const bool named = (next >= 'a' && next <= 'z') || next == '_' || (next >= '2' && next <= '9');
        const char *known = letter ? strchr(letters, letter) : NULL;
        q += 2;
        if (known && digit) {
            ptx_put_reg(&out, of[known - letters].r[next - '0'], false);
            q++;
        } else if (known && !named) {
            const Operand *x = &of[known - letters];
            if (x->n > 1) wbb_put(&out, "{");
            for (uint32_t i = 0; i < x->n; i++) {
                if (i) wbb_put(&out, ", ");
                ptx_put_reg(&out, x->r[i], x->is_float);
            }
            if (x->n > 1) wbb_put(&out, "}");
        } else if (letter == 's' && at) wbb_put(&out, at->space);
        else if (letter == 'z') ptx_put_reg(&out, ptx_register(b, ptx_number(16, 0)), false), q += strlen("ero");
        else if ((letter == 'p' || letter == 'q') && at) wbb_put(&out, ptx_address_text(b, at[letter - 'p']));
        else if (letter >= 'i' && letter < 'i' + row->n_immediates && !named && !digit)
            wbb_putf(&out, "%lld", (long long)rw_immediate(row, imm, (uint32_t)(letter - 'i')));
        else if (!letter) break;
        else wbb_put_n(&out, q - 2, 2);
    }
    ptx_add_line(b, out.text);
}

/* --- rows that LLVM spells ---------------------------------------------------------------------------------------- */
/* The text for values of these types, in words of `word` bits, or alone if that is 0. */
static const RwText *text_for(const RwInstr *row, ScType to, ScType from, uint32_t word, bool constant, bool one)
{
    for (uint32_t i = 0; i < row->n_texts; i++) {
        const RwText *t = &row->texts[i];
        const bool fits = !t->constant || (t->constant == 1 ? constant : one);
        if (t->to == to && t->from == from && (word ? t->word != 0 : !t->word) && fits) return t;
    }
    return NULL;
}

/* Numbers may stand in arithmetic; not where a register is sure to be, and not as halves. */
static PtxReg operand(PtxBuild *b, const RwText *t, PtxReg x)
{
    const bool plain = t->ptx[0] != '{' && !t->costly && strncmp(t->ptx, "cvt", 3) != 0 && x.bits >= 32;
    return plain || (t->constant == 1 && x.kind == PTX_NUMBER) ? x : ptx_register(b, x);
}

static bool spells_floats(const char *text) { return strstr(text, ".f32") || strstr(text, ".f64"); }

static Operand single(PtxReg r, bool is_float) { return (Operand){{r}, 1, is_float}; }

/* One element. */
static PtxReg element(PtxBuild *b, const IrNode *n, const RwInstr *row, const RwText *t, PtxValue **x, uint32_t count,
                      uint32_t i, const PtxAddress *at)
{
    Operand of[4] = {{{{0}}, 0, false}};
    const bool is_float = spells_floats(t->ptx);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t lane = IR_LANES(x[k]->type) == 1 ? 0 : i;
        const PtxReg r = ptx_extended(b, x[k], lane, t->extend[0] ? t->extend[k] : 0);
        const bool number = is_float && sc_is_float(IR_SC(x[k]->type));
        of[k + 1] = single(k == 1 && t->constant == 1 ? r : operand(b, t, r), number);
    }
    if (!t->ptx[0]) return of[1].r[0];
    PtxReg quotient;
    const bool constant = count == 2 && ir_is_const(b->g, n->a[1]);
    if (constant && ptx_division(b, row->text, IR_SC(n->type), of[1].r[0], ir_at(b->g, n->a[1])->imm, &quotient))
        return quotient;
    const PtxReg d = ptx_new(b, ptx_kind(n->type));
    of[0] = single(d, false);
    write(b, row, t->ptx, n->imm, of, at);
    return d;
}

/* All words of a value: registers of `bits` bits. */
static PtxReg word_at(PtxBuild *b, PtxValue *v, uint32_t bits, uint32_t i)
{
    return bits == 64 && ptx_bits(v->type) == 32 ? ptx_pair(b, v, i) : ptx_words(b, v)[i];
}

static PtxValue *by_words(PtxBuild *b, const IrNode *n, const RwInstr *row, const RwText *t, PtxValue **x,
                          uint32_t count)
{
    PtxValue *v = ptx_value(b, n->type);
    if (!t->ptx[0]) { /* the same words under another type */
        v->words = ptx_words(b, x[0]);
        return v;
    }
    const bool pairs = t->word == 64 && ptx_bits(n->type) == 32;
    const uint32_t words = pairs ? ptx_n_words(n->type) / 2 : ptx_n_words(n->type);
    PtxReg *made = WBB_NEW_N(b->arena, PtxReg, words);
    for (uint32_t i = 0; i < words; i++) {
        Operand of[4] = {{{{0}}, 0, false}};
        made[i] = ptx_new(b, pairs ? PTX_B64 : ptx_word_kind(n->type));
        of[0] = single(made[i], false);
        for (uint32_t k = 0; k < count && !t->pair; k++) {
            const bool scalar = IR_LANES(x[k]->type) == 1;
            of[k + 1] = single(ptx_register(b, scalar ? ptx_words(b, x[k])[0] : word_at(b, x[k], t->word, i)), false);
        }
        for (uint32_t k = 0; k < 2 && t->pair; k++) of[1].r[k] = ptx_register(b, ptx_element(b, x[0], 2 * i + k));
        write(b, row, t->ptx, n->imm, of, NULL);
    }
    if (pairs) v->pairs = made;
    else v->words = made;
    return v;
}

static PtxValue *spelled(PtxBuild *b, IrRef r, const RwInstr *row, PtxValue **x, uint32_t count, const PtxAddress *at)
{
    const IrNode *n = ir_at(b->g, r);
    const uint32_t lanes = IR_LANES(n->type);
    const ScType to = IR_SC(n->type), from = count ? IR_SC(x[0]->type) : to;
    const RwText *t = lanes > 1 ? text_for(row, to, from, 32, false, false) : NULL;
    /* a choice for each lane is no choice of words */
    if (t && from == SC_PRED && IR_LANES(x[0]->type) > 1) t = NULL;
    if (t) return by_words(b, n, row, t, x, count);
    const bool constant = count > 1 && ir_is_const(b->g, n->a[1]);
    const bool one = count > 1 && sc_is_float(from) && ir_is_const(b->g, n->a[0]) &&
                     sc_to_f64(from, ir_at(b->g, n->a[0])->imm) == 1.0;
    t = text_for(row, to, from, 0, constant, one);
    if (!t) ptx_decline(b, "text for the row", wbb_format(b->arena, "%s at %s", row->text, sc_type_info[to].name));
    PtxValue *v = ptx_value(b, n->type);
    v->elements = WBB_NEW_N(b->arena, PtxReg, lanes);
    for (uint32_t i = 0; i < lanes; i++) v->elements[i] = element(b, n, row, t, x, count, i, at);
    const uint32_t wide = ptx_bits(n->type) == 64 ? 64 : 32;
    v->upper = t->clean == '-' ? 0 : t->clean;
    v->zero = ptx_zero_of_row(row->text, t->extend, x, count, lanes, wide);
    if (lanes == 1) v->words = v->elements;
    return v;
}

/* --- assembly ----------------------------------------------------------------------------------------------------- */
/* The registers that hold a value in assembly: one, of 16 bits at least; of vectors of more than `widest` bits one for
 * each 32, or each element of 64. An operand of one byte has zeros above it, a result anything. */
typedef enum { ONE, HALF, PAIR, SEVERAL } Form;
static Form form_of(PtxBuild *b, IrType type, uint32_t widest)
{
    const uint32_t bits = ptx_bits(type) * ptx_n_elements(type);
    if (bits > 128) ptx_decline(b, "register for", "so wide an operand of assembly");
    if (IR_SC(type) == SC_PRED || (ptx_n_elements(type) == 1 && bits >= 16)) return ONE;
    if (bits <= 16) return HALF;
    if (bits > widest) return SEVERAL;
    return bits == 64 && ptx_n_words(type) == 2 ? PAIR : ONE;
}

static Operand taken(PtxBuild *b, PtxValue *v, uint32_t widest)
{
    Operand o = {{{0}}, 1, false};
    switch (form_of(b, v->type, widest)) {
    case ONE: o.r[0] = ptx_register(b, ptx_words(b, v)[0]); break;
    case HALF: {
        const bool alone = ptx_n_elements(v->type) == 1;
        if (v->half.kind != PTX_NONE) {
            o.r[0] = v->half;
            break;
        }
        const PtxReg x = ptx_register(b, alone ? ptx_extended(b, v, 0, 'z') : ptx_words(b, v)[0]);
        o.r[0] = ptx_new(b, PTX_B16);
        ptx_line(b, "cvt.u16.u32 %R, %R;", o.r[0], x);
        break;
    }
    case PAIR: o.r[0] = ptx_pair(b, v, 0); break;
    case SEVERAL:
        o.n = ptx_n_words(v->type);
        for (uint32_t i = 0; i < o.n; i++) o.r[i] = ptx_register(b, ptx_words(b, v)[i]);
        break;
    }
    return o;
}

/* effect: a `do` evaluates it, whose vectors of 64 bits are two registers. */
static PtxValue *assembly(PtxBuild *b, IrRef r, const RwInstr *row, PtxValue **x, uint32_t count, bool effect,
                          const PtxAddress *at)
{
    const IrNode *n = ir_at(b->g, r);
    const uint32_t widest = effect ? 32 : 64;
    Operand of[4] = {{{{0}}, 0, false}};
    PtxValue *v = ptx_value(b, n->type);
    const Form form = form_of(b, n->type, widest);
    for (uint32_t k = 0; k < count; k++) of[k + 1] = taken(b, x[k], widest);
    const uint32_t words = ptx_n_words(n->type);
    if (!strstr(row->text, "%d")) { /* an effect alone */
        write(b, row, row->text, n->imm, of, at);
        return NULL;
    }
    v->words = form == PAIR ? NULL : WBB_NEW_N(b->arena, PtxReg, words);
    of[0].n = form == SEVERAL ? words : 1;
    if (form == HALF) of[0].r[0] = ptx_new(b, PTX_B16);
    else if (form == PAIR) of[0].r[0] = ptx_new(b, PTX_B64);
    else for (uint32_t i = 0; i < of[0].n; i++) v->words[i] = of[0].r[i] = ptx_new(b, ptx_word_kind(n->type));
    write(b, row, row->text, n->imm, of, at);
    if (form == HALF) {
        v->words[0] = ptx_new(b, PTX_B32);
        ptx_line(b, "cvt.u32.u16 %R, %R;", v->words[0], of[0].r[0]);
        if (ptx_n_elements(n->type) > 1) v->half = of[0].r[0];
    } else if (form == PAIR) {
        v->pairs = WBB_NEW(b->arena, PtxReg);
        v->pairs[0] = of[0].r[0];
    }
    return v;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */
/* The name of the array of a lookup table: one in a module, named for what it holds. */
static const char *lookup_table(PtxBuild *b, const RwInstr *row, uint32_t bits, uint32_t *n_words)
{
    const uint64_t hash = wbb_hash(row->text, strlen(row->text), bits);
    const char *name = wbb_format(b->arena, "words_%016llx", (unsigned long long)hash);
    WbbEntry *known = wbb_map_put_bytes(&b->tables, name, strlen(name));
    WbbBuf list = wbb_buf(b->arena);
    uint32_t n = 0;
    for (const char *p = row->text; *p && n < MAX_WORDS; p += strspn(p, " ")) {
        char *end;
        wbb_putf(&list, "%s0x%llx", n++ ? ", " : "", strtoull(p, &end, 16));
        p = end;
    }
    *n_words = n;
    if (!known->value)
        wbb_putf(&b->globals, ".const .align %u .b%u %s[%u] = {%s};\n", bits / 8, bits, name, n, list.text);
    known->value = 1;
    return name;
}

/* An index that is a sum with a constant, no bit of which the other term has: the term, and the constant as *n. */
static PtxValue *without_constant(PtxBuild *b, IrRef index, uint64_t *n)
{
    const IrNode *x = ir_at(b->g, index);
    PtxValue *v = b->values[index];
    if (x->op != OP_INSTR || strcmp(row_of(b->t->tables, x)->text, "add") || !ir_is_const(b->g, x->a[1])) return v;
    const uint64_t k = ir_at(b->g, x->a[1])->imm;
    if (!ptx_has(b, x->a[0]) || k & ~ptx_zero(b->values[x->a[0]], 0)) return v;
    *n = k;
    return b->values[x->a[0]];
}

static PtxValue *lookup(PtxBuild *b, IrRef r, const RwInstr *row)
{
    const IrNode *n = ir_at(b->g, r);
    const uint32_t bits = ptx_bits(n->type);
    uint32_t n_words;
    PtxValue *v = ptx_value(b, n->type);
    const char *name = lookup_table(b, row, bits, &n_words);
    uint64_t constant = 0;
    PtxValue *at = without_constant(b, n->a[0], &constant);
    if ((~ptx_zero(at, 0) | constant) & ~(uint64_t)(n_words - 1)) at = b->values[n->a[0]], constant = 0;
    const PtxReg base = ptx_new(b, PTX_B64), offset = ptx_new(b, PTX_B64), address = ptx_new(b, PTX_B64);
    PtxReg x = ptx_register(b, ptx_words(b, at)[0]);
    if (x.kind == PTX_B64) {
        const PtxReg low = ptx_new(b, PTX_B32);
        ptx_line(b, "cvt.u32.u64 %R, %R;", low, x);
        x = low;
    }
    if (~ptx_zero(at, 0) & ~(uint64_t)(n_words - 1)) {
        const PtxReg i = ptx_new(b, PTX_B32);
        ptx_line(b, "and.b32 %R, %R, %u;", i, x, n_words - 1);
        x = i;
    }
    ptx_line(b, "mov.b64 %R, %s;", base, name);
    ptx_line(b, "mul.wide.u32 %R, %R, %u;", offset, x, bits / 8);
    ptx_line(b, "add.s64 %R, %R, %R;", address, base, offset);
    v->words = WBB_NEW(b->arena, PtxReg);
    v->words[0] = ptx_new(b, bits == 64 ? PTX_B64 : PTX_B32);
    ptx_line(b, "ld.const.b%u %R, [%R+%u];", bits, v->words[0], address, (uint32_t)constant * bits / 8);
    return v;
}

PtxValue *ptx_row(PtxBuild *b, IrRef r, bool effect, const PtxAddress *address)
{
    const IrNode *n = ir_at(b->g, r);
    const RwInstr *row = row_of(b->t->tables, n);
    IrRef operands[3];
    const uint32_t count = ir_operands(b->g, r, operands);
    PtxValue *x[3] = {NULL};
    for (uint32_t i = 0; i < count; i++) x[i] = b->values[operands[i]];
    if (ptx_parts(n->type) != 1) ptx_decline(b, "text for", "rows of complex values");
    switch ((RwInstrKind)row->kind) {
    case RW_LLVM:
    case RW_INTR: return spelled(b, r, row, x, count, address);
    case RW_ASM: return assembly(b, r, row, x, count, effect, address);
    case RW_LOOKUP: return lookup(b, r, row);
    case RW_CALL: ptx_decline(b, "text for the function of libdevice", row->text);
    }
    return NULL;
}

/* operand: reads the text of one instruction: guard, opcode split at its dots, operands.
 *
 * Needs: lex.c, and the symbols that parse.c declared. Leaves: an Inst.
 *
 *     "@!%p1 ld.global.v2.b32 {%r1, _}, [%rd1+8];"
 *         -> guard %p1 inverted, parts ld global v2 b32, a vector of a register and a sink, an address
 */
#include "sim/inner.h"

#include <stdlib.h>

/* Integers and floats in operands. */
static Opd literal(Parser *p)
{
    const Tok t = p->lex.tok;
    Opd o = {.kind = OPD_INT, .loc = sim_loc(&p->lex)};
    char text[64] = "";
    if (t.n >= (int)sizeof text) wbb_fail(p->cx, o.loc, "a number of %d characters", t.n);
    memcpy(text, t.text, (size_t)t.n);
    char *end = text;
    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F') && t.n == 10) {
        o.kind = OPD_F32;
        o.bits = strtoull(text + 2, &end, 16);
    } else if (text[0] == '0' && (text[1] == 'd' || text[1] == 'D') && t.n == 18) {
        o.kind = OPD_F64;
        o.bits = strtoull(text + 2, &end, 16);
    } else if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
        o.bits = strtoull(text + 2, &end, 2);
    } else if (strchr(text, '.')) {
        o.kind = OPD_F64;
        double d = strtod(text, &end);
        memcpy(&o.bits, &d, 8);
    } else {
        o.bits = strtoull(text, &end, 0);
        if (*end == 'U') end++;
    }
    if (*end) wbb_fail(p->cx, o.loc, "'%s' is not a number", text);
    sim_next(&p->lex);
    return o;
}

static Opd operand(Parser *p);

static Opd address(Parser *p)
{
    Opd o = {.kind = OPD_ADDRESS, .loc = sim_loc(&p->lex)};
    sim_expect(&p->lex, "[");
    o.items = WBB_NEW(p->arena, Opd);
    if (p->lex.tok.kind == TOK_PUNCT) wbb_fail(p->cx, sim_loc(&p->lex), "expected an address");
    *o.items = operand(p);
    o.n = 1;
    while (sim_is(&p->lex, "+") || sim_is(&p->lex, "-")) {
        bool plus = sim_accept(&p->lex, "+");
        if (!plus) sim_expect(&p->lex, "-");
        bool minus = sim_accept(&p->lex, "-") ? plus : !plus;
        uint64_t n = sim_number(p);
        o.offset = (int64_t)((uint64_t)o.offset + (minus ? 0 - n : n));
    }
    sim_expect(&p->lex, "]");
    return o;
}

/* {..} has at most the elements of the widest access; (..), which calls have, any number. */
static Opd vector(Parser *p, const char *close)
{
    enum { WIDEST = 16 };
    Opd o = {.kind = OPD_VECTOR, .loc = sim_loc(&p->lex), .items = WBB_NEW_N(p->arena, Opd, WIDEST)};
    size_t capacity = WIDEST;
    sim_next(&p->lex);
    while (!sim_is(&p->lex, close)) {
        if ((size_t)o.n == capacity) {
            if (*close == '}') wbb_fail(p->cx, o.loc, "more than %d elements", WIDEST);
            o.items = wbb_grow(p->arena, o.items, capacity * sizeof(Opd), 2 * capacity * sizeof(Opd));
            capacity *= 2;
        }
        if (strchr("[{(!", *p->lex.tok.text))
            wbb_fail(p->cx, sim_loc(&p->lex), "vectors hold registers and numbers only");
        o.items[o.n++] = operand(p);
        if (!sim_accept(&p->lex, ",")) break;
    }
    sim_expect(&p->lex, close);
    return o;
}

static Opd operand(Parser *p)
{
    Lex *x = &p->lex;
    if (sim_is(x, "[")) return address(p);
    if (sim_is(x, "{")) return vector(p, "}");
    if (sim_is(x, "(")) return vector(p, ")");
    if (sim_accept(x, "-")) {
        Opd o = literal(p);
        if (o.kind == OPD_INT) o.bits = 0 - o.bits;
        else o.bits ^= o.kind == OPD_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        return o;
    }
    if (sim_accept(x, "!")) {
        if (p->lex.tok.kind != TOK_NAME) wbb_fail(p->cx, sim_loc(x), "expected a predicate");
        Opd o = operand(p);
        o.negate = true;
        return o;
    }
    if (x->tok.kind == TOK_NUMBER) return literal(p);
    Opd o = {.loc = sim_loc(x)};
    const char *name = sim_name(p);
    if (name[0] == '_' && !name[1]) {
        o.kind = OPD_SINK;
        return o;
    }
    SimSym *s = sim_lookup(p, name);
    if (!s && !strcmp(name, "WARP_SZ")) {
        o.kind = OPD_INT;
        o.bits = LANES;
        return o;
    }
    if (!s && name[0] == '%') {
        if (sim_special_operand(p, name, &o)) return o;
        wbb_fail(p->cx, o.loc, "register %s is not declared", name);
    }
    o.sym = s ? s : sim_label(p, name); /* a label may come later */
    o.kind = OPD_SYMBOL;
    if (s && s->kind == SYM_REG && s->width == 16) {
        o.kind = OPD_VECTOR, o.width = 16, o.n = 2;
        o.items = WBB_NEW_N(p->arena, Opd, 2);
        for (uint32_t half = 0; half < 2; half++)
            o.items[half] = (Opd){.kind = OPD_REG, .col = s->col + half * 8 * LANES, .width = 8, .loc = o.loc};
    } else if (s && s->kind == SYM_REG) {
        o.kind = OPD_REG;
        o.col = s->col;
        o.width = s->width;
    }
    return o;
}

Inst sim_instruction(Parser *p)
{
    Inst in = {0};
    Lex *x = &p->lex;
    if (sim_accept(x, "@")) {
        in.negate = sim_accept(x, "!");
        Opd guard = operand(p);
        if (guard.kind != OPD_REG || guard.width != 1)
            wbb_fail(p->cx, guard.loc, "a guard must be a predicate register");
        in.pred = guard.col;
    }
    in.loc = sim_loc(x);
    in.text = x->tok.text;
    in.name = sim_name(p);
    for (const char *at = in.name; at;) {
        const char *dot = strchr(at, '.');
        if (in.n_parts == MAX_PARTS) wbb_fail(p->cx, in.loc, "unknown instruction %s", in.name);
        in.part[in.n_parts++] = wbb_intern(p->cx, at, dot ? (size_t)(dot - at) : strlen(at));
        at = dot ? dot + 1 : NULL;
    }
    while (!sim_is(x, ";")) {
        if (in.n == MAX_OPERANDS) wbb_fail(p->cx, in.loc, "too many operands");
        in.opd[in.n++] = operand(p);
        if (sim_accept(x, "|")) in.second = in.n; /* p|q: the next operand is q */
        else if (!sim_accept(x, ",")) break;
    }
    sim_expect(x, ";");
    return in;
}

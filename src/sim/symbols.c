/* symbols: names of the text, their scopes, and the columns of a register file.
 *
 * Needs: lex.c. Leaves: symbols in their scopes, and for each register, constant and special register a column of
 * its own.
 *
 * A name is looked up innermost scope first. Labels belong to their function and may be used before they are
 * defined.
 *
 *     { .reg .b32 %r<2>; { .reg .b32 %r<2>; mov.u32 %r1, 0; } }   ->   four columns; %r1 is the inner one
 */
#include "sim/inner.h"

#include <stdlib.h>

const char *sim_name(Parser *p)
{
    if (p->lex.tok.kind != TOK_NAME)
        wbb_fail(p->cx, sim_loc(&p->lex), "expected a name, found '%.*s'", p->lex.tok.n, p->lex.tok.text);
    const char *name = wbb_intern(p->cx, p->lex.tok.text, (size_t)p->lex.tok.n);
    sim_next(&p->lex);
    return name;
}

/* A whole number of the text, as directives write them. */
uint64_t sim_number(Parser *p)
{
    const Tok t = p->lex.tok;
    char digits[32] = "";
    if (t.kind != TOK_NUMBER || t.n >= (int)sizeof digits)
        wbb_fail(p->cx, sim_loc(&p->lex), "expected a number, found '%.*s'", t.n, t.text);
    memcpy(digits, t.text, (size_t)t.n);
    char *end = digits;
    uint64_t v = strtoull(digits, &end, 0);
    if (*end == 'U') end++;
    if (*end) wbb_fail(p->cx, sim_loc(&p->lex), "expected a whole number, found '%s'", digits);
    sim_next(&p->lex);
    return v;
}

SimSym *sim_lookup(const Parser *p, const char *name)
{
    const WbbEntry *e = wbb_map_get(&p->symbols, wbb_key(name));
    return e ? e->pointer : NULL;
}

SimSym *sim_declare(Parser *p, SymKind kind, const char *name)
{
    SimSym *s = WBB_NEW(p->arena, SimSym);
    WbbEntry *e = wbb_map_put(&p->symbols, wbb_key(name));
    *s = (SimSym){.kind = kind, .name = name, .next = p->scope, .hidden = e->pointer};
    p->scope = s;
    e->pointer = s;
    return s;
}

void sim_leave_scope(Parser *p, SimSym *outer)
{
    for (; p->scope != outer; p->scope = p->scope->next)
        wbb_map_get(&p->symbols, wbb_key(p->scope->name))->pointer = p->scope->hidden;
}

SimSym *sim_label(Parser *p, const char *name)
{
    for (uint32_t i = 0; i < p->labels.n; i++)
        if (p->labels.items[i]->name == name) return p->labels.items[i];
    SimSym *s = WBB_NEW(p->arena, SimSym);
    *s = (SimSym){.kind = SYM_LABEL, .name = name, .col = UINT32_MAX};
    WBB_PUSH(p->arena, &p->labels, s);
    return s;
}

uint32_t sim_column(Parser *p, uint32_t bytes_a_lane)
{
    uint32_t at = p->m->file_bytes;
    uint64_t end = (uint64_t)at + ((uint64_t)bytes_a_lane * LANES + 63) / 64 * 64;
    if (end > (64u << 20))
        wbb_fail(p->cx, sim_loc(&p->lex), "the registers of this module need more than 64 MiB a warp");
    p->m->file_bytes = (uint32_t)end;
    return at;
}

/* names.c: what the names in the text mean.
 *
 * Needs names that lex.c has interned; leaves the node of each visible name in the parser. In a term by itself a name
 * that nothing binds is a variable, of the type that its operand must have.
 *
 *     { x1 = load %in[t] .. x1 .. }      ir_named(p, "x1") is the load, until the end of the block
 */
#include "ir/parser.h"

#include <string.h>

static const IrType INDEX = IR_TYPE(SC_INDEX, 0);

void ir_bind_name(IrParser *p, const char *z, IrRef node)
{
    const IrName n = {.name = z, .node = node};
    WBB_PUSH(p->arena, &p->names, n);
    wbb_map_put(&p->numbers, wbb_key(z))->value = p->names.n;
}

/* No name hides another. The end of a block hides names by making the list shorter: the number of a hidden name is
 * beyond its end, or another name's by now. */
IrRef ir_named(IrParser *p, const char *z)
{
    const WbbEntry *e = wbb_map_get(&p->numbers, wbb_key(z));
    if (!e || e->value > p->names.n || p->names.items[e->value - 1].name != z) return 0;
    return p->names.items[e->value - 1].node;
}

void ir_name(IrParser *p, WbbLoc loc, const char *z, IrRef node)
{
    static const char *const taken[] = {"let", "for", "if",   "else",  "store", "load", "in",   "inf",   "lanes",
                                        "nan", "true", "false", "wide", "sum",   "func", "call", "carry", "yield"};
    for (size_t i = 0; i < WBB_LEN(taken); i++)
        if (!strcmp(z, taken[i])) wbb_fail(p->cx, loc, "'%s' is a word of the language", z);
    if (ir_named(p, z)) wbb_fail(p->cx, loc, "'%s' has a meaning here already", z);
    ir_bind_name(p, z, node);
}

IrRef ir_new_variable(IrParser *p, const char *name, IrType type, int64_t lo, int64_t hi)
{
    const uint32_t var = ir_var_new(p->g, name, IR_LOOP, lo, hi, 0);
    const IrRef node = ir_node(p->g, OP_VAR, type, 0, 0, 0, 0, var);
    ir_bind_name(p, name, node);
    return node;
}

IrRef ir_any_variable(IrParser *p, const char *name, IrType type)
{
    return ir_new_variable(p, name, type, type == INDEX ? -IR_ANY : 0, type == INDEX ? IR_ANY - 1 : 0);
}

IrRef ir_free_name(IrParser *p, WbbLoc loc, const char *name, IrType type)
{
    const ScOp op = sc_op_named(name, strlen(name));
    const bool yes = !strcmp(name, "True"), no = !strcmp(name, "False");
    if (yes || no) {
        if (type != IR_TYPE(SC_PRED, 0)) wbb_fail(p->cx, loc, "'%s' is a pred; another type is needed here", name);
        return ir_const(p->g, type, yes);
    }
    if (op != OP_NONE) {
        if (p->p < p->end && *p->p == '[')
            wbb_fail(p->cx, loc, "'%s[' is for rules, which have type classes; a term has types: %s.f32(..)", name,
                     name);
        wbb_fail(p->cx, loc, "'%s' is an operation: it needs a type and operands, as in %s.f32(..)", name, name);
    }
    if (ir_take(p, ":")) type = ir_read_type(p);
    if (!type) wbb_fail(p->cx, loc, "the type of '%s' is not known here: write %s:f32", name, name);
    return ir_any_variable(p, name, type);
}

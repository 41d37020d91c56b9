/* scopes.c: builds the tree of scopes of a kernel, and compares places in it.
 *
 * Needs statements; leaves the tree. Functions take time in proportion to the depth of a scope.
 */
#include "ir/scopes.h"

uint32_t ir_open_scope(IrScopes *t, uint32_t parent, const IrStmt *of, IrBlock *b)
{
    const uint32_t number = t->scopes.n, depth = number ? t->scopes.items[parent].depth + 1 : 0;
    const IrScope *outer = number ? &t->scopes.items[parent] : NULL;
    const IrScope scope = {.parent = parent, .depth = depth, .blocks = outer ? outer->blocks + (outer->block != b) : 0,
                           .root = depth < 2 ? number : t->scopes.items[parent].root,
                           .of = of, .block = b, .loop = of && ir_is_loop(of), .open = true};
    WBB_PUSH(t->arena, &t->scopes, scope);
    return number;
}

static void bind(IrScopes *t, const IrStmt *s, IrWhere where, IrPlace from)
{
    for (IrDefs d = ir_defs(s); ir_next_def(&d);)
        if (d.where == where) (d.is_variable ? t->variables : t->values)[d.number] = from;
}

static void walk(IrScopes *t, IrBlock *b, uint32_t scope)
{
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        if (ir_has_blocks(s)) {
            const uint32_t body = ir_open_scope(t, scope, s, &s->body);
            t->scopes.items[body].stmt = i;
            bind(t, s, IR_BODY, (IrPlace){body, 0});
            walk(t, &s->body, body);
            if (!ir_is_loop(s)) {
                const uint32_t otherwise = ir_open_scope(t, scope, s, &s->otherwise);
                t->scopes.items[otherwise].stmt = i;
                t->scopes.items[otherwise].partner = body;
                t->scopes.items[body].partner = otherwise;
                walk(t, &s->otherwise, otherwise);
            }
        }
        bind(t, s, IR_OUTSIDE, (IrPlace){scope, i + 1});
    }
}

static IrScopes start(WbbArena *a, const IrGraph *g)
{
    IrScopes t = {.arena = a};
    t.variables = WBB_NEW_N(a, IrPlace, g->n_vars + 1);
    t.values = WBB_NEW_N(a, IrPlace, g->n_values + 1);
    ir_open_scope(&t, 0, NULL, NULL);
    return t;
}

IrScopes ir_scopes_of_block(WbbArena *a, const IrGraph *g, const IrBlock *b)
{
    IrScopes t = start(a, g);
    walk(&t, (IrBlock *)b, ir_open_scope(&t, 0, NULL, (IrBlock *)b));
    return t;
}

IrScopes ir_scopes(WbbArena *a, const IrKernel *k)
{
    IrScopes t = start(a, k->g);
    for (uint32_t i = 0; i < k->n_functions; i++) {
        IrFunction *f = k->functions[i];
        const uint32_t scope = ir_open_scope(&t, 0, NULL, &f->body);
        for (uint32_t p = 0; p < f->n_params; p++) t.variables[f->params[p]] = (IrPlace){scope, 0};
        walk(&t, &f->body, scope);
    }
    IrBlock *body = (IrBlock *)&k->body;
    walk(&t, body, ir_open_scope(&t, 0, NULL, body));
    return t;
}

void ir_switch_scope(IrScopes *t, uint32_t from, uint32_t to)
{
    IrScope *s = t->scopes.items;
    for (uint32_t x = from, y = to; x != y;) { /* a scope has a larger number than those around it */
        if (x > y) {
            s[x].open = false;
            x = s[x].parent;
        } else {
            s[y].open = true;
            y = s[y].parent;
        }
    }
}

uint32_t ir_common_scope(const IrScopes *t, uint32_t x, uint32_t y)
{
    const IrScope *s = t->scopes.items;
    while (x != y) {
        if (s[x].depth >= s[y].depth) x = s[x].parent;
        else y = s[y].parent;
    }
    return x;
}

IrPlace ir_common_place(const IrScopes *t, IrPlace x, IrPlace y)
{
    const IrScope *s = t->scopes.items;
    while (x.scope != y.scope) {
        IrPlace *deeper = s[x.scope].depth >= s[y.scope].depth ? &x : &y;
        *deeper = (IrPlace){s[deeper->scope].parent, s[deeper->scope].stmt};
    }
    return (IrPlace){x.scope, WBB_MIN(x.stmt, y.stmt)};
}

bool ir_is_visible(const IrScopes *t, IrPlace bound, IrPlace use)
{
    const IrScope *s = t->scopes.items;
    while (s[use.scope].depth > s[bound.scope].depth) use = (IrPlace){s[use.scope].parent, s[use.scope].stmt};
    return use.scope == bound.scope && use.stmt >= bound.stmt;
}

/* address.c: the offset of an operand's element, with as few divisions as possible.
 *
 * Needs variables that state bounds; leaves the offset itself, or one in which they are replaced by their definitions.
 * A branch states what it knows of an index by a variable, which hides the definition from the sum in which it is a
 * term.
 *
 *     if lt.index(0, t % 4) { let d = 16*(t % 4) - 1 in 0..63   load %p[64*(t // 4) + d] }
 *       =>   let d' = 16*t - 1 in 0..4032   load %p[d']
 */
#include "emit/inner.h"

/* Limits on the time this takes, for each load: nodes that are counted, definitions within definitions that are
 * opened. */
enum { MAX_NODES = 64, MAX_LEVELS = 16 };

typedef struct {
    const IrGraph *g;
    IrRef counted[MAX_NODES];
    uint32_t n, divisions;
} Walk;

static IrRef definition(const IrGraph *g, IrRef x)
{
    const IrNode *n = ir_at(g, x);
    return n->op == OP_VAR ? g->vars[n->imm].definition : 0;
}

/* Counts the divisions of x and of the definitions of its variables; false: there are more than MAX_NODES nodes. */
static bool count(Walk *w, IrRef x)
{
    const IrNode n = *ir_at(w->g, x);
    if (n.op == OP_CONST) return true;
    for (uint32_t k = 0; k < w->n; k++)
        if (w->counted[k] == x) return true;
    if (w->n == MAX_NODES) return false;
    w->counted[w->n++] = x;
    w->divisions += n.op == OP_FLOORDIV || n.op == OP_MOD;
    if (n.op == OP_VAR) return !definition(w->g, x) || count(w, definition(w->g, x));
    for (uint32_t k = 0, count_of = ir_arity(w->g, x); k < count_of; k++)
        if (!count(w, ir_operand(w->g, x, k))) return false;
    return true;
}

static uint32_t divisions(const IrGraph *g, IrRef x)
{
    Walk w = {.g = g};
    return count(&w, x) ? w.divisions : UINT32_MAX;
}

/* x, each variable among its terms replaced by its definition, and so on in these. */
static IrRef opened(EmitValues *e, IrRef x)
{
    IrGraph *g = e->g;
    for (int level = 0; level < MAX_LEVELS; level++) {
        if (definition(g, x)) {
            x = definition(g, x);
            continue;
        }
        const IrNode n = *ir_at(g, x);
        if (n.op != OP_SUM) return x;
        IrRef y = ir_index(g, (int64_t)n.imm);
        bool found = false;
        for (uint32_t k = 0; k < n.a[1]; k++) {
            const IrTerm t = g->terms[n.a[0] + k];
            const IrRef inside = definition(g, t.ref);
            found = found || inside;
            y = rw_add(e->rw, y, rw_scale(e->rw, inside ? inside : t.ref, t.coefficient));
        }
        if (!found) return x;
        x = y;
    }
    return x;
}

IrRef emit_address(EmitValues *e, IrRef x)
{
    const IrRef y = opened(e, x);
    if (y == x || divisions(e->g, y) >= divisions(e->g, x)) return x;
    const IrFact f = ir_fact(e->g, x);
    if (f.lo < INT64_MIN || f.hi > INT64_MAX) return x;
    return emit_let(e, "d", y, (int64_t)f.lo, (int64_t)f.hi);
}

/* choices.c: a select inside an operand of a select by the same condition is one of its own operands.
 *
 * Needs any kernel; leaves it with each such select replaced that is used there alone. A condition is known for a node
 * where all its users know it, and for an operand of a select by it. A gradient that stays finite asks twice: in one
 * select what a function is applied to, in another whether its result counts.
 *
 *     select(p, log(select(p, x, 1)), 0)   =>   select(p, log(x), 0)
 */
#include "rewrite/rewrite.h"

/* A condition that holds, or does not, besides those of `outer`. */
typedef struct Known {
    const struct Known *outer;
    IrRef condition;
    bool holds;
    uint32_t depth;
} Known;

typedef struct {
    IrGraph *g;
    WbbArena *arena;
    const Known **known; /* by ref; what all users seen so far know */
    bool *used;          /* by ref: a user was seen */
    bool any;            /* a select is decided */
} Choices;

/* What both know; NULL: nothing. */
static const Known *common(const Known *x, const Known *y)
{
    while (x != y) {
        if (!y || (x && x->depth > y->depth)) x = x->outer;
        else y = y->outer;
    }
    return x;
}

static void use(Choices *c, IrRef r, const Known *known)
{
    c->known[r] = c->used[r] ? common(c->known[r], known) : known;
    c->used[r] = true;
}

static const Known *with(Choices *c, const Known *outer, IrRef condition, bool holds)
{
    Known *k = WBB_NEW(c->arena, Known);
    *k = (Known){outer, condition, holds, outer ? outer->depth + 1 : 1};
    return k;
}

static IrRef note_root(void *arg, IrRef r)
{
    use(arg, r, NULL);
    return r;
}

static bool is_choice(const IrNode *n) { return n->op == OP_SELECT && IR_LANES(n->type) == 1; }

/* What a select in which so much is known is: its second operand, its third, or 0, itself. */
static uint32_t decided(const Known *k, const IrNode *n)
{
    while (k && k->condition != n->a[0]) k = k->outer;
    return k ? k->holds ? 1 : 2 : 0;
}

/* Users before operands. */
static void find_known(Choices *c, IrKernel *k)
{
    IrKernel same = *k; /* note_root maps each ref to itself */
    ir_map_statements(&same, note_root, c);
    for (uint32_t v = 0; v < c->g->n_vars; v++)
        if (c->g->vars[v].definition) use(c, c->g->vars[v].definition, NULL);
    for (IrRef r = c->g->n - 1; r > 0; r--) {
        const IrNode *n = ir_at(c->g, r);
        if (!c->used[r]) continue;
        const bool choice = is_choice(n);
        c->any = c->any || (choice && decided(c->known[r], n));
        for (uint32_t i = 0; i < ir_arity(c->g, r); i++)
            use(c, ir_operand(c->g, r, i), choice && i ? with(c, c->known[r], n->a[0], i == 1) : c->known[r]);
    }
}

static IrRef remake(void *arg, IrRef old, const IrRef *made, const uint8_t *need)
{
    const Choices *c = arg;
    const IrNode *n = ir_at(c->g, old);
    (void)need;
    const uint32_t which = is_choice(n) ? decided(c->known[old], n) : 0;
    return which ? made[n->a[which]] : ir_copy(c->g, old, made, n->flags);
}

void rw_choices(IrKernel *k)
{
    WbbArena *a = wbb_arena_new(k->g->cx);
    Choices c = {.g = k->g, .arena = a};
    c.known = WBB_NEW_N(a, const Known *, k->g->n);
    c.used = WBB_NEW_N(a, bool, k->g->n);
    find_known(&c, k);
    if (c.any) ir_remake(k, remake, &c);
    wbb_arena_free(a);
}

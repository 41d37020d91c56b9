/* pairs.c: two elements that are packed are computed together, where the target computes two of them at once.
 *
 * Needs straight code, whose packs say which elements lie side by side: what is stored, or goes to tensor cores; leaves
 * packed operations in place of packs of scalar ones, as far as that takes fewer instructions. Loops of lanes have done
 * the same for their lanes (lanes_value.c). A value that something else needs too is packed as it is.
 *
 *     pack(mul.bf16(s, cvt.bf16.f32(x)), mul.bf16(s, cvt.bf16.f32(y)))        4 instructions, and the pack
 * =>  mul.bf16x2(splat(s), cvt.bf16x2.f32x2(pack(x, y)))                       2, and the splat
 *
 * f32 lie in registers of their own, so that to pack them is nothing.
 */
#include "vector/lanes.h"

enum { DEEPEST = 32, REGISTER = 32 /* bits */ };

typedef struct {
    Lanes *l;
    IrGraph *g;
    const uint32_t *uses; /* by ref: nodes and statements that need it */
} Pairs;

/* Instructions for two elements, without what is needed anyway: each by itself; as one value of two lanes. */
typedef struct {
    uint32_t apart, together;
} Ways;

/* Two elements of one load, or of one value of several lanes, that are a part of it. */
static bool are_neighbours(const Pairs *p, const IrNode *x, const IrNode *y)
{
    if (x->op != y->op || x->type != y->type || x->a[0] != y->a[0]) return false;
    if (x->op == OP_PART) return x->imm % 2 == 0 && y->imm == x->imm + 1;
    if (x->op != OP_LOAD || IR_LANES(x->type) > 1 || !ir_multiple(p->g, x->a[1], 2)) return false;
    return rw_sub(p->l->rw, y->a[1], x->a[1]) == ir_index(p->g, 1);
}

/* Instructions to bring two values into one register: none, where each has one or where they lie so in memory. */
static uint32_t packing(const Pairs *p, IrRef x, IrRef y)
{
    const IrNode a = *ir_at(p->g, x), b = *ir_at(p->g, y);
    if (sc_type_info[IR_SC(a.type)].bits >= REGISTER || are_neighbours(p, &a, &b)) return 0;
    return ir_is_const(p->g, x) && ir_is_const(p->g, y) ? 0 : 1;
}

static bool are_alike(const IrNode *a, const IrNode *b)
{
    return a->op == b->op && a->type == b->type && a->flags == b->flags && a->imm == b->imm;
}

/* Is it one operation on two elements, for which the target has an instruction, and that nothing else needs? */
static bool is_pair(const Pairs *p, IrRef x, IrRef y)
{
    const IrNode *a = ir_at(p->g, x), *b = ir_at(p->g, y);
    if (x == y || p->uses[x] != 1 || p->uses[y] != 1 || !are_alike(a, b) || IR_LANES(a->type) > 1) return false;
    if (!a->a[0] || a->op == OP_LOAD || ir_in_pool(a) || ir_is_index(p->g, x)) return false;
    const IrType from = ir_at(p->g, a->a[0])->type;
    return from == ir_at(p->g, b->a[0])->type && sc_type_info[IR_SC(a->type)].bits < REGISTER &&
           vec_has_pairs(p->l, a, IR_SC(from));
}

/* The operands of the second one in the order of the first one's: of a commutative operation the older one stands first
 * in both, whatever it is. */
static void operands(const Pairs *p, const IrNode *a, const IrNode *b, IrRef *of)
{
    for (uint32_t i = 0; i < 3; i++) of[i] = b->a[i];
    if (!sc_op_info[a->op].commutative || a->a[0] == b->a[0] || a->a[1] == b->a[1]) return;
    const uint16_t x = ir_at(p->g, a->a[0])->op, y = ir_at(p->g, a->a[1])->op;
    const uint16_t u = ir_at(p->g, b->a[0])->op, v = ir_at(p->g, b->a[1])->op;
    if (a->a[0] == b->a[1] || a->a[1] == b->a[0] || (x == v && y == u && x != u)) of[0] = b->a[1], of[1] = b->a[0];
}

static Ways ways(const Pairs *p, IrRef x, IrRef y, uint32_t depth);

/* Of one operation on two elements, which are pairs: it and what it needs. of: the operands of the second one. */
static Ways with_operands(const Pairs *p, IrRef x, IrRef y, uint32_t depth, IrRef *of)
{
    const IrNode a = *ir_at(p->g, x), b = *ir_at(p->g, y);
    operands(p, &a, &b, of);
    Ways w = {2, 1};
    for (uint32_t i = 0; i < 3 && a.a[i]; i++) {
        const Ways below = ways(p, a.a[i], of[i], depth + 1);
        w.apart += below.apart;
        w.together += below.together;
    }
    return w;
}

/* Recursion, DEEPEST at most; a value that one other needs alone is met once. */
static Ways ways(const Pairs *p, IrRef x, IrRef y, uint32_t depth)
{
    const uint32_t pack = packing(p, x, y);
    if (depth == DEEPEST || !is_pair(p, x, y)) return (Ways){.together = pack};
    IrRef of[3];
    Ways w = with_operands(p, x, y, depth, of);
    w.together = WBB_MIN(w.together, w.apart + pack);
    return w;
}

/* The value of two lanes; made: what nodes outside of it have become. */
static IrRef together(const Pairs *p, IrRef x, IrRef y, const IrRef *made, uint32_t depth)
{
    const IrNode n = *ir_at(p->g, x);
    const IrType type = vec_with_lanes(n.type, 2);
    if (depth < DEEPEST && is_pair(p, x, y)) {
        IrRef of[3], to[3] = {0, 0, 0};
        const Ways w = with_operands(p, x, y, depth, of);
        if (w.together < w.apart + packing(p, x, y)) {
            for (uint32_t i = 0; i < 3 && n.a[i]; i++) to[i] = together(p, n.a[i], of[i], made, depth + 1);
            p->g->making_rule = p->g->rule[x];
            p->g->making_origin = p->g->origin[x];
            return rw_make(p->l->rw, (ScOp)n.op, type, n.flags, to[0], to[1], to[2], n.imm);
        }
    }
    if (made[x] == made[y]) return rw_make(p->l->rw, OP_SPLAT, type, 0, made[x], 0, 0, 0);
    return rw_make(p->l->rw, OP_PACK, type, 0, made[x], made[y], 0, 0);
}

static IrRef remake(void *arg, IrRef old, const IrRef *made, const uint8_t *need)
{
    const Pairs *p = arg;
    (void)need;
    const IrNode n = *ir_at(p->g, old);
    const bool packs = n.op == OP_PACK && IR_LANES(n.type) == 2;
    return packs ? together(p, n.a[0], n.a[1], made, 0) : ir_copy(p->g, old, made, n.flags);
}

static const uint32_t *count_uses(const IrKernel *k, WbbArena *a)
{
    const IrGraph *g = k->g;
    uint32_t *uses = WBB_NEW_N(a, uint32_t, g->n);
    const uint8_t *need = ir_needed(g, a, k);
    IrRefs roots = {0};
    for (uint32_t i = 0; i < k->n_functions; i++) ir_roots(g, a, &k->functions[i]->body, &roots);
    ir_roots(g, a, &k->body, &roots);
    for (uint32_t i = 0; i < roots.n; i++) uses[roots.items[i]]++;
    for (IrRef r = 1; r < g->n; r++)
        for (uint32_t i = 0; need[r] && i < ir_arity(g, r); i++) uses[ir_operand(g, r, i)]++;
    return uses;
}

static bool is_narrow_pack(const IrNode *n)
{
    return n->op == OP_PACK && IR_LANES(n->type) == 2 && sc_type_info[IR_SC(n->type)].bits < REGISTER;
}

/* Is it a pack of one operation on two elements, or of one value? */
static bool may_gain(const Pairs *p, IrRef r)
{
    const IrNode *n = ir_at(p->g, r);
    return is_narrow_pack(n) && (n->a[0] == n->a[1] || is_pair(p, n->a[0], n->a[1]));
}

void vec_pairs(Lanes *l, IrKernel *k)
{
    const uint32_t n = k->g->n;
    bool any = false;
    for (IrRef r = 1; r < n && !any; r++) any = is_narrow_pack(ir_at(k->g, r));
    if (!any) return;
    WbbArena *a = wbb_arena_new(k->g->cx);
    Pairs p = {.l = l, .g = k->g, .uses = count_uses(k, a)};
    any = false;
    for (IrRef r = 1; r < n && !any; r++) any = may_gain(&p, r);
    if (any) ir_remake(k, remake, &p);
    wbb_arena_free(a);
}

/* sweep.c: the passes `simplify` and `lower`, each one sweep over a kernel.
 *
 * Needs a kernel; leaves it with the rules of one phase applied everywhere. A sweep marks the nodes that statements
 * need, then makes each of them from its new operands, in order of refs, by builder.c. Likewise the rules about folds
 * are applied to terms of no kernel.
 */
#include "rewrite/inner.h"

/* Is every operand the same as before? Then the node need not be looked up. */
static bool is_unchanged(const IrGraph *g, const IrNode *n, const IrRef *made)
{
    if (!ir_in_pool(n)) return made[n->a[0]] == n->a[0] && made[n->a[1]] == n->a[1] && made[n->a[2]] == n->a[2];
    for (uint32_t i = 0; i < n->a[1]; i++)
        if (made[g->terms[n->a[0] + i].ref] != g->terms[n->a[0] + i].ref) return false;
    return true;
}

static IrRef rebuild(RwCx *rw, IrRef r, const IrRef *made)
{
    const IrNode n = *ir_at(rw->g, r);
    const bool function = rw->phase == RW_SIMPLIFY && sc_is_marked((ScOp)n.op, IR_SC(n.type), rw->accuracy);
    /* products of a dot are noted in every text, and stay the nodes that they are */
    const bool noted = n.op == OP_MUL && (n.flags & SC_PERMISSIONS) == SC_FLAG_CONTRACT;
    const uint32_t unused = rw->phase == RW_LOWER && !noted ? SC_PERMISSIONS & ~rw->target->late : 0;
    const uint32_t flags = (n.flags & ~unused) | (function ? (uint32_t)SC_FLAG_APPROX : 0);
    if (flags == n.flags && is_unchanged(rw->g, &n, made)) return rw_normalize(rw, r);
    /* a node that loses flags keeps the order of its operands: it is that of nodes which had none */
    if (n.op == OP_CALL || n.flags & unused) return rw_normalize(rw, ir_copy(rw->g, r, made, flags));
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = rw->g->terms[n.a[0] + i];
            terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = made[t.ref]};
        }
        return rw_sum(rw, (int64_t)n.imm, terms, n.a[1]);
    }
    return rw_make(rw, (ScOp)n.op, n.type, flags, made[n.a[0]], made[n.a[1]], made[n.a[2]], n.imm);
}

typedef struct {
    RwCx *rw;
    bool index; /* index nodes, too; those that the builder made are in normal form already */
} Sweep;

static IrRef swept(void *arg, IrRef r, const IrRef *made, const uint8_t *need)
{
    const Sweep *s = arg;
    (void)need;
    return !s->index && ir_is_index(s->rw->g, r) ? r : rebuild(s->rw, r, made);
}

static void sweep(RwCx *rw, IrKernel *k, bool index) { ir_remake(k, swept, &(Sweep){rw, index}); }

void rw_index(RwCx *rw, IrKernel *k) { sweep(rw, k, true); }

static void begin(RwCx *rw, RwPhase phase)
{
    for (uint32_t r = 0; r < rw->normal_capacity; r++) /* normal forms of index nodes hold in every phase */
        if (r == 0 || r >= rw->g->n || !ir_is_index(rw->g, r)) rw->normal[r] = 0;
    rw->phase = (int)phase;
}

void rw_replace(RwCx *rw, WbbArena *a, IrRef *roots, uint32_t n_roots, const IrRef *from, const IrRef *to, uint32_t n)
{
    IrRefs nodes = {0};
    for (uint32_t k = 0; k < n_roots; k++)
        if (roots[k]) WBB_PUSH(a, &nodes, roots[k]);
    ir_gather(rw->g, a, &nodes, rw_marks(rw));
    for (uint32_t k = 0; k < n; k++) rw->made[from[k]] = to[k];
    for (uint32_t k = 0; k < nodes.n; k++) { /* rw->made moves where rules ask for marks */
        const IrRef r = nodes.items[k], made = rw->made[r] ? 0 : rebuild(rw, r, rw->made);
        if (made) rw->made[r] = made;
    }
    for (uint32_t k = 0; k < n_roots; k++) roots[k] = rw->made[roots[k]];
    for (uint32_t k = 0; k < nodes.n; k++) rw->made[nodes.items[k]] = 0;
    for (uint32_t k = 0; k < n; k++) rw->made[from[k]] = 0;
}

void rw_arrays(RwCx *rw, WbbArena *a, IrRef *roots, uint32_t n)
{
    begin(rw, RW_ARRAYS);
    rw_replace(rw, a, roots, n, NULL, NULL, 0);
    rw->phase = -1;
}

void rw_run(RwCx *rw, IrKernel *k, RwPhase phase)
{
    assert(phase > RW_OPTIONS);
    begin(rw, phase);
    if (phase == RW_ISEL) rw_isel(rw, k);
    else sweep(rw, k, false);
    rw->phase = -1;
#ifndef NDEBUG
    if (phase == RW_ISEL) return;
    const uint32_t before = rw->n_events;
    rw->phase = (int)phase;
    sweep(rw, k, false);
    rw->phase = -1;
    assert(rw->n_events == before); /* a second sweep changes nothing */
#endif
}

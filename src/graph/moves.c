/* moves.c: moves of moves as one, or as nothing.
 *
 * Needs a normalised module; leaves each move, pad and concatenate that reads every element through others from one
 * array, as one move of that array where there is one, or as the array itself. What a chain of them reads is the index
 * that src/index composes, so no operation is known here by its name but for the one that is made:
 *
 *     r = f32[8,1] reshape(s)  b = f32[8,1] broadcast(r), dimensions={0,1}  t = f32[8] reshape(b)      t is s
 *     c = concatenate(x, y)  l = slice(c), of the elements of y                                        l is y
 *     p = f32[6] pad(f32[8] x, z), padding=-1_-1                                                       slice(x), [1:7]
 *
 * These are no passes of every compile: what they leave depends on the whole of a computation, and kernels that are cut
 * from it must not.
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

#include <string.h>

enum { MOST = 24 }; /* moves of a chain */

typedef struct {
    WbbArena *arena;
    RwCx *rw;
} Moves;

static bool is_move(const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE || i->shape->dynamic || hlo_elements(i->shape) <= 0) return false;
    if (hlo_kind(i->opcode) == HLO_IS_MOVE) return i->opcode != HLO_BITCAST && ix_has_map(i, 0);
    return hlo_joins(i->opcode);
}

/* The operand of a concatenate that has the first element of an index: the one to ask ix_access about, of many. */
static uint32_t part_of(const IrGraph *g, const HloInstruction *i, const IrRef *index)
{
    const int64_t dim = i->dimensions[0];
    const WbbI128 first = ir_fact((IrGraph *)g, index[dim]).lo;
    int64_t end = i->operands[0]->shape->dims[dim];
    uint32_t k = 0;
    while (k + 1 < i->n_operands && first >= end) end += i->operands[++k]->shape->dims[dim];
    return k;
}

/* The operand that has the elements at an index, all of them, which becomes theirs there; NULL: no operand has all. */
static const HloInstruction *operand_at(const Moves *m, const HloInstruction *i, const IrRef **index)
{
    const uint32_t k = i->opcode == HLO_CONCATENATE ? part_of(rw_graph(m->rw), i, *index) : 0;
    const HloInstruction *x = i->operands[k];
    IxAccess at;
    if (x->shape->type != i->shape->type || x->shape->dynamic || hlo_elements(x->shape) <= 0) return NULL;
    ix_access(m->rw, m->arena, i, k, *index, NULL, NULL, &at);
    if (at.never || at.n_conditions) return NULL;
    *index = at.index;
    return x;
}

/* Which dimension of the result each one of an operand is; false: one is none, or they are in another order where
 * `ordered`. */
static bool find_places(const HloShape *of, const IrRef *index, const HloShape *s, const IrRef *at, bool ordered,
                        int64_t *to)
{
    bool used[HLO_RANK_LIMIT] = {0};
    uint32_t from = 0;
    for (uint32_t k = 0; k < of->rank; k++) {
        uint32_t d = ordered ? from : 0;
        while (d < s->rank && (used[d] || s->dims[d] != of->dims[k] || at[d] != index[k])) d++;
        if (d == s->rank) return false;
        used[d] = true, to[k] = d, from = d + 1;
    }
    return true;
}

static bool find_slices(const IrGraph *g, const HloShape *of, const IrRef *index, const HloShape *s, const IrRef *at,
                        HloSlice *slices)
{
    for (uint32_t k = 0; k < of->rank; k++) {
        const IrNode *n = ir_at(g, index[k]);
        int64_t start = 0, stride = 1;
        if (n->op == OP_CONST) {
            start = (int64_t)n->imm;
            if (s->dims[k] != 1) return false;
        } else if (n->op == OP_SUM) {
            start = (int64_t)n->imm, stride = g->terms[n->a[0]].coefficient;
            if (n->a[1] != 1 || g->terms[n->a[0]].ref != at[k] || stride < 1) return false;
        } else if (index[k] != at[k]) {
            return false;
        }
        slices[k] = (HloSlice){start, start + (s->dims[k] - 1) * stride + 1, stride};
    }
    return true;
}

/* The element of x at `index` for each index `at` of i, which is x itself, or one move of it; NULL: more are needed. */
static HloInstruction *as_one(const Moves *m, HloBuilder *b, const HloInstruction *i, const IrRef *at,
                              const HloInstruction *x, const IrRef *index, bool only_itself)
{
    const IrGraph *g = rw_graph(m->rw);
    const HloShape *s = i->shape, *of = x->shape;
    HloInstruction *y = hlo_mapped(b, x);
    int64_t to[HLO_RANK_LIMIT], order[HLO_RANK_LIMIT];
    if (hlo_same_dims(of, s) && !memcmp(index, at, s->rank * sizeof *at))
        return hlo_same_layout(y->shape, s) ? y : NULL;
    if (only_itself) return NULL;
    if (hlo_elements(of) == hlo_elements(s) && gr_row_major(m->rw, of, index) == gr_row_major(m->rw, s, at))
        return hlo_new_reshape(b, y, s->rank, s->dims);
    if (of->rank == 0) return hlo_new_splat(b, y, s->rank, s->dims);
    if (of->rank < s->rank)
        return find_places(of, index, s, at, true, to) ? hlo_new_broadcast(b, y, s, to, of->rank) : NULL;
    if (of->rank > s->rank) return NULL;
    if (find_places(of, index, s, at, false, to)) {
        for (uint32_t k = 0; k < of->rank; k++) order[to[k]] = k;
        return hlo_new_transpose(b, y, order);
    }
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, of->rank);
    return find_slices(g, of, index, s, at, slices) ? hlo_new_slice(b, y, slices) : NULL;
}

static bool has_less(const HloInstruction *i)
{
    return is_move(i) && (i->opcode == HLO_PAD || hlo_same_dims(i->shape, i->operands[0]->shape) ||
                          is_move(i->operands[0]));
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!has_less(i)) return NULL;
    Moves m = *(const Moves *)b->arg;
    IrGraph *g = rw_graph(m.rw);
    IrRef at[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < i->shape->rank; d++) {
        const int64_t n = i->shape->dims[d];
        at[d] = n == 1 ? ir_index(g, 0) : ir_var(g, ir_var_new(g, "d", IR_LOOP, 0, n - 1, 0));
    }
    const HloInstruction *chain[MOST + 1] = {i};
    const IrRef *index[MOST + 1] = {at};
    uint32_t n = 0;
    for (; n < MOST && is_move(chain[n]); n++) {
        index[n + 1] = index[n];
        chain[n + 1] = operand_at(&m, chain[n], &index[n + 1]);
        if (!chain[n + 1]) break;
    }
    HloInstruction *one = NULL;
    for (; n > 0 && !one; n--) one = as_one(&m, b, i, at, chain[n], index[n], n == 1 && i->opcode != HLO_PAD);
    return one;
}

static const HloModule *moves(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const Moves all = {a, ix_engine(cx, a)};
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = has_less, .rewrite = rewrite, .arg = &all});
}

static const HloModule *run(WbbCx *cx, WbbArena *a, const HloModule *m, const HloPass *p)
{
    static const struct {
        const char *name;
        const HloModule *(*run)(WbbCx *cx, WbbArena *a, const HloModule *m);
    } own[] = {{"labels", gr_labels}, {"moves", moves}, {"ordered", gr_ordered}};
    for (size_t k = 0; k < WBB_LEN(own) && !p->run; k++)
        if (!strcmp(own[k].name, p->name)) return own[k].run(cx, a, m);
    assert(p->run);
    return p->run(cx, a, m);
}

const HloModule *gr_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name)
{
    const HloPass *p = hlo_find_pass(name);
    if (p->run) return hlo_run_pass(cx, a, m, name);
    return hlo_cleaned(cx, a, run(cx, a, m, p), m);
}

const HloModule *gr_simplify(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const HloModule *made = m;
    for (const HloPass *p = hlo_passes; p->name; p++)
        if (p->scope == HLO_FOR_MODULE) made = run(cx, a, made, p);
    if (made != m) hlo_verify(cx, made);
    return made;
}

const HloModule *gr_of_kernel(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    m = gr_prepared(cx, a, m);
    return hlo_fusion(cx, m).fusion ? m : gr_simplify(cx, a, m);
}

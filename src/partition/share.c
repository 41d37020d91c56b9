/* share.c: a reduction whose terms the threads share, under a layout that is given.
 *
 * Needs the plan of a fusion that is one reduction, of one or several arrays, whose operands anything may compute;
 * leaves its kernel: one launch range with one stage, whose space is that of the terms. Neighbouring dimensions that
 * are all kept or all reduced are one dimension of the space.
 *
 *     reduce(f32[8,128,64]), dimensions={1,2}     =>   rows: 8, kept; columns: 8192, reduced
 *     reduce(f32[4096,1024]), dimensions={0}      =>   rows: 4096, reduced; columns: 1024, kept
 */
#include "partition/partition.h"

#include <string.h>

const HloInstruction *part_whole_reduce(const HloComputation *body)
{
    const HloInstruction *root = body->root, *reduce = part_value(root, 0).i;
    const uint32_t n = root->shape->type == SC_TUPLE ? root->shape->n_leaves : 1;
    if (!n || reduce->opcode != HLO_REDUCE || reduce->n_operands != 2 * n) return NULL;
    for (uint32_t k = 0; k < n; k++) {
        const PartValue v = part_value(root, k);
        if (v.i != reduce || v.part != k || part_is_packed(part_shape(reduce, k)->type)) return NULL;
        const HloShape *s = reduce->operands[k]->shape;
        if (memcmp(s->minor_to_major, reduce->operands[0]->shape->minor_to_major, s->rank * sizeof *s->minor_to_major))
            return NULL;
    }
    return hlo_elements(reduce->operands[0]->shape) ? reduce : NULL;
}

bool part_is_reduced(const HloInstruction *i, uint32_t d)
{
    for (uint32_t k = 0; k < i->n_dimensions; k++)
        if (i->dimensions[k] == (int64_t)d) return true;
    return false;
}

/* The dimensions of the space, the slowest in memory first; of one element it has one dimension. */
static void find_space(WbbArena *a, PartStage *s)
{
    const HloInstruction *i = s->reduce;
    const HloShape *x = i->operands[0]->shape;
    s->space = WBB_NEW_N(a, PartGroup, x->rank + 1u);
    for (uint32_t p = x->rank; p-- > 0;) {
        const uint32_t d = x->minor_to_major[p];
        const bool reduced = part_is_reduced(i, d);
        if (x->dims[d] == 1) continue;
        if (!s->n_space || s->space[s->n_space - 1].dim.reduced != reduced) {
            PartGroup *g = &s->space[s->n_space++];
            g->dim = (PartDim){.size = 1, .reduced = reduced};
            g->of = WBB_NEW_N(a, uint32_t, x->rank);
        }
        PartGroup *g = &s->space[s->n_space - 1];
        g->of[g->n++] = d;
        g->dim.size *= x->dims[d];
    }
    if (!s->n_space) s->space[s->n_space++].dim = (PartDim){.size = 1, .reduced = true};
    for (uint32_t n = 0; n < s->n_space; n++)
        s->space[n].dim.name = s->n_space == 1   ? "elements"
                               : s->n_space == 2 ? (n ? "columns" : "rows")
                                                 : wbb_format(a, "d%u", n);
}

/* Is the computation one operation on both its parameters whose terms may be taken in any order? */
static bool commutes(const HloInstruction *reduce)
{
    const HloInstruction *root = reduce->called[0]->root;
    switch (root->opcode) {
    case HLO_ADD:
    case HLO_MULTIPLY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_AND:
    case HLO_OR:
    case HLO_XOR:
        return root->operands[0] != root->operands[1] && root->operands[0]->opcode == HLO_PARAMETER &&
               root->operands[1]->opcode == HLO_PARAMETER;
    default: return false;
    }
}

/* A computation that is only associative combines neighbours: what a thread has lies side by side, then what a warp
 * has, and so on. */
static void check_order(WbbCx *cx, const PartStage *s)
{
    uint32_t n = 0;
    for (uint32_t d = 0; d < s->layout.n_dims; d++) {
        const PartDim *x = &s->layout.dims[d];
        if (!x->reduced) continue;
        if (++n > 1) part_layout_fail(cx, x->column, "%s: the computation keeps the order of one dimension", x->name);
        for (uint32_t k = 1; k < x->n_factors; k++)
            if (x->factors[k].level < x->factors[k - 1].level)
                part_layout_fail(cx, x->factors[k].column,
                                 "%s: the computation is not known to commute, so the levels stand in their order",
                                 part_level_name[x->factors[k].level]);
    }
}

static void check_levels(WbbCx *cx, const PartStage *s, const TgTarget *t)
{
    for (uint32_t k = 0; k < s->n_outputs; k++)
        if (sc_type_info[part_shape(s->reduce, k)->type].cls == 'C')
            wbb_decline(cx, s->reduce->loc, WHY_TYPE, "reduce: threads share no complex values yet");
    uint32_t loops = 0, lanes = 1;
    int lane = 0; /* the column of a reduced one */
    for (uint32_t d = 0; d < s->layout.n_dims; d++) {
        const PartDim *x = &s->layout.dims[d];
        for (uint32_t k = 0; k < x->n_factors; k++) {
            const PartFactor *f = &x->factors[k];
            const char *name = part_level_name[f->level];
            if (f->level == PART_CLUSTER) part_layout_fail(cx, f->column, "%s: reductions do not take it yet", name);
            if (f->level == PART_LOOP && (!x->reduced || loops++))
                part_layout_fail(cx, f->column, "%s: of one reduced dimension", name);
            if (f->level == PART_LANE && x->reduced) lanes *= (uint32_t)f->size, lane = f->column;
            if (f->level <= PART_REGISTER && f->size > 64)
                part_layout_fail(cx, f->column, "%s %lld: at most 64", name, (long long)f->size);
        }
    }
    if (lanes > 1 && part_layout_size(&s->layout, PART_LANE) != t->warp)
        part_layout_fail(cx, lane, "%lld lanes: what lanes combine takes all %u of a warp",
                         (long long)part_layout_size(&s->layout, PART_LANE), t->warp);
}

PartKernel part_share(WbbCx *cx, WbbArena *a, PartPlan *p, const HloInstruction *reduce, const TgTarget *t,
                      const char *layout)
{
    PartKernel k = {.n_ranges = 1, .ranges = WBB_NEW(a, PartRange)};
    PartRange *r = k.ranges;
    *r = (PartRange){.space = part_shape(reduce, 0), .elements = hlo_elements(part_shape(reduce, 0)), .n_stages = 1};
    PartStage *s = r->stages = WBB_NEW(a, PartStage);
    *s = (PartStage){.kind = PART_REDUCE, .reduce = reduce, .n_outputs = p->n_outputs, .packed_group = 1};
    s->outputs = WBB_NEW_N(a, uint32_t, p->n_outputs);
    for (uint32_t o = 0; o < p->n_outputs; o++) s->outputs[o] = o;
    find_space(a, s);
    PartDim *dims = WBB_NEW_N(a, PartDim, s->n_space + 1u);
    for (uint32_t n = 0; n < s->n_space; n++) dims[n] = s->space[n].dim;
    s->layout = part_layout_parse(cx, a, layout, dims, s->n_space);
    part_layout_check(cx, a, &s->layout, t);
    check_levels(cx, s, t);
    s->commutes = commutes(reduce);
    if (!s->commutes) check_order(cx, s);
    s->maps = part_layout_maps(cx, p->rw, a, &s->layout);
    s->why_vector = s->why_register = k.why_block = k.why_grid = "the layout was given";
    k.block = (uint32_t)(part_layout_size(&s->layout, PART_LANE) * part_layout_size(&s->layout, PART_WARP));
    k.grid = r->blocks = (uint32_t)part_layout_size(&s->layout, PART_GRID);
    p->kind = "reduction";
    p->why_kind = "threads share its terms, as the layout says";
    return k;
}

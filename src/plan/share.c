/* share.c: kernels whose threads share the terms of reductions: which reductions, in which stages, and which outputs.
 *
 * Needs the plan of a fusion with its roots; leaves one launch range whose stages are over the space of the terms. All
 * reductions of the kernel have terms of one shape and reduce the same dimensions. One that needs the result of
 * another, for its own kept elements, is of a later stage. An output has the shape of the terms, or of the results,
 * seen through elementwise operations and views; other fusions are no shared kernels. Whether every result is needed at
 * the kept elements of the position alone is decided on index nodes, for a position of variables. Scans are shared in
 * the same way: their space is the shape of their results, and a result is needed at its own position alone.
 *
 *     softmax f32[128,1000]   =>   reduce %max; reduce %sum, which needs %max; map %out, which needs both
 */
#include "graph/graph.h"
#include "plan/work.h"

#include <string.h>

typedef struct {
    WbbArena *a;
    Plan *p;
    RwCx *rw;
    const HloComputation *body;
    const HloInstruction *hero; /* the reduction with the most terms */
    PlanReduce *reduces;        /* [n_reduces], in the order of the body */
    uint32_t n_reduces, *of_stage; /* the stage of each, from 1 on */
    uint32_t *stage;            /* by id: stages that must be done before the value can be computed */
    const HloShape *positions;  /* the space; of a sort the stretch of it that outputs have, from `first` on */
    int64_t first;
    IrRef *at, *kept;           /* a position as an index of the terms, and of the results */
    IrRef **seen;               /* by id: the index at which a check has met the instruction last */
    bool *of_terms;             /* by id: mark_terms */
    bool *reduced;              /* by id: a reduction of the kernel */
    PlanPath *paths;            /* by output */
    bool *done, *taken;         /* by output: another kernel makes it; this kernel does. done NULL: this makes all */
    bool *needed;               /* by id: an output that is taken needs it */
    int64_t tries;              /* values below an output that are held against the terms, at most */
    int64_t limit;              /* terms of a reduction that each thread computes by itself, at most */
    uint32_t first_across;      /* outputs from this one on are sums across rows */
    const PlanRowSpace *rows;   /* of a product's results; NULL: no reduction of them is known */
    IrRef *of_row;              /* a position as an index of the rows */
} Sharing;

/* --- reductions --------------------------------------------------------------------------------------------------- */
/* Sums and products of floats under 32 bits are of f32; operations on integers under 32 bits are of 32, where that
 * gives the same bits. */
static ScType sum_type(const HloInstruction *i)
{
    const HloOpcode op = i->called[0]->root->opcode;
    const ScType t = i->operands[0]->shape->type;
    const ScTypeInfo *info = &sc_type_info[t];
    if (hlo_combiner(i->called[0]) == OP_NONE || i->n_operands > 2 || info->bits >= 32) return SC_NONE;
    if (sc_is_int(t)) return !hlo_has(op, HLO_WIDENS) ? SC_NONE : info->cls == 'I' ? SC_I32 : SC_U32;
    return sc_is_float(t) && (op == HLO_ADD || op == HLO_MULTIPLY) ? SC_F32 : SC_NONE;
}

ScType plan_float_sum(const HloInstruction *i)
{
    const ScType t = sum_type(i);
    return sc_is_float(t) ? t : SC_NONE;
}

bool plan_same_space(const HloInstruction *x, const HloInstruction *y)
{
    HloScan of_x = {0}, of_y = {0};
    if (x->opcode != y->opcode || !hlo_same_dims(plan_space_shape(x), plan_space_shape(y))) return false;
    if (x->opcode == HLO_SORT || x->opcode == HLO_DOT) return x == y;
    if (x->opcode == HLO_REDUCE_WINDOW)
        return hlo_is_scan(x, &of_x) && hlo_is_scan(y, &of_y) && of_x.dim == of_y.dim && of_x.reverse == of_y.reverse;
    return gr_same_reduced(x, y);
}

/* Of the reductions that were not tried, the one with the most terms; those of the same dimensions are then tried,
 * too. NULL: all were. */
static const HloInstruction *next_hero(const HloComputation *body, bool *tried)
{
    const HloInstruction *most = NULL;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (i->opcode != HLO_REDUCE || tried[k] || i->operands[0]->shape->rank > HLO_RANK_LIMIT) continue;
        const int64_t n = hlo_elements(i->operands[0]->shape);
        if (n && (!most || n > hlo_elements(most->operands[0]->shape))) most = i;
    }
    for (uint32_t k = 0; most && k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (i->opcode == HLO_REDUCE && plan_same_space(i, most)) tried[k] = true;
    }
    return most;
}

/* Has it a computation? A sort and a product of matrices are the only one of their kernel. */
static bool combines(const HloInstruction *i) { return i->opcode != HLO_SORT && i->opcode != HLO_DOT; }

static void find_reduces(Sharing *s)
{
    const HloComputation *body = s->body;
    s->reduces = WBB_NEW_N(s->a, PlanReduce, body->n_instructions);
    s->of_stage = WBB_NEW_N(s->a, uint32_t, body->n_instructions);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        for (uint32_t x = 0; x < i->n_operands; x++)
            s->stage[i->id] = WBB_MAX(s->stage[i->id], s->stage[i->operands[x]->id]);
        if (s->rows && i->opcode == HLO_REDUCE) s->stage[i->id] = 0; /* row_statistics.h says where it is needed */
        if (i->opcode != s->hero->opcode || !plan_same_space(i, s->hero)) continue;
        s->of_stage[s->n_reduces] = ++s->stage[i->id];
        PlanReduce *r = &s->reduces[s->n_reduces++];
        *r = (PlanReduce){.i = i};
        if (combines(i)) r->commutes = hlo_combiner(i->called[0]) != OP_NONE, r->sum = sum_type(i);
        if (!r->commutes && i->opcode == HLO_REDUCE) r->number = gr_numbered(rw_graph(s->rw)->cx, s->a, i);
        if (r->number) r->commutes = true;
        if (i->opcode == HLO_REDUCE_WINDOW) hlo_is_scan(i, &r->scan);
        s->reduced[i->id] = true;
    }
}

/* --- indices ------------------------------------------------------------------------------------------------------ */
/* The stretch of each row of a sort that slices of its results have: that of one of them, as all outputs have the same.
 */
static void find_stretch(Sharing *s)
{
    const HloShape *all = s->positions = plan_space_shape(s->hero);
    for (uint32_t k = 0; k < s->body->n_instructions && s->hero->opcode == HLO_SORT; k++) {
        const HloInstruction *i = s->body->instructions[k];
        if (i->opcode != HLO_SLICE || plan_value(i->operands[0], 0).i != s->hero) continue;
        const uint32_t dim = (uint32_t)s->hero->dimensions[0];
        HloShape *stretch = WBB_NEW(s->a, HloShape);
        int64_t *dims = WBB_NEW_N(s->a, int64_t, all->rank);
        memcpy(dims, all->dims, all->rank * sizeof *dims);
        dims[dim] = i->shape->dims[dim];
        *stretch = *all, stretch->dims = dims;
        if (!hlo_same_dims(i->shape, stretch) || !dims[dim] || i->slices[dim].stride != 1) continue;
        s->positions = stretch, s->first = i->slices[dim].start;
        return;
    }
}

static void find_position(Sharing *s)
{
    const HloShape *x = s->positions;
    IxMap *variables = ix_map_new(s->a);
    s->at = WBB_NEW_N(s->a, IrRef, x->rank + 1u), s->kept = WBB_NEW_N(s->a, IrRef, x->rank + 1u);
    for (uint32_t d = 0; d < x->rank; d++)
        s->at[d] = x->dims[d] == 1 ? ir_index(rw_graph(s->rw), 0)
                                   : ix_map_var(s->rw, s->a, variables, IX_DIMENSION,
                                                ix_map_name(s->a, variables, IX_DIMENSION), 0, x->dims[d] - 1);
    plan_kept_index(s->hero, s->at, s->kept);
    s->of_row = WBB_NEW_N(s->a, IrRef, x->rank + 1u);
    for (uint32_t d = 0, n = 0; s->rows && d < x->rank; d++)
        if (d < s->rows->first || d >= s->rows->first + s->rows->n) s->of_row[n++] = s->at[d];
    if (s->positions == plan_space_shape(s->hero)) return;
    const uint32_t dim = (uint32_t)s->hero->dimensions[0];
    s->kept[dim] = rw_add(s->rw, s->at[dim], ir_index(rw_graph(s->rw), s->first));
}

static void push(Sharing *s, const HloInstruction *i, const IrRef *index, const HloInstruction ***stack, uint32_t *n)
{
    i = plan_value(i, 0).i;
    const size_t bytes = plan_shape(i, 0)->rank * sizeof *index;
    IrRef **seen = &s->seen[i->id];
    if (!s->stage[i->id] || (*seen && (!bytes || !memcmp(*seen, index, bytes)))) return;
    *seen = WBB_NEW_N(s->a, IrRef, plan_shape(i, 0)->rank + 1u);
    if (bytes) memcpy(*seen, index, bytes);
    (*stack)[(*n)++] = i;
}

/* Does a value at an index need each result of a stage at the kept elements of the position alone? */
static bool needs_kept_alone(Sharing *s, const HloInstruction *of, const IrRef *index)
{
    const HloInstruction **stack = WBB_NEW_N(s->a, const HloInstruction *, 64u * s->body->n_instructions + 64);
    uint32_t n = 0, steps = 0;
    push(s, of, index, &stack, &n);
    while (n) {
        const HloInstruction *i = stack[--n];
        const IrRef *at = s->seen[i->id];
        if (s->reduced[i->id]) {
            const uint32_t rank = plan_shape(i, 0)->rank;
            if (rank && memcmp(at, s->kept, rank * sizeof *at)) return false;
            continue;
        }
        if (++steps > 16 * s->body->n_instructions) return false; /* it is needed at many indices */
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = i->operands[k];
            if (!s->stage[x->id]) continue;
            if (!(hlo_joins(i->opcode) || ix_has_map(i, k)) || n + 1 >= 64u * s->body->n_instructions) return false;
            IxAccess access;
            ix_access(s->rw, s->a, i, k, at, NULL, NULL, &access);
            if (!access.never) push(s, x, access.index, &stack, &n);
        }
    }
    return true;
}

static bool checks_terms(Sharing *s, const PlanReduce *r)
{
    const HloInstruction *i = r->i;
    const uint32_t n = combines(i) ? i->n_operands / 2 : 0;
    for (uint32_t k = 0; k < n; k++) {
        if (r->scan.shift && s->stage[i->operands[k]->id]) return false; /* of another position */
        if (!needs_kept_alone(s, i->operands[k], s->at) || s->stage[i->operands[n + k]->id]) return false;
    }
    return true;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */
/* Operations of which each element of the result needs one of the operand, and each of the operand is needed once. */
static bool is_view(const HloInstruction *i, uint32_t operand)
{
    return ix_has_map(i, operand) && plan_shape(plan_value(i->operands[operand], 0).i, 0)->rank <= HLO_RANK_LIMIT &&
           hlo_elements(i->shape) == hlo_elements(i->operands[operand]->shape);
}

void plan_path_index(RwCx *rw, WbbArena *a, const PlanPath *path, const IrRef *from, IrRef *to)
{
    IrRef next[HLO_RANK_LIMIT];
    if (path->bitcast) {
        ix_bitcast(rw, a, path->bitcast, path->shape, from, to);
        return;
    }
    memcpy(to, from, plan_shape(path->path[0], 0)->rank * sizeof *to);
    for (uint32_t k = 1; k < path->n; k++) {
        const HloInstruction *i = path->path[k];
        if (hlo_is_elementwise(i->opcode)) continue;
        ix_result(rw, a, i, to, next);
        memcpy(to, next, i->shape->rank * sizeof *to);
    }
}

/* The instructions from one of the wanted shape up to the root. */
static PlanPath path_to(Sharing *s, const HloInstruction *const *above, const HloInstruction *from, bool kept)
{
    PlanPath p = {.kept = kept};
    for (const HloInstruction *i = from; i; i = above[i->id]) p.n++;
    p.path = WBB_NEW_N(s->a, const HloInstruction *, p.n);
    for (uint32_t k = 0; k < p.n; k++, from = above[from->id]) p.path[k] = from;
    return p;
}

static bool is_path(Sharing *s, const HloInstruction *root, const IrRef *at, const PlanPath *path)
{
    IrRef index[HLO_RANK_LIMIT];
    plan_path_index(s->rw, s->a, path, at, index);
    memset(s->seen, 0, s->body->n_instructions * sizeof *s->seen);
    return needs_kept_alone(s, root, index);
}

/* Numbers that are the same everywhere are no reason to be at a position. */
static void mark_operands(Sharing *s, const HloInstruction *i, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        const HloInstruction *x = plan_value(i->operands[k], 0).i;
        const bool same = x->opcode == HLO_BROADCAST || x->opcode == HLO_CONSTANT || x->opcode == HLO_IOTA;
        s->of_terms[x->id] |= !same;
    }
}

/* What threads have at the position: the terms of reductions, what these follow from element by element, and what
 * follows from any of that element by element. */
static void mark_terms(Sharing *s)
{
    const HloComputation *body = s->body;
    for (uint32_t r = 0; r < s->n_reduces && s->hero->opcode != HLO_DOT; r++)
        mark_operands(s, s->reduces[r].i, s->reduces[r].i->n_operands / 2);
    for (uint32_t n = body->n_instructions; n-- > 0;) {
        const HloInstruction *i = body->instructions[n];
        if (s->of_terms[n] && hlo_is_elementwise(i->opcode)) mark_operands(s, i, i->n_operands);
    }
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        for (uint32_t k = 0; hlo_is_elementwise(i->opcode) && k < i->n_operands; k++)
            s->of_terms[n] |= s->of_terms[plan_value(i->operands[k], 0).i->id];
    }
}

/* Looks for an instruction of a shape below the root, such that every result is needed at the kept elements alone: one
 * that threads have, so that of (sum(x), transpose(x)) x is read once, else the first; if there is none, takes the
 * element at the same address as in an array of that shape. */
static bool find_path(Sharing *s, const HloInstruction *root, const HloShape *shape, const IrRef *at, bool kept,
                      PlanPath *found)
{
    const int64_t most = s->tries;
    bool any = false;
    const HloInstruction **above = WBB_NEW_N(s->a, const HloInstruction *, s->body->n_instructions);
    const HloInstruction **stack = WBB_NEW_N(s->a, const HloInstruction *, s->body->n_instructions + 1);
    bool *met = WBB_NEW_N(s->a, bool, s->body->n_instructions);
    uint32_t n = 0, tries = 0;
    stack[n++] = root, met[root->id] = true;
    while (n && tries < most) {
        const HloInstruction *i = stack[--n];
        if (hlo_same_dims(plan_shape(i, 0), shape)) {
            const PlanPath path = path_to(s, above, i, kept);
            const bool has = kept || s->of_terms[i->id];
            tries++;
            if ((!any || has) && is_path(s, root, at, &path)) {
                *found = path, any = true;
                if (has) return true;
            }
        }
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *x = plan_value(i->operands[k], 0).i;
            if (!is_view(i, k) || met[x->id]) continue;
            met[x->id] = true, above[x->id] = i;
            stack[n++] = x;
        }
    }
    if (any) return true;
    *found = (PlanPath){.kept = kept, .bitcast = shape, .shape = plan_shape(root, 0)};
    return is_path(s, root, at, found);
}

/* Marks what an output needs; false: a long reduction is among it that is none of the kernel. */
static bool mark_needed(Sharing *s, const HloInstruction *root)
{
    bool *met = WBB_NEW_N(s->a, bool, s->body->n_instructions + 1), fits = true;
    met[root->id] = true;
    hlo_mark_operands(s->body, met);
    for (uint32_t k = 0; k < s->body->n_instructions; k++) {
        const HloInstruction *i = s->body->instructions[k];
        if (met[k] && i->opcode == HLO_REDUCE && !s->reduced[k])
            fits = fits && hlo_elements(i->operands[0]->shape) / WBB_MAX(hlo_elements(plan_shape(i, 0)), 1) <= s->limit;
    }
    for (uint32_t k = 0; fits && k < s->body->n_instructions; k++) s->needed[k] |= met[k];
    return fits;
}

/* Can threads have whole bytes of a packed output? It stands in memory as the terms do, and rows end with a byte. */
static bool fills_bytes(Sharing *s, const HloShape *x, const PlanPath *path)
{
    const HloShape *terms = plan_space_shape(s->hero);
    PlanGroup *space;
    if (s->hero->opcode != HLO_REDUCE || path->kept || path->n != 1) return false;
    if (ix_linear(s->rw, x, s->at) != ix_linear(s->rw, terms, s->at)) return false;
    bool in_order = false;
    for (uint32_t k = 0; k < s->n_reduces; k++) in_order = in_order || !s->reduces[k].commutes;
    const uint32_t n = plan_space(s->a, s->hero, in_order, &space);
    return n && space[n - 1].dim.size % plan_packed_group(x->type) == 0;
}

/* A sum across rows: its terms are elements of the space, in the same order of memory. */
static bool find_across(Sharing *s, uint32_t o)
{
    const HloInstruction *root = s->p->roots[o].i, *terms = root->operands[0];
    IrRef index[HLO_RANK_LIMIT];
    if (hlo_elements(terms->shape) != hlo_elements(s->positions)) return false;
    ix_bitcast(s->rw, s->a, s->positions, terms->shape, s->at, index);
    memset(s->seen, 0, s->body->n_instructions * sizeof *s->seen);
    const HloInstruction **path = WBB_NEW(s->a, const HloInstruction *);
    path[0] = root;
    s->paths[o] = (PlanPath){.path = path, .n = 1, .kept = true};
    return needs_kept_alone(s, terms, index) && mark_needed(s, terms);
}

static bool find_output(Sharing *s, uint32_t o)
{
    const HloShape *terms = s->positions, *result = plan_shape(s->hero, 0);
    const bool kept = s->hero->opcode == HLO_REDUCE;
    const PlanValue v = s->p->roots[o];
    const HloShape *x = plan_shape(v.i, v.part);
    PlanPath *path = &s->paths[o];
    if (x->rank > HLO_RANK_LIMIT || !sc_type_info[x->type].bits || !hlo_elements(x)) return false;
    if (!hlo_same_dims(x, plan_shape(v.i, 0))) return false; /* a loop's state: paths lead to results of one shape */
    const HloShape *row = s->rows ? s->rows->shape : NULL;
    if (!(hlo_elements(x) == hlo_elements(terms) && find_path(s, v.i, terms, s->at, false, path)) &&
        !(kept && hlo_elements(x) == hlo_elements(result) && find_path(s, v.i, result, s->kept, true, path)) &&
        !(row && hlo_elements(x) == hlo_elements(row) && find_path(s, v.i, row, s->of_row, true, path)))
        return false;
    return !ir_is_packed(x->type) || fills_bytes(s, x, path);
}

/* Outputs that the kernel makes: all, or those that need its reductions. */
static bool find_outputs(Sharing *s)
{
    bool any = false;
    for (uint32_t o = 0; o < s->p->n_outputs; o++) {
        const HloInstruction *root = s->p->roots[o].i;
        if (s->done && (s->done[o] || !s->stage[root->id])) continue;
        s->taken[o] = o < s->first_across ? find_output(s, o) && mark_needed(s, root) : find_across(s, o);
        if (!s->done && !s->taken[o]) return false;
        any = any || s->taken[o];
    }
    return any;
}

/* --- stages ------------------------------------------------------------------------------------------------------- */
/* Outputs that become known when `stage` stages are done: of full shape, or of the shape of results. */
static void add_outputs(Sharing *s, PlanStage *to, uint32_t stage, bool kept)
{
    to->outputs = WBB_NEW_N(s->a, uint32_t, s->p->n_outputs);
    to->paths = WBB_NEW_N(s->a, PlanPath, s->p->n_outputs);
    for (uint32_t o = 0; o < WBB_MIN(s->p->n_outputs, s->first_across); o++) {
        const uint32_t known = s->stage[s->p->roots[o].i->id];
        if (!s->taken[o] || s->paths[o].kept != kept || (kept ? WBB_MAX(known, 1u) : known) != stage) continue;
        const PlanValue root = s->p->roots[o];
        to->packed_group = WBB_MAX(to->packed_group, plan_packed_group(plan_shape(root.i, root.part)->type));
        to->paths[to->n_outputs] = s->paths[o];
        to->outputs[to->n_outputs++] = o;
    }
}

static void add_stages(Sharing *s, PlanRange *r)
{
    uint32_t stages = 0;
    for (uint32_t k = 0; k < s->n_reduces; k++)
        if (s->needed[s->reduces[k].i->id]) stages = WBB_MAX(stages, s->of_stage[k]);
    r->stages = WBB_NEW_N(s->a, PlanStage, 2 * stages + 2);
    for (uint32_t n = 1; n <= stages + 1; n++) {
        PlanStage *x = &r->stages[r->n_stages];
        *x = (PlanStage){.kind = n <= stages ? PLAN_REDUCE : PLAN_MAP, .packed_group = 1};
        x->reduces = WBB_NEW_N(s->a, PlanReduce, s->n_reduces);
        for (uint32_t k = 0; k < s->n_reduces; k++)
            if (s->of_stage[k] == n && s->needed[s->reduces[k].i->id]) x->reduces[x->n_reduces++] = s->reduces[k];
        add_outputs(s, x, n - 1, false);
        r->n_stages += x->n_reduces || x->n_outputs;
        if (n > stages) break;
        PlanStage *results = &r->stages[r->n_stages];
        *results = (PlanStage){.kind = PLAN_RESULTS, .packed_group = 1};
        add_outputs(s, results, n, true);
        r->n_stages += results->n_outputs != 0;
    }
}

/* The last stage, whose space has the rows in parts: as the reductions do that are summed. */
static void add_across(Sharing *s, PlanRange *r, const PlanGroup *space)
{
    PlanStage *x = &r->stages[r->n_stages++];
    const HloShape *terms = s->p->roots[s->first_across].i->operands[0]->shape;
    PlanGroup *groups = WBB_NEW_N(s->a, PlanGroup, 2);
    const uint32_t n = s->p->n_outputs - s->first_across;
    *x = (PlanStage){.kind = PLAN_ACROSS, .packed_group = 1, .reduces = WBB_NEW_N(s->a, PlanReduce, n),
                     .outputs = WBB_NEW_N(s->a, uint32_t, n), .paths = s->paths + s->first_across, .space = groups,
                     .n_space = 2, .n_reduces = n, .n_outputs = n};
    for (uint32_t d = 0; d < 2; d++) {
        groups[d].dim = space[d].dim, groups[d].dim.reduced = !space[d].dim.reduced;
        groups[d].of = WBB_NEW_N(s->a, uint32_t, terms->rank);
    }
    for (uint32_t d = 0; d < terms->rank; d++) groups[d > 1].of[groups[d > 1].n++] = d;
    for (uint32_t k = 0; k < n; k++) {
        x->outputs[k] = s->first_across + k;
        x->reduces[k] = (PlanReduce){.i = s->p->roots[x->outputs[k]].i, .commutes = true};
        s->reduced[x->reduces[k].i->id] = s->needed[x->reduces[k].i->id] = true;
    }
}

/* One stage: a thread has all results at a position before the next scan needs them there. */
static void add_scans(Sharing *s, PlanRange *r)
{
    PlanStage *x = r->stages = WBB_NEW(s->a, PlanStage);
    r->n_stages = 1;
    *x = (PlanStage){.kind = PLAN_SCAN, .packed_group = 1, .outputs = WBB_NEW_N(s->a, uint32_t, s->p->n_outputs),
                     .paths = s->paths, .n_outputs = s->p->n_outputs, .n_reduces = s->n_reduces,
                     .reduces = s->reduces};
    if (s->hero->opcode == HLO_SORT) x->kind = PLAN_SORT;
    if (s->hero->opcode == HLO_DOT) x->kind = PLAN_PRODUCT;
    for (uint32_t o = 0; o < s->p->n_outputs; o++) x->outputs[o] = o;
}

/* The stages of reductions with the dimensions of one of them, which make all outputs, or, unless done is NULL, as many
 * as they can of those that are not done, and mark them. Other reductions are computed by each thread, in loops. */
static PlanRange *shared_by(WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *hero, int64_t limit,
                            bool *done, uint32_t across, const PlanRowSpace *rows)
{
    const HloComputation *body = p->fusion->body;
    Sharing s = {.a = a, .p = p, .rw = p->rw, .body = body, .hero = hero, .done = done,
                 .stage = WBB_NEW_N(a, uint32_t, body->n_instructions + 1),
                 .seen = WBB_NEW_N(a, IrRef *, body->n_instructions + 1),
                 .of_terms = WBB_NEW_N(a, bool, body->n_instructions + 1),
                 .reduced = WBB_NEW_N(a, bool, body->n_instructions + 1),
                 .needed = WBB_NEW_N(a, bool, body->n_instructions + 1),
                 .taken = WBB_NEW_N(a, bool, p->n_outputs + 1), .paths = WBB_NEW_N(a, PlanPath, p->n_outputs + 1),
                 .limit = limit, .tries = tg_tuned(t, "share.paths"),
                 .first_across = p->n_outputs - across, .rows = rows};
    find_reduces(&s);
    find_stretch(&s);
    find_position(&s);
    for (uint32_t k = 0; k < s.n_reduces; k++)
        if (!checks_terms(&s, &s.reduces[k])) return NULL;
    mark_terms(&s);
    if (!find_outputs(&s)) return NULL;
    PlanRange *r = WBB_NEW(a, PlanRange);
    PlanGroup *space = NULL;
    const HloShape *of = plan_space_shape(hero);
    *r = (PlanRange){.space = of, .elements = hlo_elements(of), .hero = hero, .reduced = s.reduced,
                     .kept = s.positions, .first = s.first};
    if (hero->opcode != HLO_REDUCE) add_scans(&s, r);
    else add_stages(&s, r);
    const bool of_dot = hero->opcode == HLO_DOT; /* whose threads have tiles: product.h */
    const uint32_t n = of_dot ? 0 : plan_space(a, hero, hero->opcode == HLO_REDUCE && plan_in_order(r), &space);
    for (uint32_t k = 0; k < r->n_stages; k++) r->stages[k].space = space, r->stages[k].n_space = n;
    if (across && (n != 2 || space[0].dim.reduced || !r->n_stages || !r->stages[0].n_reduces)) return NULL;
    if (across) add_across(&s, r, space);
    for (uint32_t k = 0; k < body->n_instructions; k++) p->reduced[k] |= s.reduced[k] && s.needed[k];
    for (uint32_t o = 0; done && o < p->n_outputs; o++) done[o] = done[o] || s.taken[o];
    return r;
}

PlanRange *plan_scanned(WbbArena *a, Plan *p, const TgTarget *t, const HloInstruction *hero, const PlanRowSpace *rows)
{
    p->reduced = WBB_NEW_N(a, bool, p->fusion->body->n_instructions + 1);
    PlanRange *r = shared_by(a, p, t, hero, INT64_MAX, NULL, 0, rows);
    if (!r) p->reduced = NULL;
    return r;
}

PlanRange *plan_shared_across(WbbArena *a, Plan *p, const TgTarget *t, uint32_t across)
{
    const HloComputation *body = p->fusion->body;
    bool *tried = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t o = p->n_outputs - across; o < p->n_outputs; o++) tried[p->roots[o].i->id] = true;
    p->reduced = WBB_NEW_N(a, bool, body->n_instructions + 1);
    const HloInstruction *hero = next_hero(body, tried);
    PlanRange *r = hero ? shared_by(a, p, t, hero, tg_tuned(t, "reduce.straight"), NULL, across, NULL) : NULL;
    if (!r) p->reduced = NULL;
    return r;
}

/* Does any output that is not done need a reduction? */
static bool needs_reduction(WbbArena *a, const Plan *p, const bool *done)
{
    const HloComputation *body = p->fusion->body;
    bool *below = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        below[k] = i->opcode == HLO_REDUCE;
        for (uint32_t x = 0; x < i->n_operands; x++) below[k] = below[k] || below[i->operands[x]->id];
    }
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (!done[o] && below[p->roots[o].i->id]) return true;
    return false;
}

uint32_t plan_shared(WbbArena *a, Plan *p, const TgTarget *t, bool alone, PlanRange ***ranges, bool **others)
{
    const int64_t most = tg_tuned(t, "share.kernels");
    const HloComputation *body = p->fusion->body;
    /* one kernel; several; one, in which each thread computes long reductions by itself */
    for (int attempt = alone ? 2 : 0; attempt < (alone ? 3 : 2); attempt++) {
        const bool several = attempt == 1;
        bool *tried = WBB_NEW_N(a, bool, body->n_instructions + 1), *done = WBB_NEW_N(a, bool, p->n_outputs + 1);
        uint32_t n = 0;
        *ranges = WBB_NEW_N(a, PlanRange *, (size_t)most);
        p->reduced = WBB_NEW_N(a, bool, body->n_instructions + 1);
        for (int64_t k = 0; k < most; k++) {
            const HloInstruction *hero = next_hero(body, tried);
            const int64_t limit = attempt < 2 ? tg_tuned(t, "reduce.straight") : INT64_MAX;
            PlanRange *r = hero ? shared_by(a, p, t, hero, limit, several ? done : NULL, 0, NULL) : NULL;
            if (r) (*ranges)[n++] = r;
            if (!hero || (r && !several)) break;
        }
        if (!n || (several && needs_reduction(a, p, done))) continue;
        *others = WBB_NEW_N(a, bool, p->n_outputs + 1);
        for (uint32_t o = 0; several && o < p->n_outputs; o++) (*others)[o] = !done[o];
        return n;
    }
    p->reduced = NULL;
    return 0;
}

/* Of preds, the one of and, or and xor that gives what op gives: a sum is `or`, a product `and`. */
static ScOp of_bits(ScOp op)
{
    static const ScOp bits[] = {OP_BAND, OP_BOR, OP_BXOR};
    for (size_t k = 0; k < WBB_LEN(bits); k++) {
        bool same = true;
        for (uint64_t x = 0; x < 4; x++) {
            const uint64_t args[] = {x & 1, x >> 1};
            uint64_t a, b;
            same = same && sc_eval(op, SC_PRED, SC_PRED, args, &a) &&
                   sc_eval(bits[k], SC_PRED, SC_PRED, args, &b) && a == b;
        }
        if (same) return bits[k];
    }
    return OP_NONE;
}

ScOp plan_redux(const PlanReduce *r, const TgTarget *t)
{
    const ScOp op = hlo_scalar(r->i->called[0]->root->opcode);
    const ScType type = r->sum != SC_NONE ? r->sum : r->i->operands[0]->shape->type;
    if (!r->commutes || r->number || !tg_has(t, "redux")) return OP_NONE;
    return type == SC_PRED ? sc_redux(of_bits(op)) : type == SC_I32 || type == SC_U32 ? sc_redux(op) : OP_NONE;
}

/* The dimensions of a layout, those that the text of the reduction has last first. */
static const uint32_t *sequence_of(WbbArena *a, const PlanStage *s)
{
    const Layout *l = &s->layout;
    const uint32_t *of = plan_sequence(a, s->space, s->n_space);
    uint32_t *to = WBB_NEW_N(a, uint32_t, l->n_dims + 1u), n = 0;
    for (uint32_t k = 0; k < s->n_space; k++)
        for (uint32_t d = 0; d < l->n_dims; d++)
            if (l->dims[d].name == s->space[of[k]].dim.name) to[n++] = d;
    assert(n == l->n_dims);
    return to;
}

/* A layout in which what is kept is reduced, and the other way round. */
static Layout turned(WbbArena *a, const Layout *l)
{
    Layout x = *l;
    x.dims = WBB_NEW_N(a, LayDim, l->n_dims + 1u);
    for (uint32_t d = 0; d < l->n_dims; d++) x.dims[d] = l->dims[d], x.dims[d].reduced = !l->dims[d].reduced;
    return x;
}

PlanKernel plan_share(WbbCx *cx, WbbArena *a, Plan *p, PlanRange *r, const TgTarget *t, const char *layout)
{
    PlanKernel k = {.n_ranges = 1, .ranges = r};
    PlanStage *s = r->stages;
    LayDim *dims = WBB_NEW_N(a, LayDim, s->n_space + 1u);
    for (uint32_t n = 0; n < s->n_space; n++) dims[n] = s->space[n].dim;
    s->layout = layout ? lay_parse(cx, a, layout, dims, s->n_space) : r->choice->best[0].layout;
    lay_check(cx, a, &s->layout, t);
    if (s->kind == PLAN_REDUCE && plan_in_order(r)) s->layout.sequence = sequence_of(a, s);
    plan_space_check(cx, r, t);
    for (uint32_t n = 0; n < r->n_stages; n++)
        for (uint32_t j = 0; j < r->stages[n].n_reduces; j++)
            r->stages[n].reduces[j].redux = plan_redux(&r->stages[n].reduces[j], t);
    s->maps = lay_maps(cx, p->rw, a, &s->layout);
    s->why_vector = s->why_register = layout ? "the layout was given" : "the cheapest layout";
    k.why_block = k.why_grid = s->why_vector;
    for (uint32_t n = 1; n < r->n_stages; n++) {
        r->stages[n].layout = r->stages[n].kind == PLAN_ACROSS ? turned(a, &s->layout) : s->layout;
        r->stages[n].maps = s->maps;
        r->stages[n].why_vector = s->why_vector, r->stages[n].why_register = s->why_register;
    }
    k.block = (uint32_t)(lay_level_size(&s->layout, LAY_LANE) * lay_level_size(&s->layout, LAY_WARP));
    const uint32_t cluster = (uint32_t)lay_level_size(&s->layout, LAY_CLUSTER);
    k.cluster = cluster > 1 ? cluster : 0;
    k.grid = r->blocks = (uint32_t)lay_level_size(&s->layout, LAY_GRID) * cluster;
    const bool scan = s->kind == PLAN_SCAN;
    p->kind = scan ? "scan" : "reduction";
    p->why_kind = scan ? "threads share what is before their elements" : "threads share its terms";
    return k;
}

/* neighbours.c: how many updates of a scatter that follow each other have equal indices?
 *
 * Needs the graph of its computation; leaves a number, which decides about time alone: a thread may combine neighbours
 * of one element before it goes to memory (plan/scatter_price.c). The index vectors of a sample of updates are
 * evaluated by their definitions. What inputs decide is a number of its own for each element that is read, and so is
 * what is computed from it: equal where the same elements are. But the elements of a sort and of running sums and
 * maxima are in runs of unknown length: equal to some of their neighbours, or to none.
 *
 *     s32[4096,1] divide(iota, broadcast(32))            =>   32
 *     s32[4096,1] reshape(get-tuple-element(sort(..)))   =>   HLO_SOME
 */
#include "graph/graph.h"
#include "hlo/normalise.h"

enum {
    SAMPLE = 1024, /* updates of a stretch: neighbours are alike, or change with the data */
    FEW = 64,      /* the same, to see whether there are equal ones */
    DEEP = 64,     /* definitions that need each other */
    RUN = 4,       /* log2 of a run of unknown length */
};

/* The value of an element. Of one that inputs decide, a number that only equal ones have. */
typedef struct {
    uint64_t bits;
    bool unknown;
} Value;

typedef struct {
    WbbArena *a;
    const GrGraph *x;
    bool runs;         /* elements that are in runs are equal to their neighbours */
    uint32_t deep;
    uint8_t *mark;     /* by ref, for ir_gather */
    Value *values;     /* by ref */
    int64_t *variable; /* by number */
    IrRefs **nodes;    /* by id: what the element of a term needs, operands first; NULL: not yet known */
    WbbMap known;      /* by id and position: 1 + number in `elements` */
    struct { Value *items; uint32_t n, capacity; } elements;
} Sample;

/* --- which elements are in runs ----------------------------------------------------------------------------------- */
/* Is dimension d the last one of more than one element? */
static bool is_last(const HloShape *s, int64_t d)
{
    for (uint32_t k = (uint32_t)d + 1; k < s->rank; k++)
        if (s->dims[k] != 1) return false;
    return true;
}

/* The operand of a sort that its comparator reads first. */
static uint32_t first_key(const HloInstruction *sort)
{
    const HloComputation *c = sort->called[0];
    for (uint32_t k = 0; k < c->n_parameters; k++)
        if (c->parameters[k]->n_users) return k / 2;
    return 0;
}

/* The dimension along which elements are in runs: the last; -1: they are in none. */
static int64_t in_runs(const HloInstruction *i)
{
    HloScan scan;
    const HloInstruction *of = i->opcode == HLO_GET_TUPLE_ELEMENT ? i->operands[0] : i;
    int64_t d = -1;
    if (i->shape->type == SC_TUPLE) return -1;
    if (of->opcode == HLO_SORT && !of->spelling && (of == i || first_key(of) == (uint32_t)i->number))
        d = of->dimensions[0];
    else if (of == i && sc_is_int(i->shape->type) && hlo_is_scan(i, &scan)) d = scan.dim;
    return d >= 0 && is_last(i->shape, d) ? d : -1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */
static uint64_t mixed(uint64_t x, uint64_t y) { return wbb_mix(x * UINT64_C(0x9e3779b97f4a7c15) + y + 1); }

/* Of the element that is read at these indices. */
static Value unknown_of(const Sample *s, const HloInstruction *i, const Value *at)
{
    const int64_t along = in_runs(i);
    Value v = {mixed(0, i->id), true};
    for (uint32_t d = 0; d < i->shape->rank; d++) {
        const bool run = d == along && s->runs && !at[d].unknown;
        v.bits = mixed(v.bits, run ? at[d].bits >> RUN : at[d].bits);
    }
    return v;
}

static Value element(Sample *s, const HloInstruction *i, const Value *at);

static Value read(Sample *s, const IrNode *n)
{
    const IrGraph *g = rw_graph(s->x->rw);
    Value at[HLO_RANK_LIMIT + 1];
    for (uint32_t d = 0; d < n->a[1]; d++) at[d] = s->values[g->terms[n->a[0] + d].ref];
    return element(s, s->x->c->instructions[IR_CALLEE(n->imm)], at);
}

/* A clamped integer: one that is not known is any of the interval. */
static Value start(const Sample *s, const GrStart *start)
{
    const IrGraph *g = rw_graph(s->x->rw);
    IrRef r = start->value;
    while ((ir_at(g, r)->op == OP_MIN || ir_at(g, r)->op == OP_MAX) && ir_is_const(g, ir_at(g, r)->a[1]))
        r = ir_at(g, r)->a[0];
    if (s->values[r].unknown) return s->values[r];
    const ScType t = IR_SC(ir_at(g, start->value)->type);
    return (Value){(uint64_t)(int64_t)sc_to_i128(t, s->values[start->value].bits), false};
}

static Value value_of(Sample *s, IrRef r)
{
    const IrGraph *g = rw_graph(s->x->rw);
    const IrNode *n = ir_at(g, r);
    const GrStart *from = n->op == OP_VAR ? gr_start_of(s->x, r) : NULL;
    Value v = {mixed(n->op, n->imm), false};
    if (from) return start(s, from);
    if (n->op == OP_VAR) return (Value){(uint64_t)s->variable[n->imm], false};
    if (n->op == OP_CALL) return read(s, n);
    if (n->op == OP_SELECT && !s->values[n->a[0]].unknown) return s->values[n->a[s->values[n->a[0]].bits & 1 ? 1 : 2]];
    uint64_t x[3] = {0}, bits;
    const uint32_t arity = ir_arity(g, r);
    for (uint32_t k = 0; k < arity; k++) {
        const Value o = s->values[ir_operand(g, r, k)];
        v.unknown = v.unknown || o.unknown;
        v.bits = mixed(v.bits, o.bits);
        if (k < WBB_LEN(x)) x[k] = o.bits;
    }
    if (n->op == OP_SUM && !v.unknown) {
        v.bits = n->imm;
        for (uint32_t k = 0; k < arity; k++)
            v.bits += (uint64_t)g->terms[n->a[0] + k].coefficient * s->values[g->terms[n->a[0] + k].ref].bits;
    } else if (!v.unknown) {
        if (ir_eval_node(g, r, x, &bits)) v.bits = bits;
        else v.unknown = true;
    }
    return v;
}

/* The nodes of a definition, and those of its starts. */
static const IrRefs *nodes_of(Sample *s, const GrDef *d)
{
    IrRefs **nodes = &s->nodes[d->i->id];
    if (*nodes) return *nodes;
    *nodes = WBB_NEW(s->a, IrRefs);
    gr_nodes(s->a, s->x, d, s->mark, *nodes);
    return *nodes;
}

static Value computed(Sample *s, const GrDef *d, const Value *at)
{
    const IrGraph *g = rw_graph(s->x->rw);
    const IrRefs *nodes = nodes_of(s, d);
    for (uint32_t k = 0; k < d->i->shape->rank; k++)
        if (ir_at(g, d->at[k])->op == OP_VAR) s->variable[ir_at(g, d->at[k])->imm] = (int64_t)at[k].bits;
    s->deep++;
    for (uint32_t k = 0; k < nodes->n; k++) s->values[nodes->items[k]] = value_of(s, nodes->items[k]);
    s->deep--;
    return s->values[d->value];
}

/* Outside of the array, where a choice does not take it, any number. */
static Value element(Sample *s, const HloInstruction *i, const Value *at)
{
    const GrDef *d = &s->x->defs[i->id];
    int64_t key[2] = {i->id, 0};
    for (uint32_t k = 0; k < i->shape->rank; k++) {
        const int64_t n = i->shape->dims[k];
        if (at[k].unknown) return unknown_of(s, i, at);
        if (at[k].bits >= (uint64_t)n) return (Value){0, false};
        key[1] = key[1] * n + (int64_t)at[k].bits;
    }
    const bool constant = i->opcode == HLO_CONSTANT && i->literal && sc_type_info[i->shape->type].bits <= 64;
    if (constant) return (Value){hlo_literal_bits(i, key[1]), false};
    if (d->form != GR_TERM || s->deep == DEEP) return unknown_of(s, i, at);
    const WbbEntry *e = wbb_map_get_bytes(&s->known, key, sizeof key);
    if (e) return s->elements.items[e->value];
    const Value v = computed(s, d, at);
    wbb_map_put_bytes(&s->known, key, sizeof key)->value = s->elements.n;
    WBB_PUSH(s->a, &s->elements, v);
    return v;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */
/* Component c of the vectors of a stretch of updates; the mean length of runs of equal ones. */
static int64_t run_of(Sample *s, const HloInstruction *indices, int64_t vector, int64_t c, int64_t first, int64_t n)
{
    const HloShape *shape = indices->shape;
    Value before = {0};
    int64_t runs = 1;
    for (int64_t k = 0; k < n; k++) {
        Value at[HLO_RANK_LIMIT + 1] = {0};
        int64_t rest = first + k;
        for (uint32_t d = shape->rank; d-- > 0;) {
            const int64_t size = d == vector ? 1 : shape->dims[d];
            at[d].bits = (uint64_t)(d == vector ? c : rest % size), rest /= size;
        }
        const Value v = element(s, indices, at);
        runs += k && (v.bits != before.bits || v.unknown != before.unknown);
        before = v;
    }
    return n / runs;
}

/* The least of all components, the last first, in the first stretch of so many updates, the middle and the last. */
static int64_t least_run(Sample *s, const HloInstruction *indices, int64_t vector, int64_t sample)
{
    const int64_t columns = vector < indices->shape->rank ? indices->shape->dims[vector] : 1;
    const int64_t all = hlo_elements(indices->shape) / columns, n = WBB_MIN(all, sample);
    const int64_t first[] = {0, all / 2 / n * n, (all - n) / n * n};
    int64_t least = all;
    for (size_t k = 0; k < WBB_LEN(first) && (k == 0 || first[k] > first[k - 1]); k++)
        for (int64_t c = columns; c-- > 0 && least > 1;) {
            const int64_t run = run_of(s, indices, vector, c, first[k], n);
            least = WBB_MIN(least, run == n ? all : run);
        }
    return least;
}

static Sample sample_of(WbbArena *a, const GrGraph *x, bool runs)
{
    const IrGraph *g = rw_graph(x->rw);
    return (Sample){.a = a, .x = x, .runs = runs, .mark = WBB_NEW_N(a, uint8_t, g->n),
                    .values = WBB_NEW_N(a, Value, g->n), .variable = WBB_NEW_N(a, int64_t, g->n_vars + 1),
                    .nodes = WBB_NEW_N(a, IrRefs *, x->c->n_instructions + 1u), .known = {.arena = a}};
}

/* Is it an array that other kernels have left, of which each element is read once? */
static bool is_given(const HloInstruction *i)
{
    for (; i->n_operands == 1; i = i->operands[0]) {
        const bool same = hlo_is_move(i->opcode) || i->opcode == HLO_CONVERT;
        if (!same || hlo_elements(i->operands[0]->shape) < hlo_elements(i->shape)) return false;
    }
    return i->opcode == HLO_PARAMETER;
}

int64_t gr_neighbours(WbbCx *cx, WbbArena *a, const HloComputation *c, const HloInstruction *s, GrGraph **x)
{
    const HloScatterDims d = hlo_scatter_dims(a, s);
    const HloInstruction *indices = s->operands[s->n_operands / 2];
    if (d.neighbours) return d.neighbours;
    if (d.input_batching.n || d.index_vector_dim < 0 || hlo_elements(indices->shape) < 2 || is_given(indices)) return 0;
    if (!*x) *x = gr_make(cx, a, c);
    Sample apart = sample_of(a, *x, false), equal = sample_of(a, *x, true);
    const int64_t few = least_run(&apart, indices, d.index_vector_dim, FEW);
    if (least_run(&equal, indices, d.index_vector_dim, FEW) > few) return HLO_SOME;
    return few > 1 ? least_run(&apart, indices, d.index_vector_dim, SAMPLE) : 0;
}

/* --- notes, for kernels that have the indices from others --------------------------------------------------------- */
const char *gr_noted(WbbArena *a, const HloInstruction *scatter, int64_t neighbours)
{
    static const char *const replaced[] = {"frontend_attributes", NULL};
    if (!neighbours || hlo_noted_neighbours(a, scatter)) return scatter->attributes;
    return wbb_format(a, "%s%s", hlo_attributes_without(a, scatter, replaced),
                      hlo_neighbours_attribute(a, neighbours));
}

static bool is_scatter(const HloInstruction *i) { return i->opcode == HLO_SCATTER; }

/* b->same: by id; UINT32_MAX: some. */
static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const uint32_t n = is_scatter(i) && b->same ? b->same[i->id] : 0;
    if (!n) return NULL;
    HloInstruction *s = hlo_copy(b, i);
    hlo_set_attributes(b, s, gr_noted(b->arena, i, n == UINT32_MAX ? HLO_SOME : n));
    return s;
}

const HloModule *gr_note_neighbours(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const uint32_t **all = WBB_NEW_N(a, const uint32_t *, m->n_computations + 1);
    bool any = false;
    for (uint32_t k = 0; k < m->n_computations; k++) {
        const HloComputation *c = m->computations[k];
        GrGraph *x = NULL;
        uint32_t *of = NULL;
        for (uint32_t i = 0; i < c->n_instructions; i++) {
            const HloInstruction *s = c->instructions[i];
            const int64_t n = is_scatter(s) && !hlo_noted_neighbours(a, s) ? gr_neighbours(cx, a, c, s, &x) : 0;
            if (n && !of) of = WBB_NEW_N(a, uint32_t, c->n_instructions);
            if (n) any = true, of[i] = (uint32_t)WBB_MIN(n, UINT32_MAX);
        }
        all[k] = of;
    }
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = all}) : m;
}

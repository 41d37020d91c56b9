/* graph.c: makes the definitions of a computation.
 *
 * Needs a verified computation; leaves a definition of each array that a term reads, from the root down. An
 * instruction's elements are made in its reader's term where it moves elements, or where nothing else reads it; how
 * often it is read is known before, so that no term is made twice. A term that would nest too deeply reads a definition
 * instead.
 *
 *     t = transpose(x); y = negate(t); z = y * broadcast(c)     z[d0, d1] := mul.f32(neg.f32(x[d1, d0]), c[d0])
 *     r = gather(x, l)                                          r[d0, d1] := x[s0, d1], s0 is l[d0, 0], clamped
 */
#include "graph/inner.h"

#include "index/access.h"

enum { MOST_NESTED = 24, MOST_CHOICES = 16, MOST_LITERAL = 8 };

typedef struct {
    WbbArena *a;
    RwCx *rw;
    IrGraph *g;
    GrGraph *out;
    GrDef *def; /* the one that is made */
    WbbMap starts;   /* by value, interval and definition: 1 + number */
    uint32_t *reads; /* by id: terms that need it, through moves */
    bool *wanted;    /* by id: it has a definition */
} Make;

static bool is_array(const HloShape *s)
{
    return s->type != SC_TUPLE && !s->dynamic && sc_type_info[s->type].bits && hlo_elements(s) > 0;
}

/* --- which operations are terms ----------------------------------------------------------------------------------- */

static bool is_move(const HloInstruction *i)
{
    return i->n_operands == 1 && hlo_is_move(i->opcode) && ix_has_map(i, 0) &&
           sc_type_info[i->shape->type].bits == sc_type_info[i->operands[0]->shape->type].bits;
}

static bool is_leaf(const HloInstruction *i)
{
    if (i->opcode == HLO_IOTA) return true;
    return i->opcode == HLO_CONSTANT && i->literal && (i->literal_splat || hlo_elements(i->shape) <= MOST_LITERAL);
}

static bool is_term(const HloInstruction *i)
{
    if (!is_array(i->shape)) return false;
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (!is_array(i->operands[k]->shape)) return false;
    if (i->opcode == HLO_PAD || is_leaf(i) || hlo_has_starts(i->opcode)) return true;
    if (i->opcode == HLO_CONCATENATE) return i->n_operands <= MOST_CHOICES;
    if (hlo_is_move(i->opcode)) return is_move(i);
    return hlo_is_elementwise(i->opcode) && i->n_operands <= 3;
}

static bool is_product(const HloInstruction *i) { return hlo_has(i->opcode, HLO_PRODUCTS); }

static bool is_fold(WbbArena *a, const HloInstruction *i)
{
    if (is_product(i)) {
        const bool arrays = is_array(i->shape) && is_array(i->operands[0]->shape) && is_array(i->operands[1]->shape);
        return arrays && i->n_operands == 2 && ix_needs(a, i).known;
    }
    if (i->opcode != HLO_REDUCE && i->opcode != HLO_REDUCE_WINDOW) return false;
    if (i->n_operands != 2 || !is_array(i->shape) || !is_array(i->operands[0]->shape)) return false;
    return hlo_combiner(i->called[0]) != OP_NONE;
}

/* --- terms -------------------------------------------------------------------------------------------------------- */

static IrRef element(Make *m, const HloInstruction *i, const IrRef *index, uint32_t depth);

static IrRef read_at(Make *m, const HloInstruction *i, const IrRef *index)
{
    return ir_call(m->g, i->id, 0, IR_TYPE(i->shape->type, 0), index, i->shape->rank);
}

static IrRef read(Make *m, const HloInstruction *i, const IrRef *index, uint32_t depth)
{
    const bool in_place = is_term(i) && (is_move(i) || is_leaf(i) || m->reads[i->id] == 1);
    if (in_place && depth < MOST_NESTED) {
        const IrRef made = element(m, i, index, depth + 1);
        const bool chosen = i->opcode == HLO_CONSTANT && !i->literal_splat; /* by selects, or it is a number */
        const bool of_reader = is_move(i) || (is_leaf(i) && !(chosen && i->shape->rank));
        if (!of_reader) gr_put_place(m->out, made, read_at(m, i, index));
        return made;
    }
    m->wanted[i->id] = true;
    return read_at(m, i, index);
}

/* Element of an operand, of a type: HLO lets floats of a pad, a concatenate, a reduce or a dot differ. */
static IrRef read_as(Make *m, ScType t, const HloInstruction *x, const IrRef *index, uint32_t depth)
{
    return gr_convert(m->g, t, x->shape->type, read(m, x, index, depth));
}

/* The variable of an integer in lo .. hi that is part of an index. */
static IrRef start_variable(Make *m, IrRef value, int64_t lo, int64_t hi)
{
    const int64_t key[] = {value, lo, hi, m->def->i->id};
    WbbEntry *known = wbb_map_put_bytes(&m->starts, key, sizeof key);
    if (!known->value) {
        const uint32_t v = ir_var_new(m->g, wbb_format(m->a, "s%u", m->out->starts.n), IR_LET, lo, hi, 0);
        const GrStart s = {ir_var(m->g, v), value};
        WBB_PUSH(m->a, &m->out->starts, s);
        known->value = m->out->starts.n;
    }
    const IrRef variable = m->out->starts.items[known->value - 1].variable;
    GrDef *d = m->def;
    for (uint32_t k = 0; k < d->n_starts; k++)
        if (d->starts[k] == variable) return variable;
    d->starts = wbb_grow(m->a, d->starts, d->n_starts * sizeof variable, (d->n_starts + 1) * sizeof variable);
    d->starts[d->n_starts++] = variable;
    return variable;
}

/* Indices of the starts of an operation at an index; NULL: it has none. */
static const IrRef *starts_of(Make *m, const HloInstruction *i, const IrRef *index, uint32_t depth)
{
    if (!hlo_has_starts(i->opcode)) return NULL;
    const IxNeeds needs = ix_needs(m->a, i);
    IrRef *starts = WBB_NEW_N(m->a, IrRef, needs.n_starts + 1u);
    for (uint32_t k = 0; k < needs.n_starts; k++) {
        const IxStart *s = &needs.starts[k];
        const HloInstruction *x = i->operands[s->operand];
        IrRef *at = WBB_NEW_N(m->a, IrRef, x->shape->rank + 1u), value;
        ix_start(m->rw, m->a, i, k, index, NULL, at);
        starts[k] = gr_start(m->rw, read(m, x, at, depth), s->lo, s->hi, &value);
        if (!starts[k]) starts[k] = start_variable(m, value, s->lo, s->hi);
    }
    return starts;
}

/* Where an access is to an element; 0: everywhere. */
static IrRef condition_of(Make *m, const IxAccess *x)
{
    const IrType pred = IR_TYPE(SC_PRED, 0);
    IrRef all = x->never ? ir_const(m->g, pred, 0) : 0;
    for (uint32_t k = 0; k < x->n_conditions && !x->never; k++) {
        const IxConstraint *c = &x->conditions[k];
        const IrRef ends[] = {rw_compare(m->rw, OP_GE, c->expression, ir_index(m->g, c->lo)),
                              rw_compare(m->rw, OP_LE, c->expression, ir_index(m->g, c->hi))};
        for (uint32_t e = 0; e < WBB_LEN(ends); e++) {
            if (ir_is_const(m->g, ends[e]) && ir_at(m->g, ends[e])->imm) continue;
            all = all ? ir_node(m->g, OP_BAND, pred, 0, all, ends[e], 0, 0) : ends[e];
        }
    }
    return all;
}

/* The element of the operand that is the first to have one at the index; an update has it before what is updated. */
static IrRef choice(Make *m, const HloInstruction *i, const IrRef *index, uint32_t depth)
{
    const bool updates = i->opcode == HLO_DYNAMIC_UPDATE_SLICE;
    const IrRef *starts = starts_of(m, i, index, depth);
    IrRef value = 0;
    for (uint32_t n = updates ? 2 : i->n_operands; n-- > 0;) {
        const uint32_t k = updates ? 1 - n : n;
        IxAccess x;
        ix_access(m->rw, m->a, i, k, index, NULL, starts, &x);
        if (x.never && value) continue;
        const IrRef own = read_as(m, i->shape->type, i->operands[k], x.index, depth);
        const IrRef here = value && own != value ? condition_of(m, &x) : 0; /* of equal values there is no choice */
        value = here ? ir_node(m->g, OP_SELECT, IR_TYPE(i->shape->type, 0), 0, here, own, value, 0) : own;
    }
    return value;
}

/* An iota where a start stands is the integer that the start stands for. */
static IrRef leaf(Make *m, const HloInstruction *i, const IrRef *index)
{
    const GrStart *s = i->opcode == HLO_IOTA ? gr_start_of(m->out, index[i->number]) : NULL;
    if (!s) return gr_leaf(m->rw, i, index);
    return gr_convert(m->g, i->shape->type, IR_SC(ir_at(m->g, s->value)->type), s->value);
}

/* The element of a term at an index. Recurses at most MOST_NESTED levels. */
static IrRef element(Make *m, const HloInstruction *i, const IrRef *index, uint32_t depth)
{
    if (is_leaf(i)) return leaf(m, i, index);
    if (hlo_branches(i->opcode)) return choice(m, i, index, depth);
    const IrRef *starts = starts_of(m, i, index, depth);
    IrRef operands[3] = {0};
    for (uint32_t k = 0; k < (starts ? 1 : i->n_operands); k++) {
        IxAccess x;
        ix_access(m->rw, m->a, i, k, index, NULL, starts, &x);
        operands[k] = read(m, i->operands[k], x.index, depth);
    }
    HloInstruction plain = *i; /* equal terms are one node, whatever their flags: what is made of them has none */
    plain.permits = 0;
    return gr_element(m->rw, &plain, operands);
}

/* --- definitions -------------------------------------------------------------------------------------------------- */

static IrRef variable(Make *m, char letter, uint32_t number, int64_t size)
{
    if (size == 1) return ir_index(m->g, 0);
    const char *name = wbb_format(m->a, "%c%u", letter, number);
    const uint32_t v = ir_var_new(m->g, name, IR_LOOP, 0, size - 1, 0);
    return ir_node(m->g, OP_VAR, IR_TYPE(SC_INDEX, 0), 0, 0, 0, 0, v);
}

/* The number by which all that reads a range divides it, or a divisor of theirs: they take its quotient and its
 * remainder. 0: something takes the range itself, or numbers that do not divide each other. */
static int64_t divisor_of(const Make *m, const GrDef *d, IrRef range)
{
    const int64_t size = m->g->vars[ir_at(m->g, range)->imm].hi + 1;
    IrRefs nodes = {0};
    WBB_PUSH(m->a, &nodes, d->value);
    if (d->condition) WBB_PUSH(m->a, &nodes, d->condition);
    for (uint32_t k = 0; k < d->n_starts; k++) WBB_PUSH(m->a, &nodes, gr_start_of(m->out, d->starts[k])->value);
    ir_gather(m->g, m->a, &nodes, rw_marks(m->rw));
    int64_t least = 0;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < nodes.n; k++) {
            const IrNode *n = ir_at(m->g, nodes.items[k]);
            for (uint32_t o = 0; o < ir_arity(m->g, nodes.items[k]); o++) {
                if (ir_operand(m->g, nodes.items[k], o) != range) continue;
                if ((n->op != OP_FLOORDIV && n->op != OP_MOD) || o || !ir_is_const(m->g, n->a[1])) return 0;
                const int64_t by = (int64_t)ir_at(m->g, n->a[1])->imm;
                if (size % by || (pass && by % least)) return 0;
                least = pass || (least && least < by) ? least : by;
            }
        }
    return least;
}

/* A range of which terms read digits alone, as those of an array that a reshape made of one of more dimensions, is a
 * range for each digit: k < 24 with x[k // 6, k % 6] is k0 < 4, k1 < 6 with x[k0, k1]. */
static void split_ranges(Make *m, GrDef *d)
{
    for (uint32_t k = 0; k < d->n_ranges; k++) {
        const IrRef range = d->ranges[k];
        const int64_t by = ir_at(m->g, range)->op == OP_VAR ? divisor_of(m, d, range) : 0;
        if (!by || d->n_ranges == HLO_RANK_LIMIT) continue;
        const IrRef above = variable(m, 'k', k, (m->g->vars[ir_at(m->g, range)->imm].hi + 1) / by);
        const IrRef below = variable(m, 'k', k + 1, by);
        const IrTerm terms[] = {{.coefficient = by, .ref = above}, {.coefficient = 1, .ref = below}};
        const IrRef sum = rw_sum(m->rw, 0, terms, 2);
        d->value = gr_replaced(m->a, m->out, d->value, &range, &sum, 1);
        if (d->condition) d->condition = gr_replaced(m->a, m->out, d->condition, &range, &sum, 1);
        for (uint32_t s = 0; s < m->out->starts.n; s++) {
            GrStart *start = &m->out->starts.items[s];
            for (uint32_t j = 0; j < d->n_starts; j++)
                if (d->starts[j] == start->variable)
                    start->value = gr_replaced(m->a, m->out, start->value, &range, &sum, 1);
        }
        IrRef *ranges = WBB_NEW_N(m->a, IrRef, d->n_ranges + 1u);
        for (uint32_t j = 0; j < d->n_ranges; j++) ranges[j + (j > k)] = d->ranges[j];
        ranges[k] = above, ranges[k + 1] = below;
        d->ranges = ranges, d->n_ranges++, k--; /* its parts may have digits, too */
    }
    for (uint32_t k = 0; k < d->n_ranges; k++) {
        const IrNode *v = ir_at(m->g, d->ranges[k]);
        if (v->op == OP_VAR) m->g->vars[v->imm].name = wbb_format(m->g->arena, "k%u", k);
    }
}

static void fold(Make *m, GrDef *d)
{
    const HloInstruction *i = d->i;
    const IxNeeds needs = ix_needs(m->a, i);
    IxAccess x, y;
    d->ranges = WBB_NEW_N(m->a, IrRef, needs.n_ranges + 1u);
    for (uint32_t k = 0; k < needs.n_ranges; k++) d->ranges[d->n_ranges++] = variable(m, 'k', k, needs.sizes[k]);
    ix_access(m->rw, m->a, i, 0, d->at, d->ranges, NULL, &x);
    d->condition = condition_of(m, &x);
    if (is_product(i)) {
        const ScType t = d->type = gr_product_type(i);
        ix_access(m->rw, m->a, i, 1, d->at, d->ranges, NULL, &y);
        const IrRef of_x = read_as(m, t, i->operands[0], x.index, 0), of_y = read_as(m, t, i->operands[1], y.index, 0);
        const ScType part = gr_part_type(t);
        d->op = OP_ADD, d->init = gr_convert(m->g, t, part, ir_const(m->g, IR_TYPE(part, 0), 0));
        d->value = ir_node(m->g, OP_MUL, IR_TYPE(t, 0), 0, of_x, of_y, 0, 0);
        return;
    }
    d->op = hlo_combiner(i->called[0]), d->type = i->shape->type;
    d->value = read_as(m, d->type, i->operands[0], x.index, 0);
    d->init = read_as(m, d->type, i->operands[1], NULL, 0);
}

/* Without starts that the element does not depend on, as those of a slice of one number. Values of starts may need
 * starts that stand before them. */
void gr_drop_starts(WbbArena *a, const GrGraph *x, GrDef *d)
{
    const IrGraph *g = rw_graph(x->rw);
    IrRefs needed = {0};
    const IrRef roots[] = {d->value, d->condition, d->init};
    for (uint32_t k = 0; k < WBB_LEN(roots); k++)
        if (roots[k]) WBB_PUSH(a, &needed, roots[k]);
    ir_gather(g, a, &needed, rw_marks(x->rw));
    uint32_t kept = d->n_starts;
    for (uint32_t k = d->n_starts; k-- > 0;) {
        if (!ir_among(&needed, d->starts[k])) continue;
        d->starts[--kept] = d->starts[k];
        WBB_PUSH(a, &needed, gr_start_of(x, d->starts[kept])->value);
        ir_gather(g, a, &needed, rw_marks(x->rw));
    }
    d->starts += kept, d->n_starts -= kept;
}

static void define(Make *m, GrDef *d)
{
    const HloInstruction *i = d->i;
    m->def = d, m->g->making_origin = i->id + 1;
    d->form = i->opcode == HLO_PARAMETER ? GR_INPUT : is_term(i) ? GR_TERM : is_fold(m->a, i) ? GR_FOLD : GR_WHOLE;
    if (d->form == GR_INPUT || d->form == GR_WHOLE) {
        for (uint32_t k = 0; k < i->n_operands; k++) m->wanted[i->operands[k]->id] = true;
        return;
    }
    d->at = WBB_NEW_N(m->a, IrRef, i->shape->rank + 1u);
    for (uint32_t k = 0; k < i->shape->rank; k++) d->at[k] = variable(m, 'd', k, i->shape->dims[k]);
    if (d->form == GR_FOLD) fold(m, d), split_ranges(m, d);
    else d->value = element(m, i, d->at, 0);
    if (d->n_starts) gr_drop_starts(m->a, m->out, d);
}

enum { MANY = 2 };

/* How often a term reads operand o: of vectors of starts each component, which are columns that stand side by side, or
 * elements of one array. */
static uint32_t reads_of(WbbArena *a, const HloInstruction *i, uint32_t o)
{
    const int d = hlo_has_starts(i->opcode) ? ix_vector_dimension(a, i, o) : -1;
    const HloInstruction *x = i->operands[o];
    if (d < 0 || x->shape->dims[d] <= 1) return 1;
    if (x->opcode != HLO_CONCATENATE || x->dimensions[0] != d) return MANY;
    for (uint32_t k = 0; k < x->n_operands; k++)
        if (x->operands[k]->shape->dims[d] > 1) return MANY;
    return 1;
}

/* Users stand after their operands: their own count is complete when theirs is taken. */
static void count_reads(Make *m, const HloComputation *c)
{
    m->reads[c->root->id] = 1;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        const HloInstruction *i = c->instructions[k];
        const uint32_t times = is_term(i) && is_move(i) ? m->reads[k] : m->reads[k] > 0;
        for (uint32_t o = 0; o < i->n_operands; o++) {
            uint32_t *n = &m->reads[i->operands[o]->id];
            *n = WBB_MIN(*n + times * reads_of(m->a, i, o), MANY);
        }
    }
}

void gr_put_place(GrGraph *x, IrRef node, IrRef read)
{
    WbbEntry *e = wbb_map_put_bytes(&x->places, &node, sizeof node);
    if (!e->value) e->value = read;
}

IrRef gr_place_of(const GrGraph *x, IrRef node)
{
    const WbbEntry *e = wbb_map_get_bytes(&x->places, &node, sizeof node);
    return e ? (IrRef)e->value : 0;
}

IrRef gr_replaced(WbbArena *a, GrGraph *x, IrRef root, const IrRef *from, const IrRef *to, uint32_t n)
{
    const IrGraph *g = rw_graph(x->rw);
    IrRefs nodes = {0}, all = {0};
    WBB_PUSH(a, &nodes, root);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    WBB_PUSH(a, &all, root);
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrRef read = gr_place_of(x, nodes.items[k]);
        if (!read) continue;
        WBB_PUSH(a, &all, nodes.items[k]);
        WBB_PUSH(a, &all, read);
    }
    rw_replace(x->rw, a, all.items, all.n, from, to, n);
    for (uint32_t k = 1; k < all.n; k += 2) gr_put_place(x, all.items[k], all.items[k + 1]);
    return all.items[0];
}

IrRef gr_element_at(WbbArena *a, GrGraph *x, const GrDef *d, IrRef value, IrRef read)
{
    const IrGraph *g = rw_graph(x->rw);
    IrRef from[HLO_RANK_LIMIT], to[HLO_RANK_LIMIT];
    uint32_t n = 0;
    for (uint32_t k = 0; k < d->i->shape->rank; k++) {
        if (ir_at(g, d->at[k])->op != OP_VAR) continue;
        from[n] = d->at[k], to[n++] = g->terms[ir_at(g, read)->a[0] + k].ref;
    }
    return gr_replaced(a, x, value, from, to, n);
}

const GrStart *gr_start_of(const GrGraph *x, IrRef variable)
{
    uint32_t lo = 0, hi = x->starts.n;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (x->starts.items[middle].variable == variable) return &x->starts.items[middle];
        if (x->starts.items[middle].variable < variable) lo = middle + 1;
        else hi = middle;
    }
    return NULL;
}

GrGraph *gr_make(WbbCx *cx, WbbArena *a, const HloComputation *c)
{
    GrGraph *out = WBB_NEW(a, GrGraph);
    RwCx *rw = ix_engine(cx, a);
    *out = (GrGraph){.rw = rw, .c = c, .defs = WBB_NEW_N(a, GrDef, c->n_instructions + 1u),
                      .places = {.arena = a}};
    Make m = {.a = a, .rw = rw, .g = rw_graph(rw), .out = out, .starts = {.arena = a},
              .reads = WBB_NEW_N(a, uint32_t, c->n_instructions + 1u),
              .wanted = WBB_NEW_N(a, bool, c->n_instructions + 1u)};
    count_reads(&m, c);
    m.wanted[c->root->id] = true;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        out->defs[k].i = c->instructions[k];
        if (m.wanted[k]) define(&m, &out->defs[k]);
    }
    m.g->making_origin = 0;
    return out;
}

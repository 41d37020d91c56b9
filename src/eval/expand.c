/* expand: operations that are defined by a computation of others: batch-norm-*, topk; X-start, which is X; collectives
 * that one device takes part in, which are their operands.
 *
 * Needs: the shapes and attributes of the operation. Leaves: a computation that a frame evaluates like that of a call,
 * so that it works in each mode and for each set.
 *
 *     topk(f32[8,100] x), k=3     sort x and the index of each element by descending value, take the first three of
 * each row
 */
#include "eval/inner.h"

#include <string.h>

static bool is_top_k(const HloInstruction *i)
{
    return i->opcode == HLO_TOPK ||
           (i->opcode == HLO_CUSTOM_CALL && i->target && strcmp(i->target, "TopK") == 0 && i->n_operands == 1);
}

bool ev_is_expanded(const HloInstruction *i)
{
    return i->opcode == HLO_BATCH_NORM_TRAINING || i->opcode == HLO_BATCH_NORM_INFERENCE ||
           i->opcode == HLO_BATCH_NORM_GRAD || is_top_k(i) || i->alone || (i->opcode == HLO_ASYNC_START && i->spelling);
}

/* One operation rounds once, at its end: what is narrower than f32 is computed in f32. */
typedef struct {
    WbbBuf text;
    const char *type, *full, *vector, *feature, *others; /* f32; f32[8,4]; f32[4]; {1}; {0} */
    const char *own_full, *own_vector;                   /* of operands and results */
    const char *count, *epsilon;                         /* elements of a feature; the attribute */
} Norm;

static Norm new_norm(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    uint32_t n = 0;
    const int64_t *index = hlo_attribute_ints(a, i, "feature_index", &n);
    int64_t feature = n == 1 ? index[0] : 0;
    const char *epsilon = hlo_attribute(a, i, "epsilon");
    WbbBuf dims = wbb_buf(a), others = wbb_buf(a);
    for (int64_t d = 0; d < s->rank; d++) {
        wbb_putf(&dims, "%s%lld", d ? "," : "", (long long)s->dims[d]);
        if (d != feature) wbb_putf(&others, "%s%lld", others.n ? "," : "", (long long)d);
    }
    const char *own = sc_type_info[s->type].hlo;
    const char *type = sc_type_info[sc_type_info[s->type].bits < 32 ? SC_F32 : s->type].hlo;
    int64_t features = s->dims[feature];
    return (Norm){.text = wbb_buf(a),
                  .type = type,
                  .full = wbb_format(a, "%s[%s]", type, dims.text),
                  .vector = wbb_format(a, "%s[%lld]", type, (long long)features),
                  .own_full = wbb_format(a, "%s[%s]", own, dims.text),
                  .own_vector = wbb_format(a, "%s[%lld]", own, (long long)features),
                  .feature = wbb_format(a, "{%lld}", (long long)feature),
                  .others = wbb_format(a, "{%s}", others.text ? others.text : ""),
                  .count = wbb_format(a, "%lld", (long long)(features ? hlo_elements(s) / features : 0)),
                  .epsilon = epsilon ? epsilon : "0"};
}

static void parameter(Norm *n, const char *to, bool full, int k)
{
    wbb_putf(&n->text, "%s.own = %s parameter(%d)\n%s = %s convert(%s.own)\n", to, full ? n->own_full : n->own_vector,
             k, to, full ? n->full : n->vector, to);
}

/* The results, the first of all elements, the others of features; NULL: there is no second. */
static void results(Norm *n, const char *full, const char *second, const char *third)
{
    WbbBuf *t = &n->text;
    wbb_putf(t, "%sr0 = %s convert(%s)\n", second ? "" : "ROOT ", n->own_full, full);
    if (!second) return;
    wbb_putf(t, "r1 = %s convert(%s)\nr2 = %s convert(%s)\n", n->own_vector, second, n->own_vector, third);
    wbb_putf(t, "ROOT r = (%s, %s, %s) tuple(r0, r1, r2)\n", n->own_full, n->own_vector, n->own_vector);
}

/* A vector of features, broadcast to all elements. */
static void spread(Norm *n, const char *to, const char *from)
{
    wbb_putf(&n->text, "%s = %s broadcast(%s), dimensions=%s\n", to, n->full, from, n->feature);
}

/* A sum over all dimensions except for that of the features. */
static void sum(Norm *n, const char *to, const char *from)
{
    wbb_putf(&n->text, "%s = %s reduce(%s, zero), dimensions=%s, to_apply=add\n", to, n->vector, from, n->others);
}

static void constants(Norm *n)
{
    wbb_putf(&n->text,
             "zero = %s[] constant(0)\nc = %s[] constant(%s)\ne = %s[] constant(%s)\ncount = %s broadcast(c), "
             "dimensions={}\n"
             "epsilon = %s broadcast(e), dimensions={}\n",
             n->type, n->type, n->count, n->type, n->epsilon, n->vector, n->vector);
}

static const char *norm_text(WbbArena *a, const HloInstruction *i)
{
    Norm n = new_norm(a, i);
    WbbBuf *t = &n.text;
    wbb_putf(t, "add { p = %s[] parameter(0) q = %s[] parameter(1) ROOT r = %s[] add(p, q) }\nENTRY e {\n", n.type,
             n.type, n.type);
    parameter(&n, "x", true, 0);
    parameter(&n, "scale", false, 1);
    bool grad = i->opcode == HLO_BATCH_NORM_GRAD, training = i->opcode == HLO_BATCH_NORM_TRAINING;
    if (!grad) parameter(&n, "offset", false, 2);
    if (!training) parameter(&n, "mean", false, grad ? 2 : 3);
    if (!training) parameter(&n, "variance", false, grad ? 3 : 4);
    if (grad) parameter(&n, "grad", true, 4);
    constants(&n);
    if (training) {
        sum(&n, "total", "x");
        wbb_putf(t, "mean = %s divide(total, count)\n", n.vector);
    }
    spread(&n, "means", "mean");
    wbb_putf(t, "centred = %s subtract(x, means)\n", n.full);
    if (training) {
        wbb_putf(t, "squares = %s multiply(centred, centred)\n", n.full);
        sum(&n, "total2", "squares");
        wbb_putf(t, "variance = %s divide(total2, count)\n", n.vector);
    }
    wbb_putf(t, "above = %s add(variance, epsilon)\nfactor = %s rsqrt(above)\n", n.vector, n.vector);
    spread(&n, "factors", "factor");
    spread(&n, "scales", "scale");
    wbb_putf(t, "normal = %s multiply(centred, factors)\n", n.full);
    if (!grad) {
        spread(&n, "offsets", "offset");
        wbb_putf(t, "scaled = %s multiply(normal, scales)\nshifted = %s add(scaled, offsets)\n", n.full, n.full);
        results(&n, "shifted", training ? "mean" : NULL, "variance");
    } else {
        /* With N elements a feature: (N grad - sum grad - normal * sum(grad normal)) scale factor / N */
        sum(&n, "grad_offset", "grad");
        wbb_putf(t, "weighted = %s multiply(grad, normal)\n", n.full);
        sum(&n, "grad_scale", "weighted");
        spread(&n, "sums", "grad_offset");
        spread(&n, "weights", "grad_scale");
        spread(&n, "counts", "count");
        wbb_putf(t,
                 "a0 = %s multiply(grad, counts)\na1 = %s subtract(a0, sums)\na2 = %s multiply(normal, weights)\na3 = "
                 "%s subtract(a1, a2)\n"
                 "b0 = %s multiply(scales, factors)\nb1 = %s divide(b0, counts)\ngrad_x = %s multiply(a3, b1)\n",
                 n.full, n.full, n.full, n.full, n.full, n.full, n.full);
        results(&n, "grad_x", "grad_scale", "grad_offset");
    }
    wbb_put(t, "}\n");
    return t->text;
}

/* By descending value, equal values in their order. The comparison is the total order: nan is above infinity (XLA's
 * TopK). */
static const char *top_k_text(WbbArena *a, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape, *r = i->shape->elements[0], *index = i->shape->elements[1];
    const char *type = sc_type_info[s->type].hlo, *integer = sc_type_info[index->type].hlo;
    const char *largest = hlo_attribute(a, i, "largest"),
               *direction = largest && strcmp(largest, "false") == 0 ? "LT" : "GT";
    WbbBuf t = wbb_buf(a), in = wbb_buf(a), out = wbb_buf(a), slice = wbb_buf(a);
    for (uint32_t d = 0; d < s->rank; d++) {
        wbb_putf(&in, "%s%lld", d ? "," : "", (long long)s->dims[d]);
        wbb_putf(&out, "%s%lld", d ? "," : "", (long long)r->dims[d]);
        wbb_putf(&slice, "%s[0:%lld]", d ? ", " : "", (long long)r->dims[d]);
    }
    wbb_putf(&t,
             "above { p = %s[] parameter(0) q = %s[] parameter(1) j = %s[] parameter(2) k = %s[] parameter(3) ROOT r = "
             "pred[] compare(p, q), direction=%s%s }\n",
             type, type, integer, integer, direction, sc_is_float(s->type) ? ", type=TOTALORDER" : "");
    wbb_putf(&t, "ENTRY e {\nx = %s[%s] parameter(0)\ni = %s[%s] iota(), iota_dimension=%d\n", type, in.text, integer,
             in.text, s->rank - 1);
    wbb_putf(&t, "s = (%s[%s], %s[%s]) sort(x, i), dimensions={%d}, is_stable=true, to_apply=above\n", type, in.text,
             integer, in.text, s->rank - 1);
    wbb_putf(&t, "v = %s[%s] get-tuple-element(s), index=0\nj = %s[%s] get-tuple-element(s), index=1\n", type, in.text,
             integer, in.text);
    wbb_putf(&t, "w = %s[%s] slice(v), slice={%s}\nk = %s[%s] slice(j), slice={%s}\n", type, out.text, slice.text,
             integer, out.text, slice.text);
    wbb_putf(&t, "ROOT r = (%s[%s], %s[%s]) tuple(w, k)\n}\n", type, out.text, integer, out.text);
    return t.text;
}

/* --- a computation of instructions -------------------------------------------------------------------------------- */
typedef struct {
    Ev *e;
    const HloInstruction *of;
    struct { HloInstruction **items; uint32_t n, capacity; } list;
} Made;

static HloInstruction *made(Made *m, HloInstruction i)
{
    HloInstruction *x = WBB_NEW(m->e->arena, HloInstruction);
    *x = i;
    x->id = m->list.n, x->loc = m->of->loc, x->name = m->of->name;
    if (!x->attributes) x->attributes = "";
    WBB_PUSH(m->e->arena, &m->list, x);
    return x;
}

/* Of a shape of the result, whose leaves count from *leaf on: operands, which are the first of the list, and zeros. */
static HloInstruction *alone_value(Made *m, const HloShape *s, uint32_t *leaf)
{
    if (s->type != SC_TUPLE) {
        const int64_t k = hlo_alone_operand(m->of, (*leaf)++);
        if (k != HLO_ZERO) return m->list.items[k];
        return made(m, (HloInstruction){.opcode = HLO_CONSTANT, .shape = s, .literal_splat = true,
                                        .literal = WBB_NEW_N(m->e->arena, uint64_t, 2)});
    }
    HloInstruction **parts = WBB_NEW_N(m->e->arena, HloInstruction *, s->n_elements + 1);
    for (uint32_t k = 0; k < s->n_elements; k++) parts[k] = alone_value(m, s->elements[k], leaf);
    return made(m, (HloInstruction){.opcode = HLO_TUPLE, .shape = s, .operands = parts, .n_operands = s->n_elements});
}

/* X of the operands of X-start, with the shape of its done. */
static HloInstruction *started(Made *m)
{
    HloInstruction i = *m->of;
    HloInstruction **operands = WBB_NEW_N(m->e->arena, HloInstruction *, i.n_operands + 1);
    for (uint32_t k = 0; k < i.n_operands; k++) operands[k] = m->list.items[k];
    i.opcode = hlo_started_opcode(m->of), i.spelling = NULL, i.operands = operands;
    i.shape = i.shape->type == SC_TUPLE ? i.shape->elements[1] : i.shape;
    return made(m, i);
}

static const HloComputation *made_computation(Ev *e, const HloInstruction *i)
{
    Made m = {.e = e, .of = i};
    uint32_t leaf = 0;
    for (uint32_t k = 0; k < i->n_operands; k++)
        made(&m, (HloInstruction){.opcode = HLO_PARAMETER, .shape = i->operands[k]->shape, .number = k});
    HloInstruction *root = i->opcode == HLO_ASYNC_START ? started(&m) : alone_value(&m, i->shape, &leaf);
    HloComputation *c = WBB_NEW(e->arena, HloComputation);
    *c = (HloComputation){.name = i->name, .instructions = m.list.items, .n_instructions = m.list.n, .attributes = "",
                          .parameters = m.list.items, .n_parameters = i->n_operands, .root = root,
                          .module = e->root->c->module, .loc = i->loc};
    return c;
}

const HloComputation *ev_expansion(Ev *e, const HloInstruction *i)
{
    if (!ev_is_expanded(i)) return NULL;
    if (i->alone || i->opcode == HLO_ASYNC_START) return made_computation(e, i);
    if (is_top_k(i) && (i->shape->type != SC_TUPLE || i->shape->n_elements != 2 || i->operands[0]->shape->rank == 0))
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator has top-k with two results only");
    const char *text = is_top_k(i) ? top_k_text(e->arena, i) : norm_text(e->arena, i);
    return hlo_parse(e->cx, e->arena, i->name, text, strlen(text))->entry;
}

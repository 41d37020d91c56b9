/* graph_values: definitions of fusions against the evaluator: graph_values FILE.hlo.. prints for each file how many
 * elements were compared, and each that differs. Run by graph_values.py.
 *
 * At random indices of each term and fold, the elements that it reads are asked of the evaluator, and what the
 * definition makes of them must be the evaluator's element, of sums of floats inside its bounds. Inputs are small
 * integers of the position's hash.
 */
#include "eval/eval.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

enum { POINTS = 3, MOST_TERMS = 2048 };

typedef struct { int64_t *items; uint32_t n, capacity; } Positions;

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const HloComputation *c;
    const GrGraph *x;
    int64_t *variable;
    WbbMap found;      /* by id and position: bits of elements that the evaluator was asked for */
    Positions *wanted; /* by id: elements that are read, and are not there yet */
    bool missing;      /* there are such */
    uint64_t compared, failed;
} Check;

static void read_input(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    const Check *k = arg;
    const ScType t = k->c->parameters[number]->shape->type;
    const uint32_t bytes = sc_bytes(t);
    for (int64_t p = 0; p < n; p++) {
        const uint64_t h = wbb_mix((uint64_t)(positions ? positions[p] : start + p) * 31 + (uint64_t)number);
        uint64_t bits[2] = {0};
        const ScType part = t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : t;
        bits[0] = sc_from_f64(part, (double)(h % 9) - (sc_type_info[part].cls == 'U' ? 0 : 4));
        memcpy((char *)out + p * bytes, bits, bytes);
    }
}

static bool value_of(Check *k, IrRef r, uint64_t *bits);

/* A read outside its array, where a choice does not take it, is of no element. */
static uint64_t leaf(void *arg, const IrGraph *g, IrRef r)
{
    Check *k = arg;
    const IrNode *n = ir_at(g, r);
    const GrStart *start = gr_start_of(k->x, r);
    if (start) {
        uint64_t bits = 0;
        const bool known = value_of(k, start->value, &bits);
        return known ? (uint64_t)(int64_t)sc_to_i128(IR_SC(ir_at(g, start->value)->type), bits) : 0;
    }
    if (n->op == OP_VAR) return (uint64_t)k->variable[n->imm];
    const uint32_t id = (uint32_t)n->imm;
    const HloShape *s = k->x->defs[id].i->shape;
    int64_t at = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        uint64_t index = 0;
        if (!value_of(k, g->terms[n->a[0] + d].ref, &index)) return 0;
        if ((int64_t)index < 0 || (int64_t)index >= s->dims[d]) return 0;
        at = at * s->dims[d] + (int64_t)index;
    }
    const int64_t key[2] = {id, at};
    const WbbEntry *e = wbb_map_get_bytes(&k->found, key, sizeof key);
    if (e) return e->value;
    WBB_PUSH(k->a, &k->wanted[id], at);
    k->missing = true;
    return 0;
}

static bool value_of(Check *k, IrRef r, uint64_t *bits) { return ir_eval(rw_graph(k->x->rw), r, leaf, k, bits); }

static bool next(Check *k, const IrRef *at, uint32_t n)
{
    const IrGraph *g = rw_graph(k->x->rw);
    for (uint32_t d = n; d-- > 0;) {
        const IrNode *x = ir_at(g, at[d]);
        if (x->op != OP_VAR) continue;
        if (++k->variable[x->imm] <= g->vars[x->imm].hi) return true;
        k->variable[x->imm] = 0;
    }
    return false;
}

/* The element at the variables' values; false: a node that has no reference meaning, as one of complex numbers. */
static bool element(Check *k, const GrDef *d, uint64_t *bits)
{
    if (d->form == GR_TERM) return value_of(k, d->value, bits);
    const ScType t = d->type, to = d->i->shape->type;
    if (!value_of(k, d->init, bits)) return false;
    do {
        uint64_t counts = 1, x[2] = {*bits, 0};
        if (d->condition && !value_of(k, d->condition, &counts)) return false;
        if (!value_of(k, d->value, &x[1])) return false;
        if (counts && !sc_eval(d->op, t, t, x, bits)) return false;
    } while (next(k, d->ranges, d->n_ranges));
    return t == to || sc_eval(OP_CVT, to, t, bits, bits);
}

static const void *ask(Check *k, uint32_t id, EvMode mode, const int64_t *positions, int64_t n)
{
    const EvSource source = {read_input, k};
    return ev_value_at(k->cx, k->a, k->c, NULL, k->c->instructions[id], 0, &source, mode, (EvPositions){positions, n})
        .data;
}

/* Element n of an array; one of few bits is sign-extended there. */
static uint64_t bits_at(ScType t, const void *from, int64_t n)
{
    uint64_t bits = 0;
    const uint32_t bytes = sc_bytes(t);
    memcpy(&bits, (const char *)from + n * bytes, WBB_MIN(bytes, 8u));
    return bits & sc_mask(t);
}

static void collect_values(Check *k)
{
    for (uint32_t id = 0; id < k->c->n_instructions; id++) {
        Positions *p = &k->wanted[id];
        if (!p->n) continue;
        const void *from = ask(k, id, EV_PLAIN, p->items, p->n);
        const ScType t = k->c->instructions[id]->shape->type;
        for (uint32_t n = 0; n < p->n; n++) {
            const int64_t key[2] = {id, p->items[n]};
            wbb_map_put_bytes(&k->found, key, sizeof key)->value = bits_at(t, from, n);
        }
        p->n = 0;
    }
}

/* Is it what the evaluator has there? Sums of floats may be taken in any order: inside the bounds. */
static bool is_right(Check *k, const GrDef *d, int64_t position, uint64_t bits, uint64_t *wanted)
{
    const ScType t = d->i->shape->type;
    *wanted = bits_at(t, ask(k, d->i->id, EV_PLAIN, &position, 1), 0);
    if (bits == *wanted || !sc_is_float(t)) return bits == *wanted;
    const double x = sc_to_f64(t, bits), y = sc_to_f64(t, *wanted);
    if (d->form == GR_TERM) return x != x && y != y;
    const EvBound *b = ask(k, d->i->id, EV_BOUNDS, &position, 1);
    return x != x ? b->flags != 0 : b->lo.f <= x && x <= b->hi.f;
}

static void check(Check *k, const GrDef *d, uint64_t seed)
{
    const IrGraph *g = rw_graph(k->x->rw);
    const HloShape *s = d->i->shape;
    int64_t position = 0, terms = 1;
    uint64_t bits = 0, wanted = 0;
    if (sc_bytes(s->type) > sizeof wanted) return;
    for (uint32_t r = 0; r < d->n_ranges; r++) {
        const IrNode *x = ir_at(g, d->ranges[r]);
        terms *= x->op == OP_VAR ? g->vars[x->imm].hi + 1 : 1;
        if (terms > MOST_TERMS) return;
    }
    memset(k->variable, 0, g->n_vars * sizeof *k->variable);
    for (uint32_t r = 0; r < s->rank; r++) {
        const int64_t at = (int64_t)(wbb_mix(seed + r) % (uint64_t)s->dims[r]);
        position = position * s->dims[r] + at;
        if (ir_at(g, d->at[r])->op == OP_VAR) k->variable[ir_at(g, d->at[r])->imm] = at;
    }
    for (k->missing = true; k->missing; collect_values(k)) { /* which are read may depend on those that are read */
        k->missing = false;
        if (!element(k, d, &bits)) return;
    }
    k->compared++;
    if (is_right(k, d, position, bits, &wanted)) return;
    k->failed++;
    printf("%s: element %lld of %s: %llx, not %llx\n", d->i->loc.file, (long long)position, d->i->name,
           (unsigned long long)bits, (unsigned long long)wanted);
}

static void check_file(WbbCx *cx, void *arg)
{
    const char *file = arg;
    size_t n;
    const char *text = wbb_read_file(cx, cx->arena, file, &n);
    const HloModule *m = hlo_normalise(cx, cx->arena, hlo_parse(cx, cx->arena, file, text, n));
    Check k = {.cx = cx, .a = cx->arena, .c = hlo_fusion(cx, m).body};
    for (uint32_t p = 0; p < k.c->n_parameters; p++)
        if (k.c->parameters[p]->shape->type == SC_TUPLE) return;
    ev_check(cx, k.c);
    k.x = gr_make(cx, cx->arena, k.c);
    k.found.arena = k.a;
    k.wanted = WBB_NEW_N(k.a, Positions, k.c->n_instructions + 1u);
    k.variable = WBB_NEW_N(cx->arena, int64_t, rw_graph(k.x->rw)->n_vars + 1);
    for (uint32_t id = 0; id < k.c->n_instructions; id++) {
        const GrDef *d = &k.x->defs[id];
        for (uint64_t p = 0; p < POINTS && (d->form == GR_TERM || d->form == GR_FOLD); p++)
            check(&k, d, wbb_mix(id * POINTS + p));
    }
    printf("%s: %llu compared, %llu differ\n", file, (unsigned long long)k.compared, (unsigned long long)k.failed);
}

int main(int argc, char **argv)
{
    for (int f = 1; f < argc; f++) {
        WbbCx *cx = wbb_cx_new();
        const WbbStatus status = wbb_guard(cx, check_file, argv[f]);
        if (status != WBB_OK) printf("%s: 0 compared, status %d\n", argv[f], (int)status);
        wbb_cx_free(cx);
    }
    return 0;
}

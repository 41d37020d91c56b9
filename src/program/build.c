/* build: the computations of a program from the cuts of an HLO module.
 *
 * Needs: a verified, normalised HLO module. Leaves: a verified program. Each instruction of tuple shape becomes its
 * arrays, so tuples and their elements cost nothing; a reshape or bitcast of a value in memory is a view. A computation
 * that is the body of a loop has its results in the memory of its parameters; one that is called otherwise as well is
 * built twice.
 *
 *     w = (s32[], f32[8]) while(init), ..  x = get-tuple-element(w), index=1     x is the value w{1}
 */
#include "program/program.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

const char *const prog_step_name[] = {"kernel", "library", "copy", "loop", "branch", "call", NULL};

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const HloModule *m;
    const FuseHow *how;
    ProgModule *p;
    FuseCut *cuts;      /* by id of the computation */
    uint32_t *made[2];  /* by id: number in the program + 1, as called, and as the body of a loop */
    bool *wanted[2];
    int64_t **trips;    /* by id: [instruction] iterations of a loop */
    bool *open;         /* by id: it is the body of a loop whose iterations are not known */
    WbbMap files, names; /* by interned text; by interned name */
} Build;

/* Of one computation. */
typedef struct {
    Build *b;
    const HloComputation *c;
    const HloInstruction *loop; /* fuse_loop_of */
    uint32_t **values; /* [id] its arrays; NULL: it is in no memory */
    struct { ProgValue *items; uint32_t n, capacity; } all;
    struct { ProgBuffer *items; uint32_t n, capacity; } buffers;
    struct { ProgStep *items; uint32_t n, capacity; } steps;
} Flow;

BdBuffer prog_describe(const ProgValue *v)
{
    BdBuffer d = {.type = v->type, .rank = v->rank, .bits = bd_type_bits(v->type), .bytes = v->bytes, .align = 1,
                  .copy_of = -1};
    for (int k = 0; k < v->rank; k++) d.dims[k] = v->dims[k], d.minor_to_major[k] = v->minor_to_major[k];
    return d;
}

/* A name of letters, digits, '_', '.' and '-', which no other file has. */
static const char *file_name(Build *b, const char *folder, const char *name, const char *ending)
{
    char *clean = wbb_format(b->arena, "%s", name);
    for (char *p = clean; *p; p++) {
        const bool fine = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                          *p == '_' || *p == '-' || (*p == '.' && p > clean);
        if (!fine) *p = '_';
    }
    if (strlen(clean) > 100) clean[100] = 0;
    return wbb_unique_name(b->cx, &b->names, wbb_format(b->arena, "%s/%s", folder, clean), ending, 2);
}

/* --- values ------------------------------------------------------------------------------------------------------- */
/* "{1,0}": the way to leaf `leaf` of a tuple. */
static void put_path(WbbBuf *out, const HloShape *s, uint32_t leaf)
{
    for (const char *between = "{"; s->type == SC_TUPLE; between = ",") {
        uint32_t k = 0;
        for (; leaf >= s->elements[k]->n_leaves; k++) leaf -= s->elements[k]->n_leaves;
        wbb_putf(out, "%s%u", between, k);
        s = s->elements[k];
    }
    wbb_put(out, "}");
}

static uint32_t new_value(Flow *f, const char *name, const HloShape *s, uint32_t buffer, int64_t view)
{
    WbbArena *a = f->b->arena;
    int64_t *dims = WBB_NEW_N(a, int64_t, s->rank + 1);
    int *order = WBB_NEW_N(a, int, s->rank + 1);
    for (uint32_t k = 0; k < s->rank; k++) dims[k] = s->dims[k], order[k] = s->minor_to_major[k];
    const int bits = sc_type_info[s->type].bits;
    const WbbI128 bytes = s->type == SC_TOKEN ? 0 : ((WbbI128)hlo_elements(s) * bits + 7) / 8;
    if (bytes > (WbbI128)1 << 56) wbb_fail(f->b->cx, f->c->loc, "%s is too large", name);
    const ProgValue v = {.name = name, .type = sc_type_info[s->type].hlo, .rank = s->rank, .dims = dims,
                         .minor_to_major = order, .bytes = (int64_t)bytes, .buffer = buffer,
                         .of = view >= 0 ? (uint32_t)view : f->all.n};
    WBB_PUSH(a, &f->all, v);
    return f->all.n - 1;
}

/* New values for all arrays of an instruction. */
static uint32_t *new_values(Flow *f, const HloInstruction *i)
{
    const HloShape **leaves;
    const uint32_t n = hlo_leaves(f->b->arena, i->shape, &leaves);
    uint32_t *out = WBB_NEW_N(f->b->arena, uint32_t, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        WbbBuf name = wbb_buf(f->b->arena);
        wbb_put(&name, i->name);
        if (i->shape->type == SC_TUPLE) put_path(&name, i->shape, k);
        out[k] = new_value(f, name.text, leaves[k], PROG_UNPLACED, -1);
    }
    return out;
}

static uint32_t new_buffer(Flow *f, ProgBuffer b)
{
    WBB_PUSH(f->b->arena, &f->buffers, b);
    return f->buffers.n - 1;
}

static uint32_t *constant(Flow *f, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE)
        wbb_decline(f->b->cx, i->loc, WHY_OPERATION, "%s is a constant of tuple shape", i->name);
    uint32_t *out = new_values(f, i);
    ProgBuffer b = {.place = PROG_CONSTANT, .bytes = f->all.items[out[0]].bytes, .literal = i->literal,
                    .splat = i->literal_splat};
    if (i->literal) b.file = file_name(f->b, "constants", i->name, ".npy");
    f->all.items[out[0]].buffer = new_buffer(f, b);
    return out;
}

static uint32_t *view(Flow *f, const HloInstruction *i, const uint32_t *of, const FuseSlab *part)
{
    uint32_t *out = WBB_NEW_N(f->b->arena, uint32_t, 1);
    const ProgValue *base = &f->all.items[of[0]];
    const int64_t at = base->at + part->at, each = base->each + part->each;
    out[0] = new_value(f, i->name, i->shape, PROG_UNPLACED, base->of);
    f->all.items[out[0]].at = at, f->all.items[out[0]].each = each;
    return out;
}

static uint32_t *tuple(Flow *f, const HloInstruction *i)
{
    uint32_t *out = WBB_NEW_N(f->b->arena, uint32_t, i->shape->n_leaves + 1), n = 0;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const uint32_t *from = f->values[i->operands[k]->id];
        if (!from) return NULL;
        for (uint32_t j = 0; j < i->operands[k]->shape->n_leaves; j++) out[n++] = from[j];
    }
    return out;
}

/* The arrays of an instruction that no step makes; NULL: it has none, or its operands have none. */
static uint32_t *named(Flow *f, const HloInstruction *i)
{
    uint32_t *of = i->n_operands ? f->values[i->operands[0]->id] : NULL;
    switch (i->opcode) {
    case HLO_PARAMETER: return new_values(f, i);
    case HLO_TUPLE: return tuple(f, i);
    case HLO_AFTER_ALL: return new_values(f, i);
    case HLO_GET_TUPLE_ELEMENT:
        for (int64_t k = 0; of && k < i->number; k++) of += i->operands[0]->shape->elements[k]->n_leaves;
        return of;
    default: break;
    }
    if (hlo_forwards_operand(i) || (hlo_is_elementwise(i->opcode) && i->shape->type == SC_TUPLE)) return of;
    FuseSlab part = {0};
    return of && (fuse_is_view(i) || fuse_is_slab(i, f->loop, &part)) ? view(f, i, of, &part) : NULL;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */
static uint32_t *arrays_of(Flow *f, const HloInstruction *const *list, uint32_t n, uint32_t *count)
{
    *count = 0;
    for (uint32_t k = 0; k < n; k++) *count += list[k]->shape->n_leaves;
    uint32_t *out = WBB_NEW_N(f->b->arena, uint32_t, *count + 1), at = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!f->values[list[k]->id] && list[k]->opcode == HLO_CONSTANT) f->values[list[k]->id] = constant(f, list[k]);
        const uint32_t *from = f->values[list[k]->id];
        assert(from); /* a cut reads what memory holds */
        for (uint32_t j = 0; j < list[k]->shape->n_leaves; j++) out[at++] = from[j];
    }
    return out;
}

static const char *file_of(Build *b, const FuseStep *s)
{
    const char *plan = s->plan.text ? s->plan.text : "";
    const char *text = wbb_intern_z(b->cx, wbb_format(b->arena, "%s%s", plan, s->text));
    WbbEntry *e = wbb_map_put(&b->files, wbb_key(text));
    if (!e->pointer) {
        const char *file = file_name(b, "steps", s->at->name, ".hlo");
        e = wbb_map_put(&b->files, wbb_key(text));
        e->pointer = (void *)file;
    }
    return e->pointer;
}

static uint32_t called(const Build *b, const HloComputation *c, bool body) { return b->made[body][c->id] - 1; }

/* Loop: condition, body. */
static void add_calls(Flow *f, const HloInstruction *i, ProgStep *s)
{
    WbbArena *a = f->b->arena;
    uint32_t *calls = WBB_NEW_N(a, uint32_t, i->n_called + 1), *taken = WBB_NEW_N(a, uint32_t, i->n_called + 1);
    s->calls = calls, s->taken = taken;
    s->kind = i->opcode == HLO_WHILE ? PROG_LOOP : i->opcode == HLO_CONDITIONAL ? PROG_BRANCH : PROG_CALL;
    if (s->kind == PROG_LOOP) s->iterations = f->b->trips[f->c->id][i->id];
    const bool counted = s->iterations >= 0;
    for (uint32_t k = 0; k < i->n_called; k++) {
        const bool body = s->kind == PROG_LOOP && !strcmp(i->called_by[k], "body");
        if (counted && !body) continue;
        calls[s->kind == PROG_LOOP ? body && !counted : k] = called(f->b, i->called[k], body);
        taken[s->n_calls++] = s->kind == PROG_BRANCH ? i->operands[k + 1]->shape->n_leaves : s->n_reads;
    }
    if (s->kind != PROG_LOOP || counted) return;
    const HloShape flag = {.type = SC_PRED};
    s->flag = new_value(f, wbb_format(a, "%s.condition", i->name), &flag, PROG_UNPLACED, -1);
}

static bool same_type(const ProgValue *x, const ProgValue *y)
{
    return !strcmp(x->type, y->type) && x->rank == y->rank &&
           (!x->rank || (!memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) &&
                         !memcmp(x->minor_to_major, y->minor_to_major, (size_t)x->rank * sizeof *x->minor_to_major)));
}

static void add_copy(Flow *f, uint32_t from, uint32_t to)
{
    WBB_PUSH(f->b->arena, &f->steps, prog_copy(f->b->arena, f->all.items[to].name, from, to));
}

/* A new value for the same array as `value`, in the order of dimensions of `like`. */
static uint32_t in_layout(Flow *f, uint32_t value, const ProgValue *like)
{
    ProgValue v = f->all.items[value];
    v.name = wbb_format(f->b->arena, "%s.relaid", v.name);
    v.minor_to_major = like->minor_to_major;
    v.of = f->all.n;
    v.buffer = PROG_UNPLACED;
    WBB_PUSH(f->b->arena, &f->all, v);
    return v.of;
}

/* Copies read k of the step before it, if a computation has it in another order of dimensions. */
static void relay(Flow *f, ProgStep *s, uint32_t k, const ProgValue *inner)
{
    if (same_type(&f->all.items[s->reads[k]], inner)) return;
    const uint32_t to = in_layout(f, s->reads[k], inner);
    add_copy(f, s->reads[k], to);
    s->reads[k] = to;
}

/* Two computations of a step share a value, so they must have it in one order of dimensions. */
static void check_agreement(const Flow *f, const HloInstruction *i, const ProgValue *x, const ProgValue *y)
{
    if (same_type(x, y)) return;
    wbb_decline(f->b->cx, i->loc, WHY_SHAPE, "%s: the computations that it calls have %s and %s in different layouts",
                i->name, x->name, y->name);
}

/* What a step of control flow reads and makes has the order of dimensions of its computations: before it copies make it
 * so, and after it the contrary. That of a loop's state is that of the body's parameter, which the condition's has,
 * too; that of a branch's result is that of all its computations. */
static void add_control(Flow *f, ProgStep *s, const HloInstruction *i)
{
    const ProgComputation *all = f->b->p->computations, *first = &all[s->calls[0]];
    const bool loop = s->kind == PROG_LOOP;
    const uint32_t at = loop ? s->n_calls - 1 : 0; /* the body */
    uint32_t *after = WBB_NEW_N(f->b->arena, uint32_t, s->n_makes + 1), read = s->kind == PROG_BRANCH;
    for (uint32_t b = at; b < s->n_calls; b++) {
        const ProgComputation *c = &all[s->calls[b]];
        for (uint32_t k = 0; k < s->taken[b] && k < c->n_parameters; k++) {
            relay(f, s, read++, &c->values[c->parameters[k]]);
            if (loop) check_agreement(f, i, &c->values[c->parameters[k]], &first->values[first->parameters[k]]);
        }
        for (uint32_t k = 0; k < s->n_makes && !loop; k++)
            check_agreement(f, i, &c->values[c->results[k]], &first->values[first->results[k]]);
    }
    for (uint32_t k = 0; k < s->n_makes; k++) {
        const ProgComputation *body = &all[s->calls[at]];
        const ProgValue *inner = &body->values[loop ? body->parameters[k] : body->results[k]];
        after[k] = s->makes[k];
        if (!same_type(&f->all.items[s->makes[k]], inner)) s->makes[k] = in_layout(f, s->makes[k], inner);
    }
    WBB_PUSH(f->b->arena, &f->steps, *s);
    for (uint32_t k = 0; k < s->n_makes; k++)
        if (after[k] != s->makes[k]) add_copy(f, s->makes[k], after[k]);
}

static void add_step(Flow *f, const FuseStep *from)
{
    WbbArena *a = f->b->arena;
    const HloInstruction *i = from->at;
    ProgStep s = {.kind = from->kind == FUSE_STEP_KERNEL ? PROG_KERNEL
                          : from->kind == FUSE_STEP_COPY ? PROG_COPY
                                                         : PROG_LIBRARY,
                  .name = i->name, .operation = from->operation, .frame = PROG_NONE, .iterations = PROG_NONE};
    s.reads = arrays_of(f, from->reads, from->n_reads, &s.n_reads);
    s.makes = arrays_of(f, from->makes, from->n_makes, &s.n_makes);
    if (from->kind == FUSE_STEP_CONTROL) {
        add_calls(f, i, &s);
    } else if (s.kind != PROG_COPY) {
        s.text = from->text;
        s.plan = from->plan;
        s.file = file_of(f->b, from);
        s.from = (WbbOrigin){.file = s.file, .at = i->loc, .lines = from->lines, .n_lines = from->n_lines};
        if (s.kind == PROG_KERNEL) s.shares = prog_shares(f->b->cx, a, &s, &s.n_shares);
    }
    if (from->kind == FUSE_STEP_CONTROL) add_control(f, &s, i);
    else WBB_PUSH(a, &f->steps, s);
}

/* Which instructions have values in memory: what steps make and read, the result, and what these name. */
static bool *in_memory(Flow *f, const FuseCut *cut, bool *made)
{
    const HloComputation *c = f->c;
    bool *needed = WBB_NEW_N(f->b->arena, bool, c->n_instructions + 1);
    needed[c->root->id] = true;
    for (uint32_t k = 0; k < c->n_parameters; k++) needed[c->parameters[k]->id] = true;
    for (uint32_t s = 0; s < cut->n; s++) {
        const FuseStep *x = &cut->steps[s];
        for (uint32_t k = 0; k < x->n_reads; k++) needed[x->reads[k]->id] = true;
        for (uint32_t k = 0; k < x->n_makes; k++) needed[x->makes[k]->id] = made[x->makes[k]->id] = true;
    }
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        const HloInstruction *i = c->instructions[k];
        FuseSlab part; /* where it is follows from the loop */
        const uint32_t n = !needed[k] || made[k] ? 0 : fuse_is_slab(i, f->loop, &part) ? 1 : i->n_operands;
        for (uint32_t j = 0; j < n; j++) needed[i->operands[j]->id] = true;
    }
    return needed;
}

static void make_flow(Flow *f, const FuseCut *cut)
{
    const HloComputation *c = f->c;
    bool *made = WBB_NEW_N(f->b->arena, bool, c->n_instructions + 1);
    const bool *needed = in_memory(f, cut, made);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (!needed[k]) continue;
        f->values[k] = made[k] ? new_values(f, i) : i->opcode == HLO_CONSTANT ? constant(f, i) : named(f, i);
        assert(f->values[k]);
    }
    for (uint32_t s = 0; s < cut->n; s++) add_step(f, &cut->steps[s]);
}

/* --- computations ------------------------------------------------------------------------------------------------- */
/* The number of the leaf that a path of indices {1,0} names; PROG_NONE: it names several, or none. */
static int64_t leaf_at(const HloShape *s, const char **text)
{
    int64_t leaf = 0;
    const char *p = *text + strspn(*text, " {");
    while (*p && *p != '}') {
        char *end;
        const long long k = strtoll(p, &end, 10);
        if (end == p || k < 0 || s->type != SC_TUPLE || k >= s->n_elements) return PROG_NONE;
        for (long long j = 0; j < k; j++) leaf += s->elements[j]->n_leaves;
        s = s->elements[k];
        p = end + strspn(end, " ,");
    }
    *text = *p ? p + 1 : p;
    return s->type == SC_TUPLE ? PROG_NONE : leaf;
}

static bool must_alias(const HloModule *m)
{
    const char *at = strstr(m->attributes, "input_output_alias={");
    return at && strstr(at, "must-alias");
}

/* input_output_alias={ {0}: (1, {}, may-alias), .. } of the header, which hlo_verify has checked. A result keeps the
 * memory of its parameter whatever is read when: place.c copies where it has to. */
static void donate(const Build *b, const HloComputation *c, ProgComputation *p)
{
    const char *at = strstr(b->m->attributes, "input_output_alias={");
    if (!at) return;
    for (at = strchr(at, '{') + 1; *(at += strspn(at, " ,")) == '{';) {
        const int64_t output = leaf_at(c->root->shape, &at);
        at += strspn(at, " :(");
        char *end;
        const long long operand = strtoll(at, &end, 10);
        int64_t leaf = 0;
        at = end + strspn(end, " ,");
        if (operand < 0 || operand >= c->n_parameters) return;
        if (*at == '{') leaf = leaf_at(c->parameters[operand]->shape, &at);
        const bool must = !strncmp(at + strspn(at, " ,}"), "must", 4);
        at += strcspn(at, ")}");
        at += *at == ')';
        if (must && (output < 0 || leaf < 0))
            wbb_decline(b->cx, c->loc, WHY_FEATURE, "input_output_alias with must-alias of whole tuples");
        if (output < 0 || leaf < 0) continue;
        leaf += hlo_leaves_before(c, operand);
        bool taken = false;
        for (uint32_t k = 0; k < p->n_results; k++) taken |= p->in_place[k] == leaf;
        if (taken && must)
            wbb_decline(b->cx, c->loc, WHY_FEATURE, "input_output_alias: several results must have the memory of one "
                        "parameter");
        if (!taken) p->in_place[output] = leaf;
    }
}

static void build_one(Build *b, const HloComputation *c, bool body)
{
    WbbArena *a = b->arena;
    Flow f = {.b = b, .c = c, .loop = fuse_loop_of(c), .values = WBB_NEW_N(a, uint32_t *, c->n_instructions + 1)};
    ProgComputation p = {.name = body && b->wanted[0][c->id] ? wbb_format(a, "%s.body", c->name) : c->name};
    make_flow(&f, &b->cuts[c->id]);
    p.parameters =
        arrays_of(&f, (const HloInstruction *const *)c->parameters, c->n_parameters, &p.n_parameters);
    for (uint32_t k = 0; k < p.n_parameters; k++) {
        ProgValue *v = &f.all.items[p.parameters[k]];
        v->buffer = new_buffer(&f, (ProgBuffer){.place = PROG_PARAMETER, .number = k, .bytes = v->bytes});
    }
    const HloInstruction *const root = c->root;
    p.results = arrays_of(&f, &root, 1, &p.n_results);
    p.in_place = WBB_NEW_N(a, int64_t, p.n_results + 1);
    for (uint32_t k = 0; k < p.n_results; k++) p.in_place[k] = body ? (int64_t)k : PROG_NONE;
    for (uint32_t k = 0; k < p.n_results && body; k++) {
        const uint32_t value = p.results[k];
        if (same_type(&f.all.items[value], &f.all.items[p.parameters[k]])) continue;
        p.results[k] = in_layout(&f, value, &f.all.items[p.parameters[k]]);
        add_copy(&f, value, p.results[k]);
    }
    if (c == b->m->entry) donate(b, c, &p);
    for (uint32_t k = 0; k < p.n_results; k++)
        if (p.in_place[k] >= 0 && !body &&
            !same_type(&f.all.items[p.results[k]], &f.all.items[p.parameters[p.in_place[k]]]))
            p.in_place[k] = PROG_NONE;
    p.values = f.all.items, p.n_values = f.all.n;
    p.buffers = f.buffers.items, p.n_buffers = f.buffers.n;
    p.steps = f.steps.items, p.n_steps = f.steps.n;
    prog_place(b->cx, a, b->p, &p, body && !b->open[c->id]);
    if (c == b->m->entry) b->p->entry = b->p->n;
    b->p->computations[b->p->n++] = p;
    b->made[body][c->id] = b->p->n;
}

/* Cuts the computations that run, callers first. */
static void cut_all(Build *b)
{
    b->wanted[0][b->m->entry->id] = true;
    for (uint32_t k = b->m->n_computations; k-- > 0;) {
        if (!b->wanted[0][k] && !b->wanted[1][k]) continue;
        b->trips[k] = WBB_NEW_N(b->arena, int64_t, b->m->computations[k]->n_instructions + 1);
        b->cuts[k] = fuse_cut(b->cx, b->arena, b->m->computations[k], b->how);
        for (uint32_t s = 0; s < b->cuts[k].n; s++) {
            const HloInstruction *i = b->cuts[k].steps[s].at;
            if (b->cuts[k].steps[s].kind != FUSE_STEP_CONTROL) continue;
            if (i->opcode == HLO_WHILE) b->trips[k][i->id] = prog_trips(b->cx, b->m->computations[k], i);
            for (uint32_t j = 0; j < i->n_called; j++) {
                const bool body = i->opcode == HLO_WHILE && !strcmp(i->called_by[j], "body");
                b->open[i->called[j]->id] |= body && b->trips[k][i->id] < 0;
                if (body || i->opcode != HLO_WHILE || b->trips[k][i->id] < 0) b->wanted[body][i->called[j]->id] = true;
            }
        }
    }
}

/* The code of a custom call is not in the text. One whose results are needed is a step that fails where it is run; of
 * one with a side effect nobody may need the results, and a program without the effect is another one. */
static void refuse_effects(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            const HloInstruction *i = m->computations[c]->instructions[k];
            if (i->opcode == HLO_CUSTOM_CALL && !hlo_forwards_operand(i) &&
                hlo_attribute_true(a, i, "custom_call_has_side_effect"))
                wbb_decline(cx, i->loc, WHY_EFFECT, "%s, a custom-call of '%s', has a side effect, and its code is not "
                            "in the text", i->name, i->target ? i->target : "");
        }
}

ProgModule *prog_build(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how)
{
    refuse_effects(cx, a, m);
    m = fuse_prepare(cx, a, m, how);
    ProgModule *p = WBB_NEW(a, ProgModule);
    const uint32_t n = m->n_computations;
    Build b = {.cx = cx, .arena = a, .m = m, .how = how, .p = p, .cuts = WBB_NEW_N(a, FuseCut, n + 1),
               .trips = WBB_NEW_N(a, int64_t *, n + 1), .open = WBB_NEW_N(a, bool, n + 1),
               .files = {.arena = a}, .names = {.arena = a}};
    for (int k = 0; k < 2; k++) b.made[k] = WBB_NEW_N(a, uint32_t, n + 1), b.wanted[k] = WBB_NEW_N(a, bool, n + 1);
    *p = (ProgModule){.name = m->name, .computations = WBB_NEW_N(a, ProgComputation, 2 * n + 1)};
    cut_all(&b);
    for (uint32_t k = 0; k < n; k++)
        for (int body = 0; body < 2; body++)
            if (b.wanted[body][k]) build_one(&b, m->computations[k], body);
    int64_t computation, step;
    const char *fault = prog_verify(a, p, &computation, &step);
    if (fault)
        wbb_fail(cx, m->entry->loc, "a bug of warpburg: the program of %s is wrong: computation %lld, step %lld: %s",
                 m->name, (long long)computation, (long long)step, fault);
    return p;
}

/* --- is it one? --------------------------------------------------------------------------------------------------- */
typedef struct {
    const char *file, *text;
    size_t n;
    WbbArena *arena;
    WbbMap seen;             /* computations whose steps were counted */
    uint32_t fusions, steps; /* of the entry; steps of loops and branches as well */
    uint32_t calls;          /* steps that are library calls */
    bool fine;               /* the text has no error; else nothing of this is known */
    bool shares;             /* results must have the memory of parameters, which a program sees to */
} Question;

enum { MOST_NESTED = 64 };

/* The steps of a plain cut, none of which is written; of a computation that is called twice, once. */
static void count_steps(Question *q, const HloComputation *c, uint32_t depth)
{
    WbbEntry *seen = wbb_map_put(&q->seen, (uint64_t)(uintptr_t)c);
    if (seen->value++) return;
    const FuseRole *roles = fuse_decide(q->arena, c);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        q->steps += fuse_is_step(roles[k]);
        q->calls += roles[k] == FUSE_LIBRARY;
        for (uint32_t j = 0; roles[k] == FUSE_CONTROL && depth < MOST_NESTED && j < i->n_called; j++)
            count_steps(q, i->called[j], depth + 1);
    }
}

static void ask(WbbCx *cx, void *arg)
{
    Question *q = arg;
    const HloModule *m = hlo_parse(cx, q->arena, q->file, q->text, q->n);
    q->shares = must_alias(m);
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        q->fusions += m->entry->instructions[k]->opcode == HLO_FUSION;
    if (!q->fusions) count_steps(q, gr_normalise(cx, q->arena, m, NULL)->entry, 0);
}

/* What is wrong with a text is said elsewhere. */
static Question answered(const char *file, const char *text, size_t n)
{
    WbbCx *own = wbb_cx_new();
    Question q = {.file = file, .text = text, .n = n};
    if (own) q.seen.arena = q.arena = wbb_arena_new(own);
    q.fine = own && wbb_guard(own, ask, &q) == WBB_OK;
    if (own) wbb_cx_free(own);
    return q;
}

ProgKind prog_kind(const char *file, const char *text, size_t n)
{
    const Question q = answered(file, text, n);
    const bool calls = q.calls && (q.steps > 1 || q.fusions), several = q.steps > 1 || q.shares;
    if (!q.fine) return PROG_SINGLE;
    return q.fusions > 1 ? PROG_FUSIONS : calls ? PROG_CALLS : several ? PROG_SEVERAL : PROG_SINGLE;
}

int prog_library_calls(const char *text, size_t n)
{
    const Question q = answered("<text>", text, n);
    return q.fine ? (int)q.calls : -1;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */
ProgMemory prog_memory(const ProgModule *p)
{
    const ProgComputation *c = &p->computations[p->entry];
    ProgMemory m = {.temporaries = c->frame};
    for (uint32_t k = 0; k < c->n_parameters; k++) m.parameters += c->values[c->parameters[k]].bytes;
    for (uint32_t k = 0; k < c->n_results; k++)
        if (c->in_place[k] < 0) m.results += c->values[c->results[k]].bytes;
    for (uint32_t i = 0; i < p->n; i++) {
        const ProgComputation *x = &p->computations[i];
        for (uint32_t k = 0; k < x->n_buffers; k++)
            if (x->buffers[k].place == PROG_CONSTANT) m.constants += x->buffers[k].bytes;
        for (uint32_t k = 0; k < x->n_values; k++)
            if (x->values[k].of == k && x->buffers[x->values[k].buffer].place == PROG_TEMPORARY)
                m.without_sharing += x->values[k].bytes;
    }
    m.peak = m.parameters + m.results + m.constants + m.temporaries;
    return m;
}

void prog_summary(WbbBuf *out, const ProgModule *p)
{
    static const char *const one[] = {"kernel", "library call", "copy", "loop", "branch", "call"};
    static const char *const many[] = {"kernels", "library calls", "copies", "loops", "branches", "calls"};
    uint32_t counts[6] = {0};
    WbbMap texts = {.arena = out->arena};
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t s = 0; s < p->computations[i].n_steps; s++) {
            const ProgStep *x = &p->computations[i].steps[s];
            counts[x->kind]++;
            if (x->kind == PROG_KERNEL) wbb_map_put_bytes(&texts, x->file, strlen(x->file));
        }
    bool any = false;
    for (int k = 0; k < 6; k++) {
        if (!counts[k]) continue;
        wbb_putf(out, "%s%u %s", any ? ", " : "", counts[k], counts[k] == 1 ? one[k] : many[k]);
        if (k == PROG_KERNEL && texts.n < counts[k]) wbb_putf(out, " of %u texts", texts.n);
        any = true;
    }
    const ProgMemory m = prog_memory(p);
    wbb_putf(out, "%s%lld bytes at the peak: %lld of parameters, %lld of results, %lld of constants, %lld of "
             "temporaries", any ? "; " : "no step; ", (long long)m.peak, (long long)m.parameters, (long long)m.results,
             (long long)m.constants, (long long)m.temporaries);
}

/* value.c: the value of any instruction of a fusion at any index, on demand from the outputs.
 *
 * Needs a fusion that partition accepted; leaves nodes, and in the block where one stands the statements that they need. A value is
 * remembered by instruction and index, so that what several users read at one index is made once. Frames stand on a list of their
 * own: a chain of a hundred thousand operations costs no C stack. What is read at several indices is made at each where that is
 * cheap, and else becomes a function, called with the index: function.c.
 *
 *     value(%add, (i, j))   asks for   value(%bias.broadcast, (i, j)), that for value(%bias, (j)), that is load %bias[j]
 */
#include "emit/inner.h"

#include <string.h>

/* memo ------------------------------------------------------------------------------------------------------------------------- */

/* What a value is remembered by: as much of `index` as it has dimensions. */
typedef struct {
    const HloInstruction *i;
    uint32_t env, part;
    IrRef index[HLO_RANK_LIMIT];
} Key;

static size_t make_key(Key *key, uint32_t env, const HloInstruction *i, uint32_t part, const IrRef *index)
{
    const size_t bytes = part_shape(i, part)->rank * sizeof *index;
    key->i = i, key->env = env, key->part = part;
    if (bytes) memcpy(key->index, index, bytes);
    return offsetof(Key, index) + bytes;
}

/* 0: none. */
static IrRef remembered(const EmitValues *e, uint32_t env, const HloInstruction *i, uint32_t part, const IrRef *index)
{
    Key key;
    const WbbEntry *known = wbb_map_get_bytes(&e->memo, &key, make_key(&key, env, i, part, index));
    return known ? (IrRef)known->value : 0;
}

void emit_remember(EmitValues *e, const EmitFrame *f, uint32_t part, IrRef value)
{
    Key key;
    wbb_map_put_bytes(&e->memo, &key, make_key(&key, f->env, f->i, part, f->index))->value = value;
}

/* frames ----------------------------------------------------------------------------------------------------------------------- */

EmitFrame *emit_push(EmitValues *e, EmitStep step, const HloInstruction *i, uint32_t part, uint32_t env, const IrRef *index)
{
    EmitFrame *f = e->spare;
    if (f) e->spare = f->below;
    else f = WBB_NEW(e->arena, EmitFrame);
    if (e->g->n - e->first_node > EMIT_MAX_NODES || e->memo.n > EMIT_MAX_NODES)
        wbb_decline(e->cx, i->loc, WHY_SIZE, "the body needs more than %d nodes", EMIT_MAX_NODES);
    *f = (EmitFrame){.below = e->top, .step = step, .i = i, .part = part, .env = env, .index = index, .before = e->g->n - e->apart, .first = e->n_made};
    e->top = f;
    return f;
}

void emit_done(EmitValues *e, EmitFrame *f, IrRef value)
{
    assert(e->top == f && value);
    emit_remember(e, f, f->part, value);
    if (f->env == 0) {
        EmitInfo *info = &e->info[f->i->id];
        if (!info->made) e->n_made++;
        info->cost = info->made ? e->g->n - e->apart - f->before : e->n_made - f->first;
        info->made = true;
    }
    e->top = f->below;
    if (f->below) f->below->answer = value;
    else e->answer = value;
    f->below = e->spare;
    e->spare = f;
}

uint32_t emit_env(EmitValues *e, uint32_t n, const IrRef *args)
{
    IrRef *copy = WBB_NEW_N(e->arena, IrRef, n + 1);
    memcpy(copy, args, n * sizeof *args);
    WBB_PUSH(e->arena, &e->envs, copy);
    return e->envs.n - 1;
}

/* The first of a letter has no number. */
const char *emit_name(EmitValues *e, const char *stem)
{
    const uint32_t letter = stem[1] ? 0 : 1u << (*stem - 'a');
    const bool first = letter & ~e->letters;
    e->letters |= letter;
    return first ? stem : wbb_format(e->arena, "%s%u", stem, ++e->n_names);
}

const IxNeeds *emit_needs(EmitValues *e, const EmitFrame *f)
{
    const IxNeeds **kept = f->env == 0 ? &e->info[f->i->id].needs : NULL;
    if (kept && *kept) return *kept;
    IxNeeds *needs = WBB_NEW(e->arena, IxNeeds);
    *needs = ix_needs(e->arena, f->i);
    if (kept) *kept = needs;
    return needs;
}

/* elementwise operations, moves, and those that start where a value says ----------------------------------------------------------- */

typedef struct {
    const IxNeeds *needs;
    IrRef *starts;
    uint32_t *order; /* operands by age: what another one needs too is made before that, where all see it */
    uint32_t n;
    IxAccess access;
} Plain;

/* Is the operand an array whose element is wanted, and not an integer that says where? */
static bool is_read(const HloInstruction *i, uint32_t operand)
{
    return (i->opcode != HLO_DYNAMIC_SLICE && i->opcode != HLO_GATHER) || operand == 0;
}

static Plain *plain_begin(EmitValues *e, EmitFrame *f)
{
    Plain *p = f->own = WBB_NEW(e->arena, Plain);
    p->needs = emit_needs(e, f);
    p->starts = WBB_NEW_N(e->arena, IrRef, p->needs->n_starts + 1);
    p->order = WBB_NEW_N(e->arena, uint32_t, f->i->n_operands + 1);
    f->x = WBB_NEW_N(e->arena, IrRef, f->i->n_operands + 1);
    for (uint32_t k = 0; k < f->i->n_operands; k++) {
        if (!is_read(f->i, k)) continue;
        uint32_t at = p->n++;
        for (; at > 0 && f->i->operands[p->order[at - 1]]->id > f->i->operands[k]->id; at--) p->order[at] = p->order[at - 1];
        p->order[at] = k;
    }
    return p;
}

/* Steps 0 .. n_starts - 1 ask for starts, the n after them for operands; each first takes in what the one before has asked for. */
static void step_plain(EmitValues *e, EmitFrame *f)
{
    Plain *p = f->at ? f->own : plain_begin(e, f);
    const uint32_t at = f->at++, n_starts = p->needs->n_starts;
    if (at > 0 && at <= n_starts) p->starts[at - 1] = emit_start(e, f->answer, p->needs->starts[at - 1].lo, p->needs->starts[at - 1].hi);
    else if (at > 0) f->x[p->order[at - n_starts - 1]] = f->answer;
    if (at < n_starts) {
        const HloInstruction *x = f->i->operands[p->needs->starts[at].operand];
        IrRef *index = WBB_NEW_N(e->arena, IrRef, x->shape->rank + 1u);
        ix_start(e->rw, e->arena, f->i, at, f->index, NULL, index);
        emit_want(e, f, x, 0, index);
    } else if (at < n_starts + p->n) {
        const uint32_t k = p->order[at - n_starts];
        ix_access(e->rw, e->arena, f->i, k, f->index, NULL, p->starts, &p->access);
        assert(!p->access.never && !p->access.n_conditions);
        emit_want(e, f, f->i->operands[k], 0, p->access.index);
    } else {
        emit_done(e, f, emit_element(e->rw, f->i, f->x));
    }
}

static const char *table_name(EmitValues *e, const HloInstruction *i)
{
    for (;;) {
        const char *name = emit_name(e, wbb_format(e->arena, "%s.", emit_identifier(e->arena, i->name)));
        uint32_t b = 0;
        while (b < e->k->n_buffers && strcmp(e->k->buffers[b].name, name)) b++;
        if (b == e->k->n_buffers) return name;
    }
}

/* The number of the table that a constant is, made when it is first asked for. */
static uint32_t table_of(EmitValues *e, const HloInstruction *i)
{
    IrKernel *k = e->k;
    for (uint32_t n = 0; n < e->tables.n; n++)
        if (e->tables.items[n] == i) return k->n_buffers - e->tables.n + n;
    WBB_PUSH(e->arena, &e->tables, i);
    const ScType t = i->shape->type;
    const size_t bytes = sc_bytes(t), n = (size_t)hlo_elements(i->shape), each = part_is_packed(t) ? 8 / sc_type_info[t].bits : 1;
    const size_t whole = (n + each - 1) / each * each; /* elements of whole bytes */
    char *data = wbb_alloc(e->arena, wbb_mul_size(e->arena, whole, bytes));
    memset(data, 0, whole * bytes);
    memcpy(data, i->literal, n * bytes);
    k->buffers = wbb_grow(e->arena, k->buffers, k->n_buffers * sizeof *k->buffers, (k->n_buffers + 1) * sizeof *k->buffers);
    k->buffers[k->n_buffers] = (IrBuffer){.name = table_name(e, i), .type = t, .elements = (int64_t)whole, .align = 16, .table = data};
    return k->n_buffers++;
}

static bool is_table(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && !i->literal_splat && hlo_elements(i->shape) > PART_DENSE_LIMIT;
}

static void step_leaf(EmitValues *e, EmitFrame *f)
{
    if (is_table(f->i)) emit_done(e, f, emit_table_element(e->rw, f->i->shape, table_of(e, f->i), f->index));
    else if (f->i->opcode != HLO_PARAMETER) emit_done(e, f, emit_leaf(e->rw, f->i, f->index));
    else if (f->env) emit_done(e, f, e->envs.items[f->env][f->i->number]);
    else {
        const HloShape *s = part_shape(f->i, f->part);
        emit_done(e, f, emit_load(e->rw, s->type, e->plan->first_leaf[f->i->number] + f->part, emit_place(e, ix_linear(e->rw, s, f->index))));
    }
}

static EmitStep step_of(const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_CONSTANT:
    case HLO_IOTA:
    case HLO_PARAMETER: return step_leaf;
    case HLO_CONCATENATE: return emit_step_concat;
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_PAD: return emit_step_pieces;
    case HLO_CONVOLUTION:
    case HLO_DOT:
    case HLO_REDUCE:
    case HLO_REDUCE_WINDOW: return emit_step_fold;
    case HLO_MAP: return emit_step_map;
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT: return part_same_width(i) ? step_plain : emit_step_bits;
    default: return step_plain;
    }
}

enum { FEW = 4 /* nodes: less than a call of them takes */ };

/* wanting ------------------------------------------------------------------------------------------------------------------------ */

void emit_want_in(EmitValues *e, EmitFrame *f, uint32_t env, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    static const IrRef of_scalar[1] = {0};
    if (!index) index = of_scalar;
    const PartValue v = part_value(x, part);
    const IrRef known = remembered(e, env, v.i, v.part, index);
    if (known && emit_is_there(e, known)) {
        f->answer = known;
        return;
    }
    const EmitStep step = step_of(v.i);
    if (env == 0 && step != step_leaf) {
        const EmitInfo *info = &e->info[v.i->id];
        if (info->function) {
            emit_call(e, f, v.i, v.part, index);
            return;
        }
        const bool dear = info->cost > e->plan->inline_limit || (info->cost > FEW && e->g->n - e->first_node > e->plan->inline_budget);
        if (info->made && !info->growing && dear) {
            emit_push(e, emit_step_function, v.i, v.part, env, index);
            return;
        }
    }
    emit_push(e, step, v.i, v.part, env, index);
}

void emit_want(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    emit_want_in(e, f, f->env, x, part, index);
}

EmitValues *emit_values(WbbCx *cx, WbbArena *a, RwCx *rw, IrKernel *k, const PartPlan *plan)
{
    EmitValues *e = WBB_NEW(a, EmitValues);
    e->cx = cx, e->arena = a, e->rw = rw, e->g = rw_graph(rw), e->k = k;
    e->plan = plan;
    e->memo.arena = e->lets.arena = a;
    e->info = WBB_NEW_N(a, EmitInfo, plan->fusion->body->n_instructions + 1);
    const EmitScope everywhere = {.open = true};
    WBB_PUSH(a, &e->scopes, everywhere);
    IrRef *none = NULL;
    WBB_PUSH(a, &e->envs, none);
    e->first_node = e->g->n;
    emit_enter(e, &k->body);
    return e;
}

IrRef emit_value(EmitValues *e, PartValue v, const IrRef *index)
{
    const uint32_t origin = e->g->making_origin;
    EmitFrame nobody = {0};
    assert(!e->top);
    emit_want_in(e, &nobody, 0, v.i, v.part, index);
    e->answer = nobody.answer;
    while (e->top) {
        EmitFrame *f = e->top;
        if (f->env == 0) e->g->making_origin = f->i->id + 1; /* a called body counts for who calls it */
        f->step(e, f);
    }
    e->g->making_origin = origin;
    return e->answer;
}

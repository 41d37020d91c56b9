/* undefined: finds registers that may be read before they are written, and under check watches them lane by lane.
 *
 * Needs: all operations of a module, with branches resolved. Leaves: SimOp.tracked and SimModule.undefined; while a
 * kernel runs, faults where an undefined value is used.
 *
 * Most registers are written on every way to a read, which the flow of control shows once, when the text is read; they
 * cost nothing. A register that is live where its function begins may be undefined, and with it every column that is
 * computed from it. Of these tracked columns each warp keeps the lanes whose lower half is undefined, and those of the
 * upper half: a pair of registers may be packed of which one alone is taken out again, also after arithmetic of pairs
 * and bitwise operations. Other arithmetic, moves and parameters pass undefined lanes on. An address, a guard, a
 * stored value, and an operand of a barrier, vote or atomic operation must be defined. What a call of a function wrote
 * counts as written in the next call of it.
 *
 *     @%p1 mov.u32 %r1, 5; add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r2;
 *         ->   %r1 and %r2 are tracked; the store is a fault for lanes whose %p1 is false
 */
#include "sim/inner.h"

static void use(Operands *o, uint32_t column) { if (column) o->use[o->n_use++] = column; }
static void flow(Operands *o, uint32_t column) { if (column) o->flow[o->n_flow++] = column; }
static void def(Operands *o, uint32_t column) { if (column) o->def[o->n_def++] = column; }

/* The columns of a load, a store, an atomic operation or a matrix. */
static void memory_operands(const SimModule *m, const SimOp *op, Operands *o)
{
    const bool atomic = op->kind == OP_ATOMIC, store = op->kind == OP_STORE || (op->kind == OP_MATRIX && op->mode & 1);
    use(o, op->a);
    use(o, atomic ? op->c : 0), use(o, atomic ? op->e : 0);
    for (uint32_t i = 0; i < op->lanes_n * (atomic ? 2u : 1u); i++) {
        const SimCol *c = &m->cols.items[op->target + i];
        if (!c->width) continue;
        if (store || (atomic && i % 2 == 0)) use(o, c->col);
        else def(o, c->col);
    }
}

Operands sim_operands(const SimModule *m, const SimOp *op)
{
    Operands o = {.n_use = 0};
    switch ((OpKind)op->kind) {
    case OP_ALU:
        flow(&o, op->a), flow(&o, op->b), flow(&o, op->c), flow(&o, op->e), def(&o, op->d);
        break;
    case OP_CARRY:
        flow(&o, op->a), flow(&o, op->b), flow(&o, op->c), flow(&o, op->mode & 2 ? op->e : 0);
        def(&o, op->d), def(&o, op->mode & 1 ? op->e : 0);
        break;
    case OP_PARAM_LOAD:
    case OP_PARAM_COPY: flow(&o, op->a), def(&o, op->d); break;
    case OP_PARAM_STORE: flow(&o, op->d), def(&o, op->a); break;
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMIC:
    case OP_MATRIX: memory_operands(m, op, &o); break;
    case OP_MMA: /* four registers, two, four, and four of the result */
        for (uint32_t i = 0; i < 10; i++) use(&o, m->cols.items[op->target + i].col);
        for (uint32_t i = 10; i < 14; i++) def(&o, m->cols.items[op->target + i].col);
        break;
    case OP_BRANCH_TABLE: use(&o, op->a); break;
    case OP_SHUFFLE:
        use(&o, op->b), use(&o, op->c), use(&o, op->e), flow(&o, op->a), def(&o, op->d), def(&o, op->target);
        break;
    case OP_MATCH:
    case OP_ELECT: use(&o, op->a), use(&o, op->e), def(&o, op->d), def(&o, op->target); break;
    case OP_VOTE:
    case OP_REDUX:
    case OP_WARP_SYNC:
    case OP_ACTIVE:
    case OP_CLOCK:
    case OP_BARRIER:
    case OP_COPY_GROUP:
    case OP_MBARRIER:
    case OP_MBARRIER_WAIT: use(&o, op->a), use(&o, op->b), use(&o, op->c), use(&o, op->e), def(&o, op->d); break;
    case OP_COPY: use(&o, op->a), use(&o, op->b), use(&o, op->c), use(&o, op->e); break;
    default: break; /* no columns but the guard */
    }
    return o;
}

/* The flow of control ------------------------------------------------------------------------ */

typedef struct Link {
    uint32_t block;
    struct Link *next;
} Link;

typedef struct {
    WbbArena *arena;
    SimModule *m;
    uint32_t *block_of;       /* of each operation; its number, from 1 */
    uint32_t n_blocks;
    Link **before;            /* of each block: those that may run before it */
    bool *first;              /* of each block: a function begins with it */
    uint32_t *register_of;    /* by column / SIM_COLUMN, 1 + the index of a register, or 0 */
    Link **written, **read;   /* of each register: blocks that write it in all lanes; that read it before they do */
    uint32_t *last;           /* of each register: the last block that wrote it */
} Flow;

static void add_link(Flow *f, Link **list, uint32_t block)
{
    if (*list && (*list)->block == block) return;
    Link *l = WBB_NEW(f->arena, Link);
    *l = (Link){block, *list};
    *list = l;
}

/* True if the next operation does not follow this one, at least not always. */
static bool ends_block(const SimOp *op)
{
    return op->kind == OP_BRANCH || op->kind == OP_BRANCH_TABLE || op->kind == OP_RET || op->kind == OP_EXIT ||
           op->kind == OP_TRAP;
}

static void find_blocks(Flow *f)
{
    const SimModule *m = f->m;
    const uint32_t n = m->ops.n;
    bool *leader = WBB_NEW_N(f->arena, bool, n + 1), *entry = WBB_NEW_N(f->arena, bool, n + 1);
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (m->funcs.items[i]->defined) leader[m->funcs.items[i]->start] = entry[m->funcs.items[i]->start] = true;
    for (uint32_t i = 0; i < n; i++) {
        const SimOp *op = &m->ops.items[i];
        if (ends_block(op)) leader[i + 1] = true;
        if (op->kind == OP_BRANCH) leader[op->target] = true;
        for (uint32_t k = 0; op->kind == OP_BRANCH_TABLE && k < op->n; k++)
            leader[m->targets.items[op->target + k]] = true;
    }
    f->block_of = WBB_NEW_N(f->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i <= n; i++) f->block_of[i] = f->n_blocks += leader[i] || !i;
    f->before = WBB_NEW_N(f->arena, Link *, f->n_blocks + 1);
    f->first = WBB_NEW_N(f->arena, bool, f->n_blocks + 1);
    for (uint32_t i = 0; i < n; i++) {
        const SimOp *op = &m->ops.items[i];
        const uint32_t block = f->block_of[i];
        if (entry[i]) f->first[block] = true;
        if (op->kind == OP_BRANCH) add_link(f, &f->before[f->block_of[op->target]], block);
        for (uint32_t k = 0; op->kind == OP_BRANCH_TABLE && k < op->n; k++)
            add_link(f, &f->before[f->block_of[m->targets.items[op->target + k]]], block);
        if (f->block_of[i + 1] != block && (!ends_block(op) || op->pred))
            add_link(f, &f->before[f->block_of[i + 1]], block);
    }
}

static void read_column(Flow *f, uint32_t column, uint32_t block)
{
    const uint32_t r = f->register_of[column / SIM_COLUMN];
    if (r && f->last[r] != block) add_link(f, &f->read[r], block);
}

static void find_reads(Flow *f)
{
    const SimModule *m = f->m;
    for (uint32_t i = 0; i < m->ops.n; i++) {
        const SimOp *op = &m->ops.items[i];
        const Operands o = sim_operands(m, op);
        read_column(f, op->pred, f->block_of[i]);
        for (int k = 0; k < o.n_use; k++) read_column(f, o.use[k], f->block_of[i]);
        for (int k = 0; k < o.n_flow; k++) read_column(f, o.flow[k], f->block_of[i]);
        for (int k = 0; k < o.n_def && !op->pred; k++) {
            const uint32_t r = f->register_of[o.def[k] / SIM_COLUMN];
            if (!r || f->last[r] == f->block_of[i]) continue;
            f->last[r] = f->block_of[i];
            add_link(f, &f->written[r], f->block_of[i]);
        }
    }
}

/* True if a way leads from the start of a function to a read of the register without a write. `seen` and `writes`
 * hold the last register that came to a block. */
static bool live_at_start(const Flow *f, uint32_t r, uint32_t *seen, uint32_t *writes, uint32_t *stack)
{
    uint32_t n = 0;
    for (const Link *l = f->written[r]; l; l = l->next) writes[l->block] = r;
    for (const Link *l = f->read[r]; l; l = l->next)
        if (seen[l->block] != r) seen[l->block] = r, stack[n++] = l->block;
    while (n) {
        const uint32_t block = stack[--n];
        if (f->first[block]) return true;
        for (const Link *l = f->before[block]; l; l = l->next) {
            if (writes[l->block] == r || seen[l->block] == r) continue;
            seen[l->block] = r;
            stack[n++] = l->block;
        }
    }
    return false;
}

static bool track(SimModule *m, uint32_t column)
{
    uint32_t *number = &m->undefined[column / SIM_COLUMN];
    if (*number) return false;
    *number = ++m->n_undefined;
    return true;
}

/* Columns that are computed from tracked ones are tracked, too; so are the operations of both. */
static void spread_tracking(SimModule *m)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < m->ops.n; i++) {
            SimOp *op = &m->ops.items[i];
            const Operands o = sim_operands(m, op);
            bool from = false;
            for (int k = 0; k < o.n_flow; k++) from |= m->undefined[o.flow[k] / SIM_COLUMN] != 0;
            for (int k = 0; k < o.n_def; k++) {
                if (from) changed |= track(m, o.def[k]);
                op->tracked |= m->undefined[o.def[k] / SIM_COLUMN] != 0;
            }
            for (int k = 0; k < o.n_use; k++) op->tracked |= m->undefined[o.use[k] / SIM_COLUMN] != 0;
            op->tracked |= from || m->undefined[op->pred / SIM_COLUMN];
        }
    }
}

void sim_undefined_open(WbbArena *a, SimModule *m)
{
    const uint32_t columns = m->file_bytes / SIM_COLUMN + 1, n = m->registers.n;
    Flow f = {.arena = a, .m = m, .register_of = WBB_NEW_N(a, uint32_t, columns)};
    f.written = WBB_NEW_N(a, Link *, n + 1), f.read = WBB_NEW_N(a, Link *, n + 1),
    f.last = WBB_NEW_N(a, uint32_t, n + 1);
    for (uint32_t r = 1; r <= n; r++) f.register_of[m->registers.items[r - 1]->col / SIM_COLUMN] = r;
    find_blocks(&f);
    find_reads(&f);
    m->undefined = WBB_NEW_N(a, uint32_t, columns);
    uint32_t *seen = WBB_NEW_N(a, uint32_t, f.n_blocks + 1), *writes = WBB_NEW_N(a, uint32_t, f.n_blocks + 1);
    uint32_t *stack = WBB_NEW_N(a, uint32_t, f.n_blocks + 1);
    for (uint32_t r = 1; r <= n; r++) {
        SimSym *s = m->registers.items[r - 1];
        s->live = live_at_start(&f, r, seen, writes, stack);
        if (s->live) track(m, s->col);
    }
    if (m->n_undefined) spread_tracking(m);
}

/* While a kernel runs ------------------------------------------------------------------------- */

void sim_undefined_reset(const SimModule *m, Warp *w)
{
    memset(w->undefined, 0, (m->n_undefined + 1) * sizeof *w->undefined);
    for (uint32_t r = 0; r < m->registers.n; r++) {
        UndefinedLanes *u = &w->undefined[m->undefined[m->registers.items[r]->col / SIM_COLUMN]];
        if (m->registers.items[r]->live) u->half[0] = u->half[1] = FULL;
    }
}

/* Lanes of a column that are undefined in any part; number 0 of Warp.undefined is always 0. */
static uint32_t undefined_of(const SimModule *m, const Warp *w, uint32_t column)
{
    const UndefinedLanes *u = &w->undefined[m->undefined[column / SIM_COLUMN]];
    return u->half[0] | u->half[1];
}

static const char *name_of(const SimModule *m, uint32_t column)
{
    for (uint32_t r = 0; r < m->registers.n; r++)
        if (m->registers.items[r]->col == column) return m->registers.items[r]->name;
    return "a value";
}

/* A fault if the column is undefined in one of the lanes. */
static void judge_use(Block *b, const Warp *w, const SimOp *op, uint32_t column, uint32_t mask)
{
    const uint32_t lanes = undefined_of(b->m, w, column) & mask;
    if (lanes)
        sim_fault(b, w, op, __builtin_ctz(lanes),
                  "%s is used, which is, or comes from, a register that was never written", name_of(b->m, column));
}

static void set_undefined(Warp *w, uint32_t number, uint32_t mask, UndefinedLanes to)
{
    for (int k = 0; k < 2; k++) {
        uint32_t *half = &w->undefined[number].half[k];
        *half = (*half & ~mask) | (to.half[k] & mask);
    }
}

/* The source lanes of a shuffle give their definedness; its number says which, as in lanes_op.c. */
void sim_undefined_shuffle(const Block *b, Warp *w, const SimOp *op, const int8_t from[LANES], uint32_t mask)
{
    const uint32_t source = undefined_of(b->m, w, op->a), number = b->m->undefined[op->d / SIM_COLUMN];
    uint32_t r = 0;
    if (!number) return;
    for (int l = 0; l < LANES; l++)
        if (from[l] >= 0) r |= (source >> from[l] & 1) << l;
    set_undefined(w, number, mask, (UndefinedLanes){{r, r}});
}

/* What an operation passes on. */
static UndefinedLanes passed_on(const SimModule *m, const Warp *w, const SimOp *op, const Operands *o)
{
    const UndefinedLanes *a = &w->undefined[m->undefined[op->a / SIM_COLUMN]];
    const uint32_t pair = op->kind == OP_ALU ? op->mode : SIM_WHOLE;
    uint32_t any = 0;
    if (pair == SIM_PACK) return (UndefinedLanes){{undefined_of(m, w, op->a), undefined_of(m, w, op->b)}};
    if (pair == SIM_LOW) return (UndefinedLanes){{a->half[0], a->half[0]}};
    if (pair == SIM_HIGH) return (UndefinedLanes){{a->half[1], a->half[1]}};
    if (pair == SIM_HALVES) {
        UndefinedLanes r = {{0, 0}};
        for (int k = 0; k < o->n_flow; k++) {
            const UndefinedLanes *from = &w->undefined[m->undefined[o->flow[k] / SIM_COLUMN]];
            r.half[0] |= from->half[0], r.half[1] |= from->half[1];
        }
        return r;
    }
    for (int k = 0; k < o->n_flow; k++) any |= undefined_of(m, w, o->flow[k]);
    return (UndefinedLanes){{any, any}};
}

void sim_undefined(Block *b, Warp *w, const SimOp *op)
{
    const SimModule *m = b->m;
    const Operands o = sim_operands(m, op);
    uint32_t mask = w->mask;
    if (op->pred) {
        judge_use(b, w, op, op->pred, mask);
        const uint32_t p = sim_predicates(w->regs + op->pred);
        mask &= op->negate ? ~p : p;
    }
    for (int k = 0; k < o.n_use; k++) judge_use(b, w, op, o.use[k], mask);
    if (op->kind == OP_SHUFFLE) return;
    const UndefinedLanes from = passed_on(m, w, op, &o);
    for (int k = 0; k < o.n_def; k++) {
        const uint32_t number = m->undefined[o.def[k] / SIM_COLUMN];
        if (number) set_undefined(w, number, mask, from);
    }
}

/* value.c: the value of any instruction of a fusion at any index, on demand from the outputs.
 *
 * Needs a fusion that partition accepted; leaves nodes. A value is remembered by instruction and index, so that what several users
 * read at one index is made once. No recursion: a chain of a hundred thousand operations is a long stack in an arena.
 *
 *     value(%add, (i, j))   asks for   value(%bias.broadcast, (i, j)), that for value(%bias, (j)), that is load %bias[j]
 */
#include "emit/emit.h"
#include "index/index.h"

#include <string.h>

/* A value that is being made: the operands before `next` are there. */
typedef struct {
    const HloInstruction *i;
    const IrRef *index;
    uint32_t next;
    IrRef x[3];
} Frame;

typedef struct {
    const HloInstruction *i; /* NULL: free */
    const IrRef *index;
    IrRef value;
} Memo;

struct EmitValues {
    WbbCx *cx;
    WbbArena *arena;
    RwCx *rw;
    struct { Frame *items; uint32_t n, room; } stack;
    Memo *memo;
    uint32_t n_memo, memo_room; /* a power of two */
    uint32_t first_node;
};

static Memo *find(const EmitValues *e, const HloInstruction *i, const IrRef *index)
{
    const uint32_t rank = i->shape->rank;
    uint64_t h = wbb_hash(index, rank * sizeof *index, (uint64_t)i->id + 1);
    for (;; h++) {
        Memo *m = &e->memo[h & (e->memo_room - 1)];
        if (!m->i || (m->i == i && !memcmp(m->index, index, rank * sizeof *index))) return m;
    }
}

static void remember(EmitValues *e, const HloInstruction *i, const IrRef *index, IrRef value)
{
    if (2 * ++e->n_memo > e->memo_room) {
        const Memo *old = e->memo;
        const uint32_t n = e->memo_room;
        e->memo_room = n * 2;
        e->memo = WBB_NEW_N(e->arena, Memo, e->memo_room);
        for (uint32_t k = 0; k < n; k++)
            if (old[k].i) *find(e, old[k].i, old[k].index) = old[k];
    }
    *find(e, i, index) = (Memo){i, index, value};
}

static void push(EmitValues *e, const HloInstruction *i, const IrRef *index)
{
    const Frame f = {.i = i, .index = index};
    const uint32_t nodes = rw_graph(e->rw)->n - e->first_node;
    if (nodes > EMIT_MAX_NODES || e->n_memo > EMIT_MAX_NODES || e->stack.n > EMIT_MAX_NODES)
        wbb_decline(e->cx, i->loc, WHY_SIZE, "the body needs more than %d nodes", EMIT_MAX_NODES);
    WBB_PUSH(e->arena, &e->stack, f);
}

/* The operand that frame f needs next: its value if known, else 0 and it is on the stack. */
static IrRef operand(EmitValues *e, const Frame *f)
{
    const HloInstruction *x = part_value(e->cx, f->i->operands[f->next]);
    IrRef *index = WBB_NEW_N(e->arena, IrRef, x->shape->rank + 1u);
    ix_operand(e->rw, e->arena, f->i, f->next, f->index, index);
    const Memo *m = find(e, x, index);
    if (m->i) return m->value;
    push(e, x, index);
    return 0;
}

static bool is_leaf(const HloInstruction *i)
{
    return i->opcode == HLO_PARAMETER || i->opcode == HLO_CONSTANT || i->opcode == HLO_IOTA;
}

EmitValues *emit_values(WbbCx *cx, WbbArena *a, RwCx *rw)
{
    EmitValues *e = WBB_NEW(a, EmitValues);
    e->cx = cx, e->arena = a, e->rw = rw;
    e->memo_room = 256;
    e->memo = WBB_NEW_N(a, Memo, e->memo_room);
    e->first_node = rw_graph(rw)->n;
    return e;
}

IrRef emit_value(EmitValues *e, const HloInstruction *i, const IrRef *index)
{
    IrGraph *g = rw_graph(e->rw);
    const uint32_t origin = g->making_origin;
    const Memo *known = find(e, i, index);
    if (known->i) return known->value;
    IrRef result = 0;
    push(e, i, index);
    while (e->stack.n) {
        Frame *f = &e->stack.items[e->stack.n - 1];
        g->making_origin = f->i->id + 1;
        if (!is_leaf(f->i) && f->next < f->i->n_operands) {
            const uint32_t at = e->stack.n - 1;
            const IrRef x = operand(e, f);
            f = &e->stack.items[at]; /* the stack may have moved */
            if (x) f->x[f->next++] = x;
            continue;
        }
        result = is_leaf(f->i) ? emit_leaf(e->rw, f->i, f->index) : emit_element(e->rw, f->i, f->x);
        remember(e, f->i, f->index, result);
        e->stack.n--;
    }
    g->making_origin = origin;
    return result;
}

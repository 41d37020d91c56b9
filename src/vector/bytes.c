/* bytes.c: words of bytes that are made of four other words' are loaded as words.
 *
 * Needs straight code; leaves loads of four neighbouring bytes where the block stores a word of the first bytes of four
 * such neighbourhoods, one of the second, one of the third and one of the fourth: a block of 4 x 4 bytes transposed.
 * LLVM's side makes eight permutes of the four words then (llvm/node.c), and twelve of single bytes.
 *
 *     store %tile[..], pack(pack(load %x[4*t], load %x[4*t + 64]), pack(load %x[4*t + 128], load %x[4*t + 192])); ..
 * =>  w = load.i8x4 %x[4*t]; ..; store %tile[..], pack(pack(part<0>(w), part<0>(x)), pack(part<0>(y), part<0>(z))); ..
 */
#include "vector/lanes.h"

enum { BYTES = 4 }; /* of a word */

/* A word of bytes that are loaded one by one: each is byte number `byte` of its neighbours. */
typedef struct {
    IrRef load[BYTES], first[BYTES]; /* first: the index of byte 0 */
    uint32_t byte;
} Word;

typedef struct {
    Lanes *l;
    WbbArena *arena;
    WbbMap met; /* by where its four neighbourhoods begin: a bit for each byte */
} Finding;

static const IrNode *at(const Finding *f, IrRef r) { return ir_at(f->l->g, r); }

static bool is_byte_load(const Finding *f, IrRef r)
{
    const IrNode *n = at(f, r);
    return n->op == OP_LOAD && IR_LANES(n->type) == 1 && sc_type_info[IR_SC(n->type)].bits == 8;
}

/* Is it pack(pack(load, load), pack(load, load)), each load of the same byte of aligned neighbours? */
static bool find_word(const Finding *f, IrRef r, Word *w)
{
    const IrNode n = *at(f, r);
    if (n.op != OP_PACK || IR_LANES(n.type) != BYTES || at(f, n.a[0])->op != OP_PACK || at(f, n.a[1])->op != OP_PACK)
        return false;
    for (uint32_t k = 0; k < BYTES; k++) {
        w->load[k] = at(f, n.a[k / 2])->a[k % 2];
        if (!is_byte_load(f, w->load[k])) return false;
        const IrRef arg = at(f, w->load[k])->a[0];
        if (f->l->k->buffers[at(f, arg)->imm].align < BYTES || arg != at(f, w->load[0])->a[0]) return false;
    }
    for (w->byte = 0; w->byte < BYTES; w->byte++) {
        uint32_t aligned = 0;
        for (; aligned < BYTES; aligned++) {
            const IrRef index = at(f, w->load[aligned])->a[1];
            w->first[aligned] = rw_sub(f->l->rw, index, ir_index(f->l->g, w->byte));
            if (!ir_multiple(f->l->g, w->first[aligned], BYTES)) break;
        }
        if (aligned == BYTES) return true;
    }
    return false;
}

static WbbEntry *entry(Finding *f, const Word *w)
{
    uint64_t *key = WBB_NEW_N(f->arena, uint64_t, BYTES + 1);
    key[0] = at(f, w->load[0])->a[0];
    for (uint32_t k = 0; k < BYTES; k++) key[k + 1] = w->first[k];
    return wbb_map_put_bytes(&f->met, key, (BYTES + 1) * sizeof *key);
}

/* Words in what a statement stores: of a wider access several. */
static void find(Finding *f, IrRef r)
{
    Word w;
    if (at(f, r)->op == OP_PACK && IR_LANES(at(f, r)->type) > BYTES) {
        const IrNode n = *at(f, r);
        find(f, n.a[0]);
        find(f, n.a[1]);
    } else if (find_word(f, r, &w)) {
        entry(f, &w)->value |= (uint64_t)1 << w.byte;
    }
}

static IrRef part(const Finding *f, const Word *w, uint32_t k)
{
    const IrNode n = *at(f, w->load[k]);
    const IrRef all = rw_make(f->l->rw, OP_LOAD, vec_with_lanes(n.type, BYTES), n.flags, n.a[0], w->first[k], 0, 0);
    const uint32_t buffer = (uint32_t)at(f, n.a[0])->imm;
    vec_join_access(f->l, buffer, false, 1, 0);
    if (w->byte == 0) vec_record_access(f->l, buffer, false, BYTES, "the words that four others are made of");
    return rw_make(f->l->rw, OP_PART, n.type, 0, all, 0, 0, w->byte);
}

static IrRef with_words(Finding *f, IrRef r)
{
    const IrNode n = *at(f, r);
    Word w;
    if (n.op == OP_PACK && IR_LANES(n.type) > BYTES) {
        const IrRef low = with_words(f, n.a[0]), high = with_words(f, n.a[1]);
        return low == n.a[0] && high == n.a[1] ? r : rw_make(f->l->rw, OP_PACK, n.type, n.flags, low, high, 0, 0);
    }
    if (!find_word(f, r, &w) || entry(f, &w)->value != (1 << BYTES) - 1) return r;
    const IrType two = vec_with_lanes(n.type, BYTES / 2);
    IrRef halves[2];
    for (uint32_t k = 0; k < 2; k++)
        halves[k] = rw_make(f->l->rw, OP_PACK, two, 0, part(f, &w, 2 * k), part(f, &w, 2 * k + 1), 0, 0);
    return rw_make(f->l->rw, OP_PACK, n.type, n.flags, halves[0], halves[1], 0, 0);
}

void vec_bytes(Lanes *l, IrBlock *b)
{
    WbbArena *a = wbb_arena_new(l->g->cx);
    Finding f = {.l = l, .arena = a, .met = {.arena = a}};
    for (uint32_t i = 0; i < b->n; i++)
        if (b->items[i]->kind == IR_STORE) find(&f, b->items[i]->value);
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        if (s->kind == IR_STORE) s->value = with_words(&f, s->value);
        vec_bytes(l, &s->body);
        vec_bytes(l, &s->otherwise);
    }
    wbb_arena_free(a);
}

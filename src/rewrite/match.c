/* match.c: does a rule match here? An interpreter of match tries.
 *
 * A program is 32-bit words: opcode in 6 bits, a small number in 2, operands a, b, c of a byte each; some steps take
 * further words. All rules of one root operation are one trie: equal first steps of neighbouring rules are stored once.
 * A failed step goes back to the latest choice: the next branch of the trie (TRY, FILTER), or the next term of a sum
 * (PICK). So rules are tried in the order of their list, and the first that matches wins. A caller that rejects a match
 * resumes the search after it.
 *
 *   TRY rel24               if what follows fails, resume at this word + rel
 *   FILTER keys branches16  the branches to try, in order; only at the start; layout at `filter`
 *   SWAP s                  OPX and ANYX of v[s] take its operands 0 and 1 in this order, then in the other
 *   OP:k d s op             v[d] = operand k of v[s] (k = 3: v[s] itself), which must be an `op`
 *   ANY:k d s               v[d] = operand k of v[s]
 *   TYPE:any s type16       v[s] has that type; any: lanes do not matter
 *   CLASS:any s t mask      v[s]'s element type is in the class; bind t
 *   TEQ s t any             v[s]'s element type is t's
 *   FLAGS s mask            v[s] carries these flags
 *   SAME x y                v[x] and v[y] are one node (hash-consing: equal refs)
 *   LIT:float s imm16       v[s] is that constant, narrowed to v[s]'s type
 *   KONST k s               v[s] is an integer constant; k[k] = its value
 *   SPLIT:rest d s k, r     v[s] = v[d] * k[k] + v[r], all divisible terms and the constant, floored, in v[d];
 *                           rest: v[d] is not used
 *   GROUP d s k, r|by<<8    v[s] = v[d] * k[k] + v[r], 0 <= v[r] < k[k]; k[k] divides k[by] unless by is 255; a choice
 *   PICK d s k, fixed|op<<8 v[d] = a term of the sum v[s] not yet picked, an `op` unless that is 0; k[k] = its
 *                           coefficient, or must be that if fixed; a choice
 *   PICKV x s k             k[k] * v[x] is picked, too: a term, or every term of a sum
 *   REST r s                v[r] = what is left of v[s]
 *   ADDENDS s               v[s] is an addition of integers, whose terms ADDEND and ADDREST take: addends.c
 *   ADDEND d s op           v[d] = a term of v[s] not yet taken, an `op`; a choice
 *   ADDREST d s             v[d] = what is left of v[s]; d = 255: nothing is
 *   KIMM KWIDTH KARITH CREL CFACT CAPART CPERIOD CFIXED CCOUNTS CGIVEN CFLAG   constants and conditions: guards.c
 *   ACCEPT, rule, build     all matched
 *
 * A new step must write only slots of its own path, so that going back to a choice undoes nothing, and must not look at
 * uses (`once` apart, which only isel has), so that a node's normal form does not depend on where it is used.
 */
#include "rewrite/inner.h"

static uint32_t small(uint32_t w) { return w >> 6 & 3; }
static uint32_t arg_a(uint32_t w) { return w >> 8 & 255; }
static uint32_t arg_b(uint32_t w) { return w >> 16 & 255; }
static uint32_t arg_c(uint32_t w) { return w >> 24; }

static IrRef operand(const IrGraph *g, IrRef r, uint32_t k)
{
    const IrNode *n = ir_at(g, r);
    return ir_in_pool(n) || k > 2 ? 0 : n->a[k];
}

static bool is_literal(const IrGraph *g, IrRef r, bool is_float, uint64_t imm)
{
    const IrNode *n = ir_at(g, r);
    if (n->op != OP_CONST) return false;
    const ScType t = IR_SC(n->type);
    union { uint64_t u; double d; } bits = {.u = imm};
    return n->imm == (is_float ? sc_from_f64(t, bits.d) : sc_from_i128(t, (int64_t)imm));
}

static bool integer_constant(const IrGraph *g, IrRef r, WbbI128 *k)
{
    const IrNode *n = ir_at(g, r);
    const ScType t = IR_SC(n->type);
    if (n->op != OP_CONST || !(sc_is_int(t) || t == SC_INDEX)) return false;
    *k = sc_to_i128(t, n->imm);
    return true;
}

static bool check_type(const IrGraph *g, Match *m, uint32_t w, const uint64_t *imm)
{
    const IrNode *n = ir_at(g, m->value[arg_a(w)]);
    const ScType t = IR_SC(n->type);
    switch (w & 63) {
    case W_TYPE: return small(w) ? t == IR_SC(w >> 16) : n->type == w >> 16;
    case W_CLASS:
        if (!(imm[arg_c(w)] >> t & 1) || (!small(w) && IR_LANES(n->type) > 1)) return false;
        m->type[arg_b(w)] = t;
        return true;
    default: return t == m->type[arg_b(w)] && (arg_c(w) || IR_LANES(n->type) == 1);
    }
}

static inline bool take_operand(const IrGraph *g, Match *m, uint32_t w)
{
    const uint32_t b = arg_b(w);
    return (m->value[arg_a(w)] = operand(g, m->value[b], small(w) ^ ((w & 63) == W_ANYX && m->swapped[b]))) != 0;
}

/* The most frequent step. */
static inline bool take_operation(const IrGraph *g, Match *m, uint32_t w)
{
    const uint32_t a = arg_a(w), b = arg_b(w);
    const IrRef r =
        small(w) == 3 ? m->value[b] : operand(g, m->value[b], small(w) ^ ((w & 63) == W_OPX && m->swapped[b]));
    m->value[a] = r;
    if (r == 0 || ir_at(g, r)->op != arg_c(w)) return false;
    m->flags &= ir_at(g, r)->flags;
    return true;
}

/* The less frequent steps, conditions included. */
static bool take_step(RwCx *rw, const RwTables *t, Match *m, const uint32_t **pc, uint32_t w)
{
    IrGraph *g = rw->g;
    const uint32_t a = arg_a(w), b = arg_b(w), c = arg_c(w);
    switch (w & 63) {
    case W_FLAGS: return (ir_at(g, m->value[a])->flags & b) == b;
    case W_KONST: return integer_constant(g, m->value[b], &m->konst[a]);
    case W_SPLIT: return rw_split(rw, m, a, b, m->konst[c], *(*pc)++, small(w) != 0);
    case W_ADDENDS: return rw_addends(rw, m, a);
    case W_ADDREST: return rw_addends_left(rw, m, a, b);
    case W_PICKV: return rw_pick_bound(rw, m, a, b, m->konst[c]);
    case W_REST:
        m->rest = (Rest){.sum = m->value[b], .n_picks = m->n_picks, .constant = m->picked_constant};
        for (uint32_t i = 0; i < m->n_picks; i++) m->rest.picks[i] = m->picks[i];
        m->rest_slot = a;
        return true;
    default: return rw_condition(rw, m, pc, w, t->imm);
    }
}

/* 0, 1, -1, 2 and -0.0 have a class each, all others one: gen/encode.py, SPECIAL. */
static uint32_t constant_class(const IrNode *n)
{
    const ScType t = IR_SC(n->type);
    if (sc_is_float(t)) {
        const double x = sc_to_f64(t, n->imm);
        return x == 0 ? (n->imm ? 5 : 1) : x == 1 ? 2 : x == -1 ? 3 : x == 2 ? 4 : 6;
    }
    return n->imm <= 1 ? 1 + (uint32_t)n->imm : n->imm == sc_mask(t) ? 3 : n->imm == 2 ? 4 : 6;
}

/* What a key of a FILTER reads: element type, or operation and class of a constant, of the node at a path of
 * operands from the root; that of ref 0 where there is none. The root has the operands that keys ask for. */
static uint32_t property(const IrGraph *g, const IrNode *n, uint32_t key)
{
    if (arg_a(key) != 255) n = ir_at(g, n->a[arg_a(key)]);
    if (arg_b(key) != 255) n = ir_at(g, ir_in_pool(n) ? 0 : n->a[arg_b(key)]);
    return key & 1 ? (uint32_t)IR_SC(n->type) : n->op == OP_CONST ? OP_COUNT + constant_class(n) : n->op;
}

/* The branches of a FILTER that the root's properties allow; false: none. The FILTER word is followed by three words
 * for each key (path and kind; offset of its map from property to row, a byte each; offset of its rows among the
 * immediates), then the offset of each branch. A row has a bit for each branch; most nodes have no branch left after
 * a few keys. */
static bool filter(const IrGraph *g, Match *m, const uint32_t *at)
{
    const uint32_t *code = m->tables->code, *key = at + 1, *end = key + 3 * arg_a(*at), words = ((*at >> 16) + 63) / 64;
    const IrNode *root = ir_at(g, m->value[0]);
    uint64_t *branches = m->branches;
    uint32_t from = 0, to = words;
    assert(words <= MAX_ROW);
    for (uint32_t w = 0; w < words; w++) branches[w] = UINT64_MAX;
    for (; key < end && from < to; key += 3) {
        const uint32_t p = property(g, root, key[0]);
        const uint64_t *row = m->tables->imm + key[2] + (code[key[1] + p / 4] >> (8 * (p % 4)) & 255) * words;
        for (uint32_t w = from; w < to; w++) branches[w] &= row[w];
        while (from < to && !branches[to - 1]) to--;
        while (from < to && !branches[from]) from++;
    }
    m->from = from;
    m->to = to;
    return from < to;
}

/* The first branch to try, `from` or a later one; `none` if there is none. */
static uint32_t next_branch(const Match *m, uint32_t from, uint32_t none)
{
    uint32_t w = WBB_MAX(from / 64, m->from);
    uint64_t mask = UINT64_MAX << (from % 64);
    if (w > from / 64) mask = UINT64_MAX;
    for (; w < m->to; w++, mask = UINT64_MAX)
        if (m->branches[w] & mask) return w * 64 + (uint32_t)__builtin_ctzll(m->branches[w] & mask);
    return none;
}

static void choose(Match *m, const uint32_t *at, uint32_t next, uint32_t n_picks)
{
    assert(m->n_choices < MAX_CHOICES);
    m->choices[m->n_choices++] =
        (Choice){.at = at, .next = next, .n_picks = n_picks, .flags = m->flags, .assumed = m->assumed};
}

/* Takes the latest choice: resume at *pc with *next. */
static inline void go_back(Match *m, const uint32_t **pc, uint32_t *next)
{
    const Choice *top = &m->choices[--m->n_choices];
    *pc = top->at;
    *next = top->next;
    m->n_picks = top->n_picks;
    m->flags = top->flags;
    m->assumed = top->assumed;
    m->rest_slot = 0;
}

/* Runs from `pc` to the next ACCEPT; false: no choice is left. `next`: where the choice that `pc` resumes goes on.
 * With `farthest` the step farthest in the program that failed is remembered, and a rule that is switched off
 * matches, too. */
static bool run(RwCx *rw, Match *m, const uint32_t *pc, uint32_t next, const uint32_t **build, Farthest *farthest)
{
    const RwTables *t = m->tables;
    const uint8_t *disabled = rw->disabled[t == rw->index];
    for (;;) {
        const uint32_t *here = pc;
        const uint32_t w = *pc++;
        bool ok = true;
        switch (w & 63) {
        case W_TRY: choose(m, here + (w >> 8), 0, m->n_picks); break;
        case W_FILTER: {
            const uint32_t n = w >> 16, branch = next_branch(m, next, n);
            if (!(ok = branch < n)) break;
            if (branch + 1 < n) choose(m, here, branch + 1, m->n_picks);
            pc = t->code + here[1 + 3 * arg_a(w) + branch];
            break;
        }
        case W_SWAP:
            m->swapped[arg_a(w)] = next != 0;
            if (!next) choose(m, here, 1, m->n_picks);
            break;
        case W_GROUP:
            ok = rw_group(rw, m, arg_a(w), arg_b(w), arg_c(w), *pc++, &next);
            if (ok) choose(m, here, next, m->n_picks);
            break;
        case W_PICK: {
            const uint32_t before = m->n_picks;
            ok = rw_pick(rw, m, arg_a(w), arg_b(w), arg_c(w), *pc++, &next);
            if (ok) choose(m, here, next, before);
            break;
        }
        case W_ADDEND: {
            const uint32_t before = m->n_picks;
            ok = rw_addend(rw, m, arg_a(w), arg_b(w), arg_c(w), &next);
            if (ok) choose(m, here, next, before);
            break;
        }
        case W_ACCEPT:
            m->rule = pc[0];
            *build = t->code + pc[1];
            ok = farthest || (!disabled[m->rule] && (!m->assumed || rw->assumed[m->rule]));
            if (ok) return true;
            break;
        case W_OP:
        case W_OPX: ok = take_operation(rw->g, m, w); break;
        case W_ANY:
        case W_ANYX: ok = take_operand(rw->g, m, w); break;
        case W_TYPE:
        case W_CLASS:
        case W_TEQ: ok = check_type(rw->g, m, w, t->imm); break;
        case W_SAME: ok = m->value[arg_a(w)] == m->value[arg_b(w)]; break;
        case W_LIT: ok = is_literal(rw->g, m->value[arg_a(w)], small(w) != 0, t->imm[w >> 16]); break;
        default: {
            const uint32_t *rest = pc; /* so that pc itself may stay in a register */
            ok = take_step(rw, t, m, &rest, w);
            pc = rest;
        }
        }
        next = 0;
        if (ok) continue;
        if (farthest && here > farthest->step) farthest->step = here, farthest->m = *m;
        if (m->n_choices == 0) return false;
        go_back(m, &pc, &next);
    }
}

static void begin(const RwCx *rw, Match *m, const RwTables *t, IrRef root)
{
    m->tables = t;
    m->value[0] = root;
    m->flags = ir_at(rw->g, root)->flags;
    m->n_choices = m->n_picks = m->rest_slot = 0;
    m->assumed = false;
}

bool rw_match(RwCx *rw, const RwTables *t, RwPhase phase, IrRef root, Match *m, const uint32_t **build)
{
    const uint32_t entry = t->entry[phase][ir_at(rw->g, root)->op];
    if (!entry) return false;
    begin(rw, m, t, root);
    const uint32_t *pc = t->code + entry;
    if ((*pc & 63) == W_FILTER && !filter(rw->g, m, pc)) return false;
    return run(rw, m, pc, 0, build, NULL);
}

bool rw_match_next(RwCx *rw, Match *m, const uint32_t **build)
{
    if (m->n_choices == 0) return false;
    const uint32_t *pc;
    uint32_t next;
    go_back(m, &pc, &next);
    return run(rw, m, pc, next, build, NULL);
}

bool rw_match_program(RwCx *rw, const RwTables *t, const uint32_t *program, IrRef root, Farthest *farthest)
{
    Match m;
    const uint32_t *build;
    begin(rw, &m, t, root);
    farthest->step = program;
    return run(rw, &m, program + 1, 0, &build, farthest);
}

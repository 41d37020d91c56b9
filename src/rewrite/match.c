/* match.c: does a rule match here? An interpreter of match tries.
 *
 * A program is 32-bit words: opcode in the low byte, then operands a, b, c of a byte each; some are followed by whole words. All
 * rules of one root operation are one trie: equal first steps of neighbouring rules are stored once. A failed step goes back to
 * the latest choice: the next branch of the trie (TRY), or the next term of a sum (PICK). So the rules are tried in the order of
 * their list, and the first that matches wins.
 *
 *   TRY rel24               if what follows fails, go on at this word + rel
 *   OP d s k, op            v[d] = operand k of v[s] (k = 255: v[s] itself), which must be an `op`
 *   ANY d s k               v[d] = operand k of v[s]
 *   TYPE s any, type        v[s] has that type; any: lanes do not matter
 *   CLASS s t any, mask     v[s]'s element type is in the class; bind t
 *   TEQ s t any             v[s]'s element type is t's
 *   FLAGS s mask            v[s] carries these flags
 *   SAME x y                v[x] and v[y] are one node (hash-consing: equal refs)
 *   LIT s float, imm        v[s] is that constant, narrowed to v[s]'s type
 *   KONST k s               v[s] is an integer constant; k[k] = its value
 *   SPLIT d s k, r          v[s] = v[d] * k[k] + v[r]; v[d] takes everything divisible, the constant floored
 *   PICK d s k, fixed       v[d] = a term of the sum v[s] not yet picked; its coefficient is bound to, or must be, k[k]
 *   REST r s                v[r] = what is left of v[s]
 *   KIMM KWIDTH KARITH      constants; arithmetic is exact in 128 bits and fails the rule where it cannot be
 *   CREL CWITHIN CMULTIPLE CFLAG   conditions
 *   ACCEPT, rule, build     all matched
 *
 * What a new step must keep: it writes only slots of its own path, and it decides without looking at uses, so that a node's
 * normal form is the same wherever it stands.
 */
#include "rewrite/inner.h"

typedef struct {
    const uint32_t *at; /* resume here */
    uint32_t term;      /* PICK: next term to try */
    uint32_t n_picks;
    uint32_t flags;
} Choice;

static uint32_t arg_a(uint32_t w) { return w >> 8 & 255; }
static uint32_t arg_b(uint32_t w) { return w >> 16 & 255; }
static uint32_t arg_c(uint32_t w) { return w >> 24; }

static IrRef operand(const IrGraph *g, IrRef r, uint32_t k)
{
    const IrNode *n = ir_at(g, r);
    return n->op == OP_SUM || k > 2 ? 0 : n->a[k];
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

/* v[s] = i * k + rest. Fails where nothing is divisible: the rule would go round in a circle. */
static bool split(RwCx *rw, Match *m, uint32_t d, uint32_t s, WbbI128 k, uint32_t r)
{
    IrGraph *g = rw->g;
    const IrNode n = *ir_at(g, m->value[s]);
    if (n.op != OP_SUM || k <= 0 || k > INT64_MAX) return false;
    IrTerm *yes = WBB_NEW_N(rw->arena, IrTerm, n.a[1]), *no = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
    uint32_t n_yes = 0, n_no = 0;
    const int64_t step = (int64_t)k, constant = (int64_t)n.imm;
    const int64_t floored = constant / step - (constant % step < 0);
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = g->terms[n.a[0] + i];
        if (t.coefficient % step == 0) yes[n_yes++] = (IrTerm){t.coefficient / step, t.ref};
        else no[n_no++] = t;
    }
    if (n_yes == 0 && floored == 0) return false;
    m->value[d] = rw_sum(rw, floored, yes, n_yes);
    m->value[r] = rw_sum(rw, constant - floored * step, no, n_no);
    return true;
}

/* The next term of a sum from *term on; true if v[d] and its coefficient are bound. */
static bool pick(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, bool fixed, uint32_t *term)
{
    const IrNode *n = ir_at(rw->g, m->value[s]);
    if (n->op != OP_SUM || m->n_picks == MAX_PICKS) return false;
    for (; *term < n->a[1]; ++*term) {
        bool taken = false;
        for (uint32_t i = 0; i < m->n_picks; i++) taken |= m->picks[i] == *term;
        const IrTerm t = rw->g->terms[n->a[0] + *term];
        if (taken || (fixed && m->konst[k] != t.coefficient)) continue;
        if (!fixed) m->konst[k] = t.coefficient;
        m->value[d] = t.ref;
        m->picked_sum = m->value[s];
        m->picks[m->n_picks++] = (*term)++;
        return true;
    }
    return false;
}

IrRef rw_rest(RwCx *rw, Match *m, uint32_t slot)
{
    if (slot != m->rest_slot || slot == 0) return m->value[slot];
    const IrNode n = *ir_at(rw->g, m->rest.sum);
    IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n.a[1]; i++) {
        bool taken = false;
        for (uint32_t p = 0; p < m->rest.n_picks; p++) taken |= m->rest.picks[p] == i;
        if (!taken) terms[count++] = rw->g->terms[n.a[0] + i];
    }
    m->rest_slot = 0;
    return m->value[slot] = rw_sum(rw, (int64_t)n.imm, terms, count);
}

bool rw_konst(WbbI128 x, WbbI128 y, uint32_t fn, WbbI128 *r)
{
    switch (fn) {
    case 0: return !__builtin_add_overflow(x, y, r);
    case 1: return !__builtin_sub_overflow(x, y, r);
    case 2: return !__builtin_mul_overflow(x, y, r);
    case 3: /* floor */
        if (y <= 0) return false;
        *r = x / y - (x % y < 0);
        return true;
    default:
        if (y <= 0) return false;
        *r = x % y + (x % y < 0 ? y : 0);
        return true;
    }
}

static bool relation(WbbI128 x, WbbI128 y, uint32_t rel)
{
    switch (rel) {
    case 0: return x == y;
    case 1: return x != y;
    case 2: return x < y;
    case 3: return x <= y;
    case 4: return x > y;
    default: return x >= y;
    }
}

static bool check_type(const IrGraph *g, Match *m, const uint32_t **pc, uint32_t w, const uint64_t *imm)
{
    const IrNode *n = ir_at(g, m->value[arg_a(w)]);
    const ScType t = IR_SC(n->type);
    switch (w & 255) {
    case W_TYPE: {
        const uint32_t type = *(*pc)++;
        return arg_b(w) ? t == IR_SC(type) : n->type == type;
    }
    case W_CLASS:
        if (!(imm[*(*pc)++] >> t & 1) || (!arg_c(w) && IR_LANES(n->type) > 1)) return false;
        m->type[arg_b(w)] = t;
        return true;
    default: return t == m->type[arg_b(w)] && (arg_c(w) || IR_LANES(n->type) == 1);
    }
}

static bool check_condition(RwCx *rw, Match *m, const uint32_t **pc, uint32_t w, const uint64_t *imm, IrRef root)
{
    const uint32_t a = arg_a(w), b = arg_b(w), c = arg_c(w);
    switch (w & 255) {
    case W_KIMM: m->konst[a] = (int64_t)imm[*(*pc)++]; return true;
    case W_KWIDTH: m->konst[a] = sc_type_info[m->type[b]].bits; return true;
    case W_KARITH: return rw_konst(m->konst[b], m->konst[c], *(*pc)++, &m->konst[a]);
    case W_CREL: return relation(m->konst[a], m->konst[b], c);
    case W_CWITHIN: return ir_within(rw->g, rw_rest(rw, m, a), m->konst[b], m->konst[c]) == !*(*pc)++;
    case W_CMULTIPLE: return ir_multiple(rw->g, rw_rest(rw, m, a), m->konst[b]) == !*(*pc)++;
    default: return ((ir_at(rw->g, root)->flags & a) != 0) == !b; /* CFLAG */
    }
}

/* One step that is neither a choice nor the end. */
static bool step(RwCx *rw, const RwTables *t, Match *m, const uint32_t **pc, uint32_t w, IrRef root)
{
    IrGraph *g = rw->g;
    const uint32_t a = arg_a(w), b = arg_b(w), c = arg_c(w);
    switch (w & 255) {
    case W_OP: {
        const IrRef r = c == 255 ? m->value[b] : operand(g, m->value[b], c);
        m->value[a] = r;
        if (r == 0 || ir_at(g, r)->op != *(*pc)++) return false;
        m->flags &= ir_at(g, r)->flags;
        return true;
    }
    case W_ANY: return (m->value[a] = operand(g, m->value[b], c)) != 0;
    case W_TYPE:
    case W_CLASS:
    case W_TEQ: return check_type(g, m, pc, w, t->imm);
    case W_FLAGS: return (ir_at(g, m->value[a])->flags & b) == b;
    case W_SAME: return m->value[a] == m->value[b];
    case W_LIT: return is_literal(g, m->value[a], b != 0, t->imm[*(*pc)++]);
    case W_KONST: return integer_constant(g, m->value[b], &m->konst[a]);
    case W_SPLIT: return split(rw, m, a, b, m->konst[c], *(*pc)++);
    case W_REST:
        m->rest = (Rest){.sum = m->value[b], .n_picks = m->n_picks};
        for (uint32_t i = 0; i < m->n_picks; i++) m->rest.picks[i] = m->picks[i];
        m->rest_slot = a;
        return true;
    default: return check_condition(rw, m, pc, w, t->imm, root);
    }
}

bool rw_match(RwCx *rw, const RwTables *t, RwStratum stratum, IrRef root, Match *m, const uint32_t **build)
{
    const uint32_t entry = t->entry[stratum][ir_at(rw->g, root)->op];
    if (!entry) return false;
    const uint8_t *disabled = rw->disabled[t == rw->index];
    Choice choices[MAX_CHOICES];
    uint32_t n_choices = 0;
    const uint32_t *pc = t->code + entry;
    m->value[0] = root;
    m->flags = ir_at(rw->g, root)->flags;
    m->n_picks = m->rest_slot = 0;
    for (;;) {
        const uint32_t *here = pc;
        const uint32_t w = *pc++;
        bool ok = true;
        if ((w & 255) == W_TRY) {
            assert(n_choices < MAX_CHOICES);
            choices[n_choices++] = (Choice){.at = here + (w >> 8), .n_picks = m->n_picks, .flags = m->flags};
        } else if ((w & 255) == W_PICK) {
            uint32_t term = 0;
            if (n_choices && choices[n_choices - 1].at == here) term = choices[--n_choices].term;
            const bool fixed = *pc++ != 0;
            const uint32_t before = m->n_picks;
            ok = pick(rw, m, arg_a(w), arg_b(w), arg_c(w), fixed, &term);
            assert(n_choices < MAX_CHOICES);
            if (ok) choices[n_choices++] = (Choice){.at = here, .term = term, .n_picks = before, .flags = m->flags};
        } else if ((w & 255) == W_ACCEPT) {
            m->rule = pc[0];
            *build = t->code + pc[1];
            ok = !disabled[m->rule] && (int64_t)m->rule > m->after;
            if (ok) return true;
        } else {
            ok = step(rw, t, m, &pc, w, root);
        }
        if (ok) continue;
        if (n_choices == 0) return false;
        const Choice *top = &choices[n_choices - 1];
        pc = top->at;
        m->n_picks = top->n_picks;
        m->flags = top->flags;
        m->rest_slot = 0;
        if ((*pc & 255) != W_PICK || top->term == 0) n_choices--;
    }
}

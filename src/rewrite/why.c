/* why.c: why does a rule not match here? One rule on one node, step by step, without building anything.
 *
 * Needs the tables' cold data: where a match binds the rule's variables, and its conditions as text. A rule's own program is a way
 * through the trie to its ACCEPT; of several (orders of commutative operands, terms of a sum) the one that gets farthest counts.
 *
 *     patterns/indexing.py:13 at (tid // 4): 3 of 4 steps; within(n, 0, k) fails: n in [0, 7], k = 4
 */
#include "rewrite/inner.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 512, MAX_WORDS = 4096 };

typedef struct {
    RwCx *rw;
    const RwTables *t;
    WbbArena *arena;
    uint32_t rule, n, n_conditions, root_op;
    const uint32_t *steps[MAX_STEPS]; /* the way to ACCEPT */
    const char *place[MAX_VALUES];
    Match m;
    RwWhy best;
    bool found, matched;
} Why;

static uint32_t extra_words(uint32_t w)
{
    switch (w & 63) {
    case W_SPLIT: case W_GROUP: case W_PICK: case W_KIMM: case W_KARITH: case W_CFACT: case W_CAPART: return 1;
    default: return 0;
    }
}

static bool decides(uint32_t w)
{
    const uint32_t op = w & 63;
    return op != W_KIMM && op != W_KWIDTH && op != W_REST && op != W_SWAP;
}
static bool is_condition(uint32_t w)
{
    return (w & 63) == W_CREL || (w & 63) == W_CFACT || (w & 63) == W_CAPART || (w & 63) == W_CPERIOD || (w & 63) == W_CFLAG;
}

static uint32_t count_lines(const char *text)
{
    uint32_t n = text && *text ? 1 : 0;
    for (; text && *text; text++) n += *text == '\n';
    return n;
}

/* --- in words --------------------------------------------------------------------------------------------------------------- */
static const char *node_name(Why *y, IrRef r)
{
    if (!r) return "nothing";
    const IrNode *n = ir_at(y->rw->g, r);
    if (n->op == OP_CONST || n->op == OP_VAR) {
        WbbBuf b = wbb_buf(y->arena);
        ir_print_node(&b, y->rw->g, r);
        return b.text;
    }
    const uint32_t lanes = IR_LANES(n->type);
    return lanes > 1 ? wbb_format(y->arena, "%s (%sx%u)", sc_op_info[n->op].name, sc_type_info[IR_SC(n->type)].name, lanes)
                     : wbb_format(y->arena, "%s (%s)", sc_op_info[n->op].name, sc_type_info[IR_SC(n->type)].name);
}

static void put_value(Why *y, WbbBuf *b, const char *name, size_t length, const char *slot)
{
    const uint32_t s = (uint32_t)strtoul(slot + 1, NULL, 10);
    wbb_put(b, b->n && b->text[b->n - 1] != ' ' ? ", " : "");
    wbb_put_n(b, name, length);
    if (*slot == 'k') {
        wbb_put(b, " = ");
        wbb_put_i128(b, y->m.konst[s]);
        return;
    }
    const IrRef r = rw_rest(y->rw, &y->m, s);
    wbb_put(b, " is ");
    ir_print_node(b, y->rw->g, r);
    if (IR_SC(ir_at(y->rw->g, r)->type) != SC_INDEX || ir_is_const(y->rw->g, r)) return;
    const IrFact f = ir_fact(y->rw->g, r);
    wbb_put(b, ", in [");
    wbb_put_i128(b, f.lo);
    wbb_put(b, ", ");
    wbb_put_i128(b, f.hi);
    wbb_put(b, "]");
    if (f.mod > 1) wbb_putf(b, ", %llu modulo %llu", (unsigned long long)f.rem, (unsigned long long)f.mod);
}

static bool mentions(const char *text, size_t n, const char *name, size_t length)
{
    for (size_t i = 0; i + length <= n; i++)
        if (!memcmp(text + i, name, length) && (i == 0 || !isalnum((unsigned char)text[i - 1])) && (i + length == n || !isalnum((unsigned char)text[i + length])))
            return true;
    return false;
}

/* Condition number `which` of the rule, and what its variables are here. */
static const char *condition_text(Why *y, uint32_t which)
{
    const RwRule *rule = &y->t->rules[y->rule];
    const char *text = rule->when;
    for (; which; which--) text = strchr(text, '\n') + 1;
    const size_t n = strcspn(text, "\n");
    WbbBuf b = wbb_buf(y->arena), values = wbb_buf(y->arena);
    wbb_put_n(&b, text, n);
    for (const char *p = rule->names; p && *p;) {
        const size_t length = strcspn(p, "=");
        if (mentions(text, n, p, length)) put_value(y, &values, p, length, p + length + 1);
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    wbb_putf(&b, " fails%s%s", values.n ? ": " : "", values.n ? values.text : "");
    return b.text;
}

static const char *type_text(Why *y, uint32_t type)
{
    const char *name = sc_type_info[IR_SC(type)].name;
    return IR_LANES(type) > 1 ? wbb_format(y->arena, "%sx%u", name, IR_LANES(type)) : name;
}

static const char *failure(Why *y, uint32_t at)
{
    const uint32_t *pc = y->steps[at], w = *pc, a = w >> 8 & 255, b = w >> 16 & 255, c = w >> 24;
    uint32_t conditions_behind = 0;
    for (uint32_t i = at + 1; i < y->n; i++) conditions_behind += is_condition(*y->steps[i]);
    const uint32_t here = conditions_behind + is_condition(w); /* this and later ones */
    if (is_condition(w) && here <= y->n_conditions) return condition_text(y, y->n_conditions - here);
    const IrRef r = y->m.value[a];
    const char *place = y->place[a] ? y->place[a] : "the node";
    switch (w & 63) {
    case W_OP:
    case W_OPX: return wbb_format(y->arena, "%s is %s, not %s", place, node_name(y, r), sc_op_info[c].name);
    case W_ANY:
    case W_ANYX: return wbb_format(y->arena, "%s has no such operand", y->place[b] ? y->place[b] : "the node");
    case W_TYPE: return wbb_format(y->arena, "%s has type %s, not %s", place, type_text(y, ir_at(y->rw->g, r)->type), type_text(y, w >> 16));
    case W_CLASS: return wbb_format(y->arena, "%s has type %s, which is not of the rule's class", place, type_text(y, ir_at(y->rw->g, r)->type));
    case W_TEQ: return wbb_format(y->arena, "%s has type %s, not %s", place, type_text(y, ir_at(y->rw->g, r)->type), sc_type_info[y->m.type[b]].name);
    case W_FLAGS: {
        WbbBuf flags = wbb_buf(y->arena);
        for (uint32_t f = 0; f < SC_FLAG_COUNT; f++)
            if (b >> f & 1 && !(ir_at(y->rw->g, r)->flags >> f & 1)) wbb_putf(&flags, " %s", sc_flag_name[f]);
        return wbb_format(y->arena, "%s lacks the flag%s", place, flags.text);
    }
    case W_SAME: return wbb_format(y->arena, "%s is not the same value as %s", place, y->place[b] ? y->place[b] : "the node");
    case W_LIT: return wbb_format(y->arena, "%s is %s, not the constant of the rule", place, node_name(y, r));
    case W_KONST: return wbb_format(y->arena, "%s is %s, no integer constant", y->place[b] ? y->place[b] : "the node", node_name(y, y->m.value[b]));
    case W_SPLIT: return "the constant divides no term of the sum";
    case W_GROUP: return "the larger terms of the sum have no common divisor that what is left fits into";
    case W_OFFSET: return "the sum has no constant";
    case W_NEGATE: return "the sum begins with a positive term";
    case W_PICK: return "the sum has no such term";
    case W_PICKV: return "the sum does not have these terms";
    case W_KARITH: return "arithmetic of constants fails: too large, or a divisor that is not positive";
    case W_CREL: return wbb_format(y->arena, "a constant is %lld where %lld is expected", (long long)y->m.konst[a], (long long)y->m.konst[b]);
    default: return c ? "a condition fails" : "a step fails";
    }
}

/* --- one way through the trie ------------------------------------------------------------------------------------------------- */
static void name_place(Why *y, uint32_t w)
{
    const uint32_t a = w >> 8 & 255, b = w >> 16 & 255, op = w & 63;
    const uint32_t k = (w >> 6 & 3) ^ ((op == W_OPX || op == W_ANYX) && y->m.swapped[b]);
    if (op == W_PICK) y->place[a] = "a term of the sum";
    else if (op == W_SPLIT || op == W_GROUP) y->place[a] = "what is divisible";
    else if (op == W_SRC) y->place[a] = y->place[b];
    else if (((op == W_OP || op == W_OPX) && k != 3) || op == W_ANY || op == W_ANYX)
        y->place[a] = b == 0 ? wbb_format(y->arena, "operand %u", k) : wbb_format(y->arena, "operand %u of %s", k, y->place[b] ? y->place[b] : "it");
}

static void note(Why *y, uint32_t at, uint32_t passed, uint32_t total)
{
    if (y->best.text && passed <= y->best.passed) return;
    y->best = (RwWhy){.passed = passed, .total = total, .text = at < y->n ? failure(y, at) : "it matches"};
}

static bool follow(Why *y, uint32_t at, uint32_t passed, uint32_t total)
{
    for (; at < y->n; at++) {
        const uint32_t *pc = y->steps[at] + 1, w = *y->steps[at];
        name_place(y, w);
        if ((w & 63) == W_SWAP) {
            const uint32_t flags = y->m.flags, n_picks = y->m.n_picks;
            for (uint8_t swap = 0; swap < 2; swap++) {
                y->m.swapped[w >> 8 & 255] = swap;
                y->m.flags = flags;
                y->m.n_picks = n_picks;
                y->m.rest_slot = 0;
                if (follow(y, at + 1, passed, total)) return true;
            }
            return false;
        }
        if ((w & 63) == W_PICK || (w & 63) == W_GROUP) {
            const uint32_t before = y->m.n_picks, flags = y->m.flags, a = w >> 8 & 255, b = w >> 16 & 255, c = w >> 24;
            uint32_t next = 0;
            bool any = false;
            while ((w & 63) == W_PICK ? rw_pick(y->rw, &y->m, a, b, c, *pc, &next) : rw_group(y->rw, &y->m, a, b, c, *pc, &next)) {
                any = true;
                if (follow(y, at + 1, passed + 1, total)) return true;
                y->m.n_picks = before;
                y->m.flags = flags;
                y->m.rest_slot = 0;
            }
            if (!any) note(y, at, passed, total);
            return false;
        }
        if (!rw_match_step(y->rw, y->t, &y->m, &pc, w)) return note(y, at, passed, total), false;
        passed += decides(w);
    }
    note(y, at, passed, total);
    return true;
}

static void one_way(Why *y, IrRef node)
{
    uint32_t total = 1;
    for (uint32_t i = 0; i < y->n; i++) total += decides(*y->steps[i]);
    y->found = true;
    if (ir_at(y->rw->g, node)->op != y->root_op) {
        const char *text = wbb_format(y->arena, "the node is %s, not %s", node_name(y, node), sc_op_info[y->root_op].name);
        if (!y->best.text) y->best = (RwWhy){.passed = 0, .total = total, .text = text};
        return;
    }
    y->m.value[0] = node;
    y->m.flags = ir_at(y->rw->g, node)->flags;
    y->m.n_picks = y->m.rest_slot = 0;
    y->matched |= follow(y, 0, 1, total);
}

static void ways(Why *y, const uint32_t *pc, uint32_t n, IrRef node)
{
    while (!y->matched) {
        const uint32_t w = *pc;
        switch (w & 63) {
        case W_TRY: {
            ways(y, pc + 1, n, node);
            pc += w >> 8;
            continue;
        }
        case W_FILTER: {
            const uint32_t n_keys = w >> 8 & 255, branches = w >> 16;
            for (uint32_t i = 0; i < branches && !y->matched; i++) ways(y, y->t->code + pc[1 + 3 * n_keys + i], n, node);
            return;
        }
        case W_ACCEPT:
            y->n = n;
            if (pc[1] == y->rule) one_way(y, node);
            return;
        default:
            assert(n < MAX_STEPS);
            y->steps[n++] = pc;
            pc += 1 + extra_words(w);
        }
    }
}

bool rw_why(RwCx *rw, const RwTables *t, uint32_t rule, IrRef node, WbbArena *a, RwWhy *why)
{
    Why *y = WBB_NEW(a, Why);
    *y = (Why){.rw = rw, .t = t, .arena = a, .rule = rule};
    const RwRule *r = &t->rules[rule];
    const uint32_t *entry = t->entry[r->phase];
    y->n_conditions = count_lines(r->when);
    const uint32_t own = ir_at(rw->g, node)->op;
    for (uint32_t pass = 0; pass < 2 && !y->found; pass++) /* the node's own operation first: the common case is quick */
        for (uint32_t op = 0; op < OP_COUNT && !y->found; op++) {
            if (!entry[op] || (op == own) != (pass == 0)) continue;
            y->root_op = op;
            ways(y, t->code + entry[op], 0, node);
        }
    *why = y->best;
    if (!why->text) why->text = "the rule has no program";
    if (y->matched && rw->disabled[t == rw->index][rule]) {
        why->text = "it is switched off";
        return false;
    }
    return y->matched;
}

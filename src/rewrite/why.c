/* why.c: why does a rule not match here? One rule on one node; nothing is built.
 *
 * Needs the tables' cold data: where a match binds the rule's variables, and its conditions as text. Copies the steps
 * of the rule, a way through the trie to its ACCEPT, to a program of their own, lets match.c run it, and says in words
 * which step failed. A rule that is tried with the operands of its root in either order has two ways; the one that gets
 * farthest counts.
 *
 *     patterns/indexing.py:13 at (tid // 4): 3 of 4 steps; within(n, 0, k) fails: n in [0, 7], k = 4
 */
#include "rewrite/inner.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROGRAM = 1024 }; /* words */

typedef struct {
    RwCx *rw;
    const RwTables *t;
    WbbArena *arena;
    uint32_t rule, root_op;
    uint32_t program[MAX_PROGRAM], end; /* of one way: a word that is no step, the steps, ACCEPT at `end` */
    Farthest failed;
    const char *place[MAX_VALUES]; /* by slot: "operand 1 of operand 0"; NULL: the node */
    RwWhy best;
    bool found, matched;
} Why;

/* Words behind the first of a step. */
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
    return (w & 63) == W_CREL || (w & 63) == W_CFACT || (w & 63) == W_CAPART || (w & 63) == W_CPERIOD ||
           (w & 63) == W_CFIXED || (w & 63) == W_CCOUNTS || (w & 63) == W_CGIVEN || (w & 63) == W_CFLAG;
}

static uint32_t count_lines(const char *text)
{
    uint32_t n = text && *text ? 1 : 0;
    for (; text && *text; text++) n += *text == '\n';
    return n;
}

static void put_node(const Why *y, WbbBuf *b, IrRef r)
{
    enum { DEPTH = 6 };
    ir_print_reads(b, y->rw->g, r, y->rw->names, DEPTH);
}

/* --- texts --------------------------------------------------------------------------------------------------- */
static const char *node_name(Why *y, IrRef r)
{
    if (!r) return "nothing";
    const IrNode *n = ir_at(y->rw->g, r);
    if (n->op == OP_CONST || n->op == OP_VAR) {
        WbbBuf b = wbb_buf(y->arena);
        put_node(y, &b, r);
        return b.text;
    }
    const uint32_t lanes = IR_LANES(n->type);
    return lanes > 1
               ? wbb_format(y->arena, "%s (%sx%u)", sc_op_info[n->op].name, sc_type_info[IR_SC(n->type)].name, lanes)
               : wbb_format(y->arena, "%s (%s)", sc_op_info[n->op].name, sc_type_info[IR_SC(n->type)].name);
}

static void put_value(Why *y, WbbBuf *b, const char *name, size_t length, const char *slot)
{
    const uint32_t s = (uint32_t)strtoul(slot + 1, NULL, 10);
    wbb_put(b, b->n && b->text[b->n - 1] != ' ' ? ", " : "");
    wbb_put_n(b, name, length);
    if (*slot == 'k') {
        wbb_put(b, " = ");
        wbb_put_i128(b, y->failed.m.konst[s]);
        return;
    }
    const IrRef r = rw_rest(y->rw, &y->failed.m, s);
    wbb_put(b, " is ");
    put_node(y, b, r);
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
        if (!memcmp(text + i, name, length) && (i == 0 || !isalnum((unsigned char)text[i - 1])) &&
            (i + length == n || !isalnum((unsigned char)text[i + length])))
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

/* --- the step that failed ------------------------------------------------------------------------------------ */
static const uint32_t *step_after(const uint32_t *step) { return step + 1 + extra_words(*step); }

/* Where a step binds its slot. */
static void name_place(Why *y, uint32_t w)
{
    const uint32_t a = w >> 8 & 255, b = w >> 16 & 255, op = w & 63;
    const uint32_t k = (w >> 6 & 3) ^ ((op == W_OPX || op == W_ANYX) && y->failed.m.swapped[b]);
    if (op == W_PICK || op == W_ADDEND) y->place[a] = "a term of the sum";
    else if (op == W_SPLIT || op == W_GROUP) y->place[a] = "the divisible part";
    else if (((op == W_OP || op == W_OPX) && k != 3) || op == W_ANY || op == W_ANYX)
        y->place[a] = b == 0 ? wbb_format(y->arena, "operand %u", k)
                             : wbb_format(y->arena, "operand %u of %s", k, y->place[b] ? y->place[b] : "it");
}

static const char *place_of(const Why *y, uint32_t slot) { return y->place[slot] ? y->place[slot] : "the node"; }

/* The number of the rule's condition that `step` is; UINT32_MAX: it is none that the rule's text has. */
static uint32_t condition_number(const Why *y, const uint32_t *step)
{
    if (!is_condition(*step)) return UINT32_MAX;
    const uint32_t written = count_lines(y->t->rules[y->rule].when);
    /* conditions stand last, in the order of the text, behind those that the compiler of rules adds */
    uint32_t from_here = 0;
    for (; step < y->program + y->end; step = step_after(step)) from_here += is_condition(*step);
    return from_here <= written ? written - from_here : UINT32_MAX;
}

/* More than 60 lines: a sentence for each kind of step. */
static const char *failure(Why *y)
{
    const uint32_t *at = y->failed.step, w = *at, a = w >> 8 & 255, b = w >> 16 & 255, c = w >> 24;
    for (const uint32_t *step = y->program + 1; step <= at; step = step_after(step)) name_place(y, *step);
    const uint32_t condition = condition_number(y, at);
    if (condition != UINT32_MAX) return condition_text(y, condition);
    const IrRef r = y->failed.m.value[a];
    const char *place = place_of(y, a);
    switch (w & 63) {
    case W_OP:
    case W_OPX: return wbb_format(y->arena, "%s is %s, not %s", place, node_name(y, r), sc_op_info[c].name);
    case W_ANY:
    case W_ANYX: return wbb_format(y->arena, "%s has no such operand", place_of(y, b));
    case W_TYPE:
        return wbb_format(y->arena, "%s has type %s, not %s", place, type_text(y, ir_at(y->rw->g, r)->type),
                          type_text(y, w >> 16));
    case W_CLASS:
        return wbb_format(y->arena, "%s has type %s, which is not of the rule's class", place,
                          type_text(y, ir_at(y->rw->g, r)->type));
    case W_TEQ:
        return wbb_format(y->arena, "%s has type %s, not %s", place, type_text(y, ir_at(y->rw->g, r)->type),
                          sc_type_info[y->failed.m.type[b]].name);
    case W_FLAGS: {
        WbbBuf flags = wbb_buf(y->arena);
        for (uint32_t f = 0; f < SC_FLAG_COUNT; f++)
            if (b >> f & 1 && !(ir_at(y->rw->g, r)->flags >> f & 1)) wbb_putf(&flags, " %s", sc_flag_name[f]);
        return wbb_format(y->arena, "%s lacks the flag%s", place, flags.text);
    }
    case W_SAME: return wbb_format(y->arena, "%s is not the same value as %s", place, place_of(y, b));
    case W_LIT: return wbb_format(y->arena, "%s is %s, not the constant of the rule", place, node_name(y, r));
    case W_KONST:
        return wbb_format(y->arena, "%s is %s, no integer constant", place_of(y, b),
                          node_name(y, y->failed.m.value[b]));
    case W_SPLIT: return "the constant divides no term of the sum";
    case W_GROUP: return "the larger terms of the sum have no common divisor that the others stay below";
    case W_PICK: return "the sum has no such term";
    case W_PICKV: return "the sum does not have these terms";
    case W_ADDENDS: return wbb_format(y->arena, "%s is %s, no sum of several terms", place, node_name(y, r));
    case W_ADDEND: return wbb_format(y->arena, "the sum has no such term with %s", sc_op_info[c].name);
    case W_ADDREST: return "the terms left over are not one value of the kernel";
    case W_KARITH: return "arithmetic of constants fails: too large, a divisor not positive, or no power of two";
    case W_CREL:
        return wbb_format(y->arena, "a constant is %lld where %lld is expected", (long long)y->failed.m.konst[a],
                          (long long)y->failed.m.konst[b]);
    default: return c ? "a condition fails" : "a step fails";
    }
}

/* --- the ways of a rule through the trie --------------------------------------------------------------------- */
static void one_way(Why *y, IrRef node)
{
    uint32_t total = 1, passed = 1; /* the root's operation, then steps that may fail */
    y->found = true;
    for (const uint32_t *step = y->program + 1; step < y->program + y->end; step = step_after(step))
        total += decides(*step);
    if (ir_at(y->rw->g, node)->op != y->root_op) {
        const char *text =
            wbb_format(y->arena, "the node is %s, not %s", node_name(y, node), sc_op_info[y->root_op].name);
        if (!y->best.text) y->best = (RwWhy){.passed = 0, .total = total, .text = text};
        return;
    }
    if (rw_match_program(y->rw, y->t, y->program, node, &y->failed)) {
        y->matched = true;
        y->best = (RwWhy){.passed = total, .total = total, .text = "it matches"};
        return;
    }
    for (const uint32_t *step = y->program + 1; step < y->failed.step; step = step_after(step))
        passed += decides(*step);
    if (!y->best.text || passed > y->best.passed)
        y->best = (RwWhy){.passed = passed, .total = total, .text = failure(y)};
}

/* Copies steps to y->program from word n on, along each branch of the trie at pc. */
static void ways(Why *y, const uint32_t *pc, uint32_t n, IrRef node)
{
    while (!y->matched) {
        const uint32_t w = *pc, words = 1 + extra_words(w);
        switch (w & 63) {
        case W_TRY:
            ways(y, pc + 1, n, node);
            pc += w >> 8;
            continue;
        case W_FILTER: {
            const uint32_t n_keys = w >> 8 & 255, branches = w >> 16;
            for (uint32_t i = 0; i < branches && !y->matched; i++)
                ways(y, y->t->code + pc[1 + 3 * n_keys + i], n, node);
            return;
        }
        case W_ACCEPT:
            if (pc[1] != y->rule) return;
            y->end = n;
            memcpy(y->program + n, pc, 3 * sizeof *pc);
            one_way(y, node);
            return;
        default:
            assert(n + words + 3 <= MAX_PROGRAM);
            memcpy(y->program + n, pc, words * sizeof *pc);
            n += words;
            pc += words;
        }
    }
}

bool rw_why(RwCx *rw, const RwTables *t, uint32_t rule, IrRef node, WbbArena *a, RwWhy *why)
{
    Why *y = WBB_NEW(a, Why);
    *y = (Why){.rw = rw, .t = t, .arena = a, .rule = rule};
    const uint32_t *entry = t->entry[t->rules[rule].phase], of_node = ir_at(rw->g, node)->op;
    /* the node's own operation first: the common case is quick */
    for (uint32_t pass = 0; pass < 2 && !y->found; pass++)
        for (uint32_t op = 0; op < OP_COUNT && !y->found; op++) {
            if (!entry[op] || (op == of_node) != (pass == 0)) continue;
            y->root_op = op;
            ways(y, t->code + entry[op], 1, node);
        }
    *why = y->best;
    if (!why->text) why->text = "the rule has no program";
    if (y->matched && rw->disabled[t == rw->index][rule]) {
        why->text = "it is switched off";
        return false;
    }
    return y->matched;
}

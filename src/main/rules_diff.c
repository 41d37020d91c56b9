/* rules_diff.c: `rules diff sm_80 sm_90`: what differs in meaning between two targets.
 *
 * Needs the tables of both. Terms are made from the left side of every rule of both: type classes become each of their
 * types, constants small numbers. Both targets rewrite each term; a term whose results differ is a witness. Witnesses
 * are grouped by cause, which is the first rule that fires for one target and not for the other; the shortest one is
 * printed. Of operations with effects, which stand in statements, the rules themselves are compared. Numbers of the
 * machine, FREE, PACKED, TUNE and RATE are compared row by row.
 *
 *     mul.bf16(a, b)
 *       sm_80  patterns/arith.py:152: mul.bf16(a, b) -> fma.bf16(a, b, -0.0)      => llvm.fma(a, b, -0.0)
 *       sm_90  patterns/tiles.py:11: mul.F(a, b) -> llvm 'fmul'                  => fmul(a, b)
 */
#include "main/rules_term.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLASSES = 2 };

/* What one target makes of a term. */
typedef struct {
    const char *result; /* as text; if no rule selects an instruction, the message */
    uint64_t hash;      /* of the result; 0: no rule selects an instruction */
    struct { const RwRule **items; uint32_t n, capacity; } rules; /* that fired, in order */
} Fate;

/* Terms that differ for one cause. */
typedef struct {
    const char *cause, *term;
    Fate fate[2];
    uint32_t more;   /* other terms of the same cause */
    uint32_t number; /* in order of discovery */
} Difference;

typedef struct {
    const char *first, *second; /* targets */
    const char *accuracy;
    bool approx, json;
} DiffOptions;

typedef struct {
    RulesCall *c;
    ScAccuracy accuracy;
    WbbCx *cx; /* of the trials */
    const TgTarget *target[2];
    struct { const char **items; uint32_t n, capacity; } terms; /* all terms tried, interned */
    struct { Difference *items; uint32_t n, capacity; } found;
} Diff;

/* --- terms from left sides -------------------------------------------------------------------- */
static bool is_word(char ch) { return isalnum((unsigned char)ch) || ch == '_'; }

/* The length of the type class at p, 0 if there is none: capitals and digits after a dot, as in add.F or
 * cvt.F16.f32. */
static size_t class_at(const char *text, const char *p)
{
    if (p == text || p[-1] != '.' || !isupper((unsigned char)*p)) return 0;
    size_t n = 1;
    while (isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n])) n++;
    return is_word(p[n]) && p[n] != 'x' ? 0 : n; /* F16x2 has lanes */
}

typedef struct {
    const char *name;
    size_t n;
} Class;

static uint32_t classes_of(const char *left, size_t n, Class *out)
{
    uint32_t count = 0;
    for (const char *p = left; p < left + n; p++) {
        const size_t size = class_at(left, p);
        bool known = size == 0;
        for (uint32_t i = 0; i < count; i++) known |= out[i].n == size && !strncmp(out[i].name, p, size);
        if (!known && count < MAX_CLASSES) out[count++] = (Class){p, size};
        p += size;
    }
    return count;
}

/* The permissions that a rule's condition asks for, as a name has them: ".contract.nsz". */
static const char *permissions(WbbArena *a, const char *text)
{
    const char *when = strstr(text, "  when ");
    WbbBuf b = wbb_buf(a);
    for (uint32_t f = 0; when && f < SC_FLAG_COUNT; f++) {
        const char *name = sc_flag_name[f], *at = strstr(when, name);
        const bool asked = at && !is_word(at[-1]) && at[-1] != '~' && !is_word(at[strlen(name)]);
        if (SC_PERMISSIONS >> f & asked) wbb_putf(&b, ".%s", name);
    }
    return b.text ? b.text : "";
}

/* What stands for a variable that by the condition is a number of the text, or a whole one; NULL: itself. */
static const char *demanded(WbbArena *a, const char *text, char variable)
{
    static const char *const terms[] = {"literal", "3.0", "reciprocal_in_two", "3.0",
                                        "integral", "cvt.f32.i32(%c)"};
    const char *when = strstr(text, "  when ");
    for (size_t i = 0; when && i < WBB_LEN(terms); i += 2) {
        const char *guard = wbb_format(a, "%s(%c)", terms[i], variable), *at = strstr(when, guard);
        if (at && !is_word(at[-1]) && at[-1] != '~') return wbb_format(a, terms[i + 1], variable);
    }
    return NULL;
}

/* A left side with types for classes and small numbers for the constants k, m, p and q, whose operations have `flags`,
 * and what the condition demands of variables. Of once(..) only the term in brackets stays. */
static const char *instance(WbbArena *a, const char *left, size_t n, const Class *classes, const ScType *types,
                            uint32_t n_classes, const char *flags)
{
    static const char *const small[] = {"k", "4", "m", "8", "p", "2", "q", "3"};
    WbbBuf b = wbb_buf(a);
    for (const char *p = left; p < left + n;) {
        const size_t size = class_at(left, p);
        if (size) {
            for (uint32_t i = 0; i < n_classes; i++)
                if (classes[i].n == size && !strncmp(classes[i].name, p, size))
                    wbb_put(&b, sc_type_info[types[i]].name);
            p += size;
            continue;
        }
        const bool begins = is_word(*p) && (p == left || (!is_word(p[-1]) && p[-1] != '.'));
        size_t word = 0;
        while (begins && p + word < left + n && is_word(p[word])) word++;
        const char *number = NULL;
        for (size_t i = 0; i < WBB_LEN(small); i += 2)
            if (word == 1 && *p == *small[i] && p[1] != '.') number = small[i + 1];
        if (word == 1 && !number && p[1] != '.' && p[1] != '(') number = demanded(a, left, *p);
        const bool named = *p == '(' && p > left && is_word(p[-1]) && (p - left < 4 || strncmp(p - 4, "once", 4));
        if (named) wbb_put(&b, flags);
        if (number) wbb_put(&b, number);
        else if (word == 4 && !strncmp(p, "once(", 5)) wbb_put(&b, "");
        else wbb_put_n(&b, p, word ? word : 1);
        p += word ? word : 1;
    }
    return b.text;
}

/* --- one term on one target ------------------------------------------------------------------- */
typedef struct {
    Diff *d;
    const char *term;
    const TgTarget *target;
    WbbArena *arena; /* of this trial */
    Fate *fate;
} Trial;

static void try_term(WbbCx *cx, void *arg)
{
    Trial *x = arg;
    WbbArena *a = x->arena;
    IrGraph *g = ir_graph_new(cx, a);
    IrRef r = ir_parse_term(cx, a, g, "term", x->term, NULL, 0);
    Term t = main_term_new(cx, a, g, x->target, x->d->accuracy);
    for (RwPhase s = RW_SIMPLIFY; s <= RW_ISEL; s++) {
        if (s != RW_ISEL) main_term_normal(&t, s, r);
        r = main_term_pass(&t, s, r);
    }
    for (uint32_t i = 0; i < t.steps.n; i++) {
        const TermStep *s = &t.steps.items[i];
        if (!s->tables || s->phase == RW_INDEX) continue;
        const RwRule *rule = &s->tables->rules[s->rule];
        WBB_PUSH(a, &x->fate->rules, rule);
    }
    x->fate->hash = main_term_hash(&t, r);
    x->fate->result = main_term_text(&t, r);
}

static Fate fate_of(Diff *d, WbbArena *a, const char *term, int which)
{
    Fate f = {0};
    Trial x = {.d = d, .term = term, .target = d->target[which], .arena = a, .fate = &f};
    wbb_cx_clear(d->cx);
    if (wbb_guard(d->cx, try_term, &x) == WBB_OK) return f;
    const char *end = strchr(d->cx->messages, '\n');
    f.hash = 0;
    f.result = wbb_format(a, "%.*s", end ? (int)(end - d->cx->messages) : 0, d->cx->messages);
    return f;
}

static bool has(const Fate *f, const RwRule *rule)
{
    for (uint32_t i = 0; i < f->rules.n; i++)
        if (!strcmp(f->rules.items[i]->text, rule->text)) return true;
    return false;
}

/* The text of the first rule that fired for one target and not for the other; "" if there is none. */
static const char *first_difference(const Fate *f, const Fate *other)
{
    for (uint32_t i = 0; i < f->rules.n; i++)
        if (!has(other, f->rules.items[i])) return f->rules.items[i]->text;
    return "";
}

/* A copy in `a`, with those rules only that did not fire for the other target. */
static Fate keep(WbbArena *a, const Fate *f, const Fate *other)
{
    Fate k = {.hash = f->hash, .result = wbb_format(a, "%s", f->result)};
    for (uint32_t i = 0; i < f->rules.n; i++) {
        bool shown = has(other, f->rules.items[i]);
        for (uint32_t n = 0; n < k.rules.n; n++) shown |= k.rules.items[n] == f->rules.items[i];
        if (!shown) WBB_PUSH(a, &k.rules, f->rules.items[i]);
    }
    return k;
}

static void note(Diff *d, const char *term, const Fate *p, const Fate *q)
{
    WbbArena *a = d->c->arena;
    const char *cause = wbb_format(a, "%s|%s", first_difference(p, q), first_difference(q, p));
    Difference *x = NULL;
    for (uint32_t n = 0; n < d->found.n; n++)
        if (!strcmp(d->found.items[n].cause, cause)) x = &d->found.items[n];
    if (x) {
        x->more++;
        if (strlen(x->term) <= strlen(term)) return; /* keep the shortest */
    } else {
        const Difference first = {.cause = cause, .number = d->found.n};
        WBB_PUSH(a, &d->found, first);
        x = &d->found.items[d->found.n - 1];
    }
    x->term = term;
    x->fate[0] = keep(a, p, q);
    x->fate[1] = keep(a, q, p);
}

static void compare(Diff *d, const char *term, Fate (*of)(Diff *d, WbbArena *a, const char *term, int which))
{
    term = wbb_intern_z(d->c->cx, term);
    for (uint32_t i = 0; i < d->terms.n; i++)
        if (d->terms.items[i] == term) return;
    WBB_PUSH(d->c->arena, &d->terms, term);
    WbbArena *scratch = wbb_arena_new(d->cx);
    const Fate p = of(d, scratch, term, 0), q = of(d, scratch, term, 1);
    if (p.hash != q.hash) note(d, term, &p, &q);
    wbb_arena_free(scratch);
}

/* Operations with effects stand in statements, not in terms: one rule selects their instruction. */
static bool has_effect(const char *left)
{
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        const size_t n = strlen(sc_op_info[op].name);
        if (sc_op_info[op].effects && !strncmp(left, sc_op_info[op].name, n) && left[n] == '.') return true;
    }
    return false;
}

static Fate fate_of_effect(Diff *d, WbbArena *a, const char *left, int which)
{
    const RwTables *t = d->target[which]->tables;
    Fate f = {.result = "no rule selects an instruction for it"};
    for (uint32_t i = 0; i < t->n_rules && !f.hash; i++) {
        const char *text = t->rules[i].text;
        const size_t n = strlen(left);
        if (strncmp(text, left, n) || strncmp(text + n, " -> ", 4)) continue;
        WBB_PUSH(a, &f.rules, &t->rules[i]);
        f.result = text + n + 4;
        f.hash = wbb_hash(f.result, strlen(f.result), 1) | 1;
    }
    return f;
}

/* Terms of one rule: every type of its classes that the operations have. */
static void terms_of(Diff *d, const char *text)
{
    const char *arrow = strstr(text, " -> ");
    Class classes[MAX_CLASSES];
    const size_t n = arrow ? (size_t)(arrow - text) : strlen(text);
    if (has_effect(text)) {
        compare(d, wbb_format(d->c->arena, "%.*s", (int)n, text), fate_of_effect);
        return;
    }
    const char *flags = permissions(d->c->arena, text);
    const uint32_t count = classes_of(text, n, classes);
    ScType types[MAX_CLASSES] = {SC_F32, SC_F32};
    for (int i = 0; i < (count > 0 ? SC_TYPE_COUNT : 1); i++)
        for (int k = 0; k < (count > 1 ? SC_TYPE_COUNT : 1); k++) {
            if (count > 0) types[0] = (ScType)i;
            if (count > 1) types[1] = (ScType)k;
            if ((count > 0 && !sc_type_info[i].compute) || (count > 1 && !sc_type_info[k].compute) ||
                types[0] == SC_INDEX || types[1] == SC_INDEX)
                continue;
            compare(d, instance(d->c->arena, text, n, classes, types, count, flags), fate_of);
        }
}

/* --- output ----------------------------------------------------------------------------------- */
static void put_row(RulesCall *c, const char *section, const char *name, const char *x, const char *y, const Diff *d)
{
    if (c->json) {
        WbbBuf *b = main_json_begin(c);
        wbb_json_text(b, "section", section);
        wbb_json_text(b, "name", name);
        wbb_json_text(b, d->target[0]->name, x);
        wbb_json_text(b, d->target[1]->name, y);
        main_json_end(c, "rules-diff.1");
        return;
    }
    wbb_putf(c->out, "%-8s %-28s %-12s %s\n", section, name, x, y);
}

/* Is the word one of those of `text`, which has spaces between words? */
static bool names(const char *text, const char *word, size_t n)
{
    for (const char *p = text; *p; p += strcspn(p, " "), p += *p == ' ')
        if (strcspn(p, " ") == n && !strncmp(p, word, n)) return true;
    return false;
}

/* Features that only one of the targets has. */
static void diff_features(RulesCall *c, const Diff *d)
{
    for (int which = 0; which < 2; which++)
        for (const char *p = d->target[which]->features; p && *p; p += strcspn(p, " "), p += *p == ' ') {
            const size_t n = strcspn(p, " ");
            const char *theirs = d->target[!which]->features;
            if (theirs && names(theirs, p, n)) continue;
            put_row(c, "TARGET", wbb_format(c->arena, "features %.*s", (int)n, p), which ? "-" : "has it",
                    which ? "has it" : "-", d);
        }
}

static void diff_numbers(RulesCall *c, const Diff *d)
{
    const TgTarget *x = d->target[0], *y = d->target[1];
    const struct { const char *name; uint32_t x, y;
    } rows[] = {{"sms", x->sms, y->sms},
                {"warps", x->warps, y->warps},
                {"blocks", x->blocks, y->blocks},
                {"smem", x->smem, y->smem},
                {"sm_smem", x->sm_smem, y->sm_smem},
                {"regs", x->regs, y->regs},
                {"sm_regs", x->sm_regs, y->sm_regs},
                {"warp", x->warp, y->warp},
                {"vector_bytes", x->vector_bytes, y->vector_bytes}};
    if (strcmp(x->ptx, y->ptx)) put_row(c, "TARGET", "ptx", x->ptx, y->ptx, d);
    if (x->board && y->board && strcmp(x->board, y->board)) put_row(c, "TARGET", "board", x->board, y->board, d);
    for (size_t i = 0; i < WBB_LEN(rows); i++)
        if (rows[i].x != rows[i].y)
            put_row(c, "TARGET", rows[i].name, wbb_format(c->arena, "%u", rows[i].x),
                    wbb_format(c->arena, "%u", rows[i].y), d);
    diff_features(c, d);
}

static const TgTune *tune_of(const TgTarget *t, const TgTune *like)
{
    for (uint32_t i = 0; i < t->n_tunes; i++)
        if (!strcmp(t->tunes[i].name, like->name) && t->tunes[i].bits == like->bits) return &t->tunes[i];
    return NULL;
}

static const char *tune_text(RulesCall *c, const TgTune *t)
{
    const char *slash = strrchr(t->file, '/');
    return wbb_format(c->arena, "%lld (%s:%u)", (long long)t->value, slash ? slash + 1 : t->file, t->line);
}

static void diff_tunes(RulesCall *c, const Diff *d)
{
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < d->target[which]->n_tunes; i++) {
            const TgTune *t = &d->target[which]->tunes[i], *other = tune_of(d->target[!which], t);
            if (other && (which == 1 || other->value == t->value)) continue;
            const char *name = t->bits ? wbb_format(c->arena, "%s, %u bits", t->name, t->bits) : t->name;
            const char *mine = tune_text(c, t), *theirs = other ? tune_text(c, other) : "-";
            put_row(c, "TUNE", name, which ? theirs : mine, which ? mine : theirs, d);
        }
}

static const char *rate_text(RulesCall *c, const TgRate *r)
{
    if (!r) return "-";
    const char *value = r->stated ? wbb_format(c->arena, "%.4g", r->value) : "?";
    return r->low == r->high ? value : wbb_format(c->arena, "%s (%.4g .. %.4g)", value, r->low, r->high);
}

static void diff_rates(RulesCall *c, const Diff *d)
{
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < d->target[which]->n_rates; i++) {
            const TgRate *r = &d->target[which]->rates[i], *other = tg_find_rate(d->target[!which], r->name);
            const bool same = other && other->value == r->value && other->low == r->low && other->high == r->high;
            if (other && (which == 1 || (same && other->stated == r->stated))) continue;
            const char *mine = rate_text(c, r), *theirs = rate_text(c, other);
            put_row(c, "RATE", r->name, which ? theirs : mine, which ? mine : theirs, d);
        }
}

static void diff_packed(RulesCall *c, const Diff *d)
{
    for (int which = 0; which < 2; which++) {
        const RwTables *t = d->target[which]->tables, *other = d->target[!which]->tables;
        for (uint32_t i = 0; i < t->n_packed; i++) {
            const RwPacked *p = &t->packed[i];
            bool there = false;
            for (uint32_t k = 0; k < other->n_packed; k++) {
                const RwPacked *q = &other->packed[k];
                there |= p->op == q->op && p->type == q->type && p->from == q->from && p->lanes == q->lanes;
            }
            if (there) continue;
            const char *type = sc_type_info[p->type].name, *op = sc_op_info[p->op].name;
            const char *name = p->op == OP_CVT ? wbb_format(c->arena, "%s.%sx%u.%sx%u", op, type, p->lanes,
                                                            sc_type_info[p->from].name, p->lanes)
                                               : wbb_format(c->arena, "%s.%sx%u", op, type, p->lanes);
            put_row(c, "PACKED", name, which ? "lane by lane" : "packed", which ? "packed" : "lane by lane", d);
        }
    }
}

static void diff_free(RulesCall *c, const Diff *d)
{
    for (int which = 0; which < 2; which++) {
        const RwTables *t = d->target[which]->tables, *other = d->target[!which]->tables;
        for (uint32_t i = 0; i < t->n_free; i++) {
            const RwFree *f = &t->free[i];
            bool there = false;
            for (uint32_t k = 0; k < other->n_free; k++)
                there |= f->op == other->free[k].op && f->modifier == other->free[k].modifier &&
                         f->type == other->free[k].type;
            if (there) continue;
            const char *name = wbb_format(c->arena, "%s of an operand of %s.%s", sc_op_info[f->modifier].name,
                                          sc_op_info[f->op].name, sc_type_info[f->type].name);
            put_row(c, "FREE", name, which ? "costs" : "free", which ? "free" : "costs", d);
        }
    }
}

static void put_fate(RulesCall *c, const TgTarget *t, const Fate *f)
{
    for (uint32_t i = 0; i < f->rules.n; i++) {
        const RwRule *r = f->rules.items[i];
        wbb_putf(c->out, "  %-6s %s:%u%s: %s\n", i ? "" : t->name, r->file, r->line, r->instance, r->text);
    }
    wbb_putf(c->out, "  %-6s = %s\n", f->rules.n ? "" : t->name, f->result);
}

static void put_difference_json(RulesCall *c, const Diff *d, const Difference *x)
{
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "section", "rules");
    wbb_json_text(b, "term", x->term);
    wbb_json_uint(b, "more", x->more);
    for (int which = 0; which < 2; which++) {
        const Fate *f = &x->fate[which];
        wbb_json_open(b, d->target[which]->name, '{');
        wbb_json_text(b, "result", f->result);
        wbb_json_open(b, "rules", '[');
        for (uint32_t i = 0; i < f->rules.n; i++) {
            const RwRule *r = f->rules.items[i];
            wbb_json_text(b, NULL, wbb_format(c->arena, "%s:%u%s", r->file, r->line, r->instance));
        }
        wbb_json_close(b, ']');
        wbb_json_close(b, '}');
    }
    main_json_end(c, "rules-diff.1");
}

static void put_difference(RulesCall *c, const Diff *d, const Difference *x)
{
    wbb_putf(c->out, "\n%s", x->term);
    if (x->more) wbb_putf(c->out, "      and %u more term%s", x->more, x->more == 1 ? "" : "s");
    wbb_put(c->out, "\n");
    for (int which = 0; which < 2; which++) put_fate(c, d->target[which], &x->fate[which]);
}

static const TgTarget *target_named(RulesCall *c, const char *word)
{
    const TgTarget *t = tg_find(word);
    if (!t && !strncmp(word, "sm", 2) && word[2] != '_')
        t = tg_find(wbb_format(c->arena, "sm_%s", word + 2)); /* the name of its file */
    return t ? t : tg_named(c->cx, (WbbLoc){0}, word);
}

/* Terms of operations that programs have before those that only rules make (.approx); else in order of discovery. */
static int by_use(const void *x, const void *y)
{
    const Difference *p = x, *q = y;
    const int inner = (strstr(p->term, ".approx") != NULL) - (strstr(q->term, ".approx") != NULL);
    return inner ? inner : (p->number > q->number) - (p->number < q->number);
}

static WbbStatus diff(const Call *call)
{
    const DiffOptions *o = call->options;
    RulesCall *c = main_rules_call(call, NULL, o->json);
    Diff d = {.c = c,
              .accuracy = main_accuracy(o->accuracy, o->approx),
              .cx = wbb_cx_new(),
              .target = {target_named(c, o->first), target_named(c, o->second)}};
    if (!d.cx) wbb_fail(c->cx, (WbbLoc){0}, "out of memory");
    if (!c->json) put_row(c, "", "", d.target[0]->name, d.target[1]->name, &d);
    diff_numbers(c, &d);
    diff_free(c, &d);
    diff_packed(c, &d);
    diff_tunes(c, &d);
    diff_rates(c, &d);
    for (int phase = RW_ISEL; phase >= RW_SIMPLIFY; phase--) /* rules of isel have the simplest terms */
        for (int which = 0; which < 2; which++)
            for (uint32_t i = 0; i < d.target[which]->tables->n_rules; i++) {
                const RwRule *r = &d.target[which]->tables->rules[i];
                if (r->phase == phase) terms_of(&d, r->text);
            }
    if (d.found.n) qsort(d.found.items, d.found.n, sizeof *d.found.items, by_use);
    for (uint32_t i = 0; i < d.found.n; i++) {
        if (c->json) put_difference_json(c, &d, &d.found.items[i]);
        else put_difference(c, &d, &d.found.items[i]);
    }
    wbb_cx_free(d.cx);
    if (!c->json) wbb_putf(c->out, "\n%u terms tried, %u causes of different results\n", d.terms.n, d.found.n);
    return main_rules_end(c, WBB_OK);
}

static const Positional positionals[] = {
    {ONE("TARGET", DiffOptions, first, "sm_80, or the name of its file, sm80"),
     .choices = {.list = main_target_names, .open = true}},
    {ONE("TARGET2", DiffOptions, second, "the other target"), .choices = {.list = main_target_names, .open = true}},
    {0}};
static const Option options[] = {MAIN_OPTION_ACCURACY(DiffOptions), MAIN_OPTION_JSON(DiffOptions), {0}};
static const Example examples[] = {
    {"rules diff sm_80 sm_90", "numbers that differ, and terms that end differently on the two"}, {0}};
const Command main_rules_diff = {
    .name = "diff",
    .summary = "say what differs in meaning between two targets, with a term that shows it",
    .details = "Terms are made from the left sides of all rules of both targets, rewritten by both, and compared. "
               "Rules that differ in their text alone are not shown.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(DiffOptions),
    .run = diff,
};

/* features: the account of all that HLO text may say beside operands and shapes: features.def.
 *
 * Needs: for hlo_check_attribute the cursor's location, while the text is read; for hlo_decline_features a verified
 * HLO module as the text has it, before it is normalised. Leaves: a wbb_fail at a word that is not listed; a
 * wbb_decline at the first instruction that has a feature which no stage honours.
 *
 *     p = f32[16,256]{1,0:T(8,128)} parameter(0)
 *         "x.hlo:4:32: declined: feature: parameter of f32[16,256]{1,0:T(8,128)}: no kernel addresses tiles"
 */
#include "hlo/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *operations, *why;
    HloWhere where;
    HloAccount account;
} rows[] = {
#define HLO_FEATURE(where, name, operations, account, why) {name, operations, why, HLO_IN_##where, HLO_##account},
#include "hlo/features.def"
#undef HLO_FEATURE
};

/* The first row of a name; -1: it is not listed. */
static int find(HloWhere where, const char *name, size_t n)
{
    for (size_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].where == where && !strncmp(rows[k].name, name, n) && !rows[k].name[n]) return (int)k;
    return -1;
}

/* Is the word one of a list that blanks separate? */
static bool among(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

static const char *suggest(WbbCx *cx, HloWhere where, const char *name)
{
    HloSuggestion s = hlo_suggest_begin(name, strlen(name));
    for (size_t k = 0; k < WBB_LEN(rows); k++)
        if (rows[k].where == where) hlo_suggest_candidate(&s, rows[k].name);
    return hlo_suggestion(cx->arena, &s);
}

void hlo_check_attribute(WbbCx *cx, WbbLoc loc, HloWhere where, const HloInstruction *i, const char *name,
                         HloSeen *seen)
{
    _Static_assert(WBB_LEN(rows) <= 8 * sizeof seen->rows, "HloSeen has no bit for a row");
    const int k = find(where, name, strlen(name));
    if (k < 0)
        wbb_fail(cx, loc, "unknown attribute '%s' of %s%s", name,
                 where == HLO_IN_ATTRIBUTE ? hlo_opcode_text(i)
                 : where == HLO_IN_MODULE  ? "the HLO module"
                                           : "a computation",
                 suggest(cx, where, name));
    if (seen->rows[k / 64] >> (k % 64) & 1) wbb_fail(cx, loc, "the attribute %s= is given twice", name);
    seen->rows[k / 64] |= UINT64_C(1) << (k % 64);
    if (where != HLO_IN_ATTRIBUTE || !rows[k].operations[0] || i->opcode == HLO_CUSTOM_CALL) return;
    const HloOpcode op = hlo_started_opcode(i);
    if (op == HLO_ASYNC_START || op == HLO_ASYNC_UPDATE || op == HLO_ASYNC_DONE) return;
    if (!among(rows[k].operations, hlo_opcode_name(op)) && strcmp(name, "output_to_operand_aliasing") != 0)
        wbb_fail(cx, loc, "%s: %s= is an attribute of: %s", hlo_opcode_text(i), name, rows[k].operations);
}

/* The letters that begin a field of a layout, T of T(8,128)(2,1); *p moves past the field. */
static size_t next_field(const char **p, const char **name, const char **value)
{
    *name = *p;
    const size_t n = strcspn(*p, "( ");
    *p += n;
    *value = *p;
    while (**p == '(' || **p == ' ') *p += **p == '(' ? strcspn(*p, ")") + (strchr(*p, ')') != NULL) : 1;
    return n;
}

void hlo_check_layout(WbbCx *cx, WbbLoc loc, const char *tiling)
{
    for (const char *p = tiling, *name, *value; *p;) {
        const size_t n = next_field(&p, &name, &value);
        if (find(HLO_IN_LAYOUT, name, n) < 0 || *value != '(')
            wbb_fail(cx, loc, "unknown field '%.*s' of a layout", (int)WBB_MIN(n ? n : strlen(name), 40), name);
    }
}

/* What a feature is declined for --------------------------------------------------------------------------------- */

typedef struct {
    WbbCx *cx;
    WbbArena *scratch;
    const HloModule *module;
    int64_t partitions;
} Judge;

/* Does the value of an attribute have this word? */
static bool says(const char *value, const char *word) { return strstr(value, word) != NULL; }

/* XLA's frontend attributes begin with xla or _xla; those of other tools are notes. */
static bool frontend_declined(const Judge *j, const char *value)
{
    bool begins = true, quoted = false;
    for (const char *p = value; *p; p++) {
        if (quoted) {
            if (*p == '\\' && p[1]) p++;
            else if (*p == '"') quoted = false;
            continue;
        }
        const char *name = *p == '_' ? p + 1 : p;
        if (begins && !strncmp(name, "xla", 3)) {
            if (strncmp(p, "xla.sdy.", 8) != 0) return true;
            if (j->partitions > 1 && !strncmp(p, "xla.sdy.sharding", 16)) return true;
        }
        quoted = *p == '"';
        begins = *p == '{' || *p == ',' || (begins && *p == ' ');
    }
    return false;
}

/* dot_A_B_C multiplies elements of types A and B and adds in C. Kernels take the elements as they are, and add in f32,
 * or in f64 if an operand is. */
static bool algorithm_declined(const Judge *j, const HloInstruction *i, const char *value)
{
    if (i->opcode == HLO_RNG_BIT_GENERATOR) return false; /* plan/ and eval/ know both */
    if (i->n_operands < 2) return true;
    const ScTypeInfo *x = &sc_type_info[i->operands[0]->shape->type], *y = &sc_type_info[i->operands[1]->shape->type];
    const bool wide = x->bits == 64 || y->bits == 64, small = x->bits == 8 && y->bits == 8;
    if (small && x->cls == 'F' && y->cls == 'F' && !strcmp(value, "dot_any_f8_any_f8_f32")) return false;
    return strcmp(value, wbb_format(j->scratch, "dot_%s_%s_%s", x->hlo, y->hlo, wide ? "f64" : "f32")) != 0;
}

static bool attribute_declined(const Judge *j, const HloInstruction *i, const char *name, const char *value)
{
    if (!strcmp(name, "frontend_attributes")) return frontend_declined(j, value);
    if (!strcmp(name, "sharding")) return j->partitions > 1 && says(value, "devices=");
    if (!strcmp(name, "algorithm")) return algorithm_declined(j, i, value);
    if (!strcmp(name, "result_accuracy")) return !says(value, "mode=default") && !says(value, "mode=DEFAULT");
    if (!strcmp(name, "input_output_alias")) return says(value, "must-alias");
    return false; /* entry_computation_layout: judge_layouts */
}

static bool field_declined(const HloShape *s, const char *name, size_t n, const char *value)
{
    const long number = *value == '(' ? strtol(value + 1, NULL, 10) : -1;
    if (n == 1 && *name == 'E') return number != 0 && number != sc_type_info[s->type].bits;
    return !(n == 1 && *name == 'S' && number == 0);
}

/* The first reason of an array's shape; NULL: there is none. */
static const char *shape_reason(const HloShape *s, WbbWhy *why)
{
    *why = WHY_FEATURE;
    if (s->buffer) return rows[find(HLO_IN_SHAPE, "b", 1)].why;
    for (const char *p = s->tiling, *name, *value; p && *p;) {
        const size_t n = next_field(&p, &name, &value);
        const int k = find(HLO_IN_LAYOUT, name, n);
        if (field_declined(s, name, n, value)) return k < 0 ? "the field is unknown" : rows[k].why;
    }
    *why = WHY_DYNAMIC;
    return s->dynamic ? rows[find(HLO_IN_SHAPE, "<=", 2)].why : NULL;
}

static void judge_shape(const Judge *j, const HloInstruction *i)
{
    if (i->shape->buffer) /* of a tuple, too */
        wbb_decline(j->cx, i->loc, WHY_FEATURE, "%s: %s", hlo_opcode_text(i), rows[find(HLO_IN_SHAPE, "b", 1)].why);
    const HloShape **leaves, *one[1] = {i->shape};
    const uint32_t n = i->shape->type == SC_TUPLE ? hlo_leaves(j->scratch, i->shape, &leaves) : 1;
    if (i->shape->type != SC_TUPLE) leaves = one;
    for (uint32_t k = 0; k < n; k++) {
        WbbWhy why;
        const char *reason = shape_reason(leaves[k], &why);
        /* plan/decline.c says more of an operation that makes sizes dynamic */
        const bool makes = i->opcode == HLO_SET_DIMENSION_SIZE || i->opcode == HLO_DYNAMIC_RESHAPE;
        if (!reason || (makes && why == WHY_DYNAMIC)) continue;
        WbbBuf text = wbb_buf(j->scratch);
        hlo_print_shape(&text, leaves[k]);
        wbb_decline(j->cx, i->loc, why, "%s of %s: %s", hlo_opcode_text(i), text.text, reason);
    }
}

/* i NULL: attributes of the header. */
static void judge_attributes(const Judge *j, HloWhere where, const HloInstruction *i, const char *attributes)
{
    const WbbLoc loc = i ? i->loc : j->module->entry->loc;
    HloAttribute at;
    for (const char *p = attributes; hlo_next_attribute(&p, &at);) {
        const int k = find(where, at.name, at.n_name);
        if (k < 0 || (rows[k].account != HLO_DECLINED && rows[k].account != HLO_JUDGED)) continue;
        const char *value = wbb_format(j->scratch, "%.*s", (int)at.n_value, at.value);
        if (rows[k].account == HLO_DECLINED || attribute_declined(j, i, rows[k].name, value))
            wbb_decline(j->cx, loc, WHY_FEATURE, "%s %s=%.60s: %s", i ? hlo_opcode_text(i) : "HLO module with",
                        rows[k].name, value, rows[k].why);
    }
}

/* The header says that an array of the entry lies in memory as `given`, the instruction says how it does: an array
 * whose layout the header leaves open may lie in any way. */
static void judge_layouts(const Judge *j, const HloInstruction *i, const HloShape *given)
{
    const HloShape **x, **y;
    const uint32_t n = hlo_leaves(j->scratch, given, &x);
    if (hlo_leaves(j->scratch, i->shape, &y) != n) return; /* never: the parser has compared the shapes */
    for (uint32_t k = 0; k < n; k++) {
        WbbWhy why;
        const bool open = !x[k]->has_layout || x[k]->type == SC_TUPLE;
        if (open || (!shape_reason(x[k], &why) && !memcmp(x[k]->minor_to_major, y[k]->minor_to_major, x[k]->rank)))
            continue;
        WbbBuf header = wbb_buf(j->scratch), body = wbb_buf(j->scratch);
        hlo_print_shape(&header, x[k]);
        hlo_print_shape(&body, y[k]);
        wbb_decline(j->cx, i->loc, WHY_FEATURE,
                    "entry_computation_layout has %s where %s '%s' has %s: no kernel changes the layout between them",
                    header.text, hlo_opcode_text(i), i->name, body.text);
    }
}

static void judge_module(WbbCx *cx, void *arg)
{
    (void)cx;
    const Judge *j = arg;
    const HloModule *m = j->module;
    judge_attributes(j, HLO_IN_MODULE, NULL, m->attributes);
    for (uint32_t k = 0; m->result_layout && k < m->entry->n_parameters; k++)
        judge_layouts(j, m->entry->parameters[k], m->layouts[k]);
    if (m->result_layout) judge_layouts(j, m->entry->root, m->result_layout);
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++) {
            const HloInstruction *i = m->computations[c]->instructions[k];
            judge_shape(j, i);
            judge_attributes(j, HLO_IN_ATTRIBUTE, i, i->attributes);
        }
}

void hlo_decline_features(WbbCx *cx, const HloModule *m)
{
    Judge j = {.cx = cx, .scratch = wbb_arena_new(cx), .module = m,
               .partitions = hlo_header_number(m, "num_partitions", 1)};
    const WbbStatus status = wbb_guard(cx, judge_module, &j);
    wbb_arena_free(j.scratch);
    if (status != WBB_OK) wbb_rethrow(cx, status);
}

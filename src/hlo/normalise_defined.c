/* normalise_defined: operations that a text of gen/hlo_defined.py defines.
 *
 * Needs: a verified HLO module. Leaves, in place of such an operation, the instructions of its text, in which each
 * $word is what the operation says of itself; and the computations that these call. A text that is no valid one with
 * that, as of a custom call of other shapes, defines nothing: the operation stays.
 *
 *     (f32[8,2], s32[8,2]) topk(f32[8,100] x), k=2, largest=true
 *         place = $placed1[$dims0] iota(), iota_dimension=$last    t.place = s32[8,100] iota(), iota_dimension=1
 *         sorted = sort(x, place), dimensions={$last}, ..          t.sorted = .. sort(x, t.place), dimensions={1}, ..
 *         most = $result0 slice(values), slice=$slice0             t.most = f32[8,2] slice(t.values), slice=..
 */
#include "hlo/normalise.h"

#include <string.h>

static const HloDefined *definition_of(const HloInstruction *i)
{
    for (const HloDefined *d = hlo_defined; d->text; d++) {
        if (d->opcode != i->opcode || !i->n_operands) continue;
        if (*d->target && (!i->target || strcmp(d->target, i->target) != 0)) continue;
        const ScType t = i->operands[0]->shape->type;
        if (!*d->classes || (t != SC_TUPLE && strchr(d->classes, sc_type_info[t].cls))) return d;
    }
    return NULL;
}

static bool is_defined(const HloInstruction *i) { return definition_of(i) != NULL; }

/* --- what an operation says of itself ----------------------------------------------------------------------------- */
static void put_dims(WbbBuf *out, const HloShape *s)
{
    for (uint32_t d = 0; d < s->rank; d++) wbb_putf(out, d ? ",%lld" : "%lld", (long long)s->dims[d]);
}

static ScType wide(ScType t) { return sc_type_info[t].bits < 32 ? SC_F32 : t; }

/* Of operand k or of element k of the result; false: there is none, it is no array, or no such word. */
static bool put_of_shape(WbbBuf *out, const HloInstruction *i, const char *word, uint32_t k)
{
    const bool operand =
        !strcmp(word, "shape") || !strcmp(word, "dims") || !strcmp(word, "type") || !strcmp(word, "wide");
    const bool tuple = i->shape->type == SC_TUPLE;
    const HloShape *s = operand ? (k < i->n_operands ? i->operands[k]->shape : NULL)
                        : tuple ? (k < i->shape->n_elements ? i->shape->elements[k] : NULL)
                                : (k ? NULL : i->shape);
    if (!s || s->type == SC_TUPLE || s->type == SC_TOKEN) return false;
    HloShape own = *s;
    if (!strcmp(word, "wide")) own.type = wide(s->type);
    if (!strcmp(word, "shape") || !strcmp(word, "result") || !strcmp(word, "wide")) {
        hlo_print_shape(out, &own);
    } else if (!strcmp(word, "dims")) {
        put_dims(out, s);
    } else if (!strcmp(word, "type") || !strcmp(word, "placed")) {
        wbb_put(out, sc_type_info[s->type].hlo);
    } else if (!strcmp(word, "slice")) {
        for (uint32_t d = 0; d < s->rank; d++) wbb_putf(out, d ? ", [0:%lld]" : "{[0:%lld]", (long long)s->dims[d]);
        wbb_put(out, "}");
    } else {
        return false;
    }
    return true;
}

/* The dimensions of an array but one, or how many elements these have together. */
static void put_others(WbbBuf *out, const HloShape *s, int64_t but, bool count)
{
    double n = 1;
    bool any = false;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (d == but) continue;
        if (!count) wbb_putf(out, any ? ",%u" : "%u", d);
        n *= (double)s->dims[d], any = true;
    }
    if (count) wbb_putf(out, "%.17g", n);
}

/* A word without a number. */
static void put_word(WbbBuf *out, WbbArena *a, const HloInstruction *i, const char *word)
{
    const HloShape *s = i->operands[0]->shape;
    const char *text = hlo_attribute(a, i, strcmp(word, "before") ? word : "largest");
    if (!strcmp(word, "wide")) wbb_put(out, sc_type_info[wide(s->type)].hlo);
    else if (!strcmp(word, "part")) wbb_put(out, sc_type_info[s->type == SC_C128 ? SC_F64 : SC_F32].hlo);
    else if (!strcmp(word, "last")) wbb_putf(out, "%d", s->rank - 1);
    else if (!strcmp(word, "others") || !strcmp(word, "count"))
        put_others(out, s, hlo_attribute_int(a, i, "feature_index", 0), *word == 'c');
    else if (!strcmp(word, "before"))
        wbb_putf(out, "direction=%s%s", text && !strcmp(text, "false") ? "LT" : "GT",
                 sc_is_float(s->type) ? ", type=TOTALORDER" : "");
    else wbb_put(out, text ? text : "0");
}

/* The text of a definition for an operation; NULL: it says not what the text asks for. */
static const char *text_for(WbbArena *a, const HloInstruction *i, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    WbbBuf out = wbb_buf(a);
    while (*text) {
        const size_t plain = strcspn(text, "$");
        wbb_put_n(&out, text, plain);
        text += plain;
        if (!*text) break;
        const size_t n = strspn(++text, letters);
        const char *word = wbb_format(a, "%.*s", (int)n, text);
        text += n;
        const bool number = *text >= '0' && *text <= '9';
        if (number && !put_of_shape(&out, i, word, (uint32_t)(*text - '0'))) return NULL;
        if (!number) put_word(&out, a, i, word);
        text += number;
    }
    return out.text;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */
typedef struct {
    WbbArena *arena;
    const char *text;
    const HloModule *made;
} Reading;

static void read_text(WbbCx *cx, void *arg)
{
    Reading *r = arg;
    r->made = hlo_parse(cx, r->arena, "gen/hlo_defined.py", r->text, strlen(r->text));
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const HloDefined *d = definition_of(i);
    Reading r = {b->arena, d ? text_for(b->arena, i, d->text) : NULL, NULL};
    if (!r.text) return NULL;
    const size_t said = strlen(b->cx->messages);
    if (wbb_guard(b->cx, read_text, &r) != WBB_OK) {
        wbb_forget_since(b->cx, said);
        return NULL;
    }
    const HloComputation *c = r.made->entry;
    if (c->n_parameters != i->n_operands || !hlo_same_shape(c->root->shape, i->shape)) return NULL;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) operands[k] = hlo_mapped(b, i->operands[k]);
    return hlo_inline_module(b, r.made, operands);
}

const HloModule *hlo_pass_defined(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_defined, .rewrite = rewrite});
}

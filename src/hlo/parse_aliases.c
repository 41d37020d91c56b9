/* parse_aliases: the layout of the entry, and the outputs that share a buffer with an operand.
 *
 * Needs: the cursor on the value of the attribute, which is also kept as text. Leaves: notes of what it names; once the
 * HLO module has been verified, a wbb_fail at the note's location if no such output or operand exists or their shapes
 * differ.
 *
 *     HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }, entry_computation_layout={(f32[8])->(f32[], f32[8])}
 *         output 1 of the entry shares the buffer of operand 0; the entry takes an f32[8] and returns a tuple
 */
#include "hlo/inner.h"

#include <string.h>

static HloPath read_path(HloReader *r)
{
    HloPath path = {0};
    path.items = hlo_read_ints(r, &path.n);
    return path;
}

/* { {output}: (operand, {index}, kind), .. }; old texts have the operand's number alone, {0}: 1 */
static void read_aliases(HloReader *r, const HloInstruction *user)
{
    hlo_expect(r, '{');
    if (hlo_accept(r, '}')) return;
    do {
        hlo_peek(r);
        HloAlias a = {.user = user, .loc = hlo_here(r)};
        a.output = read_path(r);
        hlo_expect(r, ':');
        bool full = hlo_accept(r, '(');
        a.operand = hlo_read_int(r);
        if (full) {
            hlo_expect(r, ',');
            a.index = read_path(r);
            if (hlo_accept(r, ',')) (void)hlo_read_name(r, "may-alias or must-alias");
            hlo_expect(r, ')');
        }
        WBB_PUSH(r->arena, &r->aliases, a);
    } while (hlo_accept(r, ','));
    hlo_expect(r, '}');
}

/* {(parameters)->result} */
static void read_entry_layout(HloReader *r)
{
    struct { const HloShape **items; uint32_t n, capacity; } list = {0};
    HloEntryLayout *e = &r->entry_layout;
    hlo_expect(r, '{');
    hlo_peek(r);
    e->loc = hlo_here(r);
    hlo_expect(r, '(');
    if (!hlo_accept(r, ')')) {
        do WBB_PUSH(r->arena, &list, hlo_read_shape(r));
        while (hlo_accept(r, ','));
        hlo_expect(r, ')');
    }
    hlo_expect(r, '-');
    hlo_expect(r, '>');
    e->result = hlo_read_shape(r);
    e->parameters = list.items;
    e->n = list.n;
    hlo_expect(r, '}');
}

void hlo_note_aliases(HloReader *r, const char *name, const HloInstruction *i)
{
    HloMark start = hlo_mark(r);
    if (i ? strcmp(name, "output_to_operand_aliasing") == 0 : strcmp(name, "input_output_alias") == 0)
        read_aliases(r, i);
    else if (!i && strcmp(name, "entry_computation_layout") == 0) read_entry_layout(r);
    hlo_rewind(r, start);
}

/* The element of s at `path`. */
static const HloShape *element_at(HloReader *r, const HloAlias *a, const char *what, const HloShape *s, HloPath path)
{
    for (uint32_t k = 0; k < path.n; k++) {
        if (s->type != SC_TUPLE || path.items[k] < 0 || path.items[k] >= s->n_elements)
            wbb_fail(r->cx, a->loc, "an alias names element %lld of %s, which is %s", (long long)path.items[k], what,
                     s->n_leaves > 8 ? "a smaller tuple" : hlo_shape_text(r->cx->arena, s));
        s = s->elements[path.items[k]];
    }
    return s;
}

/* An output of the entry may use the buffer of an operand of as many bytes; that of an instruction has the operand's
 * shape. */
static bool can_share(const HloAlias *a, const HloShape *in, const HloShape *out)
{
    if (a->user || in->type == SC_TUPLE || out->type == SC_TUPLE) return hlo_same_shape(in, out);
    return (WbbI128)hlo_elements(in) * sc_type_info[in->type].bits ==
           (WbbI128)hlo_elements(out) * sc_type_info[out->type].bits;
}

static void check_alias(HloReader *r, const HloAlias *a)
{
    const HloComputation *entry = r->module->entry;
    const HloShape *out = a->user ? a->user->shape : entry->root->shape;
    if (a->user && a->user->opcode == HLO_ASYNC_START) out = out->elements[1];
    const uint32_t n = a->user ? a->user->n_operands : entry->n_parameters;
    if (a->operand < 0 || a->operand >= n)
        wbb_fail(r->cx, a->loc, "an alias names operand %lld of %u", (long long)a->operand, n);
    const HloShape *in = a->user ? a->user->operands[a->operand]->shape : entry->parameters[a->operand]->shape;
    out = element_at(r, a, "the output", out, a->output);
    in = element_at(r, a, "the operand", in, a->index);
    if (!can_share(a, in, out))
        wbb_fail(r->cx, a->loc, "an alias of the output, %s, with operand %lld, which is %s",
                 hlo_shape_text(r->cx->arena, out), (long long)a->operand, hlo_shape_text(r->cx->arena, in));
}

static void check_entry_layout(HloReader *r)
{
    const HloEntryLayout *e = &r->entry_layout;
    const HloComputation *entry = r->module->entry;
    if (e->n != entry->n_parameters)
        wbb_fail(r->cx, e->loc, "entry_computation_layout names %u parameters, '%s' has %u", e->n, entry->name,
                 entry->n_parameters);
    for (uint32_t k = 0; k < e->n; k++) {
        const HloShape *s = entry->parameters[k]->shape;
        if (!hlo_same_shape(e->parameters[k], s))
            wbb_fail(r->cx, e->loc, "entry_computation_layout gives parameter %u as %s, '%s' has shape %s", k,
                     hlo_shape_text(r->cx->arena, e->parameters[k]), entry->parameters[k]->name,
                     hlo_shape_text(r->cx->arena, s));
    }
    if (!hlo_same_shape(e->result, entry->root->shape))
        wbb_fail(r->cx, e->loc, "entry_computation_layout gives the result as %s, '%s' has shape %s",
                 hlo_shape_text(r->cx->arena, e->result), entry->root->name,
                 hlo_shape_text(r->cx->arena, entry->root->shape));
    r->module->layouts = e->parameters;
    r->module->result_layout = e->result;
}

void hlo_check_aliases(HloReader *r)
{
    if (r->entry_layout.result) check_entry_layout(r);
    for (uint32_t k = 0; k < r->aliases.n; k++) check_alias(r, &r->aliases.items[k]);
}

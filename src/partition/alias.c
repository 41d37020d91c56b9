/* alias.c: which outputs are updated in place.
 *
 * Needs a plan with buffers and roots; leaves for each output the dynamic-update-slice that writes it, if that may work in place, and
 * the operand whose memory it then is. It may where nobody else needs the operand: every element that is read of it is read by the
 * thread that writes it, before. The text may demand an output to be an operand (output_to_operand_aliasing), whatever makes it.
 *
 *     p = f32[64] parameter(0)  s = f32[8] dynamic-slice(p, at)  u = f32[8] add(s, s)  ROOT d = f32[64] dynamic-update-slice(p, u, at)
 *         output 0 is operand 0: u[k] is made of p[at + k] alone, which is where it goes
 */
#include "partition/partition.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    PartPlan *p;
    uint8_t *moves; /* by id: the element at an index is made of the operand's at that index; scratch of one question */
} Aliasing;

static bool is_view(const HloInstruction *i) { return i->opcode == HLO_BITCAST && part_same_width(i); }

/* The elements of the same place in memory: bitcasts taken away. */
static const HloInstruction *behind_views(const HloInstruction *i, bool *once)
{
    while (is_view(i)) {
        *once = *once && i->n_users <= 1;
        i = part_value(i->operands[0], 0).i;
    }
    return i;
}

static bool same_layout(const HloShape *x, const HloShape *y)
{
    return hlo_same_dims(x, y) && !memcmp(x->minor_to_major, y->minor_to_major, x->rank);
}

/* Element k of i is made of element k of its operand, same place in memory. */
static bool keeps_place(const HloInstruction *i, const HloInstruction *operand)
{
    if (is_view(i)) return true;
    if (i->opcode == HLO_DYNAMIC_UPDATE_SLICE && operand == i->operands[0]) return same_layout(i->shape, operand->shape); /* or of the update's */
    const bool element = hlo_is_elementwise(i->opcode) || i->opcode == HLO_COPY;
    return element && operand->shape->rank == i->shape->rank && same_layout(i->shape, operand->shape);
}

/* Is what reads the operand's memory `p` read by the thread that writes the same element? For a dynamic-update-slice at the top of
 * `top`: through dynamic-slices of the very place, element by element. Without one: element by element. */
static bool reads_are_own(Aliasing *x, const HloInstruction *p, const HloInstruction *update, const HloInstruction *top)
{
    enum { NOT, WHOLE, SLICE }; /* made of p: elements at their places; elements of the slice that is updated, at theirs */
    const HloComputation *body = x->p->fusion->body;
    memset(x->moves, NOT, body->n_instructions);
    x->moves[p->id] = WHOLE;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *o = i->operands[k];
            const uint8_t from = x->moves[o->id];
            if (from == NOT || i->opcode == HLO_TUPLE) continue;
            if (i == update) {
                if ((k == 0 && from == WHOLE) || (k == 1 && from == SLICE)) continue;
                return false;
            }
            if (from == WHOLE && update && !is_view(i)) {
                if (i->opcode != HLO_DYNAMIC_SLICE || k > 0 || !hlo_same_dims(i->shape, update->operands[1]->shape)) return false;
                for (uint32_t d = 1; d < i->n_operands; d++)
                    if (x->moves[i->operands[d]->id] != NOT || i->operands[d] != update->operands[d + 1]) return false;
                if (i->n_operands != update->n_operands - 1) return false;
                x->moves[i->id] = SLICE;
            } else if (keeps_place(i, o)) {
                x->moves[i->id] = from;
            } else {
                return false;
            }
        }
    }
    /* only the output itself may be made of it */
    for (uint32_t k = 0; k < x->p->n_outputs; k++) {
        const HloInstruction *root = x->p->roots[k].i;
        if (root != top && x->moves[root->id] != NOT) return false;
    }
    return true;
}

/* The parameter that the text demands output k to be; -1: none. */
static int32_t demanded(Aliasing *x, uint32_t k)
{
    const HloInstruction *f = x->p->fusion->fusion;
    const char *text = f ? hlo_attribute(x->arena, f, "output_to_operand_aliasing") : NULL;
    if (!text) return -1;
    const char *const key = f->shape->type == SC_TUPLE ? wbb_format(x->arena, "{%u}:", k) : "{}:";
    WbbBuf packed = wbb_buf(x->arena); /* without blanks */
    for (const char *c = text; *c; c++)
        if (*c != ' ') wbb_put_n(&packed, c, 1);
    const char *at = strstr(packed.text, key);
    if (!at) return -1;
    at += strlen(key);
    if (*at == '(') at++;
    int64_t number = 0;
    for (; *at >= '0' && *at <= '9' && number < INT32_MAX / 10; at++) number = number * 10 + (*at - '0');
    return number < x->p->fusion->body->n_parameters ? (int32_t)number : -1;
}

/* The memory of parameter k is nobody else's: no other operand is the same array, no output has taken it. */
static bool is_free(const PartPlan *p, uint32_t k)
{
    const HloInstruction *f = p->fusion->fusion;
    for (uint32_t o = 0; f && o < f->n_operands; o++)
        if (o != k && f->operands[o] == f->operands[k]) return false;
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (p->buffers[p->n_operands + o].alias == (int32_t)p->first_leaf[k]) return false;
    return true;
}

/* A thread stores whole bytes: an update of elements that are less begins and ends with one where it is made of whole rows that do. */
static bool is_whole_bytes(const HloInstruction *u)
{
    const ScType t = u->shape->type;
    if (!part_is_packed(t)) return true;
    const uint32_t minor = u->shape->minor_to_major[0];
    return u->operands[1]->shape->dims[minor] == u->shape->dims[minor] && u->shape->dims[minor] * sc_type_info[t].bits % 8 == 0;
}

/* The dynamic-update-slice behind the bitcasts of a root, if it updates a parameter that the root may be: *operand. */
static const HloInstruction *update_of(const HloInstruction *root, uint32_t *operand)
{
    bool once = root->n_users <= 1;
    const HloInstruction *u = behind_views(root, &once);
    if (u->opcode != HLO_DYNAMIC_UPDATE_SLICE || !u->shape->rank || !is_whole_bytes(u) || u->n_users > 1 || !once) return NULL;
    bool any = true;
    const HloInstruction *p = behind_views(part_value(u->operands[0], 0).i, &any);
    if (p->opcode != HLO_PARAMETER || !same_layout(u->shape, u->operands[0]->shape)) return NULL;
    *operand = (uint32_t)p->number;
    return u;
}

const HloInstruction **part_updates(WbbCx *cx, WbbArena *a, PartPlan *p)
{
    const HloComputation *body = p->fusion->body;
    Aliasing x = {cx, a, p, WBB_NEW_N(a, uint8_t, body->n_instructions + 1)};
    const HloInstruction **updates = WBB_NEW_N(a, const HloInstruction *, p->n_outputs + 1);
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloInstruction *root = p->roots[k].i;
        PartBuffer *out = &p->buffers[p->n_operands + k];
        const int32_t want = demanded(&x, k);
        uint32_t operand = 0;
        const HloInstruction *u = update_of(root, &operand);
        if (u && (want < 0 || want == (int32_t)operand) && is_free(p, operand) && reads_are_own(&x, body->parameters[operand], u, root)) {
            out->alias = (int32_t)p->first_leaf[operand];
            updates[k] = u;
            continue;
        }
        if (want < 0) continue;
        const HloInstruction *parameter = body->parameters[want];
        if (!is_free(p, (uint32_t)want)) wbb_decline(cx, root->loc, WHY_OPERATION, "output %u is to be operand %d in place, which is another array, too", k, want);
        const bool same = parameter->shape->type != SC_TUPLE && same_layout(parameter->shape, root->shape) && parameter->shape->type == root->shape->type;
        if (!same || (root != parameter && !reads_are_own(&x, parameter, NULL, root)))
            wbb_decline(cx, root->loc, WHY_OPERATION, "output %u is to be operand %d in place, whose elements are read when they may be overwritten",
                        k, want);
        out->alias = (int32_t)p->first_leaf[want];
    }
    return updates;
}

/* alias.c: which outputs are updated in place.
 *
 * Needs a plan with buffers and roots; leaves for each output the dynamic-update-slice that writes it, if that may be
 * in place, and the operand whose memory the output then has. It may be in place if every element of the operand that
 * is read is read by the thread that writes it, before it does. The text may demand that an output be an operand
 * (output_to_operand_aliasing), whatever computes it.
 *
 *     p = f32[64] parameter(0)  s = f32[8] dynamic-slice(p, at)  u = f32[8] add(s, s)
 *     ROOT d = f32[64] dynamic-update-slice(p, u, at)
 *         output 0 is operand 0: u[k] needs p[at + k] alone, which is the element that it replaces
 */
#include "plan/plan.h"

#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    Plan *p;
    uint8_t *reads; /* by id: what an element reads of the operand, of one call of reads_only_own */
} Aliasing;

static bool is_view(const HloInstruction *i) { return hlo_has(i->opcode, HLO_RENAMES) && plan_same_width(i); }

/* The instruction behind bitcasts that keep the order of elements. *once: false if one of them has other users. */
static const HloInstruction *behind_views(const HloInstruction *i, bool *once)
{
    while (is_view(i)) {
        *once = *once && i->n_users <= 1;
        i = plan_value(i->operands[0], 0).i;
    }
    return i;
}

static bool same_layout(const HloShape *x, const HloShape *y)
{
    return hlo_same_dims(x, y) && !memcmp(x->minor_to_major, y->minor_to_major, x->rank);
}

/* Does element k of i, in memory order, need only element k of this operand? */
static bool keeps_offset(const HloInstruction *i, const HloInstruction *operand)
{
    if (is_view(i)) return true;
    if (i->opcode == HLO_DYNAMIC_UPDATE_SLICE && operand == i->operands[0])
        return same_layout(i->shape, operand->shape); /* or an element of the update */
    return hlo_is_elementwise(i->opcode) && operand->shape->rank == i->shape->rank &&
           same_layout(i->shape, operand->shape);
}

/* Is every element of p, a parameter, read only by the thread that writes it? `update`, the dynamic-update-slice at
 * the root `top`: p may be read through dynamic-slices with its own starts, element by element. Without one: element
 * by element. */
static bool reads_only_own(Aliasing *x, const HloInstruction *p, const HloInstruction *update,
                           const HloInstruction *top)
{
    /* reads nothing of p; its element k reads element k of p; element k reads element k of the slice to update */
    enum { NOT, WHOLE, SLICE };
    const HloComputation *body = x->p->fusion->body;
    memset(x->reads, NOT, body->n_instructions);
    x->reads[p->id] = WHOLE;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *o = i->operands[k];
            const uint8_t from = x->reads[o->id];
            if (from == NOT) continue;
            if (i->opcode == HLO_TUPLE) { /* which loops and branches read */
                x->reads[i->id] = from;
                continue;
            }
            if (i == update) {
                if ((k == 0 && from == WHOLE) || (k == 1 && from == SLICE)) continue;
                return false;
            }
            if (from == WHOLE && update && !is_view(i)) {
                if (i->opcode != HLO_DYNAMIC_SLICE || k > 0 || !hlo_same_dims(i->shape, update->operands[1]->shape))
                    return false;
                for (uint32_t d = 1; d < i->n_operands; d++)
                    if (x->reads[i->operands[d]->id] != NOT || i->operands[d] != update->operands[d + 1]) return false;
                if (i->n_operands != update->n_operands - 1) return false;
                x->reads[i->id] = SLICE;
            } else if (keeps_offset(i, o)) {
                x->reads[i->id] = from;
            } else {
                return false;
            }
        }
    }
    /* no other output may need it */
    for (uint32_t k = 0; k < x->p->n_outputs; k++) {
        const HloInstruction *root = x->p->roots[k].i;
        if (root != top && x->reads[root->id] != NOT) return false;
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

/* The value of the entry whose memory an operand of the fusion has: a bitcast is another view of it. */
static const HloInstruction *memory_of(const HloInstruction *operand)
{
    while (hlo_has(operand->opcode, HLO_RENAMES) || hlo_forwards_operand(operand)) operand = operand->operands[0];
    return plan_value(operand, 0).i;
}

/* Parameter k shares its memory with nothing: no other operand is the same array, no output has it. Elements of one
 * tuple count as one array. */
static bool is_free(const Plan *p, uint32_t k)
{
    const HloInstruction *f = p->fusion->fusion;
    for (uint32_t o = 0; f && o < f->n_operands; o++)
        if (o != k && memory_of(f->operands[o]) == memory_of(f->operands[k])) return false;
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (p->buffers[p->n_operands + o].alias == (int32_t)p->first_leaf[k]) return false;
    return true;
}

bool plan_operands_are_free(const Plan *p)
{
    for (uint32_t k = 0; k < p->fusion->body->n_parameters; k++)
        if (!is_free(p, k)) return false;
    return true;
}

/* A thread stores whole bytes: an update of smaller elements must be of whole rows, each of whole bytes. */
static bool is_whole_bytes(const HloInstruction *u)
{
    const ScType t = u->shape->type;
    if (!ir_is_packed(t)) return true;
    const uint32_t minor = u->shape->minor_to_major[0];
    return u->operands[1]->shape->dims[minor] == u->shape->dims[minor] &&
           u->shape->dims[minor] * sc_type_info[t].bits % 8 == 0;
}

/* The dynamic-update-slice that a root is, behind bitcasts, if it updates a parameter and has no other users;
 * *operand: the parameter. */
static const HloInstruction *update_of(const HloInstruction *root, uint32_t *operand)
{
    bool once = root->n_users <= 1;
    const HloInstruction *u = behind_views(root, &once);
    if (u->opcode != HLO_DYNAMIC_UPDATE_SLICE || !u->shape->rank || !is_whole_bytes(u) || u->n_users > 1 || !once)
        return NULL;
    bool any = true;
    const HloInstruction *p = behind_views(plan_value(u->operands[0], 0).i, &any);
    if (p->opcode != HLO_PARAMETER || !same_layout(u->shape, u->operands[0]->shape)) return NULL;
    *operand = (uint32_t)p->number;
    return u;
}

/* The parameter in whose memory a scatter may leave a result: its operand, which nothing else reads; NULL: none. */
static const HloInstruction *scattered(const Aliasing *x, PlanValue result)
{
    const HloInstruction *s = result.i, *o = s->operands[result.part];
    bool any = true;
    const HloInstruction *p = behind_views(plan_value(o, 0).i, &any);
    const HloComputation *body = x->p->fusion->body;
    const HloShape *to = plan_shape(s, result.part);
    if (p->opcode != HLO_PARAMETER || p->shape->type == SC_TUPLE || o->shape->type != to->type ||
        !same_layout(o->shape, to))
        return NULL;
    memset(x->reads, 0, body->n_instructions);
    x->reads[p->id] = true;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        for (uint32_t k = 0; k < i->n_operands; k++) {
            if (!x->reads[i->operands[k]->id] || (i == s && k == result.part)) continue;
            if (!is_view(i) && i->opcode != HLO_TUPLE) return NULL;
            x->reads[i->id] = true; /* a tuple is what loops and branches read */
        }
    }
    for (uint32_t k = 0; k < x->p->n_outputs; k++)
        if (x->reads[x->p->roots[k].i->id]) return NULL;
    return p;
}

const HloInstruction **plan_updates(WbbCx *cx, WbbArena *a, Plan *p)
{
    const HloComputation *body = p->fusion->body;
    Aliasing x = {cx, a, p, WBB_NEW_N(a, uint8_t, body->n_instructions + 1)};
    const HloInstruction **updates = WBB_NEW_N(a, const HloInstruction *, p->n_outputs + 1);
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        const HloInstruction *root = p->roots[k].i;
        PlanBuffer *out = &p->buffers[p->n_operands + k];
        const int32_t want = demanded(&x, k);
        uint32_t operand = 0;
        const PlanValue s = plan_scatter_below(p->roots[k]);
        const HloInstruction *in_place = s.i ? scattered(&x, s) : NULL;
        if (in_place && (want < 0 || want == in_place->number) && is_free(p, (uint32_t)in_place->number)) {
            out->alias = (int32_t)p->first_leaf[in_place->number];
            continue;
        }
        const HloInstruction *u = update_of(root, &operand);
        if (u && (want < 0 || want == (int32_t)operand) && is_free(p, operand) &&
            reads_only_own(&x, body->parameters[operand], u, root)) {
            out->alias = (int32_t)p->first_leaf[operand];
            updates[k] = u;
            continue;
        }
        if (want < 0) continue;
        const HloInstruction *parameter = body->parameters[want];
        if (!is_free(p, (uint32_t)want))
            wbb_decline(cx, root->loc, WHY_OPERATION,
                        "output %u must have the memory of operand %d, which another operand or output has, too", k,
                        want);
        const bool same = parameter->shape->type != SC_TUPLE && same_layout(parameter->shape, root->shape) &&
                          parameter->shape->type == root->shape->type;
        if (!same || (root != parameter && !reads_only_own(&x, parameter, NULL, root)))
            wbb_decline(
                cx, root->loc, WHY_OPERATION,
                "output %u must have the memory of operand %d, whose elements are read after they may be overwritten",
                k, want);
        out->alias = (int32_t)p->first_leaf[want];
    }
    return updates;
}

/* lanes_do.c: what a `do` in a loop of lanes becomes.
 *
 * Needs marks; leaves statements, lane after lane: one for each lane, but for reads of neighbouring elements and atomic
 * operations on them, which are as wide as accesses or the target's PACKED table allow.
 *
 *     for v in 0..4 lanes 4 { do atomic_add.f32(%out[64*s + 4*t + v], load %u[4*t + v]) }
 * =>  do atomic_add.f32x4(%out[64*s + 4*t], load.f32x4 %u[4*t])
 */
#include "vector/lanes.h"

/* Updates of memory whose operand lanes share: by as few instructions as the target has for neighbouring elements. */
static void update(Lanes *l, const IrStmt *s, IrBlock *out)
{
    const IrNode n = *ir_at(l->g, s->value);
    LaneValue *v = s->n_results ? vec_lane_value(l, vec_value(l, s->results[0].value)) : NULL;
    IrRef index[MAX_LANES];
    vec_request(l, s->index);
    vec_request(l, n.a[0]);
    vec_make_requested(l);
    for (uint32_t i = 0; i < l->lanes; i++) index[i] = vec_lane(l, s->index, i);
    if (v) v->form = LOADS;
    for (uint32_t i = 0, w; i < l->lanes; i += w) {
        const char *why, *name = v ? vec_lane_name(l, l->g->values[s->results[0].value].name, i) : NULL;
        const uint32_t near = vec_access_width(l, s->buffer, index, i, &why);
        w = vec_packed_lanes(l, &n, near);
        vec_record_access(l, s->buffer, true, w, w < near ? "the widest instruction of the target" : why);
        const IrType type = vec_with_lanes(n.type, w);
        const IrRef one = ir_node(l->g, (ScOp)n.op, type, n.flags, vec_lanes(l, n.a[0], i, w), 0, 0, 0);
        const IrRef made = ir_do_at(l->g, out, name, one, v ? type : 0, s->buffer, index[i]);
        if (v) v->at[i] = made, v->width[i] = (uint8_t)w;
    }
}

/* The instructions of several lanes work on global memory. */
static bool is_update(const Lanes *l, const IrStmt *s)
{
    const IrNode *n = ir_at(l->g, s->value);
    return s->index && IR_LANES(n->type) == 1 && l->k->buffers[s->buffer].space != IR_SHARED &&
           vec_packed_lanes(l, n, MAX_LANES) > 1;
}

/* Once a lane, lane after lane; a read is as wide as the lanes' elements are contiguous. */
void vec_do(Lanes *l, const IrStmt *s, IrBlock *out)
{
    const IrNode n = *ir_at(l->g, s->value);
    const bool copies = n.op == OP_COPY_ASYNC, reads = (copies || n.op == OP_READ) && IR_LANES(n.type) == 1;
    LaneValue *v = s->n_results ? vec_lane_value(l, vec_value(l, s->results[0].value)) : NULL;
    IrRef index[MAX_LANES] = {0}, from[MAX_LANES] = {0};
    if (is_update(l, s)) {
        update(l, s, out);
        return;
    }
    if (s->index) vec_request(l, s->index);
    if (copies) vec_request(l, s->from_index);
    vec_request(l, s->value);
    vec_make_requested(l);
    for (uint32_t i = 0; s->index && i < l->lanes; i++) index[i] = vec_lane(l, s->index, i);
    for (uint32_t i = 0; copies && i < l->lanes; i++) from[i] = vec_lane(l, s->from_index, i);
    if (v) v->form = reads ? LOADS : SCALARS;
    for (uint32_t i = 0, w = 1; i < l->lanes; i += w) {
        const char *why, *name = v ? vec_lane_name(l, l->g->values[s->results[0].value].name, i) : NULL;
        if (reads) w = vec_access_width(l, s->buffer, index, i, &why);
        if (reads && copies) w = WBB_MIN(w, vec_access_width(l, s->from, from, i, &why));
        if (reads) vec_record_access(l, copies ? s->from : s->buffer, false, w, why);
        const IrType type = reads ? vec_with_lanes(n.type, w) : n.type;
        const IrRef one = reads ? ir_node(l->g, (ScOp)n.op, type, n.flags, 0, 0, 0, 0) : vec_lane(l, s->value, i);
        const IrRef made = ir_do_at(l->g, out, name, one, v ? type : 0, s->buffer, index[i]);
        out->items[out->n - 1]->from = s->from;
        out->items[out->n - 1]->from_index = from[i];
        if (v) v->at[i] = made;
        if (v) v->width[i] = (uint8_t)w;
    }
}

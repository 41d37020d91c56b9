/* decode_lanes: operations of several lanes, and addresses in a cluster.
 *
 * Needs: table.c for operands. Leaves: operations of lanes_op.c, with the column of the mask of lanes in `e`.
 *
 *     shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1;   ->   OP_SHUFFLE, mode 3
 */
#include "sim/inner.h"

static const char *part_at(const Inst *inst, int i) { return i < inst->n_parts ? inst->part[i] : ""; }

/* shfl.sync.MODE.b32 d[|p], a, b, c, mask */
static void shuffle(Parser *p, const Inst *inst)
{
    static const char *const modes[] = {"idx", "up", "down", "bfly"};
    int mode = 0, at = inst->second ? 2 : 1;
    while (mode < 4 && strcmp(part_at(inst, 2), modes[mode]) != 0) mode++;
    if (mode == 4 || strcmp(part_at(inst, 1), "sync") != 0 || inst->n != at + 4)
        sim_unknown(p, inst, "unknown form of a shuffle");
    uint32_t col[4];
    for (int i = 0; i < 4; i++) col[i] = sim_read(p, &inst->opd[at + i], 'w');
    uint32_t d = sim_result(p, &inst->opd[0], 'w'),
             pred = inst->second && inst->opd[1].kind != OPD_SINK ? sim_result(p, &inst->opd[1], 'p') : 0;
    SimOp *op = sim_emit(p, OP_SHUFFLE);
    op->d = d, op->a = col[0], op->b = col[1], op->c = col[2], op->e = col[3];
    op->target = pred;
    op->mode = (uint8_t)mode;
    op->width = 4;
}

/* vote.sync.MODE d, [!]p, mask */
static void vote(Parser *p, const Inst *inst)
{
    static const char *const modes[] = {"any", "all", "uni", "ballot"};
    int mode = 0;
    while (mode < 4 && strcmp(part_at(inst, 2), modes[mode]) != 0) mode++;
    if (mode == 4 || strcmp(part_at(inst, 1), "sync") != 0 || inst->n != 3)
        sim_unknown(p, inst, "unknown form of a vote");
    uint32_t a = sim_read(p, &inst->opd[1], 'p'), mask = sim_read(p, &inst->opd[2], 'w');
    uint32_t d = sim_result(p, &inst->opd[0], mode == 3 ? 'w' : 'p');
    SimOp *op = sim_emit(p, OP_VOTE);
    op->d = d, op->a = a, op->e = mask;
    op->mode = (uint8_t)mode;
    op->width = mode == 3 ? 4 : 1;
}

/* redux.sync.OP.type d, a, mask. The mode: operation, 8 signed, 16 float, 32 .abs, 64 .NaN */
static void redux(Parser *p, const Inst *inst)
{
    static const char *const modes[] = {"add", "min", "max", "and", "or", "xor"};
    int mode = 0;
    while (mode < 6 && strcmp(part_at(inst, 2), modes[mode]) != 0) mode++;
    const char *type = inst->part[inst->n_parts - 1];
    const bool is_float = !strcmp(type, "f32"), abs = sim_has(inst, "abs"), nan = sim_has(inst, "NaN");
    const bool known = is_float                   ? mode == 1 || mode == 2
                       : strcmp(type, "b32") == 0 ? mode > 2
                                                  : (!strcmp(type, "s32") || !strcmp(type, "u32")) && mode < 3;
    if (mode == 6 || strcmp(part_at(inst, 1), "sync") != 0 || !known || inst->n != 3 ||
        inst->n_parts != 4 + abs + nan || ((abs || nan) && !is_float))
        sim_unknown(p, inst, "unknown form of redux");
    const uint32_t a = sim_read(p, &inst->opd[1], 'w'), mask = sim_read(p, &inst->opd[2], 'w'),
                   d = sim_result(p, &inst->opd[0], 'w');
    SimOp *op = sim_emit(p, OP_REDUX);
    op->d = d, op->a = a, op->e = mask;
    op->mode = (uint8_t)(mode | (type[0] == 's' ? 8 : 0) | is_float << 4 | abs << 5 | nan << 6);
    op->width = 4;
}

/* match.any.sync.bN d, a, mask; match.all.sync.bN d|p, a, mask */
static void match(Parser *p, const Inst *inst)
{
    const bool all = !strcmp(part_at(inst, 1), "all"), wide = !strcmp(part_at(inst, 3), "b64");
    const int at = inst->second ? 2 : 1;
    if ((!all && strcmp(part_at(inst, 1), "any")) || strcmp(part_at(inst, 2), "sync") ||
        (!wide && strcmp(part_at(inst, 3), "b32")) || inst->n != at + 2 || (inst->second && !all) || inst->n_parts != 4)
        sim_unknown(p, inst, "unknown form of match");
    const uint32_t a = sim_read(p, &inst->opd[at], wide ? 'd' : 'w'), mask = sim_read(p, &inst->opd[at + 1], 'w');
    const uint32_t d = sim_result(p, &inst->opd[0], 'w'),
                   pred = inst->second && inst->opd[1].kind != OPD_SINK ? sim_result(p, &inst->opd[1], 'p') : 0;
    SimOp *op = sim_emit(p, OP_MATCH);
    op->d = d, op->a = a, op->e = mask;
    op->target = pred;
    op->mode = all;
    op->bytes = wide ? 8 : 4;
    op->width = 4;
}

/* elect.sync d|p, mask */
static void elect(Parser *p, const Inst *inst)
{
    if (strcmp(part_at(inst, 1), "sync") || inst->n_parts != 2 || inst->n != 3 || !inst->second)
        sim_unknown(p, inst, "unknown form of elect");
    const uint32_t mask = sim_read(p, &inst->opd[2], 'w'), d = sim_result(p, &inst->opd[0], 'w'),
                   pred = sim_result(p, &inst->opd[1], 'p');
    SimOp *op = sim_emit(p, OP_ELECT);
    op->d = d, op->e = mask;
    op->target = pred;
    op->width = 4;
}

/* mapa{.shared::cluster}.type d, a, rank; getctarank{.shared::cluster}.u32 d, a */
static void cluster_address(Parser *p, const Inst *inst, bool map)
{
    const bool shared = sim_has(inst, "shared::cluster");
    const char *type = inst->part[inst->n_parts - 1];
    const bool wide = map ? !strcmp(type, "u64")
                          : !shared || (inst->n > 1 && inst->opd[1].kind == OPD_REG && inst->opd[1].width == 8);
    if ((!wide && strcmp(type, "u32")) || inst->n_parts != 2 + shared || inst->n != 2 + map)
        sim_unknown(p, inst, "unknown form of an address in a cluster");
    const char letter = wide ? 'd' : 'w', to = map ? letter : 'w';
    const uint32_t a = sim_read(p, &inst->opd[1], letter),
                   b = map ? sim_read(p, &inst->opd[2], 'w') : sim_special(p, SP_CLUSTER_CTARANK);
    const uint32_t d = sim_result(p, &inst->opd[0], to);
    sim_row(p, map ? (wide ? "%mapa.u64" : "%mapa.u32") : wide ? "%rank.u64" : "%rank.u32", d, a, b, 0);
    sim_done(p, &inst->opd[0], d, to, false);
}

bool sim_decode_lanes(Parser *p, const Inst *inst)
{
    const char *op = inst->part[0];
    if (strcmp(op, "shfl") == 0) shuffle(p, inst);
    else if (strcmp(op, "vote") == 0) vote(p, inst);
    else if (strcmp(op, "redux") == 0) redux(p, inst);
    else if (strcmp(op, "match") == 0) match(p, inst);
    else if (strcmp(op, "elect") == 0) elect(p, inst);
    else if (strcmp(op, "mapa") == 0) cluster_address(p, inst, true);
    else if (strcmp(op, "getctarank") == 0) cluster_address(p, inst, false);
    else if (strcmp(op, "activemask") == 0 && inst->n == 1) {
        const uint32_t d = sim_result(p, &inst->opd[0], 'w');
        SimOp *o = sim_emit(p, OP_ACTIVE);
        o->d = d;
        o->width = 4;
    } else return false;
    return true;
}

/* special: the special registers, each a column that block.c fills; those that differ from run to run an operation
 * reads anew.
 *
 * Needs: symbols.c for columns. Leaves: a register operand; for the time and the like, an operation before that of
 * the instruction.
 *
 *     mov.u32 %r1, %tid.x;   ->   operand: the column of %tid.x
 *     mov.u32 %r1, %clock;   ->   OP_CLOCK c; operand: the column c
 */
#include "sim/inner.h"

/* Names and bytes of special registers, in the order of SP_. */
static const struct {
    const char *name;
    uint8_t width;
} specials[SP_COUNT] = {
    {"%tid.x", 4}, {"%tid.y", 4}, {"%tid.z", 4}, {"%ntid.x", 4}, {"%ntid.y", 4}, {"%ntid.z", 4}, {"%ctaid.x", 4}, {"%ctaid.y", 4},
    {"%ctaid.z", 4}, {"%nctaid.x", 4}, {"%nctaid.y", 4}, {"%nctaid.z", 4}, {"%laneid", 4}, {"%warpid", 4}, {"%nwarpid", 4},
    {"%lanemask_eq", 4}, {"%lanemask_le", 4}, {"%lanemask_lt", 4}, {"%lanemask_ge", 4}, {"%lanemask_gt", 4}, {"%clusterid.x", 4},
    {"%clusterid.y", 4}, {"%clusterid.z", 4}, {"%nclusterid.x", 4}, {"%nclusterid.y", 4}, {"%nclusterid.z", 4}, {"%cluster_ctaid.x", 4},
    {"%cluster_ctaid.y", 4}, {"%cluster_ctaid.z", 4}, {"%cluster_nctaid.x", 4}, {"%cluster_nctaid.y", 4}, {"%cluster_nctaid.z", 4},
    {"%cluster_ctarank", 4}, {"%cluster_nctarank", 4}, {"%is_explicit_cluster", 1}, {"%smid", 4}, {"%nsmid", 4}, {"%gridid", 8},
    {"%dynamic_smem_size", 4}, {"%total_smem_size", 4}, {"%clock", 4}, {"%clock_hi", 4}, {"%clock64", 8}, {"%globaltimer", 8},
    {"%globaltimer_lo", 4}, {"%globaltimer_hi", 4}, {"%envreg", 4},
};

uint32_t sim_special(Parser *p, int which)
{
    if (!p->m->special[which]) p->m->special[which] = sim_column(p, specials[which].width);
    return p->m->special[which];
}

const char *sim_special_name(uint32_t which) { return specials[which].name; }

/* The time, and what tells one multiprocessor, one launch or one slot for a warp from another: no result may depend
 * on them. */
static bool varies(int which)
{
    return (which >= SP_CLOCK && which <= SP_ENVREG) || which == SP_SMID || which == SP_NSMID || which == SP_GRIDID;
}

/* The operand of a special register; one that varies is read anew for each instruction. */
bool sim_special_operand(Parser *p, const char *name, Opd *o)
{
    int i = 0;
    if (!strncmp(name, "%envreg", 7) && name[7]) name = "%envreg";
    while (i < SP_COUNT && strcmp(name, specials[i].name)) i++;
    if (i == SP_COUNT) return false;
    o->kind = OPD_REG;
    o->width = specials[i].width;
    if (!varies(i)) {
        o->col = sim_special(p, i);
        return true;
    }
    o->col = sim_column(p, o->width);
    p->first = false;
    SimOp *op = sim_emit(p, OP_CLOCK);
    op->d = o->col;
    op->width = o->width;
    op->n = (uint32_t)i;
    return true;
}

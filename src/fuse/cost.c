/* cost: what operations and bytes of a kernel cost, before there is code.
 *
 * Needs: the rates of a target. Leaves: seconds of the whole machine, as if all of it were busy.
 *
 *     exponential f32[1048576] on sm_90     8 MiB of DRAM are 1.75 us, 12 instructions each 0.38 us, a launch 1.7 us
 */
#include "fuse/priced.h"

double fuse_bytes_read(WbbArena *a, const FuseRates *r, const HloInstruction *i, uint32_t operand)
{
    const HloInstruction *x = i->operands[operand];
    const double all = (double)hlo_bytes(x->shape);
    if (x->shape->type == SC_TUPLE || i->shape->type == SC_TUPLE) return all;
    const double elements = (double)hlo_elements(x->shape);
    const double share = fuse_needed(a, i, operand, (double)hlo_elements(i->shape)) / WBB_MAX(elements, 1);
    const double needed = all * WBB_MIN(share, 1);
    if (i->opcode != HLO_SLICE || needed <= 0) return needed;
    double run = sc_type_info[i->shape->type].bits / 8.0; /* bytes side by side */
    for (uint32_t k = 0; k < i->shape->rank; k++) {
        const uint32_t d = x->shape->minor_to_major[k];
        if (i->slices[d].stride != 1 && i->shape->dims[d] > 1) break;
        run *= (double)i->shape->dims[d];
        if (i->shape->dims[d] != x->shape->dims[d]) break;
    }
    return WBB_MIN(all, needed * WBB_MAX(r->sector / run, 1));
}

static double one(WbbArena *a, const FuseRates *r, const HloInstruction *i)
{
    if (hlo_has_starts(i->opcode)) return r->place;
    switch (i->opcode) {
    case HLO_CONCATENATE: return r->slots(r->of, i) + r->move;
    case HLO_PAD: /* windows share what a border selects */
        return r->slots(r->of, i) + (hlo_is_border(i) && i->n_users > 1 ? 0 : r->move);
    case HLO_REDUCE_WINDOW: return r->window * fuse_terms(a, i);
    case HLO_REDUCE: return fuse_terms(a, i);
    case HLO_WHILE: return r->loop;
    default: return r->slots(r->of, i);
    }
}

double fuse_work(WbbArena *a, const FuseRates *r, const HloInstruction *i)
{
    return one(a, r, i) * (i->shape->type == SC_F64 || i->shape->type == SC_C128 ? r->f64 : 1);
}

double fuse_time(const FuseRates *r, double work, double bytes, double chain)
{
    const double terms[] = {work * r->slot, bytes * r->byte, chain};
    return r->together(r->of, terms, WBB_LEN(terms));
}

bool fuse_row_fits(const FuseRates *r, const FuseAtoms *s, const FusePos *space)
{
    const FusePos p = fuse_resolve(s, space);
    if (!p.known || !p.n) return p.known;
    double reduced = 1, kept = 1, inner = 1; /* inner: kept elements side by side, at most `side` */
    for (uint32_t k = 0; k < p.n; k++)
        *(s->items[p.atoms[k]].reduced ? &reduced : &kept) *= (double)s->items[p.atoms[k]].size;
    for (uint32_t k = p.n; k-- > 0 && !s->items[p.atoms[k]].reduced;) inner *= (double)s->items[p.atoms[k]].size;
    inner = WBB_MIN(inner, r->side);
    /* Blocks of one launch: of a row, or of a tile of columns, as many as a cluster has. Few blocks reach a part of
     * the machine's bandwidth, which must not cost more than to read the terms once more in another launch. Rows that
     * do not fit in registers are read again either way. */
    const double blocks = kept / inner * WBB_MIN(r->cluster, WBB_MAX(reduced * inner / r->block, 1));
    const double once = sizeof(float) * reduced * kept * r->byte;
    return once * r->sms / WBB_MIN(blocks, r->sms) <= r->again * once + r->launch;
}

/* ticket.c: blocks that have parts of a result, of which the last one to leave its part in memory goes on with all.
 *
 * Needs the stores of a block's part; leaves a condition that the last block's threads alone have, who then see the
 * parts of all. The numbers that are drawn begin with 0 again after the last one, for the next run.
 *
 *     do barrier()   if tid == 0 { n = do ticket(%turn[group]); do store %last[0], n }   do barrier()   n == blocks - 1
 */
#include "emit/inner.h"

static const IrType u32 = IR_TYPE(SC_U32, 0);

EmitTickets emit_add_tickets(EmitValues *e, int64_t groups)
{
    return (EmitTickets){.turn = emit_add_buffer(e, "turn", IR_TEMP, SC_U32, groups, true)};
}

uint32_t emit_add_last(EmitValues *e) { return emit_add_buffer(e, "last", IR_SHARED, SC_U32, 1, false); }

IrRef emit_is_last(EmitValues *e, const EmitTickets *t, IrRef tid, IrRef group, int64_t blocks)
{
    const IrRef zero = ir_index(e->g, 0), most = ir_const(e->g, u32, (uint64_t)blocks - 1);
    emit_barrier(e);
    EmitIf one = emit_if(e, rw_compare(e->rw, OP_EQ, tid, zero));
    const IrRef ticket = ir_node(e->g, OP_TICKET, u32, 0, most, 0, 0, 0);
    const IrRef drawn = ir_do_at(e->g, emit_block(e), emit_name(e, "n"), ticket, u32, t->turn, group);
    emit_bound(e, drawn);
    emit_store(e, t->last, zero, drawn);
    emit_close_if(e, &one);
    emit_barrier(e);
    const IrRef read = ir_node(e->g, OP_READ, u32, 0, 0, 0, 0, 0);
    const IrRef mine = ir_do_at(e->g, emit_block(e), emit_name(e, "r"), read, u32, t->last, zero);
    emit_bound(e, mine);
    return ir_node(e->g, OP_EQ, IR_TYPE(SC_PRED, 0), 0, mine, most, 0, 0);
}

/* matrix: ldmatrix and stmatrix, which a whole warp executes together.
 *
 * Needs: table.c for operands, memory.c for addresses. Leaves: operations, and changed shared memory and columns.
 *
 * A matrix has 8 rows of 8 elements of 16 bits; row r of matrix i lies at the address that lane 8 * i + r holds.
 * Lane t has elements 2 * (t % 4) and the next one of row t / 4; under .trans rows and columns are exchanged (PTX
 * ISA 9.7.14.5.15 and .16).
 *
 *     ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%rd1];
 */
#include "sim/inner.h"

enum { ROWS = 8, ROW_BYTES = 16 };

void sim_decode_matrix(Parser *p, const Inst *inst)
{
    const bool store = !strcmp(inst->part[0], "stmatrix");
    const int count = sim_has(inst, "x4") ? 4 : sim_has(inst, "x2") ? 2 : sim_has(inst, "x1") ? 1 : 0;
    const bool form = count && sim_has(inst, "sync") && sim_has(inst, "aligned") && sim_has(inst, "m8n8") &&
                      !strcmp(inst->part[inst->n_parts - 1], "b16") &&
                      (sim_has(inst, "shared") || sim_has(inst, "shared::cta")) && inst->n == 2;
    if (!form) sim_unknown(p, inst, "unknown form of a matrix access");
    const Opd *address = &inst->opd[store ? 0 : 1], *v = &inst->opd[store ? 1 : 0];
    if (address->kind != OPD_ADDRESS) wbb_fail(p->cx, address->loc, "expected an address in brackets");
    if (v->kind != OPD_VECTOR || v->n != count) wbb_fail(p->cx, v->loc, "expected a vector of %d registers", count);
    uint32_t column[4];
    for (int i = 0; i < count; i++)
        column[i] = store ? sim_read(p, &v->items[i], 'w') : sim_result(p, &v->items[i], 'w');
    const int address_width = address->items[0].kind == OPD_REG && address->items[0].width == 4 ? 4 : 8;
    const uint32_t base = sim_read(p, &address->items[0], address_width == 4 ? 'w' : 'd'),
                   all = sim_constant(p, FULL, 4);
    SimOp *op = sim_emit(p, OP_MATRIX);
    op->space = SIM_SHARED;
    op->lanes_n = (uint8_t)count;
    op->bytes = ROW_BYTES;
    op->address = (uint8_t)address_width;
    op->mode = (uint8_t)(store | sim_has(inst, "trans") << 1);
    op->width = 4;
    op->a = base;
    op->e = all; /* all lanes of the warp must come */
    op->imm = address->offset;
    op->target = p->m->cols.n;
    for (int i = 0; i < count; i++) {
        const SimCol c = {.col = column[i], .width = 4};
        WBB_PUSH(p->arena, &p->m->cols, c);
    }
}

/* Row and column of half h of lane t. */
static void element(const SimOp *op, int t, int h, int *row, int *column)
{
    const int major = t / 4, minor = 2 * (t % 4) + h;
    const bool trans = op->mode & 2;
    *row = trans ? minor : major;
    *column = trans ? major : minor;
}

void sim_matrix(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    (void)mask; /* all lanes have come */
    const bool store = op->mode & 1;
    if (b->tally) { /* one row a lane */
        uint64_t address[LANES];
        sim_addresses(w, op, address);
        sim_count_access(b, op, address, op->lanes_n == 4 ? FULL : (1u << (ROWS * op->lanes_n)) - 1,
                         store ? SIM_STORED : SIM_LOADED, ROW_BYTES);
    }
    for (int i = 0; i < op->lanes_n; i++) {
        uint8_t *const to = w->regs + b->m->cols.items[op->target + (uint32_t)i].col;
        uint16_t rows[ROWS][ROW_BYTES / 2] = {0};
        for (int t = 0; store && t < LANES; t++)
            for (int h = 0; h < 2; h++) {
                int row, column;
                element(op, t, h, &row, &column);
                memcpy(&rows[row][column], to + 4 * t + 2 * h, 2);
            }
        for (int r = 0; r < ROWS; r++) {
            uint8_t *at = sim_row_memory_at(b, w, op, ROWS * i + r, store);
            if (!at) continue;
            if (store) memcpy(at, rows[r], ROW_BYTES);
            else memcpy(rows[r], at, ROW_BYTES);
        }
        for (int t = 0; !store && t < LANES; t++)
            for (int h = 0; h < 2; h++) {
                int row, column;
                element(op, t, h, &row, &column);
                memcpy(to + 4 * t + 2 * h, &rows[row][column], 2);
            }
    }
}

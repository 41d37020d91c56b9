/* fault: the text of a fault: kernel, block, thread, the line of PTX, and the source line that the PTX was made
 * from.
 *
 * Needs: the running warp and operation. Leaves: one fault more in the report; without check, and in a launch that
 * is spread over several threads, the block stops.
 *
 *     k, block (1,0,0), thread (5,0,0): load of 4 bytes out of bounds: byte 128 of input buffer 0, which has 128
 *         k.ptx:7: ld.global.f32 %f1, [%rd1+128];
 */
#include "sim/inner.h"

void sim_block_ids(const BdLaunch *launch, uint64_t number, uint32_t rank, uint32_t id[3])
{
    const uint32_t *size = launch->cluster;
    const uint64_t nx = launch->grid[0] / size[0], ny = launch->grid[1] / size[1];
    const uint64_t at[] = {number % nx, number / nx % ny, number / nx / ny};
    const uint32_t in[] = {rank % size[0], rank / size[0] % size[1], rank / size[0] / size[1]};
    for (int i = 0; i < 3; i++) id[i] = (uint32_t)at[i] * size[i] + in[i];
}

void sim_add_fault(Block *b, uint64_t key, const char *text)
{
    if (b->spread) {
        b->stop = true;
        return;
    }
    for (int i = 0; i < b->report.n_faults; i++)
        if (b->fault_keys[i] == key) return; /* one of a kind for each line */
    if (b->report.n_faults == SIM_MAX_FAULTS) {
        b->stop = true;
        return;
    }
    b->fault_keys[b->report.n_faults] = key;
    b->report.faults[b->report.n_faults++] = wbb_format(b->arena, "%s", text);
    if (!b->options->check) b->stop = true;
}

void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...)
{
    WbbBuf t = wbb_buf(b->arena);
    uint32_t thread = w->first_thread + (uint32_t)lane;
    const uint32_t *size = b->launch->block;
    wbb_putf(&t, "%s, block (%u,%u,%u), thread (%u,%u,%u): ", b->entry->name, b->id[0], b->id[1], b->id[2],
             thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]);
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wbb_put(&t, text);
    const char *at = b->m->text;
    for (int line = 1; line < op->line && at; line++) {
        at = strchr(at, '\n');
        if (at) at++;
    }
    if (at) {
        at += strspn(at, " \t");
        wbb_putf(&t, "\n    %s:%d: %.*s", b->m->file, op->line, (int)strcspn(at, "\n"), at);
    }
    if (op->source) {
        const SimLocation *l = &b->m->locations.items[op->source - 1];
        wbb_putf(&t, " (from %s:%d", l->file ? l->file : "?", l->line);
        if (l->user) wbb_putf(&t, ", for %s:%d", l->user, l->user_line);
        wbb_put(&t, ")");
    }
    sim_add_fault(b, (uint64_t)op->line << 32 ^ wbb_hash(format, strlen(format), 0) >> 32, t.text);
}

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

/* True if the fault is to be kept. One of a key is, so that a fault in a loop takes no memory again and again. */
static bool is_new(Block *b, uint64_t key)
{
    const Faults *f = &b->all->faults;
    if (!b->options->check || b->spread || f->n == SIM_MAX_FAULTS) b->stop = true;
    if (b->spread || f->n == SIM_MAX_FAULTS) return false;
    for (int i = 0; i < f->n; i++)
        if (f->keys[i] == key) return false;
    return true;
}

static void add(Block *b, uint64_t key, const char *text)
{
    Faults *f = &b->all->faults;
    f->keys[f->n] = key;
    f->texts[f->n++] = text;
}

void sim_add_fault(Block *b, uint64_t key, const char *text)
{
    if (is_new(b, key)) add(b, key, wbb_format(b->arena, "%s", text));
}

void sim_fault(Block *b, const Warp *w, const SimOp *op, int lane, const char *format, ...)
{
    const uint64_t key = (uint64_t)op->line << 32 ^ wbb_hash(format, strlen(format), 0) >> 32;
    if (!is_new(b, key)) return;
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
    add(b, key, t.text);
}

/* system: the functions that CUDA's runtime provides to kernels: vprintf and __assertfail.
 *
 * Needs: a call whose callee got a body of one operation (parse.c). Leaves: the result of vprintf, which prints
 * nothing here, or a fault with the text of the assertion. Others, such as malloc, have no body and are refused
 * where they are called.
 *
 *     call.uni __assertfail, (message, file, line, function, 1)   ->   fault: assertion failed: i < n (scan.cu:12, k)
 */
#include "sim/inner.h"

enum { SYSTEM_PRINT, SYSTEM_ASSERT, LONGEST = 200 };

int sim_system_number(const char *name)
{
    return !strcmp(name, "vprintf") ? SYSTEM_PRINT : !strcmp(name, "__assertfail") ? SYSTEM_ASSERT : -1;
}

/* A text in memory, cut at LONGEST bytes and at its end. */
static const char *text_at(Block *b, Warp *w, const SimOp *op, int lane, uint64_t address, char text[LONGEST + 1])
{
    int n = 0;
    for (; n < LONGEST; n++) {
        const uint8_t *at = sim_memory_at(b, w, op, lane, address + (uint64_t)n, 1, true, false);
        if (!at || !*at) break;
        text[n] = *at >= ' ' && *at < 127 ? (char)*at : '?';
    }
    text[n] = 0;
    return text;
}

/* Conversions in a format; what printf on the device returns. */
static int32_t conversions(const char *format)
{
    int32_t n = 0;
    for (; *format; format++) {
        if (*format != '%') continue;
        if (format[1] == '%') format++;
        else n++;
    }
    return n;
}

static uint64_t param(const Warp *w, const SimSym *s, int lane)
{
    uint64_t v = 0;
    memcpy(&v, w->regs + s->col + (size_t)lane * s->size, WBB_MIN(s->size, 8));
    return v;
}

void sim_system(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    const SimFunc *f = b->m->funcs.items[op->target];
    char text[LONGEST + 1], file[LONGEST + 1], name[LONGEST + 1];
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        if (op->mode == SYSTEM_PRINT) {
            const int32_t n = conversions(text_at(b, w, op, lane, param(w, f->params[0], lane), text));
            if (f->n_rets == 1 && f->rets[0]->size == 4) memcpy(w->regs + f->rets[0]->col + 4 * (size_t)lane, &n, 4);
            continue;
        }
        if (f->n_params < 4) continue;
        sim_fault(b, w, op, lane, "assertion failed: %s (%s:%u, %s)",
                  text_at(b, w, op, lane, param(w, f->params[0], lane), text),
                  text_at(b, w, op, lane, param(w, f->params[1], lane), file), (unsigned)param(w, f->params[2], lane),
                  text_at(b, w, op, lane, param(w, f->params[3], lane), name));
        b->stop = true;
        return;
    }
}

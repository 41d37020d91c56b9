/* counts.c: what a kernel executed, as text and as JSON: `run --counts`.
 *
 * Needs SimCounts of all launches of a run. The text leaves out what is zero; the JSON has every class, and each
 * space and kind of access to memory that occurred, so that two compilers' objects can be subtracted key by key.
 *
 *     instructions: 5120 by threads, 160 by warps: f32 32, load 32, store 32, ..
 *     global load: 32 requests of 16 bytes, 16384 bytes, 512 sectors
 */
#include "main/run.h"

#define ULL(x) ((unsigned long long)(x))

static void text_widths(WbbBuf *b, const SimTraffic *t)
{
    bool first = true;
    for (int w = 0; w < 6; w++) {
        if (!t->widths[w]) continue;
        wbb_putf(b, "%s%llu requests of %d bytes", first ? "" : ", ", ULL(t->widths[w]), 1 << w);
        first = false;
    }
}

static void text_memory(WbbBuf *b, const SimCounts *c)
{
    for (int space = 0; space < SIM_SPACES; space++)
        for (int kind = 0; kind < SIM_ACCESSES; kind++) {
            const SimTraffic *t = &c->memory[space][kind];
            if (!t->requests) continue;
            wbb_putf(b, "%s %s: ", sim_space_name[space], sim_access_name[kind]);
            text_widths(b, t);
            wbb_putf(b, "; %llu bytes", ULL(t->bytes));
            if (space == SIM_SHARED)
                wbb_putf(b, ", %llu wavefronts, %llu of them bank conflicts\n", ULL(t->wavefronts), ULL(t->conflicts));
            else wbb_putf(b, ", %llu sectors\n", ULL(t->sectors));
        }
}

void main_put_counts(WbbBuf *b, const SimCounts *c)
{
    wbb_putf(b, "executed: %llu threads, %llu warps, %llu blocks, %llu launches\n", ULL(c->threads), ULL(c->warps),
             ULL(c->blocks), ULL(c->launches));
    wbb_putf(b, "instructions: %llu by threads, %llu by warps\n", ULL(c->thread_instructions),
             ULL(c->warp_instructions));
    for (int k = 0; k < SIM_CLASSES; k++)
        if (c->warps_by[k])
            wbb_putf(b, "  %s: %llu by threads, %llu by warps\n", sim_class_name[k], ULL(c->threads_by[k]),
                     ULL(c->warps_by[k]));
    wbb_putf(b, "branches: %llu by warps, %llu divergent\n", ULL(c->branches), ULL(c->divergent));
    text_memory(b, c);
}

static void json_classes(WbbBuf *b, const char *key, const uint64_t counts[SIM_CLASSES])
{
    wbb_json_open(b, key, '{');
    for (int k = 0; k < SIM_CLASSES; k++) wbb_json_uint(b, sim_class_name[k], counts[k]);
    wbb_json_close(b, '}');
}

static void json_traffic(WbbBuf *b, const char *key, const SimTraffic *t, bool shared)
{
    wbb_json_open(b, key, '{');
    wbb_json_uint(b, "requests", t->requests);
    wbb_json_uint(b, "bytes", t->bytes);
    if (shared) {
        wbb_json_uint(b, "wavefronts", t->wavefronts);
        wbb_json_uint(b, "conflicts", t->conflicts);
    } else {
        wbb_json_uint(b, "sectors", t->sectors);
    }
    wbb_json_open(b, "widths", '{');
    for (int w = 0; w < 6; w++)
        if (t->widths[w]) wbb_json_uint(b, wbb_format(b->arena, "%d", 1 << w), t->widths[w]);
    wbb_json_close(b, '}');
    wbb_json_close(b, '}');
}

/* Spaces and kinds of access that occurred. */
static void json_memory(WbbBuf *b, const SimCounts *c)
{
    wbb_json_open(b, "memory", '{');
    for (int space = 0; space < SIM_SPACES; space++) {
        bool is_open = false;
        for (int kind = 0; kind < SIM_ACCESSES; kind++) {
            const SimTraffic *t = &c->memory[space][kind];
            if (!t->requests) continue;
            if (!is_open) wbb_json_open(b, sim_space_name[space], '{');
            is_open = true;
            json_traffic(b, sim_access_name[kind], t, space == SIM_SHARED);
        }
        if (is_open) wbb_json_close(b, '}');
    }
    wbb_json_close(b, '}');
}

void main_put_counts_json(WbbBuf *b, const char *key, const SimCounts *c)
{
    wbb_json_open(b, key, '{');
    wbb_json_uint(b, "launches", c->launches);
    wbb_json_uint(b, "blocks", c->blocks);
    wbb_json_uint(b, "warps", c->warps);
    wbb_json_uint(b, "threads", c->threads);
    wbb_json_uint(b, "thread_instructions", c->thread_instructions);
    wbb_json_uint(b, "warp_instructions", c->warp_instructions);
    json_classes(b, "by_threads", c->threads_by);
    json_classes(b, "by_warps", c->warps_by);
    wbb_json_uint(b, "branches", c->branches);
    wbb_json_uint(b, "divergent", c->divergent);
    json_memory(b, c);
    wbb_json_close(b, '}');
}

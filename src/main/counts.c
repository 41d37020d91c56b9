/* counts.c: what a kernel executed, as text and as JSON: `run --counts`.
 *
 * Needs SimCounts of all launches of a run. The text leaves out what is zero; the JSON has every class and, of memory, each space and
 * kind of access that occurred, so that two compilers' objects can be subtracted key by key.
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
            if (space == SIM_SHARED) wbb_putf(b, ", %llu wavefronts, %llu of them bank conflicts\n", ULL(t->wavefronts), ULL(t->conflicts));
            else wbb_putf(b, ", %llu sectors\n", ULL(t->sectors));
        }
}

void main_put_counts(WbbBuf *b, const SimCounts *c)
{
    wbb_putf(b, "executed: %llu threads, %llu warps, %llu blocks, %llu launches\n", ULL(c->threads), ULL(c->warps), ULL(c->blocks), ULL(c->launches));
    wbb_putf(b, "instructions: %llu by threads, %llu by warps\n", ULL(c->thread_instructions), ULL(c->warp_instructions));
    for (int k = 0; k < SIM_CLASSES; k++)
        if (c->warps_by[k]) wbb_putf(b, "  %s: %llu by threads, %llu by warps\n", sim_class_name[k], ULL(c->threads_by[k]), ULL(c->warps_by[k]));
    wbb_putf(b, "branches: %llu by warps, %llu divergent\n", ULL(c->branches), ULL(c->divergent));
    text_memory(b, c);
}

static void json_classes(WbbBuf *b, const char *name, const uint64_t counts[SIM_CLASSES])
{
    wbb_putf(b, ", \"%s\": {", name);
    for (int k = 0; k < SIM_CLASSES; k++) wbb_putf(b, "%s\"%s\": %llu", k ? ", " : "", sim_class_name[k], ULL(counts[k]));
    wbb_put(b, "}");
}

static void json_traffic(WbbBuf *b, const SimTraffic *t, bool shared)
{
    wbb_putf(b, "{\"requests\": %llu, \"bytes\": %llu", ULL(t->requests), ULL(t->bytes));
    if (shared) wbb_putf(b, ", \"wavefronts\": %llu, \"conflicts\": %llu", ULL(t->wavefronts), ULL(t->conflicts));
    else wbb_putf(b, ", \"sectors\": %llu", ULL(t->sectors));
    wbb_put(b, ", \"widths\": {");
    bool first = true;
    for (int w = 0; w < 6; w++) {
        if (!t->widths[w]) continue;
        wbb_putf(b, "%s\"%d\": %llu", first ? "" : ", ", 1 << w, ULL(t->widths[w]));
        first = false;
    }
    wbb_put(b, "}}");
}

void main_put_counts_json(WbbBuf *b, const SimCounts *c)
{
    wbb_putf(b, "{\"launches\": %llu, \"blocks\": %llu, \"warps\": %llu, \"threads\": %llu, \"thread_instructions\": %llu, \"warp_instructions\": %llu",
             ULL(c->launches), ULL(c->blocks), ULL(c->warps), ULL(c->threads), ULL(c->thread_instructions), ULL(c->warp_instructions));
    json_classes(b, "by_threads", c->threads_by);
    json_classes(b, "by_warps", c->warps_by);
    wbb_putf(b, ", \"branches\": %llu, \"divergent\": %llu, \"memory\": {", ULL(c->branches), ULL(c->divergent));
    bool first_space = true;
    for (int space = 0; space < SIM_SPACES; space++) {
        bool first = true;
        for (int kind = 0; kind < SIM_ACCESSES; kind++) {
            const SimTraffic *t = &c->memory[space][kind];
            if (!t->requests) continue;
            if (first) wbb_putf(b, "%s\"%s\": {", first_space ? "" : ", ", sim_space_name[space]);
            wbb_putf(b, "%s\"%s\": ", first ? "" : ", ", sim_access_name[kind]);
            json_traffic(b, t, space == SIM_SHARED);
            first = first_space = false;
        }
        if (!first) wbb_put(b, "}");
    }
    wbb_put(b, "}}");
}

/* ptx_fuzz: any text is read as PTX or refused at a place, and a kernel that is read runs to an end.
 *
 * A kernel gets a buffer of 256 bytes for each parameter, one block of 64 threads and a small budget of instructions.
 *
 *     CC=clang meson setup build-fuzz -Dfuzz=true && ninja -C build-fuzz
 *     build-fuzz/tests/ptx_fuzz -dict=tests/fuzz/ptx.dict FOLDER
 */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16, BUFFER = 256, BUFFERS = 8 };

typedef struct {
    const char *text;
    int n_args;
} Case;

static void body(WbbCx *cx, void *arg)
{
    static const int args[BUFFERS] = {0, 1, 2, 3, 4, 5, 6, 7};
    const Case *c = arg;
    WbbArena *a = cx->arena;
    const SimModule *m = sim_parse(cx, a, "fuzz.ptx", c->text);
    const char *entry = sim_entry(m, 0);
    if (!entry) return;
    SimBuffer buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = (SimBuffer){.bytes = wbb_alloc(a, BUFFER),
                                 .size = BUFFER,
                                 .role = i ? BD_OUT : BD_IN,
                                 .writes = i > 1 ? BD_ATOMIC : BD_ONCE,
                                 .initialised = i > 2};
    const SimOptions options = {.check = true, .budget = 2000};
    const BdLaunch launch = {.entry = entry,
                             .grid = {2, 1, 1},
                             .block = {64, 1, 1},
                             .cluster = {1, 1, 1},
                             .shared = 64,
                             .n_args = c->n_args,
                             .args = args};
    SimReport report;
    sim_run(cx, a, m, &launch, buffers, BUFFERS, &options, &report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST) return 0;
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    for (int n = 2; n < 4; n++) { /* most kernels have two or three parameters; a wrong number is refused */
        WbbCx *cx = wbb_cx_new();
        if (!cx) break;
        wbb_arena_limit(cx->arena, (size_t)1 << 30);
        Case c = {text, n};
        if (wbb_guard(cx, body, &c) == WBB_FAILED && !strstr(cx->messages, "error: ")) abort();
        wbb_cx_free(cx);
    }
    free(text);
    return 0;
}

#include "files.h"

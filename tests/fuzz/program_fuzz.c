/* program_fuzz: any text is read as a program.json or refused at a place; what is read is written, and that is read
 * again and written as the same bytes.
 *
 *     CC=clang meson setup build-fuzz -Dfuzz=true && ninja -C build-fuzz
 *     python3 tests/fuzz/program_fuzz.py build-fuzz/tests/program_fuzz 600
 */
#include "program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

typedef struct {
    const char *text;
    bool read; /* the text is a program */
} Case;

static void body(WbbCx *cx, void *arg)
{
    Case *c = arg;
    const ProgModule *p = prog_parse(cx, cx->arena, "program.json", c->text);
    c->read = true;
    const char *once = prog_json(cx->arena, p);
    const char *twice = prog_json(cx->arena, prog_parse(cx, cx->arena, "program.json", once));
    WbbBuf b = wbb_buf(cx->arena);
    prog_summary(&b, p);
    if (strcmp(once, twice)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST) return 0;
    char *text = malloc(size + 1);
    WbbCx *cx = wbb_cx_new();
    if (!text || !cx) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    Case c = {text, false};
    if (wbb_guard(cx, body, &c) != WBB_OK && (c.read || strncmp(cx->messages, "program.json:", 13))) {
        fputs(cx->messages, stderr);
        abort();
    }
    wbb_cx_free(cx);
    free(text);
    return 0;
}

#include "files.h"

/* json_text.h: a fuzzer of texts that are read, written, read again and written as the same bytes. The includer has
 *
 *     #define NAME "kernel.json"                                   // the file that messages name
 *     static const char *again(WbbCx *cx, const char *text, bool *read);   // *read: it was read; returns it as written
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 };

typedef struct {
    const char *text;
    bool read; /* it is what it should be */
} Case;

static void body(WbbCx *cx, void *arg)
{
    Case *c = arg;
    bool written_is_read = false;
    const char *once = again(cx, c->text, &c->read);
    if (strcmp(once, again(cx, once, &written_is_read))) abort();
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
    if (wbb_guard(cx, body, &c) != WBB_OK && (c.read || strncmp(cx->messages, NAME ":", strlen(NAME ":")))) {
        fputs(cx->messages, stderr);
        abort();
    }
    wbb_cx_free(cx);
    free(text);
    return 0;
}

#include "files.h"

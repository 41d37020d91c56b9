/* bundle_fuzz: any text is read as a kernel.json or refused at a place; what is read is written, and that is read again
 * and written as the same bytes.
 *
 *     CC=clang meson setup build-fuzz -Dfuzz=true && ninja -C build-fuzz
 *     python3 tests/fuzz/bundle_fuzz.py build-fuzz/tests/bundle_fuzz 600
 */
#include "bundle/bundle.h"

#define NAME "kernel.json"

static const char *again(WbbCx *cx, const char *text, bool *read)
{
    const Bundle *b = bd_parse(cx, cx->arena, NAME, text);
    *read = true;
    return bd_kernel_json(cx->arena, b);
}

#include "json_text.h"

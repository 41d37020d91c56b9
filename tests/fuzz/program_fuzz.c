/* program_fuzz: any text is read as a program.json or refused at a place; what is read is written, and that is read
 * again and written as the same bytes.
 *
 *     CC=clang meson setup build-fuzz -Dfuzz=true && ninja -C build-fuzz
 *     python3 tests/fuzz/program_fuzz.py build-fuzz/tests/program_fuzz 600
 */
#include "program/program.h"

#define NAME "program.json"

static const char *again(WbbCx *cx, const char *text, bool *read)
{
    const ProgModule *p = prog_parse(cx, cx->arena, NAME, text);
    *read = true;
    WbbBuf b = wbb_buf(cx->arena);
    prog_summary(&b, p);
    return prog_json(cx->arena, p);
}

#include "json_text.h"

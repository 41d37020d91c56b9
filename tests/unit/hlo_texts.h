/* hlo_texts.h: short HLO texts, and a check that each is accepted or refused with the given message. For the tests of
 * hlo/.
 *
 *     static const Bad bad[] = {{P8 "r = s32[8] is-finite(p)", "2:12: error: is-finite: the result has shape .."}};
 *     refuse(*state, bad, WBB_LEN(bad));
 *     Job j = job(cx, P8 "ROOT r = sine(p)");     wbb_guard(cx, parse, &j) == WBB_OK, j.module
 */
#ifndef HLO_TEXTS_H
#define HLO_TEXTS_H

#include "hlo/hlo.h"

#include "unit.h"

#include <stdio.h>

typedef struct {
    WbbArena *arena;
    const char *text;
    size_t n;
    HloModule *module;
} Job;

static inline Job job(WbbCx *cx, const char *text)
{
    return (Job){.arena = cx->arena, .text = text, .n = strlen(text)};
}

static inline void parse(WbbCx *cx, void *arg)
{
    Job *j = arg;
    j->module = hlo_parse(cx, j->arena, "t.hlo", j->text, j->n);
}

typedef struct { const char *text, *message; } Bad;

/* Each text must be refused with the message "t.hlo:" and then `message`. */
static inline void refuse(WbbCx *cx, const Bad *bad, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        Job j = job(cx, bad[k].text);
        wbb_cx_clear(cx);
        if (wbb_guard(cx, parse, &j) != WBB_FAILED) fail_msg("accepted: %s", bad[k].text);
        char want[400];
        snprintf(want, sizeof want, "t.hlo:%s\n", bad[k].message);
        assert_string_equal(cx->messages, want);
    }
}

/* Beginnings of texts. */
#define P8 "p = f32[8] parameter(0)\n"
#define P24 "p = f32[2,4] parameter(0)\n"
#define ADD "m { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = add(a, b) }\n"
#define LT "l { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = compare(a, b), direction=LT }\n"
#define ID "i { ROOT a = f32[8] parameter(0) }\n"
#define E "ENTRY e {\n"

#endif

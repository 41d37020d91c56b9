/* unit.h: the includes of every unit test, a context for each test, and calls that must succeed or be refused.
 *
 *     static void test_x(void **state) { WbbCx *cx = *state; succeed(cx, parse, &job); .. }
 *     const struct CMUnitTest tests[] = {TEST(test_x)};
 */
#ifndef UNIT_H
#define UNIT_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline int open_context(void **state)
{
    *state = wbb_cx_new();
    return *state ? 0 : -1;
}

static inline int close_context(void **state)
{
    wbb_cx_free(*state);
    return 0;
}

/* A test whose state is a context of its own. */
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_context, close_context)

/* Runs body(cx, arg), which must succeed. `text`: printed if it does not, where it is not NULL. */
static inline void succeed_on(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg, const char *text)
{
    const WbbStatus status = wbb_guard(cx, body, arg);
    if (status != WBB_OK)
        fail_msg("status %d: %s%s%.2000s", (int)status, cx->messages, text ? "in: " : "", text ? text : "");
}

static inline void succeed(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg) { succeed_on(cx, body, arg, NULL); }

/* As succeed, in a context of its own. */
static inline void succeed_alone(void (*body)(WbbCx *, void *), void *arg)
{
    WbbCx *cx = wbb_cx_new();
    succeed(cx, body, arg);
    wbb_cx_free(cx);
}

static inline void has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in\n%s", part, text);
}

static inline void has_not(const char *text, const char *part)
{
    if (strstr(text, part)) fail_msg("'%s' is in\n%s", part, text);
}

/* Runs body(cx, arg), which must end with this status and a message that contains `message`. */
static inline void stop(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg, WbbStatus status, const char *message)
{
    assert_int_equal(wbb_guard(cx, body, arg), status);
    has(cx->messages, message);
}

#endif

/* context: one context per thread and compile, its messages, and the two ways a compile ends early.
 *
 * Needs: arena.c for memory. Leaves: every message in cx->messages, one a line, in the order in which it was given.
 *
 * A guard is a setjmp on the C stack, linked to the guard around it; wbb_fail and wbb_decline add their message and
 * jump to the innermost one. What a body had allocated stays in its arenas, which their owner frees as usual.
 *
 * The outermost guard also sets the floating-point environment, and restores the caller's: XLA:CPU, for one, calls from
 * threads that flush subnormals, and a host may have changed the rounding or let invalid operations trap.
 *
 *     wbb_fail(cx, (WbbLoc){"a.hlo", 3, 7}, "expected '%c'", '(');    // a.hlo:3:7: error: expected '('
 */
#include "base/base.h"
#include "base/inner.h"

#include <fenv.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct WbbGuard {
    jmp_buf jump;
    struct WbbGuard *outer;
    WbbStatus status;
    fenv_t host; /* of the outermost guard: the environment of who called it */
};

static const char *const why_texts[] = {
#define WHY(id, text) text,
#include "base/why.def"
#undef WHY
};

/* The preprocessor cannot make lower case. */
static const char *const why_names[] = {
    [WHY_NONE] = "none",
    [WHY_REDUCTION] = "reduction",
    [WHY_SCATTER] = "scatter",
    [WHY_LIBRARY] = "library",
    [WHY_COLLECTIVE] = "collective",
    [WHY_TRANSFER] = "transfer",
    [WHY_RANDOM] = "random",
    [WHY_ASYNC] = "async",
    [WHY_EFFECT] = "effect",
    [WHY_DYNAMIC] = "dynamic",
    [WHY_OPERATION] = "operation",
    [WHY_TYPE] = "type",
    [WHY_CONTROL_FLOW] = "control_flow",
    [WHY_NO_FUSION] = "no_fusion",
    [WHY_MANY_FUSIONS] = "many_fusions",
    [WHY_SHAPE] = "shape",
    [WHY_SIZE] = "size",
    [WHY_NO_RULE] = "no_rule",
    [WHY_NO_LIBDEVICE] = "no_libdevice",
    [WHY_NO_GPU] = "no_gpu",
    [WHY_FEATURE] = "feature",
};
_Static_assert(WBB_LEN(why_names) == WHY_COUNT, "each reason of why.def has a name here");

/* Messages live outside the arenas: the one that says an arena is full must still fit. */
static void append(WbbCx *cx, const char *text)
{
    struct WbbCxInner *in = cx->inner;
    size_t n = strlen(text);
    if (in->message_n + n + 1 > in->message_capacity) {
        size_t capacity = (in->message_n + n + 1) * 2;
        char *grown = realloc(in->message_text, capacity);
        if (!grown) return;
        in->message_text = grown;
        in->message_capacity = capacity;
    }
    memcpy(in->message_text + in->message_n, text, n + 1);
    in->message_n += n;
    cx->messages = in->message_text;
}

static WbbLoc origin_of(const WbbCx *cx, WbbLoc loc)
{
    const WbbOrigin *o = cx->inner->origin;
    if (!o || !o->file || !loc.file || strcmp(loc.file, o->file) != 0) return loc;
    if (o->inside) return (WbbLoc){o->at.file, o->at.line, o->at.col + WBB_MAX(loc.col, 1) - 1};
    const bool known = loc.line > 0 && (uint32_t)loc.line <= o->n_lines && o->lines[loc.line - 1].line;
    return known ? o->lines[loc.line - 1] : o->at.line ? o->at : loc;
}

static void message(WbbCx *cx, WbbLoc loc, const char *kind, const char *format, va_list args)
{
    char where[64] = "";
    loc = origin_of(cx, loc);
    if (!loc.file && !loc.line) loc.file = cx->about;
    if (loc.file) {
        append(cx, loc.file);
        append(cx, ":");
    }
    if (loc.line > 0 && loc.col > 0) snprintf(where, sizeof where, "%d:%d:", loc.line, loc.col);
    else if (loc.line > 0) snprintf(where, sizeof where, "%d:", loc.line);
    append(cx, where);
    if (loc.file || loc.line > 0) append(cx, " ");
    append(cx, kind);

    char small[512];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, format, args);
    char *large = n >= (int)sizeof small ? malloc((size_t)n + 1) : NULL;
    if (large) vsnprintf(large, (size_t)n + 1, format, again);
    va_end(again);
    append(cx, large ? large : n < 0 ? format : small);
    free(large);
    append(cx, "\n");
}

static void unwind(WbbCx *cx, WbbStatus status) WBB_NORETURN;
static void unwind(WbbCx *cx, WbbStatus status)
{
    struct WbbGuard *guard = cx->inner->guard;
    assert(guard && "wbb_fail and wbb_decline need a wbb_guard around them");
    if (!guard) abort();
    guard->status = status;
    longjmp(guard->jump, 1);
}

void wbb_fail(WbbCx *cx, WbbLoc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(cx, loc, "error: ", format, args);
    va_end(args);
    unwind(cx, WBB_FAILED);
}

void wbb_decline(WbbCx *cx, WbbLoc loc, WbbWhy why, const char *format, ...)
{
    char kind[64];
    snprintf(kind, sizeof kind, "declined: %s: ", wbb_why_name(why));
    va_list args;
    va_start(args, format);
    message(cx, loc, kind, format, args);
    va_end(args);
    cx->why = why;
    unwind(cx, WBB_DECLINED);
}

void wbb_rethrow(WbbCx *cx, WbbStatus status)
{
    unwind(cx, status);
}

void wbb_take_messages(WbbCx *cx, const WbbCx *other)
{
    append(cx, other->messages);
    cx->why = other->why;
}

void wbb_note(WbbCx *cx, WbbLoc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message(cx, loc, "note: ", format, args);
    va_end(args);
}

const char *wbb_why_name(WbbWhy why)
{
    assert(why < WHY_COUNT);
    return why_names[why];
}

const char *wbb_why_text(WbbWhy why)
{
    assert(why < WHY_COUNT);
    return why_texts[why];
}

/* On x86 the default environment includes that MXCSR neither flushes subnormal results (FTZ) nor reads subnormal
 * operands as zeros (DAZ), on aarch64 that FPCR has no FZ and FZ16, and on both that nothing traps. */
void wbb_float_default(void) { fesetenv(FE_DFL_ENV); }

void wbb_float_of_host(const WbbCx *cx)
{
    const struct WbbGuard *g = cx->inner->guard;
    while (g && g->outer) g = g->outer;
    if (g) fesetenv(&g->host);
}

WbbStatus wbb_guard(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg)
{
    struct WbbGuard guard = {.outer = cx->inner->guard, .status = WBB_OK};
    const WbbLoc work = cx->inner->work;
    const WbbOrigin *origin = cx->inner->origin;
    if (!guard.outer) {
        fegetenv(&guard.host);
        wbb_float_default();
    }
    cx->inner->guard = &guard;
    if (setjmp(guard.jump) == 0) body(cx, arg);
    cx->inner->guard = guard.outer;
    cx->inner->work = work;
    cx->inner->origin = origin;
    if (!guard.outer) fesetenv(&guard.host);
    return guard.status;
}

void wbb_work_on(WbbCx *cx, WbbLoc loc) { cx->inner->work = loc; }

const WbbOrigin *wbb_come_from(WbbCx *cx, const WbbOrigin *origin)
{
    const WbbOrigin *former = cx->inner->origin;
    cx->inner->origin = origin;
    return former;
}

void wbb_on_progress(WbbCx *cx, WbbReport *report, void *arg)
{
    cx->inner->report = report;
    cx->inner->report_arg = arg;
    cx->inner->stop = false;
}

void wbb_use_threads(WbbCx *cx, uint32_t n) { cx->threads = WBB_MAX(n, 1u); }

void wbb_progress_of(WbbCx *cx, const WbbCx *of) { wbb_on_progress(cx, of->inner->report, of->inner->report_arg); }

bool wbb_progress(WbbCx *cx, const char *what, int64_t done, int64_t total)
{
    struct WbbCxInner *x = cx->inner;
    x->what = what, x->done = done, x->total = total;
    if (x->report && !x->stop) x->stop = x->report(x->report_arg, what, done, total);
    return x->stop;
}

bool wbb_progress_again(WbbCx *cx)
{
    const struct WbbCxInner *x = cx->inner;
    return x->what && wbb_progress(cx, x->what, x->done, x->total);
}

void wbb_stop(WbbCx *cx) { wbb_fail(cx, (WbbLoc){0}, "stopped, as the caller asked"); }

void wbb_cx_clear(WbbCx *cx)
{
    cx->inner->message_n = 0;
    cx->messages = "";
    cx->why = WHY_NONE;
}

void wbb_forget_since(WbbCx *cx, size_t n)
{
    if (!cx->inner->message_n || n >= cx->inner->message_n) return;
    cx->inner->message_n = n;
    cx->inner->message_text[n] = 0;
}

bool wbb_quietly(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg)
{
    const size_t before = strlen(cx->messages);
    if (wbb_guard(cx, body, arg) == WBB_OK) return true;
    wbb_forget_since(cx, before);
    return false;
}

static void free_arenas(WbbCx *cx)
{
    while (cx->inner->arenas) wbb_arena_free(cx->inner->arenas);
}

void wbb_cx_free(WbbCx *cx)
{
    if (!cx) return;
    wbb_arena_forget(cx);
    free_arenas(cx);
    free(cx->inner->message_text);
    free(cx->inner);
    free(cx);
}

WbbCx *wbb_cx_new(void)
{
    WbbCx *cx = calloc(1, sizeof *cx);
    struct WbbCxInner *inner = calloc(1, sizeof *inner);
    if (!cx || !inner) {
        free(cx);
        free(inner);
        return NULL;
    }
    cx->inner = inner;
    cx->messages = "";
    cx->threads = 1;
    cx->arena = wbb_arena_try_new(cx);
    if (!cx->arena) {
        wbb_cx_free(cx);
        return NULL;
    }
    inner->names.arena = cx->arena;
    return cx;
}

bool wbb_aside(WbbCx *cx, void (*body)(WbbCx *, void *), void *arg)
{
    WbbCx *own = wbb_cx_new();
    if (!own) return false;
    wbb_arena_lend(cx, own);
    wbb_progress_of(own, cx);
    const bool fine = wbb_guard(own, body, arg) == WBB_OK;
    free_arenas(own);
    wbb_arena_lend(own, cx);
    wbb_cx_free(own);
    return fine;
}

/* each.c: the same work for each file of a command, one after the other.
 *
 * Needs the words of the command line. Leaves what `one` prints for each file, its messages behind that, a count of
 * outcomes where there are several files, and the worst status: a failed file counts before a declined one, and both
 * before a check that failed.
 *
 *     run dump --check   ->   verdicts of dump/module_0001.jit_f.before_optimizations.txt, ..
 *                             note: 9 files: 7 run, 1 wrong, 1 declined (1 library), 0 failed
 */
#include "main/main.h"

#include <stdio.h>

typedef struct {
    const Call *call;
    const Each *each;
    const char *file, *output;
    WbbStatus status;
} Turn;

static void guarded_one(WbbCx *cx, void *arg)
{
    Turn *t = arg;
    WbbArena *a = wbb_arena_new(cx);
    wbb_arena_limit(a, MAIN_MEMORY);
    Call call = *t->call;
    call.cx = cx;
    call.arena = a;
    t->status = t->each->one(&call, t->file, t->output);
    wbb_arena_free(a);
}

static WbbStatus one_of_several(Turn *t)
{
    WbbCx *cx = wbb_cx_new();
    if (!cx) return WBB_FAILED;
    cx->about = t->file;
    WbbStatus s = wbb_guard(cx, guarded_one, t);
    if (s == WBB_OK) s = t->status;
    fflush(stdout);
    main_put_text(stderr, cx->messages);
    t->call->cx->why = cx->why;
    wbb_cx_free(cx);
    return s;
}

static int weight(WbbStatus s)
{
    return s == WBB_OK ? 0 : s == WBB_CHECK ? 1 : s == WBB_DECLINED ? 2 : 3;
}

WbbStatus main_each_file(const Call *call, const Each *e)
{
    const Words files = main_files(call->cx, call->arena, e->words, e->bundles);
    if (files.n == 1) return e->one(call, files.items[0], e->output);
    if (e->single)
        return main_usage(call, wbb_format(call->arena, "%s is about one file, and these are %u", e->single, files.n));
    WbbStatus worst = WBB_OK;
    Outcomes outcomes = {0};
    const char **outputs = main_folders(call->cx, call->arena, e->words, &files, e->output, "output");
    for (uint32_t i = 0; i < files.n; i++) {
        Turn t = {.call = call, .each = e, .file = files.items[i], .output = outputs[i]};
        wbb_progress(call->cx, "files", i, files.n);
        const WbbStatus s = one_of_several(&t);
        main_count(&outcomes, s, call->cx->why);
        if (weight(s) > weight(worst)) worst = s;
    }
    wbb_progress(call->cx, "files", files.n, files.n);
    main_note_outcomes(call->cx, &outcomes, "files", e->done);
    return worst;
}

/* made.c: a compile whose result is kept from run to run (base/store.h).
 *
 * Needs HLO text; leaves what a bundle has, the report of --explain and the notes, from the store where they are there,
 * else of pipe_compile. Its entries have no machine code, which cubin.c keeps: another assembler or none still finds
 * the PTX.
 *
 *     key: the text, the target, all options that change code, libdevice, this build      PTX, kernel.json, ..
 *
 * What is declined or fails is not kept, nor is a compile that leaves more than its bundle (a trace, the IR).
 */
#include "pipe/pipe.h"

#include "llvm/llvm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- keys --------------------------------------------------------------------------------------------------------- */

static bool is_kept(const PipeOptions *o)
{
    return o->store && o->stage == PIPE_AT_PTX && !o->print_after && !o->rules_only && !o->check_thread_map &&
           !o->watch;
}

static void put_file(WbbBuf *b, const char *path)
{
    struct stat st;
    if (path && stat(path, &st) == 0)
        wbb_putf(b, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                 (long)st.st_mtim.tv_nsec);
}

const char *pipe_make_key(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n)
{
    if (!is_kept(o)) return NULL;
    WbbBuf b = wbb_buf(a);
    wbb_putf(&b, "kernel 1\nwarpburg " WBB_VERSION " %s\nlibdevice ", tg_code_identity(a));
    put_file(&b, ll_find_libdevice(cx, a, NULL));
    wbb_putf(&b, "\ntarget %s accuracy %d align %u deterministic %d comments %d lines %d backend %d", o->target,
             (int)o->accuracy, o->align, o->deterministic, o->comments, o->lines, (int)pipe_backend(o->backend));
    if (o->lines) wbb_putf(&b, " of %s", file); /* .loc names it */
    if (o->layout) wbb_putf(&b, " layout %s", o->layout);
    if (o->plan.text) wbb_putf(&b, " plan %s", o->plan.text);
    for (uint32_t k = 0; k < o->n_disable; k++) wbb_putf(&b, " disable %s", o->disable[k]);
    wbb_put(&b, "\n");
    wbb_put_n(&b, text, n);
    return memchr(text, 0, n) ? NULL : b.text;
}

/* --- entries: texts, each behind its length ----------------------------------------------------------------------- */

static void put_text(WbbBuf *b, const char *z)
{
    wbb_putf(b, "%zu\n", strlen(z));
    wbb_put(b, z);
}

/* The next text, in a copy; NULL: the entry is damaged. */
static char *take_text(WbbArena *a, char **at, const char *end)
{
    char *rest;
    const unsigned long long n = strtoull(*at, &rest, 10);
    if (rest == *at || *rest++ != '\n' || n > (size_t)(end - rest)) return NULL;
    *at = rest + n;
    return wbb_format(a, "%.*s", (int)n, rest);
}

/* Notes are kept with their places, for the file may have another name in the next run. */
static void put_notes(WbbBuf *b, const PipeResult *r)
{
    for (uint32_t k = 0; k < r->n_notes; k++)
        wbb_putf(b, "%d %d %s\n", r->notes[k].loc.line, r->notes[k].loc.col, r->notes[k].text);
}

static void say_notes(WbbCx *cx, WbbArena *a, const char *file, char *p)
{
    while (*p) {
        const int line = (int)strtol(p, &p, 10), column = (int)strtol(p, &p, 10);
        const size_t n = strcspn(p, "\n");
        wbb_note(cx, (WbbLoc){file, line, column}, "%s", wbb_format(a, "%.*s", (int)(n - 1), p + 1));
        p += n + (p[n] != 0);
    }
}

static void keep(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *key, const PipeResult *r, const PipeMade *m)
{
    WbbBuf b = wbb_buf(a), notes = wbb_buf(a);
    put_notes(&notes, r);
    put_text(&b, m->name);
    put_text(&b, bd_kernel_json(a, m->bundle));
    put_text(&b, m->bundle->ptx);
    put_text(&b, o->comments ? m->emitted : "");
    put_text(&b, m->explain);
    put_text(&b, notes.text);
    wbb_store_keep(cx, a, o->store, key, b.text, b.n);
}

typedef struct {
    WbbArena *arena;
    const char *file, *text;
    char *at, *end;
    PipeMade *made;
    char *notes;
    bool found;
} Entry;

static void restore(WbbCx *cx, void *arg)
{
    Entry *e = arg;
    WbbArena *a = e->arena;
    char *part[6];
    for (size_t k = 0; k < WBB_LEN(part); k++)
        if (!(part[k] = take_text(a, &e->at, e->end))) return;
    Bundle *b = bd_parse(cx, a, e->file, part[1]);
    b->ptx = part[2], b->hlo = e->text;
    *e->made = (PipeMade){.name = part[0], .bundle = b, .emitted = *part[3] ? part[3] : part[2], .explain = part[4]};
    e->notes = part[5];
    e->found = true;
}

static bool found(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *key, const char *file, const char *text,
                  PipeMade *m)
{
    Entry e = {.arena = a, .file = file, .text = text, .made = m};
    size_t n;
    if (!key || !wbb_store_find(cx, a, o->store, key, &e.at, &n)) return false;
    e.end = e.at + n;
    if (!wbb_quietly(cx, restore, &e) || !e.found) return false;
    say_notes(cx, a, file, e.notes);
    return true;
}

PipeMade pipe_make(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n)
{
    const char *key = pipe_make_key(cx, a, o, file, text, n);
    PipeMade m;
    if (!found(cx, a, o, key, file, text, &m)) {
        PipeOptions without = *o;
        PipeResult r;
        without.assemble = false;
        pipe_compile(cx, a, &without, file, text, n, &r);
        WbbBuf explained = wbb_buf(a);
        pipe_explain(&explained, &r);
        m = (PipeMade){.name = r.kernel->name, .bundle = r.bundle, .emitted = r.emitted, .explain = explained.text,
                       .module = r.module};
        memcpy(m.ms, r.ms, sizeof m.ms);
        if (key) keep(cx, a, o, key, &r, &m);
    }
    if (!o->assemble) return m;
    const double start = wbb_now_ms();
    const TgCubin c = pipe_cubin(cx, a, o->store, tg_find(m.bundle->target), m.bundle->ptx, m.name);
    m.ms[PIPE_TARGET] = wbb_now_ms() - start;
    m.bundle->cubin = c.bytes, m.bundle->cubin_bytes = c.n;
    m.missing = c.missing;
    return m;
}

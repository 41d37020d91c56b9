/* stats.c: `stats FILES..`: every kernel of every file, compiled, assembled and described.
 *
 * Needs HLO files. Leaves a JSON object a line, sorted by file, kernel and target; shaderdb/README.md describes its
 * columns.
 *
 *     warpburg stats gelu.hlo --target sm_80,sm_90
 *     {"file": "gelu.hlo", "kernel": "gelu", "target": "sm_80", "count": 1, "status": "ok", ..
 */
#include "main/stats.h"

#include "index/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Targets of `--target sm_80 --target sm_90` or `--target sm_80,sm_90`. */
static void find_targets(WbbCx *cx, WbbArena *a, StatsCall *call)
{
    static const char *const standard[] = {"sm_90"};
    const StatsOptions *o = call->o;
    const char *const *words = o->targets.n ? o->targets.items : standard;
    for (uint32_t k = 0; k < (o->targets.n ? o->targets.n : 1); k++) {
        for (const char *p = words[k]; *p; p += *p == ',') {
            const size_t n = strcspn(p, ",");
            const char *name = wbb_format(a, "%.*s", (int)n, p);
            const TgTarget *t = tg_find(name);
            bool known = false;
            for (uint32_t i = 0; i < call->n_targets; i++) known |= call->targets[i] == t;
            if (call->n_targets == STATS_MAX_TARGETS && !known)
                wbb_fail(cx, (WbbLoc){0}, "more than %d targets", STATS_MAX_TARGETS);
            if (!known) call->targets[call->n_targets++] = t;
            p += n;
        }
    }
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

/* Words of the command line and lines of --files-from, sorted, each once. */
static void find_files(WbbCx *cx, WbbArena *a, StatsCall *call)
{
    struct { const char **items; uint32_t n, capacity; } list = {0};
    const Words given = main_files(cx, a, &call->o->files, false);
    for (uint32_t k = 0; k < given.n; k++) WBB_PUSH(a, &list, given.items[k]);
    if (call->o->files_from) {
        size_t n;
        char *p = wbb_read_file(cx, a, call->o->files_from, &n), *end = p + n;
        const char last = memchr(p, 0, n) ? 0 : '\n'; /* names may hold line breaks where zero bytes end them */
        while (p < end) {
            const char *line = p;
            while (p < end && *p != last) p++;
            *p++ = 0;
            if (*line) WBB_PUSH(a, &list, line);
        }
    }
    uint32_t kept = 0;
    if (list.n) qsort(list.items, list.n, sizeof *list.items, by_name);
    for (uint32_t k = 0; k < list.n; k++)
        if (k == 0 || strcmp(list.items[k], list.items[k - 1]) != 0) list.items[kept++] = list.items[k];
    call->files = list.items;
    call->n_files = kept;
}

/* The object of "FILE\tKERNEL\tTARGET\t{..}". */
static char *behind_key(char *line)
{
    for (int tabs = 0; *line && tabs < 3; line++) tabs += *line == '\t';
    return line;
}

/* Sorts lines and drops their keys. A tab is less than any character of a name, so that lines sort by file first. */
static const char *sorted(WbbArena *a, const char *text)
{
    struct { const char **items; uint32_t n, capacity; } lines = {0};
    char *p = wbb_format(a, "%s", text);
    while (*p) {
        const char *line = p;
        p += strcspn(p, "\n");
        if (*p) *p++ = 0;
        WBB_PUSH(a, &lines, line);
    }
    if (lines.n) qsort(lines.items, lines.n, sizeof *lines.items, by_name);
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < lines.n; k++) {
        char *line = wbb_format(a, "%s", lines.items[k]);
        wbb_put(&b, behind_key(line));
        wbb_put(&b, "\n");
    }
    return b.text;
}

static void note_outcomes(WbbCx *cx, const char *lines)
{
    static const char status[] = "\"status\": \"", reason[] = "\"reason\": \"";
    Outcomes o = {0};
    for (const char *p = lines; (p = strstr(p, status));) {
        p += strlen(status);
        const char *why = strstr(p, reason);
        main_count_named(&o, p, why ? why + strlen(reason) : "\"");
    }
    main_note_outcomes(cx, &o, "kernels", "compiled");
}

static WbbStatus stats(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const StatsOptions *o = call->options;
    StatsCall work = {.o = o,
                      .cache = o->cache && *o->cache ? o->cache : NULL,
                      .cache_limit = (uint64_t)(o->cache_limit ? o->cache_limit : 1024) << 20};
    find_targets(cx, a, &work);
    for (uint32_t k = 0; k < work.n_targets; k++) {
        RwCx *rw = rw_new(cx, a, ir_graph_new(cx, a), &ix_tables, work.targets[k]->tables, o->approx);
        tg_without(cx, a, work.targets[k], o->disable.items, o->disable.n);
        pipe_disable(rw, work.targets[k], o->disable.items, o->disable.n);
    }
    find_files(cx, a, &work);
    for (uint32_t k = 0; k < work.n_files; k++)
        if (wbb_is_dir(work.files[k]))
            wbb_fail(cx, (WbbLoc){.file = work.files[k]}, "this is a folder, a file expected");
    if (work.n_files == 0) return main_usage(call, "a file expected, or --files-from a list that is not empty");
    const char *lines = sorted(a, main_stats_pool(cx, a, &work));
    if (o->output) wbb_write_file(cx, o->output, lines, strlen(lines));
    else fputs(lines, stdout);
    if (work.n_files > 1) note_outcomes(cx, lines);
    return WBB_OK;
}

static const Positional positionals[] = {
    {ANY("FILE.hlo", StatsOptions, files, "HLO text, of fusions or of whole programs, or a folder of such files or of XLA's dumps"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    {WORD("--files-from", StatsOptions, files_from, "LIST", "take also the files that LIST names, one a line, or each ended by a zero byte"),
     .value = VALUE_FILE},
    {LIST("--target", StatsOptions, targets, "SM", "compile for these GPU generations, with commas between"),
     .standard = "sm_90", .choices = {.list = main_target_names, .commas = true}},
    {WORD("--output", StatsOptions, output, "STATS.jsonl", "write the records to this file"), .letter = 'o',
     .value = VALUE_FILE},
    MAIN_OPTION_JOBS(StatsOptions, "processes", "64"),
    {WORD("--cache", StatsOptions, cache, "DIR", "keep the records of compiled kernels in DIR"), .value = VALUE_FOLDER},
    {NUMBER("--cache-limit", StatsOptions, cache_limit, "MIB", "how large DIR may grow"), .standard = "1024"},
    {FLAG("--listing", StatsOptions, listing, "add the PTX of each kernel, with what made each instruction")},
    {NUMBER("--profile", StatsOptions, profile, "BLOCKS",
            "run so many blocks of each kernel, and add its modelled time, and what it executes: us, work, executed, binds"), .most = 1 << 20},
    MAIN_OPTION_ACCURACY(StatsOptions),
    MAIN_OPTION_ASSUME(StatsOptions),
    MAIN_OPTION_ALIGN(StatsOptions),
    MAIN_OPTION_DISABLE(StatsOptions),
    {0}};
static const Example examples[] = {
    {"stats *.hlo --target sm_80,sm_90 -o stats.jsonl", "every kernel of a folder, on two targets"}, {0}};
const Command main_stats = {
    .name = "stats",
    .summary = "describe every kernel of every file in numbers",
    .details = "Compiles and assembles; prints a JSON object a line, sorted by file, kernel and target. A kernel that "
               "is declined, or that ends the compiler, has a record that says so. shaderdb/README.md describes the "
               "columns.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(StatsOptions),
    .run = stats,
};

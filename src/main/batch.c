/* batch.c: `batch FILE`: the command lines of a file, one after the other in one process.
 *
 * Needs a file with a command line in each line, without the program's name, its words parted by tabs or else by
 * spaces. Leaves what each prints, and behind it a line of JSON with its number and exit status on stdout.
 *
 *     run<tab>bundles/a<tab>--json   ->   {"file":"bundles/a", ..}
 *                                         {"line":1,"status":0,"schema":"batch.1"}
 */
#include "main/main.h"
#include "gpu/context.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *file;
    bool gpu;
} BatchOptions;

/* Parts the line in place. */
static Words words_of(WbbArena *a, char *line, const char *program)
{
    const char *between = strchr(line, '\t') ? "\t" : " ";
    Words w = {0};
    WBB_PUSH(a, &w, program);
    for (char *at = line; at;) {
        char *word = at;
        at = strpbrk(at, between);
        if (at) *at++ = 0;
        if (*word) WBB_PUSH(a, &w, word);
    }
    return w;
}

static void run_line(const Call *call, char *line, long number, WbbStatus *worst)
{
    WbbArena *a = wbb_arena_new(call->cx);
    Words w = words_of(a, line, call->program->name);
    if (w.n > 1) {
        WBB_PUSH(a, &w, NULL);
        char **argv = WBB_NEW_N(a, char *, w.n);
        for (uint32_t i = 0; i + 1 < w.n; i++) argv[i] = wbb_format(a, "%s", w.items[i]);
        const int status = main_command_line(call->program, (int)w.n - 1, argv);
        printf("{\"line\":%ld,\"status\":%d,\"schema\":\"batch.1\"}\n", number, status);
        fflush(stdout);
        if (status) *worst = WBB_FAILED;
    }
    wbb_arena_free(a);
}

static WbbStatus batch(const Call *call)
{
    const BatchOptions *o = call->options;
    GpuContext *kept = o->gpu ? gpu_open(call->cx, call->arena) : NULL;
    size_t n;
    char *text = wbb_read_file(call->cx, call->arena, o->file, &n);
    WbbStatus worst = WBB_OK;
    long number = 0;
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        run_line(call, line, ++number, &worst);
        line = end ? end + 1 : NULL;
    }
    if (kept) gpu_close(kept);
    return worst;
}

static const Positional positionals[] = {
    {ONE("FILE", BatchOptions, file, "a command line in each line, words parted by tabs, or by spaces if it has no tab"),
     .value = VALUE_FILE},
    {0}};
static const Option options[] = {
    {FLAG("--gpu", BatchOptions, gpu, "keep the GPU's context from command to command")}, {0}};
static const Example examples[] = {{"batch jobs", "what `run a --json` and other lines of the file jobs print"}, {0}};
const Command main_batch = {
    .name = "batch",
    .summary = "run the command lines of a file",
    .details = "Behind what a command prints stands a line of JSON with the number of its line and its exit status. "
               "The exit status is 1 if that of any command is not 0.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "with --gpu there is no GPU",
    .size = sizeof(BatchOptions),
    .run = batch,
};

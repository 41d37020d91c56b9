/* dispatch.c: one command inside one guard; messages to stderr; the status of DESIGN's section 10 to the shell. */
#include "main/main.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const Command *command;
    const Options *options;
    WbbStatus status;
} Call;

static void run(WbbCx *cx, void *arg)
{
    Call *c = arg;
    WbbArena *a = wbb_arena_new(cx);
    wbb_arena_limit(a, (size_t)16 << 30);
    c->status = c->command->run(cx, a, c->options);
    wbb_arena_free(a);
}

static int usage(FILE *to, const char *program, const Command *commands, size_t n)
{
    for (size_t i = 0; i < n; i++) fprintf(to, "%s %s %s %s\n", i ? "      " : "usage:", program, commands[i].name, commands[i].usage);
    return to == stdout ? WBB_OK : WBB_USAGE;
}

int main_dispatch(const char *program, const Command *commands, size_t n, int argc, char **argv)
{
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))) return usage(stdout, program, commands, n);
    if (argc > 1 && !strcmp(argv[1], "--version")) return printf("%s %s\n", program, WBB_VERSION), WBB_OK;
    const Command *c = NULL;
    for (size_t i = 0; i < n && argc > 1; i++)
        if (!strcmp(argv[1], commands[i].name)) c = &commands[i];
    if (!c) return usage(stderr, program, commands, n);
    Options o;
    if (!main_options(&o, argc - 2, argv + 2)) return fprintf(stderr, "usage: %s %s %s\n", program, c->name, c->usage), WBB_USAGE;
    if (o.help && strcmp(c->name, "rules")) return printf("usage: %s %s %s\n", program, c->name, c->usage), WBB_OK; /* rules has help for each tool */
    WbbCx *cx = wbb_cx_new();
    if (!cx) return fputs("out of memory\n", stderr), WBB_FAILED;
    Call call = {.command = c, .options = &o};
    const WbbStatus s = wbb_guard(cx, run, &call);
    fputs(cx->messages, stderr);
    wbb_cx_free(cx);
    return (int)(s == WBB_OK ? call.status : s);
}

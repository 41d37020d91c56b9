/* dispatch.c: the command line of a program: its own options, the command that its first words name, and one call
 * of that.
 *
 * Needs a Program. Leaves results on stdout, messages on stderr, and an exit status: 0 success, 1 an input at
 * fault, 2 a wrong command line, 3 declined, 4 a check that failed.
 *
 *     warpburg help rules list, warpburg rules list --help, warpburg rules list -h
 */
#include "main/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Program *program;
    int argc;
    char **argv; /* without the program's name */
    int status;
    const void *tables; /* those before the ones of --tables; NULL: it is not given */
} Session;

static const Command *named(const Command *const *commands, const char *name)
{
    while (*commands && strcmp((*commands)->name, name)) commands++;
    return *commands;
}

static int refuse_command(WbbArena *a, const Path *group, const char *name)
{
    const Command *const *commands = group->command ? group->command->tools : group->program->commands;
    struct { const char **items; uint32_t n, capacity; } names = {0};
    for (uint32_t i = 0; commands[i]; i++) {
        WBB_PUSH(a, &names, commands[i]->name);
    }
    const char *own = main_path_name(a, group);
    fprintf(stderr, "%s: no %s %s; the nearest is %s\n`%s --help` lists them\n", own,
            group->command ? "tool" : "command", name, main_nearest(a, name, names.items, names.n), own);
    return WBB_USAGE;
}

/* The command that the first words name and, in *used, how many of them do; of a command with tools, with no word
 * behind it, that command. at.command NULL after a message: none. */
static Path find(const Session *s, WbbArena *a, int argc, char **argv, int *used)
{
    Path at = {.program = s->program, .command = named(s->program->commands, argv[0])};
    *used = 1;
    if (!at.command) {
        const Path program = {.program = s->program};
        refuse_command(a, &program, argv[0]);
        return at;
    }
    if (!at.command->tools || argc == 1 || argv[1][0] == '-' || !strcmp(argv[1], "help")) return at;
    const Path group = at;
    at = (Path){.program = s->program, .group = group.command, .command = named(group.command->tools, argv[1])};
    *used = 2;
    if (!at.command) refuse_command(a, &group, argv[1]);
    return at;
}

static int print(FILE *to, const WbbBuf *b)
{
    fputs(b->text, to);
    return to == stdout ? WBB_OK : WBB_USAGE;
}

/* Help on the command that the words name, or on the program if there are none. */
static int help(const Session *s, WbbArena *a, FILE *to, int argc, char **argv)
{
    WbbBuf b = wbb_buf(a);
    int used;
    if (argc == 0) {
        main_help_program(&b, s->program);
        return print(to, &b);
    }
    const Path at = find(s, a, argc, argv, &used);
    if (!at.command) return WBB_USAGE;
    main_help_command(&b, &at);
    return print(to, &b);
}

static int man(const Session *s, WbbArena *a, int argc, char **argv)
{
    WbbBuf b = wbb_buf(a);
    int used;
    const Path program = {.program = s->program}, at = argc ? find(s, a, argc, argv, &used) : program;
    if (argc && !at.command) return WBB_USAGE;
    main_man(&b, &at);
    return print(stdout, &b);
}

/* The program's own options; -1: the first word is none of them. */
static int own_option(const Session *s, WbbArena *a)
{
    const char *word = s->argc ? s->argv[0] : "", *name = s->program->name;
    WbbBuf b = wbb_buf(a);
    if (!s->argc) return help(s, a, stderr, 0, NULL);
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
        return help(s, a, stdout, s->argc - 1, s->argv + 1);
    if (!strcmp(word, "--man")) return man(s, a, s->argc - 1, s->argv + 1);
    if (!strcmp(word, "--version")) return printf("%s %s\n", name, WBB_VERSION), WBB_OK;
    if (!strcmp(word, "--options")) {
        main_list_options(&b, s->program);
        return print(stdout, &b);
    }
    if (!strcmp(word, "--completions")) {
        const char *shell = s->argc > 1 ? s->argv[1] : "";
        if (strcmp(shell, "bash") && strcmp(shell, "zsh") && strcmp(shell, "fish"))
            return fprintf(stderr, "%s: --completions %s: bash, zsh or fish expected\n", name, shell), WBB_USAGE;
        main_completions(&b, s->program, shell);
        return print(stdout, &b);
    }
    return -1;
}

static int run(const Session *s, WbbCx *cx, WbbArena *a, const Path *at, int argc, char **argv)
{
    WbbBuf b = wbb_buf(a);
    const Command *c = at->command;
    if (c->tools) { /* with no tool's name behind it */
        const bool asked = argc && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
        if (argc && !strcmp(argv[0], "help")) {
            argv[0] = argv[-1]; /* "rules help list" is "help rules list" */
            return help(s, a, stdout, argc, argv);
        }
        if (!asked)
            fprintf(stderr, "%s: a tool expected%s%s\n", main_path_name(a, at), argc ? ", found " : "",
                    argc ? argv[0] : "");
        main_help_command(&b, at);
        return print(asked ? stdout : stderr, &b);
    }
    void *options = wbb_alloc(a, c->size);
    const Parsed parsed = main_parse(a, at, argc, argv, options);
    if (parsed == PARSE_HELP) main_help_command(&b, at);
    if (parsed != PARSE_RUN) return parsed == PARSE_HELP ? print(stdout, &b) : WBB_USAGE;
    const Call call = {.cx = cx, .arena = a, .program = s->program, .name = main_path_name(a, at), .options = options};
    return (int)c->run(&call);
}

/* `--tables FILE` before the command. False after a message. */
static bool take_tables(Session *s, WbbCx *cx)
{
    if (!s->program->use_tables || s->argc < 1 || strcmp(s->argv[0], "--tables")) return true;
    if (s->argc < 2) return fprintf(stderr, "%s: --tables: a value is missing: FILE\n", s->program->name), false;
    s->tables = s->program->use_tables(cx, cx->arena, s->argv[1], NULL);
    s->argc -= 2, s->argv += 2;
    return true;
}

static void guarded_command(WbbCx *cx, void *arg)
{
    Session *s = arg;
    WbbArena *a = wbb_arena_new(cx);
    wbb_arena_limit(a, MAIN_MEMORY);
    s->status = take_tables(s, cx) ? own_option(s, a) : WBB_USAGE;
    if (s->status < 0) {
        int used;
        const Path at = find(s, a, s->argc, s->argv, &used);
        s->status = at.command ? run(s, cx, a, &at, s->argc - used, s->argv + used) : WBB_USAGE;
    }
    wbb_arena_free(a);
}

int main_command_line(const Program *p, int argc, char **argv)
{
    Session s = {.program = p, .argc = argc > 0 ? argc - 1 : 0, .argv = argv + 1};
    WbbCx *cx = wbb_cx_new();
    if (!cx) return fputs("out of memory\n", stderr), WBB_FAILED;
    MainProgress progress;
    main_begin_progress(cx, &progress);
    WbbStatus status = wbb_guard(cx, guarded_command, &s);
    main_end_progress(&progress);
    main_put_text(stderr, cx->messages);
    if (s.tables) p->use_tables(cx, NULL, NULL, s.tables);
    wbb_cx_free(cx);
    if (status == WBB_OK) status = (WbbStatus)s.status;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return (int)status;
    fprintf(stderr, "%s: error: cannot write to stdout: %s\n", p->name, errno ? strerror(errno) : "lost output");
    return status == WBB_OK ? WBB_FAILED : (int)status;
}

int main_dispatch(const Program *p, int argc, char **argv)
{
    wbb_end_on_signals();
    return main_command_line(p, argc, argv);
}

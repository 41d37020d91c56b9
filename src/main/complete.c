/* complete.c: --completions SHELL: what completes a program's command line in bash, zsh or fish; --options: the
 * tables as lines.
 *
 * Needs the tables; leaves a script for the shell. Commands, tools and options are completed by name; values by
 * their choices, or as files with the extension of the argument's name, or as folders; other values not at all.
 *
 *     eval "$(warpburg --completions bash)"
 *     warpburg compile gelu.hlo --target sm_<TAB>      sm_75 sm_80 ..
 */
#include "main/command.h"

#include <ctype.h>
#include <string.h>

/* --- what is completed ------------------------------------------------------------------------ */
typedef struct {
    Path *items;
    uint32_t n, capacity;
} Paths;

/* Commands that have no tools, and the tools of those that have. */
static Paths paths_of(WbbArena *a, const Program *p)
{
    Paths list = {0};
    for (const Command *const *c = p->commands; *c; c++) {
        const Path command = {.program = p, .command = *c};
        if (!(*c)->tools) WBB_PUSH(a, &list, command);
        for (const Command *const *t = (*c)->tools; t && *t; t++) {
            const Path tool = {.program = p, .group = *c, .command = *t};
            WBB_PUSH(a, &list, tool);
        }
    }
    return list;
}

/* "compile", "rules list" */
static const char *words_of(WbbArena *a, const Path *at)
{
    return at->group ? wbb_format(a, "%s %s", at->group->name, at->command->name) : at->command->name;
}

static void put_names(WbbBuf *b, const Command *const *commands)
{
    for (; *commands; commands++) wbb_putf(b, "%s ", (*commands)->name);
}

/* "hlo" of FILE.hlo; "" if the name has none. */
static const char *extension(WbbArena *a, const char *argument)
{
    const char *dot = strchr(argument, '.');
    size_t n = 0;
    while (dot && isalnum((unsigned char)dot[n + 1])) n++;
    return dot ? wbb_format(a, "%.*s", (int)n, dot + 1) : "";
}

/* A shell function's name. */
static const char *function_of(WbbArena *a, const char *program)
{
    char *name = wbb_format(a, "_%s", program);
    for (char *p = name; *p; p++)
        if (*p == '-') *p = '_';
    return name;
}

/* In single quotes. `escaped`: characters that get a backslash. */
static void put_quoted(WbbBuf *b, const char *text, const char *escaped)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'') wbb_put(b, "'\\''");
        else wbb_putf(b, "%s%c", strchr(escaped, *p) ? "\\" : "", *p);
    }
}

/* --- bash ------------------------------------------------------------------------------------- */
static void bash_values(WbbBuf *b, const char *argument, ValueKind value, const Choices *c)
{
    const char *choices = main_choices(b->arena, c, " ", " ");
    if (choices) wbb_putf(b, "words='%s'", choices);
    else if (value == VALUE_FOLDER) wbb_put(b, "_warpburg_folders");
    else if (value == VALUE_FILE) wbb_putf(b, "_warpburg_files '%s'", extension(b->arena, argument));
    else wbb_put(b, ":");
}

static void bash_option_values(WbbBuf *b, const Path *at)
{
    const char *words = words_of(b->arena, at);
    const Option *o;
    for (uint32_t i = 0; (o = main_option(at->command, i)); i++) {
        if (o->kind == OPTION_FLAG) continue;
        wbb_putf(b, "    '%s %s'", words, o->name);
        if (o->letter) wbb_putf(b, " | '%s -%c'", words, o->letter);
        wbb_put(b, ") ");
        bash_values(b, o->argument, o->value, &o->choices);
        wbb_put(b, " ;;\n");
    }
}

static void bash_command(WbbBuf *b, const Path *at)
{
    const Option *o;
    wbb_putf(b, "    '%s')\n        options='", words_of(b->arena, at));
    for (uint32_t i = 0; (o = main_option(at->command, i)); i++) {
        wbb_putf(b, "%s ", o->name);
        if (o->letter) wbb_putf(b, "-%c ", o->letter);
    }
    wbb_put(b, "--help -h'\n");
    for (const Positional *p = at->command->positionals; p && p->name; p++) {
        if (p->value == VALUE_TEXT && !p->choices.words && !p->choices.list) continue;
        wbb_put(b, "        [[ $cur == -* ]] || ");
        bash_values(b, p->name, p->value, &p->choices);
        wbb_put(b, "\n");
    }
    wbb_put(b, "        ;;\n");
}

/* COMPREPLY gets the files with an extension, or all files, and folders; folders alone. */
static const char bash_helpers[] =
    "_warpburg_found() {\n"
    "    local found\n"
    "    while IFS= read -r found; do COMPREPLY+=(\"$found\"); done\n"
    "    compopt -o filenames 2> /dev/null\n"
    "}\n"
    "_warpburg_files() {\n"
    "    _warpburg_found < <(compgen -f -X \"${1:+!*.$1}\" -- \"$cur\"; [[ ! $1 ]] || compgen -d -- \"$cur\")\n"
    "}\n"
    "_warpburg_folders() {\n"
    "    _warpburg_found < <(compgen -d -- \"$cur\")\n"
    "}\n";

/* The first word: a command or an option of the program. */
static void bash_first_word(WbbBuf *b, const Program *p)
{
    wbb_put(b, "    if ((COMP_CWORD == 1)); then\n        words='");
    put_names(b, p->commands);
    wbb_put(b, "help ");
    for (const Option *o = NULL; (o = main_program_option(p, o));) {
        wbb_putf(b, "%s ", o->name);
        if (o->letter) wbb_putf(b, "-%c ", o->letter);
    }
    wbb_put(b, "'\n"
               "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
               "        return\n"
               "    fi\n");
}

/* The second word of a command with tools. `command` becomes "rules list" where there are more words. */
static void bash_tools(WbbBuf *b, const Program *p)
{
    wbb_put(b, "    case $command in\n");
    for (const Command *const *c = p->commands; *c; c++) {
        if (!(*c)->tools) continue;
        wbb_putf(b, "    %s)\n"
                    "        if ((COMP_CWORD == 2)); then\n"
                    "            COMPREPLY=($(compgen -W '", (*c)->name);
        put_names(b, (*c)->tools);
        wbb_put(b, "--help -h' -- \"$cur\"))\n"
                   "            return\n"
                   "        fi\n"
                   "        command+=\" ${COMP_WORDS[2]}\" ;;\n");
    }
    wbb_put(b, "    esac\n");
}

/* Any further word: the value of the option before it, else an option or an argument. */
static void put_bash(WbbBuf *b, const Program *p)
{
    const char *function = function_of(b->arena, p->name);
    const Paths list = paths_of(b->arena, p);
    wbb_putf(b, "# bash completion of %s, made by `%s --completions bash`\n%s%s() {\n", p->name, p->name, bash_helpers,
             function);
    wbb_put(b, "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
               "    local command=${COMP_WORDS[1]} words='' options=''\n"
               "    COMPREPLY=()\n");
    bash_first_word(b, p);
    bash_tools(b, p);
    wbb_put(b, "    case \"$command $prev\" in\n"
               "    'help help' | '--man --man') words='");
    put_names(b, p->commands);
    wbb_put(b, "' ;;\n"
               "    '--completions --completions') words='bash zsh fish' ;;\n");
    for (uint32_t i = 0; i < list.n; i++) bash_option_values(b, &list.items[i]);
    wbb_put(b, "    *)\n"
               "        case $command in\n");
    for (uint32_t i = 0; i < list.n; i++) bash_command(b, &list.items[i]);
    wbb_putf(b, "        esac\n"
                "        [[ $cur != -* ]] || words=$options ;;\n"
                "    esac\n"
                "    [[ ! $words ]] || COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\"))\n"
                "}\n"
                "complete -F %s %s\n", function, p->name);
}

/* --- zsh -------------------------------------------------------------------------------------- */
/* ":NAME:ACTION" of _arguments */
static void zsh_values(WbbBuf *b, const char *argument, ValueKind value, const Choices *c)
{
    const char *choices = main_choices(b->arena, c, " ", " ");
    wbb_put(b, ":");
    put_quoted(b, argument, ":");
    if (choices) {
        wbb_put(b, ":(");
        put_quoted(b, choices, "()");
        wbb_put(b, ")");
    } else if (value == VALUE_FOLDER) {
        wbb_put(b, ":_files -/");
    } else if (value == VALUE_FILE) {
        const char *end = extension(b->arena, argument);
        wbb_put(b, ":_files");
        if (*end) wbb_putf(b, " -g \"*.%s(-.)\"", end);
    } else {
        wbb_put(b, ": ");
    }
}

static void zsh_option(WbbBuf *b, const Option *o)
{
    const bool list = o->kind == OPTION_LIST, flag = o->kind == OPTION_FLAG;
    const char *names[] = {wbb_format(b->arena, "%s%s", o->name, flag ? "" : "="),
                           o->letter ? wbb_format(b->arena, "-%c%s", o->letter, flag ? "" : "+") : NULL};
    for (size_t i = 0; i < WBB_LEN(names) && names[i]; i++) {
        wbb_put(b, " \\\n            '");
        if (list) wbb_put(b, "*");
        else if (o->letter) wbb_putf(b, "(%s -%c)", o->name, o->letter);
        wbb_putf(b, "%s[", names[i]);
        put_quoted(b, o->text, "[]:\\");
        wbb_put(b, "]");
        if (!flag) zsh_values(b, o->argument, o->value, &o->choices);
        wbb_put(b, "'");
    }
}

static void zsh_command(WbbBuf *b, const Path *at)
{
    const Option *o;
    uint32_t number = 1;
    wbb_putf(b, "    '%s')\n        _arguments -s -S", words_of(b->arena, at));
    for (uint32_t i = 0; (o = main_option(at->command, i)); i++) zsh_option(b, o);
    zsh_option(b, &main_help_option);
    for (const Positional *p = at->command->positionals; p && p->name; p++) {
        wbb_put(b, " \\\n            '");
        if (p->kind == POSITIONAL_ONE) wbb_putf(b, "%u", number++);
        else wbb_put(b, "*");
        zsh_values(b, p->name, p->value, &p->choices);
        wbb_put(b, "'");
    }
    wbb_put(b, " ;;\n");
}

static void zsh_describe(WbbBuf *b, const char *what, const Command *const *commands, bool with_help)
{
    wbb_put(b, "        names=(");
    for (; *commands; commands++) {
        wbb_putf(b, "\n            '%s:", (*commands)->name);
        put_quoted(b, (*commands)->summary, "");
        wbb_put(b, "'");
    }
    if (with_help) wbb_put(b, "\n            'help:print the help of a command'");
    wbb_putf(b, ")\n        _describe %s names\n", what);
}

/* The second word of `help` and of a command with tools. */
static void zsh_second_word(WbbBuf *b, const char *first, const char *what, const Command *const *commands)
{
    wbb_putf(b, "    if ((CURRENT == 3)) && [[ $command == %s ]]; then\n", first);
    zsh_describe(b, what, commands, false);
    wbb_put(b, "        return\n"
               "    fi\n");
}

/* `words` is shifted until it begins with the last word of the command's name, as _arguments wants it. Loaded from a
 * folder of functions the file is the body of the first call; sourced it only defines the function. */
static void put_zsh(WbbBuf *b, const Program *p)
{
    const char *function = function_of(b->arena, p->name);
    const Paths list = paths_of(b->arena, p);
    wbb_putf(b, "#compdef %s\n"
                "# zsh completion of %s, made by `%s --completions zsh`\n"
                "%s() {\n", p->name, p->name, p->name, function);
    wbb_put(b, "    local command=$words[2]\n"
               "    local -a names\n"
               "    if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then\n");
    zsh_describe(b, "command", p->commands, true);
    wbb_put(b, "        return\n"
               "    fi\n"
               "    if [[ $command == -* ]]; then\n"
               "        _arguments -S");
    for (const Option *o = NULL; (o = main_program_option(p, o));) zsh_option(b, o);
    wbb_put(b, "\n"
               "        return\n"
               "    fi\n");
    zsh_second_word(b, "help", "command", p->commands);
    for (const Command *const *c = p->commands; *c; c++) {
        if (!(*c)->tools) continue;
        zsh_second_word(b, (*c)->name, "tool", (*c)->tools);
        wbb_putf(b, "    if [[ $command == %s ]]; then\n"
                    "        command+=\" $words[3]\"\n"
                    "        shift words\n"
                    "        ((CURRENT--))\n"
                    "    fi\n", (*c)->name);
    }
    wbb_put(b, "    shift words\n"
               "    ((CURRENT--))\n"
               "    case $command in\n");
    for (uint32_t i = 0; i < list.n; i++) zsh_command(b, &list.items[i]);
    wbb_putf(b, "    esac\n"
                "}\n"
                "if [[ $funcstack[1] == %s ]]; then\n"
                "    %s \"$@\"\n"
                "else\n"
                "    compdef %s %s\n"
                "fi\n", function, function, function, p->name);
}

/* --- fish ------------------------------------------------------------------------------------- */
static void fish_values(WbbBuf *b, const char *argument, ValueKind value, const Choices *c)
{
    const char *choices = main_choices(b->arena, c, " ", " "), *end = extension(b->arena, argument);
    if (choices) wbb_putf(b, " -x -a '%s'", choices);
    else if (value == VALUE_FOLDER) wbb_put(b, " -x -a '(__fish_complete_directories)'");
    else if (value == VALUE_FILE && *end) wbb_putf(b, " -x -k -a '(__fish_complete_suffix .%s)'", end);
    else wbb_put(b, value == VALUE_FILE ? " -r -F" : " -x");
}

static void fish_option(WbbBuf *b, const Option *o)
{
    wbb_putf(b, " -l %s", o->name + 2);
    if (o->letter) wbb_putf(b, " -s %c", o->letter);
    if (o->kind != OPTION_FLAG) fish_values(b, o->argument, o->value, &o->choices);
    wbb_put(b, " -d '");
    put_quoted(b, o->text, "");
    wbb_put(b, "'\n");
}

static void fish_command(WbbBuf *b, const Path *at)
{
    const char *begin = wbb_format(b->arena, "complete -c %s -n '_%s_at %s'", at->program->name, at->program->name,
                                   words_of(b->arena, at));
    const Option *o;
    for (uint32_t i = 0; (o = main_option(at->command, i)); i++) {
        wbb_put(b, begin);
        fish_option(b, o);
    }
    wbb_put(b, begin);
    fish_option(b, &main_help_option);
    for (const Positional *p = at->command->positionals; p && p->name; p++) {
        if (p->value == VALUE_TEXT && !p->choices.words && !p->choices.list) continue;
        wbb_put(b, begin);
        fish_values(b, p->name, p->value, &p->choices);
        wbb_put(b, "\n");
    }
}

static void fish_names(WbbBuf *b, const Program *p, const char *condition, const Command *const *commands)
{
    for (; *commands; commands++) {
        wbb_putf(b, "complete -c %s -n '%s' -a %s -d '", p->name, condition, (*commands)->name);
        put_quoted(b, (*commands)->summary, "");
        wbb_put(b, "'\n");
    }
}

/* _NAME_at WORD..: do the words behind the program's name begin with these? _NAME_is WORD..: are they just these? */
static void fish_functions(WbbBuf *b, const char *name)
{
    wbb_putf(b, "function _%s_at\n"
                "    set -l words (commandline -opc)\n"
                "    set -e words[1]\n"
                "    for i in (seq (count $argv))\n"
                "        test \"$argv[$i]\" = \"$words[$i]\"; or return 1\n"
                "    end\n"
                "end\n", name);
    wbb_putf(b, "function _%s_is\n"
                "    set -l words (commandline -opc)\n"
                "    set -e words[1]\n"
                "    test \"$argv\" = \"$words\"\n"
                "end\n", name);
}

static void put_fish(WbbBuf *b, const Program *p)
{
    const Paths list = paths_of(b->arena, p);
    const char *name = p->name;
    wbb_putf(b, "# fish completion of %s, made by `%s --completions fish`\n", name, name);
    fish_functions(b, name);
    wbb_putf(b, "complete -c %s -f\n", name);
    fish_names(b, p, wbb_format(b->arena, "_%s_is", name), p->commands);
    wbb_putf(b, "complete -c %s -n '_%s_is' -a help -d 'print the help of a command'\n", name, name);
    for (const Option *o = NULL; (o = main_program_option(p, o));) {
        wbb_putf(b, "complete -c %s -n '_%s_is; or _%s_is %s'", name, name, name, o->name);
        fish_option(b, o);
    }
    fish_names(b, p, wbb_format(b->arena, "_%s_is help; or _%s_is --man", name, name), p->commands);
    for (const Command *const *c = p->commands; *c; c++)
        if ((*c)->tools) fish_names(b, p, wbb_format(b->arena, "_%s_is %s", name, (*c)->name), (*c)->tools);
    for (uint32_t i = 0; i < list.n; i++) fish_command(b, &list.items[i]);
}

/* --- any -------------------------------------------------------------------------------------- */
void main_completions(WbbBuf *b, const Program *p, const char *shell)
{
    if (!strcmp(shell, "bash")) put_bash(b, p);
    else if (!strcmp(shell, "zsh")) put_zsh(b, p);
    else put_fish(b, p);
}

static void list_option(WbbBuf *b, const char *command, const Option *o)
{
    static const char *const kind[] = {"flag", "number", "word", "list"};
    const char *choices = main_choices(b->arena, &o->choices, " ", " ");
    wbb_putf(b, "%s\t%s\t%c\t%s\t%s\t%s\t%s\n", command, o->name, o->letter ? o->letter : '-', kind[o->kind],
             o->argument ? o->argument : "-", choices ? choices : "-", o->text);
}

void main_list_options(WbbBuf *b, const Program *p)
{
    const Paths list = paths_of(b->arena, p);
    for (const Option *o = NULL; (o = main_program_option(p, o));) list_option(b, "", o);
    for (uint32_t i = 0; i < list.n; i++) {
        const char *command = words_of(b->arena, &list.items[i]);
        const Option *o;
        for (uint32_t k = 0; (o = main_option(list.items[i].command, k)); k++) list_option(b, command, o);
        list_option(b, command, &main_help_option);
    }
}

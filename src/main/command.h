/* command.h: tables of what each command takes. The parser, --help, man pages and completions use these tables alone.
 *
 * A command declares a struct, and a row with the offset of a field for each positional argument and each option.
 *
 *     typedef struct {
 *         const char *file, *output;
 *     } FuseOptions;
 *     static const Option options[] = {
 *         {WORD("--output", FuseOptions, output, "DIR", "write the parts to DIR"), .letter = 'o'}, {0}};
 *     const Command main_fuse = {.name = "fuse", .options = options, .size = sizeof(FuseOptions), .run = fuse, ..};
 *
 *     static WbbStatus fuse(const Call *call) { const FuseOptions *o = call->options; .. }
 */
#ifndef MAIN_COMMAND_H
#define MAIN_COMMAND_H

#include "base/base.h"

#include <stdio.h>

#define MAIN_MEMORY ((size_t)16 << 30) /* bytes of one arena of a command, at most */

typedef struct {
    const char **items;
    uint32_t n, capacity;
} Words;

/* How shells complete a value. The extension of a file is that of the argument's name, FILE.hlo. */
typedef enum { VALUE_TEXT, VALUE_FILE, VALUE_FOLDER } ValueKind;

/* The values that an argument or option takes, with spaces between: `words`, else what `list` returns, else any. */
typedef struct {
    const char *words;
    const char *(*list)(WbbArena *a);
    bool open;   /* other values are taken too; these are for completion */
    bool commas; /* a value may be several of them with commas between */
} Choices;

/* The type of an option's field: bool, int64_t, const char *, Words. */
typedef enum { OPTION_FLAG, OPTION_NUMBER, OPTION_WORD, OPTION_LIST } OptionKind;

typedef struct {
    const char *name; /* "--output"; NULL ends the table */
    char letter;      /* 'o' for -o; 0: none */
    OptionKind kind;
    size_t at;            /* offset of the field in the command's struct */
    const char *argument; /* the value's name in help, "DIR"; NULL for a flag */
    const char *text;     /* one line of help, without a full stop */
    const char *standard; /* the value if the option is not given; NULL: false, 0, NULL or an empty list */
    ValueKind value;
    Choices choices;
    int64_t most; /* the largest number; 0: no limit */
    size_t given; /* offset of a bool field that says whether the option was given; 0: none */
} Option;

/* The first fields of a row; others may follow. */
#define ROW(word, T, field, line) .name = word, .at = offsetof(T, field), .text = line
#define FLAG(option, T, field, line) ROW(option, T, field, line), .kind = OPTION_FLAG
#define NUMBER(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_NUMBER, .argument = value
#define WORD(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_WORD, .argument = value
#define LIST(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_LIST, .argument = value

/* How many words it takes: one, one or more, any number. Its field is a const char *, or Words. */
typedef enum { POSITIONAL_ONE, POSITIONAL_SEVERAL, POSITIONAL_ANY } PositionalKind;

typedef struct {
    const char *name; /* "FILE.hlo"; NULL ends the table */
    PositionalKind kind;
    size_t at;
    const char *text;
    ValueKind value;
    Choices choices;
} Positional;

#define ONE(argument, T, field, line) ROW(argument, T, field, line), .kind = POSITIONAL_ONE
#define SEVERAL(argument, T, field, line) ROW(argument, T, field, line), .kind = POSITIONAL_SEVERAL
#define ANY(argument, T, field, line) ROW(argument, T, field, line), .kind = POSITIONAL_ANY

typedef struct {
    const char *line, *text; /* a command line without the program's name; what it shows */
} Example;

typedef struct Command Command;
typedef struct Program Program;

/* One call of a command. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Program *program;
    const char *name;    /* "warpburg rules list", for messages */
    const void *options; /* the command's struct, filled */
} Call;

struct Command {
    const char *name;    /* "compile" */
    const char *summary; /* one line without a full stop */
    const char *details; /* sentences; a line break ends a paragraph; NULL: none */
    const Positional *positionals;
    const Option *options, *more_options; /* two tables over one struct; either may be NULL */
    const Example *examples;              /* line NULL after the last */
    const char *declined, *check;         /* when exit status 3 and 4 occur; NULL: never */
    size_t size;                          /* of the struct */
    WbbStatus (*run)(const Call *call);   /* prints results; fails and declines as base.h says */
    const Command *const *tools;          /* subcommands, NULL after the last; then there is no struct and no run */
};

struct Program {
    const char *name, *summary, *details; /* as in Command */
    const Command *const *commands;       /* NULL after the last */
    const Example *variables;             /* of the environment: name, meaning */
    const Option *options;                /* more than every program has; NULL: none */
    /* Of a program whose rules --tables replaces: takes those of the file, or where `path` is NULL `tables`, and
     * returns what there was before. The arena lasts as long as the command. NULL: it has no rules. */
    const void *(*use_tables)(WbbCx *cx, WbbArena *a, const char *path, const void *tables);
    const char *see;                      /* another man page; NULL: none */
};

/* A command with what it is a command of. */
typedef struct {
    const Program *program;
    const Command *group; /* of a tool; else NULL */
    const Command *command;
} Path;

/* command.c ------------------------------------------------------------------------------------------------------- */
extern const Option main_help_option;       /* of every command */
/* The options that a program takes instead of a command, or before it, one by one: the first behind NULL. */
const Option *main_program_option(const Program *p, const Option *before);
/* Option number i of a command, through both tables; NULL after the last. */
const Option *main_option(const Command *c, uint32_t i);
/* "warpburg rules list" */
const char *main_path_name(WbbArena *a, const Path *at);
/* The choices with `separator` between them, before the last one `last`; NULL: any value. */
const char *main_choices(WbbArena *a, const Choices *c, const char *separator, const char *last);
const char *main_sentence(WbbArena *a, const char *summary); /* "Cut an unfused module into kernels." */
const char *main_synopsis(WbbArena *a, const Path *at);      /* "warpburg fuse [OPTION].. FILE.hlo" */
const char *main_option_name(WbbArena *a, const Option *o);  /* "--output DIR" */
const char *main_option_text(WbbArena *a, const Option *o);  /* its text with choices and standard value */
typedef struct {
    WbbStatus status;
    const char *text;
} Exit;
/* Exit statuses of a command, or of any if it is NULL; returns their number. */
uint32_t main_exits(const Command *c, Exit out[5]);

/* parse.c --------------------------------------------------------------------------------------------------------- */
typedef enum { PARSE_RUN, PARSE_HELP, PARSE_USAGE } Parsed;
/* Fills the struct of a command from the words behind its name. PARSE_HELP: --help is among them; PARSE_USAGE: they are
 * wrong, and a message is on stderr. Lists are in `a`. */
Parsed main_parse(WbbArena *a, const Path *at, int argc, char **argv, void *options);
/* The name with the smallest edit distance from `word`; NULL if there are no names. */
const char *main_nearest(WbbArena *a, const char *word, const char *const *names, uint32_t n);
/* For a command's own checks: prints "warpburg fuse: " and the message; returns WBB_USAGE. */
WbbStatus main_usage(const Call *call, const char *format, ...) WBB_PRINTF(2, 3);

/* help.c ---------------------------------------------------------------------------------------------------------- */
void main_help_program(WbbBuf *b, const Program *p);
void main_help_command(WbbBuf *b, const Path *at);

/* man.c ------------------------------------------------------------------------------------------------------------ */
/* A page of the whole program (at->command NULL), or of one command. */
void main_man(WbbBuf *b, const Path *at);

/* complete.c ------------------------------------------------------------------------------------------------------ */
void main_completions(WbbBuf *b, const Program *p, const char *shell); /* "bash", "zsh" or "fish" */
/* A line for every option of every command: command, name, letter, kind, argument, choices and text, with tabs between
 * them; - for what an option does not have. */
void main_list_options(WbbBuf *b, const Program *p);

/* terminal.c ---------------------------------------------------------------------------------------------------------
 * What a person at a terminal sees beside the results. */
typedef struct {
    char what[64];
    double began, said; /* seconds; began 0: it has ended */
    int64_t first, done, total;
} MainWork;

typedef struct {
    double began, shown; /* the command; the line, last; 0: never */
    MainWork outer, inner;
} MainProgress;

void main_begin_progress(WbbCx *cx, MainProgress *p); /* which must live as long as the context is used */
void main_end_progress(const MainProgress *p);
bool main_shows_progress(void);
void main_put_text(FILE *f, const char *text); /* to stdout or stderr, with colours if that is a terminal */

/* dispatch.c ------------------------------------------------------------------------------------------------------ */
/* Runs a command line; returns its exit status. */
int main_command_line(const Program *p, int argc, char **argv);
/* The same for the process, which ends on signals. */
int main_dispatch(const Program *p, int argc, char **argv);

#endif

/* command.h: what a command takes, as tables; parser, --help, man pages and completions are made from these tables alone.
 *
 * A command declares a struct for what it takes, and a row for each positional argument and each option with the offset of its field.
 *
 *     typedef struct {
 *         const char *file, *output;
 *     } FuseOptions;
 *     static const Option options[] = {{WORD("--output", FuseOptions, output, "DIR", "write the parts to DIR"), .letter = 'o'}, {0}};
 *     const Command main_fuse = {.name = "fuse", .options = options, .size = sizeof(FuseOptions), .run = fuse, ..};
 *
 *     static WbbStatus fuse(const Call *call) { const FuseOptions *o = call->options; .. }
 */
#ifndef MAIN_COMMAND_H
#define MAIN_COMMAND_H

#include "base/base.h"

typedef struct {
    const char **items;
    uint32_t n, capacity;
} Words;

/* What a word on the command line names: how shells complete it. A file's extension is read from the argument's name, FILE.hlo. */
typedef enum { VALUE_TEXT, VALUE_FILE, VALUE_FOLDER } ValueKind;

/* Words that a value may be. */
typedef struct {
    const char *words;            /* with a space between; NULL: see `list` */
    const char *(*list)(WbbArena *a); /* the same from another module's table; NULL: any value */
    bool open;                    /* other values are taken too: these are for completion only */
    bool commas;                  /* several of them may stand with commas between */
} Choices;

/* The type of an option's field: bool, int64_t, const char *, Words. */
typedef enum { OPTION_FLAG, OPTION_NUMBER, OPTION_WORD, OPTION_LIST } OptionKind;

typedef struct {
    const char *name;     /* "--output"; NULL ends the table */
    char letter;          /* 'o' for -o; 0: none */
    OptionKind kind;
    size_t at;            /* of the field in the command's struct */
    const char *argument; /* the value's name in help, "DIR"; NULL for a flag */
    const char *text;     /* one line of help, without a full stop */
    const char *standard; /* the value where the option is not given; NULL: false, 0, NULL or none */
    ValueKind value;
    Choices choices;
    int64_t most;         /* of a number; 0: no limit */
    size_t given;         /* of a bool field that says whether the option was given; 0: none */
} Option;

/* The fields of a row; others may follow: {WORD("--output", FuseOptions, output, "DIR", "write .."), .letter = 'o'}. */
#define ROW(word, T, field, line) .name = word, .at = offsetof(T, field), .text = line
#define FLAG(option, T, field, line) ROW(option, T, field, line), .kind = OPTION_FLAG
#define NUMBER(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_NUMBER, .argument = value
#define WORD(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_WORD, .argument = value
#define LIST(option, T, field, value, line) ROW(option, T, field, line), .kind = OPTION_LIST, .argument = value

/* How many words it takes: one, one or more, any number. The type of its field: const char *, Words, Words. */
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
    const char *line, *text; /* without the program's name; what it shows */
} Example;

typedef struct Command Command;

/* One call of a command. */
typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const char *name;    /* "warpburg rules list", for messages */
    const void *options; /* the command's struct, filled */
} Call;

struct Command {
    const char *name;     /* "compile" */
    const char *summary;  /* one line without a full stop */
    const char *details;  /* sentences; NULL: none. A line break begins a paragraph */
    const Positional *positionals;
    const Option *options, *more_options; /* two tables over one struct; either may be NULL */
    const Example *examples;              /* line NULL after the last */
    const char *declined, *check;         /* when exit status 3 and 4 occur; NULL: never */
    size_t size;                          /* of the struct */
    WbbStatus (*run)(const Call *call);   /* prints results; failures and declines go the way of base.h */
    const Command *const *tools;          /* commands of this command, NULL after the last; then it has no struct and no run */
};

typedef struct {
    const char *name, *summary, *details; /* one line without a full stop; sentences */
    const Command *const *commands;  /* NULL after the last */
    const Example *variables;        /* of the environment: name, meaning */
    const char *see;                 /* other man pages; NULL: none */
} Program;

/* A command and where it stands. */
typedef struct {
    const Program *program;
    const Command *group; /* NULL: a command of the program itself */
    const Command *command;
} Path;

/* parse.c ------------------------------------------------------------------------------------------------------------------ */
typedef enum { PARSE_RUN, PARSE_HELP, PARSE_USAGE } Parsed;
/* Fill the struct of a command from its words; PARSE_USAGE after a message on stderr. Lists live in `a`. */
Parsed main_parse(WbbArena *a, const Path *at, int argc, char **argv, void *options);
/* Option number i of a command over both tables; NULL after the last. */
const Option *main_option(const Command *c, uint32_t i);
/* "warpburg rules list" */
const char *main_path_name(WbbArena *a, const Path *at);
/* The words of a choice, separated by `separator`, the last by `last`; NULL: any value. */
const char *main_choices(WbbArena *a, const Choices *c, const char *separator, const char *last);
/* Of `names`, the one that is spelled most like `word`; NULL if there are none. */
const char *main_nearest(WbbArena *a, const char *word, const char *const *names, uint32_t n);
/* For checks of a command's own: prints "NAME: message"; always WBB_USAGE. */
WbbStatus main_usage(const Call *call, const char *format, ...) WBB_PRINTF(2, 3);

/* help.c ------------------------------------------------------------------------------------------------------------------- */
extern const Option main_help_option;
void main_help_program(WbbBuf *b, const Program *p);
void main_help_command(WbbBuf *b, const Path *at); /* of a command with tools: the list of them */
const char *main_sentence(WbbArena *a, const char *summary);       /* "Cut an unfused module." */
const char *main_synopsis(WbbArena *a, const Path *at);            /* "warpburg fuse [OPTION].. FILE.hlo" */
const char *main_option_name(WbbArena *a, const Option *o);        /* "--output DIR" */
const char *main_option_text(WbbArena *a, const Option *o);        /* its line of help with choices and standard value */
typedef struct {
    WbbStatus status;
    const char *text;
} Exit;
/* Exit statuses of a command, or with NULL of any command; returns their number. */
uint32_t main_exits(const Command *c, Exit out[5]);

/* man.c: a page of the whole program (at->command NULL), or of one command ---------------------------------------------------- */
void main_man(WbbBuf *b, const Path *at);

/* complete.c ------------------------------------------------------------------------------------------------------------------- */
void main_completions(WbbBuf *b, const Program *p, const char *shell); /* "bash", "zsh" or "fish" */
/* Every option of every command, one a line: command, name, letter, kind, argument, choices, text, with tabs between; - for what it has not. */
void main_list_options(WbbBuf *b, const Program *p);

/* dispatch.c ------------------------------------------------------------------------------------------------------------------- */
extern const Option main_program_options[]; /* what every program takes in place of a command */
/* The command line of a program: prints messages; returns the exit status of the process. */
int main_dispatch(const Program *p, int argc, char **argv);

#endif

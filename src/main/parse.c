/* parse.c: the words of a command line, checked against a command's tables and stored in its struct.
 *
 * Needs the tables and a zeroed struct; leaves every field set: to what the command line says, else to the option's
 * standard value. Options and positional arguments may stand in any order. `--name VALUE`, `--name=VALUE`, `-n
 * VALUE` and `-nVALUE` are one; of an option given twice the last counts, but for lists; after `--` every word is a
 * positional argument. The file - is standard input.
 *
 *     warpburg compile a.hlo --taget sm_90
 *     warpburg compile: no option --taget; the nearest is --target
 */
#define _XOPEN_SOURCE 700

#include "main/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    WbbArena *arena;
    const Path *at;
    char *fields;  /* the command's struct */
    Words words;   /* positional arguments, in order */
} Parser;

/* --- messages --------------------------------------------------------------------------------- */
static Parsed refuse(const Parser *p, const char *format, ...) WBB_PRINTF(2, 3);
static Parsed refuse(const Parser *p, const char *format, ...)
{
    const char *name = main_path_name(p->arena, p->at);
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nusage: %s\n`%s --help` lists its options\n", main_synopsis(p->arena, p->at), name);
    va_end(args);
    return PARSE_USAGE;
}

WbbStatus main_usage(const Call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", call->name);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return WBB_USAGE;
}

/* How many letters must be inserted, left out, replaced or swapped with their neighbour to make one word of the
 * other. */
static uint32_t distance(WbbArena *a, const char *x, const char *y)
{
    const size_t n = strlen(x), m = strlen(y), row = m + 1;
    uint32_t *d = WBB_NEW_N(a, uint32_t, (n + 1) * row);
    for (size_t i = 0; i <= n; i++) {
        for (size_t k = 0; k <= m; k++) {
            uint32_t *here = &d[i * row + k];
            *here = i == 0 ? (uint32_t)k : d[(i - 1) * row + k] + 1;
            if (i == 0) continue;
            if (k > 0) *here = WBB_MIN(*here, d[i * row + k - 1] + 1);
            if (k > 0) *here = WBB_MIN(*here, d[(i - 1) * row + k - 1] + (x[i - 1] != y[k - 1]));
            if (i > 1 && k > 1 && x[i - 1] == y[k - 2] && x[i - 2] == y[k - 1])
                *here = WBB_MIN(*here, d[(i - 2) * row + k - 2] + 1);
        }
    }
    return d[n * row + m];
}

const char *main_nearest(WbbArena *a, const char *word, const char *const *names, uint32_t n)
{
    const char *best = NULL;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < n && strlen(word) < 256; i++) {
        const uint32_t d = distance(a, word, names[i]);
        if (d >= least) continue;
        least = d;
        best = names[i];
    }
    return best;
}

static bool takes(const Command *c, const char *name)
{
    bool yes = false;
    for (uint32_t i = 0; main_option(c, i); i++) yes |= !strcmp(main_option(c, i)->name, name);
    for (uint32_t i = 0; c->tools && c->tools[i]; i++) yes |= takes(c->tools[i], name);
    return yes;
}

/* ", which `eval` takes"; "" where no command does. */
static const char *who_takes(const Parser *p, const char *name)
{
    for (const Command *const *c = p->at->program->commands; *c; c++)
        if (takes(*c, name)) return wbb_format(p->arena, ", which `%s` takes", (*c)->name);
    return "";
}

static Parsed refuse_option(const Parser *p, const char *word, size_t n)
{
    struct { const char **items; uint32_t n, capacity; } names = {0};
    for (uint32_t i = 0; main_option(p->at->command, i); i++) {
        WBB_PUSH(p->arena, &names, main_option(p->at->command, i)->name);
    }
    WBB_PUSH(p->arena, &names, "--help");
    const char *name = wbb_format(p->arena, "%.*s", (int)n, word),
               *nearest = main_nearest(p->arena, name, names.items, names.n);
    return refuse(p, "no option %s%s%s%s", name, who_takes(p, name), nearest ? "; the nearest is " : "",
                  nearest ? nearest : "");
}

/* --- values ----------------------------------------------------------------------------------- */
static bool is_word_of(const char *words, const char *word, size_t n)
{
    for (const char *p = words; *p;) {
        const size_t k = strcspn(p, " ");
        if (k == n && !strncmp(p, word, n)) return true;
        p += k + (p[k] == ' ');
    }
    return false;
}

/* Is the value, or each part of it between commas, one of the choices? */
static bool may_be(const Parser *p, const Choices *c, const char *value)
{
    const char *words = c->open ? NULL : main_choices(p->arena, c, " ", " ");
    if (!words) return true;
    for (const char *part = value;;) {
        const size_t n = c->commas ? strcspn(part, ",") : strlen(part);
        if (!is_word_of(words, part, n)) return false;
        if (!part[n]) return true;
        part += n + 1;
    }
}

static Parsed store_number(const Parser *p, const Option *o, const char *value)
{
    char *end;
    errno = 0;
    const int64_t number = strtoll(value, &end, 0);
    if (errno == ERANGE) return refuse(p, "%s %s: %lld at most", o->name, value, (long long)INT64_MAX);
    if (*value == 0 || *end != 0 || number < 0) return refuse(p, "%s %s: a number from 0 on expected", o->name, value);
    if (o->most && number > o->most) return refuse(p, "%s %s: %lld at most", o->name, value, (long long)o->most);
    memcpy(p->fields + o->at, &number, sizeof number);
    return PARSE_RUN;
}

/* `value` is NULL for a flag. */
static Parsed store(const Parser *p, const Option *o, const char *value)
{
    const bool yes = true;
    if (o->given) memcpy(p->fields + o->given, &yes, sizeof yes);
    if (o->kind == OPTION_FLAG) {
        memcpy(p->fields + o->at, &yes, sizeof yes);
        return PARSE_RUN;
    }
    const bool path = o->value == VALUE_FILE || o->value == VALUE_FOLDER;
    if (path && !*value) return refuse(p, "%s '': the name of a %s expected", o->name,
                                       o->value == VALUE_FILE ? "file" : "folder");
    if (!may_be(p, &o->choices, value))
        return refuse(p, "%s %s: %s expected", o->name, value, main_choices(p->arena, &o->choices, ", ", " or "));
    if (o->kind == OPTION_NUMBER) return store_number(p, o, value);
    if (!strcmp(o->argument, "DIR") && !strcmp(value, "-"))
        return refuse(p, "%s %s: a folder expected; standard output is what there is without %s", o->name, value,
                      o->name);
    if (o->kind == OPTION_WORD) memcpy(p->fields + o->at, &value, sizeof value);
    else WBB_PUSH(p->arena, (Words *)(void *)(p->fields + o->at), value);
    return PARSE_RUN;
}

/* A list keeps its standard value out: what reads it must know that none was given. */
static void set_standard(const Parser *p)
{
    const Option *o;
    for (uint32_t i = 0; (o = main_option(p->at->command, i)); i++) {
        if (!o->standard || o->kind == OPTION_LIST || o->kind == OPTION_FLAG) continue;
        if (o->kind == OPTION_NUMBER) store_number(p, o, o->standard);
        else memcpy(p->fields + o->at, &o->standard, sizeof o->standard);
    }
}

/* --- words ------------------------------------------------------------------------------------ */
/* The option that a word names; *n is the length of the name in the word, behind which `=VALUE` or a letter's value
 * may stand. */
static const Option *find_option(const Command *c, const char *word, size_t *n)
{
    const bool is_letter = word[1] != '-';
    const Option *o;
    *n = is_letter ? 2 : strcspn(word, "=");
    for (uint32_t i = 0; (o = main_option(c, i)); i++) {
        if (is_letter ? o->letter == word[1] : strlen(o->name) == *n && !strncmp(o->name, word, *n)) return o;
    }
    return NULL;
}

/* argv[*i] and, where the value is a word of its own, argv[*i + 1]. */
static Parsed parse_option(const Parser *p, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    size_t n;
    const Option *o = find_option(p->at->command, word, &n);
    if (!o) return refuse_option(p, word, word[1] == '-' ? n : strlen(word));
    const bool joined = word[n] != 0;
    if (o->kind == OPTION_FLAG) return joined ? refuse(p, "%s takes no value: %s", o->name, word) : store(p, o, NULL);
    if (joined) return store(p, o, word + n + (word[n] == '='));
    if (*i + 1 == argc) return refuse(p, "%s: a value is missing: %s", o->name, o->argument);
    return store(p, o, argv[++*i]);
}

/* What a pipe brings can be read once, and commands read a file several times, in several processes: it goes into a
 * file without a name, which then is standard input. */
static const char *standard_input(void)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) return "/dev/stdin";
    FILE *kept = tmpfile();
    char bytes[1 << 14];
    ssize_t n = 0;
    bool good = kept != NULL;
    while (good && (n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
        if (n > 0) good = fwrite(bytes, 1, (size_t)n, kept) == (size_t)n;
        else good = errno == EINTR;
    }
    good = good && !fflush(kept) && dup2(fileno(kept), STDIN_FILENO) >= 0;
    if (kept) fclose(kept);
    return good ? "/dev/stdin" : "-";
}

static Parsed fill_positionals(const Parser *p)
{
    uint32_t used = 0;
    for (const Positional *q = p->at->command->positionals; q && q->name; q++) {
        if (q->kind != POSITIONAL_ANY && used == p->words.n) return refuse(p, "%s expected", q->name);
        for (; used < p->words.n; used++) {
            const char *word = p->words.items[used];
            if (q->value == VALUE_FILE && !strcmp(word, "-")) word = standard_input();
            if (!may_be(p, &q->choices, word))
                return refuse(p, "%s: %s expected", word, main_choices(p->arena, &q->choices, ", ", " or "));
            if (q->kind != POSITIONAL_ONE) {
                WBB_PUSH(p->arena, (Words *)(void *)(p->fields + q->at), word);
                continue;
            }
            memcpy(p->fields + q->at, &word, sizeof word);
            used++;
            break;
        }
    }
    return used < p->words.n ? refuse(p, "'%s' is one word too many", p->words.items[used]) : PARSE_RUN;
}

Parsed main_parse(WbbArena *a, const Path *at, int argc, char **argv, void *options)
{
    Parser p = {.arena = a, .at = at, .fields = options};
    bool only_words = false; /* behind -- */
    set_standard(&p);
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (only_words || word[0] != '-' || !word[1]) {
            WBB_PUSH(a, &p.words, word);
            continue;
        }
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) return PARSE_HELP;
        only_words = !strcmp(word, "--");
        const Parsed r = only_words ? PARSE_RUN : parse_option(&p, argc, argv, &i);
        if (r != PARSE_RUN) return r;
    }
    return fill_positionals(&p);
}

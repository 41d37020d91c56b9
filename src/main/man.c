/* man.c: --man: the page of a program, or of one of its commands, from their tables, for man(1).
 *
 * Needs the tables; leaves roff text in the macros of man(7). A page of a program has a subsection for each of its
 * commands and tools.
 *
 *     .TP
 *     \fB\-o\fR, \fB\-\-output\fR \fIDIR\fR
 *     write one file for each part, and DIR/index.tsv
 */
#include "main/command.h"

#include <ctype.h>
#include <string.h>

/* Text in which nothing is read as roff: backslashes, hyphens that are typed, quotes; and a line that begins with a
 * dot. */
static void put_text(WbbBuf *b, const char *text)
{
    for (const char *p = text; *p; p++) {
        const bool line_begins = b->n == 0 || b->text[b->n - 1] == '\n';
        if (line_begins && (*p == '.' || *p == '\'')) wbb_put(b, "\\&");
        if (*p == '\\') wbb_put(b, "\\e");
        else if (*p == '-') wbb_put(b, "\\-");
        else if (*p == '\'') wbb_put(b, "\\(aq");
        else if (*p == '`') wbb_put(b, "\\(ga");
        else if (*p == '^') wbb_put(b, "\\(ha");
        else if (*p == '~') wbb_put(b, "\\(ti");
        else if (*p == '\n') wbb_put(b, "\n.PP\n");
        else wbb_put_n(b, p, 1);
    }
}

static void put_styled(WbbBuf *b, char font, const char *text)
{
    wbb_putf(b, "\\f%c", font);
    put_text(b, text);
    wbb_put(b, "\\fR");
}

static void put_option(WbbBuf *b, const Option *o)
{
    wbb_put(b, ".TP\n");
    if (o->letter) {
        put_styled(b, 'B', wbb_format(b->arena, "-%c", o->letter));
        wbb_put(b, ", ");
    }
    put_styled(b, 'B', o->name);
    if (o->argument) wbb_put(b, " ");
    if (o->argument) put_styled(b, 'I', o->argument);
    wbb_put(b, "\n");
    put_text(b, main_option_text(b->arena, o));
    wbb_put(b, "\n");
}

static void put_pair(WbbBuf *b, char font, const char *name, const char *text)
{
    wbb_put(b, ".TP\n");
    put_styled(b, font, name);
    wbb_put(b, "\n");
    put_text(b, text);
    wbb_put(b, "\n");
}

static void put_synopsis(WbbBuf *b, const Path *at)
{
    const char *name = main_path_name(b->arena, at), *all = main_synopsis(b->arena, at);
    put_styled(b, 'B', name);
    put_text(b, all + strlen(name));
    wbb_put(b, "\n");
}

static void put_exits(WbbBuf *b, const Command *c)
{
    Exit exits[5];
    const uint32_t n = main_exits(c, exits);
    for (uint32_t i = 0; i < n; i++) put_pair(b, 'B', wbb_format(b->arena, "%d", exits[i].status), exits[i].text);
}

/* Arguments, options and examples of a command. */
static void put_details(WbbBuf *b, const Path *at)
{
    const Command *c = at->command;
    const Option *o;
    put_text(b, main_sentence(b->arena, c->summary));
    wbb_put(b, "\n");
    if (c->details) {
        wbb_put(b, ".PP\n");
        put_text(b, c->details);
        wbb_put(b, "\n");
    }
    for (const Positional *p = c->positionals; p && p->name; p++) put_pair(b, 'I', p->name, p->text);
    for (uint32_t i = 0; (o = main_option(c, i)); i++) put_option(b, o);
    for (const Example *e = c->examples; e && e->line; e++) {
        wbb_put(b, ".PP\nExample:\n");
        put_text(b, e->text);
        wbb_put(b, "\n.PP\n.RS\n.nf\n");
        put_text(b, wbb_format(b->arena, "%s %s", at->program->name, e->line));
        wbb_put(b, "\n.fi\n.RE\n");
    }
}

static void put_tools(WbbBuf *b, const Path *at);

/* The part of a program's page about one command. */
static void put_command(WbbBuf *b, const Path *at)
{
    wbb_put(b, ".SS ");
    put_text(b, main_path_name(b->arena, at));
    wbb_put(b, "\n");
    put_synopsis(b, at);
    wbb_put(b, ".PP\n");
    put_details(b, at);
    if (at->command->declined) put_pair(b, 'R', "Exit status 3", at->command->declined);
    if (at->command->check) put_pair(b, 'R', "Exit status 4", at->command->check);
    put_tools(b, at);
}

static void put_tools(WbbBuf *b, const Path *at)
{
    for (const Command *const *t = at->command->tools; t && *t; t++) {
        const Path tool = {.program = at->program, .group = at->command, .command = *t};
        put_command(b, &tool);
    }
}

/* Name and version of the program; the page's own name in front: "WARPBURG-COMPILE". */
static void put_head(WbbBuf *b, const Path *at, const char *summary)
{
    const char *name = main_path_name(b->arena, at);
    char *dashed = wbb_format(b->arena, "%s", name), *upper;
    for (char *p = dashed; *p; p++)
        if (*p == ' ') *p = '-';
    upper = wbb_format(b->arena, "%s", dashed);
    for (char *p = upper; *p; p++) *p = (char)toupper((unsigned char)*p);
    wbb_putf(b, ".\\\" made by `%s --man`\n.TH %s 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n", at->program->name,
             upper, at->program->name, WBB_VERSION);
    put_text(b, dashed);
    wbb_put(b, " \\- ");
    put_text(b, summary);
    wbb_put(b, "\n.SH SYNOPSIS\n");
}

static void put_program(WbbBuf *b, const Program *p)
{
    const Path at = {.program = p};
    put_head(b, &at, p->summary);
    put_synopsis(b, &at);
    wbb_put(b, ".SH DESCRIPTION\n");
    put_text(b, p->details);
    wbb_put(b, "\n.SH OPTIONS\n");
    for (const Option *o = NULL; (o = main_program_option(p, o));) put_option(b, o);
    wbb_put(b, ".SH COMMANDS\nEvery command also takes\n.BR \\-h \" and \" \\-\\-help ,\nwhich print its part of this "
               "page.\n");
    for (const Command *const *c = p->commands; *c; c++) {
        const Path command = {.program = p, .command = *c};
        put_command(b, &command);
    }
    wbb_put(b, ".SH EXIT STATUS\n");
    put_exits(b, NULL);
    if (p->variables) wbb_put(b, ".SH ENVIRONMENT\n");
    for (const Example *e = p->variables; e && e->line; e++) put_pair(b, 'B', e->line, e->text);
    if (p->see) wbb_putf(b, ".SH SEE ALSO\n.BR %s (1)\n", p->see);
}

void main_man(WbbBuf *b, const Path *at)
{
    if (!at->command) {
        put_program(b, at->program);
        return;
    }
    put_head(b, at, at->command->summary);
    put_synopsis(b, at);
    wbb_put(b, ".SH DESCRIPTION\n");
    put_details(b, at);
    put_tools(b, at);
    wbb_put(b, ".SH EXIT STATUS\n");
    put_exits(b, at->command->tools ? NULL : at->command);
    wbb_putf(b, ".SH SEE ALSO\n.BR %s (1)\n", at->program->name);
}

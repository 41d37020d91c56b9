/* help.c: --help of a program and of a command, from their tables.
 *
 * Needs the tables; leaves text of at most WIDTH columns.
 *
 *     usage: warpburg fuse [OPTION].. FILE.hlo
 *
 *     Cut an unfused module into kernels and library calls.
 *     ..
 *       -o, --output DIR     write one file for each part, and DIR/index.tsv
 */
#include "main/command.h"

#include <string.h>

enum { WIDTH = 100, NAMES = 27 }; /* columns of a page, and of the names on its left */

/* --- layout ----------------------------------------------------------------------------------- */
/* Words of `text` from column `column` on, broken at WIDTH and continued at column `indent`; a line break in it
 * ends a paragraph. */
static void put_wrapped(WbbBuf *b, const char *text, int column, int indent)
{
    bool first = true;
    for (const char *p = text; *p;) {
        const int n = (int)strcspn(p, " \n");
        if (!first && column + 1 + n > WIDTH) {
            wbb_putf(b, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        wbb_putf(b, "%s%.*s", first ? "" : " ", n, p);
        column += n + !first;
        first = false;
        p += n;
        if (*p == '\n') {
            wbb_putf(b, "\n\n%*s", indent, "");
            column = indent;
            first = true;
        }
        p += *p != 0;
    }
    wbb_put(b, "\n");
}

/* "  name        text" */
static void put_item(WbbBuf *b, const char *name, const char *text)
{
    const int n = (int)strlen(name) + 2;
    if (n + 2 > NAMES) wbb_putf(b, "  %s\n%*s", name, NAMES, "");
    else wbb_putf(b, "  %-*s", NAMES - 2, name);
    put_wrapped(b, text, NAMES, NAMES);
}

/* --- rows ------------------------------------------------------------------------------------- */
static void put_option(WbbBuf *b, const Option *o)
{
    const char *letter = o->letter ? wbb_format(b->arena, "-%c, ", o->letter) : "    ";
    put_item(b, wbb_format(b->arena, "%s%s", letter, main_option_name(b->arena, o)), main_option_text(b->arena, o));
}

static void put_exits(WbbBuf *b, const Command *c)
{
    Exit exits[5];
    const uint32_t n = main_exits(c, exits);
    wbb_put(b, "\nexit status:\n");
    for (uint32_t i = 0; i < n; i++) {
        wbb_putf(b, "  %d  ", exits[i].status);
        put_wrapped(b, exits[i].text, 5, 5);
    }
}

static void put_examples(WbbBuf *b, const Path *at)
{
    const char *program = at->program->name;
    const Example *e = at->command->examples;
    if (e && e->line) wbb_put(b, "\nexamples:\n");
    for (; e && e->line; e++) {
        wbb_putf(b, "  %s %s\n      ", program, e->line);
        put_wrapped(b, e->text, 6, 6);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */
static void put_commands(WbbBuf *b, const Command *const *commands)
{
    for (; *commands; commands++) put_item(b, (*commands)->name, (*commands)->summary);
}

void main_help_program(WbbBuf *b, const Program *p)
{
    const Path at = {.program = p};
    wbb_putf(b, "usage: %s\n\n%s\n\n", main_synopsis(b->arena, &at), main_sentence(b->arena, p->summary));
    put_wrapped(b, p->details, 0, 0);
    wbb_put(b, "\ncommands:\n");
    put_commands(b, p->commands);
    wbb_putf(b, "\n`%s COMMAND --help` and `%s help COMMAND` describe a command.\n\noptions:\n", p->name, p->name);
    for (const Option *o = NULL; (o = main_program_option(p, o));) put_option(b, o);
    if (p->variables) wbb_put(b, "\nenvironment:\n");
    for (const Example *e = p->variables; e && e->line; e++) put_item(b, e->line, e->text);
    put_exits(b, NULL);
}

void main_help_command(WbbBuf *b, const Path *at)
{
    const Command *c = at->command;
    wbb_putf(b, "usage: %s\n\n", main_synopsis(b->arena, at));
    put_wrapped(b, main_sentence(b->arena, c->summary), 0, 0);
    if (c->details) {
        wbb_put(b, "\n");
        put_wrapped(b, c->details, 0, 0);
    }
    if (c->tools) {
        wbb_put(b, "\ntools:\n");
        put_commands(b, c->tools);
    }
    if (c->positionals) wbb_put(b, "\narguments:\n");
    for (const Positional *p = c->positionals; p && p->name; p++) put_item(b, p->name, p->text);
    wbb_put(b, "\noptions:\n");
    const Option *o;
    for (uint32_t i = 0; (o = main_option(c, i)); i++) put_option(b, o);
    put_option(b, &main_help_option);
    put_examples(b, at);
    put_exits(b, c->tools ? NULL : c);
}

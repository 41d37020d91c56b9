/* command.c: what help, man pages, completions and messages read from the tables of a command.
 *
 * Needs the tables; leaves texts.
 *
 *     main_synopsis(a, &at)          warpburg fuse [OPTION].. FILE.hlo
 *     main_option_text(a, o)         compile for this GPU generation (sm_75, sm_80 or sm_90; default: sm_90)
 */
#include "main/command.h"

#include <ctype.h>
#include <string.h>

const Option main_help_option = {.name = "--help", .kind = OPTION_FLAG, .text = "print this help", .letter = 'h'};

static const Option of_every_program[] = {
    {.name = "--help", .kind = OPTION_FLAG, .text = "print this help", .letter = 'h'},
    {.name = "--version", .kind = OPTION_FLAG, .text = "print name and version"},
    {.name = "--man", .kind = OPTION_FLAG, .text = "print the man page; of one command where its name follows"},
    {.name = "--completions",
     .kind = OPTION_WORD,
     .argument = "SHELL",
     .text = "print what completes command lines in a shell",
     .choices = {.words = "bash zsh fish"}},
    {.name = "--options",
     .kind = OPTION_FLAG,
     .text = "print a line for every option of every command, with tabs between columns"},
    {0}};

const Option *main_program_option(const Program *p, const Option *before)
{
    const Option *o = before ? before + 1 : of_every_program;
    const bool in_first = o >= of_every_program && o < of_every_program + WBB_LEN(of_every_program);
    if (in_first && !o->name) o = p->options;
    return o && o->name ? o : NULL;
}

const Option *main_option(const Command *c, uint32_t i)
{
    const Option *tables[] = {c->options, c->more_options};
    for (size_t t = 0; t < WBB_LEN(tables); t++)
        for (const Option *o = tables[t]; o && o->name; o++)
            if (i-- == 0) return o;
    return NULL;
}

const char *main_path_name(WbbArena *a, const Path *at)
{
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, at->program->name);
    if (at->group) wbb_putf(&b, " %s", at->group->name);
    if (at->command) wbb_putf(&b, " %s", at->command->name);
    return b.text;
}

const char *main_synopsis(WbbArena *a, const Path *at)
{
    static const char *const before[] = {"", "", "["}, *const after[] = {"", "..", "].."}; /* by PositionalKind */
    const Command *c = at->command;
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, main_path_name(a, at));
    if (!c) wbb_put(&b, " COMMAND [OPTION].. [ARGUMENT]..");
    else if (c->tools) wbb_put(&b, " TOOL [OPTION].. [ARGUMENT]..");
    else wbb_put(&b, " [OPTION]..");
    for (const Positional *p = c ? c->positionals : NULL; p && p->name; p++)
        wbb_putf(&b, " %s%s%s", before[p->kind], p->name, after[p->kind]);
    return b.text;
}

const char *main_sentence(WbbArena *a, const char *summary)
{
    char *text = wbb_format(a, "%s.", summary);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

/* --- values and options ----------------------------------------------------------------------- */
const char *main_choices(WbbArena *a, const Choices *c, const char *separator, const char *last)
{
    const char *words = c->words ? c->words : c->list ? c->list(a) : NULL;
    if (!words) return NULL;
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "");
    for (const char *p = words; *p;) {
        const size_t n = strcspn(p, " ");
        if (p != words) wbb_put(&b, p[n] ? separator : last);
        wbb_put_n(&b, p, n);
        p += n + (p[n] == ' ');
    }
    return b.text;
}

const char *main_option_name(WbbArena *a, const Option *o)
{
    return wbb_format(a, "%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
}

const char *main_option_text(WbbArena *a, const Option *o)
{
    const char *choices = main_choices(a, &o->choices, ", ", " or ");
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, o->text);
    if (o->kind == OPTION_LIST) wbb_put(&b, "; may be given several times");
    if (o->choices.open) choices = NULL;
    if (choices && o->standard) wbb_putf(&b, " (%s; default: %s)", choices, o->standard);
    else if (choices) wbb_putf(&b, " (%s)", choices);
    else if (o->standard) wbb_putf(&b, " (default: %s)", o->standard);
    return b.text;
}

/* --- exit statuses ---------------------------------------------------------------------------- */
uint32_t main_exits(const Command *c, Exit out[5])
{
    uint32_t n = 0;
    out[n++] = (Exit){WBB_OK, "success"};
    out[n++] = (Exit){WBB_FAILED, "an input is at fault, or a file cannot be read or written; the message says where"};
    out[n++] = (Exit){WBB_USAGE, "the command line is wrong"};
    if (!c || c->declined)
        out[n++] = (Exit){WBB_DECLINED,
                          c ? c->declined : "a well-formed input is declined; the message has the reason"};
    if (!c || c->check) out[n++] = (Exit){WBB_CHECK, c ? c->check : "a check that was asked for failed"};
    return n;
}

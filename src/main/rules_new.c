/* rules_new.c: `rules new-target sm_XX --from sm_YY`: the pattern file of a new GPU generation, and what to review
 * in it.
 *
 * Needs the pattern file of the old target; leaves a copy under the new name, in which TARGET and RATE have the new
 * name and nothing else is changed: the old facts stand until somebody has looked at each. The list that is printed
 * is that work, line by line. Where the old target is named beside the pattern files, in sass.tsv, assemblers.tsv and
 * meson.build, the new one stands after it, so that what is next is measuring.
 *
 *     patterns/sm100.py:5: TARGET sms=132
 */
#include "main/rules.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    const char *to, *from, *patterns;
    bool json;
} NewTargetOptions;

/* "sm_100a" is the file sm100a.py */
static const char *file_of(RulesCall *c, const char *folder, const char *target)
{
    bool good = !strncmp(target, "sm_", 3) && isdigit((unsigned char)target[3]);
    for (const char *p = target + 3; good && *p; p++)
        good = isdigit((unsigned char)*p) || (islower((unsigned char)*p) && !p[1]);
    if (!good) wbb_fail(c->cx, (WbbLoc){0}, "%s: a target is called sm_ and a number, as in sm_100", target);
    return wbb_format(c->arena, "%s/sm%s.py", folder, target + 3);
}

typedef struct {
    const char *at;
    size_t n;
    uint32_t number;
} Line;

static bool next_line(Line *l)
{
    const char *p = l->number ? l->at + l->n + (l->at[l->n] == '\n') : l->at;
    if (!*p) return false;
    const char *end = strchr(p, '\n');
    *l = (Line){.at = p, .n = end ? (size_t)(end - p) : strlen(p), .number = l->number + 1};
    return true;
}

static bool begins(const Line *l, const char *word)
{
    return l->n >= strlen(word) && !strncmp(l->at, word, strlen(word));
}

static bool contains(const Line *l, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= l->n; i++)
        if (!strncmp(l->at + i, word, n)) return true;
    return false;
}

/* The copy: the docstring on line 1 says where it is from, TARGET has the new name, and a rate that boards.py does not
 * state of the new machine is the old one's. */
static char *renamed(RulesCall *c, const char *text, const char *file, const char *from, const char *to)
{
    const char *old = wbb_format(c->arena, "target('%s'", from), *found = strstr(text, old);
    if (!found) wbb_fail(c->cx, (WbbLoc){.file = file}, "no line says %s", old);
    WbbBuf b = wbb_buf(c->arena);
    const char *body = text;
    if (!strncmp(text, "\"\"\"", 3) && strchr(text, '\n')) {
        body = strchr(text, '\n') + 1;
        wbb_putf(&b, "\"\"\"%s: copied from %s; what this machine is, and what it can do.\"\"\"\n", to, from);
    }
    wbb_put_n(&b, body, (size_t)(found - body));
    wbb_putf(&b, "target('%s'", to);
    found += strlen(old);
    const char *rates = wbb_format(c->arena, "boards.of('%s')", from), *of = strstr(found, rates);
    if (of) {
        wbb_put_n(&b, found, (size_t)(of - found));
        wbb_putf(&b, "boards.of('%s', like='%s')", to, from);
        found = of + strlen(rates);
    }
    wbb_put(&b, found);
    return b.text;
}

/* Puts `added` after each `word` of a file that no letter or digit goes on. 0: there is no such file or word. */
static uint32_t put_beside(RulesCall *c, const char *file, const char *word, const char *added)
{
    if (!wbb_file_exists(file)) return 0;
    size_t n;
    const char *rest = wbb_read_file(c->cx, c->arena, file, &n);
    WbbBuf b = wbb_buf(c->arena);
    uint32_t found = 0;
    for (const char *at; (at = strstr(rest, word));) {
        const char *end = at + strlen(word);
        wbb_put_n(&b, rest, (size_t)(end - rest));
        if (!isalnum((unsigned char)*end)) wbb_put(&b, added), found++;
        rest = end;
    }
    wbb_put(&b, rest);
    if (found) wbb_write_file(c->cx, file, b.text, strlen(b.text));
    return found;
}

/* --- what to review --------------------------------------------------------------------------- */
typedef struct {
    const char *name, *why;
} Section;

static const Section sections[] = {
    {"TARGET", "numbers of the machine: CUDA Programming Guide, technical specifications by compute capability"},
    {"FREE", "which modifiers cost nothing: look at the machine code"},
    {"PACKED", "which operations there are on pairs: PTX manual, each instruction's `Target ISA Notes`"},
    {"TUNE", "numbers that decide: measure them, or derive them again as `because` says"},
    {"RATE", "how fast it is: add a line to the blocks of boards.py in which it differs, from the throughput table of the CUDA "
             "Programming Guide, the board's data sheet, measurements; `like` has the others"},
    {"SIMPLIFY", "mathematics, which no machine changes"},
    {"LOWER", "operations that the machine lacks: remove those that it has now, add those that it no longer has"},
    {"INSTR",
     "instructions of this machine: PTX manual, `Target ISA Notes`; remove those that it lacks, add new ones"},
};

static void put_item(RulesCall *c, const char *file, const Line *l, const char *section)
{
    const char *p = l->at, *end = l->at + l->n;
    while (p < end && *p == ' ') p++;
    while (end > p && end[-1] == ' ') end--;
    if (c->json) {
        WbbBuf *b = main_json_begin(c);
        wbb_json_text(b, "file", file);
        wbb_json_uint(b, "line", l->number);
        wbb_json_text(b, "section", section);
        wbb_json_text(b, "text", wbb_format(c->arena, "%.*s", (int)(end - p), p));
        main_json_end(c, "rules-new-target.1");
        return;
    }
    wbb_putf(c->out, "  %s:%u: %.*s\n", file, l->number, (int)(end - p), p);
}

static const Section *section_at(const Line *l)
{
    for (size_t i = 0; i < WBB_LEN(sections); i++) {
        const size_t n = strlen(sections[i].name);
        if (begins(l, sections[i].name) && (l->at[n] == ' ' || l->at[n] == '=')) return &sections[i];
    }
    return NULL;
}

/* Lines that state something: not brackets, comments, or blank. */
static bool states(const Line *l)
{
    const char *p = l->at;
    while (p < l->at + l->n && *p == ' ') p++;
    return p < l->at + l->n && (isalpha((unsigned char)*p) || isdigit((unsigned char)*p));
}

static void review(RulesCall *c, const char *file, const char *text)
{
    const Section *now = NULL;
    for (Line l = {.at = text}; next_line(&l);) {
        const Section *s = section_at(&l);
        const bool outside = l.n && !s && l.at[0] != ' ' && l.at[0] != ']' && l.at[0] != ')';
        if (s && !c->json) wbb_putf(c->out, "%s: %s\n", s->name, s->why);
        if (s) now = s;
        else if (outside) now = NULL;
        if (!now || !strcmp(now->name, "SIMPLIFY")) continue;
        const bool opens = s && (contains(&l, "= [") || contains(&l, "=["));
        if (states(&l) && !opens) put_item(c, file, &l, now->name);
    }
}

static WbbStatus new_target(const Call *call)
{
    const NewTargetOptions *o = call->options;
    RulesCall *c = main_rules_call(call, NULL, o->json);
    const char *to = o->to, *from = o->from, *folder = o->patterns;
    if (!from) return main_usage(call, "--from sm_YY is missing: which target is nearest to %s?", to);
    const char *new_file = file_of(c, folder, to), *old_file = file_of(c, folder, from);
    if (!wbb_is_dir(folder))
        wbb_fail(c->cx, (WbbLoc){0}, "%s: no such folder; --patterns DIR names where the pattern files lie", folder);
    if (!wbb_file_exists(old_file)) (void)tg_named(c->cx, (WbbLoc){0}, from);
    if (wbb_file_exists(new_file)) wbb_fail(c->cx, (WbbLoc){.file = new_file}, "exists already");
    size_t n;
    const char *text = renamed(c, wbb_read_file(c->cx, c->arena, old_file, &n), old_file, from, to);
    wbb_write_file(c->cx, new_file, text, strlen(text));
    const char *slash = strrchr(folder, '/'), *sass = wbb_format(c->arena, "%s/sass.tsv", folder);
    const char *meson = wbb_format(c->arena, "%.*smeson.build", slash ? (int)(slash + 1 - folder) : 0, folder);
    const char *beside = wbb_format(c->arena, " %s", to);
    const uint32_t named = put_beside(c, sass, from, beside);
    put_beside(c, wbb_format(c->arena, "%s/assemblers.tsv", folder), from, beside); /* `./dev prices` checks each */
    const uint32_t built = put_beside(c, meson, wbb_format(c->arena, "'sm%s'", from + 3),
                                      wbb_format(c->arena, ", 'sm%s'", to + 3));
    if (!c->json)
        wbb_putf(c->out, "%s is written, a copy of %s. To review, line by line:\n\n", new_file, old_file);
    review(c, new_file, text);
    if (c->json) return main_rules_end(c, WBB_OK);
    if (named)
        wbb_putf(c->out, "\n%s names %s in the %u rows of %s: take it out where it uses other pipes, or another rate\n",
                 sass, to, named, from);
    if (built) wbb_putf(c->out, "%s builds it\n", meson);
    wbb_put(c->out, "\nThen:\n");
    wbb_putf(c->out, "  ./dev prices --target %-10s measures its instructions, which a build asks for\n", to);
    wbb_put(c->out, "  ./dev build                      names operations that no rule selects an instruction for\n");
    wbb_putf(c->out, "  ./dev rule %-21s runs its instructions, and has ptxas assemble each\n", new_file);
    wbb_putf(c->out, "  warpburg rules diff %-5s %-5s  says what differs in meaning\n", from, to);
    wbb_put(c->out, "  python -m gen.targets_page       writes docs/targets.md\n");
    return main_rules_end(c, WBB_OK);
}

static const Positional positionals[] = {{ONE("sm_XX", NewTargetOptions, to, "the new target")}, {0}};
static const Option options[] = {{WORD("--from", NewTargetOptions, from, "sm_YY", "the target whose file is copied"),
                                  .choices = {.list = main_target_names, .open = true}},
                                 {WORD("--patterns", NewTargetOptions, patterns, "DIR", "the folder of pattern files"),
                                  .standard = "patterns", .value = VALUE_FOLDER},
                                 MAIN_OPTION_JSON(NewTargetOptions),
                                 {0}};
static const Example examples[] = {
    {"rules new-target sm_103 --from sm_100", "patterns/sm103.py, and what to look at in it"}, {0}};
const Command main_rules_new_target = {
    .name = "new-target",
    .summary = "make a pattern file for a new target from an old one, and list what to review in it",
    .details = "Copies DIR/smYY.py to DIR/smXX.py under the new name, names it beside the old one in DIR/sass.tsv, "
               "DIR/assemblers.tsv and the meson.build above DIR, and prints every line that states a fact of the old "
               "machine.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(NewTargetOptions),
    .run = new_target,
};

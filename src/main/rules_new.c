/* rules_new.c: `rules new-target sm_XX --from sm_YY`: the pattern file of a new GPU generation, and what to review.
 *
 * Needs the pattern file of the old target; leaves one that takes all of it, but TARGET and RATE under the new name:
 * the old facts hold until somebody has looked at each, and states those that differ. The list that is printed is
 * that work, line by line. Where the old target is named beside the pattern files, in sass.tsv, assemblers.tsv and
 * meson.build, the new one stands after it, so that what is next is measuring.
 *
 *     patterns/sm100.py:5: TARGET sms=148
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

/* The file of a target that is what another one is, in a tree that has one. */
static char *file_like(RulesCall *c, const char *from, const char *to)
{
    WbbBuf b = wbb_buf(c->arena);
    wbb_putf(&b, "\"\"\"%s: what %s is, but for what stands here.\"\"\"\nfrom gen.lang import *\n", to, from);
    wbb_putf(&b, "from patterns.sm%s import *\n\n", from + 3);
    wbb_putf(&b, "TARGET = target('%s', like=TARGET, board='?')\n", to);
    wbb_putf(&b, "RATE = boards.of('%s', like=RATE)\n", to);
    return b.text;
}

/* The file of patterns/ from whose target this text takes what it does not state; NULL if it states all. */
static const char *taken_from(RulesCall *c, const char *folder, const char *text)
{
    static const char begin[] = "\nfrom patterns.sm", end[] = " import *\n";
    for (const char *at = text; (at = strstr(at, begin));) {
        const char *name = at += sizeof begin - 1;
        while (isdigit((unsigned char)*at)) at++;
        if (at > name && !strncmp(at, end, sizeof end - 1))
            return wbb_format(c->arena, "%s/sm%.*s.py", folder, (int)(at - name), name);
    }
    return NULL;
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
    const char *text = file_like(c, from, to);
    wbb_write_file(c->cx, new_file, text, strlen(text));
    const char *slash = strrchr(folder, '/'), *sass = wbb_format(c->arena, "%s/sass.tsv", folder);
    const char *meson = wbb_format(c->arena, "%.*smeson.build", slash ? (int)(slash + 1 - folder) : 0, folder);
    const char *beside = wbb_format(c->arena, " %s", to);
    const uint32_t named = put_beside(c, sass, from, beside);
    put_beside(c, wbb_format(c->arena, "%s/assemblers.tsv", folder), from, beside); /* `./dev prices` checks each */
    const uint32_t built = put_beside(c, meson, wbb_format(c->arena, "'sm%s'", from + 3),
                                      wbb_format(c->arena, ", 'sm%s'", to + 3));
    if (!c->json)
        wbb_putf(c->out, "%s is written: what %s is. To review, line by line, and to state there:\n\n", new_file,
                 old_file);
    size_t n;
    for (const char *file = old_file; file && wbb_file_exists(file); file = taken_from(c, folder, text)) {
        text = wbb_read_file(c->cx, c->arena, file, &n);
        review(c, file, text);
    }
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
static const Option options[] = {{WORD("--from", NewTargetOptions, from, "sm_YY", "the target that is nearest"),
                                  .choices = {.list = main_target_names, .open = true}},
                                 {WORD("--patterns", NewTargetOptions, patterns, "DIR", "the folder of pattern files"),
                                  .standard = "patterns", .value = VALUE_FOLDER},
                                 MAIN_OPTION_JSON(NewTargetOptions),
                                 {0}};
static const Example examples[] = {
    {"rules new-target sm_103 --from sm_100", "patterns/sm103.py, and what to look at in it"}, {0}};
const Command main_rules_new_target = {
    .name = "new-target",
    .summary = "make a pattern file for a new target from an old one, and list what to review",
    .details = "Writes DIR/smXX.py, which takes all that DIR/smYY.py states but what stands in it, names it beside the "
               "old one in DIR/sass.tsv, DIR/assemblers.tsv and the meson.build above DIR, and prints every line that "
               "states a fact of the old machine.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .size = sizeof(NewTargetOptions),
    .run = new_target,
};

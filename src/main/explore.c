/* explore.c: `explore FILE`: the page of a profile, in a browser.
 *
 * Needs a fusion, a module, a bundle or a program. Leaves its page, which `run --profile --html` writes, and starts
 * what opens pages on this machine; where there is none, as on a server, a line says where the page is.
 *
 *     warpburg explore model.hlo     ->   /tmp/warpburg-model.hlo.html, in a browser
 */
#include "main/main.h"

#include <stdio.h>
#include <string.h>

enum { OPENED /* seconds until then */ = 10 };

typedef struct {
    const char *file, *target, *output, *blocks;
    bool no_browser;
} ExploreOptions;

/* A page of the folder for temporary files: warpburg-model.hlo.html of dump/model.hlo. */
static const char *page_of(WbbArena *a, const char *file)
{
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    return wbb_format(a, "%s/warpburg-%s.html", wbb_temp_folder(), *name ? name : "page");
}

static WbbStatus explore(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const ExploreOptions *o = call->options;
    const char *page = o->output ? o->output : page_of(a, o->file);
    const char *words[] = {call->program->name, "run", o->file, "--profile", "--html", page, "--blocks", o->blocks,
                           "--target", o->target};
    char *argv[WBB_LEN(words) + 1] = {0};
    for (size_t k = 0; k < WBB_LEN(words); k++) argv[k] = wbb_format(a, "%s", words[k]);
    const WbbStatus s = (WbbStatus)main_command_line(call->program, (int)WBB_LEN(words), argv);
    if (s != WBB_OK) return s;
    const char *const opener[] = {"xdg-open", page, NULL};
    char *said;
    const bool opened = !o->no_browser && wbb_run_process(cx, a, opener, OPENED, &said).status == 0;
    printf("%s%s\n", page, opened ? ", in a browser" : "");
    return WBB_OK;
}

static const Positional positionals[] = {
    {ONE("FILE.hlo|BUNDLE|PROGRAM", ExploreOptions, file, "what `run --profile` takes"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(ExploreOptions),
    {WORD("--blocks", ExploreOptions, blocks, "N", "profile a sample of N blocks of each kernel that allows it; 0: all"),
     .standard = "12"},
    {WORD("--output", ExploreOptions, output, "PAGE.html", "where the page goes, instead of the folder of temporary files"),
     .letter = 'o', .value = VALUE_FILE},
    {FLAG("--no-browser", ExploreOptions, no_browser, "only write the page, and print its name")},
    {0}};
static const Example examples[] = {{"explore gelu.hlo", "HLO, IR, PTX and machine code with the share of each line"},
                                   {"explore model.hlo", "kernels by their share of the time, library calls, memory"},
                                   {0}};
const Command main_explore = {
    .name = "explore",
    .summary = "show what a kernel or a program costs, as a page in a browser",
    .details = "The page loads nothing, and may be kept or sent.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "the fusion is declined; the message has the reason",
    .check = "the kernel is wrong",
    .size = sizeof(ExploreOptions),
    .run = explore,
};

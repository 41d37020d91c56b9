/* files.c: the files that a command is given: folders stand for the files in them.
 *
 * Needs words of the command line; leaves names of files, those of a folder sorted, its folders included. A folder
 * that holds a program stays one word. In a folder that XLA's --xla_dump_to filled the modules are those before XLA's
 * passes, or where these are not there, those after them, each as text (.txt) or as a protocol buffer (.hlo.pb). What
 * else it dumps is left out, where a list of files names it as well.
 *
 *     compile corpus gelu.hlo   ->   corpus/bias_relu.hlo, .., corpus/generated/add.hlo, .., gelu.hlo
 *     compile dump              ->   dump/module_0001.jit_f.before_optimizations.txt, ..
 */
#include "main/main.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDERS = 16 /* inside each other: a link may lead back */ };

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

static const char before_passes[] = ".before_optimizations", after_passes[] = "after_optimizations";
static const char text[] = ".txt", proto[] = ".hlo.pb";

/* The length of a name without such an ending and `form`, as in NAME.before_optimizations.txt; 0: it ends otherwise. */
static size_t stem_of(const char *name, const char *end, const char *form)
{
    const size_t n = strlen(name), k = strlen(end) + strlen(form);
    if (n <= k || strncmp(name + n - k, end, strlen(end)) != 0 || !ends_in(name, form)) return 0;
    return n - k;
}

/* Is there the same module as it was before XLA's passes: module_0001.jit_f.before_optimizations.txt? The platform,
 * which may have dots in it, stands behind the name of the module. */
static bool has_before(const char *const *names, uint32_t n, const char *after)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t stem = stem_of(names[i], before_passes, text);
        if (!stem) stem = stem_of(names[i], before_passes, proto);
        if (stem && !strncmp(names[i], after, stem) && after[stem] == '.') return true;
    }
    return false;
}

static bool has_text(const char *const *names, uint32_t n, const char *name)
{
    const size_t stem = strlen(name) - strlen(proto);
    for (uint32_t i = 0; i < n; i++)
        if (!strncmp(names[i], name, stem) && !strcmp(names[i] + stem, text)) return true;
    return false;
}

static bool is_module(const char *const *names, uint32_t n, const char *name)
{
    if (ends_in(name, ".hlo")) return true;
    const bool packed = ends_in(name, proto);
    const char *form = packed ? proto : text;
    if (packed && has_text(names, n, name)) return false; /* with --xla_dump_hlo_as_text as well */
    if (stem_of(name, before_passes, form)) return true;
    return stem_of(name, after_passes, form) && !has_before(names, n, name);
}

/* Whether a name is that of what XLA dumps beside a module: module_0001.jit_f.debug_options,
 * module_0001.jit_f.sm_9.0_gpu_after_optimizations-buffer-assignment.txt. */
static bool is_beside(const char *word)
{
    static const char module[] = "module_";
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word, *number = name + sizeof module - 1;
    if (strncmp(name, module, sizeof module - 1) != 0 || !strspn(number, "0123456789")) return false;
    if (ends_in(name, ".hlo") || ends_in(name, proto)) return false;
    return !ends_in(name, text) || strstr(name, "_optimizations-") || strstr(name, "thunk_sequence");
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static bool stays(const char *word, bool bundles)
{
    return prog_is_folder(word) || (bundles && prog_has_bundle(word));
}

static void search(WbbCx *cx, WbbArena *a, Words *files, const char *folder, int depth, bool bundles)
{
    uint32_t n = 0;
    const char **names = depth < MOST_FOLDERS ? wbb_list_dir(cx, a, folder, &n) : NULL;
    const bool slash = folder[0] && folder[strlen(folder) - 1] == '/';
    for (uint32_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue;
        const char *path = wbb_format(a, "%s%s%s", folder, slash ? "" : "/", names[i]);
        if (is_module(names, n, names[i]) || (bundles && stays(path, true))) WBB_PUSH(a, files, path);
        else if (wbb_is_dir(path)) search(cx, a, files, path, depth + 1, bundles);
    }
}

Words main_files(WbbCx *cx, WbbArena *a, const Words *words, bool bundles)
{
    Words files = {0};
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < words->n; i++) {
        const char *word = words->items[i];
        const bool alone = stays(word, bundles), beside = !alone && is_beside(word), folder = wbb_is_dir(word);
        const uint32_t before = files.n;
        if (folder && !alone) search(cx, a, &files, word, 0, bundles);
        else if (!beside) WBB_PUSH(a, &files, word);
        if (files.n == before && !beside)
            wbb_fail(cx, (WbbLoc){0}, "%s: no .hlo file in this folder, and no dump of XLA", word);
        left_out += files.n == before;
        qsort(files.items + before, files.n - before, sizeof *files.items, by_name);
    }
    if (!files.n && left_out)
        wbb_fail(cx, (WbbLoc){.file = words->items[0]},
                 "no module: XLA dumps this beside one, which ends in _optimizations.txt or _optimizations.hlo.pb");
    if (left_out) wbb_note(cx, (WbbLoc){0}, "%u names of what XLA dumps beside modules are left out", left_out);
    return files;
}

/* What of a file's name its bundle is called by among several: relative to the folder that was given, without ending.
 */
const char *main_stem(WbbArena *a, const Words *words, const char *file)
{
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    for (uint32_t i = 0; i < words->n; i++) {
        const size_t n = strlen(words->items[i]);
        const bool inside = n && strlen(file) > n && (file[n] == '/' || file[n - 1] == '/');
        if (inside && !strncmp(file, words->items[i], n) && wbb_is_dir(words->items[i]))
            name = file + n + strspn(file + n, "/");
    }
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    return wbb_format(a, "%.*s", dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
}

const char **main_folders(WbbCx *cx, WbbArena *a, const Words *words, const Words *files, const char *output,
                          const char *what)
{
    const char **out = WBB_NEW_N(a, const char *, files->n + 1);
    const bool one = files->n == 1 && !wbb_is_dir(words->items[0]);
    WbbMap seen = {.arena = a};
    for (uint32_t i = 0; i < files->n && output; i++) {
        out[i] = one ? output : wbb_format(a, "%s/%s", output, main_stem(a, words, files->items[i]));
        if (wbb_map_put_bytes(&seen, out[i], strlen(out[i]))->value++)
            wbb_fail(cx, (WbbLoc){.file = files->items[i]}, "another file's %s is %s, too", what, out[i]);
    }
    return out;
}

static WbbWhy reason_named(const char *word, size_t n)
{
    for (int why = 0; why < WHY_COUNT; why++)
        if (strlen(wbb_why_name((WbbWhy)why)) == n && !strncmp(word, wbb_why_name((WbbWhy)why), n))
            return (WbbWhy)why;
    return WHY_NONE;
}

void main_count(Outcomes *o, WbbStatus s, WbbWhy why)
{
    if (s == WBB_DECLINED) o->declined[why]++;
    else if (s == WBB_OK) o->good++;
    else if (s == WBB_CHECK) o->wrong++;
    else o->failed++;
}

void main_count_named(Outcomes *o, const char *status, const char *reason)
{
    const bool declined = !strncmp(status, "declined\"", 9);
    const WbbStatus s = !strncmp(status, "ok\"", 3) ? WBB_OK : declined ? WBB_DECLINED : WBB_FAILED;
    main_count(o, s, reason_named(reason, strcspn(reason, "\"")));
}

void main_note_outcomes(WbbCx *cx, const Outcomes *o, const char *what, const char *done)
{
    uint32_t declined = 0;
    WbbBuf why = wbb_buf(cx->arena);
    for (int k = 0; k < WHY_COUNT; k++) {
        if (!o->declined[k]) continue;
        wbb_putf(&why, "%s%u %s", declined ? ", " : " (", o->declined[k], wbb_why_name((WbbWhy)k));
        declined += o->declined[k];
    }
    const uint32_t all = o->good + o->wrong + declined + o->failed;
    const char *wrong = o->wrong ? wbb_format(cx->arena, "%u wrong, ", o->wrong) : "";
    wbb_note(cx, (WbbLoc){0}, "%u %s: %u %s, %s%u declined%s%s, %u failed", all, what, o->good, done, wrong, declined,
             declined ? why.text : "", declined ? ")" : "", o->failed);
}

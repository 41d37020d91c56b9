/* files.c: the files that a command is given: folders stand for the files in them.
 *
 * Needs words of the command line; leaves names of files, those of a folder sorted, its folders included. A folder
 * that holds a program stays one word.
 *
 *     compile corpus gelu.hlo   ->   corpus/bias_relu.hlo, .., corpus/generated/add.hlo, .., gelu.hlo
 */
#include "main/main.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FOLDERS = 16 /* inside each other: a link may lead back */ };

static bool is_hlo(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".hlo");
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static void search(WbbCx *cx, WbbArena *a, Words *files, const char *folder, int depth)
{
    uint32_t n = 0;
    const char **names = depth < MOST_FOLDERS ? wbb_list_dir(cx, a, folder, &n) : NULL;
    const bool slash = folder[0] && folder[strlen(folder) - 1] == '/';
    for (uint32_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue;
        const char *path = wbb_format(a, "%s%s%s", folder, slash ? "" : "/", names[i]);
        if (is_hlo(names[i])) WBB_PUSH(a, files, path);
        else if (wbb_is_dir(path)) search(cx, a, files, path, depth + 1);
    }
}

Words main_files(WbbCx *cx, WbbArena *a, const Words *words)
{
    Words files = {0};
    for (uint32_t i = 0; i < words->n; i++) {
        const char *word = words->items[i];
        const uint32_t before = files.n;
        if (wbb_is_dir(word) && !prog_is_folder(word)) search(cx, a, &files, word, 0);
        else WBB_PUSH(a, &files, word);
        if (files.n == before) wbb_fail(cx, (WbbLoc){0}, "%s: no .hlo file in this folder", word);
        qsort(files.items + before, files.n - before, sizeof *files.items, by_name);
    }
    return files;
}

/* What of a file's name its bundle is called by among several: relative to the folder that was given, without ending.
 */
const char *main_stem(WbbArena *a, const Words *words, const char *file)
{
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    for (uint32_t i = 0; i < words->n; i++) {
        const size_t n = strlen(words->items[i]);
        if (strlen(file) > n && !strncmp(file, words->items[i], n) && wbb_is_dir(words->items[i]))
            name = file + n + strspn(file + n, "/");
    }
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    return wbb_format(a, "%.*s", dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
}

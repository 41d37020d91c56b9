/* source_lines.c: which line of the user's program an HLO instruction comes from, by the metadata in its line of text.
 *
 * Needs the text of a module. XLA writes the place into each instruction, or since 2025 a number, which the tables
 * before the first computation resolve: StackFrames -> FileLocations -> FileNames.
 *
 *     metadata={op_name="jit(f)/tanh" source_file="/home/me/model.py" source_line=12}    ->   "model.py:12"
 *     metadata={op_name="jit(f)/tanh" stack_frame_id=5}                                  ->   "model.py:12"
 */
#include "report/source_lines.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char **items; /* lines of a table by their numbers, behind these; NULL: there is none */
    uint32_t n, capacity;
} Table;

struct ReportSourceLines {
    WbbArena *arena;
    const char *text;
    Table lines; /* of the text, from 0 */
    Table files, locations, frames;
};

static const char *next_line(const char *p)
{
    p += strcspn(p, "\n");
    return p + (*p == '\n');
}

/* Rows `5 {..}` or `2 "model.py"` of the table with this heading. */
static Table table_of(const ReportSourceLines *s, const char *heading)
{
    Table t = {0};
    uint32_t k = 0;
    const size_t length = strlen(heading);
    while (k < s->lines.n && (strncmp(s->lines.items[k], heading, length) || s->lines.items[k][length] != '\n')) k++;
    for (k++; k < s->lines.n && s->lines.items[k][0] >= '0' && s->lines.items[k][0] <= '9'; k++) {
        char *rest;
        const unsigned long number = strtoul(s->lines.items[k], &rest, 10);
        if (number > s->lines.n) break; /* numbers count the rows */
        while (t.n <= number) WBB_PUSH(s->arena, &t, NULL);
        t.items[number] = rest;
    }
    return t;
}

ReportSourceLines *report_source_lines(WbbArena *a, const char *text)
{
    ReportSourceLines *s = WBB_NEW(a, ReportSourceLines);
    *s = (ReportSourceLines){.arena = a, .text = text};
    for (const char *p = text; p && *p; p = next_line(p)) WBB_PUSH(a, &s->lines, p);
    s->files = table_of(s, "FileNames");
    s->locations = table_of(s, "FileLocations");
    s->frames = table_of(s, "StackFrames");
    return s;
}

/* What stands behind `key` in a line; NULL: it is not there. */
static const char *behind(const char *line, const char *key)
{
    const char *at = line ? strstr(line, key) : NULL;
    return at && at < line + strcspn(line, "\n") ? at + strlen(key) : NULL;
}

static unsigned long number_behind(const char *line, const char *key)
{
    const char *at = behind(line, key);
    return at ? strtoul(at, NULL, 10) : 0;
}

static const char *row(const Table *t, unsigned long number) { return number < t->n ? t->items[number] : NULL; }

/* The last part of a path in quotation marks, and the line. */
static const char *place(WbbArena *a, const char *path, unsigned long line)
{
    const size_t n = path ? strcspn(path, "\"\n") : 0;
    const char *name = path;
    for (size_t k = 0; k < n; k++)
        if (path[k] == '/') name = path + k + 1;
    return n && line ? wbb_format(a, "%.*s:%lu", (int)(path + n - name), name, line) : NULL;
}

const char *report_source_line(const ReportSourceLines *s, int line)
{
    if (line < 1 || (uint32_t)line > s->lines.n) return NULL;
    const char *text = s->lines.items[line - 1], *file = behind(text, "source_file=\"");
    if (file) return place(s->arena, file, number_behind(text, "source_line="));
    const char *frame = row(&s->frames, number_behind(text, "stack_frame_id="));
    const char *location = row(&s->locations, number_behind(frame, "file_location_id="));
    return place(s->arena, behind(row(&s->files, number_behind(location, "file_name_id=")), "\""),
                 number_behind(location, " line="));
}

/* terminal.c: what a person at a terminal sees beside the results: colours, and how far long work is.
 *
 * Needs the context of a command. Leaves a line on stderr after two seconds, which is overwritten ten times a second
 * and cleared at the end, and colours on texts. Where stderr or stdout is no terminal, neither is written there; the
 * environment variable NO_COLOR, or TERM=dumb, turns colours off.
 *
 *     files: 12 of 35, 5.1 a second, 0:04 left
 */
#include "main/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RED = 31, GREEN = 32, YELLOW = 33 };

static bool has_colours(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (no && *no) return false;
    return isatty(f == stderr ? STDERR_FILENO : STDOUT_FILENO) && (!terminal || strcmp(terminal, "dumb"));
}

/* Words of messages and verdicts; a place in front of the first three is made bold. */
static const struct {
    const char *word;
    int colour;
    bool placed;
} words[] = {{": error:", RED, true},      {": declined:", YELLOW, true}, {": fault:", RED, true},
             {"fault: ", RED, false},      {" outside the bounds", RED, false},
             {", no fault", GREEN, false}, {" inside the bounds", GREEN, false}};

static void put_line(FILE *f, const char *line, size_t n)
{
    size_t first = n, which = WBB_LEN(words);
    for (size_t k = 0; k < WBB_LEN(words); k++) {
        const size_t m = strlen(words[k].word);
        for (size_t i = 0; i + m <= n && i < first; i++)
            if (!memcmp(line + i, words[k].word, m)) first = i, which = k;
    }
    if (which == WBB_LEN(words)) {
        fwrite(line, 1, n, f);
        return;
    }
    const size_t m = strlen(words[which].word);
    if (words[which].placed) fprintf(f, "\033[1m%.*s\033[0m", (int)first, line);
    else fwrite(line, 1, first, f);
    fprintf(f, "\033[1;%dm%s\033[0m", words[which].colour, words[which].word);
    fwrite(line + first + m, 1, n - first - m, f);
}

void main_put_text(FILE *f, const char *text)
{
    if (!has_colours(f)) {
        fputs(text, f);
        return;
    }
    for (const char *end; *text; text = end) {
        end = text + strcspn(text, "\n");
        put_line(f, text, (size_t)(end - text));
        if (*end) fputc(*end++, f);
    }
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

bool main_shows_progress(void) { return isatty(STDERR_FILENO); }

/* The work that began first is shown, and behind it how much is done of what it waits for. */
static bool is_of(const MainWork *w, const char *what)
{
    return w->began > 0 && !strncmp(w->what, what, sizeof w->what - 1);
}

static void note(MainWork *w, const char *what, double time, int64_t done, int64_t total)
{
    if (!is_of(w, what)) *w = (MainWork){.began = time, .first = done};
    snprintf(w->what, sizeof w->what, "%s", what);
    w->said = time, w->done = done, w->total = total;
    if (done >= total) w->began = 0;
}

static void put_time(FILE *f, double seconds)
{
    const long all = seconds < 359999 ? (long)seconds : 359999;
    if (all >= 3600) fprintf(f, "%ld:%02ld:%02ld left", all / 3600, all / 60 % 60, all % 60);
    else fprintf(f, "%ld:%02ld left", all / 60, all % 60);
}

static bool show(void *arg, const char *what, int64_t done, int64_t total)
{
    MainProgress *p = arg;
    const double time = wbb_now_ms() / 1e3;
    if (p->outer.began > 0 && !is_of(&p->outer, what) && time - p->outer.said > 30) p->outer.began = 0; /* it failed */
    const bool inner = p->outer.began > 0 && !is_of(&p->outer, what);
    note(inner ? &p->inner : &p->outer, what, time, done, total);
    if (!inner) p->inner.began = 0;
    if (time - p->began < 2 || time - p->shown < 0.1 || p->outer.began <= 0) return false;
    const MainWork *w = &p->outer;
    const double rate = (double)(w->done - w->first) / (time - w->began > 1e-3 ? time - w->began : 1e-3);
    p->shown = time;
    fprintf(stderr, "\r%s: %lld of %lld", w->what, (long long)w->done, (long long)w->total);
    if (rate > 0) {
        fprintf(stderr, ", %.3g a second, ", rate);
        put_time(stderr, (double)(w->total - w->done) / rate);
    }
    if (p->inner.began > 0)
        fprintf(stderr, "; %s: %.0f %%", p->inner.what,
                100 * (double)p->inner.done / (double)WBB_MAX(p->inner.total, 1));
    fputs("\033[K", stderr);
    return false;
}

void main_begin_progress(WbbCx *cx, MainProgress *p)
{
    *p = (MainProgress){.began = wbb_now_ms() / 1e3};
    if (main_shows_progress()) wbb_on_progress(cx, show, p);
}

void main_end_progress(const MainProgress *p)
{
    if (p->shown > 0) fputs("\r\033[K", stderr);
}

/* profile_html.c: profiles as one self-contained page.
 *
 * Needs reports, the HLO text, and where they are at hand the text of the IR and of the machine code. Leaves a page
 * that loads nothing: for each kernel what its time is made of, then HLO, IR, PTX and machine code side by side, each
 * line with its share of the work as a bar. A line that is chosen marks what it was made of and what was made of it.
 *
 *     warpburg run gelu.hlo --profile --html gelu.html
 */
#include "report/profile.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>warpburg profile</title>\n<style>\n"
    ":root { --bg: #fff; --fg: #1c2126; --soft: #5d6770; --line: #d9dee3; --panel: #f5f7f9; --bar: #a9cdf0; --mark: "
    "#ffe9a8;"
    " --most: #1f5f9f; }\n"
    "@media (prefers-color-scheme: dark) { :root { --bg: #14181c; --fg: #e4e8ec; --soft: #9aa5af; --line: #323a42;"
    " --panel: #1c2228; --bar: #24507d; --mark: #5c4a10; --most: #7fb4ee; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; max-width: 110rem; padding: 1rem 1rem 4rem; background: var(--bg); color: var(--fg);"
    " font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }\n"
    "h1 { font-size: 1.35rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; }\n"
    "h3 { font-size: .95rem; margin: .8rem 0 .3rem; } p { margin: .3rem 0; color: var(--soft); }\n"
    ".kernel { border-top: 1px solid var(--line); }\n"
    ".terms { display: grid; grid-template-columns: max-content minmax(6rem, 1fr) max-content; gap: .1rem .8rem;"
    " max-width: 46rem; font-variant-numeric: tabular-nums; }\n"
    ".terms i { background: var(--bar); height: .9em; align-self: center; border-radius: 2px; }\n"
    ".terms .binds { color: var(--most); font-weight: 600; } .terms span:nth-child(3n) { text-align: right; }\n"
    ".panels { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(22rem, 1fr); gap: .8rem; overflow-x: "
    "auto; }\n"
    ".panel { min-width: 0; } .code { background: var(--panel); border: 1px solid var(--line); border-radius: 6px;"
    " overflow: auto; max-height: 34rem; font: 12px/1.45 ui-monospace, monospace; }\n"
    ".l { display: flex; min-width: max-content; cursor: default; white-space: pre; tab-size: 4; }\n"
    ".l b { flex: 0 0 4.2rem; font-weight: 400; text-align: right; padding-right: .5rem; color: var(--soft);"
    " background: linear-gradient(to left, var(--bar) var(--s, 0%), transparent var(--s, 0%)); }\n"
    ".l span { padding: 0 .5rem; } .l em { color: var(--soft); font-style: normal; } .l.on { background: var(--mark); "
    "}\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }\n"
    "th, td { padding: .15rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }\n"
    "th:first-child, td:first-child { text-align: left; } .wide { overflow-x: auto; }\n"
    "a { color: var(--most); } summary { cursor: pointer; padding: .4rem 0; border-top: 1px solid var(--line); }\n"
    ".share { min-width: 8rem; background: linear-gradient(to right, var(--bar) var(--s, 0%), transparent "
    "var(--s, 0%)); }\n"
    "@media (max-width: 900px) { body { padding: .5rem .5rem 3rem; } .panels { grid-auto-flow: row; grid-auto-columns: "
    "auto;"
    " grid-template-columns: minmax(0, 1fr); } .code { max-height: 22rem; } }\n"
    "</style>\n";

static const char script[] =
    "<script>\n\"use strict\";\n"
    "for (const kernel of document.querySelectorAll(\".panels\")) {\n"
    "  const lines = [...kernel.querySelectorAll(\".l\")];\n"
    "  kernel.addEventListener(\"click\", event => {\n"
    "    const line = event.target.closest(\".l\");\n"
    "    if (!line) return;\n"
    "    const again = line.classList.contains(\"on\"), h = line.dataset.h, p = line.dataset.p;\n"
    "    const same = x => x === line || (p ? x.dataset.p === p || (x.dataset.hlo && x.dataset.h === h) : h && "
    "x.dataset.h === h);\n"
    "    for (const x of lines) x.classList.toggle(\"on\", !again && Boolean(same(x)));\n"
    "    for (const panel of kernel.querySelectorAll(\".code\")) {\n"
    "      const first = panel.querySelector(\".l.on\");\n"
    "      if (first && !panel.contains(line)) panel.scrollTop = first.offsetTop - panel.offsetTop - "
    "panel.clientHeight / 3;\n"
    "    }\n  });\n}\n</script>\n";

static void put_escaped(WbbBuf *b, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '<') wbb_put(b, "&lt;");
        else if (p[i] == '>') wbb_put(b, "&gt;");
        else if (p[i] == '&') wbb_put(b, "&amp;");
        else if (p[i] == '"') wbb_put(b, "&quot;");
        else wbb_put_n(b, p + i, 1);
    }
}

void report_put_html(WbbBuf *b, const char *text) { put_escaped(b, text, strlen(text)); }

/* The last part of a path. */
static const char *file_of(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

static double us(double seconds) { return 1e6 * seconds; }

/* What the time is made of -------------------------------------------------------------------------- */

static void put_bar(WbbBuf *b, const char *name, double seconds, double most, bool binds)
{
    const char *class = binds ? " class=\"binds\"" : "";
    wbb_putf(b, "<span%s>", class);
    report_put_html(b, name);
    wbb_putf(b, "</span><i style=\"width:%.2f%%\"></i><span%s>%.3f µs</span>\n", most > 0 ? 100 * seconds / most : 0,
             class, us(seconds));
}

static void put_terms(WbbBuf *b, const PriceReport *r)
{
    const double most = r->term[r->binds].seconds;
    wbb_put(b, "<div class=\"terms\">\n");
    for (int i = 0; i < PRICE_TERMS; i++)
        if (r->term[i].seconds > 0) put_bar(b, r->term[i].name, r->term[i].seconds, most, i == (int)r->binds);
    wbb_put(b, "</div>\n");
}

static void put_facts(WbbBuf *b, const PriceReport *r, const SimProfile *p, const BdLaunch *l)
{
    const PriceOccupancy *o = &r->occupancy;
    wbb_putf(b, "<p>%llu blocks of %u threads. An SM holds %u of them, %u of %u warps (limit: %s",
             (unsigned long long)p->grid, l->block[0] * l->block[1] * l->block[2], o->blocks, o->warps, o->most,
             o->limit);
    if (r->regs) wbb_putf(b, "; %u registers a thread", r->regs);
    wbb_putf(b, "); %.2f waves. %.0f warp instructions, %.1f of 32 lanes at work.", o->waves, r->executed,
             32 * r->lanes);
    if (p->blocks < p->grid) wbb_putf(b, " A sample of %llu blocks ran.", (unsigned long long)p->blocks);
    if (r->unpriced > 0) wbb_putf(b, " Without a price: %.2f %% of the instructions.", 100 * r->unpriced / r->executed);
    wbb_put(b, "</p>\n");
}

/* Panels -------------------------------------------------------------------------------------------- */

/* A line of code: its share of the work; what chooses it: an HLO instruction, a line of the PTX. */
static void put_line(WbbBuf *b, const char *text, size_t n, const char *comment, double share, double most,
                     const char *hlo, int ptx, bool is_hlo)
{
    wbb_put(b, "<div class=\"l\"");
    if (hlo) {
        wbb_put(b, " data-h=\"");
        report_put_html(b, hlo);
        wbb_put(b, is_hlo ? "\" data-hlo=\"1\"" : "\"");
    }
    if (ptx) wbb_putf(b, " data-p=\"%d\"", ptx);
    if (share > 0 && most > 0) wbb_putf(b, " style=\"--s:%.2f%%\"", 100 * share / most);
    wbb_put(b, "><b>");
    if (share >= 0.0005) wbb_putf(b, "%.1f", 100 * share);
    wbb_put(b, "</b><span>");
    put_escaped(b, text, n);
    if (comment && *comment) {
        wbb_put(b, " <em>");
        report_put_html(b, comment);
        wbb_put(b, "</em>");
    }
    wbb_put(b, "</span></div>\n");
}

static void open_panel(WbbBuf *b, const char *title)
{
    wbb_putf(b, "<div class=\"panel\"><h3>%s</h3><div class=\"code\">\n", title);
}
static void close_panel(WbbBuf *b) { wbb_put(b, "</div></div>\n"); }

/* The name that an HLO line defines, "%add.3"; NULL: none. */
static const char *defined(WbbArena *a, const char *line, size_t n)
{
    size_t at = strspn(line, " \t");
    if (at + 5 < n && !strncmp(line + at, "ROOT ", 5)) at += 5;
    size_t end = at;
    while (end < n && !strchr(" =,(){}\n", line[end])) end++;
    if (end == at || end + 2 >= n || strncmp(line + end, " = ", 3)) return NULL;
    return wbb_format(a, "%s%.*s", line[at] == '%' ? "" : "%", (int)(end - at), line + at);
}

/* The share of an HLO instruction. */
static double share_of(const PriceShare *s, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(s[i].name, name)) return s[i].share;
    return 0;
}

/* The largest share that a name of the text has: not that of lines which no comment names. */
static double most_of(const PriceShare *s, uint32_t n)
{
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(s[i].name, "-")) most = WBB_MAX(most, s[i].share);
    return most;
}

static void put_hlo(WbbBuf *b, const char *hlo, const PriceReport *r)
{
    PriceShare *s;
    const uint32_t n = price_shares(b->arena, r, PRICE_BY_HLO, &s);
    open_panel(b, "HLO");
    for (const char *p = hlo; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const size_t length = strcspn(p, "\n");
        const char *name = defined(b->arena, p, length);
        put_line(b, p, length, NULL, name ? share_of(s, n, name) : 0, most_of(s, n), name, 0, true);
    }
    close_panel(b);
}

static void put_plain(WbbBuf *b, const char *title, const char *text)
{
    open_panel(b, title);
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        put_line(b, p, strcspn(p, "\n"), NULL, 0, 0, NULL, 0, false);
    close_panel(b);
}

/* The HLO instruction that a comment names behind its arrow; NULL: none. */
static const char *behind_arrow(const char *comment)
{
    const char *at = comment ? strstr(comment, "<- ") : NULL;
    return at ? at + 3 : NULL;
}

/* Lines of the PTX by their number, from 1; shares[0] is not used. */
typedef struct {
    const PriceShare **shares;
    uint32_t n;
    double most;
} Lines;

static Lines lines_of(WbbArena *a, const PriceReport *r)
{
    PriceShare *s;
    const uint32_t n = price_shares(a, r, PRICE_BY_LINE, &s);
    Lines l = {.n = 1};
    for (const char *p = r->text; *p; p++) l.n += *p == '\n';
    l.shares = WBB_NEW_N(a, const PriceShare *, l.n + 2);
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].line > 0 && (uint32_t)s[i].line <= l.n) l.shares[s[i].line] = &s[i];
        l.most = WBB_MAX(l.most, s[i].share);
    }
    return l;
}

static void put_ptx(WbbBuf *b, const PriceReport *r, const Lines *l)
{
    open_panel(b, "PTX");
    uint32_t number = 1;
    for (const char *p = r->text; *p; p += strcspn(p, "\n"), p += *p == '\n', number++) {
        const size_t n = strcspn(p, "\n");
        const PriceShare *s = number <= l->n ? l->shares[number] : NULL;
        const char *comment = s ? s->what : NULL, *cut = p;
        while (comment && *comment && cut < p + n && !(cut[0] == '/' && cut[1] == '/')) cut++;
        size_t length = comment && *comment ? (size_t)(cut - p) : n;
        while (length && (p[length - 1] == ' ' || p[length - 1] == '\t')) length--;
        put_line(b, p, length, comment, s ? s->share : 0, l->most, behind_arrow(comment), (int)number, false);
    }
    close_panel(b);
}

/* Machine code of nvdisasm: lines `//## File "..", line N` say which line of the PTX the next ones come from. Its share
 * is parted alike among them. */
static void put_sass(WbbBuf *b, const char *text, const Lines *l)
{
    static const char mark[] = "//## File";
    uint32_t *count = WBB_NEW_N(b->arena, uint32_t, l->n + 2), line = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) open_panel(b, "machine code");
        for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            const size_t n = strcspn(p, "\n"), blank = strspn(p, " \t");
            const char *at = strstr(p, ", line ");
            if (!strncmp(p + blank, mark, strlen(mark)) && at && at < p + n) line = (uint32_t)strtoul(at + 7, NULL, 10);
            const bool code = !strncmp(p + blank, "/*", 2) || p[0] == '.';
            if (!code || line > l->n || p[0] == '.') continue;
            const PriceShare *s = l->shares[line];
            if (!pass) count[line]++;
            else
                put_line(b, p + blank, n - blank, NULL, s ? s->share / count[line] : 0, l->most,
                         s ? behind_arrow(s->what) : NULL, (int)line, false);
        }
    }
    close_panel(b);
}

/* The page ------------------------------------------------------------------------------------------ */

static void put_beside(WbbBuf *b, const ReportProfile *p, uint32_t n)
{
    wbb_put(b, "<div class=\"wide\"><table><tr><th>kernel</th><th>µs</th><th>first / this</th><th>bound by</th>"
               "<th>warp instructions</th><th>registers</th></tr>\n");
    for (uint32_t k = 0; k < n; k++) {
        const PriceReport *r = &p[k].reports[0];
        double executed = 0;
        for (int i = 0; i < p[k].bundle->n_launches; i++) executed += p[k].reports[i].executed;
        wbb_put(b, "<tr><td>");
        report_put_html(b, file_of(p[k].name));
        wbb_putf(b, "</td><td>%.3f</td><td>%.3f</td><td>%s</td><td>%.0f</td><td>%u</td></tr>\n", us(p[k].seconds),
                 p[0].seconds / p[k].seconds, report_profile_binds(&p[k]), executed, r->regs);
    }
    wbb_put(b, "</table></div>\n");
}

static void put_launch(WbbBuf *b, const char *hlo, const ReportProfile *p, int i)
{
    const PriceReport *r = &p->reports[i];
    const BdLaunch *launch = &p->bundle->launches[i];
    wbb_put(b, "<section class=\"kernel\"><h2>");
    report_put_html(b, file_of(p->name));
    wbb_put(b, ": ");
    report_put_html(b, launch->entry);
    wbb_putf(b, ", %.3f µs on %s</h2>\n<p>", us(r->seconds), p->target->name);
    report_put_sum(b, r);
    wbb_putf(b, " µs; bound by %s</p>\n", r->term[r->binds].name);
    put_terms(b, r);
    put_facts(b, r, &p->profiles[i], launch);
    const Lines l = lines_of(b->arena, r);
    wbb_put(b, "<div class=\"panels\">\n");
    put_hlo(b, hlo, r);
    if (p->ir) put_plain(b, "IR", p->ir);
    put_ptx(b, r, &l);
    if (p->sass) put_sass(b, p->sass, &l);
    wbb_put(b, "</div></section>\n");
}

void report_open_page(WbbBuf *b, const char *title, const TgTarget *target)
{
    wbb_put(b, head);
    wbb_put(b, "<h1>");
    report_put_html(b, file_of(title));
    wbb_put(b, "</h1>\n<p>Modelled time on ");
    report_put_html(b, target->board);
    wbb_put(b, ". Numbers beside lines are shares of the work, in %. Choose a line to mark what belongs to it.</p>\n");
}

void report_put_kernel_html(WbbBuf *b, const char *hlo, const ReportProfile *p)
{
    for (int i = 0; i < p->bundle->n_launches; i++) put_launch(b, hlo, p, i);
}

void report_close_page(WbbBuf *b) { wbb_put(b, script); }

void report_put_profiles_html(WbbBuf *b, const char *hlo, const ReportProfile *p, uint32_t n)
{
    report_open_page(b, p[0].name, p[0].target);
    if (n > 1) put_beside(b, p, n);
    for (uint32_t k = 0; k < n; k++) report_put_kernel_html(b, hlo, &p[k]);
    report_close_page(b);
}

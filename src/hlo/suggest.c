/* suggest: the known word that an unknown word was probably meant to be.
 *
 * Needs: the unknown word, and all known ones, one after the other. Leaves: the end of a message; empty if no known
 * word is close. It runs only for texts that are refused.
 *
 * Close means: equal but for case and '_' for '-'; another language's name of the same thing (mul, exp, i32, float32);
 * or an edit distance of at most 1 in three letters and 2 in all. An edit inserts, deletes, replaces or swaps letters
 * (Damerau-Levenshtein).
 *
 *     mutliply    ", did you mean 'multiply'?"
 *     i32         ", did you mean 's32'?"
 */
#include "hlo/inner.h"

#include <string.h>

enum { LONGEST = 64 };

static char plain(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' ? '-' : c;
}

/* The edit distance, exact up to 2. */
static uint32_t edit_distance(const char *x, size_t n, const char *y, size_t m)
{
    uint32_t rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST || n > m + 2 || m > n + 2) return UINT32_MAX;
    for (size_t k = 0; k <= m; k++) rows[0][k] = (uint32_t)k;
    for (size_t j = 1; j <= n; j++) {
        uint32_t *row = rows[j % 3];
        const uint32_t *above = rows[(j - 1) % 3];
        row[0] = (uint32_t)j;
        for (size_t k = 1; k <= m; k++) {
            const bool same = plain(x[j - 1]) == plain(y[k - 1]);
            row[k] = WBB_MIN(above[k - 1] + !same, WBB_MIN(above[k], row[k - 1]) + 1);
            const bool swapped = j > 1 && k > 1 && plain(x[j - 1]) == plain(y[k - 2]) &&
                                 plain(x[j - 2]) == plain(y[k - 1]);
            if (swapped) row[k] = WBB_MIN(row[k], rows[(j - 2) % 3][k - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

HloSuggestion hlo_suggest_begin(const char *word, size_t n)
{
    return (HloSuggestion){.word = word, .n = n, .edits = UINT32_MAX};
}

void hlo_suggest_candidate(HloSuggestion *s, const char *candidate)
{
    const uint32_t found = edit_distance(s->word, s->n, candidate, strlen(candidate));
    if (found > WBB_MIN(2, s->n / 3) || found > s->edits) return;
    if (found == s->edits && strcmp(candidate, s->best) >= 0) return; /* independent of the order of candidates */
    s->edits = found;
    s->best = candidate;
}

const char *hlo_suggestion(WbbArena *a, const HloSuggestion *s)
{
    return s->best ? wbb_format(a, ", did you mean '%s'?", s->best) : "";
}

const char *hlo_suggest_opcode(WbbArena *a, const char *word, size_t n)
{
    static const struct { const char *other, *ours; } names[] = {
        {"cast", "convert"}, {"concat", "concatenate"}, {"cos", "cosine"}, {"cross-replica-sum", "all-reduce"}, {"div", "divide"},
        {"exp", "exponential"}, {"expm1", "exponential-minus-one"}, {"log1p", "log-plus-one"}, {"matmul", "dot"}, {"max", "maximum"},
        {"min", "minimum"}, {"mod", "remainder"}, {"mul", "multiply"}, {"neg", "negate"}, {"pow", "power"}, {"rem", "remainder"},
        {"shift-right", "shift-right-logical"}, {"sigmoid", "logistic"}, {"sin", "sine"}, {"sub", "subtract"}, {"where", "select"},
    };
    HloSuggestion s = hlo_suggest_begin(word, n);
    for (size_t k = 0; k < WBB_LEN(names); k++)
        if (edit_distance(word, n, names[k].other, strlen(names[k].other)) == 0)
            s = (HloSuggestion){.word = word, .n = n, .best = names[k].ours};
    for (uint32_t op = 0; op < HLO_OPCODE_COUNT; op++) hlo_suggest_candidate(&s, hlo_opcode_name((HloOpcode)op));
    return hlo_suggestion(a, &s);
}

const char *hlo_suggest_type(WbbArena *a, const char *word, size_t n)
{
    static const struct { const char *other, *ours; } prefixes[] = {
        {"bfloat", "bf"}, {"float", "f"}, {"fp", "f"}, {"uint", "u"}, {"ui", "u"}, {"int", "s"}, {"si", "s"}, {"i", "s"}, {"bool", "pred"},
        {"half", "f16"}, {"double", "f64"},
        {"complex", "c"},
    };
    HloSuggestion s = hlo_suggest_begin(word, n);
    for (size_t k = 0; k < WBB_LEN(prefixes) && !s.best; k++) {
        const size_t head = strlen(prefixes[k].other);
        if (n < head || memcmp(word, prefixes[k].other, head) != 0) continue;
        const char *ours = wbb_format(a, "%s%.*s", prefixes[k].ours, (int)WBB_MIN(n - head, LONGEST), word + head);
        if (hlo_type_named(ours, strlen(ours)) != SC_NONE) s = (HloSuggestion){.word = word, .n = n, .best = ours};
    }
    for (size_t t = 0; t < WBB_LEN(sc_type_info); t++)
        if (sc_type_info[t].hlo[0]) hlo_suggest_candidate(&s, sc_type_info[t].hlo);
    return hlo_suggestion(a, &s);
}

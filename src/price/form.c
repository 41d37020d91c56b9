/* form: the spelling of an instruction under which patterns/prices.tsv has its price.
 *
 * Needs: the text of an instruction. Leaves: its form, the opcode and what its operands are where that decides what
 * ptxas makes of it (target.h). Forms of memory accesses, branches and operations of several lanes are the opcode.
 *
 *     add.s32 %r1, %r2, 4     ->   "add.s32 imm"
 *     mov.b64 {%r1, %r2}, %rd1   ->   "mov.b64 unpack"
 *     ld.global.f32 %f1, [%rd1+4]   ->   "ld.global.b32"
 */
#include "price/price.h"

#include <string.h>

enum { MOST_OPERANDS = 8 };

typedef struct {
    const char *at;
    size_t n;
} Word;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Word trimmed(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) at++;
    while (end > at && is_blank(end[-1])) end--;
    return (Word){at, (size_t)(end - at)};
}

/* The operands between the opcode and `;`, split at commas outside brackets. */
static int operands(const char *at, Word out[MOST_OPERANDS])
{
    const char *start = at;
    int n = 0, depth = 0;
    for (;; at++) {
        const bool last = !*at || *at == ';';
        depth += (*at == '{' || *at == '[' || *at == '(') - (*at == '}' || *at == ']' || *at == ')');
        if (!last && (*at != ',' || depth)) continue;
        const Word w = trimmed(start, at);
        if (w.n && n < MOST_OPERANDS) out[n++] = w;
        start = at + 1;
        if (last) return n;
    }
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_literal(Word w)
{
    return w.n && (is_digit(w.at[0]) || (w.at[0] == '-' && w.n > 1 && is_digit(w.at[1])));
}

static bool begins(Word w, const char *with) { return w.n >= strlen(with) && !strncmp(w.at, with, strlen(with)); }

static bool is_special(Word w)
{
    static const char *const names[] = {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%clock", "%globaltimer",
                                        "%lanemask", "%gridid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid", "%cluster_ctarank",
                                        "%cluster_nctarank", "%is_explicit_cluster", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%envreg"};
    for (size_t i = 0; i < WBB_LEN(names); i++)
        if (begins(w, names[i])) return true;
    return false;
}

/* Opcodes whose operands do not matter. */
static bool is_plain(Word opcode)
{
    static const char *const names[] = {"ld", "st", "atom", "red", "shfl", "vote", "redux", "bar", "barrier", "bra", "call", "ret", "exit", "cp", "ldmatrix",
                                        "stmatrix", "match", "lop3", "mbarrier", "activemask", "fence", "membar", "elect", "brx", "cvta", "mapa",
                                        "griddepcontrol", "nanosleep", "prefetch", "mma", "isspacep", "bmsk", "trap"};
    size_t n = 0;
    while (n < opcode.n && opcode.at[n] != '.') n++;
    for (size_t i = 0; i < WBB_LEN(names); i++)
        if (strlen(names[i]) == n && !strncmp(opcode.at, names[i], n)) return true;
    return false;
}

static const char *suffix(Word opcode, const Word *w, int n)
{
    if (is_plain(opcode)) return "";
    if (begins(opcode, "mov.") && n > 1)
        return w[1].at[0] == '{'      ? " pack"
               : w[0].at[0] == '{'    ? " unpack"
               : is_literal(w[1])     ? " imm"
               : is_special(w[1])     ? " special"
               : w[1].at[0] == '%' || w[1].n == 1 ? "" /* inline assembly has registers of one letter */
                                      : " symbol";
    if ((begins(opcode, "min.") || begins(opcode, "max.")) && n == 4) return " 3";
    for (int i = 1; i < n; i++)
        if (is_literal(w[i])) return " imm";
    return "";
}

const char *price_form(WbbArena *a, const char *text)
{
    const Word opcode = {text, strcspn(text, " \t\r\n;")};
    Word w[MOST_OPERANDS];
    const int n = operands(text + opcode.n, w);
    char *form = wbb_format(a, "%.*s%s", (int)opcode.n, opcode.at, suffix(opcode, w, n));
    char *type = strrchr(form, '.');
    const bool memory = begins(opcode, "ld.") || begins(opcode, "st.");
    if (memory && type && type[1] && strchr("usf", type[1]))
        type[1] = 'b'; /* the type of a load or store is its width */
    return form;
}

const TgPrice *price_of(WbbArena *a, const TgTarget *t, const char *form)
{
    static const char *const rounded[] = {"add.", "sub.", "mul.", "fma."}; /* to the nearest where they do not say how */
    const TgPrice *p = tg_price(t, form, strlen(form));
    for (size_t i = 0; i < WBB_LEN(rounded) && !p; i++) {
        if (strncmp(form, rounded[i], strlen(rounded[i]))) continue;
        const char *whole = wbb_format(a, "%srn.%s", rounded[i], form + strlen(rounded[i]));
        p = tg_price(t, whole, strlen(whole));
    }
    return p;
}

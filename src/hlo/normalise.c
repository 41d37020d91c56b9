/* normalise: the one list of passes over HLO modules, in their order.
 *
 * Needs: a verified HLO module. Leaves: a verified HLO module with the same parameters and outputs, to the bit, that
 * uses fewer kinds of operations. The list says what each pass needs of the module and leaves, and why it stands where
 * it does; hlo_check_passes verifies that each finds what it needs. A pass with nothing to do visits each instruction
 * once.
 *
 *     p = f32[8] parameter(0)  s = f32[8] custom-call(p), custom_call_target="Sharding"  ROOT n = f32[8] negate(s)
 *         p = f32[8] parameter(0)  ROOT n = f32[8] negate(p)
 */
#include "hlo/normalise.h"

#include <string.h>

/* Forms of a module: what it has no more of. */
enum {
    FULL = 1 << 0,     /* operands smaller than the result */
    FLAT = 1 << 1,     /* fusions but in the entry */
    WHOLE = 1 << 2,    /* halves of an asynchronous operation */
    INLINED = 1 << 3,  /* calls */
    GATHERED = 1 << 4, /* select-and-scatters */
    MAPPED = 1 << 5,   /* maps of elementwise bodies */
    BOUNDED = 1 << 6,  /* scalar bounds and predicates beside arrays */
    DEFINED = 1 << 7,  /* operations that others define */
    TUPLES = 1 << 8,   /* elements of tuples whose operands are known */
    ROWS = 1 << 9,    /* scatters but of rows of starts */
    NORMAL = (1 << 10) - 1,
};
static const char *const forms[] = {"full", "flat", "whole", "inlined", "gathered", "mapped",
                                    "bounded", "defined", "tuples", "rows"};
static const char *const scopes[] = {[HLO_FOR_ALL] = "every compile", [HLO_FOR_TERMS] = "every compile, on terms",
                                     [HLO_FOR_MODULE] = "a module that is cut",
                                     [HLO_FOR_FUSION] = "a plan that asks for it"};

/* Of passes that have several rows. */
static const char of_tuple[] = "replaces elements of a tuple by the operands of that tuple",
                  why_tuple[] = "a tuple is several values, and a term one element",
                  of_dead[] = "removes instructions and computations that no output needs",
                  why_dead[] = "what is needed, and what has effects, is a question about the module";

const HloPass hlo_passes[] = {
    {"broadcast", HLO_FOR_ALL, 0, FULL, 0, hlo_pass_broadcast,
     "broadcasts operands that are smaller than the result",
     "it is the parser's, too: no other pass meets operands of two sizes",
     .stays = "the verifier wants operands of one size, and terms are made of what is verified"},
    {"nested", HLO_FOR_ALL, FULL, FLAT, 0, hlo_pass_nested,
     "inlines fusions inside fusions, reducers and called bodies",
     "before calls are inlined: a fusion inside a called body is part of that body, and the entry gets none",
     .stays = "a fusion's body is a computation of its own, and the rules are about terms of one"},
    {"async", HLO_FOR_ALL, FLAT, WHOLE, INLINED, hlo_pass_async,
     "replaces the done of an asynchronous operation by the operation",
     "what it leaves may be a collective or a call, which the next two look for",
     .stays = "a start and its done are two moments, and terms have no time"},
    {"alone", HLO_FOR_ALL, WHOLE, 0, 0, hlo_pass_alone,
     "replaces collectives that one device takes part in by their operands",
     "of an asynchronous collective there is one instruction",
     .stays = "which devices take part is said by groups of the whole module"},
    {"call", HLO_FOR_ALL, FLAT | WHOLE, INLINED, TUPLES, hlo_pass_call,
     "inlines called computations, of loops and branches those that run once whatever the operands",
     "no later pass looks into a body to see what a value is",
     .stays = "a body is copied into its caller, by what is known of trips and branches: a computation is no term"},
    {"forward", HLO_FOR_ALL, INLINED, 0, TUPLES, hlo_pass_forward,
     "removes opt-barrier, domain and add-dependency, and custom calls that only place or shard their operand",
     "what is behind them is seen by passes that look at operands; of a tuple its operand stays, in which `tuple` looks",
     .stays = "they have no element of their own, a custom call by its target's name, and may forward a tuple"},
    {"size", HLO_FOR_ALL, INLINED, 0, 0, hlo_pass_size,
     "replaces get-dimension-size by a constant if no size is dynamic",
     "before passes that look for constants",
     .stays = "whether a size is dynamic is a question about all instructions of the module"},
    {"select-and-scatter", HLO_FOR_ALL, INLINED, GATHERED, ROWS | TUPLES, hlo_pass_select_and_scatter,
     "replaces it by a reduce-window that selects, and a gather or a scatter",
     "before `scatter`, which gives what it makes the one form",
     .stays = "the body that selects becomes one that selects pairs, and which of two forms is taken is a matter of size"},
    {"map", HLO_FOR_ALL, INLINED, MAPPED, 0, hlo_pass_map,
     "replaces maps of elementwise bodies by elementwise operations",
     "a body whose calls are inlined is elementwise",
     .stays = "its body is copied, an operation of arrays for each of scalars: a computation is no term"},
    {"clamp", HLO_FOR_ALL, FULL, BOUNDED, 0, hlo_pass_clamp,
     "broadcasts scalar bounds of clamp and predicates of select",
     "what `broadcast` does for other operations, of verified ones: the parser lets these two be as they are",
     .stays = "a scalar is read at no index: as `broadcast`, it makes operands of one size of the text"},
    {"defined", HLO_FOR_ALL, FULL | INLINED, DEFINED, TUPLES, hlo_pass_defined,
     "replaces batch-norms, searches for the largest elements and clamps of complex values by what defines them",
     "before the passes over sorts, of which a search is one; elements of the tuples that it makes `tuple` finds",
     .stays = "gen/hlo_defined.py has texts of the definitions, which may hold sorts and tuples; no term does"},
    {"short-sorts", HLO_FOR_ALL, DEFINED | INLINED, 0, TUPLES, hlo_pass_short_sorts,
     "replaces sorts of up to 4 elements by exchanges of neighbours",
     "comparators have no calls, and are copied for each exchange",
     .stays = "the comparator, a computation, is copied for each exchange of all operands of a sort"},
    {"packed-sorts", HLO_FOR_ALL, DEFINED | INLINED, 0, TUPLES, hlo_pass_packed_sorts,
     "sorts elements of less than 8 bits as wider ones",
     "short rows need no wider ones: they are sorted no more",
     .stays = "a sort is whole, and its comparator becomes one of wider elements"},
    {"reduce", HLO_FOR_ALL, INLINED, 0, TUPLES, hlo_pass_reduce,
     "replaces reductions of arrays that are combined apart by one of each",
     "computations without calls show that they are; it makes a tuple",
     .stays = "a definition is of one instruction, with one result, so that each part must be one before it is a fold; "
              "`independent` takes reductions of one array out of loops before there are terms"},
    {"tuple", HLO_FOR_ALL, 0, TUPLES, 0, hlo_pass_tuple,
     of_tuple,
     "what the passes above made of sorts and reductions is then of arrays, as `independent` wants it",
     .stays = why_tuple},
    {"independent", HLO_FOR_ALL, INLINED | MAPPED | TUPLES, 0, TUPLES, hlo_pass_independent,
     "replaces loops whose iterations need nothing of each other by arrays of all of them",
     "bodies have their final operations; it makes a tuple of the state",
     .stays = "that no iteration needs another one is known of a body as a whole, and the loop is gone then"},
    {"tuple", HLO_FOR_ALL, 0, TUPLES, 0, hlo_pass_tuple,
     of_tuple,
     "after `independent`, which makes a tuple of the state; the passes below see whose operand a value is",
     .stays = why_tuple},
    {"scatter", HLO_FOR_ALL, GATHERED, ROWS, 0, hlo_pass_scatter,
     "makes scatters take rows of starts and rows of whole windows",
     "after all passes that make scatters",
     .stays = "a scatter is whole: it writes where values say, and its kernels take rows of windows alone"},
    {"copy", HLO_FOR_ALL, TUPLES, 0, 0, hlo_pass_copy,
     "removes copies to the same layout, except outputs",
     "passes above copy what replaces a value of another layout",
     .stays = "layouts are no part of terms, nor is which copy is an output or a fusion's own operand"},
    {"first", HLO_FOR_ALL, DEFINED | TUPLES, 0, 0, hlo_pass_first,
     "replaces sorts of which the first or last element of each row is read by reductions",
     "all readers of all results of a sort are seen, through no copy and no tuple",
     .stays = "all readers of all results of a sort must read one place of its rows"},
    {"dead", HLO_FOR_ALL, 0, 0, 0, hlo_pass_dead,
     of_dead,
     "all passes leave what they replace",
     .stays = why_dead},
    {"labels", HLO_FOR_TERMS, NORMAL, 0, 0, NULL,
     "replaces scatters of one update into each row of one number by selects",
     "it knows scatters of rows alone, and terms say which columns count these",
     .stays = "a scatter is whole, and that each row has one update is a fact of the columns of its indices"},
    {"arrays", HLO_FOR_TERMS, NORMAL, 0, 0, NULL,
     "applies the rules of patterns/arrays.py to reductions, windows and products, whatever instructions they are made of",
     "what the passes above leave is what terms are made of; it removes what it replaces",
     .rules = "patterns/arrays.py"},
    {"hoist", HLO_FOR_MODULE, NORMAL, 0, TUPLES, hlo_pass_hoist,
     "computes before a loop what is the same in each of its iterations",
     "what a loop keeps is then seen by all others; it makes tuples of states",
     .stays = "a value moves from a body to the computation around the loop, whose state has it then"},
    {"stacked", HLO_FOR_MODULE, INLINED, 0, TUPLES, hlo_pass_stacked,
     "parts arrays in which elementwise loops stack concatenations",
     "what is hoisted is no more of the loop, which may then be elementwise",
     .stays = "the parts of a loop's state change, in its body and around it"},
    {"moves", HLO_FOR_MODULE, INLINED, 0, 0, NULL,
     "replaces moves of moves by one move, or by nothing",
     "before `equal`: values that differ by such a move are equal",
     .stays = "patterns/indexing.py says what a chain of moves reads; which one move reads so is searched among those there are"},
    {"equal", HLO_FOR_MODULE, INLINED, 0, 0, hlo_pass_equal,
     "makes equal values one",
     "what two users compute alike is one value, which the cut sees has two users",
     .stays = "equal terms are one node anyway: this makes the text so, too, for those who cut it"},
    {"tuple", HLO_FOR_MODULE, 0, TUPLES, 0, hlo_pass_tuple,
     of_tuple,
     "after hoist and stacked, which make tuples",
     .stays = why_tuple},
    {"results", HLO_FOR_MODULE, TUPLES, 0, 0, hlo_pass_results,
     "makes results that stand twice two, of which the second is a copy",
     "after `equal`, which makes them one",
     .stays = "which outputs stand twice in the root is no matter of elements"},
    {"dead", HLO_FOR_MODULE, 0, 0, 0, hlo_pass_dead,
     of_dead,
     "all passes leave what they replace",
     .stays = why_dead},
    {"ordered", HLO_FOR_FUSION, NORMAL, 0, 0, NULL,
     "sorts the updates of scatters whose result depends on their order",
     "where the bits must be the same in every run; it knows scatters of rows alone",
     .stays = "a scatter is whole, and facts of its indices say whether the order of updates is seen"},
    {"options", HLO_FOR_FUSION, NORMAL, 0, 0, NULL,
     "takes options of patterns/arrays.py: scans and long rows of pieces, windows of windows, sums over rows of parts",
     "the plan of the kernel that takes the text as it is, is known",
     .rules = "patterns/arrays.py"},
    {NULL, HLO_FOR_ALL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL},
};

/* --- the list ----------------------------------------------------------------------------------------------------- */
const HloPass *hlo_find_pass(const char *name)
{
    for (const HloPass *p = hlo_passes; p->name; p++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

const char *hlo_check_passes(WbbArena *a, const HloPass *passes)
{
    uint32_t has = 0;
    for (const HloPass *p = passes; p->name; p++) {
        const bool ends = !p[1].name || p[1].scope != p->scope;
        if (p->needs & ~has) return wbb_format(a, "pass %s needs a form that no pass above it leaves", p->name);
        if (!p->what[0] || !p->because[0]) return wbb_format(a, "pass %s has no reason", p->name);
        if (p->rules ? p->run || p->stays : !p->stays || !p->stays[0])
            return wbb_format(a, "pass %s does not say why it is C", p->name);
        if (p->scope == HLO_FOR_TERMS) continue;
        has = (has | p->makes) & ~p->ends;
        if (!ends) continue;
        if (has != NORMAL) return wbb_format(a, "after pass %s the module is not in normal form", p->name);
        if (p->scope != HLO_FOR_FUSION && p->run != hlo_pass_dead)
            return wbb_format(a, "after pass %s stands what it has replaced", p->name);
    }
    return NULL;
}

static void put_forms(WbbBuf *out, const char *word, uint32_t set)
{
    if (set == NORMAL) wbb_putf(out, "; %s normal form", word);
    for (uint32_t k = 0, n = 0; k < WBB_LEN(forms) && set != NORMAL; k++)
        if (set >> k & 1) wbb_putf(out, "%s %s", n++ ? "," : wbb_format(out->arena, "; %s", word), forms[k]);
}

void hlo_put_passes(WbbBuf *out)
{
    for (const HloPass *p = hlo_passes; p->name; p++) {
        wbb_putf(out, "%s\n  for %s", p->name, scopes[p->scope]);
        put_forms(out, "needs", p->needs);
        put_forms(out, "makes", p->makes);
        put_forms(out, "ends", p->ends);
        wbb_putf(out, "\n  %s\n  because: %s\n", p->what, p->because);
        wbb_putf(out, p->rules ? "  rules: %s\n" : "  no rules: %s\n", p->rules ? p->rules : p->stays);
    }
}

/* --- runs --------------------------------------------------------------------------------------------------------- */
static const HloModule *verified(WbbCx *cx, const HloModule *made, const HloModule *m)
{
    if (made != m) hlo_verify(cx, made);
    return made;
}

const HloModule *hlo_cleaned(WbbCx *cx, WbbArena *a, const HloModule *made, const HloModule *m)
{
    return made == m ? m : verified(cx, hlo_pass_dead(cx, a, hlo_pass_tuple(cx, a, made)), m);
}

const HloModule *hlo_run_pass(WbbCx *cx, WbbArena *a, const HloModule *m, const char *name)
{
    const HloPass *p = hlo_find_pass(name);
    if (!p || !p->run) return NULL;
    const HloModule *made = p->run(cx, a, m);
    return p->scope == HLO_FOR_FUSION ? hlo_cleaned(cx, a, made, m) : verified(cx, made, m);
}

const HloModule *hlo_normalise(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    for (const HloPass *p = hlo_passes; p->name; p++)
        if (p->scope == HLO_FOR_ALL) m = verified(cx, p->run(cx, a, m), m);
    return m;
}

/* target.c: finds a target by name, its tuning numbers and its rates.
 *
 * Needs the generated tables; leaves nothing. tg_targets.h lists the targets; gen/ makes it from the files of
 * patterns/.
 *
 *     tg_tune(tg_find("sm_90"), "loop.unroll", 16)->value    // 8, because 16-byte accesses
 *     tg_rate(tg_find("sm_90"), "dram")->value               // 4.4e12 bytes/s, of an H200
 */
#include "target/target.h"

#include "base/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tg_targets.h" /* TG_TARGETS(X) X(sm80) X(sm90) */

#define DECLARE(name) extern const TgTarget tg_##name;
TG_TARGETS(DECLARE)
#undef DECLARE

#define ADDRESS(name) &tg_##name,
static const TgTarget *const targets[] = {TG_TARGETS(ADDRESS)};
#undef ADDRESS

/* What a command line's --tables changes, before there are threads: the one thing here that is not constant. */
static RwTables index_built_in;
static const TgTables built_in = {&index_built_in, targets, WBB_LEN(targets), ""}, *used = &built_in;

const TgTables *tg_use_tables(const TgTables *tables)
{
    const TgTables *before = used;
    if (before == &built_in) index_built_in = ix_tables;
    used = tables;
    ix_tables = *tables->index;
    return before;
}

const char *tg_code_identity(WbbArena *a)
{
    const char *code = wbb_code_identity(a);
    return *used->name ? wbb_format(a, "%s tables %s", code, used->name) : code;
}

const TgTarget *const *tg_all(uint32_t *n)
{
    *n = used->n_targets;
    return used->targets;
}

const TgTarget *tg_find(const char *name)
{
    for (uint32_t i = 0; i < used->n_targets; i++)
        if (strcmp(used->targets[i]->name, name) == 0) return used->targets[i];
    return NULL;
}

const TgTarget *tg_named(WbbCx *cx, WbbLoc at, const char *name)
{
    const TgTarget *t = tg_find(name);
    if (t) return t;
    WbbBuf known = wbb_buf(cx->arena);
    for (uint32_t i = 0; i < used->n_targets; i++) wbb_putf(&known, "%s %s", i ? "," : "", used->targets[i]->name);
    wbb_fail(cx, at, "no target is called '%s'; there are%s", name, known.text);
}

bool tg_has(const TgTarget *t, const char *feature)
{
    const size_t n = strlen(feature);
    for (const char *at = t->features; *at;) {
        const size_t word = strcspn(at, " ");
        if (word == n && strncmp(at, feature, n) == 0) return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

/* The text of a rule begins with its left side: "atomic_add.f32(a) -> llvm .." */
bool tg_has_instruction(const TgTarget *t, ScOp op, ScType type, uint32_t lanes)
{
    char of[32];
    snprintf(of, sizeof of, lanes > 1 ? "%sx%u" : "%s", sc_type_info[type].name, lanes);
    const char *name = sc_op_info[op].name;
    const size_t n = strlen(name), m = strlen(of);
    for (uint32_t i = 0; i < t->tables->n_instrs; i++) {
        const char *text = t->tables->rules[t->tables->instrs[i].rule].text;
        if (!strncmp(text, name, n) && text[n] == '.' && !strncmp(text + n + 1, of, m) && text[n + 1 + m] == '(')
            return true;
    }
    return false;
}

/* Of n rows in the order of their names, which are their first members: how many stand before a name. Plans ask for
 * some hundred numbers each. */
static uint32_t rows_before(const void *rows, uint32_t n, size_t size, const char *name)
{
    uint32_t low = 0;
    while (n) {
        const char *middle;
        memcpy(&middle, (const char *)rows + (low + n / 2) * size, sizeof middle);
        if (strcmp(middle, name) < 0) low += n / 2 + 1, n--;
        n /= 2;
    }
    return low;
}

const TgTune *tg_tune(const TgTarget *t, const char *name, uint32_t bits)
{
    const TgTune *any = NULL;
    for (uint32_t k = rows_before(t->tunes, t->n_tunes, sizeof *t->tunes, name); k < t->n_tunes; k++) {
        const TgTune *tune = &t->tunes[k];
        if (strcmp(tune->name, name) != 0) break;
        if (tune->bits == bits) return tune;
        if (tune->bits == 0) any = tune;
    }
    assert(any && "a tuning number that the target's file lacks");
    return any;
}

int64_t tg_tuned(const TgTarget *t, const char *name) { return tg_tune(t, name, 0)->value; }

/* Is the place, FILE.py:LINE, with or without its folder, that of the row? */
static bool is_at(const char *place, const char *file, uint32_t line)
{
    const char *colon = strchr(place, ':'), *slash = strchr(file, '/');
    if (!colon || strspn(colon + 1, "0123456789") != strlen(colon + 1)) return false;
    const size_t n = (size_t)(colon - place);
    if (slash && !memchr(place, '/', n)) file = slash + 1;
    return strlen(file) == n && !strncmp(file, place, n) && strtoul(colon + 1, NULL, 10) == line;
}

const TgTune *tg_tune_at(const TgTarget *t, const char *place)
{
    for (uint32_t i = 0; i < t->n_tunes; i++)
        if (is_at(place, t->tunes[i].file, t->tunes[i].line)) return &t->tunes[i];
    return NULL;
}

const TgStrategy *tg_strategy_at(const TgTarget *t, const char *place)
{
    for (uint32_t i = 0; i < t->n_strategies; i++)
        if (is_at(place, t->strategies[i].file, t->strategies[i].line)) return &t->strategies[i];
    return NULL;
}

bool tg_is_choice(const TgTarget *t, const char *place) { return tg_tune_at(t, place) || tg_strategy_at(t, place); }

const TgStrategy *tg_strategy(const TgTarget *t, const char *name)
{
    const TgStrategy *found = NULL;
    for (uint32_t i = 0; i < t->n_strategies; i++)
        if (!strcmp(t->strategies[i].name, name)) found = &t->strategies[i];
    assert(found && "a strategy that the target's file lacks");
    return found;
}

bool tg_leaves_out(const TgTarget *t)
{
    for (uint32_t i = 0; i < t->n_strategies; i++)
        if (t->strategies[i].off) return true;
    return false;
}

static void may_go(WbbCx *cx, const char *place, const char *name, const char *because, bool may, const char *why)
{
    if (!may)
        wbb_fail(cx, (WbbLoc){0}, "%s at %s, %s, cannot be left out: %s", name, place, because, why);
}

const TgTarget *tg_without(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *const *places, uint32_t n)
{
    TgTarget *changed = NULL;
    TgTune *tunes = NULL;
    TgStrategy *strategies = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const TgTune *tune = tg_tune_at(t, places[i]);
        const TgStrategy *strategy = tg_strategy_at(t, places[i]);
        if (!tune && !strategy) continue;
        if (tune) may_go(cx, places[i], tune->name, tune->because, tune->optional, "nothing else states it");
        else may_go(cx, places[i], strategy->name, strategy->because, !*strategy->needed, strategy->needed);
        if (!changed) {
            changed = WBB_NEW(a, TgTarget);
            tunes = WBB_NEW_N(a, TgTune, t->n_tunes + 1);
            strategies = WBB_NEW_N(a, TgStrategy, t->n_strategies + 1);
            *changed = *t;
            memcpy(tunes, t->tunes, t->n_tunes * sizeof *tunes);
            if (t->n_strategies) memcpy(strategies, t->strategies, t->n_strategies * sizeof *strategies);
            changed->tunes = tunes, changed->strategies = strategies;
        }
        if (tune) tunes[tune - t->tunes].value = tune->off;
        else strategies[strategy - t->strategies].off = true;
    }
    return changed ? changed : t;
}

const TgRate *tg_find_rate(const TgTarget *t, const char *name)
{
    const uint32_t k = rows_before(t->rates, t->n_rates, sizeof *t->rates, name);
    return k < t->n_rates && !strcmp(t->rates[k].name, name) ? &t->rates[k] : NULL;
}

const TgRate *tg_rate(const TgTarget *t, const char *name)
{
    const TgRate *r = tg_find_rate(t, name);
    assert(r && "a rate that the target's file lacks");
    return r;
}

uint32_t tg_schedulers(const TgTarget *t) { return (uint32_t)tg_rate(t, "issue")->value; }

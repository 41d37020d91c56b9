/* options.c: the words of a command line, by one table. */
#include "main/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { FLAG, NUMBER, WORD, LIST } Kind;
typedef struct {
    const char *name;
    Kind kind;
    size_t at;
} Option;

static const Option options[] = {
    {"--json", FLAG, offsetof(Options, json)},         {"--approx", FLAG, offsetof(Options, approx)},
    {"--trace", FLAG, offsetof(Options, trace)},       {"--explain", FLAG, offsetof(Options, explain)},
    {"--time", FLAG, offsetof(Options, time)},         {"--lines", FLAG, offsetof(Options, lines)},
    {"--check", FLAG, offsetof(Options, check)},       {"--ulp-noise", FLAG, offsetof(Options, ulp_noise)},
    {"--normalise", FLAG, offsetof(Options, normalise)},
    {"--f64", FLAG, offsetof(Options, f64)},           {"--bounds", FLAG, offsetof(Options, bounds)},
    {"--counts", FLAG, offsetof(Options, counts)},     {"--repeat", NUMBER, offsetof(Options, repeat)},
        {"--align", NUMBER, offsetof(Options, align)},
    {"--seed", NUMBER, offsetof(Options, seed)},       {"--blocks", NUMBER, offsetof(Options, blocks)},
    {"--order", NUMBER, offsetof(Options, order)},     {"--target", WORD, offsetof(Options, target)},
    {"--emit", WORD, offsetof(Options, emit)},         {"-o", WORD, offsetof(Options, output)},
    {"--print-after", WORD, offsetof(Options, print_after)}, {"--on", WORD, offsetof(Options, on)},
    {"--case", WORD, offsetof(Options, which)},        {"--pass", WORD, offsetof(Options, pass)},
    {"--at", WORD, offsetof(Options, at)},             {"--input", LIST, offsetof(Options, inputs)},
    {"--disable", LIST, offsetof(Options, disable)},   {"--help", FLAG, offsetof(Options, help)},
    {"--flat", FLAG, offsetof(Options, flat)},         {"--sass", FLAG, offsetof(Options, sass)},
    {"--phase", WORD, offsetof(Options, phase)},   {"--from", WORD, offsetof(Options, from)},
    {"--patterns", WORD, offsetof(Options, patterns)}, {"--let", LIST, offsetof(Options, lets)},
    {"--ptx", WORD, offsetof(Options, ptx)},           {"--grid", WORD, offsetof(Options, grid)},
    {"--block", WORD, offsetof(Options, block)},       {"--shared", NUMBER, offsetof(Options, shared)},
    {"--padding", NUMBER, offsetof(Options, padding)}, {"--perturb", NUMBER, offsetof(Options, perturb)},
    {"--samples", NUMBER, offsetof(Options, samples)}, {"--err", WORD, offsetof(Options, err)},
    {"--op", WORD, offsetof(Options, op)},             {"--compose", WORD, offsetof(Options, compose)},
    {"--hlo", WORD, offsetof(Options, hlo)},           {"--to", WORD, offsetof(Options, to)},
    {"--uses", FLAG, offsetof(Options, uses)},         {"--physical", FLAG, offsetof(Options, physical)},
              {"--enumerate", FLAG, offsetof(Options, enumerate)},
    {"--inverse", FLAG, offsetof(Options, inverse)},   {"--bijection", FLAG, offsetof(Options, bijection)},
    {"--rule", LIST, offsetof(Options, rules)},        {"-j", NUMBER, offsetof(Options, jobs)},
    {"--cache", WORD, offsetof(Options, cache)},       {"--cache-limit", NUMBER, offsetof(Options, cache_limit)},
    {"--listing", FLAG, offsetof(Options, listing)},   {"--files-from", WORD, offsetof(Options, files_from)},
};

static bool add(Words *w, const char *word)
{
    if (w->n == MAIN_MAX_LIST) {
        fprintf(stderr, "more than %d words of one kind\n", MAIN_MAX_LIST);
        return false;
    }
    w->list[w->n++] = word;
    return true;
}

static bool set(Options *o, const Option *p, const char *value)
{
    char *field = (char *)o + p->at, *end;
    if (!strcmp(p->name, "--target") && !add(&o->targets, value)) return false; /* the last one, and all of them */
    if (p->kind == WORD) return memcpy(field, &value, sizeof value), true;
    if (p->kind == LIST) return add((Words *)(void *)field, value);
    const int64_t number = strtoll(value, &end, 0);
    if (*value == 0 || *end != 0 || number < 0) {
        fprintf(stderr, "%s %s: a number from 0 on expected\n", p->name, value);
        return false;
    }
    if (!strcmp(p->name, "--order")) o->has_order = true;
    memcpy(field, &number, sizeof number);
    return true;
}

static bool one_of(const char *what, const char *value, const char *allowed)
{
    if (!value || (strlen(value) == 1 && strchr(allowed, *value))) return true;
    fprintf(stderr, "%s %s: one of %s expected\n", what, value, allowed);
    return false;
}

bool main_options(Options *o, int argc, char **argv)
{
    *o = (Options){.target = "sm_90"};
    for (int i = 0; i < argc; i++) {
        const Option *p = NULL;
        for (size_t k = 0; k < WBB_LEN(options); k++)
            if (!strcmp(argv[i], options[k].name)) p = &options[k];
        if (!p && argv[i][0] == '-' && argv[i][1]) {
            fprintf(stderr, "%s: no such option\n", argv[i]);
            return false;
        }
        if (!p) {
            if (!add(&o->files, argv[i])) return false;
        } else if (p->kind == FLAG) {
            const bool yes = true;
            memcpy((char *)o + p->at, &yes, sizeof yes);
        } else if (++i == argc) {
            fprintf(stderr, "%s: a value is missing\n", p->name);
            return false;
        } else if (!set(o, p, argv[i])) {
            return false;
        }
    }
    if (o->align && (o->align & (o->align - 1) || o->align > 256)) {
        fprintf(stderr, "--align %lld: a power of two up to 256 expected\n", (long long)o->align);
        return false;
    }
    return one_of("--case", o->which, "enp");
}

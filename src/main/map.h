/* map.h: what `map` takes, for its two parts: the maps of texts, and those of HLO. */
#ifndef MAIN_MAP_H
#define MAIN_MAP_H

#include "main/main.h"

typedef struct {
    Words texts;
    const char *op, *compose, *files_from, *hlo, *from, *to;
    int64_t samples, seed;
    bool inverse, bijection, enumerate, check, uses, physical, json;
} MapOptions;

/* map_hlo.c: `map --hlo` */
WbbStatus main_map_hlo(const Call *call);

#endif

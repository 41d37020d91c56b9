/* stats.h: what a kernel is, in numbers: the one producer of the records of `warpburg stats` and shaderdb.
 *
 * A record is made in two steps, so that many kernels share one run of ptxas: pipe_stats_begin compiles, pipe_stats_end assembles
 * everything that waits and writes the records. README.md of shaderdb lists the columns.
 *
 *     PipeStat s = {.target = tg_find("sm_90"), .text = hlo, .n = strlen(hlo)};
 *     pipe_stats_begin(cx, arena, &options, &s);
 *     pipe_stats_end(cx, arena, &s, 1);         // s.body: "\"status\": \"ok\", \"reason\": \"\", \"ptx\": 57, .."
 */
#ifndef PIPE_STATS_H
#define PIPE_STATS_H

#include "pipe/pipe.h"

/* Options that change code; they are part of a cache's key. */
typedef struct {
    bool approx;
    uint32_t align;
    const char *const *disable;
    uint32_t n_disable;
    struct LlCache *shared; /* of llvm/, for this thread */
} PipeStatOptions;

/* Facts of PTX text. Bytes are of global memory, a thread, where every branch that skips something is not taken. */
typedef struct {
    uint32_t instructions, loops; /* loops: backward branches */
    uint64_t loaded, stored, updated;
    bool known;                   /* how often every loop with such an access turns could be read; else it counts once */
} PipePtxFacts;

/* One fusion for one target. */
typedef struct {
    const TgTarget *target;
    const char *text; /* HLO */
    size_t n;
    /* Of pipe_stats_begin: */
    WbbStatus status;
    const char *reason;  /* of the closed list where it is declined, else "" */
    const char *message; /* why it is declined or failed; no places in it, for equal texts are one record */
    const char *ptx, *listing; /* `listing`: what made each instruction stands behind it */
    const char *facts;   /* the columns that need no machine code */
    uint32_t n_launches;
    const char *const *entries;
    uint64_t launched;   /* warps */
    double ms[PIPE_STEPS];
    const char *rules;   /* a JSON object */
    /* Of pipe_stats_end: */
    const char *body;    /* members of a JSON object, without braces: everything but file, kernel and target */
} PipeStat;

PipePtxFacts pipe_ptx_facts(WbbArena *a, const char *ptx); /* stats_ptx.c */

/* stats.c: neither fails nor declines; what became of the text is in the record. All texts live in `a`. */
void pipe_stats_begin(WbbCx *cx, WbbArena *a, const PipeStatOptions *o, PipeStat *s);
/* Of any target, in any order; those that are not compiled just get their body. */
void pipe_stats_end(WbbCx *cx, WbbArena *a, PipeStat *stats, uint32_t n);
/* Bytes that this fusion cannot but read and write: each operand once, or what slices and gathers take of it; each result once. */
uint64_t pipe_bytes_min(const HloFusion *f);

/* stats_cache.c: records by content, in a folder that several processes use at once ------------------------------------------ */
typedef struct PipeCache PipeCache;
/* `folder` NULL: no cache; all that follows then finds and keeps nothing. `limit`: bytes of all entries. */
PipeCache *pipe_cache_open(WbbCx *cx, WbbArena *a, const char *folder, uint64_t limit);
/* The key of a text: compiler, ptxas, libdevice, target with its tables, options, normalised HLO. NULL if the text is no module. */
const char *pipe_cache_key(WbbCx *cx, WbbArena *a, PipeCache *cache, const PipeStatOptions *o, const TgTarget *t, const char *text, size_t n);
const char *pipe_cache_name(WbbArena *a, const char *key); /* 32 hexadecimal digits: what an entry is called */
bool pipe_cache_find(WbbCx *cx, WbbArena *a, PipeCache *cache, const char *key, PipeStat *s); /* fills body, status and listing */
void pipe_cache_keep(WbbCx *cx, WbbArena *a, PipeCache *cache, const char *key, const PipeStat *s);
void pipe_cache_trim(WbbCx *cx, WbbArena *a, PipeCache *cache); /* down to the limit, least recently used first */

#endif

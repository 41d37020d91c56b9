/* stats.h: the records of `warpburg stats` and shaderdb: counts of a kernel's code, memory accesses and compile time.
 *
 * Needs the text of a fusion; leaves a record. A record is made in two steps, so that many kernels share one run of
 * ptxas: report_stats_begin compiles, report_stats_end assembles all compiled kernels and writes their records.
 * shaderdb/README.md lists the columns.
 *
 *     ReportStat s = {.target = tg_find("sm_90"), .text = hlo, .n = strlen(hlo)};
 *     report_stats_begin(cx, arena, &options, &s);
 *     report_stats_end(cx, arena, &s, 1);         // s.body: "\"status\": \"ok\", \"reason\": \"\", \"ptx\": 57, .."
 */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include "pipe/pipe.h"

/* Options that change the code; they are part of a cache's key. */
typedef struct {
    ScAccuracy accuracy;
    uint32_t align;
    const char *const *disable;
    uint32_t n_disable;
    uint32_t profile;       /* blocks of each kernel that run, so that its time can be modelled; 0: none */
    struct LlCache *shared; /* of llvm/, for this thread */
} ReportStatOptions;

/* Facts of PTX text. Bytes are those of global memory that one thread accesses if it takes no forward branch. */
typedef struct {
    uint32_t instructions, loops; /* loops: backward branches */
    uint64_t loaded, stored, updated;
    bool known; /* every loop with such an access has a known number of iterations; others count once */
} ReportPtxFacts;

/* stats_time.c: what a sample of a kernel's blocks did. */
typedef struct ReportStatTime ReportStatTime;

/* One fusion for one target. */
typedef struct {
    const TgTarget *target;
    const char *text; /* HLO */
    size_t n;
    /* Filled by report_stats_begin: */
    WbbStatus status;
    const char *reason;  /* declined: of the closed list; else "" */
    const char *message; /* why it is declined or failed; without a location, because equal texts share a record */
    uint64_t bytes_min;  /* of a declined one: what the fusion must move; 0: it is not known */
    const char *ptx, *listing; /* `listing`: the PTX with a comment after each instruction: what made it */
    const char *facts;   /* the columns that need no machine code, as members of a JSON object */
    uint32_t n_launches;
    const char *const *entries;
    uint64_t launched;   /* warps */
    double ms[PIPE_STEPS];
    const char *rules;   /* a JSON object */
    ReportStatTime *time;  /* NULL: not asked for, or not at hand */
    /* Filled by report_stats_end: */
    const char *body;    /* all columns but file, kernel and target, as members of a JSON object without braces */
} ReportStat;

ReportPtxFacts report_ptx_facts(WbbArena *a, const char *ptx); /* stats_ptx.c */

/* stats.c: does not fail or decline: the record says if the compile did. All texts are in `a`. */
void report_stats_begin(WbbCx *cx, WbbArena *a, const ReportStatOptions *o, ReportStat *s);
/* The stats may be of several targets, in any order; those that failed or were declined only get a body. */
void report_stats_end(WbbCx *cx, WbbArena *a, ReportStat *stats, uint32_t n);
/* Bytes that the fusion must read and write: each operand once, or what slices and gathers take of it; each result
 * once. */
uint64_t report_bytes_min(const HloFusion *f);

/* stats_time.c: runs a sample of so many blocks; NULL: there is none. Then its time as members `us`, `work`, `binds` of
 * a record, where a thread has so many registers (0: not known). */
ReportStatTime *report_stat_run(WbbCx *cx, WbbArena *a, const TgTarget *t, const Bundle *b, const HloModule *m,
                                uint32_t blocks);
void report_stat_put_time(WbbBuf *out, ReportStatTime *t, uint32_t regs);

/* stats_cache.c: a cache of records by content, in a folder that several processes may use at once */
typedef struct ReportCache ReportCache;
/* `folder` NULL: the cache is empty and keeps nothing. `limit`: bytes of all entries. */
ReportCache *report_cache_open(WbbCx *cx, WbbArena *a, const char *folder, uint64_t limit);
/* The key of a text: compiler, ptxas, libdevice, target with its tables, options, normalised HLO. NULL: the text is not
 * a module. */
const char *report_cache_key(WbbCx *cx, WbbArena *a, ReportCache *cache, const ReportStatOptions *o, const TgTarget *t,
                             const char *text, size_t n);
/* fills body, status and listing */
bool report_cache_find(WbbCx *cx, WbbArena *a, ReportCache *cache, const char *key, ReportStat *s);
void report_cache_keep(WbbCx *cx, WbbArena *a, ReportCache *cache, const char *key, const ReportStat *s);
void report_cache_trim(WbbCx *cx, WbbArena *a, ReportCache *cache); /* removes the least recently used entries */

#endif

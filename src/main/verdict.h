/* verdict.h: what `run` prints of a verdict, for both executables. */
#ifndef MAIN_VERDICT_H
#define MAIN_VERDICT_H

#include "main/main.h"
#include "pipe/judge.h"

/* counts.c: as lines; as one JSON object. */
void main_put_counts(WbbBuf *b, const SimCounts *c);
void main_put_counts_json(WbbBuf *b, const SimCounts *c);
void main_check_on(WbbCx *cx, const Options *o); /* fails on a wrong --on or --repeat */
PipeRun main_run_options(const Options *o);
/* Prints; WBB_CHECK if something was found. */
WbbStatus main_verdict(WbbArena *a, const Options *o, const char *name, const PipeVerdict *v);

#endif

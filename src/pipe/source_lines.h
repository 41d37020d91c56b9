/* source_lines.h: lines of the user's program that an HLO module names.
 *
 *     const PipeSourceLines *s = pipe_source_lines(arena, text);
 *     pipe_source_line(s, 40)         // "model.py:12", of the instruction in line 40 of the text; NULL: it names none
 */
#ifndef PIPE_SOURCE_LINES_H
#define PIPE_SOURCE_LINES_H

#include "base/base.h"

typedef struct PipeSourceLines PipeSourceLines;
PipeSourceLines *pipe_source_lines(WbbArena *a, const char *text); /* the text must outlive it */
const char *pipe_source_line(const PipeSourceLines *s, int line);

#endif

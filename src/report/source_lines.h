/* source_lines.h: lines of the user's program that an HLO module names.
 *
 *     const ReportSourceLines *s = report_source_lines(arena, text);
 *     report_source_line(s, 40)     // "model.py:12", of the instruction in line 40 of the text; NULL: it names none
 */
#ifndef REPORT_SOURCE_LINES_H
#define REPORT_SOURCE_LINES_H

#include "base/base.h"

typedef struct ReportSourceLines ReportSourceLines;
ReportSourceLines *report_source_lines(WbbArena *a, const char *text); /* the text must outlive it */
const char *report_source_line(const ReportSourceLines *s, int line);

#endif

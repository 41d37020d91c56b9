/* profile.h: kernels profiled side by side: the time of each on its GPU, what it is made of, and how that is printed.
 *
 * Needs a bundle and its module. Runs the bundle once in the simulator, on made or given inputs; leaves reports of
 * src/price. docs/profile.md explains what is printed.
 *
 *     ReportProfile p = {.name = "gelu.hlo", .bundle = bundle};
 *     report_profile(cx, arena, module, &(JudgeRun){.which = 'n'}, false, &p);
 *     report_put_profiles(&text, &p, 1);
 */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include "judge/judge.h"
#include "pipe/pipe.h"
#include "price/price.h"
#include "program/costs.h"

/* One compiler's kernels of a fusion. */
typedef struct {
    const char *name;       /* of the file */
    const Bundle *bundle;   /* its PTX has comments, if times are to be told apart by rule and HLO instruction */
    const TgTarget *target;
    SimProfile *profiles;   /* of each launch */
    PriceReport *reports;   /* of each launch */
    const PriceKernel *kernels;
    double seconds;         /* of all launches */
    JudgeVerdict verdict;
    const char *no_machine_code; /* why there is none, and with it no registers; NULL: there is */
    const char *ir;         /* text of our kernel after the last pass; NULL: not ours */
    const char *sass;       /* nvdisasm's text of the machine code; NULL: not at hand, or not asked for */
} ReportProfile;

enum { REPORT_PROFILE_LINES = 12 /* lines and rules that the text has */ };

/* profile.c: fills what is not given: `name`, `bundle` and `ir`. `sass`: also the text of the machine code. The run's
 * faults are in the verdict; then there are no reports. */
void report_profile(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *options, bool sass, ReportProfile *p);

/* profile.c: compiles the text of a step and profiles it by itself, on made inputs, in an arena of its own: the time of
 * one run. A sample of blocks, run->blocks, is one of a single launch without tickets; other kernels run whole. An
 * output that is updated in place, and has other memory than its operand in the step, takes a copy of it first. */
typedef struct {
    double seconds, launch; /* of all launches, copies among them; of it to launch them */
    uint32_t launches;
    const char *binds;      /* in arena a */
} ReportTextTime;
/* page: NULL, or the text of a page, to which the kernel's section is added. */
ReportTextTime report_profile_step(WbbCx *cx, WbbArena *a, const PipeOptions *o, const ProgStep *s,
                                   const JudgeRun *run, WbbBuf *page);

/* profile.c: the IR of all kernels after the last pass, as text. */
const char *report_kernels_text(WbbArena *a, const PipeResult *r);

/* profile_text.c: what binds the longest launch; there is one. */
const char *report_profile_binds(const ReportProfile *p);

/* profile_text.c: what the time of a launch is the sum of, in microseconds. */
void report_put_sum(WbbBuf *b, const PriceReport *r);

/* profile_text.c, profile_json.c, profile_html.c: first the kernel asked for, then those against it. */
void report_put_profiles(WbbBuf *b, const ReportProfile *p, uint32_t n);
void report_put_profiles_json(WbbBuf *b, const ReportProfile *p, uint32_t n);
void report_put_profiles_html(WbbBuf *b, const char *hlo, const ReportProfile *p, uint32_t n);

/* profile_html.c: the parts of a page of several kernels. */
void report_open_page(WbbBuf *b, const char *title, const TgTarget *target);
void report_put_kernel_html(WbbBuf *b, const char *hlo, const ReportProfile *p);
void report_close_page(WbbBuf *b);
void report_put_html(WbbBuf *b, const char *text); /* as HTML spells it */

/* program_page.c: what a program costs, and that as a page. `time` profiles the text of a kernel or copy. */
typedef ReportTextTime ReportStepTime(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s, WbbBuf *page);
typedef struct {
    ReportStepTime *time;
    void *arg;
} ReportSteps;
ProgCosts report_program_costs(WbbCx *cx, WbbArena *a, const TgTarget *t, const ProgModule *p,
                               const ReportSteps *steps);
void report_put_program_page(WbbCx *cx, WbbBuf *b, const char *name, const TgTarget *t, const ProgModule *p,
                             const ProgCosts *c, const ReportSteps *steps);

#endif

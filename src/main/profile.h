/* profile.h: kernels that were profiled side by side, and how they are printed. */
#ifndef MAIN_PROFILE_H
#define MAIN_PROFILE_H

#include "main/run.h"
#include "price/price.h"

/* One compiler's kernels of a fusion. */
typedef struct {
    const char *name;       /* of the file */
    const Bundle *bundle;
    const TgTarget *target;
    SimProfile *profiles;   /* of each launch */
    PriceReport *reports;   /* of each launch */
    const PriceKernel *kernels;
    double seconds;         /* of all launches */
    PipeVerdict verdict;
    const char *no_machine_code; /* why there is none, and with it no registers; NULL: there is */
    const char *ir;         /* text of our kernel after the last pass; NULL: not ours */
    const char *sass;       /* nvdisasm's text of the machine code; NULL: not at hand, or not asked for */
} Profiled;

enum { PROFILE_LINES = 12 /* lines and rules that the text has */ };

/* profile_text.c: what binds the longest launch; there is one. */
const char *main_profile_binds(const Profiled *p);

/* profile_text.c, profile_json.c, profile_html.c: first the kernel asked for, then those against it. */
void main_put_profiles(WbbBuf *b, const Profiled *p, uint32_t n);
void main_put_profiles_json(WbbBuf *b, const Profiled *p, uint32_t n);
void main_put_profiles_html(WbbBuf *b, const char *hlo, const Profiled *p, uint32_t n);

/* profile.c: `run --profile`. A bundle whose PTX has comments; `ir` may be NULL. */
WbbStatus main_run_profile(const Call *call, const char *name, const Bundle *b, const HloModule *m, const char *hlo,
                           const char *ir);

#endif

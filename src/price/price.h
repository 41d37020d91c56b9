/* price: the time that a kernel takes on a GPU, from what it did in the simulator and the rates of the machine.
 *
 *     time = launch + latency + code + max((sum of the cubes of the terms) ^ 1/3, blocks) + tail + clusters   (time.h)
 *
 * A term is the time that the kernel would take if one thing alone bounded it: bytes of DRAM, bytes of L2, blocks that
 * start, sectors that atomics update, the line that they update most often, bytes that SMs fetch, wavefronts of L1 and
 * shared memory, issue slots, clocks of each pipe, and dependent chains. The largest is what binds. Cubes let two terms
 * that are equally large cost more than one of them. Blocks start while others work: their term is no part of the sum,
 * and what the work takes at least.
 *
 *     PriceKernel k = {.target = tg_find("sm_90"), .launch = &launch, .static_shared = 4096, .regs = 32};
 *     SimProfile profile;
 *     price_ask(arena, &k, &profile);              // what the simulator needs to know of the machine
 *     sim_run(.., &(SimOptions){.profile = &profile}, &report);
 *     PriceReport r = price_report(arena, &k, &profile);
 *     // r.seconds, r.term[r.binds].name
 */
#ifndef PRICE_PRICE_H
#define PRICE_PRICE_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "price/time.h"
#include "sim/sim.h"

/* A launch on a machine. */
typedef struct {
    const TgTarget *target;
    const BdLaunch *launch;
    uint64_t static_shared; /* bytes of a block */
    uint32_t regs;          /* of a thread, by ptxas; 0: not known */
    const TgSassAt *code;   /* [n_code] the machine code that ptxas made of the very text; NULL: not at hand */
    uint32_t n_code;
} PriceKernel;

/* form.c: what one instruction costs. The form of `fma.rn.f32 %f1, %f2, 0f3F800000, %f3;` is "fma.rn.f32 imm"
 * (target.h). */
const char *price_form(WbbArena *a, const char *text);
const TgPrice *price_of(WbbArena *a, const TgTarget *t, const char *form); /* NULL: no price */

/* report.c */
typedef enum {
    PRICE_DRAM, PRICE_L2, PRICE_BLOCKS, PRICE_ATOMICS, PRICE_CONTENDED, /* of the GPU; what follows is of each SM */
    PRICE_FILL, PRICE_WAVEFRONTS, PRICE_ISSUE, PRICE_CHAIN, PRICE_PIPE /* the first of TG_PIPES */
} PriceKind;
enum { PRICE_TERMS = PRICE_PIPE + TG_PIPES };

typedef struct {
    const char *name;   /* "dram", "pipe.fma" */
    const char *unit;   /* of `amount` and, a second, of `rate` */
    double amount, rate; /* of the whole GPU, as far as the launch has blocks for its SMs */
    double seconds;
    double by_ptx;       /* seconds by the prices of PTX, where `seconds` are by those of the machine code; else 0 */
} PriceTerm;

/* Registers that ptxas keeps in local memory, as the machine code says. */
typedef struct {
    double thread;         /* bytes of a thread */
    double stored, loaded; /* bytes, by all threads */
    double l2, dram;       /* of them those that go to L2, and to DRAM */
} PriceSpilled;

/* An instruction. */
typedef struct {
    const SimSite *site;
    const char *form;
    const TgPrice *price;       /* NULL: none, it counts as one issue slot */
    double executed;            /* warps, of the whole grid */
    double amount[PRICE_TERMS];
    double seconds;             /* its part of PriceReport.work */
} PriceSite;

typedef struct {
    double seconds;             /* the sum of the next six */
    double launch, latency, code, work, tail, clusters;
    PriceTerm term[PRICE_TERMS];
    PriceKind binds;
    PriceOccupancy occupancy;
    uint32_t regs;              /* PriceKernel.regs */
    double scale;               /* blocks of the grid for each that ran */
    double executed, unpriced;  /* warp instructions; those without a price */
    double machine_unpriced;    /* of machine code: executed warp instructions whose pipe is not known */
    uint32_t machine_operation; /* the last one of those in the text */
    double lanes;               /* lanes at work, of 32 */
    double distinct, again;     /* bytes of DRAM: of different sectors; loaded again after L2 lost them */
    double parts;               /* the same of stores of parts of sectors, beside those of the sectors */
    PriceSpilled spilled;
    const char *text;           /* the PTX */
    PriceSite *sites;
    uint32_t n_sites;
} PriceReport;

/* Fills what the simulator asks for in a profile. The kernel must live as long as the profile. */
void price_ask(WbbArena *a, const PriceKernel *k, SimProfile *p);
PriceReport price_report(WbbArena *a, const PriceKernel *k, const SimProfile *p);

/* share.c: the time of a kernel by line of PTX, rule, HLO instruction or form. Comments of the PTX name the rule and
 * the HLO instruction of a line: `// patterns/tiles.py:9 add.bf16x2 <- %sum`. */
typedef enum { PRICE_BY_LINE, PRICE_BY_RULE, PRICE_BY_HLO, PRICE_BY_FORM, PRICE_KEYS } PriceKey;
extern const char *const price_key_name[PRICE_KEYS]; /* "line", "rule", "instruction", "form" */
typedef struct {
    const char *name;  /* of a line its text without comment, of what no comment names "-" */
    const char *what;  /* of a line its comment; else NULL */
    int line;          /* of a line, else 0 */
    double executed;   /* warp instructions */
    double seconds, share; /* of PriceReport.work */
    const PriceSite *site; /* of a line: its first instruction */
} PriceShare;
/* Largest first; of a line: in the order of the text. Returns their number. */
uint32_t price_shares(WbbArena *a, const PriceReport *r, PriceKey key, PriceShare **out);

#endif

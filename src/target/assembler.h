/* assembler.h: what the files that find and run an assembler share. */
#ifndef TG_ASSEMBLER_H
#define TG_ASSEMBLER_H

#include "target/target.h"

typedef struct {
    const char *ptx, *arch; /* text; "sm_90" */
    bool lines, verbose;    /* -lineinfo; -v: the log has registers and spills */
    uint32_t seconds;       /* that it may take; 0: TG_PTXAS_SECONDS */
} TgText;

typedef struct {
    TgCubin cubin;       /* without bytes where it was refused, ended, or `missing` says why */
    const char *log;     /* what the assembler printed */
    const char *ended;   /* "was ended by signal 11", "did not end in 300 seconds"; NULL: it came to its end */
    const char *by;      /* "ptxas" */
} TgAssembly;

enum { TG_PTXAS_SECONDS = 300 }; /* more than it takes for a batch of kernels */

/* assembler.c */
const char *tg_on_path(WbbArena *a, const char *name); /* the first file of that name on PATH; NULL: none */
/* ptxas.c: by whatever $WARPBURG_PTXAS names or is found. Fails only where files or memory do. */
TgAssembly tg_run_assembler(WbbCx *cx, WbbArena *a, const TgText *text);
/* inside.c: by a library in this process. */
TgAssembly tg_assemble_inside(WbbCx *cx, WbbArena *a, const TgAssembler *with, const TgText *text);
/* "13.0"; NULL: it cannot be loaded, and *why says what the loader says, where `why` is not NULL. */
const char *tg_library_version(WbbArena *a, const TgAssembler *x, const char **why);

#endif

/* saved.h: kernels and programs in folders, with all that they were compiled by. */
#ifndef API_SAVED_H
#define API_SAVED_H

#include "api/program.h"

/* Writes the folder of a kernel, or beside the folders of a program's kernels its own file. */
void wb_saved_write(WbbCx *cx, const wb_kernel *k, const char *folder);
void wb_saved_write_program(WbbCx *cx, const wb_program *p, const char *folder);
/* The kernel of a folder, as it was compiled; `tools`: store and caches for what it may still be asked. A wbb_fail
 * names the file that is damaged, and the version that saved it if that is another one. */
wb_kernel *wb_saved_read(WbbCx *cx, WbbArena *a, const PipeOptions *tools, const char *folder);
typedef struct {
    PipeOptions options;    /* of its kernels */
    const BdJson *left_out; /* why kernels were declined, by file */
} WbSavedProgram;
/* Of a program, once its files are found to be those that were saved. */
WbSavedProgram wb_saved_open_program(WbbCx *cx, WbbArena *a, const PipeOptions *tools, const char *folder);
/* Why the kernel of this text was declined; WHY_NONE: it was not. */
WbbWhy wb_saved_left_out(const WbSavedProgram *p, const char *file);

#endif

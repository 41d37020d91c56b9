/* sim_kernel.h: a kernel of one body for tests of the simulator. */
#ifndef UNIT_SIM_KERNEL_H
#define UNIT_SIM_KERNEL_H

#include "base/base.h"

/* Kernel k of two pointers, %rd1 and %rd2, with the thread's number in %r1, shared memory s and local memory l. */
static inline const char *sim_kernel_text(WbbArena *a, const char *body)
{
    return wbb_format(a,
                      ".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg .pred %%p<8>;\n"
                      ".reg .b32 %%r<16>;\n.reg .f32 %%f<8>;\n.reg .b64 %%rd<16>;\n.shared .align 16 .b8 s[8192];\n"
                      ".local .align 16 .b8 l[16];\n"
                      "ld.param.u64 %%rd1, [a];\nld.param.u64 %%rd2, [b];\nmov.u32 %%r1, %%tid.x;\n%s\nret;\n}\n",
                      body);
}

#endif

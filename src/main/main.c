/* main.c: warpburg, the whole compiler. */
#include "main/main.h"

static const Command *const commands[] = {&main_compile, &main_run, &main_eval, &main_hlo,   &main_fuse,
                                          &main_map,     &main_ir,  &main_rules, &main_stats, NULL};

static const Example variables[] = {
    {"WARPBURG_PTXAS", "the ptxas that assembles PTX, instead of the one on PATH or in /usr/local/cuda/bin"},
    {"WARPBURG_LIBDEVICE", "the libdevice that functions are linked from, instead of that of the CUDA toolkit"},
    {"WARPBURG_LIBCUDA", "the CUDA driver that `run --on gpu` loads, instead of libcuda.so.1"},
    {0}};

static const Program program = {
    .name = "warpburg",
    .summary = "compile HLO fusions to GPU kernels by proved rules",
    .details = "Reads fusions as HLO text, plans a kernel, rewrites its arithmetic by the rules of the target and "
               "prints PTX. Runs kernels in a simulator and judges every element they store by the meaning of the HLO "
               "text; no GPU is needed.",
    .commands = commands,
    .variables = variables,
    .see = "warpburg\\-run",
};

int main(int argc, char **argv) { return main_dispatch(&program, argc, argv); }

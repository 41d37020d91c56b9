/* run_main.c: warpburg-run, what a machine needs that only runs bundles: no LLVM, no rules. */
#include "main/main.h"

static const Command *const commands[] = {&main_run_bundle, &main_eval, NULL};

static const Example variables[] = {
    {"WARPBURG_LIBCUDA", "the CUDA driver that `run --on gpu` loads, instead of libcuda.so.1"}, {0}};

static const Program program = {
    .name = "warpburg-run",
    .summary = "run and judge GPU kernels that warpburg compiled",
    .details = "The part of warpburg that needs no compiler: the simulator of PTX and the evaluator of HLO text.",
    .commands = commands,
    .variables = variables,
    .see = "warpburg",
};

int main(int argc, char **argv) { return main_dispatch(&program, argc, argv); }

/* run_main.c: warpburg-run, what a machine needs that only runs bundles: no LLVM, no rules. */
#include "main/main.h"
#include "main/program.h"

static WbbStatus run_file(const Call *call)
{
    const RunOptions *o = call->options;
    return !o->ptx && prog_is_folder(o->file) ? main_run_compiled_program(call) : main_run_without_compiling(call);
}

static WbbStatus run(const Call *call) { return main_run_each(call, run_file); }

static const Positional positionals[] = {
    {SEVERAL("BUNDLE", RunOptions, files,
             "folder that `compile -o` wrote, or one of such folders; with --ptx the HLO text of a fusion"),
     .value = VALUE_FILE},
    {0}};
static const Example examples[] = {
    {"run out --check --case e", "run a bundle on edge values and judge every element"},
    {"run gelu.hlo --ptx theirs.ptx --grid 512 --block 128 --check", "the same for PTX of another compiler"},
    {0}};
const Command main_run_bundle = {
    .name = "run",
    .summary = "run a bundle in the simulator or on a GPU, and judge what it computes",
    .details = "A folder with a program.json is a program: its kernels and library calls run one after the other.",
    .positionals = positionals,
    .options = main_run_table,
    .examples = examples,
    .declined = "the evaluator declines the HLO text",
    .check = "a fault, an element outside the bounds, or a GPU that differs from the simulator",
    .size = sizeof(RunOptions),
    .run = run,
};

static const Command *const commands[] = {&main_run_bundle, &main_eval, &main_batch, NULL};

static const Example variables[] = {
    {"WARPBURG_LIBCUDA", "the CUDA driver that `run --on gpu` loads, instead of libcuda.so.1"},
    {"WARPBURG_LIBCUBLAS", "the cuBLAS that it loads, instead of the system's; with WARPBURG_LIBCUDA the only one"},
    {"WARPBURG_LIBCUBLASLT", "the same of cuBLASLt"},
    {0}};

static const Program program = {
    .name = "warpburg-run",
    .summary = "run and judge GPU kernels that warpburg compiled",
    .details = "The part of warpburg that needs no compiler: the simulator of PTX and the evaluator of HLO text.",
    .commands = commands,
    .variables = variables,
    .see = "warpburg",
};

int main(int argc, char **argv) { return main_dispatch(&program, argc, argv); }

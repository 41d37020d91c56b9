/* main.c: warpburg, the whole compiler: its commands, and the tools of `rules`. */
#include "main/rules.h"

#include "target/target.h"

static const Command *const tools[] = {
    &main_rules_test,   &main_rules_list, &main_rules_trace, &main_rules_why,    &main_rules_cover,
    &main_rules_ablate, &main_rules_diff, &main_rules_size,  &main_rules_budget, &main_rules_new_target, NULL};

static const Command rules = {
    .name = "rules",
    .summary = "look at the rules: what they do, where they fire, what they are worth",
    .details = "A rule is named by its line, patterns/arith.py:29[neg.F]; arith.py:29 means every rule of that line. "
               "patterns/README.md describes how to write one.",
    .tools = tools,
};

static const Command *const commands[] = {&main_compile, &main_run, &main_eval, &main_hlo,   &main_fuse,
                                          &main_map,     &main_graph, &main_ir,  &rules,     &main_stats, &main_batch,
                                          &main_cache, &main_assembler, &main_explore, NULL};

static const Example variables[] = {
    {"WARPBURG_PTXAS", "what assembles PTX, instead of what is found: a ptxas, a libnvptxcompiler.so or libnvJitLink.so, "
                       "or one of the words ptxas, nvptxcompiler, nvjitlink"},
    {"WARPBURG_NVIDIA", "folders site-packages/nvidia with ptxas and libdevice, with colons between, beside those of "
                        "$VIRTUAL_ENV and $CONDA_PREFIX"},
    {"WARPBURG_CACHE", "the folder of the cache, instead of ~/.cache/warpburg; off: there is none"},
    {"WARPBURG_CACHE_LIMIT", "how many MiB the cache may have, instead of 1024"},
    {"WARPBURG_LIBDEVICE", "the libdevice that functions are linked from, instead of that of the CUDA toolkit"},
    {"WARPBURG_LIBCUDA", "the CUDA driver that `run --on gpu` loads, instead of libcuda.so.1"},
    {"WARPBURG_LIBCUBLAS", "the cuBLAS that it loads, instead of the system's; with WARPBURG_LIBCUDA the only one"},
    {"WARPBURG_LIBCUBLASLT", "the same of cuBLASLt"},
    {0}};

static const Option options[] = {
    {.name = "--tables",
     .kind = OPTION_WORD,
     .argument = "FILE",
     .text = "before a command: use the rules and numbers of this file, which gen/gen_tables.py wrote, not the built-in ones",
     .value = VALUE_FILE},
    {0}};

static const void *use_tables(WbbCx *cx, WbbArena *a, const char *path, const void *tables)
{
    return tg_use_tables(path ? tg_read_tables(cx, a, path) : tables);
}

static const Program program = {
    .name = "warpburg",
    .summary = "compile HLO fusions to GPU kernels by proved rules",
    .details = "Reads fusions as HLO text, plans a kernel, rewrites its arithmetic by the rules of the target and "
               "prints PTX. Runs kernels in a simulator and judges every element they store by the meaning of the HLO "
               "text; no GPU is needed.",
    .commands = commands,
    .variables = variables,
    .options = options,
    .use_tables = use_tables,
    .see = "warpburg\\-run",
};

int main(int argc, char **argv) { return main_dispatch(&program, argc, argv); }

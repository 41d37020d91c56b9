/* run_main.c: warpburg-run, what a machine needs that only runs bundles: no LLVM, no rules. */
#include "main/main.h"

static const Command commands[] = {
    {"run", "BUNDLE [--on sim|gpu [--repeat N]] [--check [--approx]] [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--blocks N] [--order SEED] [--ulp-noise] [--counts] [-j THREADS] [--time] [--json]",
     main_run_bundle},
    {"eval", "FILE.hlo [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--f64 | --bounds [--approx] [--perturb N]] [--at POSITIONS.npy]", main_eval},
};

int main(int argc, char **argv) { return main_dispatch("warpburg-run", commands, WBB_LEN(commands), argc, argv); }

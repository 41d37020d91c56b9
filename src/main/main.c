/* main.c: warpburg, the whole compiler. */
#include "main/main.h"

static const Command commands[] = {
    {"compile", "FILE.hlo.. [--target T] [--emit hlo|maps|plan|ir|llvm|ptx|cubin|json] [-o DIR] [--approx] [--align N] [--lines] "
                "[--print-after PASS|all] [--trace] [--explain] [--bijection] [--time] [--json] [--disable RULE]..", main_compile},
    {"run", "FILE.hlo|BUNDLE [--target T] [--on sim|gpu [--repeat N]] [--ptx FILE --grid X,Y,Z --block X,Y,Z [--shared N] [--padding N]] "
            "[--check] [--approx] [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--blocks N] "
            "[--order SEED] [--ulp-noise] [--counts] [-j THREADS] [--time] [--json]", main_run},
    {"eval", "FILE.hlo [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--f64 | --bounds [--approx] [--perturb N]] [--at POSITIONS.npy]", main_eval},
    {"hlo", "FILE.hlo [--pass NAME | --normalise | --time]", main_hlo},
    {"fuse", "FILE.hlo [-o DIR]", main_fuse},
    {"map", "'TEXT' [--op NAME | --compose 'TEXT' | --inverse | --bijection | --enumerate | --check] [--samples N] [--seed N] [--json]; "
            "--files-from FILE [--op NAME] [--json]; --hlo FILE.hlo [--uses] [--physical] [--from NAME --to NAME] [--json]", main_map},
    {"ir", "FILE.ir.. [--pass PASS | [--from PASS] [--emit llvm|ptx|cubin] [-o DIR] [--check [--samples N] [--seed N] [--err E] [--ulp-noise]]] "
           "[--target T] [--approx] [--trace] [--json] [--disable RULE]..; PASS: simplify|lower|vectorize|width|isel", main_ir},
    {"stats", "FILES.. [--files-from LIST] [--target T].. [-j N] [-o STATS.jsonl] [--cache DIR [--cache-limit MIB]] [--listing] [--approx] [--align N] "
              "[--disable RULE]..", main_stats},
    {"rules", "test|list|trace|why|cover|ablate|diff|size|budget|new-target .. (rules --help says more)", main_rules},
};

int main(int argc, char **argv) { return main_dispatch("warpburg", commands, WBB_LEN(commands), argc, argv); }

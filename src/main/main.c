/* main.c: warpburg, the whole compiler. */
#include "main/main.h"

static const Command commands[] = {
    {"compile", "FILE.hlo.. [--target T] [--emit hlo|maps|plan|ir|llvm|ptx|cubin|json] [-o DIR] [--approx] [--align N] [--lines] "
                "[--print-after PASS|all] [--trace] [--explain] [--time] [--json] [--disable RULE]..", main_compile},
    {"run", "FILE.hlo|BUNDLE [--target T] [--check] [--approx] [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--blocks N] "
            "[--order SEED] [--ulp-noise] [--counts] [--time] [--json]", main_run},
    {"eval", "FILE.hlo [--input F.npy].. [-o DIR] [--seed N --case e|n|p] [--f64 | --bounds [--approx]] [--at POSITIONS.npy]", main_eval},
    {"ir", "FILE.ir [--pass simplify|lower|vectorize|width|select] [--target T] [--trace]", main_ir},
    {"rules", "list|trace FILE.hlo [--target T] [--json]", main_rules},
};

int main(int argc, char **argv) { return main_dispatch("warpburg", commands, WBB_LEN(commands), argc, argv); }

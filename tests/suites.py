"""The suites that are programs of their own, by folder, and which modules they test. tests/README.md describes each."""
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent / "common"))
from warpburg_cli import TARGETS  # noqa: E402

EVERY_TARGET = "--targets " + ",".join(TARGETS)


class Row(NamedTuple):
    """A suite. In the command {wb} and {run} are the executables, {build} their folder, {shared} the shared data."""
    name: str
    command: str     # of Python
    short: str = ""  # further options of a plain run
    full: str = ""   # of one with --all


# What else a change in a module calls for, beside its tests in lit/ and unit/. Modules are folders of src/, and folders of the tree.
MODULES: Dict[str, Tuple[str, ...]] = {
    "patterns": ("rules", "lit/rewrite", "lit/rules", "unit/rewrite"),
    "gen": ("gen", "rules"),
    "rewrite": ("rules",), "scalar": ("functions", "eval", "lit/eval"), "target": ("rules",),
    "hlo": ("hlo", "lit/normalise"), "index": ("index", "lit/map"), "graph": ("index", "rules", "tree", "lit/normalise"),
    "eval": ("eval",), "sim": ("sim",), "price": ("sim", "lit/price"), "bundle": ("programs",),
    "layout": ("kernels", "lit/plan"), "plan": ("kernels",), "emit": ("kernels",), "vector": ("kernels",), "llvm": ("kernels",), "ptx": ("kernels",),
    "judge": ("eval", "sim", "kernels"), "pipe": ("kernels", "lit/main"), "report": ("sim", "shaderdb", "lit/main"),
    "fuse": ("programs",), "program": ("programs",), "gpu": ("gpu",), "api": ("doors",), "main": ("tree",),
    "include": ("doors", "unit/api"), "python": ("doors",), "examples": ("doors",), "shaderdb": ("shaderdb",), "docs": ("tree",),
}

SUITES: Dict[str, List[Row]] = {
    "gen": [
        Row("rule_mutants", "-m gen.mutation.mutate", "--sample 40"),
        Row("rule_mutants_record", "-m gen.mutation.mutate", "--again 100003", "--again 997"),
        Row("rule_corpus", "tests/gen/rule_corpus.py", "--sample 10"),
        Row("tile_rules", "tests/gen/tile_rules.py {build}"),
        Row("instruction_mutants", "tests/gen/instruction_mutants.py {build}"),
        Row("tables_file", "tests/gen/tables_file.py {build}", "", "--damages 2000"),
        Row("random_rules", "tests/fuzz/random_rules.py", "200", "3000"),
    ],
    "rules": [
        Row("rule_proofs", "-m gen.proof.rule --check --build {build}", "--every 8", "--fresh"),
        Row("instruction_rules", "-m gen.proof.simulate --warpburg {wb}", "", "--every"),
        Row("instruction_texts", "-m gen.proof.simulate --warpburg {wb} --backend ptx", "--target sm90", "--every"),
        Row("rewrite_matcher", "tests/rules/rewrite_matcher.py {build}", "", "--terms 1000000"),
        Row("target_facts", "tests/rules/target_facts.py {wb}", "", "--all"),
        Row("ptxas_faults", "tests/rules/ptxas_faults.py {wb}"),
        Row("assemblers", "tests/rules/assemblers.py {wb} --folder {build}/assemblers --shared {shared}", "", "--install"),
        Row("roundings", "-m gen.proof.roundings", "--target sm_100 --target sm_120"),
        Row("prices", "tests/rules/prices.py {wb}", "--every 20", "--every 1"),
        Row("random_terms", "tests/fuzz/random_terms.py {wb}", "60", "2000"),
        Row("random_folds", "tests/fuzz/random_folds.py {wb}", "60", "4000"),
    ],
    "hlo": [
        Row("hlo_round_trip", "tests/hlo/hlo_round_trip.py {wb} --shared {shared}", "", "--all"),
        Row("proto_modules", "tests/hlo/proto_modules.py {wb} {build}", "", "--flips 20000"),
        Row("hlo_features", "tests/hlo/hlo_features.py {wb}"),
        Row("hlo_normalise", "tests/hlo/hlo_normalise.py {wb} --shared {shared}", "", "--all"),
        Row("degenerate_shapes", "tests/hlo/degenerate_shapes.py {wb}", "", EVERY_TARGET),
    ],
    "index": [
        Row("index_operand_maps", "tests/index/index_operand_maps.py {wb} --shared {shared}", "", "--every 4"),
        Row("index_map_algebra", "tests/index/index_map_algebra.py {wb} --shared {shared}", "--random 2000", "--random 100000"),
        Row("graph_values", "tests/index/graph_values.py {build} --shared {shared}", "--every 12", "--every 1"),
        Row("simplifier_rewrites", "tests/index/simplifier_rewrites.py {wb}"),
        Row("graph_size", "tests/index/graph_size.py {wb}"),
        Row("graph_text", "tests/index/graph_text.py {wb} --shared {shared}", "--every 40", "--damages 3000"),
        Row("index_map_op_counts", "tests/index/index_map_op_counts.py {wb} --shared {shared}", "--every 40", "--all"),
    ],
    "eval": [
        Row("eval_golden", "tests/eval/eval_golden.py {wb} --shared {shared}", "--every 20"),
        Row("eval_bounds", "tests/eval/eval_bounds.py {wb} --shared {shared}", "--every 60 --random 60", "--every 10 --tightness"),
        Row("shared_cases", "tests/eval/shared_cases.py {wb} --shared {shared}"),
        Row("judged_reductions", "tests/eval/judged_reductions.py {wb} --shared {shared}", "--every 60"),
    ],
    "functions": [
        Row("libdevice_errors", "tests/functions/libdevice_errors.py {build}/tests/libdevice_errors --sample"),
        Row("function_errors", "-m gen.proof.measure --check --build {build}", "--sample 24", "--every"),
        Row("functions_page", "tests/functions/functions_page.py"),
        Row("formula_errors", "tests/functions/formula_errors.py {wb} --shared {shared}"),
        Row("significands", "tests/functions/significands.py", "--step 16"),
        Row("function_values", "tests/functions/function_values.py {wb}", "--count 40 --targets sm_90", "--count 1000"),
        Row("complex_values", "tests/functions/complex_values.py {wb}", "--targets sm_90", EVERY_TARGET),
        Row("without_libdevice", "tests/functions/without_libdevice.py {wb}", "--targets sm_90", "--all"),
    ],
    "sim": [
        Row("seeded_faults", "tests/sim/seeded_faults.py {run}"),
        Row("race_pairs", "tests/sim/race_pairs.py {run}"),
        Row("ticket_sum", "tests/sim/ticket_sum.py {run}"),
        Row("nvcc_kernels", "tests/sim/nvcc_kernels.py {run}"),
        Row("sim_threads", "tests/sim/sim_threads.py {run}"),
        Row("sim_instructions", "tests/sim/sim_instructions.py {run}", "--every 4 --count 128"),
        Row("xla_kernels", "tests/sim/xla_kernels.py {run} --shared {shared}", "--most 16384 --every 40", "--most 65536 --every 10"),
        Row("profile", "tests/sim/profile.py {wb} --shared {shared}", "--every 300", "--every 20"),
        Row("profile_page", "tests/sim/profile_page.py {wb}"),
        Row("kernel_mutants", "tests/sim/kernel_mutants.py {wb} {run} --shared {shared}", "--kernels 30 --mutants 6 --seeds 200", "--kernels 200 --mutants 10"),
    ],
    "kernels": [
        Row("layouts", "tests/kernels/layouts.py {wb}", "", "--count 60"),
        Row("strategies_left_out", "tests/kernels/strategies_left_out.py {wb}", "", "--programs 200 --subsets 200"),
        Row("shared_reductions", "tests/kernels/shared_reductions.py {wb}", "--every 16", "--count 30 --every 3"),
        Row("random_reductions", "tests/fuzz/random_reductions.py {wb} {run}", "50", "5000"),
        Row("random_chains", "tests/fuzz/random_chains.py {wb}", "", "2000"),
        Row("row_merges", "tests/kernels/row_merges.py {wb}"),
        Row("row_texts", "tests/kernels/row_texts.py {wb}", "--pairs 1", "--pairs 0"),
        Row("corpus_rows", "tests/kernels/corpus_rows.py {wb} --shared {shared}", "--every 16", "--pairs 0 --launches"),
        Row("corpus_reductions", "tests/kernels/corpus_reductions.py {wb} --shared {shared}", "--parts emitter-tests,fusions --every 24", "--pairs 2"),
        Row("random_transposes", "tests/fuzz/random_transposes.py {wb} {run}", "60", "3000"),
        Row("tile_wavefronts", "tests/kernels/tile_wavefronts.py {wb}"),
        Row("scan_mutants", "tests/kernels/scan_mutants.py {wb}"),
        Row("random_steps", "tests/fuzz/random_steps.py {wb}", "20", "1000"),
        Row("random_scans", "tests/fuzz/random_scans.py {wb}", "35", "2000"),
        Row("random_sorts", "tests/fuzz/random_sorts.py {wb}", "35", "2000"),
        Row("first_of_sorts", "tests/kernels/first_of_sorts.py {wb}"),
        Row("random_scatters", "tests/fuzz/random_scatters.py {wb} {run}", "35", "1000"),
        Row("shared_reduction_mutants", "tests/kernels/shared_reduction_mutants.py {wb}"),
        Row("exchange_mutants", "tests/kernels/exchange_mutants.py {wb}", "--every 24"),
        Row("product_mutants", "tests/kernels/product_mutants.py {wb}", "--every 24"),
        Row("attention_mutants", "tests/kernels/attention_mutants.py {wb}", "--every 12"),
        Row("scatter_mutants", "tests/kernels/scatter_mutants.py {wb}", "--every 3"),
        Row("compile_growth", "tests/kernels/compile_growth.py {wb}"),
        Row("compile_depth", "tests/kernels/compile_depth.py {wb}", "", "--all"),
        Row("backends", "tests/kernels/backends.py {wb} --shared {shared}", "--count 80 --random 60", "--every 1 --targets all --random 10000"),
        Row("no_llvm", "tests/kernels/no_llvm.py {build}"),
        Row("two_compilers", "tests/kernels/two_compilers.py {wb} --shared {shared}", "", "--make --every 2"),
        Row("element_types", "tests/kernels/element_types.py {wb}", "", "--all"),
        Row("ml_dtypes_values", "tests/kernels/ml_dtypes_values.py {wb}"),
        Row("random_fusions", "tests/fuzz/random_fusions.py {wb}", "60", "10000"),
        Row("random_assumed", "tests/fuzz/random_assumed.py {wb}", "120", "10000"),
        Row("random_loops", "tests/fuzz/random_loops.py {wb}", "60", "3000"),
        Row("random_windows", "tests/fuzz/random_windows.py {wb}", "40", "2000"),
        Row("random_products", "tests/fuzz/random_products.py {wb}", "60", "2000"),
        Row("random_dots", "tests/fuzz/random_dots.py {wb}", "60", "5000"),
        Row("random_rows", "tests/fuzz/random_rows.py {wb}", "40", "2000"),
        Row("random_attention", "tests/fuzz/random_attention.py {wb}", "40", "3000"),
        Row("corpus_loops", "tests/kernels/corpus_loops.py {wb} --shared {shared}", "", "--all"),
        Row("chain_mutants", "tests/kernels/chain_mutants.py {wb}", "", "--all"),
        Row("corpus_outcomes", "tests/kernels/corpus_outcomes.py {wb} --shared {shared}",
            "--every 80", EVERY_TARGET),
    ],
    "programs": [
        Row("bundles", "tests/programs/bundles.py {run} {build}/tests/libfake_cuda_driver.so"),
        Row("random_programs", "tests/fuzz/random_programs.py {wb}", "40", "2000"),
        Row("edges", "tests/programs/edges.py {wb}", "8", "200"),
        Row("stated_plans", "tests/programs/stated_plans.py {wb}", "24", "1000"),
        Row("legality_mutants", "tests/programs/legality_mutants.py {build}", "--every 4", "--every 1"),
        Row("step_order", "tests/programs/step_order.py {wb}", "--every 40", "--all"),
        Row("programs", "tests/programs/programs.py {wb} {run} {build}/tests/program_fuzz --shared {shared}", "--every 20 --every-variant 20"),
    ],
    "doors": [
        Row("cache", "tests/doors/cache.py {wb}"),
        Row("library", "tests/doors/library.py {build}", "", "--compiles 1000"),
        Row("python_package", "tests/doors/python_package.py {build}", "", "--wheel"),
        Row("python_types", "tests/doors/python_types.py"),
        Row("float_environment", "tests/doors/float_environment.py {build}"),
        Row("jax_door", "tests/doors/jax_door.py {build}", "", "--ends"),
        Row("jax_harnesses", "tests/doors/jax_harnesses.py {wb} {build}", "", "--every 1"),
    ],
    "gpu": [
        Row("gpu_package", "tests/gpu/gpu_package.py {wb} {run} {build}/tests/libfake_cuda_driver.so"),
        Row("rates_package", "tests/gpu/rates_package.py {build}/tests/libfake_rates_driver.so"),
        Row("doors_package", "tests/gpu/doors_package.py {build}"),
    ],
    "tree": [
        Row("processes", "tests/tree/processes.py {wb} {run}"),
        Row("kernel_page", "tests/tree/kernel_page.py {wb}"),
        Row("first_hour", "tests/tree/first_hour.py {build}"),
        Row("command_line", "tests/tree/command_line.py {wb} {run}"),
        Row("graph_page", "tests/tree/graph_page.py {wb}"),
        Row("json_schemas", "tests/tree/json_schemas.py {wb}"),
        Row("terminal", "tests/tree/terminal.py {wb}"),
    ],
    "shaderdb": [
        Row("shaderdb", "tests/shaderdb/all.py", "", "--all"),
    ],
}

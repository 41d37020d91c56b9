"""The texts of hlo_features.py: for each row of src/hlo/features.def a module with a hole, and what fills it."""
from __future__ import annotations

from typing import List, NamedTuple, Tuple


class Case(NamedTuple):
    where: str
    name: str
    module: str  # @ is the hole
    values: Tuple[str, ...]
    account: str = ""  # instead of the row's

    def text(self, value: str) -> str:
        """The module with `, name=value` in the hole; of a layout or a shape the value alone."""
        plain = self.where in ("LAYOUT", "SHAPE") or not value
        return self.module.replace("@", value if plain else f", {self.name}={value}")


SCALARS = """add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }
max { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] maximum(a, b) }
ge { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = pred[] compare(a, b), direction=GE }
le { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = pred[] compare(a, b), direction=LE }
neg { a = f32[] parameter(0)
 ROOT s = f32[] negate(a) }
exp { a = f32[] parameter(0)
 ROOT s = f32[] exponential(a) }
small { a = f32[] parameter(0)
 c = f32[] constant(9)
 ROOT s = pred[] compare(a, c), direction=LT }
less { a = f32[] parameter(0)
 c = f32[] constant(3)
 ROOT s = pred[] compare(a, c), direction=LT }
one { a = f32[] parameter(0)
 c = f32[] constant(1)
 ROOT s = f32[] add(a, c) }
two { a = f32[] parameter(0)
 c = f32[] constant(2)
 ROOT s = f32[] add(a, c) }
"""


def entry(*lines: str, head: str = "") -> str:
    return f"HloModule m{head}\n{SCALARS}ENTRY e {{\n " + "\n ".join(lines) + "\n}\n"


VECTOR = "x = f32[8] parameter(0)"
GATHER = ["x = f32[4,6,2] parameter(0)", "i = s32[4,3,1] parameter(1)",
          "ROOT g = gather(x, i), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
          "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,2}"]
SCATTER = ["x = f32[4,6,2] parameter(0)", "i = s32[4,3,1] parameter(1)", "u = f32[4,3,2] parameter(2)",
           "ROOT g = f32[4,6,2] scatter(x, i, u), update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
           "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add"]
DOT = ["x = f32[2,3,3] parameter(0)", "y = f32[2,3,3] parameter(1)",
       "ROOT d = f32[2,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}@"]
CONV = ["x = f32[2,5,5,4] parameter(0)", "k = f32[3,3,4,4] parameter(1)",
        "ROOT c = f32[2,3,3,4] convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f@"]
NORM = ["x = f32[4,3,3] parameter(0)", "s = f32[3] parameter(1)", "o = f32[3] parameter(2)",
        "ROOT n = (f32[4,3,3], f32[3], f32[3]) batch-norm-training(x, s, o)@"]


def hole(lines: List[str], name: str) -> str:
    """The module of these lines, with a hole for one of the attributes that they have."""
    at = lines[-1].index(f", {name}=")
    end, depth = at + 2, 0
    while end < len(lines[-1]) and (depth or lines[-1][end] not in ",@"):
        depth += (lines[-1][end] == "{") - (lines[-1][end] == "}")
        end += 1
    return entry(*lines[:-1], lines[-1][:at] + "@" + lines[-1][end:].replace("@", ""))


def honoured(name: str, module: str, *values: str) -> Case:
    return Case("ATTRIBUTE", name, module, values)


def of_operation(name: str, value: str, *lines: str) -> Case:
    return Case("ATTRIBUTE", name, entry(*lines), (value,))


SELECT = ["x = f32[8] parameter(0)", "s = f32[4] parameter(1)", "z = f32[] constant(0)"]
COND = ["p = pred[] constant(true)", "a = f32[] constant(1)", "b = f32[] constant(2)"]
HONOURED = [
    honoured("dimensions", entry("x = f32[2] parameter(0)", "ROOT b = f32[2,2] broadcast(x)@"), "{0}", "{1}"),
    honoured("iota_dimension", entry("ROOT i = f32[2,2] iota()@"), "0", "1"),
    honoured("index", entry(VECTOR, "n = f32[8] negate(x)", "t = tuple(x, n)", "ROOT g = f32[8] get-tuple-element(t)@"), "0", "1"),
    honoured("exponent_bits", entry("x = f32[] constant(1e9)", "ROOT r = f32[] reduce-precision(x), mantissa_bits=4@"), "8", "4"),
    honoured("mantissa_bits", entry("x = f32[] constant(1.7)", "ROOT r = f32[] reduce-precision(x), exponent_bits=8@"), "1", "7"),
    honoured("direction", entry(VECTOR, "z = f32[8] negate(x)", "ROOT c = pred[8] compare(x, z)@"), "LT", "GT"),
    honoured("type", entry("x = f32[] constant(-0)", "y = f32[] constant(0)", "ROOT c = pred[] compare(x, y), direction=LT@"), "FLOAT", "TOTALORDER"),
    honoured("order", entry("x = f32[] constant(-0)", "y = f32[] constant(0)", "ROOT c = pred[] compare(x, y), direction=LT@"), "PARTIAL", "TOTAL"),
    honoured("slice", entry(VECTOR, "ROOT s = f32[2] slice(x)@"), "{[0:2]}", "{[2:4]}"),
    honoured("padding", entry(VECTOR, "z = f32[] constant(0)", "ROOT s = f32[9] pad(x, z)@"), "1_0", "0_1"),
    honoured("window", entry(VECTOR, "z = f32[] constant(0)", "ROOT s = f32[8] reduce-window(x, z), to_apply=add@"), "{size=2 pad=1_0}", "{size=2 pad=0_1}"),
    honoured("custom_call_target", entry(VECTOR, "ROOT s = f32[8] custom-call(x)@"), '"Sharding"', '"other"'),
    honoured("to_apply", entry(VECTOR, "z = f32[] constant(0)", "ROOT s = f32[] reduce(x, z), dimensions={0}@"), "add", "max"),
    honoured("calls", entry("x = f32[] parameter(0)", "ROOT s = f32[] fusion(x), kind=kLoop@"), "neg", "exp"),
    honoured("called_computations", entry(VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'), "{add}", "{missing}"),
    honoured("body", entry("x = f32[] constant(0)", "ROOT w = f32[] while(x), condition=small@"), "one", "two"),
    honoured("condition", entry("x = f32[] constant(0)", "ROOT w = f32[] while(x), body=one@"), "small", "less"),
    honoured("true_computation", entry(*COND, "ROOT c = f32[] conditional(p, a, b), false_computation=exp@"), "neg", "exp"),
    honoured("false_computation", entry(COND[0].replace("true", "false"), *COND[1:],
                                        "ROOT c = f32[] conditional(p, a, b), true_computation=neg@"), "neg", "exp"),
    honoured("branch_computations", entry("p = s32[] constant(1)", *COND[1:], "ROOT c = f32[] conditional(p, a, b)@"), "{neg, exp}", "{exp, neg}"),
    honoured("select", entry(*SELECT, "ROOT c = f32[8] select-and-scatter(x, s, z), window={size=2 stride=2}, scatter=add@"), "ge", "le"),
    honoured("scatter", entry(SELECT[0], "s = f32[7] parameter(1)", SELECT[2],
                              "ROOT c = f32[8] select-and-scatter(x, s, z), window={size=2}, select=ge@"), "add", "max"),
    honoured("control-predecessors", entry(VECTOR, "n = f32[8] negate(x)", "ROOT c = f32[8] add(n, n)@"), "{x}", "{missing}"),
    honoured("dynamic_slice_sizes", entry(VECTOR, "i = s32[] constant(1)", "ROOT c = dynamic-slice(x, i)@"), "{1}", "{2}"),
    honoured("offset_dims", hole(GATHER, "offset_dims"), "{2}", "{0}"),
    honoured("collapsed_slice_dims", hole(GATHER, "collapsed_slice_dims"), "{1}", "{}"),
    honoured("start_index_map", hole(GATHER, "start_index_map"), "{1}", "{2}"),
    honoured("operand_batching_dims", hole(GATHER, "operand_batching_dims"), "{0}", "{}"),
    honoured("start_indices_batching_dims", hole(GATHER, "start_indices_batching_dims"), "{0}", "{1}"),
    honoured("index_vector_dim", hole(GATHER, "index_vector_dim"), "2", "1"),
    honoured("slice_sizes", hole(GATHER, "slice_sizes"), "{1,1,2}", "{1,1,1}"),
    honoured("update_window_dims", hole(SCATTER, "update_window_dims"), "{2}", "{1}"),
    honoured("inserted_window_dims", hole(SCATTER, "inserted_window_dims"), "{1}", "{2}"),
    honoured("scatter_dims_to_operand_dims", hole(SCATTER, "scatter_dims_to_operand_dims"), "{1}", "{2}"),
    honoured("input_batching_dims", hole(SCATTER, "input_batching_dims"), "{0}", "{}"),
    honoured("scatter_indices_batching_dims", hole(SCATTER, "scatter_indices_batching_dims"), "{0}", "{1}"),
    honoured("index_vector_dim", hole(SCATTER, "index_vector_dim"), "2", "1"),
    honoured("lhs_batch_dims", hole(DOT, "lhs_batch_dims"), "{0}", "{1}"),
    honoured("rhs_batch_dims", hole(DOT, "rhs_batch_dims"), "{0}", "{2}"),
    honoured("lhs_contracting_dims", hole(DOT, "lhs_contracting_dims"), "{2}", "{1}"),
    honoured("rhs_contracting_dims", hole(DOT, "rhs_contracting_dims"), "{1}", "{2}"),
    honoured("dim_labels", hole(CONV, "dim_labels"), "b01f_01io->b01f", "b01f_01oi->b01f"),
    honoured("feature_group_count", entry(CONV[0], "k = f32[3,3,2,4] parameter(1)", CONV[2]), "2", "1"),
    honoured("batch_group_count", entry(*CONV[:2], "ROOT c = convolution(x, k), window={size=3x3}, dim_labels=b01f_01io->b01f@"), "1", "2"),
    honoured("epsilon", entry(*NORM).replace("@", ", feature_index=1@"), "0.1", "0.5"),
    honoured("k", entry(VECTOR, "ROOT s = topk(x), largest=true@"), "2", "3"),
    honoured("largest", entry(VECTOR, "ROOT s = (f32[2], s32[2]) topk(x), k=2@"), "true", "false"),
    honoured("feature_index", entry(*NORM).replace("@", ", epsilon=0.1@"), "1", "2"),
]
ALIASED = "f { p = f32[8] parameter(0)\n q = f32[8] parameter(1)\n ROOT s = f32[8] add(p, q) }\n"
HONOURED_BY_COMPILING = Case(
    "ATTRIBUTE", "output_to_operand_aliasing",
    f"HloModule m\n{ALIASED}ENTRY e {{\n p = f32[8] parameter(0)\n q = f32[8] parameter(1)\n ROOT s = f32[8] fusion(p, q), kind=kLoop, calls=f@\n}}\n",
    ("{{}: (0, {})}", "{{}: (7, {})}"))

OTHERS = ["x = f32[8] parameter(0)", "ROOT g = f32[8] all-reduce(x), to_apply=add@"]
OF_TWO = [OTHERS[0], OTHERS[1].replace("@", ", replica_groups={{0,1}}@")]  # of one device it is the identity, and runs
LIBRARY = [
    of_operation("literal", "s32[] 1", VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'),
    of_operation("api_version", "API_VERSION_TYPED_FFI", VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'),
    of_operation("custom_call_has_side_effect", "true", VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'),
    of_operation("operand_layout_constraints", "{f32[8]{0}}", VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'),
    of_operation("schedule", "SCHEDULE_LATEST", VECTOR, 'ROOT s = f32[8] custom-call(x), custom_call_target="x"@'),
    of_operation("async_execution_thread", '"t"', VECTOR, "ROOT n = ((f32[8]), f32[8]) negate-start(x)@"),
    of_operation("async_group_id", "0", VECTOR, "ROOT n = ((f32[8]), f32[8]) negate-start(x)@"),
    of_operation("channel_id", "1", *OF_TWO),
    of_operation("replica_groups", "{{0,1}}", *OTHERS),
    of_operation("use_global_device_ids", "true", OTHERS[0], OTHERS[1].replace("@", ", channel_id=1, replica_groups={{0,1}}@")),
    of_operation("constrain_layout", "true", *OF_TWO),
    of_operation("source_target_pairs", "{{0,1}}", VECTOR, "ROOT s = f32[8] collective-permute(x)@"),
    of_operation("has_dynamic_root", "false", VECTOR, "ROOT s = f32[8] collective-broadcast(x), replica_groups={{0,1}}@"),
    of_operation("is_host_transfer", "true", VECTOR, "t = token[] after-all()", "ROOT s = (f32[8], u32[], token[]) send(x, t), channel_id=1@"),
    of_operation("cross_program_prefetch_index", "0", VECTOR, "ROOT s = (f32[8], f32[8], u32[]) copy-start(x)@"),
    of_operation("infeed_config", '"a"', "t = token[] after-all()", "ROOT s = (f32[8], token[]) infeed(t)@"),
    of_operation("outfeed_config", '"a"', VECTOR, "t = token[] after-all()", "ROOT s = token[] outfeed(x, t), outfeed_shape=f32[8]@"),
    of_operation("outfeed_shape", "f32[8]", VECTOR, "t = token[] after-all()", "ROOT s = token[] outfeed(x, t)@"),
    of_operation("distribution", "rng_uniform", "a = f32[] constant(0)", "b = f32[] constant(1)", "ROOT s = f32[8] rng(a, b)@"),
    of_operation("delta", "1", "ROOT s = u64[2] rng-get-and-update-state()@"),
    of_operation("fft_type", "FFT", "x = c64[8] parameter(0)", "ROOT s = c64[8] fft(x), fft_length={8}@"),
    of_operation("fft_length", "{8}", "x = c64[8] parameter(0)", "ROOT s = c64[8] fft(x), fft_type=FFT@"),
    of_operation("is_stable", "true", VECTOR, "ROOT s = f32[8] sort(x), dimensions={0}, to_apply=ge@"),
    of_operation("lower", "true", "x = f32[3,3] parameter(0)", "ROOT s = f32[3,3] cholesky(x)@"),
    *[of_operation(name, value, "x = f32[3,3] parameter(0)", "ROOT s = f32[3,3] triangular-solve(x, x)" + rest + "@") for name, value, rest in (
        ("left_side", "true", ", lower=true, transpose_a=NO_TRANSPOSE"), ("unit_diagonal", "true", ", left_side=true, transpose_a=NO_TRANSPOSE"),
        ("transpose_a", "NO_TRANSPOSE", ", left_side=true"))],
    *[of_operation(name, "{0}", "x = f32[4,3] parameter(0)", "y = f32[2,3,5] parameter(1)", "g = s32[2] parameter(2)",
                   "ROOT s = f32[4,5] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, " + rest + "={0}@")
      for name, rest in (("lhs_ragged_dims", "rhs_group_dims"), ("rhs_group_dims", "lhs_ragged_dims"))],
    Case("ATTRIBUTE", "domain", entry(VECTOR, "d = f32[8] domain(x)@", "ROOT n = f32[8] negate(d)"),
         ('{kind="sharding", entry={replicated}, exit={}}',), "SILENT"),
]
SCAN = """step { a = f32[] parameter(0)
 b = f32[] parameter(1)
 s = f32[] add(a, b)
 ROOT t = (f32[], f32[]) tuple(s, s) }
"""
SCANS = [Case("ATTRIBUTE", name, "HloModule m\n" + SCAN + "ENTRY e {\n x = f32[8] parameter(0)\n z = f32[] constant(0)\n"
              " ROOT s = (f32[8], f32[]) scan(x, z), dimensions={0}, to_apply=step" + rest + "@\n}\n", (value,))
         for name, value, rest in (("num_carries", "1", ""), ("is_associative", "true", ", num_carries=1"), ("is_reverse", "true", ", num_carries=1"))]

NEGATE = entry(VECTOR, "ROOT n = f32[8] negate(x)@")


def silent(name: str, value: str, module: str = NEGATE) -> Case:
    return Case("ATTRIBUTE", name, module, (value,))


SILENT = [
    silent("kind", "kInput", entry("x = f32[] parameter(0)", "ROOT s = f32[] fusion(x), calls=neg@")),
    silent("inferred_dimension", "0", entry(VECTOR, "ROOT n = f32[2,4] reshape(x)@")),
    silent("indices_are_sorted", "true", entry(*GATHER[:2], GATHER[2] + "@")),
    silent("indices_are_sorted", "true", entry(*SCATTER[:3], SCATTER[3] + "@")),
    silent("unique_indices", "true", entry(*SCATTER[:3], SCATTER[3] + "@")),
    silent("operand_precision", "{highest,highest}", entry(*DOT)),
    silent("convolution_kind", "fprop", entry(*CONV)),
    silent("padding_type", "PADDING_VALID", entry(*CONV)),
    silent("metadata", '{op_name="a, b" source_line=3}'),
    silent("origin", '{{"a"}}'),
    silent("statistics", "{visualizing_index=1,stat-1=33}"),
    silent("backend_config", '{"a": [1, "}"]}'),
    silent("parameter_replication", "{false}", entry(VECTOR + "@", "ROOT n = f32[8] negate(x)")),
    silent("is_composite", "true", entry("x = f32[] parameter(0)", "ROOT s = f32[] call(x), to_apply=neg@")),
    Case("COMPUTATION", "execution_thread", NEGATE.replace("@", "").rstrip() + "@\n", ('"main"',)),
    *[Case("MODULE", name, entry(VECTOR, "ROOT n = f32[8] negate(x)", head="@"), (value,)) for name, value in (
        ("is_scheduled", "true"), ("alias_passthrough_params", "true"), ("buffer_donor", "{ (0, {}) }"), ("replica_count", "2"),
        ("num_partitions", "2"), ("allow_spmd_sharding_propagation_to_parameters", "{true}"), ("allow_spmd_sharding_propagation_to_output", "true"),
        ("origin_recovery_table", '{ {"constant"} : {"c"} }'), ("debug_attributes", '{ {"n"}:({a=1}) }'))],
]

BF16_DOT = entry("x = bf16[3,3] parameter(0)", "y = bf16[3,3] parameter(1)", "ROOT d = f32[3,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}@")
TYPED = "HloModule m\nENTRY e {{\n x = {0} parameter(0)\n ROOT n = {1} {2}(x)\n}}\n"
MATRIX = "ROOT n = f32[4,8] negate(x)"
JUDGED = [
    Case("ATTRIBUTE", "algorithm", entry(*DOT), ("dot_tf32_tf32_f32", "dot_f32_f32_f32")),
    Case("ATTRIBUTE", "algorithm", entry(*DOT), ("dot_bf16_bf16_f32_x3", "dot_f32_f32_f32")),
    Case("ATTRIBUTE", "algorithm", BF16_DOT, ("dot_bf16_bf16_bf16", "dot_bf16_bf16_f32")),
    Case("ATTRIBUTE", "result_accuracy", entry(VECTOR, "ROOT n = f32[8] exponential(x)@"), ("{tolerance={atol=0,rtol=0,ulps=10}}", "{mode=default}")),
    Case("ATTRIBUTE", "frontend_attributes", NEGATE, ('{_xla_compute_type="host"}', '{fingerprint_before_lhs="38"}', "{}", '{a="x, xla_y=1"}')),
    Case("ATTRIBUTE", "frontend_attributes", NEGATE, ('{a="1",_xla_buffer_placement="arg"}', '{xla.sdy.sharding="#sdy.sharding<@mesh, [{}]>"}')),
    Case("ATTRIBUTE", "sharding", entry(VECTOR, "ROOT n = f32[8] negate(x)@", head=", num_partitions=2"), ("{devices=[2]<=[2]}", "{replicated}")),
    Case("ATTRIBUTE", "sharding", NEGATE, ("{devices=[2]<=[2]}",), "SILENT"),
    Case("MODULE", "frontend_attributes", entry(VECTOR, "ROOT n = f32[8] negate(x)", head="@"),
         ("{_xla_x=1}", '{xla.sdy.meshes={mesh = #sdy.mesh<["data"=1]>}}', '{fingerprint_before_lhs="38"}')),
    Case("MODULE", "input_output_alias", entry(VECTOR, "ROOT n = f32[8] negate(x)", head="@"), ("{ {}: (0, {}, must-alias) }", "{ {}: (0, {}, may-alias) }")),
    Case("MODULE", "entry_computation_layout", entry("x = f32[4,8] parameter(0)", MATRIX, head="@"),
         ("{(f32[4,8]{0,1})->f32[4,8]{1,0}}", "{(f32[4,8]{1,0})->f32[4,8]{1,0}}", "{(f32[4,8])->f32[4,8]}")),
    Case("MODULE", "entry_computation_layout", entry("x = f32[4,8] parameter(0)", MATRIX, head="@"),
         ("{(f32[4,8])->f32[4,8]{1,0:T(8,128)}}", "{(f32[4,8]{1,0:S(0)})->f32[4,8]}")),
    Case("LAYOUT", "T", TYPED.format("f32[4,8]{1,0@}", "f32[4,8]", "copy"), (":T(8,128)",)),
    Case("LAYOUT", "T", TYPED.format("f32[4,8]", "f32[4,8]{1,0@}", "negate"), (":T(2,128)(2,1)",)),
    Case("LAYOUT", "E", TYPED.format("s4[16]{0:E(@)}", "s8[16]", "convert"), ("8", "4", "0")),
    Case("LAYOUT", "E", TYPED.format("f32[16]{0:E(@)}", "f32[16]", "negate"), ("64", "32")),
    Case("LAYOUT", "S", TYPED.format("f32[16]{0:S(@)}", "f32[16]", "negate"), ("1", "0")),
    *[Case("LAYOUT", name, TYPED.format("f32[16]{0@}", "f32[16]", "negate"), (value,)) for name, value in (
        ("SC", ":SC(0:3)"), ("L", ":L(1024)"), ("D", ":D(C)"), ("M", ":M(8)"), ("P", ":P(f32[32])"))],
    Case("SHAPE", "<=", TYPED.format("f32[@16]", "f32[@16]", "negate"), ("<=",)),
    Case("SHAPE", "b", "HloModule m\nENTRY e {\n x = f32[16] parameter(0)\n y = @ parameter(1)\n ROOT n = f32[16] negate(x)\n}\n", ("b(f32[16])", "f32[16]")),
    Case("ATTRIBUTE", "sparsity", entry("x = f32[3,2] parameter(0)", "y = f32[4,3] parameter(1)", "m = u16[3,1] parameter(2)",
                                        "ROOT d = f32[3,3] dot(x, y, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}@"), ("L.1@2:4", "L.1@2:4")),
    Case("ATTRIBUTE", "sparsity_config", entry(*CONV), ("{rhs={sparsity=1x4}}",)),
]
CASES: List[Case] = HONOURED + [HONOURED_BY_COMPILING] + LIBRARY + SCANS + SILENT + JUDGED

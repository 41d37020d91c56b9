#!/usr/bin/env bash
# Guess: an optimiser that removes an extension before a conversion, `sitofp (sext i8 to i32)` to `sitofp i8`, makes the code no slower.
# Seen: LLVM 20.1.8 (llvmlite 0.45.1) writes cvt.rn.f32.s32 for the text with the extension and cvt.rn.f32.s16 for the one without, and its own
# instcombine makes the second of the first. ptxas 13.0.88 for sm_90 makes I2FP.F32.S32 of the one, an instruction of the ALU, and I2F.S16 of the other,
# which runs on the unit of transcendental functions, of fewer lanes.
# Matters: dequantising s8 through LLVM converts more slowly than the machine can; a writer of PTX keeps the extension.
. "$(dirname "$0")/tools.sh"
install llvm llvmlite==0.45.1
convert() { # the conversions in the PTX that LLVM writes of a body, after its passes if $2 says so
    PYTHONPATH="$work/llvm" python3 - "$1" "$2" <<'PY'
import re, sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
module = llvm.parse_assembly(f'''target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %o) {{
  %x = load i8, ptr addrspace(1) %a
  {sys.argv[1]}
  store float %f, ptr addrspace(1) %o
  ret void
}}''')
machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90", opt=3)
if sys.argv[2] == "passes":
    llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
print(" ".join(re.findall(r"cvt\.\S+", machine.emit_assembly(module))))
PY
}
extended='%w = sext i8 %x to i32  %f = sitofp i32 %w to float'
expect "sext, sitofp i32" "$(convert "$extended" plain)" "cvt.rn.f32.s32"
expect "sext, sitofp i32, after LLVM's passes" "$(convert "$extended" passes)" "cvt.rn.f32.s16"
expect "sitofp i8" "$(convert '%f = sitofp i8 %x to float' plain)" "cvt.rn.f32.s16"
expect "ptxas: cvt.rn.f32.s32" "$(sass sm_90 13.0.88 'ld.global.s8 %r1, [%rd1]; cvt.rn.f32.s32 %f1, %r1; st.global.f32 [%rd3], %f1;')" "I2FP.F32.S32"
expect "ptxas: cvt.rn.f32.s16" "$(sass sm_90 13.0.88 '{ .reg .b16 h; ld.global.s8 h, [%rd1]; cvt.rn.f32.s16 %f1, h; } st.global.f32 [%rd3], %f1;')" "I2F.S16"
verdict

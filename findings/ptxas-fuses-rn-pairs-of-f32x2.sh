#!/usr/bin/env bash
# Guess: `.rn` on a product and on a sum keeps ptxas from contracting them (PTX ISA, "mul", "add": an explicit rounding modifier is never contracted).
# Seen: for pairs of f32, ptxas 13.0 makes one fused instruction of both on sm_100, two on sm_120, even with --fmad=false; ptxas 13.1 and 13.5 do not.
# Matters: a compiler that relies on `.rn` gets other bits than its simulator.
. "$(dirname "$0")/tools.sh"
pair='.reg .b64 %p<4>; ld.global.b64 %p1, [%rd1]; ld.global.b64 %p2, [%rd2]; mul.rn.f32x2 %p3, %p1, %p2; add.rn.f32x2 %p3, %p3, %p1; st.global.b64 [%rd3], %p3;'
expect "ptxas 13.0.88, sm_100" "$(sass sm_100 13.0.88 "$pair")" "FFMA2"
expect "ptxas 13.0.88, sm_100, --fmad=false" "$(sass sm_100 13.0.88 "$pair" --fmad=false)" "FFMA2"
expect "ptxas 13.0.88, sm_120, --fmad=false" "$(sass sm_120 13.0.88 "$pair" --fmad=false)" "FFMA FFMA"
expect "ptxas 13.1.115, sm_100" "$(sass sm_100 13.1.115 "$pair")" "FMUL2 FADD2"
expect "ptxas 13.5.37, sm_100" "$(sass sm_100 13.5.37 "$pair")" "FMUL2 FADD2"
verdict

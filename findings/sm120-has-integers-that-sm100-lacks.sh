#!/usr/bin/env bash
# Guess: sm_120 does at most what sm_100 does: the larger number is the smaller chip of the same generation.
# Seen: 64-bit integer sums and minima are one instruction on sm_120 (IADD.64, IMNMX.S64), two and four on sm_100; |a - b| + c is one on sm_90 and sm_100 and three on sm_120;
# pairs of f32 are one instruction on sm_100 and two on sm_120.
# Matters: neither is a superset of the other, so prices and rules of one are no bound for the other.
. "$(dirname "$0")/tools.sh"
loads='ld.global.b64 %rd4, [%rd1]; ld.global.b64 %rd5, [%rd2];'
sum="$loads add.u64 %rd6, %rd4, %rd5; st.global.b64 [%rd3], %rd6;"
least="$loads min.s64 %rd6, %rd4, %rd5; st.global.b64 [%rd3], %rd6;"
pairs="$loads add.rn.f32x2 %rd6, %rd4, %rd5; st.global.b64 [%rd3], %rd6;"
difference='ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2]; sad.u32 %r3, %r1, %r2, %r1; st.global.u32 [%rd3], %r3;'
v=13.5.37
expect "ptxas $v, sm_100, add.u64" "$(sass sm_100 $v "$sum")" "IADD3 IADD3.X"
expect "ptxas $v, sm_120, add.u64" "$(sass sm_120 $v "$sum")" "IADD.64"
expect "ptxas $v, sm_100, min.s64" "$(sass sm_100 $v "$least")" "ISETP.LT.U32.AND ISETP.LT.AND.EX SEL SEL"
expect "ptxas $v, sm_120, min.s64" "$(sass sm_120 $v "$least")" "IMNMX.S64"
expect "ptxas $v, sm_100, add.rn.f32x2" "$(sass sm_100 $v "$pairs")" "FADD2"
expect "ptxas $v, sm_120, add.rn.f32x2" "$(sass sm_120 $v "$pairs")" "FADD FADD"
expect "ptxas $v, sm_100, sad.u32" "$(sass sm_100 $v "$difference")" "VABSDIFF.U32"
expect "ptxas $v, sm_120, sad.u32" "$(sass sm_120 $v "$difference")" "VIMNMX.U32 VIMNMX.U32 IADD3"
verdict

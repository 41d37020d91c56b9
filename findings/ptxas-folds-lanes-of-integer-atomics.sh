#!/usr/bin/env bash
# Guess: `red.global.add.u32` is one machine instruction, and a compiler that wants one atomic operation for a warp has to reduce the lanes itself.
# Seen: where the address is the same for all lanes by the text (a parameter), ptxas reduces the lanes (REDUX) and lets one of them do the atomic operation: sums, minima, maxima of integers;
# `atom`, whose result is used, becomes a prefix sum over the lanes, six shuffles. Floats stay one operation for each lane.
# Matters: a reduction over lanes before such an atomic is done twice, and counts of atomic operations in PTX are not those of the machine.
. "$(dirname "$0")/tools.sh"
of_lane="ld.global.u32 %r1, [%rd1]; mov.u32 %r2, %tid.x; add.u32 %r1, %r1, %r2;" # a value of each lane: of one for all even the sum of lanes is a product
red() { echo "$of_lane red.global.$1 [%rd3], %r1;"; }
for version in 13.0.88 13.5.37; do
    expect "ptxas $version, sm_90, red.add.u32" "$(sass sm_90 $version "$(red add.u32)" | grep -o 'REDUX.*')" "REDUX.SUM REDG.E.ADD.STRONG.GPU"
    expect "ptxas $version, sm_90, red.max.s32" "$(sass sm_90 $version "$(red max.s32)" | grep -o 'REDUX.*')" "REDUX.MAX.S32 REDG.E.MAX.S32.STRONG.GPU"
    expect "ptxas $version, sm_90, red.add.f32" "$(sass sm_90 $version 'ld.global.f32 %f1, [%rd1]; red.global.add.f32 [%rd3], %f1;')" "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU"
    made=$(sass sm_90 $version "$of_lane atom.global.add.u32 %r2, [%rd3], %r1; st.global.u32 [%rd2], %r2;")
    expect "ptxas $version, sm_90, atom.add.u32: shuffles up" "$(tr ' ' '\n' <<<"$made" | grep -c SHFL.UP)" 6
done
verdict

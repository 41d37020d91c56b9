#!/usr/bin/env bash
# Guess: `max` of three operands, which PTX 8.8 allows from sm_100 on, is never dearer than two of two.
# Seen: on sm_120 there is no such instruction: two are made; ptxas 13.1 and 13.5 add two moves of another kind (RPCMOV), which two `max` of two operands do not get.
# Matters: LLVM folds two maxima into one of three operands for sm_120, too.
. "$(dirname "$0")/tools.sh"
loads='ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2]; ld.global.f32 %f3, [%rd2+4];'
three="$loads max.NaN.f32 %f4, %f1, %f2, %f3; st.global.f32 [%rd3], %f4;"
two="$loads max.NaN.f32 %f4, %f1, %f2; max.NaN.f32 %f4, %f4, %f3; st.global.f32 [%rd3], %f4;"
expect "ptxas 13.0.88, sm_100, of three" "$(sass sm_100 13.0.88 "$three")" "FMNMX3.NAN"
expect "ptxas 13.0.88, sm_100, two of two" "$(sass sm_100 13.0.88 "$two")" "FMNMX3.NAN"
expect "ptxas 13.0.88, sm_120, of three" "$(sass sm_120 13.0.88 "$three")" "FMNMX.NAN FMNMX.NAN"
for version in 13.1.115 13.5.37; do
    expect "ptxas $version, sm_120, of three" "$(sass sm_120 $version "$three")" "RPCMOV.32 FMNMX.NAN FMNMX.NAN RPCMOV.32"
    expect "ptxas $version, sm_120, two of two" "$(sass sm_120 $version "$two")" "FMNMX.NAN FMNMX.NAN"
done
verdict

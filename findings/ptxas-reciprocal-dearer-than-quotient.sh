#!/usr/bin/env bash
# Guess: a reciprocal is the cheaper part of a quotient, so `rcp.approx.f32 x` costs less than `div.approx.f32 1, x`.
# Seen: without .ftz the reciprocal scales large as well as small arguments, 7 instructions, since its results may be subnormal; div.approx may return 0 for divisors above 2^126
# and scales small ones alone, 5.
# Matters: where a divisor is known to be below 2^126 the quotient by an approximate division is the shorter way to a reciprocal.
. "$(dirname "$0")/tools.sh"
rcp='ld.global.f32 %f1, [%rd1]; rcp.approx.f32 %f2, %f1; st.global.f32 [%rd3], %f2;'
div='ld.global.f32 %f1, [%rd1]; mov.f32 %f3, 0f3F800000; div.approx.f32 %f2, %f3, %f1; st.global.f32 [%rd3], %f2;'
for version in 13.0.88 13.5.37; do
    # a constant in a register comes by HFMA2.MMA here and by a move there: left out
    expect "ptxas $version, sm_90, rcp.approx.f32" "$(sass sm_90 $version "$rcp" | sed 's/HFMA2[.A-Z]* //')" "FSETP.GEU.AND FSETP.GT.AND FSEL FSEL FMUL MUFU.RCP FMUL"
    expect "ptxas $version, sm_90, div.approx.f32 1, x" "$(sass sm_90 $version "$div" | sed 's/HFMA2[.A-Z]* //')" "FSETP.GEU.AND FSEL FMUL MUFU.RCP FMUL"
done
verdict

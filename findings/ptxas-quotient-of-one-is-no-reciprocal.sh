#!/usr/bin/env bash
# Guess: a correctly rounded quotient of 1 is the correctly rounded reciprocal, so `div.rn.f32 %f, 1.0, %f` and `rcp.rn.f32` become the same machine code.
# Seen: with ptxas 13.0.88 for sm_90 the quotient has a division with its slow path, the reciprocal a shorter one: the values are the same by definition, the code is not.
# Matters: a compiler that writes PTX must write the reciprocal itself where a dividend is 1; LLVM does, ptxas does not.
. "$(dirname "$0")/tools.sh"
count() { sass sm_90 13.0.88 "ld.global.f32 %f1, [%rd1]; $1 st.global.f32 [%rd3], %f2;" | wc -w; }
expect "instructions, div.rn.f32 of 1.0" "$(count "div.rn.f32 %f2, 0f3F800000, %f1;")" 71
expect "instructions, rcp.rn.f32" "$(count "rcp.rn.f32 %f2, %f1;")" 49
verdict

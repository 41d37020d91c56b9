#!/usr/bin/env bash
# Guess: the assembler turns quotients and remainders by a constant into products, as every optimising compiler does.
# Seen: it does not, not even for powers of two: the constant is divided by like any number, with an estimate of its reciprocal, computed anew in each thread, and corrections; for 64 bits
# in a subroutine.
# Matters: whoever writes PTX himself has to make the products (LLVM does it before it writes PTX).
. "$(dirname "$0")/tools.sh"
words() { wc -w | tr -d ' '; }
of32='ld.global.u32 %r1, [%rd1]; rem.u32 %r2, %r1, 7; st.global.u32 [%rd3], %r2;'
by8='ld.global.u32 %r1, [%rd1]; rem.u32 %r2, %r1, 8; st.global.u32 [%rd3], %r2;'
of64='ld.global.u64 %rd4, [%rd1]; div.s64 %rd5, %rd4, 1000; st.global.u64 [%rd3], %rd5;'
for version in 13.0.88 13.5.37; do
    made=$(sass sm_90 $version "$of32")
    echo "ptxas $version, rem.u32 x, 7: $made"
    expect "  a reciprocal is computed" "$(grep -c MUFU.RCP <<<"$made")" 1
    expect "ptxas $version, rem.u32 x, 8: a reciprocal" "$(sass sm_90 $version "$by8" | grep -c MUFU.RCP)" 1
    made=$(sass sm_90 $version "$of64")
    expect "ptxas $version, div.s64 x, 1000: calls" "$(tr ' ' '\n' <<<"$made" | grep -c CALL)" 1
    expect "  more than 40 instructions" "$([ "$(words <<<"$made")" -gt 40 ] && echo yes || echo no)" yes
done
verdict

#!/usr/bin/env bash
# Guess: ptxas decides whether to unroll a loop of 40 iterations by its size and its count, which both ways of writing the test at its end have alike.
# Seen: with ptxas 13.0.88 for sm_90 a loop whose counter is incremented and then compared with 40 is unrolled wholly, 39 products in a row; the same loop
# whose counter is compared with 39 and then incremented stays a loop of one product.
# Matters: a compiler that writes PTX chooses between forty copies and a loop by the order of two instructions; where it means one, it says
# `.pragma "nounroll"`, or tests behind the increment.
. "$(dirname "$0")/tools.sh"
products() { # in the machine code of a loop with these instructions at its end
    sass sm_90 13.0.88 ".reg .pred %p1; mov.b32 %r1, 0; mov.b32 %r2, 0; ld.global.u32 %r5, [%rd1]; L: ld.global.u32 %r3, [%rd2];
mad.lo.s32 %r4, %r3, %r2, %r5; xor.b32 %r2, %r4, %r1; $1 @%p1 bra L; st.global.u32 [%rd3], %r2;" | tr ' ' '\n' | grep -c '^IMAD'
}
expect "incremented, then below 40: products" "$(products 'add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 40;')" 39
expect "below 39, then incremented: products" "$(products 'setp.lt.s32 %p1, %r1, 39; add.s32 %r1, %r1, 1;')" 1
verdict

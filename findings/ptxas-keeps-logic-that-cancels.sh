#!/usr/bin/env bash
# Guess: ptxas, which makes one LOP3 of any two logical operations on three values, drops the pair where they cancel: a ^ (a ^ b) is b, and no instruction.
# Seen: with ptxas 13.0.88 for sm_90 an exclusive or of the same value twice stays one LOP3 whose table is a copy, and so does a complement of a
# complement; of integer arithmetic a - (a - b) is gone.
# Matters: a compiler that writes PTX must cancel logical operations itself, as LLVM does; what looks free costs an instruction an element.
. "$(dirname "$0")/tools.sh"
two() { sass sm_90 13.0.88 "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd2]; $1 st.global.u32 [%rd3], %r4;"; }
expect "a ^ (a ^ b)" "$(two "xor.b32 %r3, %r1, %r2; xor.b32 %r4, %r1, %r3;")" "LOP3.LUT"
expect "~~b" "$(two "not.b32 %r3, %r2; not.b32 %r4, %r3;")" "LOP3.LUT"
expect "a - (a - b)" "$(two "sub.s32 %r3, %r1, %r2; sub.s32 %r4, %r1, %r3;")" ""
verdict

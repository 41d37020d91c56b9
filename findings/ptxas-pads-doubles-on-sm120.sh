#!/usr/bin/env bash
# Guess: code of doubles has the instructions that it needs; a NOP is padding at the end.
# Seen: for sm_120, ptxas 12.9 to 13.3 put four NOPs between two operations of doubles; 13.4 and 13.5 put none.
# Matters: half the instructions of a kernel with a slow path in doubles, and issue slots for whoever takes that path.
. "$(dirname "$0")/tools.sh"
lines='.reg .b64 %d<5>; ld.global.b64 %d1, [%rd1]; ld.global.b64 %d2, [%rd2]; fma.rn.f64 %d3, %d1, %d2, %d1; fma.rn.f64 %d3, %d3, %d2, %d1; fma.rn.f64 %d3, %d3, %d2, %d1; st.global.b64 [%rd3], %d3;'
# padding TARGET VERSION: the NOPs before EXIT.
padding() {
    sass "$1" "$2" "$lines" >/dev/null
    "$(find "$work/nvdisasm" -name nvdisasm -type f)" -c "$work/k.cubin" | sed '/EXIT/,$d' | grep -c NOP || true
}
sass sm_120 13.5.37 "$lines" >/dev/null # installs what `padding` needs
for version in 12.9.86 13.0.88 13.3.73; do expect "ptxas $version, sm_120, NOPs between three DFMA" "$(padding sm_120 $version)" 8; done
for version in 13.4.92 13.5.37; do expect "ptxas $version, sm_120, NOPs between three DFMA" "$(padding sm_120 $version)" 0; done
expect "ptxas 13.0.88, sm_100, NOPs between three DFMA" "$(padding sm_100 13.0.88)" 0
verdict

#!/usr/bin/env bash
# Guess: ptxas refuses a `.version` that is newer than it is with a message and status 255, as 12.4 does.
# Seen: ptxas 12.0 prints the message, and then a signal (11) ends it.
# Matters: to whoever reads the exit status alone, an old ptxas looks like a crash of the assembler.
. "$(dirname "$0")/tools.sh"
printf '.version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n' >"$work/new.ptx"
# refusal VERSION: what it says, and its exit status.
refusal() {
    local tool status=0 said
    tool=$(ptxas "$1")
    chmod +x "$tool"
    said=$("$tool" -arch=sm_90 "$work/new.ptx" -o "$work/new.cubin" 2>&1) || status=$?
    echo "$(echo "$said" | grep -o 'Unsupported .version 8.8' | head -n 1), $status"
}
expect "ptxas 12.0.140" "$(refusal 12.0.140)" "Unsupported .version 8.8, 139"
expect "ptxas 12.4.131" "$(refusal 12.4.131)" "Unsupported .version 8.8, 255"
verdict

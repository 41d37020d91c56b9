# What the scripts share: a temporary folder, packages of PyPI in it, machine code of a few lines of PTX, and a verdict.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install NAME PACKAGE..: into $work/NAME, without what they depend on.
install() { local to="$work/$1"; shift; python3 -m pip -q --disable-pip-version-check --no-input install --no-deps --target "$to" "$@" 2>/dev/null; }

# ptxas VERSION: its path, installed at first use; the packages of CUDA 12 have another name.
ptxas() {
    case $1 in 12.*) local package=nvidia-cuda-nvcc-cu12 ;; *) local package=nvidia-cuda-nvcc ;; esac
    [ -d "$work/ptxas-$1" ] || install "ptxas-$1" "$package==$1"
    find "$work/ptxas-$1" -name ptxas -type f
}

# sass TARGET VERSION LINES [OPTION..]: opcodes of the machine code, a line, without set-up and branches. LINES may use %rd1 and %rd2, inputs, and %rd3, an output.
sass() {
    local target=$1 version=$2 lines=$3 ptx="$work/k.ptx" cubin="$work/k.cubin"
    shift 3
    cat >"$ptx" <<PTX
.version 8.8
.target $target
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b64 %rd<10>; .reg .b32 %r<10>; .reg .f32 %f<10>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [out];
  $lines
  ret;
}
PTX
    chmod +x "$(ptxas "$version")"
    "$(ptxas "$version")" -arch="$target" "$@" "$ptx" -o "$cubin"
    [ -d "$work/nvdisasm" ] || install nvdisasm nvidia-cuda-nvdisasm==13.5.37
    "$(find "$work/nvdisasm" -name nvdisasm -type f)" -c "$cubin" | python3 -c '
import re, sys
code = [re.sub(r"^@\S+ ", "", x.strip()).split()[0] for x in re.findall(r"/\*[0-9a-f]{4,}\*/\s+([^;]*);", sys.stdin.read())]
print(" ".join(c for c in code if c.split(".")[0] not in ("NOP", "BRA", "EXIT", "RET", "ULDC", "LDC", "LDCU", "S2R", "MOV", "UMOV", "IMAD.MOV", "LDG", "STG") and not c.startswith("IMAD.MOV")))'
}

# expect WHAT SEEN STATED: prints what was seen; it must be what is stated.
changed=0
expect() {
    printf '%-44s %s\n' "$1" "$2"
    [ "$2" = "$3" ] || { printf '%-44s %s\n' "  stated" "$3"; changed=1; }
}
verdict() { [ $changed = 0 ] && echo "as stated" || { echo "changed"; exit 1; }; }

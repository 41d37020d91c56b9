#!/usr/bin/env bash
# Guess: nvJitLink, given one PTX text and nothing to link, makes the machine code that ptxas of its version makes.
# Seen: it compiles relocatable code and links that. The slow path of a quotient is a function of its own, which is called, and the kernel is counted with the registers of that function:
# 24 where ptxas, which puts the path inside, needs 13. An option that would compile the text whole is not there.
# Matters: nvJitLink is the one assembler that can be loaded as PyPI has it (nvPTXCompiler is an archive). Whoever assembles with it gets other code and, where registers bound
# the warps of an SM, fewer warps.
. "$(dirname "$0")/tools.sh"
cat >"$work/k.ptx" <<'PTX'
.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b64 %rd<4>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [out];
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2]; div.rn.f32 %f3, %f1, %f2; st.global.f32 [%rd3], %f3;
  ret;
}
PTX
cat >"$work/link.py" <<'PY'
"""link.py LIBRARY PTX CUBIN"""
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
def call(name, *args):
    f = getattr(library, f"__{name}_13_0", None) or getattr(library, name)
    assert f(*args) == 0, name
text, link, size = open(sys.argv[2], "rb").read() + b"\0", ctypes.c_void_p(), ctypes.c_size_t()
call("nvJitLinkCreate", ctypes.byref(link), 1, (ctypes.c_char_p * 1)(b"-arch=sm_80"))
call("nvJitLinkAddData", link, 2, text, ctypes.c_size_t(len(text)), b"k.ptx")
call("nvJitLinkComplete", link)
call("nvJitLinkGetLinkedCubinSize", link, ctypes.byref(size))
cubin = ctypes.create_string_buffer(size.value)
call("nvJitLinkGetLinkedCubin", link, cubin)
open(sys.argv[3], "wb").write(cubin.raw)
PY
# Sections of code, each with the registers that its header states.
code() {
    python3 - "$1" <<'PY'
import struct, sys
elf = open(sys.argv[1], "rb").read()
at, = struct.unpack_from("<Q", elf, 0x28)
size, n, names = struct.unpack_from("<HHH", elf, 0x3a)
sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + k * size) for k in range(n)]
name = lambda s: elf[sections[names][4] + s[0]:].split(b"\0")[0].decode()
print(" ".join(f"{name(s).replace('.text.', '').replace('__cuda_sm3x_', '')}:{s[7] >> 24}" for s in sections if name(s).startswith(".text.")))
PY
}
chmod +x "$(ptxas 13.0.88)"
"$(ptxas 13.0.88)" -arch=sm_80 "$work/k.ptx" -o "$work/ptxas.cubin"
install nvjitlink nvidia-nvjitlink==13.0.88
python3 "$work/link.py" "$(find "$work/nvjitlink" -name 'libnvJitLink.so.13')" "$work/k.ptx" "$work/linked.cubin"
expect "ptxas 13.0.88, function:registers" "$(code "$work/ptxas.cubin")" "k:13"
expect "nvJitLink 13.0.88" "$(code "$work/linked.cubin")" "div_rn_noftz_f32_slowpath:24 k:24"
verdict

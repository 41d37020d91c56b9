"""Instruction rules with immediates, facts, tables computed from the pattern, and sums given by their terms. tests/gen/tile_rules.py puts each list first
in INSTR of a copy of patterns/, builds that, and runs every rule: RIGHT must be accepted, of WRONG each must be refused."""
from gen.lang import *


def byte(x, n):
    """Byte n of x, as it is when shifts are lowered."""
    return band.u32(x, 255) if n == 0 else shrlx.u32(x, 24) if n == 3 else band.u32(shrlx.u32(x, 8 * n), 255)


def signed(x, n):
    return shrax.i32(x if n == 3 else shlx.i32(x, 24 - 8 * n), 24)


PRODUCTS = [mul.u32(byte(a, n), byte(b, n)) for n in range(4)]
SIGNED_PRODUCTS = [mul.i32(signed(a, n), signed(b, n)) for n in range(4)]

RIGHT = [
    asm(band.u32(shrlx.u32(a, k), 127),         'bfe.u32 %d, %{a}, %{k}, 7;',                 when=(k > 0) & (k < 32)),
    asm(shrax.i32(shlx.i32(a, k), m),           'bfe.s32 %d, %{a}, %{m - k}, %{32 - m};',     when=(k > 0) & (k < m) & (m < 32)),
    asm(bor.u32(shlx.u32(a, k), shrlx.u32(a, m)), 'shf.l.wrap.b32 %d, %{a}, %{a}, %{k};',     when=(k > 0) & (k < 32) & (k + m == 32)),
    asm(bor.u32(shlx.u32(a, k), shrlx.u32(b, m)), 'shf.r.wrap.b32 %d, %{b}, %{a}, %{32 - k};', when=(k > 0) & (k < 32) & (k + m == 32)),
    asm(bor.u32(shrlx.u32(a, 16), band.u32(b, 0xffff0000)), 'prmt.b32 %d, %{a}, %{b}, 0x7632;'),
    asm(band.u32(shrlx.u32(a, k), 255),         'prmt.b32 %d, %{a}, 0, %{0x4440 + k // 8};',  when=(k % 8 == 0) & (k > 0) & (k < 32)),
    asm(bor.u32(band.u32(a, 255), band.u32(shlx.u32(b, k), m)), 'bfi.b32 %d, %{b}, %{a}, %{k}, %{32 - k};',
        when=(k == 8) & (m == 0xffffff00)),
    lop3(bxor.u32(bor.u32(a, b), c)),
    lop3(bxor.u32(band.u32(a, bxor.u32(b, c)), c)),
    lop3(bor.u32(band.u32(a, b), bxor.u32(c, -1))),
    asm(total(*PRODUCTS, c),                    'dp4a.u32.u32 %d, %{a}, %{b}, %{c};'),
    asm(total(*SIGNED_PRODUCTS, c),             'dp4a.s32.s32 %d, %{a}, %{b}, %{c};'),
    asm(total(mul.i32(a, b), c),                'mad.lo.s32 %d, %{a}, %{b}, %{c};'),
    asm(cvt.i64.i32(a),                         'cvt.u64.u32 %d, %{a};',                      when=known_zero(a, 1 << 31)),
    asm(min.f32(max.f32(x := fma.f32(a, b, c), 0.0), 1.0), 'fma.rn.sat.f32 %d, %{a}, %{b}, %{c};', when=never_nan(x)),
    asm(max.f32(a, 0.0),                        'max.f32 %d, %{a}, 0f00000000;',              when=never_nan(a)),
    asm(add.f32(a, 0.0),                        'mov.f32 %d, %{a};',                          when=never_negzero(a)),
    asm(neg.f16x2(a),                           'xor.b32 %d, %{a}, 0x80008000;'),
    asm(sub.u8(a, b),                           'sub.u16 %d, %{a}, %{b};'),
    asm(lt.u8(a, b),                            'setp.lt.u16 %d, %{a}, %{b};'),
    asm(bxor.u8x4(a, b),                        'xor.b32 %d, %{a}, %{b};'),
    llvm(bnot.u32(a),                           'xor(%a, -1)'),
    intr(sub.u32(max.u32(a, b), b),             'llvm.usub.sat'),
]
WRONG = [
    intr(sub.u32(max.u32(a, b), a),             'llvm.usub.sat'),
    intr(bor.u32(shlx.u32(a, 8), shrlx.u32(a, 24)), 'llvm.fshl(%a, %a, 9)'),
    asm(band.u32(shrlx.u32(a, k), 63),          'bfe.u32 %d, %{a}, %{k}, 7;',                 when=(k > 0) & (k < 32)),
    asm(shrax.i32(shlx.i32(a, k), m),           'bfe.u32 %d, %{a}, %{m - k}, %{32 - m};',     when=(k > 0) & (k < m) & (m < 32)),
    asm(shrax.i32(shlx.i32(a, k), m),           'bfe.s32 %d, %{a}, %{m - k}, %{31 - m};',     when=(k > 0) & (k < m) & (m < 31)),
    asm(bor.u32(shlx.u32(a, k), shrlx.u32(a, m)), 'shf.l.wrap.b32 %d, %{a}, %{a}, %{k};',     when=(k > 0) & (k < 32) & (m > 0) & (k + m < 32)),
    asm(bor.u32(shlx.u32(a, k), shrlx.u32(b, m)), 'shf.r.wrap.b32 %d, %{a}, %{b}, %{32 - k};', when=(k > 0) & (k < 32) & (k + m == 32)),
    asm(bor.u32(shrlx.u32(a, 16), band.u32(b, 0xffff0000)), 'prmt.b32 %d, %{a}, %{b}, 0x7623;'),
    asm(band.u32(shrlx.u32(a, k), 255),         'prmt.b32 %d, %{a}, 0, %{0x4440 + k // 4};',  when=(k % 8 == 0) & (k > 0) & (k < 32)),
    asm(bxor.u32(bor.u32(a, b), c),             'lop3.b32 %d, %{a}, %{c}, %{b}, 0x56;'),
    asm(total(*PRODUCTS, c),                    'dp4a.u32.s32 %d, %{a}, %{b}, %{c};'),
    asm(total(*PRODUCTS[:3], c),                'dp4a.u32.u32 %d, %{a}, %{b}, %{c};'),
    asm(total(mul.i32(a, b), c),                'mad.hi.s32 %d, %{a}, %{b}, %{c};'),
    asm(cvt.i64.i32(a),                         'cvt.u64.u32 %d, %{a};',                      when=known_zero(a, 1 << 30)),
    asm(min.f32(max.f32(fma.f32(a, b, c), 0.0), 1.0), 'fma.rn.sat.f32 %d, %{a}, %{b}, %{c};'),
    asm(min.f32(max.f32(fma.f32(a, b, c), 0.0), 1.0), 'fma.rn.sat.f32 %d, %{a}, %{b}, %{c};', when=finite(a)),
    asm(min.f32(max.f32(mul.f32(a, b), 0.0), 1.0), 'mul.rn.sat.f32 %d, %{a}, %{b};',          when=never_nan(a) & never_nan(b)),
    asm(min.f32(max.f32(x := add.f32(a, b), 0.0), 1.0), 'add.rz.sat.f32 %d, %{a}, %{b};',     when=never_nan(x)),
    asm(min.f32(max.f32(x := mul.f32(a, b), 0.0), 2.0), 'mul.rn.sat.f32 %d, %{a}, %{b};',     when=never_nan(x)),
    asm(max.f32(a, 0.0),                        'max.ftz.f32 %d, %{a}, 0f00000000;',          when=never_nan(a)),
    asm(add.f32(a, 0.0),                        'mov.f32 %d, %{a};',                          when=never_nan(a)),
    asm(neg.f16x2(a),                           'xor.b32 %d, %{a}, 0x80000000;'),
    asm(add.f16(a, b),                          'add.rn.ftz.f16 %d, %{a}, %{b};'),
    asm(cvt.f16.f32(a),                         'cvt.rz.f16.f32 %d, %{a};'),
    asm(mul.u32(a, k),                          'shl.b32 %d, %{a}, %{k};',                    when=(k > 1) & (k < 32)),
]
# a kernel of two of the right ones: what the first leaves above a byte is nothing that the second one reads
TOGETHER = """kernel @k(%a: u8[1024], %b: u8[1024], %out: out pred[1024]) block 128 grid 8 {
  let t = 128*bid + tid in 0..1024
  store %out[t], lt.u8(sub.u8(load %a[t], load %b[t]), load %b[t])
}
"""

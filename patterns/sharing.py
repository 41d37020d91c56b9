"""Instructions by which the threads of a warp, or all threads, share values. Those with an address take it from their `do` statement; in a text
of `asm` it is %p, and that of what a copy reads %q. Warps are whole: every mask names all 32 threads."""
from gen.lang import *

SHUFFLES = [
    intr(shuffle_xor.u32(a, b),              'llvm.nvvm.shfl.sync.bfly.i32(i32 -1, %a, %b, i32 31)'),
    intr(shuffle_down.u32(a, b),             'llvm.nvvm.shfl.sync.down.i32(i32 -1, %a, %b, i32 31)'),
    intr(shuffle_up.u32(a, b),               'llvm.nvvm.shfl.sync.up.i32(i32 -1, %a, %b, i32 0)'),
    intr(shuffle_idx.u32(a, b),              'llvm.nvvm.shfl.sync.idx.i32(i32 -1, %a, %b, i32 31)'),
    intr(ballot.u32.pred(a),                 'llvm.nvvm.vote.ballot.sync(i32 -1, %a)'),
]
REDUX = [                                       # from sm_80
    intr(redux_add[t](a),                    'llvm.nvvm.redux.sync.add(%a, i32 -1)') for t in (i32, u32)
] + [
    intr(op[t](a),                           f'llvm.nvvm.redux.sync.{sign}{name}(%a, i32 -1)')
    for t, sign in ((i32, ''), (u32, 'u')) for op, name in ((redux_min, 'min'), (redux_max, 'max'))
] + [
    intr(op.u32(a),                          f'llvm.nvvm.redux.sync.{name}(%a, i32 -1)')
    for op, name in ((redux_and, 'and'), (redux_or, 'or'), (redux_xor, 'xor'))
]
MMA = [                                         # from sm_80: tensor cores
    asm (mma.f32x4.f16x8(a, b, c),           'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %d, %a, %b, %c;'),
    asm (mma.f32x4.bf16x8(a, b, c),          'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 %d, %a, %b, %c;'),
]
MATRICES = [                                    # of shared memory, as tensor cores take them
    asm (read_matrix.f16x8(),                'ldmatrix.sync.aligned.m8n8.x4.shared.b16 %d, [%p];'),
    asm (read_matrix.bf16x8(),               'ldmatrix.sync.aligned.m8n8.x4.shared.b16 %d, [%p];'),
    asm (read_matrix_turned.f16x8(),         'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 %d, [%p];'),
    asm (read_matrix_turned.bf16x8(),        'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 %d, [%p];'),
]
COPIES = [                                      # from sm_80: to shared memory, at %p, from %q, while the thread goes on
    asm (copy_async.f16x8(),                 'cp.async.cg.shared.global [%p], [%q], 16;'),
    asm (copy_async.bf16x8(),                'cp.async.cg.shared.global [%p], [%q], 16;'),
    asm (copy_async.f32x4(),                 'cp.async.cg.shared.global [%p], [%q], 16;'),
    asm (copy_async.f32x2(),                 'cp.async.ca.shared.global [%p], [%q], 8;'),
    asm (copy_async.f32(),                   'cp.async.ca.shared.global [%p], [%q], 4;'),
]
ATOMICS = [
    llvm(atomic_add[t](a),                   'atomicrmw add') for t in (i32, u32, i64, u64)
] + [
    llvm(atomic_add[t](a),                   'atomicrmw fadd') for t in (f32, f64)
] + [
    llvm(op[t](a),                           f'atomicrmw {sign}{name}')
    for t, sign in ((i32, ''), (i64, ''), (u32, 'u'), (u64, 'u')) for op, name in ((atomic_min, 'min'), (atomic_max, 'max'))
] + [
    llvm(op[t](a),                           f'atomicrmw {name}')
    for t in (u32, u64) for op, name in ((atomic_and, 'and'), (atomic_or, 'or'), (atomic_xor, 'xor'), (atomic_exch, 'xchg'))
] + [
    llvm(atomic_cas[t](a, b),                'cmpxchg') for t in (u32, u64)
] + [
    asm (atomic_cas.u16(a, b),               'atom.global.cas.b16 %d, [%p], %a, %b;'),  # LLVM would read the word around it, beyond the buffer
    asm (atomic_add.f16(a),                  'atom.global.add.noftz.f16 %d, [%p], %a;'),
    asm (atomic_add.f16x2(a),                'atom.global.add.noftz.f16x2 %d, [%p], %a;'),
    asm (lock.u32(a),                        'atom.acquire.gpu.global.exch.b32 %d, [%p], %a;'),
    asm (unlock.u32(a),                      'atom.release.gpu.global.exch.b32 %d, [%p], %a;'),
    asm (ticket.u32(a),                      'atom.acq_rel.gpu.global.inc.u32 %d, [%p], %a;'),
]

ATOMICS_90 = [
    asm (atomic_cas.u64x2(a, b),             '{ .reg .b128 x, y, z; mov.b128 x, %a; mov.b128 y, %b; atom.global.cas.b128 z, [%p], x, y; mov.b128 %d, z; }'),
    asm (atomic_add.bf16(a),                 'atom.global.add.noftz.bf16 %d, [%p], %a;'),
    asm (atomic_add.bf16x2(a),               'atom.global.add.noftz.bf16x2 %d, [%p], %a;'),
    asm (atomic_add.f32x2(a),                'atom.global.add.v2.f32 %d, [%p], %a;'),
    asm (atomic_add.f32x4(a),                'atom.global.add.v4.f32 %d, [%p], %a;'),
    asm (atomic_add.f16x4(a),                'atom.global.add.noftz.v2.f16x2 %d, [%p], %a;'),
    asm (atomic_add.f16x8(a),                'atom.global.add.noftz.v4.f16x2 %d, [%p], %a;'),
    asm (atomic_add.bf16x4(a),               'atom.global.add.noftz.v2.bf16x2 %d, [%p], %a;'),
    asm (atomic_add.bf16x8(a),               'atom.global.add.noftz.v4.bf16x2 %d, [%p], %a;'),
]
ATOMIC_LANES = packed(f16, 2, atomic_add)       # neighbours of a vector in memory, by one instruction
ATOMIC_LANES_90 = [packed(f32, 2, atomic_add), packed(f32, 4, atomic_add), packed(f16, 4, atomic_add), packed(f16, 8, atomic_add),
                   packed(bf16, 2, atomic_add), packed(bf16, 4, atomic_add), packed(bf16, 8, atomic_add)]

ALL = SHUFFLES + ATOMICS

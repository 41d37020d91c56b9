"""Right rules on indices. The idea of each is a rule of LLVM's InstCombine on unsigned or signed quotients, said for floor quotients."""
from gen.lang import *

ALL = [
    rewrite((i*k + rest) // k,                  i + rest // k),                         # InstCombineMulDivRem.cpp: (X * C) / C
    rewrite((i*k + rest) % k,                   rest % k),                              # the same file: (X * C) % C
    rewrite((n // k) // m,                      n // (k*m)),                            # (X / C1) / C2
    rewrite((n % k) % m,                        n % m,                  when=k % m == 0),
    rewrite(n // k,                             0,                      when=within(n, 0, k)),
    rewrite(n % k,                              n,                      when=within(n, 0, k)),
    rewrite(min.index(min.index(n, k), m),      min.index(n, m),        when=m < k),    # InstCombineCalls.cpp: min of a min with a constant
    rewrite(lt.index(n // k, 0),                lt.index(n, 0)),                        # InstCombineCompares.cpp, foldICmpDivConstant
]

"""Operations on numbers of the text: `literal` and `power_of_two` bind them, and what a rule computes of them alone is a number again."""
from gen.lang import *

ALL = [                                      # of bf16 a quotient by 2^k took two operations of f64 and their conversions; --backend ptx divided
    rewrite(div[F](a, b),                    mul[F](a, div[F](1.0, b)),  when=power_of_two(b)),
]

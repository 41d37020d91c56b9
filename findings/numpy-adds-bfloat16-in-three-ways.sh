#!/usr/bin/env bash
# Guess: the sum, the mean and the product of bfloat16 arrays are computed alike, as float16's are: `mean` in float32, sums in pairs, and a product of matrices has the type of its operands.
# Seen: with ml_dtypes 0.6.0 and NumPy 2.4.6 the sum of 1,000 ones in bfloat16 is 256 (each partial sum rounds, one after another), so their mean is 0.2559 and their variance
#       not 0, where float16 says 1000, 1 and 0. `numpy.dot` of the same ones is 1000 (the terms add in float32) in bfloat16; `@` of the same matrices is 1000 in *float32*.
#       In float8_e4m3fn the sum is 16, and dot gives nan (1000 is beyond its range), where `@` says 1000.
# Matters: a row's mean, a norm or a softmax computed by NumPy is no reference for a bfloat16 kernel; and a product's type depends on which of two spellings a trace meets.
. "$(dirname "$0")/tools.sh"
install packages numpy==2.4.6 ml_dtypes==0.6.0
seen() { PYTHONPATH="$work/packages" python3 -W ignore - "$1" "$2" <<'PY'
import sys, numpy, ml_dtypes
t = numpy.dtype(getattr(ml_dtypes, sys.argv[1], sys.argv[1]))
x = numpy.ones(1000, t)
y = numpy.asarray(eval(sys.argv[2]))
print(f"{float(y.ravel()[0]):.4g}", y.dtype)
PY
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: NumPy 2.4 needs Python 3.11 or newer"; exit 0; }
expect "float16, sum" "$(seen float16 'x.sum()')" "1000 float16"
expect "float16, mean" "$(seen float16 'x.mean()')" "1 float16"
expect "float16, @" "$(seen float16 'x[None] @ x[:, None]')" "1000 float16"
expect "bfloat16, sum" "$(seen bfloat16 'x.sum()')" "256 bfloat16"
expect "bfloat16, mean" "$(seen bfloat16 'x.mean()')" "0.2559 bfloat16"
expect "bfloat16, var" "$(seen bfloat16 'x.var()')" "0.2559 bfloat16"
expect "bfloat16, dot" "$(seen bfloat16 'numpy.dot(x, x)')" "1000 bfloat16"
expect "bfloat16, @" "$(seen bfloat16 'x[None] @ x[:, None]')" "1000 float32"
expect "float8_e4m3fn, sum" "$(seen float8_e4m3fn 'x.sum()')" "16 float8_e4m3fn"
expect "float8_e4m3fn, dot" "$(seen float8_e4m3fn 'numpy.dot(x, x)')" "nan float8_e4m3fn"
expect "float8_e4m3fn, @" "$(seen float8_e4m3fn 'x[None] @ x[:, None]')" "1000 float32"
verdict

#!/usr/bin/env bash
# Guess: a Python number takes the type of the small-float array beside it, as it does with float16; at least `numpy.result_type` says what the operation gives.
# Seen: with ml_dtypes 0.6.0 and NumPy 2.4.6 `bfloat16 * 1.5` is float32 (`* 2` stays bfloat16), `int4 * 2` is int8 and `int4 * 1.5` is float16. `numpy.result_type`
#       of a bfloat16 or float8_e4m3fn array and 1.5 says float64, of float8_e5m2 float32; the ufunc's own resolve_dtypes agrees with the operation.
# Matters: whoever traces NumPy code to a compiler's types must ask the ufunc, and Python literals widen bf16 kernels to f32 unless it gives them the array's type itself.
. "$(dirname "$0")/tools.sh"
install packages numpy==2.4.6 ml_dtypes==0.6.0
seen() { PYTHONPATH="$work/packages" python3 - "$1" "$2" <<'PY'
import sys, numpy, ml_dtypes
kind = sys.argv[1]
number = eval(sys.argv[2])
t = numpy.dtype(getattr(ml_dtypes, kind, kind))
x = numpy.ones(2, t)
print((x * number).dtype, numpy.result_type(x, number), numpy.multiply.resolve_dtypes((t, type(number), None))[2])
PY
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: NumPy 2.4 needs Python 3.11 or newer"; exit 0; }
expect "float16 * 1.5: result, result_type, ufunc" "$(seen float16 1.5)" "float16 float16 float16"
expect "bfloat16 * 2" "$(seen bfloat16 2)" "bfloat16 bfloat16 bfloat16"
expect "bfloat16 * 1.5" "$(seen bfloat16 1.5)" "float32 float64 float32"
expect "float8_e4m3fn * 1.5" "$(seen float8_e4m3fn 1.5)" "float32 float64 float32"
expect "float8_e5m2 * 1.5" "$(seen float8_e5m2 1.5)" "float32 float32 float32"
expect "int4 * 2" "$(seen int4 2)" "int8 int8 int8"
expect "int4 * 1.5" "$(seen int4 1.5)" "float16 float16 float16"
verdict

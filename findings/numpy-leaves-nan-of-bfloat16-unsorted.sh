#!/usr/bin/env bash
# Guess: `numpy.sort` puts nan last in arrays of small floats, as it does in float16, float32 and float64, and the numbers before it are in order.
# Seen: with ml_dtypes 0.6.0 and NumPy 2.4.6 an array of bfloat16 or float8 that holds nan comes back out of order, numbers among them: in a short array each
#       nan is a wall that nothing crosses. `unique` (which sorts) keeps what is there twice, `partition` leaves the least where it was. argmax and argmin are as in float16.
# Matters: whoever holds a GPU's sort, top-k, median or unique of bfloat16 against NumPy has a wrong reference on the first nan; by way of float32 it is right.
. "$(dirname "$0")/tools.sh"
install packages numpy==2.4.6 ml_dtypes==0.6.0
seen() { PYTHONPATH="$work/packages" python3 - "$1" "$2" <<'PY'
import sys, numpy, ml_dtypes
t = numpy.dtype(getattr(ml_dtypes, sys.argv[1], sys.argv[1]))
x = numpy.array([3, numpy.nan, 1, numpy.nan, 2, 3, 0.5], numpy.float32).astype(t)
print(*(f"{v:g}" for v in numpy.ravel(eval(sys.argv[2])).astype(numpy.float32)))
PY
}
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: NumPy 2.4 needs Python 3.11 or newer"; exit 0; }
expect "float16, sort" "$(seen float16 'numpy.sort(x)')" "0.5 1 2 3 3 nan nan"
for t in bfloat16 float8_e4m3fn float8_e5m2; do
    expect "$t, sort" "$(seen $t 'numpy.sort(x)')" "3 nan 1 nan 0.5 2 3"
    expect "$t, sort(kind='stable')" "$(seen $t 'numpy.sort(x, kind="stable")')" "3 nan 1 nan 0.5 2 3"
done
expect "bfloat16, by way of float32" "$(seen bfloat16 'numpy.sort(x.astype(numpy.float32))')" "0.5 1 2 3 3 nan nan"
expect "float16, unique" "$(seen float16 'numpy.unique(x)')" "0.5 1 2 3 nan"
expect "bfloat16, unique" "$(seen bfloat16 'numpy.unique(x)')" "3 nan 1 nan 0.5 2 3"
expect "float16, partition(x, 0)[0]" "$(seen float16 'numpy.partition(x, 0)[0]')" "0.5"
expect "bfloat16, partition(x, 0)[0]" "$(seen bfloat16 'numpy.partition(x, 0)[0]')" "3"
expect "bfloat16, argmax" "$(seen bfloat16 'numpy.argmax(x)')" "1"
verdict

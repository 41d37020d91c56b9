/* hlo_verify: each check of elementwise operations, moves and reductions, by a text that it refuses, with the message and its place. */
#include "hlo_texts.h"

static void test_elements(void **state)
{
    static const Bad bad[] = {
        {P8 "r = s32[8] is-finite(p)",
         "2:12: error: is-finite: the result has shape s32[8], element type pred expected"},
        {"p = s32[8] parameter(0)\nr = pred[8] is-finite(p)",
         "2:13: error: is-finite: operand 0 has shape s32[8], a float or a complex type expected"},
        {P8 "r = f32[8] shift-left(p, p)",
         "2:12: error: shift-left: operand 0 has shape f32[8], an integer type expected"},
        {"p = pred[8] parameter(0)\nr = pred[8] negate(p)",
         "2:13: error: negate: operand 0 has shape pred[8], a number type expected"},
        {"p = c64[8] parameter(0)\nr = c64[8] maximum(p, p)",
         "2:12: error: maximum: operand 0 has shape c64[8], a real or pred type expected"},
        {"p = c64[8] parameter(0)\nr = pred[8] compare(p, p), direction=LT",
         "2:13: error: compare: operand 0 has shape c64[8], a real or pred type expected"},
        {"p = c64[8] parameter(0)\nr = f32[8] convert(p)",
         "2:12: error: convert: a complex operand, but a result of shape f32[8]"},
        {"p = c64[8] parameter(0)\nr = f64[8] abs(p)",
         "2:12: error: abs: the result has shape f64[8], element type f32 expected"},
        {"p = f16[8] parameter(0)\nr = c64[8] complex(p, p)",
         "2:12: error: complex: operand 0 has shape f16[8], type f32 or f64 expected"},
        {P8 "r = f32[8] reduce-precision(p), exponent_bits=0, mantissa_bits=7",
         "2:12: error: reduce-precision: 0 exponent and 7 mantissa bits"},
        {P8 "u = u16[8] parameter(1)\nr = bf16[8] stochastic-convert(p, u)",
         "3:13: error: stochastic-convert: operand 1 has shape u16[8], unsigned integers of 32 bits expected"},
        {P8 "q = (f32[8]) parameter(1)\nc = pred[] parameter(2)\nr = (f32[8]) select(c, q, q)",
         "4:14: error: select: a tuple cannot be selected"},
        {P8 "r = s32[8] bitcast-convert(p)\ns = f32[8] clamp(r, p, r)",
         "3:12: error: clamp: operand 0 has shape s32[8], f32[8] expected"},
        {P8 "t = tuple(p)\nr = negate(t)",
         "3:5: error: negate: operand 0 is a tuple, an array expected"},
        {"p = token[] parameter(0)\nr = s32[] convert(p)",
         "2:11: error: convert: operand 0 has shape token[], a number or pred type expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_moves(void **state)
{
    static const Bad bad[] = {
        {P8 "r = f16[8] broadcast(p), dimensions={0}",
         "2:12: error: broadcast: the result has shape f16[8], element type f32 expected"},
        {P8 "r = (f32[8]) reshape(p)",
         "2:14: error: reshape: the result is a tuple, an array expected"},
        {P8 "r = f16[8] reshape(p)",
         "2:12: error: reshape: the result has shape f16[8], element type f32 expected"},
        {P8 "n = f32[] constant(8)\nr = f32[8] dynamic-reshape(p, n)",
         "3:12: error: dynamic-reshape: operand 1 has shape f32[], s32[] expected"},
        {P8 "r = f32[8] slice(p), slice={[0:8],[0:1]}",
         "2:12: error: slice: slice names 2 dimensions, the operand f32[8] has 1"},
        {P8 "r = f32[2] slice(p), slice={[0:8:0]}",
         "2:12: error: slice: dimension 0 is sliced [0:8:0], but has size 8"},
        {P24 "r = f32[4,2] transpose(p), dimensions={1}",
         "2:14: error: transpose: dimensions names 1 dimensions, the operand f32[2,4] has 2"},
        {P24 "r = f32[4,4] concatenate(p, p), dimensions={0,1}",
         "2:14: error: concatenate: dimensions names 2 dimensions, one expected"},
        {P24 "q = f32[2,5] parameter(1)\nr = f32[4,4] concatenate(p, q), dimensions={0}",
         "3:14: error: concatenate: operand 1 has shape f32[2,5], which does not join f32[2,4] along dimension 0"},
        {P8 "z = s32[] constant(0)\nr = f32[8] pad(p, z), padding=0_0",
         "3:12: error: pad: operand 1 has shape s32[], f32[] expected"},
        {P8 "z = f32[] constant(0)\nr = f32[8] pad(p, z), padding=0_0_-1",
         "3:12: error: pad: the interior padding of dimension 0 is -1"},
        {P8 "z = f32[] constant(0)\nr = f32[2] dynamic-slice(p, z), dynamic_slice_sizes={2}",
         "3:12: error: dynamic-slice: operand 1 has shape f32[], an integer scalar expected"},
        {P8 "z = s32[] constant(0)\nr = f32[2] dynamic-slice(p, z)",
         "3:12: error: dynamic-slice: the attribute dynamic_slice_sizes= is missing"},
        {P8 "z = s32[] constant(0)\nq = f32[9] parameter(1)\nr = f32[8] dynamic-update-slice(p, q, z)",
         "4:12: error: dynamic-update-slice: operand 1 has shape f32[9], which does not fit into f32[8]"},
        {P8 "r = s64[] get-dimension-size(p), dimensions={0}",
         "2:11: error: get-dimension-size: the result has shape s64[], element type s32 expected"},
        {P8 "z = s64[] constant(0)\nr = f32[<=8] set-dimension-size(p, z), dimensions={0}",
         "3:14: error: set-dimension-size: operand 1 has shape s64[], s32[] expected"},
        {P8 "r = f32[8] get-dimension-size(p), dimensions={1}",
         "2:12: error: get-dimension-size: dimensions names dimension 1 of 1"},
        {"r = pred[8] iota(), iota_dimension=0",
         "1:13: error: iota: the result has shape pred[8], numbers expected"},
        {P8 "r = (f32[8]) bitcast(p)",
         "2:14: error: bitcast: the result has shape (f32[8]), f32[8] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_indexed(void **state)
{
    static const Bad bad[] = {
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, slice_sizes={4,8}",
         "3:5: error: gather: the attribute index_vector_dim= is missing"},
        {"p = f32[30,20] parameter(0)\nq = f32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:5: error: gather: operand 1 has shape f32[10,2], integers expected"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,3] parameter(1)\nr = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:5: error: gather: start_index_map names 2 dimensions, an index has 3"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={2,1}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:5: error: gather: offset_dims does not ascend"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=3, slice_sizes={4,8}",
         "3:5: error: gather: index_vector_dim is 3, the indices s32[10,2] have 2 dimensions"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1}, "
         "collapsed_slice_dims={0}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:5: error: gather: dimension 0 is dropped with slice size 4"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1}, collapsed_slice_dims={}, "
         "start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}",
         "3:5: error: gather: offset_dims names 1 dimensions, a slice keeps 2"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nr = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={31,8}",
         "3:5: error: gather: slice size 31 of dimension 0, which has 30"},
        {"p = f32[3,20] parameter(0)\nq = s32[4,1] parameter(1)\nr = gather(p, q), offset_dims={1}, collapsed_slice_dims={}, "
         "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
         "slice_sizes={1,8}",
         "3:5: error: gather: batching dimension 0 of the operand f32[3,20] is paired with dimension 0 of the indices "
         "s32[4,1]"},
        {"p = f32[3,20] parameter(0)\nq = s32[3,1] parameter(1)\nr = gather(p, q), offset_dims={1}, collapsed_slice_dims={}, "
         "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={}, index_vector_dim=1, "
         "slice_sizes={1,8}",
         "3:5: error: gather: 1 batching dimensions of the operand, 0 of the indices"},
        {"p = f32[3,20] parameter(0)\nq = s32[3,1] parameter(1)\nr = gather(p, q), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
         "slice_sizes={1,8}",
         "3:5: error: gather: collapsed_slice_dims and operand_batching_dims both name dimension 0"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: the attribute scatter_dims_to_operand_dims= is missing"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,9] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: operand 2 has shape f32[3,9]: dimension 1 is 9, at most 8 expected"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[4,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: operand 2 has shape f32[4,8]: dimension 0 is 4, 3 expected"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = s32[3,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: operand 2 has shape s32[3,8], element type f32 expected"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: operand 2 has shape f32[3], 2 dimensions expected"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: update_window_dims names 1 dimensions, the window in f32[5,8] has 2"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=m "
         "}",
         "6:5: error: scatter: scatter_dims_to_operand_dims names 2 dimensions, an index has 1"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,8] parameter(2)\nr = scatter(p, q, u), "
         "update_window_dims={1}, inserted_window_dims={5}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: inserted_window_dims names dimension 5 of 2"},
        {ADD E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nr = scatter(p, q), update_window_dims={1}, "
         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "5:5: error: scatter: 2 operands found, as many updates as inputs and the indices expected"},
        {"m { a = f32[] parameter(0) }\n" E "p = f32[5,8] parameter(0)\nq = s32[3,1] parameter(1)\nu = f32[3,8] "
         "parameter(2)\nr = scatter(p, q, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }",
         "6:5: error: scatter: 'm' has 1 parameters, 2 expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_reductions(void **state)
{
    static const Bad bad[] = {
        {ADD E P8 "r = f32[] reduce(p), dimensions={0}, to_apply=m }",
         "4:11: error: reduce: 1 operands found, as many inputs as initial values expected"},
        {ADD E P8 "z = f32[1] constant({0})\nr = f32[] reduce(p, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: operand 1 has shape f32[1], f32[] expected"},
        {ADD E P8 "z = s32[] constant(0)\nr = f32[] reduce(p, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: operand 1 has shape s32[], f32[] expected"},
        {ADD E P8 "z = f32[] constant(0)\nr = f32[] reduce(p, z), dimensions={1}, to_apply=m }",
         "5:11: error: reduce: dimensions names dimension 1 of 1"},
        {"m { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = add(a, b) }\n" E P8 "z = f32[] constant(0)\nr = f32[] "
         "reduce(p, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: parameter 0 of 'm' has shape s32[], f32[] expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = tuple(a, b) }\n" E P8 "z = f32[] constant(0)\nr = f32[] "
         "reduce(p, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: 'm' returns (f32[], f32[]), f32[] expected"},
        {ADD E P8 "z = f32[] constant(0)\nr = (f32[], f32[]) reduce(p, p, z, z), dimensions={0}, to_apply=m }",
         "5:20: error: reduce: 'm' has 2 parameters, 4 expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3) ROOT s = add(a, b) "
         "}\n" E P8 "z = f32[] constant(0)\nr = (f32[], f32[]) reduce(p, p, z, z), dimensions={0}, to_apply=m }",
         "5:20: error: reduce: 'm' returns f32[], a tuple of 2 scalars expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3) ROOT s = tuple(a, b) "
         "}\n" E P8 "z = f32[] constant(0)\nr = f32[] reduce(p, p, z, z), dimensions={0}, to_apply=m }",
         "5:11: error: reduce: the result has shape f32[], a tuple of 2 expected"},
        {ADD E P8 "z = f32[] constant(0)\nr = reduce-window(p, z), window={size=3x3}, to_apply=m }",
         "5:5: error: reduce-window: window names 2 dimensions, the operand f32[8] has 1"},
        {ADD E P8 "z = f32[] constant(0)\nr = reduce-window(p, z), window={size=0}, to_apply=m }",
         "5:5: error: reduce-window: size, stride and dilation of a window are at least 1: dimension 0"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[3] parameter(1)\nr = select-and-scatter(p, q, z), window={size=2 "
         "stride=2}, select=l, scatter=m }",
         "7:5: error: select-and-scatter: operand 1 has shape f32[3], f32[4] expected"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[4] parameter(1)\nr = select-and-scatter(p, q, z), window={size=2 "
         "stride=2}, select=m, scatter=m }",
         "7:5: error: select-and-scatter: 'm' returns f32[], pred[] expected"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[4] parameter(1)\nr = select-and-scatter(p, q, z), window={size=2 "
         "stride=2}, select=l }",
         "7:5: error: select-and-scatter: 1 computations are named, one for select= and one for scatter= expected"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[4] parameter(1)\nr = select-and-scatter(p, q, z), select=l, scatter=m }",
         "7:5: error: select-and-scatter: window names 0 dimensions, the operand f32[8] has 1"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[4] parameter(1)\nr = select-and-scatter(p, q, z), window={size=2 "
         "rhs_dilate=2}, select=l, scatter=m }",
         "7:5: error: select-and-scatter: the window is dilated: dimension 0"},
        {ADD LT E P8 "z = s32[] constant(0)\nq = f32[4] parameter(1)\nr = select-and-scatter(p, q, z), window={size=2 "
         "stride=2}, select=l, scatter=m }",
         "7:5: error: select-and-scatter: operand 2 has shape s32[], f32[] expected"},
        {LT E P8 "r = sort(p), to_apply=l }",
         "4:5: error: sort: the attribute dimensions= is missing"},
        {LT E P8 "r = sort(p), dimensions={1}, to_apply=l }",
         "4:5: error: sort: dimensions names dimension 1 of 1"},
        {ADD E P8 "r = sort(p), dimensions={0}, to_apply=m }",
         "4:5: error: sort: 'm' returns f32[], pred[] expected"},
        {LT E P8 "q = s32[8] parameter(1)\nr = sort(p, q), dimensions={0}, to_apply=l }",
         "5:5: error: sort: 'l' has 2 parameters, 4 expected"},
        {LT E P8 "q = s32[7] parameter(1)\nr = sort(p, q), dimensions={0}, to_apply=l }",
         "5:5: error: sort: operand 1 has shape s32[7], s32[8] expected"},
        {LT E P8 "r = s32[8] sort(p), dimensions={0}, to_apply=l }",
         "4:12: error: sort: the result has shape s32[8], f32[8] expected"},
        {ADD E P8 "r = map(p), dimensions={0}, to_apply=m }",
         "4:5: error: map: 'm' has 2 parameters, 1 expected"},
        {ADD E P8 "q = f32[7] parameter(1)\nr = map(p, q), to_apply=m }",
         "5:5: error: map: operand 1 has shape f32[7], f32[8] expected"},
        {ADD E P8 "q = s32[8] parameter(1)\nr = map(p, q), to_apply=m }",
         "5:5: error: map: parameter 1 of 'm' has shape f32[], s32[] expected"},
        {ADD E P8 "r = f64[8] map(p, p), to_apply=m }",
         "4:12: error: map: the result has shape f64[8], element type f32 expected"},
        {ID E P8 "r = map(p), to_apply=i }",
         "4:5: error: map: parameter 0 of 'i' has shape f32[8], f32[] expected"},
        {P8 "r = topk(p), k=9, largest=true",
         "2:5: error: topk: k is 9 for rows of f32[8]"},
        {P8 "r = (f32[3], s32[2]) topk(p), k=3, largest=true",
         "2:22: error: topk: element 1 of the result has shape s32[2], s32[3] expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) ROOT t = tuple(a, b) }\n" E P8 "z = f32[] constant(0)\nr = "
         "(f32[8], f32[]) scan(p, z), dimensions={0}, num_carries=3, to_apply=m }",
         "5:21: error: scan: num_carries is 3 of 2 operands"},
        {"m { a = f32[8] parameter(0) b = f32[] parameter(1) ROOT t = tuple(a, b) }\n" E P8 "z = f32[] constant(0)\nr = "
         "(f32[8], f32[]) scan(p, z), dimensions={0}, num_carries=1, to_apply=m }",
         "5:21: error: scan: parameter 0 of 'm' has shape f32[8], f32[] expected"},
        {"m { a = f32[] parameter(0) b = f32[] parameter(1) ROOT t = tuple(a, b) }\n" E P8 "z = f32[] constant(0)\nr = "
         "(f32[8], f32[8]) scan(p, z), dimensions={0}, num_carries=1, to_apply=m }",
         "5:22: error: scan: element 1 of what 'm' returns has shape f32[], f32[8] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_elements), TEST(test_moves), TEST(test_indexed), TEST(test_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

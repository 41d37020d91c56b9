/* hlo_verify_library: each check of library operations, calls and communication, by a text that it refuses, with the message and its place. */
#include "hlo_texts.h"

static void test_library(void **state)
{
    static const Bad bad[] = {
        {P24 "q = f32[5,3] parameter(1)\nr = dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "3:5: error: dot: contracting dimension 1 of f32[2,4] is paired with dimension 0 of f32[5,3]"},
        {P24 "q = f32[4,3] parameter(1)\nr = f32[2,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "3:14: error: dot: the result has shape f32[2,4], f32[2,3] expected"},
        {P24 "q = f32[4,3] parameter(1)\nr = dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={}",
         "3:5: error: dot: 1 contracting dimensions of f32[2,4], 0 of f32[4,3]"},
        {P24 "q = f32[4,3] parameter(1)\nr = dot(p, q), lhs_contracting_dims={2}, rhs_contracting_dims={0}",
         "3:5: error: dot: lhs_contracting_dims names dimension 2 of 2"},
        {P24 "q = f32[2,3] parameter(1)\nr = dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={0}, "
         "rhs_contracting_dims={0}",
         "3:5: error: dot: lhs_batch_dims and lhs_contracting_dims both name dimension 0"},
        {P24 "q = f32[3,4] parameter(1)\nr = dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
         "rhs_contracting_dims={1}",
         "3:5: error: dot: batch dimension 0 of f32[2,4] is paired with dimension 0 of f32[3,4]"},
        {P24 "q = f32[4,3] parameter(1)\nr = s32[2,3] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "3:14: error: dot: the result has shape s32[2,3], which cannot hold products of f32[2,4] and f32[4,3]"},
        {P24 "q = f32[4,3] parameter(1)\nr = dot(p, q, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "3:5: error: dot: 3 operands found, 2 expected"},
        {P24 "q = (f32[4,3]) parameter(1)\nr = dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "3:5: error: dot: operand 1 is a tuple, an array expected"},
        {"p = f32[11,5] parameter(0)\nq = f32[3,5,7] parameter(1)\ng = f32[3] parameter(2)\nr = ragged-dot(p, q, g), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
         "4:5: error: ragged-dot: operand 2 has shape f32[3], an integer type expected"},
        {"p = f32[11,5] parameter(0)\nq = f32[3,5,7] parameter(1)\ng = s32[3] parameter(2)\nr = ragged-dot(p, q, g), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={1}, rhs_group_dims={0}",
         "4:5: error: ragged-dot: lhs_ragged_dims names 0 dimensions, one expected"},
        {P24 "r = scaled-dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
         "2:5: error: scaled-dot: 2 operands found, at least 3 expected"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}",
         "3:19: error: convolution: the attribute dim_labels= is missing"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}, dim_labels=b01f_01io->b1f",
         "3:19: error: convolution: dim_labels=b01f_01io->b1f, a form like b01f_01io->b01f expected"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}, dim_labels=b0f_0io->b0f",
         "3:19: error: convolution: dim_labels=b0f_0io->b0f for f32[1,8,8,3] and f32[3,3,3,16] with a window of 2 dimensions"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=2x3}, dim_labels=b01f_01io->b01f",
         "3:19: error: convolution: the window has size 2 in dimension 0, operand 1 has shape f32[3,3,3,16]"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=3",
         "3:19: error: convolution: feature_group_count is 3, which does not divide the number of output features, 16"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=2",
         "3:19: error: convolution: feature_group_count is 2, which does not divide the number of input features, 3"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,6,6,16] convolution(x, k), "
         "window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=2",
         "3:19: error: convolution: batch_group_count is 2, which does not divide the batch, 1"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,8,6,16] convolution(x, k), window={size=3x3 "
         "pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
         "3:19: error: convolution: the result has shape f32[1,8,6,16], f32[1,8,8,16] expected"},
        {"x = f32[1,8,8,3] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nr = f32[1,8,8,16] convolution(x, k), window={size=3x3 "
         "stride=0x1}, dim_labels=b01f_01io->b01f",
         "3:19: error: convolution: size, stride and dilation of a window are at least 1: dimension 0"},
        {P8 "r = fft(p), fft_type=FFT, fft_length={8}",
         "2:5: error: fft: operand 0 has shape f32[8], a complex type expected"},
        {P8 "r = fft(p), fft_type=RFFT, fft_length={7}",
         "2:5: error: fft: dimension 0 of f32[8], 7 expected"},
        {P8 "r = fft(p), fft_type=DCT, fft_length={8}",
         "2:5: error: fft: fft_type is DCT, FFT, IFFT, RFFT or IRFFT expected"},
        {P8 "r = c64[8] fft(p), fft_type=RFFT, fft_length={8}",
         "2:12: error: fft: the result has shape c64[8], c64[5] expected"},
        {P8 "r = fft(p), fft_type=RFFT, fft_length={8,8}",
         "2:5: error: fft: fft_length names 2 dimensions of f32[8], 1 to 3 expected"},
        {P8 "r = fft(p), fft_length={8}",
         "2:5: error: fft: fft_type and fft_length are needed"},
        {P24 "r = cholesky(p), lower=true",
         "2:5: error: cholesky: operand 0 has shape f32[2,4], square matrices expected"},
        {"p = s32[4,4] parameter(0)\nr = cholesky(p), lower=true",
         "2:5: error: cholesky: operand 0 has shape s32[4,4], a float or a complex type expected"},
        {"p = f32[4,4] parameter(0)\nq = f32[3,4] parameter(1)\nr = triangular-solve(p, q), left_side=true, lower=true, "
         "unit_diagonal=false, transpose_a=NO_TRANSPOSE",
         "3:5: error: triangular-solve: operand 1 has shape f32[3,4], which does not fit the matrices f32[4,4]"},
        {"p = f32[4,4] parameter(0)\nq = f32[4,3] parameter(1)\nr = triangular-solve(p, q), left_side=true, transpose_a=MAYBE",
         "3:5: error: triangular-solve: transpose_a is MAYBE, NO_TRANSPOSE, TRANSPOSE or ADJOINT expected"},
        {P24 "s = f32[4] parameter(1)\nr = batch-norm-training(p, s, s), epsilon=1e-5, feature_index=0",
         "3:5: error: batch-norm-training: operand 1 has shape f32[4], f32[2] expected"},
        {P24 "s = f32[4] parameter(1)\nr = batch-norm-training(p, s, s), epsilon=1e-5, feature_index=2",
         "3:5: error: batch-norm-training: feature_index is 2, f32[2,4] has 2 dimensions"},
        {P24 "s = f32[4] parameter(1)\nr = batch-norm-training(p, s, s), feature_index=1",
         "3:5: error: batch-norm-training: epsilon and feature_index are needed"},
        {P24 "s = f32[4] parameter(1)\nr = (f32[2,4], f32[4], f32[2]) batch-norm-training(p, s, s), epsilon=1e-5, "
         "feature_index=1",
         "3:32: error: batch-norm-training: element 2 of the result has shape f32[2], f32[4] expected"},
        {P24 "s = f32[4] parameter(1)\nr = f32[2,5] batch-norm-inference(p, s, s, s, s), epsilon=1e-5, feature_index=1",
         "3:14: error: batch-norm-inference: the result has shape f32[2,5], f32[2,4] expected"},
        {P24 "s = f32[4] parameter(1)\nr = batch-norm-grad(p, s, s, s, s), epsilon=1e-5, feature_index=1",
         "3:5: error: batch-norm-grad: operand 4 has shape f32[4], f32[2,4] expected"},
        {"c = f32[] constant(0)\nr = f32[8] rng(c), distribution=rng_uniform",
         "2:12: error: rng: 1 operands found, 2 expected"},
        {"c = s32[] constant(0)\nr = f32[8] rng(c, c), distribution=rng_uniform",
         "2:12: error: rng: operand 0 has shape s32[], f32[] expected"},
        {"c = f32[] constant(0)\nr = f32[8] rng(c, c), distribution=rng_zipf",
         "2:12: error: rng: distribution is rng_zipf, rng_uniform or rng_normal expected"},
        {"s = u64[2] parameter(0)\nr = u32[8] rng-bit-generator(s), algorithm=rng_default",
         "2:12: error: rng-bit-generator: the result has shape u32[8], a tuple of the state and the bits expected"},
        {"s = u64[2] parameter(0)\nr = (u64[3], u32[8]) rng-bit-generator(s), algorithm=rng_default",
         "2:22: error: rng-bit-generator: element 0 of the result has shape u64[3], u64[2] expected"},
        {"s = u64[2] parameter(0)\nr = (u64[2], u32[8]) rng-bit-generator(s), algorithm=rng_dice",
         "2:22: error: rng-bit-generator: algorithm is rng_dice, rng_default, rng_philox or rng_three_fry expected"},
        {"r = u64[3] rng-get-and-update-state(), delta=1",
         "1:12: error: rng-get-and-update-state: the result has shape u64[3], u64[2] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_control(void **state)
{
    static const Bad bad[] = {
        {ID E P8 "r = f32[8] fusion(p), kind=kBig, calls=i }",
         "4:12: error: fusion: kind is kBig, kLoop, kInput, kOutput or kCustom expected"},
        {ID E P8 "r = f32[7] call(p), to_apply=i }",
         "4:12: error: call: the result has shape f32[7], f32[8] expected"},
        {ID E P8 "r = call(p, p), to_apply=i }",
         "4:5: error: call: 2 operands found, 'i' has 1 parameters"},
        {"b { ROOT a = f32[8] parameter(0) }\nc { a = f32[8] parameter(0) ROOT t = pred[] constant(1) }\n" E "p = f32[7] "
         "parameter(0)\nr = while(p), condition=c, body=b }",
         "5:5: error: while: the parameter of the condition has shape f32[8], f32[7] expected"},
        {"b { ROOT a = f32[8] parameter(0) }\nc { a = f32[8] parameter(0) ROOT t = pred[1] constant({1}) }\n" E P8
         "r = while(p), condition=c, body=b }",
         "5:5: error: while: the condition has shape pred[1], pred[] expected"},
        {"b { a = f32[8] parameter(0) ROOT r = f32[7] constant({...}) }\nc { a = f32[8] parameter(0) ROOT t = pred[] "
         "constant(1) }\n" E P8 "r = while(p), condition=c, body=b }",
         "5:5: error: while: the root of the body has shape f32[7], f32[8] expected"},
        {"b { ROOT a = f32[8] parameter(0) }\n" E P8 "r = while(p), body=b }",
         "4:5: error: while: 1 computations are named, a condition and a body expected"},
        {ID E P8 "c = f32[] constant(1)\nr = conditional(c, p, p), branch_computations={i, i} }",
         "5:5: error: conditional: operand 0 has shape f32[], pred[] or s32[] expected"},
        {ID E P8 "c = pred[] constant(1)\nr = conditional(c, p), branch_computations={i, i} }",
         "5:5: error: conditional: 2 computations are named for 2 operands"},
        {ID E P8 "c = pred[] constant(1)\nr = conditional(c, p, p, p), branch_computations={i, i, i} }",
         "5:5: error: conditional: 3 branches for a pred, two expected"},
        {ID E P8 "q = f32[7] parameter(1)\nc = pred[] constant(1)\nr = conditional(c, p, q), branch_computations={i, i} }",
         "6:5: error: conditional: operand 2 has shape f32[7], f32[8] expected"},
        {ID "k { ROOT a = f32[7] parameter(0) }\n" E P8 "q = f32[7] parameter(1)\nc = pred[] constant(1)\nr = conditional(c, "
         "p, q), branch_computations={i, k} }",
         "7:5: error: conditional: the root of 'k' has shape f32[7], f32[8] expected"},
        {P8 "r = (f32[8]) tuple(p, p)",
         "2:14: error: tuple: 2 operands found, but the shape is (f32[8])"},
        {P8 "r = f32[8] get-tuple-element(p), index=0",
         "2:12: error: get-tuple-element: operand 0 has shape f32[8], element type tuple expected"},
        {P8 "r = (f32[8], f32[8]) negate-start(p)",
         "2:22: error: negate-start: the result has shape (f32[8], f32[8]), ((operands), result, contexts ..) expected"},
        {P8 "r = ((f32[7]), f32[8], u32[]) negate-start(p)",
         "2:31: error: negate-start: operand 0 has shape f32[8], f32[7] expected"},
        {P8 "r = ((f32[8], f32[8]), f32[8], u32[]) negate-start(p)",
         "2:39: error: negate-start: 1 operands found, but the shape begins with (f32[8], f32[8])"},
        {ID E P8 "r = ((f32[8]), f32[7], u32[]) async-start(p), calls=i }",
         "4:31: error: async-start: element 1 of the result has shape f32[7], f32[8] expected"},
        {P8 "s = ((f32[8]), f32[8], u32[]) negate-start(p)\nr = f32[7] negate-done(s)",
         "3:12: error: negate-done: the result has shape f32[7], f32[8] expected"},
        {P8 "s = ((f32[8]), f32[8], u32[]) negate-start(p)\nr = ((f32[8]), f32[7], u32[]) negate-update(s)",
         "3:31: error: negate-update: the result has shape ((f32[8]), f32[7], u32[]), ((f32[8]), f32[8], u32[]) expected"},
        {P8 "r = f32[8] negate-done(p)",
         "2:12: error: negate-done: operand 0 has shape f32[8], element type tuple expected"},
        {P8 "r = (f32[8], f32[7], u32[]) copy-start(p)",
         "2:29: error: copy-start: element 1 of the result has shape f32[7], f32[8] expected"},
        {P8 "s = (f32[8], f32[8], u32[]) copy-start(p)\nr = f32[7] copy-done(s)",
         "3:12: error: copy-done: the result has shape f32[7], f32[8] expected"},
        {P8 "r = custom-call(p), custom_call_target=\"x\"",
         "2:5: error: custom-call: its shape is missing and does not follow from its operands"},
        {P8 "r = f32[7] opt-barrier(p)",
         "2:12: error: opt-barrier: the result has shape f32[7], f32[8] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

static void test_remote(void **state)
{
    static const Bad bad[] = {
        {ADD E P8 "r = f32[7] all-reduce(p), replica_groups={}, to_apply=m }",
         "4:12: error: all-reduce: the result has shape f32[7], f32[8] expected"},
        {ADD E P8 "r = f32[8] all-reduce(p, p), replica_groups={}, to_apply=m }",
         "4:12: error: all-reduce: the result has shape f32[8], one for each of 2 operands expected"},
        {ADD E "p = s32[8] parameter(0)\nr = s32[8] all-reduce(p), to_apply=m }",
         "4:12: error: all-reduce: parameter 0 of 'm' has shape f32[], s32[] expected"},
        {P8 "r = f32[8] all-reduce(p), replica_groups={}",
         "2:12: error: all-reduce: 0 computations are named, one expected"},
        {"p = f32[6] parameter(0)\nr = f32[16] all-gather(p), dimensions={0}",
         "2:13: error: all-gather: dimension 0 of f32[16] is not a multiple of that of f32[6]"},
        {P24 "r = f32[4,8] all-gather(p), dimensions={0}",
         "2:14: error: all-gather: f32[2,4] and f32[4,8] must differ only in dimension 0"},
        {P24 "r = f32[4,4] all-gather(p)",
         "2:14: error: all-gather: the attribute dimensions= is missing"},
        {ADD E P8 "r = f32[3] reduce-scatter(p), dimensions={0}, to_apply=m }",
         "4:12: error: reduce-scatter: dimension 0 of f32[8] is not a multiple of that of f32[3]"},
        {P8 "r = f32[16] all-gather-start(p), dimensions={0}",
         "2:13: error: all-gather-start: the result has shape f32[16], (operands, results) expected"},
        {P8 "r = (f32[8], f32[9]) all-gather-start(p), dimensions={0}",
         "2:22: error: all-gather-start: dimension 0 of f32[9] is not a multiple of that of f32[8]"},
        {P8 "s = (f32[8], f32[16]) all-gather-start(p), dimensions={0}\nr = f32[8] all-gather-done(s)",
         "3:12: error: all-gather-done: the result has shape f32[8], f32[16] expected"},
        {P8 "q = f32[7] parameter(1)\nr = all-to-all(p, q)",
         "3:5: error: all-to-all: operand 1 has shape f32[7], f32[8] expected"},
        {P8 "r = f32[8] all-to-all(p), dimensions={1}",
         "2:12: error: all-to-all: dimensions names dimension 1 of 1"},
        {P8 "r = f32[7] collective-permute(p), source_target_pairs={{0,1}}",
         "2:12: error: collective-permute: the result has shape f32[7], f32[8] expected"},
        {P8 "r = f32[8] collective-permute-start(p), source_target_pairs={{0,1}}",
         "2:12: error: collective-permute-start: the result has shape f32[8], (operand, result, contexts ..) expected"},
        {P8 "r = f32[7] collective-broadcast(p), replica_groups={{0,1}}",
         "2:12: error: collective-broadcast: the result has shape f32[7], f32[8] expected"},
        {P8 "r = ragged-all-to-all(p, p), replica_groups={}",
         "2:5: error: ragged-all-to-all: 2 operands found, 6 expected"},
        {P8 "r = send(p, p), channel_id=1",
         "2:5: error: send: operand 1 has shape f32[8], element type token expected"},
        {P8 "k = token[] after-all()\nr = (f32[7], u32[], token[]) send(p, k), channel_id=1",
         "3:30: error: send: element 0 of the result has shape f32[7], f32[8] expected"},
        {P8 "k = token[] after-all()\nr = f32[7] recv(k), channel_id=1",
         "3:12: error: recv: the result has shape f32[7], (value, .., token[]) expected"},
        {P8 "k = token[] after-all()\ns = (f32[8], u32[], token[]) recv(k), channel_id=1\nr = (f32[7], token[]) recv-done(s), "
         "channel_id=1",
         "4:23: error: recv-done: element 0 of the result has shape f32[7], f32[8] expected"},
        {P8 "r = token[] send-done(p), channel_id=1",
         "2:13: error: send-done: operand 0 has shape f32[8], element type tuple expected"},
        {P8 "r = (f32[8], token[]) infeed(p)",
         "2:23: error: infeed: operand 0 has shape f32[8], element type token expected"},
        {P8 "r = token[] outfeed(p, p)",
         "2:13: error: outfeed: operand 1 has shape f32[8], element type token expected"},
        {"r = s32[] partition-id()",
         "1:11: error: partition-id: the result has shape s32[], element type u32 expected"},
        {P8 "r = f32[7] add-dependency(p, p)",
         "2:12: error: add-dependency: the result has shape f32[7], f32[8] expected"},
    };
    refuse(*state, bad, WBB_LEN(bad));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_library), TEST(test_control), TEST(test_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

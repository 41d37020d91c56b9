"""warpburg.jax with the real JAX on the CPU: operations under jit, vmap and shard_map, results bit-equal to `warpburg run`, functions that are one
fusion and programs, what is refused, with jax_jit.py and jax_header.py.

usage: jax_door.py BUILD [--ends]   needs BUILD/jax-venv, an environment with jax of PyPI, which ./dev test --all makes; --ends: also with the oldest jax
                                    that python/README.md names by this Python and the newest by the newest, in environments that it makes and removes
       WARPBURG_TEST_GPU=real python3 tests/doors/jax_door.py BUILD       on a GPU, with the jax of this Python: operations run on XLA's stream, and
                                                                    results are held to tolerances where the GPU's bits may be others
"""
from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "common"))

from interpreters import Interpreter, interpreters  # noqa: E402

BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
GPU = os.environ.get("WARPBURG_TEST_GPU") == "real"
PAIR = """HloModule m
ENTRY pair { a = bf16[4,8] parameter(0)  b = bf16[4,8] negate(a)  c = f32[8] parameter(1)  d = f32[8] add(c, c)
  ROOT t = (bf16[4,8], f32[8]) tuple(b, d) }
"""


def same(x: Any, y: Any) -> bool:
    x, y = numpy.asarray(x), numpy.asarray(y)
    return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def agrees(x: Any, y: Any) -> bool:
    """The same bits as the simulator's; on a GPU as far as approximate instructions and cuBLAS's order of sums allow."""
    return same(x, y) if not GPU else bool(numpy.allclose(x, y, rtol=2e-5, atol=1e-6 * float(numpy.abs(y).max())))


class Operations(unittest.TestCase):
    def setUp(self) -> None:
        random = numpy.random.default_rng(7)
        self.x = jnp.asarray(random.standard_normal((64, 128)), jnp.float32)
        self.y = jnp.asarray(random.standard_normal(128), jnp.float32)
        self.a = jnp.arange(32, dtype=jnp.bfloat16).reshape(4, 8)
        self.c = jnp.arange(8.0)
        self.assertEqual({d.platform != "cpu" for d in self.x.devices()}, {GPU})

    def test_call(self) -> None:
        op = warpburg.jax.call(warpburg.compile(PAIR))
        for f in (op, jax.jit(op), jax.jit(lambda a, c: op(a, c))):
            b, d = f(self.a, self.c)
            self.assertTrue(same(b, -self.a) and same(d, self.c + self.c))
        self.assertEqual(str(op), "<warpburg.jax.Operation of <warpburg.Kernel pair for sm_90: (bf16[4,8], f32[8]) -> (bf16[4,8], f32[8]), 1 launch>>")
        self.assertIs(op.kernel, warpburg.jax.call(op.kernel).kernel)
        twice = jax.jit(lambda a, c: op(op(a, c)[0], op(a, c)[1] + 1))  # among operations of XLA
        self.assertTrue(same(twice(self.a, self.c)[0], self.a) and same(twice(self.a, self.c)[1], 4 * self.c + 2))

    def test_vmap(self) -> None:
        a3 = jnp.stack([self.a, self.a + 1, self.a * 2])
        for how in ("loop", "inside"):
            op = warpburg.jax.call(warpburg.compile(PAIR), vmap=how)
            for f in (jax.vmap(op, in_axes=(0, None)), jax.jit(jax.vmap(op, in_axes=(0, None)))):
                b, d = f(a3, self.c)
                self.assertTrue(same(b, -a3) and same(d, jnp.stack([2 * self.c] * 3)), how)
            b, d = jax.vmap(jax.vmap(op, in_axes=(0, None)), in_axes=(None, 0))(a3, jnp.stack([self.c, self.c + 1]))
            self.assertEqual((b.shape, d.shape), ((2, 3, 4, 8), (2, 3, 8)))
            self.assertTrue(same(d[1, 2], 2 * self.c + 2))

    def test_compile(self) -> None:
        """A function with its arguments in a tree; the bits are those of `warpburg run`."""
        def f(args: Any) -> Any:
            return {"out": jax.nn.softmax(jax.nn.gelu(args["x"]) * args["y"], axis=-1)}

        args = {"x": self.x, "y": self.y, "unused": self.c}
        op = warpburg.jax.compile(f, args)
        z = jax.jit(op)(args)["out"]
        self.assertTrue(agrees(z, op.kernel.run(*map(numpy.asarray, jax.tree_util.tree_leaves(args)))))
        self.assertLess(float(jnp.abs(z - f(args)["out"]).max()), 1e-6)
        self.assertTrue(op.kernel.check(*map(numpy.asarray, jax.tree_util.tree_leaves(args))))
        self.assertIn("<warpburg.Kernel f for sm_90", repr(op))
        with self.assertRaisesRegex(TypeError, "f takes arguments of the tree .*'unused'.*, and .* was given"):
            op({"x": self.x, "y": self.y})
        if not (BUILD / "warpburg").exists():
            return
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "f.hlo").write_text(warpburg.jax.lower(f, args))
            inputs = []
            for i, leaf in enumerate(jax.tree_util.tree_leaves(args)):
                numpy.save(f"{folder}/{i}.npy", numpy.asarray(leaf))
                inputs += ["--input", f"{folder}/{i}.npy"]
            ran = subprocess.run([str(BUILD / "warpburg"), "run", f"{folder}/f.hlo", *inputs, "-o", f"{folder}/out"], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(agrees(z, numpy.load(f"{folder}/out/out0.npy")))

    def test_stablehlo(self) -> None:
        """As text, as bytecode, in a file and as jax.export has it, it is the kernel of the lowered function."""
        from jax import export
        x = jax.ShapeDtypeStruct((64, 32), jnp.float32)
        lowered, exported = jax.jit(lambda x: jnp.tanh(x.T) * 2).lower(x), export.export(jax.jit(lambda x: jnp.tanh(x.T) * 2))(x)
        wanted = warpburg.compile(lowered)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "f.mlir").write_text(lowered.as_text(dialect="stablehlo"))
            for what in (lowered.as_text(dialect="stablehlo"), exported, exported.mlir_module_serialized, Path(folder) / "f.mlir"):
                self.assertEqual(warpburg.compile(what).ptx, wanted.ptx)
        sized = export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), jnp.float32))
        for bad, name in ((sized, "<lambda>"), (b"ML\xefR\x01", "<bytes>"), ("module @x { bad }", "<text>")):
            with self.assertRaisesRegex(warpburg.HloError, f"{name}: error: jaxlib makes no HLO of this StableHLO: "):
                warpburg.compile(bad)

    def test_layouts(self) -> None:
        """JAX infers {0,1} for what a transpose leaves; the arrays of its executables are in row-major order, and so are those of the kernel."""
        def f(x: Any) -> Any:
            return x.T * 2, (x.T > 0)[:5]

        def g(x: Any) -> Any:
            return (x @ x.T).T, jnp.swapaxes(x.reshape(4, 16, 128), 0, 2) + 1

        self.assertIn("f32[128,64]{0,1}", jax.jit(f).lower(self.x).as_text("hlo"))
        op, program = warpburg.jax.compile(f, self.x), warpburg.jax.compile(g, self.x)
        for b in op.kernel.buffers + warpburg.compile(jax.jit(f).lower(self.x)).buffers:
            self.assertEqual(b.minor_to_major, tuple(reversed(range(len(b.shape)))))
        for text in (op.kernel.hlo, warpburg.jax.lower(f, self.x), warpburg.jax.lower(g, self.x)):
            self.assertNotIn("{0,1}", text)
        for compiled, function in ((op, f), (program, g)):
            for a, b in zip(jax.jit(compiled)(self.x), function(self.x)):
                self.assertTrue(numpy.allclose(a, b, rtol=1e-4, atol=1e-4) and a.dtype == b.dtype)

    def test_constants(self) -> None:
        """An array of the function's own, which JAX prints in part unless it is asked for all."""
        table = numpy.arange(128, dtype=numpy.float32) ** 2
        op = warpburg.jax.compile(lambda x: x + table, self.x)
        self.assertTrue(same(jax.jit(op)(self.x), self.x + table))

    def test_batched_shape(self) -> None:
        op = warpburg.jax.compile(jax.vmap(lambda x: jnp.sum(x * 2)), self.x)
        self.assertEqual(jax.jit(op)(self.x).shape, (64,))
        self.assertTrue(op.kernel.check(numpy.asarray(self.x)))

    def test_temporaries(self) -> None:
        ones = jnp.ones(1 << 18)
        op = warpburg.jax.compile(jnp.sum, ones)
        self.assertIn("temporary", [b.role for b in op.kernel.buffers])
        self.assertEqual(float(jax.jit(lambda q: op(q) + op(2 * q))(ones)), 3 * (1 << 18))

    def test_program(self) -> None:
        """A function that is more than one fusion, and a loop with a product of matrices; the bits are those of Program.run."""
        def attention(q: Any, k: Any, v: Any) -> Any:
            return {"out": jax.nn.softmax(q @ k.T / 8) @ v}

        def scan(x: Any) -> Any:
            return jax.lax.scan(lambda c, y: (c @ y.T @ y / 100, c.sum()), x, jnp.stack([x, 2 * x, x]))

        q = self.x[:, :32]
        for f, args in ((attention, (q, q + 1, 2 * q)), (scan, (q,))):
            op = warpburg.jax.compile(f, *args)
            self.assertIn("library", [s.kind for steps in op.program.computations.values() for s in steps])
            found, wanted = jax.tree_util.tree_leaves(jax.jit(op)(*args)), jax.tree_util.tree_leaves(f(*args))
            again = op.program.run(*map(numpy.asarray, args))
            for a, b, c in zip(found, wanted, again if isinstance(again, tuple) else (again,)):
                self.assertTrue(agrees(a, c))
                self.assertLess(float(jnp.abs(a - b).max()), 1e-4 * float(jnp.abs(b).max()))
            self.assertTrue(op.program.check(*map(numpy.asarray, args)))
            self.assertGreater(op.program.profile(blocks=2).seconds, 0)
        batch = jax.vmap(warpburg.jax.compile(attention, q, q, q, vmap="inside"))(*[jnp.stack([q, q + 1, q - 1])] * 3)
        self.assertTrue(same(batch["out"][1], warpburg.jax.compile(attention, q, q, q)(q + 1, q + 1, q + 1)["out"]))
        with self.assertRaisesRegex(warpburg.Declined, "custom-call"):
            warpburg.jax.compile(lambda x: jnp.linalg.cholesky(x @ x.T), q)  # a library that is not known

    def test_compare(self) -> None:
        """XLA's fusions of a function, from a text as its passes leave it, beside ours."""
        text = """HloModule jit_f, entry_computation_layout={(f32[64,128]{1,0})->(f32[64,128]{1,0}, f32[64]{0})}
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
fused_exp { p = f32[64,128]{1,0} parameter(0)  ROOT e = f32[64,128]{1,0} exponential(p) }
fused_sum { p = f32[64,128]{1,0} parameter(0)  o = f32[] constant(0)  ROOT r = f32[64]{0} reduce(p, o), dimensions={1}, to_apply=add }
ENTRY main { p = f32[64,128]{1,0} parameter(0)  e = f32[64,128]{1,0} fusion(p), kind=kLoop, calls=fused_exp
  r = f32[64]{0} fusion(e), kind=kInput, calls=fused_sum  ROOT t = (f32[64,128]{1,0}, f32[64]{0}) tuple(e, r) }
"""
        def f(x: Any) -> Any:
            return jnp.exp(x), jnp.exp(x).sum(axis=1)

        c = warpburg.jax.compare(f, self.x, xla=text)
        self.assertEqual((c.ours.kernels, c.xla.kernels, c.xla.refused), (1, 2, 0))
        self.assertLess(c.ours.seconds, c.xla.seconds)
        self.assertIn("XLA's cut", str(c))
        self.assertIn("<td>2</td>", c._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "f.gpu.hlo").write_text(text)
            self.assertEqual(warpburg.jax.compare(f, self.x, xla=Path(folder, "f.gpu.hlo")).xla.seconds, c.xla.seconds)
        if GPU:
            self.assertGreater(warpburg.jax.compare(f, self.x).xla.seconds, 0)  # what XLA's passes leave here
        else:
            with self.assertRaisesRegex(ValueError, "no GPU here"):
                warpburg.jax.compare(f, self.x)
        with self.assertRaisesRegex(ValueError, r"its results are .*; f32\[64,128\] expected"):
            warpburg.jax.compare(jnp.exp, self.x, xla=text)

    @unittest.skipIf(GPU, "needs two devices")
    def test_shard_map(self) -> None:
        """The code of each of two devices is a kernel, or a program, of the shape of its part."""
        self.assertEqual(len(jax.devices()), 2)
        if hasattr(jax, "shard_map"):
            shard_map = jax.shard_map
        else:  # before jax 0.6.1
            from jax.experimental.shard_map import shard_map
        mesh, spec = jax.sharding.Mesh(numpy.array(jax.devices()), ("i",)), jax.sharding.PartitionSpec
        for f in (lambda x, y: jax.nn.softmax(x * y), lambda x, y: jnp.exp((x * y) @ x.T)):
            op = warpburg.jax.compile(f, self.x[:32] / 16, self.y)
            sharded = jax.jit(shard_map(op, mesh=mesh, in_specs=(spec("i"), spec()), out_specs=spec("i")))(self.x / 16, self.y)
            self.assertEqual(len(sharded.addressable_shards), 2)
            for k in range(2):
                part = slice(32 * k, 32 * k + 32)
                self.assertTrue(same(sharded[part], op(self.x[part] / 16, self.y)))
            self.assertEqual(hasattr(op, "program"), sharded.shape == (64, 32))
        total = jax.jit(shard_map(lambda x, y: jax.lax.psum(op(x, y).sum(), "i"), mesh=mesh, in_specs=(spec("i"), spec()), out_specs=spec()))
        self.assertAlmostEqual(float(total(self.x / 16, self.y)), float(sharded.sum()), delta=1e-2 * abs(float(sharded.sum())))

    @unittest.skipIf(GPU, "what a GPU has begun nobody stops")
    def test_interrupt(self) -> None:
        """Ctrl-C stops a call in which the main thread waits for XLA, and the operation can be called again."""
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))  # a shell's background ignores it
        x = jnp.ones((1024, 1024))
        f = jax.jit(warpburg.jax.compile(lambda x, n: jax.lax.fori_loop(0, n, lambda _, y: jnp.tanh(jnp.exp(y)), x), x, jnp.int32(1)))
        self.assertEqual(f(x, jnp.int32(1)).shape, x.shape)
        sent: List[float] = []

        def interrupt() -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(1, interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            try:
                f(x, jnp.int32(1 << 20)).block_until_ready()
            finally:
                time.sleep(0.01)  # XLA raises an error first, on which what Python raises at its next instruction follows
        self.assertLess(time.monotonic() - sent[0], 3)  # on a machine that does nothing else, 0.05
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertTrue(same(f(x, jnp.int32(1)), f(x, jnp.int32(1))))

    def test_arrays_of_jax(self) -> None:
        k = warpburg.compile(PAIR)
        self.assertTrue(same(k.run(self.a, self.c, on="gpu" if GPU else "sim")[0], -self.a))
        self.assertTrue(same(k.run(numpy.asarray(self.a), numpy.asarray(self.c))[0], -self.a))

    @unittest.skipIf(GPU, "XLA's threads on the CPU flush subnormals; on a GPU the host does not compute")
    def test_subnormals(self) -> None:
        """The bits of k.run for subnormals, infinities, nan and every value of 8 bits: in an operation and in a callback, in threads of XLA, which flush."""
        for kind, word in (("f32", "u4"), ("f16", "u2"), ("bf16", "u2"), ("f8e3m4", "u1"), ("f8e4m3fn", "u1"), ("f8e4m3", "u1"), ("f8e5m2", "u1"),
                           ("f8e4m3b11fnuz", "u1"), ("f8e4m3fnuz", "u1"), ("f8e5m2fnuz", "u1")):
            n = 256 if word == "u1" else 12
            k = warpburg.compile(f"HloModule m\nENTRY e {{ x = {kind}[{n}] parameter(0)  y = f32[{n}] convert(x)  c = f32[] constant(1.5)\n"
                                 f"  cs = f32[{n}] broadcast(c), dimensions={{}}  z = f32[{n}] multiply(y, cs)  w = {kind}[{n}] convert(z)\n"
                                 f"  ROOT t = (f32[{n}], {kind}[{n}]) tuple(z, w) }}\n")
            inf, large = {"u4": (0x7f800000, 0x7f7fffff), "u2": (0x7c00, 0x7bff), "u1": (0, 0)}[word]
            some = [0, 1, 3, 17, 0x7f, 0x80, 0x3ff, inf, inf + 1, large, large - 1, 0x3c00] if n == 12 else range(256)
            x = numpy.array(some, word).view(k.inputs[0].dtype)
            wanted = k.run(x)
            shapes = [jax.ShapeDtypeStruct((n,), o.dtype) for o in k.outputs]
            callback = jax.jit(lambda a: jax.pure_callback(lambda b: k.run(numpy.asarray(b)), shapes, a))
            for found in (jax.jit(warpburg.jax.call(k))(x), jax.jit(warpburg.jax.call(k, threads=2))(x), callback(x)):
                for a, b in zip(found, wanted):
                    self.assertTrue(same(a, b), kind)

    def test_too_old(self) -> None:
        """A jax without jax.ffi is named when the module is imported."""
        again = importlib.util.spec_from_file_location("warpburg.jax_of_an_old_jax", warpburg.jax.__file__)
        assert again and again.loader
        with unittest.mock.patch.multiple(jax, __version__="0.4.38", __version_info__=(0, 4, 38)), \
                self.assertRaisesRegex(ImportError, r"needs jax 0\.5 or newer, and this is jax 0\.4\.38"):
            again.loader.exec_module(importlib.util.module_from_spec(again))

    def test_refused(self) -> None:
        op = warpburg.jax.call(warpburg.compile(PAIR))
        with self.assertRaisesRegex(TypeError, r"input 1 of pair is float32\[4\]; f32\[8\] expected"):
            op(self.a, self.c[:4])
        with self.assertRaisesRegex(TypeError, "2 arrays, 1 given"):
            op(self.a)
        with self.assertRaisesRegex(TypeError, "jax_enable_x64"):
            warpburg.jax.call(warpburg.compile(PAIR.replace("f32", "f64")))
        with self.assertRaisesRegex(TypeError, "under 8 bits"):
            warpburg.jax.call(warpburg.compile("HloModule m\nENTRY e { a = s4[8] parameter(0)  ROOT b = s4[8] add(a, a) }"))
        with self.assertRaises(warpburg.Declined) as e:
            warpburg.jax.compile(lambda x: jnp.linalg.cholesky(x @ x.T), self.x, program=False)
        self.assertTrue(e.exception.reason)

        def shown(x: jax.Array) -> jax.Array:
            jax.debug.print("{}", x[0, 0])
            return x * 2

        def called(x: jax.Array) -> jax.Array:
            jax.experimental.io_callback(print, None, x, ordered=True)
            return x * 2
        for f, name in ((shown, "debug_print"), (called, "io_callback")):   # nobody needs their results
            with self.assertRaisesRegex(warpburg.Declined, rf"{f.__name__}:\d+:\d+: declined: effect: ({name}|.*python_cpu_callback)"):  # before jax 0.7
                warpburg.jax.compile(f, self.x)
        # a call that another process made
        wrong = jax.ffi.ffi_call("warpburg", [jax.ShapeDtypeStruct((8,), jnp.float32)])
        with self.assertRaisesRegex(Exception, "another process"):
            wrong(self.c, kernel=numpy.int64(4096))[0].block_until_ready()


def run_by(python: Path) -> "subprocess.CompletedProcess[str]":
    """This program once more, by a Python that has jax."""
    environment = {**os.environ, "WARPBURG_JAX_DOOR": "1", "PYTHONPATH": str(ROOT / "python"), "WARPBURG_LIBRARY": str(BUILD / "libwarpburg.so")}
    on_gpu = {"JAX_PLATFORMS": "cuda,cpu", "JAX_DEFAULT_MATMUL_PRECISION": "highest", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    on_cpu = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    environment.update(on_gpu if GPU else on_cpu)
    ran = subprocess.run([str(python), __file__, str(BUILD)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(ran.stdout, end="", flush=True)
    return ran


def with_ends() -> List[Tuple[int, int]]:
    """What passed and failed with the oldest jax, by this Python, and with the newest, by the newest one: each jax leaves older ones behind. Nothing,
    where PyPI has none for it."""
    counts = []
    this = Interpreter(sys.version_info[:2], sys.executable)
    for requirement, of in (("jax==0.5.0", this), ("jax", max([this, *interpreters()]))):
        with tempfile.TemporaryDirectory() as folder:
            python = Path(folder, "bin", "python")
            pip = [str(python), "-m", "pip", "-q", "--disable-pip-version-check", "install", requirement, "absl-py"]
            for command in ([of.path, "-m", "venv", folder], pip):
                made = subprocess.run(command, capture_output=True, text=True, timeout=1500)
            if made.returncode:
                print(f"skipped: {requirement} cannot be installed: {made.stderr.strip().splitlines()[-1:]}")
                continue
            print(f"{requirement}, by {of}")
            m = re.search(r"^(\d+) passed, (\d+) failed", run_by(python).stdout, re.M)
            counts.append((int(m[1]), int(m[2])) if m else (0, 1))
    return counts


def main() -> int:
    python = BUILD / "jax-venv" / "bin" / "python"
    if not GPU and not python.exists():
        print(f"skipped: no JAX: {python} is made by ./dev test --all")
        return 0
    if os.environ.get("WARPBURG_JAX_DOOR") != "1":
        ran = run_by(Path(sys.executable) if GPU else python)
        if "--ends" not in sys.argv:
            return ran.returncode
        m = re.search(r"^(\d+) passed, (\d+) failed", ran.stdout, re.M)
        counts = [(int(m[1]), int(m[2])) if m else (0, 1), *with_ends()]
        print(f"{sum(good for good, _ in counts)} passed, {sum(bad for _, bad in counts)} failed")
        return any(bad for _, bad in counts)
    global jax, jnp, numpy, warpburg
    import jax
    import jax.numpy as jnp
    import numpy

    import warpburg.jax
    print(f"jax {jax.__version__} on {jax.default_backend()}", flush=True)
    import jax_header
    import jax_jit
    load = unittest.defaultTestLoader.loadTestsFromModule
    result = unittest.TextTestRunner(verbosity=1).run(unittest.TestSuite([load(sys.modules[__name__]), load(jax_jit), load(jax_header)]))
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())

"""The CUDA driver's interface by ctypes: what run_rates.py needs of it. Needs nothing but Python and libcuda.so.1."""
from __future__ import annotations

import ctypes as c
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

P, U, U64, INT = c.c_void_p, c.c_uint, c.c_uint64, c.c_int
FUNCTIONS: Dict[str, List[Any]] = {
    "cuInit": [U], "cuDeviceGetCount": [c.POINTER(INT)], "cuDeviceGet": [c.POINTER(INT), INT], "cuDeviceGetName": [c.c_char_p, INT, INT],
    "cuDeviceGetAttribute": [c.POINTER(INT), INT, INT], "cuDriverGetVersion": [c.POINTER(INT)], "cuDevicePrimaryCtxRetain": [c.POINTER(P), INT],
    "cuCtxSetCurrent": [P], "cuCtxSynchronize": [], "cuModuleLoadData": [c.POINTER(P), c.c_char_p],
    "cuModuleGetFunction": [c.POINTER(P), P, c.c_char_p], "cuFuncSetAttribute": [P, INT, INT],
    "cuMemAlloc_v2": [c.POINTER(U64), c.c_size_t], "cuMemcpyHtoD_v2": [U64, c.c_char_p, c.c_size_t],
    "cuMemcpyDtoH_v2": [P, U64, c.c_size_t], "cuMemsetD32_v2": [U64, U, c.c_size_t], "cuStreamCreate": [c.POINTER(P), U],
    "cuEventCreate": [c.POINTER(P), U], "cuEventRecord": [P, P], "cuEventSynchronize": [P], "cuEventElapsedTime": [c.POINTER(c.c_float), P, P],
    "cuLaunchKernel": [P, U, U, U, U, U, U, U, P, c.POINTER(P), P], "cuLaunchKernelEx": [P, P, c.POINTER(P), P],
    "cuStreamBeginCapture_v2": [P, INT], "cuStreamEndCapture": [P, c.POINTER(P)], "cuGraphInstantiateWithFlags": [c.POINTER(P), P, U64],
    "cuGraphLaunch": [P, P], "cuGetErrorName": [INT, c.POINTER(c.c_char_p)]}
DYNAMIC_SHARED, LARGE_CLUSTER, LAUNCH_CLUSTER = 8, 14, 4


class CudaError(Exception):
    """A call of the driver failed; `code` is its result."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.code = code


class NoGpu(Exception):
    pass


class Attribute(c.Structure):
    _fields_ = [("id", INT), ("pad", c.c_char * 4), ("value", U * 16)]


class Config(c.Structure):
    _fields_ = [("grid", U * 3), ("block", U * 3), ("shared", U), ("stream", P), ("attributes", c.POINTER(Attribute)), ("n", U)]


class Driver:
    def __init__(self) -> None:
        name = os.environ.get("WARPBURG_LIBCUDA", "libcuda.so.1")
        try:
            self.library = c.CDLL(name)
        except OSError as e:
            raise NoGpu(str(e)) from e
        self.types: Dict[str, Any] = {}
        for f, arguments in FUNCTIONS.items():
            try:
                function = getattr(self.library, f)
            except AttributeError:
                continue  # an older driver: what needs it fails
            function.argtypes, function.restype = arguments, INT
            self.types[f] = function
        count = INT(0)
        try:
            self("cuInit", 0)
            self("cuDeviceGetCount", c.byref(count))
        except CudaError as e:
            raise NoGpu(str(e)) from e
        if count.value == 0:
            raise NoGpu("no device")
        self.device, self.context, self.stream = INT(0), P(), P()
        self("cuDeviceGet", c.byref(self.device), 0)
        self("cuDevicePrimaryCtxRetain", c.byref(self.context), self.device)
        self("cuCtxSetCurrent", self.context)
        self("cuStreamCreate", c.byref(self.stream), 1)  # apart from the default stream
        self.functions: Dict[Tuple[str, str], c.c_void_p] = {}
        self.modules: Dict[str, c.c_void_p] = {}

    def __call__(self, name: str, *arguments: Any) -> None:
        function = self.types.get(name)
        if function is None:
            raise CudaError(name, -1, "the driver lacks it")
        code = function(*arguments)
        if code:
            text = c.c_char_p()
            if "cuGetErrorName" in self.types:
                self.types["cuGetErrorName"](code, c.byref(text))
            raise CudaError(name, code, (text.value or b"?").decode())

    def attribute(self, number: int) -> int:
        out = INT(0)
        self("cuDeviceGetAttribute", c.byref(out), number, self.device)
        return out.value

    def name(self) -> str:
        text = c.create_string_buffer(256)
        self("cuDeviceGetName", text, 256, self.device)
        return text.value.decode(errors="replace")

    def version(self) -> int:
        out = INT(0)
        self("cuDriverGetVersion", c.byref(out))
        return out.value

    def function(self, cubin: str, name: str) -> c.c_void_p:
        """A kernel of a file, which is loaded once."""
        if (cubin, name) not in self.functions:
            if cubin not in self.modules:
                module = P()
                with open(cubin, "rb") as f:
                    self("cuModuleLoadData", c.byref(module), f.read())
                self.modules[cubin] = module
            out = P()
            self("cuModuleGetFunction", c.byref(out), self.modules[cubin], name.encode())
            self.functions[cubin, name] = out
        return self.functions[cubin, name]

    def alloc(self, size: int) -> int:
        out = U64(0)
        self("cuMemAlloc_v2", c.byref(out), size)
        return int(out.value)

    def launch(self, f: c.c_void_p, grid: int, block: int, q: int, r: int, turns: int, arg: int, shared: int = 0, cluster: int = 0) -> None:
        values = (U64(q), U64(r), U(turns & 0xffffffff), U(arg & 0xffffffff))
        pointers = (P * 4)(*[c.cast(c.pointer(v), P) for v in values])
        if shared > 48 << 10:
            self("cuFuncSetAttribute", f, DYNAMIC_SHARED, shared)
        if not cluster:
            self("cuLaunchKernel", f, grid, 1, 1, block, 1, 1, shared, self.stream, pointers, None)
            return
        if cluster > 8:
            self("cuFuncSetAttribute", f, LARGE_CLUSTER, 1)
        attribute = Attribute(LAUNCH_CLUSTER, b"", (U * 16)(cluster, 1, 1))
        config = Config((U * 3)(grid, 1, 1), (U * 3)(block, 1, 1), shared, self.stream, c.pointer(attribute), 1)
        self("cuLaunchKernelEx", c.cast(c.pointer(config), P), f, pointers, None)

    def wait(self) -> None:
        self("cuCtxSynchronize")

    def read(self, at: int, words: int) -> Sequence[int]:
        out = (U64 * words)()
        self("cuMemcpyDtoH_v2", c.cast(out, P), at, 8 * words)
        return list(out)

    def event(self) -> c.c_void_p:
        out = P()
        self("cuEventCreate", c.byref(out), 0)
        return out

    def seconds(self, before: c.c_void_p, after: c.c_void_p) -> float:
        out = c.c_float(0)
        self("cuEventSynchronize", after)
        self("cuEventElapsedTime", c.byref(out), before, after)
        return float(out.value) / 1e3

    def captured(self, launches: Any) -> c.c_void_p:
        """What `launches` launches, as a graph that can be launched."""
        graph, out = P(), P()
        self("cuStreamBeginCapture_v2", self.stream, 0)
        try:
            launches()
        finally:
            self("cuStreamEndCapture", self.stream, c.byref(graph))
        self("cuGraphInstantiateWithFlags", c.byref(out), graph, 0)
        return out


def opened() -> Optional[Driver]:
    """None: there is no GPU, and a line on standard output says so."""
    try:
        return Driver()
    except NoGpu as e:
        print(f"no GPU: {e}", flush=True)
        return None

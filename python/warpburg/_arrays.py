"""Arrays of Python's libraries as the library's memory, and back: numpy with ml_dtypes, DLPack, __cuda_array_interface__.

An array on the host is used as it is where its elements lie in row-major order, else copied. DLPack's structures are read here rather than
by numpy, which knows no bf16 and no float of 8 bits.
"""
from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

import numpy

from . import _library

_NUMPY = {"pred": "bool", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
          "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
_ML = {"bf16": "bfloat16", "s2": "int2", "u2": "uint2", "s4": "int4", "u4": "uint4", "f8e5m2": "float8_e5m2", "f8e4m3fn": "float8_e4m3fn",
       "f8e4m3": "float8_e4m3", "f8e3m4": "float8_e3m4", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3fnuz": "float8_e4m3fnuz",
       "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e8m0fnu": "float8_e8m0fnu", "f4e2m1fn": "float4_e2m1fn"}
# DLPack's type codes of whole bytes: (code, bits).
_DLPACK = {"pred": (6, 8), "s8": (0, 8), "s16": (0, 16), "s32": (0, 32), "s64": (0, 64), "u8": (1, 8), "u16": (1, 16), "u32": (1, 32), "u64": (1, 64),
           "f16": (2, 16), "f32": (2, 32), "f64": (2, 64), "bf16": (4, 16), "c64": (5, 64), "c128": (5, 128), "f8e3m4": (7, 8), "f8e4m3": (8, 8),
           "f8e4m3b11fnuz": (9, 8), "f8e4m3fn": (10, 8), "f8e4m3fnuz": (11, 8), "f8e5m2": (12, 8), "f8e5m2fnuz": (13, 8), "f8e8m0fnu": (14, 8)}
CPU, CUDA = 1, 2  # DLDeviceType; pinned host memory is 3, managed memory 13
_ON_HOST, _ON_GPU = (CPU, 3, 13), (CUDA, 13)


def dtype_of(hlo: str) -> "numpy.dtype[Any]":
    """numpy's type of elements of an HLO type: dtype_of("bf16") is ml_dtypes.bfloat16."""
    if hlo in _NUMPY:
        return numpy.dtype(_NUMPY[hlo])
    import ml_dtypes
    return numpy.dtype(getattr(ml_dtypes, _ML[hlo]))


_HLO = {numpys: hlo for hlo, numpys in (*_NUMPY.items(), *_ML.items())}


def hlo_type(dtype: Any) -> str:
    """The HLO type of a type of numpy, ml_dtypes or torch: hlo_type(torch.bfloat16) is "bf16". Raises TypeError where there is none."""
    try:
        name = str(dtype).rpartition(".")[2] if type(dtype).__module__ == "torch" else numpy.dtype(dtype).name
    except (TypeError, ValueError):
        name = repr(dtype)
    if name not in _HLO:
        raise TypeError(f"{name} is no type of HLO")
    return _HLO[name]


def category(dtype: Any) -> int:
    """0: bool, 1: integers, 2: floats, 3: complex; the kinds of numpy, to which all types of ml_dtypes are one."""
    return {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}.get(dtype.kind, 1 if "int" in dtype.name else 2)


def wider(a: Any, b: Any) -> "numpy.dtype[Any]":
    """The type that has the values of two types, as numpy has it; of two floats of which neither has the other's, f16 and bf16, f32."""
    try:
        return numpy.result_type(a, b)
    except TypeError:
        return numpy.dtype("float32")


class Spec(NamedTuple):
    """An input or output: its HLO type and its dimensions, as jax.ShapeDtypeStruct has them."""
    type: str
    shape: Tuple[int, ...]
    bytes: int  # on the host

    @property
    def dtype(self) -> "numpy.dtype[Any]":
        return dtype_of(self.type)

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.shape))}]"


def spec_of(what: str, array: Any) -> Spec:
    """The type and shape of an array of any library that tells them as numpy's do."""
    if not hasattr(array, "dtype") or not hasattr(array, "shape"):
        raise TypeError(f"{what} is {type(array).__name__}: an array expected")
    _check_torch(what, array)
    kind, shape = hlo_type(array.dtype), tuple(map(int, array.shape))
    return Spec(kind, shape, int(numpy.prod(shape, dtype=numpy.int64)) * dtype_of(kind).itemsize)


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
                ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]
# Functions of our own: the attributes of ctypes.pythonapi belong to the process, and jax.ffi sets the argument types of PyCapsule_New there.
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)  # of a capsule, which is too old to become an object of Python again
_capsule_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _Destructor)(("PyCapsule_New", ctypes.pythonapi))
_name_is = ctypes.PYFUNCTYPE(c_int32, c_void_p, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of_dying = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class Memory(NamedTuple):
    """Elements in memory, and what keeps them alive."""
    address: int
    on_gpu: bool
    owner: Any
    busy: bool = False  # work on another stream may still be filling them


def _of_dlpack(what: str, array: Any, spec: Spec, stream: int) -> Memory:
    """The producer makes `stream` wait for what fills the array; 1 is the default one."""
    device = array.__dlpack_device__()[0] if hasattr(array, "__dlpack_device__") else CPU
    capsule = array.__dlpack__(stream=stream or 1) if device in _ON_GPU else array.__dlpack__()
    t = _Managed.from_address(_capsule_pointer(capsule, b"dltensor")).tensor
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if shape != spec.shape or (t.code, t.bits) != _DLPACK.get(spec.type) or t.lanes != 1:
        raise TypeError(f"{what} is a DLPack array of shape {shape}, type code {t.code}, {t.bits} bits; {spec} expected")
    strides = [t.strides[i] for i in range(t.ndim)] if t.strides else None
    step = 1
    for i in reversed(range(t.ndim)):
        if strides is not None and shape[i] > 1 and strides[i] != step:
            raise ValueError(f"{what} is a DLPack array whose elements are not in row-major order")
        step *= shape[i]
    if t.device_type not in (*_ON_HOST, CUDA):
        raise TypeError(f"{what} is on a device of DLPack's type {t.device_type}, neither the host nor a CUDA GPU")
    return Memory((t.data or 0) + t.byte_offset, t.device_type in _ON_GPU, (capsule, array))


def _of_cuda(what: str, array: Any, spec: Spec, stream: int) -> Memory:
    about = array.__cuda_array_interface__
    size = int(about["typestr"][2:])
    if tuple(about["shape"]) != spec.shape or size != spec.dtype.itemsize or about["typestr"][1] not in (spec.dtype.kind, "V"):
        raise TypeError(f"{what} is a CUDA array of shape {tuple(about['shape'])} and type {about['typestr']}; {spec} expected")
    if about.get("strides") is not None:
        raise ValueError(f"{what} is a CUDA array with strides")
    filled_on = about.get("stream")
    return Memory(int(about["data"][0]), True, array, filled_on is not None and filled_on != (stream or 1))


def is_torch(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _check_torch(what: str, x: Any) -> None:
    """Refuses a tensor of PyTorch without elements in memory one after the other, or whose gradient would be lost."""
    if not is_torch(x):
        return
    torch = sys.modules["torch"]
    if x.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{what} requires a gradient, and none is computed here: under torch.no_grad(), or x.detach(), it is taken")
    if x.layout != torch.strided:
        raise TypeError(f"{what} is a tensor of {x.layout}: x.to_dense() is taken")
    if x.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{what} is on PyTorch's device {x.device}, neither the host nor a CUDA GPU")
    try:
        x.data_ptr()
    except RuntimeError:
        raise TypeError(f"{what} has no elements in memory: a kernel is not part of torch.func.vmap, nor of what torch traces") from None


def untraced(method: Any) -> Any:
    """The method, which torch.compile calls as it is, between two graphs, instead of tracing what it calls."""
    disabled: List[Any] = []

    @functools.wraps(method)
    def called(*args: Any, **options: Any) -> Any:
        if "torch._dynamo" not in sys.modules:  # which takes seconds to import, and is where torch.compile is used
            return method(*args, **options)
        if not disabled:
            disabled.append(sys.modules["torch"].compiler.disable(method))
        return disabled[0](*args, **options)

    return called


def _of_torch(what: str, x: Any, spec: Spec) -> Tuple[Any, Spec]:
    """A tensor of PyTorch as numpy and DLPack take it: of its elements, where a view conjugates or negates them; without a gradient, where none is recorded;
    of integers, where its type is one that numpy lacks: neither it nor every version of PyTorch's DLPack and __cuda_array_interface__ takes it."""
    if not is_torch(x):
        return x, spec
    _check_torch(what, x)
    torch = sys.modules["torch"]
    x = x.detach().resolve_conj().resolve_neg()
    kind = str(x.dtype).rpartition(".")[2]
    if not kind.startswith(("bfloat", "float8_", "float4_")):
        return x, spec
    if (kind, tuple(x.shape)) != (_ML.get(spec.type), spec.shape):
        raise TypeError(f"{what} is torch.{kind}{list(x.shape)}; {spec} expected")
    size = spec.dtype.itemsize
    return x.view(getattr(torch, {1: "uint8", 2: "int16"}[size])), spec._replace(type={1: "u8", 2: "s16"}[size])


def memory_of(what: str, array: Any, spec: Spec, stream: int) -> Memory:
    """The elements of an array of any library, which must have the type and shape of `spec`, for a run on this stream of the GPU (0: the default one)."""
    array, spec = _of_torch(what, array, spec)
    if _has_cuda_interface(array):
        return _of_cuda(what, array, spec, stream)
    if not isinstance(array, numpy.ndarray) and hasattr(array, "__dlpack__") and spec.type in _DLPACK and not hasattr(array, "__array__"):
        return _of_dlpack(what, array, spec, stream)
    if not isinstance(array, (numpy.ndarray, numpy.generic)) and hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in _ON_GPU:
        return _of_dlpack(what, array, spec, stream)
    return Memory(*_of_numpy(what, array, spec))


def _of_numpy(what: str, array: Any, spec: Spec) -> Tuple[int, bool, Any]:
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array, whose mask would be lost; {spec} expected")
    if isinstance(array, (bool, int, float, complex, list, tuple)):
        with _library.DefaultFloats():
            array = numpy.asarray(array, dtype=spec.dtype)
    x = numpy.asarray(array)
    native = x.dtype if x.dtype.isnative else x.dtype.newbyteorder("=")
    if native != spec.dtype or x.shape != spec.shape:
        raise TypeError(f"{what} is {x.dtype.name}[{','.join(map(str, x.shape))}]; {spec} expected")
    x = x if x.flags.c_contiguous and x.dtype.isnative else numpy.ascontiguousarray(x).astype(native, copy=False)
    return x.ctypes.data, False, x


def _has_cuda_interface(array: Any) -> bool:
    """torch's tensors have the property everywhere, and fail where it is asked for on the host: where torch.compile traces, hasattr does not see that."""
    return not isinstance(array, numpy.ndarray) and hasattr(array, "__cuda_array_interface__") and not (is_torch(array) and array.device.type != "cuda")


def on_gpu(array: Any) -> bool:
    if _has_cuda_interface(array):
        return True
    return hasattr(array, "__dlpack_device__") and not isinstance(array, numpy.ndarray) and array.__dlpack_device__()[0] == CUDA


def like(arrays: Any, out: Any) -> Any:
    """An output as an array of the library whose arrays these are: PyTorch, CuPy; else numpy's, or a DeviceArray."""
    cupy = sys.modules.get("cupy")
    if any(map(is_torch, arrays)):
        torch = sys.modules["torch"]
        name = numpy.dtype(out.dtype).name
        if name not in _ML.values():
            return torch.from_dlpack(out) if isinstance(out, DeviceArray) else torch.from_numpy(out)
        size = numpy.dtype(out.dtype).itemsize  # neither torch.from_numpy nor every version of its DLPack knows the type
        as_integers = torch.from_dlpack(out.view({1: "u8", 2: "s16"}[size])) if isinstance(out, DeviceArray) else \
            torch.from_numpy(out.view({1: numpy.uint8, 2: numpy.int16}[size]))
        return as_integers.view(getattr(torch, name))
    if cupy is not None and isinstance(out, DeviceArray):
        return cupy.asarray(out)
    return out


class DeviceArray:
    """An output in the memory of a GPU: CuPy, PyTorch and JAX take it by __dlpack__ or __cuda_array_interface__, without a copy; numpy.asarray copies
    it to the host. The work that fills it may still be running on `stream`. A library whose DLPack lacks the type takes a view:
    torch.from_dlpack(y.view("u8")).view(torch.float8_e4m3fn)."""

    def __init__(self, loaded: Any, spec: Spec, stream: int, of: "Optional[DeviceArray]" = None) -> None:
        self._loaded, self._spec, self.stream, self._of = loaded, spec, stream, of
        self.address: int = of.address if of else loaded.allocate(spec.bytes)

    shape = property(lambda self: self._spec.shape)
    dtype = property(lambda self: self._spec.dtype)

    def __del__(self) -> None:
        address, self.address = getattr(self, "address", 0), 0
        if address and not self._of:
            self._loaded.release(address)

    def view(self, type: str) -> "DeviceArray":
        """The same memory as elements of another HLO type of the same size."""
        if dtype_of(type).itemsize != self.dtype.itemsize:
            raise TypeError(f"{self._spec} has elements of {self.dtype.itemsize} bytes, {type} of {dtype_of(type).itemsize}")
        return DeviceArray(self._loaded, self._spec._replace(type=type), self.stream, self)

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        kind = "V" if self.dtype.kind not in "biufc" else self.dtype.kind
        return {"shape": self.shape, "typestr": f"<{kind}{self.dtype.itemsize}", "data": (self.address, False), "version": 3,
                "stream": self.stream or 1}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return CUDA, 0

    def __dlpack__(self, *, stream: Optional[int] = None, **_: Any) -> Any:
        """`stream`: the consumer's, by the array API's numbers: None and 1 are the default one, -1 asks for nothing. Another stream than the one
        that fills the array does not wait for it, so the host does."""
        if stream != -1 and (stream or 1) != (self.stream or 1) and self._spec.bytes:
            self._loaded.wait(self.address)
        code, bits = _DLPACK[self._spec.type]
        n = len(self.shape)
        dims = (c_int64 * max(n, 1))(*self.shape)
        managed = _Managed(_Tensor(self.address, CUDA, 0, n, code, bits, 1, dims, None, 0), None, _delete)
        key = ctypes.addressof(managed)
        _exported[key] = (self, managed, dims)
        return _capsule_new(key, b"dltensor", _forget)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> "numpy.ndarray[Any, Any]":
        out = numpy.empty(self.shape, self.dtype)
        self._loaded.read(out.ctypes.data, self.address, self._spec.bytes)
        return out if dtype is None else out.astype(dtype)

    def __repr__(self) -> str:
        return f"<warpburg.DeviceArray {self._spec} at 0x{self.address:x}>"


_exported: Dict[int, Any] = {}  # DLPack tensors that a consumer holds, until it calls their deleter; or that stand in a capsule


@_Deleter
def _delete(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _forget(capsule: int) -> None:
    """Ends a capsule, whose tensor nobody has taken if it still has its name."""
    if _name_is(capsule, b"dltensor"):
        _exported.pop(_pointer_of_dying(capsule, b"dltensor"), None)


class Loaded:
    """A kernel in the memory of a GPU, and the memory of its outputs: if it is collected together with them, Python may end it first."""

    def __init__(self, kernel: Any) -> None:
        self._pointer = _library.OPAQUE()
        self._allocated: Set[int] = set()
        _library.called(_library.lib.wb_gpu_load, kernel, ctypes.byref(self._pointer))

    def __del__(self) -> None:
        for address in list(self._allocated):
            self.release(address)
        _library.lib.wb_gpu_unload(self._pointer)

    def allocate(self, n: int) -> int:
        at = c_uint64()
        _library.called(_library.lib.wb_gpu_allocate, self._pointer, n, ctypes.byref(at))
        self._allocated.add(at.value)
        return at.value

    def release(self, address: int) -> None:
        if address in self._allocated:
            self._allocated.remove(address)
            _library.called(_library.lib.wb_gpu_release, self._pointer, address)

    def read(self, to: int, address: int, n: int) -> None:
        _library.called(_library.lib.wb_gpu_read, self._pointer, to, address, n)

    def wait(self, address: int) -> None:
        """Until the GPU is idle: copies are made then."""
        byte = ctypes.c_char()
        self.read(ctypes.addressof(byte), address, 1)

    def enqueue(self, stream: int, addresses: Any) -> None:
        _library.called(_library.lib.wb_gpu_enqueue, self._pointer, stream, addresses)



"""warpburg: HLO fusions to GPU kernels by proved rules, and a simulator that runs, checks and times them without a GPU.

    import numpy, warpburg
    k = warpburg.compile(open("gelu.hlo").read(), target="sm_90")
    print(k)                       # <warpburg.Kernel gelu for sm_90: (bf16[4096,3072]) -> (bf16[4096,3072]), 1 launch>
    print(k.ptx, k.explain())
    y = k.run(x)                   # in the simulator, numpy in and out; k.run(x, on="gpu")
    assert k.check(case="e")       # every access and every element
    print(k.profile())             # its time on the GPU, and what bounds it
    p = warpburg.compile(model)    # a module that is more than one fusion: a Program of kernels, library calls, loops

warpburg.jax makes JAX operations of kernels.
"""
from ._arrays import DeviceArray, Spec
from ._elementwise import elementwise, reduce
from ._kernel import Buffer, Kernel, Launch, Page, Profile, Verdict, targets
from ._library import Declined, Error, Fault, HloError, lib as _lib
from ._program import Program, ProgramProfile, ProgramVerdict, Step, compile, load, read

__version__: str = _lib.wb_version().decode()
__all__ = ["Buffer", "Declined", "DeviceArray", "Error", "Fault", "HloError", "Kernel", "Launch", "Page", "Profile", "Program", "ProgramProfile",
           "ProgramVerdict", "Spec", "Step", "Verdict", "compile", "elementwise", "load", "read", "reduce", "targets"]

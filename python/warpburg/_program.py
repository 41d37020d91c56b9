"""Programs: modules that are more than one fusion; and compile, which gives a Kernel or a Program."""
from __future__ import annotations

import html
import json
import os
import re
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from . import _library, _stablehlo
from ._arrays import untraced
from ._kernel import Context, Kernel, Page, addresses_of, c_options, folder_name, memory_for, one_or_all, outputs_of, specs_of, targets
from ._library import Declined, called, lib, text, whole
from ._watched import Watched

_CASES = "wneptu"  # of inputs that are made: the others are made for one fusion
_KINDS = tuple(s[len("step_"):] for s in _library.STEPS)


class Step(NamedTuple):
    """A step of a program. `kind`: kernel, library, copy, loop, branch or call; `name` and `operation` are those of its instruction.
    `reads` and `makes`: names of values, with their types. `kernel`: what runs, None where the step is no kernel, or its kernel was left out.
    `calls`: names of computations. `hlo`: the text of a kernel or library call."""
    kind: str
    name: str
    operation: str
    reads: Tuple[str, ...]
    makes: Tuple[str, ...]
    kernel: Optional[Kernel]
    calls: Tuple[str, ...]
    hlo: str

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {self.operation}({', '.join(self.reads)}) -> {', '.join(self.makes)}>"


class Memory(NamedTuple):
    """Bytes of one run: parameters, results that have no parameter's memory, constants, temporaries; `peak` is their sum."""
    parameters: int
    results: int
    constants: int
    temporaries: int
    peak: int


class ProgramVerdict(NamedTuple):
    """What a check found; true if nothing is wrong. Kernels are compared by the bounds of their own text on the inputs that they got, the
    results (`whole_`) by those of the whole module; whole_compared 0: `report` says why they were not."""
    ok: bool
    judged: int
    compared: int
    outside: int
    max_ulp: float
    whole_compared: int
    whole_outside: int
    whole_max_ulp: float
    faults: Tuple[str, ...]
    report: str

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.report


class ProgramProfile:
    """The modelled time of a program: `seconds` of all steps, `library_seconds` of it library calls, by the roofline; `launch` of it to launch
    kernels and copies, of which `launches` run; the number of steps that are `kernels`, `copies`, `library` calls, `loops`, of these `open_loops`
    (how often they run is not known, and their bodies count once), and `refused` kernels. `data` has every kernel and call."""

    def __init__(self, t: _library.ProgramTime, result: _library.Result) -> None:
        self.seconds, self.library_seconds, self.launch = t.seconds, t.library_seconds, t.launch
        self.launches, self.kernels, self.copies, self.library = t.launches, t.kernels, t.copies, t.library
        self.loops, self.open_loops, self.refused = t.loops, t.open_loops, t.refused
        self.text = result.text
        self.data: Dict[str, Any] = json.loads(result.json)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        calls = f", and {self.library} library call{'s' * (self.library != 1)}" * bool(self.library)
        return f"<warpburg.ProgramProfile {1e6 * self.seconds:.2f} us in {self.launches} launch{'es' * (self.launches != 1)}{calls}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(c['kind'])}</td><td>{html.escape(c['name'])}</td><td>{c['times']}</td><td>{1e6 * c['seconds']:.2f}</td>"
                       f"<td>{100 * c['seconds'] * c['times'] / (self.seconds or 1):.1f} %</td><td>{html.escape(c['refused'] or c['binds'] or '')}</td></tr>"
                       for c in self.data["costs"])
        head = "<tr><th>kind</th><th>step</th><th>times</th><th>us</th><th>share</th><th>bound by</th></tr>"
        return f"<p>{html.escape(self.text.splitlines()[0])}</p><table>{head}{rows}</table>"


class Program:
    """A module compiled: kernels, library calls, copies, loops and branches in order, and the memory between them. Threads may run one at
    once. `inputs` and `outputs` are the arrays of the entry; `kernels` has one for each text (None: left out, see compile's `partial`)."""

    def __init__(self, hlo: Optional[str], file: str, options: Dict[str, Any], cut: str, partial: bool, saved: bool = False) -> None:
        """hlo None: `file` is a folder; saved: with its kernels."""
        context, self._pointer = Context(), c_void_p()
        self._context = context
        o = _library.ProgramOptions(c_options(options), _library.CUTS.index(cut), partial)
        if hlo is None:
            context.expect(_library.Error, lib.wb_program_read, file.encode(), None if saved else byref(o), byref(self._pointer))
        else:
            data = hlo.encode()
            context.expect(_library.HloError, lib.wb_program_compile, file.encode(), data, len(data), byref(o), byref(self._pointer))
        self._made_of = None if hlo is None else (hlo, file, options, cut, partial)
        self.messages = text(lib.wb_messages(context.pointer))  # which kernels were left out
        self.name, self.target = text(lib.wb_program_name(self._pointer)), text(lib.wb_program_target(self._pointer))
        self.accuracy = options["accuracy"]
        self.inputs, self.outputs = specs_of(self._pointer, lib.wb_program_input), specs_of(self._pointer, lib.wb_program_output)
        self.kernels: Tuple[Optional[Kernel], ...] = tuple(
            Kernel._of(c_void_p(at), file, options, context) if at else None
            for at in (lib.wb_program_kernel(self._pointer, i) for i in range(lib.wb_program_kernels(self._pointer))))

    def __reduce__(self) -> Any:
        """A copy, or one that is unpickled, is compiled anew, to the same bytes."""
        if not self._made_of:
            raise TypeError(f"{self.name} was read from a folder: write it to another one instead of pickling it")
        return Program, self._made_of

    # --- what it is ---
    @property
    def hlo(self) -> str:
        return text(lib.wb_program_hlo(self._pointer))

    @property
    def json(self) -> str:
        """The text of program.json: computations, values, buffers, steps."""
        return text(lib.wb_program_json(self._pointer))

    @property
    def summary(self) -> str:
        """How many steps of each kind there are, and the memory."""
        return text(lib.wb_program_summary(self._pointer))

    @property
    def memory(self) -> Memory:
        m = _library.Memory()
        lib.wb_program_memory(self._pointer, byref(m))
        return Memory(m.parameters, m.results, m.constants, m.temporaries, m.peak)

    @property
    def computations(self) -> Dict[str, List[Step]]:
        """The steps of each computation by its name, those of bodies and branches before those that call them; the entry is the last."""
        c = _library.Computation()
        names: List[str] = []
        while lib.wb_program_computation(self._pointer, len(names), byref(c)):
            names.append(text(c.name))
        return {name: self._steps(i, names) for i, name in enumerate(names)}

    @property
    def steps(self) -> List[Step]:
        """The steps of the entry, in order."""
        return list(self.computations.values())[lib.wb_program_entry(self._pointer)]

    def _steps(self, computation: int, names: List[str]) -> List[Step]:
        s, v = _library.Step(), _library.Value()
        out: List[Step] = []

        def named(at: Any, n: int) -> Tuple[str, ...]:
            words = []
            for i in range(n):
                lib.wb_program_value(self._pointer, computation, at[i], byref(v))
                words.append(f"{text(v.name)} {text(v.type)}[{','.join(str(v.dims[d]) for d in range(v.rank))}]")
            return tuple(words)

        while lib.wb_program_step(self._pointer, computation, len(out), byref(s)):
            out.append(Step(_KINDS[s.kind], text(s.name), text(s.operation), named(s.reads, s.n_reads), named(s.makes, s.n_makes),
                            self.kernels[s.kernel] if s.kernel >= 0 else None, tuple(names[s.calls[i]] for i in range(s.n_calls)), text(s.text)))
        return out

    def write(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a folder that `warpburg run` and warpburg.read take: new, empty, or with an earlier program and nothing else."""
        called(lib.wb_program_write, self._pointer, os.fsencode(folder_name(folder)))

    # --- running it ---
    @untraced
    def run(self, *arrays: Any, on: str = "sim", threads: int = 1) -> Any:
        """Runs the program in the simulator, or its kernels on="gpu"; library calls in an evaluator. Takes an array of the host for each of
        `inputs`; returns the output, or a tuple of them, as numpy arrays. A fault of a kernel raises Fault."""
        memory = self._memory(arrays)
        outputs, into = outputs_of(self.outputs)
        w = Watched(self, memory, outputs, threads=threads, on=on)
        w.called(lib.wb_program_run, self._pointer, addresses_of(memory), into, byref(w.options))
        return one_or_all(outputs)

    __call__ = run

    def check(self, *arrays: Any, case: str = "w", seed: int = 0, on: str = "sim", threads: int = 1) -> ProgramVerdict:
        """Runs the program as `run` does, checks every access of its kernels in the simulator, and compares the outputs of each kernel, and
        the results, with the bounds of what their HLO text allows. Without arrays inputs are made: `case` w, n, e, p, t or u (warpburg.h), by `seed`."""
        memory, v = self._memory(arrays) if arrays else [], _library.ProgramVerdict()
        w = Watched(self, memory, threads=threads, case=case, seed=seed, on=on, cases=_CASES)
        wrong, report = w.checked(lib.wb_program_check, self._pointer, addresses_of(memory) if arrays else None, byref(w.options), byref(v))
        return ProgramVerdict(not wrong, v.judged, v.compared, v.outside, v.max_ulp, v.whole_compared, v.whole_outside, v.whole_max_ulp, wrong, report)

    def profile(self, *, case: str = "w", seed: int = 0, blocks: int = 0) -> ProgramProfile:
        """Models the time of the kernels on the GPU, each by itself on made inputs (on a sample of so many blocks, if `blocks` is not 0)."""
        t = _library.ProgramTime()
        w = Watched(self, threads=1, case=case, seed=seed, blocks=blocks, cases=_CASES)
        return ProgramProfile(t, w.called(lib.wb_program_profile, self._pointer, byref(w.options), byref(t)))

    def page(self, *, case: str = "w", seed: int = 0, blocks: int = 0) -> Page:
        """What the program costs, as a page: kernels by their share of the time, with the lines of the user's program that the module names, library
        calls, memory; and for the costliest kernels HLO, IR, PTX and machine code with the share of each line. Arguments are those of profile."""
        w = Watched(self, threads=1, case=case, seed=seed, blocks=blocks, cases=_CASES)
        return Page(w.called(lib.wb_program_page, self._pointer, byref(w.options)).html)

    def _memory(self, arrays: Any) -> Any:
        memory = memory_for(self.name, self.inputs, arrays)
        if any(m.on_gpu for m in memory):
            raise ValueError("programs take arrays of the host; with on=\"gpu\" they are copied there and back")
        return memory

    # --- shown ---
    def __repr__(self) -> str:
        ins, outs = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        return f"<warpburg.Program {self.name} for {self.target}: ({ins}) -> ({outs}), {self.summary.partition(';')[0]}>"

    def _repr_html_(self) -> str:
        parts = []
        for name, steps in self.computations.items():
            rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in (s.kind, s.name, s.operation, ", ".join(s.reads), ", ".join(s.makes)))
                           + "</tr>" for s in steps)
            parts.append(f"<details open><summary>{html.escape(name)}</summary><table><tr><th>step</th><th>name</th><th>operation</th><th>reads</th>"
                         f"<th>makes</th></tr>{rows}</table></details>")
        return f"<p>{html.escape(repr(self)[1:-1])}; {self.memory.peak:,} bytes at the peak</p>{''.join(reversed(parts))}"


def _string(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name}={value!r}: a string expected")


def _options(target: str, accuracy: str, align: int, layout: Optional[str], lines: bool, cut: str, deterministic: bool) -> Dict[str, Any]:
    if accuracy not in _library.ACCURACIES:
        raise ValueError(f"accuracy={accuracy!r}: one of {', '.join(_library.ACCURACIES)} expected")
    if cut not in _library.CUTS:
        raise ValueError(f"cut={cut!r}: one of {', '.join(_library.CUTS)} expected")
    if not isinstance(target, str):
        raise TypeError(f"target={target!r}: a name expected, as targets() has them")
    if target not in targets():
        raise ValueError(f"target={target!r}: one of {', '.join(targets())} expected")
    align = whole("align", align)
    if not 0 <= align <= 4096 or align & (align - 1):
        raise ValueError(f"align={align}: a power of two, 4096 at most, expected")
    _string("layout", layout)
    return {"target": target, "accuracy": accuracy, "align": align, "layout": layout, "lines": bool(lines), "cubin": False,
            "deterministic": bool(deterministic)}


# A string, or a shape with a layout.
_LAYOUT = re.compile(r'("(?:[^"\\]|\\.)*")|(\b(?:pred|[a-z]+[0-9][0-9a-z]*)\[[0-9,<=]*\])\{[0-9,]*\}')


def row_major(hlo: str) -> str:
    """A text that JAX lowered, without layouts: it infers some from operations, {0,1} of a transpose, but its executables take and leave arrays
    in row-major order."""
    return _LAYOUT.sub(lambda found: found[1] or found[2], hlo)


def text_of(data: bytes, file: str) -> str:
    """The HLO text of what a file holds: itself, or that of a module as a protocol buffer or of StableHLO."""
    if _stablehlo.is_stablehlo(data):
        return row_major(text_of(_stablehlo.hlo_of(data, file), file))
    r = _library.Result()
    if r.take(lib.wb_hlo_text(file.encode(), data, len(data), byref(r.pointer)), ()).status:
        raise _library.HloError(r.messages)
    return r.text


def assumed(hlo: str, assume: str) -> str:
    """The text with flags in its header, which every operation on floats then has."""
    r, data = _library.Result(), hlo.encode()
    if r.take(lib.wb_hlo_assume(data, len(data), assume.encode(), byref(r.pointer)), ()).status:
        raise ValueError(f"assume={assume!r}: some of contract, nnan and nsz expected, as in 'contract,nnan'")
    return r.text


def compile(hlo: Union[str, bytes, "os.PathLike[str]", Any], *, target: str = "sm_90", accuracy: str = "exact", align: int = 16,
            layout: Optional[str] = None, lines: bool = False, file: Optional[str] = None, program: Optional[bool] = None, cut: str = "priced",
            partial: bool = False, deterministic: bool = False, tune: Optional[str] = None, assume: str = "") -> Any:
    """Compiles a module: a Kernel if it is one fusion, or operations that one kernel computes without library calls among them; else a Program.

    hlo: its HLO text; the bytes of a module that XLA dumped as a protocol buffer (.hlo.pb); StableHLO as text or bytecode, where jaxlib is
    installed; a path of a file with one of these; or what jax.jit(f).lower(..) or jax.export.export(..)(..) returns (see warpburg.jax.compile).
    target: as in targets(). accuracy: exact, xla or approx, the errors that functions may have. align: of every buffer, bytes.
    layout: text of the layout that the kernel must have (None: the cheapest). lines: the PTX has .loc lines. file: a name for messages.
    program: True: a Program in any case; False: a Kernel, or Declined. cut: how an unfused module is cut, priced or plain.
    partial: kernels of a program that are declined are left out, instead of declining it.
    deterministic: updates of scatters are combined in their order: the same bits in every run.
    assume: what holds of every operation on floats, some of contract,nnan,nsz: a sum may take a product unrounded, no value is a nan, the sign
    of a zero does not matter (docs/assume.md). The text that is compiled says so, and `check` judges by it.
    tune: "profile": of a kernel's layouts that are about as cheap by price, the one whose profile is the shortest (see Kernel.tuned).
    Raises HloError with file, line and column, or Declined with a reason.
    """
    _string("file", file)
    _string("assume", assume)
    if isinstance(hlo, os.PathLike):
        file = file or os.fspath(hlo)
        hlo = text_of(Path(hlo).read_bytes(), file)
    elif isinstance(hlo, bytes):
        hlo = text_of(hlo, file or "<bytes>")
    elif isinstance(hlo, str) and _stablehlo.is_stablehlo(hlo[:4096].encode()):
        hlo = text_of(hlo.encode(), file or "<text>")
    elif hasattr(hlo, "mlir_module_serialized"):
        hlo = text_of(hlo.mlir_module_serialized, file or str(getattr(hlo, "fun_name", "<exported>")))
    elif hasattr(hlo, "as_text"):
        hlo = row_major(hlo.as_text(dialect="hlo"))
    elif not isinstance(hlo, str):
        raise TypeError(f"HLO text, a path, or what jax.jit(f).lower(..) returns expected, found {type(hlo).__name__}")
    elif "\n" not in hlo and hlo.strip() and len(hlo) < 4096 and "\0" not in hlo and os.path.exists(hlo):
        raise ValueError(f"{hlo!r} is the name of a file: pathlib.Path({hlo!r}) compiles what is in it")
    elif "\n" not in hlo and hlo.endswith((".hlo", ".txt", ".pb", ".mlir")):
        raise FileNotFoundError(f"{hlo!r}: HLO text expected, and there is no such file, which pathlib.Path({hlo!r}) would be")
    if tune not in (None, "profile"):
        raise ValueError(f"tune={tune!r}: None or 'profile' expected")
    options = _options(target, accuracy, align, layout, lines, cut, deterministic)
    hlo = assumed(hlo, assume) if assume else hlo
    made = _compiled(hlo, file or "<text>", options, program, cut, partial)
    return made.tuned() if tune and not layout and isinstance(made, Kernel) else made


def _compiled(hlo: str, name: str, options: Dict[str, Any], program: Optional[bool], cut: str, partial: bool) -> Union[Kernel, "Program"]:
    if program is None and not options["layout"]:
        data = hlo.encode()
        kind = _library.KINDS[lib.wb_kind_of(data, len(data))]
        if kind in ("one_step", "several_steps"):  # one kernel may be able to compute them, and as fast
            context = Context()
            apart = context.call(lib.wb_better_apart, data, len(data), byref(c_options(options)))
            for several in (True, False) if apart else (False,):
                try:
                    return Program(hlo, name, options, cut, partial) if several else Kernel(hlo, name, options)
                except Declined:
                    pass
        program = kind != "one_step"
    if not program:
        return Kernel(hlo, name, options)
    return Program(hlo, name, options, cut, partial)


def read(folder: Union[str, "os.PathLike[str]"], *, target: str = "sm_90", accuracy: str = "exact", align: int = 16, lines: bool = False,
         partial: bool = False, deterministic: bool = False) -> Program:
    """The program of a folder that Program.write, or `warpburg compile -o`, left. Its kernels are compiled anew, as the options say."""
    return Program(None, folder_name(folder), _options(target, accuracy, align, None, lines, "priced", deterministic), "priced", partial)


def load(folder: Union[str, "os.PathLike[str]"]) -> Union[Kernel, Program]:
    """What Kernel.save or Program.write left in a folder, without compiling, and with the options that it was compiled with. Raises an Error that
    names the file where one is damaged or missing, or the folder where another version of warpburg has written it: `read` compiles a program
    anew, and compile(Path(folder) / "fusion.hlo") a kernel."""
    name = folder_name(folder)
    try:
        saved = json.loads((Path(name) / "saved.json").read_bytes())
        whole = saved["saved"] == "program"
        options = {"target": saved["target"], "accuracy": saved["accuracy"], "align": saved["align"], "layout": saved["layout"],
                   "lines": saved["lines"], "cubin": False, "deterministic": saved["deterministic"]}
    except (OSError, ValueError, LookupError, TypeError):  # the library says which file it is, and what is wrong with it
        whole, options = os.path.exists(os.path.join(name, "program.json")), _options("sm_90", "exact", 16, None, False, "priced", False)
    if whole:
        return Program(None, name, options, "priced", True, saved=True)
    context, pointer = Context(), c_void_p()
    context.expect(_library.Error, lib.wb_kernel_read, name.encode(), byref(pointer))
    return Kernel._of(pointer, name, options, context)


__all__ = ["Memory", "Program", "ProgramProfile", "ProgramVerdict", "Step", "compile", "load", "read"]

# Text tests: lit tests/lit --param warpburg=PATH [--param tools=FOLDER of FileCheck]
# A file, or a RUN line in `%if llvm %{ .. %}`, that asks for LLVM is left out where the build has none.
import os
import re
import shutil
import subprocess

import lit.formats

config.name = "warpburg"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".hlo", ".ir", ".ptx", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(os.path.dirname(os.path.abspath(lit_config.params["warpburg"])), "lit")


def tool(name):
    """The path of LLVM's FileCheck or not, which are installed with a version in their names or in a folder of their version."""
    folders = [lit_config.params.get("tools", ""), "/usr/lib/llvm-22/bin"]
    for candidate in [os.path.join(f, name) for f in folders] + [name + "-22", name]:
        found = shutil.which(candidate)
        if found:
            return found
    lit_config.fatal(f"{name} is not installed (llvm-22-tools)")


def rows():
    """%row(NAME): the place of a strategy or a number of patterns/strategies.py, for --disable: its line is another one when a row is added."""
    path = os.path.join(config.test_source_root, "..", "..", "patterns", "strategies.py")
    with open(path, encoding="utf-8") as file:
        for n, line in enumerate(file, 1):
            found = re.match(r" +(?:strategy|tune)\('([^']*)'", line)
            if found:
                yield re.escape(f"%row({found[1]})"), f"strategies.py:{n}"


config.substitutions += [*rows()]
config.substitutions += [
    ("%warpburg", os.path.abspath(lit_config.params["warpburg"])),
    ("%FileCheck", tool("FileCheck")),
    (r"\bnot\b", tool("not")),
]
config.environment["PATH"] = os.environ["PATH"]
config.environment["WARPBURG_CACHE"] = "off"
for name in ("WARPBURG_LIBDEVICE", "WARPBURG_PTXAS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
text = os.path.join(config.test_source_root, "..", "..", "shaderdb", "corpus", "gelu.hlo")
command = [os.path.abspath(lit_config.params["warpburg"]), "compile", text, "--emit", "llvm"]
if subprocess.run(command, capture_output=True, check=False, env={**os.environ, "WARPBURG_CACHE": "off"}).returncode == 0:
    config.available_features.add("llvm")

"""The command line: its tables are what it takes, and what help, man pages, completions and documents say.

usage: command_line.py build/warpburg build/warpburg-run

- Every option of every table is in its command's --help, in the man pages and in the completions of three shells.
- A command takes each of its options, and refuses any other with exit status 2, its own name and a nearest option.
- Examples of --help, and the command lines in the READMEs and in docs/, parse: `--help` behind one is reached where all
  before it is right.
- bash, zsh and fish complete command lines with the scripts; groff and mandoc read the pages. What is not here is
  skipped.

Ends with `N passed, M failed`.
"""
from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Set, Tuple

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(f for pattern in ("*.md", "docs/*.md", "*/README.md", "src/*/README.md") for f in ROOT.glob(pattern))
PLACEHOLDER = re.compile(r"\[|\||\.\.(?![/.])|\bTOOL\b|\bCOMMAND\b|\.\.\.")


class Option(NamedTuple):
    command: str   # "rules list"; "" for what the program takes in place of a command
    name: str
    letter: str
    kind: str
    argument: str
    choices: str
    text: str

    def words(self) -> List[str]:
        """The option as it may stand on a command line."""
        value = self.choices.split()[0] if self.choices != "-" else "1"
        return [self.name] if self.kind == "flag" else [self.name, value]


class Program:
    def __init__(self, path: str) -> None:
        self.path, self.name = path, Path(path).name
        self.options = [Option(*line.split("\t")) for line in self.call("--options").stdout.splitlines()]
        self.commands = list(dict.fromkeys(o.command for o in self.options if o.command))
        self.names: Dict[str, Set[str]] = {c: set() for c in ["", *self.commands]}    # by command
        self.letters: Dict[str, Set[str]] = {c: set() for c in ["", *self.commands]}  # "-o"
        for o in self.options:
            self.names[o.command].add(o.name)
            self.letters[o.command] |= {"-" + o.letter} - {"--"}

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([self.path, *words], capture_output=True, text=True, timeout=60)


Faults = List[str]


# --- help, man pages, what is taken -----------------------------------------------------------------------------
def check_help(p: Program) -> Faults:
    faults = []
    for command in ["", *p.commands]:
        words = command.split()
        ways = [[*words, "--help"], [*words, "-h"], ["help", *words]]
        texts = {p.call(*way).stdout for way in ways}
        if len(texts) != 1:
            faults.append(f"{p.name} {command}: {' and '.join(' '.join(w) for w in ways)} differ")
        text = texts.pop()
        for o in p.options:
            letter = f"-{o.letter}, " if o.letter != "-" else "    "
            value = f" {o.argument}" if o.argument != "-" else ""
            if o.command == command and not re.search(rf"^  {re.escape(letter + o.name + value)}(\s|$)", text, re.M):
                faults.append(f"{p.name} {command} --help has no {o.name}")
        parts = ["usage: ", "\nexit status:\n", *(["\nexamples:\n"] if command else [])]
        faults += [f"{p.name} {command} --help has no {part.strip()}" for part in parts if part not in text]
    return faults


def check_man(p: Program) -> Faults:
    faults, pages = [], {c: p.call("--man", *c.split()).stdout for c in ["", *p.commands]}
    for command, page in pages.items():
        plain = page.replace("\\-", "-")
        sections = dict(re.findall(rf"^\.SS {p.name} ([^\n]+)\n(.*?)(?=^\.S[SH] |\Z)", plain, re.M | re.S))
        for o in p.options:
            if o.name == "--help" and o.command or command not in ("", o.command):
                continue
            if f"\\fB{o.name}\\fR" not in (plain if command or not o.command else sections.get(o.command, "")):
                faults.append(f"{p.name} --man {command}: no {o.name}")
        for tool, words in (("groff", ["-man", "-Tutf8", "-ww"]), ("mandoc", ["-Tlint", "-Wwarning"])):
            if shutil.which(tool):
                done = subprocess.run([tool, *words], input=page, capture_output=True, text=True)
                said = done.stderr + (done.stdout if tool == "mandoc" else "")
                said = re.sub(r".*missing date.*\n", "", said)  # it would differ from build to build
                faults += [f"{p.name} --man {command}: {line}" for line in said.splitlines()]
            elif not command:
                print(f"skipped: man pages of {p.name} by {tool}, which is not here")
    return faults


def check_taken(p: Program) -> Faults:
    """Each option by a command that takes it; each by one that does not."""
    faults = []
    for command in p.commands:
        own = [o for o in p.options if o.command == command and o.name != "--help"]
        lettered = [["-" + o.letter, *o.words()[1:]] for o in own if o.letter != "-"]
        for words in ([w for o in own for w in o.words()], ["=".join(o.words()) for o in own],
                      [w for o in lettered for w in o], ["".join(o) for o in lettered]):
            done = p.call(*command.split(), *words, "--help")
            if done.returncode != 0 or not done.stdout.startswith("usage: "):
                faults.append(f"{p.name} {command} {' '.join(words)} --help: {done.returncode}: {done.stderr.strip()}")
    for n, name in enumerate(sorted(set().union(*(p.names[c] for c in p.commands)))):
        others = [c for c in p.commands if name not in p.names[c]]
        if not others:
            continue
        command = others[n % len(others)]
        done = p.call(*command.split(), name, "--help")
        wanted = rf"{p.name} {command}: no option {name}.*; the nearest is --"
        if done.returncode != 2 or not re.match(wanted, done.stderr):
            faults.append(f"{p.name} {command} {name}: exit {done.returncode}: {done.stderr.strip()}")
    return faults


# --- examples and documents -------------------------------------------------------------------------------------
def lines_of(text: str) -> List[str]:
    """Command lines in code: between backquotes, behind `$ `, or indented."""
    inline = [" ".join(found.split()) for found in re.findall(r"(?<!`)`((?:warpburg|warpburg-run) [^`]+)`", text)]
    return inline + re.findall(r"^(?: {4,}|\$ )((?:warpburg|warpburg-run) .*)$", text, re.M)


def check_line(programs: Dict[str, Program], line: str) -> str:
    """Why a documented command line is wrong; "" if it is right."""
    words = line.split()
    p = programs[words[0]]
    first = words[1] if len(words) > 1 else ""
    tools = [c for c in p.commands if c.split() == words[1:3]] or [c for c in p.commands if c.split()[0] == first]
    if not tools and first != "help" and first not in p.names[""] and not PLACEHOLDER.search(first):
        return f"no command {first}"
    known: Set[str] = set().union(*(p.names[c] | p.letters[c] for c in tools or [""]))
    unknown = [o for o in re.findall(r"(?<![\w'/.-])(--?[a-z][a-z0-9-]*)", line) if o not in known]
    if unknown:
        return f"takes no {' '.join(unknown)}"
    if PLACEHOLDER.search(line) or not tools:
        return ""
    done = p.call(*shlex.split(line, comments=True)[1:], "--help")
    return "" if done.returncode == 0 else f"exit {done.returncode}: {done.stderr.splitlines()[0]}"


def check_documents(programs: Dict[str, Program]) -> Tuple[int, Faults]:
    n, faults = 0, []
    texts = [(str(f.relative_to(ROOT)), lines_of(f.read_text())) for f in DOCUMENTS]
    for p in programs.values():
        for command in p.commands:
            shown = p.call(*command.split(), "--help").stdout.partition("\nexamples:\n")[2]
            texts.append((f"{p.name} {command} --help", re.findall(rf"^  ({p.name} .*)$", shown, re.M)))
    for where, lines in texts:
        for line in lines:
            n += 1
            why = check_line(programs, line)
            if why:
                faults.append(f"{where}: {line}: {why}")
    return n, faults


# --- completions -------------------------------------------------------------------------------------------------
def check_scripts(p: Program) -> Faults:
    faults = []
    for shell in ("bash", "zsh", "fish"):
        script = p.call("--completions", shell).stdout
        for o in p.options:
            wanted = f" -l {o.name[2:]}" if shell == "fish" else o.name
            part = script
            if o.command and shell == "fish":
                part = "\n".join(re.findall(rf".*_at {o.command}'.*", script))
            elif o.command:
                part = "".join(re.findall(rf"^    '{o.command}'\)\n(.*?);;$", script, re.M | re.S))
            if not re.search(rf"{re.escape(wanted)}(?![a-z-])", part):
                faults.append(f"{p.name} --completions {shell}: {o.command}: no {o.name}")
    return faults


def bash_completes(script: str, words: List[str]) -> List[str]:
    line = " ".join(shlex.quote(w) for w in words)
    text = (f"source {script}\nf=$(complete -p {words[0]}); f=${{f#complete -F }}\nCOMP_WORDS=({line})\n"
            f"COMP_CWORD={len(words) - 1}\n" '${f% *}\nprintf "%s\\n" "${COMPREPLY[@]}"\n')
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=ROOT).stdout.split("\n")


def fish_completes(script: str, words: List[str]) -> List[str]:
    text = f"source {script}; complete -C {shlex.quote(' '.join(words))}"
    done = subprocess.run(["fish", "--no-config", "-c", text], capture_output=True, text=True, cwd=ROOT)
    return [line.split("\t")[0] for line in done.stdout.split("\n")]


def zsh_completes(script: str, words: List[str]) -> List[str]:
    """The last word as an interactive zsh leaves it after a tab."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "", "HOME": "/nonexistent"})

    def until(end: str) -> str:
        said, last = "", time.monotonic() + 20
        while not re.search(end, said, re.M) and time.monotonic() < last:
            if select.select([fd], [], [], 0.1)[0]:
                said += os.read(fd, 65536).decode().replace("\r", "")
        return said

    begin = f"autoload -Uz compinit; compinit -u -D; source {script}; bindkey '^I' complete-word; print -r READ''Y\n"
    os.write(fd, begin.encode())
    until("^READY$")
    os.write(fd, " ".join(words).encode() + b"\t\x01print -r @''@\x05\x20.\n")  # the line as it is now, printed
    found = re.search(r"^@@(.*) \.$", until(r"^@@.*\n"), re.M)
    os.write(fd, b"\nexit\n")
    os.close(fd)
    os.waitpid(pid, 0)
    return [found[1].split()[-1]] if found else []


CASES = [  # program, words, what the last becomes
    ("warpburg", ["compi"], "compile"), ("warpburg", ["rules", "abl"], "ablate"),
    ("warpburg", ["rules", "list", "--pha"], "--phase"), ("warpburg", ["compile", "--target", "sm_8"], "sm_80"),
    ("warpburg", ["run", "shaderdb/corpus/gelu_f"], "shaderdb/corpus/gelu_f32.hlo"),
    ("warpburg", ["eval", "-o", "shader"], "shaderdb"), ("warpburg", ["help", "compi"], "compile"),
    ("warpburg", ["--completi"], "--completions"), ("warpburg", ["ir", "--emit", "cu"], "cubin"),
    ("warpburg-run", ["ev"], "eval"), ("warpburg-run", ["run", "--ulp"], "--ulp-noise")]
ONE_OF_SEVERAL = {"sm_80"}  # a shell that completes in place stops where they differ


def check_shells(programs: Dict[str, Program]) -> Tuple[int, Faults]:
    n, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for shell, completes in (("bash", bash_completes), ("zsh", zsh_completes), ("fish", fish_completes)):
            if not shutil.which(shell):
                print(f"skipped: completions by {shell}, which is not here")
                continue
            for name, words, wanted in CASES:
                if shell == "zsh" and wanted in ONE_OF_SEVERAL:
                    continue
                n += 1
                script = Path(folder) / f"{shell}.{name}"
                script.write_text(programs[name].call("--completions", shell).stdout)
                got = completes(str(script), [name, *words])
                if not any(g.rstrip("/") == wanted for g in got):
                    faults.append(f"{shell}: {name} {' '.join(words)}<TAB>: {wanted} expected, got {' '.join(got)}")
    return n, faults


def main() -> int:
    programs = {p.name: p for p in map(Program, sys.argv[1:3])}
    passed, faults = 0, []
    for p in programs.values():
        for check in (check_help, check_man, check_taken, check_scripts):
            found = check(p)
            faults += found
            passed += not found
    for what, every in (("command lines in documents", check_documents), ("completed words", check_shells)):
        n, found = every(programs)
        print(f"{n} {what}")
        faults += found
        passed += n - len(found)
    print("\n".join(faults))
    print(f"{passed} passed, {len(faults)} failed")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

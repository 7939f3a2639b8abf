"""Many kernels in one program: each in a namespace, with the lines of its own file, chosen when it runs."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import Answer, CallRequest
from ascend_ep.opbuild.ascendc.cpp import linked
from ascend_ep.opbuild.ascendc.program_process import run_program
from ascend_ep.opbuild.kernels.run_kernel import RunRequest, prepared
from ascend_ep.opbuild.kernels.signature import KernelFunction
from ascend_ep.opbuild.kernels.units import program_units

CHOSEN, REACHED = "ASC_PLANTED_MISTAKE", "ASC_PLANTED_REACHED"
#: A call that is a statement of its own, and what makes the next line a part of its own statement.
_CALL = re.compile(r"^\s*(?![A-Z_]+\b)[A-Za-z_][\w.:]*(?:->\w+)?(?:<[^;=]*>)?\(.*\);\s*$")
_OPEN = re.compile(r"(?:\)|\belse|[,=(?:+*/&|-])\s*$")
#: Notes the lines that a kernel reaches.
_REACH = f"""
#include <cstdio>
#include <set>
namespace asc_planted {{
inline std::set<int> &lines() {{ static std::set<int> the; return the; }}
inline void write() {{
    FILE *file = std::fopen(std::getenv("{REACHED}"), "w");
    for (int line : lines()) std::fprintf(file, "%d\\n", line);
    std::fclose(file);
}}
inline void reach(int line) {{
    if (lines().empty()) std::atexit(write);
    lines().insert(line);
}}
}}
"""
SECONDS = 20
_INCLUDE = re.compile(r"^\s*#\s*include\b.*$|^\s*#\s*pragma\s+once\b.*$", re.MULTILINE)
_GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n[ \t]*#[ \t]*define[ \t]+\1\b", re.MULTILINE)
_OF_C = re.compile(r"\bextern\s+\"C\"\s+|\b__global__\b")
_FILE = re.compile(r"\bplanted_(\d+)\.cpp\b")


@dataclass(frozen=True)
class Batch:
    """A compiled program. inputs: the names of its arrays. refused: those that the compiler refuses, and what
    it says."""

    program: Path
    call: CallRequest
    kernel: str
    inputs: Sequence[str]
    refused: Mapping[int, str]

    def reached(self, number: int) -> frozenset[int]:
        """The lines that one made by noting() reaches."""
        with tempfile.NamedTemporaryFile("r") as file:
            os.environ[REACHED] = file.name
            self.run(number, strict=False)
            return frozenset(map(int, file.read().split()))

    def run(self, number: int, strict: bool) -> Answer | str:
        """What one of them does; a text where its process ends."""
        os.environ[CHOSEN] = str(number)
        try:
            return run_program(self.program, replace(self.call, strict=strict), self.kernel, SECONDS)
        except AscendError as error:
            return " ".join([error.text, *(error.details or ())])


def noting(text: str) -> str:
    """The kernel, with calls that note which of its lines are reached."""
    lines, made = text.splitlines(), []
    for at, line in enumerate(lines):
        before = lines[at - 1] if at else ""
        noted = _CALL.match(line) and not _OPEN.search(before)
        made.append(f"::asc_planted::reach({at + 1}); {line.strip()}" if noted else line)
    return "\n".join([*made, ""])


def is_noted(line: str) -> bool:
    """Whether noting() notes it, where it begins a statement."""
    return _CALL.match(line) is not None


def compiled(kernel: KernelFunction, request: RunRequest, texts: Sequence[str], file: Path) -> Batch:
    """Writes the program's kernel to `file`, in the place of the request's, and compiles it; those that the
    compiler refuses are left out."""
    refused: dict[int, str] = {}
    sources = replace(request.sources, kernels=(file,))
    while True:
        file.write_text(_source(kernel, texts, refused), encoding="utf-8")
        request = replace(request, sources=sources)
        _, assembly, call, _ = prepared(request)
        try:
            program = linked(program_units(assembly, True, request.soc), "run")
            return Batch(program, call, kernel.name, assembly.inputs, refused)
        except AscendError as error:
            said = [error.text, *(error.details or ())]
            found = {int(n): line for line in said for n in _FILE.findall(line)[:1] if "error" in line}
            if not found or 0 in found:
                raise
            refused.update(found)


def place_of(line: str) -> tuple[int, int] | None:
    """The number of the kernel and the line that a fault names."""
    found = re.search(r"\bplanted_(\d+)\.cpp:(\d+)", line)
    return (int(found[1]), int(found[2])) if found else None


def _source(kernel: KernelFunction, texts: Sequence[str], refused: Mapping[int, str]) -> str:
    declared = ", ".join(f"{p.type} {p.name}" for p in kernel.parameters)
    names = ", ".join(p.name for p in kernel.parameters)
    includes = dict.fromkeys(m[0].strip() for m in _INCLUDE.finditer(texts[0]) if "pragma" not in m[0])
    lines = [*includes, "#include <cstdlib>", _REACH]
    cases = []
    for i, text in enumerate(texts):
        if i in refused:
            continue
        inner = _OF_C.sub("", _INCLUDE.sub("", text))
        lines += [f"namespace planted_{i} {{", f'#line 1 "planted_{i}.cpp"', inner, "}"]
        lines += [f"#undef {guard}" for guard in _GUARD.findall(text)]
        cases.append(f"        case {i}: return planted_{i}::{kernel.name}({names});")
    return "\n".join([
        *lines,
        '#line 1 "planted.cpp"',
        f'extern "C" __global__ __aicore__ void {kernel.name}({declared}) {{',
        f'    static const int which = std::atoi(std::getenv("{CHOSEN}"));',
        "    switch (which) {",
        *cases,
        "    }",
        "}",
        "",
    ])  # fmt: skip

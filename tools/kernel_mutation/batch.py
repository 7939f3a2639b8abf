"""Many kernels in one program: each in a namespace, with the lines of its own file, chosen when it runs."""

from __future__ import annotations

import os
import re
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

CHOSEN = "ASC_PLANTED_MISTAKE"
SECONDS = 20
_INCLUDE = re.compile(r"^\s*#\s*include\b.*$|^\s*#\s*pragma\s+once\b.*$", re.MULTILINE)
_OF_C = re.compile(r"\bextern\s+\"C\"\s+|\b__global__\b")
_FILE = re.compile(r"\bplanted_(\d+)\.cpp\b")


@dataclass(frozen=True)
class Batch:
    """A compiled program. refused: those that the compiler refuses, and what it says."""

    program: Path
    call: CallRequest
    kernel: str
    refused: Mapping[int, str]

    def run(self, number: int, strict: bool) -> Answer | str:
        """What one of them does; a text where its process ends."""
        os.environ[CHOSEN] = str(number)
        try:
            return run_program(self.program, replace(self.call, strict=strict), self.kernel, SECONDS)
        except AscendError as error:
            return " ".join([error.text, *(error.details or ())])


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
            return Batch(program, call, kernel.name, refused)
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
    lines = [*includes, "#include <cstdlib>"]
    cases = []
    for i, text in enumerate(texts):
        if i in refused:
            continue
        inner = _OF_C.sub("", _INCLUDE.sub("", text))
        lines += [f"namespace planted_{i} {{", f'#line 1 "planted_{i}.cpp"', inner, "}"]
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

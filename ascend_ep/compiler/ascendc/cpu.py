"""Generated Ascend C on this CPU: compiled against the CPU kernel_operator.h, run in a process of its own.

What runs is what would be shipped: InferShape and TilingFunc of the host file choose shapes and tiles, the
kernel runs block by block with every rule of native/include/ascendc checked.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.codegen.generate import HEADERS
from ascend_ep.compiler.codegen.library import open_cache
from ascend_ep.compiler.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import OpDef

from .generate import KernelSource, generate_ascend_c
from .host import Column

Array = NDArray[Any]
#: A run that takes longer is stopped.
SECONDS = 60
_C_TYPES = {
    dtypes.FLOAT32: "float", dtypes.FLOAT16: "half", dtypes.BFLOAT16: "bfloat16_t", dtypes.INT32: "int32_t",
    dtypes.INT64: "int64_t", dtypes.INT16: "int16_t", dtypes.INT8: "int8_t", dtypes.UINT8: "uint8_t",
    dtypes.BOOL: "uint8_t", dtypes.UINT16: "uint16_t", dtypes.UINT32: "uint32_t", dtypes.UINT64: "uint64_t",
}  # fmt: skip
#: ge::DataType of each element type
_GE_NUMBERS = {
    dtypes.FLOAT32: 0, dtypes.FLOAT16: 1, dtypes.BFLOAT16: 27, dtypes.INT32: 3, dtypes.INT8: 2, dtypes.UINT8: 4,
    dtypes.BOOL: 12, dtypes.INT16: 6, dtypes.INT64: 9, dtypes.UINT16: 7,
    dtypes.UINT32: 8, dtypes.UINT64: 10,
}  # fmt: skip


@dataclass(frozen=True)
class CpuKernel:
    """A compiled operator for one column of element types; calling it gives the outputs."""

    path: Path
    opdef: OpDef
    source: KernelSource
    column: Column
    number: int = 0

    def __call__(
        self, *inputs: Array | None, attributes: Mapping[str, Any] | None = None, ub: int | None = None,
        cores: int | None = None,
    ) -> list[Array]:  # fmt: skip
        """The outputs; None for an input that is not given. ub, cores: another chip's, to make tiles small. Raises AscendError E43003 with
        what the checks or the tiling say."""
        bound = bind_attributes(self.opdef, attributes or {})
        numbers = [
            float(v) if isinstance(v := bound.get(a.name), int | float) else 0.0
            for a in self.opdef.attributes
        ]
        request = [
            struct.pack("<5Q", ub or self.source.soc.ub, cores or max(self.source.soc.vector_cores, 1),
                        len(inputs), len(self.source.outputs), len(numbers)),
            struct.pack(f"<{len(numbers)}d", *numbers),
        ]  # fmt: skip
        for name, array in zip(self.source.inputs, inputs, strict=True):
            if (array is not None) != (name in self.source.given):
                raise AscendError("E43003", self.source.function, f"it is made for other inputs than {name}")
            kind = _numpy(self.column[name])
            dense = np.zeros(0, kind) if array is None else np.asarray(array, dtype=kind, order="C")
            request.append(
                struct.pack(f"<{2 + dense.ndim}q", _GE_NUMBERS[self.column[name]], dense.ndim, *dense.shape)
            )
            request.append(dense.tobytes())
        request += [struct.pack("<q", _GE_NUMBERS[self.column[n]]) for n in self.source.outputs]
        try:
            answer = subprocess.run(
                [str(self.path), str(self.number)],
                input=b"".join(request),
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise AscendError("E43003", self.source.function, f"it ran longer than {SECONDS} s") from error
        if answer.returncode != 0:
            raise AscendError("E43003", self.source.function, f"it ended with status {answer.returncode}")
        return self._tensors(answer.stdout)

    def rounded(self, place: int, values: Array) -> Array:
        """`values` in the element type of input number `place`."""
        return values.astype(_numpy(self.column[self.source.inputs[place]]))

    def _tensors(self, answer: bytes) -> list[Array]:
        (failed,) = struct.unpack_from("<Q", answer)
        if failed:
            raise AscendError("E43003", self.source.function, answer[16:].decode("utf-8", "replace"))
        at, found = 16, []
        for name in self.source.outputs:
            (rank,) = struct.unpack_from("<q", answer, at)
            shape = struct.unpack_from(f"<{rank}q", answer, at + 8)
            at += 8 + 8 * rank
            kind = _numpy(self.column[name])
            size = int(np.prod(shape, dtype=np.int64))
            found.append(np.frombuffer(answer, kind, size, at).reshape(shape))
            at += size * kind.itemsize
        return found


def compile_for_cpu(
    source: KernelSource, opdef: OpDef, column: int = 0, cache: Path | None = None
) -> CpuKernel:
    """Compiles for one of source.columns. Raises AscendError E43001 without a C++ compiler, E43002 when it
    fails.
    """
    types = source.columns[column]

    text = "\n".join([*_PRELUDE, *_section(source, types, ""), *_main([""])])
    path = _program(text, {f"{source.function}_tiling.h": source.tiling}, cache)
    return CpuKernel(path, opdef, source, types)


def compile_many_for_cpu(
    kernels: Sequence[tuple[KernelSource, OpDef, int]], cache: Path | None = None, per_unit: int = 25
) -> list[CpuKernel]:
    """compile_for_cpu of each (source, opdef, column), `per_unit` kernels to a translation unit and program,
    which takes a fraction of the time. One that does not compile is compiled alone, so that E43002 is about
    it. All sources must be generate_ascend_c's: they are put into namespaces without their #include lines.
    """
    found: list[CpuKernel] = []
    for start in range(0, len(kernels), per_unit):
        unit = kernels[start : start + per_unit]
        names = [f"asc_k{i}" for i in range(len(unit))]
        sections = [
            _section(source, source.columns[column], name)
            for name, (source, _, column) in zip(names, unit, strict=True)
        ]
        text = "\n".join([*_PRELUDE, *(line for s in sections for line in s), *_main(names)])
        try:
            path = _program(text, {}, cache)
        except AscendError as error:
            if error.code != "E43002":
                raise
            found += [compile_for_cpu(source, opdef, column, cache) for source, opdef, column in unit]
            continue
        found += [
            CpuKernel(path, opdef, source, source.columns[column], i)
            for i, (source, opdef, column) in enumerate(unit)
        ]
    return found


# A kernel may have the name of a function of the C library: the headers come first.
_PRELUDE = (
    '#include "kernel_operator.h"',
    '#include "cpu/driver.h"',
    '#include "register/tilingdata_base.h"',
    "#include <algorithm>",
    "#include <array>",
)


def _section(source: KernelSource, types: Column, space: str) -> list[str]:
    """The lines of one operator: host, kernel and asc_operator, in the namespace `space` if it has one."""
    tensors = (*source.inputs, *source.outputs)
    lines = []
    for n in tensors:
        lines += [f"#undef DTYPE_{n.upper()}", f"#define DTYPE_{n.upper()} {_C_TYPES[types[n]]}"]
    lines += ["#undef ASC_TILING_STRUCT", f"#define ASC_TILING_STRUCT optiling::{source.op}TilingData"]
    texts = [source.host, source.kernel]
    if space:
        lines += [f"#undef {source.function.upper()}_TILING_H", f"namespace {space} {{"]
        lines += [f"namespace {n} {{ using namespace ::{n}; }}" for n in ("ops", "ge")]
        texts = ["\n".join(_without_includes(t)) for t in (source.tiling, *texts)]
    kernel = f"asc_kernel_{space}_{source.function}"
    lines += [*texts[:-1], f"#define {source.function} {kernel}", texts[-1], f"#undef {source.function}"]
    arguments = ", ".join([*(f"t[{i}]" for i in range(len(tensors))), "workspace", "tiling"])
    call = f"{{ {kernel}({arguments}); }}"
    lines.append(f"static void asc_launch(uint8_t **t, uint8_t *workspace, uint8_t *tiling) {call}")
    names = ", ".join(f'"{n}"' for n in tensors)
    lines.append(f"static const char *const asc_names[] = {{{names}}};")
    lines.append("static const std::unique_ptr<::ops::OpDef> asc_op = std::move(::ops::registered());")
    return [*lines, *(["}"] if space else [])]


def _without_includes(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("#include")]


def _main(spaces: Sequence[str]) -> list[str]:
    rows = ", ".join(f"{{*{s}::asc_op, {s}::asc_launch, {s}::asc_names}}" for s in spaces)
    return [
        "int main(int argc, char **argv) {",
        f"    const asc_cpu::Operator operators[] = {{{rows}}};",
        f"    return asc_cpu::run(argc, argv, operators, {len(spaces)});",
        "}",
        "",
    ]


def _program(text: str, files: Mapping[str, str], cache: Path | None) -> Path:
    """The compiled program of a translation unit that includes `files`, kept in the cache."""
    command = [
        *_find_cpp(),
        "-std=c++20",
        "-Og",
        "-w",
        "-pthread",
        "-fno-strict-aliasing",
        f"-I{HEADERS / 'ascendc'}",
    ]
    key = hashlib.sha256("\0".join([text, *files.values(), *command]).encode())
    for header in sorted((HEADERS / "ascendc").rglob("*.h")):
        key.update(header.read_bytes())
    target = open_cache(cache) / f"{key.hexdigest()}.run"
    if not target.exists():
        _compile(text, files, command, target)
    return target


def _find_cpp() -> tuple[str, ...]:
    """$CXX, c++, g++ or clang++."""
    given = os.environ.get("CXX", "")
    candidates: Sequence[tuple[str, ...]] = [
        *([tuple(shlex.split(given))] if given.strip() else []),
        ("c++",),
        ("g++",),
        ("clang++",),
    ]
    for command in candidates:
        if shutil.which(command[0]):
            return command
    raise AscendError("E43001", ", ".join(" ".join(c) for c in candidates))


def _compile(text: str, files: Mapping[str, str], command: Sequence[str], target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".compile-") as work:
        file, made = Path(work) / "operator.cpp", Path(work) / "operator.run"
        file.write_text(text, encoding="utf-8")
        for name, content in files.items():
            (Path(work) / name).write_text(content, encoding="utf-8")
        try:
            answer = subprocess.run(
                [*command, str(file), "-o", str(made)],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AscendError("E43002", command[0], error) from error
        if answer.returncode != 0:
            errors = [line for line in answer.stderr.splitlines() if "error" in line] or [
                f"status {answer.returncode}"
            ]
            raise AscendError("E43002", " ".join(command), errors[0], details=answer.stderr.splitlines()[:20])
        os.replace(made, target)


def _numpy(dtype: int) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if dtype == dtypes.BFLOAT16 else np.dtype(dtypes.NUMPY[dtype])


def project_source(project: Path, opdef: OpDef, soc: Soc, file: str) -> KernelSource:
    """The sources of a generated project as they are now, for compile_for_cpu. Raises E41010."""
    generated = generate_ascend_c(opdef, soc)
    paths = (f"op_kernel/{file}.cpp", f"op_host/{file}_tiling.h", f"op_host/{file}.cpp")
    try:
        kernel, tiling, host = ((project / p).read_text(encoding="utf-8") for p in paths)
    except (OSError, UnicodeDecodeError) as error:
        raise AscendError("E41010", str(project), error) from error
    host = host.replace(f'"{file}_tiling.h"', f'"{generated.function}_tiling.h"')
    return replace(generated, kernel=kernel, tiling=tiling, host=host)

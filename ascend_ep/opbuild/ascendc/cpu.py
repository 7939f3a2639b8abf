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

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.cache import note_use
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.runtime.cache_folder import open_cache

from .generate import KernelSource, generate_ascend_c
from .naming import Column
from .unit import joint_unit, single_unit

Array = NDArray[Any]
#: A run that takes longer is stopped.
SECONDS = 60
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
            kind = self.column[name]
            if array is None:
                request.append(struct.pack("<2q", _GE_NUMBERS[kind], -1))
                continue
            dense = np.asarray(array, dtype=_numpy(kind), order="C")
            request.append(struct.pack(f"<{2 + dense.ndim}q", _GE_NUMBERS[kind], dense.ndim, *dense.shape))
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
            said = answer.stderr.decode("utf-8", "replace").strip()[-500:]
            ending = f"it ended with status {answer.returncode}" + (said and f": {said}")
            raise AscendError("E43003", self.source.function, ending)
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
    text = single_unit(source, types)
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
        text = joint_unit([(source, source.columns[column]) for source, _, column in unit])
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


def _program(text: str, files: Mapping[str, str], cache: Path | None) -> Path:
    """The compiled program of a translation unit that includes `files`, kept in the cache."""
    command = [
        *_find_cpp(),
        "-std=c++17",
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
    if target.exists():
        note_use(target)
    else:
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

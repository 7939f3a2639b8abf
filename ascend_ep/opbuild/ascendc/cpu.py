"""Generated Ascend C on this CPU: compiled against the CPU kernel_operator.h, run in a process of its own.

What runs is what would be shipped: InferShape and TilingFunc of the host file choose shapes and tiles, the
kernel runs block by block with every rule of native/include/ascendc checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ascend_ep.cann.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import OpDef

from .call_request import CallRequest, Wanted
from .cpp import Unit, linked
from .generate import KernelSource, generate_ascend_c
from .naming import Column
from .program_process import run_program
from .unit import PROGRAM, joint_unit, single_unit

Array = NDArray[Any]
#: A run that takes longer is stopped.
SECONDS = 60


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
        arrays = [
            None if a is None else np.asarray(a, dtype=_numpy(self.column[n]), order="C")
            for n, a in zip(self.source.inputs, inputs, strict=True)
        ]
        request = CallRequest(
            self.source.soc,
            arrays,
            [Wanted(self.column[n]) for n in self.source.outputs],
            [(a.type, bound.get(a.name)) for a in self.opdef.attributes],
            ub=ub,
            cores=cores or max(self.source.soc.vector_cores, 1),
            strict=True,
            stop=True,
        )
        try:
            answer = run_program(self.path, request, self.source.function, SECONDS, self.number)
        except AscendError as error:
            raise AscendError("E43003", self.source.function, error.text, details=error.details) from error
        if answer.refused or answer.failed:
            raise AscendError("E43003", self.source.function, answer.refused or answer.lines[0])
        return answer.outputs

    def rounded(self, place: int, values: Array) -> Array:
        """`values` in the element type of input number `place`."""
        return values.astype(_numpy(self.column[self.source.inputs[place]]))


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
    return linked([Unit("operator", text, files), Unit("main", PROGRAM)], "run", cache)


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

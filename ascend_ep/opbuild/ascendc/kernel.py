"""The kernel file: a class per stage, and the function that runs them one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .folds import FoldText
from .rows import RowsText
from .selections import TopKText
from .stage_text import Integers, StageText
from .stages import Staged
from .texts import HELPERS, PRODUCT, tiles_text

_KINDS: dict[str, type[StageText]] = {"rows": RowsText, "fold": FoldText, "topk": TopKText}


@dataclass(frozen=True)
class Signature:
    """Names of a kernel: the function's, the class', the tensors' and of the float attributes it reads."""

    function: str
    type_name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def tiling_class(self) -> str:
        return f"{self.type_name}TilingData"

    @property
    def stage_class(self) -> str:
        return f"{self.type_name}StageTiling"


def kernel_text(names: Signature, staged: Staged, integers: Integers, macros: Mapping[str, str]) -> str:
    """op_kernel/<op>.cpp. `macros`: each tensor's name of its element type."""
    return "\n".join(_lines(names, staged, integers, macros)) + "\n"


def _lines(names: Signature, staged: Staged, integers: Integers, macros: Mapping[str, str]) -> Iterator[str]:
    types = {n: macros[n] for n in (*names.inputs, *names.outputs)}
    types |= dict.fromkeys(staged.held, "float")
    numbers = {f"{n}_": n for n in (*names.attributes, *staged.counts)}
    classes = [f"Kernel{names.type_name}{i}" for i in range(len(staged.stages))]
    if len(classes) == 1:
        classes = [f"Kernel{names.type_name}"]
    stages = [
        _KINDS[stage.kind](name, stage, types, numbers, integers)
        for name, stage in zip(classes, staged.stages, strict=True)
    ]
    yield '#include "kernel_operator.h"'
    yield ""
    yield "using namespace AscendC;"
    yield ""
    yield HELPERS.strip("\n")
    yield ""
    if any(v.op == "fold_prod" for s in stages for v in s.plan.values()):
        yield PRODUCT.strip("\n")
        yield ""
    yield tiles(staged, integers)
    yield ""
    for stage in stages:
        yield from stage.lines()
        yield ""
    yield from _function(names, staged, stages)


def tiles(staged: Staged, integers: Integers) -> str:
    """The text of the class Tiles that a kernel has."""
    positions = any(not o.tensor for s in staged.stages for o in s.operands)
    kinds = (integers.small, integers.whole, integers.long, integers.unsigned)
    return tiles_text(staged.operands, *kinds, positions)


def shared_kernel_text() -> tuple[str, ...]:
    """What kernel files have in common, beside the class Tiles."""
    return HELPERS.strip("\n"), PRODUCT.strip("\n")


def _function(names: Signature, staged: Staged, stages: list[StageText]) -> Iterator[str]:
    arguments = ", ".join(f"GM_ADDR {n}" for n in (*names.inputs, *names.outputs, "workspace", "tiling"))
    yield f'extern "C" __global__ __aicore__ void {names.function}({arguments}) {{'
    yield "    GET_TILING_DATA(tilingData, tiling);"
    if len(stages) > 1:
        yield "    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);"
    if staged.held:
        yield "    GM_ADDR held = GetUserWorkspace(workspace);"
    for number, (text, stage) in enumerate(zip(stages, staged.stages, strict=True)):
        if stage.waits:
            yield "    PipeBarrier<PIPE_ALL>();"
            yield "    SyncAll();"
        tensors = (f"held + tilingData.{t}Offset" if t in staged.held else t for t in text.tensors)
        yield "    {"
        yield "        TPipe pipe;"
        yield f"        {text.name} op;"
        yield f"        op.Init(tilingData, tilingData.stage{number}, &pipe, {', '.join(tensors)});"
        yield "        op.Process();"
        yield "        pipe.Destroy();"
        yield "    }"
    yield "}"

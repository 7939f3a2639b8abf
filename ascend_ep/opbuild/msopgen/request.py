"""What `gen` was asked for, checked: the frameworks, compute units and languages of msopgen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.cann.soc import Soc, find_soc
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.definition import OpDef

FRAMEWORKS = {
    "tf": "tf", "tensorflow": "tf", "caffe": "caffe", "pytorch": "pytorch", "ms": "ms", "mindspore": "ms",
    "onnx": "onnx", "aclnn": "aclnn",
}  # fmt: skip
LANGUAGES = ("py", "cpp")
#: Exit statuses by the flag that is wrong; facts of the 8.1 tool.
STATUS = {"f": 11, "out": 12, "op": 13, "c": 14, "m": 15, "lan": 1005, "i": 101}
_UNIT = re.compile(r"(ai_core|vector_core)-([A-Za-z][A-Za-z0-9_-]{3,30})|aicpu")


@dataclass(frozen=True)
class ComputeUnit:
    """core: ai_core, vector_core or aicpu, which has no chip."""

    core: str
    soc: Soc | None


@dataclass(frozen=True)
class Request:
    """One operator into one folder; adding: the folder holds a project already (-m 1)."""

    opdef: OpDef
    framework: str
    language: str
    units: tuple[ComputeUnit, ...]
    output: Path
    adding: bool

    @property
    def socs(self) -> list[Soc]:
        return [u.soc for u in self.units if u.soc is not None]


def parse_framework(text: str) -> str:
    """The canonical name. Raises E43103."""
    found = FRAMEWORKS.get(text.lower())
    if found is None:
        near = did_you_mean(text, FRAMEWORKS).rstrip("?")
        raise AscendError("E43103", text, "f", f"it must be one of {', '.join(FRAMEWORKS)}.{near}")
    return found


def parse_units(text: str) -> tuple[ComputeUnit, ...]:
    """`ai_core-Ascend910B3,ai_core-Ascend310P3`: units of one core type. Raises E43103."""
    units: list[ComputeUnit] = []
    for item in text.split(","):
        match = _UNIT.fullmatch(item.strip())
        if match is None:
            raise AscendError(
                "E43103", item[:100], "c", "it must be ai_core-<soc>, vector_core-<soc> or aicpu"
            )
        if match[1] is None:
            units.append(ComputeUnit("aicpu", None))
            continue
        try:
            unit = ComputeUnit(
                match[1], find_soc("A" + match[2][1:] if match[2].startswith("a") else match[2])
            )
        except AscendError as error:
            raise AscendError(
                "E43103", item[:100], "c", f"the chip {match[2]} is not known", details=error.details
            ) from None
        if unit not in units:
            units.append(unit)
    if len({u.core for u in units}) > 1:
        raise AscendError("E43103", text[:100], "c", "all units must be of one core type")
    return tuple(units)


def choose_operator(definitions: list[OpDef], name: str) -> OpDef:
    """The definition of this type; the only one when no name is given. Raises E43103."""
    types = [d.op for d in definitions]
    if not name and len(definitions) == 1:
        return definitions[0]
    if not name:
        raise AscendError("E43103", "", "op", f"the file has several operators: {', '.join(types)}")
    if name not in types:
        raise AscendError(
            "E43103", name, "op", f"the file has {', '.join(types)}.{did_you_mean(name, types)}"
        )
    return definitions[types.index(name)]


def check_texts(opdef: OpDef) -> None:
    """What goes into sources and isn't a name by its schema. Raises E41005."""
    specs = (*opdef.inputs, *opdef.outputs)
    for key, pattern, values in (
        ("kernel_name", r"([A-Za-z_]\w*)?", [opdef.kernel_name]),
        ("domain", r"[\w.-]*", [opdef.domain or ""]),
        ("format", r"[A-Z][A-Z0-9_]*", [f for s in specs for f in s.formats]),
    ):
        for value in values:
            if not re.fullmatch(pattern, value, re.ASCII):
                raise AscendError("E41005", value[:80], key, f"it must match {pattern}", where=opdef.origin)

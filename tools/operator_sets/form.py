"""A form of an operator: what it is given, from which operator set to which, and the models made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

Array = NDArray[Any]

#: What is read as it is; models of older sets are brought to it.
OLDEST = 7
NEWEST = onnx.defs.onnx_opset_version()


@dataclass(frozen=True, eq=False)
class Form:
    """A node of `op` with these operands (None: left out), valid in operator sets `since` to `until`."""

    op: str
    operands: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    since: int = OLDEST
    until: int = NEWEST
    outputs: int = 1

    @property
    def name(self) -> str:
        shapes = ",".join("-" if a is None else f"{a.dtype}{list(a.shape)}" for a in self.operands)
        return f"{self.op}({shapes}) {self.attributes or ''}".strip()

    def spans(self) -> list[tuple[int, int]]:
        """The first and the last set of each version of the operator that knows this form."""
        cut = [(max(first, self.since), min(last, self.until)) for first, last in lives(self.op)]
        return [(first, last) for first, last in cut if first <= last]

    def opsets(self) -> list[int]:
        """Those sets, each once."""
        return list(dict.fromkeys(opset for span in self.spans() for opset in span))

    def early(self) -> list[int]:
        """Sets from before the operator came, if this is its first form."""
        first = lives(self.op)[0][0]
        return sorted({OLDEST, first - 1}) if first > OLDEST and self.since <= first <= self.until else []


@cache
def lives(op: str) -> list[tuple[int, int]]:
    """The first and the last operator set of each version of an operator, from OLDEST on."""
    history = onnx.defs.get_all_schemas_with_history()
    found = {s.since_version: s.deprecated for s in history if s.name == op and s.domain == ""}
    since = sorted(found)
    until = [*(v - 1 for v in since[1:]), NEWEST]
    return [(max(a, OLDEST), b) for a, b in zip(since, until, strict=True) if b >= OLDEST and not found[a]]


#: Which operands are constants, and whether the sizes of the first are free.
VARIANTS = {"constant": (True, False), "free": (True, True), "fed": (False, False)}


def model_of(forms: Sequence[Form], opset: int, variant: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A chain of forms, each given the result of the one before as its first operand; and the inputs."""
    constant, free = VARIANTS[variant]
    graph, feeds = onnx.GraphProto(name="g"), dict[str, Array]()
    before = ""
    for step, form in enumerate(forms):
        names = []
        for place, array in enumerate(form.operands):
            name = f"x{step}_{place}"
            if place == 0 and before:
                name = before
            elif array is None:
                name = ""
            elif constant and place:
                graph.initializer.append(onnx.numpy_helper.from_array(array, name))
            else:
                feeds[name] = array
                dims = [f"{name}_{i}" for i in range(array.ndim)] if free and not place else array.shape
                dtype = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
                graph.input.append(onnx.helper.make_tensor_value_info(name, dtype, dims))
            names.append(name)
        made = [f"y{step}_{i}" for i in range(form.outputs)]
        graph.node.append(onnx.helper.make_node(form.op, names, made, name=f"n{step}", **form.attributes))
        before = made[0]
        if step == len(forms) - 1:
            graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in made)
    imports = [onnx.helper.make_opsetid("", opset)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


def retyped(form: Form, dtype: Any) -> Form:
    """With operands of this type in the place of float32."""
    operands = tuple(a.astype(dtype) if a is not None and a.dtype == np.float32 else a for a in form.operands)
    return Form(form.op, operands, form.attributes, form.since, form.until, form.outputs)


def uncovered(forms: Sequence[Form], without: Sequence[str]) -> Iterator[str]:
    """Versions of ONNX's operators that no form is of, but of operators `without`."""
    covered = {(f.op, opset) for f in forms for opset in f.opsets()}
    for op in sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}):
        for first, last in lives(op):
            if op not in without and not any((op, v) in covered for v in range(first, last + 1)):
                yield f"{op} {first}"

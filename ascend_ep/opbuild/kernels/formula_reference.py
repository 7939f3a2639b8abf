"""What a formula says of a kernel's outputs: the float64 reference over its inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opdef.definition import AttributeValue, OpDef
from ascend_ep.opdef.reference import evaluate

from .arrays import Array

_RESULT = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
_HEADED = re.compile(r"\s*[A-Za-z_]\w*\s*\([^()]*\)\s*(?:->[^=]*)?=")


def formula_definition(text: str, names: Sequence[str], attributes: Mapping[str, AttributeValue]) -> OpDef:
    """The operator of a formula: as it is written, or of the inputs' names where it has no head such as
    `f(x) =`, or that of its result, `z =`. Raises AscendError of the formula."""
    result = _RESULT.match(text)
    if result and result[1] not in names and "\n" not in text:
        text = text[result.end() :].strip()
    headed = (
        text
        if _HEADED.match(text) or "\n" in text
        else f"Golden({', '.join([*names, *attributes])}) = {text}"
    )
    plain = {k: v for k, v in attributes.items() if isinstance(v, int | float | bool | str)}
    return describe(headed, attributes=plain).opdef


def formula_outputs(
    text: str, names: Sequence[str], inputs: Sequence[Array], attributes: Mapping[str, Any]
) -> list[Array]:
    """The outputs of a formula in float64. Raises AscendError of the formula, E43203 for other inputs than
    it has."""
    opdef = formula_definition(text, names, attributes)
    if len(opdef.inputs) != len(inputs):
        known = ", ".join(t.name for t in opdef.inputs)
        raise AscendError("E43203", "the formula", f"it is of {known}; {len(inputs)} inputs are given")
    own = {k: v for k, v in attributes.items() if opdef.attribute(k) is not None}
    return [np.asarray(a) for a in evaluate(opdef, list(inputs), own)]

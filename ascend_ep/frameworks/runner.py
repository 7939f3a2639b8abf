"""One operator on arrays: through the runtime, or in float64 through its reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.frameworks.described import (
    Named,
    Operand,
    Operands,
    check_types,
    depends_on_elements,
    is_wide,
    named,
    one_operator,
    output_kinds,
    with_its_outputs,
)
from ascend_ep.opdef.attributes import with_elements
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session import InferenceSession

Array = npt.NDArray[Any]


def run(opdef: OpDef, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> list[Array]:
    """The outputs. A float64 input of a custom operator makes it the reference, in float64; else the runtime
    computes. Elements that decide shapes are constants of what is run.

    Raises AscendError for what the definition doesn't allow.
    """
    operands = tuple(None if a is None else Operand.of(a, opdef.op) for a in inputs)
    opdef = with_its_outputs(opdef, operands, attributes)
    check_types(opdef, operands)
    attributes = with_elements(opdef, inputs, attributes)
    if is_wide(opdef, operands):
        kinds = output_kinds(opdef, operands, attributes)
        results = evaluate(opdef, inputs, attributes)
        for spec, y, (_, dims) in zip(opdef.outputs, results, kinds, strict=True):
            if y.shape != dims:
                raise AscendError(
                    "E42005", f"{spec.name} is {list(y.shape)}, not {list(dims)}", where=opdef.op
                )
        return [np.asarray(y, numpy_dtype(t)) for y, (t, _) in zip(results, kinds, strict=True)]
    try:
        found = session_of(opdef, operands, attributes)
        assert found is not None, "it isn't wide"
        fed = {f"x{i}": a for i, a in enumerate(inputs) if a is not None and i not in found.constants}
        return found.session.run(None, fed)
    except MemoryError as error:
        raise AscendError("E40008", f"{opdef.op}: its outputs don't fit in memory ({error})") from None


@dataclass(frozen=True)
class Opened:
    """A session of one operator; the inputs that are constants in it, by position."""

    session: InferenceSession
    constants: frozenset[int]

    def direct(self) -> tuple[Callable[..., list[Array]], tuple[str, ...]] | None:
        """Once it has run: what runs it by the addresses of its inputs, and their names in its order."""
        return self.session._executor.run_at()


def session_of(opdef: OpDef, operands: Operands, attributes: Mapping[str, Any]) -> Opened | None:
    """What runs the operator on such operands; None where the reference computes."""
    if is_wide(opdef, operands):
        return None
    opdef = with_its_outputs(opdef, operands, attributes)
    given, alone = named(attributes), tuple(o and o.alone for o in operands)
    fixed = operands if depends_on_elements(opdef, alone, given) else alone
    constants = frozenset(i for i, o in enumerate(fixed) if o is not None and o.content is not None)
    return Opened(_session(opdef, fixed, given), constants)


@lru_cache(maxsize=128)
def _session(opdef: OpDef, operands: Operands, attributes: Named) -> InferenceSession:
    """A model of this one operator, with the operands whose elements are given as constants."""
    fixed = {i: o for i, o in enumerate(operands) if o is not None and o.content is not None}
    registry = Registry(definitions=[] if opdef.standard else [opdef])
    options = ConvertOptions(registry=registry, sample_seed=None)
    model = one_operator(opdef, operands, dict(attributes), fixed)
    return InferenceSession(convert(model, options).to_bytes())

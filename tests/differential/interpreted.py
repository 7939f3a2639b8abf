"""The interpreter as a reader of random operators."""

from __future__ import annotations

from collections.abc import Sequence

from programs import Array, Operator

from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.opbuild.proof.harness import Case
from ascend_ep.opbuild.proof.interpreted import run_interpreted
from ascend_ep.opbuild.proof.subject import Subject


def subject_of(operator: Operator, inputs: Sequence[Array | None]) -> Subject:
    """The operator at the shapes of these inputs."""
    specs = tuple(
        None if a is None else TensorSpec(t, a.shape) for a, t in zip(inputs, operator.types, strict=True)
    )
    return Subject(operator.opdef, specs, operator.given)


def run(operator: Operator, inputs: Sequence[Array | None]) -> list[Array]:
    """The outputs, on the ISA level that $ASCEND_EP_CPU names. Raises Unsupported."""
    return run_interpreted(subject_of(operator, inputs), Case(tuple(inputs), ""))

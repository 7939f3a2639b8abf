"""torch.onnx's translations of ATen's operators, which it reads from onnxscript's sources at every export:
about a second. Here they are read once in a process."""

from __future__ import annotations

import contextlib
import copy
import inspect
import operator
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

#: Operators of which it has one that means something else: three of free sizes, which decompositions.py
#: doesn't take apart; erfc by 1 - erf, without a digit from 4 on, and erfcx by a product with it.
WRONG = {"aten::logcumsumexp", "aten::diagonal", "aten::diagonal_copy", "aten::erfc", "aten::special_erfcx"}

_lock = threading.RLock()
_made: dict[Any, Any] = {}


@lru_cache(maxsize=1)
def names() -> frozenset[Any]:
    """Of the operators that have a right one, in the operator set of an export."""
    from torch.onnx._constants import ONNX_DEFAULT_OPSET
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    several = "opset_version" in inspect.signature(ONNXRegistry.from_torchlib).parameters
    given = {"opset_version": ONNX_DEFAULT_OPSET} if several else {}  # torch 2.6 has one
    with read_once():
        return frozenset(ONNXRegistry.from_torchlib(**given).functions) - WRONG


@lru_cache(maxsize=1)
def translations() -> dict[Any, Callable[..., Any]]:
    """Of operators of which it has one that means something else, right ones."""
    return {operator.floordiv: size_quotient()}


def size_quotient() -> Callable[..., Any]:
    """Of sizes, rounded down, as Python divides them: ONNX's Div rounds towards 0, its Mod has the divisor's
    sign."""
    from onnxscript import INT64
    from onnxscript import opset18 as op

    def quotient(size: INT64, by: INT64) -> INT64:
        return op.Div(op.Sub(size, op.Mod(size, by)), by)

    quotient.__annotations__ = dict.fromkeys(("size", "by", "return"), INT64)  # 2.6 reads no local names
    return quotient


def register_constants(model: Any) -> None:
    """Constants that the optimiser gave a name that another has, as two bounds of one tensor, get their own:
    the graph had lost them."""
    graph = model.graph
    for node in graph:
        for value in node.inputs:
            if value is None or value.const_value is None or value.producer() or value in graph.inputs:
                continue
            if graph.initializers.get(value.name) is not value:
                value.name = f"{value.name}_of_{node.name or id(node)}"
                graph.initializers[value.name] = value


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """Exports in here share what is read; each may add to its own copy. One thread at a time."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    with _lock:
        read, usual = ONNXRegistry.__dict__["from_torchlib"], ONNXRegistry.from_torchlib
        ONNXRegistry.from_torchlib = classmethod(shared(usual))  # type: ignore[assignment]
        try:
            yield
        finally:
            ONNXRegistry.from_torchlib = read  # type: ignore[method-assign]


def shared(read: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a class that reads them once; each caller may add to its own copy."""

    def kept(_: Any, *given: Any, **options: Any) -> Any:
        key = given, tuple(sorted(options.items()))
        if key not in _made:
            _made[key] = read(*given, **options)
        registry = copy.copy(_made[key])
        registry.functions = {name: list(found) for name, found in registry.functions.items()}
        return registry

    return kept

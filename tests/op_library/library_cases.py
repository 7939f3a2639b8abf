"""Cases of a library operator, made from its definition.

An input's doc says its dims and values: `[N, C]`, `[C, 1], positive`; none: those of the operator's first
input. Letters stand for sizes; D is also the last dimension of `...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula, OpDef, TensorSpec
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session import InferenceSession

Array = np.ndarray[Any, Any]

REGISTRY = Registry()
LIBRARY = {
    opdef.op: opdef
    for _, opdef in REGISTRY.definitions()
    if isinstance(opdef.semantics, Formula) and not opdef.standard and not opdef.domain
}
#: Sizes of the letters, and of `...`: odd ones, all 1, and rows with a tail beyond one tile of the kernels.
SIZES: list[tuple[dict[str, int], tuple[int, ...]]] = [
    (dict(zip("NCHWSDQKLM", (2, 5, 4, 7, 6, 33, 9, 9, 17, 4), strict=True)), (3, 5, 33)),
    (dict.fromkeys("NCHWSDQKLM", 1), (1, 2)),
    (dict(zip("NCHWSDQKLM", (3, 11, 2, 65, 3, 259, 37, 37, 129, 3), strict=True)), (4, 1027)),
]


@dataclass(frozen=True)
class Case:
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any]

    @property
    def named(self) -> dict[str, Array]:
        return {f"i{i}": a for i, a in enumerate(self.inputs) if a is not None}


def cases(opdef: OpDef) -> Iterator[Case]:
    """Every size, every allowed value of every attribute, optional inputs absent, and a broadcast operand."""
    for seed, (letters, shape) in enumerate(SIZES):
        yield Case(_inputs(opdef, letters, shape, seed), {})
    letters, shape = SIZES[0]
    whole = _inputs(opdef, letters, shape, 7)
    for attribute in opdef.attributes:
        other = (True, False) if attribute.type == "bool" else attribute.allowed
        for value in other:
            if value != attribute.default:
                yield Case(whole, {attribute.name: value})
    if any(t.occurrence == "optional" for t in opdef.inputs):
        absent = [None if t.occurrence == "optional" else a for t, a in zip(opdef.inputs, whole, strict=True)]
        yield Case(tuple(absent), {})
    if len(whole) > 1 and not opdef.inputs[-1].doc.startswith("[") and not opdef.inputs[0].doc:
        last = whole[-1]
        assert last is not None
        yield Case((*whole[:-1], last[0, 0]), {})


def _inputs(opdef: OpDef, letters: Mapping[str, int], shape: tuple[int, ...], seed: int) -> tuple[Array, ...]:
    rng = np.random.default_rng(seed)
    first = _dims(opdef.inputs[0].doc or "[...]", letters, shape)
    letters = {**letters, "D": first[-1]}
    made = []
    for spec in opdef.inputs:
        dims = _dims(spec.doc, letters, first) if spec.doc.startswith("[") else first
        made.append(_values(rng, spec, dims, first))
    return tuple(made)


def _dims(doc: str, letters: Mapping[str, int], whole: tuple[int, ...]) -> tuple[int, ...]:
    match = re.match(r"\[(.*?)\]", doc)
    assert match is not None, doc
    found: list[int] = []
    for part in match[1].split(", "):
        found += whole if part == "..." else [int(part) if part.isdecimal() else letters[part]]
    return tuple(found)


def _values(
    rng: np.random.Generator, spec: TensorSpec, dims: tuple[int, ...], first: tuple[int, ...]
) -> Array:
    dtype = spec.types[0] if spec.types else dtypes.FLOAT32
    if dtype == dtypes.BOOL:
        return rng.random(dims) < 0.3
    if "class" in spec.doc:
        return rng.integers(0, first[-1], dims)
    if dtype in dtypes.INTEGERS:
        limits = np.iinfo(np.dtype(dtypes.NUMPY[dtype]))
        return rng.integers(max(limits.min, -1000), min(limits.max, 1000) + 1, dims).astype(
            dtypes.NUMPY[dtype]
        )
    if "positive" in spec.doc:
        return rng.uniform(0.25, 4, dims).astype(np.float32)
    if "probability" in spec.doc:
        return rng.uniform(0.02, 0.98, dims).astype(np.float32)
    if "sign" in spec.doc:
        return rng.choice(np.array([-1, 1], dtype=np.float32), dims)
    return rng.normal(0, 2, dims).astype(np.float32)


def run(opdef: OpDef, wanted: list[Case], registry: Registry = REGISTRY) -> list[list[Array]]:
    """The outputs of the cases: a model with a node for each, converted, interpreted natively."""
    nodes, inputs, outputs, feed = [], [], [], {}
    info = onnx.helper.make_tensor_value_info
    for n, case in enumerate(wanted):
        names = ["" if a is None else f"c{n}_{i}" for i, a in enumerate(case.inputs)]
        feed |= {name: a for name, a in zip(names, case.inputs, strict=True) if a is not None}
        types = [None if a is None else (_number(a), a.shape) for a in case.inputs]
        made = [f"c{n}_{t.name}_out" for t in opdef.outputs]
        nodes.append(onnx.helper.make_node(opdef.op, names, made, domain="test", **case.attributes))
        inputs += [info(k, t[0], t[1]) for k, t in zip(names, types, strict=True) if t is not None]
        outputs += [
            info(k, t, s) for k, (t, s) in zip(made, infer(opdef, types, case.attributes), strict=True)
        ]
    graph = onnx.helper.make_graph(nodes, "cases", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 22), onnx.helper.make_opsetid("test", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ConvertOptions(registry=registry, codegen="off", sample_seed=None)
    session = InferenceSession(convert(model, options).to_bytes())
    assert session.get_providers() == ["AscendEP"], "every node is native"
    results = iter(session.run(None, feed))
    return [[next(results) for _ in opdef.outputs] for _ in wanted]


def _number(array: Array) -> int:
    return next(n for n, name in dtypes.NUMPY.items() if np.dtype(name) == array.dtype)

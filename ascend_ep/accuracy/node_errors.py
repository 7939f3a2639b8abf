"""Where rounding error enters a converted model: every node's result against the float64 reference.

The model is converted again, as its bundle was, with the values between nodes laid open. Once they are
outputs: what each node makes of what came before it, inherited error included. Once every node reads, instead
of its producers, the reference's values rounded to the type they are stored in; what it makes of them differs
from what the model converted exactly makes of the same by the error that is the node's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.precision.mixed_lists import is_cube
from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS, PrecisionLists
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.naming import label
from ascend_ep.graph.passes.retype import MADE
from ascend_ep.graph.reference import Reference
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.session_apart import SessionApart

Array = NDArray[Any]
Arrays = dict[str, Array]

#: Bits of the significand, and exponent of the least normal number.
_FORMATS = {dtypes.FLOAT16: (11, -14), dtypes.BFLOAT16: (8, -126), dtypes.FLOAT32: (24, -126)}
_GIVEN = "/given"


@dataclass(frozen=True)
class Measure:
    """How far a tensor is from the reference. `relative`: the largest difference over the reference's
    largest magnitude; `rms` likewise of root mean squares; `ulp`: the largest difference in units of the
    last place of the type it is stored in. All are infinite where a number is missing. `top1`: the share of
    rows along the last axis whose greatest element is at the same place."""

    cosine: float
    relative: float
    rms: float
    ulp: float
    top1: float = 1.0

    @classmethod
    def of(cls, got: Array, wanted: Array, dtype: int) -> Measure:
        top1 = _same_top(np.asarray(got), np.asarray(wanted))
        a, b = np.asarray(got, np.float64).ravel(), np.asarray(wanted, np.float64).ravel()
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not np.isfinite(a[~same]).all() or not np.isfinite(b[~same]).all():
            return cls(0.0, np.inf, np.inf, np.inf, top1)
        if same.all():
            return cls(1.0, 0.0, 0.0, 0.0)
        usable = np.isfinite(a) & np.isfinite(b)
        a, b = a[usable], b[usable]
        difference = np.abs(a - b)
        norms = float(np.linalg.norm(a) * np.linalg.norm(b))
        cosine = float(a @ b) / norms if norms else 0.0
        largest, norm = float(np.abs(b).max()), float(np.linalg.norm(b))
        return cls(
            cosine,
            float(difference.max()) / largest if largest else np.inf,
            float(np.linalg.norm(difference)) / norm if norm else np.inf,
            float((difference / _unit(b, dtype)).max()),
            top1,
        )


def _same_top(got: Array, wanted: Array) -> float:
    if got.shape != wanted.shape or not got.ndim or not got.size:
        return 1.0
    return float(np.mean(got.argmax(axis=-1) == wanted.argmax(axis=-1)))


def _unit(values: Array, dtype: int) -> Array:
    """The distance between neighbours of the type at each value."""
    bits, least = _FORMATS.get(dtype, _FORMATS[dtypes.FLOAT32])
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(np.abs(values)))
    unit: Array = np.ldexp(1.0, np.maximum(exponent, least).astype(np.int64) - (bits - 1))
    return unit


@dataclass(frozen=True)
class NodeError:
    """One result of a node. `name` is what --keep_dtype calls the node; `changed`: it computes in
    other types than the model's. `own`: the error of the node alone; `total`: with what its operands have
    inherited."""

    name: str
    op_type: str
    value: str
    dtype: int
    changed: bool
    own: Measure
    total: Measure


@dataclass(frozen=True)
class _Row:
    name: str
    op_type: str
    value: str
    dtype: int
    changed: bool


class NodeErrors:
    """Of one model, converted with `options`, on one set of inputs."""

    def __init__(
        self,
        model: onnx.ModelProto,
        options: ConvertOptions,
        feeds: Mapping[str, Array],
        registry: Registry,
        source_feeds: Mapping[str, Array] | None = None,
    ) -> None:
        """`source_feeds`: what the model is given, where the conversion puts preprocessing before it."""
        self.model = model
        self.feeds = feeds
        self.source_feeds = feeds if source_feeds is None else source_feeds
        self.registry = registry
        shapes = {name: array.shape for name, array in self.source_feeds.items()}
        self.options = replace(
            options,
            registry=registry,
            input_shapes=shapes,
            preprocessing=[replace(p, shape=feeds[p.name].shape) for p in options.preprocessing],
            symbol_ranges={},
            sample_seed=None,
            self_check=False,
            fallback=False,
        )
        self.rows: list[_Row] = []

    def found(self) -> list[NodeError]:
        """The results that the reference has too, those with the largest error of their own first."""
        total = self._values(_Opened(self.rows, cut=False), self.feeds)
        names = [_original(r.value) for r in self.rows]
        reference = self._reference(names)
        stored = {name: row.dtype for row, name in zip(self.rows, names, strict=True)}
        given = {f"{n}{_GIVEN}": _rounded(a, stored[n]) for n, a in reference.items()}
        cut = _Opened([], cut=True, known=frozenset(reference))
        own = self._values(cut, {**self.feeds, **given})
        exact = self._values(cut, {**self.feeds, **given}, exactly=True)
        products = self.options.precision in BFLOAT16_PRODUCTS
        found = [
            NodeError(
                row.name,
                row.op_type,
                name,
                row.dtype,
                row.changed or (products and is_cube(row.op_type)),
                Measure.of(own[row.value], exact[name], row.dtype),
                Measure.of(total[row.value], reference[name], row.dtype),
            )
            for row, name in zip(self.rows, names, strict=True)
            if name in reference and name in exact and row.value in own and row.value in total
        ]
        return sorted(found, key=lambda e: -e.own.relative)

    def _values(self, opened: _Opened, feeds: Mapping[str, Array], exactly: bool = False) -> Arrays:
        options = replace(self.options, after_types=opened)
        if exactly:
            options = replace(options, precision="origin", precision_lists=PrecisionLists())
        conversion = convert(self.model, options)
        session = SessionApart(conversion.to_bytes())
        wanted = {arg.name for arg in session.session.get_inputs()}
        names = [arg.name for arg in session.session.get_outputs()]
        arrays = session.run(names, {n: a for n, a in feeds.items() if n in wanted})
        return dict(zip(names, arrays, strict=True))

    def _reference(self, names: Sequence[str]) -> Arrays:
        """What the source model computes for those of the values that it has."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.model)
        made = {name for node in proto.graph.node for name in node.output}
        del proto.graph.output[:]
        proto.graph.output.extend(onnx.ValueInfoProto(name=n) for n in dict.fromkeys(names) if n in made)
        try:
            return Reference(proto, self.registry).run(self.source_feeds)
        except Exception as error:  # whatever onnx.reference raises for a model that it can't evaluate
            raise AscendError("E41021", f"{type(error).__name__}: {error}", fix="Check the model.") from error


def _rounded(array: Array, dtype: int) -> Array:
    """As a value stored in that type, widened again."""
    kind = ir.DataType(dtype).numpy()
    with np.errstate(over="ignore"):
        rounded: Array = array.astype(np.float32).astype(kind).astype(np.float32)
    return rounded


def _original(name: str) -> str:
    """The name in the model of a value of the converted graph."""
    return name.removesuffix("/stored")


class _Opened:
    """Makes the floating values between nodes outputs, and notes whose they are; with `cut`, readers of the
    `known` ones read inputs of the graph instead."""

    def __init__(self, rows: list[_Row], cut: bool, known: frozenset[str] = frozenset()) -> None:
        self.rows = rows
        self.cut = cut
        self.known = known

    def __call__(self, model: ir.Model, facts: Facts) -> None:
        graph = model.graph
        for node in list(graph):
            if MADE in node.metadata_props:
                continue
            for value in node.outputs:
                fact = facts[value]
                if not value.name or fact.dtype not in dtypes.FLOATS or fact.static_dims is None:
                    continue
                read = [v for v in node.inputs if v is not None and v.const_value is None]
                types = {facts[v].dtype for v in read} & set(dtypes.COMPUTE_FLOATS) | {fact.dtype}
                changed = any(_is_made(v) for v in read) or bool(types - {dtypes.FLOAT32})
                self.rows.append(_Row(_original(label(node)), node.op_type, value.name, fact.dtype, changed))
                if self.cut and _original(value.name) in self.known:
                    self._cut(graph, value, fact.dtype, fact.static_dims)
                if not value.is_graph_output():
                    graph.outputs.append(value)

    def _cut(self, graph: ir.Graph, value: ir.Value, dtype: int, dims: tuple[int, ...]) -> None:
        uses = value.uses()
        if not uses:
            return
        name = f"{_original(str(value.name))}{_GIVEN}"
        given = ir.Value(name=name, shape=ir.Shape(dims), type=ir.TensorType(ir.DataType.FLOAT))
        graph.inputs.append(given)
        read = given
        if dtype != dtypes.FLOAT32:
            kind = ir.DataType(dtype)
            read = ir.Value(name=f"{name}/stored", shape=ir.Shape(dims), type=ir.TensorType(kind))
            cast = ir.Node(
                "", "Cast", [given], [ir.AttrInt64("to", dtype)], outputs=[read], name=f"{name}/stored"
            )
            first = next(iter(graph))
            graph.insert_before(first, cast)
        for node, place in uses:
            node.replace_input_with(place, read)


def _is_made(value: ir.Value) -> bool:
    producer = value.producer()
    return producer is not None and MADE in producer.metadata_props

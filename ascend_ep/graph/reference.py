"""What a model computes, in float64: the yardstick for everything the converter makes of it.

The original ONNX graph is walked with the operators of `onnx.reference`; every floating tensor is float64 and
casts between floating types keep it so. Nothing here is shared with the converter's passes or kernels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.inliner
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from ascend_ep.graph.reference_control import CONTROL_OPS
from ascend_ep.graph.reference_ops import FAST_OPS
from ascend_ep.graph.reference_quantised import QUANTISED_OPS
from ascend_ep.graph.reference_tabular import TABULAR_OPS
from ascend_ep.graph.reference_trees import TREE_OPS
from ascend_ep.graph.shape_inference import Registry, definition
from ascend_ep.opdef.definition import canonical_domain

Array = npt.NDArray[Any]


class ReferenceTooLarge(Exception):
    """More bytes are alive than the reference may hold."""


DOUBLE = onnx.TensorProto.DOUBLE
NARROW = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def reference_run(
    model: str | os.PathLike[str] | onnx.ModelProto,
    inputs: Mapping[str, Array],
    registry: Registry | None = None,
) -> dict[str, Array]:
    """The outputs by name; floating ones are float64. Custom operators are evaluated from their definitions.

    `registry` None: the built-in definitions and $ASCEND_CUSTOM_OPS.
    """
    return Reference(model, registry).run(inputs)


class Reference:
    """A model ready to be evaluated in float64 any number of times."""

    def __init__(
        self, model: str | os.PathLike[str] | onnx.ModelProto, registry: Registry | None = None
    ) -> None:
        proto = onnx.ModelProto()
        proto.CopyFrom(model if isinstance(model, onnx.ModelProto) else onnx.load(os.fspath(model)))
        registry = _default_registry() if registry is None else registry
        self.registry = registry.beside([(f.domain, f.name) for f in proto.functions])
        versions = {canonical_domain(o.domain): o.version for o in proto.opset_import}
        for node in _nodes(proto):
            node.domain = canonical_domain(node.domain)
            versions.setdefault(node.domain, 1)
        del proto.opset_import[:]
        proto.opset_import.extend(onnx.helper.make_opsetid(d, v) for d, v in versions.items())
        custom = self._custom_ops(proto, versions)
        proto = _with_inlined(proto, custom)
        self.output_names = [o.name for o in proto.graph.output]
        self.constants = {
            t.name: _widen(onnx.numpy_helper.to_array(t), t.data_type) for t in proto.graph.initializer
        }
        _graph_to_double(proto.graph, main=True)
        for function in proto.functions:
            for node in function.node:
                _node_to_double(node)
        own_ops = (*custom.values(), *FAST_OPS, *CONTROL_OPS, *QUANTISED_OPS, *TABULAR_OPS, *TREE_OPS)
        self.evaluator = ReferenceEvaluator(proto, new_ops=list(own_ops))

    def run(
        self,
        inputs: Mapping[str, Array],
        limit: int | None = None,
        change: Callable[[Any], Any] = lambda value: value,
    ) -> dict[str, Array]:
        """The outputs by name for these inputs (any floating type). `change` makes something else of every
        input, constant and result of a node.

        A value is gone after its last use. Raises ReferenceTooLarge once those alive, the constants among
        them, are more than `limit` bytes.
        """
        given = {**self.constants, **{name: _to_double(array) for name, array in inputs.items()}}
        alive: dict[str, Any] = {"": None, **self.evaluator.rt_inits_}
        alive |= {name: change(value) for name, value in given.items()}
        for node, ends in zip(self.evaluator.rt_nodes_, self._last_uses(), strict=True):
            context = {"context": alive} if node.need_context() else {}
            results = [change(_to_double(r)) for r in node.run(*(alive[n] for n in node.input), **context)]
            alive.update(zip(node.output, results, strict=False))
            del results
            if limit is not None and sum(map(_bytes, alive.values())) > limit:
                raise ReferenceTooLarge
            for name in ends:
                alive.pop(name, None)
        return {name: alive[name] for name in self.output_names}

    def nudged(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs where floating inputs, constants and results differ in the last bit of a float32, by
        chance: how far a model magnifies what no computation in float32 can avoid."""
        generator = np.random.default_rng(0)

        def nudge(value: Any) -> Any:
            if not hasattr(value, "dtype") or not _is_floating(value):
                return value
            return value * (1 + np.finfo(np.float32).eps * generator.choice((-1, 1), value.shape))

        return self.run(inputs, change=nudge)

    def _last_uses(self) -> list[list[str]]:
        """For each node, the values that nothing reads after it."""
        seen = {"", *self.output_names}
        ends: list[list[str]] = []
        for node in reversed(self.evaluator.rt_nodes_):
            used = dict.fromkeys((*node.output, *_names_read(node.onnx_node)))
            ends.append([name for name in used if name not in seen])
            seen.update(used)
        return ends[::-1]

    def _custom_ops(
        self, proto: onnx.ModelProto, versions: Mapping[str, int]
    ) -> dict[tuple[str, str], type[OpRun]]:
        """An implementation for every operator that is not ONNX's, or that the user defined anew."""
        found: dict[tuple[str, str], type[OpRun]] = {}
        for node in _nodes(proto):
            key = (node.domain, node.op_type)
            if key in found:
                continue
            opdef = definition(self.registry, *key, versions[node.domain])
            if opdef is not None:
                found[key] = _custom_op(node, opdef)
        return found


def _with_inlined(proto: onnx.ModelProto, custom: Collection[tuple[str, str]]) -> onnx.ModelProto:
    """The model without functions that `custom` doesn't replace; with them where one is of another version of
    an operator set than the model, which the inliner refuses."""
    own = [f for f in proto.functions if (f.domain, f.name) in custom]
    versions = {o.domain: o.version for o in proto.opset_import}
    mixed = any(
        versions.get(o.domain, o.version) != o.version for f in proto.functions for o in f.opset_import
    )
    if len(own) < len(proto.functions) and not mixed:
        names = [(f.domain, f.name) for f in own]
        proto = onnx.inliner.inline_selected_functions(proto, names, exclude=True)
    kept = [f for f in proto.functions if mixed and (f.domain, f.name) not in custom]
    del proto.functions[:]
    proto.functions.extend(kept)
    return proto


def _default_registry() -> Registry:
    from ascend_ep.opdef.registry import Registry as Definitions

    return Definitions.from_options()


def _custom_op(node: onnx.NodeProto, opdef: Any) -> type[OpRun]:
    from ascend_ep.opdef.reference import evaluate

    class Custom(OpRun):
        op_domain = node.domain

        def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any]) -> None:
            super().__init__(onnx_node, run_params, schema=_NoSchema())

        def _run(self, *operands: Any, **attributes: Any) -> tuple[Any, ...]:
            return tuple(evaluate(opdef, list(operands), attributes))

    Custom.__name__ = node.op_type
    return Custom


class _NoSchema:
    """Keeps onnx.reference from looking an operator up by its bare name."""

    attributes: dict[str, Any] = {}


def _bytes(value: Any) -> int:
    return sum(map(_bytes, value)) if isinstance(value, list) else getattr(value, "nbytes", 0)


def _names_read(node: onnx.NodeProto) -> Iterator[str]:
    """The names of a node's inputs, and all that its subgraphs mention."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            yield from (value.name for value in graph.output)
            for inner in graph.node:
                yield from _names_read(inner)


def _nodes(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those of subgraphs and functions included."""
    pending = [proto.graph.node, *(f.node for f in proto.functions)]
    while pending:
        for node in pending.pop():
            yield node
            for attribute in node.attribute:
                pending.extend(g.node for g in attribute.graphs)
                if attribute.HasField("g"):
                    pending.append(attribute.g.node)


def _to_double(given: Any) -> Any:
    """A tensor, or a sequence of them; a map or nothing as it is."""
    if isinstance(given, list):
        return [_to_double(item) for item in given]
    return given.astype(np.float64) if hasattr(given, "dtype") and _is_floating(given) else given


def _is_floating(array: Array) -> bool:
    return array.dtype.name in ("float16", "bfloat16", "float32", "float64")


def _widen(array: Array, data_type: int) -> Array:
    return array.astype(np.float64) if data_type in NARROW else array


def _graph_to_double(graph: onnx.GraphProto, main: bool = False) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        _type_to_double(info.type)
    if main:
        del graph.initializer[:]
    for tensor in graph.initializer:
        _tensor_to_double(tensor)
    for node in graph.node:
        _node_to_double(node)


def _type_to_double(kind: onnx.TypeProto) -> None:
    while kind.HasField("sequence_type") or kind.HasField("optional_type"):
        kind = (kind.sequence_type if kind.HasField("sequence_type") else kind.optional_type).elem_type
    if kind.tensor_type.elem_type in NARROW:
        kind.tensor_type.elem_type = DOUBLE


def _tensor_to_double(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in NARROW:
        wide = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(wide, tensor.name))


def _node_to_double(node: onnx.NodeProto) -> None:
    if node.domain == "" and node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.name in ("value_float", "value_floats"):
                value = attribute.f if attribute.name == "value_float" else list(attribute.floats)
                tensor = onnx.numpy_helper.from_array(np.array(value, dtype=np.float64))
                attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
    if node.domain == "" and node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(
            onnx.helper.make_attribute("value", onnx.helper.make_tensor("", DOUBLE, [1], [0.0]))
        )
    for attribute in node.attribute:
        if (
            attribute.name
            in ("to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type")
            and attribute.i in NARROW
        ):
            attribute.i = DOUBLE
        if attribute.HasField("t"):
            _tensor_to_double(attribute.t)
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            _graph_to_double(graph)

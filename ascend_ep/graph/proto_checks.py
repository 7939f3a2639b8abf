"""What a ModelProto must satisfy before anything is built from it: limits, names, tensors, opsets.

onnx.checker is not used: it refuses operators it does not know in the default domain, which is where many
custom operators live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import onnx
import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.external_data import tensor_bytes
from ascend_ep.graph.function_size import written_out_nodes
from ascend_ep.graph.shapes.schema_types import attribute_types

MIN_OPSET = 1
DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class Limits:
    """What a model may have at most; a larger one is refused, not slowly read."""

    nodes: int = 500_000
    nesting: int = 16
    name_length: int = 4095  # bytes, as in a bundle
    inputs_of_node: int = 65_536
    rank: int = 64


#: the fields that hold attributes of these types
_VALUE_FIELDS = {
    onnx.AttributeProto.TENSOR: "t",
    onnx.AttributeProto.GRAPH: "g",
    onnx.AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    onnx.AttributeProto.TYPE_PROTO: "tp",
}

#: elements of one entry of the typed field that holds a type's data, when it isn't raw
_TYPED_FIELDS: dict[ir.DataType, str] = {
    ir.DataType.FLOAT: "float_data",
    ir.DataType.COMPLEX64: "float_data",
    ir.DataType.DOUBLE: "double_data",
    ir.DataType.COMPLEX128: "double_data",
    ir.DataType.INT64: "int64_data",
    ir.DataType.UINT32: "uint64_data",
    ir.DataType.UINT64: "uint64_data",
}


def graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every TensorProto of a graph and its subgraphs: initializers, sparse ones, attributes."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        yield from node_tensors(node)


def node_tensors(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
    """Every TensorProto in the attributes of a node, subgraphs included."""
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for sparse in (
            *([attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else ()),
            *attribute.sparse_tensors,
        ):
            yield sparse.values
            yield sparse.indices
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            yield from graph_tensors(graph)


def check_tensor(tensor: onnx.TensorProto) -> None:
    """ValueError unless the data present is what dims and data_type take. External data isn't read."""
    dtype = ir.DataType(tensor.data_type)
    if dtype == ir.DataType.UNDEFINED:
        raise ValueError("no data type")
    dims = tuple(tensor.dims)
    count = 1
    for dim in dims:
        if dim < 0 or count * dim > 2**48:
            raise ValueError(f"dims {list(dims[:16])} are impossible")
        count *= dim
    if dtype == ir.DataType.STRING:
        if tensor.data_location == onnx.TensorProto.EXTERNAL or len(tensor.string_data) != count:
            raise ValueError(f"{len(tensor.string_data)} strings where dims {list(dims)} take {count}")
        return
    size = tensor_bytes(dtype, dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != size:
            raise ValueError(f"{len(tensor.raw_data)} bytes where type and dims {list(dims)} take {size}")
        return
    field = _TYPED_FIELDS.get(dtype, "int32_data")
    if dtype in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
        entries = 2 * count
    else:
        entries = count if dtype.bitwidth >= 8 else size
    if len(getattr(tensor, field)) != entries:
        raise ValueError(
            f"{len(getattr(tensor, field))} entries of {field} where dims {list(dims)} take {entries}"
        )


def check_model(model: onnx.ModelProto, where: str, limits: Limits) -> None:
    """AscendError E10041 unless `model` is within `limits` and structurally sound."""

    def refuse(reason: str, **more: str) -> AscendError:
        return AscendError("E10041", where, reason, fix=more.get("fix"))

    if not model.HasField("graph"):
        raise refuse("it has no graph (is it an ONNX file?)")
    checker = _GraphChecker(limits, refuse, _check_opsets(model, refuse))
    checker.check_graph(model.graph, frozenset(), 1)
    for function in model.functions:
        checker.check_function(function)
    nodes = written_out_nodes(model) if model.functions else 0
    if nodes is None:
        raise refuse("a function calls itself")
    if nodes > limits.nodes:
        raise refuse(f"it has {nodes} nodes once its functions are written out, more than {limits.nodes}")


def _check_opsets(model: onnx.ModelProto, refuse: Callable[..., AscendError]) -> dict[str, int]:
    """The versions of the operator sets by domain."""
    newest = onnx.defs.onnx_opset_version()
    versions = _versions(model.opset_import, refuse)
    default = [versions[d] for d in DEFAULT_DOMAINS if d in versions]
    if not default:
        standard = [n.name or n.op_type for n in model.graph.node if n.domain in DEFAULT_DOMAINS]
        if standard or not versions:
            raise refuse(
                "it imports no operator set of the ONNX domain", fix="Add opset_import of domain ''."
            )
    for version in default:
        if not MIN_OPSET <= version <= newest:
            raise refuse(
                f"ONNX operator set {version} is outside {MIN_OPSET}..{newest}",
                fix="Convert it with onnx.version_converter, or export again with another opset_version.",
            )
    return versions


def _versions(
    imports: Iterable[onnx.OperatorSetIdProto], refuse: Callable[..., AscendError]
) -> dict[str, int]:
    versions = {o.domain: o.version for o in imports}
    if not all(isinstance(domain, str) for domain in versions):
        raise refuse("a domain is not UTF-8")
    if wrong := [v for v in versions.values() if not 0 <= v < 2**31]:
        raise refuse(f"there is no operator set of version {wrong[0]}")
    return versions


def _type_name(number: int) -> str:
    values = onnx.AttributeProto.AttributeType.DESCRIPTOR.values_by_number
    return values[number].name if number in values else str(number)


class _GraphChecker:
    """Walks graphs and subgraphs: counts, name lengths, single assignment, definition before use."""

    def __init__(self, limits: Limits, refuse: Callable[..., AscendError], versions: dict[str, int]) -> None:
        self.versions = versions
        self.limits = limits
        self.refuse = refuse
        self.nodes = 0
        self.in_function = False

    def check_name(self, name: str, what: str) -> None:
        if not isinstance(name, str):  # protobuf gives bytes that aren't UTF-8 as they are
            raise self.refuse(f"the name of {what} is not UTF-8")
        size = len(name.encode())
        if size > self.limits.name_length:
            raise self.refuse(f"the name of {what} has {size} bytes: {name[:60]!r}...")

    def check_graph(self, graph: onnx.GraphProto, outer: frozenset[str], depth: int) -> None:
        if depth > self.limits.nesting:
            raise self.refuse(f"subgraphs are nested deeper than {self.limits.nesting}")
        if len(graph.sparse_initializer):
            raise self.refuse("sparse initializers are not supported", fix="Export the weights densely.")
        defined: set[str] = set()
        for info in graph.input:
            self.check_name(info.name, "an input")
            self._check_value_info(info)
            if info.name in defined:
                raise self.refuse(f"input {info.name!r} occurs twice")
            defined.add(info.name)
        initializers: set[str] = set()
        for tensor in graph.initializer:
            self.check_name(tensor.name, "an initializer")
            if not tensor.name or tensor.name in initializers:
                raise self.refuse(f"initializer {tensor.name!r} occurs twice or has no name")
            initializers.add(tensor.name)
            self._check_tensor(tensor, f"initializer {tensor.name!r}")
        defined |= initializers
        self._check_nodes(graph.node, defined, outer, depth)
        outputs: set[str] = set()
        for info in graph.output:
            self._check_value_info(info)
            if info.name not in defined and info.name not in outer:
                raise self.refuse(f"output {info.name!r} is produced by no node")
            if info.name in outputs and depth == 1:
                raise self.refuse(f"output {info.name!r} occurs twice")
            outputs.add(info.name)

    def check_function(self, function: onnx.FunctionProto) -> None:
        self.in_function = True
        self.check_name(function.name, "a function")
        self.versions = _versions(function.opset_import, self.refuse)
        defined = set(function.input)
        self._check_nodes(function.node, defined, frozenset(), 1)
        for name in function.output:
            if name not in defined:
                raise self.refuse(f"output {name!r} of function {function.name!r} is produced by no node")

    def _check_nodes(
        self, nodes: Iterable[onnx.NodeProto], defined: set[str], outer: frozenset[str], depth: int
    ) -> None:
        produced: set[str] = set()
        listed = list(nodes)
        self.nodes += len(listed)
        if self.nodes > self.limits.nodes:
            raise self.refuse(f"it has more than {self.limits.nodes} nodes")
        for node in listed:
            where = f"node {node.name or '(unnamed)'!r} ({node.op_type[:80]})"
            for text in (node.name, node.op_type, node.domain, node.overload, *node.input, *node.output):
                self.check_name(text, where[:200])
            if not node.op_type:
                raise self.refuse(f"{where} has no operator type")
            if not (node.op_type + node.domain).isprintable():
                raise self.refuse(f"the operator type {node.op_type[:80]!r} has control characters")
            if len(node.input) + len(node.output) > self.limits.inputs_of_node:
                raise self.refuse(f"{where} has {len(node.input)} inputs and {len(node.output)} outputs")
            for name in node.output:
                if name and (name in defined or name in produced):
                    raise self.refuse(f"value {name!r}, output of {where}, is defined twice")
                produced.add(name)
        defined |= produced
        visible = (
            outer | frozenset(defined) if any(a.HasField("g") for n in listed for a in n.attribute) else outer
        )
        for node in listed:
            where = f"node {node.name or '(unnamed)'!r} ({node.op_type[:80]})"
            for name in node.input:
                if name and name not in defined and name not in outer:
                    raise self.refuse(f"input {name!r} of {where} is produced by no node")
            self._check_attributes(node, where, visible, depth)

    def _check_attributes(
        self, node: onnx.NodeProto, where: str, visible: frozenset[str], depth: int
    ) -> None:
        names: set[str] = set()
        types = attribute_types(node.domain, node.op_type, self.versions.get(node.domain, 0))
        for attribute in node.attribute:
            wanted = types.get(attribute.name, attribute.type)
            if attribute.type != wanted and not attribute.ref_attr_name:
                raise self.refuse(
                    f"attribute {attribute.name!r} of {where} has type {_type_name(attribute.type)};"
                    f" the operator takes {_type_name(wanted)}"
                )
            if attribute.ref_attr_name and not self.in_function:
                raise self.refuse(f"attribute {attribute.name!r} of {where} is a function's, outside of one")
            self.check_name(attribute.name, f"an attribute of {where}"[:240])
            if attribute.name in names:
                raise self.refuse(f"attribute {attribute.name!r} of {where} occurs twice")
            names.add(attribute.name)
            needs = _VALUE_FIELDS.get(attribute.type)
            if needs and not attribute.HasField(needs) and not attribute.ref_attr_name:
                raise self.refuse(f"attribute {attribute.name!r} of {where} has no value")
            for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                self.check_graph(graph, visible, depth + 1)
            for tensor in (*([attribute.t] if attribute.HasField("t") else ()), *attribute.tensors):
                self._check_tensor(tensor, f"attribute {attribute.name!r} of {where}")

    def _check_tensor(self, tensor: onnx.TensorProto, what: str) -> None:
        if len(tensor.dims) > self.limits.rank:
            raise self.refuse(f"{what} has rank {len(tensor.dims)}")
        try:
            check_tensor(tensor)
        except ValueError as error:
            raise self.refuse(f"{what}: {error}") from None

    def _check_value_info(self, info: onnx.ValueInfoProto) -> None:
        self.check_name(info.name, "a value")
        if not info.type.HasField("tensor_type"):
            return
        shape = info.type.tensor_type.shape
        if len(shape.dim) > self.limits.rank:
            raise self.refuse(f"value {info.name!r} has rank {len(shape.dim)}")
        for dim in shape.dim:
            self.check_name(dim.dim_param, "a dimension")

"""From an ONNX file (or bytes, or a ModelProto) to an `onnx_ir.Model`, whatever the file contains.

The result is checked (see proto_checks), its nodes are sorted, and the data of every tensor is there: inside
the protobuf, mapped from the model's folder, or borrowed from memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np
import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.graph.external_data import ExternalFiles, MemoryReader
from ascend_ep.graph.old_opsets import OLDEST_READ, modernised
from ascend_ep.graph.partition import used_values
from ascend_ep.graph.proto_checks import Limits, check_model, node_tensors
from ascend_ep.graph.shapes.foreign import is_foreign
from ascend_ep.opdef.definition import EARLY, version_in_force

#: the most protobuf can hold
MAX_MODEL_BYTES = 2**31 - 1


def load_model(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    base_dir: str | os.PathLike[str] | None = None,
    memory: MemoryReader | None = None,
    limits: Limits | None = None,
) -> ir.Model:
    """The model of `source`. AscendError E10410 when there is no such file, E10041 when it can't be accepted.

    `base_dir` is where external data lies; for a file its own folder. `memory` allows initializers at the
    location "asc-memory", whose bytes `memory(address, length)` gives; they are borrowed, not copied. Give it
    only with models that this process made.

    A model of an operator set before version 7 is converted to that. An input that has an initializer of the
    same name (as IR version 3 requires) becomes a constant.
    """
    proto, where, folder = _read(source)
    if base_dir is not None:
        folder = os.fspath(base_dir)
    check_model(proto, where, limits or Limits())
    proto = without_foreign_declarations(modernised(proto, where))
    files = ExternalFiles(folder, memory)
    for node in _all_nodes(proto):
        for tensor in node_tensors(node):
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                _internalize(tensor, files)
    try:
        model = ir.from_proto(proto)
    except (ir.serde.SerdeError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise AscendError("E10041", where, _innermost(error)) from error
    _date_early_operators(model)
    for graph in (model.graph, *model.graph.subgraphs()):
        _attach_external(graph, files)
        _drop_constant_inputs(graph)
        if _is_sorted(graph):
            continue
        try:
            graph.sort()
        except ValueError as error:
            raise AscendError("E10041", where, f"the graph has a cycle ({error})") from None
    return model


def _date_early_operators(model: ir.Model) -> None:
    """Nodes of operators that ONNX has only in later sets than the model's get the first of its versions."""
    graphs: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for graph in graphs:
        version = graph.opset_imports.get("", OLDEST_READ)
        for node in ir.traversal.RecursiveGraphIterator(graph) if version < max(EARLY.values()) else ():
            if (since := version_in_force(node.domain, node.op_type, version)) != version:
                node.version = since


def _read(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
) -> tuple[onnx.ModelProto, str, str | None]:
    """(model, what to call it in messages, its folder)."""
    if isinstance(source, onnx.ModelProto):
        return source, "the given model", None
    if isinstance(source, bytes):
        return parse(source, "the given bytes"), "the given bytes", None
    path = os.fspath(source)
    try:
        size = os.stat(path).st_size
        if os.path.isdir(path):
            raise AscendError("E10041", path, "it is a folder")
        if size > MAX_MODEL_BYTES:
            raise AscendError(
                "E10041",
                path,
                f"{size} bytes are more than an ONNX file can hold (2 GiB)",
                fix="Store the weights as external data.",
            )
        content = regular_file.read(path)
    except FileNotFoundError:
        raise AscendError("E10410", path) from None
    except (OSError, ValueError) as error:
        raise AscendError("E10041", path, getattr(error, "strerror", None) or error) from None
    return parse(content, path), path, os.path.dirname(os.path.abspath(path))


def parse(content: bytes, where: str) -> onnx.ModelProto:
    """The model of a file's bytes, without its external data. Raises AscendError E10041."""
    if not content:
        raise AscendError("E10041", where, "it is empty")
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(content)
        return model
    except (DecodeError, RecursionError) as error:
        if content.startswith(b"IMOD"):
            fix = "Give the ONNX model that it was made of."
            raise AscendError("E10041", where, "it is a bundle, an .om, already", fix=fix) from None
        raise AscendError("E10041", where, f"it is no ONNX protobuf ({error})") from None


def _all_nodes(proto: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    yield from proto.graph.node
    for function in proto.functions:
        yield from function.node


def without_foreign_declarations(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the declared types of maps, sparse tensors and opaque values, for which `onnx_ir` has
    no word: their nodes are the host's, which infers them. Sizes below zero are free, as onnxruntime reads
    them."""
    if not any(
        is_foreign(info.type) or any(_negative_sizes(info)) for g in _graphs(proto) for info in _declared(g)
    ):
        return proto
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for graph in _graphs(changed):
        for info in _declared(graph):
            if is_foreign(info.type):
                info.ClearField("type")
            for size in _negative_sizes(info):
                size.ClearField("dim_value")
    return changed


def _negative_sizes(info: onnx.ValueInfoProto) -> Iterator[onnx.TensorShapeProto.Dimension]:
    return (d for d in info.type.tensor_type.shape.dim if d.dim_value < 0)


def _graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.FunctionProto]:
    """The graph, the functions, and all bodies of their nodes."""
    waiting: list[onnx.GraphProto | onnx.FunctionProto] = [proto.graph, *proto.functions]
    while waiting:
        graph = waiting.pop()
        yield graph
        for attribute in (a for node in graph.node for a in node.attribute):
            waiting.extend([attribute.g] if attribute.HasField("g") else [])
            waiting.extend(attribute.graphs)


def _declared(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.ValueInfoProto]:
    if isinstance(graph, onnx.GraphProto):
        yield from graph.input
        yield from graph.output
    yield from graph.value_info


def _internalize(tensor: onnx.TensorProto, files: ExternalFiles) -> None:
    """Attributes own their data: it is read into the protobuf."""
    tensor.raw_data = files.read(tensor).tobytes()
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _attach_external(graph: ir.Graph, files: ExternalFiles) -> None:
    for value in graph.initializers.values():
        external = value.const_value
        if isinstance(external, ir.ExternalTensor):
            value.const_value = _mapped_tensor(external, files)


def _mapped_tensor(external: ir.ExternalTensor, files: ExternalFiles) -> ir.TensorProtocol:
    entry = onnx.TensorProto(name=external.name, data_type=int(external.dtype), dims=external.shape.numpy())
    for key, value in (
        ("location", external.location),
        ("offset", external.offset),
        ("length", external.length),
    ):
        if value is not None:
            entry.external_data.add(key=key, value=str(value))
    data = files.read(entry)
    if external.dtype.bitwidth < 8:
        return ir.PackedTensor(data, external.dtype, shape=external.shape, name=external.name)
    array = data.view(np.dtype(external.dtype.numpy()).newbyteorder("<")).reshape(external.shape.numpy())
    return ir.Tensor(array, dtype=external.dtype, shape=external.shape, name=external.name)


def _is_sorted(graph: ir.Graph) -> bool:
    """Whether every node comes after those whose values it reads, itself or in a body."""
    seen: set[ir.Node] = set()
    for node in graph:
        for value in used_values(node):
            maker = value.producer()
            if maker is not None and maker.graph is graph and maker not in seen:
                return False
        seen.add(node)
    return True


def _drop_constant_inputs(graph: ir.Graph) -> None:
    kept: list[ir.Value] = [v for v in graph.inputs if v.name not in graph.initializers]
    if len(kept) != len(graph.inputs):
        _replace(graph.inputs, kept)


def _replace(values: ir.Graph | object, kept: Iterable[ir.Value]) -> None:
    values[:] = list(kept)  # type: ignore[index]


def _innermost(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__

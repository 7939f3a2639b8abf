"""MODEL_DEF, the description of the graph inside a bundle, and its JSON form (ascend-atc --mode=1)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from ascend_ep.cann.ge_ir import message
from ascend_ep.element_types import ELEMENT_TYPES
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.naming import label
from ascend_ep.opdef.dims import static
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.native_partition import NativePartition

IR_VERSION = 1
_PARTS = (lib.ASC_PART_MODEL_DEF, lib.ASC_PART_WEIGHTS, lib.ASC_PART_NATIVE, lib.ASC_PART_PLAN)
#: Keys that atc leaves out of the JSON.
HIDDEN = frozenset(
    {
        *("output", "data_offset", "data", "workspace", "workspace_bytes"),
        *("memory_size", "weight_size", "size", "bt", "quantize_factor"),
    }
)


def model_def(model: ir.Model, facts: Facts, meta: Mapping[str, str]) -> bytes:
    """A serialized ge.proto.ModelDef: inputs are Data ops, initializers Const ops without data, outputs one
    NetOutput. A dim that is not a number is -1. `meta` gives the attributes soc_version and atc_cmdline."""
    proto = message("ModelDef")(name=model.graph.name or "model", version=IR_VERSION)
    proto.attr["atc_version"].s = meta.get("producer", "").encode()
    for key in ("atc_cmdline", "soc_version", "precision"):
        proto.attr[key].s = meta.get(key, "").encode(errors="backslashreplace")
    proto.attr["framework_type"].i = 5
    graph = proto.graph.add(name=model.graph.name or "graph")
    _Ops(model, facts, graph).add()
    body: bytes = proto.SerializeToString(deterministic=True)
    return body


class _Ops:
    """Adds the ops of a graph, remembering which op and output makes each value."""

    def __init__(self, model: ir.Model, facts: Facts, graph: Any) -> None:
        self._model = model
        self._facts = facts
        self._graph = graph
        self._source: dict[ir.Value, tuple[str, int]] = {}

    def add(self) -> None:
        graph = self._model.graph
        for value in graph.inputs:
            self._leaf(value, "Data")
            self._graph.input.append(f"{value.name}:0")
        for value in graph.initializers.values():
            self._leaf(value, "Const")
        for node in graph:
            op = self._op(label(node), node.op_type)
            self._connect(op, list(node.inputs))
            for name, attribute in node.attributes.items():
                _set_attribute(op.attr[name], attribute)
            for i, value in enumerate(node.outputs):
                self._describe(op.output_desc.add(), value)
                self._source[value] = (op.name, i)
        end = self._op("Node_Output", "NetOutput")
        self._connect(end, list(graph.outputs))
        self._graph.output.extend(self._origin(v) for v in graph.outputs)

    def _op(self, name: str, kind: str) -> Any:
        return self._graph.op.add(name=name, type=kind, id=len(self._graph.op))

    def _leaf(self, value: ir.Value, kind: str) -> None:
        op = self._op(value.name or "", kind)
        self._describe(op.output_desc.add(), value)
        self._source[value] = (op.name, 0)

    def _connect(self, op: Any, values: list[ir.Value | None]) -> None:
        for i, value in enumerate(values):
            if value is None:
                op.input.append("")
                continue
            name, index = self._source.get(value, (value.name or "", 0))
            op.input.append(f"{name}:{index}")
            op.input_name.append(f"x{i}")
            op.src_name.append(name)
            op.src_index.append(index)
            op.is_input_const.append(value.is_initializer())
            self._describe(op.input_desc.add(), value)

    def _origin(self, value: ir.Value) -> str:
        name, index = self._source.get(value, (value.name or "", 0))
        return f"{name}:{index}"

    def _describe(self, desc: Any, value: ir.Value) -> None:
        fact = self._facts[value]
        desc.name = value.name or ""
        row = ELEMENT_TYPES.get(fact.dtype)
        desc.dtype = max(row.ge_number, 0) if row else 0
        desc.layout = "ND"
        desc.device_type = "NPU"
        if fact.dims is not None:
            sizes = [static(d) for d in fact.dims]
            desc.shape.dim.extend(-1 if n is None else n for n in sizes)
            desc.real_dim_cnt = len(sizes)
        else:
            desc.shape.dim.append(-2)


def _set_attribute(target: Any, attribute: ir.Attr) -> None:
    kind, value = attribute.type, attribute.value
    if kind == ir.AttributeType.INT:
        target.i = value
    elif kind == ir.AttributeType.FLOAT:
        target.f = value
    elif kind == ir.AttributeType.STRING:
        target.s = value.encode() if isinstance(value, str) else value
    elif kind == ir.AttributeType.INTS:
        target.list.i.extend(value)
        target.list.val_type = 2
    elif kind == ir.AttributeType.FLOATS:
        target.list.f.extend(value)
        target.list.val_type = 3
    elif kind == ir.AttributeType.STRINGS:
        target.list.s.extend(v.encode() if isinstance(v, str) else v for v in value)
        target.list.val_type = 1
    else:
        target.s = f"<{kind.name.lower()}>".encode()


def model_def_of_bundle(path: str | os.PathLike[str]) -> bytes:
    """The MODEL_DEF of a bundle. Raises AscendError E40002 to E40005."""
    return bytes(Bundle(open_model(path)).part(lib.ASC_PART_MODEL_DEF))


def model_info(path: str | os.PathLike[str]) -> str:
    """What atc's --mode=6 prints of a bundle. memory_size is the arena's, when all its shapes are fixed."""
    bundle = Bundle(open_model(path))
    meta = bundle.meta
    sizes = {kind: bundle.part(kind).nbytes for kind in _PARTS}
    weights, native = sizes[lib.ASC_PART_WEIGHTS], sizes[lib.ASC_PART_NATIVE]
    outside = sum(f.size for f in bundle.weight_files)
    return "\n".join(
        [
            "============ Display Model Info start ============",
            f"Original Atc command line: {meta.get('atc_cmdline', '')}",
            f"system   info: atc_version[{meta.get('producer', '')}], "
            f"soc_version[{meta.get('soc_version', '')}], framework_type[5].",
            f"resource info: memory_size[{_arena_bytes(bundle)} B], weight_size[{weights + outside} B], "
            "stream_num[1], event_num[0].",
            f"om       info: modeldef_size[{sizes[lib.ASC_PART_MODEL_DEF]} B], "
            f"weight_data_size[{weights} B], "
            "tbe_kernels_size[0 B], cust_aicpu_kernel_store_size[0 B], "
            f"task_info_size[{sizes[lib.ASC_PART_PLAN]} B], so_store_size[{native} B].",
            "============ Display Model Info end   ============",
        ]
    )


def _arena_bytes(bundle: Bundle) -> int:
    if bundle.symbols:
        return 0
    return max(
        (NativePartition(bundle, p).arena_bytes() for p in bundle.partitions if p.is_native), default=0
    )


def parse(body: bytes) -> Any:
    """The ModelDef message of a MODEL_DEF partition. Raises AscendError E40003."""
    proto = message("ModelDef")()
    try:
        proto.ParseFromString(body)
    except Exception as error:
        raise AscendError("E40003", f"MODEL_DEF is no model definition ({error})") from error
    return proto


def model_def_json(body: bytes) -> str:
    """A MODEL_DEF as atc's --mode=1 writes it: enums by name, floats as %g text, maps as key/value lists."""
    return json.dumps(_plain(parse(body)), indent=2, ensure_ascii=False)


def _plain(proto: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, value in proto.ListFields():
        if field.name in HIDDEN:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found[field.name] = [{"key": key, "value": _plain(value[key])} for key in sorted(value)]
        elif field.is_repeated:
            found[field.name] = [_scalar(field, v) for v in value]
        else:
            found[field.name] = _scalar(field, value)
    return found


def _scalar(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else value
    if isinstance(value, bytes):
        return _escaped(value)
    return f"{value:g}" if isinstance(value, float) else value


def _escaped(value: bytes) -> str:
    """Printable text as it is, anything else C-escaped."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and (text or not value):
        return text
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in value)

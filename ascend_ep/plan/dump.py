"""Every step of a conversion as text, one file a step, for reading and for golden tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import onnx.printer
import onnx_ir as ir

from ascend_ep import atomic_file
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.naming import label
from ascend_ep.graph.partition import Partition
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import Dim
from ascend_ep.plan.plan import HostPartition, NativePartition, Plan, Ref
from ascend_ep.plan.tile_expression import expressions_text

#: The subject of files that hold the model.
MODEL = "model"


class Dump:
    """Writes numbered files into `folder`; does nothing when that is None.

    Models are in ONNX's own text form (onnx.parser reads it), without large initializers.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._written: list[Path] = []
        self._last: dict[str, str] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def is_on(self) -> bool:
        return self._folder is not None

    def restart(self) -> None:
        """For a conversion that begins again: the files of its first attempt go."""
        for path in self._written:
            path.unlink(missing_ok=True)
        self._written.clear()
        self._last.clear()

    def model(self, step: str, model: ir.Model) -> None:
        if self.is_on:
            self._keep(MODEL, step, model_text(model))

    def facts(self, step: str, model: ir.Model, facts: Facts) -> None:
        if self.is_on:
            values = (*model.graph.inputs, *(v for n in model.graph for v in n.outputs))
            self._write(f"{step}.txt", "\n".join(f"{v.name}: {facts[v]!r}" for v in values))

    def partitions(self, step: str, parts: Sequence[Partition]) -> None:
        if self.is_on:
            self._write(f"{step}.txt", "\n".join(_partition_lines(parts)))

    def plan(self, step: str, plan: Plan) -> None:
        if self.is_on:
            self._write(f"{step}.txt", plan_text(plan))

    def state(self, subject: str, step: str, text: Callable[[], str]) -> None:
        """What a stage of passes begins with; `subject` names it among others, as MODEL, "plan" or "p0"."""
        if self.is_on:
            self._keep(subject, step, text())

    def change(self, subject: str, step: str, text: Callable[[], str]) -> None:
        """The same after a pass, where it isn't what was last written of the subject."""
        if self.is_on and (now := text()) != self._last.get(subject):
            self._keep(subject, step, now)

    def _keep(self, subject: str, step: str, text: str) -> None:
        self._last[subject] = text
        self._write(f"{step}.onnxtxt" if subject == MODEL else f"{subject}-{step}.txt", text)

    def _write(self, name: str, text: str) -> None:
        assert self._folder is not None
        path = self._folder / f"{len(self._written):02d}-{name}"
        atomic_file.write(path, text + "\n", synced=False)
        self._written.append(path)


#: Writes nothing.
OFF = Dump(None)


def model_text(model: ir.Model) -> str:
    """A model in ONNX's own text form."""
    return str(onnx.printer.to_text(_without_weights(model)))


def plan_text(plan: Plan) -> str:
    """A plan, an instruction a line: `node: out = kernel(in, ...) ints floats`."""
    return "\n".join(_plan_lines(plan))


def partition_text(part: NativePartition) -> str:
    """The same of one native partition."""
    return "\n".join(_native_lines(part))


def _plan_lines(plan: Plan) -> Iterator[str]:
    for edge in plan.edges:
        role = ("in" if edge.is_input else "") + ("out" if edge.is_output else "")
        yield f"edge {edge.name} {dtypes.name(edge.dtype)}{_dims(edge.dims)} {role}".rstrip()
    for part in plan.partitions:
        if isinstance(part, HostPartition):
            boundary = _boundary([e.name for e in part.inputs], [e.name for e in part.outputs])
            yield f"host {part.name} {boundary}: {part.reason}"
        else:
            yield from _native_lines(part)


def _native_lines(part: NativePartition) -> Iterator[str]:
    yield f"native {part.name} " + _boundary(
        [e.name for e, _ in part.inputs], [e.name for e, _ in part.outputs]
    )
    if part.fallback is not None:
        yield f"  with a fallback of {len(part.fallback.insns)} instructions"
    names: dict[Ref, str] = {}  # in the order in which they appear
    for insn in part.insns:
        given = ", ".join("-" if r is None else _operand(r, names) for r in insn.ins)
        made = ", ".join(_operand(r, names) for r in insn.outs)
        ints = f" ints=[{', '.join(map(str, insn.ints))}]" if insn.ints else ""
        floats = f" floats={list(insn.floats)}" if insn.floats else ""
        what = f" {expressions_text(insn.expressions)}" if insn.expressions else ""
        yield f"  {insn.joined_name or insn.joined_type}: {made} = {insn.kernel}({given}){ints}{floats}{what}"


def _boundary(inputs: Sequence[str | None], outputs: Sequence[str | None]) -> str:
    return f"({', '.join(map(str, inputs))}) -> ({', '.join(map(str, outputs))})"


def _operand(ref: Ref, names: dict[Ref, str]) -> str:
    kind = ("in", "out", "temp", "weight", "view")[ref.kind]
    layout = "" if ref.weight is None or ref.weight.layout == "plain" else f" in {ref.weight.layout}"
    text = f"{_name(ref, names)}:{kind} {dtypes.name(ref.dtype)}{_dims(ref.dims)}{layout}"
    if ref.base is None:
        return text
    strides = "" if ref.strides is None else f"*{_dims(ref.strides)}"
    return f"{text}@{_name(ref.base, names)}+{ref.offset}{strides}"


def _name(ref: Ref, names: dict[Ref, str]) -> str:
    return names.setdefault(ref, f"%{len(names)}")


def _dims(dims: Sequence[Dim]) -> str:
    return "[" + ",".join(map(str, dims)) + "]"


def _partition_lines(parts: Sequence[Partition]) -> Iterator[str]:
    for i, part in enumerate(parts):
        yield f"{part.kind} p{i} " + _boundary([v.name for v in part.inputs], [v.name for v in part.outputs])
        for node in part.nodes:
            reason = part.reasons.get(node)
            yield f"  {label(node)} {node.op_type}" + (f": {reason}" if reason else "")


def _without_weights(model: ir.Model) -> onnx.ModelProto:
    """The model with initializers of more than 64 elements as inputs, so that the text stays readable."""
    proto = onnx.ModelProto(ir_version=model.ir_version)
    for domain, version in model.opset_imports.items():
        proto.opset_import.add(domain=domain, version=version)
    graph = proto.graph
    graph.name = model.graph.name or "graph"
    graph.node.extend(ir.to_proto(n) for n in model.graph)
    graph.input.extend(ir.to_proto(v) for v in model.graph.inputs)
    graph.output.extend(ir.to_proto(v) for v in model.graph.outputs)
    for value in model.graph.initializers.values():
        source = value.const_value
        if source is not None and source.size <= 64 and source.dtype != ir.DataType.STRING:
            graph.initializer.append(ir.to_proto(source))
        else:
            graph.input.append(ir.to_proto(value))
    return proto

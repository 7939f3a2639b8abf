"""Partitioning an onnxruntime graph: which groups of nodes AscendEP takes, each compiled at once.

A group is claimed only when it has compiled as a model of its own, so a claim can't turn out wrong. The
open model waits, on the thread that creates the session, for onnxruntime to ask for it.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from ascend_ep import atomic_file
from ascend_ep.compiler.claims import Claims
from ascend_ep.compiler.semantics import Semantics
from ascend_ep.compiler.weighing import NO_GAIN, is_worthwhile_in_body
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.naming import label
from ascend_ep.graph.partition import Partition, connected_groups
from ascend_ep.graph.shape_inference import infer_believing
from ascend_ep.graph.sizes_from_data import is_fed
from ascend_ep.opdef.dtypes import SUB_BYTE
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.writing.image import Room
from ascend_ep.provider import overridden_initializers, pending
from ascend_ep.provider.declarations import not_declared
from ascend_ep.provider.group import compile_model, group_model, image_bytes, value_info
from ascend_ep.provider.options import options_of, registry_of
from ascend_ep.provider.plugin_library import EP_NAME
from ascend_ep.provider.report import CPU, Placement, Report, of_session
from ascend_ep.provider.whole_graph import may_be_one_group
from ascend_ep.runtime.binding import fail, ffi, lib, new_status, text_of

#: onnxruntime's cost of a fused group grows faster than their number (1000 groups: 12 s).
MAX_GROUPS = 100
#: Rounds of leaving out nodes that didn't compile within their group.
MAX_ROUNDS = 8


def partition(ep: Any, graph: Any, claims: Any) -> None:
    """Answers the plugin's `partition`: claims groups and reports every node."""
    found = pending.current()
    options = options_of(ep)
    registry = found.registry if found else registry_of(options)
    report = of_session(found.session()) if found else Report()
    try:
        proto = onnx.ModelProto.FromString(bytes(ffi.buffer(graph.model, graph.model_bytes)))
        overridden_initializers.apply(proto.graph, pending.overridden())
    except Exception as error:
        report.error = str(error)
        raise
    _dump(proto, options)
    if found is None:
        functions = pending.functions()
        registry = registry.beside(not_declared(proto) if functions is None else functions)
    taken = bytes(ffi.buffer(graph.taken, graph.n_nodes))
    try:
        claimed = _claimed(proto, taken, bool(graph.nested), _Compiler(ep, registry, options), report)
    except Exception as error:  # ours, not the model's: onnxruntime runs what we can't read
        report.error = str(error) if isinstance(error, AscendError) else f"{type(error).__name__}: {error}"
        _log(ep, 2, f"AscendEP leaves graph [{proto.graph.name}] to other providers: {report.error}")
        return
    for indices in claimed:
        if lib.asc_ep_claim(claims, indices, len(indices)) != lib.ASC_OK:
            first = proto.graph.node[indices[0]]
            raise AscendError("E40012", f"onnxruntime refused a group that starts with [{_name(first)}]")
    _log(ep, 2 if report.on_cpu and not graph.nested else 0, report.summary())  # which knows of the bodies


def _claimed(
    proto: onnx.ModelProto, taken: bytes, nested: bool, compiler: _Compiler, report: Report
) -> list[list[int]]:
    """The positions of the nodes of each group, which is compiled; every node is in the report."""
    if not nested and not any(taken) and _compile_whole(proto, compiler):
        _report_whole(report, proto.graph)
        return [list(range(len(proto.graph.node)))]
    work = _Graph(proto, taken, nested, compiler)
    groups = work.compile_groups()
    work.write_report(report, groups)
    return [[work.index[node] for node in group.nodes] for group in groups]


def compile_group(ep: Any, program: Any) -> None:
    """Answers the plugin's `compile` with the model made for this group."""
    outputs = frozenset(text_of(program.outputs[i]) for i in range(program.n_outputs))
    compiled = pending.models().pop(outputs, None)
    if compiled is None:
        raise AscendError("E40012", f"no model was made for the group [{text_of(program.name)}]")
    if compiled.dumps:
        atomic_file.write(Path(f"{text_of(program.name)}.om"), compiled.bundle)
    if lib.asc_ep_makes_context(ep):
        _give_bundle(program, compiled.bundle)
    program.compiled = lib.asc_model_retain(compiled.model)
    program.partition = 0


def _give_bundle(program: Any, bundle: bytes) -> None:
    """For the node of a context model."""
    if program.bundle_path != ffi.NULL:
        atomic_file.write(Path(os.fsdecode(ffi.string(program.bundle_path))), bundle)
    elif lib.asc_ep_keep_bundle(program, ffi.from_buffer(bundle), len(bundle)) != lib.ASC_OK:
        raise MemoryError


def _log(ep: Any, level: int, text: str) -> None:
    lib.asc_ep_log(ep, level, text.encode("utf-8", "replace"))


def borrow(address: int, length: int) -> memoryview:
    """onnxruntime's own memory of an initializer, valid while the plugin's callback runs."""
    return memoryview(ffi.buffer(ffi.cast("char *", address), length)).toreadonly()


@dataclass(frozen=True)
class Compiled:
    """A group's open model, released with this object; its bundle, where a context model or `dumps`, the
    option dump_om_model, asks for it."""

    model: Any
    bundle: bytes
    dumps: bool


class _Compiler:
    """Compiles groups for one session."""

    def __init__(self, ep: Any, registry: Registry, options: dict[str, str]) -> None:
        self._ep = ep
        self.registry = registry
        self._options = options

    def __call__(self, proto: onnx.ModelProto) -> tuple[Compiled | None, dict[str, str]]:
        """The group open, verified in the memory where it will run; or None and, by first output, the nodes
        that don't run natively and why. Raises AscendError."""
        with closing(Room(image_bytes(proto, self._options))) as room:
            conversion, unplaced = compile_model(proto, self.registry, self._options, borrow)
            if conversion is None or any(e.dtype in SUB_BYTE for e in conversion.plan.edges):
                return None, unplaced
            image = conversion.image(room)
        status, model = new_status(), ffi.new("asc_model **")
        if lib.asc_ep_open(self._ep, image.pointer, model, status) != lib.ASC_OK:
            raise fail(status)
        dumps = self._options.get("dump_om_model", "0") in ("1", "true", "True")
        bundle = conversion.to_bytes() if dumps or lib.asc_ep_makes_context(self._ep) else b""
        return Compiled(ffi.gc(model[0], lib.asc_model_release), bundle, dumps), {}


def _compile_whole(proto: onnx.ModelProto, compiler: _Compiler) -> bool:
    """Compiles the graph as one group, if it is likely to be one; whether that went well."""
    try:
        if not may_be_one_group(proto, compiler.registry):
            return False
        compiled, _ = compiler(proto)
    except Exception:  # of ours, too: the groups are tried one by one, and the reason stays with one of them
        return False
    if compiled is not None:
        pending.models()[frozenset(output.name for output in proto.graph.output)] = compiled
    return compiled is not None


def _report_whole(report: Report, graph: onnx.GraphProto) -> None:
    name = graph.name or ""
    report.placements = [p for p in report.placements if p.graph != name or p.target == EP_NAME]
    report.groups += 1
    report.placements += [Placement(_name(node), node.op_type, EP_NAME, "", name) for node in graph.node]


def _name(node: onnx.NodeProto) -> str:
    return node.name or next((name for name in node.output if name), None) or node.op_type


class _Graph:
    """One graph of the session, while it is partitioned."""

    def __init__(self, proto: onnx.ModelProto, taken: bytes, nested: bool, compiler: _Compiler) -> None:
        self.proto = proto
        self._nested = nested
        self._compiler = compiler
        self.model = load_model(self.proto, memory=borrow)
        positions = {
            output: i for i, node in enumerate(self.proto.graph.node) for output in node.output if output
        }
        self.index = {
            node: positions[next(v.name for v in node.outputs if v.name)] for node in self.model.graph
        }
        self.taken = {node for node, i in self.index.items() if taken[i]}
        self.facts: Facts = infer_believing(self.model, compiler.registry)
        self.reasons: dict[ir.Node, str] = {}
        self._semantics = Semantics(self.model, compiler.registry)
        self._claims = Claims(self._semantics, self.facts)
        self._compiled: dict[frozenset[ir.Node], Compiled] = {}

    def compile_groups(self) -> list[Partition]:
        """The groups to claim, compiled. Nodes that fail are left out, and the rest is grouped again."""
        for node in self.model.graph:
            reason = self._claim(node)
            if reason is not None:
                self.reasons[node] = reason
        for group in self._groups():
            if group.kind != "native":
                continue
            if self._nested and not is_worthwhile_in_body(group, self.facts, self._semantics):
                self.reasons |= dict.fromkeys(group.nodes, NO_GAIN)
        for _ in range(MAX_ROUNDS):
            groups = self._capped([g for g in self._groups() if g.kind == "native"])
            failed = [g for g in groups if not self._compile(g)]
            if not failed:
                return self._keep(groups)
        for group in failed:
            why = "its group does not compile"
            self.reasons |= {node: self.reasons.get(node, why) for node in group.nodes}
        return self._keep([g for g in groups if g not in failed])

    def _claim(self, node: ir.Node) -> str | None:
        if node in self.taken:
            return "another provider has it"
        if any(a.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS) for a in node.attributes.values()):
            return "its bodies are graphs of their own"
        if any(v is not None and self.facts[v].dtype in SUB_BYTE for v in (*node.inputs, *node.outputs)):
            return "onnxruntime packs elements of less than a byte"
        reason: str | None = self._claims(node)
        return reason

    def _groups(self) -> list[Partition]:
        return connected_groups(self.model, self.reasons.get)

    def _capped(self, groups: list[Partition]) -> list[Partition]:
        kept = sorted(groups, key=lambda g: len(g.nodes), reverse=True)[:MAX_GROUPS]
        for group in groups:
            if group not in kept:
                reason = f"more than {MAX_GROUPS} separate groups: the smallest stay with their neighbours"
                self.reasons |= dict.fromkeys(group.nodes, reason)
        return [g for g in groups if g in kept]

    def _compile(self, group: Partition) -> bool:
        key = frozenset(group.nodes)
        if key in self._compiled:
            return True
        indices = sorted(self.index[node] for node in group.nodes)
        outputs = [v for v in group.outputs if v.name]
        inner = [v for node in group.nodes if is_fed(node) for v in node.outputs if v.name]
        proto = group_model(self.proto, indices, group.inputs, outputs, self.facts)
        proto.graph.value_info.extend(value_info(v, self.facts) for v in inner if v not in outputs)
        try:
            compiled, unplaced = self._compiler(proto)
        except AscendError as error:
            self.reasons |= dict.fromkeys(group.nodes, error.line)
            return False
        except Exception as error:
            self.reasons |= dict.fromkeys(group.nodes, f"E19999: {type(error).__name__}: {error}")
            return False
        if compiled is not None:
            self._compiled[key] = compiled
            return True
        names = {value.name: node for node in group.nodes for value in node.outputs}
        found = {names[output]: why for output, why in unplaced.items() if output in names}
        why = next(iter(unplaced.values()), "its group does not compile whole")
        self.reasons |= found or dict.fromkeys(group.nodes, why)
        return False

    def _keep(self, groups: list[Partition]) -> list[Partition]:
        for group in groups:
            outputs = frozenset(v.name for v in group.outputs if v.name)
            pending.models()[outputs] = self._compiled[frozenset(group.nodes)]
        return groups

    def write_report(self, report: Report, groups: list[Partition]) -> None:
        """Adds this graph. A later round over the same graph replaces what the earlier one left over."""
        name = self.model.graph.name or ""
        report.placements = [p for p in report.placements if p.graph != name or p.target == EP_NAME]
        report.groups += len(groups)
        for node in self.model.graph:
            if node in self.taken:
                continue
            reason = self.reasons.get(node, "")
            report.placements.append(
                Placement(label(node), node.op_type, CPU if reason else EP_NAME, reason, name)
            )


def _dump(proto: onnx.ModelProto, options: dict[str, str]) -> None:
    if options.get("dump_graphs", "0") in ("1", "true", "True"):
        atomic_file.write(Path(f"{proto.graph.name or 'graph'}_ascend.onnx"), proto.SerializeToString())

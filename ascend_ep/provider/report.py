"""Where the nodes of a session run, and why those that aren't on AscendEP are not."""

from __future__ import annotations

import html
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.provider.model_operators import read_operators
from ascend_ep.provider.plugin_library import EP_NAME
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.bundle_records import Instruction
from ascend_ep.runtime.session import InferenceSession

#: What a node that isn't claimed runs on, as reports call it.
CPU = "CPU"


@dataclass(frozen=True)
class Placement:
    """One node: `target` is AscendEP or CPU; `reason` says why it is CPU; `graph` is its graph's name."""

    node: str
    op_type: str
    target: str
    reason: str = ""
    graph: str = ""


@dataclass
class Report:
    """All nodes that AscendEP was asked about, and how many groups it claimed.

    `error`: why partitioning failed; then every node is on CPU. A compiled model (EPContext) has no report:
    its placement was decided, and printed, by ascend-atc.
    """

    placements: list[Placement] = field(default_factory=list)
    groups: int = 0
    error: str = ""

    @property
    def on_cpu(self) -> list[Placement]:
        """The nodes left to the next provider."""
        return [p for p in self.placements if p.target == CPU]

    def summary(self) -> str:
        """One line: how many nodes run where, and the reasons of those that fell back."""
        if self.error:
            return f"{EP_NAME}: takes no node. {self.error}"
        total, left = len(self.placements), self.on_cpu
        if not left:
            return f"{EP_NAME}: all {total} nodes in {self.groups} group{'s' if self.groups != 1 else ''}"
        reasons = Counter(f"{p.op_type}: {p.reason}" for p in left)
        shown = "; ".join(f"{text} ({n}x)" if n > 1 else text for text, n in reasons.most_common(4))
        more = f"; and {len(reasons) - 4} more reasons" if len(reasons) > 4 else ""
        return f"{EP_NAME}: {len(left)} of {total} nodes run on the next provider. {shown}{more}"

    def __str__(self) -> str:
        rows = [f"{p.target:9} {p.op_type:24} {p.node:32} {p.reason}".rstrip() for p in self.placements]
        return "\n".join([*rows, self.summary()])

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        cells = "".join(
            f"<tr><td>{'</td><td>'.join(map(html.escape, (p.target, p.op_type, p.node, p.reason)))}</td></tr>"
            for p in self.placements
        )
        head = "<tr><th>runs on</th><th>operator</th><th>node</th><th>why not AscendEP</th></tr>"
        return f"<p>{html.escape(self.summary())}</p><table>{head}{cells}</table>"


_reports: weakref.WeakKeyDictionary[Any, Report] = weakref.WeakKeyDictionary()


def of_session(session: Any) -> Report:
    """The report being filled for a session."""
    return _reports.setdefault(session, Report())


def report(session: Any) -> Report:
    """Where the nodes of a session run: onnxruntime's session, or one on a bundle, whose native nodes are
    those that are left after fusion.

    Raises LookupError when AscendEP wasn't asked about its nodes.
    """
    if isinstance(session, InferenceSession):
        return of_bundle(session.bundle)
    inner = getattr(session, "_session", session)
    found = _reports.get(session) or _reports.get(inner)
    if found is None:
        raise LookupError(f"this session has no report: {EP_NAME} wasn't asked about its nodes")
    return found


def of_bundle(bundle: Bundle) -> Report:
    """The report of a bundle: each instruction of native partitions, and operator of host partitions."""
    made = Report()
    for part in bundle.partitions:
        if part.model is not None:
            names = sorted(op_type for _, op_type in read_operators(bytes(part.model)).operators)
            made.placements += [Placement(part.name, name, CPU, part.reason, part.name) for name in names]
            continue
        made.groups += 1
        made.placements += [
            Placement(insn.node or "-", _operator(insn), EP_NAME, graph=part.name)
            for insn in bundle.instructions(part)
        ]
    return made


def _operator(insn: Instruction) -> str:
    return "+".join(t.removeprefix("ai.onnx::") for t in insn.op_type.split("+")) or insn.kernel

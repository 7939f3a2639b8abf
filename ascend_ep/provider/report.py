"""Where the nodes of a session run, and why those that aren't on AscendEP are not."""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.provider.plugin_library import EP_NAME

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


_reports: weakref.WeakKeyDictionary[Any, Report] = weakref.WeakKeyDictionary()


def of_session(session: Any) -> Report:
    """The report being filled for a session."""
    return _reports.setdefault(session, Report())


def report(session: Any) -> Report:
    """The placement report of an onnxruntime or ascend_ep session.

    Raises LookupError when AscendEP wasn't asked about its nodes.
    """
    inner = getattr(session, "_session", session)
    found = _reports.get(session) or _reports.get(inner)
    if found is None:
        raise LookupError(f"this session has no report: {EP_NAME} wasn't asked about its nodes")
    return found

"""From which line of a PyTorch program a node comes: what torch.onnx.export(dynamo=True) writes beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import onnx

from ascend_ep import regular_file
from ascend_ep.graph.load import parse

STACK, SCOPES = "pkg.torch.onnx.stack_trace", "pkg.torch.onnx.name_scopes"
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<text>[^\n]*)')
#: Frames within these are not the user's.
LIBRARIES = re.compile(r"[/\\](site|dist)-packages[/\\]")


@dataclass(frozen=True)
class Source:
    """`line`: "model.py:17 forward: h = self.up(x)", "" where it isn't known; `layer`: its module, as
    named_modules() has it."""

    line: str
    layer: str


def read_model(model: Path) -> onnx.ModelProto:
    """The model without its external data. Raises AscendError E10410, E41010 and E10041."""
    regular_file.need(model)
    return parse(model.read_bytes(), str(model))


def sources_of(model: onnx.ModelProto) -> dict[str, Source]:
    """By name of the node; nodes without any such metadata are left out."""
    found = {}
    for node in model.graph.node:
        told = {entry.key: entry.value for entry in node.metadata_props}
        source = Source(line_of(told.get(STACK, "")), layer_of(told.get(SCOPES, "")))
        if source.line or source.layer:
            found[node.name] = source
    return found


def nodes_of(call: str, known: Container[str]) -> list[str]:
    """Those of the known nodes that a call joins, by its name: "up+act", each of which may have a "+" itself,
    or, of what a pass of the conversion made, "up:float"."""
    words, found = call.split("+"), []
    while words:
        taken = next((n for n in range(len(words), 0, -1) if "+".join(words[:n]) in known), 0)
        name = "+".join(words[:taken]) if taken else words[0].rpartition(":")[0]
        if name in known:
            found.append(name)
        words = words[taken or 1 :]
    return list(dict.fromkeys(found))


def source_of(call: str, sources: Mapping[str, Source]) -> Source | None:
    """Of a call by its name: lines and layers of all nodes that it joins; None where none is known."""
    found = [sources[node] for node in nodes_of(call, sources)]
    if not found:
        return None
    texts = zip(*map(astuple, found), strict=True)
    return Source(*(" + ".join(t for t in dict.fromkeys(column) if t) for column in texts))


def line_of(stack: str) -> str:
    """The innermost frame that is no library's; the innermost of all, if all are."""
    frames = [match.groupdict() for match in FRAME.finditer(stack)]
    own = [frame for frame in frames if not LIBRARIES.search(frame["file"])]
    if not frames:
        return ""
    frame = (own or frames)[-1]
    place = f"{Path(frame['file']).name}:{frame['line']} {frame['function']}"
    return f"{place}: {frame['text'].strip()}"


def layer_of(scopes: str) -> str:
    """The last of the scopes but the operation's own: "['', '0', '0.up', 'linear']" -> "0.up"."""
    try:
        names = ast.literal_eval(scopes)
    except (ValueError, SyntaxError):
        return ""
    modules = [str(name) for name in names[:-1] if name] if isinstance(names, list) else []
    return modules[-1] if modules else ""

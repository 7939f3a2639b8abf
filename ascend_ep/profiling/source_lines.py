"""From which line of a PyTorch program a node comes: what torch.onnx.export(dynamo=True) writes beside it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import onnx

from ascend_ep import regular_file
from ascend_ep.errors import AscendError

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


def sources_of(model: Path) -> dict[str, Source]:
    """By name of the node; nodes without any such metadata are left out.

    Raises AscendError E10410 and E10041.
    """
    regular_file.need(model)
    try:
        graph = onnx.load(model, load_external_data=False).graph
    except Exception as error:  # whatever protobuf raises for bytes that are no model
        raise AscendError("E10041", model, f"it is no ONNX protobuf ({error})") from error
    found = {}
    for node in graph.node:
        told = {entry.key: entry.value for entry in node.metadata_props}
        source = Source(line_of(told.get(STACK, "")), layer_of(told.get(SCOPES, "")))
        if source.line or source.layer:
            found[node.name] = source
    return found


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

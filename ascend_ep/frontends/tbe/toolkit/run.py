"""The process that runs a TBE file: reads jobs from standard input, writes what was recorded to a descriptor.

A job names shapes, element types and attributes; each runs the operator once. The file itself is run once.
Started by `sandbox`, with limits; the file's own output goes where the process's does.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ascend_ep.frontends.tbe.toolkit import nodes, tensors
from ascend_ep.frontends.tbe.toolkit.building import cases_of
from ascend_ep.frontends.tbe.toolkit.confinement import confine
from ascend_ep.frontends.tbe.toolkit.entry import Entry, call, describe_parameters, find_entry
from ascend_ep.frontends.tbe.toolkit.failure import WARNINGS, DslError, Inexpressible
from ascend_ep.frontends.tbe.toolkit.modules import Importing
from ascend_ep.frontends.tbe.toolkit.recorded_formula import bound_inputs, formula_text
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor, materialized
from ascend_ep.opdef.formula_nodes import FUNCTIONS

MAX_WARNINGS = 50
#: Seconds for one run but the first, and for all of them together: less than the process may compute.
PROBE, ALL_PROBES = 2.0, 10.0


def main(arguments: Sequence[str]) -> None:
    """`file`, and the number of the descriptor that takes the answer."""
    path, answer = Path(arguments[0]), int(arguments[1])
    request = json.load(sys.stdin)
    if request.get("confined"):
        confine(answer)
    result = run_file(path, request["text"], request["jobs"])
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        json.dump(result, stream)


def run_file(path: Path, text: str, jobs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The entry and a recording of each job, or the error that the file ended with."""
    file = str(path)
    WARNINGS.file = file
    sys.path.insert(0, str(path.resolve().parent))
    with Importing(path):
        try:
            module = ModuleType(path.stem)
            module.__dict__.update(__file__=file, __builtins__=builtins, __package__=_package(path))
            sys.modules.setdefault(path.stem, module)
            namespace = module.__dict__
            exec(compile(text, file, "exec", dont_inherit=True), namespace)  # the user's file, which is code
            entry = find_entry(namespace, path.stem, bool(SESSION.builds))
            if entry is None:
                made = _recorded(None, [], {})
                return {"entry": {"name": made["kernel_name"] or path.stem}, "recordings": [made]}
            first = jobs[0]
            describe_parameters(entry, len(first["shapes"]), first["attributes"])
        except BaseException as error:
            return {"error": _failure(error, file, text)}
        recordings: list[dict[str, Any]] = []
        end = time.monotonic() + ALL_PROBES
        for job in jobs:
            _start()
            try:
                with _limited(min(PROBE, end - time.monotonic()) if recordings else 0):
                    returned = call(entry, job["shapes"], job["dtypes"], job["attributes"], job["layouts"])
                    recordings.append(_recorded(entry, returned, job))
            except BaseException as error:
                recordings.append({"error": _failure(error, file, text)})
                if len(recordings) == 1:
                    break  # the others are to be compared with the first
        return {"entry": _entry(entry), "recordings": recordings}


class _Late(BaseException):
    """A probe runs longer than it may."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Ends what runs within by _Late; 0: there is no limit but the process's. A file may loop over whatever a
    probe gives as an attribute."""
    if seconds < 0:
        raise _Late

    def late(*_signal: object) -> None:
        raise _Late

    previous = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _package(path: Path) -> str:
    """impl or impl.dynamic for a file in such a folder, else impl: relative imports mean its neighbours."""
    folders = path.resolve().parent.parts
    if "impl" not in folders:
        return "impl"
    return ".".join(folders[len(folders) - 1 - folders[::-1].index("impl") :])


def _start() -> None:
    SESSION.__init__()  # type: ignore[misc]
    nodes.COMPARISONS.found.clear()
    WARNINGS.found.clear()


def _entry(entry: Entry) -> dict[str, Any]:
    doc = " ".join((entry.function.__doc__ or "").split())[:500]
    attributes = [
        {"name": p.name, "type": p.type, "default": _plain(p.default), "required": p.required}
        for p in entry.parameters
        if p.role in ("attribute", "constant")
    ]
    return {
        "name": entry.function.__name__,
        "op_type": entry.op_type,
        "doc": doc,
        "inputs": entry.named("input") or entry.named("shape"),
        "outputs": entry.named("output"),
        "attributes": attributes,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, bool | int | float | str) else None


# ---- what one run made -----------------------------------------------------------------------------


def _recorded(entry: Entry | None, returned: list[Tensor], job: Mapping[str, Any]) -> dict[str, Any]:
    kernel, listed = _tensor_list(entry, returned)
    placeholders = _of_inputs(entry, [t for t in listed if t in SESSION.placeholders])
    outputs = [materialized(t) for t in listed if t not in SESSION.placeholders]
    copied = (
        [t for t in returned if t.node.op == "placeholder"]
        if entry is not None and not SESSION.builds
        else []
    )
    outputs += copied
    if not outputs:
        raise Inexpressible("it computes nothing: the tensor_list of the build has no output")
    if any(t.packed is not None for t in outputs):
        raise Inexpressible("an output holds the packed bits of vcmp(mode='bit'): use mode='bool'")
    shapes = job.get("shapes") or [t.actual for t in placeholders]
    names = (
        (entry.named("input") or entry.named("shape"))
        if entry is not None
        else [_name(t) for t in placeholders]
    )
    if len(placeholders) != len(shapes):
        raise Inexpressible(f"{len(shapes)} shapes are given, but the build has {len(placeholders)} inputs")
    inputs = bound_inputs(names[: len(shapes)], shapes, placeholders)
    attributes = [p.name for p in entry.parameters if p.role == "attribute"] if entry is not None else []
    results = list(zip(_output_names(entry, outputs, [*names, *attributes]), outputs, strict=True))
    return {
        "formula": formula_text(results, inputs, attributes, symbolic=True),
        "concrete": formula_text(results, inputs, attributes, symbolic=False),
        "inputs": [[b.name, list(b.placed), p.dtype] for b, p in zip(inputs, placeholders, strict=True)],
        "outputs": [[name, list(tensors.plain(t.shape)), t.dtype] for name, t in results],
        "kernel_name": kernel,
        "warnings": list(WARNINGS.found)[:MAX_WARNINGS],
        "compared": {name: sorted(values)[:20] for name, values in nodes.COMPARISONS.found.items()},
    }


def _tensor_list(entry: Entry | None, returned: list[Tensor]) -> tuple[str, list[Tensor]]:
    """The kernel's name, and its tensors, inputs before outputs."""
    if SESSION.builds:
        if len(SESSION.builds) > 1:
            WARNINGS.add(f"{len(SESSION.builds)} kernels are built; the first is the operator")
        name, listed = SESSION.builds[0]
        cases = cases_of(listed)
        for tensor in cases[0]:
            if not isinstance(tensor, Tensor):
                raise Inexpressible(
                    f"the build's tensor_list holds a {type(tensor).__name__}, not tensors only"
                )
        return name, cases[0]
    if entry is None or not entry.takes_tensors:
        raise Inexpressible("the operator's function ends without a build: call tbe.build(schedule, config)")
    if not returned:
        raise Inexpressible(f"{entry.function.__name__} returns no tensor")
    return entry.function.__name__, [
        *SESSION.placeholders,
        *(t for t in returned if t.node.op != "placeholder"),
    ]


def _of_inputs(entry: Entry | None, placeholders: list[Tensor]) -> list[Tensor]:
    """Without those that stand for inputs whose values are given."""
    roles = [p.role for p in entry.parameters for _ in p.tensors] if entry is not None else []
    roles = [r for r in roles if r in ("input", "shape", "constant")]
    if len(roles) != len(placeholders):
        return placeholders
    return [t for t, role in zip(placeholders, roles, strict=True) if role != "constant"]


def _name(tensor: Tensor) -> str:
    return tensor.name if tensor.name.isidentifier() and tensor.name.isascii() else f"x{tensor.node.data}"


def _output_names(entry: Entry | None, outputs: Sequence[Tensor], taken: Sequence[str]) -> list[str]:
    """The function's names for its outputs, or y, or y0, y1, ..."""
    named = entry.named("output") if entry is not None else []
    if len(named) != len(outputs) or set(named) & set(taken):
        named = ["y"] if len(outputs) == 1 else [f"y{i}" for i in range(len(outputs))]
    return [n + "_" if n in taken or n in FUNCTIONS else n for n in named]


# ---- what went wrong -------------------------------------------------------------------------------


def _failure(error: BaseException, file: str, text: str) -> dict[str, Any]:
    """The error, and the line and columns of the file that it comes from."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return _place(
            f"it isn't Python: {error.msg}", error.lineno or 0, error.offset or 1, 0, text, "syntax"
        )
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    kind = "inexpressible" if isinstance(error, Inexpressible) else "failed"
    message = (
        str(error) if isinstance(error, Inexpressible | DslError) else f"{type(error).__name__}: {error}"
    )
    if not frames:
        return _place(message, 0, 1, 0, text, kind)
    frame = frames[-1]
    width = (frame.end_colno or 0) - (frame.colno or 0) if frame.end_lineno == frame.lineno else 0
    return _place(message, frame.lineno or 0, (frame.colno or 0) + 1, width, text, kind)


def _place(message: str, line: int, column: int, width: int, text: str, kind: str) -> dict[str, Any]:
    lines = text.splitlines()
    source = lines[line - 1] if 0 < line <= len(lines) else ""
    before = len(source.encode()[: column - 1].decode("utf-8", "replace")) if kind != "syntax" else column - 1
    return {
        "kind": kind,
        "message": message[:1000],
        "line": line,
        "source": source[:300],
        "column": min(before, 300),
        "width": max(1, min(width, 120)),
    }


if __name__ == "__main__":
    main(sys.argv[1:])

"""The three ways a case is run, and whether a run was native.

`onnxruntime`: its CPU provider; what passes there is what the others must pass. `own`: ascend_ep's runtime.
`plugin`: AscendEP in stock onnxruntime.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from onnx_suite.cases import Case, Loaded

RUNNERS = ("onnxruntime", "own", "plugin")
OURS = ("own", "plugin")

#: Of the own runtime: writes what is known from shapes.
_SHAPE_KERNEL = "ints"


def run_case(case: Case, loaded: Loaded, runner: str) -> str:
    """Runs a case and compares; "" when it was native (always for `onnxruntime`), else why it wasn't.

    Raises what preparing, running and comparing raise.
    """
    if runner == "onnxruntime":
        run = _onnxruntime(loaded)
        for inputs, expected in loaded.data:
            case.compare(expected, run(inputs))
        return ""
    from ascend_ep import backend

    os.environ[backend.VARIABLE] = "onnxruntime" if runner == "plugin" else "own"
    with tempfile.TemporaryDirectory() as folder:
        more: dict[str, Any] = {}
        if runner == "own":
            more = {"enable_profiling": True, "profile_file_prefix": f"{folder}/trace"}
        prepared = backend.prepare(loaded.model, "CPU", num_threads=1, **more)
        for inputs, expected in loaded.data:
            case.compare(expected, list(prepared.run(inputs)))
        return _own_reason(prepared) if runner == "own" else _plugin_reason(prepared)


def _onnxruntime(loaded: Loaded) -> Any:
    import onnxruntime

    from ascend_ep.runtime.host_session import HostSession

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        loaded.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    host = HostSession(session)
    names = [argument.name for argument in session.get_inputs()]
    return lambda inputs: host.run(None, dict(zip(names, inputs, strict=True)))


def _own_reason(prepared: Any) -> str:
    """From the kernel trace of the run: every partition native, and a kernel ran that isn't shape folding."""
    events = json.loads(Path(prepared.session.end_profiling()).read_text())
    hosts = [f"{row.op_type}: {row.reason}" for row in prepared.placement if row.target != "AscendEP"]
    if hosts:
        return "; ".join(dict.fromkeys(hosts))
    ran = [e["args"] for e in events if e["cat"] == "Node"]
    # a copy of what conversion has computed stands for no operator: it is called by its kernel
    counts = any(a["kernel"] != _SHAPE_KERNEL and a["op_name"] != a["kernel"] for a in ran)
    return "" if counts else "folded: no kernel ran"


def _plugin_reason(prepared: Any) -> str:
    """From the provider's report of where onnxruntime's nodes run."""
    from ascend_ep.provider.report import report

    try:
        found = report(prepared.session)
    except LookupError:
        return "folded: onnxruntime left no node"
    if found.error:
        return found.error
    left = [f"{p.op_type}: {p.reason}" for p in found.on_cpu]
    return (
        "; ".join(dict.fromkeys(left))
        if left
        else ("" if found.groups else "folded: onnxruntime left no node")
    )

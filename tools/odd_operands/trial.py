"""One case in a process of its own: our answers to all odd inputs, then onnxruntime's, and what differs."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from onnx_suite.cases import Case
from onnx_suite.closeness import same

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError

from .oddities import Feed, feeds, with_free_dims

OPTIONS = ConvertOptions(codegen="off", precision="origin", self_check=False, sample_seed=None)
#: CPU seconds of one process; seconds of the clock; bytes of an input's odd result that either may make.
SECONDS, PATIENCE = 60, 600
MEMORY = 6 << 30


@dataclass(frozen=True)
class Finding:
    """`end`: "crash", "no code", "silent" (onnxruntime refuses), "other numbers", "refused" (it doesn't)."""

    case: str
    operator: str
    odd: str
    end: str
    detail: str = ""


def inputs_of(case: Case) -> tuple[Any, Feed] | None:
    """The model and its inputs, None for what has one alone, or takes other things than tensors."""
    loaded = case.load()
    given = loaded.data[0][0]
    if len(given) < 2 or any(not isinstance(v, np.ndarray | np.generic) for v in given):
        return None
    names = (i.name for i in loaded.model.graph.input)
    return with_free_dims(loaded.model), {n: np.asarray(v) for n, v in zip(names, given, strict=False)}


def trial(case: Case) -> tuple[int, list[Finding]]:
    """How many odd inputs were tried, and what was found."""
    found: list[Finding] = []
    tried, skip = 0, 0
    while True:
        lines, status = _forked(case, skip)
        tried += sum(line["step"] == "ours" for line in lines if "end" not in line)
        found += [
            Finding(case.name, case.operator, x["odd"], x["end"], x["detail"]) for x in lines if "end" in x
        ]
        if status == 0:
            return tried, found
        last = lines[-1] if lines else {"step": "convert", "odd": "", "at": 0}
        if last.get("step") != "rival":  # onnxruntime's own crashes are not ours
            return tried, [
                *found,
                Finding(case.name, case.operator, last["odd"], "crash", f"status {status}"),
            ]
        skip = last["at"] + 1


def _forked(case: Case, skip: int) -> tuple[list[dict[str, Any]], int]:
    read, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        gc.freeze()  # what a session of the parent waits for has no threads here: it is never collected
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(PATIENCE)
        try:
            with os.fdopen(out, "w", buffering=1) as pipe:
                _compare(case, skip, lambda **line: print(json.dumps(line), file=pipe, flush=True))
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    os.close(out)
    with os.fdopen(read) as pipe:
        lines = [json.loads(line) for line in pipe]
    return lines, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _compare(case: Case, skip: int, say: Any) -> None:
    made = inputs_of(case)
    if made is None:
        return
    model, feed = made
    given = list(feeds(feed))
    try:
        ours = ascend_ep.InferenceSession(convert(model, OPTIONS).to_bytes())
        rival = onnxruntime.InferenceSession(model.SerializeToString(), _quiet(), ["CPUExecutionProvider"])
    except Exception:  # what either refuses to load has no answers to compare
        return
    if ours.get_providers() != ["AscendEP"]:  # onnxruntime's own answers
        return
    answers = []
    for at, (odd, changed) in enumerate(given):
        say(step="ours" if at >= skip else "again", odd=odd, at=at)
        answers.append(_answer(ours, changed) if at >= skip else None)
    for at, (odd, changed) in enumerate(given):
        if at < skip:
            continue
        say(step="rival", odd=odd, at=at)
        wanted, got = _answer(rival, changed), answers[at]
        if at == 0 and isinstance(wanted, Exception):  # it can't be fed these types at all
            return
        end, detail = _judged(wanted, got)
        if end:
            say(odd=odd, end=end, detail=detail, step="rival", at=at)


def _quiet() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return options


def _answer(session: Any, feed: Feed) -> Any:
    """The outputs, or the error."""
    try:
        return session.run(None, feed)
    except Exception as error:
        return error


def _judged(wanted: Any, got: Any) -> tuple[str, str]:
    """The end of a finding, "" for none, and its detail."""
    if isinstance(got, Exception):
        said = f"{type(got).__name__}: {got}"[:160]
        if not isinstance(got, AscendError):
            return "no code", said
        return ("", "") if isinstance(wanted, Exception) else ("refused", said)
    if isinstance(wanted, Exception):
        if not any(np.size(v) for v in got):  # of nothing, nothing
            return "", ""
        return "silent", str(wanted).replace("\n", " ")[-160:]
    if len(wanted) == len(got) and all(map(same, wanted, got)):
        return "", ""
    return "other numbers", "; ".join(map(_apart, wanted, got))[:160]


def _apart(wanted: Any, got: Any) -> str:
    a, b = np.asarray(wanted), np.asarray(got)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)}, ours {b.dtype}{list(b.shape)}"
    differ = ~((a == b) | ((a != a) & (b != b)))
    first = tuple(np.argwhere(differ)[0]) if differ.any() else ()
    return f"{int(differ.sum())} of {a.size}, first {a[first]}, ours {b[first]}" if differ.any() else "equal"

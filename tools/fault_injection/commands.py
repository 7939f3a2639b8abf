"""Commands as scenarios: each runs in this process, and ends well, or with a code on the standard error."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from ascend_ep.cli import atc, ep, om, op, prof, serve, serve_load
from ascend_ep.errors import AscendError

Main = Callable[[list[str]], int]


class Refused(AscendError):
    """What a command printed before it ended with a status that isn't 0."""


def run(main: Main, words: str, folder: Path) -> None:
    """Raises Refused where the command said a code, and AssertionError where it ended without, or with a
    traceback."""
    said = io.StringIO()
    os.chdir(folder)
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            status = main(words.split())
        except SystemExit as end:  # msopgen's own codes
            status = int(end.code or 0)
    trace = "Traceback (most recent call last)"
    assert trace not in said.getvalue(), said.getvalue().split(trace)[1][-1500:]
    if status:
        assert re.search(r"\b[EW]\d{5}\b", said.getvalue()), (
            f"status {status} without a code: {said.getvalue()}"
        )
        raise Refused("E40002", said.getvalue()[-200:])


_CHIP = "--soc_version=Ascend910B3"
_CONVERT = f"--framework=5 {_CHIP} --self_check=0 --model=model.onnx --output=m"
_BUILD = "build --prompt WarmSwish(x)=x*sigmoid(x) --search 0.01 --ascend_c 0 --input_shape [64] --output"
_RUN = f"{sys.executable} -m ascend_ep.cli.om run kept.om"
#: Each works in the scenario's folder. What they start isn't armed.
_WORDS: dict[str, tuple[Main, str]] = {
    "ascend-atc": (atc.main, f"{_CONVERT} --json=table.json"),
    "ascend-atc to a page": (atc.main, f"{_CONVERT} --html=m.html --dump=steps"),
    "ascend-atc beside weights": (atc.main, f"{_CONVERT} --external_weight=1"),
    "ascend-atc --singleop": (atc.main, f"--singleop=single.json --output=ops {_CHIP}"),
    "ascend-atc --mode=1": (atc.main, "--mode=1 --om=kept.om --json=described.json"),
    "ascend-atc --mode=3": (
        atc.main, f"--mode=3 --framework=5 --model=model.onnx --check_report=check.json {_CHIP}"
    ),
    "ascend-atc --mode=6": (atc.main, "--mode=6 --om=kept.om"),
    "ascend-om inspect": (om.main, "inspect --json kept.om"),
    "ascend-om verify": (om.main, "verify kept.om"),
    "ascend-om run": (om.main, "run kept.om --output outputs.npz"),
    "ascend-om bench": (om.main, "bench kept.om --rounds 1 --seconds 0.001"),
    "ascend-om diff": (om.main, "diff model.onnx kept.om"),
    "ascend-om quantize": (om.main, "quantize multiply.onnx --data samples --output small.onnx"),
    "ascend-om reduce": (om.main, "reduce multiply.onnx --check false --output reduced.onnx --timeout 60"),
    "ascend-om trust": (om.main, "trust kept.om"),
    "ascend-op list": (op.main, "list --json"),
    "ascend-op explain": (op.main, "explain Softmax --json"),
    "ascend-op gen": (op.main, "gen -i operator.json -f onnx -c ai_core-Ascend910B3 -lan cpp -out project"),
    "ascend-op build": (op.main, f"{_BUILD} built"),
    "ascend-op build of a kernel": (
        op.main, "build add_one.cpp --input_shape [64] --formula x+1 --output built"
    ),
    "ascend-op run": (
        op.main, "run add_one.cpp --input_shape [64] --formula x+1 --output results"
    ),
    "ascend-op verify": (op.main, "verify proven/warm_swish.json"),
    "ascend-op verify --rerun": (op.main, "verify --rerun proven/warm_swish.json"),
    "ascend-prof run": (prof.main, f"run --quiet --output recorded -- {_RUN}"),
    "ascend-prof analyze": (prof.main, "analyze profile --json"),
    "ascend-prof export": (prof.main, "export profile"),
    "ascend-prof export --type pytorch": (prof.main, "export profile --type pytorch"),
    "ascend-prof report": (prof.main, "report profile --output times.html"),
    "ascend-prof gate --record": (prof.main, "gate kept.om --record baseline.json"),
    "ascend-prof gate": (
        prof.main,
        "gate kept.om --baseline kept.om --seconds 0.01 --max-slowdown 99% "
        "--markdown gate.md --junit gate.xml",
    ),
    "ascend-prof advise --apply": (prof.main, "advise doubles.onnx --apply float32 --output edited.onnx"),
    "ascend-ep doctor": (ep.main, "doctor --json"),
    "ascend-ep config": (ep.main, "config --cflags --libs"),
    "ascend-ep toolkit": (ep.main, "toolkit toolkit"),
    "ascend-ep npu-smi": (ep.main, "npu-smi info"),
    "ascend-ep cannlog": (ep.main, "cannlog --dir log"),
    "ascend-ep benchmark": (ep.main, "benchmark -om_path=kept.om -batch_size=1 -round=1"),
    "ascend-ep completion": (ep.main, "completion bash"),
    "ascend-ep msame": (
        ep.main, "msame --model served/m/1/model.om --output results --outfmt TXT "
        "--dymShape x:2,8 --outputSize 64"
    ),
    "ascend-serve --check": (serve.main, "--check --model-repository served"),
}  # fmt: skip

COMMANDS: dict[str, Callable[[Path], None]] = {
    name: partial(run, main, words) for name, (main, words) in _WORDS.items()
}


def load(folder: Path) -> None:
    """Load for the server that the folder's file `port` names."""
    words = f"-m m -u localhost:{(folder / 'port').read_text()} --shape x:2,8 -p 10 -r 1 -f load.csv"
    run(serve_load.main, words, folder)


class Became(SystemExit):
    """In the place of the program that a process would become."""


def run_program(folder: Path) -> None:
    def become(*_: object) -> None:
        raise Became(0)

    with mock.patch("os.execve", become):
        run(ep.main, "run -m json.tool single.json", folder)


COMMANDS |= {"ascend-serve-load": load, "ascend-ep run": run_program}


def prepare(scenario: str, folder: Path) -> None:
    """What only that scenario needs."""
    if scenario.startswith("ascend-op verify"):
        run(op.main, f"{_BUILD} proven", folder)
    if scenario == "ascend-serve-load":
        command = [sys.executable, "-m", "ascend_ep.cli.serve", f"--model-repository={folder / 'served'}"]
        server = subprocess.Popen([*command, "--http-port=0"], stdout=subprocess.PIPE, text=True)
        atexit.register(server.kill)
        assert server.stdout is not None
        while not (port := re.search(r"HTTP on [^;]*:(\d+)", server.stdout.readline())):
            assert server.poll() is None
        (folder / "port").write_text(port[1])

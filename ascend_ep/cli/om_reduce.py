"""`ascend-om reduce M.onnx --check COMMAND`: the smallest part of a model on which a command still fails."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ascend_ep.cli.atc_files import check_target, existing, write_renamed
from ascend_ep.cli.command import positive
from ascend_ep.errors import AscendError

PLACE = "{}"


def add_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="M.onnx")
    command.add_argument(
        "--check",
        required=True,
        metavar="COMMAND",
        help="it fails by its exit status; {} in it is the model to try, else the model comes last",
    )
    command.add_argument("--match", default="", metavar="TEXT", help="count only failures that print this")
    command.add_argument("--output", default="reduced.onnx", metavar="FILE.onnx")
    command.add_argument(
        "--timeout", type=positive, default=300, metavar="S", help="of a check; it fails after"
    )
    command.add_argument("--custom_op_info", action="append", default=[], metavar="FILE")
    command.add_argument("--custom_op", action="append", default=[], metavar="TYPE:LIBRARY")


def reduce(given: argparse.Namespace) -> tuple[dict[str, Any], str, bool]:
    """Writes the part. Raises AscendError; then nothing is written."""
    import onnx

    from ascend_ep.graph.reduction import Parts, smallest
    from ascend_ep.opdef.registry import Registry

    check_target(given.output, "--output")
    parts = Parts(str(existing(given.model)), Registry.from_options(given.custom_op, given.custom_op_info))
    with tempfile.TemporaryDirectory(prefix="ascend-om-") as folder:
        check = _Check(given, Path(folder) / "candidate.onnx")

        def fails(model: onnx.ModelProto) -> bool:
            return check.fails(model.SerializeToString(), len(model.graph.node))

        made = smallest(parts, fails)
    write_renamed(Path(given.output), made.SerializeToString(), "--output")
    kept = [f"{node.op_type} ({node.name or node.output[0]})" for node in made.graph.node]
    found = {"output": given.output, "nodes": kept, "of": parts.count, "checks": check.runs}
    text = f"{given.output}: {len(kept)} of {parts.count} nodes fail as all do, after {check.runs} checks\n"
    return found, text + "\n".join(f"  {node}" for node in kept), True


class _Check:
    """Runs the command on candidates. A failure is the whole model's: its exit status, the text to match."""

    def __init__(self, given: argparse.Namespace, candidate: Path) -> None:
        words = shlex.split(given.check)
        if not words:
            raise AscendError("E10004", "check")
        self._given, self._candidate = given, candidate
        placed = [word.replace(PLACE, str(candidate)) for word in words]
        self._words = placed if placed != words else [*words, str(candidate)]
        self._status: int | str | None = None
        self.runs = 0

    def fails(self, model: bytes, nodes: int) -> bool:
        self._candidate.write_bytes(model)
        self.runs += 1
        status, said = self._run()
        failed = status != 0 and self._given.match in said
        if failed and self._status is None:
            self._status = status
        failed = failed and (status == self._status or bool(self._given.match))
        print(f"[{self.runs}] {nodes} nodes: {'fails' if failed else 'passes'}", file=sys.stderr)
        return failed

    def _run(self) -> tuple[int | str, str]:
        try:
            done = subprocess.run(
                self._words,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._given.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timeout", ""
        except OSError as error:
            fix = "Check its name and path."
            raise AscendError(
                "E40001", f"[{self._words[0]}] can't be started: {error.strerror}", fix=fix
            ) from error
        return done.returncode, done.stdout + done.stderr

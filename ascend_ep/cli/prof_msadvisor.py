"""msadvisor's command line: `ascend-prof msadvisor -c all -d DIR`, `--model=M.onnx` or `--model=M.om`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep import regular_file
from ascend_ep.cli.command import Parser
from ascend_ep.errors import AscendError

if TYPE_CHECKING:
    from ascend_ep.profiling.profile import Profile


def main(words: Sequence[str]) -> int:
    """Runs one command line. Raises AscendError."""
    parser = Parser(prog="msadvisor", description="Rules on a profile, or on a model's runs.")
    parser.add_argument(
        "-c", "--config", default="all", help="all; others of msadvisor's sets aren't told apart"
    )
    parser.add_argument("-d", "--data", metavar="DIR", help="a profile")
    parser.add_argument("--model", metavar="FILE", help="an ONNX model or a bundle, which is run")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of a free axis")
    parser.add_argument("--output", default=".", metavar="DIR", help="of prof_rule_0.json")
    given = parser.parse_args(words)
    if given.config != "all":
        print(f"[WARNING] -c {given.config}: there is one set of rules here, all of it", file=sys.stderr)
    if not given.data and not given.model:
        raise AscendError("E10004", "model", fix="Give -d DIR or --model=FILE.")
    if given.data:
        for flag, value in (("--model", given.model), ("--dim", " ".join(given.dim))):
            if value:
                raise AscendError("E10001", value, flag, "-d gives a profile already: nothing is run.")
        from ascend_ep.profiling.profile import open_profile

        return _advise(open_profile(given.data), given.output)
    with tempfile.TemporaryDirectory(prefix="ascend_ep_msadvisor_") as folder:
        return _advise(_run(Path(given.model), Path(folder), given.dim), given.output)


def _advise(profile: Profile, output: str) -> int:
    from ascend_ep.profiling.machine import measure
    from ascend_ep.profiling.rules import findings, findings_text, write_findings

    found = findings(profile, measure())
    print(findings_text(found))
    print(write_findings(found, Path(output)))
    return 0


def _run(path: Path, folder: Path, dims: Sequence[str]) -> Profile:
    from ascend_ep.cli.prof_advise import convert_model
    from ascend_ep.cli.prof_report import profile_bundle

    regular_file.need(path)
    if path.suffix not in (".om", ".onnx"):
        fix = "Give the ONNX model or the bundle that the file was written of."
        raise AscendError("E10001", path, "--model", "It is neither a model nor a bundle.", fix=fix)
    if path.suffix == ".onnx":
        convert_model(path, folder / "model.om", [])
        path = folder / "model.om"
    return profile_bundle(path, 0, dims, 0.5)

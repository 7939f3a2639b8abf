"""ascend-om: looking into bundles, checking, running, timing, comparing and trusting them.

Exit status: 0, or 1 when something is wrong, with the coded error on stderr.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import atomic_file, interrupt
from ascend_ep.cli import om_quantize, om_reduce
from ascend_ep.cli.atc_files import check_target, existing
from ascend_ep.cli.command import Parser, command, seed
from ascend_ep.cli.names_of_others import beyond_ascii, text_of
from ascend_ep.cli.om_inputs import dims_of_shapes, input_arrays
from ascend_ep.cli.om_inspect import bundle_text, describe
from ascend_ep.errors import AscendError
from ascend_ep.extras import to_install

if TYPE_CHECKING:
    from ascend_ep.runtime.session import InferenceSession

Found = dict[str, Any]


@command("ascend-om")
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status."""
    given = command_parser().parse_args(arguments)
    try:
        found, text, ok = given.run(given)
    except AscendError as error:
        interrupt.check()
        if error.code == "E40003" and (line := to_install("convert")):
            error.fix = f"{line}. {error.fix}"
        if given.json:
            print(json.dumps({"ok": False, "code": error.code, "where": error.where, "error": error.text}))
        print(error, file=sys.stderr)
        return 1
    if given.json:
        print(beyond_ascii(json.dumps({"ok": ok, **found}, indent=2, ensure_ascii=False)))
    else:
        print(text_of(found, text))
    return 0 if ok else 1


def command_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(prog="ascend-om", description="Bundles (.om) of ascend-atc.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(run=run)
        return command

    command = add("inspect", inspect, "show partitions, instructions, weights, symbols and metadata")
    command.add_argument("bundle", metavar="M.om")
    command = add("verify", verify, "check structure, digests of all weights, and the stored samples")
    command.add_argument("bundle", metavar="M.om")
    command = add("run", run, "run on .npy or .npz files, or on random inputs")
    command.add_argument("bundle", metavar="M.om")
    _input_flags(command)
    command.add_argument("--output", metavar="FILE.npz", help="where to write the outputs")
    command.add_argument("--trust", metavar="sha256:HEX", help="native code to trust for this run")
    command = add("bench", bench, "time loading and running, and say where the time goes")
    command.add_argument("bundle", metavar="M.om")
    _input_flags(command)
    command.add_argument("--shape", default="", metavar="NAME:D,D;...", help="shapes of inputs, as atc's")
    command.add_argument("--threads", type=int, default=0, help="threads of a run (default: all)")
    command.add_argument("--rounds", type=int, default=5, help="slots, the median of which counts")
    command.add_argument("--seconds", type=float, default=0.3, help="length of a slot")
    command.add_argument("--profile", action="store_true", help="also the time of every kernel")
    command.add_argument(
        "--concurrency", type=int, metavar="N", help="also percentiles and throughput with N callers"
    )
    command.add_argument("--warm-up", type=float, default=0.1, metavar="S", help="seconds before these")
    command.add_argument("--export-times", metavar="FILE", help="every run of these callers, .json or .csv")
    command.add_argument("--against", metavar="OTHER.om", help="another bundle, timed by turns with this one")
    command.add_argument("--trust", metavar="sha256:HEX", help="native code to trust for this run")
    command = add("diff", diff, "compare with the float64 reference of the source model, output by output")
    command.add_argument("model", metavar="M.onnx")
    command.add_argument("bundle", metavar="M.om")
    _input_flags(command)
    command.add_argument("--bound", type=float, help="largest relative difference (default: by type)")
    command.add_argument("--per-node", action="store_true", help="show at which nodes error enters")
    command.add_argument(
        "--propose_keep_dtype",
        nargs="?",
        const="",
        metavar="FILE",
        help="write the shortest --keep_dtype list that restores --accuracy, and convert with it",
    )
    command.add_argument(
        "--accuracy",
        default="1e-3",
        metavar="LIMIT",
        help="of every floating output: 1e-3 (relative), rms=1e-3 or cosine=0.9999 (default 1e-3)",
    )
    command.add_argument("--custom_op_info", action="append", default=[], metavar="FILE")
    command.add_argument("--custom_op", action="append", default=[], metavar="TYPE:LIBRARY")
    command = add(
        "reduce", om_reduce.reduce, "find the smallest part of a model on which a command still fails"
    )
    om_reduce.add_flags(command)
    command = add("quantize", om_quantize.quantize, "make a model of integers, by samples of its inputs")
    om_quantize.add_flags(command)
    command = add("trust", trust, "add the bundle's native code to your trust store")
    command.add_argument("bundle", metavar="M.om")
    return parser


def _input_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an .npy file for one input, or an .npz file with several; the others are random",
    )
    command.add_argument(
        "--dim", action="append", default=[], metavar="NAME=SIZE", help="size of a free dimension (default 2)"
    )
    command.add_argument("--seed", type=seed, default=0, help="of the random inputs")


def inspect(given: argparse.Namespace) -> tuple[Found, str, bool]:
    found = describe(given.bundle)
    return found, bundle_text(found), True


def verify(given: argparse.Namespace) -> tuple[Found, str, bool]:
    """Everything the loader checks, the digest of every weight, and the sample run."""
    from ascend_ep.runtime.binding import lib, open_model
    from ascend_ep.runtime.bundle import Bundle
    from ascend_ep.runtime.sample_run import check_samples
    from ascend_ep.runtime.session import InferenceSession

    bundle = Bundle(open_model(given.bundle, flags=lib.ASC_OPEN_VERIFY_WEIGHTS))
    samples = check_samples(InferenceSession(given.bundle)) if bundle.samples() else {}
    ok = not any(s.exceeds for s in samples.values())
    files = [f.name for f in bundle.weight_files]
    shown = {name: str(d) for name, d in samples.items()}
    found = {"weights": len(bundle.weights), "weight_files": files, "samples": shown}
    inside = f" in {len(files)} file{'s' * (len(files) > 1)}" if files else ""
    lines = [f"structure and {len(bundle.weights)} weights{inside}: good"]
    lines += [f"sample output {name}: {d}" for name, d in shown.items()] or ["no samples stored"]
    return found, "\n".join([*lines, "PASS" if ok else "FAIL"]), ok


def run(given: argparse.Namespace) -> tuple[Found, str, bool]:
    import numpy as np

    check_target(given.output or "", "--output")
    if given.output and Path(given.output).suffix in (".npy", ".txt", ".bin"):
        raise AscendError("E10001", given.output, "--output", "What is written is an .npz of all outputs.")
    session = _session(given.bundle, given.trust)
    feeds = input_arrays(session, given.input, given.dim, given.seed)
    names = [arg.name for arg in session.get_outputs()]
    results = dict(zip(names, session.run(names, feeds), strict=True))
    if given.output:
        try:
            np.savez(made := io.BytesIO(), **results)  # a device or a pipe can't be written here and there
            with atomic_file.replacing(Path(given.output)) as file:
                file.write(made.getbuffer())
        except OSError as error:
            raise AscendError("E40002", f"can't write [{given.output}]: {error.strerror}") from error
    found = {"outputs": {name: _summary(value) for name, value in results.items()}}
    text = "\n".join(f"{name}: {_summary_text(s)}" for name, s in found["outputs"].items())
    return found, text, True


def bench(given: argparse.Namespace) -> tuple[Found, str, bool]:
    from ascend_ep.cli import om_bench, om_load

    if given.rounds < 1 or not 0 < given.seconds <= 600 or given.threads < 0:
        allowed = "--rounds is 1 or more, --seconds between 0 and 600, --threads 0 or more."
        raise AscendError("E40001", "the time to spend makes no sense", fix=allowed)
    session = _session(given.bundle, given.trust)
    dims = [*given.dim, *dims_of_shapes(session, given.shape)]
    feeds = input_arrays(session, given.input, dims, given.seed)
    trial = om_bench.Trial(given.bundle, feeds, given.threads, given.trust, given.rounds, given.seconds)
    callers = 1 if given.concurrency is None else given.concurrency
    om_load.check(callers, given.warm_up)
    check_target(given.export_times or "", "--export-times")
    other = None
    if given.against:
        theirs = _session(given.against, given.trust)
        its_feeds = input_arrays(
            theirs, given.input, [*given.dim, *dims_of_shapes(theirs, given.shape)], given.seed
        )
        other = replace(trial, path=given.against, feeds=its_feeds)
    found = om_bench.bench(trial, given.profile)
    if given.concurrency is not None or given.export_times:
        found["load_of_callers"], runs = om_load.under_load(trial, callers, given.warm_up)
        if given.export_times:
            om_load.export_times(given.export_times, runs)
    if other is not None:
        found["beside"] = om_load.beside(trial, other)
    return found, "\n".join([om_bench.bench_text(found), *om_load.text(found)]), True


def diff(given: argparse.Namespace) -> tuple[Found, str, bool]:
    from google.protobuf.message import DecodeError

    from ascend_ep.cann.aipp.inserting import source_inputs
    from ascend_ep.graph.reference import reference_run
    from ascend_ep.opdef.registry import Registry
    from ascend_ep.runtime.comparison import compare
    from ascend_ep.runtime.session import is_bundle
    from ascend_ep.runtime.session_apart import SessionApart

    existing(given.model)
    check_target(given.propose_keep_dtype or "", "--propose_keep_dtype")
    if is_bundle(given.model):
        fix = "ascend-om diff MODEL.onnx BUNDLE.om"
        raise AscendError("E40001", "the model comes first, then the bundle", where=given.model, fix=fix)
    session = _session(given.bundle, None)
    feeds = input_arrays(session, given.input, given.dim, given.seed)
    registry = Registry.from_options(given.custom_op, given.custom_op_info)
    said = session.get_modelmeta().custom_metadata_map
    source_feeds = source_inputs(said, feeds)
    try:
        expected = reference_run(given.model, source_feeds, registry)
    except AscendError:
        raise
    except DecodeError as error:
        raise AscendError("E10041", given.model, f"it is no ONNX protobuf ({error})") from error
    except Exception as error:  # whatever onnx.reference raises for a model that it can't evaluate
        reason = f"{type(error).__name__}: {error}"
        raise AscendError("E41021", reason, where=given.model, fix="Check the model.") from error
    if given.per_node or given.propose_keep_dtype is not None:
        from ascend_ep.cli.om_per_node import per_node

        return per_node(given, session, feeds, source_feeds, expected, registry)
    names = [arg.name for arg in session.get_outputs()]
    missing = [n for n in names if n not in expected]
    if missing:
        raise AscendError("E40001", f"[{given.model}] has no output [{missing[0]}]")
    results = dict(zip(names, SessionApart(given.bundle).run(names, feeds), strict=True))
    differences = {n: compare(results[n], expected[n], given.bound) for n in names}
    ok = not any(d.exceeds for d in differences.values())
    found = {
        "outputs": {
            n: {"relative": d.relative, "bound": d.bound, "note": d.note, "ok": not d.exceeds}
            for n, d in differences.items()
        }
    }
    lines = [f"{n}: {d}{'  EXCEEDS' if d.exceeds else ''}" for n, d in differences.items()]
    return found, "\n".join([*lines, "PASS" if ok else "FAIL"]), ok


def trust(given: argparse.Namespace) -> tuple[Found, str, bool]:
    from ascend_ep.runtime import trust as trust_store
    from ascend_ep.runtime.binding import lib, open_model
    from ascend_ep.runtime.bundle import Bundle

    natives = Bundle(open_model(given.bundle, flags=lib.ASC_OPEN_NO_NATIVE)).natives
    origin = Path(given.bundle).resolve()
    store = trust_store.trust([(n.sha256, f"{n.name} in {origin}") for n in natives])
    found = {"store": str(store), "trusted": [{"name": n.name, "sha256": n.sha256} for n in natives]}
    lines = [f"trusted {n.name}  sha256:{n.sha256}" for n in natives] or ["the bundle carries no native code"]
    return found, "\n".join(lines), True


def _session(path: str, trusted: str | None) -> InferenceSession:
    from ascend_ep.runtime.session import InferenceSession, is_bundle

    existing(path)
    if not is_bundle(path):
        raise AscendError("E40003", "this is no bundle", where=path)
    options = [{"trust": trusted}] if trusted else None
    return InferenceSession(path, providers=["AscendEP"] if options else None, provider_options=options)


def _summary(value: Any) -> Found:
    import numpy as np

    found: Found = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if value.size and value.dtype.kind in "fiub":
        wide = value.astype(np.float64)
        found |= {"min": float(wide.min()), "max": float(wide.max()), "mean": float(wide.mean())}
    return found


def _summary_text(found: Found) -> str:
    text = f"{found['dtype']}{found['shape']}"
    if "min" in found:
        text += f"  min {found['min']:.6g}  max {found['max']:.6g}  mean {found['mean']:.6g}"
    return text


if __name__ == "__main__":
    sys.exit(main())

"""Tries models that packages of others ship, beside onnxruntime's CPU provider.

Each is converted, and compared at three sizes in the own runtime and inside onnxruntime. Prints a table and
what is wrong; the status is 1 when anything is, and 0 when nothing could be downloaded.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from page_section import PAGES, write_section

from model_zoo.catalogue import MODELS
from model_zoo.end_to_end import PROGRAMS, run_program
from model_zoo.made import path_of
from model_zoo.model import Model
from model_zoo.outcome import Outcome
from model_zoo.packages import NotToBeHad, default_cache
from model_zoo.runner import STEPS, run_trial
from model_zoo.table import by_package, summary, table

START, END = "<!-- models: written by tools/real_models --write-docs -->", "<!-- end of models -->"


def main() -> int:
    given = _arguments()
    chosen = [m for m in MODELS if any(fnmatch.fnmatch(m.name, pattern) for pattern in given.only)]
    if given.list:
        for model in chosen:
            print(f"{model.name:50} {model.kind:16} {model.package}")
        return 0
    if given.end_to_end:
        return _programs(given.only, given.cache)
    steps = [s for s in STEPS if given.default or not s.endswith("_default")]
    known = _read(chosen, given.read or ())
    if not given.read:
        outcomes = _try_all(chosen, given.cache, given.jobs, steps, given.speed, given.json)
    elif given.speed:
        tried = [o.model for o in known if not o.missing]
        outcomes = _try_all(tried, given.cache, 1, ["reference"], given.speed, given.json, known)
    else:
        outcomes = known
    if given.write_docs:
        write_section(PAGES / "models.md", START, END, f"{summary(outcomes)}\n\n{by_package(outcomes)}")
    print(table([o for o in outcomes if not o.missing]))
    print(summary(outcomes))
    if all(o.missing for o in outcomes):
        print("skipped: no package could be downloaded")
        return 0
    return 1 if any(o.failures() for o in outcomes) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/real_models", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", default=["*"], help="models by name, e.g. 'silero-vad/*' '*det_infer'"
    )
    parser.add_argument("--list", action="store_true", help="show the models and end")
    parser.add_argument(
        "--end-to-end",
        action="store_true",
        help="whole programs of five packages instead, with AscendEP put in",
    )
    parser.add_argument("--jobs", type=int, default=1, help="models at a time (default 1)")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder of what is downloaded")
    parser.add_argument(
        "--default",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="atc's float16 too (not judged)",
    )
    parser.add_argument(
        "--speed",
        type=int,
        nargs="?",
        const=5,
        default=0,
        metavar="ROUNDS",
        help="measure the speed too, in at most so many rounds (5), fewer where none is slower: one model at"
        " a time, on a quiet machine",
    )
    parser.add_argument("--json", type=Path, help="write what was found to this file, after each model")
    parser.add_argument(
        "--read",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="try nothing, show what --json wrote; of a model in several files the last one counts; with"
        " --speed, measure the speed of those",
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="put the table by package into docs/models.md"
    )
    return parser.parse_args()


def _programs(patterns: Sequence[str], cache: Path) -> int:
    """Those whose name or package matches."""
    status = tried = 0
    for program in PROGRAMS:
        if not any(fnmatch.fnmatch(name, p) for name in (program.name, program.package) for p in patterns):
            continue
        try:
            wrong = run_program(program, cache)
        except NotToBeHad as error:
            print(f"{program.name}: not to be had: {error}")
            continue
        tried += 1
        print(f"{program.name} ({program.package}): {'; '.join(wrong[:5]) or 'the same with AscendEP'}")
        status |= bool(wrong)
    if not tried:
        print("skipped: no package could be downloaded")
    return status


def _read(models: Sequence[Model], files: Sequence[Path]) -> list[Outcome]:
    found = {entry["model"]: entry for file in files for entry in json.loads(file.read_text())}
    return [Outcome.from_json(m, found[m.name]) for m in models if m.name in found]


def _try_all(
    models: Sequence[Model],
    cache: Path,
    jobs: int,
    steps: Sequence[str],
    rounds: int,
    record: Path | None,
    known: Sequence[Outcome] = (),
) -> list[Outcome]:
    """In the order of the models. Downloads are made one after the other, before the trials. `known`: what
    steps that aren't taken found before."""
    paths: dict[str, Path | str] = {}
    found = {outcome.model.name: outcome for outcome in known}
    recording = Lock()
    for model in models:
        try:
            paths[model.name] = path_of(model, cache)
        except NotToBeHad as error:
            paths[model.name] = str(error)
            print(f"not to be had: {error}", file=sys.stderr)

    with (
        tempfile.TemporaryDirectory(prefix="real_models-") as work,
        ThreadPoolExecutor(1 if rounds else jobs) as pool,
    ):

        def attempt(model: Model) -> Outcome:
            path = paths[model.name]
            if isinstance(path, str):
                outcome = Outcome(model, missing=path)
            else:
                outcome = run_trial(model, path, Path(work), steps, rounds, found.get(model.name))
                print(f"{model.name}: {'; '.join(outcome.failures()) or 'good'}", file=sys.stderr)
            with recording:
                found[model.name] = outcome
                if record:
                    record.write_text(json.dumps([o.as_json() for o in found.values()], indent=1))
            return outcome

        return list(pool.map(attempt, models))


if __name__ == "__main__":
    sys.exit(main())

"""Builds and runs programs on AscendCL, in C++ and Python, that others wrote, and compares with onnxruntime.

FOLDER holds them as their repository does. Each is copied, built by its own build file in a toolkit folder,
given bundles by the atc lines of its page (with small models of the same signature in place of those it
downloads) and pictures of the named sizes, and run. Every execution of a model is compared with
onnxruntime's CPU provider, those of single operators with numpy.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import subprocess
import sys
from pathlib import Path

from acl_programs import libraries, programs, table
from acl_programs.trial import attempt
from ascend_ep.cli import toolkit

#: What scripts of samples call to fetch what they lack.
INSTALLERS = ("pip3", "pip", "wget", "sudo", "apt-get")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/run_acl_programs", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, default=Path("acl_programs_work"), help="where copies are built")
    parser.add_argument("--only", default="*", help="programs by path, e.g. '*resnet*'")
    parser.add_argument(
        "--prefix", type=Path, help="a folder with usr/include and usr/lib of libraries that they need"
    )
    parser.add_argument("--python-path", default="", help="folders of modules that they need, e.g. acllite's")
    parser.add_argument("--keep", action="store_true", help="runs what was built in the work folder before")
    parser.add_argument(
        "--resume", action="store_true", help="goes on where a run in the work folder stopped"
    )
    parser.add_argument("--list", action="store_true", help="shows the programs, and runs none")
    parser.add_argument("--markdown", action="store_true", help="the table as a page has it")
    given = parser.parse_args()
    folder = given.folder.resolve()
    found = [(programs.name_in(folder, p), p) for p in programs.find(folder)]
    found = [(n, p) for n, p in found if fnmatch.fnmatch(n, given.only)]
    if given.list:
        for name, program in found:
            print(f"{program.language}  {name}")
        return 0
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    (work / "bin").mkdir(exist_ok=True)
    for name in INSTALLERS:
        (work / "bin" / name).write_text("#!/bin/sh\necho nothing is installed here >&2\nexit 1\n")
        (work / "bin" / name).chmod(0o755)
    laid_out = given.keep and (work / "cann" / "set_env.sh").exists()
    cann = work / "cann" if laid_out else toolkit.make(work / "cann")
    made = environment(cann, given.prefix, given.python_path)
    made["PATH"] = os.pathsep.join([str(work / "bin"), made["PATH"]])
    linked = libraries.build_all(folder, work, made)
    for library in linked:
        print(f"library {library.source.relative_to(folder)}: {library.reason or 'built'}", flush=True)
    kept = work / "outcomes.jsonl"
    if not given.resume:
        kept.unlink(missing_ok=True)
    before = table.read(kept)
    outcomes = []
    for name, program in found:
        outcome = before.get(name)
        if outcome is None:
            library = libraries.nearest(linked, program.root)
            outcome = attempt(program, name, folder, with_library(made, library), work, given.keep)
            table.keep(kept, outcome)
            print(table.line(outcome), flush=True)
        outcomes.append(outcome)
    print(table.markdown(outcomes) if given.markdown else table.counts(outcomes))
    return 0


def with_library(made: dict[str, str], library: libraries.Library | None) -> dict[str, str]:
    if library is None:
        return made
    path = os.pathsep.join([made["LD_LIBRARY_PATH"], str(library.prefix / "lib")])
    return {**made, "THIRDPART_PATH": str(library.prefix), "LD_LIBRARY_PATH": path}


def environment(folder: Path, prefix: Path | None, modules: str) -> dict[str, str]:
    """What set_env.sh of the toolkit exports, and the folders of other libraries."""
    script = f'. "{folder}/set_env.sh" && env -0'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, check=True, env=dict(os.environ)).stdout
    made = dict(entry.split("=", 1) for entry in shown.decode().split("\0") if "=" in entry)
    if prefix:
        usr = prefix.resolve() / "usr"
        libraries = sorted({str(f.parent) for f in usr.glob("lib/**/lib*.so.*")}, key=len)
        headers = [
            *(str(usr / "include" / name) for name in ("opencv4", "eigen3", "freetype2", "jsoncpp", "")),
            *map(str, usr.glob("include/*-linux-gnu")),
        ]
        for name, folders in (
            ("LIBRARY_PATH", libraries),
            ("LD_LIBRARY_PATH", libraries),
            ("CPLUS_INCLUDE_PATH", headers),
        ):
            made[name] = os.pathsep.join([*filter(None, [made.get(name, "")]), *folders])
        made["CMAKE_PREFIX_PATH"] = os.pathsep.join(
            filter(None, [made.get("CMAKE_PREFIX_PATH", ""), str(usr)])
        )
        made.setdefault("THIRDPART_PATH", str(usr))  # where acllite is, unless the repository has its own
        for name in ("include", "lib"):
            (folder / "thirdpart").mkdir(exist_ok=True)
            if not (folder / "thirdpart" / name).exists():
                (folder / "thirdpart" / name).symlink_to(usr / name)
        if (usr / "bin" / "protoc").exists():  # that of its libraries, whatever else is on the path
            made["PROTOC"] = str(usr / "bin" / "protoc")
    if modules:
        made["PYTHONPATH"] = os.pathsep.join([made["PYTHONPATH"], modules])
    made["PYTHONDONTWRITEBYTECODE"] = "1"  # the folder is another's
    made.pop("CC", None)
    made.pop("CXX", None)
    return made


if __name__ == "__main__":
    sys.exit(main())

"""Ascend C kernels of others: how many compile as `ascend-op build` does it, and compute what they should.

Takes folders, fetches nothing. Prints a table by folder, and the reasons of what fails, the commonest first.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ascend_ep.cann.soc import Soc, find_soc
from ascend_ep.opbuild.kernels.program_project import ProgramProject

from .aclnn_projects import AclnnProject, aclnn_projects_of, run_aclnn_project
from .comparing import Compared, compare
from .compiling import Compiled, Compiler
from .found import LICENCES, KernelFile, Left, kernel_files
from .programs import programs_of, run_project
from .table import compile_table, reason_table, value_table

S, T = TypeVar("S"), TypeVar("T")


def main() -> int:
    """Runs the command line; 1 if a case gives other values."""
    parser = argparse.ArgumentParser(prog="tools/kernel_table", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("folders", nargs="+", type=Path)
    add(
        "--run",
        action="store_true",
        help="run programs that check themselves and kernels that have a reference, instead of compiling all",
    )
    add("--rows", type=int, default=2, help="cases of a kernel (default: 2)")
    add("--elements", type=int, default=1 << 17, help="of a case's inputs, at most (default: 131072)")
    add("--only", default="", help="files whose path has this text")
    add("--licence", action="append", default=list(LICENCES), help="a text of headers whose files are left")
    add("--soc_version", default="Ascend910B1")
    add("--processes", type=int, default=2)
    add("--verbose", action="store_true", help="a line for each file")
    given = parser.parse_args()
    soc = find_soc(given.soc_version)
    began = time.monotonic()
    found = {
        f.name: [k for k in kernel_files(f, given.licence) if given.only in str(k.path)]
        for f in given.folders
    }
    files = {name: [k for k in rows if isinstance(k, KernelFile)] for name, rows in found.items()}
    if given.run:
        values: dict[str, list[Compared]] = {}
        for folder in given.folders:
            programs = [p for p in programs_of(folder, given.licence) if given.only in str(p.sources[0])]
            known = {path for p in programs for path in p.sources}
            rows = [f for f in files[folder.name] if f.path not in known]
            compared = _side_by_side(lambda f: _compared(f, given, soc), rows, given.processes)
            ran = _side_by_side(lambda p: _ran(p, given, soc), programs, given.processes)
            called = [p for p in aclnn_projects_of(folder, given.licence) if given.only in str(p.kernel)]
            ran += _side_by_side(lambda p: _called(p, given), called, given.processes)
            values[folder.name] = [*ran, *(c for group in compared for c in group)]
        print(value_table(values))
        return int(any(c.outcome == "differs" for rows in values.values() for c in rows))
    with tempfile.TemporaryDirectory(prefix="kernel-table-") as folder:
        compiler = Compiler(soc, Path(folder))
        _ = compiler.header
        results: dict[str, list[Compiled | Left]] = {}
        for name, rows in files.items():
            made = _side_by_side(lambda f: _compiled(f, compiler, given.verbose), rows, given.processes)
            results[name] = [*made, *(k for k in found[name] if isinstance(k, Left))]
            print(
                f"{name}: {sum(not c.reason for c in made)} of {len(made)}",
                file=sys.stderr,
                flush=True,
            )
    print(compile_table(results), end="\n\n")
    print(reason_table(results))
    print(f"{sum(map(len, files.values()))} files in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


def _compiled(file: KernelFile, compiler: Compiler, verbose: bool) -> Compiled:
    made = compiler(file)
    if verbose:
        print(f"{made.reason or 'compiles'}\t{made.detail}\t{made.place}\t{file.path}", flush=True)
    return made


def _compared(file: KernelFile, given: argparse.Namespace, soc: Soc) -> list[Compared]:
    made = compare(file, soc, given.rows, given.elements)
    for c in made:
        if given.verbose or c.outcome != "right":
            print(f"{c.outcome:8} {c.file.path.name} {c.case}: {c.detail}", flush=True)
    return made


def _ran(project: ProgramProject, given: argparse.Namespace, soc: Soc) -> Compared:
    made = run_project(project, soc)
    if given.verbose or made.outcome != "right":
        print(f"{made.outcome:8} {project.folder} {made.case}: {made.detail}", flush=True)
    return made


def _called(project: AclnnProject, given: argparse.Namespace) -> Compared:
    made = run_aclnn_project(project, given.soc_version)
    if given.verbose or made.outcome != "right":
        print(f"{made.outcome:8} {project.operator} {made.case}: {made.detail}", flush=True)
    return made


def _side_by_side(one: Callable[[S], T], files: Iterable[S], processes: int) -> list[T]:
    with ThreadPoolExecutor(processes) as pool:
        return list(pool.map(one, files))


if __name__ == "__main__":
    sys.exit(main())

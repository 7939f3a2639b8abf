"""What `ascend-ep doctor` looks at. Each check is good, a note (something optional is missing), or wrong."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_ep.errors import AscendError

State = Literal["good", "note", "wrong"]

#: Distribution -> lowest version, and what needs it; "" when the package can't do without.
REQUIRED = {"numpy": (1, 26), "cffi": (1, 17)}
CONVERTER = {"onnx": (1, 21), "onnx-ir": (1, 0), "onnxscript": (0, 7), "jsonschema": (4, 20)}
ONNXRUNTIME = (1, 25)


@dataclass(frozen=True)
class Check:
    name: str
    state: State
    found: str
    fix: str = ""


def examine() -> list[Check]:
    """All checks, in the order they are shown."""
    checks = [_python()]
    checks += [_package(name, least, "wrong", "") for name, least in REQUIRED.items()]
    checks += [_package(name, least, "wrong", "the converter") for name, least in CONVERTER.items()]
    checks.append(_package("onnxruntime", ONNXRUNTIME, "note", "host partitions and the execution provider"))
    for check in (_library, _isa, _threads, _compiler, _trust_store, _custom_ops):
        checks.append(_guarded(check))
    return checks


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except AscendError as error:
        return Check(check.__name__.strip("_"), "wrong", error.text, error.fix)


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Check("python", "good" if good else "wrong", found, "" if good else "Use Python 3.11 or newer.")


def _package(name: str, least: tuple[int, int], absent: State, need: str) -> Check:
    wanted = f"{least[0]}.{least[1]}"
    purpose = f", for {need}" if need else ""
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, absent, f"not installed{purpose}", f"pip install '{name}>={wanted}'")
    if _release(found) < least:
        return Check(
            name, absent, f"{found} is older than {wanted}{purpose}", f"pip install '{name}>={wanted}'"
        )
    return Check(name, "good", found)


def _release(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split(".")[:2]:
        digits = "".join(c for c in part if c.isdigit())
        numbers.append(int(digits or 0))
    return tuple(numbers)


def _library() -> Check:
    from ascend_ep.runtime.binding import lib, text_of

    kernels = lib.asc_kernel_count(lib.asc_isa_current())
    return Check("libascend_rt", "good", f"{text_of(lib.asc_version())}, {kernels} kernel rows")


def _isa() -> Check:
    from ascend_ep.runtime.binding import isa_name, lib, text_of

    levels = [text_of(lib.asc_isa_name(i)) for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)]
    forced = " (ASCEND_EP_CPU)" if os.environ.get("ASCEND_EP_CPU") else ""
    return Check("isa", "good", f"{isa_name()}{forced}; this CPU has {', '.join(levels)}")


def _threads() -> Check:
    from ascend_ep.runtime.binding import check_environment, lib

    try:
        check_environment()
    except AscendError as error:
        return Check("threads", "wrong", error.text, error.fix)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("threads", "good", f"{lib.asc_threads_default()} of {cpus} CPUs")


def _compiler() -> Check:
    """The C compiler that builds fused operators: $CC, cc, gcc, clang, or zig."""
    named = os.environ.get("CC")
    for command in ([named.split()[0]] if named else []) + ["cc", "gcc", "clang"]:
        path = shutil.which(command)
        if path is None:
            continue
        run = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=20)
        if run.returncode == 0:
            return Check("compiler", "good", run.stdout.partition("\n")[0] or path)
    return Check(
        "compiler",
        "note",
        "none found; formulas run interpreted",
        "Install gcc or clang, or: pip install ziglang",
    )


def _trust_store() -> Check:
    from ascend_ep.runtime import trust

    path, wrong = trust.store_path(), trust.problem()
    if wrong:
        return Check("trust store", "wrong", f"{path}: {wrong}, so nothing in it counts", f"chmod 600 {path}")
    if not path.exists():
        return Check("trust store", "good", f"{path}: empty")
    return Check("trust store", "good", f"{path}: {len(trust.trusted())} digests")


def _custom_ops() -> Check:
    folder = os.environ.get("ASCEND_CUSTOM_OPS")
    if not folder:
        return Check("ASCEND_CUSTOM_OPS", "good", "not set: no custom operators installed")
    if not Path(folder).is_dir():
        return Check("ASCEND_CUSTOM_OPS", "wrong", f"{folder} is no folder", "Correct it, or unset it.")
    from ascend_ep.opdef.registry import Registry

    registry = Registry(folder=folder, builtin=False)
    return Check("ASCEND_CUSTOM_OPS", "good", f"{folder}: {len(registry.definitions())} definitions")

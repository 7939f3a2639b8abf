"""What `ascend-ep doctor` looks at. Each check is good, a note (something optional is missing), or wrong."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.extras import EXTRAS

State = Literal["good", "note", "wrong"]

#: Distribution -> lowest version, and what needs it; "" when the package can't do without.
REQUIRED = {"numpy": (1, 26), "cffi": (1, 17)}
#: Distributions of onnxruntime, which write the same folder.
RIVALS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml", "ort-nightly")


#: What another extra brings as well, and much else does: alone it is no part of an installation.
SHARED = ("protobuf",)


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
    checks += [_extra(name) for name in EXTRAS]
    for check in (
        _library,
        _isa,
        _threads,
        _compiler,
        _provider,
        _cache,
        _trust_store,
        _custom_ops,
        _variables,
        _commands,
    ):
        checks.append(_guarded(check))
    return checks


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except AscendError as error:
        return Check(check.__name__.strip("_").replace("_", " "), "wrong", error.text, error.fix)


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


def _extra(extra: str) -> Check:
    """All or nothing of an extra is fine; a part of it, or a part that is too old, is wrong."""
    packages, purpose = (
        EXTRAS[extra].packages,
        re.sub(r"^(A|The) ", lambda m: m[0].lower(), EXTRAS[extra].who),
    )
    install = f'pip install "ascend-ep[{extra}]"'
    found = [_package(name, least, "note", purpose) for name, least in packages.items()]
    faults = [f"{c.name} {c.found}" for c in found if c.state != "good"]
    if not faults:
        return Check(extra, "good", ", ".join(f"{c.name} {c.found}" for c in found))
    if all(c.found.startswith("not installed") for c in found if c.name not in SHARED):
        return Check(extra, "note", f"not installed, for {purpose}", install)
    return Check(extra, "wrong", "; ".join(faults), install)


def _release(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split(".")[:2]:
        digits = "".join(c for c in part if c.isdecimal())
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
    """The C compiler that builds fused operators, tried on a program: $CC, cc, gcc, clang, or zig."""
    from ascend_ep.codegen.compilers import find_compiler

    try:
        compiler = find_compiler()
    except AscendError as error:
        if error.code != "E43001":
            return Check("compiler", "wrong", error.text, error.fix)
        return Check("compiler", "note", "none found; formulas run interpreted", error.fix)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "trial.c"
        source.write_text("#include <math.h>\nfloat trial(float x) { return expf(x); }\n")
        words = [*compiler.command, "-O2", "-shared", "-fPIC", str(source), "-o", f"{folder}/trial.so", "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[0]
        return Check("compiler", "wrong", f"{compiler.version} can't compile: {said}", "Install its headers.")
    return Check("compiler", "good", compiler.version)


def _provider() -> Check:
    """Whether onnxruntime takes the plugin, if it is there at all."""
    there = [name for name in RIVALS if _installed(name)]
    if not there:
        return Check("provider", "good", "not needed: there is no onnxruntime")
    if len(there) > 1:
        fix = f"pip uninstall {' '.join(there)}, then install one of them"
        return Check("provider", "wrong", f"{' and '.join(there)} overwrite each other's files", fix)
    from ascend_ep.provider import registration
    from ascend_ep.provider.plugin_library import EP_NAME

    try:
        registration.register()
    except (RuntimeError, ImportError) as error:
        return Check("provider", "wrong", str(error), 'pip install "onnxruntime>=1.25"')
    return Check("provider", "good", f"{EP_NAME} is registered with {there[0]}")


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _cache() -> Check:
    from ascend_ep.runtime.cache_folder import open_cache

    folder = open_cache()
    if not os.access(folder, os.W_OK):
        return Check(
            "cache", "wrong", f"{folder} isn't writable", "Set ASCEND_EP_CACHE to a folder of yours."
        )
    free = shutil.disk_usage(folder).free >> 20
    if free < 64:
        return Check("cache", "wrong", f"{folder}: {free} MiB are left on its disk", "Make room.")
    return Check("cache", "good", str(folder))


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
    definitions, unused = registry.definitions(), registry.unused()
    if unused:
        fix = "ascend-op list names each with the reason."
        return Check("ASCEND_CUSTOM_OPS", "wrong", f"{folder}: {len(unused)} files aren't used", fix)
    return Check("ASCEND_CUSTOM_OPS", "good", f"{folder}: {len(definitions)} definitions")


def _variables() -> Check:
    """Variables of ours that nothing reads: misspelt ones."""
    from ascend_ep.cli.environment import VARIABLES

    strangers = [name for name in os.environ if name.startswith("ASCEND_EP_") and name not in VARIABLES]
    strangers = [name for name in strangers if not name.startswith("ASCEND_EP_TEST_")]
    if not strangers:
        return Check("variables", "good", ", ".join(sorted(VARIABLES & os.environ.keys())) or "none set")
    near = did_you_mean(strangers[0], VARIABLES).strip()
    return Check("variables", "wrong", f"nothing reads {', '.join(strangers)}", near or "Unset it.")


def _commands() -> Check:
    """Whether the commands on the path are those of this Python."""
    found, wanted = shutil.which("ascend-atc"), Path(sys.executable).parent
    if found is None:
        return Check(
            "commands", "note", f"ascend-atc isn't on the path; it is in {wanted}", "Add it to PATH."
        )
    if Path(found).parent.resolve() != wanted.resolve() and not _is_ours(Path(found)):
        text = f"{found} belongs to another Python than {sys.executable}"
        return Check("commands", "wrong", text, f"Put {wanted} first on PATH.")
    return Check("commands", "good", str(Path(found).parent))


def _is_ours(script: Path) -> bool:
    """Whether a command, elsewhere, is run by this Python."""
    try:
        with open(script, "rb") as file:
            return os.fsencode(sys.executable) in file.readline()
    except OSError:
        return False

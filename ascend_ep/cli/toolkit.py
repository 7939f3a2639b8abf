"""`ascend-ep toolkit DIR`: a folder laid out as an installation of CANN, so that build files and scripts find
in it our headers, libraries and commands. It holds links, and is never a folder that someone else made."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import sys
from pathlib import Path

from ascend_ep import atomic_file, cann
from ascend_ep.cann.soc import ALIASES, SOCS, configuration, find_soc
from ascend_ep.cli.toolkit_cmake import cmake_files
from ascend_ep.cli.toolkit_torch import torch_files
from ascend_ep.errors import AscendError

PACKAGE = Path(__file__).resolve().parent.parent
#: The file by which a folder is known to be ours.
MARKER = ".ascend_ep_toolkit"
#: The version of CANN whose interface this is; the library says the same.
VERSION = "8.5.0"
#: Names under which build files link AscendCL; all of it is in the first.
LIBRARIES = (
    "ascendcl",
    "acl_dvpp",
    "acl_dvpp_mpi",
    "acl_cblas",
    "acl_op_compiler",
    "acl_retr",
    "acl_tdt_channel",
    "acl_tdt_queue",
    "acl_mdl",
    "acl_rtc",
    "msprofiler",
    # Libraries that torch_npu and programs on aclnn load beside it; their operators aren't in them.
    "opapi",
    "nnopbase",
    "hccl",
    "ascend_protobuf",
    "atb",
    "ascend_hal",
    "ascend_dump_parser",
    # Of projects of operators: what they link of the host's functions is in headers.
    "exe_graph",
    "register",
    "tiling_api",
    "rt2_registry",
    "opp_registry",
    "platform",
    "metadef",
    "graph_base",
    "error_manager",
    "ascendalog",
    "alog",
    "unified_dlog",
    "mmpa",
    "ascend_dump",
    "c_sec",
    "runtime",
    "profapi",
)
#: Those of the graph engine's C++ interface: onnxruntime-cann and programs that compile models link them.
ENGINE_LIBRARIES = ("ascend_ge", "ge_runner", "ge_compiler", "graph", "fmk_parser", "fmk_onnx_parser")
#: Where build files of projects look for op_build.
OP_BUILD = ("tools/opbuild", "toolkit/tools/opbuild", "compiler/tools/opbuild")
#: Where scripts look for the chips' configurations.
CONFIGURATIONS = tuple(f"{part}data/platform_config" for part in ("", "compiler/", "atc/"))
#: Folders of CANN's releases in which headers and libraries were.
PARTS = ("runtime", "acllib", "fwkacllib", "compiler", "atc", "devlib")
#: The toolkit by the paths that build files have under /usr/local/Ascend, if that is the folder.
INSTALLED = (
    "latest",
    "ascend-toolkit",
    "cann",
    f"cann-{VERSION}",
    "nnrt",
    "nnae",
    "driver",
    # Whatever CPU the build file was written on.
    "x86_64-linux",
    "aarch64-linux",
)
#: Command -> module, and what comes first on its command line.
COMMANDS = {
    "atc": ("ascend_ep.cli.atc",),
    "ascend-atc": ("ascend_ep.cli.atc",),
    "msopgen": ("ascend_ep.cli.op",),
    "opc": ("ascend_ep.cli.opc",),
    "asc_opc": ("ascend_ep.cli.opc",),
    "msprof": ("ascend_ep.cli.prof", "msprof"),
    "msadvisor": ("ascend_ep.cli.prof", "msadvisor"),
    "profdash": ("ascend_ep.cli.prof", "profdash"),
    "ais_bench": ("ascend_ep.cli.ep", "run", "-m", "ais_bench"),
    "msame": ("ascend_ep.cli.ep", "msame"),
    "benchmark.x86_64": ("ascend_ep.cli.ep", "benchmark"),
    "benchmark.aarch64": ("ascend_ep.cli.ep", "benchmark"),
    "amct_onnx": ("ascend_ep.cli.amct",),
    "ascend-dbg": ("ascend_ep.cli.op", "debug"),
    "bisheng": ("ascend_ep.cli.bisheng",),
    "aclc": ("ascend_ep.cli.aclc", "c"),
    "aclc++": ("ascend_ep.cli.aclc", "c++"),
    "cannlog": ("ascend_ep.cli.ep", "cannlog"),
    "npu-smi": ("ascend_ep.cli.ep", "npu-smi"),
    "ascend-ep": ("ascend_ep.cli.ep",),
    "ascend-om": ("ascend_ep.cli.om",),
    "ascend-op": ("ascend_ep.cli.op",),
    "ascend-prof": ("ascend_ep.cli.prof",),
}
#: The folder of the modules acl, aclruntime, ais_bench and amct_onnx.
MODULES = Path(cann.__file__).parent / "python"

_ENVIRONMENT = """\
# Sourced by a shell: the folders of a CANN toolkit are these. Made by `ascend-ep toolkit`.
export ASCEND_TOOLKIT_HOME='{folder}'
export ASCEND_HOME_PATH='{folder}'
export ASCEND_HOME_DIR='{folder}'
export ASCEND_OPP_PATH='{folder}/opp'
export DDK_PATH='{folder}'
export NPU_HOST_LIB='{folder}/runtime/lib64/stub'
export INSTALL_DIR='{folder}'
export CANN_PATH='{folder}'
export CPU_ARCH='{machine}'
[ -n "${{THIRDPART_PATH:-}}" ] || export THIRDPART_PATH='{folder}/thirdpart'
export PATH='{folder}/bin':"$PATH"
export LD_LIBRARY_PATH='{folder}/lib64'"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
export LIBRARY_PATH='{folder}/lib64'"${{LIBRARY_PATH:+:$LIBRARY_PATH}}"
export CMAKE_PREFIX_PATH='{folder}/lib64/cmake'"${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"
export PYTHONPATH='{folder}/python/site-packages'"${{PYTHONPATH:+:$PYTHONPATH}}"
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", metavar="DIR", type=Path, help="an empty or new folder, or one made by this"
    )


def run(given: argparse.Namespace) -> int:
    """Prints the line that a shell is to source."""
    folder = make(given.folder)
    print(f"source {shlex.quote(str(folder / 'set_env.sh'))}")
    return 0


def make(folder: Path) -> Path:
    """Lays out the folder, or lays it out again, and returns it as an absolute path.

    Raises AscendError E10001 where the folder is someone else's, or can't be written.
    """
    folder = folder.absolute()
    _take(folder)
    machine = platform.machine()
    engine = PACKAGE / "lib" / "libascend_ge.so"
    if not engine.exists():  # built where there was no C++ compiler
        engine = PACKAGE / "lib" / "libascendcl.so"
    for part in ("", *(f"{p}/" for p in PARTS)):
        for headers in ("acl", "aclnn", "aclnnop", "hccl"):
            _link(folder / f"{part}include" / headers, PACKAGE / "include" / headers)
        _link(folder / f"{part}include" / "ascend_rt.h", PACKAGE / "include" / "ascend_rt.h")
        for entry in (PACKAGE / "include" / "ascendc").iterdir():
            _link(folder / f"{part}include" / entry.name, entry)
        for libraries in (f"{part}lib64", f"{part}lib64/stub"):
            _link(folder / libraries / "libascend_rt.so", PACKAGE / "lib" / "libascend_rt.so")
            for name in LIBRARIES:
                _link(folder / libraries / f"lib{name}.so", PACKAGE / "lib" / "libascendcl.so")
            for name in ENGINE_LIBRARIES:
                _link(folder / libraries / f"lib{name}.so", engine)
    for name in (*INSTALLED, f"{machine}-linux", "lib64/driver", "lib64/common"):
        _link(folder / name, Path("."))
    _script(folder / "tools" / "ascendc" / "asc_launchers", ("ascend_ep.cli.launchers_tool",))
    _script(folder / "tools" / "ascendc" / "asc_compile", ("ascend_ep.cli.compile_tool",))
    for name, content in (*cmake_files(str(folder), VERSION, _chips()), *torch_files()):
        atomic_file.make_folder((folder / name).parent)
        atomic_file.write(folder / name, os.fsencode(content))
    for place in OP_BUILD:
        _script(folder / place / "op_build", ("ascend_ep.cli.op_build_tool",))
    for command, call in COMMANDS.items():
        _script(folder / "bin" / command, call)
    _profiler(folder)
    for place in CONFIGURATIONS:
        atomic_file.make_folder(folder / place)
        for soc in SOCS.values():
            atomic_file.write(folder / place / f"{soc.name}.ini", configuration(soc), synced=False)
    for module in MODULES.iterdir():
        _link(folder / "python" / "site-packages" / module.name, module)
    for name in ("opp/vendors", "thirdpart"):
        atomic_file.make_folder(folder / name)
    version = f"# version: 1.0\nruntime_running_version=[{VERSION}:ascend-ep]\n"
    atomic_file.write(folder / "version.cfg", version)
    for part in ("", "compiler/", "opp/", "runtime/", "toolkit/"):
        text = f"Version={VERSION}\nversion_dir={VERSION}\n"
        atomic_file.write(folder / f"{part}version.info", text)
    about = f"package_name=Ascend-cann-toolkit\nversion={VERSION}\narch={machine}\nos=linux\npath={folder}\n"
    atomic_file.write(folder / "ascend_toolkit_install.info", os.fsencode(about))
    text = _ENVIRONMENT.format(folder=str(folder).replace("'", "'\\''"), machine=machine)
    for name in ("set_env.sh", "bin/setenv.bash"):
        atomic_file.write(folder / name, os.fsencode(text))
    return folder


def _chips() -> dict[str, str]:
    """The chip of every name that build files have for it: Ascend910B1, Ascend910B, ascend910b."""
    named = {name: name for name in SOCS} | {name: find_soc(name).name for name in ALIASES}
    return named | {name.lower(): chip for name, chip in named.items()}


def _take(folder: Path) -> None:
    try:
        atomic_file.make_folder(folder)
        if any(folder.iterdir()) and not (folder / MARKER).is_file():
            reason = "It isn't empty, and `ascend-ep toolkit` didn't make it."
            raise AscendError("E10001", str(folder), "DIR", reason)
        (folder / MARKER).touch()
    except OSError as error:
        raise AscendError("E10001", str(folder), "DIR", f"{error.strerror}.") from None


def _link(place: Path, target: Path) -> None:
    atomic_file.make_folder(place.parent)
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)
    os.symlink(target, place)


def _profiler(folder: Path) -> None:
    """msprof where CANN has it: torch_npu's profiler looks for msprof.py from there."""
    (folder / "bin" / "msprof").unlink()
    _script(folder / "tools" / "profiler" / "bin" / "msprof", COMMANDS["msprof"])
    _link(folder / "bin" / "msprof", Path("../tools/profiler/bin/msprof"))
    script = folder / "tools" / "profiler" / "profiler_tool" / "analysis" / "msprof" / "msprof.py"
    words = [sys.executable, "-m", "ascend_ep.cli.prof_script"]
    atomic_file.make_folder(script.parent)
    atomic_file.write(script, f"import os, sys\n\nos.execv({words[0]!r}, [*{words!r}, *sys.argv[1:]])\n")


def _script(place: Path, call: tuple[str, ...]) -> None:
    atomic_file.make_folder(place.parent)
    words = " ".join(f"'{word}'" for word in ("-m", *call))
    if place.is_symlink():  # to a program elsewhere, which stays
        place.unlink()
    with atomic_file.replacing(place, 0o755) as file:
        file.write(os.fsencode(f"#!/bin/sh\nexec '{sys.executable}' {words} \"$@\"\n"))

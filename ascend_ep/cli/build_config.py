"""`ascend-ep config`: what compilers and build systems need to be told, as pkg-config prints it."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.provider.plugin_library import get_include, get_library_path, get_runtime_library_path

_LIBRARIES = Path(get_runtime_library_path()).parent

#: Flag -> its words of a command line, and what they are for.
_ANSWERS: dict[str, tuple[list[str], str]] = {
    "cflags": ([f"-I{get_include()}"], "flags for the compiler"),
    "libs": ([f"-L{_LIBRARIES}", "-lascend_rt", f"-Wl,-rpath,{_LIBRARIES}"], "flags for the linker"),
    "acl-libs": ([f"-L{_LIBRARIES}", "-lascendcl", f"-Wl,-rpath,{_LIBRARIES}"], "the same with AscendCL"),
    "include-dir": ([get_include()], "the folder of ascend_rt.h"),
    "library-dir": ([str(_LIBRARIES)], "the folder of the libraries"),
    "runtime-library": ([get_runtime_library_path()], "the path of libascend_rt"),
    "provider-library": ([get_library_path()], "the path of the plugin for onnxruntime"),
    "cmake-dir": ([str(_LIBRARIES / "cmake" / "ascend_ep")], "for cmake's -Dascend_ep_DIR"),
    "pkg-config-dir": ([str(_LIBRARIES / "pkgconfig")], "for PKG_CONFIG_PATH"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One switch for each answer; those asked for are printed in one line, in this order."""
    for name, (_, purpose) in _ANSWERS.items():
        parser.add_argument(f"--{name}", action="store_true", help=purpose)


def run(given: argparse.Namespace) -> int:
    """Prints what was asked for. Raises AscendError E40001 when nothing was."""
    asked = [name for name in _ANSWERS if getattr(given, name.replace("-", "_"))]
    if not asked:
        raise AscendError("E40001", "nothing is asked for", fix="ascend-ep config --cflags --libs")
    print(shlex.join(word for name in asked for word in _ANSWERS[name][0]))
    return 0

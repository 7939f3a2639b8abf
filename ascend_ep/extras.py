"""The optional parts of an installation: which module belongs to which extra, and what to say without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from ascend_ep.errors import AscendError


@dataclass(frozen=True)
class Extra:
    """who: what can't do without it. packages: distributions with the least version that works; what
    pyproject.toml asks for of this extra is held against them by a test."""

    who: str
    packages: dict[str, tuple[int, int]]


EXTRAS: dict[str, Extra] = {
    "convert": Extra(
        "The converter",
        {"onnx": (1, 21), "onnx-ir": (1, 0), "jsonschema": (4, 20), "ml_dtypes": (0, 5), "protobuf": (5, 0)},
    ),
    "onnxruntime": Extra("onnxruntime's side", {"onnxruntime": (1, 25)}),
    "serve": Extra(
        "The server",
        {"grpcio": (1, 66), "httptools": (0, 6), "msgspec": (0, 19), "prometheus-client": (0, 21)},
    ),
    "torch": Extra("PyTorch's side", {"torch": (2, 6)}),
    "tensorflow": Extra("A TensorFlow model", {"tf2onnx": (1, 17)}),
    "ray": Extra("Ray's deployment", {"ray": (2, 40)}),
}
#: Distributions whose module has another name.
MODULES = {
    "onnx-ir": "onnx_ir",
    "protobuf": "google",
    "grpcio": "grpc",
    "prometheus-client": "prometheus_client",
}

#: Top-level module -> who needs it, and what to install.
NEEDED: dict[str, tuple[str, str]] = {
    MODULES.get(name, name): (extra.who, f"ascend-ep[{key}]")
    for key, extra in EXTRAS.items()
    for name in extra.packages
} | {"onnxscript": ("This", "onnxscript>=0.7")}

_PACKAGE = Path(__file__).resolve().parent


def lacking(error: BaseException) -> AscendError | None:
    """E40020 with what to install, if `error` says that a module isn't there which this package imports,
    rather than a program that it runs; else None."""
    if not isinstance(error, ModuleNotFoundError) or isinstance(error, AscendError):
        return None
    module = (error.name or "").partition(".")[0]
    if module not in NEEDED or not _imported_here(error.__traceback__):
        return None
    return without(module)


@contextmanager
def named(extra: str = "") -> Iterator[None]:
    """Around imports, or a function that makes some. Raises AscendError E40020, which is a
    ModuleNotFoundError, too, for a module that isn't installed: it names `extra`, which brings all that the
    imports need, or the one that the module belongs to."""
    try:
        yield
    except ModuleNotFoundError as error:
        found = lacking(error)
        if found is not None and extra:
            found = AscendError("E40020", EXTRAS[extra].who, error.name, f"ascend-ep[{extra}]")
        raise found or error from None


def to_install(extra: str) -> str:
    """The line that installs an extra of which a module isn't there; "" where all are."""
    names = (MODULES.get(name, name) for name in EXTRAS[extra].packages)
    return "" if all(map(find_spec, names)) else f'pip install "ascend-ep[{extra}]"'


def without(module: str) -> AscendError:
    """E40020: `module`, a name of NEEDED, isn't installed."""
    return AscendError("E40020", *of_module(module))


def of_module(module: str) -> tuple[str, str, str]:
    """What E40020 says of a name of NEEDED: who needs it, the module, what to install."""
    who, what = NEEDED[module]
    return who, module, what


def _imported_here(trace: TracebackType | None) -> bool:
    last = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        last = last if file.startswith("<frozen importlib") else file
        trace = trace.tb_next
    return Path(last).resolve().is_relative_to(_PACKAGE)

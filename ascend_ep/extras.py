"""The optional parts of an installation: which module belongs to which extra, and what to say without it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ascend_ep.errors import AscendError

#: Top-level module -> who needs it, and what to install.
NEEDED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("onnx", "onnx_ir", "jsonschema", "ml_dtypes", "google"), ("The converter", "ascend-ep[convert]")
    ),
    "onnxruntime": ("onnxruntime's side", "ascend-ep[onnxruntime]"),
    **dict.fromkeys(
        ("grpc", "httptools", "msgspec", "prometheus_client"), ("The server", "ascend-ep[serve]")
    ),
    "torch": ("PyTorch's side", "ascend-ep[torch]"),
    "onnxscript": ("This", "onnxscript>=0.7"),
    "ray": ("Ray's deployment", "ascend-ep[ray]"),
}

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


def without(module: str) -> AscendError:
    """E40020: `module`, a name of NEEDED, isn't installed."""
    who, what = NEEDED[module]
    return AscendError("E40020", who, module, what)


def _imported_here(trace: TracebackType | None) -> bool:
    last = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        last = last if file.startswith("<frozen importlib") else file
        trace = trace.tb_next
    return Path(last).is_relative_to(_PACKAGE)

"""Custom operators on the Ascend workflow: the public API.

`InferenceSession` runs bundles of ascend-atc; it and the option classes have onnxruntime's interface, so that
a program which only makes sessions runs with `import ascend_ep as ort`. `convert` makes bundles.
"""

import _ascend_ep_start

if _ascend_ep_start.is_program("ascend_ep"):
    _ascend_ep_start.begin()

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .deferred_sympy import install as _defer_sympy
from .errors import AscendError
from .provider import get_ep_name, get_ep_names, get_include, get_library_path, get_runtime_library_path
from .provider.onnx_session import model_session as _model_session
from .provider.registration import install as _install_provider
from .runtime.binding import lib as _lib
from .runtime.binding import text_of as _text_of
from .runtime.enumerations import ExecutionMode, GraphOptimizationLevel
from .runtime.enumerations import available_providers as get_available_providers
from .runtime.enumerations import device as get_device
from .runtime.io_binding import IOBinding
from .runtime.options import ModelMetadata, NodeArg, RunOptions, SessionOptions
from .runtime.ort_value import OrtValue
from .runtime.session import InferenceSession
from .runtime.session import open_models_with as _open_models_with

if _TYPE_CHECKING:
    from .accuracy.quantization.quantized import Quantized as _Quantized
    from .converting import Bundle as _Bundle
    from .profiling.recording import Recording as _Recording
    from .provider.report import Report as _Report

__version__ = _text_of(_lib.asc_version())

__all__ = [
    "AscendError",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "__version__",
    "convert",
    "get_available_providers",
    "get_device",
    "get_ep_name",
    "get_ep_names",
    "get_include",
    "get_library_path",
    "get_runtime_library_path",
    "profile",
    "quantize",
    "report",
]
#: What these do or name is the same for bundles and for models.
_OF_ONNXRUNTIME = (
    *("OrtAllocatorType", "OrtDevice", "OrtMemType", "OrtMemoryInfo"),
    *("disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_build_info"),
    *("get_version_string", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed"),
)


def convert(model: _Any, **options: _Any) -> "_Bundle":
    """The bundle of a model, to be saved, run or looked at; see ascend_ep.converting.convert."""
    from .converting import convert

    return convert(model, **options)


def quantize(model: _Any, data: _Any, **options: _Any) -> "_Quantized":
    """A model of integers, by samples of its inputs; see ascend_ep.quantizing.quantize."""
    from .quantizing import quantize

    return quantize(model, data, **options)


def report(session: _Any) -> "_Report":
    """Where each node of a session runs, and why; see ascend_ep.provider.report."""
    from .provider.report import report

    return report(session)


def profile(counters: bool = False) -> "_Recording":
    """Records what runs in a `with` block; see ascend_ep.profiling.recording."""
    from .profiling.recording import Recording

    return Recording(counters)


def __getattr__(name: str) -> _Any:
    """What programs call of onnxruntime's module beside sessions, from onnxruntime itself."""
    if name in _OF_ONNXRUNTIME:
        from .runtime.options import onnxruntime

        return getattr(onnxruntime(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_defer_sympy()
_open_models_with(_model_session)
_install_provider()

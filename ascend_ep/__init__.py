"""Custom operators on the Ascend workflow: the public API.

`InferenceSession` runs bundles of ascend-atc; it and the option classes have onnxruntime's interface.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .errors import AscendError
from .provider import get_ep_name, get_ep_names, get_include, get_library_path, get_runtime_library_path
from .provider.onnx_session import model_session as _model_session
from .provider.registration import install as _install_provider
from .runtime.binding import lib as _lib
from .runtime.binding import text_of as _text_of
from .runtime.io_binding import IOBinding, OrtValue
from .runtime.options import ModelMetadata, NodeArg, RunOptions, SessionOptions
from .runtime.session import InferenceSession
from .runtime.session import open_models_with as _open_models_with

if _TYPE_CHECKING:
    from .profiling.recording import Recording as _Recording

__version__ = _text_of(_lib.asc_version())

__all__ = [
    "AscendError",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "__version__",
    "get_ep_name",
    "get_ep_names",
    "get_include",
    "get_library_path",
    "get_runtime_library_path",
    "profile",
]


def profile(counters: bool = False) -> "_Recording":
    """Records what runs in a `with` block; see ascend_ep.profiling.recording."""
    from .profiling.recording import Recording

    return Recording(counters)


_open_models_with(_model_session)
_install_provider()

"""Custom operators on the Ascend workflow: the public API.

`InferenceSession` runs bundles of ascend-atc; it and the option classes have onnxruntime's interface.
"""

from .errors import AscendError
from .runtime.io_binding import IOBinding, OrtValue
from .runtime.options import ModelMetadata, NodeArg, RunOptions, SessionOptions
from .runtime.session import InferenceSession

__all__ = [
    "AscendError",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
]

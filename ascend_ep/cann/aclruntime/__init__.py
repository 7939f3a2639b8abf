"""The objects of aclruntime, on bundles: sessions, tensors of a device, descriptions, and times of copies."""

from .data_types import dtype
from .data_types import memory_type as type
from .descriptions import tensor_desc
from .memory_summary import MemorySummary
from .session import InferenceSession, infer_options, model, session_options, sumary
from .tensors import BaseTensor, Tensor, batch

globals().update({member.name: member for enum in (dtype, type) for member in enum})

__all__ = [
    "BaseTensor",
    "InferenceSession",
    "MemorySummary",
    "Tensor",
    "batch",
    "dtype",
    "infer_options",
    "model",
    "session_options",
    "sumary",
    "tensor_desc",
    "type",
]

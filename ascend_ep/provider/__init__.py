"""AscendEP inside onnxruntime: registration, operator declarations, compilation, reports."""

from ascend_ep.provider.onnx_session import session
from ascend_ep.provider.options import declare
from ascend_ep.provider.plugin_library import (
    EP_NAME,
    get_ep_name,
    get_ep_names,
    get_include,
    get_library_path,
    get_runtime_library_path,
)
from ascend_ep.provider.registration import register, unregister
from ascend_ep.provider.report import Placement, Report, report

__all__ = [
    "EP_NAME",
    "Placement",
    "Report",
    "declare",
    "get_ep_name",
    "get_ep_names",
    "get_include",
    "get_library_path",
    "get_runtime_library_path",
    "register",
    "report",
    "session",
    "unregister",
]

"""Members of onnxruntime's classes that mean nothing to a bundle: each says why it can't work."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from ascend_ep.errors import AscendError

Class = TypeVar("Class", bound=type)

_VECTORS = ("onnxruntime's own vectors live in its session", "Use run_with_ort_values or IOBinding.")
_SPARSE = ("a bundle takes and gives dense tensors only", "Make it dense with numpy.")
_PLUGIN = ("plugin devices belong to onnxruntime's own sessions", "Create one from the ONNX model.")

#: By class and member the reason and what to do instead.
SESSION: dict[str, tuple[str, str]] = {
    "enable_fallback": ("a bundle has no other provider to run on", "Leave it out."),
    "get_input_epdevices": _PLUGIN,
    "get_provider_graph_assignment_info": (
        "the assignment was settled at conversion",
        "Use ascend-om inspect, which shows every node and where it runs.",
    ),
    "release_captured_graph": ("graphs are captured on GPUs only", "Leave it out."),
    "run_with_ortvaluevector": _VECTORS,
    "set_ep_dynamic_options": ("a bundle has no options that change while it runs", "Use provider_options."),
    "set_tuning_results": ("kernels are chosen at conversion", "Convert the model again."),
}
BINDING: dict[str, tuple[str, str]] = {"get_outputs_as_ortvaluevector": _VECTORS}
VALUE: dict[str, tuple[str, str]] = {"as_sparse_tensor": _SPARSE, "ort_value_from_sparse_tensor": _SPARSE}
RUN: dict[str, tuple[str, str]] = {
    "add_active_adapter": (
        "the weights that an adapter replaces became constants when the bundle was converted",
        "Convert the model with the adapter's weights.",
    )
}


def refuse(members: Mapping[str, tuple[str, str]]) -> Callable[[Class], Class]:
    """A class decorator: these members raise AscendError E40001 with their reason."""

    def add(to: Class) -> Class:
        for name, (reason, fix) in members.items():
            setattr(to, name, _refusing(f"{to.__name__}.{name}", reason, fix))
        return to

    return add


def _refusing(member: str, reason: str, fix: str) -> Callable[..., NoReturn]:
    @functools.wraps(_refusing, updated=())
    def refused(*args: Any, **named: Any) -> NoReturn:
        raise AscendError("E40001", f"{member} can't work on a bundle: {reason}", fix=fix)

    refused.__name__ = refused.__qualname__ = member
    refused.__doc__ = f"Refused (AscendError E40001): {reason}. {fix}"
    return refused

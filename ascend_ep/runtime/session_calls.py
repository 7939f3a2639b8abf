"""Calls on SessionOptions that onnxruntime remembers and doesn't tell: who made them, and what a bundle says.

onnxruntime's SessionOptions has no getter for an added initializer, a custom operator library or a provider.
So its methods are wrapped, and calls are kept beside the options for as long as these live.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ascend_ep.errors import AscendError

Call = tuple[str, tuple[Any, ...]]

_CONSTANTS = "the initializers of a bundle became constants when it was converted"
_DIMENSIONS = "the dimensions of a bundle were settled when it was converted"
_ITSELF = "a bundle runs on AscendEP, and nowhere else"
_NO_CONTEXT = "a bundle has its compiled parts in itself"

#: By method the reason why a bundle can't follow it, and what to do; None: its host partitions follow.
METHODS: dict[str, tuple[str, str] | None] = {
    "add_initializer": (_CONSTANTS, "Convert the model with this value."),
    "add_external_initializers": (_CONSTANTS, "Convert the model with these values."),
    "add_external_initializers_from_files_in_memory": (_CONSTANTS, "Convert the model with these files."),
    "add_free_dimension_override_by_name": (_DIMENSIONS, "Give ascend-atc --input_shape."),
    "add_free_dimension_override_by_denotation": (_DIMENSIONS, "Give ascend-atc --input_shape."),
    "add_provider": (_ITSELF, 'Leave it out, or use providers=["AscendEP"].'),
    "add_provider_for_devices": (_ITSELF, 'Leave it out, or use providers=["AscendEP"].'),
    "set_provider_selection_policy": (_ITSELF, 'Leave it out, or use providers=["AscendEP"].'),
    "set_provider_selection_policy_delegate": (_ITSELF, 'Leave it out, or use providers=["AscendEP"].'),
    "register_custom_ops_library": None,
    "set_ep_context_data_read_func": (_NO_CONTEXT, "Leave it out."),
    "clear_ep_context_data_read_func": None,
    "set_load_cancellation_flag": None,
}

#: Session entries that change results, with the values that change nothing, and what to do otherwise.
ENTRIES: dict[str, tuple[tuple[str, ...], str]] = {
    "session.set_denormal_as_zero": (("", "0"), "Leave it out: denormals are computed as they are."),
    "ep.context_enable": (("", "0"), "Leave it out: a bundle is compiled already."),
    "session.optimized_model_external_initializers_file_name": (("",), "Leave it out: no model is written."),
}

_calls: weakref.WeakKeyDictionary[Any, list[Call]] = weakref.WeakKeyDictionary()


def attach(options_class: Any) -> None:
    """Remembers calls on objects of onnxruntime's SessionOptions from now on. Idempotent."""
    for name in METHODS:
        original = getattr(options_class, name, None)
        if original is not None and not hasattr(original, "_ascend_ep_wrapped"):
            setattr(options_class, name, _remembering(name, original))


def _remembering(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        result = original(self, *args, **named)
        remember(self, name, (*args, *named.values()))
        return result

    call.__dict__["_ascend_ep_wrapped"] = True
    return call


def remember(options: Any, name: str, args: tuple[Any, ...]) -> None:
    """Keeps a call, with what it was given, for as long as the options live."""
    _calls.setdefault(options, []).append((name, args))


def of(options: Any) -> list[Call]:
    """The calls that were made on these options, the first first."""
    return list(_calls.get(options, ())) if options is not None else []


def check(options: Any) -> None:
    """Raises AscendError E40001 for what options, ours or onnxruntime's, ask and no bundle can follow."""
    for name, args in of(options):
        refusal = METHODS[name]
        if refusal is not None:
            raise _refused(f"SessionOptions.{name}", *refusal)
        if name == "set_load_cancellation_flag" and args[0]:
            raise AscendError("E40001", "loading was cancelled", fix="Set the cancellation flag to False.")
    if getattr(options, "optimized_model_filepath", ""):
        raise _refused(
            "SessionOptions.optimized_model_filepath",
            "a bundle was optimized when it was converted, and no ONNX model is left of it",
            "Leave it out; ascend-om inspect shows what runs.",
        )
    for key, (allowed, fix) in ENTRIES.items():
        value = entry(options, key)
        if value not in allowed:
            raise _refused(f"the session entry {key}={value}", "a bundle runs as it was converted", fix)


def entry(options: Any, key: str) -> str:
    """The text of a session's config entry; "" where there is none."""
    try:
        return str(options.get_session_config_entry(key))
    except (RuntimeError, AttributeError):
        return ""


def _refused(what: str, reason: str, fix: str) -> AscendError:
    return AscendError("E40001", f"{what} can't be followed: {reason}", fix=fix)

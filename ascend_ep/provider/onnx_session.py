"""An onnxruntime session on an ONNX model, with AscendEP and the custom operators set up through public API.

What the session hook does behind `onnxruntime.InferenceSession`, without the hook: for onnxruntime releases
whose private method has gone, and for programs that prefer to ask.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.provider import overridden_initializers, pending, registration, session_hook
from ascend_ep.provider.model_calls import session_class
from ascend_ep.provider.plugin_library import ALIAS, EP_NAME
from ascend_ep.provider.undeclared import is_of_onnxruntime
from ascend_ep.runtime.options import SessionOptions, onnxruntime

Source = str | os.PathLike[str] | bytes | bytearray | memoryview


def session(
    path_or_bytes: Source,
    sess_options: Any = None,
    providers: Sequence[Any] | None = None,
    provider_options: Sequence[Mapping[str, Any]] | None = None,
    **kwargs: Any,
) -> Any:
    """onnxruntime's InferenceSession on AscendEP, then CPU; `providers` None is ["AscendEP"].

    Raises AscendError for wrong options and definitions, and where there is no onnxruntime; RuntimeError
    when it is too old, and what onnxruntime raises.
    """
    ort = onnxruntime()
    registration.register(ort)
    options = ort.SessionOptions() if sess_options is None else sess_options
    if isinstance(options, SessionOptions):
        options = options.for_model()
    names, settings = _normalized(providers or [EP_NAME], provider_options)
    model = (
        bytes(path_or_bytes)
        if isinstance(path_or_bytes, bytes | bytearray | memoryview)
        else str(path_or_bytes)
    )
    pending.override(overridden_initializers.of(options))  # for releases without the hook
    declared = session_hook.declare(model, options, names, settings)
    try:
        return session_class()(model, options, providers=names, provider_options=settings, **kwargs)
    except Exception as error:  # for releases without the hook
        session_hook.refuse(error, model, declared[0] if declared else None)
        raise


def model_session(source: Source, *args: Any, **kwargs: Any) -> Any:
    """The same for `ascend_ep.InferenceSession`. Raises AscendErrors alone: E10410 where there is no file,
    E10041 for what onnxruntime refuses."""
    where = "the given bytes" if isinstance(source, bytes | bytearray | memoryview) else os.fspath(source)
    if not isinstance(source, bytes | bytearray | memoryview) and not os.path.isfile(source):
        raise regular_file.refusal(where)
    try:
        return session(source, *args, **kwargs)
    except Exception as error:
        if not is_of_onnxruntime(error):
            raise
        raise AscendError("E10041", where, str(error)) from error


def _normalized(
    providers: Sequence[Any], provider_options: Sequence[Mapping[str, Any]] | None
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and their options, one for one."""
    names: list[str] = []
    settings: list[dict[str, str]] = []
    for i, provider in enumerate(providers):
        name, own = provider if isinstance(provider, tuple) else (provider, {})
        given = dict(provider_options[i]) if provider_options else {}
        names.append(EP_NAME if name == ALIAS else name)
        settings.append({str(k): str(v) for k, v in {**own, **given}.items()})
    return names, settings

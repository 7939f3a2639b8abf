"""What happens in Python when onnxruntime creates a session with AscendEP among its providers.

onnxruntime reads a model before it asks its providers anything, so operators it has no schema for must be
declared earlier. `InferenceSession._register_ep_custom_ops` is onnxruntime's own step for that (for
TensorRT); it is private, so it is wrapped only where it exists. Without it, `ascend_ep.InferenceSession` and
compiled `_ctx.onnx` models work all the same.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError
from ascend_ep.provider import overridden_initializers, pending, shared_options, undeclared, weights_in_place
from ascend_ep.provider.declarations import declare_for, is_defined
from ascend_ep.provider.model_operators import ModelOperators, read_operators
from ascend_ep.provider.options import check_options, registry_of
from ascend_ep.provider.plugin_library import ALIAS, EP_NAME
from ascend_ep.runtime import session_calls
from ascend_ep.runtime.binding import check_environment

if TYPE_CHECKING:
    from ascend_ep.opdef.registry import Registry

_COLLECTION = "onnxruntime.capi.onnxruntime_inference_collection"
_MARK = "_ascend_ep_wrapped"


def attach(module: ModuleType) -> None:
    """Wraps the steps of `InferenceSession` creation. Idempotent."""
    _wrap_normalization(_rename)
    session_calls.attach(module.SessionOptions)
    shared_options.follow_severity(module)
    session_class = module.InferenceSession
    original = getattr(session_class, "_register_ep_custom_ops", None)
    if original is None or hasattr(original, _MARK):
        return
    _wrap_creation(module)

    @functools.wraps(original)
    def _register_ep_custom_ops(
        self: Any, session_options: Any, providers: Any, provider_options: Any, available: Any
    ) -> None:
        original(self, session_options, providers, provider_options, available)
        prepare(self, session_options, providers, provider_options)

    setattr(_register_ep_custom_ops, _MARK, True)
    session_class._register_ep_custom_ops = _register_ep_custom_ops


def attach_warning(module: ModuleType) -> None:
    """For an onnxruntime that can't load the provider: says so when somebody asks for it."""

    def warn(name: str) -> str:
        if name in (EP_NAME, ALIAS):
            warnings.warn(
                f"{EP_NAME} needs onnxruntime >= 1.25; this is {module.__version__}",
                RuntimeWarning,
                stacklevel=5,
            )
        return name

    _wrap_normalization(warn)


def prepare(
    session: Any, session_options: Any, providers: Sequence[str], options: Sequence[dict[str, str]]
) -> None:
    """Before the model is read: as `declare`; callbacks on this thread are then this session's."""
    pending.clear()
    path = getattr(session, "_model_path", None)
    model = path or getattr(session, "_model_bytes", None)
    declared = declare(model, session_options, providers, options)
    may_lend = False
    overridden = overridden_initializers.of(session_options)
    if model and not providers and session_options.has_providers():  # by device
        pending.announce_functions(read_operators(model).functions)
    if declared is not None:
        registry, operators = declared
        _creating.registry = registry
        pending.announce(session, registry)
        overridden_initializers.check(overridden, operators.operators)
        may_lend = bool(path) and providers[0] == EP_NAME and is_defined(operators, registry)
    pending.override(overridden)
    if _creating.session is session and not (may_lend and weights_in_place.lend(session, session_options)):
        shared_options.enter(session, session_options)


def declare(
    model: str | bytes | None,
    session_options: Any,
    providers: Sequence[str],
    options: Sequence[dict[str, str]],
) -> tuple[Registry, ModelOperators] | None:
    """Checks AscendEP's options, declares the operators of `model` it defines, passes on the thread count.

    Returns the definitions in force and what the model names; None when AscendEP is not among the providers.
    Raises AscendError for options that are wrong and definitions that can't be read.
    """
    if EP_NAME not in providers:
        return None
    own = options[list(providers).index(EP_NAME)]
    check_options(own)
    check_environment()
    threads = session_options.intra_op_num_threads
    if threads > 0:
        own.setdefault("session_threads", str(threads))  # a plugin can't read the session's own setting
    operators = read_operators(model) if model else ModelOperators()
    registry = registry_of(own).beside(operators.functions)
    declare_for(operators, registry, session_options)
    return registry, operators


def _rename(name: str) -> str:
    return EP_NAME if name == ALIAS else name


def refuse(error: Exception, model: str | bytes | None, registry: Registry | None) -> None:
    """Raises what there is to say instead of onnxruntime's `error`, if there is anything: with AscendEP's
    definitions, `registry`, about operators that nobody declares."""
    if registry is None or not model:
        return
    better = undeclared.explain(error, model, registry)
    if better is not None:
        raise better from error


class _Creating(threading.local):
    session: Any = None
    #: The definitions in force, once AscendEP's options were read.
    registry: Registry | None = None


#: The session that this thread is creating inside of what `_wrap_creation` wrapped.
_creating = _Creating()


def _wrap_creation(module: ModuleType) -> None:
    """Sessions without options get some of their own, and all get their model back when they are made."""
    session_class = module.InferenceSession
    original = getattr(session_class, "_create_inference_session", None)
    if original is None:
        return

    @functools.wraps(original)
    def _create_inference_session(self: Any, providers: Any, *args: Any, **named: Any) -> None:
        names = [p[0] if isinstance(p, tuple) and p else p for p in providers or ()]
        if not self._sess_options and (EP_NAME in names or ALIAS in names):
            self._sess_options = module.SessionOptions()  # onnxruntime's are shared by all such sessions
        outer, _creating.session = _creating.session, self
        _creating.registry = None
        try:
            original(self, providers, *args, **named)
        except Exception as error:
            refuse(error, self._model_path or self._model_bytes, _creating.registry)
            if isinstance(error, AscendError) and isinstance(error, ValueError):
                raise error.apart() from error.__cause__  # of a ValueError it would go on without us
            raise
        finally:
            _creating.session, _creating.registry = outer, None
            shared_options.leave(self)
            weights_in_place.give_back(self)

    session_class._create_inference_session = _create_inference_session


def _wrap_normalization(change: Callable[[str], str]) -> None:
    collection = sys.modules.get(_COLLECTION)
    original = getattr(collection, "check_and_normalize_provider_args", None)
    if original is None or hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def check_and_normalize_provider_args(providers: Any, provider_options: Any, available: Any) -> Any:
        if providers is not None:
            providers = [_changed(p, change) for p in providers]
        return original(providers, provider_options, available)

    setattr(check_and_normalize_provider_args, _MARK, True)
    collection.__dict__["check_and_normalize_provider_args"] = check_and_normalize_provider_args


def _changed(provider: Any, change: Callable[[str], str]) -> Any:
    if isinstance(provider, str):
        return change(provider)
    if isinstance(provider, tuple) and provider and isinstance(provider[0], str):
        return (change(provider[0]), *provider[1:])
    return provider

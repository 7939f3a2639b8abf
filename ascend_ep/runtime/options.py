"""Session and run options with onnxruntime's attribute names, and what sessions tell about themselves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

from ascend_ep.errors import AscendError, did_you_mean

from . import refused_members, session_calls
from .binding import threads_of_environment

#: Attributes that concern onnxruntime alone; a host partition's session gets them as they are.
_HOST_ATTRIBUTES = (
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "execution_mode",
    "execution_order",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "log_severity_level",
    "log_verbosity_level",
    "logid",
    "use_deterministic_compute",
    "use_per_session_threads",
)


class SessionOptions:
    """onnxruntime's SessionOptions for a bundle.

    Native partitions use `intra_op_num_threads` and the profiling attributes; graph optimization has
    happened at conversion. A host partition's onnxruntime session gets every attribute that was set, and
    the config entries. Methods of onnxruntime's that change results are remembered: sessions on an ONNX
    model follow them, those on a bundle refuse them (session_calls.py). An attribute onnxruntime doesn't
    have is an AttributeError.
    """

    _known = frozenset(
        {*_HOST_ATTRIBUTES, "enable_profiling", "optimized_model_filepath", "profile_file_prefix"}
    )

    def __init__(self) -> None:
        self._config: dict[str, str] = {}
        self.intra_op_num_threads = 0
        self.enable_profiling = False
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._known and not name.startswith("_"):
            raise AttributeError(f"SessionOptions has no attribute {name!r}")
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """The defaults of attributes that only onnxruntime knows come from onnxruntime; so do its methods."""
        if name in _HOST_ATTRIBUTES:
            return getattr(onnxruntime().SessionOptions(), name)
        if name in session_calls.METHODS:
            return lambda *args: session_calls.remember(self, name, args)
        raise AttributeError(f"SessionOptions has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._known, *session_calls.METHODS})

    def register_custom_ops_library(self, path: str) -> None:
        """Raises AscendError E40002 where there is no such file. Host partitions load it."""
        if not os.path.isfile(path):
            raise AscendError("E40002", f"there is no library of custom operators at [{path}]")
        session_calls.remember(self, "register_custom_ops_library", (path,))

    def has_providers(self) -> bool:
        """Whether a method named providers."""
        return any("provider" in name for name, _ in session_calls.of(self))

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._config[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._config:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._config[key]

    def for_host(self) -> Any:
        """The same as onnxruntime's own object, without profiling, for a host partition."""
        return self._as_theirs(_HOST_ATTRIBUTES)

    def for_model(self) -> Any:
        """The same as onnxruntime's own object, for a session on an ONNX model."""
        return self._as_theirs(self._known)

    def _as_theirs(self, names: Iterable[str]) -> Any:
        options = onnxruntime().SessionOptions()
        for name in names:
            if name in self.__dict__:
                setattr(options, name, _theirs(self.__dict__[name]))
        for key, value in self._config.items():
            options.add_session_config_entry(key, value)
        for name, args in session_calls.of(self):
            getattr(options, name)(*args)
        return options


@refused_members.refuse(refused_members.RUN)
class RunOptions:
    """onnxruntime's RunOptions. `terminate` stops before the next partition; the rest is for host
    partitions, whose onnxruntime session gets it."""

    _host_attributes = ("log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches")

    def __init__(self) -> None:
        self.terminate = False
        self._host: dict[str, Any] = {}
        self._config: dict[str, str] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._host_attributes:
            self._host[name] = value
        elif name == "terminate" or name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(f"RunOptions has no attribute {name!r}")

    def __getattr__(self, name: str) -> Any:
        if name not in self._host_attributes:
            raise AttributeError(f"RunOptions has no attribute {name!r}")
        if name in self._host:
            return self._host[name]
        return getattr(onnxruntime().RunOptions(), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._host_attributes})

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._config[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._config[key]

    def for_host(self) -> Any:
        """The same as onnxruntime's own object."""
        options = onnxruntime().RunOptions()
        options.terminate = self.terminate
        for name, value in self._host.items():
            setattr(options, name, value)
        for key, value in self._config.items():
            options.add_run_config_entry(key, value)
        return options


def _theirs(value: Any) -> Any:
    """A value of ours (enumerations.py) as onnxruntime's own."""
    return getattr(onnxruntime(), type(value).__name__)(int(value)) if isinstance(value, IntEnum) else value


def for_host(options: Any) -> Any:
    """onnxruntime's own object for our options or theirs; None stays None."""
    return options.for_host() if isinstance(options, (SessionOptions, RunOptions)) else options


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a model, as onnxruntime describes it. Free dims are names, or None."""

    name: str
    type: str
    shape: list[int | str | None]

    def __str__(self) -> str:
        return repr(self)


@dataclass(frozen=True)
class ModelMetadata:
    """What onnxruntime's get_modelmeta tells."""

    custom_metadata_map: dict[str, str] = field(default_factory=dict)
    description: str = ""
    domain: str = ""
    graph_description: str = ""
    graph_name: str = ""
    producer_name: str = ""
    version: int = 0


@dataclass(frozen=True)
class ProviderOptions:
    """Options of AscendEP that a finished bundle can still follow."""

    num_threads: int = 0
    trust: str | None = None
    #: give mapped weights back to the system after each kernel that read them
    low_memory: bool = False
    #: False: weights are read into memory, for a file that may be overwritten while the session lives
    map_weights: bool = True
    #: False: no library of the bundle is loaded, whoever trusts it; what they compute is interpreted
    native_code: bool = True

    def as_strings(self) -> dict[str, str]:
        """As get_provider_options shows them."""
        shown = {"num_threads": str(self.num_threads), "low_memory": str(int(self.low_memory))}
        shown |= {} if self.map_weights else {"map_weights": "0"}
        shown |= {} if self.native_code else {"native_code": "0"}
        return shown | ({} if self.trust is None else {"trust": self.trust})


_OPTIONS = frozenset(field.name for field in fields(ProviderOptions))


def provider_options(providers: Any, options: Any, session_options: Any) -> ProviderOptions:
    """Reads `providers` and `provider_options` as onnxruntime takes them: names, or (name, options) pairs.

    A provider that isn't here is warned of, as onnxruntime does, and the bundle runs on AscendEP. Raises
    AscendError E40001 for an option that a bundle has no use for, and for the CPU's provider alone.
    """
    names: list[str] = []
    given: dict[str, Any] = {}
    if options and providers and len(options) != len(providers):
        raise AscendError("E40001", "providers and provider_options differ in length")
    for i, entry in enumerate(providers or ["AscendEP"]):
        name, own = entry if isinstance(entry, tuple) else (entry, {})
        own = {**own, **(options[i] if options else {})}
        if name not in ("AscendEP", "CPUExecutionProvider"):
            near = did_you_mean(str(name), ("AscendEP", "CPUExecutionProvider"))
            text = f"provider [{name}] isn't here; the bundle runs on AscendEP.{near}"
            warnings.warn(text, UserWarning, stacklevel=4)
            names.append("AscendEP")
            continue
        names.append(name)
        if name == "AscendEP":
            given = own
    if "AscendEP" not in names:
        raise AscendError(
            "E40001", "a bundle runs on AscendEP, which `providers` leaves out", fix='Add "AscendEP".'
        )
    unknown = sorted(set(given) - _OPTIONS)
    if unknown:
        raise AscendError(
            "E40001",
            f"provider option [{unknown[0]}] means nothing to a finished bundle",
            fix=f"Use one of {', '.join(sorted(_OPTIONS))}; give the others to ascend-atc.",
        )
    asked = 0 if threads_of_environment() else getattr(session_options, "intra_op_num_threads", 0)
    threads = given.get("num_threads", asked)
    return ProviderOptions(
        _count(threads),
        given.get("trust"),
        _switch("low_memory", given, "0"),
        _switch("map_weights", given, "1"),
        _switch("native_code", given, "1"),
    )


def _switch(name: str, given: Mapping[str, Any], default: str) -> bool:
    value = str(given.get(name, default))
    if value not in ("0", "1", "True", "False"):
        raise AscendError("E40001", f"{name}=[{value}] is no switch", fix="Use 0 or 1.")
    return value in ("1", "True")


def _count(value: Any) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if not 0 <= count <= 1024:
        raise AscendError("E40001", f"num_threads=[{value}] is no number of threads", fix="Use 0 to 1024.")
    return count


def onnxruntime() -> Any:
    """The onnxruntime module. Raises AscendError E40010 when it isn't installed."""
    try:
        import onnxruntime
    except ImportError as error:
        raise AscendError("E40010", "onnxruntime is needed for this, and isn't installed") from error
    return onnxruntime

"""Where the plugin library is, and what it is called: the names onnxruntime's packaging guide asks for."""

from __future__ import annotations

from pathlib import Path

#: The execution provider's name, as in `providers=["AscendEP"]`.
EP_NAME = "AscendEP"
#: Accepted in `providers=` for programs that spell providers the long way.
ALIAS = "AscendExecutionProvider"

_PACKAGE = Path(__file__).resolve().parent.parent


def get_library_path() -> str:
    """The absolute path of the plugin, for `onnxruntime.register_execution_provider_library`."""
    return str(_PACKAGE / "lib" / "libascend_ep.so")


def get_runtime_library_path() -> str:
    """The absolute path of libascend_rt, which runs bundles in C programs."""
    return str(_PACKAGE / "lib" / "libascend_rt.so")


def get_ep_name() -> str:
    """The provider's name."""
    return EP_NAME


def get_ep_names() -> list[str]:
    """The names of all providers in the library: one."""
    return [EP_NAME]


def get_include() -> str:
    """The folder of the C headers (ascend_rt.h)."""
    return str(_PACKAGE / "include")

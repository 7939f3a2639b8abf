"""Provider options, checked by the plugin's own table, and the operator definitions they name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import ffi, lib, new_status, text_of

if TYPE_CHECKING:
    from ascend_ep.opdef.definition import OpDef
    from ascend_ep.opdef.registry import Registry

_declared: list[OpDef] = []


def check_options(options: Mapping[str, str]) -> None:
    """Raises AscendError E40001 for an unknown option, with the nearest known one, or an impossible value."""
    for name, value in options.items():
        status = new_status()
        if lib.asc_ep_check_option(name.encode(), value.encode(), status) != lib.ASC_OK:
            raise AscendError(
                "E40001", text_of(status.text), where="AscendEP", fix="Correct the provider option."
            )
    if "precision_mode" in options and "precision_mode_v2" in options:
        raise AscendError("E10056", "precision_mode", "precision_mode_v2", where="AscendEP")


def precision_of(options: Mapping[str, str]) -> str:
    """The precision asked for; "origin", the provider's default, is each operator's own element type."""
    return options.get("precision_mode_v2") or options.get("precision_mode") or "origin"


def registry_of(options: Mapping[str, str]) -> Registry:
    """The definitions in force for a session with these options.

    Relative paths start at the working directory.
    """
    from ascend_ep.opdef.library import parse_custom_op, separate
    from ascend_ep.opdef.loader import load_definitions
    from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE, Registry

    files = separate(options.get("custom_op_info", ""))
    libraries = dict(parse_custom_op(text) for text in separate(options.get("custom_op", "")))
    given = [opdef for file in files for opdef in load_definitions(Path(file).absolute())]
    return Registry(
        libraries={name: path.absolute() for name, path in libraries.items()},
        definitions=[*given, *_declared],
        folder=os.environ.get(ENVIRONMENT_VARIABLE) or None,
    )


def options_of(ep: object) -> dict[str, str]:
    """The options of a provider, as the plugin received them."""
    names = [lib.asc_ep_option_name(ep, i) for i in range(lib.asc_ep_option_count(ep))]
    return {text_of(name): text_of(lib.asc_ep_option(ep, ffi.string(name))) for name in names}


def declare(source: str | Path | OpDef) -> None:
    """Adds definitions (a file, or one made in Python) to every session created from now on."""
    from ascend_ep.opdef.definition import OpDef
    from ascend_ep.opdef.loader import load_definitions

    _declared.extend([source] if isinstance(source, OpDef) else load_definitions(source))

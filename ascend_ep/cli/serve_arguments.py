"""From the arguments of ascend-serve to Settings."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.serving.settings import Limits, Settings

from .command import Parser
from .serve_flags import FLAGS, IDLE, REFUSED, Flag

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
#: The ports that the command serves on unless told otherwise; Settings made by programs have HTTP only.
_PORTS = {"http": 8000, "grpc": 8001, "metrics": 8002}

_VERBOSE = next(flag for flag in FLAGS if flag.name == "log-verbose")


@dataclass(frozen=True)
class Arguments:
    """notes: sentences about flags that were accepted and do nothing."""

    settings: Settings
    check: bool
    notes: tuple[str, ...]


class _Parser(Parser):
    def error(self, message: str) -> NoReturn:
        raise AscendError("E50032", message.removesuffix("."))


def parse(arguments: Sequence[str] | None) -> Arguments:
    """Raises AscendError E50021 and E5003x; exits for --help."""
    given, rest = _parser().parse_known_args(arguments)
    notes = _unknown(rest)
    values: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for flag in FLAGS:
        text = getattr(given, _attribute(flag.name))
        if text is None or not flag.field:
            continue
        where, _, inner = flag.field.rpartition(".")
        (limits if where else values)[inner] = _value(flag, text)
    if "model_repository" not in values:
        raise AscendError("E50032", "--model-repository is required")
    for service, port in _PORTS.items():
        values.setdefault(f"{service}_port", port)
        if not _bool(f"allow-{service}", getattr(given, f"allow_{service}") or "true"):
            values[f"{service}_port"] = None
    for name in ("ssl-private-key-file", "ssl-client-ca-file"):
        if getattr(given, _attribute(name)) is not None and "ssl_certificate" not in values:
            raise AscendError("E50032", f"--{name} needs --ssl-certificate-file")
    if "load_models" in values and values.get("model_control_mode") != "explicit":
        raise AscendError("E50032", "--load-model needs --model-control-mode=explicit")
    if _number(_VERBOSE, given.log_verbose or "0") > 0:
        values.setdefault("log_level", "debug")
    settings = Settings(limits=replace(Limits(), **limits), **values)
    _check_ports(settings)
    return Arguments(settings, given.check, tuple(notes))


def _check_ports(settings: Settings) -> None:
    """Raises AscendError E50032 where two services share an address and port; port 0 is any free one."""
    taken: dict[tuple[str, int], str] = {}
    for service in _PORTS:
        address, port = getattr(settings, f"{service}_address"), getattr(settings, f"{service}_port")
        if port and (other := taken.setdefault((address, port), service)) != service:
            raise AscendError("E50032", f"--{other}-port and --{service}-port are both {port}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ascend-serve",
        description="Serves a folder of bundles: Open Inference Protocol v2.",
        epilog="A flag of Triton's that isn't here is either accepted and said to do nothing, or refused "
        "with what there is instead.",
        allow_abbrev=False,
    )
    groups = {name: parser.add_argument_group(name) for name in dict.fromkeys(f.group for f in FLAGS)}
    for flag in FLAGS:
        add = groups[flag.group].add_argument
        if flag.kind == "switch":
            add(f"--{flag.name}", action="store_true", help=flag.help)
        else:
            action = "append" if flag.kind in ("repeat", "digests") else "store"
            add(f"--{flag.name}", action=action, metavar=_metavar(flag), help=_help(flag))
    return parser


def _unknown(rest: Iterable[str]) -> list[str]:
    """Sentences about Triton's flags that do nothing. Raises AscendError E50031 or E50033 for the others."""
    notes: list[str] = []
    after_idle = False
    for argument in rest:
        name = argument[2:].partition("=")[0] if argument.startswith("--") else ""
        if name in IDLE:
            notes.append(f"--{name} does nothing: {IDLE[name]}.")
        elif any(name == r or name.startswith(f"{r}-") for r in REFUSED):
            raise AscendError("E50033", name, next(REFUSED[r] for r in REFUSED if name.startswith(r)))
        elif name or not after_idle:
            near = did_you_mean(f"--{name}", [f"--{f.name}" for f in FLAGS]) if name else ""
            if not name and Path(argument).is_dir():
                near = f" Did you mean [--model-repository={argument}]?"
            raise AscendError("E50031", argument.partition("=")[0] if name else argument, near)
        after_idle = name in IDLE and "=" not in argument
    return notes


def _value(flag: Flag, given: Any) -> Any:
    if flag.kind == "repeat":
        return tuple(given)
    if flag.kind == "digests":
        return tuple(_digest(flag, text) for text in given)
    if flag.kind == "bool":
        return _bool(flag.name, given)
    if flag.kind == "path":
        return _existing(flag, given)
    if flag.kind in _NUMBERS:
        return _number(flag, given)
    if "|" in flag.kind and given not in flag.kind.split("|"):
        raise AscendError("E50030", given, flag.name, f"it is one of {', '.join(flag.kind.split('|'))}")
    return Path(given) if flag.kind == "new path" else given


def _existing(flag: Flag, given: str) -> Path:
    path = Path(given)
    if not path.exists():
        if flag.name == "model-repository":
            raise AscendError("E50021", given)
        raise AscendError("E50034", given, flag.name, "it isn't there")
    if flag.name == "model-repository" and not path.is_dir():
        fix = "Give the folder of models, with <model>/<version>/model.om in it."
        raise AscendError("E50034", given, flag.name, "it is no folder", fix=fix)
    if flag.name != "model-repository" and not path.is_file():
        found = "it is a folder" if path.is_dir() else "it is no regular file"
        raise AscendError("E50034", given, flag.name, found)
    return path


#: kind -> least, most, in words
_NUMBERS: dict[str, tuple[float, float, str]] = {
    "int": (1, 2**31 - 1, "a number from 1"),
    "count": (0, 2**31 - 1, "a number from 0"),
    "bytes": (1, 2**40, "a number of bytes"),
    "port": (0, 65535, "a number from 0 to 65535"),
    "seconds": (0, 10**9, "a number of seconds"),
    "share": (0, 1, "a number from 0 to 1"),
}


def _number(flag: Flag, given: str) -> int | float:
    least, most, words = _NUMBERS[flag.kind]
    try:
        number = float(given) if flag.kind in ("seconds", "share") else int(given)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise AscendError("E50030", given, flag.name, f"it is {words}")
    return number


def _digest(flag: Flag, given: str) -> str:
    if not re.fullmatch("sha256:[0-9a-fA-F]{64}", given):
        raise AscendError("E50030", given, flag.name, "it is sha256: and 64 hex digits")
    return given.lower()


def _bool(name: str, given: str) -> bool:
    if given.lower() not in (*_TRUE, *_FALSE):
        raise AscendError("E50030", given, name, "it is true or false")
    return given.lower() in _TRUE


def _attribute(name: str) -> str:
    return name.replace("-", "_")


_METAVARS = {
    "repeat": "TEXT",
    "digests": "sha256:HEX",
    "new path": "PATH",
    "seconds": "S",
    "int": "N",
    "count": "N",
    "share": "X",
}


def _metavar(flag: Flag) -> str:
    if "|" in flag.kind:
        return f"{{{flag.kind.replace('|', ',')}}}"
    return _METAVARS.get(flag.kind, flag.kind.upper())


def _help(flag: Flag) -> str:
    default = _default(flag.field)
    shown = (
        str(default).lower()
        if isinstance(default, bool)
        else f"{default:g}"
        if isinstance(default, float)
        else default
    )
    return flag.help if default in (None, (), "") else f"{flag.help} ({shown})"


def _default(field: str) -> Any:
    where, _, name = field.rpartition(".")
    known = {f.name: f.default for f in fields(Limits if where else Settings)}
    default = known.get(name)
    return None if default is MISSING else default

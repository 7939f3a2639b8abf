"""JSON objects that a request brings besides inference: each is of a type, and a refusal names the field."""

from __future__ import annotations

import re
from typing import Any, ClassVar, TypeVar

import msgspec

from ascend_ep.errors import AscendError

from .message import Request

#: Bytes: each becomes up to 16 as objects.
_MOST = 1 << 20
#: msgspec's sentences: of a value that is wrong, of a field that is unknown or missing.
_AT = re.compile(r"(?P<why>.*) - at (?P<key>`key` in )?`\$\.(?P<field>.*)`", re.DOTALL)
_OF_FIELD = re.compile(
    r"Object (?P<what>contains unknown|missing required) field `(?P<field>.*?)`"
    r"(?: - at `\$\.(?P<within>[^`]*)`)?",
    re.DOTALL,
)
_SAID = {"contains unknown": "there is no such field", "missing required": "it is missing"}


class JsonBody(msgspec.Struct, forbid_unknown_fields=True):
    """example: a body that would be taken, for refusals and for the description of the routes."""

    example: ClassVar[dict[str, Any]] = {}


class NoFields(JsonBody):
    """For routes that take nothing."""


Kind = TypeVar("Kind", bound=JsonBody)


def json_body(request: Request, kind: type[Kind]) -> Kind:
    """What was sent; nothing is an object without fields. Raises AscendError E50001."""
    if len(request.body) > _MOST:
        raise AscendError("E50001", f"the body has {len(request.body)} bytes; {_MOST} are the most here")
    try:
        return msgspec.json.decode(request.body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AscendError("E50001", _why(error), fix=_what_it_takes(kind)) from None


def _why(error: Exception) -> str:
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return f"the body is no JSON ({text})"
    if found := _OF_FIELD.fullmatch(text):
        within = f"{found['within']}." if found["within"] else ""
        return f"field [{within}{found['field']}]: {_SAID[found['what']]}"
    if found := _AT.fullmatch(text):
        return f"field [{found['field']}]: {'a key of it: ' * bool(found['key'])}{found['why']}"
    return f"the body: {text}"


def _what_it_takes(kind: type[JsonBody]) -> str:
    if not kind.__struct_fields__:
        return "Send no body."
    return f"The body is like {msgspec.json.encode(kind.example).decode()}."

"""A refusal as the status of an RPC."""

from __future__ import annotations

from typing import Any

import grpc

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import public, sentence, status_of

#: Bytes of a sentence. It goes in a header, where clients take 8 KiB and a byte may take three.
_LONGEST = 1500


def refuse(context: Any, error: AscendError) -> bytes:
    """Sets the status; what it returns is the (ignored) answer."""
    context.set_code(code_of(error))
    context.set_details(text_of(error))
    return b""


def code_of(error: AscendError) -> Any:
    """The grpc.StatusCode."""
    return grpc.StatusCode[status_of(error).grpc]


def text_of(error: AscendError) -> str:
    """The sentence for a client, cut when a name in it is very long."""
    return sentence(public(error)).encode()[:_LONGEST].decode(errors="ignore")

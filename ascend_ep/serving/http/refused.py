"""A refusal as an HTTP answer: `{"error": "..."}`, as the protocol has it."""

from __future__ import annotations

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import public, sentence, status_of

from .message import Response


def refused(error: AscendError) -> Response:
    status = status_of(error)
    body = msgspec.json.encode({"error": sentence(public(error))})
    headers = [("retry-after", str(status.retry_after))] if status.retry_after else []
    if status.http == 401:
        headers.append(("www-authenticate", "Bearer"))
    return Response(status.http, headers, (body,))

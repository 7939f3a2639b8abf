"""gzip and deflate of bodies, both ways; what comes in is bounded by what it inflates to."""

from __future__ import annotations

import zlib

from ascend_ep.errors import AscendError

from .message import Body, Response

#: Bodies from this size on are worth a thread of their own for a moment: zlib works outside the GIL.
LARGE = 64 << 10
_WINDOW = {"gzip": 31, "deflate": 15}
_LEVEL = 1  # tensors hardly shrink more at higher ones, and take several times longer


def inflated(body: Body, encoding: str, limit: int) -> bytes:
    """Raises AscendError E50016 for another encoding, E50005 beyond `limit` bytes, E50001 for what isn't
    of that encoding, or is cut off, or has something behind it."""
    window = _WINDOW.get(encoding)
    if window is None:
        raise AscendError("E50016", encoding)
    stream = zlib.decompressobj(window)
    try:
        text = stream.decompress(body, limit + 1)
    except zlib.error:
        raise AscendError("E50001", f"its body isn't {encoding}") from None
    if len(text) > limit:
        raise AscendError("E50005", f"more than {limit}", limit)
    if not stream.eof or stream.unused_data:
        raise AscendError("E50001", f"its {encoding} body is cut off, or something is behind it")
    return text


def wanted(accept: str | None) -> str:
    """The encoding to answer with: the one that Accept-Encoding names. A list of several is what libraries
    send for everyone, and compressing tensors for everyone costs more than it saves: ""."""
    if not accept or "," in accept:
        return ""
    name, _, quality = accept.lower().partition(";")
    name = name.strip()
    return name if name in _WINDOW and quality.replace(" ", "") not in ("q=0", "q=0.0") else ""


def deflated(response: Response, encoding: str) -> Response:
    """The same answer, compressed; its Inference-Header-Content-Length counts bytes before that."""
    if not encoding or response.status != 200:
        return response
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[encoding])
    pieces = [stream.compress(piece) for piece in response.body]
    body = b"".join([*pieces, stream.flush()])
    headers = (*response.headers, ("content-encoding", encoding))
    return Response(response.status, headers, (body,), response.content_type, response.close)

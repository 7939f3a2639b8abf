"""What a failure is to a client: the status of each code in HTTP and in gRPC."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from ascend_ep.errors import CODES, AscendError, is_thread_refused

log = logging.getLogger("ascend_ep.serving")


@dataclass(frozen=True)
class Status:
    """http: the status number; grpc: the name of a grpc.StatusCode; retry_after: seconds, 0 for none."""

    http: int
    grpc: str
    retry_after: int = 0


_BAD_REQUEST = Status(400, "INVALID_ARGUMENT")
_INTERNAL = Status(500, "INTERNAL")

STATUSES: dict[str, Status] = {
    "E50001": _BAD_REQUEST,
    "E50002": Status(404, "NOT_FOUND"),
    "E50003": Status(503, "UNAVAILABLE", retry_after=1),
    "E50004": _BAD_REQUEST,
    "E50005": Status(413, "INVALID_ARGUMENT"),
    "E50006": Status(503, "RESOURCE_EXHAUSTED", retry_after=1),
    "E50007": Status(504, "DEADLINE_EXCEEDED"),
    "E50008": Status(503, "UNAVAILABLE", retry_after=5),
    "E50009": Status(404, "UNIMPLEMENTED"),
    "E50010": _INTERNAL,
    "E50011": Status(401, "UNAUTHENTICATED"),
    "E50012": Status(431, "INVALID_ARGUMENT"),
    "E50013": Status(403, "PERMISSION_DENIED"),
    "E50014": Status(405, "UNIMPLEMENTED"),
    "E50016": Status(415, "INVALID_ARGUMENT"),
    "E50017": Status(408, "DEADLINE_EXCEEDED"),
    "E50018": Status(499, "CANCELLED"),
    "E50020": _BAD_REQUEST,
    "E50023": Status(417, "INVALID_ARGUMENT"),
    "E50024": Status(404, "UNIMPLEMENTED"),
    "E50025": Status(503, "UNAVAILABLE", retry_after=1),
    "E50036": _BAD_REQUEST,
    "E50040": _BAD_REQUEST,
    "E50050": _INTERNAL,
    "E50051": Status(503, "UNAVAILABLE", retry_after=1),
    "E50054": Status(503, "RESOURCE_EXHAUSTED", retry_after=5),
    # What a run says of the values, shapes and types it was fed.
    "E40001": _BAD_REQUEST,
    "E40007": _BAD_REQUEST,
    "E40008": _BAD_REQUEST,
    "E40011": _BAD_REQUEST,
    "E40013": _BAD_REQUEST,
}


#: Codes in the labels of metrics; any other is its own label.
REASONS: dict[str, str] = {
    "E50002": "no_model",
    "E50003": "not_ready",
    "E50004": "bad_tensor",
    "E50006": "queue_full",
    "E50007": "deadline",
    "E50008": "shutting_down",
    "E50010": "internal",
    "E50018": "cancelled",
    "E50050": "native_code",
    "E50051": "native_code_waits",
}


def status_of(error: AscendError) -> Status:
    """An error that no request can be blamed for is INTERNAL."""
    return STATUSES.get(error.code, _INTERNAL)


def public(error: AscendError) -> AscendError:
    """What a client may see of a failure: a refusal as it is, without its place (paths of this machine);
    anything else only as E50010, with a number that the log has beside the whole."""
    if error.code in STATUSES:
        return error if not error.where else _without_place(error)
    reference = f"{id(error) & 0xFFFFFFFF:08x}"
    log.error("internal failure %s: %s", reference, error)
    return AscendError("E50010", reference)


def internal(failure: BaseException) -> AscendError:
    """Any exception as a failure of the catalogue; what isn't ours is logged whole."""
    if isinstance(failure, AscendError):
        return failure
    if is_thread_refused(failure):
        return AscendError("E50054")
    reference = f"{id(failure) & 0xFFFFFFFF:08x}"
    log.error("internal failure %s", reference, exc_info=failure)
    return AscendError("E50010", reference)


def sentence(error: AscendError) -> str:
    """One line for a client: code, what, fix."""
    text = f"{error.code}: {error.text}"
    return f"{text} {error.fix}" if error.fix else text


def _without_place(error: AscendError) -> AscendError:
    bare = AscendError(error.code, *[""] * CODES[error.code].template.count("%s"), fix=error.fix)
    bare.text, bare.details = error.text, error.details
    return bare

"""What the protocol's parameters of an inference request mean, whatever the front end."""

from __future__ import annotations

import time

from ascend_ep.errors import AscendError

from .request import InferRequest

_LONGEST = 2**53  # microseconds

#: The header, or gRPC's metadata, of a request that is to be profiled.
PROFILE = "ascend-profile"


def wants_profile(text: str) -> bool:
    """What that header says. Raises AscendError E50001."""
    if text.lower() in ("", "0", "false"):
        return False
    if text.lower() in ("1", "true"):
        return True
    raise AscendError("E50001", f"{PROFILE} is [{text[:100]}], neither true nor false")


def take_parameters(request: InferRequest) -> None:
    """Applies `timeout` (microseconds; 0: none) to the request's deadline and `sticky_key` to its key. Raises
    AscendError E50001 for a value that is out of range, and for sequences, which aren't supported."""
    given = request.parameters
    timeout = given.get("timeout", 0)
    if type(timeout) is not int or not 0 <= timeout < _LONGEST:
        raise _refused("timeout", "is no number of microseconds")
    if timeout:
        asked = time.monotonic() + timeout / 1e6
        request.deadline = asked if request.deadline is None else min(asked, request.deadline)
    priority = given.get("priority", 0)
    if type(priority) is not int or not 0 <= priority < 2**32:
        raise _refused("priority", "is no priority (0 is the default, 1 the highest)")
    if given.get("sequence_id") or given.get("sequence_start") or given.get("sequence_end"):
        raise _refused("sequence_id", "asks for a sequence; models here keep no state between requests")
    key = given.get("sticky_key")
    if key is not None:
        request.key = str(key)


def _refused(name: str, why: str) -> AscendError:
    return AscendError("E50001", f"parameter [{name}] {why}")

"""Prose to an operator: an OpenAI-compatible endpoint is asked for pseudo-code, and its answer distrusted.

The answer, whatever form it has (answers), goes through a whitelist and the same proof as a person's; what
was wrong goes back to the model, for a limited number of rounds.
"""

from __future__ import annotations

import http.client
import json
import math
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.frontends.answers import describe_answer
from ascend_ep.frontends.interface import Defaults, Described
from ascend_ep.frontends.tbe.description import Inputs
from ascend_ep.opdef.definition import OpDef

#: Tells what is wrong with an operator, a sentence for each failing case; none: it is right.
Proof = Callable[[OpDef], Sequence[str]]

MAX_ANSWER = 256 * 1024
MAX_PROMPT = 20_000
_CHUNK = 4096
_INSTRUCTIONS = """\
Write the operator that the user describes as one Python function in PyTorch style, in one ```python block,
and nothing else. Rules: the parameters are the input tensors in order; scalar parameters have a default.
Use only + - * / ** comparisons, `a if c else b`, assignments to names, torch.where, elementwise functions
of torch (exp, log, sqrt, rsqrt, tanh, sigmoid, erf, abs, clamp, maximum, minimum, ...), activations of
torch.nn.functional as F.name, softmax, and the reductions sum, mean, amax, amin, prod and var with dim= and
keepdim=.
No imports, loops, indexing, reshaping, matrix products or calls of other libraries.
Example:
```python
def prelu(x, alpha):
    return torch.where(x > 0, x, alpha * x)
```"""


@dataclass(frozen=True)
class Endpoint:
    """Where the model is: the base URL of an OpenAI-compatible API, e.g. http://127.0.0.1:8000/v1.

    `seconds` bounds each request from its start to the last byte of its answer; `rounds` the requests.
    """

    url: str
    model: str
    key: str = ""
    rounds: int = 3
    seconds: float = 60.0

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], url: str | None = None, model: str | None = None
    ) -> Endpoint | None:
        """That of --llm-url and --llm-model, else of ASCEND_EP_LLM_URL and _MODEL; None without URL.

        ASCEND_EP_LLM_KEY, _ROUNDS and _SECONDS are read as well. Raises E42104.
        """
        url = url or environ.get("ASCEND_EP_LLM_URL", "")
        if not url:
            return None
        model = model or environ.get("ASCEND_EP_LLM_MODEL", "")
        if not model:
            raise AscendError("E42104", "no model is named", where=url)
        rounds = _number(environ, "ASCEND_EP_LLM_ROUNDS", cls.rounds, 1, 20)
        seconds = _number(environ, "ASCEND_EP_LLM_SECONDS", cls.seconds, 0.1, 3600)
        return cls(url, model, environ.get("ASCEND_EP_LLM_KEY", ""), int(rounds), seconds)


def _number(environ: Mapping[str, str], name: str, usual: float, least: float, most: float) -> float:
    """The value of an environment variable. Raises E42104 when it isn't a number within its limits."""
    try:
        value = float(environ.get(name) or usual)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise AscendError("E42104", f"{name} must be a number from {least:g} to {most:g}", where=name)
    return value


def describe_prose(
    text: str,
    endpoint: Endpoint,
    op_type: str | None = None,
    attributes: Defaults | None = None,
    prove: Proof | None = None,
    inputs: Inputs | None = None,
) -> Described:
    """The operator that the model makes of the text, once it passes. Raises E42004, E42104, E42105."""
    if len(text) > MAX_PROMPT:
        raise AscendError("E42004", "description", f"it has more than {MAX_PROMPT} characters")
    messages = [{"role": "system", "content": _INSTRUCTIONS}, {"role": "user", "content": text}]
    faults: Sequence[str] = ()
    for count in range(1, endpoint.rounds + 1):
        answer = ask(endpoint, messages)
        described, faults = _judged(answer, op_type, attributes, prove, inputs)
        if described is not None:
            form = "" if described.kind == "pseudo-code" else f" as {described.kind}"
            note = f"written by {endpoint.model}{form} (round {count}): check what it computes"
            return replace(described, kind="language model", warnings=(*described.warnings, note))
        messages += [
            {"role": "assistant", "content": answer[:MAX_PROMPT]},
            {"role": "user", "content": "This is wrong:\n" + "\n".join(faults)[:4000] + "\nWrite it again."},
        ]
    details = [line for fault in faults[:3] for line in fault.split("\n")[:4]]
    raise AscendError("E42105", endpoint.rounds, "the last one failed", where=endpoint.url, details=details)


def _judged(
    answer: str,
    op_type: str | None,
    attributes: Defaults | None,
    prove: Proof | None,
    inputs: Inputs | None,
) -> tuple[Described | None, Sequence[str]]:
    """The operator of an answer, or what is wrong with it."""
    try:
        described = describe_answer(answer, op_type, attributes, inputs)
    except AscendError as error:
        return None, [str(error)]
    faults = list(prove(described.opdef))[:20] if prove is not None else []
    return (None, faults) if faults else (described, ())


def ask(endpoint: Endpoint, messages: Sequence[Mapping[str, str]]) -> str:
    """The text that the model answers. Raises E42104."""
    url = endpoint.url.rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise AscendError("E42104", "the URL must begin with http:// or https://", where=url[:200])
    if not url.endswith("/chat/completions"):
        url += "/chat/completions"
    body = {"model": endpoint.model, "messages": list(messages), "temperature": 0.2, "max_tokens": 2048}
    headers = {"Content-Type": "application/json"}
    if endpoint.key:
        if not (endpoint.key.isascii() and endpoint.key.isprintable()):
            raise AscendError("E42104", "the key has characters that a key can't have", where=url)
        headers["Authorization"] = f"Bearer {endpoint.key}"
    try:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        reply = _received(request, endpoint)
    except urllib.error.HTTPError as error:
        with error:
            raise AscendError("E42104", f"it answers {error.code} {error.reason}", where=url) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            reason = f"its answer takes longer than {endpoint.seconds:g} s"
        raise AscendError("E42104", reason or type(error).__name__, where=url) from None
    return _content(reply, url)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The prompt and the key go to the given server only."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _received(request: urllib.request.Request, endpoint: Endpoint) -> bytes:
    """The whole answer, within the limits of size and time, however slowly its head or body drips in."""
    outcome: list[bytes | Exception] = []

    def receive() -> None:
        try:
            outcome.append(_read(request, endpoint))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=receive, daemon=True)
    thread.start()
    thread.join(endpoint.seconds)
    if not outcome:
        raise ValueError(f"its answer takes longer than {endpoint.seconds:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _read(request: urllib.request.Request, endpoint: Endpoint) -> bytes:
    deadline = time.monotonic() + endpoint.seconds
    opener = urllib.request.build_opener(_NoRedirects)
    received = bytearray()
    with opener.open(request, timeout=endpoint.seconds) as response:
        while chunk := response.read1(_CHUNK):
            received += chunk
            if len(received) > MAX_ANSWER:
                raise ValueError(f"its answer is longer than {MAX_ANSWER} bytes")
            if time.monotonic() > deadline:
                raise ValueError(f"its answer takes longer than {endpoint.seconds:g} s")
    return bytes(received)


def _content(reply: bytes, url: str) -> str:
    try:
        content = json.loads(reply)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        shown = reply[:80].decode("utf-8", "replace")
        raise AscendError(
            "E42104", "its answer is no chat completion", where=url, details=[repr(shown)]
        ) from None
    if not isinstance(content, str):
        raise AscendError("E42104", "its answer has no text", where=url)
    return content

"""Answers checked, then slots in turn, round after round."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from .cases import CASES, Served
from .forms import Request, answer, request
from .load import Slot, load
from .servers import Running

#: (server, form, case) -> a slot for each round.
Slots = dict[tuple[str, str, str], list[Slot]]


def check_answers(running: Sequence[Running], served: Served) -> None:
    """Raises ValueError when a server answers otherwise than the runtime it holds, called directly."""
    for server in running:
        for case in CASES:
            right = served.expected[case.name, server.server.runtime]
            for form in server.server.forms:
                headers, body = _post(server.url, request(form, case.name, served.inputs[case.name]))
                got = answer(form, headers, body)
                if not np.array_equal(got.ravel(), right.ravel()):
                    raise ValueError(f"{server.server.title}, {form}, {case.name}: {got} instead of {right}")


def measure(
    running: Sequence[Running], served: Served, rounds: int, seconds: float, connections: int, work: Path
) -> Slots:
    """Slots of all servers, forms and cases; the first round warms up and isn't kept."""
    slots: Slots = {}
    for i in range(rounds + 1):
        for case in CASES:
            order = [(server, form) for server in running for form in server.server.forms]
            for server, form in order[i % len(order) :] + order[: i % len(order)]:
                sent = request(form, case.name, served.inputs[case.name])
                length = seconds if i else 1.0
                slot = load(server.url, sent, length, connections, work, server.cpu)
                if i:
                    slots.setdefault((server.server.name, form, case.name), []).append(slot)
        print(f"round {i} of {rounds}" if i else "warmed up", flush=True)
    return slots


def _post(url: str, sent: Request) -> tuple[Mapping[str, str], bytes]:
    found = urllib.request.Request(url + sent.path, sent.body, dict(sent.headers))
    with urllib.request.urlopen(found, timeout=30) as response:
        return {name.lower(): value for name, value in response.headers.items()}, response.read()

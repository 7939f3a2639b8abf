"""A request for inference and its answer, as every front end makes and reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError

Array = NDArray[np.generic]
Parameter = bool | int | float | str


@dataclass(slots=True)
class InferRequest:
    """inputs: arrays in the client's order, whose type and shape are the client's claim. outputs: the names
    that are wanted, all when empty. deadline: on the clock of time.monotonic, None without one. key: what a
    split between versions is sticky to, "" without one. traceparent: W3C trace context as received. profile:
    whether what runs for it is to be recorded."""

    model: str
    version: str
    inputs: dict[str, Array]
    outputs: tuple[str, ...] = ()
    id: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    deadline: float | None = None
    key: str = ""
    traceparent: str = ""
    profile: bool = False


@dataclass(slots=True)
class Timings:
    """Nanoseconds of one request: waiting in the queue, assembling its inputs, running the model (shared by
    all rows of its batch), cutting out its outputs. batch: the rows of the batch it rode in."""

    queue: int = 0
    compute_input: int = 0
    compute_infer: int = 0
    compute_output: int = 0
    batch: int = 1


@dataclass(slots=True)
class InferResponse:
    """outputs: in the order that was asked for, else the model's."""

    model: str
    version: str
    outputs: list[tuple[str, str, Array]]  # name, datatype, array
    id: str = ""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    timings: Timings = field(default_factory=Timings)


#: Receives the answer of a request, on the event loop: maybe before the call that submits it returns. One
#: that raises is called again, with that failure.
Reply = Callable[[InferResponse | AscendError], None]

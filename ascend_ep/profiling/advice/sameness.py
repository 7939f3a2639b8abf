"""Whether two bundles run the same: then there is nothing to measure, and noise can't say otherwise."""

from __future__ import annotations

import hashlib

from ascend_ep.runtime.binding import lib
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.bundle_records import Value

Fingerprint = tuple[object, ...]


def fingerprint(bundle: Bundle) -> Fingerprint:
    """What a bundle computes with, without names: calls, their arguments and operands, and all constants."""
    numbers: dict[str, int] = {}

    def operand(value: Value | None) -> object:
        if value is None:
            return None
        number = numbers.setdefault(value.name, len(numbers))
        return number, value.kind, value.dtype, value.dims, value.layout

    calls = [
        (
            call.kernel,
            call.ints,
            call.floats,
            call.native,
            tuple(map(operand, call.inputs)),
            tuple(map(operand, call.outputs)),
        )
        for partition in bundle.partitions
        if partition.is_native
        for call in bundle.instructions(partition)
    ]
    parts = (lib.ASC_PART_WEIGHTS, lib.ASC_PART_HOST, lib.ASC_PART_NATIVE)
    return tuple(calls), tuple(hashlib.sha256(bundle.part(part)).hexdigest() for part in parts)

"""Protobuf's wire format without any schema: what a model names, and where its weights lie, can be found
without loading it."""

from __future__ import annotations

from collections.abc import Iterator


def fields(view: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of each length-delimited field; (number, value, -1) of each varint.

    Fields of a fixed size are passed over. ValueError for what is no protobuf.
    """
    while at < end:
        tag, at = _varint(view, at, end)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(view, at, end)
            yield tag >> 3, value, -1
        elif kind == 2:
            length, at = _varint(view, at, end)
            if length > end - at:
                raise ValueError("truncated")
            yield tag >> 3, at, at + length
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("no protobuf")


def delimited(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return key(number, 2) + varint(len(content)) + content


def key(number: int, kind: int) -> bytes:
    """What comes before a field's value."""
    return varint(number << 3 | kind)


def varint(value: int) -> bytes:
    """A number of at most 63 bits that isn't negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise ValueError("truncated")
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("varint too long")

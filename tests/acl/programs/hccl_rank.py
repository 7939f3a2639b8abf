"""One rank of a communicator: operations of HCCL over simulated devices, their results compared with numpy's.

usage: hccl_rank.py LIBRARY RANKS RANK CASE; the root info, 4108 bytes, comes on the standard input.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable

import numpy as np

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
TYPES = {
    "int8": 0,
    "int16": 1,
    "int32": 2,
    "float16": 3,
    "float32": 4,
    "int64": 5,
    "uint64": 6,
    "uint8": 7,
    "uint16": 8,
    "uint32": 9,
    "float64": 10,
    "bfloat16": 11,
}
REDUCTIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3}
COUNTS = (1, 1037)
#: Elements of several steps, and of several parts of messages.
LONG = 700_001

library = ctypes.CDLL(sys.argv[1])
ranks, rank, case = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
comm, stream = ctypes.c_void_p(), ctypes.c_void_p()


def call(name: str, *arguments: object) -> None:
    code = getattr(library, name)(*arguments)
    assert code == 0, f"{name}: {code}: {message()}"


def message() -> str:
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return (library.aclGetRecentErrMsg() or b"").decode()


class Device:
    """An array in the device's memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = np.array(array)
        self.pointer = ctypes.c_void_p()
        call("aclrtMalloc", ctypes.byref(self.pointer), ctypes.c_size_t(max(self.array.nbytes, 1)), 0)
        self._copy(self.pointer, ctypes.c_void_p(self.array.ctypes.data), HOST_TO_DEVICE)

    def _copy(self, to: object, source: object, kind: int) -> None:
        size = ctypes.c_size_t(self.array.nbytes)
        if self.array.nbytes:
            call("aclrtMemcpy", to, size, source, size, kind)

    def get(self) -> np.ndarray:
        """Frees the memory, too."""
        call("aclrtSynchronizeStream", stream)
        self._copy(ctypes.c_void_p(self.array.ctypes.data), self.pointer, DEVICE_TO_HOST)
        call("aclrtFree", self.pointer)
        return self.array


def words(values: list[int]) -> ctypes.Array[ctypes.c_uint64]:
    return (ctypes.c_uint64 * len(values))(*values)


def count_of(n: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(n)


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def data(kind: str, of: int, count: int) -> np.ndarray:
    """What a rank contributes: the same in every process; bfloat16 as its bits."""
    random = np.random.default_rng([of, count, TYPES[kind]])
    if kind in ("float16", "float32", "float64", "bfloat16"):
        values = random.uniform(-2, 2, count)
        return to_bfloat16(values) if kind == "bfloat16" else values.astype(kind)
    low = 0 if kind.startswith("u") else -100
    return random.integers(low, 100, count).astype(kind)


def reduced(kind: str, op: str, parts: list[np.ndarray]) -> np.ndarray:
    wide = [from_bfloat16(p) if kind == "bfloat16" else p for p in parts]
    wide = [p.astype(np.float32) if kind == "float16" else p for p in wide]
    join = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[op]
    result = wide[0]
    for part in wide[1:]:
        result = join(result, part)
    return to_bfloat16(result) if kind == "bfloat16" else result.astype(parts[0].dtype)


def same(got: np.ndarray, wanted: np.ndarray, *what: object) -> None:
    assert np.array_equal(got, wanted), (what, got[:8], wanted[:8])


# ---- cases -------------------------------------------------------------------------------------------------


def reduce_cases(kind: str, op: str, count: int) -> None:
    kind_code, op_code = TYPES[kind], REDUCTIONS[op]
    parts = [data(kind, r, count) for r in range(ranks)]
    wanted = reduced(kind, op, parts)
    sent, got = Device(parts[rank]), Device(np.zeros_like(wanted))
    call("HcclAllReduce", sent.pointer, got.pointer, count_of(count), kind_code, op_code, comm, stream)
    same(got.get(), wanted, "AllReduce", kind, op, count)
    root, got = ranks - 1, Device(np.zeros_like(wanted))
    call("HcclReduce", sent.pointer, got.pointer, count_of(count), kind_code, op_code, root, comm, stream)
    same(got.get(), wanted if rank == root else np.zeros_like(wanted), "Reduce", kind, op)
    call("HcclAllReduce", sent.pointer, sent.pointer, count_of(count), kind_code, op_code, comm, stream)
    same(sent.get(), wanted, "AllReduce in place", kind, op, count)
    whole = [data(kind, r, count * ranks) for r in range(ranks)]
    wanted = reduced(kind, op, whole)[rank * count : (rank + 1) * count]
    sent, got = Device(whole[rank]), Device(np.zeros_like(wanted))
    call("HcclReduceScatter", sent.pointer, got.pointer, count_of(count), kind_code, op_code, comm, stream)
    same(got.get(), wanted, "ReduceScatter", kind, op, count)
    sent.get()


def move_cases(kind: str, count: int) -> None:
    code = TYPES[kind]
    parts = [data(kind, r, count) for r in range(ranks)]
    for root in range(ranks):
        buffer = Device(parts[rank])
        call("HcclBroadcast", buffer.pointer, count_of(count), code, root, comm, stream)
        same(buffer.get(), parts[root], "Broadcast", kind, count, root)
    sent, got = Device(parts[rank]), Device(np.zeros(count * ranks, parts[0].dtype))
    call("HcclAllGather", sent.pointer, got.pointer, count_of(count), code, comm, stream)
    same(got.get(), np.concatenate(parts), "AllGather", kind, count)
    sent.get()
    whole = [data(kind, r, count * ranks) for r in range(ranks)]
    sent, got = Device(whole[rank]), Device(np.zeros(count * ranks, parts[0].dtype))
    counts = (count_of(count), code)
    call("HcclAlltoAll", sent.pointer, *counts, got.pointer, *counts, comm, stream)
    own = slice(rank * count, (rank + 1) * count)
    same(got.get(), np.concatenate([w[own] for w in whole]), "AlltoAll", kind, count)
    got = Device(np.zeros(count, parts[0].dtype))
    call("HcclScatter", sent.pointer, got.pointer, count_of(count), code, 0, comm, stream)
    same(got.get(), whole[0][own], "Scatter", kind, count)
    sent.get()


def uneven_cases(kind: str) -> None:
    """Of rank r, r * 300_000 + 3 elements: those of rank 0 end steps before the others'."""
    code = TYPES[kind]
    counts = [r * 300_000 + 3 for r in range(ranks)]
    offsets = [sum(counts[:r]) + r for r in range(ranks)]  # with a gap between any two
    room = offsets[-1] + counts[-1]
    parts = [data(kind, r, counts[r]) for r in range(ranks)]
    sent, got = Device(parts[rank]), Device(np.zeros(room, parts[0].dtype))
    arguments = (got.pointer, words(counts), words(offsets), code, comm, stream)
    call("HcclAllGatherV", sent.pointer, count_of(counts[rank]), *arguments)
    wanted = np.zeros(room, parts[0].dtype)
    for part, offset in zip(parts, offsets, strict=True):
        wanted[offset : offset + len(part)] = part
    same(got.get(), wanted, "AllGatherV", kind)
    sent.get()
    whole = [data(kind, r, room) for r in range(ranks)]
    wanted = reduced(kind, "sum", whole)[offsets[rank] : offsets[rank] + counts[rank]]
    sent, got = Device(whole[rank]), Device(np.zeros_like(wanted))
    given = (sent.pointer, words(counts), words(offsets))
    call("HcclReduceScatterV", *given, got.pointer, count_of(counts[rank]), code, 0, comm, stream)
    same(got.get(), wanted, "ReduceScatterV", kind)
    sent.get()
    all_to_all_uneven(kind)


def all_to_all_uneven(kind: str) -> None:
    """Rank i sends rank j (i + 2 * j) * 40_000 elements, to some none."""
    code = TYPES[kind]
    matrix = [[(i + 2 * j) * 40_000 for j in range(ranks)] for i in range(ranks)]
    sends, receives = matrix[rank], [row[rank] for row in matrix]
    at = [[sum(row[:j]) for j in range(ranks)] for row in matrix]
    whole = [data(kind, r, sum(matrix[r])) for r in range(ranks)]
    wanted = np.concatenate([whole[r][at[r][rank] :][: matrix[r][rank]] for r in range(ranks)])
    received_at = [sum(receives[:r]) for r in range(ranks)]
    sent, got = Device(whole[rank]), Device(np.zeros_like(wanted))
    there = (sent.pointer, words(sends), words(at[rank]), code)
    back = (got.pointer, words(receives), words(received_at), code)
    call("HcclAlltoAllV", *there, *back, comm, stream)
    same(got.get(), wanted, "AlltoAllV", kind)
    got = Device(np.zeros_like(wanted))
    counts = words([n for row in matrix for n in row])
    call("HcclAlltoAllVC", sent.pointer, counts, code, got.pointer, code, comm, stream)
    same(got.get(), wanted, "AlltoAllVC", kind)
    sent.get()


class Item(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("peer", ctypes.c_uint32),
    )


def message_cases(kind: str, count: int) -> None:
    """Around the ring: even ranks send first, then all at once, then as a group."""
    code, after, before = TYPES[kind], (rank + 1) % ranks, (rank - 1) % ranks
    wanted = data(kind, before, count)
    sent, got = Device(data(kind, rank, count)), Device(np.zeros_like(wanted))
    steps = [("HcclSend", sent, after), ("HcclRecv", got, before)]
    for name, buffer, peer in steps if rank % 2 == 0 else reversed(steps):
        call(name, buffer.pointer, count_of(count), code, peer, comm, stream)
    same(got.get(), wanted, "Send and Recv", kind, count)
    got = Device(np.zeros_like(wanted))
    items = (Item * 2)(Item(0, sent.pointer, count, code, after), Item(1, got.pointer, count, code, before))
    call("HcclBatchSendRecv", items, 2, comm, stream)
    same(got.get(), wanted, "BatchSendRecv", kind, count)
    got = Device(np.zeros_like(wanted))
    call("HcclGroupStart")
    for name, buffer, peer in steps[:1]:
        call(name, buffer.pointer, count_of(count), code, peer, comm, stream)
    call("HcclRecv", got.pointer, count_of(count), code, before, comm, stream)
    call("HcclGroupEnd")
    same(got.get(), wanted, "a group", kind, count)
    sent.get()


def everything() -> None:
    for kind in TYPES:
        for op in REDUCTIONS:
            for count in COUNTS:
                reduce_cases(kind, op, count)
        for count in COUNTS:
            move_cases(kind, count)
        message_cases(kind, 1037)
    for kind in ("float32", "int8"):
        reduce_cases(kind, "sum", LONG)
        move_cases(kind, LONG)
        message_cases(kind, LONG)
    uneven_cases("int16")
    call("HcclBarrier", comm, stream)
    call("aclrtSynchronizeStream", stream)


def some() -> None:
    reduce_cases("float32", "sum", 1037)
    move_cases("float32", 1037)
    message_cases("float32", 1037)


def finish(pointer: ctypes.c_void_p) -> None:
    """Synchronizes; the communicator's own code for what came of it."""
    code, asynchronous = library.aclrtSynchronizeStream(stream), ctypes.c_int()
    text = message()
    call("HcclGetCommAsyncError", comm, ctypes.byref(asynchronous))
    assert (code != 0) == (asynchronous.value != 0), (code, asynchronous.value)
    print(f"code {asynchronous.value} of the communicator, {code} of the stream: {text}")
    again = library.HcclAllReduce(pointer, pointer, count_of(1), 4, 0, comm, stream)
    print(f"again {again}: {message()}")
    assert code


def differ() -> None:
    """Rank r reduces r + 1 elements."""
    buffer = Device(np.zeros(4, np.float32))
    call("HcclAllReduce", buffer.pointer, buffer.pointer, count_of(rank + 1), 4, 0, comm, stream)
    finish(buffer.pointer)


def wait() -> None:
    """Rank 0 reduces, the others sleep."""
    buffer = Device(np.zeros(4, np.float32))
    if rank:
        print("ready", flush=True)
        time.sleep(100)
    call("HcclAllReduce", buffer.pointer, buffer.pointer, count_of(4), 4, 0, comm, stream)
    finish(buffer.pointer)


def destroy() -> None:
    """Rank 0 destroys the communicator while its operation waits for rank 1."""
    buffer = Device(np.zeros(4, np.float32))
    if rank == 0:
        call("HcclRecv", buffer.pointer, count_of(4), 4, 1, comm, stream)
        call("HcclCommDestroy", comm)
    else:
        call("HcclAllReduce", buffer.pointer, buffer.pointer, count_of(4), 4, 0, comm, stream)
    print(f"code {library.aclrtSynchronizeStream(stream)}: {message()}", flush=True)
    assert library.HcclCommDestroy(comm) == (1 if rank == 0 else 0)
    os._exit(0)


CASES: dict[str, Callable[[], None]] = {
    "everything": everything,
    "some": some,
    "differ": differ,
    "wait": wait,
    "destroy": destroy,
}


def main() -> None:
    call("aclInit", None)
    call("aclrtSetDevice", rank % int(os.environ.get("ASCEND_EP_DEVICES", "1")))
    call("aclrtCreateStream", ctypes.byref(stream))
    info = sys.stdin.buffer.read(4108)
    begun = time.monotonic()
    call("HcclCommInitRootInfo", ranks, info, rank, ctypes.byref(comm))
    CASES[case]()
    call("HcclCommDestroy", comm)
    call("aclrtDestroyStream", stream)
    call("aclrtResetDevice", 0)
    print(f"rank {rank} done in {time.monotonic() - begun:.2f} s")


main()

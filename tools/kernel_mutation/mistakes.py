"""The classes of mistakes: how each changes the lines of a kernel that is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

#: The changed lines from a line on, and how many lines they replace.
Change = tuple[str, int]
_COPY = re.compile(r"^(\s*DataCopy\(.*, )([^,()]+(?:\([^()]*\))?)\);\s*$")
_VECTOR = (
    "Add|Sub|Mul|Div|Max|Min|Adds|Muls|Maxs|Mins|Exp|Ln|Abs|Sqrt|Rsqrt|Relu|LeakyRelu|Reciprocal|Cast|Duplicate"
    "|Axpy|And|Or|Not|Compare|Compares|CompareScalar|Select"
)
_COUNTED = re.compile(rf"^(\s*(?:AscendC::)?(?:{_VECTOR})(?:<[^;()]*>)?\(.*, )([A-Za-z_0-9][\w.]*)\);\s*$")
_SPLIT = re.compile(r"\b([A-Za-z_]\w*)\.((?:En|De)Que|FreeTensor|AllocTensor)\b")
_SYNC = r"ErrorSync\d"
#: Words of a line that say nothing about what it works on.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """LocalTensor GlobalTensor AscendC DataCopy DataCopyPad DataCopyExtParams PipeBarrier PIPE_V PIPE_ALL
        EnQue DeQue AllocTensor FreeTensor InitBuffer SetGlobalBuffer GetBlockIdx GetBlockNum HardEvent
        SetFlag WaitFlag TILE uint32_t int32_t uint64_t float half int sizeof static_cast const auto return
        template for if else this void inline __aicore__ typename""",
    )
)


@dataclass(frozen=True)
class Mistake:
    """kind: its class. line: where it is, from 1. text: the whole source with it. was, now: that line. names:
    what the line works on. strict: only a run that wants every synchronisation written can name it. is_rule:
    it breaks a rule of the chip, which is to be named; the others may show in the values alone."""

    kind: str
    line: int
    text: str
    was: str
    now: str
    names: frozenset[str]
    strict: bool = False
    is_rule: bool = True
    far: str = ""


@dataclass(frozen=True)
class Kind:
    """change: None where the line has no place for the mistake. far: kinds of faults (a pattern) that name it
    at the line that meets it, whatever that works on."""

    name: str
    change: Callable[[Sequence[str], int], Change | None]
    strict: bool = False
    is_rule: bool = True
    far: str = ""


def mistakes(text: str) -> Iterator[Mistake]:
    """Every mistake that a kernel has a place for."""
    lines = text.splitlines()
    for kind in KINDS:
        for at, line in enumerate(lines):
            if line.lstrip().startswith(("//", "*", "/*", "#")):
                continue
            change = kind.change(lines, at)
            if change is None or change[0] == line:
                continue
            new, count = change
            whole = "\n".join([*lines[:at], new, *lines[at + count :], ""])
            yield Mistake(
                kind.name, at + 1, whole, line.strip(), new.strip(), names_of(line),
                kind.strict, kind.is_rule, kind.far,
            )  # fmt: skip


def names_of(line: str) -> frozenset[str]:
    """What a line works on."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", line)) - _COMMON


def _gone(pattern: str) -> Callable[[Sequence[str], int], Change | None]:
    """A statement of one line left out."""
    found = re.compile(rf"^\s*(?:AscendC::)?(?:[\w.]+(?:\.|->))?(?:template )?(?:{pattern}).*;\s*$")
    return lambda lines, at: ("", 1) if found.match(lines[at]) and not _declares(lines[at]) else None


def _declares(line: str) -> bool:
    return re.match(r"\s*(?:const |auto |LocalTensor|event_t|(?:u?int\d+_t|float|half) )", line) is not None


def _twice(pattern: str) -> Callable[[Sequence[str], int], Change | None]:
    found = re.compile(rf"^\s*(?:AscendC::)?(?:[\w.]+(?:\.|->))?(?:template )?(?:{pattern}).*;\s*$")
    return lambda lines, at: (f"{lines[at]} {lines[at].strip()}", 1) if found.match(lines[at]) else None


def _in_place(pattern: str, to: str, within: str = "") -> Callable[[Sequence[str], int], Change | None]:
    """A part of a line replaced, on lines that have `within`."""

    def change(lines: Sequence[str], at: int) -> Change | None:
        line = lines[at]
        if within and not re.search(within, line):
            return None
        return re.sub(pattern, to, line, count=1), 1

    return change


def _last_argument(pattern: re.Pattern[str], to: str) -> Callable[[Sequence[str], int], Change | None]:
    def change(lines: Sequence[str], at: int) -> Change | None:
        found = pattern.match(lines[at])
        return (found[1] + to.format(found[2]) + ");", 1) if found else None

    return change


def _freed_early(lines: Sequence[str], at: int) -> Change | None:
    """FreeTensor before the statement in front of it, which uses the tensor."""
    found = re.match(r"\s*\w+\.FreeTensor\((\w+)\);\s*$", lines[at + 1]) if at + 1 < len(lines) else None
    used = found is not None and re.search(rf"\b{found[1]}\b", lines[at]) and lines[at].rstrip().endswith(";")
    return (f"{lines[at + 1].strip()} {lines[at].strip()}", 2) if used and not _declares(lines[at]) else None


def _turned(lines: Sequence[str], at: int) -> Change | None:
    """The other direction of an event."""
    found = re.search(r"\b(Set|Wait)Flag<((?:AscendC::)?HardEvent::)(\w+?)_(\w+)>", lines[at])
    if found is None:
        return None
    return lines[at].replace(found[0], f"{found[1]}Flag<{found[2]}{found[4]}_{found[3]}>"), 1


def _other_queue(lines: Sequence[str], at: int) -> Change | None:
    """A tensor put into another queue of the kernel."""
    queues = sorted({m[1] for line in lines for m in [_SPLIT.search(line)] if m})
    found = re.match(r"\s*(\w+)\.EnQue", lines[at])
    others = [q for q in queues if found and q != found[1]]
    return (lines[at].replace(found[1], others[0], 1), 1) if found and others else None


_FOR, _LOADS = r"^\s*for", r"DataCopy(?:Pad)?\(\w+, \w*[gG]m"
_UNTIL = r"(\w+) < ([^;]+); (\w+)\+\+"
_COUNTS = r"^\s*(?:const )?uint32_t \w+ = "
_STRIDES = r"\{1, 1, 1, 8, 8, 8\}"
KINDS = (
    Kind("EnQue left out", _gone("EnQue")),
    Kind("EnQue twice", _twice("EnQue")),
    Kind("AllocTensor for DeQue", _in_place(r"\bDeQue<", "AllocTensor<")),
    Kind("another queue", _other_queue),
    Kind("FreeTensor left out", _gone("FreeTensor")),
    Kind("FreeTensor twice", _twice("FreeTensor")),
    Kind("freed before its last use", _freed_early),
    Kind("PipeBarrier left out", _gone(r"PipeBarrier<(?:AscendC::)?PIPE_V>"), strict=True, far=_SYNC),
    Kind("SetFlag left out", _gone("SetFlag"), far=_SYNC),
    Kind("WaitFlag left out", _gone("WaitFlag"), far=_SYNC),
    Kind("WaitFlag of another event", _in_place(r"EVENT_ID[01]\b", "EVENT_ID5", "WaitFlag")),
    Kind("an event's other direction", _turned),
    Kind("SyncAll left out", _gone("SyncAll"), far=_SYNC + "|ErrorRead2"),
    Kind("CrossCoreSetFlag left out", _gone("CrossCoreSetFlag"), far=_SYNC),
    Kind("CrossCoreWaitFlag left out", _gone("CrossCoreWaitFlag"), far=_SYNC),
    Kind("DataCopy too long", _last_argument(_COPY, "{0} + 32")),
    Kind("DataCopy too short", _last_argument(_COPY, "{0} - 16"), is_rule=False),
    Kind("DataCopy of no whole blocks", _last_argument(_COPY, "{0} - 1")),
    Kind("DataCopy left out", _gone(r"DataCopy(?:Pad)?\((?!\w*[gG]m)")),
    Kind("DataCopy from an unaligned place", _in_place(r"(DataCopy(?:Pad)?\(\w+), ", r"\1[1], ", _LOADS)),
    Kind(
        "block length of DataCopyPad too long",
        _in_place(r"\b(\w+) \* sizeof\(", r"(\1 + 64) * sizeof(", "DataCopyExtParams"),
    ),
    Kind(
        "global offset one too far",
        _in_place(r"(\w*[gG]m\w*)\[(.*?)\]", r"\1[(\2) + 1]", "DataCopy"),
        is_rule=False,
    ),
    Kind("vector count too large", _last_argument(_COUNTED, "{0} + 4096")),
    Kind("vector count too small", _last_argument(_COUNTED, "{0} / 2"), is_rule=False),
    Kind("vector instruction left out", _gone(rf"(?:{_VECTOR})(?:<[^;()]*>)?\("), is_rule=False),
    Kind(
        "buffer too small",
        _in_place(r"(InitBuffer\(\w+, .*), (\w+) \*", r"\1, \2 / 4 *", "InitBuffer"),
        far="ErrorRead3|ErrorWrite2",
    ),
    Kind("buffer left out", _gone("InitBuffer")),
    Kind("input queue as output queue", _in_place(r"\bVECIN\b", "VECOUT", "TQue"), far=_SYNC),
    Kind("output queue as input queue", _in_place(r"\bVECOUT\b", "VECIN", "TQue"), far=_SYNC),
    Kind("all blocks at one place", _in_place(r"\bGetBlockIdx\(\)", "(GetBlockIdx() * 0)"), is_rule=False),
    Kind("first tile left out", _in_place(r"= 0; (\w+) <", r"= 1; \1 <", _FOR), is_rule=False),
    Kind("last tile left out", _in_place(_UNTIL, r"\1 + 1 < \2; \3++", _FOR), is_rule=False),
    Kind("one tile too many", _in_place(_UNTIL, r"\1 <= \2; \3++", _FOR), is_rule=False),
    Kind(
        "a count in too few bits",
        _in_place(r"= (.*);", r"= static_cast<uint8_t>(\1);", _COUNTS),
        is_rule=False,
    ),
    Kind(
        "division by zero",
        _in_place(r" ([/%]) (\w+)(?=[ ;)])", r" \1 (\2 - \2)", r"\w [/%] \w"),
        is_rule=False,
    ),
    Kind("repeat stride too large", _in_place(_STRIDES, "{1, 1, 1, 8, 8, 60}"), is_rule=False),
    Kind("repeat times too many", _in_place(rf"(, )(\w+)(, {_STRIDES})", r"\1\2 + 30\3")),
    Kind("mask too large", _in_place(r"\bMASK\b", "2 * MASK", _STRIDES)),
    Kind("atomics left on", _gone("SetAtomicNone"), is_rule=False),
    Kind("atomics left out", _gone("SetAtomicAdd"), is_rule=False),
)

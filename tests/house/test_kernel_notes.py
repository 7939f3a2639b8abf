"""What shapes decide, `prepare` finds out and leaves in the call's note: a `run` reads no arguments.

Those that still do are listed. Most of them read what only the data says, such as axes that are an operand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from test_circles import plain

ROOT = Path(__file__).resolve().parent.parent.parent
KERNELS = ROOT / "native" / "kernels"

#: Kernels whose run reads its arguments, and why.
READ = {
    **dict.fromkeys(
        ("cumsum", "cumprod", "col2im", "pad", "reduce"), "axes, blocks or pads may be an operand"
    ),
    **dict.fromkeys(
        ("resize", "resize_nearest", "trilu", "expect_ints"), "sizes or numbers may be an operand"
    ),
    **dict.fromkeys(("quantize", "dequantize"), "the axis of scales, which are an operand"),
    **dict.fromkeys(("gather", "gather_elements", "gather_nd", "one_hot", "concat"), "one number: the axis"),
    **dict.fromkeys(("scatter_elements", "scatter_nd", "tensor_scatter"), "the reduction and the axis"),
    **dict.fromkeys(("reverse_sequence",), "two axes"),
    "byte_binary": "scales, zero points and bounds, which are used as they are",
    "elementwise": "the program, of any length",
    "ints": "the elements that it writes",
}
READS = re.compile(r"\bASC_(?:INTS|FLOATS)_AS\b|\bcall->(?:ints|floats)\b")

Function = tuple[Path, str]


def functions(text: str) -> Iterator[tuple[str, bool, str]]:
    """The functions of a C file without comments: name, whether it is the file's own, and body."""
    depth = start = end = 0
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            start = start if depth else brace.start()
            depth += 1
            continue
        depth -= 1
        if depth == 0:
            head = text[end:start]
            named = re.search(r"\b(\w+)\s*\([^;{}]*\)\s*$", head)
            if named:
                yield named.group(1), bool(re.search(r"\bstatic\b", head)), text[start : brace.end()]
            end = brace.end()


def readers(folder: Path) -> dict[str, list[str]]:
    """Kernels whose run reads arguments: the calls that lead there."""
    bodies: dict[Path, dict[str, str]] = {}
    shared: dict[str, list[Function]] = {}
    for file in sorted(folder.rglob("*.[ch]")):
        bodies[file] = {}
        for name, own, body in functions(plain(file.read_text())):
            bodies[file][name] = body
            if not own or file.suffix == ".h":
                shared.setdefault(name, []).append((file, name))

    @cache
    def called(function: Function) -> tuple[Function, ...]:
        file, name = function
        words = set(re.findall(r"(?<![>.])\b[A-Za-z_]\w*\b", bodies[file][name])) - {name}
        own = bodies[file].keys()
        return tuple(c for w in sorted(words) for c in ([(file, w)] if w in own else shared.get(w, [])))

    rows = set(re.findall(r"^ASC_KERNEL\w*\(.*?, (\w+)\)$", (folder / "table.inc").read_text(), re.MULTILINE))
    found = {}
    for row in sorted(rows):
        before: dict[Function, Function | None] = dict.fromkeys(shared[f"{row}_run"])
        waiting = list(before)
        while waiting:
            function = waiting.pop()
            if READS.search(bodies[function[0]][function[1]]):
                found[row] = [function[1]]
                while (up := before[function]) is not None:
                    function = up
                    found[row].append(function[1])
                break
            for other in called(function):
                if other not in before:
                    before[other] = function
                    waiting.append(other)
    return found


def test_runs_read_no_arguments() -> None:
    found = readers(KERNELS)
    assert {row: calls for row, calls in found.items() if row not in READ} == {}
    assert set(READ) - set(found) == set(), "these no longer do"


@pytest.mark.parametrize(
    ("run", "reads"),
    [
        ("ASC_INTS_AS(asc_x_params, call)->mode;", True),
        ("call->floats[0];", True),
        ("helped(call);", True),
        ("job->floats; use(call->note);", False),
    ],
)
def test_a_planted_reader_is_found(tmp_path: Path, run: str, reads: bool) -> None:
    (tmp_path / "table.inc").write_text('ASC_KERNEL("x", "f:f", 0, x)\n')
    helped = "static int helped(const asc_call *call) { return ASC_INTS_AS(a, call)->b; }\n"
    (tmp_path / "x.c").write_text(f"{helped}int32_t ASC_FN(x_run)(const asc_call *call) {{ {run} }}\n")
    assert ("x" in readers(tmp_path)) == reads

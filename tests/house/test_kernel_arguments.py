"""Arguments of kernels are defined once, in native/include/asc_plan.h; a second definition is caught.

Python reaches ints and floats of instructions by the names of that header (plan/kernel_params.py), and
has its constants from the library.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from ascend_ep.plan.kernel_params import MATMUL, Params, choices
from ascend_ep.runtime._rt import ffi, lib

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = [ROOT / "ascend_ep" / "compiler", ROOT / "ascend_ep" / "plan"]
HEADER = ROOT / "native" / "include" / "asc_plan.h"


def constants() -> dict[str, int]:
    """What the header defines, by name."""
    body = HEADER.read_text().split("/* cffi:begin */", 1)[1].split("/* cffi:end */", 1)[0]
    return {
        name: getattr(lib, name)
        for name in re.findall(r"\bASC_\w+", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    }


def misfits(file: Path, names: dict[str, int]) -> Iterator[str]:
    """Second definitions in a file."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Subscript(value=ast.Attribute(attr="ints" | "floats") | ast.Name(id="ints" | "floats")):
                yield ast.unparse(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int(value))):
                if any(full.endswith(f"_{name}") and value == known for full, known in names.items()):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr="emit"), args=[_, _, _, *arguments]):
                if any(isinstance(a, ast.List | ast.Tuple) and a.elts for a in arguments):
                    yield ast.unparse(node)
            case _:
                pass


def test_no_second_definition_in_python() -> None:
    names = constants()
    found = {
        f"{file.relative_to(folder)}: {text}"
        for folder in FOLDERS
        for file in sorted(folder.rglob("*.py"))
        if file.name != "kernel_params.py"
        for text in misfits(file, names)
    }
    assert not found


@pytest.mark.parametrize(
    "planted",
    [
        "if insn.ints[2] == 12: pass",
        "alpha = product.floats[0]",
        "MASK = insn.ints[ACTIVATION]",
        "GATED = 12",
        "class Activation(IntEnum):\n    RELU = 1",
        "PANEL = 32",
        "b.emit('matmul', ins, outs, [0, 0, 12], floats)",
        "b.emit('pad', ins, outs, (mode, *pads))",
        "b.emit(kernel, ins, outs, [axis])",
        "b.emit('batch_norm', ins, outs, [], [epsilon])",
    ],
)
def test_planted_definition_is_caught(tmp_path: Path, planted: str) -> None:
    file = tmp_path / "planted.py"
    file.write_text(planted)
    assert list(misfits(file, constants()))


def by_position(text: str) -> list[str]:
    """Where C reads arguments by position: at an index, behind an offset, or as an array of its own."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r"call->(?:ints|floats)(?:\[| \+|;|,)[^\n]*", code)


def test_kernels_read_nothing_by_position() -> None:
    kernels = ROOT / "native" / "kernels"
    found = {
        file.relative_to(kernels).as_posix()
        for pattern in ("*.c", "*.h")
        for file in kernels.rglob(pattern)
        if by_position(file.read_text())
    }
    # Programs are no structs; the ints of kernel `ints` are the elements that it writes.
    assert found == {"elementwise/elementwise_decode.c", "creation/ints.c"}


@pytest.mark.parametrize(
    "planted",
    ["n = call->ints[0];", "p = call->ints + 1;", "const int64_t *i = call->ints;", "call->floats[k]"],
)
def test_planted_position_is_caught(planted: str) -> None:
    assert by_position(planted)
    assert not by_position(f"/* {planted} */ ASC_INTS_AS(asc_pad_params, call)->mode")


def test_arguments_are_named() -> None:
    ints = MATMUL.pack(trans_a=0, trans_b=1, activation=choices("asc_activation")["gated"])
    assert ints == (0, 1, lib.ASC_ACTIVATION_GATED)
    assert MATMUL.put(ints, trans_b=0, block=64) == (0, 0, lib.ASC_ACTIVATION_GATED, 64)
    assert (MATMUL.get(ints, "trans_b"), MATMUL.has(ints, "block")) == (1, False)
    for wrong in ({"trans_a": 0, "activation": 0}, {"trans_a": 0, "trans_b": 0, "activate": 0}):
        with pytest.raises(TypeError):
            MATMUL.pack(**wrong)


def test_a_struct_lies_as_its_ints_do() -> None:
    """What Python packs by name is what C reads by name."""
    from ascend_ep.plan import kernel_params

    for params in vars(kernel_params).values():
        if isinstance(params, Params):
            count = len(params.names)
            kind = "double" if params.struct.endswith(("floats", "numbers")) else "int64_t"
            packed = ffi.new(f"{kind}[]", list(params.pack(**{n: i for i, n in enumerate(params.names)})))
            read = ffi.cast(f"{params.struct} *", packed)
            fields = ffi.typeof(params.struct).fields[: -1 if params.repeats else None]
            members = [getattr(read, name) for name, _ in fields]
            values = [list(m) if isinstance(m, ffi.CData) else [m] for m in members]
            assert list(chain.from_iterable(values)) == list(range(count))

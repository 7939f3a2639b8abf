"""--dynamic_batch_size, --dynamic_image_size, --dynamic_dims: the sizes of -1 dimensions at which the model
will run, as atc defines them. One of the flags at most, with --input_shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ascend_ep.cli.atc_shapes import Dimension
from ascend_ep.errors import AscendError

FLAGS = ("dynamic_batch_size", "dynamic_image_size", "dynamic_dims")
FEWEST, MOST = 2, 100

#: -1 as --input_shape gives it, without a range
FREE = (1, None)
Shapes = Mapping[str, Sequence[Dimension]]
#: An input and an axis of it that is -1.
Place = tuple[str, int]
#: For each number of a profile the name of a symbol, and where it stands.
Named = list[tuple[str, list[Place]]]


@dataclass(frozen=True)
class Profiles:
    """`columns`: the symbol (or the one size) of each number of a profile, in the flag's order;
    `symbols`: that of each -1 dimension; `profiles`: the sizes of all symbols."""

    columns: list[int | str]
    symbols: dict[Place, int | str]
    profiles: list[dict[str, int]]


def read_profiles(given: Mapping[str, str], shapes: Shapes) -> Profiles | None:
    """What the flag given asks for, None without one. `shapes` are those of --input_shape."""
    flag = next((f for f in FLAGS if given.get(f)), None)
    if flag is None:
        return None
    if not given.get("input_shape"):
        raise AscendError("E10004", "input_shape", details=[f"--{flag} gives sizes to its -1 dimensions"])
    places = [
        (name, i) for name, dims in shapes.items() for i, d in enumerate(dims) if not isinstance(d, int)
    ]
    if any(shapes[name][axis] != FREE for name, axis in places):
        raise AscendError("E10040")
    rows = _rows(flag, given[flag])
    if flag == "dynamic_batch_size":
        names = _batch(shapes, places)
    elif flag == "dynamic_image_size":
        names = _image(given, shapes, places, rows)
    else:
        names = _dims(given, shapes, places, rows)
    return _unified(names, rows)


def _rows(flag: str, text: str) -> list[tuple[int, ...]]:
    """The profiles as numbers; checks their count, sizes and lengths, and that none occurs twice."""
    if flag == "dynamic_batch_size":
        if ";" in text:
            raise AscendError("E10003", text, flag, "Batch sizes are separated by commas.")
        groups = [[number] for number in text.split(",") if number]
    else:
        groups = [group.split(",") for group in text.split(";") if group.strip()]
    rows = [tuple(int(number) for number in group if number.strip()) for group in groups]
    if len(rows) < FEWEST:
        raise AscendError("E10035", str(len(rows)), str(FEWEST))
    if len(rows) > MOST:
        raise AscendError("E10036", str(len(rows)), str(MOST))
    for row in rows:
        if len(row) != len(rows[0]):
            raise AscendError("E10037", str(len(rows[0])), str(len(row)))
        if bad := [n for n in row if n <= 0]:
            raise AscendError("E10038", str(bad[0]))
        if huge := [n for n in row if n >= 2**31]:
            raise AscendError("E10013", str(huge[0]), flag)
    if len(set(rows)) != len(rows):
        raise AscendError("E10039")
    return rows


def _batch(shapes: Shapes, places: Sequence[Place]) -> Named:
    if any(not dims for dims in shapes.values()):
        raise AscendError("E10012")
    for name, axis in places:
        if axis != 0:
            raise AscendError("E10018", _text(shapes[name]), name)
    if not places:
        raise AscendError("E10031")
    return [("batch", list(places))]


def _image(
    given: Mapping[str, str], shapes: Shapes, places: Sequence[Place], rows: Sequence[Sequence[int]]
) -> Named:
    if len(rows[0]) != 2:
        raise AscendError("E10020", given["dynamic_image_size"])
    layout = given.get("input_format") or "NCHW"
    if layout not in ("NCHW", "NHWC"):
        reason = "--dynamic_image_size needs NCHW or NHWC."
        raise AscendError("E10001", layout, "--input_format", reason)
    height, width = layout.index("H"), layout.index("W")
    if not places:
        raise AscendError("E10040")
    for name in dict.fromkeys(name for name, _ in places):
        axes = {axis for other, axis in places if other == name}
        if len(shapes[name]) != 4 or axes != {height, width}:
            raise AscendError("E10019", details=[f"{name}:{_text(shapes[name])}"])
    return [
        ("height", [p for p in places if p[1] == height]),
        ("width", [p for p in places if p[1] == width]),
    ]


def _dims(
    given: Mapping[str, str], shapes: Shapes, places: Sequence[Place], rows: Sequence[Sequence[int]]
) -> Named:
    layout = given.get("input_format")
    if layout not in (None, "", "ND"):
        raise AscendError("E10001", layout, "--input_format", "--dynamic_dims needs ND.")
    if not places:
        raise AscendError("E10040")
    if len(places) > len(rows[0]):
        in_one = max(sum(1 for other, _ in places if other == name) for name in shapes)
        raise AscendError("E10045" if in_one > len(rows[0]) else "E10046")
    if len(places) < len(rows[0]):
        reason = f"A profile has {len(rows[0])} sizes, --input_shape has {len(places)} dimensions of -1."
        raise AscendError("E10003", given["dynamic_dims"], "dynamic_dims", reason)
    return [(f"{name}_d{axis}", [(name, axis)]) for name, axis in places]


def _unified(names: Named, rows: Sequence[Sequence[int]]) -> Profiles:
    """Columns that are equal in every profile share a symbol, those of one size are that size: what the model
    adds or joins is then known to fit."""
    columns: list[int | str] = []
    symbols: dict[Place, int | str] = {}
    known: dict[tuple[int, ...], str] = {}
    for (name, places), sizes in zip(names, zip(*rows, strict=True), strict=True):
        column: int | str = sizes[0] if len(set(sizes)) == 1 else known.setdefault(sizes, name)
        columns.append(column)
        symbols |= dict.fromkeys(places, column)
    sizes_of = {name: sizes for sizes, name in known.items()}
    profiles = [{name: sizes[i] for name, sizes in sizes_of.items()} for i in range(len(rows))]
    return Profiles(columns, symbols, profiles)


def _text(dims: Sequence[Dimension]) -> str:
    return ",".join(str(d) if isinstance(d, int) else "-1" for d in dims)

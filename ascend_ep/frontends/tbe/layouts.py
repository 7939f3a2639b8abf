"""The layouts that a TBE file is told its inputs have, and the shapes they had in the model before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ascend_ep.errors import AscendError, did_you_mean

#: Layouts in blocks: how many sizes at the end are the block's, which other shapes leave as they are.
_BLOCKS = {"NC1HWC0": 1, "NDC1HWC0": 1, "C1HWNCoC0": 1, "FRACTAL_NZ": 2, "FRACTAL_Z": 2, "FRACTAL_Z_3D": 2}
PLAIN = ("ND", "NCHW", "NHWC", "HWCN", "NCDHW", "NDHWC", "DHWCN", "NCL", "CHWN")
FORMATS = (*PLAIN, *_BLOCKS)
_OF_RANK = {4: "NCHW", 5: "NCDHW"}


@dataclass(frozen=True)
class Layout:
    """A format, "" for the usual one of the rank, and the original shape, None for the one that follows."""

    format: str = ""
    original: tuple[int, ...] | None = None

    def described(self, shape: Sequence[int]) -> tuple[str, str, tuple[int, ...]]:
        """Format, original format and original shape of an input of this shape."""
        usual = self.format or _OF_RANK.get(len(shape), "ND")
        original = original_shape(usual, shape) if self.original is None else self.original
        return usual, usual if usual in PLAIN else _OF_RANK.get(len(original), "ND"), original

    def resized(self, shape: Sequence[int], sizes: Mapping[int, int]) -> Layout:
        """The layout of a recording in which each size of `shape` became another, and channels with them that
        are a number of blocks times their size."""
        if self.original is None or self.original == original_shape(self.format, shape):
            return replace(self, original=None)
        blocked = {a * b: sizes[a] * sizes[b] for a in sizes for b in shape if b in sizes}
        return replace(self, original=tuple(sizes.get(n, blocked.get(n, n)) for n in self.original))


def original_shape(form: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape that a tensor in blocks had before; others have it still."""
    dims = tuple(shape)
    if form == "NC1HWC0" and len(dims) == 5:
        return dims[0], dims[1] * dims[4], dims[2], dims[3]
    if form == "NDC1HWC0" and len(dims) == 6:
        return dims[0], dims[2] * dims[5], dims[1], dims[3], dims[4]
    if form == "FRACTAL_NZ" and len(dims) >= 4:
        return *dims[:-4], dims[-3] * dims[-2], dims[-4] * dims[-1]
    return dims


def any_rank(layouts: Sequence[Layout], shapes: Sequence[Sequence[int]]) -> bool:
    """Whether the layouts say nothing of the number of dimensions: none are given, or ND alone."""
    pairs = zip(layouts, shapes, strict=False)
    return all(layout.format == "ND" and layout.original in (None, tuple(s)) for layout, s in pairs)


def fixed_sizes(layouts: Sequence[Layout], shapes: Sequence[Sequence[int]]) -> set[int]:
    """Sizes of blocks, which are the hardware's."""
    pairs = zip(layouts, shapes, strict=False)
    return {n for layout, s in pairs if layout.format in _BLOCKS for n in s[-_BLOCKS[layout.format] :]}


def read_layouts(formats: str, originals: str, count: int) -> tuple[Layout, ...]:
    """The values of --format and --ori_shape, `NC1HWC0;ND` and `[2,32,4,5];`, for `count` inputs. A single
    format is that of all. Raises E43103."""
    if not formats and not originals:
        return ()
    names = [f.strip() for f in formats.split(";")]
    for name in names:
        if name and name not in FORMATS:
            reason = f"there is no layout {name[:40]}.{did_you_mean(name, FORMATS)}"
            raise AscendError("E43103", formats, "format", reason, details=[f"allowed: {', '.join(FORMATS)}"])
    names = names * count if len(names) == 1 else names
    shapes = [_shape(part, originals) for part in originals.split(";")] if originals else [None] * count
    for flag, text, listed in (("format", formats, names), ("ori_shape", originals, shapes)):
        if len(listed) != count:
            raise AscendError("E43103", text, flag, f"{len(listed)} are given for {count} inputs")
    return tuple(Layout(n, s) for n, s in zip(names, shapes, strict=True))


def _shape(part: str, text: str) -> tuple[int, ...] | None:
    match = re.fullmatch(r"\s*\[?\s*((?:\d{1,10}\s*(?:,\s*\d{1,10}\s*)*)?)\]?\s*", part, re.ASCII)
    dims = tuple(int(n) for n in match[1].split(",") if n.strip()) if match else (0,)
    if any(n < 1 for n in dims) or len(dims) > 8 or prod(dims) > 1 << 31:
        raise AscendError("E43103", text, "ori_shape", "a shape is written [4,33], several as [4,33];[33]")
    return dims or None

"""Which shapes a model runs at: the only ones, those of a profile, or any within ranges."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.profiles import COLUMNS

from .failure import Failure

Shape = tuple[int, ...]

#: The entries of a bundle's metadata that say what its profiles are of, and what chooses one.
_KINDS = {
    "dynamic_batch_size": ("dymbatch", "--dymBatch"),
    "dynamic_image_size": ("dymhw", "--dymHW"),
    "dynamic_dims": ("dymdims", "--dymDims"),
}


class ShapeChoice:
    """The shapes of all inputs, in order, for each way to choose them. Every method raises Failure E45004."""

    def __init__(self, bundle: Bundle) -> None:
        self.where = bundle.model.where
        self.inputs = [e for e in bundle.edges if e.is_input]
        self.profiles = bundle.profiles
        #: of each number of a profile, as programs give it, the symbol that it is the size of, or the size
        self._columns: list[str | int] = json.loads(bundle.meta.get(COLUMNS, "[]"))
        self._ranges = {s.name: (s.min, s.max) for s in bundle.symbols}
        is_static = all(isinstance(d, int) for e in self.inputs for d in e.dims)
        found = next(
            (kind for entry, kind in _KINDS.items() if entry in bundle.meta), ("dymshape", "--dymShape")
        )
        #: static, dymbatch, dymhw, dymdims or dymshape
        self.kind, self._option = ("static", "") if is_static else found

    def largest(self) -> list[Shape] | None:
        """Without a choice: the only shapes, or those of the profile with the most elements. None where one
        must be made."""
        if self.kind == "static":
            return self._of_sizes({})
        if self.kind in ("dymbatch", "dymhw"):
            return max(map(self._of_sizes, self.profiles), key=lambda shapes: sum(map(math.prod, shapes)))
        return None

    def needed(self) -> Failure:
        """What to say to a run without a choice."""
        free = "; ".join(f"{e.name}:{','.join(map(str, e.dims))}" for e in self.inputs)
        text = f"its inputs have free sizes ({free})"
        return Failure(
            "E45004", "", text, where=self.where, fix=f"Choose them with {self._option}. {self._allowed()}"
        )

    def of_batch(self, size: int) -> list[Shape]:
        """Those of the profile with this batch."""
        self._require("dymbatch", str(size))
        return self._of_numbers((size,))

    def largest_batch(self) -> int:
        """The largest batch of any profile."""
        self._require("dymbatch", "")
        return max(max(profile.values()) for profile in self.profiles)

    def of_image(self, height: int, width: int) -> list[Shape]:
        """Those of the profile with images of this size."""
        self._require("dymhw", f"{height},{width}")
        return self._of_numbers((height, width))

    def of_images(self, shapes: Sequence[Sequence[int]]) -> list[Shape]:
        """Those of the profile with images in which the inputs that vary have these shapes."""
        self._require("dymhw", shape_text([e.name for e in self.inputs], shapes))
        return self._of_numbers(self.numbers_of(shapes))

    def numbers_of(self, shapes: Sequence[Sequence[int]]) -> Shape:
        """The numbers of the profile in which the inputs that vary have these shapes: a batch, or height and
        width."""
        varying = [any(isinstance(d, str) for d in e.dims) for e in self.inputs]
        for profile in self.profiles:
            found = zip(self._of_sizes(profile), shapes, varying, strict=True)
            if all(tuple(given) == shape for shape, given, varies in found if varies):
                return self._numbers(profile)
        text = shape_text([e.name for e in self.inputs], shapes)
        raise self._refused(text, "it is no profile of the model")

    def of_dims(self, text: str) -> list[Shape]:
        """Those that `a:1,2;b:3,4` says, which are a profile's."""
        self._require("dymdims", text)
        return self._of_text(text)

    def of_shapes(self, text: str) -> list[Shape]:
        """Those that `a:1,2;b:3,4` says; check_ranges says whether the model runs at them."""
        return self._of_text(text)

    def check_ranges(self, shapes: Sequence[Shape]) -> None:
        """Raises Failure E45004 unless every size is in the range of its dim."""
        for edge, shape in zip(self.inputs, shapes, strict=True):
            for want, size in zip(edge.dims, shape, strict=True):
                least, most = self._ranges.get(str(want), (size, None))
                if size < least or (most is not None and size > most):
                    within = f"{least} to {'any' if most is None else most}"
                    why = f"dim [{want}] of input [{edge.name}] goes from {within}, which {size} isn't in"
                    raise self._refused(shape_text([e.name for e in self.inputs], shapes), why)

    # --- inside -----------------------------------------------------------------------------

    def _require(self, kind: str, chosen: str) -> None:
        if self.kind != kind:
            wants = f"Choose its shapes with {self._option}." if self._option else "Its shapes are fixed."
            option = next(option for name, option in _KINDS.values() if name == kind)
            why = f"the model wasn't converted for {option}"
            raise Failure("E45004", chosen, why, where=self.where, fix=wants)

    def _of_sizes(self, sizes: Mapping[str, int]) -> list[Shape]:
        return [tuple(sizes[d] if isinstance(d, str) else d for d in e.dims) for e in self.inputs]

    def _numbers(self, profile: Mapping[str, int]) -> Shape:
        return tuple(profile[c] if isinstance(c, str) else c for c in self._columns)

    def _of_numbers(self, numbers: Shape) -> list[Shape]:
        for profile in self.profiles:
            if self._numbers(profile) == numbers:
                return self._of_sizes(profile)
        raise self._refused(",".join(map(str, numbers)), "it is no profile of the model")

    def _of_text(self, text: str) -> list[Shape]:
        given = parse_shapes(text, self.where)
        names = [e.name for e in self.inputs]
        for name in given:
            if name not in names:
                raise self._refused(text, f"the model has no input [{name}]; it has {', '.join(names)}")
        sizes: dict[str, int] = {}
        shapes = []
        for edge in self.inputs:
            shape = given.get(edge.name)
            if shape is None:
                if any(isinstance(d, str) for d in edge.dims):
                    raise self._refused(text, f"input [{edge.name}] is missing")
                shape = tuple(d for d in edge.dims if isinstance(d, int))
            if len(shape) != len(edge.dims):
                raise self._refused(text, f"input [{edge.name}] has {len(edge.dims)} dims")
            for want, size in zip(edge.dims, shape, strict=True):
                if isinstance(want, str):
                    sizes[want] = size
                elif want != size:
                    raise self._refused(text, f"a dim of input [{edge.name}] is {want}, not {size}")
            shapes.append(shape)
        if self.profiles and sizes not in self.profiles:
            raise self._refused(text, "it is no profile of the model")
        return shapes

    def _refused(self, chosen: str, why: str) -> Failure:
        return Failure("E45004", chosen, why, where=self.where, fix=self._allowed())

    def _allowed(self) -> str:
        if not self.profiles:
            return "Give a size within its range to every free dim."
        shown = [", ".join(map(str, s)) for s in map(self._of_sizes, self.profiles)]
        return f"The profiles are {'; '.join(shown)}."


def parse_shapes(text: str, where: str = "") -> dict[str, Shape]:
    """The shapes in `a:1,2;b:3,4` by name. Raises Failure E45004."""
    found: dict[str, Shape] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, colon, dims = part.rpartition(":")
        try:
            shape = tuple(int(d) for d in dims.split(",") if d.strip())
        except ValueError:
            shape = (-1,)
        if not colon or not name.strip() or any(d < 0 for d in shape):
            fix = "Write name:1,2;other:3,4."
            raise Failure("E45004", text, f"[{part}] is no name with sizes", where=where, fix=fix)
        found[name.strip()] = shape
    return found


def shape_text(names: Sequence[str], shapes: Sequence[Sequence[int]]) -> str:
    """The shapes of named inputs as `a:1,2;b:3,4`."""
    return ";".join(f"{n}:{','.join(map(str, s))}" for n, s in zip(names, shapes, strict=True))

"""Regions of a plan whose images lie with channels last: [N, spatial.., C] instead of [N, C, spatial..].

A convolution with channels last reads its inputs where they lie and writes whole vectors of channels, so
runs of convolutions, poolings and elementwise instructions between them are laid out that way, with a
transposing copy where a value enters or leaves. A region is taken when it has more convolutions than such
copies. Values whose spatial axes are all 1 lie the same either way and cost nothing; so does an image of
few channels that a convolution reads, and what convolutions of integers alone read or make at the boundary:
they copy or stage it in either order. A transposition that the model has there anyway, and that then isn't
needed, counts for the region. A convolution with windows and sums that are not short counts as three: alone
between two copies it takes as long as with channels first or less (up to 3 times; 1 x 1 and the 3 x 3 of one
channel don't). So does a transposed one, which with channels first multiplies the zeros between its inputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ascend_ep.graph.components import Components
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.plan.plan import OUTPUT, TEMP, VIEW, WEIGHT, Insn, NativePartition, Ref, contiguous_strides
from ascend_ep.plan.value_uses import ValueUses, named_values

from .channels_last_insns import (
    MOST_FIRST_CHANNELS,
    ImageInsn,
    by_channel,
    first_to_last,
    image_insn,
    is_dense,
    is_of_integers,
)
from .channels_last_views import Place, channel_copy, flatten_copies, places_last

#: What looking up bytes by channel loses with channels last, in copies of an image.
CHANNEL_TABLE = 2


def lay_channels_last(part: NativePartition, elementwise: Collection[str] = ()) -> int:
    """Changes the partition in place; the number of instructions whose images now have channels last.

    `elementwise`: outputs of library calls that are functions of each element by itself.
    """
    flatten_copies(part)
    found = [
        channel_copy(insn) if insn.kernel == "copy" else image_insn(insn, elementwise) for insn in part.insns
    ]
    changed = 0
    for region in map(_without_stems, _regions(part, found)):
        change = _Change(part, {id(i.insn): i for i in region})
        if sum(i.worth for i in region) > change.copies():
            changed += len(region)
            change.apply()
    return changed


def _regions(part: NativePartition, found: Sequence[ImageInsn | None]) -> Iterable[list[ImageInsn]]:
    """The image instructions connected by values, in order of their first instruction."""
    connected = Components(len(found))
    maker = {id(out): i for i, insn in enumerate(part.insns) if found[i] is not None for out in insn.outs}
    for i, image in enumerate(found):
        for ref in image.images() if image is not None else ():
            if id(ref) in maker:
                connected.join(maker[id(ref)], i)
    members: dict[int, list[ImageInsn]] = defaultdict(list)
    for i, image in enumerate(found):
        if image is not None:
            members[connected.of(i)].append(image)
    return members.values()


def _without_stems(region: list[ImageInsn]) -> list[ImageInsn]:
    """The region without what only brings images that its convolutions read with channels first as well."""
    while True:
        made = {id(o) for i in region for o in i.outs()}
        kept = [i for i in region if not _is_stem(i, region, made)]
        if len(kept) == len(region):
            return region
        region = kept


def _is_stem(image: ImageInsn, region: list[ImageInsn], made: set[int]) -> bool:
    if image.worth or not image.outs() or any(id(r) in made for r in image.images()):
        return False
    if image.insn.kernel == "copy":
        return True
    outs = {id(o) for o in image.outs()}
    read = [(i, r) for i in region for r in i.images() if id(r) in outs]
    return bool(read) and all(_reads_first(i, r) for i, r in read)


def is_flat(dims: Sequence[Dim]) -> bool:
    """Whether both orders of the axes are the same memory: every spatial axis, or the channels, are 1."""
    return all(static(d) == 1 for d in dims[2:]) or static(dims[1]) == 1


def lies_last(seen: Ref) -> bool:
    """Whether a view of an image is of memory in which channels lie last."""
    return seen.strides is not None and first_to_last(seen.strides) == contiguous_strides(
        first_to_last(seen.dims)
    )


def views_last(view: Ref, image: Ref) -> bool:
    """Whether a view has an image's elements in their order with channels last, axes of length 1 aside."""
    order = first_to_last(range(image.rank))
    strides = contiguous_strides(image.dims)
    own = contiguous_strides(view.dims) if view.strides is None else view.strides
    axes = [(d, s) for d, s in zip(view.dims, own, strict=True) if static(d) != 1]
    return axes == [(image.dims[i], strides[i]) for i in order if static(image.dims[i]) != 1]


@dataclass
class _Change:
    """What laying out one region takes."""

    part: NativePartition
    region: dict[int, ImageInsn]  # by id of the instruction

    def __post_init__(self) -> None:
        read = {id(r) for i in self.region.values() for r in i.images()}
        self._made = {
            id(o)
            for i in self.region.values()
            for o in i.outs()
            if id(o) in read or not is_of_integers(i.insn)  # which else writes channels first itself
        }
        self._last: dict[int, Ref] = {}  # by id of the value with channels first
        self._uses = ValueUses.of(self.part)
        self._seen = self._views()
        self._leaving = self._read_outside() - self._seen.keys()

    def copies(self) -> int:
        """How many values must be transposed at the boundary, less the transpositions that this saves."""
        entering = {
            id(ref): ref
            for image in self.region.values()
            for ref in image.images()
            if id(ref) not in self._made and not is_flat(ref.dims) and not _reads_first(image, ref)
        }
        leaving = [o for i in self.region.values() for o in i.outs() if id(o) in self._leaving]
        return (
            sum(map(self._to_enter, entering.values())) + sum(map(self._to_leave, leaving)) + self._tables()
        )

    def _tables(self) -> int:
        """What lookups lose: elementwise instructions between convolutions of integers become such."""
        insns = [i.insn for i in self.region.values()]
        if not any(map(is_of_integers, insns)) or any(map(is_dense, insns)):
            return 0
        return CHANNEL_TABLE * sum(map(by_channel, insns))

    def _to_enter(self, ref: Ref) -> int:
        """1: a copy more; 0: its channels lie last where it was copied from; -1: and that copy goes."""
        maker = self._uses.maker(ref)
        seen = maker.ins[0] if maker is not None and maker.kernel == "copy" else None
        if seen is None or ref.kind != TEMP or not lies_last(seen):
            return 1
        outside = [i for i in self._uses.memory_readers(ref) if id(i) not in self.region]
        return 0 if outside or self._uses.leaves(ref) else -1

    def _to_leave(self, out: Ref) -> int:
        """As `_to_enter`, of a result: -1 for each copy that would have brought its channels last."""
        if is_flat(out.dims):
            return 0
        readers = [i for i in self._uses.memory_readers(out) if id(i) not in self.region]
        if out.kind != TEMP or self._uses.leaves(out) or any(i.kernel != "copy" for i in readers):
            return 1
        seen = [r.ins[0] for r in readers]
        return -len(readers) if all(view is not None and views_last(view, out) for view in seen) else 1

    def _read_outside(self) -> set[int]:
        """Values of the region that something else reads with channels first."""
        found: set[int] = set()
        for insn in self.part.insns:
            image = self.region.get(id(insn))
            inside = {id(r) for r in image.images()} if image is not None else set()
            found |= {id(r) for r in insn.ins if r is not None} - inside
        found |= {id(v.base) for v in self.part.values if v.kind == VIEW}
        found |= {id(v) for v in self.part.values if v.kind == OUTPUT}
        return found & self._made

    def _views(self) -> dict[int, list[tuple[Ref, Place]]]:
        """By values that nothing outside reads but through parts of them, which copies and images read: those
        parts, and where they lie with channels last."""
        direct = {id(v) for v in self.part.values if v.kind == OUTPUT}
        read: set[int] = set()  # by what can't read other strides
        for insn in self.part.insns:
            image = self.region.get(id(insn))
            inside = {id(r) for r in image.images()} if image is not None else set()
            outside = {id(r) for r in insn.ins if r is not None} - inside
            direct |= outside
            read |= outside if insn.kernel != "copy" else set()
            if insn.unfused is not None:
                read |= {id(r) for r in insn.unfused.ins if r is not None}
        found: dict[int, list[tuple[Ref, Place]]] = {}
        for value in (o for i in self.region.values() for o in i.outs()):
            views = [v for v in self.part.values if v.kind == VIEW and v.base is value]
            if value.kind != TEMP or id(value) in direct | read or any(id(v) in read for v in views):
                continue
            places = [places_last(v, value) for v in views]
            if views and all(p is not None for p in places):
                found[id(value)] = [(v, p) for v, p in zip(views, places, strict=True) if p is not None]
        return found

    # --- changing -----------------------------------------------------------------------------

    def apply(self) -> None:
        insns: list[Insn] = []
        for insn in self.part.insns:
            image = self.region.get(id(insn))
            if image is None:
                insns.append(insn)
                continue
            ins = {}
            for ref in image.images():
                if not _reads_first(image, ref) or id(ref) in self._made or id(ref) in self._last:
                    ins[id(ref)] = self._entered(ref, insns, image.insn.kernel == "concat")
            made_last = [o for o in image.outs() if id(o) in self._made]
            outs = {id(o): self._new(TEMP, o, o.dims) for o in made_last}
            made, weights = image.with_last(ins, outs)
            self.part.values += weights
            insns.append(made)
            for out in made_last:
                self._last[id(out)] = outs[id(out)]
                self._leave(out, outs[id(out)], insns)
        self.part.insns[:] = insns
        _tidy(self.part)

    def _new(self, kind: int, like: Ref, dims: Sequence[Dim]) -> Ref:
        made = Ref(like.name, like.dtype, first_to_last(dims), kind, last=1)
        self.part.values.append(made)
        return made

    def _entered(self, ref: Ref, insns: list[Insn], strided: bool) -> Ref:
        """The value with channels last; a copy is added before its first reader, unless that reads runs of
        channels with gaps between them."""
        found = self._last.get(id(ref))
        if found is not None:
            return found
        seen = self._new(VIEW, ref, ref.dims)
        seen.base, seen.offset = (ref, 0) if ref.base is None else (ref.base, ref.offset)
        made = seen
        if not is_flat(ref.dims) or ref.strides is not None:
            strides = contiguous_strides(ref.dims) if ref.strides is None else ref.strides
            seen.strides = first_to_last(strides)
            if strided and static(seen.strides[-1]) == 1:
                return seen
            if seen.strides == contiguous_strides(seen.dims):
                seen.strides = None
            else:
                made = self._new(TEMP, ref, ref.dims)
                insns.append(Insn("", "copy", (seen,), (made,)))
        self._last[id(ref)] = made
        return made

    def _leave(self, out: Ref, last: Ref, insns: list[Insn]) -> None:
        """Gives `out` its elements with channels first, when anything reads them so."""
        for view, place in self._seen.get(id(out), ()):
            view.base, view.offset, view.strides = last, place.offset, place.strides
        if id(out) not in self._leaving:
            return
        if out.kind == TEMP and is_flat(out.dims):
            out.kind, out.base = VIEW, last
            for view in self.part.values:
                if view.base is out:
                    view.base = last
            return
        seen = Ref(out.name, out.dtype, out.dims, VIEW, base=last)
        if not is_flat(out.dims):
            strides = contiguous_strides(last.dims)
            seen.strides = (strides[0], strides[-1], *strides[1:-1])
        self.part.values.append(seen)
        insns.append(Insn("", "copy", (seen,), (out,)))


def _reads_first(image: ImageInsn, ref: Ref) -> bool:
    """Whether the instruction reads this value with channels first as well as last."""
    if is_of_integers(image.insn):
        return ref.strides is None
    channels = static(ref.dims[1])
    few = channels is not None and channels <= MOST_FIRST_CHANNELS
    insn = image.insn
    only_input = ref is insn.ins[0] and all(r is not ref for r in insn.ins[1:])
    return is_dense(insn) and only_input and few and ref.strides is None


def _tidy(part: NativePartition) -> None:
    """Removes temporaries, weights and views that no instruction names, and puts views behind their bases."""
    others = [i.unfused for i in part.insns if i.unfused is not None]
    used = named_values(part) | {id(r) for i in others for r in i.ins}
    kept = [v for v in part.values if id(v) in used or v.kind not in (TEMP, WEIGHT, VIEW)]
    part.values[:] = sorted(kept, key=lambda v: v.kind == VIEW)

"""Who makes and who reads the values of a partition. Values and instructions are told apart by identity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import ClassVar
from weakref import WeakKeyDictionary

from ascend_ep.opdef.dims import symbols

from .plan import TEMP, VIEW, Insn, NativePartition, Ref
from .tile_expression import size_symbols


def needed_symbols(values: Iterable[Ref], insns: Iterable[Insn]) -> set[str]:
    """Symbols that values and instructions are computed from."""
    found: set[str] = set()
    for ref in values:
        found |= symbols(ref.dims) | symbols([ref.offset]) | symbols(ref.strides or ())
    for insn in insns:
        found |= symbols(insn.ints) | size_symbols(insn.expressions)
    return found


class ValueUses:
    """`add`, `remove` and `replace` follow instructions that come and go.

    Those of a partition, `of`, are kept with it, and taken anew when its lists have changed; `put` and `drop`
    change the partition and what is kept of it alike.
    """

    _kept: ClassVar[WeakKeyDictionary[NativePartition, tuple[int, ValueUses]]] = WeakKeyDictionary()

    def __init__(
        self, insns: Iterable[Insn], values: Iterable[Ref] = (), outputs: Iterable[Ref] = ()
    ) -> None:
        self._makers: dict[int, Insn] = {}
        self._readers: dict[int, dict[int, Insn]] = defaultdict(dict)
        self._memory_readers: dict[int, dict[int, Insn]] = defaultdict(dict)
        self._views: dict[int, list[Ref]] = defaultdict(list)
        for view in values:
            if view.kind == VIEW:
                self._views[id(view.base)].append(view)
        self._leaving = {id(ref) for out in outputs for ref in (out, out.base) if ref is not None}
        for insn in insns:
            self.add(insn)

    @classmethod
    def of(cls, part: NativePartition) -> ValueUses:
        version, kept = cls._kept.get(part, (-1, None))
        if kept is None or version != part.version:
            kept = cls(part.insns, part.values, [ref for _, ref in part.outputs])
            cls._kept[part] = part.version, kept
        return kept

    def put(self, part: NativePartition, old: Insn, new: Insn) -> None:
        """One instruction of the partition for another, which has the old one's place in it."""
        at = next(i for i, insn in enumerate(part.insns) if insn is old)
        part.insns[at] = new
        self.replace(old, new)
        self._kept[part] = part.version, self

    def drop(self, part: NativePartition, insn: Insn) -> None:
        """An instruction of the partition goes."""
        del part.insns[next(i for i, other in enumerate(part.insns) if other is insn)]
        self.remove(insn)
        self._kept[part] = part.version, self

    def add(self, insn: Insn) -> None:
        for out in insn.outs:
            self._makers[id(out)] = insn
        for ref in insn.ins:
            if ref is not None:
                self._readers[id(ref)][id(insn)] = insn
                self._memory_readers[id(memory_of(ref))][id(insn)] = insn

    def remove(self, insn: Insn) -> None:
        for out in insn.outs:
            self._makers.pop(id(out), None)
        for ref in insn.ins:
            if ref is not None:
                self._readers[id(ref)].pop(id(insn), None)
                self._memory_readers[id(memory_of(ref))].pop(id(insn), None)

    def replace(self, old: Insn, new: Insn) -> None:
        """One instruction for another, in its place among the readers of what both read."""
        for users, value in ((self._readers, lambda r: r), (self._memory_readers, memory_of)):
            for ref in {id(value(r)): value(r) for r in old.ins if r is not None}.values():
                if any(r is not None and value(r) is ref for r in new.ins):
                    users[id(ref)] = {
                        id(new if i is old else i): new if i is old else i for i in users[id(ref)].values()
                    }
        self.remove(old)
        self.add(new)

    def maker(self, ref: Ref) -> Insn | None:
        """The instruction that writes it, the last one if there are several."""
        return self._makers.get(id(ref))

    def readers(self, ref: Ref) -> list[Insn]:
        """The instructions that read this very value; not those that read it through a view."""
        return list(self._readers.get(id(ref), {}).values())

    def memory_readers(self, ref: Ref) -> list[Insn]:
        """The instructions that read its memory: the value, its base, or a view of either."""
        return list(self._memory_readers.get(id(memory_of(ref)), {}).values())

    def views(self, ref: Ref) -> list[Ref]:
        """The views of a value that isn't one itself."""
        return self._views.get(id(ref), [])

    def leaves(self, ref: Ref) -> bool:
        """Whether the partition gives it, or a view of it."""
        return id(ref) in self._leaving

    def is_inner(self, ref: Ref) -> bool:
        """Whether it is a temporary without views that instructions alone read."""
        return ref.kind == TEMP and id(ref) not in self._views and not self.leaves(ref)


def read_values(part: NativePartition) -> set[int]:
    """The ids of all values that are read or leave the partition, themselves or through a view."""
    read = [r for insn in part.insns for r in insn.ins if r is not None]
    read += [ref for _, ref in part.outputs]
    return {id(x) for ref in read for x in (ref, memory_of(ref))}


def named_values(part: NativePartition) -> set[int]:
    """The ids of all values that instructions or the boundary name, and of the bases of such."""
    named = [r for insn in part.insns for r in (*insn.ins, *insn.outs) if r is not None]
    named += [ref for _, ref in (*part.inputs, *part.outputs)]
    return {id(x) for ref in named for x in (ref, memory_of(ref))}


def memory_of(ref: Ref) -> Ref:
    """The value whose memory a ref is."""
    return ref if ref.base is None else ref.base

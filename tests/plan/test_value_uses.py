"""Who makes and reads a value, also through views, while instructions come and go."""

from __future__ import annotations

import pytest

from ascend_ep.plan.plan import OUTPUT, VIEW, Edge, Insn, NativePartition, Ref
from ascend_ep.plan.value_uses import ValueUses, read_values
from ascend_ep.plan.watched import CHANGING


def test_uses_follow_views_and_changes():
    x, y, z, unread = (Ref(name, 1, (4,)) for name in ("x", "y", "z", "unread"))
    view = Ref("view", 1, (2, 2), VIEW, base=x)
    out = Ref("out", 1, (4,), OUTPUT)
    first = Insn("first", "copy", (x, None, x), (y,))
    second = Insn("second", "copy", (view, y), (out, unread))
    part = NativePartition("", [x, y, z, view, out], [first, second], outputs=[(Edge("out", 1, (4,)), out)])
    uses = ValueUses.of(part)
    assert uses.maker(y) is first
    assert uses.maker(z) is None
    assert uses.readers(x) == [first]
    assert uses.memory_readers(x) == uses.memory_readers(view) == [first, second]
    assert uses.views(x) == [view]
    assert [uses.is_inner(r) for r in (x, y, out)] == [False, True, False]
    assert [uses.leaves(r) for r in (y, out)] == [False, True]
    assert read_values(part) == {id(r) for r in (x, view, y, out)}
    uses.remove(second)
    assert uses.memory_readers(x) == [first]
    assert uses.readers(y) == []
    uses.add(second)
    assert uses.readers(y) == [second]


def test_what_replaces_an_instruction_has_its_place():
    x, y, z, out = (Ref(name, 1, (4,)) for name in ("x", "y", "z", "out"))
    view = Ref("view", 1, (2, 2), VIEW, base=x)
    first, second = Insn("first", "copy", (x,), (y,)), Insn("second", "copy", (x, y), (z,))
    uses = ValueUses([first, second], [x, y, z, view, out])
    made = Insn("made", "add", (view, out), (y,))
    uses.replace(first, made)
    assert uses.maker(y) is made
    assert uses.readers(x) == [second]
    assert uses.memory_readers(x) == [made, second]
    assert uses.readers(out) == [made]


def test_whose_view_leaves_is_not_inner():
    x = Ref("x", 1, (4,))
    view = Ref("view", 1, (2, 2), VIEW, base=x)
    part = NativePartition("", [x], [], outputs=[(Edge("out", 1, (2, 2)), view)])
    uses = ValueUses.of(part)
    assert uses.leaves(x)
    assert not uses.is_inner(x)
    assert {id(x), id(view)} == read_values(part)


def test_uses_are_kept_until_the_partition_changes():
    x, y, z = (Ref(name, 1, (4,)) for name in "xyz")
    first, second = Insn("first", "copy", (x,), (y,)), Insn("second", "copy", (y,), (z,))
    part = NativePartition("", [x, y, z], [first, second])
    uses = ValueUses.of(part)
    assert ValueUses.of(part) is uses
    made = Insn("made", "copy", (x,), (z,))
    uses.put(part, second, made)
    uses.drop(part, first)
    assert list(part.insns) == [made]
    assert ValueUses.of(part) is uses
    assert (uses.readers(x), uses.readers(y), uses.maker(z)) == ([made], [], made)
    part.insns[0] = second
    assert ValueUses.of(part) is not uses
    assert ValueUses.of(part).readers(y) == [second]


@pytest.mark.parametrize("name", ["values", "insns", "outputs"])
def test_every_change_of_a_list_is_noticed(name: str):
    part = NativePartition("", [], [], outputs=[])
    some, changes = getattr(part, name), 0
    for change in (
        lambda: some.append(1), lambda: some.extend([2, 3]), lambda: some.insert(0, 0), lambda: some.sort(),
        lambda: some.reverse(), lambda: some.remove(2), lambda: some.pop(), lambda: some.__setitem__(0, 1),
        lambda: some.__setitem__(slice(None), [4, 5]), lambda: some.__delitem__(0),
        lambda: some.__iadd__([6]), lambda: some.__imul__(2), lambda: some.clear(),
    ):  # fmt: skip
        before = part.version
        change()
        changes += 1
        assert part.version > before
    changing = {n for n in vars(list) if n in CHANGING}
    assert changes >= len(changing) == len(CHANGING)

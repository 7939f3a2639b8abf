"""Who makes and reads a value, also through views, while instructions come and go."""

from __future__ import annotations

from ascend_ep.plan.plan import OUTPUT, VIEW, Edge, Insn, NativePartition, Ref
from ascend_ep.plan.value_uses import ValueUses, read_values


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

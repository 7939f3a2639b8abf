"""Who makes and reads a value, also through views, while instructions come and go."""

from __future__ import annotations

from ascend_ep.compiler.rewrites.value_uses import ValueUses, read_values
from ascend_ep.plan.plan import OUTPUT, VIEW, Edge, Insn, NativePartition, Ref


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


def test_whose_view_leaves_is_not_inner():
    x = Ref("x", 1, (4,))
    view = Ref("view", 1, (2, 2), VIEW, base=x)
    part = NativePartition("", [x], [], outputs=[(Edge("out", 1, (2, 2)), view)])
    uses = ValueUses.of(part)
    assert uses.leaves(x)
    assert not uses.is_inner(x)
    assert {id(x), id(view)} == read_values(part)

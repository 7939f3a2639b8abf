"""Parts of tensors in pseudo-code: x[..., 1:3], split, stack, windows, and pooling, which folds windows."""

from __future__ import annotations

import ast

from ascend_ep.frontends.pseudo_code_matrices import Matrices
from ascend_ep.frontends.pseudo_code_things import NOTHING, Thing
from ascend_ep.opdef.expression import Concat, Reduce, Slice, Unsqueeze, Windows
from ascend_ep.opdef.formula_nodes import Value

#: Dimensions that an index may name, and places along one.
MOST_AXES, MOST_PLACES = 8, 2**31
_WHOLE = "A place is a whole number that is written out; for equal parts use chunk."


class Parts(Matrices):
    """picked reads x[...]; call_<name>(module, name, call, receiver) one call."""

    def picked(self, value: Value, index: ast.expr) -> Value:
        """Slices, places, None and one ...; axes behind it are counted from the end."""
        value = self.numeric(value)
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        dots = [i for i, p in enumerate(parts) if isinstance(p, ast.Constant) and p.value is ...]
        if len(dots) > 1 or len(parts) > MOST_AXES:
            self.refuse(index, f"an index has one ... and at most {MOST_AXES} parts")
        front, back = (parts[: dots[0]], parts[dots[0] + 1 :]) if dots else (parts, [])
        axis = 0
        for part in front:
            value, axis = self.picked_along(value, part, axis), axis + (not self.is_place(part))
        axis = -1
        for part in reversed(back):
            value = self.picked_along(value, part, axis)
            axis -= not self.is_place(part)
        return value

    def is_place(self, part: ast.expr) -> bool:
        """Whether the dimension goes away."""
        return not isinstance(part, ast.Slice) and not (isinstance(part, ast.Constant) and part.value is None)

    def picked_along(self, value: Value, part: ast.expr, axis: int) -> Value:
        at = self.position(part)
        if isinstance(part, ast.Constant) and part.value is None:
            return self.build(Unsqueeze(value.node, (axis,)), "number", at, [value])
        if isinstance(part, ast.Slice):
            step = 1 if part.step is None else self.written(part.step)
            if step < 1:
                self.refuse(part, "a slice goes forwards", "Give a step of 1 or more.")
            start = 0 if part.lower is None else self.written(part.lower)
            stop = None if part.upper is None else self.written(part.upper)
            return self.part(value, axis, start, stop, step, at)
        place = self.written(part)
        one = self.part(value, axis, place, None if place == -1 else place + 1, 1, at)
        return self.build(Reduce("max", one.node, (axis,), False), "number", at, [one])

    def part(self, value: Value, axis: int, start: int, stop: int | None, step: int, at: int) -> Value:
        if (start, stop, step) == (0, None, 1):
            return value
        return self.build(Slice(value.node, axis, start, stop, step), "number", at, [value])

    def written(self, node: ast.expr) -> int:
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
        number = inner.value if isinstance(inner, ast.Constant) else None
        if not isinstance(number, int) or isinstance(number, bool) or number > MOST_PLACES:
            self.refuse(node, "this can't pick elements of a tensor", _WHOLE)
        return -number if negative else number

    def fixed_axis(self, node: ast.expr | Value, call: ast.Call) -> int:
        axis = self.axis(node)
        return (
            axis if isinstance(axis, int) else self.refuse(call, "the axis is a number that is written out")
        )

    def call_split(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        """Parts of the sizes that are listed; of one size there is no telling how many there are."""
        bound = self.bind(call, ("tensor", "split_size_or_sections", "dim"), receiver)
        value = self.shared(self.numeric(self.required(bound, "tensor", call)))
        axis = self.fixed_axis(bound["dim"], call) if "dim" in bound else 0
        given = bound.get("split_size_or_sections")
        sizes = self.thing(given) if isinstance(given, ast.expr) else None
        if not isinstance(sizes, tuple) or not sizes or module in ("np", "numpy"):
            self.refuse(call, "split takes the list of sizes", "Write split([4, 4], dim), or chunk(2, dim).")
        assert isinstance(given, ast.Tuple | ast.List)
        start, parts = 0, []
        for size in map(self.written, given.elts):
            parts.append(self.part(value, axis, start, start + size, 1, self.position(call)))
            start += size
        return tuple(parts)

    def call_narrow(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim", "start", "length"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        axis, start, length = (
            self.fixed_axis(self.required(bound, n, call), call) for n in ("dim", "start", "length")
        )
        stop = None if start + length == 0 else start + length
        return self.part(value, axis, start, stop, 1, self.position(call))

    def call_stack(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """Tensors along a new dimension."""
        bound = self.bind(call, ("tensors", "axis" if module in ("np", "numpy") else "dim"), receiver)
        given = bound.get("tensors")
        things = self.thing(given) if isinstance(given, ast.expr) else None
        if not isinstance(things, tuple) or not things:
            self.refuse(call, "stack takes a list of tensors")
        at = self.position(call)
        where = bound.get("dim", bound.get("axis"))
        axis = 0 if where is None else self.fixed_axis(where, call)
        values = [self.numeric(self.only_value(t, call)) for t in things]
        rows = [self.build(Unsqueeze(v.node, (axis,)), "number", at, [v]) for v in values]
        return self.build(Concat(tuple(r.node for r in rows), axis), "number", at, rows)

    def call_unfold(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """The windows of a tensor, its method; F.unfold is another function."""
        if receiver is None:
            self.refuse(call, "F.unfold moves windows into channels", "Use x.unfold(dim, size, step).")
        bound = self.bind(call, ("input", "dimension", "size", "step"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        axis, size, step = (
            self.fixed_axis(self.required(bound, n, call), call) for n in ("dimension", "size", "step")
        )
        return self.windows(value, axis, size, step, 1, 0, 0.0, call)

    def windows(
        self, value: Value, axis: int, size: int, step: int, apart: int, pad: int, fill: float, call: ast.Call
    ) -> Value:
        if size < 1 or step < 1 or apart < 1 or pad < 0:
            self.refuse(call, "windows have a size and a step of 1 or more")
        node = Windows(value.node, size, step, apart, pad, pad, fill, axis)
        return self.build(node, "number", self.position(call), [value])

    def call_max_pool1d(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        names = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
        return self.pooled("max", names, int(name[-2]), call, receiver)

    call_max_pool2d = call_max_pool3d = call_max_pool1d

    def call_avg_pool1d(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        names = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
        return self.pooled("mean", names, int(name[-2]), call, receiver)

    call_avg_pool2d = call_avg_pool3d = call_avg_pool1d

    def pooled(
        self, op: str, names: tuple[str, ...], count: int, call: ast.Call, receiver: Value | None
    ) -> Value:
        """The last `count` dimensions as windows, folded."""
        bound = self.bind(call, names, receiver)
        value = self.numeric(self.required(bound, "input", call))
        if self.flag(bound.get("ceil_mode"), False) or self.flag(bound.get("return_indices"), False):
            self.refuse(call, "pooling with ceil_mode or return_indices isn't known")
        if not self.flag(bound.get("count_include_pad"), True):
            self.refuse(call, "an average without the padding isn't known")
        if "kernel_size" not in bound:
            self.refuse(call, "the argument kernel_size is missing")
        sizes = self.each(bound["kernel_size"], count, call)
        given = bound.get("stride")
        absent = given is None or (isinstance(given, ast.expr) and self.thing(given) is NOTHING)
        steps = sizes if given is None or absent else self.each(given, count, call)
        pads, apart = (
            self.each(bound[n], count, call) if n in bound else [default] * count
            for n, default in (("padding", 0), ("dilation", 1))
        )
        fill = float("-inf") if op == "max" else 0.0
        for window in zip(sizes, steps, apart, pads, strict=True):
            value = self.windows(value, -count, *window, fill, call)
        node = Reduce(op, value.node, tuple(range(-count, 0)), False)
        return self.build(node, "number", self.position(call), [value])

    def each(self, node: ast.expr | Value, count: int, call: ast.Call) -> list[int]:
        """A number for every dimension, or one for all."""
        thing = node if isinstance(node, Value) else self.thing(node)
        listed = [self.integer(self.only_value(t, call)) for t in thing] if isinstance(thing, tuple) else []
        numbers = listed or [self.integer(self.only_value(thing, call))] * count
        if len(numbers) != count:
            self.refuse(call, f"{count} numbers are wanted, or one")
        return numbers

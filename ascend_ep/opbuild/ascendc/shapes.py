"""Shapes at run time: the body of the generated ShapesOf, which InferShape and TilingFunc share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef.expression import (
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
)

from .naming import OpenInt

#: of what has no dimensions
SCALAR = -1


class Shapes:
    """Numbers the shapes of expressions. Number i below len(inputs) is input i's; `steps` are C++ conditions
    that compute s[i] in order, false for shapes that don't fit.
    """

    def __init__(self, inputs: Sequence[str]) -> None:
        self.of_input = {name: i for i, name in enumerate(inputs)}
        self.of_local: dict[str, int] = {}
        self.steps: list[str] = []
        self.count = len(inputs)
        self._made: dict[tuple[str, tuple[int, ...]], int] = {}

    def new(self, call: str, args: Sequence[int], extra: str = "") -> int:
        """The shape that a C++ function makes: call(s[new], s[args]..., extra)."""
        key = (f"{call}:{extra}", tuple(args))
        if key not in self._made:
            self._made[key] = self.count
            texts = [f"s[{self.count}]", *(f"s[{a}]" for a in args), *([extra] if extra else [])]
            self.steps.append(f"{call}({', '.join(texts)})")
            self.count += 1
        return self._made[key]

    def broadcast(self, parts: Iterable[int]) -> int:
        """The shape of an elementwise result."""
        whole = sorted(set(parts) - {SCALAR})
        if len(whole) < 2:
            return whole[0] if whole else SCALAR
        result = whole[0]
        for part in whole[1:]:
            result = self.new("Joined", (result, part))
        return result

    def of(self, node: Expression) -> int:
        """The number of an expression's shape. Scalars have none."""
        if isinstance(node, Constant):
            return SCALAR
        if isinstance(node, Input):
            return self.of_input[node.name]
        if isinstance(node, Local):
            return self.of_local[node.name]
        if isinstance(node, Cast):
            return self.of(node.arg)
        if isinstance(node, Apply):
            return self.broadcast(map(self.of, node.args))
        if isinstance(node, Reduce):
            return self.reduced(self.of(node.arg), node)
        if isinstance(node, Index):
            return SCALAR if node.size else self.of_dims("Position", node.like, axis_text(node.axis))
        if isinstance(node, TopK):
            text = f"{axis_text(node.k)}, {axis_text(node.axis)}"
            return self.of_dims("Shortened", node.arg, text)
        if isinstance(node, Unsqueeze):
            assert isinstance(node.axes, tuple), "it is specialised"
            return self.of_dims("Extended", node.arg, axes_text(node.axes))
        if isinstance(node, SumTo):
            return self.of(node.like)
        raise NotGenerated(f"the shape of {type(node).__name__} is unknown")

    def of_dims(self, call: str, arg: Expression, extra: str) -> int:
        number = self.of(arg)
        return self.new(call, () if number == SCALAR else (number,), extra)

    def reduced(self, number: int, node: Reduce) -> int:
        if number == SCALAR:
            if node.axes != "all" and node.axes != ():
                raise NotGenerated("a reduction over axes of what has none")
            return SCALAR
        return self.new("Reduced", (number,), f"{axes_text(node.axes)}, {str(node.keepdims).lower()}")


def axis_text(axis: object) -> str:
    """A number as C++ text: a literal, or the attribute that it is at run time."""
    if isinstance(axis, OpenInt):
        return f"IntOf(attributes, {axis.place}, {int(axis)})"
    assert isinstance(axis, int), "it is specialised"
    return str(axis)


def axes_text(axes: object) -> str:
    """Axes as C++ text; no list stands for all of them."""
    if axes == "all":
        return "AllAxes()"
    if not isinstance(axes, tuple):
        raise NotGenerated("a range of axes depends on the rank")
    return "Axes{" + ", ".join(map(axis_text, axes)) + "}"


SHAPES_TEXT = """
using Dims = std::vector<int64_t>;

// Axes of a tensor, negative ones from the end, or all.
struct Axes {
    std::vector<int64_t> list;
    bool all = false;
    Axes(std::initializer_list<int64_t> axes) : list(axes) {}
    // One flag per dimension; false for axes that aren't there or repeat.
    bool Flags(size_t rank, std::vector<bool> &flags) const {
        flags.assign(rank, all);
        for (int64_t axis : list) {
            if (axis < 0) axis += static_cast<int64_t>(rank);
            if (axis < 0 || axis >= static_cast<int64_t>(rank) || flags[axis]) return false;
            flags[axis] = true;
        }
        return true;
    }
};
static Axes AllAxes() {
    Axes axes{};
    axes.all = true;
    return axes;
}

static Dims DimsOf(const gert::Shape &shape) {
    Dims dims;
    for (size_t i = 0; i < shape.GetDimNum(); i++) dims.push_back(shape.GetDim(i));
    return dims;
}

static void SetDims(gert::Shape &shape, const Dims &dims) {
    shape.SetDimNum(dims.size());
    for (size_t i = 0; i < dims.size(); i++) shape.SetDim(i, dims[i]);
}

// Makes `whole` the shape of an elementwise result of it and `other`; -1 is a size known later.
static bool Broadcast(Dims &whole, const Dims &other) {
    if (whole.size() < other.size()) whole.insert(whole.begin(), other.size() - whole.size(), 1);
    for (size_t i = 0; i < other.size(); i++) {
        int64_t &mine = whole[whole.size() - other.size() + i];
        const int64_t theirs = other[i];
        if (mine == theirs || theirs == 1) continue;
        if (mine != 1 && mine != -1 && theirs != -1) return false;
        if (mine == 1 || mine == -1) mine = theirs;
    }
    return true;
}
"""

#: functions that Shapes' steps call, by name
SHAPE_FUNCTIONS = {
    "Alone": """
static bool Alone(Dims &) { return true; }
""",
    "Joined": """
static bool Joined(Dims &to, const Dims &a, const Dims &b) {
    to = a;
    return Broadcast(to, b);
}
""",
    "Reduced": """
static bool Reduced(Dims &to, const Dims &from, const Axes &axes, bool keep) {
    std::vector<bool> gone;
    if (!axes.Flags(from.size(), gone)) return false;
    for (size_t i = 0; i < from.size(); i++)
        if (!gone[i] || keep) to.push_back(gone[i] ? 1 : from[i]);
    return true;
}
""",
    "Position": """
static bool Position(Dims &to, const Dims &like, int64_t axis) {
    if (axis < 0) axis += static_cast<int64_t>(like.size());
    if (axis < 0 || axis >= static_cast<int64_t>(like.size())) return false;
    to.assign(like.size(), 1);
    to[axis] = like[axis];
    return true;
}
""",
    "Shortened": """
static bool Shortened(Dims &to, const Dims &from, int64_t k, int64_t axis) {
    if (axis < 0) axis += static_cast<int64_t>(from.size());
    if (axis < 0 || axis >= static_cast<int64_t>(from.size())) return false;
    if (k < 0 || (from[axis] != -1 && k > from[axis])) return false;
    to = from;
    to[axis] = k;
    return true;
}
""",
    "Extended": """
static bool Extended(Dims &to, const Dims &from, const Axes &axes) {
    std::vector<bool> added;
    if (!axes.Flags(from.size() + axes.list.size(), added)) return false;
    size_t next = 0;
    for (size_t i = 0; i < added.size(); i++) to.push_back(added[i] ? 1 : from[next++]);
    return true;
}
static bool Extended(Dims &to, const Axes &axes) { return Extended(to, Dims{}, axes); }
""",
    "SummedTo": """
// The shape of `from` summed where `like` has 1 or nothing, without what `like` lacks.
static bool SummedTo(Dims &to, const Dims &from, const Dims &like) {
    const size_t extra = from.size() > like.size() ? from.size() - like.size() : 0;
    for (size_t i = extra; i < from.size(); i++) {
        const int64_t wanted = like[like.size() - from.size() + i];
        if (wanted != 1 && from[i] != 1 && from[i] != wanted && from[i] != -1 && wanted != -1) return false;
        to.push_back(wanted == 1 ? 1 : from[i]);
    }
    return true;
}
""",
    "SummedAxes": """
// The axes that SummedTo sums.
static Axes SummedAxes(const Dims &from, const Dims &like) {
    Axes axes{};
    for (size_t i = 0; i < from.size(); i++) {
        const bool extra = from.size() - i > like.size();
        if (extra || (like[like.size() - from.size() + i] == 1 && from[i] != 1)) axes.list.push_back(i);
    }
    return axes;
}
""",
    "SizeOf": """
static float SizeOf(const Dims &dims, int64_t axis) {
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
    return at < 0 || at >= static_cast<int64_t>(dims.size()) ? 0.0f : static_cast<float>(dims[at]);
}
""",
    "CountOf": """
static float CountOf(const Dims &dims, const Axes &axes) {
    std::vector<bool> counted;
    double count = 1;
    if (!axes.Flags(dims.size(), counted)) return 0.0f;
    for (size_t i = 0; i < dims.size(); i++) count *= counted[i] ? static_cast<double>(dims[i]) : 1.0;
    return static_cast<float>(count);
}
""",
    "IntOf": """
static int64_t IntOf(const gert::RuntimeAttrs *attributes, size_t place, int64_t otherwise) {
    const int64_t *value = attributes->GetInt(place);
    return value == nullptr ? otherwise : *value;
}
""",
}

"""What a built library takes: element types, ranks and sizes, for its description (kernel_meta) and in
a line.

`takes` has per input its shape: "..." stands for any leading dimensions, which broadcast with those of the
other inputs, "same..." for such that are equal, "1..." for leading dimensions of 1, no more than these; then
sizes: a number, or a name, which is one size wherever it stands. `supportInfo` says the same as the real
toolchain does, for one combination of element types: shape [-2] is any rank, -1 any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ascend_ep.codegen.builder import build_graph
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.graph import Axis, Graph
from ascend_ep.codegen.leading import MOST_DIMS, Form
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes

Variants = Sequence[tuple[Subject, Source]]


class _Sizes:
    """The names of the sizes of inputs' own dimensions."""

    def __init__(self, graph: Graph, form: Form) -> None:
        self.graph = graph
        self.form = form
        self.names: dict[Axis, str] = {}
        for i, axes in enumerate(graph.input_axes):
            for axis in axes[len(axes) - form.own[i] :]:
                if axis is not None and axis.sized().known is None:
                    self.names.setdefault(axis.sized(), f"n{len(self.names)}")

    def of(self, axis: Axis | None) -> int | str:
        if axis is None:
            return 1
        sized = axis.sized()
        return sized.known if sized.known is not None else self.names.get(sized, sized.name)

    def shape(self, i: int) -> list[int | str]:
        """Of an input, as `takes` has it."""
        axes = self.graph.input_axes[i]
        own = [self.of(a) for a in axes[len(axes) - self.form.own[i] :]]
        if not self.form.groups or i in self.form.exact:
            return own
        if i not in self.form.leading:
            return ["1...", *own]
        return ["..." if self.form.spreads else "same...", *own]

    def least(self) -> dict[str, int]:
        """The sizes that must not be smaller."""
        found: dict[str, int] = {}
        for axis, least in self._least():
            if axis.sized() in self.names and least > 0:
                name = self.names[axis.sized()]
                found[name] = max(least, found.get(name, 0))
        return found

    def _least(self) -> Iterator[tuple[Axis, int]]:
        for node in self.graph.nodes():
            for axis in node.folded if node.ranking else ():
                assert node.ranking is not None, "it ranks"
                yield axis, node.ranking.k
            for made in node.axes:
                for derived in () if made is None else made.root().derived:
                    yield derived.axes[0], derived.least

    def constraints(self) -> list[str]:
        """What sizes that the formula makes of others must be."""
        found = []
        for axis in {a.root(): None for n in self.graph.nodes() for a in n.axes if a is not None}:
            for derived in axis.derived:
                text = derived.text.format(*(self.of(a) for a in derived.axes))
                if axis.known is not None or axis.sized() in self.names or len(axis.derived) > 1:
                    found.append(f"{self.of(axis)} is {text}")
        return found


def _sizes(subject: Subject) -> _Sizes:
    form = subject.form
    return _Sizes(build_graph(subject.program, subject.names, form.types(), subject.output_types), form)


def taken(variants: Variants) -> dict[str, Any]:
    """What the library takes, for machines; sizes without a rule of their own are any."""
    first = variants[0][0]
    sizes = _sizes(first)
    shapes = [
        {"name": name, "shape": sizes.shape(i)}
        for i, (name, t) in enumerate(zip(first.names, first.inputs, strict=True))
        if t is not None
    ]
    return {
        "types": [_types(v) for v, _ in variants],
        "inputs": shapes,
        "ranks": "any" if sizes.form.groups else "as in inputs",
        "least": sizes.least(),
        "constraints": [*_sentences(sizes), *_required(first)],
    }


def _types(subject: Subject) -> dict[str, str]:
    outputs = zip((o.name for o in subject.opdef.outputs), subject.output_types, strict=True)
    return {n: dtypes.name(t.dtype) for n, t in subject.given.items()} | {
        n: dtypes.name(t) for n, t in outputs
    }


def _sentences(sizes: _Sizes) -> list[str]:
    found = []
    if sizes.form.groups:
        how = "broadcast" if sizes.form.spreads else "are the same for all inputs that have them"
        found.append(f"leading dimensions {how}, and a tensor has at most {MOST_DIMS} dimensions")
    found += [f"{name} is at least {least}" for name, least in sizes.least().items()]
    return found + sizes.constraints()


def _required(subject: Subject) -> list[str]:
    """What the definition asks for beyond the code, which computes the formula for every shape."""
    given = [s for s, t in zip(subject.opdef.inputs, subject.inputs, strict=True) if t is not None]
    return [
        f"the definition is for {s.name} of shape {list(s.required_shape)} only, -1 being any size"
        for s in given
        if s.required_shape is not None
    ]


def taken_text(variants: Variants) -> str:
    """In one line: x [..., n0], float32, float16 or bfloat16."""
    first = variants[0][0]
    sizes = _sizes(first)
    found = []
    for i, (name, t) in enumerate(zip(first.names, first.inputs, strict=True)):
        if t is not None:
            kinds = dict.fromkeys(_types(v)[name] for v, _ in variants)
            found.append(f"{name} [{', '.join(map(str, sizes.shape(i)))}] {'/'.join(kinds)}")
    return "; ".join([*found, *_sentences(sizes)[bool(sizes.form.groups) :], *_required(first)])


def support_info(subject: Subject) -> dict[str, Any]:
    """The supportInfo of one combination of element types."""
    form = subject.form
    sizes = _sizes(subject)
    inputs = []
    for i, (name, t) in enumerate(zip(subject.names, subject.inputs, strict=True)):
        spec = subject.opdef.inputs[i]
        shape = [-2] if form.groups else [-1 if isinstance(d, str) else d for d in sizes.shape(i)]
        inputs.append(None if t is None else _tensor(name, i, t.dtype, spec.occurrence, shape))
    made = list(zip(subject.opdef.outputs, subject.output_types, sizes.graph.outputs, strict=True))
    outputs = [
        _tensor(o.name, i, dtype, "required", [-2] if form.groups else [-1] * len(node.axes))
        for i, (o, dtype, (node, _)) in enumerate(made)
    ]
    attributes = [
        {"name": a.name, "dtype": a.type, "value": subject.attributes.get(a.name)}
        for a in subject.opdef.attributes
    ]
    return {"inputs": inputs, "outputs": outputs, "attrs": attributes, "opMode": "dynamic"}


def _tensor(name: str, index: int, dtype: int, occurrence: str, shape: list[int]) -> dict[str, Any]:
    found = {"name": name, "index": index, "dtype": dtypes.name(dtype)}
    return found | {"format": "ND", "paramType": occurrence, "shape": shape}

"""The types and shapes that a model declares: of its inputs, and (as value_info) of anything else."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import UNKNOWN, Fact, Facts
from ascend_ep.graph.shape_constraints import Constraints
from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dims import Dim, DimExpr, symbol, symbols

#: Names that exporters give to dims of which they know nothing; each is another dim.
NO_NAMES = frozenset({"", "?", "-1", "None"})


class Declared:
    """Markers of declared dims."""

    #: a dimension declared without a value, or a name that says anything
    NOTHING: DimExpr = symbol("")


def declared_fact(value: ir.Value, fresh: str = "") -> Fact:
    """What the model says of `value`. Dims it leaves open are NOTHING, or named after `fresh`."""
    if value.type is None and value.shape is None:
        return UNKNOWN
    dense = isinstance(value.type, ir.TensorType)
    dtype = int(value.type.dtype) if dense and value.type is not None else 0
    if value.shape is None or not (dense or value.type is None):
        return Fact(dtype)
    dims: list[Dim] = []
    for index, dim in enumerate(value.shape):
        if isinstance(dim, int) and dim >= 0:
            dims.append(dim)
        elif not isinstance(dim, int) and (name := (dim.value or "").strip()) not in NO_NAMES:
            dims.append(parse_dim(name))
        else:
            dims.append(symbol(f"{fresh}_d{index}") if fresh else Declared.NOTHING)
    return Fact(dtype, dims)


def contradicts(fact: Fact, declared: Fact) -> bool:
    """Whether no tensor has both shapes."""
    if fact.dims is None or declared.dims is None:
        return False
    pairs = zip(fact.dims, declared.dims, strict=False)
    return len(fact.dims) != len(declared.dims) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs
    )


#: Where a model keeps what `drop_shape` was told.
_DROPPED = "ascend_ep.dropped_shapes"


def drop_shape(model: ir.Model, value: ir.Value, text: str) -> None:
    """The shape declared of `value` is wrong, as `text` says: it counts no more, as in onnxruntime."""
    model.meta.setdefault(_DROPPED, {}).setdefault(value.name or "", text)
    value.shape = None


def dropped_shapes(model: ir.Model) -> list[str]:
    """What `drop_shape` was told of values of this model."""
    return list(model.meta.get(_DROPPED, {}).values())


#: Operators whose result has the shape of their first input.
_SAME_SHAPE = frozenset(
    {"Abs", "Cast", "CastLike", "Exp", "Identity", "Log", "Neg", "Relu", "Sigmoid", "Sqrt", "Tanh"}
)


def declare_backwards(graph: ir.Graph) -> None:
    """Declares, of inner values, the fixed shapes declared of what is made of them element by element.

    A sum over axes that come with the data has a rank before a run only by what is declared of the result.
    """
    for node in reversed(graph):
        if node.op_type not in _SAME_SHAPE or node.domain not in ("", "ai.onnx"):
            continue
        if not node.inputs or not node.outputs:
            continue
        source, shape = node.inputs[0], node.outputs[0].shape
        if source is None or source.producer() is None or shape is None or not shape.is_static():
            continue
        known = source.shape
        open_dims = known is None or (not known.is_static() and len(known) == len(shape))
        if open_dims and (source.type is None or isinstance(source.type, ir.TensorType)):
            source.shape = shape.copy()


def declare_inputs(model: ir.Model, constraints: Constraints | None = None) -> Facts:
    """The facts of the graph's inputs, as far as `constraints` are known.

    A dim_param that is an expression (`past+seq`) counts as one only when its symbols are dims of inputs by
    themselves, so that they can be solved; otherwise its text names an opaque symbol.
    """
    found = {value: declared_fact(value, fresh=value.name or "input") for value in model.graph.inputs}
    alone = frozenset(
        str(d) for f in found.values() for d in f.dims or () if isinstance(d, DimExpr) and d == symbol(str(d))
    )
    solvable = set(alone)
    for value, fact in found.items():
        if fact.dims is not None:
            fact.dims = tuple(
                d if symbols((d,)) <= alone else symbol(_dim_text(value, i)) for i, d in enumerate(fact.dims)
            )
            solvable |= symbols(fact.dims)
    facts = Facts(frozenset(solvable), constraints)
    for value, fact in found.items():
        if fact.dims is not None and (dims := facts.constraints.canonical(fact.dims)) != fact.dims:
            facts.declared_dims[value] = fact.dims
            fact.dims = dims
        facts[value] = fact
    return facts


def given_inputs(model: ir.Model, given: Mapping[str, Fact]) -> Facts:
    """Facts that hold these of the graph's inputs, by name; every symbol of theirs counts as known."""
    known = {value: given[value.name or ""] for value in model.graph.inputs}
    facts = Facts(
        frozenset[str]().union(
            *(symbols(f.dims or ()) | symbols(f.shape_value or ()) for f in known.values())
        )
    )
    for value, fact in known.items():
        facts[value] = fact
    return facts


def _dim_text(value: ir.Value, index: int) -> str:
    assert value.shape is not None
    dim = value.shape[index]
    return str(dim) if isinstance(dim, int) else str(dim.value)


def set_input_shapes(model: ir.Model, shapes: Mapping[str, Sequence[int | str]]) -> None:
    """Replaces input shapes, as --input_shape does: a number, a name or -1 (unknown) per dim.

    Everything the model declares of inner values and outputs is forgotten but their types: it may be stale.
    AscendError E10001 for an unknown input, E10002 for a shape of another rank than the declared one.
    """
    inputs = {value.name: value for value in model.graph.inputs}
    for name, dims in shapes.items():
        value = inputs.get(name)
        if value is None:
            raise AscendError(
                "E10001",
                name,
                "--input_shape",
                f"the model has no such input; it has {', '.join(map(str, inputs))}",
            )
        _check_override(name, dims, declared_fact(value))
        _say_other_sizes(name, dims, value)
        value.shape = ir.Shape([_override(name, i, d) for i, d in enumerate(dims)])
    if shapes:
        for node in model.graph.all_nodes():
            for value in node.outputs:
                value.shape = None


def _override(name: str, index: int, dim: int | str) -> int | str:
    return f"{name}_d{index}" if dim == -1 else dim


def _say_other_sizes(name: str, dims: Sequence[int | str], value: ir.Value) -> None:
    """Warns where a size that the model declares as a number becomes another: its nodes may rely on it."""
    declared = list(value.shape) if value.shape is not None else []
    if any(
        isinstance(a, int) and isinstance(b, int) and b != a for a, b in zip(declared, dims, strict=False)
    ):
        was, now = (", ".join(map(str, sizes)) for sizes in (declared, dims))
        text = f"input {name} becomes [{now}], as the shapes given say; the model declares [{was}]"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _check_override(name: str, dims: Sequence[int | str], declared: Fact) -> None:
    text, form = f"{name}:{','.join(map(str, dims))}", "name:d1,d2,..."
    for dim in dims:
        if isinstance(dim, int) and dim < -1:
            raise AscendError("E10002", text, f"{dim} is no dimension.", form)
    if declared.dims is None:
        return
    if len(declared.dims) != len(dims):
        raise AscendError("E10002", text, f"the model's input has {len(declared.dims)} dimensions.", form)

"""Users' libraries on samples with the types, shapes, attributes and constants of a model's nodes, apart
from the converter: those that crash, and those that compute something else than the built-in operator of
their name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ascend_ep.codegen.library_call import Array
from ascend_ep.codegen.library_process import Sample, Trial, try_library
from ascend_ep.compiler.lowering import NodeView, Operand, Unsupported
from ascend_ep.compiler.semantics import Semantics
from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Library, OpDef, Source
from ascend_ep.opdef.dims import evaluate as size_of
from ascend_ep.opdef.dims import symbols
from ascend_ep.opdef.reference import evaluate
from ascend_ep.runtime.comparison import compare

from .library_shapes import why_not_loaded
from .native_code import library_of
from .native_op import attributes as library_attributes

#: Samples of a node: the magnitudes of their numbers.
MAGNITUDES = (1.0, 4.0, 0.25)
#: Nodes of one operator that differ and are tried, and elements of an operand that is.
MOST_NODES, MOST_ELEMENTS = 3, 1 << 20
#: A size that the samples of the model don't fix.
FREE_SIZE = 2

Say = Callable[[str], None]


@dataclass(frozen=True)
class Computed:
    """A node that a library computes. used: where that was found. other, place: what the node means without
    it, if a built-in operator has its name, and where that is."""

    view: NodeView
    opdef: OpDef
    used: str
    other: OpDef | None = None
    place: str = ""


def try_libraries(
    semantics: Semantics, model: ir.Model, facts: Facts, sizes: Mapping[str, int], note: Say
) -> bool:
    """Warns of each library that disagrees with the built-in operator that it replaces (E41016), or that
    fails on samples (E41017). Whether all survived them.

    sizes: of free dimensions. `note` gets constraint, and why something isn't compared.
    """
    survived = True
    seen: dict[str, set[object]] = {}
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        found = _computed(semantics, node, facts)
        if found is None:
            continue
        nodes = seen.setdefault(node.op_type, set())
        likeness = _likeness(found.view)
        if likeness not in nodes and len(nodes) < MOST_NODES:
            nodes.add(likeness)
            survived = _try(found, sizes, note) and survived
    return survived


def _computed(semantics: Semantics, node: ir.Node, facts: Facts) -> Computed | None:
    opdef = semantics.definition(node)
    if opdef is None or not isinstance(opdef.semantics, Library | Source):
        return None
    used = semantics.origin(node).partition(", not by")[0]
    others = [(place, other) for place, other in semantics.shadowed(node) if place.startswith("built-in")]
    place, other = others[0] if others else ("", None)
    try:
        return Computed(semantics.view(node, facts, opdef), opdef, used, other, place)
    except Unsupported:
        return None


def _likeness(view: NodeView) -> object:
    operands = [None if o is None else (o.dtype, o.dims) for o in view.inputs]
    return tuple(operands), tuple(sorted((n, repr(v)) for n, v in view.attributes.items()))


def _try(found: Computed, sizes: Mapping[str, int], note: Say) -> bool:
    """Whether the library survived. Its file is read, and refused, before anything loads it."""
    op = found.view.op_type
    try:
        samples = [_sample(found.view.inputs, sizes, m, k) for k, m in enumerate(MAGNITUDES)]
        given = library_attributes(found.view.attributes)
        library = library_of(found.opdef)
        if reason := why_not_loaded(library):
            raise ValueError(reason)
    except (AscendError, Unsupported, ValueError) as error:
        note(f"{op} isn't tried on samples: {getattr(error, 'text', error)}")
        return True
    wanted = _wanted(found, samples, note)
    trial = try_library(library, op, samples, len(found.view.outputs), given)
    worst = _worst(trial, wanted, samples)
    if worst:
        _warn("E41016", found, worst)
    if trial.ended or (trial.failure and wanted):
        number = len(trial.outputs)
        about = f"sample {number + 1} of {len(samples)} ({_about(samples[number])})"
        _warn("E41017", found, f"{about}: {trial.failure}")
    if wanted and not worst and not trial.failure:
        note(f"{op}: {found.used} agrees with the {found.place} on {len(samples)} samples")
    return not trial.ended


def _wanted(found: Computed, samples: Sequence[Sample], note: Say) -> list[list[Array]]:
    """What the built-in operator makes of the samples, in float64; nothing where it doesn't take the node."""
    if found.other is None:
        return []
    try:
        return [evaluate(found.other, sample, found.view.attributes) for sample in samples]
    except AscendError as error:
        note(f"{found.view.op_type} isn't compared with the {found.place}: {error.text}")
        return []


def _warn(code: str, found: Computed, reason: str) -> None:
    """Says which of two definitions is used, and how to have the other."""
    error = AscendError(code, found.view.op_type, reason)
    where = f"node {found.view.name}: " if found.view.name else ""
    text = f"{error.code} {where}{error.text}"
    if found.other is not None:
        place, _, origin = found.used.partition(" (")
        named = origin.partition(")")[0]
        how = f"leave out {place}={named}" if place.startswith("--") else f"remove {named} from the folder"
        text += f" {found.used} is used, not the {found.place}; to have that, {how}."
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _sample(
    operands: Sequence[Operand | None], sizes: Mapping[str, int], magnitude: float, seed: int
) -> Sample:
    """Inputs of a node: constants, normal floats, integers 0 and 1. Raises ValueError for what has none."""
    rng = np.random.default_rng(seed)
    return [None if o is None else _values(o, sizes, magnitude, rng) for o in operands]


def _values(operand: Operand, sizes: Mapping[str, int], magnitude: float, rng: np.random.Generator) -> Array:
    known = {name: sizes.get(name, FREE_SIZE) for name in symbols(operand.dims)}
    shape = [size_of(d, known) for d in operand.dims]
    if any(d < 0 for d in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise ValueError(f"an input of {shape} isn't made for a sample")
    if operand.dtype not in (*dtypes.NUMPY, dtypes.BFLOAT16):
        raise ValueError(f"there are no samples of {dtypes.name(operand.dtype)}")
    if operand.const is not None:
        return np.ascontiguousarray(operand.const)
    is_float = operand.dtype in dtypes.FLOATS
    made = rng.standard_normal(shape) * magnitude if is_float else rng.integers(0, 2, shape)
    return np.asarray(made).astype(numpy_dtype(operand.dtype))


def _worst(trial: Trial, wanted: Sequence[Sequence[Array]], samples: Sequence[Sample]) -> str:
    """The largest disagreement of any sample, in words; "" for none."""
    found: list[tuple[float, str]] = []
    for k, (made, right) in enumerate(zip(trial.outputs, wanted, strict=False)):
        for o, (result, exact) in enumerate(zip(made, right, strict=False)):
            expected = exact.astype(result.dtype) if result.dtype.kind in "biu" else exact
            difference = compare(result, expected)
            if difference.exceeds:
                where = f"sample {k + 1} of {len(samples)} ({_about(samples[k])}), output {o}"
                apart = _apart(result, expected) or str(difference)
                found.append((difference.relative, f"{apart}, at {where}"))
    return max(found)[1] if found else ""


def _apart(result: Array, expected: Array) -> str:
    """The largest difference of two arrays, and where it is; "" for arrays of different shapes."""
    if result.shape != expected.shape:
        return ""
    x, y = result.astype(np.float64), expected.astype(np.float64)
    equal = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        apart = np.where(equal, 0.0, np.nan_to_num(np.abs(x - y), nan=np.inf))
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
    return f"largest difference {apart[at]:.3g} ({x[at]:.6g} instead of {y[at]:.6g} at {list(at)})"


def _about(sample: Sample) -> str:
    return ", ".join("absent" if a is None else f"{a.dtype.name}{list(a.shape)}" for a in sample)

"""Running a written bundle on its stored samples, and comparing with the float64 reference."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.cann.aipp.preprocessing import Preprocessing
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import evaluate, symbols
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.plan import HostPartition, Native, Plan
from ascend_ep.plan.plan import NativePartition as PlannedPartition
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.comparison import BOUNDS, Difference, compare
from ascend_ep.runtime.native_partition import NativePartition
from ascend_ep.runtime.sample_process import Ended, Job, run_apart

if TYPE_CHECKING:
    from ascend_ep.graph.reference import Reference

Array = NDArray[Any]

_FLOATS = {"FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "BFLOAT16": "bfloat16"}

_FLOAT_NUMBERS = frozenset(ir.DataType[name].value for name in _FLOATS)

#: ONNX operators that make a jump of the smallest difference between floats.
STEPS = frozenset(
    {
        *("Floor", "Ceil", "Round", "Sign", "Mod", "QuantizeLinear", "DynamicQuantizeLinear"),
        *("QLinearMatMul", "QLinearConv", "QGemm", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"),
        *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal", "ThresholdedRelu", "Shrink"),
        *("ArgMax", "ArgMin", "Hardmax", "NonMaxSuppression", "NonZero", "Unique"),
        *("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble", "Binarizer", "OneHotEncoder"),
    }
)

#: Models up to this many nodes and weight elements are compared with the reference unasked, where it holds
#: and takes no more than this.
SMALL_NODES = 400
SMALL_WEIGHTS = 4_000_000
SMALL_BYTES = 160 << 20
SMALL_SECONDS = 3.0
#: A difference may be this many times what the last bit of every value makes; sums are rounded often.
MAGNIFIED = 8


class NoSamples(Exception):
    """The samples of a plan can't be run here, or their random data is refused."""


class UnfitSizes(NoSamples):
    """The model doesn't take the sizes of the samples, which say nothing of other sizes."""


def run_samples(written: Path | bytes, plan: Plan) -> list[Array]:
    """Opens the bundle, which verifies it, and runs it on its sample inputs; the outputs in their order. One
    with host partitions runs in another process, as onnxruntime may end that.

    Raises NoSamples, of which UnfitSizes says what doesn't fit, E41025 where onnxruntime ends the process, or
    the AscendError of a bundle that fails otherwise.
    """
    inputs = {s.edge.name: s.array for s in plan.samples if s.edge.is_input}
    outputs = [s.edge.name for s in plan.samples if s.edge.is_output]
    code = {n for p in plan.partitions if isinstance(p, PlannedPartition) for i in p.insns if (n := i.native)}
    trusted = ",".join(f"sha256:{digest}" for digest in sorted(map(digest_of, code)))
    chosen = {"low_memory": "1"} | ({"trust": trusted} if trusted else {})
    hosts = [f"partition [{p.name}]: {p.reason}" for p in plan.partitions if isinstance(p, HostPartition)]
    job = Job(written, chosen, inputs, outputs)
    try:
        results = run_apart(job) if hosts else job.run()
        bind_profiles(written, plan)
        return results
    except Ended as end:
        if end.started:
            raise AscendError("E41025", end, details=hosts) from end
        if outputs:
            raise NoSamples from end
        open_model(written, flags=lib.ASC_OPEN_NO_NATIVE)
        return []
    except AscendError as error:
        if error.code == "E40007" and outputs:
            raise UnfitSizes(error.text) from error
        if error.code not in ("E40008", "E40009", "E40010", "E40011", "E40013"):
            raise
        if outputs:
            raise NoSamples from error
        open_model(written, flags=lib.ASC_OPEN_NO_NATIVE)
        return []


def bind_profiles(written: Path | bytes, plan: Plan) -> None:
    """Raises AscendError E19014 unless the shapes of every profile fit throughout the written plan."""
    if not plan.profiles:
        return
    bundle = Bundle(open_model(written, flags=lib.ASC_OPEN_NO_NATIVE))
    for profile in plan.profiles:
        try:
            for info in bundle.partitions:
                dims = [plan.edges[i].dims for i in info.inputs]
                if info.is_native and symbols([d for edge in dims for d in edge]) <= profile.keys():
                    shapes = tuple(tuple(evaluate(d, profile) for d in edge) for edge in dims)
                    NativePartition(bundle, info).bind(shapes)
        except AscendError as error:
            if error.code not in ("E40007", "E40008"):
                raise
            chosen = ", ".join(f"{name}={size}" for name, size in profile.items())
            raise AscendError("E19014", chosen, plan.meta.get("source", "the model"), error.text) from error


def digest_of(native: Native) -> str:
    """The SHA-256 of a shared object, in hex."""
    return hashlib.sha256(Path(native.path).read_bytes()).hexdigest()


def too_many(model: ir.Model) -> str:
    """Which number of a model's is more than is compared with the reference unasked; "" when none is."""
    nodes = sum(1 for _ in model.graph)
    if nodes > SMALL_NODES:
        return f"{nodes} nodes are more than {SMALL_NODES}"
    constants = (v.const_value for v in model.graph.initializers.values() if v.uses())
    weights = sum(tensor.size for tensor in constants if tensor is not None)
    if weights > SMALL_WEIGHTS:
        return f"{weights} weights are more than {SMALL_WEIGHTS}"
    return ""


def too_large(source: str | onnx.ModelProto, inputs: Mapping[str, Array], registry: Registry) -> str:
    """Which size of the reference's run is more than is spent unasked, as far as shapes tell; "" for none."""
    from ascend_ep.graph.reference_cost import reference_cost

    shapes = {name: (ir.DataType.from_numpy(a.dtype).value, a.shape) for name, a in inputs.items()}
    try:
        cost = reference_cost(source, shapes, registry)
    except (AscendError, KeyError):
        return ""  # the run's own limit remains
    if cost.bytes > SMALL_BYTES:
        return f"it would hold {cost.bytes >> 20} MB of values, more than {SMALL_BYTES >> 20}"
    return f"it would take about {cost.seconds:.0f} s" if cost.seconds > SMALL_SECONDS else ""


def say_shortened(why: str) -> None:
    text = "the check was shortened: the sample run isn't compared with the float64 reference, as"
    warnings.warn(f"{text} {why} (--self_check=1 compares all the same)", RuntimeWarning, stacklevel=3)


def check_against_reference(
    source: str | onnx.ModelProto,
    plan: Plan,
    results: Sequence[Array],
    registry: Registry,
    bound: float,
    excuse: str,
    must: bool,
    preprocessing: Sequence[Preprocessing] = (),
) -> str:
    """What of the sample outputs is excused though it is not that of the float64 reference.

    Raises AscendError E41020 when they are not and nothing excuses it.

    `preprocessing`: what makes the source model's inputs from the bundle's.

    `bound` is that of the model's coarsest type: an output is no more exact, whatever it is cast to. Unless
    it `must` be compared, a model that the reference can't evaluate passes, one for which that takes much is
    not compared, which a RuntimeWarning says, and in one with an `excuse`, why rounding may make more of a
    difference than the bound, what differs is a RuntimeWarning. So it is where the last bit of every value
    makes as much of a difference.
    """
    from ascend_ep.graph.reference import Reference, ReferenceTooLarge

    inputs = {s.edge.name: s.array for s in plan.samples if s.edge.is_input}
    inputs |= {p.name: p.apply(inputs[p.name]) for p in preprocessing}
    try:
        if not must and (why := too_large(source, inputs, registry)):
            say_shortened(why)
            return ""
        reference = Reference(source, registry)
        expected = reference.run(inputs, None if must else SMALL_BYTES)
    except ReferenceTooLarge:
        say_shortened(f"it would hold more than {SMALL_BYTES >> 20} MB of values")
        return ""
    except Exception as error:
        if must:
            raise AscendError("E41021", f"{type(error).__name__}: {error}") from error
        return ""
    outputs = [s.edge.name for s in plan.samples if s.edge.is_output]
    differences = {
        name: difference
        for name, result in zip(outputs, results, strict=True)
        if name in expected and (difference := _compare(result, expected[name], bound)).exceeds
    }
    if differences and not excuse:
        excuse = _magnified(reference, inputs, expected, differences)
    wrong = [f"output [{name}]: {difference}" for name, difference in differences.items()]
    if wrong and excuse and not must:
        text = f"the sample run differs from the float64 reference, as {excuse}"
        warnings.warn(f"{text}: {'; '.join(wrong)}", RuntimeWarning, stacklevel=2)
    elif wrong:
        raise AscendError("E41020", details=wrong)
    return "; ".join(wrong)


def _magnified(
    reference: Reference,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Array],
    differences: Mapping[str, Difference],
) -> str:
    """An excuse where the last bit of every value makes as much of a difference, or the reference is NaN, of
    which a kernel may read less; else ""."""
    if all(np.isnan(expected[name]).any() for name in differences if expected[name].dtype.kind == "f"):
        return "the model makes NaN of the sample inputs"
    nudged = reference.nudged(inputs)
    spread = {name: compare(nudged[name], expected[name]).relative for name in differences}
    if any(difference.relative > MAGNIFIED * spread[name] for name, difference in differences.items()):
        return ""
    return f"the last bit of every value makes up to {max(spread.values()):.1e} of difference"


def _compare(result: Array, expected: Array, bound: float) -> Difference:
    """The difference, where --output_type may have made integers of what the source model has as floats."""
    if result.dtype.kind in "biu" and expected.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            expected = expected.astype(result.dtype)
    return compare(result, expected, bound)


def coarsest_bound(model: ir.Model, facts: Facts) -> float:
    """The bound of the coarsest floating type that any value of the model has."""
    values = (*model.graph.inputs, *(v for node in model.graph for v in node.outputs))
    names = {ir.DataType(facts[v].dtype).name for v in values if facts[v].dtype}
    return max((BOUNDS[_FLOATS[n]] for n in names if n in _FLOATS), default=BOUNDS["float32"])


def rounding_excuse(exact: bool, model: ir.Model, facts: Facts) -> str:
    """Why a sample run may differ from the reference by more than its type's bound; "" when it may not."""
    if not exact and any(facts[v].dtype == dtypes.FLOAT16 for node in model.graph for v in node.outputs):
        return (
            "values rounded to float16, whose range ends at 65504, may make it (ascend-om diff --per-node"
            " shows where; --precision_mode=must_keep_origin_dtype is exact)"
        )
    step = step_operator(model, facts)
    return f"rounding before {step} may make it" if step else ""


def step_operator(model: ir.Model, facts: Facts) -> str:
    """An operator of the model that is one of STEPS, or casts floats to integers; "" if there is none."""
    for node in model.graph.all_nodes():
        floats = any(v is not None and facts[v].dtype in _FLOAT_NUMBERS for v in node.inputs)
        casts = node.op_type == "Cast" and all(facts[v].dtype not in _FLOAT_NUMBERS for v in node.outputs)
        if floats and (casts or node.op_type in STEPS):
            return node.op_type
    return ""

"""A mistake in any step of a conversion costs that step, or nodes their place, never the model."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import onnx
import pytest
from everywhere import stock
from onnx import helper

import ascend_ep
from ascend_ep.compiler import assembly, convert, lower, lowering
from ascend_ep.compiler.claims import NATIVE
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.graph import setbacks
from ascend_ep.graph.reference import reference_run
from ascend_ep.graph.shapes import RULES
from ascend_ep.opdef.registry import Registry
from ascend_ep.provider.report import report

Patch = pytest.MonkeyPatch


class Planted(Exception):
    """What nobody expects."""


def stumble(*_: object, **__: object) -> None:
    raise Planted("planted")


@cache
def source() -> bytes:
    """A convolution with a normalization, sizes that are computed, a branch, GELU and softmax."""
    text = """<ir_version: 10, opset_import: ["": 17]> g (float[N,2,6,6] x, float[N,8] z) => (y, k) <
        int64[1] zero = {0}, int64[1] eight = {8}, int64[1] minus = {-1}, float half = {0.5}, float one = {1},
        float root = {1.4142135}, bool yes = {1}> {
        a = Conv<pads = [1, 1, 1, 1]>(x, w) b = BatchNormalization(a, s, s, s, s) c = Relu(b)
        d = GlobalAveragePool(c) n = Shape(x) m = Gather(n, zero) t = Concat<axis = 0>(m, minus)
        e = Reshape(d, t) f = MatMul(e, v) g = Add(f, z)
        h = If (yes) <then_branch = p () => (q) { q = Neg(g) }, else_branch = o () => (r) { r = Abs(g) }>
        i = Div(h, root) j = Erf(i) l = Add(j, one) u = Mul(h, l) aa = Mul(u, half)
        bb = Softmax<axis = -1>(aa) y = Transpose<perm = [1, 0]>(bb) cc = Squeeze(x) dd = Shape(cc)
        k = Cast<to = 1>(dd) }"""
    proto = onnx.parser.parse_model(text)
    random = np.random.default_rng(0)
    for name, dims in {"w": (4, 2, 3, 3), "s": (4,), "v": (4, 8)}.items():
        weight = random.uniform(0.5, 1.5, dims).astype(np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, name))
    return proto.SerializeToString()


@cache
def expected() -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    random = np.random.default_rng(1)
    feeds = {
        "x": random.standard_normal((3, 2, 6, 6)).astype(np.float32),
        "z": random.standard_normal((3, 8)).astype(np.float32),
    }
    return feeds, list(reference_run(onnx.ModelProto.FromString(source()), feeds, Registry()).values())


def converted(**options: object) -> tuple[Conversion, str]:
    """The conversion, which runs and is right, and what it says in warnings and reasons."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        conversion = convert.convert(source(), ConvertOptions(codegen="off", self_check=False, **options))
        session = ascend_ep.InferenceSession(conversion.to_bytes())
    feeds, wanted = expected()
    bound = 1e-2 if "precision" in options else 1e-5
    for result, reference in zip(session.run(None, feeds), wanted, strict=True):
        np.testing.assert_allclose(result, reference, bound, bound)
    reasons = [row.reason for row in conversion.partition_table]
    return conversion, "\n".join([*(str(w.message) for w in said), *reasons])


def hosts(conversion: Conversion) -> set[str]:
    return {row.op_type for row in conversion.partition_table if row.target != "AscendEP"}


@cache
def steps() -> list[str]:
    """Every step of this conversion that is wrapped as one it can do without."""
    found: dict[str, None] = {}
    why_off = setbacks.why_off
    with Patch.context() as patch:
        patch.setattr(setbacks, "why_off", lambda name: found.setdefault(name) or why_off(name))
        converted(precision="force_fp16")
    return list(found)


@contextmanager
def raising_in(name: str, patch: Patch) -> Iterator[None]:
    original = setbacks.step

    @contextmanager
    def step(*names: str) -> Iterator[None]:
        with original(*names):
            if name in names and not setbacks.why_off(name):
                stumble()
            yield

    for module in (setbacks, assembly, convert):
        patch.setattr(module, "step", step)
    yield


def test_every_step_can_raise(monkeypatch: Patch) -> None:
    names = steps()
    assert len(names) > 15, names
    for name in names:
        with Patch.context() as patch, raising_in(name, patch):
            options = {"precision": "force_fp16"} if name == "pass apply_precision" else {}
            assert f"[{name}], which raised Planted: planted" in converted(**options)[1]


def test_without_its_native_half_a_model_is_the_hosts(monkeypatch: Patch) -> None:
    with raising_in(NATIVE, monkeypatch):
        conversion, said = converted()
    assert "keeps it from being native (Planted: planted)" in said
    assert {row.target for row in conversion.partition_table} == {"CPU"}


@pytest.mark.parametrize(
    "op_type", ["Conv", "Gather", "Reshape", "MatMul", "Add", "Softmax", "Squeeze", "Shape"]
)
def test_a_shape_rule_that_raises_costs_its_nodes_their_place(op_type: str, monkeypatch: Patch) -> None:
    monkeypatch.setitem(RULES, op_type, stumble)
    conversion, said = converted()
    assert "Planted: planted" in said or op_type in ("Gather", "Shape")  # folded away where ONNX knows it
    assert "Transpose" not in hosts(conversion)


@pytest.mark.parametrize("kernel", ["conv", "matmul", "softmax", "transpose", "elementwise", "formula"])
def test_a_lowering_that_raises_costs_its_nodes_their_place(kernel: str, monkeypatch: Patch) -> None:
    lower.lowering(kernel)
    monkeypatch.setitem(lowering._LOWERINGS, kernel, stumble)
    conversion, said = converted()
    assert "a mistake of ascend-ep keeps it from being native (Planted: planted)" in said
    assert "AscendEP" in {row.target for row in conversion.partition_table}


def test_a_lowering_that_raises_only_in_its_partition(monkeypatch: Patch) -> None:
    """What a trial alone didn't show: the node is found by name when all begins again."""
    original = assembly.lower_node

    def lower(view: object, function: object, builder: object) -> None:
        if view.op_type == "MatMul":  # type: ignore[attr-defined]
            stumble()
        original(view, function, builder)  # type: ignore[arg-type]

    monkeypatch.setattr(assembly, "lower_node", lower)
    conversion, said = converted()
    assert "Planted: planted" in said
    assert hosts(conversion) >= {"MatMul"}
    assert "Conv" not in hosts(conversion)


#: module, what in it raises, and a word of what is said
PLACES = {
    "conclusions about sizes": ("graph.shape_constraints.Constraints.learn", "constraints of sizes"),
    "constraints": ("graph.shape_constraints.Constraints.found", "constraints of sizes"),
    "declared shapes": ("graph.shape_inference._Inference._settle", "native"),
    "a fusion's check": ("graph.fusion.gelu.GeluFusion.check", "pass FuseOperators"),
    "a fusion's rewriting": ("graph.fusion.fuse.outline", "pass FuseOperators"),
    "constants": ("graph.passes.fold.FoldConstants.call", "pass FoldConstants"),
    "branches": ("graph.passes.branch.InlineBranches.call", "pass InlineBranches"),
    "values that leave a partition": ("plan.plan_builder.PlanBuilder.result", "native"),
    "epilogues": ("compiler.rewrites.fuse_epilogue._find", "pass fuse_epilogues"),
    "sizes of samples": ("compiler.samples.bindings", "samples"),
}


@pytest.mark.parametrize("what", PLACES)
def test_a_part_that_raises(what: str, monkeypatch: Patch) -> None:
    place, word = PLACES[what]
    path, _, name = f"ascend_ep.{place}".rpartition(".")
    try:
        owner: object = importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, owner_name = path.rpartition(".")
        owner = getattr(importlib.import_module(module), owner_name)
    monkeypatch.setattr(owner, name, stumble)
    assert word in converted()[1]


def test_a_pass_that_raises_halfway_leaves_no_trace(monkeypatch: Patch) -> None:
    from ascend_ep.graph.passes.fold import FoldConstants

    def spoil(self: object, model: object) -> None:
        nodes = list(model.graph)  # type: ignore[attr-defined]
        model.graph.remove(nodes[-1], safe=False)  # type: ignore[attr-defined]
        stumble()

    monkeypatch.setattr(FoldConstants, "call", spoil)
    assert "[pass FoldConstants]" in converted()[1]


def test_inside_onnxruntime_the_rest_stays_ours(monkeypatch: Patch) -> None:
    monkeypatch.setitem(RULES, "MatMul", stumble)
    session = stock(source(), "AscendEP")
    feeds, wanted = expected()
    for result, reference in zip(session.run(None, feeds), wanted, strict=True):
        np.testing.assert_allclose(result, reference, 1e-5, 1e-5)
    placed = report(session).placements
    reasons = {p.op_type: p.reason for p in placed}
    assert "Planted: planted" in reasons["MatMul"]
    assert {p.target for p in placed if p.op_type in ("Conv", "Softmax", "Transpose")} == {"AscendEP"}


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    "error",
    [AscendError("E41011", "op", "x"), MemoryError(), OSError(5, "Input/output error"), KeyboardInterrupt()],
    ids=repr,
)
def test_what_is_no_mistake_of_ours_is_raised(error: Exception, monkeypatch: Patch) -> None:
    monkeypatch.setitem(RULES, "MatMul", raising(error))
    with pytest.raises(type(error)):
        convert.convert(source(), ConvertOptions())


def test_a_mistake_that_nothing_avoids_is_raised_once(monkeypatch: Patch) -> None:
    calls = []
    monkeypatch.setattr(convert, "partition_table", lambda *_: calls.append(1) or stumble())
    with pytest.raises(Planted):
        convert.convert(source(), ConvertOptions())
    assert len(calls) == 1


def test_an_operator_that_only_we_know_is_refused_with_the_mistake(monkeypatch: Patch) -> None:
    node = helper.make_node("Swish", ["x"], ["y"], "sw", domain="my", beta=1.5)
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [value("x", 1, ["N", 16])], [value("y", 1, ["N", 16])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("my", 1)], ir_version=10)
    lower.lowering("formula")
    monkeypatch.setitem(lowering._LOWERINGS, "formula", stumble)
    with pytest.raises(AscendError, match="Planted: planted") as info:
        convert.convert(model, ConvertOptions())
    assert info.value.code == "E20001"

"""The plan's rules: each sees the bad plan planted for it, none a good one; what they let pass runs right."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import onnx
import pytest
from quantised_models import quantised
from small_models import mixed

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.opdef.dims import symbol
from ascend_ep.plan.plan import OUTPUT, VIEW, Insn, Native, NativePartition, Plan, Ref
from ascend_ep.plan.plan_check import PARTITION_RULES, PLAN_RULES, check_plan
from ascend_ep.plan.tile_expression import load

QUICK = ConvertOptions(codegen="off", self_check=False, sample_seed=None)


def heads() -> onnx.ModelProto:
    """A product by a packed weight, an output that is read through a strided view, sums and an epilogue."""
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[3,4,6] x) => (float[3,8,4] y, float[3,4,8] z) <float[6,8] w> {
        m = MatMul(x, w)
        z = Softmax(m)
        t = Transpose<perm=[0,2,1]>(z)
        e = Exp(t)
        s = Softmax(e)
        q = ReduceMax<keepdims=1>(s)
        y = Mul(s, q)
    }"""
    made = onnx.parser.parse_model(text)
    weight = np.random.default_rng(1).standard_normal((6, 8)).astype(np.float32)
    del made.graph.initializer[:]
    made.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return made


def native(plan: Plan) -> NativePartition:
    return next(p for p in plan.partitions if isinstance(p, NativePartition))


def call(part: NativePartition, kernel: str) -> Insn:
    return next(i for i in part.insns if i.kernel == kernel)


def value(part: NativePartition, name: str, kind: int | None = None) -> Ref:
    return next(v for v in part.values if v.name == name and kind in (None, v.kind))


def title(planted: object) -> str:
    return getattr(planted, "__name__", str(planted))


# --- planted plans ----------------------------------------------------------------------------------


def forgets_a_value(part: NativePartition) -> None:
    part.values.remove(value(part, "m"))


def lists_a_value_twice(part: NativePartition) -> None:
    part.values.append(part.values[0])


def lists_a_view_first(part: NativePartition) -> None:
    part.values.sort(key=lambda v: v.kind != VIEW)


def has_a_strange_type(part: NativePartition) -> None:
    value(part, "m").dtype = 99


def reads_too_early(part: NativePartition) -> None:
    part.insns.reverse()


def reads_a_view_too_early(part: NativePartition) -> None:
    copy = call(part, "copy")
    part.insns.remove(copy)
    part.insns.insert(0, copy)


def writes_twice(part: NativePartition) -> None:
    part.insns.append(replace(part.insns[-1]))


def writes_an_input(part: NativePartition) -> None:
    part.insns.append(Insn("", "copy", (value(part, "x"),), (value(part, "x"),)))


def forgets_an_output(part: NativePartition) -> None:
    part.insns.pop()


def has_an_output_without_edge(part: NativePartition) -> None:
    part.outputs.pop()


def shares_an_edges_value(part: NativePartition) -> None:
    part.outputs[0] = (part.outputs[0][0], part.outputs[1][1])


def lies_on_a_view(part: NativePartition) -> None:
    seen = call(part, "copy").ins[0]
    assert seen is not None
    seen.base = Ref("other", 1, seen.dims, VIEW, base=seen.base)
    part.values.insert(0, seen.base)


def is_a_view_of_another_type(part: NativePartition) -> None:
    seen = call(part, "copy").ins[0]
    assert seen is not None
    seen.dtype = 6


def has_strides_without_a_base(part: NativePartition) -> None:
    value(part, "m").strides = (32, 8, 1)


def looks_outside(part: NativePartition) -> None:
    seen = call(part, "copy").ins[0]
    assert seen is not None
    seen.offset = 1


def has_other_data(part: NativePartition) -> None:
    weight = call(part, "matmul").ins[1]
    assert weight is not None
    weight.dims = (8, 6)


def lies_in_no_such_layout(part: NativePartition) -> None:
    weight = call(part, "matmul").ins[1]
    assert weight is not None
    assert weight.weight is not None
    weight.weight.layout = "bytes32"


def has_a_weight_of_free_size(part: NativePartition) -> None:
    weight = call(part, "matmul").ins[1]
    assert weight is not None
    weight.dims = (symbol("N"), 8)


def calls_nothing_there_is(part: NativePartition) -> None:
    part.insns[-1].kernel = "no_such_kernel"


def reads_types_that_no_kernel_takes(part: NativePartition) -> None:
    for ref in (call(part, "reduce").outs[0], value(part, "e")):
        ref.dtype = 9


def reads_strides_that_no_kernel_takes(part: NativePartition) -> None:
    softmax = part.insns[-3]
    softmax.ins = call(part, "copy").ins
    assert softmax.kernel == "softmax"


def reads_a_packed_weight_as_plain(part: NativePartition) -> None:
    copy = call(part, "copy")
    copy.ins = (call(part, "matmul").ins[1],)


def adds_what_doesnt_broadcast(part: NativePartition) -> None:
    value(part, "q").dims = (3, 3, 1)


def copies_another_size(part: NativePartition) -> None:
    value(part, "t").dims = (3, 8, 5)


def has_words_for_arguments(part: NativePartition) -> None:
    part.insns[-1].ints = ("one",)  # type: ignore[assignment]


def elementwise(part: NativePartition) -> Insn:
    return next(i for i in part.insns if i.expressions)


def computes_nothing(part: NativePartition) -> None:
    elementwise(part).expressions = ()


def reads_an_input_that_is_not_there(part: NativePartition) -> None:
    insn = elementwise(part)
    insn.expressions = (load(len(insn.ins)),)


def has_arguments_beside(part: NativePartition) -> None:
    elementwise(part).ints = (1,)


def holds_what_another_kernel_computes(part: NativePartition) -> None:
    call(part, "copy").expressions = (load(0),)


PLANTED: dict[str, list[Callable[[NativePartition], None]]] = {
    "values_are_listed": [forgets_a_value, lists_a_value_twice, lists_a_view_first],
    "types_are_known": [has_a_strange_type],
    "reads_follow_writes": [reads_too_early, reads_a_view_too_early],
    "values_are_written_once": [writes_twice, writes_an_input],
    "boundaries_are_whole": [forgets_an_output, has_an_output_without_edge, shares_an_edges_value],
    "views_have_bases": [lies_on_a_view, is_a_view_of_another_type, has_strides_without_a_base],
    "views_lie_inside": [looks_outside],
    "weights_fit": [has_other_data, lies_in_no_such_layout, has_a_weight_of_free_size],
    "kernels_exist": [
        calls_nothing_there_is,
        reads_types_that_no_kernel_takes,
        reads_strides_that_no_kernel_takes,
        reads_a_packed_weight_as_plain,
    ],
    "elements_match": [adds_what_doesnt_broadcast, copies_another_size],
    "arguments_are_plain": [has_words_for_arguments],
    "expressions_fit": [
        computes_nothing,
        reads_an_input_that_is_not_there,
        has_arguments_beside,
        holds_what_another_kernel_computes,
    ],
}


def test_every_rule_has_a_planted_plan() -> None:
    assert {r.__name__ for r in PARTITION_RULES} == set(PLANTED)
    assert {r.__name__ for r in PLAN_RULES} == set(PLANTED_PLANS)


@pytest.mark.parametrize(
    ("rule", "plant"), [(r, p) for r, plants in PLANTED.items() for p in plants], ids=title
)
def test_a_bad_partition_breaks_its_rule(rule: str, plant: Callable[[NativePartition], None]) -> None:
    part = native(convert(heads(), QUICK).plan)
    found = {r.__name__ for r in PARTITION_RULES if list(r(part))}
    assert found == set()
    plant(part)
    found = {r.__name__ for r in PARTITION_RULES if list(r(part))}
    assert rule in found


def has_an_edge_that_nothing_makes(plan: Plan) -> None:
    plan.partitions.clear()


def reads_an_edge_too_early(plan: Plan) -> None:
    plan.partitions.reverse()


def makes_an_edge_twice(plan: Plan) -> None:
    plan.partitions.append(plan.partitions[0])


def has_an_unlisted_edge(plan: Plan) -> None:
    plan.edges.pop()


def falls_back_to_other_edges(plan: Plan) -> None:
    part = native(plan)
    part.fallback = NativePartition("p0", part.values, part.insns, part.inputs, [])


def falls_back_to_a_library(plan: Plan) -> None:
    part = native(plan)
    insns = [replace(i, native=Native("l", "l.so")) for i in part.insns]
    part.fallback = NativePartition("p0", part.values, insns, part.inputs, part.outputs)


def knows_no_symbols(plan: Plan) -> None:
    plan.symbols.clear()


PLANTED_PLANS: dict[str, list[Callable[[Plan], None]]] = {
    "edges_are_made": [
        has_an_edge_that_nothing_makes,
        reads_an_edge_too_early,
        makes_an_edge_twice,
        has_an_unlisted_edge,
    ],
    "fallbacks_replace": [falls_back_to_other_edges, falls_back_to_a_library],
    "symbols_are_known": [knows_no_symbols],
}


@pytest.mark.parametrize(
    ("rule", "plant"), [(r, p) for r, plants in PLANTED_PLANS.items() for p in plants], ids=title
)
def test_a_bad_plan_breaks_its_rule(rule: str, plant: Callable[[Plan], None]) -> None:
    plan = convert(mixed(), QUICK).plan
    check_plan(plan, "now")
    plant(plan)
    assert rule in {r.__name__ for r in PLAN_RULES if list(r(plan))}


# --- between passes ---------------------------------------------------------------------------------


def spoil(plan: Plan) -> None:
    native(plan).insns.reverse()


def test_a_violation_names_pass_partition_and_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "use_winograd", spoil)
    where = r"after pass use_winograd: partition p0, instruction 'y' \(elementwise\): .*reads_follow_writes"
    with pytest.warns(RuntimeWarning, match=rf"(?s)does without \[pass use_winograd\].*{where}"):
        conversion = convert(heads(), QUICK)
    check_plan(conversion.plan, "now")


def test_symbols_that_a_pass_brings_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def invent(part: NativePartition) -> None:
        part.insns[0].ints = (symbol("invented"), *part.insns[0].ints)

    monkeypatch.setattr(pipeline, "fuse_caches", lambda part, ledger: invent(part))
    with pytest.warns(RuntimeWarning, match=r"(?s)after pass fuse_caches.*\['invented'\]"):
        convert(heads(), QUICK)


def test_without_the_variable_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_EP_VERIFY")
    monkeypatch.setattr(pipeline, "use_winograd", spoil)
    with pytest.raises(AscendError):
        check_plan(convert(heads(), QUICK).plan, "now")


# --- what is let pass is right ----------------------------------------------------------------------


def delete(part: NativePartition, choice: random.Random) -> None:
    part.insns.pop(choice.randrange(len(part.insns)))


def duplicate(part: NativePartition, choice: random.Random) -> None:
    insn = replace(choice.choice(part.insns))
    part.insns.insert(choice.randrange(len(part.insns) + 1), insn)


def permute(part: NativePartition, choice: random.Random) -> None:
    i, k = (choice.randrange(len(part.insns)) for _ in range(2))
    part.insns[i], part.insns[k] = part.insns[k], part.insns[i]


def move(part: NativePartition, choice: random.Random) -> None:
    insn = part.insns.pop(choice.randrange(len(part.insns)))
    part.insns.insert(choice.randrange(len(part.insns) + 1), insn)


def drop_value(part: NativePartition, choice: random.Random) -> None:
    part.values.pop(choice.randrange(len(part.values)))


def reorder_values(part: NativePartition, choice: random.Random) -> None:
    choice.shuffle(part.values)


def drop_output(part: NativePartition, choice: random.Random) -> None:
    part.outputs.pop(choice.randrange(len(part.outputs)))


def keep_as_temporary(part: NativePartition, choice: random.Random) -> None:
    choice.choice([v for v in part.values if v.kind == OUTPUT]).kind = 2


CHANGES = (
    delete,
    duplicate,
    permute,
    move,
    drop_value,
    reorder_values,
    drop_output,
    keep_as_temporary,
)
SOURCES: dict[str, Callable[[], onnx.ModelProto]] = {
    "heads": heads,
    "quantised": lambda: quantised("encoder", "QDQ"),
}


def run(conversion: Conversion, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    found: list[np.ndarray] = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_changed_plans_are_noticed_or_right(name: str) -> None:
    """Random changes of a converted plan: where no rule sees one, the bundle gives the same bits."""
    source = SOURCES[name]()
    made = convert(source, QUICK)
    shapes = {i.name: [d.dim_value or 2 for d in i.type.tensor_type.shape.dim] for i in source.graph.input}
    numbers = np.random.default_rng(5)
    feeds = {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    wanted = run(made, feeds)
    part = native(made.plan)
    original = (list(part.values), list(part.insns), list(part.outputs), [v.kind for v in part.values])
    noticed = right = 0
    for seed in range(40 * len(CHANGES)):
        part.values[:], part.insns[:], part.outputs[:] = (list(x) for x in original[:3])
        for ref, kind in zip(part.values, original[3], strict=True):
            ref.kind = kind
        change = CHANGES[seed % len(CHANGES)]
        change(part, random.Random(seed))
        try:
            check_plan(made.plan, f"after {change.__name__}")
        except AscendError:
            noticed += 1
            continue
        right += 1
        for a, b in zip(run(made, feeds), wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert noticed > 60
    assert right > 10

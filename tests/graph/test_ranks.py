"""Ranks that operators fix are known however little is said of their inputs, and are those at run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnxruntime
import pytest
from control_flow_models import ControlFlow
from onnx import helper, numpy_helper
from test_infer import is_operand, plain_cases

from ascend_ep.graph import Fact, infer_facts, load_model
from ascend_ep.opdef.dims import evaluate, symbol, symbols

#: Operators whose rank is that of several inputs' ...
FIRST_TWO = (
    *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Expand", "Gather"),
    *(
        "GatherND",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "MatMul",
        "MatMulInteger",
        "Mod",
        "Mul",
    ),
    *("Or", "Pow", "SoftmaxCrossEntropyLoss", "StringConcat", "Sub", "Xor"),
)
ALL = ("Max", "Mean", "Min", "Sum", "SwiGLU", "Where", "Scan")
#: ... or of others than the first alone
GIVEN_BY = {
    **dict.fromkeys(FIRST_TWO, frozenset({0, 1})),
    **dict.fromkeys(ALL, frozenset(range(4))),
    "NegativeLogLikelihoodLoss": {0, 1},
    "QLinearMatMul": {0, 3},
}
#: Operators for whose rank it matters how long the list is that they have as this input
LONG_AS = {
    **dict.fromkeys(("AffineGrid", "Expand", "GatherND", "Reshape", "Squeeze", "Unsqueeze"), 1),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"), 1
    ),
    **dict.fromkeys(("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"), 1),
    "ConstantOfShape": 0,
}
#: Of an old version, or with a rule that takes none of this.
OTHERS = {"Scan", "StringNormalizer", "OptionalGetElement"}


def variants(case: onnx.ModelProto, feeds: list[np.ndarray]) -> Iterator[tuple[int, str, onnx.ModelProto]]:
    """The model with one of its inputs fed, and others that are small lists constant. It declares the dims of
    that one, their number, or nothing; of others their number."""
    for which in range(len(feeds)):
        for told in ("dims", "rank", "nothing"):
            model = onnx.ModelProto()
            model.CopyFrom(case)
            graph = model.graph
            for i, (info, array) in enumerate(zip(graph.input, feeds, strict=True)):
                tensor = info.type.tensor_type
                if i == which and told == "nothing":
                    tensor.ClearField("shape")
                elif i == which and told == "rank":
                    info.type.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, [None] * array.ndim))
                elif i != which and is_operand(array):
                    graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
                elif i != which:
                    names = [f"{info.name}.{axis}" for axis in range(array.ndim)]
                    info.type.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, names))
            for info in graph.output:
                info.type.tensor_type.ClearField("shape")
            del graph.value_info[:]
            yield which, told, model


def may_be_unknown(op_type: str, which: int, told: str, fixed: list[bool]) -> bool:
    """Whether the rank of the result follows from what is said neither of input `which` nor of others."""
    if op_type in OTHERS or told == "nothing":
        return op_type in OTHERS or which in GIVEN_BY.get(op_type, {0}) or LONG_AS.get(op_type) == which
    if op_type == "GatherND":
        return not fixed[1]
    return LONG_AS.get(op_type) == which and told == "rank"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ranks_of_onnx_node_cases() -> None:
    """Each input of each case in turn is fed, and little said of it."""
    checked, lost = 0, set[str]()
    for case in plain_cases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or case.name.startswith("test_ai_onnx_preview"):
            continue
        for which, told, proto in variants(case.model, case.feeds):
            model = load_model(proto)
            facts = infer_facts(model)
            fixed = [facts[v].static_dims is not None for v in model.graph.inputs]
            for value, result in zip(model.graph.outputs, case.results, strict=True):
                dims, what = facts[value].dims, f"{case.name}, input {which}, known: {told}: {facts[value]!r}"
                if dims is None:
                    if not may_be_unknown(nodes[0].op_type, which, told, fixed):
                        lost.add(what)
                    continue
                assert len(dims) == result.ndim, what
                pairs = zip(dims, result.shape, strict=True)
                assert not any(isinstance(d, int) and d != size for d, size in pairs), what
                checked += 1
    assert not lost
    assert checked > 8000


SESSION = onnxruntime.SessionOptions()
SESSION.log_severity_level = 4


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1000), marks=pytest.mark.slow)])
def test_ranks_of_control_flow(seeds: range) -> None:
    """Of random bodies: a rank that all give is known, and sizes of one name are one size."""
    for seed in seeds:
        drawn = ControlFlow(seed)
        model = load_model(drawn.model)
        facts = infer_facts(model)
        for value, made in zip(model.graph.outputs, drawn.values, strict=True):
            assert made.rank is None or facts[value].rank == made.rank, (seed, made, facts[value])
        source = drawn.model.SerializeToString()
        session = onnxruntime.InferenceSession(source, SESSION, providers=["CPUExecutionProvider"])
        for n, m, c, trips in ((1, 1, True, 0), (3, 2, False, 2), (2, 1, True, 3)):
            try:
                results = session.run(None, drawn.feeds(n, m, c, trips))
            except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                continue  # a sequence without rows, which Scan doesn't take
            _check({"n": n, "m": m}, [facts[v] for v in model.graph.outputs], results, seed)


def _check(sizes: dict[str, int], facts: list[Fact], results: list[np.ndarray], seed: int) -> None:
    for fact, result in zip(facts, results, strict=True):
        assert fact.dims is None or len(fact.dims) == result.ndim, (seed, fact, result.shape)
        for dim, size in zip(fact.dims or (), result.shape, strict=False):
            if dim == symbol(str(dim)):
                sizes.setdefault(str(dim), size)
            assert not symbols((dim,)) <= sizes.keys() or evaluate(dim, sizes) == size, (
                seed,
                fact,
                result.shape,
            )


SEQUENCES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n,3] x, int64 i) => (a, b, c, d) {
    pair = SequenceConstruct(x, x)
    three = SequenceInsert(pair, x)
    a = SequenceAt(three, i)
    b = ConcatFromSequence<axis = 0>(three)
    c = ConcatFromSequence<axis = 0, new_axis = 1>(three)
    rows = SplitToSequence<axis = 0>(x)
    d = ConcatFromSequence<axis = 0>(rows)
}"""


def test_ranks_of_what_sequences_hold() -> None:
    model = load_model(onnx.parser.parse_model(SEQUENCES))
    facts = infer_facts(model)
    found = {v.name: facts[v].dims for v in model.graph.outputs}
    assert {name: len(dims or ()) for name, dims in found.items()} == {"a": 2, "b": 2, "c": 3, "d": 2}
    assert all(dims is not None and dims[-1] == 3 for dims in found.values())


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("op_type", ["Squeeze", "ReduceSum"])
def test_no_axes_are_all_axes(op_type: str, fed: bool) -> None:
    """An empty list of axes, as onnxruntime takes it: Squeeze removes all dims of 1, a sum leaves none."""
    attributes = {"keepdims": 0} if op_type == "ReduceSum" else {}
    inputs = [helper.make_tensor_value_info("x", 1, [1, 2, 1])]
    axes = numpy_helper.from_array(np.zeros(0, np.int64), "axes")
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", "axes"], ["y"], **attributes)],
        "g",
        [*inputs, helper.make_tensor_value_info("axes", 7, [0])] if fed else inputs,
        [helper.make_tensor_value_info("y", 1, None)],
        [] if fed else [axes],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model = load_model(proto)
    fact = infer_facts(model)[model.graph.outputs[0]]
    source = proto.SerializeToString()
    session = onnxruntime.InferenceSession(source, SESSION, providers=["CPUExecutionProvider"])
    feeds = {"x": np.zeros((1, 2, 1), np.float32), "axes": np.zeros(0, np.int64)}
    (result,) = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    assert fact.dims == result.shape

"""Shape inference: ONNX's own cases, with numbers and with symbols; exporters' idioms; refusals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from ascend_ep.errors import AscendError
from ascend_ep.graph import Fact, infer_facts, load_model, set_input_shapes
from ascend_ep.graph.declared import dropped_shapes
from ascend_ep.opdef.dims import evaluate, symbol
from ascend_ep.opdef.registry import Registry

node = helper.make_node
N, S, P = symbol("N"), symbol("S"), symbol("P")
INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT


def plain_cases() -> Iterator[SimpleNamespace]:
    """ONNX's node cases whose inputs and outputs are all tensors of the default domain."""
    for case in collect_testcases(None):
        feeds, results = case.data_sets[0]
        graph = case.model.graph
        tensors = all(isinstance(a, np.ndarray | np.generic) for a in (*feeds, *results))
        standard = all(n.domain in ("", "ai.onnx") for n in graph.node)
        recent = all(o.version >= 7 for o in case.model.opset_import)
        if tensors and standard and recent and len(feeds) == len(graph.input):
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            arrays = [np.asarray(r) for r in results]
            yield SimpleNamespace(name=case.name, model=model, feeds=feeds, results=arrays)


#: Scan of opset 8 and an optional's element: whoever runs them tells their types.
RUN_BY_HOST = ("test_scan_sum", "test_optional_get_element_optional_tensor")


def is_operand(array: np.ndarray) -> bool:
    """Small integer vectors are shapes, axes, counts: known when a model is converted."""
    return array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= 8


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("symbolic", [False, True])
def test_onnx_node_cases(symbolic: bool) -> None:
    """Dims (with numbers put for symbols), element types and tracked elements are those of the results."""
    checked, wrong = 0, []
    for case in plain_cases():
        graph, env = case.model.graph, {}
        for info, array in zip(graph.input, case.feeds, strict=True):
            if is_operand(array) or (info.name in ("scales", "roi") and array.size <= 8):
                graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
            elif symbolic:
                names = [f"{info.name}.{axis}" for axis in range(array.ndim)]
                env |= dict(zip(names, array.shape, strict=True))
                info.type.CopyFrom(helper.make_tensor_type_proto(info.type.tensor_type.elem_type, names))
        for (
            info
        ) in graph.output:  # behind a node, so that what the graph declares of it isn't what it is known by
            graph.node.append(node("Identity", [info.name], [f"{info.name}.same"]))
            info.name = f"{info.name}.same"
            info.type.tensor_type.ClearField("shape")
        del graph.value_info[:]
        model = load_model(case.model)
        facts = infer_facts(model)
        for value, result, info in zip(model.graph.outputs, case.results, graph.output, strict=True):
            made = value.producer().inputs[0]
            fact = facts[made]
            if fact.dtype != info.type.tensor_type.elem_type:
                wrong.append(f"{case.name}: {fact.dtype}, not {info.type.tensor_type.elem_type}")
            if fact.dims is None or facts.depends_on_data(made):
                continue
            assert tuple(evaluate(d, env) for d in fact.dims) == result.shape, case.name
            if fact.shape_value is not None:
                assert [evaluate(v, env) for v in fact.shape_value] == result.reshape(-1).tolist(), case.name
            checked += 1
    assert [w for w in wrong if w.partition(":")[0] not in RUN_BY_HOST] == []
    assert checked > (1700 if symbolic else 1800)


def infer(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Sequence[int | str | None]],
    output: str,
    constants: dict[str, np.ndarray | list[int] | int] | None = None,
    opset: int = 17,
    registry: Registry | None = None,
    dtype: int = FLOAT,
) -> Fact:
    """The fact of `output` in a graph of float inputs and int64 constants."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, dtype, s) for n, s in inputs.items()],
        [helper.make_empty_tensor_value_info(output)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    return infer_facts(model, registry)[model.graph.outputs[0]]


def test_reshape_through_computed_shapes() -> None:
    """view(B, S, -1, 64) as TorchScript exports it."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["b"]),
        node("Gather", ["shape", "one"], ["s"]),
        node("Unsqueeze", ["b", "axis"], ["b1"]),
        node("Unsqueeze", ["s", "axis"], ["s1"]),
        node("Concat", ["b1", "s1", "rest", "sixty_four"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": 0, "one": 1, "axis": [0], "rest": [-1], "sixty_four": [64]}
    assert infer(nodes, {"x": ["N", "S", 768]}, "y", constants).dims == (N, S, 12, 64)
    assert infer(nodes, {"x": ["N", "past+S", 768], "z": ["past", "S"]}, "y", constants).dims == (
        N,
        symbol("past") + S,
        12,
        64,
    )


def test_expand_idiom() -> None:
    """expand(-1, S, 5): Where(Equal(target, -1), shape, target)."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "minus", "five"], ["target"], axis=0),
        node("ConstantOfShape", ["three"], ["ones"], value=helper.make_tensor("v", INT64, [1], [1])),
        node("Mul", ["ones", "minus"], ["minuses"]),
        node("Equal", ["target", "minuses"], ["kept"]),
        node("Where", ["kept", "ones", "target"], ["sizes"]),
        node("Expand", ["x", "sizes"], ["y"]),
    ]
    constants = {"zero": 0, "axis": [0], "minus": [-1], "five": [5], "three": [3]}
    assert infer(nodes, {"x": ["N", "S", 1]}, "y", constants).dims == (N, S, 5)


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [
        (0, 2**63 - 1, 1, N),
        (1, 2**31 - 1, 1, "max(N-1, 0)"),
        (0, -1, 1, "max(N-1, 0)"),
        (-3, 2**63 - 1, 1, "min(N, 3)"),
        (0, 4, 1, "min(N, 4)"),
        (0, 2**63 - 1, 2, "((N+1)//2)"),
        (-1, -(2**63), -1, N),
        (2, 2, 1, 0),
    ],
)
def test_slices_of_a_free_dimension(start: int, end: int, step: int, expected: object) -> None:
    constants = {"s": [start], "e": [end], "a": [0], "t": [step]}
    fact = infer([node("Slice", ["x", "s", "e", "a", "t"], ["y"])], {"x": ["N", 4]}, "y", constants)
    assert fact.dims is not None
    assert fact.dims[1] == 4
    for count in range(6):
        assert evaluate(fact.dims[0], {"N": count}) == len(range(count)[start:end:step])
    assert str(fact.dims[0]) == str(expected)


def test_cache_lengths_and_rope_halves() -> None:
    nodes = [
        node("Concat", ["past", "x"], ["k"], axis=2),
        node("Shape", ["k"], ["ks"], start=2, end=3),
        node("Squeeze", ["ks"], ["total"]),
        node("Range", ["zero", "total", "one"], ["positions"]),
        node("Unsqueeze", ["positions", "axis"], ["row"]),
        node("Less", ["row", "limit"], ["y"]),
    ]
    constants = {"zero": 0, "one": 1, "axis": [0], "limit": [[7]]}
    inputs = {"past": ["N", 2, "P", 8], "x": ["N", 2, "S", 8]}
    assert infer(nodes, inputs, "y", constants).dims == (1, P + S)
    halves = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "last"], ["d"]),
        node("Div", ["d", "two"], ["half"]),
        node("Unsqueeze", ["half", "axis"], ["half1"]),
        node("Slice", ["x", "half1", "far", "three"], ["y"]),
    ]
    constants = {"last": 3, "two": 2, "axis": [0], "far": [2**63 - 1], "three": [3]}
    assert infer(halves, {"x": ["N", 2, "S", 8]}, "y", constants).dims == (N, 2, S, 4)


def test_data_dependent_dims_are_fresh_and_marked() -> None:
    graph = helper.make_graph(
        [node("NonZero", ["x"], ["nz"]), node("Transpose", ["nz"], ["t"]), node("Relu", ["x"], ["r"])],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", None])],
        [helper.make_tensor_value_info("t", INT64, ["found", 2]), helper.make_empty_tensor_value_info("r")],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    facts = infer_facts(model)
    t, r = model.graph.outputs
    assert facts[t].dims == (symbol("nz:1"), 2) or facts[t].dims == (symbol("found"), 2)
    assert facts.depends_on_data(t)
    assert facts[r].dims == (N, symbol("x_d1"))
    assert not facts.depends_on_data(r)


def test_declared_expressions_need_their_symbols() -> None:
    alone = infer([node("Relu", ["x"], ["y"])], {"x": ["N+1"]}, "y")
    assert alone.dims == (symbol("N+1"),)
    together = infer([node("Relu", ["x"], ["y"])], {"x": ["N+1"], "z": ["N"]}, "y")
    assert together.dims == (N + 1,)


def test_broadcast_of_two_free_dimensions() -> None:
    fact = infer([node("Add", ["a", "b"], ["y"])], {"a": ["N", 1], "b": ["S", "N"]}, "y")
    assert fact.dims is not None
    assert fact.dims[1] == N
    for n, s in [(3, 3), (1, 4), (4, 1), (0, 1), (1, 0), (0, 0)]:
        expected = np.broadcast_shapes((n,), (s,))[0]
        assert evaluate(fact.dims[0], {"N": n, "S": s}) == expected


def test_custom_operators_infer_from_their_definition(registry: Registry) -> None:
    fact = infer([node("Swish", ["x"], ["y"])], {"x": ["N", 3]}, "y", registry=registry)
    assert (fact.dtype, fact.dims) == (FLOAT, (N, 3))
    half = infer([node("SwiGLU", ["x"], ["y"])], {"x": ["N", 2 * 9]}, "y", registry=registry)
    assert half.dims == (N, 9)
    unknown = infer([node("Unheard", ["x"], ["y"])], {"x": ["N", 3]}, "y", registry=registry)
    assert (unknown.dtype, unknown.dims) == (0, None)


def test_branches_of_if() -> None:
    def branch(op: str) -> onnx.GraphProto:
        return helper.make_graph(
            [node(op, ["x"], ["b"])], "b", [], [helper.make_empty_tensor_value_info("b")]
        )

    nodes = [
        node("Cast", ["x"], ["c"], to=TensorProto.BOOL),
        node("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Exp")),
    ]
    assert infer(nodes, {"x": ["N"]}, "y").dims == (N,)


IMAGE, WEIGHT = {"a": [1, 3, 8, 8]}, {"b": [4, 3, 3, 3]}


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs", "word"),
    [
        ("Add", {}, {"a": [2, 3], "b": [2, 4]}, "broadcast"),
        ("MatMul", {}, {"a": [2, 3], "b": [4, 5]}, "contracted"),
        ("Conv", {}, {**IMAGE, "b": [4, 2, 3, 3]}, "channels"),
        ("Conv", {"group": 0}, {**IMAGE, **WEIGHT}, "group 0"),
        ("Conv", {"strides": [0, 1]}, {**IMAGE, **WEIGHT}, "strides"),
        ("Conv", {"dilations": [9, 1]}, {**IMAGE, **WEIGHT}, "larger than"),
        ("Transpose", {"perm": [0, 0]}, {"a": [2, 3]}, "repeat"),
        ("ArgMax", {"axis": 9}, {"a": [2, 3]}, "axis 9"),
        ("Concat", {"axis": 5}, {"a": [2, 3]}, "axis 5"),
        ("DepthToSpace", {"blocksize": 0}, {"a": [1, 4, 2, 2]}, "blocks of 0"),
        ("LayerNormalization", {"axis": 3}, {"a": [2, 3], "b": [3]}, "axis 3"),
        ("Relu", {}, {"a": [2, 3], "b": [3]}, "has 2 inputs"),
        ("Add", {}, {"a": [2, 3]}, "has 1 inputs"),
        ("LeakyRelu", {"alhpa": 0.5}, {"a": [2, 3]}, "Did you mean [alpha]"),
    ],
)
def test_impossible_nodes_are_named(
    operator: str, attributes: dict[str, object], inputs: dict[str, list[int | str | None]], word: str
) -> None:
    nodes = [node(operator, list(inputs), ["y"], name="sum", **attributes)]
    with pytest.raises(AscendError) as info:
        infer(nodes, inputs, "y")
    assert info.value.code == "E19014"
    assert "sum" in str(info.value)
    assert word in str(info.value)


def declaring(dims: list[int], dtype: int) -> ir.Model:
    graph = helper.make_graph(
        [node("Relu", ["x"], ["h"], name="relu"), node("Neg", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [3])],
        [helper.make_empty_tensor_value_info("y")],
        value_info=[helper.make_tensor_value_info("h", dtype, dims)],
    )
    return load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize("dims", [[5], [3, 1]])
def test_a_contradicted_shape_does_not_count(dims: list[int]) -> None:
    model = declaring(dims, FLOAT)
    facts = infer_facts(model)
    assert [facts[v].dims for v in facts if v.name in "hy"] == [(3,), (3,)]
    assert dropped_shapes(model) == [f"{dims} of 'h' (node [relu]), which is [3]".replace(", 1]", ",1]")]


def test_a_contradicted_type_is_an_error_that_names_the_node() -> None:
    with pytest.raises(AscendError, match="relu") as info:
        infer_facts(declaring([3], INT64))
    assert info.value.code == "E19014"


def test_input_shape_overrides() -> None:
    graph = helper.make_graph(
        [node("Relu", ["x"], ["h"]), node("Neg", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", FLOAT, ["N", 3])],
        value_info=[helper.make_tensor_value_info("h", FLOAT, ["N", 3])],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    for shape, expected in [([4, 3], (4, 3)), ([-1, 8], (symbol("x_d0"), 8)), (["B", 3], (symbol("B"), 3))]:
        set_input_shapes(model, {"x": shape})
        assert infer_facts(model)[model.graph.outputs[0]].dims == expected
    for shapes, code in [({"z": [1]}, "E10001"), ({"x": [1]}, "E10002"), ({"x": [-2, 3]}, "E10002")]:
        with pytest.raises(AscendError) as info:
            set_input_shapes(model, shapes)
        assert info.value.code == code


def test_weights_stay_where_they_are() -> None:
    """A fact of a large initializer reads nothing until asked."""
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 512])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.ones((512, 512), np.float32), "w")],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    fact = infer_facts(model)[model.graph.initializers["w"]]
    assert fact.is_const
    assert fact._array is None
    assert fact.shape_value is None
    assert fact.const is not None
    assert fact.const.shape == (512, 512)


def test_hostile_shape_arithmetic_ends() -> None:
    """Squaring a symbolic size again and again gives an unknown shape, not an endless expression."""
    nodes = [node("Shape", ["x"], ["v0"]), node("ReduceSum", ["v0"], ["w0"])]
    for i in range(40):
        nodes.append(node("Mul", [f"w{i}", f"w{i}"], [f"w{i + 1}"]))
    nodes.append(node("ConstantOfShape", ["w40"], ["y"]))
    assert infer(nodes, {"x": ["N", "S", "P"]}, "y").dims is not None


def test_declared_results_give_the_rank_of_what_they_are_made_of() -> None:
    """A sum over axes that are an input, before a root: the rank declared of the root is the sum's, its size
    is nobody's."""
    nodes = [node("ReduceSum", ["x", "axes"], ["s"], keepdims=0), node("Sqrt", ["s"], ["y"])]
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, [3, 4]),
        helper.make_tensor_value_info("axes", INT64, [1]),
    ]
    outputs = [helper.make_tensor_value_info("y", FLOAT, [4])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    assert str(infer_facts(model)[model.graph.node(0).outputs[0]]) == "FLOAT[s:0]"


def test_what_a_loop_collects_has_a_type() -> None:
    """The loop's output is declared nowhere; who reads the joined rows elsewhere needs their type."""
    body = """body = b (int64 i, bool c, seq(float) s) => (bool d, seq(float) t) {
        h = SequenceAt(rows, i) t = SequenceInsert(s, h) d = Identity(c) }"""
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[4, 8] x) => (float[R, 8] y)
        <int64 n = {{2}}, bool c = {{1}}> {{ rows = SplitToSequence(x) e = SequenceEmpty()
        t = Loop<{body}>(n, c, e) u = ConcatFromSequence<axis = 0>(t) y = Neg(u) }}"""
    model = load_model(onnx.parser.parse_model(text))
    facts = infer_facts(model)
    joined = next(node for node in model.graph if node.op_type == "ConcatFromSequence").outputs[0]
    assert facts[joined].dtype == onnx.TensorProto.FLOAT

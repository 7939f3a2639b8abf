"""Names of dimensions that don't hold: onnxruntime runs such models, and so does everything here."""

from __future__ import annotations

import random
import threading
import warnings

import numpy as np
import onnx
import pytest
from everywhere import Everywhere, Feeds, parsed, ramp, stock
from onnx import helper

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.provider import report
from ascend_ep.runtime.executor import Executor

KERNEL = "<float[4, 3, 3, 3] w = {" + ", ".join(["0.1"] * 108) + "}>"
IMAGE = f"""g (float[A,3,B,C] x) => (float[A,4,B,C] y) {KERNEL} {{
    a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Relu(a) c = GlobalAveragePool(b) y = Add(b, c) }}"""

pytestmark = pytest.mark.filterwarnings("ignore:.*names of dimensions don't count:RuntimeWarning")


@pytest.mark.parametrize("name", ["?", " ", "-1", "None"])
def test_names_that_say_nothing_are_each_a_size_of_their_own(name: str) -> None:
    proto = onnx.ModelProto.FromString(parsed(IMAGE))
    for value in (*proto.graph.input, *proto.graph.output):
        for axis in (0, 2, 3):
            value.type.tensor_type.shape.dim[axis].dim_param = name
    sessions = Everywhere(proto.SerializeToString())
    for sizes in ((1, 48, 192), (3, 7, 5), (2, 9, 9)):
        sessions.check({"x": ramp(sizes[0], 3, *sizes[1:])})
    assert sessions.ours["own runtime"].get_inputs()[0].shape == [name, 3, name, name]


@pytest.mark.parametrize("seed", range(4))
def test_operands_whose_sizes_nobody_relates(seed: int) -> None:
    """The size of a chain of broadcasts grows with the sizes in it, not with its steps."""
    rng = np.random.default_rng(seed)
    count = 14
    sizes = [f"model/layer_{i}/while/TensorArrayV2Read/transpose:0_d{i}" for i in range(count)]
    values = [helper.make_tensor_value_info(f"x{i}", 1, [sizes[i], 3]) for i in range(count)]
    nodes, made = [], ["x0"]
    for i in range(1, count):
        other = str(rng.choice(made))
        inner = helper.make_node(str(rng.choice(["Add", "Mul", "Max"])), [made[-1], f"x{i}"], [f"a{i}"])
        nodes += [inner, helper.make_node("Sub", [f"a{i}", other], [f"b{i}"])]
        made += [f"a{i}", f"b{i}"]
    output = helper.make_tensor_value_info(made[-1], 1, ["n", 3])
    graph = helper.make_graph(nodes, "g", values, [output])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    sessions = Everywhere(model.SerializeToString())
    assert not report(sessions.ours["onnxruntime"]).on_cpu
    for full in (1, 5):
        sessions.check({f"x{i}": ramp(full if rng.random() < 0.7 else 1, 3) for i in range(count)})


#: models whose inputs share names, and the shapes of feeds that the names forbid
SHARED: dict[str, tuple[str, list[tuple[tuple[int, ...], ...]]]] = {
    "two axes of one input": (
        "g (float[N,3,D,D] x) => (float[N,3,D,D] y) { a = Relu(x) y = Neg(a) }",
        [((2, 3, 4, 9),), ((1, 3, 192, 48),)],
    ),
    "the same axes of two": (
        "g (float[N,D] x, float[N,D] y) => (float[N,D] z) { a = Concat<axis = 0>(x, y) z = Relu(a) }",
        [((2, 3), (5, 3)), ((1, 1), (4, 1))],
    ),
    "one that is broadcast": (
        "g (float[N,D] x, float[N,D] y) => (float[N,D] z) { a = Add(x, y) b = Mul(a, y) z = Softmax(b) }",
        [((2, 3), (1, 3)), ((1, 1), (4, 5)), ((2, 1), (1, 5))],
    ),
    "a shape that only one gives": (
        "g (float[N] x, float[N] y) => (float[N] z) { s = Shape(y) a = Expand(x, s) z = Neg(a) }",
        [((1,), (5,)), ((5,), (1,))],
    ),
    "an expression": (
        "g (float[P] p, float[S] s, float[T] t) => (float[T] z) { a = Concat<axis = 0>(p, s) z = Add(a, t) }",
        [((2,), (3,), (1,))],
    ),
    "a partition of the host": (
        "g (float[N] x, float[N] y) => (float[N] z, int64[1,N] k) { a = Concat<axis = 0>(x, y) b = Neg(a) "
        "c = Relu(b) k = NonZero(c) d = Cast<to = 1>(k) z = Neg(d) }",
        [((2,), (7,)), ((3,), (0,))],
    ),
    "a loop": (
        "g (float[N,2] x, float[N,2] y) => (float[N,2] z) <int64 n = {3}, bool c = {1}> { "
        "a = Neg(x) r = Loop(n, c, a) <body = b (int64 i, bool g, float[N,2] s) => (bool h, float[N,2] t) "
        "{ h = Identity(g) t = Concat<axis = 0>(s, y) }> z = Relu(r) }",
        [((2, 2), (5, 2))],
    ),
}  # fmt: skip


def feed(model: bytes, shapes: tuple[tuple[int, ...], ...]) -> Feeds:
    inputs = onnx.ModelProto.FromString(model).graph.input
    return {value.name: ramp(*shape) + 0.05 for value, shape in zip(inputs, shapes, strict=True)}


def shared(what: str) -> tuple[bytes, list[tuple[tuple[int, ...], ...]]]:
    text, shapes = SHARED[what]
    proto = onnx.ModelProto.FromString(parsed(text))
    if what == "an expression":
        proto.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "P+S"
    return proto.SerializeToString(), shapes


@pytest.mark.parametrize("what", SHARED)
def test_sizes_that_contradict_names_run(what: str) -> None:
    model, shapes = shared(what)
    sessions = Everywhere(model)
    for each in (*shapes, *shapes):
        sessions.check(feed(model, each))


def test_it_is_said_once_and_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Everywhere(shared("one that is broadcast")[0])
    own, made = sessions.ours["own runtime"], []
    make = Executor.__init__

    def counted(self: Executor, *args: object) -> None:
        made.append(self)
        make(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Executor, "__init__", counted)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (3, 4, 3):
            own.run(None, {"x": ramp(rows, 3), "y": ramp(rows, 3)})
        assert not said
        for rows in (3, 4, 3, 5):
            own.run(None, {"x": ramp(rows, 3), "y": ramp(1, 3)})
    assert len(made) == 1
    texts = [str(w.message) for w in said]
    assert len(texts) == 1
    assert "'y': dimension 0 is 1, but 'N' is 3 in another place" in texts[0]


def test_threads_contradict_at_once() -> None:
    model, _ = shared("one that is broadcast")
    sessions = Everywhere(model)
    wrong: list[Exception] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(40):
                rows, columns = rng.choice([(1, 1), (2, 3)]), rng.choice([(4, 5), (2, 3), (1, 1)])
                sizes = ((rows[0], columns[1]), (columns[0] if rows[0] == 1 else rows[0], 1))
                sessions.check(feed(model, sizes))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_operands_that_dont_fit_are_the_nodes_error() -> None:
    sessions = Everywhere(parsed("g (float[N] x, float[N] y) => (float[N] z) { a = Neg(x) z = Add(a, y) }"))
    feeds = {"x": ramp(48), "y": ramp(192)}
    for session in sessions.ours.values():
        with pytest.raises(Exception, match=r"(?s)(node \[z\]|Add node).*(48.*192|192.*48)"):
            session.run(None, feeds)


def test_fixed_sizes_stay_errors() -> None:
    sessions = Everywhere(parsed("g (float[N,3] x, float[N,3] y) => (float[N,3] z) { z = Add(x, y) }"))
    with pytest.raises(AscendError, match="E40007"):
        sessions.ours["own runtime"].run(None, {"x": ramp(2, 3), "y": ramp(2, 4)})
    for session in (sessions.cpu, sessions.ours["onnxruntime"]):
        with pytest.raises(Exception, match="Got invalid dimensions for input"):
            session.run(None, {"x": ramp(2, 3), "y": ramp(2, 4)})


#: operators of one input and of two in random graphs, for inputs of two axes
ONE = ("Neg", "Relu", "Softmax", "Transpose", "ReduceSum", "Shape")
TWO = ("Add", "Mul", "Concat0", "Concat1", "MatMul", "Expand", "Where")


def random_model(rng: random.Random) -> bytes:
    """A few nodes over inputs of two axes, whose names come again."""
    names = ["A", "B", "C"][: rng.randint(1, 3)]
    inputs = [(f"x{i}", (rng.choice(names), rng.choice([*names, "2"]))) for i in range(rng.randint(1, 3))]
    values, nodes, read = [name for name, _ in inputs], [], set[str]()
    for i in range(rng.randint(2, 5)):
        made, a, b, kind = f"v{i}", rng.choice(values), rng.choice(values), rng.choice(TWO + ONE)
        if kind.startswith("Concat"):
            nodes.append(f"{made} = Concat<axis = {kind[-1]}>({a}, {b})")
        elif kind == "Expand":
            nodes.append(f"s{i} = Shape({b}) {made} = Expand({a}, s{i})")
        elif kind == "Where":
            nodes.append(f"c{i} = Greater({a}, {b}) {made} = Where(c{i}, {a}, {b})")
        elif kind == "Shape":
            nodes.append(f"s{i} = Shape({a}) f{i} = Cast<to = 1>(s{i}) {made} = Add({b}, f{i})")
        elif kind == "ReduceSum":
            nodes.append(f"{made} = ReduceSum<keepdims = 1>({a}, one)")
        else:
            nodes.append(f"{made} = {kind}({a}{f', {b}' if kind in TWO else ''})")
        values.append(made)
        read |= {a} if kind in ONE and kind != "Shape" else {a, b}
    boundaries = ", ".join(f"float[{d[0]},{d[1]}] {name}" for name, d in inputs)
    ends = [
        f"float[{rng.choice(names)},{rng.choice(names)}] {v}" for v in values if v[0] == "v" and v not in read
    ]
    return parsed(f"g ({boundaries}) => ({', '.join(ends)}) <int64[1] one = {{1}}> {{ {' '.join(nodes)} }}")


def check_or_refuse(sessions: Everywhere, feeds: Feeds) -> bool:
    """Whether onnxruntime runs these; ours then do the same, and refuse what it refuses."""
    try:
        sessions.cpu.run(None, feeds)
    except Exception:
        for session in sessions.ours.values():
            with pytest.raises(Exception, match=r"E4|ONNXRuntimeError"):
                session.run(None, feeds)
        return False
    sessions.check(feeds)
    return True


def run_random(seed: int) -> int:
    """How many feeds of a random model contradict its names, and run."""
    rng = random.Random(seed)
    while True:
        model = random_model(rng)
        try:
            stock(model, "CPUExecutionProvider")
        except Exception:
            continue
        break
    inputs, ran = onnx.ModelProto.FromString(model).graph.input, 0
    try:
        sessions = Everywhere(model)
    except AscendError as error:
        if error.code != "E19014":  # no sizes fit, whatever they are called
            raise
        return 0
    for _ in range(8):
        agreeing, sizes = rng.random() < 0.3, {n: rng.choice((1, 2, 3)) for n in "ABC"}
        feeds = {}
        for value in inputs:
            dims = value.type.tensor_type.shape.dim
            pick = [
                d.dim_value or (sizes[d.dim_param] if agreeing else rng.choice((1, 1, 2, 3))) for d in dims
            ]
            feeds[value.name] = np.asarray(ramp(*pick) + rng.random(), np.float32)
        ran += check_or_refuse(sessions, feeds) and not agreeing
    return ran


@pytest.mark.parametrize("seed", range(24))
def test_random_models_with_names_that_come_again(seed: int) -> None:
    run_random(seed)


@pytest.mark.slow
def test_more_random_models() -> None:
    assert sum(run_random(seed) for seed in range(100, 500)) > 400


def test_profiles_stay_the_only_sizes() -> None:
    """A name of a profile is a promise, not a remark."""
    from ascend_ep.compiler.convert import convert
    from ascend_ep.compiler.convert_options import ConvertOptions

    model = parsed("g (float[N,3] x, float[N,3] y) => (float[N,3] z) { z = Add(x, y) }")
    bundle = convert(model, ConvertOptions(profiles=[{"N": 1}, {"N": 4}])).to_bytes()
    session = ascend_ep.InferenceSession(bundle)
    assert session.run(None, {"x": ramp(4, 3), "y": ramp(4, 3)})[0].shape == (4, 3)
    for rows in ((1, 4), (4, 1), (2, 2)):
        with pytest.raises(AscendError, match="E40007"):
            session.run(None, {"x": ramp(rows[0], 3), "y": ramp(rows[1], 3)})

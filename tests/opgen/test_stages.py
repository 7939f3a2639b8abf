"""What takes several stages of a kernel: reductions over any axes, top-k, positions, changes of shape."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import compile_many_for_cpu
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
SOC = find_soc("Ascend910B3")
ONE_CORE = "Ascend310P3"
X = (5, 4, 33)


def define(formula, inputs="x", outputs="y", attributes=(), **types):
    return parse_definitions(
        json.dumps(
            {
                "op": "MyOp",
                "types": {"T": ["float32", "float16"]},
                "inputs": [{"name": n, "type": types.get(n, "T")} for n in inputs],
                "outputs": [{"name": n, "type": types.get(n, "T")} for n in outputs],
                "attributes": list(attributes),
                "formula": formula,
            }
        )
    )[0]


TOP = "y = topk(x, {})\ni = topk_indices(x, {})"
CASES = {
    "sum over the first axis": (define("sum(x, axis=0)"), [X]),
    "kept neither": (define("sum(x, axis=[0, 2], keepdims=false)"), [X]),
    "a middle axis": (define("x - mean(x, axis=1)"), [X]),
    "all axes": (define("x/sqrt(sum(x*x, axis=all))"), [X]),
    "to one number": (define("mean(x, axis=all, keepdims=false)"), [X]),
    "variance": (define("var(x, axis=0) + x"), [X]),
    "product": (define("prod(1 + 0.1*x, axis=[0, 1])"), [X]),
    "a condition of what a later one selects": (
        define("where(abs(mean(x)) > 0.1, sum((x - mean(x))*x), 0.5) + x"),
        [X],
    ),
    "logsumexp": (define("logsumexp(x, axis=1, keepdims=false)"), [X]),
    "softmax over an inner axis": (define("t = exp(x - max(x, axis=1))\ny = t/sum(t, axis=1)"), [X]),
    "softmax of a smaller operand": (define("t = exp(w - max(w))\ny = t/sum(t)*x", "xw"), [X, (33,)]),
    "a sum of what is repeated": (define("x + sum(w)", "xw"), [(5, 33), (5, 1)]),
    "positions of what is repeated": (define("x + index(w) + size(w)", "xw"), [(5, 33), (5, 1)]),
    "argmax": (define("argmax(x)", y="int64"), [X]),
    "argmax over an inner axis": (define("argmax(x, axis=1, keepdims=false)", y="int32"), [X]),
    "argmin": (define("argmin(abs(x), axis=0)", y="int64"), [X]),
    "argmax of what has a reduction": (define("argmax(x/sum(exp(x)))", y="int64"), [(5, 400)]),
    "top-k": (define(TOP.format(3, 3), outputs="yi", i="int64"), [X]),
    "top-k over an inner axis": (
        define(TOP.format("2, axis=1, largest=false", "2, axis=1, largest=false"), outputs="yi", i="int32"),
        [X],
    ),
    "top-k of equal ones": (
        define("y = topk(round(x), 9)\ni = topk_indices(round(x), 9)", outputs="yi", i="int64"),
        [(3, 700)],
    ),
    "bottom-k of equal ones": (
        define("i = topk_indices(round(x), 9, largest=false)", outputs="i", i="int64"),
        [(3, 700)],
    ),
    "top-k within an expression": (define("x - topk(abs(x)*2, 1) + 1"), [X]),
    "top-k in other dimensions": (
        define(
            "y = unsqueeze(topk(abs(x), 2), axis=-2)\nz = unsqueeze(topk(x, 3, axis=1), axis=[-1, 0])",
            outputs="yz",
        ),
        [X],
    ),
    "unsqueeze": (define("x - unsqueeze(mean(x, axis=1, keepdims=false), axis=1)"), [X]),
    "unsqueeze of an input": (define("unsqueeze(x, axis=[0, 2])*w", "xw"), [(4, 5), (3, 1, 1, 5)]),
    "sum to a smaller shape": (define("sum_to(x*2, w)", "xw"), [X, (4, 1)]),
    "spread to a larger shape": (define("sum_to(w, x)", "xw"), [X, (4, 1)]),
    "positions": (define("x*index(x, axis=0) + index(x, axis=1) - size(x, axis=0)"), [X]),
    "any": (define("any(x > 2, axis=0)", y="bool"), [X]),
    "all": (define("all(x > -4, axis=[1, 2])", y="bool"), [X]),
    "a constant": (define("y = 1 + 1\nz = x", outputs="yz"), [(3,)]),
    "one fold after another": (define("sum(max(x, axis=1), axis=0)*var(x)"), [X]),
    "batch normalisation": (
        define(
            "(x - mean(x, axis=[0,2,3]))*rsqrt(var(x, axis=[0,2,3]) + 1e-5)*unsqueeze(w, axis=[1,2])", "xw"
        ),
        [(3, 4, 5, 6), (4,)],
    ),
    "a smaller result than what is reduced": (define("w/mean(x) + max(x)", "xw"), [(5, 33), (5, 1)]),
    "a sum of such a result": (define("sum(w/mean(x))*x", "xw"), [(5, 33), (5, 1)]),
    "several outputs": (define("y = sum(x, axis=0)\nz = max(x, axis=0)\nq = x*2", outputs="yzq"), [X]),
    "dropped, then broadcast elsewhere": (define("x + sum(x, axis=0, keepdims=false)"), [(3, 40)]),
    "an integer input": (define("sum(x, axis=0) + n", "xn", n="int64"), [X, (33,)]),
    "k at run time": (define("topk(x, k)", attributes=[{"name": "k", "type": "int", "default": 2}]), [X]),
    "an axis as an attribute": (
        define("sum(x, axis=axis)", attributes=[{"name": "axis", "type": "int", "default": 0}]),
        [X],
    ),
    "short integers": (define("clip(x*100, -32768, 32767) + n", "xn", n="int16", y="int16"), [X, (33,)]),
}


LIMITS = {
    k: define("y = x + n\nw = n + 0", "xn", "yw", n=np.dtype(k).name, y=np.dtype(k).name)
    for k in (np.uint16, np.uint32, np.uint64, np.int16, np.int32, np.int64)
}


@pytest.mark.parametrize("kind", LIMITS)
def test_integers_to_their_limits(kernels, kind):
    """Beyond them the nearest; large ones as float32 has them."""
    info = np.iinfo(kind)
    n = np.array([0, 1, 7, info.max // 2, info.max // 2 + 1, info.max - 9, info.max, info.min], kind)
    x = np.array([0, -1, 0.6, 0, 0, 3e38, np.nan, -3e38], np.float32)
    kernel = kernels[kind]
    y, wide = kernel(x, n)
    (expected, _) = evaluate(kernel.opdef, [x, n])
    assert y.dtype == kind
    np.testing.assert_array_equal(wide, n.astype(np.float32))
    near = np.abs(y.astype(np.float64) - expected.astype(np.float64))
    assert np.all(near <= 2.0**-23 * np.abs(expected.astype(np.float64)))


@pytest.fixture(scope="module")
def kernels():
    """CASES by name, LIMITS by type, and "a middle axis" for a chip of one core and with each of MISTAKES, by number:
    compiled in one program."""
    wanted = {**{name: opdef for name, (opdef, _) in CASES.items()}, **LIMITS}
    units = {name: (generate_ascend_c(o, SOC), o, 0) for name, o in wanted.items()}
    source, opdef, _ = units["a middle axis"]
    texts = [change(source.kernel) for change, _ in MISTAKES]
    assert source.kernel not in texts
    units |= {i: (dataclasses.replace(source, kernel=text), opdef, 0) for i, text in enumerate(texts)}
    units[ONE_CORE] = (generate_ascend_c(opdef, find_soc(ONE_CORE)), opdef, 0)
    return dict(zip(units, compile_many_for_cpu([*units.values()], per_unit=len(units)), strict=True))


def arguments(name, special=False):
    random = np.random.default_rng(len(name))
    opdef, shapes = CASES[name]
    arrays = [random.normal(size=s) * 2 for s in shapes]
    if special:
        for value, step in ((np.nan, 11), (np.inf, 13), (-np.inf, 7)):
            arrays[0].flat[::step] = value
    kinds = [np.float32 if spec.variable else np.int64 for spec in opdef.inputs]
    return [a.astype(k) for a, k in zip(arrays, kinds, strict=True)]


def check(kernel, arrays, **chip):
    expected = evaluate(kernel.opdef, arrays)
    for mine, reference in zip(kernel(*arrays, **chip), expected, strict=True):
        assert mine.shape == reference.shape
        # Sums cancel: errors are relative to the largest result.
        wide = reference.astype(np.float64)
        largest = np.abs(wide[np.isfinite(wide)]).max(initial=0)
        tolerance = 0 if mine.dtype.kind == "i" and mine.dtype != np.int16 else 1e-5
        whole = 1.001 if mine.dtype == np.int16 else 0  # what is near a whole number may be the next
        np.testing.assert_allclose(mine.astype(np.float64), wide, rtol=0, atol=tolerance * largest + whole)


@pytest.mark.parametrize("name", CASES)
def test_matches_reference(kernels, name):
    check(kernels[name], arguments(name))


@pytest.mark.parametrize("name", CASES)
def test_small_tiles_and_three_cores(kernels, name):
    """Rows of several tiles, stages that cores share unevenly."""
    check(kernels[name], arguments(name), ub=49152, cores=3)


@pytest.mark.parametrize("name", [n for n in CASES if "top-k" in n or "argm" in n or n in ("all", "any")])
def test_nan_and_infinities(kernels, name):
    with np.errstate(all="ignore"):
        check(kernels[name], arguments(name, special=True))


@pytest.mark.parametrize("shape", [(0, 4, 33), (5, 0, 33), (5, 4, 0)])
@pytest.mark.parametrize(
    "name", ["sum over the first axis", "kept neither", "variance", "any", "all", "logsumexp"]
)
def test_nothing_to_fold(kernels, name, shape):
    with np.errstate(all="ignore"):
        opdef = CASES[name][0]
        x = np.ones(shape, np.float32)
        if name == "logsumexp" and 0 in shape[1:2]:
            return  # NumPy has no largest of nothing
        expected = evaluate(opdef, [x])[0]
        np.testing.assert_array_equal(kernels[name](x)[0], expected)


def test_k_is_read_at_run_time(kernels):
    kernel = kernels["k at run time"]
    x = arguments("top-k")[0]
    for count in (0, 1, 5):
        (y,) = kernel(x, attributes={"k": count})
        np.testing.assert_array_equal(y, evaluate(kernel.opdef, [x], {"k": count})[0].astype(np.float32))
    with pytest.raises(AscendError, match="refuses these shapes"):
        kernel(x, attributes={"k": 34})


def test_an_axis_is_part_of_the_kernel(kernels):
    with pytest.raises(AscendError, match="refuses these shapes"):
        kernels["an axis as an attribute"](*arguments("a middle axis"), attributes={"axis": 1})


def test_a_chip_whose_cores_cannot_wait_uses_one(kernels):
    assert "chip.cores = 1;" in kernels[ONE_CORE].source.host
    check(kernels[ONE_CORE], arguments("a middle axis"))


#: What breaks one rule of a kernel that is right otherwise, and what reports it.
MISTAKES = [
    (lambda k: k.replace("    SyncAll();\n", ""), "ErrorSync4.*no SyncAll"),
    (lambda k: k.replace("    PipeBarrier<PIPE_ALL>();\n", ""), "ErrorSync5"),
    (lambda k: k.replace("    PipeBarrier<PIPE_ALL>();\n    SyncAll();\n", ""), "ErrorSync4.*no"),
    (lambda k: k.replace("    SyncAll();\n", "    if (GetBlockIdx() > 0) SyncAll();\n"), "ErrorSync"),
    (lambda k: k.replace("GetUserWorkspace(workspace)", "workspace"), "the workspace|outside"),
    (lambda k: k.replace("        pipe.Destroy();\n    }\n", "    }\n").replace("    {\n        TPipe pipe;", "    TPipe pipe;\n    {", 1), "ErrorBuffer5"),
    (lambda k: k.replace("Add(total, total, ", "Add(total, total[1], "), "ErrorRead4"),
    (lambda k: k.replace("row * cols_ + col, width);", "row * cols_ + col, width + 1);"), "ErrorWrite2|ErrorRead"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[message for _, message in MISTAKES])
def test_planted_mistakes_are_reported(kernels, number):
    with pytest.raises(AscendError, match=MISTAKES[number][1]) as caught:
        kernels[number](*arguments("a middle axis"))
    assert caught.value.code == "E43003"

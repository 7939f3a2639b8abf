"""Generated Ascend C, compiled for the CPU with its checks, against the float64 reference."""

import dataclasses
import json
import shutil

import ml_dtypes
import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import compile_for_cpu, compile_many_for_cpu
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
SOC = find_soc("Ascend910B3")


def define(
    formula, inputs=("x",), attributes=(), outputs=("y",), types=("float32", "float16", "bfloat16"), out=None
):
    return parse_definitions(
        json.dumps(
            {
                "op": "MyOp",
                "types": {"T": list(types)},
                "inputs": [{"name": n, "type": "T"} for n in inputs],
                "outputs": [{"name": n, "type": out or "T"} for n in outputs],
                "attributes": [{"name": n, "type": "float", "default": d} for n, d in attributes],
                "formula": formula,
            }
        )
    )[0]


def check(opdef, arrays, *, compiled, ulps=16, attributes=None, **chip):
    got = compiled(*arrays, attributes=attributes, **chip)
    expected = evaluate(opdef, [a.astype(np.float64) for a in arrays], attributes)
    for mine, reference in zip(got, expected, strict=True):
        assert mine.shape == reference.shape
        unit = ml_dtypes.finfo(mine.dtype).eps if mine.dtype.kind != "i" else 0
        # Sums cancel: errors are measured against a twentieth of the largest result at least.
        largest = np.abs(reference[np.isfinite(reference)]).max(initial=1e-30)
        scale = np.maximum(np.abs(reference), largest / 20)
        wide = mine.astype(np.float64)
        np.testing.assert_array_equal(np.isnan(wide), np.isnan(reference))
        finite = np.isfinite(reference)
        np.testing.assert_array_equal(wide[~finite], reference[~finite])
        assert np.all(np.abs(wide - reference)[finite] <= ulps * unit * scale[finite])


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype) * np.array(2, dtype)


GELU = "0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3)))"
CASES = {
    "swish": (define("x*sigmoid(beta*x)", attributes=[("beta", 1.5)]), [(7, 33)]),
    "gelu": (define(GELU), [(3, 5, 17)]),
    "prelu": (define("where(x > 0, x, slope*x)", ("x", "slope")), [(2, 3, 5, 7), (3, 1, 1)]),
    "rms_norm": (define("x*rsqrt(mean(x*x) + 1e-5)*w", ("x", "w")), [(5, 301), (301,)]),
    "swiglu": (define("gate*sigmoid(gate)*up", ("gate", "up")), [(9, 129), (9, 129)]),
    "softmax": (define("t = exp(x - max(x))\ny = t/sum(t)"), [(4, 70)]),
    "variance": (define("(x - mean(x))/sqrt(var(x) + 1e-5)"), [(2, 3, 77)]),
    "dropped": (define("sum(x, axis=-1, keepdims=false)"), [(4, 3, 65)]),
    "two_axes": (define("x - mean(x, axis=[-2, -1])"), [(3, 7, 9)]),
    "product": (define("prod(1 + 0.01*x)"), [(3, 200)]),
    "smallest": (define("min(x) + max(x)*x"), [(3, 130)]),
    "position": (define("x*index(x) + size(x)"), [(3, 130)]),
    "held": (define("float16(x) + bfloat16(w)", ("x", "w"), types=("float32",)), [(3, 130), (3, 1)]),
    "logic": (
        define("where(x > 0 and not (x >= 1) or x == w, floor(3*x), -x)", ("x", "w")),
        [(3, 130), (130,)],
    ),
    "outer": (define("x*w + 1", ("x", "w")), [(4, 1, 6), (5, 1)]),
    "truth": (define("where(any(x > 3), x, where(all(x < 2), -x, 0))"), [(9, 66)]),
    "log_softmax": (define("x - logsumexp(x)"), [(4, 70)]),
    "row_maths": (define("x/(1 + exp(-max(x)))*log(2 + sum(abs(x)))"), [(5, 66)]),
}


UNARY = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "sigmoid",
    "softplus",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "abs",
]
#: One kernel of all of them: also many outputs. Arguments where float32 arithmetic is defined.
EVERY_FUNCTION = define(
    "\n".join(
        f"y_{n} = {n}({'1 + abs(x)' if n in ('acosh', 'log', 'log2', 'log10') else '0.99*sin(x)' if n in ('asin', 'acos', 'atanh') else 'abs(x)' if n in ('sqrt', 'rsqrt', 'log1p') else 'x'})"
        for n in UNARY
    ),
    outputs=[f"y_{n}" for n in UNARY],
    types=("float32",),
)
SPECIAL_VALUES = define(
    "y = atan2(x, w)\nz = max(x, w) + min(x, w)\nq = where(isnan(x) or isinf(w), 1, 0)\np = expm1(x)\nr = tanh(w)",
    ("x", "w"),
    outputs=("y", "z", "q", "p", "r"),
    types=("float32",),
)
MOD_AND_POW = define("y = x % w\nz = abs(x)^w\nv = x // w", ("x", "w"), outputs=("y", "z", "v"))
QUANTIZE = parse_definitions(
    json.dumps(
        {
            "op": "Quantize",
            "inputs": [{"name": "x", "type": "float32"}, {"name": "zero", "type": "int8"}],
            "outputs": [{"name": "q", "type": "int8"}, {"name": "big", "type": "bool"}],
            "formula": "q = clip(round(x*10) + zero, -128, 127)\nbig = abs(x) > 2",
        }
    )
)[0]
WHOLE_NUMBERS = define(
    "y = atan2(int16(ceil(x)), -1)\nz = atan2(uint8(ceil(x)), -1)\nk = atan2(ceil(x), -1)",
    outputs=("y", "z", "k"),
    types=("float32",),
)
SUM = define("sum(x)")
#: Tensors, attributes and intermediate values.
TAKEN_NAMES = define("tile = x_*row\ny = tile/n + k*int", ("x_", "row", "n", "int"), [("k", 0.5)])
OPTIONAL = parse_definitions(
    json.dumps(
        {
            "op": "MyOp",
            "types": {"T": ["float32"]},
            "inputs": [{"name": "x", "type": "T"}, {"name": "w", "type": "T", "param_type": "optional"}],
            "outputs": [{"name": "y", "type": "T"}],
            "formula": "where(given(w), x*w, x + 1)",
        }
    )
)[0]
OTHERS = {
    "every function": EVERY_FUNCTION,
    "special values": SPECIAL_VALUES,
    "mod and pow": MOD_AND_POW,
    "quantize": QUANTIZE,
    "whole numbers": WHOLE_NUMBERS,
    "sum": SUM,
    "taken names": TAKEN_NAMES,
}
HALF_TYPES = [(name, column) for name in ("gelu", "softmax") for column in (1, 2)]


@pytest.fixture(scope="module")
def kernels():
    """CASES, OTHERS, OPTIONAL with all inputs and without, HALF_TYPES by name and column, and rms_norm with each of
    MISTAKES by number, compiled in one program, since a translation unit takes several seconds and a kernel more a
    fraction of one."""
    wanted = [(name, opdef, 0, None) for name, (opdef, _) in CASES.items()]
    wanted += [(name, opdef, 0, None) for name, opdef in OTHERS.items()]
    wanted += [((name, column), CASES[name][0], column, None) for name, column in HALF_TYPES]
    wanted += [("both", OPTIONAL, 0, None), ("alone", OPTIONAL, 0, ["x"])]
    units = [(generate_ascend_c(o, SOC, given=given), o, column) for _, o, column, given in wanted]
    opdef = CASES["rms_norm"][0]
    source = generate_ascend_c(opdef, SOC)
    texts = [change(source.kernel) for change, _ in MISTAKES]
    assert source.kernel not in texts
    units += [(dataclasses.replace(source, kernel=text), opdef, 0) for text in texts]
    made = compile_many_for_cpu(units, per_unit=len(units))
    return dict(zip([*(key for key, *_ in wanted), *range(len(MISTAKES))], made, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_matches_reference(kernels, name):
    opdef, shapes = CASES[name]
    check(opdef, [normal(*s, seed=i) for i, s in enumerate(shapes)], compiled=kernels[name])


@pytest.mark.parametrize("name", ["softmax", "rms_norm", "product", "logic"])
def test_rows_longer_than_a_tile(kernels, name):
    """A small unified buffer makes tiles of 256 elements, so that rows take several."""
    opdef, shapes = CASES[name]
    long = [normal(*s[:-1], 1111, seed=i) for i, s in enumerate(shapes)]
    check(opdef, long, compiled=kernels[name], ub=24576, cores=3, ulps=32)


@pytest.mark.parametrize(("name", "column"), HALF_TYPES)
def test_half_types_are_computed_in_float32(kernels, name, column):
    kind = np.dtype([np.float32, np.float16, ml_dtypes.bfloat16][column])
    opdef, shapes = CASES[name]
    check(opdef, [normal(*s).astype(kind) for s in shapes], ulps=1, compiled=kernels[name, column])


def test_every_function_of_one_number(kernels):
    check(EVERY_FUNCTION, [normal(3, 41)], ulps=64, compiled=kernels["every function"])


def test_binary_functions_and_special_values(kernels):
    special = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-40, 1e38, -7], np.float32)
    x, w = (a.astype(np.float32) for a in np.meshgrid(special, special))
    check(SPECIAL_VALUES, [x, w], ulps=32, compiled=kernels["special values"])


def test_mod_and_pow(kernels):
    check(MOD_AND_POW, [normal(3, 50), normal(3, 50, seed=1)], ulps=64, compiled=kernels["mod and pow"])


def test_integer_tensors(kernels):
    x, zero = normal(5, 37) * 5, np.array([3], np.int8)
    q, big = kernels["quantize"](x, zero)
    expected = evaluate(QUANTIZE, [x, zero])
    assert q.dtype == np.int8
    assert np.array_equal(q, expected[0])
    assert np.array_equal(big, expected[1])


def test_whole_numbers_have_no_negative_zero(kernels):
    x = np.array([-0.3, -0.0, 0.0, np.nan, 2.5, -7.5], np.float32)
    for got in kernels["whole numbers"](x)[:2]:
        np.testing.assert_allclose(got[:4], np.pi, rtol=1e-6)
    check(WHOLE_NUMBERS, [x], compiled=kernels["whole numbers"])


def test_empty_and_scalar_tensors(kernels):
    swish = kernels["swish"]
    assert swish(np.zeros((0, 4), np.float32))[0].shape == (0, 4)
    check(CASES["swish"][0], [normal().reshape(())], compiled=swish)
    check(SUM, [np.zeros((3, 0), np.float32)], compiled=kernels["sum"])


def test_names_that_cpp_has_taken(kernels):
    """As the files are for the device, and among others."""
    arrays = [1 + np.abs(normal(3, 40, seed=i)) for i in range(4)]
    single = compile_for_cpu(generate_ascend_c(TAKEN_NAMES, SOC), TAKEN_NAMES)
    for compiled in (single, kernels["taken names"]):
        check(TAKEN_NAMES, arrays, attributes={"k": 2.0}, compiled=compiled)


def test_optional_inputs(kernels):
    """A kernel for the inputs that are given."""
    x, w = normal(3, 40), normal(40, seed=1)
    both, alone = kernels["both"], kernels["alone"]
    np.testing.assert_array_equal(both(x, w)[0], x * w)
    np.testing.assert_array_equal(alone(x, None)[0], x + 1)
    for kernel, inputs in ((both, (x, None)), (alone, (x, w))):
        with pytest.raises(AscendError, match="InferShape refuses"):
            kernel(*inputs)


def test_attributes_are_read_at_run_time(kernels):
    check(CASES["swish"][0], [normal(3, 40)], attributes={"beta": -0.5}, compiled=kernels["swish"])


#: What breaks one rule of a kernel that is right otherwise, and what reports it.
MISTAKES = [
    (lambda k: k.replace("        queue.EnQue(tile);\n", "", 1), "EnQue"),
    (lambda k: k.replace("queue.FreeTensor(tile);", "", 1), "ErrorBuffer3|ErrorLeak"),
    (lambda k: k.replace("BUFFER_NUM, tile_ *", "BUFFER_NUM, 64 * tile_ *", 1), "unified buffer"),
    (lambda k: k.replace("from[offset]", "from[offset + 1]", 1), "ErrorRead3"),
    (lambda k: k.replace("to[offset]", "to[offset + 1]", 1), "ErrorWrite2|ErrorRead3"),
    (lambda k: k.replace("DataCopyPad(tile, from[offset], copy, pad)", "DataCopy(tile, from[offset], n)"), "ErrorRead4"),
    (lambda k: k.replace("Duplicate(to[clear]", "Duplicate(to[clear - 7]"), "ErrorWrite4"),
    (lambda k: k.replace("    PipeBarrier<PIPE_V>();\n", ""), "ErrorSync1"),
    (lambda k: k.replace("    WaitFlag<HardEvent::V_S>(done);\n", ""), "ErrorSync2"),
    (lambda k: k.replace("DataCopyPad(tile, from[offset], copy, pad);", ""), "ErrorRead2"),
    (lambda k: k.replace("    queue.FreeTensor(ready);\n", "    queue.FreeTensor(ready);\n    queue.FreeTensor(ready);\n"), "ErrorFree"),
    (lambda k: k.replace("pipe->InitBuffer(xTileBuf_, tile_ * sizeof(float));\n", ""), "ErrorBuffer0"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[message for _, message in MISTAKES])
def test_planted_mistakes_are_reported(kernels, number):
    with pytest.raises(AscendError, match=MISTAKES[number][1]) as caught:
        kernels[number](normal(5, 301), normal(301))
    assert caught.value.code == "E43003"


@pytest.mark.parametrize(
    ("opdef", "reason"),
    [
        (define("x + X", ("x", "X")), "differ in case only"),
        (define("x + 1", types=("float64",)), "no float64 arithmetic"),
        (define("x + index(1)"), "positions along an axis of a number"),
    ],
)
def test_refusals_say_why(opdef, reason):
    with pytest.raises(NotGenerated, match=reason):
        generate_ascend_c(opdef, SOC)


def test_shapes_that_do_not_broadcast_are_refused_by_the_generated_host(kernels):
    with pytest.raises(AscendError, match="refuses these shapes"):
        kernels["swiglu"](normal(3, 4), normal(3, 5))

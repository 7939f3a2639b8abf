"""The bound that proofs use: kernels lie within it and mistakes outside it."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.proof import arithmetic
from ascend_ep.opbuild.proof.bounded import Bounded, apply
from ascend_ep.opbuild.proof.cases import small_cases
from ascend_ep.opbuild.proof.error_bound import interval, propagate
from ascend_ep.opbuild.proof.interpreted import run_interpreted
from ascend_ep.opbuild.proof.numerical import expected
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.dtypes import BOOL, FLOAT16, FLOAT32

FORMULAS = [
    "F(x, w) = x*w - w/x + 3",
    "F(x, w) = sin(x)*tanh(w) + erf(x) - cos(w)",
    "F(x, w) = floor(x*3) + round(w) + x % w + x // w",
    "F(x, w) = exp(x) if x < w else log(abs(w))",
    "F(x, w) = (x - mean(x))/sqrt(var(x) + 0.1)*w",
    "F(x, w) = softmax(x)*w",
    "F(x, w) = logsumexp(x) + w",
    "F(x, w) = sum(x, axis=0) + max(x) - min(x)*w",
    "F(x, w) = prod(x/4) + w",
    "F(x, w) = argmax(x) + w",
    "F(x, w) = float16(x*w) + bfloat16(x)",
]


def subject(formula: str) -> Subject:
    return Subject(describe(formula).opdef, (TensorSpec(FLOAT32, (4, 33)), TensorSpec(FLOAT32, (33,))), {})


@pytest.mark.parametrize("formula", FORMULAS)
def test_kernels_lie_within(formula: str) -> None:
    tested = subject(formula)
    bounded = 0
    for case in small_cases(tested):
        expect = expected(tested, case)
        if expect is None:
            continue
        (result,) = run_interpreted(tested, case)
        got = result.astype(np.float64)
        right = expect.holds(0, got)
        assert np.all(right), (case.about, got[~right][:3], expect.reference[0][~right][:3])
        bounded += int(np.sum(~expect.lost(0)))
    assert bounded > 1000


def test_an_exponent_that_may_be_whole() -> None:
    """A negative number has a power then, and else none."""
    base = Bounded(np.array([-2.0, -2.0, 2.0]))
    exponent = Bounded(np.array([1 - 1e-8, 0.5, 1 - 1e-8]), np.full(3, 1e-7))
    with np.errstate(invalid="ignore"):
        found = apply("pow", [base, exponent], arithmetic.FLOAT32)
    low, high = interval(found, FLOAT32)
    np.testing.assert_array_equal(low[:2], [-np.inf, np.nan])
    np.testing.assert_array_equal(high[:2], [np.inf, np.nan])
    assert np.isfinite([low[2], high[2]]).all()


def test_a_power_that_may_not_depend_on_nan() -> None:
    base = Bounded(np.array([1 - 1e-9, 0.5, np.nan, np.nan]), np.full(4, 1e-7))
    exponent = Bounded(np.array([np.nan, np.nan, 1e-9, 0.5]), np.full(4, 1e-7))
    low, high = interval(apply("pow", [base, exponent], arithmetic.FLOAT32), FLOAT32)
    np.testing.assert_array_equal(low, [-np.inf, np.nan, -np.inf, np.nan])
    np.testing.assert_array_equal(high, [np.inf, np.nan, np.inf, np.nan])


def test_a_remainder_of_what_is_too_large_to_divide() -> None:
    """Any remainder may be right where the divisor is rounded."""
    large, divisor = Bounded(np.array([3.4e38, 3.0])), Bounded(np.array([0.7, 0.7]), np.array([6e-8, 6e-8]))
    low, high = interval(apply("mod", [large, divisor], arithmetic.FLOAT32), FLOAT32)
    assert low[0] <= 0
    assert high[0] >= 0.7
    assert high[1] - low[1] < 1e-5


@pytest.mark.parametrize("formula", FORMULAS[:2] + FORMULAS[4:6])
def test_a_thousandth_off_lies_outside(formula: str) -> None:
    tested = subject(formula)
    case = next(c for c in small_cases(tested) if "[5, 33]" in c.about or ", 129]" in c.about)
    expect = expected(tested, case)
    assert expect is not None
    wrong = expect.reference[0] * 1.001
    outside = (wrong < expect.low[0]) | (wrong > expect.high[0])
    finite = np.isfinite(expect.reference[0]) & (expect.reference[0] != 0)
    assert np.mean(outside[finite]) > 0.8


def bound_of(formula: str, **inputs: float) -> Bounded:
    program = subject(formula).program
    return propagate(program, {n: np.asarray(v) for n, v in inputs.items()})[0]


def test_cancellation_widens() -> None:
    near = bound_of("F(x, w) = (x + w) - x", x=1.0, w=1e-6)
    far = bound_of("F(x, w) = (x + w) - x", x=1e6, w=1e-6)
    assert float(near.error) < 1e-7 < float(far.error) < 1


def test_a_comparison_in_doubt_widens_to_both_branches() -> None:
    sure = bound_of("F(x, w) = 7 if x*w > 0.5 else 3", x=0.9, w=0.9)
    doubt = bound_of("F(x, w) = 7 if x*w > 0.5 else 3", x=0.5, w=1.0 + 1e-9)
    assert float(sure.error) == 0
    assert float(doubt.error) == 4


def test_overflow_of_a_part_is_infinite_or_unknown() -> None:
    beyond = bound_of("F(x, w) = exp(x)*w", x=100.0, w=1.0)
    assert float(beyond.value) == np.inf
    assert float(beyond.error) == 0
    at_the_edge = bound_of("F(x, w) = x*w", x=float(np.finfo(np.float32).max), w=1.0)
    assert float(at_the_edge.error) == np.inf


def test_interval_of_a_narrow_type() -> None:
    low, high = interval(Bounded(np.float64(1 / 3), np.float64(0)), FLOAT16)
    assert low == high == float(np.float16(1 / 3))
    low, high = interval(Bounded(np.float64(np.nan), np.float64(0)), FLOAT16)
    assert np.isnan(low)
    assert np.isnan(high)


def test_a_position_is_certain_where_nothing_comes_near() -> None:
    x = np.array([[0.9, 0.5, 0.7], [0.9, 0.9 + 1e-9, 0.7]])
    positions = bound_of("F(x, w) = argmax(x*w)", x=x, w=0.9)
    np.testing.assert_array_equal(positions.error.reshape(-1), [0, np.inf])
    order = bound_of("F(x, w) = topk_indices(x*w, 2)", x=x, w=0.9)
    np.testing.assert_array_equal(order.error, [[0, 0], [np.inf, np.inf]])
    exact = bound_of("F(x, w) = argmax(x)", x=np.array([[0.5, 0.5, 0.25]]), w=0.0)
    assert not np.any(exact.error), "equal inputs are equal for every reader"


def test_parts_that_decide_leave_no_doubt() -> None:
    near = np.array([0.9, 0.5 / 0.9])
    sure = bound_of("F(x, w) = any(x*w > 0.5) + 0", x=near, w=np.float64(np.float32(0.9)))
    doubt = bound_of("F(x, w) = all(x*w > 0.5) + 0", x=near, w=np.float64(np.float32(0.9)))
    assert float(sure.error.max()) < 1e-6
    assert float(doubt.error.max()) >= 1


@pytest.mark.parametrize(
    ("formula", "x", "w"),
    [
        ("1/(x - w)", 1.0, 1.0 + 1e-9),
        ("tan(x*w)", np.pi / 2, 1.0 + 1e-9),
        ("(x - w)^(-1.5 + 0.5)", 1.0, 1.0 + 1e-9),
        ("x % (x - w)", 1.0, 1.0 + 1e-9),
    ],
)
def test_nothing_is_said_beside_a_pole(formula: str, x: float, w: float) -> None:
    assert float(bound_of(f"F(x, w) = {formula}", x=x, w=w).error) == np.inf


def test_the_cut_of_an_angle_and_truth_near_zero() -> None:
    angle = bound_of("F(x, w) = atan2(x - w, -1)", x=1.0, w=1.0 + 1e-9)
    assert 2 * np.pi <= float(angle.error) < 7
    truth = bound_of("F(x, w) = bool(x - w)", x=1.0, w=1.0 + 1e-9)
    assert float(truth.error) == 1
    low, high = interval(truth, BOOL)
    assert (float(low), float(high)) == (0, 1)


def test_a_sum_of_both_infinities_in_some_order() -> None:
    """Elements that overflow by themselves meet an infinity of the other sign, or it comes first."""
    x = np.array(
        [[3e38, 3e38, -np.inf], [3e38, 3e37, -np.inf], [-3e38, -3e38, -np.inf], [3e38, np.inf, 1e38]]
    )
    for keepdims in (False, True):
        total = bound_of(f"F(x) = sum(x, keepdims={str(keepdims).lower()})", x=x)
        assert np.ravel(total.error).tolist() == [np.inf, 0, 0, 0]
        assert np.ravel(total.value).tolist() == [-np.inf, -np.inf, -np.inf, np.inf]


def test_the_largest_of_zeros_of_both_signs_is_either() -> None:
    zeros = np.array([0.0, -0.0])
    for formula in ("atan2(0, max(x))", "atan2(0, min(x))", "atan2(0, max(x, -x))", "1/min(x, -x)"):
        assert np.all(np.asarray(bound_of(f"F(x) = {formula}", x=zeros).error) >= np.pi), formula
    for formula in ("max(x)", "min(x, -x)", "atan2(0, max(x))"):
        assert np.all(np.asarray(bound_of(f"F(x) = {formula}", x=zeros * 0 + 0.0).error) < 1e-30), formula


def test_the_rounding_is_that_of_what_a_kernel_has() -> None:
    """Beside a step the reference may be 0 where a kernel has 1, whose quotient it rounds."""
    step = Bounded(np.array([0.0]), np.array([1.0]))
    third = apply("div", [step, Bounded(np.array([3.0]))], arithmetic.FLOAT32)
    computed = np.float64(np.float32(1) / np.float32(3))
    assert computed > 1 / 3
    assert third.error[0] >= computed

"""What depends on the shapes, types and attributes that a file is recorded with."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tbe_files import computed, describe_file, formula

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.output_types import infer

MEAN = """
    import math
    from functools import reduce
    import tbe.dsl as tbe
    from tbe import tvm

    def centre(x, y, {attribute}kernel_name="centre"):
        shape = x["shape"]
        data = tvm.placeholder(shape, name="x", dtype=x["dtype"])
        total = tbe.reduce_sum(data, axis=-1, keepdims=True)
        mean = tbe.vmuls(total, tvm.const({factor}, data.dtype))
        res = tbe.vsub(data, tbe.broadcast(mean, shape))
        with tvm.target.cce():
            sch = tbe.auto_schedule(res)
        tbe.build(sch, {{"name": kernel_name, "tensor_list": [data, res]}})
"""
X = np.random.default_rng(3).normal(size=(5, 9))


@pytest.mark.parametrize(
    "factor",
    [
        "1.0 / shape[-1]",
        "shape[-1] ** -1",
        "1.0 / reduce(lambda a, b: a * b, shape[-1:])",
        "float(1.0 / int(shape[-1]))",  # loses where it comes from: seen in three recordings
        "1.0 / math.sqrt(shape[-1] * shape[-1])",
    ],
)
def test_a_mean_is_for_every_length(tmp_path, factor: str) -> None:
    described = describe_file(tmp_path, MEAN.format(factor=factor, attribute=""), (4, 32))
    assert "size(x, axis=-1)" in formula(described)
    np.testing.assert_allclose(computed(described, X), X - X.mean(-1, keepdims=True), rtol=1e-12, atol=1e-12)
    assert not described.opdef.shape


def test_a_product_that_another_rank_would_change(tmp_path) -> None:
    text = MEAN.format(factor="1.0 / reduce(lambda a, b: a * b, shape[1:])", attribute="")
    described = describe_file(tmp_path, text, (4, 32))
    assert any("inputs of this many dimensions: x 2" in w for w in described.warnings)
    assert infer(described.opdef, [(1, (5, 9))], {})[0][1] == (5, 9)
    with pytest.raises(AscendError):
        infer(described.opdef, [(1, (5, 9, 2))], {})


def test_numbers_that_are_no_size_keep_the_shape(tmp_path) -> None:
    described = describe_file(tmp_path, MEAN.format(factor="math.log(shape[-1])", attribute=""), (4, 32))
    assert any("the operator is for [?, 32] only" in w for w in described.warnings)
    assert infer(described.opdef, [(1, (4, 32))], {})[0][1] == (4, 32)
    with pytest.raises(AscendError, match=r"must have the shape \[\?, 32\], not \[5, 33\]"):
        infer(described.opdef, [(1, (5, 33))], {})


def test_a_path_by_the_shape_keeps_the_shape(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def crooked_compute(x):
        return dsl.vexp(x) if x.shape[-1] > 20 else dsl.vabs(x)
    """
    described = describe_file(tmp_path, text, (4, 32))
    assert any("depends on the shapes" in w for w in described.warnings)
    with pytest.raises(AscendError):
        infer(described.opdef, [(1, (4, 8))], {})


def test_an_axis_from_the_front_keeps_the_rank(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def channel_compute(x):
        return dsl.sum(x, 1, True)
    """
    described = describe_file(tmp_path, text, (2, 3, 4))
    assert any("inputs of this many dimensions: x 3" in w for w in described.warnings)
    assert infer(described.opdef, [(1, (5, 6, 7))], {})[0][1] == (5, 1, 7)
    with pytest.raises(AscendError, match=r"must have the shape \[\?, \?, \?\], not"):
        infer(described.opdef, [(1, (5, 6, 7, 8))], {})


def test_sizes_of_one_in_the_sample_are_no_rule(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def total_compute(x):
        return dsl.vdiv(x, dsl.broadcast(dsl.sum(x, -1, True), x.shape))
    """
    described = describe_file(tmp_path, text, (1, 512))
    assert not described.warnings
    assert infer(described.opdef, [(1, (7, 3))], {})[0][1] == (7, 3)


def test_shapes_that_a_file_insists_on(tmp_path) -> None:
    """A file for multiples of 16 is recorded with other multiples."""
    text = """
    import te.lang.cce as dsl
    def blocks_compute(x):
        if x.shape[-1] % 16:
            raise RuntimeError("whole blocks only")
        return dsl.vexp(x)
    """
    assert formula(describe_file(tmp_path, text, (4, 32))) == "y = exp(x)"


def test_reshaping_that_moves_elements_is_refused(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    from te import tvm
    def odd(x, y, kernel_name="odd"):
        data = tvm.placeholder(x["shape"][::-1], name="x", dtype=x["dtype"])
        res = dsl.sum(data, 0, True)
        dsl.build(dsl.auto_schedule(res), {"name": kernel_name, "tensor_list": [data, res]})
    """
    with pytest.raises(AscendError, match=r"E42112.*shapes that the file gives its placeholders"):
        describe_file(tmp_path, text, (4, 6))


SLOPE = """
    import te.lang.cce as dsl
    from te import tvm
    from te.utils import para_check

    @para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT,
                                para_check.OPTION_ATTR_FLOAT, para_check.OPTION_ATTR_BOOL,
                                para_check.KERNEL_NAME)
    def slope(x, y, negative_slope=0.25, doubled=False, kernel_name="slope"):
        data = tvm.placeholder(x.get("shape"), name="x", dtype=x.get("dtype"))
        if negative_slope < 0:
            raise RuntimeError("negative_slope must not be negative")
        below = dsl.vmuls(data, tvm.const(negative_slope, data.dtype))
        res = {chosen}
        if doubled:
            res = dsl.vadd(res, res)
        with tvm.target.cce():
            sch = dsl.auto_schedule(res)
        dsl.cce_build_code(sch, {{"name": kernel_name, "tensor_list": [data, res]}})
"""


def test_attributes_stay_attributes(tmp_path) -> None:
    text = SLOPE.format(chosen="dsl.vcmpsel(data, 0.0, 'gt', data, below)")
    described = describe_file(tmp_path, text, (4, 33))
    assert formula(described) == "y = where(x > 0, x, x*negative_slope)"
    slope, doubled = described.opdef.attributes
    assert (slope.name, slope.type, slope.default, slope.allowed) == ("negative_slope", "float", 0.25, ())
    assert doubled.allowed == (False,)  # it decides what is built
    assert any("the operator is for doubled=False only" in w for w in described.warnings)
    assert formula(describe_file(tmp_path, text, (4, 33), doubled=True)).endswith("+ t0")


def test_attributes_that_choose_a_path_are_fixed(tmp_path) -> None:
    text = SLOPE.format(chosen="(dsl.vmax if negative_slope <= 1 else dsl.vmin)(data, below)")
    described = describe_file(tmp_path, text, (4, 33), negative_slope=0.5)
    assert formula(described) == "y = max(x, x*negative_slope)"
    assert described.opdef.attributes[0].allowed == (0.5,)
    assert any("negative_slope=0.5 only" in w for w in described.warnings)


def test_an_axis_attribute(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def along_compute(x, axis=-1):
        return dsl.reduce_max(x, axis=axis, keepdims=True)
    """
    described = describe_file(tmp_path, text, (4, 33))
    assert formula(described) == "y = max(x, axis=axis)"
    np.testing.assert_array_equal(computed(described, X, axis=0), X.max(0, keepdims=True))


def test_attributes_by_name(tmp_path) -> None:
    text = SLOPE.format(chosen="below")
    with pytest.raises(
        AscendError, match=r"E42112.*has no attribute negativ_slope. Did you mean \[negative_slope\]"
    ):
        describe_file(tmp_path, text, (4, 33), negativ_slope=0.5)
    needed = text.replace("negative_slope=0.25", "negative_slope").replace("doubled=False", "doubled")
    with pytest.raises(AscendError, match=r"negative_slope has no default: give --attr negative_slope=VALUE"):
        describe_file(tmp_path, needed, (4, 33))


def test_types_that_compute_something_else_are_left_out(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def careful_compute(x):
        return dsl.vmins(x, 65504.0) if x.dtype == "float16" else dsl.vmins(x, 1e30)
    """
    described = describe_file(tmp_path, text, (4, 33))
    assert described.opdef.inputs[0].types == (dtypes.FLOAT32, dtypes.BFLOAT16)
    assert described.warnings == ("with float16 the file computes something else: it isn't among the types",)


@pytest.mark.parametrize(("said", "all_axes"), [('{"reduce_mode": "REDUCE_ALL"}', True), ("None", False)])
def test_axes_that_are_left_to_run_time(tmp_path, said: str, all_axes: bool) -> None:
    text = f"""
    from impl.util.platform_adapter import tbe, tvm, classify, OpPatternMode, shape_util

    def total(x, y, kernel_name="total"):
        where = {{"shape": [-1], "value": [], "rel_pos_to_reduce": "axis"}}
        schedules, tensors = [], []
        for one, places in classify([x, where], OpPatternMode.REDUCE, {said}):
            with tbe.compute():
                shape = shape_util.variable_shape([one, places])[0]
                data = tvm.placeholder(shape, name="x", dtype=x["dtype"])
                res = tbe.reduce_sum(data, axis=places["value"])
                tensors.append([data, res])
            with tvm.target.cce():
                schedules.append(tbe.auto_schedule(res))
        tbe.build(schedules, {{"name": kernel_name, "tensor_list": tensors}})
    """
    if all_axes:
        described = describe_file(tmp_path, text, (4, 6))
        assert (formula(described), described.warnings) == (
            "y = unsqueeze(sum(x, axis=all, keepdims=false), axis=-1)",
            (),
        )
        np.testing.assert_allclose(computed(described, X[:, None]), [X.sum()])
    else:
        with pytest.raises(AscendError, match="known at run time only"):
            describe_file(tmp_path, text, (4, 6))


def test_integers_among_floats_are_noted(tmp_path) -> None:
    text = """
    import te.lang.cce as dsl
    def part_compute(x):
        return dsl.vsub(x, dsl.floor(x))
    """
    described = describe_file(tmp_path, text, (4, 6))
    assert described.warnings == ("line 4: vsub of float32 and int32 is computed in float32: use cast_to",)
    np.testing.assert_allclose(computed(described, X), X - np.floor(X))


@pytest.mark.measures
def test_a_loop_over_an_attribute_is_bounded(tmp_path) -> None:
    """Probes go to where the file compares, which may be where a loop has no end."""
    text = """
    import tbe.dsl as dsl
    from tbe import tvm
    def power_compute(x, p=2):
        if p == 2147483647 or p == float("inf"):
            return dsl.vabs(x)
        y = x
        for _ in range(1, p) if p != 1000 else iter(int, 1):
            y = dsl.vmul(y, x)
        return y
    """
    start = time.monotonic()
    described = describe_file(tmp_path, text, (3, 4), p=2)
    assert time.monotonic() - start < 20
    assert formula(described) == "y = x*x"
    assert described.opdef.attributes[0].allowed == (2,)
    assert any("the operator is for p=2 only" in w for w in described.warnings)

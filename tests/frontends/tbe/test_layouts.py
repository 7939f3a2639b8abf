"""What files are told of their inputs: formats, original shapes, and lists of inputs."""

from __future__ import annotations

import numpy as np
import pytest
from tbe_files import computed, describe_file, formula

from ascend_ep.errors import AscendError
from ascend_ep.frontends.tbe.layouts import FORMATS, Layout, original_shape, read_layouts
from ascend_ep.opdef.output_types import infer

#: scales by channel: in blocks of 16 channels, or as NCHW with a vector of channels
BY_CHANNEL = """
    import te.lang.cce
    from te import tvm
    from topi import generic
    from topi.cce import util

    @util.check_input_type(dict, dict, dict, str)
    def by_channel(x, scale, y, kernel_name="by_channel"):
        shape, form, before = x["shape"], x["format"], x["ori_shape"]
        if form not in ("NC1HWC0", "NCHW") or x["ori_format"] != "NCHW":
            raise RuntimeError("no format of this operator: " + form)
        if scale["ori_shape"][0] != before[1]:
            raise RuntimeError("a scale for each channel")
        size = scale["shape"]
        if form == "NCHW":
            size = (1, scale["ori_shape"][0], 1, 1) if scale["format"] == "NCHW" else None
        a = tvm.placeholder(shape, name="a", dtype=x["dtype"])
        b = tvm.placeholder(size, name="b", dtype=x["dtype"])
        res = te.lang.cce.vmul(a, te.lang.cce.broadcast(b, shape))
        with tvm.target.cce():
            sch = generic.auto_schedule(res)
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [a, b, res]})
"""
JOINED = """
    import te.lang.cce
    from te import tvm
    from tbe.common.utils import para_check as check

    @check.check_op_params(check.DYNAMIC_INPUT, check.REQUIRED_INPUT, check.REQUIRED_OUTPUT,
                           check.OPTION_ATTR_FLOAT, check.KERNEL_NAME)
    def joined(xs, w, y, scale=2.0, kernel_name="joined"):
        data = [tvm.placeholder(x["shape"], name="x", dtype=x["dtype"]) for x in xs]
        last = tvm.placeholder(w["shape"], name="w", dtype=w["dtype"])
        res = data[0]
        for other in data[1:]:
            res = te.lang.cce.vadd(res, other)
        res = te.lang.cce.vmul(te.lang.cce.vmuls(res, tvm.const(scale, res.dtype)), last)
        with tvm.target.cce():
            sch = te.lang.cce.auto_schedule(res)
        te.lang.cce.build(sch, {"name": kernel_name, "tensor_list": [*data, last, res]})
"""


def test_a_vector_of_channels_in_nchw(tmp_path) -> None:
    with pytest.raises(AscendError, match="TBE file failed"):
        describe_file(tmp_path, BY_CHANNEL, (2, 16, 4, 5), (16,))
    layouts = read_layouts("NCHW", "", 2)
    described = describe_file(tmp_path, BY_CHANNEL, (2, 16, 4, 5), (16,), layouts=layouts)
    x, scale = np.ones((1, 3, 2, 2)), np.arange(3.0)
    np.testing.assert_array_equal(computed(described, x, scale), x * scale.reshape(3, 1, 1))
    assert described.opdef.inputs[1].formats == ("NCHW",)
    assert any("many dimensions: x 4, scale 1" in w for w in described.warnings)
    with pytest.raises(AscendError):
        infer(described.opdef, [(1, (3, 4)), (1, (4,))], {})


def test_blocks_of_channels(tmp_path) -> None:
    """The sizes of a block stay in other recordings; the original shape follows the layout, or is given."""
    shapes = (2, 3, 4, 5, 16), (1, 3, 1, 1, 16)
    layouts = read_layouts("NC1HWC0", ";[48]", 2)
    described = describe_file(tmp_path, BY_CHANNEL, *shapes, layouts=layouts)
    x, scale = np.ones((1, 2, 3, 3, 16)), np.arange(32.0).reshape(1, 2, 1, 1, 16)
    np.testing.assert_array_equal(computed(described, x, scale), x * scale)
    assert formula(described) == "y = x*scale"
    wrong = read_layouts("NC1HWC0", ";[47]", 2)
    with pytest.raises(AscendError, match="a scale for each channel"):
        describe_file(tmp_path, BY_CHANNEL, *shapes, layouts=wrong)


@pytest.mark.parametrize("count", [1, 3])
def test_a_list_of_inputs(tmp_path, count) -> None:
    described = describe_file(tmp_path, JOINED, *[(3, 4)] * count, (3, 4))
    assert [s.name for s in described.opdef.inputs] == [*(f"xs{i}" for i in range(count)), "w"]
    arrays = [np.full(7, i + 1.0) for i in range(count + 1)]
    np.testing.assert_array_equal(computed(described, *arrays), sum(arrays[:-1]) * 2 * arrays[-1])
    assert any(
        w.endswith(f"xs may be any number of tensors: the operator is for {count}")
        for w in described.warnings
    )


def test_a_list_of_none_is_refused(tmp_path) -> None:
    with pytest.raises(AscendError, match="xs are lists of tensors: give the shapes"):
        describe_file(tmp_path, JOINED, (3, 4))


def test_the_older_decorator_has_lists_too(tmp_path) -> None:
    text = """
    import te.lang.cce
    from te import tvm
    from topi.cce import util

    @util.check_input_type((tuple, list), dict, str)
    def longest(xs, y, kernel_name="longest"):
        data = [tvm.placeholder(x["shape"], name="x", dtype=x["dtype"]) for x in xs]
        res = te.lang.cce.vmax(data[0], data[1])
        sch = te.lang.cce.auto_schedule(res)
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": data + [res]})
    """
    assert formula(describe_file(tmp_path, text, (3, 4), (3, 4))) == "y = max(xs0, xs1)"


@pytest.mark.parametrize(
    ("form", "shape", "before"),
    [
        ("NC1HWC0", (2, 3, 4, 5, 16), (2, 48, 4, 5)),
        ("NDC1HWC0", (2, 6, 3, 4, 5, 16), (2, 48, 6, 4, 5)),
        ("FRACTAL_NZ", (3, 2, 5, 16, 16), (3, 80, 32)),
        ("NHWC", (2, 3, 4, 5), (2, 3, 4, 5)),
        ("ND", (7,), (7,)),
    ],
)
def test_original_shapes(form, shape, before) -> None:
    assert original_shape(form, shape) == before
    assert Layout(form).described(shape)[::2] == (form, before)


@pytest.mark.parametrize(
    ("formats", "originals", "words"),
    [
        ("NC1HWC", "", "there is no layout NC1HWC. Did you mean"),
        ("ND;ND;ND", "", "3 are given for 2 inputs"),
        ("", "[4]", "1 are given for 2 inputs"),
        ("ND", "[4];[x]", "a shape is written"),
        ("ND", "[4];[0]", "a shape is written"),
    ],
)
def test_wrong_layouts(formats, originals, words) -> None:
    with pytest.raises(AscendError) as raised:
        read_layouts(formats, originals, 2)
    assert raised.value.code == "E43103"
    assert words in raised.value.text


def test_layouts_of_every_format() -> None:
    assert all(read_layouts(f, "", 1) == (Layout(f),) for f in FORMATS)
    assert read_layouts("", "", 3) == ()
    assert read_layouts(";ND", "[1,2];", 2) == (Layout("", (1, 2)), Layout("ND"))


def test_a_formula_has_no_layouts() -> None:
    from ascend_ep.frontends.description import describe

    with pytest.raises(AscendError, match="only TBE files ask"):
        describe("F(x) = x + 1", layouts=(Layout("ND"),))

"""What files of strangers have that ours hadn't: registrations, base classes, scalars, schedules by hand."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
from tbe_files import computed, describe_file, formula

from ascend_ep.errors import AscendError
from ascend_ep.frontends.tbe.layouts import read_layouts
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.output_types import infer

SHIFTED = """
    import te.lang.cce
    from te import tvm
    from topi.cce import util

    def shifted(x, y, kernel_name="shifted"):
        data = tvm.placeholder({placed}, name="data", dtype=x["dtype"])
        res = te.lang.cce.vadds(te.lang.cce.vabs(data), 2.0)
        sch = te.lang.cce.auto_schedule(res)
        te.lang.cce.cce_build_code(sch, {{"name": kernel_name, "tensor_list": [data, res]}})
"""


@pytest.mark.parametrize(
    ("form", "shape", "other"),
    [
        ("NC1HWC0", (2, 2, 4, 5, 16), (3, 1, 5, 2, 16)),
        ("NCHW", (6, 6, 6, 6), (1, 2, 3, 4)),
        ("NHWC", (1, 1, 1, 1), (2, 3, 4, 5)),
    ],
)
def test_sizes_that_are_equal_stay_apart(tmp_path, form, shape, other) -> None:
    """A dimension of the result is that of the same place, whatever its size was when it was recorded."""
    layouts = read_layouts(form, "", 1)
    described = describe_file(tmp_path, SHIFTED.format(placed='x["shape"]'), shape, layouts=layouts)
    assert infer(described.opdef, [(1, other)], {})[0][1] == other
    with pytest.raises(AscendError, match=r"E41011.*must have the shape \[\?, \?, \?, \?"):
        infer(described.opdef, [(1, (*other, 7))], {})


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (3, 4, 5)])
def test_merged_dimensions_are_those_of_the_input_again(tmp_path, shape) -> None:
    text = "import math\n" + textwrap.dedent(SHIFTED.format(placed='[math.prod(x["shape"])]'))
    described = describe_file(tmp_path, text, shape, layouts=read_layouts("ND", "", 1))
    assert infer(described.opdef, [(1, shape)], {})[0][1] == shape


def test_nd_says_nothing_of_the_number_of_dimensions(tmp_path) -> None:
    text = SHIFTED.format(placed='x["shape"]')
    described = describe_file(tmp_path, text, (4, 5), layouts=read_layouts("ND", "[4,5]", 1))
    assert not described.warnings
    assert infer(described.opdef, [(1, (2, 3, 4))], {})[0][1] == (2, 3, 4)


def test_a_required_shape_is_kept_in_the_definition(tmp_path) -> None:
    layouts = read_layouts("NCHW", "", 1)
    described = describe_file(tmp_path, SHIFTED.format(placed='x["shape"]'), (2, 3, 4, 5), layouts=layouts)
    assert described.opdef.inputs[0].required_shape == (-1, -1, -1, -1)
    written = definition_map(described.opdef)
    assert written["inputs"][0]["required_shape"] == [-1, -1, -1, -1]
    (read,) = parse_definitions(json.dumps(written))
    assert read.inputs == described.opdef.inputs


def test_what_is_too_large_to_be_tried_is_refused(tmp_path) -> None:
    text = SHIFTED.format(placed='x["shape"]').replace(
        "vabs(data)", "vabs(data) if x['shape'] == (2048, 1024) else data"
    )
    with pytest.raises(AscendError, match="too large to be tried"):
        describe_file(tmp_path, text, (2048, 1024))


@pytest.mark.parametrize("package", ["mindspore", "luojianet_ms"])
def test_roles_by_the_registration(tmp_path, package) -> None:
    """The registration tells an optional input from an attribute, and a default map is no attribute."""
    text = f"""
    from {package}.ops import CustomRegOp, DataType, custom_info_register
    import te.lang.cce
    from te import tvm

    about = CustomRegOp().input(0, "x1").input(1, "x2").input(2, "bias", False, "optional", "all") \\
        .output(0, "y").attr("slope", "optional", "float") \\
        .dtype_format(*[DataType.F32_Default] * 4) \\
        .target("Ascend").get_op_info()

    @custom_info_register(about)
    def sloped(first, second, bias=None, output_y={{}}, slope=0.5, kernel_name="sloped"):
        kind = output_y.get("dtype").lower()
        a = tvm.placeholder(first["shape"], name="a", dtype=kind)
        b = tvm.placeholder(second["shape"], name="b", dtype=kind)
        res = te.lang.cce.vadd(te.lang.cce.vmuls(a, slope), b)
        sch = te.lang.cce.auto_schedule(res)
        te.lang.cce.cce_build_code(sch, {{"name": kernel_name, "tensor_list": [a, b, res]}})
    """
    described = describe_file(tmp_path, text, (3, 4), (3, 4))
    assert [s.name for s in described.opdef.inputs] == ["first", "second"]
    assert [(a.name, a.type) for a in described.opdef.attributes] == [("slope", "float")]
    assert formula(described) == "output_y = first*slope + second"


def test_a_map_by_default_is_the_output(tmp_path) -> None:
    text = SHIFTED.format(placed='x["shape"]').replace("(x, y,", "(x, y={},")
    assert formula(describe_file(tmp_path, text, (3, 4))) == "y = abs(x) + 2"


SCALED = """
    import tbe.dsl as tbe
    from tbe import tvm

    def scaled(x, rate, decay, y, kernel_name="scaled"):
        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
        rates = tvm.placeholder((1,), name="rates", dtype=x["dtype"])
        decays = tvm.placeholder((1,), name="decays", dtype=x["dtype"])
        res = tbe.vmuls(data, {scalar})
        sch = tbe.auto_schedule(res)
        tbe.build(sch, {{"name": kernel_name, "tensor_list": [data, rates, decays, res]}})
"""


@pytest.mark.parametrize(
    ("scalar", "wanted"),
    [
        ("rates[0] + decays[0]*0", lambda r, d: r),
        ("rates[0] * (tvm.const(1.0, 'float32') - decays[0])", lambda r, d: r * (1 - d)),
        ("-rates(0) / decays(0)", lambda r, d: -r / d),
    ],
)
def test_numbers_read_from_a_tensor_of_one_element(tmp_path, scalar, wanted) -> None:
    described = describe_file(tmp_path, SCALED.format(scalar=scalar), (3, 4), (1,), (1,))
    x = np.arange(12.0).reshape(3, 4)
    got = computed(described, x, np.array([3.0]), np.array([0.25]))
    np.testing.assert_allclose(got, x * wanted(3.0, 0.25))


def test_an_element_at_an_open_position_is_no_number(tmp_path) -> None:
    text = SCALED.format(scalar="tvm.compute((1,), lambda i: tbe.vmuls(data, rates[i]))")
    with pytest.raises(AscendError, match="an element stands where a tensor must"):
        describe_file(tmp_path, text, (3, 4), (1,), (1,))


def test_a_schedule_by_hand(tmp_path) -> None:
    """Copies that a schedule makes have a shape and axes, placeholders what they were given."""
    text = """
    import te.lang.cce
    from te import tvm
    from te import platform as tbe_platform

    def copied(x, y, kernel_name="copied"):
        attrs = {"format": x["format"], "n": 3}
        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"], attrs=attrs)
        assert (data.op.attrs["format"].value, data.op.attrs["n"].value) == ("ND", 3)
        res = tvm.compute(x["shape"], lambda *i: data(*i) + tvm.const(1.0, x["dtype"]), name="res")
        sch = tvm.create_schedule(res.op)
        inner = sch.cache_read(data, tbe_platform.scope_ubuf, [res])
        outer, = sch.cache_write([res], tbe_platform.scope_ubuf)
        parts = sch[res].split(res.op.axis[0], factor=int(inner.shape[0]))
        sch[inner].compute_at(sch[res], parts[0])
        sch[inner].emit_insn(inner.op.axis[0], "dma_copy")
        sch[outer].emit_insn(sch[outer].op.reduce_axis[0], "vector_add")
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, res]})
    """
    assert formula(describe_file(tmp_path, text, (3, 4))) == "y = x + 1"


def test_an_output_with_the_name_of_a_function(tmp_path) -> None:
    text = SHIFTED.format(placed='x["shape"]').replace("(x, y,", "(x, sum,")
    assert formula(describe_file(tmp_path, text, (3, 4))) == "sum_ = abs(x) + 2"


@pytest.mark.parametrize(
    ("imported", "used", "reason"),
    [
        ("from impl.other_op import other", "other(data)", "impl.other_op, which isn't beside it"),
        ("from impl import sparse_op", "sparse_op.apply(data)", "impl.sparse_op, which isn't beside it"),
        ("from impl.operator import other", "other(data)", "impl.operator, which isn't beside it"),
        ("from te import tik", "tik.Tik()", r"te\.tik\.Tik: it is part of a program for the hardware"),
        ("from te import tik", "tik.Tik(tik.Dprofile('v100', 'mini')) if util.get_product_version() =="
         " util.VERSION_CLOUD else 0", "program for the hardware"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_said(tmp_path, imported, used, reason) -> None:
    text = SHIFTED.format(placed='x["shape"]').replace(
        "import te.lang.cce\n", f"import te.lang.cce\n    {imported}\n"
    )
    text = text.replace("te.lang.cce.vabs(data)", used)
    with pytest.raises(AscendError, match=reason) as caught:
        describe_file(tmp_path, text, (3, 4))
    assert caught.value.code == "E42112"


def test_a_base_class_that_is_not_there(tmp_path) -> None:
    text = (
        SHIFTED.format(placed='x["shape"]')
        + """
    from impl.common_apply import Apply

    class Mine(Apply):
        def __init__(self, kernel_name):
            super().__init__(kernel_name, 3)

    def shifted(x, y, kernel_name="shifted"):
        Mine(kernel_name)
    """
    )
    with pytest.raises(AscendError, match=r"impl\.common_apply\.Apply: the file takes it from"):
        describe_file(tmp_path, text, (3, 4))


BY_VALUE = """
    import tbe.dsl as tbe
    from tbe import tvm
    from tbe.common.utils import para_check, shape_util
    from impl.util.platform_adapter import OpPatternMode, classify

    @para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.REQUIRED_INPUT,
                                para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME)
    def reduced(x, axes, y, kernel_name="reduced"):
        x["rel_pos_to_reduce"], axes["rel_pos_to_reduce"] = "before", "axis"
        if "const_value" in axes.keys():
            axes["value"] = list(axes["const_value"])
        schedules, tensors = [], []
        for one, along in classify([x, axes], OpPatternMode.REDUCE, {"keepdims": False}):
            with tbe.compute():
                shape, count = shape_util.variable_shape([one, along], op_mode="reduce")
                data = tvm.placeholder(shape, name="data", dtype=x["dtype"])
                where = tvm.placeholder(count, name="where", dtype=axes["dtype"])
                res = tbe.reduce_sum(tbe.vabs(data), shape_util.axis_check(len(shape), along.get("value")))
                tensors.append([data, where, res])
            with tvm.target.cce():
                schedules.append(tbe.auto_schedule(res))
        tbe.build(schedules, {"name": kernel_name, "tensor_list": tensors})
"""


def test_an_input_whose_value_the_file_needs(tmp_path) -> None:
    described = describe_file(tmp_path, BY_VALUE, (4, 5, 6), axes=[1])
    assert [s.name for s in described.opdef.inputs] == ["x"]
    assert described.opdef.attributes[0].allowed == ((1,),)
    assert any(
        "reads axes while it builds: the operator is for axes=[1] only" in w for w in described.warnings
    )
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(computed(described, x), np.abs(x).sum(1))
    with pytest.raises(AscendError, match=r"at run time only: give them, --attr axes=\[\.\.\.\]"):
        describe_file(tmp_path, BY_VALUE, (4, 5, 6), (1,), types="float32 int32")


def test_floats_of_two_types_meet_in_the_wider(tmp_path) -> None:
    text = SHIFTED.format(placed='x["shape"]')
    text = text.replace("vabs(data)", "vmul(data, te.lang.cce.cast_to(data, 'float16'))")
    described = describe_file(tmp_path, text, (3, 4))
    assert formula(described) == "y = x*float16(x) + 2"
    assert any(
        "vmul of float32 and float16 is computed in float32: use cast_to" in w for w in described.warnings
    )


def test_neighbours_by_relative_imports(tmp_path) -> None:
    """A file outside of a folder impl has neighbours too; one that isn't there is named when it is used."""
    (tmp_path / "own_neighbour.py").write_text(
        "import te.lang.cce\ntwice = lambda x: te.lang.cce.vmuls(x, 2.0)\n"
    )
    text = SHIFTED.format(placed='x["shape"]').replace("vabs(data)", "vabs(twice(data))")
    near = text.replace(
        "import te.lang.cce\n", "import te.lang.cce\n    from .own_neighbour import twice\n", 1
    )
    assert formula(describe_file(tmp_path, near, (3, 4))) == "y = abs(x*2) + 2"
    with pytest.raises(AscendError, match=r"impl\.nowhere\.twice: .* isn't beside it"):
        describe_file(tmp_path, near.replace("own_neighbour", "nowhere"), (3, 4))


def test_a_result_that_is_an_input_s(tmp_path) -> None:
    """Broadcast to a shape that no input has, it has a reason; to its own, it is the input."""
    text = SHIFTED.format(placed='x["shape"]').replace(
        "vadds(te.lang.cce.vabs(data), 2.0)", "broadcast(data, {shape})"
    )
    assert formula(describe_file(tmp_path, text.replace("{shape}", "x['shape']"), (3, 4))) == "y = x"
    with pytest.raises(
        AscendError, match=r"broadcast from \[3, 4\] to \[2, 3, 4\], which is no input's shape"
    ):
        describe_file(tmp_path, text.replace("{shape}", "(2, 3, 4)"), (3, 4))

"""Pieces of the toolkit that public files are written with: each in an operator of our own."""

from __future__ import annotations

import numpy as np
import pytest
from tbe_files import computed, describe_file, formula

X = np.linspace(-2, 2, 12).reshape(3, 4)
#: a variable, its accumulator, a rate of one element, a gradient; results that overwrite come before outputs
UPDATE = """
    {imports}


    @fusion_manager.register("damped_update_d")
    def damped_update_d_compute(var, accum, rate, grad, var_out, accum_out, {attributes}kernel_name=""):
        rate = te.lang.cce.broadcast(rate, var.shape)
        new_accum = te.lang.cce.vadd(te.lang.cce.vmuls(accum, tvm.const(0.5, var.dtype)), grad)
        new_var = te.lang.cce.vsub(var, te.lang.cce.vmul(rate, new_accum))
        copy_var = te.lang.cce.vadds(new_var, tvm.const(0.0, var.dtype))
        copy_accum = te.lang.cce.vadds(new_accum, tvm.const(0.0, var.dtype))

        def pick(*index):
            return copy_var(*index), copy_accum(*index), new_var(*index), new_accum(*index)

        return tvm.compute(var.shape, pick, name="outputs")


    @para_check.check_op_params(*[para_check.REQUIRED_INPUT] * 4, *[para_check.REQUIRED_OUTPUT] * 2,
                                para_check.KERNEL_NAME)
    def damped_update_d(var, accum, rate, grad, var_out, accum_out, kernel_name="damped_update_d"):
        config = schedule.ApplyOpConfig
        args = config.TensorArgs((var, accum, rate, grad), damped_update_d_compute, [var_out, accum_out], 4)
        names = ("var", "accum", "rate", "grad")
        name = config.TensorName(all=names, scalar=("rate",), reuse=("var", "accum"))
        schedule.common_apply_op_process(config(args, name{options}), kernel_name)
"""
IMPORTS = """import te.lang.cce
    from te import tvm
    from te.platform.fusion_manager import fusion_manager
    from te.utils import para_check
    from impl.util import util_apply_op_schedule as schedule"""


@pytest.mark.parametrize("options", [False, True])
def test_an_update_of_variables(tmp_path, options) -> None:
    text = UPDATE.format(
        imports=IMPORTS,
        attributes="nesterov, " if options else "unused=None, ",
        options=", config.TensorOptions(attrs=True)" if options else "",
    )
    described = describe_file(tmp_path, text, (3, 4), (3, 4), (1,), (3, 4))
    assert [s.name for s in described.opdef.outputs] == ["var_out", "accum_out"]
    var, accum = computed(described, X, X + 1, [0.25], X * 2)
    np.testing.assert_allclose(accum, (X + 1) / 2 + X * 2)
    np.testing.assert_allclose(var, X - 0.25 * accum)
    var, _ = computed(described, np.ones(7), np.ones(7), [1.0], np.ones(7))
    np.testing.assert_allclose(var, -0.5 * np.ones(7))


def test_a_rate_of_many_elements_is_refused(tmp_path) -> None:
    text = UPDATE.format(imports=IMPORTS, attributes="unused=None, ", options="")
    with pytest.raises(Exception, match="rate must have one element"):
        describe_file(tmp_path, text, (3, 4), (3, 4), (4,), (3, 4))


def test_a_phony_operand_is_there_for_its_shape(tmp_path) -> None:
    """Under that tag the code generator takes the first operand for the sum."""
    for place in ("with tvm.tag_scope('elewise_binary_phony'):\n            {}", "{}"):
        tag = "" if "with" in place else ", tag='elewise_binary_phony'"
        line = place.format(f"res = tvm.compute(x.shape, lambda *i: ones(*i) + x(*i), name='ones'{tag})")
        text = f"""
    from te.tvm import api as tvm
    from tbe import dsl
    def ones_compute(x):
        ones = dsl.broadcast(tvm.const(1.0, x.dtype), x.shape)
        {line}
        return res
    """
        described = describe_file(tmp_path, text, (3, 4))
        np.testing.assert_array_equal(computed(described, X), np.ones((3, 4)))


def test_scalars_and_memory_of_inputs(tmp_path) -> None:
    text = """
    import te.lang.cce
    from te import tvm
    from topi import generic
    from topi.cce import util
    from impl.util.fusion_util import reuse_input_as_output
    from impl.util.platform_adapter import para_check, tbe_platform, tbe_register
    from impl.tik_part import something_unused

    NoneType = para_check.NONE_TYPE
    assert para_check.is_scalar((1,)) and para_check.is_scalar(()) and not para_check.is_scalar((1, 1))
    WIDTH = tbe_platform.VECTOR_INST_BLOCK_WIDTH // tbe_platform.C0_SIZE
    tvm._ffi.register_func("own.function")(lambda *arguments: None)

    @tbe_platform.fusion_manager.fusion_manager.register("twice_assign")
    def twice_compute(x, y, kernel_name="twice"):
        return te.lang.cce.vmuls(x, tvm.const(2, x.dtype))

    @util.check_input_type(dict, dict, str)
    def twice(x, y, kernel_name="twice"):
        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
        res = twice_compute(data, y)
        with tvm.target.cce():
            sch = generic.auto_schedule(res)
        reuse_input_as_output(data, res, kernel_name)
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, res]})
    """
    assert formula(describe_file(tmp_path, text, (3, 4))) == "y = x*2"


def test_sums_with_the_reductions_own_schedule(tmp_path) -> None:
    text = """
    import te.lang.cce
    from te import tvm
    from te.platform.cce_build import build_config

    def row_sums(x, first, second, kernel_name="row_sums"):
        data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
        results = [te.lang.cce.sum(data, [1], True), te.lang.cce.sum(te.lang.cce.vmul(data, data), [1], True)]
        from impl.bn_training_reduce import bn_training_reduce_schedule_nd
        sch, tensors = bn_training_reduce_schedule_nd(results)
        with build_config():
            tvm.build(sch, tensors, "cce", name=kernel_name)
    """
    first, second = computed(describe_file(tmp_path, text, (3, 4)), X)
    np.testing.assert_allclose(first, X.sum(1, keepdims=True))
    np.testing.assert_allclose(second, (X * X).sum(1, keepdims=True))


def test_eight_bit_numbers_wrap(tmp_path) -> None:
    text = """
    import tbe.dsl as tbe
    from impl.util import util_common
    def wrap_compute(x):
        return util_common.uint8_int8_overflow_proc(tbe.cast_to(x, "float16"), "int8")
    """
    values = np.array([-300, -129, -128, 0, 127, 128, 300])
    described = describe_file(tmp_path, text, (7,), types="int32")
    np.testing.assert_array_equal(computed(described, values), values.astype(np.int8))


def test_axes_of_five_dimensions() -> None:
    from ascend_ep.frontends.tbe.toolkit.shapes import axis_transform_5d

    assert [axis_transform_5d(a, "NCHW") for a in range(-4, 4)] == [-5, -4, -3, -2, 0, 1, 2, 3]
    assert [axis_transform_5d(a, "NHWC") for a in range(-4, 4)] == [-5, -3, -2, -4, 0, 2, 3, 1]


def test_a_neighbour_comes_before_a_stand_in(tmp_path) -> None:
    """impl.util.own is the file's own; of another package only the names aren't known."""
    folder = tmp_path / "impl" / "util"
    folder.mkdir(parents=True)
    (folder / "own_tools.py").write_text("def half(x):\n    return x * 0.5\n")
    text = """
    from .util import own_tools
    from impl.util.own_tools import half
    import impl.nothing.there as nothing
    def halved_compute(x):
        return own_tools.half(half(x))
    """
    assert formula(describe_file(tmp_path, text, (3, 4), name="impl/halved.py")) == "y = x*0.5*0.5"

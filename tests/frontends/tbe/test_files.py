"""Whole files in the styles that public ones have: what they become."""

from __future__ import annotations

import numpy as np
import pytest
from tbe_files import BINARY, computed, describe_file, formula

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.output_types import infer

FLOATS = (dtypes.FLOAT32, dtypes.FLOAT16)


def test_documents_swish(tmp_path) -> None:
    """The document's listing as it stands, with a number where the real DSL wants a tensor."""
    text = """
    # ops-nn/generated/swish.py
    from te import tvm
    from te.lang.cce import vexp, vmuls, vadds, vdiv
    def swish_compute(x):
        dtype = x.dtype
        shape = x.shape
        # -x
        neg_x = vmuls(x, tvm.const(-1.0, dtype))
        # exp(-x)
        exp_neg_x = vexp(neg_x)
        # 1 + exp(-x)
        one = tvm.const(1.0, dtype)
        denom = vadds(exp_neg_x, one)
        # sigmoid = 1 / (1 + exp(-x))
        sigmoid_x = vdiv(one, denom)
        # swish = x * sigmoid(x)
        swish_out = tvm.compute(shape, lambda *i: x(*i) * sigmoid_x(*i), name="swish_out")
        return [swish_out]
    """
    described = describe_file(tmp_path, text, (1, 512), name="swish.py")
    assert (described.opdef.op, formula(described)) == ("Swish", "y = x*(1/(exp(-x) + 1))")
    assert described.kind == "TBE DSL"
    (warning,) = described.warnings
    assert warning.startswith("line 16: vdiv takes two tensors, one is a number")
    assert "vdiv(broadcast(number, shape), tensor)" in warning
    assert described.opdef.inputs[0].types == (*FLOATS, dtypes.BFLOAT16)


def test_documents_prelu(tmp_path) -> None:
    text = """
    from te import tvm
    def prelu_compute(x, alpha):
        return tvm.compute(
            x.shape,
            lambda *i: tvm.select(x(*i) > 0, x(*i), alpha * x(*i))
        )
    """
    described = describe_file(tmp_path, text, (4, 33), (33,))
    assert formula(described) == "y = where(x > 0, x, alpha*x)"
    assert "alpha stands without indices" in described.warnings[0]


def test_documents_build_script(tmp_path) -> None:
    """compile_aigc_kernel beside the compute: the build it makes is noted, its .o isn't written."""
    text = """
    import tvm
    from te import tvm as te_tvm
    from te.lang.cce import vexp
    from ops_nn.auto_kernel import auto_schedule
    def compile_aigc_kernel(compute_func, input_shape, dtype="float16"):
        X = tvm.placeholder(input_shape, name="X", dtype=dtype)
        outs = compute_func(X)
        s = auto_schedule(outs, target="Ascend910")
        with tvm.target.ascend():
            func = tvm.build(s, [X] + outs, "cce", name="aigc_swish")
        func.export_library("aigc_swish.o")
        print("done: aigc_swish.o")
        return func
    compile_aigc_kernel(lambda x: [vexp(x)], (1, 512))
    """
    described = describe_file(tmp_path, text, (1, 512), types="float16")
    assert (described.opdef.op, formula(described)) == ("AigcSwish", "y = exp(X)")
    assert any("export_library('aigc_swish.o') writes nothing" in w for w in described.warnings)
    assert "the file printed: done: aigc_swish.o" in described.warnings
    assert not list(tmp_path.glob("*.o"))


def test_a_broadcasting_operator(tmp_path) -> None:
    text = BINARY.format(body="res = tbe.vmul(tbe.vadd(first, second), first)")
    described = describe_file(tmp_path, text, (4, 33), (33,), name="mixed.py")
    assert (described.opdef.op, formula(described)) == ("Mixed", "out = (first + second)*first")
    assert not described.warnings
    assert described.opdef.inputs[0].types == FLOATS  # what check_dtype lets through
    assert infer(described.opdef, [(1, (2, 1, 5)), (1, (7, 1))], {})[0][1] == (2, 7, 5)


def test_the_style_of_the_older_packages(tmp_path) -> None:
    """te.lang.cce, topi's auto_schedule, dimensions merged into one for the placeholder."""
    text = '''
    from functools import reduce as functools_reduce
    import te.lang.cce
    from te import tvm
    from te.platform.fusion_manager import fusion_manager
    from te.platform.cce_build import build_config
    from topi import generic
    from topi.cce import util

    LIMIT = 1 << 31

    @fusion_manager.register("bent")
    def bent_compute(data, out, steepness, kernel_name="bent"):
        inner = te.lang.cce.vadds(te.lang.cce.vmul(data, data), tvm.const(1.0, data.dtype))
        return te.lang.cce.vmuls(te.lang.cce.vsqrt(inner), tvm.const(steepness, data.dtype))

    @util.check_input_type(dict, dict, float, str)
    def bent(data, out, steepness=0.5, kernel_name="bent"):
        """A hyperbola."""
        shape = data.get("shape")
        util.check_kernel_name(kernel_name)
        util.check_shape_rule(shape)
        util.check_tensor_shape_size(shape, LIMIT)
        util.check_dtype_rule(data.get("dtype"), ["float16", "float32"])
        flat = [functools_reduce(lambda a, b: a * b, shape)]
        tensor = tvm.placeholder(flat, name="data", dtype=data.get("dtype").lower())
        res = bent_compute(tensor, out, steepness, kernel_name)
        with tvm.target.cce():
            sch = generic.auto_schedule(res)
        with build_config():
            config = {"print_ir": False, "name": kernel_name, "tensor_list": [tensor, res]}
            te.lang.cce.cce_build_code(sch, config)
    '''
    described = describe_file(tmp_path, text, (3, 4, 5))
    assert (described.opdef.op, formula(described)) == ("Bent", "out = sqrt(data*data + 1)*steepness")
    assert (described.opdef.doc, described.warnings) == ("A hyperbola.", ())
    assert described.opdef.attributes[0].default == 0.5
    x = np.linspace(-2, 2, 7)
    np.testing.assert_allclose(computed(described, x, steepness=3.0), np.sqrt(x * x + 1) * 3)


def test_run_time_shapes(tmp_path) -> None:
    """classify, variable_shape, lists of schedules and tensors."""
    text = """
    from impl.util.platform_adapter import tbe, tvm, para_check, shape_util, classify, OpPatternMode
    from impl.util.platform_adapter import register_operator, register_operator_compute, tbe_platform

    def op_select_format(x, axis_sum, axes, kernel_name="norm_sum"):
        return "{}"

    @register_operator_compute("NormSum", op_mode="dynamic", support_fusion=False)
    def norm_sum_compute(x, y, axes, kernel_name="norm_sum"):
        if x.dtype == "float16" and tbe_platform.api_check_support("tbe.dsl.reduce_sum", "float32"):
            wide = tbe.cast_to(x, "float32")
        else:
            wide = x
        return tbe.cast_to(tbe.reduce_sum(tbe.vmul(wide, wide), axis=axes, keepdims=True), x.dtype)

    @register_operator("NormSum")
    @para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT,
                                para_check.OPTION_ATTR_LIST_INT, para_check.KERNEL_NAME)
    def norm_sum(x, y, axes=(-1,), kernel_name="norm_sum"):
        para_check.check_dtype(x["dtype"].lower(), ("float16", "float32", "bfloat16"), param_name="x")
        x["rel_pos_to_reduce"] = "before"
        positive = shape_util.axis_check(len(x["shape"]), list(axes))
        where = {"shape": [len(positive)], "value": positive, "rel_pos_to_reduce": "axis"}
        schedules, tensors = [], []
        for one, places in classify([x, where], OpPatternMode.REDUCE, {"keepdims": True}):
            with tbe.compute():
                shape = shape_util.variable_shape([one, places], op_mode="reduce")[0]
                data = tvm.placeholder(shape, name="data", dtype=x["dtype"].lower())
                res = norm_sum_compute(data, y, places.get("value"))
                tensors.append([data, res])
            with tvm.target.cce():
                schedules.append(tbe.auto_schedule(res))
        tbe.build(schedules, {"name": kernel_name, "tensor_list": tensors})
    """
    described = describe_file(tmp_path, text, (4, 33), types="float16")
    assert (described.opdef.op, formula(described)) == ("NormSum", "y = sum(x*x, axis=-1)")
    assert described.opdef.inputs[0].types == (*FLOATS, dtypes.BFLOAT16)
    both = describe_file(tmp_path, text, (4, 33), axes="[0, 1]")
    x = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_allclose(computed(both, x), (x * x).sum(keepdims=True))


def test_mindspore_registration(tmp_path) -> None:
    text = """
    import te.lang.cce
    from te import tvm
    from topi import generic
    from mindspore.ops import op_info_register, TBERegOp, DataType

    cube_info = TBERegOp("CusCube").fusion_type("OPAQUE").async_flag(False).binfile_name("cube.so") \\
        .compute_cost(10).kernel_name("CusCubeImpl").partial_flag(True) \\
        .attr("scale", "optional", "float", "all") \\
        .input(0, "x", False, "required", "all").output(0, "y", False, "required", "all") \\
        .dtype_format(DataType.F32_Default, DataType.F32_Default) \\
        .dtype_format(DataType.F16_5HD, DataType.F16_5HD).get_op_info()

    @op_info_register(cube_info)
    def CusCubeImpl(x, y, scale=1.0, kernel_name="CusCubeImpl"):
        data = tvm.placeholder(x.get("shape"), name="data", dtype=x.get("dtype").lower())
        with tvm.target.cce():
            cube = te.lang.cce.vmul(te.lang.cce.vmul(data, data), data)
            res = te.lang.cce.vmuls(cube, scale)
            sch = generic.auto_schedule(res)
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, res]})
    """
    described = describe_file(tmp_path, text, (8, 8), name="square_impl.py")
    assert (described.opdef.op, formula(described)) == ("CusCube", "y = x*x*x*scale")


def test_two_outputs_and_a_parameter_placed_among_ones(tmp_path) -> None:
    """A per-channel input of one dimension, declared as [1, C, 1, 1]."""
    text = """
    import te.lang.cce
    from te import tvm
    from topi import generic

    def channels(x, scale, shifted, total, kernel_name="channels"):
        shape = x.get("shape")
        data = tvm.placeholder(shape, name="x", dtype=x["dtype"])
        factor = tvm.placeholder([1, scale["ori_shape"][0], 1, 1], name="scale", dtype=x["dtype"])
        wide = te.lang.cce.broadcast(factor, te.lang.cce.util.shape_to_list(data.shape))
        first = te.lang.cce.vmul(data, wide)
        second = te.lang.cce.sum(first, [0, 2, 3], False)
        with tvm.target.cce():
            sch = generic.auto_schedule([first, second])
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [data, factor, first, second]})
    """
    described = describe_file(tmp_path, text, (2, 3, 4, 5), (3,))
    x, scale = np.random.default_rng(1).normal(size=(3, 2, 5, 2)), np.array([2.0, -1.0])
    first, second = computed(described, x, scale)
    np.testing.assert_allclose(first, x * scale[:, None, None])
    np.testing.assert_allclose(second, (x * scale[:, None, None]).sum((0, 2, 3)))
    assert [t.name for t in described.opdef.outputs] == ["shifted", "total"]


def test_integers_out(tmp_path) -> None:
    text = BINARY.format(body='res = tbe.cast_to(tbe.vcmp(first, second, "ge", "bool"), "int8")')
    described = describe_file(tmp_path, text, (4, 33), (4, 33))
    assert described.opdef.outputs[0].types == (dtypes.INT8,)
    assert described.opdef.inputs[0].types == FLOATS
    np.testing.assert_array_equal(computed(described, np.array([1.0, 3.0]), np.array([2.0, 2.0])), [0, 1])


@pytest.mark.parametrize(
    "style", ["from te import tvm", "import tbe.dsl as tbe", "  from topi import generic"]
)
def test_a_file_is_known_by_its_imports(style: str) -> None:
    from ascend_ep.frontends.tbe.detection import is_tbe

    assert is_tbe(f'"""A kernel."""\nimport math\n{style}\n')
    assert not is_tbe(
        "import torch, tensorflow\nfrom math import exp\n# from te import tvm\ndef f(x): return x\n"
    )


def test_parameters_told_by_their_types(tmp_path) -> None:
    text = """
    from tbe import dsl, tvm
    from tbe.common.utils import para_check

    @para_check.check_op_params(dict, (dict, list), dict, str, str)
    def apart(first, second, out, mode="plain", kernel_name="apart"):
        a, b = (tvm.placeholder(t["shape"], name="t", dtype=t["dtype"]) for t in (first, second))
        res = dsl.vsub(a, b)
        dsl.build(dsl.auto_schedule(res), {"name": kernel_name, "tensor_list": [a, b, res]})
    """
    described = describe_file(tmp_path, text, (4, 33), (4, 33))
    assert formula(described) == "out = first - second"
    assert [(a.name, a.type) for a in described.opdef.attributes] == [("mode", "string")]

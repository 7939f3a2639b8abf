"""Files for the tests, and what an operator described by one computes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep.frontends.description import describe
from ascend_ep.frontends.interface import Described
from ascend_ep.frontends.tbe.layouts import Layout
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.reference import evaluate


def describe_file(
    folder: Path,
    text: str,
    *shapes: tuple[int, ...],
    name: str = "operator.py",
    types: str = "",
    layouts: tuple[Layout, ...] = (),
    **attributes: Any,
) -> Described:
    """The operator of a file with this text, recorded for these shapes; types: one per input, or float32."""
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    kinds = types.split() or ["float32"] * len(shapes)
    inputs = [(dtypes.NUMBERS[k], s) for k, s in zip(kinds, shapes, strict=True)]
    return describe(str(path), attributes=attributes, inputs=inputs, layouts=layouts)


def computed(described: Described, *arrays: Any, **attributes: Any) -> Any:
    """The operator's outputs in float64; a single one by itself."""
    results = evaluate(described.opdef, [np.asarray(a) for a in arrays], attributes)
    return results[0] if len(results) == 1 else results


def formula(described: Described) -> str:
    return described.opdef.semantics.text


#: An operator of two inputs in the style of public files; `body` computes `res`.
BINARY = """
    import tbe.dsl as tbe
    from tbe import tvm
    from tbe.common.register import register_op_compute
    from tbe.common.utils import para_check
    from tbe.common.utils import shape_util


    @register_op_compute("Mixed", op_mode="static", support_fusion=True)
    def mixed_compute(first, second, out, kernel_name="mixed"):
        _, _, wide = shape_util.broadcast_shapes(
            shape_util.shape_to_list(first.shape), shape_util.shape_to_list(second.shape),
            param_name_input1="first", param_name_input2="second")
        first = tbe.broadcast(first, wide)
        second = tbe.broadcast(second, wide)
        {body}
        return res


    @para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.REQUIRED_INPUT,
                                para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME)
    def mixed(first, second, out, kernel_name="mixed"):
        kind = first.get("dtype").lower()
        para_check.check_dtype(kind, ("float16", "float32"), param_name="first")
        shape_a, shape_b, _ = shape_util.broadcast_shapes(first.get("shape"), second.get("shape"))
        a = tvm.placeholder(shape_a, name="a", dtype=kind)
        b = tvm.placeholder(shape_b, name="b", dtype=kind)
        res = mixed_compute(a, b, out, kernel_name)
        with tvm.target.cce():
            schedule = tbe.auto_schedule(res)
        tbe.build(schedule, {{"name": kernel_name, "tensor_list": [a, b, res]}})
"""

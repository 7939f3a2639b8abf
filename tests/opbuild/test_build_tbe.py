"""ascend-op build of TBE files: from the file to a proven operator in a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from build_commands import Run

from ascend_ep.errors import AscendError
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.reference import evaluate

pytestmark = pytest.mark.usefixtures("compiler")

SWISH = """
from te import tvm
from te.lang.cce import vexp, vmuls, vadds, vdiv
def swish_compute(x):
    one = tvm.const(1.0, x.dtype)
    sigmoid_x = vdiv(one, vadds(vexp(vmuls(x, tvm.const(-1.0, x.dtype))), one))
    return [tvm.compute(x.shape, lambda *i: x(*i) * sigmoid_x(*i), name="swish_out")]
"""
SCALED = """
import tbe.dsl as tbe
from tbe import tvm
def scaled(x, y, axes=(-1,), power=1, kernel_name="scaled"):
    data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
    total = tbe.broadcast(tbe.reduce_sum(data, axis=axes, keepdims=True), x["shape"])
    res = data
    for _ in range(power):
        res = tbe.vmul(res, total)
    with tvm.target.cce():
        sch = tbe.auto_schedule(res)
    tbe.build(sch, {"name": kernel_name, "tensor_list": [data, res]})
"""


def test_the_documents_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "swish.py"
    file.write_text(SWISH)
    status, out, err = run(
        "build", file, "--input_shape", "[1, 512]", "--search=0", "--output", tmp_path / "o"
    )
    assert status == 0, err
    assert "expression: Swish(x), from TBE DSL" in out
    assert "warning: line 6: vdiv takes two tensors, one is a number" in out
    (opdef,) = load_definitions(tmp_path / "o" / "swish.json")
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(evaluate(opdef, [x])[0], x / (1 + np.exp(-x)))
    status, out, _ = run("verify", tmp_path / "o" / "swish.json")
    assert (status, "proof holds" in out) == (0, True)


def test_attributes_that_the_file_reads(run: Run, tmp_path: Path) -> None:
    """A list, and a number that says how often something is done: the definition is for these."""
    file = tmp_path / "scaled.py"
    file.write_text(SCALED)
    command = ("build", file, "--input_shape", "[4,6]", "--search=0", "--output", tmp_path)
    status, out, err = run(*command, "--attr", "axes=[1]", "--attr", "power=2")
    assert status == 0, err
    assert "the operator is for power=2 only" in out
    (opdef,) = load_definitions(tmp_path / "scaled.json")
    x = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_allclose(evaluate(opdef, [x])[0], x * x.sum(1, keepdims=True) ** 2)


def test_errors_have_the_files_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "swish.py"
    file.write_text(SWISH.replace("vexp(vmuls", "vexpm(vmuls"))
    status, _, err = run("build", file, "--input_shape", "[4]", "--output", tmp_path)
    assert status != 0
    assert f"E42111 {file}:6: The TBE file failed: NameError: name 'vexpm' is not defined" in err
    assert "^^^^^" in err
    assert "Traceback" not in err


BY_SHAPE = """
import te.lang.cce as dsl
from te import tvm
def by_shape(x, bias, y, kernel_name="by_shape"):
    a = tvm.placeholder(x["shape"], name="a", dtype=x["dtype"])
    b = tvm.placeholder(bias["shape"], name="b", dtype=x["dtype"])
    res = dsl.vadd(dsl.vmuls(a, float(x["shape"][0] ** 3 + 1)), b)
    sch = dsl.auto_schedule(res)
    dsl.cce_build_code(sch, {"name": kernel_name, "tensor_list": [a, b, res]})
"""


@pytest.mark.parametrize(
    ("shapes", "form", "wrong"),
    [("[3,3];[3,3]", "", (2, 3)), ("[2,2,3,2,16];[1,2,1,1,16]", "NC1HWC0", (2, 2, 3, 16))],
)
def test_an_operator_for_some_shapes_is_proven(run: Run, tmp_path: Path, shapes, form, wrong) -> None:
    """The code is the formula's for every shape and is proven with them; the definition keeps to its own."""
    file = tmp_path / "by_shape.py"
    file.write_text(BY_SHAPE if not form else BY_SHAPE.replace("** 3 + 1", "* 0"))
    command = ["build", file, "--input_shape", shapes, "--search=0", "--ascend_c=0", "--output", tmp_path]
    status, out, err = run(*command, *(["--format", form] if form else []))
    assert status == 0, err
    assert "the operator is for" in out
    (opdef,) = load_definitions(tmp_path / "by_shape.json")
    with pytest.raises(AscendError, match=r"E41011.*input \[x\] must have the shape"):
        evaluate(opdef, [np.zeros(wrong), np.zeros(wrong)])

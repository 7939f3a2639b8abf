"""The documents' examples, built and proven through the command line, and what their libraries compute."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from build_commands import Run

from ascend_ep.codegen.library_call import run_library
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opdef.loader import load_definitions

pytestmark = pytest.mark.usefixtures("compiler")

Arrays = list[np.ndarray]
ERF = np.vectorize(math.erf)


def swish(x: np.ndarray) -> Arrays:
    return [x / (1 + np.exp(-x))]


def prelu(x: np.ndarray, alpha: np.ndarray) -> Arrays:
    return [np.where(x > 0, x, alpha * x)]


def gelu_tanh(x: np.ndarray) -> Arrays:
    return [0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))]


def layer_norm_gelu(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> Arrays:
    mean = x.mean(-1, keepdims=True)
    z = (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b
    return [0.5 * z * (1 + ERF(z / np.sqrt(2)))]


def rms_norm(x: np.ndarray, w: np.ndarray) -> Arrays:
    return [x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * w]


def swiglu(x: np.ndarray, g: np.ndarray) -> Arrays:
    return [x * g / (1 + np.exp(-g))]


def topk(x: np.ndarray) -> Arrays:
    order = np.argsort(-x, axis=-1, kind="stable")[..., :10]
    return [np.take_along_axis(x, order, -1), order]


TBE = """\
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
NORM = "(x - mean(x))/sqrt(var(x) + 1e-5)*w + b"
Example = tuple[str, str, str, Callable[..., Arrays], tuple[str, ...]]
EXAMPLES: dict[str, Example] = {
    "formula": ("Swish(x) = x * sigmoid(x)", "[1,512]", "Swish", swish, ("--ascend_c=1",)),
    "where": ("Swish(x) = x * σ(x), where σ(x) = 1 / (1 + exp(-x))", "[1,512]", "Swish", swish, ()),
    "其中": ("Swish(x) = x * σ(x),其中 σ(x) = 1 / (1 + exp(-x))", "[1,512]", "Swish", swish, ()),
    "def": ("def swish(x):\n    return x * torch.sigmoid(x)", "[1,512]", "Swish", swish, ("--search=0.5",)),
    "def as printed": ("def swish(x):\nreturn x * torch.sigmoid(x)", "[1,512]", "Swish", swish, ()),
    "TBE file": (TBE, "[1,512]", "Swish", swish, ("--dtype", "float16")),
    "PReLU": ("PReLU(x, alpha) = x if x > 0 else alpha * x", "[4,33];[33]", "PReLU", prelu, ()),
    "PReLU as printed": (
        "实现 PReLU: y = x if x > 0 else alpha * x,alpha 为可学习参数",
        "[4,33];[33]",
        "PReLU",
        prelu,
        (),
    ),
    "TopK": ("def top_k(x):\n    return torch.topk(x, 10)", "[4,512]", "TopK", topk, ()),
    "GELU": (
        "GELU(x) = 0.5*x*(1 + tanh(sqrt(2/π)*(x + 0.044715*x³)))",
        "[8,512]",
        "GELU",
        gelu_tanh,
        (),
    ),
    "LayerNorm+GELU": (
        f"LayerNormGelu(x, w, b) = 0.5*z*(1 + erf(z/√2)), where z = {NORM}",
        "[8,512];[512];[512]",
        "LayerNormGelu",
        layer_norm_gelu,
        (),
    ),
    "RMSNorm": (
        "RMSNorm(x, w) = x / sqrt(mean(x^2) + 1e-6) * w",
        "[4,128];[128]",
        "RMSNorm",
        rms_norm,
        ("--soc_version", "Ascend310P3"),
    ),
    "SwiGLU": (
        "SwiGLU(x, g) = x * g * sigmoid(g)",
        "[4,128];[4,128]",
        "SwiGLU",
        swiglu,
        ("--dtype", "bfloat16"),
    ),
}


#: tests/opgen has the Ascend C of reductions, "formula" what a proof of it says.
EXAMPLES["LayerNorm+GELU in Ascend C"] = (*EXAMPLES["LayerNorm+GELU"][:-1], ("--ascend_c=1",))
SLOW = {"LayerNorm+GELU in Ascend C"}
#: One of each kind of kernel: elementwise, a half type, a reduction, a ranking. The others prove in short.
WHOLE = {"formula", "TBE file", "LayerNorm+GELU", "TopK", *SLOW}


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [mark for mark, of in ((pytest.mark.whole_proof, WHOLE), (pytest.mark.slow, SLOW)) if name in of]


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks(n)) for n in EXAMPLES])
def test_examples(build: Run, tmp_path: Path, name: str) -> None:
    prompt, shapes, op_type, reference, more = EXAMPLES[name]
    given = ("--prompt", prompt)
    if name == "TBE file":
        (tmp_path / "swish.py").write_text(prompt)
        given = (str(tmp_path / "swish.py"),)
    status, out, err = build(*given, "--input_shape", shapes, "--output_name", "built", "--verbose", *more)
    assert status == 0, err
    assert "FAILED" not in out
    with_ascend_c = {"--ascend_c=1", "--search=0.5"} & set(more)
    assert ("execution, Ascend C: ok" in out) == bool(with_ascend_c)
    (opdef,) = load_definitions(tmp_path / "out" / "built.json")
    assert opdef.op == op_type
    dtype = {"float16": 10, "bfloat16": 16}.get(more[-1] if more else "", 1)
    rng = np.random.default_rng(0)
    dims = [json.loads(shape) for shape in shapes.split(";")]
    arrays = [rng.standard_normal(d).astype(numpy_dtype(dtype)) for d in dims]
    library = tmp_path / "out" / "built.so"
    wanted = reference(*(a.astype(np.float64) for a in arrays))
    results = run_library(library, op_type, arrays, len(wanted))
    exact = {1: 1e-5, 10: 2e-3, 16: 2e-2}[dtype]
    for result, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result.astype(np.float64), want, rtol=exact, atol=exact)


@pytest.mark.whole_proof
def test_every_element_type_and_level_is_in_the_proof(build: Run, run: Run, tmp_path: Path) -> None:
    """The built type has all checks; the others are proven numerically, with their own guard pages."""
    arguments = ("--prompt", "Swish(x) = x * sigmoid(x)", "--input_shape", "[1,512]", "--dtype", "float16")
    assert build(*arguments)[0] == 0
    status, out, err = run("verify", str(tmp_path / "out" / "swish.json"))
    assert status == 0, err
    for dtype in ("float16", "float32", "bfloat16"):
        assert f"  {dtype}: ok, " in out
        assert f"  {dtype}: guard pages, order and threads: ok" in out
    assert "ulp where" in out
    levels = [line for line in out.splitlines() if "against the level in use: ok" in line]
    from ascend_ep.opbuild.proof import compilations

    assert len(levels) == len(compilations.levels()) - 1
    for check in ("compiled against interpreted", "AddressSanitizer", "ThreadSanitizer", "strided inputs"):
        assert f"  {check}: " in out

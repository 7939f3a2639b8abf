"""Random formulas: the generated kernel against the reference, on shapes with tails and broadcasts."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from ascend_ep.compiler.ascendc.cpu import compile_for_cpu, compile_many_for_cpu
from ascend_ep.compiler.ascendc.generate import generate_ascend_c
from ascend_ep.compiler.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
#: of bounded arguments and results, so that float32 and float64 stay close through every nesting
UNARY = [
    "tanh({})",
    "sigmoid({})",
    "sin({})",
    "abs({})",
    "-{}",
    "exp(-abs({}))",
    "sqrt(1 + abs({}))",
    "erf({})",
]
BINARY = ["({} + {})", "({} - {})", "tanh({})*tanh({})", "max({}, {})", "min({}, {})", "({}/(1 + abs({})))"]
REDUCTIONS = ["mean({})", "max({})", "min({})", "sqrt(0.1 + var({}))", "tanh(sum({}))"]
CHOICES = ["where({0} > 0, {0}, 0)*{1}", "where(isnan({0}) or {0} == {0}, {1}, {0})"]
LEAVES = ["x", "w", "b", "alpha", "0.5"]


def formula(random, depth):
    def inner():
        return formula(random, depth - 1)

    if depth == 0:
        return random.choice(LEAVES)
    kind = random.random()
    if kind < 0.35:
        return random.choice(UNARY).format(inner())
    if kind < 0.75:
        return random.choice(BINARY).format(inner(), inner())
    if kind < 0.88:
        return random.choice(REDUCTIONS).format(f"(x + {inner()})")
    return random.choice(CHOICES).format(inner(), inner())


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_reference(seed):
    """Several outputs a kernel, each of up to about 20 nodes."""
    random = np.random.default_rng(seed)
    outputs = [f"y{i}" for i in range(4)]
    text = "\n".join(f"{name} = x + 0*w + {formula(random, 4)}" for name in outputs)
    entry = {
        "op": "Random",
        "types": {"T": ["float32"]},
        "inputs": [{"name": n, "type": "T"} for n in "xwb"],
        "outputs": [{"name": n, "type": "T"} for n in outputs],
        "attributes": [{"name": "alpha", "type": "float", "default": 0.75}],
        "formula": text,
    }
    opdef = parse_definitions(json.dumps(entry))[0]
    kernel = compile_for_cpu(generate_ascend_c(opdef, find_soc("Ascend910B1")), opdef)
    arrays = [random.normal(size=s).astype(np.float32) for s in ((3, 5, 301), (5, 1), (301,))]
    expected = evaluate(opdef, [a.astype(np.float64) for a in arrays])
    for chip in ({}, {"ub": 196608 // 4, "cores": 2}):
        for mine, reference in zip(kernel(*arrays, **chip), expected, strict=True):
            # Sums of 301 terms within tanh, and comparisons that rounding turns, aside, errors stay near eps.
            close = np.abs(mine - reference) <= 2e-4 * (1 + np.abs(reference))
            assert close.mean() > 0.999, text


def test_many_kernels_in_one_program():
    """Each is the same as compiled alone, also with equal names; and one that is no C++ is named."""
    kinds = (
        ("x*w + 1", lambda x, w: x * w + 1),
        ("x - w*2", lambda x, w: x - w * 2),
        ("max(x, w)", np.maximum),
    )
    soc = find_soc("Ascend910B1")
    opdefs = [
        parse_definitions(
            json.dumps(
                {
                    "op": "Same",
                    "types": {"T": ["float16", "float32"]},
                    "inputs": [{"name": n, "type": "T"} for n in "xw"],
                    "outputs": [{"name": "y", "type": "T"}],
                    "formula": text,
                }
            )
        )[0]
        for text, _ in kinds
    ]
    wanted = [(generate_ascend_c(o, soc), o, i % 2) for i, o in enumerate(opdefs)]
    arrays = [np.arange(6, dtype=np.float16).reshape(2, 3), np.ones(3, np.float16)]
    for kernel, (_, compute) in zip(compile_many_for_cpu(wanted, per_unit=2), kinds, strict=True):
        np.testing.assert_array_equal(kernel(*arrays)[0], compute(*arrays))
    source, opdef, _ = wanted[0]
    with pytest.raises(AscendError) as caught:
        compile_many_for_cpu(
            [*wanted, (dataclasses.replace(source, kernel=source.kernel + "int = 3;"), opdef, 0)]
        )
    assert caught.value.code == "E43002"

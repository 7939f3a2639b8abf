"""Parts, windows and pooling in pseudo-code, against NumPy's indexing and PyTorch."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opdef.reference import evaluate

rng = np.random.default_rng(3)


def computed(expression: str, *arrays: np.ndarray) -> list[np.ndarray]:
    names = ", ".join("xyz"[: len(arrays)])
    return evaluate(describe(f"def parts({names}):\n    return {expression}\n").opdef, arrays)


def random_index(draw: random.Random, rank: int) -> str:
    """As people write them: slices from either end, steps, places, None, and at most one ..."""
    parts = []
    for _ in range(draw.randrange(1, rank + 1)):
        kind = draw.choice(["slice", "slice", "slice", "place", "all"])
        if kind == "place":
            parts.append(str(draw.randrange(-3, 3)))
            continue
        low, high = draw.choice(["", "0", "1", "-3"]), draw.choice(["", "3", "-1", "40"])
        step = draw.choice(["", "", ":2", ":1", ":3"])
        parts.append(":" if kind == "all" else f"{low}:{high}{step}")
    if draw.random() < 0.4:
        parts.insert(draw.randrange(len(parts) + 1), "...")
    if draw.random() < 0.3:
        parts.insert(draw.randrange(len(parts) + 1), "None")
    return ", ".join(parts)


@pytest.mark.parametrize("seed", range(60))
def test_indexing_is_numpy_s(seed) -> None:
    draw = random.Random(seed)
    rank = draw.randrange(1, 5)
    x = rng.normal(size=draw.choices([4, 5, 7], k=rank))
    index = random_index(draw, rank)
    (got,) = computed(f"x[{index}] * 1.0", x)
    np.testing.assert_array_equal(got, eval(f"x[{index}]", {"x": x}), err_msg=index)


@pytest.mark.parametrize(
    "expression",
    [
        "F.max_pool2d(x, 2)",
        "F.max_pool2d(x, kernel_size=(3, 2), stride=2, padding=1)",
        "F.max_pool2d(x, 3, 1, 0, 2)",
        "F.avg_pool2d(x, 3, stride=1, padding=1)",
        "F.avg_pool2d(x, 2, None)",
        "F.max_pool1d(x[0], 3, 2)",
        "F.avg_pool1d(x[:, 0], 2)",
        "F.avg_pool3d(x, 2)",
        "x.unfold(2, 3, 2).sum(-1)",
        "x.unfold(-1, 2, 1)",
        "torch.stack([x, x * 2], dim=1)",
        "torch.stack((x[0], x[1]))",
        "torch.split(x, [3, 4], dim=-1)[1]",
        "x.split([1, 2], 1)[0] + x.narrow(1, 0, 1)",
        "x.narrow(-1, -3, 3)",
        "(x.unfold(2, 3, 1).unfold(3, 3, 1) * w[:, 0, None, None]).sum((-2, -1))",
    ],
)
def test_functions_are_torch_s(expression) -> None:
    torch = pytest.importorskip("torch")
    x, w = rng.normal(size=(2, 3, 6, 7)), rng.normal(size=(3, 1, 3, 3))
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.tensor(x), "w": torch.tensor(w)}
    wanted = eval(expression, names)
    given = "x, w" if "w[" in expression else "x"
    opdef = describe(f"def parts({given}):\n    return {expression}\n").opdef
    (got,) = evaluate(opdef, [x, w] if "w[" in expression else [x])
    np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("x[::-1]", "a slice goes forwards"),
        ("x[y > 0]", "this can't pick elements of a tensor"),
        ("x[:, :x.shape[1] // 2]", "this can't pick elements of a tensor"),
        ("x[..., 0, ...]", "an index has one ..."),
        ("x.split(3, dim=1)[0]", "split takes the list of sizes"),
        ("torch.stack(x)", "stack takes a list of tensors"),
        ("F.unfold(x, 3)", "F.unfold moves windows into channels"),
        ("F.max_pool2d(x, 2, ceil_mode=True)", "ceil_mode"),
        ("F.avg_pool2d(x, 2, count_include_pad=False)", "without the padding"),
        ("F.max_pool2d(x, (2, 2, 2))", "2 numbers are wanted, or one"),
        ("F.max_pool2d(x)", "the argument kernel_size is missing"),
        ("x.unfold(1, 0, 1)", "a size and a step of 1 or more"),
    ],
)
def test_what_is_refused(expression, reason) -> None:
    given = "x, y" if "y" in expression else "x"
    with pytest.raises(AscendError) as caught:
        describe(f"def parts({given}):\n    return {expression}\n")
    assert reason in str(caught.value)

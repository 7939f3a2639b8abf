"""Registered operators whose shapes depend on the elements of an input: any tensor there gives what
onnxruntime gives, or an AscendError."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper
from torch._dynamo.testing import CompileCounterWithBackend

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.opdef.loader import parse_definitions

X = torch.arange(12, dtype=torch.float32).reshape(3, 4)


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


#: Operands of each operator, and which of them say sizes, counts or axes.
OPERATORS: dict[str, tuple[tuple[torch.Tensor | None, ...], tuple[int, ...]]] = {
    "TopK": ((X, ints(3)), (1,)),
    "Tile": ((X, ints(2, 1)), (1,)),
    "Expand": ((X, ints(2, 3, 4)), (1,)),
    "Reshape": ((X, ints(2, -1)), (1,)),
    "Pad": ((X, ints(1, 0, 0, 2)), (1,)),
    "Slice": ((X, ints(0, 1), ints(2, 4), ints(0, 1), ints(1, 2)), (1, 2, 3, 4)),
    "OneHot": ((ints(0, 2, 1), ints(4), torch.tensor([0.0, 1.0])), (1,)),
    "ConstantOfShape": ((ints(2, 3),), (0,)),
    "Range": ((torch.tensor(1), torch.tensor(7), torch.tensor(2)), (0, 1, 2)),
    "Squeeze": ((X[None], ints(0)), (1,)),
    "Unsqueeze": ((X, ints(0, -1)), (1,)),
    "ReduceSum": ((X, ints(1)), (1,)),
    "CumSum": ((X, torch.tensor(1)), (1,)),
    "CenterCropPad": ((X, ints(2, 6)), (1,)),
    "HannWindow": ((torch.tensor(5),), (0,)),
}
#: What onnxruntime takes and is refused here.
REFUSED = {("TopK", "huge"), ("Squeeze", "longer"), ("ReduceSum", "longer")}


def forms(value: torch.Tensor) -> dict[str, torch.Tensor]:
    """A tensor of values in other types, shapes, layouts, and with other elements."""
    row = value.reshape(-1)
    return {
        "same": value,
        "int32": value.int(),
        "int8": value.to(torch.int8),
        "float": value.float(),
        "bool": value.bool(),
        "complex": value.to(torch.complex64),
        "list": row,
        "scalar": value.reshape(()) if value.numel() == 1 else value,
        "matrix": row.reshape(1, -1),
        "strided": torch.stack([row, row], 1)[:, 0].reshape(value.shape),
        "expanded": row[:1].expand(row.shape),
        "empty": row[:0],
        "longer": torch.cat([row, row]),
        "zero": value * 0,
        "negative": -value - 1,
        "too large": value * 0 + 99,
        "huge": value * 0 + 2**40,
    }


def by_onnxruntime(op: str, operands: list[torch.Tensor | None]) -> list[np.ndarray] | None:
    """None where it refuses."""
    fed = {f"x{i}": t.numpy() for i, t in enumerate(operands) if t is not None}
    names = ["" if t is None else f"x{i}" for i, t in enumerate(operands)]
    outputs = [f"y{i}" for i in range(2 if op == "TopK" else 1)]
    kind = helper.np_dtype_to_tensor_dtype
    inputs = [helper.make_tensor_value_info(n, kind(a.dtype), a.shape) for n, a in fed.items()]
    described = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([helper.make_node(op, names, outputs)], "g", inputs, described)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return [np.asarray(y) for y in session.run(None, fed)]
    except Exception:
        return None


def cases() -> Iterator[tuple[str, int, str, torch.Tensor]]:
    for op, (operands, places) in OPERATORS.items():
        for place in places:
            value = operands[place]
            assert value is not None
            yield from ((op, place, name, form) for name, form in forms(value).items())


@pytest.mark.parametrize("op", OPERATORS)
def test_any_tensor_of_values_is_computed_or_refused(op: str) -> None:
    function = register(op)
    for _, place, name, form in (c for c in cases() if c[0] == op):
        operands: list[Any] = list(OPERATORS[op][0])
        operands[place] = form
        expected = None if name == "huge" and op != "TopK" else by_onnxruntime(op, operands)
        try:
            made = function(*operands)
        except AscendError as error:
            made, refusal = (), str(error)
        else:
            refusal = ""
        assert not refusal or expected is None or (op, name) in REFUSED, (name, refusal)
        assert refusal or name not in ("complex", "float") or op in ("Range", "OneHot"), name
        found = made if isinstance(made, tuple) else (made,)
        for mine, theirs in zip(found, expected or (), strict=False):
            assert mine.shape == theirs.shape, name
            np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-6, atol=1e-6, err_msg=f"{place} {name}")


TRACED = {op: OPERATORS[op][0] for op in ("TopK", "Tile", "Range", "OneHot")}
TRACED["Slice"] = (X, ints(1), ints(3))


@pytest.mark.parametrize("op", TRACED)
def test_opcheck_of_sizes_that_a_trace_does_not_know(op: str) -> None:
    report = torch.library.opcheck(register(op), TRACED[op])
    assert set(report.values()) == {"SUCCESS"}


def test_compiled_functions_take_other_values_without_being_compiled_again() -> None:
    topk, tile = register("TopK"), register("Tile")
    count = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda t, k: topk(t, k)[0] * 2, backend=count, fullgraph=True)
    for k in (3, 1, 2):
        torch.testing.assert_close(compiled(X, ints(k)), torch.topk(X, k).values * 2)
    assert count.frame_count == 1
    constant = torch.compile(lambda t: tile(t, torch.tensor([2, 1])) + 1, backend="eager", fullgraph=True)
    torch.testing.assert_close(constant(X), X.repeat(2, 1) + 1)


def test_values_and_indices_of_a_trace_have_one_size() -> None:
    """Both outputs of TopK can be combined, as they have the same unknown size."""
    topk = register("TopK")

    def both(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        values, indices = topk(x, k)
        return torch.as_tensor(values + indices)

    found = torch.compile(both, backend="eager", fullgraph=True)(X, ints(2))
    values, indices = torch.topk(X, 2)
    torch.testing.assert_close(found, values + indices)


def test_float64_goes_by_values_too() -> None:
    values, indices = register("TopK")(X.double(), ints(2))
    assert values.dtype == torch.float64
    torch.testing.assert_close((values, indices), tuple(torch.topk(X.double(), 2)))


def test_a_users_own_shape_rule_by_values() -> None:
    (opdef,) = parse_definitions(
        '{"op": "Grown", "inputs": [{"name": "x"}, {"name": "n", "type": "int64"}],'
        ' "outputs": [{"name": "y"}], "shape": "x.with_dim(0, value(n))", "kernel": "expand"}'
    )
    fake = torch._subclasses.FakeTensorMode()
    with fake:
        (y,) = (register(opdef)(torch.empty(1, 4), torch.tensor([3])),)
    assert tuple(y.shape) == (3, 4)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e4m3fn])
def test_element_types_that_no_operator_has(dtype: torch.dtype) -> None:
    with pytest.raises(AscendError, match=r"E41011.*no operator takes tensors"):
        register("Swish")(torch.ones(3).to(dtype))

"""Sizes that a trace leaves free stay free through registered functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ascend_ep.frameworks.torch import register, translations

B, N = torch.export.Dim("b"), torch.export.Dim("n")
ROWS = {0: B, 1: N}


class Called(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


#: function of an operator, its operands, their free sizes, and the results' sizes
CASES: dict[str, tuple[Any, tuple[torch.Tensor, ...], tuple[Any, ...], str]] = {
    "Swish": (lambda x: register("Swish")(x, 1.5), (torch.rand(5, 7),), (ROWS,), "b n"),
    "RMSNorm": (register("RMSNorm"), (torch.rand(5, 7), torch.rand(7)), (ROWS, {0: N}), "b n"),
    "SwiGLU": (register("SwiGLU"), (torch.rand(5, 14),), ({0: B, 1: 2 * N},), "b n"),
    "PReLU": (register("PReLU"), (torch.rand(5, 7), torch.rand(7)), (ROWS, {0: N}), "b n"),
    "MatMul": (register("MatMul"), (torch.rand(5, 7), torch.rand(7, 3)), (ROWS, {0: N}), "b 3"),
    "LinearAddGelu": (register("LinearAddGelu"), (torch.rand(5, 7), torch.rand(7, 3)), (ROWS, {0: N}), "b 3"),
    "Flatten": (lambda x: register("Flatten")(x, axis=1), (torch.rand(5, 7, 3),), (ROWS,), "b 3*n"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_export_keeps_free_sizes(case: str) -> None:
    function, tensors, free, wanted = CASES[case]
    program = torch.export.export(Called(function), tensors, dynamic_shapes=(free,))
    (result,) = program.graph_signature.user_outputs
    found = next(n for n in program.graph.nodes if n.name == result).meta["val"].shape
    sizes = [d.node.hint if isinstance(d, torch.SymInt) else d for d in found]
    expected = [eval(t, {"b": 5, "n": 7}) for t in wanted.split()]
    assert sizes == expected
    free_dims = [isinstance(d, torch.SymInt) for d in found]
    assert free_dims == [not t.isdigit() for t in wanted.split()]


def test_onnx_export_names_the_free_sizes_of_the_result() -> None:
    module = Called(lambda x: register("Swish")(x, 1.5) * 2)
    program = torch.onnx.export(
        module,
        (torch.rand(5, 7),),
        dynamo=True,
        dynamic_shapes=((ROWS,),),
        custom_translation_table=translations(),
        verbose=False,
    )
    assert program is not None
    assert [str(d) for d in program.model.graph.outputs[0].shape or ()] == ["b", "n"]


def test_one_graph_serves_every_batch() -> None:
    graphs = []

    def counting(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    norm = register("RMSNorm")
    compiled = torch.compile(lambda x, w: norm(x, w) * 2, backend=counting, dynamic=True)
    weight = torch.rand(7)
    for rows in range(2, 8):
        x = torch.rand(rows, 7)
        torch.testing.assert_close(compiled(x, weight), 2 * norm(x, weight))
    assert len(graphs) == 1

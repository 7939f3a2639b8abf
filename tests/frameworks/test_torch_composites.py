"""A conversion looks PyTorch's composite operators up once, and leaves PyTorch as it was."""

from __future__ import annotations

import pytest
import torch
from torch._export import utils

import ascend_ep
from ascend_ep.frameworks.torch.graph_program import converted


def test_once_a_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, calls = utils._materialize_cpp_cia_ops, []

    def look_up() -> None:
        calls.append(1)
        usual()

    monkeypatch.setattr(utils, "_materialize_cpp_cia_ops", look_up)
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(1, 3),))
    for convert in (converted, ascend_ep.convert):
        calls.clear()
        convert(program)
        assert len(calls) == 1
        assert utils._materialize_cpp_cia_ops is look_up
    calls.clear()
    program.run_decompositions()
    assert len(calls) > 10  # elsewhere once for each namespace

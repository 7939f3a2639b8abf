"""Exported programs of PyTorch (`torch.export.export`) as bundles: to call in this process, and as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.extras import named
from ascend_ep.frameworks.torch.graph_program import Unsupported, converted
from ascend_ep.frameworks.torch.tensors import array_of, tensor_of
from ascend_ep.runtime.session import InferenceSession


class CompiledProgram:
    """An exported program as one bundle: called as the module it was exported from. Free sizes are free."""

    def __init__(self, exported: Any, search_seconds: float | None = None) -> None:
        self.exported = exported
        try:
            self.conversion = converted(exported, _inputs(exported), search_seconds=search_seconds)
        except Unsupported as error:
            fix = "torch.compile(backend='ascend') leaves such operators to PyTorch."
            raise AscendError("E40001", f"the program can't be a bundle: {error}", fix=fix) from error
        self.session = InferenceSession(self.conversion.to_bytes())
        self.names = [i.name for i in self.session.get_inputs()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The module's results. Raises AscendError for tensors that the program isn't for."""
        import torch.utils._pytree as pytree

        made = [tensor_of(y) for y in self.session.run(None, self._fed(args, kwargs))]
        return pytree.tree_unflatten(made, self.exported.call_spec.out_spec)

    def _fed(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        import torch
        import torch.utils._pytree as pytree

        given, spec = pytree.tree_flatten((tuple(args), kwargs))
        expected = self.exported.call_spec.in_spec
        if spec != expected:
            raise AscendError("E40001", f"the arguments are {spec}, not {expected}")
        names = self.exported.graph_signature.user_inputs
        tensors = dict(zip(names, given, strict=True))
        return {n: array_of(t) for n, t in tensors.items() if n in self.names and isinstance(t, torch.Tensor)}

    def save(self, path: str | Path) -> None:
        """Writes the bundle: `m.om` for ascend-om, the runtime, the server and C programs."""
        self.conversion.write(Path(path))


def _inputs(exported: Any) -> list[str]:
    """The names of the tensors that a call gives."""
    import torch

    kinds = {n.name: n.meta.get("val") for n in exported.graph.nodes if n.op == "placeholder"}
    return [n for n in exported.graph_signature.user_inputs if isinstance(kinds.get(n), torch.Tensor)]


@named("torch")
def compile(exported: Any, *, search_seconds: float | None = None) -> CompiledProgram:
    """The program as a bundle in memory, to call or to save. `search_seconds`: how long schedules of each
    operator's code are tried; None: $ASCEND_EP_SEARCH.

    Raises AscendError E40001 where torch.onnx has no translation of an operator.
    """
    return CompiledProgram(exported, search_seconds)

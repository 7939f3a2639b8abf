"""Python's numbers in graphs of float64. torch.onnx makes float32 of one that meets no tensor at once, and
casts that to float64: half of its digits are gone. Here such a constant has all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

#: The exporter's own function; of 2.6 to 2.13, at least.
MAKER = "_get_or_create_constant"


class DoubleNumbers:
    """The numbers that one export made constants of."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Any, Any]] = {}  # by the identity of the constant, which is kept with it

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Exports in here are noted; one thread at a time."""
        from torch.onnx._internal.exporter import _building

        make = getattr(_building, MAKER, None)
        if make is None:  # of another release: first results say what it rounds
            yield
            return

        def noted(farm: Any, number: Any, *how: Any) -> Any:
            constant = make(farm, number, *how)
            if isinstance(number, float):
                self._of[id(constant)] = constant, number
            return constant

        setattr(_building, MAKER, noted)
        try:
            yield
        finally:
            setattr(_building, MAKER, make)

    def restore(self, model: Any) -> None:
        """Casts of such constants to float64 become constants of float64; the graph isn't optimised yet."""
        import onnx_ir

        double = onnx_ir.DataType.DOUBLE
        for node in [
            n for n in model.graph.all_nodes() if n.op_type in ("Cast", "CastLike") and not n.domain
        ]:
            found = self._of.get(id(node.inputs[0]))
            if found is None or _type_after(node) != double:
                continue
            value = onnx_ir.Value(name=f"{node.outputs[0].name}_float64")
            constant = onnx_ir.node(
                "Constant",
                [],
                {"value": onnx_ir.tensor(found[1], dtype=double)},
                outputs=[value],
            )
            node.graph.insert_before(node, constant)
            node.outputs[0].replace_all_uses_with(value, replace_graph_outputs=True)


def _type_after(node: Any) -> Any:
    """Of a cast; None where it isn't known."""
    if node.op_type == "Cast":
        return node.attributes["to"].as_int()
    return node.inputs[1].dtype

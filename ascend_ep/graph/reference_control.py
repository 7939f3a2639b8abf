"""Loop and Scan in full: onnx.reference has them for whole axes 0, one direction and outputs of one dim."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference.op_run import OpRun


class _Body(OpRun):
    def need_context(self) -> bool:
        return True

    def _graph(self) -> onnx.GraphProto:
        graph: onnx.GraphProto = next(a.g for a in self.onnx_node.attribute if a.name == "body")
        return graph

    def _results(self, given: dict[str, Any], context: Any, attributes: Any) -> list[Any]:
        """The results of one round of the body, for these inputs of its own."""
        return list(self._run_body({**(context or {}), **given}, attributes=attributes))  # type: ignore[attr-defined]

    def _stacked(self, output: int, parts: list[Any], axis: int = 0) -> Any:
        """What every round gave as one array along a new axis; of no rounds, of the declared sizes."""
        if parts:
            return np.stack(parts, axis=axis)
        kind = self._graph().output[output].type.tensor_type
        shape = [d.dim_value for d in kind.shape.dim]
        shape.insert(axis % (len(shape) + 1), 0)
        return np.zeros(
            shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type or onnx.TensorProto.DOUBLE)
        )


class Loop(_Body):
    def _run(
        self, trips: Any, more: Any, *states: Any, context: Any = None, attributes: Any = None, **_: Any
    ) -> tuple[Any, ...]:
        names = [value.name for value in self._graph().input]
        limit = None if trips is None else int(np.asarray(trips).reshape(()))
        wanted = True if more is None else bool(np.asarray(more).reshape(()))
        current, count = list(states), len(names) - 2
        parts: list[list[Any]] = [[] for _ in self._graph().output[1 + count :]]
        turn = 0
        while wanted and (limit is None or turn < limit):
            given = [np.array(turn, np.int64), np.array(True), *current]
            results = self._results(dict(zip(names, given, strict=True)), context, attributes)
            wanted, current = bool(np.asarray(results[0]).reshape(())), results[1 : 1 + count]
            for part, result in zip(parts, results[1 + count :], strict=True):
                part.append(result)
            turn += 1
        return (*current, *(self._stacked(1 + count + i, part) for i, part in enumerate(parts)))


class Scan(_Body):
    """Of opset 9 and later, and of opset 8, where every operand has a batch before its axis."""

    def _run(
        self, *operands: Any, context: Any = None, attributes: Any = None, num_scan_inputs: int = 0, **a: Any
    ) -> tuple[Any, ...]:
        if self.run_params["opsets"].get("", 9) >= 9:
            return self._scanned(operands, num_scan_inputs, context, attributes, a)
        lengths, *rest = operands
        a = {"scan_input_directions": a.get("directions")}
        rows = []
        for row in range(rest[-1].shape[0]):
            parts = [operand[row] for operand in rest]
            if lengths is not None:
                parts[-num_scan_inputs:] = [p[: lengths[row]] for p in parts[-num_scan_inputs:]]
            rows.append(self._scanned(parts, num_scan_inputs, context, attributes, a))
        return tuple(np.stack(results) for results in zip(*rows, strict=True))

    def _scanned(
        self, operands: Any, scans: int, context: Any, attributes: Any, a: dict[str, Any]
    ) -> tuple[Any, ...]:
        names = [value.name for value in self._graph().input]
        count = len(operands) - scans
        current, sliced = list(operands[:count]), list(operands[count:])
        for i, operand in enumerate(sliced):
            sliced[i] = _directed(np.moveaxis(operand, _at(a, "scan_input_axes", i), 0), a, "input", i)
        parts: list[list[Any]] = [[] for _ in self._graph().output[count:]]
        for turn in range(len(sliced[0])):
            given = [*current, *(operand[turn] for operand in sliced)]
            results = self._results(dict(zip(names, given, strict=True)), context, attributes)
            current = results[:count]
            for part, result in zip(parts, results[count:], strict=True):
                part.append(result)
        ends = [
            self._stacked(count + i, _directed(part, a, "output", i), _at(a, "scan_output_axes", i))
            for i, part in enumerate(parts)
        ]
        return (*current, *ends)


def _at(a: dict[str, Any], name: str, index: int) -> int:
    given = a.get(name) or []
    return int(given[index]) if index < len(given) else 0


def _directed(parts: Any, a: dict[str, Any], side: str, index: int) -> Any:
    return parts[::-1] if _at(a, f"scan_{side}_directions", index) else parts


CONTROL_OPS: tuple[type[OpRun], ...] = (Loop, Scan)

"""What a lowering builds with: the values and instructions of a plan under construction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import number_of, numpy_dtype
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.opdef.expression import Expression

from .node_view import NodeView, Operand, Unsupported
from .plan import (
    ELEMENTWISE,
    INPUT,
    MAX_RANK,
    OUTPUT,
    TEMP,
    VIEW,
    WEIGHT,
    AttrValue,
    Insn,
    Native,
    Ref,
    TensorSource,
    Weight,
    contiguous_strides,
)
from .rows import STRIDED, find_row, wider_types
from .tile_program import Computed, casting


class PlanBuilder:
    """Collects the values and instructions of one native partition.

    `outputs`: names of the operands that leave the partition; their values are OUTPUTs.
    """

    def __init__(self, outputs: Collection[str] = ()) -> None:
        self.values: list[Ref] = []
        self.insns: list[Insn] = []
        self._outputs = frozenset(outputs)
        self._refs: dict[str, Ref] = {}
        self._transposed: dict[str, tuple[Ref, NodeView | None]] = {}
        self._results: dict[str, Ref] = {}
        self._weights: dict[tuple[int, str, tuple[Dim, ...]], Ref] = {}
        self._wide: dict[str, Operand] = {}
        self._node: NodeView | None = None

    # --- used by lowerings ------------------------------------------------------------------

    def ref(self, operand: Operand) -> Ref:
        """The value of a node's input. Constants become weights; an int tensor that is known only as
        dims, with no run-time value behind it, is written by an instruction."""
        found = self._refs.get(operand.name)
        if found is not None:
            return found
        if operand.name in self._transposed:
            return self._copied(operand)
        if operand.constant is not None:
            made = self._weight(operand.name, operand.dtype, operand.dims, operand.constant, "plain")
        elif operand.shape_value is not None:
            made = self._from_dims(operand)
        else:
            raise KeyError(f"{operand.name!r} is used before it is made")
        self._refs[operand.name] = made
        return made

    def strided(self, operand: Operand) -> Ref:
        """The value of a node's input for a kernel that reads any strides as well as neighbours."""
        if operand.name in self._refs or operand.name not in self._transposed:
            return self.ref(operand)
        return self._transposed[operand.name][0]

    def out(self, operand: Operand) -> Ref:
        """The value of a node's output, for `emit` to write."""
        _check_rank(operand.name, operand.dims)
        kind = OUTPUT if operand.name in self._outputs else TEMP
        made = self._add(Ref(operand.name, operand.dtype, tuple(operand.dims), kind))
        self._refs[operand.name] = made
        if kind == OUTPUT:
            self._results[operand.name] = made
        return made

    def emit(
        self,
        kernel: str,
        ins: Sequence[Ref | None],
        outs: Sequence[Ref],
        ints: Sequence[Dim] = (),
        floats: Sequence[float] = (),
    ) -> None:
        """One kernel call. Strided inputs are copied first when the row can't read them; operands of types
        that no row takes are converted (rows.wider_types).

        Raises Unsupported when no row of the kernel table takes these dtypes, or wider ones.
        """
        types = [0 if r is None else r.dtype for r in ins], [r.dtype for r in outs]
        if find_row(kernel, *types) is None and (wide := wider_types(kernel, *types)) is not None:
            given = [None if r is None else self.cast(r, t) for r, t in zip(ins, wide[0], strict=True)]
            made = [r if r.dtype == t else self.temp(t, r.dims) for r, t in zip(outs, wide[1], strict=True)]
            self.emit(kernel, given, made, ints, floats)
            for out, computed in zip(outs, made, strict=True):
                if out is not computed:
                    self.convert(computed, out)
            return
        flags = self._row(kernel, ins, outs)
        if not flags & STRIDED:
            ins = [None if r is None else self.contiguous(r) for r in ins]
        self._append(kernel, ins, outs, tuple(ints), tuple(float(f) for f in floats))

    def compute(self, computed: Computed[Ref], outs: Sequence[Ref]) -> None:
        """One elementwise instruction. Raises Unsupported when its kernel doesn't take these types."""
        self._row(ELEMENTWISE, computed.inputs, outs)
        self._append(ELEMENTWISE, computed.inputs, outs, expressions=computed.expressions)

    def emit_native(
        self,
        native: Native,
        op_type: str,
        ins: Sequence[Ref | None],
        outs: Sequence[Ref],
        attrs: Mapping[str, AttrValue],
    ) -> None:
        """One call of a custom-operator library (asc_custom_op); its inputs are contiguous."""
        ins = [None if r is None else self.contiguous(r) for r in ins]
        self._append(op_type, ins, outs, native=native, attrs=attrs)

    def temp(self, dtype: int, dims: Sequence[Dim]) -> Ref:
        """A new value in the arena."""
        _check_rank("a temporary", dims)
        return self._add(Ref("", int(dtype), tuple(dims)))

    def cast(self, ref: Ref, dtype: int) -> Ref:
        """The elements of `ref` in another type, contiguous; `ref` itself when it has that type. A weight is
        converted here, once."""
        if ref.dtype == dtype:
            return ref
        if ref.weight is not None and isinstance(ref.weight.source, np.ndarray) and dtype in dtypes.NUMPY:
            return self.constant(ref.weight.source.astype(dtypes.NUMPY[dtype]), ref.weight.layout, dtype)
        made = self.temp(dtype, ref.dims)
        self.convert(ref, made)
        return made

    def convert(self, source: Ref, target: Ref) -> None:
        """One instruction that writes the elements in the target's type, rounded to nearest even."""
        self.compute(casting(source, source.dtype, target.dtype), [target])

    def constant(self, array: NDArray[Any], layout: str = "plain", dtype: int | None = None) -> Ref:
        """A new weight. dtype (ONNX number) is needed for types numpy has no name for. A panel32 weight
        is [K, N] or a stack [..., K, N]; it is packed when the bundle is written."""
        number = _number_of(array.dtype) if dtype is None else dtype
        return self._weight("", number, array.shape, array, layout)

    def packed(
        self, source: NDArray[np.generic] | TensorSource, dims: Sequence[Dim], dtype: int, layout: str
    ) -> Ref:
        """A new weight whose elements are computed when the bundle is written."""
        return self._weight("", dtype, dims, source, layout)

    def view(
        self, ref: Ref, dims: Sequence[Dim], offset: Dim = 0, strides: Sequence[Dim] | None = None
    ) -> Ref:
        """The same memory seen with other dims, without an instruction. offset (from the ref's first
        element) and strides count elements; without strides the view is contiguous, and so must `ref` be
        (a strided one is copied)."""
        _check_rank(ref.name or "a view", dims)
        if ref.weight is not None and ref.weight.layout != "plain":
            raise ValueError("a packed weight has no views")
        if strides is None and ref.strides is not None:
            ref = self.contiguous(ref)
        base, start = (ref.base, ref.offset) if ref.base is not None else (ref, 0)
        given = None if strides is None else tuple(strides)
        if given == contiguous_strides(dims):
            given = None
        return self._add(
            Ref(ref.name, ref.dtype, tuple(dims), VIEW, base=base, offset=start + offset, strides=given)
        )

    def strides(self, ref: Ref) -> tuple[Dim, ...]:
        """Elements between neighbours along each dim of `ref`."""
        return contiguous_strides(ref.dims) if ref.strides is None else ref.strides

    def bind(self, operand: Operand, ref: Ref) -> None:
        """Says that an output operand *is* this value. An operand that leaves the partition is copied."""
        if operand.name in self._outputs:
            self._results[operand.name] = out = self._add(
                Ref(operand.name, operand.dtype, tuple(operand.dims), OUTPUT)
            )
            same = ref if ref.dims == out.dims else self.view(ref, out.dims, 0, ref.strides)
            self.emit("copy", [same], [out])
            ref = out
        self._refs[operand.name] = ref

    def bind_transposed(self, operand: Operand, view: Ref) -> None:
        """The same of a view whose last axis has no neighbours: it is copied for the first node that takes it
        by `ref`, and for none if all take it by `strided`."""
        if operand.name in self._outputs:
            self.emit("copy", [view], [self.out(operand)])
        else:
            self._transposed[operand.name] = view, self._node

    def contiguous(self, ref: Ref) -> Ref:
        """`ref` itself, or a copy of it when it is strided."""
        if ref.strides is None:
            return ref
        copy = self.temp(ref.dtype, ref.dims)
        self._row("copy", [ref], [copy])
        self._append("copy", [ref], [copy], (), ())
        return copy

    def has(self, operand: Operand) -> bool:
        """Whether the operand has a value by now."""
        return operand.name in self._refs or operand.name in self._transposed

    # --- used by the converter --------------------------------------------------------------

    def input(self, operand: Operand) -> Ref:
        """A value that enters the partition."""
        _check_rank(operand.name, operand.dims)
        made = self._add(Ref(operand.name, operand.dtype, tuple(operand.dims), INPUT))
        self._refs[operand.name] = made
        return made

    def result(self, operand: Operand) -> Ref:
        """The OUTPUT value of an operand that leaves the partition; made by a copy when it is an input,
        a constant, or known only as dims."""
        found = self._results.get(operand.name)
        if found is not None:
            return found
        if operand.name in self._refs or operand.constant is not None:
            self.bind(operand, self.ref(operand))
        else:
            self.emit("ints", [], [self.out(operand)], operand.shape_value or ())
        return self._results[operand.name]

    def attempt(
        self, node: NodeView, function: Callable[[NodeView, PlanBuilder], None]
    ) -> Unsupported | None:
        """Runs a lowering, whose instructions are this node's. When it can't, what it did is forgotten and
        the reason returned."""
        lists: tuple[list[Any], ...] = self.values, self.insns
        tables: list[dict[Any, Any]]  # only grow
        tables = [self._refs, self._transposed, self._results, self._weights, self._wide]
        sizes = [len(each) for each in (*lists, *tables)]
        outer, self._node = self._node, node
        try:
            function(node, self)
        except Unsupported as reason:
            for each, size in zip(lists, sizes, strict=False):
                del each[size:]
            for table, size in zip(tables, sizes[len(lists) :], strict=True):
                while len(table) > size:
                    table.popitem()
            return reason
        finally:
            self._node = outer
        return None

    # --- used by half_types.py -----------------------------------------------------------------

    def widened(self, operand: Operand, make: Callable[[], Operand]) -> Operand:
        """The operand of float32 that stands for a half one; made once."""
        if operand.name not in self._wide:
            self._wide[operand.name] = make()
        return self._wide[operand.name]

    # --- inside -----------------------------------------------------------------------------

    def _copied(self, operand: Operand) -> Ref:
        """The copy of what `bind_transposed` got, an instruction of the node that transposed it."""
        view, transposed_by = self._transposed[operand.name]
        reader, self._node = self._node, transposed_by
        try:
            made = self.out(operand)
            self.emit("copy", [view], [made])
        finally:
            self._node = reader
        return made

    def _add(self, ref: Ref) -> Ref:
        self.values.append(ref)
        return ref

    def _weight(
        self,
        name: str,
        dtype: int,
        dims: Sequence[Dim],
        source: NDArray[np.generic] | TensorSource,
        layout: str,
    ) -> Ref:
        _check_rank(name or "a constant", dims)
        key = (id(source), layout, tuple(dims))
        found = self._weights.get(key)
        if found is None:
            ref = Ref(name, dtype, tuple(dims), WEIGHT, weight=Weight(source, layout))
            found = self._weights[key] = self._add(ref)
        return found

    def _from_dims(self, operand: Operand) -> Ref:
        elements = operand.shape_value or ()
        known = [static(e) for e in elements]
        shape = [static(d) for d in operand.dims]
        if all(k is not None for k in known) and all(s is not None for s in shape):
            array = np.array(known, numpy_dtype(operand.dtype)).reshape([int(s or 0) for s in shape])
            return self._weight(operand.name, operand.dtype, operand.dims, array, "plain")
        made = self._add(Ref(operand.name, operand.dtype, tuple(operand.dims)))
        self.emit("ints", [], [made], elements)
        return made

    def _row(self, kernel: str, ins: Sequence[Ref | None], outs: Sequence[Ref]) -> int:
        in_types = [0 if r is None else r.dtype for r in ins]
        out_types = [r.dtype for r in outs]
        flags = find_row(kernel, in_types, out_types)
        if flags is None:
            given = ", ".join("none" if t == 0 else _type_name(t) for t in in_types)
            made = ", ".join(_type_name(t) for t in out_types)
            raise Unsupported(f"no kernel {kernel!r} takes ({given}) -> ({made})")
        return flags

    def _append(
        self,
        kernel: str,
        ins: Sequence[Ref | None],
        outs: Sequence[Ref],
        ints: tuple[Dim, ...] = (),
        floats: tuple[float, ...] = (),
        native: Native | None = None,
        attrs: Mapping[str, AttrValue] | None = None,
        expressions: tuple[Expression, ...] = (),
    ) -> None:
        for out in outs:
            if out.kind not in (OUTPUT, TEMP):
                raise ValueError(f"{kernel} can't write {out.name!r}, which isn't an output or a temporary")
        node = self._node
        name = node.name if node else ""
        op_type = f"{node.domain or 'ai.onnx'}::{node.op_type}" if node else ""
        operands = tuple(ins), tuple(outs)
        self.insns.append(
            Insn(name, kernel, *operands, ints, floats, op_type, native, dict(attrs or {}), expressions)
        )


def _type_name(dtype: int) -> str:
    return "float" if dtype == dtypes.FLOAT32 else "double" if dtype == dtypes.FLOAT64 else dtypes.name(dtype)


def _number_of(dtype: np.dtype[Any]) -> int:
    """The ONNX element type of numpy's, including those narrow ones that only onnx_ir knows."""
    try:
        return number_of(dtype)
    except StopIteration:
        import onnx_ir

        return int(onnx_ir.DataType.from_numpy(dtype).value)


def _check_rank(what: str, dims: Sequence[Dim]) -> None:
    if len(dims) > MAX_RANK:
        raise Unsupported(f"{what} has {len(dims)} dims; the native kernels take up to {MAX_RANK}")

"""What a bundle says about itself: edges, partitions, instructions, weights, symbols, metadata.

Everything here was checked when the model was opened, so nothing is checked again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, numpy_dtype
from ascend_ep.errors import AscendError

from .binding import Model, ffi, lib, text_of
from .bundle_records import (
    Constraint,
    DimText,
    Edge,
    Instruction,
    Partition,
    Segment,
    Symbol,
    Value,
    WeightFile,
)
from .layouts import LAYOUT_NAMES

NONE: int = lib.ASC_NONE
#: the metadata entry of Bundle.sizes
SIZES = "sizes"

MAX_DIM_TEXT = 256

_OPERATORS = {
    lib.ASC_DIM_ADD: "+",
    lib.ASC_DIM_SUB: "-",
    lib.ASC_DIM_MUL: "*",
    lib.ASC_DIM_FLOORDIV: "//",
    lib.ASC_DIM_MOD: "%",
}
_VALUE_KINDS = ("input", "output", "temp", "weight", "view")


class Bundle:
    """Reads the sections of an open model; see native/include/ascend_rt.h for what they hold."""

    #: whether data that contradict what the model declares fail, instead of running on `apart`
    insists = False

    def __init__(self, model: Model) -> None:
        self.model = model
        self._indices = self._section(lib.ASC_SEC_INDICES, "uint32_t")
        self._dims = self._section(lib.ASC_SEC_DIMS, "asc_dim")

    @cached_property
    def apart(self) -> Bundle | None:
        """The plan for sizes that contradict the names of dims, if there is one."""
        pointer = lib.asc_model_apart(self.model.pointer)
        return None if pointer == ffi.NULL else Bundle(self.model.inner(pointer))

    def _section(self, kind: int, ctype: str) -> Any:
        """The elements of a section as a C array that len() and iteration know."""
        count = ffi.new("uint64_t *")
        start = lib.asc_model_section(self.model.pointer, kind, count)
        return ffi.cast(f"{ctype}(*)[{count[0]}]", start)[0] if count[0] else ()

    def part(self, kind: int) -> memoryview:
        """The bytes of a partition of the file (ASC_PART_...); empty without one. Keeps the model open."""
        size = ffi.new("uint64_t *")
        start = lib.asc_model_part(self.model.pointer, kind, size)
        if not size[0]:
            return memoryview(b"")
        model = self.model
        return memoryview(ffi.buffer(ffi.gc(start, lambda _, model=model: None), size[0]))

    def string(self, offset: int) -> str:
        return text_of(lib.asc_model_string(self.model.pointer, offset))

    @cached_property
    def meta(self) -> dict[str, str]:
        return {self.string(m.key): self.string(m.value) for m in self._section(lib.ASC_SEC_META, "asc_meta")}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        unbounded = 2**63 - 1
        return tuple(
            Symbol(self.string(s.name), s.min, None if s.max == unbounded else s.max)
            for s in self._section(lib.ASC_SEC_SYMBOLS, "asc_symbol")
        )

    @cached_property
    def profiles(self) -> tuple[dict[str, int], ...]:
        """The only sizes of free dimensions at which the model runs, by symbol; empty: any."""
        found: dict[int, dict[str, int]] = {}
        for s in self._section(lib.ASC_SEC_PROFILES, "asc_profile_size"):
            found.setdefault(s.profile, {})[self.symbols[s.symbol].name] = s.size
        return tuple(found.values())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """A size of each free dimension at which the model is likely to run: those of conversion."""
        try:
            found = json.loads(self.meta.get(SIZES, "{}"))
        except (ValueError, RecursionError):
            return {}
        sizes = found.items() if isinstance(found, dict) else ()
        return {name: n for name, n in sizes if type(n) is int and 0 <= n < 2**31}

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        return tuple(
            Constraint(self._dim_text(a.left), self._dim_text(a.right), a.or_one, self.string(a.text))
            for a in self._section(lib.ASC_SEC_CONSTRAINTS, "asc_constraint")
        )

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(
            Edge(
                i,
                self.string(e.name),
                e.dtype,
                self._dim_run(e.first_dim, e.rank),
                bool(e.role & lib.ASC_EDGE_INPUT),
                bool(e.role & lib.ASC_EDGE_OUTPUT),
            )
            for i, e in enumerate(self._section(lib.ASC_SEC_EDGES, "asc_edge"))
        )

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        hosts = self.part(lib.ASC_PART_HOST)
        return tuple(
            Partition(
                i,
                self.string(p.name),
                self._edge_run(p.first_input, p.n_inputs),
                self._edge_run(p.first_output, p.n_outputs),
                range(p.first_insn, p.first_insn + p.n_insns),
                range(p.first_value, p.first_value + p.n_values),
                hosts[p.host_offset : p.host_offset + p.host_bytes]
                if p.kind == lib.ASC_PARTITION_HOST
                else None,
                self.string(p.reason),
            )
            for i, p in self._partitions_in_use()
        )

    def _partitions_in_use(self) -> Iterator[tuple[int, Any]]:
        """Every partition but the fallbacks, those as the partitions that they stand in for here."""
        records = self._section(lib.ASC_SEC_PARTITIONS, "asc_partition")
        for i, record in enumerate(records):
            if record.kind != lib.ASC_PARTITION_FALLBACK:
                yield i, records[lib.asc_model_partition_in_use(self.model.pointer, i)]

    def declared_dims(self, edge: Edge) -> tuple[DimText | None, ...]:
        """An input's or output's dims as the source model wrote them; None for one without size and name."""
        written = self.meta.get(f"dims:{edge.name}")
        if written is None:
            return edge.dims
        try:
            dims = json.loads(written)
        except (ValueError, RecursionError):
            dims = None
        if not isinstance(dims, list) or not all(d is None or isinstance(d, int | str) for d in dims):
            raise AscendError("E40003", f"the metadata entry [dims:{edge.name}] is no list of dims")
        return tuple(dims)

    def instructions(self, partition: Partition) -> Iterator[Instruction]:
        """The instructions of a native partition, in order."""
        insns = self._section(lib.ASC_SEC_INSNS, "asc_insn")
        floats = self._section(lib.ASC_SEC_FLOATS, "double")
        for i in partition.insns:
            n = insns[i]
            operands = [self.value(k) for k in self._run(n.first_operand, n.n_in + n.n_out)]
            yield Instruction(
                i,
                self.string(n.name),
                self.string(n.kernel),
                self.string(n.op_type),
                tuple(operands[: n.n_in]),
                tuple(operands[n.n_in :]),
                self._dim_run(n.first_int, n.n_ints),
                tuple(floats[n.first_float + k] for k in range(n.n_floats)),
                None if n.native == NONE else n.native,
            )

    @cached_property
    def weights(self) -> tuple[Segment, ...]:
        return tuple(
            Segment("", w.offset, w.bytes, bytes(w.sha256).hex())
            for w in self._section(lib.ASC_SEC_WEIGHTS, "asc_weight")
        )

    @cached_property
    def weight_files(self) -> tuple[WeightFile, ...]:
        return tuple(
            WeightFile(
                self.string(f.name),
                range(f.first_weight, f.first_weight + f.n_weights),
                f.bytes,
                bytes(f.sha256).hex(),
            )
            for f in self._section(lib.ASC_SEC_WEIGHT_FILES, "asc_weight_file")
        )

    @cached_property
    def natives(self) -> tuple[Segment, ...]:
        return tuple(
            Segment(self.string(n.name), n.offset, n.bytes, bytes(n.sha256).hex())
            for n in self._section(lib.ASC_SEC_NATIVE, "asc_native")
        )

    @property
    def foreign_natives(self) -> tuple[Segment, ...]:
        """Those that the converter was given; beside a partition that calls what it generated is always one
        that interprets the same."""
        insns = self._section(lib.ASC_SEC_INSNS, "asc_insn")
        called: dict[bool, set[int]] = {True: set(), False: set()}
        for p in self._section(lib.ASC_SEC_PARTITIONS, "asc_partition"):
            run = range(p.first_insn, p.first_insn + p.n_insns)
            called[p.fallback != 0] |= {insns[i].native for i in run}
        generated = called[True] - called[False]
        return tuple(n for i, n in enumerate(self.natives) if i not in generated)

    @property
    def refused_natives(self) -> tuple[Segment, ...]:
        """Those that aren't trusted here: what calls them is interpreted, where it can be."""
        loaded = lib.asc_model_native_loaded
        return tuple(n for i, n in enumerate(self.natives) if not loaded(self.model.pointer, i))

    def samples(self) -> list[tuple[Edge, NDArray[np.generic]]]:
        """The stored inputs and outputs of the self-check."""
        body = self.part(lib.ASC_PART_SAMPLES)
        found = []
        for s in self._section(lib.ASC_SEC_SAMPLES, "asc_sample"):
            edge = self.edges[s.edge]
            dtype = numpy_dtype(edge.dtype)
            raw = np.frombuffer(body[s.offset : s.offset + s.bytes], np.uint8)
            array = raw.view(np.uint16 if edge.dtype == BFLOAT16 else dtype).view(dtype)
            found.append((edge, array.reshape([s.dims[i] for i in range(s.rank)])))
        return found

    # --- inside -----------------------------------------------------------------------------

    def _run(self, first: int, n: int) -> list[int]:
        return [self._indices[first + i] for i in range(n)]

    def _edge_run(self, first: int, n: int) -> tuple[int, ...]:
        return tuple(self._run(first, 2 * n)[::2])

    def _dim_run(self, first: int, n: int) -> tuple[DimText, ...]:
        return tuple(self._dim_text(k) for k in self._run(first, n))

    def _dim_text(self, index: int) -> DimText:
        return self._dim_texts[index]

    @cached_property
    def _dim_texts(self) -> list[DimText]:
        """Every dim node as text. Nodes refer to earlier ones only; a text that grows too long is cut off
        to the node's number, since a small file can describe an expression of any length."""
        texts: list[DimText] = []
        for i, node in enumerate(self._dims):
            text = self._render(node, texts)
            texts.append(f"dim#{i}" if isinstance(text, str) and len(text) > MAX_DIM_TEXT else text)
        return texts

    def _render(self, node: Any, earlier: list[DimText]) -> DimText:
        if node.op == lib.ASC_DIM_CONST:
            return int(node.value)
        if node.op == lib.ASC_DIM_SYMBOL:
            name: str = self.symbols[node.a].name
            return name
        a, b = earlier[node.a], earlier[node.b]
        operator = _OPERATORS.get(node.op)
        if operator is not None:
            return f"({a}{operator}{b})"
        return f"{'max' if node.op == lib.ASC_DIM_MAX else 'min'}({a}, {b})"

    def value(self, index: int) -> Value | None:
        """The value of that number in the plan; None for an operand that isn't there."""
        if index == NONE:
            return None
        v = self._section(lib.ASC_SEC_VALUES, "asc_value")[index]
        layout = LAYOUT_NAMES[v.layout]
        return Value(
            self.string(v.name), _VALUE_KINDS[v.kind], v.dtype, self._dim_run(v.first_dim, v.rank), layout
        )

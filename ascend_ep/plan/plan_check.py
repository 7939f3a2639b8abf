"""What holds of a plan between any two passes: small rules, each with a name.

`ASCEND_EP_VERIFY=1` checks them before the first pass and after every one. The runtime checks most of them
again in the file (native/core/verify_graph.c), where nothing tells any more which pass broke them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

import numpy as np

from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.graph.setbacks import OURS
from ascend_ep.opdef.dims import Dim, DimExpr, product, static, symbols
from ascend_ep.runtime._rt import lib
from ascend_ep.runtime.layouts import LAYOUTS

from .plan import (
    ELEMENTWISE,
    INPUT,
    MAX_RANK,
    OUTPUT,
    TEMP,
    VIEW,
    WEIGHT,
    Edge,
    Insn,
    NativePartition,
    Plan,
    Ref,
)
from .rows import PACKED, STRIDED, find_row
from .tile_expression import expressions_text, places
from .value_uses import needed_symbols


@dataclass(frozen=True)
class Fault:
    """What breaks a rule, and the instruction that it is about, if one is."""

    text: str
    insn: Insn | None = None


Faults = Iterator[Fault]


def check_plan(plan: Plan, when: str) -> None:
    """AscendError E19999, saying `when`, the partition, the instruction and the rule, unless all hold."""
    for part in plan.native_parts():
        check_partition(part, when)
    for rule in PLAN_RULES:
        for fault in rule(plan):
            raise _broken(rule.__name__, when, "the plan", fault)


def check_partition(part: NativePartition, when: str, known: Collection[str] | None = None) -> None:
    """The same for one partition, whose symbols are among the `known` ones."""
    for rule in PARTITION_RULES:
        for fault in rule(part):
            raise _broken(rule.__name__, when, f"partition {part.name}", fault)
    unknown = set() if known is None else needed_symbols(part.values, part.insns) - set(known)
    if unknown:
        fault = Fault(f"nothing gives the symbols {sorted(unknown)}")
        raise _broken("symbols_are_known", when, f"partition {part.name}", fault)


def _broken(rule: str, when: str, where: str, fault: Fault) -> AscendError:
    at = "" if fault.insn is None else f", instruction {_title(fault.insn)}"
    return AscendError(OURS, details=[f"the plan is illegal {when}: {where}{at}: {fault.text} ({rule})"])


def _title(insn: Insn) -> str:
    return f"{insn.name or (insn.outs[0].name if insn.outs else '')!r} ({insn.kernel})"


# --- rules of a partition ---------------------------------------------------------------------------


def values_are_listed(part: NativePartition) -> Faults:
    """Every value that is named stands in `values`, once; a view behind its base."""
    at = {id(ref): i for i, ref in enumerate(part.values)}
    for twice in (i for i, ref in enumerate(part.values) if at[id(ref)] != i):
        yield Fault(f"value {part.values[twice].name!r} is listed twice")
    for ref, insn in _named(part):
        if id(ref) not in at:
            yield Fault(f"value {ref.name!r} is not among the partition's", insn)
        elif ref.base is not None and at.get(id(ref.base), len(at)) > at[id(ref)]:
            yield Fault(f"view {ref.name!r} is listed before its base", insn)


def types_are_known(part: NativePartition) -> Faults:
    """Elements have a size that the runtime knows; ranks are at most its greatest."""
    for ref, insn in _named(part):
        if not lib.asc_dtype_bytes(ref.dtype):
            yield Fault(f"value {ref.name!r} is of element type {ref.dtype}", insn)
        if ref.rank > MAX_RANK:
            yield Fault(f"value {ref.name!r} has {ref.rank} axes", insn)


def reads_follow_writes(part: NativePartition) -> Faults:
    """What an instruction reads is an input, a weight, or made by one before it; or a view of such."""
    written: set[int] = set()
    for insn in part.insns:
        for ref in insn.ins:
            memory = None if ref is None else _memory(ref)
            if memory is not None and memory.kind in (TEMP, OUTPUT) and id(memory) not in written:
                yield Fault(f"it reads {memory.name!r} before that is written", insn)
        written |= set(map(id, insn.outs))


def values_are_written_once(part: NativePartition) -> Faults:
    """Instructions write temporaries and outputs, each once; no instruction works in place."""
    written: set[int] = set()
    for insn in part.insns:
        if not insn.outs:
            yield Fault("it writes nothing", insn)
        for out in insn.outs:
            if out.kind not in (TEMP, OUTPUT):
                yield Fault(f"it writes {out.name!r}, which is neither temporary nor output", insn)
            if id(out) in written:
                yield Fault(f"it writes {out.name!r} again", insn)
            written.add(id(out))


def boundaries_are_whole(part: NativePartition) -> Faults:
    """The partition's inputs and outputs are just the values of these kinds, once, as their edges say; the
    outputs are written."""
    written = {id(out) for insn in part.insns for out in insn.outs}
    for kind, boundary in ((INPUT, part.inputs), (OUTPUT, part.outputs)):
        listed = Counter(id(ref) for _, ref in boundary)
        for edge, ref in boundary:
            if ref.kind != kind or listed[id(ref)] > 1:
                yield Fault(f"edge {edge.name!r} has a value of another kind, or one that it shares")
            if (ref.dtype, ref.rank) != (edge.dtype, len(edge.dims)):
                yield Fault(f"edge {edge.name!r} has a value of another type or rank")
            if kind == OUTPUT and id(ref) not in written:
                yield Fault(f"output {edge.name!r} is not written")
        for ref, insn in _named(part):
            if ref.kind == kind and id(ref) not in listed:
                yield Fault(f"value {ref.name!r} is at no edge", insn)


def views_have_bases(part: NativePartition) -> Faults:
    """Views, and nothing else, have a base, offset and strides. It is no view, plain, and of their type."""
    for ref, insn in _named(part):
        if ref.kind != VIEW:
            if ref.base is not None or ref.strides is not None or ref.offset != 0:
                yield Fault(f"value {ref.name!r} has a base, an offset or strides and is no view", insn)
        elif ref.base is None or ref.base.kind == VIEW:
            yield Fault(f"the base of view {ref.name!r} is missing, or a view", insn)
        elif ref.dtype != ref.base.dtype:
            yield Fault(f"view {ref.name!r} is of type {ref.dtype}, its base of {ref.base.dtype}", insn)
        elif ref.base.weight is not None and ref.base.weight.layout != "plain":
            yield Fault(f"view {ref.name!r} is of a packed weight", insn)
        elif ref.strides is not None and len(ref.strides) != ref.rank:
            yield Fault(f"view {ref.name!r} has {len(ref.strides)} strides for {ref.rank} axes", insn)


def views_lie_inside(part: NativePartition) -> Faults:
    """A view's elements are its base's, where sizes are static."""
    for ref, insn in _named(part):
        if ref.base is None:
            continue
        dims, whole, offset = _sizes(ref.dims), _sizes(ref.base.dims), static(ref.offset)
        steps = _contiguous(dims) if ref.strides is None else _sizes(ref.strides)
        if dims is None or whole is None or steps is None or offset is None or 0 in dims:
            continue
        ends = [(d - 1) * s for d, s in zip(dims, steps, strict=True)]
        first, last = offset + sum(min(e, 0) for e in ends), offset + sum(max(e, 0) for e in ends)
        if first < 0 or last >= prod(whole):
            yield Fault(f"view {ref.name!r} has elements {first} to {last} of {prod(whole)}", insn)


def weights_fit(part: NativePartition) -> Faults:
    """Weights, and nothing else, have data; of static dims, of a layout's type, and of as many elements."""
    for ref, insn in _named(part):
        if (ref.kind == WEIGHT) != (ref.weight is not None):
            yield Fault(f"value {ref.name!r} is a weight without data, or data that is no weight", insn)
        if ref.weight is None:
            continue
        layout, sizes = LAYOUTS.get(ref.weight.layout), _sizes(ref.dims)
        source = ref.weight.source
        if sizes is None:
            yield Fault(f"weight {ref.name!r} has a free size", insn)
        elif layout is None or (layout.dtype and (layout.dtype != ref.dtype or ref.rank < 2)):
            yield Fault(f"weight {ref.name!r} can't lie as {ref.weight.layout}", insn)
        elif (shape := getattr(source, "shape", None)) is not None:
            packed = sizes[-2:] if layout.dtype else []
            if prod(shape) != prod(sizes) or list(shape)[len(shape) - len(packed) :] != packed:
                yield Fault(f"weight {ref.name!r} of {sizes} has data of {list(shape)}", insn)
            if packed and isinstance(source, np.ndarray) and source.dtype != numpy_dtype(layout.source):
                yield Fault(f"weight {ref.name!r} is packed from {source.dtype}", insn)


def kernels_exist(part: NativePartition) -> Faults:
    """The library has a kernel for an instruction's types, which reads its strides and packed weights. A
    user's library reads neither."""
    for insn in part.insns:
        flags: int | None = 0
        if insn.native is None:
            ins = [0 if r is None else r.dtype for r in insn.ins]
            flags = find_row(insn.kernel, ins, [r.dtype for r in insn.outs])
        if flags is None:
            yield Fault("the library has no such kernel for its types", insn)
            continue
        for ref in insn.ins:
            if ref is not None and ref.strides is not None and not flags & STRIDED:
                yield Fault(f"it reads {ref.name!r} with strides, which its kernel doesn't", insn)
            packed = ref is not None and ref.weight is not None and ref.weight.layout != "plain"
            if packed and not flags & PACKED:
                yield Fault("it reads a packed weight, which its kernel doesn't", insn)


def elements_match(part: NativePartition) -> Faults:
    """Inputs of elementwise instructions broadcast to their outputs, which are alike; a copy has as many
    elements as what it copies. Sizes that are free may match."""
    for insn in part.insns:
        if insn.native is not None or not insn.outs:
            continue
        if insn.kernel == "copy" and insn.ins and insn.ins[0] is not None:
            source, made = insn.ins[0].dims, insn.outs[0].dims
            if _differ(product(source), product(made)):
                yield Fault(f"it copies {_text(source)} to {_text(made)}", insn)
        if insn.kernel != ELEMENTWISE:
            continue
        whole = insn.outs[0].dims
        for out in insn.outs[1:]:
            if out.rank != len(whole) or any(map(_differ, out.dims, whole)):
                yield Fault(f"its outputs are of {_text(out.dims)} and {_text(whole)}", insn)
        for ref in insn.ins:
            if ref is not None and not _may_broadcast(ref.dims, whole):
                yield Fault(f"{ref.name!r} of {_text(ref.dims)} doesn't broadcast to {_text(whole)}", insn)


def arguments_are_plain(part: NativePartition) -> Faults:
    """Arguments are dims and floats; attributes are for users' libraries."""
    for insn in part.insns:
        if not all(isinstance(i, int | DimExpr) for i in insn.ints):
            yield Fault(f"its ints are {insn.ints}", insn)
        if not all(isinstance(f, float | int) for f in insn.floats):
            yield Fault(f"its floats are {insn.floats}", insn)
        if insn.attrs and insn.native is None:
            yield Fault("a kernel of the library has attributes", insn)


def expressions_fit(part: NativePartition) -> Faults:
    """Elementwise instructions alone hold expressions: one for each output, of just their inputs, and no
    arguments beside."""
    for insn in part.insns:
        count = len(insn.outs) if insn.kernel == ELEMENTWISE and insn.native is None else 0
        if len(insn.expressions) != count:
            yield Fault(f"it has {len(insn.expressions)} expressions for {count} outputs", insn)
        elif count and (insn.ints or insn.floats):
            yield Fault("it has arguments beside its expressions", insn)
        elif count and sorted(places(insn.expressions)) != list(range(len(insn.ins))):
            yield Fault(f"its expressions read {expressions_text(insn.expressions)}", insn)


PARTITION_RULES: tuple[Callable[[NativePartition], Faults], ...] = (
    values_are_listed,
    types_are_known,
    reads_follow_writes,
    values_are_written_once,
    boundaries_are_whole,
    views_have_bases,
    views_lie_inside,
    weights_fit,
    kernels_exist,
    elements_match,
    arguments_are_plain,
    expressions_fit,
)


# --- rules of the whole plan ------------------------------------------------------------------------


def edges_are_made(plan: Plan) -> Faults:
    """An edge is an input of the model or made by one partition, before any reads it; it is listed once."""
    listed = set(map(id, plan.edges))
    if len(listed) != len(plan.edges):
        yield Fault("an edge is listed twice")
    made = {id(edge) for edge in plan.edges if edge.is_input}
    for part in plan.partitions:
        reads, writes = ([_edge(e) for e in boundary] for boundary in (part.inputs, part.outputs))
        for edge in (*reads, *writes):
            if id(edge) not in listed:
                yield Fault(f"edge {edge.name!r} of partition {part.name} is not listed")
        for edge in reads:
            if id(edge) not in made:
                yield Fault(f"partition {part.name} reads edge {edge.name!r} before it is made")
        for edge in writes:
            if id(edge) in made:
                yield Fault(f"partition {part.name} makes edge {edge.name!r} again")
            made.add(id(edge))
    for edge in plan.edges:
        if id(edge) not in made:
            yield Fault(f"edge {edge.name!r} is made by no partition")


def fallbacks_replace(plan: Plan) -> Faults:
    """What a partition falls back on has its edges, calls no library, and has no fallback itself."""
    for part in plan.partitions:
        other = part.fallback if isinstance(part, NativePartition) else None
        if other is None or not isinstance(part, NativePartition):
            continue
        for own, theirs in ((part.inputs, other.inputs), (part.outputs, other.outputs)):
            if [id(e) for e, _ in own] != [id(e) for e, _ in theirs]:
                yield Fault(f"the fallback of partition {part.name} has other edges")
        if other.fallback is not None or any(i.native is not None for i in other.insns):
            yield Fault(f"the fallback of partition {part.name} has a fallback, or calls a library")


def symbols_are_known(plan: Plan) -> Faults:
    """Symbols of edges, values, arguments and profiles are the plan's."""
    used = set(symbols(d for e in plan.edges for d in e.dims)) | set(chain(*plan.profiles))
    for part in plan.native_parts():
        used |= needed_symbols(part.values, part.insns)
    if unknown := used - plan.symbols.keys():
        yield Fault(f"nothing gives the symbols {sorted(unknown)}")


PLAN_RULES: tuple[Callable[[Plan], Faults], ...] = (edges_are_made, fallbacks_replace, symbols_are_known)


# --- what they look at ------------------------------------------------------------------------------


def _named(part: NativePartition) -> Iterator[tuple[Ref, Insn | None]]:
    """The values of instructions and of the boundary, and their bases, each once with who named it first."""
    seen: set[int] = set()
    boundary = ((None, ref) for _, ref in (*part.inputs, *part.outputs))
    for insn, ref in chain(boundary, ((i, r) for i in part.insns for r in (*i.ins, *i.outs))):
        for each in (ref, ref.base) if ref is not None else ():
            if each is not None and id(each) not in seen:
                seen.add(id(each))
                yield each, insn


def _memory(ref: Ref) -> Ref:
    return ref if ref.base is None else ref.base


def _edge(of: Edge | tuple[Edge, Ref]) -> Edge:
    return of if isinstance(of, Edge) else of[0]


def _sizes(dims: Sequence[Dim]) -> list[int] | None:
    """Dims that are all static; None when one is free."""
    found = [static(d) for d in dims]
    return None if None in found else [d for d in found if d is not None]


def _contiguous(dims: Sequence[int] | None) -> list[int] | None:
    return None if dims is None else [prod(dims[i + 1 :]) for i in range(len(dims))]


def _differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes are certainly different."""
    return static(a) is not None and static(b) is not None and a != b


def _may_broadcast(dims: Sequence[Dim], to: Sequence[Dim]) -> bool:
    pairs = zip(reversed(dims), reversed(to), strict=False)
    return len(dims) <= len(to) and not any(d != 1 and _differ(d, t) for d, t in pairs)


def _text(dims: Iterable[Dim]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"

"""Operators computed by a shared library, by one call: the user's (--custom_op=Type:./lib.so), or
one that is compiled here from the operator's formula."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ascend_ep.codegen.c_source import InputType, NotGenerated, generate_c
from ascend_ep.codegen.c_source import Source as GeneratedSource
from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_library
from ascend_ep.codegen.compilers import has_compiler
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.codegen.search import known_schedule, search
from ascend_ep.codegen.symbols import loadable
from ascend_ep.compiler.lowering import Lowering, NodeView, Operand, PlanBuilder, Unsupported
from ascend_ep.errors import AscendError
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import Formula, Library, OpDef, Source
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize
from ascend_ep.plan.plan import AttrValue, Native

from .native_code import library_of


def lower_library(node: NodeView, b: PlanBuilder) -> None:
    """Hands the node's tensors and attributes to the library as they are."""
    opdef = node.opdef
    if opdef is None or not isinstance(opdef.semantics, Library | Source):
        raise Unsupported("its definition names no library")
    native = Native(f"{opdef.semantics.path.stem}.so", str(library_of(opdef)))
    ins = [None if operand is None else b.ref(operand) for operand in node.inputs]
    wanted = [operand for operand in node.outputs if operand is not None]
    if len(wanted) != len(node.outputs):
        raise Unsupported("a library writes all its outputs, and one of them has no name")
    b.emit_native(native, node.op_type, ins, [b.out(o) for o in wanted], attributes(node.attributes))


class FormulaCode:
    """Compiles the formulas of a conversion. mode: "auto", "always" or "off" (ConvertOptions.codegen);
    seconds: ConvertOptions.search_seconds."""

    def __init__(self, mode: str = "auto", seconds: float | None = None) -> None:
        if mode not in ("auto", "always", "off"):
            raise ValueError(f"codegen is auto, always or off, not {mode!r}")
        off = os.environ.get("ASCEND_EP_CODEGEN") == "0"
        self._mode = "off" if off or (mode == "auto" and not has_compiler()) else mode
        self._search_seconds = search_seconds() if seconds is None else seconds
        self._sources: dict[object, GeneratedSource | NotGenerated] = {}  # of nodes that are alike
        self._libraries: dict[object, CompiledLibrary] = {}

    @property
    def is_off(self) -> bool:
        """Whether nothing is compiled."""
        return self._mode == "off"

    def lowering(self, view: NodeView, alone: Collection[str] = ()) -> Lowering | None:
        """How to call the node's code, compiled for the ISA level in use; None when it stays interpreted, as
        in "auto" an elementwise node does whose output isn't `alone`: its neighbours run in the same pass."""
        opdef = view.opdef
        if self._mode == "off" or opdef is None or not isinstance(opdef.semantics, Formula):
            return None
        key = _likeness(view, opdef)
        try:
            source = self._source(key, view, opdef)
            if isinstance(source, NotGenerated):
                return None
            mine = source.folds or any(o is not None and o.name in alone for o in view.outputs)
            if self._mode == "auto" and not (source.pays and mine):
                return None
            if key not in self._libraries:
                if self._search_seconds > 0:
                    source = self._sources[key] = node_source(view, opdef, self._search_seconds)
                self._libraries[key] = loadable(compile_library(source))
        except AscendError as error:
            if self._mode == "always":
                raise
            self._mode = "off"
            warnings.warn(f"formulas are interpreted: {error.text}", RuntimeWarning, stacklevel=2)
            return None
        return _calling(self._libraries[key])

    def _source(self, key: object, view: NodeView, opdef: OpDef) -> GeneratedSource | NotGenerated:
        if key not in self._sources:
            try:
                self._sources[key] = node_source(view, opdef)
            except NotGenerated as reason:
                self._sources[key] = reason
        return self._sources[key]


def search_seconds() -> float:
    """$ASCEND_EP_SEARCH: how long schedules of each operator's code are tried. Raises AscendError E10001."""
    text = os.environ.get("ASCEND_EP_SEARCH", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise AscendError("E10001", text, "ASCEND_EP_SEARCH", "It is seconds, at most 3600.")
    return seconds


def _likeness(view: NodeView, opdef: OpDef) -> object:
    """Equal for nodes whose code is the same."""
    operands = [None if o is None else (o.dtype, o.dims) for o in (*view.inputs, None, *view.outputs)]
    attributes = sorted((name, repr(value)) for name, value in view.attributes.items())
    return id(opdef), tuple(operands), tuple(attributes)


def node_source(view: NodeView, opdef: OpDef, seconds: float = 0) -> GeneratedSource:
    """The C of one node; `seconds` for its schedule, 0: as known. Raises NotGenerated, or AscendError for
    attributes that don't fit."""
    operands = [*view.inputs, *[None] * (len(opdef.inputs) - len(view.inputs))]
    names = [spec.name for spec in opdef.inputs]
    if len(operands) != len(names) or any(o is None for o in view.outputs):
        raise NotGenerated("its operands aren't those of its definition")
    given = {name for name, o in zip(names, operands, strict=True) if o is not None}
    program = specialize(formula_program(opdef), bind_attributes(opdef, view.attributes), given)
    types = [None if o is None else InputType(o.dtype, _dims(o)) for o in operands]
    outputs = [o for o in view.outputs if o is not None]
    kinds = [o.dtype for o in outputs]
    specs = _static_specs(operands)
    schedule = None
    if specs is not None and seconds:
        schedule = search(opdef.op, program, names, specs, kinds, seconds, anew=True).best
    elif specs is not None:
        schedule = known_schedule(program, specs, kinds)
    source = generate_c(opdef.op, program, names, types, kinds, schedule)
    if [_dims(o) for o in outputs] != list(source.output_dims):
        raise NotGenerated("its outputs have other dimensions than its formula")
    return source


def _static_specs(operands: Sequence[Operand | None]) -> list[TensorSpec | None] | None:
    """What schedules are kept by; None where a dimension isn't a number."""
    specs: list[TensorSpec | None] = []
    for o in operands:
        dims = () if o is None else [static(d) for d in o.dims]
        if None in dims:
            return None
        specs.append(None if o is None else TensorSpec(o.dtype, tuple(d for d in dims if d is not None)))
    return specs


def _dims(operand: Operand) -> tuple[str, ...]:
    return tuple("1" if static(d) == 1 else str(d) for d in operand.dims)


def _calling(library: CompiledLibrary) -> Lowering:
    native = Native(f"{library.symbol}.so", str(library.path), generated=True)

    def lower(node: NodeView, b: PlanBuilder) -> None:
        ins = [None if operand is None else b.ref(operand) for operand in node.inputs]
        outs = [b.out(operand) for operand in node.outputs if operand is not None]
        b.emit_native(native, library.op_type, ins, outs, {})

    return lower


def attributes(given: Mapping[str, Any]) -> dict[str, AttrValue]:
    """Attributes as a library reads them: integers, doubles or one string."""
    found: dict[str, AttrValue] = {}
    for name, value in given.items():
        if isinstance(value, str):
            found[name] = value
        elif isinstance(value, int | float):
            found[name] = [value] if isinstance(value, float) else [int(value)]
        elif isinstance(value, list | tuple) and all(isinstance(v, int | float) for v in value):
            whole = all(isinstance(v, int) for v in value)
            found[name] = [int(v) for v in value] if whole else [float(v) for v in value]
        else:
            raise Unsupported(f"a library can't be given its attribute {name!r}")
    return found

"""Declaring operators to onnxruntime, so that it accepts models that contain them.

A definition is declared once for the life of the process (onnxruntime keeps pointers to declarations), and
only to sessions whose model contains it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError
from ascend_ep.provider.model_operators import ModelOperators
from ascend_ep.provider.plugin_library import get_library_path
from ascend_ep.runtime.binding import ffi, lib

if TYPE_CHECKING:
    import onnx

    from ascend_ep.opdef.definition import OpDef, TensorSpec
    from ascend_ep.opdef.registry import Registry, Resolved

_MODES = {"required": lib.ASC_EP_REQUIRED, "optional": lib.ASC_EP_OPTIONAL, "variadic": lib.ASC_EP_VARIADIC}
_SET_ENTRY = "ascend_ep.declared"

_lock = threading.Lock()
_numbers: dict[tuple[str, OpDef], int] = {}
_definitions: dict[int, OpDef] = {}
_sets: dict[frozenset[int], Any] = {}


def definition(number: int) -> OpDef:
    """The definition declared under `number`."""
    return _definitions[number]


def declare_for(model: ModelOperators, registry: Registry, session_options: Any) -> None:
    """Declares, on these session options, the operators of a model that onnxruntime doesn't know.

    Raises AscendError for definitions that are wrong, and E40001 when these options already declare
    different operators for another model.
    """
    wanted = frozenset(_number(domain, found.opdef) for domain, found in _unknown(model, registry))
    if not wanted:
        return
    present = _present(session_options)
    if present is None:
        _hand_over(_set(wanted), session_options)
    elif not wanted <= present:
        raise AscendError(
            "E40001",
            "these SessionOptions already declare operators for another model",
            fix="Create a new SessionOptions for each model with custom operators.",
        )


def is_defined(model: ModelOperators, registry: Registry) -> bool:
    """Whether every operator of a model has a definition, is a function of its own, or makes a constant."""
    named = model.operators - model.functions - {("", "Constant")}
    return bool(named) and all(
        registry.resolve(domain, op_type, model.opsets.get(domain, 1)) is not None
        for domain, op_type in named
    )


def default_set(registry: Registry) -> Any:
    """What `SessionOptions.register_custom_ops_library(get_library_path())` declares: every definition that
    onnxruntime has no operator for; those that match any domain, in the default domain. NULL when none."""
    numbers = set()
    for _, opdef in registry.definitions():
        domain = opdef.domain or ""
        if not opdef.standard and opdef.inputs and not _is_known(domain, opdef.op, 1 << 30):
            numbers.add(_number(domain, opdef))
    return _set(frozenset(numbers)) if numbers else ffi.NULL


def not_declared(model: onnx.ModelProto) -> set[tuple[str, str]]:
    """The operators of a model that onnxruntime has loaded which neither it nor anything here declares: they
    are functions of the model, or of another library."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    with _lock:
        ours = {(domain, opdef.op) for domain, opdef in _numbers}
    named = {(node.domain, node.op_type) for node in model.graph.node}
    return {name for name in named - ours if not _is_known(*name, opsets.get(name[0], 1))}


def _unknown(model: ModelOperators, registry: Registry) -> Iterable[tuple[str, Resolved]]:
    for domain, op_type in sorted(model.operators - model.functions):
        version = model.opsets.get(domain, 1)
        if _is_known(domain, op_type, version) and not registry.is_given(domain, op_type, version):
            continue
        found = registry.resolve(domain, op_type, version)
        if found is not None and not found.opdef.standard:
            yield domain, found


def _is_known(domain: str, op_type: str, version: int) -> bool:
    return _ort_schemas().get((domain, op_type), version + 1) <= version


@functools.cache
def _ort_schemas() -> dict[tuple[str, str], int]:
    """The first version of every operator that this onnxruntime has a schema for."""
    from onnxruntime.capi import _pybind_state

    first: dict[tuple[str, str], int] = {}
    for schema in getattr(_pybind_state, "get_all_operator_schema", list)():
        key = (schema.domain, schema.name)
        first[key] = min(schema.since_version, first.get(key, schema.since_version))
    return first


def _present(session_options: Any) -> frozenset[int] | None:
    try:
        number = int(session_options.get_session_config_entry(_SET_ENTRY))
    except (RuntimeError, ValueError, TypeError):
        return None
    with _lock:
        return next((k for k, s in _sets.items() if lib.asc_ep_set_number(s) == number), frozenset())


def _hand_over(native_set: Any, session_options: Any) -> None:
    lib.asc_ep_set_next(native_set)
    try:
        session_options.register_custom_ops_library(get_library_path())
    finally:
        lib.asc_ep_set_next(ffi.NULL)


def _number(domain: str, opdef: OpDef) -> int:
    with _lock:
        key = (domain, opdef)
        if key not in _numbers:
            native, _keep = _declaration(domain, opdef)
            number = lib.asc_ep_declare(native)
            if number == lib.ASC_NONE:
                raise MemoryError("no memory for an operator declaration")
            _numbers[key] = number
            _definitions[number] = opdef
        return _numbers[key]


def _set(numbers: frozenset[int]) -> Any:
    with _lock:
        if numbers not in _sets:
            created = lib.asc_ep_set_new(sorted(numbers), len(numbers))
            if created == ffi.NULL:
                raise MemoryError("no memory for a set of operators")
            _sets[numbers] = created
        return _sets[numbers]


def _declaration(domain: str, opdef: OpDef) -> tuple[Any, list[Any]]:
    """The C declaration, and what its pointers point to."""
    names = [ffi.new("char[]", a.name.encode()) for a in opdef.attributes]
    fields = {
        "domain": ffi.new("char[]", domain.encode()),
        "op_type": ffi.new("char[]", opdef.op.encode()),
        "since_version": opdef.since_version or 1,
        "n_in": len(opdef.inputs),
        "n_out": len(opdef.outputs),
        "n_attrs": len(names),
        "in": ffi.new("asc_ep_operand[]", [_operand(spec) for spec in opdef.inputs]),
        "out": ffi.new("asc_ep_operand[]", [_operand(spec) for spec in opdef.outputs]),
        "attrs": ffi.new("char *[]", names),
    }
    return ffi.new("asc_ep_declaration *", fields), [fields, names]


def _operand(spec: TensorSpec) -> tuple[int, int, int, int]:
    dtype = spec.types[0] if len(spec.types) == 1 else lib.ASC_UNDEFINED
    return (dtype, _MODES[spec.occurrence], 1, int(bool(spec.variable) or dtype != lib.ASC_UNDEFINED))

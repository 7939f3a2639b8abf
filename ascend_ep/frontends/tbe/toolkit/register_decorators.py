"""Decorators and builders by which files name their operators: tbe's, te's and MindSpore's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ascend_ep.frontends.tbe.toolkit.checks import KERNEL_NAME


class Registered:
    """Operator types that the file names, and the functions that compute or build them."""

    def __init__(self) -> None:
        self.operators: dict[str, Any] = {}
        self.computes: dict[str, Any] = {}
        self.information: dict[str, Any] = {}


REGISTERED = Registered()


def register_operator(op_type: str = "", *_arguments: object, **_named: object) -> Callable[[Any], Any]:
    """tbe.common.register.register_operator(type)."""
    return _recorder(REGISTERED.operators, op_type)


def register_op_compute(op_type: str = "", *_arguments: object, **_named: object) -> Callable[[Any], Any]:
    """register_op_compute(type) and fusion_manager.register(name)."""
    return _recorder(REGISTERED.computes, op_type)


def _recorder(where: dict[str, Any], op_type: str) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        where[str(op_type)[:128]] = function
        return function

    return decorate


def passes_through(*_arguments: object, **_named: object) -> Callable[[Any], Any]:
    """A decorator that says nothing about what is computed."""
    return lambda function: function


def silent(name: str) -> Callable[..., None]:
    """A function of the toolkit's log."""
    return lambda *_arguments, **_named: None


class FusionManager:
    """te.platform.fusion_manager."""

    register = staticmethod(register_op_compute)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_named: None


class TBERegOp:
    """mindspore.ops.TBERegOp and CustomRegOp: each method adds to the description, and gives it back."""

    def __init__(self, op_name: str = "") -> None:
        self.op_info: dict[str, Any] = {"op_name": op_name, "inputs": [], "outputs": [], "attr": []}

    def input(
        self,
        index: Any = None,
        name: str = "",
        need_compile: Any = None,
        param_type: Any = None,
        *_arguments: object,
        **_named: object,
    ) -> TBERegOp:
        self.op_info["inputs"].append({"index": index, "name": name, "param_type": param_type or "required"})
        return self

    def output(self, index: Any = None, name: str = "", *_arguments: object, **_named: object) -> TBERegOp:
        self.op_info["outputs"].append({"index": index, "name": name})
        return self

    def attr(
        self, name: str = "", param_type: str = "", value_type: str = "", *rest: Any, **_named: object
    ) -> TBERegOp:
        self.op_info["attr"].append({"name": name, "param_type": param_type, "type": value_type})
        return self

    def dtype_format(self, *_formats: object) -> TBERegOp:
        return self

    def get_op_info(self) -> dict[str, Any]:
        return self.op_info

    def __getattr__(self, name: str) -> Any:
        """fusion_type, binfile_name, compute_cost, ...: of no meaning for what is computed."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments, **_named: self


def op_info_register(op_info: Any = None) -> Callable[[Any], Any]:
    """The decorator that takes what TBERegOp describes."""
    name = op_info.get("op_name", "") if isinstance(op_info, dict) else ""

    def decorate(function: Any) -> Any:
        REGISTERED.information[str(name)[:128]] = (function, op_info)
        return function

    return decorate


_INPUTS = {"optional": "OPTION_INPUT", "dynamic": "DYNAMIC_INPUT"}
_VALUES = {
    "int": "INT", "float": "FLOAT", "bool": "BOOL", "str": "STR",
    "listInt": "LIST_INT", "listFloat": "LIST_FLOAT", "listBool": "LIST_BOOL",
}  # fmt: skip


def described_roles(function: Any) -> list[str]:
    """The roles of a function's parameters, by what MindSpore's registration says of it: its inputs, then the
    outputs and attributes, then the kernel's name; none when it says nothing or their numbers differ."""
    known = [info for f, info in REGISTERED.information.values() if f is function and isinstance(info, dict)]
    if not known:
        return []
    info = known[0]
    inputs = [_INPUTS.get(str(i.get("param_type")), "REQUIRED_INPUT") for i in info.get("inputs", [])]
    attributes = [f"OPTION_ATTR_{_VALUES.get(str(a.get('type')), 'STR')}" for a in info.get("attr", [])]
    roles = [*inputs, *["REQUIRED_OUTPUT"] * len(info.get("outputs", [])), *attributes, KERNEL_NAME]
    return roles if len(roles) == len(inspect.signature(function).parameters) else []


class DataType:
    """mindspore.ops.DataType: F32_Default, F16_5HD, None_None, ... as pairs of type and format."""

    _TYPES = {
        "F16": "float16",
        "F32": "float32",
        "F64": "float64",
        "BF16": "bfloat16",
        "BOOL": "bool",
        "None": "",
    }

    def __getattr__(self, name: str) -> tuple[str, str]:
        kind, _, form = name.partition("_")
        if name.startswith("__"):
            raise AttributeError(name)
        if kind[:1] in "IU" and kind[1:].isdecimal():
            kind = ("int" if kind[0] == "I" else "uint") + kind[1:]
        return self._TYPES.get(kind, kind), {"Default": "DefaultFormat"}.get(form, form)

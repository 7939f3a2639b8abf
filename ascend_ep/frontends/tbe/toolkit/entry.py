"""The function of a file that is the operator: which it is, what its parameters are, and the call of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.frontends.tbe.toolkit.checks import KERNEL_NAME
from ascend_ep.frontends.tbe.toolkit.failure import Inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, traced
from ascend_ep.frontends.tbe.toolkit.registration import REGISTERED
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor, placeholder

_NEVER = ("check_supported", "op_select_format", "get_op_support_info", "get_op_specific_info", "main")
_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "string"}
_ATTRIBUTE_TYPES = {"INT": "int", "FLOAT": "float", "STR": "string", "BOOL": "bool", "TYPE": "string",
                    "LIST_INT": "ints", "LIST_FLOAT": "floats", "LIST_BOOL": "bools"}  # fmt: skip


@dataclass
class Parameter:
    """role: input, output, attribute, kernel_name, shape, dtype or given (the default is used)."""

    name: str
    role: str
    type: str = ""
    default: Any = None
    required: bool = True


@dataclass
class Entry:
    """The operator's function. `takes_tensors`: it is the compute, called with placeholders."""

    function: Callable[..., Any]
    takes_tensors: bool
    op_type: str = ""
    parameters: list[Parameter] = field(default_factory=list)

    def named(self, role: str) -> list[str]:
        return [p.name for p in self.parameters if p.role == role]


def find_entry(namespace: Mapping[str, Any], stem: str, built: bool) -> Entry | None:
    """The operator among the functions that the file defines. Raises Inexpressible when there is none.

    In this order: a registered function or one with check_op_params, one that takes kernel_name; else a
    compute, called with tensors: <name>_compute, any function. Of several the one named like the file, else
    the last. None: the file itself has `built` an operator, and has no such function.
    """
    own = [
        f for name, f in namespace.items()
        if inspect.isfunction(f) and f.__module__ == namespace["__name__"] and not name.startswith("_")
        and name not in _NEVER
    ]  # fmt: skip
    registered = {id(f): name for name, f in REGISTERED.operators.items()}
    registered |= {id(f): name for name, (f, _) in REGISTERED.information.items()}
    builders = [f for f in own if hasattr(f, "__tbe_roles__") or (id(f) in registered and _takes_name(f))]
    builders = builders or [f for f in own if _takes_name(f) and not f.__name__.endswith("_compute")]
    computes = [f for f in own if f.__name__.endswith("_compute")]
    for functions, takes_tensors in ((builders, False), (computes, True), ([] if built else own, True)):
        if functions:
            chosen = next((f for f in functions if f.__name__ in (stem, f"{stem}_compute")), functions[-1])
            return Entry(chosen, takes_tensors, registered.get(id(chosen)) or _only_name(chosen))
    if built:
        return None
    raise Inexpressible("the file defines no function that could be the operator")


def _only_name(function: Any) -> str:
    """The operator type that the file registers, when it names a single one in capitals."""
    names = {*REGISTERED.operators, *REGISTERED.information}
    names |= {n for n, f in REGISTERED.computes.items() if n[:1].isupper()}
    return names.pop() if len(names) == 1 else ""


def _takes_name(function: Any) -> bool:
    return KERNEL_NAME in inspect.signature(function).parameters


def describe_parameters(entry: Entry, n_inputs: int, attributes: Mapping[str, Any]) -> None:
    """Fills in what each parameter is. `n_inputs` shapes are given. Raises Inexpressible."""
    roles = list(getattr(entry.function, "__tbe_roles__", ()))
    tensors = 0
    for i, p in enumerate(inspect.signature(entry.function).parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        default = None if p.default is p.empty else p.default
        made = Parameter(p.name, "", default=default, required=p.default is p.empty)
        role = roles[i] if i < len(roles) else ""
        role = str(role[0]) if isinstance(role, tuple | list) and role else str(role)
        if role.startswith("DYNAMIC"):
            raise Inexpressible(f"{p.name} is any number of tensors, which an expression doesn't take")
        if role in ("TENSOR", ""):
            role = _guessed(
                made, tensors < n_inputs, tensors, attributes, entry.takes_tensors, role == "TENSOR"
            )
        elif role.endswith(("_INPUT", "_OUTPUT")):
            made.required = not role.startswith("OPTION")
            role = "input" if role.endswith("_INPUT") else "output"
            if role == "input" and p.name in attributes:
                raise Inexpressible(f"{p.name} is an input, not an attribute")
        elif "_ATTR_" in role:
            made.type = _ATTRIBUTE_TYPES.get(role.partition("_ATTR_")[2], "")
            role = "attribute"
        made.role = role
        tensors += role in ("input", "shape")
        if role == "attribute":
            made.type = made.type or _type_of(attributes.get(p.name, made.default))
        entry.parameters.append(made)
    inputs = [p for p in entry.parameters if p.role in ("input", "shape")]
    if not sum(p.required for p in inputs) <= n_inputs <= len(inputs):
        names = ", ".join(p.name for p in inputs)
        given = f"{n_inputs} shape{' is' if n_inputs == 1 else 's are'} given"
        raise Inexpressible(f"{entry.function.__name__} takes the inputs {names or '(none)'}, and {given}")
    for made in entry.parameters:
        if made.role == "attribute" and made.required and made.name not in attributes:
            raise Inexpressible(f"the attribute {made.name} has no default: give --attr {made.name}=VALUE")


def _guessed(
    p: Parameter, wanted: bool, seen: int, attributes: Mapping[str, Any], tensors: bool, surely: bool
) -> str:
    """What a parameter is that no decorator tells of."""
    if p.name in (KERNEL_NAME, "kernelName"):
        return "kernel_name"
    if p.name in ("impl_mode", "need_build", "need_print", "attrs", "option", "options"):
        return "given"
    if surely:
        return "input" if wanted else "output"
    if p.name in attributes:
        return "attribute"
    if p.required and not tensors and p.name.startswith("shape"):
        return "shape"
    if p.name.endswith("dtype") and (p.required or isinstance(p.default, str)) and not tensors:
        return "dtype"
    if p.required:
        return "input" if wanted else "output"
    return "input" if wanted and p.default is None and tensors and seen == 0 else "attribute"


def _type_of(value: Any) -> str:
    if isinstance(value, list | tuple):
        kinds = {_TYPES.get(type(v), "float") for v in value}
        return ("ints" if kinds <= {"int"} else "floats") if kinds else "ints"
    return _TYPES.get(type(value), "float" if value is None else "string")


# ---- the call --------------------------------------------------------------------------------------


def call(
    entry: Entry, shapes: Sequence[Sequence[int]], kinds: Sequence[str], attributes: Mapping[str, Any]
) -> list[Tensor]:
    """Runs the operator; what it builds is in SESSION. Gives what a compute returned."""
    names = entry.named("input") or entry.named("shape")
    dims = [
        [traced(d, Node("size", (), (i, axis - len(shape)))) for axis, d in enumerate(shape)]
        for i, shape in enumerate(shapes)
    ]
    SESSION.shapes = dims
    given: dict[str, Any]
    if entry.takes_tensors:
        given = {n: placeholder(s, k, n) for n, s, k in zip(names, dims, kinds, strict=False)}
    else:
        given = {n: _description(s, k, n) for n, s, k in zip(names, dims, kinds, strict=False)}
    arguments: dict[str, Any] = {}
    for p in entry.parameters:
        if p.role == "input":
            arguments[p.name] = given.get(p.name)
        elif p.role == "output":
            arguments[p.name] = _description(_widest(dims), kinds[0] if kinds else "float32", p.name)
        elif p.role == "shape":
            arguments[p.name] = given[p.name]["shape"] if p.name in given else []
        elif p.role == "dtype":
            arguments[p.name] = kinds[0] if kinds else "float32"
        elif p.role == "kernel_name":
            arguments[p.name] = entry.function.__name__
        elif p.role == "attribute":
            arguments[p.name] = _attribute(p, attributes)
    returned = entry.function(**{n: v for n, v in arguments.items() if n in given or v is not _ABSENT})
    if not entry.takes_tensors:
        return []
    if isinstance(returned, tuple | list):
        return [t for t in _flat(returned) if isinstance(t, Tensor)]
    return [returned] if isinstance(returned, Tensor) else []


_ABSENT = object()


def _flat(values: Any) -> list[Any]:
    return [v for group in values for v in (_flat(group) if isinstance(group, list | tuple) else [group])]


def _attribute(p: Parameter, attributes: Mapping[str, Any]) -> Any:
    value = attributes.get(p.name, _ABSENT if not p.required else None)
    if value is _ABSENT:
        value = p.default
        if value is None or isinstance(value, str | bool) or not isinstance(value, int | float):
            return _ABSENT
    if p.type == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return traced(value, Node("attribute", (), p.name))
    return value


def _widest(shapes: Sequence[list[int]]) -> list[int]:
    return max(shapes, key=len, default=[1])


def _description(shape: list[int], dtype: str, name: str) -> dict[str, Any]:
    form = {4: "NCHW", 5: "NCDHW"}.get(len(shape), "ND")
    return {
        "shape": tuple(shape), "ori_shape": tuple(shape), "format": form, "ori_format": form, "sub_format": 0,
        "dtype": dtype, "param_type": "required", "name": name, "param_name": name,
        "range": tuple((d, d) for d in shape), "addr_type": 0, "const_value": None,
    }  # fmt: skip

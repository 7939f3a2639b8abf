"""The function of a file that is the operator: which it is, what its parameters are, and the call of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.frontends.tbe.toolkit.checks import KERNEL_NAME
from ascend_ep.frontends.tbe.toolkit.failure import WARNINGS, Inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, traced
from ascend_ep.frontends.tbe.toolkit.register_decorators import REGISTERED, described_roles
from ascend_ep.frontends.tbe.toolkit.tensors import SESSION, Tensor, placeholder

_NEVER = ("check_supported", "op_select_format", "get_op_support_info", "get_op_specific_info", "main")
_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "string"}
_ATTRIBUTE_TYPES = {"INT": "int", "FLOAT": "float", "STR": "string", "BOOL": "bool", "TYPE": "string",
                    "LIST_INT": "ints", "LIST_FLOAT": "floats", "LIST_BOOL": "bools"}  # fmt: skip


@dataclass
class Parameter:
    """role: input, output, attribute, kernel_name, shape, dtype, constant (an input whose value is given) or
    given (the default is used). `count`: the tensors of a list; None: it is no list."""

    name: str
    role: str
    type: str = ""
    default: Any = None
    required: bool = True
    count: int | None = None

    @property
    def tensors(self) -> list[str]:
        """The names of its tensors."""
        return [self.name] if self.count is None else [f"{self.name}{i}" for i in range(self.count)]


@dataclass
class Entry:
    """The operator's function. `takes_tensors`: it is the compute, called with placeholders."""

    function: Callable[..., Any]
    takes_tensors: bool
    op_type: str = ""
    parameters: list[Parameter] = field(default_factory=list)

    def named(self, role: str) -> list[str]:
        return [name for p in self.parameters if p.role == role for name in p.tensors]


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
    roles = described_roles(entry.function) or list(getattr(entry.function, "__tbe_roles__", ()))
    tensors = 0
    # beside a list, whose length isn't known yet, the last of the tensors is the output
    most = max(1, roles.count("TENSOR")) if "DYNAMIC_INPUT" in roles else n_inputs
    for i, p in enumerate(inspect.signature(entry.function).parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        default = None if p.default is p.empty else p.default
        made = Parameter(p.name, "", default=default, required=p.default is p.empty)
        role = roles[i] if i < len(roles) else ""
        role = str(role[0]) if isinstance(role, tuple | list) and role else str(role)
        made.count = 0 if role.startswith("DYNAMIC") else None
        if role in ("TENSOR", ""):
            role = _guessed(made, tensors < most, tensors, attributes, entry.takes_tensors, role == "TENSOR")
        elif role.endswith(("_INPUT", "_OUTPUT")):
            made.required = not role.startswith("OPTION")
            role = "input" if role.endswith("_INPUT") else "output"
            role = "constant" if role == "input" and p.name in attributes else role
        elif "_ATTR_" in role:
            made.type = _ATTRIBUTE_TYPES.get(role.partition("_ATTR_")[2], "")
            role = "attribute"
        made.role = role
        tensors += role in ("input", "shape")
        if role in ("attribute", "constant"):
            made.type = made.type or _type_of(attributes.get(p.name, made.default))
        entry.parameters.append(made)
    _count_lists(entry, n_inputs)
    inputs = [p for p in entry.parameters if p.role in ("input", "shape")]
    if (
        not sum(p.required and p.count is None for p in inputs)
        <= n_inputs
        <= sum(len(p.tensors) for p in inputs)
    ):
        names = ", ".join(p.name for p in inputs)
        given = f"{n_inputs} shape{' is' if n_inputs == 1 else 's are'} given"
        raise Inexpressible(f"{entry.function.__name__} takes the inputs {names or '(none)'}, and {given}")
    for made in entry.parameters:
        if made.role == "attribute" and made.required and made.name not in attributes:
            raise Inexpressible(f"the attribute {made.name} has no default: give --attr {made.name}=VALUE")


def _count_lists(entry: Entry, n_inputs: int) -> None:
    """The shapes that are given are those of single inputs, and of lists of equal length."""
    lists = [p for p in entry.parameters if p.role == "input" and p.count is not None]
    if not lists:
        return
    single = sum(p.role in ("input", "shape") and p.count is None and p.required for p in entry.parameters)
    each = (n_inputs - single) // len(lists)
    if each < 1 or each * len(lists) + single != n_inputs:
        names = ", ".join(p.name for p in lists)
        raise Inexpressible(f"{names} are lists of tensors: give the shapes of as many as there are to be")
    for p in entry.parameters:
        p.count = each if p.count is not None else None


def _note_lists(entry: Entry) -> None:
    for p in entry.parameters:
        if p.role == "input" and p.count is not None:
            WARNINGS.add(f"{p.name} may be any number of tensors: the operator is for {p.count}")


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
    if isinstance(p.default, dict):
        return "output"
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
    entry: Entry,
    shapes: Sequence[Sequence[int]],
    kinds: Sequence[str],
    attributes: Mapping[str, Any],
    layouts: Sequence[Sequence[Any]],
) -> list[Tensor]:
    """Runs the operator; what it builds is in SESSION. Gives what a compute returned. `layouts`: each input's
    format, original format and original shape."""
    _note_lists(entry)
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
        given = {
            n: _description(s, k, n, layout)
            for n, s, k, layout in zip(names, dims, kinds, layouts, strict=False)
        }
    arguments: dict[str, Any] = {}
    widest = max(range(len(dims)), key=lambda i: len(dims[i]), default=-1)
    shape, layout = (dims[widest], layouts[widest]) if dims else ([1], ("ND", "ND", [1]))
    for p in entry.parameters:
        if p.role == "input":
            arguments[p.name] = _one_or_list(p, [given.get(n) for n in p.tensors])
        elif p.role == "output":
            kind = kinds[0] if kinds else "float32"
            arguments[p.name] = _one_or_list(p, [_description(shape, kind, n, layout) for n in p.tensors])
        elif p.role == "constant":
            arguments[p.name] = _constant(p.name, attributes[p.name])
        elif p.role == "shape":
            arguments[p.name] = given[p.name]["shape"] if p.name in given else []
        elif p.role == "dtype":
            arguments[p.name] = kinds[0] if kinds else "float32"
        elif p.role == "kernel_name":
            arguments[p.name] = entry.function.__name__
        elif p.role == "attribute":
            arguments[p.name] = _attribute(p, attributes)
    returned = entry.function(**{n: v for n, v in arguments.items() if v is not _ABSENT})
    if not entry.takes_tensors:
        return []
    if isinstance(returned, tuple | list):
        return [t for t in _flat(returned) if isinstance(t, Tensor)]
    return [returned] if isinstance(returned, Tensor) else []


_ABSENT = object()


def _one_or_list(p: Parameter, tensors: list[Any]) -> Any:
    return tensors[0] if p.count is None else tensors


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


def _constant(name: str, value: Any) -> dict[str, Any]:
    """The description of an input of which the model has the value."""
    listed = list(value) if isinstance(value, list | tuple) else [value]
    kind = "int32" if all(isinstance(v, int) for v in listed) else "float32"
    shape = [len(listed)]
    return {**_description(shape, kind, name, ("ND", "ND", shape)), "const_value": tuple(listed)}


def _description(shape: list[int], dtype: str, name: str, layout: Sequence[Any]) -> dict[str, Any]:
    form, original_form, original = layout
    same = [int(d) for d in shape] == list(original)
    return {
        "shape": tuple(shape), "ori_shape": tuple(shape if same else original), "format": form,
        "ori_format": original_form, "sub_format": 0,
        "dtype": dtype, "param_type": "required", "name": name, "param_name": name,
        "range": tuple((d, d) for d in shape), "addr_type": 0,
    }  # fmt: skip

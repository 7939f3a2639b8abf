"""A kernel and its host code as an assembly: which argument is what, and a unit for every column of types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes

from .host_code import HostCode, HostOperator
from .signature import KernelFunction, Parameter
from .sources import Sources
from .template_keys import template_keys
from .units import ArgumentSpec, Assembly, KernelUnit, TypeColumn


def host_assembly(
    sources: Sources,
    kernel: KernelFunction,
    host: HostCode,
    operator: HostOperator,
    columns: Sequence[TypeColumn],
    name: str = "",
) -> Assembly:
    """The kernel of an operator that host code registers. Raises AscendError E43203."""
    inputs, outputs = tuple(t.name for t in operator.inputs), tuple(t.name for t in operator.outputs)
    tiling_class = host.tiling_of.get(operator.op, "")
    by_key = None if name else template_keys(kernel, sources.folders, len(inputs))
    units = tuple(
        KernelUnit(
            kernel.file,
            name or kernel.name,
            column,
            (*inputs, *outputs),
            host.tiling,
            tiling_class,
            sources.folders,
            {"__CCE_KT_TEST__": "1"},  # a CPU's run: what launches the kernel on a device is left out
            by_key,
        )
        for column in columns
    )
    n_out = 0 if operator.is_in_place else len(outputs)
    arguments = tuple(_of_operator(kernel, len(inputs), n_out, bool(operator.computed)))
    return Assembly(units, arguments, inputs, outputs, operator.op, host.files, host.folders)


def _of_operator(kernel: KernelFunction, n_in: int, n_out: int, computed: bool) -> Iterator[ArgumentSpec]:
    """Inputs, outputs, shapes that the kernel says, workspace and tiling, as the tool chain passes them."""
    for i in range(n_in):
        yield ArgumentSpec("INPUT", i)
    for i in range(n_out):
        yield ArgumentSpec("OUTPUT", i)
    if computed:
        yield ArgumentSpec("SHAPES")
    rest = kernel.parameters[n_in + n_out + computed :]
    if len(kernel.parameters) < n_in + n_out + computed or len(rest) > 2:
        shapes = ", shapes of outputs" * computed
        wanted = f"{n_in} inputs, {n_out} outputs{shapes}, workspace and tiling"
        raise AscendError("E43203", kernel.name, f"it has {len(kernel.parameters)} parameters, not {wanted}")
    if len(rest) == 2:
        yield ArgumentSpec("WORKSPACE")
        yield ArgumentSpec("TILING")
    elif len(rest) == 1:
        yield ArgumentSpec("TILING" if rest[0].is_tiling else "WORKSPACE")


def column_of(operator: HostOperator, given: Sequence[int | None]) -> TypeColumn:
    """The column that inputs of these types have (None: absent). Raises AscendError E43203."""
    for column in operator.columns:
        if all(g is None or c is None or g == c for c, g in zip(column, given, strict=False)):
            return TypeColumn(column)
    known = " or ".join(
        ", ".join("any" if c is None else dtypes.name(c) for c in column[: len(operator.inputs)])
        for column in operator.columns[:8]
    )
    names = ", ".join("none" if g is None else dtypes.name(g) for g in given)
    raise AscendError("E43203", operator.op, f"its host code takes no {names}", details=[f"allowed: {known}"])


def plain_assembly(
    sources: Sources,
    kernel: KernelFunction,
    n_in: int,
    column: TypeColumn,
    name: str = "",
    values: Mapping[str, bytes] | None = None,
) -> Assembly:
    """A kernel alone: of its pointers the first `n_in` are inputs, the others outputs, but for workspace
    and tiling. values: arguments that are no addresses. Raises AscendError E43203."""
    given = dict(values or {})
    arguments: list[ArgumentSpec] = []
    inputs: list[str] = []
    outputs: list[str] = []
    numbers: list[str] = []
    for p in kernel.parameters:
        if p.name in given or (not p.is_pointer and not p.is_tiling):
            if p.name not in given:
                fix = f"Give --arg {p.name}=VALUE."
                raise AscendError(
                    "E43203", kernel.name, f"the value of {p.name} ({p.type}) isn't given", fix=fix
                )
            arguments.append(ArgumentSpec("VALUE", len(numbers)))
            numbers.append(p.name)
        elif p.is_workspace:
            arguments.append(ArgumentSpec("WORKSPACE"))
        elif p.is_tiling:
            arguments.append(ArgumentSpec("TILING"))
        elif len(inputs) < n_in:
            arguments.append(ArgumentSpec("INPUT", len(inputs)))
            inputs.append(p.name)
        else:
            arguments.append(ArgumentSpec("OUTPUT", len(outputs)))
            outputs.append(p.name)
    if len(inputs) < n_in:
        reason = f"it takes {len(inputs)} tensors, {n_in} inputs are given"
        raise AscendError("E43203", kernel.name, reason, where=kernel.place)
    unit = KernelUnit(
        kernel.file, name or kernel.name, column, (*inputs, *outputs),
        folders=sources.folders,
        by_key=None if name else template_keys(kernel, sources.folders, len(inputs)),
    )  # fmt: skip
    return Assembly((unit,), tuple(arguments), tuple(inputs), tuple(outputs))


def tensor_parameters(kernel: KernelFunction, given: Mapping[str, bytes]) -> list[Parameter]:
    """The pointers that are tensors of a kernel alone."""
    return [
        p
        for p in kernel.parameters
        if p.is_pointer and p.name not in given and not p.is_workspace and not p.is_tiling
    ]

"""run_kernel: a kernel of anybody, compiled and run once over arrays, with the chip's rules checked."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ascend_ep.cann.soc import Soc
from ascend_ep.element_types import number_of
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import Answer, Array, CallRequest, Plain, Wanted
from ascend_ep.opbuild.ascendc.cpp import linked
from ascend_ep.opbuild.ascendc.program_process import SECONDS, run_program
from ascend_ep.opdef.attributes import bind_attributes

from .assemble import column_of, host_assembly, plain_assembly, tensor_parameters
from .host_code import HostOperator
from .signature import KernelFunction
from .sources import Sources, read_sources
from .spellings import unknown_spellings
from .tiling_values import tiling_bytes, tiling_wanted, value_bytes
from .units import Assembly, TypeColumn, program_units


@dataclass(frozen=True)
class RunRequest:
    """inputs: None for one that is absent. outputs: what is said of them; fewer, or none, where the host's
    InferShape or the first input says it. plain values are for kernels without host code: blocks, key,
    workspace, tiling (text).
    """

    sources: Sources
    soc: Soc
    inputs: Sequence[Array | None]
    kernel: str = ""
    outputs: Sequence[Wanted] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    blocks: int = 0
    key: int = 0
    workspace: int = 0
    tiling: str = ""
    is_checked: bool = True
    seconds: float = SECONDS


@dataclass(frozen=True)
class Run:
    """names: of the outputs. notes: what was taken for granted. seconds: to compile, and to run."""

    kernel: KernelFunction
    answer: Answer
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    notes: tuple[str, ...]
    compile_seconds: float
    run_seconds: float


def run_kernel(request: RunRequest) -> Run:
    """Compiles and runs it. Faults are in the answer. Raises AscendError: E43001 and E43002 (compiler),
    E43202 (no kernel), E43203 (arguments), E43205 (the host refuses), E43206 (the process ends)."""
    start = time.perf_counter()
    kernel, assembly, call, notes = prepared(request)
    program = linked(program_units(assembly, request.is_checked, request.soc), "run")
    compiled = time.perf_counter()
    try:
        answer = run_program(program, call, kernel.name, request.seconds)
    except AscendError as error:
        if not assembly.op and (missing := missing_tiling(request, kernel)):
            error.details, error.fix = (missing, *error.details), "Give the tiling data."
        raise
    if answer.refused:
        raise AscendError("E43205" if assembly.op else "E43203", assembly.op or kernel.name, answer.refused)
    ended = time.perf_counter()
    names = _names(assembly.outputs, call.outputs)
    return Run(kernel, answer, names, assembly.inputs, tuple(notes), compiled - start, ended - compiled)


def _names(outputs: Sequence[str], wanted: Sequence[Wanted | Sequence[Wanted]]) -> tuple[str, ...]:
    """A name for every tensor: those of a list have their place behind it."""
    found: list[str] = []
    for name, place in zip(outputs, wanted, strict=True):
        found += [name] if isinstance(place, Wanted) else [f"{name}_{i}" for i in range(len(place))]
    return tuple(found)


def prepared(request: RunRequest) -> tuple[KernelFunction, Assembly, CallRequest, list[str]]:
    """The kernel that is asked for, what its program is built of, its call, and what was taken for granted.
    Raises AscendError E43202, E43203 and E43205."""
    kernel, host, operator = read_sources(request.sources, request.kernel.partition("<")[0], request.soc)
    name = request.kernel if "<" in request.kernel else ""
    notes = unknown_spellings(kernel.file, request.sources.folders)
    if host is not None and operator is not None:
        given = _placed(operator, request.inputs)
        firsts = [_first(a) for a in given]
        column = column_of(operator, [None if a is None else number_of(a.dtype) for a in firsts])
        assembly = host_assembly(request.sources, kernel, host, operator, [column], name)
        if not operator.tiles:
            notes.append(
                "the host code registers no tiling: blocks, key and tiling data are those of the command"
            )
        call = _hosted_call(request, operator, given, column, notes)
    else:
        assembly, call = plain_call(request, kernel, name, notes)
    return kernel, assembly, call, notes


def _placed(operator: HostOperator, inputs: Sequence[Array | None]) -> list[Array | list[Array] | None]:
    """What every input of the definition gets: an array, a list of them, or None at the end for optional
    ones. Where more arrays than inputs are given, each list has an equal share of them."""
    share = _share(operator, len(inputs))
    placed: list[Array | list[Array] | None] = []
    waiting = list(inputs)
    for tensor in operator.inputs:
        if not waiting:
            break
        if tensor.occurrence == "variadic":
            taken, waiting = waiting[:share], waiting[share:]
            listed = [a for a in taken if a is not None]
            placed.append(listed or None)
        else:
            placed.append(waiting.pop(0))
    missing = [t.name for t in operator.inputs[len(placed) :] if t.occurrence == "required"]
    if missing or waiting:
        names = ", ".join(t.name for t in operator.inputs)
        reason = f"it takes {names}; {len(inputs)} inputs are given"
        raise AscendError("E43203", operator.op, reason, fix="Give --input for each, in this order.")
    return [*placed, *[None] * (len(operator.inputs) - len(placed))]


def _share(operator: HostOperator, given: int) -> int:
    """How many of the given arrays each list of the definition has."""
    lists = sum(t.occurrence == "variadic" for t in operator.inputs)
    for kinds in (("required", "optional"), ("required",)):
        singles = sum(t.occurrence in kinds for t in operator.inputs)
        if lists and given > singles and (given - singles) % lists == 0:
            return (given - singles) // lists
    return 1


def _first(given: Array | list[Array] | None) -> Array | None:
    return (given[0] if given else None) if isinstance(given, list) else given


def _hosted_call(
    request: RunRequest,
    operator: HostOperator,
    given: Sequence[Array | list[Array] | None],
    column: TypeColumn,
    notes: list[str],
) -> CallRequest:
    bound = bind_attributes(operator.opdef(), request.attributes)
    attributes = [(a.type, bound.get(a.name)) for a in operator.attributes]
    declared = column.types[len(operator.inputs) :]
    wanted = list(request.outputs)
    outputs: list[Wanted | list[Wanted]] = []
    for i, tensor in enumerate(operator.outputs):
        group = [_wanted(operator, given, i, j, wanted, notes) for j in range(_listed(operator, given, i))]
        typed = [replace(w, dtype=declared[i]) if w.dtype is None and i < len(declared) else w for w in group]
        outputs.append(typed if tensor.occurrence == "variadic" else typed[0])
    return CallRequest(request.soc, list(given), outputs, attributes)


def _listed(operator: HostOperator, given: Sequence[Array | list[Array] | None], output: int) -> int:
    """How many tensors an output has: 1, or as many as the first list among the inputs."""
    if operator.outputs[output].occurrence != "variadic":
        return 1
    if operator.is_in_place:
        same = given[[t.name for t in operator.inputs].index(operator.outputs[output].name)]
        return len(same) if isinstance(same, list) else 1
    return next((len(a) for a in given if isinstance(a, list)), 1)


def _wanted(
    operator: HostOperator,
    given: Sequence[Array | list[Array] | None],
    output: int,
    number: int,
    wanted: list[Wanted],
    notes: list[str],
) -> Wanted:
    """What a request says of tensor `number` of an output; `wanted`: what the user says of those to come."""
    if wanted:
        return wanted.pop(0)
    starts, at = [], 0
    for a in given:
        starts.append(at)
        at += len(a) if isinstance(a, list) else 1
    if operator.is_in_place:
        names = [t.name for t in operator.inputs]
        return Wanted(like=starts[names.index(operator.outputs[output].name)] + number)
    if operator.infers_shapes or operator.outputs[output].shape_computed:
        return Wanted()
    is_list = operator.outputs[output].occurrence == "variadic"
    like = next((s for s, a in zip(starts, given, strict=True) if isinstance(a, list)), 0) if is_list else 0
    notes.append(
        f"no InferShape is registered: {operator.outputs[output].name} has the shape of "
        f"{operator.inputs[0].name} (--output_shape says another)"
    )
    return Wanted(like=like + number)


def plain_call(
    request: RunRequest, kernel: KernelFunction, name: str, notes: list[str]
) -> tuple[Assembly, CallRequest]:
    if request.attributes:
        first = next(iter(request.attributes))
        raise AscendError("E43203", kernel.name, f"a kernel without host code has no attribute {first}")
    types = {p.name: p.type for p in kernel.parameters}
    for argument in request.values:
        if argument not in types:
            raise AscendError("E43203", kernel.name, f"it has no parameter {argument}: {kernel}")
    values = {n: value_bytes(text, types[n]) for n, text in request.values.items()}
    n_out = len(tensor_parameters(kernel, values)) - len(request.inputs)
    outputs = _plain_outputs(request, kernel, n_out, notes)
    kinds = (*(number_of(a.dtype) for a in request.inputs if a is not None), *(w.dtype for w in outputs))
    assembly = plain_assembly(request.sources, kernel, len(request.inputs), TypeColumn(kinds), name, values)
    tiling = tiling_bytes(request.tiling, kernel, request.sources.folders)
    ordered = [values[p.name] for p in kernel.parameters if p.name in values]
    by_value = [p for p in kernel.parameters if p.is_tiling and not p.is_pointer]
    if by_value:
        ordered, assembly = _tiling_by_value(kernel, values, tiling, assembly)
    if missing := missing_tiling(request, kernel):
        notes.append(missing)
    if not request.blocks:
        notes.append("one block is launched (--block_dim says another number)")
    plain = Plain(request.blocks or 1, request.key, request.workspace, tiling)
    return assembly, CallRequest(request.soc, list(request.inputs), outputs, (), plain, ordered)


def missing_tiling(request: RunRequest, kernel: KernelFunction) -> str:
    """That a kernel without host code reads tiling data which nothing gives; "" otherwise."""
    given = any(p.is_tiling and p.name in request.values for p in kernel.parameters)
    if request.tiling or given:
        return ""
    wanted = tiling_wanted(kernel, request.sources.folders)
    return f"all of its tiling data is zero, as nothing gives it ({wanted})" if wanted else ""


def _tiling_by_value(
    kernel: KernelFunction, values: Mapping[str, bytes], tiling: bytes, assembly: Assembly
) -> tuple[list[bytes], Assembly]:
    """The values in order where tiling data is one of them: a structure that is no address."""
    from dataclasses import replace

    from .units import ArgumentSpec

    ordered: list[bytes] = []
    arguments = list(assembly.arguments)
    for i, p in enumerate(kernel.parameters):
        if p.name in values or (p.is_tiling and not p.is_pointer):
            arguments[i] = ArgumentSpec("VALUE", len(ordered))
            ordered.append(values.get(p.name, tiling))
    return ordered, replace(assembly, arguments=tuple(arguments))


def _plain_outputs(request: RunRequest, kernel: KernelFunction, n_out: int, notes: list[str]) -> list[Wanted]:
    first = next((a for a in request.inputs if a is not None), None)
    outputs = []
    for i in range(max(n_out, 0)):
        given = request.outputs[i] if i < len(request.outputs) else Wanted()
        dims, dtype = given.dims, given.dtype
        if (dims is None or dtype is None) and first is None:
            fix = "Give --output_shape and --output_dtype."
            raise AscendError(
                "E43203", kernel.name, "nothing says the shape and type of its outputs", fix=fix
            )
        if first is not None and dims is None:
            dims = tuple(map(int, first.shape))
            notes.append(f"output {i} has the shape of the first input (--output_shape says another)")
        if first is not None and dtype is None:
            dtype = number_of(first.dtype)
        outputs.append(Wanted(dtype, -1, dims))
    return outputs


_PLACED = re.compile(r"(?P<place>.+?:\d+): (?P<text>(?:block|\[).*)", re.DOTALL)


def fault_place(line: str) -> tuple[str, str]:
    """A line of an answer as its place ("" without one) and its text."""
    match = _PLACED.fullmatch(line)
    return (match["place"], match["text"]) if match else ("", line)


def source_line(place: str, files: Sequence[Path]) -> str:
    """The text of the source at file:line, "" where it isn't one of `files`."""
    name, _, number = place.rpartition(":")
    for path in files:
        if number.isdecimal() and (str(path) == name or path.name == Path(name).name):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return lines[int(number) - 1].strip() if 0 < int(number) <= len(lines) else ""
    return ""

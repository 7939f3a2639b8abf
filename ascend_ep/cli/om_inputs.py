"""Inputs for running a bundle from the command line: files, and random arrays for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import array_file
from ascend_ep.cli.atc_shapes import parse_input_shape
from ascend_ep.element_types import dtype_of_name
from ascend_ep.errors import AscendError
from ascend_ep.opdef.constraints import Constraint, OrOne, agreeing_sizes
from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dims import evaluate

if TYPE_CHECKING:
    from ascend_ep.runtime.options import NodeArg
    from ascend_ep.runtime.session import InferenceSession

#: The size of a free dimension that --dim doesn't give.
FREE_SIZE = 2


def input_arrays(
    session: InferenceSession, files: Sequence[str], dims: Sequence[str], seed: int
) -> dict[str, NDArray[Any]]:
    """One array for every input: from `[name=]file`, or random: normal floats, integers 0 and 1."""
    inputs = {arg.name: arg for arg in session.get_inputs()}
    found = _from_files(inputs, files)
    free = {str(d) for arg in inputs.values() for d in arg.shape if not isinstance(d, int)}
    asked, loaded = _sizes(dims, free), _sizes_of(found, inputs)
    for name, size in asked.items():
        if loaded.get(name, size) != size:
            text = f"--dim={name}={size}, but the given inputs have {name} = {loaded[name]}"
            raise AscendError("E40001", text, fix="Leave --dim out, or give other inputs.")
    shapes = _shapes(session, asked | loaded)
    generator = np.random.default_rng(seed)
    for name, arg in inputs.items():
        if name not in found:
            found[name] = _random(arg, shapes[name], generator)
    return found


def _sizes_of(arrays: dict[str, NDArray[Any]], inputs: dict[str, NodeArg]) -> dict[str, int]:
    """The free dimensions that the shapes of files give."""
    pairs = (p for name, array in arrays.items() for p in zip(inputs[name].shape, array.shape, strict=False))
    return {d: n for d, n in pairs if isinstance(d, str)}


def _shapes(session: InferenceSession, sizes: dict[str, int]) -> dict[str, list[int]]:
    """The shape of every input, with these sizes of free dimensions and others that agree with them."""
    bundle = session.bundle
    ranges = {symbol.name: (symbol.min, symbol.max) for symbol in bundle.symbols}
    constraints = [
        Constraint(parse_dim(str(a.left)), parse_dim(str(a.right)), OrOne(a.or_one))
        for a in bundle.constraints
    ]
    fixed = {name: size for name, size in sizes.items() if name in ranges}
    if not fixed:  # the sizes of the bundle's samples agree in ways that it doesn't store
        pairs = (p for e, x in bundle.samples() for p in zip(e.dims, x.shape, strict=False) if e.is_input)
        fixed = {name: size for name, size in (*bundle.sizes.items(), *pairs) if name in ranges}
    profile = next((p for p in bundle.profiles if fixed.items() <= p.items()), {})
    chosen = agreeing_sizes(ranges, fixed | profile, constraints, ranges, FREE_SIZE)
    return {
        edge.name: [d if isinstance(d, int) else evaluate(parse_dim(d), chosen) for d in edge.dims]
        for edge in bundle.edges
        if edge.is_input
    }


def dims_of_shapes(session: InferenceSession, text: str) -> list[str]:
    """The free dimensions, as NAME=SIZE, that give inputs the shapes of `text` (`name:n,c;name2:m`)."""
    if not text:
        return []
    inputs = {arg.name: arg for arg in session.get_inputs()}
    found = {}
    for name, shape in parse_input_shape(text, list(inputs)).items():
        declared = list(inputs[name].shape) if name in inputs else None
        if declared is None or len(declared) != len(shape):
            known = "; ".join(f"{n}: {list(arg.shape)}" for n, arg in inputs.items())
            raise AscendError("E40001", f"--shape: [{name}] doesn't fit", fix=f"The inputs are {known}.")
        for size, asked in zip(declared, shape, strict=True):
            if isinstance(asked, tuple) or (isinstance(size, int) and size != asked):
                raise AscendError("E40001", f"--shape: input [{name}] is {declared}")
            if not isinstance(size, int):
                found[str(size)] = asked
    return [f"{name}={size}" for name, size in found.items()]


def _from_files(inputs: dict[str, NodeArg], files: Sequence[str]) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    unnamed = iter(inputs)
    for text in files:
        name, equals, path = text.rpartition("=")
        loaded = _load(path)
        if isinstance(loaded, dict):
            found |= loaded
            continue
        target = name if equals else next((n for n in unnamed if n not in found), "")
        if not target and not equals:
            fix = f"The inputs are {', '.join(inputs)}."
            raise AscendError("E40001", f"no input is left for [{path}]", fix=fix)
        if target in found:
            raise AscendError("E40001", f"input [{target}] is given twice", fix="Leave one --input out.")
        found[target] = loaded
    for name in found:
        if name not in inputs:
            raise AscendError("E40001", f"[{name}] is no input", fix=f"The inputs are {', '.join(inputs)}.")
    return found


def _load(path: str) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """The array of an .npy file, or those of an .npz file by name. Pickled objects are refused."""
    try:
        return array_file.load(path)
    except FileNotFoundError:
        raise AscendError("E10410", path) from None
    except OSError as error:
        raise AscendError("E40002", f"can't read [{path}]: {error.strerror}") from error
    except ValueError as error:
        raise array_file.refused(path) from error


def _sizes(dims: Sequence[str], free: set[str]) -> dict[str, int]:
    sizes = {}
    for text in dims:
        name, equals, size = text.rpartition("=")
        if not equals or not size.isdecimal():
            raise AscendError("E40001", f"--dim={text} is not NAME=SIZE", fix="For example --dim=batch=4.")
        if name not in free:
            known = f"The free dimensions are {', '.join(sorted(free))}." if free else "Every size is fixed."
            raise AscendError("E40001", f"--dim={text}: [{name}] is no free dimension of an input", fix=known)
        sizes[name] = int(size)
    return sizes


def _random(arg: NodeArg, shape: list[int], generator: np.random.Generator) -> NDArray[Any]:
    dtype = dtype_of_name(arg.type)
    if dtype is None:
        raise AscendError(
            "E40001",
            f"input [{arg.name}] of type {arg.type} can't be random",
            fix=f"Give --input={arg.name}=FILE.",
        )
    try:
        if dtype.kind in "biu":
            return generator.integers(0, 2, shape).astype(dtype)
        return generator.standard_normal(shape).astype(dtype)
    except (MemoryError, ValueError, OverflowError) as error:
        raise AscendError("E40008", f"input [{arg.name}] of shape {shape} has no room: {error}") from error

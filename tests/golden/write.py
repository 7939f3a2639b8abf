"""Writes a golden set: the models of cases.py as bundles, each with inputs and what the runtime makes of
them, as the tree on the path converts and computes.

    ASCEND_EP_CPU=baseline python tests/golden/write.py FOLDER          a new set
    ASCEND_EP_CPU=baseline python tests/golden/write.py --again FOLDER  only the results, anew

A set is named after the commit whose tree wrote it, and stays as it is: later trees must read it
(test_golden.py). Before a change of what bundles hold, write one more set with the tree before the change.
Record results anew only where a commit changes bits on purpose, and say so in it.

This file imports what old trees have, too: it runs as it is in a clone of an older commit. Results are those
of the baseline ISA level, which has no fused multiplication and rounds alike on every x86-64.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cases import CASES, Case
from onnx import helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

Arrays = dict[str, np.ndarray]


def model(case: Case) -> onnx.ModelProto:
    """The case's model. Its outputs have types and no shapes."""
    rng = np.random.default_rng(sum(case.name.encode()))
    versions = f'<ir_version: 10, opset_import: ["" : {case.opset}]>'
    text = f"{versions} {case.name} ({case.inputs}) => () {{ {case.nodes} }}"
    made = onnx.parser.parse_model(text)
    weights = {
        name: (rng.standard_normal(shape) / 3).astype(np.float32) for name, shape in case.weights.items()
    }
    for name, array in {**weights, **case.constants}.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    for output in case.outputs.split(","):
        kind, name = output.split()
        number = onnx.TensorProto.DataType.Value(kind.upper())
        made.graph.output.append(helper.make_tensor_value_info(name, number, None))
    return made


def drawn(case: Case, source: onnx.ModelProto, sizes: Mapping[str, int]) -> Arrays:
    """Inputs of the model at these sizes."""
    rng = np.random.default_rng(sum(sizes.values()))
    made: Arrays = {}
    for value in source.graph.input:
        kind = value.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        shape = tuple(sizes.get(d.dim_param, d.dim_value) for d in kind.shape.dim)
        if dtype.kind == "b":
            made[value.name] = rng.random(shape) < 0.5
        elif dtype.kind in "iu":
            made[value.name] = rng.integers(0, case.below, shape).astype(dtype)
        else:
            made[value.name] = rng.standard_normal(shape).astype(dtype)
    return made


def runs(bundle: Path, given: Sequence[Arrays]) -> Iterator[tuple[Arrays, Arrays]]:
    """What goes into each run of a bundle, and what comes out."""
    session = ascend_ep.InferenceSession(bundle)
    names = [output.name for output in session.get_outputs()]
    for arrays in given:
        yield arrays, dict(zip(names, session.run(names, arrays), strict=True))


def stored(file: Path) -> list[tuple[Arrays, Arrays]]:
    """The runs that a set has for a bundle."""
    made: dict[int, tuple[Arrays, Arrays]] = {}
    with np.load(file) as arrays:
        for key in arrays.files:
            number, side, name = key.split(" ", 2)
            made.setdefault(int(number), ({}, {}))[side == "out"][name] = arrays[key]
    return [made[i] for i in range(len(made))]


def store(file: Path, made: Sequence[tuple[Arrays, Arrays]]) -> None:
    flat: dict[str, Any] = {
        f"{i} {side} {name}": array
        for i, both in enumerate(made)
        for side, arrays in zip(("in", "out"), both, strict=True)
        for name, array in arrays.items()
    }
    np.savez_compressed(file, **flat)


def write(folder: Path) -> None:
    """A new set."""
    for case in CASES:
        source = model(case)
        options = ConvertOptions(
            **{"sample_seed": None, "self_check": False, "codegen": "off", **case.options}
        )
        conversion = convert(source, options)
        bundle = folder / f"{case.name}.om"
        conversion.write(bundle)
        store(bundle.with_suffix(".npz"), list(runs(bundle, [drawn(case, source, s) for s in case.sizes])))
        kernels = {i.kernel for p in conversion.plan.native_parts() for i in p.insns}
        print(case.name, bundle.stat().st_size, *sorted(kernels))


def write_again(folder: Path) -> None:
    """The results of a set's bundles as this tree computes them."""
    for bundle in sorted(folder.glob("*.om")):
        results = bundle.with_suffix(".npz")
        store(results, list(runs(bundle, [given for given, _ in stored(results)])))


if __name__ == "__main__":
    target = Path(sys.argv[-1])
    target.mkdir(parents=True, exist_ok=True)
    write_again(target) if "--again" in sys.argv else write(target)

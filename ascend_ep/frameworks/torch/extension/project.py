"""The files of an extension's project: what builds it, its source, its tests and its benchmark."""

from __future__ import annotations

import keyword
import re
from dataclasses import replace
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.extension.cpp_source import functions_of, source_text
from ascend_ep.frameworks.torch.extension.sample_inputs import Sample, sample_inputs
from ascend_ep.frameworks.torch.schema import function_name
from ascend_ep.opbuild.msopgen.sources import definition_text
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula, OpDef

#: The namespace of the documents' examples.
NAMESPACE = "op_api"
_OTHERS = frozenset({"std", "at", "c10", "torch", "formula", "aten", "prim", "prims", "py", "pybind11"})


def check_name(text: str, flag: str) -> str:
    """A name for C++ and Python. Raises E43103."""
    if not re.fullmatch(r"[A-Za-z_]\w{0,60}", text, re.ASCII) or keyword.iskeyword(text) or text in _OTHERS:
        raise AscendError(
            "E43103", text[:80], flag, "it must be a name of letters, digits and _ that is free"
        )
    return text


def extension_files(opdef: OpDef, namespace: str, module: str = "") -> dict[str, str]:
    """Path -> text. module: what Python imports, <operator>_extension unless given.

    Raises AscendError E43106 for an operator that has no formula, E41011 for one with variadic tensors.
    """
    name = function_name(opdef.op)
    module = module or f"{name}_extension"
    if opdef.formula is not None:
        opdef = replace(opdef, semantics=Formula(opdef.formula))
    files = {
        "setup.py": _SETUP,
        f"csrc/{module}.cpp": source_text(opdef, namespace),
        "csrc/aten_formula.h": (Path(__file__).parent / "aten_formula.h").read_text(encoding="utf-8"),
        "scripts/run_test.sh": _RUN_TEST,
        f"tests/{name}.json": definition_text(opdef),
    }
    sample = sample_inputs(opdef)
    if sample is not None:
        words = {
            "@OP@": opdef.op,
            "@NAME@": name,
            "@MODULE@": module,
            "@CALL@": f"torch.ops.{namespace}.{name}",
            "@INPUTS@": _inputs(opdef, sample),
            "@ATTRIBUTES@": repr(sample.attributes),
            "@DIFFERENTIABLE@": repr(functions_of(opdef)[1] is not None),
            "@TYPE@": _float_type(opdef),
        }
        files[f"tests/test_{module}.py"] = _filled(_TEST, words)
        files[f"tests/benchmark_{module}.py"] = _filled(_BENCHMARK, words)
    return files


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _inputs(opdef: OpDef, sample: Sample) -> str:
    """Per input: shape, and the range of its numbers, or what kind they are."""
    rows = []
    for spec, shape in zip(opdef.inputs, sample.shapes, strict=True):
        if shape is None:
            rows.append("None")
        elif spec.types == (dtypes.BOOL,):
            rows.append(f'({shape}, "bool")')
        elif spec.types and not set(spec.types) & set(dtypes.FLOATS):
            rows.append(f'({shape}, "{dtypes.name(spec.types[0])}")')
        else:
            rows.append(f"({shape}, ({sample.low}, {sample.high}))")
    return "[" + ", ".join(rows) + "]"


def _float_type(opdef: OpDef) -> str:
    """The element type of the benchmark and of the second test: float32, or the first that is allowed."""
    allowed = [t for s in opdef.inputs for t in s.types if t in dtypes.FLOATS]
    return dtypes.name(dtypes.FLOAT32 if dtypes.FLOAT32 in allowed or not allowed else allowed[0])


_SETUP = '''"""Each source in csrc/ becomes a module of its name: python setup.py build_ext --inplace."""

from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

SOURCES = sorted((Path(__file__).resolve().parent / "csrc").glob("*.cpp"))
FLAGS = ["-O2", "-fvisibility=hidden"]

setup(
    name="torch_ascend_ops",
    version="1.0",
    ext_modules=[CppExtension(s.stem, [f"csrc/{s.name}"], extra_compile_args=FLAGS) for s in SOURCES],
    py_modules=[],
    cmdclass={"build_ext": BuildExtension},
)
'''

_RUN_TEST = """#!/bin/bash
# Builds the operators in place, runs their tests, then their benchmarks.
set -e
cd "$(dirname "$0")/.."
python3 setup.py build_ext --inplace
export PYTHONPATH="$PWD:$PWD/tests${PYTHONPATH:+:$PYTHONPATH}"
for source in csrc/*.cpp; do
    module="$(basename "$source" .cpp)"
    python3 -m pytest -q "tests/test_$module.py" "$@"
    python3 "tests/benchmark_$module.py"
done
"""

_TEST = '''"""@CALL@ against the definition of @OP@ in float64 NumPy, and by PyTorch's own checks.

Needs the built module, ascend-ep and pytest: scripts/run_test.sh.
"""

from pathlib import Path

import numpy as np
import pytest
import torch  # before the module, which needs its libraries

import @MODULE@
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.reference import evaluate

OPDEF = load_definitions(Path(__file__).resolve().parent / "@NAME@.json")[0]
CALL = @CALL@
#: per input, its shape and the range or the type of its numbers
INPUTS = @INPUTS@
ATTRIBUTES = @ATTRIBUTES@
DIFFERENTIABLE = @DIFFERENTIABLE@
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def inputs(dtype, longer=0):
    """longer: so much more along the first axis."""
    random = np.random.default_rng(0)
    made = []
    for row in INPUTS:
        if row is None:
            made.append(None)
            continue
        shape, numbers = row
        shape = (shape[0] + longer, *shape[1:]) if shape else shape
        if isinstance(numbers, str):
            made.append(torch.from_numpy(random.integers(0, 2, shape)).to(getattr(torch, numbers)))
        else:
            made.append(torch.from_numpy(np.asarray(random.uniform(*numbers, shape))).to(dtype))
    return made


def results(tensors):
    made = CALL(*tensors, **ATTRIBUTES)
    return made if isinstance(made, tuple) else (made,)


def asked(tensors):
    return [t.requires_grad_() if t is not None and t.is_floating_point() else t for t in tensors]


@pytest.mark.parametrize("dtype", [torch.float64, torch.@TYPE@])
def test_values(dtype):
    given = inputs(dtype)
    wide = [t.double() if t is not None and t.is_floating_point() else t for t in given]
    arrays = [None if t is None else t.numpy() for t in wide]
    for mine, reference in zip(results(given), evaluate(OPDEF, arrays, ATTRIBUTES), strict=True):
        assert mine.shape == reference.shape
        allowed = TOLERANCES.get(mine.dtype, 0) * max(1.0, np.abs(reference).max(initial=0))
        assert np.abs(mine.double().numpy() - reference).max(initial=0) <= allowed


def test_the_library_is_right_by_pytorch():
    torch.library.opcheck(CALL, tuple(asked(inputs(torch.@TYPE@))), ATTRIBUTES)


@pytest.mark.skipif(not DIFFERENTIABLE, reason="it has no gradient")
def test_gradients():
    assert torch.autograd.gradcheck(lambda *t: CALL(*t, **ATTRIBUTES), asked(inputs(torch.float64)))


@pytest.mark.skipif(not DIFFERENTIABLE, reason="it has no gradient")
def test_second_gradients():
    assert torch.autograd.gradgradcheck(lambda *t: CALL(*t, **ATTRIBUTES), asked(inputs(torch.float64)))


def test_sizes_stay_free():
    graphs = []

    def counted(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda *t: CALL(*t, **ATTRIBUTES), backend=counted, dynamic=True, fullgraph=True)
    for longer in range(3) if all(row and row[0] == INPUTS[0][0] for row in INPUTS) else (0,):
        given = inputs(torch.@TYPE@, longer)
        made = compiled(*given)
        for mine, other in zip(made if isinstance(made, tuple) else (made,), results(given), strict=True):
            torch.testing.assert_close(mine, other)
    assert len(graphs) == 1


def test_other_ways_to_call():
    given = inputs(torch.@TYPE@)
    recorded = [getattr(@MODULE@, n).apply for n in dir(@MODULE@) if n.endswith("Function")]
    for call in (@MODULE@.@NAME@, *recorded):
        made = call(*given, **ATTRIBUTES)
        for mine, other in zip(made if isinstance(made, tuple) else (made,), results(given), strict=True):
            torch.testing.assert_close(mine, other)
'''

_BENCHMARK = '''"""How long @CALL@ takes here, forwards and with its gradient."""

import time

import torch
from test_@MODULE@ import ATTRIBUTES, CALL, DIFFERENTIABLE, INPUTS, asked, inputs

RUNS = 100


def seconds(run):
    for _ in range(10):
        run()
    start = time.perf_counter()
    for _ in range(RUNS):
        run()
    return (time.perf_counter() - start) / RUNS


def both(tensors):
    made = CALL(*tensors, **ATTRIBUTES)
    outputs = made if isinstance(made, tuple) else (made,)
    total = sum(y.sum() for y in outputs if y.requires_grad)
    torch.autograd.grad(total, [t for t in tensors if t is not None and t.requires_grad])


longer = 64 if all(row and row[0] == INPUTS[0][0] for row in INPUTS) else 0
tensors = inputs(torch.@TYPE@, longer)
with torch.no_grad():
    elapsed = seconds(lambda: CALL(*tensors, **ATTRIBUTES))
print(f"@NAME@ {[list(t.shape) for t in tensors if t is not None]}")
print(f"Average latency: {elapsed * 1000:.3f} ms")
if DIFFERENTIABLE:
    print(f"With its gradient: {seconds(lambda: both(asked(tensors))) * 1000:.3f} ms")
'''

"""The tests of a generated project: its own files, compiled for the CPU, against its definition."""

from __future__ import annotations

from .sources import Operator

_TEST = '''"""The kernel, tiling and shape inference of {op} on this CPU, against its definition in float64.

Needs ascend-ep and a C++ compiler; run with pytest. Every rule of the device's memory is checked on the way.
"""

from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import compile_for_cpu, project_source
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.reference import evaluate

HERE = Path(__file__).resolve().parent
OPDEF = load_definitions(HERE / "{file}.json")[0]
SOURCE = project_source(HERE.parent, OPDEF, find_soc("{soc}"), "{file}")
#: by element type: relative to the largest result, for rounding to the type and cancellation; and absolute, for
#: what lies half way between integers
TOLERANCES = {{1: (1e-5, 0), 10: (2e-3, 0), 16: (2e-2, 0), 2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (0, 1)}}


@pytest.mark.parametrize("column", range(len(SOURCE.columns)))
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (3, 257), (2, 3, 5, 33)])
def test_matches_the_definition(column, shape):
    random = np.random.default_rng(0)
    kernel = compile_for_cpu(SOURCE, OPDEF, column)
    inputs = [kernel.rounded(i, random.uniform(0.1, 2, shape)) for i in range(len(OPDEF.inputs))]
    try:
        expected = evaluate(OPDEF, [x.astype(np.float64) for x in inputs])
    except AscendError:
        with pytest.raises(AscendError):
            kernel(*inputs)
        return
    for name, mine, reference in zip(SOURCE.outputs, kernel(*inputs), expected, strict=True):
        relative, absolute = TOLERANCES.get(SOURCE.columns[column][name], (0, 0))
        allowed = relative * max(np.abs(reference).max(initial=0), 1e-6) + absolute
        assert mine.shape == reference.shape
        assert np.abs(mine.astype(np.float64) - reference).max(initial=0) <= allowed
'''


def proof_files(operator: Operator) -> dict[str, str]:
    """tests/test_<op>.py of a filled-in -lan cpp project; there is nothing to compare otherwise."""
    if operator.source is None or operator.request.language != "cpp":
        return {}
    text = _TEST.format(op=operator.opdef.op, file=operator.file, soc=operator.source.soc.name)
    return {f"tests/test_{operator.file}.py": text}

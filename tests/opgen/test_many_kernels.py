"""Many kernels compiled as one program for the CPU; tests/differential has random ones."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from ascend_ep.cann.soc import find_soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpu import compile_many_for_cpu
from ascend_ep.opbuild.ascendc.generate import generate_ascend_c
from ascend_ep.opdef.loader import parse_definitions

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)


@pytest.mark.slow  # tests/differential/test_ascend_c.py compiles many as one each time
def test_many_kernels_in_one_program():
    """Each is the same as compiled alone, also with equal names; and one that is no C++ is named."""
    kinds = (
        ("x*w + 1", lambda x, w: x * w + 1),
        ("x - w*2", lambda x, w: x - w * 2),
        ("max(x, w)", np.maximum),
    )
    soc = find_soc("Ascend910B1")
    opdefs = [
        parse_definitions(
            json.dumps(
                {
                    "op": "Same",
                    "types": {"T": ["float16", "float32"]},
                    "inputs": [{"name": n, "type": "T"} for n in "xw"],
                    "outputs": [{"name": "y", "type": "T"}],
                    "formula": text,
                }
            )
        )[0]
        for text, _ in kinds
    ]
    wanted = [(generate_ascend_c(o, soc), o, i % 2) for i, o in enumerate(opdefs)]
    arrays = [np.arange(6, dtype=np.float16).reshape(2, 3), np.ones(3, np.float16)]
    for kernel, (_, compute) in zip(compile_many_for_cpu(wanted, per_unit=2), kinds, strict=True):
        np.testing.assert_array_equal(kernel(*arrays)[0], compute(*arrays))
    source, opdef, _ = wanted[0]
    with pytest.raises(AscendError) as caught:
        compile_many_for_cpu(
            [(dataclasses.replace(source, kernel=source.kernel + "int = 3;"), opdef, 0), wanted[0]]
        )
    assert caught.value.code == "E43002"

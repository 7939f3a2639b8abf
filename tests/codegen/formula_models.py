"""One formula as a model of one operator, and its conversions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ascend_ep
from ascend_ep.codegen.library_call import element_type
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.registry import Registry


def formula_model(
    folder: Path,
    formula: str,
    inputs: dict[str, np.ndarray],
    output_types: Sequence[int],
    outputs: Sequence[Any],
) -> tuple[onnx.ModelProto, Registry]:
    """A model of one operator with this formula, and the registry that defines it."""
    made = [f"y{i}" for i in range(len(output_types))]
    kinds = {name: dtypes.name(element_type(a)) for name, a in inputs.items()}
    definition = {
        "op": "Tested",
        "domain": "test",
        "inputs": [{"name": n, "type": k} for n, k in kinds.items()],
        "outputs": [{"name": n, "type": dtypes.name(t)} for n, t in zip(made, output_types, strict=True)],
        "shape": {n: str(list(s)) for n, s in zip(made, outputs, strict=True)},
        "formula": formula,
    }
    path = folder / "tested.json"
    path.write_text(json.dumps(definition))
    info = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Tested", list(inputs), made, domain="test")
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [info(n, element_type(a), a.shape) for n, a in inputs.items()],
        [info(n, t, s) for n, t, s in zip(made, output_types, outputs, strict=True)],
    )
    opsets = [onnx.helper.make_opsetid("", 22), onnx.helper.make_opsetid("test", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return model, Registry.from_options(custom_op_info=[path])


def conversion_of(folder: Path, codegen: str, *model: Any) -> Conversion:
    proto, registry = formula_model(folder, *model)
    return convert(proto, ConvertOptions(registry=registry, codegen=codegen, sample_seed=None))


def session_of(conversion: Conversion, threads: int = 2) -> ascend_ep.InferenceSession:
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = threads
    return ascend_ep.InferenceSession(conversion.to_bytes(), options)

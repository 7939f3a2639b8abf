"""AIPP: an input of bytes in front of a model that reads floats.

Each static aipp_op replaces one input of the model, [N, C, H, W], by bytes with channels last under the same
name; an operator AIPP between the two makes the first from the second in one pass. A dynamic one leaves the
model as it is: libascendcl makes the input from pictures, by the parameters that come with a run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.definition import OWN_DOMAIN
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES

from .config import AippOp
from .preprocessing import Preprocessing, check_dynamic, preprocessing, refusal

#: The domain of the operator in models that this module changes.
DOMAIN = OWN_DOMAIN


#: What a bundle says of its preprocessing, among the metadata that get_modelmeta() shows.
METADATA = "ascend_ep.aipp"
#: The same of inputs with dynamic AIPP: the most bytes of their pictures, by name.
DYNAMIC = "ascend_ep.dynamic_aipp"


def metadata(preprocessing: Sequence[Preprocessing]) -> dict[str, str]:
    """The entry of a bundle's META section: the attributes by input, as JSON."""
    if not preprocessing:
        return {}
    return {f"custom:{METADATA}": json.dumps({p.name: p.attributes for p in preprocessing})}


def dynamic_metadata(model: ir.Model, ops: Sequence[AippOp]) -> dict[str, str]:
    """The entry of a bundle's META section for dynamic aipp_ops. Raises AscendError E10052."""
    inputs = list(model.graph.inputs)
    sizes = {}
    for op in ops:
        if op.text("aipp_mode") != "dynamic":
            continue
        value = _related(op, inputs)
        check_dynamic(op, value)
        sizes[str(value.name)] = str(op.number("max_src_image_size"))
    return {f"custom:{DYNAMIC}": json.dumps(sizes)} if sizes else {}


def source_inputs(metadata: Mapping[str, str], inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What the source model is given where a bundle with this metadata is given `inputs`."""
    known = json.loads(metadata.get(METADATA, "{}"))
    return {
        name: KERNEL_REFERENCES["aipp"]([x.astype(np.float64)], known[name])[0] if name in known else x
        for name, x in inputs.items()
    }


def stored(
    metadata: Mapping[str, str], shapes: Mapping[str, Sequence[int | str | None]]
) -> list[Preprocessing]:
    """The preprocessing that a bundle with this metadata does; `shapes` are those of its inputs of bytes."""
    return [
        Preprocessing(
            name, tuple(d if isinstance(d, int) else ir.SymbolicDim(d) for d in shapes[name]), attributes
        )
        for name, attributes in json.loads(metadata.get(METADATA, "{}")).items()
    ]


def insert_stored(model: ir.Model, found: Sequence[Preprocessing]) -> None:
    """Changes the model's inputs as a bundle does whose `stored` preprocessing this is. Raises AscendError
    E40001 for one that the model doesn't have."""
    inputs = {value.name: value for value in model.graph.inputs}
    for made in found:
        if made.name not in inputs:
            raise AscendError(
                "E40001", f"the model has no input [{made.name}], which the bundle preprocesses"
            )
        _insert(model.graph, inputs[made.name], made)
    if found:
        model.opset_imports.setdefault(DOMAIN, 1)


def insert_aipp(
    model: ir.Model, ops: Sequence[AippOp], half_inputs: Collection[str] = ()
) -> list[Preprocessing]:
    """Changes the model's inputs. Raises AscendError E10052 with the place of what doesn't fit the model, and
    E10001 for an input that is to be float16 (--input_fp16_nodes) as well."""
    graph = model.graph
    inputs: list[ir.Value] = list(graph.inputs)
    chosen: dict[ir.Value, AippOp] = {}
    for op in ops:
        value = _related(op, inputs)
        if value in chosen:
            raise refusal(
                op, f"Input [{value.name}] has another [aipp_op] already, at {chosen[value].where}."
            )
        if value.name in half_inputs:
            reason = f"AIPP makes bytes of it ({op.where})."
            raise AscendError("E10001", value.name, "--input_fp16_nodes", reason)
        chosen[value] = op
    made = []
    for value, op in chosen.items():
        if op.text("aipp_mode") == "dynamic":
            continue
        found = preprocessing(op, value)
        _insert(graph, value, found)
        made.append(found)
    if made:
        model.opset_imports.setdefault(DOMAIN, 1)
    return made


def _related(op: AippOp, inputs: Sequence[ir.Value]) -> ir.Value:
    """The input that an aipp_op is about: by name, or by its position."""
    if "related_input_name" in op.given:
        name = op.text("related_input_name")
        for value in inputs:
            if value.name == name:
                return value
        near = did_you_mean(name[:80], [str(v.name) for v in inputs])
        raise refusal(op, f"[related_input_name] is {name}, and the model has no such input.{near}")
    rank = op.number("related_input_rank")
    if rank >= len(inputs):
        raise refusal(op, f"[related_input_rank] is {rank}; the model has {len(inputs)} inputs.")
    return inputs[rank]


def _insert(graph: ir.Graph, value: ir.Value, found: Preprocessing) -> None:
    """bytes -> AIPP (-> Cast) -> what read `value`."""
    position = list(graph.inputs).index(value)
    dtype = value.dtype or ir.DataType.FLOAT
    value.name = f"{found.name}/aipp"
    given = ir.Value(name=found.name, shape=ir.Shape(found.shape), type=ir.TensorType(ir.DataType.UINT8))
    graph.inputs[position] = given
    attributes = [ir.convenience.convert_attribute(k, v) for k, v in found.attributes.items() if v != []]
    wide = value
    if dtype != ir.DataType.FLOAT:
        wide = ir.Value(name=f"{found.name}/aipp_float32", type=ir.TensorType(ir.DataType.FLOAT))
    nodes = [ir.Node(DOMAIN, "AIPP", [given], attributes, outputs=[wide], name=f"{found.name}/AIPP")]
    if wide is not value:
        to = [ir.AttrInt64("to", dtype.value)]
        nodes.append(ir.Node("", "Cast", [wide], to, outputs=[value], name=f"{found.name}/AIPP_cast"))
    if len(graph):
        graph.insert_before(graph[0], nodes)
    else:
        graph.extend(nodes)

"""The float model that is quantised: checked, in an operator set with the nodes that it needs, simplified."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx import version_converter

from ascend_ep.compiler.convert_options import Source
from ascend_ep.element_types import FLOAT32
from ascend_ep.errors import AscendError
from ascend_ep.graph.declared import set_input_shapes
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.dim_text import dim_param
from ascend_ep.opdef.registry import Registry

from .calibration_data import Input
from .half_products import widen_products
from .settings import Settings

#: Scales for channels came with operator set 13, blocks and 4 bits with 21, which IR version 10 brought.
CHANNELS, BLOCKS, IR_OF_BLOCKS = 13, 21, 10


def prepared(
    source: Source, settings: Settings, registry: Registry, shapes: dict[str, list[int | str]]
) -> onnx.ModelProto:
    """The model, its constants as initializers, BatchNormalization in convolutions, products float32."""
    model = load_model(source)
    if any(n.op_type in ("QuantizeLinear", "QLinearConv", "QLinearMatMul") for n in model.graph):
        fix = "Give the float model."
        raise AscendError("E40001", "the model is quantised already", fix=fix)
    if shapes:
        set_input_shapes(model, shapes)
    wanted = BLOCKS if settings.weight_bits == 4 else CHANNELS
    version = model.opset_imports.get("", wanted)
    if version < wanted:
        model = ir.from_proto(_newer(ir.to_proto(model), version, wanted))
    run_passes(model, registry.beside([(d, n) for d, n, _ in model.functions]), fusing=False)
    widen_products(model.graph, settings)
    proto = ir.to_proto(model)
    if settings.weight_bits == 4:
        proto.ir_version = max(proto.ir_version, IR_OF_BLOCKS)
    return proto


def _newer(proto: onnx.ModelProto, version: int, wanted: int) -> onnx.ModelProto:
    try:
        made: onnx.ModelProto = version_converter.convert_version(proto, wanted)
    except Exception as error:  # the converter's own, RuntimeError
        text = f"operator set {version} can't be brought to {wanted}, which this needs: {error}"
        raise AscendError("E40001", text[:300], fix=f"Export again with opset_version={wanted}.") from error
    return made


def inputs_of(proto: onnx.ModelProto) -> list[Input]:
    """What samples must give."""
    found = []
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        dims = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
        found.append(
            Input(value.name, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type or FLOAT32), dims)
        )
    return found


def read(proto: onnx.ModelProto, registry: Registry) -> tuple[ir.Model, Facts]:
    """The model, its values with the types and sizes that follow from its inputs."""
    model = ir.from_proto(proto)
    facts = infer_facts(model, registry)
    for value in facts:
        fact = facts[value]
        if value.shape is None and fact.dtype and fact.dims is not None:
            value.type = ir.TensorType(ir.DataType(fact.dtype))
            value.shape = ir.Shape([d if isinstance(d, int) else dim_param(d) or None for d in fact.dims])
    return model, facts

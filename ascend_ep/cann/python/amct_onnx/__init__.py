"""amct_onnx, for programs that quantise ONNX models with AMCT's interface."""

from ascend_ep.accuracy.amct.accuracy_search import accuracy_based_auto_calibration
from ascend_ep.accuracy.amct.steps import (
    convert_qat_model,
    create_quant_config,
    quantize_model,
    save_model,
)

from .custom_op.amct_custom_op import AMCT_SO

__all__ = [
    "AMCT_SO",
    "accuracy_based_auto_calibration",
    "convert_qat_model",
    "create_quant_config",
    "quantize_model",
    "save_model",
]

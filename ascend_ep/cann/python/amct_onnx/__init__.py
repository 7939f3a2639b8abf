"""amct_onnx, for programs that quantise ONNX models with AMCT's interface."""

import onnxruntime

from ascend_ep.compiler.amct.accuracy_search import accuracy_based_auto_calibration
from ascend_ep.compiler.amct.steps import (
    convert_qat_model,
    create_quant_config,
    quantize_model,
    save_model,
)
from ascend_ep.provider.plugin_library import get_library_path

__all__ = [
    "AMCT_SO",
    "accuracy_based_auto_calibration",
    "convert_qat_model",
    "create_quant_config",
    "quantize_model",
    "save_model",
]

#: Options of sessions that run quantize_model's models.
AMCT_SO = onnxruntime.SessionOptions()
AMCT_SO.register_custom_ops_library(get_library_path())

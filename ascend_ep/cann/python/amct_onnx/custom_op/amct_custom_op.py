"""The options of sessions that run quantize_model's models, where programs import them from, too."""

from pathlib import Path

import onnxruntime

from ascend_ep.provider.callbacks import install

install()  # the operators tell quantize_model's record file of their batches
AMCT_SO = onnxruntime.SessionOptions()
AMCT_SO.register_custom_ops_library(str(Path(__file__).with_name("libamct_onnx_ops.so")))
# A fake_quant model computes in float on every CPU: onnxruntime's integers saturate on those without VNNI.
AMCT_SO.add_session_config_entry("session.disable_quant_qdq", "1")

"""A model through onnxruntime-cann: MODEL.onnx INPUTS.npz OUTPUTS.npz [NAME=VALUE ..].

Runs with the Python that has onnxruntime-cann, in the toolkit's environment; the last words are options of
the provider. Prints how many nodes each provider ran.
"""

from __future__ import annotations

import collections
import json
import sys

import numpy as np
import onnxruntime


def main() -> None:
    model, inputs, outputs, *words = sys.argv[1:]
    settings = onnxruntime.SessionOptions()
    settings.enable_profiling = True
    settings.profile_file_prefix = outputs
    options = dict(word.partition("=")[::2] for word in words)
    providers = [("CANNExecutionProvider", options), "CPUExecutionProvider"]
    # It would make Gemm of float32, for which the provider has no kernel, of the provider's own products.
    without = ["MatMulAddFusion"]
    session = onnxruntime.InferenceSession(model, settings, providers=providers, disabled_optimizers=without)
    results = session.run(None, dict(np.load(inputs)))
    np.savez(outputs, *results)
    with open(session.end_profiling()) as file:
        events = json.load(file)
    nodes = {e["name"]: e["args"]["provider"] for e in events if e["name"].endswith("_kernel_time")}
    print(json.dumps(collections.Counter(nodes.values())))


if __name__ == "__main__":
    main()

"""Writes a TensorFlow model as ONNX: a program for the Python that has tensorflow and tf2onnx, which may lack
this package. `convert_model.py MODEL TARGET REQUEST`; REQUEST is JSON: {"shapes": {input: [sizes]},
"outputs": [names]}, where -1 is a free size and no outputs mean those that nothing reads.

Ends with 1 and the reason as the last line of stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

OPSET = 17
#: What is no result, though nothing reads it.
NO_RESULT = ("Const", "NoOp", "Assert", "Placeholder", "SaveV2", "RestoreV2")


def main(model: str, target: str, request: str) -> None:
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    import tf2onnx.convert

    asked = json.loads(request)
    given = saved(model, asked) if os.path.isdir(model) else frozen(model, asked)
    sys.argv = ["tf2onnx", *given, "--output", target, "--opset", str(OPSET)]
    tf2onnx.convert.main()


def saved(folder: str, asked: dict[str, Any]) -> list[str]:
    """Inputs and outputs have the names of the signature, serving_default."""
    given = ["--saved-model", folder]
    return [*given, "--outputs", ",".join(asked["outputs"])] if asked["outputs"] else given


def frozen(path: str, asked: dict[str, Any]) -> list[str]:
    """Inputs have the names of their nodes."""
    import tensorflow

    graph = tensorflow.compat.v1.GraphDef()
    with open(path, "rb") as file:
        graph.ParseFromString(file.read())
    inputs = [node.name for node in graph.node if node.op == "Placeholder"]
    read = {name.split(":")[0].lstrip("^") for node in graph.node for name in node.input}
    found = [node.name for node in graph.node if node.name not in read and node.op not in NO_RESULT]
    outputs = asked["outputs"] or found
    if not inputs or not outputs:
        raise ValueError(f"the graph has {len(inputs)} placeholders and {len(outputs)} results")
    nodes = {node.name for node in graph.node}
    for name in [*asked["shapes"], *(o.split(":")[0] for o in outputs)]:
        if name not in nodes:
            raise ValueError(f"there is no node {name}")
    sizes = {name: ",".join(map(str, shape)) for name, shape in asked["shapes"].items()}
    sized = [f"{n}:0[{sizes[n]}]" if sizes.get(n) else f"{n}:0" for n in inputs]
    given = ["--graphdef", path, "--inputs", ",".join(sized), "--rename-inputs", ",".join(inputs)]
    return [*given, "--outputs", ",".join(o if ":" in o else f"{o}:0" for o in outputs)]


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:  # tensorflow and tf2onnx name no class for what they don't take
        lines = str(error).strip().splitlines() or [""]
        sys.exit(f"{type(error).__name__}: {lines[0]}")

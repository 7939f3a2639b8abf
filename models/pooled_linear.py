"""An image's global average through one linear layer: nearly all of its cost is the tensor that arrives."""

from __future__ import annotations

import argparse

import onnx
from graph_builder import GraphBuilder, dimension, save_from_command_line


def build(batch: int | str = 1, size: int = 224, classes: int = 10, opset: int = 17) -> onnx.ModelProto:
    """x [batch, 3, size, size] -> probabilities [batch, classes]; at 224 the input is 602,112 bytes."""
    g = GraphBuilder("pooled_linear")
    image = g.input("x", [batch, 3, size, size])
    pooled = g.node("Flatten", [g.node("GlobalAveragePool", [image], "average")], "channels")
    linear = g.node("Gemm", [pooled, g.weight("w", 3, classes), g.weight("b", classes, scale=0.1)], "linear")
    g.node("Softmax", [linear], g.output("probabilities", [batch, classes]), axis=-1)
    return g.model(opset)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--opset", type=int, default=17)
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()

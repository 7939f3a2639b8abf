"""A multi-layer perceptron with a custom activation: 64-64-10 unless told otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise

import onnx
from graph_builder import GraphBuilder, dimension, save_from_command_line


def build(
    batch: int | str = 1,
    sizes: Sequence[int] = (64, 64, 10),
    activation: str = "Swish",
    domain: str = "",
    opset: int = 17,
) -> onnx.ModelProto:
    """x [batch, sizes[0]] -> probabilities [batch, sizes[-1]]; `activation` is a node of `domain`."""
    g = GraphBuilder("mlp")
    value = g.input("x", [batch, sizes[0]])
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        bias = g.weight(f"b{i}", fan_out, scale=0.1)
        value = g.node("Gemm", [value, g.weight(f"w{i}", fan_in, fan_out), bias], f"linear{i}")
        if i < len(sizes) - 2:
            value = g.node(activation, [value], f"act{i}", domain=domain)
    g.node("Softmax", [value], g.output("probabilities", [batch, sizes[-1]]), axis=-1)
    return g.model(opset, *([domain] if domain else []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--activation", default="Swish")
    parser.add_argument("--domain", default="")
    parser.add_argument("--opset", type=int, default=17)
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()

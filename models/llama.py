"""A Llama-style decoder whose RoPE, RMSNorm and SwiGLU are custom nodes, with TopK at its head; or, in its
exported form, with these three as the standard operators that torch's exporters write.

Prefill reads `input_ids` [batch, seq]; decode also reads a key/value cache of `past` positions and
returns it with the new ones appended. Grouped key/value heads are repeated with Expand, as exporters do.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import onnx
from blocks import rms_norm_nodes, rope_nodes, swish_nodes
from graph_builder import GraphBuilder, dimension, save_from_command_line
from onnx import TensorProto

DOMAIN = "ai.custom"


@dataclass(frozen=True)
class Size:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    max_positions: int = 2048

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


SIZES = {
    "tiny": Size(64, 2, 4, 2, 176, 256, 128),
    "small": Size(256, 2, 8, 4, 704, 2048, 1024),
    "base": Size(1024, 4, 16, 4, 2816, 2048),
}


class Decoder:
    """One model under construction."""

    def __init__(self, size: Size, batch: int | str, seq: int | str, past: int | str, domain: str) -> None:
        self.size, self.batch, self.seq, self.past, self.domain = size, batch, seq, past, domain
        self.g = GraphBuilder("llama")

    @property
    def total(self) -> int | str:
        """Positions attended to: those of the cache and the new ones."""
        if self.past == 0:
            return self.seq
        if isinstance(self.past, int) and isinstance(self.seq, int):
            return self.past + self.seq
        return f"{self.past} + {self.seq}"

    def linear(self, x: str, name: str, fan_in: int, fan_out: int) -> str:
        return self.g.node("MatMul", [x, self.g.weight(f"{name}.weight", fan_in, fan_out)], name)

    def rms_norm(self, x: str, name: str) -> str:
        spread = self.g.random.standard_normal(self.size.hidden)
        weight = self.g.constant(f"{name}.weight", (1 + 0.1 * spread).astype(np.float32))
        return self.g.node("RMSNorm", [x, weight], name, domain=self.domain, epsilon=1e-5)

    def heads(self, x: str, name: str, count: int) -> str:
        """[B, S, count*D] -> [B, count, S, D]"""
        shape = self.g.constant(f"{name}.shape", [0, 0, count, self.size.head_dim])
        split = self.g.node("Reshape", [x, shape], f"{name}.split")
        return self.g.node("Transpose", [split], f"{name}.heads", perm=[0, 2, 1, 3])

    def rope(self, x: str, name: str) -> str:
        return self.g.node("RoPE", [x, "rope.cos", "rope.sin", "position_ids"], name, domain=self.domain)

    def swiglu(self, gate: str, up: str, name: str) -> str:
        return self.g.node("SwiGLU", [gate, up], name, domain=self.domain)

    def cached(self, x: str, kind: str, layer: int) -> str:
        """Keys or values of all positions: appended to this layer's cache when there is one."""
        s = self.size
        present = f"present.{layer}.{kind}"
        self.g.output(present, [self.batch, s.kv_heads, self.total, s.head_dim])
        if self.past == 0:
            return self.g.node("Identity", [x], present)
        before = self.g.input(f"past.{layer}.{kind}", [self.batch, s.kv_heads, self.past, s.head_dim])
        return self.g.node("Concat", [before, x], present, axis=2)

    def repeated(self, x: str, name: str) -> str:
        """[B, KV, T, D] -> [B, H, T, D]: each key/value head repeated for its group."""
        s, g = self.size, self.g
        groups = s.heads // s.kv_heads
        lifted = g.node("Unsqueeze", [x, g.constant("axis2", [2])], f"{name}.lifted")
        wide = g.node("Expand", [lifted, g.constant("groups", [1, 1, groups, 1, 1])], f"{name}.wide")
        shape = g.constant("merged.shape", [0, s.heads, -1, s.head_dim])
        return g.node("Reshape", [wide, shape], f"{name}.repeated")

    def mask(self) -> None:
        """[B, 1, S, T]: 0 where the key's position is at or before the query's, else the lowest float."""
        g = self.g
        zero, one = g.constant("zero", np.array(0, np.int64)), g.constant("one", np.array(1, np.int64))
        shape = g.node("Shape", ["present.0.key"], "mask.shape")
        total = g.node("Gather", [shape, g.constant("two", np.array(2, np.int64))], "mask.total", axis=0)
        keys = g.node("Range", [zero, total, one], "mask.keys")
        queries = g.node("Unsqueeze", ["position_ids", g.constant("mask.axes", [1, 3])], "mask.queries")
        allowed = g.node("LessOrEqual", [keys, queries], "mask.allowed")
        low = g.constant("mask.low", np.array(np.finfo(np.float32).min, np.float32))
        g.node("Where", [allowed, g.constant("mask.zero", np.array(0, np.float32)), low], "mask")

    def attention(self, x: str, layer: int) -> str:
        s, g, p = self.size, self.g, f"layers.{layer}.attn"
        kv_width = s.kv_heads * s.head_dim
        q = self.rope(
            self.heads(self.linear(x, f"{p}.q", s.hidden, s.hidden), f"{p}.q", s.heads), f"{p}.q.rope"
        )
        k = self.rope(
            self.heads(self.linear(x, f"{p}.k", s.hidden, kv_width), f"{p}.k", s.kv_heads), f"{p}.k.rope"
        )
        v = self.heads(self.linear(x, f"{p}.v", s.hidden, kv_width), f"{p}.v", s.kv_heads)
        k, v = self.cached(k, "key", layer), self.cached(v, "value", layer)
        if layer == 0:
            self.mask()
        keys = g.node("Transpose", [self.repeated(k, f"{p}.k")], f"{p}.k.t", perm=[0, 1, 3, 2])
        scale = g.constant("scale", np.array(s.head_dim**-0.5, np.float32))
        scores = g.node("Mul", [g.node("MatMul", [q, keys], f"{p}.qk"), scale], f"{p}.scaled")
        weights = g.node("Softmax", [g.node("Add", [scores, "mask"], f"{p}.masked")], f"{p}.weights", axis=-1)
        mixed = g.node("MatMul", [weights, self.repeated(v, f"{p}.v")], f"{p}.mixed")
        merged = g.node("Transpose", [mixed], f"{p}.merged", perm=[0, 2, 1, 3])
        flat = g.node("Reshape", [merged, g.constant("hidden.shape", [0, 0, s.hidden])], f"{p}.flat")
        return self.linear(flat, f"{p}.o", s.hidden, s.hidden)

    def feed_forward(self, x: str, layer: int) -> str:
        s, p = self.size, f"layers.{layer}.mlp"
        gate = self.linear(x, f"{p}.gate", s.hidden, s.intermediate)
        up = self.linear(x, f"{p}.up", s.hidden, s.intermediate)
        mixed = self.swiglu(gate, up, f"{p}.swiglu")
        return self.linear(mixed, f"{p}.down", s.intermediate, s.hidden)

    def angles(self) -> np.ndarray:
        """[max_positions, head_dim / 2]"""
        s = self.size
        frequency = 10000.0 ** (-np.arange(0, s.head_dim, 2) / s.head_dim)
        return np.arange(s.max_positions)[:, None] * frequency

    def rope_tables(self) -> None:
        """cos and sin of the angles"""
        angle = self.angles()
        self.g.constant("rope.cos", np.cos(angle).astype(np.float32))
        self.g.constant("rope.sin", np.sin(angle).astype(np.float32))

    def build(self, opset: int, k: int) -> onnx.ModelProto:
        s, g = self.size, self.g
        ids = g.input("input_ids", [self.batch, self.seq], TensorProto.INT64)
        g.input("position_ids", [self.batch, self.seq], TensorProto.INT64)
        self.rope_tables()
        x = g.node(
            "Gather", [g.weight("embedding", s.vocabulary, s.hidden, scale=1.0), ids], "embedded", axis=0
        )
        for layer in range(s.layers):
            p = f"layers.{layer}"
            x = g.node("Add", [x, self.attention(self.rms_norm(x, f"{p}.norm1"), layer)], f"{p}.residual1")
            x = g.node("Add", [x, self.feed_forward(self.rms_norm(x, f"{p}.norm2"), layer)], f"{p}.residual2")
        logits = self.linear(self.rms_norm(x, "norm"), "logits", s.hidden, s.vocabulary)
        values = g.output("top_values", [self.batch, self.seq, k])
        indices = g.output("top_indices", [self.batch, self.seq, k], TensorProto.INT64)
        g.node("TopK", [logits, g.constant("k", [k])], [values, indices], axis=-1)
        return g.model(opset, *([self.domain] if self.domain else []))


class ExportedDecoder(Decoder):
    """The same model without custom nodes."""

    def rms_norm(self, x: str, name: str) -> str:
        spread = self.g.random.standard_normal(self.size.hidden)
        weight = self.g.constant(f"{name}.weight", (1 + 0.1 * spread).astype(np.float32))
        return rms_norm_nodes(self.g, x, weight, name)

    def rope_tables(self) -> None:
        """cos and sin of the positions at hand, for both halves: [B, 1, S, head_dim]"""
        both = np.concatenate([self.angles()] * 2, axis=-1)
        for kind, function in (("cos", np.cos), ("sin", np.sin)):
            table = self.g.constant(f"rope.{kind}.table", function(both).astype(np.float32))
            rows = self.g.node("Gather", [table, "position_ids"], f"rope.{kind}.rows", axis=0)
            self.g.node("Unsqueeze", [rows, self.g.constant("axis1", [1])], f"rope.{kind}")

    def rope(self, x: str, name: str) -> str:
        return rope_nodes(self.g, x, "rope.cos", "rope.sin", self.size.head_dim, name)

    def swiglu(self, gate: str, up: str, name: str) -> str:
        return self.g.node("Mul", [swish_nodes(self.g, gate, f"{name}.swish"), up], name)


def build(
    size: str = "tiny",
    batch: int | str = 1,
    seq: int | str = 16,
    past: int | str = 0,
    k: int = 10,
    domain: str = DOMAIN,
    opset: int = 17,
    form: str = "custom",
) -> onnx.ModelProto:
    """Prefill when `past` is 0, else decode after `past` positions; a name leaves a dim free."""
    if form == "exported":
        return ExportedDecoder(SIZES[size], batch, seq, past, "").build(opset, k)
    return Decoder(SIZES[size], batch, seq, past, domain).build(opset, k)


def sample_inputs(model: onnx.ModelProto, seed: int = 0, **free: int) -> dict[str, np.ndarray]:
    """Inputs that fit the model; free dimensions by name (`seq=7`)."""
    random = np.random.default_rng(seed)
    vocabulary = next(t.dims[0] for t in model.graph.initializer if t.name == "embedding")
    shapes = {
        i.name: [d.dim_value or free[d.dim_param] for d in i.type.tensor_type.shape.dim]
        for i in model.graph.input
    }
    feeds = {
        name: random.standard_normal(shape).astype(np.float32)
        for name, shape in shapes.items()
        if name.startswith("past.")
    }
    past = next((cache.shape[2] for cache in feeds.values()), 0)
    batch, seq = shapes["input_ids"]
    feeds["input_ids"] = random.integers(0, vocabulary, (batch, seq))
    feeds["position_ids"] = np.tile(np.arange(past, past + seq), (batch, 1))
    return feeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="tiny")
    parser.add_argument("--batch", type=dimension, default=1)
    parser.add_argument("--seq", type=dimension, default=16)
    parser.add_argument("--past", type=dimension, default=0)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--domain", default=DOMAIN)
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--form", choices=("custom", "exported"), default="custom")
    save_from_command_line(build, parser)


if __name__ == "__main__":
    main()

"""The small models that the acceptance tests convert and run, each with inputs that fit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bert
import llama
import mlp
import mobilenet_v2
import numpy as np
import onnx
import resnet
import weight_only

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Entry:
    """`feeds` gives one set of inputs per shape to try."""

    build: Callable[[], onnx.ModelProto]
    feeds: Callable[[onnx.ModelProto], list[Feeds]]


def image(batch: int, size: int = 32) -> Feeds:
    return {"x": np.random.default_rng(batch).standard_normal((batch, 3, size, size)).astype(np.float32)}


def row(batch: int) -> Feeds:
    return {"x": np.random.default_rng(batch).standard_normal((batch, 64)).astype(np.float32)}


def tiny_bert(exporter: str, free: bool) -> Entry:
    shape: dict[str, int | str] = {"batch": "batch", "seq": "seq"} if free else {"batch": 2, "seq": 16}
    sizes = [(1, 5), (3, 16), (2, 33)] if free else [(2, 16)]
    return Entry(
        lambda: bert.build("tiny", **shape, exporter=exporter),  # type: ignore[arg-type]
        lambda _: [bert.sample_inputs("tiny", batch, seq) for batch, seq in sizes],
    )


ZOO: dict[str, Entry] = {
    "mlp": Entry(mlp.build, lambda _: [row(1)]),
    "mlp_any_batch": Entry(lambda: mlp.build(batch="N"), lambda _: [row(1), row(7), row(64)]),
    "llama_prefill": Entry(lambda: llama.build("tiny", 2, 16), lambda m: [llama.sample_inputs(m)]),
    "llama_decode": Entry(lambda: llama.build("tiny", 1, 1, past=20), lambda m: [llama.sample_inputs(m)]),
    "llama_any_shape": Entry(
        lambda: llama.build("tiny", "batch", "seq", past="past"),
        lambda m: [
            llama.sample_inputs(m, batch=b, seq=s, past=p) for b, s, p in ((1, 1, 9), (2, 5, 30), (3, 17, 1))
        ],
    ),
    "llama_decode_int8": Entry(
        lambda: weight_only.quantize_weights(llama.build("tiny", 1, 1, past=20, form="exported")),
        lambda m: [llama.sample_inputs(m)],
    ),
    "bert": tiny_bert("torchscript", free=False),
    "bert_dynamo": tiny_bert("dynamo", free=False),
    "bert_any_shape": tiny_bert("torchscript", free=True),
    "bert_any_shape_dynamo": tiny_bert("dynamo", free=True),
    "resnet18": Entry(lambda: resnet.build(18, image=32, width=8), lambda _: [image(1)]),
    "resnet50": Entry(lambda: resnet.build(50, batch=2, image=32, width=8), lambda _: [image(2)]),
    "resnet50_dynamo": Entry(
        lambda: resnet.build(50, image=64, width=8, exporter="dynamo"), lambda _: [image(1, 64)]
    ),
    "mobilenet_v2": Entry(
        lambda: mobilenet_v2.build(batch="N", image=32, width=0.25), lambda _: [image(1), image(3)]
    ),
    "mobilenet_v2_dynamo": Entry(
        lambda: mobilenet_v2.build(image=32, width=0.25, exporter="dynamo"), lambda _: [image(1)]
    ),
}

#: Those that must not leave a node to the CPU provider.
WHOLLY_NATIVE = sorted(ZOO)

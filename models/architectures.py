"""The named architectures, tiny, with PyTorch's own weights: modules to export and inputs that fit them.

`export_architecture("gpt2", exporter="dynamo", free=True)` gives the ONNX model; `free` leaves the dimensions
open that the architecture names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

import bert
import convnets
import decoders
import encoders
import experts
import mobilenet_v2
import onnx
import recurrent
import t5
import torch
import vision_transformers
import whisper
from graph_builder import save_from_command_line
from torch import nn
from torch_export import EXPORTERS, export, randomise

Tensors = dict[str, torch.Tensor]
B, S = 2, 7  # batch and length where nothing else is said


@dataclass(frozen=True)
class Architecture:
    """`inputs(batch, length)` makes inputs by name; `free`: the dimensions that may be left open."""

    module: Callable[[], nn.Module]
    inputs: Callable[[int, int], Tensors]
    outputs: tuple[str, ...]
    free: dict[str, dict[int, str]] = field(default_factory=dict)

    def make(self, dtype: torch.dtype = torch.float32) -> nn.Module:
        torch.manual_seed(0)
        return randomise(self.module()).eval().to(dtype)

    def example(self, batch: int = B, length: int = S, dtype: torch.dtype = torch.float32) -> Tensors:
        torch.manual_seed(batch * 1000 + length)
        made = self.inputs(batch, length)
        return {n: t.to(dtype) if t.is_floating_point() else t for n, t in made.items()}


def ids(batch: int, length: int, vocabulary: int = decoders.VOCABULARY) -> torch.Tensor:
    return torch.randint(2, vocabulary, (batch, length))


def mask(batch: int, length: int) -> torch.Tensor:
    """Ones, and zeros at the end of every second row."""
    kept = torch.ones(batch, length, dtype=torch.int64)
    kept[1::2, length - length // 3 :] = 0
    return kept


def tokens(batch: int, length: int) -> Tensors:
    return {"input_ids": ids(batch, length)}


def masked_tokens(batch: int, length: int) -> Tensors:
    """Tokens of a small vocabulary, RoBERTa's padding where the mask is 0."""
    kept = mask(batch, length)
    words = ids(batch, length, encoders.SIZE.vocabulary)
    return {"input_ids": torch.where(kept > 0, words, encoders.PADDING), "attention_mask": kept}


def segmented_tokens(batch: int, length: int) -> Tensors:
    return masked_tokens(batch, length) | {"token_type_ids": torch.randint(0, 2, (batch, length))}


def continued(batch: int, length: int) -> Tensors:
    """One token after `length` cached positions."""
    caches = {f"past.{i}": torch.randn(batch, 2, length, 8) for i in range(4)}
    return {"input_ids": ids(batch, 1), **caches}


def image(size: int) -> Callable[[int, int], Tensors]:
    return lambda batch, _: {"x": torch.randn(batch, 3, size, size)}


def t5_inputs(batch: int, length: int) -> Tensors:
    return {
        "input_ids": ids(batch, length),
        "attention_mask": mask(batch, length),
        "decoder_input_ids": ids(batch, 4),
    }


def attended(batch: int, length: int) -> Tensors:
    states = torch.randn(batch, 12, decoders.WIDTH)
    return {"input_ids": ids(batch, length), "encoder_hidden_states": states}


def sequence(batch: int, length: int) -> Tensors:
    return {"x": torch.randn(length, batch, 6), "state": torch.randn(2, batch, 20)}


BATCH_AND_LENGTH = {0: "batch", 1: "length"}
TOKENS = {"input_ids": BATCH_AND_LENGTH}
CACHES = {f"past.{i}": {0: "batch", 2: "past"} for i in range(4)}
LOGITS = ("logits",)

ARCHITECTURES: dict[str, Architecture] = {
    "gpt2": Architecture(decoders.Gpt2, tokens, LOGITS, TOKENS),
    "llama": Architecture(lambda: decoders.Decoder(decoders.LLAMA), tokens, LOGITS, TOKENS),
    "llama_decode": Architecture(
        lambda: decoders.ContinuedDecoder(decoders.LLAMA),
        continued,
        ("logits", *(f"present.{i}" for i in range(4))),
        {"input_ids": {0: "batch"}, **CACHES},
    ),
    "qwen2": Architecture(lambda: decoders.Decoder(decoders.QWEN2), tokens, LOGITS, TOKENS),
    "gemma": Architecture(lambda: decoders.Decoder(decoders.GEMMA), tokens, LOGITS, TOKENS),
    "mixtral": Architecture(lambda: experts.RouterModel(experts.ScatterRouter()), tokens, LOGITS, TOKENS),
    "switch": Architecture(lambda: experts.RouterModel(experts.OneHotRouter()), tokens, LOGITS, TOKENS),
    "deepseek": Architecture(experts.DeepSeek, tokens, LOGITS, TOKENS),
    "t5": Architecture(t5.T5, t5_inputs, LOGITS),
    "bert": Architecture(
        lambda: bert.Bert(bert.SIZES["tiny"]),
        segmented_tokens,
        ("hidden", "pooled"),
        dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), BATCH_AND_LENGTH),
    ),
    "roberta": Architecture(encoders.Roberta, masked_tokens, LOGITS),
    "distilbert": Architecture(encoders.DistilBert, masked_tokens, ("start", "end")),
    "whisper_encoder": Architecture(
        whisper.Encoder,
        lambda batch, length: {"input_features": torch.randn(batch, 16, 2 * length)},
        ("states",),
        {"input_features": {0: "batch", 2: "frames"}},
    ),
    "whisper_decoder": Architecture(
        whisper.Decoder, attended, LOGITS, {**TOKENS, "encoder_hidden_states": {0: "batch", 1: "positions"}}
    ),
    "vit": Architecture(vision_transformers.Vit, image(32), LOGITS),
    "segformer": Architecture(vision_transformers.SegFormer, image(64), LOGITS),
    "convnext": Architecture(convnets.ConvNext, image(32), LOGITS),
    "efficientnet": Architecture(convnets.EfficientNet, image(32), LOGITS),
    "mobilenet_v2": Architecture(lambda: mobilenet_v2.MobileNetV2(10, 0.25), image(32), LOGITS),
    "unet": Architecture(convnets.UNet, image(30), ("mask",)),
    "yolo": Architecture(convnets.Yolo, image(32), ("boxes",)),
    "lstm": Architecture(recurrent.LstmTagger, tokens, LOGITS),
    "gru": Architecture(recurrent.GruForecaster, sequence, ("forecast", "last")),
}


def export_architecture(
    name: str,
    exporter: str = "torchscript",
    free: bool = False,
    dtype: torch.dtype = torch.float32,
    opset: int = 18,
) -> onnx.ModelProto:
    """The ONNX model of a named architecture as one of PyTorch's exporters writes it."""
    entry = ARCHITECTURES[name]
    inputs = entry.example(dtype=dtype)
    dynamic = entry.free if free else None
    return export(
        entry.make(dtype),
        list(inputs.values()),
        list(inputs),
        entry.outputs,
        dynamic,
        opset,
        exporter,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(ARCHITECTURES))
    parser.add_argument("--exporter", choices=EXPORTERS, default="torchscript")
    parser.add_argument("--free", action="store_true", help="leave dimensions open")
    parser.add_argument("--opset", type=int, default=18)
    save_from_command_line(export_architecture, parser)


if __name__ == "__main__":
    main()
